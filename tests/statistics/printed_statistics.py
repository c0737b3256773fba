"""What tshark and sharkd print of statistics, as Python has it; and the program that does what the
window does."""

import collections
import contextlib
import re
import struct

import sharkd
from bed import BUILDS, Tshark
from scapy.utils import RawPcapNgReader, RawPcapReader

Row = collections.namedtuple("Row", "filter index name count least most mean total")  # microseconds

SRT_ROW = re.compile(
    r" *(\d+)  (.+?) +(\d+) +(\d+\.\d{6}) +(\d+\.\d{6}) +(\d+\.\d{6}) +(\d+\.\d{6})"
)
TREE_ROW = re.compile(r"^( *)(\S.*?) {2,}(\d+)(?: |$)")
TABLES = {
    "smcr.clc.step": "CLC",
    "smcr.llc.step": "LLC",
    "smcr.response_time && smcr.cdc.type": "CDC",
}
PROGRAM = "tests/statistics/window"


def microseconds(text):
    return round(float(text) * 1_000_000)


def srt(tshark, capture, where="", options=("-2",)):
    """Rows of -z smcr,srt."""
    tap = f"smcr,srt,{where}" if where else "smcr,srt"
    rows, table = [], None
    for line in tshark.show(capture, *options, "-q", "-z", tap).splitlines():
        if line.startswith("Filter: "):
            table = line.removeprefix("Filter: ").removesuffix(
                f" and ({where})"
            )  # which 4.4 says, too
        elif match := SRT_ROW.fullmatch(line):
            index, name, count, *times = match.groups()
            rows.append(Row(table, int(index), name, int(count), *map(microseconds, times)))
    return rows


def tree(tshark, capture, where="", options=("-2",)):
    """{path: count} of -z smcr,tree; a path is the names of nodes from the top."""
    tap = f"smcr,tree,{where}" if where else "smcr,tree"
    lines = tshark.show(capture, *options, "-q", "-z", tap).splitlines()
    counts, path = {}, []
    for line in lines:
        match = TREE_ROW.match(line)
        if not match or line.startswith("Topic / Item"):
            continue
        path[len(match[1]) :] = [match[2]]
        assert tuple(path) not in counts, path
        counts[tuple(path)] = int(match[3])
    return counts


def by_sharkd(tshark, path):
    """The same two by sharkd: (rows, counts)."""
    times, nodes = (
        answer["taps"][0]
        for answer in sharkd.ask(
            tshark,
            [sharkd.load(path), ("tap", {"tap0": "srt:smcr"}), ("tap", {"tap0": "stat:smcr"})],
        )[1:]
    )
    rows = [
        Row(
            table["f"],
            row["idx"],
            row["n"],
            row["num"],
            *(microseconds(row[name]) for name in ("min", "max")),
            None,
            microseconds(row["tot"]),
        )
        for table in times["tables"]
        for row in table["r"]
    ]
    return rows, dict(flat(nodes["stats"]))


def flat(nodes, above=()):
    for node in nodes:
        path = (*above, node["name"])
        yield path, node["count"]
        yield from flat(node.get("sub", []), path)


# ---- the window ----


def simple_copy(source, target):
    """The capture as the program reads it: pcap with nanoseconds, Ethernet."""
    reader = RawPcapReader(str(source))
    with contextlib.closing(reader), target.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1))
        for data, meta in reader:
            if isinstance(reader, RawPcapNgReader):
                ticks = (meta.tshigh << 32) + meta.tslow
                seconds, rest = divmod(ticks, meta.tsresol)
                nano = rest * 1_000_000_000 // meta.tsresol
            else:
                seconds, nano = meta.sec, meta.usec * (1 if reader.nano else 1000)
            for number in (seconds, nano, len(data), meta.wirelen):
                file.write(number.to_bytes(4, "little"))
            file.write(data)
    return target


# {(frame, menu): filter}; of each pass; the page of each pass; cells of each row; what buttons do
Opened = collections.namedtuple("Opened", "menus srt trees report links pressed")


def start(tshark, paths, where="", build="debug", environment=None):
    """Runs the program; returns subprocess's result."""
    program = BUILDS / build / PROGRAM
    assert program.exists(), f"{PROGRAM} is not built: run tests/build {build}"
    return Tshark(tshark.bed, **(environment or {})).start(where, *paths, program=program)


def window(tshark, paths, where=""):
    """What the program prints of each file."""
    result = start(tshark, paths, where)
    assert result.returncode == 0, result.stderr[-4000:]
    found = []
    for line in result.stdout.splitlines():
        kind, *values = line.split("\t")
        if kind == "file":
            found.append(Opened({}, [], [], [], [], []))
        elif kind == "menu":
            found[-1].menus[int(values[0]), values[1]] = values[2]
        elif kind == "srt":
            found[-1].srt.append((values[0], values[1], *map(int, values[2:])))
        elif kind == "report":
            found[-1].report.append(values[0])
        elif kind == "pressed":
            found[-1].pressed.append(values[0])
        elif kind == "links":
            found[-1].links.append([cell.strip() for cell in values])
        else:
            found[-1].trees.append((int(values[0]), values[1], int(values[2])))
    return found
