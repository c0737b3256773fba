"""
Modules, a .c with its .h, know each other in one direction only: no circle, neither by what they include nor by the
symbols of their object files, which a private header cannot hide.
"""

import graphlib
import pathlib
import re
import subprocess

import pytest
from bed import BUILDS, TOP

DISSECTORS = TOP / "dissectors"
ROOMS = ("wire", "state")
OBJECTS = BUILDS / "debug" / "dissectors" / "libsmcr-state.a.p"


def modules(room):
    return {path.stem for path in (DISSECTORS / room).glob("*.[ch]")}


def circle(knows):
    """The modules of a circle, [] when there is none; `knows` is {module: set of modules}."""
    try:
        graphlib.TopologicalSorter(knows).prepare()
    except graphlib.CycleError as error:
        return error.args[1]
    return []


def by_includes(room):
    """{module: modules of the room that its files include}"""
    knows = {}
    for path in (DISSECTORS / room).glob("*.[ch]"):
        names = {pathlib.Path(name).stem
                 for name in re.findall(r'#include "(?:%s/)?(\w+\.h)"' % room, path.read_text(encoding="utf-8"))}
        knows.setdefault(path.stem, set()).update((names & modules(room)) - {path.stem})
    return knows


def symbols(path):
    """(names that an object file defines for others, names that it needs)"""
    rows = subprocess.run(["nm", "--extern-only", path], capture_output=True, text=True, check=True).stdout.split("\n")
    rows = [row.split()[-2:] for row in rows if row]
    return {name for kind, name in rows if kind != "U"}, {name for kind, name in rows if kind == "U"}


def by_symbols():
    """{module of state/: modules whose symbols its object file needs}"""
    files = {path.name.removesuffix(".c.o").removeprefix("state_"): symbols(path) for path in OBJECTS.glob("*.o")}
    assert files, "the state has no object files"
    return {name: {other for other, (defined, _) in files.items() if other != name and needed & defined}
            for name, (_, needed) in files.items()}


def test_circles_are_found():
    assert circle({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    assert set(circle({"a": {"b"}, "b": {"c"}, "c": {"a"}})) == {"a", "b", "c"}


@pytest.mark.parametrize("room", ROOMS)
def test_no_circle_by_includes(room):
    knows = by_includes(room)
    assert sum(map(len, knows.values())) > 3, "these modules include nothing of each other?"
    assert circle(knows) == []


def test_no_circle_by_symbols():
    knows = by_symbols()
    assert sum(map(len, knows.values())) > 20, "these object files need nothing of each other?"
    assert circle(knows) == []


def test_state_is_written_by_itself():
    """Outside state/ nobody assigns to a member of a connection, a link, a queue pair or the state."""
    members = r"\b(?:conn|link|lgr|rmb|smcr_state)(?:->|\.)\w[\w.\[\]!>-]*\s*(?:[-+|&]?=(?!=)|\+\+|--)"
    found = [(path.name, line) for path in DISSECTORS.glob("**/*.c") if path.parent.name not in ("state", "fabric")
             for line in path.read_text(encoding="utf-8").splitlines() if re.search(members, line)]
    assert found == []
