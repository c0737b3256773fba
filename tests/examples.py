"""
The examples of the documentation: what a command prints stands below it.

An example is part of an indented block of README.md, docs/*.md or tests/*.md. It begins with "    $
" and a command; what follows, up to the next command or the end of the block, is what the command
prints. A command may go on in the next line, behind a backslash. Bash runs it from a file with the
bytes that stand there, without the prompt and without the four blanks that make the block: what a
reader pastes. As in the reader's terminal, an exclamation mark may mean a command that was typed
before. Commands run on the test bed, whose captures/ is that of the checkout; spaces at the ends of
lines of what they print are left out.
"""

import itertools

import os
import subprocess
import tempfile

from bed import TIME_LIMIT, TOP, as_user

INDENT = "    "
PROMPT = INDENT + "$ "
# A failure within a pipe counts; and what bash does with exclamation marks in a terminal only.
TERMINAL = ("-o", "pipefail", "-o", "history", "-o", "histexpand")


def documents():
    """README.md and what is in docs/, as far as they have examples."""
    every = [
        TOP / "README.md",
        *sorted((TOP / "docs").glob("*.md")),
        *sorted((TOP / "tests").glob("*.md")),
    ]
    return [path for path in every if f"\n{PROMPT}" in path.read_text(encoding="utf-8")]


def lines_of_command(lines):
    """How many lines a command has that begins with the first of them."""
    return 1 + sum(1 for _ in itertools.takewhile(lambda line: line.endswith("\\"), lines))


def run_pasted(command, environment, folder):
    """Run a command in a folder, by bash, from a file; returns subprocess's result."""
    with tempfile.NamedTemporaryFile("w", suffix=".sh", encoding="utf-8") as file:
        file.write(command + "\n")
        file.flush()
        os.fchmod(file.fileno(), 0o644)
        return subprocess.run(
            ["bash", *TERMINAL, file.name],
            env=environment,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=TIME_LIMIT,
            **as_user(),
        )


def print_of(command, tshark):
    """The lines that a command prints. It must succeed and say nothing on stderr."""
    result = run_pasted(command, tshark.environment, tshark.bed.root)
    assert (result.returncode, result.stderr) == (0, ""), f"{command}\n{result.stderr}"
    return [line.rstrip() for line in result.stdout.rstrip("\n").split("\n") if result.stdout]


def run_anew(text, tshark):
    """The text of a document with each command's lines as it prints them now."""
    lines, kept = text.split("\n"), []
    while lines:
        if not lines[0].startswith(PROMPT):
            kept.append(lines.pop(0))
            continue
        count = lines_of_command(lines)
        kept, written, lines = kept + lines[:count], lines[:count], lines[count:]
        command = "\n".join(
            line.removeprefix(PROMPT if line == written[0] else INDENT) for line in written
        )
        while lines and lines[0].startswith(INDENT) and not lines[0].startswith(PROMPT):
            lines.pop(0)
        kept += [(INDENT + line).rstrip() for line in print_of(command, tshark)]
    return "\n".join(kept)
