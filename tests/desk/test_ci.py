"""
docs/json.md: docs/examples/smcr-check passes what is as expected, finds what is not, and says so
where it cannot tell; whoever runs it.
"""

import re
import subprocess

import examples
import pytest
from bed import TOP, TIME_LIMIT, as_user

GUIDE = TOP / "docs" / "json.md"
FIRST_CONTACT = "6.1-v2-a-first-contact-ipv4"
FEW = "6.1-v2-c-three-conns"
MESSAGES = "docs/examples/smcr-check messages"


def check(tshark, *arguments, **environment):
    """(exit status, what it printed, what it said on stderr)"""
    result = subprocess.run(
        [tshark.bed.root / "docs" / "examples" / "smcr-check", *map(str, arguments)],
        capture_output=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
        timeout=TIME_LIMIT,
        env={**tshark.environment, "TMPDIR": "/tmp", **environment},
        **as_user(),
    )
    return result.returncode, result.stdout, result.stderr


def printed(tshark, kind, name, **environment):
    status, text, said = check(tshark, kind, tshark.bed.capture(name), **environment)
    assert (status, said) == (0, "")
    return text


def written_below(command):
    """What docs/json.md has below a command."""
    text = GUIDE.read_text(encoding="utf-8").split(f"{examples.PROMPT}{command}")[1]
    block = text.split("\n", 1)[1].split("\n\n")[0]
    return re.sub(r"^ {4}", "", block, flags=re.MULTILINE) + "\n"


@pytest.fixture
def golden(tshark, scratch):
    """A function that makes the golden of a capture."""

    def make(kind, name):
        path = scratch / f"{kind}.golden"
        path.write_text(printed(tshark, kind, name), encoding="utf-8")
        return path

    return make


# ---- lines ----


def test_lines_pass_and_fail(tshark, scratch):
    """Healthy ones, those of a fallback, a filter, those of a file that was not read to its end."""
    path = scratch / "lines.ndjson"
    asked = ("-q", "-z", "smcr,lines")
    for name, status in (("6.1-v2-c-three-conns", 0), ("6.1-v2-f1-decline-server-no-device", 1)):
        text = tshark.show(name, *asked)
        path.write_text(text, encoding="utf-8")
        assert check(tshark, "lines", path) == (status, "", "")
    reason = 'any(.connection.fallback.reason | . and contains("no RDMA device"))'
    assert check(tshark, "lines", path, reason)[0] == 0
    path.write_text("".join(tshark.show(FEW, *asked).splitlines(True)[:-1]), encoding="utf-8")
    assert check(tshark, "lines", path)[0] == 1
    path.write_text('{"schema"', encoding="utf-8")
    assert check(tshark, "lines", path)[0] == 2


# ---- a stored capture ----


def test_details_pass_and_fail(tshark, golden):
    path, capture = golden("details", FIRST_CONTACT), tshark.bed.capture(FIRST_CONTACT)
    assert check(tshark, "details", capture, path) == (0, "", "")

    text = path.read_text(encoding="utf-8")
    assert not re.search(r"^(Frame|Ethernet|Internet|Data) ", text, re.MULTILINE)
    path.write_text(text.replace("EID: LAB-EID", "EID: OTHER-EID", 1), encoding="utf-8")
    status, differences, said = check(tshark, "details", capture, path)
    assert (status, said) == (1, "")
    assert re.findall(r"^([-+]) +(.*)", differences, re.MULTILINE) == [
        ("-", "EID: OTHER-EID"),
        ("+", "EID: LAB-EID"),
    ]


def test_nobodys_settings_count(tshark, scratch):
    """Those of the user, the time zone and the language change what tshark prints, but not the
    check."""
    config = scratch / ".config" / "wireshark"
    config.mkdir(parents=True)
    (config / "preferences").write_text("smcr.strict: TRUE\n")
    (config / "disabled_protos").write_text("smcr\n")
    theirs = {
        "HOME": str(scratch),
        "WIRESHARK_CONFIG_DIR": str(config),
        "TZ": "Asia/Tokyo",
        "LC_ALL": "C",
    }
    name = "6.1-v2-j-http11"
    ours = tshark.start("-r", tshark.bed.capture(name), "-V", "-O", "smcr").stdout
    tshark.environment, kept = {**tshark.environment, **theirs}, tshark.environment
    try:
        assert tshark.start("-r", tshark.bed.capture(name), "-V", "-O", "smcr").stdout != ours
    finally:
        tshark.environment = kept
    for kind in ("details", "messages"):
        assert printed(tshark, kind, name, **theirs) == printed(tshark, kind, name)


