"""Whatever bytes come, the report is made, and its JSON is valid JSON in valid UTF-8. Under
AddressSanitizer and UBSan."""

import json
import re

import alter
import pytest
from bed import captures
from hostile import Shower, sanitized

MADE = {**captures("synthetic"), **captures("malformed")}
ALL_IN = ("-o", "smcr.roce:TRUE", "-o", "smcr.check_icrc:TRUE")
SEEDS = 3
SMALL = 25_000  # bytes of a real capture that is mutated
MUTATED = {
    **MADE,
    **{name: path for name, path in captures("real").items() if path.stat().st_size <= SMALL},
}


def check_json(printed):
    """Raises where it is no report."""
    report = json.loads(printed, parse_constant=pytest.fail)  # no NaN
    assert report["schema"] == "smcr-report/1" and report["capture"]["frames"] > 0


def check_text(printed):
    lines = printed.splitlines()
    assert "\nFindings\n" in printed and max(map(len, lines)) <= 72 and len(lines) <= 60


def check_page(printed):
    blocks = re.findall(r'(?s)<script type="application/json" id="\w+">(.*?)</script>', printed)
    report, rows, pictures, *_ = (json.loads(block, parse_constant=pytest.fail) for block in blocks)
    assert report["capture"]["frames"] > 0 and printed.endswith("</html>\n")
    assert len(pictures["connections"]) <= len(rows["rows"])


@pytest.mark.parametrize(
    "arguments, check",
    [
        (("-q", "-z", "smcr,json"), check_json),
        (("-2", "-q", "-z", "smcr,json", *ALL_IN), check_json),
        (("-2", "-q", "-z", "smcr,report", *ALL_IN), check_text),
        (("-2", "-q", "-z", "smcr,html", *ALL_IN, "-o", "smcr.anonymous:TRUE"), check_page),
    ],
)
def test_mutated(bed, scratch, arguments, check):
    shower = Shower(sanitized(bed), scratch / "altered.pcap", arguments, check)
    for path in MUTATED.values():
        linktype, frames = alter.read(path)
        shower.add(linktype, alter.mutated(linktype, frames, shower.copies, range(SEEDS)))
    shower.finish()
    assert shower.frames > 5000


@pytest.mark.parametrize("name", captures("malformed"))
def test_as_they_are(bed, name):
    tshark = sanitized(bed)
    check_json(tshark.show(name, "-q", "-z", "smcr,json", *ALL_IN, errors="strict"))
    check_text(tshark.show(name, "-2", "-q", "-z", "smcr,report", *ALL_IN))
