"""plugin/monitor: what it prints of captures and of what comes in live, how it ends, what it says
when it cannot begin."""

import collections
import contextlib
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import time

import pytest
from bed import ALL, TOP, as_user, captures

sys.path.insert(0, str(TOP / "tests" / "facts"))
import hosts  # noqa: E402
import test_vectors as vectors  # noqa: E402
import wire  # noqa: E402

REAL = captures("real")
STRIDE = 1 if ALL else 6  # of captures, where not all are read
LATE = "6.1-v1-c2-capture-starts-late"  # its first frame turns out to be SMC-R only later
# Messages in several packets, other headers, bits that are seldom set.
SYNTHETIC = (
    "clc-split-segments",
    "llc-v2-long-add-link",
    "rocev1-vlan",
    "ib-native",
    "reserved-flags",
)
LINE = re.compile(
    r" *(?P<frame>\d+) (?P<time>\d\d:\d\d:\d\d\.\d{6})  (?P<source>.*?) > (?P<target>.*?)  "
    r"(?P<text>.*)"
)
MORE = re.compile(r"    [ 0-9a-f]{4}  (?P<text>.*)")  # what -x and -v add
CLASSES = {
    "option": "SMC-R option",
    "clc": "CLC",
    "llc": "LLC",
    "cdc": "CDC",
    "write": "RDMA WRITE",
    "cm": "RDMA-CM",
}
FIELDS = {
    "option": "smcr.option.kind",
    "clc": "smcr.clc.length",
    "llc": "smcr.llc.type",
    "cdc": "smcr.cdc.type",
    "write": "smcr.write.len",
}
SETTINGS = ("-o", "smcr.dissect_payload:FALSE")
SEVERITIES = {0x400000: "note", 0x600000: "warning", 0x800000: "error"}
TIME_LIMIT = 60
PCAP_HEADER = 24  # bytes
Line = collections.namedtuple("Line", "frame source target text more")


@pytest.fixture(scope="module")
def program(bed):
    """A copy of the monitor that everybody may read."""
    copy = bed.scratch / f"monitor-{os.getpid()}" / "smcr-monitor"
    copy.parent.mkdir()
    shutil.copy(TOP / "plugin" / "monitor", copy)
    copy.chmod(0o755)
    return copy


@pytest.fixture
def monitor(program, tshark, scratch):
    """Runs the monitor; returns its result. Nothing that it makes stays."""
    temporary = scratch / "tmp"
    temporary.mkdir()
    temporary.chmod(0o777)

    def run(*arguments, by=tshark, **environment):
        result = subprocess.run(
            [program, *map(str, arguments)],
            env=by.environment | {"TMPDIR": temporary} | environment,
            capture_output=True,
            text=True,
            timeout=TIME_LIMIT,
            stdin=subprocess.DEVNULL,
            **as_user(),
        )
        assert list(temporary.iterdir()) == []
        return result

    return run


@pytest.fixture
def lines(monitor, bed):
    """The lines of a capture, each with those that -x and -v add."""

    def read(capture, *arguments):
        result = monitor("-r", bed.capture(capture), *arguments)
        assert (result.returncode, result.stderr) == (0, "")
        return parsed(result.stdout)

    return read


def parsed(text):
    found = []
    for each in text.splitlines():
        begin = LINE.fullmatch(each)
        if begin:
            found.append(
                Line(int(begin["frame"]), begin["source"], begin["target"], begin["text"], [])
            )
        else:
            found[-1].more.append(MORE.fullmatch(each)["text"])
    return found


def class_of(line):
    return next(
        name for name, start in CLASSES.items() if line.text.startswith((start, f"SMC-D, {start}"))
    )


