"""
Window analysis: windows agree with the cursors on the wire at each CDC message; the items of the
synthetic capture say what its scenario did.
"""

import collections
from decimal import Decimal

import cursors
import pytest
from report_runs import TWO, report
from test_follow import OVER_RDMA

WAITS = (
    "6.1-v1-d-bulk-slow-reader",
    "6.1-v2-d-bulk-slow-reader",
    "cdc-flags",
    "peer-window",
    "window-analysis",
)
SLOW_READER = ("6.1-v1-d-bulk-slow-reader", "6.1-v2-d-bulk-slow-reader")
LATE = {"6.1-v1-c2-capture-starts-late"}  # its first connection has no Accept that tells the size


@pytest.mark.parametrize("name", [name for name in OVER_RDMA if name not in LATE])
def test_windows_are_those_of_the_cursors(tshark, name):
    expected = {sight.frame: sight.window for sight in cursors.sights(tshark, name)}
    got = cursors.shown(tshark, name)
    assert len(expected) > 2
    if any(
        row["smcr.missing"] for row in cursors.rows(tshark, name)
    ):  # what is not known for sure is not shown
        expected = {
            frame: window
            for frame, window in expected.items()
            if frame in got and got[frame].len == window.len
        }
        assert len(expected) > 50
    else:
        assert cursors.in_order(tshark, name) <= set(expected) == set(got)
    assert {
        frame: (got.get(frame), window)
        for frame, window in expected.items()
        if got.get(frame) != window
    } == {}


def waits(tshark, name):
    """
    How long the client waited for space: from its message that leaves none, or that says so, to the
    acknowledgement of the server's next message that frees some, or to its own next WRITE: {first
    frame: (last frame, time)}.
    """
    (server_qp,), *_ = tshark.fields(
        name, "infiniband.bth.destqp", where="smcr.write.len && smcr.dir == 0"
    )[0]
    events = [
        (int(frame[0]), Decimal(time[0]), None, int(psn[0]), opcode[0] == "17")
        for frame, time, psn, opcode in tshark.fields(
            name,
            "frame.number",
            "frame.time_relative",
            "infiniband.bth.psn",
            "infiniband.bth.opcode",
            where=(
                "(smcr.write.len || infiniband.bth.opcode == 17) && infiniband.bth.destqp == "
                f"{server_qp}"
            ),
        )
    ]
    psns = {
        int(frame[0]): int(psn[0])
        for frame, psn in tshark.fields(
            name, "frame.number", "infiniband.bth.psn", where="smcr.cdc.seq"
        )
    }
    events += [
        (sight.frame, Decimal(sight.time), sight, psns[sight.frame], False)
        for sight in cursors.sights(tshark, name)
    ]
    found, since, freed = {}, None, None
    for frame, time, sight, psn, is_ack in sorted(events, key=lambda each: each[0]):
        if (
            sight
            and sight.sender == 0
            and (sight.blocked or sight.window.len and not sight.window.free)
        ):
            since = since or (frame, time)
        elif sight and sight.sender == 1 and since and sight.window.read:
            freed = freed or psn
        elif since and not sight and (not is_ack or freed and psn >= freed):
            found[since[0]] = frame, time - since[1]
            since = freed = None
    return found


@pytest.mark.parametrize("name", SLOW_READER)
def test_waits_for_space(tshark, name):
    """Frame by frame, and in all as the report divides the time."""
    expected = waits(tshark, name)
    rows = tshark.fields(
        name,
        "frame.number",
        "smcr.window.wait_until",
        "smcr.window.wait_time",
        two_pass=True,
        where="smcr.window.wait_time",
    )
    assert (
        len(expected) > 100
        and {int(row[0][0]): (int(row[1][0]), Decimal(row[2][0])) for row in rows} == expected
    )


def test_waits_are_the_part_of_the_report(tshark):
    """Of all captures in which nothing was retransmitted."""
    summed = 0
    for name in WAITS:
        times = collections.Counter()
        for stream, way, time in tshark.fields(
            name,
            "smcr.stream",
            "smcr.dir",
            "smcr.window.wait_time",
            two_pass=True,
            where="smcr.window.wait_time",
        ):
            times[int(stream[0]), int(way[0])] += Decimal(time[0])
        for connection in report(tshark, name, TWO)["connections"]:
            for way, figures in enumerate(
                (connection["client_to_server"], connection["server_to_client"])
            ):
                open_wait = figures["open_wait"]  # no field has a wait that has not ended
                is_whole = not open_wait or open_wait["kind"] != "reader"
                if figures["time"] and not figures["time"]["retransmission_s"] and is_whole:
                    assert times[connection["stream"], way] == Decimal(
                        repr(figures["time"]["buffer_full_s"])
                    )
                    summed += times[connection["stream"], way] > 0
    assert summed >= 5


SYNTHETIC = "window-analysis"


def found(tshark, where, *fields):
    return [
        [value[0] if value else None for value in row]
        for row in tshark.fields(SYNTHETIC, *fields, where=where, two_pass=True)
    ]


