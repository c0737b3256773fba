"""
The house: knowledge flows one way. Rooms include only those below, and only by their doors.
Modules, a .c with its .h, make no circle, neither by what they include nor by the symbols of their
object files, which a private header cannot hide.
"""

import functools
import graphlib
import pathlib
import re
import subprocess

import pytest
from bed import BUILDS
from rooms import DISSECTORS, FACE_HEADER, ROOMS, head, includes, room_of, sources, tags

PLAIN = (
    "wire",
    "fabric",
    "points",
    "fabric/peers",
    "state/model",
    "state/evidence",
    "state/rules",
    "state/rules/links",
    "state/flow/writes",
    "state/flow/tapped",
    "state/flow/told",
    "state/flow",
    "state",
    "timeline",
    "application",
    "report/histogram",
    "report/packed",
    "report/figures",
    "report/series",
    "report/congestion",
    "report/others",
    "report/classes",
    "report/pause",
    "report/points",
    "report/recovery",
    "report/adapters",
    "report/words",
    "report/findings/finder",
    "report/findings",
    "report/tables",
)  # no epan
FIELDS = {
    "fields.h",
    "fields.def",
    "told.def",
    "experts.def",
}  # THE table: for all rooms from message/ on
EXPERTS = (
    "experts.def"  # a part of it that needs nothing of Wireshark: the state tells of these items
)
DISSECTORS_OF_SMCR = {
    "packet-smcr-tcpopt.c",
    "packet-smcr-clc.c",
    "packet-smcr-roce.c",
}  # the face of the project
MOST_MODULES = 16  # of a folder
WIRESHARK = {
    "glib.h",
    "inttypes.h",
    "stdbool.h",
    "stddef.h",
    "stdint.h",
    "string.h",
    "wireshark.h",
    "wsutil/wmem/wmem.h",
}  # what its wireshark.h brings


def module(path):
    """A header or its source, as `room/name`."""
    return path.relative_to(DISSECTORS).with_suffix("").as_posix()


def circle(knows):
    """The modules of a circle, [] when there is none; `knows` is {module: set of modules}."""
    try:
        graphlib.TopologicalSorter(knows).prepare()
    except graphlib.CycleError as error:
        return error.args[1]
    return []


def by_includes():
    """{module: modules that its files include}"""
    knows = {}
    for path in DISSECTORS.rglob("*.[ch]"):
        knows.setdefault(module(path), set()).update(module(each) for each in includes(path))
    return {name: {other for other in others if other != name} for name, others in knows.items()}


@functools.cache
def object_files():
    """{module: (names that its object file defines for others, names that it needs)}"""
    modules = {module(path).replace("/", "_"): module(path) for path in DISSECTORS.rglob("*.c")}
    paths = [
        path
        for folder in ("dissectors/libsmcr-state.a.p", "smcr.so.p")
        for path in (BUILDS / "debug" / folder).glob("*.c.o")
    ]
    found = {name: (set(), set()) for name in modules.values()}
    rows = subprocess.run(
        ["nm", "--extern-only", "-A", *paths], capture_output=True, text=True, check=True
    ).stdout
    for path, row in (line.split(":", 1) for line in rows.splitlines()):
        name = modules.get(pathlib.Path(path).name.removeprefix("dissectors_").removesuffix(".c.o"))
        kind, symbol = row.split()[-2:]
        if name:
            found[name][kind == "U"].add(symbol)
    return found


def by_symbols():
    """{module: modules whose symbols its object file needs}"""
    files = object_files()
    return {
        name: {other for other, (defined, _) in files.items() if other != name and needed & defined}
        for name, (_, needed) in files.items()
    }


def test_every_folder_is_a_room():
    folders = {
        path.relative_to(DISSECTORS).as_posix() for path in DISSECTORS.rglob("*") if path.is_dir()
    }
    assert folders == set(ROOMS)


@pytest.mark.parametrize("room", ROOMS)
def test_doors_say_what_a_room_knows(room):
    """In three sentences: what it knows, what it does not, who calls it."""
    knows, knows_not, callers = re.split(r"(?<=\.) (?=[A-Z])", head(room))
    assert knows.startswith("Knows ")
    assert re.match(
        r"(Does not know|Knows|Learns nothing|Counts nothing|Adds no|Changes no|Reads)\b", knows_not
    )
    assert re.search(r"\b(call|called|include|includes)\b", callers, re.IGNORECASE)


