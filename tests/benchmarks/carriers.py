"""
Large captures, fast: frames from bytes, of TCP connections and of SMC-R connections over RoCEv2.

A connection is opened, sends, reads and is closed; Tcp and Smcr do it alike, so that a scene can
have the same bytes over either. The checksums of IP and TCP are 0, as nothing of this looks at
them; every other byte is what two Linux systems would send.
"""

import struct
import sys
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "synth"))

from smcsynth import clc, llc, roce  # noqa: E402
from smcsynth.cdc import cdc  # noqa: E402
from smcsynth.net import SMC_OPTION  # noqa: E402
from smcsynth.octets import peer_id  # noqa: E402

CLIENT, SERVER = 0, 1
ETHERNET = 14  # bytes of its header
TCP, UDP = 6, 17
SYN, SYN_ACK, ACK, PUSH, FIN = 0x02, 0x12, 0x10, 0x18, 0x11
MSS_OPTION = bytes.fromhex("020405b4")
PORTS = 28_000  # that clients use
UNKNOWN = 12345  # a port of servers that no dissector has
TICK = 10  # microseconds between frames
MTU_CODE = {1024: 3, 4096: 5}


@cache
def ip_header(source, target, protocol, length):
    """Ethernet and IPv4."""
    return b"".join(
        [
            b"\x02\0" + target,
            b"\x02\0" + source,
            b"\x08\0",
            struct.pack(
                ">BBHHHBBH4s4s", 0x45, 0, 20 + length, 0, 0x4000, 64, protocol, 0, source, target
            ),
        ]
    )


