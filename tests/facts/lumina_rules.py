"""
The rules of Lumina's checkers, by a reader of its own: Yu et al., "Understanding the
Micro-Behaviors of Hardware Offloaded Network Stacks with Lumina", SIGCOMM 2023;
github.com/lumina-test/lumina, as of January 2024. Their code reads only Lumina's own traces: which
packet its switch dropped stands in the TTL, the time in a MAC address. This reader gets the dropped
packets as numbers of frames, and takes the times of the capture. Times are nanoseconds.

- Sender, Receiver: the state machines of go-back-N (`gbn_check.py`);
- Responder, Requester: the same of RDMA READs (`read_gbn_check.py`);
- generation(), response(): the delay of a NAK, and of the reaction to it (`latency_measure.py`);
- Cnps: marked packets and CNPs, and how many CNPs are expected with a limit (`cnp_check.py`).
"""

import collections

from report_frames import ICRC, Roce, number, of_kind

ACKNOWLEDGE, CNP, CE = 0x11, 0x81, 3
READ, RESPONSES = 0x0C, range(0x0D, 0x11)
ANSWERS, KNOWN = {0x11, 0x12}, range(0x15)  # acknowledgements; operations of a transport
TRANSPORTS = (0x00, 0x20, 0x40, 0x60)  # RC, UC, RD, UD
DATA = {transport | each for transport in TRANSPORTS for each in KNOWN if each not in ANSWERS}
NAK = 0x60  # upper three bits of a syndrome

QueuePairs = collections.namedtuple("QueuePairs", "sender receiver psn")
# (address, queue pair) of both ends, and the first PSN of the sender's data


def packets_of(path):
    return of_kind(path, Roce)


def is_data(packet):
    return packet.opcode in DATA


def is_nak(packet):
    return packet.opcode == ACKNOWLEDGE and packet.syndrome & 0xE0 == NAK


def is_ack(packet):
    return packet.opcode == ACKNOWLEDGE and packet.syndrome & 0xE0 == 0


def to(packet):
    return packet.dst, packet.qpn


def between(packets, pairs):
    """The packets of the two queue pairs, from the first data packet on."""
    both = [each for each in packets if to(each) in (pairs.sender, pairs.receiver)]
    begins = [to(each) == pairs.receiver and each.psn == pairs.psn for each in both]
    return both[begins.index(True) :] if True in begins else []


# ---- go-back-N ----


class Sender:
    """What a sender sends follows from the NAKs and acknowledgements that reach it."""

    def __init__(self, packets, pairs, last):
        self.sent = self.acked = self.nak = None
        self.naks = self.timeouts = 0
        takes = (
            self.take_answer(each) if to(each) == pairs.sender else self.take_data(each)
            for each in between(packets, pairs)
        )
        self.is_right = all(takes) and (self.sent, self.acked, self.nak) == (last, last, None)

    def take_answer(self, packet):
        if is_ack(packet):
            is_right = self.acked is None or packet.psn >= self.acked
            self.acked = packet.psn
        elif is_nak(packet):
            is_right = self.nak is None  # one at a time
            self.nak = packet.psn
        else:
            is_right = not is_data(packet)
        return is_right

    def take_data(self, packet):
        if not is_data(packet):
            return False
        if self.sent is not None and packet.psn != self.sent + 1:
            if packet.psn == self.nak:
                self.naks, self.nak = self.naks + 1, None
            elif self.nak is None:
                self.timeouts += 1
            else:
                return False
        self.sent = packet.psn
        return True


class Receiver:
    """What a receiver answers follows from the packets that are delivered to it: `dropped` has the
    frames of those that are not."""

    def __init__(self, packets, pairs, last, dropped):
        self.received, self.lost, self.acked, self.nak = pairs.psn - 1, None, None, None
        takes = (
            self.take_data(each) if to(each) == pairs.receiver else self.take_answer(each)
            for each in between(packets, pairs)
            if each.frame.number not in dropped
        )
        self.is_right = all(takes) and self.state() == (last, None, None, last)

    def state(self):
        return self.received, self.lost, self.nak, self.acked

    def take_data(self, packet):
        if packet.psn == self.received + 1:
            self.received = packet.psn
            if packet.psn == self.lost:
                self.lost = self.nak = None
        elif packet.psn > self.received and self.lost is None:
            self.lost = self.received + 1
        return True

    def take_answer(self, packet):
        if is_nak(packet):
            is_right = self.nak is None and packet.psn == self.lost
            self.nak = packet.psn
        elif is_ack(packet):
            is_right = self.acked is None or packet.psn >= self.acked
            self.acked = packet.psn
        else:
            is_right = not is_data(packet)
        return is_right


# ---- go-back-N of RDMA READs: who requests receives data, who responds sends it ----


Reading = collections.namedtuple("Reading", "requester responder mtu")
# (address, queue pair) of both ends; bytes of a response that is not the last


