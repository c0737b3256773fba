"""
CLC messages that never become complete: their sender ends the connection by FIN or RST, or sends the next message.
Last come those that may be complete: the capture lacks a segment, ends before, or has the rest behind the receiver's RST.
"""

from smcsynth.clc import clc_decline
from smcsynth.net import TcpConversation
from smcsynth.story import CLIENT, SERVER, linux_connection

EXPECTED = {
    "smcr.clc.length_invalid": [74, 82, 86, 96, 104, 108],
    "smcr.message_short": [10, 18, 22, 30, 38, 42, 52, 60, 64, 74, 82, 86, 96, 104, 108, 120, 130, 136, 150, 162,
                            170, 182, 192, 198, 206],
    "smcr.no_roce": [206],
}


def begin(capture, port, *messages):
    tcp = TcpConversation(capture, CLIENT, SERVER, sport=port, dport=50000)
    tcp.handshake()
    for sender, data in messages:
        tcp.send(sender, data)
    return tcp


def scene(capture):
    story = linux_connection(capture)
    proposal, accept, confirm = story.proposal(), story.accept(), story.confirm()
    asks, answers = ("client", proposal), ("server", accept)
    cut = [((), "client", proposal[:30]), ((), "client", proposal[:7]), ((), "client", proposal[:-4]),
           ((), "client", story.proposal(length=len(proposal) + 4)[:-4]), ((), "client", story.proposal(length=4096)[:-4]),
           ((asks,), "server", accept[:60]), ((asks, answers), "client", confirm[:40]),
           ((asks,), "server", clc_decline(diagnosis=0x03030000)[:20])]
    for number, (before, sender, data) in enumerate(cut):
        tcp = begin(capture, 41000 + number, *before)
        tcp.send(sender, data, parts=(5, 2))
        tcp.close(sender)
        tcp = begin(capture, 41100 + number, *before)
        tcp.send(sender, data)
        tcp.segment(sender, "RA")
        tcp = begin(capture, 41300 + number, *before)
        tcp.segment(sender, "FPA", data)

    tcp = begin(capture, 41400, ("client", proposal[:30]), answers, ("client", confirm))
    tcp.close()

    tcp = begin(capture, 41500, ("client", proposal[:30]))
    tcp.seq["client"] += len(proposal[30:])
    tcp.close()
    tcp = begin(capture, 41501, ("client", proposal[:30]))
    tcp.segment("server", "RA")
    tcp.send("client", proposal[30:], ack=False)
    tcp.segment("server", "R")
    tcp = begin(capture, 41502, ("client", proposal[:30]))
    tcp.fin("server")
