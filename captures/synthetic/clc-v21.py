"""
SMC-R version 2.1 (release 1): limits for connections and links, feature mask and vendor options in
the Proposal's v2 extension and in the first contact extension. Layout: Linux 6.12
net/smc/smc_clc.h.

First a whole connection, then one that the server declines: its Proposal offers SMC-R only, yet has
an SMC-Dv2 extension, and all vendor fields set.
"""

from smcsynth.clc import (
    NEITHER,
    ONLY_R,
    clc_decline,
    clc_proposal,
    first_contact_extension,
    smcd_area,
    smcdv2_extension,
    v2_extension,
)
from smcsynth.octets import peer_id
from smcsynth.story import CLIENT_V2, EID, clc_conversation, linux_connection

MAC, LINK_LOCAL = "98:03:9b:ab:cd:ef", "fe80::9a03:9bff:feab:cdef"
ODD_PROPOSAL = clc_proposal(
    peer=peer_id(0x3944, MAC),
    roce_gid=LINK_LOCAL,
    roce_mac=MAC,
    version=2,
    typev1=NEITHER,
    typev2=ONLY_R,
    smcd=smcd_area(
        ism_gid=0x0123456789ABCDEF,
        chid=0x1234,
        v2_offset=28,
        oui=bytes.fromhex("00163e"),
        vendor=bytes.fromhex("0102030405"),
    ),
    v2=v2_extension(
        eids=["EID00"],
        roce_gid="10.0.0.1",
        release=1,
        seid_flag=1,
        max_conns=255,
        max_links=2,
        features=1,
        smcd=smcdv2_extension(seid="IBM-SYSZ-ISMSEID0000000012345678"),
    ),
)


def scene(capture):
    connection = linux_connection(capture, version=2)
    connection.group.max_conns = 32
    limits = dict(max_conns=32, max_links=2, features=1)
    extension = v2_extension(
        eids=[EID, "SMC-SECOND"], roce_gid=CLIENT_V2.gid, release=1, **{**limits, "max_conns": 255}
    )
    agreed = dict(release=1, vendor=bytes.fromhex("deadbeef"), **limits)
    connection.first_contact(
        proposal=connection.proposal(v2=extension),
        accept=connection.accept(fce=first_contact_extension(hostname="server", **agreed)),
        confirm=connection.confirm(
            fce=first_contact_extension(hostname="client", **agreed),
            gids=[CLIENT_V2.gid, "198.51.100.1"],
        ),
    )
    connection.send("client", b"limits agreed?\n")
    connection.send("server", b"32 connections, 2 links\n")
    connection.close()
    clc_conversation(
        capture,
        40002,
        ("client", ODD_PROPOSAL),
        ("server", clc_decline(diagnosis=0x03030009, version=2, os_type=2)),
    )
