"""
Captures of the same kinds as those after public bug reports, made otherwise: IPv6, VLANs, tunnels,
RoCEv1, timers of other adapters, no IP identification, other partition keys. Each function yields
frames with their times.
"""

import random
import struct

from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether
from scapy.layers.vxlan import VXLAN
from scapy.packet import Raw

WRITE, ACK, CNP = 10, 17, 129
READ, READ_FIRST, READ_MIDDLE, READ_LAST, READ_ONLY, ATOMIC, ATOMIC_ACK = 12, 13, 14, 15, 16, 20, 18
DATAGRAM = 0x64
TO, FROM, OTHER_TO, OTHER_FROM = 0x202, 0x111, 0x222, 0x112  # queue pairs of the two hosts
SEQUENCE, RNR, ACKED = 0x60, 0x2E, 0x1F  # syndromes
RETH = struct.pack(">QII", 0x1000, 7, 64)
NOT_ECT, ECT, CE = 0, 2, 3
BEGIN = 1700000000


def ether():
    return Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")


class Path:
    """How packets look on the way between host 1, or another one, and host 2."""

    def __init__(self, version=4, around="", sport=50000, p_key=0xFFFF, vni=100, host=1):
        self.version, self.around, self.sport, self.p_key = version, around, sport, p_key
        self.vni, self.host = vni, host

    def ip(self, source, target, traffic_class, hop_limit):
        if self.version == 6:
            ends = {"src": f"2001:db8::{source}", "dst": f"2001:db8::{target}"}
            return IPv6(**ends, tc=traffic_class, hlim=hop_limit)
        ends = {"src": f"192.0.2.{source}", "dst": f"192.0.2.{target}"}
        return IP(**ends, tos=traffic_class, ttl=hop_limit, id=0, flags="DF")

    @staticmethod
    def after_grh(transport, ends):
        """The GRH of a packet between two hosts, whose GIDs are IPv4 addresses, and the packet."""
        gids = [bytes(10) + b"\xff\xff" + bytes([192, 0, 2, number]) for number in ends]
        return struct.pack(">IHBB", 6 << 28, len(transport), 27, 64) + b"".join(gids) + transport

    def packet(self, time, opcode, qpn, psn, *, back=False, syndrome=ACKED, **of_ip):
        """A packet to host 2, or with `back` from host 2."""
        ends = (2, self.host) if back else (self.host, 2)
        traffic_class, hop_limit = of_ip.get("traffic_class", ECT), of_ip.get("hop_limit", 64)
        bth = struct.pack(">BBHII", opcode, 0, self.p_key, qpn, 1 << 31 | psn)
        aeth = bytes([syndrome, 0, 0, 1])
        rest = {
            WRITE: RETH + bytes(64),
            ACK: aeth,
            CNP: bytes(16),
            READ: RETH[:12] + struct.pack(">I", of_ip.pop("length", 64)),
            READ_MIDDLE: bytes(1024),
            ATOMIC: bytes(28),
            ATOMIC_ACK: aeth + bytes(8),
            DATAGRAM: struct.pack(">II", 7, FROM) + bytes(64),
        }.get(opcode, aeth + bytes(64 if opcode == READ_ONLY else 1024))
        if self.around == "rocev1":
            packet = ether() / Raw(self.after_grh(bth + rest + bytes(4), ends))
            packet.type, packet.time = 0x8915, BEGIN + time
            return packet
        packet = (
            self.ip(*ends, traffic_class, hop_limit)
            / UDP(sport=self.sport, dport=4791)
            / Raw(bth + rest + bytes(4))
        )
        if self.around == "vlan":
            packet = ether() / Dot1Q(vlan=7, prio=3) / packet
        elif self.around == "vxlan":
            outer = IP(src="198.51.100.1", dst="198.51.100.2", tos=of_ip.get("outer", ECT))
            packet = (
                ether()
                / outer
                / UDP(sport=5555, dport=4789)
                / VXLAN(vni=self.vni)
                / ether()
                / packet
            )
        else:
            packet = ether() / packet
        packet.time = BEGIN + time
        return packet

    def exchange(self, time, psn, late=5e-6, **of_ip):
        yield self.packet(time, WRITE, TO, psn, **of_ip)
        yield self.packet(time + late, ACK, FROM, psn, back=True)


