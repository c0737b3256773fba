"""What dissectors/fields.def says, for the tests and for docs/fields.md."""

import collections
import re

from bed import TOP

Field = collections.namedtuple("Field", "filter section mask")
Expert = collections.namedtuple("Expert", "filter severity sentence")

# Fields that point at a later frame: one pass over a capture cannot know them.
FORWARD = {"smcr.response_in"}


def _rows(macro):
    """Arguments of all rows of one kind, each as a list of C expressions."""
    text = (TOP / "dissectors" / "fields.def").read_text(encoding="utf-8")
    for row in re.findall(rf"^{macro}\((.*)\)$", text, re.MULTILINE):
        yield [part.strip() for part in re.findall(r'\s*((?:"(?:[^"\\]|\\.)*"|\([^)]*\)|[^,"(])+)', row)]


def fields():
    """All fields, one entry for each registration."""
    return [Field(row[2].strip('"'), row[7].strip('"'), row[6]) for row in _rows("FIELD")]


def experts():
    """All expert items; severity is ERROR, WARN, NOTE or CHAT."""
    return [Expert(row[1].strip('"'), row[3].removeprefix("PI_"), row[4].strip('"')) for row in _rows("EXPERT")]


def expert_filter(*severities):
    """Display filter for frames with an expert item of ours that has one of these severities."""
    return " || ".join(each.filter for each in experts() if each.severity in severities)
