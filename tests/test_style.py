"""Rules of the house that a machine can check."""

import json
import pathlib
import re
import subprocess

import pytest
from bed import TOP

TOP_LEVEL = {
    "meson.build",
    "plugin",
    "dissectors",
    "tests",
    "captures",
    "docs",
    "README.md",
    "COPYING",
}
LONGEST_FUNCTION = 40  # lines
LONGEST_LINE = 100

SOURCES = sorted(
    path.relative_to(TOP).as_posix()
    for folder in ("plugin", "dissectors", "tests/unit", "tests/fuzz")
    for path in (TOP / folder).rglob("*.[ch]")
)
TABLES = sorted(path.relative_to(TOP).as_posix() for path in (TOP / "dissectors").rglob("*.def"))


# What the output says otherwise: docs/fields.md has its words.
OLD_WORDS = re.compile(
    r"""\bagain\b|\brepeat(s|ed|ing)?\b|\bovertak|\babsent\b|\bcop(y|ies)\b|\bnews\b|\bcame\ early|\bcome\ yet
    |\bwent\ out|\bunread\b|\bnot\ read\b|\b(data|bytes)\ read\b|\bha(s|ve)\ read\ (all|data)|\bdata\ (that\ )?(was|were)\ read
    |^chat$""",
    re.IGNORECASE | re.VERBOSE,
)
OLD_PHRASES = re.compile(
    r"""\bsen[dt]s?\ (\w+\ ){0,2}again|\b(asked|written|came|went\ out)\ again|\bovertak|\bnews\ of|\babsent\ (packet|PSN)
    |\b(packets?|PSNs?)\ (is|are|was|were)\ absent|\bnot\ read\ yet|\bbytes\ unread|\bunread\ bytes|\bdata\ (was\ )?read\ after
    |\brepeats\ (of|and|in)\b|\bcopies\ (of\ packets|made)|"chat\b""",
    re.IGNORECASE | re.VERBOSE,
)
LITERALS = re.compile(r'(?:"(?:[^"\\\n]|\\.)*"\s*(?:PRI\w+\s*|G_GUINT64_FORMAT\s*)?)+')


def sentences(source):
    """The string literals of a source but for names, such as those of filters; parts of one are joined."""
    text = re.sub(
        r"/\*.*?\*/|^#include.*?$", " ", "\n".join(lines_of(source)), flags=re.DOTALL | re.MULTILINE
    )
    for parts in LITERALS.findall(text):
        whole = "".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', parts))
        if whole == "chat" or not re.fullmatch(r"[a-z0-9_.]+", whole):
            yield whole


def test_output_has_the_words_of_its_glossary():
    """One word for one thing, the one that people search for: in what is printed, and in what documents say of it."""
    sources = [source for source in [*SOURCES, *TABLES] if source.startswith("dissectors/")]
    said = [(source, each) for source in sources for each in sentences(source)]
    goldens = [
        (path.name, re.sub(r'"[a-z_]+":|smcr\.[\w.]+', "", line))
        for path in (TOP / "tests/golden").rglob("*.txt")
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    assert len(said) > 2000 and len(goldens) > 10000
    assert [each for each in [*said, *goldens] if OLD_WORDS.search(each[1])] == []
    documents = [
        (path.name, re.sub(r"`[^`]*`", "", line))
        for path in [TOP / "README.md", *(TOP / "docs").glob("*.md")]
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    assert [each for each in documents if OLD_PHRASES.search(each[1])] == []


def tracked():
    """Files of the project."""
    command = ["git", "-c", "safe.directory=*", "-C", TOP, "ls-files", "-z"]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        pytest.skip("this is no git checkout")
    return result.stdout.rstrip("\0").split("\0")


def functions(sources):
    """[(file, name, lines)] of the functions that C files define."""
    command = ["ctags", "--output-format=json", "--fields=+ne", "--kinds-C=f", "-f", "-", *sources]
    lines = subprocess.run(
        command, capture_output=True, text=True, check=True, cwd=TOP
    ).stdout.splitlines()
    return [
        (tag["path"], tag["name"], tag["end"] - tag["line"] + 1) for tag in map(json.loads, lines)
    ]


def lines_of(source):
    return (TOP / source).read_text(encoding="utf-8").splitlines()


def test_top_level():
    names = {path.split("/")[0] for path in tracked()}
    assert {name for name in names if not name.startswith(".")} <= TOP_LEVEL


def test_length_of_lines():
    assert [
        (source, line)
        for source in [*SOURCES, *TABLES]
        for line in lines_of(source)
        if len(line.expandtabs(4)) > LONGEST_LINE
    ] == []


def test_length_of_functions():
    found = functions(SOURCES)
    assert len(found) > len(SOURCES)
    assert [each for each in found if each[2] > LONGEST_FUNCTION] == []


def says_what_it_is(source):
    lines = lines_of(source)
    return (
        lines[0].startswith("/* ")
        and len(lines[0]) > 20
        and any("SPDX-License-Identifier: GPL-2.0-or-later" in line for line in lines[:30])
    )


def test_sources_say_what_they_are():
    assert [source for source in [*SOURCES, *TABLES] if not says_what_it_is(source)] == []


def test_version_is_known_in_one_place():
    knows = [
        source
        for source in SOURCES
        if re.search(r"WS_AT_LEAST|WIRESHARK_VERSION_M", (TOP / source).read_text())
    ]
    assert set(knows) <= {"plugin/compat.h", "plugin/plugin.c"}


def test_no_path_of_this_machine():
    found = [
        path
        for path in tracked()
        if (TOP / path).is_file() and f"{TOP}/".encode() in (TOP / path).read_bytes()
    ]
    assert found == []
