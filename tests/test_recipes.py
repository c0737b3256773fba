"""Who follows docs/contributing.md, docs/architecture.md or the head of a .def file finds each file
and function named."""

import functools
import re

import pytest
from bed import TOP
from test_recipes_made import PLACES, steps

DISSECTORS = TOP / "dissectors"
DOCUMENTS = [TOP / "docs" / name for name in ("contributing.md", "architecture.md")]
TABLES = sorted(DISSECTORS.rglob("*.def"))
SOURCES = [
    path
    for folder in ("dissectors", "plugin", "tests", "docs", "captures")
    for path in (TOP / folder).rglob("*")
    if path.is_file() and "golden" not in path.parts
]

FILE = r"\.(?:c|h|def|py|md|json|jq|txt|build|pcapng|pcapng\.gz)"
NEW = {
    name for recipe in PLACES for name, _, line, _ in steps(recipe) if not line
}  # the recipes make them
KERNEL = ("net/smc", "linux/", "smc_")  # of Linux


def prose(path):
    """What a person reads: of a .def file its comments, each line a line."""
    text = path.read_text(encoding="utf-8")
    return text if path in DOCUMENTS else "\n".join(re.findall(r"/\*.*?\*/", text, re.DOTALL))


def paths(text, code):
    """Files and folders, as they are called: in a document between backquotes, or a command of its
    own line."""
    words = [word for quoted in re.findall(r"`([^`\n]+)`", text) for word in quoted.split()[:1]]
    words += re.findall(r"^    ([\w.-]+/[\w./-]+)", text, re.MULTILINE)
    if code:
        words = re.findall(rf"[\w./-]+{FILE}\b|\b\w+/(?:[\w-]+/)*(?=[\s:])", text)
    return {
        word
        for word in words
        if (
            re.fullmatch(rf"[\w.*/-]+(?:{FILE}|/)", word)
            or re.fullmatch(r"(?:\w[\w.-]*/)+[\w.-]+", word)
        )
        and not word.startswith(KERNEL)
    } - NEW


@functools.cache
def names():
    return {path.name for path in SOURCES}


def is_there(word):
    if "*" in word:
        return any(TOP.glob(word))
    return any(
        (folder / word).exists()
        for folder in (TOP, DISSECTORS, DISSECTORS / "report", DISSECTORS / "fabric")
    ) or ("/" not in word and word in names())


def pattern(function):
    """`take_in_<handler>` and `key_...` stand for many."""
    return re.sub(
        r"<\w+>|\\\.\\\.\\\.", r"\\w+", re.escape(function).replace(r"\<", "<").replace(r"\>", ">")
    )


def defines(path, function):
    """Whether the file, or one in the folder, has the function, at the beginning of a line or
    behind what it returns."""
    files = [path] if path.is_file() else path.rglob("*.c")
    return any(
        re.search(
            rf"^(?:[\w* ]+ \**)?{pattern(function)}\(",
            file.read_text(encoding="utf-8"),
            re.MULTILINE,
        )
        for file in files
    )


def placed(text):
    """[(function, where it is said to be)]"""
    found = re.findall(r"`([\w<>]+(?:\.\.\.)?)(?:\(\))?` (?:of|in) `([\w./-]+)`", text)
    return found + [
        (function, place)
        for place, function in re.findall(r"([\w./-]+(?:\.[ch]|/)): (?:\w+ )?([\w<>]+)\(\)", text)
    ]


def functions(text):
    """Functions of anybody, but those of the kernel."""
    found = re.findall(
        r"\b([a-z][\w<>]*(?:\.\.\.)?)\([^()\n]*\)", " ".join(re.findall(r"`([^`\n]+)`", text))
    )
    found += re.findall(r"\b([a-z]\w*(?:<\w+>\w*)?)\(\)", text)
    return {name for name in found if not name.startswith(KERNEL)}


@functools.cache
def code():
    """All of the tree, and what the recipes add to it."""
    added = [text for recipe in PLACES for *_, text in steps(recipe)]
    return "\n".join(
        added
        + [
            path.read_text(encoding="utf-8")
            for path in SOURCES
            if path.suffix in (".c", ".h", ".py")
        ]
    )


@pytest.mark.parametrize("path", [*DOCUMENTS, *TABLES], ids=lambda path: path.name)
def test_what_is_named_exists(path):
    text = prose(path)
    assert sorted(word for word in paths(text, path in TABLES) if not is_there(word)) == []
    assert (
        sorted(name for name in functions(text) if not re.search(rf"\b{pattern(name)}\(", code()))
        == []
    )


@pytest.mark.parametrize("path", [*DOCUMENTS, *TABLES], ids=lambda path: path.name)
def test_functions_are_where_it_is_said(path):
    where = [
        (
            function,
            next(
                (folder / place for folder in (TOP, DISSECTORS) if (folder / place).exists()), None
            ),
        )
        for function, place in placed(prose(path))
        if re.search(r"[_<]", function) and not function.endswith("_t")
    ]
    assert [
        (function, place)
        for function, place in where
        if not place
        or not defines(place, function)
        and not re.search(rf"\b{pattern(function)}\b", place.read_text() if place.is_file() else "")
    ] == []


def test_recipes_name_something():
    """Else the tests above look at nothing."""
    texts = {path.name: prose(path) for path in [*DOCUMENTS, *TABLES]}
    assert (
        len(paths(texts["architecture.md"], False)) > 100
        and len(paths(texts["contributing.md"], False)) > 50
    )
    assert {
        ("take_in_<handler>", "state/flow/llc_flow.c"),
        ("key_<key>", "state/flow/llc_flow.c"),
    } <= set(placed(texts["llc.def"]))
    assert {
        ("key_...", "dissectors/state/flow/llc_flow.c"),
        ("register_parts", "plugin/plugin.c"),
    } <= set(placed(texts["contributing.md"]))
    assert "smcr_breach_report_unless" in functions(texts["contributing.md"])
    assert (
        not is_there("stats/stats.h")
        and not is_there("state/events.def")
        and not is_there("no_such.c")
    )
    assert defines(DISSECTORS / "state/flow/llc_flow.c", "key_<key>")
    assert not defines(DISSECTORS / "state/flow/cdc_flow.c", "key_<key>")
