"""
Networks and classes of RDMA flows: VLANs and tunnels keep flows apart that have equal addresses and
queue pairs, and the report says of each flow in which classes and from which ports its packets go,
as a reader of the bytes finds it. What decides that a packet is RoCE is the UDP destination port.
"""

import random
import re
import struct

import class_reader
import pytest
from bed import TOP
from report_frames import frames
from report_runs import PREFERENCES, TWO, parse, print_json
from scapy.contrib.geneve import GENEVE
from scapy.contrib.mpls import MPLS
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import GRE, Dot1AD, Dot1Q, Ether
from scapy.layers.vxlan import VXLAN
from scapy.packet import Raw
from scapy.utils import EDecimal, PcapNgReader, wrpcap

# Without the check of ICRCs, which are zeros in made packets. Linux's old port of VXLAN: Wireshark
# takes it for another protocol's. The pseudowire: 4.0 guesses that it has a control word, from the
# makers of the adapters; 4.4 and 4.6 guess that it has none.
ROCE = (
    *("-o", "smcr.roce:TRUE"),
    *("-d", "udp.port==8472,vxlan"),
    *("-d", "mpls.label==7,pwethcw"),
)
ONE, OTHER, SWITCH = "192.0.2.1", "192.0.2.2", "198.51.100.1"
WRITE, ACK, CNP = 0x0A, 0x11, 0x81
READ, FIRST, MIDDLE, LAST = 0x0C, 0x0D, 0x0E, 0x0F
PAYLOAD = bytes(15) + b"\x40" + b"data" * 16  # RETH and 64 bytes
AETH = b"\x1f\x00\x00\x01"
BETWEEN = 0.0001  # seconds
OUTER = IP(src=SWITCH, dst="198.51.100.2")
OUTER6 = IPv6(src="2001:db8::1", dst="2001:db8::2")


def ether():
    return Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")


# The layers around a packet, by their name and a number of the network.
AROUND = {
    "vlan": lambda n: ether() / Dot1Q(vlan=n, prio=n % 8),
    "qinq": lambda n: ether() / Dot1AD(vlan=7, prio=3) / Dot1Q(vlan=n, prio=5),
    "qinq-outer": lambda n: ether() / Dot1AD(vlan=n) / Dot1Q(vlan=7),
    "vxlan": lambda n: ether() / OUTER / UDP(sport=5000, dport=4789) / VXLAN(vni=n) / ether(),
    "vxlan-linux": lambda n: ether() / OUTER / UDP(sport=5000, dport=8472) / VXLAN(vni=n) / ether(),
    "vxlan-vlan": lambda n: ether()
    / Dot1Q(vlan=9, prio=3)
    / OUTER6
    / UDP(sport=5000, dport=4789)
    / VXLAN(vni=5)
    / ether()
    / Dot1Q(vlan=n, prio=6),
    "geneve": lambda n: ether()
    / OUTER
    / UDP(sport=1, dport=6081)
    / GENEVE(vni=n, proto=0x6558, options=bytes(8))
    / ether(),
    "gre": lambda n: ether() / OUTER / GRE(key_present=1, key=n, proto=0x0800),
    "gre-ethernet": lambda n: ether()
    / OUTER6
    / GRE(key_present=1, key=n, seqnum_present=1, chksum_present=1, proto=0x6558)
    / ether(),
}


NAMES = {
    "vlan": ("VLAN 10", "VLAN 20"),
    "qinq": ("VLAN 7.10", "VLAN 7.20"),
    "qinq-outer": ("VLAN 10.7", "VLAN 20.7"),
    "vxlan-vlan": ("VLAN 10, VNI 5", "VLAN 20, VNI 5"),
    "gre": ("GRE key 10", "GRE key 20"),
    "gre-ethernet": ("GRE key 10", "GRE key 20"),
}


def bth(opcode, qpn, psn, p_key=0xFFFF, reserved=0):
    return struct.pack(">BBHII", opcode, 0, p_key, reserved << 24 | qpn, psn)


