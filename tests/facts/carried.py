"""
The same application bytes over plain TCP and over SMC-R, as captures; and what tshark shows of them
above that.

A talk is a list of (sender, bytes) in the order of sending; one entry is one write of the program.
"""

import pathlib
import sys
import xml.etree.ElementTree as xml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "synth"))

from smcsynth.capture import Capture  # noqa: E402
from smcsynth.failover import delete_link_1, fail_over  # noqa: E402
from smcsynth.net import TcpConversation  # noqa: E402
from smcsynth.story import (
    CLIENT,
    CLIENT_V1,
    CLIENT_V1_SECOND,
    SERVER,
    SERVER_V1,
    SERVER_V1_SECOND,  # noqa: E402
    Connection,
    Half,
    LinkGroup,
    Rmb,
    other,
)

ELEMENT = 16384
MSS = 1448


def store(capture, path):
    path.write_bytes(capture.pcap())
    return path


def in_pieces(talk, size):
    """Every message written in pieces of `size` bytes."""
    return [
        (sender, data[i : i + size]) for sender, data in talk for i in range(0, len(data), size)
    ]


def together(talk):
    """What one side sends before the other answers, in one write."""
    joined = []
    for sender, data in talk:
        if joined and joined[-1][0] == sender:
            data = joined.pop()[1] + data
        joined.append((sender, data))
    return joined


def over_tcp(talk, port, path):
    capture = Capture()
    tcp = TcpConversation(capture, CLIENT, SERVER, sport=40000, dport=port)
    tcp.handshake(syn=b"", synack=b"")
    for sender, data in talk:
        tcp.send(sender, data, parts=[MSS] * (len(data) // MSS))
    tcp.close()
    return store(capture, path)


def connect(capture, port):
    """A connection between elements of 16 KiB, in a link group with two links."""
    client = Half(
        token=0x0C01, rmb=Rmb(0x0000010A0C000000, ELEMENT, {1: 0x0C0C0001, 2: 0x0C0C0002})
    )
    server = Half(
        token=0x0502, rmb=Rmb(0x0000020B05000000, ELEMENT, {1: 0x05050001, 2: 0x05050002})
    )
    group = LinkGroup(capture, [CLIENT_V1, CLIENT_V1_SECOND], [SERVER_V1, SERVER_V1_SECOND])
    group.new_link(1, client=(0x000C01, 0xC10000), server=(0x000501, 0x510000))
    connection = Connection(group, client, server, port=port)
    connection.first_contact(add_link=False)
    group.add_link(
        2,
        {"client": [client.rmb], "server": [server.rmb]},
        nic=1,
        client=(0x000C02, 0xC20000),
        server=(0x000502, 0x520000),
    )
    return connection


def say(connection, sender, data):
    """One write of the program, in as many as the window asks for; the reader reads all and says
    so."""
    while data:
        piece, data = data[: connection.window(sender)], data[connection.window(sender) :]
        connection.send(sender, piece)
        connection.cdc(other(sender))


def over_smc(talk, port, path, *, without=lambda number, frame: False):
    """`without` chooses frames that the capture lacks."""
    capture = Capture()
    connection = connect(capture, port)
    for sender, data in talk:
        say(connection, sender, data)
    connection.close()
    capture.frames = [
        (when, frame)
        for number, (when, frame) in enumerate(capture.frames, 1)
        if not without(number, frame)
    ]
    return store(capture, path)


def over_failing_link(talk, port, path, *, fails):
    """Link 1 dies while entry number `fails` is on its way; it is written again on link 2."""
    capture = Capture()
    connection = connect(capture, port)
    for number, (sender, data) in enumerate(talk):
        if number == fails:
            acknowledged = {role: half.seq for role, half in connection.half.items()}
            before = connection.half[sender].prod
            connection.send(sender, data, read=False, ack=False)
            capture.wait(2)
            fail_over(connection, acknowledged=acknowledged)
            connection.half[sender].prod = before
            delete_link_1(connection.group)
        say(connection, sender, data)
    connection.close()
    return store(capture, path)


def shown(tshark, path, protocols, *options, skip=lambda name: False):
    """
    The trees of these protocols, PDU after PDU: lists of (depth, field, what it says), in the order
    of the capture. Fields that `skip` chooses are left out: numbers of frames and times differ.
    """
    document = xml.fromstring(tshark.show(path, "-2", "-T", "pdml", *options))
    return [
        list(lines(element, 0, skip))
        for element in document.iter("proto")
        if element.get("name") in protocols
    ]


def lines(element, depth, skip):
    """A tree, line by line."""
    if not skip(element.get("name")):
        yield depth, element.get("name"), element.get("showname") or element.get("show")
    for below in element:
        yield from lines(below, depth + 1, skip)
