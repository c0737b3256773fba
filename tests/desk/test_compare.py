"""plugin/compare (smcr-compare): captures of two hosts, whose clocks are apart; the log of the
switch between them says which frames it lost or held back."""

import collections
import gzip
import json
import os
import re
import shutil
import subprocess
import sys

import pytest
from bed import TOP, as_user

sys.path[:0] = [str(TOP / "tests" / "facts")]
from points_reader import (  # noqa: E402
    Packet,
    behind_nat,
    in_vxlan,
    one_hop_further,
    read,
    roce,
    write,
)
from points_simulator import BETWEEN, HOSTS as ENDS  # noqa: E402
from tcp_simulator import Connection, Plan  # noqa: E402

TIME_LIMIT = 60
LOST, LOST_AFTER, UNANSWERED, REORDERED, UNDECIDED = 1, 2, 3, 5, 9
SHOWN = re.compile(r"clock (-?[\d.]+) to (-?[\d.]+) s ahead of (\S+)'s, (\d+) packets in common")
HOSTS = {"A": "10.0.0.1", "B": "10.0.0.2"}


@pytest.fixture(scope="module")
def program(bed):
    copy = bed.scratch / f"compare-{os.getpid()}" / "smcr-compare"
    copy.parent.mkdir()
    shutil.copy(TOP / "plugin" / "compare", copy)
    copy.chmod(0o755)
    return copy


@pytest.fixture
def compare(program, tshark, scratch):
    """Runs the command; returns its result. Nothing that it makes stays."""
    temporary = scratch / "tmp"
    temporary.mkdir()
    temporary.chmod(0o777)

    def run(*arguments, **environment):
        result = subprocess.run(
            [program, *map(str, arguments)],
            env=tshark.environment | {"TMPDIR": temporary} | environment,
            capture_output=True,
            text=True,
            timeout=TIME_LIMIT,
            stdin=subprocess.DEVNULL,
            check=False,
            **as_user(),
        )
        assert list(temporary.iterdir()) == []
        return result

    return run


@pytest.fixture
def files(scratch):
    """Captures of both hosts, as files that everybody may read."""

    def unpack(name, part=slice(None)):
        made = []
        for host in "AB":
            packets = read(TOP / "captures" / "points" / f"{name}-{host}.pcapng.gz")[part]
            names = ("eth0", "eth1")
            made.append(write(scratch / f"{name}-{host}.pcapng", packets, names))
        return made

    return unpack


def roce_of(report):
    """The ways of RoCE packets between the points."""
    return [way for way in report["points"] if way["transport"] == "roce"]


def did(name):
    """{(address of the sender, opcode, PSN): how often the switch did something to such a frame}"""
    text = (TOP / "captures" / "points" / f"{name}.log").read_text(encoding="utf-8")
    found = re.findall(r"^[\d.]+ \d (\w) .* op=(\d+) .* psn=(\d+)$", text, re.MULTILINE)
    return collections.Counter((HOSTS[host], int(opcode), int(psn)) for host, opcode, psn in found)


def verdicts(tshark, path):
    """{verdict: {(sender, opcode, PSN): number of frames}}"""
    fields = ("smcr.point.verdict", "ip.src", "infiniband.bth.opcode", "infiniband.bth.psn")
    printed = tshark.run(
        *("-2", "-r", path, "-Y", "smcr.point.verdict && infiniband", "-T", "fields"),
        *(each for field in fields for each in ("-e", field)),
    )
    found = collections.defaultdict(collections.Counter)
    for verdict, source, opcode, psn in map(str.split, printed.splitlines()):
        found[int(verdict)][source, int(opcode), int(psn)] += 1
    return found


def test_loss_on_the_path(compare, tshark, files, scratch):
    """The switch lost 48 frames; each one is found, with its place."""
    first, second = files("path")
    kept = scratch / "out" / "merged.pcapng"
    kept.parent.mkdir()
    kept.parent.chmod(0o777)
    result = compare("-w", kept, first, second)
    assert (result.returncode, result.stderr) == (0, "")
    low, high, reference, common = SHOWN.search(result.stdout).groups()
    assert 137.24 < float(low) <= float(high) < 137.26 and reference == first.name
    assert int(common) == 4125
    text = " ".join(result.stdout.split())
    for host, other, count in (("A", "B", 11), ("B", "A", 37)):
        assert (
            f"{count} of 48 lost packets vanish between eth0@path-{host} and "
            f"eth0@path-{other}, {HOSTS[host]} → {HOSTS[other]}"
        ) in text
    found = verdicts(tshark, kept)
    assert found[LOST] == did("path")
    assert not found[UNDECIDED] and not found[LOST_AFTER] and not found[UNANSWERED]


def test_frames_held_back(compare, tshark, files, scratch):
    """The switch held 8 frames back and lost none. The order of the files does not matter."""
    first, second = files("reorder")
    kept = scratch / "out" / "merged.pcapng"
    kept.parent.mkdir()
    kept.parent.chmod(0o777)
    result = compare("-j", "-w", kept, second, first)
    assert result.returncode == 0
    ways = roce_of(json.loads(result.stdout))
    assert {way["src"]: way["reordered"] for way in ways} == {"10.0.0.1": 8, "10.0.0.2": 0}
    assert [way["from"].split("-")[-1] for way in ways if way["src"] == HOSTS["A"]] == ["A"]
    assert not any(way["lost"] + way["lost_after"] + way["undecided"] for way in ways)
    assert verdicts(tshark, kept)[REORDERED] == did("reorder")


