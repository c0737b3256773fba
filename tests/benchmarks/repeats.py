"""
A capture of two hosts many times over: each time between two other hosts and with other sequence
numbers of TCP, so that no connection is a copy of another one.
"""

import struct

from carriers import ETHERNET, TCP
from scapy.utils import RawPcapNgReader

HOSTS = (bytes((10, 0, 0, 1)), bytes((10, 0, 0, 2)))  # in the captures of applications
IPV4, PROTOCOL = b"\x08\0", 9
PORTS = 4  # bytes before TCP's numbers
ACK_FLAG, FLAGS = 0x10, 13
SACK, NOP = 5, 1


def later(frame, start, shift):
    """Adds the shift to the 32 bits at `start`."""
    number = struct.unpack_from(">I", frame, start)[0]
    struct.pack_into(">I", frame, start, number + shift & 0xFFFFFFFF)


def shift_sack(frame, start, end, shift):
    """The edges of blocks in TCP's options."""
    while start + 1 < end and frame[start]:
        kind, length = frame[start], 1 if frame[start] == NOP else max(frame[start + 1], 2)
        if kind == SACK:
            for edge in range(start + 2, start + length, 4):
                later(frame, edge, shift)
        start += length


def shift_sequence(frame, shift):
    """Sequence and acknowledgement numbers, where the frame is TCP over IPv4."""
    if frame[12:14] != IPV4 or frame[ETHERNET + PROTOCOL] != TCP:
        return
    tcp = ETHERNET + 4 * (frame[ETHERNET] & 15)
    later(frame, tcp + PORTS, shift)
    if frame[tcp + FLAGS] & ACK_FLAG:
        later(frame, tcp + PORTS + 4, shift)
    shift_sack(frame, tcp + 20, tcp + 4 * (frame[tcp + 12] >> 4), shift)


def copy(frame, number):
    """The frame between the hosts of this repetition; a GID of IPv4 changes with the address."""
    for host in HOSTS:
        frame = frame.replace(host, bytes((10, 1 + number // 250, number % 250, host[3])))
    frame = bytearray(frame)
    shift_sequence(frame, number << 20)
    return bytes(frame)


def repeats(file, times, *, path):
    """A pcap of the pcapng, `times` times; frames that are not of IPv4 are left out. The scene of a
    benchmark: returns the number of frames."""
    frames = [
        (((meta.tshigh << 32) + meta.tslow) * 1_000_000 // meta.tsresol, data)
        for data, meta in RawPcapNgReader(str(path))
        if data[12:14] == IPV4
    ]
    begin, lasts = frames[0][0], frames[-1][0] - frames[0][0] + 1_000_000
    file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
    for number in range(times):
        for time, data in frames:
            seconds, rest = divmod(begin + number * lasts + time - begin, 1_000_000)
            data = copy(data, number)
            file.write(struct.pack("<IIII", seconds, rest, len(data), len(data)) + data)
    return times * len(frames)
