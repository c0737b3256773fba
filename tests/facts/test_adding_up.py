"""
Reports of the parts of a capture, added up by docs/add-reports.jq, against the report of the whole:
what belongs to one frame is the same, what spans the cut may differ, as docs/json.md says.
"""

import functools
import json
import re
import subprocess

import figures
import pytest
from bed import PACKED, TOP, captures
from report_schema import (
    ADD_REPORTS,
    ALL_OF_IT,
    added,
    entry,
    problems,
    report,
    report_of,
    spread,
    times,
)

CAPTURES = captures("real", *PACKED)
SAMPLE = sorted(CAPTURES)[::5]  # each takes three runs of tshark

# ---- hand-made reports ----

CLIENT, SERVER = {"addr": "10.0.0.1", "port": 40000}, {"addr": "10.0.0.2", "port": 80}
QP_A = {"gid": "fe80::a", "mac": None, "qpn": 17}
QP_B = {"gid": "fe80::b", "mac": None, "qpn": 1235}


def at(seconds):
    return f"{1700000000 + seconds}.000000000"


def file_of(start, **lists):
    """The report of a file that begins then."""
    return report(
        capture={"frames": 10, "bytes": 1000, "first_time": at(start), "last_time": at(start + 9)},
        **lists,
    )


def first_file(**changes):
    """A connection whose beginning is in the capture, with its link group."""
    connection = entry(
        "connection",
        stream=0,
        tcp_isn={"client": 11, "server": 22},
        client=CLIENT,
        server=SERVER,
        tokens={"client": "0x0000000a", "server": "0x0000000b"},
        outcome="smc-r",
        close="open",
        link_group=0,
        first_frame=1,
        first_time=at(1),
        last_time=at(4),
        began_before=False,
        goes_on=True,
        client_to_server={"bytes": 500, "unreported_bytes": 7, "ack_time_s": times(0.5, 0.25)},
    )
    link = entry(
        "link",
        index=0,
        number=1,
        mtu_bytes=1024,
        added_time=at(1),
        client=QP_A,
        server=QP_B,
        flows=[0],
    )
    group = entry(
        "link_group",
        index=0,
        first_time=at(1),
        links=[link],
        peers={"client": {"host_name": "a"}},
        rmbs=[entry("rmb", owner="server", rkeys=[{"link": 1, "rkey": "0x00000001"}], streams=[0])],
    )
    group["peers"]["client"]["peer_id"] = "0x0000000000000001"
    flow = entry(
        "rdma",
        index=0,
        src="fe80::a",
        dst="fe80::b",
        dst_qpn=1235,
        kind="smc-r",
        packets=10,
        opcodes={"RC_ACK": 1, "RC_SEND_ONLY": 9},
        first_time=at(2),
    )
    return file_of(
        0, connections=[{**connection, **changes}], link_groups=[group], rdma_flows=[flow]
    )


def later_file(start=10, tokens=(None, "0x0000000a"), **changes):
    """It begins late, and takes the server for the client."""
    connection = entry(
        "connection",
        stream=0,
        tokens=dict(zip(("client", "server"), tokens)),
        outcome="smc-r",
        close="normal",
        link_group=0,
        first_time=at(start),
        last_time=at(start + 5),
        began_before=True,
        goes_on=False,
        ends="fe80::b ↔ fe80::a",
        server_to_client={"bytes": 300, "unreported_bytes": 0, "ack_time_s": times(1.5)},
    )
    link = entry("link", index=0, client=QP_B, server=QP_A, flows=[1])
    flows = [
        entry(
            "rdma",
            index=0,
            src="fe80::b",
            dst="fe80::a",
            dst_qpn=17,
            packets=3,
            first_time=at(start),
        ),
        entry(
            "rdma",
            index=1,
            src="fe80::a",
            dst="fe80::b",
            dst_qpn=1235,
            src_qpn=17,
            packets=5,
            opcodes={"RC_ACK": 5},
            first_time=at(start + 1),
        ),
    ]
    return file_of(
        start,
        connections=[{**connection, **changes}],
        rdma_flows=flows,
        link_groups=[
            entry(
                "link_group", index=0, first_time=at(start), ends="fe80::b ↔ fe80::a", links=[link]
            )
        ],
    )


def valid_sum(*reports):
    whole = added(*reports)
    assert problems(whole) == []
    return whole


