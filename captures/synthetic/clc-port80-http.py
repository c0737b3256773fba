"""
SMC on port 80: the handshake negotiates SMC, the server declines (no RoCE device), and HTTP follows
on the same TCP connection, to be shown as HTTP. RFC 7609 3.3 and A.2.5.
"""

from smcsynth.clc import clc_decline
from smcsynth.net import TcpConversation
from smcsynth.story import CLIENT, SERVER, linux_connection

REQUEST = b"GET /index.html HTTP/1.1\r\nHost: server.example\r\nUser-Agent: synthetic\r\n\r\n"
RESPONSE = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 14\r\n\r\nHello over TCP"
)


def scene(capture):
    tcp = TcpConversation(capture, CLIENT, SERVER, sport=40001, dport=80)
    tcp.handshake()
    tcp.send("client", linux_connection(capture).proposal())
    tcp.send("server", clc_decline(diagnosis=0x03030000))
    tcp.send("client", REQUEST)
    tcp.send("server", RESPONSE)
    tcp.close()
