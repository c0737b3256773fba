"""The commands that a user or developer runs: they are sound, they help, and they fail with one clear line."""

import os
import pathlib
import shutil
import subprocess

import pytest
from bed import TOP, as_user

SHELL = ["plugin/run", "plugin/install-packages", "tests/run", "tests/build", "tests/versions", ".ci/run"]
PYTHON = ["tests/fields-doc", "tests/golden/regenerate", "tests/summary", "tests/synth/build", "tests/bench"]


def run(script, *arguments, **options):
    return subprocess.run([TOP / script, *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          timeout=120, **options)


def assert_one_line(result, *words):
    """It failed and said why in one line on stderr."""
    assert result.returncode != 0 and result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    assert all(word in result.stderr for word in words)


@pytest.mark.parametrize("script", SHELL + PYTHON)
def test_script_can_be_run(script):
    assert os.access(TOP / script, os.X_OK)


@pytest.mark.parametrize("script", SHELL)
def test_shell_accepts_script(script):
    subprocess.run(["bash", "-n", TOP / script], check=True)


@pytest.mark.parametrize("script", ["plugin/run", "tests/run", "tests/versions", "tests/bench"])
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


@pytest.fixture
def checkout(bed, scratch):
    """A copy of the project for a user without privileges, and the environment of that user."""
    copy = scratch / "checkout"
    shutil.copytree(TOP, copy, ignore=shutil.ignore_patterns(".git", "build*", "*.streams", "__pycache__"))
    home = scratch / "home"
    home.mkdir()
    if os.geteuid() == 0:
        subprocess.run(["chown", "-R", f"{as_user()['user']}:{as_user()['group']}", copy, home], check=True)
    return copy, {"HOME": str(home), "TMPDIR": str(home), "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}


def run_as_user(checkout, *arguments):
    copy, environment = checkout
    return subprocess.run([copy / "plugin" / "run", *arguments], capture_output=True, text=True, timeout=300,
                          stdin=subprocess.DEVNULL, env=environment, cwd=copy, **as_user())


def installed_for_all():
    """Whether this machine has the plugin in the system's plugin folder."""
    folder = subprocess.run(["pkg-config", "--variable=plugindir", "wireshark"], capture_output=True, text=True).stdout
    return (pathlib.Path(folder.strip()) / "epan" / "smcr.so").exists()


@pytest.mark.skipif(installed_for_all(), reason="the plugin is installed for all users of this machine")
def test_run_installs_shows_and_uninstalls(checkout):
    copy, environment = checkout
    home = pathlib.Path(environment["HOME"])

    first = run_as_user(checkout)
    assert first.returncode == 0 and first.stderr == ""
    assert "CLC Proposal" in first.stdout and "CDC" in first.stdout
    assert len(list(home.glob(".local/lib/wireshark/plugins/*/epan/smcr.so"))) == 1

    again = run_as_user(checkout, copy / "captures" / "real" / "6.1-v2-a3-server-speaks-first.pcapng")
    assert again.returncode == 0 and again.stderr == ""
    assert "Building" not in again.stdout and "Installed" not in again.stdout
    assert "CLC Proposal" in again.stdout

    removed = run_as_user(checkout, "--uninstall")
    assert removed.returncode == 0 and removed.stderr == ""
    assert not (copy / "build").exists() and not (home / ".local").exists()
