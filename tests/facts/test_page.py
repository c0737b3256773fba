"""
The page (-z smcr,html): its numbers are those of the JSON, its pictures those of the cursors, and
nothing of the capture is more than text in it.
"""

import base64
import decimal
import hashlib
import html.parser
import json
import re
import struct
import subprocess

import cursors
import pytest
import test_classes
import test_points
from bed import ALL as EVERYTHING
from bed import TOP, captures
from report_frames import frames
from report_runs import MALFORMED, REAL, TWO, UNPACKED, copy_of, parse, print_json, report
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

TAP = "smcr,html"
SAMPLE = UNPACKED if EVERYTHING else [*REAL[::9], *MALFORMED[::6], "6.1-v1-n-lossy"]
CLEAN = (
    "6.1-v1-d-bulk-slow-reader",
    "6.1-v1-c-three-conns",
    "6.1-v2-e-urgent",
    "6.1-v2-d-bulk-slow-reader",
)
LIMITS = {  # dissectors/report/page/page.c
    "connections": 100,
    "link_groups": 60,
    "rdma_flows": 120,
    "tcp_flows": 120,
    "breaches": 500,
}
LIMITS_OF_GROUP = {"links": 200, "rmbs": 10}
PARTS = {
    "nothing_to_write": "nothing_to_write_s",
    "answer": "answer_s",
    "transfer": "transfer_s",
    "needless": "needless_s",
    "reader": "reader_s",
    "retransmission": "retransmission_s",
}


class Page(html.parser.HTMLParser):
    """The page as a browser reads it: elements with their attributes, and the texts of scripts and
    styles."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.texts, self.open = [], [], None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self.open = tag if tag in ("script", "style") else None
        if self.open:
            self.texts.append((tag, dict(attributes), []))

    def handle_endtag(self, tag):
        self.open = None

    def handle_data(self, data):
        if self.open:
            self.texts[-1][2].append(data)

    def contents(self, tag, kind=None):
        return [
            "".join(parts)
            for name, attributes, parts in self.texts
            if name == tag and attributes.get("type") == kind
        ]

    def block(self, name):
        """A block of JSON."""
        found = [
            "".join(parts)
            for _, attributes, parts in self.texts
            if attributes == {"type": "application/json", "id": name}
        ]
        assert len(found) == 1
        return parse(found[0].encode())

    @property
    def policy(self):
        return next(
            attributes["content"]
            for tag, attributes in self.elements
            if attributes.get("http-equiv") == "Content-Security-Policy"
        )


def page_of(tshark, name):
    path = copy_of(tshark, name)
    return tshark.bed.keep(("html", name), lambda: print_json(tshark, path, tap=TAP)).decode()


def added(differences):
    sums, total = [], 0
    for each in differences:
        total += each
        sums.append(total)
    return sums


NOTHING = {"t": [], "v": [], "f": []}


def points(line, least=1):
    """[(frame, value)] of a line or of marks, which has so many points or more."""
    assert len(line["t"]) == len(line["v"]) == len(line["f"]) >= least
    assert added(line["t"]) == sorted(added(line["t"]))
    return list(zip(added(line["f"]), added(line["v"]), strict=True))


def at(entry, path):
    for name in path.split("."):
        entry = entry[name] if entry is not None else None
    return entry


def directions(entry):
    return entry["client_to_server"], entry["server_to_client"]


# ---- the blocks ----


def limited(group):
    """The link group with the links and RMBs that the page has."""
    return group | {name: group[name][:most] for name, most in LIMITS_OF_GROUP.items()}


def check_report(block, whole):
    """The lists have the first entries of the report's, and those with pictures. All else is
    there."""
    assert list(block) == list(whole)
    for name, value in whole.items():
        if name not in LIMITS:
            assert block[name] == value, name
            continue
        assert len(block[name]) >= min(LIMITS[name], len(value)), name
        known = [limited(each) for each in value] if name == "link_groups" else value
        assert all(each in known for each in block[name]), name


def check_rows(table, connections):
    assert len(table["rows"]) == len(connections)
    for row, entry in zip(table["rows"], connections, strict=True):
        for path, value in zip(table["columns"], row, strict=True):
            expected = at(entry, path)
            is_text = isinstance(expected, str) and not re.search(r"[._]time$", path)
            got = table["texts"][value] if is_text else value
            assert got == expected, (entry["stream"], path)


def check_lanes(drawn, entry):
    """The pieces follow each other, and their sum is the report's. Returns how many there were."""
    for direction, whole in zip(drawn["directions"], directions(entry), strict=True):
        sums = dict.fromkeys(PARTS, 0)
        lanes = direction["lanes"]
        assert all(one[1] == other[0] for one, other in zip(lanes, lanes[1:]))
        for begin, end, _, _, shares in lanes:
            assert sum(shares.values()) == end - begin > 0
            for part, time in shares.items():
                sums[part] = sums.get(part, 0) + time
        if not lanes:
            continue
        sums["transfer"] += sums["needless"]  # a part of transfer_s
        for part, name in PARTS.items():
            assert sums[part] == round(whole["time"][name] * 1e9), (entry["stream"], part)
        full = sums.get("path", 0) + sums["reader"]
        assert full == round(whole["time"]["buffer_full_s"] * 1e9)
    return sum(len(direction["lanes"]) for direction in drawn["directions"])


