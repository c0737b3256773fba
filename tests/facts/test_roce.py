"""
RoCE that is not SMC-R, and what is shown of every RoCE packet: the plugin's fields against the
ground truth of the captures and against a reader of their bytes (roce_reader.py). The reader itself
is held against the ground truth.

The captures with SMC-R show their fields by default, the others with the preference "roce".
"""

import collections
import functools
import json
import os
import pickle
import random

import alterations
import pcapng
import proof_packets
import pytest
import rc_reader
import roce_reader
from bed import TOP, Tshark
from roce_reader import direction_of, flow_of, is_cnp, is_nak, is_rnr_nak

PATHS = {
    path.name.removesuffix(".pcapng.gz"): path
    for folder in ("fabric", "roce")
    for path in sorted((TOP / "captures" / folder).glob("*.pcapng.gz"))
}
SMC = {"cm-and-smc", "cnp-smc", "ecn-ce-smc", "nak-loss-smc"}
FLIPPED = {name for name in PATHS if name.startswith("icrc-flipped")}
LONG, FRAMES_OF_LONG = "cm-capture-starts-late", 1500  # its text is large
ALTERED = ["cm-loss", "cm-many", "cnp-np-cm", "nocm-psn-wrap", "rnr-nak", "uc-ud"]

# The RPC over RDMA of Wireshark 4.0 crashes in the second pass of some captures, without the
# plugin, too.
CALM = ("--disable-protocol", "rpcordma")
ON = ("-o", "smcr.roce:TRUE", "-o", "smcr.check_icrc:TRUE")
RDMA = [
    "smcr.rdma",
    "smcr.rdma.flow",
    "smcr.rdma.peer",
    "smcr.src_qpn",
    "smcr.dst_qpn",
    "smcr.src_qpn_from",
]
CONGESTION = [
    "smcr.ecn",
    "smcr.fecn",
    "smcr.becn",
    "smcr.cnp",
    "smcr.cnp.ce_in",
    "smcr.cnp.ce_time",
    "smcr.cnp.interval",
    "smcr.ecn.cnp_in",
]
REFUSALS = [
    "smcr.nak.code",
    "smcr.rnr.timer",
    "smcr.refuses",
    "smcr.resent.nak_in",
    "smcr.resent.wait",
]
ORDER = [
    "smcr.retransmission",
    "smcr.resent.cause",
    "smcr.missing",
    "smcr.acks",
    "smcr.ack_time",
    "smcr.completes",
    "smcr.completion_time",
]
CM = [
    "smcr.cm.message",
    "smcr.cm.client_state",
    "smcr.cm.server_state",
    "smcr.cm.sender_state",
    "smcr.cm.receiver_state",
    "smcr.cm.service_id",
    "smcr.cm.port",
    "smcr.cm.reject_reason",
    "smcr.cm.repeat_of",
    "smcr.cm.connection",
]
FIELDS = [
    "infiniband.bth.opcode",
    "smcr",
    *RDMA,
    *CONGESTION,
    *REFUSALS,
    *ORDER,
    *CM,
    "smcr.icrc.status",
]
EXPERT_ITEM = "_ws.expert.message"
LATER = {
    "smcr.rdma.peer",
    "smcr.src_qpn",
    "smcr.src_qpn_from",
    "smcr.ecn.cnp_in",
    "smcr.resent.cause",
}
BAD = "0"  # of smcr.icrc.status
STATES = ("smcr.cm.client_state", "smcr.cm.server_state")
STATES_OF_LATE = (
    "smcr.cm.sender_state",
    "smcr.cm.receiver_state",
)  # where nobody knows who is the client
TOLERANCE = 1e-9  # seconds

every = pytest.mark.parametrize("name", PATHS)
foreign = pytest.mark.parametrize("name", [name for name in PATHS if name not in SMC])


# ---- captures and what is shown of them ----


@functools.cache
def truth(name):
    path = PATHS[name]
    whole = json.loads((path.parent / f"{name}.json").read_text(encoding="utf-8"))
    return whole["truth_from_bytes"] | {"pairs": whole["qp_pairs_from_hosts"]}


@functools.cache
def unpacked(name):
    return roce_reader.unpack(PATHS[name])


@functools.cache
def packets(name):
    return roce_reader.packets(unpacked(name)[1])


def kept(bed, key, make):
    """What `make` returns, made once for all worker processes; they share the folder of the bed."""
    path = bed.scratch / f"roce-{key}.pickle"
    if not path.exists():
        mine = path.with_suffix(f".{os.getpid()}")
        mine.write_bytes(pickle.dumps(make()))
        mine.rename(path)
    return pickle.loads(path.read_bytes())


def capture_file(bed, name, head, frames):
    path = bed.scratch / f"roce-{name}.pcapng"
    if not path.exists():
        mine = path.with_suffix(f".{os.getpid()}")
        pcapng.write(mine, head, frames)
        mine.chmod(0o644)
        mine.rename(path)
    return path


