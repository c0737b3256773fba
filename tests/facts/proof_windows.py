"""
What the bytes of a capture prove of windows, told without the plugin: what has been read, how much
space is left, and how long a writer waited. RFC 7609 4.5.

A cursor is known from the frame that carries it. What comes behind a gap has been seen, but its
receiver may not have it; so a number that depends on what the other side has said is a range
between the two.
"""

import bisect
import itertools

import rc_reader
from proof_packets import NEVER, Right
from proof_streams import (
    Cdc,
    Write,
    right_of_cursors,
    right_of_lacking,
    right_of_starts,
    right_of_updates,
    right_of_writes,
    streams,
)

LATE = 500_000_000  # nanoseconds that a reader may let a blocked writer wait


class Known:
    """
    The highest of a value that messages have told up to a frame: surely, since nothing before them
    is missing, and at most.
    """

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
    return range(max(0, least), max(0, most) + 1)


# ---- what is right ----


def right_of_windows(connection, side, right):
    """What a message of this side says: of the other side's element, which it fills, and of its
    own."""
    stream, back = connection.streams[side], connection.streams[1 - side]
    mine, other = connection.data_of(side), connection.data_of(1 - side)
    read = Known([(cdc, cdc.read) for cdc in back.cdcs() if cdc.read is not None])
    announced = Known([(cdc, cdc.end) for cdc in back.cdcs() if cdc.end is not None])
    for cdc in stream.cdcs():
        for frame in cdc.frames if cdc.end is not None and cdc.read is not None else ():
            least, most = read.at(frame)
            unread = right["smcr.window.unread"][frame] = span(cdc.end - most, cdc.end - least)
            if other:
                right_of_space(other.size, unread, frame, right)
            if mine:
                least, most = announced.at(frame)
                right["smcr.window.offered"][frame] = span(
                    mine.size - max(0, most - cdc.read), mine.size - max(0, least - cdc.read)
                )
            if cdc.blocked:
                right.allow("smcr.window.writer_blocked", frame, 1)


