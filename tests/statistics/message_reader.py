"""
Who says what to whom, and when, straight from the bytes of a real capture: messages with their
senders and times, which of them were retransmitted, and which answer which. It knows neither the
plugin nor Wireshark.

In the real captures the client is host .1, with MAC addresses 52:54:00:aa:..., the server host .2,
with ...:bb:...
"""

import collections
import functools

import wire
from bed import captures
from scapy.utils import RawPcapReader

PROPOSAL, ACCEPT, CONFIRM, DECLINE = 1, 2, 3, 4
CONFIRM_LINK, ADD_LINK, ADD_LINK_CONT, DELETE_LINK, REQ_ADD_LINK = 1, 2, 3, 4, 5
CONFIRM_RKEY, TEST_LINK, CONFIRM_RKEY_CONT, DELETE_RKEY = 6, 7, 8, 9
VERSION_2, RESPONSE, ALL_LINKS, REJECTED, UPDATE = 0x20, 0x80, 0x40, 0x40, 0x10
CLIENT, SERVER = 0, 1

Said = collections.namedtuple("Said", "frame time sender kind data again ends")
Answer = collections.namedtuple("Answer", "frame request kind step seconds")


def path_of(name):
    return captures("real")[name]


@functools.cache
def times(name):
    """{frame: microseconds}"""
    reader = RawPcapReader(str(path_of(name)))
    try:
        return {
            number: ((meta.tshigh << 32) + meta.tslow) * 1_000_000 // meta.tsresol
            for number, (_, meta) in enumerate(reader, 1)
        }
    finally:
        reader.close()


def host(address):
    """Who has an address of IP, or a GID that is made of a MAC address."""
    made_of_mac = address[0] == 0xFE
    return {1: CLIENT, 2: SERVER, 0xAA: CLIENT, 0xBB: SERVER}[
        address[-3] if made_of_mac else address[-1]
    ]


@functools.cache
def repeats(name):
    """Frames whose packet the same queue pair has had before: requests, by PSN."""
    seen, again = set(), set()
    for packet in wire.roce(path_of(name)):
        if packet.opcode > 11:
            continue
        key = packet.ends, packet.qpn, packet.psn, packet.opcode
        if key in seen:
            again.add(packet.frame)
        seen.add(key)
    return again


@functools.cache
def said(name):
    """All messages in the order of the capture."""
    ends = {each.frame: each.ends for each in wire.packets(path_of(name))}
    found = []
    for message in wire.messages(path_of(name)):
        source = ends[message.frame][0]
        sender = host(source[0] if isinstance(source, tuple) else source)
        found.append(
            Said(
                message.frame,
                times(name)[message.frame],
                sender,
                message.kind,
                message.data,
                message.frame in repeats(name) and message.kind != "clc",
                ends[message.frame],
            )
        )
    return found


# ---- what answers what ----


def llc_type(message):
    return message.data[0] & ~VERSION_2


def is_response(message):
    return bool(message.data[3] & RESPONSE)


def key(message):
    """What a response repeats of its request (RFC 7609 A.3)."""
    kind, data = llc_type(message), message.data
    if kind == CONFIRM_RKEY:
        return data[5:9] if not data[0] & VERSION_2 else data[6:10]
    if kind == DELETE_RKEY:
        return data[4:44] if not data[0] & VERSION_2 else None
    if kind == TEST_LINK:
        return data[4:20]
    if kind in (ADD_LINK, CONFIRM_LINK):
        return data[31:32]
    if kind in (ADD_LINK_CONT, DELETE_LINK):
        return data[4:5]
    return None


def clc_answers(name):
    waiting = {}
    for message in said(name):
        if message.kind != "clc":
            continue
        kind = message.data[4]
        connection = frozenset(message.ends)
        asked = waiting.pop(connection, None)
        if (
            asked
            and asked.sender != message.sender
            and (kind == DECLINE or kind == asked.data[4] + 1)
        ):
            step = {
                (PROPOSAL, ACCEPT): "Proposal -> Accept",
                (ACCEPT, CONFIRM): "Accept -> Confirm",
                (PROPOSAL, DECLINE): "Proposal -> Decline",
                (ACCEPT, DECLINE): "Accept -> Decline",
            }[asked.data[4], kind]
            yield Answer(message.frame, asked.frame, "CLC", step, message.time - asked.time)
        if kind in (PROPOSAL, ACCEPT):
            waiting[connection] = message


