"""
RoCE that is not analysed, without smcr.roce: the report counts in it what a reader of the bytes
counts; the page and a finding name it, and say how to see more.
"""

import collections

import pytest
from report_frames import RC, frames, packet
from report_runs import ALL_TWO, CALM, ONE, PATHS, TWO, copy_of, parse, print_json
from report_runs import report as report_of
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import GRE
from scapy.layers.vxlan import VXLAN
from scapy.packet import Raw
from test_classes import AROUND
from test_classes import ONE as ONE_END
from test_classes import OTHER as OTHER_END
from test_classes import SWITCH, WRITE, ether, roce, write

OTHERS = [
    "rnr-nak",
    "nak-errors",
    "cnp-np-cm",
    "ecn-sce-cm",
    "nocm-psn-wrap",
    "icrc-wrong",
    "cm-verbs",
    "uc-ud",
    "cm-many",
]
FILTER = (
    "(udp.dstport == 4791 || (infiniband && !(udp.srcport == 4791))) && !smcr && !icmp && !icmpv6"
)
RESPONSES, READ_RESPONSES = range(13, 19), range(13, 17)
CNP, ACK, RNR_NAK, NAK, CE, FAR = 0x81, 0x11, 1, 3, 3, 1 << 16
SIGNS = ("repeated", "naks", "rnr_naks", "ce", "cnp")


def signs_of(roce, highest):
    """The signs of trouble in one packet. highest: {(queue pair, whether of responses to READs):
    highest PSN}"""
    found = collections.Counter(ce=roce.ecn == CE, cnp=roce.opcode == CNP)
    if roce.opcode == ACK and roce.syndrome is not None:
        found["naks"] = roce.syndrome >> 5 & 3 == NAK
        found["rnr_naks"] = roce.syndrome >> 5 & 3 == RNR_NAK
    elif roce.opcode >> 5 == RC and (roce.opcode in READ_RESPONSES or roce.opcode not in RESPONSES):
        key = (roce.dst, roce.qpn), roce.opcode in READ_RESPONSES
        back = (highest.get(key, roce.psn - 1) - roce.psn) % (1 << 24)
        found["repeated"] = back < FAR
        if back >= FAR:
            highest[key] = roce.psn
    return +found


def expected(path):
    """The entry of the report, of a capture without SMC-R."""
    highest, found, first = {}, collections.Counter(), None
    for frame in frames(path):
        roce = packet(frame)
        if not hasattr(roce, "psn"):
            continue
        found["packets"] += 1
        if roce.kind not in ("ipv4", "ipv6"):
            found["unread"] += 1
            continue
        signs = signs_of(roce, highest)
        first = first or (frame.number if signs else None)
        found += signs
    return {
        **{name: found[name] for name in ("packets", "unread", *SIGNS)},
        "queue_pairs": sum(not of_responses for _, of_responses in highest),
        "first_frame": first,
    }


@pytest.mark.parametrize("name", OTHERS)
def test_counts_are_those_of_the_bytes(tshark, name):
    truth = expected(PATHS[name])
    for run in (ONE, TWO):
        report = report_of(tshark, name, run)
        others = dict(report["other_roce"])
        assert (others.pop("first_time") is None) == (truth["first_frame"] is None)
        assert others == truth
        found = [each for each in report["findings"] if each["kind"] == "other_roce"]
        assert len(found) == any(truth[each] for each in SIGNS)
        for each in found:
            assert (each["count"], each["frame"]) == (truth["packets"], truth["first_frame"])
            assert each["filter"] == FILTER
    shown = tshark.run(
        *("-n", *CALM, "-2", "-r", copy_of(tshark, name), "-Y", FILTER),
        *("-T", "fields", "-e", "frame.number"),
    )
    assert len(shown.split()) == truth["packets"]


MARKED_OUTSIDE, PLAIN = 3, 2  # traffic classes of the tunnel


@pytest.mark.parametrize("around", ["vxlan", "gre", "ip"])
def test_marks_of_tunnels(tshark, scratch, around):
    """CE on the IP header of the tunnel is a sign, too; the frame counts once."""
    tunnels = {
        "vxlan": UDP(sport=5000, dport=4789) / VXLAN(vni=7) / ether(),
        "gre": GRE(proto=0x0800),
        "ip": None,
    }
    classes = [PLAIN, MARKED_OUTSIDE, PLAIN, MARKED_OUTSIDE, MARKED_OUTSIDE]
    packets = []
    for psn, (outside, inside) in enumerate(zip(classes, [2, 2, 3, 3, 0])):
        outer = ether() / IP(src=SWITCH, dst="198.51.100.2", tos=outside)
        outer = outer / tunnels[around] if tunnels[around] else outer
        packets.append(outer / roce(ONE_END, OTHER_END, 17, WRITE, psn, traffic_class=inside))
    path = write(scratch, around, packets)
    report = parse(print_json(tshark, tshark.bed.capture(path), TWO))
    assert (report["other_roce"]["ce"], report["other_roce"]["first_frame"]) == (4, 2)
    [finding] = report["findings"]
    assert finding["kind"] == "other_roce" and "4 marked CE" in finding["text"]


