"""
Two capture points that are made of one capture: the second one is shifted, drifts, lies one router
further, and both miss packets. What the plugin says of each packet is held against what was done to
it; bounds of offset, drift and delay contain what is true.
"""

import collections
import ipaddress
import json
import random
import struct

import mutants
import pytest
from bed import ALL, TOP
from cause_scenes import SCENES
from points_reader import (
    ACKNOWLEDGE,
    SERVICE,
    SERVICE_PORT,
    SLL2,
    Packet,
    behind_nat,
    cooked,
    cut,
    divided,
    offers,
    one_hop_further,
    read,
    roce,
    tagged,
    tcp,
    translated,
    with_checksum,
    with_class,
    with_segment,
    with_total,
    without_syns,
    without_timestamps,
    write,
)
from points_simulator import (
    AFTER,
    BEFORE,
    BETWEEN,
    HOP,
    HOSTS,
    SEQUENCE_ERROR,
    Path,
    Plan,
    judged,
    one_way,
    proven,
)
from smcsynth.capture import Capture
from tcp_simulator import ACK, FIN, Connection, Sent
from tcp_simulator import Plan as TcpPlan

SAMPLE = (
    "6.1-v1-j-http11",
    "6.1-v2-d-bulk-slow-reader",
    "6.1-v1-n-lossy",
    "6.1-v2-c-three-conns",
    "6.1-v1-b-first-contact-ipv6",
)
PACKETS_LEAST, PACKETS_MOST = 20, 20_000  # packets of RoCE in the captures that are taken
LOST, LOST_AFTER, UNANSWERED, NOT_CAPTURED, REORDERED = 1, 2, 3, 4, 5
SECOND = 10**9
MARKED, DSCP, DELAYED, UNDECIDED, FRAGMENTED, DAMAGED = 6, 7, 8, 9, 10, 12
DELAY, JITTER, HELD, MIRRORED = 40_000, 20_000, 4_000_000, 50_000  # nanoseconds
OFFSET, PPM = 2_500_000, 100
RIM = 2 * HELD  # nanoseconds from the first and the last packet of a capture


def clock(time, begin):
    """The second point's clock: ahead of the first one's by OFFSET, and 100 ppm faster."""
    return time + OFFSET + (time - begin) * PPM // 1_000_000


def key(data):
    """What is the same at both points, for a packet that is there once."""
    return roce(data)


def address(data):
    return str(ipaddress.ip_address(data))


def mirrored(packets):
    """The packets as a mirror port of two points has them: each twice."""
    lates = (0, MIRRORED)
    return [packet._replace(time=packet.time + late) for packet in packets for late in lates]


def captures_of_one_point():
    """{name: path} of the captures of the tree that have RoCE, and one interface."""
    found = {}
    for path in sorted((TOP / "captures").glob("*/*.pcapng*")):
        if path.parent.name != "malformed":
            packets = read(path)
            count = sum(key(each.data) is not None for each in packets)
            is_one = len({each.interface for each in packets}) == 1
            if is_one and PACKETS_LEAST <= count <= PACKETS_MOST:
                found[path.name.split(".pcapng")[0]] = path
    return found


def path_of(name):
    return next((TOP / "captures").glob(f"*/{name}.pcapng*"))


def taken():
    if ALL:
        return captures_of_one_point()
    return {name: path_of(name) for name in SAMPLE}


CAPTURES = taken()


class Pair:
    """Both points, and what was done to each packet: {key: what}."""

    def __init__(self, packets, seed, thin=0.02, held=0.01):
        chance = random.Random(seed)
        self.packets, self.done = [], {}
        begin = packets[0].time
        seen = [key(each.data) for each in packets]
        self.again = {each for each, count in collections.Counter(seen).items() if count > 1}
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
        first, last = (packets[at].time for at in (0, -1))
        self.at_rim = {  # where one point may capture no longer, or not yet
            each
            for each, packet in zip(seen, packets)
            if min(packet.time - first, last - packet.time) <= RIM
        }
        seen = [each for each in seen if each]
        self.at_rim |= {*seen[:4], *seen[-4:]}


def psn_of(headers):
    return headers.source, headers.target, headers.qpn, headers.psn


@pytest.fixture
def pair(scratch):
    def make(packets, seed, **changes):
        made = Pair(packets, seed, **changes)
        made.path = write(scratch / f"pair-{seed}.pcapng", made.packets, ["one", "two"])
        return made

    return make


def verdicts(tshark, path, *options):
    """{frame: verdict}"""
    printed = tshark.run(
        *("-2", "-r", path, "-o", "smcr.roce:TRUE", *options, "-Y", "smcr.point.verdict"),
        *("-T", "fields", "-e", "frame.number", "-e", "smcr.point.verdict"),
    )
    return {int(a): int(b) for a, b in map(str.split, printed.splitlines())}


def points(tshark, path, transport="roce"):
    printed = tshark.run("-2", "-q", "-r", path, "-o", "smcr.roce:TRUE", "-z", "smcr,json")
    ways = json.loads(printed)["points"]
    return [way for way in ways if way["transport"] == transport]


def is_right(what, verdict, was_sent_again):
    """Whether the verdict fits to what was done. Packets that are retransmitted together may be
    undecided, though both points have them."""
    if what in ("first", "second"):
        lost = {LOST, LOST_AFTER, UNANSWERED} if was_sent_again else set()
        return verdict in {NOT_CAPTURED, UNDECIDED} | lost
    undecided = {UNDECIDED} if was_sent_again else set()
    return verdict in {LOST_AFTER, UNANSWERED, REORDERED, DELAYED, None} | undecided


@pytest.mark.parametrize("name", CAPTURES)
def test_made_points(tshark, pair, name):
    packets = read(CAPTURES[name])
    made = pair(packets, len(packets))
    told = verdicts(tshark, made.path)
    in_order = sorted(made.packets, key=lambda packet: packet.time)
    headers = [key(each.data) for each in in_order]
    found = {}
    for frame, verdict in told.items():
        found[headers[frame - 1]] = verdict
    everything = [each for each in (key(each.data) for each in packets) if each]
    sent = collections.Counter(map(psn_of, everything))  # more than once: it may have been lost
    wrong = [
        (made.done.get(each), found.get(each), each)
        for each in set(everything) - made.again - made.at_rim
        if not is_right(made.done.get(each), found.get(each), sent[psn_of(each)] > 1)
    ]
    assert wrong == []
    undecided = sum(verdict == UNDECIDED for verdict in told.values())
    # An acknowledgement that a later one replaces, and a datagram, may have no other trace.
    least = sum(what == "second" and each.opcode >= ACKNOWLEDGE for each, what in made.done.items())
    assert undecided <= 0.01 * len(packets) + max(least, 1), (undecided, len(packets))