def whole_file(bed, name):
    return capture_file(bed, name, *unpacked(name))


def look(tshark, path, passes=("-2",), fields=(*FIELDS, EXPERT_ITEM)):
    """{frame: {field: its values}}, without the fields that are not shown."""
    arguments = ["-T", "fields", "-E", "separator=/t", "-E", "aggregator=;", "-E", "occurrence=a"]
    for field in fields:
        arguments += ["-e", field]
    lines = tshark.show(path, *ON, *CALM, *passes, *arguments).split("\n")[:-1]
    return {
        frame: {
            field: text.split(";")
            for field, text in zip(fields, line.split("\t"), strict=True)
            if text
        }
        for frame, line in enumerate(lines, 1)
    }


@functools.cache
def shown(tshark, name):
    """What two passes show of a capture."""
    return kept(tshark.bed, name, lambda: look(tshark, whole_file(tshark.bed, name)))


def one(row, field):
    """The value of a field; None if it is not shown."""
    values = row.get(field, [])
    assert len(values) <= 1, f"{field} is shown {len(values)} times"
    return values[0] if values else None


def integer(row, field):
    text = one(row, field)
    return None if text is None else int(text, 0)


def integers(rows, field):
    """{frame: value} of the frames that show a field."""
    return {frame: integer(row, field) for frame, row in rows.items() if field in row}


def seconds(rows, field):
    return {frame: float(one(row, field)) for frame, row in rows.items() if field in row}


def differences(found, expected, limit=15):
    """A text of what differs, {key: value} against {key: value}; empty if nothing does."""
    keys = [key for key in sorted({*found, *expected}) if found.get(key) != expected.get(key)]
    lines = [f"{key}: shown {found.get(key)}, right {expected.get(key)}" for key in keys[:limit]]
    return "\n".join([f"{len(keys)} differ", *lines]) if keys else ""


def assert_same(found, expected):
    text = differences(found, expected)
    if text:
        pytest.fail(text, pytrace=False)


def assert_times(found, expected):
    """Times in seconds against nanoseconds."""
    wrong = {
        key: (found.get(key), right / 1e9)
        for key, right in expected.items()
        if key not in found or abs(found[key] - right / 1e9) > TOLERANCE
    }
    wrong |= {key: (found[key], None) for key in found if key not in expected}
    assert not wrong, f"{len(wrong)} differ (shown, right): {dict(list(wrong.items())[:15])}"


def assert_allowed(found, allowed):
    """Every value shown is one of those that are right."""
    wrong = {
        key: (value, allowed.get(key, set()))
        for key, value in found.items()
        if value not in allowed.get(key, set())
    }
    assert not wrong, f"{len(wrong)} wrong (shown, right): {dict(list(wrong.items())[:15])}"


# ---- the reader against the ground truth ----


def counted(pairs):
    found = collections.defaultdict(collections.Counter)
    for key, value in pairs:
        found[key][value] += 1
    return {key: dict(counts) for key, counts in found.items()}


@every
def test_reader_counts(name):
    found, expected = packets(name), truth(name)
    assert len(unpacked(name)[1]) == expected["frames"]
    assert expected["roce_opcodes"] == counted(
        (direction_of(each), roce_reader.opcode_name(each.opcode)) for each in found
    )
    assert expected["roce_ecn"] == counted(
        (direction_of(each), roce_reader.ECN[each.ecn]) for each in found
    )
    assert expected["aeth"] == counted(
        (direction_of(each), roce_reader.meaning(each.syndrome))
        for each in found
        if each.syndrome is not None
    )
    assert [each["frame"] for each in expected["icrc_wrong_frames"]] == [
        each.frame for each in found if not each.icrc_right
    ]


@every
def test_reader_refusals(name):
    assert [
        (
            each["frame"],
            each["direction"],
            each["dqpn"],
            each["psn"],
            int(each["syndrome"], 16),
            each["msn"],
        )
        for each in truth(name)["naks"]
    ] == [
        (each.frame, direction_of(each), each.qpn, each.psn, each.syndrome, each.msn)
        for each in packets(name)
        if is_nak(each) or is_rnr_nak(each)
    ]


@every
def test_reader_notifications(name):
    assert [
        (each["frame"], each["direction"], each["dqpn"], each["fecn"], each["becn"])
        for each in truth(name)["cnps"]
    ] == [
        (each.frame, direction_of(each), each.qpn, each.fecn, each.becn)
        for each in packets(name)
        if is_cnp(each)
    ]


@every
def test_reader_flows(name):
    flows = collections.defaultdict(list)
    for each in packets(name):
        flows[flow_of(each)].append(each)
    assert len(flows) == len(truth(name)["flows"])
    for each in truth(name)["flows"]:
        found = flows[each["src"], each["dst"], each["dqpn"]]
        assert (found[0].frame, found[-1].frame, len(found)) == (
            each["first_frame"],
            each["last_frame"],
            each["frames"],
        )
        assert each["opcodes"] == dict(
            collections.Counter(roce_reader.opcode_name(one.opcode) for one in found)
        )
        assert each["ecn"] == dict(collections.Counter(roce_reader.ECN[one.ecn] for one in found))
        assert each["payload_bytes"] == sum(len(one.payload) for one in found)
        assert set(each["udp_sports"]) == {one.sport for one in found}
        assert each["deth_src_qps"] == sorted({one.sender for one in found} - {None})


