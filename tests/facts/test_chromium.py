"""
Pages in Chromium: without a complaint, each number is that of the JSON, whatever hosts call
themselves; and mouse and keys do what docs/page.md says.
"""

import json
import re
from decimal import Decimal

import chromium
import pytest
import test_points
from bed import ALL as EVERYTHING
from bed import FOLDERS, PACKED, TOP, captures
from report_runs import ALL_TWO, TWO, parse, print_json
from test_peer_texts import NAMES

pytestmark = pytest.mark.skipif(chromium.PROGRAM is None, reason="Chromium is not installed")

CAPTURES = captures(*FOLDERS, *PACKED, "applications", "causes", "late", "stories")
SAMPLE = (
    "6.1-v1-n-lossy",
    "6.1-v2-h1-two-links-second-fails",
    "6.1-v1-f3-plain-tcp-server",
    "6.1-v2-q-forty-conns",
    "cm-loss.pcapng",
    "s11-pool-kill-late.pcapng",
    "rule-clc-rmb",
    "memcached-thinned.pcapng",
)

# Opens all that is folded, and returns what the page shows: cells of tables as (path, value, text),
# leaves of "All figures" as (name, text), findings.
SHOWN = """(async () => {
    const pause = () => new Promise(done => setTimeout(done, 0));
    const folded = document.getElementsByTagName("details");
    for (let before = -1; before !== folded.length;) {
        before = folded.length;
        [...folded].forEach(each => each.open = true);
        for (let turn = 0; turn < 3; turn++)
            await pause(); // the page fills what has been opened
    }
    [...document.querySelectorAll("button")]
        .filter(each => each.textContent.startsWith("Show all ") && !each.hidden)
        .forEach(each => each.click());
    const cell = td => [td.dataset.path, JSON.parse(td.dataset.value), td.textContent];
    const rows = table => [...table.tBodies[0].rows].map(row => [...row.cells].map(cell));
    const leaves = list => [...list.querySelectorAll("dd")]
        .filter(each => !each.querySelector("dl"))
        .map(each => [each.previousSibling.textContent, each.textContent]);
    return {
        tables: [...document.querySelectorAll("table[data-list]")]
            .map(each => [each.dataset.list, rows(each)]),
        figures: [...document.querySelectorAll("details > dl.figures")].map(leaves),
        waits: [...document.querySelectorAll("p.waits")]
            .map(each => [Number(each.dataset.stream), each.dataset.way, each.textContent]),
        findings: [...document.querySelectorAll(".findings > li")].map(each => each.textContent),
        elements: [...document.querySelectorAll("*")].map(each => each.tagName).join(" "),
        width: document.documentElement.scrollWidth,
    };
})()"""


@pytest.fixture(scope="module")
def window():
    with chromium.window() as opened:
        yield opened


def page_and_report(tshark, name):
    """The page as text, and the JSON."""
    path = CAPTURES[name]
    run = ALL_TWO if path.parent.name in PACKED else TWO
    copy = tshark.bed.root / path.relative_to(TOP)
    page = print_json(tshark, copy, run, tap="smcr,html").decode()
    return page, parse(print_json(tshark, copy, run))


def show(window, path, page):
    """What Chromium shows of the page, which it does not complain about."""
    path.write_text(page, encoding="utf-8")
    complaints = window.open(path)
    assert complaints == []
    shown = window.run(SHOWN)
    assert window.complaints == [] and shown["width"] <= chromium.WIDTH
    return shown


def block(page, name):
    return json.loads(
        page.split(f'<script type="application/json" id="{name}">')[1].split("</script>")[0]
    )


# ---- numbers ----

UNITS = {"s": 1, "ms": 1e-3, "µs": 1e-6}


def value_of(text):
    """What somebody reads: a number, seconds, or the text."""
    found = re.fullmatch(r"(-?[\d.e-]+) (s|ms|µs)", text)
    if found:
        return float(found[1]) * UNITS[found[2]]
    return float(text.replace(",", "")) if re.fullmatch(r"-?\d[\d,]*", text) else text


