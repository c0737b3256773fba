"""
Reads the immediate data of ANCK's RDMA WRITEs from the bytes of a capture, and counts what they say
of each connection: an own reader, of plain struct. From ANCK's net/smc/smc_wr.h (union
smc_wr_imm_msg) and smc_cdc.c (smc_cdc_rx_handler_rwwi()), in a copy whose commit is not known.
Needs captures of Ethernet and IPv4 in which nothing is lost.
"""

import struct

FIRST, MIDDLE, LAST, ONLY, LAST_IMM, ONLY_IMM = 6, 7, 8, 10, 9, 11
STEPS = {0: 0x1FFFFF, 1: 0x1FFFF, 6: 0x1FFF, 7: 0x3FF}
SMC = bytes.fromhex("e2d4c3d9")  # "SMCR" in EBCDIC


def frames(path):
    """(number, bytes) of each frame of a pcap file."""
    data, at = path.read_bytes(), 24
    order = "<" if data[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    number = 0
    while at < len(data):
        (length,) = struct.unpack_from(order + "I", data, at + 8)
        number += 1
        yield number, data[at + 16 : at + 16 + length]
        at += 16 + length


class Message:
    """One word of immediate data, without its owner."""

    def __init__(self, word):
        self.token, self.opcode, low = word >> 24, word >> 21 & 7, word & 0x1FFFFF
        self.step = low & STEPS.get(self.opcode, 0)
        self.flags = self.state = 0
        self.credits = {6: low >> 13, 7: low >> 10}.get(self.opcode, 0) & 0xFF
        if self.opcode in (1, 7):
            self.flags = low >> 18 << 5
        if self.opcode == 2:
            self.flags, self.state = low >> 8 & 0xFF, low & 0xFF

    @property
    def defined(self):
        return self.opcode == 2 or self.opcode in STEPS


class Reader:
    """
    Connections by the queue pair and the token of the receiver. `messages`: {frame: what the
    message says}, with the bytes announced and consumed so far, and the free bytes that it leaves.
    """

    def __init__(self, path):
        self.ends, self.open, self.messages, self.data = {}, {}, {}, {}
        waiting = {}  # by ports of the server's end: its Accept
        for number, frame in frames(path):
            if frame[12:14] != b"\x08\x00":
                continue
            ip = frame[14:]
            rest = ip[(ip[0] & 15) * 4 : struct.unpack_from(">H", ip, 2)[0]]
            if ip[9] == 6:
                self._tcp(rest, waiting)
            elif struct.unpack_from(">H", rest, 2)[0] == 4791:
                self._roce(number, rest[8:-4])

    def _tcp(self, segment, waiting):
        """Accept (2) and Confirm (3) name queue pair, token and size of an element."""
        clc = segment[(segment[12] >> 4) * 4 :]
        ports = frozenset(struct.unpack_from(">HH", segment))
        if clc[:4] != SMC or clc[4] not in (2, 3):
            return
        end = {
            "qpn": int.from_bytes(clc[38:41], "big"),
            "token": clc[49],
            "size": 16384 << (clc[50] >> 4),
            "written": 0,
            "consumed": 0,
        }
        if clc[4] == 2:
            waiting[ports] = end
            return
        server = waiting.pop(ports)
        server["peer"], end["peer"] = end, server
        for each in (server, end):
            self.ends[each["qpn"], each["token"]] = each

    def _roce(self, number, packet):
        opcode, pad = packet[0], packet[1] >> 4 & 3
        qpn = int.from_bytes(packet[5:8], "big")
        if opcode not in (FIRST, MIDDLE, LAST, ONLY, LAST_IMM, ONLY_IMM):
            return
        at = 12 + 16 * (opcode in (FIRST, ONLY, ONLY_IMM))
        word = None
        if opcode in (LAST_IMM, ONLY_IMM):
            (word,) = struct.unpack_from(">I", packet, at)
            at += 4
        data = packet[at : len(packet) - pad]
        data = (b"" if opcode in (FIRST, ONLY, ONLY_IMM) else self.open.pop(qpn, b"")) + data
        if word is None:
            self.open[qpn] = data
        else:
            self._message(number, qpn, word, data)

    def _message(self, number, qpn, word, data):
        message = Message(word)
        reader = self.ends.get((qpn, message.token))
        if not reader or not message.defined:
            return
        writer = reader["peer"]  # of the data; it reads the other direction
        reader["written"] += len(data)
        writer["consumed"] += message.step
        self.data[qpn, message.token] = self.data.get((qpn, message.token), b"") + data
        self.messages[number] = {
            "opcode": message.opcode,
            "step": message.step,
            "credits": message.credits,
            "flags": message.flags,
            "state": message.state,
            "announced": reader["written"],
            "consumed": writer["consumed"],
            "offered": writer["size"] - (writer["written"] - writer["consumed"]),
            "unread": reader["written"] - reader["consumed"],
        }
