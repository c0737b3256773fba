"""
A simulated TCP connection that offers SMC-R and falls back: two hosts that exchange requests and
answers over a path with two capture points, which loses packets before the first point, between the
points and after the second one. Both hosts acknowledge selectively (RFC 2018), report what has
come twice (RFC 2883), retransmit early and after a timeout. What happened to each packet is known.
Shares no code with the plugin.
"""

import collections
import heapq
import random
import struct

from points_reader import ACK, FIN, PUSH, SMCR_OPTION, SYN, TCP, Packet
from points_simulator import BEGIN, HOP, HOSTS, MACS

MSS, WINDOW = 100, 20  # bytes; segments under way
RTO, SYN_RTO, DELAYED, GAP = 200_000_000, 1_000_000_000, 40_000_000, 2_000  # nanoseconds
PORTS = (40000, 8080)
DUPLICATES = 3  # later segments, reported with SACK, after which a segment counts as lost

# A packet under way: number, sender (0 or 1), sequence number, acknowledgement number, bytes of
# data, flags, SACK blocks, time stamps.
Sent = collections.namedtuple("Sent", "number host seq ack length flags sacks stamps")

# What is told to do with packets, as in points_simulator. `stamps`: False: no time stamps. `ids`:
# False: the IP identification is always 0. `busy`: longest time, in nanoseconds, that a host takes
# before it looks at a segment. `offers`: the client's SYN has the SMC-R option.
Plan = collections.namedtuple(
    "Plan", "lost missed stamps ids busy offers", defaults=((0, 0, 0), (0, 0), True, True, 0, True)
)


def span(sent):
    return sent.length + bool(sent.flags & SYN) + bool(sent.flags & FIN)


class Host:
    """An end of the connection."""

    def __init__(self, number, first):
        self.number, self.first = number, first
        self.acked = self.next = first  # sequence numbers
        self.queue = first + 1  # sequence number after all that may be sent
        self.has_fin = False
        self.unacked = {}  # {sequence number: [length in sequence numbers, flags, how often sent]}
        self.sacked = set()  # sequence numbers of segments that the peer has reported
        self.expected = None  # next sequence number of the peer
        self.early = {}  # {sequence number: end} that came early
        self.twice = None
        self.echo, self.timer, self.delayed, self.open_acks = 0, 0, 0, 0
        self.answered = 0


