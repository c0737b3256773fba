"""
Two peers that follow RFC 7609 and do little as Linux does: links 7, 2, 9 and 4, each joined over
the one before, with up to three ADD LINK CONTINUATIONs of each side; eight links at most for the
server, four for the client; RMBs of several elements, of 32 and of 128 KiB, one shared by two
connections, one that nobody uses; cursors that begin at 4; a CONFIRM RKEY that is refused and sent
again, another with a CONTINUATION; a server that speaks first; several RDMA WRITEs for one CDC
message; urgent data; a client that tests links; a failover with validation; half-closed
connections; DELETE RKEY for three RMBs.
"""

from smcsynth.clc import clc_proposal, prefix_area
from smcsynth.llc import (
    llc_add_link,
    llc_add_link_continuation,
    llc_confirm_rkey,
    llc_confirm_rkey_continuation,
    llc_delete_link,
    llc_delete_rkey,
    llc_test_link,
)
from smcsynth.octets import text_lines
from smcsynth.roce import Nic
from smcsynth.story import (
    CLIENT_V1,
    CLIENT_V1_SECOND,
    SERVER_V1,
    SERVER_V1_SECOND,
    Connection,
    Half,
    LinkGroup,
    Rmb,
    other,
)

EXPECTED = {
    "smcr.conn.moved": [218, 220],
    "smcr.link.delete_asked": [222],
    "smcr.link.deleted": [224],
    "smcr.link.lost": [222],
    "smcr.llc.negative_response": [56],
    "smcr.llc.rfc_layout": [14, 16],
}
CLIENT_NICS = [
    CLIENT_V1,
    CLIENT_V1_SECOND,
    Nic("02:00:00:00:0c:03", "fe80::ff:fe00:c03", 0x13),
    Nic("02:00:00:00:0c:04", "fe80::ff:fe00:c04", 0x14),
]
SERVER_NICS = [
    SERVER_V1,
    SERVER_V1_SECOND,
    Nic("02:00:00:00:05:03", "fe80::ff:fe00:503", 0x24),
    Nic("02:00:00:00:05:04", "fe80::ff:fe00:504", 0x25),
]
LINKS = (7, 2, 9, 4)
ELEMENT = {"client": 32768, "server": 131072}
START = {"client": 0x0000_7F11_0000_0000, "server": 0x0000_0000_4000_0000}


def rmb(role, nth):
    """The nth RMB of a side, with an RKey for each link."""
    return Rmb(
        START[role] + (nth << 24),
        ELEMENT[role],
        {link: (0x0C if role == "client" else 0x05) << 24 | nth << 8 | link for link in LINKS},
    )


def half(role, rmb_of_side, index, token):
    return Half(token=token, rmb=rmb_of_side, index=index, base=4)


class Foreign(LinkGroup):
    """The link group. RMBs by side, in the order in which they were announced."""

    def __init__(self, capture):
        super().__init__(capture, CLIENT_NICS, SERVER_NICS, no_eyecatcher=False)
        self.max_links = {"client": 4, "server": 8}
        self.rmbs = {"client": [], "server": []}

    def join(self, number, *, over, layout):
        """ADD LINK, its CONTINUATIONs and CONFIRM LINK, on the next devices."""
        nth = len(self.links)
        link = self.new_link(
            number,
            nic=nth,
            client=(0xC01 + 7 * nth, 0xC1_0000 + (nth << 10)),
            server=(0x501 + 5 * nth, 0x51_0000 + (nth << 9)),
        )
        for role in ("server", "client"):
            pair = link.qp[role]
            self.llc(
                role,
                llc_add_link(
                    roce_mac=pair.nic.mac,
                    roce_gid=pair.nic.gid,
                    qpn=pair.qpn,
                    link=number,
                    mtu_code=4,
                    psn=pair.initial_psn,
                    layout=layout,
                    reply=role == "client",
                ),
                link=over,
            )
        for start in range(0, max(map(len, self.rmbs.values())), 2):
            for role in ("server", "client"):
                left = self.rmbs[role][start:]
                pairs = [(each.rkeys[over], each.rkeys[number], each.va) for each in left[:2]]
                self.llc(
                    role,
                    llc_add_link_continuation(
                        link=number, left=len(left), pairs=pairs, reply=role == "client"
                    ),
                    link=over,
                )
        self.confirm_link(number)

    def announce(self, role, which, *, over, refused=False):
        """CONFIRM RKEY for all links, refused once if so."""
        others = [
            (number, which.rkeys[number], which.va) for number in self.links if number != over
        ]
        message = dict(rkey=which.rkeys[over], va=which.va, others=others[:2], count=len(others))
        for answer in ([{"negative": True, "retry": True}] if refused else []) + [{}]:
            self.llc(role, llc_confirm_rkey(**message), link=over)
            self.llc(other(role), llc_confirm_rkey(**message, reply=True, **answer), link=over)
        if others[2:]:
            self.exchange(
                role,
                llc_confirm_rkey_continuation,
                link=over,
                left=len(others[2:]),
                others=others[2:],
            )
        self.rmbs[role].append(which)

    def withdraw(self, role, which, *, over):
        """DELETE RKEY for several RMBs."""
        message = dict(rkeys=[each.rkeys[over] for each in which])
        self.llc(role, llc_delete_rkey(**message), link=over)
        self.llc(other(role), llc_delete_rkey(**message, reply=True), link=over)
        self.rmbs[role] = [each for each in self.rmbs[role] if each not in which]


