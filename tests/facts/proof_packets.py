"""
What the bytes of a capture prove of its packets, told without the plugin: who sent each, in which
order, which are retransmitted, and which packet an acknowledgement means. Definitions:
docs/fabric.md.

What is right is a table, {field: {frame: values}}. Any of these values may be shown in this frame,
and nothing else.
"""

import collections
import functools
import itertools
import json
import pathlib

import rc_reader
import wire

UNKNOWN_CAUSE = 1
CAUSES = {
    "unknown": UNKNOWN_CAUSE,
    "rnr": 2,
    "nak": 3,
    "read": 4,
    "timeout": 5,
}  # smcr.resent.cause
ICMP, UNREACHABLE = 1, 3
NEVER = 1 << 62  # the number of a frame that does not come
GID = slice(16, 32)
ACCEPT, CONFIRM = 2, 3
CLIENT, SERVER = 0, 1
ADD_LINKS, REJECTED, RESPONSE = (0x02, 0x22), 0x40, 0x80
CLC_LENGTH, LLC_LENGTH = 68, 44  # an Accept or Confirm has at least so many bytes


class Right(collections.defaultdict):
    """What is right: {field: {frame: set or range of values}}."""

    def __init__(self):
        super().__init__(dict)
        self.unsure = set()  # {(field, frame)}: may be shown, but need not be true

    def join(self, other):
        for field, frames in other.items():
            self[field].update(frames)
        self.unsure |= other.unsure

    def allow(self, field, frame, *values):
        self[field].setdefault(frame, set()).update(values)


