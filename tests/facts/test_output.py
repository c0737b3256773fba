"""What the packet list and the details pane say of a frame is what the fields say, and each value
means one thing."""

import re

import fields
import ground_truth
import pytest
from bed import ALL, wireshark_version

PORTS = r"(?P<source>\d+) → (?P<target>\d+) "
INFO = re.compile(
    rf"^(?P<trouble>(\[[^]]+\] )*)({PORTS}|Connection (?P<connection>\d+): |Link (?P<link>\d+): )?"
    r"(?P<kind>CLC|LLC|CDC|RDMA WRITE|Part of a message)\b"
)
KINDS = {"smcr.clc": "CLC", "smcr.llc": "LLC", "smcr.cdc": "CDC", "smcr.write": "RDMA WRITE"}
# What has one value in a frame, so that it makes a column.
SINGLE = (
    "smcr.stream",
    "smcr.tcp_stream",
    "smcr.dir",
    "smcr.link.index",
    "smcr.link.number",
    "smcr.lgr",
    "smcr.src_qpn",
    "smcr.dst_qpn",
    "smcr.src_gid",
    "smcr.dst_gid",
    "smcr.llc.qpn",
    "smcr.llc.gid",
    "smcr.request_in",
    "smcr.response_in",
    "smcr.retransmission",
    "smcr.acks",
    "smcr.refuses",
    "smcr.cdc.token",
    "smcr.cdc.seq",
    "smcr.window.free",
    "smcr.window.offered",
    "smcr.cdc.len",
    "smcr.cdc.read",
    "smcr.write.len",
    "smcr.write.offset",
    "smcr.stream.offset",
    "smcr.announced_in",
)
TROUBLE = {  # in brackets: the filter that finds the same frames
    "Retransmission": "smcr.retransmission",
    "Duplicate": "smcr.duplicate",
    "After gap": "smcr.behind_gap and not smcr.missing",
    "Previous packets not captured": "smcr.missing",
    "Writer blocked": "smcr.cdc.writer_blocked == 1",
    "Abort": "smcr.cdc.abort == 1",
    "Window full": "smcr.window.full",
    "Peer silent": "smcr.peer_silent",
    "Failover": "smcr.conn.moved",
    "Window update": "smcr.window.opened",
    "RNR NAK": "smcr.rnr_nak",
    "Link lost": "smcr.llc.delete_reason == 0x00010000 and smcr.llc.response == 0",
}
LOSSY = (
    "6.1-v1-n-lossy",
    "6.1-v2-n-lossy",
    "6.1-v2-d-bulk-slow-reader",
    "7.2-v2-g5-device-removed",
    "6.1-v2-g1-server-killed",
    "6.1-v2-h1-two-links-second-fails",
    "6.1-v1-h3-asymmetric-links",
)

real_captures = pytest.mark.parametrize("name", ground_truth.names())
QUIET = ("-o", "smcr.dissect_payload:FALSE")


INFO_COLUMN = (
    "_ws.col.Info" if wireshark_version() == "4.0" else "_ws.col.info"
)  # 4.4 has renamed it
COLUMNS = (
    "frame.number",
    "_ws.col.Protocol",
    "smcr",
    *KINDS,
    "smcr.acks",
    "smcr.client.port",
    "smcr.server.port",
    "smcr.dir",
    "smcr.stream",
    "smcr.link.number",
    "smcr.window.offered",
    "smcr.clc.type",
)


def rows_with_info(tshark, name, kinds, *names):
    """Rows of Info and the first value of each field, "" where there is none, of frames that have
    one of `kinds`."""
    every = tshark.show_once(
        name,
        *QUIET,
        "-Y",
        " || ".join(["smcr", *KINDS, "smcr.acks"]),
        "-T",
        "fields",
        "-E",
        "occurrence=f",
        *(argument for each in (INFO_COLUMN, *COLUMNS) for argument in ("-e", each)),
    )
    for info, *values in (line.split("\t") for line in every.splitlines()):
        row = dict(zip(COLUMNS, values, strict=True))
        if any(row[kind] for kind in kinds):
            yield [info, *(row[each] for each in names)]


