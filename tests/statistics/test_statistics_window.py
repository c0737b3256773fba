"""
What the window does: the same numbers as tshark's, for one file after the other, read again,
filtered or not; under sanitizers.
"""

import collections
import json
import re

import pytest
import printed_statistics as tables
import report_tables

# A link fails, an empty one, loss; then the first one again
NAMES = [
    "6.1-v1-h1-two-links-second-fails",
    "6.1-v1-f3-plain-tcp-server",
    "6.1-v1-n-lossy",
    "6.1-v2-q-forty-conns",
    "6.1-v1-h1-two-links-second-fails",
]
STRICT = {
    "ASAN_OPTIONS": "detect_leaks=1:fast_unwind_on_malloc=0",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
}


@pytest.fixture(scope="module")
def files(tshark):
    """The captures as the program reads them."""
    paths = {name: tshark.bed.scratch / f"window-{name}.pcap" for name in NAMES}
    for name, path in paths.items():
        tables.simple_copy(tshark.bed.capture(name), path).chmod(0o644)
    return [paths[name] for name in NAMES]


def counts(nodes):
    """{path: count}, of a tree that is printed once or twice."""
    passes, path = [], []
    for depth, name, count in nodes:
        if depth == 0:
            passes.append({})
        path[depth:] = [name]
        passes[-1][tuple(path)] = count
    return passes


@pytest.mark.parametrize("where", ["", "smcr.llc", "frame.number < 100 && smcr.stream == 0"])
def test_window_agrees_with_tshark(tshark, files, where):
    """In both passes; a file shows nothing of the one before."""
    for name, opened in zip(NAMES, tables.window(tshark, files, where), strict=True):
        shown = tables.tree(tshark, name, where)
        assert counts(opened.trees) == [shown or {("All",): 0}] * 2
        rows = collections.Counter(
            (tables.TABLES[row.filter], row.name, row.count)
            for row in tables.srt(tshark, name, where)
        )
        assert collections.Counter(row[:3] for row in opened.srt) == rows + rows


NO_CONNECTION = (
    "failed: Select a packet of a connection first. The selected packet belongs to none."
)


def pressed(findings, has_connection=True):
    """What the buttons do: the report of the connection of no packet, and of the first one; next,
    previous twice, go to the frame, before and after its filter that hides it, next, copy the
    filter, open the displayed packets, open the page, again without a browser, save twice, save
    the page, save both where no folder is, and where the user may not write."""
    count = len(findings)
    copied = ["copied smcr.finding == 1"] if findings else []
    chosen = [2, 1, count] if count > 1 else [count] * 3
    frame = f"frame {findings[-1]['frame']}" if findings else None
    there = [frame, f"smcr.finding == {len(findings)}", frame, "", frame] if findings else []
    return [
        NO_CONNECTION,
        "opened smcr.stream eq 0 || tcp.stream eq 0" if has_connection else NO_CONNECTION,
        *(str(number) for number in chosen),
        *there,
        str(min(count, 1)),
        *copied,
        "displayed",
        "opened page",
        "failed: No browser could be opened. The page is the file",
        "refused: File exists",
        "page saved",
        "refused: No such file or directory",
        "refused: No such file or directory",
        "refused: Permission denied",
        "refused: Permission denied",
        "saved text",
    ]


def without_filters(page):
    """The page as the window shows it: buttons apply and copy the filters of findings."""
    return re.sub(r"\n? +(?:-2 )?-Y '[^\n]*'(?=\n)", "", page)


def test_window_of_the_report_and_of_links(tshark, files):
    """
    Of one file after the other, in both passes what tshark prints at its end, with a mark at the
    chosen finding, to which the window scrolls; of links those of the frames selected, and where
    there is none, a row that says so.
    """
    where = "smcr.llc || frame.number > 400 || frame.number == 1"  # one of each at least
    for name, path, opened in zip(NAMES, files, tables.window(tshark, files, where), strict=True):
        pages = [
            without_filters(tshark.show(path, *options, "-q", "-z", "smcr,report")).splitlines()
            for options in ((), ("-2",))
        ]
        assert opened.report == [
            line.replace("  1. ", "> 1. ") for line in [*pages[0], "", *pages[1], ""]
        ], name
        assert opened.pressed == pressed(
            json.loads(tshark.show(path, "-2", "-q", "-z", "smcr,json"))["findings"]
        ), name
        printed = report_tables.printed(tshark.show(path, "-2", "-q", "-z", f"smcr,links,{where}"))[
            "links"
        ]
        nothing = [["none in these frames", *[""] * (len(opened.links[0]) - 1)]]
        assert opened.links == ([list(row.values()) for row in printed] or nothing), name


def test_window_of_captures_without_connections(tshark, scratch):
    """An empty file, and one without SMC-R: the report says so, and all buttons work."""
    source = tshark.bed.capture("6.1-v1-a-first-contact-ipv4")  # begins with ICMPv6
    whole, none = tables.simple_copy(source, scratch / "a.pcap"), []
    for name, frames in (("empty", "0"), ("other", "1")):
        path = scratch / f"{name}.pcap"
        tshark.bed.edit("-F", "nsecpcap", "-r", whole, path, frames)
        path.chmod(0o644)
        none.append(path)
    for path, opened in zip(none, tables.window(tshark, none, ""), strict=True):
        page = tshark.show(path, "-2", "-q", "-z", "smcr,report")
        assert opened.report[-len(page.splitlines()) - 1 :] == [*page.splitlines(), ""]
        assert re.search("No frames|No SMC-R", page) and len(page.splitlines()) < 10
        assert opened.pressed == pressed([], has_connection=False)


def test_window_under_sanitizers(tshark, files):
    """Nothing is read that is gone, and nothing of ours is left behind."""
    result = tables.start(tshark, files, build="sanitized", environment=STRICT)
    assert (
        "ERROR: AddressSanitizer" not in result.stderr and "runtime error" not in result.stderr
    ), result.stderr[-4000:]
    # plugin_if_apply_filter() and plugin_if_goto_frame() of Wireshark never give back what they
    # hand to the window, nor does stats_tree_reinit() what it had before.
    leaks = [
        block
        for block in result.stderr.split("\n\n")
        if " leak of " in block
        and "dissectors/" in block
        and not re.search(" in (plugin_if_|stats_tree_reinit)", block)
    ]
    assert not leaks, "\n\n".join(leaks)
    assert result.stdout.count("file\t") == len(NAMES)
