"""
`rdma_flows` of a report, added up by source, destination and destination queue pair: against a
reader of the bytes, the ground truth of the captures, and the queue pairs, states and repeats that
other readers know.
"""

import collections
import functools
import struct

import pytest
import rc_reader
import report_reader
import roce_reader
from report_flows import COUNTS, FLIPPED, added_up, address, as_text, key_of, truth, whole_truth
from report_runs import (
    ALL_ONE,
    ALL_TWO,
    NOTHING,
    ONE,
    PACKED_NAMES,
    PATHS,
    RUNS,
    SMC,
    TWO,
    UNPACKED,
    differences,
    fail_on,
    name_of,
    report,
)

NOT_READ = [
    "exported-source",  # what its frames carry has no IP header
    "openflow-roce",
]  # RoCE packets in the messages of another protocol
ECN = {"not-ECT": "not_ect", "ECT(0)": "ect0", "ECT(1)": "ect1", "CE": "ce"}
STATES = {
    roce_reader.IDLE: "idle",
    roce_reader.REQ_SENT: "req_sent",
    roce_reader.REQ_RCVD: "req_rcvd",
    roce_reader.MRA_REQ_SENT: "mra_req_sent",
    roce_reader.MRA_REQ_RCVD: "mra_req_rcvd",
    roce_reader.REP_SENT: "rep_sent",
    roce_reader.REP_RCVD: "rep_rcvd",
    roce_reader.MRA_REP_SENT: "mra_rep_sent",
    roce_reader.MRA_REP_RCVD: "mra_rep_rcvd",
    roce_reader.ESTABLISHED: "established",
    roce_reader.DREQ_SENT: "dreq_sent",
    roce_reader.DREQ_RCVD: "dreq_rcvd",
    roce_reader.TIMEWAIT: "timewait",
    roce_reader.SIDR_REQ_SENT: "sidr_req_sent",
    roce_reader.SIDR_REQ_RCVD: "sidr_req_rcvd",
}

everything = pytest.mark.parametrize(
    "name, run", [each for each in RUNS if each[1].everything], ids=name_of
)
with_truth = pytest.mark.parametrize("name", PACKED_NAMES)
both = pytest.mark.parametrize("run", [ALL_ONE, ALL_TWO], ids=name_of)


def expected_of(name, members=COUNTS):
    flows = {
        (address(str(src)), address(str(dst)), qpn): {member: counts[member] for member in members}
        for (src, dst, qpn), counts in report_reader.rdma_flows(PATHS[name]).items()
    }
    return as_text(flows)


def is_nothing(path, one, other):
    """Is a count that does not exist here left out, zero or unknown?"""
    return ".opcodes." not in path and one in (None, 0, NOTHING) and other in (None, 0, NOTHING)


def assert_counts(found, expected, allow=lambda path: False):
    fail_on([each for each in differences(found, expected, allow) if not is_nothing(*each)])


# Where any field may be wrong, a packet with a wrong ICRC begins no flow. These four do not count:
# one whose flow has no packet before it, and three whose queue pair is wrong.
LOST = ("queue pair 16", "queue pair 17")
LOST_PACKETS = 4


def lost(name, path):
    return name in FLIPPED and any(key in path for key in LOST)


# ---- against the bytes ----


@everything
def test_counts(tshark, name, run):
    if name in NOT_READ:
        pytest.skip("the reader does not know what these frames carry")
    found = as_text(added_up(report(tshark, name, run)["rdma_flows"]))
    expected = expected_of(name)
    without_ecn = {key for key, counts in expected.items() if not sum(counts["ecn"].values())}
    assert_counts(
        found, expected, lambda path: path.partition(".ecn.")[0] in without_ecn or lost(name, path)
    )


@pytest.mark.parametrize("name", ["rocev1-vlan", "ib-native", "vectors", "any-linux-cooked"])
def test_no_ecn_without_ip(tshark, name):
    """InfiniBand and RoCEv1 have no ECN (docs/fabric.md)."""
    found, expected = as_text(added_up(report(tshark, name, ALL_TWO)["rdma_flows"])), expected_of(
        name
    )
    assert_counts(
        {key: counts["ecn"] for key, counts in found.items()},
        {key: counts["ecn"] for key, counts in expected.items()},
    )


