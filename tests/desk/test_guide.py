"""
docs/guide.md leads from a capture to the cause: the report's first finding is the one that the
guide shows, its filter finds the frame that the guide names, and every picture is there.
"""

import json
import re
import struct

import pytest
from bed import TOP

GUIDE = (TOP / "docs" / "guide.md").read_text(encoding="utf-8")
PICTURES = TOP / "docs" / "pictures"
LARGEST = 150000  # bytes of a picture

# Of each problem: capture, kind of the first finding, its frame, and how many frames its filter
# finds.
PROBLEMS = {
    "1. It fell back to TCP": ("6.1-v2-f1-decline-server-no-device", "fallback", 6, 1),
    "2. Slow because of the reader": ("6.1-v2-d-bulk-slow-reader", "slow_reader", 244, 173),
    "3. Slow because of loss": ("6.1-v2-n-lossy", "loss", 820, 470),
    "4. Stalled after a failover": ("6.1-v2-h1-two-links-second-fails", "link_lost", 240, 3),
    "5. Reset": ("6.1-v2-g1-server-killed", "abort", 49, 2),
    "6. The handshake never finishes": (
        "6.1-v2-f6-decline-confirm-link-timeout",
        "fallback",
        10,
        1,
    ),
    "7. The peer stopped answering": ("7.2-v2-g5-device-removed", "reset", 53, 2),
}


def sections():
    """{title: text} of the guide."""
    parts = re.split(r"^## (.+)\n", GUIDE, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def made_pictures():
    """{name: capture} of docs/pictures/make; of the list of interfaces there is none."""
    script = (PICTURES / "make").read_text(encoding="utf-8")
    rows = re.search(r'^pictures="\n(.*?)^"', script, re.DOTALL | re.MULTILINE)[1].splitlines()
    return {row.split()[0]: "".join(row.split()[3:4]) for row in rows}


def first_finding(tshark, capture, *options):
    text = tshark.show(capture, "-q", *options, "-z", "smcr,json")
    return json.loads(text)["findings"][0]


def test_each_problem_has_a_section():
    assert [title for title in sections() if title[0].isdigit()] == list(PROBLEMS)
    for title in PROBLEMS:
        assert f"(#{re.sub(r'[^a-z0-9 ]', '', title.lower()).replace(' ', '-')})" in GUIDE


@pytest.mark.parametrize("options", [[], ["-2"]], ids=["one-pass", "two-passes"])
@pytest.mark.parametrize("title", PROBLEMS)
def test_first_finding_leads_there(tshark, title, options):
    """Of either pass: what the report says first is this problem, and the filter of the JSON finds
    the frame that it names."""
    capture, kind, frame, count = PROBLEMS[title]
    finding = first_finding(tshark, capture, *options)
    assert (finding["kind"], finding["frame"]) == (kind, frame)
    found = tshark.show(
        capture, *options, "-Y", finding["filter"], "-T", "fields", "-e", "frame.number"
    ).split()
    assert (len(found), str(frame) in found) == (count, True)


@pytest.mark.parametrize("title", PROBLEMS)
def test_section_shows_finding_filter_and_picture(tshark, title):
    """The report's line, the filter as it stands in the report, its frame, and a picture of the
    same capture."""
    capture, _, frame, _ = PROBLEMS[title]
    text = sections()[title]
    assert f"captures/real/{capture}.pcapng -z smcr,report" in text
    assert f"frame {frame}, " in text and "-Y 'smcr.finding == 1'" in text
    assert re.search(rf"\b(?:frames?|NAK in frame|In frame|Frame) {frame}\b", text)
    pictures = re.findall(r"\]\(pictures/([a-z-]+)\.png\)", text)
    assert [made_pictures()[name] for name in pictures] == [capture]


def test_frames_of_the_guide_exist(tshark):
    """No frame is named that its capture does not have."""
    for title, (capture, *_) in PROBLEMS.items():
        last = int(tshark.show(capture, "-T", "fields", "-e", "frame.number").split()[-1])
        named = [int(number) for number in re.findall(r"\b[Ff]rames? (\d+)", sections()[title])]
        assert (title, [number for number in named if not 0 < number <= last]) == (title, [])


# ---- pictures ----


def test_pictures_are_those_that_are_made():
    assert {path.stem for path in PICTURES.glob("*.png")} == set(made_pictures())


def test_every_picture_is_shown():
    pages = [TOP / "README.md", *(TOP / "docs").glob("*.md")]
    shown = {
        name
        for page in pages
        for name in re.findall(
            r"\]\((?:docs/)?pictures/([a-z-]+)\.png\)", page.read_text(encoding="utf-8")
        )
    }
    assert shown == set(made_pictures())


@pytest.mark.parametrize("path", sorted(PICTURES.glob("*.png")), ids=lambda path: path.stem)
def test_picture_is_a_small_png(path):
    data = path.read_bytes()
    width, height = struct.unpack(">II", data[16:24])
    assert (
        data.startswith(b"\x89PNG\r\n\x1a\n")
        and data[12:16] == b"IHDR"
        and data.endswith(b"IEND\xaeB`\x82")
    )
    assert 600 <= width <= 1600 and 200 <= height <= 1000 and len(data) <= LARGEST