@pytest.mark.parametrize("name", CAPTURES)
def test_bounds_contain_the_truth(tshark, pair, name):
    packets = read(CAPTURES[name])
    made = pair(packets, len(packets), thin=0, held=0)
    first = {}  # of the packets between two hosts that a point has once
    for packet in packets:
        headers = key(packet.data)
        if headers and headers not in made.again:
            first.setdefault(frozenset(map(address, headers[:2])), packet.time)
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
        common = first[frozenset((way["src"], way["dst"]))]
        offset = (clock(common, packets[0].time) - common) / 1e9
        begin = 2 * (DELAY + JITTER) / 1e9  # by how much the first common packet may be later
        assert least - begin * PPM / 1e6 <= sign * offset <= most + begin * PPM / 1e6


def rocev1(data):
    """A packet of RoCEv2 over IPv4 as one of RoCEv1, with a GRH in the place of IP and UDP."""
    if not key(data):
        return data
    begin, mapped = 14 + (data[14] & 15) * 4 + 8, bytes(10) + b"\xff\xff"
    end = 14 + struct.unpack_from(">H", data, 16)[0]
    head = struct.pack(">IHBB", 6 << 28 | data[15] << 20, end - begin, 0x1B, data[22])
    gids = mapped + data[26:30] + mapped + data[30:34]
    return data[:12] + b"\x89\x15" + head + gids + data[begin:end]


def test_rocev1(tshark, pair, scratch):
    """Two points show RoCEv1, which has neither IP identification nor port: the verdicts, and the
    bounds of the clocks, are those of the same packets as RoCEv2."""
    made = pair(read(path_of("6.1-v2-c-three-conns")), 7, thin=0.05, held=0.05)
    changed = [(each, rocev1(each.data)) for each in made.packets]
    grh = [each._replace(data=data, length=len(data)) for each, data in changed]
    path = write(scratch / "grh.pcapng", grh, ["one", "two"])
    one, two = (verdicts(tshark, each) for each in (made.path, path))
    assert one == two and len(set(one.values())) > 1
    ways, same = points(tshark, path), points(tshark, made.path)
    assert without_frames(ways) == without_frames(same) and len(ways) == 2
    for way in ways:
        sign = 1 if way["from"] == "one" else -1
        least, most = sorted(way["clock"][f"offset_{name}_s"] * sign for name in ("least", "most"))
        assert least <= OFFSET / 1e9 + 1e-6 and most >= OFFSET / 1e9


def test_mirrored_twice(tshark, pair):
    """Both points have each packet twice: the clocks' offset is found, and nothing is lost."""
    packets = mirrored(read(path_of("6.1-v1-j-http11")))
    ways = points(tshark, pair(packets, len(packets), thin=0, held=0).path)
    assert ways and all(way["packets"] == way["at_both"] > 0 for way in ways)
    assert not any(way["lost"] + way["undecided"] for way in ways)
    assert all(abs(abs(way["clock"]["offset_s"]) - OFFSET / 1e9) < 1e-3 for way in ways)


def test_other_traffic(tshark, scratch):
    """A third interface shows other traffic of the same two hosts: it is no point of the path."""
    packets = read(path_of("6.1-v2-c-three-conns"))
    made = Pair(packets, 1, thin=0, held=0).packets
    other = read(next((TOP / "captures").glob("*/6.1-v2-j-http11.pcapng*")))
    apart = packets[0].time - other[0].time
    made += [each._replace(time=each.time + apart, interface=2) for each in other]
    ways = points(tshark, write(scratch / "three.pcapng", made, ["one", "two", "three"]))
    assert sorted((way["from"], way["to"]) for way in ways) == [("one", "two"), ("two", "one")]
    assert all(way["packets"] == way["at_both"] for way in ways)


SNAPLEN = 120  # bytes: a TCP segment has its header, and the first bytes of CLC or of the data
SHORT = 66  # a TCP segment has its header, and a SYN has not


def test_truncated_by_snaplen(tshark, scratch):
    """TCP's dissector cannot reassemble CLC messages of truncated frames, and throws an exception
    for some of their copies: the segments are compared as those of whole frames. So are SYNs whose
    options one point has truncated."""
    whole = Pair(read(path_of("6.1-v1-j-http11")), 3, thin=0, held=0).packets
    cut = [each._replace(data=each.data[:SNAPLEN]) for each in whole]
    short = [each._replace(data=each.data[: SHORT if each.interface else None]) for each in whole]
    counts = [
        [
            [way[name] for name in ("from", "to", "packets", "at_both", "lost", "undecided")]
            for way in points(tshark, write(scratch / f"{name}.pcapng", made, ["a", "b"]), "tcp")
        ]
        for name, made in (("whole", whole), ("cut", cut), ("short", short))
    ]
    assert counts[0] == counts[1] == counts[2] and len(counts[0]) == 2
    assert all(packets == at_both > 8 for _, _, packets, at_both, *_ in counts[0])


# ---- what changes between the points ----


def without_times(value):
    """The members of a report that are no times and name no frames."""
    if isinstance(value, list):
        return [without_times(each) for each in value]
    if not isinstance(value, dict):
        return value
    kept = (name for name in value if not name.endswith(("_s", "_time", "_frame", "waits")))
    return {name: without_times(value[name]) for name in kept if name not in OF_FRAMES}


def second_point(packets, change):
    """The frames of RoCE at a second point, a router further. `change`: what it makes of a frame, a
    list of frames, by its number among them."""
    made = []
    for number, packet in enumerate(each for each in packets if key(each.data)):
        headers = key(packet.data)
        late = DELAY if headers.source < headers.target else -DELAY
        data = one_hop_further(packet.data) if late > 0 else packet.data
        for frame in change(number, headers, data):
            length = len(frame) + packet.length - len(packet.data)  # on the wire
            made.append(Packet(packet.time + OFFSET + late, 1, frame, length))
    return made


