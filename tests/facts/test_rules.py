"""
docs/rfc7609.md against the code: the expert items that its rows name exist with that severity, and
the captures and tests that it names raise them.
"""

import collections
import functools
import pathlib
import re
import shutil

import fields
import pytest
import rules
from bed import TOP, captures
from report_runs import PATHS, REAL, SMC

SENTENCE_WORDS = 30
STATEMENTS = TOP / "tests" / "facts" / "rfc7609_statements.txt"

EVERY = rules.rules()
BY_ID = {each.id: each for each in EVERY}
VARIABLES = fields.expert_variables()


def severities():
    return {each.filter: each.severity for each in fields.experts()}


def names_in_tests(item):
    """What a test may call the item: its filter, or its event."""
    return [item, *(f"SMCR_EVENT_{name}" for name, each in VARIABLES.items() if each == item)]


# ---- the rows ----


def test_ids_are_unique_and_in_their_section():
    assert [
        name for name, count in collections.Counter(each.id for each in EVERY).items() if count > 1
    ] == []
    sections, section = {}, None
    for line in rules.DOCUMENT.read_text(encoding="utf-8").splitlines():
        if line.startswith("### "):
            section = line.split()[1]
        elif line.startswith("| R-"):
            sections[rules.cells(line)[0]] = section
    assert [
        name for name, section in sections.items() if name.rsplit("-", 1)[0] != f"R-{section}"
    ] == []


def test_rows_are_whole():
    """Five cells; a sentence; a known kind; a check that says something."""
    assert [each.id for each in EVERY if each.visible not in rules.VISIBLE] == []
    assert [
        each.id
        for each in EVERY
        if not each.rule.endswith(".") or len(each.rule.split()) > SENTENCE_WORDS
    ] == []
    assert [
        each.id for each in EVERY if each.state in ("checked", "partly") and not each.items
    ] == []
    assert [
        each.id
        for each in EVERY
        if each.visible == "off the wire" and not each.check.startswith("– ")
    ] == []
    assert [each.id for each in EVERY if each.items and not each.proofs] == []


def test_repeats_lead_to_a_rule():
    wrong = [
        each.id
        for each in EVERY
        for name in each.repeated
        if name not in BY_ID or BY_ID[name].state in ("repeats", "off the wire")
    ]
    assert (
        wrong == []
        and [each.id for each in EVERY if each.state == "repeats" and not each.repeated] == []
    )


def test_nothing_is_left_to_do():
    assert len(EVERY) == 401 and "todo" not in rules.DOCUMENT.read_text(encoding="utf-8")


def test_every_statement_of_the_rfc_has_a_row():
    """Every MUST, SHOULD where it binds, "is required", "may not" and timer, counted in the RFC
    without these rows."""
    lines = STATEMENTS.read_text(encoding="utf-8").splitlines()[1:]
    statements = [
        (int(line), names.split()) for line, _, names in (each.split(" | ") for each in lines)
    ]
    assert [line for line, names in statements if not names or set(names) - BY_ID.keys()] == []
    assert len(statements) == 434 and statements == sorted(statements, key=lambda each: each[0])


def test_totals():
    text = rules.DOCUMENT.read_text(encoding="utf-8")
    assert text == rules.with_totals(text), "the totals are stale: tests/rules-doc writes them"


# ---- against the code ----


def test_items_have_their_severity():
    known = severities()
    assert [
        (each.id, item) for each in EVERY for item in each.items if known.get(item[0]) != item[1]
    ] == []


def test_names_exist(tshark):
    named = set(re.findall(r"\bsmcr(?:\.[a-z]\w*)+", rules.DOCUMENT.read_text(encoding="utf-8")))
    assert named - {row[0] for row in tshark.registered_fields()} == {"smcr.strict"}  # a preference


def test_what_breaks_the_protocol_has_a_rule():
    """Each expert item of RFC 7609 above NOTE is that of a row; fabric and life of connections are
    no matter of rules."""
    named = {item for each in EVERY for item, severity in each.items}
    assert (
        set(fields.breaches())
        - named
        - {"smcr.message_short"}  # any message that is cut by its sender
        - {"smcr.anck.length_invalid"}  # of a kernel's tap, not of RFC 7609
        - {"smcr.write.length_invalid"}  # of InfiniBand's RETH, not of RFC 7609
        == set()
    )


# ---- against captures and tests ----


@functools.cache
def raised(tshark, name, where):
    """Items that a capture raises, in frames that match the filter."""
    items = [each.filter for each in fields.experts()]
    rows = tshark.fields(name, *items, where=where or " || ".join(items), two_pass=True)
    return {item for row in rows for item, shown in zip(items, row, strict=True) if shown}


def shows(tshark, item, proof, where):
    if "/" in proof:
        text = (TOP / proof).read_text(encoding="utf-8")
        return any(re.search(rf"\b{re.escape(name)}\b", text) for name in names_in_tests(item))
    return item in raised(tshark, proof, where)


def test_proofs_exist():
    known = set(captures())
    proofs = [(each.id, proof) for each in EVERY for proof, where in each.proofs]
    assert [
        pair
        for pair in proofs
        if not ((TOP / pair[1]).exists() if "/" in pair[1] else pair[1] in known)
    ] == []


@pytest.mark.parametrize(
    "section", sorted({each.id.rsplit("-", 1)[0] for each in EVERY if each.items})
)
def test_proofs_raise_the_items(tshark, section):
    """Each item of a row in one of its captures or tests; each proof has an item."""
    rows = [each for each in EVERY if each.items and each.id.rsplit("-", 1)[0] == section]
    missing = [
        (each.id, item)
        for each in rows
        for item, severity in each.items
        if not any(shows(tshark, item, proof, where) for proof, where in each.proofs)
    ]
    idle = [
        (each.id, proof)
        for each in rows
        for proof, where in each.proofs
        if not any(shows(tshark, item, proof, where) for item, severity in each.items)
    ]
    assert (missing, idle) == ([], [])


# ---- what a correct peer may do ----


def test_correct_peers():
    """Twelve items; each has its capture."""
    rows = rules.allowed()
    assert len(rows) == 12 and {each.item for each in rows} <= set(severities())
    assert [each.item for each in rows if not each.proofs] == []


def test_correct_peers_raise_nothing(tshark):
    assert [
        each.item
        for each in rules.allowed()
        for name, where in each.proofs
        if each.item in raised(tshark, name, where)
    ] == []


# ---- what real captures show ----


def judged():
    """{(item, capture): frames} as the document says."""
    text = rules.DOCUMENT.read_text(encoding="utf-8")
    rows = rules.table_rows(text, "| item | capture | frames | what is on the wire |")
    return {(item.strip("`"), name.strip("`")): int(frames) for item, name, frames, _ in rows}


def test_every_warning_of_a_real_capture_is_judged(tshark, scratch):
    items = [each.filter for each in fields.experts() if each.severity in ("WARN", "ERROR")]
    found = collections.Counter()
    for name in REAL + SMC:
        path = pathlib.Path(shutil.copy(PATHS[name], scratch))
        for shown in tshark.fields(path, *items, where=" || ".join(items), two_pass=True):
            found.update((item, name) for item, values in zip(items, shown, strict=True) if values)
    assert len(REAL + SMC) == 50 and found == judged()
    assert {item for item, _ in found} & set(fields.breaches()) == set()
