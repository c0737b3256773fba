"""
Each rule of docs/rfc7609.md with an ERROR or a WARN is broken in real captures, or there is a
reason (broken_rules.py). It is told at its frame and nowhere else, and no figure behind it is
another than in the whole capture. The usual run takes one capture of every fifth mutation;
`tests/run --all` takes two of each.
"""

import collections
import json

import broken_rules
import hosts
import mutants
import pcapng
import pytest
import rules
from bed import ALL, TOP, captures

EACH = 1 if ALL else 5
# What they say was believed, and the next message, which was right, told off.
ALWAYS = ("R-2.2.4-1 R-2.2.4-2", "R-3.5.1.2-6", "R-3.5.2-1", "R-V2LLC-7")
# of a connection, in the JSON
DIRECTIONS, SUMS = ("client_to_server", "server_to_client"), (
    "bytes",
    "writes",
    "blocked_count",
    "urgent_count",
)
BOUNDED = ("bytes", "writes")  # by `lacks_bytes`


def pairs():
    """(rule, item) of all that can be mutated."""
    return {
        (each.id, item)
        for each in rules.rules()
        for item, severity in each.items
        if severity in ("ERROR", "WARN")
    }


def test_each_rule_has_a_mutation_or_a_reason():
    mutated = {(rule, each.item) for each in broken_rules.MUTATIONS for rule in each.rules.split()}
    reasons = {tuple(each.split()) for each in broken_rules.REASONS}
    assert mutated | reasons == pairs() and mutated & reasons == set()
    absent = {
        name: broken_rules.found(each.of)
        for name, each in broken_rules.REASONS.items()
        if isinstance(each, broken_rules.Absent)
    }
    assert {
        name: held for name, held in absent.items() if held
    } == {}, "captures hold such a message"


def report(tshark, capture):
    return json.loads(tshark.show(capture, "-2", "-q", "-z", "smcr,json"))


def sums(whole):
    """{(connection, direction, figure): value}; and how many there are."""
    found = {
        (number, way, name): (each[way][name], each[way]["lacks_bytes"] and name in BOUNDED)
        for number, each in enumerate(whole["connections"])
        for way in DIRECTIONS
        for name in SUMS
    }
    return found, len(whole["connections"]), len(whole["link_groups"])


def is_wrong(before, after):
    """Of a sum; where it is a lower bound, it may be less."""
    value, lacks = after
    return value is not None and value != before[0] and not (lacks and value < (before[0] or 0))


def wrong_sums(before, after, also):
    old, new = sums(before), sums(after)
    wrong = [
        (key, old[0].get(key), value)
        for key, value in new[0].items()
        if key[2] not in also and is_wrong(old[0].get(key, (None,)), value)
    ]
    return wrong + [
        (number, counted)
        for number, counted in zip(old[1:], new[1:], strict=True)
        if counted > number
    ]


def faults(tshark, scratch, broken, path, number, told):
    altered = mutants.mutate_all(
        path, broken_rules.changes_of(broken, path, number), scratch / "broken.pcapng"
    )
    raised, false, wrong = mutants.differences(
        mutants.shown(tshark, path), mutants.shown(tshark, altered), told
    )
    others = [
        *(raised - {broken.item, *broken.also}),
        *(each for each in false if each[1] not in broken.also),
    ]
    wrong = [each for each in wrong if each[0] != number and each[1] not in broken.also]
    wrong += wrong_sums(report(tshark, path), report(tshark, altered), broken.also)
    if broken.item not in raised or others or wrong:
        yield broken.rules, broken.item, path.name, number, sorted(raised), others[:3], wrong[:3]


def test_a_broken_rule_is_told_where_it_is_broken(tshark, scratch):
    held = [each for each in broken_rules.MUTATIONS if not broken_rules.chosen(each)]
    assert held == [], "no capture has such a message"
    chosen = [
        each
        for number, each in enumerate(broken_rules.MUTATIONS)
        if number % EACH == 0 or each.rules in ALWAYS
    ]
    found = [
        fault
        for each in chosen
        for name, *at in broken_rules.chosen(each, 2 if ALL else 1)
        for fault in faults(tshark, scratch, each, tshark.bed.capture(name), *at)
    ]
    if found:
        pytest.fail("\n".join(map(str, found)), pytrace=False)


def test_a_broken_rule_is_told_in_a_late_capture(tshark, scratch):
    """Where what comes before tells what is right."""
    path = hosts.write(tshark.bed, hosts.Variant("late-reuse", "A", "whole"))
    held = [
        (each, path, *at)
        for each in broken_rules.MUTATIONS
        for at in broken_rules.one_of(each, path, each.of(path))
    ]
    found = [fault for each in held[::EACH] for fault in faults(tshark, scratch, *each)]
    if found:
        pytest.fail("\n".join(map(str, found)), pytrace=False)


LATER = (
    (mutants.put(4, "03"), {"smcr.clc.wrong_sender"}),
    (mutants.put(38, "000001"), {"smcr.qpn_reserved"}),
    (mutants.put(45, "00"), {"smcr.rmb.index_zero"}),
    (mutants.put(41, "0badcafe"), set()),
)


