"""
RoCE and InfiniBand packets: BTH and its extended headers, GRH, ICRC, and queue pairs that keep
packet sequence numbers.

Formats from the InfiniBand Architecture Specification, volume 1, chapter 9, and its annexes A16
(RoCE) and A17 (RoCEv2).
"""

import ipaddress
import struct
from dataclasses import dataclass, field
from zlib import crc32

from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6

from .net import IPV4, IPV6_TYPE, ROCEV1, ethernet
from .octets import gid as gid_bytes
from .octets import u8, u16, u24, u32, u64

SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_ONLY, SEND_ONLY_IMM, SEND_ONLY_INV = (
    0x00,
    0x01,
    0x02,
    0x04,
    0x05,
    0x17,
)
WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_ONLY, WRITE_ONLY_IMM = 0x06, 0x07, 0x08, 0x0A, 0x0B
READ_REQUEST, READ_RESPONSE_ONLY, ACKNOWLEDGE, ATOMIC_ACKNOWLEDGE, FETCH_ADD = (
    0x0C,
    0x10,
    0x11,
    0x12,
    0x14,
)
UD_SEND_ONLY, CNP = 0x64, 0x81

ACK, RNR_NAK, NAK_SEQUENCE_ERROR = 0x1F, 0x20, 0x60  # AETH syndromes
ROCEV2_PORT = 4791


def bth(opcode, *, dest_qp, psn, pad=0, solicited=False, ack_request=False, becn=False):
    """Base Transport Header, 12 bytes, P_Key 0xffff."""
    return b"".join(
        [
            u8(opcode),
            u8((0x80 if solicited else 0) | pad << 4),
            u16(0xFFFF),
            u8(0x40 if becn else 0),
            u24(dest_qp),
            u8(0x80 if ack_request else 0),
            u24(psn & 0xFFFFFF),
        ]
    )


def reth(va, rkey, length):
    """RDMA Extended Transport Header; `length` is that of the whole request."""
    return u64(va) + u32(rkey) + u32(length)


def aeth(syndrome, msn):
    """ACK Extended Transport Header."""
    return u8(syndrome) + u24(msn & 0xFFFFFF)


def deth(qkey, source_qp):
    """Datagram Extended Transport Header."""
    return u32(qkey) + bytes(1) + u24(source_qp)


def _crc(*parts):
    return struct.pack("<I", crc32(b"".join(parts)))


def _bth_masked(ib):
    """BTH and what follows, with the byte that holds FECN and BECN as ones."""
    return ib[:4] + b"\xff" + ib[5:]


def icrc_ipv4(ip_udp, ib):
    """ICRC of RoCEv2 over IPv4: TOS, TTL and both checksums count as ones."""
    header = bytearray(ip_udp)
    header[1] = header[8] = 0xFF
    header[10:12] = header[26:28] = b"\xff\xff"
    return _crc(b"\xff" * 8, bytes(header), _bth_masked(ib))


def icrc_ipv6(ip_udp, ib):
    """ICRC of RoCEv2 over IPv6: traffic class, flow label, hop limit and UDP checksum count as
    ones."""
    header = bytearray(ip_udp)
    header[0] |= 0x0F
    header[1:4] = b"\xff\xff\xff"
    header[7] = 0xFF
    header[46:48] = b"\xff\xff"
    return _crc(b"\xff" * 8, bytes(header), _bth_masked(ib))


def icrc_grh(grh_bytes, ib):
    """ICRC of RoCEv1 and of InfiniBand with a GRH: the LRH, traffic class, flow label and hop limit
    count as ones."""
    header = bytearray(grh_bytes)
    header[0] |= 0x0F
    header[1:4] = b"\xff\xff\xff"
    header[7] = 0xFF
    return _crc(b"\xff" * 8, bytes(header), _bth_masked(ib))


def vcrc(packet):
    """Variant CRC at the end of a native InfiniBand packet: CRC-16, polynomial 0x100B, bits
    reflected."""
    value = 0xFFFF
    for byte in packet:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0xD008 if value & 1 else 0)
    return struct.pack("<H", value ^ 0xFFFF)


