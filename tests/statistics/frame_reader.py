"""
Which frames of a real capture belong to a connection, a link, or an RMB, straight from the bytes.
It knows neither the plugin nor Wireshark.
"""

import collections
import functools

import layouts
import message_reader
import wire
from message_reader import ACCEPT, CONFIRM, CONFIRM_RKEY, CONFIRM_RKEY_CONT, DELETE_RKEY, REJECTED

WRITES = wire.WRITE_FIRST, wire.WRITE_MIDDLE, wire.WRITE_LAST, wire.WRITE_ONLY


def is_clc(message, *types):
    return message.kind == "clc" and message.data[4] in types


def values(message, *fields):
    """Numbers in these fields of a message, in their order."""
    return [
        int.from_bytes(item.data, "big") for item in layouts.items(message) if item.field in fields
    ]


def owner(message):
    """Whose RMBs a message names: responses to these repeat the RKeys of the peer."""
    kind = message.kind == "llc" and message_reader.llc_type(message)
    repeats = kind in (CONFIRM_RKEY, CONFIRM_RKEY_CONT, DELETE_RKEY) and message_reader.is_response(
        message
    )
    return 1 - message.sender if repeats else message.sender


def rkeys(message):
    if not is_clc(message, ACCEPT, CONFIRM) and message.kind != "llc":
        return []
    return values(message, "smcr.rkey", "smcr.llc.ref_rkey")


def tells_one_rmb(message):
    """[RKeys of one RMB]: CONFIRM RKEY has one RMB with all its keys, messages that add a link have
    pairs of keys."""
    kind, found = message_reader.llc_type(message), rkeys(message)
    if kind == CONFIRM_RKEY:
        return [found]
    if (
        kind in (message_reader.ADD_LINK, message_reader.ADD_LINK_CONT)
        and not message.data[3] & REJECTED
    ):
        return list(zip(found[::2], found[1::2], strict=True))
    return []


@functools.cache
def memories(name):
    """{(owner, RKey): name of the RMB}: RKeys that messages say to be the same memory."""
    names = {}

    def find(key):
        while names.setdefault(key, key) != key:
            key = names[key]
        return key

    for message in message_reader.said(name):
        for together in tells_one_rmb(message) if message.kind == "llc" else []:
            for rkey in together:
                names[find((owner(message), rkey))] = find((owner(message), together[0]))
        for rkey in rkeys(message):
            find((owner(message), rkey))
    return {key: find(key) for key in names}


def is_acknowledgement(packet):
    return (
        isinstance(packet, wire.Packet)
        and packet.opcode == wire.ACKNOWLEDGE
        and packet.payload[0] & wire.NAK == 0
    )


Known = collections.namedtuple("Known", "connections rmbs")


@functools.cache
def read(name):
    """
    Frames by TCP connection, and by RMB. Connections are the two ends of TCP, RMBs have the names
    of memories(); an RMB also says which connections use it: {name: (frames, connections)}.
    """
    connections, rmbs = collections.defaultdict(set), collections.defaultdict(
        lambda: (set(), set())
    )
    users, tokens, written, last, carried = {}, {}, {}, {}, {}
    said = {message.frame: message for message in message_reader.said(name)}
    for packet in wire.packets(message_reader.path_of(name)):
        message = said.get(packet.frame)
        if isinstance(packet, wire.Segment):
            connections[frozenset(packet.ends)].add(packet.frame)
        for rkey in rkeys(message) if message else ():
            rmbs[memories(name)[owner(message), rkey]][0].add(packet.frame)
        if message and is_clc(message, ACCEPT, CONFIRM):
            connection = frozenset(packet.ends)
            rmb = memories(name)[message.sender, values(message, "smcr.rkey")[0]]
            users[rmb] = connection
            rmbs[rmb][1].add(connection)
            tokens[message.sender, values(message, "smcr.token")[0]] = connection
        if message and message.kind == "cdc":
            connection = tokens[1 - message.sender, values(message, "smcr.cdc.token")[0]]
            connections[connection].add(packet.frame)
            carried[packet.ends, packet.psn] = connection
        if isinstance(packet, wire.Packet) and packet.opcode in WRITES:
            key = packet.ends, packet.qpn
            if packet.opcode in (wire.WRITE_FIRST, wire.WRITE_ONLY):
                rkey = int.from_bytes(packet.payload[8:12], "big")
                rmb = memories(name)[message_reader.host(packet.ends[1]), rkey]
                place = written.get(
                    (*key, packet.psn), (rmb, users[rmb])
                )  # again, it is the first one's
            else:
                place = written.get(
                    (*key, packet.psn - 1), last.get(key)
                )  # lossy captures have one connection
            written[*key, packet.psn] = last[key] = place
            rmbs[place[0]][0].add(packet.frame)
            connections[place[1]].add(packet.frame)
            carried[packet.ends, packet.psn] = place[1]
        if is_acknowledgement(packet) and (
            connection := carried.get((packet.ends[::-1], packet.psn))
        ):
            connections[connection].add(packet.frame)
    return Known(dict(connections), dict(rmbs))


@functools.cache
def links(name):
    """{(address, queue pair): frames}: what comes to each queue pair, and the Accept or Confirm
    that names it."""
    frames = collections.defaultdict(set)
    for packet in wire.roce(message_reader.path_of(name)):
        frames[packet.ends[1], packet.qpn].add(packet.frame)
    for message in message_reader.said(name):
        if is_clc(message, ACCEPT, CONFIRM):
            (gid,), (qpn,) = values(message, "smcr.clc.gid"), values(message, "smcr.clc.qpn")
            frames[short(gid.to_bytes(16, "big")), qpn].add(message.frame)
    return dict(frames)


def short(gid):
    """An address as IP has it."""
    return gid[12:] if gid[:12] == bytes(10) + b"\xff\xff" else gid
