"""
Moves to another link, RFC 7609 2.3, 4.6.1, each of a connection of its own: without failover
validation; likewise, an RDMA WRITE first; a WRITE, and then the validation; with a validation of a
number that the next message has; with one, and then on the old link again. One that is being closed
moves without validation, as Linux does. Then all of it again, but the capture lacks packets of the
server, and one behind the validation with the number.
"""

from smcsynth.failover import two_links
from smcsynth.story import Connection, Half, Rmb

EXPECTED = {
    "smcr.conn.moved": [160, 164, 168, 172, 178, 182, 184, 328, 332, 336, 340, 346, 350, 352],
    "smcr.move.not_validated": [160, 162, 166],
    "smcr.move.number": [176],
    "smcr.move.old_link": [180, 182, 350],
    "smcr.packet_ahead": [207, 342],
}
UNPROVEN = {
    "smcr.move.not_validated": [164]
}  # its WRITE in frame 162 is the first to break the rule


def connect(group, number):
    """A connection on link 1 that has sent data."""
    halves = [
        Half(
            token=side + number,
            rmb=Rmb(
                (side << 20) + (number << 16),
                16384,
                {1: side << 8 | number, 2: side << 12 | number},
            ),
        )
        for side in (0x0C00, 0x0500)
    ]
    connection = Connection(group, *halves, sport=41000 + number)
    connection.subsequent_contact()
    connection.send("client", b"on link 1\n")
    return connection


def validate(connection, seq):
    """The client's failover validation on link 2."""
    connection.link = 2
    connection.cdc("client", flags=["failover"], seq=seq, prod=(0, 0), cons=(0, 0))
    connection.half["client"].seq -= 1


def move(capture, group, first, lossy=False):
    unvalidated, written, late, numbered, back, closing = [
        connect(group, first + number) for number in range(6)
    ]
    unvalidated.link = written.link = 2
    unvalidated.cdc("client")
    written.send("client", b"on link 2\n")
    late.link = 2
    late.write("client", b"on link 2\n")
    validate(late, 1)
    late.cdc("client")
    validate(numbered, 2)
    if lossy:
        group.links[2].lose("client")
    numbered.send("client", b"on link 2\n")
    validate(back, 1)
    capture.wait(0.01)
    back.link = 1
    back.send("client", b"on link 1\n")
    closing.link = 2
    closing.cdc("client", flags=["closed"])
    for role in ("client", "server"):
        for link in (1, 2):
            group.test_link(role, link=link)


def scene(capture):
    group = two_links(capture).group
    move(capture, group, 0x21)
    group.links[1].lose("server")
    move(capture, group, 0x31, lossy=True)