def roce(src, dst, qpn, opcode, psn, *, traffic_class=0, sport=50000, **of_bth):
    rest = {
        WRITE: PAYLOAD,
        ACK: AETH,
        CNP: bytes(16),
        READ: PAYLOAD[:14] + b"\x10\x00",  # 4096 bytes
        FIRST: AETH + bytes(1024),
        MIDDLE: bytes(1024),
        LAST: AETH + bytes(1024),
    }[opcode]
    return (
        IP(src=src, dst=dst, tos=traffic_class, id=psn & 0xFFFF, flags="DF")
        / UDP(sport=sport, dport=4791)
        / Raw(bth(opcode, qpn, psn, **of_bth) + rest + bytes(4))
    )


def write(scratch, name, packets):
    """The frames, each a while after the one before."""
    path = scratch / f"{name}.pcap"
    for number, packet in enumerate(packets):
        packet.time = 1700000000 + number * BETWEEN
    wrpcap(str(path), packets)
    return path


def talk(around, count=12, psn=100, data=0, ack=0, **options):
    """One host writes to the other's queue pair 17, and the other acknowledges, from queue pair
    17."""
    for number in range(count):
        yield around / roce(ONE, OTHER, 17, WRITE, psn + number, traffic_class=data, **options)
        yield around / roce(OTHER, ONE, 17, ACK, psn + number, traffic_class=ack, **options)


def cnps(around, count, traffic_class=0):
    for _ in range(count):
        yield around / roce(OTHER, ONE, 17, CNP, 0, traffic_class=traffic_class)


def report_of(tshark, path):
    return parse(print_json(tshark, tshark.bed.capture(path), TWO, options=ROCE))


def found_flows(report):
    """As the reader has them."""
    return {
        (
            flow["src"],
            flow["dst"],
            flow["dst_qpn"],
            class_reader.name_of(flow["network"]),
        ): {
            **{name: flow[name] for name in ("packets", "network", "outer_ce", "classes")},
            "udp_ports": {str(each["port"]): each["packets"] for each in flow["udp_ports"]},
        }
        for flow in report["rdma_flows"]
    }


def expect(tshark, path):
    """The report says what the reader finds. Returns the report."""
    report = report_of(tshark, path)
    assert found_flows(report) == class_reader.flows(path)
    assert {
        (each["src"], each["dst"], each["port"]): each["packets"] for each in report["udp_ports"]
    } == class_reader.ports(path)
    return report


# ---- networks ----


@pytest.mark.parametrize("around", AROUND)
def test_equal_addresses_in_two_networks(tshark, scratch, around):
    """Two connections with equal addresses, queue pairs and ports, packet by packet in turn:
    nothing is missing or retransmitted, and each flow has the opposite one of its network."""
    first, second = talk(AROUND[around](10)), talk(AROUND[around](20), psn=5000)
    path = write(scratch, around, [each for pair in zip(first, second) for each in pair])
    report = expect(tshark, path)
    flows = report["rdma_flows"]
    assert len(flows) == 4
    for flow in flows:
        assert (flow["missing"], flow["repeated"], flow["copies"]) == (0, 0, 0)
        peer = flows[flow["peer"]]
        assert (peer["network"], peer["dst"]) == (flow["network"], flow["src"])
    assert [each["flows"] for each in report["udp_ports"]] == [[0, 1], [2, 3]]
    page = page_of(tshark, path)
    assert all(f"{name})" in page for name in NAMES.get(around, ("VNI 10", "VNI 20")))
    assert "No fault" in page


def page_of(tshark, path):
    return tshark.show(path, "-2", "-q", *PREFERENCES, *ROCE, "-z", "smcr,report")


NOT_COMPARED = ("index", "peer", "network", "classes", "udp_ports")


def without_frames(flow):
    """What a flow has in every network."""
    if not isinstance(flow, dict):
        return flow
    return {
        name: without_frames(value)
        for name, value in flow.items()
        if name not in NOT_COMPARED and not name.endswith("_frame")
    }


def wrapped(data, around):
    """A frame of Ethernet in a network: what its Ethernet header carries, after other layers."""
    last = around.lastlayer()
    setattr(last, "proto" if isinstance(last, GRE) else "type", int.from_bytes(data[12:14], "big"))
    return bytes(around / Raw(data[14:]))