def test_what_begins_late_goes_on():
    """By link and token, and turned round."""
    whole = valid_sum(later_file(), first_file())
    [connection], [group], [flow, other] = (
        whole["connections"],
        whole["link_groups"],
        whole["rdma_flows"],
    )
    assert (connection["client"], connection["close"], connection["goes_on"]) == (
        CLIENT,
        "normal",
        False,
    )
    assert (connection["first_frame"], connection["first_time"], connection["last_time"]) == (
        None,
        at(1),
        at(15),
    )
    assert connection["client_to_server"]["bytes"] == 800
    assert connection["ends"] is group["ends"] is None, "the first file knows"
    assert connection["client_to_server"]["ack_time_s"] == times(0.5, 0.25, 1.5)
    assert (
        connection["client_to_server"]["unreported_bytes"] is None
    ), "the later file has one direction only"
    assert (group["links"][0]["client"], group["links"][0]["flows"]) == (QP_A, [0])
    assert (flow["packets"], flow["opcodes"], flow["src_qpn"]) == (
        15,
        {"RC_ACK": 6, "RC_SEND_ONLY": 9},
        17,
    )
    assert (other["packets"], other["index"]) == (3, 1)
    assert whole["capture"]["frames"] == 20
    assert whole["summary"]["connections"]["client_to_server"]["bytes"] == 800
    assert whole["summary"]["rdma_flows"]["packets"] == 18


def test_sides_are_those_of_the_file_that_knows_them():
    knows = later_file(20)
    knows["link_groups"][0].update(
        ends=None, links=[entry("link", index=0, client=QP_A, server=QP_B, flows=[1])]
    )
    [group] = valid_sum(later_file(), knows)["link_groups"]
    assert (group["ends"], group["links"][0]["client"], group["links"][0]["server"]) == (
        None,
        QP_A,
        QP_B,
    )


def test_both_tokens_tell_the_end():
    whole = valid_sum(first_file(), later_file(tokens=("0x0000000b", "0x0000000a")))
    assert [each["client_to_server"]["unreported_bytes"] for each in whole["connections"]] == [0]


def test_sums_can_be_added_up_again():
    files = first_file(), later_file(10), later_file(20)
    assert (
        valid_sum(valid_sum(*files[:2]), files[2])["connections"]
        == valid_sum(*files)["connections"]
    )


@pytest.mark.parametrize(
    "changes, count",
    [
        ({"tokens": (None, "0x0000000c")}, 2),
        ({"tokens": ("0x0000000a", None)}, 2),  # the other side's, since the file is turned round
        ({"link_group": None}, 2),
        ({"tcp_isn": {"client": None, "server": None}, "client": SERVER, "server": CLIENT}, 1),
        ({"tcp_isn": {"client": 11, "server": None}, "client": SERVER, "server": CLIENT}, 2),
    ],
)
def test_connections_are_told_apart(changes, count):
    assert len(valid_sum(first_file(), later_file(**changes))["connections"]) == count


def test_deleted_link_is_another_one():
    first, later = first_file(), later_file()
    first["link_groups"][0]["links"][0].update(state="deleted", deleted_frame=5, deleted_time=at(5))
    assert (
        len(valid_sum(first, later)["link_groups"]) == 1
    ), "packets that come behind the DELETE LINK"
    later["link_groups"][0]["links"][0]["mtu_bytes"] = 1024
    assert [
        len(valid_sum(first, later)[each]) for each in ("link_groups", "connections", "rdma_flows")
    ] == [2, 2, 3]


def tcp_file(start, *flows):
    """TCP flows (isn of the client, turned, packets) between the same ports."""
    ends = {"src": "10.0.0.1", "src_port": 1, "dst": "10.0.0.2", "dst_port": 2}
    other = {"src": "10.0.0.2", "src_port": 2, "dst": "10.0.0.1", "dst_port": 1}
    return file_of(
        start,
        tcp_flows=[
            entry(
                "tcp",
                tcp_stream=number,
                tcp_isn={"client": isn},
                first_time=at(start + number),
                **(other if turned else ends),
                **{"down" if turned else "up": {"packets": packets}},
            )
            for number, (isn, turned, packets) in enumerate(flows)
        ],
    )


