"""Documentation that is made from the code is up to date."""

import re

import expert_items
import examples
import fields
import figures
import properties
import pytest
import rooms
from bed import TOP, wireshark_version

LONGEST_LINE = 118  # of a document that a person writes; what a command prints may be longer


def test_fields_are_documented(tshark):
    text = fields.DOCUMENT.read_text(encoding="utf-8")
    assert text == fields.document(
        text, tshark
    ), "docs/fields.md is stale: tests/fields-doc writes it"


@pytest.mark.parametrize("path", figures.DOCUMENTS, ids=lambda path: path.name)
def test_figures_of_the_report_are_documented(path):
    text = path.read_text(encoding="utf-8")
    assert text == figures.DOCUMENTS[path](
        text
    ), f"{path.name} is stale: tests/figures-doc writes it"


def test_rooms_are_documented():
    text = rooms.DOCUMENT.read_text(encoding="utf-8")
    assert text == rooms.document(text), "docs/architecture.md is stale: tests/rooms-doc writes it"


def test_both_forges_ask_the_same_of_an_issue():
    """GitHub's template has a head of its own."""
    github, gitlab = (
        (TOP / folder / "wrong-output.md").read_text(encoding="utf-8")
        for folder in (".github/ISSUE_TEMPLATE", ".gitlab/issue_templates")
    )
    assert github.split("\n---\n")[1] == gitlab and "smcr.anonymous:TRUE" in gitlab


def test_every_test_holds_a_property():
    """Each file of tests is in the map, and contributing.md has the map's rows."""
    files = {
        path.relative_to(TOP / "tests").as_posix() for path in (TOP / "tests").rglob("test_*.py")
    }
    assert {holder.partition("::")[0] for holder in properties.HOLDERS} == files
    text = (TOP / "docs" / "contributing.md").read_text(encoding="utf-8")
    table = (
        text.split("<!-- map: tests/budget --map -->\n")[1].split("<!-- end")[0].splitlines()[2:-1]
    )
    assert [row.split(" | ")[0].removeprefix("| ") for row in table] == [
        name for name, _ in properties.PROPERTIES
    ]


def test_every_field_of_the_table_is_registered(tshark):
    registered = {row[0] for row in tshark.registered_fields()}
    assert {field.filter for field in fields.fields()} | {
        each.filter for each in fields.experts()
    } == registered


def test_expert_items_are_documented():
    text = fields.DOCUMENT.read_text(encoding="utf-8")
    written = expert_items.document(text, expert_items.places())
    assert text == written, "docs/fields.md is stale: tests/experts-doc writes it"


def test_every_expert_item_is_explained():
    """Each has a sentence of its own; at most 20 words, one behind the other."""
    whens = expert_items.whens()
    assert [each.filter for each in fields.experts() if each.filter not in whens] == []
    sentences = [sentence for when in whens.values() for sentence in re.split(r"(?<=\.) ", when)]
    assert [each for each in sentences if not each.endswith(".") or len(each.split()) > 20] == []


def test_every_expert_item_has_a_place():
    """A capture that shows it, or a test."""
    places = expert_items.places()
    assert [
        each.filter
        for each in fields.experts()
        if each.filter not in places and not expert_items.test_of(each.filter)
    ] == []


def test_captures_show_the_expert_items(tshark):
    """At the frame that the document names."""
    paths, asked = expert_items.all_captures(tshark.bed), {}
    for item, (name, frame) in expert_items.places().items():
        asked.setdefault(name, set()).add((item, frame))
    for name, pairs in asked.items():
        items, frames = (sorted({pair[i] for pair in pairs}) for i in (0, 1))
        where = f"frame.number in {{{', '.join(map(str, frames))}}}"
        shown = set(expert_items.items_of(tshark, paths[name], items, where))
        assert (name, pairs - shown) == (name, set())


@pytest.mark.skipif(
    wireshark_version() != "4.0", reason="the examples are what Wireshark 4.0 prints"
)
@pytest.mark.parametrize("path", examples.documents(), ids=lambda path: path.name)
def test_examples_print_what_is_written(tshark, path):
    text = path.read_text(encoding="utf-8")
    assert text == examples.run_anew(
        text, tshark
    ), f"{path.name} is stale: tests/docs-examples writes it"


@pytest.mark.parametrize("path", examples.documents(), ids=lambda path: path.name)
def test_names_exist(tshark, path):
    """Fields, expert items and preferences that a guide names."""
    known = {row[0] for row in tshark.registered_fields()}
    known |= set(re.findall(r"^#?(smcr\.\w+): ", tshark.run("-G", "defaultprefs"), re.M))
    named = set(re.findall(r"\bsmcr(?:\.[a-z]\w*)+(?!\.so)", path.read_text(encoding="utf-8"))) - {
        "smcr.so"
    }
    assert named - known == set()


def anchors(path):
    """Of the sections of a document."""
    titles = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("path", examples.documents(), ids=lambda path: path.name)
def test_links_lead_somewhere(path):
    """To a file, and to a section of it where that is a document."""
    wrong = []
    for link, anchor in re.findall(
        r"\]\(([^)#\s]*)(?:#([^)\s]*))?[^)]*\)", path.read_text(encoding="utf-8")
    ):
        target = path.parent / link if link else path
        if "://" not in link and not (
            target.exists() and (not anchor or anchor in anchors(target))
        ):
            wrong.append((link, anchor))
    assert wrong == []


@pytest.mark.parametrize("path", examples.documents(), ids=lambda path: path.name)
def test_lines_of_guides_are_short(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    assert [
        line
        for line in lines
        if len(line) > LONGEST_LINE and not line.startswith((examples.INDENT, "|"))
    ] == []
