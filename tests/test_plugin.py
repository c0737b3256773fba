"""The plugin is loaded, says nothing at start, registers what it promises and leaves the rest of Wireshark alone."""

import collections

import pytest
from bed import captures

REPORTS = ["column-formats", "currentprefs", "decodes", "defaultprefs", "dissector-tables", "elastic-mapping",
           "fieldcount", "fields", "ftypes", "heuristic-decodes", "plugins", "protocols", "values"]

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
    tshark.show("tcpopt-variants", "-c", "1", "--disable-heuristic", name)  # complains about unknown names


@pytest.mark.parametrize("name", FIELDS)
def test_field_is_registered(tshark, name):
    assert name in {row[0] for row in tshark.registered_fields()}


@pytest.mark.parametrize("report", ["decodes", "dissector-tables", "fields", "heuristic-decodes", "protocols",
                                    "values"])
def test_reports_differ_in_own_lines_only(tshark, tshark_without, report):
    """The handles that we wrap are listed by the wrapper's name; otherwise no line is changed or gone.
    From 4.4 on, the built-in dissector's heuristic smcr_infiniband is listed, too."""
    lines = (line.replace("\tsmcr.roce", "\tinfiniband") if report == "decodes" else line
             for line in tshark.run("-G", report).splitlines())
    others = collections.Counter(line for line in lines if "smcr" not in line.replace("smcr_infiniband", ""))
    assert others == collections.Counter(tshark_without.run("-G", report).splitlines())


@pytest.mark.parametrize("name", captures())
def test_built_in_dissector_stays_out(tshark, name):
    """No frame is the built-in dissector's: what is SMC-R is ours."""
    layers = {layer for row in tshark.fields(name, "frame.protocols") for layer in row[0][0].split(":")}
    assert "smc" not in layers
