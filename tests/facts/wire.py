"""
A second reader of captures, which knows neither the plugin nor Wireshark: SMC-R messages, RDMA
WRITEs and acknowledgements of a file, frame by frame, from Ethernet, Linux cooked and ERF frames.
"""

import collections
import functools
import struct

from scapy.utils import RawPcapReader

ETHERNET, COOKED, ERF, EXPORTED_PDU, NETLINK = 1, 113, 197, 252, 253
WITHOUT_HEADERS = (EXPORTED_PDU, NETLINK)  # no packet of a network
HEADERS = {ETHERNET: 14, COOKED: 16}  # bytes, the last two of which are the Ethernet type
ERF_HEADER, LRH = 16, 8
VLAN, IPV4, IPV6, ROCEV1 = 0x8100, 0x0800, 0x86DD, 0x8915
TCP, UDP, ROCE_PORT = 6, 17, 4791
GRH, BTH, RETH, IMMEDIATE, ICRC, UDP_HEADER = 40, 12, 16, 4, 4, 8

SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_ONLY = 0, 1, 2, 4
WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_ONLY = 6, 7, 8, 10
WRITE_LAST_IMMEDIATE, WRITE_ONLY_IMMEDIATE = 9, 11
WRITE_HEADERS = {
    WRITE_FIRST: RETH,
    WRITE_MIDDLE: 0,
    WRITE_LAST: 0,
    WRITE_ONLY: RETH,
    WRITE_LAST_IMMEDIATE: IMMEDIATE,
    WRITE_ONLY_IMMEDIATE: RETH + IMMEDIATE,
}
ACKNOWLEDGE = 17
NAK, RNR_NAK = 0x60, 0x20  # AETH syndrome, kind

SMC_R, SMC_D = bytes.fromhex("e2d4c3d9"), bytes.fromhex("e2d4c3c4")
CLC_HEADER = 8

Packet = collections.namedtuple(
    "Packet", "frame ends opcode qpn psn payload"
)  # RoCE; payload without padding, ICRC
Segment = collections.namedtuple(
    "Segment", "frame ends sequence syn payload"
)  # TCP; ends as (source, target)
Message = collections.namedtuple("Message", "frame kind data")  # kind: "clc", "llc", "cdc"


def u16(data, offset, order="big"):
    return int.from_bytes(data[offset : offset + 2], order)


def _roce(frame, ends, data):
    opcode, flags = data[0], data[1]
    qpn, psn = int.from_bytes(data[5:8], "big"), int.from_bytes(data[9:12], "big")
    return Packet(frame, ends, opcode, qpn, psn, data[BTH : len(data) - ICRC - (flags >> 4 & 3)])


def _ip(frame, protocol, ends, data):
    """What IPv4 or IPv6 carries; None if it is nothing of ours."""
    if protocol == UDP and u16(data, 2) == ROCE_PORT:
        return _roce(frame, ends, data[UDP_HEADER : u16(data, 4)])
    if protocol == TCP:
        ports = u16(data, 0), u16(data, 2)
        sequence, header, flags = struct.unpack_from(">I4xBB", data, 4)
        return Segment(
            frame, tuple(zip(ends, ports)), sequence, bool(flags & 2), data[(header >> 4) * 4 :]
        )
    return None


def _frame(number, linktype, data):
    if linktype == ERF:
        grh = data[ERF_HEADER + LRH :]
        return _roce(number, (grh[8:24], grh[24:40]), grh[GRH : GRH + u16(grh, 4)])
    start = HEADERS[linktype]
    ethertype = u16(data, start - 2)
    while ethertype == VLAN:
        start, ethertype = start + 4, u16(data, start + 2)
    data = data[start:]
    if ethertype == ROCEV1:
        return _roce(number, (data[8:24], data[24:40]), data[GRH : GRH + u16(data, 4)])
    if ethertype == IPV4:
        data, header = data[: u16(data, 2)], (data[0] & 15) * 4
        return _ip(number, data[9], (data[12:16], data[16:20]), data[header:])
    if ethertype == IPV6:
        return _ip(number, data[6], (data[8:24], data[24:40]), data[40 : 40 + u16(data, 4)])
    return None


@functools.cache
def packets(path):
    """RoCE packets and TCP segments of a capture, in its order. Exported PDUs and netlink
    messages are none."""
    reader = RawPcapReader(str(path))
    try:
        linktype = getattr(reader, "linktype", ETHERNET)  # pcapng: each frame has its own
        frames = [
            (number, getattr(meta, "linktype", linktype), bytes(data))
            for number, (data, meta) in enumerate(reader, 1)
        ]
        found = [_frame(*frame) for frame in frames if frame[1] not in WITHOUT_HEADERS]
        return [each for each in found if each]
    finally:
        reader.close()


def roce(path):
    return [each for each in packets(path) if isinstance(each, Packet)]


# ---- messages ----


def clc_length(data):
    return u16(data, 5)


