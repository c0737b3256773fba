"""
RKeys that stand for another RMB in use, RFC 7609 3.5.3, A.2.3, A.3.3, A.3.5. CONFIRM RKEY gives the
RKey of an open connection's RMB to another address, on the carrying link and on link 2. So does an
Accept. ADD LINK CONTINUATION gives two RMBs one RKey on the new link, in one message and in two.
CONFIRM RKEY announces an RMB of another link group, which goes on; the next one does so, too, but
the other group does not go on any more. In link groups 2 and 4 the capture lacks a packet of the
client.
"""

from smcsynth.llc import llc_confirm_rkey
from smcsynth.rkeys import ROLES, add_link, begin, connect, go_on, later, with_links
from smcsynth.story import Rmb

EXPECTED = {"smcr.packet_ahead": [121, 285], "smcr.rkey.in_use": [34, 38, 47, 231, 235, 359, 406]}


def confirm(group, nth):
    """Client: the RKeys of its first RMB for another memory."""
    other = 0xC0FFEE0000 + nth
    group.exchange(
        "client",
        llc_confirm_rkey,
        rkey=0x0C0F0000 + nth,
        va=other,
        others=[(2, 0x0C000102 | nth << 16, other)],
    )
    group.exchange(
        "client",
        llc_confirm_rkey,
        rkey=0x0C000101 | nth << 16,
        va=other,
        others=[(2, 0x0C0E0000 + nth, other)],
    )


def accept(group, nth):
    """Server: an Accept that names the RKey of its first RMB at another address."""
    connection = connect(group, nth, 3)
    rmb = connection.half["server"].rmb
    connection.half["server"].rmb = Rmb(rmb.va, rmb.size, {1: 0x05000101 | nth << 16})
    connection.tcp.handshake()
    connection.tcp.send("client", connection.proposal())
    connection.tcp.send("server", connection.accept(first_contact=False))


def one_key(group, nth):
    """ADD LINK CONTINUATION with one new RKey for two RMBs of the client; the second time in two
    messages."""
    connections = [connect(group, nth, 1)] + [later(group, nth, number) for number in (2, 3, 4)]
    rmbs = {role: [each.half[role].rmb for each in connections] for role in ROLES}
    for number in (0, 1, 3):
        rmbs["client"][number].rkeys[2] = 0x0C0A0000 + nth
    add_link(group, nth, 2, rmbs)


def scene(capture):
    for nth in (1, 2):
        group = with_links(capture, nth, 2).group
        if nth == 2:
            group.links[2].lose("client")
        confirm(group, nth)
        accept(group, nth)
        go_on(group)
    third = None
    for nth in (3, 4):
        group = begin(capture, nth).group
        if nth == 4:
            group.links[1].lose("client")
        one_key(group, nth)
        go_on(group)
        third = third or group
    shared = connect(third, 3, 1).half["server"].rmb
    for nth in (5, 6):
        group = begin(capture, nth).group
        group.exchange("server", llc_confirm_rkey, rkey=shared.rkeys[1], va=shared.va)
        go_on(group)
        if nth == 5:
            go_on(third)
