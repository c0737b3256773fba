"""Opened, filtered, opened again, another file: no leak and no stale row, under sanitizers."""

import pytest
import sharkd
from hostile import sanitized
from report_runs import ALL, CALM, MALFORMED, REAL, copy_of
from sharkd_tables import ask_all, request

TAPS = ("conv:SMC-R", "endpt:SMC-R", "seqa:smcr")
TABLES = [
    part
    for table in (
        "conv,smcr",
        "endpoints,smcr",
        "flow,smcr,standard",
        "flow,smcr,network,smcr.stream == 0",
        "conv,smcr,smcr.dir == 0",
        "flow,any,standard",
    )
    for part in ("-z", table)
]


def test_files_one_after_the_other(tshark, bed):
    """In one process: two files, each twice, each table twice; the answers are those of a process
    of its own."""
    names = (
        "6.1-v1-n-lossy",
        "6.1-v1-c2-capture-starts-late",
        "6.1-v1-f1-decline-server-no-device",
    )
    requests = [
        each
        for name in (*names, *names)
        for each in (sharkd.load(copy_of(tshark, name)), request(*TAPS), request(*TAPS))
    ]
    answers = ask_all(sanitized(bed), requests)
    for i, name in enumerate(names):
        alone = ask_all(tshark, [sharkd.load(copy_of(tshark, name)), request(*TAPS)])[1]
        at = 3 * i
        assert alone == answers[at + 1] == answers[at + 2] == answers[at + 10] == answers[at + 11]


@pytest.mark.parametrize("name", [*REAL[::4], *MALFORMED])
def test_all_tables_at_once(bed, tshark, name):
    result = sanitized(bed).start(
        "-n", *CALM, *ALL, "-2", "-r", copy_of(tshark, name), "-q", *TABLES
    )
    assert (
        result.returncode == 0
        and "ERROR" not in result.stderr
        and "runtime error" not in result.stderr
    ), result.stderr[-3000:]
