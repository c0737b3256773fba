"""Rules of the house that a machine can check."""

import json
import os
import re
import subprocess
import zlib
import sys

import pytest
from bed import ALL, TOP

TOP_LEVEL = {
    "meson.build",
    "meson_options.txt",  # meson reads the options of a project there only
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

# Of tests/density.
DENSE_SHARE = 0.04  # of functions that may have more than 6 conditions
MOST_CONDITIONS = 12
MOST_WITH_FOUR_OPERATORS = 10  # statements; none has more than four
CALLBACKS = {}  # {function with more than 5 parameters: what of epan has its type}

SOURCES = sorted(
    path.relative_to(TOP).as_posix()
    for folder in ("plugin", "dissectors", "tests/unit", "tests/fuzz")
    for path in (TOP / folder).rglob("*.[ch]")
)
TABLES = sorted(path.relative_to(TOP).as_posix() for path in (TOP / "dissectors").rglob("*.def"))


# What the output says otherwise: docs/fields.md has its words.
OLD_WORDS = re.compile(
    r"""\bagain\b|(?<!selective\ )\brepeat(s|ed|ing)?\b|\bovertak|\babsent\b|\bcop(y|ies)\b
    |\bnews\b|\bcame\ early|\bcome\ yet|\bwent\ out|\bunread\b|\bnot\ read\b|\b(data|bytes)\ read\b
    |\bha(s|ve)\ read\ (all|data)|\bdata\ (that\ )?(was|were)\ read|^chat$""",
    re.IGNORECASE | re.VERBOSE,
)
OLD_PHRASES = re.compile(
    r"""\bsen[dt]s?\ (\w+\ ){0,2}again|\b(asked|written|came|went\ out)\ again|\bovertak|\bnews\ of
    |\babsent\ (packet|PSN)|\b(packets?|PSNs?)\ (is|are|was|were)\ absent|\bnot\ read\ yet
    |\bbytes\ unread|\bunread\ bytes|\bdata\ (was\ )?read\ after|\brepeats\ (of|and|in)\b
    |\bcopies\ (of\ packets|made)|"chat\b""",
    re.IGNORECASE | re.VERBOSE,
)
LITERALS = re.compile(r'(?:"(?:[^"\\\n]|\\.)*"\s*(?:PRI\w+\s*|G_GUINT64_FORMAT\s*)?)+')


def sentences(source):
    """The string literals of a source but for names, such as those of filters; parts of one are
    joined."""
    text = re.sub(
        r"/\*.*?\*/|^#include.*?$", " ", "\n".join(lines_of(source)), flags=re.DOTALL | re.MULTILINE
    )
    for parts in LITERALS.findall(text):
        whole = "".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', parts))
        if whole == "Copy Filter":  # a button, in Wireshark's own words
            continue
        if whole == "chat" or not re.fullmatch(r"[a-z0-9_.]+", whole):
            yield whole


def test_output_has_the_words_of_its_glossary():
    """One word for one thing, the one that people search for: in what is printed, and in what
    documents say of it."""
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


BLACK = "black, 23."
FORMATTED_SHARE = 12
PYTHON = ("captures", "docs", "plugin", "tests")  # folders


def scripts():
    """All Python of the project, with and without an ending."""
    for name in tracked():
        path = TOP / name
        if path.is_file() and not path.is_symlink() and name.split("/")[0] in PYTHON:
            with path.open("rb") as file:
                first = file.readline()
            if path.suffix == ".py" or first.startswith(b"#!") and b"python" in first:
                yield name


def test_python_is_formatted():
    """As Debian 12's black does it; others have other tastes. It remembers in build-test/ what it
    has seen: a file that has not changed costs nothing. The default run looks at one file of
    FORMATTED_SHARE."""
    version = subprocess.run(
        ["black", "--version"], capture_output=True, text=True, check=True
    ).stdout
    if not version.startswith(BLACK):
        pytest.skip(f"this is {version}")
    names = list(scripts())
    assert len(names) > 300
    if not ALL:
        names = [name for name in names if zlib.crc32(name.encode()) % FORMATTED_SHARE == 0]
    black = ["black", "--check", "--fast", "--line-length", str(LONGEST_LINE), *names]
    environment = {**os.environ, "BLACK_CACHE_DIR": str(TOP / "build-test" / "black")}
    result = subprocess.run(black, capture_output=True, text=True, cwd=TOP, env=environment)
    wrong = [line for line in result.stderr.splitlines() if line.startswith(("would", "error"))]
    assert (result.returncode, wrong) == (0, [])


def test_length_of_lines_of_python():
    assert [
        (name, number)
        for name in scripts()
        for number, line in enumerate(lines_of(name), 1)
        if len(line) > LONGEST_LINE
    ] == []


def density(*places):
    """What tests/density says of files."""
    command = [sys.executable, TOP / "tests" / "density", "--json", *places]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


def too_dense(found):
    """What is beyond a limit, by its name."""
    dense, operators = found["dense"], found["operators"]
    over = {
        "share": dense if len(dense) > DENSE_SHARE * found["functions"] else [],
        "conditions": [each for each in dense if each[0] > MOST_CONDITIONS],
        "statements": operators if len(operators) > MOST_WITH_FOUR_OPERATORS else [],
        "operators": [each for each in operators if each[0] > 4],
        "ternaries": found["ternaries"],
        "parameters": [each for each in found["parameters"] if each[3] not in CALLBACKS],
    }
    return {name: places for name, places in over.items() if places}


def test_conditions_have_names():
    found = density()
    assert found["functions"] > 2000
    assert too_dense(found) == {}
    assert set(CALLBACKS) <= {each[3] for each in found["parameters"]}


CALM = (
    "int calm_{}(int a)\n{{\n    if (a && a > 1)\n        return f(a ? 1 : 2, a ? 3 : 4);\n"
    "    return a;\n}}\n"
)
DENSE = {
    "share": "int f(int a)\n{\n" + "    if (a)\n        a++;\n" * 7 + "    return a;\n}\n",
    "conditions": "int f(int a)\n{\n    switch (a) {\n"
    + "".join(f"    case {i}:\n" for i in range(12))
    + "        for (; a;)\n            a--;\n    }\n    return a;\n}\n",
    "statements": "int f(int a, int b)\n{\n" + "    a = a && b && a && b && a;\n" * 11 + "}\n",
    "operators": "int f(int a, int b)\n{\n    return a && b && (a || b) && a && /* && */ b;\n}\n",
    "ternaries": "int f(int a, int b)\n{\n    return a ? 1 : g(b ? 2 : 3);\n}\n",
    "parameters": (
        "int\nf(int a, int b, int (*c)(int, int), int d, int e, int g)\n{\n    return a;\n}\n"
    ),
}
FURTHER = {
    "ternaries": (
        "int f(int a, int b)\n{\n    return (a ? b : 1) ? 2 : 3;\n}\n",
        "int f(int a, int b)\n{\n    if (a && (a ? b : 1))\n        return 2;\n    return 3;\n}\n",
    )
}


@pytest.mark.parametrize("limit", DENSE)
def test_what_is_dense_is_found(limit, tmp_path):
    """Each limit, by a function that breaks it, among a hundred that break none."""
    calm = "#define DENSE(a) ((a) ? (a) ? 1 : 2 : (a) && (a) && (a) && (a) && (a))\n"
    calm += "".join(CALM.format(i) for i in range(100))
    (tmp_path / "calm.c").write_text(calm)
    assert too_dense(density(tmp_path)) == {}
    for code in (DENSE[limit], *FURTHER.get(limit, ())):
        (tmp_path / "dense.c").write_text(code * (5 if limit == "share" else 1))
        over = too_dense(density(tmp_path))
        assert limit in over and set(over) <= {limit, "conditions", "operators"}
        assert {each[1] for each in over[limit]} == {"dense.c"}


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
