"""
Failover with new sequence numbers: link 1 dies after two messages of the client were sent but not
acknowledged. On link 2 the client validates (F, sequence 1), writes the bytes of both again at the
same places, and goes on with CDC sequence 4: its cursors cover what 2 and 3 said. RFC 7609 4.6.2;
Linux net/smc/smc_cdc.c goes on with its numbers.
"""

from smcsynth.failover import delete_link_1, fail_over, lose, two_links
from smcsynth.octets import text_lines

FIRST, SECOND = text_lines(1800, "unacknowledged one"), text_lines(700, "unacknowledged two")


def scene(capture):
    connection = two_links(capture)
    before = lose(connection, "client", FIRST)
    lose(connection, "client", SECOND)
    capture.wait(2)
    fail_over(connection, acknowledged={"client": 1, "server": 1})
    connection.half["client"].prod = before
    connection.write("client", FIRST)
    connection.send("client", SECOND)
    delete_link_1(connection.group)
    connection.send("server", b"received\n")
    connection.send("client", text_lines(500, "after the failure"))
    connection.close()
