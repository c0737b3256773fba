"""
What dissectors/report/figures/entries.def and lines.def say, and the documents that are made of
them: the tables of docs/json.md and docs/lines.md, docs/report.schema.json, docs/lines.schema.json,
and the columns of docs/examples/lines.*.
"""

import collections
import functools
import json
import re
import textwrap

from bed import TOP

FIGURES = TOP / "dissectors" / "report" / "figures"
Entry = collections.namedtuple("Entry", "text members")
Figure = collections.namedtuple(
    "Figure", "kind name values null text of"
)  # `of`: the entry of a part

PARTS = ("OBJECT", "MAYBE", "LIST")
SUMMED = (  # is_added_up() of json.c
    "COUNT",
    "SECONDS",
    "SAMPLE",
    "TIMES",
    "SPREAD",
    "LENGTHS",
    "OPCODES",
    "TALLY",
)
ITEM = r'"(?:[^"\\]|\\.)*"|[^",()]+'


def whole(**limits):
    return {"type": "integer", **limits}


def words(*values):
    return {"enum": list(values)}


HEX = "^0x[0-9a-f]{{{}}}$"
DECIMALS = "^-?[0-9]+\\.[0-9]{9}$"
NOTHING = {name: {"const": 0} for name in ("sum", "sum_of_squares")} | {
    name: {"const": None} for name in ("min", "max")
}

# The values of figures: the column `values`.
TYPES = {
    "count": {"description": "A count of something.", **whole(minimum=0)},
    "some": whole(minimum=1),
    "seconds": {"description": "A sum of seconds.", "type": "number"},
    "ratio": {"type": "number", "minimum": 0},
    "offset": {"description": "A difference; it may be negative.", "type": "number"},
    "truth": {"type": "boolean"},
    "text": {"type": "string"},
    "sentence": {"type": "string", "minLength": 1},
    "schema": {"const": "smcr-report/1"},
    "lines_schema": {"const": "smcr-lines/1"},
    "uid": {"type": "string", "pattern": "^[0-9A-Za-z_-]{16}$"},
    "community_id": {"type": "string", "pattern": "^1:[A-Za-z0-9+/]{27}=$"},
    "index": {
        "description": "Counted from 0 within the report. Null: not known, or there is none.",
        **whole(minimum=0),
    },
    "frame": {
        "description": ("Number of a frame, from 1. Null: not known, or there is none."),
        **whole(minimum=1),
    },
    "time": {
        "description": "Seconds since 1970-01-01 UTC, with nine decimals.",
        "type": "string",
        "pattern": DECIMALS,
    },
    "port": whole(minimum=0, maximum=0xFFFF),
    "code16": whole(minimum=0, maximum=0xFFFF),
    "link_number": whole(minimum=0, maximum=0xFF),
    "vlan": whole(minimum=0, maximum=0xFFF),
    "priority": whole(minimum=0, maximum=7),
    "ack_timeout": whole(minimum=1, maximum=31),
    "qpn": {"description": "Number of a queue pair.", **whole(minimum=0, maximum=0xFFFFFF)},
    "isn": {
        "description": "Initial sequence number of TCP, as on the wire.",
        **whole(minimum=0, maximum=0xFFFFFFFF),
    },
    "hex32": {"type": "string", "pattern": HEX.format(8)},
    "hex64": {"type": "string", "pattern": HEX.format(16)},
    "breach_kind": {"type": "string", "pattern": "^[a-z0-9_.]+$"},
    "finding_kind": {"type": "string", "pattern": "^[a-z0-9_]+$"},
    "passes": words(1, 2),
    "mtu": words(256, 512, 1024, 2048, 4096),
    "opcodes": {
        "description": "Packets by BTH opcode.",
        "type": "object",
        "additionalProperties": whole(minimum=1),
        "propertyNames": {"pattern": "^([A-Z][A-Z0-9_]*|0x[0-9a-f]{2})$"},
    },
    "tally": {
        "description": "Packets by the value of a header field.",
        "type": "object",
        "additionalProperties": whole(minimum=1),
        "propertyNames": {"pattern": "^[0-9]{1,3}$"},
    },
    "distribution": {
        "description": (
            "A distribution: seconds, except sce_run_length. Without samples min and max are "
            "null."
        ),
        "type": "object",
        "additionalProperties": False,
        "required": ["count", "sum", "sum_of_squares", "min", "max"],
        "properties": {
            "count": {"$ref": "#/$defs/count"},
            "sum": {"type": "number"},
            "sum_of_squares": {"type": "number", "minimum": 0},
            "min": {"type": ["number", "null"]},
            "max": {"type": ["number", "null"]},
        },
        "if": {"properties": {"count": {"const": 0}}},
        "then": {"properties": NOTHING},
        "else": {"properties": {"min": {"type": "number"}, "max": {"type": "number"}}},
    },
    "histogram": {
        "description": (
            "Quantiles, in seconds, and counts of the buckets of an exponential histogram of"
            " OpenTelemetry."
        ),
        "type": "object",
        "additionalProperties": False,
        "required": ["median", "p95", "p99", "p999", "scale", "zero_count", "positive"],
        "properties": {
            **{name: {"type": "number"} for name in ("median", "p95", "p99", "p999")},
            "scale": {"const": 3},
            "zero_count": {"$ref": "#/$defs/count"},
            "positive": {
                "type": "object",
                "additionalProperties": False,
                "required": ["offset", "bucket_counts"],
                "properties": {
                    "offset": whole(minimum=-240, maximum=272),
                    "bucket_counts": {
                        "type": "array",
                        "items": {"$ref": "#/$defs/count"},
                        "maxItems": 513,
                    },
                },
            },
        },
    },
}


