"""
Lines of -z smcr,lines: each is what docs/lines.schema.json says; their figures are those of the
report; names are the same in the parts of a capture; what goes wrong loses nothing silently.
"""

import ipaddress
import json
import os
import signal
import statistics
import subprocess
import time

import lines
import pytest
from bed import ALL, FOLDERS, PACKED, TOP, as_user, captures, wireshark_version
from lines import (
    both,
    both_and_short,
    community_id,
    differences,
    filled,
    known,
    lines_of,
    of_kind,
    read,
    shortened,
    uid,
)
from report_schema import CALM

CAPTURES = captures(*FOLDERS, *PACKED, "stories")
EACH = 6  # of so many captures the equality takes one; all with --all
ROCE_ON = ("-o", "smcr.roce:TRUE")  # else a part does not analyse what it cannot prove
# Bytes of a line, at most, in the median.
MEDIANS = {"connection": 720 if ALL else 820, "tcp": 680}
# Wireshark's field; 4.6 has given it a name of its own.
COMMUNITY_ID = "communityid" if wireshark_version() < "4.6" else "communityid.hash"
# Captures with connections that end long before the capture does.
LONG = {
    "6.1-v1-f6-decline-confirm-link-timeout",
    "7.2-v2-g5-device-removed",
    "peer-tcp-closed-first",
    "rule-cdc-abort",
    "s11-pool-kill.pcapng",
    "s08a-server-stopped.pcapng",
    "rule-cdc-moved",  # an answer, and the longest wait is not known
}
CUT = (
    "6.1-v2-q-forty-conns",
    "s06c-reorder.pcapng",  # in its last file, two flows turn out to be directions of a link
    "6.1-v1-d-bulk-slow-reader",
    "6.1-v1-h5-late-second-link",
    "6.1-v1-h1-two-links-second-fails",
    "6.1-v2-n-lossy",
)
WAY = ("to_server", "to_client")
LATEST = ",late=100000"  # no line is written before the capture ends
# Kinds of lines, and members that add up over the files of a ring; the parts that have them.
SUMS = (
    ("capture", ("frames", "bytes")),
    ("flow", ("packets", "bytes", "payload_bytes")),
    ("tcp", ("segments", "ip_bytes"), ("up", "down")),
)
NOW_AND_THEN = "6.1-v1-f6-decline-confirm-link-timeout"  # five seconds pass without a packet


def path_of(tshark, name):
    return tshark.bed.root / "captures" / CAPTURES[name].relative_to(TOP / "captures")


def sample():
    return sorted(set(sorted(CAPTURES)[:: 1 if ALL else EACH]) | LONG & CAPTURES.keys())


# ---- figures ----


def by_key(entries, names):
    return {tuple(each.get(name) for name in names): each for each in entries}


def different(report, found):
    """Where lines differ from the entries of the report: [(kind, key, place)]."""
    for kind, (list_name, key) in lines.LISTS.items():
        ours = by_key([each[kind] for each in of_kind(found, kind)], key)
        assert len(ours) == len(of_kind(found, kind)), f"{kind} has two lines"
        theirs = by_key([known(each, kind) for each in report[list_name]], key)
        for which in ours.keys() | theirs.keys():
            for place in differences(ours.get(which), theirs.get(which)):
                yield kind, which, place
    for kind in ("capture", "ip", "other_roce"):
        for place in differences(of_kind(found, "capture")[0].get(kind), known(report[kind], kind)):
            yield kind, None, place


def ends_of(found):
    return [each["ended"] for each in of_kind(found, "connection")]


def links_of(report):
    return {
        each["index"]: known(each, "link")
        for group in report["link_groups"]
        for each in group["links"]
    }


def test_lines_have_the_figures_of_the_report(tshark):
    ended, sizes = 0, {kind: [] for kind in MEDIANS}
    for name in sample():
        report, found, short = both_and_short(tshark, path_of(tshark, name), *ROCE_ON)
        assert list(different(report, found)) == [], name
        assert short == [shortened(each) for each in found], name
        assert found[-1]["line"] == "capture" and found[-1]["late_packets"] == 0
        assert {each["link"]["index"]: each["link"] for each in of_kind(found, "link")} == links_of(
            report
        )
        assert len(of_kind(found, "link_group")) == len(report["link_groups"])
        ended += ends_of(found).count("ended")
        for kind, own in sizes.items():
            own += [each.size for each in of_kind(short, kind)]
    medians = {kind: statistics.median(own) for kind, own in sizes.items()}
    assert {kind: most for kind, most in medians.items() if most > MEDIANS[kind]} == {}
    assert ended >= 5  # lines that were written before the end of their captures