def silent(path, interval, tries=8):
    """One queue pair is never answered, and another one always."""
    for number in range(tries):
        yield path.packet(0.001 + number * interval, WRITE, TO, 100)
    for number in range(40):
        time = number * interval * tries / 40
        yield path.packet(time, WRITE, OTHER_TO, 500 + number)
        yield path.packet(time + 1e-4, ACK, OTHER_FROM, 500 + number, back=True)


def lost_alone(path, lost=(7, 20, 33)):
    """Packets are lost before the capture point, and each is retransmitted alone."""
    for psn in range(60):
        time = psn * 1e-4
        if psn not in lost:
            yield from path.exchange(time, psn) if psn - 1 not in lost else [
                path.packet(time, WRITE, TO, psn)
            ]
        if psn - 1 in lost:
            nak = {"back": True, "syndrome": SEQUENCE}
            yield path.packet(time + 2e-6, ACK, FROM, psn - 1, **nak)
            yield path.packet(time + 3e-5, WRITE, TO, psn - 1)
            yield path.packet(time + 4e-5, ACK, FROM, psn, back=True)


def lost_and_all_again(path, near_receiver, lost=(5, 25, 40), window=8):
    """Packets are lost before or after the capture point, and the sender goes back."""
    again = {psn + ahead for psn in lost for ahead in range(1, window)}
    for psn in range(60):
        time = psn * 1e-3
        if psn not in lost:
            yield from path.exchange(time, psn) if psn not in again else ()
            continue
        for ahead in range(near_receiver, window):
            yield path.packet(time + ahead * 1e-6, WRITE, TO, psn + ahead)
        yield path.packet(time + 2e-5, ACK, FROM, psn, back=True, syndrome=SEQUENCE)
        for ahead in range(window):
            yield path.packet(time + (60 + ahead) * 1e-6, WRITE, TO, psn + ahead)
        yield path.packet(time + 2e-4, ACK, FROM, psn + window - 1, back=True)


def not_ready(path, tries):
    """The receiver has no buffer for a request; another queue pair has."""
    for number in range(tries):
        time = 0.001 + number * 0.0013
        yield path.packet(time, WRITE, TO, 1)
        yield path.packet(time + 1e-5, ACK, FROM, 1, back=True, syndrome=RNR)
    for number in range(30):
        time = 0.05 + number * 0.01
        yield path.packet(time, WRITE, OTHER_TO, number)
        yield path.packet(time + 1e-5, ACK, OTHER_FROM, number, back=True)


def marked(path, outer, inner=ECT):
    for psn in range(40):
        mark = CE if psn % 2 else ECT
        marks = {"outer": mark, "traffic_class": inner} if outer else {"traffic_class": mark}
        yield from path.exchange(psn * 1e-4, psn, **marks)


def twice(path, delay, hop_limit, held_up=0.0):
    """Each packet at two capture points, and some copies are held up."""
    dice = random.Random(5)
    for psn in range(60):
        ends = ((WRITE, TO, False), (ACK, FROM, True))
        for number, (opcode, qpn, back) in enumerate(ends):
            time = psn * 2e-4 + number * 5e-5
            late = held_up if psn > 12 and dice.random() < 0.2 else 0.0
            yield path.packet(time, opcode, qpn, psn, back=back)
            time += delay + late
            yield path.packet(time, opcode, qpn, psn, back=back, hop_limit=hop_limit)


def healthy(path):
    for psn in range(10):
        yield from path.exchange(psn * 1e-4, psn)


def never_answered(path):
    """A READ is sent eight times, without an answer, and another queue pair is answered."""
    for psn in range(3):
        yield path.packet(psn * 1e-3, READ, TO, psn)
        yield path.packet(psn * 1e-3 + 1e-5, READ_ONLY, FROM, psn, back=True)
    for number in range(8):
        yield path.packet(0.01 + number * 0.067, READ, TO, 3, length=4096)
    path.sport += 1
    for psn in range(80):
        yield path.packet(psn * 0.02, WRITE, OTHER_TO, psn)
        yield path.packet(psn * 0.02 + 1e-5, ACK, OTHER_FROM, psn, back=True)


