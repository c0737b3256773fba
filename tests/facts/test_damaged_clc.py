"""
TCP segments with wrong checksums that carry the SMC-R option or CLC messages: their receiver
discards them. Wireshark's preferences validate the checksums; without them the bytes count as they
are (test_packet_above_the_mtu, for one, leaves the old checksums). One bit of such a segment is
changed in real captures, whose checksums are all right.

- The segment comes before the right one, as its first transmission: the page says that it was
  damaged, and nothing else changes but what TCP retransmits.
- The segment comes instead of the right one: the page is that of the capture without the segment.
- The checksum of the changed segment is right: the sender has sent it so, and nothing is damaged.
- All checksums of a host are wrong, as with an adapter that fills them in: they mean nothing.
"""

import collections
import functools
import random
import re
import struct

import pcapng
import pytest
from bed import ALL, captures
from mutants import (
    TCP_CHECKSUM,
    checksum_sum,
    ends,
    layers,
    pseudo_header,
    with_tcp_checksums,
)

NAMES = [
    "6.1-v1-a-first-contact-ipv4",
    "6.1-v1-b-first-contact-ipv6",
    "6.1-v2-c-three-conns",
    "6.1-v2-f1-decline-server-no-device",
]
VALIDATED = ("-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE")
FLIPS = 400 if ALL else 6  # of each kind
EYECATCHERS = (b"\xe2\xd4\xc3\xd9", b"\xe2\xd4\xc3\xc4")
IP_ID = 4  # offset in the header of IPv4
WRONG = b"\xbe\xef"  # in place of all checksums of a host


@functools.cache
def messages():
    """[(capture, index of a frame, offset and end of its CLC messages)]"""
    found = []
    for name in NAMES:
        for index, frame in enumerate(pcapng.read(captures()[name])[1]):
            data = pcapng.data(frame)
            at = layers(data) if ends(data) else None
            if at and data[at.payload : at.payload + 4] in EYECATCHERS:
                assert with_tcp_checksums(data) == data
                found.append((name, index, at.payload, at.end))
    return found


def flips():
    """(capture, index of the frame, the frame's bytes with one wrong bit)"""
    dice = random.Random(1)
    for number in range(FLIPS):
        name, index, begin, end = messages()[number * 5 % len(messages())]
        data = bytearray(pcapng.data(pcapng.read(captures()[name])[1][index]))
        data[dice.randrange(begin, end)] ^= 1 << dice.randrange(8)
        yield name, index, bytes(data)


def page(tshark, scratch, name, alter):
    """The lines of the page of the capture with the frames alter(frames)."""
    head, frames = pcapng.read(captures()[name])
    path = scratch / "altered.pcapng"
    pcapng.write(path, head, alter(list(frames)))
    path.chmod(0o644)
    return tshark.run("-r", path, *VALIDATED, "-2", "-q", "-z", "smcr,report")


def compared(text):
    """Lines and findings of a page, without numbers of frames and findings, without the damage and
    without what TCP retransmits."""
    text = re.sub(r"frame \d+", "frame", re.sub(r"smcr\.finding == \d+", "", text))
    found = []
    for line in text.splitlines():
        if re.match(r"  \d+\. ", line):
            found.append(line.split(".", 1)[1])
        elif line.startswith(" " * 11) and found:
            found[-1] += " " + line.strip()
        else:
            found.append(line)
    told = r"segment was damaged|TCP segments? |^TCP: |^[\d,]+ frames|No fault"
    lines = (" ".join(line.split()) for line in found if not re.search(told, line))
    return collections.Counter(
        line.replace("captured, truncated or damaged", "captured, or truncated") for line in lines
    )


