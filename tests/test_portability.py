"""
The plugin's source is not tied to this system: it compiles for Windows, with MinGW's headers, and
against musl's.

GLib and Wireshark have their headers in common with this system but for glibconfig.h, which is made
for Windows of the one that is here. There `long` has 32 bits, and data of another DLL has no
address before the program starts. clang compiles for Windows: MinGW's compiler is large. POSIX's
names and declarations that repeat each other are found by the builds, too: that of clang takes
GNU's C11, as Wireshark's own does.
"""

import functools
import json
import pathlib
import re
import shutil
import subprocess

import pytest
from bed import ALL, BUILDS, TOP

WARNINGS = (
    "-Wall",
    "-Wextra",
    "-Wshadow",
    "-Wmissing-prototypes",
    "-Wstrict-prototypes",
    "-Wcast-qual",
    "-Wconversion",
    "-Wredundant-decls",
    "-Werror",
)
FILES = sorted(path.relative_to(TOP).as_posix() for path in (TOP / "dissectors").rglob("*.c"))
SHARE = 16  # one of so many files is compiled, and those with what Windows has another idea of
ALWAYS = ["dissectors/fields.c", "plugin/plugin.c"]
CHOSEN = [*ALWAYS, *(FILES if ALL else FILES[::SHARE])]

# What is another one on Windows: of a line, what it says here and there.
GLIB_CONFIG = (
    (r"\blong (?=(gu?int64|gs?size|gu?intptr);)", "long long "),
    (r"(?<=val##)(U?)L\)", r"\1LL)"),
    (r'"l([iu]?)"', r'"ll\1"'),
    (r"(?<=GLIB_SIZEOF_LONG)\s+8", " 4"),
    (r"\(g(u?)long\) (?=\([piu]\)\))", r"(g\1int64) "),
    (r"(?<=\(\(g)(u?long\) GU?INT)64", r"\g<1>32"),
    (r"(?<=MAXSIZE\t)G_MAXULONG", "G_MAXUINT64"),
    (r"(?<=SSIZE\t)G_(MAX|MIN)LONG", r"G_\1INT64"),
    (r"G_OS_UNIX", "G_OS_WIN32"),
    (r"IMPL_POSIX", "IMPL_WIN32"),
    (r'G_MODULE_SUFFIX "so"', 'G_MODULE_SUFFIX "dll"'),
    (r"typedef int GPid", "typedef void *GPid"),
)
WINDOWS = """
#include <glib.h>
#ifndef G_OS_WIN32
#error "GLib takes this for another system"
#endif
_Static_assert(sizeof(long) == 4 && sizeof(void *) == 8, "LLP64");
_Static_assert(sizeof(gint64) == 8 && sizeof(guint64) == 8, "64 bits");
_Static_assert(sizeof(gsize) == 8 && sizeof(gssize) == 8, "sizes");
_Static_assert(sizeof(gintptr) == 8 && sizeof(guintptr) == 8, "pointers");
_Static_assert(GLIB_SIZEOF_LONG == sizeof(long), "long");
"""


@functools.cache
def flags(*packages):
    return subprocess.run(
        ["pkg-config", "--cflags-only-I", *packages], capture_output=True, text=True, check=True
    ).stdout.split()


@functools.cache
def answers():
    """What meson asked of Wireshark's headers."""
    commands = json.loads((BUILDS / "debug" / "compile_commands.json").read_text(encoding="utf-8"))
    return sorted(
        set(re.findall(r"-DCOMPAT_HAS_\w+", " ".join(each["command"] for each in commands)))
    )


def glib_config():
    """(folder of glibconfig.h, its text for Windows)"""
    path = next(
        path
        for flag in flags("glib-2.0")
        if (path := pathlib.Path(flag[2:]) / "glibconfig.h").exists()
    )
    text = path.read_text(encoding="utf-8")
    for here, there in GLIB_CONFIG:
        text = re.sub(here, there, text)
    return path.parent, text


