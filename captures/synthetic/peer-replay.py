"""
Replay after a failover, RFC 7609 4.6.2: link 1 dies after three messages of the client were sent
but not acknowledged. On link 2 the client writes their bytes again and sends the messages again,
each with its old number and cursors.
"""

from smcsynth.failover import delete_link_1, fail_over, lose, two_links
from smcsynth.octets import text_lines

EXPECTED = {
    "smcr.conn.moved": [41, 43],
    "smcr.link.delete_asked": [58],
    "smcr.link.deleted": [60],
    "smcr.link.lost": [58],
}
LOST = [text_lines(size, "unacknowledged") for size in (1800, 700, 300)]


def scene(capture):
    connection = two_links(capture)
    client = connection.half["client"]
    before, *_ = [lose(connection, "client", data) for data in LOST]
    capture.wait(2)
    fail_over(connection, acknowledged={"client": 1, "server": 1})
    client.prod, client.seq = before, 1
    for data in LOST:
        connection.send("client", data)
    delete_link_1(connection.group)
    connection.send("server", b"received\n")
    connection.send("client", text_lines(500, "after the failure"))
    connection.close()
