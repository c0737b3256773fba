"""
What the bytes of a capture prove of its packets, told without the plugin: who sent each, in which order, which are sent
again, and which packet an acknowledgement means. Definitions: docs/fabric.md.

What is right is a table {field: {frame: values}}: any of these values may be shown in this frame, and nothing else.
"""

import collections
import functools
import itertools
import pathlib

import rc_reader
import wire

UNKNOWN_CAUSE = 1
CAUSES = {"unknown": UNKNOWN_CAUSE, "rnr": 2, "nak": 3, "read": 4, "timeout": 5}  # smcr.resent.cause
ICMP, UNREACHABLE = 1, 3
NEVER = 1 << 62  # the number of a frame that does not come
GID = slice(16, 32)
ACCEPT, CONFIRM = 2, 3
CLIENT, SERVER = 0, 1
ADD_LINKS, REJECTED = (0x02, 0x22), 0x40


class Right(collections.defaultdict):
    """What is right: {field: {frame: set or range of values}}."""

    def __init__(self):
        super().__init__(dict)

    def allow(self, field, frame, *values):
        self[field].setdefault(frame, set()).update(values)


class Sent:
    """
    What a sender gave one PSN: all packets that carry it, the first of them, and the first that its receiver did not
    discard behind a gap. `turn` is its place in the order of sending.
    """

    def __init__(self, life, psn, first):
        self.life, self.psn = life, psn
        self.header = first
        self.frames, self.copies, self.delivered = [], [], NEVER
        self.turn = None
        self.ready = NEVER  # the frame with which this packet and all before it have come

    @property
    def first(self):
        return self.header.frame

    @property
    def moments(self):
        """The frames with which it may be said to happen: when it was sent, and when its receiver took it."""
        return {self.first} | ({self.delivered} - {NEVER})


class Capture:
    """The RC packets of a capture, judged by the second reader (rc_reader.py), and their payloads."""

    def __init__(self, path, truth=None):
        self.headers, numbers = rc_reader.headers(path, truth)
        self.ends = {number: flow for flow, number in numbers.items()}
        self.by_frame = {each.frame: each for each in self.headers}
        self.verdicts, self.lives = judge(self.headers)
        self.copies = {frame: each.of for frame, each in self.verdicts.items() if each.verdict == "copy"}
        self.copies |= quoted(path, self.headers, self.ends)
        self.payload = {each.frame: each.payload for each in wire.roce(path)}
        self.clc = clc_messages(path)
        self.times = times(path)
        self.sides = sides(self)
        self.sent = sent_in_order(self)

    def side(self, flow):
        """Who sends a flow: CLIENT, SERVER, or None."""
        return self.sides.get(gid(self.ends[flow][0]))


@functools.cache
def read(path):
    path = pathlib.Path(path)
    truth = path.parent / (path.name.split(".pcap")[0] + ".json")
    return Capture(path, truth if path.parent.name == "fabric" else None)


def judge(headers):
    """The verdict of each packet, and the lives of the flows, whose events carry what was found."""
    reader = rc_reader.read_in(headers)
    for life in reader.lives:
        rc_reader.Steps(life).run()
        rc_reader.find_discarded(life)
        rc_reader.find_silence(life)
    found = {each.frame: each for each in reader.responses.values()}
    return found | {each.header.frame: each for each in reader.requests.values()}, reader.lives


def times(path):
    """{frame: time in nanoseconds}"""
    reader = rc_reader.RawPcapReader(str(path))
    try:
        return {number: rc_reader._nanoseconds(meta) for number, (_, meta) in enumerate(reader, 1)}
    finally:
        reader.close()


def quoted(path, headers, ends):
    """Packets that an ICMP error quotes are copies: {frame: frame of the packet}."""
    sent = {(ends[each.flow], each.opcode, each.psn, each.ip_id): each.frame for each in reversed(headers)}
    found, reader = {}, rc_reader.RawPcapReader(str(path))
    try:
        for number, (data, _) in enumerate(reader, 1):
            if data[12:14] == b"\x08\x00" and data[23] == ICMP and data[34] == UNREACHABLE:
                each = rc_reader._frame(number, 0, data[:14] + data[42:])
                key = each and (rc_reader.flow_of(each), each.opcode, each.psn, each.ip_id)
                if key in sent:
                    found[number] = sent[key]
    finally:
        reader.close()
    return found