@pytest.fixture(scope="session")
def system(tmp_path_factory):
    """{system: compiler with its headers}"""
    folder = tmp_path_factory.mktemp("headers")
    here, text = glib_config()
    (folder / "glibconfig.h").write_text(text, encoding="utf-8")
    (folder / "common").mkdir()
    for path in (pathlib.Path("/usr/include") / name for name in ("zlib.h", "zconf.h")):
        (folder / "common" / path.name).symlink_to(path)
    own = subprocess.run(
        ["cc", "-print-file-name=include"], capture_output=True, text=True, check=True
    ).stdout.strip()
    musl = next(pathlib.Path("/usr/include").glob("*-linux-musl"))
    shared = [
        f"-isystem{flag[2:]}" for flag in flags("wireshark", "glib-2.0") if flag != f"-I{here}"
    ]
    shared += [
        f"-isystem{folder / 'common'}",
        *answers(),
        '-DSMCR_VERSION="0"',
        *WARNINGS,
        "-fsyntax-only",
    ]
    return {
        "windows": [
            "clang",
            "--target=x86_64-w64-mingw32",
            "-isystem/usr/x86_64-w64-mingw32/include",
            "-std=c11",
            f"-isystem{folder}",
            *shared,
        ],
        "musl": [
            "cc",
            "-nostdinc",
            f"-isystem{own}",
            f"-isystem{musl}",
            "-std=gnu11",
            f"-isystem{here}",
            *shared,
        ],
    }


def errors(compiler, path, top=TOP):
    """
    What the compiler says of a file of the project, in the tree at `top`. The build makes
    page_text.h, which page.c includes.
    """
    folders = (top / "plugin", top / "dissectors", BUILDS / "debug" / "dissectors")
    result = subprocess.run(
        [*compiler, *(f"-I{folder}" for folder in folders), top / path],
        capture_output=True,
        text=True,
    )
    assert bool(result.stderr) == bool(result.returncode)
    return result.stderr


def test_glib_is_that_of_windows(system, tmp_path):
    (tmp_path / "size.c").write_text(WINDOWS, encoding="utf-8")
    assert errors(system["windows"], tmp_path / "size.c") == ""


@pytest.mark.parametrize("name", ["windows", "musl"])
@pytest.mark.parametrize("path", CHOSEN)
def test_file_compiles(system, name, path):
    assert errors(system[name], path) == ""


# A fault: the file that has it, what it says instead; the file that is compiled, where, and a word
# of the error.
FAULTS = {
    "name of POSIX": (
        "dissectors/packet/show_packet.c",
        "part_key_t",
        "key_t",
        "dissectors/packet/show_packet.c",
        "musl",
        "key_t",
    ),
    "definition of what is imported": (
        "plugin/plugin.c",
        "#define WS_BUILD_DLL",
        "",
        "plugin/plugin.c",
        "windows",
        "plugin_version",
    ),
    "address of what is imported": (
        "dissectors/fields.def",
        "TEXTS(icrc_statuses)",
        "VALS(proto_checksum_vals)",
        "dissectors/fields.c",
        "windows",
        "constant",
    ),
    "declared twice, CLC": (
        "dissectors/message/clc_messages.h",
        "DIAG_OFF(redundant-decls)",
        "DIAG_OFF(shadow)",
        "dissectors/message/clc.c",
        "musl",
        "smcr_clc_accept",
    ),
    "declared twice, LLC": (
        "dissectors/message/llc_messages.h",
        "DIAG_OFF(redundant-decls)",
        "DIAG_OFF(shadow)",
        "dissectors/message/llc.c",
        "musl",
        "smcr_llc_add_link",
    ),
    "width of long": (
        "dissectors/fabric/icrc.c",
        "size_t count = bth",
        "unsigned long count = bth",
        "dissectors/fabric/icrc.c",
        "windows",
        "shorten-64-to-32",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_found(system, tmp_path, fault):
    where, text, instead, path, name, word = FAULTS[fault]
    for folder in ("dissectors", "plugin"):
        shutil.copytree(TOP / folder, tmp_path / folder)
    right = (tmp_path / where).read_text(encoding="utf-8")
    assert text in right
    (tmp_path / where).write_text(right.replace(text, instead), encoding="utf-8")
    assert word in errors(system[name], path, tmp_path)