def test_lines_of_two_passes_and_of_an_early_end(tshark):
    """With -2 the plugin knows what comes later: a line is not written before its connection
    ends, and has the figures of the report with -2. So lines of one pass and of two differ as the
    two reports do: test_report_passes.py explains each difference. If lines wait for a twentieth
    of a second only, later packets are counted as late."""
    for name in sorted(CAPTURES if ALL else LONG & CAPTURES.keys()):
        report, found = both(tshark, path_of(tshark, name), "-2")
        assert list(different(report, found)) == [], name
    path = path_of(tshark, "7.2-v2-g5-device-removed")
    report, found = both(tshark, path, options=",late=0.02")
    late = {place.split("/")[-1] for _, _, place in different(report, found)}
    assert found[-1]["late_packets"] > 0 and "repeated_packets" in late


FLOW_SUMS = ("packets", "bytes", "payload_bytes", "cdc_bytes", "llc_bytes", "repeated", "cnp")


def test_flows_of_intervals_add_up(tshark):
    """Each second has its lines, whose counts add up to those of the report."""
    for name in ("6.1-v2-n-lossy", "6.1-v1-h1-two-links-second-fails"):
        report, found = both(tshark, path_of(tshark, name), options=",interval=1")
        flows = of_kind(found, "flow")
        key = ("src", "dst", "dst_qpn")
        whole = by_key(report["rdma_flows"], key)
        assert by_key([each["flow"] for each in flows], key).keys() == whole.keys()
        assert len(flows) > len(whole)
        for which, entry in whole.items():
            parts = [
                each["flow"] for each in flows if by_key([each["flow"]], key).keys() == {which}
            ]
            for member in FLOW_SUMS:
                assert sum(each.get(member, 0) for each in parts) == entry[member], (name, member)
            counts = [each.get("ack_time_s", {}).get("count", 0) for each in parts]
            assert sum(counts) == entry["ack_time_s"]["count"]
        assert all(each["from_time"] <= each["to_time"] for each in flows)


def test_a_connection_that_is_given_up_goes_on_in_another_line(tshark):
    report, found = both(tshark, path_of(tshark, NOW_AND_THEN), options=",idle=1")
    parts = of_kind(found, "connection")
    assert [(each["ended"], each["continues"]) for each in parts][:1] == [("given-up", False)]
    assert len(parts) > 1 and all(each["continues"] for each in parts[1:])
    segments = sum(
        each["tcp"][way]["segments"] for each in of_kind(found, "tcp") for way in ("up", "down")
    )
    assert segments == sum(report["tcp_flows"][0][way]["segments"] for way in ("up", "down"))


def test_ways_between_capture_points_have_lines(tshark, scratch):
    points = [TOP / "captures" / "points" / f"path-{each}.pcapng.gz" for each in "AB"]
    path = scratch / "points.pcapng"
    tshark.bed.edit("-w", path, *map(tshark.bed.capture, points), program="mergecap")
    report, found = both(tshark, path, *ROCE_ON, options=LATEST)
    assert list(different(report, found)) == []
    assert len(of_kind(found, "way")) == len(report["points"]) > 0


def test_findings_have_lines(tshark):
    """A finding about connections comes with their lines; no finding of the report is missing."""
    for name in ("6.1-v1-h1-two-links-second-fails", NOW_AND_THEN):
        report, found = both(tshark, path_of(tshark, name))
        kinds = {each["finding"]["kind"] for each in of_kind(found, "finding")}
        assert kinds == {each["kind"] for each in report["findings"]}


# ---- names ----

SYN, ACK = 0x02, 0x10


def numbers_of(tshark, path):
    """{tcp.stream: (client, port, server, port, ISN, ISN)} from SYN and SYN-ACK."""
    names = ("tcp.stream", "ip.src", "ipv6.src", "ip.dst", "ipv6.dst")
    names += ("tcp.srcport", "tcp.dstport", "tcp.seq_raw", "tcp.flags")
    found = {}
    for row in tshark.fields(path, *names, where="tcp.flags.syn == 1"):
        stream, *hosts, source, target, seq, flags = [each[0] if each else "" for each in row]
        hosts = [each for each in hosts if each]
        ends = (hosts[0], int(source), hosts[1], int(target))
        client = ends[2:] + ends[:2] if int(flags, 16) & ACK else ends
        entry = found.setdefault(int(stream), [*client, "-", "-"])
        entry[4 + bool(int(flags, 16) & ACK)] = int(seq)
    return found


