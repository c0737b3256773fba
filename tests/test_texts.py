"""
Words of what a person reads: texts of the program and documents have the phrases of
docs/contributing.md, "One idea, one phrase". tests/texts lists the texts of the program.
"""

import functools
import pathlib
import re
import subprocess

import pytest
from bed import TOP

# A word that is out, as a regular expression -> the phrase in its place.
OUT = {
    r"behind": "after",
    r"in front of": "before",
    r"tells?( of)?|told|telling": "reports, announces, names",
    r"lacks?|lacking": "has no, missing, not captured",
    r"absent": "missing",
    r"(?<!selective )(repeat(s|ed)|repeat)": "retransmission, retransmitted",
    r"sent (it )?again|sends? (it )?again|comes? again|(was|were) sent before": "retransmitted",
    r"for the fourth time": "third retransmission",
    r"anew": "again; name the action",
    r"(goes|go|went) on": "continues",
    r"(hands|handed|hand) on": "dissected in, dissected from",
    r"(takes|taken|took|take) in": "accepted, acknowledged, reassembled",
    r"left out|leaves out": "not captured, not analysed, skipped",
    r"missing at first|missing so far": "sequence gap",
    r"holes?": "sequence gap",
    r"has doubled|doubled the": "duplicate made by the network",
    r"unknown end|end unknown": "close not captured",
    r"without an end": "handshake outcome unknown",
    r"(lacks|has) (only )?(the|their) beginnings?": "starts mid-connection, truncated by snaplen",
    r"the capture does not (show|tell)|far as the capture": "not captured, not known",
    r"cut short|(is|are|was|were) cut|cuts? off": "truncated by snaplen",
    r"(fall|fell|falls) silent": "stops sending",
    r"stops? speaking|speaks?|spoke": "sends",
    r"nothing (comes|came) back": "no packet from",
    r"(an|for an) unknown cause": "cause unknown",
    r"little at a time": "many small writes",
    r"slowest message": "worst message latency",
    r"unknown release": "2.0 or 2.1",
    r"gives? up|gave (it )?up": "closes",
    r"in vain": "without an acknowledgement",
    r"nobody|whoever|whatever": "name the subject",
    r"so (long|many|often)": "name the figure",
    r"as when": "name the cause",
    r"looked at": "analysed",
    r"asks? for|asked for|asking for": "requests",
    r"is not believed": "is ignored",
    r"says?|said": "reports, has",
    r"by now": "now",
}
# Words that a document may have: there "the page says" is a plain sentence, for example.
OF_DOCUMENTS = (
    r"says?|said",
    r"asks? for|asked for|asking for",
    r"so (long|many|often)",
    r"the capture does not (show|tell)|far as the capture",
)
# The glossary names the words that are out; the changelog is history; rules are those of the RFC.
OTHER_DOCUMENTS = ("contributing.md", "changelog.md", "rfc7609.md")
WORDS = {re.compile(rf"(?<![\w.])(?:{word})(?![\w.]?\w)", re.IGNORECASE): word for word in OUT}


@functools.cache
def listed():
    """{(file, text): line}, of tests/texts."""
    lines = subprocess.check_output([TOP / "tests" / "texts"], text=True).splitlines()
    rows = [re.fullmatch(r"(.*?):(\d+): (.*)", line).groups() for line in lines]
    return {(pathlib.Path(path).name, text): line for path, line, text in rows}


def prose():
    """(document, line, text) of the documents, without commands, code, links and quoted texts."""
    for path in (TOP / "README.md", *sorted((TOP / "docs").glob("*.md"))):
        if path.name in OTHER_DOCUMENTS:
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
            if not line.startswith("    "):
                line = re.sub(r"`[^`]*`|\]\([^)]*\)|\"[^\"]*\"|\S*-\S*-\S*", "", line)
                yield path.name, number, line


def faults(text):
    return [f"{word} -> {OUT[word]}" for pattern, word in WORDS.items() if pattern.search(text)]


def test_texts_have_the_words_of_the_glossary():
    found = [
        f"{name}:{line}: {text}: {fault}"
        for (name, text), line in listed().items()
        for fault in faults(text)
    ]
    assert not found, "\n".join(found)


def test_documents_have_the_words_of_the_glossary():
    found = [
        f"{name}:{line}: {text}: {fault}"
        for name, line, text in prose()
        for fault in faults(text)
        if fault.split(" -> ")[0] not in OF_DOCUMENTS
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "name, text",
    [
        ("fields.def", "Frame in which a host reports the connection's socket (Linux, smc_diag)"),
        ("experts.def", "The link is lost"),
        ("on_links.c", "; no redundancy since frame %N"),
        ("place", "tshark does not print its plugin folder (tshark -G folders)"),
        ("capture.1", "Make none."),
        ("dfilter_buttons", "RDMA WRITEs"),
        ("io_graphs", "Timeout packets"),
        ("dfilters", "SMC-R: failover"),
        ("monitor", "-i and -r do not go together"),
    ],
)
def test_the_list_has_every_kind_of_text(name, text):
    """A literal in parts, a table, a script, a manual, the profile."""
    assert (name, text) in listed()


@pytest.mark.parametrize(
    "text, word",
    [
        ("The capture lacks the beginning", "lacks?|lacking"),
        ("what 10.0.0.1 told in frame 3", "tells?( of)?|told|telling"),
        ("Nothing came back from 10.0.0.1", "nothing (comes|came) back"),
        ("for an unknown cause", "(an|for an) unknown cause"),
    ],
)
def test_a_word_that_is_out_is_found(text, word):
    assert any(each.startswith(word) for each in faults(text))


@pytest.mark.parametrize("text", ["smcr.told", "told_in", "Black", "Family", "no more data"])
def test_names_are_no_words(text):
    assert not faults(text)
