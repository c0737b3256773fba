"""
Wireshark's own checkers of source find nothing in the plugin, and each of them finds the fault that
is made for it. Those that compile or analyse everything run with all tests.
"""

import subprocess

import pytest
import wireshark_source
from bed import ALL, TOP

PROGRAM = TOP / "tests" / "wireshark-checks"
SLOW = {"check_static.py", "cppcheck.sh"}


def run(*arguments):
    return subprocess.run(
        [PROGRAM, *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL
    )


def checkers():
    rows = [line.split(": ") for line in run("--list").stdout.splitlines()]
    return [name for name, what in rows if what == "run"]


@pytest.fixture(scope="module")
def source():
    """Wireshark's source with its checkers; apt fetches it for the first run."""
    try:
        return wireshark_source.get()
    except wireshark_source.NoSource as reason:
        pytest.skip(f"no source of Wireshark: {str(reason).splitlines()[0]}")


def test_checkers_find_nothing(source):
    names = [name for name in checkers() if ALL or name not in SLOW]
    result = run(*names)
    assert result.returncode == 0, result.stdout + result.stderr
    found = [line.split(": ") for line in result.stdout.splitlines()]
    assert [name for name, _ in found] == names and len(names) >= 8
    assert all(text.startswith("0 found, ") for _, text in found)


@pytest.mark.skipif(not ALL, reason="with all tests: a checker runs for each fault")
def test_each_checker_finds_its_fault(source):
    result = run("--plant")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "DOES NOT" not in result.stdout
