"""
Frames of a capture for the reader of reports, which knows neither the plugin nor Wireshark: files
in pcap and pcapng format, packed or not, and in their frames the IP packets, TCP segments and RoCE
packets.
"""

import collections
import functools
import gzip
import ipaddress
import struct
import zlib

import pcapng

ETHERNET, RAW, COOKED, ERF, RAW_IPV4, RAW_IPV6, EXPORTED_PDU, COOKED_2 = (
    1,
    101,
    113,
    197,
    228,
    229,
    252,
    276,
)
VLAN, IPV4, IPV6, ROCEV1 = (0x8100, 0x88A8), 0x0800, 0x86DD, 0x8915
TCP, UDP, ROCE_PORT = 6, 17, 4791
EXTENSIONS = (0, 43, 60)  # headers of IPv6 that tell their own length
FRAGMENT = 44
UDP_HEADER, GRH, LRH, ERF_HEADER, BTH, ICRC, VCRC = 8, 40, 8, 16, 12, 4, 2
FIN, SYN, RST, ACK, ECE, CWR, NS = 0x001, 0x002, 0x004, 0x010, 0x040, 0x080, 0x100

# OPERATION of an opcode, and the headers behind the BTH
RC, UC, UD, CNP = 0, 1, 3, 0x81
TRANSPORTS = {RC: "RC", UC: "UC", UD: "UD"}
OPERATIONS = (
    "SEND_FIRST SEND_MIDDLE SEND_LAST SEND_LAST_IMM SEND_ONLY SEND_ONLY_IMM WRITE_FIRST "
    "WRITE_MIDDLE"
    " WRITE_LAST WRITE_LAST_IMM WRITE_ONLY WRITE_ONLY_IMM READ_REQ READ_RESP_FIRST READ_RESP_MIDDLE"
    " READ_RESP_LAST READ_RESP_ONLY ACK ATOMIC_ACK CMP_SWAP FETCH_ADD - SEND_LAST_INV"
    " SEND_ONLY_INV"
).split()
RETH, AETH, IMMEDIATE, ATOMIC = (
    {6, 10, 11, 12},
    {13, 15, 16, 17, 18},
    {3, 5, 9, 11, 22, 23},
    {19, 20},
)
ATOMIC_ACK, ACKNOWLEDGE, CNP_RESERVED, DETH = 18, 17, 16, 8

# time in nanoseconds; length: on the wire
Frame = collections.namedtuple("Frame", "number time length linktype data")
Ip = collections.namedtuple(
    "Ip", "frame version src dst ecn length protocol offset"
)  # offset: of what it carries
Segment = collections.namedtuple(
    "Segment", "frame ends seq ack flags length options ecn ip_bytes payload ip_id"
)
Roce = collections.namedtuple(
    "Roce", "frame kind src dst ecn bytes opcode qpn psn payload_length syndrome" " sender icrc"
)


def number(data, offset, size):
    return int.from_bytes(data[offset : offset + size], "big")


# ---- files ----


def _pcap(data):
    order = "<" if data[0] in (0xD4, 0x4D) else ">"
    unit = 1 if struct.unpack_from(order + "I", data)[0] == 0xA1B23C4D else 1000
    linktype, at, position = struct.unpack_from(order + "I", data, 20)[0], 24, 0
    while at < len(data):
        seconds, fraction, captured, length = struct.unpack_from(order + "IIII", data, at)
        position += 1
        head = ERF_HEADER if linktype == ERF else 0  # tells of the frame, and is no part of it
        yield Frame(
            position,
            seconds * 10**9 + fraction * unit,
            length - head,
            linktype,
            data[at + 16 + head : at + 16 + captured],
        )
        at += 16 + captured


def _resolution(block):
    """Nanoseconds in a unit of an interface's time stamps."""
    at = 16
    while at + 4 <= len(block) - 4:
        code, length = struct.unpack_from("<HH", block, at)
        if code == 9:
            assert not block[at + 4] & 0x80
            return 10 ** (9 - block[at + 4])
        at += 4 + length + -length % 4
    return 1000


