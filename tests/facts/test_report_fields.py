"""
Figures of a report against the fields of the frames, which other tests hold against the bytes: what
packets were sent again, how long requests, messages and marks waited, who waited for whom.
"""

import collections
import functools

import histograms
import pytest
import report_frames
import roce_reader
from report_runs import ALL, ALL_TWO, CALM, PATHS, copy_of, differences, fail_on, report
from report_flows import FLIPPED, add, address, as_text, key_of, whole_truth

CAPTURES = [
    "6.1-v1-c-three-conns",
    "6.1-v1-d-bulk-slow-reader",
    "6.1-v1-h1-two-links-second-fails",
    "6.1-v1-n-lossy",
    "6.1-v2-e-urgent",
    "6.1-v2-h6-late-second-link-asymmetric",
    "6.1-v2-n-lossy",
    "6.1-v2-q-forty-conns",
    "7.2-v2-g5-device-removed",
    "rfc-failover-replay-same-seq",
    "rfc-failover-new-seq",
    "window-analysis",
    "cdc-flags",
    "cm-verbs",
    "cm-odd",
    "cnp-np-cm",
    "cnp-smc",
    "nak-errors",
    "nak-loss-after-capture",
    "nak-loss-smc",
    "nocm-psn-wrap",
    "rnr-nak",
    "uc-ud",
    "nvme-rdma",
]
ENDS = ("smcr.conn.sending_done", "smcr.conn.closed", "smcr.conn.aborted")
FIELDS = [
    "frame.number",
    "smcr.src_qpn",
    "smcr.stream",
    "smcr.dir",
    "smcr.retransmission",
    "smcr.duplicate",
    "smcr.missing",
    "smcr.ack_time",
    "smcr.completion_time",
    "smcr.cnp.ce_time",
    "smcr.write.len",
    "smcr.cdc.seq",
    "smcr.cdc.read_time",
    *ENDS,
    "ip.src",
    "ipv6.src",
    "ip.dst",
    "ipv6.dst",
    "infiniband.grh.sgid",
    "infiniband.grh.dgid",
    "infiniband.bth.destqp",
    "infiniband.bth.opcode",
]
# SMC-R only, and nothing was retransmitted.
WITHOUT_LOSS = [
    "6.1-v1-a-first-contact-ipv4",
    "6.1-v1-c-three-conns",
    "6.1-v1-h4-two-links-rkeys",
    "6.1-v2-c-three-conns",
    "6.1-v2-j-http11",
    "6.1-v2-q-forty-conns",
    "rocev1-vlan",
    "roce-ipv6",
    "window-analysis",
]
FIRST, LAST, ONLY = {0, 6}, {2, 3, 8, 9, 22}, {4, 5, 10, 11, 23}  # opcodes of SENDs and WRITEs
CDC_LENGTH = 44
WAYS = ("client_to_server", "server_to_client")

every = pytest.mark.parametrize("name", CAPTURES)


@functools.cache
def rows(tshark, name):
    """The fields of all frames in the second pass: [{field: first value}]."""
    found = tshark.fields(
        copy_of(tshark, name),
        *FIELDS,
        two_pass=True,
        options=(*ALL, *CALM),
        where="infiniband && !icmp",
    )
    return [{field: values[0] for field, values in zip(FIELDS, row) if values} for row in found]


def flow_of(row):
    names = ("ip.src", "ipv6.src", "infiniband.grh.sgid"), (
        "ip.dst",
        "ipv6.dst",
        "infiniband.grh.dgid",
    )
    ends = (next(row[name] for name in each if name in row) for each in names)
    return (*map(address, ends), int(row["infiniband.bth.destqp"], 0))


def seconds(text):
    return float(text)


def distribution(samples):
    return {
        "count": len(samples),
        "sum": sum(samples),
        "sum_of_squares": sum(each * each for each in samples),
        "min": min(samples) if samples else None,
        "max": max(samples) if samples else None,
        "histogram": histograms.of(samples),
    }


def merged(flows, member):
    """A distribution of several entries, added up."""
    known = [flow[member] for flow in flows if flow[member]["count"]]
    return {
        "count": sum(each["count"] for each in known),
        "sum": sum(each["sum"] for each in known),
        "sum_of_squares": sum(each["sum_of_squares"] for each in known),
        "min": min((each["min"] for each in known), default=None),
        "max": max((each["max"] for each in known), default=None),
        "histogram": histograms.of_all(known),
    }


def by_key(flows, member):
    groups = collections.defaultdict(list)
    for flow in flows:
        groups[key_of(flow)].append(flow)
    return as_text({key: merged(every, member) for key, every in groups.items()})