def mirrored(path, host, scratch, routed=True):
    """A second point between a host and the switch, 20 us away and, if routed, one router
    further."""
    packets, address = read(path), bytes(map(int, HOSTS[host].split(".")))
    made = []
    for number, packet in enumerate(packets):
        headers = roce(packet.data)
        delay = 20_000 + number * 7919 % 500
        delay = delay if packet.data[26:30] == address else -delay
        data = packet.data
        if headers and routed and delay > 0:
            data = one_hop_further(data)
        made.append(Packet(packet.time + delay, 0, data, packet.length))
    return write(scratch / f"mirror-{host}.pcapng", made, ["eth0"])


@pytest.mark.parametrize(
    "host, part, least", [("A", slice(2700, None), 6), ("B", slice(0, 1800), 13)]
)
def test_loss_after_both_points(compare, tshark, files, scratch, host, part, least):
    """Both points lie between a host and the switch: what the switch loses of its frames is lost
    after both. An acknowledgement that a later one replaces, and a packet that was discarded
    anyway, show in no answer; all that is said is true."""
    pair = files("path", part)
    path = pair["AB".index(host)]
    kept = scratch / "out" / "merged.pcapng"
    kept.parent.mkdir()
    kept.parent.chmod(0o777)
    assert compare("-w", kept, path, mirrored(path, host, scratch)).returncode == 0
    truth = {each: count for each, count in did("path").items() if each[0] == HOSTS[host]}
    all_lost = {each[2] for each in did("path")}
    found = verdicts(tshark, kept)
    assert not found[LOST]
    assert all(each in truth for each in found[LOST_AFTER])
    assert all(each[2] in all_lost for each in found[UNANSWERED])
    assert sum((found[LOST_AFTER] + found[UNANSWERED]).values()) >= least


def test_three_points_and_other_traffic(compare, files, scratch):
    """A third point on the way is put in its place; a file with other traffic is named."""
    first, second = files("path", slice(2700, None))
    other = files("reorder", slice(0, 200))[0]
    middle = mirrored(first, "A", scratch, routed=False)
    result = compare("-j", first, middle, second, other)
    assert result.returncode == 0
    compared = "path-A.pcapng, mirror-A.pcapng, path-B.pcapng"
    assert f"reorder-A.pcapng: no packets in common with {compared}; not analysed" in result.stderr
    ways = roce_of(json.loads(result.stdout))
    names = [
        (way["from"].split("@")[1], way["to"].split("@")[1], way["lost"])
        for way in ways
        if way["src"] == HOSTS["A"]
    ]
    assert names == [("path-A", "mirror-A", 0), ("mirror-A", "path-B", 10)]


def test_one_point_in_a_tunnel(compare, files, scratch):
    """The second capture is of the underlay, where each frame is in VXLAN."""
    first, second = files("path", slice(2700, None))
    packets = [in_vxlan(each, 7) for each in read(second)]
    wrapped = write(scratch / "underlay.pcapng", packets, ["eth0", "eth1"])
    bare, inside = (
        roce_of(json.loads(compare("-j", first, other).stdout)) for other in (second, wrapped)
    )
    counts = [
        sorted((way["src"], way["packets"], way["at_both"], way["lost"]) for way in ways)
        for ways in (bare, inside)
    ]
    assert counts[0] == counts[1] and sum(way["lost"] for way in inside) > 10


def test_tcp_at_one_host_only(compare, files, scratch):
    """One host has TCP and RoCE, the other one RoCE only; one has TCP only, the other RoCE only."""
    first, second = files("path", slice(0, 1200))
    packets = [each for each in read(second) if roce(each.data)]
    bare = write(scratch / "bare.pcapng", packets, ["rdma0"])
    result = compare("-j", first, bare)
    report = json.loads(result.stdout)
    assert sum(way["lost"] for way in report["points"]) > 10
    assert len(report["connections"]) == 1

    tcp = [each for each in read(first) if not roce(each.data)]
    parts = compare("-j", write(scratch / "tcp.pcapng", tcp, ["eth0", "eth1"]), bare)
    report = json.loads(parts.stdout)
    assert "tcp.pcapng: TCP only\nbare.pcapng: RoCE only\nno packets in common" in parts.stderr
    assert (parts.returncode, report["points"]) == (0, []) and len(report["connections"]) == 1


SHARED = re.compile(r"^(\S+): clock .* ahead of (\S+)'s", re.MULTILINE)


