"""
Window analysis: windows agree with the cursors on the wire at each CDC message; the items of the synthetic capture say
what its scenario did.
"""

from decimal import Decimal

import cursors
import pytest
from test_follow import OVER_RDMA

SLOW_READER = ("6.1-v1-d-bulk-slow-reader", "6.1-v2-d-bulk-slow-reader")
LATE = {"6.1-v1-c2-capture-starts-late"}  # its first connection has no Accept that tells the size


@pytest.mark.parametrize("name", [name for name in OVER_RDMA if name not in LATE])
def test_windows_are_those_of_the_cursors(tshark, name):
    expected = {sight.frame: sight.window for sight in cursors.sights(tshark, name)}
    got = cursors.shown(tshark, name)
    assert len(expected) > 2
    if any(row["smcr.missing"] for row in cursors.rows(tshark, name)):  # what is not known for sure is not shown
        expected = {frame: window for frame, window in expected.items() if frame in got and got[frame].len == window.len}
        assert len(expected) > 50
    else:
        assert cursors.in_order(tshark, name) <= set(expected) == set(got)
    assert {frame: (got.get(frame), window) for frame, window in expected.items() if got.get(frame) != window} == {}


def closed_periods(tshark, name):
    """
    When the client's window was full, from the message that leaves no space to the one that frees some, and when the
    client was blocked, from the message that says so to its next WRITE: {last frame: (first frame, time)} of each.
    """
    full, since = {}, {}
    blocked_since, blocked = None, {}
    writes = [(int(number[0]), Decimal(time[0])) for number, time in tshark.fields(
        name, "frame.number", "frame.time_relative", where="smcr.write.len && smcr.dir == 0")]
    sights = [sight for sight in cursors.sights(tshark, name)]
    events = sorted([(frame, time, None) for frame, time in writes] +
                    [(sight.frame, Decimal(sight.time), sight) for sight in sights])
    for frame, time, sight in events:
        if sight is None:
            if blocked_since:
                blocked[frame] = (blocked_since[0], time - blocked_since[1])
                blocked_since = None
        elif sight.sender == 0:
            if sight.window.len and not sight.window.free:
                since[0] = frame, time
            if sight.blocked and not blocked_since:
                blocked_since = frame, time
        elif sight.window.read and since and sight.window.offered:
            start = since.pop(0)
            full[frame] = (start[0], time - start[1])
    return full, blocked


@pytest.mark.parametrize("name", SLOW_READER)
def test_full_and_blocked_periods(tshark, name):
    full, blocked = closed_periods(tshark, name)
    assert len(full) > 100 and len(blocked) > 100
    for expected, fields in ((full, "full"), (blocked, "blocked")):
        rows = tshark.fields(name, "frame.number", f"smcr.window.{fields}_since", f"smcr.window.{fields}_time",
                             where=f"smcr.window.{fields}_time && smcr.dir == {int(fields == 'full')}")
        assert {int(row[0][0]): (int(row[1][0]), Decimal(row[2][0])) for row in rows} == expected


SYNTHETIC = "window-analysis"


def found(tshark, where, *fields):
    return [[value[0] if value else None for value in row]
            for row in tshark.fields(SYNTHETIC, *fields, where=where, two_pass=True)]


def test_update_late_and_window_open_again(tshark):
    (full, opened), = found(tshark, "smcr.window.late_update", "smcr.window.full_since", "frame.number")
    assert opened in sum(found(tshark, "smcr.window.opened", "frame.number"), [])
    (since, time), = found(tshark, "smcr.window.blocked_time && smcr.stream == 0", "smcr.window.blocked_since",
                           "smcr.window.blocked_time")
    assert since == full and Decimal("0.7") < Decimal(time) < Decimal("0.71")


def test_each_write_has_its_acknowledgement(tshark):
    """Three packets, 0.1 ms apart, are acknowledged by one, which comes after the fourth packet."""
    rows = found(tshark, "smcr.stream == 0 && smcr.stream.offset < 3000 && smcr.dir == 0", "smcr.write.acked_in",
                 "smcr.write.ack_time")
    assert len(rows) == 3 and len({frame for frame, _ in rows}) == 1
    assert [Decimal(time) for _, time in rows] == [Decimal("0.0104"), Decimal("0.0103"), Decimal("0.0102")]
    (acks,), = found(tshark, f"frame.number == {rows[0][0]} && smcr.acks", "smcr.acks")
    assert int(acks) > 0
    assert found(tshark, "smcr.write.len && !smcr.write.acked_in", "frame.number") == []


