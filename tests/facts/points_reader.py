"""
Captures at several points, made and read: pcapng with one interface for each point, and what a
reader of the bytes says of the packets that one point has and another one has not. Shares no code
with the plugin.
"""

import collections
import gzip
import struct

from mutants import with_tcp_checksums

SECTION, INTERFACE, ENHANCED = 0x0A0D0D0A, 1, 6
ETHERNET, SLL2 = 1, 276  # link types
IPV4, IPV6, GRH, TCP, UDP, ROCE_PORT = 0x0800, 0x86DD, 0x8915, 6, 17, 4791
ACKNOWLEDGE, RESPONSES = 17, range(13, 19)

Packet = collections.namedtuple("Packet", "time interface data length")  # time in nanoseconds


# ---- files ----


def blocks(path):
    """(type, body) of each block of a little-endian pcapng file."""
    opened = gzip.open if str(path).endswith(".gz") else open
    with opened(path, "rb") as file:
        data = file.read()
    at = 0
    while at + 12 <= len(data):
        kind, length = struct.unpack_from("<II", data, at)
        yield kind, data[at + 8 : at + length - 4]
        at += length


def options(data):
    found = {}
    while len(data) >= 4:
        code, length = struct.unpack_from("<HH", data)
        found[code] = data[4 : 4 + length]
        data = data[4 + length + -length % 4 :]
    return found


def read(path):
    """[Packet] of a file; times count from 1970."""
    packets, units = [], []
    for kind, body in blocks(path):
        if kind == INTERFACE:
            unit = options(body[8:]).get(9, b"\x06")[0]
            units.append(10 ** (9 - unit))
        elif kind == ENHANCED:
            interface, high, low, captured, length = struct.unpack_from("<IIIII", body)
            time = (high << 32 | low) * units[interface]
            packets.append(Packet(time, interface, body[20 : 20 + captured], length))
    return packets


def block(kind, body):
    body += bytes(-len(body) % 4)
    length = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + length + body + length


def option(code, data):
    return struct.pack("<HH", code, len(data)) + data + bytes(-len(data) % 4)


def write(path, packets, names, link=ETHERNET):
    """Writes packets, in the order of their times, on interfaces of these names and this link type;
    nanoseconds."""
    with open(path, "wb") as file:
        file.write(block(SECTION, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)))
        for name in names:
            described = option(2, name.encode()) + option(9, b"\x09") + option(0, b"")
            file.write(block(INTERFACE, struct.pack("<HHI", link, 0, 0) + described))
        for each in sorted(packets, key=lambda packet: packet.time):
            head = struct.pack(
                "<IIIII",
                each.interface,
                each.time >> 32,
                each.time & 0xFFFFFFFF,
                len(each.data),
                each.length,
            )
            file.write(block(ENHANCED, head + each.data))
    path.chmod(0o644)
    return path


# ---- RoCE: over IPv4 and IPv6, and RoCEv1 ----

Roce = collections.namedtuple("Roce", "source target qpn opcode psn ip_id syndrome")


def roce(data):
    """The headers of a RoCE packet; None: it is none."""
    kind = struct.unpack_from(">H", data, 12)[0] if len(data) >= 54 else 0
    if kind == GRH and len(data) >= 66:
        return base_header(data, 54, (data[22:38], data[38:54]), -1)
    if kind == IPV6 and data[20] == UDP and is_roce(data, 54):
        return base_header(data, 62, (data[22:38], data[38:54]), -1)
    udp = 14 + 4 * (data[14] & 15)
    if kind != IPV4 or data[23] != UDP or not is_roce(data, udp):
        return None
    return base_header(
        data, udp + 8, (data[26:30], data[30:34]), *struct.unpack_from(">H", data, 18)
    )


def is_roce(data, udp):
    """Whether the UDP header at this offset is one of RoCEv2, and its base transport header is
    captured."""
    return len(data) >= udp + 20 and struct.unpack_from(">H", data, udp + 2)[0] == ROCE_PORT


def base_header(data, bth, ends, ip_id):
    """The headers of a packet whose base transport header is at `bth`."""
    opcode = data[bth]
    syndrome = data[bth + 12] if opcode in RESPONSES and len(data) > bth + 12 else None
    return Roce(
        *ends,
        int.from_bytes(data[bth + 5 : bth + 8], "big"),
        opcode,
        int.from_bytes(data[bth + 9 : bth + 12], "big"),
        ip_id,
        syndrome,
    )