def check_marks(drawn, entry):
    """Each retransmission of the connection has its mark."""
    for direction, whole in zip(drawn["directions"], directions(entry), strict=True):
        mark = direction["marks"].get("retransmission")
        assert (mark["n"] if mark else 0) == (whole["repeated_packets"] or 0)


def check_flows(pictures, flows):
    """The bins of a flow have all of its packets."""
    for drawn in pictures["flows"]:
        if drawn["flow"] is None:
            continue
        entry, sums = flows[drawn["flow"]], [sum(column) for column in zip(*drawn["bins"])]
        assert sums[1:4] == [entry["bytes"], entry["packets"], entry["repeated"]]
        assert sums[6] == entry["cnp"]
        for sum_of_bins, marks in ((sums[4], entry["ecn"]["ce"]), (sums[5], entry["outer_ce"])):
            assert marks is None or sum_of_bins == marks


def test_numbers_are_those_of_the_json(tshark):
    lanes = 0
    for name in SAMPLE:
        page, whole = Page(page_of(tshark, name)), report(tshark, name, TWO)
        pictures = page.block("pictures")
        check_report(page.block("report"), whole)
        check_rows(page.block("rows"), whole["connections"])
        check_flows(pictures, {flow["index"]: flow for flow in whole["rdma_flows"]})
        entries = {
            number: entry
            for entry in whole["connections"]
            for number in (entry["stream"], entry["roce_stream"])
        }
        for drawn in pictures["connections"]:
            lanes += check_lanes(drawn, entries[drawn["stream"]])
            check_marks(drawn, entries[drawn["stream"]])
    assert lanes > 50


# Tables that the page has as Wireshark has them.
TABLES = ("smcr,directions", "smcr,rmbs", "smcr,fabric", "smcr,times", "smcr,points")


def printed_tables(tshark, name):
    """{table: (columns, rows)} as tshark prints them, all cells as texts."""
    options = [option for table in TABLES[1:] for option in ("-z", table)]
    text = print_json(tshark, copy_of(tshark, name), options=options, tap=TABLES[0]).decode()
    found = {}
    for table in re.findall(r"^Filter for statistics: \n((?:.*\n)*?)===", text, re.MULTILINE):
        columns, _, *rows = table.splitlines()
        found[columns] = [[cell.strip() for cell in row.split(" |")[:-1]] for row in rows]
    return found


def printed(kind, cell):
    """A cell of the page as tshark prints it."""
    if isinstance(cell, list):
        least, most = cell
        if not least and most is None:
            return "-"
        upper = "or more" if most is None else f"to {printed(kind, most)}"
        return f"{printed(kind, least)} {upper}"
    if cell is None:
        return "-"
    if kind != "SECONDS":
        return str(cell).strip()
    return str(decimal.Decimal(str(cell)).quantize(decimal.Decimal("1e-6"), decimal.ROUND_HALF_UP))


