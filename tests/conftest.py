"""Fixtures that all tests share. A bed is laid once, whatever the number of worker processes."""

import os
import pathlib
import random
import time
import zlib

import mutations
import pytest
import samples
import started
from bed import ALL, Bed, Tshark, new_bed, started_program

HERE = pathlib.Path(__file__).parent
FINDERS = {each.test for each in mutations.EVERY}
BED = "SMCR_TEST_BED"

# Goldens of `tests/run --quick`: one of each kind of message and of trouble.
QUICK_GOLDENS = {
    "6.1-v1-a-first-contact-ipv4",
    "6.1-v2-a-first-contact-ipv4",
    "6.1-v1-c2-capture-starts-late",
    "6.1-v2-e-urgent",
    "6.1-v2-f1-decline-server-no-device",
    "6.1-v2-g1-server-killed",
    "6.1-v2-h1-two-links-second-fails",
    "6.1-v2-j-http11",
    "6.1-v1-n-lossy",
    "cdc-flags",
    "clc-decline-codes",
    "clc-proposal-counts",
    "clc-smcd-v2",
    "llc-contradictions",
    "llc-counts",
    "llc-v2-byte-order",
    "roce-headers",
    "rule-cdc-cursor",
    "rule-rkey-delete",
    "rule-write-place",
    "window-analysis",
}


def pytest_addoption(parser):
    group = parser.getgroup("which tests, in which order")
    group.addoption("--quick", action="store_true", help="a golden of each kind only")
    group.addoption("--part", metavar="K/N", help="of N parts of the tests the K-th, from 1")
    group.addoption(
        "--shuffle", metavar="SEED", type=int, help="in another order, which makes no difference"
    )


def pytest_configure(config):
    if BED not in os.environ and not config.option.collectonly:
        context = new_bed()
        try:
            os.environ[BED] = str(context.__enter__().root)
        except FileNotFoundError as reason:
            raise pytest.UsageError(str(reason)) from None
        config.add_cleanup(lambda: (os.environ.pop(BED), context.__exit__(None, None, None)))
    config.add_cleanup(started_program.cache_clear)


def is_sampled(item):
    """Whether a run that takes samples has this test: the same ones each time, and those that find
    mutations."""
    spec = getattr(item, "callspec", None)
    return (
        not spec
        or f"{file_of(item)}::{item.name}" in FINDERS
        or samples.has(file_of(item), item.originalname, spec.params.values())
    )


def file_of(item):
    return item.path.relative_to(HERE).as_posix()


def is_quick(item):
    return (
        item.path.name != "test_golden.py"
        or item.name.partition("[")[2].rstrip("]") in QUICK_GOLDENS
    )


def is_of_part(item, part):
    number, count = map(int, part.split("/"))
    return zlib.crc32(item.nodeid.encode()) % count == number - 1


def pytest_collection_modifyitems(config, items):
    wanted = []
    if not ALL and not any("::" in each for each in config.args):
        wanted.append(is_sampled)
    if config.option.quick:
        wanted.append(is_quick)
    if config.option.part:
        wanted.append(lambda item: is_of_part(item, config.option.part))
    chosen, left_out = [], []
    for each in items:
        (chosen if all(wants(each) for wants in wanted) else left_out).append(each)
    items[:] = chosen
    config.hook.pytest_deselected(items=left_out)
    if config.option.shuffle is not None:
        random.Random(config.option.shuffle).shuffle(items)


class Pace:
    """How fast this machine is at the moment: CPU time of a run of tshark to which no change makes
    a difference."""

    EVERY = 20  # seconds
    last = 0.0

    @classmethod
    def measure(cls, item):
        if time.monotonic() < cls.last + cls.EVERY:
            return
        tshark = Tshark(Bed(pathlib.Path(os.environ[BED])), "none")
        if not cls.last:
            tshark.started()
        before = started.cpu_seconds()
        tshark.show("6.1-v2-j-http11", "-V")
        item.user_properties.append(("pace", f"{started.cpu_seconds() - before:.3f}"))
        cls.last = time.monotonic()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    if BED in os.environ:
        Pace.measure(item)
    item.cpu_before = started.cpu_seconds()
    yield


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item, call):
    """The results of a run tell what each test has cost; tests/budget adds it up."""
    if call.when == "teardown":
        item.user_properties.append(("cpu", f"{started.cpu_seconds() - item.cpu_before:.3f}"))


@pytest.fixture(scope="session")
def bed():
    return Bed(pathlib.Path(os.environ[BED]))


@pytest.fixture(scope="session")
def tshark(bed):
    """tshark with the plugin."""
    return Tshark(bed)


@pytest.fixture(scope="session")
def tshark_without(bed):
    """tshark without the plugin."""
    return Tshark(bed, "none")


@pytest.fixture
def scratch(bed, request):
    """A folder for captures that a test makes; tshark can read it, and programs write to it."""
    folder = bed.scratch / "".join(c if c.isalnum() else "_" for c in request.node.nodeid)[-150:]
    folder.mkdir()
    folder.chmod(0o777)
    return folder
