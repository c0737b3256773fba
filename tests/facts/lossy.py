"""
An exchange (programs.py) over TCP and over SMC-R, with and without loss, such that each entry of it
is complete at the same time in all of them: then all that is said of the application's data is the
same, times too.

The sender and the receiver are those of a reliable connection: the receiver takes in the packet
that has the expected PSN, and no other; it asks for that by a NAK; the sender goes back to it.
"""

import collections

import carried  # noqa: F401  finds the builder
from carried import ELEMENT, MSS, store
from smcsynth.capture import START, Capture
from smcsynth.net import TcpConversation
from smcsynth.roce import NAK_SEQUENCE_ERROR, WRITE_LAST, WRITE_ONLY, RoceLink
from smcsynth.story import (
    CLIENT,
    CLIENT_V2,
    SERVER,
    SERVER_V2,
    Connection,
    Half,
    LinkGroup,
    Rmb,
    other,
)

INTERVAL, BEFORE = (
    100_000,
    60_000,
)  # microseconds between entries; so long before one is complete its first packet comes

Packet = collections.namedtuple("Packet", "psn opcode rest last solicited")


def complete_at(number):
    """When an entry is complete."""
    return START + (number + 10) * INTERVAL


def conns_of(steps):
    """{number of a connection: (its first entry, its last one)}"""
    return {
        step.conn: (min(found), max(found))
        for step in steps
        for found in [[number for number, each in enumerate(steps) if each.conn == step.conn]]
    }


def begin(capture, number):
    capture.now = complete_at(number) - BEFORE if number else capture.now


def over_tcp(steps, path):
    capture, open_ones, spans = Capture(), {}, conns_of(steps)
    for number, step in enumerate(steps):
        begin(capture, number)
        if step.conn not in open_ones:
            open_ones[step.conn] = TcpConversation(
                capture, CLIENT, SERVER, sport=40000 + step.conn, dport=step.port
            )
            open_ones[step.conn].handshake(syn=b"", synack=b"")
        tcp, whole = open_ones[step.conn], (len(step.data) - 1) // MSS * MSS
        if whole:
            tcp.send(step.sender, step.data[:whole], parts=[MSS] * (whole // MSS - 1))
        capture.now = complete_at(number)
        tcp.send(step.sender, step.data[whole:])
        if spans[step.conn][1] == number:
            tcp.close()
    return store(capture, path)


# ---- SMC-R ----


class Link(RoceLink):
    """Keeps the packets of a burst: WRITEs and the CDC message that announces them."""

    burst = None

    def request(self, sender, opcode, rest=b"", *, last=True, solicited=False, ack=True, psn=None):
        if self.burst is None:
            return super().request(
                sender, opcode, rest, last=last, solicited=solicited, ack=ack, psn=psn
            )
        pair = self.qp[sender]
        self.burst.append(Packet(pair.psn, opcode, rest, last, solicited))
        pair.psn = pair.psn + 1 & 0xFFFFFF
        self.qp[other(sender)].msn += last
        return 0

    def play(self, sender, packets, complete=None):
        """These packets come. `complete`: (the packet that completes an entry, when that is)"""
        for packet in packets:
            if complete and packet is complete[0]:
                self.capture.now = complete[1]
            self.packet(
                sender,
                packet.opcode,
                packet.rest,
                psn=packet.psn,
                solicited=packet.solicited,
                ack_request=packet.last,
            )

    def refuse(self, sender, packet):
        self.ack(other(sender), packet.psn, NAK_SEQUENCE_ERROR)


# Ways of a burst: (link, sender, packets, number of the packet that is lost, what completes the
# entry). `complete` is given to the first transmission of the completing packet that can be taken
# in, as far as the capture knows.


def whole(link, sender, packets, _, complete):
    link.play(sender, packets, complete)


def lost_behind(link, sender, packets, lost, complete):
    """The capture has the packet, its receiver does not."""
    link.play(sender, packets, complete)
    link.refuse(sender, packets[lost])
    link.play(sender, packets[lost:])


def absent(link, sender, packets, lost, complete, times=1):
    """The packet is lost before the capture point, so many times."""
    link.play(sender, packets[:lost], complete)
    for _ in range(times):
        link.play(sender, packets[lost + 1 :])
        link.refuse(sender, packets[lost])
    link.play(sender, packets[lost:], complete)


def lost_twice(*arguments):
    absent(*arguments, times=2)


def lost_before_and_behind(link, sender, packets, lost, complete):
    """The packet is lost before the capture point, and its repeat behind that."""
    absent(link, sender, packets, lost, complete)
    link.refuse(sender, packets[lost])
    link.play(sender, packets[lost:])


def reordered(link, sender, packets, late, complete):
    """The packet comes behind all others, and the NAK has asked for it."""
    link.play(sender, packets[:late], complete)
    link.play(sender, packets[late + 1 :])
    link.refuse(sender, packets[late])
    link.play(sender, [packets[late]], complete)
    link.play(
        sender, packets[late:], None if complete and complete[0] is packets[late] else complete
    )


WAYS = {
    way.__name__: way
    for way in (whole, lost_behind, absent, lost_twice, lost_before_and_behind, reordered)
}


def new_group(capture):
    group = LinkGroup(capture, [CLIENT_V2], [SERVER_V2], version=2)
    link = group.new_link(1, client=(0x000C01, 0xC10000), server=(0x000501, 0x510000))
    group.links[1] = Link(capture, link.qp["client"], link.qp["server"], transport=group.transport)
    return group


def connect(group, step):
    halves = [
        Half(
            token=token + step.conn, rmb=Rmb(va + (step.conn << 20), ELEMENT, {1: rkey + step.conn})
        )
        for token, va, rkey in (
            (0x0C01, 0x10A0C000000, 0x0C0C0001),
            (0x0501, 0x20B05000000, 0x05050001),
        )
    ]
    connection = Connection(group, *halves, port=step.port, sport=40000 + step.conn)
    if step.conn:
        connection.subsequent_contact()
    else:
        connection.first_contact(add_link=False)
    return connection


def say(connection, step, number, way):
    """One entry, in as many bursts as the window asks for; the reader reads all and says so."""
    link, data = connection.group.links[1], step.data
    while data:
        piece, data = data[: connection.window(step.sender)], data[connection.window(step.sender) :]
        link.burst = []
        connection.send(step.sender, piece)
        packets, link.burst = link.burst, None
        last_write = [packet for packet in packets if packet.opcode in (WRITE_LAST, WRITE_ONLY)][-1]
        way(
            link,
            step.sender,
            packets,
            number % (len(packets) - 1),
            None if data else (last_write, complete_at(number)),
        )
        link.ack(other(step.sender), packets[-1].psn)
        connection.cdc(other(step.sender))


def over_smc(steps, path, way):
    capture, open_ones, spans = Capture(), {}, conns_of(steps)
    group = new_group(capture)
    for number, step in enumerate(steps):
        begin(capture, number)
        if step.conn not in open_ones:
            open_ones[step.conn] = connect(group, step)
        say(open_ones[step.conn], step, number, WAYS[way])
        if spans[step.conn][1] == number:
            open_ones[step.conn].close()
    return store(capture, path)