@pytest.mark.parametrize(
    "member, field",
    [("ack_time_s", "smcr.ack_time"), ("completion_time_s", "smcr.completion_time")],
)
@every
def test_times_of_responses(tshark, name, member, field):
    """
    They stand with the flow whose requests were answered. Of ack_time_s, samples of repeats are
    left out. The field names the newest message that a response completes; the report counts all of
    them.
    """
    samples = collections.defaultdict(list)
    for row in rows(tshark, name):
        if field in row:
            src, dst, _ = flow_of(row)
            samples[dst, src, int(row["smcr.src_qpn"], 0)].append(seconds(row[field]))
    found = by_key(report(tshark, name, ALL_TWO)["rdma_flows"], member)
    expected = as_text(
        {
            key: distribution(samples[key])
            for key in {key_of(flow) for flow in report(tshark, name, ALL_TWO)["rdma_flows"]}
        }
    )
    wrong = []
    for key, right in expected.items():
        told = found[key]
        if member == "completion_time_s" and told["count"] > right["count"]:
            wrong += (
                []
                if told["sum"] > right["sum"] and told["min"] <= right["min"]
                else [(key, told, right)]
            )
        elif member != "ack_time_s" or not repeats(tshark, name):
            wrong += differences({key: told}, {key: right})
        elif told["count"] > right["count"] or (told["max"] or 0) > (right["max"] or 0) + 1e-9:
            wrong.append((key, told, right))
    fail_on(wrong)


def repeats(tshark, name):
    return any("smcr.retransmission" in row for row in rows(tshark, name))


@every
def test_repeats_and_copies(tshark, name):
    """
    Of all flows: what the fields say is retransmitted, doubled, absent; and the causes. Without
    repeats no message took longer because of one.
    """
    found = collections.defaultdict(lambda: None)
    for flow in report(tshark, name, ALL_TWO)["rdma_flows"]:
        each = {member: flow[member] for member in ("repeated", "copies", "gaps", "missing")}
        found[key_of(flow)] = add(found[key_of(flow)], each)
    expected = {key: collections.Counter() for key in found}
    for row in rows(tshark, name):
        if flow_of(row) in expected:
            each = expected[flow_of(row)]
            each["repeated"] += "smcr.retransmission" in row and "smcr.duplicate" not in row
            each["copies"] += "smcr.duplicate" in row
            each["gaps"] += "smcr.missing" in row
            each["missing"] += int(row.get("smcr.missing", 0))
    fail_on(
        [
            (f"{key}.{member}", count, expected[key][member])
            for key, counts in found.items()
            for member, count in counts.items()
            if count is not None and count != expected[key][member]
        ]
    )
    fail_on(
        [
            (key_of(flow), flow["repeated_completion_time_s"])
            for flow in report(tshark, name, ALL_TWO)["rdma_flows"]
            if not expected[key_of(flow)]["repeated"]
            and flow["repeated_completion_time_s"]["count"]
        ]
    )


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in PATHS
        if PATHS[name].parent.name in ("fabric", "roce") and name not in FLIPPED
    ],
)
def test_answers_to_marks(tshark, name):
    """By definition, from the bytes: from the first mark that no CNP had answered to the next
    CNP."""
    packets = roce_reader.packets(roce_reader.unpack(PATHS[name])[1])
    pairs = [(each["qpn_A"], each["qpn_B"]) for each in whole_truth(name)["qp_pairs_from_hosts"]]
    keys = {roce_reader.flow_of(each) for each in packets}
    reverse = {}
    for each in whole_truth(name)["truth_from_bytes"]["flows"]:
        senders = {*each["src_qp_from_cm"], *each.get("src_qp_from_hosts", [])} or {
            peer for pair in pairs for here, peer in (pair, pair[::-1]) if here == each["dqpn"]
        }
        for sender in senders:
            if (each["dst"], each["src"], sender) in keys:
                reverse[each["src"], each["dst"], each["dqpn"]] = each["dst"], each["src"], sender
    answers = roce_reader.congestion(packets, reverse)[0]
    samples = collections.defaultdict(list)
    for each in packets:
        if each.frame in answers:
            samples[reverse[roce_reader.flow_of(each)]].append(answers[each.frame][1] / 1e9)
    flows = report(tshark, name, ALL_TWO)["rdma_flows"]
    fail_on(
        differences(
            by_key(flows, "ce_to_cnp_s"),
            as_text({key_of(flow): distribution(samples[key_of(flow)]) for flow in flows}),
        )
    )


# ---- messages, from the bytes ----


