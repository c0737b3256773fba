"""
PAUSE and PFC frames: the report says of each port and class, and of the flows that stood still,
what a reader of the bytes finds; at any speed of the link, in made captures and in captures made at
random. The page speaks of pauses by default, whatever RoCE the capture has.
"""

import collections
import random
import re
import sys

import pause_reader
import pytest
from scapy.utils import rdpcap, wrpcap
from bed import TOP
from report_runs import ALL_TWO, ONE, TWO, parse, print_json
from report_schema import problems

sys.path.insert(0, str(TOP / "tests" / "synth"))
from smcsynth import pause, roce  # noqa: E402
from smcsynth.capture import Capture  # noqa: E402
from smcsynth.story import CLIENT_V2, SERVER_V2  # noqa: E402

MADE = ["pause-pfc", "pause-odd"]
PATHS = {name: next((TOP / "captures").glob(f"*/{name}.pcap")) for name in MADE}
SPEEDS = [0, 1, 25, 400]
SWITCH = "02:00:00:00:00:99"
QUEUE_PAIR = 0x5D3
FILTER = "macc.opcode == 0x0001 || macc.opcode == 0x0101"
SEEDS = range(24)
SUMS = ("frames", "resumes", "cut", "quanta", "paused_s", "paused_most_s")


def json_of(tshark, path, speed=0, run=ALL_TWO, options=()):
    return parse(
        print_json(
            tshark,
            tshark.bed.capture(path),
            run,
            options=("-o", f"smcr.link_speed:{speed}", *options),
        )
    )


def nanoseconds(seconds):
    return None if seconds is None else round(seconds * 1e9)


def found_pauses(report):
    """The entries of the report as the reader has them."""
    found = {}
    for entry in report["pauses"]:
        place = pause_reader.ALL if entry["kind"] == "pause" else pause_reader.NONE
        place = place if entry["priority"] is None else entry["priority"]
        found[entry["port_mac"], place] = {
            **{
                name: entry[name]
                for name in (
                    *("kind", "frames", "resumes", "cut", "quanta", "first_frame", "last_frame"),
                )
            },
            **{name: nanoseconds(entry[name]) for name in ("paused_s", "paused_most_s")},
        }
    return found


def found_standstills(report):
    return {
        (flow["src"], flow["dst"], flow["dst_qpn"]): pause_reader.Standstill(
            flow["pause"]["standstills"],
            *(nanoseconds(flow["pause"][name]) for name in ("still_s", "still_most_s")),
        )
        for flow in report["rdma_flows"]
        if flow["pause"] and flow["pause"]["standstills"]
    }


def found_runs(report):
    """The intervals of the report as the reader has them, by port and class."""
    found = {}
    for entry in report["pauses"]:
        place = pause_reader.ALL if entry["kind"] == "pause" else pause_reader.NONE
        place = place if entry["priority"] is None else entry["priority"]
        found[entry["port_mac"], place] = [
            {
                **{
                    name: each[name]
                    for name in ("begin_frame", "last_frame", "resume_frame", "frames")
                },
                "begin": epoch(each["begin_time"]),
                "end": epoch(each["end_most_time"]),
                "most": nanoseconds(each["paused_most_s"]),
            }
            for each in entry["intervals"]
        ]
        assert {each["paused_s"] is None for each in entry["intervals"]} <= {
            report["capture"]["link_speed"] is None
        }
    return found


def expected_runs(path, speed):
    return {key: pause_reader.runs(rows, speed) for key, rows in pause_reader.pauses(path).items()}


def epoch(text):
    seconds, decimals = text.split(".")
    return int(seconds) * 10**9 + int(decimals)


def names_of_flows(report):
    return {
        flow["index"]: (flow["src"], flow["dst"], flow["dst_qpn"]) for flow in report["rdma_flows"]
    }


