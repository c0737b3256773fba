"""
TEST LINK, RFC 7609 A.3.8: user data echoed verbatim, in both directions, version 1; at last one
request that the receiver never acknowledges: the device repeats it with the same PSN, then the
sender gives the link up, and with it the link group and the connection, since there is no other
link.
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
    link = connection.group.links[1]
    psn = link.qp["client"].psn
    link.send("client", llc_test_link(user_data=b"are you there?"), ack=False)
    for _ in range(3):
        capture.wait(0.5)
        link.send("client", llc_test_link(user_data=b"are you there?"), ack=False, psn=psn)
    capture.wait(0.5)
    connection.tcp.close()
