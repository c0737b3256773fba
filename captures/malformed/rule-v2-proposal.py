"""
Proposals and Confirms of SMC version 2 whose values mean nothing, one TCP connection each, in this
order: no EID; the same EID twice; an EID with a control character, and one that begins with a
blank; SMC-R without a GID; release 2; release 1 with 15 connections, and with no link; an unknown
feature; an IP area though nothing of version 1 is offered; a Decline of 40 bytes; and a whole first
contact whose Confirm lists a GID of zeros, and one twice. At last two of which only strict users
hear: an SMC-Dv2 extension, and ISM GIDs, without SMC-D.
"""

from smcsynth.clc import (
    NEITHER,
    ONLY_R,
    clc_decline,
    clc_proposal,
    prefix_area,
    smcd_area,
    smcdv2_extension,
    v2_extension,
)
from smcsynth.octets import patch, u16
from smcsynth.story import CLIENT_V2, EID, clc_conversation, linux_connection

EXPECTED = {
    "smcr.clc.eid_useless": [12, 20, 28],
    "smcr.clc.extra_bytes": [76],
    "smcr.clc.gid_useless": [97],
    "smcr.clc.length_invalid": [76, 85],
    "smcr.clc.offer_invalid": [4, 36, 52, 60],
    "smcr.clc.release_unknown": [44],
    "smcr.fallback": [85],
    "smcr.message_short": [85],
    "smcr.reserved_not_zero": [68],
}
OFFER = dict(eids=[EID], roce_gid=CLIENT_V2.gid)
RELEASE_1 = dict(release=1, max_conns=255, max_links=2)
SEID = "IBM-SYSZ-ISMSEID0000000012345678"
CASES = [
    dict(eids=[]),
    dict(eids=[EID, "ANOTHER", EID]),
    dict(eids=["BELL\x07"]),
    dict(eids=[" BLANK"]),
    dict(roce_gid="::"),
    {**RELEASE_1, "release": 2},
    {**RELEASE_1, "max_conns": 15},
    {**RELEASE_1, "max_links": 0},
    {**RELEASE_1, "features": 2},
]
STRICT = [
    dict(smcd=smcdv2_extension(seid=SEID)),
    dict(ism_gid_count=1, smcd=smcdv2_extension(seid=SEID, gids=[(1, 1)])),
]


def proposal(**changes):
    return clc_proposal(
        version=2,
        typev1=NEITHER,
        typev2=ONLY_R,
        smcd=smcd_area(v2_offset=28),
        v2=v2_extension(**{**OFFER, **changes}),
    )


def scene(capture):
    for number, changes in enumerate(CASES):
        clc_conversation(capture, 40001 + number, ("client", proposal(**changes)))
    area = prefix_area(subnet="192.0.2.0", mask_bits=24)
    clc_conversation(
        capture,
        40101,
        (
            "client",
            clc_proposal(
                version=2,
                typev1=NEITHER,
                typev2=ONLY_R,
                smcd=smcd_area(v2_offset=28),
                v2=v2_extension(**OFFER) + area,
            ),
        ),
    )
    decline = clc_decline(diagnosis=0x03030008, version=2, os_type=2)
    short = patch(decline[:36] + decline[-4:], 5, u16(40))
    clc_conversation(capture, 40102, ("client", proposal()), ("server", short))
    connection = linux_connection(capture, version=2, sport=40103)
    connection.first_contact(confirm=connection.confirm(gids=[CLIENT_V2.gid, "::", CLIENT_V2.gid]))
    connection.send("client", b"data\n")
    connection.close()
    for number, changes in enumerate(STRICT):
        clc_conversation(capture, 40201 + number, ("client", proposal(**changes)))
