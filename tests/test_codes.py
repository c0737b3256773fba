"""What is on the wire is said once, in dissectors/wire/, which is plain C below everything else."""

import re
import subprocess

import pytest
from bed import TOP

DISSECTORS = TOP / "dissectors"
WIRE = sorted((DISSECTORS / "wire").iterdir())
PLAIN = sorted(
    path for room in ("wire", "fabric", "state") for path in (DISSECTORS / room).rglob("*.*")
)
OTHERS = sorted(
    path
    for folder in (DISSECTORS, TOP / "plugin", TOP / "tests" / "unit")
    for path in folder.rglob("*")
    if path.suffix in (".c", ".h", ".def") and path not in WIRE
)

NUMBER = r"\(?(0x[0-9a-fA-F]+|\d+)[uU]?\)?"
DEFINE = re.compile(rf"^#define (\w+) {NUMBER}(?=\s|$)", re.MULTILINE)
ENUM = re.compile(rf"\b([A-Z][A-Z0-9_]+) = {NUMBER}(?=\s*[,}}\n])")
ROW = re.compile(rf"\b[A-Z]+\(([A-Z][A-Z0-9_]+), {NUMBER},")  # of a list of any name
MESSAGE = re.compile(rf"^SMCR_(\w+?)(?:_MESSAGE)?\((\w+), {NUMBER},", re.MULTILINE)

# Families of names: how others would call what wire/ has.
FAMILIES = re.compile(
    r"^(?:SMCR_)?(?:(?:IB|WIRE|CM|LLC|CLC|CDC|RC|ROCE|MASK|FLAG|STATE|TYPE|CLASS|SYNDROME|KIND|"
    r"REASON|OPCODE)_)*"
)

# Masks of the same value that are of something else: of TCP, of packed records, of bits in general.
OTHER_MASKS = {
    "handshake.c": {"0x20"},
    "record.c": {"0x0f"},
    "recognise.c": {"0xe0", "0xfe"},
    "llc_rkey.c": {"0xff"},
    "clc_stream.c": {"0xff"},
}


def text(path):
    """The file without comments."""
    return re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)


def numbers(path):
    """{name: value} of the constants that a file defines as numbers."""
    code = text(path)
    found = {
        name: value for pattern in (DEFINE, ENUM, ROW) for name, value in pattern.findall(code)
    }
    return found | {f"SMCR_{kind}_{name}": value for kind, name, value in MESSAGE.findall(code)}


def preprocessed():
    """wire/ as the compiler sees it: lists and .def files have become enums; macros, too."""
    headers = "".join(f'#include "{path}"\n' for path in WIRE if path.suffix == ".h")
    return subprocess.run(
        ["cc", "-E", "-P", "-dD", "-x", "c", "-I", DISSECTORS, "-"],
        input=headers,
        text=True,
        capture_output=True,
        check=True,
    ).stdout


def enumerators(code):
    """{name: value} of all enums; each value is a number, or one more than that before."""
    found, code = {}, re.sub(r"^#.*\n", "", code, flags=re.MULTILINE)
    for body in re.findall(r"\benum(?: \w+)? ?\{(.*?)\}", code, re.DOTALL):
        value = "-1"
        for row in filter(None, map(str.strip, body.split(","))):
            match = re.fullmatch(rf"(\w+)(?: = {NUMBER})?", row)
            assert match, f"an enum of wire/ has {row}, which is not understood"
            value = match[2] or str(int(value, 0) + 1)
            found[match[1]] = value
    return found


def bare(name):
    """How others would write it, in whatever family, with underscores or without."""
    return FAMILIES.sub("", name).replace("_", "")


SEEN = preprocessed()
CODES = {
    name: value
    for name, value in {**dict(DEFINE.findall(SEEN)), **enumerators(SEEN)}.items()
    if name.startswith("SMCR_")
}
BARE = {(bare(name), int(value, 0)) for name, value in CODES.items()}

# Numbers that say which code they are, wherever they stand: large ones, but for powers of two.
LARGE = {
    int(value, 0)
    for value in CODES.values()
    if int(value, 0) > 0xFF and int(value, 0).bit_count() > 1
}
OTHER_NUMBERS = {
    "application.c": {0x30000},  # a version of PostgreSQL
    "tcp_flows.c": {0xFFF},
    "on_notices.c": {0x07000000},
}  # flags of TCP; groups of Wireshark
# What is compared holds a code.
OF_CODES = (
    r"\b\w*(?:code|opcode|type|reason|status|attribute|qpn|ecn|cause|ground|syndrome|kind|event|"
    r"order|fate)"
    r" ?[=!<>]= ?"
)
MASKS = {
    value.lower()
    for name, value in CODES.items()
    if value.startswith("0x") and int(value, 16) <= 0xFF
}


def test_the_codes_are_found():
    assert {
        "SMCR_LLC_TEST_LINK",
        "SMCR_CLC_PROPOSAL",
        "SMCR_CDC_FLAG_FAILOVER",
        "SMCR_RC_WRITE_ONLY",
        "SMCR_LLC_DELETE_LOST_PATH",
        "SMCR_LLC_CDC",
        "SMCR_MASK_SYNDROME_KIND",
        "SMCR_WIRE_ECN_CE",
        "SMCR_IB_NAK_PSN_SEQUENCE",
        "SMCR_GROUND_CLC",
        "SMCR_CAUSE_TIMEOUT",
        "SMCR_IB_GSI_QPN",
    } <= set(CODES)
    assert {("TESTLINK", 7), ("RESPONSE", 0x80), ("FIRSTCONTACT", 8), ("ECNECT1", 1)} <= BARE


