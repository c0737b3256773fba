"""
Real captures of which one message breaks a rule. A mutant changes bytes of one frame, repairs what
a sender would have computed (the ICRC, the checksums of TCP and IPv4), and is compared with the
capture that it comes of.
"""

import collections
import struct
import sys

import fields
import pcapng
import wire
from bed import TOP

sys.path.insert(0, str(TOP / "tests" / "synth"))

from smcsynth import roce  # noqa: E402

ETHERNET = 14
IP_CHECKSUM, TCP_CHECKSUM = 10, 16  # offsets in the headers of IPv4 and TCP
# what was found out, in frames behind the mutated one: it has to be as in the whole capture, or
# absent
FIGURES = (
    "smcr.stream",
    "smcr.dir",
    "smcr.link.number",
    "smcr.stream.offset",
    "smcr.write.offset",
    "smcr.stream.rewritten",
    "smcr.stream.gap",
    "smcr.cdc.len",
    "smcr.cdc.read",
    "smcr.cdc.announced",
    "smcr.cdc.consumed",
    "smcr.window.unread",
    "smcr.window.written",
    "smcr.window.offered",
    "smcr.window.free",
    "smcr.cdc.writes",
    "smcr.cdc.first_write",
    "smcr.cdc.last_write",
    "smcr.cdc.read_of",
    "smcr.cdc.urgent_offset",
    "smcr.request_in",
    "smcr.response_in",
)

Layers = collections.namedtuple("Layers", "ip transport payload end ipv6")  # offsets in the frame


def layers(data):
    """Where IP, the transport and its payload begin in an Ethernet frame."""
    ip, ethertype = ETHERNET, wire.u16(data, 12)
    while ethertype == wire.VLAN:
        ip, ethertype = ip + 4, wire.u16(data, ip + 2)
    ipv6 = ethertype == wire.IPV6
    transport = ip + (40 if ipv6 else (data[ip] & 15) * 4)
    end = ip + (40 + wire.u16(data, ip + 4) if ipv6 else wire.u16(data, ip + 2))
    protocol = data[ip + 6] if ipv6 else data[ip + 9]
    header = wire.UDP_HEADER if protocol == wire.UDP else (data[transport + 12] >> 4) * 4
    return Layers(ip, transport, transport + header, end, ipv6)


def with_icrc(data):
    """The RoCE frame with the ICRC that it ought to have."""
    at = layers(data)
    headers, packet = data[at.ip : at.payload], data[at.payload : at.end - wire.ICRC]
    icrc = (roce.icrc_ipv6 if at.ipv6 else roce.icrc_ipv4)(headers, packet)
    return data[: at.end - wire.ICRC] + icrc + data[at.end :]


def checksum_sum(data):
    """The ones' complement sum of RFC 1071."""
    words = struct.unpack(f">{(len(data) + 1) // 2}H", data + bytes(len(data) % 2))
    result = sum(words)
    while result >> 16:
        result = (result & 0xFFFF) + (result >> 16)
    return result


def pseudo_header(data):
    """What the checksum of TCP covers before the segment."""
    at = layers(data)
    addresses = data[at.ip + 8 : at.ip + 40] if at.ipv6 else data[at.ip + 12 : at.ip + 20]
    return addresses + struct.pack(">II", at.end - at.transport, wire.TCP)


def with_tcp_checksums(data):
    """The TCP frame with the checksums of TCP and IPv4 that it ought to have; a frame that the
    snap length has cut, as it is."""
    at, data = layers(data), bytearray(data)
    if at.end > len(data):
        return bytes(data)
    if not at.ipv6:
        place = slice(at.ip + IP_CHECKSUM, at.ip + IP_CHECKSUM + 2)
        data[place] = bytes(2)
        data[place] = struct.pack(">H", 0xFFFF - checksum_sum(bytes(data[at.ip : at.transport])))
    place = slice(at.transport + TCP_CHECKSUM, at.transport + TCP_CHECKSUM + 2)
    data[place] = bytes(2)
    covered = pseudo_header(bytes(data)) + bytes(data[at.transport : at.end])
    data[place] = struct.pack(">H", 0xFFFF - checksum_sum(covered))
    return bytes(data)


