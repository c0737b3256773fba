"""A capture: frames with fixed time stamps, and the pcap file made of them."""

import struct

LINKTYPE_ETHERNET = 1
LINKTYPE_LINUX_SLL = 113
LINKTYPE_ERF = 197
START = 1_700_000_000_000_000  # microseconds since 1970
STEP = 100  # microseconds between two frames


class Capture:
    """Frames in the order in which they were taken. The clock only moves when a frame is added or
    by wait()."""

    def __init__(self, linktype=LINKTYPE_ETHERNET):
        self.linktype = linktype
        self.now = START
        self.frames = []
        self.captured = (
            {}
        )  # number: bytes of the frame that the file has, where the snap length has cut it

    def add(self, frame):
        """Take a frame and return its number, counted from 1 as Wireshark does."""
        self.frames.append((self.now, bytes(frame)))
        self.now += STEP
        return len(self.frames)

    def wait(self, seconds):
        """Let time pass."""
        self.now += round(seconds * 1_000_000)

    def encapsulate(self, wrap):
        """Put every frame so far into another encapsulation: `wrap(microseconds, frame)` returns
        the new frame."""
        self.frames = [(when, wrap(when, frame)) for when, frame in self.frames]

    def pcap(self):
        """The capture as the bytes of a little-endian pcap file with microseconds."""
        parts = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, self.linktype)]
        for number, (when, frame) in enumerate(self.frames, 1):
            seconds, micros = divmod(when, 1_000_000)
            captured = frame[: self.captured.get(number)]
            parts += [struct.pack("<IIII", seconds, micros, len(captured), len(frame)), captured]
        return b"".join(parts)


def erf_infiniband(when, packet):
    """ERF record of type 21, InfiniBand: how Wireshark reads native InfiniBand packets (it has no
    link type 247)."""
    seconds, micros = divmod(when, 1_000_000)
    return (
        struct.pack("<II", (micros << 32) // 1_000_000, seconds)
        + struct.pack(">BBHHH", 21, 0x04, 16 + len(packet), 0, len(packet))
        + packet
    )


def linux_cooked(_when, frame):
    """Linux "cooked" header instead of the Ethernet header, as `tcpdump -i any` writes; all frames
    as sent to us."""
    return struct.pack(">HHH", 0, 1, 6) + frame[6:12] + bytes(2) + frame[12:14] + frame[14:]
