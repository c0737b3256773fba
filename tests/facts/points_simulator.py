"""
A simulated queue pair: a sender and a receiver of RC with a path of two capture points between
them, which loses packets before the first point, between the points and after the second one. The
sender goes back to what a NAK names, or to the oldest packet after a timeout. What happened to each
packet is known. Shares no code with the plugin.
"""

import collections
import heapq
import random
import struct

from points_reader import ROCE_PORT, UDP, Packet

WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_ONLY = 6, 7, 8, 10
READ, READ_FIRST, READ_MIDDLE, READ_LAST, READ_ONLY = 12, 13, 14, 15, 16
ACKNOWLEDGE, ATOMIC_ACKNOWLEDGE, FETCH_ADD = 17, 18, 20
SEQUENCE_ERROR, RNR = 0x60, 0x2A  # syndromes
HOP, GAP = 20_000, 3_000  # nanoseconds: on each of the three parts of the path; between packets
TIMEOUT, RNR_WAIT = 16_000_000, 640_000
WINDOW, BEGIN = 24, 1_700_000_000 * 10**9
HOSTS = (bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
QPNS = (0x11, 0x22)
BEFORE, BETWEEN, AFTER = range(3)  # parts of the path of a packet, in the order in which it passes
DATA = 256

# A packet under way: its number, sender (0 or 1), opcode, PSN, syndrome, PSNs (of a READ), and
# whether the sender asks for an acknowledgement.
Sent = collections.namedtuple("Sent", "number host opcode psn syndrome count asks")

# What is told to do with packets. `lost`: chances for each part of the path; `missed`: for each
# point, whether it does not capture a packet; `drop`: a function that gets a packet (Sent) and how
# often its PSN was sent, and returns the part on which it is lost, or None.
Plan = collections.namedtuple(
    "Plan",
    "lost missed drop not_ready reads atomics ids",
    defaults=((0, 0, 0), (0, 0)) + (None,) * 5,
)


class Path:
    """Both hosts, and what the two points capture. `fates`: {number: part on which the packet was
    lost, or None}; `frames`: [(number, Packet)]; `sent`: {number: Sent}."""

    def __init__(self, plan, messages, seed):
        self.plan, self.chance = plan, random.Random(seed)
        self.events, self.order, self.now = [], 0, BEGIN
        self.fates, self.frames, self.sent, self.accepted = {}, [], {}, set()
        self.times_sent, self.last_passed = collections.Counter(), {}
        self.latest, self.proofs = {}, {}  # latest request by PSN; {NAK: the request it asks for}
        self.requests = self.make_requests(messages)
        self.first = self.requests[0][1]
        self.next = self.oldest = 0  # index of a request
        self.expected, self.has_refused, self.free = self.first, False, BEGIN
        self.timer = 0
        self.reading = {}  # index of a READ: PSN of the next response
        self.waits_until = 0

    def make_requests(self, messages):
        """[(opcode, PSN, number of PSNs, asks)]"""
        made, psn = [], self.chance.choice((100, 0xFFFF80, 0x7FFFF0))
        for _ in range(messages):
            kind = self.chance.random()
            if self.plan.reads and kind < self.plan.reads:
                count = self.chance.choice((1, 1, 4, 8))
                made.append((READ, psn, count, True))
                psn += count
                continue
            if self.plan.atomics and kind > 1 - self.plan.atomics:
                made.append((FETCH_ADD, psn, 1, True))
                psn += 1
                continue
            length = self.chance.choice((1, 1, 2, 5, 9))
            for at in range(length):
                opcode = WRITE_MIDDLE if 0 < at < length - 1 else WRITE_LAST if at else WRITE_FIRST
                made.append((WRITE_ONLY if length == 1 else opcode, psn, 1, at == length - 1))
                psn += 1
        return made

    # ---- time ----

    def later(self, time, do, *arguments):
        self.order += 1
        heapq.heappush(self.events, (time, self.order, do, arguments))

    def run(self):
        self.later(self.now, self.send_more)
        while self.events:
            self.now, _, do, arguments = heapq.heappop(self.events)
            do(*arguments)
        return self

    # ---- the path ----

    def transmit(self, host, opcode, psn, syndrome=0, count=1, asks=False):
        number = len(self.sent)
        sent = Sent(number, host, opcode, psn, syndrome, count, asks)
        self.sent[number] = sent
        self.times_sent[host, opcode, psn] += 1
        if host == 0:
            self.latest.update({each: number for each in range(psn, psn + count)})
        part = self.part_of_loss(sent)
        self.fates[number] = part
        points = (0, 1) if host == 0 else (1, 0)
        time, data = self.now, self.frame(sent)
        for place, point in enumerate(points):
            time += HOP + self.chance.randrange(2_000)
            time = max(time, self.last_passed.get((host, point), 0) + 1)
            if part is not None and part <= place:
                return
            self.last_passed[host, point] = time
            if self.chance.random() >= self.plan.missed[point]:
                self.frames.append((number, Packet(time, point, data, len(data))))
        if part is None:
            time = max(time + HOP, self.last_passed.get((host, 2), 0) + 1)
            self.last_passed[host, 2] = time
            self.later(time, self.take_response if host else self.take_request, sent)

    def part_of_loss(self, sent):
        if self.plan.drop:
            part = self.plan.drop(sent, self.times_sent[sent.host, sent.opcode, sent.psn])
            if part is not None:
                return part
        for part, chance in enumerate(self.plan.lost):
            if self.chance.random() < chance:
                return part
        return None

    def frame(self, sent):
        source, target = (HOSTS[sent.host], HOSTS[1 - sent.host])
        bth = struct.pack(
            ">BBHII",
            sent.opcode,
            0,
            0xFFFF,
            QPNS[1 - sent.host],
            sent.asks << 31 | sent.psn & 0xFFFFFF,
        )
        rest = bytes(DATA)
        if sent.opcode in (WRITE_FIRST, WRITE_ONLY, READ):
            length = sent.count * DATA if sent.opcode == READ else DATA
            rest = struct.pack(">QII", 0x1000 + (sent.psn << 8), 0x77, length)
            rest += bytes(DATA) if sent.opcode != READ else b""
        elif sent.opcode == FETCH_ADD:
            rest = struct.pack(">QIQQ", 0x1000, 0x77, 1, 0)
        elif sent.opcode in (ACKNOWLEDGE, READ_FIRST, READ_LAST, READ_ONLY):
            rest = struct.pack(">I", sent.syndrome << 24)
            rest += bytes(DATA) if sent.opcode != ACKNOWLEDGE else b""
        elif sent.opcode == ATOMIC_ACKNOWLEDGE:
            rest = struct.pack(">IQ", sent.syndrome << 24, 0)
        body = bth + rest + bytes(4)
        ip_id = 0 if self.plan.ids is False else 1 + sent.number & 0xFFFF
        udp = struct.pack(">HHHH", 49152 + sent.host, ROCE_PORT, 8 + len(body), 0)
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 28 + len(body), ip_id, 0x4000, 64, UDP, 0)
        total = sum(struct.unpack(">6H", ip)) + sum(struct.unpack(">4H", source + target))
        total = (total & 0xFFFF) + (total >> 16)
        ip = ip[:10] + struct.pack(">H", ~(total + (total >> 16)) & 0xFFFF)
        macs = bytes.fromhex("02000000000102000000000b") if sent.host else MACS
        return macs + b"\x08\x00" + ip + source + target + udp + body

    # ---- the sender of the requests ----

    def send_more(self):
        if self.now < self.waits_until:
            return
        if self.next < len(self.requests) and self.next < self.oldest + WINDOW:
            opcode, psn, count, asks = self.requests[self.next]
            begun = self.reading.get(self.next, psn)  # the rest of a READ
            self.transmit(0, opcode, begun, 0, count - (begun - psn), asks)
            self.next += 1
            self.start_timer()
            self.later(self.now + GAP, self.send_more)

    def start_timer(self):
        self.timer += 1
        self.later(self.now + TIMEOUT, self.expire, self.timer)

    def expire(self, timer):
        if timer == self.timer and self.oldest < len(self.requests):
            self.next = self.oldest
            self.send_more()

    def is_done(self, index, psn):
        """Whether an acknowledgement of the PSN completes the request."""
        opcode, first, count, _ = self.requests[index]
        if opcode in (READ, FETCH_ADD):
            return self.reading.get(index, first) >= first + count
        return first + count - 1 <= psn

    def advance(self, psn):
        before = self.oldest
        while self.oldest < len(self.requests) and self.is_done(self.oldest, psn):
            self.oldest += 1
        self.next = max(self.next, self.oldest)
        if self.oldest > before:
            self.start_timer()
            self.later(self.now, self.send_more)

    def go_back(self):
        self.next = self.oldest
        self.later(self.now + 2 * GAP, self.send_more)

    def take_response(self, sent):
        self.accepted.add(sent.number)
        if sent.opcode == ACKNOWLEDGE:
            self.take_acknowledgement(sent)
            return
        index = self.oldest
        while index < self.next and self.requests[index][1] + self.requests[index][2] <= sent.psn:
            index += 1
        if index >= self.next or self.requests[index][0] not in (READ, FETCH_ADD):
            return
        _, first, count, _ = self.requests[index]
        wanted = self.reading.get(index, first)
        self.advance(first - 1)
        if sent.psn == wanted and index == self.oldest:
            self.reading[index] = wanted + 1
            self.advance(sent.psn)
        elif sent.psn > wanted or index != self.oldest:
            self.go_back()

    def take_acknowledgement(self, sent):
        self.advance(sent.psn - (sent.syndrome >= 0x20))
        if sent.syndrome == SEQUENCE_ERROR:
            self.go_back()
        elif sent.syndrome == RNR:
            self.next = self.oldest
            self.waits_until = self.now + RNR_WAIT
            self.later(self.waits_until, self.send_more)

    # ---- the receiver of the requests ----

    def take_request(self, sent):
        if sent.psn > self.expected:
            if not self.has_refused:
                self.has_refused = True
                lost = self.latest[self.expected]
                self.proofs[len(self.sent)] = lost
                self.transmit(1, ACKNOWLEDGE, self.expected, SEQUENCE_ERROR)
            return
        is_new = sent.psn == self.expected
        if is_new and self.plan.not_ready and self.chance.random() < self.plan.not_ready:
            self.transmit(1, ACKNOWLEDGE, self.expected, RNR)
            self.has_refused = True
            return
        if is_new:
            self.accepted.add(sent.number)
            self.expected = sent.psn + sent.count
            self.has_refused = False
        if sent.opcode == READ:
            self.respond(sent)
        elif sent.opcode == FETCH_ADD:
            self.transmit(1, ATOMIC_ACKNOWLEDGE, sent.psn)
        elif not is_new:
            self.transmit(1, ACKNOWLEDGE, self.expected - 1)
        elif sent.asks:
            self.transmit(1, ACKNOWLEDGE, sent.psn)

    def respond(self, sent):
        for at in range(sent.count):
            opcode = READ_MIDDLE if 0 < at < sent.count - 1 else READ_LAST if at else READ_FIRST
            self.transmit(1, READ_ONLY if sent.count == 1 else opcode, sent.psn + at)


