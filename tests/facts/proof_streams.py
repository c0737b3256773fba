"""
What the bytes of a capture prove of connections, told without the plugin: which CDC message announces which WRITEs,
what has been read, how much space is left, and how long a writer waited. RFC 7609 4.4, 4.5, A.4.

A cursor is known from the frame that carries it. What comes behind a gap has been seen, but its receiver may not have
it; so a number that depends on what the other side has said is a range between the two.
"""

import bisect
import collections
import struct

import wire
from proof_packets import ACCEPT, CONFIRM, NEVER, Right, is_write

BLOCKED, FAILOVER, CDC = 0x80, 0x08, 0xFE
LATE = 500_000_000  # nanoseconds that a reader may let a blocked writer wait

Rmb = collections.namedtuple("Rmb", "start size")


class Connection:
    """What Accept (of the server, side 1) and Confirm (of the client, side 0) say; None of what no CLC message tells."""

    def __init__(self):
        self.tokens, self.elements, self.since = [None, None], [None, None], [NEVER, NEVER]
        self.streams = [Stream(self), Stream(self)]  # by the side that sends

    def tell(self, side, clc):
        index, token, sizes, address = struct.unpack_from(">BIBxQ", clc.data, 45)
        size = 16384 << (sizes >> 4)
        self.tokens[side], self.since[side] = token, clc.frame
        self.elements[side] = Rmb(address + (index - 1) * size, size)


class Stream:
    """One direction: its CDC messages and WRITEs in the order of sending."""

    def __init__(self, connection):
        self.connection, self.events = connection, []

    def cdcs(self):
        return [each for each in self.events if isinstance(each, Cdc)]

    def writes(self):
        return [each for each in self.events if isinstance(each, Write)]


class Event:
    def __init__(self, sent):
        self.sent = sent

    @property
    def first(self):
        return self.sent.first

    @property
    def frames(self):
        return self.sent.frames


class Cdc(Event):
    """A CDC message. Its cursors become positions when the sizes of the elements are known."""

    def __init__(self, sent, data):
        super().__init__(sent)
        self.seq, self.token = struct.unpack_from(">HI", data, 2)
        prod_wrap, prod, cons_wrap, cons = struct.unpack_from(">HIxxHI", data, 10)
        self.prod, self.cons, self.flags = (prod_wrap, prod), (cons_wrap, cons), data[24]
        self.end = self.read = None  # positions
        self.before = None  # the message before it in the stream
        self.writes = []

    @property
    def blocked(self):
        return bool(self.flags & BLOCKED)


class Write(Event):
    """A packet of an RDMA WRITE: where it writes."""

    def __init__(self, sent, address, length):
        super().__init__(sent)
        self.address, self.length = address, length
        self.position = self.announced = None

    @property
    def end(self):
        return self.position + self.length


# ---- whose message, whose WRITE ----


def connections(capture):
    found = {}
    for clc in capture.clc:
        if clc.data[:4] == wire.SMC_R and clc.data[4] in (ACCEPT, CONFIRM):
            connection = found.setdefault(frozenset(clc.ends), Connection())
            connection.tell(int(clc.data[4] == ACCEPT), clc)
    return list(found.values())


def latest(known, side, frame, fits):
    """The last connection that was told of before a frame and fits."""
    return max((each for each in known if each.since[side] < frame and fits(each)),
               key=lambda each: each.since[side], default=None)


def cdc_of(sent, capture):
    data = capture.payload[sent.first]
    return Cdc(sent, data) if sent.header.opcode == wire.SEND_ONLY and data[0] == CDC and len(data) == 44 else None


def write_of(sent, capture, place):
    """`place`: where the next packet of each flow writes: {(life, PSN): address}."""
    data, opcode = capture.payload[sent.first], sent.header.opcode
    if opcode in (wire.WRITE_FIRST, wire.WRITE_ONLY):
        address, data = int.from_bytes(data[:8], "big"), data[wire.RETH:]
    else:
        address = place.get((sent.life, sent.psn))
    if address is not None:
        place[sent.life, sent.psn + 1] = address + len(data)
    return Write(sent, address, len(data))


def unknown_connection(late, side, token):
    """Connections that began before the capture: both hosts give them the same token, as Linux does."""
    return late.setdefault(token, Connection())


