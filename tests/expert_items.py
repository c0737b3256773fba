"""
docs/fields.md: what each expert item says, when it is raised, and where to see it.

The sentence "when" is the comment above the item's row in dissectors/experts.def. What shows the
item is found by tshark; the document keeps it, so that whoever only checks the document needs not
search.
"""

import re
import shutil

import fields
from bed import TOP, captures

FACTS = sorted((TOP / "tests" / "facts").glob("test_*.py"))
UNIT_TESTS = sorted((TOP / "tests" / "unit").glob("test_*.c"))

BEGIN, END = "<!-- expert items: tests/experts-doc -->\n", "<!-- end of the expert items -->"
HEADER = ("filter", "severity", "what it says", "when it is raised", "capture", "frame")
ROW = re.compile(
    r"^\| `(?P<item>[^`]+)`(?: →)? \|.*\| [`*]?(?P<capture>[^|`*]+)[`*]? \| (?P<frame>\d*) \|$",
    re.MULTILINE,
)
COMMENT = re.compile(r"/\* ((?:[^*]|\*(?!/))*?) \*/\n[A-Z_]+\(\w+, \"([^\"]+)\"")


def whens():
    """{filter: when it is raised}, the comments of the table."""
    text = fields.experts_text()
    return {
        f"smcr.{name}": re.sub(r"\n \* ", " ", comment) for comment, name in COMMENT.findall(text)
    }


# ---- where to see an item ----

# The RPC over RDMA of Wireshark 4.0 crashes in the second pass of some captures, without the
# plugin, too.
STRICT = ("-o", "smcr.strict:TRUE")
FOREIGN = ("-o", "smcr.roce:TRUE", "-o", "smcr.check_icrc:TRUE", "--disable-protocol", "rpcordma")


def all_captures(bed):
    """{name: path that tshark can read} of all captures, in the order in which they are
    preferred."""
    found = {}
    for folder in ("real", "synthetic", "malformed"):
        names = sorted(captures(folder), key=lambda name: (bed.capture(name).stat().st_size, name))
        found.update({name: bed.capture(name) for name in names})
    for path in packed():
        found[name_of(path)] = shutil.copyfile(path, bed.scratch / path.name)
    return found


def packed():
    """Captures of RoCE, those with SMC-R first. The others are of interest with the preferences of
    FOREIGN only."""
    paths = [
        path
        for folder in ("fabric", "roce")
        for path in (TOP / "captures" / folder).glob("*.pcapng.gz")
    ]
    return sorted(paths, key=lambda path: ("smc" not in path.name, path.stat().st_size))


def name_of(path):
    return path.name.removesuffix(".pcapng.gz")


def is_foreign(name):
    return name in {name_of(path) for path in packed() if "smc" not in path.name}


def items_of(tshark, path, items, where=""):
    """(filter, frame) of these items in a capture, in the order of its frames."""
    condition = " || ".join(items)
    rows = tshark.fields(
        path,
        "frame.number",
        *items,
        where=f"({condition}) && ({where})" if where else condition,
        two_pass=True,
        options=STRICT + (FOREIGN if is_foreign(name_of(path)) else ()),
    )
    return [
        (item, int(number[0]))
        for number, *shown in rows
        for item, value in zip(items, shown, strict=True)
        if value
    ]


def find(tshark):
    """{filter: (capture, frame)}: the first capture that shows the item."""
    found = {}
    for name, path in all_captures(tshark.bed).items():
        missing = [each.filter for each in fields.experts() if each.filter not in found]
        if not missing:
            break
        for item, frame in items_of(tshark, path, missing):
            found.setdefault(item, (name, frame))
    return found


def places():
    """{filter: (capture, frame)} as the document says."""
    rows = ROW.finditer(fields.DOCUMENT.read_text(encoding="utf-8").split(BEGIN)[1])
    return {row["item"]: (row["capture"], int(row["frame"])) for row in rows if row["frame"]}


def test_of(item):
    """The test that has the item shown, where no capture does; empty: there is none."""
    event = next(name for name, each in fields.expert_variables().items() if each == item)
    named = [
        *((path, rf'"{re.escape(item)}"') for path in FACTS),
        *((path, rf'SMCR_EVENT_{event}\b|"[\w ]*\b{event}\b[\w ]*"') for path in UNIT_TESTS),
    ]
    found = (path for path, name in named if re.search(name, path.read_text(encoding="utf-8")))
    return next((path.relative_to(TOP).as_posix() for path in found), "")


# ---- the document ----


def document(text, where):
    """docs/fields.md with the table of expert items made anew; `where` is what find() returns."""
    when = whens()
    rows = []
    for each in fields.experts():
        name, frame = where.get(each.filter) or (test_of(each.filter), "")
        rows.append(
            (
                fields.filter_cell(each.filter),
                fields.severity_cell(each),
                each.sentence,
                when.get(each.filter, ""),
                f"*{name}*" if is_foreign(name) else f"`{name}`",
                str(frame),
            )
        )
    severities = [f"- {severity}: {meaning}" for severity, meaning in fields.SEVERITIES.items()]
    return fields.between(text, BEGIN, END, [*severities, "", *fields.table(HEADER, rows)])
