"""
What a peer calls itself: host names, EIDs and system EIDs, 32 bytes each, of its own choice.
Whatever they are, no output has a character that a terminal obeys, and each says the bytes: what is
not printable ASCII, and the backslash, is \\xNN.
"""

import collections
import functools
import json
import os
import random
import re
import subprocess
import sys
import unicodedata
import zlib
import xml.etree.ElementTree as xml

import pytest
import sharkd
from bed import ALL, TOP, as_user
from test_export import export
from test_page import LIMITS, Page

sys.path.insert(0, str(TOP / "tests" / "synth"))
from smcsynth import clc  # noqa: E402
from smcsynth.capture import Capture  # noqa: E402
from smcsynth.net import TcpConversation  # noqa: E402
from smcsynth.story import (
    CLIENT,
    CLIENT_V2,
    SERVER,
    SERVER_V2,
    Connection,
    LinkGroup,
    linux_halves,
)  # noqa: E402

SIZE = 32  # bytes of each text
EIDS, SYSTEM_EIDS, HOST_NAMES = (
    6,
    2,
    4,
)  # in two Proposals; EIDs and host names in two Accepts and two Confirms
PLACES = EIDS + SYSTEM_EIDS + HOST_NAMES
NAMES = {
    "csi": b"a\x1b[31mEVIL\x1b[2J",
    "osc": b"\x1b]0;pwn\x07b",
    "bell": b"\x07\x07bell",
    "backspace": b"safe\x08\x08\x08\x08evil",
    "delete": b"\x7fdel\x7f",
    "return": b"one\rtwo",
    "newline": b"one\n[forged]\ntwo",
    "tab": b"one\ttwo",
    "zero": b"one\0two",
    "c1": "\x9b31mX\x9d0;pwn\x9c\x85".encode(),
    "c1-bare": b"\x9b31mX\x9d0;pwn\x9c",
    "invalid": b"\xff\xc3(\xe2\x82\xf0\xed\xa0\x80",
    "overlong": b"\xc0\x9b\xc1\x9b\xe0\x80\x9b\xf0\x80\x80\x9b",
    "bidi": "ab\u202e\u2066\u200f\u061ccd\u2069\u202c".encode(),
    "lines": "one\u2028two\u2029\ufeff\u200bx".encode(),
    "quotes": b"\"'\\<b>&amp;\\x1b\\u001b\\",
    "percent": b"%s%n%d%99999s%%",
    "path": b"../../x/..\\..\\y",
    "full": b"\x1b" * (SIZE - 1) + b"m",
    "plain": b"host-1.example",
}


def chunks(names, size=100):
    """More connections do not fit into the numbers that the builder gives them."""
    return [names[start : start + size] for start in range(0, len(names), size)]


def every_name():
    """Each byte by itself; each character that is not printable; bytes at random."""
    draw = random.Random(33)
    bytes_alone = [b"a" + bytes([each]) + b"z" for each in range(256)]
    unfit = [
        chr(each).encode()
        for each in range(0x80, sys.maxunicode)
        if unicodedata.category(chr(each)) in ("Cc", "Cf", "Zl", "Zp")
    ]
    return chunks(
        [
            *bytes_alone,
            *(b"b" + each + b"y" for each in unfit),
            *(draw.randbytes(SIZE) for _ in range(200)),
        ]
    )


CASES = [list(NAMES.values()), *(every_name() if ALL else ())]


# ---- a capture with each name wherever a peer can put it ----


def marker(number):
    return f"TEXT-{number:03}"


def talk(tcp, *messages):
    """Proposal, Accept and Confirm; each segment acknowledges the one before."""
    tcp.handshake()
    for role, message in zip(("client", "server", "client"), messages, strict=True):
        tcp.send(role, message, ack=False)


def story(capture, number, name):
    """A connection of SMC-R and one of SMC-D. `name` goes into fields of other lengths; the texts
    have a marker."""
    text, data = marker(number), name.ljust(SIZE, b"\0")
    area = clc.smcd_area(v2_offset=28, oui=data[:3], vendor=data[:5])
    offer = clc.v2_extension(
        eids=[text, "LAB-EID"],
        release=1,
        seid_flag=1,
        max_conns=32,
        max_links=2,
        roce_gid="192.0.2.1",
        smcd=clc.smcdv2_extension(seid=text, gids=[(1, 2)]),
        ism_gid_count=1,
    )
    fce = clc.first_contact_extension(
        hostname=text, release=1, max_conns=32, max_links=2, vendor=data[:4]
    )

    group = LinkGroup(capture, [CLIENT_V2], [SERVER_V2], version=2)
    group.new_link(
        1, client=(0x1000 + number, 0x10000 * number), server=(0x2000 + number, 0x10000 * number)
    )
    connection = Connection(group, *linux_halves(number=number), sport=40000 + number)
    agreed = dict(eid=text, fce=fce)
    talk(
        connection.tcp,
        connection.proposal(v2=offer, smcd=area),
        connection.accept(**agreed),
        connection.confirm(**agreed),
    )
    if number == 1:
        group.confirm_link()
        group.test_link("client", user_data=data[:16])
        connection.send("client", b"data")
        connection.close()

    smcd = dict(ism_gid=1, token=2, size_code=2, link_id=3, version=2, chid=2, **agreed)
    talk(
        TcpConversation(capture, CLIENT, SERVER, sport=45000 + number, dport=50000),
        clc.clc_proposal(version=2, typev1=clc.NEITHER, typev2=clc.ONLY_D, smcd=area, v2=offer),
        clc.clc_smcd(clc.ACCEPT, **smcd),
        clc.clc_smcd(clc.CONFIRM, **smcd),
    )