class Pcap:
    """A pcap file that is written frame by frame."""

    def __init__(self, file, tick=None):
        """`tick`: microseconds from one frame to the next"""
        self.write, self.frames, self.tick = file.write, 0, tick or TICK
        self.connections = 0  # of TCP, so far
        self.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))

    def ip(self, source, target, protocol, payload):
        frame = ip_header(source, target, protocol, len(payload)) + payload
        seconds, ticks = divmod(self.frames, 1_000_000 // self.tick)
        self.write(
            struct.pack("<IIII", 1_700_000_000 + seconds, ticks * self.tick, len(frame), len(frame))
            + frame
        )
        self.frames += 1


class Link:
    """Two hosts and a pair of connected queue pairs; one link is a link group here."""

    def __init__(self, pcap, number, mtu=1024):
        self.pcap, self.number, self.mtu = pcap, number, mtu
        host = struct.pack(">H", number)
        self.address = (b"\x0a" + host + b"\x01", b"\x0a" + host + b"\x02")
        self.gid = tuple(".".join(map(str, address)) for address in self.address)
        self.mac = tuple("02:00:" + address.hex(":") for address in self.address)
        self.qpn = (0x100 + number, 0x8000 + number)
        self.first_psn = (number, 2 * number)
        self.psn, self.msn = list(self.first_psn), [0, 0]

    def packet(self, sender, opcode, rest, psn, ask=False):
        pad = -len(rest) % 4
        ib = (
            struct.pack(
                ">BBHII",
                opcode,
                pad << 4,
                0xFFFF,
                self.qpn[1 - sender],
                psn & 0xFFFFFF | (0x80000000 if ask else 0),
            )
            + rest
            + bytes(pad)
        )
        udp = struct.pack(">HHHH", 49152, roce.ROCEV2_PORT, 8 + len(ib) + 4, 0)
        way = self.address[sender], self.address[1 - sender], UDP
        icrc = roce.icrc_ipv4(ip_header(*way, len(udp + ib) + 4)[ETHERNET:] + udp, ib)
        self.pcap.ip(*way, udp + ib + icrc)

    def request(self, sender, opcode, rest, ask=False):
        self.packet(sender, opcode, rest, self.psn[sender], ask)
        self.psn[sender] = self.psn[sender] + 1 & 0xFFFFFF
        self.msn[1 - sender] += ask

    def acknowledge(self, sender):
        """Of all that `sender` has received."""
        self.packet(
            sender,
            roce.ACKNOWLEDGE,
            roce.aeth(roce.ACK, self.msn[sender]),
            self.psn[1 - sender] - 1,
        )

    def send(self, sender, message):
        """A message in one SEND, and the ACK."""
        self.request(sender, roce.SEND_ONLY, message, ask=True)
        self.acknowledge(1 - sender)

    def write(self, sender, va, rkey, data):
        """RDMA WRITE, in as many packets as the MTU needs."""
        head, mtu = roce.reth(va, rkey, len(data)), self.mtu
        if len(data) <= mtu:
            self.request(sender, roce.WRITE_ONLY, head + data)
            return
        self.request(sender, roce.WRITE_FIRST, head + data[:mtu])
        last = (len(data) - 1) // mtu * mtu
        for start in range(mtu, last, mtu):
            self.request(sender, roce.WRITE_MIDDLE, data[start : start + mtu])
        self.request(sender, roce.WRITE_LAST, data[last:])

    def confirm(self):
        for sender in (SERVER, CLIENT):
            self.send(
                sender,
                llc.llc_confirm_link(
                    roce_mac=self.mac[sender],
                    roce_gid=self.gid[sender],
                    qpn=self.qpn[sender],
                    link=1,
                    user_id=1,
                    reply=sender == CLIENT,
                ),
            )


class Tcp:
    """A connection over plain TCP between the hosts of a link."""

    options = MSS_OPTION

    def __init__(self, link, number, *, port=UNKNOWN, mss=1024, acks=4):
        self.link, self.number = link, number
        self.ports = (32768 + number % PORTS, port)
        self.mss, self.acks = mss, acks
        # with equal numbers, one of two connections would be a copy behind a NAT
        link.pcap.connections += 1
        isn = 0x1000 * link.pcap.connections & 0xFFFFFFFF
        self.seq = [isn, isn + 0x800]

    def segment(self, sender, flags, data=b""):
        options = self.options if flags & SYN else b""
        header = struct.pack(
            ">HHIIBBHHH",
            self.ports[sender],
            self.ports[1 - sender],
            self.seq[sender],
            self.seq[1 - sender] if flags & ACK else 0,
            5 + len(options) // 4 << 4,
            flags,
            65535,
            0,
            0,
        )
        self.seq[sender] = (
            self.seq[sender] + len(data) + bool(flags & (SYN | FIN & ~ACK)) & 0xFFFFFFFF
        )
        link = self.link
        link.pcap.ip(link.address[sender], link.address[1 - sender], TCP, header + options + data)

    def open(self):
        for sender, flags in ((CLIENT, SYN), (SERVER, SYN_ACK), (CLIENT, ACK)):
            self.segment(sender, flags)

    def send(self, sender, data):
        """In segments, with `acks` ACKs on the way."""
        segments = -(-len(data) // self.mss)
        every = -(-segments // self.acks)
        for number in range(1, segments + 1):
            last = number == segments
            self.segment(
                sender, PUSH if last else ACK, data[(number - 1) * self.mss : number * self.mss]
            )
            if last or number % every == 0:
                self.segment(1 - sender, ACK)

    def read(self, reader):
        """TCP has told so already."""

    def close(self):
        for sender, flags in ((CLIENT, FIN), (SERVER, FIN), (CLIENT, ACK)):
            self.segment(sender, flags)


class Smcr(Tcp):
    """A connection over SMC-R. Positions in the two byte streams give cursors, with their wraps."""

    options = MSS_OPTION + SMC_OPTION

    def __init__(self, link, number, *, port=UNKNOWN, size_code=2, first=False, rmb=None):
        """`rmb`: number of the RMBs of an earlier connection, which this one uses; None: the
        connection has RMBs of its own, with its own number."""
        super().__init__(link, number, port=port)
        self.first, self.size_code, self.size = first, size_code, 16384 << size_code
        self.rmb, self.has_new_rmb = (number, True) if rmb is None else (rmb, False)
        self.sent, self.consumed, self.cdc_seq = [0, 0], [0, 0], [0, 0]

    def rkey(self, side):
        return 0x1000 * (1 + self.rmb) + side

    def va(self, side):
        return 0xFFFF888000000000 + (self.rmb << 23) + (side << 42)

    def token(self, side):
        return 1 + 2 * self.number + side

    def confirm_rkey(self, sender):
        fields = {"rkey": self.rkey(sender), "va": self.va(sender), "others": ()}
        self.link.send(sender, llc.llc_confirm_rkey(**fields))
        self.link.send(1 - sender, llc.llc_confirm_rkey(**fields, reply=True))

    def open(self):
        super().open()
        link = self.link
        peers = [peer_id(1, mac) for mac in link.mac]
        self.segment(
            CLIENT,
            PUSH,
            clc.clc_proposal(
                peer=peers[CLIENT],
                roce_gid=link.gid[CLIENT],
                roce_mac=link.mac[CLIENT],
                ip_area=clc.prefix_area(subnet=link.gid[CLIENT], mask_bits=24),
            ),
        )
        for sender, encode in ((SERVER, clc.clc_accept), (CLIENT, clc.clc_confirm)):
            if not self.first and self.has_new_rmb:
                self.confirm_rkey(sender)
            self.segment(
                sender,
                PUSH,
                encode(
                    first_contact=self.first,
                    peer=peers[sender],
                    roce_gid=link.gid[sender],
                    roce_mac=link.mac[sender],
                    qpn=link.qpn[sender],
                    rkey=self.rkey(sender),
                    index=1,
                    token=self.token(sender),
                    size_code=self.size_code,
                    mtu_code=MTU_CODE[link.mtu],
                    va=self.va(sender),
                    psn=link.first_psn[sender],
                ),
            )
        if self.first:
            link.confirm()

    def cursor(self, position):
        return position // self.size & 0xFFFF, position % self.size

    def tell(self, sender, flags=()):
        """A CDC message and its ACK."""
        self.cdc_seq[sender] = self.cdc_seq[sender] + 1 & 0xFFFF
        self.consumed[1 - sender] = self.sent[1 - sender]
        self.link.send(
            sender,
            cdc(
                seq=self.cdc_seq[sender],
                token=self.token(1 - sender),
                flags=flags,
                prod=self.cursor(self.sent[sender]),
                cons=self.cursor(self.consumed[1 - sender]),
            ),
        )

    def send(self, sender, data):
        """RDMA WRITEs, two where the data go over the end of the element, and the CDC message that
        announces them. What the sender has received, it has read by now."""
        receiver = 1 - sender
        assert self.sent[sender] + len(data) <= self.consumed[sender] + self.size
        offset = self.sent[sender] % self.size
        before_end = self.size - offset
        for piece in (data[:before_end], data[before_end:]):
            if piece:
                self.link.write(sender, self.va(receiver) + offset, self.rkey(receiver), piece)
                offset = 0
        self.sent[sender] += len(data)
        self.tell(sender)

    def read(self, reader):
        """The reader tells how far it has read."""
        self.tell(reader)

    def close(self):
        for sender in (CLIENT, SERVER):
            self.tell(sender, flags=("closed",))
        super().close()
