"""
Captures of one rule: rule-NAME breaks it, peer-NAME is that of a correct peer that one may take for
a wrong one. Beside the scene stands what the plugin says of it above CHAT, all of it: EXPECTED =
{filter: frames}. UNPROVEN = {filter: frames} is broken, too, but this capture does not prove it.
"""

import fields
import pytest
from bed import captures
from scenes import constant

NAMES = [name for name in captures("synthetic", "malformed") if name.startswith(("rule-", "peer-"))]


def raised(tshark, name):
    """{filter: frames} of the items above CHAT."""
    items = [each.filter for each in fields.experts() if "CHAT" not in each.severity]
    found = {}
    for number, *shown in tshark.fields(
        name, "frame.number", *items, where=" || ".join(items), two_pass=True
    ):
        for item, values in zip(items, shown, strict=True):
            if values:
                found.setdefault(item, []).append(int(number[0]))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_items_of_the_scene(tshark, name):
    assert raised(tshark, name) == constant(name, "EXPECTED")
