"""
Recovery from loss and disorder: the report says of each flow what a reader of the bytes finds, in
all captures of RoCE, and in captures made at random, in which the network loses, delays and
reorders packets between a sender that goes back and one that repeats selectively.
"""

import collections
import random
import sys

import adapter_reader
import histograms
import pytest
import rc_reader
import recovery_reader
from bed import STORIES, TOP
from report_flows import key_of
from report_runs import ALL_TWO, parse, print_json
from test_fabric import FABRIC, REAL, read

sys.path.insert(0, str(TOP / "tests" / "synth"))
from smcsynth import roce  # noqa: E402
from smcsynth.capture import Capture  # noqa: E402
from smcsynth.story import CLIENT_V2, SERVER_V2  # noqa: E402

STORY = TOP / "captures" / STORIES / "selective-repeat-near-receiver.pcap.gz"
SEEDS = range(18)
# by whether it is the first packet, and the last
READ_RESPONSE = {(True, False): 13, (False, False): 14, (False, True): 15, (True, True): 16}
CLIENT_QP, SERVER_QP, PSN_MOST = 0x101, 0x202, 0xFFFFFF


def report_of(tshark, path):
    return parse(print_json(tshark, tshark.bed.capture(path), ALL_TWO))


def found_of(report):
    """{(source, destination, queue pair): its recovery}. No capture here has two flows of one
    key."""
    found = {key_of(flow): flow["recovery"] for flow in report["rdma_flows"]}
    assert len(found) == len(report["rdma_flows"])
    return found


def expected_of(headers, numbers):
    """The same of the bytes; None of flows without requests of RC."""
    flows = recovery_reader.flows_of(headers)
    return {
        (rc_reader.text(source), rc_reader.text(target), qpn): (
            recovery_reader.recovery_of(flows[number]) if number in flows else None
        )
        for (source, target, qpn), number in numbers.items()
    }


def distribution(samples):
    seconds = [each / 1e9 for each in samples]
    return {
        "count": len(seconds),
        "sum": pytest.approx(sum(seconds)),
        "min": min(seconds, default=None),
        "max": max(seconds, default=None),
        "histogram": histograms.of(seconds),
    }


def as_told(recovery):
    """What the reader finds, in the members of the report."""
    if recovery is None:
        return None
    depth = recovery["depth"]
    return {
        **{name: recovery[name] for name in recovery_reader.COUNTS},
        **{name: distribution(recovery[name]) for name in recovery_reader.TIMES},
        "ack_timeout": recovery_reader.ack_timeout(recovery["retry_s"]),
        "reorder_depth": (len(depth), sum(depth), max(depth, default=None)),
    }


def in_short(recovery):
    """The same of the report."""
    if recovery is None:
        return None
    depth = recovery["reorder_depth"]
    times = {
        name: {key: each for key, each in recovery[name].items() if key != "sum_of_squares"}
        for name in recovery_reader.TIMES
    }
    return {
        **recovery,
        **times,
        "reorder_depth": (depth["count"], depth["sum"], depth["max"]),
    }


def differences(report, headers, numbers):
    found, expected = found_of(report), expected_of(headers, numbers)
    return {
        key: (in_short(found[key]), as_told(expected[key]))
        for key in found
        if in_short(found[key]) != as_told(expected.get(key))
    }


def wrong_adapters(report, headers, numbers):
    """Adapters whose NAK delay, reaction, timer and way of recovery are not those of the bytes."""
    expected = expected_of(headers, numbers)
    times = ("gap_to_nak_s", *adapter_reader.SENDER)
    found = {
        each["addr"]: {
            name: each[name] for name in ("ack_timeout", "go_back_n", "selective", "recovery")
        }
        | {
            name: {key: value for key, value in each[name].items() if key != "sum_of_squares"}
            for name in times
        }
        for each in report["adapters"]
        if any(each[name]["count"] for name in times)
    }
    told = {
        address: {name: distribution(each[name]) if name in times else each[name] for name in each}
        for address, each in adapter_reader.recovered(expected).items()
    }
    return {
        address: (found.get(address), told.get(address))
        for address in found.keys() | told.keys()
        if found.get(address) != told.get(address)
    }


@pytest.mark.parametrize("name", [*FABRIC, *REAL])
def test_recovery_is_that_of_the_bytes(tshark, name):
    folder, suffix = ("real", ".pcapng") if name in REAL else ("fabric", ".pcapng.gz")
    path = TOP / "captures" / folder / f"{name}{suffix}"
    report = report_of(tshark, path)
    assert differences(report, *read(name)) == {}
    assert wrong_adapters(report, *read(name)) == {}


