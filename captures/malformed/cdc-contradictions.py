"""
CDC messages that contradict what came before, RFC 7609 A.4. Port 40001: the server has read more
than the client has written; the client goes on after it has said that it is done. Port 40002: a
message and its data on a link that the server has deleted.
"""

from smcsynth.llc import llc_delete_link
from smcsynth.story import Connection, linux_connection, linux_halves


def scene(capture):
    first = linux_connection(capture, sport=40001)
    first.first_contact()
    first.send("client", b"data\n")
    first.cdc("server", cons=(0, 9))
    capture.wait(0.2)
    first.cdc("client", flags=["closed"])
    first.send("client", b"more data\n")

    second = Connection(first.group, *linux_halves(number=2), sport=40002)
    second.subsequent_contact()
    second.send("client", b"data\n")
    deleted = dict(link=1, reason=0x00010000)
    second.group.llc("server", llc_delete_link(**deleted))
    second.group.llc("client", llc_delete_link(**deleted, reply=True))
    capture.wait(0.01)
    second.send("client", b"more data\n")
