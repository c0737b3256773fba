"""smcr.breach finds all breaches of formats and rules; with smcr.strict doubtful ones are told of,
too."""

import dataclasses
import sys

import fields
from bed import TOP

sys.path.insert(0, str(TOP / "tests" / "synth"))
from smcsynth.capture import Capture  # noqa: E402
from smcsynth.story import Connection, Half, linux_connection  # noqa: E402

STRICT = ("-o", "smcr.strict:TRUE")
CAPTURES = ("clc-length", "llc-counts", "rule-write-target", "roce-odd", "clc-proposal-counts")


def test_one_filter_finds_all(tshark):
    items = fields.breaches()
    for name in CAPTURES:
        rows = tshark.fields(
            name,
            "frame.number",
            "smcr.breach",
            *items,
            where="smcr.breach || " + " || ".join(items),
            two_pass=True,
        )
        assert rows, name
        for number, found, *shown in rows:
            raised = {
                item.removeprefix("smcr.")
                for item, values in zip(items, shown, strict=True)
                if values
            }
            assert set(found) == raised, (name, number)


def test_strict_ones(tshark):
    """What does no harm is told to who asks for it."""
    item = "smcr.window.needless_update"
    assert tshark.frames("rule-cdc-window", item) == []
    rows = tshark.fields(
        "rule-cdc-window", "frame.number", "smcr.breach", where=item, options=STRICT
    )
    assert [(number, found) for number, found in rows] == [(["41"], [])]


def test_doubtful_ones(tshark):
    """The second link group of the capture lacks a packet of the receiver."""
    where = "smcr.breach.doubtful"
    assert tshark.frames("rule-write-target", where) == []
    rows = tshark.fields(
        "rule-write-target",
        "frame.number",
        "smcr.breach",
        where=where,
        two_pass=True,
        options=STRICT,
    )
    assert [(number, found) for number, found in rows] == [(["83"], []), (["85"], [])]


def test_harmless_ones(tshark):
    """What is not as RFC 7609 has it, but does no harm, is told to strict users only."""
    for name, item, frames in (
        ("rule-clc-option", "smcr.option.unusual", [12, 24]),
        ("tcpopt-variants", "smcr.option.unusual", [20, 25, 26]),
        ("rule-clc-subnet", "smcr.clc.unusual", [76, 86]),
        ("rule-clc-values", "smcr.clc.unusual", [42, 51]),
    ):
        assert tshark.frames(name, item) == []
        rows = tshark.fields(name, "frame.number", where=item, options=STRICT)
        assert [int(number[0]) for number, in rows] == frames, name


# ---- where one connection has an element of the same RMB as another one ----


def shared_rmb(bed, name, second_size, second_index, late):
    """
    Two connections in one RMB: the first one has element 1. Each side of the second one says an
    element and a size. `late`: the capture begins when the first one has begun.
    """
    capture = Capture()
    first = linux_connection(capture)
    first.first_contact()
    if late:
        capture.frames.clear()
    halves = [
        Half(
            token=half.token + 0x40,
            index=second_index,
            rmb=dataclasses.replace(half.rmb, size=second_size),
        )
        for half in first.half.values()
    ]
    second = Connection(first.group, *halves, sport=40009)
    second.tcp.handshake()
    second.tcp.send("client", second.proposal())
    second.tcp.send("server", second.accept(first_contact=False))
    second.tcp.send("client", second.confirm(first_contact=False))
    for half in halves:
        half.index = max(half.index, 1)
    (first if late else second).send("client", b"whose is it?")
    path = bed.scratch / f"{name}.pcap"
    path.write_bytes(capture.pcap())
    return path


def test_no_owner_is_guessed(tshark):
    """Where two sizes were said, or no element, a WRITE has no connection that it may not have."""
    for name, row, conns in (
        ("right", (65536, 2, False), ["1"]),
        ("sizes", (32768, 2, False), []),
        ("zero", (65536, 0, True), []),
        ("zero-of-all", (65536, 0, False), []),
    ):
        path = shared_rmb(tshark.bed, name, *row)
        assert tshark.fields(path, "smcr.stream", where="smcr.write", two_pass=True) == [
            [conns]
        ], name
