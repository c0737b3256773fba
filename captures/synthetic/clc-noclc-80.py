"""
A server (or a box in the middle) that echoes the SMC option without knowing SMC, and a client that
sends HTTP at once: no CLC message ever comes, HTTP must be shown as HTTP. A known trouble with TCP
options that are echoed, RFC 7609 3.2.
"""

from smcsynth.net import TcpConversation
from smcsynth.story import CLIENT, SERVER


def scene(capture):
    tcp = TcpConversation(capture, CLIENT, SERVER, sport=40001, dport=80)
    tcp.handshake()
    tcp.send("client", b"GET /plain HTTP/1.1\r\nHost: server.example\r\n\r\n")
    tcp.send("server", b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nplain\n")
    tcp.close()