def says(value, text):
    """Does the text of a cell say the value?"""
    if value is None:
        return text == "–"
    if isinstance(value, (int, float)) and re.search("≥|≤| to |^[?]$", text):  # a lower bound
        least = value_of(text.removeprefix("≥ ").split(" to ")[0])
        return not value or abs(least - value) <= abs(value) * 5e-4
    if isinstance(value, bool):
        return text == ("yes" if value else "no")
    if isinstance(value, str):
        return text == value
    if isinstance(value, list) and value and isinstance(value[0], dict):  # links
        return text == ", ".join(str(each["number"] or "?") for each in value)
    if text.startswith("0x"):
        return int(text, 16) == value
    if isinstance(value, list) and len(set(value)) == 1 and isinstance(value[0], float):
        return says(value[0], text)  # both bounds are one time
    if isinstance(value, list):
        bounds = re.search("≥|≤| to ", text) or text == "?" and value[0] == 0
        return bounds or text == ", ".join(map(str, value))
    read = value_of(text)
    return isinstance(read, float) and abs(read - value) <= max(abs(value) * 5e-4, 1e-10)


def at(entry, path):
    for name in path.split("."):
        entry = entry[name] if entry is not None and name in entry else None
    return entry


def lists_of(report):
    """The lists of the JSON from which the page has tables."""
    return {
        **{name: value for name, value in report.items() if isinstance(value, list)},
        "links": [
            {"group": group["index"], **link}
            for group in report["link_groups"]
            for link in group["links"]
        ],
        "recovery": [flow for flow in report["rdma_flows"] if flow["recovery"]],
        "other_roce": [report["other_roce"]],
    }


def says_setup(entry, text):
    """Does the text say the bounds of a time of setup that is not known?"""
    least, most = (entry["setup"][name] for name in ("least_s", "most_s"))
    if entry["fallback"] or least is most is None:
        return text == "–"
    bounds = text.removeprefix("≥ ").removeprefix("≤ ").split(" to ")
    expected = [least, most] if len(bounds) == 2 else [most if text[0] == "≤" else least]
    return all(abs(value_of(one) - other) <= other * 5e-4 for one, other in zip(bounds, expected))


def says_part(entry, path, text):
    """Does the text say the bounds of a part of the time, or "?" if they exclude nothing?"""
    direction, _, name = path.split(".")
    time = entry[direction]["time"]
    least, most = time[name], time[name.replace("_s", "_most_s")]
    width = round(most - least, 9)
    if width < 1e-3 or width <= least / 100:
        return says(least, text) and not re.search("≥|≤| to ", text)
    if least:
        return says(least, text)
    whole = Decimal(entry["last_time"]) - Decimal(entry["first_time"])
    if round(Decimal(width), 9) >= whole:
        return text == "?"
    return abs(value_of(text.removeprefix("≤ ")) - most) < 1e-3


def seconds_of(moment, report):
    """A time of the JSON as the page counts it: from the first frame."""
    return float(Decimal(moment) - Decimal(report["capture"]["first_time"]))


PARTS = ("time.buffer_full_s", "time.retransmission_s")
WAITED = re.compile("(.+?) (for .*)")
WAITS = {
    "for space in the reader's buffer": "buffer_full_s",
    "for retransmissions": "retransmission_s",
    "for the server's answers": "answer_s",
    "for the client's next requests": "answer_s",
    "for data of its peer": "answer_s",
}


def check_waits(shown, report):
    """How long each writer of a connection with pictures waited in all, and for whom. Returns how
    many waits there are."""
    entries = {
        number: each
        for each in reversed(report["connections"])
        for number in (each["stream"], each["roce_stream"])
    }
    for number, way, line in shown["waits"]:
        waits, *unknown = line.rstrip(".").split(" waited ")[1].split("; what happened in ")
        waits = re.sub(" [(]of it .*?[)]", "", waits).split(", ")
        said = {WAITS[each[2]]: each[1] for each in map(WAITED.fullmatch, waits)}
        for name in set(WAITS.values()):
            path, least = f"{way}.time.{name}", entries[number][way]["time"][name]
            assert name in said or not least, (number, path)
            assert name not in said or says_part(entries[number], path, said[name]), (path, line)
        least = entries[number][way]["time"]["unknown_s"]
        assert says(least, unknown[0].split(" is ")[0]) if unknown else least < 1e-3, line
        reader = re.search("[(]of it (.*) for the reader's program[)]", line)
        least = entries[number][way]["time"]["reader_s"]
        assert says(least, reader[1]) if reader else not least, (number, way, line)
    return len(shown["waits"])


