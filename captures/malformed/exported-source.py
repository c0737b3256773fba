"""
Exported PDUs (what Wireshark writes for "Export PDUs to File"), in which each says its IPv4 source
and no destination.
"""

import struct

from smcsynth.story import linux_connection

LINKTYPE = 252
PROTOCOLS = {6: b"tcp\0", 17: b"udp\0"}
NAME, IPV4_SOURCE, END = 12, 20, 0
ETHERNET, IPV4 = 14, 20


def tag(kind, value=b""):
    return struct.pack(">HH", kind, len(value)) + value


def export(_when, frame):
    packet = frame[ETHERNET:]
    return (
        tag(NAME, PROTOCOLS[packet[9]]) + tag(IPV4_SOURCE, packet[12:16]) + tag(END) + packet[IPV4:]
    )


def scene(capture):
    connection = linux_connection(capture, version=2)
    connection.first_contact()
    connection.send("client", b"hello")
    connection.close()
    capture.encapsulate(export)