@real_captures
def test_info_says_whose_the_message_is(tshark, name):
    """Ports as TCP's Info has them, in the direction of the frame; else what tells it from
    others."""
    fields = ("smcr.client.port", "smcr.server.port", "smcr.dir", "smcr.stream", "smcr.link.number")
    rows = list(rows_with_info(tshark, name, KINDS, *fields))
    assert rows or "plain-tcp" in name
    for info, client, server, direction, stream, link in rows:
        found = INFO.match(info)
        assert found, info
        if found["source"]:
            assert (found["source"], found["target"]) == (
                (server, client) if direction == "1" else (client, server)
            )
        elif found["connection"]:
            assert found["connection"] == stream and not (client and direction)
        elif found["link"]:
            assert found["link"] == link and not stream
        else:
            assert not stream and not link, info


@real_captures
def test_info_names_the_kind_that_filters_find(tshark, name):
    for kind, text in KINDS.items():
        for info, *_ in rows_with_info(tshark, name, [kind]):
            assert text in info, (kind, info)


@real_captures
def test_acknowledgements_say_what_they_answer(tshark, name):
    for info, acks, protocol in rows_with_info(
        tshark, name, ["smcr.acks"], "smcr.acks", "_ws.col.Protocol"
    ):
        assert re.match(r"(\[[^]]+\] )*RC Acknowledge ", info) and re.search(
            rf" ACK of frame {acks}(, duplicate)?$", info
        )
        assert protocol in ("RRoCE", "RoCE", "InfiniBand", "")


@pytest.mark.parametrize("name", LOSSY)
@pytest.mark.parametrize("words", TROUBLE)
def test_trouble_stands_first(tshark, name, words):
    """The brackets are where the filter says, and before everything else."""
    expected = tshark.frames(name, f"({TROUBLE[words]}) and smcr")
    told = [
        int(number)
        for info, number in rows_with_info(tshark, name, ["smcr"], "frame.number")
        if re.match(rf"^(\[[^]]+\] )*\[{re.escape(words)}[]:]", info)
    ]
    assert told == expected


def test_all_trouble_is_there(tshark):
    """Each bracket is shown by one of the captures above at least."""
    seen = {
        words
        for name in LOSSY
        for words in TROUBLE
        if tshark.frames(name, f"({TROUBLE[words]}) and smcr")
    }
    assert seen >= set(TROUBLE) - {"Duplicate", "RNR NAK"}  # captures/fabric has these


@real_captures
def test_one_value_a_frame(tshark, name):
    for row in tshark.fields(name, "frame.number", *SINGLE, where="smcr", two_pass=True):
        for field, values in zip(SINGLE, row[1:], strict=True):
            assert len(values) <= 1, (row[0], field, values)


@pytest.mark.parametrize("name", ["6.1-v2-h1-two-links-second-fails", "6.1-v1-h4-two-links-rkeys"])
def test_link_numbers_are_those_on_the_wire(tshark, name):
    """A link is found by the number that CONFIRM LINK gives it, and by nothing else."""
    for numbers, told in tshark.fields(
        name, "smcr.link.number", "smcr.llc.link_number", where="smcr.llc.type in {0x01, 0x21}"
    ):
        assert numbers == told
    assert {row[0][0] for row in tshark.fields(name, "smcr.link.number", where="smcr.write")} >= {
        "1",
        "2",
    }


def test_the_old_name_of_the_index_fails(tshark):
    result = tshark.start(
        "-r", tshark.bed.capture("6.1-v2-a-first-contact-ipv4"), "-Y", "smcr.link == 0"
    )
    assert result.returncode != 0 and result.stdout == ""


