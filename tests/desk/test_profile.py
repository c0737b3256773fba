"""
The profile SMC-R: Wireshark takes every line of it, healthy captures are calm in it, and each
trouble has a colour of its own. It comes and goes with the plugin (see also tests/test_install.py).
"""

import collections
import csv
import functools
import itertools
import os
import re
import shutil
import subprocess
import sys

import pytest
from bed import TOP, Tshark, as_user

sys.path.insert(0, str(TOP / "tests" / "facts"))

from test_healthy import healthy  # noqa: E402

PROFILE = TOP / "plugin" / "profile"

CALM = {"SMC-R: CLC", "SMC-R: LLC", "SMC-R: CDC", "SMC-R: data", "RoCE", "TCP", "Other"}

# What went wrong in a capture, by its description in captures/README.md: the colours that must show
# it.
TROUBLE = {
    "6.1-v1-f1-decline-server-no-device": {"fallback to TCP"},
    "6.1-v2-f6-decline-confirm-link-timeout": {"fallback to TCP"},
    "6.1-v2-b-ipv6-client-declines": {"fallback to TCP"},
    "6.1-v2-d-bulk-slow-reader": {"stall"},
    "6.1-v2-g1-server-killed": {"abort or reset"},
    "6.1-v2-h1-two-links-second-fails": {"failover, link deleted"},
    "7.2-v2-g5-device-removed": {"link lost, peer silent", "abort or reset"},
    "6.1-v2-n-lossy": {"loss"},
    "6.1-v1-n-lossy": {"loss"},
    "rule-clc-rmb": {"broken rule"},
}
ALIKE = [{"SMC-R: loss", "TCP: trouble"}, {"RoCE", "Other"}]


def lines(name):
    """Lines of a file of the profile without comments."""
    return [
        line
        for line in (PROFILE / name).read_text(encoding="utf-8").splitlines()
        if line[:1] not in ("#", "")
    ]


def colours():
    """Rows of the colour rules: (name, filter, background, text), the colours as three numbers from
    0 to 1."""
    rows = []
    for line in lines("colorfilters"):
        name, where, back, text = re.fullmatch(
            r"@([^@]+)@([^@]+)@\[([\d,]+)\]\[([\d,]+)\]", line
        ).groups()
        rows.append(
            (
                name,
                where,
                *(tuple(int(part) / 65535 for part in each.split(",")) for each in (back, text)),
            )
        )
    return rows


def filters():
    """All display filters of the profile: {where they stand: filter}."""
    found = {f"colour {name}": where for name, where, _, _ in colours()}
    found |= {f"button {row[1]}": row[2] for row in csv.reader(lines("dfilter_buttons"))}
    found |= {f"saved {line}": re.fullmatch('"[^"]+" (.+)', line)[1] for line in lines("dfilters")}
    found |= {f"graph {row[1]}": row[2] for row in csv.reader(lines("io_graphs"))}
    found["switch"] = re.fullmatch("auto_switch_filter: (.+)", lines("profile_settings")[0])[1]
    return found


def columns():
    """(title, format) of each column."""
    text = (PROFILE / "preferences").read_text(encoding="utf-8")
    cells = re.findall(
        '"([^"]*)"',
        text[
            text.index("gui.column.format:") : text.index("\n#", text.index("gui.column.format:"))
        ],
    )
    return list(zip(cells[::2], cells[1::2], strict=True))


@pytest.fixture(scope="module")
def desk(bed):
    """tshark of a user who has the profile."""
    folder = (
        bed.scratch / f"desk-{os.getpid()}" / "profiles" / "SMC-R"
    )  # a worker process of its own
    shutil.copytree(PROFILE, folder)
    return Tshark(bed, WIRESHARK_CONFIG_DIR=str(folder.parents[1]))


@functools.cache
def painted(desk, capture):
    """{name of a colour rule: frames that it paints}."""
    found = collections.defaultdict(list)
    for line in desk.show(
        capture,
        "-2",
        "-C",
        "SMC-R",
        "--color",
        "-T",
        "fields",
        "-e",
        "frame.number",
        "-e",
        "frame.coloring_rule.name",
    ).splitlines():
        number, name = line.split("\t")
        found[name].append(int(number))
    return found