@every
def test_reader_messages(name):
    found = roce_reader.messages(packets(name))
    assert len(found) == len(truth(name)["cm_messages"])
    for each, expected in zip(found, truth(name)["cm_messages"]):
        assert (each.frame, direction_of(each), each.attr, each.tid) == (
            expected["frame"],
            expected["direction"],
            expected["attr"],
            int(expected["tid"], 16),
        )
        for field, value in each.fields.items():
            if field in expected:
                assert value == (
                    int(expected[field], 16) if field == "service_id" else expected[field]
                )


def opened(name):
    """The connections whose REQ the capture has."""
    return [
        each
        for each in roce_reader.connections(roce_reader.messages(packets(name)))
        if each.request and each.request.attr == "REQ"
    ]


@every
def test_reader_connections(name):
    for each, expected in zip(opened(name), truth(name)["cm_connections"], strict=True):
        request, reply = each.request.fields, each.reply.fields if each.reply else {}
        assert expected == {
            "client": each.client,
            "server": each.server,
            "client_cm_id": each.client_id,
            "client_qpn": request["local_qpn"],
            "client_starting_psn": request["starting_psn"],
            "service_id": f"0x{request['service_id']:016x}",
            "service_port": roce_reader.service_port(request["service_id"]),
            "cma_src_port": expected["cma_src_port"],
            "server_cm_id": reply.get("local_id"),
            "server_qpn": reply.get("local_qpn"),
            "server_starting_psn": reply.get("starting_psn"),
            "messages": each.named_messages,
            **({"rej_reason": each.reason} if each.reason else {}),
        }


# ---- queue pairs ----


@functools.cache
def senders(name):
    """{flow: queue pairs that send it, as RDMA-CM, the hosts or the packets themselves say}"""
    pairs = [(each["qpn_A"], each["qpn_B"]) for each in truth(name)["pairs"]]
    known = {}
    for each in truth(name)["flows"]:
        found = {*each["src_qp_from_cm"], *each.get("src_qp_from_hosts", []), *each["deth_src_qps"]}
        known[each["src"], each["dst"], each["dqpn"]] = found or {
            peer for pair in pairs for here, peer in (pair, pair[::-1]) if here == each["dqpn"]
        }
    return known


def sender_is_told(name, flow):
    """Does the capture tell the sender? By RDMA-CM, by its packets, or because both directions are
    there."""
    each = next(
        each for each in truth(name)["flows"] if (each["src"], each["dst"], each["dqpn"]) == flow
    )
    back = {(flow[1], flow[0], sender) for sender in senders(name)[flow]}
    return bool(each["src_qp_from_cm"] or each["deth_src_qps"] or back & set(senders(name)))


@functools.cache
def reverse(name):
    """{flow: flow of the other direction}, where there is one."""
    known = senders(name)
    return {
        flow: (flow[1], flow[0], sender)
        for flow, found in known.items()
        for sender in found
        if (flow[1], flow[0], sender) in known
    }


def damaged(each, name):
    """Has the packet a wrong ICRC, in a capture where any of its fields may be wrong?"""
    return not each.icrc_right and name in FLIPPED


def sound(name):
    """The packets of a capture whose fields are as they were sent."""
    return [each for each in packets(name) if not damaged(each, name)]


def assert_senders(name, found, rows):
    """No sender that is shown is wrong. `found`: packets of the capture or of an altered one."""
    wrong = []
    for each in found:
        told = integer(rows[each.frame], "smcr.src_qpn")
        right = (
            {each.sender} if each.sender is not None else senders(name).get(flow_of(each), set())
        )
        if told is not None and told not in right:
            wrong.append((each.frame, flow_of(each), told, right))
    assert not wrong, f"{len(wrong)} wrong (frame, flow, shown, right): {wrong[:15]}"


@every
def test_every_roce_packet_is_shown(tshark, name):
    """In the subtree of its own, or as SMC-R; with the queue pair that it goes to. No other frame
    shows anything."""
    rows = shown(tshark, name)
    shown_here = {each.frame: integer(rows[each.frame], "smcr.dst_qpn") for each in packets(name)}
    assert_same(
        shown_here,
        {
            each.frame: shown_here[each.frame] and each.qpn if damaged(each, name) else each.qpn
            for each in packets(name)
        },
    )
    missing = [
        each.frame
        for each in packets(name)
        if "smcr.rdma" not in rows[each.frame] and name not in SMC and not damaged(each, name)
    ]
    assert not missing
    others = set(rows) - {each.frame for each in packets(name)}
    of_clc = {"smcr.src_qpn", "smcr.dst_qpn", "smcr.src_qpn_from"}
    own = {*RDMA, *CONGESTION, *REFUSALS, *CM} - of_clc
    assert not [frame for frame in others if own & set(rows[frame])]