@pytest.mark.parametrize(
    "name, around",
    [("cm-rping", "vlan"), ("cnp-np-cm", "vxlan"), ("nocm-perftest", "gre"), ("uc-ud", "qinq")],
)
def test_real_traffic_in_two_networks(tshark, scratch, name, around):
    """Each frame twice, in two networks: the flows of both are those of the capture, with
    connections of RDMA-CM, causes and times."""
    original = TOP / "captures" / "fabric" / f"{name}.pcapng.gz"
    path = scratch / f"{name}-twice.pcap"
    rows = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1)]
    for frame in frames(original):
        for number in (10, 20):
            layers = AROUND[around](number)
            layers.lastlayer().type = int.from_bytes(frame.data[12:14], "big")
            data = wrapped(frame.data, layers)
            time = divmod(frame.time, 10**9)
            rows.append(struct.pack("<IIII", *time, len(data), len(data)) + data)
    path.write_bytes(b"".join(rows))
    before = report_of(tshark, original)["rdma_flows"]
    after = report_of(tshark, path)["rdma_flows"]
    for number in (10, 20):
        of_network = [flow for flow in after if number in flow["network"].values()]
        assert list(map(without_frames, of_network)) == list(map(without_frames, before))
        places = {flow["index"]: place for place, flow in enumerate(of_network)}
        assert [places.get(flow["peer"]) for flow in of_network] == [
            flow["peer"] for flow in before
        ]


def test_tunnels_that_name_no_network(tshark, scratch):
    """IP in IP, GRE without a key, priority tags, and what is around a mirrored frame."""
    around = [
        ether() / OUTER6,
        ether() / IP(src=SWITCH, dst="198.51.100.2", tos=3) / OUTER,
        ether() / OUTER / GRE(proto=0x0800),
        ether() / Dot1Q(vlan=0, prio=4),
    ]
    path = write(
        scratch,
        "unnamed",
        [each for n, one in enumerate(around) for each in talk(one, 4, psn=100 + 4 * n)],
    )
    report = expect(tshark, path)
    assert [flow["network"] and flow["network"]["tunnel"] for flow in report["rdma_flows"]] == [
        *("ip", "ip", "gre", "gre", None, None),
    ]


def test_headers_that_are_passed_over(tshark, scratch):
    """MPLS with one label and two, Ethernet in MPLS after a control word, and PPPoE, in a VLAN."""
    tagged = ether() / Dot1Q(vlan=10, prio=2)
    wire = ether() / Dot1Q(vlan=11)
    around = [
        tagged / MPLS(label=5, s=1),
        tagged / MPLS(label=5, s=0) / MPLS(label=6, s=1),
    ]
    packets = [each for n, one in enumerate(around) for each in talk(one, 4, psn=100 + 4 * n)]
    expect(tshark, write(scratch, "passed-over", packets))
    inner = [bytes(each) for each in talk(wire, 4)]
    control_word = tagged / MPLS(label=7, s=1) / Raw(bytes(4))
    path = write(scratch, "pseudowire", [control_word / Raw(each) for each in inner])
    flows = report_of(tshark, path)["rdma_flows"]
    assert [flow["network"]["vlan"] for flow in flows] == [11, 11]
    session = [
        ether()
        / Dot1Q(vlan=12, type=0x8864)
        / Raw(struct.pack(">BBHHH", 0x11, 0, 1, len(each) - 16, 0x21) + each[18:])
        for each in inner
    ]
    flows = report_of(tshark, write(scratch, "pppoe", session))["rdma_flows"]
    assert [flow["network"]["vlan"] for flow in flows] == [12, 12]


def test_a_mirror_is_no_network(tshark, scratch):
    """ERSPAN: the class and the network are those of the mirrored frame."""
    mirrored = [bytes(each) for each in talk(AROUND["vlan"](10), data=0x6A)]
    headers = {
        "I": GRE(proto=0x88BE),
        "II": GRE(proto=0x88BE, seqnum_present=1) / Raw(b"\x10" + bytes(7)),
        "III": GRE(proto=0x22EB, seqnum_present=1) / Raw(b"\x20" + bytes(10) + b"\x01" + bytes(8)),
    }
    marked = ether() / Dot1Q(vlan=99, prio=1) / IP(src=SWITCH, dst=SWITCH, tos=3)
    plain = write(scratch, "plain", list(talk(AROUND["vlan"](10), data=0x6A)))
    expected = class_reader.flows(plain)
    for kind, header in headers.items():
        path = write(scratch, f"mirror-{kind}", [marked / header / Raw(each) for each in mirrored])
        assert found_flows(report_of(tshark, path)) == expected, kind


