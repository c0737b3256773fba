"""
Live: captures are sent over a wire of their own (network.py), and tshark, dumpcap and
plugin/monitor listen at the other end without being root. They say of the frames what tshark says
of the file.
"""

import contextlib
import json
import os
import pathlib
import re
import shutil
import sys

import fields
import pcapng
import pytest
import report_schema
from bed import ALL, PREFERENCES, TOP, USER, Tshark
from fresh import fresh
from network import LINK, Frame, count_written, frames_of, new_wire, until

# seconds from a frame to the line that shows it, unless dumpcap itself keeps frames that long
LATEST = 1
MARGIN = 0.25  # seconds: dumpcap reads so often, and two of them not at the same time
ATTEMPTS = 3  # to come in time and without loss
LIVE = ("tshark", "-n", "-l", *PREFERENCES, "-i", LINK)
HEARD = "tcp || udp.port == 4791 || eth.type == 0x8915"  # what plugin/monitor captures
DURATIONS = ("FT_RELATIVE_TIME", "FT_ABSOLUTE_TIME")
FAILOVER, ASYMMETRIC, LOSSY = (
    "6.1-v2-h1-two-links-second-fails",
    "6.1-v1-h3-asymmetric-links",
    "6.1-v2-n-lossy",
)
LATE = "6.1-v1-c2-capture-starts-late"
FEW, FORTY, SLOW = "6.1-v2-c-three-conns", "6.1-v2-q-forty-conns", "6.1-v2-d-bulk-slow-reader"

# How fast captures are sent: as captured, faster if that would take long, None: without a pause.
# The default run takes the first of them.
SPEEDS = [
    ("6.1-v2-j-http11", 1),
    (FORTY, None),
    ("6.1-v2-f1-decline-server-no-device", 1),
    ("6.1-v2-a-first-contact-ipv4", 1),
    (SLOW, 1),
    (FAILOVER, 4),
    ("6.1-v1-b-first-contact-ipv6", 1),
    (LOSSY, 1),
    (SLOW, None),
    (FAILOVER, None),
][: None if ALL else 3]
KEY_FIELDS = (
    "smcr.option",
    "smcr.clc.type",
    "smcr.llc.type",
    "smcr.cdc.seq",
    "smcr.stream",
    "smcr.link.number",
    "smcr.write.offset",
    "smcr.stream.offset",
    "smcr.cdc.len",
    "smcr.acks",
    "smcr.endpoint.src",
)
OF_TIME = {"smcr.window.late_update"}  # is raised where something took long
# Of space, where a packet of the reader comes later that may have been sent before (docs/limits.md)
# and of a request whose first packet comes later, out of order
WITHDRAWN = {
    "smcr.window.full",
    "smcr.window.opened",
    "smcr.window.late_update",
    "smcr.write.no_start",
}

# Of a report: what depends on when frames came, and findings, which say so in words.
MEMBERS_OF_TIME = re.compile(r"_s$|time|^findings$|^setup_longest$|^longest_waits$")
WITH_UNIT = re.compile(r"(?:below )?[\d.,]+(?: (?:ns|µs|ms|s|\w?bit/s)\b|/s\b| %)")


@pytest.fixture
def live(bed, tshark, scratch):
    """tshark whose dumpcap may write to `scratch`; its `reader` is for files, and shares what it
    has read."""
    scratch.chmod(0o777)
    live = Tshark(bed, TMPDIR=str(scratch))
    live.reader = tshark
    return live


@pytest.fixture
def stock(bed, scratch):
    """The same without the plugin."""
    return Tshark(bed, "none", TMPDIR=str(scratch))


# ---- what is compared ----


def names_of(live):
    """All fields of the plugin but durations."""
    return sorted(
        {
            name
            for name, kind, _, _ in live.reader.registered_fields()
            if kind not in DURATIONS and name not in OF_TIME
        }
    )


def fields_of(live, names=()):
    """Arguments that show frames' numbers, texts, and fields of the plugin: these, or all."""
    return [
        "-T",
        "fields",
        *(
            word
            for name in ("frame.number", "_ws.col.Info", *(names or names_of(live)))
            for word in ("-e", name)
        ),
    ]


def text_of(lines):
    return "".join(line for _, line in lines)


def without_times(report):
    """A report without what depends on when its frames came, and on the file."""
    if isinstance(report, list):
        return [without_times(each) for each in report]
    if isinstance(report, dict):
        return {
            name: without_times(value)
            for name, value in report.items()
            if not MEMBERS_OF_TIME.search(name)
        }
    return report