class Connection:
    """Both hosts, and what the two points capture. `fates`: {number: part on which the packet was
    lost, or None}; `frames`: [(number, Packet)]; `sent`: {number: Sent}."""

    def __init__(self, plan, requests, seed):
        self.plan, self.chance = plan, random.Random(seed)
        self.events, self.order, self.now = [], 0, BEGIN
        self.fates, self.frames, self.sent, self.last_passed = {}, [], {}, {}
        first = (0xFFFFFF00, 1000)  # the client's numbers wrap
        self.hosts = [Host(each, first[each]) for each in (0, 1)]
        self.left = requests
        self.ids = [100, 200]

    def later(self, time, do, *arguments):
        self.order += 1
        heapq.heappush(self.events, (time, self.order, do, arguments))

    def run(self):
        self.send(self.hosts[0], self.hosts[0].first, 1, SYN)
        while self.events and len(self.sent) < 20_000:
            self.now, _, do, arguments = heapq.heappop(self.events)
            do(*arguments)
        return self

    # ---- the path ----

    def transmit(self, host, seq, length, flags):
        """Sends a segment. `length`: bytes of data."""
        peer_next = host.expected or 0
        sacks = [] if host.twice is None else [host.twice]
        blocks = sorted(host.early.items(), reverse=True)
        sacks += merged(blocks)[: 3 - len(sacks)]
        host.twice, host.open_acks = None, 0
        host.delayed += 1
        stamps = (self.now // 1_000_000 & 0xFFFFFFFF, host.echo) if self.plan.stamps else None
        number = len(self.sent)
        flags |= ACK if host.expected is not None else 0
        sent = Sent(number, host.number, seq, peer_next, length, flags, tuple(sacks), stamps)
        self.sent[number] = sent
        self.carry(sent)

    def carry(self, sent):
        part = next(
            (each for each in range(3) if self.chance.random() < self.plan.lost[each]), None
        )
        self.fates[sent.number] = part
        points = (0, 1) if sent.host == 0 else (1, 0)
        time, data = self.now, self.frame(sent)
        for place, point in enumerate(points):
            time += HOP + self.chance.randrange(2_000)
            time = max(time, self.last_passed.get((sent.host, point), 0) + 1)
            if part is not None and part <= place:
                return
            self.last_passed[sent.host, point] = time
            if self.chance.random() >= self.plan.missed[point]:
                self.frames.append((sent.number, Packet(time, point, data, len(data))))
        if part is None:
            busy = self.chance.randrange(self.plan.busy) if self.plan.busy else 0
            time = max(time + HOP + busy, self.last_passed.get((sent.host, 2), 0) + 1)
            self.last_passed[sent.host, 2] = time
            self.later(time, self.take, sent)

    def frame(self, sent):
        options = b""
        if sent.flags & SYN:
            options += struct.pack(">BBHBB", 2, 4, 1460, 4, 2)
            if sent.host == 0 and self.plan.offers:
                options += bytes([254, 6]) + SMCR_OPTION
        if sent.stamps:
            options += struct.pack(">BBII", 8, 10, *sent.stamps)
        if sent.sacks:
            wrapped = [each & 0xFFFFFFFF for block in sent.sacks for each in block]
            options += struct.pack(f">BB{len(wrapped)}I", 5, 2 + 4 * len(wrapped), *wrapped)
        options += bytes([1]) * (-len(options) % 4)
        header = struct.pack(
            ">HHIIBBHHH",
            PORTS[sent.host],
            PORTS[1 - sent.host],
            sent.seq & 0xFFFFFFFF,
            sent.ack & 0xFFFFFFFF,
            (20 + len(options)) << 2,
            sent.flags,
            0xFFFF,
            0,
            0,
        )
        body = header + options + bytes(sent.length)
        self.ids[sent.host] += 1
        ip_id = self.ids[sent.host] & 0xFFFF if self.plan.ids else 0
        ends = HOSTS[sent.host] + HOSTS[1 - sent.host]
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(body), ip_id, 0x4000, 64, TCP, 0)
        total = sum(struct.unpack(">6H", ip)) + sum(struct.unpack(">4H", ends))
        total = (total & 0xFFFF) + (total >> 16)
        ip = ip[:10] + struct.pack(">H", ~(total + (total >> 16)) & 0xFFFF)
        macs = MACS[6:] + MACS[:6] if sent.host else MACS
        return macs + b"\x08\x00" + ip + ends + body

    # ---- sending ----

    def send(self, host, seq, numbers, flags):
        """Sends or retransmits the sequence numbers from `seq` on."""
        kept = host.unacked.setdefault(seq, [numbers, flags, 0, 0])
        kept[2] += 1
        kept[3] = self.now
        length = numbers - bool(flags & SYN) - bool(flags & FIN)
        self.transmit(host, seq, length, flags)
        host.next = max(host.next, seq + numbers)
        self.start_timer(host, SYN_RTO if flags & SYN else RTO)

    def send_more(self, host):
        """Sends what the window allows."""
        while host.expected is not None and host.next < host.queue:
            under_way = len(host.unacked) - len(host.sacked)
            if under_way >= WINDOW:
                return
            numbers = min(MSS, host.queue - host.next)
            is_last = host.next + numbers == host.queue
            flags = (PUSH if is_last else 0) | (FIN if is_last and host.has_fin else 0)
            self.send(host, host.next, numbers, flags)
            self.now += GAP

    def write(self, host, length):
        host.queue += length
        self.send_more(host)

    def start_timer(self, host, wait):
        host.timer += 1
        self.later(self.now + wait, self.expire, host, host.timer)

    def expire(self, host, timer):
        if timer == host.timer and host.unacked:
            oldest = min(host.unacked)
            if host.unacked[oldest][2] < 10:
                self.send(host, oldest, *host.unacked[oldest][:2])

    def acknowledge(self, host, number):
        """Acknowledges at once (number 0), or after a while."""
        if number == host.delayed:
            self.transmit(host, host.next, 0, 0)

    # ---- receiving ----

    def take(self, sent):
        host = self.hosts[1 - sent.host]
        if sent.stamps and (host.expected is None or sent.seq <= host.expected):
            host.echo = max(host.echo, sent.stamps[0])
        if sent.flags & ACK:
            self.take_ack(host, sent)
        if span(sent):
            self.take_bytes(host, sent)

    def take_ack(self, host, sent):
        advanced = sent.ack > host.acked
        host.acked = max(host.acked, sent.ack)
        for left, right in sent.sacks:
            host.sacked |= {each for each in host.unacked if left <= each < right}
        for each in [each for each in host.unacked if each < host.acked]:
            del host.unacked[each]
        host.sacked &= set(host.unacked)
        if advanced:
            self.start_timer(host, RTO)
        self.retransmit_early(host)
        self.send_more(host)

    def retransmit_early(self, host):
        for each in sorted(set(host.unacked) - host.sacked):
            later = sum(other > each for other in host.sacked)
            is_old = self.now - host.unacked[each][3] > 8 * HOP
            if later >= DUPLICATES and is_old:
                self.send(host, each, *host.unacked[each][:2])

    def take_bytes(self, host, sent):
        end = sent.seq + span(sent)
        if host.expected is None:
            host.expected = sent.seq
        if sent.seq < host.expected or sent.seq in host.early:
            host.twice = (sent.seq, end)
        elif sent.seq > host.expected:
            host.early[sent.seq] = end
        else:
            host.expected = end
            while host.expected in host.early:
                host.expected = host.early.pop(host.expected)
        is_whole = host.expected == self.hosts[sent.host].queue and not host.early
        if sent.flags & SYN:
            self.open(host, sent)
        elif host.twice or not (is_whole or end == host.expected):
            self.acknowledge(host, host.delayed)
        else:
            self.answer(host)

    def open(self, host, sent):
        if host.number == 1 and host.next == host.first:
            self.send(host, host.first, 1, SYN)
        elif host.number == 1:
            self.send(host, host.first, 1, SYN)
        else:
            self.acknowledge(host, host.delayed)
            if host.queue == host.first + 1 and not sent.flags & FIN:
                self.later(self.now, self.ask)

    def ask(self):
        """The client sends a request, or closes."""
        client = self.hosts[0]
        self.left -= 1
        if self.left < 0 and not client.has_fin:
            client.has_fin = True
            self.write(client, 1)
        elif self.left >= 0:
            self.write(client, MSS * self.chance.choice((1, 1, 2, 5, 12, 30)) - 10)

    def answer(self, host):
        """A whole request is answered, and a whole answer followed by the next request, sometimes
        after a while. Else each second segment is acknowledged."""
        peer = self.hosts[1 - host.number]
        if host.expected == peer.queue and host.answered < peer.queue and not host.has_fin:
            host.answered = peer.queue
            pause = self.chance.choice((0, 0, 300_000, 60_000_000, 500_000_000))
            host.delayed += 1
            self.later(self.now + min(pause, DELAYED), self.acknowledge, host, host.delayed)
            self.later(self.now + pause, self.respond, host, peer.has_fin)
            return
        host.open_acks += 1
        wait = 0 if host.open_acks > 1 else DELAYED
        host.delayed += 1
        self.later(self.now + wait, self.acknowledge, host, host.delayed)

    def respond(self, host, closes):
        if host.number == 0:
            self.ask()
        elif closes:
            host.has_fin = True
            self.write(host, 1)
        else:
            self.write(host, MSS * self.chance.choice((1, 2, 3, 9)) - 7)


def merged(blocks):
    """SACK blocks, of which those that touch are one: the highest first."""
    found = []
    for left, right in blocks:
        if found and found[-1][0] == right:
            found[-1] = (left, found[-1][1])
        else:
            found.append((left, right))
    return found
