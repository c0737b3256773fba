"""
CLC length fields that cannot be, RFC 7609 A.2: 0, 7, 8, below the least of the type, one too long
and one too short, 65535. Ports from 40001 in the order of LENGTHS, for the Proposal; from 40101 for
Accept, 40201 Confirm, 40301 Decline. The real number of bytes follows each time, then other bytes
on the connection.
"""

from smcsynth.clc import clc_decline
from smcsynth.story import clc_conversation, linux_connection

LENGTHS = [0, 7, 8, 11, 12, 27, 51, 67, 69, 4096, 65535]
AFTERWARDS = b"whatever comes next\n" * 5


def scene(capture):
    story = linux_connection(capture)
    proposal, accept = ("client", story.proposal()), ("server", story.accept())
    for number, length in enumerate(LENGTHS):
        lie = {"length": length}
        clc_conversation(
            capture, 40001 + number, ("client", story.proposal(**lie)), ("client", AFTERWARDS)
        )
        clc_conversation(
            capture,
            40101 + number,
            proposal,
            ("server", story.accept(header=lie)),
            ("server", AFTERWARDS),
        )
        clc_conversation(
            capture,
            40201 + number,
            proposal,
            accept,
            ("client", story.confirm(header=lie)),
            ("client", AFTERWARDS),
        )
        clc_conversation(
            capture,
            40301 + number,
            proposal,
            ("server", clc_decline(diagnosis=0x03030000, **lie)),
            ("server", AFTERWARDS),
        )
