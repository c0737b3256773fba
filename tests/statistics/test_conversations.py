"""
Conversations and endpoints: the bytes of the report and of the ground truth, the frames that
`smcr.stream` finds, and filters made from a row that find its frames.
"""

import functools
import re

import ground_truth
import pytest
import sharkd
import traffic
from bed import TOP
from scapy.utils import rdpcap, wrpcap
from report_runs import CALM, MALFORMED, PATHS, REAL, TWO, copy_of, parse, print_json, report
from sharkd_tables import (
    HOST,
    ROW,
    agree,
    ask_all,
    conversations,
    exact,
    frames_of_filters,
    printed,
    request,
    taps,
)

LATE = "6.1-v1-c2-capture-starts-late"
PARTS = {LATE, "6.1-v2-g1-server-killed"}  # captures that do not have all that was written
FALLBACKS = [
    "clc-port80-http",
    "clc-noclc-80",
    "clc-decline-http-same-segment",
    "tcpopt-variants",
    "clc-split-segments",
]
OTHERS = [
    name
    for name, path in PATHS.items()
    if path.parent.name in ("synthetic", "malformed") or name.endswith("-smc")
]  # for rows
OUT_OF_ORDER = {("payload-five-ways", 2)}  # over TCP, which does not hand all of it on
WAYS = ("client_to_server", "server_to_client")


@functools.cache
def rows_of(tshark, name):
    return conversations(tshark, copy_of(tshark, name))


def end(entry):
    """How the table names an end of which the report tells address and port."""
    return (
        f"[{entry['addr']}]:{entry['port']}"
        if ":" in entry["addr"]
        else f"{entry['addr']}:{entry['port']}"
    )


@pytest.mark.parametrize("name", [*REAL, *OTHERS])
def test_rows_are_the_reports_connections(tshark, name):
    """The same connections, ends and bytes. A is the client. Where the report knows no bytes, there
    are none."""
    entries = report(tshark, name, TWO)["connections"]
    connections = {each["stream"]: each for each in entries}
    rows = rows_of(tshark, name)
    # two halves that are probably one connection have one entry, and a row each
    halves = {each["roce_stream"] for each in entries} - {None}
    assert rows.keys() == connections.keys() | halves
    halves |= {each["stream"] for each in entries if each["roce_stream"] is not None}
    rows = {stream: row for stream, row in rows.items() if stream not in halves}
    for stream, row in rows.items():
        entry = connections[stream]
        if (
            entry["outcome"] != "unknown"
            and name not in MALFORMED
            and (name, stream) not in OUT_OF_ORDER
        ):  # the report believes what a length of CLC says
            assert (row["txb"], row["rxb"]) == tuple(
                entry[way]["bytes"] or 0 for way in WAYS
            ), stream
        if entry["client"]["addr"] and entry["client"]["port"]:
            assert (row["saddr"], row["daddr"]) == (end(entry["client"]), end(entry["server"]))


@pytest.mark.parametrize("passes", [(), ("-2",)], ids=["one-pass", "two-passes"])
def test_bytes_out_of_order_count_where_tcp_hands_them_on(tshark, passes):
    """Also those that a FIN completes: in one pass TCP has handed on some of them before."""
    name = "payload-five-ways"
    connections = report(tshark, name, TWO)["connections"]
    text = tshark.show(
        name, *CALM, "-o", "tcp.reassemble_out_of_order:TRUE", *passes, "-q", "-z", "conv,smcr"
    )
    assert sorted((exact(row["rxb"]), exact(row["txb"])) for row in printed(text, ROW)) == sorted(
        (each["server_to_client"]["bytes"], each["client_to_server"]["bytes"])
        for each in connections
    )


@pytest.mark.parametrize("name", [name for name in REAL if name not in PARTS])
def test_bytes_are_what_was_sent(tshark, name):
    """The ground truth: what the programs gave to their sockets, over RDMA or, after a fallback,
    over TCP."""
    streams = traffic.streams(TOP / "captures" / "real" / f"{name}.streams")
    by_tcp = {
        int(conn.tcp_stream): {
            way: len(streams[number, way]) for way in (0, 1) if (number, way) in streams
        }
        for number, conn in traffic.connections(tshark, name).items()
    }
    entries = {
        each["stream"]: each["tcp_stream"] for each in report(tshark, name, TWO)["connections"]
    }
    assert rows_of(tshark, name) or "f4" in name
    for stream, row in rows_of(tshark, name).items():
        for way, key in enumerate(("txb", "rxb")):
            sent = by_tcp[entries[stream]].get(way)
            assert sent is None or row[key] == sent, (stream, key)


