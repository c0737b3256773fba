"""
Two links of a group with one user ID of the server, RFC 7609 2.2.4. It does no harm: only the
preference smcr.strict tells.
"""

from smcsynth.llc import llc_add_link, llc_confirm_link
from smcsynth.story import MTU_1024, contact_of_two_devices, linux_connection

EXPECTED = {}


def scene(capture):
    connection = linux_connection(capture)
    group = connection.group
    contact_of_two_devices(connection)
    link = group.new_link(2, client=(0x900, 0x910000), server=(0xA00, 0xA10000), nic=1)
    for role in ("server", "client"):
        pair = link.qp[role]
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
    for role, user_id in (("server", 0x0B01), ("client", 0x0A02)):
        pair = link.qp[role]
        group.llc(
            role,
            llc_confirm_link(
                roce_mac=pair.nic.mac,
                roce_gid=pair.nic.gid,
                qpn=pair.qpn,
                link=2,
                user_id=user_id,
                reply=role == "client",
            ),
            link=2,
        )
    connection.send("client", b"data\n")
