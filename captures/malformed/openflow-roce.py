"""
OpenFlow over SMC-R, whose PACKET_IN messages hold RoCE packets of others: one that is whole, and a
WRITE without the RETH, at which Wireshark's InfiniBand dissector gives up within ours.
"""

import struct

from smcsynth.story import Connection, linux_connection, linux_halves

SEND_ONLY, WRITE_ONLY = 4, 10
PORT, PACKET_IN, NO_BUFFER = 6653, 10, 0xFFFFFFFF


def roce(opcode, rest):
    """An Ethernet frame with a packet to a queue pair that nobody has heard of."""
    bth = struct.pack(">BBHIBBH", opcode, 0x40, 0xFFFF, 0x1234, 0x80, 0, 7)
    udp = struct.pack(">HHHH", 50000, 4791, 8 + len(bth + rest), 0) + bth + rest
    ip = struct.pack(
        ">BBHHHBBH4s4s",
        0x45,
        0,
        20 + len(udp),
        1,
        0,
        64,
        17,
        0,
        bytes([198, 51, 100, 1]),
        bytes([198, 51, 100, 2]),
    )
    return bytes.fromhex("0200000000010200000000020800") + ip + udp


def packet_in(frame):
    return (
        struct.pack(">BBHIIHHBB", 1, PACKET_IN, 18 + len(frame), 1, NO_BUFFER, len(frame), 1, 0, 0)
        + frame
    )


def scene(capture):
    connection = Connection(
        linux_connection(capture, version=2).group, *linux_halves(16384), port=PORT
    )
    connection.first_contact()
    connection.send(
        "client", packet_in(roce(SEND_ONLY, bytes(64 + 4))) + packet_in(roce(WRITE_ONLY, b""))
    )
    connection.send("client", packet_in(roce(WRITE_ONLY, b"")))
    connection.close()
