"""
One HTTP conversation five times: over SMC-R; over TCP after a Decline; over TCP without SMC; and
over the latter two with the first two segments of each response in the wrong order. The second
response has no length: it lasts until the end.

RDMA WRITEs and TCP segments carry the same pieces. So do the dissectors of the application see the
same, whatever the preferences. The TCP connections have high sequence numbers, as most have: where
they are shown as they are, those that the plugin gives to RDMA WRITEs are lower.
"""

from smcsynth.clc import clc_decline
from smcsynth.net import TcpConversation
from smcsynth.octets import text_lines
from smcsynth.story import CLIENT, SERVER, Connection, linux_connection, linux_halves

HIGH = {"client": 0x90000000, "server": 0xC0000000}
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
BODY = text_lines(2_000, "payload-five-ways body")
FIRST = HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY
LAST = HEAD + b"Connection: close\r\n\r\n" + BODY
TALK = [
    ("client", b"GET /first HTTP/1.1\r\nHost: server."),
    ("client", b"example\r\n\r\n"),
    *(("server", FIRST[start : start + 600]) for start in range(0, len(FIRST), 600)),
    ("client", b"GET /last HTTP/1.1\r\nHost: server.example\r\n\r\n"),
    *(("server", LAST[start : start + 600]) for start in range(0, len(LAST), 600)),
]


def over_tcp(tcp, disorder):
    """The talk in segments; the first two of each response may change places."""
    talk = [
        (
            sender,
            data,
            tcp.seq[sender] + sum(len(past) for who, past in TALK[:nth] if who == sender),
        )
        for nth, (sender, data) in enumerate(TALK)
    ]
    for nth in (2, 7) if disorder else ():
        talk[nth : nth + 2] = talk[nth + 1], talk[nth]
    for sender, data, seq in talk:
        tcp.segment(sender, "PA", data, seq=seq)
        tcp.seq[sender] = max(tcp.seq[sender], seq + len(data))
    tcp.segment("client", "A")
    tcp.close("server")


def scene(capture):
    connection = Connection(
        linux_connection(capture, version=2).group, *linux_halves(16384), port=8080
    )
    connection.tcp.seq.update(HIGH)
    connection.first_contact()
    for sender, data in TALK:
        connection.send(sender, data)
    connection.close("server")
    for nth, disorder in enumerate((False, True)):
        for smc in (True, False):
            tcp = TcpConversation(
                capture, CLIENT, SERVER, sport=40001 + 2 * nth + (not smc), dport=8080
            )
            tcp.seq.update(HIGH)
            tcp.handshake(*(() if smc else (b"", b"")))
            if smc:
                tcp.send("client", connection.proposal())
                tcp.send("server", clc_decline(diagnosis=0x03030000))
            over_tcp(tcp, disorder)
