"""
`connections` and `link_groups` of a report: against the CLC messages as a reader of the bytes knows
them, the bytes that the programs sent, and what the kernels said of their sockets, links and
buffers.
"""

import collections
import functools
import ipaddress
import json
import re
import sys

import ground_truth
import kernel
import proof_packets
import pytest
import report_reader
import report_tcp
import traffic
import wire
from bed import TOP
from report_reader import ACCEPT, CONFIRM, SMC_R
from report_runs import (
    ALL_ONE,
    ALL_TWO,
    MALFORMED,
    ONE,
    PATHS,
    REAL,
    RUNS,
    TWO,
    assert_same,
    copy_of,
    fail_on,
    name_of,
    parse,
    print_json,
    report,
)

sys.path.append(str(TOP / "tests" / "benchmarks"))

import workloads  # noqa: E402
from carriers import Link, Pcap, Smcr  # noqa: E402

LATE = "6.1-v1-c2-capture-starts-late"
PARTS = {LATE, "6.1-v2-g1-server-killed"}  # captures that do not have all that was written
FALLEN = {
    "6.1-v1-f1-decline-server-no-device",
    "6.1-v2-f1-decline-server-no-device",
    "6.1-v2-b-ipv6-client-declines",
    "6.1-v1-f6-decline-confirm-link-timeout",
    "6.1-v2-f6-decline-confirm-link-timeout",
}
TCP = {"6.1-v1-f3-plain-tcp-server"}
NOT_LISTED = {"6.1-v2-f4-plain-tcp-client"}  # no option in either direction
HEALTHY = re.findall(
    r"^- (\S+)$",
    (TOP / "captures" / "README.md")
    .read_text(encoding="utf-8")
    .split("### Healthy")[1]
    .split("###")[0],
    re.MULTILINE,
)
SIDES = ("client", "server")
WAYS = ("client_to_server", "server_to_client")
MTUS = {1: 256, 2: 512, 3: 1024, 4: 2048, 5: 4096}
FIRST_CONTACT = 0x08  # flag of Accept
SMALLEST_BUFFER = 16384

well_formed = pytest.mark.parametrize(
    "name, run", [each for each in RUNS if each[0] not in MALFORMED], ids=name_of
)
real = pytest.mark.parametrize(
    "name, run", [(name, run) for name in REAL for run in (ONE, TWO)], ids=name_of
)
real_in_two = pytest.mark.parametrize("name", REAL)


def by_stream(connections):
    return {each["tcp_stream"]: each for each in connections if each["tcp_stream"] is not None}


# ---- against CLC, as the bytes have it ----


@well_formed
def test_handshakes(tshark, name, run):
    """The connections with the option or CLC: addresses, first numbers, tokens, time of setup,
    outcome."""
    found, wrong = by_stream(report(tshark, name, run)["connections"]), []
    expected = {each["tcp_stream"]: each for each in report_reader.connections(PATHS[name])}
    for stream in sorted({*found, *expected}):
        if stream not in found or stream not in expected:
            wrong.append(
                (f"connections of TCP stream {stream}", stream in found, stream in expected)
            )
            continue
        one, other = found[stream], expected[stream]
        members = [
            "tcp_isn",
            "tokens",
            "client",
            "server",
            "setup",
            *(["outcome"] if other["outcome"] else []),
        ]
        if other["outcome"] != "smc-r":
            members = [member for member in members if member not in ("tokens", "setup")]
        one = {**one, "setup": {name: one["setup"][name] for name in other["setup"]}}
        wrong += [
            (f"{stream}.{member}", one[member], other[member])
            for member in members
            if not alike(one[member], other[member])
        ]
    fail_on(wrong)


def alike(one, other):
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(alike(one[name], other[name]) for name in one)
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) < 1e-9
    return one == other


@well_formed
def test_began_before(tshark, name, run):
    """A connection with a SYN did not begin before the capture."""
    wrong = [
        (f"{each['stream']}.began_before", each["began_before"], "not with a SYN")
        for each in report(tshark, name, run)["connections"]
        if each["began_before"] is not False and each["tcp_isn"]["client"] is not None
    ]
    fail_on(wrong)


def version_of(name):
    """Of the connections that use SMC-R, by the kernels' versions."""
    kernels, offered = name.split("-")[:2]
    return "SMC-R" if offered == "v1" else "SMC-Rv2" if kernels == "6.1" else "SMC-Rv2.1"


def outcome_of(name):
    return "fallback" if name in FALLEN else "tcp" if name in TCP else "smc-r"


