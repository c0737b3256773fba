"""
The recipes of docs/contributing.md, as somebody follows them who knows nothing else: the steps are
read from its text, made in one copy of the tree, and nothing else is. The plugin that is built from
it shows what was added.
"""

import ast
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys

import jsonschema
import pytest
import rooms
import rules
import test_modules
from bed import TOP, Tshark
from scapy.layers.inet import ICMP, IP
from scapy.layers.l2 import Ether

PARTS = (
    "meson.build",
    "meson_options.txt",
    "README.md",
    "plugin",
    "dissectors",
    "tests",
    "captures/README.md",
    "docs/statistics.md",
    "docs/json.md",
    "docs/rfc7609.md",
    "docs/report.schema.json",
    "docs/lines.md",
    "docs/lines.schema.json",
    "docs/examples",
)
PLACES = {  # a step is one edit: the places that somebody must know
    "An LLC message": 6,
    "A CDC flag": 5,
    "A carrier": 9,
    "A figure of the JSON": 2,
    "A finding": 5,
    "A statistics table": 7,
    "A rule of RFC 7609": 6,
}
WAYS = ("client_to_server", "server_to_client")
STEP = re.compile(
    (
        r"^\d\. \*\*[\w ]+\*\*, `([^`]+)`, (?:(above|in the place of) (`+)([^\n]+?)\3(?!`)|"
        r"new)[.:].*?\n\n(.*?)(?=^\d\. \*\*|^\S)"
    ),
    re.MULTILINE | re.DOTALL,
)


def steps(recipe):
    """[(file, "above", "in the place of" or "", line, or "" for a new file, text)] as
    contributing.md has them."""
    section = (
        (TOP / "docs" / "contributing.md").read_text(encoding="utf-8").split(f"\n## {recipe}\n")[1]
    )
    return [
        (name, where, anchor, unindent(block))
        for name, where, _, anchor, block in STEP.findall(section.split("\n## ")[0] + "\nend")
    ]


def unindent(block):
    """A block of text stands seven columns to the right of what it is."""
    assert all(line.startswith(" " * 7) for line in block.splitlines() if line), block
    return "\n".join(line[7:] for line in block.strip("\n").splitlines()) + "\n"


def edit(tree, name, where, anchor, block):
    path = tree / name
    if not anchor:
        path.parent.mkdir(parents=True, exist_ok=True)
        assert not path.exists(), f"{name} is there"
        path.write_text(block, encoding="utf-8")
        return
    text = path.read_text(encoding="utf-8")
    assert text.count("\n" + anchor) == 1, f"{name} has one place {anchor}"
    rest = "" if where == "in the place of" else f"{blank_lines(name, block)}{anchor}"
    line = "\n" + anchor + ("\n" if not rest else "")
    assert text.count(line) == 1, f"{name} has one line {anchor}"
    path.write_text(text.replace(line, f"\n{block}{rest}"), encoding="utf-8")


def blank_lines(name, block):
    """What separates a piece of code from the next one; a row of a list needs nothing."""
    if block.startswith("def "):
        return "\n\n"
    return "\n" if len(block.splitlines()) > 1 and name.endswith((".c", "llc.def")) else ""