def check_cells(shown, page, report):
    """Returns how many cells there are."""
    lists, count = lists_of(report), 0
    others = {table["name"]: table for table in block(page, "tables")["tables"]}
    for name, rows in shown["tables"]:
        for index, row in enumerate(rows):
            if name in others:
                columns = [column for _, column in others[name]["columns"]]
                entry = dict(zip(columns, others[name]["rows"][index], strict=True))
                expected = {path: entry[path] for path, _, _ in row}
            else:
                expected = {path: at(lists[name][index], path) for path, _, _ in row}
            for path, value, text in row:
                assert value == expected[path], (name, index, path)
                is_time = re.search(r"[._]time$", path) and value is not None
                shown_value = seconds_of(value, report) if is_time else value
                if path == "setup_s" and value is None:
                    assert says_setup(lists[name][index], text), (index, text)
                    continue
                if path.endswith(PARTS) and value is not None:
                    assert says_part(lists[name][index], path, text), (index, path, text)
                assert says(shown_value, text), (name, index, path, text)
            count += len(row)
        if name == "connections":
            assert len(rows) == len(report["connections"])
    return count


def leaves(value, name):
    """(name of the member, text) of all that is no object and no list, as the page writes it."""
    if isinstance(value, (dict, list)) and value:
        entries = value.items() if isinstance(value, dict) else enumerate(value)
        return [leaf for key, each in entries for leaf in leaves(each, str(key))]
    if isinstance(value, (dict, list)):
        return [(name, "none")]
    return [(name, "?" if value is None else value)]


def check_figures(shown, report):
    """Each block "All figures" is an entry of the page's report, or a list of it; test_page.py
    compares that with the JSON."""
    whole = [
        *(entry for name in ("connections", "rdma_flows") for entry in report[name]),
        *(value for value in report.values() if isinstance(value, list)),
    ]
    expected = {json.dumps(list(map(names, leaves(each, "")))) for each in whole}
    for found in shown["figures"]:
        assert json.dumps(list(map(names, found))) in expected


def names(leaf):
    """A number may be written in another way: compare its value."""
    name, value = leaf
    if isinstance(value, str) and re.fullmatch(r"-?\d+(\.\d+)?(e-?\d+)?", value):
        value = float(value)
    if isinstance(value, bool) or value in ("true", "false"):
        return name, str(value).lower()
    return name, float(value) if isinstance(value, (int, float)) else value


def test_pages_show_the_json(tshark, window, scratch):
    cells = waits = 0
    for name in CAPTURES if EVERYTHING else SAMPLE:
        page, report = page_and_report(tshark, name)
        shown = show(window, scratch / "page.html", page)
        cells += check_cells(shown, page, report)
        waits += check_waits(shown, report)
        check_figures(shown, block(page, "report"))
        for finding, text in zip(report["findings"], shown["findings"], strict=True):
            assert finding["text"] in text and str(finding["frame"] or "") in text, name
        assert not report["connections"] or any(
            path == "first_time" and text != "–"
            for table, rows in shown["tables"]
            for row in rows
            for path, _, text in row
        ), name
    assert cells > 1000 and waits > 20


# ---- hostile names ----

TAGS = ("<img src=x onerror=alert(1)>", "</script><script>alert(1)</script>", "`${alert(1)}`")


def with_name(value, name):
    """The JSON with the name in the place of all its texts but times and words that the page's
    script knows."""
    if isinstance(value, dict):
        kept = {"state", "severity", "first_time", "last_time", "begin_time", "end_time", "name"}
        return {
            key: each if key in kept or key == "columns" else with_name(each, name)
            for key, each in value.items()
        }
    if isinstance(value, list):
        return [with_name(each, name) for each in value]
    is_time = isinstance(value, str) and re.fullmatch(r"\d+\.\d{9}", value)
    return name if isinstance(value, str) and not is_time else value


def with_names(page, name):
    """The page with the name in every text of its blocks."""
    for each in ("report", "rows", "tables"):
        head, rest = page.split(f'<script type="application/json" id="{each}">')
        text, rest = rest.split("</script>", 1)
        text = json.dumps(with_name(json.loads(text), name)).replace("<", "\\u003c")
        page = f'{head}<script type="application/json" id="{each}">{text}</script>{rest}'
    return page