@real
def test_outcome_and_version(tshark, name, run):
    """As the programs ran. Connections are numbered as the client opened them."""
    connections = report(tshark, name, run)["connections"]
    if name in NOT_LISTED:
        assert connections == []
        return
    assert [each["outcome"] for each in connections] == [outcome_of(name)] * len(connections)
    streams = {number for number, _ in traffic.streams(PATHS[name].with_suffix(".streams"))}
    assert len(connections) == len(streams)
    wrong = [
        (f"{each['stream']}.version", each["version"], version_of(name))
        for each in connections
        if each["outcome"] == "smc-r"
        and each["version"] != version_of(name)
        and (each["version"] or not each["began_before"])
    ]
    fail_on(wrong)


@real
def test_fallback(tshark, name, run):
    """The code is one that a kernel counted. Where an option is missing, no message has a code."""
    codes = set().union(*kernel.fallback_codes(name))
    wrong = []
    for each in report(tshark, name, run)["connections"]:
        if each["outcome"] != "fallback":
            missing = (
                each["outcome"] == "tcp" and each["fallback"] and each["fallback"]["code"] is None
            )
            if each["fallback"] and not missing:
                wrong.append((f"{each['stream']}.fallback", each["fallback"], None))
        elif not each["fallback"] or codes and int(str(each["fallback"]["code"]), 0) not in codes:
            wrong.append(
                (f"{each['stream']}.fallback", each["fallback"], [hex(code) for code in codes])
            )
    fail_on(wrong)


# ---- bytes of the programs ----


@functools.cache
def numbers_of(name):
    """{TCP stream: number of the connection, as in connNNN}, in the order of the SYNs."""
    began = len(traffic.BEGAN_BEFORE.get(name, ()))
    opened = [flow for flow in report_tcp.flows(PATHS[name]) if flow.isn()["client"] is not None]
    return {flow.stream: number for number, flow in enumerate(opened, began + 1)}


@real
def test_bytes_of_streams(tshark, name, run):
    """What the programs wrote, where the capture has all of it; else at most that. In one pass,
    too."""
    sent = traffic.streams(PATHS[name].with_suffix(".streams"))
    found, wrong = {}, []
    for each in report(tshark, name, run)["connections"]:
        number = numbers_of(name).get(each["tcp_stream"], 1)
        for direction, way in enumerate(WAYS):
            found[number, direction] = each[way]["bytes"]
    if name in NOT_LISTED:
        return
    for (number, direction), stream in sent.items():
        told = found.get((number, direction), 0)
        if not (told == len(stream) or name in PARTS and number == 1 and told <= len(stream)):
            wrong.append((f"connection {number}.{WAYS[direction]}.bytes", told, len(stream)))
    fail_on(wrong)


def test_bytes_of_a_late_capture(tshark):
    """
    captures/README.md tells how much the capture has of its first connection, whose client nothing
    may tell. One pass does not know to which connection the first WRITEs belong.
    """
    first = next(each for each in report(tshark, LATE, TWO)["connections"] if each["began_before"])
    assert sorted(first[way]["bytes"] for way in WAYS) == [700, 900]


def requests(name):
    """RDMA WRITE requests and CDC messages of a capture, each packet once."""
    writes, messages, seen = 0, 0, set()
    for each in wire.roce(PATHS[name]):
        key = each.ends, each.qpn, each.psn
        if each.opcode in (wire.WRITE_FIRST, wire.WRITE_ONLY, wire.SEND_ONLY) and key not in seen:
            seen.add(key)
            writes += each.opcode != wire.SEND_ONLY
            messages += each.opcode == wire.SEND_ONLY and each.payload[:1] == b"\xfe"
    return writes, messages


@pytest.mark.parametrize("name", HEALTHY)
def test_requests(tshark, name):
    """Of all connections together."""
    ways = [each[way] for each in report(tshark, name, TWO)["connections"] for way in WAYS]
    assert (sum(way["writes"] for way in ways), sum(way["cdc"] for way in ways)) == requests(name)


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy(tshark, name):
    """Nothing went wrong; every connection was closed in order, and all was announced and read in
    time."""
    found = report(tshark, name, TWO)
    assert [each["close"] for each in found["connections"]] == ["normal"] * len(
        found["connections"]
    )
    assert found["fallbacks"] == [] and found["breaches"] == []
    assert [each for each in found["findings"] if each["severity"] in ("warn", "error")] == []
    wrong = [
        (f"{each['stream']}.{way}.{member}", each[way][member], 0)
        for each in found["connections"]
        for way in WAYS
        for member in ("repeated_packets", "repeated_bytes", "unannounced_bytes")
        if each[way][member] != 0
    ]
    fail_on(wrong)


