"""
What a report finds. The first finding is the cause: its frame is held against the bytes of the
capture or against its ground truth, never against the plugin's own fields.
"""

import collections
import json
import re

import fields
import figures
import finding_units
import pytest
from bed import ALL, PACKED, TOP, captures
from report_runs import parse, print_json
from test_healthy import healthy
from test_output import INFO_COLUMN

# The RPC over RDMA of Wireshark 4.0 crashes in the second pass of some captures, without the
# plugin, too.
OPTIONS = ("--disable-protocol", "rpcordma", "-o", "smcr.roce:TRUE", "-o", "smcr.check_icrc:TRUE")
CAPTURES = captures() | captures(*PACKED)
NAMES = {name.removesuffix(".pcapng"): path for name, path in CAPTURES.items()}

# Bytes of frames, by display filters of Wireshark's own.
DECLINE = "tcp.payload[0:5] == e2:d4:c3:d9:04"
CLC = "tcp.payload[0:4] == e2:d4:c3:d9"
SEND = "udp.dstport == 4791 && frame[42:1] == 04"  # over IPv4: RC SEND Only
SEND_IPV6 = "udp.dstport == 4791 && frame[62:1] == 04"
NAK = "infiniband.aeth.syndrome.opcode == 3"
CE = "ip.dsfield.ecn == 3"
ABORT = f"{SEND} && frame[54:2] == fe:2c && frame[79:1] == 0x20"
DELETE_LINK = f"{SEND} && frame[54:1] == 0x24"
DELETE_LINK_IPV6 = f"{SEND_IPV6} && frame[74:1] == 04"


def truth(name):
    """What the captures of RoCE say of themselves."""
    path = NAMES[name]
    return json.loads((path.parent / f"{name}.json").read_text(encoding="utf-8"))[
        "truth_from_bytes"
    ]


def first(where):
    """The first frame that matches."""
    return lambda tshark, name: tshark.frames(path_of(tshark, name), where)[0]


def first_of(key, *, meaning=""):
    """The first frame in a list of the ground truth."""
    return lambda tshark, name: next(
        each["frame"] for each in truth(name)[key] if meaning in each.get("meaning", "")
    )


def fourth_time(tshark, name):
    """The first packet that is there for the fourth time, with no packet of its receiver since the
    first."""
    rows = tshark.fields(
        name,
        "frame.number",
        "ip.src",
        "ip.dst",
        "infiniband.bth.destqp",
        "infiniband.bth.psn",
        where="udp.dstport == 4791 && !icmp",
    )
    seen = collections.Counter()
    for (number,), (src,), (dst,), *packet in rows:
        for key in [key for key in seen if key[:2] == (dst, src)]:
            del seen[key]
        seen[src, dst, str(packet)] += 1
        if seen[src, dst, str(packet)] == 4:
            return int(number)
    return None


def longest_wait(tshark, name):
    """The message with which the longest wait for space begins."""
    rows = tshark.fields(
        path_of(tshark, name),
        "frame.number",
        "smcr.window.wait_time",
        where="smcr.window.wait_time",
        two_pass=True,
    )
    return int(max(rows, key=lambda row: float(row[1][0]))[0][0])


def longest_recovery(tshark, name):
    """The packet with which the longest wait for a retransmission begins: as the finding says, and
    the first of the packets that were retransmitted in it."""
    report = parse(print_json(tshark, path_of(tshark, name)))
    waits = [each for one in report["connections"] for each in one["longest_waits"]]
    worst = max(
        (each for each in waits if each["kind"] == "retransmission"),
        key=lambda each: each["lasted_s"],
    )
    [finding] = [each for each in report["findings"] if each["kind"] == "loss"]
    begin = worst["begin_frame"]
    assert f"{worst['lasted_s'] * 1000:.0f} ms (from frame {begin})" in finding["text"]
    assert (finding["begin_frame"], finding["end_frame"]) == (begin, worst["end_frame"])
    assert finding["begin_time"] == finding["time"] == worst["begin_time"]
    return begin


