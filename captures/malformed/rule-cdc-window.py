"""
A cursor update that the writer does not need, RFC 7609 4.5.1: four fifths of the RMB element are
free. Then one that it needs. Only who asks for it is told (preference smcr.strict). At last one
that the writer asks for, and does not get.
"""

from smcsynth.story import Connection, linux_connection, linux_halves

EXPECTED = {"smcr.no_response": [62]}


def scene(capture):
    first = linux_connection(capture)
    first.first_contact()
    connection = Connection(first.group, *linux_halves(16384, number=2), sport=40002)
    connection.subsequent_contact()
    for size in (3000, 12000):
        connection.send("client", bytes(size))
        connection.cdc("server")
    connection.send("client", b"data\n", flags=["update_requested"])
    capture.wait(6)
    first.group.test_link("client")
