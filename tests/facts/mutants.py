"""
Real captures of which one message breaks a rule. A mutant changes bytes of one frame, repairs what a sender would have
computed (the ICRC; TCP's checksum is not looked at), and is compared with the capture that it comes of.
"""

import collections
import sys

import fields
import pcapng
import wire
from bed import TOP

sys.path.insert(0, str(TOP / "tests" / "synth"))

from smcsynth import roce  # noqa: E402

ETHERNET = 14
# what was found out, in frames behind the mutated one: it has to be as in the whole capture, or absent
FIGURES = ("smcr.stream", "smcr.dir", "smcr.link.number", "smcr.stream.offset", "smcr.write.offset", "smcr.stream.rewritten",
           "smcr.stream.gap", "smcr.cdc.len", "smcr.cdc.read", "smcr.cdc.announced", "smcr.cdc.consumed",
           "smcr.window.unread", "smcr.window.written", "smcr.window.offered", "smcr.window.free", "smcr.cdc.writes",
           "smcr.cdc.first_write", "smcr.cdc.last_write", "smcr.cdc.read_of", "smcr.cdc.urgent_offset",
           "smcr.request_in", "smcr.response_in")

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
    headers, packet = data[at.ip:at.payload], data[at.payload:at.end - wire.ICRC]
    icrc = (roce.icrc_ipv6 if at.ipv6 else roce.icrc_ipv4)(headers, packet)
    return data[:at.end - wire.ICRC] + icrc + data[at.end:]


def is_roce(data):
    at = layers(data)
    return at.payload - at.transport == wire.UDP_HEADER


def start_of(data):
    """Where the message begins: behind the BTH, or behind TCP's header."""
    return layers(data).payload + (wire.BTH if is_roce(data) else 0)


def patched(data, offset, new):
    """The frame with other bytes in its message."""
    start = start_of(data) + offset
    out = data[:start] + new + data[start + len(new):]
    return with_icrc(out) if is_roce(data) else out


def mutate(capture, number, change, path):
    """Writes the capture with one frame changed."""
    head, frames = pcapng.read(capture)
    frames = [pcapng.with_data(frame, change(pcapng.data(frame))) if frame.number == number else frame
              for frame in frames]
    pcapng.write(path, head, frames)
    return path


# ---- what is shown ----

ITEMS = [each.filter for each in fields.experts() if each.severity.split()[0] in ("ERROR", "WARN", "NOTE")]


def shown(tshark, capture, options=()):
    """{frame: (items, figures)}"""
    names = [*ITEMS, *FIGURES]
    rows = tshark.fields(capture, "frame.number", *names, two_pass=True, options=options)
    found = {}
    for number, *values in rows:
        values += [[]] * (len(names) - len(values))
        items = {name for name, value in zip(ITEMS, values, strict=False) if value}
        found[int(number[0])] = items, dict(zip(FIGURES, values[len(ITEMS):], strict=True))
    return found


def differences(before, after, number):
    """
    (items new in the frame, [(frame, item)] new in others, [(frame, figure, before, after)] wrong behind it). Absent
    is not wrong.
    """
    raised = after[number][0] - before[number][0]
    false = [(frame, item) for frame in after if frame != number for item in sorted(after[frame][0] - before[frame][0])]
    wrong = [(frame, name, before[frame][1][name], value) for frame in after if frame > number
             for name, value in after[frame][1].items() if value and value != before[frame][1][name]]
    return raised, false, wrong
