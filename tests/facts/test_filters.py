"""
What people who know TCP's filters look for: all segments of a connection, ports of packets on RoCE,
packets that came out of order. Told again from what Wireshark says of TCP, InfiniBand, Ethernet and
IP.
"""

import decimal
import gzip

import pytest
from bed import CAUSES, captures

EXID, EYECATCHERS = "0xe2d4", ("e2d4c3d9", "e2d4c3c4")
WITH_IDS = (
    "6.12-v2-n-lossy"  # of IPv4: its identifications tell the order in which packets were sent
)


def first(values):
    return values[0] if values else None


def segments(tshark, name):
    """{TCP stream: [(frame, begins, {smcr.stream})]}; `begins`: the segment has the option, or a
    CLC message."""
    streams = {}
    for number, stream, exid, payload, ours in tshark.fields(
        name,
        "frame.number",
        "tcp.stream",
        "tcp.options.experimental.exid",
        "tcp.payload",
        "smcr.stream",
        where="tcp && !icmp",
        two_pass=True,
    ):
        begins = EXID in exid or any(each.startswith(EYECATCHERS) for each in payload)
        streams.setdefault(first(stream), []).append((int(number[0]), begins, set(ours)))
    return streams


def test_all_segments_of_a_connection(tshark):
    """SYN, SYN-ACK, acknowledgements, FIN and RST, from the first sign of SMC-R on; no segment of
    others."""
    wrong, named = [], 0
    for name in captures("real"):
        for frames in segments(tshark, name).values():
            start = next((frame for frame, begins, _ in frames if begins), None)
            numbers = set().union(*(ours for *_, ours in frames))
            named += start is not None
            wrong += [
                (name, frame, ours)
                for frame, _, ours in frames
                if len(numbers) > 1
                or ours != (numbers if start is not None and frame >= start else set())
            ]
            wrong += [(name, start)] * (start is not None and len(numbers) != 1)
    assert wrong == [] and named > 100


@pytest.mark.parametrize(
    "field, number",
    [("smcr.stream", 1), ("smcr.port", 2), ("smcr.srcport", 1), ("smcr.endpoint.src", 1)],
)
def test_names_are_told_once(tshark, field, number):
    """Each alone: what nobody asks for is in no tree."""
    for name in ("6.1-v2-c-three-conns", "clc-port80-http"):
        rows = tshark.fields(name, "frame.number", field, where="tcp && !icmp", two_pass=True)
        assert {len(found) for _, found in rows} == {number}


def test_times(tshark):
    """Between frames that carry the option, a message or an RDMA WRITE of one connection, and since
    the first of them."""
    wrong, told, without = [], 0, 0
    for name in captures("real", "synthetic"):
        first_of, last_of = {}, {}
        for number, now, streams, exid, clc, psn, acks, relative, delta in tshark.fields(
            name,
            "frame.number",
            "frame.time_epoch",
            "smcr.stream",
            "smcr.option",
            "smcr.clc",
            "infiniband.bth.psn",
            "smcr.acks",
            "smcr.time_relative",
            "smcr.time_delta",
            where="smcr.stream",
            two_pass=True,
        ):
            if not (exid or clc or psn) or acks or len(set(streams)) != 1:
                continue
            stream, now = streams[0], decimal.Decimal(now[0])
            if (clc or psn) and relative:
                told += 1
                if [decimal.Decimal(each) for each in relative[:1]] != [
                    now - first_of.get(stream, now)
                ]:
                    wrong.append((name, number[0], "relative", relative))
                if delta and decimal.Decimal(delta[0]) != now - last_of.get(stream, now):
                    wrong.append((name, number[0], "delta", delta, now - last_of.get(stream, now)))
                without += not delta and stream in last_of
            first_of.setdefault(stream, now)
            last_of[stream] = now
    assert wrong == [] and told > 10000 and without < 30, (wrong, told, without)


def test_ports_on_roce(tshark):
    """A host's packets on RoCE come from the Ethernet address that its TCP segments come from."""
    wrong, told = [], 0
    for name in captures("real"):
        ports, last = {}, []
        for number, mac, psn, stream, source, target, ours, *shown in tshark.fields(
            name,
            "frame.number",
            "eth.src",
            "infiniband.bth.psn",
            "tcp.stream",
            "tcp.srcport",
            "tcp.dstport",
            "smcr.tcp_stream",
            "smcr.srcport",
            "smcr.dstport",
            where="tcp || infiniband",
            two_pass=True,
        ):
            if stream and not psn:
                ports[stream[0], mac[0]] = [source[:1], target[:1]]
            elif ours:
                last.append((number[0], ours[0], mac[0], [each[:1] for each in shown]))
        for number, stream, mac, shown in last:
            told += (stream, mac) in ports
            if shown != ports.get((stream, mac), shown):
                wrong.append((name, number, shown))
    assert wrong == [] and told > 1000