# ---- who is who ----

Clc = collections.namedtuple("Clc", "frame ends data")


def clc_messages(path):
    """CLC messages with the ends of their TCP connection."""
    ends = {each.frame: each.ends for each in wire.packets(path) if isinstance(each, wire.Segment)}
    return [Clc(each.frame, ends[each.frame], each.data) for each in wire.clc_messages(path)]


def gid(address):
    return address if len(address) == 16 else bytes(10) + b"\xff\xff" + address


def sides(capture):
    """
    {GID: CLIENT or SERVER}: an Accept names one of the server, a Confirm one of the client, an ADD LINK another one of
    its sender. Whoever exchanges packets with the one is the other.
    """
    found = {each.data[GID]: SERVER if each.data[4] == ACCEPT else CLIENT for each in capture.clc
             if each.data[:4] == wire.SMC_R and each.data[4] in (ACCEPT, CONFIRM)}
    pairs = {(gid(source), gid(target)) for source, target, _ in capture.ends.values()}
    pairs |= {pair[::-1] for pair in pairs}
    news = added_gids(capture)
    while True:
        more = {one: 1 - found[other] for one, other in pairs if other in found and one not in found}
        more |= {new: found[old] for old, new in news if old in found and new not in found}
        if not more:
            return found
        found |= more


def added_gids(capture):
    """What ADD LINK says: {(GID of the sender, GID of its new queue pair)}. A rejection repeats what the other side said."""
    found = set()
    for header in capture.headers:
        data = capture.payload[header.frame]
        if (header.opcode == wire.SEND_ONLY and len(data) >= 44 and data[0] in ADD_LINKS and not data[3] & REJECTED
                and not any(data[10:12])):
            found.add((gid(capture.ends[header.flow][0]), data[12:28]))
    return found


# ---- the order of sending ----


def sent_of_life(life):
    """What was sent in one life, by PSN, with all packets that carry each."""
    found = {psn: Sent(life, psn, request.header) for psn, request in life.taker.items()}
    for request in events_of(life, rc_reader.Request):
        found[request.start].frames.append(request.header.frame)
    deliver(life, found)
    return [found[psn] for psn in sorted(found)]


def deliver(life, found):
    """
    The receiver takes packets in the order of PSNs and discards all others. What it acknowledges it has taken, though
    the capture may lack the packet; what a NAK asks for it has not.
    """
    expected, last = life.first, {}
    for event in life.events:
        if isinstance(event, rc_reader.Request):
            last[event.start] = event.header.frame
            if event.start == expected:
                found[expected].delivered, expected = event.header.frame, event.end + 1
        elif event.psn is not None:
            for psn in range(expected, event.covers + 1):
                if psn in last:
                    found[psn].delivered = last[psn]
            expected = event.psn if rc_reader.is_negative(event.header) else max(expected, event.covers + 1)


def events_of(life, kind):
    return [each for each in life.events if isinstance(each, kind)]


def sent_in_order(capture):
    """
    All that was sent, in the order of sending. Within a flow that is the order of PSNs: a packet was sent before the
    first packet above it was captured, whenever it was captured itself.
    """
    every = []
    for life in capture.lives:
        sent = sent_of_life(life)
        ready = itertools.accumulate((each.delivered for each in sent), max)
        turns = itertools.accumulate((each.first for each in reversed(sent)), min)
        for each, when in zip(sent, ready):
            each.ready = when
        for each, when in zip(reversed(sent), turns):
            each.turn = when
        every += sent
    by_frame = {frame: each for each in every for frame in each.frames}
    for frame, of in capture.copies.items():
        if of in by_frame:
            by_frame[of].copies.append(frame)
    return sorted(every, key=lambda each: (each.turn, each.psn))


