"""
Every capture is shown as its golden text says. Where a change is meant, tests/golden/regenerate
writes the new texts, and the diff is part of the review.
"""

import difflib

import golden
import pytest


@pytest.mark.parametrize("name", golden.names())
def test_golden(tshark, name):
    path = golden.file_of(name)
    assert path.exists(), f"no golden text; tests/golden/regenerate {name} writes it"
    diff = list(
        difflib.unified_diff(
            path.read_text(encoding="utf-8").splitlines(),
            golden.text_of(tshark, name).splitlines(),
            "golden",
            "now",
            lineterm="",
        )
    )
    if diff:
        pytest.fail("\n".join(diff[:200]), pytrace=False)


def test_goldens_are_reviewable():
    lines = {
        name: len(golden.file_of(name).read_text(encoding="utf-8").splitlines())
        for name in golden.names()
    }
    odd = {name: count for name, count in lines.items() if not 0 < count <= golden.LONGEST}
    assert odd == {}, "lines: choose frames in tests/golden/ranges.txt"


def test_no_golden_without_capture():
    known = {golden.file_of(name) for name in golden.names()} | {golden.FOLDER / "ranges.txt"}
    assert set(golden.FOLDER.glob("*.txt")) <= known
    assert set(golden.ranges()) <= set(golden.names())