def kinds(option, acknowledges, types, cdc, closed, abort):
    """The bits of what a frame has of its connection."""
    acknowledges, closed, abort = (
        bool({"1", "True"} & set(each)) for each in (acknowledges, closed, abort)
    )  # 4.0, 4.4
    flags = [
        option and not acknowledges,
        option and acknowledges,
        *(kind in types for kind in "123"),
        cdc,
        closed,
        abort,
        "4" in types,
    ]
    return sum(bool(flag) << bit for bit, flag in enumerate(flags))


def test_completeness(tshark):
    """A bit for each kind that a connection has in the capture; and the round trip of its TCP
    handshake."""
    wrong, sums, trips = [], set(), 0
    for name in captures("real"):
        expected, trip, told = {}, {}, []
        for streams, rtt, shown, ours, *seen in tshark.fields(
            name,
            "smcr.stream",
            "tcp.analysis.initial_rtt",
            "smcr.completeness",
            "smcr.initial_rtt",
            "smcr.option",
            "tcp.flags.ack",
            "smcr.clc.type",
            "smcr.cdc",
            "smcr.cdc.closed",
            "smcr.cdc.abort",
            where="smcr.stream",
            two_pass=True,
        ):
            for stream in set(streams):
                expected[stream] = expected.get(stream, 0) | kinds(*seen)
            if len(set(streams)) == 1:
                trip.setdefault(streams[0], set()).update(rtt)
                told += [(streams[0], int(each, 16), set(ours)) for each in shown]
        sums |= set(expected.values())
        trips += sum(bool(ours) for *_, ours in told)
        wrong += [
            (name, stream, *row)
            for stream, *row in told
            if row != [expected[stream], trip.get(stream, set())]
        ]
    assert wrong == [] and len(sums) > 7 and trips > 1000, (wrong, sums, trips)


def path_of(scratch, name):
    """A capture of the project, unpacked."""
    found = captures("real", CAUSES)
    if name in found:
        return found[name]
    path = scratch / f"{name}.pcapng"
    path.write_bytes(gzip.decompress(found[f"{name}.pcapng"].read_bytes()))
    path.chmod(0o644)
    return path


def flows(tshark, name):
    """
    Requests: {(address, queue pair): [(frame, PSN, IPv4 identification, frame that is told to have
    come before it, whether it is told to be of a retransmission)]}
    """
    found = {}
    for number, source, qpn, psn, opcode, ids, told, cause in tshark.fields(
        name,
        "frame.number",
        "eth.src",
        "infiniband.bth.destqp",
        "infiniband.bth.psn",
        "infiniband.bth.opcode",
        "ip.id",
        "smcr.out_of_order",
        "smcr.resent.cause",
        where="infiniband",
        two_pass=True,
    ):
        if int(opcode[0]) & 0x1F < 0x0D:
            found.setdefault((source[0], qpn[0]), []).append(
                (
                    int(number[0]),
                    int(psn[0]),
                    int(ids[0], 16) if ids else None,
                    int(told[0]) if told else None,
                    bool(cause),
                )
            )
    return found


@pytest.mark.parametrize("name", ["6.1-v1-n-lossy", WITH_IDS])
def test_out_of_order(tshark, scratch, name):
    """
    A packet whose PSN no packet had before, although a higher one had: that one is named, the first
    behind the gap. Where identifications tell the order in which packets were sent, exactly those
    are told that were sent before, and are of no retransmission.
    """
    wrong, number = [], 0
    for packets in flows(tshark, path_of(scratch, name)).values():
        highest, seen, gaps = None, set(), {}
        for frame, psn, identification, told, again in packets:
            for missing in range(highest + 1, psn) if highest is not None else ():
                gaps[missing] = (frame, identification)
            late = psn in gaps and psn not in seen
            overtaker, sent = gaps.get(psn, (None, None))
            number += told is not None
            if told is not None and (not late or told != overtaker):
                wrong.append((frame, told, overtaker))
            if (
                name == WITH_IDS
                and late
                and not again
                and (told is not None) != ((sent - identification) % 0x10000 < 0x8000)
            ):
                wrong.append((frame, told, "by identification"))
            seen.add(psn)
            highest = psn if highest is None else max(highest, psn)
    assert wrong == [] and number > 50
    assert tshark.frames(path_of(scratch, name), "smcr.out_of_order") == []  # in one pass
