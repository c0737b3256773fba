"""
The first finding of a capture is its true cause. `causes.json` has the truth of each kind of
capture: what its makers did, and the words that the first finding must have; none where nothing is
wrong. Captures of real hosts only.
"""

import json
import pathlib
import re

import alterations
import pcapng
import pytest
import wire
from bed import APPLICATIONS, CAUSES, PACKED, TOP, captures
from test_findings import OPTIONS

TRUTH = json.loads((pathlib.Path(__file__).parent / "causes.json").read_text(encoding="utf-8"))
PATHS = {
    name.removesuffix(".pcapng"): path
    for name, path in captures("real", *PACKED, APPLICATIONS, CAUSES).items()
}

# Causes that the report does not tell yet.
OPEN = set()


def known(names):
    mark = pytest.mark.xfail(strict=True, reason="not told yet")
    return [pytest.param(name, marks=mark) if name in OPEN else name for name in names]


# How a finding names what it is about: ends of a connection, hosts of a flow, a link or its group,
# the capture.
SUBJECT = re.compile(
    r"\d+\.\d+\.\d+\.\d+|[0-9a-f]*::[0-9a-f]|[Ll]ink group \d|[Cc]onnection \d|\bcapture\b|\bcut:"
)


def both(tshark, path):
    """Findings of the JSON, and the page."""
    printed = tshark.show(path, *OPTIONS, "-2", "-q", "-z", "smcr,json", "-z", "smcr,report")
    start = printed.index("{")
    report, end = json.JSONDecoder().raw_decode(printed, start)
    return report["findings"], printed[:start] + printed[end:]


@pytest.fixture(scope="module")
def reports(tshark):
    """Both reports of a capture, (findings, text), made once."""
    made = {}

    def make(name):
        if name not in made:
            path = tshark.bed.root / "captures" / PATHS[name].relative_to(TOP / "captures")
            made[name] = both(tshark, path)
        return made[name]

    return make


def test_each_capture_has_its_truth():
    assert set(TRUTH) == set(PATHS)


@pytest.mark.parametrize("name", known(TRUTH))
def test_first_finding_is_the_truth(reports, name):
    (findings, text), truth = reports(name), TRUTH[name]
    grave = [each for each in findings if each["severity"] != "info"]
    assert ("No fault" in text) == (truth["first"] is None) == (not grave)
    if truth["first"]:
        assert findings[0]["kind"] == truth["first"]
        assert [word for word in truth["words"] if word not in findings[0]["text"]] == []
    assert [
        word
        for word in truth.get("unsaid", ())
        if word in text.partition("\nFindings\n")[2].partition("\n\n")[0]
    ] == []


@pytest.mark.parametrize("name", TRUTH)
def test_findings_have_a_subject(reports, name):
    findings, _ = reports(name)
    assert [each["text"] for each in findings if not SUBJECT.search(each["text"])] == []


# ---- the same captures, made otherwise ----


def doubled(delay):
    """Each frame twice, the second time so many microseconds later."""

    def double(frames, path):
        return sorted(
            [*frames, *(pcapng.at_time(frame, pcapng.time(frame) + delay) for frame in frames)],
            key=pcapng.time,
        )

    return double


def without_roce(frames, path, but=b""):
    """But the packets of the host whose MAC addresses begin so."""
    roce = {packet.frame for packet in wire.roce(path)}
    return [
        frame
        for frame in frames
        if frame.number not in roce or but and alterations.host(frame) == but
    ]


def roce_of(nth):
    """RoCE of one host only."""
    return lambda frames, path: without_roce(
        frames, path, sorted(set(map(alterations.host, frames)))[nth]
    )


def without_acknowledgements(frames, path):
    bare = {packet.frame for packet in wire.roce(path) if packet.opcode == 17}
    return [frame for frame in frames if frame.number not in bare]


def set_back(frames, _path):
    """The clock of the capture is set back by an hour in the middle."""
    half = len(frames) // 2
    hour = 3600 * alterations.UNIT
    return frames[:half] + [
        pcapng.at_time(frame, pcapng.time(frame) - hour) for frame in frames[half:]
    ]


