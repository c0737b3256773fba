"""The stats tree of messages: every node counts what the bytes say, and what the ground truth and
the report count."""

import collections
import json

import ground_truth
import message_reader
import pytest
import printed_statistics as tables
import wire
from bed import captures

real = pytest.mark.parametrize("name", captures("real"))

# Two links, many connections, loss, a late start
SCENES = [
    "6.1-v1-h1-two-links-second-fails",
    "6.1-v2-q-forty-conns",
    "6.1-v1-n-lossy",
    "6.1-v1-c2-capture-starts-late",
]
LATE = {
    "6.1-v1-c2-capture-starts-late"
}  # begins amid connections: who sends what is told only later

DIRECTIONS = ["client to server", "server to client"]
CLC_NAMES = {1: "Proposal", 2: "Accept", 3: "Confirm", 4: "Decline"}
DECLINES = {
    0x02010000: "timeout waiting for CONFIRM LINK",
    0x03030002: "no RDMA device for SMC-R",
    0x03030000: "no SMC device",
}
REJECTIONS = {0: "not given", 1: "no alternate path available", 2: "invalid MTU value"}
DELETIONS = {
    0: "not given",
    0x10000: "lost path",
    0x20000: "operator initiated",
    0x30000: "program initiated (link group inactive)",
    0x40000: "LLC protocol violation",
    0x50000: "asymmetric link no longer needed",
    0x100000: "unknown link ID",
    0x200000: "unknown link group",
}
FLAGS = [
    (24, 0x80, "Writer blocked"),
    (24, 0x40, "Urgent data pending"),
    (24, 0x20, "Urgent data present"),
    (24, 0x10, "Cursor update requested"),
    (24, 0x08, "Failover validation"),
    (25, 0x80, "Sending done"),
    (25, 0x40, "Peer connection closed"),
    (25, 0x20, "Abnormal close"),
]
AGAIN = {"Retransmitted", "Duplicate, made by the network"}
NAK_CODES = {
    0: "PSN sequence error",
    1: "invalid request",
    2: "remote access error",
    3: "remote operational error",
}


# ---- what is expected ----


def number(data, start, length):
    return int.from_bytes(data[start : start + length], "big")


def clc_paths(message):
    kind, flags = message.data[4], message.data[7]
    node = ("CLC", CLC_NAMES[kind])
    yield (*node, "Version", f"Version {flags >> 4}")
    yield (*node, "Direction", DIRECTIONS[message.sender])
    if kind in (2, 3):
        yield (*node, "Outcome", "First contact" if flags & 8 else "Existing link group")
    if kind == 4:
        yield (*node, "Outcome", DECLINES[number(message.data, 16, 4)])


def llc_outcome(message):
    kind, flags = message_reader.llc_type(message), message.data[3]
    if not flags & 0x80:
        return "Request"
    if flags & 0x40 and kind == message_reader.ADD_LINK:
        reason = flags & 15 if message.data[0] & 0x20 else message.data[2] & 15
        return f"Response: rejected, {REJECTIONS[reason]}"
    if flags & 0x20 and kind in (6, 8, 9):
        return "Response: negative"
    return "Response"


def llc_paths(message):
    if message.again:
        yield "LLC", "Retransmitted", message_reader.llc_name(message.data[0])
        return
    node = ("LLC", message_reader.llc_name(message.data[0]))
    yield (*node, "Version", f"Version {2 if message.data[0] & 0x20 else 1}")
    yield (*node, "Direction", DIRECTIONS[message.sender])
    yield (*node, "Outcome", llc_outcome(message))
    if message_reader.llc_type(message) == message_reader.DELETE_LINK:
        yield (*node, "Reason", DELETIONS[number(message.data, 5, 4)])


def cdc_paths(message):
    if message.again:
        yield "CDC", "Retransmitted"
        return
    yield "CDC", "Message", "Direction", DIRECTIONS[message.sender]
    set_ = [name for byte, mask, name in FLAGS if message.data[byte] & mask]
    yield from (("CDC", "Message", "Flags", name) for name in set_)


PATHS = {"clc": clc_paths, "llc": llc_paths, "cdc": cdc_paths}


def write_path(packet, again):
    if again:
        return ("RDMA WRITE", "Retransmitted")
    first = packet.opcode in (wire.WRITE_FIRST, wire.WRITE_ONLY)
    sender = message_reader.host(packet.ends[0])
    return (
        "RDMA WRITE",
        f"{'First' if first else 'Further'} packet of a request",
        "Direction",
        DIRECTIONS[sender],
    )


