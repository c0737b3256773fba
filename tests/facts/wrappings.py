"""
Ways in which the same packets come into a capture: tunnels, tags, headers on the way, link types,
file formats.

A wrapping changes each frame or the file, and no packet is lost: what is said of the frames is the
same.
"""

import functools
import struct

import pcapng
import wire
from alterations import Case

ETHERNET_HEADER, IPV4_HEADER, IPV6_HEADER = 14, 20, 40
GRE, IPV6_IN_IP, IPV4_IN_IP, AH, ETHER_IP = 47, 41, 4, 51, 97
TRANSPARENT_ETHERNET = 0x6558
OUTER_MACS = bytes.fromhex("020000000a01020000000a02")
YEAR = 365 * 86_400 * 10**6  # microseconds


def ethertype_of(data):
    return wire.u16(data, 12)


def is_ip(data):
    return ethertype_of(data) in (wire.IPV4, wire.IPV6)


# ---- around the Ethernet frame, or what is behind its addresses ----


def ethernet(ethertype, payload):
    return OUTER_MACS + ethertype.to_bytes(2, "big") + payload


def ipv4(protocol, payload):
    return ethernet(
        wire.IPV4,
        struct.pack(
            ">BBHHHBBH4s4s",
            0x45,
            0,
            IPV4_HEADER + len(payload),
            1,
            0,
            64,
            protocol,
            0,
            bytes([198, 51, 100, 1]),
            bytes([198, 51, 100, 2]),
        )
        + payload,
    )


def ipv6(protocol, payload):
    address = bytes.fromhex("20010db8000000000000000000000a")
    return ethernet(
        wire.IPV6,
        struct.pack(">IHBB", 6 << 28, len(payload), protocol, 64)
        + address
        + b"\1"
        + address
        + b"\2"
        + payload,
    )


def udp(outer, port, payload):
    return outer(
        wire.UDP, struct.pack(">HHHH", 54321, port, wire.UDP_HEADER + len(payload), 0) + payload
    )


def tagged(data, *tags):
    """Tags behind the addresses: (Ethernet type, two bytes)."""
    return data[:12] + b"".join(struct.pack(">HH", *tag) for tag in tags) + data[12:]


def labels(count):
    """A stack of MPLS labels."""
    return b"".join(
        ((1000 + i) << 12 | (i == count - 1) << 8 | 64).to_bytes(4, "big") for i in range(count)
    )


def gre(outer, protocol, payload, flags=0, options=b""):
    return outer(GRE, struct.pack(">HH", flags, protocol) + options + payload)


def pppoe(data):
    protocol = {wire.IPV4: 0x0021, wire.IPV6: 0x0057}[ethertype_of(data)]
    payload = protocol.to_bytes(2, "big") + data[14:]
    return data[:12] + struct.pack(">HBBHH", 0x8864, 0x11, 0, 7, len(payload)) + payload


def snap(data):
    rest = b"\xaa\xaa\x03\0\0\0" + data[12:]
    return data[:12] + len(rest).to_bytes(2, "big") + rest if len(rest) <= 1500 else data


def ip_in(outer, data):
    return outer(IPV4_IN_IP if ethertype_of(data) == wire.IPV4 else IPV6_IN_IP, data[14:])