class Sent:
    """
    What a sender gave one PSN: all packets that carry it, the first of them, and the first that its
    receiver did not discard behind a gap. `turn` is its place in the order of sending.
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
        """The frames with which it may be said to happen: when it was sent, and when its receiver
        took it."""
        return {self.first} | ({self.delivered} - {NEVER})


class Capture:
    """The RC packets of a capture, judged by the second reader (rc_reader.py), and their
    payloads."""

    def __init__(self, path, truth=None):
        self.clc = clc_messages(path)
        self.payload = {each.frame: each.payload for each in wire.roce(path)}
        self.headers, numbers = headers(path, truth, self)
        self.ends = {number: flow for flow, number in numbers.items()}
        self.by_frame = {each.frame: each for each in self.headers}
        self.verdicts, self.lives = judge(self.headers)
        self.copies = {
            frame: each.of for frame, each in self.verdicts.items() if each.verdict == "copy"
        }
        self.copies |= quoted(path, self.headers, self.ends)
        self.times = {number: time for number, _, _, time in raw_frames(path)}
        self.queue_pairs = {
            queue_pair(each): of_type(each) for each in self.clc if is_accept_or_confirm(each)
        }
        self.sides = sides(self)
        self.sent = sent_in_order(self)

    def side(self, flow):
        """Who sends a flow: CLIENT, SERVER, or None. A host that talks to itself is told by its
        queue pairs."""
        source, target, qpn = self.ends[flow]
        peer = self.queue_pairs.get((gid(target), qpn))
        return self.sides.get(gid(source)) if peer is None else 1 - peer


def headers(path, truth, capture):
    """As the second reader has them. Where nothing else tells the reverse of a flow, announcements
    do."""
    packets = frames(path)
    flows = list(dict.fromkeys(rc_reader.flow_of(each) for each in packets))
    pairs = announced_pairs(capture, packets)
    sources = {
        flow: pairs[gid(flow[1]), flow[2]][1] for flow in flows if (gid(flow[1]), flow[2]) in pairs
    }
    if truth:
        sources |= rc_reader.sources_from_truth(
            flows, json.loads(truth.read_text(encoding="utf-8"))
        )
    else:
        sources |= rc_reader.sources_from_ports(packets)
    backs = {flow: (flow[1], flow[0], source) for flow, source in sources.items()}
    numbers = {
        flow: position for position, flow in enumerate(dict.fromkeys([*flows, *backs.values()]))
    }
    found = [
        rc_reader.Header(
            each.number,
            each.time,
            numbers[rc_reader.flow_of(each)],
            numbers.get(backs.get(rc_reader.flow_of(each)), -1),
            each.opcode,
            each.psn,
            each.dma_length,
            each.payload_length,
            each.syndrome,
            each.ip_id,
            each.hop_limit,
        )
        for each in packets
    ]
    return found, numbers


def raw_frames(path):
    """(number, link type, bytes, time in nanoseconds)"""
    reader = rc_reader.RawPcapReader(str(path))
    try:
        linktype = getattr(reader, "linktype", wire.ETHERNET)
        for number, (data, meta) in enumerate(reader, 1):
            yield number, getattr(meta, "linktype", linktype), bytes(data), rc_reader._nanoseconds(
                meta
            )
    finally:
        reader.close()


def frames(path):
    """The packets of RC and UC: RoCEv2 as the second reader reads them, and what has a GRH, RoCEv1
    and InfiniBand."""
    found = []
    for number, linktype, data, time in raw_frames(path):
        if linktype == wire.EXPORTED_PDU:
            continue
        if linktype == wire.ERF:
            data = bytes(12) + b"\x89\x15" + data[wire.ERF_HEADER + wire.LRH :]
        elif linktype == wire.COOKED:
            data = data[2:]
        found.append(global_route(number, time, data) or rc_reader._frame(number, time, data))
    return [each for each in found if each]


def global_route(number, time, data):
    """The packet of an Ethernet frame of RoCEv1; None if it is none."""
    start, ethertype = 14, wire.u16(data, 12)
    while ethertype == wire.VLAN:
        start, ethertype = start + 4, wire.u16(data, start + 2)
    if ethertype != wire.ROCEV1:
        return None
    grh = data[start:]
    return rc_reader._roce(
        number,
        time,
        (grh[8:24], grh[24:40]),
        0,
        (-1, grh[7]),
        grh[wire.GRH : wire.GRH + wire.u16(grh, 4)],
    )


def announced_pairs(capture, packets):
    """
    Queue pairs that belong together, as (GID, number): those of Accept and Confirm of a connection,
    those of ADD LINK and its response.
    """
    pairs, accepts, adds = {}, {}, {}
    for clc in capture.clc:
        if is_accept_or_confirm(clc):
            one = queue_pair(clc)
            if clc.data[4] == ACCEPT:
                accepts[clc.ends] = one
            elif clc.ends[::-1] in accepts:
                pairs |= both_ways(one, accepts[clc.ends[::-1]])
    for packet in packets:
        data = capture.payload.get(packet.number, b"")
        if is_add_link(packet, data):
            one, ends = added(data), frozenset((packet.source, packet.target))
            if data[3] & RESPONSE and ends in adds:
                pairs |= both_ways(one, adds[ends])
            elif not data[3] & RESPONSE:
                adds[ends] = one
    return pairs


def both_ways(one, other):
    return {one: other, other: one}


def is_add_link(packet, data):
    """An ADD LINK that names a queue pair of its sender: a rejection repeats what the other side
    said."""
    return (
        packet.opcode == wire.SEND_ONLY
        and len(data) >= LLC_LENGTH
        and data[0] in ADD_LINKS
        and not data[3] & REJECTED
    )


def added(data):
    """The GID and the number of the queue pair in an ADD LINK: two bytes earlier where RFC 7609 has
    them."""
    start = 10 if any(data[10:12]) else 12
    return data[start : start + 16], int.from_bytes(data[start + 16 : start + 19], "big")


@functools.cache
def read(path):
    path = pathlib.Path(path)
    truth = path.parent / (path.name.split(".pcap")[0] + ".json")
    return Capture(path, truth if path.parent.name == "fabric" else None)


def judge(headers):
    """The verdict of each packet, and the lives of the flows, whose events carry what was found."""
    reader = rc_reader.read_in(headers)
    for life in reader.lives:
        rc_reader.find_waits(life)
        rc_reader.Steps(life).run()
        rc_reader.find_discarded(life)
        rc_reader.find_silence(life)
    found = {each.frame: each for each in reader.responses.values()}
    return found | {each.header.frame: each for each in reader.requests.values()}, reader.lives


def quoted(path, headers, ends):
    """Packets that an ICMP error quotes are copies: {frame: frame of the packet}."""
    sent = {
        (ends[each.flow], each.opcode, each.psn, each.ip_id): each.frame
        for each in reversed(headers)
    }
    found = {}
    for number, _, data, _ in raw_frames(path):
        if data[12:14] == b"\x08\x00" and data[23] == ICMP and data[34] == UNREACHABLE:
            each = rc_reader._frame(number, 0, data[:14] + data[42:])
            key = each and (rc_reader.flow_of(each), each.opcode, each.psn, each.ip_id)
            if key in sent:
                found[number] = sent[key]
    return found


# ---- who is who ----

Clc = collections.namedtuple("Clc", "frame ends data")


def clc_messages(path):
    """CLC messages with the ends of their TCP connection."""
    ends = {each.frame: each.ends for each in wire.packets(path) if isinstance(each, wire.Segment)}
    return [Clc(each.frame, ends[each.frame], each.data) for each in wire.clc_messages(path)]


def is_accept_or_confirm(clc):
    return (
        clc.data[:4] == wire.SMC_R
        and clc.data[4] in (ACCEPT, CONFIRM)
        and len(clc.data) >= CLC_LENGTH
    )


def queue_pair(clc):
    return clc.data[GID], int.from_bytes(clc.data[38:41], "big")


def of_type(clc):
    """Who sends an Accept or Confirm."""
    return SERVER if clc.data[4] == ACCEPT else CLIENT


def gid(address):
    return address if len(address) == 16 else bytes(10) + b"\xff\xff" + address


def sides(capture):
    """
    {GID: CLIENT or SERVER}: an Accept names one of the server, a Confirm one of the client, an ADD
    LINK another one of its sender. Whoever exchanges packets with the one is the other.
    """
    found = {each.data[GID]: of_type(each) for each in capture.clc if is_accept_or_confirm(each)}
    pairs = {(gid(source), gid(target)) for source, target, _ in capture.ends.values()}
    pairs |= {pair[::-1] for pair in pairs}
    news = added_gids(capture)
    while True:
        more = {
            one: 1 - found[other] for one, other in pairs if other in found and one not in found
        }
        more |= {new: found[old] for old, new in news if old in found and new not in found}
        if not more:
            return found
        found |= more


def added_gids(capture):
    """What ADD LINK says: {(GID of the sender, GID of its new queue pair)}."""
    return {
        (gid(capture.ends[header.flow][0]), added(capture.payload[header.frame])[0])
        for header in capture.headers
        if is_add_link(header, capture.payload[header.frame])
    }


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
    The receiver takes packets in the order of PSNs and discards all others. What it acknowledges it
    has taken, though the capture may lack the packet; what a NAK asks for it has not.
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
            expected = (
                event.psn
                if rc_reader.is_negative(event.header)
                else max(expected, event.covers + 1)
            )


def events_of(life, kind):
    return [each for each in life.events if isinstance(each, kind)]


def sent_in_order(capture):
    """
    All that was sent, in the order of sending. Within a flow that is the order of PSNs: a packet
    was sent before the first packet above it was captured, whenever it was captured itself.
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


