"""
The capture has the two directions of a link out of order by ten milliseconds: the writer fills the
element, and writes into it again before the reader's CDC message that frees it.
"""

from smcsynth.story import Connection, linux_connection, linux_halves

EXPECTED = {"smcr.window.full": [52], "smcr.window.small_update": [60]}


def scene(capture):
    first = linux_connection(capture)
    first.first_contact()
    connection = Connection(first.group, *linux_halves(16384, number=2), sport=40002)
    connection.subsequent_contact()
    connection.send("client", bytes(16384), flags=["blocked"])
    connection.half["server"].announced = connection.half["server"].cons
    connection.write("client", bytes(1000))
    capture.wait(0.01)
    connection.cdc("server")
    connection.cdc("client")
    connection.read("server")
    connection.cdc("server")
    for role in ("client", "server"):
        first.group.test_link(role)
