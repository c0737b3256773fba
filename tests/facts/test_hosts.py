"""
Connections that began before the capture, and that a host names over netlink: addresses, ports,
client, positions, and what Follow shows, against what the programs and the hosts said. Each byte of
the stream has one place only.
"""

import collections
import hashlib
import itertools
import json
import os
import pathlib
import re
import struct
import zlib

import hosts
import made_dumps
import mutants
import pcapng
import pytest
import sharkd
from bed import ALL, captures
from bulk import Capture, Connection, linux_connection, linux_halves
from follow import follow_all, raw, streams

HOSTS = ("A", "B", "AB")
NAMES = hosts.names()
# In the second one a message takes the name away that frames of the first one have, whose bytes
# came before the name.
SECOND = [("http", "late-fallback"), ("late-many", "late-reuse")]
ENDED = {"late-reuse": 2}  # connections that ended before the dump: nobody tells whose they are


# ---- alterations: of frames of the wire and of netlink, in their order ----


def is_told(frame):
    return hosts.interface(frame) != 0


def moved(share):
    """Netlink comes when this share of the wire has gone by: it is of another time."""

    def move(frames):
        wire = [frame for frame in frames if not is_told(frame)]
        at = int((len(wire) - 1) * share)
        moment = pcapng.time(wire[at])
        return (
            wire[:at]
            + [pcapng.at_time(frame, moment) for frame in frames if is_told(frame)]
            + wire[at:]
        )

    return move


def without(number, of_netlink):
    """One in `number` frames is absent."""
    return lambda frames: [
        frame
        for at, frame in enumerate(frames)
        if is_told(frame) != of_netlink or at * 7919 % number
    ]


def not_from(address):
    return lambda frames: [
        frame for frame in frames if is_told(frame) or pcapng.data(frame)[26:30] != address
    ]


ALTERATIONS = {
    "first": moved(0),
    "third": moved(1 / 3),
    "later": moved(2 / 3),
    "last": moved(1),
    "twice": lambda frames: [frame for frame in frames for _ in range(1 + is_told(frame))],
    "netlink lacks 2": without(2, True),
    "netlink lacks 3": without(3, True),
    "wire lacks 5": without(5, False),
    "wire lacks 11": without(11, False),
    "wire lacks 31": without(31, False),
    "not from A": not_from(b"\x0a\0\0\1"),
    "not from B": not_from(b"\x0a\0\0\2"),
}


def altered(tshark, name, told, alteration):
    base = hosts.write(tshark.bed, hosts.Variant(name, told, "whole"))
    path = base.with_name(f"{base.stem}-{alteration.replace(' ', '-')}.pcapng")
    head, frames = pcapng.read(base)
    pcapng.write(path, head, ALTERATIONS[alteration](frames))
    path.chmod(0o644)
    return path


# ---- what is said ----


def written(frame):
    """What an RDMA WRITE over IPv4 carries."""
    packet = pcapng.data(frame)[14 + 20 + 8 :]
    return packet[12 + 16 * (packet[0] in (6, 10)) : -4]  # the RETH is in FIRST and ONLY


def connections(tshark, path, *, two_pass, options=()):
    """What the capture says of its connections: {smcr.stream: {values}}."""
    found = collections.defaultdict(lambda: collections.defaultdict(set))
    rows = tshark.fields(
        path,
        "frame.number",
        "smcr.stream",
        "smcr.client.addr",
        "smcr.client.port",
        "smcr.server.addr",
        "smcr.server.port",
        "smcr.stream.offset",
        "smcr.write.len",
        "ip.src",
        two_pass=two_pass,
        options=options,
        where="smcr.stream && (smcr.cdc || smcr.write.len)",
    )
    for number, stream, client, client_port, server, server_port, offset, length, source in rows:
        conn = found[int(stream[0])]
        conn["ends"].add(
            (client[0], int(client_port[0]), server[0], int(server_port[0])) if client else ()
        )
        if length and int(length[0]):
            conn["writes"].add(
                (int(number[0]), source[0], int(offset[0]) if offset else None, int(length[0]))
            )
    return found


def whole_streams(tshark, name):
    """The bytes that the capture has, {(client port, direction): (first position, bytes)}: their
    digests are the truth's."""
    path = hosts.write(tshark.bed, hosts.Variant(name, "AB", "whole"))
    found = connections(tshark, path, two_pass=True)
    bodies = follow_all(tshark, path, sorted(found), "-2")
    known = {}
    for conn in hosts.truth(name)["connections"]:
        for direction, end in enumerate(hosts.ENDS if conn["expect"] == "SMC-R" else ()):
            true = conn["streams"][end]
            for stream, said in found.items():
                data = streams(raw(bodies[stream]))[direction]
                if {ends[1] for ends in said["ends"] if ends} == {conn["client"][1]} and len(
                    data
                ) == true["in_capture"]:
                    assert hashlib.sha256(data).hexdigest() == true["sha256_from_first"]
                    known[conn["client"][1], direction] = true["first_in_capture"], data
    return known


def check(tshark, path, name, truth, two_pass=True, options=()):
    """Everything that is said is true; returns how much is said."""
    ends = {
        conn["client"][1]: (*conn["client"], *conn["server"])
        for conn in hosts.truth(name)["connections"]
    }
    found = connections(tshark, path, two_pass=two_pass, options=options)
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
                assert written(frames[number])[:length] == data[offset - first :][:length], (
                    number,
                    offset,
                )
    return known


