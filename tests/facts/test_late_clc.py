"""What docs/limits.md advises for a capture that begins after the SYN, on a port that another
dissector owns."""

import pytest

NAME = "clc-port80-http"

WAYS = {
    "decode-as": ("-d", "tcp.port==80,smcr"),
    "heuristics-first": ("-o", "tcp.try_heuristic_first:TRUE"),
}


def clc_types(tshark, capture, *options):
    return tshark.show(
        capture, *options, "-Y", "smcr.clc.type", "-T", "fields", "-e", "smcr.clc.type"
    ).split()


@pytest.fixture
def late(tshark, scratch):
    """The capture without its handshake."""
    scratch.chmod(0o777)
    path = scratch / "late.pcap"
    assert tshark.frames(NAME, "tcp.flags.syn == 1") == [1, 2]
    tshark.show(NAME, "-Y", "frame.number > 3", "-F", "pcap", "-w", path)
    return path


def test_the_port_decides(tshark, late):
    assert clc_types(tshark, NAME) == ["1", "4"]
    assert clc_types(tshark, late) == []


@pytest.mark.parametrize("way", WAYS)
def test_clc_is_found(tshark, late, way):
    assert clc_types(tshark, late, *WAYS[way]) == clc_types(tshark, NAME)


@pytest.mark.parametrize("way", WAYS)
def test_the_rest_is_http(tshark, late, way):
    requests = [
        tshark.show(
            capture,
            *options,
            "-Y",
            "http",
            "-T",
            "fields",
            "-e",
            "http.request.uri",
            "-e",
            "http.response.code"
        )
        for capture, options in ((NAME, ()), (late, WAYS[way]))
    ]
    assert requests[0] != "" and requests[0] == requests[1]
