"""
Every command of README.md is run by a test. Its examples, which show what they print, are in
tests/test_docs.py; the others are run here, or by the test that is named here.
"""

import os
import re
import shutil
import subprocess

import pytest
from bed import TOP, as_user

README = (TOP / "README.md").read_text(encoding="utf-8")
PROGRAMS = ("plugin/", "tests/", "tshark ", "wireshark ")
HTTP = "6.1-v2-j-http11"

# By whom the commands are run that install or build: file and function.
ELSEWHERE = {
    "plugin/run": ("tests/test_install.py", "test_run_installs_shows_and_uninstalls"),
    "plugin/run FILE...": ("tests/test_install.py", "test_run_installs_shows_and_uninstalls"),
    "plugin/run --uninstall": ("tests/test_install.py", "test_run_installs_shows_and_uninstalls"),
    "plugin/package": ("tests/desk/test_package.py", "test_"),
    "plugin/monitor -i eth0 clc errors": ("tests/desk/test_live.py", "monitor"),
    "wireshark -C SMC-R FILE": ("tests/desk/test_readme.py", "test_window_opens_with_the_profile"),
    "tests/run": (".ci/run", "tests/run"),
}


def follow(tshark):
    text = tshark.show(HTTP, "-q", "-z", "follow,smcr,ascii,0")
    assert "GET /index.html HTTP/1.1" in text and "HTTP/1.1 200 OK" in text


def export(tshark):
    folder = tshark.bed.scratch / "readme" / "objects"
    folder.parent.mkdir()
    folder.parent.chmod(0o777)
    tshark.show(HTTP, "-q", "--export-objects", f"smcr,{folder}")
    assert sorted(path.name for path in folder.iterdir())[0] == "stream-0-client-to-server.bin"
    shutil.rmtree(folder)


def plugins(tshark):
    assert re.search(r"^smcr\.so\s+\d+\.\d+\.\d+\s", tshark.run("-G", "plugins"), re.MULTILINE)


def classes(tshark):
    text = tshark.run("-h", program=str(tshark.bed.root / "plugin" / "monitor"))
    assert all(
        re.search(rf"^ +{name} ", text, re.MULTILINE)
        for name in ("clc", "llc", "cdc", "write", "errors")
    )


HERE = {
    "tshark -q -z follow,smcr,ascii,0": follow,
    "tshark -q --export-objects smcr,FOLDER": export,
    "tshark -G plugins": plugins,
    "plugin/monitor -h": classes,
}


def commands():
    """Commands in indented blocks, up to what explains them, and between backquotes; without the
    examples."""
    block = [
        re.split(r"\s{2,}", line.strip())[0]
        for line in README.splitlines()
        if re.match(r"    [a-z/]+/?\w* ?", line)
    ]
    quoted = re.findall(r"`([^`]+)`", re.sub(r"^    .*$", "", README, flags=re.MULTILINE))
    return sorted(
        {
            each
            for each in [*block, *(" ".join(text.split()) for text in quoted)]
            if each.startswith(PROGRAMS)
        }
    )


def test_all_are_run():
    assert set(commands()) == ELSEWHERE.keys() | HERE.keys()


@pytest.mark.parametrize("command", ELSEWHERE)
def test_named_tests_exist(command):
    path, name = ELSEWHERE[command]
    assert name in (TOP / path).read_text(encoding="utf-8")


@pytest.mark.parametrize("command", HERE)
def test_command(tshark, command):
    HERE[command](tshark)


def test_is_short():
    assert len(README.splitlines()) <= 120


@pytest.mark.skipif(
    not all(map(shutil.which, ("wireshark", "Xvfb", "xdotool", "import"))),
    reason="no Wireshark with a window, Xvfb, xdotool or ImageMagick",
)
def test_window_opens_with_the_profile(bed, tshark, scratch):
    """The picture has the pale blue of CLC, which no other profile has."""
    folder = scratch / "config" / "profiles" / "SMC-R"
    shutil.copytree(TOP / "plugin" / "profile", folder)
    shutil.copyfile(TOP / "tests" / "desk" / "window", scratch / "window")
    capture = shutil.copyfile(bed.capture(HTTP), scratch / "http.pcapng")
    if os.geteuid() == 0:
        subprocess.run(
            ["chown", "-R", f"{as_user()['user']}:{as_user()['group']}", scratch], check=True
        )
    environment = {
        **tshark.environment,
        "HOME": str(scratch),
        "WIRESHARK_CONFIG_DIR": str(scratch / "config"),
    }
    result = subprocess.run(
        ["bash", scratch / "window", scratch / "picture.png", capture, "-C", "SMC-R", "-g", "19"],
        env=environment,
        cwd=scratch,
        capture_output=True,
        text=True,
        timeout=300,
        **as_user(),
    )
    assert result.returncode == 0, result.stderr
    colours = subprocess.run(
        ["convert", scratch / "picture.png", "-format", "%c", "histogram:info:-"],
        text=True,
        capture_output=True,
        check=True,
    ).stdout
    shades = [tuple(map(int, match)) for match in re.findall(r"\((\d+),(\d+),(\d+)", colours)]
    assert any(
        max(abs(a - b) for a, b in zip(shade, (221, 237, 255), strict=True)) <= 3
        for shade in shades
    )
