"""
Two connections of one RMB with elements of two sizes, RFC 7609 2.1. Then the same where the capture
may lack the withdrawal of the RMB, and where the RMB has been withdrawn.
"""

from smcsynth.llc import llc_test_link
from smcsynth.story import (
    CLIENT_V1_SECOND,
    SERVER_V1_SECOND,
    Connection,
    Half,
    linux_connection,
    linux_halves,
)

EXPECTED = {"smcr.packet_ahead": [64], "smcr.rmb.changed": [27]}


def second_element(first, number):
    """A connection in element 2 of the RMB of the first one, of half its size."""
    client, server = linux_halves(number=number)
    server = Half(token=server.token, rmb=first.half["server"].rmb, index=2)
    connection = Connection(first.group, client, server, sport=41000 + number)
    connection.tcp.handshake()
    connection.tcp.send("client", connection.proposal())
    connection.tcp.send("server", connection.accept(first_contact=False, size_code=1))
    first.group.confirm_rkey("client", client.rmb)
    connection.tcp.send("client", connection.confirm(first_contact=False, size_code=1))
    for role in ("client", "server"):
        first.group.test_link(role)


def scene(capture):
    first = linux_connection(capture)
    first.first_contact()
    first.send("client", b"first\n")
    second_element(first, 10)

    second = linux_connection(
        capture, sport=40002, nth=2, nics=(CLIENT_V1_SECOND, SERVER_V1_SECOND)
    )
    second.first_contact()
    second.send("client", b"second\n")
    second.group.links[1].lose("server")
    second.group.llc("server", llc_test_link())
    second_element(second, 20)

    third = linux_connection(capture, sport=40003, nth=3)
    third.first_contact()
    third.send("client", b"third\n")
    third.close()
    third.group.confirm_rkey("server", third.half["server"].rmb)
    second_element(third, 30)
