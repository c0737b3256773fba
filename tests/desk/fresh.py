"""
Frames of the real captures with other addresses: those of hosts that nobody has seen yet, so that
connections, link groups and links are new. Captures of captures/real have the addresses that
captures/README.md draws.

TCP has other sequence numbers in each round, too. With the same numbers and time stamps, a SYN that
comes within a second after the one of the round before would be the same SYN after a translation of
its addresses.

MAC and IP addresses are replaced wherever they stand: in headers, in GIDs, in peer IDs, in CLC
messages. Ports, queue pairs, RKeys and tokens stay, as two pairs of hosts may well use the same.
Checksums are not made anew: tshark does not check them by itself.
"""

import functools
import struct

ROUNDS = 1 << 15  # of different addresses
HOSTS = ((0xAA, 1), (0xBB, 2))  # byte of the MAC addresses, last byte of the IP addresses
LINKS = (0, 1)
SHIFT = (1 << 20) + 1  # TCP's sequence numbers, from one round to the next; odd: no two are equal
IPV4, IPV6, TCP, ACK = b"\x08\x00", b"\x86\xdd", 6, 0x10
OPTION_END, OPTION_NONE, OPTION_SACK = 0, 1, 5


@functools.cache
def replacements(number):
    """[(old, new)]: bytes of the addresses, and what they become in this round."""
    found = [
        (bytes([10, 0, 0, 0, 24]), bytes([10]) + struct.pack(">H", 2 * number) + bytes([0, 24]))
    ]  # a prefix
    for letter, host in HOSTS:
        for link in LINKS:
            network = struct.pack(">H", 2 * number + link)
            vendor, device = struct.pack(">H", 0x5400 + number), bytes([letter, link, 1])
            found += [
                (bytes([0x52, 0x54, 0, letter, link, 1]), b"\x52" + vendor + device),
                (
                    bytes([0x50, 0x54, 0, 0xFF, 0xFE, letter, link, 1]),
                    b"\x50" + vendor + b"\xff\xfe" + device,
                ),
                (bytes([10, 0, link, host]), bytes([10]) + network + bytes([host])),
                (
                    bytes([0xFD, 0, 0, link]) + bytes(11) + bytes([host]),
                    b"\xfd\x00" + network + bytes(11) + bytes([host]),
                ),
            ]
    return [(old, new) for old, new in found if old != new]


def find_tcp(data):
    """Where the TCP header of an Ethernet frame begins; None: it is no TCP segment."""
    if data[12:14] == IPV4 and data[23] == TCP:
        return 14 + (data[14] & 15) * 4
    return 54 if data[12:14] == IPV6 and data[20] == TCP else None


def places_of_numbers(data, at):
    """Where sequence numbers stand in the TCP header at `at`: its own, and acknowledged ones."""
    yield at + 4
    if data[at + 13] & ACK:
        yield at + 8
    option, end = at + 20, at + (data[at + 12] >> 4) * 4
    while option + 1 < end and data[option] != OPTION_END:
        length = 1 if data[option] == OPTION_NONE else max(data[option + 1], 2)
        if data[option] == OPTION_SACK:
            yield from range(option + 2, option + length, 4)
        option += length


def with_shifted_numbers(data, shift):
    """The frame; if it is a TCP segment, with `shift` added to its sequence numbers."""
    at = find_tcp(data)
    if at is None:
        return data
    shifted = bytearray(data)
    for place in places_of_numbers(data, at):
        number = struct.unpack_from(">I", data, place)[0]
        struct.pack_into(">I", shifted, place, (number + shift) % (1 << 32))
    return bytes(shifted)


def fresh(frame, number):
    """The frame as hosts of round `number` would send it; round 0 is the capture's own."""
    data = frame.data
    for old, new in replacements(number % ROUNDS):
        data = data.replace(old, new)
    return frame._replace(data=with_shifted_numbers(data, number * SHIFT))
