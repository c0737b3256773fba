"""
How packets fared, twice: the plugin's model, which a program of its own runs, against
tests/facts/rc_reader.py, packet by packet. On captures as they are, and on the same ones put out of
order. The reader itself is held against the ground truth.
"""

import collections
import functools
import json
import random
import subprocess

import pytest
import rc_reader
from bed import BUILDS, TOP

PROGRAM = BUILDS / "debug" / "tests" / "fabric" / "verdicts"
TIME_LIMIT = 60  # seconds
PAUSE_EVERY, PAUSE = 40, 100_000_000  # packets, nanoseconds: longer than a NAK takes
REMEMBERED = (
    100  # PSNs behind the highest: of these at least, the plugin remembers the first packets
)

FOLDER = TOP / "captures" / "fabric"
FABRIC = sorted(path.name.removesuffix(".pcapng.gz") for path in FOLDER.glob("*.pcapng.gz"))
REAL = ["6.1-v1-n-lossy", "6.1-v2-n-lossy", "6.1-v2-q-forty-conns", "7.2-v2-g5-device-removed"]
DISORDERED = [
    "cm-odd",
    "cm-verbs",
    "nak-errors",
    "nak-loss-after-capture",
    "nak-loss-smc",
    "nocm-psn-wrap",
    "nvme-rdma",
    "rnr-nak",
    "uc-ud",
    "6.1-v1-n-lossy",
    "6.1-v2-n-lossy",
    "7.2-v2-g5-device-removed",
]
STEADY = ["6.1-v2-q-forty-conns", "cnp-smc"]  # no loss, no RDMA READ

OPCODES = {
    "SEND_FIRST": 0,
    "SEND_MIDDLE": 1,
    "SEND_LAST": 2,
    "SEND_LAST_IMM": 3,
    "SEND_ONLY": 4,
    "SEND_ONLY_IMM": 5,
    "WRITE_FIRST": 6,
    "WRITE_MIDDLE": 7,
    "WRITE_LAST": 8,
    "WRITE_LAST_IMM": 9,
    "WRITE_ONLY": 10,
    "WRITE_ONLY_IMM": 11,
    "READ_REQ": 12,
    "READ_RESP_FIRST": 13,
    "READ_RESP_MIDDLE": 14,
    "READ_RESP_LAST": 15,
    "READ_RESP_ONLY": 16,
    "ACK": 17,
    "ATOMIC_ACK": 18,
    "CMP_SWAP": 19,
    "FETCH_ADD": 20,
    "SEND_LAST_INV": 22,
    "SEND_ONLY_INV": 23,
}


@functools.cache
def read(name):
    """([Header], {flow: its number}) of a capture."""
    if name in REAL:
        return rc_reader.headers(TOP / "captures" / "real" / f"{name}.pcapng")
    return rc_reader.headers(FOLDER / f"{name}.pcapng.gz", FOLDER / f"{name}.json")


@functools.cache
def truth(name):
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))["truth_from_bytes"]


# ---- the reader against the ground truth ----


def opcode(name):
    """The number of an opcode that the ground truth names; None of UD and CNP."""
    transport, _, kind = name.partition("_")
    return {"RC": 0, "UC": 32}[transport] + OPCODES[kind] if transport in ("RC", "UC") else None


def flows_of_truth(name):
    """{number of the flow: what the ground truth says of it}"""
    numbers = read(name)[1]
    named = {
        (rc_reader.text(source), rc_reader.text(target), qpn): number
        for (source, target, qpn), number in numbers.items()
    }
    return {
        named[each["src"], each["dst"], each["dqpn"]]: each
        for each in truth(name)["flows"]
        if any(opcode(one) is not None for one in each["opcodes"])
    }


@pytest.mark.parametrize("name", FABRIC)
def test_opcodes(name):
    found = collections.Counter((header.flow, header.opcode) for header in read(name)[0])
    assert found == {
        (flow, opcode(one)): count
        for flow, each in flows_of_truth(name).items()
        for one, count in each["opcodes"].items()
        if opcode(one) is not None
    }