def check_fallen(tshark, path, entries):
    """A connection whose ends have no roles has the frame that tells of it, and one row in each
    table, which names both ends."""
    printed = (
        [
            tshark.show(path, "-2", "-q", "-z", f"smcr,{table}")
            for table in ("connections", "directions")
        ]
        if entries
        else []
    )
    for entry in entries:
        found = tshark.fields(
            path,
            "frame.number",
            where=f"smcr.stream == {entry['stream']} && smcr.fallback",
            two_pass=True,
        )
        assert entry["fallback"]["frame"] == int(found[0][0][0]), entry
        assert [page.count(entry["ends"]) for page in printed] == [1, 1], entry


@pytest.mark.parametrize("name", NAMES)
def test_what_hosts_tell(tshark, name):
    """With a dump of either host, or of both: each open connection has its name, and each WRITE its
    place in two passes."""
    truth = whole_streams(tshark, name)
    connections_told = hosts.told(name, "A")
    for told, cut in itertools.product(HOSTS, ("whole", "early", "behind")):
        path = hosts.write(tshark.bed, hosts.Variant(name, told, cut))
        known = check(tshark, path, name, truth)
        assert known["named"] == len(connections_told), (told, cut, known)
        ended = ENDED.get(name, 0) if cut != "early" else 0
        assert known["connections"] == known["named"] + ended, (told, cut, known)
        if not ended:
            assert known["placed"] == known["writes"], (told, cut, known)
        check(tshark, path, name, truth, two_pass=False)
        report = json.loads(tshark.show(path, "-2", "-q", "-z", "smcr,json"))
        assert [group["type"] for group in report["link_groups"]] == ["single"], (told, cut)
        fallen = [
            set(entry["ends"].split(" ↔ ")) for entry in report["connections"] if entry["ends"]
        ]
        true = [
            {
                "[{}]:{}".format(*end) if ":" in end[0] else "{}:{}".format(*end)
                for end in (conn["client"], conn["server"])
            }
            for conn in hosts.truth(name)["connections"]
            if conn["expect"] != "SMC-R"
        ]
        assert all(ends in true for ends in fallen) and (told == "B" or len(fallen) == len(true)), (
            told,
            cut,
            fallen,
        )
        check_fallen(tshark, path, [entry for entry in report["connections"] if entry["ends"]])


def carried(writes, known):
    """What RDMA WRITEs carry of one direction. known: (first position, bytes)."""
    first, data = known
    return data[
        min(at for at, _ in writes) - first : max(at + length for at, length in writes) - first
    ]


@pytest.mark.parametrize("name", NAMES)
def test_follow_of_what_began_before(tshark, name):
    """Two passes show all that the capture has. One pass shows a part of it, from the name on; each
    byte in its direction."""
    truth = whole_streams(tshark, name)
    every = list(itertools.product(HOSTS, ("whole", "early", "behind")))
    for told, cut in every if ALL else every[zlib.crc32(name.encode()) % 3 :: 3]:
        path = hosts.write(tshark.bed, hosts.Variant(name, told, cut))
        found = connections(tshark, path, two_pass=True)
        for passes in (("-2",), ()):
            bodies = follow_all(tshark, path, sorted(found), *passes)
            named = connections(tshark, path, two_pass=bool(passes))
            for stream, said in named.items():
                ends = {each for each in said["ends"] if each}
                for direction, data in enumerate(streams(raw(bodies[stream])) if ends else ()):
                    ((client, port, _, _),) = ends
                    writes = {
                        (at, length)
                        for _, source, at, length in found[stream]["writes"]
                        if (source != client) == direction
                    }
                    expected = carried(writes, truth[port, direction]) if writes else b""
                    assert data == expected if passes else data in expected, (
                        told,
                        cut,
                        passes,
                        stream,
                        direction,
                    )


@pytest.mark.parametrize(
    "pair",
    [pair for pair in itertools.permutations(NAMES, 2) if ALL or pair in SECOND],
    ids="-".join,
)
def test_hosts_of_another_time(tshark, pair):
    """The same hosts, queue pairs and tokens in two captures that are one file: what is named is of
    its part."""
    (head, before), (_, behind) = (
        pcapng.read(hosts.write(tshark.bed, hosts.Variant(name, "AB", "whole"))) for name in pair
    )
    shift = pcapng.time(before[-1]) + 10_000_000 - pcapng.time(behind[0])
    path = pathlib.Path(tshark.bed.scratch) / f"{'-'.join(pair)}.pcapng"
    pcapng.write(
        path, head, before + [pcapng.at_time(frame, pcapng.time(frame) + shift) for frame in behind]
    )
    path.chmod(0o644)
    ports = [{conn["client"][1] for conn in hosts.truth(name)["connections"]} for name in pair]
    rows = tshark.fields(
        path,
        "frame.number",
        "smcr.client.port",
        two_pass=True,
        where="smcr.client.port && (smcr.cdc || smcr.write.len)",
    )
    assert rows and all(
        int(port[0]) in ports[int(number[0]) > len(before)] for number, port in rows
    )


