"""
Captures with many of everything that can grow: link groups, links, queue pairs, RMBs, connections,
EIDs, tokens, RKeys, IDs of communication management, flows, findings, gaps, requests. No peer sends
so many; but the cost of a frame has to stay the same. A kind is a function of a number; it yields
the frames of so many entities.
"""

import struct
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "malformed"), str(TESTS / "synth")]

import alter  # noqa: E402
from smcsynth import clc  # noqa: E402

CLIENT, SERVER = bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])
GID = {address: bytes(10) + b"\xff\xff" + address for address in (CLIENT, SERVER)}
QPN = {CLIENT: 0x11, SERVER: 0x21}
EYECATCHER = b"\xe2\xd4\xc3\xd9"
OPTION = b"\xfe\x06" + EYECATCHER + b"\x01\x01"
SYN, SYN_ACK, PUSH_ACK = 0x02, 0x12, 0x18
SEND_FIRST, SEND_MIDDLE, SEND_ONLY, WRITE_FIRST, WRITE_MIDDLE, WRITE_ONLY, ACKNOWLEDGE = (
    0,
    1,
    4,
    6,
    7,
    10,
    17,
)
UD_SEND_ONLY = 0x64


def u(length, value):
    return (value % (1 << 8 * length)).to_bytes(length, "big")


def frame(source, target, protocol, above):
    network = struct.pack(
        ">BBHHHBBH4s4s", 0x45, 0, 20 + len(above), 0, 0, 64, protocol, 0, source, target
    )
    return bytes(12) + b"\x08\x00" + network + above


def frame6(source, target, above):
    network = u(4, 6 << 28) + u(2, len(above)) + bytes([alter.UDP, 64]) + source + target
    return bytes(12) + b"\x86\xdd" + network + above


def tcp(source, target, port, flags, payload=b"", options=b"", seq=1):
    ports = (port, 5000) if CLIENT == source or SERVER == target else (5000, port)
    header = struct.pack(
        ">HHIIBBHHH", *ports, seq, 1, (20 + len(options)) // 4 << 4, flags, 0xFFFF, 0, 0
    )
    return frame(source, target, alter.TCP, header + options + payload)


def roce(source, target, opcode, psn, payload=b"", qpn=None):
    bth = (
        u(1, opcode)
        + b"\x40\xff\xff"
        + u(4, QPN[target] if qpn is None else qpn)
        + u(4, psn % (1 << 24))
    )
    packet = bth + payload + bytes(4)
    datagram = struct.pack(">HHHH", 50000, 4791, 8 + len(packet), 0) + packet
    return (
        frame6(source, target, datagram)
        if len(source) == 16
        else frame(source, target, alter.UDP, datagram)
    )


def announcement(server, number=0, first=True):
    """Accept or Confirm of version 1; `number` gives it keys of its own, and in a first contact a
    queue pair."""
    address = SERVER if server else CLIENT
    return (
        EYECATCHER
        + bytes([2 if server else 3, 0, 68, 0x18 if first else 0x10])
        + u(8, server)
        + GID[address]
        + u(6, server)
        + u(3, QPN[address] + 64 * number * first)
        + u(4, 0x100 * (1 + server) + number)
        + b"\x01"
        + u(4, 0xA1 + 16 * server + number)
        + b"\x03\0"
        + u(8, 0x10000000 * (1 + server))
        + b"\0"
        + u(3, 1)
        + EYECATCHER
    )


def llc(kind, flags=0, body=b""):
    return (bytes([kind, 44, 0, flags]) + body).ljust(44, b"\0")


def confirm_link(address, response):
    return llc(
        1,
        0x83 if response else 0x03,
        u(6, 1) + GID[address] + u(3, QPN[address]) + b"\x01" + u(4, 1),
    )


def add_link(number, qpn, flags=0, address=SERVER):
    return llc(2, flags, u(6, 2) + GID[address] + u(3, qpn) + u(1, number) + b"\x03" + u(3, 1))


def confirm_rkey(rkey, va, flags=0):
    return llc(6, flags, b"\0" + u(4, rkey) + u(8, va))