def test_names_are_text_only(tshark, window, scratch):
    """Whatever stands in the place of a text, the page has the same elements."""
    page, _ = page_and_report(tshark, "6.1-v2-c-three-conns")
    plain = show(window, scratch / "page.html", with_names(page, "name"))["elements"]
    names = [each.decode("latin-1") for each in NAMES.values()]
    for name in [*(names if EVERYTHING else names[::4]), *TAGS]:
        assert show(window, scratch / "page.html", with_names(page, name))["elements"] == plain


# ---- mouse and keys ----

A4 = 1032, 703  # the part of a landscape sheet inside the margins, pixels of CSS
TIME = "document.documentElement.dataset.time.split(' ').map(Number)"
PLACE = """(() => {
    const {left, top, width, height} = document.querySelector(".u-over").getBoundingClientRect();
    return [left, top, width, height];
})()"""
READOUT = "document.querySelector('.readout').textContent"
# The clipboard takes its time.
COPIED = """new Promise(done => {
    const look = () => {
        const text = document.getElementById("copied").textContent;
        if (text)
            done(text);
        else
            setTimeout(look, 10);
    };
    look();
})"""


def at_a_moment(page):
    """The page, with a first finding that does not last."""
    report, head = block(page, "report"), '<script type="application/json" id="report">'
    report["findings"][0] |= {"begin_frame": None, "begin_time": None}
    begin, rest = page.split(head)
    return f"{begin}{head}{json.dumps(report)}{rest[rest.index('</script>') :]}"


def test_mouse_and_keys(tshark, window, scratch):
    page, report = page_and_report(tshark, "6.1-v1-n-lossy")
    show(window, scratch / "page.html", at_a_moment(page))
    window.press("0")
    whole = window.run(TIME)
    window.press("+")
    near = window.run(TIME)
    assert whole[0] < near[0] < near[1] < whole[1]
    window.press("ArrowRight")
    assert window.run(TIME)[0] > near[0]
    window.press("-")
    window.press("0")
    assert window.run(TIME) == whole
    dark = "document.documentElement.className"
    before = window.run(dark)
    window.press("t")
    assert window.run(dark) != before

    window.run("document.querySelector('.u-over').scrollIntoView()")
    left, top, width, height = window.run(PLACE)
    drag(window, left + width / 4, left + width / 2, top + height / 2)
    chosen = window.run(TIME)
    for end, part in zip(chosen, (1 / 4, 1 / 2), strict=True):
        assert abs(end - (whole[0] + part * (whole[1] - whole[0]))) < (whole[1] - whole[0]) / 100
    drag(window, left + width / 4, left + width / 2, top + height / 2, modifiers=8)
    moved = window.run(TIME)
    assert moved[0] < chosen[0] and abs((moved[1] - moved[0]) / (chosen[1] - chosen[0]) - 1) < 0.01

    when = report["findings"][0]
    seconds = seconds_of(when["time"], report)
    window.run("document.querySelector('.findings [title^=Show]').click()")
    shown = window.run(TIME)
    assert shown[0] < seconds < shown[1] and shown[1] - shown[0] < (whole[1] - whole[0]) / 90
    cursor = float(re.match(r"at ([\d.]+) (s|ms)", window.run(READOUT))[1])
    assert abs(cursor - seconds) < 1e-3

    window.press("0")
    window.run("document.querySelector('.picture').focus()")
    window.press(".")
    window.press(".")
    window.press("Enter")
    frame = int(re.fullmatch(r"Copied: frame\.number == (\d+)", window.run(COPIED))[1])
    assert 1 <= frame <= report["capture"]["frames"]
    window.press(",")
    window.press("Enter")
    assert int(window.run(COPIED).rsplit(" ", 1)[1]) <= frame
    with window.paper(*A4):
        assert window.run("document.documentElement.scrollWidth") <= A4[0]
        assert window.run("document.querySelector('canvas').offsetWidth") > A4[0] * 0.9
    assert window.complaints == []
    check_wait(tshark, window, scratch)


CLOSE = "[...%s.querySelectorAll('p')].map(each => each.textContent).join('|')"