def with_histogram():
    """The schema of a distribution of times: that of a distribution, and its histogram."""
    plain = TYPES["distribution"]
    histogram = {"anyOf": [{"$ref": "#/$defs/histogram"}, {"type": "null"}]}
    return {
        **plain,
        "description": "A distribution of times, in seconds, with its histogram.",
        "required": [*plain["required"], "histogram"],
        "properties": {**plain["properties"], "histogram": histogram},
        "then": {"properties": {**NOTHING, "histogram": {"const": None}}},
        "else": {
            "properties": {
                **plain["else"]["properties"],
                "histogram": {"$ref": "#/$defs/histogram"},
            }
        },
    }


TYPES["times"] = with_histogram()


@functools.cache
def choices():
    """{list: words} of choices.def, in ascending order; RDMA-CM's states and DELETE LINK's reasons
    are those of the wire."""
    text, found = (FIGURES / "choices.def").read_text(encoding="utf-8"), {}
    for name, rows in re.findall(
        r"^CHOICE\((\w+)\)$(.*?)^END\(\1\)$", text, re.MULTILINE | re.DOTALL
    ):
        found[name] = re.findall(r'^    WORD\(\w+, "([^"]+)"\)$', rows, re.MULTILINE)
    codes = "".join(
        (TOP / "dissectors" / "wire" / f"{name}_codes.h").read_text(encoding="utf-8")
        for name in ("roce", "llc")
    )
    return found | {
        "cm_state": re.findall(r'V\(SMCR_IB_CM_STATE_\w+, \d+, "(\w+)"\)', codes),
        "delete_reason": [
            *re.findall(r'V\(SMCR_LLC_DELETE_\w+, \w+, "(.+)"\)', codes),
            "unknown reason",
        ],
    }


@functools.cache
def entries():
    """{name: Entry} of the report."""
    return read_entries("entries.def")


@functools.cache
def all_entries():
    """{name: Entry} of the report and of lines."""
    return entries() | read_entries("lines.def")