@everything
def test_icrc(tshark, name, run):
    if name in NOT_READ:
        pytest.skip("the reader does not know what these frames carry")
    assert_counts(
        as_text(added_up(report(tshark, name, run)["rdma_flows"], ("icrc",))),
        expected_of(name, ("icrc",)),
        lambda path: lost(name, path),
    )


@everything
def test_first_and_last_frames(tshark, name, run):
    if name in NOT_READ:
        pytest.skip("the reader does not know what these frames carry")
    found = collections.defaultdict(lambda: {"first_frame": float("inf"), "last_frame": 0})
    for flow in report(tshark, name, run)["rdma_flows"]:
        each = found[key_of(flow)]
        each["first_frame"] = min(each["first_frame"], flow["first_frame"])
        each["last_frame"] = max(each["last_frame"], flow["last_frame"])
    assert_counts(
        as_text(found),
        expected_of(name, ("first_frame", "last_frame")),
        lambda path: lost(name, path),
    )


@pytest.mark.parametrize(
    "name, run",
    [*((name, run) for name in UNPACKED for run in (ONE, TWO)), *((name, TWO) for name in SMC)],
    ids=name_of,
)
def test_only_smc_without_the_preference(tshark, name, run):
    """The flows are those of SMC-R, with what all their packets count; others are left out, and
    ICRCs unknown."""
    flows = report(tshark, name, run)["rdma_flows"]
    wrong = [
        (f"rdma_flows[{position}].{member}", flow[member], right)
        for position, flow in enumerate(flows)
        for member, right in (("kind", "smc-r"), ("icrc", None), ("cm", None))
        if flow[member] != right
    ]
    with_all = [
        flow for flow in report(tshark, name, ALL_TWO)["rdma_flows"] if flow["kind"] == "smc-r"
    ]
    if run == TWO and name not in NOT_READ:
        wrong += differences(as_text(added_up(flows)), as_text(added_up(with_all)))
    fail_on(wrong)


# ---- against the ground truth ----


@with_truth
def test_reader_counts_as_the_truth(name):
    found = report_reader.rdma_flows(PATHS[name])
    assert len(found) == len(truth(name)["flows"])
    for each in truth(name)["flows"]:
        flow = found[each["src"], each["dst"], each["dqpn"]]
        assert (
            flow["packets"],
            flow["payload_bytes"],
            flow["opcodes"],
            flow["cnp"],
            flow["icrc"]["bad"],
        ) == (each["frames"], each["payload_bytes"], each["opcodes"], each["cnp"], each["icrc_bad"])
        assert {name: count for name, count in flow["ecn"].items() if count} == {
            ECN[name]: count for name, count in each["ecn"].items()
        }


@both
@with_truth
def test_counts_of_the_truth(tshark, name, run):
    found = added_up(
        report(tshark, name, run)["rdma_flows"],
        ("packets", "payload_bytes", "opcodes", "ecn", "cnp"),
    )
    expected = {
        (address(each["src"]), address(each["dst"]), each["dqpn"]): {
            "packets": each["frames"],
            "payload_bytes": each["payload_bytes"],
            "opcodes": each["opcodes"],
            "ecn": {ECN[code]: count for code, count in each["ecn"].items()},
            "cnp": each["cnp"],
        }
        for each in truth(name)["flows"]
    }
    assert_counts(as_text(found), as_text(expected), lambda path: lost(name, path))


@both
@with_truth
def test_naks_of_the_truth(tshark, name, run):
    """By direction; the truth lists NAKs and RNR NAKs together, some of each with reserved
    codes."""
    found, expected = collections.Counter(), collections.Counter()
    for flow in report(tshark, name, run)["rdma_flows"]:
        direction = f"{address(flow['src'])}>{address(flow['dst'])}"
        found.update(
            {f"{direction} rnr": flow["rnr_nak"], f"{direction} nak": sum(flow["nak"].values())}
        )
    for nak in truth(name)["naks"]:
        kind = "rnr" if nak["meaning"].startswith("RNR") else "nak"
        expected[f"{nak['direction']} {kind}"] += 1
    assert len(truth(name)["naks"]) == truth(name)["nak_count"]
    fail_on(differences(dict(+found), dict(expected)))


