"""
Values of CLC messages, RFC 7609 A.2: Proposals without GID, without MAC, with the MAC of a group;
an RMB at the end of the address space, whose second element is behind it. At last what does no
harm: a Decline without a diagnosis, and one that ends with the eyecatcher of SMC-D.
"""

from smcsynth.clc import SMC_D, clc_decline
from smcsynth.story import clc_conversation, linux_connection

EXPECTED = {
    "smcr.clc.gid_missing": [4],
    "smcr.fallback": [5, 14, 23, 33, 42, 51],
    "smcr.mac_invalid": [13, 22],
    "smcr.rmb.address_invalid": [32],
}


def scene(capture):
    story = linux_connection(capture)
    decline = clc_decline(diagnosis=0x03030000)
    proposals = (
        story.proposal(roce_gid="::"),
        story.proposal(roce_mac="00:00:00:00:00:00"),
        story.proposal(roce_mac="03:00:00:00:0c:01"),
    )
    for number, proposal in enumerate(proposals, 1):
        clc_conversation(capture, 41000 + number, ("client", proposal), ("server", decline))
    last = story.accept(va=(1 << 64) - 0x10000, index=2)
    clc_conversation(
        capture, 41006, ("client", story.proposal()), ("server", last), ("client", decline)
    )
    clc_conversation(
        capture, 41007, ("client", story.proposal()), ("server", clc_decline(diagnosis=0))
    )
    clc_conversation(
        capture,
        41008,
        ("client", story.proposal()),
        ("server", clc_decline(diagnosis=0x03030000, trailer=SMC_D)),
    )