def load():
    """The monitor as a module."""
    loader = importlib.machinery.SourceFileLoader("monitor", str(TOP / "plugin" / "monitor"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("monitor", loader))
    loader.exec_module(module)
    return module


# ---- what it prints ----


def test_help_lists_classes(monitor):
    result = monitor("-h")
    assert (result.returncode, result.stderr) == (0, "")
    assert re.findall(
        r"^  ([a-z-]+) {2,}\S", result.stdout.partition("classes:")[2], re.MULTILINE
    ) == list(load().CLASSES)
    assert "smcr-monitor [-i INTERFACE | -r FILE]" in result.stdout


@pytest.mark.parametrize("name", [*list(REAL)[::STRIDE], "cdc-flags", "clc-split-segments"])
def test_a_line_for_each_message(lines, tshark, name):
    shown = lines(name)
    rows = tshark.fields(name, "frame.number", *FIELDS.values(), options=SETTINGS)
    expected = [
        (int(row[0][0]), kind)
        for row in rows
        for kind, values in zip(FIELDS, row[1:])
        for _ in values
    ]
    assert sorted((line.frame, class_of(line)) for line in shown) == sorted(expected)
    assert [line.frame for line in shown] == sorted(line.frame for line in shown)


def test_what_hosts_tell(lines, tshark):
    """A line for each message of netlink about SMC, with what its line in the tree says, and the
    socket's connection."""
    path = hosts.write(tshark.bed, hosts.Variant("late-fallback", "AB", ""))
    shown = lines(path, "told")
    rows = tshark.fields(path, "frame.number", "smcr.told", "smcr.stream", where="smcr.told")
    said = [(line.frame, *line.text.removesuffix("]").partition(" [connection ")) for line in shown]
    assert [(frame, text) for frame, text, _, _ in said] == [
        (int(number), text) for (number,), texts, _ in rows for text in texts
    ]
    known = [(frame, stream) for frame, text, _, stream in said if stream]
    assert (
        known == [(int(number), stream) for (number,), _, streams in rows for stream in streams]
        and len(known) > 5
    )
    assert all(text.startswith("Socket ") for _, text, _, stream in said if stream)
    assert {(line.source, line.target) for line in shown} == {
        ("program", "kernel"),
        ("kernel", "program"),
    }
    assert (
        any(text.endswith("fallback: peer did not indicate SMC") for _, text, _, _ in said)
        and len(shown) > 40
    )


def octets(line):
    """Those of -x; the characters beside them are theirs."""
    parts = [
        re.fullmatch(r"((?:[0-9a-f]{2}|--)(?: (?:[0-9a-f]{2}|--)){0,15}) +(\S.*)?", each[:48] + "x")
        for each in line.more
    ]
    found = [part[1] for part in parts]
    for each, shown in zip(line.more, found, strict=True):
        assert each[49:] == "".join(
            "-" if part == "--" else chr(int(part, 16)) if 0x20 <= int(part, 16) < 0x7F else "."
            for part in shown.split()
        )
    return "".join(found).replace(" ", "")


def written(path):
    headers = {
        wire.WRITE_FIRST: wire.RETH,
        wire.WRITE_ONLY: wire.RETH,
        wire.WRITE_MIDDLE: 0,
        wire.WRITE_LAST: 0,
    }
    return [
        (each.frame, each.payload[headers[each.opcode] :].hex())
        for each in wire.roce(path)
        if each.opcode in headers
    ]


@pytest.mark.parametrize(
    "name", [*(each for each in list(REAL)[::STRIDE] if each != LATE), *SYNTHETIC]
)
def test_bytes_are_those_of_the_wire(lines, bed, name):
    path = bed.capture(name)
    expected = [(each.frame, each.data.hex()) for each in wire.messages(path)] + written(path)
    assert sorted(
        (each.frame, octets(each)) for each in lines(name, "-x", "clc", "llc", "cdc", "write")
    ) == sorted(expected)
    assert {octets(each) for each in lines(name, "-x", "option")} <= {"fe06e2d4c3d9"}


def test_bytes_that_the_capture_cuts_off(lines, bed, scratch):
    """140 bytes of each frame: part of the Proposal and of each RDMA WRITE is missing."""
    whole, cut = bed.capture("6.1-v1-d-bulk-slow-reader"), scratch / "cut.pcapng"
    bed.edit("-s", 140, "-r", whole, cut, "1-60")
    full = {each.frame: octets(each) for each in lines(whole, "-x", "clc", "write")}
    shown = lines(cut, "-x", "clc", "write")
    assert {class_of(each) for each in shown if "--" in octets(each)} == {"clc", "write"}
    for each in shown:
        begin = octets(each).rstrip("-")
        assert full[each.frame].startswith(begin) and len(octets(each)) == len(full[each.frame])


# A CNP is no message of SMC-R.
MESSAGES = [
    each for each in vectors.VECTORS if each["transport"] != "roce" or "llc" in each["expected"]
]


@pytest.mark.parametrize("vector", MESSAGES, ids=[each["name"] for each in MESSAGES])
def test_values_of_vectors(vector_packets, vector_lines, vector):
    """Every item from which the tests of the vectors read an expected value is printed."""
    used = set()

    class Watched(vectors.Shown):
        def all(self, name):
            found = super().all(name)
            used.update(found)
            return found

    shown = Watched(vector_packets[vector["frame"]])
    assert (
        vectors.differences(
            vector["expected"], shown, vector["transport"], vectors.TABLES[vector["transport"]]
        )
        == []
    )
    printed = [" ".join(each.split()) for each in vector_lines[vector["frame"]]]
    for item in used:
        text = item.get("showname")
        text = f"{text.partition(': ')[0]}: {item.get('value')}" if text.endswith("…") else text
        assert any(each.endswith(" ".join(text.split())) for each in printed), text


@pytest.fixture(scope="module")
def vector_packets(tshark):
    document = vectors.xml.fromstring(tshark.show("vectors", "-T", "pdml", *SETTINGS).encode())
    return {int(packet.find(".//field[@name='num']").get("show")): packet for packet in document}


@pytest.fixture(scope="module")
def vector_lines(program, tshark, bed):
    result = subprocess.run(
        [program, "-v", "-r", bed.capture("vectors")],
        env=tshark.environment,
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT,
        **as_user(),
    )
    found = collections.defaultdict(list)
    for each in parsed(result.stdout):
        found[each.frame] += each.more
    return found


RULES = [*captures("malformed"), *REAL]


@pytest.mark.parametrize(
    "name", RULES[:: 1 if ALL else 12] + ["rule-clc-late", "rule-tcp-after-switch"]
)
def test_errors_are_those_of_tshark(lines, tshark, name):
    shown = collections.Counter()
    for each in lines(name, "errors"):
        severity, _, text = each.text.partition(": ")
        shown[each.frame, severity, text] += 1
    assert shown == expert_items(tshark, name)


def expert_items(tshark, name):
    """(frame, severity, sentence) of the plugin's expert items from NOTE on, counted."""
    found = collections.Counter()

    def walk(frame, layer):
        for each in (
            layer if isinstance(layer, list) else layer.values() if isinstance(layer, dict) else ()
        ):
            walk(frame, each)
        if (
            isinstance(layer, dict)
            and "_ws.expert.severity" in layer
            and any(each.startswith("smcr.") for each in layer)
        ):
            severity = int(layer["_ws.expert.severity"])
            if severity in SEVERITIES:
                found[frame, SEVERITIES[severity], layer["_ws.expert.message"]] += 1

    text = tshark.show(
        name,
        *SETTINGS,
        "-T",
        "json",
        "--no-duplicate-keys",
        "-Y",
        "_ws.expert.severity >= 0x400000",
    )
    for packet in json.loads(text or "[]"):
        layers = packet["_source"]["layers"]
        walk(int(layers["frame"]["frame.number"]), layers)
    return found


def test_communication_management(lines, tshark, bed):
    path = bed.root / "captures" / "roce" / "cm-reject.pcapng.gz"
    shown = lines(path, "cm", "-x")
    frames = tshark.frames(path, "smcr.cm.message", options=("-o", "smcr.roce:TRUE"))
    assert [each.frame for each in shown] == frames
    assert all(len(octets(each)) == 2 * 256 and octets(each).startswith("0107") for each in shown)
    assert "REJ" in shown[1].text and "invalid service ID" in shown[1].text


def test_classes_by_name(lines):
    name = "6.1-v1-h4-two-links-rkeys"
    everything = lines(name)
    for chosen, start in (
        ("accept", "CLC Accept"),
        ("confirm-rkey", "LLC CONFIRM RKEY "),
        ("delete-rkey", "LLC DELETE RKEY"),
    ):
        wanted = [each for each in everything if each.text.startswith(start)]
        assert wanted and lines(name, chosen) == wanted
    both = [each for each in everything if each.text.startswith(("CLC Accept", "LLC DELETE RKEY"))]
    assert lines(name, "delete-rkey", "accept") == both


def test_lines_say_what_pairs_messages(lines):
    shown = lines("6.1-v1-a-first-contact-ipv4")
    text = {each.frame: each.text for each in shown}
    assert "answers frame 6 after 0.056084 s" in text[8] and "token 0x00000001" in text[8]
    assert "request" in text[14] and "queue pair 0x0004d3 > 0x000011" in text[14]
    assert "response" in text[16] and "answers frame 14" in text[16]
    assert "RKey 0x00232a20" in text[22]
    assert shown[0][1:3] == ("10.0.0.1:41346", "10.0.0.2:12345")


def test_nothing_of_a_packet_reaches_the_terminal():
    """Whatever Wireshark says; tests/facts/test_peer_texts.py has captures with such names."""
    assert load().printable("\x1b[m\u202e\u2028\x9b\n") == "?[m????"


# ---- how it ends ----


def test_count(monitor, bed):
    path = bed.capture("6.1-v1-j-http11")
    everything = monitor("-r", path, "cdc", "errors").stdout
    result = monitor("-r", path, "-c", "5", "cdc", "errors")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == "".join(everything.splitlines(keepends=True)[:5])
    whole = [line for line in everything.splitlines()]
    told = [
        json.loads(line) for line in monitor("-r", path, "-j", "cdc", "errors").stdout.splitlines()
    ]
    assert [(each["frame"], each["from"], each["to"]) for each in told] == [
        (line.frame, line.source, line.target) for line in parsed(everything)
    ] and len(told) == len(whole)
    long = monitor("-r", path, "-l", "cdc", "errors").stdout.splitlines()
    for line, each, values in zip(whole, told, long, strict=True):
        assert each["text"] in line and values.startswith(line)
        assert all(
            f" {name}={','.join(value)}" in values for name, value in each.get("values", {}).items()
        )
    assert all(each["values"]["smcr.cdc.seq"] for each in told if each["class"] == "cdc")
    periods = [
        line
        for line in monitor("-r", path, "-t", "1", "cdc").stdout.splitlines()
        if line.startswith("       1 s: ")
    ]
    assert len(periods) == int(float(told[-1]["time"]) - float(told[0]["time"]))


def test_no_times(monitor, bed):
    """-T: the same lines and objects without the time of day."""
    path = bed.capture("vectors")
    for more in ((), ("-x", "-v"), ("-l",)):
        with_times = monitor("-r", path, *more).stdout
        without = monitor("-r", path, "-T", *more).stdout
        assert re.sub(r"(?m)^( *\d+) \d\d:\d\d:\d\d\.\d{6}  ", r"\1  ", with_times) == without
        assert with_times != without
    told = [
        [
            json.loads(each)
            for each in monitor("-r", path, "-j", *more, "cdc", "errors").stdout.splitlines()
        ]
        for more in ((), ("-T",))
    ]
    assert told[0] and all(each.pop("time") for each in told[0])
    assert told[0] == told[1]


def test_without_promiscuous_mode():
    """-p goes to tshark, after the interface for which it counts."""
    module = load()
    command = module.command(module.parse(["-i", "eth0", "-p"]))
    assert command.index("-i") < command.index("-p") and command[command.index("-i") + 1] == "eth0"
    assert "-p" in module.command(module.parse(["-p"]))
    assert "-p" not in module.command(module.parse(["-i", "eth0"]))


@pytest.mark.parametrize(
    "words, completed",
    [
        (["smcr-monitor", "-"], {"-p", "-t", "-T", "--version"}),
        (["smcr-monitor", "-T", ""], {"clc", "errors"}),
        (["smcr-monitor", "-t", ""], set()),
        (["smcr-probe", "-"], {"-T", "-O"}),
        (["smcr-probe", "-T", ""], set()),
    ],
)
def test_completion(program, words, completed):
    """What bash completes the last of the words to."""
    if words[0] == "smcr-probe":
        shutil.copy(TOP / "plugin" / "probe", program.parent / "smcr-probe").chmod(0o755)
    script = (
        f". {TOP}/plugin/completion; COMP_WORDS=({' '.join(map(repr, words))}); "
        f"COMP_CWORD={len(words) - 1}; _smcr {words[0]} {words[-1]!r} {words[-2]}; "
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    path = f"{program.parent}:{os.environ['PATH']}"
    result = subprocess.run(
        ["bash", "-c", script], env={**os.environ, "PATH": path}, capture_output=True, text=True
    )
    found = set(result.stdout.split())
    assert completed <= found if completed else not found, result


class Live:
    """The monitor on a pipe, as dumpcap reads one: what is written comes in live, without any
    permission."""

    def __init__(self, program, environment, folder, *arguments):
        self.folder = folder / "tmp"
        self.folder.mkdir()
        self.folder.chmod(0o777)
        self.process = subprocess.Popen(
            [program, "-i", "-", *arguments],
            env=environment | {"TMPDIR": str(self.folder)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            **as_user(),
        )

    def feed(self, path, start=0):
        self.process.stdin.write(path.read_bytes()[start:])
        self.process.stdin.flush()

    def line(self):
        return self.process.stdout.readline().decode()

    def end(self):
        """(status, the rest of what it printed, what it said); nothing is left."""
        self.process.wait(TIME_LIMIT)
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        printed = "" if self.process.stdout.closed else self.process.stdout.read().decode()
        said = self.process.stderr.read().decode()
        assert list(self.folder.iterdir()) == []
        assert children(self.folder) == []
        return self.process.returncode, printed, said


def children(folder):
    """Processes whose temporary folder is the given one."""
    found = []
    for each in pathlib.Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if f"TMPDIR={folder}".encode() in each.read_bytes():
                found.append(each.parent.name)
    return found


@pytest.fixture
def live(program, tshark, scratch):
    started = []

    def start(*arguments):
        started.append(Live(program, tshark.environment, scratch, *arguments))
        return started[-1]

    yield start
    for each in started:
        if each.process.poll() is None:
            os.killpg(each.process.pid, signal.SIGTERM)
            each.process.communicate(timeout=TIME_LIMIT)


@pytest.fixture
def classic(bed, scratch):
    """A capture in the old format, which dumpcap reads from pipes of every version."""
    path = scratch / "classic.pcap"
    bed.edit("-F", "pcap", bed.capture("6.1-v1-a-first-contact-ipv4"), path)
    return path


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupt_live(live, classic, number):
    running = live("option", "clc")
    running.feed(classic)
    shown = [running.line() for _ in range(5)]
    os.killpg(running.process.pid, number)
    begin = time.monotonic()
    status, printed, said = running.end()
    assert time.monotonic() - begin < 20
    assert (status, printed) == (0, "")
    assert said == "2 option, 3 clc\n"
    assert "CLC Confirm" in shown[-1]


def test_count_live(live, classic):
    running = live("-c", "3")
    running.feed(classic)
    status, printed, said = running.end()
    assert status == 0 and len(printed.splitlines()) == 3
    assert said.startswith("2 option, 1 clc")


def test_nobody_reads_on_live(live, classic):
    running = live()
    running.feed(classic)
    running.line()
    running.process.stdout.close()
    end = time.monotonic() + TIME_LIMIT
    with contextlib.suppress(BrokenPipeError):
        while (
            running.process.poll() is None and time.monotonic() < end
        ):  # the next line finds that nobody reads
            running.feed(classic, PCAP_HEADER)
            time.sleep(0.1)
    status, _, said = running.end()
    assert (status, said) == (0, "")


def test_nobody_reads_on(program, tshark, bed):
    reader = subprocess.Popen(
        f"{program} -r {bed.capture('6.1-v1-d-bulk-slow-reader')} | head -1",
        shell=True,
        env=tshark.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **as_user(),
    )
    printed, said = reader.communicate(timeout=TIME_LIMIT)
    assert (len(printed.splitlines()), said) == (1, b"")


def test_interrupt_of_a_file(program, tshark, bed, scratch):
    """While a file is read: from a pipe that does not end."""
    running = subprocess.Popen(
        [program, "-r", "-"],
        env=tshark.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        **as_user(),
    )
    running.stdin.write(bed.capture("6.1-v1-a-first-contact-ipv4").read_bytes())
    running.stdin.flush()
    first = running.stdout.readline()
    os.killpg(running.pid, signal.SIGINT)
    said = running.communicate(timeout=TIME_LIMIT)[1].decode()
    assert b"SMC-R option" in first
    assert running.returncode in (0, 2) and re.match(
        r"\d+ option", said
    ), said  # 2 before Wireshark 4.6


# ---- what it says when it cannot begin ----


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["-r", "{none}"], 'The file "{none}" doesn\'t exist.'),
        (["-r", "{folder}"], '"{folder}" is a directory (folder), not a file.'),
        (
            ["-r", "{text}"],
            'The file "{text}" isn\'t a capture file in a format TShark understands.',
        ),
        (["-r", "{closed}"], 'You don\'t have permission to read the file "{closed}".'),
    ],
)
def test_files_that_cannot_be_read(monitor, tshark, scratch, arguments, sentence):
    names = {each: scratch / each for each in ("none", "folder", "text", "closed")}
    names["folder"].mkdir()
    names["text"].write_text("no capture\n" * 50)
    names["closed"].write_text("")
    names["closed"].chmod(0)
    arguments = [each.format(**names) for each in arguments]
    result = monitor(*arguments)
    assert (result.stdout, result.stderr) == ("", f"smcr-monitor: {sentence.format(**names)}\n")
    assert result.returncode == tshark.start(*arguments).returncode > 1


