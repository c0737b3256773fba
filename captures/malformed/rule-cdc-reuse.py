"""
The server gives an RMB element to another connection while the first one is open, RFC 7609 4.4.2.
The client uses the second connection, and then the first one again, twice: it ought to have aborted
that, which is told once. On other elements the client aborts the first connection, which is right.
In a second link group as at first, but the capture lacks a packet.
"""

from smcsynth.story import (
    CLIENT_V1_SECOND,
    SERVER_V1_SECOND,
    Connection,
    linux_connection,
    linux_halves,
)

EXPECTED = {
    "smcr.cdc.after_reuse": [54],
    "smcr.conn.aborted": [92, 94, 197],
    "smcr.packet_ahead": [157, 195],
    "smcr.window.small_update": [39, 77, 142, 180],
}


def scene(capture):
    kept = []  # connections that are not aborted
    groups = [
        linux_connection(capture, sport=40000 + nth, nth=nth, nics=nics)
        for nth, nics in ((1, None), (2, (CLIENT_V1_SECOND, SERVER_V1_SECOND)))
    ]
    for lossy, first in enumerate(groups):
        first.first_contact()
        for number, flags in ((3, []), (4, ["abort"])):
            before = Connection(
                first.group, *linux_halves(number=number), sport=41000 + 100 * lossy + number
            )
            before.subsequent_contact()
            before.send("client", b"data\n")
            before.cdc("server")
            after = before.next_in_elements(42000 + 100 * lossy + number)
            after.send("client", b"next\n")
            if lossy:
                first.group.links[1].lose("client")
            before.cdc("client", flags=flags)
            if flags:
                before.cdc("server", flags=flags)
            else:
                kept.append(before)
        for role in ("client", "server"):
            first.group.test_link(role)
    kept[0].cdc("client")