def is_roce(data):
    at = layers(data)
    return at.payload - at.transport == wire.UDP_HEADER


def start_of(data):
    """Where the message begins: behind the BTH, or behind TCP's header."""
    return layers(data).payload + (wire.BTH if is_roce(data) else 0)


def patched(data, offset, new):
    """The frame with other bytes in its message."""
    start = start_of(data) + offset
    out = data[:start] + new + data[start + len(new) :]
    return with_icrc(out) if is_roce(data) else out


def put(offset, new):
    """A change of a frame: these bytes, in hex, at `offset` of its message."""
    return lambda data: patched(data, offset, bytes.fromhex(new))


def add(offset, form, delta):
    """The number at `offset` of the message grows."""

    def change(data):
        start, size = start_of(data) + offset, struct.calcsize(form)
        number = struct.unpack(form, data[start : start + size])[0] + delta
        return patched(data, offset, struct.pack(form, number % (1 << 8 * size)))

    return change


def replaced(data, message):
    """The frame with another message, of any length; the headers say so."""
    at, start = layers(data), start_of(data)
    roce = is_roce(data)
    pad = -len(message) % 4 if roce else 0
    out = bytearray(
        data[:start] + message + bytes(pad + (wire.ICRC if roce else 0)) + data[at.end :]
    )
    grown = start + len(message) + pad + (wire.ICRC if roce else 0) - at.end
    length = at.ip + (4 if at.ipv6 else 2)
    out[length : length + 2] = (wire.u16(data, length) + grown).to_bytes(2, "big")
    if roce:
        out[at.transport + 4 : at.transport + 6] = (
            wire.u16(data, at.transport + 4) + grown
        ).to_bytes(2, "big")
        out[at.payload + 1] = out[at.payload + 1] & 0xCF | pad << 4
    if not at.ipv6:
        out[at.ip + 10 : at.ip + 12] = bytes(2)
        words = sum(wire.u16(out, offset) for offset in range(at.ip, at.transport, 2))
        while words > 0xFFFF:
            words = (words & 0xFFFF) + (words >> 16)
        out[at.ip + 10 : at.ip + 12] = (~words & 0xFFFF).to_bytes(2, "big")
    return with_icrc(bytes(out)) if roce else bytes(out)


def ends(data):
    """TCP's addresses and ports, and where its numbers are; None of other frames."""
    if wire.u16(data, 12) not in (wire.VLAN, wire.IPV4, wire.IPV6):
        return None
    at = layers(data)
    if at.ipv6 and data[at.ip + 6] != wire.TCP or not at.ipv6 and data[at.ip + 9] != wire.TCP:
        return None
    source = data[at.ip + 8 : at.ip + 24] if at.ipv6 else data[at.ip + 12 : at.ip + 16]
    target = data[at.ip + 24 : at.ip + 40] if at.ipv6 else data[at.ip + 16 : at.ip + 20]
    return (
        (source, data[at.transport : at.transport + 2]),
        (target, data[at.transport + 2 : at.transport + 4]),
        at.transport,
    )


def moved(data, sender, receiver, grown):
    """A later frame of a TCP connection of which one direction has grown."""
    found = ends(data)
    if not found or found[:2] not in ((sender, receiver), (receiver, sender)):
        return data
    at = found[2] + (4 if found[0] == sender else 8)
    number = int.from_bytes(data[at : at + 4], "big") + grown & 0xFFFFFFFF
    return with_tcp_checksums(data[:at] + number.to_bytes(4, "big") + data[at + 4 :])


def mutate_all(capture, changes, path):
    """Writes the capture with frames changed: [(number, change)]. Where TCP carries more bytes,
    later frames count them."""
    head, frames = pcapng.read(capture)
    for number, change in changes:
        old = pcapng.data(frames[number - 1])
        new, tcp = change(old), ends(old)
        if tcp and ends(new):
            new = with_tcp_checksums(new)
        frames[number - 1] = pcapng.with_data(frames[number - 1], new)
        if tcp and len(new) != len(old):
            frames[number:] = [
                pcapng.with_data(frame, moved(pcapng.data(frame), *tcp[:2], len(new) - len(old)))
                for frame in frames[number:]
            ]
    pcapng.write(path, head, frames)
    return path


