"""
Windows, computed from nothing but the cursors as they are on the wire (RFC 7609 A.4), with which
what the plugin says of each frame is compared.
"""

import collections
import struct

import traffic

BLOCKED = 0x80
FAILOVER = 0x08
MESSAGE = 44  # bytes

Message = collections.namedtuple("Message", "prod cons flags")
Window = collections.namedtuple("Window", "len read unread free percent offered")
Sight = collections.namedtuple("Sight", "frame time stream sender blocked window")


def message(payload):
    """The CDC message in the payload of a UDP datagram: cursors as (wrap, count)."""
    cdc = payload[traffic.BTH : traffic.BTH + MESSAGE]
    prod_wrap, prod, cons_wrap, cons = struct.unpack_from(">HIxxHI", cdc, 10)
    return Message((prod_wrap, prod), (cons_wrap, cons), cdc[24])


class Stream:
    """One direction: an element of `size` bytes, and the cursors that both ends told last."""

    def __init__(self, size):
        self.size, self.prod, self.cons = size, (0, 0), (0, 0)

    def _distance(self, start, end):
        return ((end[0] - start[0] + 0x8000 & 0xFFFF) - 0x8000) * self.size + end[1] - start[1]

    def announce(self, prod):
        step, self.prod = self._distance(self.prod, prod), prod
        return step

    def consume(self, cons):
        step, self.cons = self._distance(self.cons, cons), cons
        return step

    @property
    def unread(self):
        return self._distance(self.cons, self.prod)


SHOWN = (
    "smcr.cdc.len",
    "smcr.cdc.read",
    "smcr.window.unread",
    "smcr.window.free",
    "smcr.window.percent",
    "smcr.window.offered",
)
OUT_OF_ORDER = ("smcr.retransmission", "smcr.behind_gap", "smcr.duplicate")
FIELDS = (
    "frame.number",
    "frame.time_relative",
    "smcr.stream",
    "eth.src",
    "udp.dstport",
    "icmp",
    "udp.payload",
    "smcr.clc.type",
    "smcr.rmb.size",
    "smcr.cdc.announced",
    "smcr.cdc.failover",
    "smcr.missing",
    *OUT_OF_ORDER,
    *SHOWN,
)


def rows(tshark, name):
    """The frames of SMC-R, and all that are CDC messages by their bytes: {field: values} of each. A
    single pass."""
    found = tshark.fields(name, *FIELDS, where=f"smcr || {traffic.CDC}")
    return [dict(zip(FIELDS, row, strict=True)) for row in found]


def frame_of(row):
    return int(row["frame.number"][0])


def payload_of(row):
    return bytes.fromhex(row["udp.payload"][0].replace(":", ""))


def is_cdc(row):
    """The same as traffic.CDC says in a filter."""
    if row["udp.dstport"] != [str(traffic.ROCE_PORT)] or row["icmp"] or not row["udp.payload"]:
        return False
    payload = payload_of(row)
    return payload[:1] == b"\x04" and payload[traffic.BTH : traffic.BTH + 2] == b"\xfe\x2c"


def in_order(tshark, name):
    """Frames with CDC messages that the receiver takes, of which none was before."""
    return {
        frame_of(row)
        for row in rows(tshark, name)
        if is_cdc(row)
        and not any(row[each] for each in OUT_OF_ORDER)
        and row["smcr.cdc.failover"] in (["0"], ["False"])
    }


def sizes(tshark, name):
    """Sizes of the RMB elements: {(smcr.stream, 0 client's or 1 server's): bytes}."""
    return {
        (row["smcr.stream"][0], int(row["smcr.clc.type"] == ["2"])): int(row["smcr.rmb.size"][0])
        for row in rows(tshark, name)
        if row["smcr.clc.type"] in (["2"], ["3"]) and row["smcr.rmb.size"]
    }


def sights(tshark, name):
    """What each CDC message that the receiver took in order says: a row per frame."""
    size, streams = sizes(tshark, name), {}
    for row in rows(tshark, name):
        if not (is_cdc(row) and row["smcr.cdc.announced"]):
            continue
        time, stream, mac = row["frame.time_relative"], row["smcr.stream"], row["eth.src"]
        cdc, sender = message(payload_of(row)), traffic.sender(mac[0])
        if cdc.flags & FAILOVER or (stream[0], 0) not in size:
            continue
        mine, other = (
            streams.setdefault((stream[0], side), Stream(size[stream[0], int(not side)]))
            for side in (sender, int(not sender))
        )
        length, read = mine.announce(cdc.prod), other.consume(cdc.cons)
        yield Sight(
            frame_of(row),
            time[0],
            int(stream[0]),
            sender,
            bool(cdc.flags & BLOCKED),
            Window(
                length,
                read,
                mine.unread,
                mine.size - mine.unread,
                (mine.size - mine.unread) * 100 // mine.size,
                other.size - other.unread,
            ),
        )


def shown(tshark, name):
    """What the plugin shows of the same: {frame: window}."""
    return {
        frame_of(row): Window(*(int(row[field][0]) for field in SHOWN))
        for row in rows(tshark, name)
        if all(row[field] for field in SHOWN)
    }
