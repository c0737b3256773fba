"""
A rule that is broken in a real capture is told at its frame, and at no other; nothing false
follows, neither an expert item nor a figure. See mutants.py. The usual run takes three captures and
a few of their messages; `tests/run --all` takes all captures and more messages.
"""

import collections

import hosts
import mutants
import pcapng
import pytest
import wire
from bed import ALL, captures
from mutants import add, put

SAMPLE = ("6.1-v2-h1-two-links-second-fails", "6.1-v2-j-http11", "6.1-v1-h4-two-links-rkeys")
NOT_HEALTHY = ("lossy", "starts-late", "loss")  # what the capture lacks excuses some

ADD_LINK, CONFIRM_LINK, TYPE_V1, DELETE_LINK = 2, 1, 0x1F, (4, 0x24)
RESPONSE, REJECTED = 0x80, 0x40

# item: that is raised; of: which frames have such a message; also: other items that the same bytes
# may break instead; then: true of what follows, since the message is none of its connection
Mutant = collections.namedtuple("Mutant", "item of label change also then", defaults=((), ()))


CDC, NEXT_CDC, WRITE, NEXT_WRITE = (
    "CDC",
    "not the first CDC of its connection",
    "WRITE",
    "not the first WRITE",
)
ANSWERED = (
    "CDC before the last request of the other side, and before a link is lost, to whose sender "
    "nobody tells as much"
)
FAR = 60000  # bytes
MUTANTS = (
    Mutant("smcr.cdc.cursor_range", CDC, "producer cursor", put(12, "7fffffff")),
    Mutant("smcr.cdc.cursor_range", CDC, "consumer cursor", put(20, "7fffffff")),
    Mutant(
        "smcr.cdc.read_unsent",
        ANSWERED,
        "consumer cursor far on",
        add(20, ">I", FAR),
        ("smcr.cdc.wrap", "smcr.cdc.cursor_range"),
    ),
    Mutant("smcr.cdc.sequence_skipped", NEXT_CDC, "number", add(2, ">H", 100)),
    Mutant("smcr.cdc.sequence_backwards", NEXT_CDC, "number again", add(2, ">H", -1)),
    Mutant("smcr.write.hole", NEXT_WRITE, "address 10 bytes on", add(0, ">Q", 10)),
    Mutant("smcr.write.outside", WRITE, "address far away", add(0, ">Q", -1 << 30)),
    Mutant("smcr.cdc.length_invalid", CDC, "length", put(1, "2d"), (), ("smcr.cdc.sequence_gap",)),
)


def sent_once(path):
    """The requests that repeat none. What a repeat says is not looked at: its receiver has had the
    packet."""
    requests = [each for each in wire.roce(path) if each.opcode < wire.ACKNOWLEDGE]
    return list({(each.ends, each.qpn, each.psn): each for each in reversed(requests)}.values())[
        ::-1
    ]


def frames_of(path):
    """
    {kind: frames of such messages}. Of what a peer sends that is silent behind them, or on a lost
    link, nobody knows; nor what the first message of a connection on its next link goes on from;
    nor whose a WRITE is whose writer was done before.
    """
    once, messages = sent_once(path), wire.roce_messages(path)
    of_cdc = {each.frame for each in messages if each.kind == "cdc"}
    cdc = [each for each in once if each.frame in of_cdc]
    writes = [each.frame for each in once if each.opcode == wire.WRITE_ONLY]
    first = {(each.ends, each.qpn, each.payload[4:8]): each.frame for each in reversed(cdc)}
    lost = min((each.frame for each in messages if each.data[0] in DELETE_LINK), default=1 << 32)
    last = {
        each.ends[::-1]: each.frame for each in once if each.frame < lost
    }  # the last request of the other side
    unsent = mutants.reads_up_to(path, FAR)
    late = [write.frame for write, _, was_done in mutants.owned_writes(path)[0] if was_done]
    return {
        CDC: [each.frame for each in cdc if each.frame < lost or each.frame not in first.values()],
        NEXT_CDC: [each.frame for each in cdc if each.frame not in first.values()],
        ANSWERED: [
            each.frame
            for each in cdc
            if each.frame < last.get(each.ends, 0) and each.frame in unsent
        ],
        WRITE: writes,
        NEXT_WRITE: [each for each in writes[2:] if each not in late],
    }


