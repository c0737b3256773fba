"""
Reads the tap of ANCK from the bytes of a capture. From public source alone, not from the dissector
nor from the builder of captures: smc_dump_fill_skb_header(), smc_dump_raw_data(),
smc_dump_cdc_msg() and smc_dump_cdc_msg_rwwi() in net/smc/smc_stats.c (a copy whose commit is not
known); union smc_cdc_cursor, struct smc_cdc_msg, union smcd_cdc_cursor and struct smcd_cdc_msg in
smc_cdc.h at fdadb5e816a5; smcd_cdc_rx_tsklet() and smcd_cdc_msg_send() in smc_cdc.c (a copy whose
commit is not known), all of jackYoung0915/anolis-cloud-kernel.

The source does not have the definition of struct smc_dumphdr. What follows from it is an argument:
the length of the header, and which of its types is a message. Hosts are little-endian.
"""

import struct
from dataclasses import dataclass, field

MAGIC, SMCR, SMCD, MESSAGE_TYPE = 0xCFD3E7A5, 1, 2, 0xFE
PCAP_HEADER, RECORD_HEADER, ETHERNET, IPV4, UDP = 24, 16, 14, 20, 8
LENGTH_OF = {SMCR: 44, SMCD: 32}  # of a message


@dataclass
class Message:
    """A CDC message. Of SMC-D it has neither number nor token."""

    mode: int
    prod: tuple  # wrap and count
    cons: tuple
    flags: int
    state: int
    is_whole: bool  # it begins as the kernel sends it; a received one of SMC-D does not
    seq: int = None
    token: int = None
    credits: int = None

    @classmethod
    def of(cls, mode, content):
        if mode == SMCR:
            kind, length, seq, token = struct.unpack_from(">BBHI", content)
            _, *prod, _, wrap, count = struct.unpack_from(">HHIHHI", content, 8)
            flags, state, granted = content[24:27]
            return cls(
                mode,
                tuple(prod),
                (wrap, count),
                flags,
                state,
                (kind, length) == (MESSAGE_TYPE, 44),
                seq,
                token,
                granted,
            )
        wrap, count, _, _, other_wrap, other_count, flags, state = struct.unpack_from(
            "<HIBBHIBB", content, 8
        )  # the flags that count are those of the consumer cursor
        return cls(
            mode,
            (wrap, count),
            (other_wrap, other_count),
            flags,
            state,
            content[:8] == bytes([MESSAGE_TYPE]) + bytes(7),
        )


@dataclass
class Direction:
    """What one end sends: bytes, messages, and the bytes since the last message."""

    data: bytes = b""
    frames: list = field(default_factory=list)
    since: int = 0
    last: tuple = (0, 0)


class Reader:
    """
    `messages`: {frame: Message}. `ways`: {(address, port, address, port): Direction}. `lacking`:
    {frame of a message: bytes that it announces beyond those that the tap has shown}. `odd`: frames
    with the magic number and a wrong length. `room`: size of the receiver's buffer for data.
    """

    def __init__(self, path, *, header, message, room):
        self.header, self.kind, self.room = header, message, room
        self.messages, self.ways, self.lacking, self.odd = {}, {}, {}, []
        content, at, number = path.read_bytes(), PCAP_HEADER, 0
        while at < len(content):
            captured = struct.unpack_from("<I", content, at + 8)[0]
            at += RECORD_HEADER
            number += 1
            self._frame(number, content[at : at + captured])
            at += captured

    def _frame(self, number, frame):
        if frame[12:14] != b"\x08\x00" or frame[ETHERNET + 9] != 17:
            return
        ends = struct.unpack_from(">4s4sHH", frame, ETHERNET + 12)
        udp = frame[ETHERNET + IPV4 :]
        packet = udp[UDP:]
        if len(packet) < 12 or struct.unpack_from(">I", packet)[0] != MAGIC:
            return
        _version, _smc_version, mode, kind, length = struct.unpack_from(">BBBBH", packet, 4)
        if length != struct.unpack_from(">H", udp, 4)[0] - UDP:
            self.odd.append(number)
        way = self.ways.setdefault((ends[0], ends[2], ends[1], ends[3]), Direction())
        if kind == self.kind:
            self._message(number, way, Message.of(mode, packet[self.header :]))
        else:
            way.data += packet[self.header :]
            way.since += len(packet) - self.header
            way.frames.append(number)

    def _message(self, number, way, message):
        """smc_curs_diff() gives the bytes that the message announces."""
        self.messages[number] = message
        wrap, count = message.prod
        announced = count - way.last[1] + (self.room if wrap != way.last[0] else 0)
        if announced > way.since:
            self.lacking[number] = announced - way.since
        way.last, way.since = message.prod, 0
