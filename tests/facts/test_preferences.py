"""
Preferences of other protocols that change how data is put together change the same over SMC-R as
over TCP.

What the application's protocols show is compared: `payload-five-ways` has one conversation over
SMC-R, after a fallback and over TCP, in the same pieces; captures/applications has real programs
over both, in pieces of their own.
"""

import collections
import pathlib
import re

import bed as beds
import pytest

FIVE = "payload-five-ways"
PAIRS = ("http11", "tls12")
PASSES = pytest.mark.parametrize("passes", [[], ["-2"]], ids=["one-pass", "two-passes"])
PROTOCOLS = ("tcp", "ip", "ipv6", "udp", "infiniband", "tls", "http", "http2", "rpcordma", "eth")
BELOW = {"geninfo", "frame", "eth", "ip", "udp", "infiniband", "tcp", "smcr", "fake-field-wrapper"}

# Of an SMC-R connection smcr.desegment decides, and nothing else (docs/limits.md).
DESEGMENT = "tcp.desegment_tcp_streams:FALSE"
BOTH_DESEGMENT = (DESEGMENT, "smcr.desegment:FALSE")
OUT_OF_ORDER = "tcp.reassemble_out_of_order:TRUE"

# Without reassembly, an application shows the pieces in which its data came: segments here, RDMA
# WRITEs there.
BY_PIECES = {
    DESEGMENT,
    "http.desegment_headers:FALSE",
    "http.desegment_body:FALSE",
    "tls.desegment_ssl_records:FALSE",
    "tls.desegment_ssl_application_data:FALSE",
}

# The last bytes of a frame count as its check sequence: RoCE has none to spare, and TCP has others.
OF_FRAMES = {"eth.fcs:Always"}

# What a default run takes, besides OUT_OF_ORDER.
SAMPLE = [
    "tcp.relative_sequence_numbers:FALSE",
    "tcp.analyze_sequence_numbers:FALSE",
    "tcp.no_subdissector_on_error:FALSE",
    "http.desegment_body:FALSE",
    "http.desegment_headers:FALSE",
]


def preferences(tshark):
    """All settings that differ from a default, of preferences with few values: "NAME:VALUE"."""
    found, values = [], []
    for line in tshark.run("-G", "defaultprefs").splitlines():
        if line.upper().startswith("# TRUE OR FALSE"):
            values = ["TRUE", "FALSE"]
        elif match := re.match(
            r"# (?:Equivalently, o|O)ne of: (.*)", line
        ):  # names of 4.6, then what the default is said in
            values = match[1].split(", ")
        elif match := re.match(r"#(\w+)(\.[^:]+): (.*)$", line):
            if match[1] in PROTOCOLS:
                found += [
                    f"{match[1]}{match[2]}:{value}"
                    for value in values
                    if value.upper() != match[3].upper()
                ]
            values = []
    return found


def options(settings):
    return [word for setting in settings for word in ("-o", setting)]


def shown(tshark, capture, settings, passes):
    """
    Fields of the application's protocols by TCP stream, in order: {stream: [(name, value)]}.
    Numbers of frames and times are without value.
    """
    fields, stream, protocol = collections.defaultdict(list), 0, False
    show = tshark.show if isinstance(capture, pathlib.Path) else tshark.show_once
    for line in show(
        capture, "-Y", "tcp.stream", "-T", "pdml", *options(settings), *passes
    ).splitlines():
        if match := re.match(r'  <proto name="([^"]*)"', line):
            protocol = match[1] not in BELOW
        elif match := re.match(r'\s+<field name="([^"]*)".*? show="([^"]*)"', line):
            name, value = match.groups()
            if name == "tcp.stream":
                stream = int(value)
            elif protocol and not name.startswith(("tcp.", "smcr.")):
                fields[stream].append(
                    (name, "" if re.search(r"_in$|_frame|time|number", name) else value)
                )
    return fields


def conversations(tshark, settings, passes):
    """What the five conversations show: over SMC-R, after a fallback, over TCP, the last two again
    in disorder."""
    by_stream = shown(tshark, FIVE, settings, passes)
    return [by_stream[stream] for stream in range(5)]


def check_five(tshark, settings, passes):
    smc, fallback, tcp, disordered_fallback, disordered = conversations(tshark, settings, passes)
    assert smc == tcp and fallback == tcp and disordered_fallback == disordered, (settings, passes)
    return smc


def counts(tshark, name, carrier, settings, passes):
    """
    How often each field of the application comes in the first connection, over "smcr" or "tcp".
    Those that a frame has for each piece of a message are left out; tls.stream (4.6) is one.
    """
    path = tshark.bed.root / "captures" / beds.APPLICATIONS / f"{name}-{carrier}.pcapng"
    return collections.Counter(
        field
        for field, _ in shown(tshark, path, settings, passes)[0]
        if ".segment" not in field and field != "tls.stream"
    )


@PASSES
def test_segments_in_order(tshark, passes):
    """RDMA WRITEs have the receiver's order: TCP's preference changes nothing of them. It mends
    what is in disorder."""
    before, after = conversations(tshark, [], passes), conversations(tshark, [OUT_OF_ORDER], passes)
    assert [name for name, _ in before[0]].count("http.response.code") == 2
    assert (
        before[0]
        == before[1]
        == before[2]
        == after[0]
        == after[1]
        == after[2]
        == after[3]
        == after[4]
        != before[4]
    )


@PASSES
@pytest.mark.parametrize("name", PAIRS)
def test_real_segments_in_order(tshark, name, passes):
    """The same of programs: with the preference over SMC-R, every field that there is without it
    over TCP."""
    tcp = counts(tshark, name, "tcp", [], passes)
    assert (
        counts(tshark, name, "smcr", [OUT_OF_ORDER], passes) == tcp
        and tcp["http.response.code"] >= 3
    )


def test_desegmentation(tshark):
    """TCP's preference is for TCP, ours for SMC-R; both off show the same pieces."""
    before = conversations(tshark, [], [])
    after = conversations(tshark, [DESEGMENT], [])
    assert after[0] == before[0] and after[1] == after[2] != before[2]
    assert check_five(tshark, BOTH_DESEGMENT, []) != before[0]


@pytest.mark.parametrize("nth", range(len(SAMPLE)))
def test_sample(tshark, nth):
    check_five(tshark, [SAMPLE[nth]], ["-2"] if nth % 2 else [])


def test_sample_is_of_preferences(tshark):
    assert {*SAMPLE, OUT_OF_ORDER, DESEGMENT, *BY_PIECES, *OF_FRAMES} <= set(preferences(tshark))


@pytest.mark.skipif(not beds.ALL, reason="each preference: tests/run --all")
@PASSES
def test_all(tshark, passes):
    """Each preference, alone and with TCP's that puts segments in order."""
    for setting in preferences(tshark):
        for settings in ([setting], [OUT_OF_ORDER, setting]):
            settings += ["smcr.desegment:FALSE"] if setting == DESEGMENT else []
            if setting not in OF_FRAMES:
                check_five(tshark, settings, passes)
            if setting not in BY_PIECES | OF_FRAMES:
                for name in PAIRS:
                    smc, tcp = (
                        counts(tshark, name, carrier, settings, passes)
                        for carrier in ("smcr", "tcp")
                    )
                    assert smc == tcp, (name, settings)