@functools.cache
def build(folder, names):
    capture = Capture()
    for number, name in enumerate(names, 1):
        story(capture, number, name)
    data = capture.pcap()
    for number, name in enumerate(names, 1):
        was = marker(number).encode().ljust(SIZE)
        assert data.count(was) == PLACES
        data = data.replace(was, name.ljust(SIZE))
    path = folder / f"names-{os.getpid()}-{zlib.crc32(data):08x}.pcap"
    path.write_bytes(data)
    return path


# ---- what is right ----


def written(name):
    """How a name is to be written."""
    return "".join(
        chr(each) if 0x20 <= each < 0x7F and each != 0x5C else f"\\x{each:02x}"
        for each in name.rstrip(b" \0")
    )


def read(text):
    """The bytes of a name that was written."""
    return re.sub(
        rb"\\x([0-9a-f]{2})", lambda found: bytes.fromhex(found[1].decode()), text.encode("ascii")
    )


def unfit(text):
    """Characters that a terminal may obey."""
    return {
        each
        for each in set(text)
        if unicodedata.category(each) in ("Cc", "Cf", "Cs", "Zl", "Zp") and each not in "\n\t"
    }


def pairs(text):
    """What JSON says. Objects are lists of pairs, since tshark writes a name twice."""
    return json.loads(text, object_pairs_hook=lambda members: [list(each) for each in members])


def strings(value):
    """All strings of what JSON says; names of members, too."""
    if isinstance(value, dict):
        return [text for pair in value.items() for each in pair for text in strings(each)]
    if isinstance(value, list):
        return [text for each in value for text in strings(each)]
    return [value] if isinstance(value, str) else []


class Outputs:
    """Runs tshark and its kin on the capture; looks for what no output may have."""

    def __init__(self, tshark, path, *passes):
        self.tshark, self.path, self.passes = tshark, path, passes

    def show(self, *arguments):
        text = self.tshark.show(self.path, *self.passes, *arguments, errors="strict")
        assert not unfit(text), arguments
        return text


@pytest.fixture(params=range(len(CASES)), ids=lambda number: f"names-{number}")
def names(request):
    return CASES[request.param]


@pytest.fixture(params=[(), ("-2",)] if ALL else [()], ids=lambda passes: f"pass-{1 + len(passes)}")
def outputs(request, bed, tshark, names):
    return Outputs(tshark, build(bed.scratch, tuple(names)), *request.param)


def test_tree(outputs, names):
    """Each place of each name, in the details and in the bytes beside them."""
    lines = collections.Counter(
        line.strip() for line in outputs.show("-V", "-x", "-Y", "smcr").splitlines()
    )
    for name in names:
        said = written(name)
        for line, count in (
            (f"EID: {said}", EIDS),
            (f"System EID: {said}", SYSTEM_EIDS),
            (f"Host name: {said}", HOST_NAMES),
            (f"First contact extension: host {said}, operating system Linux, SMCv2.1", HOST_NAMES),
        ):
            assert lines[line.strip()] == count, (name, line)


FIELDS = ("smcr.eid", "smcr.seid", "smcr.clc.hostname")


def test_fields(outputs, names):
    """Wireshark 4.0 hands such values on as they are: it has to have got none. Later ones may
    double a backslash."""
    text = outputs.show(
        "-T",
        "fields",
        "-E",
        "aggregator=/s",
        *(each for field in FIELDS for each in ("-e", field)),
        "-e",
        "_ws.col.info",
        "-Y",
        "smcr.clc",
    ).replace("\\\\", "\\")
    for name in names:
        assert text.count(written(name)) >= PLACES, name


@pytest.mark.parametrize("format", ["json", "ek"])
def test_tree_as_json(outputs, names, format):
    text = outputs.show("-T", format, "-Y", "smcr.clc")
    said = [
        each
        for line in (text.splitlines() if format == "ek" else [text])
        for each in strings(pairs(line))
    ]
    assert not unfit("".join(said))
    counts = collections.Counter(each.replace("\\\\", "\\") for each in said)
    for name in names:
        assert counts[written(name)] >= PLACES, name


