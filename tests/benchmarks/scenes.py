"""What the captures of the benchmark hold. A scene is a function of an open file; it returns the number of frames."""

import random
from functools import cache

from wire import CLIENT, PORTS, SERVER, Link, Pcap, Smcr, Tcp, roce

CHUNK = 50_000  # bytes that a program writes at once: 48 packets of 1024 bytes and a shorter one
BODY = 20_000  # bytes of an HTTP response
TALK = b"0123456789abcdef" * 4
PER_LINK = 100  # connections of a link group


@cache
def digits(length):
    """What test programs send in bulk; no protocol begins like this."""
    return (b"0123456789" * (length // 10 + 1))[:length]


def bulk(file, frames=0, *, carried=0, carrier=Smcr, mtu=1024, **options):
    """One connection, whose client sends and sends; the server reads at once."""
    pcap = Pcap(file)
    if carrier is Smcr:
        options.update(size_code=4, first=True)
    conn = carrier(Link(pcap, 1, mtu), 0, **options)
    conn.open()
    done = 0
    while done < carried or pcap.frames < frames:
        conn.send(CLIENT, digits(CHUNK))
        conn.read(SERVER)
        done += CHUNK
    conn.close()
    return pcap.frames


def http_exchange(conn, number):
    conn.send(CLIENT, b"GET /file/%d HTTP/1.1\r\nHost: server.example\r\nAccept: */*\r\n\r\n" % number)
    conn.send(SERVER, b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n"
              b"Content-Length: %d\r\n\r\n" % BODY + digits(BODY))


def http(file, frames=0, *, carried=0, carrier=Smcr, **options):
    """One connection with one HTTP exchange after the other."""
    pcap = Pcap(file)
    if carrier is Smcr:
        options.update(size_code=2, first=True)
    conn = carrier(Link(pcap, 1), 0, port=80, **options)
    conn.open()
    done = number = 0
    while done < carried or pcap.frames < frames:
        http_exchange(conn, number)
        conn.read(CLIENT)
        done += BODY
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


def connections(file, count, rounds=1):
    """
    SMC-R connections, 100 in each link group and all open at the same time. Each has a TCP handshake, the CLC
    exchange, CONFIRM RKEY of both sides, a WRITE, a CDC message and its ACK each way, once or several times, and a
    close; every link group begins with a first contact. They take turns, in an order that looks random.
    """
    pcap = Pcap(file)
    links = [Link(pcap, number) for number in range(-(-count // PER_LINK))]
    every = [Smcr(link, number, first=number == 0) for number in range(min(count, PER_LINK)) for link in links]
    for conn in every:
        conn.open()
    random.Random(7609).shuffle(every)
    for _ in range(rounds):
        for conn in every:
            conn.send(CLIENT, TALK)
            conn.send(SERVER, TALK)
    for conn in every:
        conn.close()
    return pcap.frames


def storage(file, frames):
    """RoCE without SMC-R, as of a storage protocol: commands, data that the target writes or reads, completions."""
    pcap, noise = Pcap(file), random.Random(4711)
    links = [Link(pcap, 10 + number) for number in range(4)]
    data = noise.randbytes(16_384)
    while pcap.frames < frames:
        link = noise.choice(links)
        link.send(CLIENT, b"\0\x02\x40\0" + noise.randbytes(60))
        link.write(SERVER, noise.getrandbits(48) << 12, noise.getrandbits(32), data)
        link.send(SERVER, noise.randbytes(15) + b"\0")
        link.request(SERVER, roce.READ_REQUEST, roce.reth(noise.getrandbits(48) << 12, noise.getrandbits(32), 512))
        link.packet(CLIENT, roce.READ_RESPONSE_ONLY, roce.aeth(roce.ACK, 0) + noise.randbytes(512), link.psn[SERVER] - 1)
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
