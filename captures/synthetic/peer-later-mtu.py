"""
The MTU is of the first contact, RFC 7609 A.2.3: later an Accept may leave the field empty, and a
Confirm may have anything there.
"""

from smcsynth.story import Connection, linux_connection, linux_halves

EXPECTED = {}


def scene(capture):
    first = linux_connection(capture)
    first.first_contact()
    first.send("client", b"first\n")
    second = Connection(first.group, *linux_halves(number=2), sport=40002)
    second.tcp.handshake()
    second.tcp.send("client", second.proposal())
    second.group.confirm_rkey("server", second.half["server"].rmb)
    second.tcp.send("server", second.accept(first_contact=False, mtu_code=0))
    second.group.confirm_rkey("client", second.half["client"].rmb)
    second.tcp.send("client", second.confirm(first_contact=False, mtu_code=15))
    second.send("client", b"second\n")
    second.close()
    first.close()