def cdc(seq, token, prod=0, cons=0):
    return (
        b"\xfe\x2c"
        + u(2, seq)
        + u(4, token)
        + u(4, prod >> 14)
        + u(4, prod % 16384)
        + u(4, cons >> 14)
        + u(4, cons % 16384)
    ).ljust(44, b"\0")


def first_contact():
    yield tcp(CLIENT, SERVER, 40000, SYN, options=OPTION)
    yield tcp(SERVER, CLIENT, 40000, SYN_ACK, options=OPTION)
    yield tcp(SERVER, CLIENT, 40000, PUSH_ACK, announcement(1), seq=2)
    yield tcp(CLIENT, SERVER, 40000, PUSH_ACK, announcement(0), seq=2)
    yield roce(SERVER, CLIENT, SEND_ONLY, 1, confirm_link(SERVER, False))
    yield roce(CLIENT, SERVER, SEND_ONLY, 1, confirm_link(CLIENT, True))


def reth(rkey, va, length):
    return u(8, va) + u(4, rkey) + u(4, length)


def host(number):
    return bytes([20]) + u(3, number)


def on_link(source, make):
    """Packets of the link after the first contact; `make` gives opcode and payload of number i."""

    def frames(count):
        target = SERVER if source == CLIENT else CLIENT
        yield from first_contact()
        for i in range(count):
            opcode, payload = make(i)
            yield roce(source, target, opcode, 2 + i, payload)

    return frames


def connections(count):
    """SYNs with the option, and nothing else."""
    for i in range(count):
        yield tcp(CLIENT, host(i >> 15), 1024 + (i & 0x7FFF), SYN, options=OPTION)


