"""
The tap of ANCK: UDP packets that the kernel makes of CDC messages and of data, written from
smc_dump_fill_skb_header(), smc_dump_raw_data() and smc_dump_cdc_msg() of net/smc/smc_stats.c, and
struct smcd_cdc_msg of net/smc/smc_cdc.h (jackYoung0915/anolis-cloud-kernel@fdadb5e8).

The definition of struct smc_dumphdr is in no stored source. How many bytes are reserved, and the
values of the types, are chosen here; a scene may choose others.
"""

import struct
from dataclasses import dataclass, field

from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from .cdc import PRODUCER_FLAGS, STATE_FLAGS, cdc

MAGIC = 0xCFD3E7A5
SMC_R, SMC_D = 1, 2
DEVICE = "02:00:00:00:dd:01"  # both addresses of a frame are those of the dump device
SMCD_HEADER = 32  # the kernel keeps CDC messages of SMC-D at the start of the DMB


@dataclass
class Format:
    """What the source does not tell."""

    reserved: int = 6
    version: int = 1
    message: int = 0
    data: int = 1


def dump_header(form, mode, kind, size, *, smc_version=2, length=None):
    """struct smc_dumphdr"""
    total = 10 + form.reserved + size
    return struct.pack(
        ">IBBBBH",
        MAGIC,
        form.version,
        smc_version,
        mode,
        kind,
        total if length is None else length,
    ) + bytes(form.reserved)


def smcd_cdc(prod, cons, flags=(), *, unset=None):
    """struct smcd_cdc_msg of a little-endian host; `unset`: what a received message has where the
    kernel sets nothing."""
    producer = sum(PRODUCER_FLAGS.get(name, 0) for name in flags)
    state = sum(STATE_FLAGS.get(name, 0) for name in flags)
    head, tail = (b"\xfe" + bytes(7), bytes(8)) if unset is None else (unset, unset)
    return (
        head
        + struct.pack("<HIBB", *prod, 0, 0)
        + struct.pack("<HIBB", *cons, producer, state)
        + tail
    )


@dataclass
class Tap:
    """A connection as the tap of one host shows it, or of both. `room` is the size of each element
    without the header; `own` is the host of the tap, None for both."""

    capture: object
    hosts: dict
    ports: dict
    mode: int = SMC_D
    room: int = 65536 - SMCD_HEADER
    form: Format = field(default_factory=Format)
    own: tuple = ("client",)
    immediate: bool = False  # the tap has made the message of a WRITE with immediate data
    garbage: bytes = None
    in_turn: bool = False  # of both: data and message of the sender's kernel, then the receiver's
    prod: dict = field(default_factory=lambda: {"client": (0, 0), "server": (0, 0)})
    cons: dict = field(default_factory=lambda: {"client": (0, 0), "server": (0, 0)})
    seq: dict = field(default_factory=lambda: {"client": 0, "server": 0})
    sndbuf: dict = field(default_factory=lambda: {"client": 0, "server": 0})

    def packet(self, sender, kind, content, *, snap=None, **header):
        """One UDP packet; `snap` bytes of its content are captured."""
        receiver = "server" if sender == "client" else "client"
        payload = dump_header(self.form, self.mode, kind, len(content), **header) + content
        frame = (
            Ether(src=DEVICE, dst=DEVICE)
            / IP(src=self.hosts[sender], dst=self.hosts[receiver], id=0, ttl=64, chksum=0)
            / UDP(sport=self.ports[sender], dport=self.ports[receiver], chksum=0)
        )
        number = self.capture.add(bytes(frame / payload))
        if snap is not None:
            self.capture.captured[number] = 14 + 20 + 8 + 10 + self.form.reserved + snap
        return number

    def seen_by(self, sender):
        """Whose taps show what `sender` sends: the sender's first."""
        receiver = "server" if sender == "client" else "client"
        return [role for role in (sender, receiver) if role in self.own]

    def _message(self, sender, role, flags):
        """The copy of a CDC message that the kernel of `role` makes."""
        prod, cons = self.prod[sender], self.cons[sender]
        if self.mode == SMC_D:
            message = smcd_cdc(prod, cons, flags, unset=None if role == sender else self.garbage)
        else:
            message = cdc(
                seq=0 if self.immediate else self.seq[sender],
                token={"client": 5, "server": 9}[sender],
                prod=prod,
                cons=cons,
                flags=flags,
            )
        self.packet(sender, self.form.message, message)

    def cdc(self, sender, flags=()):
        """A CDC message with the present cursors."""
        self.seq[sender] = (self.seq[sender] + 1) & 0xFFFF
        for role in self.seen_by(sender):
            self._message(sender, role, flags)

    def _pieces(self, sender, role, data):
        """Data, split where the buffer ends: the send buffer, or the element of the receiver."""
        begin = self.sndbuf[sender] if role == sender else self.prod[sender][1]
        end = self.room - begin % self.room
        return [piece for piece in (data[:end], data[end:]) if piece]

    def _advance(self, sender, data):
        self.sndbuf[sender] += len(data)
        wrap, count = self.prod[sender]
        count += len(data)
        self.prod[sender] = ((wrap + count // self.room) & 0xFFFF, count % self.room)

    def raw(self, sender, data):
        for role in self.seen_by(sender):
            for piece in self._pieces(sender, role, data):
                self.packet(sender, self.form.data, piece)
        self._advance(sender, data)

    def _send_in_turn(self, sender, data, flags):
        pieces = {role: self._pieces(sender, role, data) for role in self.seen_by(sender)}
        self._advance(sender, data)
        self.seq[sender] = (self.seq[sender] + 1) & 0xFFFF
        for role in self.seen_by(sender):
            for piece in pieces[role]:
                self.packet(sender, self.form.data, piece)
            self._message(sender, role, flags)

    def send(self, sender, data, flags=()):
        """Data, the message that announces it, and the peer reads it."""
        receiver = "server" if sender == "client" else "client"
        if self.in_turn:
            self._send_in_turn(sender, data, flags)
        else:
            self.raw(sender, data)
            self.cdc(sender, flags)
        self.cons[receiver] = self.prod[sender]

    def close(self, first="client"):
        """Both ends close."""
        second = "server" if first == "client" else "client"
        self.cdc(first, ("sending_done", "closed"))
        self.cdc(second, ("sending_done", "closed"))