def test_nothing_is_left_out(tshark):
    """With smcr.roce, and of SMC-R alone."""
    assert report_of(tshark, "rnr-nak", ALL_TWO)["other_roce"] is None
    assert report_of(tshark, "cnp-smc", TWO)["other_roce"] is None


def test_smcr_beside_others(tshark):
    """Each packet of RoCE is counted once: as SMC-R's, or as another's."""
    report = report_of(tshark, "cm-and-smc", TWO)
    counted = report["summary"]["rdma_flows"]["packets"]
    assert report["capture"]["roce_frames"] == counted + report["other_roce"]["packets"]
    assert report["other_roce"]["packets"] > counted > 0


def hidden(port, name, count=6):
    """Packets of RoCE from a port of another protocol, with a reserved bit and another P_Key."""
    for psn in [*range(count), 2]:
        packet = ether() / roce(ONE_END, OTHER_END, 17, WRITE, psn, sport=port)
        packet[Raw].load = packet[Raw].load[:2] + name + packet[Raw].load[4:]
        yield packet
        yield ether() / roce(OTHER_END, ONE_END, 18, ACK, psn)


@pytest.mark.parametrize("port", [69, 53, 161, 1812, 4789])
@pytest.mark.parametrize("name", [b"\xff\xff", b"\x80\x01"])
def test_ports_of_other_protocols(tshark, scratch, port, name):
    """The source port decides nothing: each packet to port 4791 counts, with its trouble."""
    path = write(scratch, "hidden", list(hidden(port, name)))
    for run in (ONE, TWO):
        report = parse(print_json(tshark, tshark.bed.capture(path), run))
        found = report["other_roce"]
        assert (found["packets"], found["unread"], found["repeated"]) == (14, 0, 1)
        assert report["capture"]["roce_frames"] == 14 and report["ip"]["packets"] == 0
    shown = tshark.run(
        *("-n", *CALM, "-2", "-r", str(path), "-Y", FILTER, "-T", "fields", "-e", "frame.number")
    )
    assert len(shown.split()) == 14


def clients():
    """Clients of other protocols whose port is that of RoCE, and the servers' answers: over IPv4,
    IPv6 and VXLAN, to ports of known protocols and of none. The data look like RoCE."""
    data = bytes.fromhex("0a40ffff00000202") + bytes(72)
    name = bytes.fromhex("0a400100000100000000000004686f7374076578616d706c650000010001")
    for version in (4, 6):
        ends = [f"192.0.2.{n}" if version == 4 else f"2001:db8::{n}" for n in (1, 9)]
        ip = IP if version == 4 else IPv6
        for port, payload in ((53, name), (443, data), (50000, data), (6081, data), (40000, data)):
            around = AROUND["vxlan"](7) if port == 40000 else ether()
            there = ip(src=ends[0], dst=ends[1]) / UDP(sport=4791, dport=port)
            back = ip(src=ends[1], dst=ends[0]) / UDP(sport=port, dport=4791)
            yield from (around / way / Raw(payload) for way in (there, back, there, back))


def test_datagrams_of_other_protocols(tshark, scratch):
    """The destination port decides: a TFTP server that sends to the port of RoCE sends no RoCE; nor
    does a client from this port, nor its server. A sender of RoCE may use it as its source port."""
    data = bytes.fromhex("00030001") + b"twenty-one bytes here"
    tftp = [ether() / IP(src=ONE_END, dst=OTHER_END) / UDP(sport=69, dport=4791) / Raw(data)] * 3
    own_port = [ether() / roce(ONE_END, OTHER_END, 17, WRITE, psn, sport=4791) for psn in range(4)]
    rows = (("tftp", tftp, 0), ("clients", list(clients()), 0), ("own", own_port, 4))
    both = (("all", [*clients(), *own_port], 4), ("all-later", [*own_port, *clients()], 4))
    for name, packets, count in (*rows, *both):
        path = tshark.bed.capture(write(scratch, name, packets))
        for run in (ONE, TWO, ALL_TWO):
            report = parse(print_json(tshark, path, run))
            assert report["capture"]["roce_frames"] == count, (name, run)
            assert report["ip"]["packets"] == len(packets) - count
            flows = report["summary"]["rdma_flows"]["packets"] if run == ALL_TWO else 0
            others = (report["other_roce"] or {"packets": 0})["packets"]
            assert (flows, others) == ((count, 0) if run == ALL_TWO else (0, count)), (name, run)
