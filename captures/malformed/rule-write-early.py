"""
A client that sends data before its Confirm, RFC 7609 3.5.2. In a second link group the same, but
the capture lacks a packet.
"""

from smcsynth.story import (
    CLIENT_V1_SECOND,
    SERVER_V1_SECOND,
    Connection,
    linux_connection,
    linux_halves,
)

EXPECTED = {"smcr.cdc.before_confirm": [35], "smcr.packet_ahead": [79]}


def scene(capture):
    groups = [
        linux_connection(capture, sport=40000 + nth, nth=nth, nics=nics)
        for nth, nics in ((1, None), (2, (CLIENT_V1_SECOND, SERVER_V1_SECOND)))
    ]
    for lossy, first in enumerate(groups):
        first.first_contact()
        connection = Connection(first.group, *linux_halves(number=3), sport=41003 + lossy)
        connection.tcp.handshake()
        connection.tcp.send("client", connection.proposal())
        for role in ("server", "client"):
            first.group.confirm_rkey(role, connection.half[role].rmb)
            if role == "server":
                connection.tcp.send("server", connection.accept(first_contact=False))
        if lossy:
            first.group.links[1].lose("client")
        connection.send("client", b"early\n")
        connection.tcp.send("client", connection.confirm(first_contact=False))
        for role in ("client", "server"):
            first.group.test_link(role)
