"""
Data of Linux while the second link of a first contact fails. The server has got the response to its
ADD LINK, but its own next step fails: it tells nobody, and goes on with one link. And a client that
has waited two seconds for ADD LINK goes on, too: its data cross a late ADD LINK.
"""

from smcsynth.llc import llc_add_link
from smcsynth.story import MTU_1024, linux_second_link

EXPECTED = {"smcr.llc.second_answer": [30]}
# A reordered capture that keeps the times in their places has this two seconds before the client's
# response.
UNPROVEN = {"smcr.link.before_confirm": [53]}


def add_link(group, role, **answer):
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
            **answer
        ),
    )


def go_on(group):
    group.capture.wait(0.2)
    for role in ("client", "server"):
        group.test_link(role)


def scene(capture):
    failed = linux_second_link(capture, 1)
    add_link(failed.group, "server")
    add_link(failed.group, "client")
    failed.send("server", b"with one link\n")
    go_on(failed.group)
    capture.wait(2)
    add_link(failed.group, "client", reject=True, reason=1)
    go_on(failed.group)

    late = linux_second_link(capture, 2)
    capture.wait(2.1)
    add_link(late.group, "server")
    late.send("client", b"with one link\n")
    go_on(late.group)
    add_link(late.group, "client", reject=True, reason=1)