def test_headers_that_end_early(tshark, scratch):
    """Each cut of frames with each kind of header: no crash, and one report."""
    cut = [
        Raw(bytes(frame)[:length])
        for around in AROUND.values()
        for frame in talk(around(10), 1)
        for length in range(14, 150, 3)
    ]
    report = report_of(tshark, write(scratch, "cut", [Ether(bytes(each)) for each in cut]))
    assert report["capture"]["frames"] == len(cut)


# ---- what is RoCE ----


@pytest.mark.parametrize("sport", [69, 53, 161, 2152])
def test_the_destination_port_decides(tshark, scratch, sport):
    """Whoever owns the source port, whatever partition key and reserved bits the packets have."""
    path = write(
        scratch,
        f"port-{sport}",
        [
            packet
            for p_key in (0xFFFF, 0x7FFF, 0x8001, 0x0001)
            for reserved in (0, 0x10, 0x3F)
            for packet in talk(ether(), 2, p_key * 16 + reserved, p_key=p_key, reserved=reserved)
        ],
    )
    other = write(scratch, "other", list(talk(ether(), 24, sport=sport, p_key=0x8001)))
    assert sum(flow["packets"] for flow in expect(tshark, path)["rdma_flows"]) == 48
    assert sum(flow["packets"] for flow in expect(tshark, other)["rdma_flows"]) == 48


# ---- classes ----

DATA, QUICK = 26 << 2 | 2, 48 << 2  # DSCP 26 with ECT(0); DSCP 48
TAGGED = ether() / Dot1Q(vlan=5, prio=3)
SCENES = {
    # name: frames, {kind of finding: its count}
    "one class": (lambda: [*talk(ether(), data=DATA, ack=DATA)], {}),
    "cnps apart": (
        lambda: [*talk(ether(), data=DATA, ack=DATA), *cnps(ether(), 3, QUICK)],
        {"congestion": 3},
    ),
    "cnps as data": (
        lambda: [*talk(ether(), data=DATA, ack=DATA), *cnps(ether(), 3, 26 << 2)],
        {"congestion": 3, "class_of_cnps": 3},
    ),
    "cnps of another priority": (
        lambda: [
            *talk(TAGGED, data=DATA, ack=DATA),
            *cnps(ether() / Dot1Q(vlan=5, prio=6), 3, 26 << 2),
        ],
        {"congestion": 3},
    ),
    "acknowledgements apart": (
        lambda: [*talk(ether(), data=DATA, ack=QUICK)],
        {"class_of_acks": 12},
    ),
    "data in two classes": (
        lambda: [
            *talk(ether(), 6, data=DATA, ack=DATA),
            *talk(ether(), 2, 106, data=10 << 2, ack=DATA),
        ],
        {"class_of_data": 2},
    ),
    "data with two priorities": (
        lambda: [*talk(TAGGED, 6), *talk(ether() / Dot1Q(vlan=5, prio=1), 2, 106)],
        {"class_of_data": 2},
    ),
    "marks of the underlay": (
        lambda: [*talk(tunnel(3), data=DATA, ack=DATA)],
        {"congestion": 24},
    ),
}


@pytest.mark.parametrize("scene", SCENES)
def test_findings(tshark, scratch, scene):
    make, expected = SCENES[scene]
    path = write(scratch, scene.replace(" ", "-"), make())
    report = expect(tshark, path)
    assert {each["kind"]: each["count"] for each in report["findings"]} == expected


def tunnel(traffic_class):
    outer = IP(src=SWITCH, dst="198.51.100.2", tos=traffic_class)
    return ether() / outer / UDP(sport=5000, dport=4789) / VXLAN(vni=5) / ether()


