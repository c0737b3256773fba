"""What dissectors/fields.def and experts.def say, for the tests and for docs/fields.md."""

import collections
import functools
import re
import subprocess

from bed import TOP

Field = collections.namedtuple("Field", "filter section")
Expert = collections.namedtuple(
    "Expert", "filter severity sentence strict"
)  # strict: with smcr.strict only

# Fields and expert items that tell of a later frame, or that none comes: one pass over a capture
# cannot know them.
FORWARD = {
    "smcr.analysis",
    "smcr.announced_in",
    "smcr.breach.doubtful",
    "smcr.clc.peer_changed",
    "smcr.completeness",
    "smcr.cut_short",
    "smcr.clc.first_contact_wrong",
    "smcr.discarded",
    "smcr.ecn.cnp_in",
    "smcr.icrc.bad",
    "smcr.icrc.calculated",
    "smcr.icrc.doubted",
    "smcr.icrc.status",
    "smcr.initial_rtt",
    "smcr.link.mismatch",
    "smcr.named_in",
    "smcr.no_response",
    "smcr.no_roce",
    "smcr.out_of_order",
    "smcr.point",
    "smcr.point.delay",
    "smcr.point.other",
    "smcr.point.time",
    "smcr.point.verdict",
    "smcr.rdma.peer",
    "smcr.resent.cause",
    "smcr.resent.from",
    "smcr.resent.nak_in",
    "smcr.resent.wait",
    "smcr.response_in",
    "smcr.rkey.link_missing",
    "smcr.stream.gap",
    "smcr.whole_in",
    "smcr.write.ack_time",
    "smcr.write.acked_in",
    "smcr.write.data_in",
    "smcr.write.outside",
    "smcr.write.unknown_rkey",
    "smcr.window.overwritten",
    "smcr.window.wait_time",
    "smcr.window.wait_until",
    "smcr.cdc.before_confirm",
    "smcr.cdc.cursor_ahead",
    "smcr.cdc.read_unsent",
    "smcr.cdc.abort_unanswered",
    "smcr.cdc.urgent_unanswered",
    "smcr.cdc.urgent_overrun",
    "smcr.write.after_close",
    "smcr.write.after_end",
    "smcr.lgr.too_many_conns",
    "smcr.move.not_validated",
    "smcr.write.hole",
    "smcr.delete_link.reason_wrong",
    "smcr.llc.collision",
    "smcr.llc.overlap",
    "smcr.llc.unrequested",
    "smcr.llc.wish_ignored",
    "smcr.llc.wrong_link",
    "smcr.link.asymmetric_kept",
    "smcr.link.before_confirm",
    "smcr.link.data_early",
    "smcr.link.no_second",
    "smcr.link.not_confirmed",
    "smcr.link.too_many",
    "smcr.rmb.changed",
    "smcr.rkey.not_announced",
    "smcr.rkey.in_use",
    "smcr.rkey.again",
    "smcr.rkey.deleted_in_use",
    "smcr.rkey.not_on_link",
    "smcr.rkey.too_many",
    "smcr.rkey.wrong_link",
    "smcr.rkey.count_wrong",
    "smcr.rkey.unknown_accepted",
    "smcr.rkey.clc_early",
    "smcr.rkey.not_retried",
}


def experts_text():
    """The tables of expert items, as they are written."""
    return "".join(
        path.read_text(encoding="utf-8")
        for path in sorted((TOP / "dissectors").glob("experts*.def"))
    )


@functools.cache
def _rows(table, macro):
    """Arguments of all rows of a table, as the preprocessor hands them to `macro`: lists of C
    expressions."""
    command = [
        "cc",
        "-E",
        "-P",
        "-x",
        "c",
        f"-D{macro}(...)={macro}(__VA_ARGS__)",
        TOP / "dissectors" / table,
    ]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    text = re.sub(rf"\)\s+(?={macro}\()", ")\n", text)  # told.def has several in a line
    rows = []
    for row in re.findall(rf"^{macro}\((.*)\)$", text, re.MULTILINE):
        row = re.sub(r'"\s+"', "", row)  # literals that stand side by side are one
        rows.append(
            [
                part.strip()
                for part in re.findall(r'\s*((?:"(?:[^"\\]|\\.)*"|\([^)]*\)|[^,"(])+)', row)
            ]
        )
    return rows


def fields():
    """All fields, one entry for each registration."""
    return [Field(row[2].strip('"'), row[7].strip('"')) for row in _rows("fields.def", "ROW")]


def experts():
    """All expert items; severity is ERROR, WARN, NOTE or CHAT."""
    strict = {row[1] for row in _rows("experts.def", "EXPERT_STRICT")}
    return [
        Expert(row[1].strip('"'), row[3].removeprefix("PI_"), row[4].strip('"'), row[1] in strict)
        for row in _rows("experts.def", "EXPERT")
    ]


def breaches():
    """Filters of the expert items that say of a peer that it breaks a format or a rule."""
    return [
        row[1].strip('"')
        for row in _rows("experts.def", "EXPERT")
        if row[2] in ("PI_PROTOCOL", "PI_MALFORMED") and row[3] in ("PI_WARN", "PI_ERROR")
    ]


def expert_variables():
    """{variable: filter} of all expert items."""
    return {row[0]: row[1].strip('"') for row in _rows("experts.def", "EXPERT")}


def severity_cell(expert):
    return expert.severity + (", strict" if expert.strict else "")


def expert_filter(*severities):
    """Display filter for frames with an expert item of ours that has one of these severities."""
    return " || ".join(each.filter for each in experts() if each.severity in severities)


# ---- docs/fields.md ----

DOCUMENT = TOP / "docs" / "fields.md"
BEGIN, END = "<!-- fields: tests/fields-doc -->\n", "<!-- end of the fields -->"

SEVERITIES = {
    "ERROR": "bytes that break the format, or data overwritten",
    "WARN": (
        "a broken rule, or what somebody should look at: abort, lost link, silent peer, NAK, "
        "writer blocked for long"
    ),
    "NOTE": "fallback, retransmission, full window, missing context",
    "CHAT": "milestones, and what is normal",
}


def cell(text):
    return text.replace("|", "\\|")


def filter_cell(name):
    return f"`{name}`" + (" →" if name in FORWARD else "")


def field_rows(registered):
    """Table rows: one for each filter name, in the order of the registrations, which is that of
    fields.def."""
    sections = {}
    for field in fields():
        sections.setdefault(field.filter, field.section)
    merged = {}
    for name, kind, title, description in registered:
        kinds, titles, descriptions = merged.setdefault(name, ({}, {}, {}))
        kinds[kind.removeprefix("FT_")] = titles[title] = descriptions[description] = None
    for name, (kinds, titles, descriptions) in merged.items():
        if name in sections:
            yield (
                filter_cell(name),
                ", ".join(kinds),
                ", ".join(titles),
                sections[name],
                " ".join(text for text in descriptions if text),
            )


def table(header, rows):
    yield "| " + " | ".join(header) + " |"
    yield "|" + "---|" * len(header)
    for row in rows:
        yield "| " + " | ".join(map(cell, row)) + " |"


def between(text, begin, end, lines):
    """The text with other lines between two of its lines."""
    before, rest = text.split(begin)
    return f"{before}{begin}{''.join(line + chr(10) for line in lines)}{end}{rest.split(end)[1]}"


def document(text, tshark):
    """docs/fields.md with the table of fields made anew."""
    return between(
        text,
        BEGIN,
        END,
        table(
            ("filter", "type", "name", "section", "description"),
            field_rows(tshark.registered_fields()),
        ),
    )
