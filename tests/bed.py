"""
The test bed: folders in which tshark sees our plugin and nothing of the user or the system.

As root Wireshark reads neither the personal plugin folder nor WIRESHARK_PLUGIN_DIR, and says
nothing about it. So whoever starts the tests, tshark runs as a user without privileges, on copies
that this user can read. The plugin folder stands in for that of the system, which keeps a plugin
that is installed there out of the tests.
"""

import contextlib
import fcntl
import functools
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading

import started

TOP = pathlib.Path(__file__).resolve().parents[1]
BUILDS = TOP / "build-test"
USER = "nobody"  # who runs tshark when root runs the tests
ALL = bool(os.environ.get("SMCR_TEST_ALL"))  # tests that take a sample take all there is
TIME_LIMIT = 300  # seconds for one run of tshark

# What tshark 4.0 reads at each start, a third of the time it takes: names of vendors. Captures need
# one of them.
UNREAD = {"manuf", "enterprises.tsv"}
# What somebody may have put there, or that leads to what is installed elsewhere: profiles,
# databases of places, MIBs, and the system's preferences, which Wireshark itself brings none of.
OF_THE_SYSTEM = {
    "profiles",
    "maxmind_db_paths",
    "smi_modules",
    "preferences",
    "disabled_protos",
    "enabled_protos",
    "heuristic_protos",
    "decode_as_entries",
    "hosts",
    "subnets",
    "vlans",
}
VENDOR = "00:16:3E\t"

# RoCE over IPv6 leaves the UDP checksum out; that is no finding.
PREFERENCES = ("-o", "udp.ignore_ipv6_zero_checksum:TRUE")


FOLDERS = ("real", "synthetic", "malformed")
PACKED = ("fabric", "roce")  # tests of their own read them
APPLICATIONS = "applications"  # likewise
CAUSES = "causes"  # likewise
LATE = "late"  # likewise
STORIES = "stories"  # likewise


def captures(*folders):
    """The captures of the project: {name: path}, of all folders but the packed ones, or of those
    named."""
    found = {}
    for folder in folders or FOLDERS:
        for path in sorted((TOP / "captures" / folder).glob("*.pcap*")):
            assert path.stem not in found, f"two captures have the name {path.stem}"
            found[path.stem] = path
    return found


