"""
Version 2 LLC messages of every type, once with big-endian lengths and counts (Linux on s390, z/OS;
port 40001), once with little-endian ones (Linux on x86 and arm; port 40002), since Linux sends them
in host order: net/smc/smc_llc.c.

CONFIRM LINK, ADD LINK with three RKeys accepted and a second link used, REQUEST ADD LINK, ADD LINK
rejected, CONFIRM RKEY, TEST LINK, DELETE RKEY, DELETE LINK.
"""

from smcsynth.llc import add_link_v2_extension, llc_add_link, llc_request_add_link
from smcsynth.roce import Nic
from smcsynth.story import CLIENT, MTU_1024, SERVER, Connection, LinkGroup, Rmb, linux_halves

CLIENT_NICS = [Nic(CLIENT.mac, CLIENT.ip), Nic("02:00:00:00:0c:02", "198.51.100.1")]
SERVER_NICS = [Nic(SERVER.mac, SERVER.ip), Nic("02:00:00:00:05:02", "198.51.100.2")]


def add_second_link(group, halves, step):
    """ADD LINK version 2: both sides name the new RKeys of three RMBs in the message itself."""
    link = group.new_link(
        2, client=(0xC02 + step, 0xC20000), server=(0x502 + step, 0x520000), nic=1
    )
    for role in ("server", "client"):
        pair, rmb = link.qp[role], halves[role].rmb
        rmb.rkeys[2] = rmb.rkeys[1] + 0x20000
        rkeys = [(rmb.rkeys[1] + n, rmb.rkeys[2] + n, rmb.va + n * 0x10000) for n in range(3)]
        group.llc(
            role,
            llc_add_link(
                roce_mac=pair.nic.mac,
                roce_gid=pair.nic.gid,
                qpn=pair.qpn,
                link=2,
                mtu_code=MTU_1024,
                psn=pair.initial_psn,
                version=2,
                reply=role == "client",
                order=group.order,
                extension=add_link_v2_extension(
                    target_gid=pair.nic.gid, rkeys=rkeys, order=group.order
                ),
            ),
        )
    group.confirm_link(2)


def scene(capture):
    for sport, order, step in ((40001, "big", 0), (40002, "little", 0x40)):
        group = LinkGroup(capture, CLIENT_NICS, SERVER_NICS, version=2, order=order)
        group.new_link(1, client=(0x11 + step, 0x100000), server=(0x4D3 + step, 0x200000))
        first = Connection(group, *linux_halves(number=1 + step), sport=sport)
        first.first_contact(add_link=False)
        group.llc(
            "client", llc_request_add_link(gids=[nic.gid for nic in CLIENT_NICS], order=order)
        )
        add_second_link(group, first.half, step)
        group.add_link_rejected(number=3)
        rmb = Rmb(0xFFFF88830A000000, 65536, {1: 0x0A000001 + step, 2: 0x0A020001 + step})
        group.confirm_rkey("server", rmb)
        group.test_link("client", user_data=b"\x55" * 16)
        group.test_link("server", link=2)
        first.send("client", order.encode() + b"-endian\n")
        group.delete_rkey("server", rmb)
        first.close()
        group.delete_link_group()
