"""
CDC messages with each flag of RFC 7609 A.4 alone, in situations where a peer sends it.

In this order: window full and writer blocked (B), update requested (R) and the update; urgent data
announced (P) and present (P and U); sending done (D), closed (C) on port 40001. On port 40002
failover validation (F) and abnormal close (A). On port 40003 one message with every flag set at
once, which no peer should send.
"""

from smcsynth.octets import text_lines
from smcsynth.story import Connection, Half, Rmb, linux_connection, linux_halves

ALL = [
    "blocked",
    "urgent_pending",
    "urgent_present",
    "update_requested",
    "failover",
    "sending_done",
    "closed",
    "abort",
]


def blocked_and_urgent(connection):
    """Fill the window of 16 KiB, be blocked, ask for an update, get it; then urgent data; then a
    half-close."""
    connection.send("client", text_lines(16000, "fills the window"), read=False)
    connection.send("client", text_lines(384, "to the last byte"), flags=["blocked"], read=False)
    connection.cdc("client", flags=["blocked", "update_requested"])
    connection.read("server")
    connection.cdc("server")
    connection.cdc("client", flags=["urgent_pending"])
    connection.send("client", b"before!", flags=["urgent_pending", "urgent_present"])
    connection.cdc("server")
    connection.send("client", b"after")
    connection.cdc("client", flags=["sending_done"])
    connection.send("server", b"the other direction is open\n")
    connection.close("server")


def scene(capture):
    first = linux_connection(capture, sport=40001)
    first.half["server"] = Half(token=0x0501, rmb=Rmb(0xFFFF888207000000, 16384, {1: 0x05002A01}))
    first = Connection(first.group, first.half["client"], first.half["server"], sport=40001)
    first.first_contact()
    blocked_and_urgent(first)

    second = Connection(first.group, *linux_halves(number=2), sport=40002)
    second.subsequent_contact()
    second.send("client", b"data\n")
    second.cdc("server", flags=["failover"], seq=0, prod=(0, 0), cons=(0, 0))
    second.half["server"].seq = 0
    second.cdc("server", flags=["abort"])
    second.tcp.close("server")

    third = Connection(first.group, *linux_halves(number=3), sport=40003)
    third.subsequent_contact()
    third.cdc("client", flags=ALL)
    third.tcp.close()