def geneve(data, options=b""):
    return udp(
        ipv4,
        6081,
        struct.pack(">BBHI", len(options) // 4, 0, TRANSPARENT_ETHERNET, 7 << 8) + options + data,
    )


def authenticated(data):
    inner = IPV4_IN_IP if ethertype_of(data) == wire.IPV4 else IPV6_IN_IP
    return ipv4(AH, struct.pack(">BBHII", inner, 4, 0, 1, 1) + bytes(12) + data[14:])


# Wrappings of any frame, and of frames that carry IP.
ANY = {
    "VLAN": lambda data: tagged(data, (wire.VLAN, 5)),
    "VLAN 0": lambda data: tagged(data, (wire.VLAN, 0x6000)),
    "two VLANs": lambda data: tagged(data, (0x88A8, 5), (wire.VLAN, 6)),
    "three VLANs": lambda data: tagged(data, (0x88A8, 5), (wire.VLAN, 6), (wire.VLAN, 7)),
    "VN-Tag": lambda data: data[:12] + b"\x89\x26\0\1\0\2" + data[12:],
    "provider backbone": lambda data: ethernet(0x88E7, b"\0\0\0\7" + data),
    "802.3, SNAP": snap,
    "other addresses of Ethernet": lambda data: bytes(x ^ 4 for x in data[:12]) + data[12:],
    "pseudowire": lambda data: ethernet(0x8847, labels(2) + bytes(4) + data),
    "GRE, Ethernet": lambda data: gre(ipv4, TRANSPARENT_ETHERNET, data),
    "NVGRE": lambda data: gre(ipv4, TRANSPARENT_ETHERNET, data, 0x2000, b"\0\0\7\0"),
    "GRE on IPv6, Ethernet": lambda data: gre(ipv6, TRANSPARENT_ETHERNET, data),
    "ERSPAN": lambda data: gre(ipv4, 0x88BE, data),
    "ERSPAN II": lambda data: gre(ipv4, 0x88BE, b"\x10\5\0\1" + bytes(4) + data, 0x1000, bytes(4)),
    "ERSPAN III": lambda data: gre(ipv4, 0x22EB, b"\x20\5\0\1" + bytes(8) + data, 0x1000, bytes(4)),
    "EtherIP": lambda data: ipv4(ETHER_IP, b"\x30\0" + data),
    "VXLAN": lambda data: udp(ipv4, 4789, b"\x08" + bytes(6) + b"\0" + data),
    "VXLAN on IPv6": lambda data: udp(ipv6, 4789, b"\x08" + bytes(6) + b"\0" + data),
    "VXLAN behind VLAN": lambda data: tagged(
        udp(ipv4, 4789, b"\x08" + bytes(7) + data), (wire.VLAN, 5)
    ),
    "VXLAN GPE": lambda data: udp(ipv4, 4790, b"\x0c\0\0\3" + bytes(4) + data),
    "Geneve": geneve,
    "Geneve with options": lambda data: geneve(data, b"\0\1\x80\1\0\0\0\7"),
    "TZSP": lambda data: udp(ipv4, 37008, b"\1\0\0\1\1" + data),
}
OF_IP = {
    "MPLS": lambda data: data[:12] + b"\x88\x47" + labels(1) + data[14:],
    "three MPLS labels": lambda data: data[:12] + b"\x88\x47" + labels(3) + data[14:],
    "MPLS in UDP": lambda data: udp(ipv4, 6635, labels(1) + data[14:]),
    "PPPoE": pppoe,
    "GRE": lambda data: gre(ipv4, ethertype_of(data), data[14:]),
    "GRE with key and number": lambda data: gre(
        ipv4, ethertype_of(data), data[14:], 0x3000, bytes(8)
    ),
    "GRE on IPv6": lambda data: gre(ipv6, ethertype_of(data), data[14:]),
    "IP in IPv4": lambda data: ip_in(ipv4, data),
    "IP in IPv6": lambda data: ip_in(ipv6, data),
    "GTP": lambda data: udp(
        ipv4, 2152, struct.pack(">BBHI", 0x30, 255, len(data) - 14, 7) + data[14:]
    ),
    "IPsec AH": authenticated,
}


# ---- in the IP header ----


def with_bytes(data, at, new):
    return data[:at] + new + data[at + len(new) :]


def hops(data):
    return with_bytes(data, 22 if ethertype_of(data) == wire.IPV4 else 21, b"\x21")


def service(data):
    """DSCP 46; the two bits of ECN stay."""
    if ethertype_of(data) == wire.IPV4:
        return with_bytes(data, 15, bytes([46 << 2 | data[15] & 3]))
    word = wire.u16(data, 14) & 0xF03F | 46 << 6
    return with_bytes(data, 14, word.to_bytes(2, "big"))


def flow_label(data):
    return (
        with_bytes(data, 15, bytes([data[15] & 0xF0 | 5]) + b"\x12\x34")
        if ethertype_of(data) == wire.IPV6
        else data
    )


def source_port(data):
    """RoCE from another UDP port, as a sender chooses it for ECMP."""
    at = 14 + ((data[14] & 15) * 4 if ethertype_of(data) == wire.IPV4 else IPV6_HEADER)
    protocol = data[23 if ethertype_of(data) == wire.IPV4 else 20]
    if protocol != wire.UDP or wire.u16(data, at + 2) != wire.ROCE_PORT:
        return data
    return with_bytes(data, at, (0xC000 | data[at + 15]).to_bytes(2, "big"))


def ip_option(data):
    if ethertype_of(data) != wire.IPV4:
        return data
    length = (wire.u16(data, 16) + 4).to_bytes(2, "big")
    end = 14 + (data[14] & 15) * 4
    return (
        data[:14]
        + bytes([data[14] + 1, data[15]])
        + length
        + data[18:end]
        + b"\x94\4\0\0"
        + data[end:]
    )


def extension(data, kind, rest):
    """A header of 8 bytes between that of IPv6 and the next one."""
    if ethertype_of(data) != wire.IPV6:
        return data
    length = (wire.u16(data, 18) + 8).to_bytes(2, "big")
    return data[:18] + length + bytes([kind]) + data[21:54] + data[20:21] + rest + data[54:]


IN_IP = {
    "other TTL": hops,
    "DSCP": service,
    "flow label": flow_label,
    "other source ports": source_port,
    "IPv4 option": ip_option,
    "hop-by-hop options": functools.partial(extension, kind=0, rest=b"\0\1\4" + bytes(4)),
    "destination options": functools.partial(extension, kind=60, rest=b"\0\1\4" + bytes(4)),
    "routing header": functools.partial(extension, kind=43, rest=bytes(7)),
    "fragment header": functools.partial(extension, kind=44, rest=b"\0\0\0\0\0\0\7"),
}


# ---- files ----

LINK_TYPES = {  # name: number, what comes instead of the Ethernet header
    "Linux cooked": (
        113,
        lambda data: struct.pack(">HHH", 0, 1, 6) + data[6:12] + bytes(2) + data[12:],
    ),
    "Linux cooked v2": (
        276,
        lambda data: data[12:14]
        + struct.pack(">HIHBB", 0, 2, 1, 0, 6)
        + data[6:12]
        + bytes(2)
        + data[14:],
    ),
}
IP_LINK_TYPES = {
    "raw IP": (101, lambda data: data[14:]),
    "BSD loopback": (
        0,
        lambda data: struct.pack("<I", 2 if ethertype_of(data) == wire.IPV4 else 30) + data[14:],
    ),
    "PPP": (
        9,
        lambda data: b"\xff\3"
        + (b"\0\x21" if ethertype_of(data) == wire.IPV4 else b"\0\x57")
        + data[14:],
    ),
}


def write_as(path, head, frames, link_type=wire.ETHERNET, digits=6, interfaces=0):
    """As pcapng with interfaces of this link type, as many as before or as told; times have so many
    digits behind the second."""
    interfaces = interfaces or len(pcapng.link_types(head))
    every = (
        frames
        if digits == 6
        else [pcapng.at_time(frame, pcapng.time(frame) * 1000) for frame in frames]
    )
    pcapng.write(path, pcapng.section() + pcapng.interface(link_type, digits) * interfaces, every)


def write_pcap(path, head, frames, order, digits):
    """As pcap, of either byte order."""
    magic, unit = {6: (0xA1B2C3D4, 10**6), 9: (0xA1B23C4D, 10**9)}[digits]
    parts = [struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 262144, wire.ETHERNET)]
    for frame in frames:
        seconds, rest = divmod(pcapng.time(frame), 10**6)
        data = pcapng.data(frame)
        parts += [
            struct.pack(
                order + "IIII",
                seconds,
                rest * (unit // 10**6),
                len(data),
                pcapng.wire_length(frame),
            ),
            data,
        ]
    path.write_bytes(b"".join(parts))


FILES = {
    "pcap": functools.partial(write_pcap, order="<", digits=6),
    "pcap, nanoseconds": functools.partial(write_pcap, order="<", digits=9),
    "pcap, big-endian": functools.partial(write_pcap, order=">", digits=6),
    "pcapng, nanoseconds": functools.partial(write_as, digits=9),
}


def two_interfaces(frames, second):
    """Frames come from two interfaces; `second` says of a frame's bytes whether it comes from the
    second."""
    return [pcapng.of_interface(frame, int(second(pcapng.data(frame)))) for frame in frames]


def is_tcp(data):
    return is_ip(data) and data[23 if ethertype_of(data) == wire.IPV4 else 20] == wire.TCP


# ---- addresses ----


def addresses(data):
    """Where source and destination are, and how many bytes each."""
    at, size = (26, 4) if ethertype_of(data) == wire.IPV4 else (22, 16)
    return (at, at + size), size


def translated(frames, old, new):
    """NAT of TCP."""

    def translate(data):
        places, size = addresses(data)
        for at in places if is_tcp(data) else ():
            if data[at : at + size] == old:
                data = with_bytes(data, at, new)
        return data

    return changed(frames, translate)


def translations(whole):
    """The addresses of the client and of the server of the first TCP connection are others."""
    ends = next(
        (packet.ends for packet in wire.packets(whole.path) if isinstance(packet, wire.Segment)),
        None,
    )
    for who, (address, _) in zip(("client", "server"), ends or ()):
        if len(address) == 4 and ends[0][0] != ends[1][0]:
            new = bytes([192, 0, 2, 77])
            yield Case(
                f"NAT of the {who}",
                functools.partial(translated, old=address, new=new),
                names=(
                    (".".join(map(str, new)), ".".join(map(str, address))),
                    ("; the server is outside the subnet of the client", ""),
                ),
            )


# ---- cases ----


def changed(frames, change):
    """Each frame that `change` knows, of these that carry IP or of all."""
    return [pcapng.with_data(frame, change(pcapng.data(frame))) for frame in frames]


def changed_ip(frames, change):
    return changed(frames, lambda data: change(data) if is_ip(data) else data)


def padded(frames):
    """Each short frame that is not truncated: bytes after a truncated one would be its own."""
    return [
        pcapng.with_data(frame, data + bytes(max(0, 72 - len(data))))
        if len(data) == pcapng.wire_length(frame)
        else frame
        for frame, data in ((frame, pcapng.data(frame)) for frame in frames)
    ]


def later(frames, years):
    return [pcapng.at_time(frame, pcapng.time(frame) + years * YEAR) for frame in frames]


def wrappings(whole):
    """Cases of a capture of Ethernet frames."""
    every = [pcapng.data(frame) for frame in whole.frames]
    if set(pcapng.link_types(whole.head)) != {wire.ETHERNET} or not every:
        return []
    cases = [Case(name, functools.partial(changed, change=change)) for name, change in ANY.items()]
    cases += [
        Case(name, functools.partial(changed_ip, change=change))
        for name, change in (*OF_IP.items(), *IN_IP.items())
    ]
    cases += [
        Case(
            name,
            functools.partial(changed, change=change),
            functools.partial(write_as, link_type=number),
        )
        for name, (number, change) in (
            *LINK_TYPES.items(),
            *(IP_LINK_TYPES.items() if all(map(is_ip, every)) else ()),
        )
    ]
    cases += [Case(name, list, write) for name, write in FILES.items()]
    cases += [
        Case(
            name,
            functools.partial(two_interfaces, second=second),
            functools.partial(write_as, interfaces=2),
        )
        for name, second in (
            ("an interface of each host", lambda data: data[6:12] == every[0][6:12]),
            ("an interface for TCP", is_tcp),
        )
    ]
    return [
        *cases,
        Case("padding", padded),
        Case("30 years later", functools.partial(later, years=30)),
        *translations(whole),
    ]