def mutate(capture, number, change, path):
    """The same with one frame."""
    return mutate_all(capture, [(number, change)], path)


# ---- what CDC messages go on from ----


def cdc_behind(path):
    """
    [(CDC message, the payload of the one before of its sender and token)]; zeros before the first
    one. Of a message that is retransmitted only the first one: its receiver throws the others away.
    """
    last, found, sent = {}, [], set()
    for each in wire.roce(path):
        again = (each.ends, each.qpn, each.psn) in sent
        sent.add((each.ends, each.qpn, each.psn))
        if each.opcode == wire.SEND_ONLY and each.payload[:1] == b"\xfe" and not again:
            key = each.ends, each.qpn, each.payload[4:8]
            found.append((each, last.get(key, bytes(44))))
            last[key] = each.payload
    return found


def reads_up_to(path, more):
    """
    Frames of CDC messages whose sender has not been told of `more` bytes than it says that it has
    read, nor is within the 100 ms in which a capture may have two directions in disorder.
    """
    _, frames = pcapng.read(path)
    every = [each for each, _ in cdc_behind(path)]
    when = {each.frame: pcapng.time(frames[each.frame - 1]) for each in every}  # microseconds
    found = []
    for each in every:
        wrap, count = wire.u16(each.payload, 18), int.from_bytes(each.payload[20:24], "big")
        told = [
            (wire.u16(other.payload, 10), int.from_bytes(other.payload[12:16], "big"))
            for other in every
            if other.ends == each.ends[::-1] and when[other.frame] <= when[each.frame] + 100_000
        ]
        if max(told, default=(0, 0)) < (wrap, count + more):
            found.append(each.frame)
    return found


def owned_writes(path):
    """
    ([(RDMA WRITE request, connection, whether its writer was done by then)], {connection: frame
    with which its writer is done}). The next message of the flow tells the connection, as (ends,
    queue pair, token).
    """
    done, waiting, owned = {}, {}, []
    for each in wire.roce(path):
        flow = each.ends, each.qpn
        if each.opcode in (wire.WRITE_ONLY, wire.WRITE_FIRST):
            waiting.setdefault(flow, []).append(each)
        elif each.payload[:1] == b"\xfe":
            conn = *flow, each.payload[4:8]
            owned += [(write, conn, conn in done) for write in waiting.pop(flow, [])]
            if each.payload[25] & 0xC0:
                done.setdefault(conn, each.frame)
    return owned, done


# ---- what is shown ----

ITEMS = [
    each.filter
    for each in fields.experts()
    if each.severity.split()[0] in ("ERROR", "WARN", "NOTE")
]


def shown(tshark, capture, options=()):
    """{frame: (items, figures)}"""
    names = [*ITEMS, *FIGURES]
    rows = tshark.fields(capture, "frame.number", *names, two_pass=True, options=options)
    found = {}
    for number, *values in rows:
        values += [[]] * (len(names) - len(values))
        items = {name for name, value in zip(ITEMS, values, strict=False) if value}
        found[int(number[0])] = items, dict(zip(FIGURES, values[len(ITEMS) :], strict=True))
    return found


def differences(before, after, number):
    """
    (items new in the frame, [(frame, item)] new in others, [(frame, figure, before, after)] wrong
    behind it). Absent is not wrong.
    """
    raised = after[number][0] - before[number][0]
    false = [
        (frame, item)
        for frame in after
        if frame != number
        for item in sorted(after[frame][0] - before[frame][0])
    ]
    wrong = [
        (frame, name, before[frame][1][name], value)
        for frame in after
        if frame > number
        for name, value in after[frame][1].items()
        if set(value) - set(before[frame][1][name])
    ]
    return raised, false, wrong