# ---- every line is taken ----


def test_filters_are_valid(tshark):
    """One after the other in one filter; tshark names what it does not know."""
    assert len(filters()) > 50
    where = " || ".join(f"({each})" for each in filters().values())
    assert tshark.show("6.1-v2-g1-server-killed", "-Y", where) != ""


def test_fields_are_ours_or_wiresharks(tshark):
    """A filter of Wireshark's own colour files takes any word for a field that may come; the list
    of fields does not."""
    known = {
        line.split("\t")[2] for line in tshark.run("-G", "fields").splitlines() if line[0] in "FP"
    }
    used = set()
    for where in [
        *filters().values(),
        *(each.split(":")[1] for _, each in columns() if each.startswith("%Cus")),
    ]:
        used |= set(
            re.findall(r"\b[a-z_][a-z_0-9]*(?:\.[a-z_0-9]+)+\b", re.sub(r"\{[^}]*\}", "", where))
        )
    assert len(used) > 30 and used - known == set()


def test_columns(desk):
    """Connection, direction, link, message, bytes and window of a frame stand where the profile has
    them; Pause is hidden."""
    titles = [title for title, _ in columns()]
    assert titles.index("Pause") == titles.index("Time") + 1
    titles.remove("Pause")
    assert titles == [
        "No.",
        "Time",
        "Conn",
        "Source",
        "Destination",
        "Dir",
        "Link",
        "Protocol",
        "Message",
        "Bytes",
        "Window",
        "Info",
    ]
    rows = [
        line.replace("\t→\t", "\t").split("\t")
        for line in desk.show("6.1-v2-j-http11", "-C", "SMC-R", "-T", "tabs").splitlines()
    ]
    cells = [
        [
            rows[frame - 1][titles.index(title)].strip()
            for title in ("Conn", "Dir", "Link", "Message", "Bytes", "Window")
        ]
        for frame in (5, 7, 15, 16)
    ]
    assert cells == [
        ["0", "S→C", "", "CLC", "", cells[0][5]],
        ["", "S→C", "1", "LLC", "", ""],
        ["0", "C→S", "1", "WRITE Only", "87", ""],
        ["0", "C→S", "1", "CDC", "", cells[3][5]],
    ]
    assert int(cells[3][5]) > 0
    in_info = re.compile(r" Win=(\d+)")
    windows = [
        (row[titles.index("Window")].strip(), in_info.search(row[-1])[1])
        for row in rows
        if in_info.search(row[-1])
    ]
    assert all(cell == said for cell, said in windows) and len(windows) > 10
    items = [
        "-T",
        "fields",
        "-e",
        "_ws.expert.severity",
        "-Y",
        "ip.ttl.too_small && !smcr.analysis",
        "-c",
        "20",
    ]
    plain, calm = (
        desk.show("6.1-v2-j-http11", *profile, *items).split() for profile in ((), ("-C", "SMC-R"))
    )
    assert "4194304" in plain and set(",".join(calm).split(",")) == {
        "2097152"
    }, "TTL 1: a note, and a chat in the profile"


def test_columns_have_widths():
    """By place since Wireshark 4.4, by format before."""
    cells = next(
        csv.reader([lines("recent")[0].removeprefix("column.width: ")], skipinitialspace=True)
    )
    formats = [where.removesuffix(":0:R") for _, where in columns()]
    assert cells[::2] == formats and all(40 <= int(width) <= 700 for width in cells[1::2])


def test_columns_are_wide_enough(tshark):
    """For the longest of the words that they show: 8 pixels a character of Wireshark's font, and 8
    around them."""
    cells = next(
        csv.reader([lines("recent")[0].removeprefix("column.width: ")], skipinitialspace=True)
    )
    width = {title: int(cells[2 * place + 1]) for place, (title, _) in enumerate(columns())}
    words = {
        "Time": ["100.000000000"],
        "Dir": [],
        "Message": ["WRITE Middle"],
        "Source": ["255.255.255.255"],
        "Window": ["16777216"],
    }  # what Wireshark captures has nanoseconds
    for row in tshark.run("-G", "values").splitlines():
        if row.startswith("V\t") and row.split("\t")[1] == "smcr.dir":
            words["Dir"] += row.split("\t")[3:]
    assert words["Dir"] == ["C→S", "S→C"]
    for title, texts in words.items():
        assert 8 * max(map(len, texts)) + 8 <= width[title], title