# ---- what is right of packets that are retransmitted, or missing ----


def discarded_frames(capture):
    return {frame for frame, each in capture.verdicts.items() if getattr(each, "discarded", 0)}


def right_of_repeats(capture, right):
    discarded = discarded_frames(capture)
    for frame, of in capture.copies.items():
        right.allow("smcr.duplicate", frame, of)
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
            right.allow(
                "smcr.behind_gap",
                frame,
                *(jumper for psn, jumper in absent.items() if psn < event.start)
            )


# ---- what is right of acknowledgements ----


def is_acknowledgement(event):
    return event.header.opcode & 31 == rc_reader.ACKNOWLEDGE and event.psn is not None


def right_of_acknowledgements(capture, life, right):
    """
    An acknowledgement means the highest PSN that it covers; it points at the first packet with it,
    or at the last one, if the receiver discarded the first. That packet was acknowledged when the
    first acknowledgement covered it: what comes again says nothing new.
    """
    taker, last, covered, again = {}, {}, -rc_reader.PSNS, collections.defaultdict(list)
    for frame, of in capture.copies.items():
        again[of].append(frame)
    for event in life.events:
        if isinstance(event, rc_reader.Request):
            taker.setdefault(event.start, event.header)
            last[event.start] = event.header
        elif event.psn is not None:
            if is_acknowledgement(event) and event.covers in taker:
                frame = event.header.frame
                for meant in (taker[event.covers], last[event.covers]):
                    for each in [frame, *again[frame]]:
                        right.allow("smcr.acks", each, meant.frame)
                    if event.covers > covered:
                        right.allow("smcr.ack_time", frame, event.header.time - meant.time)
            covered = max(covered, event.covers)


def is_write(opcode):
    return opcode in (wire.WRITE_FIRST, wire.WRITE_MIDDLE, wire.WRITE_LAST, wire.WRITE_ONLY)


def right_of_acknowledged_writes(life, right):
    """
    The first acknowledgement that covers a WRITE, which nothing has covered before it was sent, and
    which was not discarded.
    """
    waiting, covered = [], -rc_reader.PSNS
    for event in life.events:
        if isinstance(event, rc_reader.Request):
            if event.start > covered and is_write(event.header.opcode) and not event.discarded:
                waiting.append(event)
        elif event.psn is not None:
            covered = max(covered, event.covers)
            for request in waiting:
                if request.start <= covered:
                    frame = request.header.frame
                    right.allow("smcr.write.acked_in", frame, event.header.frame)
                    right.allow(
                        "smcr.write.ack_time", frame, event.header.time - request.header.time
                    )
            waiting = [request for request in waiting if request.start > covered]


def carries_messages(capture, life):
    """Is it a flow of SMC-R? Then the plugin is to speak of it."""
    return any(
        each.header.opcode == wire.SEND_ONLY
        and capture.payload[each.header.frame][1:2] == bytes([LLC_LENGTH])
        for each in events_of(life, rc_reader.Request)
    )


def right_of_packets(capture):
    right = Right()
    right_of_repeats(capture, right)
    for life in capture.lives:
        found = Right()
        right_of_gaps(life, found)
        right_of_acknowledgements(capture, life, found)
        right_of_acknowledged_writes(life, found)
        if not carries_messages(capture, life):
            found.unsure |= {(field, frame) for field, frames in found.items() for frame in frames}
        right.join(found)
    return right
