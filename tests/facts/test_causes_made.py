"""
The same of troubles that are built: `causes_made.json` has the truth of each scene of
cause_scenes.py. Beside what causes.json has: `options`, preferences other than those that look at
all packets; `page`, words anywhere on the page; `unhealthy`, where nobody can say that nothing is
wrong, since nobody has looked; `figures`, sums over `rdma_flows`.
"""

import functools
import json
import pathlib

from cause_scenes import SCENES, build
from test_findings import OPTIONS

TRUTH = json.loads((pathlib.Path(__file__).parent / "causes_made.json").read_text(encoding="utf-8"))


def reports(tshark, scratch, name):
    """(JSON, page) of a scene."""
    path = scratch / f"{name}.pcap"
    path.write_bytes(build(name))
    path.chmod(0o644)
    printed = tshark.show(
        path,
        *TRUTH[name].get("options", OPTIONS),
        "-2",
        "-q",
        "-z",
        "smcr,json",
        "-z",
        "smcr,report",
    )
    start = printed.index("{")
    report, end = json.JSONDecoder().raw_decode(printed, start)
    return report, " ".join((printed[:start] + printed[end:]).split())


def sum_of(report, path):
    """Of a member of all RDMA flows: "late_naks", "repeated_after.nak"."""
    return sum(
        functools.reduce(lambda entry, name: entry[name], path.split("."), flow)
        for flow in report["rdma_flows"]
    )


def lacking(truth, report, page):
    """What is not as it should be."""
    findings = report["findings"]
    look = page.partition(" Findings ")[2].partition(" Connections: ")[0]
    grave = [each for each in findings if each["severity"] != "info"]
    first = (findings or [{"kind": None, "text": ""}])[0]
    if ("No fault" in page) != (
        truth["first"] is None and not truth.get("unhealthy")
    ) or bool(grave) != bool(truth["first"]):
        yield f"healthy: {look}"
    if truth["first"] and first["kind"] != truth["first"]:
        yield f"kind {first['kind']}: {first['text']}"
    yield from (
        f"no word {word}: {first['text']}" for word in truth["words"] if word not in first["text"]
    )
    yield from (
        f"no word {word} on the page: {look}" for word in truth.get("page", ()) if word not in page
    )
    yield from (f"word {word}: {look}" for word in truth.get("unsaid", ()) if word in look)
    yield from (
        f"{path}: {sum_of(report, path)}"
        for path, right in truth.get("figures", {}).items()
        if sum_of(report, path) != right
    )


def test_first_findings_of_made_troubles_are_the_truth(tshark, scratch):
    assert set(TRUTH) == set(SCENES)
    wrong = {
        name: list(lacking(truth, *reports(tshark, scratch, name))) for name, truth in TRUTH.items()
    }
    assert {name: each for name, each in wrong.items() if each} == {}