def _pcapng(data):
    interfaces, position = [], 0
    for kind, block in pcapng.blocks(data):
        if kind == pcapng.INTERFACE:
            interfaces.append((struct.unpack_from("<H", block, 8)[0], _resolution(block)))
        if kind == pcapng.PACKET:
            _, _, interface, high, low, captured, length = pcapng.HEADER.unpack_from(block)
            linktype, unit = interfaces[interface]
            position += 1
            yield Frame(
                position,
                (high << 32 | low) * unit,
                length,
                linktype,
                block[pcapng.HEADER.size : pcapng.HEADER.size + captured],
            )


@functools.cache
def frames(path):
    """The frames of a capture."""
    data = path.read_bytes()
    data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    return list(_pcapng(data) if data[:4] == b"\x0a\x0d\x0d\x0a" else _pcap(data))


# ---- what a frame carries ----


def _network(frame):
    """(Ethernet type, offset) of what a frame's link layer carries; None where it is nothing of
    ours."""
    data, at = frame.data, {ETHERNET: 14, COOKED: 16, COOKED_2: 20}.get(frame.linktype)
    if frame.linktype in (RAW, RAW_IPV4, RAW_IPV6):
        return {4: IPV4, 6: IPV6}.get(data[0] >> 4), 0
    if at is None:
        return None, 0
    ethertype = number(data, 0 if frame.linktype == COOKED_2 else at - 2, 2)
    while ethertype in VLAN:
        at, ethertype = at + 4, number(data, at + 2, 2)
    return ethertype, at


def _ipv4(frame, at):
    data = frame.data[at:]
    length = number(data, 2, 2) or frame.length - at  # zero where the card cuts large segments
    whole = not number(data, 6, 2) & 0x1FFF
    return Ip(
        frame,
        4,
        *(str(ipaddress.ip_address(data[i : i + 4])) for i in (12, 16)),
        data[1] & 3,
        length,
        data[9] if whole else None,
        at + (data[0] & 15) * 4,
    )


def _ipv6(frame, at):
    data, protocol, header = frame.data[at:], frame.data[at + 6], 40
    while protocol in EXTENSIONS or protocol == FRAGMENT:
        if protocol == FRAGMENT and number(data, header + 2, 2) & 0xFFF8:
            protocol = None
            break
        size = 8 if protocol == FRAGMENT else data[header + 1] * 8 + 8
        protocol, header = data[header], header + size
    return Ip(
        frame,
        6,
        *(str(ipaddress.ip_address(data[i : i + 16])) for i in (8, 24)),
        data[1] >> 4 & 3,
        number(data, 4, 2) + 40,
        protocol,
        at + header,
    )


def _options(data):
    """[(kind, value)] of TCP options, up to the first that is broken."""
    found, at = [], 0
    while at < len(data) and data[at] != 0:
        if data[at] == 1:
            at += 1
            continue
        if at + 2 > len(data) or data[at + 1] < 2 or at + data[at + 1] > len(data):
            break
        found.append((data[at], data[at + 2 : at + data[at + 1]]))
        at += data[at + 1]
    return found


def _segment(ip, start):
    """`start`: where IP begins in the frame."""
    data = ip.frame.data[ip.offset : start + ip.length]
    if len(data) < 20 or data[12] >> 4 < 5:
        return None
    header = (data[12] >> 4) * 4
    length = ip.length - (ip.offset - start) - header
    if length < 0:
        return None
    ports = number(data, 0, 2), number(data, 2, 2)
    ip_id = number(ip.frame.data, start + 4, 2) if ip.version == 4 else 0
    return Segment(
        ip.frame,
        ((ip.src, ports[0]), (ip.dst, ports[1])),
        number(data, 4, 4),
        number(data, 8, 4),
        number(data, 12, 2) & 0x1FF,
        length,
        _options(data[20:header]),
        ip.ecn,
        ip.length,
        data[header:],
        ip_id,
    )


def headers_length(opcode):
    """Bytes between the BTH and the payload."""
    if opcode == CNP:
        return CNP_RESERVED
    operation = opcode & 31
    return (
        (operation in RETH) * 16
        + (operation in AETH) * 4
        + (operation in IMMEDIATE) * 4
        + (operation in ATOMIC) * 28
        + (operation == ATOMIC_ACK) * 8
        + (opcode >> 5 == UD) * DETH
    )


def opcode_name(opcode):
    """As the ground truth of the captures names it."""
    operation = OPERATIONS[opcode & 31] if opcode & 31 < len(OPERATIONS) else "-"
    if opcode == CNP:
        return "CNP"
    known = opcode >> 5 in TRANSPORTS and operation != "-"
    return f"{TRANSPORTS[opcode >> 5]}_{operation}" if known else f"0x{opcode:02x}"


