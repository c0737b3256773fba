"""smcr.breach finds all breaches of formats and rules; with smcr.strict doubtful ones are told of, too."""

import fields

STRICT = ("-o", "smcr.strict:TRUE")
CAPTURES = ("clc-length", "llc-counts", "rule-write-target", "roce-odd", "clc-proposal-counts")


def test_one_filter_finds_all(tshark):
    items = fields.breaches()
    for name in CAPTURES:
        rows = tshark.fields(name, "frame.number", "smcr.breach", *items, where="smcr.breach || " + " || ".join(items),
                             two_pass=True)
        assert rows, name
        for number, found, *shown in rows:
            raised = {item.removeprefix("smcr.") for item, values in zip(items, shown, strict=True) if values}
            assert set(found) == raised, (name, number)


def test_strict_ones(tshark):
    """What does no harm is told to who asks for it."""
    item = "smcr.window.needless_update"
    assert tshark.frames("rule-cdc-window", item) == []
    rows = tshark.fields("rule-cdc-window", "frame.number", "smcr.breach", where=item, options=STRICT)
    assert [(number, found) for number, found in rows] == [(["41"], [])]


def test_doubtful_ones(tshark):
    """The second link group of the capture lacks a packet of the receiver."""
    where = "smcr.breach.doubtful"
    assert tshark.frames("rule-write-target", where) == []
    rows = tshark.fields("rule-write-target", "frame.number", "smcr.breach", where=where, two_pass=True, options=STRICT)
    assert [(number, found) for number, found in rows] == [(["83"], []), (["85"], [])]


def test_harmless_ones(tshark):
    """What is not as RFC 7609 has it, but does no harm, is told to strict users only."""
    for name, item, frames in (("rule-clc-option", "smcr.option.unusual", [12, 24]), ("tcpopt-variants", "smcr.option.unusual", [20, 25, 26]),
                               ("rule-clc-subnet", "smcr.clc.unusual", [76, 86]), ("rule-clc-values", "smcr.clc.unusual", [42, 51])):
        assert tshark.frames(name, item) == []
        rows = tshark.fields(name, "frame.number", where=item, options=STRICT)
        assert [int(number[0]) for number, in rows] == frames, name