def responses_lost(path):
    """READs of four packets: three times one response is missing, and the requester asks for it and
    all after it, within 100 µs; once all are missing, and it asks after its timer."""
    kinds = (READ_FIRST, READ_MIDDLE, READ_MIDDLE, READ_LAST)
    for number in range(40):
        psn, time = 4 * number, number * 2e-3 + (0.1 if number > 20 else 0)
        missing = {5: (1,), 10: (1,), 15: (1,), 20: range(4)}.get(number, ())
        yield path.packet(time, READ, TO, psn, length=4096)
        for at in range(4):
            if at not in missing:
                late = time + (at + 1) * 1e-5
                yield path.packet(late, kinds[at], FROM, psn + at, back=True)
        if not missing:
            continue
        first, time = missing[0], time + (6e-5 if len(missing) == 1 else 0.07)
        yield path.packet(time, READ, TO, psn + first, length=1024 * (4 - first))
        for at in range(first, 4):
            kind = READ_FIRST if at == first else kinds[at]
            late = time + (at + 1 - first) * 1e-5
            yield path.packet(late, kind, FROM, psn + at, back=True)


def atomics(path):
    """The answer to one atomic is missing, that to the next one comes, and both are sent again."""
    for psn in range(0, 40, 2):
        time, again = psn * 1e-3, psn == 20
        yield path.packet(time, ATOMIC, TO, psn)
        yield path.packet(time + 1e-6, ATOMIC, TO, psn + 1)
        for number in (1,) if again else (0, 1):
            yield path.packet(
                time + 1e-5 + number * 1e-6, ATOMIC_ACK, FROM, psn + number, back=True
            )
        for number in range(2 * again):
            yield path.packet(time + 3e-4 + number * 1e-6, ATOMIC, TO, psn + number)
            yield path.packet(
                time + 4e-4 + number * 1e-6, ATOMIC_ACK, FROM, psn + number, back=True
            )


def one_at_a_time(path):
    """One request is under way; five are sent again after the timer."""
    time = 0.0
    for psn in range(50):
        for number in range(2 if psn % 10 == 5 else 1):
            time += number * 0.067
            yield path.packet(time, WRITE, TO, psn)
        yield path.packet(time + 1e-5, ACK, FROM, psn, back=True)
        time += 1e-3


def paused_at_the_end(path):
    """A port of a switch pauses class 3, after the last packet of a flow without VLAN tags."""
    yield from healthy(path)
    for number in range(100):
        frame = Ether(src="02:00:00:00:00:09", dst="01:80:c2:00:00:01", type=0x8808)
        frame = frame / Raw(struct.pack(">HH8H", 0x101, 1 << 3, 0, 0, 0, 0xFFFF, 0, 0, 0, 0))
        frame.time = BEGIN + 2e-3 + number * 2e-4
        yield frame


def datagrams(path):
    for number in range(60):
        mark = CE if number % 3 == 0 else ECT
        yield path.packet(number * 1e-4, DATAGRAM, TO, number, traffic_class=mark)
        if number % 12 == 0:
            yield path.packet(number * 1e-4 + 2e-5, CNP, FROM, 0, back=True)


def sprayed(path):
    """Each packet takes one of eight paths; the first one of the capture is late, too."""
    for psn in range(400):
        path.sport = 50000 + psn % 8
        late = 4.5e-5 if psn == 0 or psn % 5 == 3 else 0.0
        yield path.packet(psn * 1e-5 + late, WRITE, TO, psn)
        if psn % 16 == 15:
            yield path.packet(psn * 1e-5 + 1e-4, ACK, FROM, psn - 8, back=True)


