"""
DELETE RKEY, RFC 7609 3.5.5.2.2, A.3.7: a WRITE of the server is under way when the client, which is
done with the connection, asks for it; the server agrees. Then the client asks for another RMB, the
server refuses, and the next connection goes on in that RMB.
"""

from smcsynth.llc import llc_delete_rkey
from smcsynth.story import Connection, linux_connection, linux_halves

EXPECTED = {"smcr.llc.negative_response": [69]}


def close(connection):
    connection.close(delete_rkeys=False)


def scene(capture):
    first = linux_connection(capture)
    first.first_contact()
    group = first.group
    first.send("client", b"first\n")
    first.cdc("client", flags=["closed"])
    request = dict(rkeys=[first.half["client"].rmb.rkeys[1]])
    group.llc("client", llc_delete_rkey(**request))
    first.send("server", b"under way\n")
    first.cdc("server", flags=["closed"])
    group.llc("server", llc_delete_rkey(**request, reply=True))
    first.tcp.fin("client")
    first.tcp.fin("server")

    second = Connection(group, *linux_halves(number=2), sport=40002)
    second.subsequent_contact()
    second.send("server", b"second\n")
    close(second)
    request = dict(rkeys=[second.half["client"].rmb.rkeys[1]])
    group.llc("client", llc_delete_rkey(**request))
    group.llc("server", llc_delete_rkey(**request, reply=True, negative=True, error_mask=0x80))

    halves = linux_halves(number=3)
    halves[0].rmb = second.half["client"].rmb
    third = Connection(group, *halves, sport=40003)
    third.tcp.handshake()
    third.tcp.send("client", third.proposal())
    group.confirm_rkey("server", third.half["server"].rmb)
    third.tcp.send("server", third.accept(first_contact=False))
    third.tcp.send("client", third.confirm(first_contact=False))
    third.send("server", b"third\n")
    close(third)