def one_late(frames, _path):
    """A frame has a time stamp of two seconds earlier: the correction does not last."""
    late = frames[len(frames) // 2]
    moved = pcapng.at_time(late, pcapng.time(late) - 2 * alterations.UNIT)
    return [moved if frame is late else frame for frame in frames]


def two_clocks(frames, _path):
    """The packets of one host have time stamps of another clock, which is three seconds ahead."""
    other = sorted(set(map(alterations.host, frames)))[1]
    ahead = 3 * alterations.UNIT
    moved = (
        pcapng.at_time(frame, pcapng.time(frame) + ahead)
        if alterations.host(frame) == other
        else frame
        for frame in frames
    )
    return sorted(moved, key=pcapng.time)


def swapped(frames, _path):
    """The file is not sorted: each fortieth frame stands after its next one."""
    swapped = list(frames)
    for i in range(20, len(frames) - 1, 40):
        swapped[i], swapped[i + 1] = swapped[i + 1], swapped[i]
    return swapped


# capture, how it is altered, kind of the first finding (None: nothing is wrong), what the findings
# do not say
ALTERED = [
    ("6.1-v2-c-three-conns", doubled(300), None, []),
    ("6.1-v2-q-forty-conns", doubled(5000), None, []),
    ("6.1-v1-h4-two-links-rkeys", without_roce, "no_roce", ["RKey", "number"]),
    ("6.1-v2-g1-server-killed", roce_of(0), "abort", ["server aborted", "client aborted"]),
    ("6.1-v2-g1-server-killed", roce_of(1), "abort", ["server aborted", "client aborted"]),
    (
        "6.1-v2-d-bulk-slow-reader",
        without_acknowledgements,
        "buffer_full",
        ["slowly", "round trip"],
    ),
    (
        "6.1-v2-w-smc-unloaded-server",
        lambda frames, path: alterations.snapped(frames, 96),
        "cut_frames",
        [],
    ),
    ("6.1-v2-d-bulk-slow-reader", set_back, "slow_reader", []),
    ("6.1-v2-d-bulk-slow-reader", one_late, "slow_reader", ["stopped answering", "No packet from"]),
    ("6.1-v2-c-three-conns", set_back, "clock_step", []),
    ("6.1-v2-c-three-conns", two_clocks, "clocks_differ", ["broken", "no response", "slow"]),
    ("6.1-v2-q-forty-conns", two_clocks, "clocks_differ", ["broken", "no response", "slow"]),
    ("6.1-v2-c-three-conns", swapped, "unsorted", ["broken", "no response", "slow"]),
]


# display filters of first findings, by kind
FILTERS = {"clocks_differ": "smcr.captured_late"}


def test_altered_captures_blame_nobody(tshark, scratch):
    wrong = {}
    for number, (name, alter, kind, unsaid) in enumerate(ALTERED):
        head, frames = pcapng.read(PATHS[name])
        path = scratch / f"{number}.pcapng"
        pcapng.write(path, head, alter(frames, PATHS[name]))
        path.chmod(0o644)
        findings, text = both(tshark, path)
        told = [each["text"] for each in findings]
        grave = [each["kind"] for each in findings if each["severity"] != "info"]
        if (
            (grave or [None])[0] != kind
            or FILTERS.get(kind) not in (None, *(each["filter"] for each in findings[:1]))
            or ("No fault" in text) != (kind is None)
            or any(word in each for word in unsaid for each in told)
        ):
            wrong[name, number] = told
    assert wrong == {}


# ---- what the capture proves of an end, and what it does not ----


# capture, arguments of the report, what the findings say, what they do not say
ENDS = [
    (
        "rule-cdc-abort",
        ",smcr.port == 41004",
        "192.0.2.1:41004 → 192.0.2.2:50000; the server had closed it in frame 54",
        None,
    ),
    (
        "rule-cdc-abort",
        ",smcr.port == 41003",
        "The client aborted 192.0.2.1:41003",
        "had closed it",
    ),
    (
        "rule-cdc-abort",
        ",smcr.port == 41005",
        "The client aborted 192.0.2.1:41005",
        "had closed it",
    ),
    (
        "peer-second-link",
        "",
        "still open, but no packet in the last 4.70 s; the hosts exchange other packets",
        "path is down",
    ),
]


@pytest.mark.parametrize("name, chosen, said, unsaid", ENDS)
def test_ends(tshark, name, chosen, said, unsaid):
    path = captures("malformed", "synthetic")[name]
    text = " ".join(tshark.show(path, "-2", "-q", "-z", f"smcr,report{chosen}").split())
    assert said in text and not (unsaid and unsaid in text)
