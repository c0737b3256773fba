"""
The order of CLC, RFC 7609 3.2: two Proposals, two Accepts, an Accept without a Proposal, a Confirm
without an Accept. Then the last two in connections of which the capture lacks the message before.
"""

from smcsynth.clc import clc_decline
from smcsynth.net import TcpConversation
from smcsynth.story import CLIENT, SERVER, clc_conversation, linux_connection

EXPECTED = {
    "smcr.clc.confirm_without_accept": [35, 51],
    "smcr.clc.order": [5, 16, 25, 35],
    "smcr.fallback": [6, 17, 26],
    "smcr.no_roce": [35, 51],
}


def lacking(capture, sport, lost, *messages):
    """A connection whose first message is not in the capture."""
    tcp = TcpConversation(
        capture,
        CLIENT,
        SERVER,
        sport=sport,
        dport=50000,
        client_isn=sport * 1000,
        server_isn=sport * 2000,
    )
    tcp.handshake()
    sender, data = lost
    tcp.seq[sender] += len(data)
    for sender, data in messages:
        tcp.send(sender, data)
    tcp.close()


def scene(capture):
    story = linux_connection(capture)
    proposal, accept, confirm = story.proposal(), story.accept(), story.confirm()
    decline = clc_decline(diagnosis=0x03030000)
    clc_conversation(
        capture, 41001, ("client", proposal), ("client", proposal), ("server", decline)
    )
    clc_conversation(
        capture,
        41002,
        ("client", proposal),
        ("server", accept),
        ("server", accept),
        ("client", decline),
    )
    clc_conversation(capture, 41003, ("server", accept), ("client", decline))
    clc_conversation(capture, 41004, ("client", proposal), ("client", confirm))
    lacking(capture, 41005, ("client", proposal), ("server", accept))
    lacking(capture, 41006, ("server", accept), ("client", confirm))