def check_flows_of_runs(report, path, speed):
    """Each interval names the flow that stood still in it for longest, and how many did."""
    names, count = names_of_flows(report), 0
    for entry in report["pauses"]:
        place = pause_reader.ALL if entry["kind"] == "pause" else entry["priority"]
        key = (entry["port_mac"], place)
        rows = pause_reader.runs(pause_reader.pauses(path).get(key, []), speed)
        for each, run in zip(entry["intervals"], rows):
            expected = pause_reader.flows_in(run, key, path, speed)
            assert each["still_flows"] == len(expected)
            assert nanoseconds(each["still_most_s"]) == max(expected.values(), default=None)
            assert (names.get(each["flow"]) in expected) == bool(expected)
            count += len(expected)
    return count


def check_standstills_of_flows(report, path, speed):
    packets = pause_reader.flows(path)
    for flow in report["rdma_flows"]:
        found = flow["pause"]["intervals"] if flow["pause"] else []
        key = (flow["src"], flow["dst"], flow["dst_qpn"])
        assert [
            (
                *(each["begin_frame"], each["end_frame"]),
                *(nanoseconds(each[name]) for name in ("still_s", "still_most_s")),
            )
            for each in found
        ] == [
            (before.number, after.number, *paused)
            for before, after, *paused in pause_reader.longest_standstills(
                path, packets[key], speed
            )
        ]


def check_stops(report, path, speed):
    """The flows that stopped for good, and how many they are."""
    packets, count = pause_reader.flows(path), 0
    for flow in report["rdma_flows"]:
        found = flow["pause"] and flow["pause"]["stopped"]
        key = (flow["src"], flow["dst"], flow["dst_qpn"])
        expected = pause_reader.stop(path, packets[key], speed)
        times = ("silent_s", "still_s", "still_most_s")
        assert expected == (
            found and (found["since_frame"], *(nanoseconds(found[name]) for name in times))
        )
        count += expected is not None
    return count


def check_bounds(report, path):
    """How long a flow was paused on a link of any speed lies between the bounds."""
    known = report["capture"]["link_speed"]
    speeds = [known] if known else [*SPEEDS[1:], pause_reader.FASTEST]
    packets = pause_reader.flows(path)
    for flow in report["rdma_flows"]:
        key = (flow["src"], flow["dst"], flow["dst_qpn"])
        for each in flow["pause"]["intervals"] if flow["pause"] else []:
            for speed in speeds:
                paused = pause_reader.paused_between(
                    path, packets[key], each["begin_frame"], each["end_frame"], speed
                )
                least, most = (nanoseconds(each[name]) for name in ("still_s", "still_most_s"))
                assert least <= paused <= most


def expected_standstills(path, speed):
    found = {
        key: pause_reader.standstills(path, packets, speed)
        for key, packets in pause_reader.flows(path).items()
    }
    return {
        (str(src), str(dst), qpn): each for (src, dst, qpn), each in found.items() if each.count
    }


# ---- against the bytes ----


@pytest.mark.parametrize("speed", SPEEDS)
@pytest.mark.parametrize("name", MADE)
def test_pauses_of_ports(tshark, name, speed):
    report = json_of(tshark, PATHS[name], speed)
    assert report["capture"]["link_speed"] == (speed or None)
    assert found_pauses(report) == pause_reader.entries(PATHS[name], speed)
    assert found_runs(report) == expected_runs(PATHS[name], speed)
    [finding] = [each for each in report["findings"] if each["kind"] == "pause"]
    assert finding["count"] == pause_reader.count_of_frames(PATHS[name])


@pytest.mark.parametrize("speed", SPEEDS)
def test_flows_that_stand_still(tshark, speed):
    report = json_of(tshark, PATHS["pause-pfc"], speed)
    expected = expected_standstills(PATHS["pause-pfc"], speed)
    assert found_standstills(report) == expected and len(expected) == 1
    assert check_flows_of_runs(report, PATHS["pause-pfc"], speed) >= 2
    check_standstills_of_flows(report, PATHS["pause-pfc"], speed)
    [flow] = [each["pause"] for each in report["rdma_flows"] if each["pause"]]
    assert flow["port_mac"] == SERVER_V2.mac
    assert flow["longest"]["begin_frame"] < flow["longest"]["end_frame"]


