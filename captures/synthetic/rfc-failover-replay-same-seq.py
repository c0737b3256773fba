"""
Failover with replay under the same sequence number, RFC 7609 4.6.2: link 1 dies after the client's
second message was sent but not acknowledged. On link 2 the client validates (F, sequence 1), writes
the same bytes again at the same place and sends the same CDC message, sequence 2, again. Nothing is
lost, nothing may be counted twice.
"""

from smcsynth.failover import delete_link_1, fail_over, lose, two_links
from smcsynth.octets import text_lines

LOST = text_lines(2500, "unacknowledged")


def scene(capture):
    connection = two_links(capture)
    before = lose(connection, "client", LOST)
    capture.wait(2)
    fail_over(connection, acknowledged={"client": 1, "server": 1})
    client = connection.half["client"]
    client.prod, client.seq = before, 1
    connection.send("client", LOST)
    delete_link_1(connection.group)
    connection.send("server", b"received\n")
    connection.send("client", text_lines(500, "after the failure"))
    connection.close()
