"""
Cursors that contradict what was written and read, RFC 7609 2.1, A.4, each on a connection of its
own: 100 bytes are announced before they are written; the producer cursor passes the consumer cursor
of a reader that has read nothing; the reader has read more than was announced. In a second link
group the same, but the capture lacks a packet before.
"""

from smcsynth.story import (
    CLIENT_V1_SECOND,
    SERVER_V1_SECOND,
    Connection,
    linux_connection,
    linux_halves,
)

EXPECTED = {
    "smcr.cdc.announced_early": [39, 85],
    "smcr.cdc.cursor_ahead": [85],
    "smcr.cdc.read_unsent": [116],
    "smcr.cdc.unseen_data": [210],
    "smcr.packet_ahead": [164, 214, 243],
}
SIZE = 16384


def announced_early(connection, lose):
    connection.send("client", b"data\n")
    lose()
    connection.cdc("client", prod=(0, 105))


def cursor_ahead(connection, _):
    connection.send("client", bytes(16000), read=False)
    connection.cdc("client", prod=(1, 100))


def read_unsent(connection, lose):
    connection.send("client", b"data\n")
    lose()
    connection.cdc("server", cons=(0, 9))


def scene(capture):
    groups = [
        linux_connection(capture, sport=40000 + nth, nth=nth, nics=nics)
        for nth, nics in ((1, None), (2, (CLIENT_V1_SECOND, SERVER_V1_SECOND)))
    ]
    for lossy, first in enumerate(groups):
        group = first.group
        first.first_contact()
        for number, flaw in enumerate((announced_early, cursor_ahead, read_unsent), 3):
            connection = Connection(
                group, *linux_halves(SIZE, number=number), sport=41000 + 100 * lossy + number
            )
            connection.subsequent_contact()
            if lossy and flaw == cursor_ahead:
                group.links[1].lose("server")
            flaw(connection, lambda: lossy and group.links[1].lose("client"))  # noqa: B023
            for role in ("client", "server"):
                group.test_link(role)
