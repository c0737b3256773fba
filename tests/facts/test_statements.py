"""
What is said in one frame about others is right: requests, responses, crossings, repeats, gaps, acknowledgements,
windows. A reader of its own works it out from the bytes (statements.py). What the plugin does not say is not wrong.
"""

import collections

import proof_packets
import proof_streams
import pytest
import statements
import traffic
from bed import captures

PATHS = statements.captures()
SHARP = ["6.1-v1-n-lossy", "6.1-v2-h1-two-links-second-fails", "6.1-v2-d-bulk-slow-reader"]

# What the plugin gets wrong. frames: {capture: frames, or None for all of which nothing may be said}
Fault = collections.namedtuple("Fault", "why fields frames")
FAULTS = [
    Fault("a request does not cross one that its sender had seen long before", ["smcr.llc.collision"], {
        "6.1-v1-h3-asymmetric-links": {91, 150, 167}, "6.1-v2-w-smc-unloaded-server": {83},
        "6.1-v2-x-idle-630s": {209}, "llc-counts": {105}, "reserved-flags": {65}}),
    Fault("a rejection that takes an acceptance back has a request", ["smcr.llc.no_request"], {
        "6.1-v1-h3-asymmetric-links": {38}, "6.1-v2-h6-late-second-link-asymmetric": {2206}}),
    Fault("the first acknowledgement ends the time until a packet was acknowledged", ["smcr.ack_time"], {
        "6.1-v1-g3-half-close": None, "6.1-v2-g3-half-close": None, "6.1-v1-n-lossy": None, "6.1-v2-n-lossy": None,
        "cm-and-smc": None, "window-analysis": {46}}),
    Fault("the capture has the bytes: in a packet that was discarded behind a gap",
          ["smcr.stream.gap", "smcr.cdc.unseen_data"], {"6.1-v1-n-lossy": None, "6.1-v2-n-lossy": None}),
    Fault("the capture has the bytes: in a WRITE of which the plugin names no connection",
          ["smcr.cdc.unseen_data"], {"llc-counts": {46}, "reserved-flags": {51}}),
    Fault("a message announces the discarded WRITEs, too", ["smcr.cdc.writes", "smcr.cdc.last_write"], {
        "6.1-v1-n-lossy": {136, 263, 963, 1054}, "6.1-v2-n-lossy": {303, 334, 470}}),
    Fault("the writer went on with the packet that was sent first, not when it was sent again",
          ["smcr.window.blocked_since", "smcr.window.blocked_time"], {"6.1-v2-n-lossy": {269}}),
    Fault("frame 2 says what was read before", ["smcr.cdc.read", "smcr.window.unread"], {
        "6.1-v1-c2-capture-starts-late": {6, 9}}),
]


def is_of(fault, name, wrong):
    """Is a wrong statement one of those of a fault?"""
    if wrong.field not in fault.fields or name not in fault.frames:
        return False
    frames = fault.frames[name]
    return not wrong.right if frames is None else wrong.frame in frames


def wrong_of(tshark, name):
    return statements.compare_copy(tshark, PATHS[name]).wrong


def lines(name, every):
    return "\n".join(statements.line(name, each) for each in every[:20])


@pytest.mark.parametrize("name", PATHS)
def test_statements(tshark, name):
    wrong = [each for each in wrong_of(tshark, name) if not any(is_of(fault, name, each) for fault in FAULTS)]
    assert not wrong, lines(name, wrong)


@pytest.mark.parametrize(("fault", "name"), [
    pytest.param(fault, name, marks=pytest.mark.xfail(reason=fault.why, strict=True), id=f"{fault.fields[0]}-{name}")
    for fault in FAULTS for name in fault.frames])
def test_known_faults(tshark, fault, name):
    wrong = [each for each in wrong_of(tshark, name) if is_of(fault, name, each)]
    assert not wrong, lines(name, wrong)


# ---- the reader ----


@pytest.mark.parametrize("name", SHARP)
def test_reader_finds_what_is_wrong(tshark, name):
    """Each number that is said, one higher, is wrong; but for some in a lossy capture, which proves only a range."""
    path = statements.copy(tshark, PATHS[name])
    proof = statements.Proof(PATHS[name])
    numbers = [(frame, field, value + 1) for frame, field, value in statements.said(tshark, path, 2)
               if field != statements.COLLISION]
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
            assert any(all(data[each.position:each.end] == each.data for each in writes)
                       for (_, direction), data in known.items() if direction == side) or not writes
