"""
TEST LINK, RFC 7609 A.3.8: user data echoed verbatim, in both directions, version 1; one request that is never answered,
after which the link is given up by both sides (DELETE LINK for the whole group, lost path).
"""

from smcsynth.llc import llc_test_link
from smcsynth.story import linux_connection


def scene(capture):
    connection = linux_connection(capture)
    connection.first_contact()
    connection.send("client", b"then silence\n")
    for sender in ("client", "server"):
        capture.wait(30)
        connection.group.test_link(sender, user_data=bytes(range(16)))
    capture.wait(30)
    connection.group.llc("client", llc_test_link(user_data=b"are you there?"))
    capture.wait(2)
    connection.group.delete_link_group(reason=0x00010000)
    connection.tcp.close()
