"""
Lumina's rules (lumina_rules.py) on captures of which it is known what was dropped, or which limit
an adapter has for its CNPs: their figures are ours, and they accept what we call go-back-N.
"""

import lumina_rules
import pytest
from bed import TOP
from report_runs import TWO, parse, print_json
from scapy.utils import PcapNgReader, wrpcap
from test_adapters import ALL_FLOWS, LIMIT, RECEIVER, ROCE, congested, limit_of, written

# scope of the report: the scopes of Lumina that say the same of adapters with one address each
SAME = {"flow": set(), "pair": {"pair", "address"}, "address": {"port"}}

FABRIC = TOP / "captures" / "fabric"
LOSS, EVERY = "nak-loss-after-capture", 40
CLIENT, SERVER = "10.0.0.1", "10.0.0.2"
WRITERS = [(18, 1236), (22, 1240)]  # of the client, of the server


def path_of(name):
    return FABRIC / f"{name}.pcapng.gz"


def report_of(tshark, path):
    return parse(print_json(tshark, tshark.bed.capture(path), TWO, options=ROCE))


def pairs_of(packets, client, server):
    """The queue pairs, and the last PSN of the client's data."""
    data = [
        each.psn
        for each in packets
        if lumina_rules.to(each) == (SERVER, server) and lumina_rules.is_data(each)
    ]
    return lumina_rules.QueuePairs((CLIENT, client), (SERVER, server), data[0]), max(data)


def dropped_of(packets, pairs):
    """The frames to the server that its host dropped while these queue pairs were in use: every
    40th, and of those the ones that the NAKs name. Only one of the 40 ways to count fits."""
    mine = lumina_rules.between(packets, pairs)
    first, last = mine[0].frame.number, mine[-1].frame.number
    ours = [each for each in packets if each.dst == SERVER]
    naks = [each for each in mine if lumina_rules.is_nak(each)]
    fitting = []
    for start in range(EVERY):
        dropped = [each for each in ours[start::EVERY] if first <= each.frame.number <= last]
        psns = {each.psn for each in dropped if lumina_rules.to(each) == pairs.receiver}
        if all(nak.psn in psns for nak in naks):
            fitting.append({each.frame.number for each in dropped})
    [found] = fitting
    return found


def microseconds(times):
    """Number, shortest, longest and sum of times, nanoseconds."""
    return [len(times), *(round(each / 1000) for each in (min(times), max(times), sum(times)))]


def told(distribution):
    """The same of a distribution of the report."""
    values = (distribution[each] for each in ("min", "max", "sum"))
    return [distribution["count"], *(round(each * 1e6) for each in values)]


def recovery_of(report, client, server):
    [found] = [
        each["recovery"]
        for each in report["rdma_flows"]
        if (each["dst"], each["dst_qpn"]) == (SERVER, server)
    ]
    return found


@pytest.mark.parametrize("client, server", WRITERS)
def test_go_back_n_and_times(tshark, scratch, client, server):
    """Of the nine packets that the server's host dropped after the capture point."""
    path = path_of(LOSS)
    packets = lumina_rules.packets_of(path)
    pairs, last = pairs_of(packets, client, server)
    dropped = dropped_of(packets, pairs)
    sender = lumina_rules.Sender(packets, pairs, last)
    assert sender.is_right and sender.naks == 9
    assert lumina_rules.Receiver(packets, pairs, last, dropped).is_right
    assert not lumina_rules.Receiver(packets, pairs, last, set()).is_right
    generation, response = lumina_rules.delays(packets, pairs, dropped)
    recovery = recovery_of(report_of(tshark, path), client, server)
    assert (recovery["go_back_n"], recovery["selective"]) == (9, 0)
    assert recovery["timeout_s"]["count"] == sender.timeouts
    assert told(recovery["nak_to_resend_s"]) == microseconds(response)
    near = scratch / f"near-{server}.pcap"
    with PcapNgReader(str(path)) as reader:
        wrpcap(str(near), [each for number, each in enumerate(reader, 1) if number not in dropped])
    assert told(recovery_of(report_of(tshark, near), client, server)["gap_to_nak_s"]) == (
        microseconds(generation)
    )


def lost_with_all_after(packets, reading, damaged):
    """Damaged responses, and the others up to the next request: nothing shows the gap."""
    lost, is_lost = set(), False
    for each in lumina_rules.of_reading(packets, reading):
        is_response = lumina_rules.to(each) == reading.requester
        is_lost = is_response and (is_lost or each.frame.number in damaged)
        if is_lost:
            lost.add(each.frame.number)
    return lost


