"""
Two capture points that are made of one capture: the second one is shifted, drifts, lies one router
further, and both miss packets. What the plugin says of each packet is held against what was done to
it; bounds of offset, drift and delay contain what is true.
"""

import json
import random

import pytest
from bed import ALL, TOP
from points_reader import Packet, cut, offers, one_hop_further, read, roce, tcp, translated, write

CAPTURES = (
    "6.1-v1-j-http11",
    "6.1-v2-d-bulk-slow-reader",
    "6.1-v1-n-lossy",
    "6.1-v2-c-three-conns",
    "6.1-v2-n-lossy",
    "6.1-v2-q-forty-conns",
    "6.1-v2-h1-two-links-second-fails",
    "nak-loss-smc",
    "nvme-rdma",
    "nocm-perftest",
)
LOST, LOST_AFTER, UNANSWERED, NOT_CAPTURED, REORDERED = 1, 2, 3, 4, 5
MARKED, DSCP, DELAYED, UNDECIDED = 6, 7, 8, 9
DELAY, JITTER, HELD = 40_000, 20_000, 4_000_000  # nanoseconds
OFFSET, PPM = 2_500_000, 100


def clock(time, begin):
    """The second point's clock: ahead of the first one's by OFFSET, and 100 ppm faster."""
    return time + OFFSET + (time - begin) * PPM // 1_000_000


def key(data):
    """What is the same at both points, for a packet that is there once."""
    return roce(data)


class Pair:
    """Both points, and what was done to each packet: {key: what}."""

    def __init__(self, packets, seed, thin=0.02, held=0.01):
        chance = random.Random(seed)
        self.packets, self.done = [], {}
        begin = packets[0].time
        seen = [key(each.data) for each in packets]
        self.again = (
            {each for each in seen if each and seen.count(each) > 1} if len(seen) < 3000 else set()
        )
        for packet in packets:
            headers = key(packet.data)
            forward = not headers or headers.source < headers.target
            late = DELAY + chance.randrange(JITTER)
            what = chance.random()
            unique = headers and headers not in self.again
            if unique and what < held:
                self.done[headers] = "held"
                late += HELD
            times = (packet.time, packet.time + late)
            at = times if forward else times[::-1]
            data = (packet.data, one_hop_further(packet.data) if headers else packet.data)
            data = data if forward else data[::-1]
            missing = None
            if unique and held <= what < held + 2 * thin:
                missing = int(what < held + thin)
                self.done[headers] = "first" if missing == (not forward) else "second"
            for point in (0, 1):
                if point != missing:
                    time = clock(at[1], begin) if point else at[0]
                    self.packets.append(Packet(time, point, data[point], packet.length))
        self.at_rim = {key(each.data) for each in (*packets[:4], *packets[-4:])}


def may_be_lost(headers, packets):
    """Whether what follows looks as if the packet was lost: its PSN is sent once more, or it is an
    acknowledgement."""
    psns = [each for each in packets if each and each[:3] == headers[:3]]
    return sum(each.psn == headers.psn for each in psns) > 1


@pytest.fixture
def pair(scratch):
    def make(packets, seed, **changes):
        made = Pair(packets, seed, **changes)
        made.path = write(scratch / f"pair-{seed}.pcapng", made.packets, ["one", "two"])
        return made

    return make


def verdicts(tshark, path):
    """{frame: verdict}"""
    printed = tshark.run(
        *("-2", "-r", path, "-o", "smcr.roce:TRUE", "-Y", "smcr.point.verdict"),
        *("-T", "fields", "-e", "frame.number", "-e", "smcr.point.verdict"),
    )
    return {int(a): int(b) for a, b in map(str.split, printed.splitlines())}


def points(tshark, path):
    printed = tshark.run("-2", "-q", "-r", path, "-o", "smcr.roce:TRUE", "-z", "smcr,json")
    return json.loads(printed)["points"]


def is_right(what, verdict, lost):
    if what in ("first", "second"):
        allowed = {NOT_CAPTURED, UNDECIDED} | ({LOST, LOST_AFTER, UNANSWERED} if lost else set())
        return verdict in allowed
    if what == "held":
        return verdict in (REORDERED, DELAYED, LOST_AFTER, UNANSWERED, None)
    return verdict in (LOST_AFTER, UNANSWERED, REORDERED, DELAYED, None)