def right_of_space(size, unread, frame, right):
    free = right["smcr.window.free"][frame] = span(size - unread[-1], size - unread[0])
    right["smcr.window.percent"][frame] = span(free[0] * 100 // size, free[-1] * 100 // size)
    if 0 in free:
        right.allow("smcr.window.full", frame, 1)
        if len(free) != 1:
            right.unsure.add(("smcr.window.full", frame))


def right_of_written(connection, side, right):
    """What is written and not read, after a WRITE: up to its end, or that of one above it that has
    been seen."""
    writes = [each for each in connection.streams[side].writes() if each.position is not None]
    read = Known(
        [(cdc, cdc.read) for cdc in connection.streams[1 - side].cdcs() if cdc.read is not None]
    )
    written = Known([(write, write.end) for write in writes])
    for write in writes:
        for frame in write.frames:
            least, most = read.at(frame)
            right["smcr.window.written"][frame] = span(
                write.end - most, max(write.end, written.at(frame)[1]) - least
            )


def right_of_reading(capture, connection, side, right):
    """The last message of the other side of whose bytes a message is the first to say that all are
    read."""
    back = [
        cdc
        for cdc in connection.streams[1 - side].cdcs()
        if cdc.end is not None and cdc.end > (cdc.before.end if cdc.before else 0)
    ]
    ends = [cdc.end for cdc in back]
    for cdc in connection.streams[side].cdcs():
        place = bisect.bisect_right(ends, cdc.read) if cdc.read is not None else 0
        if place and ends[place - 1] > (cdc.before.read if cdc.before else 0):
            announced = back[place - 1].frames
            for frame in cdc.frames:
                right.allow("smcr.cdc.read_of", frame, *announced)
                right.allow(
                    "smcr.cdc.read_time",
                    frame,
                    *(capture.times[min(cdc.frames)] - capture.times[each] for each in announced),
                )  # it was sent then


def right_of_blocked(capture, connection, side, right):
    """
    A writer waits from the message that says so to its next WRITE, or to its next message that does
    not say so. A message of the reader that frees space after half a second of it is late.
    """
    since, waits = None, []  # waits: (message, frame with which the writer went on)
    for event in connection.streams[side].events:
        if isinstance(event, Cdc) and event.blocked:
            since = since or event
            continue
        if since:
            waits.append((since, event.first))
        since = None
    if since:
        waits.append((since, NEVER))
    for cdc in connection.streams[1 - side].cdcs():
        if any(
            since.first < cdc.first < until
            and capture.times[cdc.first] - capture.times[since.first] > LATE
            for since, until in waits
        ) and cdc.read != (cdc.before.read if cdc.before else 0):
            right.allow("smcr.window.late_update", cdc.first, 1)


def right_of_full(connection, side, right):
    """
    A window is full from the message that leaves no space to the first of the other side that frees
    some.
    """
    stream, back = connection.streams[side], connection.streams[1 - side]
    element = connection.data_of(1 - side)
    if not element:
        return
    frees = sorted(
        ((cdc.read, cdc.first, cdc) for cdc in back.cdcs() if cdc.read is not None),
        key=lambda each: each[:2],
    )
    for cdc in stream.cdcs():
        if cdc.end is None or cdc.end < element.size or cdc.before and cdc.end == cdc.before.end:
            continue
        opened = next((each for each in frees if each[0] > cdc.end - element.size), None)
        if opened and opened[1] > cdc.first:
            for frame in opened[2].sent.moments:
                right.allow("smcr.window.opened", frame, 1)


def first_acknowledgement(sent):
    """The frame of the first acknowledgement that covers what was sent, or NEVER."""
    return next(
        (
            event.header.frame
            for event in sent.life.events
            if event.header.frame > sent.first
            and not isinstance(event, rc_reader.Request)
            and event.psn is not None
            and event.covers >= sent.psn
        ),
        NEVER,
    )


def right_of_waits(capture, connection, side, right):
    """
    A writer that says so, or leaves no space, waits until the first message of the reader that
    frees some is acknowledged, or until it goes on. Where packets are lost, either may be said to
    happen when it was sent or when its receiver took it.
    """
    stream, back = connection.streams[side], connection.streams[1 - side]
    frees = [
        cdc
        for cdc in back.cdcs()
        if cdc.read is not None and cdc.read > (cdc.before.read or 0 if cdc.before else 0)
    ]
    element = connection.data_of(1 - side)
    for cdc in stream.cdcs():
        reads = {0, *(each.read for each in frees if each.first < cdc.first)}
        if not cdc.blocked and not (
            element and cdc.end is not None and cdc.end - element.size in reads
        ):
            continue
        ends = set()
        for moment in (lambda sent: sent.first, lambda sent: sent.delivered):
            later = sorted(
                (each for each in stream.events if moment(each.sent) > cdc.first),
                key=lambda each: moment(each.sent),
            )
            ends |= next((each.sent.moments for each in later if isinstance(each, Write)), set())
            ends |= next(
                (each.sent.moments for each in later if isinstance(each, Cdc) and not each.blocked),
                set(),
            )
            ends |= {
                first_acknowledgement(each.sent)
                for each in [each for each in frees if moment(each.sent) > cdc.first][:1]
            }
        for frame, end in itertools.product(cdc.frames, ends - {NEVER}):
            right.allow("smcr.window.wait_until", frame, end)
            right.allow(
                "smcr.window.wait_time", frame, capture.times[end] - capture.times[cdc.first]
            )


def right_of_streams(capture):
    right = Right()
    right_of_starts(capture, right)
    for connection in streams(capture):
        for side, stream in enumerate(connection.streams):
            right_of_cursors(stream, right)
            right_of_writes(stream, right)
            right_of_lacking(stream, right)
            right_of_windows(connection, side, right)
            right_of_written(connection, side, right)
            right_of_reading(capture, connection, side, right)
            right_of_blocked(capture, connection, side, right)
            right_of_full(connection, side, right)
            right_of_waits(capture, connection, side, right)
            right_of_updates(capture, connection, side, right)
    return right
