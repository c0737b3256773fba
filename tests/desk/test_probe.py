"""
smcr-probe: dumpcap reads a pipe into which a capture is written, one tshark reads one file of the
ring. All frames are in the lines; what fails is a line, too; what could not be written is read by
the next run.
"""

import contextlib
import ipaddress
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import threading
import time

import lines
import pytest
from bed import ALL, TIME_LIMIT, TOP, as_user, captures
from fresh import find_tcp, fresh
from lines import of_kind
from network import LINK, count_written, descendants, frames_of, until as until_found

FORTY, FRAMES, CONNECTIONS = "6.1-v2-q-forty-conns", 1691, 40
OF_A_FILE = 400  # frames
BEGINNING = 100_000  # bytes of the capture: more than the first file, less than two
LOADS = "#!/bin/sh\n[ $1 != -G ] || exec echo smcr.so\n"  # tshark -G plugins
SLOW = f"{LOADS}sleep 1\n"
HANGS = f"{LOADS}[ -e hangs ] && exit 3\necho $$ > hangs\nexec sleep 1000\n"  # once
CAPTURES_FOR = 600 if ALL else 4  # seconds
MOST_MEMORY = 400  # MB, of all processes of the probe together
FAILS = f"{LOADS}echo 'tshark: no more' >&2\nexit 3\n"
REFUSES = """#!/bin/sh
echo "Capturing on 'lo'" >&2
echo 'dumpcap: You do not have permission to capture on device "lo".' >&2
printf '(socket: Operation not permitted)\n\nOn Debian, %0600d\n' 7 >&2
exit 1
"""


class Run:
    """A folder with a ring, a pipe to capture from, and an output."""

    def __init__(self, tshark, folder):
        self.tshark, self.folder = tshark, folder
        self.pipe, self.ring, self.output = folder / "pipe", folder / "ring", folder / "out"
        self.ring.mkdir()
        self.ring.chmod(0o777)
        os.mkfifo(self.pipe)
        self.pipe.chmod(0o666)
        self.path = os.environ["PATH"]

    def stand_in(self, name, text):
        """A program that stands in for another one."""
        programs = self.folder / "bin"
        programs.mkdir(exist_ok=True)
        (programs / name).write_text(text, encoding="utf-8")
        (programs / name).chmod(0o755)
        self.path = f"{programs}:{os.environ['PATH']}"

    def begin(self, *arguments, output=None):
        return subprocess.Popen(
            [self.tshark.bed.root / "plugin" / "probe", "-i", self.pipe, "-f", "", "-d", self.ring]
            + ["-b", f"packets:{OF_A_FILE}", "-o", output or self.output, *arguments],
            env={**self.tshark.environment, "TMPDIR": str(self.folder), "PATH": self.path},
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **as_user(),
        )

    def feed(self):
        """Writes the capture, and closes the pipe: then dumpcap ends."""
        with self.pipe.open("wb") as pipe:
            pipe.write(captures()[FORTY].read_bytes())

    def lines(self):
        return lines.read(self.output.read_text(encoding="utf-8"))

    def files(self):
        return sorted(each.name for each in self.ring.glob("*.pcapng"))


@pytest.fixture
def run(tshark, scratch):
    return Run(tshark, scratch)


def until(holds):
    deadline = time.monotonic() + TIME_LIMIT
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def events(found):
    return [each["probe"]["event"] for each in of_kind(found, "probe")]


def frames(found):
    return sum(each["capture"]["frames"] for each in of_kind(found, "capture"))