def test_update_late_and_window_open_again(tshark):
    ((opened,),) = found(tshark, "smcr.window.late_update", "frame.number")
    assert opened in sum(found(tshark, "smcr.window.opened", "frame.number"), [])
    ((until, time),) = found(
        tshark,
        "smcr.window.wait_time && smcr.stream == 0",
        "smcr.window.wait_until",
        "smcr.window.wait_time",
    )
    assert int(until) == int(opened) + 1 and Decimal("0.7") < Decimal(time) < Decimal("0.71")


def test_each_write_has_its_acknowledgement(tshark):
    """Three packets, 0.1 ms apart, are acknowledged by one, which comes after the fourth packet."""
    rows = found(
        tshark,
        "smcr.stream == 0 && smcr.stream.offset < 3000 && smcr.dir == 0",
        "smcr.write.acked_in",
        "smcr.write.ack_time",
    )
    assert len(rows) == 3 and len({frame for frame, _ in rows}) == 1
    assert [Decimal(time) for _, time in rows] == [
        Decimal("0.0104"),
        Decimal("0.0103"),
        Decimal("0.0102"),
    ]
    ((acks,),) = found(tshark, f"frame.number == {rows[0][0]} && smcr.acks", "smcr.acks")
    assert int(acks) > 0
    assert found(tshark, "smcr.write.len && !smcr.write.acked_in", "frame.number") == []


def test_acknowledgements_of_real_writes(tshark):
    """The time is that between the frames, and the acknowledgement is the first that covers the
    PSN."""
    name = "6.1-v2-d-bulk-slow-reader"
    acks = [
        (int(number[0]), Decimal(time[0]), int(psn[0]), mac[0])
        for number, time, psn, mac in tshark.fields(
            name,
            "frame.number",
            "frame.time_relative",
            "infiniband.bth.psn",
            "eth.dst",
            where="infiniband.bth.opcode == 17",
        )
    ]
    rows = tshark.fields(
        name,
        "frame.number",
        "frame.time_relative",
        "infiniband.bth.psn",
        "eth.src",
        "smcr.write.acked_in",
        "smcr.write.ack_time",
        where="smcr.write.len",
        two_pass=True,
    )
    wrong = []
    for number, time, psn, mac, acked_in, ack_time in rows:
        first = next(
            (frame, when)
            for frame, when, acked, to in acks
            if frame > int(number[0]) and to == mac[0] and acked - int(psn[0]) >= 0
        )
        if (int(acked_in[0]), Decimal(ack_time[0])) != (first[0], first[1] - Decimal(time[0])):
            wrong.append((number, acked_in, ack_time, first))
    assert len(rows) > 1000 and wrong == []


def test_updates_asked_for(tshark):
    """Answered after 0.25 s; two with one answer; one that needs none; one that gets none before
    the capture ends."""
    asked = found(
        tshark,
        "smcr.cdc.update_requested == 1",
        "smcr.cdc.seq",
        "smcr.response_in",
        "smcr.no_response",
    )
    answers = {
        frame: (request, Decimal(time))
        for frame, request, time in found(
            tshark,
            "smcr.cdc.seq && smcr.request_in",
            "frame.number",
            "smcr.request_in",
            "smcr.response_time",
        )
    }
    assert [bool(answer) for _, answer, _ in asked] == [True, False, True, True, False]
    assert [bool(no_response) for _, _, no_response in asked] == [False] * 5
    (_, first), (_, second) = answers.values()
    assert (
        len(answers) == 2
        and asked[2][1] == asked[3][1]
        and {asked[0][1], asked[2][1]} == set(answers)
    )
    assert Decimal("0.25") < first < Decimal("0.251") and Decimal("0.2") < second < Decimal("0.202")


def test_small_windows(tshark):
    """One update while the window is open, four to a blocked writer, who fills the second to the
    fourth of them again; the urgent byte is no reason for a note."""
    updates = found(
        tshark, "smcr.window.small_update", "smcr.stream", "smcr.cdc.read", "smcr.window.opened"
    )
    assert [row[:2] for row in updates] == [["2", "100"]] * 5
    assert [bool(opened) for *_, opened in updates] == [False, True, True, True, True]
    writes = found(
        tshark, "smcr.window.small_write", "smcr.stream", "smcr.cdc.len", "smcr.window.free"
    )
    assert writes == [["2", "100", "0"]] * 3


def test_overwritten(tshark):
    """16 KiB and 500 bytes more: the last packet goes where data have not been read."""
    assert found(
        tshark,
        "smcr.window.overwritten",
        "smcr.stream",
        "smcr.write.len",
        "smcr.window.written",
        "smcr.write.offset",
    ) == [["3", "500", "16884", "0"]]


@pytest.mark.parametrize("name", SLOW_READER)
def test_summary_agrees_with_the_cursors(tshark, name):
    """How often and how long, from nothing but cursors, flags and the times of frames."""
    sent = sum(sight.window.len for sight in cursors.sights(tshark, name) if sight.sender == 0)
    (size,) = {size for (_, side), size in cursors.sizes(tshark, name).items() if side == 1}
    shown = tshark.fields(name, "smcr.cdc.announced", where="smcr.dir == 0 && smcr.cdc.announced")[
        -1
    ][0][0]
    assert (shown, tshark.fields(name, "smcr.rmb.size", where="smcr.clc.type == 2")[0][0][0]) == (
        str(sent),
        str(size),
    )
