"""
What is handed to the application's dissectors is the stream as the receiver takes it in: each byte
once, in order, in the frame that carries it, once a later frame has proved it: two passes show all
of them, one pass those that need no later frame. The program's own bytes are the truth. A program
that nobody knows has its bytes shown as they come: so Wireshark's own field of data tells what was
handed on.
"""

import collections

import altered
import pcapng
import pytest
import sharkd
import traffic
from alterations import KINDS
from bed import ALL, TOP

LOSSY = ["6.1-v1-n-lossy", "6.1-v2-n-lossy"]
WHOLE = ["6.1-v2-j-http11", "6.1-v1-h1-two-links-second-fails", "6.1-v1-g3-half-close"]
MADE = ["peer-exit", "peer-move", "rule-cdc-after-end", "rfc-peer"]
AS_DATA = (
    "-o",
    "smcr.heuristics:always",
    "-o",
    "tcp.try_heuristic_first:FALSE",
    "-d",
    "tcp.port==1-65535,data",
)
DATA = "smcr.stream || smcr.data_of"
# First packets of requests, of which too much was once lost with them: what follows is in order
# behind a gap, an address comes only when all was taken in, or requests follow before their CDC
# message.
ONCE_LOST = {"6.1-v1-n-lossy": (115, 128, 230, 978), "6.1-v2-n-lossy": (201, 226, 281, 757)}
# Frames that more depends on than their own bytes: Accept and Confirm, which tell RKeys; and the
# only packets that tell an address, where the next request, or a whole round of the element, comes
# before a CDC message does.
NEEDED = {"6.1-v1-n-lossy": {6, 8, 381, 642}, "6.1-v2-n-lossy": {6, 8, 399, 576}}


def rows(tshark, capture, two_pass):
    return tshark.fields(
        capture,
        "frame.number",
        "smcr.stream",
        "smcr.dir",
        "data.data",
        "smcr.data_of",
        where=DATA,
        two_pass=two_pass,
        options=AS_DATA,
    )


def owners(found):
    """{frame: its connection and direction}, as the second pass knows them."""
    return {number: (stream[0], way[0]) for (number,), stream, way, _, _ in found if stream and way}


def handed(found, owner):
    """{(connection, direction): the pieces that were handed on, in their order}"""
    pieces = collections.defaultdict(list)
    for (number,), _, _, data, held in found:
        whose = owner.get(number) or owner.get(held[0] if held else number)
        if data and whose:
            pieces[whose].append(bytes.fromhex("".join(data)))
    return pieces


def unconfirmed(tshark, capture, one, two):
    """The number of bytes that two passes show and one pass does not: those of packets that a later
    frame confirms. Of each frame one pass shows what two show, or the beginning of it."""
    waiting = tshark.fields(capture, "smcr.write.len", where="smcr.write.data_in", two_pass=True)
    shown = {number: data for (number,), _, _, data, _ in two}
    less = 0
    for (number,), _, _, data, _ in one:
        assert shown[number][: len(data)] == data, number
        less += sum(len(piece) // 2 for piece in shown[number][len(data) :])
    assert less <= sum(int(length) for (length,) in (row[0] for row in waiting))
    return less


def truth(tshark, name, folder):
    """{(connection, direction): bytes}: what the programs of a real capture sent, or what the maker
    of another wrote."""
    path = TOP / "captures" / "real" / f"{name}.streams"
    if path.exists():
        return {
            (str(number - 1), str(way)): stream
            for (number, way), stream in traffic.streams(path).items()
            if stream
        }
    tshark.show(name, "-2", "-q", "--export-objects", f"smcr,{folder}")
    parts = {path: path.stem.split("-") for path in folder.iterdir()}
    return {
        (part[1], str(int(part[2] == "server"))): path.read_bytes() for path, part in parts.items()
    }


@pytest.mark.parametrize("two_pass", [False, True], ids=["one-pass", "two-passes"])
def test_each_byte_once_and_in_order(tshark, scratch, two_pass):
    lost = 0
    for name in [*LOSSY, *WHOLE, *MADE]:
        folder = scratch / name
        folder.mkdir(mode=0o777)
        folder.chmod(0o777)
        known = rows(tshark, name, True)
        if not two_pass:
            lost += unconfirmed(tshark, name, rows(tshark, name, False), known)
            continue
        pieces = handed(known, owners(known))
        got = {whose: b"".join(each) for whose, each in pieces.items()}
        expected = truth(tshark, name, folder)
        assert (name, {whose: len(each) for whose, each in got.items()}) == (
            name,
            {whose: len(each) for whose, each in expected.items()},
        )
        assert got == expected, name
        lost += sum(bool(held) for *_, held in known)
    assert lost > 8  # frames that hand on what came before them


def test_clicks_show_the_same_each_time(tshark):
    """Frames that hand on, in any order, each twice: all that sharkd says of them."""
    for name in LOSSY:
        found = tshark.fields(
            name, "frame.number", where="smcr.data_of || smcr.write.data_in", two_pass=True
        )
        numbers = [int(number) for (number,), in found]
        order = [*reversed(numbers), *range(1, 200, 7), *numbers]
        wanted = [
            ("frame", {"frame": number, "proto": True, "columns": True, "bytes": True})
            for number in order
        ]
        answers = sharkd.ask(tshark, [sharkd.load(tshark.bed.capture(name)), *wanted])[1:]
        said = collections.defaultdict(list)
        for number, answer in zip(order, answers, strict=True):
            said[number].append(answer)
        assert numbers and all(
            each == said[number][0] for number in numbers for each in said[number]
        ), name


def test_one_frame_is_missing(tshark, scratch):
    """What is handed on is the stream without the bytes of that frame, in order: nothing twice,
    nothing else lost."""
    for name in LOSSY:
        base = altered.whole(tshark, name)
        found = tshark.fields(name, "frame.number", "smcr.write.len", where="smcr.write")
        own = {int(number): int(length[0]) for (number,), length in found}
        known = rows(tshark, name, True)
        stream = {whose: b"".join(each) for whose, each in handed(known, owners(known)).items()}
        cases = KINDS["single"](base)
        once = [
            case for case in cases if case.label in {f"without {gone}" for gone in ONCE_LOST[name]}
        ]
        assert len(once) == len(ONCE_LOST[name])
        for number, case in enumerate(cases if ALL else [*altered.sample(cases, 5), *once]):
            frames, path = case.alter(base.frames), scratch / f"{name}-{number}.pcapng"
            pcapng.write(path, base.head, frames)
            gone = (
                {frame.number for frame in base.frames} - {frame.number for frame in frames}
            ).pop()
            known = rows(tshark, path, True)
            unconfirmed(tshark, path, rows(tshark, path, False), known)
            pieces = handed(known, owners(known))
            assert is_in_order(pieces, stream), (name, gone)
            lacking = sum(map(len, stream.values())) - sum(
                len(each) for every in pieces.values() for each in every
            )
            assert lacking >= 0 and (lacking <= own.get(gone, 0) or gone in NEEDED[name]), (
                name,
                gone,
            )


def is_in_order(pieces, stream):
    """Of one connection. Without its Accept or Confirm, one direction of it has a number of its
    own."""
    of_way = {way: data for (_, way), data in stream.items()}
    assert len(of_way) == len(stream) and len({way for _, way in pieces}) == len(pieces)
    for (_, way), every in pieces.items():
        at = 0
        for piece in every:
            at = of_way[way].find(piece, at)
            if at < 0:
                return False
            at += len(piece)
    return True
