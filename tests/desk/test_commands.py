"""
Every command that stands in an indented block of a document runs as it stands there. Those with a
prompt are examples (tests/test_docs.py); the others are run here, block by block, in a folder where
the files are that they name.
"""

import collections
import itertools
import os
import re
import shutil

import examples
import pytest
from bed import ALL, TOP

Command = collections.namedtuple("Command", "line text")

DOCUMENTS = [
    TOP / "README.md",
    TOP / "captures" / "README.md",
    *sorted((TOP / "docs").glob("*.md")),
]

# Programs that run here. Of each that does not, why; another program stands in for it, and gets the
# same words.
REAL = {"tshark", "mergecap", "jq", "smcr-check", "ls"}
STOOD_FOR = {
    "dumpcap": "captures on an interface",
    "tcpdump": "captures on an interface",
    "smcr-capture": "captures on an interface; tests/desk/test_capture.py runs it",
    "smcr-probe": "captures on an interface; tests/desk/test_probe.py runs it",
    "rdma": "asks the kernel for RDMA devices",
    "smcr": "asks the kernel for SMC-R",
    "smcss": "asks the kernel for SMC-R; tests/facts/test_hosts.py makes what it prints",
    "wireshark": "opens a window; tests/desk/test_readme.py opens one",
    "curl": "sends to a server",
    "meson": "builds; tests/test_install.py has it built",
    "ninja": "builds; tests/test_install.py has it built",
    "git": "tells of changes of the checkout",
    "/usr/bin/python3": "runs the tests",
    "plugin/run": "builds and installs; tests/test_install.py runs it",
    "plugin/in-tree": "writes to a source of Wireshark; tests/test_scripts.py runs it",
    "plugin/package": "builds for a minute; tests/desk/test_package.py runs it",
    "tests/": (
        "a script for developers: builds, runs the tests, or writes to the checkout; "
        "tests/test_scripts.py has some"
    ),
    "build-test/debug/tests/fabric/verdicts": (
        "reads what it is told; tests/facts/test_fabric.py tells it"
    ),
    ".ci/reuse": "asks a program that need not be there",
    "docs/pictures/make": "opens windows, and writes to the checkout",
}

# Blocks that are no commands, by their first words.
OTHER_BLOCKS = (
    "host A (client, ",
    "headers -> ",
    "floor ",
    "udp port 4791 or ",
    "ip link add smc0 ",  # of a host with ANCK's kernel
    "[Retransmission: NAK]",
    "(smcr.write && ",
    "/* ",  # declarations in C
)

# What a command names that is not there: words for the reader to replace, and folders of the
# reader's machine.
REPLACED = {"-Y FILTER": "-Y smcr.clc", "/var/tmp/": "var/", "/usr/bin/python3 ": "python3 "}

# Takes 7 seconds. In a short run the example below it has to do, which is the same with another
# filter.
LONG = "tshark -G elastic-mapping --elastic-mapping-filter frame,"

# Files that the commands name: captures.
FILES = {
    "FILE": "6.1-v2-c-three-conns",
    "FIRST": "6.1-v2-c-three-conns",
    "LATER": "6.1-v2-j-http11",
    "first-contact.pcapng": "6.1-v2-a-first-contact-ipv4",
    "run.pcapng": "6.1-v2-c-three-conns",
    "tcp.pcapng": "6.1-v2-c-three-conns",
    "roce.pcap": "6.1-v2-j-http11",
    "mirror.pcapng": "6.1-v2-c-three-conns",
    "host.pcapng": "6.1-v2-j-http11",
    "var/smc_00001.pcapng": "6.1-v2-c-three-conns",
    "var/smc_00002.pcapng": "6.1-v2-j-http11",
}
# What stands in for a program: it notes its words, a line each.
STAND_IN = '#!/bin/bash\nprintf "%s\\n" "$0" "$@" "" >>"$SAID"\n'


def is_command(text):
    first = text.split(" ")[0]
    return first in REAL | STOOD_FOR.keys() or first.startswith("tests/")


def blocks(path):
    """[(line number, lines)] of the indented blocks without a prompt; the four blanks are left
    out."""
    lines = enumerate([*path.read_text(encoding="utf-8").split("\n")], 1)
    for indented, group in itertools.groupby(
        lines, lambda each: each[1].startswith(examples.INDENT)
    ):
        numbers, texts = zip(*group, strict=True)
        if indented and not texts[0].startswith((examples.PROMPT, examples.INDENT + " ")):
            yield numbers[0], [text.removeprefix(examples.INDENT) for text in texts]