@dataclass(frozen=True)
class Nic:
    """A RoCE device: MAC address, GID (IPv6, or plain IPv4 for a mapped one), and a LID on native
    InfiniBand."""

    mac: str
    gid: str
    lid: int = 1


def grh(source, destination, ib_length):
    """Global Route Header; `ib_length` counts BTH to ICRC."""
    return b"".join(
        [
            u32(0x60000000),
            u16(ib_length),
            u8(0x1B),
            u8(1),
            gid_bytes(source.gid),
            gid_bytes(destination.gid),
        ]
    )


def rocev1_frame(source, destination, ib, *, vlan=None, **_):
    """RoCE version 1: Ethernet type 0x8915, then GRH."""
    header = grh(source, destination, len(ib) + 4)
    return (
        bytes(ethernet(source.mac, destination.mac, ROCEV1, vlan))
        + header
        + ib
        + icrc_grh(header, ib)
    )


def rocev2_frame(source, destination, ib, *, vlan=None, sport=49152, **_):
    """RoCE version 2: UDP port 4791, over IPv4 or IPv6 as the GIDs say. UDP checksum 0, as devices
    send it."""
    pair = [ipaddress.ip_address(gid_bytes(nic.gid)) for nic in (source, destination)]
    udp = UDP(sport=sport, dport=ROCEV2_PORT, len=8 + len(ib) + 4, chksum=0)
    if pair[0].ipv4_mapped:
        ip = IP(
            src=str(pair[0].ipv4_mapped),
            dst=str(pair[1].ipv4_mapped),
            id=0,
            flags="DF",
            ttl=64,
            tos=0,
            proto=17,
            len=28 + len(ib) + 4,
        )
        icrc, ethertype = icrc_ipv4, IPV4
    else:
        ip = IPv6(
            src=str(pair[0]), dst=str(pair[1]), hlim=64, tc=0, fl=0, nh=17, plen=8 + len(ib) + 4
        )
        icrc, ethertype = icrc_ipv6, IPV6_TYPE
    ip_udp = bytes(ip / udp)
    return (
        bytes(ethernet(source.mac, destination.mac, ethertype, vlan))
        + ip_udp
        + ib
        + icrc(ip_udp, ib)
    )


def infiniband_packet(source, destination, ib, **_):
    """Native InfiniBand: LRH, GRH, BTH, ..., ICRC, VCRC."""
    header = grh(source, destination, len(ib) + 4)
    words = (8 + len(header) + len(ib) + 4) // 4
    lrh = u8(0) + u8(0x03) + u16(destination.lid) + u16(words) + u16(source.lid)
    packet = lrh + header + ib + icrc_grh(header, ib)
    return packet + vcrc(packet)


FRAMES = {"rocev1": rocev1_frame, "rocev2": rocev2_frame, "infiniband": infiniband_packet}


@dataclass
class QueuePair:
    """One end of a reliable connection. `psn` is the next packet's number, `msn` counts received
    messages."""

    nic: Nic
    qpn: int
    initial_psn: int
    psn: int = field(init=False)
    msn: int = field(init=False, default=0)

    def __post_init__(self):
        self.psn = self.initial_psn


