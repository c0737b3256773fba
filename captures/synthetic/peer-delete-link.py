"""
Both sides may use a link until the response to DELETE LINK, RFC 7609 3.5.5.1.3: data of the client
cross the server's request. Then the connection moves, the client responds, and data go on over link
2.
"""

from smcsynth.failover import fail_over, two_links
from smcsynth.llc import llc_delete_link

EXPECTED = {"smcr.conn.moved": [40, 42], "smcr.link.deleted": [34]}


def scene(capture):
    connection = two_links(capture)
    orderly = dict(link=1, reason=0x00020000)
    connection.group.llc("server", llc_delete_link(**orderly), link=2)
    capture.wait(0.01)
    connection.send("client", b"before the client has moved\n")
    fail_over(connection, acknowledged={"client": 2, "server": 1})
    connection.group.llc("client", llc_delete_link(**orderly, reply=True), link=2)
    capture.wait(0.01)
    connection.send("client", b"after that\n")
    connection.send("server", b"received\n")
    connection.close()
