"""
RDMA WRITEs that go where none may go, RFC 7609 4.1, 4.2, A.3.7: to an RKey that nobody has
announced; to an element of an RMB that no connection uses; to an RMB to whose withdrawal their
sender has agreed; over data that were not read. In a second link group the same unknown RKey and
the same element, but the capture lacks a packet of the receiver: nothing is certain.
"""

from smcsynth.llc import llc_test_link
from smcsynth.story import linux_connection

EXPECTED = {
    "smcr.packet_ahead": [81],
    "smcr.write.outside": [24],
    "smcr.write.rmb_deleted": [50],
    "smcr.write.unknown_rkey": [22],
}


def stray(connection):
    """WRITEs with an unknown RKey, and to element 2."""
    link, server = connection.group.links[1], connection.half["server"]
    link.write("client", server.rmb.va, 0x0BADBAD0, b"unknown RKey")
    link.write("client", server.rmb.va + server.rmb.size, server.rmb.rkeys[1], b"element 2")


def go_on(connection):
    for role in ("client", "server"):
        connection.group.test_link(role)


def scene(capture):
    first = linux_connection(capture)
    first.first_contact()
    first.send("client", b"first\n")
    stray(first)
    go_on(first)
    first.close()
    first.group.links[1].write(
        "client", first.half["server"].rmb.va, first.half["server"].rmb.rkeys[1], b"deleted"
    )
    go_on(first)

    second = linux_connection(capture, sport=40002, nth=2)
    second.first_contact()
    second.send("client", b"second\n")
    second.group.links[1].lose("server")
    second.group.llc("server", llc_test_link())
    stray(second)
    go_on(second)
