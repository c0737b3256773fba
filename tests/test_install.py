"""
Installing and uninstalling are clean: nothing is left behind, settings stay, and where the plugin
is missing or is not for this Wireshark, Wireshark says so in one line of its own and works as
without it.
"""

import hashlib
import os
import pathlib
import shutil
import struct
import subprocess

import pytest
from bed import BUILDS, TOP, Tshark, as_user, path_of_builders, wireshark_version

CAPTURE = "6.1-v2-j-http11"

# Settings that name us, as Wireshark's dialogs write them, each in its file; beside them, those of
# others.
SETTINGS = {
    "preferences": "smcr.desegment: FALSE\nhttp.dechunk_body: FALSE\n",
    "disabled_protos": "smcr\nteredo\n",
    "heuristic_protos": "smcr_clc,0\nhttp_tcp,0\n",
    "decode_as_entries": "decode_as_entry: tcp.port,8099,(none),SMC-R\n",
    "dfilters": '"ours" smcr.stream == 0\n',
}

# Of columns, and how data are put together: plugin/run shows the same.
OTHER_PREFERENCES = """
gui.column.format: "Mine","%Cus:frame.len:0:R"
tcp.desegment_tcp_streams: FALSE
tcp.relative_sequence_numbers: FALSE
"""


# Debian's rpm: if it has no database, it makes one in the user's home when it is asked for the
# owner of a file.
RPM = """#!/bin/sh
[ "$1" != --eval ] || exec echo "$HOME/.rpmdb"
mkdir -p "$HOME/.rpmdb"
exit 1
"""
CUT = 100_000  # bytes of a plugin that was not copied to its end: any Wireshark crashes at it

# ---- plugin/run ----


@pytest.fixture
def checkout(bed, scratch):
    """A copy of the project for a user without privileges, who has settings; and the environment of
    that user."""
    copy = scratch / "checkout"
    shutil.copytree(
        TOP, copy, ignore=shutil.ignore_patterns(".git", "build*", "*.streams", "__pycache__")
    )
    home = scratch / "home"
    home.mkdir()
    (home / ".config" / "wireshark").mkdir(parents=True)
    (home / ".config" / "wireshark" / "preferences").write_text(
        SETTINGS["preferences"] + OTHER_PREFERENCES
    )
    give(copy, home)
    tools = scratch / "tools"
    tools.mkdir()
    (tools / "rpm").write_text(RPM)
    (tools / "rpm").chmod(0o755)
    return copy, bed.user(
        home,
        TMPDIR=str(home),
        PATH=f"{tools}:{path_of_builders(scratch / 'builders')}",
        CCACHE_DISABLE="1",  # meson uses it where it is, and it keeps files
    )


def give(*paths):
    """To the user."""
    if os.geteuid() == 0:
        subprocess.run(
            ["chown", "-R", f"{as_user()['user']}:{as_user()['group']}", *paths], check=True
        )


