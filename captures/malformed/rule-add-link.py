"""
ADD LINK, RFC 7609 3.5.1.6, A.3.1, A.3.2, C.7: accepted, but for twelve seconds neither CONFIRM LINK
nor DELETE LINK comes. MTU code 9 and queue pair 1, accepted; MTU code 0, rejected with reason 1, as
Linux does. The Z flag in a request. A response with another link number. A second CONFIRM LINK on
link 1. The first and the last one come again, but the capture lacks a packet of the server.
"""

from smcsynth.llc import llc_add_link
from smcsynth.story import MTU_1024, linux_two_devices

EXPECTED = {
    "smcr.link.confirmed_twice": [100],
    "smcr.link.fault_accepted": [70, 78],
    "smcr.link.not_confirmed": [16],
    "smcr.llc.flags_invalid": [84],
    "smcr.llc.not_echoed": [94],
    "smcr.mtu_reserved": [68, 76],
    "smcr.packet_ahead": [43],
    "smcr.qpn_reserved": [68],
}


def add_link(group, role, number, **changes):
    nic = group.peer[role].nics[1]
    fields = dict(
        roce_mac=nic.mac,
        roce_gid=nic.gid,
        qpn=(0x900 if role == "client" else 0xA00) + number,
        link=number,
        mtu_code=MTU_1024,
        psn=0x910000,
        reply=role == "client",
    )
    group.llc(role, llc_add_link(**{**fields, **changes}))


def add(group, number, server=None, client=None):
    add_link(group, "server", number, **(server or {}))
    add_link(group, "client", number, **(client or {}))


def reject(group, number, **changes):
    nic = group.peer["server"].nics[1]
    add_link(group, "server", number, **changes)
    add_link(
        group,
        "client",
        number,
        roce_mac=nic.mac,
        roce_gid=nic.gid,
        qpn=0xA00 + number,
        reject=True,
        reason=1,
        **changes
    )


def unconfirmed(capture, nth, lost):
    group = linux_two_devices(capture, nth).group
    add(group, 2)
    if lost:
        group.links[1].lose("server")
    for _ in range(2):
        group.test_link("server")
        group.capture.wait(12)
    if lost:
        group.confirm_link()


def scene(capture):
    unconfirmed(capture, 1, False)
    unconfirmed(capture, 2, True)
    group = linux_two_devices(capture, 3).group
    add(group, 12, server=dict(mtu_code=9, qpn=1))
    group.test_link("server")
    reject(group, 13, mtu_code=0)
    group.test_link("server")
    add_link(group, "server", 15, reject=True)
    add_link(group, "client", 15)
    group.test_link("server")
    add(group, 16, client=dict(link=17))
    group.test_link("server")
    group.confirm_link()
