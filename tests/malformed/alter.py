"""
Captures altered on purpose: cut at every byte, mutated, reordered. Many altered copies of a capture go into one file,
each with its own addresses, so that Wireshark takes them for hosts that have nothing to do with each other.
"""

import random
import re
import struct

from scapy.utils import RawPcapReader

PCAP_HEADER = struct.Struct("<IHHiIII")
RECORD_HEADER = struct.Struct("<IIII")
LINKTYPE_ETHERNET = 1
LINK_HEADERS = {LINKTYPE_ETHERNET: 14, 113: 16}  # 113: Linux "any"
ROCE_PORT, ROCE_ETHERTYPE = 4791, 0x8915
VLAN_ETHERTYPES = (0x8100, 0x88A8)
TCP, UDP = 6, 17
SHORTEST = {197: 24}  # bytes of an ERF record without which Wireshark takes the file for damaged

# No SMC-R message reaches beyond this byte of a frame; what follows is data of applications. There only some of the
# bytes are tried.
LONGEST_MESSAGE = 330
STEP_IN_DATA = 50


def read(path):
    """A capture as (link type, list of frames)."""
    reader = RawPcapReader(str(path))
    try:
        frames = [bytes(data) for data, _ in reader]
        return getattr(reader, "linktype", LINKTYPE_ETHERNET), frames
    finally:
        reader.close()


