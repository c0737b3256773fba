"""
Connections that began before the capture, and that a host names over netlink: addresses, ports, client, positions, and
what Follow shows, against what the programs and the hosts said. Each byte of the stream has one place only.
"""

import collections
import hashlib
import itertools

import hosts
import pytest
from bed import TOP
from follow import follow_all, raw, streams

CUTS = ("whole", "early", "behind")
HOSTS = ("A", "B", "AB")
NAMES = hosts.names()


def connections(tshark, path, *, two_pass):
    """What the capture says of its connections: {smcr.stream: {values}}; WRITEs with and without a place."""
    found = collections.defaultdict(lambda: collections.defaultdict(set))
    rows = tshark.fields(path, "frame.number", "smcr.stream", "smcr.client.addr", "smcr.client.port", "smcr.server.addr",
                         "smcr.server.port", "smcr.stream.offset", "smcr.write.len", "ip.src", two_pass=two_pass,
                         where="infiniband && smcr.stream")
    for number, stream, client, client_port, server, server_port, offset, length, source in rows:
        conn = found[int(stream[0])]
        conn["ends"].add((*client, *client_port, *server, *server_port))
        conn["frames"].add(int(number[0]))
        if length and int(length[0]):
            conn["writes"].add((int(number[0]), source[0], int(offset[0]) if offset else None, int(length[0])))
    return found


def check(tshark, variant, two_pass=True):
    """Everything that is said is true; returns what is known: connections, WRITEs placed, and bytes of Follow."""
    path = hosts.write(tshark.bed, variant)
    truth = {conn["client"][1]: conn for conn in hosts.truth(variant.name)["connections"] if conn["expect"] == "SMC-R"}
    found = connections(tshark, path, two_pass=two_pass)
    bodies = follow_all(tshark, path, sorted(found), *(["-2"] if two_pass else [])) if found else {}
    known = collections.Counter()
    for stream, conn in found.items():
        named = [ends for ends in conn["ends"] if ends]
        known["connections"] += 1
        known["frames"] += len(conn["frames"])
        known["writes"] += len(conn["writes"])
        known["placed"] += sum(offset is not None for _, _, offset, _ in conn["writes"])
        if not named:
            continue
        known["named"] += 1
        assert len(named) == 1 and len(conn["ends"]) == 1 or not two_pass, (variant, stream, conn["ends"])
        client, client_port, server, server_port = named[0]
        true = truth[int(client_port)]
        assert [client, int(client_port)] == true["client"] and [server, int(server_port)] == true["server"], (variant, stream)
        for direction, (end, sender) in enumerate(zip(hosts.ENDS, (client, server))):
            stream_truth = true["streams"][end]
            places = {offset: length for _, source, offset, length in sorted(conn["writes"], key=lambda write: write[0])
                      if source == sender and offset is not None}
            data = streams(raw(bodies[stream]))[direction]
            known["bytes"] += len(data)
            known["bytes in the capture"] += stream_truth["in_capture"]
            if places and two_pass:
                first, last = min(places), max(offset + length for offset, length in places.items())
                assert stream_truth["first_in_capture"] <= first and last <= stream_truth["total"], (variant, stream, end)
                assert len(data) == last - first, (variant, stream, end, len(data), first, last)
            if len(data) == stream_truth["in_capture"]:
                assert hashlib.sha256(data).hexdigest() == stream_truth["sha256_from_first"], (variant, stream, end)
                known["digests"] += 1
    return known


def main():
    import sys
    from bed import Tshark, new_bed
    with new_bed() as bed:
        tshark = Tshark(bed)
        for name, cut, told in itertools.product(sys.argv[1:] or NAMES, CUTS, HOSTS):
            for two_pass in (True, False):
                try:
                    print(f"{name:15} {cut:7} {told:3} {'two' if two_pass else 'one'}", dict(check(tshark, hosts.Variant(name, told, cut), two_pass)), flush=True)
                except AssertionError as error:
                    print(f"{name:15} {cut:7} {told:3} {'two' if two_pass else 'one'} FAIL", str(error)[:300], flush=True)


if __name__ == "__main__":
    main()
