"""Fixtures that all tests share. A bed is laid once, whatever the number of worker processes."""

import os
import pathlib

import pytest
from bed import Bed, Tshark, new_bed

BED = "SMCR_TEST_BED"


def pytest_configure(config):
    if BED not in os.environ and not config.option.collectonly:
        context = new_bed()
        try:
            os.environ[BED] = str(context.__enter__().root)
        except FileNotFoundError as reason:
            raise pytest.UsageError(str(reason)) from None
        config.add_cleanup(lambda: (os.environ.pop(BED), context.__exit__(None, None, None)))


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
    """A folder for captures that a test makes; tshark can read it."""
    folder = bed.scratch / "".join(c if c.isalnum() else "_" for c in request.node.nodeid)[-150:]
    folder.mkdir()
    return folder