# ---- what is right of packets that are sent again, or missing ----


def discarded_frames(capture):
    return {frame for frame, each in capture.verdicts.items() if getattr(each, "discarded", 0)}


def right_of_repeats(capture, right):
    discarded = discarded_frames(capture)
    for frame, of in capture.copies.items():
        right.allow("smcr.copy", frame, of)
    for frame, each in capture.verdicts.items():
        if not isinstance(each, rc_reader.Request):
            continue
        if each.verdict == "repeat":
            right.allow("smcr.retransmission", frame, each.of)
            if each.of in discarded:
                right.allow("smcr.sent_before", frame, each.of)
            if each.taken:
                right.allow("smcr.retransmission.taken", frame, 1)
        if each.silent:
            right.allow("smcr.peer_silent", frame, 1)
        if each.absent:
            right.allow("smcr.missing", frame, each.absent)
        if each.discarded:
            right.allow("smcr.discarded", frame, each.discarded)
        if each.cause != "-":
            right.allow("smcr.resent.cause", frame, CAUSES[each.cause], UNKNOWN_CAUSE)
            right.allow("smcr.resent.from", frame, each.step)


def right_of_gaps(life, right):
    """`open`: PSNs that are absent, each with the frame of the packet that jumped over it."""
    absent = {}
    for event in life.events:
        if isinstance(event, rc_reader.Answer):
            if event.psn is not None:
                absent = {psn: jumper for psn, jumper in absent.items() if psn > event.covers}
            continue
        frame = event.header.frame
        if event.absent:
            absent.update((psn, frame) for psn in range(event.highest + 1, event.start))
        absent.pop(event.start, None)
        if event.verdict == "behind":
            right.allow("smcr.behind_gap", frame, *(jumper for psn, jumper in absent.items() if psn < event.start))


# ---- what is right of acknowledgements ----


def is_acknowledgement(event):
    return event.header.opcode & 31 == rc_reader.ACKNOWLEDGE and event.psn is not None


def right_of_acknowledgements(capture, life, right):
    """
    An acknowledgement means the highest PSN that it covers; it points at the first packet with it. The time until that
    was acknowledged is the time of the first acknowledgement that covers it: what comes again says nothing new.
    """
    taker, covered, again = {}, -rc_reader.PSNS, collections.defaultdict(list)
    for frame, of in capture.copies.items():
        again[of].append(frame)
    for event in life.events:
        if isinstance(event, rc_reader.Request):
            taker.setdefault(event.start, event.header)
        elif event.psn is not None:
            if is_acknowledgement(event) and event.covers in taker:
                frame, meant = event.header.frame, taker[event.covers]
                for each in [frame, *again[frame]]:
                    right.allow("smcr.acks", each, meant.frame)
                if event.covers > covered:
                    right.allow("smcr.ack_time", frame, event.header.time - meant.time)
            covered = max(covered, event.covers)


def is_write(opcode):
    return opcode in (wire.WRITE_FIRST, wire.WRITE_MIDDLE, wire.WRITE_LAST, wire.WRITE_ONLY)


def right_of_acknowledged_writes(life, right):
    """The first acknowledgement that covers a WRITE, which nothing has covered before it was sent."""
    waiting, covered = [], -rc_reader.PSNS
    for event in life.events:
        if isinstance(event, rc_reader.Request):
            if event.start > covered and is_write(event.header.opcode):
                waiting.append(event)
        elif event.psn is not None:
            covered = max(covered, event.covers)
            for request in waiting:
                if request.start <= covered:
                    frame = request.header.frame
                    right.allow("smcr.write.acked_in", frame, event.header.frame)
                    right.allow("smcr.write.ack_time", frame, event.header.time - request.header.time)
            waiting = [request for request in waiting if request.start > covered]


def right_of_packets(capture):
    right = Right()
    right_of_repeats(capture, right)
    for life in capture.lives:
        right_of_gaps(life, right)
        right_of_acknowledgements(capture, life, right)
        right_of_acknowledged_writes(life, right)
    return right
