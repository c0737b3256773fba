"""One tshark that writes lines, looked at while connections come and go: what the plugin has
allocated and not freed (own.c), and what the whole process takes."""

import functools
import os
import pathlib
import struct
import subprocess
import threading

import started
import workloads
from measure import PLUGIN, SILENT, Command, Table

LINES = ("-z", "smcr,lines")
CONNECTION = b'{"schema":"smcr-lines/1","line":"connection"'
LOOKS = 20  # rows of the table
MEGABYTE = 1e6


def own(bed):
    """The library that counts."""
    return bed.root / "own.so"


def resident(pid):
    """Bytes of memory that a process has now."""
    pages = int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def seconds(pid):
    """CPU time of a process, of the user and the system."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


class Flat:
    """A table, with a row whenever so many further connections have their lines."""

    def __init__(self, bed, count):
        self.every = max(1, count // LOOKS)
        self.connections = self.lines = 0
        self.counters = bed.scratch / "own"
        self.counters.write_bytes(bytes(16))
        self.counters.chmod(0o666)
        scene = functools.partial(workloads.in_one_group, count=count)
        self.command = Command(bed, PLUGIN, scene, (*SILENT, *LINES))
        started.build(own(bed), pathlib.Path(__file__).with_name("own.c"))
        self.environment = {"LD_PRELOAD": str(own(bed)), "SMCR_OWN": str(self.counters)}
        self.table = Table(
            "Lines of connections one after the other, one pass",
            "connections",
            "lines",
            "the plugin's own, MB",
            "at most so far, MB",
            "whole process, MB",
            "CPU time, s",
        )

    def look(self, pid):
        now, most = struct.unpack("=QQ", self.counters.read_bytes())
        self.table.row(
            self.connections,
            self.lines,
            *(f"{number / MEGABYTE:.2f}" for number in (now, most)),
            f"{resident(pid) / MEGABYTE:.0f}",
            f"{seconds(pid):.1f}",
        )

    def read(self, process):
        for line in process.stdout:
            self.lines += 1
            if line.startswith(CONNECTION):
                self.connections += 1
                if self.connections % self.every == 0:
                    self.look(process.pid)

    def run(self):
        process = self.command.start(environment=self.environment, stdout=subprocess.PIPE)
        reader = threading.Thread(target=self.read, args=[process], daemon=True)
        reader.start()
        usage = self.command.finish(process)
        reader.join()
        print(
            f"\n{self.connections} connections, {self.lines} lines; at most "
            f"{usage.ru_maxrss * 1024 / MEGABYTE:.0f} MB, "
            f"{usage.ru_utime + usage.ru_stime:.1f} s of CPU time."
        )
