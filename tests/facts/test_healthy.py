"""A capture in which nothing went wrong has no expert item of ours above CHAT. captures/README.md
lists those."""

import re

import fields
import pytest
from bed import TOP, captures

README = TOP / "captures" / "README.md"


def healthy():
    """Names of the captures below the heading."""
    text = README.read_text(encoding="utf-8")
    section = re.search(r"^### Healthy\n(.*?)^#", text, re.DOTALL | re.MULTILINE)[1]
    return re.findall(r"^- (\S+)$", section, re.MULTILINE)


def test_list_names_captures():
    """All are real, of both versions."""
    assert len(healthy()) >= 19 and set(healthy()) <= set(captures("real"))
    assert {name.split("-")[1] for name in healthy()} >= {"v1", "v2", "v2both"}


@pytest.mark.parametrize("two_pass", [False, True], ids=["one pass", "two passes"])
@pytest.mark.parametrize("name", healthy())
def test_nothing_above_chat(tshark, name, two_pass):
    items = [each.filter for each in fields.experts() if each.severity != "CHAT"]
    rows = tshark.fields(name, "frame.number", *items, where=" || ".join(items), two_pass=two_pass)
    assert [
        (number[0], item)
        for number, *shown in rows
        for item, found in zip(items, shown, strict=True)
        if found
    ] == []