def first_point(packets):
    """The same packets at the first point: those of the other way have passed a router."""
    for packet in packets:
        headers = key(packet.data)
        is_back = headers and headers.source > headers.target
        yield packet._replace(
            interface=0, data=one_hop_further(packet.data) if is_back else packet.data
        )


DO = (
    (MARKED, lambda data: [with_class(data, data[15] | 3)]),
    (DSCP, lambda data: [with_class(data, data[15] ^ 0x20)]),
    (FRAGMENTED, lambda data: divided(data, 16)),
)


def test_headers_that_change(tshark, scratch):
    """A router marks packets, changes their DSCP, and divides them into fragments: each has the
    verdict, in the frame that the later point has, and no other packet has one."""
    done = collections.Counter()

    def change(number, headers, data):
        if number % 5 or headers.source > headers.target:
            return [data]
        verdict, do = DO[number // 5 % len(DO)]
        done[verdict] += 1
        return do(data)

    packets = read(next((TOP / "captures").glob("*/6.1-v2-c-three-conns.pcapng*")))
    made = [*first_point(packets), *second_point(packets, change)]
    path = write(scratch / "changed.pcapng", made, ["one", "two"])
    assert collections.Counter(verdicts(tshark, path).values()) == done
    assert all(count > 2 for count in done.values()) and len(done) == len(DO)
    ways = points(tshark, path)
    names = {MARKED: "marked_ce", DSCP: "dscp_changed", FRAGMENTED: "fragmented"}
    assert {kind: sum(way[name] for way in ways) for kind, name in names.items()} == done
    assert all(way["packets"] == way["at_both"] > 0 for way in ways)


CHECKED = ("-o", "smcr.check_icrc:TRUE")


def is_damaged(data):
    return key(data) is not None and mutants.with_icrc(data) != data


def psn_spoiled(data):
    """The frame with another PSN, and so with other headers than the point before."""
    return data[:53] + bytes([data[53] ^ 0x40]) + data[54:]


def without_id(data):
    """The frame with an IPv4 identification of 0, and an ICRC that is right if it was."""
    if not key(data):
        return data
    made = data[:18] + bytes(2) + data[20:]
    made = with_total(made, *struct.unpack_from(">HxxH", made, 16)) + made[34:]
    whole = mutants.with_icrc(made)
    return with_wrong_icrc(whole) if is_damaged(data) else whole


def with_wrong_icrc(data):
    """The frame with a wrong ICRC."""
    return data[:-1] + bytes([data[-1] ^ 1])


def damaged_between(packets, spoil=bytes):
    """Frames of a capture whose packets with a wrong ICRC were damaged between two points: the
    first one of their way has them with a right one. `spoil` damages them further."""

    def repaired(data, is_first):
        headers = key(data)
        on_its_way = headers and (headers.source < headers.target) == is_first
        if on_its_way:
            return mutants.with_icrc(data)
        return spoil(data) if is_damaged(data) else data

    yield from first_point(each._replace(data=repaired(each.data, True)) for each in packets)
    yield from second_point(packets, lambda number, headers, data: [repaired(data, False)])


def test_packets_that_are_damaged(tshark, scratch):
    """They vanish between the points, if ICRCs are checked. Else they may be damaged or lost after
    the second point."""
    packets = read(TOP / "captures" / "roce" / "icrc-wrong.pcapng.gz")
    made = sorted(damaged_between(packets), key=lambda each: each.time)
    path = write(scratch / "damaged.pcapng", made, ["one", "two"])
    ends = {
        "damaged_between": "the ICRC is right",
        "lost_after": " or damaged (-o smcr.check_icrc:",
    }
    for kind, options in (("lost_after", ()), ("damaged_between", CHECKED)):
        run = ("-2", "-q", "-r", path, "-o", "smcr.roce:TRUE", *options, "-z", "smcr,json")
        report = json.loads(tshark.run(*run))
        found = [each for each in report["findings"] if each["kind"] in ends]
        assert [(each["kind"], each["count"]) for each in found] == [(kind, 15), (kind, 10)]
        assert all(ends[kind] in each["text"] for each in found)
        assert sum(way["damaged"] for way in report["points"]) == 25 * bool(options)
        assert not any(way["undecided"] or way["lost"] for way in report["points"])
    anonymous = [each._replace(data=without_id(each.data)) for each in packets]
    for number, each in enumerate((made, damaged_between(packets, psn_spoiled), anonymous)):
        here = damaged_between(anonymous) if each is anonymous else each
        here = sorted(here, key=lambda packet: packet.time)
        path = write(scratch / f"damaged-{number}.pcapng", here, ["one", "two"])
        wrong = {at + 1 for at, each in enumerate(here) if is_damaged(each.data)}
        told = verdicts(tshark, path, *CHECKED)
        assert {at for at, verdict in told.items() if verdict == DAMAGED} == wrong
        assert len(wrong) == 25 and LOST not in told.values()
    made = sorted(both_points(packets), key=lambda each: each.time)
    path = write(scratch / "damaged-before.pcapng", made, list("abcd"))
    run = ("-2", "-q", "-r", path, "-o", "smcr.roce:TRUE", *CHECKED, "-z", "smcr,json")
    flows = json.loads(tshark.run(*run))["rdma_flows"]
    assert sum(flow["icrc"]["bad"] for flow in flows) == 25  # each once


OPTION = bytes.fromhex("fe06e2d4c3d9")  # of SMC-R


def without_option(data):
    """The frame of TCP over IPv4 with NOPs instead of the option of SMC-R, as a firewall leaves it:
    with the checksum of what it has now."""
    at = data.find(OPTION)
    if at < 0:
        return data
    made = data[:at] + bytes([1] * len(OPTION)) + data[at + len(OPTION) :]
    made = made[:50] + bytes(2) + made[52:]
    segment = made[34:] + bytes(len(made) % 2)
    total = sum(struct.unpack(f">{len(segment) // 2}H", segment))
    total += sum(struct.unpack(">4H", made[26:34])) + 6 + len(made) - 34
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return made[:50] + struct.pack(">H", ~total & 0xFFFF) + made[52:]


def test_tcp_options_that_change(tshark, scratch):
    """A firewall overwrites the option of SMC-R in SYN-ACKs, or in SYNs, by NOPs; the first SYN is
    the first segment of the capture. The points have no delay, and are not said to be one capture,
    as they are without the firewall."""
    packets = read(next((TOP / "captures").glob("*/6.1-v2-c-three-conns.pcapng*")))
    for strips in (None, 0x12, 0x02):
        made, changed = [each._replace(interface=0) for each in packets], 0
        for each in packets:
            is_stripped = tcp(each.data) and each.data[14 + 20 + 13] & 0x12 == strips
            changed += bool(is_stripped) and OPTION in each.data
            data = without_option(each.data) if is_stripped else each.data
            made.append(each._replace(interface=1, data=data))
        made.sort(key=lambda each: each.time)
        path = write(scratch / f"options-{strips}.pcapng", made, ["one", "two"])
        printed = tshark.run("-2", "-q", "-r", path, "-z", "smcr,json")
        report = json.loads(printed)
        kinds = collections.Counter(each["kind"] for each in report["findings"])
        assert bool(kinds["points_contradict"]) == (not strips)
        assert changed == 3 * bool(strips)
        assert sum(way["options_changed"] for way in report["points"]) == changed
        assert [
            each["count"] for each in report["findings"] if each["kind"] == "options_changed"
        ] == [3] * bool(strips)
        assert list(verdicts(tshark, path).values()).count(11) == changed


def test_firewall_between_points(tshark, scratch):
    """A firewall between the points overwrites the option of the SYN-ACK, and the connection fails.
    The first finding is that of the point after the firewall alone."""
    capture = Capture()
    SCENES["firewall_option_fails"](capture)
    packets = [
        packet
        for time, data in capture.frames
        for packet in (
            Packet(time * 1000, 0, data, len(data)),
            Packet(time * 1000 + 200, 1, data.replace(bytes([1] * 6), OPTION), len(data)),
        )
    ]
    path = write(scratch / "firewall.pcapng", packets, ["one", "two"])
    report = json.loads(tshark.run("-2", "-q", "-r", path, "-z", "smcr,json"))
    first = report["findings"][0]
    assert (first["kind"], first["severity"]) == ("fallback", "warn")
    assert "six NOPs" in first["text"] and "the connection failed" in first["text"]


def test_networks(tshark, scratch):
    """The second point has a VLAN tag that the first one does not have. Two tenants with the same
    addresses and queue pairs are two paths."""
    packets = read(next((TOP / "captures").glob("*/6.1-v2-c-three-conns.pcapng*")))
    count = sum(key(each.data) is not None for each in packets)
    first = list(first_point(packets))
    one = [*first, *second_point(packets, lambda _number, _headers, data: [tagged(data, 10)])]
    ways = points(tshark, write(scratch / "tagged.pcapng", one, ["one", "two"]))
    assert [way["packets"] == way["at_both"] for way in ways] == [True, True]
    assert sum(way["packets"] for way in ways) == count
    other = [
        each._replace(data=tagged(each.data, 20), time=each.time + 400_000)
        for each in [*first, *second_point(packets, lambda _number, _headers, data: [data])]
        if key(each.data)
    ]
    ways = points(tshark, write(scratch / "tenants.pcapng", one + other, ["one", "two"]))
    assert [way["packets"] == way["at_both"] for way in ways] == [True] * 4
    assert sum(way["packets"] for way in ways) == 2 * count


def test_devices_of_one_host(tshark, scratch):
    """A capture on all devices has each packet at two of them: points with one clock, whose delays
    are exact. All else is as with one device."""
    packets = read(next((TOP / "captures").glob("*/6.1-v2-c-three-conns.pcapng*")))
    frames = {2: [], 3: []}
    for packet in packets:
        headers = key(packet.data)
        near, far = (2, 3) if not headers or headers.source < headers.target else (3, 2)
        for device, time in ((near, packet.time), (far, packet.time + DELAY)):
            if headers or device == near:
                data = cooked(packet.data, device)
                frames[device].append(Packet(time, 0, data, len(data)))

    def made(name, packets):
        return write(scratch / f"{name}.pcapng", packets, ["any"], SLL2)

    path = made("two", frames[2] + frames[3])
    ways = points(tshark, path)
    assert {(way["from"], way["to"]) for way in ways} == {
        (f"any, interface index {one}", f"any, interface index {5 - one}") for one in (2, 3)
    }
    for way in ways:
        assert way["packets"] == way["at_both"] > 0
        assert way["clock"]["offset_least_s"] == way["clock"]["offset_most_s"] == 0
        assert way["delay"]["error_s"] == 0
        assert all(
            abs(way["delay"][name] - DELAY / 1e9) < 2e-9 for name in ("min_s", "median_s", "p99_s")
        )
    alone = whole_report(tshark, made("alone", frames[2]))
    both = whole_report(tshark, path)
    assert without_times(alone["connections"]) == without_times(both["connections"])
    assert alone["findings"] == both["findings"] == []


# ---- the report of both points ----

# Of TCP flows: copies count. An ACK without an identification counts as a duplicate ACK.
OF_COPIES = ("packets", "ip_bytes", "copies", "segments", "acks", "duplicate_acks")
OF_POINTS = ("lost_after", "other_roce", "cut_frames")  # findings that two points change


# ---- links of a bond ----

BONDS = ("6.1-v1-n-lossy", "6.1-v2-n-lossy")  # without IP identifications, and with them


def changing(number, _, dice):
    return number // 50 % 2


def failing(number, _, dice):
    """The first link fails in the middle of 6.1-v1-n-lossy, while packets are retransmitted."""
    return int(number >= 594)


def each_way(_, headers, dice):
    return int(bool(headers) and headers.source < headers.target)


def at_random(_, headers, dice):
    return dice.randrange(2)


@pytest.mark.parametrize("name", BONDS)
@pytest.mark.parametrize("link", [changing, failing, each_way, at_random])
def test_links_of_a_bond_are_no_points(tshark, scratch, name, link):
    """Two links of a bond show each packet once, and a retransmission may take the other link: it
    is no copy, also without an identification. But duplicates that the network has made may be."""
    dice = random.Random(name)
    packets = read(next((TOP / "captures").glob(f"real/{name}.pcapng*")))
    bond = [
        each._replace(interface=link(number, key(each.data), dice))
        for number, each in enumerate(packets)
    ]
    alone = write(scratch / "alone.pcapng", [each._replace(interface=0) for each in packets], ["a"])
    both = write(scratch / "both.pcapng", bond, ["a", "b"])
    one, two = (whole_report(tshark, path) for path in (alone, both))
    repeated = [[flow["repeated"] for flow in each["rdma_flows"]] for each in (one, two)]
    assert two["points"] == [] and two["capture"]["point_copies"] <= 4
    assert repeated[0] == repeated[1] and sum(repeated[0]) > 100
    assert without_frames(one["link_groups"]) == without_frames(two["link_groups"])


def parts(report):
    """What two points do not change."""
    kept = {part: without_frames(report[part]) for part in PARTS}
    kept["findings"] = [
        each for each in kept["findings"] if each["kind"].removeprefix("capture: ") not in OF_POINTS
    ]
    for flow in kept["tcp_flows"]:
        for way in ("up", "down"):
            flow[way] = {name: each for name, each in flow[way].items() if name not in OF_COPIES}
            flow[way].pop("derived")
    return kept


ABORTS = "nak-loss-after-capture"  # tshark 4.0 does, without the plugin, too


def captures_of_any_points():
    """{name: path} of the captures of the tree, which may have several interfaces."""
    paths = sorted((TOP / "captures").glob("*/*.pcapng*"))
    return {
        path.name.split(".pcapng")[0]: path
        for path in paths
        if path.parent.name != "malformed" and ABORTS not in path.name
    }


def both_points(packets):
    """The packets at their own interfaces, and once more a router further, at as many others."""
    count = 1 + max(each.interface for each in packets)
    for packet in packets:
        headers = roce(packet.data) if len(packet.data) > 53 else None
        is_back = bool(headers) and headers.source > headers.target
        late = -DELAY if is_back else DELAY
        ways = [packet.data, one_hop_further(packet.data) if headers else packet.data]
        here, there = ways[::-1] if is_back else ways
        yield packet._replace(data=here)
        time, interface = packet.time + OFFSET + late, packet.interface + count
        yield Packet(time, interface, there, packet.length)


@pytest.mark.parametrize("name", captures_of_any_points() if ALL else CAPTURES)
def test_second_point_changes_nothing(tshark, scratch, name):
    """Merged captures of two points give the same connections, waits, streams and counts as the
    first one alone."""
    packets = read(captures_of_any_points()[name])
    if not 0 < len(packets) <= PACKETS_MOST:
        pytest.skip("the time")
    count = 1 + max(each.interface for each in packets)
    points = list(both_points(packets))
    names = [str(number) for number in range(2 * count)]
    alone, both = (
        write(scratch / f"{name}.pcapng", made, names)
        for name, made in (("alone", points[::2]), ("both", points))
    )
    reports = [whole_report(tshark, path) for path in (alone, both)]
    assert parts(reports[0]) == parts(reports[1])
    # the clock of the second point is ahead: its copies are not the ends of connections
    ends = [[each["last_time"] for each in report["connections"]] for report in reports]
    assert ends[0] == ends[1]


def unreachable(data, ip_id):
    """The ICMP error of the receiver of a RoCE packet over IPv4: port unreachable."""
    icmp = bytes([3, 3]) + bytes(6) + data[14:42] + data[42:54]
    head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(icmp), ip_id, 0, 64, 1, 0)
    return data[6:12] + data[:6] + data[12:14] + head + data[30:34] + data[26:30] + icmp


