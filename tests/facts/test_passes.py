"""One pass over a capture, two passes, and frames looked at in any order show the same."""

import json

import fields
import pytest
from bed import captures


@pytest.mark.parametrize("name", captures())
def test_two_passes_show_what_one_shows(tshark, name):
    names = sorted({field[0] for field in tshark.registered_fields()} - fields.FORWARD)
    one = tshark.fields(name, "frame.number", *names)
    two = tshark.fields(name, "frame.number", *names, two_pass=True)
    different = [(row[0][0], field, first, second)
                 for row, other in zip(one, two, strict=True)
                 for field, first, second in zip(["frame", *names], row, other) if first != second]
    assert different == []


def trees(tshark, name, frames):
    """The protocol trees of some frames, in the order in which they are asked for: {frame: tree}."""
    load = {"method": "load", "params": {"file": str(tshark.bed.capture(name))}, "id": len(frames) + 1}
    ask = [{"method": "frame", "params": {"frame": frame, "proto": True}, "id": i + 1}
           for i, frame in enumerate(frames)]
    lines = "".join(json.dumps({"jsonrpc": "2.0", **each}) + "\n" for each in [load, *ask])
    answers = [json.loads(line) for line in tshark.start("-", program="sharkd", input=lines).stdout.splitlines()]
    return {frames[answer["id"] - 1]: answer["result"] for answer in answers if answer["id"] <= len(frames)}


@pytest.mark.parametrize("name", captures())
def test_frames_look_the_same_in_any_order(tshark, name):
    """As in the window, where the user clicks on frames: sharkd is that without a window."""
    numbers = tshark.frames(name, "smcr")[:100]
    forward = trees(tshark, name, numbers)
    backward = trees(tshark, name, numbers[::-1])
    assert len(forward) == len(numbers)
    assert [number for number in numbers if forward[number] != backward[number]] == []