def test_the_filter_finds_the_frames(tshark):
    """As many frames as the finding counts, and the first one is that of the finding."""
    for name in MADE:
        [finding] = [
            each for each in json_of(tshark, PATHS[name])["findings"] if each["kind"] == "pause"
        ]
        assert finding["filter"] == FILTER
        shown = tshark.fields(name, "frame.number", where=FILTER)
        assert len(shown) == finding["count"] and int(shown[0][0][0]) == finding["frame"]


# ---- at random ----


def packet(capture, source, destination, psn, priority):
    """An RDMA WRITE of one packet. `priority` None: without a VLAN tag."""
    ib = (
        roce.bth(roce.WRITE_ONLY, dest_qp=QUEUE_PAIR, psn=psn)
        + roce.reth(0x10000, 0x1234, 8)
        + b"8 bytes."
    )
    vlan = None if priority is None else 7
    frame = roce.rocev2_frame(source, destination, ib, vlan=vlan)
    if priority is not None:
        frame = frame[:14] + bytes([frame[14] | priority << 5]) + frame[15:]
    capture.add(frame)


def random_capture(seed):
    """
    A flow with a packet each 20 to 60 us. Now and then a port pauses some classes: the flow stops
    or does not, and the pause is renewed, ended, both or neither.
    """
    dice, capture = random.Random(seed), Capture()
    port = dice.choice([SERVER_V2.mac, SERVER_V2.mac, SWITCH])
    priority = dice.choice([None, 0, 3, 3])
    psn = 0
    for _ in range(dice.randrange(3, 8)):
        for _ in range(dice.randrange(1, 30)):
            packet(capture, CLIENT_V2, SERVER_V2, psn, priority)
            psn += 1
            capture.now += dice.randrange(-80, -40)
        classes = dice.sample(range(8), dice.randrange(0, 3)) + [3] * dice.randrange(2)
        everything = dice.random() < 0.2
        for quanta in [dice.choice([100, 20000, 65535])] * dice.randrange(1, 12) + [0] * (
            dice.randrange(2)
        ):
            capture.add(
                pause.pause(port, quanta)
                if everything
                else pause.pfc(port, dict.fromkeys(classes, quanta))
            )
            capture.now += dice.randrange(0, 900)
            if dice.random() < 0.1:
                packet(capture, CLIENT_V2, SERVER_V2, psn, priority)
                psn += 1
    packet(capture, CLIENT_V2, SERVER_V2, psn, priority)
    if seed % 2 == 0:
        storm_to_the_end(capture, random.Random(f"storm {seed}"), port, priority)
    return capture


def storm_to_the_end(capture, dice, port, priority):
    """The flow's class, or class 3, is paused after the last packet, at once or later, to the end
    or for a time. Packets without a VLAN tag are stopped by PAUSE frames."""
    frame = pause.pause(port, 65535) if priority is None else pause.pfc(port, {priority: 65535})
    if dice.random() < 0.1:
        frame = pause.pfc(port, {3: 65535})
    capture.wait(dice.choice([0] * 8 + [0.02]))
    for _ in range(dice.choice([60] * 8 + [2])):
        capture.add(frame)
        capture.now += dice.randrange(100, 250)
    capture.wait(dice.choice([0] * 8 + [0.2]))
    capture.add(pause.pfc(port, {5: 1}))


