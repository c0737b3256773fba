"""`tcp_flows` of a report: against a reader of the bytes (report_tcp.py), and the rules that set
the marks."""

import collections
import functools

import pytest
import report_reader
import report_tcp
import tcp_scenes
from report_frames import CWR, ECE, FIN, SYN
from report_runs import (
    ALL_TWO,
    ONE,
    PATHS,
    TWO,
    assert_same,
    differences,
    every_run,
    fail_on,
    name_of,
    parse,
    print_json,
    report,
)

NO_IP = ["exported-source"]  # what its frames carry has no IP header
ECN = "tcp-ecn"

# Of tcp-ecn: what the hosts' rules counted (packets with ECT(0), of these marked CE), and the bits
# of all segments.
RULES = {"10.0.0.1": (360, 9), "10.0.0.2": (215, 3)}
BITS = {
    "10.0.0.1": {"ece": 221, "cwr": 9, "segments": 417},
    "10.0.0.2": {"ece": 60, "cwr": 2, "segments": 337},
}


def by_stream(flows):
    found = {flow["tcp_stream"]: flow for flow in flows}
    assert len(found) == len(flows)
    return found


@every_run
def test_flows(tshark, name, run):
    if name in NO_IP:
        pytest.skip("no IP")
    expected = [flow.report() for flow in report_tcp.flows(PATHS[name])]
    fail_on(
        differences(
            {"tcp_flows": by_stream(report(tshark, name, run)["tcp_flows"])},
            {"tcp_flows": by_stream(expected)},
        )
    )


# ---- scenes that no capture shows ----


def part(whole, like):
    """Of an object, the members that another one has."""
    return {
        name: part(whole[name], each) if isinstance(each, dict) else whole[name]
        for name, each in like.items()
    }


@functools.cache
def file_of(folder, scene):
    path = folder / f"scene-{scene.__name__}.pcap"
    if not path.exists():
        path.write_bytes(scene()[0].pcap())
        path.chmod(0o644)
    return path


every_scene = pytest.mark.parametrize("scene", tcp_scenes.SCENES, ids=lambda scene: scene.__name__)


@every_scene
def test_reader_counts_as_by_hand(tmp_path, scene):
    path = file_of(tmp_path, scene)
    expected = scene()[1]
    assert_same(part(report_tcp.flows(path)[0].report(), expected), expected)


@pytest.mark.parametrize("run", [ONE, TWO], ids=name_of)
@every_scene
def test_scene(tshark, scratch, scene, run):
    path = file_of(scratch, scene)
    found = parse(print_json(tshark, path, run))
    assert_same(
        {"tcp_flows": by_stream(found["tcp_flows"])},
        {"tcp_flows": by_stream([flow.report() for flow in report_tcp.flows(path)])},
    )
    assert_same(
        {member: found["capture"][member] for member in report_reader.capture(path)},
        report_reader.capture(path),
    )
    assert_same(found["ip"], report_reader.ip(path))


# ---- marks, as the rules of the hosts counted them ----


def marked(segments, *, apart):
    """Marks of segments that the report leaves out (apart), or has: {source: counts}."""
    found, closed = collections.defaultdict(collections.Counter), set()
    for each in segments:
        left_out = bool(each.flags & FIN) or each.ends in closed
        if left_out == apart and not each.flags & SYN:
            found[each.ends[0][0]].update(
                ce=each.ecn == 3, ece=bool(each.flags & ECE), cwr=bool(each.flags & CWR), segments=1
            )
        if each.flags & FIN:
            closed.add(each.ends)
    return found


@pytest.mark.parametrize("run", [ALL_TWO], ids=name_of)
def test_marks_of_tcp_ecn(tshark, run):
    """Of all connections together, with what a FIN carried or came behind it: as rules and bits
    were counted."""
    total = collections.defaultdict(collections.Counter)
    flows = report(tshark, ECN, run)["tcp_flows"]
    for flow in flows:
        assert (flow["ecn_initiated"], flow["ecn_accepted"]) == (True, True)
        for end, way in ((flow["src"], flow["up"]), (flow["dst"], flow["down"])):
            total[end].update(
                {name: way[name] for name in ("ce", "ece", "cwr", "segments", "sce", "esce")}
            )
    apart = marked(report_reader.segments(PATHS[ECN]), apart=True)
    for end, (_, ce) in RULES.items():
        assert total[end]["ce"] + apart[end]["ce"] == ce
        assert (total[end]["ece"] + apart[end]["ece"], total[end]["cwr"] + apart[end]["cwr"]) == (
            BITS[end]["ece"],
            BITS[end]["cwr"],
        )
        assert total[end]["segments"] == BITS[end]["segments"]
        assert (total[end]["sce"], total[end]["esce"]) == (0, 0)


def test_fin_segments_of_tcp_ecn():
    """An independent count: each connection has one FIN of each end, and nothing with data comes
    behind it."""
    segments = report_reader.segments(PATHS[ECN])
    fins = collections.Counter(each.ends for each in segments if each.flags & FIN)
    assert len(fins) == 4
    everything, apart = marked(segments, apart=False), marked(segments, apart=True)
    for end, (ect, ce) in RULES.items():
        sent = [each for each in segments if each.ends[0][0] == end]
        assert sum(each.ecn != 0 for each in sent) == ect
        assert everything[end]["ce"] + apart[end]["ce"] == ce
        assert sum(1 for each in sent if each.flags & SYN and each.flags & ECE) == 2


def test_bytes_of_tcp_ecn(tshark):
    """What the programs say they sent is what was acknowledged, without SYN and FIN."""
    acked = sorted(
        (flow["up"]["acked_bytes"], flow["down"]["acked_bytes"])
        for flow in report(tshark, ECN, ALL_TWO)["tcp_flows"]
    )
    assert acked == [(5000, 3000), (500200, 300000)]
