"""
Other versions of Wireshark: the plugin is built by what their headers have, whatever their number;
a plugin of another version is refused in one line; and plugin/run builds anew when the system has
another Wireshark.
"""

import os
import pathlib
import re
import shutil
import struct
import subprocess

import pytest
from bed import ALL, BUILDS, TOP, Tshark, as_user, wireshark_version
from test_install import CAPTURE, file_offset, symbol

PARTS = (
    "meson.build",
    "meson_options.txt",
    "README.md",
    "plugin",
    "dissectors",
    "tests/unit",
    "tests/fabric",
    "tests/statistics",
    "tests/fuzz",
)

# The sources that use what differs between versions.
SOURCES = [
    "payload/follow.c",
    "payload/as_tcp.c",
    "statistics/conversation_filters.c",
    "statistics/message_tree.c",
    "statistics/flow_graph.c",
    "report/report.c",
    "host/preferences.c",
    "host/heuristic.c",
    "roce/headers.c",
]

# What a later version has instead of 4.0: (header, expression, replacement).
COUNT = (
    "epan/follow.h",
    r"(WS_DLL_PUBLIC\s+void register_follow_stream\([^;]*tap_packet_cb tap_handler)\)",
    r"typedef guint32 (*follow_stream_count_func)(void);\n"
    r"typedef gboolean (*follow_sub_stream_id_func)(guint, guint, gboolean, guint *);\n"
    r"follow_stream_count_func get_follow_stream_count_func(register_follow_t *follower);\n"
    r"follow_sub_stream_id_func get_follow_sub_stream_id_func(register_follow_t *follower);\n"
    r"\1, follow_stream_count_func stream_count, follow_sub_stream_id_func sub_stream_id)",
)
UINT8 = ("epan/tvbuff.h", r"\btvb_get_guint8\b", "tvb_get_uint8")
STREAM = ("epan/dissectors/packet-tcp.h", r"(struct tcpinfo \{)", r"\1 guint32 stream;")
FILTERS = "epan/conversation_filter.h"
DATA = (
    FILTERS,
    r"(\(\*(?:is_filter_valid|build_filter_string)_func\)\(struct _packet_info \*pinfo)\)",
    r"\1, void *user_data)",
)
DATA_KEPT = (
    FILTERS,
    r"(register_(?:log_)?conversation_filter\([^;]*)\);",
    r"\1, void *user_data);",
)
RESULT = (
    "epan/stat_tap_ui.h",
    r"typedef void \(\* ?stat_tap_init_cb\)",
    "typedef _Bool (*stat_tap_init_cb)",
)
HEURISTIC = ("epan/packet.h", r"typedef gboolean (\(\*heur_dissector_t\))", r"typedef _Bool \1")
PREFERENCE = (
    "epan/prefs.h",
    r"(prefs_register_bool_preference\([^;]*)gboolean \*var",
    r"\1_Bool *var",
)
VALID = (FILTERS, r"typedef gboolean (\(\*is_filter_valid_func)", r"typedef _Bool \1")
POOL = ("wsutil/wmem/wmem_user_cb.h", r"typedef gboolean (\(\*wmem_user_cb_t)", r"typedef _Bool \1")
UNKNOWN = ("epan/follow.h", r"(void register_follow_stream\()", r"\1int unheard_of, ")


def version(text):
    return [
        ("ws_version.h", rf"(VERSION_{part}) \d+", rf"\1 {number}")
        for part, number in zip(("MAJOR", "MINOR", "MICRO"), text.split("."), strict=True)
    ]


# {version: what its headers have otherwise than those of 4.0}, as far as the plugin uses it.
NEIGHBOURS = {
    "4.2.5": [COUNT],  # as read in its headers
    "4.3.0": [COUNT, UINT8, DATA, DATA_KEPT, POOL],  # a version of developers: some of it
    "4.3.1": [STREAM, PREFERENCE, VALID],
    "4.4.0": [COUNT, UINT8, STREAM, DATA, DATA_KEPT, HEURISTIC, PREFERENCE, VALID, POOL],
    "4.6.0": [COUNT, UINT8, STREAM, DATA, DATA_KEPT, HEURISTIC, PREFERENCE, VALID, POOL, RESULT],
}

