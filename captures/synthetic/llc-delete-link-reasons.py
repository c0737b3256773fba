"""
DELETE LINK with every reason of RFC 7609 A.3.4 and Linux' 0x00200000, and one that nobody defined.
For each reason a request of the server with the client's reply, then a notification of the client
that the server answers with a request of its own. At last the whole link group is deleted (A) and
the reply is "unknown link" because it is gone already.
"""

from smcsynth.llc import llc_delete_link
from smcsynth.story import linux_connection

REASONS = [0x00010000, 0x00020000, 0x00030000, 0x00040000, 0x00050000, 0x0BAD0000]
UNKNOWN_LINK, UNKNOWN_LINK_GROUP = 0x00100000, 0x00200000


def scene(capture):
    connection = linux_connection(capture)
    connection.first_contact()
    group = connection.group
    for reason in REASONS:
        request = dict(link=2, reason=reason)
        group.llc("server", llc_delete_link(**request))
        group.llc("client", llc_delete_link(**request, reply=True))
        group.llc("client", llc_delete_link(**request, orderly=False))
        group.llc("server", llc_delete_link(**request))
        group.llc("client", llc_delete_link(link=2, reason=UNKNOWN_LINK, reply=True))
    connection.close()
    group.llc("server", llc_delete_link(link=0, reason=0x00030000, all_links=True))
    group.llc(
        "client", llc_delete_link(link=0, reason=UNKNOWN_LINK_GROUP, all_links=True, reply=True)
    )