def read_entries(file):
    """{name: Entry} of a table."""
    text = re.sub(r"/\*.*?\*/", "", (FIGURES / file).read_text(encoding="utf-8"), flags=re.DOTALL)
    found = {}
    for macro, row in re.findall(
        rf"^\s*(ENTRY|FIGURE|CHOICE|PART)\(((?:{ITEM}|,)+)\)", text, re.MULTILINE
    ):
        row = re.sub(r'"\s+"', "", row)  # literals that stand side by side are one
        entry, *columns = [
            json.loads(item) if item.startswith('"') else item
            for item in map(str.strip, re.findall(ITEM, row))
            if item
        ]
        if macro == "ENTRY":
            found[entry] = Entry(columns[0], {})
        elif macro == "FIGURE":
            found[entry].members[columns[1]] = Figure(*columns, None)
        elif macro == "CHOICE":
            found[entry].members[columns[0]] = Figure(macro, *columns, None)
        else:
            kind, name, of, said = columns
            found[entry].members[name] = Figure(kind, name, None, None, said, of)
    return found


LASTED = "lasted_s"


@functools.cache
def line_members():
    """What lines have of entries, of line_members.def: {macro: {(entry, member): the third
    argument, or None}}."""
    text = (FIGURES / "line_members.def").read_text(encoding="utf-8")
    found = collections.defaultdict(dict)
    for macro, row in re.findall(r"^([A-Z_]+)\((.+)\)", text, re.MULTILINE):
        entry, member, companion = (*row.split(", "), None, None)[:3]
        found[macro][entry, member] = companion
    return found


def is_in_full_lines_only(entry, figure):
    return (entry, figure.name) in line_members()["FULL"]


def is_lasted(entry, figure):
    """Whether a line has how long a frame is after another time, in the place of its time."""
    return (entry, figure.name) in line_members()["LASTED"]


def companion_of(entry, figure):
    """The member with which a reader assumes a value of this one, which may be not known; else
    None."""
    return line_members()["ASSUMED"].get((entry, figure.name))


def members_in_line(entry):
    """The members of an entry that a line may have."""
    return [
        each
        for each in all_entries()[entry].members.values()
        if each.kind != "SUMMARY" and (entry, each.name) not in line_members()["LEFT_OUT"]
    ]


def names_in_line(entry, figure):
    """The names that a line has for a member: a frame has its time, or how long it is after another
    time; in few entries its number, too."""
    if figure.kind != "WHEN":
        return [line_members()["NAMED"].get((entry, figure.name), figure.name)]
    if is_lasted(entry, figure):
        return [LASTED]
    has_frames = (entry, None) in line_members()["WITH_FRAMES"]
    return [figure.name] * has_frames + [time_of(figure.name)]


def has_unknown(entry):
    """Whether the entry may have the list of members that are not known."""
    return any(companion_of(entry, each) for each in members_in_line(entry))


def findings():
    """[(kind, what it says, what its number is of)] of finding_kinds.def"""
    text = (FIGURES / "finding_kinds.def").read_text(encoding="utf-8")
    rows = [
        re.sub(r'"\s+"', "", row)
        for row in re.findall(rf"^FINDING\(((?:{ITEM}|,)+)\)", text, re.MULTILINE)
    ]
    return [[json.loads(text) for text in re.findall(r'"(?:[^"\\]|\\.)*"', row)] for row in rows]


def time_of(name):
    """What stands beside the number of a frame."""
    return name.removesuffix("frame") + "time"


# ---- docs/json.md ----


def braces(entry):
    """The members of an entry, in short: {`client`, `server`: whose it is}"""
    parts = []
    for each in all_entries()[entry].members.values():
        names = [each.name, time_of(each.name)] if each.kind == "WHEN" else [each.name]
        parts.append(
            ", ".join(f"`{name}`" for name in names) + (f": {each.text}" if each.text else "")
        )
    return "{" + ", ".join(parts) + "}"


def filled(text, entry):
    """The text, with members of the entry for {}, and with those of its member for {name}."""
    of_member = lambda found: braces(
        all_entries()[entry].members[found[1]].of if found[1] else entry
    )  # noqa: E731
    return re.sub(r"\{(\w*)\}", of_member, text) if entry else text


def said(figure):
    """What docs/json.md says of a member."""
    text = filled(figure.text, figure.of)
    return (
        f"[{text.replace('}', '}]', 1)}" if figure.kind == "LIST" and text.startswith("{") else text
    )


