"""
What Linux's headers define for netlink has a row in dissectors/told.def, of the right kind, and its
commands have their names. The headers are those that are installed. SMCR_LINUX_HEADERS names a
folder with others, such as the newest ones: then told.def may have nothing that they do not define.
"""

import os
import pathlib
import re

import pytest
from bed import TOP

INSTALLED = pathlib.Path("/usr/include")
NEWEST = os.environ.get("SMCR_LINUX_HEADERS")
FOLDERS = [INSTALLED, *([pathlib.Path(NEWEST)] if NEWEST else [])]
DISSECTORS = TOP / "dissectors"

# The nest of told.def for the enum that ends with __NAME_MAX.
NESTS = {
    "SMC_PNETID": "PNET",
    "SMC_GEN": "TOP",
    "SMC_NLA_SYS": "SYS",
    "SMC_NLA_LGR_V2": "V2",
    "SMC_NLA_LGR_R_V2": "R_V2",
    "SMC_NLA_LGR_R": "LGR",
    "SMC_NLA_LINK": "LINK",
    "SMC_NLA_LGR_D": "LGR_D",
    "SMC_NLA_DEV_PORT": "PORT",
    "SMC_NLA_DEV": "DEV",
    "SMC_NLA_STATS_PLOAD": "SIZE",
    "SMC_NLA_STATS_RMB": "USE",
    "SMC_NLA_STATS_T": "TECH",
    "SMC_NLA_STATS": "STATS",
    "SMC_NLA_FBACK_STATS": "FBACK",
    "SMC_NLA_EID_TABLE": "EIDS",
    "SMC_NLA_SEID_TABLE": "SEID",
    "SMC_NLA_HS_LIMITATION": "LIMIT",
    "SMC_DIAG": "DIAG",
}
STRUCTS = {
    "smc_diag_conninfo": "CONN",
    "smc_diag_lgrinfo": "LGRINFO",
    "smc_diag_fallback": "FALLBACK",
    "smcd_diag_dmbinfo": "DMB",
}
SIZES = {"__u8": (1, 1), "__u16": (2, 2), "__u32": (4, 4), "__aligned_u64": (8, 8)}
NAMES = {"IB_DEVICE_NAME_MAX": 64}
NO_VALUE = re.compile(r"_(UNSPEC|PAD|NONE|MAX)$")
WIDTHS = {"u8": 8, "u16": 16, "u32": 32, "u64": 64, "uint": 64}


def plain(text):
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


def enums(text):
    """{name of the enum's maximum, or of its first value: {name: (number, what its comment is)}}"""
    found = {}
    for body in re.findall(r"\benum \{([^}]*)\}", text):
        values, number = {}, -1
        row = re.compile(r"(\w+)(?:\s*=\s*(\d+))?\s*,?[ \t]*(?:/\*\s*(\w+)[^*]*\*/)?")
        lines = "\n".join(line for line in body.splitlines() if "MAX - 1" not in line)
        for name, given, what in row.findall(re.sub(r"(?m)^\s*/\*.*?\*/", "", lines)):
            number = int(given) if given else number + 1
            values[name] = (number, what)
        top = next((name for name in values if re.fullmatch(r"__\w+_MAX", name)), "")
        found[top[2:-4] or next(iter(values))] = values
    return found


def layout(text, name):
    """[(offset, size)] of the members of a struct, those of structs in it, too; and its size and
    alignment."""
    (body,) = re.findall(rf"struct {name}\s*\{{([^}}]*)\}}", plain(text))
    members, at, widest = [], 0, 1
    for kind, _, count in re.findall(r"((?:struct )?\w+)\s+(\w+)(?:\[(\w+)\])?;", body):
        inner = layout(text, kind[7:]) if kind.startswith("struct ") else None
        size, align = inner[1:] if inner else SIZES[kind]
        at += -at % align
        number = int(NAMES.get(count, count or 1))
        members += (
            [(at + offset, each) for offset, each in inner[0]] if inner else [(at, size * number)]
        )
        at, widest = at + size * number, max(widest, align)
    return members, at + -at % widest, widest


