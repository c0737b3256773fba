"""
Attribution is right or absent, whatever a capture lacks: no alteration of a capture gives a frame
to another connection, link, place or request than it has in the whole capture.

The usual run takes a sample of the alterations; `tests/run --all` takes all of them.
"""

import altered
import pytest
from bed import ALL

SAMPLES = {
    "single": 5,
    "pair": 2,
    "5 %": 1,
    "30 %": 1,
    "block": 1,
    "start": 1,
    "end": 1,
    "part": 1,
    "one host": 2,
    "pause": 1,
    "swapped": 1,
    "shuffled": 1,
    "delayed": 1,
    "mirror": 1,
    "copies": 1,
    "snap": 2,
    "thinned": 1,
    "joined": 1,
    "joined late": 1,
}
ONCE_EVERY = (
    10  # of the altered captures of a sample, those that are looked at in a single pass too
)
# places by which the first of them moves from kind to kind, since most samples are smaller than ten
FIRST = 3


def test_every_kind_has_a_sample():
    assert SAMPLES.keys() == altered.KINDS.keys()


def first_once(name, kind):
    """Which case of a sample is the first that is looked at in a single pass: another one for each
    capture and kind."""
    return (altered.CAPTURES.index(name) + FIRST * list(altered.KINDS).index(kind)) % ONCE_EVERY


def test_every_kind_is_seen_in_one_pass():
    """And every capture."""
    seen = {
        (name, kind)
        for name in altered.CAPTURES
        for kind in altered.KINDS
        if first_once(name, kind) < SAMPLES[kind]
    }
    assert {kind for _, kind in seen} == set(altered.KINDS)
    assert {name for name, _ in seen} == set(altered.CAPTURES)


@pytest.mark.parametrize("kind", altered.KINDS)
@pytest.mark.parametrize("name", altered.CAPTURES)
def test_attribution_is_right_or_absent(tshark, scratch, name, kind):
    texts = []
    for base in altered.bases(tshark, name, kind):
        assert any(shown["connection"] for shown in base.twice.values())
        cases = altered.sample(altered.KINDS[kind](base), None if ALL else SAMPLES[kind])
        every = 1 if ALL and kind != "single" else ONCE_EVERY
        wrong = [
            finding
            for outcome in altered.outcomes(
                tshark, base, cases, scratch, every, first_once(name, kind) % every
            )
            for finding in outcome.wrong
        ]
        texts += [altered.message(base.name, kind, wrong)] if wrong else []
    if texts:
        pytest.fail("\n".join(texts), pytrace=False)
