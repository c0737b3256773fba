"""
The source of the installed Wireshark, from Debian's source package of the same version.

It is kept in ${XDG_CACHE_HOME:-$HOME/.cache}/wireshark-smcr. apt gets it with lists and settings of
its own beside it: those of the machine stay as they are.
"""

import os
import pathlib
import re
import shutil
import subprocess

CACHE = (
    pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    / "wireshark-smcr"
)


class NoSource(Exception):
    """Why there is no source."""


def run(*command, **options):
    result = subprocess.run(
        command, capture_output=True, text=True, stdin=subprocess.DEVNULL, **options
    )
    if result.returncode:
        raise NoSource(
            f"{' '.join(map(str, command[:2]))} failed:\n{(result.stderr or result.stdout)[-2000:]}"
        )
    return result.stdout


def installed_version():
    """Version of the package that the headers are of: 4.0.17-0+deb12u3"""
    return run("dpkg-query", "--show", "--showformat", "${Version}", "libwireshark-dev").strip()


def as_source(text, form):
    """Entries of a list of apt's, as entries for source packages."""
    if form == ".sources":
        return re.sub(r"^Types:.*$", "Types: deb-src", text, flags=re.MULTILINE)
    return re.sub(
        r"^deb\s",
        "deb-src ",
        "\n".join(line for line in text.splitlines() if line.startswith("deb ")) + "\n",
        flags=re.MULTILINE,
    )


def apt_settings(folder):
    """Options that let apt work in `folder`, with the machine's lists as lists of source
    packages."""
    for name in ("state/lists/partial", "cache/archives/partial", "lists"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    etc = pathlib.Path("/etc/apt")
    for path in [etc / "sources.list", *sorted((etc / "sources.list.d").glob("*"))]:
        if path.suffix in (".list", ".sources") and path.exists():
            (folder / "lists" / path.name).write_text(
                as_source(path.read_text(encoding="utf-8"), path.suffix), encoding="utf-8"
            )
    settings = {
        "Dir::State": folder / "state",
        "Dir::Cache": folder / "cache",
        "Dir::Etc::sourcelist": "/dev/null",
        "Dir::Etc::sourceparts": folder / "lists",
        "Acquire::Check-Valid-Until": "false",
        "APT::Sandbox::User": "",
    }
    return [f"-o{name}={value}" for name, value in settings.items()]


def get():
    """Folder with the source, which is fetched and unpacked unless it is there."""
    version = installed_version()
    folder = CACHE / f"wireshark-{version}"
    if not folder.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        settings = apt_settings(CACHE / "apt")
        shutil.rmtree(new := folder.with_name(folder.name + ".new"), ignore_errors=True)
        run("apt-get", *settings, "-q", "update")
        run(
            "apt-get",
            *settings,
            "-q",
            "--download-only",
            "source",
            f"wireshark={version}",
            cwd=CACHE,
        )
        run(
            "dpkg-source",
            "--no-check",
            "-x",
            *CACHE.glob(f"wireshark_{version}.dsc"),
            new,
            cwd=CACHE,
        )
        new.rename(folder)
    return folder