def without(path, lost, wait):
    """The frames of a capture that are not lost, and after each run of lost ones a wait, seconds:
    the requester's timer."""
    later, is_lost = 0, False
    with PcapNgReader(str(path)) as reader:
        for number, each in enumerate(reader, 1):
            later += wait if is_lost and number not in lost else 0
            is_lost = number in lost
            each.time = float(each.time) + later
            if not is_lost:
                yield each


def steps_of_reads(tshark, path, queue_pair):
    """How often the requester has gone back, by the plugin."""
    fields = ("-T", "fields", "-e", "smcr.resent.from")
    shown = f"smcr.resent.cause == 4 && smcr.dst_qpn == {queue_pair}"
    arguments = ("-2", *ROCE, "-Y", shown, *fields)
    return len(set(tshark.show(path, *arguments).split()))


def test_reads(tshark, scratch):
    """Of ten damaged responses the requester misses one each, and asks again for what is missing.
    If all responses up to its next request are lost, too, it does so after a timeout; once that
    request is a new one, whose response shows the gap."""
    path = FABRIC.parent / "roce" / "icrc-wrong.pcapng.gz"
    reading = lumina_rules.Reading((CLIENT, 20), (SERVER, 1238), 1024)
    packets = lumina_rules.packets_of(path)
    damaged = {each.frame.number for each in packets if each.icrc == "bad"}
    burst = lost_with_all_after(packets, reading, damaged)
    less, waits = scratch / "reads-in-bursts.pcap", scratch / "reads-in-bursts-that-wait.pcap"
    wrpcap(str(less), list(without(path, burst, 0)))
    wrpcap(str(waits), list(without(path, burst, 0.08)))
    rows = ((damaged, 10, 0, path), (burst, 1, 9, less), (burst, 1, 9, waits))
    for lost, gaps, timeouts, shown in rows:
        requester = lumina_rules.Requester(packets, reading, lost)
        assert requester.is_right and (requester.gaps, requester.timeouts) == (gaps, timeouts)
        assert steps_of_reads(tshark, shown, 1238) == gaps + timeouts
        recovery = recovery_of(report_of(tshark, shown), CLIENT, 1238)
        told_timeouts = 0 if shown == less else timeouts  # waits of 3 to 9 ms prove no timer
        assert (recovery["implied_naks"], recovery["read_timeouts"]) == (gaps, told_timeouts)
        assert recovery["timeout_s"]["count"] == told_timeouts and recovery["needless"] == 0
    assert lumina_rules.Responder(packets, reading, set()).is_right
    assert not lumina_rules.Requester(packets, reading, set()).is_right
    assert not lumina_rules.Responder(packets, reading, {723}).is_right  # a re-request
    for name, client, server in (("nocm-perftest", 19, 1237), ("cnp-np-cm", 20, 1238)):
        packets = lumina_rules.packets_of(path_of(name))
        reading = lumina_rules.Reading((CLIENT, client), (SERVER, server), 1024)
        requester = lumina_rules.Requester(packets, reading, set())
        assert lumina_rules.Responder(packets, reading, set()).is_right and requester.is_right
        assert requester.asked and (requester.gaps, requester.timeouts) == (0, 0)


def test_cnps_of_two_programs(tshark):
    """Marked packets of data and CNPs are counted alike; none of Lumina's limits fits the timers of
    the programs, and the report has none."""
    path = path_of("cnp-np-cm")
    packets, report = lumina_rules.packets_of(path), report_of(tshark, path)
    for receiver, programs in ((SERVER, 0.002), (CLIENT, 0.004)):
        data = [flow["classes"]["data"] for flow in report["rdma_flows"] if flow["dst"] == receiver]
        found = {
            scope: lumina_rules.Cnps(packets, receiver, scope, round(programs * 1e9))
            for scope in lumina_rules.SCOPES
        }
        assert {each.marked for each in found.values()} == {
            sum(each["ecn"]["ce"] for each in data if each)
        }
        sent = sum(flow["cnp"] for flow in report["rdma_flows"] if flow["src"] == receiver)
        assert {sum(each.sent.values()) for each in found.values()} == {sent} and sent > 20
        assert not any(each.is_right for each in found.values())
        [adapter] = [each for each in report["adapters"] if each["addr"] == receiver]
        assert limit_of(adapter)[0] is None


def test_limits_of_cnps(tshark, scratch):
    """Lumina gets the limit as an argument, and accepts the scope that the report finds."""
    for scope, same in SAME.items():
        path = written(scratch, f"lumina-{scope}", congested(7, scope, False, ALL_FLOWS))
        packets = lumina_rules.packets_of(path)
        accepted = {
            each
            for each in lumina_rules.SCOPES
            if lumina_rules.Cnps(packets, RECEIVER, each, LIMIT).is_right
        }
        report = report_of(tshark, path)
        [adapter] = [each for each in report["adapters"] if each["addr"] == RECEIVER]
        assert (limit_of(adapter)[0], accepted) == (scope, same)