def test_tables_are_those_of_wireshark(tshark):
    rows = 0
    for name in SAMPLE:
        expected = printed_tables(tshark, name)
        for table in Page(page_of(tshark, name)).block("tables")["tables"]:
            columns = "".join(f"{column} |" for _, column in table["columns"])
            kinds = [kind for kind, _ in table["columns"]]
            found = [list(map(printed, kinds, row)) for row in table["rows"]]
            assert (found, table["count"]) == (expected[columns], len(found)), (name, columns)
            rows += len(found)
    assert rows > 50


def test_sentences_are_those_of_the_report(tshark):
    """The page has each sentence of the report as text that is in no finding and no table."""
    sentences = 0
    for name in SAMPLE:
        text = print_json(tshark, copy_of(tshark, name), tap="smcr,report").decode()
        text = " ".join(text.split())
        for lines in Page(page_of(tshark, name)).block("tables")["lines"].values():
            assert all(" ".join(line.split()) in text for line in lines), name
            sentences += len(lines)
    assert sentences > 2


def positions_of(tshark, name):
    """What a reader of its own says, which adds up the cursors: {(connection, writer's side, line):
    {frame: position}}."""
    positions = {}
    for sight in cursors.sights(tshark, name):
        for writer, line, step in (
            (sight.sender, "announced", sight.window.len),
            (1 - sight.sender, "read", sight.window.read),
        ):
            seen = positions.setdefault((sight.stream, writer, line), {0: 0})
            seen[sight.frame] = max(seen.values()) + step
    return positions


def check_lines(lines, announced, read, room):
    """Returns the number of points."""
    for line, seen in (("announced", announced), ("read", read)):
        assert all(seen[frame] == value for frame, value in points(lines[line])), line
    assert all(value == room + read.get(frame, 0) for frame, value in points(lines["edge"]))
    for line in ("written", "acknowledged"):
        assert line not in lines or points(lines[line])[-1][1] == max(announced.values())
    return sum(len(line["t"]) for line in lines.values())


def test_lines_are_those_of_the_cursors(tshark):
    compared = 0
    for name in CLEAN:
        positions, sizes = positions_of(tshark, name), cursors.sizes(tshark, name)
        for drawn in Page(page_of(tshark, name)).block("pictures")["connections"]:
            for writer, direction in enumerate(drawn["directions"]):
                number = drawn["stream"]
                compared += check_lines(
                    direction["lines"],
                    positions[number, writer, "announced"],
                    positions[number, writer, "read"],
                    sizes[str(number), 1 - writer],
                )
    assert compared > 300


LOSSY = ("6.1-v1-n-lossy", "6.1-v2-n-lossy", "s10c-slow-sub-late-late-netlink.pcapng")


def test_acknowledgements_go_on_after_retransmissions(tshark):
    """All data of these captures is acknowledged at last, whatever was retransmitted."""
    compared = 0
    for name in LOSSY:
        path = captures("real", "stories")[name].relative_to(TOP)
        text = print_json(tshark, tshark.bed.root / path, tap=TAP).decode()
        for drawn in Page(text).block("pictures")["connections"]:
            for lines in (direction["lines"] for direction in drawn["directions"]):
                if "written" in lines and len(lines["written"]["t"]) > 10:
                    assert points(lines["acknowledged"])[-1][1] == points(lines["written"])[-1][1]
                    compared += 1
    assert compared > 4


def test_a_line_ends_where_its_position_is_not_known(tshark, scratch):
    """Without the server's packets, the size of its buffer is not known, so nobody knows where
    cursors are after they have wrapped. The client's wrap at 1.16 s."""
    source, path = copy_of(tshark, "6.1-v2-n-lossy"), scratch / "client.pcapng"
    kept = [each for each in test_points.read(source) if each.data[26:30] == bytes((10, 0, 0, 1))]
    page = Page(print_json(tshark, test_points.write(path, kept, ["one"]), tap=TAP).decode())
    (drawn,) = page.block("pictures")["connections"]
    lines = drawn["directions"][0]["lines"]
    for name in ("written", "announced"):
        assert lines[name]["lost"] and 60_000 < sum(lines[name]["v"]) < 66_000, name
    assert "edge" not in lines
    holes = lines["written"]["breaks"]  # the first packets of a WRITE are missing
    assert 100 in [added(lines["written"]["v"])[hole - 1] for hole in holes]
    whole = Page(print_json(tshark, source, tap=TAP).decode()).block("pictures")["connections"]
    assert not any(
        line.get("lost") for each in whole[0]["directions"] for line in each["lines"].values()
    )


