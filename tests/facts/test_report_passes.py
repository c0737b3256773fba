"""
A report made in one pass, against the one made in two. The second pass knows at each frame what
came later; a report may read late answers when it is printed. What may differ nevertheless is in a
table here, and nothing else.
"""

import re

import alterations
import pcapng
import pytest
from bed import ALL
from report_runs import (
    ALL_ONE,
    ALL_TWO,
    ONE,
    PACKED_NAMES,
    REAL,
    TWO,
    UNPACKED,
    differences,
    fail_on,
    name_of,
    parse,
    print_json,
    report,
)

# What may differ: (captures, members, why).
LATE = "6.1-v1-c2-capture-starts-late"
EARLY = "|".join(
    [
        LATE,
        "ib-native",
        "rfc-peer",
        "exported-source",
        "reserved-flags",
        "peer-move",
        "rule-move",
        "rule-clc-decline",
        "rule-rkey-clc",
        "rule-write-early",
        "peer-other-client",
        "cdc-contradictions",
        "peer-exit",
        "rule-cdc-after-end",
        "rule-write-after-end",
        "roce-headers",  # the first messages are damaged
    ]
)
# What counts the packets of a flow.
FLOW = (
    r"acked_longest|packets|bytes|payload_bytes|goodput_bytes|opcodes\.RC_WRITE_ONLY|ecn\.not_ect|"
    r"udp_ports\[\]\.packets|classes\.data\.(packets|by_(dscp|priority)\.0|ecn\.not_ect)"
)
# Packets of a flow that is not known to be SMC-R.
OTHERS = r"udp_ports\[\]\.packets|other_roce(\.\w+)?"
MAY_DIFFER = [
    (".*", r"capture\.passes", "the number of passes"),
    (
        EARLY,
        (
            r"(summary\.connections|connections\[\])\.\w+_to_\w+\."
            r"((lacks_)?bytes|(unasked_)?writes|ack_time_s\..*)"
        ),
        "an RDMA WRITE comes before what tells its connection",
    ),
    (
        f"{EARLY}|.*lossy.*",
        r"(summary\.connections|connections\[\])\.\w+_to_\w+\."
        r"(time\.\w+|(reader|drain|answer)_time_s\..*)|"
        r"(summary\.connections|connections\[\])\.\w+_to_\w+\.slow_answers(_s)?|"
        r"connections\[\]\.(longest_waits|end).*",
        "the same, or it comes after a gap",
    ),
    (
        "6.1-v1-g3-half-close",
        r"(summary\.connections|connections\[\])\.\w+_to_\w+\.time\.\w+|"
        r"connections\[\]\.longest_waits.*",
        "only the second pass knows that a retransmission was needless",
    ),
    (
        "rule-move",
        r"connections\[\]\.\w+_to_\w+\.open_wait(\.\w+)?",
        "the RDMA WRITE that asks comes before what tells its connection: one pass says nothing",
    ),
    (
        ".*lossy.*",
        r"findings\[\]\.(text|filter|((begin|end)_)?(frame|time))",
        "the time that a program waited, see above",
    ),
    (
        "rule-move",
        r"findings\[\]\.text",
        "that an item is of another connection: see above",
    ),
    (
        "rule-cdc-(close|number|reuse|urgent)",
        r"(summary\.connections|connections\[\])\.\w+_to_\w+\."
        r"(time\.\w+|read_reported_s\..*|urgent_count)",
        "a CDC message comes after a gap: what it means is known when its receiver has it",
    ),
    (
        "rule-(cdc-(close|reuse)|rkey-delete|v2-limit|write-target)|roce-headers",
        r"connections\[\]\.end\.(idle_(frame|time)|written_after)",
        "an RDMA WRITE may have no known connection: only the second pass knows that",
    ),
    (
        "rule-clc-unfinished",
        r"(summary\.connections|connections\[\])\.setup\.(tcp|accept|confirm)_s|"
        r"connections\[\]\.version|findings\[\]\.(frame|severity|time)",
        "a CLC message never becomes complete: only the second pass knows this, and shows it",
    ),
    (
        "rule-cdc-after-end|peer-exit",
        r"connections\[\]\.setup_longest",
        "the first data comes before what tells its connection",
    ),
    (
        EARLY,
        r"connections\[\]\.(links\[\]\.from|first)_(frame|time)",
        "an RDMA WRITE comes before what tells its connection",
    ),
    (LATE, r"(link_groups|rdma_flows)\[\]\.first_(frame|time)", "the same"),
    (
        LATE,
        rf"(summary\.rdma_flows|rdma_flows\[\])\.({FLOW})|summary\.udp_ports\.packets",
        "the same, and its flow is not known as SMC-R",
    ),
    (
        LATE,
        OTHERS,
        "the same: it counts as RoCE that is not known to be SMC-R",
    ),
]
# What may differ besides where a capture lacks frames, or has them in another order; its findings
# may, too.
OF_ALTERED = "|".join(
    [
        r"capture\.passes|(summary|findings)\b.*",
        # RDMA WRITEs behind what is absent, or before what tells their connection
        (
            r"connections\[\]\.\w+_to_\w+\.((lacks_)?bytes|writes|ack_time_s\..*|"
            r"repeated_(packets|bytes)|blocked_count)"
        ),
        r"connections\[\]\.((links\[\]\.from|first)_(frame|time)|end\.idle_(frame|time))",
        r"connections\[\]\.end\.(written_after|late_write_(after|by)_(frame|time))",
        # and the answers to them, and whether they are answers
        r"connections\[\]\.\w+_to_\w+\.(answer_time_s\..*|unasked_writes)",
        # CDC messages after a gap: what they mean is known when their receiver has them
        r"connections\[\]\.\w+_to_\w+\.(read_reported_s\..*|urgent_count)",
        # that a packet of the reader is absent shows later
        r"connections\[\]\.\w+_to_\w+\.(window_full_count|time(\.\w+)?|(reader|drain)_time_s\..*)",
        r"connections\[\]\.longest_waits.*",
        # LLC on a link that nothing has named yet
        r"connections\[\]\.setup(_s|\.(llc_)?(least|most)_s|\.llc_s|_longest)",
        # packets before the first sign of SMC-R: one pass counts them as RoCE that is not known to
        # be SMC-R
        rf"(link_groups|rdma_flows)\[\]\.first_(frame|time)|rdma_flows\[\]\.({FLOW}|opcodes\.\w+)",
        OTHERS,
    ]
)
# And of a late one, where what names a flow's sender comes behind its first packets: those are a
# flow of their own.
OF_LATE = (
    OF_ALTERED
    + r"|rdma_flows\[\]\..*|udp_ports\[\]\.flows\[\]|"
    + r"link_groups\[\]\.links\[\]\.(flows\[\]|moved_to)"
)
ALTERED = {
    "5 %": lambda frames: alterations.left_out_at_random(frames, 0.05, 0),
    "30 %": lambda frames: alterations.left_out_at_random(frames, 0.3, 0),
    "start": lambda frames: frames[40:],
    "shuffled": lambda frames: alterations.shuffled(frames, 1),
}
# Findings that only two passes have: that no RoCE packet of a connection comes, or no response, is
# known at the end.
LATE_FINDINGS = {"no_roce", "no_response"}
FOLLOW_FROM_NO_ROCE = {
    "rkey_not_confirmed",
    "token_reused",
    "clc_confirm_without_accept",
}  # and are findings where one pass cannot say it