def check_wait(tshark, window, scratch):
    """The button of a finding about a wait shows all of the wait, and opens the connection's
    pictures."""
    page, report = page_and_report(tshark, "6.1-v1-d-bulk-slow-reader")
    show(window, scratch / "page.html", page)
    window.run("document.querySelectorAll('details').forEach(each => each.open = false)")
    frame, (entry,) = report["findings"][0]["frame"], report["connections"]
    wait = next(each for each in entry["longest_waits"] if each["begin_frame"] == frame)
    begin, end = (seconds_of(wait[name], report) for name in ("begin_time", "end_time"))
    window.run("document.querySelector('.findings [title^=Show]').click()")
    shown = window.run(TIME)
    assert shown[0] < begin < end < shown[1] and shown[1] - shown[0] < 2 * (end - begin)
    box = f"document.querySelector('#connection-{entry['stream']}')"
    assert window.run(f"{box}.open")
    close = re.search(r"Closed first by the (\w+), at [^|]* frame (\d+)", window.run(CLOSE % box))
    assert close.groups() == (entry["end"]["by"], str(entry["end"]["frame"]))


# What a user can choose: elements that Tab has not reached, since REACHED ran.
REACHED = """(() => {
    window.reached = new Set();
    document.addEventListener("focusin", event => reached.add(event.target));
})()"""
NOT_REACHED = """[...document.querySelectorAll("a[href], button, input, summary, [tabindex]")]
    .filter(each => each.tabIndex >= 0 && each.checkVisibility() && !reached.has(each))
    .map(each => each.outerHTML)"""


def test_keys_reach_everything(tshark, window, scratch):
    """Tab goes through all that a mouse can choose. The bars begin with the connection's setup."""
    page, _ = page_and_report(tshark, "6.1-v2-h1-two-links-second-fails")
    (scratch / "page.html").write_text(page, encoding="utf-8")
    assert window.open(scratch / "page.html") == []
    window.run(REACHED)
    left = window.run(NOT_REACHED)
    for _ in left:
        window.press("Tab")
    assert len(left) > 100 and window.run(NOT_REACHED) == []
    first, _ = window.run(f"({LANES})('connections')")["client writes"][0]
    assert first == "setup of the connection 156.9 ms (from frame 2)"
    assert window.complaints == []


def drag(window, begin, end, height, **parameters):
    window.mouse("mouseMoved", begin, height, **parameters)
    window.mouse("mousePressed", begin, height, **parameters)
    window.mouse("mouseMoved", (begin + end) / 2, height, **parameters)
    window.mouse("mouseMoved", end, height, **parameters)
    window.mouse("mouseReleased", end, height, **parameters)


# ---- which time the pictures show ----


def merged(tshark, scratch, minutes=5):
    """A capture, and another one that begins minutes later."""
    first = tshark.bed.root / CAPTURES["6.1-v2-d-bulk-slow-reader"].relative_to(TOP)
    second = tshark.bed.root / CAPTURES["6.1-v1-n-lossy"].relative_to(TOP)
    later, path = scratch / "later.pcapng", scratch / "merged.pcapng"
    tshark.bed.edit("-t", str(60 * minutes), second, later)
    tshark.bed.edit("-w", path, first, later, program="mergecap")
    path.chmod(0o644)
    return path


OPEN = "[...document.querySelectorAll('[id^=connection-]')].map(each => [each.id, each.open])"


def test_pictures_show_the_time_of_a_connection(tshark, window, scratch):
    """Between two files that were merged nothing happens: the pictures show the connection that
    lost most time, and the other one when somebody opens it."""
    path = merged(tshark, scratch)
    page, report = (
        print_json(tshark, path, tap=tap).decode() for tap in ("smcr,html", "smcr,json")
    )
    (scratch / "page.html").write_text(page, encoding="utf-8")
    assert window.open(scratch / "page.html") == []
    report = parse(report.encode())
    times = [
        [seconds_of(each[name], report) for name in ("first_time", "last_time")]
        for each in report["connections"]
    ]
    (first, is_open), (second, other_is_open) = window.run(OPEN)
    assert is_open and not other_is_open
    check_time(window, times[int(first.split("-")[1])])
    window.run(f"document.querySelector('#{second} summary').click()")
    check_time(window, times[int(second.split("-")[1])])
    window.press("0")
    begin, last = window.run(TIME)
    assert last - begin > 100
    window.run("document.querySelector('table[data-list=connections] tbody tr').click()")
    check_time(window, times[0])
    assert window.complaints == []