NAMES = {
    1: "CONFIRM LINK",
    2: "ADD LINK",
    3: "ADD LINK CONTINUATION",
    4: "DELETE LINK",
    5: "REQUEST ADD LINK",
    6: "CONFIRM RKEY",
    7: "TEST LINK",
    8: "CONFIRM RKEY CONTINUATION",
    9: "DELETE RKEY",
}


def llc_name(code):
    return NAMES[code & ~VERSION_2] + (" v2" if code & VERSION_2 else "")


def take_last(waiting, sender, fits):
    """The last request of the peer that is open and fits; it is closed then."""
    for asked in reversed(waiting):
        if asked.sender != sender and fits(asked):
            waiting.remove(asked)
            return asked
    return None


def answered_by_request(waiting, message):
    """The server grants a wish of the client; the client confirms a DELETE LINK for all links by
    one of its own."""
    kind = llc_type(message)
    if message.sender == SERVER and kind == DELETE_LINK:
        return take_last(waiting, SERVER, lambda asked: llc_type(asked) == DELETE_LINK)
    if message.sender == SERVER and kind == ADD_LINK:
        return take_last(waiting, SERVER, lambda asked: llc_type(asked) in (ADD_LINK, REQ_ADD_LINK))
    if kind == DELETE_LINK and message.data[3] & ALL_LINKS:
        return take_last(waiting, CLIENT, lambda asked: llc_type(asked) == DELETE_LINK)
    return None


def second_answer(answered, message):
    """A client that has accepted ADD LINK, and rejects it later, takes that back."""
    if llc_type(message) != ADD_LINK or not message.data[3] & REJECTED:
        return None
    return next(
        (
            asked
            for asked, rejected in reversed(answered)
            if llc_type(asked) == ADD_LINK and key(asked) == key(message) and not rejected
        ),
        None,
    )


def llc_answers(name):
    waiting, answered = [], []
    for message in said(name):
        if message.kind != "llc" or message.again:
            continue
        if is_response(message):
            asked = take_last(
                waiting,
                message.sender,
                lambda asked: llc_type(asked) == llc_type(message) and key(asked) == key(message),
            )
            asked = asked or second_answer(answered, message)
            if asked:
                answered.append((asked, message.data[3] & REJECTED))
            step = asked and llc_name(asked.data[0])
        else:
            asked = answered_by_request(waiting, message)
            step = asked and f"{llc_name(asked.data[0])} -> {llc_name(message.data[0])}"
            if not (asked and message.sender == CLIENT):
                waiting.append(message)
        if asked:
            yield Answer(message.frame, asked.frame, "LLC", step, message.time - asked.time)


def pairs_of_tokens(name):
    """{(receiver, its token): connection}: CLC tells the two tokens of a connection."""
    found, accepts = {}, {}
    for message in said(name):
        if message.kind != "clc" or message.data[4] not in (ACCEPT, CONFIRM):
            continue
        connection, token = frozenset(message.ends), message.data[43:47]
        found.setdefault((message.sender, token), []).append((message.frame, connection))
        accepts[connection] = message
    return found


def cdc_answers(name):
    tokens = pairs_of_tokens(name)
    waiting, cursors = {}, {}
    for message in said(name):
        if message.kind != "cdc" or message.again:
            continue
        known = [
            each
            for frame, each in tokens.get((1 - message.sender, message.data[4:8]), ())
            if frame < message.frame
        ]
        if not known:
            continue
        connection, sender = known[-1], message.sender
        asked = waiting.pop((connection, 1 - sender), None)
        if asked:
            yield Answer(
                message.frame, asked.frame, "CDC", "Cursor update", message.time - asked.time
            )
        produced, consumed = message.data[10:16], message.data[18:24]
        read = cursors.get((connection, 1 - sender))
        all_read = produced == read if read else int.from_bytes(produced, "big") <= 4
        cursors[connection, sender] = consumed
        if message.data[24] & UPDATE and not all_read:
            waiting.setdefault((connection, sender), message)


@functools.cache
def answers(name):
    return sorted([*clc_answers(name), *llc_answers(name), *cdc_answers(name)])
