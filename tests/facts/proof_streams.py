"""
What the bytes of a capture prove of connections, told without the plugin: whose each CDC message
and RDMA WRITE is, where in the byte stream, and which message announces which WRITEs. RFC 7609 4.4,
4.5, A.4.
"""

import collections
import struct

import wire
from proof_packets import ACCEPT, NEVER, is_accept_or_confirm, is_write

BLOCKED, UPDATE_REQUESTED, FAILOVER, CDC = 0x80, 0x10, 0x08, 0xFE
CONFIRM_LINKS, NO_EYECATCHER, EYECATCHER = (0x01, 0x21), 0x03, 4

Rmb = collections.namedtuple("Rmb", "start size base")


class Connection:
    """What Accept (of the server, side 1) and Confirm (of the client, side 0) say; None of what no
    message tells."""

    def __init__(self):
        self.tokens, self.elements, self.since = [None, None], [None, None], [NEVER, NEVER]
        self.bases = [0, 0]  # bytes at the beginning of each element that carry no data
        self.streams = [Stream(self), Stream(self)]  # by the side that sends

    def tell(self, side, clc):
        """An element holds data behind its eyecatcher, where it has one."""
        index, token, sizes, address = struct.unpack_from(">BIBxQ", clc.data, 45)
        size = 16384 << (sizes >> 4)
        self.tokens[side], self.since[side] = token, clc.frame
        self.elements[side] = Rmb(address + (index - 1) * size, size, 0)

    def data_of(self, side):
        """The part of a side's element that holds data."""
        element, base = self.elements[side], self.bases[side]
        return element and Rmb(element.start + base, element.size - base, base)


class Stream:
    """One direction: its CDC messages and WRITEs in the order of sending."""

    def __init__(self, connection):
        self.connection, self.events = connection, []

    def cdcs(self):
        """CDC messages, but for those that say no more than that the connection moves to another
        link."""
        return [each for each in self.events if isinstance(each, Cdc) and not each.moves]

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
    def moves(self):
        return bool(self.flags & FAILOVER)

    @property
    def blocked(self):
        return bool(self.flags & BLOCKED) and not self.moves


class Write(Event):
    """A packet of an RDMA WRITE: where it writes."""

    def __init__(self, sent, address, data):
        super().__init__(sent)
        self.address, self.length, self.data = address, len(data), data
        self.position = self.announced = None

    @property
    def end(self):
        return self.position + self.length


# ---- whose message, whose WRITE ----


def connections(capture):
    found = {}
    for clc in capture.clc:
        if is_accept_or_confirm(clc):
            connection = found.setdefault(frozenset(clc.ends), Connection())
            connection.tell(int(clc.data[4] == ACCEPT), clc)
    return list(found.values())


def latest(known, side, frame, fits):
    """The last connection that was told of before a frame and fits."""
    return max(
        (each for each in known if each.since[side] < frame and fits(each)),
        key=lambda each: each.since[side],
        default=None,
    )


def cdc_of(sent, capture):
    data = capture.payload[sent.first]
    return (
        Cdc(sent, data)
        if sent.header.opcode == wire.SEND_ONLY and data[0] == CDC and len(data) == 44
        else None
    )


def write_of(sent, capture, place):
    """`place`: where the next packet of each flow writes: {(life, PSN): address}."""
    data, opcode = capture.payload[sent.first], sent.header.opcode
    if opcode in (wire.WRITE_FIRST, wire.WRITE_ONLY):
        address, data = int.from_bytes(data[:8], "big"), data[wire.RETH :]
    else:
        address = place.get((sent.life, sent.psn))
    if address is not None:
        place[sent.life, sent.psn + 1] = address + len(data)
    return Write(sent, address, data)


class Sorter:
    """Sorts CDC messages and WRITEs, in the order of sending, into connections."""

    def __init__(self, capture):
        self.capture, self.known, self.place = capture, connections(capture), {}
        self.late = (
            {}
            # connections older than the capture, by token: both hosts give the same one, as Linux
            # does
        )
        self.homeless = collections.defaultdict(
            list
        )  # WRITEs that nobody told the element of, by life

    def write(self, sent, side):
        write = write_of(sent, self.capture, self.place)
        owner = latest(
            self.known, 1 - side, sent.first, lambda each: holds(each.elements[1 - side], write)
        )
        (owner.streams[side].events if owner else self.homeless[sent.life]).append(write)

    def cdc(self, cdc, side):
        """A WRITE that nobody told the element of belongs to the next message on its link, if that
        is as unknown."""
        owner = latest(
            self.known, 1 - side, cdc.first, lambda each: each.tokens[1 - side] == cdc.token
        )
        if not owner:
            owner = self.late.setdefault(cdc.token, Connection())
            owner.streams[side].events += self.homeless.pop(cdc.sent.life, [])
        owner.streams[side].events.append(cdc)


def streams(capture):
    """The connections of a capture with all that they carry, and its positions."""
    sorter = Sorter(capture)
    for sent in capture.sent:
        side = capture.side(sent.header.flow)
        if side is not None and is_write(sent.header.opcode):
            sorter.write(sent, side)
        elif side is not None and (cdc := cdc_of(sent, capture)):
            sorter.cdc(cdc, side)
    eyecatchers = [behind_eyecatcher(capture, side) for side in (0, 1)]
    for connection in sorter.known:
        connection.bases = eyecatchers
    found = sorter.known + list(sorter.late.values())
    for connection in found:
        set_positions(connection)
    return found