def commands(path):
    """The commands in the blocks of a document, without what explains them behind two blanks or
    more."""
    for number, lines in blocks(path):
        while lines and not lines[0].startswith(OTHER_BLOCKS):
            assert is_command(lines[0]), f"{path.name}:{number}: what is this? {lines[0]}"
            count = examples.lines_of_command(lines)
            *begin, end = lines[:count]
            yield Command(number, "\n".join([*begin, re.match(r" *\S+(?: \S+)*", end)[0]]))
            number, lines = number + count, lines[count:]
            while lines and lines[0].startswith(" "):  # the explanation goes on
                number, lines = number + 1, lines[1:]


ALL_COMMANDS = {path: list(commands(path)) for path in DOCUMENTS}
SCRIPTS = sorted(
    {
        command.text.split()[0]
        for each in ALL_COMMANDS.values()
        for command in each
        if re.match(r"(plugin|tests|docs)/", command.text)
    }
)


def test_no_exception_is_left_over():
    first = {command.text.split()[0] for each in ALL_COMMANDS.values() for command in each}
    assert (REAL | STOOD_FOR.keys()) - first - {
        "tests/",
        "git",
        "jq",
        "ninja",
    } == set()  # git, jq, ninja: after another one in a line
    assert [
        each
        for each in OTHER_BLOCKS
        if not any(lines[0].startswith(each) for path in DOCUMENTS for _, lines in blocks(path))
    ] == []


def programs_stood_for():
    """Names of programs: commands of the system, and scripts of the project that documents name."""
    return {each.removeprefix("/usr/bin/") for each in {*STOOD_FOR, *SCRIPTS} - {"tests/"}}


@pytest.fixture
def desk(tshark, scratch):
    """A folder with what the commands name; and the environment in which they run."""
    bin = scratch / "bin"
    for name in programs_stood_for():
        path = scratch / name if "/" in name else bin / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(STAND_IN)
        path.chmod(0o755)
    (bin / "smcr-check").symlink_to(tshark.bed.root / "docs" / "examples" / "smcr-check")
    for name in ("var", "build", "FOLDER"):
        (scratch / name).mkdir()
        (scratch / name).chmod(0o777)
    (scratch / "build" / "smcr.so").touch()
    (scratch / "docs").mkdir(exist_ok=True)
    for path in (tshark.bed.root / "docs").glob("*.jq"):
        (scratch / "docs" / path.name).symlink_to(path)
    for name, capture in FILES.items():
        (scratch / name).symlink_to(tshark.bed.capture(capture))
    environment = {
        "SAID": str(scratch / "said"),
        "HOST": "https://host.example",
        "TMPDIR": str(scratch),
        "PATH": f"{bin}:{os.environ['PATH']}",
    }
    return scratch, tshark.environment | environment


@pytest.mark.parametrize(
    "path",
    [path for path in DOCUMENTS if ALL_COMMANDS[path]],
    ids=lambda path: path.relative_to(TOP).as_posix(),
)
def test_commands_run(desk, path):
    """All of a document, one after the other: they may need what those before them have made."""
    folder, environment = desk
    said = folder / "said"
    for command in ALL_COMMANDS[path]:
        text = command.text
        if text.startswith(LONG) and not ALL:
            continue
        for words, others in REPLACED.items():
            text = text.replace(words, others)
        said.unlink(missing_ok=True)
        result = examples.run_pasted(text, environment, folder)
        assert (command, result.returncode, result.stderr) == (command, 0, "")
        stood_for = said.read_text(encoding="utf-8").split("\n\n")[:-1] if said.exists() else []
        assert bool(stood_for) != (text.split(" ")[0] in REAL), command
        for words in (each.strip("\n").split("\n") for each in stood_for):
            assert [word for word in words if word != word.strip()] == [], command


@pytest.mark.parametrize("script", SCRIPTS)
def test_script_knows_its_options(script):
    """It is there, and each option that a document gives it stands in it."""
    assert os.access(TOP / script, os.X_OK)
    text = (TOP / script).read_text(encoding="utf-8")
    given = {
        option
        for each in ALL_COMMANDS.values()
        for command in each
        if command.text.split()[0] == script
        for option in re.findall(r"(?<!\S)\[?(--[a-z]+)", command.text)
    }
    assert [option for option in given if option not in text] == []


def test_programs_are_there():
    """None is missing that is taken for real."""
    assert [name for name in REAL - {"smcr-check"} if not shutil.which(name)] == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(TOP).as_posix())
def test_lines_go_on_between_words(path):
    """A word that goes on in the next line would take in the blanks there, or lose what comes
    behind them."""
    lines = path.read_text(encoding="utf-8").split("\n")
    assert [
        line for line in lines if line.startswith(examples.INDENT) and re.search(r"[^ ]\\$", line)
    ] == []