def test_a_later_accept_breaks_nothing_in_a_late_group(tshark, scratch):
    """Its type, queue pair, element or RKey is wrong. WRITEs that nobody recognises then are not
    counted as none."""
    path = hosts.write(tshark.bed, hosts.Variant("late-reuse", "", "whole"))
    number = broken_rules.LATER_ACCEPT(path)[0]
    before, whole = mutants.shown(tshark, path), report(tshark, path)
    for change, items in LATER:
        altered = mutants.mutate(path, number, change, scratch / "altered.pcapng")
        assert mutants.differences(before, mutants.shown(tshark, altered), number) == (
            items,
            [],
            [],
        )
        assert wrong_sums(whole, report(tshark, altered), {}) == []


# In captures that begin late: the frame of one message, what is wrong in it, the items there; what
# is unknown of the same bytes.
BASES = (
    (
        "late-reuse",
        2,
        mutants.put(2, "0005"),
        set(),
    ),  # the first message of its sender: who goes on from it is not blamed
    ("late-one", 10, mutants.add(2, ">H", 3), set()),  # nor of the second one
    (
        "6.1-v1-c2-capture-starts-late",
        41,
        mutants.add(2, ">H", 3),
        set(),
    ),  # CLC has told the connection, but not of all links
    ("late-reuse", 18, mutants.add(20, ">I", 1000), set()),
    ("6.1-v1-c2-capture-starts-late", 41, mutants.add(18, ">H", 1), set()),
    ("late-reuse", 14, mutants.add(12, ">I", 100), set()),  # nobody recognises the WRITE before it
    ("late-reuse", 2, mutants.put(12, "7fffffff"), {"smcr.cdc.cursor_range"}),
    (
        "late-reuse",
        2,
        mutants.put(1, "2d"),
        set(),
        "smcr.conn.began_before",
    ),  # the queue pair is known later
    (
        "http",
        2,
        mutants.add(12, ">I", -4096),
        {"smcr.cdc.cursor_range"},
    ),  # it tells no begin of an RMB
    (
        "http",
        1,
        mutants.add(0, ">Q", -4096),
        set(),
        "smcr.write.offset",
    ),  # nor does a host confirm that begin
    (
        "late-one",
        31,
        mutants.put(1, "2d"),
        {"smcr.cdc.length_invalid"},
        "smcr.cdc.sequence_gap",
    ),  # before a host tells
    (
        "http11-smcr",
        4,
        mutants.add(20, ">I", 1000),
        set(),
    ),  # the peer has not announced so much: nobody knows what is unread
    (
        "http",
        77,
        mutants.add(10, ">H", 5),
        {"smcr.cdc.wrap"},
    ),  # what is not believed announces nothing behind the end
)


def late_capture(tshark, scratch, name):
    if name in hosts.names():
        return hosts.write(tshark.bed, hosts.Variant(name, "A", "whole"))
    head, frames = pcapng.read(
        captures().get(name, TOP / "captures" / "applications" / f"{name}.pcapng")
    )
    pcapng.write(
        scratch / "late.pcapng", head, frames if name in captures() else frames[14:]
    )  # those before are of CLC and LLC
    return scratch / "late.pcapng"


def sums_of_numbers(whole):
    return {
        (each["stream"], way, name): (
            (each[way] or {}).get(name),
            (each[way] or {}).get("lacks_bytes") and name in BOUNDED,
        )
        for each in whole["connections"]
        for way in DIRECTIONS
        for name in SUMS
    }


@pytest.mark.parametrize("name", sorted({each[0] for each in BASES}))
def test_a_wrong_base_breaks_nothing_in_a_late_capture(tshark, scratch, name):
    """Of a connection that nobody knows to be one, each direction may have a number. No number
    stands for two."""
    path = late_capture(tshark, scratch, name)
    before, whole = mutants.shown(tshark, path), report(tshark, path)
    for _, number, change, items, *also in (each for each in BASES if each[0] == name):
        altered = mutants.mutate(path, number, change, scratch / "altered.pcapng")
        after, found = mutants.shown(tshark, altered), report(tshark, altered)
        raised, false, wrong = mutants.differences(before, after, number)
        assert (raised, [each for each in false if each[1] not in also]) == (items, []), number
        assert [each for each in wrong if each[1] not in ("smcr.stream", *also)] == [], number
        numbers = collections.defaultdict(set)
        for frame in after.keys() - {number}:
            if len(after[frame][1]["smcr.stream"]) == 1:  # a host may tell of several
                numbers[int(after[frame][1]["smcr.stream"][0])] |= set(
                    before[frame][1]["smcr.stream"]
                )
        assert {each: of for each, of in numbers.items() if len(of) != 1} == {}, number
        old = sums_of_numbers(whole)
        assert [
            (key, value)
            for key, value in sums_of_numbers(found).items()
            if key[0] in numbers and is_wrong(old[int(*numbers[key[0]]), *key[1:]], value)
        ] == [], number
