"""
The first application data share a TCP segment with the end of a Decline (TCP is a byte stream, RFC
7609 A.2 puts messages anywhere in it).

Port 40001: the client declines the Accept and its HTTP request stands behind the Decline in the
same segment. Port 40002: the Decline is cut after 10 bytes; the second segment has its other 18
bytes and the request. Port 40003: the server's Decline, and in the same segment a greeting, as a
server that speaks first would send.
"""

from smcsynth.clc import clc_decline
from smcsynth.net import TcpConversation
from smcsynth.story import CLIENT, SERVER, linux_connection

REQUEST = b"GET / HTTP/1.1\r\nHost: server.example\r\n\r\n"
RESPONSE = b"HTTP/1.1 204 No Content\r\n\r\n"
GREETING = b"220 server.example SMTP ready\r\n"


def scene(capture):
    story = linux_connection(capture)
    decline = clc_decline(diagnosis=0x03050000)
    for sport, parts in ((40001, ()), (40002, (10,))):
        tcp = TcpConversation(capture, CLIENT, SERVER, sport=sport, dport=80)
        tcp.handshake()
        tcp.send("client", story.proposal())
        tcp.send("server", story.accept())
        tcp.send("client", decline + REQUEST, parts=parts)
        tcp.send("server", RESPONSE)
        tcp.close()
    tcp = TcpConversation(capture, CLIENT, SERVER, sport=40003, dport=25)
    tcp.handshake()
    tcp.send("client", story.proposal())
    tcp.send("server", clc_decline(diagnosis=0x03030002) + GREETING)
    tcp.send("client", b"QUIT\r\n")
    tcp.close()
