"""A link group of hosts with three devices each, and links between any two of them (RFC 7609
2.2.1)."""

from .llc import llc_add_link, llc_confirm_link
from .roce import Nic, QueuePair, RoceLink
from .story import MTU_1024, Connection, Half, LinkGroup, Rmb


def nics(host):
    return [
        Nic(f"02:00:00:00:{host:02x}:{n:02x}", f"fe80::ff:fe00:{host:x}{n:02x}", host << 4 | n)
        for n in range(1, 4)
    ]


def begin(capture, nth):
    group = LinkGroup(capture, nics(0x0C), nics(0x05))
    halves = (
        Half(
            token=0x0C00 + nth, rmb=Rmb(0x10A0C000000 + (nth << 20), 32768, {1: 0x0C0C0000 + nth})
        ),
        Half(
            token=0x0500 + nth, rmb=Rmb(0x20B05000000 + (nth << 20), 32768, {1: 0x05050000 + nth})
        ),
    )
    group.new_link(1, client=(0xC00 + 16 * nth, 0xC10000), server=(0x500 + 16 * nth, 0x510000))
    connection = Connection(group, *halves, sport=40000 + nth)
    connection.first_contact(add_link=False)
    return group


def add(group, number, client, server):
    """A link between the client-th and the server-th device; there are no RMBs to tell of."""
    first = group.links[1].qp
    pairs = {
        role: QueuePair(group.peer[role].nics[nic], first[role].qpn + number, 0x100000 * number)
        for role, nic in (("client", client), ("server", server))
    }
    group.links[number] = RoceLink(
        group.capture, transport=group.transport, sport=49151 + number, **pairs
    )
    for role in ("server", "client"):
        pair = pairs[role]
        group.llc(
            role,
            llc_add_link(
                roce_mac=pair.nic.mac,
                roce_gid=pair.nic.gid,
                qpn=pair.qpn,
                link=number,
                mtu_code=MTU_1024,
                psn=pair.initial_psn,
                reply=role == "client",
            ),
        )
    for role in ("server", "client"):
        pair = pairs[role]
        group.llc(
            role,
            llc_confirm_link(
                roce_mac=pair.nic.mac,
                roce_gid=pair.nic.gid,
                qpn=pair.qpn,
                link=number,
                user_id=0x0A00 + number,
                reply=role == "client",
            ),
            link=number,
        )


def go_on(group, *links):
    for _ in range(2):
        for link in links:
            group.test_link("server", link=link)
            group.test_link("client", link=link)
        group.capture.wait(6)