@pytest.mark.parametrize(
    "files, packets",
    [
        ([[(5, 0, 1)], [(None, 1, 2)], [(None, 0, 4)]], [7]),
        ([[(5, 0, 1)], [(None, 0, 2), (6, 0, 4)], [(None, 1, 8)]], [3, 12]),
        ([[(None, 0, 1)], [(6, 0, 2)]], [1, 2]),
        ([[(5, 0, 1)], [(5, 0, 2)]], [3]),
    ],
)
def test_plain_tcp_goes_on_unless_a_syn_comes_between(files, packets):
    whole = valid_sum(*(tcp_file(10 * number, *flows) for number, flows in enumerate(files)))
    assert [each["up"]["packets"] for each in whole["tcp_flows"]] == packets
    assert [each["tcp_stream"] for each in whole["tcp_flows"]] == list(range(len(packets)))
    assert all("derived" not in each[way] for each in whole["tcp_flows"] for way in ("up", "down"))


def test_findings_are_the_worst_ten():
    def file(start, *kinds):
        return file_of(
            start,
            findings=[
                entry(
                    "finding",
                    severity=severity,
                    kind=kind,
                    text=f"{kind} {count}",
                    count=count,
                    frame=3,
                    time=at(start),
                    filter=filter,
                )
                for severity, kind, count, filter in kinds
            ],
        )

    notes = [("note", f"note_{number}", 1, "smcr.nak") for number in range(9)]
    whole = valid_sum(
        file(0, *notes),
        file(10, ("error", "abort", 2, "smcr.stream == 3"), ("warn", "nak", 3, "smcr.nak")),
        file(20, ("warn", "nak", 5, "smcr.nak")),
    )["findings"]
    assert [each["kind"] for each in whole] == ["abort", "nak"] + [
        f"note_{number}" for number in range(8)
    ]
    assert (whole[0]["filter"], whole[0]["frame"], whole[0]["time"]) == (None, None, at(10))
    assert (whole[1]["filter"], whole[1]["count"], whole[1]["time"]) == ("smcr.nak", 8, at(10))
    assert whole[1]["text"] == "nak 5 (one of 2 such findings)"


def test_unknown_stays_unknown():
    one = file_of(0, tcp_flows=[entry("tcp", up={"ce": None, "ece": 2})])
    other = file_of(10, tcp_flows=[entry("tcp", up={"ce": None, "ece": None})])
    [flow] = valid_sum(one, other)["tcp_flows"]
    assert (flow["up"]["ce"], flow["up"]["ece"]) == (None, 2)


def test_longest_waits_are_those_of_any_file():
    """Of each writer and kind one; frames of a file say nothing of the sum."""
    files = [first_file(), first_file()]
    files[0]["connections"][0]["longest_waits"] = [
        wait("client", "reader", 0.5) | {"begin_frame": 3, "begin_time": at(1)},
        wait("client", "answer", 0.25),
    ]
    files[1]["connections"][0]["longest_waits"] = [
        wait("server", "answer", 0.125),
        wait("client", "reader", 0.25),
        wait("client", "answer", 0.75),
    ]
    [connection] = added(*files)["connections"]
    found = {
        (each["writer"], each["kind"]): (each["lasted_s"], each["begin_frame"], each["begin_time"])
        for each in connection["longest_waits"]
    }
    assert len(connection["longest_waits"]) == 3
    assert found == {
        ("client", "reader"): (0.5, None, at(1)),
        ("client", "answer"): (0.75, None, None),
        ("server", "answer"): (0.125, None, None),
    }


def test_one_report_is_as_it_was():
    assert added(first_file()) == first_file()


# ---- every member ----

# Not added up: what is left at the end is known at the end.
OF_THE_END = {"unreported_bytes", "unannounced_bytes"}
OF_THE_BEGIN = {"tcp_s", "accept_s", "confirm_s", "llc_s", "fallback_s"}
OF_THE_LONGEST = {"lasted_s"}  # in test_every_count_and_distribution_is_added_up() the first one


def wait(writer, kind, lasted):
    return entry("conn_wait", writer=writer, kind=kind, lasted_s=lasted)


