"""
Data of Linux while the second link of a first contact fails. The server has got the response to its ADD LINK, but its own next
step fails: it tells nobody, and goes on with one link. And a client that has waited two seconds for ADD LINK goes on, too: its
data cross a late ADD LINK.
"""

from smcsynth.llc import llc_add_link
from smcsynth.story import CLIENT_V1_SECOND, MTU_1024, SERVER_V1_SECOND, linux_connection

EXPECTED = {"smcr.llc.second_answer": [30]}
# A reordered capture that keeps the times in their places has this two seconds before the client's response.
UNPROVEN = {"smcr.link.before_confirm": [53]}


def begin(capture, nth):
    connection = linux_connection(capture, sport=40000 + nth, nth=nth)
    group = connection.group
    group.peer["client"].nics.append(CLIENT_V1_SECOND)
    group.peer["server"].nics.append(SERVER_V1_SECOND)
    connection.first_contact(add_link=False)
    group.new_link(2, client=(0x900 + nth, 0x910000 + nth), server=(0xA00 + nth, 0xA10000 + nth), nic=1)
    return connection


def add_link(group, role, **answer):
    pair = group.links[2].qp[role]
    group.llc(role, llc_add_link(roce_mac=pair.nic.mac, roce_gid=pair.nic.gid, qpn=pair.qpn, link=2, mtu_code=MTU_1024,
                                 psn=pair.initial_psn, reply=role == "client", **answer))


def go_on(group):
    group.capture.wait(0.2)
    for role in ("client", "server"):
        group.test_link(role)


def scene(capture):
    failed = begin(capture, 1)
    add_link(failed.group, "server")
    add_link(failed.group, "client")
    failed.send("server", b"with one link\n")
    go_on(failed.group)
    capture.wait(2)
    add_link(failed.group, "client", reject=True, reason=1)
    go_on(failed.group)

    late = begin(capture, 2)
    capture.wait(2.1)
    add_link(late.group, "server")
    late.send("client", b"with one link\n")
    go_on(late.group)
    add_link(late.group, "client", reject=True, reason=1)