@both
@with_truth
def test_wrong_icrcs_of_the_truth(tshark, name, run):
    flows = report(tshark, name, run)["rdma_flows"]
    right = truth(name)["icrc_wrong"] - (LOST_PACKETS if name in FLIPPED else 0)
    assert sum(flow["icrc"]["bad"] for flow in flows) == right


def pairs_of(name):
    """Queue pairs of host A and host B that belong together; the hosts' addresses end in 1 and
    2."""
    told = {(each["qpn_A"], each["qpn_B"]) for each in whole_truth(name)["qp_pairs_from_hosts"]}
    for each in truth(name)["cm_connections"]:
        if each["server_qpn"] is not None:
            pair = each["client_qpn"], each["server_qpn"]
            told.add(pair if each["client"].endswith("1") else pair[::-1])
    return told


@both
@pytest.mark.parametrize("name", [name for name in PACKED_NAMES if name not in FLIPPED])
def test_queue_pairs(tshark, name, run):
    """What is said of the sender is what the hosts said; UD tells it in each packet."""
    wrong, pairs = [], pairs_of(name)
    known = {
        (each["src"], each["dst"], each["dqpn"]): {
            *each["src_qp_from_cm"],
            *each.get("src_qp_from_hosts", []),
            *each["deth_src_qps"],
        }
        for each in truth(name)["flows"]
    }
    for flow in report(tshark, name, run)["rdma_flows"]:
        told, key = flow["src_qpn"], key_of(flow)
        right = known[key] or {
            peer for pair in pairs for here, peer in (pair, pair[::-1]) if here == flow["dst_qpn"]
        }
        if (
            told is not None
            and told not in right
            or (told is None) != (flow["src_qpn_from"] is None)
        ):
            wrong.append((f"{key}.src_qpn", (told, flow["src_qpn_from"]), right))
    fail_on(wrong)


@pytest.mark.parametrize("name", [name for name in PACKED_NAMES if name not in FLIPPED])
def test_queue_pairs_are_there(tshark, name):
    """Two passes know the sender of every flow that RDMA-CM, SMC-R or its packets tell, and of its
    reverse."""
    told = {key_of(flow): flow["src_qpn"] for flow in report(tshark, name, ALL_TWO)["rdma_flows"]}
    fail_on(
        [
            (
                f"{each['src']}>{each['dst']} queue pair {each['dqpn']}.src_qpn",
                None,
                each["src_qp_from_cm"],
            )
            for each in truth(name)["flows"]
            if each["src_qp_from_cm"] and told[each["src"], each["dst"], each["dqpn"]] is None
        ]
    )


# ---- RDMA-CM ----


def last_states(connection):
    """The states of both sides in the end, as far as the messages tell them: two sets."""
    rows = roce_reader.states(connection)
    return (
        [{STATES[state] for state in states} for states in rows[-1][1:]]
        if rows
        else [set(STATES.values())] * 2
    )


@pytest.mark.parametrize("name", [name for name in PACKED_NAMES if name not in FLIPPED])
def test_connections_of_rdma_cm(tshark, name):
    """Of each queue pair that REQ and REP tell: service, port, states in the end."""
    messages = roce_reader.messages(roce_reader.packets(roce_reader.unpack(PATHS[name])[1]))
    flows = collections.defaultdict(list)
    for flow in report(tshark, name, ALL_TWO)["rdma_flows"]:
        if flow["cm"] and flow["dst_qpn"] != 1:
            flows[key_of(flow)].append(flow)
    wrong = []
    for each in roce_reader.connections(messages):
        if not each.request or each.request.attr != "REQ" or not each.reply:
            continue
        service = each.request.fields["service_id"]
        right = last_states(each)
        for key in (
            (each.client, each.server, each.reply.fields["local_qpn"]),
            (each.server, each.client, each.request.fields["local_qpn"]),
        ):
            for flow in flows.get(key, ()):
                cm = flow["cm"]
                good = (
                    cm["client_state"] in right[0]
                    and cm["server_state"] in right[1]
                    and int(cm["service_id"], 16) == service
                    and flow["kind"] == "cm"
                    and cm["port"] == roce_reader.service_port(service)
                    and cm["reject_reason"] == each.reason
                )
                wrong += (
                    []
                    if good
                    else [(f"{key}.cm", (flow["kind"], cm), (*right, hex(service), each.reason))]
                )
            sent = [
                flow
                for flow in truth(name)["flows"]
                if (flow["src"], flow["dst"], flow["dqpn"]) == key
            ]
            wrong += [(f"{key}.cm", None, hex(service))] if sent and key not in flows else []
    fail_on(wrong)


