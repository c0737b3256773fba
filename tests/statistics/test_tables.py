"""
The tables show what the JSON report says, in tshark, in sharkd, with a filter and without; and
nothing of a file that was closed.
"""

import pytest
import report_runs
import report_tables as tables
import sharkd
from bed import PREFERENCES
from report_runs import ALL, ALL_TWO, CALM, ONE, PACKED_NAMES, PATHS, REAL, TWO, UNPACKED, report

EVERY = [*((name, ONE) for name in REAL), *((name, ALL_TWO) for name in (*UNPACKED, *PACKED_NAMES))]
ALL_TABLES = [part for name in tables.TABLES for part in ("-z", f"smcr,{name}")]


def shown(tshark, path, *arguments, run=TWO):
    options = [*CALM, *(ALL if run.everything else ()), *(("-2",) if run.passes == 2 else ())]
    return tables.printed(
        tshark.run("-n", *PREFERENCES, *options, "-r", path, "-q", *(arguments or ALL_TABLES))
    )


@pytest.mark.parametrize("name, run", EVERY, ids=report_runs.name_of)
def test_tables_are_the_report(tshark, name, run):
    found = shown(tshark, report_runs.copy_of(tshark, name), run=run)
    wrong = list(tables.differences(found, tables.expected(report(tshark, name, run))))
    assert wrong == []


FILTERED = [
    ("6.1-v1-q-forty-conns", "smcr.stream == 3"),
    ("6.1-v2-n-lossy", "frame.number < 300"),
    ("6.1-v1-h1-two-links-second-fails", "smcr.link.number == 2"),
    ("6.1-v2-j-http11", "tcp"),
    ("6.1-v1-a-first-contact-ipv4", "frame.number == 0"),
]
FILTERED = [(name, where) for name, where in FILTERED if name in PATHS]


@pytest.mark.parametrize("name, where", FILTERED)
def test_filter_limits(tshark, name, where):
    """As it limits the report."""
    path = report_runs.copy_of(tshark, name)
    limited = report_runs.parse(report_runs.print_json(tshark, path, TWO, where))
    found = shown(
        tshark, path, *[part for each in tables.TABLES for part in ("-z", f"smcr,{each},{where}")]
    )
    assert list(tables.differences(found, tables.expected(limited))) == []


def test_filters_are_each_tables_own(tshark):
    name = "6.1-v2-n-lossy"
    path = report_runs.copy_of(tshark, name)
    found = shown(tshark, path, "-z", "smcr,fabric,frame.number < 300", "-z", "smcr,connections")
    limited = tables.expected(
        report_runs.parse(report_runs.print_json(tshark, path, TWO, "frame.number < 300"))
    )
    whole = tables.expected(report(tshark, name, TWO))
    assert (
        list(
            tables.differences(
                found, {"fabric": limited["fabric"], "connections": whole["connections"]}
            )
        )
        == []
    )


@pytest.mark.parametrize(
    "argument, why",
    [
        (("-z", "smcr,links,nonsense"), "nonsense"),
        (("-z", "smcr,links", "-z", "smcr,links,tcp"), "-z smcr,links can be given only once."),
    ],
)
def test_refused(tshark, argument, why):
    result = tshark.start(
        "-q", *argument, "-r", report_runs.copy_of(tshark, "6.1-v1-a-first-contact-ipv4")
    )
    assert result.returncode != 0 and why in result.stderr and "SMC-R Links" not in result.stdout


def asked(name):
    return "tap", {"tap0": f"nstat:smcr,{name}"}


SEVERAL = [
    "6.1-v1-h1-two-links-second-fails",
    "6.1-v2-n-lossy",
    "6.1-v1-f1-decline-server-no-device",
    "6.1-v1-c2-capture-starts-late",
    "6.1-v2-n-lossy",
]


def test_sharkd_has_them_and_keeps_none(tshark):
    """All tables of one capture after the other, in one process; one table twice; after a table,
    the next capture."""
    requests, wanted = [], []
    for name in SEVERAL:
        requests.append(sharkd.load(report_runs.copy_of(tshark, name)))
        wanted.append(None)
        for table in [*tables.TABLES, "connections"]:
            requests.append(asked(table))
            wanted.append((name, table))
    answers = sharkd.ask(tshark, requests)
    for answer, each in zip(answers, wanted, strict=True):
        if each:
            name, table = each
            rows = tables.expected(report(tshark, name, TWO))[table]
            (tap,) = answer["taps"]
            assert list(tables.differences({table: tables.of_sharkd(tap)}, {table: rows})) == []


def test_sharkd_lists_them(tshark):
    (info,) = sharkd.ask(tshark, [("info", {})])
    assert {each["tap"]: each["name"] for each in info["nstat"] if "smcr" in each["tap"]} == {
        f"nstat:smcr,{name}": title for name, title in tables.TITLES.items()
    }