def rows():
    """{(nest, number): (kind, bits)} of told.def; bits: None where another row has them."""
    text = plain((DISSECTORS / "told.def").read_text(encoding="utf-8"))
    lines = text.replace("\\\n", " ").splitlines()
    text = "\n".join(line for line in lines if not line.startswith("#"))
    found = {}
    for macro, arguments in re.findall(r"\b([A-Z]+)\(((?:[^()]|\([^()]*\))*)\)", text):
        nest, at, *rest = (each.strip() for each in arguments.split(","))
        if macro == "CURSOR":
            found["CONN", int(nest) + 2] = found["CONN", int(nest) + 4] = ("HOST", None)
            continue
        kind = {"NEST": "BELOW", "SAME": rest[0], "VALUE": rest[0], "CODE": rest[0]}.get(
            macro, "HOST"
        )
        types = {"VALUE": 2, "CODE": 2, "PLAIN": 0, "RANGE": 0}
        bits = re.fullmatch(r"[A-Z]+(\d+)", rest[types[macro]]) if macro in types else None
        number = int(at)
        assert (nest, number) not in found, (nest, number)
        found[nest, number] = (kind, 64 if macro == "COUNT" else bits and int(bits[1]))
    return found


def names(table):
    text = (DISSECTORS / "fields.c").read_text(encoding="utf-8")
    body = text.partition(f"smcr_values_{table}[] = {{")[2].partition("{0, NULL}")[0]
    return {int(number): name for number, name in re.findall(r'\{(\d+), "(\w+)"\}', body)}


def header(folder, name):
    path = folder / "linux" / name
    if not path.exists():
        pytest.skip(f"no {path}")
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("folder", FOLDERS, ids=str)
def test_attributes(folder):
    """Each attribute has a row; a string, a nest, and a number of its width."""
    told, defined = rows(), set()
    both = header(folder, "smc.h") + header(folder, "smc_diag.h")
    for top, values in enums(both).items():
        if top not in NESTS:
            continue
        for name, (number, what) in values.items():
            begins_at_0 = NESTS[top] == "V2"
            if NO_VALUE.search(name) or (number == 0 and not begins_at_0):
                continue
            defined.add((NESTS[top], number))
            assert (NESTS[top], number) in told, f"{name} has no row"
            kind, bits = told[NESTS[top], number]
            assert (kind == "ASCII") == (what == "string") or not what, (name, kind)
            assert (kind == "BELOW") == (what == "nest") or not what, (name, kind)
            assert not bits or what not in WIDTHS or bits == WIDTHS[what], (name, bits)
    assert len(defined) > 100
    if folder != INSTALLED:
        assert {each for each in told if each[0] in NESTS.values()} == defined


@pytest.mark.parametrize("folder", FOLDERS, ids=str)
def test_structs(folder):
    """Each member of the structs of SMC_DIAG has a row at its offset; of a cursor, wrap and
    count."""
    text, told = header(folder, "smc_diag.h"), rows()
    for name, nest in STRUCTS.items():
        members, size, _ = layout(text, name)
        offsets = {at for at, _ in members}
        of_cursors = {at for at, size in members if size == 2}  # reserved, wrap; 4 bytes of count
        of_rows = {at for of, at in told if of == nest}
        assert offsets - of_rows <= of_cursors - {at + 2 for at in of_cursors}, name
        assert of_rows <= offsets or folder == INSTALLED, (name, of_rows - offsets)
        assert size > 4


@pytest.mark.parametrize("folder", FOLDERS, ids=str)
def test_commands(folder):
    text = header(folder, "smc.h")
    of_family, of_pnetid = names("netlink_commands"), names("pnet_commands")
    found = {}
    for values in enums(text).values():
        for name, (number, _) in values.items():
            if name.startswith("SMC_NETLINK_"):
                found[name] = number
                assert of_family[number] == name[len("SMC_NETLINK_") :]
    assert len(found) >= 18
    commands = enums(text)["SMC_PNETID_GET"]
    assert {
        number: name[len("SMC_PNETID_") :] for name, (number, _) in commands.items()
    } == of_pnetid