# capture: kind, severity, where it is, and what of the capture's description makes it the cause
CAUSES = {
    # the server has no RoCE device
    "6.1-v1-f1-decline-server-no-device": ("fallback", "note", first(DECLINE)),
    "6.1-v2-f1-decline-server-no-device": ("fallback", "note", first(DECLINE)),
    "6.1-v2-b-ipv6-client-declines": ("fallback", "note", first(DECLINE)),
    # the server is plain TCP: its SYN-ACK has no option
    "6.1-v1-f3-plain-tcp-server": ("fallback", "note", first("tcp.flags == 0x12")),
    # RoCE does not get through: no CONFIRM LINK, then both decline
    "6.1-v1-f6-decline-confirm-link-timeout": ("fallback", "warn", first(DECLINE)),
    "6.1-v2-f6-decline-confirm-link-timeout": ("fallback", "warn", first(DECLINE)),
    # netem drops 3 % of the frames
    "6.1-v1-n-lossy": ("loss", "warn", longest_recovery),
    "6.1-v2-n-lossy": ("loss", "warn", longest_recovery),
    # the client does not read for more than a second; packets are lost for 0.2 s
    "nak-loss-smc": ("slow_reader", "warn", longest_wait),
    "nak-loss-after-capture": ("loss", "warn", first_of("naks", meaning="PSN_SEQUENCE")),
    "nocm-psn-wrap": ("loss", "warn", first_of("naks", meaning="PSN_SEQUENCE")),
    # the server reads 6000 bytes every now and then
    "6.1-v1-d-bulk-slow-reader": ("slow_reader", "warn", longest_wait),
    "6.1-v2-d-bulk-slow-reader": ("slow_reader", "warn", longest_wait),
    # the second Ethernet link goes down
    "6.1-v1-h1-two-links-second-fails": ("link_lost", "warn", first(DELETE_LINK_IPV6)),
    "6.1-v2-h1-two-links-second-fails": ("link_lost", "warn", first(DELETE_LINK)),
    # the asymmetric link carries nothing on these networks
    "6.1-v1-h3-asymmetric-links": ("link_failed", "note", first(DELETE_LINK_IPV6)),
    "6.1-v2-h6-late-second-link-asymmetric": (
        "link_failed",
        "warn",
        first("ip.src == 10.0.0.2 && ip.dst == 10.0.1.1 && udp.dstport == 4791"),
    ),
    # the server's RoCE device is deleted: its packets end, the client's go out again and again
    "7.2-v2-g5-device-removed": ("reset", "warn", first("tcp.flags.reset == 1")),
    # the server is killed with data that it has not read
    "6.1-v2-g1-server-killed": ("abort", "warn", first(ABORT)),
    # receive buffers come late or never
    "rnr-nak": ("no_receive_buffer", "warn", first_of("naks", meaning="RNR_NAK")),
    # wrong keys, buffers, flags
    "nak-errors": ("refused", "warn", first_of("naks")),
    # a qdisc of the hosts marks packets
    "ecn-ce-smc": ("congestion", "warn", first(CE)),
    "cnp-smc": ("slow_reader", "warn", longest_wait),
    "cnp-np-cm": ("congestion", "warn", first(CE)),
    "tcp-ecn": ("tcp_congestion", "note", first(CE)),
    # payload overwritten: the receiver drops the packets, and answers with NAKs
    "icrc-wrong": ("wrong_icrc", "error", first_of("icrc_wrong_frames")),
    "icrc-flipped-rping": ("wrong_icrc", "error", first_of("icrc_wrong_frames")),
    # nobody listens
    "cm-reject": (
        "cm_rejected",
        "warn",
        lambda tshark, name: next(
            each["frame"] for each in truth(name)["cm_messages"] if each["attr"].startswith("REJ")
        ),
    ),
    # RDMA-CM messages are lost
    "cm-loss": ("cm_repeat", "note", None),
    # a connection is older than the capture, and nothing is wrong with it: its first CDC message
    "6.1-v1-c2-capture-starts-late": (
        "late_start",
        "note",
        first(f"{SEND_IPV6} && frame[74:2] == fe:2c"),
    ),
}


def path_of(tshark, name):
    return tshark.bed.root / "captures" / NAMES[name].relative_to(TOP / "captures")


@pytest.fixture(scope="module")
def reports(tshark):
    """Both reports of a capture, (JSON, text), made in one run and once."""
    made = {}

    def make(name):
        if name not in made:
            arguments = (*OPTIONS, "-2", "-q", "-z", "smcr,json", "-z", "smcr,report")
            printed = tshark.bed.keep(
                ("findings", name), lambda: tshark.show(path_of(tshark, name), *arguments).encode()
            ).decode()
            start = printed.index("{")
            report, end = json.JSONDecoder().raw_decode(printed, start)
            made[name] = report, printed[:start] + printed[end + 1 :]
        return made[name]

    return make


@pytest.fixture(scope="module")
def findings(reports):
    return lambda name: reports(name)[0]["findings"]


@pytest.mark.parametrize("name", CAUSES)
def test_first_finding_is_the_cause(tshark, findings, name):
    kind, severity, where = CAUSES[name]
    finding = findings(name)[0]
    assert (finding["kind"], finding["severity"]) == (kind, severity)
    if where:
        assert finding["frame"] == where(tshark, name)


def test_silence_after_a_reset_comes_second(tshark, findings):
    name = "7.2-v2-g5-device-removed"
    finding = findings(name)[1]
    assert (finding["kind"], finding["severity"]) == ("no_answer", "warn")
    assert finding["frame"] == 55  # the first packet without an answer


@pytest.mark.parametrize("name", healthy())
def test_healthy_captures_have_none(findings, name):
    """An HTTP 404 is the application's, and information at most."""
    assert [each for each in findings(name) if each["kind"] != "application_errors"] == []


def check_sound(found):
    """At most ten, errors first and information last; a fact is said once."""
    severities = [["error", "warn", "note", "info"].index(each["severity"]) for each in found]
    severities = [2 if each == 1 else each for each in severities]
    assert len(found) <= 10 and severities == sorted(severities)
    assert len({each["text"] for each in found}) == len(found)
    assert all(
        each["count"] and each["text"] and (each["frame"] is None) == (each["time"] is None)
        for each in found
    )
    assert [each["text"] for each in found if len(each["text"].split()) > 36] == []


