"""
What is shown of a frame does not depend on how one got there: the same in one pass (except what
points forward), in two, and when the user clicks on frames in any order.
"""

import html
import random
import re

import fields
import pcapng
import pytest
import sharkd
from bed import ALL, captures

SEED = 7609

# What a later frame may tell: fields that say so, the names of ends whose TCP connection is not
# known, breaches.
LATER = fields.FORWARD | {
    "smcr.endpoint",
    "smcr.endpoint.src",
    "smcr.endpoint.dst",
    "smcr.addr",
    "smcr.ip.addr",
    "smcr.ipv6.addr",
    "smcr.breach",
}

# PDML has a node a line, and its attributes in this order. To parse all of it as XML takes ten
# times as long.
NUMBER = re.compile(r'^    <field name="num" .* show="(\d+)"', re.MULTILINE)
NODE = re.compile(
    r'^ *<(?:proto|field) name="(smcr[^"]*)"(?: showname="([^"]*)")?([^>]*)>$', re.MULTILINE
)


def trees_in_order(tshark, name, *passes):
    """{frame: [(field, text, whether it is hidden)]} for all nodes of our protocol."""
    text = tshark.show(name, *passes, "-Y", "smcr", "-T", "pdml")
    packets = text.split("\n<packet>\n")[1:]
    nodes = [NODE.findall(packet) for packet in packets]
    assert sum(map(len, nodes)) == text.count(' name="smcr')
    return {
        int(NUMBER.search(packet)[1]): [
            (field, html.unescape(shown), ' hide="yes"' in rest) for field, shown, rest in found
        ]
        for packet, found in zip(packets, nodes, strict=True)
    }


def visible(trees):
    return {number: [node for node in tree if not node[2]] for number, tree in trees.items()}


def ours(nodes):
    """The same of a tree that sharkd shows."""
    for node in nodes:
        name = node.get("f", "").split(" ")[0]
        if name.startswith("smcr"):
            yield name, node["l"], False
        yield from ours(node.get("n", ()))


def trees_at_random(tshark, name, numbers):
    numbers = list(numbers)
    random.Random(SEED).shuffle(numbers)
    answers = sharkd.ask(
        tshark, [sharkd.load(tshark.bed.capture(name)), *map(sharkd.frame, numbers)]
    )[1:]
    return {
        number: list(ours(answer["tree"])) for number, answer in zip(numbers, answers, strict=True)
    }


def headings_of(tshark):
    """Fields without a value: sharkd does not name them."""
    return {name for name, kind, _, _ in tshark.registered_fields() if kind == "FT_NONE"} - {
        each.filter for each in fields.experts()
    }


def differences(one, other, ignore):
    """Frames that differ: (number, what only the one has, what only the other has)."""
    for number in sorted(one.keys() | other.keys()):
        first, second = (
            [node for node in tree.get(number, ()) if node[0] not in ignore]
            for tree in (one, other)
        )
        if first != second:
            yield (
                number,
                [node for node in first if node not in second],
                [node for node in second if node not in first],
            )


def is_late(tree, seen_later):
    """
    Whether this is an RDMA WRITE that came before whatever tells its connection, or its place: then
    its data waits. Or what acknowledges one. Or a CDC message after a sequence gap: what it means
    is known when its receiver has it.
    """
    now, later = ({node[0] for node in each} for each in (tree, seen_later))
    if {"smcr.behind_gap", "smcr.cdc.sent"} <= later:
        return "smcr.cdc.sent" not in now
    if "smcr.acks" in later:
        return not {"smcr.stream", "smcr.dir"} <= now
    return "smcr.write.len" in later and (
        "smcr.stream" not in now
        or ("smcr.write.data_in" in later and "smcr.stream.offset" not in now)
        or is_confirmed_later(tree, seen_later)
    )


def is_confirmed_later(tree, seen_later):
    """Whether a later frame confirms the data of this RDMA WRITE: one pass shows them as data, two
    passes as the application's."""
    now, later = ({node[0] for node in each} for each in (tree, seen_later))
    return "smcr.write.data_in" in later and "smcr.write.data" in now


