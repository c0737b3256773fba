"""Filters of the menu: what they find is what the bytes say, and every frame that they find has them."""

import collections

import frame_reader
import message_reader
import pytest
import tables
import wire
from bed import captures

CONNECTION, LINK, GROUP = "SMC-R Connection", "SMC-R Link", "SMC-R Link Group"
RMBS = "SMC-R RMB of the Client", "SMC-R RMB of the Server"

# The capture begins amid connections, or their addresses are not those of a queue pair for its whole life.
LATE = {"6.1-v1-c2-capture-starts-late"}
real = pytest.mark.parametrize("name", sorted(set(captures("real")) - LATE))


@pytest.fixture(scope="session")
def opened(tshark, tmp_path_factory):
    """Opens a capture as the window does, once."""
    known = {}

    def opened(name):
        if name not in known:
            path = tables.simple_copy(tshark.bed.capture(name), tshark.bed.scratch / f"menus-{name}.pcap")
            path.chmod(0o644)
            known[name] = tables.window(tshark, [path])[0]
        return known[name]

    return opened


def menus(opened, name, menu):
    """{filter: frames that have it in this menu}"""
    found = collections.defaultdict(set)
    for (frame, which), text in opened(name).menus.items():
        if which == menu:
            found[text].add(frame)
    return found


def of_smc(tshark, name):
    """TCP connections with SMC's option or CLC: sets of frames by their ends."""
    streams = {row[0][0] for row in tshark.fields(name, "tcp.stream", where="smcr.option || smcr.clc.type")}
    ends = {}
    for segment in wire.packets(message_reader.path_of(name)):
        if isinstance(segment, wire.Segment):
            ends.setdefault(frozenset(segment.ends), segment.frame)
    first = {int(row[0][0]): row[1][0] for row in tshark.fields(name, "frame.number", "tcp.stream", where="tcp")}
    return {each for each, frame in ends.items() if first[frame] in streams}


@real
def test_connection(tshark, opened, name):
    """All of TCP, CDC and RDMA WRITEs; each of these frames has the filter, and no other frame has one."""
    known = frame_reader.read(name).connections
    expected = sorted(sorted(known[each]) for each in of_smc(tshark, name))
    found = menus(opened, name, CONNECTION)
    assert sorted(sorted(frames) for frames in found.values()) == expected
    for text, frames in found.items():
        assert set(tshark.frames(name, text, two_pass=True)) == frames