def write(path, linktype, records):
    """Write a pcap file from (captured bytes, original length) pairs; 1 ms passes between frames."""
    with open(path, "wb") as file:
        file.write(PCAP_HEADER.pack(0xA1B2C3D4, 2, 4, 0, 0, 262144, linktype))
        for i, (data, length) in enumerate(records):
            file.write(RECORD_HEADER.pack(i // 1000, i % 1000 * 1000, len(data), length))
            file.write(data)


class Layers:
    """Where the headers of a frame are. `payload` is where a CLC message begins, or a RoCE packet's BTH."""

    def __init__(self, linktype, frame):
        self.network = self.transport = self.payload = self.protocol = None
        if linktype not in LINK_HEADERS:
            return
        offset = LINK_HEADERS[linktype]
        ethertype = int.from_bytes(frame[offset - 2:offset], "big")
        while ethertype in VLAN_ETHERTYPES:
            offset += 4
            ethertype = int.from_bytes(frame[offset - 2:offset], "big")
        self.network = offset
        if ethertype == ROCE_ETHERTYPE:
            self.protocol, self.payload = "roce", offset + 40
        elif ethertype == 0x0800:
            self._set_transport(frame, frame[offset + 9], offset + (frame[offset] & 15) * 4)
        elif ethertype == 0x86DD:
            self._set_transport(frame, frame[offset + 6], offset + 40)

    def _set_transport(self, frame, protocol, offset):
        self.transport = offset
        if protocol == TCP:
            self.protocol, self.payload = "tcp", offset + (frame[offset + 12] >> 4) * 4
        elif protocol == UDP and int.from_bytes(frame[offset + 2:offset + 4], "big") == ROCE_PORT:
            self.protocol, self.payload = "roce", offset + 8


def cuts(linktype, frame, first=0):
    """The lengths at which a frame is cut."""
    first = max(first, SHORTEST.get(linktype, 0))
    near = range(first, min(len(frame), LONGEST_MESSAGE))
    return [*near, *range(max(first, LONGEST_MESSAGE), len(frame), STEP_IN_DATA)]


class Readdress:
    """Gives every copy of a capture its own IP addresses and GIDs, in headers and messages alike."""

    def __init__(self, linktype, frames):
        found = set()
        for frame in frames:
            network = Layers(linktype, frame).network
            if network is not None and network + 40 <= len(frame):
                is_ipv4 = frame[network] >> 4 == 4
                found |= ({frame[network + 12:network + 16], frame[network + 16:network + 20]} if is_ipv4
                          else {frame[network + 8:network + 24], frame[network + 24:network + 40]})
        self.addresses = {address: i for i, address in enumerate(sorted(found))}
        self.pattern = re.compile(b"|".join(map(re.escape, sorted(found, key=len, reverse=True))) or b"(?!)", re.DOTALL)

    def __call__(self, frame, copy):
        def replace(match):
            old = match[0]
            new = struct.pack(">BHB", 20 + (copy >> 16), copy & 0xFFFF, self.addresses[old])
            return new if len(old) == 4 else old[:8] + bytes(4) + new
        return self.pattern.sub(replace, frame)


def shorten(linktype, frame, length):
    """The frame as if the sender had ended the message early: the lengths in the headers are right."""
    layers = Layers(linktype, frame)
    frame = bytearray(frame[:length])
    if layers.transport is not None and frame[layers.network] >> 4 == 4:
        struct.pack_into(">H", frame, layers.network + 2, length - layers.network)
    elif layers.network is not None and frame[layers.network] >> 4 == 6:
        struct.pack_into(">H", frame, layers.network + 4, length - layers.network - 40)
    if layers.protocol == "roce" and layers.transport is not None:
        struct.pack_into(">H", frame, layers.transport + 4, length - layers.transport)
    return bytes(frame)


def snapped(linktype, frames):
    """The whole capture, taken with every snap length."""
    readdress = Readdress(linktype, frames)
    longest = max(frames, key=len)
    for copy, length in enumerate(cuts(linktype, longest)):
        for frame in frames:
            yield readdress(frame, copy)[:length], len(frame)


def cut_packets(linktype, frames):
    """
    The capture with cut copies behind every RoCE packet, so that its queue pairs are known: cut by the capture, cut
    on the wire, ended by the sender.
    """
    for frame in frames:
        yield frame, len(frame)
        layers = Layers(linktype, frame)
        if layers.protocol != "tcp":
            for length in cuts(linktype, frame):
                yield frame[:length], len(frame)
                yield frame[:length], length
            for length in cuts(linktype, frame, layers.payload or len(frame)):
                yield shorten(linktype, frame, length), length


def cut_segments(linktype, frames):
    """
    The TCP connections once for every byte of every segment with payload, up to that segment, which is cut by the
    capture or ended by the sender there.
    """
    readdress = Readdress(linktype, frames)
    connections = {}  # {pair of ports: frames so far}
    copy = 0
    for cut in frames:
        layers = Layers(linktype, cut)
        if layers.protocol != "tcp":
            continue
        ports = frozenset((cut[layers.transport:layers.transport + 2], cut[layers.transport + 2:layers.transport + 4]))
        before = connections.setdefault(ports, [])
        for length in cuts(linktype, cut, layers.payload):
            for last, wire_length in ((cut[:length], len(cut)), (shorten(linktype, cut, length), length)):
                for frame in before:
                    yield readdress(frame, copy), len(frame)
                yield readdress(last, copy), wire_length
                copy += 1
        before.append(cut)


def mutate_bytes(linktype, frames, dice):
    """Some bytes of the messages are others; the headers below them stay."""
    for frame in frames:
        frame = bytearray(frame)
        start = Layers(linktype, frame).payload or 0
        for _ in range(dice.choice((0, 1, 1, 2, 8)) if start < len(frame) else 0):
            position = start + int((len(frame) - start) * dice.random() ** 2)  # rather at the start
            old = frame[position]
            others = (0, 0xFF, 0x7F, 0x80, old ^ 1 << dice.randrange(8), (old + 1) & 0xFF, dice.randrange(256))
            frame[position] = dice.choice(others)
        yield bytes(frame)


def mutate_order(frames, dice):
    """Some frames are lost, doubled or swapped."""
    frames = [frame for frame in frames for _ in range(dice.choice((0, 1, 1, 1, 1, 1, 1, 1, 2)))]
    for _ in range(len(frames) // 10):
        i = dice.randrange(len(frames) - 1)
        frames[i], frames[i + 1] = frames[i + 1], frames[i]
    return frames


def mutated(linktype, frames, seeds):
    """One mutated copy of the capture for each seed."""
    readdress = Readdress(linktype, frames)
    for seed in seeds:
        dice = random.Random(seed)
        copy = mutate_order(frames, dice) if seed % 3 == 0 else frames
        for frame in mutate_bytes(linktype, copy, dice):
            yield readdress(frame, seed), len(frame)