def test_each_frame_is_in_the_lines(run, tshark):
    probe = run.begin("-O", "host=node7", "-T", "-osmcr.roce:TRUE")
    run.feed()
    _, errors = probe.communicate(timeout=TIME_LIMIT)
    found = run.lines()
    assert (probe.returncode, errors, run.files()) == (0, "", [])
    assert frames(found) == FRAMES and {each["host"] for each in found} == {"node7"}
    count = -(-FRAMES // OF_A_FILE)
    assert events(found) == ["start", *count * ["file"], "stop"]
    assert all(each["capture"]["smcr_roce"] for each in of_kind(found, "capture"))
    stop = of_kind(found, "probe")[-1]["probe"]
    assert (stop["received"], stop["dropped"]) == (FRAMES, 0)
    assert [each["probe"]["lines"] for each in of_kind(found, "probe")[1:-1]] == [
        len(part) for part in parts_of(found)
    ]
    whole = {each["uid"] for each in lines.lines_of(tshark, FORTY) if each["line"] == "connection"}
    own = [each for each in of_kind(found, "connection") if not each["uid_partial"]]
    assert {each["uid"] for each in own} == whole


def parts_of(found):
    """The lines of each file: those before the line of the probe about it."""
    part = []
    for each in found[1:-1]:
        if each["line"] == "probe":
            yield part
            part = []
        else:
            part.append(each)


def test_a_signal_ends_it(run):
    """What has been captured is read before."""
    probe = run.begin()
    with run.pipe.open("wb") as pipe:
        pipe.write(captures()[FORTY].read_bytes())
        pipe.flush()
        until(lambda: run.output.exists() and frames(run.lines()) >= OF_A_FILE)
        probe.send_signal(signal.SIGTERM)
        _, errors = probe.communicate(timeout=TIME_LIMIT)
    assert (probe.returncode, errors, run.files()) == (0, "", [])
    assert frames(run.lines()) == FRAMES and events(run.lines())[-1] == "stop"


def test_a_slow_reader_is_reported(run):
    """One file may wait, and tshark takes a second for each."""
    run.stand_in("tshark", SLOW)
    probe = run.begin("-n", "1")
    with run.pipe.open("wb") as pipe:
        pipe.write(captures()[FORTY].read_bytes())
        pipe.flush()
        until(lambda: run.output.exists() and "skipped" in events(run.lines()))
    probe.communicate(timeout=TIME_LIMIT)
    found = [each["probe"] for each in of_kind(run.lines(), "probe")]
    skipped = [each for each in found if each["event"] == "skipped"]
    assert all(each["bytes"] > 1000 and each["file"] for each in skipped)
    assert len(skipped) + events(run.lines()).count("file") == -(-FRAMES // OF_A_FILE)


def test_the_ring_is_bounded_while_tshark_stands_still(run):
    """tshark hangs with the first file: the ring keeps as many files as may wait, and the rest has
    lines when tshark has been ended."""
    run.stand_in("tshark", HANGS)
    probe = run.begin("-n", "1")
    data = captures()[FORTY].read_bytes()
    with run.pipe.open("wb") as pipe:
        pipe.write(data[:BEGINNING])
        pipe.flush()
        until((run.folder / "hangs").exists)
        pipe.write(data[BEGINNING:])
        pipe.flush()
        until(lambda: len(run.files()) == 3 and run.files()[1].startswith("smcr_00004"))
        reader = int((run.folder / "hangs").read_text())
        os.kill(reader, signal.SIGKILL)
        probe.send_signal(signal.SIGTERM)
    probe.communicate(timeout=TIME_LIMIT)
    found = [each["probe"] for each in of_kind(run.lines(), "probe")]
    skipped = [each["file"] for each in found if each["event"] == "skipped"]
    failed = [each for each in found if each["event"] == "failed"]
    assert failed and failed[0]["text"] == "tshark was ended by signal 9"
    assert skipped and run.files() == []
    assert len(set(skipped) | {each["file"] for each in failed}) == -(-FRAMES // OF_A_FILE)


def test_a_tshark_that_fails_is_reported(run):
    run.stand_in("tshark", FAILS)
    probe = run.begin()
    run.feed()
    probe.communicate(timeout=TIME_LIMIT)
    failed = [each["probe"] for each in of_kind(run.lines(), "probe")[1:-1]]
    assert failed and {(each["event"], each["text"]) for each in failed} == {
        ("failed", "tshark: no more")
    }


def test_what_is_missing_is_said_in_a_sentence(run, tshark_without):
    """No right to capture, no plugin, no tshark, no dumpcap. Then files that wait are kept."""
    run.stand_in("dumpcap", REFUSES)
    assert run.begin().wait(TIME_LIMIT) == 1
    failed = [each["probe"] for each in of_kind(run.lines(), "probe")[1:]]
    assert failed and {(each["event"], each["text"]) for each in failed} == {
        (
            "failed",
            'dumpcap: You do not have permission to capture on device "lo". / '
            "(socket: Operation not permitted)",
        )
    }
    run.output.unlink()
    shutil.copy(captures()[FORTY], run.ring / "smcr_00001_20260101000000.pcapng")
    run.tshark = tshark_without
    words = "tshark does not load the SMC-R plugin; tshark -G plugins lists those that it has"
    programs = run.folder / "bin"
    for missing, said in (
        ("", words),
        ("tshark", "tshark is not installed"),
        ("dumpcap", "dumpcap is not installed"),
    ):
        if missing:
            (programs / missing).unlink(missing_ok=True)
            run.path = str(programs)
        probe = run.begin()
        _, errors = probe.communicate(timeout=TIME_LIMIT)
        assert (probe.returncode, errors) == (1, f"probe: {said}\n")
    assert len(run.files()) == 1 and not run.output.exists()


def test_a_file_that_dumpcap_could_not_finish_is_read(run):
    """dumpcap was killed, and its last file ends within a frame. The lines have each whole frame,
    and the probe's line says that the file is cut, and how many lines it has."""
    path = run.ring / "smcr_00001_20260101000000.pcapng"
    path.write_bytes(captures()[FORTY].read_bytes()[:BEGINNING])
    path.chmod(0o666)
    whole = count_written([path])
    probe = run.begin()
    run.feed()
    probe.communicate(timeout=TIME_LIMIT)
    found = run.lines()
    cut = [each["probe"] for each in of_kind(found, "probe") if each["probe"]["event"] == "failed"]
    assert [each["file"] for each in cut] == [path.name] and "cut short" in cut[0]["text"]
    assert cut[0]["lines"] == len(next(parts_of(found)))
    assert whole > 0 and frames(found) == FRAMES + whole and run.files() == []


def test_what_could_not_be_written_is_read_by_the_next_run(run):
    """A full disk, then another output: each frame is in it once."""
    probe = run.begin(output="/dev/full")
    _, errors = probe.communicate(timeout=TIME_LIMIT)
    assert probe.returncode == 2 and "No space left" in errors
    shutil.copy(captures()[FORTY], run.ring / "smcr_00001_20260101000000.pcapng")
    (run.ring / "smcr_00001_20260101000000.pcapng").chmod(0o666)
    probe = run.begin()
    run.feed()
    probe.communicate(timeout=TIME_LIMIT)
    assert frames(run.lines()) == 2 * FRAMES and run.files() == []


def memory(pid):
    """MB that a process has now, with all that it has started."""
    total = 0
    for folder in (pathlib.Path("/proc", str(pid)), *descendants(pid)):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            total += int((folder / "statm").read_text().split()[1])
    return total * os.sysconf("SC_PAGE_SIZE") / 1e6


def community_ids(sent):
    """Community IDs of the TCP connections of frames, over IPv4."""
    found = set()
    for data in (each.data for each in sent):
        at = find_tcp(data)
        if at is not None:
            ports = struct.unpack_from(">HH", data, at)
            hosts = ipaddress.ip_address(data[26:30]), ipaddress.ip_address(data[30:34])
            found.add(lines.community_id(*zip(hosts, ports)))
    return found


class Watch(threading.Thread):
    """Looks at the memory of a probe until it ends: [(seconds since the start, MB)]."""

    def __init__(self, process):
        super().__init__(daemon=True)
        self.process, self.seen, self.start_time = process, [], time.monotonic()

    def run(self):
        while self.process.poll() is None:
            self.seen.append((time.monotonic() - self.start_time, memory(self.process.pid)))
            time.sleep(0.2)

    def most(self, late):
        """The most in the first half of the time, or in the second (late)."""
        middle = self.seen[-1][0] / 2
        return max(mb for second, mb in self.seen if (second > middle) == late)


@pytest.mark.timeout(3 * CAPTURES_FOR + 60)
def test_a_wire_in_a_network_of_its_own(wire, tshark, scratch):
    """Frames of two hosts go over a link, in each round of new hosts, while the probe captures
    there into files of two seconds. Each frame that was sent is in the lines of one file, each
    connection in those of one or more, and the memory of the probe has a bound."""
    ring, output = scratch / "ring", scratch / "out"
    ring.mkdir()
    for each in (scratch, ring):
        each.chmod(0o777)
    before = wire.listener.listeners()
    probe = wire.start(
        *(tshark, tshark.bed.root / "plugin" / "probe", "-i", LINK, "-d", ring, "-o", output),
        *("-f", "", "-b", "duration:2", "-T", "-osmcr.roce:TRUE"),
    )
    watch = Watch(probe.process)
    watch.start()
    until_found(lambda: wire.listener.listeners() > before, "nobody listens")
    every, frames_sent, rounds, named = frames_of(captures()[FORTY]), 0, 0, set()
    end = time.monotonic() + CAPTURES_FOR
    while time.monotonic() < end:
        sent = [fresh(each, rounds) for each in every]
        named |= community_ids(sent)
        frames_sent += len(wire.send(sent, speed=2))
        rounds += 1
    time.sleep(1)  # dumpcap hands on what it has received twice a second
    probe.process.send_signal(signal.SIGTERM)
    assert probe.end() == 0, probe.errors
    watch.join()
    found = lines.read(output.read_text(encoding="utf-8"))
    print(
        f"{rounds} rounds, {frames_sent} frames, {events(found).count('file')} files, "
        f"{len(found)} lines; memory at most {watch.most(False):.0f} MB in the first half of the "
        f"time, {watch.most(True):.0f} MB in the second"
    )
    assert frames(found) == frames_sent and not list(ring.glob("*.pcapng"))
    assert set(events(found)) == {"start", "file", "stop"} and len(events(found)) >= 4
    stop = of_kind(found, "probe")[-1]["probe"]
    assert (stop["received"], stop["dropped"]) == (frames_sent, 0)
    assert len(named) == rounds * CONNECTIONS
    for kind in ("connection", "tcp"):
        found_of = {each.get("community_id") for each in of_kind(found, kind)}
        assert found_of - {None} == named, kind
    assert watch.most(True) < MOST_MEMORY, watch.seen


def test_systemd_takes_the_unit(tshark, scratch):
    """systemd-analyze knows all settings of the unit, with a program that is there."""
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not here")
    text = (TOP / "plugin" / "smcr-probe.service").read_text(encoding="utf-8")
    assert text.count("ExecStart=/usr/bin/smcr-probe ") == 1
    program = tshark.bed.root / "plugin" / "probe"
    for added, is_right in (("", True), ("MemoryMost=2G\n", False)):
        unit = scratch / "smcr-probe.service"
        unit.write_text(
            text.replace("/usr/bin/smcr-probe", str(program)).replace(
                "MemoryMax=", f"{added}MemoryMax="
            ),
            encoding="utf-8",
        )
        made = subprocess.run(
            ["systemd-analyze", "verify", "--man=no", unit],
            capture_output=True,
            text=True,
            timeout=TIME_LIMIT,
        )
        assert (str(unit) not in made.stderr) == is_right, made.stderr


def test_wrong_words(tshark):
    probe = tshark.bed.root / "plugin" / "probe"
    options = {"capture_output": True, "text": True, "timeout": TIME_LIMIT}
    for words in ([], ["-i", "x"], ["-i", "x", "-d", "/no"], ["-i", "x", "-d", "/", "-n", "0"]):
        made = subprocess.run([probe, *words], env=tshark.environment, **options)
        assert made.returncode == 1 and made.stderr.startswith("probe: ")
    made = subprocess.run([probe, "-h"], env=tshark.environment, **options)
    assert made.returncode == 0 and "-O OPTIONS" in made.stdout
