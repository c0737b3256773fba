"""
Lines of `-z smcr,lines`: what docs/lines.schema.json says of them, and names of connections as
docs/lines.md defines them, made anew from the bytes of frames.
"""

import base64
import decimal
import functools
import hashlib
import ipaddress
import json
import re
import struct

import figures
import jsonschema
from bed import TOP
from report_schema import CALM

SCHEMA = json.loads((TOP / "docs" / "lines.schema.json").read_text(encoding="utf-8"))
KINDS = SCHEMA["$defs"]["line_kind"]["enum"]
DECIMALS = re.compile(r"[0-9]+\.[0-9]{9}")
BEGIN = '{"schema":"smcr-lines/1"'
# Of a report: where the entries of lines stand, and the member that identifies an entry.
LISTS = {
    "connection": ("connections", ("stream",)),
    "tcp": ("tcp_flows", ("tcp_stream",)),
    "breach": ("breaches", ("kind", "by")),
    "pause": ("pauses", ("port_mac", "kind", "priority")),
    "way": ("points", ("from_interface", "to_interface", "src", "dst", "transport")),
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


# The names of members whose sum is the default; the member without which there is no default.
SUM, COMPANION = re.compile(r"default: ([\w +]+)"), re.compile(r"default with: (\w+)")


def default_of(shape):
    """What the schema says of a member of a line: (the value, or a list of members whose sum it is;
    the companion of the member, or None); None: there is no default."""
    comment = shape.get("$comment", "")
    if found := SUM.fullmatch(comment):
        return found[1].split(" + "), None
    if "default" not in shape:
        return None
    found = COMPANION.fullmatch(comment)
    return shape["default"], found and found[1]


@functools.cache
def defaults(name):
    """Of an object of the schema, {member: default_of()}, and {member: its own object}."""
    values, parts = {}, {}
    for member, shape in (SCHEMA["$defs"][name] if name else SCHEMA)["properties"].items():
        if default := default_of(shape):
            values[member] = default
        of = shape.get("items", shape).get("$ref", "").removeprefix("#/$defs/")
        if SCHEMA["$defs"].get(of, {}).get("properties"):
            parts[member] = of
    return values, parts


def with_defaults(value, values):
    """An object of a line with what a reader assumes; without the list of what is not known."""
    found = dict(value)
    unknown = found.pop("not_known", ())
    for member, (default, companion) in values.items():
        if member in unknown or (companion and companion not in value):
            continue
        if isinstance(default, list):
            default = round(sum(value.get(each, 0) for each in default), 9)
        found.setdefault(member, default)
    return found


def filled(value, name=None):
    """A line, or an object within, with what the schema has a reader fill in."""
    if isinstance(value, list):
        return [filled(each, name) for each in value]
    values, parts = defaults(name)
    return {
        member: filled(each, parts[member]) if member in parts else each
        for member, each in with_defaults(value, values).items()
    }


class Line(dict):
    """A line, filled in. `size`: its length as written, bytes."""

    size = 0


def read_line(text):
    written = json.loads(text)
    assert problems(written) == [], text
    line = Line(filled(written))
    line.size = len(text.encode())
    return line


def read(text):
    """The lines of an output, filled in; each is whole, and valid."""
    assert not text or text.endswith("\n")
    return [read_line(each) for each in text.splitlines()]


def lines_of(tshark, path, *arguments, options=""):
    return read(tshark.show(path, *CALM, *arguments, "-q", "-z", f"smcr,lines{options}"))


def both(tshark, path, *arguments, options=""):
    """The report and the full lines of one run."""
    return report_and_lines(tshark, path, *arguments, "-z", f"smcr,lines,full{options}")


def both_and_short(tshark, path, *arguments):
    """The report, the full lines and those that are not full, of one run."""
    report, found = report_and_lines(
        tshark, path, *arguments, "-z", "smcr,lines,full", "-z", "smcr,lines"
    )
    return report, *([each for each in found if each["is_full"] is full] for full in (True, False))


def report_and_lines(tshark, path, *arguments):
    text = tshark.show(path, *CALM, "-q", "-z", "smcr,json", *arguments)
    every = text.splitlines(keepends=True)
    is_line = [each.startswith(BEGIN) for each in every]
    report = json.loads("".join(each for each, is_one in zip(every, is_line) if not is_one))
    return report, read("".join(each for each, is_one in zip(every, is_line) if is_one))


@functools.cache
def only_full(name):
    """Members of an object of the schema that only full lines have."""
    properties = (SCHEMA["$defs"][name] if name else SCHEMA)["properties"]
    return {each for each, shape in properties.items() if shape.get("$comment") == "full"}


def shortened(value, name=None):
    """What a line that is not full has of a full one, or of an object within it; both filled in."""
    if isinstance(value, list):
        return [shortened(each, name) for each in value]
    _, parts = defaults(name)
    found = {
        member: shortened(each, parts[member]) if member in parts else each
        for member, each in value.items()
        if member not in only_full(name)
    }
    if name == "connection":
        found["longest_waits"] = short_waits(found)
    found = {member: each for member, each in found.items() if each != []}
    return found if name else found | {"is_full": False}


def short_waits(connection):
    """The waits of a line that is not full: none for an answer that is as long as the longest
    answer; one without a length if there is a longest answer, and no such wait."""
    longest = {}
    for writer, way in (("client", "to_server"), ("server", "to_client")):
        answers = connection.get(way, {}).get("answer_time_s", {})
        longest[writer] = answers.get("max", answers.get("sum", 0))
    found = []
    for wait in connection.get("longest_waits", ()):
        is_answer = wait["kind"] == "answer"
        if not is_answer or wait["lasted_s"] != longest[wait["writer"]]:
            found.append(wait)
        if is_answer:
            longest[wait["writer"]] = 0
    return found + [
        {"writer": writer, "kind": "answer"} for writer, lasted in longest.items() if lasted
    ]


def distribution(value):
    """What a line has of a distribution; None: no sample."""
    found = {name: value[name] for name in ("count", "sum") if value["count"]}
    if value["count"] > 1:
        found |= {name: value[name] for name in ("min", "max")}
        found |= {} if "histogram" in value else {"sum_of_squares": value["sum_of_squares"]}
    if value["count"] and "histogram" in value:
        found["zero_count"] = 0
    if value["count"] > 1 and "histogram" in value:
        first = value["histogram"]["positive"]["offset"]
        counts = value["histogram"]["positive"]["bucket_counts"]
        found["zero_count"] = value["histogram"]["zero_count"]
        found["buckets"] = {f"{n}": count for n, count in enumerate(counts, first) if count} or None
    return {name: each for name, each in found.items() if each is not None} or None


def known(value, name=None):
    """What a filled line has of an entry `name` of the report: nothing that is null or empty, nor
    what no line has; distributions in their short form, times without zeros at their end."""
    if isinstance(value, list):
        return [known(each, name) for each in value] or None
    if isinstance(value, str) and DECIMALS.fullmatch(value):
        return value.rstrip("0").rstrip(".")
    if not isinstance(value, dict):
        return value
    if {"count", "sum_of_squares"} <= value.keys() and ("histogram" in value or "min" in value):
        return distribution(value)
    value = with_line_names(name, value)
    names = members_of(name) or {each: None for each in value}
    found = {each: known(value[each], of) for each, of in names.items() if each in value}
    return {name: each for name, each in found.items() if each is not None} or None


def with_line_names(name, entry):
    """An entry of the report with the names of a line, and with the time from its first frame to
    its last in the place of the latter."""
    found = {named_in_line(name, member): each for member, each in entry.items()}
    if (name, "last_frame") in figures.line_members()["LASTED"] and found["last_time"]:
        begin, end = (decimal.Decimal(found[each]) for each in ("first_time", "last_time"))
        found[figures.LASTED] = float(end - begin)
    return found


def named_in_line(name, member):
    return figures.line_members()["NAMED"].get((name, member), member)


@functools.cache
def members_of(name):
    """{member: its own object} that a line may have of an entry of the report; None: of a part that
    is no entry of the table."""
    if name not in figures.all_entries():
        return None
    return {
        each: figure.of
        for figure in figures.members_in_line(name)
        for each in figures.names_in_line(name, figure)
    }


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
    digest = hashlib.sha1(" ".join(map(str, parts)).encode()).digest()
    return base64.urlsafe_b64encode(digest[:12]).decode()
