"""Entries of `rdma_flows`, added up by source, destination and destination queue pair, as the truth
has them."""

import functools
import ipaddress
import json

from report_runs import PACKED_NAMES, PATHS

FLIPPED = [name for name in PACKED_NAMES if name.startswith("icrc-flipped")]
COUNTS = ("packets", "bytes", "payload_bytes", "opcodes", "ecn", "nak", "rnr_nak", "cnp")


def address(text):
    """An address in one form; a LID is a number."""
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return text


def key_of(flow):
    return address(flow["src"]), address(flow["dst"]), flow["dst_qpn"]


def add(one, other):
    """Counts added up; None where both are."""
    if isinstance(one, dict) or isinstance(other, dict):
        one, other = one or {}, other or {}
        return {name: add(one.get(name), other.get(name)) for name in {**one, **other}}
    return other if one is None else one if other is None else one + other


def added_up(flows, members=COUNTS):
    """{key: counts} of entries of `rdma_flows`."""
    found = {}
    for flow in flows:
        known = found.setdefault(key_of(flow), dict.fromkeys(members))
        for name in members:
            known[name] = add(known[name], flow[name])
    return found


def as_text(found):
    """The same, with keys that messages can show."""
    return {f"{src}>{dst} queue pair {qpn}": counts for (src, dst, qpn), counts in found.items()}


@functools.cache
def whole_truth(name):
    path = PATHS[name]
    return json.loads((path.parent / f"{name}.json").read_text(encoding="utf-8"))


def truth(name):
    return whole_truth(name)["truth_from_bytes"]