@pytest.mark.parametrize("name", CAPTURES if ALL else CAPTURES[:4])
def test_made_points(tshark, pair, name):
    packets = read(next((TOP / "captures").glob(f"*/{name}.pcapng*")))
    made = pair(packets, len(packets))
    told = verdicts(tshark, made.path)
    in_order = sorted(made.packets, key=lambda packet: packet.time)
    headers = [key(each.data) for each in in_order]
    found = {}
    for frame, verdict in told.items():
        found[headers[frame - 1]] = verdict
    everything = [key(each.data) for each in packets]
    wrong = [
        (made.done.get(each), found.get(each), each)
        for each in set(everything)
        if each
        and each not in made.again | made.at_rim
        and not is_right(made.done.get(each), found.get(each), may_be_lost(each, everything))
    ]
    assert wrong == []
    undecided = sum(verdict == UNDECIDED for verdict in told.values())
    assert undecided <= 0.01 * len(packets) + 1, (undecided, len(packets))


@pytest.mark.parametrize("name", CAPTURES if ALL else CAPTURES[:4])
def test_bounds_contain_the_truth(tshark, pair, name):
    packets = read(next((TOP / "captures").glob(f"*/{name}.pcapng*")))
    made = pair(packets, len(packets), thin=0, held=0)
    ways = points(tshark, made.path)
    assert ways
    for way in ways:
        assert way["packets"] == way["at_both"] and way["clocks_agree"]
        sign = 1 if way["from"] == "one" else -1
        drift = sorted((way["clock"]["drift_least_ppm"], way["clock"]["drift_most_ppm"]))
        assert drift[0] <= sign * PPM <= drift[1] + 0.02
        error = way["delay"]["error_s"]
        for member in ("min_s", "median_s", "p99_s"):
            wrong = abs(way["delay"][member] - (DELAY + JITTER / 2) / 1e9)
            assert wrong <= error + JITTER / 2e9 + 1e-6
        least, most = way["clock"]["offset_least_s"], way["clock"]["offset_most_s"]
        assert least <= most
        assert least <= sign * OFFSET / 1e9 + 1e-3 and most >= sign * OFFSET / 1e9 - 1e-3


# ---- copies of TCP ----

PIECE = 97  # bytes of data in the pieces that an adapter makes
TRANSLATED = ("6.1-v2-c-three-conns", "6.1-v1-j-http11", "6.1-v1-f3-plain-tcp-server")
CUT = ("http11-tcp", "tls12-tcp", "6.1-v1-f3-plain-tcp-server")
PARTS = (
    "connections",
    "link_groups",
    "fallbacks",
    "breaches",
    "findings",
    "rdma_flows",
    "tcp_flows",
)
OF_FRAMES = ("frame", "frames", "filter", "time", "stream")  # ends of names
OF_SEGMENTS = ("accept_s", "confirm_s", "setup_s", "connecting_s", "connecting_most_s", "text")
OF_TCP = ("src", "dst", "src_port", "dst_port", "rtt_s", "tsval_rtt_s", "ipg_s", "ack_elapsed_s")


def whole_report(tshark, path):
    return json.loads(tshark.run("-2", "-q", "-r", path, "-z", "smcr,json"))


