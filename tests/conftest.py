"""Fixtures that all tests share. A bed is laid once, whatever the number of worker processes."""

import os
import pathlib
import re
import zlib

import pytest
from bed import ALL, Bed, Tshark, new_bed, started_program

BED = "SMCR_TEST_BED"

# Captures of one rule each: their own tests take them all. Those of every capture take a quarter, each test another one.
SCENE = re.compile(r"\b(rule|peer)-")
OF_SCENES = ("test_golden.py", "test_removal.py", "test_rule_captures.py", "test_synth.py")
SHARE = 4


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
    """Whether a run that takes samples has this test: the same ones each time."""
    return item.path.name in OF_SCENES or not SCENE.search(item.name) or zlib.crc32(item.nodeid.encode()) % SHARE == 0


def pytest_collection_modifyitems(config, items):
    if not ALL and not any("::" in each for each in config.args):
        left_out = [each for each in items if not is_sampled(each)]
        items[:] = [each for each in items if is_sampled(each)]
        config.hook.pytest_deselected(items=left_out)


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
