"""
RTokens of correct peers, RFC 7609 3.5.5.2, A.3.3 to A.3.7. A connection ends, its RMB is withdrawn
over link 2, and its RKey stands for other memory; another link group on the same device has that
RMB's RKey and address then. The server refuses a CONFIRM RKEY, the client repeats it, and the
server writes to the RMB. A link is added, and the RTokens of an unused RMB are left out. CONFIRM
RKEY for seven other links goes on in two continuations.
"""

from smcsynth.llc import llc_confirm_rkey, llc_confirm_rkey_continuation
from smcsynth.rkeys import ROLES, add_link, begin, connect, exchange, go_on, half, later, with_links
from smcsynth.story import Rmb

EXPECTED = {"smcr.llc.negative_response": [188]}


def close(connection):
    """Its end; the RMBs are withdrawn over link 2."""
    for role in ROLES:
        connection.cdc(role, flags=["closed"])
        connection.tcp.fin(role)
    for role in ROLES:
        connection.group.delete_rkey(role, connection.half[role].rmb, link=2)


def reuse(capture):
    group = with_links(capture, 1, 2).group
    second = later(group, 1, 2)
    close(second)
    third = connect(group, 1, 3)
    for role in ROLES:
        old = second.half[role].rmb
        third.half[role].rmb = Rmb(old.va + (1 << 20), old.size, old.rkeys)
    third.subsequent_contact()
    exchange(third)
    go_on(group)
    other = begin(capture, 2).group
    rmb = second.half["server"].rmb
    other.exchange("server", llc_confirm_rkey, rkey=rmb.rkeys[1], va=rmb.va)
    go_on(group)
    go_on(other)


def repeat(capture):
    group = begin(capture, 3).group
    connection = connect(group, 3, 2)
    rmb = connection.half["client"].rmb
    request = dict(rkey=rmb.rkeys[1], va=rmb.va)
    group.llc("client", llc_confirm_rkey(**request))
    group.llc("server", llc_confirm_rkey(**request, reply=True, negative=True, retry=True))
    connection.subsequent_contact()
    exchange(connection)
    unused = half("server", 3, 3).rmb
    group.exchange("server", llc_confirm_rkey, rkey=unused.rkeys[1], va=unused.va)
    add_link(
        group,
        3,
        2,
        {role: [connect(group, 3, 1).half[role].rmb, connection.half[role].rmb] for role in ROLES},
    )
    go_on(group)


def continuations(capture):
    group = with_links(capture, 4, 8).group
    rmb = half("client", 4, 2).rmb
    others = [(link, rmb.rkeys[link], rmb.va) for link in range(2, 9)]
    group.exchange(
        "client", llc_confirm_rkey, rkey=rmb.rkeys[1], va=rmb.va, count=7, others=others[:2]
    )
    for left in (5, 2):
        group.exchange(
            "client", llc_confirm_rkey_continuation, left=left, others=others[7 - left :][:3]
        )
    go_on(group)


def scene(capture):
    reuse(capture)
    repeat(capture)
    continuations(capture)
