"""
Nothing comes after the end of a connection, RFC 7609 4.8: data after sending done, a CDC message
after connection closed, one after an abort. In a second link group the same, but the capture lacks
a packet before each message.
"""

from smcsynth.story import (
    CLIENT_V1_SECOND,
    SERVER_V1_SECOND,
    Connection,
    linux_connection,
    linux_halves,
)

EXPECTED = {
    "smcr.cdc.after_abort": [97],
    "smcr.cdc.after_close": [70],
    "smcr.cdc.after_done": [43],
    "smcr.conn.aborted": [93, 199],
    "smcr.packet_ahead": [147, 174, 201],
}


def scene(capture):
    groups = [
        linux_connection(capture, sport=40000 + nth, nth=nth, nics=nics)
        for nth, nics in ((1, None), (2, (CLIENT_V1_SECOND, SERVER_V1_SECOND)))
    ]
    for lossy, first in enumerate(groups):
        first.first_contact()
        for number, flag in enumerate(("sending_done", "closed", "abort"), 3):
            connection = Connection(
                first.group, *linux_halves(number=number), sport=41000 + 100 * lossy + number
            )
            connection.subsequent_contact()
            connection.send("client", b"data\n")
            connection.cdc("client", flags=[flag])
            if lossy:
                first.group.links[1].lose("client")
            connection.send("client", b"more\n", flags=[flag])
        for role in ("client", "server"):
            first.group.test_link(role)
