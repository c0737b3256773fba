"""A copy of a started program does what a program does that starts for this run: text, complaints,
exit status, crash."""

import os
import pathlib
import re
import signal
import subprocess
import threading
import time

import pytest
import samples
import sharkd
from bed import BUILDS, Tshark
from started import cpu_seconds

ANEW = {"stdin": subprocess.DEVNULL}  # whoever gives a stream gets no copy
CAPTURE = "6.1-v1-h1-two-links-second-fails"


def result(completed):
    return completed.returncode, completed.stdout, completed.stderr


@pytest.mark.parametrize(
    "name, arguments",
    samples.combinations(
        [CAPTURE, "vectors", "none"],
        [
            ("-V", "-x"),
            ("-2", "-T", "json"),
            ("-q", "-z", "smcr,report", "-z", "io,phs"),
            ("-Y", "no filter =="),
            ("-o", "no.preference:1"),
            ("--no-option",),
        ],
    ),
)
def test_tshark(tshark, tshark_without, name, arguments):
    for each in (tshark, tshark_without):
        path = each.bed.root / "none" if name == "none" else each.bed.capture(name)
        assert result(each.start("-r", path, *arguments)) == result(
            each.start("-r", path, *arguments, **ANEW)
        )
        assert each.started().is_ready


def test_lists_of_tshark(tshark):
    """In any order: that of fields differs from start to start. 4.6 counts plugins only after it
    has loaded them."""

    def lines(result):
        return sorted(
            line for line in result.stdout.splitlines() if " Plugins: supported" not in line
        )

    for arguments in (("-G", "fields"), ("-G", "currentprefs"), ("-v",), ("-h",)):
        one, other = tshark.start(*arguments), tshark.start(*arguments, **ANEW)
        assert lines(one) == lines(other) != []
        assert one.stderr == other.stderr and one.returncode == other.returncode


def test_sharkd(tshark, scratch):
    requests = [sharkd.load(tshark.bed.capture(CAPTURE)), *map(sharkd.frame, range(1, 40))]
    path = scratch / "requests"
    path.write_text("\n".join(sharkd.lines(requests)) + "\n")
    with path.open() as stdin:
        anew = tshark.start("-", program="sharkd", stdin=stdin)
    copy = tshark.start("-", program="sharkd", input=path.read_text())
    assert [without_unset(each) for each in result(copy)] == [
        without_unset(each) for each in result(anew)
    ]
    assert tshark.started("sharkd").is_ready


def without_unset(text):
    """Where a follower has no filter, sharkd of 4.4 prints a number that nobody has set."""
    return re.sub(r'("filter":null,"stream":)\d+', r"\1", str(text))


def test_runs_know_nothing_of_each_other(tshark):
    """What one run sets, the next one has not."""
    arguments = (
        "-r",
        tshark.bed.capture(CAPTURE),
        "-T",
        "fields",
        "-e",
        "frame.time_epoch",
        "-e",
        "_ws.col.Protocol",
    )
    before = tshark.start(*arguments)
    assert (
        tshark.start(*arguments, "--disable-protocol", "smcr", "-o", "gui.column.format:").stdout
        != before.stdout
    )
    assert result(tshark.start(*arguments)) == result(before)


def test_bytes(tshark):
    """Without an encoding the output is bytes, with it lines end in one way."""
    path = tshark.bed.capture(CAPTURE)
    for options in ({"encoding": None, "errors": None}, {}):
        for arguments in (
            ("-r", path, "-w", "-"),
            ("-r", path, "-T", "fields", "-E", "separator=/r", "-e", "frame"),
        ):
            assert result(tshark.start(*arguments, **options)) == result(
                tshark.start(*arguments, **options, **ANEW)
            )


def copies(server):
    return pathlib.Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT])
def test_crash(tshark, scratch, number):
    """The copy waits for the capture, and dies of a signal."""

    def crash(server):
        while not copies(server):
            time.sleep(0.01)
        os.kill(int(copies(server)[0]), number)

    tshark.start("-v")
    os.mkfifo(scratch / "capture")
    (scratch / "capture").chmod(0o644)
    killer = threading.Thread(target=crash, args=[tshark.started().process])
    killer.start()
    assert tshark.start("-r", scratch / "capture").returncode == -number
    killer.join()
    assert tshark.start("-v").returncode == 0


def test_time_limit(bed, scratch):
    """Whoever exceeds it is stopped. The next run works."""
    tshark = Tshark(bed, TMPDIR=str(scratch))
    os.mkfifo(scratch / "capture")
    (scratch / "capture").chmod(0o644)
    with pytest.raises(subprocess.TimeoutExpired):
        tshark.start("-r", scratch / "capture", timeout=1)
    assert not tshark.started().is_ready
    assert tshark.start("-v").returncode == 0


def test_cpu_time_counts_once(bed, scratch):
    """A program that ends takes no time for copies that were counted when they ran."""
    tshark = Tshark(bed, TMPDIR=str(scratch))
    started = tshark.started()
    begun = cpu_seconds()
    for _ in range(10):
        tshark.show(CAPTURE, "-V")
    ran = cpu_seconds()
    started.close()
    assert started.copies == 0 and cpu_seconds() - ran < (ran - begun) / 2
    started.close()


def test_a_complaint_at_start_is_one_of_each_run(bed):
    """A program that says something when it starts is not copied."""
    (bed.scratch / "smcr.so").write_text("This is no plugin.")
    bed.add_plugin(bed.scratch / "smcr.so", "complains")
    tshark = Tshark(bed, "complains")
    for _ in range(2):
        assert "smcr.so" in tshark.start("-v").stderr
    assert not tshark.started().is_ready


def test_the_plugin_takes_no_part_in_what_copies_leave_out():
    """epan_cleanup() calls what asks for it by these names; a copy does not."""
    symbols = subprocess.run(
        ["nm", "-D", BUILDS / "debug" / "smcr.so"], capture_output=True, text=True, check=True
    ).stdout
    assert "register_cleanup_routine" in symbols  # of a capture
    assert not re.search("register_shutdown_routine|epan_register_plugin", symbols)