ALIVE = r"the host sent to other queue pairs"
QUIET = r"No fault found in this capture"
RETRANSMITTED = r"\d retransmitted"
COUNTED = r"RoCE not known to be SMC-R"
# name: (frames, words of the page by default, words with smcr.roce, words that are false there)
VARIANTS = {
    "silent-ipv6": (silent(Path(6), 0.537), COUNTED, ALIVE, r"stopped answering"),
    "silent-vlan": (silent(Path(4, "vlan"), 0.0042), COUNTED, ALIVE, r"stopped answering"),
    "silent-vxlan": (silent(Path(4, "vxlan"), 0.067, 4), COUNTED, ALIVE, r"one direction"),
    "alone-ipv6": (
        lost_alone(Path(6)),
        r"3 NAKs",
        r"3 after NAKs.*selective repeat",
        r"downstream",
    ),
    "alone-p-key": (lost_alone(Path(p_key=0x8001)), r"3 NAKs", r"selective repeat", r"downstream"),
    "back-ipv6": (
        lost_and_all_again(Path(6), False),
        r"3 NAKs",
        r"lost or out of order downstream",
        r"selective repeat",
    ),
    "back-vlan": (
        lost_and_all_again(Path(4, "vlan"), True),
        r"3 NAKs",
        r"Packets lost; .* \(21 after NAKs\)",
        r"downstream",
    ),
    "back-rocev1": (
        lost_and_all_again(Path(4, "rocev1"), False),
        r"24 retransmitted, .* 3 NAKs",
        r"lost or out of order downstream .* \(24 after NAKs\)",
        r"selective repeat",
    ),
    "back-two-vnis": (
        [
            *lost_and_all_again(Path(4, "vxlan"), False),
            *lost_and_all_again(Path(4, "vxlan", vni=200), False, lost=()),
        ],
        r"24 retransmitted, .* 3 NAKs",
        r"\(24 after NAKs\)",
        r"selective repeat|unknown",
    ),
    "not-ready": (not_ready(Path(), 8), r"8 RNR NAKs", r"no receive buffer", r"No packet from"),
    "outer-ce": (marked(Path(4, "vxlan"), True), r"20 marked CE", r"\(on the tunnel\)", QUIET),
    "ce-ipv6": (marked(Path(6), False), r"20 marked CE", r"marked CE; no CNP", r"tunnel"),
    "ce-incast": (
        [packet for host in (1, 3, 4) for packet in marked(Path(host=host), False)],
        r"60 marked CE",
        r"60 of 120 packets from several hosts to 192\.0\.2\.2 marked CE; no CNP",
        r"most from",
    ),
    "twice-ipv6": (twice(Path(6), 60e-6, 63), COUNTED, QUIET, RETRANSMITTED),
    "twice-held-up": (twice(Path(6), 60e-6, 63, 5e-3), COUNTED, QUIET, RETRANSMITTED),
    "mirror-held-up": (twice(Path(), 30e-6, 64, 4e-4), COUNTED, QUIET, RETRANSMITTED),
    "port-53": (healthy(Path(6, sport=53, p_key=0x8001)), r"20 RoCE packets", QUIET, r"missing"),
    "port-69": (healthy(Path(4, "vlan", 69)), r"20 RoCE packets", QUIET, r"missing"),
    "port-161": (healthy(Path(4, "vxlan", 161)), r"20 RoCE packets", QUIET, r"missing"),
}
# The same of further kinds, with words that are false in any case.
MORE = {
    "read-never-answered": (
        never_answered(Path(6)),
        r"7 retransmitted",
        r"a request 8 times in 469 ms .* retry limit reached",
        r"Packets lost|stopped answering",
    ),
    "read-responses-lost": (
        responses_lost(Path(6, "vlan")),
        r"10 retransmitted",
        r"10 of \d+ packets between .* retransmitted \(10 re-requested\)",
        r"duplicates?,",
    ),
    "atomics-answer-lost": (
        atomics(Path(6)),
        r"2 retransmitted",
        r"\(1 re-requested, 2 with unknown cause\)",
        r"READ|timeout",
    ),
    "timer-one-at-a-time": (
        one_at_a_time(Path()),
        r"5 retransmitted",
        r"5 of 55 packets .* without a NAK \(after timeouts\)",
        r"unknown",
    ),
    "requests-only": (
        [each for each in lost_and_all_again(Path(), True) if each[IP].dst == "192.0.2.2"],
        r"24 retransmitted",
        r"requests to it, 21 retransmitted: one direction not captured",
        QUIET,
    ),
    "outer-ce-not-ect": (
        marked(Path(4, "vxlan"), True, NOT_ECT),
        r"20 marked CE",
        r"20 of 40 .* \(on the tunnel; its end has to discard them: they are Not-ECT within\)",
        QUIET,
    ),
    "paused-without-tags": (
        paused_at_the_end(Path()),
        r"flows are not analysed",
        r"which flows are of this class is not known without VLAN tags",
        r"no RDMA flow",
    ),
    "datagrams-ce": (
        datagrams(Path()),
        r"20 marked CE, 5 CNPs",
        r"20 of 60 packets .* marked CE; 5 CNPs",
        r"not captured",
    ),
    "sprayed-first-is-late": (
        sprayed(Path()),
        COUNTED,
        r"81 of 400 packets out of order, .*\(packet spraying\)",
        r"Sequence gaps|lost",
    ),
}
