"""
Reports of `-z smcr,json`: what docs/report.schema.json says of them, and hand-made ones.
"""

import functools
import json

import histograms
import jsonschema
from bed import TOP

SCHEMA = json.loads((TOP / "docs" / "report.schema.json").read_text(encoding="utf-8"))
ALL_OF_IT = ("-o", "smcr.roce:TRUE", "-o", "smcr.check_icrc:TRUE")
CALM = ("--disable-protocol", "rpcordma")  # which takes what others send for its own


@functools.cache
def validator():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    return jsonschema.Draft202012Validator(SCHEMA)


def problems(report):
    """What the schema does not allow: [(place, message)]."""
    return [
        ("/".join(map(str, error.absolute_path)), error.message)
        for error in validator().iter_errors(report)
    ]


def lonely_frames(value, place=""):
    """Places of frames without their time, or times without their frame, as the plugin must not
    write them."""
    if isinstance(value, list):
        for number, each in enumerate(value):
            yield from lonely_frames(each, f"{place}/{number}")
    elif isinstance(value, dict):
        for name, each in value.items():
            if name == "frame" or name.endswith("_frame"):
                time = name.removesuffix("frame") + "time"
                if (each is None) != (value.get(time) is None):
                    yield f"{place}/{name}"
            yield from lonely_frames(each, f"{place}/{name}")


def report_of(tshark, capture, *arguments, filter=None):
    """The JSON that tshark prints about a capture (name or path)."""
    statistic = "smcr,json" if filter is None else f"smcr,json,{filter}"
    return json.loads(tshark.show(capture, *CALM, *arguments, "-q", "-z", statistic))


# ---- hand-made reports ----


def resolved(schema):
    while "$ref" in schema:
        schema = SCHEMA["$defs"][schema["$ref"].rsplit("/", 1)[1]]
    return schema


def blank(schema):
    """The least that a schema allows: null where that can be, else zero, the first of the words, an
    empty list."""
    schema = resolved(schema)
    kinds = schema.get("type", [])
    if "anyOf" in schema or "null" in kinds:
        return None
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return None if None in schema["enum"] else schema["enum"][0]
    if kinds == "object":
        return {name: blank(schema["properties"][name]) for name in schema.get("required", ())}
    return {
        "array": [],
        "integer": schema.get("minimum", 0),
        "number": 0,
        "string": "0.000000000" if "[0-9]{9}" in schema.get("pattern", "") else "x",
        "boolean": False,
    }[kinds]


def updated(value, changes):
    """A copy of nested objects with other values in some places."""
    if not isinstance(value, dict) or not isinstance(changes, dict):
        return changes
    assert (
        value.keys() >= changes.keys() or not value
    ), f"there is no {changes.keys() - value.keys()}"
    return {**value, **{name: updated(value.get(name), change) for name, change in changes.items()}}


def entry(name, **changes):
    """An entry of a kind that the schema defines: blank, but for these members."""
    return updated(blank(SCHEMA["$defs"][name]), changes)


def report(**changes):
    return updated(blank(SCHEMA), changes)


def spread(*values):
    """The distribution of these values."""
    return {
        "count": len(values),
        "sum": sum(values),
        "sum_of_squares": sum(value * value for value in values),
        "min": min(values, default=None),
        "max": max(values, default=None),
    }


def times(*values):
    """The distribution of these times, with its histogram."""
    return spread(*values) | {"histogram": histograms.of(values)}