@every
def test_opcodes(tshark, name):
    assert_same(
        integers(shown(tshark, name), "infiniband.bth.opcode"),
        {each.frame: each.opcode for each in packets(name)},
    )


@every
def test_senders_are_right(tshark, name):
    assert_senders(name, sound(name), shown(tshark, name))


@every
def test_senders_are_there(tshark, name):
    rows = shown(tshark, name)
    missing = collections.Counter(
        flow_of(each)
        for each in sound(name)
        if sender_is_told(name, flow_of(each)) and "smcr.src_qpn" not in rows[each.frame]
    )
    assert not missing


@every
def test_flows(tshark, name):
    """A number stands for one flow, and the flow of the peer is the one that truth has."""
    rows, meant = shown(tshark, name), {}
    for each in sound(name):
        flow = integer(rows[each.frame], "smcr.rdma.flow")
        if name not in SMC:
            assert flow is not None, each.frame
        if flow is not None:
            assert meant.setdefault(flow, flow_of(each)) == flow_of(each)
    for each in sound(name):
        flow, peer = (
            integer(rows[each.frame], field) for field in ("smcr.rdma.flow", "smcr.rdma.peer")
        )
        if peer is not None and peer in meant:
            assert meant[peer] == reverse(name)[meant[flow]], each.frame


# Nothing comes again under the same numbers in these captures, so each flow has one life.
@every
def test_flows_are_few(tshark, name):
    flows = collections.defaultdict(set)
    for each in sound(name):
        flows[flow_of(each)].add(integer(shown(tshark, name)[each.frame], "smcr.rdma.flow"))
    assert {flow: told for flow, told in flows.items() if len(told - {None}) > 1} == {}


@every
def test_peers_are_mutual(tshark, name):
    peers = {}
    for row in shown(tshark, name).values():
        flow, peer = integer(row, "smcr.rdma.flow"), integer(row, "smcr.rdma.peer")
        if peer is not None:
            assert peers.setdefault(flow, peer) == peer
    assert {flow: peer for flow, peer in peers.items() if peers.get(peer, flow) != flow} == {}


@every
def test_source_of_the_sender(tshark, name):
    """What tells the sender: of UD the packet; else SMC-R's messages, RDMA-CM or the UDP source
    port."""
    texts = values_of(tshark, "smcr.src_qpn_from")
    by_cm = {
        (each["src"], each["dst"], each["dqpn"])
        for each in truth(name)["flows"]
        if each["src_qp_from_cm"]
    }
    rows, wrong = shown(tshark, name), []
    for each in sound(name):
        told = one(rows[each.frame], "smcr.src_qpn_from")
        text = told and texts.get(told, told)
        right = (
            {"DETH"}
            if each.sender is not None
            else {"RDMA-CM"}
            if flow_of(each) in by_cm
            else {"CLC", "LLC", "UDP source port"}
            if name in SMC
            else {"UDP source port", "RDMA-CM"}
        )
        if text is not None and text not in right:
            wrong.append((each.frame, text, right))
    assert not wrong, f"{len(wrong)} wrong (frame, shown, right): {wrong[:15]}"


@functools.cache
def all_values(tshark):
    rows = (line.split("\t") for line in tshark.run("-G", "values").splitlines())
    return {
        (row[1], row[2]): row[3] for row in rows if row[0] == "V" and row[1].startswith("smcr.")
    }


def values_of(tshark, field):
    """{number: text} of a field."""
    return {
        number: text
        for (of, number), text in kept(tshark.bed, "values", lambda: all_values(tshark)).items()
        if of == field
    }


# ---- congestion ----


@every
def test_ecn(tshark, name):
    assert_same(
        integers(shown(tshark, name), "smcr.ecn"),
        {each.frame: each.ecn for each in packets(name) if each.ecn},
    )


@every
def test_cnps(tshark, name):
    rows, cnps = shown(tshark, name), [each for each in packets(name) if is_cnp(each)]
    assert [frame for frame, row in rows.items() if "smcr.cnp" in row] == [
        each.frame for each in cnps
    ]
    for each in cnps:
        row = rows[each.frame]
        assert [one(row, "smcr.fecn"), one(row, "smcr.becn")] == [
            str(each.fecn),
            str(each.becn),
        ] or [one(row, "smcr.fecn"), one(row, "smcr.becn")] == [
            str(bool(bit)) for bit in (each.fecn, each.becn)
        ]


