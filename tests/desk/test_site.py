"""
Lines in a database: DuckDB answers the ten questions of docs/examples/lines.duckdb.sql over all
real captures. The answers are those of the truth files, of the causes, and of the reports.
ClickHouse gives the same answers.
"""

import collections
import decimal
import json
import math
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest
from bed import ALL, BUILDS, TIME_LIMIT, TOP, captures
from report_schema import CALM

DUCKDB, CLICKHOUSE, NPM = "@duckdb/node-api", "chdb", BUILDS / "npm"
SQL = TOP / "docs" / "examples" / "lines.duckdb.sql"
CLICKHOUSE_SQL = TOP / "docs" / "examples" / "lines.clickhouse.sql"
VIEWS = re.findall(r"^CREATE OR REPLACE VIEW (\w+)", SQL.read_text(encoding="utf-8"), re.MULTILINE)
WHOLE = ("lines", "directions")  # views with all figures; only DuckDB's have defaults filled in
REAL = sorted(captures("real"))
CUT = "6.1-v1-h5-late-second-link"
BYTES = """
SELECT host, count(*) AS connections, sum(connection.to_server.bytes) AS c2s,
    sum(connection.to_client.bytes) AS s2c,
    bool_and(NOT connection.to_server.lacks_bytes
        AND NOT connection.to_client.lacks_bytes AND NOT connection.began_before) AS whole
FROM lines WHERE line = 'connection' GROUP BY host"""
P99 = """
SELECT host, connection.first_time AS begin, connection.lasted_s AS lasted,
    quantile_of(connection.to_server.answer_time_s, 0.99) AS p99,
    quantile_of(connection.to_client.answer_time_s, 0.5) AS p50,
    list_sum(map_values(buckets_of(connection.to_server.answer_time_s))) AS samples
FROM lines WHERE line = 'connection' AND host <> 'part'"""
STREAM = re.compile(r"(.+)\.(c2s|s2c)\.sent")


def installed(package):
    """The folder with the package of npm."""
    if not shutil.which("npm") or not shutil.which("node"):
        pytest.skip("npm is not here")
    if not (NPM / "node_modules" / package).exists():
        NPM.mkdir(parents=True, exist_ok=True)
        made = subprocess.run(
            ["npm", "install", "--no-audit", "--no-fund", "--silent", "--prefix", NPM, package],
            capture_output=True,
            text=True,
            timeout=TIME_LIMIT,
        )
        if made.returncode:
            pytest.skip(f"npm could not install {package}")
    return NPM


@pytest.fixture(scope="module")
def written(tshark_of_module):
    """The file of all lines, {capture: report}"""
    tshark, folder = tshark_of_module
    reports, text = {}, ""
    for name in REAL:
        path = tshark.bed.capture(name)
        option = f"smcr,lines,host={name}"
        both = tshark.show(path, *CALM, "-q", "-z", "smcr,json", "-z", option).splitlines()
        is_line = [each.startswith('{"schema":"smcr-lines') for each in both]
        reports[name] = json.loads("".join(a for a, b in zip(both, is_line) if not b))
        text += "".join(f"{a}\n" for a, b in zip(both, is_line) if b)
    tshark.bed.edit("-c", "1000", tshark.bed.capture(CUT), folder / "part.pcapng")
    for path in sorted(folder.glob("part_*")):
        text += tshark.show(path, *CALM, "-q", "-z", "smcr,lines,host=part,smcr || tcp")
    lines = folder / "lines.ndjson"
    lines.write_text(text, encoding="utf-8")
    return lines, reports


@pytest.fixture(scope="module")
def asked(written):
    """{view: rows}, {capture: report}"""
    lines, reports = written
    rows = ask(DUCKDB, "duckdb.mjs", SQL, lines, *[f"FROM {view}" for view in VIEWS], BYTES, P99)
    return dict(zip([*VIEWS, "bytes", "p99"], rows)), reports


@pytest.fixture(scope="module")
def tshark_of_module(bed, tshark):
    folder = pathlib.Path(tempfile.mkdtemp(dir=bed.scratch))  # another one for each process
    folder.chmod(0o777)
    return tshark, folder


def ask(package, script, sql, lines, *queries):
    """What the engine of the package answers to each query."""
    made = subprocess.run(
        ["node", TOP / "tests" / "desk" / script, installed(package), sql, lines, *queries],
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT,
    )
    assert made.returncode == 0, made.stderr
    return [json.loads(each) for each in made.stdout.splitlines()]


def of_reports(rows):
    return [each for each in rows if each.get("host") != "part"]