def start_as_user(checkout, program, *arguments):
    copy, environment = checkout
    return subprocess.run(
        [program, *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        stdin=subprocess.DEVNULL,
        env=environment,
        cwd=copy,
        **as_user(),
    )


def run_as_user(checkout, *arguments):
    """plugin/run; what it prints, given that it is content."""
    result = start_as_user(checkout, checkout[0] / "plugin" / "run", *arguments)
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout


def content(*folders):
    """All that is below: {path: (mode, SHA-256 of a file)}."""
    return {
        path: (
            path.lstat().st_mode,
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None,
        )
        for folder in folders
        for path in folder.rglob("*")
    }


def installed(checkout):
    home = pathlib.Path(checkout[1]["HOME"])
    return list(home.glob(".local/lib/wireshark/plugins/*/epan/smcr.so"))


def preference(checkout):
    """What the user's tshark has for smcr.desegment; None where it does not know it. And what it
    says on stderr."""
    result = start_as_user(checkout, "tshark", "-G", "currentprefs")
    values = [
        line.split(": ")[1]
        for line in result.stdout.splitlines()
        if line.startswith("smcr.desegment: ")
    ]
    return (values[0] if values else None), result.stderr


def assert_ends_with_report(printed, name):
    """The report of the capture is the last thing that plugin/run prints."""
    page = printed.split(f"\n== {name}: report\n")[-1]
    assert page.count("\nFindings\n") == page.count("\nConnections: ") == 1
    assert "==" not in page and "wireshark -C" not in page


def test_run_installs_shows_and_uninstalls(checkout):
    copy, environment = checkout
    before = content(copy, pathlib.Path(environment["HOME"]))
    plugins = pathlib.Path(environment["HOME"]) / ".local" / "lib" / "wireshark" / "plugins"
    broken = plugins / wireshark_version() / "epan" / "smcr.so"
    broken.parent.mkdir(parents=True)
    broken.write_text("This is no plugin.\n")
    give(environment["HOME"])

    first = run_as_user(checkout)
    assert "CLC Proposal" in first and "CDC" in first
    assert "\nIn the window:                 wireshark -C SMC-R " in first
    assert_ends_with_report(first, "6.1-v2-a-first-contact-ipv4.pcapng")
    assert len(installed(checkout)) == 1
    assert preference(checkout) == ("FALSE", "")
    profile = pathlib.Path(environment["HOME"]) / ".config" / "wireshark" / "profiles" / "SMC-R"
    assert {path.name for path in profile.iterdir()} == {
        ".installed",
        *(path.name for path in (TOP / "plugin" / "profile").iterdir()),
    }

    programs = pathlib.Path(environment["HOME"]) / ".local"
    for name in ("monitor", "capture", "compare", "probe"):
        version = start_as_user(checkout, programs / "bin" / f"smcr-{name}", "--version")
        assert version.stdout.startswith(f"smcr-{name} "), version.stderr
        page = (programs / "share" / "man" / "man1" / f"smcr-{name}.1").read_text()
        assert f'"wireshark-smcr {version.stdout.split()[1]}"' in page
        assert (programs / "share" / "bash-completion" / "completions" / f"smcr-{name}").is_file()

    again = run_as_user(
        checkout, copy / "captures" / "real" / "6.1-v2-a3-server-speaks-first.pcapng"
    )
    assert "Building" not in again and "Installed" not in again
    assert "CLC Proposal" in again
    assert_ends_with_report(again, "6.1-v2-a3-server-speaks-first.pcapng")

    os.truncate(installed(checkout)[0], CUT)
    mended = run_as_user(checkout)
    assert f"Installed {installed(checkout)[0]}" in mended and "CLC Proposal" in mended
    os.truncate(installed(checkout)[0], CUT)
    run_as_user(checkout, "--uninstall")
    assert content(copy, pathlib.Path(environment["HOME"])) == before


def test_run_refuses_another_wireshark_before_it_builds(checkout):
    """An earlier one, and headers of another version than tshark's: one sentence, and no file."""
    copy, environment = checkout
    found = copy.parent / "pkgconfig" / "wireshark.pc"
    found.parent.mkdir(exist_ok=True)
    for version, words in (
        ("3.6.2", "4.0 or later is needed, and this is 3.6.2"),
        ("4.99.0", f"tshark is version {wireshark_version()}, but the Wireshark headers are"),
    ):
        found.write_text(f"Name: wireshark\nDescription: none\nVersion: {version}\n")
        found.parent.chmod(0o755)
        before = content(copy, pathlib.Path(environment["HOME"]))
        given = (copy, {**environment, "PKG_CONFIG_PATH": str(found.parent)})
        result = start_as_user(given, copy / "plugin" / "run")
        assert result.returncode == 1 and words in result.stderr
        assert (result.stdout, result.stderr.count("\n")) == ("", 1)
        assert content(copy, pathlib.Path(environment["HOME"])) == before


def test_uninstall_leaves_other_plugins_and_preferences(checkout):
    """Also takes away what was installed for another Wireshark; what is not ours stays. Nothing to
    do is no error."""
    copy, environment = checkout
    folder = pathlib.Path(environment["HOME"]) / ".local" / "lib" / "wireshark" / "plugins"
    for version in ("3.6", wireshark_version()):
        (folder / version / "epan").mkdir(parents=True)
    (folder / "3.6" / "epan" / "other.txt").write_text("somebody else's")
    give(environment["HOME"])
    before = content(copy, pathlib.Path(environment["HOME"]))
    ours = [folder / version / "epan" / "smcr.so" for version in ("3.6", wireshark_version())]
    for path in ours:
        shutil.copyfile(BUILDS / "debug" / "smcr.so", path)
    assert preference(checkout) == ("FALSE", "")

    printed = run_as_user(checkout, "--uninstall")
    assert sorted(printed.splitlines()) == sorted(f"Removed {path}" for path in ours)
    after = content(copy, pathlib.Path(environment["HOME"]))
    assert after.items() <= before.items()
    assert {path.name for path in before.keys() - after.keys()} <= {
        "epan",
        wireshark_version(),
    }  # empty folders
    value, said = preference(checkout)
    assert value is None and 'No such preference "smcr.desegment"' in said
    assert run_as_user(checkout, "--uninstall") == ""


# ---- settings ----


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_survive_without_the_plugin(bed, scratch, name):
    """They are valid with the plugin, do no harm without it, and are valid again."""
    config = scratch / "config"
    config.mkdir()
    (config / name).write_text(SETTINGS[name])
    with_plugin, without = (
        Tshark(bed, plugin, WIRESHARK_CONFIG_DIR=str(config)) for plugin in ("debug", "none")
    )
    first = with_plugin.show(CAPTURE)
    (config / name).write_text(
        "".join(
            line
            for line in SETTINGS[name].splitlines(keepends=True)
            if "smcr" not in line and "SMC-R" not in line
        )
    )
    expected = without.show(CAPTURE)
    (config / name).write_text(SETTINGS[name])
    missing = without.start("-n", "-r", bed.capture(CAPTURE))
    assert (missing.returncode, missing.stdout) == (0, expected)
    warnings = [line for line in missing.stderr.splitlines() if "WARNING" in line]
    assert len(warnings) == (name == "preferences") and all(
        '"smcr.desegment"' in line for line in warnings
    )
    assert with_plugin.show(CAPTURE) == first


# ---- a plugin file that cannot be loaded ----


def broken_link(path, good):
    path.symlink_to("/nowhere/smcr.so")


def empty(path, good):
    path.write_bytes(b"")


def other_kind_of_file(path, good):
    path.write_text("This is no plugin.\n" * 100)


def built_for_other_libraries(path, good):
    """As of another Wireshark, whose library has another number."""
    start = good.index(b"\0libwireshark.so.") + len("\0libwireshark.so.")
    path.write_bytes(good[:start] + b"99" + good[start + 2 :])


def built_for_other_version(path, good):
    """The version symbol says so, though the libraries are there."""
    offset = file_offset(good, symbol(good, b"plugin_want_minor"))
    minor = int(wireshark_version().split(".")[1])
    assert struct.unpack_from("<i", good, offset) == (minor,)
    path.write_bytes(good[:offset] + struct.pack("<i", minor + 2) + good[offset + 4 :])


def sections(good):
    """Section headers of a 64-bit ELF file: (type, address, offset, size, link)."""
    start, size, count = struct.unpack_from("<Q", good, 40)[0], *struct.unpack_from("<HH", good, 58)
    for number in range(count):
        _, kind, _, address, offset, length, link = struct.unpack_from(
            "<IIQQQQI", good, start + number * size
        )
        yield kind, address, offset, length, link


def symbol(good, name):
    """Address of a dynamic symbol."""
    every = list(sections(good))
    _, _, offset, length, link = next(each for each in every if each[0] == 11)  # SHT_DYNSYM
    strings = every[link][2]
    for at in range(offset, offset + length, 24):
        text, _, _, _, value, _ = struct.unpack_from("<IBBHQQ", good, at)
        if good[strings + text :].startswith(name + b"\0"):
            return value
    raise LookupError(name)


def file_offset(good, address):
    return next(
        offset + address - start
        for kind, start, offset, length, _ in sections(good)
        if kind == 1 and start and start <= address < start + length
    )  # SHT_PROGBITS


@pytest.mark.parametrize(
    "make, words",
    [
        (broken_link, ["Couldn't load plugin", "No such file"]),
        (empty, ["Couldn't load plugin", "too short"]),
        (other_kind_of_file, ["Couldn't load plugin", "invalid ELF header"]),
        (built_for_other_libraries, ["Couldn't load plugin", "libwireshark.so.99"]),
        (built_for_other_version, ["was compiled for Wireshark version"]),
    ],
)
def test_file_that_cannot_be_loaded(bed, tshark_without, make, words):
    """One line on stderr, and the rest of Wireshark works as without it."""
    folder = bed.root / "plugins" / make.__name__ / wireshark_version() / "epan"
    folder.mkdir(parents=True)
    make(folder / "smcr.so", (BUILDS / "debug" / "smcr.so").read_bytes())
    result = Tshark(bed, make.__name__).start("-n", "-r", bed.capture(CAPTURE))
    assert len(result.stderr.splitlines()) == 1, result.stderr
    assert all(word in result.stderr for word in ["smcr.so", *words]), result.stderr
    assert result.returncode == 0
    assert result.stdout == tshark_without.start("-n", "-r", bed.capture(CAPTURE)).stdout != ""


def test_removed_file(bed, tshark_without):
    """An empty plugin folder is no error."""
    assert tshark_without.run("-G", "plugins") == ""
    assert tshark_without.show(CAPTURE) != Tshark(bed).show(CAPTURE)
