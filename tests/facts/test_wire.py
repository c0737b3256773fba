"""
What the goldens do not show: every message of every capture is found, by a reader that knows
nothing of the plugin (wire.py), and every byte and every bit of it is shown by the right field with
the right value (layouts.py).
"""

import collections
import ipaddress
import xml.etree.ElementTree as xml

import layouts
import pytest
import traffic
import wire
from bed import captures

FIRST = ("smcr.eyecatcher", "smcr.llc.type", "smcr.cdc.type")  # with which a message begins
DERIVED = {
    "smcr.rmb.size",
    "smcr.clc.diagnosis.text",
}  # said again, of bytes that another field shows
STRUCTURES = {
    "smcr.peer_id",
    "smcr.clc.ip_area",
    "smcr.clc.smcd_area",
    "smcr.clc.v2_extension",
    "smcr.clc.fce",
    "smcr.clc.smcdv2_extension",
    "smcr.clc.gid_list",
    "smcr.smcd.device",
    "smcr.llc.v2_extension",
    "smcr.llc.rtoken",
    "smcr.parts",
    "smcr.part",
}

# Frames whose message the reader does not find: {capture: frames}.
UNREAD = {
    "rule-clc-order": {16},  # an Accept that came before
    "vectors": {48},  # an Accept whose length is 0
    "roce-odd": {42, 44},  # SENDs with immediate data, and with an RKey to invalidate
    "rule-cdc-token": {64, 66},  # types of LLC that the RFC does not define
}
# Captures whose messages have no layout: lengths, counts, types and versions lie. There every byte
# is shown, once.
LIES = {
    "clc-accept-confirm-values",
    "clc-length",
    "clc-proposal-counts",
    "clc-type-version",
    "exported-source",
    "llc-counts",
    "llc-length",
    "rule-clc-length",
    "rule-clc-unfinished",
    "rule-v2-proposal",
    "rule-v2-smcd",
}
NOT_OURS = {"quiet-roce", "quiet-tcp"}  # nothing is shown, which test_quiet.py says
# Captures in which some WRITEs or acknowledgements belong to nobody, or hide in a payload.
FOREIGN = {"quiet-roce", "roce-odd", "exported-source"}

# Items are (field, place in the message, bytes, text), bits are (field, place, value).
Shown = collections.namedtuple("Shown", "items bits")


def integer(text):
    """A number as Wireshark shows it; Booleans are 0 and 1, or words from 4.4 on."""
    return {"False": 0, "True": 1}[text] if text in ("False", "True") else int(text, 0)


def nodes(packet):
    """The fields of ours that show bytes, in the order of the tree."""
    return [
        node
        for proto in packet.iterfind("proto[@name='smcr']")
        for node in proto.iter("field")
        if node.get("name", "").startswith("smcr.")
        and node.get("size") != "0"
        and node.get("hide") != "yes"
        and node.get("name") not in STRUCTURES | DERIVED
    ]


def shown_messages(packet):
    found, start = [], 0
    for node in nodes(packet):
        name, at = node.get("name"), int(node.get("pos"))
        if name in FIRST:
            found.append(Shown([], []))
            start = at
        if not found:
            continue
        if node.get("unmaskedvalue") is None:
            value = bytes.fromhex(node.get("value"))
            assert len(value) == int(node.get("size"))
            found[-1].items.append((name, at - start, value, node.get("show")))
        else:
            found[-1].bits.append((name, at - start, integer(node.get("show"))))
    return found


def says(text, data, order):
    """Whether a text is one of the ways in which Wireshark writes these bytes."""
    if text.replace(":", "") == data.hex():
        return True
    try:
        return int(text, 0) == int.from_bytes(data, order)
    except ValueError:
        pass
    try:
        return ipaddress.ip_address(text).packed == data
    except ValueError:
        return text.encode() == data.rstrip(b" \0")


def order_of(message, field):
    """Lengths and counts of version 2 of LLC are in the byte order of the sender's processor."""
    if field in ("smcr.llc.length", "smcr.llc.rkey_count_v2") and message.data[0] in layouts.LLC_V2:
        return layouts.order_of(message.data)
    return "big"


def differences(message, shown):
    items = [(item.field, item.offset, item.data) for item in layouts.items(message)]
    found = [pair for pair in zip(items, [each[:3] for each in shown.items]) if pair[0] != pair[1]]
    if len(items) != len(shown.items):
        found.append((len(items), len(shown.items)))
    found += [
        item for item in shown.items if not says(item[3], item[2], order_of(message, item[0]))
    ]
    bits = list(layouts.bits(message))
    if sorted(bits) != sorted(shown.bits):
        found.append((set(bits) ^ set(shown.bits)))
    return found


Seen = collections.namedtuple("Seen", "name path packets rows")


