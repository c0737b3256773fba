"""`breaches` of a report, against the expert items of the frames, which other tests hold against
the bytes."""

import collections
import xml.etree.ElementTree as xml

import pytest
from bed import PREFERENCES
from report_runs import CALM, MALFORMED, TWO, copy_of, differences, fail_on, report

OTHERS = ["6.1-v2-g1-server-killed", "llc-delete-link-reasons", "roce-odd", "vectors"]
WARN, ERROR = 0x00600000, 0x00800000
MALFORMED_GROUP, PROTOCOL = 0x07000000, 0x09000000


def expert_items(tshark, name):
    """(frame, filter name, severity, group) of our expert items in the second pass."""
    text = tshark.run(
        "-n",
        *PREFERENCES,
        *CALM,
        "-2",
        "-r",
        copy_of(tshark, name),
        "-T",
        "pdml",
        "-Y",
        "_ws.expert"
    )
    for packet in xml.fromstring(text).iter("packet"):
        frame = int(packet.find("proto[@name='geninfo']/field[@name='num']").get("show"))
        for item in packet.iter("field"):
            values = {each.get("name"): each.get("show") for each in item}
            named = [each for each in values if each and each.startswith("smcr.")]
            if item.get("name") == "_ws.expert" and named:
                yield frame, named[0], int(values["_ws.expert.severity"]), int(
                    values["_ws.expert.group"]
                )


@pytest.mark.parametrize("name", [*MALFORMED, *OTHERS])
def test_breaches(tshark, name):
    """Broken formats and rules: how often each, and where first."""
    counts, first = collections.Counter(), {}
    for frame, item, severity, group in expert_items(tshark, name):
        if severity in (WARN, ERROR) and group in (MALFORMED_GROUP, PROTOCOL):
            kind = item.removeprefix("smcr.")
            counts[kind] += 1
            first.setdefault(kind, frame)
    found, frames = collections.Counter(), {}
    for each in report(tshark, name, TWO)["breaches"]:
        found[each["kind"]] += each["count"]
        frames[each["kind"]] = min(each["frame"], frames.get(each["kind"], each["frame"]))
        assert each["by"] in ("client", "server", None)
    fail_on(
        differences(
            {"count": dict(found), "frame": frames}, {"count": dict(counts), "frame": first}
        )
    )