@pytest.mark.parametrize("name", NAMES)
def test_nothing_false_is_said(tshark, name):
    """Dumps of another time, dumps of which frames are absent, and wires of which frames are: what
    is said stays true."""
    truth = whole_streams(tshark, name)
    every = list(itertools.product(HOSTS, ALTERATIONS))
    start = zlib.crc32(name.encode()) % 7
    for told, alteration in every if ALL else every[start::7]:
        path = altered(tshark, name, told, alteration)
        for two_pass in (True, False):
            check(tshark, path, name, truth, two_pass)


def displaced(seconds):
    """Frames of netlink stand so much later in the file than their time is, or earlier, as dumpcap
    writes several interfaces."""

    def displace(frames):
        shift = int(seconds * 1_000_000)  # the captures have microseconds
        return sorted(frames, key=lambda frame: pcapng.time(frame) + shift * is_told(frame))

    return displace


@pytest.mark.parametrize("name", NAMES)
def test_a_file_that_is_not_in_the_order_of_its_times(tshark, name):
    """What hosts tell is compared with the wire at its time: nothing is contradicted, and as much
    is named."""
    truth = whole_streams(tshark, name)
    for told, seconds in (
        itertools.product(HOSTS, (-0.09, 0.09))
        if ALL
        else (("AB", -0.09), ("A", 0.09), ("B", -0.09))
    ):
        base = hosts.write(tshark.bed, hosts.Variant(name, told, "whole"))
        path = base.with_name(f"{base.stem}-displaced-{seconds}.pcapng")
        head, frames = pcapng.read(base)
        pcapng.write(path, head, displaced(seconds)(frames))
        path.chmod(0o644)
        assert tshark.frames(path, "smcr.told.otherwise", two_pass=True) == [], (told, seconds)
        assert check(tshark, path, name, truth)["named"] == len(hosts.told(name, "A")), (
            told,
            seconds,
        )
        check(tshark, path, name, truth, two_pass=False)


def test_a_dump_of_another_time_is_not_believed(tshark):
    """Where the wire stands elsewhere, an item says so, and the connection has no name."""
    for name, alteration in [("late-one", "first"), ("late-many", "first"), ("late-many", "later")]:
        path = altered(tshark, name, "B", alteration)
        refused = sum(
            len(row[0])
            for row in tshark.fields(
                path, "smcr.told.otherwise", where="smcr.told.otherwise", two_pass=True
            )
        )
        named = {
            ends
            for conn in connections(tshark, path, two_pass=True).values()
            for ends in conn["ends"]
            if ends
        }
        assert refused and len(named) + refused <= len(hosts.told(name, "B")), (name, alteration)


# ---- what is told twice, late, or of two ----


def messages(frame):
    data, at = pcapng.data(frame), 16
    while at + 16 <= len(data):
        length = struct.unpack_from("<I", data, at)[0]
        yield data[at : at + length]
        at += length + -length % 4


def retold(frame, change):
    """The frame of SOCK_DIAG with what change() makes of each message of a socket with a token: a
    list of messages."""
    changed = [
        each
        for message in messages(frame)
        for each in (
            change(message)
            if message[4:6] == b"\x14\0" and struct.pack("<HH", 80, 1) in message
            else [message]
        )
    ]
    return pcapng.with_data(
        frame, pcapng.data(frame)[:16] + b"".join(each + bytes(-len(each) % 4) for each in changed)
    )


def is_of_sockets(frame):
    return is_told(frame) and pcapng.data(frame)[14:16] == b"\0\4"


def saved(tshark, variant, change):
    """The variant as change() makes it of its frames."""
    base = hosts.write(tshark.bed, variant)
    path = base.with_name(f"retold-{os.getpid()}.pcapng")
    head, frames = pcapng.read(base)
    pcapng.write(path, head, change(frames))
    path.chmod(0o644)
    return path


def named(tshark, path, two_pass=True):
    """Ports of the clients of connections that a host names."""
    return {
        int(port[0])
        for (port,) in tshark.fields(
            path,
            "smcr.client.port",
            two_pass=two_pass,
            where="smcr.named_in && (smcr.cdc || smcr.write.len)",
        )
    }


def of_other_port(message, host):
    """The socket, but for the client's port and its inode."""
    at = {"A": 20, "B": 22}[host]
    return (
        message[:at]
        + bytes([message[at] ^ 0x40])
        + message[at + 1 : 72]
        + bytes([message[72] ^ 1])
        + message[73:]
    )


@pytest.mark.parametrize("name", ["late-one", "late-many"])
def test_two_sockets_with_one_token(tshark, name):
    """In one dump, before or behind the other, or told of by somebody else at once: nobody knows
    whose the token is."""
    for host, way in itertools.product("AB", ("before", "behind", "other")):

        def twins(message, host=host, way=way):
            other = of_other_port(message, host)
            return (
                [other, message]
                if way == "before"
                else [message, other]
                if way == "behind"
                else [other[:8] + bytes([other[8] ^ 0x40]) + other[9:]]
            )

        def change(frames, way=way, twins=twins):
            return [
                each
                for frame in frames
                for each in [frame] * (way == "other" or not is_of_sockets(frame))
                + [retold(frame, twins)] * is_of_sockets(frame)
            ]

        path = saved(tshark, hosts.Variant(name, host, "whole"), change)
        assert named(tshark, path) == named(tshark, path, False) == set(), (host, way)
        assert tshark.frames(path, "smcr.told.otherwise", two_pass=True), (host, way)


