"""
Proposals whose counts and offsets lead out of the message, RFC 7609 A.2.2 and Linux
net/smc/smc_clc.h.

Ports from 40001, in the order of CASES: IPv6 prefix count 9 and 200; IP area offset beyond the
message, and one that cuts the SMC-D area; offset 65535; mask of 33 bits; prefix of 129 bits; v2
extension offset beyond the message, 0 and 65535; EID count 9 and 255; ISM GID count 255 and 4;
SMC-Dv2 extension offset beyond the message; typev1 and typev2 both "none".
"""

from smcsynth.clc import (
    NEITHER,
    ONLY_D,
    ONLY_R,
    clc_proposal,
    prefix_area,
    smcd_area,
    smcdv2_extension,
    v2_extension,
)
from smcsynth.octets import patch, peer_id, u8, u16
from smcsynth.story import CLIENT_V1, CLIENT_V2, EID, clc_conversation

SENDER = dict(peer=peer_id(0x5243, CLIENT_V1.mac), roce_gid=CLIENT_V1.gid, roce_mac=CLIENT_V1.mac)
AREA = prefix_area(subnet="192.0.2.0", mask_bits=24)
V1 = clc_proposal(**SENDER, ip_area=AREA)
WITH_PREFIX = clc_proposal(**SENDER, ip_area=prefix_area(prefixes=["2001:db8::/64"]))
V2 = clc_proposal(
    version=2,
    typev1=NEITHER,
    typev2=ONLY_R,
    smcd=smcd_area(v2_offset=28),
    v2=v2_extension(eids=[EID], roce_gid=CLIENT_V2.gid),
)
V2D = clc_proposal(
    version=2,
    typev1=NEITHER,
    typev2=ONLY_D,
    smcd=smcd_area(v2_offset=28),
    v2=v2_extension(
        eids=[EID],
        ism_gid_count=1,
        smcd=smcdv2_extension(seid="SEID", gids=[(0x1801C00000000001, 0x07C1)]),
    ),
)
IP_OFFSET, MASK_BITS, PREFIX_COUNT, PREFIX_BITS, V2_OFFSET = 38, 44, 47, 64, 50
V2_EXTENSION = 80
EID_COUNT, GID_COUNT, SMCD_OFFSET = V2_EXTENSION, V2_EXTENSION + 1, V2_EXTENSION + 6

CASES = [
    patch(V1, PREFIX_COUNT, u8(9)),
    patch(V1, PREFIX_COUNT, u8(200)),
    patch(V1, IP_OFFSET, u16(200)),
    patch(V1, IP_OFFSET, u16(4)),
    patch(V1, IP_OFFSET, u16(65535)),
    patch(V1, MASK_BITS, u8(33)),
    patch(WITH_PREFIX, PREFIX_BITS, u8(129)),
    patch(V2, V2_OFFSET, u16(500)),
    patch(V2, V2_OFFSET, u16(0)),
    patch(V2, V2_OFFSET, u16(65535)),
    patch(V2, EID_COUNT, u8(9)),
    patch(V2, EID_COUNT, u8(255)),
    patch(V2D, GID_COUNT, u8(255)),
    patch(V2D, GID_COUNT, u8(4)),
    patch(V2D, SMCD_OFFSET, u16(1000)),
    clc_proposal(version=2, typev1=NEITHER, typev2=NEITHER, smcd=smcd_area()),
]


def scene(capture):
    for number, proposal in enumerate(CASES):
        clc_conversation(capture, 40001 + number, ("client", proposal))
