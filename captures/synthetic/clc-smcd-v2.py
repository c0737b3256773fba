"""
SMC-Dv2: Proposals with the SMC-Dv2 extension, Accept and Confirm with eyecatcher E2D4C3C4, CHID and
EID. Layout: Linux net/smc/smc_clc.h, struct smcd_clc_msg_accept_confirm_v2.

Port 40001: first contact, release 0, 114 bytes. Port 40002: first contact, release 1 (v2.1), 130
bytes, with the extended GID of an emulated ISM device on both sides. Port 40003: later connection
without first contact extension, 78 bytes.
"""

from smcsynth.clc import (
    ACCEPT,
    CONFIRM,
    NEITHER,
    ONLY_D,
    clc_proposal,
    clc_smcd,
    first_contact_extension,
    smcd_area,
    smcdv2_extension,
    v2_extension,
)
from smcsynth.story import EID, clc_conversation

SEID = "IBM-SYSZ-ISMSEID0000000012345678"
CLIENT_ISM, SERVER_ISM, CHID = 0x1801C00000000001, 0x1801C00000000002, 0x07C1
EMULATED_CHID = 0xFF00
CLIENT_EMULATED = (0x11DD4A2F8C3B4E01, 0x9F0102030405060C)  # both halves of a 128-bit GID
SERVER_EMULATED = (0x22EE4A2F8C3B4E02, 0x9F01020304050605)


def proposal(gids, release, **v21):
    extension = v2_extension(
        eids=[EID],
        seid_flag=1,
        release=release,
        ism_gid_count=len(gids),
        smcd=smcdv2_extension(seid=SEID, gids=gids),
        **v21
    )
    return clc_proposal(
        version=2, typev1=NEITHER, typev2=ONLY_D, v2=extension, smcd=smcd_area(v2_offset=28)
    )


def answers(fces, client=(CLIENT_ISM, 0), server=(SERVER_ISM, 0), chid=CHID):
    common = dict(index=0, size_code=2, version=2, chid=chid, eid=EID)
    return [
        (
            "server",
            clc_smcd(
                ACCEPT,
                ism_gid=server[0],
                extended_gid=server[1],
                token=0x0500000000000201,
                link_id=0x0100,
                fce=fces[0],
                **common
            ),
        ),
        (
            "client",
            clc_smcd(
                CONFIRM,
                ism_gid=client[0],
                extended_gid=client[1],
                token=0x0C00000000000201,
                link_id=0x0200,
                fce=fces[1],
                **common
            ),
        ),
    ]


def scene(capture):
    names = ("server", "client")
    release0 = [first_contact_extension(hostname=name, size=36, direct=False) for name in names]
    release1 = [
        first_contact_extension(hostname=name, release=1, features=1, direct=False)
        for name in names
    ]
    plain = [(CLIENT_ISM, CHID)]
    emulated = [(half, EMULATED_CHID) for half in CLIENT_EMULATED]
    clc_conversation(capture, 40001, ("client", proposal(plain, 0)), *answers(release0))
    clc_conversation(
        capture,
        40002,
        ("client", proposal(emulated, 1, features=1)),
        *answers(release1, CLIENT_EMULATED, SERVER_EMULATED, EMULATED_CHID)
    )
    clc_conversation(capture, 40003, ("client", proposal(plain, 0)), *answers((b"", b"")))
