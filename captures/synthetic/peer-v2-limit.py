"""
A link group of release 1 that is full, of two connections: one is closed, and its place is taken.
The message that closes it is captured right behind the Accept of the next one, which another path
has carried.
"""

from smcsynth.clc import first_contact_extension, v2_extension
from smcsynth.story import CLIENT_V2, EID, Connection, linux_connection, linux_halves

EXPECTED = {}
TERMS = dict(release=1, max_conns=2, max_links=2)


def scene(capture):
    first = linux_connection(capture, version=2)
    first.group.max_conns = TERMS["max_conns"]
    fce = [first_contact_extension(hostname=role, **TERMS) for role in ("server", "client")]
    offer = v2_extension(eids=[EID], roce_gid=CLIENT_V2.gid, **{**TERMS, "max_conns": 255})
    first.first_contact(
        add_link=False,
        proposal=first.proposal(v2=offer),
        accept=first.accept(fce=fce[0]),
        confirm=first.confirm(fce=fce[1]),
    )
    second, third = [
        Connection(first.group, *linux_halves(number=number), sport=41000 + number)
        for number in (2, 3)
    ]
    second.subsequent_contact()
    for connection in (first, second):
        connection.send("client", b"data\n")
    first.cdc("client", flags=["sending_done"])
    third.tcp.handshake()
    third.tcp.send("client", third.proposal())
    first.group.confirm_rkey("server", third.half["server"].rmb)
    third.tcp.send("server", third.accept(first_contact=False))
    first.cdc("server", flags=["closed"])
    first.cdc("client", flags=["closed"])
    first.group.confirm_rkey("client", third.half["client"].rmb)
    third.tcp.send("client", third.confirm(first_contact=False))
    third.send("client", b"data\n")
    capture.wait(1.5)
    for role in ("client", "server"):
        first.group.test_link(role)
