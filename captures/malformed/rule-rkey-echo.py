"""
Responses that do not repeat their requests, RFC 7609 A.3.5 to A.3.7: CONFIRM RKEY with another
address, with another RToken for link 2; its continuation, and DELETE RKEY, likewise. Then the
client refuses an RMB, with the retry flag, and writes to it; nobody announces that RMB again for 6
s. In a second link group the client writes to one that it refused, but the capture lacks a packet
of the server.
"""

from smcsynth.llc import llc_confirm_rkey, llc_confirm_rkey_continuation, llc_delete_rkey
from smcsynth.rkeys import connect, go_on, with_links

EXPECTED = {
    "smcr.llc.negative_response": [76, 171],
    "smcr.llc.no_request": [201],
    "smcr.llc.not_echoed": [60, 64, 68, 72],
    "smcr.packet_ahead": [185],
    "smcr.write.unknown_rkey": [78],
}


def answers(group, nth):
    """Requests of the server, and wrong responses."""
    rmb = connect(group, nth, 2).half["server"].rmb
    others = [(link, rmb.rkeys[link], rmb.va) for link in (2, 3, 4)]
    request = dict(rkey=rmb.rkeys[1], va=rmb.va, others=others[:2], count=3)
    for wrong in ({"va": rmb.va + 4096}, {"others": [(2, rmb.rkeys[2] + 16, rmb.va), others[1]]}):
        group.llc("server", llc_confirm_rkey(**request))
        group.llc("client", llc_confirm_rkey(**{**request, **wrong}, reply=True))
    for role, key in (("server", rmb.rkeys[4]), ("client", rmb.rkeys[4] + 16)):
        group.llc(
            role,
            llc_confirm_rkey_continuation(
                left=1, others=[(4, key, rmb.va)], reply=role == "client"
            ),
        )
    for role, key in (("server", rmb.rkeys[1]), ("client", rmb.rkeys[2])):
        group.llc(role, llc_delete_rkey(rkeys=[key], reply=role == "client"))


def refused(group, nth):
    """An RMB that the client refuses, but writes to."""
    rmb = connect(group, nth, 3).half["server"].rmb
    request = dict(
        rkey=rmb.rkeys[1],
        va=rmb.va,
        count=3,
        others=[(link, rmb.rkeys[link], rmb.va) for link in (2, 3)],
    )
    group.llc("server", llc_confirm_rkey(**request))
    group.llc("client", llc_confirm_rkey(**request, reply=True, negative=True, retry=True))
    if nth == 2:
        group.links[2].lose("server")
    group.links[1].write("client", rmb.va, rmb.rkeys[1], b"refused")


def scene(capture):
    for nth in (1, 2):
        group = with_links(capture, nth, 4).group
        if nth == 1:
            answers(group, nth)
        refused(group, nth)
        capture.wait(6)
        go_on(group)
