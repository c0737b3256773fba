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


WIDTH, HEIGHT, MARGIN = 720, 260, 60  # of the picture, pixels
PICTURE = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"
 font-family="sans-serif" font-size="13"><title>Memory while connections come and go</title>
<rect width="{width}" height="{height}" fill="#fff"/>
<path d="M{margin} {margin}V{bottom}H{right}" fill="none" stroke="#444"/>
<polyline points="{process}" fill="none" stroke="#888" stroke-width="2"/>
<polyline points="{own}" fill="none" stroke="#06c" stroke-width="3"/>
<text x="{margin}" y="24">MB; grey: the whole process, up to {top:,.0f};</text>
<text x="{margin}" y="44" fill="#06c">blue: the plugin's own, from {least:.1f} to {most:.1f}</text>
<text x="{right}" y="{below}" text-anchor="end">{connections:,} connections</text>
</svg>
"""


def picture(rows):
    """A picture of rows (connections, bytes of the plugin's own, bytes of the process)."""
    across = (WIDTH - 2 * MARGIN) / rows[-1][0]
    up = (HEIGHT - 2 * MARGIN) / max(row[2] for row in rows)
    places = [
        " ".join(
            f"{MARGIN + row[0] * across:.1f},{HEIGHT - MARGIN - row[i] * up:.1f}" for row in rows
        )
        for i in (1, 2)
    ]
    own = [row[1] / MEGABYTE for row in rows]
    return PICTURE.format(
        width=WIDTH,
        height=HEIGHT,
        margin=MARGIN,
        bottom=HEIGHT - MARGIN,
        right=WIDTH - MARGIN,
        below=HEIGHT - MARGIN + 20,
        own=places[0],
        process=places[1],
        top=max(row[2] for row in rows) / MEGABYTE,
        least=min(own),
        most=max(own),
        connections=rows[-1][0],
    )


class Flat:
    """A table, with a row whenever so many further connections have their lines. `folder`: gets the
    same as a picture, flat.svg; None: no picture."""

    def __init__(self, bed, count, folder):
        self.folder, self.rows = folder, []
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
        process = resident(pid)
        self.rows.append((self.connections, now, process))
        self.table.row(
            self.connections,
            self.lines,
            *(f"{number / MEGABYTE:.2f}" for number in (now, most)),
            f"{process / MEGABYTE:.0f}",
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
        if self.folder:
            (self.folder / "flat.svg").write_text(picture(self.rows), encoding="utf-8")
