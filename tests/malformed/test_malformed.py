"""
Whatever bytes come, the plugin neither crashes nor hangs nor touches memory that is not its own. It
runs under AddressSanitizer and UBSan in the distribution's tshark, which stops at the first
"Dissector bug".

This is the short form: of frames with the same layout one is cut and altered. tests/fuzz/tshark
takes them all.
"""

import functools
import random

import alter
import pytest
from bed import ALL, captures
from hostile import Shower, sanitized

SEEDS = 8 if ALL else 3
SNAP_LENGTHS = 12 if ALL else 5
STRIDE = 1 if ALL else 4  # of the layouts that a capture brings
SMALL = 25_000  # bytes of a real capture that is mutated

MADE = {**captures("synthetic"), **captures("malformed")}
MUTATED = {
    **MADE,
    **{name: path for name, path in captures("real").items() if path.stat().st_size <= SMALL},
}


@functools.cache
def read(path):
    return alter.read(path)


@functools.cache
def chosen():
    """One frame of each layout, of whatever capture: {path: numbers of frames}."""
    seen = set()
    return {path: alter.one_of_each(*read(path), seen) for path in MADE.values()}


@pytest.fixture
def shower(bed, scratch):
    return Shower(sanitized(bed), scratch / "altered.pcap")


@pytest.mark.parametrize("alteration", [alter.cut_packets, alter.cut_segments, alter.extremes])
def test_cut_and_extreme(shower, alteration):
    for path in MADE.values():
        if numbers := chosen()[path]:
            linktype, frames = read(path)
            shower.add(
                linktype,
                alteration(linktype, frames, shower.copies, set(sorted(numbers)[::STRIDE])),
            )
    shower.finish()
    assert shower.frames > 10_000 / STRIDE


def test_snap_lengths(shower):
    for name, path in MADE.items():
        linktype, frames = read(path)
        lengths = alter.cuts(linktype, max(frames, key=len))
        some = random.Random(name).sample(lengths, min(SNAP_LENGTHS, len(lengths)))
        shower.add(linktype, alter.snapped(linktype, frames, shower.copies, some))
    shower.finish()


@pytest.mark.parametrize(
    "memory, seeds", [("usual", range(SEEDS)), ("strict", range(SEEDS, SEEDS + 1))]
)
def test_mutated(bed, scratch, memory, seeds):
    shower = Shower(sanitized(bed, memory), scratch / "altered.pcap")
    for path in MUTATED.values():
        linktype, frames = read(path)
        shower.add(linktype, alter.mutated(linktype, frames, shower.copies, seeds))
    shower.finish()


def test_random(shower):
    shower.add(alter.LINKTYPE_ETHERNET, alter.random_frames(shower.copies, range(1000)))
    shower.finish()
