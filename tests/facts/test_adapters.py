"""
Portraits of adapters, and packets that are sprayed over several paths: the report says what a
reader of the bytes finds, and what the made adapters do: which limit their CNPs have, and how long
it is.
"""

import itertools
import random

import adapter_reader
import class_reader
import pytest
from report_runs import TWO, parse, print_json
from report_schema import problems
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.utils import wrpcap
from test_classes import ACK, CNP, WRITE, ether, roce

ROCE = ("-o", "smcr.roce:TRUE")
RECEIVER, SENDERS = "192.0.2.2", ("192.0.2.1", "198.51.100.1")
ECT, MARKED = 26 << 2 | 2, 26 << 2 | 3


def written(scratch, name, events):
    """Frames of [(nanoseconds, packet)]."""
    path = scratch / f"{name}.pcap"
    events = sorted(events, key=lambda event: event[0])
    for time, packet in events:
        packet.time = 1_000_000 + time / 1e9  # a float knows this to a nanosecond
    wrpcap(str(path), [packet for _, packet in events], nano=True)
    return path


def report_of(tshark, path):
    return parse(print_json(tshark, tshark.bed.capture(path), TWO, options=ROCE))


def nanoseconds(seconds):
    return None if seconds is None else round(seconds * 1e9)


# ---- limits of CNPs ----

LIMIT, PROMPT, BURSTS, GAP = 50_000, 1_500, 6, 25_000_000
SCOPE_KEYS = {
    "flow": lambda flow: flow,
    "pair": lambda flow: flow[0],
    "address": lambda flow: None,
    None: lambda flow: object(),
}


class Adapter:
    """Receives marked packets. `waits`: it sends a CNP when its limit ends, for marks that came
    meanwhile (DCQCN); else only when a marked packet comes after that."""

    def __init__(self, scope, waits):
        self.key, self.waits, self.last, self.due = SCOPE_KEYS[scope], waits, {}, {}

    def take(self, now, flow):
        """Takes a marked packet of the flow (sender, number). Returns [(time of a CNP, flow)]."""
        key = self.key(flow)
        last = self.last.get(key)
        if last is None or now >= last + LIMIT:
            self.last[key] = now
            return [(now + PROMPT, flow)]
        if self.waits and self.due.get(key, 0) <= now:
            self.due[key] = self.last[key] = last + LIMIT
            return [(last + LIMIT + PROMPT, flow)]
        return []


def congested(seed, scope, waits, flows):
    """Bursts of marked data to one adapter. `flows`: [(sender, number)]"""
    dice, adapter, events = random.Random(seed), Adapter(scope, waits), []
    psns = {flow: dice.randrange(1 << 20) for flow in flows}
    arrivals = []
    for burst, flow in itertools.product(range(BURSTS), flows):
        time = burst * GAP + dice.randrange(3_000)
        for _ in range(40):
            time += dice.randrange(4_000, 12_000)
            arrivals.append((time, flow, burst and dice.random() < 0.7))
    for time, (sender, number), is_marked in sorted(arrivals):
        psn = psns[sender, number] = psns[sender, number] + 1
        sport = 50000 + number
        of_data = {"traffic_class": MARKED if is_marked else ECT, "sport": sport}
        events.append(
            (time, ether() / roce(sender, RECEIVER, 0x200 + number, WRITE, psn, **of_data))
        )
        if psn % 4 == 0:
            back = (RECEIVER, sender, 0x100 + number)
            events.append((time + 900, ether() / roce(*back, ACK, psn, sport=sport)))
        for when, (to, of) in adapter.take(time, (sender, number)) if is_marked else ():
            cnp = roce(RECEIVER, to, 0x100 + of, CNP, 0, traffic_class=48 << 2, sport=50000 + of)
            events.append((when, ether() / cnp))
    return events


ALL_FLOWS = [(SENDERS[number % 2], number) for number in range(4)]


def opposite_of(report):
    """{flow with data: flow with its CNPs} by peers."""
    flows = report["rdma_flows"]
    key = lambda flow: (  # noqa: E731
        *(flow["src"], flow["dst"], flow["dst_qpn"], class_reader.name_of(flow["network"])),
    )
    return {key(flow): key(flows[flow["peer"]]) for flow in flows if flow["peer"] is not None}


def limit_of(adapter):
    """(scope, least, most)"""
    limit = adapter["cnp_limit"] or dict.fromkeys(("scope", "least_s", "most_s"))
    return limit["scope"], nanoseconds(limit["least_s"]), nanoseconds(limit["most_s"])