def packet_paths(name):
    """Of packets that carry no message, and no whole one."""
    for packet in wire.roce(message_reader.path_of(name)):
        if wire.WRITE_FIRST <= packet.opcode <= wire.WRITE_ONLY:
            yield write_path(packet, packet.frame in message_reader.repeats(name))
        elif packet.opcode == wire.ACKNOWLEDGE:
            syndrome = packet.payload[0]
            yield (
                "Acknowledgement",
                *(
                    ("NAK", NAK_CODES[syndrome & 31])
                    if syndrome & 0x60 == wire.NAK
                    else ("RNR NAK",)
                    if syndrome & 0x60 == wire.RNR_NAK
                    else ("ACK",)
                ),
            )
        elif packet.opcode in (wire.SEND_FIRST, wire.SEND_MIDDLE):
            yield ("Other",)


def expected(name):
    """{path: count}: a packet counts in each node of its path once, and in "Flags" once for all of
    its flags."""
    counts = collections.Counter()
    for paths in [
        *(list(PATHS[message.kind](message)) for message in message_reader.said(name)),
        *([path] for path in packet_paths(name)),
    ]:
        counts.update(
            {("All", *path[:length]) for path in paths for length in range(len(path) + 1)}
        )
    return counts


def merged(counts):
    """With copies under "Retransmitted": who made them is told by the identification of IP, not by
    PSNs."""
    result = collections.Counter()
    for path, count in counts.items():
        result[tuple("Retransmitted" if part in AGAIN else part for part in path)] += count
    return result


# ---- tests ----


@pytest.mark.parametrize("name", sorted(set(captures("real")) - LATE))
def test_every_node_is_what_the_bytes_say(tshark, name):
    assert merged(tables.tree(tshark, name)) == expected(name)


def total(counts, *path):
    return counts.get(("All", *path), 0)


def types(counts, protocol):
    """{type: messages, with those that were retransmitted}"""
    found = collections.Counter()
    for path, count in counts.items():
        if len(path) == 3 and path[1] == protocol and path[2] not in AGAIN:
            found[path[2]] += count
        if len(path) == 4 and path[1] == protocol and path[2] in AGAIN:
            found[path[3]] += count
    return found


@real
def test_classes_are_what_the_ground_truth_counts(tshark, name):
    counts = tables.tree(tshark, name)
    truth = collections.Counter()
    for (kind, *about), count in ground_truth.message_counts(name).items():
        truth[kind] += count
        if kind == "CLC":
            truth["CLC", CLC_NAMES[about[0]]] += count
        if kind == "LLC":
            truth["LLC", message_reader.llc_name(about[0])] += count
    found = {
        "CLC": total(counts, "CLC"),
        "LLC": total(counts, "LLC"),
        "CDC": total(counts, "CDC"),
        "WRITE": total(counts, "RDMA WRITE"),
        **{
            (protocol, name): count
            for protocol in ("CLC", "LLC")
            for name, count in types(counts, protocol).items()
        },
    }
    assert {key: count for key, count in found.items() if count} == dict(truth)


def report(tshark, name):
    return json.loads(tshark.show(name, "-2", "-q", "-z", "smcr,json"))


@real
def test_report_counts_the_same(tshark, name):
    counts, entries = tables.tree(tshark, name), report(tshark, name)
    ways = [
        each[way]
        for each in entries["connections"]
        for way in ("client_to_server", "server_to_client")
    ]
    flows = [each for each in entries["rdma_flows"] if each["kind"] == "smc-r"]
    assert total(counts, "CDC", "Message") == sum(way["cdc"] or 0 for way in ways)
    assert total(counts, "Acknowledgement", "NAK") == sum(
        sum(each["nak"].values()) for each in flows
    )
    assert total(counts, "Acknowledgement", "RNR NAK") == sum(each["rnr_nak"] for each in flows)
    if name not in LATE:
        assert total(counts, "RDMA WRITE", "First packet of a request") == sum(
            way["writes"] or 0 for way in ways
        )


@pytest.mark.parametrize("name", captures("synthetic", "malformed"))
def test_nodes_add_up(tshark, name):
    """A class is the sum of its nodes, whatever comes; an aspect is the sum of its values."""
    counts = tables.tree(tshark, name)
    below = collections.Counter()
    for path, count in counts.items():
        below[path[:-1]] += count
    for path, count in counts.items():
        if below[path] and (
            len(path) < 3 or path[-1] in ("Direction", "Version", "Outcome", "Reason", "NAK")
        ):
            assert below[path] == count, path


@pytest.mark.parametrize("name", SCENES)
def test_sharkd_agrees(tshark, name):
    _, counts = tables.by_sharkd(tshark, tshark.bed.capture(name))
    assert counts == tables.tree(tshark, name)


@pytest.mark.parametrize("name", [name for name in SCENES if name not in LATE])
def test_one_pass_counts_the_same(tshark, name):
    assert tables.tree(tshark, name, options=()) == tables.tree(tshark, name)


@pytest.mark.parametrize("name", SCENES)
def test_filter_limits(tshark, name):
    every = tables.tree(tshark, name)
    some = tables.tree(tshark, name, "smcr.llc")
    assert some == {path: count for path, count in every.items() if path[1:2] == ("LLC",)} | {
        ("All",): every["All", "LLC"]
    }