# Which columns of the first picture have a pixel of a colour, from 0 to 1 of the picture's width.
DRAWN = """(() => {
    const over = document.querySelector(".u-over"), canvas = document.querySelector("canvas");
    const place = over.getBoundingClientRect(), whole = canvas.getBoundingClientRect();
    const [left, top] = [place.left - whole.left, place.top - whole.top].map(Math.round);
    const {data, width, height} = canvas.getContext("2d")
        .getImageData(left, top, Math.round(place.width), Math.round(place.height));
    const isColoured = (x, y) => {
        const at = 4 * (y * width + x), colour = [...data.slice(at, at + 3)];
        return Math.max(...colour) - Math.min(...colour) > 40;
    };
    return [...Array(width).keys()]
        .filter(x => [...Array(height).keys()].some(y => isColoured(x, y)))
        .map(x => x / width);
})()"""


def test_no_line_is_drawn_over_what_was_not_captured(tshark, window, scratch):
    """800 frames are missing from a connection that writes all the time."""
    packets = test_points.read(tshark.bed.root / SLOW_READER.relative_to(TOP))
    kept, path = [*packets[:499], *packets[1300:]], scratch / "gap.pcapng"
    page = print_json(tshark, test_points.write(path, kept, ["one"]), tap="smcr,html").decode()
    (scratch / "page.html").write_text(page, encoding="utf-8")
    assert window.open(scratch / "page.html") == []
    window.press("0")
    begin, last = window.run(TIME)
    hole, after = (
        ((packets[at].time - packets[0].time) / 1e9 - begin) / (last - begin) for at in (498, 1300)
    )
    drawn = window.run(DRAWN)
    assert not any(hole + 0.01 < each < after - 0.01 for each in drawn)
    assert sum(each < hole for each in drawn) > 100 < sum(each > after for each in drawn)


SLOW_READER = CAPTURES["6.1-v2-d-bulk-slow-reader"]

# The lanes of the pictures of a section: {label: [text of each bar]}.
LANES = """section => {
    const found = {};
    for (const svg of document.querySelectorAll(`#${section} svg.lanes`)) {
        const labels = [...svg.querySelectorAll(":scope > text:not(.tick)")]
            .map(each => each.firstChild.textContent);
        const bars = [...svg.querySelectorAll("rect")].map(each => [
            Math.floor(each.getAttribute("y") / 22), each.textContent, each.getAttribute("width")]);
        labels.forEach((label, index) => found[label] = bars.filter(([lane]) => lane === index)
            .map(([, text, width]) => [text, Number(width)]));
    }
    return found;
}"""


def test_pauses_are_bars(tshark, window, scratch):
    """When ports paused a class, and when a flow stood still: below the rates of a flow, and above
    the table of pauses."""
    path = tshark.bed.root / CAPTURES["pfc-storm.pcap"].relative_to(TOP)
    page = print_json(tshark, path, ALL_TWO, tap="smcr,html").decode()
    report = parse(print_json(tshark, path, ALL_TWO))
    show(window, scratch / "page.html", page)
    flows, pauses = (window.run(f"({LANES})('{each}')") for each in ("flows", "pauses"))
    [pause] = report["pauses"]
    assert len(flows["class 3"]) == len(pauses["class 3"]) == len(pause["intervals"]) == 1
    [(text, width)] = flows["class 3"]
    assert f"from frame {pause['intervals'][0]['begin_frame']}" in text and "at most" in text
    [stopped] = [flow["pause"] for flow in report["rdma_flows"] if flow["pause"]]
    [standstill] = stopped["intervals"]
    [(still, still_width)] = flows["stood still"]
    assert f"(frames {standstill['begin_frame']} to {standstill['end_frame']})" in still
    assert still_width > width > 100 and list(pauses) == ["class 3"]
    axis = "[...document.querySelectorAll('#pauses text.tick')].map(each => each.textContent)"
    assert window.run(axis)[1:4] == ["100 ms", "200 ms", "300 ms"]
    check_links(tshark, window, scratch)


