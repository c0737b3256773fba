"""
DELETE RKEY of what must not be deleted, RFC 7609 3.5.5.2.2, A.3.7: the RMB of an open connection;
an RKey that was never announced, to which the peer agrees; the RKey of link 2 on link 1, which the
peer refuses. In a second link group the same, but the capture lacks a packet of the server.
"""

from smcsynth.llc import llc_delete_rkey
from smcsynth.rkeys import go_on, with_links

EXPECTED = {
    "smcr.llc.negative_response": [40, 44, 105, 109],
    "smcr.packet_ahead": [99],
    "smcr.rkey.deleted_in_use": [42],
    "smcr.rkey.not_announced": [34, 38],
    "smcr.rkey.unknown_accepted": [36],
    "smcr.rkey_unknown": [34, 38, 103],
}

UNKNOWN = 0x0BADBAD0


def delete(group, rkey, **reply):
    group.llc("server", llc_delete_rkey(rkeys=[rkey]))
    group.llc("client", llc_delete_rkey(rkeys=[rkey], reply=True, **reply))


def scene(capture):
    for nth in (1, 2):
        first = with_links(capture, nth, 2)
        group, rmb = first.group, first.half["server"].rmb
        if nth == 2:
            group.links[1].lose("server")
        delete(group, UNKNOWN)
        delete(group, rmb.rkeys[2], negative=True, error_mask=0x80)
        delete(group, rmb.rkeys[1], negative=True, error_mask=0x80)
        first.cdc("server", flags=["closed"])
        first.cdc("client", flags=["closed"])
        go_on(group)