def test_addresses_take_subnets(tshark):
    name = "6.1-v2-a-first-contact-ipv4"
    expected = tshark.frames(name, "smcr.addr")
    assert expected
    assert tshark.frames(name, "smcr.ip.addr == 10.0.0.0/24") == expected
    assert tshark.frames(name, "smcr.ip.addr == 10.0.1.0/24 or smcr.ipv6.addr") == []
    name = "6.1-v2-b-ipv6-client-declines"
    assert tshark.frames(name, "smcr.ipv6.addr") == tshark.frames(name, "smcr.addr")


def test_a_quoted_packet_is_none(tshark):
    """ICMP errors quote RDMA WRITEs and CDC messages."""
    name = "7.2-v2-g5-device-removed"
    assert len(tshark.frames(name, "icmp and infiniband")) > 10
    assert tshark.frames(name, "icmp and smcr") == []


def test_protocol_hierarchy(tshark):
    """RDMA WRITEs and their data count below SMC-R."""
    printed = tshark.show("6.1-v2-a-first-contact-ipv4", "-q", "-z", "io,phs")
    levels = {
        line.split()[0]: len(line) - len(line.lstrip())
        for line in printed.splitlines()
        if "frames:" in line
    }
    assert "tcp.stream" not in levels and "tcp.payload" not in levels
    assert levels["data"] > levels["smcr"] > levels["infiniband"]


def test_decode_as_learns(tshark, scratch):
    """The handshake was not captured; the user names the port. The connection is found as by the
    heuristic."""
    whole, late = tshark.bed.capture("6.1-v2-a-first-contact-ipv4"), scratch / "late.pcapng"
    tshark.bed.edit(whole, late, "1-3")
    names = (
        "smcr.stream",
        "smcr.client.port",
        "smcr.dir",
        "smcr.link.number",
        "smcr.stream.offset",
        "smcr.request_in",
    )
    arguments = ["-T", "fields", "-Y", "smcr", "-e", "frame.number"]
    for name in names:
        arguments += ["-e", name]
    by_port = tshark.show(late, *arguments, "-d", "tcp.port==12345,smcr")
    assert by_port == tshark.show(late, *arguments)
    assert tshark.show(
        late, "-d", "tcp.port==12345,smcr", "-Y", "smcr.write and smcr.client.port == 42074"
    )


def test_release_of_the_group(tshark):
    """Only the first contact tells the release; the other messages of the group are labelled
    alike."""
    rows = rows_with_info(tshark, "6.12-v2-c-three-conns", ["smcr.clc"], "smcr.clc.type")
    told = [info for info, kind in rows if kind in ("2", "3")]
    assert len(told) == 6 and all("SMC-Rv2.1 " in info for info in told)
    for name in ("6.1-v2-c-three-conns", "6.1-v1-c-three-conns"):
        assert not any("v2.1" in info for info, *_ in rows_with_info(tshark, name, ["smcr.clc"]))


@real_captures
def test_window_means_what_tcp_means(tshark, name):
    """Win is what the sender can take in: its element, less what has been announced to it and it
    has not read."""
    for info, offered in rows_with_info(tshark, name, ["smcr.cdc"], "smcr.window.offered"):
        shown = re.search(r" Win=(\d+)", info)
        assert (shown[1] if shown else "") == offered


TREE = (
    "-Y",
    "frame",
)  # a filter has a tree made; without one, headers of packets that are ours have no dissector


@real_captures
def test_columns_are_the_same_without_a_tree(tshark, name):
    """What a list of packets says does not depend on whether somebody asks for more."""
    assert tshark.show(name) == tshark.show(name, *TREE)


@pytest.mark.parametrize(
    "length", [58, 62, 66, 90, 120]
)  # bytes of a frame: within BTH, AETH, ICRC, payload
@pytest.mark.parametrize("name", LOSSY)
def test_columns_of_cut_frames_are_the_same_without_a_tree(tshark, scratch, name, length):
    path = scratch / "cut.pcapng"
    tshark.bed.edit("-s", length, tshark.bed.capture(name), path)
    assert tshark.show(path) == tshark.show(path, *TREE)


