"""
The rules of docs/rfc7609.md that have an ERROR or a WARN, each broken by bytes of one frame of real
captures. A mutation names its rules, the item, which frames have such a message, and the change.
For the rules that no such change breaks, there is the reason.
"""

import collections
import functools
import math
import re

import layouts
import mutants
import pcapng
import wire
from bed import captures
from mutants import add, put

# rules: ids; of: frames with such a message; at: where it shows, if behind the changed frame; nth:
# of those frames; also: {item: why it is true of the same bytes, or of frames behind them}; echo:
# (frames, change) of the answer that repeats the message, the first one behind it; or what tells
# [(frame, change)] of the capture and the frame
Broken = collections.namedtuple(
    "Broken", "rules item of change at nth also echo", defaults=(None, 0, {}, None)
)
NOT_HEALTHY = (
    "lossy",
    "starts-late",
    "loss",
    "timeout",
    "asymmetric",
)  # what the capture lacks excuses some


# ---- which frames ----


def matches(kind, types=None, where=lambda data: True):
    """Frames with a message of this kind; `where` says more of its bytes."""

    def frames(path):
        return [
            each.frame
            for each in wire.messages(path)
            if each.kind == kind
            and (types is None or each.data[4 if kind == "clc" else 0] in types)
            and where(each.data)
        ]

    return frames


def clc(kind, version=None, first=None, more=lambda data: True):
    return matches(
        "clc",
        {kind},
        lambda data: version in (None, data[7] >> 4)
        and first in (None, bool(data[7] & 8))
        and more(data),
    )


def llc(*types, response=None, more=lambda data: True):
    return matches(
        "llc", set(types), lambda data: response in (None, bool(data[3] & 0x80)) and more(data)
    )


def cdc(more=lambda data: True):
    return matches("cdc", None, more)


def requests(*opcodes):
    def frames(path):
        return [each.frame for each in wire.roce(path) if each.opcode in opcodes]

    return frames


def syn(path):
    """SYNs with the option."""
    _, frames = pcapng.read(path)
    return [
        each.frame
        for each in wire.packets(path)
        if isinstance(each, wire.Segment)
        and each.syn
        and OPTION in pcapng.data(frames[each.frame - 1])
    ]


def fin(path):
    """Segments that end their direction, without data, behind the Confirm of their TCP
    connection."""
    _, frames = pcapng.read(path)
    agreed = {
        mutants.ends(pcapng.data(frames[frame - 1]))[0]: frame
        for frame in reversed(clc(CONFIRM)(path))
    }
    found = []
    for frame in frames:
        data = pcapng.data(frame)
        ends = mutants.ends(data)
        if (
            ends
            and min(agreed.get(end, frame.number) for end in ends[:2]) < frame.number
            and data[ends[2] + 13] & 1
            and mutants.layers(data).payload == mutants.layers(data).end
        ):
            found.append(frame.number)
    return found


def of_group(of):
    """Those to queue pairs that a first contact or ADD LINK names: the capture has all that tells
    what is right."""

    def frames(path):
        naming = {
            frame
            for names in (FIRST_ACCEPT, FIRST_CONFIRM, ADD_LINK, ADD_LINK_ANSWER)
            for frame in names(path)
        }
        named = {
            each.data[38:41] if each.kind == "clc" else each.data[28:31]
            for each in wire.messages(path)
            if each.frame in naming
        }
        to = {each.frame: each.qpn.to_bytes(3, "big") for each in wire.roce(path)}
        return [each for each in of(path) if to[each] in named]

    return frames


def settled(of, others=2):
    """CDC messages behind CLC of their connection, or so many others of it: of two that differ
    nobody knows which is wrong."""

    def frames(path):
        told = {
            each.data[46:50]: each.frame
            for each in reversed(wire.messages(path))
            if each.kind == "clc" and each.data[4] in (ACCEPT, CONFIRM)
        }
        count, behind = collections.Counter(), set()
        for each, _ in mutants.cdc_behind(path):
            token = each.payload[4:8]
            count[each.ends, each.qpn, token] += 1
            if (
                told.get(token, each.frame) < each.frame
                or count[each.ends, each.qpn, token] > others
            ):
                behind.add(each.frame)
        return [each for each in of(path) if each in behind]

    return frames


def later_of_rmb(path):
    """Accepts that name an RMB which an Accept before them has named."""
    seen, found = set(), []
    for each in wire.messages(path):
        if each.kind == "clc" and each.data[4] == ACCEPT:
            found += [each.frame] if each.data[41:45] in seen else []
            seen.add(each.data[41:45])
        elif each.kind == "llc" and each.data[0] in (
            6,
            0x26,
            9,
            0x29,
        ):  # a new life of the RKey, or its end
            seen -= {each.data[5:9], each.data[8:12]}
    return found


def by_sender(of, token=0):
    """The next of these frames that the same host sends to the same queue pair, with the same four
    bytes at `token`."""

    def at(path, frame):
        flow = {
            each.frame: (each.ends, each.qpn, token and each.payload[token : token + 4])
            for each in wire.roce(path)
        }
        return min(
            (each for each in of(path) if each > frame and flow[each] == flow[frame]), default=None
        )

    return at


def of_sender(of, like):
    """Those of `of` that the sender of the first of `like` sends."""

    def frames(path):
        sender = {each.frame: each.ends[0] for each in wire.roce(path)}
        first = like(path)[:1]
        return [each for each in of(path) if first and sender[each] == sender[first[0]]]

    return frames


def having(other, of):
    """These frames of captures that have such an other one."""
    return lambda path: of(path) if other(path) else []


def goes_on_with(of):
    """Captures where who sends the first of these frames sends another one."""
    return lambda path: of(path) and by_sender(of)(path, of(path)[0])


def second_continuation(path):
    """ADD LINK CONTINUATIONs that go on with one of the same side before."""
    before, found = {}, []
    flow = {each.frame: each.ends for each in wire.roce(path)}
    for each in wire.roce_messages(path):
        if each.kind == "llc" and each.data[0] == 3:
            found += (
                [each.frame]
                if before.get(flow[each.frame]) == each.data[4] and not each.data[3] & 0x80
                else []
            )
            before[flow[each.frame]] = each.data[4]
        elif each.kind == "llc" and each.data[0] == 2:
            before.clear()
    return found


def behind(first, then):
    """Those of `then` that come behind one of `first`."""

    def frames(path):
        begin = min(first(path), default=1 << 32)
        return [each for each in then(path) if each > begin]

    return frames


def first_rejected(path):
    """The response that ends the attempt at a second link in a first contact."""
    return [each for each in ADD_LINK_ANSWER(path)[:1] if each in REJECTED(path)]