def later_contact(group, client, server, *, sport, link, new=("client", "server"), refused=None):
    """A connection on an existing link; `new`: sides whose RMB is; both announce them before they
    say so in CLC."""
    connection = Connection(group, client, server, sport=sport, link=link)
    connection.tcp.handshake()
    connection.tcp.send("client", connection.proposal())
    for role, message in (("server", connection.accept), ("client", connection.confirm)):
        if role in new:
            group.announce(role, connection.half[role].rmb, over=link, refused=role == refused)
        connection.tcp.send(role, message(first_contact=False))
    return connection


def scene(capture):
    group = Foreign(capture)
    group.new_link(7, client=(0xC01, 0xC1_0000), server=(0x501, 0x51_0000))
    mine, yours = rmb("client", 1), rmb("server", 1)
    first = Connection(
        group, half("client", mine, 200, 0xC0FFEE01), half("server", yours, 17, 0x0500BEEF), link=7
    )
    first.tcp.handshake()
    first.tcp.send(
        "client",
        clc_proposal(
            peer=group.peer["client"].id,
            roce_gid=CLIENT_V1.gid,
            roce_mac=CLIENT_V1.mac,
            ip_area=prefix_area(subnet="192.0.2.0", mask_bits=24),
        ),
    )
    first.tcp.send("server", first.accept(mtu_code=5))
    first.tcp.send("client", first.confirm(first_contact=False, mtu_code=4))
    group.confirm_link(7)
    group.rmbs = {"client": [mine], "server": [yours]}
    group.join(2, over=7, layout="figure32")

    # the server speaks first; several WRITEs, then one CDC message; a cursor update of its own
    for start in range(3):
        first.write("server", text_lines(900, f"greeting {start}"))
    first.cdc("server", flags=["update_requested"])
    first.read("client")
    first.cdc("client")
    first.send("client", text_lines(2000, "answer"))
    first.cdc("server")

    # more RMBs: one is refused once, one is shared, one is for nobody; two more links
    second = later_contact(
        group,
        half("client", rmb("client", 2), 1, 0xA1),
        half("server", rmb("server", 2), 255, 0xB1),
        sport=40002,
        link=2,
        refused="client",
    )
    group.announce("client", rmb("client", 3), over=2)
    group.announce("client", rmb("client", 4), over=7)
    group.join(9, over=2, layout="linux")
    group.join(4, over=9, layout="linux")
    third = later_contact(
        group,
        half("client", rmb("client", 5), 3, 0xA2),
        half("server", yours, 18, 0xB2),
        sport=40003,
        link=9,
        new=("client",),
    )
    fourth = later_contact(
        group,
        half("client", group.rmbs["client"][2], 9, 0xA3),
        half("server", rmb("server", 3), 2, 0xB3),
        sport=40004,
        link=4,
        new=("server",),
    )

    # a ring that wraps; connections side by side; urgent data
    lines = text_lines(40_000, "around the ring")
    for start in range(0, len(lines), 10_000):
        second.send("server", lines[start : start + 10_000])
        second.cdc("client")
    third.send("client", b"over link 9\n")
    third.send("server", b"over link 9, too\n")
    fourth.send("client", b"!", flags=["urgent_pending", "urgent_present"])
    fourth.cdc("server")
    group.exchange("client", llc_test_link, link=9, user_data=b"is there anybody")

    # link 2 fails: its connection moves to link 4
    second.link = 4
    for role in ("client", "server"):
        seq = second.half[role].seq
        second.cdc(role, flags=["failover"], seq=seq, prod=(0, 0), cons=(0, 0))
        second.half[role].seq = seq
    lost = dict(link=2, reason=0x00010000, orderly=False)
    group.llc("client", llc_delete_link(**lost), link=7)
    group.llc("server", llc_delete_link(**lost), link=7)
    group.llc("client", llc_delete_link(**lost, reply=True), link=7)
    second.send("client", text_lines(500, "after the failure"))

    # the client has said all, the server goes on; then all end
    first.cdc("client", flags=["sending_done"])
    first.send("server", text_lines(700, "still talking"))
    for connection in (first, second, third, fourth):
        connection.cdc("server", flags=["sending_done", "closed"])
        connection.cdc("client", flags=["sending_done", "closed"])
        connection.tcp.fin("server")
        connection.tcp.fin("client")
    group.withdraw("client", group.rmbs["client"][1:4], over=7)
    group.withdraw("server", group.rmbs["server"][1:], over=9)
    group.delete_link_group(link=9)
