"""
Each rule of docs/rfc7609.md with an ERROR or a WARN is broken in real captures, or there is a reason (broken_rules.py).
It is told at its frame and nowhere else, and no figure behind it is another than in the whole capture. The usual run
takes one capture of every fifth mutation; `tests/run --all` takes two of each.
"""

import json

import broken_rules
import hosts
import mutants
import pytest
import rules
from bed import ALL, captures

EACH = 1 if ALL else 5
# What they say was believed, and the next message, which was right, told off.
ALWAYS = ("R-2.2.4-1 R-2.2.4-2", "R-3.5.1.2-6", "R-3.5.2-1", "R-V2LLC-7")
# of a connection, in the JSON
DIRECTIONS, SUMS = ("client_to_server", "server_to_client"), ("bytes", "writes", "blocked_count", "urgent_count")


def pairs():
    """(rule, item) of all that can be mutated."""
    return {(each.id, item) for each in rules.rules() for item, severity in each.items if severity in ("ERROR", "WARN")}


def test_each_rule_has_a_mutation_or_a_reason():
    mutated = {(rule, each.item) for each in broken_rules.MUTATIONS for rule in each.rules.split()}
    reasons = {tuple(each.split()) for each in broken_rules.REASONS}
    assert mutated | reasons == pairs() and mutated & reasons == set()
    absent = {name: broken_rules.found(each.of) for name, each in broken_rules.REASONS.items()
              if isinstance(each, broken_rules.Absent)}
    assert {name: held for name, held in absent.items() if held} == {}, "captures hold such a message"


def report(tshark, capture):
    return json.loads(tshark.show(capture, "-2", "-q", "-z", "smcr,json"))


def sums(whole):
    """{(connection, direction, figure): value}; and how many there are."""
    found = {(number, way, name): each[way][name]
             for number, each in enumerate(whole["connections"]) for way in DIRECTIONS for name in SUMS}
    return found, len(whole["connections"]), len(whole["link_groups"])


def wrong_sums(before, after, also):
    old, new = sums(before), sums(after)
    wrong = [(key, old[0].get(key), value) for key, value in new[0].items()
             if value is not None and value != old[0].get(key) and key[2] not in also]
    return wrong + [(number, counted) for number, counted in zip(old[1:], new[1:], strict=True) if counted > number]


def faults(tshark, scratch, broken):
    for name, number, told in broken_rules.chosen(broken, 2 if ALL else 1):
        path = captures()[name]
        altered = mutants.mutate_all(path, broken_rules.changes_of(broken, path, number), scratch / "broken.pcapng")
        raised, false, wrong = mutants.differences(mutants.shown(tshark, name), mutants.shown(tshark, altered), told)
        others = [*(raised - {broken.item, *broken.also}), *(each for each in false if each[1] not in broken.also)]
        wrong = [each for each in wrong if each[0] != number and each[1] not in broken.also]
        wrong += wrong_sums(report(tshark, name), report(tshark, altered), broken.also)
        if broken.item not in raised or others or wrong:
            yield broken.rules, broken.item, name, number, sorted(raised), others[:3], wrong[:3]


def test_a_broken_rule_is_told_where_it_is_broken(tshark, scratch):
    held = [each for each in broken_rules.MUTATIONS if not broken_rules.chosen(each)]
    assert held == [], "no capture has such a message"
    chosen = [each for number, each in enumerate(broken_rules.MUTATIONS) if number % EACH == 0 or each.rules in ALWAYS]
    found = [fault for each in chosen for fault in faults(tshark, scratch, each)]
    if found:
        pytest.fail("\n".join(map(str, found)), pytrace=False)


LATER = ((mutants.put(4, "03"), {"smcr.clc.wrong_sender"}), (mutants.put(38, "000001"), {"smcr.qpn_reserved"}),
         (mutants.put(45, "00"), {"smcr.rmb.index_zero"}), (mutants.put(41, "0badcafe"), set()))


def test_a_later_accept_breaks_nothing_in_a_late_group(tshark, scratch):
    """Its type, queue pair, element or RKey is wrong. WRITEs that nobody recognises then are not counted as none."""
    path = hosts.write(tshark.bed, hosts.Variant("late-reuse", "", "whole"))
    number = broken_rules.LATER_ACCEPT(path)[0]
    before, whole = mutants.shown(tshark, path), report(tshark, path)
    for change, items in LATER:
        altered = mutants.mutate(path, number, change, scratch / "altered.pcapng")
        assert mutants.differences(before, mutants.shown(tshark, altered), number) == (items, [], [])
        assert wrong_sums(whole, report(tshark, altered), {}) == []
