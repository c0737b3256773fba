"""
Links that are used although they were refused, RFC 7609 3.5.1.6: the client accepts a link, then
rejects it as Linux does, and the server sends TEST LINK on it; a first contact is declined, and two
seconds later data flow on its link. Then both again, but the capture lacks a packet.
"""

from smcsynth.clc import clc_decline
from smcsynth.llc import llc_add_link, llc_confirm_link, llc_test_link
from smcsynth.story import MTU_1024, contact_of_two_devices, linux_connection

EXPECTED = {
    "smcr.cdc.token_unknown": [45, 91],
    "smcr.fallback": [41, 87],
    "smcr.link.refused_used": [22, 43, 45],
    "smcr.llc.second_answer": [20, 66],
    "smcr.packet_ahead": [68, 89],
}


def rejected(connection, lost):
    group = connection.group
    contact_of_two_devices(connection)
    step = group.links[1].qp["client"].qpn
    group.new_link(
        2, client=(0x900 + step, 0x910000 + step), server=(0xA00 + step, 0xA10000 + step), nic=1
    )
    offers = {}
    for role in ("server", "client"):
        pair = group.links[2].qp[role]
        offers[role] = dict(
            roce_mac=pair.nic.mac,
            roce_gid=pair.nic.gid,
            qpn=pair.qpn,
            link=2,
            mtu_code=MTU_1024,
            psn=pair.initial_psn,
        )
        group.llc(role, llc_add_link(**offers[role], reply=role == "client"))
    pair = group.links[2].qp["server"]
    group.llc(
        "server",
        llc_confirm_link(
            roce_mac=pair.nic.mac, roce_gid=pair.nic.gid, qpn=pair.qpn, link=2, user_id=0x0B02
        ),
        link=2,
    )
    group.llc("client", llc_add_link(**offers["server"], reply=True, reject=True, reason=1))
    group.capture.wait(0.05)
    if lost:
        group.links[2].lose("server")
    group.llc("server", llc_test_link(), link=2)


def declined(connection, lost):
    connection.first_contact()
    connection.tcp.send(
        "client", clc_decline(peer=connection.group.peer["client"].id, diagnosis=0x03010000)
    )
    connection.group.capture.wait(2)
    if lost:
        connection.group.links[1].lose("client")
    connection.send("client", b"all the same\n")


def scene(capture):
    for nth, (story, lost) in enumerate(
        ((rejected, False), (declined, False), (rejected, True), (declined, True)), 1
    ):
        story(linux_connection(capture, sport=40000 + nth, nth=nth), lost)