def test_the_end_of_the_buffer_is_not_known_without_its_reader(tshark, scratch):
    """Without RoCE packets of one host, the buffers that this host reads have their first size at
    the beginning only: later its messages, which are not captured, may have freed space."""
    source, client = copy_of(tshark, "6.1-v2-d-bulk-slow-reader"), bytes((10, 0, 0, 1))
    packets = test_points.read(source)
    for kept, writer in ((client, 0), (bytes((10, 0, 0, 2)), 1)):
        some = [each for each in packets if each.data[23] == 6 or each.data[26:30] == kept]
        path = test_points.write(scratch / "half.pcapng", some, ["one"])
        page = Page(print_json(tshark, path, tap=TAP).decode())
        (drawn,) = page.block("pictures")["connections"]
        own, other = (drawn["directions"][each]["lines"] for each in (writer, 1 - writer))
        assert own["edge"]["lost"] and len(own["edge"]["t"]) == 1
        assert not any(each.get("lost") for each in (own["written"], other["read"], other["edge"]))


def with_gap(tshark, scratch):
    """The pictures of a capture from which frames are missing, those after 302 ms, and the times of
    the frames before and after them, nanoseconds."""
    packets, path = test_points.read(copy_of(tshark, CLEAN[3])), scratch / "gap.pcapng"
    kept = [*packets[: GAP[0]], *packets[GAP[1] :]]
    page = Page(print_json(tshark, test_points.write(path, kept, ["one"]), tap=TAP).decode())
    times = [each.time - packets[0].time for each in (packets[GAP[0] - 1], packets[GAP[1]])]
    return page.block("pictures"), times


GAP = (499, 1300)  # numbers of frames before the gap, and up to its end


def test_a_line_has_a_hole_where_packets_are_missing(tshark, scratch):
    """The client writes on while 800 frames are missing. The server writes nothing: its cursor is
    the same after the gap, so it did not change in the gap."""
    pictures, (begin, end) = with_gap(tshark, scratch)
    ((client, server),) = (each["directions"] for each in pictures["connections"])
    for name in ("written", "announced", "acknowledged", "read", "edge"):
        line = client["lines"][name]
        ((before, after),) = (added(line["t"])[hole - 1 : hole + 1] for hole in line["breaks"])
        assert before <= begin < end <= after and after - before < (end - begin) * 1.05, name
    assert not any("breaks" in line or "lost" in line for line in server["lines"].values())
    width = pictures["bin_width"]
    for flow in pictures["flows"]:
        first, last = (pictures["bins_begin"] + each * width for each in flow["missing"])
        assert 0.9 * (end - begin) < last - first < end - begin + 2 * width
        assert begin - 8e6 < first < last < end + width, flow["flow"]


# ---- tunnels and capture points ----


def test_marks_of_a_tunnel_are_told_apart(tshark, scratch):
    """Some WRITEs get CE on the header of a tunnel: those have the mark, in the picture of their
    connection and of their flow."""
    source, path = copy_of(tshark, "6.1-v2-c-three-conns"), scratch / "tunnel.pcap"
    rows = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1)]
    marked = []
    for frame in frames(source):
        is_write = test_points.roce(frame.data) and 6 <= test_points.roce(frame.data).opcode <= 10
        if is_write and frame.number % 2:
            marked.append(frame.number)
        data = test_classes.wrapped(
            frame.data, test_classes.tunnel(3 if marked[-1:] == [frame.number] else 2)
        )
        rows.append(struct.pack("<IIII", *divmod(frame.time, 10**9), len(data), len(data)) + data)
    path.write_bytes(b"".join(rows))
    pictures = Page(print_json(tshark, path, tap=TAP).decode()).block("pictures")
    found = [
        frame
        for drawn in pictures["connections"]
        for direction in drawn["directions"]
        for frame, _ in points(direction["marks"].get("outer_ce", NOTHING), least=0)
    ]
    assert sorted(found) == marked and len(marked) > 2
    bins = [each for flow in pictures["flows"] for each in flow["bins"]]
    assert [sum(each[4] for each in bins), sum(each[5] for each in bins)] == [0, len(marked)]