of_4_0 = pytest.mark.skipif(
    wireshark_version() != "4.0", reason="makes the headers of others from those of 4.0"
)


@pytest.fixture
def neighbour(tmp_path):
    """A function that makes a Wireshark of headers only; returns the environment in which
    pkg-config finds it."""

    def make(number, changes):
        include = tmp_path / "include"
        shutil.copytree("/usr/include/wireshark", include)
        for name, pattern, replacement in [*changes, *version(number)]:
            path = include / name
            text, count = re.subn(pattern, replacement, path.read_text(encoding="utf-8"))
            assert count, f"{name} has no {pattern}"
            path.write_text(text, encoding="utf-8")
        libraries, folder = (
            subprocess.run(
                ["pkg-config", asked, "wireshark"], stdout=subprocess.PIPE, text=True
            ).stdout
            for asked in ("--libs", "--variable=libdir")
        )
        (tmp_path / "wireshark.pc").write_text(
            f"libdir={folder}plugindir={tmp_path}/plugins\nName: Wireshark\n"
            "Description: headers only\n"
            f"Version: {number}\nRequires: glib-2.0\nCflags: -I{include}\nLibs: {libraries}"
        )
        return {**os.environ, "PKG_CONFIG_PATH": str(tmp_path)}

    return make


def set_up(tmp_path, environment):
    """Meson's result for a copy of the tree, and the folder of the build."""
    tree = tmp_path / "tree"
    for part in PARTS:
        (tree / part).parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if (TOP / part).is_dir() else shutil.copyfile)(TOP / part, tree / part)
    build = tree / "build"
    options = ("-Dbuildtype=plain", "-Dc_args=-O0", "-Dwerror=true")
    return build, subprocess.run(
        ["meson", "setup", build, tree, *options], env=environment, capture_output=True, text=True
    )


