"""
CLC headers, RFC 7609 A.2, with a type that does not exist (0, 5, 255) and versions that do not (0,
3, 15).
"""

from smcsynth.clc import clc_decline, clc_message
from smcsynth.story import clc_conversation, linux_connection


def scene(capture):
    story = linux_connection(capture)
    proposal = ("client", story.proposal())
    for number, message_type in enumerate((0, 5, 255)):
        clc_conversation(
            capture, 40001 + number, ("client", clc_message(message_type, bytes(range(40))))
        )
        clc_conversation(
            capture,
            40011 + number,
            proposal,
            ("server", clc_message(message_type, bytes(range(40)))),
        )
    for number, version in enumerate((0, 3, 15)):
        clc_conversation(
            capture,
            40101 + number,
            ("client", story.proposal(version=version)),
            ("server", story.accept(header={"version": version})),
            ("client", story.confirm(header={"version": version})),
            ("server", clc_decline(diagnosis=0x030C0000, version=version)),
        )