def without_frames(value):
    """The members of a report that do not name frames or addresses, and parts of the setup, which
    come later by BETWEEN where the server's segments do."""
    if isinstance(value, list):
        return [without_frames(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        name: without_frames(each)
        for name, each in value.items()
        if name not in ("client", "server") or not (isinstance(each, dict) and "addr" in each)
        if name.split("_")[-1] not in OF_FRAMES and name not in (*OF_SEGMENTS, *OF_TCP)
    }


def captures_with(found):
    """(name, packets) of the captures of the tree in which the function finds something, and whose
    frames are whole."""
    for path in sorted((TOP / "captures").glob("*/*.pcapng*")):
        packets = read(path)
        if found(packets) and all(len(each.data) == each.length for each in packets):
            yield path.name.split(".pcapng")[0], packets


def test_translated_connections(tshark, scratch):
    """A connection that NAT shows twice is one, and the report of it is that of the capture before
    NAT."""
    wrong, count = [], 0
    for name, packets in captures_with(offers):
        if name not in TRANSLATED and not ALL:
            continue
        alone, twice = (
            whole_report(tshark, write(scratch / f"{way}-{name}.pcapng", packets, ["any"]))
            for way, packets in (
                ("alone", [each._replace(interface=0) for each in packets]),
                ("twice", [each._replace(interface=0) for each in translated(packets)]),
            )
        )
        count += len(alone["connections"])
        for part in PARTS:
            if without_frames(alone[part]) != without_frames(twice[part]):
                wrong.append((name, part))
    assert wrong == [] and count >= len(TRANSLATED)


COUNTED = ("acked_bytes", "gaps", "gap_bytes")
MISTAKEN = 0.02  # of the segments at both points: copies that look like what the peer has asked for


def counted(report, *names):
    return [flow[way][name] for flow in report for way in ("up", "down") for name in names]


def is_alike(alone, twice):
    """Whether the second point changes nothing; a copy may count as retransmission if the peer has
    asked for one."""
    more = sum(counted(twice, "repeated_segments")) - sum(counted(alone, "repeated_segments"))
    mistaken = MISTAKEN * sum(counted(twice, "packets"))
    return counted(alone, *COUNTED) == counted(twice, *COUNTED) and 0 <= more <= mistaken


def has_data(packets):
    return any(segment and segment.data for segment in (tcp(each.data) for each in packets))


def test_segments_that_were_cut(tshark, scratch):
    """The sender's host has larger segments than the wire: whichever comes first counts, and the
    others are copies."""
    wrong, count = [], 0
    for name, packets in captures_with(has_data):
        if name not in CUT and not ALL:
            continue
        host, wire = (
            [frame._replace(interface=0) for frames in way for frame in frames]
            for way in cut([each for each in packets if tcp(each.data)], PIECE)
        )
        for first, second in ((host, wire), (wire, host)):
            later = [each._replace(time=each.time + 3 * DELAY) for each in second]
            alone, twice = (
                whole_report(tshark, write(scratch / f"{way}-{name}.pcapng", made, ["any"]))
                for way, made in (("alone", first), ("twice", first + later))
            )
            count += len(alone["tcp_flows"])
            if not is_alike(alone["tcp_flows"], twice["tcp_flows"]):
                wrong.append((name, first is host))
    assert wrong == [] and count >= 2 * len(CUT)


def test_a_path_of_many_points(tshark, scratch):
    """Six points, each a router further and with a clock of its own: five segments in the order of
    the path, whose bounds contain the truth."""
    count, made = 6, []
    for packet in read(next((TOP / "captures").glob("*/6.1-v2-c-three-conns.pcapng*"))):
        headers = key(packet.data)
        data = packet.data[:22] + bytes([64]) + packet.data[23:] if headers else packet.data
        way = range(count) if not headers or headers.source < headers.target else range(count)[::-1]
        for hop, point in enumerate(way):
            time = packet.time + hop * DELAY + point * OFFSET
            made.append(Packet(time, point, data, packet.length))
            data = one_hop_further(data) if headers else data
    names = [f"point{each}" for each in range(count)]
    ways = points(tshark, write(scratch / "many.pcapng", made, names))
    places = {name: place for place, name in enumerate(names)}
    steps = sorted((places[way["from"]], places[way["to"]]) for way in ways)
    assert steps == sorted(
        step for each in range(count - 1) for step in ((each, each + 1), (each + 1, each))
    )
    for way in ways:
        offset = (places[way["to"]] - places[way["from"]]) * OFFSET / 1e9
        assert way["packets"] == way["at_both"] > 0 and way["clocks_agree"]
        assert way["clock"]["offset_least_s"] <= offset <= way["clock"]["offset_most_s"]
        assert abs(way["delay"]["median_s"] - DELAY / 1e9) <= way["delay"]["error_s"] + 1e-9
