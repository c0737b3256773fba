"""
A breach that an altered capture shows, the whole one shows of the same frame: what a capture lacks,
or has out of order, blames nobody. Each capture of a rule is altered, and those that
test_state_altered.py alters. What UNPROVEN of a scene names is broken: an altered capture may seem
to prove it.

The usual run takes a sample of the alterations; `tests/run --all` takes all of them.
"""

import itertools

import altered
import pcapng
import pytest
import sharkd
from alterations import KINDS
from bed import ALL, captures
from scenes import constant

RULES = [name for name in captures("synthetic", "malformed") if name.startswith(("rule-", "peer-"))]
SAMPLES = {
    "single": 3,
    "pair": 1,
    "5 %": 1,
    "30 %": 1,
    "block": 1,
    "start": 1,
    "end": 1,
    "part": 1,
    "one host": 1,
    "pause": 1,
    "swapped": 1,
    "shuffled": 1,
    "delayed": 1,
    "mirror": 1,
    "copies": 1,
    "snap": 1,
    "thinned": 1,
}
BREACH = ["smcr.breach"]


def test_every_kind_has_a_sample():
    assert SAMPLES.keys() == KINDS.keys()


def shown(frames, rows):
    """{(frame of the whole capture, item)} of the breaches that these frames of a capture show."""
    return {
        (frame.number, item)
        for frame, (texts,) in zip(frames, rows, strict=True)
        for item in texts.split(",")
        if item
    }


def unproven(name):
    """The same of what is broken, though the capture does not prove it."""
    named = constant(name, "UNPROVEN", {}) if name in RULES else {}
    return {
        (frame, item.removeprefix("smcr.")) for item, frames in named.items() for frame in frames
    }


def breaches(tshark, paths):
    """Texts of all frames of captures, after the first pass."""
    requests = [
        request for path in paths for request in (sharkd.load(path), sharkd.columns(BREACH))
    ]
    return [list(sharkd.values(answer).values()) for answer in sharkd.ask(tshark, requests)[1::2]]


def cases_of(base):
    return [
        (kind, case)
        for kind, make in KINDS.items()
        for case in altered.sample(make(base), None if ALL else SAMPLES[kind])
    ]


def blamed(tshark, base, scratch):
    """What altered captures show, and the whole one does not."""
    truth = shown(base.frames, breaches(tshark, [base.path])[0]) | unproven(base.name)
    for batch in altered.batches(enumerate(cases_of(base)), altered.BATCH):
        made = []
        for number, (kind, case) in batch:
            frames, path = case.alter(base.frames), scratch / f"{number}.pcapng"
            pcapng.write(path, base.head, frames)
            made.append((kind, case.label, frames, path))
        for (kind, label, frames, path), rows in zip(
            made, breaches(tshark, [path for *_, path in made]), strict=True
        ):
            for frame, item in sorted(shown(frames, rows) - truth):
                yield f"{kind}, {label}: frame {frame}: {item}"
            path.unlink()


@pytest.mark.parametrize("name", [*RULES, *altered.CAPTURES])
def test_nobody_is_blamed(tshark, scratch, name):
    found = list(itertools.islice(blamed(tshark, altered.whole(tshark, name), scratch), 20))
    if found:
        pytest.fail("\n".join(found), pytrace=False)