@pytest.mark.parametrize("seed", SEEDS)
def test_random_pauses(tshark, seed):
    """Without the speed of the link, no more standstill than the reader finds."""
    path = tshark.bed.scratch / f"pause-{seed}.pcap"
    path.write_bytes(random_capture(seed).pcap())
    for speed in (0, 10, 100):
        report = json_of(tshark, path, speed)
        assert found_pauses(report) == pause_reader.entries(path, speed)
        assert found_runs(report) == expected_runs(path, speed)
        expected = expected_standstills(path, speed)
        if speed:
            check_flows_of_runs(report, path, speed)
            check_standstills_of_flows(report, path, speed)
            assert found_standstills(report) == expected
        check_stops(report, path, speed)
        for key, standstill in found_standstills(report).items():
            assert standstill.least <= standstill.most <= expected[key].most
        check_bounds(report, path)


def test_random_pauses_have_standstills(tshark):
    """Some of the captures above have standstills, and some have pauses without any. In some the
    flow stops for good, and in some it ends before the pauses, or long before the capture."""
    counts, stops = [], []
    for seed in SEEDS:
        path = tshark.bed.scratch / f"pause-of-seed-{seed}.pcap"
        path.write_bytes(random_capture(seed).pcap())
        counts.append(sum(each.count for each in expected_standstills(path, 10).values()))
        if seed % 2 == 0:
            [packets] = pause_reader.flows(path).values()
            stops.append(pause_reader.stop(path, packets, 10))
    assert sum(count > 1 for count in counts) > 5 and sum(count == 0 for count in counts) > 3
    assert len(stops) // 4 <= stops.count(None) <= len(stops) * 3 // 4


# ---- the page ----


def page_of(tshark, path, *options):
    return tshark.run(
        "-n", "-2", *options, "-r", tshark.bed.capture(path), "-q", "-z", "smcr,report"
    )


def other_roce(tshark):
    """RoCE of other programs, and 300 PFC frames in 0.6 s."""
    capture = Capture()
    for psn in range(20):
        packet(capture, CLIENT_V2, SERVER_V2, psn, 3)
    for _ in range(300):
        capture.add(pause.pfc(SERVER_V2.mac, {3: 0xFFFF}))
        capture.wait(0.0019)
    packet(capture, CLIENT_V2, SERVER_V2, 20, 3)
    path = tshark.bed.scratch / "pause-other-roce.pcap"
    path.write_bytes(capture.pcap())
    return path


def test_the_page_speaks_of_pauses_by_default(tshark):
    path = other_roce(tshark)
    page = " ".join(page_of(tshark, path).split())
    assert "No fault" not in page
    assert "paused class 3" in page and "with 300 PFC frames" in page
    assert "flows are not analysed without -o smcr.roce:TRUE" in page
    assert f"{SERVER_V2.mac} class 3: 300 frames, 19,660,500 quanta" in page
    known = " ".join(page_of(tshark, path, *("-o", "smcr.roce:TRUE")).split())
    assert re.search(r"sent nothing for 600 ms \(\d.* to 600 ms paused\)", known)
    with_speed = ("-o", "smcr.roce:TRUE", "-o", "smcr.link_speed:100")
    fast = " ".join(page_of(tshark, path, *with_speed).split())
    assert "sent nothing for 600 ms (101 ms paused)" in fast
    cut = path.with_name("pause-no-last-packet.pcap")
    wrpcap(str(cut), rdpcap(str(path))[:-1])
    with_speed = ("-o", "smcr.roce:TRUE", "-o", "smcr.link_speed:10")
    stopped = " ".join(page_of(tshark, cut, *with_speed).split())
    assert "stopped for the last 598 ms (598 ms paused)" in stopped
    capture = Capture()
    for _ in range(12):
        capture.add(pause.pfc(SERVER_V2.mac, {}))
        capture.wait(0.001)
    path = tshark.bed.scratch / "pause-no-class.pcap"
    path.write_bytes(capture.pcap())
    page = " ".join(page_of(tshark, path).split())
    assert f"Port {SERVER_V2.mac} paused no class with 12 PFC frames; no effect on senders" in page
    assert page.endswith(f"{SERVER_V2.mac} no class: 12 frames")
    for _ in range(12):
        capture.add(pause.pfc(SERVER_V2.mac, {4: 0}))
        capture.wait(0.001)
    path.write_bytes(capture.pcap())
    page = " ".join(page_of(tshark, path).split())
    assert "paused class 4 for no time with 12 PFC frames; all have 0 quanta" in page
    assert "class 4: 12 frames, 0 quanta, no time" in page
    capture.add(pause.pfc(SERVER_V2.mac, {3: 0xFFFF}))  # still in force when the capture ends
    capture.wait(0.001)
    capture.add(pause.pfc(SERVER_V2.mac, {}))
    path.write_bytes(capture.pcap())
    page = " ".join(page_of(tshark, path).split())
    assert "class 3: 1 frame, 65,535 quanta, ≤28 ms" in page
    assert "paused class 3 for" in page and "more) with" not in page  # the others end pauses


