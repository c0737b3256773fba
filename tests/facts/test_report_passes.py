"""
A report made in one pass, against the one made in two. The second pass knows at each frame what came later; a report
may read late answers when it is printed. What may differ nevertheless is in a table here, and nothing else.
"""

import re

import pytest
from report_runs import ALL_ONE, ALL_TWO, ONE, PACKED_NAMES, TWO, UNPACKED, differences, fail_on, name_of, report

# What may differ: (captures, members, why).
LATE = "6.1-v1-c2-capture-starts-late"
EARLY = "|".join([LATE, "ib-native", "rfc-peer", "exported-source", "reserved-flags", "peer-move", "rule-move",
                  "rule-clc-decline", "rule-rkey-clc", "rule-write-early", "peer-other-client"])
FLOW = r"packets|bytes|payload_bytes|goodput_bytes|opcodes\.RC_WRITE_ONLY|ecn\.not_ect"
MAY_DIFFER = [
    (".*", r"capture\.passes", "the number of passes"),
    (EARLY, r"(summary\.connections|connections\[\])\.\w+_to_\w+\.(bytes|writes|ack_time_s\.\w+)",
     "an RDMA WRITE comes before what tells its connection"),
    (EARLY, r"connections\[\]\.(links\[\]\.from|first)_(frame|time)", "the same"),
    (EARLY, r"findings\[\]\.(frame|time|filter)", "the same"),
    (LATE, r"(link_groups|rdma_flows)\[\]\.first_(frame|time)", "the same"),
    (LATE, rf"(summary\.rdma_flows|rdma_flows\[\])\.({FLOW})", "the same, and its flow is not known as SMC-R"),
]
# Findings that only two passes have: that no RoCE packet of a connection comes, or no response, is known at the end.
LATE_FINDINGS = {"no_roce", "no_response"}

PAIRS = [*((name, ONE, TWO) for name in UNPACKED), *((name, ALL_ONE, ALL_TWO) for name in PACKED_NAMES)]


def may_differ(name):
    members = [member for captures, member, _ in MAY_DIFFER if re.fullmatch(captures, name)]
    return lambda path: any(re.fullmatch(member, re.sub(r"\[\d+\]", "[]", path)) for member in members)


MOST = 10  # findings in a report


def without_late_findings(found, full):
    """The same report without them. full: a list of findings is, so that one more hides the last."""
    others = [each for each in found["findings"] if each["kind"] not in LATE_FINDINGS]
    return {**found, "findings": others[:MOST - len(LATE_FINDINGS)] if full else others,
            "summary": {**found["summary"], "findings": None}}


@pytest.mark.parametrize("name, one, two", PAIRS, ids=name_of)
def test_one_pass_says_what_two_say(tshark, name, one, two):
    both = [report(tshark, name, run) for run in (one, two)]
    full = any(len(each["findings"]) == MOST for each in both)
    fail_on(differences(*(without_late_findings(each, full) for each in both), may_differ(name)),
            "one pass, two passes")


def test_every_line_is_needed(tshark):
    """No member is in the table that never differs."""
    unused = []
    for captures, member, _ in MAY_DIFFER:
        names = [each for each in PAIRS if re.fullmatch(captures, each[0])]
        if not any(re.fullmatch(member, re.sub(r"\[\d+\]", "[]", path)) for name, one, two in names
                   for path, *_ in differences(report(tshark, name, one), report(tshark, name, two))):
            unused.append((captures, member))
    assert unused == []
