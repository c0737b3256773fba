"""
A new link over which not all RMBs can be reached, RFC 7609 2.2, 3.5.5.2.3: both sides have two RMBs
in use and an unused one; the server tells RTokens of one. In a second link group the same, but the
capture lacks a packet of the server.
"""

from smcsynth.rkeys import ROLES, add_link, begin, connect, go_on, later

EXPECTED = {"smcr.packet_ahead": [129], "smcr.rkey.not_on_link": [61]}


def scene(capture):
    for nth in (1, 2):
        first = begin(capture, nth)
        group, second = first.group, later(first.group, nth, 2)
        unused = connect(group, nth, 3).half["server"].rmb
        group.confirm_rkey("server", unused)
        rmbs = {role: [each.half[role].rmb for each in (first, second)] for role in ROLES}
        del rmbs["server"][1]
        if nth == 2:
            group.links[1].lose("server")
        add_link(group, nth, 2, rmbs)
        go_on(group)
