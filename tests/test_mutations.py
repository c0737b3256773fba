"""
The list of tests/mutate does not rot: each text that it changes is there once, each test that it
names as well, and it breaks each property in two ways and something in each room. That the tests
fail, tests/mutate shows.
"""

import collections
import re

import mutations
import properties
from bed import TOP

ROOM = re.compile(r"^\| `([\w/]+)/` \|", re.MULTILINE)
TWICE = 2


def sentences():
    return [sentence for sentence, _ in properties.PROPERTIES]


def test_names_are_unique():
    assert len({each.name for each in mutations.EVERY}) == len(mutations.EVERY)


def test_every_place_is_there_once():
    texts = {
        name: (TOP / name).read_text(encoding="utf-8")
        for name in {each.file for each in mutations.EVERY}
    }
    assert [
        each.name
        for each in mutations.EVERY
        if texts[each.file].count(each.old) != 1 or each.old == each.new
    ] == []


def test_every_property_is_broken_twice():
    count = collections.Counter(each.property for each in mutations.EVERY)
    assert set(count) <= set(sentences())
    assert [each for each in sentences() if count[each] < TWICE] == []


def test_every_room_is_concerned():
    rooms = ROOM.findall((TOP / "docs" / "architecture.md").read_text(encoding="utf-8"))
    changed = {each.file.removeprefix("dissectors/").rpartition("/")[0] for each in mutations.EVERY}
    assert len(rooms) > 20 and set(rooms) - changed == set()


def holds(mutation):
    """Whether its test is there, and one of those that hold the property. Unit tests tell of any
    property at once."""
    file, _, function = mutation.test.partition("[")[0].partition("::")
    if not (TOP / "tests" / file).exists() or mutations.unit_of(mutation.test):
        return (TOP / "tests" / file).exists()
    return (
        f"\ndef {function}(" in (TOP / "tests" / file).read_text(encoding="utf-8")
        and sentences()[properties.property_of(file, function)] == mutation.property
    )


def test_a_test_of_the_property_finds_it():
    assert [each.name for each in mutations.EVERY if not holds(each)] == []
