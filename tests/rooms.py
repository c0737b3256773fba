"""The rooms of dissectors/, who includes whom, and how docs/architecture.md shows it."""

import json
import re
import subprocess

from bed import TOP

DISSECTORS = TOP / "dissectors"

# From the bottom up. A room includes only the doors of rooms that come before it; the head of the
# first door says what the room knows. At the top of dissectors/ are the field table, which lies
# below the state, since that names its expert items, and the three registered dissectors, which lie
# above the rooms that they call.
ROOMS = {
    "wire": ("wire.h",),
    "application": ("application.h",),
    "fabric": ("fabric.h",),
    "points": ("points.h",),
    "fabric/peers": ("rdma.h",),
    "state/model": ("store.h", "record.h", "socket.h"),
    "state/evidence": ("evidence.h",),
    "state/rules": ("rules.h", "memory.h"),
    "state/rules/links": ("links.h",),
    "state/flow/writes": ("writes.h",),
    "state/flow/tapped": ("tapped.h",),
    "state/flow/told": ("told_conn.h", "told_judge.h"),
    "state/flow": ("packet_flow.h",),
    "state": ("state.h",),
    "timeline": ("timeline.h",),
    "message": ("message.h",),
    "host": ("host.h",),
    "show": ("show.h",),
    "payload": ("payload.h",),
    "packet": ("packet.h",),
    "tcp": ("tcp.h",),
    "roce": ("roce.h",),
    "netlink": ("netlink.h",),
    "anck": ("anck.h",),
    "report/histogram": ("histogram.h",),
    "report/packed": ("packed.h",),
    "report/figures": ("figures.h",),
    "report/series": ("series.h",),
    "report/congestion": ("congestion.h",),
    "report/others": ("others.h",),
    "report/classes": ("classes.h",),
    "report/pause": ("pause.h",),
    "report/points": ("ways.h",),
    "report/recovery": ("recovery.h",),
    "report/adapters": ("adapters.h",),
    "report/words": ("words.h",),
    "report/findings/finder": ("finder.h", "causes.h", "alike.h", "trouble.h", "waits.h"),
    "report/findings": ("findings.h",),
    "report/collect": ("collectors.h", "ended.h", "stream_bytes.h"),
    "report/collect/connections": ("connections.h",),
    "report/collect/assembly": ("collection.h",),
    "report/tables": ("tables.h",),
    "report/write": ("output.h",),
    "report/page": ("page.h",),
    "report/listen": ("listeners.h", "forget.h"),
    "report/lines": ("lines.h",),
    "report": ("report.h",),
    "statistics": ("statistics.h",),
}
FIELD_TABLE, FACE = "(field table)", "(three dissectors)"  # the files at the top
FACE_HEADER = "packet-smcr.h"
DOCUMENT = TOP / "docs" / "architecture.md"
BEGIN, END = "<!-- rooms: tests/rooms-doc -->\n", "<!-- end of the rooms -->"


def tags(*arguments):
    """What ctags finds in files of C; what has no name is left out."""
    printed = subprocess.run(
        [
            "ctags",
            "--languages=C",
            "--language-force=C",
            "--sort=no",
            "--output-format=json",
            "--fields=+K",
            "-f",
            "-",
            *arguments,
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return [
        tag for tag in map(json.loads, printed.splitlines()) if not tag["name"].startswith("__anon")
    ]


def room_of(path):
    return path.relative_to(DISSECTORS).parent.as_posix()


def sources(room):
    return [path for path in (DISSECTORS / room).glob("*.*") if path.suffix in (".c", ".h", ".def")]


def includes(path):
    """Own files that a file includes, as paths."""
    names = re.findall(r'#include "([\w/.-]+)"', path.read_text(encoding="utf-8"))
    found = [
        next((base / name for base in (path.parent, DISSECTORS) if (base / name).exists()), None)
        for name in names
    ]
    return [each for each in found if each]


def head(room):
    """What the head of the room's first door says, in one line."""
    text = (DISSECTORS / room / ROOMS[room][0]).read_text(encoding="utf-8")
    lines = text.split(" *\n * SPDX")[0].splitlines()
    return " ".join(line[3:] for line in lines)


# ---- docs/architecture.md ----


def place_of(path):
    """The room of a file, or which of the files at the top it is."""
    if room_of(path) != ".":
        return room_of(path)
    return FACE if path.name.startswith("packet-smcr") else FIELD_TABLE


def order():
    """All rooms and what is at the top, from the bottom up."""
    rooms = list(ROOMS)
    between, above = rooms.index("state/model"), rooms.index("netlink")
    return [*rooms[:between], FIELD_TABLE, *rooms[between:above], FACE, *rooms[above:]]


def neighbours():
    """{room: rooms that it includes}"""
    found = {room: set() for room in order()}
    for room in [".", *ROOMS]:
        for path in sources(room):
            found[place_of(path)] |= {place_of(other) for other in includes(path)}
    return {room: others - {room} for room, others in found.items()}


def floors():
    """The rooms in floors: each stands above all that it includes."""
    knows, level = neighbours(), {}
    for room in order():
        level[room] = 1 + max((level[other] for other in knows[room]), default=0)
    return [
        [room for room in order() if level[room] == floor]
        for floor in range(1, max(level.values()) + 1)
    ]


def diagram():
    """The floors from the top down."""
    height = len(floors())
    return "".join(
        f"    floor {height - i:2}   {'   '.join(row)}\n"
        for i, row in enumerate(reversed(floors()))
    )


def named(text):
    """Files and folders as code."""
    return re.sub(
        r"(?<![\w`/])((?:[\w-]+/)+(?:[\w.-]*\w)?|[\w-]+\.(?:def|h|md))(?![\w`])", r"`\1`", text
    )


def table():
    rows = ["| room | door | knows |", "|---|---|---|"]
    for room, doors in ROOMS.items():
        knows = (
            re.split(r"(?<=\.) (?=[A-Z])", head(room))[0].removeprefix("Knows ").removesuffix(".")
        )
        rows.append(f"| `{room}/` | {', '.join(f'`{door}`' for door in doors)} | {named(knows)} |")
    return "".join(row + "\n" for row in rows)


def document(text):
    """architecture.md with the floors and the table made anew."""
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}{diagram()}\n{table()}{END}{rest.split(END)[1]}"