@pytest.mark.parametrize("name", ["6.1-v1-e-urgent", "6.1-v2-e-urgent"])
def test_urgent(tshark, name):
    """Each program sends its urgent byte as often as its script says (`o:`)."""
    app = ground_truth.of(name)["apps"][0]
    sent = [sum(script.count("o:") for script in app[side]) for side in SIDES]
    connections = report(tshark, name, TWO)["connections"]
    assert [sum(each[way]["urgent_count"] for each in connections) for way in WAYS] == sent


@pytest.mark.parametrize("name", ["6.1-v1-d-bulk-slow-reader", "6.1-v2-d-bulk-slow-reader"])
def test_slow_reader(tshark, name):
    """The client waited for the server."""
    (each,) = report(tshark, name, TWO)["connections"]
    client, server = (each[way] for way in WAYS)
    assert (
        client["window_full_count"] > 0
        and client["time"]["buffer_full_s"] > 0
        and client["blocked_count"] > 0
    )
    assert (server["window_full_count"], server["blocked_count"]) == (0, 0)


# ---- what the kernels said ----


def gid(text):
    """A GID, which may be told as the IPv4 address that it holds."""
    address = ipaddress.ip_address(text)
    return ipaddress.ip_address(f"::ffff:{address}") if address.version == 4 else address


def with_port(connections, port):
    return next((each for each in connections if each["client"]["port"] == port), None)


def group_of(found, connection):
    return next(
        (group for group in found["link_groups"] if group["index"] == connection["link_group"]),
        None,
    )


@real
def test_sockets(tshark, name, run):
    """Tokens, and the links that the kernels name."""
    found, wrong = report(tshark, name, run), []
    for socket in kernel.sockets(name):
        each = with_port(found["connections"], socket.client_port)
        if each is None:
            if name != LATE:
                wrong.append((f"port {socket.client_port}", None, "a connection"))
            continue
        token = each["tokens"][SIDES[socket.host]]
        if token is None or int(token, 16) != socket.token:
            wrong.append(
                (f"port {socket.client_port}.tokens.{SIDES[socket.host]}", token, hex(socket.token))
            )
        if name in FALLEN:
            continue
        group = group_of(found, each)
        numbers = [link["number"] for link in each["links"]]
        ends = [
            {gid(link[side]["gid"]) for side in SIDES}
            for link in (group or {"links": []})["links"]
            if link["number"] in numbers
        ]
        if (
            {socket.gid, socket.peer_gid} not in ends
            or socket.link not in numbers
            and None not in numbers
        ):
            wrong.append(
                (
                    f"port {socket.client_port}.links",
                    (numbers, ends),
                    (socket.link, socket.gid, socket.peer_gid),
                )
            )
    fail_on(wrong)


# Links that the kernels were still setting up when asked, and that no packet was sent on.
NO_PACKET = {("6.1-v1-h3-asymmetric-links", 2)}


@real
def test_links(tshark, name, run):
    links = [link for group in report(tshark, name, run)["link_groups"] for link in group["links"]]
    told = {
        (link["number"], tuple(gid(link[side]["gid"]) for side in SIDES))
        for link in links
        if None not in (link["client"]["gid"], link["server"]["gid"])
    }
    wrong = []
    for link in kernel.links(name):
        ends = (link.gid, link.peer_gid) if link.host == 0 else (link.peer_gid, link.gid)
        if (name, link.number) not in NO_PACKET and not {(link.number, ends), (None, ends)} & told:
            wrong.append(("link_groups.links", told, (link.number, ends)))
    fail_on(wrong)


@real_in_two
def test_peers_and_eid(tshark, name):
    """A host names its peer, and the EID that both agreed on."""
    groups, wrong = report(tshark, name, TWO)["link_groups"], []
    for host, host_name, eid in kernel.peers(name):
        side = SIDES[host]
        wrong += [
            (
                f"link_groups.peers.{side}, eid",
                (group["peers"][side]["host_name"], group["eid"]),
                (host_name, eid),
            )
            for group in groups
            if (group["peers"][side]["host_name"], group["eid"]) != (host_name, eid)
        ]
    fail_on(wrong)


@real_in_two
def test_vlan(tshark, name):
    assert {group["vlan"] for group in report(tshark, name, TWO)["link_groups"]} <= {
        5 if name == "6.1-v2-v-vlan" else None
    }


@real_in_two
def test_type_of_link_group(tshark, name):
    """The last one that both kernels logged, unless the group has ended since."""
    logged = {tuple(kernel.lgr_types(name, host)) for host in (0, 1)} - {()}
    for group in report(tshark, name, TWO)["link_groups"]:
        if logged and group["ended_frame"] is None:
            assert {types[-1].lower() for types in logged} == {group["type"]}


