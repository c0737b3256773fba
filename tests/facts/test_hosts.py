"""
Connections that began before the capture, and that a host names over netlink: addresses, ports, client, positions, and
what Follow shows, against what the programs and the hosts said. Each byte of the stream has one place only.
"""

import collections
import hashlib
import itertools

import hosts
import pcapng
import pytest
from bed import TOP
from follow import follow_all, raw, streams

CUTS = ("whole", "early", "behind")
HOSTS = ("A", "B", "AB")
NAMES = hosts.names()


def written(frame):
    """What an RDMA WRITE over IPv4 carries."""
    packet = pcapng.data(frame)[14 + 20 + 8:]
    return packet[12 + 16 * (packet[0] in (6, 10)):-4]  # the RETH is in FIRST and ONLY


def connections(tshark, path, *, two_pass):
    """What the capture says of its connections: {smcr.stream: {values}}."""
    found = collections.defaultdict(lambda: collections.defaultdict(set))
    rows = tshark.fields(path, "frame.number", "smcr.stream", "smcr.client.addr", "smcr.client.port", "smcr.server.addr",
                         "smcr.server.port", "smcr.stream.offset", "smcr.write.len", "ip.src", two_pass=two_pass,
                         where="smcr.stream && (smcr.cdc || smcr.write.len)")
    for number, stream, client, client_port, server, server_port, offset, length, source in rows:
        conn = found[int(stream[0])]
        conn["ends"].add((client[0], int(client_port[0]), server[0], int(server_port[0])) if client else ())
        if length and int(length[0]):
            conn["writes"].add((int(number[0]), source[0], int(offset[0]) if offset else None, int(length[0])))
    return found


def whole_streams(tshark, name):
    """The bytes that the capture has, {(client port, direction): (first position, bytes)}: their digests are the truth's."""
    path = hosts.write(tshark.bed, hosts.Variant(name, "AB", "whole"))
    found = connections(tshark, path, two_pass=True)
    bodies = follow_all(tshark, path, sorted(found), "-2")
    known = {}
    for conn in hosts.truth(name)["connections"]:
        for direction, end in enumerate(hosts.ENDS if conn["expect"] == "SMC-R" else ()):
            true = conn["streams"][end]
            for stream, said in found.items():
                data = streams(raw(bodies[stream]))[direction]
                if {ends[1] for ends in said["ends"] if ends} == {conn["client"][1]} and len(data) == true["in_capture"]:
                    assert hashlib.sha256(data).hexdigest() == true["sha256_from_first"]
                    known[conn["client"][1], direction] = true["first_in_capture"], data
    return known


def check(tshark, path, name, truth, two_pass=True):
    """Everything that is said is true; returns how much is said."""
    ends = {conn["client"][1]: (*conn["client"], *conn["server"]) for conn in hosts.truth(name)["connections"]}
    found = connections(tshark, path, two_pass=two_pass)
    frames = {number: frame for number, frame in enumerate(pcapng.read(path)[1], 1)}
    known = collections.Counter()
    for conn in found.values():
        named = conn["ends"] - {()}
        known.update(connections=1, writes=len(conn["writes"]), named=len(named))
        assert len(conn["ends"]) == 1 or not two_pass, conn["ends"]
        for client, client_port, server, server_port in named:
            assert ends[client_port] == (client, client_port, server, server_port)
            for number, source, offset, length in conn["writes"]:
                if offset is None or (client_port, source != client) not in truth:
                    continue
                known["placed"] += 1
                first, data = truth[client_port, source != client]
                assert written(frames[number])[:length] == data[offset - first:][:length], (number, offset)
    return known


