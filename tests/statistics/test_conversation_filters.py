"""Filters of the menu: what they find is what the bytes say, and every frame that they find has
them."""

import collections
import functools

import frame_reader
import message_reader
import pytest
import printed_statistics as tables
import sharkd_tables
import wire
from bed import captures
from scapy.layers.inet import ICMP, IP, TCP
from scapy.layers.l2 import Ether
from scapy.utils import RawPcapReader, wrpcap

CONNECTION, LINK, GROUP = "SMC-R Connection", "SMC-R Link", "SMC-R Link Group"
RMBS = "SMC-R RMB of the Client", "SMC-R RMB of the Server"

# The capture begins amid connections.
LATE = {"6.1-v1-c2-capture-starts-late"}
real = pytest.mark.parametrize("name", sorted(set(captures("real")) - LATE))


@pytest.fixture(scope="session")
def opened(tshark, tmp_path_factory):
    """Opens a capture as the window does, once."""
    known = {}

    def opened(name):
        if name not in known:
            path = tables.simple_copy(
                tshark.bed.capture(name), tshark.bed.scratch / f"menus-{name}.pcap"
            )
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


@functools.cache
def found_by_all(tshark, opened, name):
    texts = sorted(set(opened(name).menus.values()))
    return dict(
        zip(
            texts,
            sharkd_tables.frames_of_filters(tshark, tshark.bed.capture(name), texts),
            strict=True,
        )
    )


def found_by(tshark, opened, name, text):
    """Frames that a filter of a menu finds after the first pass. One process asks all filters of
    the capture."""
    return found_by_all(tshark, opened, name)[text]


def of_smc(tshark, name):
    """TCP connections with SMC's option or CLC: sets of frames by their ends."""
    streams = {
        row[0][0] for row in tshark.fields(name, "tcp.stream", where="smcr.option || smcr.clc.type")
    }
    ends = {}
    for segment in wire.packets(message_reader.path_of(name)):
        if isinstance(segment, wire.Segment):
            ends.setdefault(frozenset(segment.ends), segment.frame)
    first = {
        int(row[0][0]): row[1][0]
        for row in tshark.fields(name, "frame.number", "tcp.stream", where="tcp")
    }
    return {each for each, frame in ends.items() if first[frame] in streams}


@real
def test_connection(tshark, opened, name):
    """All of TCP, CDC and RDMA WRITEs; each of these frames has the filter, and no other frame has
    one."""
    known = frame_reader.read(name).connections
    expected = sorted(sorted(known[each]) for each in of_smc(tshark, name))
    found = menus(opened, name, CONNECTION)
    assert sorted(sorted(frames) for frames in found.values()) == expected
    for text, frames in found.items():
        assert found_by(tshark, opened, name, text) == frames


@real
def test_link(tshark, opened, name):
    """
    What its two queue pairs receive, and the CLC messages that name them; each of these frames has
    the filter. A segment of TCP has that of its connection.
    """
    ends = frame_reader.links(name)
    packets = wire.packets(message_reader.path_of(name))
    seen = set()
    for text, frames in menus(opened, name, LINK).items():
        found = found_by(tshark, opened, name, text)
        pair = [end for end, its in ends.items() if its & found]
        assert (
            len(pair) <= 2
            and found == set().union(*(ends[end] for end in pair))
            and found <= frames
        )
        assert frames - found <= {
            packet.frame for packet in packets if isinstance(packet, wire.Segment)
        }
        seen |= found
    assert {packet.frame for packet in packets if isinstance(packet, wire.Packet)} <= seen


@real
def test_link_group(tshark, opened, name):
    """All of its links; there are as many groups as first contacts."""
    links = [found_by(tshark, opened, name, text) for text in menus(opened, name, LINK)]
    groups = [found_by(tshark, opened, name, text) for text in menus(opened, name, GROUP)]
    first = [
        message.frame
        for message in message_reader.said(name)
        if frame_reader.is_clc(message, message_reader.ACCEPT) and message.data[7] & 8
    ]
    assert len(groups) == len(first)
    for group in groups:
        assert group == set().union(*(link for link in links if link <= group))
    assert sum(map(len, groups)) == len(set().union(*links))


def fell_back(tshark, name):
    return tshark.frames(name, "smcr.fallback.reason", two_pass=True)


@pytest.mark.parametrize("role", [0, 1], ids=["client", "server"])
@real
def test_rmb(tshark, opened, name, role):
    """RDMA WRITEs into it, and the messages that tell its RKeys; all frames of its connections have
    the filter."""
    known = frame_reader.read(name)
    expected = {}
    for rmb, (frames, connections) in known.rmbs.items():
        if rmb[0] == role and connections:
            expected[
                frozenset(set().union(*(known.connections[each] for each in connections)))
            ] = frames
    found = menus(opened, name, RMBS[role])
    if fell_back(tshark, name):  # their RMBs mean nothing any more
        assert len(found) < max(1, len(expected))
        return
    assert set().union(*found.values()) == set().union(*expected)
    for text, frames in found.items():
        (matches,) = [its for every, its in expected.items() if frames <= every]
        assert found_by(tshark, opened, name, text) == matches


def test_errors_of_icmp_are_of_no_connection(tshark, scratch):
    """A host that quotes a segment has sent none: Wireshark leaves the ports of the quoted one
    behind."""
    name = "6.1-v2-a-first-contact-ipv4"
    frames = [Ether(data) for data, _ in RawPcapReader(str(message_reader.path_of(name)))]
    segment = next(frame for frame in frames if TCP in frame)
    error = (
        Ether(src=segment.dst, dst=segment.src)
        / IP(src=segment[IP].dst, dst=segment[IP].src)
        / ICMP(type=3, code=3)
        / segment[IP]
    )
    wrpcap(str(scratch / "error.pcap"), [*frames, error], nano=True)
    (scratch / "error.pcap").chmod(0o644)
    opened = tables.window(tshark, [scratch / "error.pcap"])[0]
    assert (1, CONNECTION) in opened.menus
    assert not [frame for frame, _ in opened.menus if frame > len(frames)]
