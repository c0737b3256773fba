"""
Attribution is right or absent, whatever a capture lacks: no alteration of a capture gives a frame to another
connection, link, place or request than it has in the whole capture.

The usual run takes a sample of the alterations; with SMCR_TEST_ALL set, it takes all of them.
"""

import altered
import pytest
from bed import ALL

SAMPLES = {"single": 25, "pair": 10, "5 %": 3, "30 %": 2, "block": 5, "start": 4, "one host": 4, "swapped": 4,
           "shuffled": 2, "copies": 3, "snap": 5, "joined": 1, "joined late": 2}
ONCE_EVERY = 10  # of the altered captures of a sample, those that are looked at in a single pass too


def test_every_kind_has_a_sample():
    assert SAMPLES.keys() == altered.KINDS.keys()


@pytest.mark.parametrize("kind", altered.KINDS)
@pytest.mark.parametrize("name", altered.CAPTURES)
def test_attribution_is_right_or_absent(tshark, scratch, name, kind):
    texts = []
    for base in altered.bases(tshark, name, kind):
        assert any(shown["connection"] for shown in base.twice.values())
        cases = altered.sample(altered.KINDS[kind](base), None if ALL else SAMPLES[kind])
        every = 1 if ALL and kind != "single" else ONCE_EVERY
        wrong = [finding for outcome in altered.outcomes(tshark, base, cases, scratch, every)
                 for finding in outcome.wrong]
        texts += [altered.message(base.name, kind, wrong)] if wrong else []
    if texts:
        pytest.fail("\n".join(texts), pytrace=False)