def expect_limits(report, path):
    """Withheld CNPs and limits are those of the bytes."""
    opposite = opposite_of(report)
    expected = adapter_reader.withheld(path, opposite)
    for flow in report["rdma_flows"]:
        network = class_reader.name_of(flow["network"])
        rows = expected.get((flow["src"], flow["dst"], flow["dst_qpn"], network))
        found = flow["withheld"] and {
            scope: (flow["withheld"][name]["count"], nanoseconds(flow["withheld"][name]["max"]))
            for scope, name in adapter_reader.SCOPES.items()
        }
        assert found == (rows and {scope: (len(each), max(each)) for scope, each in rows.items()})
    found = {
        (each["addr"], class_reader.name_of(each["network"])): limit_of(each)
        for each in report["adapters"]
        if each["cnp"]
    }
    assert found == adapter_reader.limits(path, opposite)


@pytest.mark.parametrize("waits", [False, True], ids=["at marks", "at the end"])
@pytest.mark.parametrize("scope", ["flow", "pair", "address"])
def test_the_limit_of_cnps(tshark, scratch, scope, waits):
    """Its scope is found, and its length lies between the bounds."""
    path = written(scratch, f"{scope}-{waits}", congested(7, scope, waits, ALL_FLOWS))
    report = report_of(tshark, path)
    expect_limits(report, path)
    [adapter] = [each for each in report["adapters"] if each["addr"] == RECEIVER]
    found, least, most = limit_of(adapter)
    assert found == scope
    assert 0.6 * LIMIT < least < LIMIT <= most < 1.3 * LIMIT
    assert adapter["ce_to_cnp_s"]["min"] == pytest.approx(PROMPT / 1e9)
    assert problems(report) == []


@pytest.mark.parametrize(
    "name, scope, flows, bounds",
    [
        ("one-flow", "flow", ALL_FLOWS[:1], True),
        ("one-flow-of-an-address", "address", ALL_FLOWS[:1], True),
        ("one-host", "pair", ALL_FLOWS[::2], True),
        ("no-limit", None, ALL_FLOWS, False),
    ],
)
def test_what_does_not_show_the_scope(tshark, scratch, name, scope, flows, bounds):
    """With one flow all limits look alike; with one host those of pair and address; without a
    limit there is none."""
    path = written(scratch, name, congested(3, scope, False, flows))
    report = report_of(tshark, path)
    expect_limits(report, path)
    [adapter] = [each for each in report["adapters"] if each["addr"] == RECEIVER]
    found, least, most = limit_of(adapter)
    assert found is None and (least is not None) == bounds
    assert not bounds or least < LIMIT <= most


def cnps_of(report):
    """CNPs without duplicates, and those of them that may be duplicates."""
    flows = report["rdma_flows"]
    return (
        sum(each["cnp"] - each["cnp_copies"] for each in flows),
        sum(each["cnp_undecided"] for each in flows),
    )


def of_one_direction(events):
    """What the receiver of the data sends."""
    return [event for event in events if event[1][IP].src == RECEIVER]


def test_equal_cnps_that_are_captured_twice(tshark, scratch):
    """The CNPs of a flow have equal bytes: IP identification 0. In a capture that has each packet
    twice their number is right; if the data are not captured, it lies between the bounds."""
    for scope, after in (("flow", 2_000), ("flow", 60_000), (None, 2_000)):
        once = congested(7, scope, True, ALL_FLOWS)
        twice = once + [(time + after, packet.copy()) for time, packet in once]
        sent = sum(packet[UDP].payload.load[0] == CNP for _, packet in once)
        report = report_of(tshark, written(scratch, f"twice-{scope}-{after}", twice))
        assert cnps_of(report) == (sent, 0)
        assert sum(each["cnp"] for each in report["rdma_flows"]) == 2 * sent
        [adapter] = [each for each in report["adapters"] if each["addr"] == RECEIVER]
        assert adapter["cnp"] == sent
        path = written(scratch, f"alone-{scope}-{after}", of_one_direction(twice))
        report = report_of(tshark, path)
        most, undecided = cnps_of(report)
        assert most - undecided <= sent <= most and undecided
        [text] = [each["text"] for each in report["findings"] if each["kind"] == "congestion"]
        assert f" {most - undecided:,} to {most:,} CNPs " in text


# ---- spraying ----