def test_names_of_connections(tshark):
    """uid from SYN and SYN-ACK; community_id as Wireshark's own dissector shows it."""
    for name in ("6.1-v2-c-three-conns", "6.1-v1-b-first-contact-ipv6", "6.1-v2-q-forty-conns"):
        path = path_of(tshark, name)
        names = numbers_of(tshark, path)
        shown = {
            int(stream[0]): ids[0]
            for stream, ids in tshark.fields(
                path,
                "tcp.stream",
                COMMUNITY_ID,
                where="tcp",
                options=("--enable-protocol", "communityid"),
            )
        }
        everything = lines_of(tshark, path)
        for kind in ("connection", "tcp"):
            found = of_kind(everything, kind)
            assert len(found) == len(names)
            streams = {
                each["uid"]: each["tcp"]["tcp_stream"] for each in of_kind(everything, "tcp")
            }
            for each in found:
                stream = streams[each["uid"]]
                assert each["uid"] == uid(*names[stream]) and each["uid_partial"] is False
                assert (
                    each["community_id"]
                    == shown[stream]
                    == community_id(names[stream][:2], names[stream][2:4])
                )


def test_community_id_is_that_of_wireshark(tshark):
    """Of each TCP connection, as Wireshark's own dissector shows it on its frames."""
    compared = 0
    for name in sorted(CAPTURES) if ALL else sorted(CAPTURES)[::12]:
        path = path_of(tshark, name)
        rows = tshark.fields(
            path,
            "tcp.stream",
            COMMUNITY_ID,
            where="tcp && !icmp && !icmpv6",
            options=("--enable-protocol", "communityid"),
        )
        shown = {int(streams[0]): ids[-1] for streams, ids in rows if ids}
        found = lines_of(tshark, path)
        streams = {each["uid"]: each["tcp"]["tcp_stream"] for each in of_kind(found, "tcp")}
        for kind in ("connection", "tcp"):
            for each in of_kind(found, kind):
                stream = streams.get(each["uid"])
                if stream in shown:  # PDUs that were exported have no TCP
                    assert each["community_id"] == shown[stream], (name, stream)
                    compared += 1
    assert compared > 20


# All of TCP in the specification of Community ID (corelight/community-id-spec, baseline), and one
# of Zeek's tests.
VECTORS = (
    (
        ("2001:470:e5bf:dead:4957:2174:e82c:4887", 63943),
        ("2607:f8b0:400c:c03::1a", 25),
        "1:/qFaeAR+gFe1KYjMzVDsMv+wgU4=",
    ),
    (("128.232.110.120", 34855), ("66.35.250.204", 80), "1:LQU9qZlK+B5F3KDmev6m5PMibrg="),
    (("1.2.3.4", 1122), ("5.6.7.8", 3344), "1:wCb3OG7yAFWelaUydu0D+125CLM="),
)


IPV4 = b"\x45\0\0\x28\0\0\0\0\x40\x06\0\0"
IPV6 = b"\x60\0\0\0\0\x14\x06\x40"


def test_vectors_of_community_id(tshark, scratch):
    packets = []
    for source, target, _ in VECTORS:
        for (addr, port), (other, other_port) in ((source, target), (target, source)):
            ends = [ipaddress.ip_address(each).packed for each in (addr, other)]
            ip = IPV4 if len(ends[0]) == 4 else IPV6
            tcp = port.to_bytes(2, "big") + other_port.to_bytes(2, "big") + bytes(8)
            packets.append(ip + b"".join(ends) + tcp + b"\x50\x10\x10\0\0\0\0\0")
    path = scratch / "vectors.pcap"
    head = b"".join(n.to_bytes(4, "little") for n in (0xA1B2C3D4, 0x40002, 0, 0, 65535, 101))
    path.write_bytes(
        head + b"".join(bytes(8) + 2 * len(each).to_bytes(4, "little") + each for each in packets)
    )
    found = of_kind(lines_of(tshark, path), "tcp")
    assert [each["community_id"] for each in found] == [each for *_, each in VECTORS]
    assert [community_id(*each[:2]) for each in VECTORS] == [each for *_, each in VECTORS]
    assert all(each["uid_partial"] for each in found)


def names_of(line):
    return {line["uid"]} | keys_of(line, "client") | keys_of(line, "server")


def keys_of(line, end):
    return set(line.get(f"{end}_keys", ()))


