"""
CDC messages with wrong numbers and cursors, RFC 7609 4.3, A.4, each on a connection of its own: the
first number is 2; 3 follows 1; a cursor at the size of the element; one within the eyecatcher; a
wrap count without a wrap; one that steps by two. In a second link group the same, but the capture
lacks a packet before each message.
"""

from smcsynth.story import (
    CLIENT_V1_SECOND,
    SERVER_V1_SECOND,
    Connection,
    linux_connection,
    linux_halves,
)

EXPECTED = {
    "smcr.cdc.cursor_backwards": [104],
    "smcr.cdc.cursor_range": [81, 150],
    "smcr.cdc.first_number": [35],
    "smcr.cdc.sequence_skipped": [58],
    "smcr.cdc.wrap": [127],
    "smcr.packet_ahead": [194, 217, 240, 263, 286, 309],
}
UNPROVEN = {
    "smcr.cdc.cursor_backwards": [263],
    "smcr.cdc.cursor_ahead": [127, 286, 309],
    "smcr.cdc.wrap": [150],
}
SIZE = 16384
FLAWS = (
    {"seq": 2},
    {"seq": 3},
    {"prod": (0, SIZE)},
    {"cons": (0, 2)},
    {"prod": (1, 40)},
    {"prod": (2, 0)},
)


def scene(capture):
    groups = [
        linux_connection(capture, sport=40000 + nth, nth=nth, nics=nics)
        for nth, nics in ((1, None), (2, (CLIENT_V1_SECOND, SERVER_V1_SECOND)))
    ]
    for lossy, first in enumerate(groups):
        group = first.group
        group.no_eyecatcher = False
        first.first_contact()
        for number, flaw in enumerate(FLAWS, 3):
            halves = linux_halves(SIZE, number=number)
            for half in halves:
                half.base = 4
            connection = Connection(group, *halves, sport=41000 + 100 * lossy + number)
            connection.subsequent_contact()
            if number > 3:
                connection.send("client", b"data\n")
            if lossy:
                group.links[1].lose("client")
            connection.cdc("client", **flaw)
        for role in ("client", "server"):
            group.test_link(role)
