"""Every CDC message and every RDMA WRITE is given to the right connection, and together the WRITEs
are what was sent."""

import collections
import types

import ground_truth
import pytest
import traffic
from bed import TOP

CONN_FIELDS = (
    "smcr.tcp_stream",
    "smcr.client.addr",
    "smcr.client.port",
    "smcr.server.addr",
    "smcr.server.port",
)

# Connections that do not carry all of what was written, each with the bytes of it that the WRITEs
# do carry.
PARTS = {
    # The server was killed: the client had accepted more from its program than the server's buffer
    # had room for.
    ("6.1-v2-g1-server-killed", 1, 0): lambda sent, got: len(got) <= len(sent)
    and sent.startswith(got),
    # The capture begins in the middle of connection 1; captures/README.md tells how much it has.
    ("6.1-v1-c2-capture-starts-late", 1, 0): lambda sent, got: len(got) == 700
    and sent.endswith(got),
    ("6.1-v1-c2-capture-starts-late", 1, 1): lambda sent, got: len(got) == 900
    and sent.endswith(got),
}


def over_rdma(name):
    """Whether the connections of a real capture used SMC-R; those that fell back have no WRITE at
    all."""
    return any(kind[0] == "WRITE" for kind in ground_truth.message_counts(name))


@pytest.fixture(scope="module", params=[name for name in ground_truth.names() if over_rdma(name)])
def seen(request, tshark):
    """A real capture: its name, its CDC and WRITE frames, its TCP connections."""
    names = (
        "frame.number",
        "eth.src",
        "udp.payload",
        "smcr.stream",
        "smcr.dir",
        "smcr.write.len",
        "smcr.retransmission",
        "smcr.duplicate",
        "smcr.stream.offset",
        *CONN_FIELDS,
    )
    rows = traffic.rows(tshark, request.param, *names, where=f"{traffic.CDC} || {traffic.WRITE}")
    assert rows
    return types.SimpleNamespace(
        name=request.param,
        rows=rows,
        late=request.param in traffic.BEGAN_BEFORE,
        connections=traffic.connections(tshark, request.param),
    )


def brief(rows):
    """Rows for messages of failed tests."""
    return [{name: values for name, values in row.items() if name != "udp.payload"} for row in rows]


def test_every_message_and_write_has_one_connection(seen):
    assert brief(row for row in seen.rows if len(row["smcr.stream"]) != 1) == []


def test_every_message_and_write_has_one_direction(seen):
    """
    What a host sends goes the same way in all connections, because one host is the client of all of
    them. On a connection that began before the capture, nothing may tell which side is the client;
    then there is no direction.
    """
    wrong = [
        row
        for row in seen.rows
        if row["smcr.dir"] != [str(traffic.sender(row["eth.src"][0]))]
        and (row["smcr.dir"] or row["smcr.tcp_stream"] or not seen.late)
    ]
    assert brief(wrong) == []


def test_connection_is_that_of_tcp(seen):
    """TCP stream, addresses and ports go together, and are there whenever the capture has the TCP
    handshake."""
    known = {tuple(each) for each in seen.connections.values()}
    unknown = {("",) * len(CONN_FIELDS)} if seen.late else set()
    assert {
        tuple(";".join(row[field]) for field in CONN_FIELDS) for row in seen.rows
    } == known | unknown


def number_of(seen, row):
    """Number of a frame's connection, as in connNNN."""
    numbers = {each.tcp_stream: number for number, each in seen.connections.items()}
    return (
        numbers[row["smcr.tcp_stream"][0]]
        if row["smcr.tcp_stream"]
        else traffic.BEGAN_BEFORE[seen.name][0]
    )


def test_index_stands_for_one_connection(seen):
    pairs = {(row["smcr.stream"][0], number_of(seen, row)) for row in seen.rows}
    assert len(pairs) == len({index for index, _ in pairs}) == len({number for _, number in pairs})


def test_writes_are_what_was_sent(seen):
    """What is sent for the first time is all of the stream, each piece at its place."""
    pieces = collections.defaultdict(dict)
    for row in seen.rows:
        if row["smcr.write.len"] and not row["smcr.retransmission"] and not row["smcr.duplicate"]:
            piece = traffic.write_data(bytes.fromhex(row["udp.payload"][0].replace(":", "")))
            assert row["smcr.write.len"] == [str(len(piece))], row["frame.number"]
            pieces[number_of(seen, row), traffic.sender(row["eth.src"][0])][
                int(row["smcr.stream.offset"][0])
            ] = piece
    data = {
        stream: b"".join(piece for _, piece in sorted(found.items()))
        for stream, found in pieces.items()
    }
    data = collections.defaultdict(bytes, data)
    sent = traffic.streams(TOP / "captures" / "real" / f"{seen.name}.streams")
    assert set(data) <= set(sent)
    wrong = [
        (conn, direction, len(data[conn, direction]), len(all_of_it))
        for (conn, direction), all_of_it in sent.items()
        if not PARTS.get((seen.name, conn, direction), bytes.__eq__)(
            all_of_it, data[conn, direction]
        )
    ]
    assert wrong == [], "connection, direction, bytes in WRITEs, bytes sent"


@pytest.mark.parametrize("name", [name for name in ground_truth.names() if not over_rdma(name)])
def test_fallen_back_capture_has_no_rdma_data(tshark, name):
    assert tshark.frames(name, "smcr.write.len || smcr.cdc.seq") == []
