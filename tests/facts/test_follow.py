"""
Follow Stream gives what the programs sent, byte for byte, whatever became of the frames that
carried it; and smcr.stream.offset says of each RDMA WRITE where in it its bytes are.
"""

import base64
import hashlib
import re

import ground_truth
import pytest
import sharkd
import traffic
from bed import TOP
from follow import follow, follow_all, hexdump, raw, streams

ENDS = ("c2s", "s2c")

# Connections of which the capture lacks the beginning: the bytes that it has (captures/README.md).
# Which connection it is, is known only at its first CDC message, which comes after the data: one
# pass cannot follow it.
LAST_BYTES = {("6.1-v1-c2-capture-starts-late", 1): (700, 900)}
# Aborted connections: the bytes that were written to the wire before, by direction.
FIRST_BYTES = {("6.1-v2-g1-server-killed", 1): (None, 500)}
NO_SMC = {"6.1-v2-f4-plain-tcp-client"}  # the client offers none: not one of our connections


def digests(name):
    """What the programs sent: {(number, direction): (bytes, SHA-256)}."""
    found = {}
    for stream in ground_truth.of(name).get("streams", ()):
        if match := re.fullmatch(r"conn(\d+)\.(c2s|s2c)\.sent", stream["stream"]):
            found[int(match[1]), ENDS.index(match[2])] = stream["bytes"], stream["sha256"]
    return found


def over_rdma(name):
    return any(kind[0] == "WRITE" for kind in ground_truth.message_counts(name))


def sent(name):
    return traffic.streams(TOP / "captures" / "real" / f"{name}.streams")


WHOLE = [
    (name, number)
    for name in ground_truth.names()
    if over_rdma(name)
    for number in sorted({number for number, _ in digests(name)})
    if (name, number) not in LAST_BYTES and (name, number) not in FIRST_BYTES
]
FELL_BACK = [name for name in ground_truth.names() if not over_rdma(name) and name not in NO_SMC]
OVER_RDMA = [name for name in ground_truth.names() if over_rdma(name)]


def test_ground_truth_is_not_empty():
    assert (
        len(WHOLE) > 40
        and len(FELL_BACK) >= 5
        and {"6.1-v1-n-lossy", "6.1-v2-h1-two-links-second-fails"} <= {name for name, _ in WHOLE}
    )


@pytest.mark.parametrize("name, number", WHOLE)
def test_what_was_sent(tshark, name, number):
    """SHA-256 of both directions, in one pass and in two."""
    indexes = [each - 1 for of, each in WHOLE if of == name]
    bodies, again = (follow_all(tshark, name, indexes, *passes) for passes in ((), ("-2",)))
    assert sorted(bodies) == sorted(again) == indexes
    body = bodies[number - 1]
    got = streams(raw(body))
    truth = digests(name)
    for direction in (0, 1):
        size, digest = truth.get((number, direction), (0, hashlib.sha256(b"").hexdigest()))
        assert (len(got[direction]), hashlib.sha256(got[direction]).hexdigest()) == (
            size,
            digest,
        ), ENDS[direction]
    assert again[number - 1] == body


def test_alone_as_with_others(tshark):
    """A connection that is followed alone: the same as of many in one run."""
    name = "6.1-v2-c-three-conns"
    for passes in ((), ("-2",)):
        bodies = follow_all(tshark, name, range(3), *passes)
        assert [follow(tshark, name, index, two_pass=bool(passes)) for index in range(3)] == [
            bodies[index] for index in range(3)
        ]


@pytest.mark.parametrize("name, number", FIRST_BYTES)
def test_aborted_connection(tshark, name, number):
    """All that was written: the WRITE frames carry it."""
    got = streams(raw(follow(tshark, name, number - 1)))
    for direction in (0, 1):
        rows = traffic.rows(
            tshark,
            name,
            "smcr.stream.offset",
            "smcr.write.len",
            where=f"smcr.stream == {number - 1} && smcr.dir == {direction} && smcr.write.len",
        )
        written = max(
            int(row["smcr.stream.offset"][0]) + int(row["smcr.write.len"][0]) for row in rows
        )
        assert got[direction] == sent(name)[number, direction][:written]
        assert len(got[direction]) == written
        expected = FIRST_BYTES[name, number][direction]
        assert expected in (None, written)


@pytest.mark.parametrize("name, number", LAST_BYTES)
def test_capture_starts_late(tshark, name, number):
    got = streams(raw(follow(tshark, name, number - 1, two_pass=True)))
    for direction, size in enumerate(LAST_BYTES[name, number]):
        assert got[direction] == sent(name)[number, direction][-size:], ENDS[direction]


@pytest.mark.parametrize("name", FELL_BACK)
def test_fallen_back_connection_names_follow_tcp(tshark, name):
    """One line of text, of the client's side, in place of bytes; the same in both modes."""
    pieces = raw(follow(tshark, name, 0))
    assert [side for side, _ in pieces] == [0]
    text = pieces[0][1].decode("ascii")
    assert (
        re.search(r"fell back to TCP: .+\. Follow TCP stream 0 instead", text)
        and text.count("\n") == 1
    )
    assert text in follow(tshark, name, 0, mode="ascii")
    assert follow(tshark, name, 0, protocol="tcp", mode="ascii")


@pytest.mark.parametrize("name", sorted(NO_SMC))
def test_connection_without_smc_is_none_of_ours(tshark, name):
    assert follow(tshark, name, 0) == ""


