"""
A reader of RoCEv2 captures on Ethernet that knows neither the plugin nor Wireshark: scapy dissects
the frames. In which network, class and port each packet goes, by flow.
"""

import collections
import functools
import ipaddress

from report_frames import frames
from scapy.contrib.geneve import GENEVE
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import GRE, Dot1AD, Dot1Q, Ether
from scapy.layers.vxlan import VXLAN

ROCE, ACKNOWLEDGES, CNP, CE = 4791, (0x11, 0x12), 0x81, 3
ECN = ("not_ect", "ect1", "ect0", "ce")
Packet = collections.namedtuple(
    "Packet", "frame time length src dst qpn opcode sport network priority dscp ecn outer_ecn"
)


def layers(frame):
    found = [Ether(frame.data)]
    while found[-1].payload:
        found.append(found[-1].payload)
    return found


def traffic_class(layer):
    return layer.tos if isinstance(layer, IP) else layer.tc


def is_roce(layer):
    return isinstance(layer, UDP) and layer.dport == ROCE


def network_of(above):
    """{member: value} as in the report; None: no VLAN and no tunnel. `above`: the layers before the
    packet's own IP header."""
    tunnel, number, tags, after_ip = None, None, [], False
    for layer in above:
        if isinstance(layer, (IP, IPv6)):
            if after_ip:  # a tunnel's IP header follows another one
                tunnel, number, tags = "ip", None, []
            after_ip = True
        elif isinstance(layer, VXLAN):
            tunnel, number, tags, after_ip = "vxlan", layer.vni, [], False
        elif isinstance(layer, GENEVE):
            tunnel, number, tags, after_ip = "geneve", layer.vni, [], False
        elif isinstance(layer, GRE):
            tunnel, number, tags, after_ip = "gre", layer.key or 0, [], False
        elif isinstance(layer, (Dot1Q, Dot1AD)) and layer.vlan:
            tags.append(layer.vlan)
    if after_ip:
        tunnel, number, tags = "ip", None, []
    if tunnel is None and not tags:
        return None
    vlans = [*reversed(tags), None, None]
    return {"tunnel": tunnel, "tunnel_id": number, "vlan": vlans[0], "outer_vlan": vlans[1]}


def packet_of(frame):
    every = layers(frame)
    at = next((i for i, layer in reversed(list(enumerate(every))) if is_roce(layer)), None)
    if at is None:
        return None
    own, above, bth = every[at - 1], every[: at - 1], bytes(every[at].payload)
    tags = [layer for layer in above if isinstance(layer, (Dot1Q, Dot1AD, IP, IPv6))]
    outer = [traffic_class(layer) & 3 for layer in above if isinstance(layer, (IP, IPv6))]
    return Packet(
        frame.number,
        frame.time,
        own.len if isinstance(own, IP) else own.plen + 40,
        str(ipaddress.ip_address(own.src)),
        str(ipaddress.ip_address(own.dst)),
        int.from_bytes(bth[5:8], "big"),
        bth[0],
        every[at].sport,
        network_of(above),
        tags[0].prio if tags and isinstance(tags[0], (Dot1Q, Dot1AD)) else None,
        traffic_class(own) >> 2,
        traffic_class(own) & 3,
        (CE if CE in outer else outer[-1]) if outer else None,
    )


def packets(path):
    """The packets of a capture, in order. The tests write some files more than once."""
    return _packets(path, path.stat().st_mtime_ns, path.stat().st_size)


@functools.lru_cache(4)
def _packets(path, *_):
    return [each for each in map(packet_of, frames(path)) if each]


def kind_of(packet):
    if packet.opcode == CNP:
        return "cnp"
    return "acknowledgement" if packet.opcode in ACKNOWLEDGES else "data"


def counted(values):
    return {str(value): count for value, count in collections.Counter(values).items()}


def codepoints(values):
    counts = collections.Counter(values)
    return {name: counts[code] for code, name in enumerate(ECN)}