@pytest.fixture(scope="module", params=captures())
def seen(request, tshark):
    """A capture: its frames as PDML has them, {number: packet}, and the fields that the tests below
    ask for."""
    name = request.param
    # which quotes packets that somebody else has sent, and only some versions dissect them
    where = "smcr && !icmp"
    text = tshark.show(name, "-2", "-Y", where, "-T", "pdml", "-J", "smcr")
    packets = {
        int(packet.find("proto[@name='geninfo']/field[@name='num']").get("show")): packet
        for packet in xml.fromstring(text.encode()).iter("packet")
    }
    return Seen(name, captures()[name], packets, traffic.rows(tshark, name, *FIELDS, where=where))


def test_every_message(seen):
    """Where the bytes have a layout: the right fields, in their places, with all bits, and nothing
    else."""
    name, path, packets, _ = seen
    if name in LIES | NOT_OURS:
        pytest.skip("its messages have no layout")
    expected = collections.defaultdict(list)
    for message in wire.messages(path):
        if message.frame not in UNREAD.get(name, ()):
            expected[message.frame].append(message)
    shown = {
        number: found
        for number, packet in packets.items()
        if (found := shown_messages(packet)) and number not in UNREAD.get(name, ())
    }
    assert {number: len(found) for number, found in shown.items()} == {
        number: len(found) for number, found in expected.items()
    }
    wrong = [
        (number, each)
        for number, found in expected.items()
        for message, one in zip(found, shown[number])
        for each in differences(message, one)
    ]
    assert wrong == []


def test_every_byte(seen):
    """Whatever the bytes say, each of a message is shown by one field: no hole, nothing twice."""
    wrong = []
    for number, packet in seen.packets.items():
        for message in shown_messages(packet):
            at = 0
            for field, place, data, _ in message.items:
                if place != at:
                    wrong.append((number, field, place, at))
                at = place + len(data)
    assert wrong == []


def frames(seen, field):
    return [int(row["frame.number"][0]) for row in seen.rows if row[field]]


def test_every_write_and_acknowledgement(seen):
    """All RDMA WRITEs with their lengths, all acknowledgements; refusals are those whose syndrome
    says so."""
    if seen.name in FOREIGN:
        pytest.skip("some of its packets are not of SMC-R")
    shown = {
        int(row["frame.number"][0]): int(row["smcr.write.len"][0])
        for row in seen.rows
        if row["smcr.write.len"]
    }
    assert shown == wire.write_lengths(seen.path)
    assert {
        int(row["frame.number"][0]): {
            field: integer(row[field][0]) for field in wire.IMMEDIATE_FIELDS if row[field]
        }
        for row in seen.rows
        if row["smcr.immediate"]
    } == wire.immediates(seen.path)
    assert [
        int(row["frame.number"][0])
        for row in seen.rows
        if row["infiniband.bth.opcode"] == [str(wire.ACKNOWLEDGE)]
    ] == wire.acknowledgements(seen.path)
    assert frames(seen, "smcr.nak") == wire.acknowledgements(seen.path, wire.NAK)
    assert frames(seen, "smcr.rnr_nak") == wire.acknowledgements(seen.path, wire.RNR_NAK)


# ---- expert items that the bytes of one message decide ----


def number(message, field):
    """Value of a field that a message has once; None if it has none."""
    values = [
        int.from_bytes(each.data, "big")
        for each in layouts.items(message)
        if each.field == "smcr." + field
    ]
    values += [value for name, _, value in layouts.bits(message) if name == "smcr." + field]
    return values[0] if values else None


def any_of(message, *fields):
    """Whether one of the bytes or bits that these fields show is set."""
    wanted = {"smcr." + field for field in fields}
    return any(any(each.data) for each in layouts.items(message) if each.field in wanted) or any(
        value for name, _, value in layouts.bits(message) if name in wanted
    )


def is_clc(message, kind):
    return message.kind == "clc" and message.data[4] == kind


def is_invitation(message):
    """ADD LINK of a client that asks the server for a link, without a queue pair of its own
    (smc_llc.c, version 1)."""
    return (
        message.kind == "llc" and message.data[0] == 2 and number(message, "llc.link_number") == 0
    )


def has_trailer(message):
    return message.data[-4:] in (wire.SMC_R, wire.SMC_D)


