"""
What a report says of a capture, by a reader of its own that knows neither the plugin nor Wireshark:
the capture, IP, RoCE by source, destination and destination queue pair, and the connections that
CLC tells. TCP is in report_tcp.py.
"""

import collections
import functools

import report_frames
import report_tcp
from report_frames import Ip, Roce, Segment, frames, number, of_kind, text_of_time

NAKS = ("psn_sequence", "invalid_request", "remote_access", "remote_operational", "invalid_rd")
ECN = ("not_ect", "ect1", "ect0", "ce")
SMC_R, SMC_D, EXPERIMENTS = bytes.fromhex("e2d4c3d9"), bytes.fromhex("e2d4c3c4"), (253, 254)
PROPOSAL, ACCEPT, CONFIRM, DECLINE = 1, 2, 3, 4
CLC_HEADER, TOKEN = 8, 46  # bytes; where the alert token of Accept and Confirm is
LONGEST_CLC = 8192  # bytes at the beginning of a stream that may hold CLC

Clc = collections.namedtuple(
    "Clc", "frame client kind version data"
)  # client: has the client sent it?


def capture(path):
    """`capture`, without what depends on how tshark was run."""
    every = frames(path)
    times = [each.time for each in every]
    return {
        "frames": len(every),
        "bytes": sum(each.length for each in every),
        "first_time": text_of_time(min(times)),
        "last_time": text_of_time(max(times)),
        "cut_frames": sum(len(each.data) < each.length for each in every),
        "roce_frames": len(of_kind(path, Roce)),
        "point_copies": 0,  # no capture of those that are compared has several points
        "flows_not_counted": 0,  # nor has any as many flows
        # nor a request after its acknowledgement: test_clocks.py has such ones
        "disorder_frame": None,
        "disorder_time": None,
        "disorder_most_s": None,
    }


def ip(path):
    """What is neither TCP nor RoCE."""
    found = of_kind(path, Ip)
    return {"packets": len(found), "bytes": sum(each.length for each in found)}


# ---- RoCE ----


def flow_of(each):
    return each.src, each.dst, each.qpn


def _nak(each):
    """The kind of a NAK, "rnr" of an RNR NAK; None of anything else."""
    if each.syndrome is None or each.opcode != report_frames.ACKNOWLEDGE:
        return None
    kind, code = each.syndrome >> 5 & 3, each.syndrome & 31
    if kind == 3:
        return NAKS[code] if code < len(NAKS) else "reserved"
    return "rnr" if kind == 1 else None


def _roce_flow(found):
    naks = collections.Counter(map(_nak, found))
    ecn = collections.Counter(each.ecn for each in found)
    return {
        "packets": len(found),
        "bytes": sum(each.bytes for each in found),
        "payload_bytes": sum(each.payload_length for each in found),
        "opcodes": dict(
            collections.Counter(report_frames.opcode_name(each.opcode) for each in found)
        ),
        "ecn": {name: ecn[code] for code, name in enumerate(ECN)},
        "nak": {name: naks[name] for name in NAKS},
        "rnr_nak": naks["rnr"],
        "cnp": sum(each.opcode == report_frames.CNP for each in found),
        "icrc": {
            status: sum(each.icrc == status for each in found)
            for status in ("good", "bad", "unverified")
        },
        "first_frame": found[0].frame.number,
        "last_frame": found[-1].frame.number,
    }


def rdma_flows_of(found):
    """{(source, destination, destination queue pair): counts} of RoCE packets."""
    flows = collections.defaultdict(list)
    for each in found:
        flows[flow_of(each)].append(each)
    return {flow: _roce_flow(every) for flow, every in flows.items()}


def rdma_flows(path):
    return rdma_flows_of(of_kind(path, Roce))


# ---- connections, as CLC tells them ----


def has_option(segment):
    return any(kind in EXPERIMENTS and value[:4] == SMC_R for kind, value in segment.options)


def _bytes_in_order(segments):
    """[(frame, byte)] at the beginning of one direction, as far as nothing is missing."""
    syn = next((each.seq + 1 for each in segments if each.flags & report_frames.SYN), None)
    start = segments[0].seq if syn is None else syn
    known = {}
    for each in segments:
        at = report_tcp.ahead(each.seq + bool(each.flags & report_frames.SYN), start)
        if at < LONGEST_CLC:
            for offset, byte in enumerate(each.payload[: each.length], at):
                known.setdefault(offset, (each.frame, byte))
    found = []
    while len(found) in known:
        found.append(known[len(found)])
    return found