def check_links(tshark, window, scratch):
    """The bar of a link has each of its silences; a rejected one says why."""
    page, report = page_and_report(tshark, "s23-host-frozen.pcapng")
    show(window, scratch / "page.html", page)
    texts = [text for bars in window.run(f"({LANES})('links')").values() for text, _ in bars]
    silences = [
        each
        for flow in report["rdma_flows"]
        if flow["silences"]
        for each in (flow["longest_silence"], *flow["longest_silence"]["others"])
    ]
    assert len(silences) > 1
    for each in silences:
        frames = f"frames {each['begin_frame']} to {each['end_frame']}"
        assert any(text.startswith("no answer to") and frames in text for text in texts)
    page, report = page_and_report(tshark, "6.1-v1-n-lossy")
    show(window, scratch / "page.html", page)
    texts = [text for bars in window.run(f"({LANES})('links')").values() for text, _ in bars]
    reason = report["link_groups"][0]["links"][1]["reject_reason"]
    assert reason and any(f"(reason: {reason}), from frame" in text for text in texts)


def check_time(window, expected):
    """The pictures show the time, and little beside it."""
    begin, last = window.run(TIME)
    width = expected[1] - expected[0]
    assert begin <= expected[0] < expected[1] <= last and last - begin < 1.1 * width


def drawn_times(page):
    """The times of all that has pictures: connections, flows, and states of links."""
    report, pictures = block(page, "report"), block(page, "pictures")
    drawn = {each["stream"] for each in pictures["connections"]}
    moments = [
        moment
        for entry in report["connections"]
        if drawn & {entry["stream"], entry["roce_stream"]}
        for moment in (entry["first_time"], entry["last_time"])
    ]
    for group in report["link_groups"]:
        for state in (state for link in group["links"] for state in link["states"]):
            moments += [state["begin_time"], state["end_time"]]
    bins = [each[0] for flow in pictures["flows"] for each in flow["bins"]]
    begin, width = pictures["bins_begin"], pictures["bin_width"]
    return [
        *(seconds_of(moment, report) for moment in moments if moment is not None),
        *((begin + each * width) / 1e9 for each in bins),
    ]


LATER = "s04-pmtu.pcapng"  # a silence and a fallback after the connection with pictures


def test_the_whole_time_is_that_of_all_pictures(tshark, window, scratch):
    """Links and flows go on after the connections."""
    longer = 0
    for name in (*SAMPLE, LATER):
        page, report = page_and_report(tshark, name)
        (scratch / "page.html").write_text(page, encoding="utf-8")
        assert window.open(scratch / "page.html") == []
        at_first = window.run(TIME)
        moments = [each["time"] for each in report["findings"] if each["severity"] != "info"]
        found = [seconds_of(each, report) for each in moments if each is not None]
        if name == LATER:
            assert at_first[0] <= min(found) and max(found) <= at_first[1]
        before = window.run("document.getElementById('shown').textContent")
        window.press("0")
        begin, last = window.run(TIME)
        times = [*drawn_times(page), *found]
        assert begin <= min(times, default=begin) and max(times, default=last) <= last, name
        assert window.run("document.getElementById('shown').textContent") == ""
        longer += "Whole time" in before
    assert longer > 0


def test_only_rows_with_pictures_open_them(tshark, window, scratch):
    """A connection that fell back has none."""
    page, report = page_and_report(tshark, "s04-pmtu.pcapng")
    (scratch / "page.html").write_text(page, encoding="utf-8")
    assert window.open(scratch / "page.html") == []
    rows = "[...document.querySelectorAll('table[data-list=connections] tbody tr')]"
    opens = window.run(f"{rows}.map(each => getComputedStyle(each).cursor === 'pointer')")
    outcomes = [each["outcome"] for each in report["connections"]]
    assert opens == [each == "smc-r" for each in outcomes] and "fallback" in outcomes


HEADS = "[...document.querySelectorAll('th')].map(each => [each.textContent, each.title])"


def test_heads_say_what_their_columns_show(tshark, window, scratch):
    page, _ = page_and_report(tshark, "6.1-v1-n-lossy")
    (scratch / "page.html").write_text(page, encoding="utf-8")
    assert window.open(scratch / "page.html") == []
    heads = dict(window.run(HEADS))
    for head in ("Blocked", "Never filled", "ACK timeout", "Buffer full →"):
        assert re.fullmatch(r"[A-Z].{20,}\n\((column of -z|\S+ in the JSON).*\)", heads[head])


