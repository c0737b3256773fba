"""
Linux before 5.8, which has groups of one link: its DELETE LINK is for all links, has the number of
the link, and no reason. Its server declines when ADD LINK has no response within two seconds.
CONFIRM RKEY of one connection and DELETE RKEY of another one of the same host flow side by side.
"""

from smcsynth.clc import clc_decline
from smcsynth.llc import llc_add_link, llc_confirm_rkey, llc_delete_link, llc_delete_rkey
from smcsynth.story import linux_connection

EXPECTED = {
    "smcr.fallback": [57],
    "smcr.llc.link_number_unneeded": [38, 40],
    "smcr.llc.no_recovery": [57],
    "smcr.llc.reason_missing": [38],
}
TIMEOUT_ADD_LINK = 0x02020000


def add_link(group, role):
    nic = group.links[1].qp[role].nic
    group.llc(
        role,
        llc_add_link(
            roce_mac=nic.mac,
            roce_gid=nic.gid,
            qpn=0,
            link=0,
            mtu_code=0,
            psn=0,
            reply=role == "client",
            reject=role == "client",
            reason=1 if role == "client" else 0,
        ),
    )


def scene(capture):
    first = linux_connection(capture)
    first.first_contact(add_link=False)
    add_link(first.group, "server")
    add_link(first.group, "client")
    first.send("client", b"first\n")
    first.close()
    for role in ("server", "client"):
        first.group.llc(
            role, llc_delete_link(link=1, reason=0, all_links=True, reply=role == "client")
        )

    second = linux_connection(capture, sport=40002, nth=2)
    second.first_contact(add_link=False)
    add_link(second.group, "server")
    capture.wait(2.6)
    second.tcp.send(
        "server", clc_decline(peer=second.group.peer["server"].id, diagnosis=TIMEOUT_ADD_LINK)
    )
    second.tcp.send("client", b"over TCP\n")
    second.tcp.close()

    third = linux_connection(capture, sport=40003, nth=3)
    third.first_contact()
    other = dict(rkey=0x0E0E0001, va=0x30C0000)
    third.group.llc("server", llc_confirm_rkey(**other))
    third.group.llc("client", llc_confirm_rkey(**other, reply=True))
    new = dict(rkey=0x0E0E0011, va=0x30D0000)
    for reply, role in ((False, "server"), (True, "client")):
        third.group.llc(role, llc_confirm_rkey(**new, reply=reply))
        capture.wait(0.01)
        third.group.llc(role, llc_delete_rkey(rkeys=[other["rkey"]], reply=reply))
        capture.wait(0.01)
    for role in ("client", "server"):
        third.group.test_link(role)
