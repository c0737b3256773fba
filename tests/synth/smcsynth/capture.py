"""A capture: frames with fixed time stamps, and the pcap file made of them."""

import struct

LINKTYPE_ETHERNET = 1
LINKTYPE_INFINIBAND = 247
START = 1_700_000_000_000_000  # microseconds since 1970
STEP = 100  # microseconds between two frames


class Capture:
    """Frames in the order in which they were taken. The clock only moves when a frame is added or by wait()."""

    def __init__(self, linktype=LINKTYPE_ETHERNET):
        self.linktype = linktype
        self.now = START
        self.frames = []

    def add(self, frame):
        """Take a frame and return its number, counted from 1 as Wireshark does."""
        self.frames.append((self.now, bytes(frame)))
        self.now += STEP
        return len(self.frames)

    def wait(self, seconds):
        """Let time pass."""
        self.now += round(seconds * 1_000_000)

    def pcap(self):
        """The capture as the bytes of a little-endian pcap file with microseconds."""
        parts = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, self.linktype)]
        for when, frame in self.frames:
            seconds, micros = divmod(when, 1_000_000)
            parts += [struct.pack("<IIII", seconds, micros, len(frame), len(frame)), frame]
        return b"".join(parts)