class RoceLink:
    """
    Two connected queue pairs, "client" and "server". Sends requests with consecutive PSNs, and the
    ACKs for them.

    ack=False leaves out the ACK, as if it came too late or never; ack() sends it later.
    """

    def __init__(
        self, capture, client, server, *, transport="rocev2", vlan=None, mtu=1024, sport=49152
    ):
        self.capture, self.transport, self.vlan, self.mtu, self.sport = (
            capture,
            transport,
            vlan,
            mtu,
            sport,
        )
        self.qp = {"client": client, "server": server}

    @staticmethod
    def other(sender):
        return "server" if sender == "client" else "client"

    def packet(self, sender, opcode, rest=b"", *, psn, dest_qp=None, **bth_bits):
        """One packet with everything given; pads the payload to a multiple of 4. Returns the frame
        number."""
        source, destination = self.qp[sender], self.qp[self.other(sender)]
        pad = -len(rest) % 4
        header = bth(
            opcode,
            dest_qp=destination.qpn if dest_qp is None else dest_qp,
            psn=psn,
            pad=pad,
            **bth_bits
        )
        frame = FRAMES[self.transport](
            source.nic,
            destination.nic,
            header + rest + bytes(pad),
            vlan=self.vlan,
            sport=self.sport,
        )
        return self.capture.add(frame)

    def request(self, sender, opcode, rest=b"", *, last=True, solicited=False, ack=True, psn=None):
        """A request packet with the next PSN (or an old one, retransmitted), and its ACK when it
        ends a message."""
        pair = self.qp[sender]
        number = self.packet(
            sender,
            opcode,
            rest,
            psn=pair.psn if psn is None else psn,
            solicited=solicited,
            ack_request=last,
        )
        if psn is None:
            pair.psn = pair.psn + 1 & 0xFFFFFF
            if last:
                self.qp[self.other(sender)].msn += 1
        if last and ack:
            self.ack(self.other(sender), psn)
        return number

    def send(self, sender, payload, *, ack=True, psn=None):
        """SEND with the solicited event bit, as SMC uses it; in several packets only if longer than
        the MTU."""
        if len(payload) <= self.mtu:
            return self.request(sender, SEND_ONLY, payload, solicited=True, ack=ack, psn=psn)
        pieces = [payload[i : i + self.mtu] for i in range(0, len(payload), self.mtu)]
        first = self.request(sender, SEND_FIRST, pieces[0], last=False)
        for piece in pieces[1:-1]:
            self.request(sender, SEND_MIDDLE, piece, last=False)
        self.request(sender, SEND_LAST, pieces[-1], solicited=True, ack=ack)
        return first

    def write(self, sender, va, rkey, data, *, ack=True):
        """RDMA WRITE in as many packets as the MTU needs. Returns the first frame's number."""
        pieces = [data[i : i + self.mtu] for i in range(0, len(data), self.mtu)] or [b""]
        header = reth(va, rkey, len(data))
        if len(pieces) == 1:
            return self.request(sender, WRITE_ONLY, header + data, ack=ack)
        first = self.request(sender, WRITE_FIRST, header + pieces[0], last=False)
        for piece in pieces[1:-1]:
            self.request(sender, WRITE_MIDDLE, piece, last=False)
        self.request(sender, WRITE_LAST, pieces[-1], ack=ack)
        return first

    def lose(self, sender, packets=1):
        """The sender's next packets reach their receiver, but not the capture."""
        self.qp[sender].psn = self.qp[sender].psn + packets & 0xFFFFFF
        self.qp[self.other(sender)].msn += packets

    def ack(self, sender, psn=None, syndrome=ACK):
        """ACK (or NAK) from `sender` for the other side's packet with this PSN, by default the last
        one."""
        if psn is None:
            psn = self.qp[self.other(sender)].psn - 1
        return self.packet(sender, ACKNOWLEDGE, aeth(syndrome, self.qp[sender].msn), psn=psn)


def datagram(capture, source, destination, *, dest_qp, source_qp, qkey, psn, payload, vlan=None):
    """A UD SEND only over RoCEv2, outside any link."""
    header = bth(UD_SEND_ONLY, dest_qp=dest_qp, psn=psn, pad=-len(payload) % 4) + deth(
        qkey, source_qp
    )
    frame = rocev2_frame(
        source, destination, header + payload + bytes(-len(payload) % 4), vlan=vlan, sport=49200
    )
    return capture.add(frame)


def congestion_notification(capture, source, destination, *, dest_qp):
    """Congestion Notification Packet over RoCEv2 (annex A17.9.2): BECN set, 16 reserved bytes."""
    return capture.add(
        rocev2_frame(source, destination, bth(CNP, dest_qp=dest_qp, psn=0, becn=True) + bytes(16))
    )