def assert_none(paths, wrong):
    """`wrong` gives what is wrong with a file."""
    assert {
        path.relative_to(TOP).as_posix(): found for path in paths if (found := wrong(path))
    } == {}


def test_every_list_is_understood():
    """What stands in a list, an enum or a #define, as a number, is what the compiler makes of
    it."""
    assert_none(
        WIRE,
        lambda path: {
            name: value for name, value in numbers(path).items() if CODES.get(name) != value
        },
    )


def test_what_is_no_number_is_told():
    with pytest.raises(AssertionError, match="not understood"):
        enumerators("enum { SMCR_A = 1, SMCR_B = sizeof(int) };")


def headers_not_allowed(path):
    names = re.findall(r"#include <(.*)>", path.read_text(encoding="utf-8"))
    allowed = r"std\w+\.h|string\.h|limits\.h"
    if path not in WIRE:
        allowed += (
            r"|glib\.h|inttypes\.h|(wsutil/)?wmem/.*|wireshark\.h|wsutil/ws(log|_assert)\.h|zlib\.h"
        )
    return [name for name in names if not re.fullmatch(allowed, name)]


def test_plain_c():
    """wire/ needs nothing but the standard library; fabric/ and state/ that, GLib, wmem, wslog and
    zlib's CRC."""
    assert_none(PLAIN, headers_not_allowed)


def test_no_code_is_defined_again():
    assert_none(
        OTHERS,
        lambda path: {
            name
            for name, value in numbers(path).items()
            if name in CODES or ((bare(name), int(value, 0)) in BARE and "tests" not in path.parts)
        },
    )


def literals(code):
    return {
        int(number, 0)
        for number in re.findall(r"(?<![\w.])(0x[0-9a-fA-F]+|[1-9]\d*)[uU]?(?![\w.])", code)
    }


IN_ROOMS = [path for path in OTHERS if path.is_relative_to(DISSECTORS)]


def codes_without_names(path):
    code = re.sub(r"\"(?:\\.|[^\"\\])*\"", '""', text(path))
    return [
        *(literals(code) & LARGE - OTHER_NUMBERS.get(path.name, set())),
        *re.findall(rf"(?:{OF_CODES}|\bcase )(?:0x[0-9a-f]+|[1-9]\d*)\b", code),
    ]


def test_no_code_without_its_name():
    """Neither a number that is a code, nor one of whatever size that is held against a code."""
    assert_none(IN_ROOMS, codes_without_names)


def masks_without_names(path):
    code = text(path)
    bare = re.findall(r"[&|] ?(0x[0-9a-f]{1,2})\b", code) + re.findall(
        r"\{(0x[0-9a-f]{2}), \"", code
    )
    rows = code.replace("\n    ", " ")
    bare += re.findall(
        r"^(?:FLAG|BITFIELD)\((?!clc_other_flags).*\b(0x[0-9a-f]{2,4})\b", rows, re.MULTILINE
    )
    return {mask for mask in bare if mask in MASKS or path.suffix == ".def"} - OTHER_MASKS.get(
        path.name, set()
    )


def test_no_mask_without_its_name():
    """A mask or flag of a byte stands by its name, in the code as in the masks of fields.def."""
    assert_none(IN_ROOMS, masks_without_names)


def test_wireshark_s_own_opcodes_are_not_used():
    """But in what a user reads."""
    found = [
        path.name
        for path in OTHERS
        if re.search(r"(?<!SMCR_)\bRC_[A-Z]", re.sub(r'"[^"\n]*"', "", text(path)))
    ]
    assert found == []


def unlisted_layouts(code):
    """Layouts that a file defines, and its list for the unit test has not."""
    lists = " ".join(re.findall(r"^SMCR_LAYOUT_LIST\((.*?)\);", code, re.MULTILINE | re.DOTALL))
    made = re.findall(r"^SMCR_LAYOUT(?:_SHARED)?\((\w+),", code, re.MULTILINE)
    made += [
        f"{name}_{version}"
        for kind, name in re.findall(r"^HEADER(S|_V1|_V2)\((\w+), \"", code, re.MULTILINE)
        for version in {"S": ("v1", "v2"), "_V1": ("v1",), "_V2": ("v2",)}[kind]
    ]
    return [name for name in made if f"&{name}" not in re.findall(r"&\w+", lists)]


def test_every_layout_is_listed():
    """A unit test checks the layouts in the lists, without which nothing would check one."""
    files = [path for path in DISSECTORS.rglob("*.c") if "SMCR_LAYOUT" in text(path)]
    assert len(files) > 10
    assert_none(files, lambda path: unlisted_layouts(text(path)))
    code = (DISSECTORS / "message" / "llc.c").read_text(encoding="utf-8")
    assert unlisted_layouts(code.replace("&plain_v2,", "")) == ["plain_v2"]
    assert unlisted_layouts(code.replace("&test_link)", "&unknown)")) == ["test_link"]


WORDS_OF_COMPILERS = re.compile(
    r"__attribute__|__typeof__|__builtin_\w+|__extension__|__declspec|\btypeof\("
)


def test_only_c11():
    """MSVC takes it, too: no construct of one compiler, but for the one macro that says which have
    it; no enumerator above INT_MAX."""
    files = [path for path in [*OTHERS, *WIRE] if "tests" not in path.parts]
    found = [(path.name, word) for path in files for word in WORDS_OF_COMPILERS.findall(text(path))]
    assert found == [("codes.h", "__typeof__")]
    assert {name: each for name, each in enumerators(SEEN).items() if int(each, 0) >= 1 << 31} == {}