def sprayed(seed, ports, jitter, count=300, lost=()):
    """Data from several ports in turn, on paths of different lengths. `lost`: numbers of packets
    that never come."""
    dice, arrivals, events = random.Random(seed), [], []
    for number in range(count):
        time = number * 5_000 + dice.randrange(jitter)
        arrivals.append((time, number, 49152 + dice.choice(range(ports))))
    arrived, expected = set(), 0
    for time, number, sport in sorted(arrivals):
        if number in lost:
            continue
        data = roce(SENDERS[0], RECEIVER, 0x202, WRITE, 100 + number, sport=sport)
        events.append((time, ether() / data))
        arrived.add(number)
        while expected in arrived:
            expected += 1
        if number % 8 == 0 and expected:
            back = roce(RECEIVER, SENDERS[0], 0x101, ACK, 99 + expected, sport=49152)
            events.append((time + 900, ether() / back))
    return events


def out_of_order(path):
    """(packets after a later PSN, how far below the highest, how long after the packet after their
    gap) of the data, in nanoseconds."""
    highest, gaps, depth, late = None, {}, [], []
    for each in class_reader.packets(path):
        if each.opcode != WRITE:
            continue
        psn = psn_of(path, each.frame)
        if highest is not None and psn < highest:
            depth.append(highest - psn)
            late.append(each.time - gaps[psn])
            continue
        for missing in range((highest if highest is not None else psn - 1) + 1, psn):
            gaps[missing] = each.time
        highest = psn
    return len(depth), max(depth, default=None), max(late, default=None)


def psn_of(path, number, kept={}):  # noqa: B006
    if path not in kept:
        kept[path] = [bytes(each.data) for each in class_reader.frames(path)]
    return int.from_bytes(bytes(Ether(kept[path][number - 1])[UDP].payload)[9:12], "big")


def changes(path):
    ports = [each.sport for each in class_reader.packets(path) if each.opcode == WRITE]
    return sum(one != other for one, other in zip(ports, ports[1:]))


def shown_out_of_order(tshark, path):
    """[first frame, number of frames] that the filter of the finding finds."""
    found = tshark.show(
        path, *("-2", *ROCE, "-Y", "smcr.out_of_order", "-T", "fields", "-e", "frame.number")
    ).split()
    return [int(found[0]), len(found)]


SPRAYED = {
    # ports, jitter: kinds of findings, part of a sentence
    "several-paths": ((8, 20_000), {"reordered"}, "from 8 UDP source ports in turn"),
    "adaptive-routing": ((1, 20_000), {"reordered"}, "none was retransmitted"),
    "in-order": ((8, 1), {"sprayed"}, "packets from 8 UDP source ports in turn"),
    "one-path": ((1, 1), set(), ""),
    "many-ports": ((90, 20_000), {"reordered"}, "from ≥64 UDP source ports in turn"),
}


@pytest.mark.parametrize("name", SPRAYED)
def test_spraying(tshark, scratch, name):
    shape, kinds, part = SPRAYED[name]
    path = written(scratch, name, sprayed(5, *shape))
    report = report_of(tshark, path)
    flow = next(each for each in report["rdma_flows"] if each["dst"] == RECEIVER)
    count, depth, late = out_of_order(path)
    recovery = flow["recovery"] or {"reordered": 0, "unfilled": 0}
    assert (recovery["reordered"], recovery["unfilled"]) == (count, 0)
    if count:
        assert recovery["reorder_depth"]["max"] == depth
        assert nanoseconds(recovery["late_s"]["max"]) == late
    assert flow["port_changes"] == changes(path)
    assert {each["kind"] for each in report["findings"]} == kinds
    assert part in "".join(each["text"] for each in report["findings"])
    assert not count or shown_out_of_order(tshark, path) == [
        flow["reordered_frame"],
        count,
    ]
    assert all("all arrived" in each["text"] for each in report["findings"] if count)


def test_lost_packets_are_no_disorder(tshark, scratch):
    """A packet that never comes is not explained by several paths."""
    path = written(scratch, "lost", sprayed(5, 8, 20_000, lost=(150, 151)))
    report = report_of(tshark, path)
    flow = next(each for each in report["rdma_flows"] if each["dst"] == RECEIVER)
    assert flow["recovery"]["unfilled"] == 2
    assert "reordered" not in {each["kind"] for each in report["findings"]}
    assert report["findings"]


def test_a_port_that_changes_once_is_no_spraying(tshark, scratch):
    """A queue pair that is set up anew, or whose path is chosen anew."""
    events = sprayed(5, 1, 1)
    for _, packet in events[len(events) // 2 :]:
        packet[UDP].sport = 49999
    path = written(scratch, "changed", events)
    report = report_of(tshark, path)
    assert "sprayed" not in {each["kind"] for each in report["findings"]}
