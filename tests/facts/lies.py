"""
CLC messages whose lengths lie: one number of a message that says how long it or a part of it is,
how many entries follow, or where a part begins. Read from the bytes, by RFC 7609 A.2 and the
kernel's smc_clc.h.
"""

import collections
import struct

import mutants
import pcapng
import wire

PROPOSAL, CONFIRM, DECLINE = 1, 3, 4
FIRST_CONTACT, NOT_OFFERED = 8, 2
LENGTH_AT = 5
DATA = b"GET / HTTP/1.1\r\n\r\n"  # whose dissector takes the connection

# A number of a message; at: its place; form: of struct
Number = collections.namedtuple("Number", "name at form")
LENGTH = Number("length", LENGTH_AT, ">H")


def numbers(data):
    """Those of a message that lead somewhere: what Linux does not offer has none."""
    kind, version, flags = data[4], data[7] >> 4, data[7]
    yield LENGTH
    if kind == PROPOSAL and (version == 1 or flags & 3 != NOT_OFFERED):
        yield Number("IP area offset", 38, ">H")
        yield Number("prefix count", 40 + wire.u16(data, 38) + 7, ">B")
    if kind == PROPOSAL and version == 2 and flags >> 2 & 3 != NOT_OFFERED:
        extension = 52 + wire.u16(data, 50)
        yield Number("SMCv2 offset", 50, ">H")
        yield Number("EID count", extension, ">B")
        yield Number("SMC-Dv2 offset", extension + 6, ">H")
        if wire.u16(data, extension + 6):
            yield Number("ISM count", extension + 1, ">B")
    if kind == CONFIRM and version == 2 and flags & FIRST_CONTACT and not flags & 3:
        yield Number("GID count", 156, ">B")


def values(data, number):
    """What it may lie: too large, too small, shorter than the header, nothing, the largest."""
    (true,) = struct.unpack_from(number.form, data, number.at)
    largest = (1 << 8 * struct.calcsize(number.form)) - 1
    every = [true + 1, true + 4, true + 64, largest, true - 1, true - 4, 7, 0]
    return sorted({each for each in every if 0 <= each <= largest and each != true})


def change(number, value):
    return mutants.put(number.at, struct.pack(number.form, value).hex())


# ---- how the message came: in one segment, in two, with other bytes behind it ----


def alone(capture, message, lie, path):
    mutants.mutate(capture, message.frame, lie, path)


def before_data(capture, message, lie, path):
    mutants.mutate(
        capture,
        message.frame,
        lambda data: mutants.replaced(lie(data), body(lie(data)) + DATA),
        path,
    )


def body(data):
    return data[mutants.start_of(data) : mutants.layers(data).end]


def in_two(size):
    """The message comes in two segments, the first of which has so many bytes."""

    def write(capture, message, lie, path):
        head, frames = pcapng.read(capture)
        frame = frames[message.frame - 1]
        whole = lie(pcapng.data(frame))
        parts = [mutants.replaced(whole, part) for part in (body(whole)[:size], body(whole)[size:])]
        parts[1] = mutants.moved(parts[1], *mutants.ends(whole)[:2], size)
        frames[message.frame - 1 : message.frame] = [
            pcapng.with_data(frame, mutants.with_tcp_checksums(part)) for part in parts
        ]
        pcapng.write(path, head, frames)

    return write


Case = collections.namedtuple(
    "Case", "message number value way frame"
)  # frame: with the last byte of the message


def cases(message):
    """
    Every number with every lie in one segment; the length in two segments, too, except where a
    Proposal is cut where it says that it ends: it cannot be told from one with a wrong trailer. Of
    a Decline also with data behind it.
    """
    data, size = message.data, len(message.data)
    for number in numbers(data):
        for value in values(data, number):
            yield Case(message, number, value, alone, message.frame)
    for value in values(data, LENGTH):
        for first in (5, size // 3, size - 4, size - 2):
            if data[4] != PROPOSAL or first != value:
                yield Case(message, LENGTH, value, in_two(first), message.frame + 1)
        if data[4] == DECLINE:
            yield Case(message, LENGTH, value, before_data, message.frame)


def every_case(paths):
    """Of the first message of each shape: {capture: cases}."""
    found, shapes = {}, set()
    for name, path in paths.items():
        for message in wire.clc_messages(path):
            shape = message.data[4], message.data[7], len(message.data)
            if shape not in shapes:
                shapes.add(shape)
                found.setdefault(name, []).extend(cases(message))
    return found
