"""The preference smcr.builtin_too: whoever filters on smc.* finds again what the built-in dissector
found without us."""

import pytest

BOTH = ("-o", "smcr.builtin_too:TRUE")


def shown(tshark, capture, where, *arguments):
    lines = tshark.show(
        capture, "-2", "-Y", where, "-T", "fields", "-e", "frame.number", *arguments
    )
    return {int(line) for line in lines.split()}


@pytest.mark.parametrize(
    "capture", ["6.1-v1-c-three-conns", "6.1-v2-e-urgent", "6.1-v1-f6-decline-confirm-link-timeout"]
)
def test_both_dissectors(tshark, tshark_without, capture):
    alone = shown(tshark_without, capture, "smc && !_ws.malformed")
    assert alone
    assert shown(tshark, capture, "smc", *BOTH) >= alone
    assert shown(tshark, capture, "smcr", *BOTH) == shown(tshark, capture, "smcr")


def test_off_by_default(tshark):
    assert shown(tshark, "6.1-v1-c-three-conns", "smc") == set()
