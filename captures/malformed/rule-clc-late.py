"""
Time in the handshake of CLC, RFC 7609 C.5: an Accept after 7 seconds; a Decline after 7; a Proposal
without any answer, while keepalives show that TCP goes on; and data behind a Proposal that nobody
answers for 7 seconds.
"""

from smcsynth.clc import clc_decline
from smcsynth.story import linux_connection

EXPECTED = {
    "smcr.clc.data_instead": [41],
    "smcr.clc.late": [6, 23, 41],
    "smcr.fallback": [23, 41],
    "smcr.no_response": [28, 39],
}


def proposes(capture, nth):
    story = linux_connection(capture, sport=41000 + nth, nth=nth)
    story.tcp.handshake()
    story.tcp.send("client", story.proposal())
    return story


def scene(capture):
    first = proposes(capture, 1)
    capture.wait(7)
    first.tcp.send("server", first.accept())
    first.tcp.send("client", first.confirm())
    first.group.confirm_link()
    first.send("client", b"late\n")
    second = proposes(capture, 2)
    capture.wait(7)
    second.tcp.send("server", clc_decline(diagnosis=0x03030000))
    third = proposes(capture, 3)
    for _ in range(3):
        capture.wait(5)
        third.tcp.segment("client", "A", seq=third.tcp.seq["client"] - 1)
        third.tcp.segment("server", "A")
    fourth = proposes(capture, 4)
    capture.wait(7)
    fourth.tcp.send("client", b"late\n")
