"""
Windows, computed from nothing but the cursors as they are on the wire (RFC 7609 A.4), with which what the plugin says
of each frame is compared.
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
    cdc = payload[traffic.BTH:traffic.BTH + MESSAGE]
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


def sizes(tshark, name):
    """Sizes of the RMB elements: {(smcr.stream, 0 client's or 1 server's): bytes}."""
    rows = tshark.fields(name, "smcr.stream", "smcr.clc.type", "smcr.rmb.size",
                         where="smcr.clc.type in {2, 3} && smcr.rmb.size")
    return {(stream[0], int(kind[0] == "2")): int(size[0]) for stream, kind, size in rows}


def sights(tshark, name):
    """What each CDC message that the receiver took in order says: a row per frame."""
    rows = tshark.fields(name, "frame.number", "frame.time_relative", "smcr.stream", "eth.src", "udp.payload",
                         where=f"{traffic.CDC} && smcr.cdc.announced")
    size, streams = sizes(tshark, name), {}
    for number, time, stream, mac, payload in rows:
        cdc, sender = message(bytes.fromhex(payload[0].replace(":", ""))), traffic.sender(mac[0])
        if cdc.flags & FAILOVER or (stream[0], 0) not in size:
            continue
        mine, other = (streams.setdefault((stream[0], side), Stream(size[stream[0], int(not side)]))
                       for side in (sender, int(not sender)))
        length, read = mine.announce(cdc.prod), other.consume(cdc.cons)
        yield Sight(int(number[0]), time[0], int(stream[0]), sender, bool(cdc.flags & BLOCKED),
                    Window(length, read, mine.unread, mine.size - mine.unread,
                           (mine.size - mine.unread) * 100 // mine.size, other.size - other.unread))


FIELDS = ("smcr.cdc.len", "smcr.cdc.read", "smcr.window.unread", "smcr.window.free", "smcr.window.percent",
          "smcr.window.offered")


def shown(tshark, name):
    """What the plugin shows of the same: {frame: window}."""
    return {int(number[0]): Window(*(int(value[0]) for value in values))
            for number, *values in tshark.fields(name, "frame.number", *FIELDS, where="smcr.window.unread")
            if all(values)}