def accepts(count):
    """Connections with first contact that never come to a Confirm: a link group each."""
    for i in range(count // 2):
        yield tcp(CLIENT, SERVER, 1024 + i % 60000, SYN, options=OPTION, seq=i)
        yield tcp(SERVER, CLIENT, 1024 + i % 60000, PUSH_ACK, announcement(1, i), seq=2)


def acknowledged_gap(count):
    """Messages behind a gap that is never filled."""
    yield from first_contact()
    yield roce(SERVER, CLIENT, ACKNOWLEDGE, 1, u(4, 0x1F000000))
    for i in range(count):
        yield roce(CLIENT, SERVER, SEND_ONLY, 10 + i, cdc(i, 0xB1, i))


def backwards(count):
    """The same, and each comes before the one before."""
    yield from first_contact()
    yield roce(SERVER, CLIENT, ACKNOWLEDGE, 1, u(4, 0x1F000000))
    for i in range(count):
        yield roce(CLIENT, SERVER, SEND_ONLY, 0x7FFFFF - i, cdc(i, 0xB1, i))


def used_again(count):
    """Connections with the addresses and ports of the one before; no sequence number is half the
    circle away from 1, which all of them acknowledge, for TCP would take such a segment for an old
    one."""
    for i in range(count // 2):
        yield tcp(CLIENT, SERVER, 40000, SYN, options=OPTION, seq=0x1000 * i)
        yield tcp(SERVER, CLIENT, 40000, PUSH_ACK, announcement(1, i), seq=0x1000 * i + 2)


def strangers(count):
    """WRITEs to queue pairs that nobody has announced."""
    for i in range(count):
        yield roce(CLIENT, SERVER, WRITE_ONLY, i, reth(i, i, 16) + bytes(16), qpn=i % (1 << 24))


def late_links(count):
    """LLC messages on queue pairs that nobody has announced: each proves a link."""
    for i in range(count):
        yield roce(CLIENT, SERVER, SEND_ONLY, i, llc(7, body=u(16, i)), qpn=i % (1 << 24))


def contacts(count):
    """Connections without first contact: all of one link group, and none ends."""
    yield from first_contact()
    for i in range(count):
        client = host(i >> 15)
        port = 1024 + (i & 0x7FFF)
        isn = 0x1000 * (1 + i) + 1  # equal ones are copies behind a NAT
        yield tcp(client, SERVER, port, SYN, options=OPTION, seq=isn)
        for server in (1, 0):
            source, target = (SERVER, client) if server else (client, SERVER)
            message = announcement(server, 1 + i, first=False)
            yield tcp(source, target, port, PUSH_ACK, message, seq=2 if server else isn + 1)


def declined(count):
    """Connections that fall back, each for another reason of another peer."""
    for i in range(count):
        client, port = host(i >> 15), 1024 + (i & 0x7FFF)
        yield tcp(client, SERVER, port, SYN, options=OPTION)
        yield tcp(SERVER, client, port, SYN_ACK, options=OPTION)
        yield tcp(SERVER, client, port, PUSH_ACK, clc.clc_decline(diagnosis=i, peer=u(8, i)), seq=2)


def eids(count):
    """Proposals of version 2, with an EID each that no other has."""
    for i in range(count):
        client, port = host(i >> 15), 1024 + (i & 0x7FFF)
        proposal = clc.clc_proposal(
            version=2,
            typev1=clc.NEITHER,
            typev2=clc.ONLY_R,
            smcd=clc.smcd_area(v2_offset=28),
            v2=clc.v2_extension(eids=[f"EID-{i}"]),
        )
        yield tcp(client, SERVER, port, SYN, options=OPTION)
        yield tcp(client, SERVER, port, PUSH_ACK, proposal, seq=2)


def withdrawn(count):
    """RMBs that are announced, and deleted."""
    yield from first_contact()
    for i in range(count):
        yield roce(SERVER, CLIENT, SEND_ONLY, 2 + 2 * i, confirm_rkey(0x1000 + i, i << 16))
        yield roce(CLIENT, SERVER, SEND_ONLY, 2 + 2 * i, confirm_rkey(0x1000 + i, i << 16, 0x80))
        yield roce(
            SERVER, CLIENT, SEND_ONLY, 3 + 2 * i, llc(9, 0, b"\x01\0\0\0" + u(4, 0x1000 + i))
        )
        yield roce(
            CLIENT, SERVER, SEND_ONLY, 3 + 2 * i, llc(9, 0x80, b"\x01\0\0\0" + u(4, 0x1000 + i))
        )


def links_in_use(count):
    """Links that are added and confirmed, of one group."""
    yield from first_contact()
    for i in range(count):
        number, qpn = 2 + i % 200, {CLIENT: 0x200000 + i, SERVER: 0x400000 + i}
        for source, target, flags in ((SERVER, CLIENT, 0), (CLIENT, SERVER, 0x80)):
            yield roce(
                source, target, SEND_ONLY, 2 + i, add_link(number, qpn[source], flags, source)
            )
        for source, target, flags in ((SERVER, CLIENT, 3), (CLIENT, SERVER, 0x83)):
            confirm = llc(
                1, flags, u(6, 2) + GID[source] + u(3, qpn[source]) + u(1, number) + u(4, i)
            )
            yield roce(source, target, SEND_ONLY, 1, confirm, qpn=qpn[target])


def links_deleted(count):
    """Links that are added, and deleted again."""
    yield from first_contact()
    for i in range(count):
        yield roce(SERVER, CLIENT, SEND_ONLY, 2 + 2 * i, add_link(2 + i % 200, 0x400000 + i))
        yield roce(
            SERVER, CLIENT, SEND_ONLY, 3 + 2 * i, llc(4, 0x20, u(1, 2 + i % 200) + u(4, 0x10000))
        )


def silence(count):
    """Packets that are sent four times; then the peer answers the next one."""
    yield from first_contact()
    for i in range(count):
        for _ in range(4):
            yield roce(CLIENT, SERVER, SEND_ONLY, 2 + i, cdc(i, 0xB1, i))
        yield roce(SERVER, CLIENT, ACKNOWLEDGE, 2 + i, u(4, 0x1F000000))


def gaps(count):
    """Every other packet is absent."""
    yield from first_contact()
    for i in range(count):
        yield roce(CLIENT, SERVER, SEND_ONLY, 3 + 2 * i, cdc(i, 0xB1, i))


def other_ip(count):
    """A queue pair of another address, a packet each."""
    for i in range(count):
        yield roce(CLIENT, host(i), WRITE_ONLY, i, reth(i, i, 16) + bytes(16), qpn=0x11)


def other_network(count):
    """The same, over IPv6: the hosts differ by their networks, not by what follows."""
    for i in range(count):
        network = bytes.fromhex("2001") + u(6, i)
        yield roce(
            network + u(8, 1), network + u(8, 2), SEND_ONLY, i, llc(7, body=u(16, i)), qpn=0x11
        )


def late_network(count):
    """Two packets each way between hosts of other networks: flows with their answers."""
    for i in range(count):
        one, other = (bytes.fromhex("2001") + u(6, i) + u(8, side) for side in (1, 2))
        yield roce(one, other, WRITE_ONLY, 7, reth(i, i, 16) + bytes(16), qpn=0x11)
        yield roce(other, one, ACKNOWLEDGE, 7, u(4, 0x1F000001), qpn=0x21)


def managed(count):
    """RDMA connections: a REQ of communication management each, with another ID."""
    for i in range(count):
        req = (
            u(4, 1 + i)
            + bytes(4)
            + u(8, 0x01060000 + 4420)
            + bytes(16)
            + u(3, 0x100 + i % 0xF00000)
            + bytes(9)
            + u(3, i)
            + bytes(9)
            + GID[CLIENT]
            + GID[SERVER]
        ).ljust(232, b"\0")
        mad = bytes([1, 7, 2, 3]) + bytes(4) + u(8, 1 + i) + u(2, 0x10) + bytes(6) + req
        yield roce(CLIENT, SERVER, UD_SEND_ONLY, i, u(4, 0x80010000) + u(4, 1) + mad, qpn=1)


KINDS = {
    "connections": connections,
    "accepts": accepts,
    "contacts": contacts,
    "declined": declined,
    "eids": eids,
    "links": on_link(SERVER, lambda i: (SEND_ONLY, add_link(i, 0x1000 + i))),
    "links in use": links_in_use,
    "links deleted": links_deleted,
    "rkeys": on_link(SERVER, lambda i: (SEND_ONLY, confirm_rkey(0x1000 + i, i << 16))),
    "rkeys of one RMB": on_link(
        SERVER,
        lambda i: (
            SEND_ONLY,
            llc(6, 0, b"\1" + u(4, 0x1000) + u(8, 1 << 16) + u(1, 2) + u(4, i) + u(8, 1 << 16)),
        ),
    ),
    "withdrawn": withdrawn,
    "requests": on_link(CLIENT, lambda i: (SEND_ONLY, llc(7, 0, u(16, i)))),
    "writes": on_link(
        CLIENT, lambda i: (WRITE_ONLY, reth(0x200, 0x20000000 + 16 * i % 16384, 16) + bytes(16))
    ),
    "middles": on_link(
        CLIENT,
        lambda i: (
            WRITE_MIDDLE if i else WRITE_FIRST,
            (b"" if i else reth(0x200, 0x20000000, 0xFFFFFFFF)) + bytes(16),
        ),
    ),
    "orphans": on_link(CLIENT, lambda i: (WRITE_MIDDLE, bytes(16))),
    "unread": on_link(CLIENT, lambda i: (SEND_ONLY, cdc(i, 0xB1, i + 1))),
    "tokens": on_link(CLIENT, lambda i: (SEND_ONLY, cdc(i, 0x1000 + i, 1))),
    "parts": on_link(CLIENT, lambda i: (SEND_MIDDLE if i else SEND_FIRST, llc(7))),
    "begun": on_link(CLIENT, lambda i: (SEND_FIRST, llc(7))),
    "gap": acknowledged_gap,
    "backwards": backwards,
    "used again": used_again,
    "strangers": strangers,
    "late links": late_links,
    "silence": silence,
    "gaps": gaps,
    "other IP": other_ip,
    "other network": other_network,
    "answered": late_network,
    "managed": managed,
}


OF_OTHERS = {
    "strangers",
    "other IP",
    "other network",
    "answered",
    "managed",
}  # seen with `smcr.roce` on


def many(file, count, kind):
    """A scene of the benchmark: writes the frames of so many entities, and returns their number."""
    write = file.write
    write(alter.PCAP_HEADER.pack(0xA1B2C3D4, 2, 4, 0, 0, 262144, alter.LINKTYPE_ETHERNET))
    number = 0
    for data in KINDS[kind](count):
        write(
            alter.RECORD_HEADER.pack(number // 1000, number % 1000 * 1000, len(data), len(data))
            + data
        )
        number += 1
    return number