@pytest.mark.parametrize(
    "frames, apart, quiet, options, severity",
    [
        (300, 0.0019, 0.0, (), "warn"),  # a storm
        (300, 0.0019, 60.0, (), "warn"),  # a storm in a long capture
        (1, 0.0019, 0.6, (), "note"),  # 34 ms at 1 Gbit/s, which nothing renews
        (40, 0.2, 0.0, (), "warn"),  # at 1 Gbit/s a sixth of the time
        (40, 2.0, 0.0, (), "note"),  # a sixtieth
        (40, 0.2, 0.0, ("-o", "smcr.link_speed:400"), "note"),  # 3.4 ms
        (300, 0.0019, 60.0, ("-o", "smcr.link_speed:400"), "warn"),  # 25 ms
    ],
)
def test_the_part_of_the_time_gives_the_severity(
    tshark, scratch, frames, apart, quiet, options, severity
):
    capture = Capture()
    capture.wait(quiet)
    for _ in range(frames):
        capture.add(pause.pfc(SWITCH, {3: 0xFFFF}))
        capture.wait(apart)
    packet(capture, CLIENT_V2, SERVER_V2, 1, 3)
    path = scratch / "pauses.pcap"
    path.write_bytes(capture.pcap())
    [finding] = json_of(tshark, path, options=options)["findings"]
    assert finding["severity"] == severity, finding


def test_one_pass_says_the_same(tshark):
    one, two = (json_of(tshark, PATHS["pause-pfc"], 25, run) for run in (ONE, TWO))
    assert one["pauses"] == two["pauses"] and one["pauses"]
    assert found_standstills(one) == found_standstills(two)


def test_without_pauses_nothing_is_said(tshark):
    path = TOP / "captures" / "synthetic" / "rocev1-vlan.pcap"
    report = json_of(tshark, path)
    assert report["pauses"] == []
    assert "Pauses" not in page_of(tshark, path)


def test_frames_are_shown_as_before(tshark):
    """Wireshark's own dissector shows MAC control; no field of ours is in these frames."""
    assert tshark.fields("pause-odd", "frame.number", where=f"({FILTER}) && smcr") == []
    shown = tshark.fields("pause-pfc", "macc.cbfc.pause_time.c3", where="macc.opcode == 0x0101")
    assert sum(row[0] != [] for row in shown) == 44


def test_a_million_frames_are_one_entry(tshark):
    """Of a thousand here, and of a million in unit/test_pause.c: ports and classes count. Each
    pause is over before the next one, so there are more intervals than are kept."""
    capture = Capture()
    for _ in range(1000):
        capture.add(pause.pfc(SWITCH, {3: 7}))
    path = tshark.bed.scratch / "pause-many.pcap"
    path.write_bytes(capture.pcap())
    report = json_of(tshark, path, 10)
    assert found_runs(report) == expected_runs(path, 10)
    [entry] = report["pauses"]
    assert len(entry["intervals"]) == pause_reader.RUNS_MOST
    assert (entry["frames"], entry["quanta"], entry["has_flow"]) == (1000, 7000, False)
