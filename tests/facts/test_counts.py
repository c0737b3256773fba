"""On real captures every message is found, as often as it was sent, and nothing is wrong with
it."""

import collections

import fields
import ground_truth
import pytest

# Scenarios in which nothing goes wrong and nothing is refused (captures/README.md describes them).
CLEAN = {"a", "a2", "a3", "a4", "b", "c", "d", "e", "g3", "h4", "i", "j"}

KINDS = (
    "smcr.clc.type",
    "smcr.llc.type",
    "smcr.cdc.seq",
    "smcr.write.len",
)  # what messages of each kind have
FIELDS = (
    *KINDS,
    "smcr.clc.version",
    "smcr.llc.response",
    "smcr.llc.length",
    "infiniband.bth.opcode",
)

real_captures = pytest.mark.parametrize("name", ground_truth.names())


def integer(text):
    return int(text, 0)


def rows(tshark, name, which, *fields):
    """Values of these fields, of the frames that have the field `which`."""
    for row in tshark.fields(name, *FIELDS, where=" || ".join(KINDS), two_pass=True):
        values = dict(zip(FIELDS, row, strict=True))
        if values[which]:
            yield [values[field] for field in fields]


def clc_counts(tshark, name):
    for types, versions in rows(tshark, name, "smcr.clc.type", "smcr.clc.type", "smcr.clc.version"):
        assert len(types) == len(versions)
        yield from (
            ("CLC", integer(kind), integer(version)) for kind, version in zip(types, versions)
        )


def llc_counts(tshark, name):
    names = ("smcr.llc.type", "smcr.llc.response", "smcr.llc.length")
    for types, responses, lengths in rows(tshark, name, "smcr.llc.type", *names):
        assert len(types) == len(responses) == len(lengths) == 1
        yield ("LLC", integer(types[0]), responses[0] in ("1", "True"), integer(lengths[0]))


def cdc_counts(tshark, name):
    for (numbers,) in rows(tshark, name, "smcr.cdc.seq", "smcr.cdc.seq"):
        yield from (("CDC",) for _ in numbers)


def write_counts(tshark, name):
    for (opcodes,) in rows(tshark, name, "smcr.write.len", "infiniband.bth.opcode"):
        yield ("WRITE", integer(opcodes[0]))


@pytest.mark.parametrize(
    "protocol, count",
    [("CLC", clc_counts), ("LLC", llc_counts), ("CDC", cdc_counts), ("WRITE", write_counts)],
)
@real_captures
def test_every_message_is_found(tshark, name, protocol, count):
    expected = {
        kind: n for kind, n in ground_truth.message_counts(name).items() if kind[0] == protocol
    }
    assert collections.Counter(count(tshark, name)) == expected


@real_captures
def test_nothing_is_wrong(tshark, name):
    """Nothing is malformed or has an error; a clean capture has no warning either."""
    severities = ("ERROR", "WARN") if name.split("-")[2] in CLEAN else ("ERROR",)
    where = f"_ws.malformed || {fields.expert_filter(*severities)}"
    assert tshark.fields(name, "frame.number", "_ws.expert.message", where=where) == []


def test_some_are_clean():
    assert len([name for name in ground_truth.names() if name.split("-")[2] in CLEAN]) > 20
