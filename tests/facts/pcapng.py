"""
Captures in pcapng format as lists of frames, and such lists as captures. The files are little-endian and have one
section, as all captures of the project do.
"""

import collections
import struct

SECTION, INTERFACE, PACKET = 0x0A0D0D0A, 1, 6  # types of blocks
HEADER = struct.Struct("<IIIIIII")  # of a packet: type, length, interface, time (high, low), captured, on the wire
LENGTH = struct.Struct("<I")  # closes each block

Frame = collections.namedtuple("Frame", "number block")  # number: the frame's own in the whole capture, from 1


def blocks(data):
    """Blocks of a file: (type, bytes)."""
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        yield kind, data[at:at + length]
        at += length


def read(path):
    """The bytes before the first frame (section and interfaces), and the frames."""
    every = list(blocks(path.read_bytes()))
    head = b"".join(block for kind, block in every if kind in (SECTION, INTERFACE))
    return head, [Frame(number, block) for number, block in
                  enumerate((block for kind, block in every if kind == PACKET), 1)]


def write(path, head, frames):
    path.write_bytes(head + b"".join(frame.block for frame in frames))


def write_without(path, capture, *numbers):
    """Copy a capture, but leave out these frames."""
    head, frames = read(capture)
    write(path, head, [frame for frame in frames if frame.number not in numbers])


def data(frame):
    """The frame's captured bytes."""
    return frame.block[HEADER.size:HEADER.size + HEADER.unpack_from(frame.block)[5]]


def time(frame):
    """The timestamp, in the interface's unit."""
    high, low = HEADER.unpack_from(frame.block)[3:5]
    return high << 32 | low


def at_time(frame, moment):
    """The same frame with another timestamp."""
    kind, length, interface, _, _, captured, wire = HEADER.unpack_from(frame.block)
    header = HEADER.pack(kind, length, interface, moment >> 32, moment & 0xFFFFFFFF, captured, wire)
    return frame._replace(block=header + frame.block[HEADER.size:])


def with_data(frame, new):
    """The frame with other captured bytes, all of those on the wire."""
    kind, _, interface, high, low, _, _ = HEADER.unpack_from(frame.block)
    padding = bytes(-len(new) % 4)
    length = HEADER.size + len(new) + len(padding) + LENGTH.size
    return frame._replace(block=HEADER.pack(kind, length, interface, high, low, len(new), len(new)) + new + padding +
                          LENGTH.pack(length))


def cut(frame, size):
    """The frame as a snap length of `size` bytes leaves it."""
    kind, _, interface, high, low, captured, wire = HEADER.unpack_from(frame.block)
    if captured <= size:
        return frame
    padding = bytes(-size % 4)
    length = HEADER.size + size + len(padding) + LENGTH.size
    return frame._replace(block=HEADER.pack(kind, length, interface, high, low, size, wire) +
                          data(frame)[:size] + padding + LENGTH.pack(length))