def test_file_cut_short(monitor, tshark, bed, scratch):
    path = scratch / "cut.pcapng"
    path.write_bytes(bed.capture("6.1-v1-a-first-contact-ipv4").read_bytes()[:2500])
    result = monitor("-r", path)
    assert (
        result.returncode == tshark.start("-r", path).returncode > 1
        and len(parsed(result.stdout)) > 2
    )
    assert result.stderr == (
        f'smcr-monitor: The file "{path}" appears to have been cut short in the middle of a '
        "packet.\n"
    )


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["clk"], "no such class: clk (-h lists them)"),
        (["-q"], "option -q not recognized (see -h)"),
        (["-r"], "option -r requires argument (see -h)"),
        (["-c", "0"], "-c needs a number above 0, not 0"),
        (["-t", "many"], "-t needs a number above 0, not many"),
        (["-i", "lo", "-r", "file"], "-i and -r do not go together"),
        (["-r", "file", "-f", "tcp"], "-f, -s and -p are of captures, not of files"),
        (["-r", "file", "-p"], "-f, -s and -p are of captures, not of files"),
    ],
)
def test_usage(monitor, arguments, sentence):
    result = monitor(*arguments)
    assert (result.returncode, result.stdout, result.stderr) == (
        1,
        "",
        f"smcr-monitor: {sentence}\n",
    )