def member_rows(entry):
    names = []
    for each in all_entries()[entry].members.values():
        names.append(f"`{each.name}`")
        if each.text:
            yield f"| {', '.join(names)} | {said(each)} |"
            names = []


def list_rows(*names):
    """Of the report's lists: what an entry of each is."""
    for name in names:
        of = entries()["report"].members[name].of
        yield f"| `{name}[]` | {filled(entries()[of].text, of)} |"


def kind_rows():
    """Of findings: what each kind says, and what its number is of."""
    kinds = []
    for kind, says, counts in findings():
        kinds += [f"`{kind}`"] if f"`{kind}`" not in kinds else []
        if says:
            yield f"| {', '.join(kinds)} | {says} | {counts} |"
            kinds = []


def page(text):
    """docs/json.md with its tables made anew: <!-- figures: ENTRY -->, <!-- lists: NAME... --> or
    <!-- findings: kinds --> stands before them."""
    makers = {"figures": member_rows, "lists": list_rows, "findings": lambda kinds: kind_rows()}

    def table(found):
        rows = list(makers[found[2]](*found[3].split()))
        return "\n".join([found[1], *rows, "<!-- end -->"])

    return re.sub(
        r"^(<!-- (figures|lists|findings): ([\w ]+) -->\n\|.*\n\|-.*)\n(?:\|.*\n)*<!-- end -->$",
        table,
        text,
        flags=re.MULTILINE,
    )


# ---- docs/report.schema.json ----


def or_null(schema):
    if "enum" in schema:
        return schema | {"enum": [*schema["enum"], None]}
    return schema | {"type": [schema["type"], "null"]}


def reference(name):
    return {"$ref": f"#/$defs/{name}"}


def shape(figure):
    """{name: schema} of a figure: a frame has its time beside it."""
    if figure.kind == "SUMMARY":
        return {figure.name: reference("summary")}
    if figure.kind in PARTS:
        of = reference(figure.of)
        most = {"maxItems": 10} if figure.name == "findings" else {}
        return {
            figure.name: {
                "OBJECT": of,
                "MAYBE": {"anyOf": [of, {"type": "null"}]},
                "LIST": {"type": "array", "items": of, **most},
            }[figure.kind]
        }
    value = reference(figure.values + ("" if figure.null == "always" else "_or_null"))
    if figure.kind in ("NUMBERS", "TEXTS"):
        value = {"type": "array", "items": value}
    beside = {time_of(figure.name): reference("time_or_null")} if figure.kind == "WHEN" else {}
    return {figure.name: value, **beside}


def an_object(text, properties, optional=()):
    about = {"description": re.sub(r"[`]|^\{\}: ", "", text)} if text else {}
    return {
        **about,
        "type": "object",
        "additionalProperties": False,
        "required": [name for name in properties if name not in optional],
        "properties": properties,
    }


def entry_schema(entry):
    properties = {}
    for each in entries()[entry].members.values():
        properties |= shape(each)
    return an_object(entries()[entry].text, properties)


def summed(figure):
    """Whether the summary has it."""
    return (
        figure.kind in SUMMED
        or figure.kind in ("OBJECT", "MAYBE")
        and any(map(summed, entries()[figure.of].members.values()))
    )


def sums(entry):
    """{name: schema} of what the summary has of an entry."""
    found = {}
    for each in filter(summed, entries()[entry].members.values()):
        if each.kind == "SAMPLE":
            found[each.name] = reference("times")
        elif each.of and not all(map(summed, entries()[each.of].members.values())):
            of = reference(f"sum_of_{each.of}")
            found[each.name] = of if each.kind == "OBJECT" else {"anyOf": [of, {"type": "null"}]}
        else:
            found |= shape(each)
    return found


def summary_schema():
    lists = [each for each in entries()["report"].members.values() if each.kind == "LIST"]
    count = {"count": reference("count")}
    return an_object(
        "Each list, added up. What is null in all entries is null here.",
        {
            each.name: an_object(
                "", count if "count" in entries()[each.of].members else count | sums(each.of)
            )
            for each in lists
        },
    )