def whole_file(start):
    """A report with an entry of each list, and an object wherever one may be."""
    file = first_file(
        fallback={"reason": "x", "code": 1, "by": "client", "offered_eids": None},
        links=[{"number": 1, "from_frame": None, "from_time": None}],
    )
    file["capture"].update(first_time=at(start), last_time=at(start + 9))
    for way in ("client_to_server", "server_to_client"):
        file["connections"][0][way]["time"] = dict.fromkeys(
            figures.entries()["conn_time"].members, 0
        )
    file["connections"][0]["longest_waits"] = [wait("client", "reader", 0)]
    icrc = {"good": 0, "bad": 0, "unverified": 0}
    file["rdma_flows"][0].update(
        icrc=dict(icrc),
        cm=dict.fromkeys(("client_state", "server_state", "service_id", "port", "reject_reason")),
        pause=entry("flow_pause"),
        recovery=entry("flow_recovery"),
        network=entry("flow_network"),
        cnp_pacing=entry("flow_pacing"),
        reaction=entry("flow_reaction"),
        udp_ports=[entry("flow_port", port=49152)],
        classes={
            kind: entry(
                "packet_class",
                by_dscp={"26": 1},
                by_priority={"26": 1},
                outer_ecn=entry("codepoints"),
            )
            for kind in ("data", "acknowledgement", "cnp")
        },
    )
    file["summary"]["rdma_flows"]["icrc"] = icrc
    return {
        **file,
        "fallbacks": [entry("fallback")],
        "breaches": [entry("breach")],
        "findings": [entry("finding")],
        "other_roce": entry("other_roce"),
        "udp_ports": [entry("udp_port", port=49152, flows=[0])],
        "pauses": [entry("pause")],
        "points": [entry("way")],
        "tcp_flows": [entry("tcp", tcp_isn={"client": 5})],
    }


def members(value, place=()):
    """(place, name, object) of all members, but those of the summary and quotients."""
    for key, each in (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    ):
        if isinstance(value, dict) and key not in ("summary", "derived"):
            yield (*place, key), key, value
        if key not in ("summary", "derived"):
            yield from members(each, (*place, key))


def kinds_of_members():
    """{name of a member of entries.def that sums have: its kinds}"""
    found, left_out = {}, {each.of for each in figures.left_out()}
    for name, entry in figures.entries().items():
        for each in entry.members.values() if name not in left_out else ():
            if each.kind in ("COUNT", "SECONDS", "TIMES", "SPREAD", "LENGTHS", "OPCODES", "TALLY"):
                found.setdefault(each.name, set()).add(each.kind)
    return found


def is_object(value):
    """Of members, not of a distribution, nor by opcode."""
    return isinstance(value, dict) and not {"sum_of_squares", "RC_ACK", "26"} & set(value)


def test_every_count_and_distribution_is_added_up():
    """Those of entries.def, each in every place of the schema that has it."""
    files, kinds, expected = [whole_file(0), whole_file(10)], kinds_of_members(), {}
    values = {
        "COUNT": (3, 4, 7),
        "SECONDS": (0.5, 0.25, 0.75),
        "OPCODES": ({"RC_ACK": 1}, {"RC_ACK": 2}, {"RC_ACK": 3}),
        "TIMES": (times(0.5, 0), times(2, 3), times(0.5, 0, 2, 3)),
        "TALLY": ({"26": 1}, {"26": 2}, {"26": 3}),
        "SPREAD": (spread(1), spread(2), spread(1, 2)),
        "LENGTHS": (spread(1), spread(2), spread(1, 2)),
    }
    for number, file in enumerate(files):
        for place, name, holder in list(members(file)):
            if name in kinds and "sum_of_squares" not in holder and not is_object(holder[name]):
                [kind] = kinds[name]
                holder[name] = values[kind][number]
                expected[place] = values[kind][
                    1 if name in OF_THE_END else 0 if name in OF_THE_BEGIN | OF_THE_LONGEST else 2
                ]
    whole = added(*files)
    found = {place: holder[name] for place, name, holder in members(whole)}
    assert {place: found.get(place) for place in expected} == expected
    assert {place[-1] for place in expected} >= set(kinds) - {"bytes"}, "a member has no place"


def objects(value, place=()):
    """Places of all objects that have a schema of their own."""
    if isinstance(value, dict):
        yield place
    for key, each in (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    ):
        if key not in ("derived", "opcodes", "histogram", "by_dscp", "by_priority"):
            yield from objects(each, (*place, key))


def with_one_more(places):
    """Two files that have a member more in each of these places; what jq makes of them."""
    files = [whole_file(0), whole_file(10)]
    for file in files:
        for place in places:
            functools.reduce(lambda value, key: value[key], place, file)["one_more"] = 5
    return subprocess.run(
        ["jq", "-s", "-f", ADD_REPORTS],
        input="".join(map(json.dumps, files)),
        capture_output=True,
        text=True,
    )


