"""
Queue pairs that no link of the group has, RFC 7609 3.5.2, C.4: a Confirm names one, and so does an
Accept without first contact flag. Then the same in a link group of which the capture lacks a
packet.
"""

from smcsynth.llc import llc_test_link
from smcsynth.story import (
    CLIENT_V1_SECOND,
    SERVER_V1_SECOND,
    Connection,
    linux_connection,
    linux_halves,
)

EXPECTED = {
    "smcr.clc.first_contact_wrong": [48],
    "smcr.link.mismatch": [37],
    "smcr.packet_ahead": [81],
}


def wrong_pairs(first, number):
    for step, (accept, confirm) in enumerate((({}, {"qpn": 0x888}), ({"qpn": 0x777}, {}))):
        connection = Connection(
            first.group, *linux_halves(number=number + step), sport=41000 + number + step
        )
        connection.tcp.handshake()
        connection.tcp.send("client", connection.proposal())
        first.group.confirm_rkey("server", connection.half["server"].rmb)
        connection.tcp.send("server", connection.accept(first_contact=False, **accept))
        first.group.confirm_rkey("client", connection.half["client"].rmb)
        connection.tcp.send("client", connection.confirm(first_contact=False, **confirm))
    for role in ("client", "server"):
        first.group.test_link(role)


def scene(capture):
    first = linux_connection(capture)
    first.first_contact()
    first.send("client", b"first\n")
    wrong_pairs(first, 10)

    second = linux_connection(
        capture, sport=40002, nth=2, nics=(CLIENT_V1_SECOND, SERVER_V1_SECOND)
    )
    second.first_contact()
    second.group.links[1].lose("server")
    second.group.llc("server", llc_test_link())
    wrong_pairs(second, 20)