def partly_summed():
    """Entries within others that the summary has without some of their members."""
    within = {
        each.of
        for entry in entries().values()
        for each in entry.members.values()
        if each.kind in ("OBJECT", "MAYBE")
    }
    return [
        entry
        for entry in entries()
        if entry in within and 0 < len(sums(entry)) < len(entries()[entry].members)
    ]


def schema():
    """docs/report.schema.json as text."""
    report = an_object(
        "What tshark -q -z smcr,json prints. docs/json.md defines each member.",
        entry_schema("report")["properties"],
    )
    types = TYPES | {name: words(*texts) for name, texts in choices().items()}
    values = types | {
        f"{name}_or_null": or_null(types[name])
        for name in types
        if name
        not in (
            "distribution",
            "times",
            "histogram",
            "opcodes",
            "tally",
            "schema",
            "lines_schema",
        )
    }
    objects = {entry: entry_schema(entry) for entry in entries() if entry != "report"}
    objects |= {
        f"sum_of_{entry}": an_object(entries()[entry].text, sums(entry))
        for entry in partly_summed()
    }
    everything = values | objects | {"summary": summary_schema()}
    named = set(
        re.findall(r"#/\$defs/(\w+)", json.dumps([report, objects, everything["summary"]]))
    ) | {"count", "histogram"}
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": TYPES["schema"]["const"],
    }
    whole_of_it = (
        head
        | report
        | {"$defs": {name: each for name, each in everything.items() if name in named}}
    )
    return pretty(whole_of_it) + "\n"


def pretty(value, indent=""):
    """JSON; what fits into a line stays in it."""
    line = json.dumps(value)
    if len(indent + line) <= 110 or not isinstance(value, (dict, list)):
        return line
    inner, ends = indent + "  ", "{}" if isinstance(value, dict) else "[]"
    parts = (
        [f"{json.dumps(name)}: {pretty(each, inner)}" for name, each in value.items()]
        if isinstance(value, dict)
        else [pretty(each, inner) for each in value]
    )
    return f"{ends[0]}\n" + ",\n".join(inner + part for part in parts) + f"\n{indent}{ends[1]}"


# ---- docs/lines.schema.json ----


UNKNOWN = (
    "not_known"  # the list of members that are not known, although a reader would assume a value
)


def line_default(entry, figure):
    """What a reader of a line fills in for a missing member of an entry that is there; None: the
    member is not known."""
    is_assumed = figure.null in ("always", "together") or companion_of(entry, figure)
    if not is_assumed or is_in_full_lines_only(entry, figure):
        return None
    return {"COUNT": 0, "SECONDS": 0, "BOOL": False}.get(figure.kind)


def bounded(entry, name):
    """Of an upper bound, the times whose sum is its default: the one that it bounds, and that of
    which nobody knows where it belongs. Else none."""
    if not name.endswith("_most_s"):
        return []
    times = [f"{name.removesuffix('_most_s')}_s", "unknown_s"]
    return [each for each in times if each in all_entries()[entry].members]


def line_shape(entry, figure):
    """{name: schema} of a figure in a line: it is known, not there, or its default."""
    in_full = {"$comment": "full"} if is_in_full_lines_only(entry, figure) else {}
    if is_lasted(entry, figure):
        return {LASTED: reference("offset")}
    if figure.kind == "LIST":
        return {figure.name: {"type": "array", "minItems": 1, "items": reference(figure.of)}}
    if figure.of:
        return {names_in_line(entry, figure)[0]: reference(figure.of) | in_full}
    value = reference(figure.values) | in_full
    if figure.kind in ("NUMBERS", "TEXTS"):
        value = {"type": "array", "minItems": 1, "items": value}
    default = line_default(entry, figure)
    if default is not None and bounded(entry, figure.name):
        value |= {"$comment": f"default: {' + '.join(bounded(entry, figure.name))}"}
    elif default is not None:
        value |= {"default": default}
    if default is not None and companion_of(entry, figure):
        value |= {"$comment": f"default with: {companion_in_line(entry, figure)}"}
    return {
        name: value if name == figure.name else reference("time") | in_full
        for name in names_in_line(entry, figure)
    }


