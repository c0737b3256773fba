"""Fields in OpenSearch and Elasticsearch: what `tshark -T ek` prints fits the mapping that
docs/json.md makes."""

import collections
import ipaddress
import json
import subprocess

import pytest
from bed import TOP

MEND = TOP / "docs" / "elastic-mapping.jq"
CAPTURES = [
    "6.1-v2-n-lossy",
    "6.1-v2-h1-two-links-second-fails",
    "6.1-v1-b-first-contact-ipv6",
    "6.1-v2-f1-decline-server-no-device",
    "llc-v2-byte-order",
    "clc-length",
    "llc-counts",
]
RANGES = {"byte": 8, "short": 16, "integer": 32, "long": 64}


def fits_address(value):
    try:
        return bool(ipaddress.ip_address(value))
    except ValueError:
        return False


def fits(value, kind):
    """Whether a value, as it stands in a document, can be indexed."""
    if kind in RANGES:
        half = 1 << RANGES[kind] - 1
        return value.removeprefix("-").isdecimal() and -half <= int(value) < half
    if kind == "unsigned_long":
        return value.isdecimal() and int(value) < 1 << 64
    if kind in ("float", "double"):
        return value.replace(".", "", 1).removeprefix("-").isdecimal()
    if kind == "boolean":
        return value in (True, False, "true", "false")
    return fits_address(value) if kind == "ip" else kind == "keyword"


@pytest.fixture(scope="module")
def raw_mapping(tshark):
    return tshark.run("-G", "elastic-mapping", "--elastic-mapping-filter", "smcr")


@pytest.fixture(scope="module")
def types(tshark, raw_mapping, tmp_path_factory):
    """{name of a field of ours: its type}, in the mapping that is mended."""
    rows = tmp_path_factory.mktemp("fields") / "fields"
    rows.write_text(tshark.run("-G", "fields"), encoding="utf-8")
    result = subprocess.run(
        ["jq", "--rawfile", "fields", rows, "-f", MEND],
        input=raw_mapping,
        capture_output=True,
        text=True,
        check=True,
    )
    of_ours = json.loads(result.stdout)["mappings"]["properties"]["layers"]["properties"]["smcr"][
        "properties"
    ]
    return {name: row["type"] for name, row in of_ours.items()}


def test_each_field_has_one_type(tshark, raw_mapping):
    """In the mapping, where a name may stand twice, and as fields are registered."""
    found = collections.defaultdict(set)

    def note(pairs):
        for name, value in pairs:
            if (
                isinstance(value, dict)
                and isinstance(value.get("type"), str)
                and name.startswith("smcr_")
            ):
                found[name].add(value["type"])
        return dict(pairs)

    json.loads(raw_mapping, object_pairs_hook=note)
    assert (
        len(found) > 200 and {name: kinds for name, kinds in found.items() if len(kinds) > 1} == {}
    )
    names = collections.Counter(
        filter.replace(".", "_") for filter, _, _, _ in tshark.registered_fields()
    )
    assert {
        name for name, count in names.items() if count > 1
    } == set(), "two fields would be one in the index"


def values_of(layer):
    """Names and single values of a document; what only marks a place is null."""
    for name, value in layer.items():
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, dict):
                yield from values_of(each)
            elif each is not None:
                yield name, each


@pytest.mark.parametrize("name", CAPTURES)
def test_documents_fit_the_mapping(tshark, types, name):
    lines = tshark.show(name, "-2", "-Y", "smcr", "-T", "ek", "-J", "smcr").splitlines()
    found = {pair for line in lines[1::2] for pair in values_of(json.loads(line)["layers"]["smcr"])}
    assert len(found) > 20
    unknown = {each for each, _ in found if each not in types and each.startswith("smcr_")}
    assert unknown == set(), "no such field in the mapping"
    assert [
        (each, value, types[each])
        for each, value in found
        if each in types and not fits(value, types[each])
    ] == []
