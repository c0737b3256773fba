"""
What docs/contributing.md calls five steps is five edits: they are read from its text, made in a copy of the tree, and
nothing else is. The message that they add is then shown, and its request and its response know each other.
"""

import re
import shutil
import subprocess
import textwrap

import pytest
from bed import TOP, Tshark

PARTS = ("meson.build", "plugin", "dissectors", "tests", "captures/README.md")
STEP = re.compile(r"^\d\. \*\*[\w ]+\*\*, `([^`]+)`, (?:above `([^`]+)`|new):(.*?)\n\n(.*?)(?=^\d\. \*\*|^\S)",
                  re.MULTILINE | re.DOTALL)


def steps():
    """[(file, line above which the text goes, or "" for a new file, text)] as contributing.md has them."""
    section = (TOP / "docs" / "contributing.md").read_text(encoding="utf-8").split("## A message in five steps")[1]
    return [(name, anchor, textwrap.dedent(block).strip("\n") + "\n")
            for name, anchor, _, block in STEP.findall(section.split("\n## ")[0])]


def edit(tree, name, anchor, block):
    path = tree / name
    if not anchor:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block, encoding="utf-8")
        return
    text = path.read_text(encoding="utf-8")
    assert text.count("\n" + anchor) == 1, f"{name} has one place {anchor}"
    blank = "" if block.startswith(("FIELD", "|")) else "\n"
    path.write_text(text.replace("\n" + anchor, f"\n{block}{blank}{anchor}"), encoding="utf-8")


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A copy with the five edits, and the plugin built from it."""
    copy = tmp_path_factory.mktemp("five-steps")
    for part in PARTS:
        target = copy / part
        target.parent.mkdir(parents=True, exist_ok=True)
        if (TOP / part).is_dir():
            shutil.copytree(TOP / part, target, ignore=shutil.ignore_patterns("golden", "*.pcap", "__pycache__"))
        else:
            shutil.copyfile(TOP / part, target)
    for step in steps():
        edit(copy, *step)
    build = copy / "build"
    subprocess.run(["meson", "setup", build, copy, "-Dbuildtype=plain", "-Dc_args=-O0", "-Dwerror=true"], check=True,
                   capture_output=True)
    made = subprocess.run(["ninja", "-C", build, "smcr.so"], capture_output=True, text=True)
    assert made.returncode == 0, made.stdout
    subprocess.run([copy / "tests" / "synth" / "build", "llc-echo"], check=True, capture_output=True)
    return copy


def test_there_are_five():
    assert [name for name, _, _ in steps()] == [
        "dissectors/fields.def", "dissectors/wire/llc.def", "dissectors/message/llc.c", "captures/synthetic/llc-echo.py",
        "captures/README.md"]


def test_the_message_is_shown(tree, bed, scratch):
    folder = bed.root / "plugins" / "five-steps"
    plugin = next((bed.root / "plugins" / "debug").rglob("smcr.so")).relative_to(bed.root / "plugins" / "debug")
    (folder / plugin).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(tree / "build" / "smcr.so", folder / plugin)
    capture = scratch / "llc-echo.pcap"
    shutil.copyfile(tree / "captures" / "synthetic" / "llc-echo.pcap", capture)

    tshark = Tshark(bed, "five-steps")
    echo = "smcr.llc.type == 0x0b"
    rows = tshark.fields(capture, "frame.number", "smcr.llc.cookie", "smcr.request_in", "smcr.response_in", where=echo,
                         two_pass=True)
    (request, cookie, no_request, response_in), (response, echoed, request_in, _) = rows
    assert cookie == echoed == ["0xc0ffee01"]
    assert (no_request, response_in, request_in) == ([], response, request)
    assert [line.partition("LLC ")[2] for line in tshark.show(capture, "-Y", echo).splitlines()] == [
        "ECHO request", "ECHO response"]
    assert "not known" not in tshark.show(capture, "-V", "-Y", echo)