def chosen(frames):
    """The first one, one in the middle and the last but one; of all captures some more."""
    step = max(1, len(frames) // (6 if ALL else 2))
    return sorted(set(frames[::step][:7]))


def faults(tshark, scratch, name):
    path = captures()[name]
    before = mutants.shown(tshark, name)
    for mutant in MUTANTS:
        for number in chosen(frames_of(path)[mutant.of]):
            altered = mutants.mutate(path, number, mutant.change, scratch / "altered.pcapng")
            raised, false, wrong = mutants.differences(
                before, mutants.shown(tshark, altered), number
            )
            false = [each for each in false if each[1] not in mutant.then]
            if not raised & {mutant.item, *mutant.also} or false or wrong:
                yield name, number, mutant.label, mutant.item, sorted(raised), false[:3], wrong[:3]


def announcements(path):
    """
    [(frame that announces an end of a link, offsets of its GID and queue pair, frame of CONFIRM
    LINK)]: Accept and Confirm of the first contact, ADD LINK both ways.
    """
    llc = [each for each in wire.roce_messages(path) if each.kind == "llc"]
    confirms = [
        (each.frame, each.data[29])
        for each in llc
        if each.data[0] & TYPE_V1 == CONFIRM_LINK and not each.data[3] & RESPONSE
    ]
    ends = [
        (each.frame, 16, 38, confirm)
        for each in wire.clc_messages(path)
        for confirm, _ in confirms[:1]
        if each.data[4] in (2, 3) and each.frame < confirm
    ]
    offers = [
        each for each in llc if each.data[0] & TYPE_V1 == ADD_LINK and not each.data[3] & REJECTED
    ]
    for offer in offers:
        behind = [
            frame for frame, link in confirms if link == offer.data[31] and frame > offer.frame
        ]
        ends += [(offer.frame, 12, 28, confirm) for confirm in behind[:1]]
    return ends


def announced_elsewhere(tshark, scratch, name):
    """An end of a link that is another than announced is told at CONFIRM LINK; its traffic is that
    of the link."""
    path = captures()[name]
    before = mutants.shown(tshark, name)
    for number, gid, qpn, confirm in announcements(path):
        for change in (put(gid, "fe800000000000000102030405060708"), put(qpn, "0abcde")):
            altered = mutants.mutate(path, number, change, scratch / "altered.pcapng")
            raised, false, wrong = mutants.differences(
                before, mutants.shown(tshark, altered), confirm
            )
            false = [
                each for each in false if each[1] != "smcr.link.fault_accepted"
            ]  # the client confirms it: C.7
            if raised != {"smcr.link.mismatch"} or false or wrong:
                yield name, number, confirm, sorted(raised), false[:3], wrong[:3]


def later_elsewhere(tshark, scratch, name):
    """A later Accept names a queue pair of no link. The Confirm tells on which link the connection
    is."""
    path = captures()[name]
    before = mutants.shown(tshark, name)
    for number in [
        each.frame for each in wire.clc_messages(path) if each.data[4] == 2 and not each.data[7] & 8
    ][:2]:
        for change in (put(16, "fe800000000000000102030405060708"), put(38, "0abcde")):
            altered = mutants.mutate(path, number, change, scratch / "altered.pcapng")
            raised, *others = mutants.differences(before, mutants.shown(tshark, altered), number)
            if raised - {"smcr.clc.first_contact_wrong"} or others != [[], []]:
                yield name, number, sorted(raised), others


def test_a_broken_rule_breaks_nothing_else(tshark, scratch):
    names = (
        [name for name in captures("real") if not any(word in name for word in NOT_HEALTHY)]
        if ALL
        else SAMPLE
    )
    found = [fault for name in names for fault in faults(tshark, scratch, name)]
    found += [fault for name in names for fault in announced_elsewhere(tshark, scratch, name)]
    found += [fault for name in names for fault in later_elsewhere(tshark, scratch, name)]
    if found:
        pytest.fail("\n".join(map(str, found)), pytrace=False)


# In captures that begin late: the first cursor that is known, and an RMB whose address nothing but
# the first WRITE tells.
IMPOSSIBLE, FAR_ON, FAR_BACK = put(12, "7fffffff"), add(0, ">Q", 1 << 30), add(0, ">Q", -1 << 30)
LATE = (
    ("late-one", 2, IMPOSSIBLE, {"smcr.cdc.cursor_range"}),
    ("late-one", 5, FAR_BACK, set()),
    ("late-many", 9, FAR_ON, set()),
)
AGAIN = slice(
    8, 10
)  # of the first capture: the WRITE and the message behind the altered one come twice


@pytest.mark.parametrize("name, number, change, items", LATE)
def test_nothing_false_follows_where_the_beginning_is_absent(
    tshark, scratch, name, number, change, items
):
    head, frames = pcapng.read(hosts.write(tshark.bed, hosts.Variant(name, "", "whole")))
    path = scratch / "late.pcapng"
    pcapng.write(
        path,
        head,
        frames[: AGAIN.stop] + frames[AGAIN] + frames[AGAIN.stop :]
        if name == "late-one"
        else frames,
    )
    altered = mutants.mutate(path, number, change, scratch / "altered.pcapng")
    assert mutants.differences(
        mutants.shown(tshark, path), mutants.shown(tshark, altered), number
    ) == (items, [], [])


@pytest.mark.parametrize("name, number", [("http", 92), ("late-many", 232)])
def test_nothing_false_follows_where_a_host_names_the_connection(tshark, scratch, name, number):
    """A WRITE goes 10 bytes too far on. It is not one round behind: what comes next is where it
    was."""
    path = hosts.write(tshark.bed, hosts.Variant(name, "AB", "whole"))
    altered = mutants.mutate(path, number, add(0, ">Q", 10), scratch / "altered.pcapng")
    raised, false, wrong = mutants.differences(
        mutants.shown(tshark, path), mutants.shown(tshark, altered), number
    )
    assert ("smcr.write.hole" in raised, false, wrong) == (True, [], [])