@pytest.mark.parametrize("passes", [1, 2])
def test_cnp_before_the_flows_are_a_pair(tshark, scratch, passes):
    """CNPs come before two acknowledgements have proven which flow they slow down. Each answers
    the mark before it nevertheless. A CNP without a mark before it answers none."""
    for marks, early, text in (
        (1, 1, "2 CNPs in answer"),
        (0, 1, "2 CNPs, 1 of them in answer to a c"),
        (1, 3, "4 CNPs in answer"),
    ):
        packets = []
        for psn in range(105 - early, 105):
            mark = DATA | (3 if marks else 2)
            packets.append(roce(ONE, OTHER, 17, WRITE, psn, traffic_class=mark))
            packets += cnps(ether(), 1, QUICK)
        packets += [
            *talk(ether(), 4, psn=105, data=DATA | 2),
            roce(ONE, OTHER, 17, WRITE, 109, traffic_class=DATA | 3),
            *cnps(ether(), 1, QUICK),
        ]
        packets = [each if Ether in each else ether() / each for each in packets]
        path = write(scratch, f"early-{marks}-{early}", packets)
        options = ("-2",) if passes == 2 else ()
        page = tshark.show(path, *options, "-q", *PREFERENCES, *ROCE, "-z", "smcr,report")
        assert text in " ".join(page.split()), page
        flow = report_of(tshark, path)["rdma_flows"][0]
        times = flow["ce_to_cnp_s"]
        assert times["count"] == 1 + marks * early
        assert times["min"] == times["max"] == pytest.approx(BETWEEN, rel=0.01)


def test_marks_of_a_tunnel_get_cnps(tshark, scratch):
    """A mark of the underlay becomes a mark of the packet (RFC 6040), which the receiver answers
    with a CNP; the report tells them apart. Not of a packet that is Not-ECT."""
    for data, marks in ((DATA, 1), (26 << 2, 0)):
        packets = [
            *talk(tunnel(2), 4, data=data),
            tunnel(3) / roce(ONE, OTHER, 17, WRITE, 104, traffic_class=data),
            *cnps(tunnel(0), 1, QUICK),
        ]
        report = expect(tshark, write(scratch, f"marks-{marks}", packets))
        there = report["rdma_flows"][0]
        assert (there["outer_ce"], there["ecn"]["ce"]) == (1, 0)
        assert there["ce_to_cnp_s"]["count"] == marks
        shown = tshark.show(
            scratch / f"marks-{marks}.pcap",
            *("-2", *ROCE, "-Y", "smcr.ecn.outer == 3", "-T", "fields", "-e", "frame.number"),
            *("-e", "smcr.ecn", "-e", "smcr.ecn.cnp_in"),
        )
        assert shown.split() == (["9", "2", "10"] if marks else ["9"])


def lost(traffic_class):
    """A NAK, and the sender steps back."""
    there = {
        "src": ONE,
        "dst": OTHER,
        "qpn": 17,
        "traffic_class": traffic_class,
    }
    packets = list(talk(ether(), 4, data=traffic_class))
    packets += [ether() / roce(**there, opcode=WRITE, psn=psn) for psn in range(104, 108)]
    nak = ether() / roce(OTHER, ONE, 17, ACK, 104)
    nak[Raw].load = bth(ACK, 17, 104) + b"\x60\x00\x00\x01" + bytes(4)
    packets.append(nak)
    for psn in range(104, 108):
        again = ether() / roce(**there, opcode=WRITE, psn=psn)
        again[IP].id = psn + 500
        packets.append(again)
    packets.append(ether() / roce(OTHER, ONE, 17, ACK, 107))
    return packets


@pytest.mark.parametrize("traffic_class, cannot", [(26 << 2, True), (DATA, False)])
def test_lost_data_that_no_switch_could_mark(tshark, scratch, traffic_class, cannot):
    path = write(scratch, f"lost-{traffic_class}", lost(traffic_class))
    found = {each["kind"]: each for each in report_of(tshark, path)["findings"]}
    assert ("not_ect" in found) == cannot
    if cannot:
        assert found["not_ect"]["count"] == found["loss"]["count"] == 4
        assert "a congested switch can only drop them" in found["not_ect"]["text"]