@real_in_two
def test_links_that_were_added(tshark, name):
    """As many links have come up as the kernels logged, the first one included; some were deleted
    before that."""
    logged = [len(kernel.links_added(name, host)) for host in (0, 1)]
    links = [link for group in report(tshark, name, TWO)["link_groups"] for link in group["links"]]
    if any(logged):
        assert sum(link["state"] == "active" for link in links) <= min(logged)
        assert sum(link["state"] in ("active", "deleted") for link in links) >= max(logged)


@real
def test_sizes_of_rmbs(tshark, name, run):
    found, wrong = report(tshark, name, run), []
    for port, host, size in kernel.buffers(name):
        each, side = with_port(found["connections"], port), SIDES[host]
        if each is None or not size or name in {LATE, *FALLEN}:
            continue
        sizes = {
            rmb["size_bytes"]
            for rmb in group_of(found, each)["rmbs"]
            if rmb["owner"] == side and each["stream"] in rmb["streams"]
        }
        wrong += (
            []
            if sizes == {size}
            else [(f"port {port}, RMB of the {side}: size_bytes", sizes, size)]
        )
    fail_on(wrong)


def rmbs_of(found, index=0):
    return found["link_groups"][index]["rmbs"]


def test_a_refused_deletion_is_none(tshark):
    """The peer refuses to let go of the client's RMB, which the next connection uses."""
    [rmb] = [
        rmb
        for rmb in rmbs_of(report(tshark, "peer-delete-rkey", TWO))
        if {"link": 1, "rkey": "0x0c000302"} in rmb["rkeys"]
    ]
    assert (rmb["owner"], rmb["deleted_frame"], rmb["streams"]) == ("client", None, [1, 2])


@pytest.mark.parametrize("where", ["smcr.stream == 1", "smcr.clc", "smcr.llc"])
def test_rmbs_that_selected_messages_name(tshark, where):
    """Of the others, none is in the report of a filter. What is hidden is not told with its
    frame."""
    name = "6.1-v2-c-three-conns"
    whole = rmbs_of(report(tshark, name, TWO))
    found = rmbs_of(parse(print_json(tshark, copy_of(tshark, name), TWO, where)))
    selected = {
        int(row[0][0]) for row in tshark.fields(name, "frame.number", where=where, two_pass=True)
    }
    named = [
        rmb
        for rmb in whole
        if rmb["confirmed_frame"] in selected
        or where == "smcr.clc"
        and rmb["streams"]
        or where == "smcr.stream == 1"
        and 1 in rmb["streams"]
    ]
    places = [[(rmb["owner"], rmb["va"], rmb["rkeys"]) for rmb in rmbs] for rmbs in (found, named)]
    assert places[0] == places[1] != [] and len(named) < len(whole) + (where == "smcr.clc")
    assert {
        rmb[each] for rmb in found for each in ("confirmed_frame", "deleted_frame")
    } <= selected | {None}


# ---- link groups, by the Accepts and Confirms ----


Offer = collections.namedtuple("Offer", "first_contact gid qpn rkey va size mtu")


def offer(data):
    """What an Accept or a Confirm of SMC-R says of its sender's end."""

    def number(at, size):
        return int.from_bytes(data[at : at + size], "big")

    return Offer(
        bool(data[7] & FIRST_CONTACT),
        ipaddress.ip_address(data[16:32]),
        number(38, 3),
        number(41, 4),
        number(52, 8),
        SMALLEST_BUFFER << (data[50] >> 4),
        MTUS.get(data[50] & 15),
    )


@functools.cache
def agreements(name):
    """{TCP stream: (client's offer, server's)} of the connections that use SMC-R."""
    found = {}
    for flow in report_tcp.flows(PATHS[name]):
        messages = report_reader.clc(flow)[1]
        kinds = {each.kind: each.data for each in messages if each.data[:4] == SMC_R}
        if (
            ACCEPT in kinds
            and CONFIRM in kinds
            and report_reader.connection(flow)["outcome"] == "smc-r"
        ):
            found[flow.stream] = offer(kinds[CONFIRM]), offer(kinds[ACCEPT])
    return found


FULL_PACKETS = (0, 1, 6, 7)  # first and middle packets of SEND and of RDMA WRITE


def agreed_mtu(name, ends):
    """The MTU on which both ends agree. A packet that others follow is as long as the MTU of the
    path: if all such packets are shorter, nobody knows the MTU."""
    agreed = min(each.mtu for each in ends)
    full = max(
        (
            each.payload_length
            for each in proof_packets.frames(PATHS[name])
            if each.opcode & 31 in FULL_PACKETS and each.qpn in [end.qpn for end in ends]
        ),
        default=agreed,
    )
    return agreed if full >= agreed else None


