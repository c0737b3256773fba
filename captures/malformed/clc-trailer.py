"""
CLC trailers that are not the eyecatcher, RFC 7609 A.2: in each of the four message types, and an
SMC-R message that ends with the SMC-D eyecatcher (Linux takes either).
"""

from smcsynth.clc import SMC_D, clc_decline
from smcsynth.story import clc_conversation, linux_connection

WRONG = bytes.fromhex("deadbeef")


def scene(capture):
    story = linux_connection(capture)
    proposal, accept, confirm = story.proposal(), story.accept(), story.confirm()
    decline = clc_decline(diagnosis=0x03030000, trailer=WRONG)
    bad = {"trailer": WRONG}
    clc_conversation(capture, 40001, ("client", story.proposal(**bad)))
    clc_conversation(capture, 40002, ("client", proposal), ("server", story.accept(header=bad)))
    clc_conversation(
        capture,
        40003,
        ("client", proposal),
        ("server", accept),
        ("client", story.confirm(header=bad)),
    )
    clc_conversation(capture, 40004, ("client", proposal), ("server", decline))
    clc_conversation(
        capture,
        40005,
        ("client", proposal),
        ("server", story.accept(header={"trailer": SMC_D})),
        ("client", confirm),
    )
