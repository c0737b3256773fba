"""
A number that is left out right after a failover, RFC 7609 4.3, 4.6.1, and a consumer cursor ahead
of what was announced, A.4: the capture may lack the last message on link 1, so that nothing is
certain.
"""

from smcsynth.failover import delete_link_1, fail_over, two_links

EXPECTED = {
    "smcr.cdc.read_too_far": [52],
    "smcr.cdc.sequence_gap": [40],
    "smcr.conn.moved": [34, 36],
    "smcr.link.delete_asked": [42],
    "smcr.link.deleted": [44],
    "smcr.link.lost": [42],
}


def scene(capture):
    connection = two_links(capture)
    fail_over(connection, acknowledged={"client": 1, "server": 1})
    connection.half["client"].seq += 1
    connection.send("client", b"after the failure\n")
    delete_link_1(connection.group)
    connection.send("server", b"received\n")
    connection.cdc("server", cons=(0, 5000))
