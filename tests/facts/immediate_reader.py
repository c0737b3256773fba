"""
What ANCK's kernel makes of a capture: its receiver, for each RDMA WRITE with immediate data. From
public source alone, not from the dissector: smc_cdc_rx_handler_rwwi(), smc_cdc_rx_handler() and
what they call in net/smc/smc_cdc.c, union smc_wr_imm_msg in smc_wr.h (both in a copy whose commit
is not known), struct smc_cdc_msg in smc_cdc.h at fdadb5e816a5, struct smcr_clc_msg_accept_confirm
and struct smc_clc_vendor_opt_ali in smc_clc.h at 3553d2613452: jackYoung0915/anolis-cloud-kernel.

Reads pcap files of Ethernet, IPv4, TCP and RoCEv2, with every frame whole.
"""

import struct
from dataclasses import dataclass, field

PCAP_HEADER, RECORD_HEADER = 24, 16
TCP, UDP, ROCE_PORT = 6, 17, 4791
BTH, RETH, IMMEDIATE, ICRC = 12, 16, 4, 4
# opcodes of RC packets
SEND_ONLY, ANNOUNCE_CREDITS, CDC_CREDITS = 4, 0x0A, 26
WRITES = {6: "first", 7: "middle", 8: "last", 9: "last", 10: "only", 11: "only"}
WITH_IMMEDIATE = (9, 11)
# struct smc_clc_msg_hdr, smcr_clc_msg_accept_confirm, smc_clc_first_contact_ext_v2x
EYE_CATCHER = "SMCR".encode("cp500")
ACCEPT, CONFIRM = 2, 3
QPN, TOKEN, SIZE, CREDITS, VENDOR_OPTIONS = slice(38, 41), slice(46, 50), 50, 51, 144
VALID, RWWI = 0x80, 0x20
CDC = 0xFE
# SMC_WR_OP_...
DATA, DATA_WITH_FLAGS, CTRL, DATA_CR, DATA_WITH_FLAGS_CR = 0, 1, 2, 6, 7


def bits(value, *widths):
    """The members of a big-endian bit field of 32 bits."""
    assert sum(widths) == 32
    found, low = [], 32
    for width in widths:
        low -= width
        found.append(value >> low & (1 << width) - 1)
    return found


class Message:
    """One word of immediate data. `step` and `credits` are None where its opcode has no such
    bits."""

    def __init__(self, word):
        self.token, self.opcode, _rest = bits(word, 8, 3, 21)
        self.step = self.credits = None
        self.flags = self.state = 0
        if self.opcode == DATA:  # struct smc_wr_imm_data_msg
            self.step = bits(word, 8, 3, 21)[2]
        elif self.opcode == DATA_WITH_FLAGS:
            flags, _reserved, self.step = bits(word, 8, 3, 3, 1, 17)[2:]
            self.flags = flags << 5  # the order in which struct smc_cdc_producer_flags has them
        elif self.opcode == CTRL:  # bytes from the lowest: csflags, pflags, opcode, token
            self.state, self.flags = word & 0xFF, word >> 8 & 0xFF
        elif self.opcode == DATA_CR:
            self.credits, self.step = bits(word, 8, 3, 8, 13)[2:]
        elif self.opcode == DATA_WITH_FLAGS_CR:
            flags, self.credits, self.step = bits(word, 8, 3, 3, 8, 10)[2:]
            self.flags = flags << 5

    @property
    def defined(self):
        return self.opcode in (DATA, DATA_WITH_FLAGS, CTRL, DATA_CR, DATA_WITH_FLAGS_CR)


@dataclass
class End:
    """A socket: its own element, and what it has received (local_rx_ctrl)."""

    qpn: int
    token: int
    size: int  # of its element
    credits: int  # init_credits
    rwwi: bool  # by its vendor options; None: a contact that is not the first
    peer: object = None
    prod: int = 0  # bytes that the peer has written, never wraps
    cons: int = 0  # bytes that the peer has said it consumed
    flags: int = 0
    state: int = 0
    data: bytes = b""


@dataclass
class Queue:
    """The packets to one queue pair."""

    psn: int = None  # that it expects
    write: bytes = b""  # the open WRITE's
    rwwi: bool = None
    credits: int = 0  # messages that its host still has space for
    limits: bool = False  # by CLC
    empty: int = None  # frame of the message that has used the last credit
    peer: object = None  # the queue of the other direction
    ends: dict = field(default_factory=dict)  # by token