@every
def test_what_cnps_answer(tshark, name):
    rows = shown(tshark, name)
    answers, answered_in, intervals = roce_reader.congestion(packets(name), reverse(name))
    assert_same(
        integers(rows, "smcr.cnp.ce_in"), {frame: marked for frame, (marked, _) in answers.items()}
    )
    assert_times(
        seconds(rows, "smcr.cnp.ce_time"), {frame: time for frame, (_, time) in answers.items()}
    )
    assert_times(seconds(rows, "smcr.cnp.interval"), intervals)
    assert_same(integers(rows, "smcr.ecn.cnp_in"), answered_in)


# ---- refusals ----


@functools.cache
def judged(name):
    """The packets of a capture as the reader of docs/fabric.md judges them, which is told of wrong
    ICRCs."""
    path = PATHS[name]
    capture, wrong = (
        proof_packets.Capture(path, path.parent / f"{name}.json"),
        truth(name)["icrc_wrong_frames"],
    )
    frames = {each["frame"] for each in wrong}
    capture.headers = [each._replace(corrupt=int(each.frame in frames)) for each in capture.headers]
    capture.verdicts, capture.lives = proof_packets.judge(capture.headers)
    return capture


def reads_well(name):
    """Every flow of the reader of docs/fabric.md is one of the ground truth's, and no field is made
    up."""
    return name not in FLIPPED


def lives(name):
    return judged(name).lives


@every
def test_naks(tshark, name):
    rows = shown(tshark, name)
    assert_same(
        integers(rows, "smcr.nak.code"),
        {each.frame: each.syndrome & 31 for each in packets(name) if is_nak(each)},
    )
    timers = seconds(rows, "smcr.rnr.timer")  # in milliseconds
    assert_same(
        {frame: round(timer, 6) for frame, timer in timers.items()},
        {
            each.frame: roce_reader.RNR_TIMERS[each.syndrome & 31]
            for each in packets(name)
            if is_rnr_nak(each)
        },
    )


def refused(name):
    """{frame of a NAK or RNR NAK: frame that first had the PSN that it names}"""
    found = {}
    for life in lives(name):
        first = {}
        for event in life.events:
            if isinstance(event, rc_reader.Request):
                first.setdefault(event.start, event.header.frame)
                for psn in range(event.start, event.end + 1):
                    first.setdefault(psn, event.header.frame)
            elif (
                event.psn is not None and rc_reader.is_negative(event.header) and event.psn in first
            ):
                found[event.header.frame] = first[event.psn]
    return found


def resent_for(name):
    """
    {first packet retransmitted because of a NAK or RNR NAK: (frame of the last that named its PSN,
    time since)}. A sender that waits because of an RNR NAK goes on waiting when a NAK names the
    same PSN.
    """
    found = {}
    for life in lives(name):
        last = {}
        for event in life.events:
            if isinstance(event, rc_reader.Answer):
                if event.psn is not None and rc_reader.is_negative(event.header):
                    last[
                        event.psn, "rnr" if rc_reader.is_rnr(event.header.syndrome) else "nak"
                    ] = event.header
            elif (event.start, event.cause) in last and event.step == event.header.frame:
                nak = last[event.start, event.cause]
                found[event.header.frame] = nak.frame, event.header.time - nak.time
    return found


sound_captures = pytest.mark.parametrize("name", [name for name in PATHS if reads_well(name)])


@sound_captures
def test_what_naks_refuse(tshark, name):
    assert_same(integers(shown(tshark, name), "smcr.refuses"), refused(name))


@sound_captures
def test_waits_after_naks(tshark, name):
    rows, expected = shown(tshark, name), resent_for(name)
    assert_same(
        integers(rows, "smcr.resent.nak_in"), {frame: nak for frame, (nak, _) in expected.items()}
    )
    assert_times(
        seconds(rows, "smcr.resent.wait"), {frame: time for frame, (_, time) in expected.items()}
    )


def test_waits_are_not_shorter_than_the_timers(tshark):
    """The sender keeps to the timer of the RNR NAK. A NAK of the packet behind it ends no wait."""
    rows, timers = shown(tshark, "rnr-nak"), {}
    for each in packets("rnr-nak"):
        if is_rnr_nak(each):
            timers[each.frame] = roce_reader.RNR_TIMERS[each.syndrome & 31]
    waits = [
        (float(one(row, "smcr.resent.wait")) * 1000, timers[integer(row, "smcr.resent.nak_in")])
        for row in rows.values()
        if integer(row, "smcr.resent.nak_in") in timers
    ]
    assert len(waits) > 50
    assert [(wait, timer) for wait, timer in waits if wait < timer] == []


# ---- order, acknowledgements, completion ----


@functools.cache
def right(name):
    return proof_packets.right_of_packets(judged(name))


def exactly(name, field):
    return {frame: next(iter(values)) for frame, values in right(name)[field].items()}


@sound_captures
def test_packets_sent_again(tshark, name):
    rows = shown(tshark, name)
    verdicts = judged(name).verdicts
    assert_same(
        integers(rows, "smcr.retransmission"),
        {frame: each.of for frame, each in verdicts.items() if each.verdict == "repeat"},
    )
    assert_same(integers(rows, "smcr.missing"), exactly(name, "smcr.missing"))
    causes = {
        frame: proof_packets.CAUSES[each.cause]
        for frame, each in verdicts.items()
        if getattr(each, "cause", "-") != "-"
    }
    assert_same(integers(rows, "smcr.resent.cause"), causes)


