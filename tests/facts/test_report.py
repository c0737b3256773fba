"""
The report in JSON, of all captures, against a reader of their bytes (report_reader.py): what the
capture is, what it says of itself, and what a filter leaves of it. Other files hold its lists
against the reader and the ground truth.
"""

import collections
import re

import histograms
import pytest
import report_frames
import report_reader
import report_sums
import report_tcp
from report_runs import (
    ALL,
    ALL_TWO,
    NOTHING,
    ONE,
    PACKED_NAMES,
    PATHS,
    RUNS,
    TWO,
    assert_same,
    copy_of,
    differences,
    every_run,
    fail_on,
    flat,
    is_distribution,
    name_of,
    parse,
    print_json,
    printed,
    report,
)

MEMBERS = [
    "schema",
    "capture",
    "ip",
    "dropped",
    "summary",
    "connections",
    "link_groups",
    "fallbacks",
    "breaches",
    "findings",
    "rdma_flows",
    "other_roce",
    "marked_share",
    "udp_ports",
    "adapters",
    "pauses",
    "points",
    "tcp_flows",
]
TIME = re.compile(r"\d+\.\d{9}")
HEX = re.compile(r"0x[0-9a-f]+")
SNAKE_CASE = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
SIGNED = (".min", ".sum", ".positive.offset")
IN_HEX = {"va", "rkey", "service_id", "peer_id"}
NUMBERS = {"qpn", "psn", "src_qpn", "dst_qpn", "frame", "count", "port", "index"}
NO_IP = ["exported-source"]  # what its frames carry has no IP header


# ---- the reader against the bytes as others count them ----


@pytest.mark.parametrize(
    "name",
    [
        "6.1-v1-b-first-contact-ipv6",
        "6.1-v1-f1-decline-server-no-device",
        "6.1-v2-q-forty-conns",
        "6.1-v2-v-vlan",
        "7.2-v2-g5-device-removed",
        "any-linux-cooked",
        "clc-decline-codes",
        "clc-ipv6-8-prefixes",
        "clc-split-segments",
        "nocm-perftest",
        "openflow-roce",
        "quiet-tcp",
        "rocev1-vlan",
        "tcp-ecn",
        "tcpopt-variants",
    ],
)
def test_reader_sees_tcp_as_tshark_does(tshark_without, name):
    """Streams, lengths and flags."""
    fields = ("frame.number", "tcp.stream", "tcp.len", "tcp.flags")
    rows = tshark_without.fields(
        copy_of(tshark_without, name), *fields, where="tcp && !icmp && !openflow"
    )
    shown = {
        int(frame[0]): (int(stream[0]), int(length[0]), int(flags[0], 16) & 0x1FF)
        for frame, stream, length, flags in rows
    }
    assert shown == {
        each.frame.number: (flow.stream, each.length, each.flags)
        for flow in report_tcp.flows(PATHS[name])
        for each in flow.segments
    }


# ---- form ----


@every_run
def test_one_object(tshark, name, run):
    """Valid UTF-8, one JSON object, pretty printed."""
    assert printed(tshark, name, run).decode("utf-8").startswith("{\n")
    found = report(tshark, name, run)
    assert list(found) == MEMBERS
    assert found["schema"] == "smcr-report/1"
    assert list(found["summary"]) == list(report_sums.LISTS)


def test_one_newline_at_the_end(tshark):
    text = printed(tshark, "tcpopt-variants", ONE)
    assert text.endswith(b"\n}\n") and not text.endswith(b"\n\n")


