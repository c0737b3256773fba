"""
The first table of tests/performance.md: what the plugin may cost, and what it costs. Each row is
one function here; it yields (what, value, target), or more of them.
"""

import functools
import re

import workloads
from bed import TOP
from carriers import Tcp
from measure import PLUGIN, SILENT, STOCK, Command, Table, Window, against, in_turn
from repeats import repeats

PAYLOAD_OFF = ("-o", "smcr.dissect_payload:FALSE")
REPORT, JSON = ("-z", "smcr,report"), ("-z", "smcr,json")
QUIET = ("-q",)
FRAMES, CONNECTIONS, TIMES = (1500, 6000), (2000, 12_000), (2, 6)
TREE_TIMES = (1, 2)
WINDOW_FRAMES = (500, 1500)
SLOW = 1000  # microseconds between frames
MANY = (30_000, 100_000, 300_000)  # connections
IN_TIME = 200_000  # frames whose CPU time is taken
PROGRAMS = TOP / "captures" / "applications"
PAIRS = {
    "HTTP/1.1": ("http11-smcr", "http11-tcp"),
    "TLS 1.2 with HTTP/1.1": ("tls12-smcr", "tls12-tcp"),
}
CLICKS = (1, 100, 400)  # frames that the window shows
WINDOW = (
    ("frames", {"filter": "tcp || udp.port == 4791"}),
    *(("frame", {"frame": number, "proto": True, "bytes": True}) for number in CLICKS),
)


