"""
Captures altered on purpose: cut at every byte, mutated, reordered. Many altered copies of a capture
go into one file, each with its own addresses, so that Wireshark takes them for hosts that have
nothing to do with each other.
"""

import random
import re
import struct

from scapy.utils import RawPcapReader

PCAP_HEADER = struct.Struct("<IHHiIII")
RECORD_HEADER = struct.Struct("<IIII")
LINKTYPE_ETHERNET, LINKTYPE_EXPORTED_PDU = 1, 252
LINK_HEADERS = {LINKTYPE_ETHERNET: 14, 113: 16}  # 113: Linux "any"
ROCE_PORT, ROCE_ETHERTYPE = 4791, 0x8915
VLAN_ETHERTYPES = (0x8100, 0x88A8)
TCP, UDP = 6, 17
SHORTEST = {197: 24}  # bytes of an ERF record without which Wireshark takes the file for damaged

# No SMC-R message reaches beyond this byte of a frame; what follows is data of applications. There
# only some of the bytes are tried.
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
    """Write a pcap file from (captured bytes, original length) pairs; 1 ms passes between
    frames."""
    with open(path, "wb") as file:
        file.write(PCAP_HEADER.pack(0xA1B2C3D4, 2, 4, 0, 0, 262144, linktype))
        for i, (data, length) in enumerate(records):
            file.write(RECORD_HEADER.pack(i // 1000, i % 1000 * 1000, len(data), length))
            file.write(data)


class Layers:
    """Where the headers of a frame are. `payload` is where a CLC message begins, or a RoCE packet's
    BTH."""

    def __init__(self, linktype, frame):
        self.network = self.transport = self.payload = self.protocol = None
        if linktype not in LINK_HEADERS:
            return
        offset = LINK_HEADERS[linktype]
        ethertype = int.from_bytes(frame[offset - 2 : offset], "big")
        while ethertype in VLAN_ETHERTYPES:
            offset += 4
            ethertype = int.from_bytes(frame[offset - 2 : offset], "big")
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
        elif protocol == UDP and int.from_bytes(frame[offset + 2 : offset + 4], "big") == ROCE_PORT:
            self.protocol, self.payload = "roce", offset + 8


def cuts(linktype, frame, first=0):
    """The lengths at which a frame is cut."""
    first = max(first, SHORTEST.get(linktype, 0))
    near = range(first, min(len(frame), LONGEST_MESSAGE))
    return [*near, *range(max(first, LONGEST_MESSAGE), len(frame), STEP_IN_DATA)]


class Readdress:
    """Gives every copy of a capture its own IP addresses and GIDs, in headers and messages
    alike."""

    def __init__(self, linktype, frames):
        found = set()
        for frame in frames:
            network = Layers(linktype, frame).network
            if network is not None and network + 40 <= len(frame):
                is_ipv4 = frame[network] >> 4 == 4
                found |= (
                    {frame[network + 12 : network + 16], frame[network + 16 : network + 20]}
                    if is_ipv4
                    else {frame[network + 8 : network + 24], frame[network + 24 : network + 40]}
                )
        self.addresses = {address: i for i, address in enumerate(sorted(found))}
        self.pattern = re.compile(
            b"|".join(map(re.escape, sorted(found, key=len, reverse=True))) or b"(?!)", re.DOTALL
        )

    def __call__(self, frame, copy):
        def replace(match):
            old = match[0]
            new = struct.pack(">BHB", 20 + (copy >> 16), copy & 0xFFFF, self.addresses[old])
            return new if len(old) == 4 else old[:8] + bytes(4) + new

        return self.pattern.sub(replace, frame)


def shorten(linktype, frame, length):
    """The frame as if the sender had ended the message early: the lengths in the headers are
    right."""
    layers = Layers(linktype, frame)
    frame = bytearray(frame[:length])
    if layers.transport is not None and frame[layers.network] >> 4 == 4:
        struct.pack_into(">H", frame, layers.network + 2, length - layers.network)
    elif layers.network is not None and frame[layers.network] >> 4 == 6:
        struct.pack_into(">H", frame, layers.network + 4, length - layers.network - 40)
    if layers.protocol == "roce" and layers.transport is not None:
        struct.pack_into(">H", frame, layers.transport + 4, length - layers.transport)
    return bytes(frame)


# ---- cutting; `copies` gives each copy of a capture its number ----


def kind(linktype, frame):
    """What tells a frame from others when it is cut: frames of a kind have the same layout. None:
    no layout of ours."""
    layers = Layers(linktype, frame)
    if layers.payload is None or layers.payload >= len(frame):
        return None
    data = frame[layers.payload :]
    if layers.protocol == "tcp":
        return ("clc", data[4:8], len(data)) if data[:3] == b"\xe2\xd4\xc3" else None
    message = data[12:]
    return (
        data[0],
        data[1] & 0x30,
        min(len(message), LONGEST_MESSAGE),
        message[:6] if data[0] < 6 else b"",
    )


def one_of_each(linktype, frames, seen):
    """Numbers of the frames of kinds that are not in `seen` yet."""
    chosen = set()
    for number, frame in enumerate(frames):
        what = kind(linktype, frame)
        if what is not None and what not in seen:
            seen.add(what)
            chosen.add(number)
    return chosen


def snapped(linktype, frames, copies, lengths=None):
    """The whole capture, taken with every snap length, or with those given."""
    readdress = Readdress(linktype, frames)
    longest = max(frames, key=len)
    for length in cuts(linktype, longest) if lengths is None else lengths:
        copy = next(copies)
        for frame in frames:
            yield readdress(frame, copy)[:length], len(frame)


def cut_packets(linktype, frames, copies, chosen=None):
    """
    The capture with cut copies behind every RoCE packet (or the chosen ones), so that its queue
    pairs are known: cut by the capture, cut on the wire, ended by the sender.
    """
    readdress = Readdress(linktype, frames)
    copy = next(copies)
    for number, frame in enumerate(frames):
        frame = readdress(frame, copy)
        yield frame, len(frame)
        layers = Layers(linktype, frame)
        if layers.protocol != "tcp" and (chosen is None or number in chosen):
            for length in cuts(linktype, frame):
                yield frame[:length], len(frame)
                yield frame[:length], length
            for length in cuts(linktype, frame, layers.payload or len(frame)):
                yield shorten(linktype, frame, length), length


def cut_segments(linktype, frames, copies, chosen=None):
    """
    The TCP connections once for every byte of every segment with payload (or of the chosen ones),
    up to that segment, which is cut by the capture or ended by the sender there.
    """
    readdress = Readdress(linktype, frames)
    connections = {}  # {pair of ports: frames so far}
    for number, cut in enumerate(frames):
        layers = Layers(linktype, cut)
        if layers.protocol != "tcp":
            continue
        ports = frozenset(
            (
                cut[layers.transport : layers.transport + 2],
                cut[layers.transport + 2 : layers.transport + 4],
            )
        )
        before = connections.setdefault(ports, [])
        for length in (
            cuts(linktype, cut, layers.payload) if chosen is None or number in chosen else ()
        ):
            for last, wire_length in (
                (cut[:length], len(cut)),
                (shorten(linktype, cut, length), length),
            ):
                copy = next(copies)
                for frame in before:
                    yield readdress(frame, copy), len(frame)
                yield readdress(last, copy), wire_length
        before.append(cut)


# ---- mutating ----


def mutate_bytes(linktype, frames, dice):
    """Some bytes of the messages are others; the headers below them stay."""
    for frame in frames:
        frame = bytearray(frame)
        start = Layers(linktype, frame).payload or 0
        for _ in range(dice.choice((0, 1, 1, 2, 8)) if start < len(frame) else 0):
            position = start + int((len(frame) - start) * dice.random() ** 2)  # rather at the start
            old = frame[position]
            others = (
                0,
                0xFF,
                0x7F,
                0x80,
                old ^ 1 << dice.randrange(8),
                (old + 1) & 0xFF,
                dice.randrange(256),
            )
            frame[position] = dice.choice(others)
        yield bytes(frame)


def mutate_order(frames, dice):
    """Some frames are lost, doubled or swapped."""
    frames = [frame for frame in frames for _ in range(dice.choice((0, 1, 1, 1, 1, 1, 1, 1, 2)))]
    for _ in range(len(frames) // 10):
        i = dice.randrange(len(frames) - 1)
        frames[i], frames[i + 1] = frames[i + 1], frames[i]
    return frames


def mutated(linktype, frames, copies, seeds):
    """
    One mutated copy of the capture for each seed. Exported PDUs have none: TCP of 4.6 stops with an
    assertion where their addresses are of a kind that it does not know, plugin or not.
    """
    if linktype == LINKTYPE_EXPORTED_PDU:
        return
    readdress = Readdress(linktype, frames)
    for seed in seeds:
        dice = random.Random(seed)
        copy = next(copies)
        altered = mutate_order(frames, dice) if seed % 3 == 0 else frames
        for frame in mutate_bytes(linktype, altered, dice):
            yield readdress(frame, copy), len(frame)


# ---- making up ----

EXTREMES = (0, 1, 0x7F, 0x80, 0xFF)


def ethernet_frame(protocol, payload, copy, ports=(50000, ROCE_PORT), back=False, sequence=0):
    """Ethernet and IPv4 between two hosts of this copy; a TCP header without options, or an UDP
    header."""
    ends = [
        struct.pack(">BHB", 20 + (copy >> 16), copy & 0xFFFF, host)
        for host in ((2, 1) if back else (1, 2))
    ]
    ports = ports[::-1] if back and protocol == TCP else ports
    if protocol == TCP:
        above = struct.pack(">HHIIBBHHH", *ports, sequence, 1, 0x50, 0x18, 0xFFFF, 0, 0) + payload
    else:
        above = struct.pack(">HHHH", *ports, 8 + len(payload), 0) + payload
    network = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(above), 0, 0, 64, protocol, 0, *ends)
    return bytes(12) + b"\x08\x00" + network + above


def random_bytes(dice):
    """Noise; in it runs of zeros, extremes, and what SMC-R looks for."""
    parts = []
    for _ in range(dice.randrange(1, 9)):
        parts.append(
            dice.choice(
                (
                    dice.randbytes(dice.randrange(1, 60)),
                    bytes(dice.randrange(1, 30)),
                    b"\xff" * dice.randrange(1, 9),
                    bytes([dice.choice(EXTREMES)]),
                    b"\xe2\xd4\xc3\xd9",
                    b"\xfe\x2c",
                    bytes([dice.randrange(1, 10), 44]),
                    bytes([0x20 | dice.randrange(16), 0, dice.choice((44, 84, 255))]),
                )
            )
        )
    return b"".join(parts)


def random_frames(copies, seeds):
    """Frames that no capture has given: for each seed some RoCE packets and TCP segments between
    two hosts."""
    for seed in seeds:
        dice = random.Random(seed)
        copy = next(copies)
        sequence = [1, 1]
        for _ in range(16):
            back = dice.random() < 0.5
            if dice.random() < 0.3:
                clc = (
                    b"\xe2\xd4\xc3\xd9" + bytes([dice.choice((1, 2, 3, 4, 0, 0xFF))])
                    if dice.random() < 0.7
                    else b""
                )
                payload = clc + random_bytes(dice)
                frame = ethernet_frame(TCP, payload, copy, (40000, 5000), back, sequence[back])
                sequence[back] += len(payload)
            else:
                opcode = dice.choice(
                    (0, 1, 2, 4, 4, 4, 4, 6, 7, 8, 10, 11, 13, 17, 0x81, dice.randrange(256))
                )
                bth = struct.pack(
                    ">BBHII",
                    opcode,
                    dice.choice((0x40, 0x50, 0x70)),
                    0xFFFF,
                    dice.randrange(4),
                    dice.randrange(40) | dice.choice((0, 0, 1 << 31, 0xFFFFF0)),
                )
                frame = ethernet_frame(UDP, bth + random_bytes(dice) + bytes(4), copy, back=back)
            yield frame[: dice.randrange(14, len(frame))] if dice.random() < 0.1 else frame, len(
                frame
            )


def extremes(linktype, frames, copies, chosen=None):
    """
    The capture, and behind every packet (or the chosen ones) copies of it in which each byte, each
    two and each four bytes of its message are at the ends of their ranges: counts, lengths and
    offsets are among them.
    """
    readdress = Readdress(linktype, frames)
    copy = next(copies)
    for number, frame in enumerate(frames):
        frame = readdress(frame, copy)
        yield frame, len(frame)
        start = Layers(linktype, frame).payload
        if start is None or (chosen is not None and number not in chosen):
            continue
        for at in range(start, min(len(frame), start + LONGEST_MESSAGE)):
            for value in (
                *(bytes([each]) for each in EXTREMES),
                b"\xff\xff",
                b"\x7f\xff\xff\xff",
                b"\xff\xff\xff\xff",
            ):
                altered = frame[:at] + value + frame[at + len(value) :]
                yield altered[: len(frame)], len(frame)