MACS = bytes.fromhex("02000000000a02000000000b")  # after a router


def one_hop_further(data):
    """The frame after one router: the TTL one less, with other MAC addresses. No router forwards
    RoCEv1."""
    kind = struct.unpack_from(">H", data, 12)[0]
    if kind == GRH:
        return data
    if kind == IPV6:
        return MACS + data[12:21] + bytes([data[21] - 1 & 255]) + data[22:]
    ttl = data[22] - 1
    checksum = struct.unpack_from(">H", data, 24)[0] + 0x100
    checksum = (checksum & 0xFFFF) + (checksum >> 16)
    return (
        MACS
        + data[12:22]
        + bytes([ttl & 255])
        + data[23:24]
        + struct.pack(">H", checksum)
        + data[26:]
    )


def tagged(data, vlan):
    """The frame with a VLAN tag."""
    return data[:12] + struct.pack(">HH", 0x8100, vlan) + data[12:]


def in_vxlan(packet, vni):
    """The packet in VXLAN."""
    udp = struct.pack(">HHHH", 49152, 4789, 16 + packet.length, 0)
    vxlan = struct.pack(">II", 0x08000000, vni << 8)
    header = struct.pack(">HHIBBH", 0x4500, 36 + packet.length, 0, 64, UDP, 0)
    hosts = bytes([192, 0, 2, 1, 192, 0, 2, 2])
    around = MACS + struct.pack(">H", IPV4) + header + hosts + udp + vxlan
    return packet._replace(data=around + packet.data, length=len(around) + packet.length)


def cooked(data, device):
    """The frame as a capture on all devices has it (SLL2)."""
    header = data[12:14] + struct.pack(">HIHBB", 0, device, 1, 0, 6) + data[6:12] + bytes(2)
    return header + data[14:]


def with_total(data, length, fragment):
    """The frame with another total length and fragment word in its IPv4 header."""
    header = data[14:16] + struct.pack(">H", length) + data[18:20] + struct.pack(">H", fragment)
    header += data[22:24] + bytes(2) + data[26:34]
    total = sum(struct.unpack(">10H", header))
    total = (total & 0xFFFF) + (total >> 16)
    checksum = struct.pack(">H", ~(total + (total >> 16)) & 0xFFFF)
    return data[:14] + header[:10] + checksum + header[12:]