def test_shapes_of_files(compare, files, tshark, scratch):
    """Files of other formats, cut and empty ones, other traffic in any place: what fits is
    compared, and each file that is not compared is named."""
    one, two = files("path", slice(0, 300))
    other, _ = files("reorder", slice(0, 100))
    whole = two.read_bytes()
    made = {"cut.pcapng": whole[: len(whole) // 2], "two.pcapng.gz": gzip.compress(whole)}
    for name, data in (*made.items(), ("none.pcap", b""), ("head.pcapng", whole[:28])):
        (scratch / name).write_bytes(data)
        (scratch / name).chmod(0o644)
    scratch.chmod(0o777)
    tshark.bed.edit("-F", "pcap", one, scratch / "one.pcap")
    (scratch / "one.pcap").chmod(0o644)
    cut, packed, none, head, old = (
        scratch / name for name in (*made, "none.pcap", "head.pcapng", "one.pcap")
    )
    nothing, unlike = "no TCP segment and no RoCE packet", "no packets in common with"
    both = f"{one.name}, {two.name}; not analysed"
    rows = (
        ((old, packed), [(packed, old)], []),
        ((two, one), [(one, two)], []),
        ((one, two, head), [(two, one)], [f"{head}: {nothing}", f"{head}: {unlike} {both}"]),
        ((other, one, two), [(two, one)], [f"{other}: {unlike} {both}"]),
        ((one, cut), [(cut, one)], [f"{cut}: the last packet is incomplete; compared up to there"]),
        ((none, head), [], [f"{none}: {nothing}", f"{head}: {nothing}"]),
        ((one, scratch), [], []),
    )
    for paths, pairs, sentences in rows:
        result = compare("-t", *paths)
        found = SHARED.findall(result.stdout)
        assert found == [(a.name, b.name) for a, b in pairs], (paths, result.stderr)
        assert all(sentence in result.stdout for sentence in sentences), result.stdout
        assert "Traceback" not in result.stderr and result.stderr.count("\n") == (not pairs)
        assert bool(result.returncode) != bool(pairs)
        assert ("|RoCE |" in result.stdout) == bool(pairs)


def test_plain_tcp_only(compare, scratch):
    """Neither RoCE nor a sign of SMC-R, and clocks that are apart: TCP is compared nevertheless,
    also if NAT changes the server's address between the points."""
    path = Connection(Plan(lost=(0, 0.02, 0), offers=False), 20, 1).run()
    lost = sum(part == BETWEEN for part in path.fates.values())
    for has_nat in (False, True):
        files = []
        for number, name in enumerate("AB"):
            packets = [each for _, each in path.frames if each.interface == number]
            packets = [
                each._replace(
                    interface=0,
                    time=each.time + number * 100 * 10**9,
                    data=behind_nat(each.data, ENDS[1]) if has_nat and number else each.data,
                )
                for each in packets
            ]
            files.append(write(scratch / f"{name}.pcapng", packets, ["eth0"]))
        ways = json.loads(compare("-j", *files).stdout)["points"]
        assert [way["transport"] for way in ways] == ["tcp", "tcp"]
        assert lost - 1 <= sum(way["lost"] for way in ways) <= lost and lost > 5


@pytest.mark.parametrize(
    "arguments, sentence, status",
    [
        (["path-A"], "two files or more are needed; see smcr-compare -h", 2),
        (["path-A", "path-A"], "{0} and {0} are the same file", 2),
        (["path-A", "reorder-B"], "the captures have no packets in common", 1),
        (["path-A", "nosuch"], "{1}: there is no such file", 2),
    ],
)
def test_what_cannot_be_compared(compare, files, scratch, arguments, sentence, status):
    for name in ("path", "reorder"):
        files(name, slice(0, 100))
    paths = [scratch / f"{name}.pcapng" for name in arguments]
    result = compare(*paths)
    assert (result.stdout, result.returncode) == ("", status)
    assert result.stderr == f"smcr-compare: {sentence.format(*paths)}\n"


def test_missing_parts(compare, tshark_without, files, scratch):
    """No plugin, no program of Wireshark: one sentence."""
    paths = files("path", slice(0, 100))
    words = "tshark does not load the SMC-R plugin; tshark -G plugins lists those that it has"
    result = compare(*paths, **tshark_without.environment)
    assert (result.stderr, result.returncode) == (f"smcr-compare: {words}\n", 2)
    result = compare(*paths, PATH=str(scratch))
    assert (result.stdout, result.returncode) == ("", 2)
    assert re.fullmatch(r"smcr-compare: \w+ is not installed\n", result.stderr)


def held(packets, number):
    """The packets, one of them 5 ms later."""
    late = packets[number]._replace(time=packets[number].time + 5_000_000)
    return packets[:number] + [late] + packets[number + 1 :]


def test_same_capture_under_two_names(compare, files, scratch):
    """A copy is known as such; a capture that misses one packet, or has one later, is no copy."""
    first, _ = files("reorder", slice(0, 300))
    packets = read(first)
    last = max(number for number, each in enumerate(packets[:290]) if roce(each.data))
    changes = (packets, packets[:last] + packets[last + 1 :], held(packets, last))
    said = []
    for number, changed in enumerate(changes):
        double = write(scratch / f"double-{number}.pcapng", changed, ["eth0", "eth1"])
        text = " ".join(compare(first, double).stdout.split())
        said.append("have the same packets at the same times: is it one capture?" in text)
    assert said == [True, False, False]
