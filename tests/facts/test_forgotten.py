"""
A program that reads a file once forgets connections that ended long ago: at least 65,536 frames and
ten seconds. A program that reads it twice keeps everything.
"""

import io
import struct
import sys

from bed import TOP

sys.path.insert(0, str(TOP / "tests" / "benchmarks"))
from carriers import Link, Pcap, Smcr  # noqa: E402
from workloads import short, talk  # noqa: E402

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
