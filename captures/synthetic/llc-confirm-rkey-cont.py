"""
CONFIRM RKEY in a link group of six links, RFC 7609 A.3.5 and A.3.6: the first message names this
link's RKey and those of two others, a CONFIRM RKEY CONTINUATION the remaining three; each is
echoed. On later connections a negative reply (Z) that asks for a retry of the configuration (C),
and the retry; a negative reply to the continuation.
"""

from smcsynth.llc import llc_confirm_rkey, llc_confirm_rkey_continuation
from smcsynth.story import (
    CLIENT_V1,
    CLIENT_V1_SECOND,
    SERVER_V1,
    SERVER_V1_SECOND,
    Connection,
    Half,
    LinkGroup,
    Rmb,
)

LINKS = range(1, 7)


def half(side, number):
    """A connection's side whose RMB has an RKey on each of the six links."""
    return Half(
        token=side << 8 | number,
        rmb=Rmb(
            0x7F0000000000 | side << 32 | number << 16,
            16384,
            {link: side << 24 | number << 8 | link for link in LINKS},
        ),
    )


def confirm(group, sender, rmb, **reply_bits):
    """CONFIRM RKEY and its continuation, five other links; `reply_bits` change the replies."""
    receiver = "server" if sender == "client" else "client"
    others = [(link, rmb.rkeys[link], rmb.va) for link in LINKS if link != 1]
    first = dict(rkey=rmb.rkeys[1], va=rmb.va, others=others[:2], count=5)
    group.llc(sender, llc_confirm_rkey(**first))
    group.llc(receiver, llc_confirm_rkey(**first, reply=True, **reply_bits.get("first", {})))
    if "first" not in reply_bits:
        rest = dict(left=3, others=others[2:])
        group.llc(sender, llc_confirm_rkey_continuation(**rest))
        group.llc(
            receiver,
            llc_confirm_rkey_continuation(**rest, reply=True, **reply_bits.get("second", {})),
        )


def scene(capture):
    group = LinkGroup(
        capture, [CLIENT_V1, CLIENT_V1_SECOND], [SERVER_V1, SERVER_V1_SECOND], max_links=8
    )
    group.new_link(1)
    first = Connection(group, half(0x0C, 1), half(0x05, 1))
    first.first_contact(add_link=False)
    rmbs = {role: [first.half[role].rmb] for role in ("client", "server")}
    for link in LINKS[1:]:
        group.add_link(
            link, rmbs, nic=1, client=(0xC00 + link, link << 16), server=(0x500 + link, link << 20)
        )
    first.send("client", b"over link 1\n")
    second = Connection(group, half(0x0C, 2), half(0x05, 2), sport=40001)
    second.tcp.handshake()
    second.tcp.send("client", second.proposal())
    confirm(group, "server", second.half["server"].rmb)
    second.tcp.send("server", second.accept(first_contact=False))
    confirm(group, "client", second.half["client"].rmb, first={"negative": True, "retry": True})
    confirm(group, "client", second.half["client"].rmb)
    second.tcp.send("client", second.confirm(first_contact=False))
    second.link = 6
    second.send("client", b"over link 6\n")
    confirm(group, "server", half(0x05, 3).rmb, second={"negative": True})
    second.close(delete_rkeys=False)
    first.close(delete_rkeys=False)