def behind_eyecatcher(capture, side):
    """4 where the elements of a side begin with the eyecatcher of RFC 7609, as its CONFIRM LINK
    says."""
    flags = [
        capture.payload[sent.first][3]
        for sent in capture.sent
        if sent.header.opcode == wire.SEND_ONLY
        and capture.payload[sent.first][0] in CONFIRM_LINKS
        and capture.side(sent.header.flow) == side
    ]
    return EYECATCHER if flags and not flags[0] & NO_EYECATCHER else 0


def holds(element, write):
    return (
        element
        and write.address is not None
        and element.start <= write.address < element.start + element.size
    )


# ---- positions ----


def position(cursor, element):
    """
    Where a cursor is in the byte stream. None where nobody told the size of the element, and the
    cursor has wrapped. A cursor that has not moved may be 0, whatever the base.
    """
    wrap, count = cursor
    if element is None:
        return count if not wrap else None
    return wrap * element.size + max(0, count - (element.base if count or wrap else 0))


def set_positions(connection):
    for side, stream in enumerate(connection.streams):
        mine, other = connection.data_of(side), connection.data_of(1 - side)
        before = None
        for cdc in stream.cdcs():
            cdc.end, cdc.read, cdc.before = (
                position(cdc.prod, other),
                position(cdc.cons, mine),
                before,
            )
            before = cdc
        if other:
            set_places(stream, other)
        set_announcements(stream)


def set_places(stream, element):
    """
    Between what was announced and what fits into the element, each byte of the element has one
    position. After a move what was announced may be written again: before the end that the next
    message names.
    """
    base, moved = 0, False
    for place, event in enumerate(stream.events):
        if isinstance(event, Cdc):
            base, moved = (base, True) if event.moves else (max(base, event.end), False)
            continue
        offset = event.address - element.start
        if moved:
            end = next(
                (
                    each.end
                    for each in stream.events[place:]
                    if isinstance(each, Cdc) and not each.moves
                ),
                base,
            )
            event.position = end - event.length - (end - event.length - offset) % element.size
        else:
            event.position = base + (offset - base) % element.size


def set_announcements(stream):
    """The message that announces a WRITE: the first that is sent after it and whose cursor is not
    before its end."""
    waiting = []
    for event in stream.events:
        if isinstance(event, Write):
            waiting.append(event)
            continue
        if event.moves or event.end is None:
            continue
        for write in waiting:
            if write.position is None or write.end <= event.end:
                write.announced = event
                event.writes.append(write)
        set_unknown_places(event)
        waiting = [write for write in waiting if not write.announced]


def set_unknown_places(cdc):
    """Where nobody told the address of the element, WRITEs end where the message that announces
    them says."""
    end = cdc.end
    for write in reversed(cdc.writes):
        if write.position is not None:
            break
        write.position = end = end - write.length


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
    for cdc in stream.cdcs():
        if cdc.writes:
            for frame in cdc.frames:
                right.allow("smcr.cdc.writes", frame, len(cdc.writes))
                right.allow("smcr.cdc.first_write", frame, *cdc.writes[0].frames)
                right.allow("smcr.cdc.last_write", frame, *cdc.writes[-1].frames)


def right_of_lacking(stream, right):
    """Bytes that no packet of the capture carries: directly before a WRITE, and in what a message
    announces."""
    gaps, end = [], None
    for write in sorted(
        (each for each in stream.writes() if each.position is not None),
        key=lambda each: each.position,
    ):
        if end is not None and write.position > end:
            gaps.append((end, write.position))
            for frame in write.frames:
                right.allow("smcr.stream.gap", frame, write.position - end)
        end = max(end or 0, write.end)
    gaps.append((end or 0, NEVER))
    for cdc in stream.cdcs():
        start = cdc.before.end if cdc.before else 0
        if cdc.end is not None and any(
            max(start, first) < min(cdc.end, last) for first, last in gaps
        ):
            for frame in cdc.frames:
                right.allow("smcr.cdc.unseen_data", frame, 1)


def right_of_starts(capture, right):
    """No packet before this one begins the RDMA WRITE: the first one has come later, or not at
    all."""
    sent = {(each.life, each.psn): each for each in capture.sent}
    for each in capture.sent:
        first = each
        while first and first.header.opcode in (wire.WRITE_MIDDLE, wire.WRITE_LAST):
            first = sent.get((first.life, first.psn - 1))
        for frame in each.frames if is_write(each.header.opcode) and first is not each else ():
            if not first or first.first > frame:
                right.allow("smcr.write.no_start", frame, 1)


def right_of_updates(capture, connection, side, right):
    """What asks for the consumer cursor is answered by the first message that has it moved (RFC
    7609 4.5.1)."""
    back = [
        cdc
        for cdc in connection.streams[1 - side].cdcs()
        if cdc.read is not None and cdc.read > (cdc.before.read if cdc.before else 0)
    ]
    for request in connection.streams[side].cdcs():
        if not request.flags & UPDATE_REQUESTED:
            continue
        answer = next((cdc for cdc in back if cdc.first > request.first), None)
        for frame in request.frames:
            right.allow(
                *("smcr.response_in", frame, *answer.frames)
                if answer
                else ("smcr.no_response", frame, 1)
            )
        for frame in answer.frames if answer else ():
            right.allow("smcr.request_in", frame, *request.frames)
            right.allow(
                "smcr.response_time",
                frame,
                capture.times[answer.first] - capture.times[request.first],
            )