def test_texts(tshark, scratch):
    """Each finding names the flow, and both classes."""
    texts = {}
    for scene, (make, _) in SCENES.items():
        report = report_of(tshark, write(scratch, "scene", make()))
        texts |= {each["kind"]: each["text"] for each in report["findings"]}
    flow = "192.0.2.1 QP 17 → 192.0.2.2 QP 17"
    assert texts["class_of_acks"] == (
        f"{flow}: data packets have DSCP 26, their acknowledgements DSCP 48"
    )
    assert texts["class_of_data"] == (
        f"{flow} (VLAN 5): 2 packets of data have priority 1, the others priority 3"
    )
    words = f"{flow}: CNPs have DSCP 26, as the data has, and wait"
    assert texts["class_of_cnps"].startswith(words)
    assert texts["congestion"].startswith(
        "Congestion: 24 of 24 packets between 192.0.2.1 and 192.0.2.2 marked CE (on the tunnel)"
    )


@pytest.mark.parametrize("name", ["cnp-np-cm", "rnr-nak", "cm-rping-ipv6", "nvme-rdma"])
def test_classes_of_real_traffic(tshark, name):
    path = TOP / "captures" / "fabric" / f"{name}.pcapng.gz"
    report = report_of(tshark, path)
    assert found_flows(report) == class_reader.flows(path)
    expect_congestion(report, path)


# ---- congestion ----


def nanoseconds(seconds):
    return None if seconds is None else round(seconds * 1e9)


def key_of(flow):
    return flow["src"], flow["dst"], flow["dst_qpn"], class_reader.name_of(flow["network"])


def spread_of(times):
    return times["count"], *(nanoseconds(times[name]) for name in ("sum", "min", "max"))


def expect_congestion(report, path):
    """Pace of CNPs, rates before and after them, and the share of marks are those of the bytes."""
    flows, share = report["rdma_flows"], report["marked_share"]
    assert {
        key_of(flow): {scope: spread_of(times) for scope, times in flow["cnp_pacing"].items()}
        for flow in flows
        if flow["cnp_pacing"]
    } == class_reader.pacing(path)
    for flow in flows:
        cnps = None if flow["peer"] is None else key_of(flows[flow["peer"]])
        found = flow["reaction"] and tuple(
            round(value * 1e9) if name.endswith("_s") else value
            for name, value in flow["reaction"].items()
        )
        assert found == (cnps and class_reader.reaction(path, key_of(flow), cnps))
    expected = class_reader.shares(path)
    assert (share is None) == (expected is None)
    if share:
        begin, length, packets, marked = expected
        assert share["begin_time"] == f"{begin // 10**9}.{begin % 10**9:09}"
        assert (nanoseconds(share["interval_s"]), share["packets"], share["marked"]) == (
            *(length, packets, marked),
        )
        ratios = [mark / max(every, 1) for mark, every in zip(marked, packets)]
        assert ratios[share["worst"]] == max(ratios)


@pytest.mark.parametrize("seed", range(3))
def test_congestion_made_at_random(tshark, scratch, seed):
    """A sender that slows down after CNPs, with marks of its own and of a tunnel; other CNPs come
    from the same host and to the same host."""
    chance, packets, now, gap = random.Random(seed), [], 1700000000.0, 0.00001
    for psn in range(300):
        around = chance.choice((ether(), tunnel(chance.choice((2, 3))))) if seed else ether()
        data = chance.choice((DATA, DATA | 3, DATA, 26 << 2 if seed == 2 else DATA))
        packets.append(around / roce(ONE, OTHER, 17, WRITE, psn, traffic_class=data))
        now += gap * chance.randrange(1, 9)
        packets[-1].time = now
        if psn % 3 == 0:
            packets.append(around / roce(OTHER, ONE, 17, ACK, psn))
            packets[-1].time = now + gap / 10
        if chance.random() < 0.1:
            others = ((OTHER, ONE, 17), (OTHER, SWITCH, 17), (SWITCH, ONE, 18))
            packets.append(around / roce(*chance.choice(others), CNP, 0))
            packets[-1].time, gap = now + gap / 5, gap * 1.3
    path = scratch / f"congestion-{seed}.pcap"
    wrpcap(str(path), packets)
    report = report_of(tshark, path)
    expect_congestion(report, path)
    if seed == 0:
        assert report["rdma_flows"][0]["reaction"]["measured"] > 2
        page = page_of(tshark, path)
        assert "Congestion: at most " in page
        assert " before CNPs, " in " ".join(page.split())


