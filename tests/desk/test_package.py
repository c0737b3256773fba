"""
What plugin/package builds: files, dependencies, version. The archive is installed and uninstalled
by a user without privileges. tests/packages tries all of it in fresh roots of three Debians.
"""

import hashlib
import io
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import tempfile
import zipfile

import pytest
from bed import ALL, TOP, as_user, path_of_builders, system_folder, wireshark_version

NAME = "wireshark-smcr"
PROFILE = sorted(path.name for path in (TOP / "plugin" / "profile").iterdir())
PROGRAMS = ("monitor", "capture", "compare", "probe")
CAPTURE = "6.1-v2-a-first-contact-ipv4"
MACHINE = os.uname().machine
needs_dpkg = pytest.mark.skipif(not shutil.which("dpkg-deb"), reason="no dpkg-deb")


def output(*command, **options):
    return subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=300, **options
    ).stdout


def project_version():
    return re.search(
        r"^    version: '(.*)',$", (TOP / "meson.build").read_text(), re.MULTILINE
    ).group(1)


def build():
    """A tar file with all that plugin/package makes, and what it prints."""
    with tempfile.TemporaryDirectory() as folder:
        kinds = ["--archive", "--profile"]
        kinds += ["--deb"] if shutil.which("dpkg-deb") else []
        kinds += ["--rpm"] if shutil.which("rpmbuild") else []
        with tempfile.TemporaryDirectory() as builders:
            environment = os.environ | {"PATH": path_of_builders(pathlib.Path(builders, "bin"))}
            printed = output(TOP / "plugin" / "package", *kinds, folder, env=environment)
        assert sorted(printed.split()) == sorted(
            str(path) for path in pathlib.Path(folder).iterdir()
        )
        memory = io.BytesIO()
        with tarfile.open(fileobj=memory, mode="w") as tar:
            tar.add(folder, arcname=".")
        return memory.getvalue()


@pytest.fixture(scope="module")
def packages(bed):
    """{"deb": path, "rpm": path, "gz": path, "zip": path}; built once for all."""
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(bed.keep("plugin/package", build))) as tar:
            tar.extractall(folder)
        pathlib.Path(folder).chmod(0o755)
        yield {path.name.rsplit(".", 1)[1]: path for path in pathlib.Path(folder).iterdir()}


# ---- the Debian package ----


@pytest.fixture
def root(packages, scratch):
    """The files of the package, and in DEBIAN what dpkg reads."""
    output("dpkg-deb", "-R", packages["deb"], scratch / "root")
    return scratch / "root"


def files(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}


@needs_dpkg
def test_files_of_the_package(packages, root):
    plugin = (system_folder("Plugins") / "epan" / "smcr.so").as_posix().lstrip("/")
    profile = (system_folder("configuration") / "profiles" / "SMC-R").as_posix().lstrip("/")
    extcap = (system_folder("Extcap path") / "smcr-capture").as_posix().lstrip("/")
    doc, share = f"usr/share/doc/{NAME}", "usr/share"
    documents = {
        f"{doc}/docs/{path.relative_to(TOP / 'docs').as_posix()}"
        for path in (TOP / "docs").rglob("*")
        if path.is_file() and path.name != "make"
    }
    expected = {
        plugin,
        *(f"usr/bin/smcr-{name}" for name in PROGRAMS),
        extcap,
        f"{doc}/examples/smcr-probe.service",
        *(f"usr/share/man/man1/smcr-{name}.1.gz" for name in PROGRAMS),
        *(f"{profile}/{name}" for name in PROFILE),
        *(f"{share}/bash-completion/completions/smcr-{name}" for name in PROGRAMS),
        f"{share}/metainfo/org.wireshark.wireshark.plugin.smcr.metainfo.xml",
        f"{share}/lintian/overrides/{NAME}",
        *documents,
        *(f"{doc}/{name}" for name in ("README.md", "README.Debian", "copyright")),
        *(f"{doc}/{name}.gz" for name in ("changelog", "changelog.Debian")),
    }
    assert files(root) == expected | {"DEBIAN/control", "DEBIAN/md5sums"}
    owners = {line.split()[1] for line in output("dpkg-deb", "-c", packages["deb"]).splitlines()}
    assert owners == {"root/root"}
    for name in PROGRAMS:
        assert (root / "usr" / "bin" / f"smcr-{name}").read_bytes() == (
            TOP / "plugin" / name
        ).read_bytes()
    assert (root / extcap).resolve() == root.resolve() / "usr" / "bin" / "smcr-capture"
    assert not (root / extcap).readlink().is_absolute()
    for name in PROFILE:
        assert (root / profile / name).read_bytes() == (
            TOP / "plugin" / "profile" / name
        ).read_bytes()


