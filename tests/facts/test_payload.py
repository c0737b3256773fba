"""HTTP over SMC-R reads as the programs sent it: messages, bodies, links between them, objects,
Follow Stream."""

import collections
import hashlib

import bed as beds
import pytest
import traffic
from follow import follow, raw, streams

REAL = ["6.1-v1-j-http11", "6.1-v2-j-http11"]
BUILT = "payload-http-8099"  # HTTP on another port
DECODE_AS = ("-d", "tcp.port==8099,http")
NO_HEURISTIC = ("--disable-heuristic", "http_tcp")

Message = collections.namedtuple("Message", "start headers body")


def messages(stream):
    """HTTP messages of a byte stream; all of them tell the length of their body, or have none."""
    found = []
    while stream:
        head, _, stream = stream.partition(b"\r\n\r\n")
        start, *headers = head.decode("ascii").split("\r\n")
        size = sum(
            int(line.split(":")[1])
            for line in headers
            if line.lower().startswith("content-length:")
        )
        found.append(Message(start, headers, stream[:size]))
        stream = stream[size:]
    return found


@pytest.fixture(scope="module", params=[1, 2], ids=["one-pass", "two-passes"])
def two_pass(request):
    return request.param == 2


def sent(name):
    """Both streams of every connection of a capture: {(number, direction): bytes}."""
    return traffic.streams(beds.TOP / "captures" / "real" / f"{name}.streams")


def http(tshark, name, field, *names, where="", two_pass=False):
    """Fields of the frames that have this one, with the number of their connection."""
    rows = tshark.fields(
        name, "frame.number", "smcr.stream", *names, where=field + where, two_pass=two_pass
    )
    return [(int(frame[0]), int(stream[0]) + 1, *rest) for frame, stream, *rest in rows]


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("direction, kind", [(0, "request"), (1, "response")])
def test_messages(tshark, name, two_pass, direction, kind):
    """Start lines and headers, one message per frame."""
    parts = ("method", "uri", "version") if kind == "request" else ("version", "code", "phrase")
    rows = http(
        tshark,
        name,
        f"http.{kind}",
        *(f"http.{kind}.{part}" for part in parts),
        f"http.{kind}.line",
        "smcr.dir",
        two_pass=two_pass,
    )
    expected = [
        (number, each.start, ";".join(each.headers))
        for (number, way), stream in sent(name).items()
        if way == direction
        for each in messages(stream)
    ]
    assert len(expected) == 4
    got = [
        (number, " ".join(part[0] for part in start if part), ";".join(lines).replace("\\r\\n", ""))
        for _, number, *start, lines, way in rows
        if way == [str(direction)]
    ]
    assert got == expected


@pytest.mark.parametrize("name", REAL)
def test_requests_and_responses_are_linked(tshark, name):
    rows = http(tshark, name, "http", "http.request_in", "http.response_in", two_pass=True)
    requests = {frame: int(answer[0]) for frame, _, _, answer in rows if answer}
    responses = {frame: int(question[0]) for frame, _, question, _ in rows if question}
    assert len(requests) == len(responses) == 4 and len(rows) == 8
    assert {answer: question for question, answer in requests.items()} == responses
    assert list(requests.values()) == sorted(responses)


def exported(tshark, scratch, name, *options):
    """Files that Export Objects writes: [(name without number, bytes)]."""
    folder = scratch / "objects"
    folder.mkdir()
    folder.chmod(0o777)
    tshark.show(name, "-q", *options, "--export-objects", f"http,{folder}")
    return sorted((path.name.split("(")[0], path.read_bytes()) for path in folder.iterdir())


@pytest.mark.parametrize("name", REAL)
def test_export_objects(tshark, scratch, name):
    """Bit for bit what the server had on its disk, and all the other bodies."""
    files = exported(tshark, scratch, name)
    truth = beds.TOP / "captures" / "real" / f"{name}.streams"
    for file in ("index.html", "data.json"):
        assert dict(files)[file] == (truth / f"http-body-{file}.sent").read_bytes()
    bodies = [each.body for stream in sent(name).values() for each in messages(stream) if each.body]
    assert sorted(body for _, body in files) == sorted(bodies) and len(bodies) == 5


@pytest.mark.parametrize("layer", [3, 4, 7])
def test_export_pdus(tshark, scratch, layer):
    """Of layer 4: CLC messages by the name of their dissector; the application's with TCP's ports,
    over SMC-R or not."""
    scratch.chmod(0o777)
    path, name = scratch / "pdus.pcapng", REAL[1]
    tshark.show(name, "-U", f"OSI layer {layer}", "-w", path)
    clc = [row[0] for row in tshark.fields(path, "smcr.clc.type", where="smcr.clc.type")]
    assert clc == (
        [row[0] for row in tshark.fields(name, "smcr.clc.type", where="smcr.clc.type")]
        if layer == 4
        else []
    )
    # RDMA WRITEs are exported, too: their connection is found by the CLC messages
    http = "http.request and not infiniband"
    rows = tshark.fields(path, "exported_pdu.dst_port", "http.request.uri", where=http)
    requests = [
        each.start.split()[1]
        for (_, way), stream in sent(name).items()
        if way == 0
        for each in messages(stream)
    ]
    assert [row[1][0] for row in rows] == (requests if layer == 4 else [])
    assert {row[0][0] for row in rows} <= {"8080"}