def test_icmp_errors(tshark, scratch):
    """The second point shows each ICMP error once more: the finding counts them once."""
    packets = list(first_point(read(path_of("6.1-v2-c-three-conns"))))
    chosen = [each for each in packets if key(each.data)][10:15]
    for number, each in enumerate(chosen):
        data = unreachable(each.data, number)
        packets.append(Packet(each.time + HELD, 0, data, len(data)))
    there = [
        each._replace(time=each.time + OFFSET + DELAY, data=one_hop_further(each.data), interface=1)
        for each in packets
    ]
    for made in (packets, packets + there):
        report = whole_report(tshark, write(scratch / "icmp.pcapng", made, ["one", "two"]))
        counts = [each["count"] for each in report["findings"] if each["kind"] == "undelivered"]
        assert sum(counts) == len(chosen)


# ---- copies of TCP ----

PIECE = 97  # bytes of data in the pieces that an adapter makes
# Without a SYN, the port of another protocol hides CLC.
OF_NO_PROTOCOL = ("6.1-v2-c-three-conns", "6.1-v1-c-three-conns")
OWN_PORT = struct.pack(">H", 7777)
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
OF_SEGMENTS = (
    "fallback_s",
    "accept_s",
    "confirm_s",
    "setup_s",
    "connecting_s",
    "connecting_most_s",
    "least_s",  # bounds of the setup and its steps: with one clock only
    "most_s",
    *(f"{step}_{bound}_s" for step in ("accept", "confirm", "llc") for bound in ("least", "most")),
    "text",
)
OF_NAT = ("translated_client", "translated_server")
OF_TCP = ("src", "dst", "src_port", "dst_port", "rtt_s", "tsval_rtt_s", "ipg_s", "ack_elapsed_s")