def test_acknowledgements_of_real_writes(tshark):
    """The time is that between the frames, and the acknowledgement is the first that covers the PSN."""
    name = "6.1-v2-d-bulk-slow-reader"
    acks = [(int(number[0]), Decimal(time[0]), int(psn[0]), mac[0]) for number, time, psn, mac in tshark.fields(
        name, "frame.number", "frame.time_relative", "infiniband.bth.psn", "eth.dst",
        where="infiniband.bth.opcode == 17")]
    rows = tshark.fields(name, "frame.number", "frame.time_relative", "infiniband.bth.psn", "eth.src",
                         "smcr.write.acked_in", "smcr.write.ack_time", where="smcr.write.len", two_pass=True)
    wrong = []
    for number, time, psn, mac, acked_in, ack_time in rows:
        first = next((frame, when) for frame, when, acked, to in acks
                     if frame > int(number[0]) and to == mac[0] and acked - int(psn[0]) >= 0)
        if (int(acked_in[0]), Decimal(ack_time[0])) != (first[0], first[1] - Decimal(time[0])):
            wrong.append((number, acked_in, ack_time, first))
    assert len(rows) > 1000 and wrong == []


def test_updates_asked_for(tshark):
    """Answered after 0.25 s; two with one answer; one that needs none; one that gets none before the capture ends."""
    asked = found(tshark, "smcr.cdc.update_requested == 1", "smcr.cdc.seq", "smcr.response_in", "smcr.no_response")
    answers = {frame: (request, Decimal(time)) for frame, request, time in found(
        tshark, "smcr.cdc.seq && smcr.request_in", "frame.number", "smcr.request_in", "smcr.response_time")}
    assert [bool(answer) for _, answer, _ in asked] == [True, False, True, True, False]
    assert [bool(no_response) for _, _, no_response in asked] == [False] * 5
    (_, first), (_, second) = answers.values()
    assert len(answers) == 2 and asked[2][1] == asked[3][1] and {asked[0][1], asked[2][1]} == set(answers)
    assert Decimal("0.25") < first < Decimal("0.251") and Decimal("0.2") < second < Decimal("0.202")


def test_small_windows(tshark):
    """One update while the window is open, four to a blocked writer, who fills the second to the fourth of them again;
    the urgent byte is no reason for a note."""
    updates = found(tshark, "smcr.window.small_update", "smcr.stream", "smcr.cdc.read", "smcr.window.full_since")
    assert [row[:2] for row in updates] == [["2", "100"]] * 5
    assert [bool(full) for *_, full in updates] == [False, True, True, True, True]
    writes = found(tshark, "smcr.window.small_write", "smcr.stream", "smcr.cdc.len", "smcr.window.free")
    assert writes == [["2", "100", "0"]] * 3


def test_overwritten(tshark):
    """16 KiB and 500 bytes more: the last packet goes where data have not been read."""
    assert found(tshark, "smcr.window.overwritten", "smcr.stream", "smcr.write.len", "smcr.window.written",
                 "smcr.write.offset") == [["3", "500", "16884", "0"]]


def sums(tshark, name, kind):
    """(how often the window was full or the writer blocked, seconds in all, the longest), from the fields."""
    times = [Decimal(time[0]) for time, in tshark.fields(name, f"smcr.window.{kind}_time", where=f"smcr.window.{kind}_time")]
    return len(times), sum(times), max(times)


@pytest.mark.parametrize("name", SLOW_READER)
def test_summary_agrees_with_the_cursors(tshark, name):
    """How often and how long, from nothing but cursors, flags and the times of frames."""
    sent = sum(sight.window.len for sight in cursors.sights(tshark, name) if sight.sender == 0)
    size, = {size for (_, side), size in cursors.sizes(tshark, name).items() if side == 1}
    shown = tshark.fields(name, "smcr.cdc.announced", where="smcr.dir == 0 && smcr.cdc.announced")[-1][0][0]
    assert (shown, tshark.fields(name, "smcr.rmb.size", where="smcr.clc.type == 2")[0][0][0]) == (str(sent), str(size))
    for periods, kind in zip(closed_periods(tshark, name), ("full", "blocked"), strict=True):
        times = [time for _, time in periods.values()]
        assert sums(tshark, name, kind) == (len(times), sum(times), max(times))