def test_graphs_name_each_row_once():
    names = [row[1] for row in csv.reader(lines("io_graphs"))]
    assert len(names) == len(set(names)) > 10


# ---- it comes and goes ----


@pytest.fixture
def place(bed, scratch):
    """Calls a function of plugin/place for a user with a home of his own; returns what it says, and
    the profile."""
    home, tools = scratch / "home", scratch / "plugin"
    (home / ".config" / "wireshark").mkdir(parents=True)
    (home / ".config" / "wireshark" / "preferences").write_text("")
    shutil.copytree(TOP / "plugin" / "profile", tools / "profile")
    shutil.copyfile(TOP / "plugin" / "place", tools / "place")
    if os.geteuid() == 0:
        subprocess.run(
            ["chown", "-R", f"{as_user()['user']}:{as_user()['group']}", scratch], check=True
        )

    def call(function):
        script = f'set -eu; die() {{ echo "$*" >&2; exit 1; }}; . "{tools}/place"; {function}'
        result = subprocess.run(
            ["sh", "-c", script],
            env=bed.user(home),
            capture_output=True,
            text=True,
            cwd=home,
            **as_user(),
        )
        assert (result.returncode, result.stderr) == (0, "")
        return result.stdout

    call.install = lambda: call(f'place_profile "{tools}/profile"')
    call.remove = lambda: call("remove_profile")
    call.folder = home / ".config" / "wireshark" / "profiles" / "SMC-R"
    call.home = home
    return call


def content(folder):
    return {
        path.name: path.read_bytes() for path in folder.iterdir() if not path.name.startswith(".")
    }


def test_installed_and_removed(place):
    before = sorted(place.home.rglob("*"))
    assert place.install() == place.install() == "" and content(place.folder) == content(PROFILE)
    (place.folder / "recent").write_text("# Wireshark's own\n")
    assert place.install() == "" and (place.folder / "recent").read_text() == "# Wireshark's own\n"
    assert place.remove() == f"Removed {place.folder}\n" and sorted(place.home.rglob("*")) == before


def test_changes_of_the_user_stay(place):
    """They are neither overwritten nor removed. A file that is back as it was is ours again."""
    place.install()
    changed, mine = place.folder / "colorfilters", place.folder / "heuristic_protos"
    changed.write_text("# mine\n")
    mine.write_text("http_tcp,0\n")
    assert (
        place.install() == f"Kept {changed}, which was changed\n"
        and changed.read_text() == "# mine\n"
    )
    assert place.remove() == f"Kept {changed}, which was changed\n"
    assert content(place.folder) == {
        "colorfilters": b"# mine\n",
        "heuristic_protos": b"http_tcp,0\n",
    }


def test_newer_files_take_the_place_of_older_ones(place):
    place.install()
    source = next(
        path
        for path in (place.home.parent / "plugin" / "profile").iterdir()
        if path.name == "dfilters"
    )
    source.write_text('"newer" smcr\n')
    assert place.install() == "" and (place.folder / "dfilters").read_text() == '"newer" smcr\n'
    assert place.remove() == f"Removed {place.folder}\n"