@needs_dpkg
def test_checksums_of_the_package(root):
    lines = (root / "DEBIAN" / "md5sums").read_text().splitlines()
    told = {path: checksum for checksum, path in (line.split("  ", 1) for line in lines)}
    there = {
        path: hashlib.md5((root / path).read_bytes()).hexdigest()
        for path in files(root)
        if not path.startswith("DEBIAN/") and not (root / path).is_symlink()
    }
    assert told == there


@needs_dpkg
def test_package_is_bound_to_this_wireshark(packages, root):
    """Its library by name, which is another one in each minor version, and tshark by version."""
    fields = dict(
        line.split(": ", 1)
        for line in output("dpkg-deb", "-f", packages["deb"]).splitlines()
        if not line.startswith(" ")
    )
    depends = re.split(r",\s*", fields["Depends"])
    plugin = next(root.rglob("smcr.so"))
    library = re.search(rb"libwireshark\.so\.(\d+)", plugin.read_bytes()).group(1).decode()
    assert any(re.match(rf"libwireshark{library}\b", each) for each in depends)
    major, minor = map(int, wireshark_version().split("."))
    assert {
        f"tshark (>= {major}.{minor}~)",
        f"tshark (<< {major}.{minor + 1}~)",
        "python3 (>= 3.6)",
    } <= set(depends)
    assert (fields["Package"], fields["Version"]) == (
        NAME,
        f"{project_version()}-1",
    )
    assert fields["Architecture"] == output("dpkg", "--print-architecture").strip()
    assert re.fullmatch(r".+ <[^@\s]+@[^@\s]+\.[^@\s]+>", fields["Maintainer"])


def is_of_the_code(tag):
    """Whether lintian reads bytes of machine code as a misspelled word: no source has this word."""
    found = re.search(r"spelling-error-in-binary (\S+)", tag)
    sources = (TOP / "dissectors").rglob("*.[chd]*")
    return found and not any(
        found[1] in source.read_text(encoding="utf-8") for source in sources if source.is_file()
    )


@needs_dpkg
@pytest.mark.skipif(not shutil.which("lintian"), reason="no lintian")
def test_lintian_finds_nothing(packages):
    """Without --all the package has the debug build, which is not built with Debian's flags."""
    result = subprocess.run(
        ["lintian", "--display-info", "--pedantic", packages["deb"]],
        capture_output=True,
        text=True,
        timeout=300,
        **as_user(),
    )
    tags = [each for each in result.stdout.splitlines() if ALL or ": hardening-no-" not in each]
    tags = [each for each in tags if not is_of_the_code(each)]
    assert (result.returncode, tags) == (0, []), result.stderr


# ---- the RPM package ----


@needs_dpkg
@pytest.mark.skipif(not shutil.which("rpmbuild"), reason="no rpmbuild")
def test_rpm_has_what_the_debian_package_has(packages, root):
    """But for what each of the two systems asks for. It names neither the time nor the machine of
    its build, and asks for the library of this Wireshark."""

    def asked(*options):
        return output("rpm", "-qp", *options, packages["rpm"]).splitlines()

    plugin = next(root.rglob("smcr.so"))
    library = re.search(rb"libwireshark\.so\.\d+", plugin.read_bytes()).group().decode()
    assert any(each.startswith(library) for each in asked("--requires"))
    (said,) = asked("--queryformat", "%{BUILDHOST} %{BUILDTIME}\n")
    assert said == f"localhost {output('git', '-C', TOP, 'log', '-1', '--format=%ct').strip()}"
    own = re.compile(
        r"(DEBIAN|usr/lib/\.build-id|usr/share/lintian|usr/share/licenses)\b"
        r"|.*/(README\.Debian|copyright|changelog|changelog\.Debian)$"
    )
    there, expected = (
        {re.sub(r"\.gz$", "", each.lstrip("/")) for each in names}
        for names in (asked("--list"), files(root))
    )
    there, expected = ({each for each in all_ if not own.match(each)} for all_ in (there, expected))
    folders = {each for each in there if (root / each).is_dir()}
    assert there - folders == expected, there ^ expected