def companion_in_line(entry, figure):
    """The name in a line of the member with which a reader assumes a value of this one."""
    companion = all_entries()[entry].members[companion_of(entry, figure)]
    return names_in_line(entry, companion)[0]


def line_object(entry):
    """An entry in a line."""
    found = all_entries()[entry]
    properties = {}
    for each in members_in_line(entry):
        properties |= line_shape(entry, each)
    if has_unknown(entry):
        names = [each.name for each in members_in_line(entry) if companion_of(entry, each)]
        properties[UNKNOWN] = {
            "description": "Members that are not known: no default holds for them.",
            "type": "array",
            "minItems": 1,
            "items": words(*names),
        }
    return an_object(found.text, properties, properties)


BUCKETS = {
    "description": (
        "How many times are in the buckets of an exponential histogram of OpenTelemetry, of scale"
        " 3: bucket n has those above 2^(n/8) s, up to 2^((n+1)/8) s."
    ),
    "type": "object",
    "minProperties": 1,
    "propertyNames": {"pattern": "^-?[0-9]{1,3}$"},
    "additionalProperties": whole(minimum=1),
}


def line_types():
    """Types that a line writes in a shorter form than the report."""
    found = {
        "time": {
            "description": "Seconds since 1970-01-01 UTC, up to nine decimals.",
            "type": "string",
            "pattern": r"^[0-9]+(\.[0-9]{0,8}[1-9])?$",
        }
    }
    plain = {"count": whole(minimum=1)} | {
        name: {"type": "number"} for name in ("sum", "min", "max")
    }
    buckets = {"zero_count": reference("count") | {"default": 0}, "buckets": BUCKETS}
    squares = {"sum_of_squares": {"type": "number", "minimum": 0}}
    for name, more in (("distribution", squares), ("times", buckets)):
        found[name] = {
            "description": (
                "A distribution: seconds, except lengths and depths. One value has count and"
                " sum only. Of an interval, min and max are those of buckets, or not known."
            ),
            **an_object("", plain | more, ("min", "max", *more)),
        }
    return found


def lines_schema():
    """docs/lines.schema.json as text."""
    line = line_object("line")
    line["required"] = ["schema", "line"]
    line["allOf"] = [
        {"if": {"properties": {"line": {"const": kind}}}, "then": {"required": [kind]}}
        for kind in choices()["line_kind"]
    ]
    types = TYPES | {name: words(*texts) for name, texts in choices().items()} | line_types()
    objects = {entry: line_object(entry) for entry in all_entries() if entry != "line"}
    everything, named = types | objects, {"count"}
    queue = [line]
    while queue:  # all that the line refers to, by however many steps
        found = set(re.findall(r"#/\$defs/(\w+)", json.dumps(queue))) - named
        named |= found
        queue = [everything[name] for name in found]
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": TYPES["lines_schema"]["const"],
    }
    line["description"] = "A line that tshark -q -z smcr,lines prints. docs/lines.md explains it."
    return (
        pretty(head | line | {"$defs": {k: v for k, v in everything.items() if k in named}}) + "\n"
    )


# ---- tables for databases: docs/examples/lines.duckdb.sql, lines.opensearch.json ----

