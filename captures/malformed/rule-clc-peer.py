"""
Who a peer is, RFC 7609 3.5.1.2, 3.5.2, and what it has agreed to (SMC version 2): a Confirm with
another peer ID than the Proposal; an Accept of a later contact with another one than its link
group; a Confirm with another EID than the Accept.
"""

from smcsynth.story import Connection, linux_connection, linux_halves

EXPECTED = {"smcr.clc.eid_wrong": [46], "smcr.clc.peer_changed": [8, 31]}
OTHER = bytes.fromhex("77770200000000ff")


def scene(capture):
    first = linux_connection(capture)
    first.first_contact(confirm=first.confirm(peer=OTHER))
    first.send("client", b"first\n")
    second = Connection(first.group, *linux_halves(number=2), sport=40002)
    second.tcp.handshake()
    second.tcp.send("client", second.proposal(peer=OTHER))
    second.group.confirm_rkey("server", second.half["server"].rmb)
    second.tcp.send("server", second.accept(first_contact=False, peer=OTHER))
    second.group.confirm_rkey("client", second.half["client"].rmb)
    second.tcp.send("client", second.confirm(first_contact=False, peer=OTHER))
    third = linux_connection(capture, version=2, sport=40003, nth=3)
    third.first_contact(confirm=third.confirm(eid="ANOTHER-EID"))
    third.send("client", b"third\n")
