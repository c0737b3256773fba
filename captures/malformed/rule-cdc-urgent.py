"""
Urgent data, RFC 7609 4.7.5, each on a connection of its own: present, but not pending; present,
though the producer cursor does not move; more data before the reader tells that it has them; a
reader that tells nothing for a second. Then all as it ought to be. In a second link group the same,
but the capture lacks a packet.
"""

from smcsynth.story import (
    CLIENT_V1_SECOND,
    SERVER_V1_SECOND,
    Connection,
    linux_connection,
    linux_halves,
)

EXPECTED = {
    "smcr.cdc.urgent_unanswered": [109],
    "smcr.cdc.urgent_flags": [20, 45],
    "smcr.cdc.urgent_overrun": [76],
    "smcr.packet_ahead": [194, 229, 260],
}
URGENT = ["urgent_pending", "urgent_present"]


def still(connection):
    connection.send("client", b"data\n")
    connection.lose("client")
    connection.cdc("client", flags=URGENT)


def overrun(connection):
    connection.lose("server")
    connection.send("client", b"!", flags=URGENT)
    connection.send("client", b"more\n")
    connection.group.capture.wait(0.2)
    connection.cdc("server")


def unanswered(connection):
    connection.send("client", b"!", flags=URGENT)
    connection.group.capture.wait(1.5)
    connection.lose("server")
    connection.cdc("server")


def as_it_ought_to_be(connection):
    connection.send("client", b"!", flags=URGENT)
    connection.cdc("server")
    connection.send("client", b"more\n")


class MayLose(Connection):
    """A connection; lose() drops a packet of the capture in the second link group only."""

    lossy = False

    def lose(self, sender):
        if self.lossy:
            self.group.links[1].lose(sender)


def scene(capture):
    groups = [
        linux_connection(capture, sport=40000 + nth, nth=nth, nics=nics)
        for nth, nics in ((1, None), (2, (CLIENT_V1_SECOND, SERVER_V1_SECOND)))
    ]
    for lossy, first in enumerate(groups):
        first.first_contact()
        if not lossy:
            first.send("client", b"!", flags=["urgent_present"])
            first.cdc("server")
        for number, flaw in enumerate((still, overrun, unanswered, as_it_ought_to_be), 3):
            connection = MayLose(
                first.group, *linux_halves(number=number), sport=41000 + 100 * lossy + number
            )
            connection.lossy = bool(lossy)
            connection.subsequent_contact()
            flaw(connection)
            for role in ("client", "server"):
                first.group.test_link(role)
