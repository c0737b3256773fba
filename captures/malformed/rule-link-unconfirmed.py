"""
Links that are used before their time, RFC 7609 3.5.1.5: the client sends data before its response
to CONFIRM LINK, and the server TEST LINK. The server does it again in a link group of which the
capture lacks a packet.
"""

from smcsynth.llc import llc_confirm_link, llc_test_link
from smcsynth.story import linux_connection

EXPECTED = {"smcr.link.before_confirm": [7, 31], "smcr.packet_ahead": [49]}


def begin(capture, nth):
    """A first contact, up to the Confirm."""
    connection = linux_connection(capture, sport=40000 + nth, nth=nth)
    connection.tcp.handshake()
    connection.tcp.send("client", connection.proposal(), ack=False)
    connection.tcp.send("server", connection.accept(), ack=False)
    connection.tcp.send("client", connection.confirm(), ack=False)
    return connection


def confirm(group, role):
    pair = group.links[1].qp[role]
    group.llc(
        role,
        llc_confirm_link(
            roce_mac=pair.nic.mac,
            roce_gid=pair.nic.gid,
            qpn=pair.qpn,
            link=1,
            user_id=0x0A01,
            reply=role == "client",
        ),
    )


def early_data(connection, _lost):
    """Data of the client before its response."""
    connection.write("client", b"early\n")
    connection.group.confirm_link()
    connection.group.add_link_rejected()
    connection.cdc("client")
    connection.group.test_link("server")


def early_test(connection, lost):
    """TEST LINK of the server before the client's response, which comes 0.2 seconds later."""
    group = connection.group
    confirm(group, "server")
    if lost:
        group.links[1].lose("server")
    group.llc("server", llc_test_link())
    connection.group.capture.wait(0.2)
    confirm(group, "client")
    group.llc("client", llc_test_link(reply=True))
    group.add_link_rejected()


def scene(capture):
    for nth, (story, lost) in enumerate(
        ((early_data, False), (early_test, False), (early_test, True)), 1
    ):
        story(begin(capture, nth), lost)