def _icrc_of(kind, whole, bth):
    """
    The ICRC that a packet should have. whole: from LRH, GRH or IP on, without the ICRC; bth: where
    the BTH begins. Fields that routers change count as ones.
    """
    covered, grh = bytearray(whole), LRH if kind == "infiniband" else 0
    if kind == "ipv4":
        covered[1] = covered[8] = 0xFF
        covered[10:12] = b"\xff\xff"
    elif bth - grh >= GRH:
        covered[grh] |= 0x0F
        covered[grh + 1 : grh + 4] = b"\xff\xff\xff"
        covered[grh + 7] = 0xFF
    if kind in ("ipv4", "ipv6"):
        covered[bth - 2 : bth] = b"\xff\xff"
    elif kind == "infiniband" and bth == LRH:
        covered[0] |= 0xF0
        covered[bth + 4] = 0xFF
        return zlib.crc32(bytes(covered))
    covered[bth + 4] = 0xFF
    return zlib.crc32(b"\xff" * 8 + bytes(covered[grh:]))


def _roce(frame, kind, start, bth, end, ends, ecn):
    """A packet whose LRH, GRH or IP begins at start, its BTH at bth, and which ends (with the ICRC)
    at end."""
    data = frame.data[bth:end]
    if len(data) < BTH:
        return None
    opcode, pad = data[0], data[1] >> 4 & 3
    headers = BTH + headers_length(opcode)
    complete = end <= len(frame.data)
    right = complete and _icrc_of(
        kind, frame.data[start : end - ICRC], bth - start
    ) == int.from_bytes(frame.data[end - ICRC : end], "little")
    has_aeth = opcode >> 5 == RC and opcode & 31 in AETH and len(data) > BTH
    return Roce(
        frame,
        kind,
        *ends,
        ecn,
        end - start,
        opcode,
        number(data, 5, 3),
        number(data, 9, 3),
        max(0, end - bth - headers - pad - ICRC),
        data[BTH] if has_aeth else None,
        number(data, BTH + 5, 3) if opcode >> 5 == UD else None,
        "unverified" if not complete else "good" if right else "bad",
    )


def _gids(data, grh):
    return [str(ipaddress.ip_address(data[at : at + 16])) for at in (grh + 8, grh + 24)]


def _native(frame):
    """An InfiniBand packet in an ERF record."""
    data, end = frame.data, (number(frame.data, 4, 2) & 0x7FF) * 4
    if data[1] & 3 == 3:
        found = _roce(frame, "infiniband", 0, LRH + GRH, end, _gids(data, LRH), None)
    else:
        found = _roce(
            frame, "infiniband", 0, LRH, end, (number(data, 6, 2), number(data, 2, 2)), None
        )
    return found and found._replace(bytes=end + VCRC)


def packet(frame):
    """What a frame is: Segment, Roce, Ip (anything else over IP) or None."""
    if frame.linktype == ERF:
        return _native(frame)
    ethertype, at = _network(frame)
    if ethertype == ROCEV1:
        end = at + GRH + number(frame.data, at + 4, 2)
        return _roce(frame, "rocev1", at, at + GRH, end, _gids(frame.data, at), None)
    if ethertype not in (IPV4, IPV6):
        return None
    ip = (_ipv4 if ethertype == IPV4 else _ipv6)(frame, at)
    if ip.protocol == TCP:
        return _segment(ip, at) or ip
    if ip.protocol == UDP and number(frame.data, ip.offset + 2, 2) == ROCE_PORT:
        end = ip.offset + number(frame.data, ip.offset + 4, 2)
        kind = f"ipv{ip.version}"
        found = _roce(frame, kind, at, ip.offset + UDP_HEADER, end, (ip.src, ip.dst), ip.ecn)
        return found and found._replace(bytes=ip.length)
    return ip


@functools.cache
def packets(path):
    """What the frames of a capture are, in their order."""
    return [each for each in map(packet, frames(path)) if each]


def of_kind(path, kind):
    return [each for each in packets(path) if isinstance(each, kind)]


def text_of_time(nanoseconds):
    return f"{nanoseconds // 10**9}.{nanoseconds % 10**9:09}"
