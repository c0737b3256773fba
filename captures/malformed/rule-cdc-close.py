"""
Connections that close too early, RFC 7609 4.8.1, each on a connection of its own: a reader closes
that has not read what it was told of before; a writer closes that has not announced what it has
written; a message without sending done after one that had it; the client closes TCP, and sends CDC.
Then a reader closes while data are on their way to it, which is right. In a second link group the
first three, but the capture lacks a packet.
"""

from smcsynth.story import (
    CLIENT_V1_SECOND,
    SERVER_V1_SECOND,
    Connection,
    linux_connection,
    linux_halves,
)

EXPECTED = {
    "smcr.cdc.closed_unannounced": [66],
    "smcr.cdc.closed_unread": [39],
    "smcr.cdc.flag_withdrawn": [89],
    "smcr.packet_ahead": [183, 208, 233],
    "smcr.tcp_closed_before": [110],
}


def unread(connection, lose):
    connection.send("client", b"data\n", read=False)
    connection.group.capture.wait(0.01)
    lose("server")
    connection.cdc("server", flags=["closed"])
    connection.cdc("client", flags=["closed"])


def unannounced(connection, lose):
    connection.send("client", b"data\n")
    lose("client")
    connection.write("client", b"more\n")
    connection.cdc("client", flags=["closed"], prod=(0, 5))
    connection.cdc("server", flags=["closed"])


def withdrawn(connection, lose):
    connection.cdc("client", flags=["sending_done"])
    lose("client")
    connection.cdc("client")


def tcp_closed(connection, _):
    connection.tcp.fin("client")
    connection.cdc("client")


def crossing(connection, _):
    connection.send("client", b"data\n", read=False)
    connection.cdc("server", flags=["closed"])
    connection.cdc("client", flags=["closed"])


def scene(capture):
    groups = [
        linux_connection(capture, sport=40000 + nth, nth=nth, nics=nics)
        for nth, nics in ((1, None), (2, (CLIENT_V1_SECOND, SERVER_V1_SECOND)))
    ]
    for lossy, first in enumerate(groups):
        link = first.group.links[1]
        first.first_contact()
        for number, flaw in enumerate(
            (unread, unannounced, withdrawn) + (() if lossy else (tcp_closed, crossing)), 3
        ):
            connection = Connection(
                first.group, *linux_halves(number=number), sport=41000 + 100 * lossy + number
            )
            connection.subsequent_contact()
            flaw(connection, link.lose if lossy else lambda sender: None)
        for role in ("client", "server"):
            first.group.test_link(role)
