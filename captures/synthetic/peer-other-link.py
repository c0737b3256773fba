"""
A Confirm names another link of the group than the Accept, RFC 7609 3.5.2.3: link 2 instead of link
1. Each side then sends on the link that it has chosen.
"""

from smcsynth.failover import two_links
from smcsynth.story import Connection, Half, Rmb

EXPECTED = {}


def scene(capture):
    first = two_links(capture)
    halves = (
        Half(token=0x0C03, rmb=Rmb(0x0000010A0C100000, 32768, {1: 0x0C0C0011, 2: 0x0C0C0012})),
        Half(token=0x0504, rmb=Rmb(0x0000020B05100000, 32768, {1: 0x05050011, 2: 0x05050012})),
    )
    second = Connection(first.group, *halves, sport=40002)
    second.tcp.handshake()
    second.tcp.send("client", second.proposal())
    second.group.confirm_rkey("server", second.half["server"].rmb)
    second.tcp.send("server", second.accept(first_contact=False))
    second.group.confirm_rkey("client", second.half["client"].rmb)
    second.link = 2
    second.tcp.send("client", second.confirm(first_contact=False))
    second.send("client", b"over link 2\n")
    second.link = 1
    second.send("server", b"over link 1\n")
    for role, link in (("client", 2), ("server", 1)):
        second.link = link
        second.cdc(role, flags=["closed"])
        second.tcp.fin(role)
    first.close()
