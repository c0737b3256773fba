"""
The first finding of a capture is its true cause. `causes.json` has the truth of each kind of capture: what its makers did,
and the words that the first finding must have; none where nothing is wrong. Captures of real hosts only.
"""

import json
import pathlib
import re

import pytest
from bed import APPLICATIONS, CAUSES, PACKED, TOP, captures
from test_findings import OPTIONS

TRUTH = json.loads((pathlib.Path(__file__).parent / "causes.json").read_text(encoding="utf-8"))
PATHS = {name.removesuffix(".pcapng"): path for name, path in captures("real", *PACKED, APPLICATIONS, CAUSES).items()}

# Causes that the report does not tell yet.
OPEN = set()


def known(names):
    mark = pytest.mark.xfail(strict=True, reason="not told yet")
    return [pytest.param(name, marks=mark) if name in OPEN else name for name in names]


# How a finding names what it is about: ends of a connection, hosts of a flow, a link or its group, the capture.
SUBJECT = re.compile(r"\d+\.\d+\.\d+\.\d+|[0-9a-f]*::[0-9a-f]|[Ll]ink group \d|[Cc]onnection \d|\bcapture\b|\bcut:")


@pytest.fixture(scope="module")
def reports(tshark):
    """Both reports of a capture, (findings, text), made once."""
    made = {}

    def make(name):
        if name not in made:
            path = tshark.bed.root / "captures" / PATHS[name].relative_to(TOP / "captures")
            printed = tshark.show(path, *OPTIONS, "-2", "-q", "-z", "smcr,json", "-z", "smcr,report")
            start = printed.index("{")
            report, end = json.JSONDecoder().raw_decode(printed, start)
            made[name] = report["findings"], printed[:start] + printed[end:]
        return made[name]

    return make


def test_each_capture_has_its_truth():
    assert set(TRUTH) == set(PATHS)


@pytest.mark.parametrize("name", known(TRUTH))
def test_first_finding_is_the_truth(reports, name):
    (findings, text), truth = reports(name), TRUTH[name]
    grave = [each for each in findings if each["severity"] != "info"]
    assert ("Nothing is wrong" in text) == (truth["first"] is None) == (not grave)
    if truth["first"]:
        assert findings[0]["kind"] == truth["first"]
        assert [word for word in truth["words"] if word not in findings[0]["text"]] == []
    assert [word for word in truth.get("unsaid", ()) if word in text.partition("\nFindings\n")[2].partition("\n\n")[0]] == []


@pytest.mark.parametrize("name", TRUTH)
def test_findings_have_a_subject(reports, name):
    findings, _ = reports(name)
    assert [each["text"] for each in findings if not SUBJECT.search(each["text"])] == []
