"""
TCP without SMC, in which nothing may be found: HTTP on port 80, bytes like TLS on 443, noise on the
SMC test port 50000, EBCDIC text that contains the eyecatcher E2D4C3D9 but not at its start, an
eyecatcher that is cut, and one with the length and type of no CLC message. No handshake carries the
option.
"""

from smcsynth.net import TcpConversation
from smcsynth.octets import noise
from smcsynth.story import CLIENT, SERVER

EBCDIC = bytes.fromhex(
    "c8859393964b40e2d4c3d9 40898240816040a49489a340964b"
)  # "Hello. SMCR is ..."
CONVERSATIONS = [
    (80, b"GET / HTTP/1.1\r\nHost: server.example\r\n\r\n", b"HTTP/1.1 204 No Content\r\n\r\n"),
    (443, b"\x16\x03\x01\x00\x40" + noise(64, "hello"), b"\x15\x03\x03\x00\x02\x02\x28"),
    (50000, noise(1400, "noise"), noise(1400, "more noise")),
    (50001, EBCDIC * 8, EBCDIC[:11] * 8),
    (50002, bytes.fromhex("e2d4c3"), bytes.fromhex("e2d4")),
    (50003, bytes.fromhex("e2d4c3d940404040") + EBCDIC * 4, bytes.fromhex("d9c3d4e2") * 20),
]


def scene(capture):
    for number, (port, request, response) in enumerate(CONVERSATIONS):
        tcp = TcpConversation(capture, CLIENT, SERVER, sport=40001 + number, dport=port)
        tcp.handshake(syn=b"", synack=b"")
        tcp.send("client", request)
        tcp.send("server", response)
        tcp.close()
