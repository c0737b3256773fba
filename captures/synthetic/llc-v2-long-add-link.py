"""
A version 2 ADD LINK that names 70 RMBs is longer than the path MTU: SEND first and SEND last. The
client's answer names 140 RMBs and takes a SEND middle as well. Linux net/smc/smc_llc.c, whose v2
messages have up to 8192 bytes.
"""

from smcsynth.llc import add_link_v2_extension, llc_add_link
from smcsynth.roce import Nic
from smcsynth.story import CLIENT_V2, MTU_1024, SERVER_V2, Connection, LinkGroup, linux_halves


def scene(capture):
    group = LinkGroup(
        capture,
        [CLIENT_V2, Nic("02:00:00:00:0c:02", "198.51.100.1")],
        [SERVER_V2, Nic("02:00:00:00:05:02", "198.51.100.2")],
        version=2,
    )
    group.new_link(1)
    connection = Connection(group, *linux_halves())
    connection.first_contact(add_link=False)
    link = group.new_link(2, client=(0xC02, 0xC20000), server=(0x502, 0x520000), nic=1)
    for role, count in (("server", 70), ("client", 140)):
        pair, rmb = link.qp[role], connection.half[role].rmb
        rmb.rkeys[2] = rmb.rkeys[1] + 0x20000
        rkeys = [(rmb.rkeys[1] + n, rmb.rkeys[2] + n, rmb.va + n * rmb.size) for n in range(count)]
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
                extension=add_link_v2_extension(target_gid=pair.nic.gid, rkeys=rkeys),
            ),
        )
    group.confirm_link(2)
    connection.link = 2
    connection.send("client", b"over the second link\n")
    connection.close()
    group.delete_link_group()
