"""The JSON of the report is what docs/report.schema.json says: complete, and nothing else."""

import copy
import json
import re

import pytest
import report_runs
import report_schema
from bed import FOLDERS, PACKED, TOP, captures
from report_schema import ALL_OF_IT, entry, lonely_frames, problems, report, report_of, times

CAPTURES = captures(*FOLDERS, *PACKED)


def path_of(tshark, name):
    return tshark.bed.root / "captures" / CAPTURES[name].relative_to(TOP / "captures")


# ---- the schema itself ----


def small_report():
    """One entry of each list."""
    lists = {
        name: entry(name)
        for name in ("connection", "link_group", "fallback", "breach", "finding", "rdma", "tcp")
    }
    lists["link_group"].update(links=[entry("link")], rmbs=[entry("rmb", va="0xffff888006e80000")])
    lists["connection"]["tokens"]["client"] = "0x00000001"
    lists["connection"]["client_to_server"]["ack_time_s"] = times(0.5, 0.25)
    lists["rdma"]["opcodes"] = {"RC_ACK": 1, "0x85": 2}
    return report(
        connections=[lists["connection"]],
        link_groups=[lists["link_group"]],
        fallbacks=[lists["fallback"]],
        breaches=[lists["breach"]],
        findings=[lists["finding"]],
        rdma_flows=[lists["rdma"]],
        tcp_flows=[lists["tcp"]],
    )


def test_a_small_report_is_valid():
    assert problems(small_report()) == []


def places(value, place=()):
    """Places of all members, as paths."""
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for name, each in items:
        if isinstance(value, dict):
            yield (*place, name)
        yield from places(each, (*place, name))


def holder(value, place):
    for name in place[:-1]:
        value = value[name]
    return value


def test_each_member_is_required():
    whole = small_report()
    for place in places(whole):
        if "opcodes" in place[:-1] or place[-1] == "derived":
            continue
        lacking = copy.deepcopy(whole)
        del holder(lacking, place)[place[-1]]
        assert problems(lacking), f"{place} may be missing"


def test_no_member_is_added():
    whole = small_report()
    for place in {place[:-1] for place in places(whole)}:
        if place[-1:] != ("opcodes",):
            more = copy.deepcopy(whole)
            holder(more, (*place, ""))["one_more"] = None
            assert problems(more), f"{place} may have one more"


@pytest.mark.parametrize(
    "place, value",
    [
        ("schema", "smcr-report/2"),
        ("capture.first_time", "1.5"),
        ("capture.passes", 3),
        ("capture.frames", -1),
        ("capture.frames", None),
        ("connections.0.outcome", None),
        ("connections.0.tokens.client", "0x1"),
        ("connections.0.tokens.client", 1),
        ("connections.0.client.port", 65536),
        ("connections.0.first_frame", 0),
        ("connections.0.client_to_server.ack_time_s.min", None),
        ("connections.0.client_to_server.read_reported_s.min", 0),
        ("link_groups.0.links.0.client.qpn", "0x11"),
        ("link_groups.0.rmbs.0.va", "0xFFFF888006E80000"),
        ("rdma_flows.0.opcodes.RC_ACK", 0),
        ("rdma_flows.0.kind", "rdma"),
        ("tcp_flows.0.first_time", 1.5),
    ],
)
def test_wrong_values_are_found(place, value):
    wrong = small_report()
    path = [int(name) if name.isdecimal() else name for name in place.split(".")]
    holder(wrong, path)[path[-1]] = value
    assert len(problems(wrong)) == 1


def test_lonely_frames_are_found():
    whole = small_report()
    whole["connections"][0]["first_frame"] = 3
    assert list(lonely_frames(whole)) == ["/connections/0/first_frame"]


def test_each_member_is_documented():
    """By its name, in docs/json.md."""
    text = (TOP / "docs" / "json.md").read_text(encoding="utf-8")
    known = set(re.findall(r"`([a-z0-9_]+)(?:\[\])?`", text)) | {"schema"}
    names = {
        place[-1]
        for place in places(report_schema.SCHEMA)
        if place[-2:-1] == ("properties",)
        and "if" not in place
        and "then" not in place
        and "else" not in place
    }
    implied = {
        name
        for name in names
        if name.endswith("_time") and name.removesuffix("time") + "frame" in known
    }
    assert names - known - implied == set()


