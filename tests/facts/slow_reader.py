#!/usr/bin/python3
"""
What the window analysis says of a slow reader: the tables of docs/slow-reader.md, from the plugin's fields.

    tests/facts/slow_reader.py             print the tables
    tests/facts/slow_reader.py --write     put them into docs/slow-reader.md
"""

import pathlib
import sys
from decimal import Decimal

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]

from bed import TOP, Tshark, new_bed  # noqa: E402

CAPTURES = ("6.1-v1-d-bulk-slow-reader", "6.1-v2-d-bulk-slow-reader")
DOCUMENT = TOP / "docs" / "slow-reader.md"
BEGIN, END = "<!-- tables -->\n", "<!-- end of tables -->\n"
SELECTED = 12  # messages of the second table: the first ones, and the last ones of the client

WINDOW = ("smcr.dir", "smcr.cdc.announced", "smcr.cdc.consumed", "smcr.cdc.len", "smcr.cdc.read", "smcr.window.unread",
          "smcr.window.free", "smcr.window.percent", "smcr.window.offered")


def periods(tshark, name, kind):
    """Times in which the window was full or the writer blocked: [(first frame, last frame, seconds)]."""
    rows = tshark.fields(name, f"smcr.window.{kind}_since", "frame.number", f"smcr.window.{kind}_time",
                         where=f"smcr.window.{kind}_time")
    return [(int(since[0]), int(until[0]), Decimal(time[0])) for since, until, time in rows]


def median(times):
    return str(sorted(times)[len(times) // 2])


def times(tshark, name, field, direction):
    """All values of a field of a time, in one direction."""
    return [Decimal(row[0][0]) for row in tshark.fields(
        name, field, where=f"{field} && smcr.dir == {direction}", two_pass=True)]


def open_times(tshark, name):
    """How long the window was open each time, from the reader's message to the one that fills it again."""
    rows = tshark.fields(name, "frame.time_relative", "smcr.window.opened", "smcr.window.full",
                         where="smcr.window.opened || smcr.window.full")
    return [Decimal(then[0]) - Decimal(first[0]) for (first, opened, _), (then, _, full) in zip(rows, rows[1:])
            if opened and full]


def summary(tshark, name):
    """The first table's column: {what: value}."""
    blocked, full = periods(tshark, name, "blocked"), periods(tshark, name, "full")
    longest = max(blocked, key=lambda period: period[2])
    writes = tshark.fields(name, "frame.time_relative", where="smcr.write.len && smcr.dir == 0")
    passed = Decimal(writes[-1][0][0]) - Decimal(writes[0][0][0])
    waited = sum(time for *_, time in blocked)
    return {
        "RMB element of the reader, bytes": tshark.fields(name, "smcr.rmb.size", where="smcr.clc.type == 2")[0][0][0],
        "bytes sent": tshark.fields(name, "smcr.cdc.announced", where="smcr.dir == 0 && smcr.cdc.announced")[-1][0][0],
        "from the first WRITE to the last, s": str(passed),
        "writer blocked, times": str(len(blocked)),
        "writer blocked, s in all": f"{waited} ({waited * 100 / passed:.0f} %)",
        "longest of them, s": f"{longest[2]} (frames {longest[0]} to {longest[1]})",
        "window full, times": str(len(full)),
        "window full, s in all": str(sum(time for *_, time in full)),
        "window open again, until it was full, s, median": median(open_times(tshark, name)),
        "until announced data was reported as read, s, median": median(times(tshark, name, "smcr.cdc.read_time", 1)),
        "until a WRITE was acknowledged, s, median": median(times(tshark, name, "smcr.write.ack_time", 0)),
        "notes of a late update": str(len(tshark.frames(name, "smcr.window.late_update"))),
    }


def windows(tshark, name):
    """The second table: rows of (frame, sender, and the fields of WINDOW behind the first)."""
    rows = tshark.fields(name, "frame.number", *WINDOW, where="smcr.window.unread")
    chosen = rows[:SELECTED] + [row for row in rows if row[1] == ["0"]][-3:]
    return [(number[0], ("client", "server")[int(sender[0])], *(value[0] for value in values))
            for number, sender, *values in chosen]


def table(header, rows):
    yield "| " + " | ".join(header) + " |"
    yield "|" + "---|" * len(header)
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def tables(tshark):
    columns = [summary(tshark, name) for name in CAPTURES]
    lines = ["", *table(("", *CAPTURES), ((what, *(column[what] for column in columns)) for what in columns[0])), ""]
    for name in CAPTURES:
        lines += [f"`{name}`, the first CDC messages and the client's last ones:", ""]
        lines += table(("frame", "sender", "announced", "consumed", "`cdc.len`", "`cdc.read`", "`window.unread`",
                        "`window.free`", "%", "`window.offered`"), windows(tshark, name))
        lines.append("")
    return "\n".join(lines) + "\n"


def main():
    with new_bed() as bed:
        text = tables(Tshark(bed))
    if sys.argv[1:] == ["--write"]:
        before = DOCUMENT.read_text(encoding="utf-8")
        head, rest = before.split(BEGIN)
        DOCUMENT.write_text(head + BEGIN + text + END + rest.split(END)[1], encoding="utf-8")
    else:
        print(text, end="")


if __name__ == "__main__":
    if sys.argv[1:] not in ([], ["--write"]):
        sys.exit(__doc__)
    main()