def again(frames, distance, sequence):
    """Netlink comes again some places later, at the time of the frame before it, or from somebody
    who has asked at once."""

    def other(frame):
        data = pcapng.data(frame)
        return pcapng.with_data(frame, data[:24] + bytes([data[24] ^ sequence]) + data[25:])

    places = [(at, 0, frame) for at, frame in enumerate(frames)]
    for at, frame in enumerate(frames):
        if is_told(frame):
            to = min(at + distance, len(frames) - 1)
            places.append((to, 1, other(pcapng.at_time(frame, pcapng.time(frames[to])))))
    return [frame for _, _, frame in sorted(places, key=lambda each: each[:2])]


@pytest.mark.parametrize(
    "name", [name for name in NAMES if ALL or name in ("late-wrap", "late-many")]
)
def test_what_is_told_twice_contradicts_nothing(tshark, name):
    """A copy of a frame, at whatever time; two programs that ask at once: all is named that one
    dump names, groups, too."""
    base, truth = hosts.Variant(name, "AB", "whole"), whole_streams(tshark, name)
    for distance, sequence in ((0, 0), (1, 0), (50, 0), (200, 0), (0, 0x40), (1, 0x40)):
        path = saved(
            tshark,
            base,
            lambda frames, distance=distance, sequence=sequence: again(frames, distance, sequence),
        )
        assert tshark.frames(path, "smcr.told.otherwise", two_pass=True) == [], (distance, sequence)
        assert check(tshark, path, name, truth) == check(
            tshark, hosts.write(tshark.bed, base), name, truth
        ), (distance, sequence)
        assert groups(tshark, path) == groups(tshark, hosts.write(tshark.bed, base)), (
            distance,
            sequence,
        )


def groups(tshark, path):
    """What the report has of link groups that hosts have told."""
    report = json.loads(tshark.show(path, "-2", "-q", "-z", "smcr,json"))
    return [
        [group[key] for key in ("version", "type", "eid", "peers")]
        for group in report["link_groups"]
    ]


@pytest.mark.parametrize("host", "AB")
def test_both_cursors_are_of_one_time(tshark, host):
    """A host that has received less than the last message announces, and of more that was read, is
    another host."""

    def moved_apart(message, less, more):
        at = message.index(struct.pack("<HH", 80, 1)) + 4 + 16 + 4
        prod, _, cons = struct.unpack_from("<III", message, at)
        return [
            message[:at]
            + struct.pack("<I", prod - less)
            + message[at + 4 : at + 8]
            + struct.pack("<I", cons + more)
            + message[at + 12 :]
        ]

    for less, more, is_one in ((0, 0, True), (1, 0, True), (1, 1, False)):
        path = saved(
            tshark,
            hosts.Variant("late-one", host, "whole"),
            lambda frames, less=less, more=more: [
                retold(frame, lambda message: moved_apart(message, less, more))
                if is_of_sockets(frame)
                else frame
                for frame in frames
            ],
        )
        assert bool(named(tshark, path)) == is_one, (less, more)
        assert bool(tshark.frames(path, "smcr.told.otherwise", two_pass=True)) != is_one, (
            less,
            more,
        )


def test_a_dump_far_behind_the_wire_is_not_believed(tshark):
    """Its time may be wrong: what messages have announced 100 ms before it, the host had
    written."""
    refused = 0
    for name, host in itertools.product(("late-one", "late-wrap", "late-fallback"), "AB"):
        for share in (0.6, 0.8, 1):
            path = saved(tshark, hosts.Variant(name, host, "whole"), moved(share))
            head, frames = pcapng.read(path)
            moment = next(pcapng.time(frame) for frame in frames if is_told(frame))
            last = {}  # {token: the last message to the host before that}
            for number, token, wrap, prod, time, target in tshark.fields(
                path,
                "frame.number",
                "smcr.cdc.token",
                "smcr.cdc.prod_wrap",
                "smcr.cdc.prod",
                "frame.time_epoch",
                "ip.dst",
                where="smcr.cdc",
            ):
                if pcapng.time(frames[int(number[0]) - 1]) + 200_000 <= moment and target == [
                    {"A": "10.0.0.1", "B": "10.0.0.2"}[host]
                ]:
                    last[int(token[0], 0)] = int(wrap[0]), int(prod[0])
            for frame in filter(is_of_sockets, frames):
                for message in messages(frame):
                    at = message.find(struct.pack("<HH", 80, 1)) + 4
                    if message[4:6] != b"\x14\0" or at < 4:
                        continue
                    _, wrap, prod = struct.unpack_from("<HHI", message, at + 16)
                    (port,) = struct.unpack_from(">H", message, {"A": 20, "B": 22}[host])
                    if last.get(struct.unpack_from("<I", message, at)[0], (0, 0)) > (wrap, prod):
                        assert port not in named(tshark, path), (name, host, share)
                        refused += 1
    assert refused > 10


# ---- whole captures, made late, with what their hosts would have told ----

# Two passes with the dumps of both hosts name at least this share of the messages and WRITEs of
# open connections.
HEALTHY = {
    "6.1-v1-b-first-contact-ipv6": 1,
    "6.1-v1-c-three-conns": 0.9,
    "6.1-v1-h1-two-links-second-fails": 0.98,
    "6.1-v1-d-bulk-slow-reader": 0.99,
    "6.1-v2-q-forty-conns": 1,
    "6.1-v2-h6-late-second-link-asymmetric": 1,
}


