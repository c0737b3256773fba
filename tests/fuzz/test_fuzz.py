"""
The harnesses for libFuzzer, on some of their seeds and a little beyond: the short form of
tests/fuzz/run.
"""

import random
import re
import shutil
import subprocess

import corpus
import pytest
from bed import BUILDS

PROGRAMS = BUILDS / "fuzz" / "tests" / "fuzz"
PLAIN = {
    "flow": 50_000,
    "cm": 50_000,
    "peers": 50_000,
    "stream": 50_000,
    "state": 10_000,
    "timeline": 20_000,
    "packed": 10_000,
    "layout": 30_000,
}  # executions
EPAN = dict.fromkeys(
    (
        "option",
        "proposal",
        "accept",
        "confirm",
        "decline",
        "llc",
        "cdc",
        "write",
        "roce",
        "late",
        "rdma",
        "netlink",
        "told",
        "anck",
        "immediate",
        "frames",
    ),
    600,
)
SEEDS = 150

pytestmark = pytest.mark.skipif(
    not (PROGRAMS / "fuzz-state").exists(), reason="tests/build fuzz has not been run"
)


@pytest.fixture(scope="module")
def seeds(tmp_path_factory):
    folder = tmp_path_factory.mktemp("seeds")
    corpus.main(folder, one_of=10)
    return folder


@pytest.mark.parametrize("name, runs", (PLAIN | EPAN).items())
def test_nothing_is_found(tshark, seeds, tmp_path, name, runs):
    folder = seeds / name
    chosen = sorted(folder.iterdir()) if folder.exists() else []
    for path in random.Random(name).sample(chosen, min(SEEDS, len(chosen))):
        shutil.copy(path, tmp_path)
    # With "simple" memory the sanitizer watches each of Wireshark's allocations. It also takes a
    # third of the time, which otherwise goes into blocks of 8 MB for each execution.
    environment = tshark.environment | {
        "ASAN_OPTIONS": "detect_leaks=0",
        "WIRESHARK_DEBUG_WMEM_OVERRIDE": "simple",
    }
    result = subprocess.run(
        [
            PROGRAMS / f"fuzz-{name}",
            f"-runs={runs}",
            "-seed=7609",
            "-detect_leaks=0",
            "-print_funcs=0",
            "-max_len=200",
            f"-artifact_prefix={BUILDS}/failed-{name}-",
            tmp_path,
        ],
        env=environment,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=300,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-3000:]
    assert re.search(r"^Done \d+ runs", result.stderr, re.M)