def test_interface_missing(monitor):
    result = monitor("-i", "nosuch0")
    assert (result.returncode, result.stdout) == (1, "")
    assert re.fullmatch(r"smcr-monitor: .*\"?nosuch0.*\n", result.stderr)


def test_permission_missing(monitor, tshark):
    dumpcap = tshark.start("-f", "arp", "-i", "lo", "-a", "duration:1", program="dumpcap")
    if dumpcap.returncode == 0:
        pytest.skip("everybody may capture here")
    result = monitor("-i", "lo")
    assert result.returncode == 1 and re.fullmatch(
        (
            r"smcr-monitor: .*ermission to capture .*\. Debian: dpkg-reconfigure "
            r"wireshark-common lets .* capture\.\n"
        ),
        result.stderr,
    ), result.stderr


def test_plugin_missing(monitor, tshark_without, bed):
    result = monitor("-r", bed.capture("vectors"), by=tshark_without)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == (
        "smcr-monitor: tshark does not load the SMC-R plugin; tshark -G plugins lists those that "
        "it "
        "has.\n"
    )


def test_plugin_of_another_version_or_damaged(monitor, tshark, bed, scratch):
    folder = pathlib.Path(tshark.environment["WIRESHARK_PLUGIN_DIR"])
    copy = scratch / "plugins"
    shutil.copytree(folder, copy)
    plugin = next(copy.glob("*/epan/smcr.so"))
    set_version(plugin, 99)
    result = monitor("-r", bed.capture("vectors"), WIRESHARK_PLUGIN_DIR=str(copy))
    assert (result.returncode, result.stdout) == (1, "")
    assert "does not load the SMC-R plugin" in result.stderr and "smcr.so" in result.stderr
    os.truncate(plugin, 100_000)  # a copy that was interrupted: any Wireshark crashes at it
    result = monitor("-r", bed.capture("vectors"), WIRESHARK_PLUGIN_DIR=str(copy))
    assert (result.returncode, result.stdout) == (128 + signal.SIGBUS, "")
    assert result.stderr == (
        f"smcr-monitor: tshark was ended by signal {int(signal.SIGBUS)}; the plugin (smcr.so) may "
        "be damaged: install it again\n"
    )


def set_version(plugin, major):
    """Overwrites the version of Wireshark for which a plugin says that it was made."""
    symbols = subprocess.run(
        ["nm", "-D", plugin], capture_output=True, text=True, check=True
    ).stdout
    at = int(re.search(r"^([0-9a-f]+) R plugin_want_major$", symbols, re.MULTILINE).group(1), 16)
    data = bytearray(plugin.read_bytes())  # read-only data lies in the file where it lies in memory
    data[at : at + 4] = struct.pack("<I", major)
    plugin.write_bytes(data)


def test_tshark_missing(monitor, scratch):
    (scratch / "bin").mkdir()
    (scratch / "bin" / "python3").symlink_to(sys.executable)
    result = monitor("-r", "file", PATH=str(scratch / "bin"))
    assert (result.returncode, result.stderr) == (1, "smcr-monitor: tshark is not installed\n")