def test_whole_captures_made_late(tshark):
    """SMCv1 and v2, two links, bulk, forty connections: what a late capture says with dumps, the
    whole one says, too."""
    for name in captures("real") if ALL else HEALTHY:
        path = pathlib.Path(tshark.bed.capture(name))
        said = made_dumps.read(tshark, path)
        messages = sorted(number for number, (each, _) in said.items() if each.token is not None)
        conns, ended = made_dumps.connections(tshark, path), made_dumps.ends(tshark, path)
        if not conns or len(messages) < 4:
            continue
        for share, begin, roles in itertools.product(
            (1 / 4, 1 / 2, 3 / 4) if ALL else (1 / 2,), (1 / 2, 1), ((0,), (1,), (0, 1))
        ):
            at = messages[int(len(messages) * share)]
            opened = made_dumps.open_at(conns, said, ended, at)
            late = pathlib.Path(tshark.bed.scratch) / f"made-{name}.pcapng"
            answers = [
                frame
                for role in roles
                for frame in made_dumps.dump(opened.values(), role, 7 + role)
            ]
            numbers = made_dumps.late(
                path, late, cut=messages[int(len(messages) * share * begin)], at=at, answers=answers
            )
            known = collections.Counter()
            for number, _, port, offset in tshark.fields(
                late,
                "frame.number",
                "smcr.stream",
                "smcr.client.port",
                "smcr.stream.offset",
                two_pass=True,
                where="smcr.cdc || smcr.write.len",
            ):
                each, client = said[numbers[int(number[0])]]
                assert not port or client is None or int(port[0]) == client, (
                    name,
                    share,
                    begin,
                    roles,
                    number,
                )
                assert not offset or each.offset is None or int(offset[0]) == each.offset, (
                    name,
                    share,
                    begin,
                    roles,
                    number,
                )
                if each.stream in opened:
                    known.update(all=1, named=bool(port))
            if roles == (0, 1):
                assert known["named"] >= HEALTHY.get(name, 0) * known["all"], (
                    name,
                    share,
                    begin,
                    known,
                )


def test_a_whole_capture_needs_no_host(tshark):
    """With a dump that nobody can read, the output is the same but for who names the
    connections."""
    told = hosts.write(tshark.bed, hosts.Variant("whole-and-dump", "AB", "whole"))
    head, frames = pcapng.read(told)
    mute = told.with_name("mute.pcapng")
    pcapng.write(
        mute,
        head,
        [
            pcapng.with_data(frame, pcapng.data(frame)[:14] + b"\0\2" + pcapng.data(frame)[16:])
            if is_told(frame)
            else frame
            for frame in frames
        ],
    )
    mute.chmod(0o644)
    with_dump, without = (
        tshark.show(path, "-2", "-V", "-Y", "eth").splitlines() for path in (told, mute)
    )
    assert (
        [line for line in with_dump if "[Identified from netlink in: " not in line]
        == without
        != with_dump
    )
    assert len({tshark.show(path, "-2", "-q", "-z", "smcr,report") for path in (told, mute)}) == 1


def test_what_came_before_the_name_is_dissected(tshark):
    """HTTP on its ports, from the first byte: in two passes, and in a window after clicks in any
    order and a filter."""
    path = hosts.write(tshark.bed, hosts.Variant("http", "A", "whole"))
    messages = tshark.fields(
        path, "frame.number", "http.request.uri", "http.response.code", where="http", two_pass=True
    )
    assert [codes for _, _, codes in messages] == [[], ["200"], [], ["200"]]
    assert [uris for _, uris, codes in messages if not codes] == [["/three.html"], ["/four.txt"]]
    assert all(
        uris in ([], request[1])
        for request, (_, uris, _) in zip(messages[::2], messages[1::2], strict=True)
    )  # since 4.4
    first = tshark.fields(
        path, "frame.number", "http.request.uri", "http.response.code", where="http"
    )  # before the dump: heuristics
    # one pass does not show bytes that a later frame confirms: the first request
    assert [codes for _, _, codes in first] == [codes for _, _, codes in messages[1:]]
    assert first[1:] == messages[2:]
    numbers = [int(row[0][0]) for row in messages]
    clicks = [sharkd.frame(number) for number in (numbers[1], 9, 5, numbers[0])]
    listed = sharkd.ask(tshark, [sharkd.load(path), *clicks, ("frames", {"filter": "http"})])[-1]
    assert [each["num"] for each in listed] == numbers


def test_a_dump_is_on_no_wire(tshark):
    """TCP and RoCE are still of one interface: so their order proves what is broken."""
    whole, late = (
        pathlib.Path(tshark.bed.scratch) / f"{name}.pcapng" for name in ("no-dump", "dump")
    )
    whole.touch()
    whole.chmod(0o666)
    tshark.bed.edit("-F", "pcapng", tshark.bed.capture("rule-cdc-close"), whole)
    made_dumps.late(whole, late, cut=1, at=1, answers=made_dumps.dump([], 0))
    broken = [
        len(tshark.frames(path, "smcr.tcp_closed_before", two_pass=True)) for path in (whole, late)
    ]
    assert broken[0] == broken[1] > 0


# ---- the saved output of smcss ----


def smcss_file(tshark, name, lines):
    path = pathlib.Path(tshark.bed.scratch) / f"smcss-{name}"
    path.write_text("".join(f"{line}\n" for line in lines))
    path.chmod(0o644)
    return ("-o", f"smcr.smcss:{path}")


