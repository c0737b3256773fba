"""What is on the wire, told without the plugin: the TCP connections of a capture and the data of
its RDMA WRITEs."""

import collections
import re

Connection = collections.namedtuple(
    "Connection", "tcp_stream client_addr client_port server_addr server_port"
)

# The first numbers of connections that began before the capture did (captures/README.md).
BEGAN_BEFORE = {"6.1-v1-c2-capture-starts-late": [1]}

ROCE_PORT = 4791
ROCE = f"udp.dstport == {ROCE_PORT} && !icmp"  # ICMP quotes packets that somebody else has sent
CDC = f"({ROCE} && udp.payload[0] == 04 && udp.payload[12:2] == fe:2c)"
WRITE = f"({ROCE} && infiniband.bth.opcode >= 6 && infiniband.bth.opcode <= 11)"

BTH, RETH, ICRC = 12, 16, 4  # bytes
WITH_RETH = (6, 10)  # opcodes WRITE first, WRITE only


def rows(tshark, capture, *names, where=""):
    """Fields of the frames that match: one dictionary per frame, lists of strings by field name.
    Two passes."""
    found = tshark.fields(capture, *names, where=where, two_pass=True)
    return [dict(zip(names, row, strict=True)) for row in found]


def connections(tshark, capture):
    """The TCP connections whose SYN is in the capture, in the order of the SYNs: {number as in
    connNNN: connection}."""
    fields = (
        "tcp.stream",
        "ip.src",
        "ipv6.src",
        "tcp.srcport",
        "ip.dst",
        "ipv6.dst",
        "tcp.dstport",
    )
    found = {}
    for row in rows(tshark, capture, *fields, where="tcp.flags.syn == 1 && tcp.flags.ack == 0"):
        stream, source4, source6, source_port, target4, target6, target_port = (
            row[name] for name in fields
        )
        found.setdefault(
            stream[0],
            Connection(
                stream[0],
                (source4 or source6)[0],
                source_port[0],
                (target4 or target6)[0],
                target_port[0],
            ),
        )
    first = len(BEGAN_BEFORE.get(capture, ())) + 1
    return dict(enumerate(found.values(), first))


def sender(mac):
    """Who sent a frame of a real capture: 0 host A, the client of all its connections, 1 host B
    (captures/README.md)."""
    return ["52:54:00:aa", "52:54:00:bb"].index(mac[:11])


def write_data(payload):
    """The application's bytes in a WRITE packet, given the payload of its UDP datagram."""
    header = BTH + (RETH if payload[0] in WITH_RETH else 0)
    padding = payload[1] >> 4 & 3
    return payload[header : len(payload) - ICRC - padding]


def streams(folder):
    """The byte streams beside a real capture: {(connection number, direction): bytes}; 0 is client
    to server."""
    found = {}
    for path in sorted(folder.iterdir()):
        if match := re.fullmatch(r"conn(\d+)\.(c2s|s2c)\.(sent|rebuilt)", path.name):
            found[int(match[1]), ("c2s", "s2c").index(match[2])] = path.read_bytes()
    return found