TABLE_BEGIN = "-- ---- the columns: tests/figures-doc writes them ----\n"
TABLE_END = "-- ---- end of the columns ----\n"
DISTRIBUTION = {"count": "COUNT", "sum": "RATIO", "min": "RATIO", "max": "RATIO"}
TIMES = DISTRIBUTION | {"zero_count": "COUNT", "buckets": "BUCKETS"}
LENGTHS = DISTRIBUTION | {"sum_of_squares": "RATIO"}
DUCKDB = {
    "COUNT": "UBIGINT",
    "NUMBER": "UBIGINT",
    "SECONDS": "DOUBLE",
    "SAMPLE": "DOUBLE",
    "RATIO": "DOUBLE",
    "TEXT": "VARCHAR",
    "CHOICE": "VARCHAR",
    "BOOL": "BOOLEAN",
    "TIME": "DECIMAL(20, 9)",
    "BUCKETS": "MAP(VARCHAR, UBIGINT)",
    "OPCODES": "MAP(VARCHAR, UBIGINT)",
    "TALLY": "MAP(VARCHAR, UBIGINT)",
    "NUMBERS": "UBIGINT[]",
    "TEXTS": "VARCHAR[]",
}
CLICKHOUSE = {
    "COUNT": "Nullable(UInt64)",
    "NUMBER": "Nullable(UInt64)",
    "SECONDS": "Nullable(Float64)",
    "SAMPLE": "Nullable(Float64)",
    "RATIO": "Nullable(Float64)",
    "TEXT": "Nullable(String)",
    "CHOICE": "Nullable(String)",
    "BOOL": "Nullable(Bool)",
    "TIME": "Nullable(DateTime64(9, 'UTC'))",
    "BUCKETS": "Map(String, UInt64)",
    "OPCODES": "Map(String, UInt64)",
    "TALLY": "Map(String, UInt64)",
    "NUMBERS": "Array(UInt64)",
    "TEXTS": "Array(String)",
}
KEYS = {  # of the table: they are always known, or empty
    "schema": "LowCardinality(String)",
    "line": "LowCardinality(String)",
    "time": "DateTime64(9, 'UTC')",
    "host": "LowCardinality(String)",
}
EPOCH = {"type": "date_nanos", "format": "epoch_second"}  # seconds with a fraction, as a text
OPENSEARCH = {
    "COUNT": "long",
    "NUMBER": "long",
    "SECONDS": "double",
    "SAMPLE": "double",
    "RATIO": "double",
    "TEXT": "keyword",
    "CHOICE": "keyword",
    "BOOL": "boolean",
    "BUCKETS": "object",
    "OPCODES": "object",
    "TALLY": "object",
    "NUMBERS": "long",
    "TEXTS": "keyword",
}


def columns_of(entry):
    """[(name, figure or kind)] of an entry in a line."""
    for each in members_in_line(entry):
        for name in names_in_line(entry, each):
            if is_lasted(entry, each):
                yield name, "RATIO"
            elif each.kind == "WHEN":
                yield name, "NUMBER" if name == each.name else "TIME"
            else:
                has_columns = each.of or each.kind in ("SPREAD", "TIMES", "LENGTHS")
                yield name, each if has_columns else each.kind
    if has_unknown(entry):
        yield UNKNOWN, "TEXTS"


def columns_within(column):
    """The same of a column that is an entry, or a distribution."""
    if column.of:
        return columns_of(column.of)
    return (TIMES if column.kind == "TIMES" else LENGTHS).items()


def duckdb_type(column):
    if isinstance(column, str):
        return DUCKDB[column]
    inner = ", ".join(f'"{name}" {duckdb_type(each)}' for name, each in columns_within(column))
    return f"STRUCT({inner})" + ("[]" if column.kind == "LIST" else "")


@functools.cache
def has_defaults(entry):
    """Whether a reader of lines fills in something in this entry, or in one within."""
    return any(
        line_default(entry, each) is not None or (each.of and has_defaults(each.of))
        for each in members_in_line(entry)
    )


def duckdb_value(place, entry, figure):
    """A member of an entry, which stands at `place`, with what the line leaves out."""
    value = f'{place}"{names_in_line(entry, figure)[0]}"'
    if figure.of and has_defaults(figure.of):
        assert figure.kind != "LIST", f"no recipe fills in lists: {figure.name}"
        return f"{figure.of}_filled({value})"
    default = line_default(entry, figure)
    if default is None:
        return value
    sums = [f'coalesce({place}"{name}", 0)' for name in bounded(entry, figure.name)]
    found = f"coalesce({value}, {' + '.join(sums) or str(default).lower()})"
    if not companion_of(entry, figure):
        return found
    with_it = f'{place}"{companion_in_line(entry, figure)}" IS NOT NULL'
    known = f"NOT list_contains(coalesce({place}{UNKNOWN}, []), '{figure.name}')"
    return f"CASE WHEN {with_it} AND {known} THEN {found} ELSE {value} END"


