"""
RDMA WRITEs after the end of their connection, RFC 7609 4.8: after sending done, after closed, after
the abort, after both sides have closed, after the reader has closed. Then two connections in one
RMB element after each other, which is right. In a second link group the same WRITEs, but the
capture lacks a packet before each of them. At the end two of the first group whose data are
announced behind the close, as Linux does: in front of one's a WRITE has gone too far on; of the
other's more are written than are announced. Only the WRITE that has gone too far on is wrongly
placed.
"""

from smcsynth.story import (
    CLIENT_V1_SECOND,
    SERVER_V1_SECOND,
    Connection,
    linux_connection,
    linux_halves,
)

EXPECTED = {
    "smcr.cdc.after_close": [359, 390],
    "smcr.conn.aborted": [89, 91, 264, 266],
    "smcr.packet_ahead": [216, 241, 268, 295, 320],
    "smcr.write.after_close": [41, 66, 145],
    "smcr.write.after_end": [93, 120],
    "smcr.write.hole": [351],
}
ENDS = (
    (("client", "sending_done"),),
    (("client", "closed"),),
    (("client", "abort"), ("server", "abort")),
    (("client", "closed"), ("server", "closed")),
    (("server", "closed"),),
)


def behind_the_close(first, number, hole, extra):
    connection = Connection(first.group, *linux_halves(number=number), sport=41000 + number)
    connection.subsequent_contact()
    client = connection.half["client"]
    connection.send("client", b"data\n")
    client.prod = 0, 5 + hole
    connection.write("client", b"next\n")
    client.prod = 0, 10
    connection.cdc("client")
    connection.cdc("client", flags=["closed"])
    connection.write("client", b"more" + extra)
    client.prod = 0, 14
    connection.cdc("client", flags=["closed"])


def scene(capture):
    groups = [
        linux_connection(capture, sport=40000 + nth, nth=nth, nics=nics)
        for nth, nics in ((1, None), (2, (CLIENT_V1_SECOND, SERVER_V1_SECOND)))
    ]
    for lossy, first in enumerate(groups):
        first.first_contact()
        for number, messages in enumerate(ENDS, 3):
            connection = Connection(
                first.group, *linux_halves(number=number), sport=41000 + 100 * lossy + number
            )
            connection.subsequent_contact()
            connection.send("client", b"data\n")
            for sender, flag in messages:
                connection.cdc(sender, flags=[flag])
            capture.wait(0.01)
            if lossy:
                first.group.links[1].lose("client")
            connection.write("client", b"more\n")
        if not lossy:
            first.close(delete_rkeys=False)
            first.next_in_elements(42000).send("client", b"next\n")
        capture.wait(2)
        for role in ("client", "server"):
            first.group.test_link(role)
    behind_the_close(groups[0], 8, 10, b"")
    behind_the_close(groups[0], 9, 0, b"\nlast")
    for role in ("client", "server"):
        groups[0].group.test_link(role)