def second_confirmed(path):
    """Responses to CONFIRM LINK on a second link before the first data: without them it is not set
    up."""
    data = min(requests(wire.WRITE_ONLY, wire.WRITE_FIRST)(path), default=0)
    return [each for each in behind(ACCEPTED, CONFIRM_LINK_ANSWER)(path) if each < data]


def first_and_this(path, frame):
    """The first CLC message of the capture that has the type of this frame's, and this one's."""
    this = next(each.data for each in wire.clc_messages(path) if each.frame == frame)
    return next(each.data for each in wire.clc_messages(path) if each.data[4] == this[4]), this


def cdc_of(path, clc_message):
    """RoCE packets with CDC messages to who sends this Accept or Confirm, by its queue pair and
    alert token."""
    name = int.from_bytes(clc_message[38:41], "big"), clc_message[46:50]
    return [
        each
        for each in wire.roce(path)
        if each.payload[:1] == b"\xfe" and (each.qpn, each.payload[4:8]) == name
    ]


def goes_on(path, frame):
    """
    The first message of the capture's first connection from the same side that comes more than a
    second later. The frames before it are of one interface: else their order proves nothing.
    """
    first, _ = first_and_this(path, frame)
    answered = next(
        each.data for each in wire.clc_messages(path) if each.data[4] == ACCEPT + CONFIRM - first[4]
    )
    _, frames = pcapng.read(path)
    late = pcapng.time(frames[frame - 1]) + 1_000_000  # microseconds
    told = min(
        (
            each.frame
            for each in cdc_of(path, answered)
            if pcapng.time(frames[each.frame - 1]) > late and not each.payload[25]
        ),
        default=0,
    )
    seen = {
        pcapng.interface_of(frames[each.frame - 1])
        for each in wire.packets(path)
        if each.frame <= told
    }
    return told if len(seen) == 1 else None


def with_token(path, frame):
    """The peer names the first connection's token instead of that of this Accept or Confirm."""
    first, this = first_and_this(path, frame)
    return [
        (each.frame, put(4, first[46:50].hex()))
        for each in cdc_of(path, this)
        if each.frame > frame
    ]


def with_element(path, frame):
    """The peer writes to the first connection's element instead of that of this Accept or
    Confirm."""
    first, this = first_and_this(path, frame)
    moved = int.from_bytes(first[52:60], "big") - int.from_bytes(this[52:60], "big")
    return [
        (each.frame, both(put(8, first[41:45].hex()), add(0, ">Q", moved)))
        for each in wire.roce(path)
        if each.frame > frame
        and each.opcode in (wire.WRITE_FIRST, wire.WRITE_ONLY)
        and each.payload[8:12] == this[41:45]
    ]


def later_cdc(path):
    """CDC messages behind another one of the same sender, which they go on from."""
    return [each.frame for each, before in mutants.cdc_behind(path) if any(before)]


def within_round(path, more=100):
    """CDC messages whose producer cursor may go on by `more` bytes: it stays in its element, and in
    the round of before."""
    return [
        each.frame
        for each, before in mutants.cdc_behind(path)
        if each.payload[10:12] == before[10:12]
        and wire.u16(each.payload, 14) % SMALLEST + more < SMALLEST
    ]


def has_read_all(path):
    """CDC messages of readers to whom nobody has announced a thousand bytes more; these end in
    their element."""
    unsent = mutants.reads_up_to(path, 1000)
    return [
        each.frame
        for each, _ in mutants.cdc_behind(path)
        if each.frame in unsent and wire.u16(each.payload, 22) % SMALLEST + 1000 < SMALLEST
    ]


def have_read(path):
    """CDC messages behind one that says of so many bytes, in the same round, that they were
    read."""
    return [
        each.frame
        for each, before in mutants.cdc_behind(path)
        if each.payload[18:20] == before[18:20] and wire.u16(before, 22) > 200
    ]


def last_writes(path):
    """{last RDMA WRITE of a connection: frame with which its writer is done}"""
    owned, done = mutants.owned_writes(path)
    last = {conn: (write, late) for write, conn, late in owned}
    return {
        write.frame: done[conn]
        for conn, (write, late) in last.items()
        if conn in done and not late and write.opcode == wire.WRITE_ONLY
    }


def end_of(path, frame):
    return last_writes(path)[frame]


OPTION = bytes.fromhex("fe06e2d4c3d9")
SMALLEST = 16384  # bytes of an RMB element; all have a multiple of it
PROPOSAL, ACCEPT, CONFIRM, DECLINE = 1, 2, 3, 4
PROPOSAL_V1 = clc(PROPOSAL, more=lambda data: data[7] & 3 != 2)  # has an IP area
IPV4_AREA = clc(PROPOSAL, more=lambda data: data[7] & 3 != 2 and not data[87])
IPV6_AREA = clc(PROPOSAL, more=lambda data: data[7] & 3 != 2 and data[87])
PROPOSAL_V2 = clc(PROPOSAL, more=lambda data: data[7] & 3 == 2)
FIRST_ACCEPT, FIRST_CONFIRM = clc(ACCEPT, first=True), clc(CONFIRM, first=True)
LATER_ACCEPT, LATER_CONFIRM = clc(ACCEPT, first=False), clc(CONFIRM, first=False)
ACCEPT_V1, CONFIRM_V1 = clc(ACCEPT, 1), clc(CONFIRM, 1)
ACCEPT_V2, CONFIRM_V2 = clc(ACCEPT, 2), clc(CONFIRM, 2)
CONFIRM_LINK, CONFIRM_LINK_ANSWER = llc(1, 0x21, response=False), llc(1, 0x21, response=True)
ADD_LINK = llc(2, 0x22, response=False)
ACCEPTED = llc(2, 0x22, response=True, more=lambda data: not data[3] & 0x40)
REJECTED = llc(2, 0x22, response=True, more=lambda data: data[3] & 0x40)
REJECTED_V1 = llc(2, response=True, more=lambda data: data[3] & 0x40)
ADD_LINK_CONT, DELETE_LINK = llc(3, response=False), llc(4, 0x24, response=False)
CONFIRM_RKEY, CONFIRM_RKEY_ANSWER = llc(6, 0x26, response=False), llc(6, 0x26, response=True)
RKEY_V2 = llc(0x26, response=False)
ONE_WAY = llc(3, more=lambda data: data[5] > 4)  # in a capture whose servers send nothing for long
DELETE_RKEY, DELETE_RKEY_ANSWER = llc(9, 0x29, response=False), llc(9, 0x29, response=True)
TEST_LINK, TEST_LINK_ANSWER = llc(7, 0x27, response=False), llc(7, 0x27, response=True)
LLC_V1 = matches("llc", set(range(1, 0x20)))
LLC_V2 = matches("llc", set(range(0x20, 0x30)))
CDC = cdc()
FIRST_CDC = of_group(
    lambda path: [each.frame for each, before in mutants.cdc_behind(path) if not any(before)]
)
LATER_CDC, IN_ROUND = settled(later_cdc), of_group(within_round)
READ_ALL, HAVE_READ = (
    settled(of, math.inf) for of in (has_read_all, have_read)
)  # two others may be wrong, too
MOVE = cdc(lambda data: data[24] & 0x08 and any(data[2:4]))
CLOSING = cdc(lambda data: data[25] & 0x40)
WRITE = of_group(requests(wire.WRITE_ONLY))
RELEASE_1 = clc(PROPOSAL, more=lambda data: data[7] & 3 == 2 and data[83] >> 4)
ACCEPT_1 = clc(ACCEPT, 2, True, lambda data: data[105] & 15)
CONFIRM_1 = clc(CONFIRM, 2, True, lambda data: data[105] & 15)
ADD_LINK_ANSWER = llc(2, 0x22, response=True)
OTHER_LINKS = llc(6, 0x26, response=False, more=lambda data: data[4])
SERVER_DELETES = of_sender(
    llc(4, 0x24, response=False, more=lambda data: not data[3] & 0x40), CONFIRM_LINK
)


