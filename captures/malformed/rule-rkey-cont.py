"""
Continuations of RTokens, RFC 7609 3.5.5.2.3, A.3.3, A.3.6. ADD LINK CONTINUATION of the client's
own accord; before ADD LINK; for link 3 while link 2 is being added; 6, then 5 RTokens left; 6, then
1, as Linux does; CONFIRM LINK with 5 left; over link 2 for link 3. CONFIRM RKEY CONTINUATION
without CONFIRM RKEY; with 3 left after 4; behind the last one. CONFIRM RKEY for link 9; with 5
other links, but without a continuation. In a second link group the same, but the capture lacks a
packet before each message.
"""

from smcsynth.llc import (
    llc_add_link,
    llc_add_link_continuation,
    llc_confirm_rkey,
    llc_confirm_rkey_continuation,
)
from smcsynth.rkeys import go_on, half, numbers, with_links
from smcsynth.story import MTU_1024

EXPECTED = {
    "smcr.link.number_unknown": [94, 106, 108, 110, 116, 118, 317, 325],
    "smcr.llc.wrong_sender": [106],
    "smcr.packet_ahead": [
        277,
        281,
        285,
        289,
        293,
        297,
        301,
        305,
        309,
        313,
        315,
        323,
        327,
        331,
        339,
        343,
        347,
        351,
    ],
    "smcr.rkey.count_short": [140],
    "smcr.rkey.count_wrong": [70, 82, 86, 102, 124, 128],
    "smcr.rkey.wrong_link": [94, 108, 116, 144],
}
UNPROVEN = {"smcr.llc.wrong_sender": [313]}


class Sender:
    """Sends messages over a link; of the second group the capture lacks a packet before each."""

    def __init__(self, group, nth):
        self.group, self.nth, self.lossy = group, nth, nth == 2

    def llc(self, role, message, link=1):
        if self.lossy:
            self.group.links[link].lose(role)
        self.group.llc(role, message, link=link)

    def exchange(self, encoder, link=1, sender="server", **fields):
        self.llc(sender, encoder(**fields), link)
        self.group.llc(
            "client" if sender == "server" else "server", encoder(**fields, reply=True), link=link
        )

    def left(self, left, *, link=6, over=1, answers=0):
        """ADD LINK CONTINUATION of the server, with so many RTokens left; the client's response
        with its own."""
        for role, count in (("server", left), ("client", answers)):
            rmb = half(role, self.nth, 1).rmb
            message = llc_add_link_continuation(
                link=link,
                left=count,
                reply=role == "client",
                pairs=[(rmb.rkeys[over], rmb.rkeys[link], rmb.va)] * min(count, 2),
            )
            self.llc(role, message, over) if role == "server" else self.group.llc(
                role, message, link=over
            )

    def add_link(self, number, over=1):
        """ADD LINK and its response."""
        for role in ("server", "client"):
            pair = self.group.links[number].qp[role]
            self.group.llc(
                role,
                llc_add_link(
                    roce_mac=pair.nic.mac,
                    roce_gid=pair.nic.gid,
                    qpn=pair.qpn,
                    link=number,
                    mtu_code=MTU_1024,
                    psn=pair.initial_psn,
                    reply=role == "client",
                ),
                link=over,
            )


def add_link_continuations(sender):
    group, nth = sender.group, sender.nth
    sender.llc("client", llc_add_link_continuation(link=6, left=0, pairs=[]))
    sender.left(1)
    group.new_link(6, **numbers(nth, 6))
    sender.add_link(6)
    sender.left(1, link=7)
    sender.left(6, answers=1)
    sender.left(5)
    if sender.lossy:
        group.links[1].lose("server")
    group.confirm_link(6)
    group.new_link(7, **numbers(nth, 7))
    sender.add_link(7)
    sender.left(6, link=7, answers=1)
    sender.left(1, link=7)
    sender.left(0, link=7, over=2)
    group.confirm_link(7)


def confirm_rkey_continuations(sender):
    def rmb(number):
        return half("server", sender.nth, number).rmb

    def others(number, first=2, last=5):
        return [(link, rmb(number).rkeys[link], rmb(number).va) for link in range(first, last + 1)]

    def confirm(number, count):
        sender.exchange(
            llc_confirm_rkey,
            rkey=rmb(number).rkeys[1],
            va=rmb(number).va,
            count=count,
            others=others(number, last=3),
        )

    sender.exchange(llc_confirm_rkey_continuation, left=1, others=others(2, 2, 2))
    confirm(2, 6)
    sender.exchange(llc_confirm_rkey_continuation, left=4, others=others(2, 2, 4))
    sender.exchange(llc_confirm_rkey_continuation, left=3, others=others(2, 2, 4))
    sender.exchange(llc_confirm_rkey_continuation, left=1, others=others(2, 4, 4))
    confirm(3, 4)
    sender.exchange(
        llc_confirm_rkey_continuation,
        left=2,
        others=[(4, rmb(3).rkeys[4], rmb(3).va), (9, 0x05E90000, 9)],
    )
    for number in (4, 5):
        confirm(number, 4)


def scene(capture):
    for nth in (1, 2):
        sender = Sender(with_links(capture, nth, 5).group, nth)
        confirm_rkey_continuations(sender)
        add_link_continuations(sender)
        go_on(sender.group)