@pytest.mark.parametrize("name", FABRIC)
def test_opcodes_of_each_direction(name):
    numbers = {number: flow for flow, number in read(name)[1].items()}
    found = collections.Counter()
    for header in read(name)[0]:
        source, target, _ = numbers[header.flow]
        found[f"{rc_reader.text(source)}>{rc_reader.text(target)}", header.opcode] += 1
    assert found == {
        (direction, opcode(one)): count
        for direction, counts in truth(name)["roce_opcodes"].items()
        for one, count in counts.items()
        if opcode(one) is not None
    }


@pytest.mark.parametrize("name", FABRIC)
def test_naks(name):
    found = [
        (header.frame, header.psn, header.syndrome)
        for header in read(name)[0]
        if rc_reader.is_negative(header)
    ]
    assert found == [
        (nak["frame"], nak["psn"], int(nak["syndrome"], 16)) for nak in truth(name)["naks"]
    ]
    assert len(found) == truth(name)["nak_count"]


def requests(headers):
    return [header for header in headers if rc_reader.is_request(header)]


@pytest.mark.parametrize("name", FABRIC)
def test_repeated_psns(name):
    seen, found = set(), collections.Counter()
    for header in requests(read(name)[0]):
        found[header.flow] += (header.flow, header.psn) in seen
        seen.add((header.flow, header.psn))
    assert +found == {
        flow: each["repeated_request_psns"]
        for flow, each in flows_of_truth(name).items()
        if each["repeated_request_psns"]
    }


@pytest.mark.parametrize("name", FABRIC)
def test_repeats_are_what_the_truth_counts(name):
    """Nothing was lost, doubled or put out of order before these captures: all that comes again was
    retransmitted."""
    headers = read(name)[0]
    verdicts = [
        verdict
        for header, verdict in zip(headers, rc_reader.judge(headers))
        if rc_reader.is_request(header)
    ]
    assert {verdict.verdict for verdict in verdicts} <= {"next", "repeat"}
    assert sum(verdict.absent for verdict in verdicts) == 0
    seen, found = set(), 0
    for header, verdict in zip(requests(headers), verdicts):
        again = (header.flow, header.psn) in seen
        assert (
            not again or verdict.verdict == "repeat"
        )  # a READ asked again from within has a PSN of its own
        found += again
        seen.add((header.flow, header.psn))
    assert found == sum(each["repeated_request_psns"] for each in flows_of_truth(name).values())


@pytest.mark.parametrize("name", FABRIC + REAL)
def test_every_flow_has_its_reverse(name):
    reverse = {header.flow: header.reverse for header in read(name)[0]}
    assert -1 not in reverse.values()
    assert all(reverse.get(back, flow) == flow for flow, back in reverse.items())


# ---- captures put out of order ----


def lose(headers, chance):
    return [header for header in headers if chance.random() >= 0.05]


def swap(headers, chance):
    """Every tenth packet or so changes places with its neighbour."""
    headers = list(headers)
    for position in range(len(headers) - 1):
        if chance.random() < 0.1:
            headers[position : position + 2] = headers[position + 1], headers[position]
    return headers


def double(headers, chance):
    """Every tenth packet or so comes again, up to twenty packets later."""
    places = [(position, header) for position, header in enumerate(headers)]
    places += [
        (position + chance.uniform(0.1, 20), header)
        for position, header in places
        if chance.random() < 0.1
    ]
    return [header for _, header in sorted(places, key=lambda each: each[0])]


def everything(headers, chance):
    return double(swap(lose(headers, chance), chance), chance)


def one_way(headers, _):
    """Of two flows that belong together, only the one that came first."""
    order = list(dict.fromkeys(header.flow for header in headers))
    return [
        header
        for header in headers
        if header.reverse not in order or order.index(header.flow) < order.index(header.reverse)
    ]


def other_way(headers, chance):
    kept = {header.frame for header in one_way(headers, chance)}
    return [header for header in headers if header.frame not in kept]


def no_requests(headers, _):
    """Of the flow that came first, the responses only."""
    order = list(dict.fromkeys(header.flow for header in headers))
    return [
        header for header in headers if header.flow != order[0] or not rc_reader.is_request(header)
    ]