@sound_captures
def test_acknowledgements(tshark, name):
    """A NAK or RNR NAK need not say what it acknowledges: it refuses. No more need a READ
    response. The packet that is acknowledged is the first one or the last one with its PSN."""
    rows, by_frame = shown(tshark, name), judged(name).by_frame
    said, took = integers(rows, "smcr.acks"), seconds(rows, "smcr.ack_time")
    acks = {
        frame: said[frame] if said.get(frame) in of else min(of)
        for frame, of in right(name)["smcr.acks"].items()
    }
    times = {
        frame: min(of, key=lambda time: abs(time - took.get(frame, 0) * 1e9))
        for frame, of in right(name)["smcr.ack_time"].items()
    }
    plain = {frame for frame in by_frame if is_plain_ack(by_frame[frame])} - lone(name)
    assert_same(
        {
            frame: of
            for frame, of in said.items()
            if frame in plain or frame in acks and of != acks[frame]
        },
        {frame: of for frame, of in acks.items() if frame in plain},
    )
    assert_times(
        {frame: time for frame, time in took.items() if frame in plain},
        {frame: time for frame, time in times.items() if frame in plain},
    )


@functools.cache
def lone(name):
    """
    The first packets of flows, where no message tells who sends them: that takes packets of both
    directions. What such a packet acknowledges need not be known.
    """
    return {each["first_frame"] for each in truth(name)["flows"] if not each["src_qp_from_cm"]}


def is_plain_ack(header):
    return header.opcode & 31 == rc_reader.ACKNOWLEDGE and not rc_reader.is_negative(header)


ONLY, FIRST, LAST = {4, 5, 10, 11, 23}, {0, 6}, {2, 3, 8, 9, 22}  # SENDs and WRITEs
READS_AND_ATOMICS = {12, 19, 20}


def whole_messages(life):
    """Messages, READs and atomics whose packets the capture has all: (header of the first packet,
    last PSN)."""
    found, begun, after = [], None, None
    for psn in sorted(life.taker):
        request = life.taker[psn]
        kind = request.header.opcode & 31
        if request.start != psn:
            continue
        if kind in ONLY | READS_AND_ATOMICS:
            found.append((request.header, request.end))
        begun = request.header if kind in FIRST else begun if psn == after else None
        if kind in LAST and begun:
            found.append((begun, psn))
        after = request.end + 1
    return found


def completions(name):
    """{frame of a response: (header of the first packet of the newest message that it completes,
    time since)}"""
    found = {}
    for life in lives(name):
        waiting = collections.deque(whole_messages(life))
        for event in life.events:
            newest = None
            while (
                isinstance(event, rc_reader.Answer)
                and event.psn is not None
                and waiting
                and (waiting[0][1] <= event.covers and waiting[0][0].frame < event.header.frame)
            ):
                newest = waiting.popleft()[0]
            if newest:
                found[event.header.frame] = newest.frame, event.header.time - newest.time
    return found


@sound_captures
def test_completion(tshark, name):
    rows, expected = shown(tshark, name), completions(name)
    expected = {
        frame: each
        for frame, each in expected.items()
        if frame not in lone(name) or "smcr.completes" in rows[frame]
    }
    assert_same(
        integers(rows, "smcr.completes"), {frame: first for frame, (first, _) in expected.items()}
    )
    assert_times(
        seconds(rows, "smcr.completion_time"),
        {frame: time for frame, (_, time) in expected.items()},
    )


# ---- RDMA-CM ----


def all_connections(name):
    return roce_reader.connections(roce_reader.messages(packets(name)))


@every
def test_messages(tshark, name):
    numbers = {attr: code for code, attr in roce_reader.ATTRIBUTES.items()}
    assert_same(
        integers(shown(tshark, name), "smcr.cm.message"),
        {each.frame: numbers[each.attr] for each in roce_reader.messages(packets(name))},
    )


@every
def test_connections(tshark, name):
    """The messages of each connection, in their order, under one number."""
    rows, numbers = shown(tshark, name), set()
    for each in all_connections(name):
        told = [integer(rows[message.frame], "smcr.cm.connection") for message in each.messages]
        assert len(set(told)) == 1 and None not in told, each.named_messages
        assert told[0] not in numbers, each.named_messages
        numbers.add(told[0])


@every
def test_services(tshark, name):
    rows = shown(tshark, name)
    for each in all_connections(name):
        service = each.request and each.request.fields["service_id"]
        for message in each.messages:
            told = [
                integer(rows[message.frame], field)
                for field in ("smcr.cm.service_id", "smcr.cm.port")
            ]
            expected = [service, service and roce_reader.service_port(service)]
            assert (
                told == expected
                or message.attr not in ("REQ", "SIDR_REQ")
                and told in ([None, None], expected)
            )