def duckdb_macros():
    """For each entry in which a line leaves something out, a macro that fills it in. Those within
    come first."""
    queue, order = ["line"], []
    while queue:
        entry = queue.pop()
        inner = dict.fromkeys(each.of for each in members_in_line(entry))
        queue += (found := [each for each in inner if each and has_defaults(each)])
        order = [each for each in order if each not in found] + found
    for entry in reversed(order):
        members = []
        for each in members_in_line(entry):
            members += [
                f"'{name}': "
                + (f'it."{name}"' if each.kind == "WHEN" else duckdb_value("it.", entry, each))
                for name in names_in_line(entry, each)
            ]
        yield (
            f"CREATE OR REPLACE MACRO {entry}_filled(it) AS CASE WHEN it IS NOT NULL THEN"
            f" {{{', '.join(members)}}} END;"
        )


def wrapped(text, indent):
    """A statement of SQL in lines of 118 columns."""
    return textwrap.fill(
        text,
        118,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + 4),
        break_long_words=False,
        break_on_hyphens=False,
    )


def duckdb(text):
    """docs/examples/lines.duckdb.sql with its columns made anew."""
    before, rest = text.split(TABLE_BEGIN)
    rows = [wrapped(f"{name}: '{duckdb_type(column)}'", 4) for name, column in columns_of("line")]
    filled_in = [
        f"{value} AS {each.name}"
        for each in members_in_line("line")
        if (value := duckdb_value("", "line", each)) != f'"{each.name}"'
    ]
    view = (
        "".join(wrapped(each, 0) + "\n" for each in duckdb_macros())
        + wrapped(
            f"CREATE OR REPLACE VIEW lines AS SELECT * REPLACE ({', '.join(filled_in)})"
            " FROM read_json(getvariable('files'),",
            0,
        )
        + "\n    format = 'newline_delimited', columns = {\n"
        + ",\n".join(rows)
        + "\n    });\n"
    )
    return before + TABLE_BEGIN + view + TABLE_END + rest.split(TABLE_END)[1]


def clickhouse_type(column):
    if isinstance(column, str):
        return CLICKHOUSE[column]
    inner = ", ".join(f"`{name}` {clickhouse_type(each)}" for name, each in columns_within(column))
    return f"Array(Tuple({inner}))" if column.kind == "LIST" else f"Tuple({inner})"


def clickhouse(text):
    """docs/examples/lines.clickhouse.sql with its columns made anew."""
    before, rest = text.split(TABLE_BEGIN)
    rows = [
        wrapped(f"{name} {KEYS.get(name) or clickhouse_type(column)}", 4)
        for name, column in columns_of("line")
    ]
    table = "CREATE TABLE smcr_lines\n(\n" + ",\n".join(rows) + "\n)\n"
    return before + TABLE_BEGIN + table + TABLE_END + rest.split(TABLE_END)[1]


def opensearch_type(column):
    if isinstance(column, str):
        return EPOCH if column == "TIME" else {"type": OPENSEARCH[column]}
    kind = {"type": "nested"} if column.kind == "LIST" else {}
    return kind | {
        "properties": {name: opensearch_type(each) for name, each in columns_within(column)}
    }


def opensearch():
    """docs/examples/lines.opensearch.json as text."""
    properties = {name: opensearch_type(column) for name, column in columns_of("line")}
    template = {"mappings": {"dynamic": False, "properties": properties}}
    return pretty({"index_patterns": ["smcr-lines-*"], "template": template}) + "\n"


DOCUMENTS = {
    TOP / "docs" / "json.md": page,
    TOP / "docs" / "report.schema.json": lambda _: schema(),
    TOP / "docs" / "lines.md": page,
    TOP / "docs" / "lines.schema.json": lambda _: lines_schema(),
    TOP / "docs" / "examples" / "lines.duckdb.sql": duckdb,
    TOP / "docs" / "examples" / "lines.clickhouse.sql": clickhouse,
    TOP / "docs" / "examples" / "lines.opensearch.json": lambda _: opensearch(),
}
