"""
A link group has one VLAN, RFC 7609 2: the TCP connection is on VLAN 7, the link on 8; a second
connection of a group on VLAN 7 is on 9. Then correct ones: all on VLAN 7; tags on TCP only, as
where they were stripped.
"""

from smcsynth.story import Connection, linux_connection, linux_halves

EXPECTED = {"smcr.link.vlan": [10, 12, 52, 58]}


def begin(capture, nth, link_vlan):
    connection = linux_connection(capture, sport=40000 + nth, nth=nth, vlan=7)
    connection.group.links[1].vlan = link_vlan
    connection.first_contact()
    connection.send("client", b"data\n")
    return connection


def scene(capture):
    begin(capture, 1, 8)
    first = begin(capture, 2, 7)
    first.group.vlan = 9
    second = Connection(first.group, *linux_halves(number=9), sport=40009)
    second.subsequent_contact()
    second.send("client", b"second\n")
    begin(capture, 3, 7)
    begin(capture, 4, None)
