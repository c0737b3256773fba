"""
Why a connection fell back: a short connection for every diagnosis code that Linux has, or had, and
some that it has not. RFC 7609 A.2.5 leaves the code to the vendor; codes and the longer version 2
format are Linux', net/smc/smc_clc.h.

Ports from 40001: each code once in a version 2 Decline from Linux (44 bytes), or in the old format
of 28 bytes if the code is older than version 2. From 41001: other operating systems. From 42001:
Declines at unusual moments.
"""

from smcsynth.clc import clc_decline
from smcsynth.octets import peer_id
from smcsynth.story import CLIENT_V1, SERVER_V1, clc_conversation, linux_connection

V1_CODES = [
    0x01010000,
    0x02010000,
    0x02020000,
    0x03000000,
    0x03010000,
    0x03020000,
    0x03030000,
    0x03030001,
    0x03030002,
    0x03040000,
    0x03050000,
    0x03060000,
    0x03070000,
    0x03080000,
    0x03090000,
    0x030A0000,
    0x030B0000,
    0x04000000,
    0x05000000,
    0x09990000,
    0x09990001,
    0x09990002,
    0x09990003,
]
OLD_CODES = [0x02000000, 0x02040000, 0x06000000, 0x07000000, 0x99990000]
V2_CODES = [*range(0x03030003, 0x0303000C), 0x030C0000, 0x030D0000, 0x030E0000, 0x030F0000]
ANCK_CODE, UNKNOWN_CODE = 0x0303000C, 0x0BAD0001
LINUX, ZOS, AIX, UNKNOWN_OS = 2, 1, 3, 15


def scene(capture):
    proposal_v1 = linux_connection(capture).proposal()
    proposal_v2 = linux_connection(capture, version=2).proposal()
    client, server = peer_id(0x5243, CLIENT_V1.mac), peer_id(0x18DA, SERVER_V1.mac)

    def declined(sport, proposal=proposal_v1, **decline):
        clc_conversation(
            capture, sport, ("client", proposal), ("server", clc_decline(peer=server, **decline))
        )

    for number, code in enumerate(V1_CODES + OLD_CODES):
        declined(40001 + number, diagnosis=code)
    for number, code in enumerate([*V2_CODES, ANCK_CODE, UNKNOWN_CODE]):
        declined(40101 + number, proposal_v2, diagnosis=code, version=2, os_type=LINUX)

    declined(41001, proposal_v2, diagnosis=0x00001234, version=2, os_type=ZOS, words=(1, 2, 3, 4))
    declined(41002, proposal_v2, diagnosis=0x00000042, version=2, os_type=AIX)
    declined(41003, proposal_v2, diagnosis=0x03030000, version=2, os_type=UNKNOWN_OS)
    declined(41004, proposal_v2, diagnosis=0x0303000B, version=2, os_type=LINUX, words=(1, 2, 3, 4))

    # The server lost the link group: out of sync. The client declines by itself. The server
    # declines after Confirm.
    declined(42001, diagnosis=0x04000000, out_of_sync=True)
    clc_conversation(capture, 42002, ("client", clc_decline(diagnosis=0x03030000)))
    late = linux_connection(capture, sport=42003)
    clc_conversation(
        capture,
        42003,
        ("client", proposal_v1),
        ("server", late.accept()),
        ("client", late.confirm()),
        ("server", clc_decline(peer=server, diagnosis=0x02010000)),
    )
    clc_conversation(
        capture,
        42004,
        ("client", proposal_v1),
        ("server", late.accept()),
        ("client", clc_decline(peer=client, diagnosis=0x09990003)),
    )
