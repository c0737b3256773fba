"""What a golden is: the text of our protocol for a capture, the same in every version of
Wireshark."""

import pathlib
import re

from bed import captures

FOLDER = pathlib.Path(__file__).resolve().parent
LONGEST = 400  # lines; a longer golden nobody reviews

# First lines of layers that differ between versions of Wireshark: the frame's own, and what takes
# bytes that nobody knows. 4.4 brought the dissectors of iPerf3 (on its port) and HiPerConTracer
# (which guesses).
VERSION_DEPENDENT = (
    "Frame ",
    "Data (",
    "HiPerConTracer ",
    "iPerf3 ",
    "[BoundError Unreassembled Packet: iPerf3]",
)

# TCP's list of the segments of a message, which versions end in different places when it is too
# long for a line.
LONG_LIST = re.compile(r"^(\[\d+ Reassembled TCP Segments \(.{100}).{100,}")


def ranges():
    """Rows of ranges.txt: {capture name: display filter}."""
    rows = (line.split(maxsplit=1) for line in (FOLDER / "ranges.txt").read_text().splitlines())
    return {row[0]: row[1] for row in rows if row and not row[0].startswith("#")}


def file_of(name):
    """Where the golden of a capture is."""
    return FOLDER / f"{name}.txt"


def text_of(tshark, name):
    """The golden as the plugin makes it now."""
    where = ranges().get(name)
    text = tshark.show(name, "-2", "-V", "-O", "smcr", *(("-Y", where) if where else ()))
    return "".join(
        LONG_LIST.sub(r"\1 ...]", line)
        for line in text.splitlines(keepends=True)
        if not line.startswith(VERSION_DEPENDENT)
    )


def names():
    return sorted(captures())
