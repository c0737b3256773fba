"""
CDC messages of nobody, RFC 7609 A.4: of type 0xc0 and 0xff; the next message of a connection, but
in another link group of the same two hosts. In a third link group the same, but the capture lacks a
packet.
"""

from smcsynth.octets import patch
from smcsynth.story import linux_connection

EXPECTED = {
    "smcr.cdc.other_group": [68],
    "smcr.cdc.token_unknown": [68, 70],
    "smcr.llc.type_unknown": [64, 66],
    "smcr.packet_ahead": [70],
}


def scene(capture):
    first, second, third = (
        linux_connection(capture, sport=40000 + nth, nth=nth) for nth in (1, 2, 3)
    )
    for connection in (first, second, third):
        connection.first_contact()
        connection.send("client", b"data\n")
    for kind in (b"\xc0", b"\xff"):
        first.group.links[1].send("client", patch(first.cdc_message("client"), 0, kind))
    second.group.links[1].send("client", first.cdc_message("client"))
    third.group.links[1].lose("client")
    third.group.links[1].send("client", first.cdc_message("client", seq=first.half["client"].seq))
    for connection in (first, second, third):
        connection.group.test_link("client")
