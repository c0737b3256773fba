"""Whole processes: CPU time and peak memory as the kernel counts them, instructions as callgrind or
QEMU does."""

import itertools
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
from dataclasses import dataclass

import started
from bed import TOP, Tshark, as_user

sys.path.append(str(TOP / "tests" / "facts"))

import sharkd  # noqa: E402

STOCK, PLUGIN = "none", "release"
SILENT = ("-Y", "frame.number == 0")  # dissects everything, prints nothing


def repeated(bed):
    """The library that makes runs alike."""
    return bed.root / "repeated.so"


def counted(bed):
    """QEMU's plugin."""
    return bed.root / "counted.so"


def build_libraries(bed):
    for library in repeated(bed), counted(bed):
        started.build(library, pathlib.Path(__file__).with_name(f"{library.stem}.c"))


@dataclass(frozen=True)
class Command:
    """tshark with or without the plugin on a capture; a capture that is a function is generated
    into a pipe."""

    bed: object
    build: str
    capture: object
    arguments: tuple = ()

    def words(self):
        """The program and its arguments."""
        capture = "-" if callable(self.capture) else str(self.capture)
        return [shutil.which("tshark"), "-n", "-r", capture, *self.arguments]

    def standard_input(self):
        """As subprocess takes it; into a pipe finish() writes the capture."""
        return subprocess.PIPE if callable(self.capture) else subprocess.DEVNULL

    def start(self, prefix=(), environment=None, **options):
        command = [*prefix, *self.words()]
        environment = Tshark(self.bed, self.build).environment | (environment or {})
        return subprocess.Popen(
            command,
            env=environment,
            cwd=self.bed.root,
            stdin=self.standard_input(),
            **as_user(),
            **options,
        )

    def finish(self, process):
        if process.stdin:
            with process.stdin as file:
                self.capture(file)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0, (self, process.returncode)
        return usage

    def usage(self):
        return self.finish(self.start(stdout=subprocess.DEVNULL))

    def cpu(self):
        """Seconds, of the user and the system."""
        usage = self.usage()
        return usage.ru_utime + usage.ru_stime

    def peak(self):
        """Bytes of memory."""
        return self.usage().ru_maxrss * 1024

    def all_instructions(self):
        """As QEMU counts them, from the start of the process to its end: only differences of two
        captures tell something."""
        process = self.start(
            (
                "setarch",
                "-R",
                "qemu-x86_64",
                "-plugin",
                str(counted(self.bed)),
                "-E",
                f"LD_PRELOAD={repeated(self.bed)}",
            ),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        text = process.stderr.read().decode()
        self.finish(process)
        return int(re.search(r"instructions: (\d+)", text).group(1))

    def instructions(self, profile, at_start=False):
        """As callgrind counts them, the same in each run (repeated.c); `profile` is where its
        output goes. `at_start`: of the whole process, not only from the opening of the capture."""
        process = self.start(
            (
                "setarch",
                "-R",
                "valgrind",
                "--tool=callgrind",
                f"--instr-atstart={'yes' if at_start else 'no'}",
                f"--callgrind-out-file={profile}",
            ),
            {"LD_PRELOAD": str(repeated(self.bed))},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        text = process.stderr.read().decode()
        self.finish(process)
        return int(re.search(r"Collected : (\d+)", text).group(1))


@dataclass(frozen=True)
class Window(Command):
    """Wireshark without its window: loads the capture, then asks what `arguments` have, requests
    of sharkd."""

    def words(self):
        return [shutil.which("sharkd"), "-"]

    def standard_input(self):
        requests = [sharkd.load(self.capture), *self.arguments]
        return started.memory("\n".join([*sharkd.lines(requests), ""]).encode())


@dataclass(frozen=True)
class Pair:
    """Medians of two commands that took turns, and of the ratios of neighbours."""

    first: float
    second: float
    ratio: float
    low: float
    high: float


def in_turn(first, second, runs):
    """CPU time of two commands, A B A B ..., after a run of each that does not count."""
    first.cpu(), second.cpu()
    rows = [(first.cpu(), second.cpu()) for _ in range(runs)]
    ratios = [a / b for a, b in rows]
    a, b = (statistics.median(column) for column in zip(*rows))
    return Pair(a, b, statistics.median(ratios), min(ratios), max(ratios))


def costs(command, runs):
    """(median CPU time, peak memory) of so many runs."""
    usages = [command.usage() for _ in range(runs)]
    return (
        statistics.median(usage.ru_utime + usage.ru_stime for usage in usages),
        max(usage.ru_maxrss for usage in usages) * 1024,
    )


def means_in_turn(commands, runs):
    """Mean CPU time of each of some commands that took turns."""
    rows = [[command.cpu() for command in commands] for _ in range(runs)]
    return [statistics.fmean(column) for column in zip(*rows)]


class Table:
    """A table in Markdown, printed row by row."""

    def __init__(self, title, *columns):
        self.columns = columns
        print(f"\n### {title}\n")
        print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}")

    def row(self, *values):
        assert len(values) == len(self.columns)
        print(f"| {' | '.join(map(str, values))} |", flush=True)


def against(value, target):
    """The verdict on a figure that should not be above its target."""
    if target is None:
        return ""
    return f"<= {target} {'met' if value <= target else '**missed**'}"


class Captures:
    """Captures of a bed, generated when they are asked for."""

    def __init__(self, bed):
        self.bed, self.made, self.number = bed, {}, itertools.count()

    def get(self, scene, *arguments, **options):
        """(path, frames)"""
        key = scene, arguments, tuple(options.items())
        if key not in self.made:
            path = self.bed.scratch / f"{scene.__name__}-{next(self.number)}.pcap"
            with path.open("wb") as file:
                frames = scene(file, *arguments, **options)
            path.chmod(0o644)
            self.made[key] = path, frames
        return self.made[key]

    def remove(self, scene):
        """Those of the scene take no room any more."""
        for key in [key for key in self.made if key[0] is scene]:
            self.made.pop(key)[0].unlink()
