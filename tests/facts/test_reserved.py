"""
A SEND on an unknown queue pair proves that it is SMC-R by the bits that LLC and CDC keep zero. The
messages come from the builder, and what is reserved in them is said here once more, from RFC 7609
A.3 and A.4 and from net/smc: one bit of it that is set, and the message is nobody's.
"""

import sys

import pytest
from bed import TOP

sys.path.insert(0, str(TOP / "tests" / "synth"))

from smcsynth.capture import Capture  # noqa: E402
from smcsynth.cdc import cdc  # noqa: E402
from smcsynth.llc import (  # noqa: E402
    add_link_v2_extension,
    llc_add_link,
    llc_add_link_continuation,
    llc_confirm_link,
    llc_confirm_rkey,
    llc_confirm_rkey_continuation,
    llc_delete_link,
    llc_delete_rkey,
    llc_request_add_link,
    llc_test_link,
)
from smcsynth.roce import SEND_ONLY, Nic, bth, rocev2_frame  # noqa: E402

SENDER, RECEIVER = Nic("02:00:00:00:00:01", "198.51.100.1"), Nic(
    "02:00:00:00:00:02", "198.51.100.2"
)
PAGE, USER_DATA = 0x7F0000_1000, bytes(range(1, 17))
LINK = {"roce_mac": SENDER.mac, "roce_gid": SENDER.gid, "qpn": 0x123, "link": 1}
ADD = {**LINK, "mtu_code": 3, "psn": 0xABCDEF}
EXTENSION = add_link_v2_extension(target_gid=SENDER.gid, rkeys=[(1, 2, PAGE)] * 2)


def span(start, end):
    """Bytes [start, end) of a message, all bits of them."""
    return {offset: 0xFF for offset in range(start, end)}


# Message, and its reserved bits by byte. Byte 2 is part of the length in version 2.
V1, V2 = {2: 0xFF}, {}
MESSAGES = {
    "CONFIRM LINK": (llc_confirm_link(**LINK, user_id=7), {**V1, 3: 0x7C, **span(35, 44)}),
    "CONFIRM LINK v2": (
        llc_confirm_link(**LINK, user_id=7, version=2, max_conns=255),
        {3: 0x7C, **span(36, 44)},
    ),
    "ADD LINK": (llc_add_link(**ADD), {**V1, 3: 0x3F, 32: 0xF0, **span(36, 44)}),
    "ADD LINK rejected": (
        llc_add_link(**ADD, reply=True, reject=True, reason=1),
        {2: 0xF0, 3: 0x3F, 32: 0xF0, **span(36, 44)},
    ),
    "ADD LINK of figure 32": (
        llc_add_link(**{**ADD, "roce_gid": "fe80::1"}, layout="figure32"),
        {**V1, 3: 0x3F, 30: 0xF0, **span(34, 44)},
    ),
    "ADD LINK v2": (
        llc_add_link(**ADD, version=2, extension=EXTENSION),
        {3: 0x3F, 32: 0xF0, **span(36, 44), 44: 0x7F, 45: 0xFF, **span(62, 70)},
    ),
    "ADD LINK v2 rejected": (
        llc_add_link(**ADD, version=2, reply=True, reject=True),
        {3: 0x30, 32: 0xF0, **span(36, 44)},
    ),
    "ADD LINK CONTINUATION": (
        llc_add_link_continuation(link=1, left=1, pairs=[(1, 2, PAGE)]),
        {**V1, 3: 0x7F, **span(6, 8), **span(24, 44)},
    ),
    "ADD LINK CONTINUATION, full": (
        llc_add_link_continuation(link=1, left=2, pairs=[(1, 2, PAGE)] * 2),
        {**V1, 3: 0x7F, **span(6, 8), **span(40, 44)},
    ),
    "REQUEST ADD LINK": (
        llc_request_add_link(gids=[SENDER.gid], version=1),
        {**V1, 3: 0x7F, **span(4, 24), **span(25, 28)},
    ),
    "REQUEST ADD LINK v2": (
        llc_request_add_link(gids=[SENDER.gid] * 2),
        {3: 0x3F, **span(4, 24), **span(25, 28)},
    ),
    "REQUEST ADD LINK v2, no GID": (
        llc_request_add_link(gids=[]),
        {3: 0x3F, **span(4, 24), **span(25, 44)},
    ),
    "CONFIRM RKEY": (
        llc_confirm_rkey(rkey=5, va=PAGE, others=[(2, 6, PAGE)]),
        {**V1, 3: 0x4F, **span(30, 44)},
    ),
    "CONFIRM RKEY, full": (
        llc_confirm_rkey(rkey=5, va=PAGE, others=[(2, 6, PAGE)] * 2),
        {**V1, 3: 0x4F, 43: 0xFF},
    ),
    "CONFIRM RKEY v2": (llc_confirm_rkey(rkey=5, va=PAGE, version=2), {3: 0x4F, **span(17, 44)}),
    "CONFIRM RKEY CONTINUATION": (
        llc_confirm_rkey_continuation(left=2, others=[(2, 6, PAGE)] * 2),
        {**V1, 3: 0x5F, **span(31, 44)},
    ),
    "DELETE LINK": (llc_delete_link(link=1, reason=0x00010000), {**V1, 3: 0x1F, **span(9, 44)}),
    "DELETE LINK v2": (
        llc_delete_link(link=1, reason=0x00010000, version=2),
        {3: 0x1F, **span(9, 44)},
    ),
    "TEST LINK": (llc_test_link(user_data=USER_DATA), {**V1, 3: 0x7F, **span(20, 44)}),
    "TEST LINK v2": (llc_test_link(user_data=USER_DATA, version=2), {3: 0x7F, **span(20, 44)}),
    "DELETE RKEY": (llc_delete_rkey(rkeys=[1, 2]), {**V1, 3: 0x5F, **span(6, 8), **span(16, 44)}),
    "DELETE RKEY, full": (
        llc_delete_rkey(rkeys=range(1, 9)),
        {**V1, 3: 0x5F, **span(6, 8), **span(40, 44)},
    ),
    "DELETE RKEY v2": (
        llc_delete_rkey(rkeys=[1], version=2),
        {3: 0x5F, **span(6, 8), **span(12, 44)},
    ),
    "CDC": (
        cdc(seq=1, token=9, prod=(0, 5)),
        {**span(8, 10), **span(16, 18), 24: 0x07, 25: 0x1F, **span(26, 44)},
    ),
}

