"""
Declines that come too late, RFC 7609 C.1 to C.4. Behind the sender's own Proposal, and its own
Accept; the same where the capture lacks the answer. In first contacts: of the client after its ADD
LINK response, of the server after its request, of the client after its CONFIRM LINK response; of
the client where the capture does not show that its responses came. At last a Decline with the S
flag: the server takes it in, and goes on with the link group two seconds later; then the same with
a packet that the capture lacks.
"""

from smcsynth.clc import clc_decline
from smcsynth.llc import llc_test_link
from smcsynth.net import TcpConversation
from smcsynth.story import (
    CLIENT,
    SERVER,
    Connection,
    clc_conversation,
    linux_connection,
    linux_halves,
)

EXPECTED = {
    "smcr.clc.decline_chases": [5, 15],
    "smcr.clc.decline_confirmed": [87],
    "smcr.clc.decline_late": [47, 69],
    "smcr.clc.out_of_sync_decline": [138, 183],
    "smcr.fallback": [5, 15, 25, 47, 69, 87, 105, 138, 183],
    "smcr.link.out_of_sync": [146, 148],
    "smcr.packet_ahead": [170],
}
NO_MEMORY = 0x01010000
OUT_OF_SYNC = 0x04000000


def chases(capture):
    story = linux_connection(capture)
    decline = clc_decline(diagnosis=NO_MEMORY)
    clc_conversation(capture, 41001, ("client", story.proposal()), ("client", decline))
    clc_conversation(
        capture,
        41002,
        ("client", story.proposal()),
        ("server", story.accept()),
        ("server", decline),
    )
    tcp = TcpConversation(capture, CLIENT, SERVER, sport=41003, dport=50000)
    tcp.handshake()
    tcp.send("client", story.proposal())
    tcp.seq["server"] += len(story.accept())  # the capture lacks it
    tcp.send("client", decline)
    tcp.close()


def after_first_contact(capture, nth, role, **options):
    story = linux_connection(capture, sport=42000 + nth, nth=nth)
    story.first_contact(**options)
    capture.wait(0.01)
    story.tcp.send(role, clc_decline(peer=story.group.peer[role].id, diagnosis=NO_MEMORY))
    story.tcp.close()


def unseen(capture, nth):
    """The capture has no acknowledgement of what comes on the link."""
    story = linux_connection(capture, sport=42000 + nth, nth=nth)
    send = story.group.links[1].send
    story.group.links[1].send = lambda role, message, ack: send(role, message, ack=False)
    story.first_contact()
    capture.wait(0.01)
    story.tcp.send("client", clc_decline(peer=story.group.peer["client"].id, diagnosis=NO_MEMORY))
    story.tcp.close()


def out_of_sync(capture, nth, lossy):
    first = linux_connection(capture, sport=43000 + nth, nth=nth)
    first.first_contact()
    if lossy:
        first.group.links[1].lose("server")
        first.group.llc("server", llc_test_link())
    second = Connection(first.group, *linux_halves(number=20 + nth), sport=43100 + nth)
    second.tcp.handshake()
    second.tcp.send("client", second.proposal())
    first.group.confirm_rkey("server", second.half["server"].rmb)
    second.tcp.send("server", second.accept(first_contact=False))
    second.tcp.send(
        "client",
        clc_decline(peer=first.group.peer["client"].id, diagnosis=OUT_OF_SYNC, out_of_sync=True),
    )
    second.tcp.send("server", b"over TCP then\n")
    first.send("server", b"at once\n")
    capture.wait(2)
    first.send("server", b"later\n")
    second.tcp.close()


def scene(capture):
    chases(capture)
    after_first_contact(capture, 2, "client")
    after_first_contact(capture, 3, "server")
    after_first_contact(capture, 4, "client", add_link=False)
    unseen(capture, 5)
    out_of_sync(capture, 6, lossy=False)
    out_of_sync(capture, 7, lossy=True)
