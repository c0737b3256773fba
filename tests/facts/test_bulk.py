"""Long streams: memory does not grow with the bytes carried, and positions beyond 4 GiB are
right."""

import bulk
from follow import follow, raw, streams

MIB = bulk.MIB
CHUNKS = 2000  # 40,000 frames
PER_FRAME = 400  # bytes that the plugin may keep of a frame


def test_memory_does_not_grow_with_the_bytes(tshark, tshark_without, scratch):
    """As many frames with 125 MiB as with 4 MiB; tests/facts/bulk.py measures larger captures."""
    small = bulk.write(scratch / "small.pcap", CHUNKS, packet=128)
    large = bulk.write(scratch / "large.pcap", CHUNKS, packet=4096)
    assert large.stat().st_size - small.stat().st_size > 120 * MIB
    memory = [bulk.peak(tshark, path) for path in (small, large)]
    assert memory[1] - memory[0] < 12 * MIB
    assert (
        memory[1] - bulk.peak(tshark_without, large) < 10 * MIB + PER_FRAME * CHUNKS * bulk.FRAMES
    )


def test_beyond_4_gib(tshark, scratch):
    """The capture lacks 9000 rounds of the element; the first CDC message after them tells where
    the stream is."""
    capture, data, rounds = bulk.Bulk(), bulk.noise(bulk.PACKETS * bulk.PACKET, "beyond"), 9000
    path = scratch / "beyond.pcap"
    path.write_bytes(
        b"".join(
            [
                capture.head,
                capture.chunk(data),
                capture.skip(rounds),
                capture.chunk(data),
                capture.chunk(data),
            ]
        )
    )
    offsets = tshark.fields(path, "smcr.stream.offset", "smcr.stream.gap", where="smcr.write.len")
    missing = rounds * bulk.ELEMENT
    assert missing > 4 << 30
    start = missing + 2 * len(data)
    assert [int(row[0][0]) for row in offsets[-bulk.PACKETS :]] == list(
        range(start, start + len(data), bulk.PACKET)
    )
    assert [row[0] for row in offsets].count(
        []
    ) == bulk.PACKETS  # nothing tells how many rounds are missing before them
    assert [row[1] for row in offsets].count([]) == len(offsets)
    note = b"[%d bytes missing in capture file]" % missing
    assert streams(raw(follow(tshark, path, 0)))[0] == data + note + data + data
    twice = tshark.fields(path, "smcr.stream.offset", where="smcr.write.len", two_pass=True)
    assert [int(row[0][0]) for row in twice] == [
        at + first
        for first in (0, missing + len(data), start)
        for at in range(0, len(data), bulk.PACKET)
    ]
