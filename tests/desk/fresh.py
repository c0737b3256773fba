"""
Frames of the real captures with other addresses: those of hosts that nobody has seen yet, so that
connections, link groups and links are new. Captures of captures/real have the addresses that
captures/README.md draws.

MAC and IP addresses are replaced wherever they stand: in headers, in GIDs, in peer IDs, in CLC
messages. Ports, queue pairs, RKeys and tokens stay, as two pairs of hosts may well use the same.
Checksums are not made anew: tshark does not check them by itself.
"""

import functools
import struct

ROUNDS = 1 << 15  # of different addresses
HOSTS = ((0xAA, 1), (0xBB, 2))  # byte of the MAC addresses, last byte of the IP addresses
LINKS = (0, 1)


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


def fresh(frame, number):
    """The frame as hosts of round `number` would send it; round 0 is the capture's own."""
    data = frame.data
    for old, new in replacements(number % ROUNDS):
        data = data.replace(old, new)
    return frame._replace(data=data)