@pytest.mark.parametrize("name", REAL)
def test_follow_http(tshark, name):
    """Follow HTTP finds the frames by the TCP stream of their connection."""
    for (number, direction), stream in sent(name).items():
        index = traffic.connections(tshark, name)[number].tcp_stream
        got = streams(raw(follow(tshark, name, index, protocol="http")))
        assert hashlib.sha256(got[direction]).hexdigest() == hashlib.sha256(stream).hexdigest()
        first = messages(stream)[0].start
        assert first in follow(tshark, name, index, protocol="http", mode="ascii")


@pytest.mark.parametrize("name", REAL)
def test_frames_are_found_by_their_tcp_stream(tshark, name):
    rows = http(tshark, name, "http", "tcp.stream", "smcr.tcp_stream")
    assert rows and [row for row in rows if row[2] != row[3] or len(row[2]) != 1] == []


@pytest.mark.parametrize("name", REAL)
def test_info_reads_like_http(tshark, name):
    printed = tshark.show(name, "-Y", "http").splitlines()
    starts = [each.start for stream in sent(name).values() for each in messages(stream)]
    assert len(printed) == len(starts)
    assert [
        start for start in starts if not any(start in line and " HTTP" in line for line in printed)
    ] == []


@pytest.mark.parametrize("name", REAL)
def test_without_payload(tshark, name):
    """The preference leaves the bytes alone; where they are in the stream is still told."""
    off = ("-o", "smcr.dissect_payload:FALSE")
    assert tshark.show(name, *off, "-Y", "http || data.data") == ""
    assert tshark.show(name, *off, "-Y", "smcr.stream.offset").count("\n") == len(
        tshark.frames(name, "smcr.write.len && !smcr.retransmission")
    )
    assert streams(raw(follow(tshark, name, 0, options=off)))[0] == sent(name)[1, 0]


@pytest.mark.parametrize("name", REAL)
def test_without_desegmentation(tshark, name):
    """Each WRITE by itself: heads are seen in the frame that begins them, bodies are not put
    together."""
    off = ("-o", "smcr.desegment:FALSE")
    codes = tshark.show(
        name, *off, "-T", "fields", "-e", "http.response.code", "-Y", "http.response"
    ).split()
    assert codes == ["200", "200", "404", "200"]
    assert tshark.show(name, *off, "-Y", "tcp.segments || tcp.reassembled_in") == ""
    assert tshark.frames(name, "tcp.segments") != []


@pytest.mark.parametrize(
    "options", [DECODE_AS, DECODE_AS + NO_HEURISTIC], ids=["with", "without-heuristics"]
)
def test_decode_as(tshark, scratch, options):
    """Another port than HTTP's."""
    truth = streams(raw(follow(tshark, BUILT, 0)))
    expected = [[each.start for each in messages(stream)] for stream in truth]
    assert [len(each) for each in expected] == [3, 3]
    for (kind, fields), starts in zip(
        (("request", ("method", "uri", "version")), ("response", ("version", "code", "phrase"))),
        expected,
        strict=True,
    ):
        names = [argument for field in fields for argument in ("-e", f"http.{kind}.{field}")]
        printed = tshark.show(
            BUILT,
            *options,
            "-2",
            "-Y",
            f"http.{kind}",
            "-T",
            "fields",
            "-E",
            "separator=/s",
            *names,
        )
        assert regroup(printed, len(fields)) == starts
    bodies = [each.body for stream in truth for each in messages(stream) if each.body]
    assert sorted(body for _, body in exported(tshark, scratch, BUILT, *options)) == sorted(bodies)


def regroup(printed, size):
    """Start lines of frames that have several: a frame prints all values of a field together,
    commas between."""
    found = []
    for line in printed.splitlines():
        columns = [column.split(",") for column in line.split(" ", size - 1)]
        found += [" ".join(parts) for parts in zip(*columns, strict=True)]
    return found


def test_heuristics(tshark):
    """They find HTTP on any port, from the first frame on that looks like it: as on TCP, half a
    line does not."""
    rows = tshark.fields(BUILT, "http.request.uri", "http.response.code", where="http")
    assert [row for row in rows if not row[1]] == [
        [["/big.txt", "/small.txt"], []]
    ]  # 4.4 repeats it in the responses
    assert [code for row in rows for code in row[1]] == ["200", "200", "200"]
    assert tshark.show(BUILT, *NO_HEURISTIC, "-Y", "http") == ""
