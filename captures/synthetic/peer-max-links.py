"""
A client that gives no maximum of links accepts the server's, RFC 7609 2.2.2: 0 in its response to
CONFIRM LINK.
"""

from smcsynth.story import linux_connection

EXPECTED = {}


def scene(capture):
    connection = linux_connection(capture)
    connection.group.max_links = {"server": 2, "client": 0}
    connection.first_contact()
    connection.send("client", b"data\n")
    connection.close()