def clc_messages(path):
    """CLC messages at the beginning of both directions of all TCP connections; the frame is that of
    the last byte."""
    found, streams = [], {}  # {ends: [next sequence number, bytes not taken yet, no longer CLC]}
    for segment in packets(path):
        if not isinstance(segment, Segment):
            continue
        stream = streams.setdefault(segment.ends, [segment.sequence, b"", False])
        if segment.syn:
            stream[:] = segment.sequence + 1 & 0xFFFFFFFF, b"", False
        known = stream[0] - segment.sequence & 0xFFFFFFFF
        if stream[2] or known >= len(segment.payload):
            continue
        stream[0], stream[1] = (
            segment.sequence + len(segment.payload) & 0xFFFFFFFF,
            stream[1] + segment.payload[known:],
        )
        while len(stream[1]) >= CLC_HEADER and stream[1][:4] in (SMC_R, SMC_D):
            length = clc_length(stream[1])
            following = stream[1].find(SMC_R, CLC_HEADER, length)
            if CLC_HEADER <= following < length - 4 and stream[1][length - 4 : length] not in (
                SMC_R,
                SMC_D,
            ):
                stream[1] = stream[1][following:]  # the one before it is not whole
                continue
            if not CLC_HEADER <= length <= len(stream[1]):
                break
            found.append(Message(segment.frame, "clc", stream[1][:length]))
            stream[1] = stream[1][length:]
        else:
            stream[2] = len(stream[1]) >= CLC_HEADER
    return found


def sends(path):
    """Payloads of SENDs, those of several packets put together: (frame of the last packet,
    bytes)."""
    parts = {}
    for packet in roce(path):
        key = packet.ends, packet.qpn
        if packet.opcode in (SEND_FIRST, SEND_ONLY):
            parts[key] = b""
        if packet.opcode in (SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_ONLY):
            parts[key] = parts.get(key, b"") + packet.payload
        if packet.opcode in (SEND_LAST, SEND_ONLY):
            yield packet.frame, parts.pop(key)


def roce_messages(path):
    return [
        Message(frame, "cdc" if data[0] == 0xFE else "llc", data)
        for frame, data in sends(path)
        if data
    ]


def messages(path):
    return sorted(clc_messages(path) + roce_messages(path), key=lambda message: message.frame)


def write_lengths(path):
    """{frame: bytes of data} of RDMA WRITEs."""
    return {
        each.frame: max(0, len(each.payload) - WRITE_HEADERS[each.opcode])
        for each in roce(path)
        if each.opcode in WRITE_HEADERS
    }


FLAG_NAMES = (
    "writer_blocked",
    "urgent_pending",
    "urgent_present",
    "update_requested",
    "failover",
)  # from bit 7 on
STATE_NAMES = ("sending_done", "closed", "abort")


def _flags(byte, names):
    return {f"smcr.cdc.{name}": byte >> 7 - bit & 1 for bit, name in enumerate(names)}


def _immediate(value):
    """union smc_wr_imm_msg of ANCK's net/smc/smc_wr.h, as little-endian hosts fill it in."""
    opcode, rest = value >> 21 & 7, value & 0x1FFFFF
    found = {"smcr.immediate": opcode, "smcr.immediate.token": value >> 24}
    if opcode == 2:
        return {**found, **_flags(rest >> 8 & 255, FLAG_NAMES), **_flags(rest & 255, STATE_NAMES)}
    if opcode in (1, 7):
        found.update(_flags(rest >> 18 << 5, FLAG_NAMES[:3]))
    if opcode in (6, 7):
        found["smcr.credits"] = (rest >> 13 if opcode == 6 else rest >> 10) & 255
    step = {0: 0x1FFFFF, 1: 0x1FFFF, 6: 0x1FFF, 7: 0x3FF}
    return {**found, "smcr.immediate.step": rest & step[opcode]} if opcode in step else found


def immediates(path):
    """
    What WRITEs say with immediate data: {frame: {field: value}}. Only where the first contact has
    agreed on it (ANCK's net/smc/smc_clc.h: struct smc_clc_first_contact_ext_v2x,
    vendor_exp_options), and the token is the receiver's.
    """
    tokens = {
        int.from_bytes(each.data[38:41], "big"): each.data[49]
        for each in clc_messages(path)
        if each.data[4] in (2, 3) and len(each.data) > 148 and each.data[144] & 0xA0 == 0xA0
    }
    values = {
        each.frame: (
            each.qpn,
            int.from_bytes(
                each.payload[WRITE_HEADERS[each.opcode] - IMMEDIATE :][:IMMEDIATE], "big"
            ),
        )
        for each in roce(path)
        if each.opcode in (WRITE_LAST_IMMEDIATE, WRITE_ONLY_IMMEDIATE)
    }
    return {
        frame: _immediate(value)
        for frame, (qpn, value) in values.items()
        if tokens.get(qpn) == value >> 24
    }


IMMEDIATE_FIELDS = (
    "smcr.immediate",
    "smcr.immediate.token",
    "smcr.immediate.step",
    "smcr.credits",
    *(f"smcr.cdc.{name}" for name in FLAG_NAMES + STATE_NAMES),
)


def acknowledgements(path, kind=None):
    """Frames with an acknowledgement: all, or those with a syndrome of this kind."""
    return [
        each.frame
        for each in roce(path)
        if each.opcode == ACKNOWLEDGE and (kind is None or each.payload[0] & 0x60 == kind)
    ]
