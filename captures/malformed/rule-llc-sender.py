"""
Who sends what, and which links may be, RFC 7609 2.2.1, 3.5.1.5, A.3.2: the client begins CONFIRM
LINK and offers a link; the server adds a link between the two devices that link 1 joins, and the
client accepts.
"""

from smcsynth.llc import llc_add_link, llc_confirm_link
from smcsynth.story import MTU_1024, linux_connection

EXPECTED = {"smcr.link.parallel": [26], "smcr.llc.wrong_sender": [18, 22]}


def scene(capture):
    connection = linux_connection(capture)
    connection.first_contact()
    group = connection.group
    for role in ("client", "server"):
        pair = group.links[1].qp[role]
        group.llc(
            role,
            llc_confirm_link(
                roce_mac=pair.nic.mac,
                roce_gid=pair.nic.gid,
                qpn=pair.qpn,
                link=1,
                user_id=0x0A01,
                reply=role == "server",
            ),
        )
    pair = group.links[1].qp["client"]
    group.llc(
        "client",
        llc_add_link(
            roce_mac=pair.nic.mac,
            roce_gid=pair.nic.gid,
            qpn=0x600,
            link=3,
            mtu_code=MTU_1024,
            psn=0x400000,
        ),
    )
    for role, qpn in (("server", 0x701), ("client", 0x700)):
        nic = group.links[1].qp[role].nic
        group.llc(
            role,
            llc_add_link(
                roce_mac=nic.mac,
                roce_gid=nic.gid,
                qpn=qpn,
                link=4,
                mtu_code=MTU_1024,
                psn=0x500000,
                reply=role == "client",
            ),
        )