def test_traffic_made_at_random(tshark, scratch):
    """All values of DSCP, ECN, priority and port."""
    chance, packets = random.Random(72), []
    for number in range(600):
        around = chance.choice(list(AROUND.values()))(chance.randrange(1, 4))
        for layer in around.iterpayloads():
            if isinstance(layer, IP):
                layer.tos = chance.randrange(256)
        opcode = chance.choice((WRITE, ACK, CNP))
        ends = (ONE, OTHER) if chance.random() < 0.5 else (OTHER, ONE)
        packets.append(
            around
            / roce(
                *ends,
                chance.randrange(17, 20),
                opcode,
                number,
                traffic_class=chance.randrange(256),
                sport=chance.randrange(49152, 49160),
            )
        )
    expect(tshark, write(scratch, "random", packets))


# ---- who sends, where ports prove nothing ----

PAIRS = ((17, 1235), (18, 1236))  # queue pairs of ONE and of OTHER
FIRST_PSNS = (5000, 7_000_000)


def sprayed_port(number):
    return 49152 + number * 7 % 8


def one_port(_):
    return 49152


def talk_of_pairs(port, psns=FIRST_PSNS, count=12):
    """ONE writes from both queue pairs, and each packet is acknowledged. port(n): source port of
    the n-th packet"""
    number = 0
    for at in range(count):
        for way in ("data", "ack"):
            for (near, far), first in zip(PAIRS, psns):
                number += 1
                ends = (ONE, OTHER, far, WRITE) if way == "data" else (OTHER, ONE, near, ACK)
                yield ether() / roce(*ends, first + at, sport=port(number))


@pytest.mark.parametrize("port", [sprayed_port, one_port])
@pytest.mark.parametrize("psns", [FIRST_PSNS, (5000, 5000)], ids=("own", "equal"))
def test_senders_that_only_psns_prove(tshark, scratch, port, psns):
    """A sprayed flow, and flows that share a port, have the sender whose requests are answered,
    if no other one has requests with these PSNs."""
    path = write(scratch, "pairs", list(talk_of_pairs(port, psns)))
    flows = report_of(tshark, path)["rdma_flows"]
    senders = {(flow["src"], flow["dst_qpn"]): flow["src_qpn"] for flow in flows}
    assert senders == {
        ends: sender if psns == FIRST_PSNS else None
        for near, far in PAIRS
        for ends, sender in (((ONE, far), near), ((OTHER, near), far))
    }
    written = [flow for flow in flows if flow["src"] == ONE]
    for times in [flow[name] for flow in written for name in ("ack_time_s", "completion_time_s")]:
        assert 12 - 5 < times["count"] < 12 if psns == FIRST_PSNS else times["count"] == 0
        # messages that were complete before the proof are left out
        assert times["max"] in (None, pytest.approx(2 * BETWEEN, rel=0.01))


def talk_of_reads(port, count, first=5000):
    """ONE reads, one READ at a time. port(n): source port of the n-th packet of a direction"""
    for psn in range(first, first + 4 * count, 4):
        yield ether() / roce(ONE, OTHER, 1235, READ, psn, sport=port(psn))
        for at, opcode in enumerate((FIRST, MIDDLE, MIDDLE, LAST)):
            yield ether() / roce(OTHER, ONE, 17, opcode, psn + at, sport=port(psn + at))


def test_who_reads_with_one_read_at_a_time(tshark, scratch):
    """How many responses a READ has is not known before the next one: its later responses prove
    nothing, and nothing to the contrary. Without ports, four READs prove the peers."""
    for name, port, count, is_proven in (
        ("one port", one_port, 2, True),
        ("sprayed", sprayed_port, 8, True),
        ("sprayed", sprayed_port, 1, False),
    ):
        path = write(scratch, "reads", list(talk_of_reads(port, count)))
        flows = report_of(tshark, path)["rdma_flows"]
        found = {flow["dst_qpn"]: flow["src_qpn"] for flow in flows}
        assert found == ({17: 1235, 1235: 17} if is_proven else {17: None, 1235: None}), name