@pytest.mark.skipif(not shutil.which("rpmlint"), reason="no rpmlint")
def test_rpmlint_finds_nothing(packages):
    folder = TOP / "plugin" / "rpm"
    words = ["rpmlint", "--config", folder / "rpmlint.toml", folder / "wireshark-smcr.spec"]
    printed = output(*words, *([packages["rpm"]] if "rpm" in packages else []))
    assert " 0 errors, 0 warnings" in printed, printed


# ---- the metadata ----


@pytest.mark.skipif(not shutil.which("appstreamcli"), reason="no appstreamcli")
def test_the_metadata_only_need_a_homepage():
    """A warning from AppStream 1.0 on, which plugin/debian/rules lets pass."""
    result = subprocess.run(
        ["appstreamcli", "validate", "--no-net", "--no-color", TOP / "plugin" / "metainfo.xml"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    found = re.findall(r"^([EW]): \S+ (\S+)$", result.stdout, re.MULTILINE)
    assert found in ([], [("W", "url-homepage-missing")]), result.stdout
    assert result.returncode == (3 if found else 0), result.stdout


@pytest.mark.skipif(not shutil.which("dpkg-deb"), reason="no dpkg-deb")
@pytest.mark.parametrize(
    "environment, expected",
    [
        (
            {"DEBFULLNAME": "A Builder", "DEBEMAIL": "builder@site.example"},
            "A Builder <builder@site.example>",
        ),
        (
            {
                "GIT_CONFIG_GLOBAL": "/dev/null",
                "GIT_CONFIG_SYSTEM": "/dev/null",
                "GIT_DIR": "/nowhere",
            },
            f"{NAME} <nobody@{NAME}.invalid>",
        ),
    ],
)
def test_maintainer_is_who_builds(environment, expected):
    """As the function of plugin/package tells; nothing is built."""
    script = (TOP / "plugin" / "package").read_text()
    text = "".join(
        re.search(rf"^{name}\(\).*?^}}\n", script, re.MULTILINE | re.DOTALL).group(0)
        for name in ("git_here", "maintainer")
    )
    given = {"PATH": os.environ["PATH"], **environment}
    assert (
        output("bash", "-c", f"top={TOP} name={NAME}\n{text}maintainer", env=given).strip()
        == expected
    )


# ---- the version, and what is the same everywhere ----


def test_version_is_one(packages, tshark, scratch):
    """Of meson.build, release notes, plugin, tools, report, archive and man page."""
    version = project_version()
    headings = re.findall(r"^## (\S+)", (TOP / "docs" / "changelog.md").read_text(), re.MULTILINE)
    assert headings[0] == version
    assert len(set(headings)) == len(headings)
    for name in PROGRAMS:
        assert output(TOP / "plugin" / name, "--version").startswith(f"smcr-{name} {version} (")
    assert (
        re.search(r"^smcr\.so\s+(\S+)\s", tshark.run("-G", "plugins"), re.MULTILINE).group(1)
        == version
    )
    assert f'"{version}"' in tshark.show_once(CAPTURE, "-q", "-z", "smcr,json")
    with tarfile.open(packages["gz"]) as tar:
        tar.extractall(scratch)
    (folder,) = scratch.iterdir()
    assert folder.name == f"{NAME}-{version}-wireshark{wireshark_version()}-{MACHINE}"
    assert (folder / "about").read_text().splitlines() == [
        f"version: {version}",
        f"wireshark: {wireshark_version()}",
        f"machine: {MACHINE}",
    ]
    for name in PROGRAMS:
        assert (folder / "share" / "man" / "man1" / f"smcr-{name}.1").read_text().splitlines()[
            0
        ].split('"')[3] == f"{NAME} {version}"
    assert (folder / "NEWS.md").read_bytes() == (TOP / "docs" / "changelog.md").read_bytes()


def test_package_refuses_other_release_notes(scratch):
    """Release notes that tell of another version."""
    for name in ("plugin/package", "meson.build", "docs/changelog.md"):
        (scratch / name).parent.mkdir(exist_ok=True)
        shutil.copy(TOP / name, scratch / name)
    notes = scratch / "docs" / "changelog.md"
    notes.write_text(notes.read_text().replace("\n## ", "\n## 99.0\n\n## ", 1))
    result = subprocess.run(
        [scratch / "plugin" / "package", "--profile", scratch], capture_output=True, text=True
    )
    assert (result.returncode, result.stdout) == (1, "") and "99.0" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_profile_as_wireshark_imports_it(packages):
    """A folder with files; an entry for the folder itself would become a file."""
    with zipfile.ZipFile(packages["zip"]) as archive:
        assert sorted(archive.namelist()) == [f"SMC-R/{name}" for name in PROFILE]
        for name in PROFILE:
            assert archive.read(f"SMC-R/{name}") == (TOP / "plugin" / "profile" / name).read_bytes()


# ---- the archive ----


class User:
    """A user without privileges who has unpacked the archive."""

    def __init__(self, bed, folder, archive):
        self.home = folder / "home"
        self.unpacked = folder / "unpacked"
        for path in (self.home, self.unpacked):
            path.mkdir()
        (self.home / "notes").write_text("the user's own")
        with tarfile.open(archive) as tar:
            tar.extractall(self.unpacked)
        give(folder)
        (self.folder,) = self.unpacked.iterdir()
        programs = self.home / ".local" / "bin"
        self.environment = bed.user(self.home, PATH=f"{programs}:/usr/bin:/bin")

    def run(self, *command, **environment):
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=300,
            stdin=subprocess.DEVNULL,
            env=self.environment | environment,
            cwd=self.folder,
            **as_user(),
        )

    def install(self, *arguments, **environment):
        """What ./install prints, given that it is content."""
        result = self.run("./install", *arguments, **environment)
        assert (result.returncode, result.stderr) == (0, "")
        return result.stdout

    def content(self):
        return {
            path.relative_to(self.home).as_posix(): path.read_bytes() if path.is_file() else None
            for path in self.home.rglob("*")
        }


def give(folder):
    """To the user."""
    if os.geteuid() == 0:
        output("chown", "-R", f"{as_user()['user']}:{as_user()['group']}", folder)


def answer_from_memory(user):
    """To what `install` asks tshark, which would take most of its time."""
    folder = user.unpacked / "memory"
    folder.mkdir()
    for words in ("--version", "-G folders", "-G plugins"):
        (folder / words).write_text(user.run("tshark", *words.split()).stdout)
    (folder / "tshark").write_text(f'#!/bin/sh\nexec cat "{folder}/$*"\n')
    (folder / "tshark").chmod(0o755)
    user.environment["PATH"] = f"{folder}:{user.environment['PATH']}"


def only(user, *folders, without):
    """A folder with links to the programs of others, but for those whose names begin so."""
    programs = user.unpacked / "programs"
    programs.mkdir()
    for program in (each for path in folders for each in pathlib.Path(path).iterdir()):
        if not program.name.startswith(without) and not (programs / program.name).is_symlink():
            (programs / program.name).symlink_to(program)
    return programs


@pytest.fixture
def user(bed, packages, scratch):
    return User(bed, scratch, packages["gz"])


def test_archive_is_installed_used_and_uninstalled(bed, user):
    before = user.content()
    assert "Installed" in user.install()
    plugin = f".local/lib/wireshark/plugins/{wireshark_version()}/epan/smcr.so"
    added = {
        path for path, content in user.content().items() if content is not None
    } - before.keys()
    personal = re.search(
        r"^Personal Extcap path:\s*(.+)$", user.run("tshark", "-G", "folders").stdout, re.MULTILINE
    )
    extcap = (
        {(pathlib.Path(personal[1]) / "smcr-capture").relative_to(user.home).as_posix()}
        if personal
        else set()
    )
    assert added == {
        plugin,
        *(f".local/bin/smcr-{name}" for name in PROGRAMS),
        *extcap,
        *(f".local/share/man/man1/smcr-{name}.1" for name in PROGRAMS),
        *(f".local/share/bash-completion/completions/smcr-{name}" for name in PROGRAMS),
        ".config/wireshark/profiles/SMC-R/.installed",
        *(f".config/wireshark/profiles/SMC-R/{name}" for name in PROFILE),
    }
    programs = {path.name for path in user.folder.glob("bin/*")}
    spec = (TOP / "plugin" / "rpm" / f"{NAME}.spec").read_text()
    for kind, ending in (
        ("bindir}", ""),
        ("mandir}/man1", ".1*"),
        ("datadir}/bash-completion/completions", ""),
    ):
        listed = re.findall(rf"^%{{_{re.escape(kind)}/(.*){re.escape(ending)}$", spec, re.M)
        assert set(listed) == programs, kind

    assert project_version() in user.run("tshark", "-G", "plugins").stdout
    shown = user.run("tshark", "-C", "SMC-R", "-r", bed.capture(CAPTURE), "-Y", "smcr.clc")
    assert (shown.returncode, shown.stderr) == (0, "") and "CLC Proposal" in shown.stdout
    seen = user.run("smcr-monitor", "-r", bed.capture(CAPTURE), "clc")
    assert seen.returncode == 0 and "Proposal" in seen.stdout

    assert "Installed " + str(user.home / plugin) not in user.install()  # it is there
    user.install("--uninstall")
    assert user.content() == before
    assert user.install("--uninstall") == ""


def test_archive_keeps_what_the_user_changed(user):
    user.install()
    profile = user.home / ".config" / "wireshark" / "profiles" / "SMC-R"
    (profile / "dfilters").write_text('"mine" smcr.stream == 7\n')
    (profile / "colorfilters").unlink()
    (profile / "recent").write_text("# Wireshark's own\n")
    for name, text in (("dfilters", "a newer one\n"), ("io_graphs", "newer graphs\n")):
        (user.folder / "profile" / name).write_text(text)
    kept = [line for line in user.install().splitlines() if line.startswith("Kept")]
    assert kept == [f"Kept {profile / 'dfilters'}, which was changed"]
    assert (profile / "recent").read_text() == "# Wireshark's own\n"
    assert (profile / "dfilters").read_text() == '"mine" smcr.stream == 7\n'
    assert (profile / "io_graphs").read_text() == "newer graphs\n"
    assert (profile / "colorfilters").exists()

    assert user.install("--uninstall").count("Kept") == 1
    assert [path.name for path in profile.iterdir()] == ["dfilters"]


@pytest.mark.parametrize(
    "line, words",
    [
        ("wireshark: 3.6", ["Wireshark 3.6", wireshark_version()]),
        ("machine: s390z", ["s390z", MACHINE]),
    ],
)
def test_archive_refuses_what_it_is_not_for(user, line, words):
    before = user.content()
    about = user.folder / "about"
    about.write_text(
        re.sub(rf"^{line.split(':')[0]}: .*$", line, about.read_text(), flags=re.MULTILINE)
    )
    result = user.run("./install")
    assert (result.returncode, result.stdout) == (1, "") and len(result.stderr.splitlines()) == 1
    assert all(word in result.stderr for word in words)
    assert user.content() == before


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"XDG_CONFIG_HOME": "elsewhere"},
        {"WIRESHARK_CONFIG_DIR": "elsewhere/of ours"},
        {"old": ".wireshark"},
    ],
)
def test_archive_finds_the_folders_without_tshark(user, environment):
    """Where only the window is installed, by Wireshark's own rules: they are the folders that
    tshark tells."""
    if "old" in environment:
        (user.home / environment.pop("old")).mkdir()
    given = {name: str(user.home / value) for name, value in environment.items()}
    for name, value in given.items():
        pathlib.Path(value).mkdir(parents=True)
    give(user.home)
    told = dict(
        re.findall(
            r"^Personal (\S+):\s*(.+)$",
            user.run("tshark", "-G", "folders", **given).stdout,
            re.MULTILINE,
        )
    )
    programs = only(user, "/bin", "/usr/bin", without=("tshark", "wireshark"))
    (programs / "wireshark").write_text(
        f"#!/bin/sh\necho 'Wireshark {wireshark_version()}.99 (for this test).'\n"
    )
    (programs / "wireshark").chmod(0o755)

    user.install(PATH=str(programs), **given)
    assert (pathlib.Path(told["Plugins"]) / "epan" / "smcr.so").exists()
    assert (pathlib.Path(told["configuration"]) / "profiles" / "SMC-R" / "preferences").exists()
    user.install("--uninstall", PATH=str(programs), **given)
    assert [path for path in user.content() if "smc" in path.lower()] == []