def begins_late(headers, _):
    return headers[len(headers) // 3 :]


def no_reverse(headers, _):
    return [header._replace(reverse=-1) for header in headers]


def corrupt(headers, chance):
    """Every twentieth packet or so has a wrong ICRC, and some of these a wrong PSN."""

    def spoiled(header):
        wrong = chance.choice([0, 0, 0, 1, -1, 70, 1 << 23])
        return header._replace(corrupt=1, psn=(header.psn + wrong) % rc_reader.PSNS)

    return [spoiled(header) if chance.random() < 0.05 else header for header in headers]


def no_identification(headers, _):
    return [header._replace(ip_id=-1) for header in headers]


def one_identification(headers, _):
    return [header._replace(ip_id=0) for header in headers]


def beyond_router(headers, chance):
    """Without identifications; a router lies between two capture points, and the second one shows
    most packets a few packets later."""
    places = [
        (position, header._replace(ip_id=0, hop_limit=64))
        for position, header in enumerate(headers)
    ]
    places += [
        (position + chance.uniform(0.1, 4), header._replace(hop_limit=63))
        for position, header in places
        if chance.random() < 0.9
    ]
    return [header for _, header in sorted(places, key=lambda each: each[0])]


def mirrored(headers, chance):
    """Without identifications; nearly each packet comes twice, and some copies were held up."""
    places = [(position, header._replace(ip_id=0)) for position, header in enumerate(headers)]
    places += [
        (position + (chance.uniform(150, 400) if chance.random() < 0.05 else 0.5), header)
        for position, header in places
        if chance.random() < 0.95
    ]
    return [header for _, header in sorted(places, key=lambda each: each[0])]


def another_life(headers, _):
    """The same packets again, with PSNs that are far from these."""
    return headers + [
        header._replace(psn=(header.psn + 5000000) % rc_reader.PSNS) for header in headers
    ]


def mixed_without_identification(headers, chance):
    return no_identification(everything(headers, chance), chance)


def mixed_with_one_identification(headers, chance):
    return one_identification(everything(headers, chance), chance)


def mixed_without_reverse(headers, chance):
    return no_reverse(everything(headers, chance), chance)


def mixed_one_way(headers, chance):
    return one_way(everything(headers, chance), chance)


def mixed_corrupt(headers, chance):
    return corrupt(everything(headers, chance), chance)


def mixed_corrupt_without_identification(headers, chance):
    return no_identification(mixed_corrupt(headers, chance), chance)


def corrupt_one_way(headers, chance):
    return one_way(corrupt(headers, chance), chance)


def mixed_lives(headers, chance):
    return everything(another_life(headers, chance), chance)


ALTERATIONS = [
    lose,
    swap,
    double,
    everything,
    one_way,
    other_way,
    no_requests,
    begins_late,
    no_reverse,
    no_identification,
    one_identification,
    another_life,
    mixed_without_identification,
    mixed_with_one_identification,
    mixed_without_reverse,
    mixed_one_way,
    mixed_lives,
    beyond_router,
    mirrored,
    corrupt,
    mixed_corrupt,
    mixed_corrupt_without_identification,
    corrupt_one_way,
]


def altered(name, alteration, seed):
    """The headers of a capture, altered; the frames are numbered anew, and the times go on, with
    pauses."""
    headers = alteration(read(name)[0], random.Random(f"{name} {alteration.__name__} {seed}"))
    return [
        header._replace(frame=position, time=position * 1000 + position // PAUSE_EVERY * PAUSE)
        for position, header in enumerate(headers, 1)
    ]


# ---- the plugin's model against the reader ----


def model(headers):
    """The verdicts of the plugin's model."""
    assert PROGRAM.exists(), f"{PROGRAM.relative_to(TOP)} is not built: run tests/build"
    text = "".join(rc_reader.line(header) + "\n" for header in headers)
    result = subprocess.run(
        [PROGRAM], input=text, capture_output=True, text=True, timeout=TIME_LIMIT
    )
    assert result.returncode == 0, result.stderr
    return [verdict(row.split()) for row in result.stdout.splitlines()]


def verdict(words):
    """A line of the program: numbers but for the verdict and the cause."""
    return rc_reader.Verdict(
        *(word if place in (1, 6) else int(word) for place, word in enumerate(words))
    )


def counts(headers, verdicts):
    """What is counted of each flow."""
    found = collections.defaultdict(collections.Counter)
    for header, each in zip(headers, verdicts):
        kind = "request" if rc_reader.is_request(header) else "response"
        found[header.flow].update(
            {
                f"{kind} {each.verdict}": 1,
                "absent": each.absent,
                "taken": each.taken,
                "discarded": each.discarded > 0,
                f"cause {each.cause}": 1,
                f"steps {each.cause}": each.step == each.frame,
                "silent": each.silent,
            }
        )
    return {flow: +each for flow, each in found.items()}


def forgotten(one, other):
    """What the plugin says of a packet whose first packet it has forgotten: that, or as the
    reader."""
    if other.of or one.verdict not in ("copy", "repeat"):
        return one
    return other if (one.verdict, other.verdict) == ("copy", "repeat") else one._replace(of=0)


def remembered(headers, expected, found):
    """What the reader says, but for first packets that the plugin may have forgotten, and has."""
    return [
        forgotten(one, other) if distance > REMEMBERED else one
        for one, other, distance in zip(expected, found, rc_reader.behind_highest(headers))
    ]


def compare(headers):
    found = model(headers)
    expected = remembered(headers, rc_reader.judge(headers), found)
    assert len(found) == len(expected)
    different = [
        (
            f"{rc_reader.line(header)}\n  reader {rc_reader.line(one)}\n"
            f"  plugin {rc_reader.line(other)}"
        )
        for header, one, other in zip(headers, expected, found)
        if one != other
    ]
    assert not different, "\n".join([f"{len(different)} packets differ:", *different[:20]])
    assert counts(headers, found) == counts(headers, expected)


@pytest.mark.parametrize("name", FABRIC + REAL)
def test_capture(name):
    compare(read(name)[0])


@pytest.mark.parametrize("name", DISORDERED)
@pytest.mark.parametrize("alteration", ALTERATIONS, ids=lambda alteration: alteration.__name__)
def test_disorder(name, alteration):
    for seed in range(3):
        compare(altered(name, alteration, seed))


COPY, HELD_UP = 60_000, 400_000  # nanoseconds from a packet to its copy; some are held up
FIRST = 100  # packets after which some are
APART = 20_000  # nanoseconds between packets


def captured_twice(name, hop_limit, held_up):
    """The packets of a capture, without identifications, each a second time. Numbers of frames of
    the originals remain those of the capture, in `payload_length`."""
    every = []
    for number, header in enumerate(read(name)[0]):
        header = header._replace(ip_id=0, hop_limit=64, time=number * APART)
        late = held_up if number > FIRST and number % 10 == 0 else COPY
        every.append((header, False))
        copy = header._replace(hop_limit=hop_limit, time=header.time + late)
        every.append((copy, True))
    every.sort(key=lambda each: each[0].time)
    return [
        (header._replace(frame=place), is_copy) for place, (header, is_copy) in enumerate(every, 1)
    ]


@pytest.mark.parametrize("name", STEADY)
@pytest.mark.parametrize("hop_limit, held_up", [(64, HELD_UP), (63, HELD_UP), (63, 3_000_000)])
def test_copies_that_were_held_up(name, hop_limit, held_up):
    """A capture has each packet twice, and no identification distinguishes copies: a copy that
    comes later than the others is no retransmission. A router between both shows it at any time;
    of acknowledgements the plugin keeps the last 16."""
    made = captured_twice(name, hop_limit, held_up)
    headers = [header for header, _ in made]
    compare(headers)
    found = dict(zip((header.frame for header in headers), model(headers)))
    wrong = [
        header.frame
        for header, is_copy in made[2 * FIRST :]
        if rc_reader.is_request(header) or held_up <= HELD_UP
        if (found[header.frame].verdict == "copy") != is_copy
    ]
    assert wrong == [] and len(made) > 4 * FIRST
