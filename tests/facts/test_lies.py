"""
A CLC message whose length, count or offset lies is shown as what it is, with all of its bytes and
with an ERROR at its frame. Nothing false follows. See lies.py. The usual run takes some lies;
`tests/run --all` takes all.
"""

import xml.etree.ElementTree as xml

import fields
import lies
import mutants
import pytest
import test_wire
from bed import ALL, captures

ERRORS = {each.filter for each in fields.experts() if each.severity == "ERROR"}
TRUE = {"smcr.clc.error_kept"}  # the other side goes on, and should not
SMC_D = ("clc-smcd-v1", "clc-smcd-v2", "clc-ipv6-8-prefixes")  # what no real capture has


def shows_all(tshark, capture, case):
    """Whether the frame shows the message as what it is, and each of its bytes once."""
    text = tshark.show(
        capture, "-2", "-Y", f"frame.number == {case.frame}", "-T", "pdml", "-J", "smcr"
    )
    items = [
        item
        for packet in xml.fromstring(text.encode()).iter("packet")
        for message in test_wire.shown_messages(packet)
        for item in message.items
    ]
    types = [data for field, _, data, _ in items if field == "smcr.clc.type"]
    return types == [case.message.data[4:5]] and sum(len(data) for _, _, data, _ in items) == len(
        case.message.data
    )


def faults(tshark, scratch, name, path, cases):
    before, altered = {}, scratch / "altered.pcapng"
    for case in cases:
        if case.way not in before:
            case.way(path, case.message, lambda data: data, altered)
            before[case.way] = mutants.shown(tshark, altered)
        case.way(path, case.message, lies.change(case.number, case.value), altered)
        raised, false, wrong = mutants.differences(
            before[case.way], mutants.shown(tshark, altered), case.frame
        )
        false = [each for each in false if each[1] not in TRUE]
        told = {"smcr.clc.length_invalid"} if case.number is lies.LENGTH else ERRORS
        if not raised & told or false or wrong or not shows_all(tshark, altered, case):
            yield (
                name,
                case.frame,
                case.number.name,
                case.value,
                case.way.__name__,
                sorted(raised),
                false[:3],
                wrong[:3],
            )


def made(tshark, scratch, name):
    """A made capture in the format of the real ones."""
    path = scratch / f"{name}.pcapng"
    tshark.bed.edit("-F", "pcapng", tshark.bed.capture(name), path)
    return path


def test_a_length_that_lies_hides_nothing(tshark, scratch):
    paths = {**captures("real"), **{name: made(tshark, scratch, name) for name in SMC_D}}
    every = [(name, case) for name, cases in lies.every_case(paths).items() for case in cases]
    behind = [each for each in every if each[1].way is lies.before_data]
    chosen = every if ALL else every[:: len(every) // 8] + behind[:1]
    found = [
        fault
        for name in dict(chosen)
        for fault in faults(
            tshark, scratch, name, paths[name], [case for of, case in chosen if of == name]
        )
    ]
    assert len(every) > 500
    if found:
        pytest.fail("\n".join(map(str, found)), pytrace=False)