def test_hex(tshark):
    name = "6.1-v2-c-three-conns"
    for number in (1, 2, 3):
        body = follow(tshark, name, number - 1, mode="hex")
        assert streams(hexdump(body)) == [sent(name)[number, direction] for direction in (0, 1)]


def test_ascii(tshark):
    """The data of this capture are lines of text and so read as they were sent."""
    name = "6.1-v2-a-first-contact-ipv4"
    body = follow(tshark, name, 0, mode="ascii")
    pieces = raw(follow(tshark, name, 0))
    assert pieces
    for side, data in pieces:
        assert f"{chr(9) * side}{len(data)}\n{data.decode('ascii')}\n" in body


def test_ends_of_the_connection(tshark):
    name = "6.1-v2-c-three-conns"
    for number, connection in traffic.connections(tshark, name).items():
        printed = tshark.show(name, "-q", "-z", f"follow,smcr,raw,{number - 1}")
        assert f"Node 0: {connection.client_addr}:{connection.client_port}\n" in printed
        assert f"Node 1: {connection.server_addr}:{connection.server_port}\n" in printed
        assert f"Filter: smcr.stream eq {number - 1}\n" in printed


@pytest.mark.parametrize("name, number", LAST_BYTES)
def test_ends_where_the_tcp_connection_is_not_known(tshark, name, number):
    """The addresses between which the connection's CDC messages go, and the queue pairs to which
    they go."""
    ends = {}
    for mac, address, pair in tshark.fields(
        name,
        "eth.dst",
        "ipv6.dst",
        "infiniband.bth.destqp",
        where=f"{traffic.CDC} && smcr.stream == {number - 1}",
    ):
        ends.setdefault(traffic.sender(mac[0]), set()).add((address[0], int(pair[0], 0)))
    printed = tshark.show(name, "-2", "-q", "-z", f"follow,smcr,raw,{number - 1}")
    for node in (0, 1):
        ((address, pair),) = ends[node]
        assert f"Node {node}: [{address}]:{pair}\n" in printed


@pytest.mark.parametrize("name", ["6.1-v2-c-three-conns", "6.1-v1-b-first-contact-ipv6"])
def test_by_addresses(tshark, name):
    """Connections can be chosen by their ends as well as by number."""
    for number, connection in traffic.connections(tshark, name).items():
        ends = [
            f"{addr}:{port}" if "." in addr else f"[{addr}]:{port}"
            for addr, port in (
                (connection.client_addr, connection.client_port),
                (connection.server_addr, connection.server_port),
            )
        ]
        assert follow(tshark, name, ",".join(ends)) == follow(tshark, name, number - 1)


@pytest.mark.parametrize("name", OVER_RDMA)
def test_offset_is_where_the_bytes_are(tshark, name):
    """Every WRITE, retransmissions too, is at its offset of what was sent; those taken in order
    always know it."""
    rows = traffic.rows(
        tshark,
        name,
        "frame.number",
        "smcr.stream",
        "smcr.dir",
        "eth.src",
        "smcr.stream.offset",
        "smcr.missing",
        "smcr.retransmission",
        "udp.payload",
        where=f"smcr.write.len && {traffic.ROCE}",
    )
    truth = sent(name)
    wrong = []
    for row in rows:
        if not row["smcr.stream.offset"]:
            if not row["smcr.missing"] and not row["smcr.retransmission"]:
                wrong.append((row["frame.number"][0], "no offset"))
            continue
        offset = int(row["smcr.stream.offset"][0])
        data = traffic.write_data(bytes.fromhex(row["udp.payload"][0].replace(":", "")))
        stream = truth[int(row["smcr.stream"][0]) + 1, traffic.sender(row["eth.src"][0])]
        if stream[offset : offset + len(data)] != data:
            wrong.append((row["frame.number"][0], offset, stream.find(data)))
    assert rows and wrong == []


def test_offered_for_frames_of_connections(tshark):
    """
    Wireshark asks us which stream a frame belongs to; where we know none, it is not to be followed.
    It does not ask of acknowledgements, in which SMC-R is no layer.
    """
    name = "6.1-v2-c-three-conns"
    rows = [
        (int(frame[0]), stream[0] if stream and not acks else None)
        for frame, stream, acks in tshark.fields(
            name, "frame.number", "smcr.stream", "smcr.acks", where="smcr"
        )
    ]
    assert {stream for _, stream in rows} == {None, "0", "1", "2"}
    answers = sharkd.ask(
        tshark, [sharkd.load(tshark.bed.capture(name)), *(sharkd.frame(n) for n, _ in rows)]
    )[1:]
    offers = [dict(answer.get("fol", ())).get("SMC-R") for answer in answers]
    assert offers == [stream and f"smcr.stream eq {stream}" for _, stream in rows]


def test_followed_in_the_window(tshark):
    """The list of what can be followed has us, and what is shown then is what was sent."""
    name = "6.1-v2-c-three-conns"
    info, _, *answers = sharkd.ask(
        tshark,
        [
            ("info", {}),
            sharkd.load(tshark.bed.capture(name)),
            *(
                ("follow", {"follow": "SMC-R", "filter": f"smcr.stream eq {number}"})
                for number in range(3)
            ),
        ],
    )
    assert {"name": "Follow/SMC-R", "tap": "follow:SMC-R"} in info["follow"]
    for number, answer in enumerate(answers, 1):
        got = streams(
            [(each.get("s", 0), base64.b64decode(each["d"])) for each in answer["payloads"]]
        )
        assert got == [sent(name)[number, direction] for direction in (0, 1)]