def connections(reports):
    return [(name, each) for name in REAL for each in reports[name]["connections"]]


def number(text):
    return None if text is None else float(text)


def close(one, other):
    return math.isclose(one or 0, other or 0, rel_tol=1e-9, abs_tol=1e-9)


def test_the_ten_questions(asked):
    rows, reports = asked
    assert len(VIEWS) == 13 and VIEWS[:2] == [*WHOLE]

    # fallbacks: of the reports; the parts have none
    reasons = collections.Counter(
        (each["client"]["addr"], each["server"]["addr"], each["fallback"]["reason"])
        for _, each in connections(reports)
        if each["fallback"]
    )
    assert {
        (each["client"], each["server"], each["reason"]): int(each["connections"])
        for each in rows["fallbacks"]
    } == reasons and len(reasons) > 5

    # waits: the longest of each kind, those for an answer from `answer_time_s`
    waits = collections.Counter(
        (name, wait["writer"], wait["kind"], wait["lasted_s"])
        for name, each in connections(reports)
        for wait in each["longest_waits"]
    )
    assert waits == collections.Counter(
        tuple(each[column] for column in ("host", "writer", "kind", "lasted_s"))
        for each in of_reports(rows["waits"])
    )
    assert {each["kind"] for each in rows["waits"]} >= {"reader", "space", "answer"}

    # lost links
    lost = {
        (name, link["number"])
        for name in REAL
        for group in reports[name]["link_groups"]
        for link in group["links"]
        if link["lost_frame"] or link["state"] == "lost"
    }
    assert {(each["host"], int(each["number"])) for each in of_reports(rows["lost_links"])} == lost
    assert lost

    # flows
    flows = collections.Counter()
    for name in REAL:
        for flow in reports[name]["rdma_flows"]:
            flows[name, flow["src"], flow["dst"], flow["dst_qpn"]] += flow["packets"]
    assert {
        (each["host"], each["src"], each["dst"], int(each["dst_qpn"])): int(each["packets"])
        for each in of_reports(rows["flows"])
    } == flows

    # how connections ended
    ends = collections.Counter(
        (each["server"]["port"], each["close"]) for _, each in connections(reports)
    )
    ended = collections.Counter()
    for each in rows["closes"]:
        ended[each["port"] and int(each["port"]), each["close"]] += int(each["connections"])
    assert all(ended[key] >= count for key, count in ends.items())

    # where the time went
    for host in (each for each in rows["time_of_writers"] if each["host"] != "part"):
        times = [
            each[way]["time"]
            for name, each in connections(reports)
            if name == host["host"]
            for way in ("client_to_server", "server_to_client")
            if each[way]["time"]
        ]
        for member in ("buffer_full_s", "answer_s", "answer_most_s", "transfer_s", "unknown_s"):
            assert close(number(host[member]), sum(each[member] for each in times)), host

    # set up by hour: the median
    by_hour = collections.defaultdict(list)
    for _, each in connections(reports):
        if each["setup_s"] is not None:
            by_hour[int(each["first_time"].partition(".")[0]) // 3600].append(each["setup_s"])
    medians = [sorted(each)[(len(each) - 1) // 2] for _, each in sorted(by_hour.items())]
    assert len(medians) == len([each for each in rows["setup_by_hour"] if each["p50"] is not None])


def sent(name):
    """{(connection, direction): bytes} that the programs sent, of the truth files."""
    folder = TOP / "captures" / "real" / f"{name}.streams"
    return {
        STREAM.fullmatch(path.name).groups(): path.stat().st_size
        for path in folder.glob("conn*.sent")
    }


def test_bytes_are_those_that_the_programs_sent(asked):
    """Of each capture that has all of its connections, the sums of SQL and of the truth files."""
    rows, _ = asked
    compared = 0
    for each in of_reports(rows["bytes"]):
        truth = sent(each["host"])
        if not each["whole"] or len(truth) != 2 * int(each["connections"]):
            continue
        compared += 1
        for way in ("c2s", "s2c"):
            expected = sum(size for (_, direction), size in truth.items() if direction == way)
            assert int(each[way]) == expected, each["host"]
    assert compared > 20
    total = sum(int(each["c2s"] or 0) for each in rows["bytes"])
    assert sum(int(each["to_server"] or 0) for each in rows["transferred"]) == total


def test_quantiles_of_buckets(asked):
    """SQL makes of the buckets of lines what the report has."""
    rows, reports = asked
    found = {(each["host"], each["begin"], f"{each['lasted']:.9f}"): each for each in rows["p99"]}
    assert len(found) == len(rows["p99"])
    known = 0
    for name, each in connections(reports):
        lasted = decimal.Decimal(each["last_time"]) - decimal.Decimal(each["first_time"])
        of_lines = found[name, each["first_time"], f"{lasted:.9f}"]
        for member, way, times, quantile in (
            ("p99", "client_to_server", "answer_time_s", "p99"),
            ("p50", "server_to_client", "answer_time_s", "median"),
        ):
            histogram = each[way][times]["histogram"]
            assert (of_lines[member] is None) == (histogram is None), (name, each["stream"])
            assert not histogram or close(number(of_lines[member]), histogram[quantile])
            known += histogram is not None and each[way][times]["count"] > 2
        count = each["client_to_server"]["answer_time_s"]["count"]
        assert int(of_lines["samples"] or 0) == count, (name, each["stream"])
    assert known > 8


def test_findings_are_the_causes(asked):
    """The first finding of each cause is among those that SQL finds for its capture."""
    rows, _ = asked
    causes = json.loads((TOP / "tests" / "facts" / "causes.json").read_text(encoding="utf-8"))
    kinds = collections.defaultdict(set)
    for each in rows["findings"]:
        kinds[each["host"]].add(each["kind"])
    expected = {name: causes[name]["first"] for name in REAL if causes.get(name, {}).get("first")}
    assert len(expected) > 15
    assert {name: kind for name, kind in expected.items() if kind not in kinds[name]} == {}


def test_parts_of_a_ring_are_joined(asked):
    rows, reports = asked
    whole = {each["uid"] for each in rows["parts"] if each["host"] == "part"}
    assert len(whole) == len(reports[CUT]["connections"])
    assert all(each["uid"] != each["part_uid"] for each in rows["parts"])


# What a value of JSON is in an index: only such values does a field of the type take.
TYPES = {
    "keyword": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "long": lambda value: type(value) is int and value < 2**63,
    "double": lambda value: type(value) in (int, float),
    "date_nanos": lambda value: re.fullmatch(r"[0-9]{1,19}(\.[0-9]{1,9})?", value),
    "object": lambda value: all(type(each) is int for each in value.values()),
}


def not_taken(value, field, place=""):
    """Places of a line that the index template does not have, or has with another type."""
    if isinstance(value, list):
        for each in value:
            yield from not_taken(each, field, place)
    elif "properties" in field:
        for name, each in value.items():
            yield from not_taken(each, field["properties"].get(name, {}), f"{place}/{name}")
    elif "type" not in field or not TYPES[field["type"]](value):
        yield place


def test_the_index_template_takes_all_lines(written):
    """OpenSearch is in no package; the template is checked against the lines by its rules."""
    lines, _ = written
    template = json.loads((SQL.parent / "lines.opensearch.json").read_text(encoding="utf-8"))
    places = collections.Counter()
    for each in lines.read_text(encoding="utf-8").splitlines():
        places.update(not_taken(json.loads(each), template["template"]["mappings"]))
    assert not places


# Columns that are not the same in both engines: a word of several, and the form of a time.
OWN = {"text", "hour", "lost_time"}


def plain(value):
    """A value as both engines have it; their numbers are texts now and then. What no line has is
    not known in one, and 0 or false in the other."""
    if value is None or isinstance(value, bool):
        return bool(value)
    try:
        return f"{float(value):.6g}" if float(value) else False
    except ValueError:
        return value


def rows_of(rows):
    return collections.Counter(
        tuple(sorted((name, plain(each)) for name, each in row.items() if name not in OWN))
        for row in rows
    )


@pytest.mark.skipif(not ALL, reason="ClickHouse is large: part of tests/run --all")
def test_clickhouse_answers_the_same(asked, written):
    """Its percentiles are of another kind, and a sum of nothing is 0 or not known."""
    rows, _ = asked
    lines, _ = written
    views = [each for each in VIEWS if each not in (*WHOLE, "setup_by_hour")]
    queries = [f"SELECT * FROM {view}" for view in (*views, "setup_by_hour")]
    answers = ask(CLICKHOUSE, "clickhouse.mjs", CLICKHOUSE_SQL, lines, *queries)
    for view, found in zip(views, answers):
        assert found and rows_of(found) == rows_of(rows[view]), view
    for one, other in zip(answers[-1], rows["setup_by_hour"]):
        assert plain(one["connections"]) == plain(other["connections"])
        assert plain(one["longest"]) == plain(other["longest"])
    assert len(answers[-1]) == len(rows["setup_by_hour"]) > 0