def streams(capture):
    """Sort all CDC messages and WRITEs into connections; returns these."""
    known, late, place, homeless = connections(capture), {}, {}, collections.defaultdict(list)
    for sent in capture.sent:
        side = capture.side(sent.header.flow)
        if side is None:
            continue
        if is_write(sent.header.opcode):
            write = write_of(sent, capture, place)
            owner = latest(known, 1 - side, sent.first, lambda each: holds(each.elements[1 - side], write))
            if owner:
                owner.streams[side].events.append(write)
            else:
                homeless[sent.life].append(write)
        elif cdc := cdc_of(sent, capture):
            owner = latest(known, 1 - side, sent.first, lambda each: each.tokens[1 - side] == cdc.token)
            owner = owner or unknown_connection(late, side, cdc.token)
            if not cdc.flags & FAILOVER:
                if owner not in known:
                    owner.streams[side].events += homeless.pop(sent.life, [])
                owner.streams[side].events.append(cdc)
    return known + list(late.values())


def holds(element, write):
    return element and write.address is not None and element.start <= write.address < element.start + element.size


# ---- positions ----


def position(cursor, element):
    """None where nobody told the size of the element, and the cursor has wrapped."""
    wrap, count = cursor
    if element is None:
        return count if not wrap else None
    return wrap * element.size + count


def set_positions(connection):
    for side, stream in enumerate(connection.streams):
        mine, other = connection.elements[side], connection.elements[1 - side]
        before = None
        for cdc in stream.cdcs():
            cdc.end, cdc.read, cdc.before = position(cdc.prod, other), position(cdc.cons, mine), before
            before = cdc
        if other:
            set_places(stream, other)
        set_announcements(stream)


def set_places(stream, element):
    """Between what was announced and what fits into the element, each byte of the element has one position."""
    base = 0
    for event in stream.events:
        if isinstance(event, Cdc):
            base = max(base, event.end)
        else:
            offset = event.address - element.start
            event.position = base + (offset - base) % element.size


def set_announcements(stream):
    """The message that announces a WRITE: the first that is sent after it and whose cursor is not before its end."""
    waiting = []
    for event in stream.events:
        if isinstance(event, Write):
            waiting.append(event)
            continue
        if event.end is None:
            continue
        for write in waiting:
            if write.position is None or write.end <= event.end:
                write.announced = event
                event.writes.append(write)
        set_unknown_places(event)
        waiting = [write for write in waiting if not write.announced]


def set_unknown_places(cdc):
    """Where nobody told the address of the element, WRITEs end where the message that announces them says."""
    end = cdc.end
    for write in reversed(cdc.writes):
        if write.position is not None:
            break
        write.position = end = end - write.length


# ---- what is known at a frame ----


class Known:
    """The highest of a value that messages have told up to a frame: surely (nothing before it is missing), and at most."""

    def __init__(self, pairs):
        """`pairs`: (event, value)."""
        self.sure = self._rise(sorted((event.sent.ready, value) for event, value in pairs))
        self.seen = self._rise(sorted((event.first, value) for event, value in pairs))

    @staticmethod
    def _rise(pairs):
        frames, values, highest = [], [], 0
        for frame, value in pairs:
            highest = max(highest, value)
            frames.append(frame)
            values.append(highest)
        return frames, values

    @staticmethod
    def _at(rise, frame):
        place = bisect.bisect_right(rise[0], frame)
        return rise[1][place - 1] if place else 0

    def at(self, frame):
        """(least, most)"""
        return self._at(self.sure, frame), self._at(self.seen, frame)


def span(least, most):
    return range(max(0, least), most + 1)


# ---- what is right ----


def right_of_cursors(stream, right):
    """What a message says of itself, whichever packet carries it."""
    for cdc in stream.cdcs():
        for frame in cdc.frames:
            if cdc.end is None or cdc.read is None:
                continue
            right.allow("smcr.cdc.announced", frame, cdc.end)
            right.allow("smcr.cdc.consumed", frame, cdc.read)
            if cdc.before or cdc.seq == 1:
                end, read = (cdc.before.end, cdc.before.read) if cdc.before else (0, 0)
                right.allow("smcr.cdc.len", frame, cdc.end - end)
                right.allow("smcr.cdc.read", frame, cdc.read - read)


def right_of_writes(stream, right):
    for write in stream.writes():
        if write.position is not None:
            for frame in write.frames + write.sent.copies:
                right.allow("smcr.stream.offset", frame, write.position)
        if write.announced:
            for frame in write.frames:
                right.allow("smcr.announced_in", frame, *write.announced.frames)
    right_of_lacking(stream, right)
    for cdc in stream.cdcs():
        if cdc.writes:
            for frame in cdc.frames:
                right.allow("smcr.cdc.writes", frame, len(cdc.writes))
                right.allow("smcr.cdc.first_write", frame, *cdc.writes[0].frames)
                right.allow("smcr.cdc.last_write", frame, *cdc.writes[-1].frames)


def right_of_lacking(stream, right):
    """Bytes directly before a WRITE that no packet of the capture carries."""
    end = None
    for write in sorted((each for each in stream.writes() if each.position is not None), key=lambda each: each.position):
        if end is not None and write.position > end:
            for frame in write.frames:
                right.allow("smcr.stream.gap", frame, write.position - end)
        end = max(end or 0, write.end)


