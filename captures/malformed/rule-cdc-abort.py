"""
An abort that nobody answers for two seconds, RFC 7609 4.8.2; one whose receiver was done before,
and one that is answered, which is right. In a second link group the first one, but the capture
lacks a packet of the receiver.
"""

from smcsynth.story import (
    CLIENT_V1_SECOND,
    SERVER_V1_SECOND,
    Connection,
    linux_connection,
    linux_halves,
)

EXPECTED = {
    "smcr.cdc.abort_unanswered": [35],
    "smcr.conn.aborted": [35, 56, 75, 77, 121],
    "smcr.packet_ahead": [125],
}


def unanswered(connection):
    connection.cdc("client", flags=["abort"])


def done_before(connection):
    connection.cdc("server", flags=["closed"])
    connection.cdc("client", flags=["abort"])


def answered(connection):
    connection.cdc("client", flags=["abort"])
    connection.cdc("server", flags=["abort"])


def scene(capture):
    groups = [
        linux_connection(capture, sport=40000 + nth, nth=nth, nics=nics)
        for nth, nics in ((1, None), (2, (CLIENT_V1_SECOND, SERVER_V1_SECOND)))
    ]
    for lossy, first in enumerate(groups):
        first.first_contact()
        for number, end in enumerate(
            (unanswered,) if lossy else (unanswered, done_before, answered), 3
        ):
            connection = Connection(
                first.group, *linux_halves(number=number), sport=41000 + 100 * lossy + number
            )
            connection.subsequent_contact()
            end(connection)
        if lossy:
            first.group.links[1].lose("server")
        capture.wait(3)
        for role in ("client", "server"):
            first.group.test_link(role)