PAIRS = [
    *((name, ONE, TWO) for name in UNPACKED),
    *((name, ALL_ONE, ALL_TWO) for name in PACKED_NAMES),
]


def may_differ(name):
    members = [member for captures, member, _ in MAY_DIFFER if re.fullmatch(captures, name)]
    return lambda path: any(
        re.fullmatch(member, re.sub(r"\[\d+\]", "[]", path)) for member in members
    )


MOST = 10  # findings in a report


def without_late_findings(found, late, full):
    """The same report without these. full: a list of findings is, so that one more hides the
    last."""
    others = [each for each in found["findings"] if each["kind"] not in late]
    return {
        **found,
        "findings": others[: MOST - len(late)] if full else others,
        "summary": {**found["summary"], "findings": None},
    }


@pytest.mark.parametrize("name, one, two", PAIRS, ids=name_of)
def test_one_pass_says_what_two_say(tshark, name, one, two):
    both = [report(tshark, name, run) for run in (one, two)]
    full = any(len(each["findings"]) == MOST for each in both)
    has_roce = not any(
        finding["kind"] == "no_roce" for each in both for finding in each["findings"]
    )
    late = LATE_FINDINGS if has_roce else LATE_FINDINGS | FOLLOW_FROM_NO_ROCE
    fail_on(
        differences(*(without_late_findings(each, late, full) for each in both), may_differ(name)),
        "one pass, two passes",
    )


@pytest.mark.parametrize("kind", ALTERED)
@pytest.mark.parametrize("name", REAL if ALL else ["6.1-v1-n-lossy"])
def test_one_pass_of_an_altered_capture(tshark, scratch, name, kind):
    scratch.chmod(0o777)
    path = scratch / "altered.pcapng"
    head, frames = pcapng.read(tshark.bed.capture(name))
    pcapng.write(path, head, ALTERED[kind](frames))
    path.chmod(0o644)
    one, two = (parse(print_json(tshark, path, run)) for run in (ONE, TWO))
    may = OF_LATE if name == LATE else OF_ALTERED
    fail_on(
        differences(one, two, lambda member: re.fullmatch(may, re.sub(r"\[\d+\]", "[]", member)))
    )


def test_sizes_acknowledged_before_the_first_sign_of_smcr(tshark, scratch):
    """A flow that turns out to be of SMC-R keeps the sizes that were acknowledged before: WRITEs of
    1088 bytes and their ACK, then CDC messages, which alone prove the link."""
    kept = [40, 41, 42, 43, 44, 46, 48, 49, 56, 58]
    scratch.chmod(0o777)
    path = scratch / "begun.pcapng"
    head, frames = pcapng.read(tshark.bed.capture("6.1-v1-d-bulk-slow-reader"))
    pcapng.write(path, head, [frames[number - 1] for number in kept])
    path.chmod(0o644)
    for run in (ALL_ONE, ALL_TWO):
        flows = parse(print_json(tshark, path, run))["rdma_flows"]
        assert sorted(flow["acked_longest"] for flow in flows) == [108, 1088], run


def test_every_line_is_needed(tshark):
    """No member is in the table that never differs."""
    unused = []
    for captures, member, _ in MAY_DIFFER:
        names = [each for each in PAIRS if re.fullmatch(captures, each[0])]
        if not any(
            re.fullmatch(member, re.sub(r"\[\d+\]", "[]", path))
            for name, one, two in names
            for path, *_ in differences(report(tshark, name, one), report(tshark, name, two))
        ):
            unused.append((captures, member))
    assert unused == []
