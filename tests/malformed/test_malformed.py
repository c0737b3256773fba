"""
Whatever bytes come, the plugin neither crashes nor hangs nor touches memory that is not its own. It runs under
AddressSanitizer and UBSan in the distribution's tshark, which stops at the first "Dissector bug".
"""

import shutil
import subprocess

import alter
import pytest
from bed import BUILDS, Tshark, captures

# Stops with an assertion at a SEND last without its SEND first, plugin or not.
FRAGILE = ("--disable-heuristic", "rpcrdma_infiniband")

SEEDS = 40
SMALL = 25_000  # bytes of a real capture that is mutated

MADE = {**captures("synthetic"), **captures("malformed")}
MUTATED = [*MADE, *(name for name, path in captures("real").items() if path.stat().st_size <= SMALL)]


@pytest.fixture(scope="module")
def sanitized(bed):
    """tshark with the plugin under the sanitizers; "strict" has Wireshark check every allocation as well."""
    library = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    return {memory: Tshark(bed, "sanitized", LD_PRELOAD=library.stdout.strip(), ASAN_OPTIONS="detect_leaks=0",
                           UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1", **extra)
            for memory, extra in (("usual", {}), ("strict", {"WIRESHARK_DEBUG_WMEM_OVERRIDE": "strict"}))}


@pytest.fixture
def survives(sanitized, scratch):
    """Check that a capture made of (captured bytes, original length) pairs is shown in silence."""
    def check(linktype, records, memory="usual"):
        path = scratch / "altered.pcap"
        alter.write(path, linktype, records)
        try:
            sanitized[memory].show(path, "-2", "-V", *FRAGILE, stdout=subprocess.DEVNULL)
        except (AssertionError, subprocess.TimeoutExpired):
            kept = BUILDS / "failed" / f"{scratch.name}.pcap"
            kept.parent.mkdir(exist_ok=True)
            shutil.copyfile(path, kept)
            print(f"the capture is kept as {kept}")
            raise
        finally:
            path.unlink()
    return check


@pytest.mark.parametrize("alteration", [alter.snapped, alter.cut_packets, alter.cut_segments])
@pytest.mark.parametrize("name", MADE)
def test_cut_at_every_byte(survives, name, alteration):
    linktype, frames = alter.read(MADE[name])
    survives(linktype, alteration(linktype, frames))


@pytest.mark.parametrize("name", MUTATED)
def test_mutated(survives, name):
    linktype, frames = alter.read(captures()[name])
    survives(linktype, alter.mutated(linktype, frames, range(SEEDS)))


@pytest.mark.parametrize("name", MADE)
def test_mutated_with_strict_memory(survives, name):
    linktype, frames = alter.read(MADE[name])
    survives(linktype, alter.mutated(linktype, frames, range(SEEDS, SEEDS + 5)), "strict")