# ---- at random ----


class Pair:
    """Two queue pairs, and a capture of what passes. The receiver answers; the network has faults.
    Without a NAK the sender waits for its timer."""

    def __init__(self, dice, selective):
        self.dice, self.selective, self.capture = dice, selective, Capture()
        self.psn, self.acked = PSN_MOST - dice.randrange(40), None
        self.sport = rc_reader.udp_source_port(CLIENT_QP, SERVER_QP)

    def add(self, source, target, ib):
        self.capture.add(roce.rocev2_frame(source, target, ib, sport=self.sport))
        self.capture.now += self.dice.randrange(150, 400)

    def request(self, psn):
        header = roce.bth(roce.WRITE_ONLY, dest_qp=SERVER_QP, psn=psn, ack_request=True)
        self.add(CLIENT_V2, SERVER_V2, header + roce.reth(0x10000, 0x1234, 8) + b"8 bytes.")

    def answer(self, psn, syndrome=0x1F):
        header = roce.bth(roce.ACKNOWLEDGE, dest_qp=CLIENT_QP, psn=psn)
        self.add(SERVER_V2, CLIENT_V2, header + roce.aeth(syndrome, 1))

    def next(self, count=1):
        self.psn = (self.psn + count) % rc_reader.PSNS
        return self.psn

    def in_order(self):
        for _ in range(self.dice.randrange(1, 5)):
            self.request(self.next())
        self.answer(self.psn)

    def lost(self, upstream):
        """A packet is lost, others follow, and a NAK names it."""
        first, after = self.next(), self.dice.randrange(1, 4)
        if not upstream:
            self.request(first)
        for _ in range(after):
            self.request(self.next())
        self.answer(first, rc_reader.SEQUENCE_ERROR)
        if self.dice.random() < 0.3:
            self.answer(first, rc_reader.SEQUENCE_ERROR)
        for each in range(1 if self.selective else after + 1):
            self.request((first + each) % rc_reader.PSNS)

    def disorder(self):
        """A packet comes late; sometimes a NAK has asked for it, and it comes twice."""
        first = self.next()
        for _ in range(self.dice.randrange(1, 4)):
            self.request(self.next())
        asks = self.dice.random() < 0.5
        if asks:
            self.answer(first, rc_reader.SEQUENCE_ERROR)
        self.request(first)
        if asks:
            for each in range(rc_reader.distance(self.psn, first) + 1):
                self.request((first + each) % rc_reader.PSNS)

    def timeouts(self):
        """Some tries of two packets, and perhaps an answer."""
        first, second = self.next(), self.next()
        for at in range(self.dice.randrange(2, 5)):
            self.capture.now += at and self.dice.randrange(67_200, 90_000)
            self.request(first)
            self.request(second)
        self.request(self.next())

    def delayed(self):
        """Two packets arrive, but the answers come after the timer, and once more for the second
        transmission."""
        first, second = self.next(), self.next()
        self.request(first)
        self.request(second)
        self.capture.now += self.dice.randrange(67_200, 90_000)
        self.request(first)
        self.request(second)
        for psn in (first, second, second, second):
            self.answer(psn)

    def ask(self, first, last):
        """A READ of the responses from `first` to `last`, of 1024 bytes each."""
        header = roce.bth(roce.READ_REQUEST, dest_qp=SERVER_QP, psn=first % rc_reader.PSNS)
        length = (last - first + 1) * 1024
        self.add(CLIENT_V2, SERVER_V2, header + roce.reth(0x10000, 0x1234, length))

    def respond(self, psns, first, last):
        for psn in psns:
            opcode = READ_RESPONSE[psn == first, psn == last]
            header = roce.bth(opcode, dest_qp=CLIENT_QP, psn=psn % rc_reader.PSNS)
            has_aeth = first == psn or psn == last
            aeth = roce.aeth(0x1F, 1) if has_aeth else b""
            self.add(SERVER_V2, CLIENT_V2, header + aeth + bytes(1024))

    def reads(self):
        """A response is lost, upstream or downstream, alone or with all after it. The requester
        asks for it at once or after its timer, and once more if it is lost again."""
        first, size = self.next(), self.dice.randrange(2, 6)
        last, lost = first + size - 1, first + self.dice.randrange(size - 1)
        self.next(size - 1)
        is_captured, is_alone = self.dice.random() < 0.5, self.dice.random() < 0.6
        self.ask(first, last)
        for _ in range(self.dice.randrange(1, 3)):
            sent = range(first, last + 1 if is_alone else lost + 1)
            self.respond([each for each in sent if is_captured or each != lost], first, last)
            if not is_alone or self.dice.random() < 0.3:
                self.capture.now += self.dice.randrange(67_200, 90_000)
            elif self.dice.random() < 0.2:
                self.capture.now += self.dice.randrange(2_000, 60_000)
            first = lost
            self.ask(first, last)
        self.respond(range(first, last + 1), first, last)

    def not_captured(self):
        self.next()
        self.in_order()