def damaged_first(index, data):
    """The damaged segment comes before the right one. A retransmission has another IP ID."""
    at, data = layers(data), bytearray(data)
    if not at.ipv6:
        data[at.ip + IP_ID] ^= 0x55
        right = with_tcp_checksums(bytes(data))
        data[at.ip : at.transport] = right[at.ip : at.transport]

    def alter(frames):
        moments = [pcapng.time(frame) for frame in frames[index - 1 : index + 1]]
        damaged = pcapng.with_data(frames[index], bytes(data))
        return [
            *frames[:index],
            pcapng.at_time(damaged, sum(moments) // 2),
            *frames[index:],
        ]

    return alter


def instead(index, data):
    return lambda frames: [
        *frames[:index],
        pcapng.with_data(frames[index], data),
        *frames[index + 1 :],
    ]


def test_flipped_bits(tshark, scratch):
    whole = {name: compared(page(tshark, scratch, name, list)) for name in NAMES}
    for name, index, data in flips():
        text = page(tshark, scratch, name, damaged_first(index, data))
        assert compared(text) == whole[name], (name, index)
        assert "damaged" in text
        text = page(tshark, scratch, name, instead(index, data))
        path = scratch / "altered.pcapng"
        for where in ("smcr.tcp.checksum_wrong", "smcr.tcp.damaged == 1"):
            printed = tshark.run(
                "-r", path, *VALIDATED, "-Y", where, "-T", "fields", "-e", "frame.number"
            )
            assert printed.split() == [str(index + 1)], (name, index)
        without = page(tshark, scratch, name, lambda frames: frames[:index] + frames[index + 1 :])
        assert compared(text) == compared(without), (name, index)
        assert "damaged" in text
        text = page(tshark, scratch, name, instead(index, with_tcp_checksums(data)))
        assert "damaged" not in text, (name, index)


def in_two(frames, index, flip=None):
    """The CLC message of the frame comes in two segments. `flip`: the second one comes twice, the
    first time with this bit of its last byte changed."""
    data = pcapng.data(frames[index])
    at = layers(data)
    half = (at.payload + at.end) // 2
    total, seq = at.ip + 2, at.transport + 4

    def segment(begin, end, flipped=0):
        head = bytearray(data[: at.payload])
        struct.pack_into(">H", head, total, at.payload - at.ip + end - begin)
        number = struct.unpack_from(">I", head, seq)[0] + begin - at.payload
        struct.pack_into(">I", head, seq, number & 0xFFFFFFFF)
        right = with_tcp_checksums(bytes(head) + data[begin:end])
        return right[:-1] + bytes([right[-1] ^ flipped])

    parts = [segment(at.payload, half), segment(half, at.end)]
    if flip is not None:
        parts.insert(1, segment(half, at.end, 1 << flip))
    moments = [pcapng.time(frame) for frame in frames[index - 1 : index + 1]]
    step = (moments[1] - moments[0]) // 4
    return [
        *frames[:index],
        *(
            pcapng.at_time(
                pcapng.with_data(frames[index], part), moments[1] - step * (len(parts) - 1 - nth)
            )
            for nth, part in enumerate(parts)
        ),
        *frames[index + 1 :],
    ]


def test_last_part_of_a_message(tshark, scratch):
    """The retransmission of a damaged last part completes the message."""
    for name, index, *_ in messages()[: None if ALL else 6]:
        if layers(pcapng.data(pcapng.read(captures()[name])[1][index])).ipv6:
            continue
        whole = page(tshark, scratch, name, functools.partial(in_two, index=index))
        text = page(tshark, scratch, name, functools.partial(in_two, index=index, flip=3))
        assert "damaged" in text and compared(text) == compared(whole), (name, index)


def offloaded(data, kind):
    """The frame as a host sends it whose adapter fills in the checksum."""
    place = layers(data).transport + TCP_CHECKSUM
    partial = struct.pack(">H", checksum_sum(pseudo_header(data)))
    value = partial if kind == "partial" else kind
    return data[:place] + value + data[place + 2 :]


@pytest.mark.parametrize("port", [True, False], ids=["server", "client"])
def test_checksums_that_mean_nothing(tshark, scratch, port):
    """`port`: the host has the lower port, so it is the server."""

    def alter(kind, frames):
        for frame in frames:
            data = pcapng.data(frame)
            found = ends(data)
            if found and (found[0][1] < found[1][1]) == port:
                frame = pcapng.with_data(frame, offloaded(data, kind))
            yield frame

    for name in NAMES:
        whole = page(tshark, scratch, name, list)
        for kind in ("partial", bytes(2), WRONG):
            assert page(tshark, scratch, name, functools.partial(alter, kind)) == whole, (
                name,
                kind,
            )