def divided(data, at):
    """The frame as two IPv4 fragments. `at`: bytes after the IPv4 header in the first one, a
    multiple of 8."""
    more, end = 0x2000, 14 + struct.unpack_from(">H", data, 16)[0]
    return [
        with_total(data, 20 + at, more) + data[34 : 34 + at],
        with_total(data, end - 14 - at, at // 8) + data[34 + at : end],
    ]


def with_class(data, traffic_class):
    """The frame with another type of service in its IPv4 header."""
    changed = data[:15] + bytes([traffic_class]) + data[16:]
    length, fragment = (struct.unpack_from(">H", data, at)[0] for at in (16, 20))
    return with_total(changed, length, fragment) + changed[34:]


# ---- TCP over IPv4 ----

SYN, FIN, PUSH, ACK = 2, 1, 8, 16

Tcp = collections.namedtuple("Tcp", "source target ports seq data header")


def tcp(data):
    """A TCP segment over IPv4; None: the frame is none."""
    if len(data) < 54 or struct.unpack_from(">H", data, 12)[0] != IPV4 or data[23] != TCP:
        return None
    ip, end = 14 + 4 * (data[14] & 15), 14 + struct.unpack_from(">H", data, 16)[0]
    header = ip + 4 * (data[ip + 12] >> 4)
    ports, seq = data[ip : ip + 4], struct.unpack_from(">I", data, ip + 4)[0]
    return Tcp(data[26:30], data[30:34], ports, seq, data[header:end], header)


def with_checksum(data):
    """The frame with the TCP checksum that it ought to have."""
    ip, end = 14 + 4 * (data[14] & 15), 14 + struct.unpack_from(">H", data, 16)[0]
    segment = data[ip : ip + 16] + bytes(2) + data[ip + 18 : end]
    summed = data[26:34] + struct.pack(">HH", TCP, len(segment)) + segment
    summed += bytes(len(summed) % 2)
    total = sum(struct.unpack(f">{len(summed) // 2}H", summed))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return data[: ip + 16] + struct.pack(">H", total ^ 0xFFFF) + data[ip + 18 :]


def with_segment(data, ip_id, begin, end):
    """The frame with another identification, and of its segment the bytes `begin` to `end`."""
    segment, ip = tcp(data), 14 + 4 * (data[14] & 15)
    made = bytearray(data[: segment.header] + segment.data[begin:end])
    if end < len(segment.data):
        made[ip + 13] &= ~(FIN | PUSH)
    struct.pack_into(">HH", made, 16, len(made) - 14, ip_id & 0xFFFF)
    struct.pack_into(">I", made, ip + 4, (segment.seq + begin) & 0xFFFFFFFF)
    return with_tcp_checksums(made)


def cut(packets, piece):
    """The packets as the sender's host has them, and as the wire has them: an adapter cuts segments
    into pieces, and counts up the identification for each: two lists of the same packets, of which
    each is a list of frames."""
    counts, whole, wire = collections.Counter(), [], []
    for packet in packets:
        segment = tcp(packet.data)
        if not segment or not segment.data:
            whole.append([packet])
            wire.append([packet])
            continue
        way = (segment.source, segment.ports)
        ip_id = 1000 + counts[way]
        length = len(segment.data)
        frames = [
            with_segment(packet.data, ip_id + at // piece, at, min(at + piece, length))
            for at in range(0, length, piece)
        ]
        counts[way] += len(frames)
        whole.append([packet._replace(data=with_segment(packet.data, ip_id, 0, length))])
        wire.append([packet._replace(data=each, length=len(each)) for each in frames])
    return whole, wire


# ---- address translation ----

SERVICE, SERVICE_PORT = bytes([10, 96, 0, 10]), struct.pack(">H", 80)
SMCR_OPTION = bytes.fromhex("e2d4c3d9")
BETWEEN = 20_000  # nanoseconds from a segment to the same one with translated addresses


def offers(packets):
    """Ends of the connections whose SYN has the SMC-R option: (client, server, ports)."""
    segments = [(packet.data, tcp(packet.data)) for packet in packets]
    return {
        (segment.source, segment.target, segment.ports)
        for data, segment in segments
        if segment and is_offer(data, segment)
    }


def is_offer(data, segment):
    ip = 14 + 4 * (data[14] & 15)
    return data[ip + 13] & (SYN | ACK) == SYN and SMCR_OPTION in data[ip + 20 : segment.header]


def without_timestamps(packets):
    """The packets without time stamps of TCP: no-operations stand in their place."""
    for packet in packets:
        segment, data = tcp(packet.data), bytearray(packet.data)
        at = segment.header if segment else 0  # of the data; options end here
        stamp = data.find(bytes([8, 10]), at - 40, at) if segment else -1
        if stamp > 34:
            data[stamp : stamp + 10] = bytes([1] * 10)
        yield packet._replace(data=bytes(data))


def without_syns(packets):
    return [each for each in packets if not tcp(each.data) or not flags_of(each.data) & SYN]


def flags_of(data):
    return data[14 + 4 * (data[14] & 15) + 13]


def behind_nat(data, server):
    """The frame of a TCP segment with the address and port of the service in the place of the
    server's."""
    made = bytearray(data)
    address, port = (26, 34) if data[26:30] == server else (30, 36)
    made[address : address + 4], made[port : port + 2] = SERVICE, SERVICE_PORT
    return bytes(made)


def translated(packets, port=SERVICE_PORT):
    """
    The packets as a host has them that captures on all interfaces, and replaces the address of a
    service by that of the server: each segment of a connection that offers SMC-R comes twice.
    """
    found, ends = [], set()
    for packet in packets:
        segment = tcp(packet.data)
        ends |= offers([packet])
        data, ip = bytearray(packet.data), 14 + 4 * (packet.data[14] & 15)
        later = packet._replace(time=packet.time + BETWEEN)
        if segment and (segment.source, segment.target, segment.ports) in ends:
            data[30:34], data[ip + 2 : ip + 4] = SERVICE, port
            found += [packet._replace(data=with_tcp_checksums(data)), later]
        elif segment and (
            (segment.target, segment.source, segment.ports[2:] + segment.ports[:2]) in ends
        ):
            data[26:30], data[ip : ip + 2] = SERVICE, port
            found += [packet, later._replace(data=with_tcp_checksums(data))]
        else:
            found.append(packet)
    return found
