"""
No test depends on what is installed for the system or the user. Wireshark's programs run on the bed
only; and tests of each kind pass in a hostile home.
"""

import ast
import functools
import re
import subprocess
import sys

import pytest
from bed import TOP, as_user, nobodys, wireshark_version

# ---- who starts programs ----

STARTERS = re.compile(
    r"subprocess\.(run|Popen|call|check_call|check_output|getoutput|getstatusoutput)|"
    r"os\.(system|popen|exec\w+|spawn\w+|posix_spawnp?)|asyncio\.create_subprocess_\w+"
)
MAY_START = re.compile(r"subprocess|\bos\.(system|popen|exec|spawn|posix_spawn)")

# What else the tests start: tools, and programs and scripts of the project, none of which starts a
# program of Wireshark.
HARMLESS = {
    "node",
    "npm",
    "cc",
    "gcc",
    "nm",
    "ctags",
    "git",
    "tar",
    "chown",
    "jq",
    "meson",
    "ninja",
    "pkg-config",
    "lintian",
    "appstreamcli",
    "systemd-analyze",
    "convert",
    "bash -n",
    "dash -n",
}
BUILDS_ONLY = "it builds the plugin, or captures"
OTHERS = {
    "tests/bed.py installed_tshark": "it asks tshark about itself, with nobody's environment",
    "tests/started.py __init__": "the bed starts it",
    "tests/examples.py run_pasted": "the environment is that of a Tshark",
    "tests/chromium.py __init__": "Chromium is none of Wireshark's programs",
    "tests/test_hermetic.py in_hostile_home": "that is what it is for",
    "tests/test_install.py start_as_user": "the environment is that of bed.user()",
    "tests/test_style.py test_python_is_formatted": "black reads source",
    "tests/test_style.py density": "tests/density reads source",
    "tests/test_texts.py listed": "tests/texts reads source",
    "tests/test_scripts.py run": "the scripts print their usage, or refuse",
    "tests/desk/test_profile.py folder": "a function of the script takes the place of tshark",
    "tests/test_recipes_made.py tree": BUILDS_ONLY,
    "tests/golden/test_totals.py test_totals": "tests/oracle, which has a bed of its own",
    "tests/test_recipes_made.py test_the_figure_is_counted": "tests/figures-doc writes documents",
    "tests/synth/test_synth.py test_committed_captures_are_up_to_date": BUILDS_ONLY,
    "tests/facts/test_fabric.py model": "a program of tests/unit",
    "tests/test_portability.py errors": "a compiler",
    "tests/desk/network.py ip": "it configures a network",
    "tests/test_portability.py errors": "it compiles",
    "tests/wireshark_source.py run": "apt-get and dpkg",
    "tests/wireshark-checks main": "plugin/install-packages installs",
    "tests/in-tree main": "plugin/install-packages installs",
    "tests/in-tree configure": "CMake configures Wireshark's source",
    "tests/in-tree compile_object": "a compiler",
    "tests/test_wireshark_checks.py run": "the same",
    "tests/wireshark-checks findings": (
        "Wireshark's checkers read source, and start nothing of Wireshark"
    ),
    "tests/wireshark-suite check_plugins": (
        "Wireshark's programs beside Wireshark's own files, with nobody's environment"
    ),
    "tests/wireshark-suite run_tests": "the same; the tests give each program a home",
    "tests/desk/test_monitor.py __init__": "the environment is that of a Tshark",
    "tests/desk/test_monitor.py test_completion": "the tools print their usage",
    "tests/desk/test_compare.py run": "the environment is that of a Tshark",
    "tests/desk/test_neighbours.py run": "the environment is that of bed.user()",
    "tests/desk/test_neighbours.py test_packages_are_named_for_the_system": (
        "plugin/install-packages names packages"
    ),
    "tests/desk/test_package.py output": "plugin/package builds, dpkg and chown",
    "tests/desk/test_package.py test_package_refuses_other_release_notes": "plugin/package refuses",
    **dict.fromkeys(
        (
            "tests/bench main",
            "tests/docs-examples main",
            "tests/experts-doc main",
            "tests/fields-doc main",
            "tests/golden/regenerate main",
            "tests/oracle main",
            "tests/oracle plugin_of",
        ),
        BUILDS_ONLY,
    ),
}


def scripts(first_line):
    """Scripts of the tests that begin so."""
    return [
        path
        for path in sorted((TOP / "tests").rglob("*"))
        if path.is_file() and not path.suffix and path.read_bytes().startswith(first_line)
    ]


@functools.cache
def sources():
    """{path: text} of what is written in Python."""
    return {
        path.relative_to(TOP).as_posix(): path.read_text(encoding="utf-8")
        for path in [*sorted((TOP / "tests").rglob("*.py")), *scripts(b"#!/usr/bin/python3")]
    }