@pytest.mark.parametrize("last", ["one more flow of data", "one more flow of answers"])
def test_a_port_that_gets_another_flow(tshark, scratch, last):
    """A third flow has the port of two. Four responses prove the two nevertheless; two do not."""
    of_third = (ONE, OTHER, 18, WRITE) if last.endswith("data") else (OTHER, ONE, 1236, ACK)
    for responses, sender in ((2, None), (4, 1235)):
        packets = []
        for psn in range(responses):
            packets.append(ether() / roce(ONE, OTHER, 17, WRITE, 5000 + psn))
            packets.append(ether() / roce(OTHER, ONE, 1235, ACK, 5000 + psn))
        packets.append(ether() / roce(*of_third, 9))
        path = write(scratch, f"third-{responses}", packets)
        flows = report_of(tshark, path)["rdma_flows"]
        assert {flow["dst_qpn"]: flow["src_qpn"] for flow in flows} == {
            17: sender,
            1235: sender and 17,
            of_third[2]: None,
        }


MIRRORED = TOP / "captures" / "fabric" / "cnp-np-cm.pcapng.gz"


def both_sides(way):
    """Each packet as it enters a switch, and 4 us later as it leaves it: marked only there, or
    marked already, or shown in the wrong order; with a router's hop, or without one."""
    with PcapNgReader(str(MIRRORED)) as reader:
        for packet in reader:
            enters, leaves = packet.copy(), packet.copy()
            leaves.time += EDecimal("0.000004")
            if IP in packet and packet[IP].tos & 3 == 3 and way != "marked before":
                enters[IP].tos ^= 1  # ECT(0)
                del enters[IP].chksum
            if IP in packet and way == "router":
                leaves[IP].ttl -= 1
                del leaves[IP].chksum
            if way == "swapped":
                enters, leaves = leaves, enters
                enters.time, leaves.time = leaves.time, enters.time
            yield from (enters, leaves)


def in_short(report):
    """What does not depend on how often a packet was captured."""
    flows = report["rdma_flows"]
    return {
        "kinds": [each["kind"] for each in report["findings"]],
        "marks": [each["ecn"]["ce"] + each["outer_ce"] - each["marked_again"] for each in flows],
        "cnps": [each["cnp"] - each["cnp_copies"] for each in flows],
        "answers": [each["ce_to_cnp_s"]["count"] for each in flows],
        "least": [each["cnp_pacing"] and each["cnp_pacing"]["flow_s"]["min"] for each in flows],
        "repeated": [each["repeated"] for each in flows],
    }


def rdma_cm_messages(tshark, path):
    """(packets, messages that came twice) of RDMA-CM, as the tree of messages counts them."""
    lines = tshark.show(path, *ROCE, "-q", "-z", "smcr,tree").split("RDMA-CM")[1].splitlines()
    copies = [line.split()[5] for line in lines if line.split()[:2] == ["Duplicate,", "made"]]
    return int(lines[0].split()[0]), sum(map(int, copies))


def test_a_mirror_of_both_sides_of_a_switch(tshark, scratch):
    """A mark counts once for a packet, and a CNP once; RDMA-CM retransmits no message, and a
    message counts once."""
    calm = ("--disable-protocol", "rpcordma")
    once = parse(print_json(tshark, MIRRORED, TWO, options=ROCE))
    assert sum(in_short(once)["marks"]) == 112 and sum(in_short(once)["cnps"]) == 80
    for way in ("marked here", "marked before", "swapped", "router"):
        packets = sorted(both_sides(way), key=lambda packet: packet.time)
        path = scratch / "both-sides.pcap"
        wrpcap(str(path), packets, nano=True)
        found = parse(print_json(tshark, path, TWO, options=ROCE))
        assert in_short(found) == in_short(once), way
        messages, copies = rdma_cm_messages(tshark, path)
        assert copies and messages == 2 * copies, way
        marked = sum(IP in each and each[IP].tos & 3 == 3 for each in packets)
        frames_of = [each["count"] for each in found["findings"] if each["kind"] == "congestion"]
        assert frames_of == [marked + 160] and marked in (112, 224)
        page = " ".join(tshark.show(path, *ROCE, *calm, "-2", "-q", "-z", "smcr,report").split())
        assert re.search(r"112 of 1,7\d\d packets .* marked CE; 80 CNPs", page), page