def ways(row, stream):
    """What Wireshark's menu makes of a row: {direction: filter}."""
    prefix = f"smcr.stream=={stream} && smcr.endpoint"
    a, b = f'"{row["saddr"]}"', f'"{row["daddr"]}"'
    return {
        "A to/from B": f"{prefix}=={a} && {prefix}=={b}",
        "A to B": f"{prefix}.src=={a} && {prefix}.dst=={b}",
        "B to A": f"{prefix}.dst=={a} && {prefix}.src=={b}",
        "A to/from any": f"{prefix}=={a}",
        "A to any": f"{prefix}.src=={a}",
        "any to B": f"{prefix}.dst=={b}",
        "B to any": f"{prefix}.src=={b}",
    }


@pytest.mark.parametrize("name", [*REAL, *FALLBACKS])
def test_filters_of_rows_find_their_frames(tshark, name):
    """On TCP and RoCE. The frames are those with the connection's number; each direction has those
    that it sends."""
    rows = rows_of(tshark, name)
    filters = [(stream, each) for stream in rows for each in ways(rows[stream], stream).items()]
    found = frames_of_filters(
        tshark,
        copy_of(tshark, name),
        [f"smcr.stream == {stream}" for stream in rows] + [each for _, (_, each) in filters],
    )
    every = dict(zip(rows, found))
    by_way = {}
    for (stream, (way, _)), frames in zip(filters, found[len(rows) :], strict=True):
        by_way.setdefault(stream, {})[way] = frames
    for stream, row in rows.items():
        assert row["filter"] == ways(row, stream)["A to/from B"]
        assert by_way[stream]["A to/from B"] == by_way[stream]["A to/from any"] == every[stream]
        assert row["txf"] + row["rxf"] == len(every[stream]), stream
        assert by_way[stream]["A to B"] == by_way[stream]["A to any"] == by_way[stream]["any to B"]
        assert (
            len(by_way[stream]["A to B"]) == row["txf"]
            and len(by_way[stream]["B to A"]) == row["rxf"]
        )
        assert (
            by_way[stream]["B to A"]
            == by_way[stream]["B to any"]
            == every[stream] - by_way[stream]["A to B"]
        )


@pytest.mark.parametrize("name", [*REAL, *FALLBACKS])
def test_endpoints_are_hosts_and_links(tshark, name):
    """Hosts add up what their connections have. Links have all RoCE packets on them. Filters find
    the frames."""
    path = copy_of(tshark, name)
    rows = taps(tshark, path, "endpt:SMC-R")[0]["hosts"]
    hosts, sums = {}, {}
    for row in rows_of(tshark, name).values():
        for this, that, address in (("tx", "rx", row["saddr"]), ("rx", "tx", row["daddr"])):
            host = re.sub(r":\d+$| \(.*\)$", "", address).strip("[]")
            total = sums.setdefault(host, [0, 0, 0, 0])
            for i, key in enumerate((f"{this}f", f"{this}b", f"{that}f", f"{that}b")):
                total[i] += row[key]
    found = frames_of_filters(tshark, path, [row["filter"] for row in rows])
    for row, frames in zip(rows, found, strict=True):
        numbers = [row[key] for key in ("txf", "txb", "rxf", "rxb")]
        assert numbers[0] + numbers[2] == len(frames), row
        if not row["host"].startswith("link"):
            hosts[row["host"]] = numbers
    assert hosts == sums
    links = [row for row in rows if row["host"].startswith("link")]
    carried = frames_of_filters(tshark, path, ["smcr.link.index && infiniband"])[0]
    assert sum(row["txf"] + row["rxf"] for row in links) == len(carried)
    assert sum(row["txb"] + row["rxb"] for row in links) <= sum(each[1] for each in sums.values())


@pytest.mark.parametrize("name", REAL)
def test_tshark_prints_the_same(tshark, name):
    """Its sizes are rounded where they are not small."""
    rows = {(row["saddr"], row["daddr"]): row for row in rows_of(tshark, name).values()}
    text = tshark.show(name, *CALM, "-2", "-q", "-z", "conv,smcr")
    found = printed(text, ROW)
    assert len(found) == len(rows) and "SMC-R Conversations" in text
    for each in found:
        row = rows[each["a"], each["b"]]
        assert (row["txf"], row["rxf"]) == (int(each["txf"]), int(each["rxf"]))
        for key in ("txb", "rxb"):
            assert agree(each[key], row[key])
        assert abs(row["stop"] - row["start"] - float(each["duration"])) < 1e-4
    hosts = {
        row["host"]: row for row in taps(tshark, copy_of(tshark, name), "endpt:SMC-R")[0]["hosts"]
    }
    found = printed(tshark.show(name, *CALM, "-2", "-q", "-z", "endpoints,smcr"), HOST)
    assert {each["host"] for each in found} == hosts.keys()
    for each in found:
        row = hosts[each["host"]]
        assert (int(each["txf"]), int(each["rxf"])) == (row["txf"], row["rxf"])
        assert agree(each["txb"], row["txb"]) and agree(each["rxb"], row["rxb"])


