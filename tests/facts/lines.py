"""
Lines of `-z smcr,lines`: what docs/lines.schema.json says of them, and names of connections as
docs/lines.md defines them, made anew from the bytes of frames.
"""

import base64
import functools
import hashlib
import ipaddress
import json
import struct

import jsonschema
from bed import TOP
from report_schema import CALM

SCHEMA = json.loads((TOP / "docs" / "lines.schema.json").read_text(encoding="utf-8"))
KINDS = SCHEMA["$defs"]["line_kind"]["enum"]
BEGIN = '{"schema":"smcr-lines/1"'
# Of a report: where the entries of lines stand, and the member that identifies an entry.
LISTS = {
    "connection": ("connections", ("stream",)),
    "tcp": ("tcp_flows", ("tcp_stream",)),
    "breach": ("breaches", ("kind", "by")),
    "pause": ("pauses", ("port_mac", "kind", "priority")),
}


@functools.cache
def validator():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    return jsonschema.Draft202012Validator(SCHEMA)


def problems(line):
    return [
        ("/".join(map(str, error.absolute_path)), error.message)
        for error in validator().iter_errors(line)
    ]


def read(text):
    """The lines of an output; each is whole, and valid."""
    assert not text or text.endswith("\n")
    found = [json.loads(each) for each in text.splitlines()]
    assert [(each["line"], problems(each)) for each in found if problems(each)] == []
    return found


def lines_of(tshark, path, *arguments, options=""):
    return read(tshark.show(path, *CALM, *arguments, "-q", "-z", f"smcr,lines{options}"))


def both(tshark, path, *arguments, options=""):
    """The report and the lines of one run."""
    text = tshark.show(
        path, *CALM, *arguments, "-q", "-z", "smcr,json", "-z", f"smcr,lines{options}"
    )
    every = text.splitlines(keepends=True)
    is_line = [each.startswith(BEGIN) for each in every]
    report = json.loads("".join(each for each, is_one in zip(every, is_line) if not is_one))
    return report, read("".join(each for each, is_one in zip(every, is_line) if is_one))


def known(value):
    """What a line has of a value: nothing that is null or empty, no distribution without
    samples."""
    if isinstance(value, list):
        return [known(each) for each in value] or None
    if not isinstance(value, dict):
        return value
    if {"count", "sum_of_squares"} <= value.keys() and not value["count"]:
        return None
    found = {name: known(each) for name, each in value.items()}
    return {name: each for name, each in found.items() if each is not None} or None


def differences(one, other, place=""):
    """Places at which two values differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in sorted(one.keys() | other.keys()):
            yield from differences(one.get(name), other.get(name), f"{place}/{name}")
    elif one != other:
        yield place


def of_kind(lines, kind):
    return [each for each in lines if each["line"] == kind]


# ---- names ----


def community_id(source, destination, seed=0):
    """Version 1 of the Community ID of a TCP connection; ends are (address, port)."""
    ends = sorted((ipaddress.ip_address(addr).packed, port) for addr, port in (source, destination))
    data = struct.pack("!H", seed) + ends[0][0] + ends[1][0]
    data += struct.pack("!BBHH", 6, 0, ends[0][1], ends[1][1])
    return "1:" + base64.b64encode(hashlib.sha1(data).digest()).decode()


def uid(*parts):
    return hashlib.sha1(" ".join(map(str, parts)).encode()).hexdigest()[:32]
