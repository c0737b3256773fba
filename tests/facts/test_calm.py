"""
The plugin is calm: none of Wireshark's stock colour rules paints a frame because of what the plugin
adds. Only the application's dissector, which the user can switch off, brings fields that such a
rule knows.

That no field and no preference of another protocol is changed is in tests/test_plugin.py.
"""

import functools
import shutil

import pytest
from bed import TOP, installed_tshark, wireshark_version

pytestmark = pytest.mark.skipif(
    "with Lua" not in installed_tshark("--version"), reason="the rules are asked by a script in Lua"
)

SCRIPT = TOP / "tests" / "facts" / "colour_rules.lua"
PAYLOAD_OFF = ("-o", "smcr.dissect_payload:FALSE")
TTL = (
    "" if wireshark_version() == "4.0" else "IPv4 "
) + "TTL low or unexpected"  # soft-RoCE sends with 1

# Each with rules that paint something of it, so that the test could fail.
CAPTURES = {
    "6.1-v1-a-first-contact-ipv4": {"TCP", "UDP"},
    "6.1-v1-b-first-contact-ipv6": {"TCP", "UDP"},
    "6.1-v1-f3-plain-tcp-server": {"TCP"},
    "6.1-v1-f6-decline-confirm-link-timeout": {"TCP", "TCP RST"},
    "6.1-v2-b-ipv6-client-declines": {"TCP"},
    "6.1-v2-d-bulk-slow-reader": {"TCP", "UDP", TTL},
    "6.1-v2-f1-decline-server-no-device": {"TCP"},
    "6.1-v2-g1-server-killed": {"TCP", "UDP", TTL},
    "6.1-v2-h1-two-links-second-fails": {"TCP", "UDP", TTL, "ARP"},
    "6.1-v2-j-http11": {"TCP", "UDP", TTL},
    "6.1-v2-n-lossy": {"TCP", "UDP", TTL},
    "6.1-v2-v-vlan": {"TCP", "UDP", TTL},
    "7.2-v2-g5-device-removed": {"TCP", "UDP", TTL, "TCP RST", "ICMP errors"},
    "clc-port80-http": {"TCP", "HTTP"},
    "roce-odd": {"TCP", "UDP"},
}


@pytest.fixture(scope="module")
def script(bed):
    return shutil.copyfile(SCRIPT, bed.scratch / SCRIPT.name)


@functools.cache
def painted(tshark, script, capture, *arguments):
    """({rule: frames that its filter matches}, {frame: the rule that paints it})."""
    lines = [
        line.split("\t")
        for line in tshark.show(
            capture,
            "-2",
            "--color",
            "-T",
            "fields",
            "-e",
            "frame.number",
            "-e",
            "frame.coloring_rule.name",
            "-X",
            f"lua_script:{script}",
            *arguments,
        ).splitlines()
    ]
    matched = {
        name: [int(number) for number in numbers.split()]
        for kind, name, numbers in (line for line in lines if line[0] == "rule")
    }
    assert len(matched) >= 20
    return matched, dict(line for line in lines if line[0] != "rule")


@pytest.mark.parametrize("capture", CAPTURES)
def test_rules_paint_the_same_frames(tshark, tshark_without, script, capture):
    matched, paint = painted(tshark_without, script, capture)
    assert CAPTURES[capture] <= {name for name, frames in matched.items() if frames}
    ours, our_paint = painted(tshark, script, capture, *PAYLOAD_OFF)
    assert {name: frames for name, frames in ours.items() if frames != matched[name]} == {}
    assert our_paint == paint


def test_what_soft_roce_is_painted_for_stays(tshark, tshark_without, script):
    """The lowest TTL is the sender's, and still seen."""
    roce = tshark_without.frames("6.1-v2-j-http11", "ip.ttl == 1 && infiniband")
    assert len(roce) > 100
    for each, arguments in ((tshark_without, ()), (tshark, PAYLOAD_OFF)):
        assert painted(each, script, "6.1-v2-j-http11", *arguments)[0][TTL] == roce


def test_application_is_painted_unless_switched_off(tshark, script):
    """What the application's dissector finds is the user's wish, and nothing but it makes a
    difference."""
    off, on = (
        painted(tshark, script, "6.1-v2-j-http11", *arguments)[0] for arguments in (PAYLOAD_OFF, ())
    )
    assert {name for name, frames in on.items() if frames != off[name]} == {"HTTP"}
    assert off["HTTP"] == [] and on["HTTP"]


def test_no_rule_is_written(bed, tshark, script):
    """The user's own rules are a file; the plugin makes none."""
    painted(tshark, script, "6.1-v2-j-http11", *PAYLOAD_OFF)
    assert list((bed.root / "config").rglob("*color*")) == []