def report_of(live, path, *arguments):
    show = live.reader.show if isinstance(path, pathlib.Path) else live.reader.show_once
    return json.loads(show(path, *arguments, "-q", "-z", "smcr,json"))


def monitor_lines(text):
    """Lines of plugin/monitor without the time of day and durations."""
    return [
        re.sub(r"^( *\d+) [\d:.]+", r"\1", re.sub(r" after [\d.]+ s", "", line))
        for line in text.splitlines()
    ]


def copy_of_monitor(scratch):
    return shutil.copyfile(TOP / "plugin" / "monitor", scratch / "monitor")


def part_of(live, name, path, wanted):
    """Writes those frames of a capture that wanted(number) takes, with their times."""
    head, frames = pcapng.read(live.bed.capture(name))
    pcapng.write(path, head, [frame for frame in frames if wanted(frame.number)])
    return path


# ---- a replay, and who listens ----


class Replay:
    """
    A capture that is sent while tshark and plugin/monitor listen, and a tshark without the plugin,
    which tells what dumpcap takes: that of Wireshark 4.0 hands over frames twice a second.
    """

    def __init__(self, wire, live, stock, scratch, name, speed):
        self.frames, self.file = frames_of(live.bed.capture(name)), scratch / "captured.pcapng"
        self.shown = fields_of(live, () if speed is None else KEY_FIELDS)
        self.heard = set(live.reader.frames(name, HEARD))
        self.tshark, self.monitor = wire.listen(
            live,
            [*LIVE, "-P", "-w", self.file, *self.shown, "-z", "smcr,json"],
            [sys.executable, copy_of_monitor(scratch), "-i", LINK],
        )
        (self.stock,) = (
            wire.listen(stock, [*LIVE, "-T", "fields", "-e", "frame.number"]) if speed else [None]
        )
        whole = part_of(live, name, scratch / "heard.pcapng", self.heard.__contains__)
        expected = live.reader.run(scratch / "monitor", "-r", whole, program=sys.executable)
        self.monitor_expected = monitor_lines(expected)
        self.sent = wire.send(self.frames, speed)
        with contextlib.suppress(
            TimeoutError
        ):  # as far as they come: dumpcap says at its end whether it lost some
            until(lambda: len(self.tshark.lines) >= len(self.frames), "lines of tshark")
            until(
                lambda: len(self.monitor.lines) >= len(self.monitor_expected),
                "lines of the monitor",
            )
            until(
                lambda: not self.stock or len(self.stock.lines) >= len(self.frames),
                "lines of tshark",
            )
        for each in self.listeners:
            assert each.stop() == 0, each.errors
        self.lines, self.report = (
            self.tshark.lines[: len(self.frames)],
            self.tshark.lines[len(self.frames) :],
        )

    def lost(self):
        """Whether the kernel had no room for frames, as dumpcap tells its caller."""
        return any("dropped" in each.errors for each in self.listeners)

    @property
    def listeners(self):
        return [each for each in (self.tshark, self.monitor, self.stock) if each]

    def in_time(self):
        """Whether lines came in time; more of it where processes wait for a processor."""
        heard = [self.sent[number - 1] for number in sorted(self.heard)]
        stock, tshark = latest(self.stock.lines, self.sent), latest(self.lines, self.sent)
        share = max(1, os.getloadavg()[0] / os.cpu_count())
        return tshark <= share * max(LATEST, stock + MARGIN) and latest(
            self.monitor.lines, heard
        ) <= share * (LATEST + stock)


def latest(lines, sent):
    """Seconds of the line that came last after its frame, whose number it begins with."""
    return max(
        moment - sent[int(re.match(r" *(\d+)", line).group(1)) - 1] for moment, line in lines
    )


def replayed(wire, live, stock, scratch, name, speed):
    """A replay without loss, and in time if it is as fast as captured."""
    for attempt in range(ATTEMPTS):
        folder = scratch / str(attempt)
        folder.mkdir()
        folder.chmod(0o777)
        replay = Replay(wire, live, stock, folder, name, speed)
        if not replay.lost() and (not speed or replay.in_time()):
            break
    assert not replay.lost()
    assert not speed or replay.in_time()
    return replay


