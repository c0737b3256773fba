"""
Captures after public bug reports: what the page says of each, by default and with smcr.roce. The
words are regular expressions, with a single blank for each run of white space of the page.
"""

import re

import pytest
from bed import STORIES, captures
from public_variants import MORE, VARIANTS
from scapy.utils import wrpcap
from test_findings import OPTIONS

PATHS = {path.name.split(".pcap")[0]: path for path in captures(STORIES).values()}
NOTHING = r"No fault"
FAILED = r"1 failed in the handshake; close: 1 reset"


def with_and_without(*words):
    """What the page says whether smcr.roce is on or not."""
    return [*words], [*words]


# capture: (words by default, words with smcr.roce, words that are false in both)
PAGES = {
    "queue-pair-silent-host-alive": (
        [r"RoCE not known to be SMC-R \(\d+ packets\): 4 retransmitted"],
        [r"QP 514", r"other queue pairs"],
        [r"192\.0\.2\.2 stopped answering", NOTHING],
    ),
    "mtu-icmp": (
        [r"ICMP", r"not analysed"],
        [r"MTU", r"1,?500", r"ICMP"],
        [r"stopped answering", NOTHING],
    ),
    "selective-repeat-near-receiver": (
        [r"5 NAKs?"],
        [r"Packets lost; 5 of 105 packets", r"5 after NAKs", r"selective repeat"],
        [r"previous packet", r"downstream", NOTHING],
    ),
    "two-points-no-ip-id": (
        [r"20 retransmitted, duplicate or out-of-order packets", r"80 RoCE packets, none known"],
        [NOTHING, r"80 packets, 40 duplicates"],
        [r"\d retransmitted for", r"unknown cause", r"missing"],
    ),
    "pfc-storm": (
        [
            r"warn Port 02:00:00:00:00:02 paused class 3 for ≤632 ms of 660 ms with 300 PFC frames",
            r"flows are not analysed without -o smcr\.roce:TRUE",
            r"02:00:00:00:00:02 class 3: 300 frames, 19,660,500 quanta, ≤632 ms",
        ],
        [
            r"warn Port 02:00:00:00:00:02 paused class 3",
            r"QP 257 → 192\.0\.2\.2 QP 514 \(VLAN 3\) sent nothing for 650 ms"
            r" \(6\.3 to 632 ms paused\)",
        ],
        [NOTHING, r"598 ms"],
    ),
    "vxlan-outer-ce": (
        [r"RoCE not known to be SMC-R \(70 packets\): 35 marked CE"],
        [r"Congestion: 35 of 35 packets .* marked CE \(on the tunnel\); no CNP", r"VNI 100"],
        [NOTHING],
    ),
    "bth-reserved-bit-port-69": (
        [r"No SMC-R is recognised", r"20 RoCE packets, none known to be SMC-R"],
        [NOTHING, r"RDMA: 20 packets", r"192\.0\.2\.1 QP 257 → 192\.0\.2\.2 QP 514 10 - - -"],
        [r"no RoCE packet", r"not captured"],
    ),
    "server-resets-after-proposal": (
        *with_and_without(
            r"failed: the server reset the connection 2\.0 ms after the client's CLC P", FAILED
        ),
        [r"does not show how the handshake ended", r"fell back"],
    ),
    "proposal-never-acknowledged": (
        *with_and_without(
            r"the server never acknowledged the client's CLC Proposal .* sent 7 times", FAILED
        ),
        [r"does not show how the handshake ended", r"fell back"],
    ),
    "server-echoes-option-http-400": (
        *with_and_without(
            r"with HTTP 400: it has no SMC-R, and its SYN-ACK only reflects the option", FAILED
        ),
        [r"does not show how the handshake ended", r"fell back"],
    ),
    "any-interface-dnat": (
        [
            *(NOTHING, r"3 SMC-Rv2\.0; close: 3 normal", r"RDMA: 246 packets sender"),
            r"Address translation: 10\.96\.0\.10:80 is 10\.0\.0\.2:12345, too",
        ],
        [
            NOTHING,
            r"3 SMC-Rv2\.0; close: 3 normal",
            r"10\.96\.0\.10:80 is 10\.0\.0\.2:12345, too",
        ],
        [r"6 SMC", r"end not known", r"no RoCE", r"retransmitted", r"→ 10\.0\.0\.2:12345"],
    ),
}


def page_of(tshark, path, *options):
    return " ".join(tshark.show(path, *options, "-2", "-q", "-z", "smcr,report").split())


@pytest.mark.parametrize("name", PAGES)
def test_public(tshark, name):
    *said, never = PAGES[name]
    path = tshark.bed.root / "captures" / STORIES / PATHS[name].name
    for options, expected in zip(((), OPTIONS), said):
        page = page_of(tshark, path, *options)
        assert [words for words in expected if not re.search(words, page)] == [], page
        assert [words for words in never if re.search(words, page)] == [], page


def check(tshark, scratch, name, variant):
    frames, said, known, never = variant
    path = scratch / f"{name}.pcap"
    wrpcap(str(path), sorted(frames, key=lambda each: each.time))
    for options, words in (((), said), (("-o", "smcr.roce:TRUE"), known)):
        page = page_of(tshark, path, *options)
        assert re.search(words, page), page
        assert not (options and re.search(never, page)), page


@pytest.mark.parametrize("name", VARIANTS)
def test_others_of_the_same_kinds(tshark, scratch, name):
    check(tshark, scratch, name, VARIANTS[name])


def test_further_kinds(tshark, scratch):
    for name, variant in MORE.items():
        check(tshark, scratch, name, variant)
