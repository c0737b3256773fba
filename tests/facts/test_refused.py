"""
Packets that the receiver has refused: a NAK names them, or a packet before them, and the sender
retransmits them. The program gets the bytes of the retransmission, so Follow and Export give these.
In s06e-corrupt-whole one bit of frame 287 is wrong, as its ICRC shows. The truth is the table that
PostgreSQL copies: row i is i, a tab, and the MD5 of i four times.
"""

import gzip
import hashlib
import struct

import pcapng
import pytest
from bed import STORIES, captures
from follow import follow, raw, streams
from test_export import export as export_objects
from test_export_tcp import export as export_segments
from test_icrc import ON

CAPTURE = captures(STORIES)["s06e-corrupt-whole.pcapng"]
STREAM, SERVER = 1, 5432
DAMAGED, NAK, RETRANSMISSION = 287, 314, 316  # frames
FIRST = 293  # first packet of a request, between DAMAGED and NAK
ROWS = "".join(
    f"{number}\t{hashlib.md5(str(number).encode()).hexdigest() * 4}\n"
    for number in range(1, 10_001)
).encode()


def copied(stream):
    """The rows in PostgreSQL's messages CopyData: type "d", length, row."""
    at, rows = 0, b""
    while at + 5 <= len(stream):
        size = struct.unpack_from(">I", stream, at + 1)[0]
        if stream[at : at + 1] == b"d":
            rows += stream[at + 5 : at + 1 + size]
        at += 1 + size
    return rows


def original(scratch):
    """A copy of the capture, and its path."""
    path = scratch / "whole.pcapng"
    path.write_bytes(gzip.decompress(CAPTURE.read_bytes()))
    return path


def altered(scratch, alter):
    """The path of the capture with other frames: alter(frames)."""
    head, frames = pcapng.read(original(scratch))
    path = scratch / "altered.pcapng"
    pcapng.write(path, head, alter(frames))
    return path


def without(*numbers):
    return lambda frames: [frame for frame in frames if frame.number not in numbers]


def flipped(number):
    """The last bit of the payload of this frame is wrong."""

    def alter(frames):
        frame = frames[number - 1]
        data = bytearray(pcapng.data(frame))
        data[-5] ^= 1
        return [*frames[: number - 1], pcapng.with_data(frame, bytes(data)), *frames[number:]]

    return alter


def followed(tshark, capture, *options, two_pass=True):
    return streams(
        raw(follow(tshark, capture, STREAM, two_pass=two_pass, options=options)),
    )[1]


def of_stream(tshark, scratch, capture, *options):
    """The server's bytes of the copying connection, in the exported segments."""
    path = scratch / "segments.pcapng"
    client = tshark.fields(
        capture, "smcr.client.port", where=f"smcr.stream == {STREAM}", two_pass=True
    )[0][0][0]
    found = {}
    for (_, port), (_, to), number, _, _, data in export_segments(tshark, path, capture, *options):
        if port == SERVER and to == int(client):
            for at, byte in enumerate(data, number):
                found.setdefault(at, byte)
    assert sorted(found) == list(range(1, len(found) + 1))
    return bytes(found[at] for at in sorted(found))


def check(tshark, scratch, capture, *options):
    """Follow, the exported object and the exported segments have the rows, and the same bytes."""
    got = followed(tshark, capture, *options)
    objects = export_objects(tshark, scratch, capture, "-2", *options)
    rows = copied(got)
    assert len(rows) > 170_000 and ROWS.startswith(rows)
    assert objects[f"stream-{STREAM}-server-to-client.bin"] == got
    assert of_stream(tshark, scratch, capture, *options) == got
    return got


@pytest.mark.parametrize("options", [(), ON], ids=["unchecked", "checked"])
def test_bytes_of_the_retransmission(tshark, scratch, options):
    check(tshark, scratch, original(scratch), *options)


def test_first_pass(tshark, scratch):
    """Follow and the exported object have the same bytes in one pass, in the same places."""
    path = original(scratch)
    right = check(tshark, scratch, path)
    objects = export_objects(tshark, scratch, path)
    assert objects[f"stream-{STREAM}-server-to-client.bin"] == right
    texts = [follow(tshark, path, STREAM, two_pass=two_pass) for two_pass in (False, True)]
    assert texts[0] == texts[1] and streams(raw(texts[0]))[1] == right


def test_refused_without_damage(tshark, scratch):
    """A packet between the damaged one and the NAK: refused as well, since it is retransmitted."""
    path = altered(scratch, flipped(FIRST))
    check(tshark, scratch, path)


def test_retransmission_is_not_captured(tshark, scratch):
    """Where a retransmission is not captured, the refused packet has the only bytes."""
    right = followed(tshark, original(scratch))
    path = altered(scratch, without(RETRANSMISSION + 1, RETRANSMISSION + 2))
    assert check(tshark, scratch, path) == right
    path = altered(scratch, without(RETRANSMISSION))
    got = followed(tshark, path)
    assert len(got) == len(right) and got != right


def test_no_nak_no_proof(tshark, scratch):
    """Without a NAK nothing proves that the receiver has refused a packet."""
    path = altered(scratch, without(NAK))
    right = followed(tshark, original(scratch))
    assert followed(tshark, path) != right == followed(tshark, path, *ON)


def test_damaged_first_packet_is_captured(tshark, scratch):
    """A first packet with a wrong ICRC is in the capture: nothing says that it is missing. Where it
    is missing, a note says so."""
    notes = {}
    for name, alter in (("damaged", flipped(FIRST)), ("missing", without(FIRST))):
        path = altered(scratch, alter)
        notes[name] = tshark.fields(
            path, "frame.number", where="smcr.write.no_start", two_pass=True, options=ON
        )
        bad = tshark.fields(path, "frame.number", where="smcr.icrc.bad", two_pass=True, options=ON)
        assert [[str(DAMAGED)]] + [[str(FIRST)]] * (name == "damaged") == [row[0] for row in bad]
    assert notes["damaged"] == [] and len(notes["missing"]) > 1
