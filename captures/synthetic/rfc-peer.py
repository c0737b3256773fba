"""
Two peers that follow RFC 7609 where Linux takes another way.

Different alert tokens, RMBE index 2 and 3 of RMBs with several elements, eyecatcher in bytes 0 to 3
of each RMBE and cursors that begin at 4 (A.4; CONFIRM LINK without Linux' flags), ADD LINK as in
Figure 32 with the GID at offset 10, two links, ADD LINK CONTINUATION (A.3.3), eight links at most
(A.3.1), and data that wrap a 16 KiB RMBE.
"""

from smcsynth.clc import clc_proposal, prefix_area
from smcsynth.octets import text_lines
from smcsynth.story import (
    CLIENT_V1,
    CLIENT_V1_SECOND,
    SERVER_V1,
    SERVER_V1_SECOND,
    Connection,
    Half,
    LinkGroup,
    Rmb,
)

CLIENT_RMB = Rmb(0x0000010A_0C000000, 16384, {1: 0x0C0C0001, 2: 0x0C0C0002})
SERVER_RMB = Rmb(0x0000020B_05000000, 16384, {1: 0x05050001, 2: 0x05050002})


def scene(capture):
    group = LinkGroup(
        capture,
        [CLIENT_V1, CLIENT_V1_SECOND],
        [SERVER_V1, SERVER_V1_SECOND],
        no_eyecatcher=False,
        max_links=8,
    )
    group.new_link(1, client=(0x000C01, 0xC10000), server=(0x000501, 0x510000))
    connection = Connection(
        group,
        Half(token=0xC0FFEE01, rmb=CLIENT_RMB, index=3, base=4),
        Half(token=0x0500BEEF, rmb=SERVER_RMB, index=2, base=4),
    )
    proposal = clc_proposal(
        peer=group.peer["client"].id,
        roce_gid=CLIENT_V1.gid,
        roce_mac=CLIENT_V1.mac,
        ip_area=prefix_area(subnet="255.255.255.0", mask_bits=24),
    )
    connection.first_contact(
        add_link=False, proposal=proposal, confirm=connection.confirm(first_contact=False)
    )
    group.add_link(
        2,
        {"client": [CLIENT_RMB], "server": [SERVER_RMB]},
        layout="figure32",
        nic=1,
        client=(0x000C02, 0xC20000),
        server=(0x000502, 0x520000),
    )
    lines = text_lines(40_000, "rfc-peer client")
    for start in range(0, len(lines), 6000):
        connection.send("client", lines[start : start + 6000])
        connection.cdc("server")
    connection.link = 2
    connection.send("server", text_lines(3000, "rfc-peer server"))
    connection.send("client", b"thanks\n")
    connection.cdc("client", flags=["sending_done"])
    connection.close("server", delete_rkeys=False)
    group.delete_link_group(link=1)
