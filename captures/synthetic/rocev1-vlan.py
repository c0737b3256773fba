"""
A whole story on VLAN 7, TCP as well as RoCE version 1 (Ethernet type 0x8915 and a GRH), with two
connections.
"""

from smcsynth.octets import text_lines
from smcsynth.story import Connection, linux_connection, linux_halves


def scene(capture):
    first = linux_connection(capture, vlan=7)
    first.first_contact()
    first.send("client", b"request on VLAN 7\n")
    first.send("server", text_lines(5000, "response on VLAN 7"))
    second = Connection(first.group, *linux_halves(number=2), sport=40001)
    second.subsequent_contact()
    second.send("server", b"server speaks first\n")
    first.cdc("client")
    first.close()
    second.close("server")
    first.group.delete_link_group()