def test_circles_are_found():
    assert circle({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    assert set(circle({"a": {"b"}, "b": {"c"}, "c": {"a"}})) == {"a", "b", "c"}


def test_no_circle_by_includes():
    knows = by_includes()
    assert sum(map(len, knows.values())) > 100, "the modules include nothing of each other?"
    assert circle(knows) == []


def test_no_circle_by_symbols():
    knows = by_symbols()
    assert (
        len(knows) > 45 and sum(map(len, knows.values())) > 100
    ), "the object files need nothing of each other?"
    assert circle(knows) == []


# Headers within a room that several of its modules share, as a door of theirs.
INNER_DOORS = {
    "host/hooks": "udp_ports.c is the hook of UDP",
    "packet-smcr": "the three registered dissectors, registered in turn",
    "message/clc_messages": "what the decoders of CLC have in common; each has a layout in rows",
    "report/collect/connections/counts": "figures of a connection, and who counts and reports them",
    "report/findings/subjects": "one function of each file on_*.c, called in turn",
    "state/rules/links/links_checks": "what rules of links ask each other, behind rows of a table",
}


def declarers(*headers):
    """{header: functions and variables that it declares}; what inline functions call is no
    declaration."""
    found = {path: set() for path in headers}
    for tag in tags("--kinds-C=px", *headers):
        found[pathlib.Path(tag["path"])].add(tag["name"])
    return found


def strangers(declared, defined):
    """{header: modules that define what it declares}, of those that declare for more than one, or
    for another one than their own. `declared`: {header as a module: names}, `defined`: {module:
    names}.
    """
    wrong = {}
    for header, names in declared.items():
        definers = {each for each, own in defined.items() if own & names}
        if len(definers) > 1 or header in defined and definers - {header}:
            wrong[header] = sorted(definers)
    return wrong


def test_strangers_of_headers_are_found():
    defined = {"a": {"f", "g"}, "b": {"h"}, "c": {"i"}}
    declared = {"a": {"f", "g"}, "types": set(), "rows": {"i"}}
    assert strangers(declared, defined) == {}
    assert strangers({"a": {"f", "h"}}, defined) == {"a": ["a", "b"]}
    assert strangers({"b": {"i"}}, defined) == {"b": ["c"]}
    assert strangers({"all": {"f", "i"}}, defined) == {"all": ["a", "c"]}


def test_prototypes_are_declarations(tmp_path):
    (tmp_path / "a.h").write_text(
        "int smcr_a(int x);\nextern const int smcr_b;\nint other(void);\n"
        "static inline int smcr_c(int x)\n{\n    return other() + smcr_a(x);\n}\n"
        "typedef int smcr_d_t(int x);\nstruct smcr_e { int (*f)(int x); };\n"
    )
    assert declarers(tmp_path / "a.h") == {tmp_path / "a.h": {"smcr_a", "smcr_b", "other"}}


def test_a_header_declares_what_one_module_defines():
    """The doors of rooms aside, behind which several modules may work, and inner doors that are
    listed: those that are none any more go from the list."""
    doors = {DISSECTORS / room / door for room, names in ROOMS.items() for door in names}
    declared = declarers(*(path for path in DISSECTORS.rglob("*.h") if path not in doors))
    assert sum(map(len, declared.values())) > 200, "the headers declare nothing?"
    defined = {name: own for name, (own, _) in object_files().items()}
    by_module = {module(path): names for path, names in declared.items()}
    assert set(strangers(by_module, defined)) == set(INNER_DOORS)


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_include_downwards_by_doors(room):
    order = list(ROOMS)
    wrong = []
    for path in sources(room):
        for other in includes(path):
            where = room_of(other)
            if where == room or other.suffix == ".def" and where in order[: order.index(room)]:
                continue
            if where == "." and (
                other.name == EXPERTS or other.name in FIELDS and room not in PLAIN
            ):
                continue
            if where not in order[: order.index(room)] or other.name not in ROOMS[where]:
                wrong.append((path.name, other.relative_to(DISSECTORS).as_posix()))
    assert wrong == []


def foreign(path):
    """What a file includes that is not in dissectors/, by name. What needs Wireshark has all of
    wireshark.h."""
    names = set(
        re.findall(
            r'#include [<"]((?:[a-z]+/)*[a-z0-9_-]+\.h)[>"]', path.read_text(encoding="utf-8")
        )
    )
    names -= {
        each.relative_to(base).as_posix()
        for each in includes(path)
        for base in (DISSECTORS, each.parent)
    }
    return names | WIRESHARK if names & {"compat.h", "wireshark.h"} else names


@functools.cache
def brought(path, of_room):
    """What comes with a header: own headers as paths, others by name; `of_room`: as the headers of
    its room say themselves."""
    own = {each for each in includes(path) if each.suffix == ".h"}
    further = (brought(each, of_room) for each in own if not of_room or each.parent == path.parent)
    return foreign(path).union(own, *further)


def test_no_file_includes_again_what_headers_bring():
    again = {}
    for path in DISSECTORS.rglob("*.[ch]"):
        text = path.read_text(encoding="utf-8")
        own = [each for each in includes(path) if each.suffix == ".h"]
        by_room = set().union(*(brought(each, True) for each in own if each.parent == path.parent))
        by_others = set().union(*(brought(each, False) for each in own)) & WIRESHARK
        said = set(re.findall(r"#include <(.*)>", text)).union(own) & (by_room | by_others)
        is_list = not re.search(
            r"[;(]$", text, re.MULTILINE
        )  # a door that is nothing but its headers
        if said and not is_list:
            again[module(path)] = said
    assert again == {}


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_need_downwards_by_symbols(room):
    order = list(ROOMS)
    above = {
        name
        for name in by_symbols()
        if pathlib.PurePosixPath(name).parent.as_posix() in order[order.index(room) + 1 :]
    }
    wrong = {
        name: others & above
        for name, others in by_symbols().items()
        if pathlib.PurePosixPath(name).parent.as_posix() == room and others & above
    }
    assert wrong == {}


def test_field_table_knows_no_room_but_wire():
    wrong = [
        (path.name, other.name)
        for path in sources(".")
        if path.stem in ("fields", "values")
        for other in includes(path)
        if room_of(other) not in (".", "wire")
    ]
    assert wrong == []


@pytest.mark.parametrize("room", [".", *ROOMS])
def test_folders_are_small(room):
    assert len({path.stem for path in sources(room) if path.suffix != ".def"}) <= MOST_MODULES


@pytest.mark.parametrize("room", PLAIN)
def test_plain_rooms_know_no_epan(room):
    wrong = [
        (path.name, name)
        for path in sources(room)
        for name in re.findall(
            r'#include [<"]((?:epan/|compat).*)[>"]', path.read_text(encoding="utf-8")
        )
    ]
    assert wrong == []


def test_field_table_and_three_dissectors_stand_at_the_top():
    assert {path.name for path in DISSECTORS.rglob("packet-*.c")} == DISSECTORS_OF_SMCR
    face = {pathlib.Path(name).stem for name in (*DISSECTORS_OF_SMCR, FACE_HEADER)}
    assert {path.stem for path in sources(".")} == {
        pathlib.Path(name).stem for name in FIELDS
    } | face


@pytest.mark.parametrize("name", sorted(DISSECTORS_OF_SMCR))
def test_dissectors_are_thin_and_say_their_limits(name):
    """Each calls rooms by their doors; its head says what it dissects, by which sections, and what
    it does not."""
    path = DISSECTORS / name
    above = path.read_text(encoding="utf-8").split("*/")[0]
    assert all(
        word in above
        for word in ("RFC 7609", "What is dissected:", "Rooms:", "Preferences", "Limitations:")
    )
    others = [other for other in includes(path) if room_of(other) != "."]
    assert [other.name for other in others if other.name not in ROOMS[room_of(other)]] == []


def test_no_room_knows_the_dissectors():
    assert [
        path.name
        for room in ROOMS
        for path in sources(room)
        if any(each.name == FACE_HEADER for each in includes(path))
    ] == []
    needed = {other for name, others in by_symbols().items() if "/" in name for other in others}
    assert {name for name in needed if name.startswith("packet-smcr")} == set()


def types(*paths):
    """(name, what it is, file) of each type that files define; what it is: a tag names it the same
    for all files."""
    for tag in tags("--kinds-C=tsug", *paths):
        what = tag.get("typeref") or tag["kind"]
        if "scope" not in tag:
            yield tag["name"], what if "__anon" not in what else f"{what} {tag['path']}", tag[
                "path"
            ]


def twice(found):
    """Names of types that are several things; a struct and the typedef of it may have one name."""
    meanings = {}
    for name, what, path in found:
        kind = "tag" if what in ("struct", "union", "enum") else "typedef"
        meanings.setdefault((name, kind), set()).add(what if kind == "typedef" else path)
    return sorted(name for (name, _), each in meanings.items() if len(each) > 1)


def test_types_are_told_apart(tmp_path):
    """Two of one name are found, whatever they are; one that two headers declare is one."""
    codes = {
        "a.h": "typedef struct { int x; } one_t;\nstruct two { int x; };\n"
        "typedef struct many many_t;\n"
        "typedef enum { A } three_t;\ntypedef void four_t(int x);\n"
        "typedef struct six { int x; } six;\n",
        "b.h": "typedef enum { B } one_t;\nstruct two { char x; };\ntypedef struct many many_t;\n"
        "typedef union { int x; } three_t;\ntypedef int four_t(char *x);\n",
    }
    for name, code in codes.items():
        (tmp_path / name).write_text(code)
    assert twice(types(*(tmp_path / name for name in codes))) == [
        "four_t",
        "one_t",
        "three_t",
        "two",
    ]


def test_names_are_used_once():
    """No two files of the same name in different rooms, and no two types or functions that others
    can see."""
    names = [path.name for path in DISSECTORS.rglob("*.[ch]")]
    assert sorted({name for name in names if names.count(name) > 1}) == []
    found = list(types(*DISSECTORS.rglob("*.h")))
    assert len(found) > 150, "the headers have no types?"
    assert twice(found) == []
    symbols = [symbol for defined, _ in object_files().values() for symbol in defined]
    assert sorted({symbol for symbol in symbols if symbols.count(symbol) > 1}) == []


def test_first_pass_is_asked_once_in_each_dissector():
    """Whether a frame has been visited; what is shown in the second pass only, and TCP's tables,
    are no learning."""
    asks = {
        path.name: path.read_text(encoding="utf-8").count("->visited")
        for path in DISSECTORS.rglob("*.c")
    }
    assert {name: count for name, count in asks.items() if count} == {
        "packet-smcr-tcpopt.c": 1,
        "segment.c": 1,
        "withheld.c": 1,
        "packet-smcr-clc.c": 1,
        "damage.c": 1,  # damaged segments
        "learn.c": 1,
        "netlink.c": 1,  # five ways in
        "capture.c": 2,  # asserts it; number of an earlier frame
        "anck.c": 1,
        "udp_ports.c": 1,  # marks frames
        # TCP's table of messages, bytes of before a host named their connection, first bytes that
        # name a protocol
        "as_tcp.c": 5,
        "held.c": 5,  # held bytes, and the frame that shows them
        "new_bytes.c": 1,  # which of two transmissions has the bytes
        "own_frame.c": 3,  # the stand-in for a frame that was visited
        "tcp_state.c": 1,  # the order of bytes whose positions nobody knows
        "heuristic_policy.c": 1,  # whether heuristics are asked, which their answers decide
        "analysis.c": 1,
        "annotate.c": 2,
        "info.c": 1,  # known in the second pass
        "tap.c": 1,
        "finding_marks.c": 1,  # collects for smcr.finding, which later passes show
    }  # listeners ask themselves what has come later


def test_one_place_decides_what_a_capture_proves():
    """
    Who must know what the capture lacks asks evidence.h. Only the fabric, which finds gaps, and
    evidence look at them. TCP connections that are not SMC-R have gaps of their own
    (report/congestion). What the fabric has found before a packet is in the packet's record: that
    is shown and counted. Whether a packet was taken in steers the flow, and what is shown; a rule
    asks evidence.
    """
    rooms = ("fabric", "fabric/peers", "state/evidence", "report/congestion")
    asks = (
        r"\.gaps\b|(?:->|\.)(?:too_late|clc_whole|clc_next|knows_client|carried|"
        r"several_interfaces)\b|state->last_time"
    )
    of_rules = asks + r"|->(?:fate|missing)\b|smcr_ranges_"
    found = {
        (path.name, match)
        for path in DISSECTORS.rglob("*.c")
        if room_of(path) not in rooms
        for match in re.findall(
            of_rules if room_of(path).startswith("state/rules") else asks,
            path.read_text(encoding="utf-8"),
        )
    }
    assert found == {
        ("state.c", "->several_interfaces"),
        ("record.c", "state->last_time"),
    }  # which learn it


def test_state_is_written_by_itself():
    """Outside state/ nobody assigns to a member of a connection, a link or the state."""
    members = r"\b(?:conn|link|lgr|rmb|state)(?:->|\.)\w[\w.\[\]!>-]*\s*(?:[-+|&]?=(?!=)|\+\+|--)"
    found = [
        (path.name, line)
        for path in DISSECTORS.rglob("*.c")
        if room_of(path) not in PLAIN
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.search(members, line)
    ]
    assert [each for each in found if each[0] != "capture.c"] == []