class Reader:
    """
    `messages`: {frame: what the message says}, with the bytes announced and consumed so far, the
    free bytes that it leaves, and those that its sender has not heard of yet. `data`: {(queue pair,
    token): bytes}. `ignored`: frames of CDC messages, which such a kernel drops. `undefined`:
    frames whose immediate data names no opcode or no socket. `used_up`: {frame of the message that
    uses the last credit: frame of the message that announces more, None if there is none}.
    """

    def __init__(self, path):
        self.messages, self.data, self.ignored, self.undefined = {}, {}, [], []
        self.queues, self.accepts, self.used_up = {}, {}, {}
        content, at, number = path.read_bytes(), PCAP_HEADER, 0
        assert struct.unpack_from("<I", content)[0] in (0xA1B2C3D4, 0xA1B23C4D)
        while at < len(content):
            (length,) = struct.unpack_from("<I", content, at + 8)
            at += RECORD_HEADER
            number += 1
            self._frame(number, content[at : at + length])
            at += length
        for queue in self.queues.values():
            for end in queue.ends.values():
                self.data[end.qpn, end.token] = end.data

    def _frame(self, number, frame):
        if frame[12:14] != b"\x08\x00":
            return
        packet = frame[14:]
        packet = packet[: struct.unpack_from(">H", packet, 2)[0]]
        above = packet[(packet[0] & 15) * 4 :]
        if packet[9] == TCP:
            self._clc(above)
        elif packet[9] == UDP and struct.unpack_from(">H", above, 2)[0] == ROCE_PORT:
            self._roce(number, above[8:-ICRC])

    def _clc(self, segment):
        message = segment[(segment[12] >> 4) * 4 :]
        if message[:4] != EYE_CATCHER or message[4] not in (ACCEPT, CONFIRM):
            return
        first_contact = len(message) > VENDOR_OPTIONS
        options = message[VENDOR_OPTIONS] if first_contact else 0
        end = End(
            qpn=int.from_bytes(message[QPN], "big"),
            token=int.from_bytes(message[TOKEN], "big"),
            size=16384 << (message[SIZE] >> 4),
            credits=message[CREDITS],
            rwwi=options & VALID != 0 and options & RWWI != 0 if first_contact else None,
        )
        ports = frozenset(struct.unpack_from(">HH", segment))
        if message[4] == ACCEPT:
            self.accepts[ports] = end
            return
        server = self.accepts.pop(ports)
        server.peer, end.peer = end, server
        for each in (server, end):
            queue = self.queues.setdefault(each.qpn, Queue())
            queue.ends[each.token & 0xFF] = each
            if each.rwwi is not None:
                queue.rwwi = server.rwwi and end.rwwi
                queue.credits, queue.limits = each.credits, each.credits > 0
                queue.peer = self.queues.setdefault(each.peer.qpn, Queue())

    def _roce(self, number, packet):
        opcode = packet[0]
        padding = packet[1] >> 4 & 3
        queue = self.queues.setdefault(int.from_bytes(packet[5:8], "big"), Queue())
        if opcode not in WRITES and opcode != SEND_ONLY:
            return
        psn = int.from_bytes(packet[9:12], "big")
        if queue.psn is not None and (psn - queue.psn) & 0x800000:
            return  # the receiver has it already
        queue.psn = psn + 1 & 0xFFFFFF
        at, end = BTH, len(packet) - padding
        if opcode == SEND_ONLY:
            message = packet[BTH:]
            self._use_credit(number, queue)
            if message[0] == ANNOUNCE_CREDITS:
                self._announce(number, queue.peer, message[4])
            elif message[0] == CDC:
                self._announce(number, queue.peer, message[CDC_CREDITS])
            if packet[BTH] == CDC and queue.rwwi:
                self.ignored.append(number)
            return
        if WRITES[opcode] in ("first", "only"):
            at += RETH
            queue.write = b""
        if opcode not in WITH_IMMEDIATE:
            queue.write += packet[at:end]
            return
        (word,) = struct.unpack_from(">I", packet, at)
        self._use_credit(number, queue)
        self._announce(number, queue.peer, Message(word).credits or 0)
        queue.write += packet[at + IMMEDIATE : end]
        if queue.rwwi is not False:
            self._immediate(number, queue, Message(word))

    def _use_credit(self, number, queue):
        """smc_wr_tx_get_credit()"""
        queue.credits -= queue.limits
        if queue.limits and queue.credits == 0:
            self.used_up[number], queue.empty = None, number

    def _announce(self, number, queue, count):
        """smc_wr_tx_put_credits()"""
        if not queue or not count:
            return
        queue.credits += count
        if queue.empty is not None:
            self.used_up[queue.empty], queue.empty = number, None

    def _immediate(self, number, queue, message):
        """smc_cdc_rx_handler_rwwi(): the bytes count whatever the opcode is."""
        end = queue.ends.get(message.token)
        if not end:
            self.undefined.append(number)
            return
        end.prod += len(queue.write)
        end.data += queue.write
        if not message.defined:
            self.undefined.append(number)
            return
        end.cons += message.step or 0
        end.flags, end.state = message.flags, message.state
        peer = end.peer
        self.messages[number] = {
            "to": (end.qpn, end.token),
            "opcode": message.opcode,
            "step": message.step,
            "credits": message.credits,
            "flags": end.flags,
            "state": end.state,
            "announced": end.prod,
            "consumed": end.cons,
            "offered": peer.size - (peer.prod - end.cons),
            "unread": end.prod - peer.cons,
        }