def right_of_windows(connection, side, right):
    """`stream` fills the other side's element; `back` frees it."""
    stream, back = connection.streams[side], connection.streams[1 - side]
    mine, other = connection.elements[side], connection.elements[1 - side]
    read = Known([(cdc, cdc.read) for cdc in back.cdcs() if cdc.read is not None])
    announced = Known([(cdc, cdc.end) for cdc in back.cdcs() if cdc.end is not None])
    for cdc in stream.cdcs():
        if cdc.end is None or cdc.read is None:
            continue
        for frame in cdc.frames:
            least, most = read.at(frame)
            unread = right["smcr.window.unread"][frame] = span(cdc.end - most, cdc.end - least)
            if other:
                free = right["smcr.window.free"][frame] = span(other.size - unread[-1], other.size - unread[0])
                right["smcr.window.percent"][frame] = span(free[0] * 100 // other.size, free[-1] * 100 // other.size)
                if 0 in free:
                    right.allow("smcr.window.full", frame, 1)
            if mine:
                least, most = announced.at(frame)
                right["smcr.window.offered"][frame] = span(mine.size - max(0, most - cdc.read),
                                                           mine.size - max(0, least - cdc.read))
            if cdc.blocked:
                right.allow("smcr.window.writer_blocked", frame, 1)
    written = Known([(write, write.end) for write in stream.writes() if write.position is not None])
    for write in stream.writes():
        for frame in write.frames if write.position is not None else ():
            least, most = read.at(frame)
            right["smcr.window.written"][frame] = span(write.end - most, max(write.end, written.at(frame)[1]) - least)


def right_of_reading(capture, connection, side, right):
    """The last message of the other side all of whose bytes a message says to be read."""
    back = [cdc for cdc in connection.streams[1 - side].cdcs()
            if cdc.end is not None and cdc.end > (cdc.before.end if cdc.before else 0)]
    ends = [cdc.end for cdc in back]
    for cdc in connection.streams[side].cdcs():
        place = bisect.bisect_right(ends, cdc.read) if cdc.read is not None else 0
        if place:
            for frame in cdc.frames:
                right.allow("smcr.cdc.read_of", frame, *back[place - 1].frames)
                right.allow("smcr.cdc.read_time", frame, *(capture.times[frame] - capture.times[each]
                                                           for each in back[place - 1].frames))


def right_of_blocked(capture, connection, side, right):
    """
    A writer waits from the message that says so to its next WRITE. A message of the reader that frees space after half
    a second of it is late.
    """
    since, waits = None, []  # waits: (message, frame of the WRITE)
    for event in connection.streams[side].events:
        if isinstance(event, Write):
            if since:
                waits.append((since, event.first))
                right.allow("smcr.window.blocked_since", event.first, since.first)
                right.allow("smcr.window.blocked_time", event.first, capture.times[event.first] - capture.times[since.first])
            since = None
        elif event.blocked:
            since = since or event
    if since:
        waits.append((since, NEVER))
    for cdc in connection.streams[1 - side].cdcs():
        if any(since.first < cdc.first < until and capture.times[cdc.first] - capture.times[since.first] > LATE
               for since, until in waits) and cdc.before and cdc.before.read != cdc.read:
            right.allow("smcr.window.late_update", cdc.first, 1)


def right_of_full(capture, connection, side, right):
    """
    A window is full from the message that leaves no space to the first of the other side that frees some.
    """
    stream, back = connection.streams[side], connection.streams[1 - side]
    element = connection.elements[1 - side]
    if not element:
        return
    frees = sorted(((cdc.read, cdc.first, cdc) for cdc in back.cdcs() if cdc.read is not None), key=lambda each: each[:2])
    for cdc in stream.cdcs():
        if cdc.before is not None and cdc.end == cdc.before.end:
            continue
        opened = next((each for each in frees if each[0] > cdc.end - element.size), None)
        if opened and opened[1] > cdc.first:
            for frame in opened[2].sent.moments:
                right.allow("smcr.window.opened", frame, 1)
                for start in cdc.sent.moments:
                    right.allow("smcr.window.full_since", frame, start)
                    right.allow("smcr.window.full_time", frame, capture.times[frame] - capture.times[start])


def right_of_streams(capture):
    right = Right()
    for connection in streams(capture):
        set_positions(connection)
        for side, stream in enumerate(connection.streams):
            right_of_cursors(stream, right)
            right_of_writes(stream, right)
            right_of_windows(connection, side, right)
            right_of_reading(capture, connection, side, right)
            right_of_blocked(capture, connection, side, right)
            right_of_full(capture, connection, side, right)
    return right
