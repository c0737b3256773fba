"""
CLC messages and TCP segments do not coincide. RFC 7609 A.2.

Port 40001: the Proposal in segments of 1, 4, 20 and the remaining bytes, the Accept in two, then
the rest of the story. Port 40002: Accept and Decline of the server in one segment (it ran out of
memory meanwhile). Port 40003: Proposal sent again by TCP because its acknowledgement was lost.
"""

from smcsynth.clc import clc_decline
from smcsynth.net import TcpConversation
from smcsynth.story import CLIENT, SERVER, linux_connection


def scene(capture):
    story = linux_connection(capture, sport=40001)
    story.tcp.handshake()
    story.tcp.send("client", story.proposal(), parts=(1, 4, 20))
    story.tcp.send("server", story.accept(), parts=(30,))
    story.tcp.send("client", story.confirm(), parts=(7,))
    story.group.confirm_link()
    story.group.add_link_rejected()
    story.send("client", b"in one piece\n")
    story.close()

    story = linux_connection(capture, nth=2)
    tcp = TcpConversation(capture, CLIENT, SERVER, sport=40002, dport=50000)
    tcp.handshake()
    tcp.send("client", story.proposal())
    tcp.send("server", story.accept() + clc_decline(diagnosis=0x01010000))
    tcp.send("client", b"over TCP then\n")
    tcp.close()

    tcp = TcpConversation(capture, CLIENT, SERVER, sport=40003, dport=50000)
    tcp.handshake()
    before = tcp.seq["client"]
    tcp.send("client", story.proposal(), ack=False)
    capture.wait(0.2)
    tcp.segment("client", "PA", story.proposal(), seq=before)
    tcp.segment("server", "A")
    tcp.send("server", clc_decline(diagnosis=0x03030002))
    tcp.close()