# ---- what must hold ----


@pytest.mark.parametrize(
    "name, status",
    [
        (FIRST_CONTACT, 0),
        ("6.1-v2-c-three-conns", 0),
        ("6.1-v2-f1-decline-server-no-device", 1),  # fell back
        ("6.1-v2-g1-server-killed", 1),  # unread data
        ("rule-cdc-window", 1),  # a broken rule
        ("peer-window", 1),  # what is not known is not well
        ("quiet-tcp", 1),  # no SMC-R at all
    ],
)
def test_report(tshark, name, status):
    got, page, said = check(tshark, "report", tshark.bed.capture(name))
    assert (got, said) == (status, "")
    assert bool(page) == bool(status)


@pytest.mark.parametrize(
    "what", re.findall(r"smcr-check report run.pcapng '(.+?)'", GUIDE.read_text(encoding="utf-8"))
)
def test_report_takes_the_filters_of_the_guide(tshark, what):
    """All hold of three good connections, and none of one with losses, or of one that was never set
    up."""
    assert check(tshark, "report", tshark.bed.capture("6.1-v2-c-three-conns"), what) == (0, "", "")
    name = "6.1-v2-f1-decline-server-no-device" if "setup_s" in what else "6.1-v2-n-lossy"
    status, page, _ = check(tshark, "report", tshark.bed.capture(name), what)
    assert status == 1 and "Connections" in page


# ---- a new capture ----


def test_guide_shows_the_messages(tshark):
    """In any version of Wireshark."""
    assert printed(tshark, "messages", FIRST_CONTACT) == written_below(
        f"{MESSAGES} captures/real/{FIRST_CONTACT}"
    )


@pytest.mark.parametrize(
    "name, status",
    [
        ("6.1-v2-a2-same-qpn", 0),
        ("6.1-v2-a3-server-speaks-first", 0),
        ("6.12-v2-a-first-contact-ipv4", 0),
        ("6.1-v1-a-first-contact-ipv4", 1),
        ("6.1-v2-f1-decline-server-no-device", 1),
        ("6.1-v2-c-three-conns", 1),
    ],
)
def test_messages_of_other_runs(tshark, golden, name, status):
    """Other runs of a program have the same messages, other programs have not."""
    got, differences, said = check(
        tshark, "messages", tshark.bed.capture(name), golden("messages", FIRST_CONTACT)
    )
    assert (got, said) == (status, "")
    assert bool(differences) == bool(status)


def test_runs_differ_in_what_is_left_out(tshark):
    """Else there is nothing to leave out."""
    chosen = ["smcr.clc.qpn", "smcr.rkey"]
    one, other = (
        tshark.fields(name, *chosen, where="smcr.clc.type == 2")
        for name in (FIRST_CONTACT, "6.12-v2-a-first-contact-ipv4")
    )
    assert one != other


# ---- where it cannot tell ----


def test_without_plugin(tshark_without):
    status, text, said = check(tshark_without, "report", tshark_without.bed.capture(FIRST_CONTACT))
    assert (status, text) == (2, "") and "no SMC-R plugin" in said


@pytest.mark.parametrize("kind", ["details", "report", "messages"])
def test_capture_that_was_cut(tshark, scratch, golden, kind):
    cut = scratch / "cut.pcapng"
    cut.write_bytes(tshark.bed.capture(FIRST_CONTACT).read_bytes()[:-100])
    more = () if kind == "report" else (golden(kind, FIRST_CONTACT),)
    status, text, said = check(tshark, kind, cut, *more)
    assert (status, text) == (2, "") and "cannot read" in said


@pytest.mark.parametrize(
    "arguments, words",
    [
        ((), "what to check"),
        (("details", "no-such-capture"), "cannot read"),
        (("details", None, "no-such-golden"), "there is no no-such-golden"),
        (("report", None, ".connections | nonsense"), "does not take the filter"),
        (("frobnicate", None), "there is no check frobnicate"),
    ],
)
def test_wrong_arguments(tshark, arguments, words):
    status, text, said = check(
        tshark, *(tshark.bed.capture(FIRST_CONTACT) if each is None else each for each in arguments)
    )
    assert (status, text) == (2, "") and words in said
