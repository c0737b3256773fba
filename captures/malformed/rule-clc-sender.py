"""
Who sends what in CLC, RFC 7609 3.2, C.1: an Accept of the client; a Confirm of the server; later
contacts which the server declines after its Accept, and the client after its Confirm. None of it
has consequences on RoCE.
"""

from smcsynth.clc import clc_decline
from smcsynth.story import Connection, clc_conversation, linux_connection, linux_halves

EXPECTED = {
    "smcr.clc.decline_late": [51, 70],
    "smcr.clc.wrong_sender": [26, 35],
    "smcr.fallback": [51, 70],
}
UNPROVEN = {"smcr.clc.order": [35]}


def scene(capture):
    first = linux_connection(capture)
    first.first_contact()
    first.send("client", b"first\n")
    other = Connection(first.group, *linux_halves(number=9), sport=40009)
    clc_conversation(
        capture, 41001, ("client", other.proposal()), ("client", other.accept(first_contact=False))
    )
    clc_conversation(capture, 41002, ("client", other.proposal()), ("server", other.confirm()))
    for number, role in enumerate(("server", "client"), 3):
        connection = Connection(first.group, *linux_halves(number=number), sport=42000 + number)
        connection.tcp.handshake()
        connection.tcp.send("client", connection.proposal())
        first.group.confirm_rkey("server", connection.half["server"].rmb)
        connection.tcp.send("server", connection.accept(first_contact=False))
        if role == "client":
            first.group.confirm_rkey("client", connection.half["client"].rmb)
            connection.tcp.send("client", connection.confirm(first_contact=False))
        connection.tcp.send(role, clc_decline(peer=first.group.peer[role].id, diagnosis=0x03010000))
    first.close()
