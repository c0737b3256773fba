"""
Link 2 fails at the client, which announces an RMB while its work to delete the link waits
(smcr_link_down_cond()): it has no RToken for link 2. The server still writes there. Then the client
has link 2 deleted.
"""

from smcsynth.failover import LOST_PATH, two_links
from smcsynth.llc import llc_delete_link
from smcsynth.story import Rmb

EXPECTED = {"smcr.link.delete_asked": [62], "smcr.link.deleted": [64], "smcr.link.lost": [62]}


def scene(capture):
    connection = two_links(capture)
    group = connection.group
    group.test_links()
    group.confirm_rkey("client", Rmb(0x0000010A1C000000, 32768, {1: 0x0C0C0011}))
    group.test_link("server", link=2)
    group.test_link("server")
    for role, reply in (("client", False), ("server", False), ("client", True)):
        group.llc(
            role, llc_delete_link(link=2, reason=LOST_PATH, orderly=False, reply=reply), link=1
        )
    group.test_link("server")