def test_cnps_before_the_first_data_of_a_direction_have_marks(tshark, scratch):
    """The server has sent nothing on the connection when the client asks it to send less."""
    packets = test_points.read(copy_of(tshark, "6.1-v2-c-three-conns"))
    write = next(
        at
        for at, each in enumerate(packets)
        if test_points.roce(each.data) and test_points.roce(each.data).opcode == 10
    )
    frame = Ether(packets[write].data)
    cnp = struct.pack(">BB", 0x81, 0) + bytes(frame[UDP].payload)[2:12] + bytes(20)
    del frame[IP].len, frame[IP].chksum, frame[UDP].len, frame[UDP].chksum
    frame[UDP].remove_payload()
    made = packets[write]._replace(data=bytes(frame / cnp))
    path = test_points.write(
        scratch / "cnp.pcapng", [*packets[: write + 1], made, *packets[write + 1 :]], ["one"]
    )
    drawn = Page(print_json(tshark, path, tap=TAP).decode()).block("pictures")["connections"][0]
    found = [points(each["marks"].get("cnp", NOTHING), least=0) for each in drawn["directions"]]
    assert found == [[], [(write + 2, 0)]]


def test_delays_are_those_of_the_points(tshark, scratch):
    """The second point is made of the first: how late it has each packet is known."""
    packets = test_points.read(copy_of(tshark, "6.1-v2-d-bulk-slow-reader"))
    made = test_points.Pair(packets, 74)
    path = test_points.write(scratch / "pair.pcapng", made.packets, ["one", "two"])
    page = Page(print_json(tshark, path, tap=TAP).decode())
    ways = page.block("report")["points"]
    compared = 0
    for drawn, way in zip(page.block("pictures")["ways"], ways, strict=True):
        if way["transport"] == "tcp":  # no picture
            assert drawn is None
            continue
        assert drawn["n"] == way["at_both"]
        error = way["delay"]["error_s"] * 1e9 + 1000
        for _, delay in points(drawn):
            late = delay - test_points.DELAY
            late -= test_points.HELD if late > test_points.HELD / 2 else 0
            assert -error <= late <= test_points.JITTER + error
            compared += 1
    assert compared > 50


# ---- safety ----


def source(text):
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def check_safe(text, frame):
    """The page has the elements of `frame`, a page of another capture, and only its own scripts
    run."""
    page = Page(text)
    assert page.elements == Page(frame).elements
    scripts = page.contents("script")
    assert len(scripts) == 2 and len(page.contents("script", "application/json")) == 4
    assert not any("<" in block for block in page.contents("script", "application/json"))
    assert page.policy.split("; ")[:3] == [
        "default-src 'none'",
        "script-src " + " ".join(map(source, scripts)),
        f"style-src {source(page.contents('style')[0])}",
    ]


def test_only_its_own_scripts_run(tshark):
    plain = page_of(tshark, REAL[0])
    assert not re.search(r"(?:src|href|action)\s*=", "".join(map(str, Page(plain).elements)))
    for name in SAMPLE:
        check_safe(page_of(tshark, name), plain)


def test_script_never_makes_elements_of_text():
    script = (TOP / "dissectors/report/page/script.js").read_text(encoding="utf-8")
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|Function\(", script
    )


def test_each_meaning_is_that_of_a_column(tshark):
    """None is left of a column that no table has any more."""
    script = (TOP / "dissectors/report/page/script.js").read_text(encoding="utf-8")
    meanings, rest = re.search(r"const MEANINGS = \{\n(.*?)\n\};(.*)", script, re.DOTALL).groups()
    names = set(re.findall(r'^ {4}"?([^":/]+?)"?: "', meanings, re.MULTILINE))
    tables = Page(page_of(tshark, REAL[0])).block("tables")["tables"]
    heads = {head for table in tables for _, head in table["columns"]}
    gone = {name for name in names - heads if f'"{name}"' not in rest}
    assert len(names) > 80 and gone == set()