def test_connections_without_ports_are_told_apart(tshark, window, scratch):
    """Twenty connections between the same two hosts, of which no SYN was captured."""
    page, report = page_and_report(tshark, "s11-pool-kill-late.pcapng")
    show(window, scratch / "page.html", page)
    titles = window.run(
        "[...document.querySelectorAll('[id^=connection-] > summary, .u-title')]"
        ".map(each => each.textContent)"
    )
    assert len(set(titles)) == len(titles) > 2 * len(report["connections"]) == 40
    for entry in report["connections"]:
        own = [title for title in titles if title.startswith(f"Connection {entry['stream']}:")]
        token = entry["tokens"]["client"]
        assert len(own) == 1 and (token is None or token in own[0])


def test_connections_of_known_roles_without_ports(tshark, window, scratch):
    """Pictures have the connection's number, and rows its tokens. A sentence says what is needed to
    know the time: the directions of these connections may not belong together."""
    page, report = page_and_report(tshark, "ib-native")
    show(window, scratch / "page.html", page)
    text = window.run("document.body.innerText")
    for entry in report["connections"]:
        assert entry["client"]["addr"] is entry["ends"] is None
        assert f"Connection {entry['stream']}, client → server: " in text
        assert entry["tokens"]["client"] or entry["tokens"]["server"] in text
    assert "is not known: a packet of one direction may belong to another connection" in text
    assert "no data of this direction is known" in text


# ---- keys only, and zoom ----

FOCUS = """(() => {
    const {tagName, textContent, id} = document.activeElement;
    return [tagName, textContent, id];
})()"""


def tab_to(window, tag, text):
    """Go on with Tab until the element with this text has the focus."""
    for _ in range(400):
        window.press("Tab")
        found = window.run(FOCUS)
        if found[0] == tag and text in found[1]:
            return
    raise AssertionError(f"Tab does not come to {tag} {text}")


# A block is filled some time after it was opened.
FILLED = """new Promise(done => {
    const box = document.getElementById("connection-3");
    const look = () => box.open && box.querySelector("button") ? done(true) : setTimeout(look, 10);
    look();
})"""


def test_keys_only(tshark, window, scratch):
    """Copies a filter, sorts a table, opens a connection, reads values, all without a mouse."""
    page, _ = page_and_report(tshark, "6.1-v2-q-forty-conns")
    (scratch / "page.html").write_text(page, encoding="utf-8")
    assert window.open(scratch / "page.html") == []
    tab_to(window, "TH", "Bytes →")
    window.press("Enter")
    sorted_bytes = "[...document.querySelectorAll('[data-path=\"client_to_server.bytes\"]')]"
    values = window.run(f"{sorted_bytes}.map(each => Number(each.dataset.value))")
    assert values == sorted(values, reverse=True) and values[0] > values[-1]
    tab_to(window, "BUTTON", "Show all 40 rows")
    window.press("Enter")
    assert window.run(f"{sorted_bytes}.length") == 40
    tab_to(window, "SUMMARY", "Connection 3:")
    before = window.run(TIME)
    window.press("Enter")
    assert window.run(FILLED) is True
    assert window.run(TIME) != before
    tab_to(window, "BUTTON", "copy filter")
    window.press("Enter")
    assert window.run(COPIED) == "Copied: smcr.stream == 3"
    assert window.run("[...document.querySelectorAll('.picture')].every(each => !each.tabIndex)")
    window.run("document.querySelector('#connection-3 .lanes').parentElement.focus()")
    window.run("document.getElementById('copied').textContent = ''")
    window.press(".")
    window.press("Enter")
    assert re.fullmatch(r"Copied: frame\.number == \d+", window.run(COPIED))
    assert window.complaints == []


@pytest.mark.parametrize("width", [700, 467, 350])
def test_zoomed_pages_have_no_sidewards_way(tshark, window, scratch, width):
    """A zoom of 200, 300 and 400 % leaves so many pixels: text and pictures stay within them."""
    page, _ = page_and_report(tshark, "6.1-v1-n-lossy")
    window.size(width, chromium.HEIGHT)
    try:
        (scratch / "page.html").write_text(page, encoding="utf-8")
        assert window.open(scratch / "page.html") == []
        window.run(SHOWN)
        assert window.run("document.documentElement.scrollWidth") <= width
    finally:
        window.size(chromium.WIDTH, chromium.HEIGHT)
