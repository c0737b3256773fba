"""The commands that a user or developer runs: they are sound, they help, and they fail with one
clear line."""

import os
import re
import shutil
import subprocess

import pytest
from bed import TOP

SHELL = [
    "plugin/run",
    "plugin/install-packages",
    "plugin/package",
    "plugin/archive/install",
    "docs/examples/smcr-check",
    "tests/run",
    "tests/build",
    "tests/versions",
    "tests/packages",
    "tests/desk/window",
    "tests/fuzz/run",
    ".ci/run",
    "docs/pictures/make",
]
PYTHON = [
    "tests/fields-doc",
    "tests/experts-doc",
    "tests/figures-doc",
    "tests/rooms-doc",
    "tests/docs-examples",
    "tests/golden/regenerate",
    "tests/summary",
    "tests/synth/build",
    "tests/tshark",
    "tests/bench",
    "tests/budget",
    "tests/mutate",
    "tests/oracle",
    "tests/fuzz/tshark",
    "tests/desk/soak",
    "tests/wireshark-checks",
    "tests/wireshark-suite",
]


def run(script, *arguments, **options):
    return subprocess.run(
        [TOP / script, *arguments],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=120,
        **options,
    )


def assert_one_line(result, *words):
    """It failed and said why in one line on stderr."""
    assert result.returncode != 0 and result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    assert all(word in result.stderr for word in words)


@pytest.mark.parametrize("script", SHELL + PYTHON)
def test_script_can_be_run(script):
    assert os.access(TOP / script, os.X_OK)


@pytest.mark.parametrize("script", [*SHELL, "plugin/place", "tests/roots"])
def test_shell_accepts_script(script):
    subprocess.run(["bash", "-n", TOP / script], check=True)


@pytest.mark.parametrize("script", ["plugin/archive/install", "plugin/place"])
@pytest.mark.skipif(not shutil.which("dash"), reason="no dash")
def test_plain_shell_accepts_script(script):
    """They run where there may be no bash."""
    subprocess.run(["dash", "-n", TOP / script], check=True)


@pytest.mark.parametrize(
    "script",
    [
        "plugin/run",
        "plugin/package",
        "tests/run",
        "tests/versions",
        "tests/packages",
        "tests/bench",
        "tests/budget",
        "tests/mutate",
        "tests/oracle",
        "tests/fuzz/run",
        "tests/desk/soak",
        "docs/pictures/make",
        "tests/wireshark-checks",
        "tests/wireshark-suite",
    ],
)
def test_help(script):
    result = run(script, "--help")
    assert result.returncode == 0 and result.stderr == ""
    assert script in result.stdout


def test_run_refuses_unknown_option():
    assert_one_line(run("plugin/run", "--frobnicate"), "--frobnicate", "--help")


def test_run_refuses_missing_file():
    assert_one_line(run("plugin/run", "no/such/file.pcap"), "no/such/file.pcap")


def test_packages_are_named_where_apt_is_missing(scratch):
    """A system without apt-get and pkg-config: one line tells what to install."""
    for name in ("bash", "env"):
        (scratch / name).symlink_to(shutil.which(name))
    result = run("plugin/install-packages", "pkg-config", "meson", env={"PATH": str(scratch)})
    assert_one_line(result, "pkg-config", "meson")


def test_what_is_installed_is_told_apart_from_what_the_caller_prints(scratch):
    for name in ("bash", "env"):
        (scratch / name).symlink_to(shutil.which(name))
    for name, text in (("apt-get", "echo noise"), ("sudo", 'exec "$@"')):
        (scratch / name).write_text(f"#!/usr/bin/env bash\n{text}\n", encoding="utf-8")
        (scratch / name).chmod(0o755)
    result = run("plugin/install-packages", "meson", env={"PATH": str(scratch)})
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "Installing meson ...\n")


def test_other_debians_have_what_the_tests_need():
    """In the roots of tests/versions nobody may install packages while the tests run."""
    run = (TOP / "tests" / "run").read_text(encoding="utf-8")
    versions = (TOP / "tests" / "versions").read_text(encoding="utf-8")
    needed = (
        re.search(r"^plugin/install-packages (.+?) \|\|", run, re.M | re.S)
        .group(1)
        .replace("\\\n", " ")
        .split()
    )
    there = re.search(r"^packages=\((.+?)\)", versions, re.M | re.S).group(1).split()
    assert set(needed) <= set(there)