def messages(found):
    """{key: [(time of the first packet, last PSN)]} of SENDs and WRITEs, each once."""
    every, begun = collections.defaultdict(list), {}
    for each in found:
        operation, key = each.opcode & 31, (address(each.src), address(each.dst), each.qpn)
        if operation in FIRST | ONLY:
            begun[key] = each.frame.time
        if operation in LAST | ONLY and key in begun:
            every[key].append((begun.pop(key), each.psn))
    return every


def completions(name, reverse):
    """{key: times from the first packet of each message to the ACK that completes it}, without
    READs and atomics."""
    found = report_frames.of_kind(PATHS[name], report_frames.Roce)
    waiting, samples = messages(found), collections.defaultdict(list)
    for each in found:
        key = reverse.get((address(each.src), address(each.dst), each.qpn))
        if each.opcode == report_frames.ACKNOWLEDGE and not each.syndrome & 0x60:
            done = [
                one
                for one in waiting[key]
                if one[0] <= each.frame.time and (each.psn - one[1]) % 2**24 < 2**23
            ]
            samples[key] += [(each.frame.time - one[0]) / 1e9 for one in done]
            waiting[key] = [one for one in waiting[key] if one not in done]
    return samples


@pytest.mark.parametrize("name", WITHOUT_LOSS)
def test_every_message_is_completed_once(tshark, name):
    flows = report(tshark, name, ALL_TWO)["rdma_flows"]
    reverse = {
        key_of(flow): (address(flow["dst"]), address(flow["src"]), flow["src_qpn"])
        for flow in flows
    }
    samples = completions(name, reverse)
    fail_on(
        differences(
            by_key(flows, "completion_time_s"),
            as_text({key_of(flow): distribution(samples[key_of(flow)]) for flow in flows}),
        )
    )


@every
def test_goodput(tshark, name):
    """Where nothing was retransmitted and nothing doubled, all payload came for the first time."""
    flows = report(tshark, name, ALL_TWO)["rdma_flows"]
    fail_on(
        [
            (
                f"rdma_flows[{flow['index']}].goodput_bytes",
                flow["goodput_bytes"],
                flow["payload_bytes"],
            )
            for flow in flows
            if flow["goodput_bytes"] > flow["payload_bytes"]
            or not flow["repeated"]
            and not flow["copies"]
            and not (flow["icrc"] or {}).get("bad")
            and flow["goodput_bytes"] != flow["payload_bytes"]
        ]
    )


# ---- connections ----


def way_of(row, back=False):
    """(connection, way) that a frame belongs to; `back`: the way of the data that the sender of the
    frame reads."""
    if "smcr.stream" not in row or "smcr.dir" not in row:
        return None
    return int(row["smcr.stream"]), WAYS[int(row["smcr.dir"]) ^ back]


def ways(tshark, name):
    return {
        (each["stream"], way): each[way]
        for each in report(tshark, name, ALL_TWO)["connections"]
        for way in WAYS
        if each["stream"] is not None
    }


@every
def test_read_times(tshark, name):
    """They stand with the data that is read. Who closes may have been idle before."""
    samples = collections.defaultdict(list)
    for row in rows(tshark, name):
        if "smcr.cdc.read_time" in row and way_of(row) and not set(row) & set(ENDS):
            samples[way_of(row, back=True)].append(seconds(row["smcr.cdc.read_time"]))
    found = ways(tshark, name)
    fail_on(
        differences(
            {f"{stream}.{way}": each["read_reported_s"] for (stream, way), each in found.items()},
            {f"{stream}.{way}": distribution(samples[stream, way]) for stream, way in found},
        )
    )


@every
def test_requests_and_messages(tshark, name):
    """Packets that are retransmitted count apart."""
    counts = collections.defaultdict(collections.Counter)
    for row in rows(tshark, name):
        way, again = way_of(row), "smcr.retransmission" in row
        if way and "smcr.duplicate" not in row:
            begins = "smcr.write.len" in row and int(row["infiniband.bth.opcode"]) & 31 in (
                6,
                10,
                11,
            )
            counts[way].update(
                writes=begins and not again,
                cdc="smcr.cdc.seq" in row and not again,
                repeated_packets=again,
                repeated_bytes=int(row.get("smcr.write.len", CDC_LENGTH)) if again else 0,
            )
    fail_on(
        [
            (f"{stream}.{way}.{member}", each[member], counts[stream, way][member])
            for (stream, way), each in ways(tshark, name).items()
            for member in ("writes", "cdc", "repeated_packets", "repeated_bytes")
            if each[member] != counts[stream, way][member]
        ]
    )