def objects(value, path=""):
    """(path, object) of all objects."""
    if isinstance(value, dict):
        yield path, value
        for name, each in value.items():
            yield from objects(each, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for position, each in enumerate(value):
            yield from objects(each, f"{path}[{position}]")


def name_of_time(name):
    return "time" if name == "frame" else name.removesuffix("_frame") + "_time"


@every_run
def test_frames_have_their_times(tshark, name, run):
    times = {
        each.number: report_frames.text_of_time(each.time)
        for each in report_frames.frames(PATHS[name])
    }
    wrong = []
    for path, each in objects(report(tshark, name, run)):
        for member in [member for member in each if member == "frame" or member.endswith("_frame")]:
            found = each.get(name_of_time(member), "(nothing)")
            expected = None if each[member] is None else times.get(each[member], "(no such frame)")
            if found != expected:
                wrong.append((f"{path}.{member} = {each[member]}", found, expected))
    fail_on(wrong)


@every_run
def test_values_have_their_forms(tshark, name, run):
    found, wrong = report(tshark, name, run), []
    for path, value in flat(found):
        member = re.sub(r"\[\d+\]", "", path.split(".")[-1])
        if value is None or ".filter" in path:
            continue
        if member == "time" or member.endswith("_time"):
            wrong += [] if TIME.fullmatch(value) else [(path, value, "a time")]
        if member in IN_HEX or ".tokens." in path:
            wrong += (
                [] if isinstance(value, str) and HEX.fullmatch(value) else [(path, value, "0x...")]
            )
        if member in NUMBERS:
            wrong += [] if isinstance(value, int) else [(path, value, "a number")]
        if isinstance(value, (int, float)) and value < 0 and not path.endswith(SIGNED):
            wrong.append((path, value, "not negative"))
    for path, each in objects(found):
        if "opcodes" not in path and not path.endswith(("by_dscp", "by_priority")):
            wrong += [
                (path, member, "a name in snake_case")
                for member in each
                if not SNAKE_CASE.fullmatch(member)
            ]
    fail_on(wrong)


@every_run
def test_distributions(tshark, name, run):
    wrong = []
    for path, each in objects(report(tshark, name, run)):
        if not is_distribution(each):
            assert "sum_of_squares" not in each, path
            continue
        count, total, squares, least, most, *histogram = each.values()
        counts = histograms.counts_of(histogram[0]) if any(histogram) else {}
        if histogram and histogram[0] != histograms.from_counts(counts, least, most):
            wrong.append((f"{path}.histogram", histogram[0], "quantiles of its buckets"))
        if histogram and sum(counts.values()) != count:
            wrong.append((f"{path}.histogram", counts, count))
        if not count:
            good = (total, squares, least, most) == (0, 0, None, None)
        else:
            mean = total / count
            good = (
                least - 1e-9 <= mean <= most + 1e-9
                and squares >= total * mean * (1 - 1e-6) - 1e-12
                and squares <= count * max(least * least, most * most) * (1 + 1e-6) + 1e-12
            )
        wrong += [] if good else [(path, each, "min <= mean <= max")]
    fail_on(wrong)


# ---- what the capture is ----


def expected_capture(name, run):
    return {
        **report_reader.capture(PATHS[name]),
        "passes": run.passes,
        "filter": None,
        "smcr_roce": run.everything,
        "check_icrc": run.everything,
        "link_speed": None,
    }


@every_run
def test_capture(tshark, name, run):
    found = dict(report(tshark, name, run)["capture"])
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", found.pop("wireshark"))
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", found.pop("plugin"))
    expected = expected_capture(name, run)
    if name in NO_IP:  # nor InfiniBand's
        del found["roce_frames"], expected["roce_frames"]
    assert_same(found, expected)


@every_run
def test_ip(tshark, name, run):
    if name in NO_IP:
        pytest.skip("no IP")
    assert_same(report(tshark, name, run)["ip"], report_reader.ip(PATHS[name]))


@every_run
def test_nothing_dropped_is_known(tshark, name, run):
    """No capture of the project has statistics of its interfaces."""
    assert report(tshark, name, run)["dropped"] is None


# ---- what it says twice ----


@every_run
def test_summary(tshark, name, run):
    """Where a list is empty, its members may be unknown or zero."""
    found = report(tshark, name, run)
    empty = {each for each in report_sums.LISTS if not found[each]}
    expected = report_sums.summary(found)
    wrong = [
        (path, one, other)
        for path, one, other in differences(found["summary"], expected)
        if not path.startswith("rdma_flows.icrc")
        and not (other == NOTHING and one in (None, 0) and path.split(".")[0] in empty)
        and (one, other) != (NOTHING, None)
    ]
    fail_on(wrong)


@pytest.mark.parametrize("name", [name for name in PACKED_NAMES if name.startswith("icrc")])
def test_summary_has_every_icrc(tshark, name):
    """Those of packets that are in no flow, too."""
    statuses = tshark.fields(copy_of(tshark, name), "smcr.icrc.status", options=ALL, two_pass=True)
    counted = collections.Counter(status for [each] in statuses for status in each)
    assert report(tshark, name, ALL_TWO)["summary"]["rdma_flows"]["icrc"] == {
        "good": counted["1"],
        "bad": counted["0"],
        "unverified": counted["2"],
    }


@every_run
def test_references(tshark, name, run):
    """Indexes point to entries, and peers at each other."""
    found, wrong = report(tshark, name, run), []
    flows = {flow["index"]: flow for flow in found["rdma_flows"]}
    groups = [group["index"] for group in found["link_groups"]]
    assert len(flows) == len(found["rdma_flows"]) and len(set(groups)) == len(groups)
    for flow in found["rdma_flows"]:
        peer = flows.get(flow["peer"])
        if flow["peer"] is not None and not (
            peer
            and peer["peer"] == flow["index"]
            and (peer["src"], peer["dst"]) == (flow["dst"], flow["src"])
            and flow["src_qpn"] in (None, peer["dst_qpn"])
        ):
            wrong.append(
                (
                    f"rdma_flows {flow['index']}.peer",
                    flow["peer"],
                    "the flow of the other direction",
                )
            )
    for each in found["connections"]:
        if each["link_group"] is not None and each["link_group"] not in groups:
            wrong.append((f"connections {each['stream']}.link_group", each["link_group"], groups))
    for group in found["link_groups"]:
        for link in group["links"]:
            wrong += (
                [
                    (
                        f"link_groups {group['index']} link {link['number']}.flows",
                        link["flows"],
                        list(flows),
                    )
                ]
                if set(link["flows"]) - set(flows)
                else []
            )
    fail_on(wrong)


@every_run
def test_repeats_have_one_cause(tshark, name, run):
    wrong = [
        (
            f"rdma_flows[{position}].repeated_after",
            sum(flow["repeated_after"].values()),
            flow["repeated"],
        )
        for position, flow in enumerate(report(tshark, name, run)["rdma_flows"])
        if sum(flow["repeated_after"].values()) != flow["repeated"]
    ]
    fail_on(wrong)


@every_run
def test_fallbacks_are_those_of_connections(tshark, name, run):
    found = report(tshark, name, run)
    fallen = [each["fallback"] for each in found["connections"] if each["fallback"]]
    counted = {}
    for each in fallen:
        key = each["code"], each["reason"], each["by"]
        counted[key] = counted.get(key, 0) + 1
    assert {
        (each["code"], each["reason"], each["by"]): each["count"] for each in found["fallbacks"]
    } == counted
    assert {each["outcome"] for each in found["connections"] if each["fallback"]} <= {
        "fallback",
        "tcp",
    }


# ---- filters ----


FILTERED = [
    ("tcp-ecn", "tcp.port=={}"),
    ("6.1-v2-c-three-conns", "tcp.port=={}"),
    ("clc-port5201", "tcp.port=={}"),
]


def ports(name):
    """The port of the client of each connection."""
    return [flow.first.ends[0][1] for flow in report_tcp.flows(PATHS[name])]


@pytest.mark.parametrize("run", [ONE, TWO], ids=name_of)
@pytest.mark.parametrize("name, text", FILTERED)
def test_filter(tshark, name, text, run):
    """Only the frames that match are counted."""
    port = ports(name)[-1]
    where = text.format(port)
    found = parse(print_json(tshark, copy_of(tshark, name), run, where))
    flow = next(flow for flow in report_tcp.flows(PATHS[name]) if port in (flow.first.ends[0][1],))
    frames = [each.frame for each in flow.segments]
    times = [each.time for each in frames]
    assert_same(
        {
            member: found["capture"][member]
            for member in ("frames", "bytes", "first_time", "last_time", "cut_frames", "filter")
        },
        {
            "frames": len(frames),
            "bytes": sum(each.length for each in frames),
            "first_time": report_frames.text_of_time(min(times)),
            "last_time": report_frames.text_of_time(max(times)),
            "cut_frames": 0,
            "filter": where,
        },
    )
    assert_same(found["tcp_flows"], [flow.report()])
    assert_same(found["ip"], {"packets": 0, "bytes": 0})
    assert sum(each["packets"] for each in found["rdma_flows"]) == 0
    assert_same(found["summary"]["tcp_flows"], report_sums.summary(found)["tcp_flows"])


@pytest.mark.parametrize("name", ["tcp-ecn", "6.1-v2-c-three-conns", "cm-rping", "ib-native"])
def test_filter_that_matches_nothing(tshark, name):
    found = parse(print_json(tshark, copy_of(tshark, name), ALL_TWO, "frame.number==0"))
    assert list(found) == MEMBERS
    assert_same(
        {
            member: found["capture"][member]
            for member in ("frames", "bytes", "first_time", "last_time", "cut_frames", "filter")
        },
        {
            "frames": 0,
            "bytes": 0,
            "first_time": None,
            "last_time": None,
            "cut_frames": 0,
            "filter": "frame.number==0",
        },
    )
    assert_same(found["ip"], {"packets": 0, "bytes": 0})
    assert {member: found[member] for member in report_sums.LISTS} == {
        member: [] for member in report_sums.LISTS
    }


def test_filter_with_commas(tshark):
    """What is behind the second comma is the filter, commas and all."""
    where = f"tcp.port in {{{ports('tcp-ecn')[0]}, 1}}"
    found = parse(print_json(tshark, copy_of(tshark, "tcp-ecn"), ONE, where))
    assert found["capture"]["filter"] == where
    assert [each["src_port"] for each in found["tcp_flows"]] == ports("tcp-ecn")[:1]


def test_wrong_filter_is_refused(tshark):
    """tshark says why, and prints no report."""
    result = tshark.start(
        "-n", "-r", copy_of(tshark, "tcp-ecn"), "-q", "-z", "smcr,json,nonsense =="
    )
    assert result.returncode != 0 and result.stderr and "schema" not in result.stdout


def test_every_capture_is_run():
    assert {name for name, _ in RUNS} == set(PATHS)