class Targets:
    def __init__(self, bed, captures, runs, folder):
        """`folder`: of pairs NAME-smcr.pcapng, NAME-tcp.pcapng of programs, or None."""
        self.bed, self.captures, self.runs, self.folder = bed, captures, runs, folder

    # ---- how to measure ----

    def count(self, command, **how):
        words = f"{command.build} {command.capture} {command.arguments}"
        return command.instructions(self.bed.scratch / re.sub(r"\W+", "-", words)[-200:], **how)

    def of_each(self, measured, sizes, commands):
        """What one more of the scene's units takes: `measured` of the two commands that
        commands(size) makes, a (command, units) each."""
        (one, few), (other, many) = (commands(size) for size in sizes)
        return (measured(other) - measured(one)) / (many - few)

    def command(self, size, scene=workloads.bulk, build=PLUGIN, arguments=(), **details):
        """(command, frames)"""
        path, frames = self.captures.get(scene, size, **details)
        return Command(self.bed, build, path, tuple(arguments)), frames

    def per_frame(self, *arguments, build=PLUGIN, scene=workloads.bulk, **details):
        command = functools.partial(
            self.command, scene=scene, build=build, arguments=arguments, **details
        )
        return self.of_each(self.count, FRAMES, command)

    def per_connection(self, scene, build=PLUGIN, arguments=(), **details):
        """Bytes of memory."""

        def command(count):
            path, _ = self.captures.get(scene, count, **details)
            return Command(self.bed, build, path, (*SILENT, *arguments)), count

        return self.of_each(Command.peak, CONNECTIONS, command)

    def ratio_of_times(self, *arguments):
        """Arguments are the plugin's: stock does not know its preferences."""
        plugin, _ = self.command(IN_TIME, build=PLUGIN, arguments=arguments)
        stock, _ = self.command(IN_TIME, build=STOCK)
        return in_turn(plugin, stock, self.runs).ratio

    # ---- rows ----

    def bulk(self):
        stock, summary = self.per_frame(build=STOCK), self.per_frame()
        yield "bulk, summary, instructions of stock", summary / stock, 0.90
        yield "the same, payload off", self.per_frame(*PAYLOAD_OFF) / stock, 0.85
        report = self.per_frame("-2", *QUIET, *REPORT)
        yield "bulk, `-2 -q -z smcr,report`, of the summary", report / summary, 1.40
        yield "bulk, `-q -z smcr,report`, of the summary", (
            self.per_frame(*QUIET, *REPORT) / summary
        ), None
        yield "bulk, `-q -z smcr,json`, of the summary", (
            self.per_frame(*QUIET, *JSON) / summary
        ), 1.05

    def times(self):
        yield "bulk, summary, CPU time of stock", self.ratio_of_times(), 0.95
        yield "the same, payload off", self.ratio_of_times(*PAYLOAD_OFF), None

    def programs(self):
        pairs = {
            name: [PROGRAMS / f"{each}.pcapng" for each in pair] for name, pair in PAIRS.items()
        }
        for path in sorted(self.folder.glob("*-smcr.pcapng")) if self.folder else ():
            name = path.name.removesuffix("-smcr.pcapng")
            pairs[name] = (path, path.with_name(f"{name}-tcp.pcapng"))
        for name, paths in pairs.items():
            for arguments, times, target in (((), TIMES, 1.30), (("-2", "-V"), TREE_TIMES, 1.35)):
                ours, control = (
                    self.per_repeat(path, build, arguments, times)
                    for path, build in zip(paths, (PLUGIN, STOCK))
                )
                what = " ".join((name, *arguments))
                yield f"{what}, whole work, of the same over TCP", ours / control, target

    def per_repeat(self, path, build, arguments, times):
        """Instructions."""
        keys = path.with_suffix(".keys")
        if keys.exists():
            arguments = ("-o", f"tls.keylog_file:{keys}", *arguments)

        def command(number):
            return self.command(number, repeats, build, arguments, path=path)[0], number

        return self.of_each(self.count, times, command)

    def memory(self):
        """Open at the same time within seconds, or for minutes, or one after the other."""
        for what, scene, details, target in (
            ("short connections", workloads.connections, {}, 2500),
            ("with a frame each millisecond", workloads.connections, {"tick": SLOW}, 2500),
            ("one after the other", workloads.in_sequence, {}, 600),
        ):
            plugin = self.per_connection(scene, **details)
            stock = self.per_connection(scene, STOCK, **details)
            yield f"{what}, bytes above stock each", plugin - stock, target
            for tap in (REPORT, JSON):
                taken = self.per_connection(scene, arguments=tap, **details) - plugin
                yield f"{what}, `{tap[1]}`, bytes above the same pass each", taken, 2000

    def many(self):
        """A report of many connections in one process: is it linear? Takes half an hour."""
        before = (0, 0, 0)
        for count in MANY:
            scene = functools.partial(workloads.connections, count=count)
            usage = Command(self.bed, PLUGIN, scene, (*SILENT, *REPORT)).usage()
            now = (count, usage.ru_maxrss * 1024, usage.ru_utime + usage.ru_stime)
            each = [(one - less) / (count - before[0]) for one, less in zip(now, before)]
            yield f"{count} connections with a report, bytes of a further one", each[1], None
            yield "the same, microseconds", each[2] * 1e6, None
            before = now

    def start(self):
        path, _ = self.captures.get(workloads.nothing)
        plugin, stock = (
            self.count(Command(self.bed, build, path), at_start=True) for build in (PLUGIN, STOCK)
        )
        yield "start, instructions above stock", plugin - stock, 15_000_000

    def others(self):
        for what, details in (
            ("bulk over TCP", {"scene": workloads.bulk, "carrier": Tcp}),
            ("short HTTP connections over TCP", {"scene": workloads.short_http}),
            ("RoCE of a storage protocol", {"scene": workloads.storage}),
        ):
            plugin, stock = (self.per_frame(build=build, **details) for build in (PLUGIN, STOCK))
            yield f"{what}, summary, of stock", plugin / stock, 1.005

    def window(self):
        def command(frames, build):
            path, number = self.captures.get(workloads.bulk, frames)
            return Window(self.bed, build, path, WINDOW), number

        plugin, stock = (
            self.of_each(self.count, WINDOW_FRAMES, functools.partial(command, build=build))
            for build in (PLUGIN, STOCK)
        )
        yield "sharkd, bulk: loading, a filter, clicks, of stock", plugin / stock, 1.05

    def all(self, names):
        table = Table("Targets", "what", "now", "target")
        for name in names or SHORT:
            for what, value, target in getattr(self, name)():
                digits = 0 if value > 100 else 3
                table.row(what, f"{value:.{digits}f}", against(value, target))


SHORT = ("start", "bulk", "programs", "memory", "others", "window", "times")  # ten minutes
ROWS = (*SHORT, "many")