def test_pdml(outputs, names):
    tree = xml.fromstring(outputs.show("-T", "pdml", "-Y", "smcr.clc"))
    fields = [each for each in tree.iter("field") if each.get("name") in FIELDS]
    assert not unfit("".join(text for each in tree.iter() for text in each.attrib.values()))
    shown = collections.Counter(
        (bytes.fromhex(each.get("value")), each.get("show").replace("\\\\", "\\"))
        for each in fields
    )
    for name in names:
        assert shown[name.ljust(SIZE), written(name)] == PLACES, name


def test_report_as_json(outputs, names):
    """The text can be turned back into the bytes."""
    groups = json.loads(outputs.show("-q", "-z", "smcr,json"))["link_groups"]
    assert len(groups) == len(names)
    for group, name in zip(groups, names, strict=True):
        texts = [
            group["eid"],
            *(group["peers"][role]["host_name"] for role in ("client", "server")),
        ]
        assert [read(each or "") for each in texts] == [name.rstrip(b" \0")] * 3
        assert not unfit("".join(strings(group)))


def test_report_as_html(outputs, names):
    """The page has the same elements as another one, and the texts of the JSON."""
    page = Page(outputs.show("-q", "-z", "smcr,html"))
    plain = Page(outputs.show("-q", "-z", "smcr,html,frame.number == 1"))
    assert page.elements == plain.elements
    groups = page.block("report")["link_groups"]
    assert len(groups) == min(len(names), LIMITS["link_groups"])
    for group, name in zip(groups, names):
        assert read(group["eid"] or "") == name.rstrip(b" \0")


TAPS = (
    "smcr,report",
    "smcr,connections",
    "smcr,links",
    "smcr,directions",
    "smcr,rmbs",
    "smcr,fallbacks",
    "smcr,fabric",
    "smcr,times",
    "smcr,points",
    "smcr,srt",
    "smcr,tree",
    "expert",
    "follow,smcr,ascii,0",
    "conv,smcr",
    "io,phs",
)


def test_page_and_tables(outputs, names):
    text = outputs.show("-q", *(each for tap in TAPS for each in ("-z", tap)))
    for name in names:
        assert f"|{written(name) or '-':<10} |" in text, name  # smcr,links


def test_packet_list(outputs):
    assert "CLC Proposal" in outputs.show("-t", "a")


def test_exported_files(outputs, scratch):
    files = export(outputs.tshark, scratch, outputs.path, *outputs.passes)
    assert files == {"stream-0-client-to-server.bin": b"data"}


def test_window(outputs, names):
    """sharkd has what the window shows: details, tables, the flow graph, the objects."""
    kinds = (
        "seqa:smcr",
        "eo:smcr",
        "conv:SMC-R",
        "nstat:smcr,links",
        "nstat:smcr,connections",
        "srt:smcr",
        "stat:smcr",
        "expert",
    )
    answers = sharkd.ask(
        outputs.tshark, [sharkd.load(outputs.path), *(("tap", {"tap0": each}) for each in kinds)]
    )
    assert not unfit("".join(strings(answers)))
    links = next(
        each
        for answer in answers
        for each in answer.get("taps", ())
        if each["tap"] == "nstat:smcr,links"
    )
    assert {written(name) for name in names} <= {text.strip() for text in strings(links)}


def test_monitor(outputs, names):
    """It repeats what tshark says, below each message."""
    program = outputs.tshark.bed.root / "plugin" / "monitor"
    result = subprocess.run(
        [sys.executable, program, "-r", outputs.path, "-v", "-x", "clc", "llc", "errors"],
        capture_output=True,
        env=outputs.tshark.environment,
        check=True,
        **as_user(),
    )
    text = result.stdout.decode("utf-8")
    assert not unfit(text) and result.stderr == b""
    for name in names:
        assert text.count(written(name)) >= PLACES, name


READS_TEXT = re.compile(r"\btvb_(?:get_\w*string\w*|format_\w+)\(|\bENC_(?:ASCII|UTF_8)\b")


def test_texts_come_from_one_function():
    """Nothing else of the plugin makes text of bytes, and no layout shows a field of text as it
    is."""
    fields = re.findall(
        r"\bFIELD\((\w+),[^()]*\bTXT,",
        (TOP / "dissectors" / "fields.def").read_text(encoding="utf-8"),
    )
    as_it_is = re.compile(rf"\b(?:SHOW|KEEP)\w*\(hf_smcr_(?:{'|'.join(fields)})\b")
    sources = {
        path: path.read_text(encoding="utf-8") for path in (TOP / "dissectors").rglob("*.[ch]")
    }
    assert {"eid", "seid", "clc_hostname"} <= set(fields)
    assert not [
        (path, found[0])
        for path, text in sources.items()
        for rule in (READS_TEXT, as_it_is)
        for found in rule.finditer(text)
        if not found[0].startswith("KEEP_TEXT(")
    ]
