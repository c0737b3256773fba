"""
The client asks to end the link group, RFC 7609 3.5.4: its DELETE LINK for all links is a wish. A
connection goes on until it is closed; then the server ends the group.
"""

from smcsynth.llc import llc_delete_link
from smcsynth.story import linux_connection

EXPECTED = {"smcr.link.delete_asked": [22]}


def scene(capture):
    connection = linux_connection(capture)
    connection.first_contact()
    connection.send("client", b"before\n")
    connection.group.llc("client", llc_delete_link(link=0, reason=0x00030000, all_links=True))
    capture.wait(0.01)
    connection.send("client", b"it goes on\n")
    connection.close()
    connection.group.delete_link_group()