# What a layout cannot know: byte, and a value that breaks the rule.
RULES = {
    "CONFIRM LINK": [(0, 0x0A), (1, 43), (25, 2), (29, 0)],  # type, length, own GID, link number
    "CONFIRM LINK v2": [(1, 43), (25, 2), (29, 0)],
    "ADD LINK": [(1, 45), (20, 1)],  # a GID that no device has
    "ADD LINK v2": [(71, 3), (87, 1)],  # count of RTokens, address of one
    "ADD LINK CONTINUATION": [(4, 0), (23, 1), (22, 1)],  # link number, address of an RMB
    "REQUEST ADD LINK": [(24, 2)],  # more GIDs than there is room for
    "CONFIRM RKEY": [(4, 8), (8, 0), (16, 1), (15, 1), (29, 1)],  # links, RKey, both addresses
    "CONFIRM RKEY v2": [(4, 3)],
    "CONFIRM RKEY CONTINUATION": [(4, 0), (4, 8), (30, 1)],
    "DELETE RKEY": [(4, 0), (4, 9)],
    "CDC": [(0, 0xFF), (1, 43)],
}


def with_bits(message, offset, bits):
    changed = bytearray(message)
    changed[offset] |= bits
    return bytes(changed)


def with_byte(message, offset, value):
    return message[:offset] + bytes([value]) + message[offset + 1 :]


def recognised(tshark, scratch, payloads, *, captured=None):
    """For each payload of a SEND, each to a queue pair of its own, whether it is taken for
    SMC-R."""
    capture = Capture()
    for number, payload in enumerate(payloads):
        capture.add(
            rocev2_frame(
                SENDER, RECEIVER, bth(SEND_ONLY, dest_qp=0x1000 + number, psn=number) + payload
            )
        )
    path = scratch / "sends.pcap"
    path.write_bytes(capture.pcap())
    if captured is not None:
        path = cut(tshark.bed, path, captured)
    found = set(tshark.frames(path, "smcr"))
    return [number + 1 in found for number in range(len(payloads))]


def cut(bed, path, payload):
    """The capture with this many bytes of each payload: behind Ethernet, IPv4, UDP and BTH, which
    have 54."""
    shorter = path.with_suffix(".cut")
    bed.edit("-F", "pcap", "-s", 54 + payload, path, shorter)
    return shorter


def bits_of(reserved):
    return [
        (offset, 1 << bit)
        for offset, mask in reserved.items()
        for bit in range(8)
        if mask >> bit & 1
    ]


@pytest.mark.parametrize("name", MESSAGES)
def test_one_reserved_bit_is_enough(tshark, scratch, name):
    message, reserved = MESSAGES[name]
    bits = bits_of(reserved)
    assert all(message[offset] & bit == 0 for offset, bit in bits)
    shown = recognised(tshark, scratch, [message, *(with_bits(message, *bit) for bit in bits)])
    assert shown[0], "the message itself is recognised"
    assert [bit for bit, seen in zip(bits, shown[1:], strict=True) if seen] == []


@pytest.mark.parametrize("name", RULES)
def test_rules_that_no_layout_knows(tshark, scratch, name):
    message = MESSAGES[name][0]
    assert recognised(tshark, scratch, [with_byte(message, *each) for each in RULES[name]]) == [
        False
    ] * len(RULES[name])


@pytest.mark.parametrize("name", MESSAGES)
def test_bytes_that_are_missing_are_not_judged(tshark, scratch, name):
    """A capture may cut the message; what it holds decides, and less than 30 bytes prove
    nothing."""
    message, reserved = MESSAGES[name]
    last = max(offset for offset in reserved if offset < 30)
    payloads = [
        message,
        with_bits(message, last, reserved[last]),
        *([with_bits(message, 43, 1)] if 43 in reserved else []),
    ]
    assert (
        recognised(tshark, scratch, payloads, captured=30) == [True, False, True][: len(payloads)]
    )
    assert not any(recognised(tshark, scratch, payloads, captured=29))


def test_bytes_behind_the_message(tshark, scratch):
    longer = [message + bytes(4) for message, _ in MESSAGES.values()]
    assert not any(recognised(tshark, scratch, longer))