@functools.cache
def starts(source):
    """(function, call) for each call that starts a program; imports that would hide one."""
    if not MAY_START.search(source):
        return []
    tree, found = ast.parse(source), {}
    for function in [
        None,
        *(each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)),
    ]:  # outer ones first
        for each in ast.walk(function or tree):
            if isinstance(each, ast.Call) and STARTERS.fullmatch(ast.unparse(each.func)):
                found[each] = function
            elif isinstance(each, ast.ImportFrom) and each.module == "subprocess":
                found[each] = function
    return [(function, call) for call, function in found.items()]


def values(function, name):
    """What a variable of a function is set to."""
    for each in ast.walk(function) if function else ():
        if isinstance(each, ast.Assign) and name in {
            ast.unparse(target) for target in each.targets
        }:
            yield each.value


def program(function, call):
    """The words with which a command begins, as far as they are literals."""
    command = call.args[0]
    if isinstance(command, ast.Name):
        command = next(values(function, command.id), command)
    words = []
    for each in command.elts if isinstance(command, (ast.List, ast.Tuple)) else [command]:
        if not (isinstance(each, ast.Constant) and isinstance(each.value, str)):
            break
        words.append(each.value)
    return " ".join(words)


def is_of_the_bed(function, call):
    """Whether the program has the environment of a Tshark, or that of a user of the bed."""

    def safe(value):
        text = ast.unparse(value)
        return bool(re.search(r"\.environment\b|\bbed\.user\(", text)) and "os.environ" not in text

    given = next((each.value for each in call.keywords if each.arg == "env"), None)
    if isinstance(given, ast.Name):
        return any(map(safe, values(function, given.id)))
    return given is not None and safe(given)


def offences(source, path):
    """Calls that may start one of Wireshark's programs with what is installed: ["tests/x.py
    function: call"]"""
    for function, call in starts(source):
        where = f"{path} {function.name if function else '(module)'}"
        if isinstance(call, ast.ImportFrom):
            yield f"{where}: {ast.unparse(call)}"
        elif (
            where not in OTHERS
            and not is_of_the_bed(function, call)
            and not any(
                re.match(rf"{re.escape(each)}\b", program(function, call)) for each in HARMLESS
            )
        ):
            yield f"{where}: {ast.unparse(call)[:100]}"


def test_programs_run_on_the_bed():
    assert [each for path, source in sources().items() for each in offences(source, path)] == []


@pytest.mark.parametrize(
    "source",
    [
        'def f():\n    subprocess.run(["tshark", "-r", path], check=True)',
        (
            'def f():\n    command = ["tshark", "-n", path]\n'
            "    subprocess.run(command, capture_output=True)"
        ),
        (
            'def f():\n    subprocess.run(["editcap", "-s", "9", a, b], env={**os.environ, "TZ": '
            '"UTC"})'
        ),
        'def f(tshark):\n    subprocess.run(["tshark"], env={**os.environ, **tshark.environment})',
        (
            "def f(tshark):\n    environment = dict(os.environ)\n"
            '    subprocess.Popen(["sharkd", "-"], env=environment)'
        ),
        'def f():\n    subprocess.check_output("capinfos x.pcap", shell=True)',
        'def f():\n    subprocess.run(["sh", "-c", "tshark -v"])',
        'def f(path):\n    subprocess.run([path, "-h"])',
        'os.system("tshark -v")',
        'os.execvp("tshark", ["tshark"])',
        "from subprocess import run",
    ],
)
def test_planted_offence_is_found(source):
    assert len(list(offences(source, "planted.py"))) == 1


@pytest.mark.parametrize(
    "source",
    [
        'def f(tshark):\n    subprocess.run(["tshark"], env=tshark.environment)',
        (
            'def f(tshark):\n    environment = {**tshark.environment, "TZ": "UTC"}\n'
            '    subprocess.run(["tshark"], env=environment)'
        ),
        'def f():\n    subprocess.run(["nm", "-D", path], check=True)',
    ],
)
def test_what_is_right_is_no_offence(source):
    assert list(offences(source, "planted.py")) == []


def test_exceptions_are_needed():
    """No other function hides behind one that is gone."""
    there = {
        f"{path} {function.name if function else '(module)'}"
        for path, source in sources().items()
        for function, _ in starts(source)
    }
    assert OTHERS.keys() - there == set()


WIRESHARKS = (
    r"(tshark|sharkd|editcap|mergecap|capinfos|captype|dumpcap|rawshark|reordercap|randpkt|"
    r"text2pcap|wireshark)"
)
# Scripts in shell that start one: file, and in whose environment.
OF_SHELL = {
    "tests/desk/window": "of who starts it: a test that says so",
    "tests/packages": "in a root of its own",
}


def test_scripts_start_none_of_wiresharks_programs():
    start = re.compile(
        rf"^(?!\s*#|.*=\().*(^|[;&|({{!\"'] ?|\$\() *{WIRESHARKS} [-\"$]", re.MULTILINE
    )
    found = {
        path.relative_to(TOP).as_posix()
        for path in scripts(b"#!/usr/bin/env bash")
        if start.search(path.read_text())
    }
    assert found == OF_SHELL.keys()


# ---- a hostile home ----