@pytest.mark.parametrize("name, speed", SPEEDS)
def test_replay(wire, live, stock, scratch, name, speed):
    replay = replayed(wire, live, stock, scratch, name, speed)
    assert [frame.data for frame in frames_of(replay.file)] == [
        frame.data for frame in replay.frames
    ]
    assert text_of(replay.lines) == live.reader.show_once(name, *replay.shown)
    assert monitor_lines(replay.monitor.text) == replay.monitor_expected
    report = json.loads(text_of(replay.report))
    assert report_schema.problems(report) == []
    assert report["capture"]["frames"] == len(replay.frames)
    assert without_times(report) == without_times(report_of(live, name))


@pytest.mark.parametrize("name", [ASYMMETRIC, FAILOVER, LOSSY, LATE])
def test_one_pass_does_not_lie(live, name):
    """What one pass, as a live capture is, says in an expert item, two passes say too, which know
    what came later."""
    items = sorted({each.filter for each in fields.experts()})
    one, two = (live.reader.fields(name, *items, two_pass=two_pass) for two_pass in (False, True))
    said = [
        [
            item
            for item, first, second in zip(items, *rows, strict=True)
            if first and not second and item not in WITHDRAWN
        ]
        for rows in zip(one, two, strict=True)
    ]
    assert any(map(any, one)) and [each for each in said if each] == []


def report_lines(text):
    """Lines of `-z smcr,report` without durations, shares, rates and dates, sorted: where the time
    went is by time."""
    return sorted(
        re.sub(r"[ ─]+", " ", WITH_UNIT.sub("#", line))
        for line in text.splitlines()
        if " UTC" not in line
    )


def test_report_on_interrupt(wire, live):
    (listener,) = wire.listen(live, [*LIVE, "-q", "-z", "smcr,report"])
    frames = frames_of(live.bed.capture(FEW))
    wire.send(frames, 1)
    until(lambda: listener.recorded() == len(frames), "dumpcap has not all frames")
    assert listener.stop() == 0
    assert report_lines(listener.text) == report_lines(
        live.reader.show(FEW, "-q", "-z", "smcr,report")
    )


@pytest.mark.parametrize("program", ["tshark", "monitor"])
def test_interrupt_loses_nothing(wire, live, scratch, program):
    """What dumpcap has written when the interrupt comes is shown."""
    monitor = [sys.executable, copy_of_monitor(scratch)]
    (listener,) = wire.listen(
        live, [*LIVE, *fields_of(live)] if program == "tshark" else [*monitor, "-i", LINK]
    )
    heard = set(live.reader.frames(FEW, HEARD))
    wire.send(frames_of(live.bed.capture(FEW), heard))
    until(lambda: listener.recorded() == len(heard), "dumpcap has not all frames")
    assert listener.stop() == 0
    path = part_of(live, FEW, scratch / "heard.pcapng", heard.__contains__)
    if program == "tshark":
        assert listener.text == live.reader.show(path, *fields_of(live))
    else:
        read = live.reader.run(monitor[1], "-r", path, program=sys.executable)
        assert monitor_lines(listener.text) == monitor_lines(read)


@pytest.mark.parametrize("limit, first", [(("-c", "100"), 100), (("-a", "duration:2"), 282)])
def test_json_at_the_end(wire, live, limit, first):
    """A capture that ends by itself."""
    (listener,) = wire.listen(live, [*LIVE, *limit, "-q", "-z", "smcr,json"])
    wire.send(frames_of(live.bed.capture(FEW)))
    assert listener.end() == 0
    report = json.loads(listener.text)
    assert report["capture"]["frames"] == first and report_schema.problems(report) == []
    assert without_times(report) == without_times(report_of(live, FEW, "-c", str(first)))


def test_begins_amid(wire, live, scratch):
    """Who begins to listen when the half is over knows as much as a file of the other half."""
    frames = frames_of(live.bed.capture(SLOW))
    half = len(frames) // 2
    wire.send(frames[:half])
    lines, report = wire.listen(live, [*LIVE, *fields_of(live)], [*LIVE, "-q", "-z", "smcr,json"])
    wire.send(frames[half:])
    until(
        lambda: lines.recorded() == report.recorded() == len(frames) - half,
        "dumpcap has not all frames",
    )
    until(lambda: len(lines.lines) == len(frames) - half, "not all lines come")
    assert lines.stop() == 0 and report.stop() == 0
    rest = part_of(live, SLOW, scratch / "rest.pcapng", lambda number: number > half)
    assert lines.text == live.reader.show(rest, *fields_of(live))
    found = json.loads(report.text)
    assert without_times(found) == without_times(report_of(live, rest))
    assert {each["began_before"] for each in found["connections"]} == {True}


# ---- ring buffers ----


def ring(scratch):
    return sorted(scratch.glob("ring_*"))


