"""
Three connections, one after the other, whose RMBs have the same RKeys and addresses, as Linux gives
them again: each is withdrawn by DELETE RKEY and announced anew by CONFIRM RKEY and CLC, RFC 7609
3.5.5.2. Then a TEST LINK request that is retransmitted, since its acknowledgement is lost behind
the capture.
"""

from smcsynth.llc import llc_test_link
from smcsynth.story import Connection, linux_connection, linux_halves

EXPECTED = {"smcr.packet_retransmitted": [174]}


def talk(connection):
    for line in (b"one\n", b"two\n", b"three\n"):
        connection.send("client", line * 3)
        connection.send("server", line * 5)
    connection.close()


def scene(capture):
    first = linux_connection(capture, version=2)
    first.first_contact()
    talk(first)
    for number in (2, 3):
        halves = linux_halves(number=number)
        for half, role in zip(halves, ("client", "server")):
            half.rmb = first.half[role].rmb
        following = Connection(first.group, *halves, sport=40000 + number)
        following.subsequent_contact()
        talk(following)
    link = first.group.links[1]
    psn = link.qp["server"].psn
    link.send("server", llc_test_link(version=2))
    capture.wait(0.1)  # the sender's timer
    link.send("server", llc_test_link(version=2), psn=psn)
    link.send("client", llc_test_link(version=2, reply=True))