def kinds_of_findings():
    """{kind: how docs/json.md names what its `count` counts}"""
    text = (TOP / "docs" / "json.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| (`[^|]*) \| [^|]* \| ([^|]*) \|$",
        text.split("| `count` is of |")[1].split("###")[0],
        re.M,
    )
    return {kind: unit for kinds, unit in rows for kind in re.findall(r"`([a-z_]+)`", kinds)}


def test_each_kind_of_finding_says_what_it_counts():
    """Those of finding_kinds.def; the code adds each of them."""
    folder = TOP / "dissectors" / "report"
    code = "".join(
        path.read_text(encoding="utf-8") for path in sorted(folder.glob("findings/on_*.c"))
    )
    rows = re.findall(
        r'^FINDING\((\w+), "(\w+)"',
        (folder / "figures/finding_kinds.def").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    assert {kind for _, kind in rows} == set(kinds_of_findings())
    assert {name for name, _ in rows} == set(re.findall(r"\bSMCR_FIGURE_FOUND_(\w+)", code))


# ---- what the plugin writes ----


@report_runs.every_run
def test_every_report_fits(tshark, name, run):
    found = report_runs.report(tshark, name, run)
    assert (problems(found), list(lonely_frames(found))) == ([], [])
    capture = found["capture"]
    assert (capture["passes"], capture["smcr_roce"], capture["check_icrc"]) == (
        run.passes,
        run.everything,
        run.everything,
    )


def test_indexes_lead_somewhere(tshark):
    """Numbers of other entries are numbers that these have."""
    for name in (
        "6.1-v2-h1-two-links-second-fails",
        "6.1-v1-c2-capture-starts-late",
        "ib-native",
        "vectors",
    ):
        found = report_of(tshark, path_of(tshark, name), "-2", *ALL_OF_IT)
        have = {
            "tcp": {each["tcp_stream"] for each in found["tcp_flows"]},
            "group": {each["index"] for each in found["link_groups"]},
            "flow": {each["index"] for each in found["rdma_flows"]},
            "stream": {each["stream"] for each in found["connections"]},
        }
        named = {
            "tcp": {each["tcp_stream"] for each in found["connections"]},
            "group": {each["link_group"] for each in found["connections"]},
            "flow": {each["peer"] for each in found["rdma_flows"]}
            | {
                flow
                for group in found["link_groups"]
                for link in group["links"]
                for flow in link["flows"]
            },
            "stream": {
                stream
                for group in found["link_groups"]
                for rmb in group["rmbs"]
                for stream in rmb["streams"]
            },
        }
        assert {kind: named[kind] - have[kind] - {None} for kind in have} == {
            kind: set() for kind in have
        }


def test_filter_and_file_are_named(tshark):
    found = report_of(tshark, path_of(tshark, "6.1-v2-c-three-conns"), filter="smcr.stream == 0")
    assert found["capture"]["filter"] == "smcr.stream == 0"
    assert [each["stream"] for each in found["connections"]] == [0]
    assert json.dumps(found)


@pytest.mark.parametrize(
    "name", ["6.1-v2-h1-two-links-second-fails", "6.1-v2-n-lossy", "6.1-v1-b-first-contact-ipv6"]
)
def test_snap_length_that_keeps_everything(tshark, scratch, name):
    """docs/json.md: 384 bytes of each frame give the same report, but for the finding that frames
    are cut."""
    path = scratch / "cut.pcapng"
    tshark.bed.edit("-s", 384, path_of(tshark, name), path)
    whole, cut = (report_of(tshark, each, "-2") for each in (path_of(tshark, name), path))
    assert cut["capture"].pop("cut_frames") > whole["capture"].pop("cut_frames") == 0
    new = [each["kind"] for each in cut.pop("findings") if each not in whole["findings"]]
    del whole["findings"], cut["summary"]["findings"], whole["summary"]["findings"]
    assert (new, cut) == (["cut_frames"], whole)