def class_of(found):
    outer = [each.outer_ecn for each in found if each.outer_ecn is not None]
    return {
        "packets": len(found),
        "by_dscp": counted(each.dscp for each in found),
        "by_priority": counted(each.priority for each in found if each.priority is not None),
        "ecn": codepoints(each.ecn for each in found),
        "outer_ecn": codepoints(outer) if outer else None,
    }


def name_of(network):
    return tuple((network or {}).values())


def flows(path):
    """{(source, destination, queue pair, network): members of the report}"""
    by_flow = collections.defaultdict(list)
    for each in packets(path):
        by_flow[each.src, each.dst, each.qpn, name_of(each.network)].append(each)
    found = {}
    for key, every in by_flow.items():
        kinds = collections.defaultdict(list)
        for each in every:
            kinds[kind_of(each)].append(each)
        found[key] = {
            "packets": len(every),
            "network": every[0].network,
            "udp_ports": counted(each.sport for each in every),
            "outer_ce": sum(each.outer_ecn == CE != each.ecn for each in every),
            "classes": {
                kind: class_of(kinds[kind]) if kind in kinds else None
                for kind in ("data", "acknowledgement", "cnp")
            },
        }
    return found


def ports(path):
    """{(source, destination, port): packets}"""
    return collections.Counter((each.src, each.dst, each.sport) for each in packets(path))


# ---- congestion ----

MEASURED = 17  # data packets before a CNP and after it, of which the first begins the time
INTERVALS, SHORTEST = 64, 10**6


def spread(times):
    return (len(times), sum(times), min(times, default=None), max(times, default=None))


def pacing(path):
    """{flow: {scope: (count, sum, least, most) of nanoseconds}} of CNPs."""
    last, found = {}, {}
    for each in packets(path):
        if each.opcode != CNP:
            continue
        ends = {
            "flow_s": (each.src, each.dst, each.qpn, name_of(each.network)),
            "pair_s": (each.src, each.dst, name_of(each.network)),
            "source_s": (each.src, None, name_of(each.network)),
            "destination_s": (None, each.dst, name_of(each.network)),
        }
        of_flow = found.setdefault(ends["flow_s"], {scope: [] for scope in ends})
        for scope, key in ends.items():
            if (scope, key) in last:
                of_flow[scope].append(each.time - last[scope, key])
            last[scope, key] = each.time
    return {
        flow: {scope: spread(times) for scope, times in scopes.items()}
        for flow, scopes in found.items()
    }


def _run(found):
    return sum(each.length for each in found[1:]), found[-1].time - found[0].time


def reaction(path, flow, cnps):
    """(number, bytes, nanoseconds, bytes, nanoseconds) before and after the CNPs of the flow
    `cnps`."""
    before, after, sums = [], None, [0] * 5
    for each in packets(path):
        key = each.src, each.dst, each.qpn, name_of(each.network)
        if key == cnps and each.opcode == CNP and after is None and len(before) >= MEASURED:
            after = []
        if (
            key != flow
            or kind_of(each) != "data"
            or (not before and after is None and not each.ecn)
        ):
            continue
        if after is None:
            before.append(each)
            continue
        after.append(each)
        if len(after) == MEASURED:
            for place, value in enumerate((1, *_run(before[-MEASURED:]), *_run(after))):
                sums[place] += value
            before, after = [], None
    return tuple(sums) if sums[0] else None


def shares(path):
    """(begin, length of an interval, packets of each, marked packets of each)"""
    able = [each for each in packets(path) if each.ecn]
    if not any(CE in (each.ecn, each.outer_ecn) for each in able):
        return None
    begin, length = able[0].time, SHORTEST
    while (max(each.time for each in able) - begin) // length >= INTERVALS:
        length *= 2
    every = collections.Counter((each.time - begin) // length for each in able)
    marked = collections.Counter(
        (each.time - begin) // length for each in able if CE in (each.ecn, each.outer_ecn)
    )
    places = range(max(every) + 1)
    return begin, length, [every[i] for i in places], [marked[i] for i in places]