def test_columns_with_names_of_ports_are_the_same_without_a_tree(tshark):
    name = "6.1-v1-c-three-conns"
    assert tshark.show(name, "-N", "t") == tshark.show(name, "-N", "t", *TREE) != tshark.show(name)


def test_bytes_without_write(tshark, scratch):
    """A capture of one host's packets that lacks an RDMA WRITE: the next CDC message announces its
    100 bytes."""
    one_host, lacking = scratch / "one-host.pcapng", scratch / "lacking.pcapng"
    scratch.chmod(0o777)
    tshark.show(
        "6.1-v2-a-first-contact-ipv4",
        "-Y",
        "frame.number < 10 or ip.src == 10.0.0.1",
        "-w",
        one_host,
    )
    first = tshark.frames(one_host, "smcr.write")[0]
    tshark.bed.edit(one_host, lacking, first)
    item = "smcr.cdc.unseen_data"
    assert tshark.frames(one_host, item) == []
    assert tshark.frames(lacking, item) == [first]


def test_packet_above_the_mtu(tshark, scratch):
    """Both ends announce 512 bytes in place of 1024; the longer packets break that."""
    data = bytearray(tshark.bed.capture("6.1-v2-a-first-contact-ipv4").read_bytes())
    for kind in (2, 3):  # Accept, Confirm
        at = data.index(bytes.fromhex("e2d4c3d9") + bytes([kind]))
        assert data[at + 50] & 0x0F == 3
        data[at + 50] -= 1
    path = scratch / "smaller.pcapng"
    path.write_bytes(data)
    path.chmod(0o644)
    item = "smcr.packet_above_mtu"
    assert tshark.frames(path, item) == tshark.frames(path, "smcr.write.len > 512") != []
    assert tshark.frames("6.1-v2-a-first-contact-ipv4", item) == []


def summaries(tshark, name):
    """{summary: how many expert items of SMC-R have it}"""
    table = tshark.show(name, "-2", "-q", "-z", "expert")
    return {
        summary: int(count)
        for count, summary in re.findall(r"^ +(\d+) +\S+ +SMC-R  (.*)$", table, re.MULTILINE)
    }


def test_summaries_of_expert_items_have_no_numbers(tshark):
    """The sentence of its table, in whatever frame, is the summary of an item. The details pane has
    what differs."""
    known = {each.sentence for each in fields.experts()}
    assert len(known) > 150
    for name in (
        *LOSSY,
        *(ground_truth.names() if ALL else ()),
        "clc-contradictions",
        "llc-contradictions",
        "rule-move",
    ):
        found = summaries(tshark, name)
        assert (found or name not in LOSSY) and set(found) <= known, name
        assert len({re.sub(r"\d+", "0", summary) for summary in found}) == len(found), name
    naks = re.findall(
        r"Sequence\): (NAK, .*)\]", tshark.show("6.1-v2-n-lossy", "-2", "-Y", "smcr.nak", "-V")
    )
    assert (
        len(set(naks)) > 10
        and len(naks) == summaries(tshark, "6.1-v2-n-lossy")["NAK: negative acknowledgement"]
    )


def test_a_filter_alone_finds_what_has_a_value(tshark):
    """Each field by itself, when nobody asks for another, in as many frames as have a value of
    it."""
    names = sorted({name for name, *_ in tshark.registered_fields()})
    for capture in ("6.1-v1-a-first-contact-ipv4", "6.1-v2-h1-two-links-second-fails")[: 1 + ALL]:
        rows = tshark.fields(capture, *names, two_pass=True)
        having = {name: sum(bool(row[at]) for row in rows) for at, name in enumerate(names)}
        found = {
            name: len(tshark.show(capture, "-2", "-Y", name).splitlines())
            for name, count in having.items()
            if count
        }
        assert (
            len(found) > 100
            and {
                name: (count, having[name])
                for name, count in found.items()
                if count != having[name]
            }
            == {}
        )