def table(printed):
    """The only row of `-z io,stat`: numbers."""
    row = [line for line in printed.splitlines() if "<>" in line][-1]
    return [int(cell) for cell in row.split("|")[2:-1] if cell.strip()]


def disagreements(report, numbers_of):
    """
    What findings say otherwise than their filters find: each selects its frame, and its number is
    what its unit says. `numbers_of` runs tshark with columns of `-z io,stat`; a filter that is none
    would make it fail.
    """
    units = [(each, unit) for each in report["findings"] if (unit := finding_units.unit_of(each))]
    columns = [
        [
            finding_units.frames(
                f"({each['filter']})"
                + (f" && frame.number == {each['frame']}" if each["frame"] else "")
            ),
            *unit.columns(each, report),
        ]
        for each, unit in units
    ]
    numbers = numbers_of([each for some in columns for each in some])
    for (finding, unit), some in zip(units, columns, strict=True):
        [selected, *counted], numbers = numbers[: len(some)], numbers[len(some) :]
        wrong = (
            unit.wrong(finding, counted, report)
            if selected
            else "the filter does not find its frame"
        )
        if wrong:
            yield (
                f"{finding['kind']}, {finding['count']}: {wrong} ({finding['text']}; "
                f"{finding['filter']})"
            )


# Words of the Info column that run together: a number with the word behind it, ours with what
# stands before, a bracket with what follows.
JOINTS = re.compile(
    r"(?<![\w.:%/=-])\d+[a-z]{4,}(?![\w.:%/=-])|\w(?:answers frame|ACK of frame|(?:refuses|"
    r"expects|is not ready"
    r" for) (?:frame|PSN)|RDMA WRITE Len|CDC Seq|CNP QP|RC Acknowledge)\b|^(?:\[[^]]*\] "
    r")*\[[^]]*\](?=\w)"
)


def joints(infos):
    return [info for info in infos if JOINTS.search(info)]


def test_joints_are_found():
    apart = [
        "[Retransmission: NAK] 1 → 2 RDMA WRITE Len=3",
        "RC Acknowledge QP=0x0abcdef ACK of frame 9, again",
        "NVMe offset 0 answers frame 6",
        "HTTP/1.1 200 ok",
        "Continuation 10.0.0.1: 3rd",
        "[Duplicate] [Peer silent] CDC Seq=1",
    ]
    joined = [
        "NVMe offset 0answers frame 6",
        "Len: 131072answers frame 450",
        "[NAK: x]RC Acknowledge",
        "xCDC Seq=1",
        "QP=0x000011ACK of frame 3",
        "QP=0x11 refusesrefuses PSN 3",
        "Len=5bytes",
        "7 messages 12done",
    ]
    assert joints(apart) == [] and joints(joined) == [
        each for each in joined if each != "Len=5bytes"
    ]


def check_filters_and_info(tshark, name, report, options=OPTIONS):
    """In one run, which shows all frames: what the filters find, and the Info column."""
    printed = []

    def numbers_of(columns):
        statistic = ["-z", ",".join(["io,stat,0", *columns])] if columns else []
        printed.append(
            tshark.show(
                path_of(tshark, name), *options, "-2", "-T", "fields", "-e", INFO_COLUMN, *statistic
            )
        )
        return table(printed[0]) if columns else []

    assert list(disagreements(report, numbers_of)) == []
    assert joints(printed[0].splitlines()) == []


def check_page(text, found):
    """It is one page, whatever the capture; findings that do not fit are counted."""
    lines = text.splitlines()
    assert [line for line in lines if len(line) > 72 or line != line.rstrip()] == [] and len(
        lines
    ) <= 60
    words = " ".join(text.split())
    left = [each for each in found if each["text"] not in words]
    assert not left or re.search(rf"and {len(left)} more findings?: -z smcr,json", words)


def documented():
    """Kinds of findings that docs/json.md names."""
    return {kind for kind, *_ in figures.findings()}


def check_kinds(found):
    """A kind is documented, or is an expert item."""
    items = {each.filter.removeprefix("smcr.").replace(".", "_") for each in fields.experts()}
    assert {each["kind"] for each in found} <= documented() | items


@pytest.mark.parametrize("name", NAMES)
def test_report_of(tshark, reports, name):
    report, text = reports(name)
    check_sound(report["findings"])
    check_kinds(report["findings"])
    check_filters_and_info(tshark, name, report)
    check_page(text, report["findings"])


@pytest.mark.parametrize("name", list(NAMES)[:: 1 if ALL else 25])
def test_filters_and_info_by_default(tshark, name):
    """Without the preferences that bring in the packets of other programs."""
    report = json.loads(
        tshark.show(path_of(tshark, name), *OPTIONS[:2], "-2", "-q", "-z", "smcr,json")
    )
    check_filters_and_info(tshark, name, report, OPTIONS[:2])
