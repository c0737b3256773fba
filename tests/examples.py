"""
The examples of the documentation: what a command prints stands below it.

An example is part of an indented block of README.md or docs/*.md. It begins with "    $ " and a command; what follows,
up to the next command or the end of the block, is what the command prints. A command may go on in the next line,
behind a backslash. Commands run on the test bed, whose captures/ is that of the checkout; spaces at the ends of
lines are left out.
"""

import subprocess

from bed import TIME_LIMIT, TOP, as_user

INDENT = "    "
PROMPT = INDENT + "$ "


def documents():
    """README.md and what is in docs/, as far as they have examples."""
    every = [TOP / "README.md", *sorted((TOP / "docs").glob("*.md"))]
    return [path for path in every if f"\n{PROMPT}" in path.read_text(encoding="utf-8")]


def print_of(command, tshark):
    """The lines that a command prints. It must succeed and say nothing on stderr."""
    result = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, encoding="utf-8",
                            env=tshark.environment, cwd=tshark.bed.root, stdin=subprocess.DEVNULL,
                            timeout=TIME_LIMIT, **as_user())
    assert (result.returncode, result.stderr) == (0, ""), f"{command}\n{result.stderr}"
    return [line.rstrip() for line in result.stdout.rstrip("\n").split("\n") if result.stdout]


def run_anew(text, tshark):
    """The text of a document with each command's lines as it prints them now."""
    lines, kept = text.split("\n"), []
    while lines:
        kept.append(lines.pop(0))
        if not kept[-1].startswith(PROMPT):
            continue
        command = kept[-1][len(PROMPT):]
        while command.endswith("\\"):
            kept.append(lines.pop(0))
            command = command[:-1] + kept[-1].strip()
        while lines and lines[0].startswith(INDENT) and not lines[0].startswith(PROMPT):
            lines.pop(0)
        kept += [(INDENT + line).rstrip() for line in print_of(command, tshark)]
    return "\n".join(kept)