def test_library_is_the_one_of_npm():
    """The checksums stand in the script that fetches the files."""
    folder = TOP / "dissectors/report/page"
    fetched = dict(
        re.findall(
            r'"(\S+)": "([0-9a-f]{64})"', (folder / "fetch-uplot").read_text(encoding="utf-8")
        )
    )
    assert set(fetched) == {path.name for path in folder.glob("uPlot*")}
    for name, checksum in fetched.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == checksum, name


# ---- anonymous ----

IDENTIFYING = {"addr", "src", "dst", "gid", "mac", "port_mac", "eid", "host_name", "peer_id"}
ANONYMOUS = ("-o", "smcr.anonymous:TRUE")
NAMED = ("6.1-v2-c-three-conns", "6.1-v1-b-first-contact-ipv6", "6.1-v1-n-lossy")


def leaves(value, name=None):
    """[(name of the member, value)], in order."""
    if isinstance(value, dict):
        return [leaf for key, each in value.items() for leaf in leaves(each, key)]
    if isinstance(value, list):
        return [leaf for each in value for leaf in leaves(each, name)]
    return [(name, value)]


def test_anonymous_reports_differ_in_names_only(tshark):
    """Each name has one replacement, in page, report and JSON, and appears nowhere."""
    for name in NAMED:
        path, replaced = copy_of(tshark, name), {}
        plain = leaves(report(tshark, name, TWO))
        anonymous = leaves(parse(print_json(tshark, path, options=ANONYMOUS)))
        assert len(plain) == len(anonymous)
        for (member, value), (_, other) in zip(plain, anonymous, strict=True):
            if member in IDENTIFYING and value is not None:
                assert replaced.setdefault(value, other) == other != value
            elif not isinstance(value, str):
                assert value == other, member
        assert len(set(replaced.values())) == len(replaced) > 3
        for tap in ("smcr,json", "smcr,report", TAP, "smcr,links"):
            text = print_json(tshark, path, options=ANONYMOUS, tap=tap).decode()
            text = (
                text if tap != TAP else json.dumps(list(map(Page(text).block, ("report", "rows"))))
            )
            found = [
                each
                for each in replaced
                if re.search(rf"(?<![\w.:]){re.escape(each)}(?![\w.])", text)
            ]
            assert found == [], (name, tap)


# ---- bad input ----


def test_captures_without_connections(bed, tshark, scratch):
    empty = scratch / "empty.pcap"
    empty.write_bytes(bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000"))
    text = print_json(tshark, empty, tap=TAP).decode()
    page = Page(text)
    assert page.block("report")["connections"] == page.block("rows")["rows"] == []
    check_safe(text, page_of(tshark, REAL[0]))


@pytest.mark.parametrize(
    "length, status, said",
    [
        (0, 0, ""),
        (10, 2, "isn't a capture file"),
        (30000, 2, "appears to have been cut short in the middle of a packet."),
    ],
)
def test_damaged_files_have_a_sentence_and_a_status(tshark, scratch, length, status, said):
    """tshark says what is wrong with the file. What can be read of it has its page."""
    path = scratch / "cut.pcapng"
    path.write_bytes(copy_of(tshark, "6.1-v1-n-lossy").read_bytes()[:length])
    path.chmod(0o644)
    result = tshark.start("-2", "-q", "-r", path, "-z", TAP)
    # since 4.4, a file of another format has a status of its own; since 4.6, a cut file, too
    assert result.returncode in {10: {status, 3}, 30000: {status, 14}}.get(length, {status})
    assert said in result.stderr
    assert result.stderr.count("\n") == (1 if said else 0)
    if length != 10:
        frames_read = Page(result.stdout).block("report")["capture"]["frames"]
        assert (frames_read > 20) == (length > 0)


@pytest.mark.parametrize(
    "options, target, said",
    [
        (("-z", TAP), "/dev/full", "Couldn't write the page: No space left on device"),
        (("-z", f"{TAP},no such filter"), "/dev/null", f"Couldn't register {TAP}: "),
    ],
)
def test_failures_have_a_sentence_and_a_status(tshark, options, target, said):
    with open(target, "wb") as file:
        result = tshark.start(
            "-2",
            "-q",
            "-r",
            copy_of(tshark, REAL[0]),
            *options,
            stdout=file,
            stderr=subprocess.PIPE,
        )
    assert result.returncode != 0 and result.stderr.count("\n") == 1
    assert result.stderr.startswith(said)
