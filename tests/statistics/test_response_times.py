"""Service Response Time: samples are what the bytes say, what the fields show, and what rows
filter."""

import collections

import message_reader
import pytest
import printed_statistics as tables
from bed import captures

real = pytest.mark.parametrize("name", captures("real"))
# Two links, many connections, cursor updates
SCENES = ["6.1-v1-h1-two-links-second-fails", "6.1-v2-q-forty-conns", "6.1-v1-d-bulk-slow-reader"]
CDC = 0xFE  # index of the only row of its table
every = pytest.mark.parametrize("name", captures())


def expected(answers):
    """{(table, step): (count, least, most, mean, total)}, as tshark rounds."""
    found = collections.defaultdict(list)
    for answer in answers:
        found[answer.kind, answer.step].append(max(0, answer.seconds))
    return {
        step: (
            len(took),
            min(took),
            max(took),
            (sum(took) * 1000 // len(took) + 500) // 1000,
            sum(took),
        )
        for step, took in found.items()
    }


def printed(rows):
    return {(tables.TABLES[row.filter], row.name): tuple(row[3:]) for row in rows}


@pytest.mark.parametrize("options", [(), ("-2",)], ids=["one-pass", "two-passes"])
@real
def test_samples_are_what_the_bytes_say(tshark, name, options):
    assert printed(tables.srt(tshark, name, options=options)) == expected(
        message_reader.answers(name)
    )


@real
def test_fields_are_what_the_bytes_say(tshark, name):
    """Frame by frame: the request, the time and the step."""
    names = "frame.number", "smcr.request_in", "smcr.response_time"
    rows = tshark.fields(name, *names, where="smcr.response_time", two_pass=True)
    shown = sorted(
        (int(frame), int(request), tables.microseconds(time))
        for (frame,), requests, times in rows
        for request, time in zip(requests, times, strict=True)
    )
    assert shown == [
        (each.frame, each.request, max(0, each.seconds)) for each in message_reader.answers(name)
    ]


@every
def test_rows_are_what_fields_show(tshark, name):
    """Each message with a response time is a sample; the fields say of which row."""
    names = "smcr.clc.step", "smcr.llc.step", "smcr.response_time"
    shown = collections.defaultdict(list)
    for clc, llc, times in tshark.fields(name, *names, where="smcr.response_time", two_pass=True):
        rows = [*(("CLC", int(step, 0)) for step in clc), *(("LLC", int(step, 0)) for step in llc)]
        rows += [("CDC", CDC)] * (len(times) - len(rows))
        for row, time in zip(rows, times, strict=True):
            shown[row].append(tables.microseconds(time))
    assert {
        (tables.TABLES[row.filter], row.index): (row.count, row.least, row.most)
        for row in tables.srt(tshark, name)
    } == {row: (len(times), min(times), max(times)) for row, times in shown.items()}


@pytest.mark.parametrize("name", SCENES)
def test_filter_of_a_row_finds_its_samples(tshark, name):
    for row in tables.srt(tshark, name):
        assert len(tshark.frames(name, f"{row.filter}=={row.index}", two_pass=True)) == row.count


@real
def test_sharkd_agrees(tshark, name):
    rows, _ = tables.by_sharkd(tshark, tshark.bed.capture(name))
    assert rows == [row._replace(mean=None) for row in tables.srt(tshark, name)]


@pytest.mark.parametrize("name", SCENES)
def test_filter_limits(tshark, name):
    answers = message_reader.answers(name)
    middle = answers[len(answers) // 2].frame
    for where, kept in (
        (f"frame.number <= {middle}", [each for each in answers if each.frame <= middle]),
        ("smcr.llc.step", [each for each in answers if each.kind == "LLC"]),
        ("smcr.llc.step == 9", [each for each in answers if each.step == "DELETE RKEY"]),
    ):
        assert printed(tables.srt(tshark, name, where)) == expected(kept)


def test_every_kind_of_row_is_in_a_capture(tshark):
    found = {
        (each.kind, each.step) for name in captures("real") for each in message_reader.answers(name)
    }
    found |= {
        (tables.TABLES[row.filter], row.name)
        for name in ("cdc-flags", "clc-decline-codes")
        for row in tables.srt(tshark, name)
    }
    assert {
        ("CDC", "Cursor update"),
        ("CLC", "Accept -> Decline"),
        ("CLC", "Proposal -> Decline"),
        ("LLC", "DELETE LINK -> DELETE LINK"),
        ("LLC", "REQUEST ADD LINK v2 -> ADD LINK v2"),
    } <= found
