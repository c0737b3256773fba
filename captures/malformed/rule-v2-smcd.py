"""
SMC-D (net/smc/smc_clc.h): an Accept of version 1 with 4 bytes too many, one of version 2 that is
cut by 4 bytes with the right trailer, and an Accept and a Confirm whose buffer size has code 7. No
SMC-R is in it.
"""

from smcsynth.clc import (
    ACCEPT,
    CONFIRM,
    NEITHER,
    ONLY_D,
    clc_proposal,
    clc_smcd,
    smcd_area,
    smcdv2_extension,
    v2_extension,
)
from smcsynth.octets import patch, u16
from smcsynth.story import EID, clc_conversation

EXPECTED = {
    "smcr.clc.extra_bytes": [5],
    "smcr.clc.length_invalid": [5, 14],
    "smcr.message_short": [14],
    "smcr.rmb.bsize_reserved": [23, 24],
}
SERVER_ISM = 0x1801C00000000002
CLIENT_ISM = 0x1801C00000000001
CHID = 0x07C1
PROPOSAL = clc_proposal(
    version=2,
    typev1=NEITHER,
    typev2=ONLY_D,
    smcd=smcd_area(v2_offset=28),
    v2=v2_extension(
        eids=[EID],
        seid_flag=1,
        ism_gid_count=1,
        smcd=smcdv2_extension(seid="IBM-SYSZ-ISMSEID0000000012345678", gids=[(CLIENT_ISM, CHID)]),
    ),
)
PROPOSAL_V1 = clc_proposal(
    version=1, typev1=ONLY_D, smcd=smcd_area(ism_gid=CLIENT_ISM), offset=40, ip_area=bytes(8)
)


def resized(message, change):
    """The message with `change` bytes more, or less, before its trailer."""
    body, trailer = message[:-4], message[-4:]
    body = body + bytes(change) if change > 0 else body[:change]
    return patch(body + trailer, 5, u16(len(message) + change))


def scene(capture):
    common = dict(ism_gid=SERVER_ISM, token=0x0500000000000201, link_id=0x0100)
    version2 = dict(common, version=2, chid=CHID, eid=EID)
    long, short = clc_smcd(ACCEPT, size_code=2, **common), clc_smcd(ACCEPT, size_code=2, **version2)
    clc_conversation(capture, 40001, ("client", PROPOSAL_V1), ("server", resized(long, 4)))
    clc_conversation(capture, 40002, ("client", PROPOSAL), ("server", resized(short, -4)))
    clc_conversation(
        capture,
        40003,
        ("client", PROPOSAL),
        ("server", clc_smcd(ACCEPT, size_code=7, **version2)),
        ("client", clc_smcd(CONFIRM, size_code=7, **{**version2, "ism_gid": CLIENT_ISM})),
    )
