"""
An asymmetric link is replaced, RFC 7609 2.2.1: link 2 shares the client's device with link 1, link
3 shares none of it. Once link 3 is confirmed the server deletes link 2, with the reason "asymmetric
link no longer needed".
"""

from smcsynth.devices import add, begin, go_on
from smcsynth.llc import llc_delete_link

EXPECTED = {"smcr.link.deleted": [30]}


def scene(capture):
    group = begin(capture, 1)
    add(group, 2, 1, 0)
    add(group, 3, 1, 1)
    request = dict(link=2, reason=0x00050000)
    group.llc("server", llc_delete_link(**request))
    group.llc("client", llc_delete_link(**request, reply=True))
    go_on(group, 1, 3)