def load(path):
    """A module of the copy."""
    spec = importlib.util.spec_from_file_location(f"copied_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A copy with all edits, and the plugin built from it."""
    copy = tmp_path_factory.mktemp("recipes")
    for part in PARTS:
        target = copy / part
        target.parent.mkdir(parents=True, exist_ok=True)
        if (TOP / part).is_dir():
            shutil.copytree(
                TOP / part, target, ignore=shutil.ignore_patterns("golden", "*.pcap", "__pycache__")
            )
        else:
            shutil.copyfile(TOP / part, target)
    for recipe in PLACES:
        for step in steps(recipe):
            edit(copy, *step)
    build = copy / "build"
    subprocess.run(
        ["meson", "setup", build, copy, "-Dbuildtype=plain", "-Dc_args=-O0", "-Dwerror=true"],
        check=True,
        capture_output=True,
    )
    made = subprocess.run(["ninja", "-C", build, "smcr.so"], capture_output=True, text=True)
    assert made.returncode == 0, made.stdout
    subprocess.run(
        [
            copy / "tests" / "synth" / "build",
            "llc-echo",
            "cdc-drained",
            "mirror",
            "rule-cdc-asked-again",
        ],
        check=True,
        capture_output=True,
    )
    return copy


@pytest.fixture
def tshark(tree, bed):
    """tshark with that plugin."""
    name = f"recipes-{os.getpid()}"  # each process of the run has a copy of its own
    if not (bed.root / "plugins" / name).exists():
        bed.add_plugin(tree / "build" / "smcr.so", name)
    return Tshark(bed, name)


@pytest.fixture
def built(tree, scratch):
    """The path of a capture whose scene a recipe added, where tshark can read it."""
    return lambda name: shutil.copyfile(
        next((tree / "captures").rglob(f"{name}.pcap")), scratch / f"{name}.pcap"
    )


@pytest.mark.parametrize("recipe", PLACES)
def test_places_are_few(recipe):
    assert len(steps(recipe)) == PLACES[recipe]


def test_the_message_is_shown(tree, tshark, built):
    """Its request and its response know each other, and the flow graph has words for them."""
    capture = built("llc-echo")
    echo = "smcr.llc.type == 0x0b"
    rows = tshark.fields(
        capture,
        "frame.number",
        "smcr.llc.cookie",
        "smcr.request_in",
        "smcr.response_in",
        where=echo,
        two_pass=True,
    )
    (request, cookie, no_request, response_in), (response, echoed, request_in, _) = rows
    assert cookie == echoed == ["0xc0ffee01"]
    assert (no_request, response_in, request_in) == ([], response, request)
    assert [
        line.partition("LLC ")[2] for line in tshark.show(capture, "-Y", echo).splitlines()
    ] == ["ECHO request", "ECHO response"]
    assert "not known" not in tshark.show(capture, "-V", "-Y", echo)
    arrows = re.findall(
        r"\|(The [^|\n]*\(ECHO\))", tshark.run("-q", "-r", capture, "-z", "flow,smcr,standard")
    )
    assert arrows == ["The client sends a message (ECHO)", "The server answers (ECHO)"]


def test_the_flag_is_shown(tshark, built):
    """In its field, in the summary and in the tree of messages; its bit is no longer reserved."""
    capture = built("cdc-drained")
    found = tshark.show(capture, "-Y", "smcr.cdc.drained == 1", "-V", "-O", "smcr")
    assert (
        re.search(r"\.\.\.1 \.\.\.\. = Drained: (?:True|Set)", found)
        and ".... 0000 = Reserved" in found
    )
    assert (
        "Expert" not in found
        and tshark.show(capture, "-Y", "smcr.cdc.drained == 1").count("[drained]") == 1
    )
    assert re.search(r"^ *Drained +1 ", tshark.show(capture, "-q", "-z", "smcr,tree"), re.MULTILINE)


SHOWN = (
    "smcr.stream",
    "smcr.link.number",
    "smcr.clc.type",
    "smcr.llc.type",
    "smcr.request_in",
    "smcr.response_in",
    "smcr.cdc.seq",
    "smcr.cdc.announced",
    "smcr.cdc.writes",
    "smcr.write.offset",
    "smcr.write.len",
    "smcr.acks",
    "smcr.ack_time",
    "http.request.uri",
    "http.response.code",
    "_ws.expert.message",
)


def played(tree, encapsulates):
    """The frames of the carrier's scene, or of the same exchange over RoCE."""
    sys.path.insert(0, str(tree / "tests" / "synth"))
    capture = load(tree / "tests" / "synth" / "smcsynth" / "capture.py").Capture()
    if not encapsulates:
        capture.encapsulate = lambda wrap: None
    load(tree / "captures" / "synthetic" / "mirror.py").scene(capture)
    sys.path.pop(0)
    return capture


def test_the_carrier_brings_the_same(tree, tshark, scratch):
    """Each frame says what it says over RoCE; a packet that an ICMP error quotes is none."""
    found = {}
    for name in ("roce", "mirror"):
        capture = played(tree, name == "mirror")
        for frame in [data for _, data in capture.frames][-3:]:
            error = (
                Ether(frame[:14])
                / IP(src="192.0.2.2", dst="192.0.2.1")
                / ICMP(type=3, code=3)
                / frame[14:]
            )
            capture.add(bytes(error))
        (scratch / f"{name}.pcap").write_bytes(capture.pcap())
        found[name] = tshark.fields(scratch / f"{name}.pcap", *SHOWN, two_pass=True)
    assert found["mirror"] == found["roce"]
    values = {cell for row in found["mirror"] for cells in row for cell in cells}
    assert {"200", "/"} < values and len(found["mirror"]) == 44
    quoted = {cell for row in found["mirror"][-3:] for cells in row for cell in cells}
    assert quoted <= {"Type indicates an error"}  # so 4.6 says of ICMP


def test_the_carrier_is_a_room(tree, monkeypatch):
    """The house holds the copy, too."""
    copied = load(tree / "tests" / "rooms.py").ROOMS
    for module in (rooms, test_modules):
        monkeypatch.setattr(module, "DISSECTORS", tree / "dissectors")
        monkeypatch.setattr(module, "ROOMS", copied)
    test_modules.test_every_folder_is_a_room()
    test_modules.test_rooms_include_downwards_by_doors("mirror")
    test_modules.test_doors_say_what_a_room_knows("mirror")
    assert (
        "\n| `mirror/` | `mirror.h` | the header of a vendor's mirror of SMC-R |\n" in rooms.table()
    )


def test_the_figure_is_counted(tree, tshark):
    """As many as the field finds, in all documents, and in the summary."""
    subprocess.run([tree / "tests" / "figures-doc"], check=True)
    assert all(
        "update_requests" in (tree / "docs" / name).read_text(encoding="utf-8")
        for name in ("json.md", "report.schema.json", "lines.schema.json")
    )
    name = "cdc-flags"
    text = tshark.show(name, "-2", "-q", "-z", "smcr,json")
    report = json.loads(text)
    counted = [each[way]["update_requests"] for each in report["connections"] for way in WAYS]
    asked = tshark.fields(
        name, "smcr.stream", where="smcr.cdc.update_requested == 1", two_pass=True
    )
    assert sum(counted) == len(asked) > 0
    assert report["summary"]["connections"]["client_to_server"]["update_requests"] == sum(
        counted[::2]
    )
    schema = json.loads((tree / "docs" / "report.schema.json").read_text(encoding="utf-8"))
    assert list(jsonschema.Draft202012Validator(schema).iter_errors(report)) == []


def test_the_finding_is_found(tree, tshark):
    """It counts what its unit counts, and its filter finds that."""
    capture = "llc-delete-link-reasons"
    report = json.loads(tshark.show(capture, "-2", "-q", "-z", "smcr,json"))
    finding = next(each for each in report["findings"] if each["kind"] == "unused")
    unit = load(tree / "tests" / "facts" / "finding_units.py").unit_of(finding)
    frames = tshark.fields(capture, "frame.number", where=finding["filter"], two_pass=True)
    assert len(list(unit.of(report, finding))) == finding["count"] == 1 and len(frames) > 3
    assert re.fullmatch(r"\S+ → \S+: no data over SMC-R", finding["text"])


def test_the_table_has_rows(tree, tshark):
    tables = load(tree / "tests" / "statistics" / "report_tables.py")
    name = "rule-add-link"
    printed = tables.printed(tshark.show(name, "-2", "-q", "-z", "smcr,findings"))
    report = json.loads(tshark.show(name, "-2", "-q", "-z", "smcr,json"))
    assert len(report["findings"]) > 3
    assert list(tables.differences(printed, {"findings": list(tables.findings(report))})) == []


def test_the_rule_is_checked(tree, tshark, built, monkeypatch):
    """Each breach is told where the capture proves it, and to those who ask where it does not; the
    document has it."""
    monkeypatch.setattr(rules, "DOCUMENT", tree / "docs" / "rfc7609.md")
    row = next(each for each in rules.rules() if each.id == "R-4.5.1-6")
    (item, severity), (name, _) = *row.items, *row.proofs
    assert (row.visible, row.state, severity) == ("frames", "checked", "WARN")
    capture = built(name)
    scene = {
        each.targets[0].id: ast.literal_eval(each.value)
        for each in ast.parse(
            (tree / "captures" / "malformed" / f"{name}.py").read_text(encoding="utf-8")
        ).body
        if isinstance(each, ast.Assign)
    }
    assert {
        which: tshark.frames(capture, which, two_pass=True) for which in (item, "smcr.packet_ahead")
    } == scene["EXPECTED"]
    assert tshark.frames(capture, item) == []  # the server's flow has yet to go on
    doubtful = tshark.frames(
        capture, "smcr.breach.doubtful", two_pass=True, options=("-o", "smcr.strict:TRUE")
    )
    assert doubtful == scene["UNPROVEN"][item]
    report = json.loads(tshark.show(capture, "-q", "-z", "smcr,json"))
    assert [(each["kind"], each["by"], each["count"]) for each in report["breaches"]] == [
        (item.removeprefix("smcr."), "client", 1)
    ]