@pytest.mark.parametrize("name", NAMES)
def test_what_smcss_tells(tshark, name):
    """A file names what a dump does, from the first frame on, in one pass: with both hosts' files
    both directions."""
    truth = whole_streams(tshark, name)
    path = hosts.write(tshark.bed, hosts.Variant(name, "", "whole"))
    for told, (both, two_pass) in itertools.product(
        HOSTS, ((True, True), (False, True), (False, False))
    ):
        options = smcss_file(
            tshark, f"{name}-{told}", hosts.smcss(name, told if not both else "AB")
        )
        known = check(tshark, path, name, truth, two_pass, options)
        assert known["named"] == len(hosts.told(name, "A")), (told, both, known)
        if both:
            assert known["connections"] == known["named"] + ENDED.get(name, 0)
            assert ENDED.get(name) or known["placed"] == known["writes"] > 0, known


def refused(tshark, path, options):
    """What items say of the file."""
    return re.findall(
        r"The smcss file is ignored\. (.*)",
        tshark.show(path, "-2", "-V", "-Y", "smcr.told.otherwise", *options),
    )


def twice(frames):
    """The connection with token 1 has ended before that with token 4 begins, whose token is 1 now;
    there is no TCP."""
    for frame in frames:
        data = pcapng.data(frame)
        at = 14 + 20 + 8 + 12  # behind Ethernet, IPv4, UDP and BTH
        if (
            data[23] == 17
            and data[30:34] == b"\x0a\0\0\1"
            and data[42] == 4
            and data[at : at + 2] == b"\xfe\x2c"
        ):
            data = (
                data[: at + 4]
                + data[at + 4 : at + 8].replace(b"\0\0\0\4", b"\0\0\0\1")
                + data[at + 8 :]
            )
        if data[23] == 17:
            yield pcapng.with_data(frame, mutants.with_icrc(data))


def test_what_contradicts_smcss(tshark):
    """CLC, a dump, cursors, a token that was used again: the file is not believed, an item says so,
    and it names nothing."""
    late, dump, reuse, whole = (
        hosts.write(tshark.bed, hosts.Variant(name, told, "whole"))
        for name, told in (
            ("late-one", ""),
            ("late-one", "A"),
            ("late-reuse", ""),
            ("whole-and-dump", ""),
        )
    )
    again = reuse.with_name("token-again.pcapng")
    head, frames = pcapng.read(reuse)
    pcapng.write(again, head, twice(frames))
    again.chmod(0o644)
    line = hosts.smcss("late-one", "A")[1]
    port = {int(line.split()[3].rpartition(":")[2])}
    reused = next(line for line in hosts.smcss("late-reuse", "A") if ":40001 " in line).replace(
        " 00000004 ", " 00000001 "
    )
    reused = (
        re.sub("0000:[0-9a-f]{8}", "0000:00000000", reused.partition("CLNT")[0])
        + "CLNT"
        + reused.partition("CLNT")[2]
    )

    def changed(**columns):
        return [" ".join(columns.get(f"c{at}", column) for at, column in enumerate(line.split()))]

    def named(capture, lines):
        found = connections(
            tshark, capture, two_pass=True, options=smcss_file(tshark, "contradicted", lines)
        )
        return {ends[1] for conn in found.values() for ends in conn["ends"] if ends}

    assert named(late, [line, line]) == port == named(dump, [])
    cases = [
        (late, changed(c12="0002:00000000", c13="0000:00000000"), "Cursors are not", set()),
        (
            late,
            changed(c10="00000400", c12="0000:00000001", c16="0000:00000001"),
            "Cursors are not",
            set(),
        ),
        (dump, changed(c3="10.0.0.1:7"), "Another socket has", port),
        (
            whole,
            [
                each.replace("10.0.0.1:5", "10.0.0.1:4")
                for each in hosts.smcss("whole-and-dump", "A")
            ],
            "Ends, role",
            named(whole, []),
        ),
        (again, [reused], "Two connections have", set()),
    ]
    for capture, lines, text, ports in cases:
        said = refused(tshark, capture, smcss_file(tshark, "contradicted", lines))
        assert (
            said and all(each.startswith(text) for each in said) and named(capture, lines) == ports
        ), (capture, text, said)


def test_a_line_of_smcss_with_another_role(tshark):
    """One of several lines says client where the others of its link group say server: what is named
    is right, or nothing is."""
    path = hosts.write(tshark.bed, hosts.Variant("late-many", "", "whole"))
    lines = hosts.smcss("late-many", "A")

    def named(lines):
        found = connections(
            tshark, path, two_pass=True, options=smcss_file(tshark, "swapped", lines)
        )
        return {ends for conn in found.values() for ends in conn["ends"] if ends}

    truth = named(lines)
    told = [at for at, line in enumerate(lines) if not line.startswith("State")]
    assert len(truth) > 2 and len(told) > 2
    for at in told:
        line = lines[at].replace("CLNT", "else").replace("SERV", "CLNT").replace("else", "SERV")
        swapped = [*lines[:at], line, *lines[at + 1 :]]
        assert named(swapped) <= truth, line
        assert refused(tshark, path, smcss_file(tshark, "swapped", swapped)), line