def test_only_what_may_have_parts_has_keys(tshark):
    """A connection whose beginning and end are in the file has no keys, unless its line was
    written before the time for late packets was over."""
    over = 0
    for name in ("rule-clc-reuse", "rule-group-end", NOW_AND_THEN):
        path = path_of(tshark, name)
        early, late = [
            by_key(of_kind(lines_of(tshark, path, options=when), "connection"), ("uid",))
            for when in ("", LATEST)
        ]
        assert early.keys() == late.keys()
        for (which, *_), each in early.items():
            is_over = each["ended"] == "ended" and not each["uid_partial"]
            assert names_of(each) == ({which} if is_over else names_of(late[(which,)])), name
            over += is_over and len(names_of(late[(which,)])) > 1
    assert over > 2


def data_of(part, way, whole):
    """What a part has of a direction of the whole. The part may not know which end is the
    client."""
    is_turned = keys_of(part, "client") & keys_of(whole, "server") or keys_of(
        part, "server"
    ) & keys_of(whole, "client")
    return part["connection"].get(WAY[(way == WAY[0]) == bool(is_turned)], {})


def total(found, kind, members, within=()):
    """The sum of members of all lines of a kind."""
    entries = [each[kind] for each in of_kind(found, kind)]
    entries = [each.get(name, {}) for each in entries for name in within] or entries
    return [sum(each.get(member, 0) for each in entries) for member in members]


def adds_up(whole, way, own):
    """Whether the bytes of the parts are no more than those of the whole, and as many if all parts
    are exact."""
    data = whole["connection"].get(way, {})
    entries = [data_of(each, way, whole) for each in own]
    # without `writes`, bytes are those that a message announces, sent in an earlier file perhaps
    found = sum(each.get("bytes", 0) for each in entries if "writes" in each)
    if "bytes" not in data or data["lacks_bytes"]:
        return True
    is_smcr = whole["connection"]["outcome"] == "smc-r"  # TCP goes on in lines of other kinds
    is_exact = all(each.get("lacks_bytes") is False and "writes" in each for each in entries)
    return found == data["bytes"] if is_exact and is_smcr else found <= data["bytes"]


def files_of(tshark, name, scratch):
    """The lines of each file of a capture in files of 1,000 frames."""
    tshark.bed.edit("-c", "1000", path_of(tshark, name), scratch / f"{name}_part.pcapng")
    return [lines_of(tshark, path, *ROCE_ON) for path in sorted(scratch.glob(f"{name}_part_*"))]


def test_parts_of_a_ring_join(tshark, scratch):
    """Files of 1,000 frames: the file with the SYN has the uid of the whole, each other part has a
    key of the whole, and bytes are lower bounds that add up to no more than the whole. Counts of
    frames, segments and packets add up to those of the whole."""
    partial = 0
    for name in sorted(CAPTURES) if ALL else CUT:
        whole = lines_of(tshark, path_of(tshark, name), *ROCE_ON, options=LATEST)
        if whole[-1]["capture"]["frames"] <= 1000:
            continue
        every = files_of(tshark, name, scratch)
        for each in SUMS:
            sums = [total(found, *each) for found in every]
            assert [sum(column) for column in zip(*sums)] == total(whole, *each), (name, each)
        parts = [each for found in every for each in of_kind(found, "connection")]
        for one in of_kind(whole, "connection"):
            own = [each for each in parts if names_of(each) & names_of(one)]
            names = [each["uid"] for each in own if not each["uid_partial"]]
            assert names == ([] if one["uid_partial"] else [one["uid"]]), name
            partial += len(own) - 1
            for way in WAY:
                assert adds_up(one, way, own), (name, one["uid"], way)
            parts = [each for each in parts if each not in own]
        assert [each for each in parts if names_of(each) - {each["uid"]}] == [], name
    assert partial > 20


# ---- options ----


def test_names_of_the_elastic_common_schema(tshark):
    path = path_of(tshark, "6.1-v2-c-three-conns")
    options = ",host=node 7,point=top"
    plain = lines_of(tshark, path, options=options)
    text = tshark.show(path, *CALM, "-q", "-z", f"smcr,lines,ecs{options}")
    common = [json.loads(each) for each in text.splitlines()]
    assert [filled(each["smcr"]) for each in common] == plain
    assert all((each["host"], each["point"]) == ("node 7", "top") for each in plain)
    one, own = common[0], plain[0]["connection"]
    assert one["source"] == {
        **{"ip": own["client"]["addr"], "port": own["client"]["port"]},
        "bytes": own["to_server"]["bytes"],
    }
    assert one["destination"]["ip"] == own["server"]["addr"]
    assert one["network"]["community_id"] == plain[0]["community_id"]
    assert one["observer"]["ingress"]["interface"]["name"] == plain[0]["interface"]
    assert one["event"]["start"].startswith("20") and one["event"]["start"].endswith("Z")
    assert abs(one["event"]["duration"] / 1e9 - own["lasted_s"]) < 1e-9


