"""
Names of links, RFC 7609 2.2.4, 3.5.1.5, A.3.1, A.3.2: ADD LINK with the number of a link that is
there, of one that was deleted, with number 0, with the queue pair that sends it. Then first
contacts whose CONFIRM LINK has something else than was announced: another MAC address, which the
client confirms. A client has eyecatchers, its server has none. Number 2 comes again where the
capture lacks a packet.
"""

from smcsynth.llc import llc_add_link, llc_confirm_link, llc_delete_link
from smcsynth.story import MTU_1024, linux_connection, linux_two_devices

EXPECTED = {
    "smcr.link.deleted": [26, 97],
    "smcr.link.eyecatcher_differs": [70],
    "smcr.link.fault_accepted": [53],
    "smcr.link.mismatch": [51],
    "smcr.link.number_reused": [22, 30],
    "smcr.link.qpn_in_use": [38],
    "smcr.packet_ahead": [101],
}


def offer(group, number, **changes):
    """ADD LINK, which the client rejects."""
    pair = group.links[1].qp["server"]
    fields = dict(
        roce_mac=pair.nic.mac,
        roce_gid=pair.nic.gid,
        qpn=0x800 + number,
        link=number,
        mtu_code=MTU_1024,
        psn=0x300000,
    )
    fields.update(changes)
    group.llc("server", llc_add_link(**fields))
    group.llc("client", llc_add_link(**fields, reply=True, reject=True, reason=1))


def two_links(capture, nth):
    connection = linux_two_devices(capture, nth)
    group = connection.group
    group.add_link(
        2,
        {"client": [], "server": []},
        client=(0x900 + nth, 0x910000 * nth & 0xFFFFFF),
        server=(0xA00 + nth, 0xA10000 * nth & 0xFFFFFF),
        nic=1,
    )
    return group


def numbers(capture, nth, lost=False):
    group = two_links(capture, nth)
    request = dict(link=2, reason=0x00020000)
    if not lost:
        offer(group, 2)
    group.llc("server", llc_delete_link(**request))
    group.llc("client", llc_delete_link(**request, reply=True))
    if lost:
        group.links[1].lose("server")
    offer(group, 2)
    if not lost:
        offer(group, 0)
        offer(group, 3, qpn=group.links[1].qp["server"].qpn)


def first_contact(capture, nth, server=None, client=None):
    """CONFIRM LINK says what the arguments change."""
    connection = linux_connection(capture, sport=40000 + nth, nth=nth)
    group = connection.group
    connection.tcp.handshake()
    connection.tcp.send("client", connection.proposal())
    connection.tcp.send("server", connection.accept())
    connection.tcp.send("client", connection.confirm())
    for role, changes in (("server", server or {}), ("client", client or {})):
        pair = group.links[1].qp[role]
        fields = dict(
            roce_mac=pair.nic.mac, roce_gid=pair.nic.gid, qpn=pair.qpn, link=1, user_id=0x0A01
        )
        group.llc(role, llc_confirm_link(**{**fields, **changes}, reply=role == "client"))
    group.add_link_rejected()
    return connection


def scene(capture):
    numbers(capture, 1)
    first_contact(capture, 3, server=dict(roce_mac="02:00:00:00:05:0f"))
    first_contact(capture, 4, client=dict(no_eyecatcher=False))
    numbers(capture, 5, lost=True)
