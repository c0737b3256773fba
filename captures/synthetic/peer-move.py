"""
Moves of correct peers, RFC 7609 4.6.1: as Linux a client validates with a number that is one lower
than the last one that was acknowledged; what was under way on link 1 comes within a round trip. The
server moves its direction without validation, but it has closed the connection, as Linux does
(smc_switch_conns()).
"""

from smcsynth.failover import two_links

EXPECTED = {"smcr.conn.moved": [38, 42, 46, 54]}


def scene(capture):
    connection = two_links(capture)
    client = connection.half["client"]
    connection.send("client", b"acknowledged\n")
    connection.link = 2
    connection.cdc("client", flags=["failover"], seq=client.seq - 1, prod=(0, 0), cons=(0, 0))
    client.seq -= 1
    connection.link = 1
    connection.send("client", b"under way\n")
    connection.link = 2
    connection.send("client", b"on link 2\n")
    connection.link = 1
    connection.cdc("server", flags=["sending_done"])
    connection.link = 2
    connection.close()