MACS = bytes.fromhex("02000000000b020000000001")


# ---- what may be said of a packet ----

LOST, LOST_AFTER, UNANSWERED, NOT_CAPTURED, UNDECIDED = 1, 2, 3, 4, 9
NOTHING = None
FIRST_ONLY, SECOND_ONLY, BOTH = "first only", "second only", "both"

# {points that have the packet: {part on which it was lost: verdicts that are true}}
TRUE = {
    FIRST_ONLY: {
        BETWEEN: {LOST},
        AFTER: {NOT_CAPTURED, LOST_AFTER},
        None: {NOT_CAPTURED},
    },
    SECOND_ONLY: {AFTER: {NOT_CAPTURED, LOST_AFTER, UNANSWERED}, None: {NOT_CAPTURED, UNANSWERED}},
    BOTH: {AFTER: {LOST_AFTER, UNANSWERED, NOTHING}, None: {UNANSWERED, NOTHING}},
}


def proven(path):
    """Requests that were lost, and for which a captured NAK asks."""
    captured = {number for number, _ in path.frames}
    return {
        lost
        for nak, lost in path.proofs.items()
        if {nak, lost} <= captured and path.fates[lost] is not None
    }


def one_way(path, host, ahead):
    """The second point has the packets of one host only, and its clock is ahead by `ahead`
    nanoseconds."""
    path.frames = [
        (number, packet._replace(time=packet.time + (ahead if packet.interface else 0)))
        for number, packet in path.frames
        if packet.interface == 0 or path.sent[number].host == host
    ]
    return path


def judged(path, told):
    """What is told of each captured packet: [(number, points, part, verdict, whether it is true)].
    `told`: {number: verdict}. Undecided is always true."""
    seen, found = collections.defaultdict(set), []
    for number, packet in path.frames:
        seen[number].add(packet.interface)
    for number, points in sorted(seen.items()):
        first = 0 if path.sent[number].host == 0 else 1
        place = BOTH if len(points) == 2 else FIRST_ONLY if first in points else SECOND_ONLY
        part, verdict = path.fates[number], told.get(number)
        is_true = verdict in TRUE[place][part] | {UNDECIDED}
        found.append((number, place, part, verdict, is_true))
    return found