def test_wrong_lines_of_smcss_are_refused(tshark):
    """Each with its number and the column, where the user sees it; the other lines count."""
    late = hosts.write(tshark.bed, hosts.Variant("late-one", "", "whole"))
    title, line = hosts.smcss("late-one", "A")
    columns = line.split()
    skipped = [
        title,
        "",
        "LISTEN         00000 0010830 0.0.0.0:12345",
        line.replace("SMCR", "TCP 0x03010000"),
        "INIT 0 0",
    ]
    names = dict(
        zip(
            (3, 4, 6, 8, 10, 11, 12, 13, 15, 16, 21, 24, 25, 26),
            (
                "Local Address",
                "Peer Address",
                "Mode",
                "Token",
                "Rcvbuf",
                "Peerbuf",
                "rxprod-Cursor",
                "rxcons-Cursor",
                "txprod-Cursor",
                "txcons-Cursor",
                "Role",
                "Linkid",
                "GID",
                "Peer-GID",
            ),
            strict=True,
        )
    )
    wrong = ["..", "zz", "\u00e9" * 300]
    bad = [" ".join([*columns[:at], text, *columns[at + 1 :]]) for text in wrong for at in names]
    bad += [" ".join(columns[:at]) for at in range(1, len(columns))] + [
        f"{line} 1",
        "\x01\x02",
        "State"[:3],
    ]
    for text in bad if ALL else bad[::3]:
        said = tshark.start(
            "-n",
            *smcss_file(tshark, "bad", [*skipped, text, line]),
            "-r",
            late,
            "-Y",
            "smcr.named_by_file",
        )
        assert said.returncode == 0 and said.stdout, text
        assert (
            re.search(r"\nLine 6: column \S.* is missing or wrong\.", said.stderr)
            and said.stderr.count("\nLine") == 1
        ), (text, said.stderr)
    for at, name in names.items():
        options = smcss_file(tshark, "bad", [" ".join([*columns[:at], "..", *columns[at + 1 :]])])
        assert (
            f"\nLine 1: column {name} is"
            in tshark.start("-n", *options, "-r", late, "-Y", "smcr.named_by_file").stderr
        )
    for lines, text in (
        (
            [line, line.replace(":38", ":39")],
            "Line 2: The smcss file is ignored. Another socket",
        ),
    ):
        said = tshark.start(
            "-n", *smcss_file(tshark, "bad", lines), "-r", late, "-Y", "smcr.named_by_file"
        )
        assert text in said.stderr and not said.stdout
    assert "No such file" in tshark.start("-n", "-o", "smcr.smcss:/nowhere", "-r", late).stderr


# ---- two link groups between the same devices ----


def other_group(data, token):
    """The frame of RoCE as another link group would have it: other queue pairs, RKeys and
    tokens."""
    bth = 14 + 20 + 8
    new = bytearray(data)
    new[bth + 6] ^= 0x40  # destination queue pair
    new[bth + 9] ^= 0x40  # PSN
    if data[bth] in (6, 10):  # RDMA WRITE FIRST and ONLY: the RKey
        new[bth + 12 + 8] ^= 0x40
    if data[bth] == 4 and data[bth + 12 : bth + 14] == b"\xfe\x2c":
        new[bth + 12 + 4] ^= token
    return mutants.with_icrc(bytes(new))


def other_socket(data):
    """The answer of the host about a socket of that other group, and about the group."""
    new = bytearray(data)
    if data[14:16] == b"\0\4" and data[20:22] == b"\x14\0" and data[32] == 43 and len(data) > 300:
        at = data.index(struct.pack("<HH", 80, 1), 96) + 4
        new[at + 3] ^= 0x40  # the token, in the host's order
        client = 36 if data[36:38] != struct.pack(">H", 12345) else 38
        new[client] ^= 0x40
        return bytes(new)
    group = data.find(struct.pack("<HHI", 8, 1, 0x100))
    if data[14:16] == b"\0\x10" and group > 0:
        new[group + 5] ^= 2
        return bytes(new)
    return None


def test_two_link_groups_between_the_same_devices(tshark):
    """Tokens tell whose a connection is; which of the two groups is which, nobody tells, so nothing
    is said of them."""
    base = hosts.write(tshark.bed, hosts.Variant("late-one", "AB", "whole"))
    head, frames = pcapng.read(base)
    both = []
    for frame in frames:
        data = pcapng.data(frame)
        other = (
            other_socket(data)
            if is_told(frame)
            else other_group(data, 0x40)
            if data[23] == 17
            else None
        )
        both += [frame, pcapng.with_data(frame, other)] if other else [frame]
    path = base.with_name("two-groups.pcapng")
    pcapng.write(path, head, both)
    path.chmod(0o644)
    report = json.loads(tshark.show(path, "-2", "-q", "-z", "smcr,json"))
    port = hosts.truth("late-one")["connections"][0]["client"][1]
    assert sorted(entry["client"]["port"] for entry in report["connections"]) == sorted(
        [port, port ^ 0x4000]
    )
    assert len(report["link_groups"]) == 2 and {
        group["eid"] for group in report["link_groups"]
    } == {None}
    assert len({entry["link_group"] for entry in report["connections"]}) == 2


# ---- two connections that have written as much ----