def test_ring_of_dumpcap(wire, live, scratch):
    """docs/json.md: a report of each file, and the sum is that of all frames."""
    (dumpcap,) = wire.listen(
        live,
        [
            "dumpcap",
            "-q",
            "-i",
            LINK,
            "-b",
            "filesize:100",
            "-b",
            "files:50",
            "-w",
            scratch / "ring",
        ],
    )
    frames = frames_of(live.bed.capture(FORTY))
    wire.send(frames)
    until(lambda: count_written(ring(scratch)) == len(frames), "dumpcap has not all frames")
    assert dumpcap.stop() == 0
    files = ring(scratch)
    assert len(files) > 2
    assert [frame.data for path in files for frame in frames_of(path)] == [
        frame.data for frame in frames
    ]
    reports = [report_of(live, path, "-2", "-o", "smcr.roce:TRUE") for path in files]
    assert [report_schema.problems(report) for report in reports] == [[]] * len(files)
    whole = report_of(live, FORTY, "-2", "-o", "smcr.roce:TRUE")
    assert sum(each["capture"]["frames"] for each in reports) == len(frames)
    assert len(whole["connections"]) == 40
    for what in ("packets", "bytes", "payload_bytes", "cnp"):
        parts = [each["summary"]["rdma_flows"][what] for each in reports]
        assert sum(each or 0 for each in parts) == whole["summary"]["rdma_flows"][what]


def test_ring_of_tshark(wire, live, scratch):
    """Every file begins anew: its lines are those of the file, and the report at the end is that of
    the last one."""
    kept = 3
    (tshark,) = wire.listen(
        live,
        [
            *LIVE,
            "-P",
            "-b",
            "filesize:100",
            "-b",
            f"files:{kept}",
            "-w",
            scratch / "ring",
            *fields_of(live),
            "-z",
            "smcr,json",
        ],
    )
    frames = frames_of(live.bed.capture(FORTY))
    wire.send(frames)
    until(lambda: len(tshark.lines) == len(frames), "not all lines come")
    assert tshark.stop() == 0
    files = ring(scratch)
    lines = tshark.text[: tshark.text.index("{\n")]
    report = json.loads(tshark.text[len(lines) :])
    assert len(files) == kept and lines.endswith(
        "".join(live.reader.show(path, *fields_of(live)) for path in files)
    )
    assert without_times(report) == without_times(report_of(live, files[-1]))


# ---- the wire itself ----


def test_who_listens(wire, live):
    """tshark and dumpcap are not root, so what is tested is what users have."""
    (tshark,) = wire.listen(live, [*LIVE, "-q"])
    owner = pathlib.Path(f"/proc/{tshark.process.pid}").stat().st_uid
    assert owner == int(live.run("-u", USER, program="id")) != 0
    assert tshark.stop() == 0


def namespaces():
    """Network namespaces that a process is in, or that this one holds."""
    for link in (
        *pathlib.Path("/proc").glob("[0-9]*/ns/net"),
        *pathlib.Path("/proc/self/fd").iterdir(),
    ):
        with contextlib.suppress(OSError):
            yield os.readlink(link)


def test_nothing_remains(wire, live):
    """The network and who listens go when the block ends, also where it fails."""
    with pytest.raises(ZeroDivisionError), new_wire() as other:
        other.listen(live, [*LIVE, "-q"])
        spaces = {os.readlink(space.path) for space in (other.sender, other.listener)}
        assert len(spaces & set(namespaces())) == 2
        raise ZeroDivisionError
    until(lambda: not spaces & set(namespaces()), "a network namespace remains")


def fresh_block(frame):
    block, data = frame.block, pcapng.data(frame)
    return block.replace(data, fresh(Frame(0, data), 1).data)


def test_fresh_hosts_are_new(live, scratch):
    """Captures that come again from other hosts (tests/desk/soak): all they have is there twice,
    and nothing else."""
    head, frames = pcapng.read(live.bed.capture(FEW))
    later = pcapng.time(frames[-1]) - pcapng.time(frames[0]) + 1_000
    again = [
        pcapng.at_time(frame._replace(block=fresh_block(frame)), pcapng.time(frame) + later)
        for frame in frames
    ]
    pcapng.write(scratch / "twice.pcapng", head, frames + again)
    once, twice = report_of(live, FEW), report_of(live, scratch / "twice.pcapng")
    for what in ("connections", "link_groups", "rdma_flows", "tcp_flows"):
        assert len(twice[what]) == 2 * len(once[what]) > 0
    assert twice["findings"] == once["findings"] == []