RULES = {
    "smcr.reserved_not_zero": lambda each: any_of(
        each, "reserved", "reserved.bits", "reserved.bits16"
    ),
    "smcr.llc.unused_not_zero": lambda each: any_of(each, "llc.unused"),
    "smcr.clc.trailer_invalid": lambda each: each.kind == "clc" and not has_trailer(each),
    "smcr.lgr.first_contact": lambda each: (
        is_clc(each, layouts.ACCEPT)
        and each.data[:4] == wire.SMC_R
        and number(each, "clc.first_contact") == 1
    ),
    "smcr.clc.out_of_sync_decline": lambda each: number(each, "clc.out_of_sync") == 1,
    "smcr.llc.link_rejected": lambda each: number(each, "llc.rejected")
    == 1
    == number(each, "llc.response"),
    "smcr.llc.negative_response": lambda each: number(each, "llc.negative")
    == 1
    == number(each, "llc.response"),
    "smcr.llc.type_optional": lambda each: each.kind == "llc" and 0x80 <= each.data[0] <= 0xBF,
    "smcr.llc.type_unknown": lambda each: each.data[0] in (0x0C, 0x2F, 0x3F, 0x40),
    # that of a rejection is the request's; without first contact it means nothing
    "smcr.mtu_reserved": lambda each: (
        number(each, "mtu") not in (None, 1, 2, 3, 4, 5)
        and not is_invitation(each)
        and number(each, "llc.rejected") != 1
        and number(each, "clc.first_contact") != 0
    ),
    "smcr.rmb.index_zero": lambda each: number(each, "rmb.index") == 0,
    "smcr.qpn_reserved": lambda each: {number(each, "clc.qpn"), number(each, "llc.qpn")} & {0, 1}
    and not is_invitation(each),
}
# What no message has whose bytes have a layout.
RULES.update(
    dict.fromkeys(
        (
            "smcr.clc.length_invalid",
            "smcr.llc.length_invalid",
            "smcr.cdc.length_invalid",
            "smcr.message_short",
            "smcr.payload_longer",
            "smcr.clc.count_invalid",
        ),
        lambda each: False,
    )
)
FIELDS = (
    "frame.number",
    "smcr.write.len",
    "infiniband.bth.opcode",
    "smcr.nak",
    "smcr.rnr_nak",
    "smcr.retransmission",
    *wire.IMMEDIATE_FIELDS,
    *RULES,
)


def test_expert_items_of_the_bytes(seen):
    """They are on the frames whose bytes ask for them, and on no other. A message that is
    retransmitted has none."""
    if seen.name in LIES | NOT_OURS:
        pytest.skip("its messages have no layout")
    again = set(frames(seen, "smcr.retransmission")) | UNREAD.get(seen.name, set())
    shown = {(frame, rule) for rule in RULES for frame in frames(seen, rule)}
    expected = {
        (message.frame, rule)
        for message in wire.messages(seen.path)
        for rule, asks in RULES.items()
        if asks(message)
    }
    assert {each for each in shown if each[0] not in again} == {
        each for each in expected if each[0] not in again
    }


# ---- lies: what the scenarios of captures/malformed/ say ----


def test_clc_lengths(seen_lengths):
    """11 lengths that cannot be, in each of four types; each is told, and nothing is told of the
    messages before."""
    types, lengths = seen_lengths
    assert lengths == {kind: [0, 7, 8, 11, 12, 27, 51, 67, 69, 4096, 65535] for kind in "1234"}
    assert types == {"1": 11, "2": 11, "3": 11, "4": 11}


@pytest.fixture
def seen_lengths(tshark):
    """Frames of clc-length with an expert item about the length: their number and lengths by type,
    in order."""
    names = ("smcr.clc.type", "smcr.clc.length")
    rows = tshark.fields("clc-length", *names, where="smcr.clc.length_invalid", two_pass=True)
    lengths = collections.defaultdict(list)
    for kind, length in rows:
        lengths[kind[0]].append(int(length[0]))
    return {kind: len(each) for kind, each in lengths.items()}, dict(lengths)


# Expert items that a scenario asks for, and on how many messages: {capture: {item: number}}.
MALFORMED = {
    # MTU codes 0, 6, 15, size codes 6 and 15, index 0, queue pair 0, release 15: each in an Accept
    # and a Confirm
    "clc-accept-confirm-values": {
        "smcr.mtu_reserved": 6,
        "smcr.rmb.bsize_reserved": 4,
        "smcr.rmb.index_zero": 2,
        "smcr.qpn_reserved": 2,
        "smcr.clc.release_unknown": 2,
        "smcr.message_short": 2,
    },
    # types 0, 5, 255 from both sides; versions 0, 3, 15 in four messages
    "clc-type-version": {"smcr.clc.type_unknown": 6, "smcr.clc.version_unknown": 12},
    # mask of 33 bits, prefix of 129; both types "none"
    "clc-proposal-counts": {"smcr.clc.subnet_invalid": 2, "smcr.clc.path_invalid": 1},
    # CONFIRM LINK for 0, 1, 9 and 255 links at most
    "llc-counts": {"smcr.max_links_invalid": 4},
    # TEST LINK, DELETE RKEY: four lengths each, four of version 2; CDC: four. Short: three TEST
    # LINKs, three CDC messages, the extension of an ADD LINK
    "llc-length": {
        "smcr.llc.length_invalid": 12,
        "smcr.cdc.length_invalid": 4,
        "smcr.message_short": 7,
        "smcr.payload_longer": 4,
    },
}


@pytest.mark.parametrize("name", MALFORMED)
def test_expert_items_of_the_scenario(tshark, name):
    rows = tshark.fields(name, *MALFORMED[name], where="smcr", two_pass=True)
    shown = {
        item: sum(bool(row[column]) for row in rows) for column, item in enumerate(MALFORMED[name])
    }
    assert shown == MALFORMED[name]