def late_pair(tshark, scratch, name, tokens):
    """A capture of two connections that have written as much when it begins: where that is, and its
    frames."""
    capture = Capture()
    first = linux_connection(capture, version=2)
    first.half["client"].token, first.half["server"].token = tokens
    first.first_contact()
    client, server = linux_halves(number=2)
    client.token, server.token = (token + 1 for token in tokens)
    second = Connection(first.group, client, server, sport=41000)
    second.subsequent_contact()
    first.send("client", bytes(100))
    second.send("client", bytes(200))
    begin = len(capture.frames) + 1
    first.send("client", bytes(100))
    moved_on = len(capture.frames) + 1
    first.send("client", bytes(100))
    second.send("server", bytes(50))
    first.send("server", bytes(50))
    first.group.test_link("client")
    path = scratch / f"{name}.pcap"
    scratch.chmod(0o777)
    path.write_bytes(capture.pcap())
    whole = path.with_suffix(".pcapng")
    whole.touch()
    whole.chmod(0o666)
    tshark.bed.edit("-F", "pcapng", path, whole)
    return whole, begin, moved_on


def rewritten(path, change):
    head, frames = pcapng.read(path)
    new = path.with_name(f"{path.stem}-altered.pcapng")
    pcapng.write(new, head, change(frames))
    new.chmod(0o644)
    return new


def test_a_socket_is_not_that_of_a_direction_that_has_moved_on(tshark, scratch):
    """The capture lacks with what; the other connection's socket stands where it was."""
    whole, begin, moved_on = late_pair(tshark, scratch, "moved-on", (0x100, 0x200))
    said, conns = made_dumps.read(tshark, whole), made_dumps.connections(tshark, whole)
    opened = made_dumps.open_at(conns, said, {}, moved_on + 3)
    dumped = scratch / "dumped.pcapng"
    made_dumps.late(
        whole, dumped, cut=begin, at=max(said) + 2, answers=made_dumps.dump(opened.values(), 0)
    )
    absent = range(moved_on - begin + 1, moved_on - begin + 5)
    late = rewritten(
        dumped, lambda frames: [frame for frame in frames if frame.number not in absent]
    )
    named = {
        (token[0], *port)
        for token, port in tshark.fields(
            late, "smcr.cdc.token", "smcr.client.port", two_pass=True, where="smcr.cdc"
        )
    }
    assert named == {("0x00000100", "40000"), ("0x00000101", "41000"), ("0x00000200",)}


# ---- a token, a port, an element that are used again ----


def used_again(tshark, scratch):
    """A connection, which closes, and one with its tokens and RMBs. Returns a capture, port by
    frame, places."""
    capture, owner, at = Capture(), {}, {}
    first = linux_connection(capture, version=2)

    def send(conn, port):
        for sender in ("client", "server"):
            begin = len(capture.frames)
            conn.send(sender, bytes(60))
            owner.update(dict.fromkeys(range(begin + 1, len(capture.frames) + 1), port))

    first.first_contact()
    send(first, 40000)
    at["begin"] = len(capture.frames)
    send(first, 40000)
    at["open"] = len(capture.frames)
    send(first, 40000)
    first.close()
    at["closed"] = len(capture.frames)
    second = Connection(first.group, first.half["client"], first.half["server"], sport=41000)
    second.subsequent_contact()
    at["again"] = len(capture.frames)
    send(second, 41000)
    at["second"] = len(capture.frames)
    send(second, 41000)
    scratch.chmod(0o777)
    path, whole = scratch / "again.pcap", scratch / "again.pcapng"
    path.write_bytes(capture.pcap())
    whole.touch()
    whole.chmod(0o666)
    tshark.bed.edit("-F", "pcapng", path, whole)
    return whole, owner, at


def test_a_token_that_is_used_again(tshark, scratch):
    """A dump while it is open, one between, one behind: each names its own connection, and
    contradicts no other one."""
    whole, owner, at = used_again(tshark, scratch)
    head, frames = pcapng.read(whole)
    head += made_dumps.of_netlink(head)
    said, conns, ended = (
        made_dumps.read(tshark, whole),
        made_dumps.connections(tshark, whole),
        made_dumps.ends(tshark, whole),
    )
    for number, dumps in enumerate(
        [("open",), ("closed",), ("second",), ("open", "closed"), ("open", "closed", "second")]
    ):
        late = scratch / f"late-{number}.pcapng"
        kept = []
        for frame in frames:
            if frame.number > at["begin"] and not at["closed"] < frame.number <= at["again"]:
                kept.append(frame)
            for name in dumps:
                told = (
                    made_dumps.open_at(conns, said, ended, frame.number).values()
                    if frame.number == at[name]
                    else None
                )
                kept += (
                    []
                    if told is None
                    else [
                        made_dumps.answer_at(frame, answer, 1)
                        for answer in made_dumps.dump(told, 0, dumps.index(name))
                    ]
                )
        pcapng.write(late, head, kept)
        late.chmod(0o644)
        assert tshark.frames(late, "smcr.told.otherwise", two_pass=True) == [], dumps
        ports = {}
        for shown, port in tshark.fields(
            late,
            "frame.number",
            "smcr.client.port",
            two_pass=True,
            where="smcr.cdc || smcr.write.len",
        ):
            frame = kept[int(shown[0]) - 1]
            ports.setdefault(frame.number > at["closed"], set()).update(port)
            assert not port or int(port[0]) == owner.get(frame.number, 40000), (dumps, shown)
        assert bool(ports[False]) == ("open" in dumps) and bool(ports[True]) == (
            "second" in dumps
        ), (dumps, ports)