def _clc_of(segments, client):
    """CLC messages of one direction; the frame is that of the last byte to come."""
    known = _bytes_in_order(segments) if segments else []
    stream, at = bytes(byte for _, byte in known), 0
    while stream[at : at + 4] in (SMC_R, SMC_D) and len(stream) - at >= CLC_HEADER:
        length = number(stream, at + 5, 2)
        if not CLC_HEADER <= length <= len(stream) - at:
            return
        data = stream[at : at + length]
        frame = max((frame for frame, _ in known[at : at + length]), key=lambda each: each.number)
        yield Clc(frame, client, data[4], data[7] >> 4, data)
        at += length


def clc(flow):
    """The client, and the CLC messages in the order of the frames. Without a SYN, their kinds tell
    it."""
    ways = [
        [each for each in flow.segments if (each.ends == flow.first.ends) == up]
        for up in (True, False)
    ]
    told = (
        way[0].ends[each.kind == ACCEPT]
        for way in ways
        if way
        for each in _clc_of(way, None)
        if each.kind in (PROPOSAL, ACCEPT, CONFIRM)
    )
    client = flow.client or next(told, None)
    found = [each for way in ways if way for each in _clc_of(way, way[0].ends[0] == client)]
    return client, sorted(found, key=lambda each: each.frame.number)


def _outcome(flow, messages):
    """Of a connection whose handshakes the capture has; None where the bytes alone do not tell
    it."""
    kinds = {each.kind for each in messages}
    if DECLINE in kinds:
        return "fallback"
    both = None not in flow.isn().values()
    if CONFIRM in kinds and not both:  # a Decline may be absent
        return None
    if CONFIRM in kinds:
        return (
            "smc-d"
            if any(each.data[:4] == SMC_D for each in messages if each.kind == CONFIRM)
            else "smc-r"
        )
    flags = [each.flags for each in flow.segments]
    lacks = any(each.flags & report_frames.SYN and not has_option(each) for each in flow.segments)
    ended = (
        any(each & report_frames.RST for each in flags)
        or sum(bool(each & report_frames.FIN) for each in flags) > 1
    )
    return "tcp" if not messages and both and (lacks or ended) else None


def connection(flow):
    """What a report says of a TCP connection by its handshakes; None if it has nothing to do with
    SMC."""
    client, messages = clc(flow)
    if not messages and not any(map(has_option, flow.segments)):
        return None
    tokens = {
        each.client: f"0x{number(each.data, TOKEN, 4):08x}"
        for each in messages
        if each.kind in (ACCEPT, CONFIRM) and each.data[:4] == SMC_R
    }
    steps = [
        next((each.frame for each in messages if each.kind == kind), None)
        for kind in (PROPOSAL, ACCEPT, CONFIRM)
    ]
    syn = next(
        (
            each.frame
            for each in flow.segments
            if each.flags & report_frames.SYN and not each.flags & report_frames.ACK
        ),
        None,
    )
    ends = {flow.first.ends[0], flow.first.ends[1]}
    server = next(iter(ends - {client})) if client else None
    return {
        "tcp_stream": flow.stream,
        "tcp_isn": flow.isn(),
        "outcome": _outcome(flow, messages),
        "tokens": {"client": tokens.get(True), "server": tokens.get(False)},
        "client": {"addr": client and client[0], "port": client and client[1]},
        "server": {"addr": server and server[0], "port": server and server[1]},
        "versions": sorted({each.version for each in messages if each.kind in (ACCEPT, CONFIRM)}),
        "setup": {
            f"{name}_s": (to.time - begin.time) / 1e9 if begin and to else None
            for name, begin, to in zip(
                ("tcp", "accept", "confirm"), [syn, *steps], steps, strict=False
            )
        },
    }


@functools.cache
def connections(path):
    found = map(connection, report_tcp.flows(path))
    return [each for each in found if each]


def segments(path):
    return of_kind(path, Segment)
