"""
Frames of findings: `smcr.finding` shows in each frame the findings of the report that rest on it.
The report of a second run of tshark says which findings there are, and Wireshark's own display
filters say which frames have their expert items.
"""

import collections
import re

import pytest
from bed import ALL, FOLDERS, PACKED, captures
from report_runs import CALM, parse, print_json

PATHS = {
    path.name.split(".pcap")[0]: path for path in captures(*FOLDERS, *PACKED, "stories").values()
}
# Captures whose stories have different kinds of findings.
CHOSEN = [
    "6.1-v2-d-bulk-slow-reader",
    "6.1-v2-n-lossy",
    "6.1-v2-g1-server-killed",
    "6.1-v2-h1-two-links-second-fails",
    "6.1-v2-f1-decline-server-no-device",
    "7.2-v2-g5-device-removed",
    "s02b-fw-roce-60s",
    "s04-pmtu",
    "s08a-server-stopped",
    "s11-pool-kill",
    "s16b-rude-close",
    "s26-second-link-acl",
    "rule-cdc-abort",
    "proposal-never-acknowledged",
    "pause-pfc",
]
# Filters whose frames a finding has all: names of expert items, and no other test.
ONLY_ITEMS = re.compile(r"smcr\.[a-z_.]+( \|\| smcr\.[a-z_.]+)*")
# What one pass cannot know: a socket that a host reports late names a connection, a connection over
# TCP ends after the report of its handshake, and a CLC message ends at its sender's FIN.
OTHER_IN_ONE_PASS = {
    "late-fallback",
    "exported-source",
    "s11-pool-kill-late-netlink",
    "rule-clc-unfinished",
}

Marks = collections.namedtuple("Marks", "texts frames")


def marks(tshark, name, *arguments, where="smcr.finding"):
    """The sentences of the findings, and their frames, as the frames show them."""
    texts, frames = {}, collections.defaultdict(list)
    for line in tshark.run(
        *("-n", "-2", *arguments, "-r", tshark.bed.capture(PATHS[name])),
        *(("-Y", where) if where else ()),
        *("-T", "fields", "-e", "frame.number", "-e", "smcr.finding", "-e", "smcr.finding.text"),
        *("-E", "aggregator=|"),
    ).splitlines():
        frame, numbers, sentences = line.split("\t")
        for number, text in zip(numbers.split("|"), sentences.split("|"), strict=True):
            if number:
                texts[int(number)] = text
                frames[int(number)].append(int(frame))
    return Marks(texts, frames)


def findings_of(tshark, name):
    """The findings of the report."""
    return parse(print_json(tshark, tshark.bed.capture(PATHS[name])))["findings"]


@pytest.mark.parametrize("name", sorted(PATHS.keys() - OTHER_IN_ONE_PASS) if ALL else CHOSEN)
def test_frames_show_the_findings_of_the_report(tshark, name):
    """Number and sentence are those of the report, and the frame to look at is one of them."""
    findings = findings_of(tshark, name)
    shown = marks(tshark, name)
    assert shown.texts == {
        number: finding["text"]
        for number, finding in enumerate(findings, 1)
        if finding["frame"] is not None
    }
    for number, finding in enumerate(findings, 1):
        if finding["frame"] is not None:
            assert finding["frame"] in shown.frames[number], finding


@pytest.mark.parametrize("name", CHOSEN)
def test_frames_have_the_expert_items_of_the_finding(tshark, name):
    """Each frame that the finding's filter selects shows the finding."""
    shown = marks(tshark, name)
    for number, finding in enumerate(findings_of(tshark, name), 1):
        if ONLY_ITEMS.fullmatch(finding["filter"] or ""):
            selected = {
                int(line)
                for line in tshark.run(
                    *("-n", "-2", "-r", tshark.bed.capture(PATHS[name]), "-Y", finding["filter"]),
                    *("-T", "fields", "-e", "frame.number"),
                ).splitlines()
            }
            assert selected and selected <= set(shown.frames[number]), finding


# A finding on the page: its frame, and the filter that the page offers for it.
OFFERED = re.compile(
    r"^ +(?:\d+\. .*)?frame (\d+), [\d.]+ s(?:,\s+since\s+frame \d+, [\d.]+ s)?"
    r"\s+(?:-2 )?-Y '([^']*)'",
    re.MULTILINE,
)


@pytest.mark.parametrize(
    "name", sorted(PATHS.keys() - OTHER_IN_ONE_PASS) if ALL else [*CHOSEN, "tcp-ecn"]
)
def test_the_filter_on_the_page_finds_the_frame(tshark, name):
    """Of each finding with a frame, also in a capture of TCP alone."""
    path = tshark.bed.capture(PATHS[name])
    page = tshark.run("-n", *CALM, "-2", "-q", "-r", path, "-z", "smcr,report")
    offered = [(int(frame), " ".join(text.split())) for frame, text in OFFERED.findall(page)]
    findings = findings_of(tshark, name)
    assert [frame for frame, _ in offered] == [
        finding["frame"] for finding in findings if finding["frame"] is not None
    ][: len(offered)]
    assert bool(offered) == any(finding["frame"] is not None for finding in findings)
    for frame, text in offered:
        shown = tshark.run(
            *("-n", *CALM, "-2", "-r", path, "-Y", text, "-T", "fields", "-e", "frame.number")
        )
        assert str(frame) in shown.split(), text


@pytest.mark.parametrize(
    "name, number, needed, others",
    [
        # The program reads nothing from frame 266 on; frame 17 has no part in it.
        ("s10c-slow-sub-late", 1, {266}, {17}),
        # The aborts of both sides, and no frame of the handshake.
        ("6.1-v2-g1-server-killed", 1, {49, 53}, {1, 2, 3}),
        # Retransmissions in silences of the peer are one finding, all other ones another finding.
        ("s23-host-frozen", 1, {881, 1942}, {2346}),
        ("s23-host-frozen", 3, {2346}, {881, 1942}),
    ],
)
def test_frames_tell_the_story(tshark, name, number, needed, others):
    """The frames of the ground truth are among them, and frames without a part in it are not."""
    frames = set(marks(tshark, name).frames[number])
    assert needed <= frames and not others & frames, frames


def test_who_does_not_ask_gets_none(tshark):
    """Without a filter that names the field, or the preference, no frame is marked."""
    name = "6.1-v2-d-bulk-slow-reader"
    assert not marks(tshark, name, where="").frames
    asked = marks(tshark, name, "-o", "smcr.findings:TRUE", where="")
    assert asked == marks(tshark, name)
    one_pass = tshark.run("-n", "-r", tshark.bed.capture(PATHS[name]), "-Y", "smcr.finding")
    assert not one_pass


def test_a_filtered_report_changes_nothing(tshark):
    """The marks come from the first pass, whatever the report of the same run selects."""
    name = "6.1-v2-n-lossy"
    lines = tshark.run(
        *(
            "-n",
            "-2",
            "-r",
            tshark.bed.capture(PATHS[name]),
            "-z",
            "smcr,json,tcp",
            "-Y",
            "smcr.finding == 1",
        ),
        *("-T", "fields", "-e", "frame.number"),
    )
    frames = [int(line) for line in re.findall(r"^(\d+)$", lines, re.MULTILINE)]
    assert frames == marks(tshark, name).frames[1]
