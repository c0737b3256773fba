"""
Errors of the protocol, RFC 7609 C.6. Data of the server where its Accept is due, of the client
where its Confirm is due; then the same behind a Decline that the capture lacks. A client declines
an Accept without its trailer; another one sends data behind it. A client confirms an Accept with
the reserved MTU code 7.
"""

from smcsynth.clc import clc_decline
from smcsynth.net import TcpConversation
from smcsynth.story import CLIENT, SERVER, clc_conversation, linux_connection

EXPECTED = {
    "smcr.clc.data_instead": [5, 15, 55],
    "smcr.clc.error_kept": [45, 55, 67],
    "smcr.clc.trailer_invalid": [44, 54],
    "smcr.fallback": [
        5,
        15,
        35,
        45,
        55,
    ],  # not 25: behind absent bytes it may be a part of CLC, and nobody answers it
    "smcr.mtu_reserved": [65],
}


def lacking(capture, sport, lost, *messages):
    """A connection of which the capture lacks the Decline behind the Proposal."""
    tcp = TcpConversation(capture, CLIENT, SERVER, sport=sport, dport=50000)
    tcp.handshake()
    for sender, data in messages:
        if data == lost:
            tcp.seq[sender] += len(data)
        else:
            tcp.send(sender, data)
    tcp.close()


def scene(capture):
    story = linux_connection(capture)
    proposal, accept, decline = story.proposal(), story.accept(), clc_decline(diagnosis=0x03030000)
    broken = story.accept(header={"trailer": bytes(4)})
    clc_conversation(capture, 41001, ("client", proposal), ("server", b"220 ready\r\n"))
    clc_conversation(
        capture, 41002, ("client", proposal), ("server", accept), ("client", b"hello\r\n")
    )
    lacking(
        capture,
        41003,
        decline,
        ("client", proposal),
        ("server", decline),
        ("server", b"220 ready\r\n"),
    )
    lacking(
        capture, 41004, decline, ("client", proposal), ("server", decline), ("client", b"hello\r\n")
    )
    clc_conversation(capture, 41005, ("client", proposal), ("server", broken), ("client", decline))
    clc_conversation(
        capture, 41006, ("client", proposal), ("server", broken), ("client", b"hello\r\n")
    )
    story = linux_connection(capture, sport=41007, nth=2)
    story.first_contact(accept=story.accept(mtu_code=7))
    story.send("client", b"at an MTU of 1024\n")