def test_archive_where_something_is_wrong(user):
    """One sentence each, nothing broken, and the next installation is a whole one: no rights, an
    interrupted installation, an older version, no Python, no Wireshark."""
    before = user.content()
    user.install()
    whole = user.content()
    answer_from_memory(user)
    local, config = user.home / ".local", user.home / ".config" / "wireshark"
    plugin = local / "lib" / "wireshark" / "plugins" / wireshark_version() / "epan" / "smcr.so"
    profile = config / "profiles" / "SMC-R"

    def refused(folder, words, *option):
        there = user.content()
        folder.chmod(0o555)
        result = user.run("./install", *option)
        folder.chmod(0o755)
        assert (result.returncode, result.stderr) == (1, f"install: {words}: Permission denied\n")
        assert user.content() == there

    for path in (plugin, profile / "colorfilters", local / "bin" / "smcr-monitor"):
        path.unlink()
        refused(path.parent, f"cannot install {path.name} into {path.parent}")
        user.install()
        assert user.content() == whole
    refused(plugin.parent, f"cannot remove {plugin}", "--uninstall")

    def interrupted():
        plugin.rename(plugin.with_name(".smcr.so.new"))
        for path in [*(local / "bin").iterdir(), *(local / "share").rglob("*.1")]:
            path.unlink()
        for name in PROFILE[1:]:
            (profile / name).unlink()

    def begun():
        """Only folders."""
        for path in [plugin, *(profile.iterdir())]:
            path.unlink()

    def older():
        for path in (plugin, *(local / "bin").iterdir()):
            path.write_bytes(path.read_bytes()[:-1])

    for spoil in (interrupted, begun, older):
        spoil()
        give(user.home)
        assert "Installed" in user.install(), spoil.__name__
        assert user.content() == whole, spoil.__name__
    for spoil in (interrupted, begun, older):
        spoil()
        give(user.home)
        user.install("--uninstall")
        left = {path for path, value in user.content().items() if value is not None}
        assert left == {path for path, value in before.items() if value is not None}, spoil.__name__
        user.install()

    programs = only(
        user, user.unpacked / "memory", "/bin", "/usr/bin", without=("python", "wireshark", "-")
    )
    needs = "smcr-monitor and the other tools need Python 3.6 or later, which this machine does not"
    assert f"{needs} have\n" in user.install(PATH=f"{local}/bin:{programs}")
    assert user.content() == whole
    (programs / "tshark").unlink()
    result = user.run("./install", PATH=str(programs))
    assert (result.returncode, result.stdout) == (1, "") and user.content() == whole
    assert result.stderr == "install: Wireshark is not installed\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be root")
def test_archive_refuses_root(user):
    """A tshark of this test's own tells the folders: nothing can come into those of this
    machine."""
    programs = user.unpacked / "programs"
    programs.mkdir()
    folders = "\\n".join(
        f"{whose} {name}: {user.home}/{whose}"
        for whose in ("Global", "Personal")
        for name in ("Plugins", "configuration")
    )
    (programs / "tshark").write_text(
        f"#!/bin/sh\nprintf 'TShark {wireshark_version()}.0 smcr.so\\n{folders}\\n'\n"
    )
    (programs / "tshark").chmod(0o755)
    before = user.content()
    result = subprocess.run(
        [user.folder / "install"],
        capture_output=True,
        text=True,
        env=user.environment | {"PATH": f"{programs}:/usr/bin:/bin"},
    )
    assert (result.returncode, result.stdout) == (1, "") and "root" in result.stderr
    assert user.content() == before
