"""
Data of a first contact before a second link has been tried, RFC 7609 3.5.1.6: before the response
to ADD LINK; before that to CONFIRM LINK on the accepted link; before that to DELETE LINK, as with
Linux; before the server offers a link at all. The first two come again in link groups of which the
capture lacks a packet of the server.
"""

from smcsynth.llc import llc_add_link, llc_confirm_link, llc_delete_link
from smcsynth.story import MTU_1024, linux_second_link

EXPECTED = {
    "smcr.link.data_early": [16, 53],
    "smcr.link.deleted": [90],
    "smcr.link.not_confirmed": [92],
    "smcr.packet_ahead": [146, 187],
}
FAILED = dict(link=2, reason=0x00020000)


def add_link(group, role):
    pair = group.links[2].qp[role]
    group.llc(
        role,
        llc_add_link(
            roce_mac=pair.nic.mac,
            roce_gid=pair.nic.gid,
            qpn=pair.qpn,
            link=2,
            mtu_code=MTU_1024,
            psn=pair.initial_psn,
            reply=role == "client",
        ),
    )


def confirm_link(group, role):
    pair = group.links[2].qp[role]
    group.llc(
        role,
        llc_confirm_link(
            roce_mac=pair.nic.mac,
            roce_gid=pair.nic.gid,
            qpn=pair.qpn,
            link=2,
            user_id=0x0A02,
            reply=role == "client",
        ),
        link=2,
    )


def data(connection, lost=False):
    """The client's first data, and both sides go on."""
    group = connection.group
    if lost:
        group.links[1].lose("server")
        group.test_link("server")
    connection.send("client", b"early\n")
    group.capture.wait(0.2)
    group.test_link("client")
    group.test_link("server")


def unanswered(connection, lost):
    group = connection.group
    add_link(group, "server")
    data(connection, lost)
    add_link(group, "client")
    group.confirm_link(2)


def unconfirmed(connection, lost):
    group = connection.group
    add_link(group, "server")
    add_link(group, "client")
    confirm_link(group, "server")
    data(connection, lost)
    confirm_link(group, "client")
    group.test_link("client", link=2)


def undeleted(connection, _lost):
    group = connection.group
    add_link(group, "server")
    add_link(group, "client")
    confirm_link(group, "server")
    group.llc("server", llc_delete_link(**FAILED))
    data(connection)
    group.llc("client", llc_delete_link(**FAILED, reply=True))


def unoffered(connection, _lost):
    data(connection)


def scene(capture):
    stories = (
        (unanswered, False),
        (unconfirmed, False),
        (undeleted, False),
        (unoffered, False),
        (unanswered, True),
        (unconfirmed, True),
    )
    for nth, (story, lost) in enumerate(stories, 1):
        story(linux_second_link(capture, nth), lost)
