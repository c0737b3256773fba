"""Reports of the project's captures, each made once for all tests; and how two reports are
compared."""

import collections
import functools
import json
import math

import pytest
from bed import FOLDERS, PACKED, PREFERENCES, TOP, captures

# The RPC over RDMA of Wireshark 4.0 crashes in the second pass of some captures, without the
# plugin, too.
CALM = ("--disable-protocol", "rpcordma")
ALL = ("-o", "smcr.roce:TRUE", "-o", "smcr.check_icrc:TRUE")
SHOWN = 20  # differences in the message of a failed test
TOLERANCE = 1e-6  # of sums: those of 6 digits and more agree
LEAST = 1e-12  # and smaller differences do not count

Run = collections.namedtuple("Run", "passes everything")
ONE, TWO, ALL_ONE, ALL_TWO = Run(1, False), Run(2, False), Run(1, True), Run(2, True)

PATHS = {path.name.split(".pcap")[0]: path for path in captures(*FOLDERS, *PACKED).values()}
UNPACKED = [name for name, path in PATHS.items() if path.parent.name in FOLDERS]
PACKED_NAMES = [name for name, path in PATHS.items() if path.parent.name in PACKED]
SMC = [
    name for name in PACKED_NAMES if name.endswith("-smc")
]  # of the packed ones, these have SMC-R
REAL = [name for name, path in PATHS.items() if path.parent.name == "real"]
MALFORMED = [name for name, path in PATHS.items() if path.parent.name == "malformed"]
# Of each capture the run that says most, and the one that knows least; test_report_passes.py has
# the others.
RUNS = [
    *((name, run) for name in UNPACKED for run in (ONE, ALL_TWO)),
    *((name, run) for name in PACKED_NAMES for run in (ALL_ONE, ALL_TWO)),
    *((name, TWO) for name in SMC),
]


def name_of(value):
    """How tests name a run."""
    if isinstance(value, Run):
        return ("all-" if value.everything else "") + ("one-pass", "two-passes")[value.passes - 1]
    return None


every_run = pytest.mark.parametrize("name, run", RUNS, ids=name_of)


def print_json(tshark, path, run=TWO, where=None, options=(), tap="smcr,json"):
    """What tshark prints: bytes."""
    if where is not None:
        tap = f"{tap},{where}"
    arguments = [
        "-n",
        *PREFERENCES,
        *CALM,
        *(ALL if run.everything else ()),
        *(("-2",) if run.passes == 2 else ()),
        *options,
        "-r",
        path,
        "-q",
        "-z",
        tap,
    ]
    result = tshark.start(*arguments, encoding=None, errors=None)
    assert result.stderr == b"" and result.returncode == 0, (
        f"tshark {' '.join(map(str, arguments))}\nexit status {result.returncode}\n"
        f"{result.stderr.decode()}"
    )
    return result.stdout


def copy_of(tshark, name):
    return tshark.bed.root / "captures" / PATHS[name].relative_to(TOP / "captures")


@functools.cache
def printed(tshark, name, run):
    """The same of a capture of the project, made once for all tests."""
    return tshark.bed.keep(
        ("report", name, run), lambda: print_json(tshark, copy_of(tshark, name), run)
    )


def refuse(constant):
    raise ValueError(f"{constant} is no JSON")


def parse(text):
    return json.loads(text.decode("utf-8"), parse_constant=refuse, object_pairs_hook=unique)


def unique(pairs):
    """An object whose names are there once only."""
    names = [name for name, _ in pairs]
    assert len(names) == len(set(names)), f"names that come twice: {names}"
    return dict(pairs)


@functools.cache
def report(tshark, name, run):
    """The report of a capture. Tests must not change it."""
    return parse(printed(tshark, name, run))


# ---- comparing ----


DISTRIBUTION = {"count", "sum", "sum_of_squares", "min", "max"}


def is_distribution(value):
    return isinstance(value, dict) and set(value) - {"histogram"} == DISTRIBUTION


def flat(value, path=""):
    """(path, value) of all that is no object and no list."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield from flat(each, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for position, each in enumerate(value):
            yield from flat(each, f"{path}[{position}]")
    else:
        yield path, value


def same(one, other):
    """Are two values equal, and numbers as good as equal?"""
    numbers = [
        isinstance(each, (int, float)) and not isinstance(each, bool) for each in (one, other)
    ]
    if all(numbers):
        if isinstance(one, int) and isinstance(other, int):
            return one == other
        return math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=LEAST)
    return type(one) is type(other) and one == other


NOTHING = "(nothing)"


def differences(found, expected, allow=lambda path: False):
    """Paths of all values that differ: (path, found, expected)."""
    found, expected = dict(flat(found)), dict(flat(expected))
    for path in [*expected, *(path for path in found if path not in expected)]:
        one, other = found.get(path, NOTHING), expected.get(path, NOTHING)
        if not same(one, other) and not allow(path):
            yield path, one, other


def fail_on(wrong, heading="found, expected"):
    """Fail if there are differences, and name them."""
    lines = [f"{path}: {one!r}, {other!r}" for path, one, other in wrong]
    if lines:
        pytest.fail("\n".join([f"{len(lines)} differ ({heading})", *lines[:SHOWN]]), pytrace=False)


def assert_same(found, expected, allow=lambda path: False):
    fail_on(list(differences(found, expected, allow)))