def asked(packet, mtu):
    """The PSNs that a READ request asks for."""
    length = number(packet.frame.data, packet.frame.length - ICRC - 4, 4)
    return range(packet.psn, packet.psn + -(-length // mtu))


def of_reading(packets, reading):
    """Packets between the queue pairs from the first request on, without CNPs."""
    both = [
        each
        for each in packets
        if to(each) in (reading.requester, reading.responder) and each.opcode != CNP
    ]
    begins = [to(each) == reading.responder and each.opcode == READ for each in both]
    return both[begins.index(True) :] if True in begins else []


class Responder:
    """What a responder sends follows from the requests that reach it: `dropped` has the frames of
    those that do not. Lumina's responder has one request at a time. This one may have several: it
    answers each from its begin to its end."""

    def __init__(self, packets, reading, dropped):
        self.reading, self.requests, self.sent, self.end = reading, collections.deque(), None, None
        takes = (
            self.take_request(each) if to(each) == reading.responder else self.take_response(each)
            for each in of_reading(packets, reading)
            if to(each) == reading.requester or each.frame.number not in dropped
        )
        self.is_right = all(takes) and not self.requests and self.sent == self.end

    def take_request(self, packet):
        if packet.opcode == READ:
            self.requests.append(asked(packet, self.reading.mtu))
        return packet.opcode == READ

    def take_response(self, packet):
        continues = self.sent is not None and packet.psn == self.sent + 1 <= self.end
        begins = self.sent == self.end and self.requests and packet.psn == self.requests[0].start
        if begins:
            self.end = self.requests.popleft()[-1]
        self.sent = packet.psn
        return packet.opcode in RESPONSES and bool(continues or begins)


class Requester:
    """What a requester asks for follows from the responses that reach it. Lumina's requester has
    one request at a time: if another has the same last PSN, it has to ask for what is missing. Here
    that holds for each request that does not go on after the request before it."""

    def __init__(self, packets, reading, dropped):
        self.reading, self.asked, self.received, self.lost = reading, None, None, None
        self.gaps = self.timeouts = 0
        takes = (
            self.take_request(each) if to(each) == reading.responder else self.take_response(each)
            for each in of_reading(packets, reading)
            if to(each) == reading.responder or each.frame.number not in dropped
        )
        self.is_right = all(takes) and (self.received, self.lost) == (self.asked, None)

    def take_request(self, packet):
        if packet.opcode != READ:
            return False
        asks = asked(packet, self.reading.mtu)
        if self.asked is None:
            self.received = asks.start - 1
        elif asks.start != self.asked + 1:
            if asks.start != self.received + 1:
                return False
            self.timeouts += self.lost is None
        self.asked = asks[-1]
        return True

    def take_response(self, packet):
        if packet.psn == self.received + 1:
            self.received = packet.psn
            self.lost = None if packet.psn == self.lost else self.lost
        elif packet.psn > self.received and self.lost is None:
            self.lost, self.gaps = self.received + 1, self.gaps + 1
        return packet.opcode in RESPONSES and packet.psn >= self.received


# ---- the delay of NAKs, and of the reaction to them ----


def nak_of(packets, pairs, dropped):
    """(position of the NAK for a dropped packet, position of its retransmission); None: the packet
    is retransmitted without one."""
    packet = packets[dropped]
    for at in range(dropped + 1, len(packets)):
        each = packets[at]
        if to(each) == pairs.receiver and each.psn == packet.psn:
            return None
        if to(each) == pairs.sender and is_nak(each) and each.psn == packet.psn:
            resent = next(
                (
                    later
                    for later in range(at, len(packets))
                    if to(packets[later]) == pairs.receiver and packets[later].psn == packet.psn
                ),
                None,
            )
            return at, resent
    return None


def delays(packets, pairs, dropped):
    """[from the next delivered packet to the NAK], [from the NAK to the retransmission]"""
    packets, generation, response = between(packets, pairs), [], []
    for at, each in enumerate(packets):
        found = each.frame.number in dropped and nak_of(packets, pairs, at)
        if not found:
            continue
        nak, resent = found
        delivered = next(
            later
            for later in packets[at + 1 :]
            if to(later) == pairs.receiver and later.frame.number not in dropped
        )
        time = packets[nak].frame.time
        generation.append(time - delivered.frame.time)
        if resent is not None:
            response.append(packets[resent].frame.time - time)
    return generation, response


# ---- CNPs ----

SCOPES = {
    "port": lambda sender, receiver: None,
    "pair": lambda sender, receiver: (sender, receiver),
    "address": lambda sender, receiver: sender,
}


class Cnps:
    """The CNPs that `receiver` sends: per port, per pair of addresses, or per address that gets
    them, no two within `least`."""

    def __init__(self, packets, receiver, scope, least):
        key = SCOPES[scope]
        self.marked, self.sent, self.expected, last = 0, *(collections.Counter() for _ in "12"), {}
        for each in packets:
            if each.opcode == CNP and each.src == receiver:
                self.sent[key(each.dst, each.src)] += 1
            elif is_data(each) and each.dst == receiver and each.ecn == CE:
                self.marked += 1
                place, time = key(each.src, each.dst), each.frame.time
                if place not in last or time - last[place] > least:
                    last[place] = time
                    self.expected[place] += 1
        self.is_right = self.sent == self.expected
