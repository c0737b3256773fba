"""
Captures in pcapng format as lists of frames, and such lists as captures. The files are
little-endian and have one section, as all captures of the project do.
"""

import collections
import gzip
import struct

SECTION, INTERFACE, PACKET, SECRETS = 0x0A0D0D0A, 1, 6, 10  # types of blocks
HEADER = struct.Struct(
    "<IIIIIII"
)  # of a packet: type, length, interface, time (high, low), captured, on the wire
LENGTH = struct.Struct("<I")  # closes each block
LEAST = 12  # bytes of a block: its type, its length twice
PACKED = b"\x1f\x8b"  # how a file begins that gzip has packed

Frame = collections.namedtuple(
    "Frame", "number block"
)  # number: the frame's own in the whole capture, from 1


def blocks(data):
    """Blocks of a file: (type, bytes)."""
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        assert length >= LEAST, f"block of {length} bytes: no pcapng file"
        yield kind, data[at : at + length]
        at += length


def read(path):
    """The bytes before the first frame (section, interfaces, secrets), and the frames. The file may
    be packed by gzip."""
    data = path.read_bytes()
    every = list(blocks(gzip.decompress(data) if data.startswith(PACKED) else data))
    head = b"".join(block for kind, block in every if kind in (SECTION, INTERFACE, SECRETS))
    return head, [
        Frame(number, block)
        for number, block in enumerate((block for kind, block in every if kind == PACKET), 1)
    ]


def write(path, head, frames):
    path.write_bytes(head + b"".join(frame.block for frame in frames))


def write_without(path, capture, *numbers):
    """Copy a capture, but leave out these frames."""
    head, frames = read(capture)
    write(path, head, [frame for frame in frames if frame.number not in numbers])


def data(frame):
    """The frame's captured bytes."""
    return frame.block[HEADER.size : HEADER.size + HEADER.unpack_from(frame.block)[5]]


def time(frame):
    """The timestamp, in the interface's unit."""
    high, low = HEADER.unpack_from(frame.block)[3:5]
    return high << 32 | low


def interface_of(frame):
    """The number of the interface."""
    return HEADER.unpack_from(frame.block)[2]


def at_time(frame, moment):
    """The same frame with another timestamp."""
    kind, length, interface, _, _, captured, wire = HEADER.unpack_from(frame.block)
    header = HEADER.pack(kind, length, interface, moment >> 32, moment & 0xFFFFFFFF, captured, wire)
    return frame._replace(block=header + frame.block[HEADER.size :])


def wire_length(frame):
    """How long the frame was before it was cut."""
    return HEADER.unpack_from(frame.block)[6]


def with_data(frame, new):
    """The frame with other captured bytes; it is cut by as many as before."""
    kind, _, interface, high, low, captured, wire = HEADER.unpack_from(frame.block)
    padding = bytes(-len(new) % 4)
    length = HEADER.size + len(new) + len(padding) + LENGTH.size
    wire += len(new) - captured
    return frame._replace(
        block=HEADER.pack(kind, length, interface, high, low, len(new), wire)
        + new
        + padding
        + LENGTH.pack(length)
    )


def of_interface(frame, interface):
    """The frame as another interface has captured it."""
    return frame._replace(block=frame.block[:8] + LENGTH.pack(interface) + frame.block[12:])


def cut(frame, size):
    """The frame as a snap length of `size` bytes leaves it."""
    kind, _, interface, high, low, captured, wire = HEADER.unpack_from(frame.block)
    if captured <= size:
        return frame
    padding = bytes(-size % 4)
    length = HEADER.size + size + len(padding) + LENGTH.size
    return frame._replace(
        block=HEADER.pack(kind, length, interface, high, low, size, wire)
        + data(frame)[:size]
        + padding
        + LENGTH.pack(length)
    )


# ---- what comes before the frames ----


def section():
    return struct.pack("<IIIHHqI", SECTION, 28, 0x1A2B3C4D, 1, 0, -1, 28)


def interface(link_type, digits=6):
    """An interface whose times have so many digits behind the second."""
    return struct.pack("<IIHHIHHB3xHHI", INTERFACE, 32, link_type, 0, 0, 9, 1, digits, 0, 0, 32)


def link_types(head):
    """Of all interfaces."""
    return [
        int.from_bytes(block[8:10], "little") for kind, block in blocks(head) if kind == INTERFACE
    ]
