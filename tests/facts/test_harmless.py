"""Breaches that do no harm: with smcr.strict they are told of, else nobody hears of them."""

import pytest

STRICT = ("-o", "smcr.strict:TRUE")

# {item: (capture, frames)}
HARMLESS = {
    "smcr.clc.extension_unneeded": ("rule-v2-proposal", [130, 138]),
    "smcr.llc.byte_order": ("rule-v2-llc", [32, 34, 44, 46]),
}


@pytest.mark.parametrize("item", HARMLESS)
def test_only_strict_users_hear_of_it(tshark, item):
    name, frames = HARMLESS[item]
    assert tshark.frames(name, item) == []
    rows = tshark.fields(name, "frame.number", where=item, options=STRICT, two_pass=True)
    assert [int(number[0]) for number, in rows] == frames
