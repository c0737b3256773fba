"""
LLC exchanges side by side, RFC 7609 3.5.5.3. The server begins a second CONFIRM RKEY before the
first one is over; the client begins CONFIRM RKEY though it has known of an ADD LINK for 200
milliseconds. What may be: CONFIRM RKEY of both sides; one that crosses ADD LINK; another one after
half a second without a response. Then a link group where both have their responses in time, but the
capture lacks them.
"""

from smcsynth.failover import two_links
from smcsynth.llc import llc_add_link, llc_confirm_rkey
from smcsynth.story import MTU_1024

EXPECTED = {"smcr.llc.overlap": [36, 44], "smcr.packet_ahead": [143, 147]}


def rmb(number):
    return dict(
        rkey=0x0E0E0001 + 16 * number,
        va=0x30C0000,
        others=[(2, 0x0E0E0002 + 16 * number, 0x30C0000)],
    )


def confirm(capture, group, *requests, pause=0.01):
    """(sender, number) of CONFIRM RKEY requests, each before the responses to those before it."""
    for sender, number in requests:
        group.llc(sender, llc_confirm_rkey(**rmb(number)))
        capture.wait(pause)
    for sender, number in requests:
        group.llc(
            "client" if sender == "server" else "server",
            llc_confirm_rkey(**rmb(number), reply=True),
        )


def add_link(group, number):
    pair = group.links[1].qp["server"]
    return dict(
        roce_mac=pair.nic.mac,
        roce_gid=pair.nic.gid,
        qpn=0x700 + number,
        link=3,
        mtu_code=MTU_1024,
        psn=0x300000,
    )


def confirm_beside_add_link(capture, group, number, *, after):
    offer = add_link(group, number)
    group.llc("server", llc_add_link(**offer))
    capture.wait(after)
    confirm(capture, group, ("client", number))
    group.llc("client", llc_add_link(**offer, reply=True, reject=True, reason=1))


def scene(capture):
    group = two_links(capture).group
    confirm(capture, group, ("server", 1), ("server", 2))
    confirm_beside_add_link(capture, group, 3, after=0.2)
    group.test_links()
    confirm(capture, group, ("server", 4), ("client", 5))
    confirm_beside_add_link(capture, group, 6, after=0.01)
    confirm(capture, group, ("server", 7), ("server", 8), pause=0.6)
    group.test_links()

    second = two_links(capture, nth=2).group
    second.llc("server", llc_confirm_rkey(**rmb(1)))
    second.links[1].lose("client")
    confirm(capture, second, ("server", 2))
    offer = add_link(second, 3)
    second.llc("server", llc_add_link(**offer))
    second.links[1].lose("client")
    capture.wait(0.2)
    confirm(capture, second, ("client", 3))
    second.llc("server", llc_add_link(**offer))
    second.llc("client", llc_add_link(**offer, reply=True, reject=True, reason=1))
    second.test_links()