def rkeys(rmb):
    return {int(each["rkey"], 16) for each in rmb["rkeys"]}


@well_formed
def test_agreements(tshark, name, run):
    """A connection is in a link group that has the link and both RMBs that its Accept and Confirm
    name."""
    found, wrong = report(tshark, name, run), []
    connections = by_stream(found["connections"])
    for stream, ends in agreements(name).items():
        each = connections[stream]
        group = group_of(found, each)
        if group is None:
            wrong.append((f"{stream}.link_group", each["link_group"], "a link group"))
            continue
        named = [
            [
                link
                for link in group["links"]
                if link[side]["gid"] is None
                or (gid(link[side]["gid"]), link[side]["qpn"]) == (end.gid, end.qpn)
            ]
            for side, end in zip(SIDES, ends)
        ]
        wrong += (
            []
            if all(named)
            else [(f"{stream}: link", [link["client"] for link in group["links"]], ends)]
        )
        if ends[1].first_contact:  # both name one link, and later MTUs mean nothing
            right = agreed_mtu(name, ends)
            wrong += (
                []
                if any(link in named[1] for link in named[0])
                else [(f"{stream}: one link", named, ends)]
            )
            wrong += [
                (f"{stream}: mtu_bytes of link {link['number']}", link["mtu_bytes"], right)
                for link in named[0]
                if link in named[1] and link["mtu_bytes"] != right
            ]
        for side, end in zip(SIDES, ends):
            rmbs = [
                rmb
                for rmb in group["rmbs"]
                if rmb["owner"] == side
                and end.rkey in rkeys(rmb)
                and each["stream"] in rmb["streams"]
            ]
            good = any(
                rmb["size_bytes"] >= end.size and int(rmb["va"], 16) == end.va
                for rmb in rmbs
                if rmb["va"]
            )
            wrong += [] if good else [(f"{stream}: RMB of the {side}", rmbs or group["rmbs"], end)]
    fail_on(wrong)


@well_formed
def test_one_link_group_has_one_pair_of_queue_pairs(tshark, name, run):
    """Connections whose messages name the same queue pairs are in one link group."""
    connections, groups = by_stream(
        report(tshark, name, run)["connections"]
    ), collections.defaultdict(set)
    for stream, (client, server) in agreements(name).items():
        groups[client.gid, client.qpn, server.gid, server.qpn].add(
            connections[stream]["link_group"]
        )
    if name not in ("vectors",):
        assert [several for several in groups.values() if len(several) > 1] == []


@pytest.mark.parametrize("run", [ALL_ONE, ALL_TWO], ids=name_of)
@pytest.mark.parametrize("name", [name for name in PATHS if name.endswith("-smc")])
def test_handshakes_of_packed_captures(tshark, name, run):
    """All of their connections use SMC-R, but for the TCP that the programs use to meet."""
    outcomes = [each["outcome"] for each in report(tshark, name, run)["connections"]]
    assert_same({"outcomes": outcomes}, {"outcomes": ["smc-r"] * len(agreements(name))})


def test_page_of_many_connections(tshark, scratch):
    """
    The page has the directions that carried most, wherever they stand among more than it keeps at
    once, and of equal ones the first.
    """
    path = scratch / "many.pcap"
    with path.open("wb") as file:
        pcap = Pcap(file)
        link = Link(pcap, 0)
        conns = [workloads.short(link, number, Smcr) for number in range(workloads.PER_LINK)]
        for conn in conns:
            conn.open()
        for conn in [*conns, conns[40], conns[90], conns[90]]:
            workloads.talk(conn)
        for conn in conns:
            conn.close()
    path.chmod(0o644)
    known = json.loads(tshark.show(path, "-q", "-z", "smcr,json"))["connections"]
    ways = [
        (-conn[way]["bytes"], conn[writer]["port"], conn[reader]["port"])
        for conn in known
        for way, writer, reader in (
            ("client_to_server", "client", "server"),
            ("server_to_client", "server", "client"),
        )
    ]
    assert len(ways) == 200
    page = tshark.show(path, "-q", "-z", "smcr,report")
    shown = re.findall(r"^  [0-9.]+:(\d+) → [0-9.]+:(\d+) ", page, re.MULTILINE)
    assert [tuple(map(int, ports)) for ports in shown] == [
        tuple(ports) for _, *ports in sorted(ways, key=lambda way: way[0])[:6]
    ]
    assert "and 194 more" in page
