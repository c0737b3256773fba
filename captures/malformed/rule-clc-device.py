"""
What both sides have agreed on in a first contact, RFC 7609 3.5.2, A.2.3: a later Accept and a later
Confirm have other MACs than their queue pairs; a packet has more bytes than the MTU.
"""

from smcsynth.story import Connection, linux_connection, linux_halves

EXPECTED = {"smcr.clc.peer_changed": [31, 58], "smcr.packet_above_mtu": [64]}
OTHER = "02:00:00:00:ff:ff"


def scene(capture):
    first = linux_connection(capture)
    first.first_contact()
    first.send("client", b"first\n")
    for number, (accept, confirm) in enumerate(
        (({"roce_mac": OTHER}, {}), ({}, {"roce_mac": OTHER})), 10
    ):
        connection = Connection(first.group, *linux_halves(number=number), sport=41000 + number)
        connection.tcp.handshake()
        connection.tcp.send("client", connection.proposal())
        first.group.confirm_rkey("server", connection.half["server"].rmb)
        connection.tcp.send("server", connection.accept(first_contact=False, **accept))
        first.group.confirm_rkey("client", connection.half["client"].rmb)
        connection.tcp.send("client", connection.confirm(first_contact=False, **confirm))
        connection.send("client", b"later\n")
    first.group.links[1].mtu = 2048
    first.send("client", bytes(1500))