# ---- repeats, copies and gaps, as docs/fabric.md defines them ----


@functools.cache
def judged(name):
    """{key: counts} of what the second reader says of RC and UC."""
    headers, numbers = rc_reader.headers(PATHS[name], PATHS[name].parent / f"{name}.json")
    flows = {
        number: (rc_reader.text(src), rc_reader.text(dst), qpn)
        for (src, dst, qpn), number in numbers.items()
    }
    found = {key: collections.Counter() for key in flows.values()}
    for header, verdict in zip(headers, rc_reader.judge(headers)):
        each, request = found[flows[header.flow]], rc_reader.is_request(header)
        each["copies"] += verdict.verdict == "copy"
        each["repeated"] += verdict.verdict == "repeat"
        each["gaps"] += bool(verdict.absent)
        each["missing"] += verdict.absent
        if request and verdict.verdict == "repeat":
            each[f"after {verdict.cause}"] += 1
    return found


@pytest.mark.parametrize(
    "name", [name for name in PACKED_NAMES if PATHS[name].parent.name == "fabric"]
)
def test_repeats(tshark, name):
    """Requests and READ responses retransmitted; the causes of requests."""
    found = added_up(
        report(tshark, name, ALL_TWO)["rdma_flows"],
        ("repeated", "repeated_after", "gaps", "missing"),
    )
    expected = judged(name)
    wrong = []
    for key, counts in expected.items():
        flow = found.get(key, collections.Counter(repeated_after=collections.Counter()))
        for member in ("repeated", "gaps", "missing"):
            wrong += (
                []
                if flow[member] == counts[member]
                else [(f"{key}.{member}", flow[member], counts[member])]
            )
        for cause in ("nak", "rnr", "read", "timeout"):
            if flow["repeated_after"][cause] < counts[f"after {cause}"]:
                wrong.append(
                    (
                        f"{key}.repeated_after.{cause}",
                        flow["repeated_after"][cause],
                        counts[f"after {cause}"],
                    )
                )
    fail_on(wrong)


# ---- many flows ----

MOST = 65536  # flows that get figures


def write_to(number):
    """A frame with a WRITE Only of no data to the queue pair of this number."""
    write = struct.pack("!BBHII", 10, 0, 0xFFFF, number, 7) + bytes(16) + bytes(4)
    udp = struct.pack("!HHHH", 0xC000, 4791, 8 + len(write), 0)
    addresses = bytes([10, 0, 0, 1, 10, 0, 0, 2])
    ip = struct.pack("!BBHHHBBH", 0x45, 2, 28 + len(write), number & 0xFFFF, 0x4000, 64, 17, 0)
    return bytes(12) + b"\x08\0" + ip + addresses + udp + write


def test_flows_after_the_most_are_named(tshark, scratch):
    """The page says how many flows are not counted, whatever their number of packets. A flow that
    has figures goes on after that."""
    more = 23
    numbers = [*range(2, 2 + MOST + more)] + [*range(2 + MOST, 2 + MOST + more)] + [2, 2]
    with (scratch / "many.pcap").open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for at, number in enumerate(numbers):
            frame = write_to(number)
            file.write(struct.pack("<IIII", 1, at, len(frame), len(frame)) + frame)
    arguments = ("-q", "-o", "smcr.roce:TRUE", "-z", "smcr,report")
    page = tshark.start("-r", scratch / "many.pcap", *arguments).stdout
    assert f"{more} RDMA flows not counted: after 65,536 flows only those of SMC-R are" in page
    assert f"RDMA: {MOST + 2:,} packets" in page
    assert f"and {MOST - 6:,} more rows" in page
