"""
docs/limits.md keeps its word: every field of Wireshark's own `smc` dissector has its counterpart,
and what that dissector shows of a message the plugin shows too.
"""

import functools
import ipaddress
import re

import pytest
from bed import TOP, captures

ROW = re.compile(r"\| `(smc\.[^`]*)`[^|]*\| (`smcr\.[^|]*`) \|")

# What the built-in dissector reads from the wrong bytes, or takes for a message: {field: captures},
# None for all.
WRONG = {
    "smc.add.link.cont.rmb": None,  # two bytes too early
    "smc.reserved": None,  # wherever it has no field
    "smc.confirm.rkey.retry.rkey.set": {
        "llc-confirm-rkey-cont",
        "peer-foreign",
        "peer-rkeys",
        "vectors",
    },  # a continuation has no such flag
    "smc.add.link.response.reject_reason": {"llc-v2-byte-order"},  # of a response that accepts
    "smc.add.link": {"rfc-peer", "peer-foreign"},  # the layout of RFC 7609
    "smc.proposal.rocev2.gid.ipv4": {"roce-ipv6"},  # the end of an IPv6 address
    "smc": {"roce-odd"},  # data of RDMA WRITEs
}


@functools.cache
def counterparts():
    """{built-in field: our fields}, from the table in the documentation."""
    text = (TOP / "docs" / "limits.md").read_text(encoding="utf-8")
    return {row[1]: re.findall(r"smcr\.[\w.]+", row[2]) for row in ROW.finditer(text)}


def is_wrong(field, capture):
    return any(
        (field + ".").startswith(start + ".") and (where is None or capture in where)
        for start, where in WRONG.items()
    )


def plain(value):
    """The same value in whatever way a field writes it."""
    value = value.strip()
    if value in ("True", "False"):
        return int(value == "True")
    if re.fullmatch(r"(\w\w:){7}\w\w", value):
        return int(value.replace(":", ""), 16)
    try:
        return int(value, 0)
    except ValueError:
        pass
    try:
        address = ipaddress.IPv6Address(value)
    except ValueError:
        return value
    return str(address.ipv4_mapped or address)


def values(tshark, capture, names):
    """{frame: {field: values}} of the frames that have any."""
    rows = tshark.fields(
        capture, "frame.number", *names, where="not icmp", two_pass=True
    )  # which quotes packets
    return {
        int(row[0][0]): {
            name: [plain(value) for value in found] for name, found in zip(names, row[1:]) if found
        }
        for row in rows
        if any(row[1:])
    }


@functools.cache
def builtin_fields(tshark_without):
    rows = (line.split("\t") for line in tshark_without.run("-G", "fields").splitlines())
    return {row[2] for row in rows if row[0] == "F" and row[2].startswith("smc.")}


def test_every_field_has_a_counterpart(tshark, tshark_without):
    table = counterparts()
    registered = {row[0] for row in tshark.registered_fields()}
    assert builtin_fields(tshark_without) - set(table) == set()
    assert {ours for row in table.values() for ours in row} - registered == set()


@pytest.mark.parametrize("capture", captures("real", "synthetic"))
def test_every_value_is_shown(tshark, tshark_without, capture):
    table = counterparts()
    theirs = values(tshark_without, capture, sorted(builtin_fields(tshark_without)))
    ours = values(tshark, capture, sorted({name for row in table.values() for name in row}))
    missing = []
    for frame, fields in theirs.items():
        for field, found in fields.items():
            shown = [value for name in table[field] for value in ours.get(frame, {}).get(name, [])]
            if not is_wrong(field, capture) and set(found) - set(shown):
                missing.append((frame, field, found, shown))
    assert missing == []
