"""On real captures every message is found, as often as it was sent, and nothing is wrong with it."""

import collections

import fields
import ground_truth
import pytest

# Scenarios in which nothing goes wrong and nothing is refused (captures/README.md describes them).
CLEAN = {"a", "a2", "a3", "a4", "b", "c", "d", "e", "g3", "h4", "i", "j"}

real_captures = pytest.mark.parametrize("name", ground_truth.names())


def integer(text):
    return int(text, 0)


def clc_counts(tshark, name):
    names = ("smcr.clc.type", "smcr.clc.version")
    for types, versions in tshark.fields(name, *names, where="smcr.clc.type", two_pass=True):
        assert len(types) == len(versions)
        yield from (("CLC", integer(kind), integer(version)) for kind, version in zip(types, versions))


def llc_counts(tshark, name):
    names = ("smcr.llc.type", "smcr.llc.response", "smcr.llc.length")
    for types, responses, lengths in tshark.fields(name, *names, where="smcr.llc.type", two_pass=True):
        assert len(types) == len(responses) == len(lengths) == 1
        yield ("LLC", integer(types[0]), responses[0] in ("1", "True"), integer(lengths[0]))


def cdc_counts(tshark, name):
    for row in tshark.fields(name, "smcr.cdc.seq", where="smcr.cdc.seq", two_pass=True):
        yield from (("CDC",) for _ in row[0])


def write_counts(tshark, name):
    for row in tshark.fields(name, "infiniband.bth.opcode", where="smcr.write.len", two_pass=True):
        yield ("WRITE", integer(row[0][0]))


@pytest.mark.parametrize("protocol, count", [("CLC", clc_counts), ("LLC", llc_counts), ("CDC", cdc_counts),
                                             ("WRITE", write_counts)])
@real_captures
def test_every_message_is_found(tshark, name, protocol, count):
    expected = {kind: n for kind, n in ground_truth.message_counts(name).items() if kind[0] == protocol}
    assert collections.Counter(count(tshark, name)) == expected


@real_captures
def test_nothing_is_malformed(tshark, name):
    assert tshark.frames(name, "_ws.malformed") == []


@real_captures
def test_no_error(tshark, name):
    assert tshark.fields(name, "frame.number", "_ws.expert.message", where=fields.expert_filter("ERROR")) == []


@pytest.mark.parametrize("name", [name for name in ground_truth.names() if name.split("-")[2] in CLEAN])
def test_clean_capture_has_no_warning(tshark, name):
    assert tshark.fields(name, "frame.number", "_ws.expert.message", where=fields.expert_filter("WARN")) == []
