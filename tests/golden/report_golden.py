"""What the golden of a report is: its page of text, in two passes, and its JSON: the first entries
of each list."""

import json
import pathlib

from bed import FOLDERS, PACKED, captures

FOLDER = pathlib.Path(__file__).resolve().parent / "reports"
LONGEST = 560  # lines
PREFERENCES = {"roce": ("-o", "smcr.roce:TRUE"), "icrc": ("-o", "smcr.check_icrc:TRUE")}
# The RPC over RDMA of Wireshark 4.0 crashes in the second pass of some captures, without the
# plugin, too.
CALM = ("--disable-protocol", "rpcordma")
LONG_LIST = 1  # entries of a list that are shown
DIGITS = 9  # of numbers: the last ones depend on the library


def chosen():
    """{name of a capture: options of tshark}"""
    rows = [line.split() for line in (FOLDER / "chosen.txt").read_text().splitlines()]
    return {
        name: [option for each in more for option in PREFERENCES[each]]
        for name, *more in (row for row in rows if row and not row[0].startswith("#"))
    }


def file_of(name):
    return FOLDER / f"{name}.txt"


def in_a_line(histogram):
    """A histogram as text: quantiles, zeros, the first bucket and the counts from it on."""
    quantiles = " ".join(f"{histogram[name]:.9f}" for name in ("median", "p95", "p99", "p999"))
    counts = " ".join(map(str, histogram["positive"]["bucket_counts"]))
    return f"{quantiles}; {histogram['zero_count']}; {histogram['positive']['offset']}: {counts}"


def members(value):
    """Of an object; a histogram stands beside its distribution, if it has samples."""
    for name, each in value.items():
        if isinstance(each, dict) and "histogram" in each:
            histogram = each["histogram"]
            yield name, {key: each[key] for key in each if key != "histogram"}
            yield from [(f"{name} histogram", in_a_line(histogram))] if histogram else []
        else:
            yield name, each


def rounded(value):
    """JSON whose sums of squares are the same everywhere, with the first entries of long lists
    only."""
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in members(value)}
    if isinstance(value, list):
        return [rounded(each) for each in value[:LONG_LIST]] + (
            [f"and {len(value) - LONG_LIST} more"] if len(value) > LONG_LIST else []
        )
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def lines_of(value, depth=0):
    """JSON with what fits into a line in a line."""
    text = json.dumps(value)
    if len(text) <= 116 - 2 * depth or not isinstance(value, (dict, list)) or not value:
        return [text]
    pairs = value.items() if isinstance(value, dict) else ((None, each) for each in value)
    lines = []
    for name, each in pairs:
        first, *rest = lines_of(each, depth + 1)
        lines += [f"{json.dumps(name)}: {first}" if name is not None else first, *rest]
    return [
        "{" if isinstance(value, dict) else "[",
        *(f"  {line}" for line in lines),
        "}" if isinstance(value, dict) else "]",
    ]


def text_of(tshark, name):
    """The golden as the plugin makes it now."""
    path = next(
        path for path in captures(*FOLDERS, *PACKED).values() if path.name.split(".pcap")[0] == name
    )
    copy = tshark.bed.root / "captures" / path.parent.name / path.name
    options = (*CALM, *chosen()[name], "-2", "-q")
    page = tshark.show(copy, *options, "-z", "smcr,report")
    found = json.loads(tshark.show(copy, *options, "-z", "smcr,json"))
    found["capture"].update(wireshark="", plugin="")
    del found["summary"]  # which is what the entries add up to
    return page + "\n" + "\n".join(lines_of(rounded(found))) + "\n"