@every
def test_repeated_messages(tshark, name):
    assert_same(
        integers(shown(tshark, name), "smcr.cm.repeat_of"),
        roce_reader.repeats(roce_reader.messages(packets(name))),
    )


@every
def test_reasons(tshark, name):
    assert_same(
        integers(shown(tshark, name), "smcr.cm.reject_reason"),
        {
            each.frame: each.fields["reason"]
            for each in roce_reader.messages(packets(name))
            if each.attr == "REJ"
        },
    )


def test_message_that_does_not_fit(tshark):
    """Without the REP, nothing tells why the client sends an RTU."""
    head, frames = unpacked("cm-verbs")
    assert [each.attr for each in roce_reader.messages(packets("cm-verbs"))[:3]] == [
        "REQ",
        "REP",
        "RTU",
    ]
    path = capture_file(tshark.bed, "without-rep", head, [frames[0], *frames[2:]])
    shown_of = tshark.show(
        path,
        *ON,
        "-Y",
        "smcr.cm.unexpected",
        "-T",
        "fields",
        "-e",
        "frame.number",
        "-e",
        "smcr.cm.message",
    )
    assert shown_of == "2\t0x14\n"


@every
def test_states(tshark, name):
    rows, wrong = shown(tshark, name), []
    for each in all_connections(name):
        for message, client, server in roce_reader.states(each):
            told = [integer(rows[message.frame], field) for field in STATES]
            if told == [None, None] and not each.request:
                told = [integer(rows[message.frame], field) for field in STATES_OF_LATE]
                told = told if message.src == each.client else told[::-1]
            if not (told[0] in client and told[1] in server):
                wrong.append((message.frame, message.attr, told, client, server))
    assert not wrong, f"{len(wrong)} wrong (frame, message, shown, right): {wrong[:15]}"


@every
def test_states_of_data(tshark, name):
    """Between RTU and DREQ the packets of a connection say that it is established."""
    rows, state = shown(tshark, name), str(roce_reader.ESTABLISHED)
    for each in opened(name):
        flows = (
            {
                (each.client, each.server, each.reply.fields["local_qpn"]),
                (each.server, each.client, each.request.fields["local_qpn"]),
            }
            if each.reply
            else set()
        )
        opens, closes = (
            next((message.frame for message in each.messages if message.attr == attr), None)
            for attr in ("RTU", "DREQ")
        )
        number_of = integer(rows[each.request.frame], "smcr.cm.connection")
        for packet in sound(name) if flows and opens and closes else []:
            if flow_of(packet) in flows and opens < packet.frame < closes and packet.icrc_right:
                row = rows[packet.frame]
                assert [one(row, field) for field in STATES] == [state, state], packet.frame
                assert integer(row, "smcr.cm.connection") == number_of, packet.frame


# ---- ICRC ----


@every
def test_icrc(tshark, name):
    rows = shown(tshark, name)
    assert [frame for frame, row in rows.items() if one(row, "smcr.icrc.status") == BAD] == [
        each["frame"] for each in truth(name)["icrc_wrong_frames"]
    ]


@every
def test_no_item_twice(tshark, name):
    items = {frame: row.get(EXPERT_ITEM, []) for frame, row in shown(tshark, name).items()}
    assert {frame: told for frame, told in items.items() if len(told) > len(set(told))} == {}


# ---- what depends on later frames, and what does not ----


@pytest.mark.parametrize("name", ALTERED)
def test_one_pass(tshark, name):
    """One pass shows what two show, but for what only later frames tell: that is the same, or
    absent."""
    twice, once = shown(tshark, name), look(tshark, whole_file(tshark.bed, name), passes=())
    wrong = []
    for frame, row in twice.items():
        for field in FIELDS:
            here = once[frame].get(field)
            if here != row.get(field) and not (field in LATER and here is None):
                wrong.append((frame, field, here, row.get(field)))
    assert not wrong, f"{len(wrong)} differ (frame, field, one pass, two passes): {wrong[:15]}"


# ---- off ----


@foreign
def test_off_means_off(tshark, tshark_without, name):
    count = ("-c", str(FRAMES_OF_LONG)) if name == LONG else ()
    path = whole_file(tshark.bed, name)
    found, expected = (
        each.show(path, "-V", *count).splitlines() for each in (tshark, tshark_without)
    )
    different = [(here, there) for here, there in zip(found, expected) if here != there]
    assert not different and len(found) == len(expected), different[:5]


@pytest.mark.parametrize("name", ALTERED)
def test_on_only_adds(tshark, tshark_without, name):
    """With the preference, the text of Wireshark's own dissectors is the same as without the
    plugin."""
    path = whole_file(tshark.bed, name)
    found = iter(tshark.show(path, *ON, "-V").splitlines())
    missing = [
        line
        for line in tshark_without.show(path, "-V").splitlines()
        if "[Protocols in frame:" not in line and line not in found
    ]
    assert not missing, missing[0]