@of_4_0
@pytest.mark.parametrize("number", NEIGHBOURS if ALL else list(NEIGHBOURS)[-1:])
def test_build_goes_by_the_headers(tmp_path, neighbour, number):
    environment = neighbour(number, NEIGHBOURS[number])
    build, result = set_up(tmp_path, environment)
    assert result.returncode == 0, result.stdout
    objects = [f"smcr.so.p/dissectors_{source.replace('/', '_')}.o" for source in SOURCES]
    made = subprocess.run(
        ["ninja", "-C", build, "smcr.so.p/plugin_plugin.c.o", *objects],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stdout


@of_4_0
def test_unknown_form_is_named(tmp_path, neighbour):
    """Not thousands of lines of a compiler."""
    _, result = set_up(tmp_path, neighbour("5.0.0", [UNKNOWN]))
    errors = [line for line in result.stdout.splitlines() if "ERROR" in line]
    assert len(errors) == 1
    assert all(
        word in errors[0] for word in ("Wireshark 5.0.0", "not known", "register_follow_stream")
    )


@of_4_0
def test_too_old_is_said(tmp_path, neighbour):
    _, result = set_up(tmp_path, neighbour("3.6.2", []))
    assert "3.6.2" in result.stdout and ">= 4.0" in result.stdout and result.returncode != 0


# ---- other systems ----


@pytest.mark.parametrize(
    "manager, command, names",
    [
        ("dnf", "sudo dnf install", "gcc glibc-devel wireshark-devel ninja-build wireshark-cli"),
        ("zypper", "sudo zypper install", "gcc glibc-devel wireshark-devel ninja wireshark"),
        ("brew", "brew install", "wireshark ninja"),
    ],
)
def test_packages_are_named_for_the_system(scratch, manager, command, names):
    """One line; a package stands in it once, though it has two of the tools."""
    for name in ("bash", "env"):
        (scratch / name).symlink_to(shutil.which(name))
    (scratch / manager).write_text("#!/bin/sh\n")
    (scratch / manager).chmod(0o755)
    tools = (
        ("wireshark.pc", "ninja", "tshark")
        if manager == "brew"
        else ("cc", "wireshark.pc", "ninja", "tshark")
    )
    result = subprocess.run(
        [TOP / "plugin" / "install-packages", *tools],
        capture_output=True,
        text=True,
        env={"PATH": str(scratch)},
        stdin=subprocess.DEVNULL,
        timeout=60,
    )
    assert result.returncode != 0 and result.stdout == ""
    assert (
        result.stderr
        == f"install-packages: please install these packages, then try again: {command} {names}\n"
    )


# ---- a plugin of another version ----


def start(bed, folder, plugin):
    """tshark's result with a plugin file in its plugin folder."""
    place = bed.root / "plugins" / folder / wireshark_version() / "epan"
    place.mkdir(parents=True)
    (place / "smcr.so").write_bytes(plugin)
    return Tshark(bed, folder).start("-n", "-r", bed.capture(CAPTURE))


def refused(result, tshark_without, *words):
    """One line says so, and all else is as without the plugin."""
    expected = tshark_without.start("-n", "-r", tshark_without.bed.capture(CAPTURE)).stdout
    assert len(result.stderr.splitlines()) == 1 and all(
        word in result.stderr for word in ("smcr.so", *words)
    )
    assert (result.returncode, result.stdout) == (0, expected)


@pytest.mark.parametrize("major, minor", [(0, -2), (0, -1), (0, 1), (0, 2), (-1, 0), (1, 0)])
def test_other_version_is_refused(bed, tshark_without, major, minor):
    """Smaller or larger, by the version that the file names: the libraries are those that are
    here."""
    good, named = (BUILDS / "debug" / "smcr.so").read_bytes(), []
    for name, step in ((b"plugin_want_major", major), (b"plugin_want_minor", minor)):
        offset = file_offset(good, symbol(good, name))
        named.append(struct.unpack_from("<i", good, offset)[0] + step)
        good = good[:offset] + struct.pack("<i", named[-1]) + good[offset + 4 :]
    result = start(bed, f"version{named[0]}_{named[1]}", good)
    refused(result, tshark_without, f"was compiled for Wireshark version {named[0]}.{named[1]}")


def real_plugins():
    """Plugins that tests/versions has built with other versions: {suite: path}"""
    roots = (
        pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache"))
        / "wireshark-smcr"
    )
    try:
        return {
            path.name: built
            for path in sorted(roots.iterdir())
            if (built := next(path.glob("home/*/wireshark-smcr/build-test/debug/smcr.so"), None))
        }
    except OSError:
        return {}


@pytest.mark.skipif(
    not real_plugins(), reason="tests/versions has built no plugin with another Wireshark"
)
@pytest.mark.parametrize("suite", real_plugins() or ["none"])
def test_plugin_of_another_system_is_refused(bed, tshark_without, suite):
    """A real one: the library that it needs has another number."""
    library = re.compile(rb"libwireshark\.so\.\d+")
    plugin = real_plugins()[suite].read_bytes()
    if library.search(plugin)[0] == library.search((BUILDS / "debug" / "smcr.so").read_bytes())[0]:
        pytest.skip(f"{suite} has the same Wireshark as this system")
    refused(
        start(bed, f"of-{suite}", plugin),
        tshark_without,
        "Couldn't load plugin",
        "libwireshark.so.",
    )


# ---- the system gets another Wireshark ----

TOOLS = {
    "meson": """case $1 in
        setup) mkdir -p "$2" && touch "$2/build.ninja" ;;
        install)
            mkdir -p "$DESTDIR/profile" && touch "$DESTDIR/profile/preferences"
            cp "$4/smcr.so" "$DESTDIR"
            ;;
    esac""",
    "ninja": 'cp "$PLUGIN" "$2/smcr.so"',
    "tshark": 'real "$@" | sed "s/$OLD/$NEW/g"',
    "pkg-config": 'if [[ $* == "--modversion wireshark" ]]; then echo "$NEW.3"; else real "$@"; fi',
}


@pytest.fixture
def upgraded(bed, scratch):
    """
    A user whose plugin was built for this Wireshark, and whose system now says that it has another
    one: (plugin folders, copy of the project, environment).
    """
    old, new = wireshark_version(), "4.97"
    copy, home, tools = scratch / "checkout", scratch / "home", scratch / "tools"
    shutil.copytree(
        TOP, copy, ignore=shutil.ignore_patterns(".git", "build*", "captures", "__pycache__")
    )
    plugins = home / ".local" / "lib" / "wireshark" / "plugins"
    (plugins / old / "epan").mkdir(parents=True)
    shutil.copyfile(BUILDS / "debug" / "smcr.so", plugins / old / "epan" / "smcr.so")
    (copy / "build").mkdir()
    (copy / "build" / ".wireshark").write_text(f"{old}.1\n")
    (copy / "build" / "smcr.so").write_text("of the old one")
    tools.mkdir()
    for name, body in TOOLS.items():
        real = f'real() {{ "{shutil.which(name)}" "$@"; }}\n'
        (tools / name).write_text(f"#!/usr/bin/env bash\n{real}{body}\n")
        (tools / name).chmod(0o755)
    if os.geteuid() == 0:
        subprocess.run(
            ["chown", "-R", f"{as_user()['user']}:{as_user()['group']}", copy, home], check=True
        )
    return (
        plugins,
        copy,
        bed.user(
            home,
            TMPDIR=str(home),
            NEW=new,
            OLD=old.replace(".", "[.]"),
            PATH=f"{tools}:{os.environ['PATH']}",
            PLUGIN=str(next((bed.root / "plugins" / "debug").rglob("smcr.so"))),
        ),
    )


def run(upgraded, *arguments):
    _, copy, environment = upgraded
    return subprocess.run(
        [copy / "plugin" / "run", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=copy,
        env=environment,
        stdin=subprocess.DEVNULL,
        timeout=300,
        **as_user(),
    )


def content(upgraded, *arguments):
    """What plugin/run prints, given that it is content."""
    result = run(upgraded, *arguments)
    assert (result.returncode, result.stderr) == (0, ""), result.stdout
    return result.stdout


def test_run_builds_anew_for_another_wireshark(bed, upgraded):
    """The file of the old Wireshark stays where only that one looks; --uninstall takes both
    away."""
    plugins, copy, environment = upgraded
    printed = content(upgraded, bed.capture(CAPTURE))
    new = plugins / environment["NEW"] / "epan" / "smcr.so"
    assert (
        f"Building for Wireshark {environment['NEW']}.3 ..." in printed
        and f"Installed {new}" in printed
    )
    assert new.read_bytes() == (BUILDS / "debug" / "smcr.so").read_bytes()
    assert len(list(plugins.glob("*/epan/smcr.so"))) == 2
    assert "Building" not in content(upgraded, bed.capture(CAPTURE))

    assert content(upgraded, "--uninstall").count("smcr.so\n") == 2
    assert list(plugins.glob("*/epan/smcr.so")) == [] and not (copy / "build").exists()


def test_headers_of_another_version_than_tshark(upgraded):
    """A distribution that has upgraded one package only."""
    environment = upgraded[2]
    environment["NEW"] = wireshark_version()
    shim = pathlib.Path(environment["PATH"].split(":")[0]) / "pkg-config"
    shim.write_text(shim.read_text().replace("$NEW.3", "4.97.3"))
    result = run(upgraded)
    assert result.returncode != 0
    assert re.search(
        r"tshark is version \S+, but the Wireshark headers are version 4\.97\.3", result.stderr
    )