def test_a_member_without_its_rule_is_lost(tmp_path):
    """Of those with a rule of their own."""
    rule, program = "link_group: map(.group) | first_known, ", tmp_path / "add.jq"
    text = ADD_REPORTS.read_text(encoding="utf-8")
    program.write_text(text.replace(rule, ""), encoding="utf-8")
    reports = "".join(
        json.dumps(file_of(start, connections=[entry("connection")])) for start in (0, 10)
    )
    result = subprocess.run(
        ["jq", "-s", "-f", program], input=reports, text=True, capture_output=True, timeout=60
    )
    assert rule in text and "add up .connections.link_group;" in result.stderr


def test_no_member_is_lost():
    """One that the file does not know is in the sum, or it says that it does not know it."""
    names = {
        place: "".join(f".{key}" for key in place if isinstance(key, str)) + ".one_more"
        for place in objects(whole_file(0))
    }
    result = with_one_more(names)
    lost = set(re.search(r"does not know how to add up ([^;]*);", result.stderr)[1].split(", "))
    assert result.returncode and {
        ".one_more",
        ".capture.one_more",
        ".connections.one_more",
        ".rdma_flows.one_more",
        ".fallbacks.one_more",
    } <= lost <= set(names.values())
    kept = [place for place, name in names.items() if name not in lost]
    whole = json.loads(with_one_more(kept).stdout)
    assert [
        place
        for place in kept
        if functools.reduce(lambda value, key: value[key], place, whole)["one_more"] not in (5, 10)
    ] == []


@pytest.mark.parametrize(
    "text", ["", "{}", '[{"schema": "smcr-report/1"}]', '{"schema": "smcr-report/2"}']
)
def test_what_is_no_report_is_refused(text):
    result = subprocess.run(
        ["jq", "-s", "-f", ADD_REPORTS], input=text, capture_output=True, text=True
    )
    assert result.returncode and "tshark -q -z smcr,json" in result.stderr


# ---- captures in two parts ----

# What no cut changes: it belongs to one frame.
OF_CAPTURE = {
    "frames",
    "bytes",
    "first_time",
    "last_time",
    "cut_frames",
    "passes",
    "wireshark",
    "plugin",
}
OF_RDMA_FLOWS = {"packets", "bytes", "payload_bytes", "opcodes", "ecn", "nak", "rnr_nak", "cnp"}
OF_TCP_DIRECTIONS = {
    "packets",
    "segments",
    "data_segments",
    "ip_bytes",
    "acks",
    "ce",
    "sce",
    "esce",
    "ece",
    "cwr",
}

# Entries that the parts do not join, and why.
APART = {
    (
        "6.1-v1-h4-two-links-rkeys",
        "rdma_flows",
    ): "the later part does not know the source of a flow",
}


def parts_of(bed, path, folder, count):
    """The capture, cut into so many files with as many frames."""
    frames = int(bed.edit("-c", "-T", "-r", "-M", path, program="capinfos").split()[-1])
    for number in range(count):
        part = folder / f"{number}.pcapng"
        first, last = 1 + frames * number // count, frames * (number + 1) // count
        bed.edit("-r", path, part, f"{first}-{last}")
        yield part


def chosen(values, names):
    return {name: values[name] for name in names}


def samples(summary):
    """{place: number of samples} of all distributions."""
    found = {}
    for name, value in summary.items():
        if isinstance(value, dict):
            found |= {f"{name}/{place}": count for place, count in samples(value).items()}
            if "sum_of_squares" in value:
                found[name] = value["count"]
    return found


@pytest.mark.parametrize("name", SAMPLE)
def test_two_parts_make_the_whole(tshark, scratch, name):
    path = tshark.bed.root / "captures" / CAPTURES[name].relative_to(TOP / "captures")
    whole = report_of(tshark, path, "-2", *ALL_OF_IT)
    both = valid_sum(
        *(
            report_of(tshark, part, "-2", *ALL_OF_IT)
            for part in parts_of(tshark.bed, path, scratch, 2)
        )
    )
    summary, sums = whole["summary"], both["summary"]
    assert chosen(both["capture"], OF_CAPTURE) == chosen(whole["capture"], OF_CAPTURE)
    assert (both["ip"], both["dropped"]) == (whole["ip"], whole["dropped"])
    assert chosen(sums["rdma_flows"], OF_RDMA_FLOWS) == chosen(summary["rdma_flows"], OF_RDMA_FLOWS)
    for way in ("up", "down"):
        assert chosen(sums["tcp_flows"][way], OF_TCP_DIRECTIONS) == chosen(
            summary["tcp_flows"][way], OF_TCP_DIRECTIONS
        )
    for entries in ("connections", "link_groups", "rdma_flows", "tcp_flows"):
        if (name, entries) not in APART:
            assert (entries, len(both[entries])) == (entries, len(whole[entries]))
    repeated = summary["rdma_flows"]["repeated"] or 0
    assert (sums["rdma_flows"]["repeated"] or 0) <= repeated
    assert [
        each
        for each, count in samples(sums).items()
        if not each.startswith("connections/") and count > samples(summary)[each] + repeated
    ] == []