def whole_report(tshark, path):
    return json.loads(tshark.run("-2", "-q", "-r", path, "-z", "smcr,json"))


def without_frames(value):
    """The members of a report that do not name frames or addresses, and parts of the setup, which
    come later where the server's segments do."""
    if isinstance(value, list):
        return [without_frames(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        name: without_frames(each)
        for name, each in value.items()
        if name not in ("client", "server") or not (isinstance(each, dict) and "addr" in each)
        if name.split("_")[-1] not in OF_FRAMES and name not in (*OF_SEGMENTS, *OF_TCP, *OF_NAT)
    }


def captures_with(found):
    """(name, packets) of the captures of the tree in which the function finds something, and whose
    frames are whole."""
    for path in sorted((TOP / "captures").glob("*/*.pcapng*")):
        packets = read(path)
        if found(packets) and all(len(each.data) == each.length for each in packets):
            yield path.name.split(".pcapng")[0], packets


@pytest.mark.parametrize("change", [list, without_timestamps, without_syns])
def test_translated_connections(tshark, scratch, change):
    """A connection that NAT shows twice is one, and the report of it is that of the capture before
    NAT: by its SYN, with and without time stamps, or by its CLC messages."""
    wrong, count = [], 0
    chosen = {list: TRANSLATED, without_syns: OF_NO_PROTOCOL}.get(change, TRANSLATED[:1])
    for name, packets in captures_with(offers):
        if name not in chosen and (not ALL or change is without_syns):
            continue
        port = OWN_PORT if change is without_syns else SERVICE_PORT
        nat = list(change(translated(packets, port)))
        packets = list(change(packets))
        alone, twice = (
            whole_report(tshark, write(scratch / f"{way}-{name}.pcapng", packets, ["any"]))
            for way, packets in (
                ("alone", [each._replace(interface=0) for each in packets]),
                ("twice", [each._replace(interface=0) for each in nat]),
            )
        )
        count += len(alone["connections"])
        for part in PARTS:
            if without_frames(alone[part]) != without_frames(twice[part]):
                wrong.append((name, part))
    assert wrong == [] and count


CLC_PROPOSAL = bytes.fromhex("e2d4c3d901")


def with_equal_ports(data, own, peer):
    """The frame of a TCP segment, with the port `peer` in the place of `own`."""
    ports = [peer if data[at : at + 2] == own else data[at : at + 2] for at in (34, 36)]
    return data[:34] + b"".join(ports) + data[38:] if tcp(data) else data


def test_equal_ports_behind_nat(tshark, scratch):
    """Client and server have the same port, and the capture begins with the CLC Accept: it is the
    server that has another address after NAT."""
    packets = read(next((TOP / "captures").glob("*/6.1-v2-c-three-conns.pcapng*")))
    ports = min(ports for _, _, ports in offers(packets))
    one = [each for each in packets if not tcp(each.data) or ports[:2] in tcp(each.data).ports]
    for peer in (ports[:2], ports[2:]):
        made = [
            each._replace(interface=0, data=with_equal_ports(each.data, ports[:2], peer))
            for each in without_syns(translated(one, OWN_PORT))
            if not (tcp(each.data) and tcp(each.data).data.startswith(CLC_PROPOSAL))
        ]
        report = whole_report(tshark, write(scratch / "ports.pcapng", made, ["any"]))
        found = [each for each in report["connections"] if each["translated_server"]]
        assert [each["client"]["port"] for each in found] == [int.from_bytes(peer, "big")]
        assert not any(each["translated_client"] for each in report["connections"])


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


# ---- a queue pair whose packets are lost at known places ----


def burst(sent, times):
    """The part of the path on which consecutive requests are lost: all that are sent for the first
    time, for a while."""
    is_lost = sent.host == 0 and times == 1 and 273 <= sent.number < 323
    return BETWEEN if is_lost else None


def refusal(sent, times):
    """Bursts of three requests are lost, and each NAK before it comes to a capture point."""
    if sent.opcode == ACKNOWLEDGE:
        return BEFORE if sent.syndrome == SEQUENCE_ERROR else None
    is_lost = times == 1 and sent.psn % 200 >= 197
    return BETWEEN if sent.host == 0 and is_lost else None


def acknowledgement(sent, times):
    """Acknowledgements alone are lost, which later ones replace."""
    return BETWEEN if sent.opcode == ACKNOWLEDGE and sent.number % 10 == 0 else None


PLANS = {
    "burst between": Plan(drop=burst),
    "bursts without a NAK": Plan(drop=refusal),
    "acknowledgements alone": Plan(drop=acknowledgement),
    "between": Plan(lost=(0, 0.01, 0)),
    "between, identification 0": Plan(lost=(0, 0.01, 0), ids=False),
    "after": Plan(lost=(0, 0, 0.01)),
    "before": Plan(lost=(0.01, 0, 0)),
    "everywhere, identification 0": Plan(lost=(0.005, 0.005, 0.005), ids=False),
    "not ready": Plan(lost=(0, 0.004, 0.004), not_ready=0.01),
    "thinned": Plan(missed=(0.01, 0.01)),
    "READs": Plan(lost=(0, 0.01, 0), reads=0.5),
    "READs and atomics": Plan(lost=(0, 0.004, 0.004), reads=0.4, atomics=0.3, not_ready=0.005),
    "READs and atomics, thinned": Plan(missed=(0.01, 0.01), reads=0.4, atomics=0.3),
}


ONE_WAY = {"one way, ahead": (0, 700_000), "one way, behind": (0, -700_000), "way back": (1, 0)}


def test_requests_only(tshark, scratch):
    """Both points have the requests only, and the first one misses some. No answer proves a loss,
    so what the second one does not have is not said to have passed it."""
    path = Path(Plan(lost=(0, 0.01, 0), missed=(0.01, 0)), 300, 1).run()
    frames = sorted(path.frames, key=lambda frame: frame[1].time)
    frames = path.frames = [frame for frame in frames if path.sent[frame[0]].host == 0]
    made = write(scratch / "made.pcapng", [packet for _, packet in frames], ["one", "two"])
    told = {frames[frame - 1][0]: each for frame, each in verdicts(tshark, made).items()}
    assert [each for each in judged(path, told) if not each[-1]] == []
    assert {NOT_CAPTURED, UNDECIDED} <= set(told.values())


@pytest.mark.parametrize("name", [*PLANS, *ONE_WAY])
def test_simulated(tshark, scratch, name):
    """No packet has a false verdict. What was lost between the points is found."""
    plan = PLANS.get(name, PLANS["between"])
    for seed in (1, 2):
        path = Path(plan, 300, seed).run()
        path = one_way(path, *ONE_WAY[name]) if name in ONE_WAY else path
        frames = sorted(path.frames, key=lambda frame: frame[1].time)
        made = write(scratch / f"{seed}.pcapng", [packet for _, packet in frames], ["one", "two"])
        told = {frames[frame - 1][0]: each for frame, each in verdicts(tshark, made).items()}
        hosts = {ONE_WAY[name][0]} if name in ONE_WAY else {0, 1}
        found = [each for each in judged(path, told) if path.sent[each[0]].host in hosts]
        assert [each for each in found if not each[-1]] == []
        undecided = sum(verdict == UNDECIDED for *_, verdict, _ in found)
        assert undecided <= 0.01 * len(path.sent)
        lost = sum(part == BETWEEN for _, _, part, _, _ in found)
        assert sum(verdict == LOST for *_, verdict, _ in found) >= lost - undecided
        silent = [each for each in proven(path) if told.get(each) not in (LOST, LOST_AFTER)]
        # A NAK may ask for a packet that no point has.
        assert len(silent) <= undecided or plan.lost[0] or name in ONE_WAY


# ---- a TCP connection whose packets are lost at known places ----

TCP_PLANS = {
    "between": TcpPlan(lost=(0, 0.02, 0)),
    "between, no time stamps": TcpPlan(lost=(0, 0.02, 0), stamps=False),
    "between, identification 0": TcpPlan(lost=(0, 0.02, 0), stamps=False, ids=False),
    "after": TcpPlan(lost=(0, 0, 0.02)),
    "everywhere": TcpPlan(lost=(0.01, 0.01, 0.01)),
    "thinned": TcpPlan(missed=(0.02, 0.02)),
    "lost and thinned": TcpPlan(lost=(0.01, 0.01, 0.01), missed=(0.01, 0.01)),
}
BUSY = 4_000_000  # nanoseconds
WIRE = 40  # bytes of data in the pieces in which the second point has segments


def in_pieces(frames):
    """The frames, of which the second point has those with data in pieces."""
    for number, packet in frames:
        length = len(tcp(packet.data).data) if packet.interface else 0
        if length <= WIRE:
            yield number, packet
            continue
        for at in range(0, length, WIRE):
            data = with_segment(packet.data, 1 + number, at, min(at + WIRE, length))
            yield number, packet._replace(data=data, length=len(data))


def tcp_told(tshark, scratch, frames, *options):
    """{number of a packet: verdict} of the captured frames."""
    frames = sorted(frames, key=lambda frame: frame[1].time)
    made = write(scratch / "tcp.pcapng", [packet for _, packet in frames], ["one", "two"])
    told = verdicts(tshark, made, *options)
    return {frames[frame - 1][0]: each for frame, each in told.items()}, made


COMPARES_ALL = ("-o", "smcr.points:all")


def with_bytes(packet, data):
    """The packet with other data: those of its sequence numbers."""
    segment = tcp(packet.data)
    begin = segment.seq % 0x8000
    new = data[begin : begin + len(segment.data)]
    return packet._replace(data=packet.data[: segment.header] + new)


def test_simulated_tcp(tshark, scratch):
    """No TCP segment has a false verdict, also if the second point has segments in pieces. What was
    lost is found, or few segments are undecided. The offset of the clocks contains the truth."""
    for name, plan in TCP_PLANS.items():
        for cut_at in (list, in_pieces):
            path = Connection(plan, 60, 1).run()
            told, made = tcp_told(tshark, scratch, cut_at(path.frames))
            last = max(path.sent)  # at the rim, where one point may capture no longer
            found = [each for each in judged(path, told) if each[0] < last - 2]
            assert [each for each in found if not each[-1]] == [], name
            undecided = sum(verdict == UNDECIDED for *_, verdict, _ in found)
            lost = sum(part == BETWEEN for _, _, part, _, _ in found)
            assert len(path.sent) > 800 and undecided <= 0.01 * len(path.sent), name
            assert sum(verdict == LOST for *_, verdict, _ in found) >= lost - undecided, name
            after = [each for each in found if each[1] == "both" and each[2] == AFTER]
            told_after = sum(each[3] in (LOST_AFTER, UNANSWERED) for each in after)
            assert told_after >= 0.4 * len(after), name  # others are acknowledgements
            if cut_at is list:
                ways = points(tshark, made, "tcp")
                least, most = (ways[0]["clock"][f"offset_{one}_s"] for one in ("least", "most"))
                assert len(ways) == 2 and least <= 0 <= most
                assert sum(way["lost"] for way in ways) == sum(each[3] == LOST for each in found)


def sent_often(path, times, reports):
    """The frames of the path up to its end, and a segment that the client sends so often, 300 ms
    apart, before the server acknowledges it and reports so many times that it has come once more.
    The second point lacks the first transmission, whose number is -1."""
    ended = min(number for number, sent in path.sent.items() if sent.flags & FIN)
    frames = [each for each in path.frames if each[0] < ended]
    now = max(packet.time for _, packet in frames) + SECOND
    seq, ack = path.sent[ended].seq, path.sent[ended].ack
    if path.sent[ended].host:
        seq, ack = ack, seq
    stamp = now // 1_000_000 & 0xFFFFFFFF
    end, passes = (seq + 50) & 0xFFFFFFFF, 300_000_000
    segments = [(0, Sent(0, 0, seq, ack, 50, ACK, (), (stamp, 0)))] * times
    segments += [(1, Sent(0, 1, ack, end, 0, ACK, (), (stamp, stamp)))]
    segments += [(1, Sent(0, 1, ack, end, 0, ACK, ((seq, end),), (stamp, stamp)))] * reports
    for number, (host, sent) in enumerate(segments):
        now += passes if number <= times else 1_000_000
        data = path.frame(sent)
        for place, point in enumerate((1, 0) if host else (0, 1)):
            if number or not point:
                packet = Packet(now + place * HOP, point, data, len(data))
                frames.append((-1 - number, packet))
    return frames


def test_what_comes_once_more(tshark, scratch):
    """A segment that was sent n times has come each time if the receiver reports n - 1 times that
    it came once more: the second point has not captured the transmission that it lacks."""
    for times, reports, verdict in (
        (2, 1, NOT_CAPTURED),
        (3, 2, NOT_CAPTURED),
        (3, 1, UNDECIDED),
        (4, 3, NOT_CAPTURED),
    ):
        frames = sent_often(Connection(TcpPlan(), 40, 1).run(), times, reports)
        told, _ = tcp_told(tshark, scratch, frames)
        assert told == {-1: verdict}, (times, reports)


def spoiled(packet, at):
    """The packet as the second point has it, with a bit that is wrong."""
    data = packet.data[:at] + bytes([packet.data[at] ^ 16]) + packet.data[at + 1 :]
    return packet._replace(data=data, time=packet.time + HOP, interface=1 - packet.interface)


def test_damaged_segments(tshark, scratch):
    """TCP segments are damaged between the points: in their data or, without data, in their window.
    The points show the first kind as damaged; the second kind have other headers at the second
    point, and the first point is not said to miss them. Adapters that compute no checksum before
    the capture, and hosts that merge segments, damage nothing."""
    path = Connection(TcpPlan(lost=(0, 0.02, 0)), 60, 1).run()
    frames = [
        (each, packet._replace(data=with_checksum(packet.data))) for each, packet in path.frames
    ]
    damaged = [(each, packet) for each, packet in frames if path.fates[each] == BETWEEN]
    has_data = [each for each, packet in damaged if tcp(packet.data).data]
    more = [
        ((each, "damaged"), spoiled(packet, len(packet.data) - 1 if each in has_data else 49))
        for each, packet in damaged
    ]
    told, _ = tcp_told(tshark, scratch, frames + more)
    assert {each for each, verdict in told.items() if verdict == DAMAGED} == {
        (each, "damaged") for each in has_data
    }
    assert len(has_data) > 5 and set(told.values()) <= {LOST, REORDERED, UNDECIDED, DAMAGED}
    partial = [
        (each, packet._replace(data=packet.data[:50] + bytes(2) + packet.data[52:]))
        if packet.interface
        else (each, packet)
        for each, packet in frames
    ]
    assert DAMAGED not in tcp_told(tshark, scratch, partial)[0].values()


def of_port(data, port):
    """The frame with another port of the client."""
    at = 34 if data[26:30] == HOSTS[0] else 36
    return data[:at] + struct.pack(">H", port) + data[at + 2 :]


def test_plain_tcp(tshark, scratch):
    """A connection without the SMC-R option is compared, too, if its hosts have had a connection
    with the option before it; also if the second point's clock is far behind or ahead, and if only
    its end is captured. Else nothing is said of it."""
    plan = TcpPlan(lost=(0, 0.02, 0.01), missed=(0.01, 0.01), offers=False)
    path = Connection(plan, 40, 1).run()
    offer = Connection(TcpPlan(), 0, 2)
    offer.now -= SECOND
    offer = [(-1, each._replace(data=of_port(each.data, 39999))) for _, each in offer.run().frames]
    later = [(-1, each._replace(time=each.time + 9 * SECOND)) for _, each in offer]
    truly = [each for each in judged(path, {}) if each[1:3] == ("first only", BETWEEN)]
    for ahead in (0, 3 * SECOND, -3 * SECOND):
        for others in (offer, later):
            frames = [
                (number, each._replace(time=each.time + ahead * each.interface))
                for number, each in path.frames + others
            ]
            told, _ = tcp_told(tshark, scratch, frames)
            told.pop(-1, None)
            found = [each for each in judged(path, told) if each[3] is not None]
            assert [each for each in found if not each[-1]] == [], (ahead, others is offer)
            lost, undecided = (
                sum(each[3] == verdict for each in found) for verdict in (LOST, UNDECIDED)
            )
            if others is offer:
                assert lost + undecided >= len(truly) > 9 and lost > len(truly) / 2


def before_nat(packet):
    return packet._replace(data=behind_nat(packet.data, HOSTS[1]))


def test_plain_tcp_behind_nat(tshark, scratch):
    """NAT between the points: with `all`, a connection without SMC-R is compared, too, known by
    its SYN or, in the middle of the connection, by sequence numbers and bytes."""
    plan = TcpPlan(lost=(0, 0.02, 0.01), missed=(0.01, 0.01), offers=False)
    path = Connection(plan, 60, 1).run()
    data = random.Random(1).randbytes(1 << 16)  # what the hosts send: all zeros say nothing
    frames = [(number, with_bytes(packet, data)) for number, packet in path.frames]
    whole, _ = tcp_told(tshark, scratch, frames, *COMPARES_ALL)
    for begin in (0, 200):
        made = [
            (number, packet if packet.interface else before_nat(packet))
            for number, packet in frames
            if number >= begin
        ]
        told, _ = tcp_told(tshark, scratch, made, *COMPARES_ALL)
        found = [each for each in judged(path, told) if each[3] is not None]
        assert [each for each in found if not each[-1]] == []
        kept = {each: verdict for each, verdict in whole.items() if each >= 1.5 * begin}
        assert {each: told.get(each) for each in kept} == kept and len(kept) > 9
        assert tcp_told(tshark, scratch, made)[0] == {}


def short_connection(seed):
    """A connection of its own time, in which every seventh packet is lost between the points."""
    path = Connection(TcpPlan(lost=(0, 0.15, 0), busy=BUSY), 3, seed)
    path.now += seed * 100 * SECOND
    return path.run()


def test_short_connections(tshark, scratch):
    """Few segments of a connection show how soon its hosts answer: an acknowledgement that comes
    sooner after a retransmission nevertheless answers that, as its time stamp says."""
    paths = list(map(short_connection, range(60)))
    frames = [
        ((port, number), packet._replace(data=of_port(packet.data, 40000 + port)))
        for port, path in enumerate(paths)
        for number, packet in path.frames
    ]
    told, _ = tcp_told(tshark, scratch, frames)
    lost = 0
    for port, path in enumerate(paths):
        here = {number: each for (of, number), each in told.items() if of == port}
        last = max(path.sent)  # at the rim
        times_sent = collections.Counter(sent[1:] for sent in path.sent.values())
        found = [
            each
            for each in judged(path, here)
            if each[0] < last - 2 and times_sent[path.sent[each[0]][1:]] == 1
        ]
        assert [each for each in found if not each[-1]] == [], port
        lost += sum(verdict == LOST for *_, verdict, _ in found)
    assert lost >= 700


def test_translated_at_two_devices(tshark, scratch):
    """A host that captures on all devices shows each segment before and after NAT: both devices are
    points of the connections, and what one of them misses is said."""
    packets = translated(read(next((TOP / "captures").glob("*/6.1-v2-c-three-conns.pcapng*"))))
    made, count = [], 0
    for number, packet in enumerate(packets):
        segment = tcp(packet.data)
        is_service = bool(segment) and SERVICE in (segment.source, segment.target)
        if is_service and segment.data and number > 40 and not count:
            count += 1
            continue
        data = cooked(packet.data, 2 if is_service else 3)
        made.append(Packet(packet.time, 0, data, len(data)))
    ways = points(tshark, write(scratch / "nat.pcapng", made, ["any"], SLL2), "tcp")
    assert {way["from"] for way in ways} == {f"any, interface index {each}" for each in (2, 3)}
    assert sum(way["packets"] for way in ways) > 20
    for way in ways:
        missing = way["not_captured_from"] + way["not_captured_to"]
        assert way["packets"] == way["at_both"] + missing and way["lost"] == 0
    assert sum(way["not_captured_from"] + way["not_captured_to"] for way in ways) == count == 1