CAPTURE = "6.1-v2-j-http11"
PREFERENCES = """
gui.column.format: "Mine","%Cus:frame.len:0:R"
nameres.network_name: TRUE
nameres.transport_name: TRUE
tcp.desegment_tcp_streams: FALSE
tcp.check_checksum: TRUE
tcp.track_bytes_in_flight: FALSE
udp.check_checksum: TRUE
http.tcp.port: 1
smcr.desegment: FALSE
smcr.dissect_payload: FALSE
smcr.heuristics: always
smcr.strict: TRUE
smcr.roce: TRUE
no.such.preference: TRUE
"""
SCRIPT = 'print("a script of the user")\n'
SETTINGS = {
    "preferences": PREFERENCES,
    "disabled_protos": "smcr\ninfiniband\nhttp\n",
    "heuristic_protos": "smcr_clc,0\nsmcr_roce,0\n",
    "decode_as_entries": "decode_as_entry: tcp.port,12345,(none),HTTP\n",
    "colorfilters": "@Mine@frame@[0,0,0][0,0,0]\n",
    "dfilters": '"mine" frame\n',
    "hosts": "10.0.0.1 mine\n",
    "init.lua": SCRIPT,
    "profiles/SMC-R/preferences": PREFERENCES,
    "profiles/Mine/preferences": PREFERENCES,
}
PLUGINS = {
    "epan/smcr.so": "This is no plugin.\n",
    "epan/other.so": "Nor is this.\n",
    "wiretap/other.so": "Nor this.\n",
    "codecs/other.so": "Nor this.\n",
}

# Of each kind a cheap one: tshark with and without the plugin, sharkd, editcap, golden, report, the
# monitor, an example.
NODES = """
test_plugin.py::test_plugin_is_loaded
test_plugin.py::test_heuristic_is_registered[tcp-smcr_clc]
golden/test_golden.py::test_golden[6.1-v2-f1-decline-server-no-device]
golden/test_report_golden.py::test_report[rnr-nak]
facts/test_output.py::test_bytes_without_write
facts/test_report_schema.py::test_filter_and_file_are_named
statistics/test_tables.py::test_sharkd_lists_them
desk/test_monitor.py::test_plugin_missing
test_docs.py::test_examples_print_what_is_written[rfc7609.md]
synth/test_synth.py::test_lower_layers_are_sound[openflow-roce]
""".split()


def write(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


@pytest.fixture
def hostile(scratch):
    """The environment of a user who has settings, scripts and plugins of all sorts, and of a system
    that has, too."""
    home, system, version = scratch / "home", scratch / "system", wireshark_version()
    for config in (
        home / ".config" / "wireshark",
        home / ".wireshark",
        scratch / "config" / "wireshark",
        system / "data",
    ):
        write(config, SETTINGS)
    for plugins in (home / ".local" / "lib" / "wireshark" / "plugins", system / "plugins"):
        write(plugins / version, PLUGINS)
        write(plugins, {"mine.lua": SCRIPT})
    return nobodys(
        HOME=str(home),
        XDG_CONFIG_HOME=str(scratch / "config"),
        XDG_DATA_HOME=str(scratch / "config"),
        WIRESHARK_CONFIG_DIR=str(home / ".config" / "wireshark"),
        WIRESHARK_PLUGIN_DIR=str(system / "plugins"),
        WIRESHARK_DATA_DIR=str(system / "data"),
        WIRESHARK_EXTCAP_DIR=str(system),
        WIRESHARK_LOG_LEVEL="noisy",
        LC_ALL="de_DE.UTF-8",
        LANGUAGE="de",
        TZ="Asia/Tokyo",
        PYTHONDONTWRITEBYTECODE="1",
    )


def in_hostile_home(hostile, *command):
    """A command of a user, if users can read the project."""
    anybody = as_user()
    if subprocess.run(["test", "-r", TOP / "tests" / "bed.py"], check=False, **anybody).returncode:
        anybody = {}
    return subprocess.run(
        [*command],
        env=hostile,
        cwd=TOP,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=300,
        **anybody,
    )


def test_home_is_hostile(bed, tshark, hostile):
    """Who asks the machine's tshark there hears of it, and sees something else."""
    there = in_hostile_home(hostile, "tshark", "-r", bed.capture(CAPTURE))
    assert there.stdout != tshark.show(CAPTURE)
    assert "smcr.so" in there.stderr and "a script of the user" in there.stdout + there.stderr


def test_tests_pass_in_a_hostile_home(hostile):
    """In one process, in another order. With other Wiresharks than 4.0 the documents' examples are
    skipped."""
    result = in_hostile_home(
        hostile,
        sys.executable,
        "-m",
        "pytest",
        "-c",
        "tests/pytest.ini",
        "--rootdir",
        "tests",
        "-q",
        "--shuffle",
        "7609",
        *(f"tests/{node}" for node in NODES),
    )
    passed = re.match(r"(\d+) passed(?:, (1) skipped)? in ", result.stdout.splitlines()[-1])
    assert passed and int(passed[1]) + int(passed[2] or 0) >= len(NODES), result.stdout
