"""The TCP option is found where it is, with both experimental kinds, and nowhere else."""

import ground_truth
import pytest

OPTION = "e2d4c3d9"

# Who sent the option, where it was not both (captures/README.md).
SYN_ONLY = {"6.1-v1-f3-plain-tcp-server"}
NOBODY = {"6.1-v2-f4-plain-tcp-client"}


@pytest.mark.parametrize("name", ground_truth.names())
def test_option_in_real_handshakes(tshark, name):
    rows = tshark.fields(name, "frame.number", "tcp.flags", "smcr.option.exid", where="tcp")
    senders = set() if name in NOBODY else {"SYN"} if name in SYN_ONLY else {"SYN", "SYN-ACK"}
    for number, flags, exid in rows:
        sender = {0x02: "SYN", 0x12: "SYN-ACK"}.get(int(flags[0], 16) & 0x12)
        assert exid == ([f"0x{OPTION}"] if sender in senders else []), f"frame {number[0]}"
    assert rows


def options(octets):
    """TCP options as [(kind, value)]; an impossible length ends the list."""
    found = []
    while octets:
        kind = octets[0]
        length = 1 if kind < 2 else octets[1] if len(octets) > 1 else 0
        if not (length == 1 if kind < 2 else 2 <= length <= len(octets)):
            break
        found.append((kind, octets[2:length]))
        octets = octets[length:]
    return found


def test_option_and_what_resembles_it(tshark):
    names = ("tcp.options", "smcr.option.kind", "smcr.option.length", "smcr.option.length_invalid")
    rows = tshark.fields("tcpopt-variants", *names, where="tcp.options")
    for octets, kinds, lengths, invalid in rows:
        ours = [
            (kind, 2 + len(value))
            for kind, value in options(bytes.fromhex(octets[0]))
            if kind in (253, 254) and value.hex().startswith(OPTION)
        ]
        assert list(zip(map(int, kinds), map(int, lengths))) == ours
        assert bool(invalid) == any(length != 6 for _, length in ours)
    assert any(row[1] for row in rows)