@pytest.mark.parametrize(
    "name", ["6.1-v1-n-lossy", "6.1-v1-h1-two-links-second-fails", "6.1-v2-c-three-conns"]
)
@pytest.mark.parametrize(
    "where", ["frame.number > 100", "smcr.retransmission || smcr.stream == 0", "smcr.dir == 0"]
)
def test_filter_limits_the_table(tshark, name, where):
    """As it limits the report: the bytes of frames that the filter leaves out do not count."""
    entries = parse(print_json(tshark, copy_of(tshark, name), TWO, where=where))["connections"]
    expected = {
        (end(each["client"]), end(each["server"])): [each[way]["bytes"] or 0 for way in WAYS]
        for each in entries
    }
    found = printed(tshark.show(name, *CALM, "-2", "-q", "-z", f"conv,smcr,{where}"), ROW)
    assert found
    for each in found:
        for key, number in zip(("txb", "rxb"), expected[each["a"], each["b"]], strict=True):
            assert agree(each[key], number)
    text = tshark.show(name, *CALM, "-2", "-q", "-z", f"endpoints,smcr,{where}")
    hosts = {
        each["host"]: each["txb"]
        for each in printed(text, HOST)
        if not each["host"].startswith("link")
    }
    sent = {}
    for ends, numbers in expected.items():
        for address, number in zip(ends, numbers):
            host = re.sub(r":\d+$", "", address).strip("[]")
            sent[host] = sent.get(host, 0) + number
    assert hosts.keys() == sent.keys() and all(
        agree(hosts[host], number) for host, number in sent.items()
    )


def test_one_pass_has_what_one_pass_knows(tshark):
    """Where the capture has the beginning, one pass and two print the same."""
    for name in (
        "6.1-v2-c-three-conns",
        "6.1-v1-f1-decline-server-no-device",
        "6.1-v1-h1-two-links-second-fails",
    ):
        for table in ("conv,smcr", "endpoints,smcr"):
            assert tshark.show(name, "-q", "-z", table) == tshark.show(
                name, "-2", "-q", "-z", table
            )


def test_tables_of_one_file_after_the_other(tshark):
    """Asked again, with another capture in between: no row stays, no byte counts twice."""
    first, other = (sharkd.load(copy_of(tshark, name)) for name in ("6.1-v1-n-lossy", LATE))
    ask = request("conv:SMC-R", "endpt:SMC-R")
    answers = ask_all(tshark, [first, ask, ask, other, ask, first, ask])
    assert answers[1] == answers[2] == answers[6] != answers[4]


def in_aggregates(packets):
    """RoCE packets as a wireless station sends them: two in a frame (IEEE 802.11, 9.3.2.2)."""
    waiting = []
    for packet in packets:
        inner = b"\xaa\xaa\x03\0\0\0" + packet[12:]
        waiting.append(packet[:12] + len(inner).to_bytes(2, "big") + inner)
        if len(waiting) == 2:
            first = waiting[0] + bytes(-len(waiting[0]) % 4)
            yield b"\x88\0\0\0" + bytes(20) + b"\x80\0" + first + waiting[1]
            waiting = []


def test_frames_with_two_packets(tshark, scratch):
    """A frame counts once for a link, as it does for a connection."""
    packets = [bytes(each) for each in rdpcap(str(PATHS["6.1-v2-a-first-contact-ipv4"]))]
    roce = [each for each in packets if each[36:38] == (4791).to_bytes(2, "big")]
    path = scratch / "aggregates.pcap"
    wrpcap(str(path), list(in_aggregates(roce)), linktype=105)
    rows = [row for row in taps(tshark, path, "endpt:SMC-R")[0]["hosts"]]
    links = [row for row in rows if row["host"].startswith("link")]
    frames = frames_of_filters(tshark, path, ["smcr.link.index"])[0]
    assert len(roce) > len(frames) > 5 and len(links) == 1
    assert sum(row["txf"] + row["rxf"] for row in links) == len(frames)


def test_quoted_packets_do_not_count(tshark):
    """What an ICMP error quotes is no packet on the wire."""
    name = "7.2-v2-g5-device-removed"
    if name not in PATHS:
        pytest.skip("the capture is not here")
    quoted = set(tshark.frames(name, "icmp || icmpv6", two_pass=True))
    rows = rows_of(tshark, name)
    for stream, row in rows.items():
        frames = set(tshark.frames(name, f"smcr.stream == {stream}", two_pass=True)) - quoted
        assert row["txf"] + row["rxf"] == len(frames)


def test_ground_truth_is_there():
    assert set(REAL) == set(ground_truth.names())
