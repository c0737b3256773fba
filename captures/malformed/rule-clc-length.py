"""
Proposals as RFC 7609 A.2.2 has them that are a byte too short, and have half a prefix; the server
declines them.
"""

from smcsynth.clc import clc_decline, clc_proposal, prefix_area
from smcsynth.story import CLIENT_V1, clc_conversation, linux_connection

EXPECTED = {
    "smcr.clc.count_invalid": [13],
    "smcr.clc.error_kept": [5, 14],
    "smcr.clc.extra_bytes": [4, 13],
    "smcr.clc.length_invalid": [4],
    "smcr.clc.offset_invalid": [4],
    "smcr.fallback": [5, 14],
}


def scene(capture):
    area = prefix_area(subnet="192.0.2.0", mask_bits=24)
    fields = dict(
        peer=linux_connection(capture).group.peer["client"].id,
        roce_gid=CLIENT_V1.gid,
        roce_mac=CLIENT_V1.mac,
    )
    for number, wrong in enumerate((area[:-1], area[:-1] + b"\1" + bytes(8)), 1):
        clc_conversation(
            capture,
            41000 + number,
            ("client", clc_proposal(ip_area=wrong, **fields)),
            ("server", clc_decline(diagnosis=0x03030000)),
        )
