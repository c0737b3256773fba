"""
What is said in one frame about others is right: requests, responses, crossings, repeats, gaps,
acknowledgements, windows. A reader of its own works it out from the bytes (statements.py). What the
plugin does not say is not wrong.
"""

import proof_packets
import proof_streams
import pytest
import statements
import traffic
from bed import captures

PATHS = statements.captures()
SHARP = ["6.1-v1-n-lossy", "6.1-v2-h1-two-links-second-fails", "6.1-v2-d-bulk-slow-reader"]


def lines(name, every):
    return "\n".join(statements.line(name, each) for each in every[:20])


@pytest.mark.parametrize("name", PATHS)
def test_statements(tshark, name):
    wrong = statements.compare_copy(tshark, PATHS[name]).wrong
    assert not wrong, lines(name, wrong)


# ---- the reader ----


@pytest.mark.parametrize("name", SHARP)
def test_reader_finds_what_is_wrong(tshark, name):
    """Each number that is said, one higher, is wrong; but for some in a lossy capture, which proves
    only a range."""
    path = statements.copy(tshark, PATHS[name])
    proof = statements.Proof(PATHS[name])
    numbers = [
        (frame, field, value + 1)
        for frame, field, value in statements.said(tshark, path, 2)
        if field != statements.COLLISION
    ]
    found = statements.judge(proof, 2, numbers)
    assert len(numbers) > 5000 and len(found) > 0.95 * len(numbers)


@pytest.mark.parametrize("name", captures("real"))
def test_reader_knows_positions(name):
    """At the positions of the WRITEs the programs' byte streams have the WRITEs' bytes."""
    path = captures("real")[name]
    known = traffic.streams(path.with_suffix(".streams"))
    for connection in proof_streams.streams(proof_packets.read(path)):
        for side, stream in enumerate(connection.streams):
            writes = [each for each in stream.writes() if each.position is not None]
            assert (
                any(
                    all(data[each.position : each.end] == each.data for each in writes)
                    for (_, direction), data in known.items()
                    if direction == side
                )
                or not writes
            )