# ---- changes ----


def message(data):
    """The message of a frame."""
    at = mutants.layers(data)
    pad = data[at.payload + 1] >> 4 & 3 if mutants.is_roce(data) else 0
    return data[mutants.start_of(data) : at.end - (wire.ICRC + pad if mutants.is_roce(data) else 0)]


def bits(offset, on=0, off=0):
    def change(data):
        value = data[mutants.start_of(data) + offset]
        return mutants.patched(data, offset, bytes([(value | on) & ~off & 0xFF]))

    return change


def both(*changes):
    return lambda data: functools.reduce(lambda changed, change: change(changed), changes, data)


def end(new):
    """The last bytes of the message."""
    return lambda data: put(len(message(data)) - len(new) // 2, new)(data)


def longer(offset, new, length=True):
    """More bytes at `offset` of the message, which its length counts if it is one of CLC."""

    def change(data):
        old, new_bytes = message(data), bytes.fromhex(new)
        at = offset % (len(old) + 1)
        changed = old[:at] + new_bytes + old[at:]
        if not mutants.is_roce(data) and length:
            changed = (
                changed[:5]
                + (wire.u16(changed, 5) + len(new_bytes)).to_bytes(2, "big")
                + changed[7:]
            )
        return mutants.replaced(data, changed)

    return change


def last(new):
    """More bytes at the end of an RDMA WRITE."""
    return lambda data: mutants.replaced(data, message(data) + bytes.fromhex(new))


def again(data):
    """The message twice."""
    return mutants.replaced(data, message(data) * 2)


def without_option(data):
    return data.replace(OPTION, b"\x01" * 6)


def copied(of, start=0, size=None, to=0):
    """Bytes of the first other message of the capture in the place of these."""

    def change(data, path):
        first = next(each for each in wire.messages(path) if each.frame == of(path)[0]).data
        if size is None:
            return mutants.replaced(data, first)
        return mutants.patched(data, to, first[start : start + size])

    return change


def copied_element(of):
    """RKey, index and address of the first other message."""
    key, address = copied(of, 41, 5, 41), copied(of, 52, 8, 52)
    return lambda data, path: address(key(data, path), path)


def swapped(data):
    """The other link becomes the one that carries the message, of links 1 and 2."""
    return mutants.patched(data, 17, bytes([3 - data[mutants.start_of(data) + 17]]))


def pairs(count):
    """Another number of RTokens in ADD LINK of version 2, in the byte order of the message."""
    return lambda data: mutants.patched(
        data, 70, count.to_bytes(2, layouts.order_of(message(data)))
    )


def opcode(new):
    """Another operation in the BTH."""

    def change(data):
        at = mutants.layers(data).payload
        return mutants.with_icrc(data[:at] + bytes([new]) + data[at + 1 :])

    return change


# ---- the table ----

KEPT = {"smcr.clc.error_kept": "the receiver goes on with the malformed message"}
BYTES = {"smcr.clc.extra_bytes": "they are no part's any more"}
ECHO = {"smcr.llc.not_echoed": "the response repeats what was there before"}
ACCEPTS = {"smcr.link.fault_accepted": "the host goes on with what it is to refuse"}
UNASKED = {"smcr.llc.unrequested": "what the response answers is another message now"}
NOWHERE = {"bytes": "those of the WRITE are none of the connection", "writes": "nor is it itself"}
NOT_THERE = {
    **NOWHERE,
    "smcr.rkey.not_announced": "the RKey is on no link, or not on this one",
    "smcr.rkey_unknown": "the same",
    "smcr.rkey.unknown_accepted": "the response agrees to it",
}
MISSING = {
    **NOT_THERE,
    "smcr.link.number_unknown": "the same link",
    "smcr.rkey.link_missing": "the place was another link's",
}
LIST = {**KEPT, "smcr.clc.length_invalid": "it does not count so many"}
UNHEARD = {"smcr.llc.no_request": "the request cannot be read"}
TOKENS = {
    "smcr.token_in_use": "each message with which the connection goes on",
    "smcr.token_reused": "the token was the other connection's before",
    "smcr.told.otherwise": "its host tells of another token",
}
ELEMENTS = {
    "smcr.rmb.element_in_use": "each message with which the connection goes on",
    "smcr.cdc.after_reuse": "the peer, which is offered an element in use, does not abort",
    "smcr.write.rmb_deleted": "the other connection's end deletes the RMB",
    "smcr.rkey.deleted_in_use": "the same",
}
EXTRA = "5a5a5a5a"
FAR, UNKNOWN = "0102030405060708", "0badcafe"

MUTATIONS = (
    # the header and frame of CLC
    Broken("R-1-1", "smcr.clc.no_option", syn, without_option, at=clc(PROPOSAL)),
    Broken(
        "R-3.1-2",
        "smcr.option.length_invalid",
        syn,
        lambda data: data.replace(b"\x01\x01" + OPTION, bytes.fromhex("fe08e2d4c3d90000")),
    ),
    Broken("R-3.2-1", "smcr.clc.wrong_sender", ACCEPT_V1, put(4, "03")),
    Broken("R-3.2-1", "smcr.clc.wrong_sender", CONFIRM_V1, put(4, "02")),
    Broken("R-3.2-1", "smcr.clc.wrong_sender", clc(ACCEPT, 2, False), put(4, "03")),
    Broken("R-3.2-2", "smcr.clc.order", clc(ACCEPT), again),
    Broken("R-3.2-2", "smcr.clc.order", clc(CONFIRM), again),
    Broken(
        "R-3.5.1.2-1 R-C.6-1",
        "smcr.clc.data_instead",
        clc(DECLINE),
        put(0, "48545450"),
        also={
            "smcr.fallback": "the connection falls back",
            "bytes": "those of the Decline are data",
        },
    ),
    Broken(
        "R-3.5.1.2-6",
        "smcr.clc.peer_changed",
        having(LATER_CONFIRM, clc(CONFIRM, 1, True)),
        put(8, "7777"),
    ),
    Broken(
        "R-3.5.2-1",
        "smcr.clc.peer_changed",
        having(lambda path: LATER_ACCEPT(path)[1:], behind(FIRST_ACCEPT, LATER_ACCEPT)),
        put(8, "7777"),
    ),
    Broken(
        "R-3.5.2-5",
        "smcr.clc.peer_changed",
        behind(FIRST_CONFIRM, LATER_CONFIRM),
        put(32, "020304050607"),
    ),
    Broken(
        "R-3.5.2-5", "smcr.link.mismatch", behind(FIRST_CONFIRM, LATER_CONFIRM), put(38, "0abcde")
    ),
    Broken("R-A.2-2", "smcr.clc.trailer_invalid", clc(PROPOSAL), end("5a5a5a5a"), also=KEPT),
    Broken("R-A.2-2", "smcr.clc.trailer_invalid", clc(ACCEPT), end("5a5a5a5a"), also=KEPT),
    Broken("R-A.2-2", "smcr.clc.trailer_invalid", clc(CONFIRM), end("5a5a5a5a"), also=KEPT),
    Broken("R-A.2-3", "smcr.clc.type_unknown", clc(PROPOSAL), put(4, "07")),
    Broken("R-A.2-4", "smcr.clc.version_unknown", ACCEPT_V1, bits(7, 0x50, 0x80)),
    Broken("R-A.2-4", "smcr.clc.version_unknown", ACCEPT_V2, bits(7, 0x50, 0x80)),
    Broken("R-A.2-4", "smcr.clc.version_unknown", clc(PROPOSAL), bits(7, 0x50, 0x80)),
    Broken("R-A.2-5 R-V2ACC-4", "smcr.clc.not_negotiated", IPV4_AREA, bits(7, 1), at=ACCEPT_V1),
    Broken("R-A.2-6 R-A.2.3-1", "smcr.clc.length_invalid", ACCEPT_V1, put(5, "0045"), also=KEPT),
    Broken("R-A.2-6 R-A.2.4-1", "smcr.clc.length_invalid", CONFIRM_V1, put(5, "0043"), also=KEPT),
    Broken("R-A.2-6 R-V2ACC-1", "smcr.clc.length_invalid", ACCEPT_V2, put(5, "00ff"), also=KEPT),
    Broken("R-A.2-6 R-V2ACC-1", "smcr.clc.length_invalid", CONFIRM_V2, put(5, "00ff"), also=KEPT),
    Broken("R-A.2-6 R-A.2.2-1", "smcr.clc.length_invalid", IPV4_AREA, put(5, "0070"), also=KEPT),
    Broken("R-A.2-6 R-V2CLC-1", "smcr.clc.length_invalid", PROPOSAL_V2, put(5, "00a8"), also=KEPT),
    Broken(
        "R-A.2-6 R-A.2.5-1", "smcr.clc.length_invalid", clc(DECLINE, 1), put(5, "0020"), also=KEPT
    ),
    Broken(
        "R-A.2-6 R-V2DEC-1", "smcr.clc.length_invalid", clc(DECLINE, 2), put(5, "0030"), also=KEPT
    ),
    Broken(
        "R-A.2-7",
        "smcr.clc.extra_bytes",
        PROPOSAL_V1,
        longer(-5, EXTRA),
        also={**KEPT, "smcr.clc.length_invalid": "it counts the bytes"},
    ),
    # Proposal
    Broken("R-A.2.2-1", "smcr.clc.count_invalid", IPV6_AREA, put(87, "05"), also=KEPT),
    Broken(
        "R-A.2.2-3", "smcr.clc.offset_invalid", PROPOSAL_V1, put(38, "0200"), also={**KEPT, **BYTES}
    ),
    Broken("R-A.2.2-4", "smcr.clc.area_wrong", IPV6_AREA, put(80, "0a00000018")),
    Broken(
        "R-A.2.2-5",
        "smcr.clc.limit_exceeded",
        IPV6_AREA,
        both(longer(-5, ("20010db8000000000000000000000000" "40") * 8), put(87, "09")),
    ),
    Broken("R-A.2.2-6", "smcr.clc.subnet_invalid", IPV4_AREA, put(84, "21")),
    Broken("R-A.2.2-6", "smcr.clc.subnet_invalid", IPV6_AREA, put(104, "81")),
    Broken("R-A.2.2-7", "smcr.clc.gid_missing", IPV4_AREA, put(16, "00" * 16)),
    Broken(
        "R-V2CLC-2", "smcr.clc.offset_invalid", PROPOSAL_V2, put(50, "0200"), also={**KEPT, **BYTES}
    ),
    Broken(
        "R-V2CLC-4",
        "smcr.clc.length_invalid",
        clc(PROPOSAL, more=lambda data: not data[7] & 15),
        bits(7, 2),
        also={**KEPT, **BYTES},
    ),
    Broken(
        "R-V2CLC-4",
        "smcr.clc.extra_bytes",
        PROPOSAL_V2,
        both(longer(80, EXTRA), add(50, ">H", 4)),
        also={**KEPT, "smcr.clc.length_invalid": "it counts the bytes"},
    ),
    Broken(
        "R-V2CLC-5",
        "smcr.clc.path_invalid",
        PROPOSAL_V2,
        both(
            put(7, "2a"),
            lambda data: mutants.replaced(
                data, message(put(5, "0054")(data))[:80] + message(data)[-4:]
            ),
        ),
        also={"smcr.clc.not_negotiated": "the server takes what is not offered"},
    ),
    Broken("R-V2CLC-6", "smcr.clc.count_invalid", PROPOSAL_V2, put(80, "02"), also=KEPT),
    Broken(
        "R-V2CLC-6",
        "smcr.clc.limit_exceeded",
        PROPOSAL_V2,
        both(
            longer(120, "".join(f"{digit:02x}" + "20" * 31 for digit in range(0x41, 0x49))),
            put(80, "09"),
        ),
    ),
    Broken(
        "R-V2CLC-7",
        "smcr.clc.offer_invalid",
        PROPOSAL_V2,
        both(
            put(80, "00"),
            put(5, "007c"),
            lambda data: mutants.replaced(data, message(data)[:120] + message(data)[-4:]),
        ),
    ),
    Broken("R-V2CLC-10", "smcr.clc.offset_invalid", PROPOSAL_V2, bits(7, 0x0C), also=KEPT),
    Broken("R-V2CLC-12", "smcr.clc.offer_invalid", PROPOSAL_V2, put(88, "00" * 16)),
    Broken("R-V2CLC-14", "smcr.clc.offer_invalid", RELEASE_1, put(104, "0f")),
    Broken("R-V2CLC-15", "smcr.clc.offer_invalid", RELEASE_1, put(105, "00")),
    # Accept, Confirm
    Broken("R-2.1-3", "smcr.rmb.index_zero", clc(ACCEPT), put(45, "00")),
    Broken("R-2.1-3", "smcr.rmb.index_zero", clc(CONFIRM), put(45, "00")),
    Broken("R-A.2.3-3", "smcr.qpn_reserved", clc(ACCEPT), put(38, "000001")),
    Broken(
        "R-A.2.3-3",
        "smcr.qpn_reserved",
        LATER_ACCEPT,
        put(38, "000001"),
        also={"smcr.clc.first_contact_wrong": "nor has a link such a queue pair"},
    ),
    Broken("R-A.2.3-3", "smcr.qpn_reserved", clc(CONFIRM), put(38, "000000")),
    Broken("R-A.2.3-5", "smcr.mtu_reserved", FIRST_ACCEPT, bits(50, 0x0F), also=KEPT),
    Broken("R-A.2.3-5", "smcr.mtu_reserved", FIRST_CONFIRM, bits(50, 0x06, 0x09)),
    Broken("R-A.2.3-8", "smcr.rmb.address_invalid", clc(ACCEPT), put(52, "ffffffffffffff00")),
    Broken("R-A.2.3-8", "smcr.rmb.address_invalid", clc(CONFIRM), put(52, "ffffffffffffff00")),
    Broken(
        "R-V2ACC-2",
        "smcr.clc.length_invalid",
        clc(ACCEPT, 2, True),
        bits(7, 0, 8),
        also={**KEPT, **BYTES},
    ),
    Broken("R-V2ACC-3", "smcr.clc.path_invalid", ACCEPT_V2, bits(7, 1)),
    Broken("R-V2ACC-3", "smcr.clc.path_invalid", CONFIRM_V2, bits(7, 1)),
    Broken("R-V2ACC-5", "smcr.clc.eid_wrong", ACCEPT_V2, put(64, "58")),
    Broken("R-V2ACC-6", "smcr.clc.eid_wrong", CONFIRM_V2, put(64, "58")),
    Broken(
        "R-V2ACC-8",
        "smcr.clc.not_negotiated",
        clc(ACCEPT, 2, True, lambda data: not data[105] & 15),
        bits(105, 1),
    ),
    Broken("R-V2ACC-9", "smcr.clc.not_negotiated", ACCEPT_1, put(141, "09")),
    Broken("R-V2ACC-10", "smcr.clc.not_negotiated", CONFIRM_1, put(141, "01")),
    Broken(
        "R-V2ACC-11",
        "smcr.clc.not_negotiated",
        ACCEPT_1,
        bits(143, 2),
        also={"smcr.reserved_not_zero": "the feature is none that is known"},
    ),
    Broken(
        "R-V2ACC-13", "smcr.clc.count_invalid", clc(CONFIRM, 2, True), put(156, "07"), also=LIST
    ),
    Broken(
        "R-V2ACC-13",
        "smcr.clc.limit_exceeded",
        clc(CONFIRM, 2, True, lambda data: len(data) == 180),
        both(
            longer(
                -5, "".join(f"00000000000000000000ffff0a0a0a{digit:02x}" for digit in range(1, 9))
            ),
            put(156, "09"),
        ),
    ),
    *(
        Broken(
            "R-A.2.3-9",
            "smcr.token_in_use",
            having(first, later),
            copied(first, 46, 4, 46),
            at=goes_on,
            also=TOKENS,
            echo=with_token,
        )
        for first, later in ((FIRST_ACCEPT, LATER_ACCEPT), (FIRST_CONFIRM, LATER_CONFIRM))
    ),
    *(
        Broken(
            "R-3.5.2-3",
            "smcr.rmb.element_in_use",
            having(first, later),
            copied_element(first),
            at=goes_on,
            also=ELEMENTS,
            echo=with_element,
        )
        for first, later in ((FIRST_ACCEPT, LATER_ACCEPT), (FIRST_CONFIRM, LATER_CONFIRM))
    ),
    # CONFIRM LINK
    Broken("R-2.2.2-1", "smcr.max_links_invalid", llc(1, response=False), put(34, "01")),
    Broken(
        "R-2.2.2-1 R-V2LLC-9", "smcr.max_links_invalid", llc(0x21, response=False), put(34, "09")
    ),
    Broken("R-2.2.2-2", "smcr.link.max_changed", llc(1, response=True), put(34, "08")),
    Broken(
        "R-2.2.2-3",
        "smcr.link.max_changed",
        llc(1, response=False, more=lambda data: data[29] > 1),
        put(34, "05"),
    ),
    Broken(
        "R-3.3-5 R-3.5.1.5-2 R-A.3.1-3",
        "smcr.link.mismatch",
        CONFIRM_LINK,
        put(26, "0abcde"),
        also=ACCEPTS,
    ),
    Broken(
        "R-3.3-5 R-3.5.1.5-2 R-A.3.1-3",
        "smcr.link.mismatch",
        CONFIRM_LINK_ANSWER,
        put(10, "fe80" + "11" * 14),
    ),
    Broken(
        "R-2.2.4-2",
        "smcr.link.mismatch",
        llc(1, 0x21, response=False, more=lambda data: data[29] > 1),
        put(29, "09"),
        also=ACCEPTS,
        echo=(CONFIRM_LINK_ANSWER, put(29, "09")),
    ),
    Broken("R-3.5.1.5-3", "smcr.llc.not_echoed", CONFIRM_LINK_ANSWER, put(29, "09")),
    Broken("R-3.5.1.5-1", "smcr.llc.wrong_sender", CONFIRM_LINK_ANSWER, bits(3, 0, 0x80)),
    Broken(
        "R-V2LLC-10 R-V2LLC-9",
        "smcr.clc.not_negotiated",
        llc(0x21, response=False, more=lambda data: data[35]),
        put(35, "11"),
    ),
    Broken(
        "R-A.3.1-2",
        "smcr.link.confirmed_twice",
        of_sender(TEST_LINK, CONFIRM_LINK),
        copied(CONFIRM_LINK),
        also={**UNASKED, "smcr.no_response": "the second one has none"},
    ),
    # ADD LINK and its continuation
    Broken(
        "R-2.2.4-1 R-2.2.4-2",
        "smcr.link.number_reused",
        having(ADD_LINK_CONT, ADD_LINK),
        put(31, "01"),
        echo=(ADD_LINK_ANSWER, put(31, "01")),
    ),
    Broken("R-3.5.1.6-4 R-A.3.2-1", "smcr.llc.reason_unknown", REJECTED_V1, put(2, "07")),
    *(
        Broken(
            "R-3.5.1.5-6",
            "smcr.link.data_early",
            of,
            put(0, "8b"),
            at=requests(wire.WRITE_ONLY, wire.WRITE_FIRST),
            also={
                "smcr.llc.type_optional": "it is another message now",
                "smcr.no_response": "the offer has no response",
                "smcr.llc.no_recovery": "the offer has no response",
                "smcr.link.before_confirm": "the second link has no response to CONFIRM LINK",
            },
        )
        for of in (first_rejected, second_confirmed)
    ),
    Broken("R-3.5.1.6-5", "smcr.llc.not_echoed", ACCEPTED, put(31, "09")),
    Broken("R-A.3.2-1", "smcr.llc.flags_invalid", ADD_LINK, bits(3, 0x40)),
    Broken("R-A.3.2-3", "smcr.llc.wrong_sender", ACCEPTED, bits(3, 0, 0x80)),
    Broken("R-A.3.2-5", "smcr.qpn_reserved", ADD_LINK, put(28, "000001")),
    Broken("R-A.3.2-5", "smcr.mtu_reserved", ADD_LINK, bits(32, 0x0F), also=ACCEPTS),
    Broken("R-A.3.2-8", "smcr.link.qpn_in_use", ADD_LINK, copied(CONFIRM_LINK, 10, 19, 12)),
    Broken("R-A.3.3-1", "smcr.llc.wrong_sender", llc(3, response=True), bits(3, 0, 0x80)),
    Broken("R-A.3.3-1 R-A.3.3-2", "smcr.rkey.count_wrong", second_continuation, put(5, "09")),
    Broken(
        "R-3.5.5.2.3-1 R-A.3.3-4",
        "smcr.rkey.wrong_link",
        ADD_LINK_CONT,
        put(4, "01"),
        also={**NOT_THERE, "smcr.rkey.not_on_link": "its RKeys are given for the other link"},
        echo=(llc(3, response=True), put(4, "01")),
    ),
    Broken(
        "R-2.2-2",
        "smcr.rkey.not_on_link",
        having(ONE_WAY, ADD_LINK_CONT),
        lambda data: mutants.patched(data, 24, message(data)[8:24]),
        at=CONFIRM_LINK_ANSWER,
    ),
    Broken(
        "R-V2LLC-5",
        "smcr.llc.count_invalid",
        llc(0x22, more=lambda data: len(data) > 72),
        pairs(255),
    ),
    Broken(
        "R-V2LLC-6",
        "smcr.llc.limit_exceeded",
        llc(0x22, more=lambda data: len(data) > 72),
        pairs(256),
        also={"smcr.llc.count_invalid": "the message has no room for them"},
    ),
    # DELETE LINK
    Broken(
        "R-2.2.1-3",
        "smcr.delete_link.reason_wrong",
        SERVER_DELETES,
        put(5, "00050000"),
        also={"smcr.delete_link.answer_wrong": "nobody has called the link lost before"},
    ),
    Broken(
        "R-A.3.4-3",
        "smcr.llc.reason_unknown",
        DELETE_LINK,
        put(5, "00770000"),
        also={"smcr.link.lost": "the other side is the first to say so"},
    ),
    Broken(
        "R-A.3.4-4",
        "smcr.llc.not_echoed",
        llc(4, 0x24, response=True),
        put(4, "09"),
        also={"smcr.delete_link.answer_wrong": "nor is there such a link"},
    ),
    Broken(
        "R-3.5.5.1.4-3",
        "smcr.llc.wrong_sender",
        SERVER_DELETES,
        bits(3, 0x80),
        also={"smcr.llc.no_request": "nobody has asked for it"},
    ),
    # RKeys
    Broken(
        "R-3.5.5.2-1",
        "smcr.rkey.link_missing",
        having(SERVER_DELETES, OTHER_LINKS),
        both(put(4, "00"), put(17, "00" * 13)),
        also=NOT_THERE,
        echo=(CONFIRM_RKEY_ANSWER, both(put(4, "00"), put(17, "00" * 13))),
    ),
    Broken(
        "R-3.5.5.2-2 R-3.5.5.2.2-3",
        "smcr.rkey.not_announced",
        of_group(DELETE_RKEY),
        put(8, UNKNOWN),
        also=NOT_THERE,
        echo=(DELETE_RKEY_ANSWER, put(8, UNKNOWN)),
    ),
    Broken("R-A.3.5-2", "smcr.llc.not_echoed", of_group(CONFIRM_RKEY_ANSWER), put(5, UNKNOWN)),
    Broken("R-A.3.5-3", "smcr.llc.flags_invalid", CONFIRM_RKEY, bits(3, 0x20)),
    Broken("R-A.3.5-4", "smcr.llc.limit_exceeded", llc(6, response=False), put(4, "08"), also=ECHO),
    Broken(
        "R-A.3.5-4",
        "smcr.rkey.count_wrong",
        of_group(llc(6, response=False, more=lambda data: not data[4])),
        put(4, "05"),
        at=by_sender(llc(6, response=False)),
        also=ECHO,
    ),
    Broken(
        "R-A.3.5-5",
        "smcr.rkey.wrong_link",
        OTHER_LINKS,
        put(17, "77"),
        also=MISSING,
        echo=(CONFIRM_RKEY_ANSWER, put(17, "77")),
    ),
    Broken(
        "R-A.3.5-6",
        "smcr.rkey.link_twice",
        OTHER_LINKS,
        swapped,
        also=MISSING,
        echo=(CONFIRM_RKEY_ANSWER, swapped),
    ),
    Broken(
        "R-V2LLC-7",
        "smcr.llc.count_invalid",
        having(goes_on_with(RKEY_V2), RKEY_V2),
        put(4, "05"),
        also=ECHO,
    ),
    Broken(
        "R-A.3.7-1",
        "smcr.llc.limit_exceeded",
        llc(9, response=False),
        put(4, "00"),
        also={**ECHO, "smcr.llc.unused_not_zero": "its RKeys are in places that it does not use"},
    ),
    Broken("R-A.3.7-1", "smcr.llc.count_invalid", llc(9, response=False), put(4, "09"), also=ECHO),
    Broken("R-A.3.7-3", "smcr.llc.not_echoed", of_group(llc(9, response=True)), put(8, UNKNOWN)),
    Broken("R-A.3.7-5", "smcr.llc.error_mask_invalid", llc(9, response=True), put(5, "40")),
    Broken(
        "R-V2LLC-8", "smcr.llc.count_invalid", llc(0x29, response=False), put(4, "ff"), also=ECHO
    ),
    Broken("R-V2LLC-8", "smcr.llc.error_mask_invalid", llc(0x29, response=True), put(5, "40")),
    Broken(
        "R-A.2.3-10 R-A.3.5-8",
        "smcr.rkey.in_use",
        having(lambda path: CONFIRM_RKEY(path)[40:], CONFIRM_RKEY),
        copied(CONFIRM_RKEY, 5, 4, 5),
        nth=2,
        also={"smcr.rkey_not_confirmed": "CLC names the RKey that it had"},
        echo=(CONFIRM_RKEY_ANSWER, copied(CONFIRM_RKEY, 5, 4, 5)),
    ),
    Broken(
        "R-A.3.5-8",
        "smcr.rkey.in_use",
        having(ONE_WAY, CONFIRM_RKEY),
        copied(CONFIRM_RKEY, 5, 4, 5),
        nth=2,
        also={
            "smcr.rkey_not_confirmed": "CLC names the RKey that it had",
            "smcr.rkey.not_announced": "the same",
        },
        echo=(CONFIRM_RKEY_ANSWER, copied(CONFIRM_RKEY, 5, 4, 5)),
    ),
    # LLC in general
    Broken("R-3.3-1 R-V2LLC-15", "smcr.llc.length_invalid", LLC_V1, put(1, "2d"), also=UNHEARD),
    Broken("R-V2LLC-1", "smcr.llc.length_invalid", LLC_V2, put(1, "0077"), also=UNHEARD),
    Broken("R-3.3-2", "smcr.payload_longer", LLC_V1, longer(-1, EXTRA)),
    Broken(
        "R-3.3-4",
        "smcr.llc.unrequested",
        of_sender(TEST_LINK, CONFIRM_LINK_ANSWER),
        copied(CONFIRM_LINK_ANSWER),
        also=UNASKED,
    ),
    Broken("R-A.3.8-1", "smcr.llc.not_echoed", TEST_LINK_ANSWER, put(4, FAR)),
    Broken("R-V2LLC-3", "smcr.llc.wrong_version", llc(7), put(0, "27")),
    Broken(
        "R-V2LLC-11",
        "smcr.llc.wrong_sender",
        having(llc(0x25), llc(0x22, response=False)),
        copied(llc(0x25)),
        also={
            **UNASKED,
            "smcr.link.number_unknown": "it was offered in the message that is another now",
            "smcr.rkey.not_on_link": "that message had its RKeys",
        },
    ),
    Broken("R-V2LLC-12", "smcr.llc.count_invalid", llc(0x25, response=False), put(24, "07")),
    Broken(
        "R-V2LLC-12",
        "smcr.llc.limit_exceeded",
        llc(0x25, response=False),
        put(24, "09"),
        also={"smcr.llc.count_invalid": "the message has no room for them"},
    ),
    # CDC
    Broken("R-2.1-7", "smcr.cdc.announced_early", IN_ROUND, add(12, ">I", 100), nth=3),
    Broken(
        "R-3.4-1 R-A.4-1",
        "smcr.cdc.length_invalid",
        settled(CDC),
        put(1, "2d"),
        nth=3,
        also={
            "smcr.cdc.sequence_gap": "the message is none of its connection",
            "blocked_count": "nobody can read whether it says so",
        },
    ),
    Broken("R-3.4-1", "smcr.payload_longer", CDC, longer(-1, EXTRA), nth=3),
    Broken("R-4.3-1", "smcr.cdc.first_number", FIRST_CDC, put(2, "0005")),
    Broken("R-4.3-2", "smcr.cdc.sequence_skipped", LATER_CDC, add(2, ">H", 100), nth=4),
    Broken("R-4.3-2 R-4.6.2-1", "smcr.cdc.sequence_backwards", LATER_CDC, add(2, ">H", -1), nth=4),
    Broken("R-4.3-3 R-A.4-5", "smcr.cdc.cursor_range", CDC, put(12, "7fffffff")),
    Broken(
        "R-A.4-7",
        "smcr.cdc.wrap",
        LATER_CDC,
        add(10, ">H", 5),
        nth=4,
        also={"urgent_count": "where urgent data end is not believed"},
    ),
    Broken("R-4.5.1-2 R-A.4-9", "smcr.cdc.cursor_backwards", HAVE_READ, put(20, "00000004"), nth=4),
    Broken("R-A.4-8", "smcr.cdc.read_unsent", READ_ALL, add(20, ">I", 1000), nth=4),
    Broken("R-4.6.1-2 R-4.6.2-1", "smcr.move.number", MOVE, add(2, ">H", 50), at=by_sender(CDC, 4)),
    Broken("R-4.8.2-4", "smcr.conn.aborted", CLOSING, bits(25, 0x20)),
    Broken(
        "R-2.1-8 R-4.8.1-4",
        "smcr.cdc.closed_unannounced",
        of_group(lambda path: sorted(last_writes(path))),
        both(add(12, ">I", 4), last(EXTRA)),
        nth=-1,
        also={"bytes": "there are more"},
        at=end_of,
    ),
    # RDMA
    Broken(
        "R-4.1-1 R-4.2-3", "smcr.write.outside", WRITE, add(0, ">Q", -1 << 30), nth=1, also=NOWHERE
    ),
    Broken("R-4.2-1", "smcr.write.outside", WRITE, add(0, ">Q", -4), also=NOWHERE),
    Broken("R-4.7-6", "smcr.write.outside", WRITE, add(0, ">Q", 1 << 30), nth=2, also=NOWHERE),
    Broken(
        "R-4.2-4 R-A.3.5-9", "smcr.write.unknown_rkey", WRITE, put(8, UNKNOWN), nth=1, also=NOWHERE
    ),
    Broken("R-4.7-5", "smcr.write.hole", WRITE, add(0, ">Q", 10), nth=2),
    Broken(
        "R-4.7-2",
        "smcr.rdma.operation",
        WRITE,
        opcode(12),
        nth=1,
        also={
            **NOWHERE,
            "smcr.cdc.unseen_data": "no WRITE has the bytes",
            "smcr.stream.gap": "the same",
        },
    ),
    # TCP
    *(
        Broken(
            "R-1-2",
            "smcr.clc.data_after_switch",
            having(CDC, fin),
            longer(0, "474554202f"),
            nth=nth,
        )
        for nth in (0, 1)
    ),
)


def sized():
    """Captures of peers that break nothing, the shortest first."""
    every = {
        name: path
        for name, path in captures("real").items()
        if not any(word in name for word in NOT_HEALTHY)
    }
    return sorted(every, key=lambda name: every[name].stat().st_size)


@functools.cache
def found(of):
    """{capture: frames} that have the message."""
    every = captures("real")
    return {name: frames for name in sized() for frames in [of(every[name])] if frames}


def changes_of(broken, path, number):
    """[(frame, change)]"""
    every = [(number, broken.change)]
    if callable(broken.echo):
        every += broken.echo(path, number)
    elif broken.echo:
        every.append((min(each for each in broken.echo[0](path) if each > number), broken.echo[1]))
    return [
        (
            frame,
            change if change.__code__.co_argcount == 1 else functools.partial(change, path=path),
        )
        for frame, change in every
    ]


def shows(broken, path, number):
    """The frame in which the plugin is to tell of it."""
    if broken.at is None:
        return number
    if broken.at.__code__.co_argcount == 2:
        return broken.at(path, number)
    return min((each for each in broken.at(path) if each > number), default=None)


def one_of(broken, path, frames):
    """[(frame, where it shows)] of the one of these frames, if there is one."""
    frames = frames[broken.nth :][:1] if -len(frames) <= broken.nth else []
    return [(frame, told) for frame in frames for told in [shows(broken, path, frame)] if told]


def chosen(broken, most=2):
    """[(capture, frame, where it shows)]: captures of different versions before others."""
    every = captures("real")
    have = [
        (name, *one)
        for name, frames in found(broken.of).items()
        for one in one_of(broken, every[name], frames)
    ]
    names = [name for name, _, _ in have]
    rank = {
        name: [other for other in names if version(other) == version(name)].index(name)
        for name in names
    }
    return sorted(have, key=lambda each: rank[each[0]])[:most]


def version(name):
    return re.match(r"[\d.]+-(v\d)", name).group(1)


# ---- what no such change breaks ----

TIME = "it is broken by when a message comes, not by its bytes"
PLACE = "it takes a message that goes over another link than it has gone over"
STATE = (
    "it takes several messages that are changed alike: connections, links or RMBs that the "
    "capture does not have at once"
)
READERS = "the readers of all captures free the space within 100 ms, which is an excuse"
OTHERS = "each long packet breaks it, and a smaller MTU makes all of them long"
UNFINISHED = "it takes the end of TCP right behind the first bytes, which rule-clc-unfinished has"
LOST = "the captures of such a move lack packets of the link that has failed"
ALONE = "both sides of a response are told by one item: smcr.llc.not_echoed"
Absent = collections.namedtuple("Absent", "of")  # no capture of `sized()` has such a message


def tagged(path):
    """Frames with a VLAN tag, between link-local addresses."""
    every = (pcapng.data(frame) for frame in pcapng.read(path)[1])
    return [
        number
        for number, data in enumerate(every, 1)
        if wire.u16(data, 12) == wire.VLAN
        and wire.u16(data, 16) == wire.IPV6
        and data[26:28] == b"\xfe\x80"
    ]


REASONS = {
    "R-2-1 smcr.link.vlan": Absent(tagged),
    "R-2.1-1 smcr.rkey.too_many": Absent(lambda path: CONFIRM_RKEY(path)[254:]),
    "R-2.1-4 smcr.rmb.changed": Absent(later_of_rmb),
    "R-2.1-6 smcr.window.overwritten": READERS,
    "R-2.2.1-1 smcr.link.parallel": STATE,
    "R-2.2.2-5 smcr.link.too_many": STATE,
    "R-2.2.2-6 smcr.link.too_many": STATE,
    "R-2.2.2-7 smcr.link.too_many": STATE,
    "R-3.3-7 smcr.llc.wrong_link": PLACE,
    "R-3.5.1.5-3 smcr.link.mismatch": ALONE,
    "R-3.5.1.5-5 smcr.link.before_confirm": TIME,
    "R-3.5.1.6-9 smcr.link.refused_used": STATE,
    "R-3.5.1.6.4-2 smcr.link.refused_used": TIME,
    "R-3.5.2-2 smcr.rkey.not_announced": STATE,
    "R-3.5.3-1 smcr.rkey.in_use": STATE,
    "R-3.5.4-2 smcr.link.after_delete": TIME,
    "R-3.5.4-4 smcr.lgr.connections_lost": STATE,
    "R-3.5.5.1.3-2 smcr.link.after_delete": TIME,
    "R-3.5.5.2.2-1 smcr.rkey.deleted_in_use": STATE,
    "R-3.5.5.2.2-2 smcr.write.rmb_deleted": TIME,
    "R-3.5.5.3-1 smcr.llc.overlap": TIME,
    "R-4.5.1-3 smcr.window.late_update": TIME,
    "R-4.6.1-1 smcr.move.not_validated": LOST,
    "R-4.7.5-2 smcr.cdc.urgent_overrun": TIME,
    "R-A.2-6 smcr.message_short": UNFINISHED,
    "R-A.2.3-6 smcr.packet_above_mtu": OTHERS,
    "R-A.2.5-2 smcr.link.out_of_sync": Absent(clc(DECLINE, more=lambda data: data[7] & 8)),
    "R-A.3.3-6 smcr.rkey.in_use": STATE,
    "R-A.3.6-1 smcr.rkey.count_wrong": Absent(llc(8)),
    "R-A.3.6-2 smcr.llc.limit_exceeded": Absent(llc(8)),
    "R-A.3.6-3 smcr.llc.not_echoed": Absent(llc(8)),
    "R-A.3.7-6 smcr.write.rmb_deleted": TIME,
    "R-A.4-4 smcr.cdc.other_group": STATE,
    "R-A.4-6 smcr.window.overwritten": READERS,
    "R-A.4-6 smcr.cdc.cursor_ahead": READERS,
    "R-C.1-1 smcr.clc.decline_chases": TIME,
    "R-C.1-2 smcr.clc.decline_late": Absent(behind(LATER_ACCEPT, clc(DECLINE))),
    "R-C.3-1 smcr.clc.decline_late": Absent(behind(ADD_LINK, clc(DECLINE))),
    "R-V2ACC-12 smcr.lgr.too_many_conns": STATE,
    "R-V2D-1 smcr.clc.length_invalid": Absent(
        clc(ACCEPT, more=lambda data: data[:4] == wire.SMC_D)
    ),
}
