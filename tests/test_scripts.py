"""The commands that a user or developer runs: they are sound, they help, and they fail with one
clear line."""

import ast
import os
import re
import shutil
import subprocess

import pytest
from bed import TOP

SHELL = [
    "plugin/run",
    "plugin/install-packages",
    "plugin/in-tree",
    "plugin/release",
    ".ci/reuse",
    "plugin/package",
    "plugin/archive/install",
    "docs/examples/smcr-check",
    "tests/run",
    "tests/build",
    "tests/versions",
    "tests/packages",
    "tests/machines",
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
    "tests/in-tree",
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
        "plugin/in-tree",
        "plugin/release",
        "tests/in-tree",
        "tests/run",
        "tests/versions",
        "tests/packages",
        "tests/machines",
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


# What Python 3.6 does not have: methods, functions and arguments of later versions.
LATER = re.compile(
    r"""\.(?:removeprefix|removesuffix|isascii|bit_count|fromisoformat)\b
    |\bsocket\.(?:send_fds|recv_fds)\b|\bos\.waitstatus_to_exitcode\b
    |\bfunctools\.(?:cache|cached_property)\b|\btime\.\w+_ns\b
    |\bcontextlib\.(?:nullcontext|chdir)\b|\bitertools\.(?:pairwise|batched)\b
    |\bmath\.(?:prod|lcm|dist|comb)\b|\bimportlib\.(?:resources|metadata)\b
    |\b(?:graphlib|zoneinfo|tomllib|dataclasses|breakpoint|anext)\b
    |\b(?:capture_output|missing_ok|dirs_exist_ok|ignore_cleanup_errors)=
    |(?<=[ (])(?:text|strict)=""",
    re.VERBOSE,
)


def later_than_36(code):
    """What of a program Python 3.6 refuses."""
    try:
        tree = ast.parse(code, feature_version=(3, 6))
    except SyntaxError as error:
        return [str(error)]
    texts = [each for each in ast.walk(tree) if isinstance(each, ast.Constant)]
    for each in texts:
        each.value = "" if isinstance(each.value, str) else each.value
    return LATER.findall(ast.unparse(tree))


@pytest.mark.parametrize("name", ["capture", "compare", "monitor", "probe"])
def test_tools_need_python_36(name):
    """And an older Python stops at the line that says so: it is the first that it cannot read."""
    code = (TOP / "plugin" / name).read_text(encoding="utf-8")
    assert later_than_36(code) == []
    assert later_than_36(code + "\n(found := 1)\n") != []
    assert later_than_36(code + "\nx.removeprefix('a')\n") == [".removeprefix"]
    assert 'f"Python 3.6 or later' in next(
        line for line in code.splitlines() if re.search(r"\bf[\"']|[(=]f[\"']", line)
    )
    version = run(f"plugin/{name}", "--version")
    assert re.fullmatch(rf"smcr-{name} \S+ \(Python 3\.6 or later is needed\)\n", version.stdout)


@pytest.mark.parametrize(
    "managers, owner, expected",
    [
        (("dpkg", "apt-get"), "dpkg", "smcr-deb apt-get remove smcr-deb"),
        (("rpm", "dnf"), "rpm", "smcr-rpm dnf remove smcr-rpm"),
        (("rpm", "zypper"), "rpm", "smcr-rpm zypper remove smcr-rpm"),
        (("rpm",), "rpm", "smcr-rpm rpm --erase smcr-rpm"),
        (("dpkg", "rpm", "apt-get"), "rpm", "smcr-rpm rpm --erase smcr-rpm"),
        (("dpkg", "rpm", "dnf"), "", ""),
        ((), "", ""),
    ],
)
def test_owner_of_a_file(scratch, managers, owner, expected):
    """Whose package it is, and what removes that. rpm says on stdout that a file has none."""
    for name in ("sh", "sed"):
        (scratch / name).symlink_to(shutil.which(name))
    for name in managers:
        found = {"dpkg": "echo smcr-deb: $2", "rpm": "printf smcr-rpm"}.get(name, "")
        text = found if name == owner else "echo file $2 is not owned by any package; exit 1"
        place = 'if [ "$1" = --eval ]; then echo /; exit; fi'  # of rpm's database
        (scratch / name).write_text(f"#!/bin/sh\n{place}\n{text}\n", encoding="utf-8")
        (scratch / name).chmod(0o755)
    (scratch / "asks").write_text(
        f"#!{scratch}/sh\n. {TOP}/plugin/place\np=$(package_of /x/smcr.so)\n"
        '[ -z "$p" ] || echo "$p $(removal_of "$p")"\n'
    )
    (scratch / "asks").chmod(0o755)
    result = run(scratch / "asks", env={"PATH": str(scratch)})
    assert (result.returncode, result.stdout.strip(), result.stderr) == (0, expected, "")


def test_in_tree_makes_links_and_takes_them_away(scratch):
    """In a folder that looks like Wireshark's source; what is not ours stays."""
    source = scratch / "wireshark"
    for name in ("epan", "plugins/epan"):
        (source / name).mkdir(parents=True)
    assert_one_line(run("plugin/in-tree", source), "no source of Wireshark")
    (source / "epan" / "packet.h").touch()
    text = "set(PROJECT_MAJOR_VERSION {})\nset(PROJECT_MINOR_VERSION 6)\n"
    (source / "CMakeLists.txt").write_text(text.format(3))
    assert_one_line(run("plugin/in-tree", source), "Wireshark 3.6", "4.0 or later")
    (source / "CMakeLists.txt").write_text(text.format(4))
    folder = source / "plugins" / "epan" / "smcr"
    for option in ([], ["--copy"], []):
        assert run("plugin/in-tree", *option, source).returncode == 0
        assert {path.name for path in folder.iterdir()} == {
            *("CMakeLists.txt", "meson.build", "plugin", "dissectors")
        }
        assert (folder / "dissectors").is_symlink() == (not option)
        assert (folder / "CMakeLists.txt").read_bytes() == (
            TOP / "plugin" / "CMakeLists.txt"
        ).read_bytes()
    assert run("plugin/in-tree", "--remove", source).returncode == 0 and not folder.exists()
    folder.mkdir()
    (folder / "mine.c").touch()
    assert_one_line(run("plugin/in-tree", source), "is something else")
    assert (folder / "mine.c").exists()
    assert_one_line(run("plugin/in-tree"), "one folder")


def test_completion(scratch):
    """Words of the programs: options, classes, interfaces, folders; files are left to bash."""
    for name in ("monitor", "capture", "probe"):
        (scratch / f"smcr-{name}").symlink_to(TOP / "plugin" / name)

    def words(*line):
        (scratch / "ask").write_text(
            f"#!/usr/bin/env bash\nPATH={scratch}:$PATH\nsource {TOP}/plugin/completion\n"
            f'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))\n'
            '_smcr "$1" "${@: -1}" "${@: -2:1}"; printf "%s\\n" "${COMPREPLY[@]}"\n'
        )
        (scratch / "ask").chmod(0o755)
        return run(scratch / "ask", *line).stdout.split()

    assert {"clc", "llc", "cdc", "confirm-rkey", "errors"} <= set(words("smcr-monitor", ""))
    assert words("smcr-monitor", "confirm-r") == ["confirm-rkey", "confirm-rkey-continuation"]
    assert {"-i", "-r", "--version"} <= set(words("smcr-monitor", "-"))
    assert words("smcr-capture", "--no") == ["--no-nlmon"]
    assert "lo" in words("smcr-capture", "-i", "l")
    assert words("smcr-capture", "-n", "") == []
    assert {"all", "own"} <= set(words("smcr-capture", "--netns", ""))
    assert {"-i", "-d", "--version"} <= set(words("smcr-probe", ""))
    assert words("smcr-probe", "-d", f"{TOP}/plug") == [f"{TOP}/plugin"]
    assert words("smcr-probe", "-d", f"{TOP}/READ") == []
    assert words("smcr-probe", "-o", f"{TOP}/READ") == [f"{TOP}/README.md"]
    assert words("smcr-probe", "-O", "") == words("smcr-probe", "-T", "") == []


VERSIONED = (
    "meson.build",
    "plugin/monitor",
    "plugin/capture",
    "plugin/compare",
    "plugin/probe",
    "plugin/debian/changelog",
    "plugin/rpm/wireshark-smcr.spec",
    "plugin/arch/PKGBUILD",
    "plugin/homebrew/wireshark-smcr.rb",
)


def test_release_sets_the_version_everywhere(scratch):
    """Each file that names the version names the new one, and nothing else of it changes."""
    for name in ("plugin/release", *VERSIONED):
        (scratch / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(TOP / name, scratch / name)
    old = re.search(r"^    version: '(.*)',$", (TOP / "meson.build").read_text(), re.MULTILINE)[1]
    assert run(scratch / "plugin" / "release", "--set", "7.8.9").returncode == 0
    for name in VERSIONED:
        text = (scratch / name).read_text()
        assert "7.8.9" in text and text.replace("7.8.9", old) == (TOP / name).read_text(), name
        assert old not in text, name
    assert_one_line(run(scratch / "plugin" / "release", "--set", "soon"), "no version")
    assert_one_line(run("plugin/release", scratch), "not empty")
    assert_one_line(run("plugin/release", "no/such/folder"), "cannot write")
