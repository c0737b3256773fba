"""
A program that reads a file once forgets connections that ended long ago: at least 65,536 frames and
ten seconds. A program that reads it twice keeps everything. Lines also let go of link groups.
"""

import io
import json
import struct
import sys

from bed import TOP
from lines import lines_of, of_kind

sys.path.insert(0, str(TOP / "tests" / "benchmarks"))
from carriers import Link, Pcap, Smcr  # noqa: E402
from workloads import in_groups, short, talk  # noqa: E402

KEPT = 65536  # frames
OTHER = b"\2\0\0\0\0\1\2\0\0\0\0\2\x88\xb5" + bytes(46)  # IEEE 802's ethertype for experiments


def others(pcap, count):
    """Frames that are no SMC-R, a millisecond apart."""
    for _ in range(count):
        seconds, ticks = divmod(pcap.frames, 1000)
        time = (1_700_000_000 + seconds, ticks * 1000)
        pcap.write(struct.pack("<IIII", *time, len(OTHER), len(OTHER)) + OTHER)
        pcap.frames += 1


def capture(others_each):
    """A connection that closes, other frames in two parts, and its data once more. Two
    connections of the link group stay open all the time; the later one talks. Returns the file, and
    the first frame of the late data."""
    file = io.BytesIO()
    pcap = Pcap(file, tick=1000)
    link = Link(pcap, 1)
    first, closing, staying = (short(link, number, Smcr) for number in range(3))
    first.open()
    talk(first)
    closing.open()
    begin = file.tell()
    talk(closing)
    data = file.getvalue()[begin:]
    staying.open()
    talk(staying)
    closing.close()
    others(pcap, others_each)
    talk(staying)
    others(pcap, others_each)
    late = pcap.frames + 1
    file.write(data)
    talk(staying)
    return file.getvalue(), late


def connections_of_writes(tshark, path, late, two_pass):
    """Of each RDMA WRITE from frame `late` on, the number of its connection."""
    rows = tshark.fields(
        path,
        "smcr.stream",
        where=f"infiniband.bth.opcode == 10 && frame.number >= {late}",
        two_pass=two_pass,
    )
    return [row[0] for row in rows]


def test_one_pass_forgets(tshark, scratch):
    """What stays open is kept."""
    found = {}
    for others_each in (KEPT + 1000, 1000):
        content, late = capture(others_each)
        path = scratch / f"{others_each}.pcap"
        path.write_bytes(content)
        for two_pass in (False, True):
            found[others_each, two_pass] = connections_of_writes(tshark, path, late, two_pass)
    forgotten = found.pop((KEPT + 1000, False))
    assert forgotten == [[], [], ["2"], ["2"]]
    assert list(found.values()) == [[["1"], ["1"], ["2"], ["2"]]] * 3


GROUPS = 3
HEADER, RECORD = 24, struct.Struct("<IIII")  # of a pcap file: its header, that of a frame
OPCODE, WRITE_ONLY = 42, 0x0A  # where the opcode is in a frame of RoCEv2 over IPv4


def records(content):
    """The frames of a pcap file, each with its header."""
    at = HEADER
    while at < len(content):
        end = at + RECORD.size + RECORD.unpack_from(content, at)[2]
        yield content[at:end]
        at = end


def later(record, seconds):
    """The frame once more, so many seconds later."""
    time, *rest = RECORD.unpack_from(record)
    return RECORD.pack(time + seconds, *rest) + record[RECORD.size :]


def test_lines_let_go_of_link_groups(tshark, scratch):
    """Link groups end; a frame of the last one comes ten seconds later, and one of the first group
    after twenty. With idle=1 the first group has been let go of, unless it has a retransmission:
    the frame is a late packet, and nothing else differs."""
    file = io.BytesIO()
    in_groups(file, GROUPS)
    frames = list(records(file.getvalue()))
    count = len(frames) // GROUPS
    write = next(each for each in frames if each[RECORD.size + OPCODE] == WRITE_ONLY)
    path = scratch / "groups.pcap"
    for again in ([], [write]):
        late = [later(frames[-1], 10), later(frames[count - 1], 20)]
        every = [*frames[:count], *again, *frames[count:], *late]
        path.write_bytes(file.getvalue()[:HEADER] + b"".join(every))
        stays, goes = (
            lines_of(tshark, path, options=f",interval=1,late=0.1,idle={idle}") for idle in (600, 1)
        )
        assert stays[-1]["late_packets"] == 0 and goes[-1]["late_packets"] == (not again)
        last = of_kind(stays, "flow")[-1]
        assert last["flow"]["packets"] == 1 and last["flow"]["index"] == 0
        assert without_times(stays, [] if again else [last]) == without_times(goes)


def without_times(found, left_out=()):
    """The lines as sorted texts, without the times of their writing and the late packets."""
    return sorted(
        json.dumps(
            {name: each[name] for name in each.keys() - {"time", "late_packets"}}, sort_keys=True
        )
        for each in found
        if each not in left_out
    )