def as_user():
    """Arguments for subprocess that start a program without root's privileges."""
    return {"user": USER, "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}


# How to start what runs are copied from. tshark reads scripts of -X before that.
STARTS = {"tshark": ["tshark"], "sharkd": ["sharkd", "-"]}


@functools.lru_cache(8)
def started_program(root, program, thread, *environment):
    """The program on the bed at `root`, started once for this thread."""
    return started.Started(
        root / "started.so", STARTS[program], dict(environment), cwd=root, **as_user()
    )


def nobodys(**environment):
    """The environment of a user who has no settings, no plugins, and no variables of Wireshark."""
    return {
        "HOME": "/nonexistent",
        "LC_ALL": "C.UTF-8",
        "PATH": os.environ["PATH"],
        "TZ": "UTC",
        **environment,
    }


@functools.cache
def installed_tshark(*arguments):
    """What the machine's tshark prints about itself: version, folders, reports that it has. Not for
    captures."""
    return subprocess.run(
        ["tshark", *arguments],
        capture_output=True,
        text=True,
        check=True,
        env=nobodys(),
        **as_user(),
    ).stdout


@functools.cache
def wireshark_version():
    """Version of tshark as the plugin folders have it: 4.0"""
    return re.search(r"(\d+\.\d+)\.\d+", installed_tshark("--version")).group(1)


def system_folder(name):
    """A folder of the machine's Wireshark: "Plugins"; "Extcap path"; "configuration", with
    init.lua, colorfilters, dictionaries."""
    return pathlib.Path(
        re.search(
            rf"^(?:Global )?{name}:\s*(.+)$", installed_tshark("-G", "folders"), re.MULTILINE
        ).group(1)
    )


# Stands in for what builds: the plugin that was built for the tests comes out, which saves a minute
# of CPU time. meson sets up and installs.
NINJA = """#!/bin/sh
folder=.
case $1 in
    --version) exec echo 1.11 ;;
    -C) folder=$2 ;;
esac
case $* in
    install | *" install") exec meson install --no-rebuild -C "$folder" ;;
    *) exec cp '{plugin}' "$folder/smcr.so" ;;
esac
"""


def path_of_builders(folder):
    """The variable PATH with which plugin/run and plugin/package build: really with ALL."""
    if ALL:
        return os.environ["PATH"]
    folder.mkdir()
    (folder / "ninja").write_text(NINJA.format(plugin=BUILDS / "debug" / "smcr.so"))
    (folder / "ninja").chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


class Bed:
    """
    Folders below `root`: home, config and extcap (all empty), plugins/BUILD for every build of the
    plugin and plugins/none without it, data (Wireshark's own files but UNREAD), captures,
    docs/*.jq, docs/examples, plugin/monitor and plugin/compare (copies), scratch for captures that
    tests make, kept for what tests share.
    """

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.scratch = self.root / "scratch"

    def lay(self):
        """Make the folders and copy the plugins and captures into them."""
        self.root.chmod(0o755)
        for name in ("home", "config", "extcap", "scratch", "kept", "data", "docs", "plugins/none"):
            (self.root / name).mkdir(parents=True)
        for path in system_folder("configuration").iterdir():
            if path.name not in UNREAD | OF_THE_SYSTEM:
                (self.root / "data" / path.name).symlink_to(path)
            elif path.name == "manuf":
                lines = path.read_text(encoding="utf-8").splitlines()
                (self.root / "data" / "manuf").write_text(
                    "\n".join(line for line in lines if line.startswith(VENDOR))
                )
        for plugin in BUILDS.glob("*/smcr.so"):
            self.add_plugin(plugin, plugin.parent.name)
        for path in captures(*FOLDERS, *PACKED, APPLICATIONS, CAUSES, LATE, STORIES).values():
            copy = self.root / "captures" / path.relative_to(TOP / "captures")
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
        for path in (TOP / "docs").glob("*.jq"):
            shutil.copyfile(path, self.root / "docs" / path.name)
        shutil.copytree(TOP / "captures" / "points", self.root / "captures" / "points")
        shutil.copytree(TOP / "docs" / "examples", self.root / "docs" / "examples")
        (self.root / "plugin").mkdir()
        for name in ("monitor", "compare", "probe"):
            shutil.copy(TOP / "plugin" / name, self.root / "plugin" / name)
        started.build(self.root / "started.so")

    def add_plugin(self, plugin, build):
        """Copy a plugin to where Tshark looks for this build."""
        folder = self.root / "plugins" / build / wireshark_version() / "epan"
        folder.mkdir(parents=True)
        shutil.copyfile(plugin, folder / "smcr.so")

    def replace_plugin(self, plugin, build):
        """Another plugin in the place of this build."""
        target = self.root / "plugins" / build / wireshark_version() / "epan" / "smcr.so"
        shutil.copyfile(plugin, target)

    def capture(self, name_or_path):
        """Path of a capture that tshark can read: the copy of one of the project's, or a path as it
        is."""
        if isinstance(name_or_path, pathlib.Path):
            return name_or_path
        return self.root / "captures" / captures()[name_or_path].relative_to(TOP / "captures")

    def edit(self, *arguments, program="editcap"):
        """What editcap, mergecap or capinfos prints. They load plugins, too; captures that they
        make go to `scratch`."""
        return Tshark(self, "none").run(*arguments, program=program)

    def user(self, home, **environment):
        """The environment of a user with a home of her own, on a system where nothing is installed
        beside Wireshark."""
        return nobodys(
            HOME=str(home),
            WIRESHARK_DATA_DIR=str(self.root / "data"),
            WIRESHARK_PLUGIN_DIR=str(self.root / "plugins" / "none"),
            **environment,
        )

    def keep(self, key, make):
        """What make() returns, bytes: called once for this key, whichever test and worker process
        asks first."""
        kept = self.root / "kept" / hashlib.sha256(repr(key).encode()).hexdigest()
        with kept.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not kept.exists():
                new = kept.with_suffix(".new")
                new.write_bytes(make())
                new.rename(kept)
        return kept.read_bytes()


@contextlib.contextmanager
def new_bed(build="debug"):
    """A bed for as long as the block runs; `build` is what it must have."""
    if not (BUILDS / build / "smcr.so").exists():
        raise FileNotFoundError("the plugin is not built: run tests/build")
    with tempfile.TemporaryDirectory(prefix="smcr-test-") as root:
        bed = Bed(root)
        bed.lay()
        yield bed


class Tshark:
    """tshark and its kin on a bed, with one build of the plugin or, with plugin="none", without
    it."""

    def __init__(self, bed, plugin="debug", **environment):
        self.bed = bed
        folder = bed.root / "plugins" / plugin
        assert folder.exists(), f"the plugin is not built as {plugin}: run tests/build"
        self.environment = {
            **nobodys(HOME=str(bed.root / "home")),
            "WIRESHARK_ABORT_ON_DISSECTOR_BUG": "1",
            "WIRESHARK_CONFIG_DIR": str(bed.root / "config"),
            "WIRESHARK_DATA_DIR": str(bed.root / "data"),
            "WIRESHARK_EXTCAP_DIR": str(bed.root / "extcap"),
            "WIRESHARK_PLUGIN_DIR": str(folder),
            **environment,
        }

    def started(self, program="tshark"):
        """The program from which runs are copied."""
        return started_program(
            self.bed.root, program, threading.get_ident(), *self.environment.items()
        )

    def start(self, *arguments, program="tshark", **options):
        """Run it as it is; returns subprocess's result. The run is a copy of a started program
        where that is the same."""
        options = {"timeout": TIME_LIMIT, "encoding": "utf-8", "errors": "replace", **options}
        if (
            program in STARTS
            and "-X" not in arguments
            and options.keys() <= {"timeout", "encoding", "errors", "input"}
        ):
            copied = self.started(program)
            if copied.is_ready:
                return copied.run([program, *arguments], **options)
        if "input" not in options:
            options.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.run(
            [program, *map(str, arguments)],
            env=self.environment,
            cwd=self.bed.root,
            **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},
            **as_user(),
        )

    def run(self, *arguments, **options):
        """Run it, insist on silence on stderr and on success; returns what it printed."""
        result = self.start(*arguments, **options)
        assert result.stderr == "" and result.returncode == 0, (
            f"tshark {' '.join(map(str, arguments))}\nexit status {result.returncode}\n"
            f"{result.stderr}"
        )
        return result.stdout

    def show(self, capture, *arguments, **options):
        """What tshark prints about a capture (name or path)."""
        return self.run("-n", *PREFERENCES, "-r", self.bed.capture(capture), *arguments, **options)

    def show_once(self, name, *arguments):
        """The same of one of the project's captures. Tests that ask for the same share one run."""
        key = (name, arguments, sorted(self.environment.items()))
        return self.bed.keep(key, lambda: self.show(name, *arguments).encode("utf-8")).decode(
            "utf-8"
        )

    def fields(self, capture, *names, where="", two_pass=False, options=()):
        """
        Values of display fields: one row per frame that matches `where`, in it one list per name
        with all of the field's values in the frame, as strings. `options`: further arguments of
        tshark. Of a capture of the project, which has a name, not a path, tshark runs once for all
        who ask the same.
        """
        arguments = [
            *options,
            "-T",
            "fields",
            "-E",
            "separator=/t",
            "-E",
            "aggregator=;",
            "-E",
            "occurrence=a",
        ]
        for name in names:
            arguments += ["-e", name]
        if where:
            arguments += ["-Y", where]
        if two_pass:
            arguments.append("-2")
        show = self.show if isinstance(capture, pathlib.Path) else self.show_once
        lines = show(capture, *arguments).splitlines()
        return [[value.split(";") if value else [] for value in line.split("\t")] for line in lines]

    def frames(self, capture, where, **options):
        """Numbers of the frames that match a display filter."""
        return [
            int(row[0][0]) for row in self.fields(capture, "frame.number", where=where, **options)
        ]

    @functools.cache
    def registered_fields(self):
        """
        Fields of our protocol as `tshark -G fields` lists them: rows of (filter, type, name,
        description), one per registration, sorted as they come.
        """
        rows = (line.split("\t") for line in self.run("-G", "fields").splitlines())
        return [
            (row[2], row[3], row[1], row[7]) for row in rows if row[0] == "F" and row[4] == "smcr"
        ]