# What depends on how far the reader is. A first pass says it; where a gap in what the reader sends
# shows later, a second pass does not.
WITHDRAWN = {
    "smcr.window.unread",
    "smcr.window.free",
    "smcr.window.percent",
    "smcr.window.offered",
    "smcr.window.written",
    "smcr.window.full",
    "smcr.window.opened",
    "smcr.window.small_update",
    "smcr.window.needless_update",
    "smcr.window.late_update",
}
HEADINGS = {"smcr.cdc.sent", "smcr.cdc.received"}  # they sum it up


def is_withdrawn(less, more):
    """Whether two passes only say less of the window."""
    return (
        bool(less)
        and {node[0] for node in less} <= WITHDRAWN | HEADINGS
        and {node[0] for node in more} <= HEADINGS
    )


def is_not_missing(less):
    """Whether one pass says that the first packet of a request is missing, and two passes know that
    it comes later, out of order."""
    return "smcr.write.no_start" in {node[0] for node in less}


def is_never_complete(tree, seen_later):
    """Whether this is the beginning of a CLC message whose rest, as is known at the end, the
    capture does not have."""
    return not tree and {"smcr.clc", "smcr.cut_short"} <= {node[0] for node in seen_later}


@pytest.fixture(scope="module", params=captures())
def two_passes(request, tshark):
    """Name of a capture and its trees after two passes."""
    return request.param, trees_in_order(tshark, request.param, "-2")


def test_frames_look_the_same_in_any_order(tshark, two_passes):
    name, in_order = two_passes
    at_random = trees_at_random(tshark, name, in_order)
    assert list(differences(visible(in_order), at_random, headings_of(tshark))) == []


def test_one_pass_shows_what_two_show(tshark, two_passes):
    """
    A WRITE that came before its connection was known shows less in one pass, a CLC message that
    never becomes complete may show nothing; a window may show more, and so may a WRITE whose first
    packet comes later.
    """
    name, two = two_passes
    one = trees_in_order(tshark, name)
    wrong = [
        (number, less, more)
        for number, less, more in differences(one, two, LATER)
        if not is_withdrawn(less, more)
        and not is_not_missing(less)
        and not is_never_complete(one.get(number), two.get(number))
        and (
            not is_late(one.get(number, ()), two.get(number, ()))
            or {node[0] for node in less} - {"smcr.write.data"} > {"smcr"}
        )
    ]
    assert wrong == []


LACKING = 12 if ALL else 4  # captures with a frame missing, of each


@pytest.mark.parametrize(
    "name", ["6.1-v2-j-http11", "6.1-v1-c-three-conns", "6.1-v2-d-bulk-slow-reader"]
)
def test_one_pass_where_a_frame_is_missing(tshark, scratch, name):
    """What is behind the gap turns out to have arrived, but that must not change frames that went
    by before."""
    frames = tshark.frames(name, "smcr.write.len || smcr.cdc.seq")
    for number in random.Random(SEED).sample(frames, LACKING):
        path = scratch / f"{number}.pcapng"
        pcapng.write_without(path, tshark.bed.capture(name), number)
        one, two = trees_in_order(tshark, path), trees_in_order(tshark, path, "-2")
        assert (
            number,
            [
                each
                for each in differences(one, two, LATER)
                if not is_late(one.get(each[0], ()), two.get(each[0], ()))
                and not is_withdrawn(*each[1:])
            ],
        ) == (number, [])


def test_found_by_expert_items_alone(tshark, scratch):
    """A filter that names no field of ours finds the frames that have an expert item of ours, cut
    WRITEs too."""
    path = scratch / "cut.pcapng"
    tshark.bed.edit("-s", 120, tshark.bed.capture("6.1-v2-c-three-conns"), path)
    cut = tshark.frames(path, "smcr.cut_short")
    assert cut and tshark.frames(path, '_ws.expert.message contains "truncated by snaplen"') == cut