# ---- captures that were altered ----


def without_block(frames, _):
    first = len(frames) * 2 // 5
    return [frame for frame in frames if not first < frame.number <= first + len(frames) // 10]


def starts_late(frames, _):
    return frames[len(frames) // 3 :]


def loses(share):
    return lambda frames, seed: alterations.left_out_at_random(frames, share, seed)


def out_of_order(frames, seed):
    """Some neighbours are swapped, and the times stay in order."""
    return alterations.in_time(frames, alterations.swapped(frames, 0, 0.1, seed))


KINDS = {
    "5 %": loses(0.05),
    "30 %": loses(0.3),
    "block": without_block,
    "late": starts_late,
    "swapped": out_of_order,
}
altered = pytest.mark.parametrize(
    "name, kind", [(name, kind) for name in ALTERED for kind in KINDS]
)


def alter(tshark, name, kind):
    """The packets of an altered capture, and what is shown of it."""
    head, frames = unpacked(name)
    frames = KINDS[kind](frames, random.Random(f"{name} {kind}").randrange(1000))
    path = capture_file(tshark.bed, f"{name}-{kind.replace(' ', '')}", head, frames)
    return roce_reader.packets(frames), look(tshark, path)


@altered
def test_altered(tshark, name, kind):
    """What is said of an altered capture is not wrong."""
    found, rows = alter(tshark, name, kind)
    assert_senders(name, found, rows)
    assert_cnps(name, found, rows)
    assert_states(found, rows)
    assert_refusals(found, rows)


def assert_cnps(name, found, rows):
    answers, answered_in, intervals = roce_reader.congestion(found, reverse(name))
    assert_allowed(
        integers(rows, "smcr.cnp.ce_in"),
        {frame: {marked} for frame, (marked, _) in answers.items()},
    )
    assert_allowed(
        integers(rows, "smcr.ecn.cnp_in"), {frame: {cnp} for frame, cnp in answered_in.items()}
    )
    assert_times(seconds(rows, "smcr.cnp.interval"), intervals)


def assert_states(found, rows):
    """The states do not contradict the message, and each number stands for one connection."""
    messages, numbers = roce_reader.messages(found), {}
    for each in messages:
        told = {integer(rows[each.frame], field) for field in (*STATES, *STATES_OF_LATE)}
        assert told - {None} <= roce_reader.possible_states(each), (each, told)
    for each in roce_reader.connections(messages):
        for message in each.messages:
            number_of = integer(rows[message.frame], "smcr.cm.connection")
            if number_of is not None:
                assert numbers.setdefault(number_of, each) is each, each.named_messages


def assert_refusals(found, rows):
    """The frame that a NAK refuses has the PSN that it names, or asks for a READ that takes it, and
    came before."""
    by_frame = {each.frame: each for each in found}
    for frame, of in integers(rows, "smcr.refuses").items():
        assert of < frame and (
            by_frame[of].psn == by_frame[frame].psn or by_frame[of].opcode & 31 == 12
        )
        assert direction_of(by_frame[of]) != direction_of(by_frame[frame])
    for frame, of in integers(rows, "smcr.resent.nak_in").items():
        assert of < frame and by_frame[of].psn == by_frame[frame].psn
        assert is_nak(by_frame[of]) or is_rnr_nak(by_frame[of])


def test_messages_that_the_capture_lacks(tshark):
    """Without the REP, the RTU does not fit what the capture shows. With it, every message does."""
    head, frames = unpacked("cm-verbs")
    kinds = [
        look_at(tshark, name, head, kept)
        for name, kept in (("whole", frames), ("no-rep", alterations.left_out(frames, {2})))
    ]
    assert kinds == [[], [2]]


def look_at(tshark, name, head, frames):
    """Frames with a message of RDMA-CM that is unexpected."""
    path = capture_file(tshark.bed, f"cm-verbs-{name}", head, frames)
    return tshark.frames(path, "smcr.cm.unexpected", options=ON)


def test_page_beside_a_bug_of_wireshark(tshark, tshark_without):
    """
    Wireshark's RPC over RDMA fails in the second pass of this capture, with the plugin as without
    it: where a bug is to end it, tshark stops. Elsewhere the page is as it is without that
    dissector.
    """
    path = tshark.bed.root / "captures" / "fabric" / "nak-loss-after-capture.pcapng.gz"
    stops = [
        each.start("-n", "-r", path, "-2", "-q", "-z", "io,phs").returncode
        for each in (tshark, tshark_without)
    ]
    assert stops[0] == stops[1]
    goes_on = Tshark(tshark.bed)
    del goes_on.environment["WIRESHARK_ABORT_ON_DISSECTOR_BUG"]
    asked = ("-n", "-r", path, "-2", "-q", "-z", "smcr,report", *ON)
    page = goes_on.start(*asked).stdout
    assert page == tshark.run(*asked, *CALM) and ", 20 NAKs" in page