def test_wrong_options_and_filters(tshark):
    path = path_of(tshark, "6.1-v2-c-three-conns")
    for option in (",late=x", ",idle=-1", ",interval=0", ",host=", ",kinds=tcp+x", ",tcp.port=="):
        result = tshark.start("-n", "-r", path, "-q", "-z", f"smcr,lines{option}")
        assert result.returncode != 0 and "smcr,lines" in result.stderr and not result.stdout
    few = lines_of(tshark, path, options=",kinds=connection+capture")
    assert {each["line"] for each in few} == {"connection", "capture"}
    found = lines_of(tshark, path, options=",full,late=1,tcp.stream == 1 || smcr.stream == 1")
    assert [each["connection"]["stream"] for each in of_kind(found, "connection")] == [1]


# ---- what goes wrong ----


def test_what_cannot_be_written_is_an_error(tshark):
    """A full disk; a reader that has gone."""
    path = path_of(tshark, "6.1-v2-q-forty-conns")
    arguments = ("-n", *CALM, "-r", path, "-q", "-z", "smcr,lines")
    with open("/dev/full", "wb") as full:
        result = tshark.start(*arguments, stdout=full)
    assert result.returncode == 2 and "could not be written: No space left" in result.stderr
    reading, writing = os.pipe()
    os.close(reading)
    result = tshark.start(*arguments, stdout=writing)
    os.close(writing)
    assert result.returncode in (2, -signal.SIGPIPE)


def test_clocks_and_names(tshark, scratch):
    """A clock that goes back, frames without order, names with control characters."""
    path = path_of(tshark, "6.1-v2-c-three-conns")
    back = scratch / "back.pcapng"
    first, rest = scratch / "first.pcapng", scratch / "rest.pcapng"
    tshark.bed.edit("-r", path, first, "1-200")
    tshark.bed.edit("-t", "-86400", path, rest)
    tshark.bed.edit("-a", "-w", back, first, rest, program="mergecap")
    report, found = both(tshark, back, options=",interval=1,host=a\nb\x1b")
    assert list(different(report, found)) == []
    assert {each["host"] for each in found} == {"a\nb\x1b"}


def test_a_reset_of_the_session_loses_nothing(tshark):
    """tshark -M forgets all after so many packets: the lines of what is open are written before."""
    path = path_of(tshark, "6.1-v2-q-forty-conns")
    result = tshark.start("-n", "-r", path, *CALM, "-M", "500", "-q", "-z", "smcr,lines")
    assert set(result.stderr.splitlines()) == {"resetting session."}
    found = read(result.stdout)
    frames = [each["capture"]["frames"] for each in of_kind(found, "capture")]
    assert len(frames) > 2 and set(frames[:-1]) == {500}
    whole = lines_of(tshark, path)
    assert sum(frames) == whole[-1]["capture"]["frames"]
    uids = [{each["uid"] for each in of_kind(some, "connection")} for some in (whole, found)]
    assert uids[0] <= uids[1]


def test_an_interrupt_ends_with_the_open_connections(tshark, scratch):
    """tshark reads a pipe that stays open, as of a capture that goes on."""
    path = path_of(tshark, "6.1-v2-c-three-conns")
    pipe = scratch / "pipe"
    os.mkfifo(pipe)
    pipe.chmod(0o666)
    program = subprocess.Popen(
        ["tshark", "-n", *CALM, "-i", str(pipe), "-q", "-z", "smcr,lines"],
        env={**tshark.environment, "TMPDIR": str(scratch)},
        cwd=tshark.bed.root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **as_user(),
    )
    with pipe.open("wb") as out:
        out.write(path.read_bytes())
        out.flush()
        time.sleep(2)  # dumpcap hands on what it has read twice a second
        program.send_signal(signal.SIGINT)
        printed, _ = program.communicate(timeout=30)
    found = read(printed)
    assert program.returncode == 0
    assert [each["connection"]["close"] for each in of_kind(found, "connection")] == 3 * ["normal"]
    assert found[-1]["line"] == "capture" and found[-1]["capture"]["frames"] > 200
