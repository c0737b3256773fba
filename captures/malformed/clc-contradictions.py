"""
Accept and Confirm that contradict what came before, RFC 7609 A.2.3, A.2.4. Port 40001: nothing is
wrong. Port 40002: RKeys that no CONFIRM RKEY has announced. Port 40003: the alert tokens of port
40002, which is still open. Port 40004: no first contact, on a queue pair that the link group does
not have. Port 40005, another group: the client's MTU is above the server's, and its first packet is
before the PSN that it announces. Port 40006, version 2: operating system 7.
"""

from smcsynth.clc import first_contact_extension
from smcsynth.story import Connection, linux_connection, linux_halves

MTU_4096 = 5


def without_confirm_rkey(connection, **accept):
    """A later contact, but for LLC."""
    connection.tcp.handshake()
    connection.tcp.send("client", connection.proposal())
    connection.tcp.send("server", connection.accept(first_contact=False, **accept))
    connection.tcp.send("client", connection.confirm(first_contact=False))


def scene(capture):
    first = linux_connection(capture, sport=40001)
    first.first_contact()
    first.send("client", b"data\n")

    second, third, fourth = (
        Connection(first.group, *linux_halves(number=n), sport=40000 + n) for n in (2, 3, 4)
    )
    without_confirm_rkey(second)
    second.send("client", b"data\n")
    for role in ("client", "server"):
        third.half[role].token = second.half[role].token
    third.subsequent_contact()
    without_confirm_rkey(fourth, qpn=0x777)

    fifth = linux_connection(capture, sport=40005, nth=2)
    fifth.group.links[1].qp["client"].psn -= 16
    fifth.first_contact(confirm=fifth.confirm(mtu_code=MTU_4096))

    sixth = linux_connection(capture, version=2, sport=40006, nth=3)
    sixth.first_contact(
        accept=sixth.accept(fce=first_contact_extension(os_type=7, hostname="server"))
    )
