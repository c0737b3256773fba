"""The plugin is loaded, says nothing at start, registers what it promises and leaves the rest of
Wireshark alone."""

import collections
import json
import re

import pytest
from bed import ALL, installed_tshark

REPORTS = re.findall(
    r"^  -G ([a-z-]+)", installed_tshark("-G", "help"), re.MULTILINE
)  # 4.4 has more of them than 4.0

# Names that other tools rely on (docs/fields.md lists all).
FIELDS = """
    smcr.clc.type smcr.clc.version smcr.clc.length smcr.clc.diagnosis
    smcr.llc.type smcr.llc.response smcr.link.number
    smcr.cdc.seq smcr.cdc.token smcr.cdc.prod_wrap smcr.cdc.prod smcr.cdc.cons_wrap smcr.cdc.cons
    smcr.qpn smcr.rkey smcr.rmb.va smcr.rmb.index smcr.token smcr.gid smcr.mac smcr.psn
    smcr.option
""".split()


def test_plugin_is_loaded(tshark):
    assert tshark.run("-G", "plugins").split()[0] == "smcr.so"


@pytest.mark.parametrize("report", REPORTS)
def test_start_is_silent(tshark, report):
    tshark.run("-G", report)


def test_protocol_is_registered(tshark):
    rows = [line.split("\t")[:3] for line in tshark.run("-G", "protocols").splitlines()]
    assert ["Shared Memory Communications over RDMA", "SMC-R", "smcr"] in rows


@pytest.mark.parametrize("table, name", [("tcp", "smcr_clc"), ("infiniband.payload", "smcr_roce")])
def test_heuristic_is_registered(tshark, table, name):
    lines = tshark.run("-G", "heuristic-decodes").splitlines()
    assert any(line.split("\t")[:3] == [table, "smcr", "T"] for line in lines)
    tshark.show(
        "tcpopt-variants", "-c", "1", "--disable-heuristic", name
    )  # complains about unknown names


@pytest.mark.parametrize("name", FIELDS)
def test_field_is_registered(tshark, name):
    assert name in {row[0] for row in tshark.registered_fields()}


def is_own(text):
    """Whether a line is about our protocol. From 4.4 on, smcr_infiniband of the built-in dissector
    is listed, too."""
    return "smcr" in text.replace("smcr_infiniband", "")


def without_own(report, text):
    """What a report says about the rest of Wireshark, as a multiset: Wireshark's order is not
    always the same."""
    if report == "elastic-mapping":
        layers = json.loads(text)["mappings"]["properties"]["layers"]["properties"]
        return {name: fields for name, fields in layers.items() if name != "smcr"}
    if report == "decodes":  # the handles that we wrap are listed by the wrapper's name
        text = text.replace("\tsmcr.roce", "\tinfiniband")
        text = re.sub(
            r"^(netlink\.protocol\t(?:4|0x0004)\t)smcr\.netlink$",
            r"\1netlink-sock_diag",
            text,
            flags=re.MULTILINE,
        )
        text = text.replace("\tsmcr.netlink", "\tnetlink")
    parts = text.split("\n\n") if report.endswith("prefs") else text.splitlines()
    return collections.Counter(part for part in parts if not is_own(part))


@pytest.mark.parametrize(
    "report",
    [report for report in REPORTS if report != "fieldcount"]
    if ALL
    else ["fields", "protocols", "decodes", "heuristic-decodes", "currentprefs"],
)
def test_reports_differ_in_own_lines_only(tshark, tshark_without, report):
    """No line of another protocol is changed, gone or new."""
    ours, others = (
        each.run("-G", report)
        .replace(each.environment["WIRESHARK_PLUGIN_DIR"], "PLUGINS")
        .replace(str(each.bed.root), "BED")
        for each in (tshark, tshark_without)
    )
    assert not is_own(others)
    assert without_own(report, ours) == without_own(report, others)


def test_own_fields_are_all_that_is_counted(tshark, tshark_without):
    """Fields that are registered, protocols, second fields of the same name: as many more as are
    listed as ours."""
    rows = [line.split("\t") for line in tshark.run("-G", "fields").splitlines() if is_own(line)]
    protocols = [row for row in rows if row[0] == "P"]
    number = re.compile(r"(\d+) (?:header fields registered|are protocols|have the same name)")
    counts = [
        [int(count) for count in number.findall(each.run("-G", "fieldcount"))]
        for each in (tshark, tshark_without)
    ]
    registered, named, again = (ours - others for ours, others in zip(*counts, strict=True))
    assert (registered - again, named) == (len(rows), len(protocols)) and len(protocols) == 5


def test_statistics_differ_in_own_lines_only(tshark, tshark_without):
    ours, others = (
        [
            *each.start("-z", "help").stdout.splitlines(),
            *each.start("-z", "help").stderr.splitlines(),
        ]
        for each in (tshark, tshark_without)
    )
    assert len(others) > 50
    assert [line for line in ours if not is_own(line)] == others
    assert [line.strip() for line in ours if is_own(line)] == [
        "conv,smcr",
        "endpoints,smcr",
        "flow,smcr",
        "follow,smcr",
        "smcr,breaches",
        "smcr,connections",
        "smcr,directions",
        "smcr,fabric",
        "smcr,fallbacks",
        "smcr,html",
        "smcr,json",
        "smcr,lines",
        "smcr,links",
        "smcr,points",
        "smcr,report",
        "smcr,rmbs",
        "smcr,srt",
        "smcr,times",
        "smcr,tree",
    ]


def test_decode_as_knows_what_its_dialog_names(tshark):
    """The dialog shows, and saves, who is in front of InfiniBand's dissector."""
    name = "6.1-v1-a-first-contact-ipv4"
    plain, ours = (
        tshark.show(name, "-V", "-d", f"udp.port==49152-65535,{each}")
        for each in ("infiniband", "smcr.roce")
    )
    assert plain == ours
