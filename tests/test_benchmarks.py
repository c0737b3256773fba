"""Captures of the benchmark are what its tables say of them."""

import sys

import pytest
from bed import TOP

sys.path.append(str(TOP / "tests" / "benchmarks"))

import many  # noqa: E402
import workloads  # noqa: E402
from carriers import Smcr, Tcp  # noqa: E402
from repeats import repeats  # noqa: E402

SCENES = {
    "bulk": (workloads.bulk, 2000),
    "http": (workloads.http, 2000),
    "short": (workloads.connections, 120),
    "mix": (workloads.mix, 2000),
}
EVERYTHING_ON = ("-o", "smcr.roce:TRUE", "-o", "smcr.check_icrc:TRUE")
WARNING = 0x600000  # of _ws.expert.severity; above it are errors


def make(scratch, name, carrier=Smcr):
    """(path, frames)"""
    scene, size = SCENES[name]
    path = scratch / f"{name}-{carrier.__name__}.pcap"
    with path.open("wb") as file:
        frames = scene(file, size, carrier=carrier)
    path.chmod(0o644)
    return path, frames


@pytest.mark.parametrize("name", SCENES)
def test_every_icrc_is_right(tshark, scratch, name):
    path, frames = make(scratch, name)
    rows = tshark.fields(path, "smcr.icrc.status", where="infiniband", options=EVERYTHING_ON)
    assert frames / 2 < len(rows) and all(row == [["1"]] for row in rows)


@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("carrier", [Smcr, Tcp])
def test_nothing_is_wrong(tshark, scratch, name, carrier):
    path, _ = make(scratch, name, carrier)
    assert tshark.frames(path, f"_ws.expert.severity >= {WARNING}", options=EVERYTHING_ON) == []


@pytest.mark.parametrize("carrier", [Smcr, Tcp])
@pytest.mark.parametrize("name", ["bulk", "short", "mix"])
def test_data_are_unknown(tshark, scratch, name, carrier):
    """No dissector takes them, not even by their port."""
    path, _ = make(scratch, name, carrier)
    layers = {
        layer for row in tshark.fields(path, "frame.protocols") for layer in row[0][0].split(":")
    }
    assert layers <= {"eth", "ethertype", "ip", "tcp", "udp", "infiniband", "smcr", "data"}
    assert "data" in layers


@pytest.mark.parametrize("name, factor", [("bulk", 1.01), ("http", 1.02), ("short", None)])
def test_as_many_frames_over_tcp(scratch, name, factor):
    """`factor`: within which the sizes of the captures are; short connections have messages of
    SMC-R besides."""
    (path, frames), (tcp, tcp_frames) = (make(scratch, name, carrier) for carrier in (Smcr, Tcp))
    assert 0.96 <= tcp_frames / frames <= 1.04
    if factor:
        assert 1 / factor <= tcp.stat().st_size / path.stat().st_size <= factor


@pytest.mark.parametrize("carrier", [Smcr, Tcp])
def test_half_of_the_mix_is_storage(tshark, scratch, carrier):
    path, frames = make(scratch, "mix", carrier)
    storage = tshark.frames(path, "ip.addr == 10.128.0.0/16")
    assert storage == list(range(2, frames + 1, 2))


def test_repeats_are_connections_of_their_own(tshark, scratch):
    """Each time has the connections and messages of the capture, and nothing is wrong there."""
    original = TOP / "captures" / "applications" / "http11-smcr.pcapng"
    path = scratch / "repeats.pcap"
    with path.open("wb") as file:
        repeats(file, 3, path=original)
    path.chmod(0o644)
    shown = ("smcr.stream", "http.response.code")
    once, often = (
        list(zip(*tshark.fields(each, *shown, where="http"), strict=True))
        for each in (tshark.bed.root / "captures" / "applications" / original.name, path)
    )
    assert len({row[0] for row in often[0]}) == 3 * len({row[0] for row in once[0]}) > 0
    assert often[1] == once[1] * 3
    assert tshark.frames(path, f"_ws.expert.severity >= {WARNING}") == []


@pytest.mark.parametrize(
    "kind, field, besides",
    [
        ("contacts", "smcr.stream", 1),
        ("eids", "smcr.eid", 0),
        ("late links", "smcr.link.index", 0),
        ("links in use", "smcr.link.index", 1),
        ("other network", "smcr.link.index", 0),
        ("declined", "smcr.stream", 0),
        ("other IP", "smcr.rdma.flow", 0),
        ("tokens", "smcr.stream", 1),
    ],
)
def test_as_many_as_it_says(tshark, scratch, kind, field, besides):
    """`besides`: what the first contact makes."""
    path = scratch / "many.pcap"
    with path.open("wb") as file:
        many.many(file, 40, kind)
    path.chmod(0o644)
    rows = tshark.fields(path, field, where=field, options=("-o", "smcr.roce:TRUE"))
    assert len({value for row in rows for value in row[0]}) == 40 + besides