def key(connection):
    return json.dumps(
        [connection["tcp_isn"], connection["client"], connection["server"]], sort_keys=True
    )


@pytest.mark.parametrize(
    "name",
    [
        "6.1-v2-c-three-conns",
        "6.1-v2-d-bulk-slow-reader",
        "6.1-v2-j-http11",
        "6.1-v2-q-forty-conns",
        "6.1-v2-h1-two-links-second-fails",
    ],
)
def test_connections_keep_their_names_in_three_parts(tshark, scratch, name):
    """And carry no more than in the whole, apart from repeats, or nobody knows how much."""
    path = tshark.bed.capture(name)
    whole = {key(each): each for each in report_of(tshark, path, "-2")["connections"]}
    parts = {
        key(each): each
        for each in valid_sum(
            *(report_of(tshark, part, "-2") for part in parts_of(tshark.bed, path, scratch, 3))
        )["connections"]
        if each["client"]["addr"]
    }
    assert parts.keys() == whole.keys()
    for each, connection in parts.items():
        for way in ("client_to_server", "server_to_client"):
            assert (connection[way]["bytes"] or 0) <= whole[each][way]["bytes"] + whole[each][way][
                "repeated_bytes"
            ]


# ---- what docs/json.md says of cuts, as measured ----


def files_of(bed, path, folder, frames):
    """The capture in files of so many frames, as a ring buffer has them."""
    bed.edit("-c", frames, path, folder / "ring.pcapng")
    return sorted(folder.glob("ring*"))


@pytest.mark.parametrize("frames", [2000, 300, 100])
def test_losses_at_cuts_are_as_documented(tshark, scratch, frames):
    """The table of docs/json.md; with one file of all frames: the whole."""
    parts = files_of(tshark.bed, tshark.bed.capture("6.1-v2-n-lossy"), scratch, frames)
    whole = valid_sum(*(report_of(tshark, part, "-2", "-o", "smcr.roce:TRUE") for part in parts))
    flows = whole["summary"]["rdma_flows"]
    row = [
        flows["repeated"],
        flows["repeated_after"]["unknown"],
        *(flows[name] for name in ("gaps", "missing", "goodput_bytes")),
    ]
    name = "the whole" if len(parts) == 1 else f"{len(parts)} files of {frames} frames"
    text = (TOP / "docs" / "json.md").read_text(encoding="utf-8")
    assert "| " + " | ".join([name, *(f"{number:,}" for number in row)]) + " |" in text


def test_waits_of_a_long_connection(tshark, scratch):
    """Later files know how often a writer was blocked, but not for how long: their time is unknown,
    and the sum says so. It has one connection."""
    path, parts = tshark.bed.capture("6.1-v2-d-bulk-slow-reader"), []
    for name, frames in (("first", "1-100"), ("second", "101-1500"), ("third", "1501-99999")):
        parts.append(scratch / f"{name}.pcapng")
        tshark.bed.edit("-r", path, parts[-1], frames)
    reports = [report_of(tshark, part, "-2") for part in parts]
    assert [len(each["connections"]) for each in reports] == [1, 2, 1]
    [connection] = valid_sum(*reports)["connections"]
    [first] = reports[0]["connections"]
    found, begun = (each["client_to_server"]["time"] for each in (connection, first))
    assert begun["unknown_s"] == 0 < found["unknown_s"]
    for part in ("buffer_full_s", "retransmission_s", "transfer_s", "answer_s"):
        assert found[part] == begun[part]
        most = part.replace("_s", "_most_s")
        if part != "retransmission_s":  # it is no longer than the packets of the link show
            assert found[most] == pytest.approx(found[part] + found["unknown_s"])
    assert connection["client_to_server"]["blocked_count"] == 173
