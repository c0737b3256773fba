"""
DELETE LINK, RFC 7609 2.2.1, 3.5.5.1.3, 3.5.5.1.4, A.3.4, C.7.1, each in a link group with two
links. "Asymmetric link no longer needed", where there are but two. The client refuses. It agrees to
delete link 9, which never was. It responds for another link. The server responds to the client. The
server needs three seconds to delete a link that has failed. Then what a correct client may do: it
does not know the link that it has asked to delete. At last the first three where the capture lacks
a packet.
"""

from smcsynth.failover import two_links
from smcsynth.llc import llc_delete_link

EXPECTED = {
    "smcr.delete_link.answer_wrong": [81, 126],
    "smcr.delete_link.reason_wrong": [34],
    "smcr.link.delete_asked": [206, 247, 286],
    "smcr.link.deleted": [34, 79, 169, 208, 249, 288, 341, 394],
    "smcr.link.lost": [247, 286],
    "smcr.link.number_unknown": [124, 447],
    "smcr.llc.late_response": [249],
    "smcr.llc.not_echoed": [171],
    "smcr.llc.wrong_sender": [208],
    "smcr.packet_ahead": [327, 380, 433],
}
LOST_PATH = 0x00010000
OPERATOR = 0x00020000
ASYMMETRIC = 0x00050000
UNKNOWN_LINK = 0x00100000


def delete(group, reason, *, link=2, answered=0, named=None):
    group.llc("server", llc_delete_link(link=link, reason=reason))
    group.llc(
        "client",
        llc_delete_link(link=link if named is None else named, reason=answered, reply=True),
    )


def breaches():
    yield lambda group: delete(group, ASYMMETRIC)
    yield lambda group: delete(group, OPERATOR, answered=UNKNOWN_LINK)
    yield lambda group: delete(group, OPERATOR, link=9)


def answered_by_server(group):
    asked = dict(link=2, reason=OPERATOR)
    group.llc("client", llc_delete_link(**asked))
    group.llc("server", llc_delete_link(**asked, reply=True))
    group.llc("client", llc_delete_link(link=9, reason=OPERATOR))
    group.llc("server", llc_delete_link(link=9, reason=UNKNOWN_LINK, reply=True))


def asked_by_client(capture, group, *, wait, answered):
    group.llc("client", llc_delete_link(link=2, reason=LOST_PATH, orderly=False))
    capture.wait(wait)
    delete(group, LOST_PATH, answered=answered)


def scene(capture):
    groups = (two_links(capture, nth=number).group for number in range(1, 16))
    for breach in breaches():
        group = next(groups)
        breach(group)
        for role in ("client", "server"):
            group.test_link(role)
    delete(next(groups), OPERATOR, named=1)
    answered_by_server(next(groups))
    asked_by_client(capture, next(groups), wait=3, answered=0)
    asked_by_client(capture, next(groups), wait=0.01, answered=UNKNOWN_LINK)
    for breach in breaches():
        group = next(groups)
        group.links[1].lose("server")
        group.test_links()
        breach(group)