def random_capture(seed):
    dice = random.Random(seed)
    pair = Pair(dice, selective=seed % 2)
    faults = [pair.disorder, lambda: pair.lost(True), lambda: pair.lost(False)]
    faults += [pair.timeouts, pair.delayed, pair.not_captured] if seed % 3 == 0 else []
    faults += [pair.reads] if seed % 3 == 1 else []
    for _ in range(dice.randrange(8, 25)):
        pair.in_order()
        dice.choice(faults)()
        if dice.random() < 0.8:
            pair.answer(pair.psn)
    pair.in_order()
    return pair.capture


def test_random_recovery(tshark):
    """As a reader of the bytes finds it; and the captures have everything that it can find."""
    wrong, total = {}, collections.Counter()
    for seed in SEEDS:
        path = tshark.bed.scratch / f"recovery-{seed}.pcap"
        path.write_bytes(random_capture(seed).pcap())
        headers, numbers = rc_reader.headers(path)
        report = report_of(tshark, path)
        wrong |= {(seed, *key): each for key, each in differences(report, headers, numbers).items()}
        wrong |= wrong_adapters(report, headers, numbers)
        for each in filter(None, expected_of(headers, numbers).values()):
            total.update({name: each[name] for name in recovery_reader.COUNTS})
            total.update({name: len(each[name]) for name in recovery_reader.TIMES})
    assert wrong == {}
    assert {
        name for name in (*recovery_reader.COUNTS, *recovery_reader.TIMES) if total[name] < 3
    } <= {"needless"}


# ---- retries ----

# Milliseconds between the tries of a request, and after the last one to the end; whether
# RNR NAKs answer them; whether one more try follows; whether the sender has used up its retries.
RETRIES = [
    ([70, 70, 70, 70], 100, False, False, True),
    ([70, 70, 70, 70], 80, False, False, False),
    ([70, 70, 70, 70], 100, False, True, False),
    ([70], 400, False, False, False),
    ([70, 140, 280], 500, False, False, False),
    ([70, 140, 280], 800, False, False, True),
    ([3, 3, 3, 3, 3, 3, 3], 10, True, False, True),
    ([3, 3, 3, 3, 3, 3, 3], 10, True, True, False),
]


def scene_of_retries(intervals, tail, is_rnr, goes_on):
    pair = Pair(random.Random(1), selective=False)
    pair.in_order()
    pair.request(pair.next())
    for each in [*intervals, tail]:
        before = pair.capture.now
        if is_rnr:
            pair.answer(pair.psn, rc_reader.RNR_NAK | 14)
        pair.capture.now = before + each * 1000 - 400
        if each is not tail or goes_on:
            pair.request(pair.psn)
    pair.sport += 1  # else the port would be of three flows, and prove no source
    other = roce.bth(roce.WRITE_ONLY, dest_qp=SERVER_QP + 1, psn=1)
    pair.add(CLIENT_V2, SERVER_V2, other + roce.reth(0x10000, 0x1234, 8) + b"8 bytes.")
    return pair.capture


def test_retries(tshark):
    found = []
    for number, (*scene, _) in enumerate(RETRIES):
        path = tshark.bed.scratch / f"retries-{number}.pcap"
        path.write_bytes(scene_of_retries(*scene).pcap())
        report = report_of(tshark, path)
        kinds = {each["kind"] for each in report["findings"]}
        stuck = [each["stuck"] for each in report["rdma_flows"] if each["stuck"]]
        found.append("retries_used_up" in kinds)
        assert [each["has_ended"] for each in stuck] in ([], [found[-1]])
        if scene[2]:
            assert stuck[0]["rnr_naks"] == len(scene[0]) + 1
        assert [each["tries"] for each in stuck] in ([], [len(scene[0]) + 1 + scene[3]])
    assert found == [each[-1] for each in RETRIES]
