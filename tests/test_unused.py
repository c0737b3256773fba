"""
What nobody uses goes: members of structs that are written and never read, and functions that no
other file calls.

Members are told apart by their names only. So one that has the name of another may not be found,
but none is found wrongly.
"""

import collections
import re

from bed import TOP, wireshark_version
from rooms import tags
from test_modules import object_files

SOURCES = sorted((TOP / "dissectors").rglob("*.[ch]"))
READ = re.compile(
    r"(?:->|\.)\s*(\w+)\b(?!\s*(?:\[[^\]]*\]\s*)*=(?!=))"
)  # not `a.x = `, `a.x[i] = `, nor `.x = `
CHANGED = re.compile(
    r"^\s*[\w.>\[\]-]*(?:->|\.)(\w+)\s*(?:[-+|&]=[^;]*|\+\+|--);", re.MULTILINE
)  # a statement
NAMED = re.compile(r"\boffsetof\([^,()]*, *(\w+)")

BASES = {"rows": "statistics/flow_graph.c: the base of a struct, used by its address"}

# What no object file of this build needs.
OTHERS_CALL = {
    "smcr_conn_count": "Wireshark 4.4 asks it, by payload/follow.c",
    "smcr_capture_begin": "the harnesses of tests/fuzz begin a capture",
}


def members(paths):
    """{(file, name)} of the members of structs and unions."""
    return {(tag["path"], tag["name"]) for tag in tags("--kinds-C=m", *paths)}


def text_of(path):
    return re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)


def unread(paths):
    """[(file, name)] of each member that no code reads."""
    text = "".join(map(text_of, paths))
    reads = collections.Counter(READ.findall(text))
    reads.subtract(CHANGED.findall(text))
    reads.update(NAMED.findall(text))
    return sorted((path, name) for path, name in members(paths) if reads[name] <= 0)


def test_unread_members_are_found(tmp_path):
    path = tmp_path / "a.c"
    path.write_text(
        """typedef struct { int set, counted, table[2], made, read, compared, passed, summed, \
named; } a_t;
a_t make(a_t *a, a_t b)
{
    a->set = 1; /* not a->set */
    a->counted++;
    a->counted += 2;
    a->table[0] = 1;
    a->read = b.read;
    if (a->compared == 1 && f(&b.passed))
        b.summed += a->summed;
    return (a_t){.made = offsetof(a_t, named)};
}
"""
    )
    assert [name for _, name in unread([path])] == ["counted", "made", "set", "table"]


def test_every_member_is_read():
    assert len(members(SOURCES)) > 800
    assert [each for each in unread(SOURCES) if each[1] not in BASES] == []


def test_every_public_function_is_called_by_others():
    """Of the names that headers write out; what a macro declares for a table is public for all of
    the table or none."""
    declared = set(
        re.findall(
            r"\b(smcr_\w+)\(", "".join(text_of(path) for path in SOURCES if path.suffix == ".h")
        )
    )
    files = object_files()
    needed = set().union(*(needs for _, needs in files.values()))
    defined = {name for defines, _ in files.values() for name in defines} & declared
    assert len(defined) > 500
    plugin = text_of(TOP / "plugin" / "plugin.c")
    others = set(OTHERS_CALL) - (set() if wireshark_version() == "4.0" else {"smcr_conn_count"})
    assert {name for name in defined - needed if not re.search(rf"\b{name}\b", plugin)} == others
