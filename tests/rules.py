"""
docs/rfc7609.md: the rules of RFC 7609, each with its check and the capture that breaks it.

The document is written by hand, but for its totals. This reads it.
"""

import collections
import re

from bed import TOP

DOCUMENT = TOP / "docs" / "rfc7609.md"
HEADING = "## Totals\n\n"
HEADER = "| id | rule | visible | check | proof |"

VISIBLE = {
    "message": "one message",
    "frames": "several frames",
    "hosts": "both hosts",
    "off the wire": "off the wire",
}
STATES = {
    "checked": "checked",
    "partly": "partly, with the reason",
    "not": "not checked, with the reason",
    "repeats": "the rule of another row",
}

# items: [(filter, severity)]; proofs: [(capture or test, display filter)]; repeated: ids of rows
Rule = collections.namedtuple("Rule", "id rule visible check state items proofs repeated")
Allowed = collections.namedtuple("Allowed", "item what check proofs")

ITEM = re.compile(r"`(smcr\.[\w.]+)` (ERROR|WARN|NOTE|CHAT)")
PROOF = re.compile(r"`([^`]+)`(?: \(`([^`]+)`\))?")


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split(" | ")]


def table_rows(text, header):
    """The cells of all rows below tables with this header."""
    rows, inside = [], False
    for line in text.splitlines():
        if not line.startswith("|"):
            inside = False
        elif line == header:
            inside = True
        elif inside and not line.startswith("|---"):
            rows.append(cells(line))
    return rows


def state_of(visible, check):
    if visible == "off the wire":
        return "off the wire"
    if check.startswith("= "):
        return "repeats"
    if check.startswith("– "):
        return "not"
    return "partly" if "; part: " in check else "checked"


def rule(row):
    name, text, visible, check, proof = row
    state = state_of(visible, check)
    return Rule(
        name,
        text,
        visible,
        check,
        state,
        ITEM.findall(check) if not check.startswith("– ") else [],
        PROOF.findall(proof),
        re.findall(r"R-[\w.]+-\d+", check) if state == "repeats" else [],
    )


def rules():
    """All rows of the checklist."""
    return [rule(row) for row in table_rows(DOCUMENT.read_text(encoding="utf-8"), HEADER)]


def allowed():
    """The items that a correct peer may have caused."""
    rows = table_rows(
        DOCUMENT.read_text(encoding="utf-8"),
        "| item | what a correct peer may do | check | proof |",
    )
    return [
        Allowed(item.strip("`"), what, check, PROOF.findall(proof))
        for item, what, check, proof in rows
    ]


# ---- totals ----


def total_rows(every):
    """Rows of the table: what, and how many in all and by what shows them."""
    visible = [each for each in every if each.visible != "off the wire"]
    kinds = [kind for kind in VISIBLE if kind != "off the wire"]

    def row(title, which):
        return title, len(which), *(sum(each.visible == kind for each in which) for kind in kinds)

    yield row("visible rules", visible)
    for state, title in STATES.items():
        yield row(title, [each for each in visible if each.state == state])


def totals(every):
    """The section below the heading."""
    unseen = sum(each.visible == "off the wire" for each in every)
    lines = [
        f"{len(every)} rules, {unseen} of them off the wire.",
        "",
        "| | rules | one message | several frames | both hosts |",
        "|---|---|---|---|---|",
    ]
    lines += ["| " + " | ".join(map(str, row)) + " |" for row in total_rows(every)]
    return "\n".join(lines) + "\n"


def with_totals(text):
    """The document with its totals counted anew: they stand between their heading and the next
    one."""
    before, rest = text.split(HEADING)
    after = rest[rest.index("\n## ") :]
    return before + HEADING + totals(rules()) + after
