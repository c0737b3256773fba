"""Rules of the house that a machine can check."""

import json
import re
import subprocess

import pytest
from bed import TOP

TOP_LEVEL = {"meson.build", "plugin", "dissectors", "tests", "captures", "docs", "README.md", "COPYING"}
LONGEST_FUNCTION = 40  # lines
LONGEST_FILE = 500
LONGEST_TABLE = 500  # which is read row by row
LONGEST_LINE = 100

SOURCES = sorted(path.relative_to(TOP).as_posix() for folder in ("plugin", "dissectors", "tests/unit", "tests/fuzz")
                 for path in (TOP / folder).rglob("*.[ch]"))
TABLES = sorted(path.relative_to(TOP).as_posix() for path in (TOP / "dissectors").rglob("*.def"))


def tracked():
    """Files of the project."""
    command = ["git", "-c", "safe.directory=*", "-C", TOP, "ls-files", "-z"]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        pytest.skip("this is no git checkout")
    return result.stdout.rstrip("\0").split("\0")


def functions(source):
    """[(name, lines)] of the functions that a C file defines."""
    command = ["ctags", "--output-format=json", "--fields=+ne", "--kinds-C=f", "-f", "-", TOP / source]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return [(tag["name"], tag["end"] - tag["line"] + 1) for tag in map(json.loads, lines)]


def test_top_level():
    names = {path.split("/")[0] for path in tracked()}
    assert {name for name in names if not name.startswith(".")} <= TOP_LEVEL


@pytest.mark.parametrize("source", [*SOURCES, *TABLES])
def test_length_of_file_and_lines(source):
    lines = (TOP / source).read_text(encoding="utf-8").splitlines()
    assert len(lines) <= (LONGEST_TABLE if source.endswith(".def") else LONGEST_FILE)
    assert [line for line in lines if len(line.expandtabs(4)) > LONGEST_LINE] == []


@pytest.mark.parametrize("source", SOURCES)
def test_length_of_functions(source):
    assert [each for each in functions(source) if each[1] > LONGEST_FUNCTION] == []


@pytest.mark.parametrize("source", [*SOURCES, *TABLES])
def test_source_says_what_it_is(source):
    lines = (TOP / source).read_text(encoding="utf-8").splitlines()
    assert lines[0] == f"/* {source.rsplit('/', 1)[1]}"
    assert lines[1].startswith(" * ") and len(lines[1]) > 20
    assert any("SPDX-License-Identifier: GPL-2.0-or-later" in line for line in lines[:30])


def test_version_is_known_in_one_place():
    knows = [source for source in SOURCES if re.search(r"WS_AT_LEAST|WIRESHARK_VERSION_M", (TOP / source).read_text())]
    assert set(knows) <= {"plugin/compat.h", "plugin/plugin.c"}


def test_no_path_of_this_machine():
    found = [path for path in tracked() if (TOP / path).is_file()
             and f"{TOP}/".encode() in (TOP / path).read_bytes()]
    assert found == []