def test_where_it_is_after_each_way_to_install():
    """As docs/building.md says: plugin/run and the archive ask plugin/place; the package has the
    folder of meson install, which is that of the system."""
    text = (TOP / "docs" / "building.md").read_text(encoding="utf-8")
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text[text.index("| installed by |") :].split("\n\n")[0].splitlines()[2:]
    ]
    said = {
        way: (folder.removeprefix("the "), switches == "yes") for way, _, folder, switches in rows
    }

    def folder(number):
        told = "Personal configuration:\\t/of/user\\nGlobal configuration:\\t/of/system\\n"
        script = (
            f'id() {{ echo {number}; }}; tshark() {{ printf "{told}"; }}; . {TOP}/plugin/place; '
            "profile_folder"
        )
        return subprocess.run(
            ["sh", "-c", script], capture_output=True, text=True, check=True
        ).stdout.split("/")[2]

    rules = (TOP / "plugin" / "debian" / "rules").read_text(encoding="utf-8")
    parts = (TOP / "plugin" / "meson.build").read_text(encoding="utf-8")
    system = "== 'auto' ? system / 'share/wireshark/profiles/SMC-R'" in parts
    assert all(
        "place_profile " in (TOP / "plugin" / name).read_text(encoding="utf-8")
        for name in ("run", "archive/install")
    )
    place = {
        "`plugin/run`": folder(1000),
        "`plugin/run` as root": folder(0),
        "archive, `./install`": folder(1000),
        "package": "system" if system and "-Dprofile" not in rules else "user",
    }
    assert said == {way: (where, where == "user") for way, where in place.items()}


def test_another_profile_of_this_name_stays(place):
    place.folder.mkdir(parents=True)
    (place.folder / "preferences").write_text("gui.font_name: mine\n")
    if os.geteuid() == 0:
        subprocess.run(["chown", "-R", as_user()["user"], place.home], check=True)
    assert place.install() == f"Kept {place.folder}: a profile of this name was there before\n"
    assert place.remove() == "" and content(place.folder) == {
        "preferences": b"gui.font_name: mine\n"
    }


# ---- calm and trouble ----


@pytest.mark.parametrize("capture", healthy())
def test_healthy_capture_is_calm(desk, capture):
    assert set(painted(desk, capture)) <= CALM
    assert set(painted(desk, capture)) & {"SMC-R: CLC", "SMC-R: CDC"}


@pytest.mark.parametrize("capture", TROUBLE)
def test_trouble_has_its_colour(desk, capture):
    assert {f"SMC-R: {name}" for name in TROUBLE[capture]} <= set(painted(desk, capture))


@pytest.mark.parametrize(
    "capture", ["6.1-v1-h1-two-links-second-fails", "6.1-v2-h1-two-links-second-fails"]
)
def test_both_sides_say_that_the_link_is_lost(desk, capture):
    """Both DELETE LINK messages look the same, as they read the same."""
    lost = [
        int(line)
        for line in desk.show(
            capture,
            "-Y",
            "smcr.llc.delete_reason == 0x00010000",
            "-T",
            "fields",
            "-e",
            "frame.number",
        ).splitlines()
    ]
    assert len(lost) == 2 and set(lost) <= set(
        painted(desk, capture)["SMC-R: link lost, peer silent"]
    )


def test_congestion_has_its_colour(bed, desk):
    packed = TOP / "captures" / "fabric" / "cnp-smc.pcapng.gz"
    assert painted(desk, bed.root / "captures" / packed.relative_to(TOP / "captures"))[
        "SMC-R: congestion"
    ]


def test_all_troubles_are_tried():
    tried = set().union(*TROUBLE.values(), {"congestion"})
    assert tried == {
        name.removeprefix("SMC-R: ")
        for name, *_ in colours()
        if name.startswith("SMC-R") and name not in CALM
    }


# ---- colours ----


def luminance(colour):
    """Relative luminance of sRGB, as WCAG 2 defines it."""
    parts = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour
    ]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), parts, strict=True))


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(
    "name, back, text", [(name, back, text) for name, _, back, text in colours()]
)
def test_text_can_be_read(name, back, text):
    """WCAG 2 asks for 4.5; the grey of what is not SMC-R stands back, and is read all the same."""
    assert contrast(back, text) >= 4.5
    assert (luminance(back) > 0.8) == (name in CALM)


def test_colours_differ():
    """Background and text together. Loss looks the same on TCP and on RoCE, and so does what is
    neither."""
    for (name, _, *first), (other, _, *second) in itertools.combinations(colours(), 2):
        distance = sum(
            abs(a - b)
            for one, two in zip(first, second, strict=True)
            for a, b in zip(one, two, strict=True)
        )
        trouble = not {name, other} & CALM
        assert distance > (0.3 if trouble else 0.08) or {name, other} in ALIKE, (
            name,
            other,
            distance,
        )
