"""
Captures of one rule: rule-NAME breaks it, peer-NAME is that of a correct peer that one may take for a wrong one. Beside
the scene stands what the plugin says of it above CHAT, all of it: EXPECTED = {filter: frames}.
"""

import ast

import fields
import pytest
from bed import captures

NAMES = [name for name in captures("synthetic", "malformed") if name.startswith(("rule-", "peer-"))]


def expected(name):
    """EXPECTED of the scene."""
    source = captures("synthetic", "malformed")[name].with_suffix(".py").read_text(encoding="utf-8")
    return next(ast.literal_eval(each.value) for each in ast.parse(source).body
                if isinstance(each, ast.Assign) and each.targets[0].id == "EXPECTED")


def raised(tshark, name):
    """{filter: frames} of the items above CHAT."""
    items = [each.filter for each in fields.experts() if "CHAT" not in each.severity]
    found = {}
    for number, *shown in tshark.fields(name, "frame.number", *items, where=" || ".join(items), two_pass=True):
        for item, values in zip(items, shown, strict=True):
            if values:
                found.setdefault(item, []).append(int(number[0]))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_items_of_the_scene(tshark, name):
    assert raised(tshark, name) == expected(name)
