"""What the captures of the benchmark hold. A scene is a function of an open file; it returns the
number of frames."""

import itertools
import random
from collections import deque
from functools import cache

from carriers import CLIENT, PORTS, SERVER, Link, Pcap, Smcr, Tcp, llc, roce

CHUNK = 50_000  # bytes that a program writes at once: 48 packets of 1024 bytes and a shorter one
BODY = 20_000  # bytes of an HTTP response
TALK = b"0123456789abcdef" * 4
PER_LINK = 100  # connections of a link group
PROGRAM_ENDED = 0x00030000  # reason of a DELETE LINK

# Over TCP a scene has as many frames as over SMC-R, but for one in 25: ACKs take the place of CDC
# messages and of ACKs of RoCE. Short connections send their few bytes in small segments, which are
# in the place of the messages that set up an SMC-R connection.
HTTP_OVER_TCP = {"acks": 5}
SHORT_OVER_TCP = {"mss": 13, "acks": 5}


@cache
def digits(length):
    """What test programs send in bulk; no protocol begins like this."""
    return (b"0123456789" * (length // 10 + 1))[:length]


def bulk(file, frames=0, *, carried=0, carrier=Smcr, mtu=1024):
    """One connection, whose client sends and sends; the server reads at once."""
    pcap = Pcap(file)
    conn = open_for_bulk(pcap, carrier, mtu)
    done = 0
    while done < carried or pcap.frames < frames:
        send_chunk(conn)
        done += CHUNK
    conn.close()
    return pcap.frames


def open_for_bulk(pcap, carrier, mtu=1024):
    options = {"size_code": 4, "first": True} if carrier is Smcr else {}
    conn = carrier(Link(pcap, 1, mtu), 0, **options)
    conn.open()
    return conn


def send_chunk(conn):
    conn.send(CLIENT, digits(CHUNK))
    conn.read(SERVER)


def http_exchange(conn, number):
    conn.send(
        CLIENT, b"GET /file/%d HTTP/1.1\r\nHost: server.example\r\nAccept: */*\r\n\r\n" % number
    )
    conn.send(
        SERVER,
        b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n"
        b"Content-Length: %d\r\n\r\n" % BODY + digits(BODY),
    )


def http(file, frames, *, carrier=Smcr):
    """One connection with one HTTP exchange after the other."""
    pcap = Pcap(file)
    options = {"first": True} if carrier is Smcr else HTTP_OVER_TCP
    conn = carrier(Link(pcap, 1), 0, port=80, **options)
    conn.open()
    number = 0
    while pcap.frames < frames:
        http_exchange(conn, number)
        conn.read(CLIENT)
        number += 1
    conn.close()
    return pcap.frames


def short_http(file, frames):
    """Plain TCP connections of one HTTP exchange each, one after the other."""
    pcap, number = Pcap(file), 0
    while pcap.frames < frames:
        conn = Tcp(Link(pcap, number // PORTS), number % PORTS, port=80)
        conn.open()
        http_exchange(conn, number)
        conn.close()
        number += 1
    return pcap.frames


def short(link, number, carrier):
    """A connection of few bytes; the first of a link begins its link group."""
    options = {"first": number == 0} if carrier is Smcr else SHORT_OVER_TCP
    return carrier(link, number, **options)


def talk(conn):
    conn.send(CLIENT, TALK)
    conn.send(SERVER, TALK)


def connections(file, count, rounds=1, carrier=Smcr, tick=None):
    """
    Connections, 100 between the hosts of a link and all open at the same time, that talk once or
    several times. Over SMC-R each has a TCP handshake, the CLC exchange, CONFIRM RKEY of both
    sides, a WRITE, a CDC message and its ACK each way, and a close; every link group begins with a
    first contact. They take turns, in an order that looks random. `tick`: see Pcap.
    """
    pcap = Pcap(file, tick)
    links = [Link(pcap, number) for number in range(-(-count // PER_LINK))]
    every = [
        short(link, number, carrier) for number in range(min(count, PER_LINK)) for link in links
    ]
    for conn in every:
        conn.open()
    random.Random(7609).shuffle(every)
    for _ in range(rounds):
        for conn in every:
            talk(conn)
    for conn in every:
        conn.close()
    return pcap.frames


def in_sequence(file, count, carrier=Smcr):
    """The same connections, one after the other: at each time only one is open. A frame each
    millisecond, so that few connections wait for late packets."""
    pcap = Pcap(file, tick=1000)
    link = Link(pcap, 0)
    for number in range(count):
        if number % PER_LINK == 0:
            link = Link(pcap, number // PER_LINK)
        conn = short(link, number % PER_LINK, carrier)
        conn.open()
        talk(conn)
        conn.close()
    return pcap.frames


def in_one_group(file, count):
    """Connections of one link group, one after the other. All use the RMBs of the first one, as
    Linux does if these are free."""
    pcap = Pcap(file, tick=1000)
    link = Link(pcap, 0)
    for number in range(count):
        conn = Smcr(link, number, first=number == 0, rmb=0 if number else None)
        conn.open()
        talk(conn)
        conn.close()
    return pcap.frames


def in_groups(file, count):
    """Link groups of one connection each, one after the other: the server deletes the group after
    the connection has closed."""
    pcap = Pcap(file, tick=1000)
    for number in range(count):
        link = Link(pcap, number)
        conn = Smcr(link, 0, first=True)
        conn.open()
        talk(conn)
        conn.close()
        for sender in (SERVER, CLIENT):
            link.send(
                sender,
                llc.llc_delete_link(
                    link=1, reason=PROGRAM_ENDED, all_links=True, reply=sender == CLIENT
                ),
            )
    return pcap.frames


def storage_frames(pcap):
    """RoCE of a storage protocol, some more with each step: commands, data that the target writes
    or reads, completions."""
    noise = random.Random(4711)
    links = [Link(pcap, 0x8000 + number) for number in range(4)]
    data = noise.randbytes(16_384)
    while True:
        link = noise.choice(links)
        link.send(CLIENT, b"\0\x02\x40\0" + noise.randbytes(60))
        link.write(SERVER, noise.getrandbits(48) << 12, noise.getrandbits(32), data)
        link.send(SERVER, noise.randbytes(15) + b"\0")
        link.request(
            SERVER,
            roce.READ_REQUEST,
            roce.reth(noise.getrandbits(48) << 12, noise.getrandbits(32), 512),
        )
        link.packet(
            CLIENT,
            roce.READ_RESPONSE_ONLY,
            roce.aeth(roce.ACK, 0) + noise.randbytes(512),
            link.psn[SERVER] - 1,
        )
        yield


def storage(file, frames):
    """RoCE without SMC-R."""
    pcap = Pcap(file)
    more = storage_frames(pcap)
    while pcap.frames < frames:
        next(more)
    return pcap.frames


def application_frames(pcap, carrier):
    """Bulk data, and a short connection after each piece of it: some more with each step."""
    bulky = open_for_bulk(pcap, carrier)
    for number in itertools.count():
        send_chunk(bulky)
        if number % PER_LINK == 0:
            link = Link(pcap, 2 + number // PER_LINK)
        conn = short(link, number % PER_LINK, carrier)
        conn.open()
        talk(conn)
        conn.close()
        yield


class Queue:
    """Frames that wait for their turn in a capture."""

    def __init__(self):
        self.frames = deque()
        self.connections = 0  # of TCP, so far

    def ip(self, *frame):
        self.frames.append(frame)


def mix(file, frames, carrier=Smcr):
    """Bulk data and short connections beside RoCE of a storage protocol: a frame of these, a frame
    of that."""
    pcap, ours, others = Pcap(file), Queue(), Queue()
    sources = (ours, application_frames(ours, carrier)), (others, storage_frames(others))
    while pcap.frames < frames:
        for queue, more in sources:
            if not queue.frames:
                next(more)
            pcap.ip(*queue.frames.popleft())
    return pcap.frames


def flows(file, frames, packets=1):
    """RoCE in one direction: flows of so many packets each, which take turns."""
    pcap = Pcap(file)
    links = [Link(pcap, number % 0x10000) for number in range(frames // packets)]
    for number, link in enumerate(links):
        link.qpn = (0x100 + number, 0x800000 + number)
    for _ in range(packets):
        for link in links:
            link.request(CLIENT, roce.SEND_ONLY, bytes(32), ask=True)
    return pcap.frames


def nothing(file):
    return Pcap(file).frames
