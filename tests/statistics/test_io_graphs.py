"""The I/O graphs of the profile: Wireshark can draw them, docs/statistics.md has them, and they add
up to the report."""

import csv
import re
import sys

import pytest
from bed import TOP

sys.path.insert(0, str(TOP / "tests" / "facts"))

import report_runs  # noqa: E402
from report_runs import REAL, TWO, report  # noqa: E402

CALM = ("--disable-heuristic", "rpcrdma_infiniband")
PACKED = ["cnp-smc", "ecn-ce-smc", "nak-loss-smc"]
SIDES = {"C→S": "client_to_server", "S→C": "server_to_client"}


def unit_of(field):
    """A pattern of the unit of a row, in its name."""
    if field in ("smcr.write.ack_time", "smcr.window.wait_time"):
        return " s$"  # Wireshark 4.4 writes the unit of the field at the axis, whatever the factor
    return "^Bytes | B$" if field else " packets$"


def rows():
    """{name: (filter, function, field)}, with the function None for packets."""
    lines = (TOP / "plugin" / "profile" / "io_graphs").read_text(encoding="utf-8").splitlines()
    found = {}
    for line in csv.reader(line for line in lines if not line.startswith("#")):
        on, name, where, color, style, axis, field, average, factor = line
        first = re.fullmatch("Bytes ... once|Bytes TCP", name)  # one axis has one unit
        assert on == ("Enabled" if first else "Disabled") and len(name) <= 15
        assert re.fullmatch("#[0-9a-f]{6}", color) and style in (
            "Line",
            "Impulse",
            "Diamond",
            "Square",
            "Plus",
        )
        assert (average, factor) == ("None", "1")
        function = re.fullmatch(r"(SUM|MIN|MAX|AVG)\(Y Field\)", axis)
        assert re.search(unit_of(field), name), "a name has its unit"
        assert bool(function) == bool(field) and (function or axis == "Packets")
        found[name] = where, function and function[1], field
    return found


ROWS = rows()


def totals(tshark, name):
    """What each row adds up to in a capture: {name of the row: number}."""
    columns = [
        f"{function}({field}){where}" if function else where
        for where, function, field in ROWS.values()
    ]
    text = tshark.run(
        "-n",
        *CALM,
        "-2",
        "-q",
        "-r",
        report_runs.copy_of(tshark, name),
        "-z",
        ",".join(["io,stat,0", *columns]),
    )
    (values,) = re.findall(r"^\| *0\.\d+ <> [\d.]+ *\|(.*)\|$", text, re.MULTILINE)
    numbers = iter(float(value) for value in values.split("|"))
    result = {}
    for row, (_, function, _) in ROWS.items():
        result[row] = next(numbers)
        if not function:
            next(numbers)  # bytes
    return result


def expected(whole):
    """The same from the report."""
    told = [each for each in whole["connections"] if each["tcp_stream"] is not None]
    fabric = whole["summary"]["rdma_flows"]
    result = {}
    for side, way in SIDES.items():
        ways = [each[way] for each in told]
        result[f"Bytes {side} once"] = sum(
            way["bytes"] for each, way in zip(told, ways, strict=True) if each["outcome"] == "smc-r"
        )
    if fabric["count"]:
        result["Retrans packets"] = fabric["repeated"]
        result["Timeout packets"] = fabric["repeated_after"]["timeout"]
        result["NAK packets"] = sum(fabric["nak"].values()) + fabric["rnr_nak"]
        result["CE RoCE packets"] = fabric["ecn"]["ce"]
        result["CNP packets"] = fabric["cnp"]
    result["CE TCP packets"] = (
        sum(whole["summary"]["tcp_flows"][way]["ce"] or 0 for way in ("up", "down"))
        if whole["tcp_flows"]
        else 0
    )
    return result


@pytest.mark.parametrize("name", [*REAL, *(name for name in PACKED if name in report_runs.PATHS)])
def test_rows_add_up_to_the_report(tshark, name):
    drawn, wanted = totals(tshark, name), expected(report(tshark, name, TWO))
    assert {row: drawn[row] for row in wanted} == wanted


def test_guide_has_the_rows():
    """Each filter and field, of the client where both directions have one."""
    text = (TOP / "docs" / "statistics.md").read_text(encoding="utf-8").replace(" or ", " || ")
    for name, (where, _, field) in ROWS.items():
        assert f"| {name}" in text or "S" in name, name
        if not re.search(r"S→C| S\b", name):
            assert f"`{where}`" in text and (not field or f"`{field}`" in text), name
