"""
What the policy of asking heuristics loses: protocols that only a heuristic of TCP knows, in streams
of other data.

Each connection says `before` messages that nobody knows, then speaks a protocol.
`smcr.heuristics:always` is the measure, as it asks as TCP does; its own answers are checked against
what was sent.
"""

import os
import random
import sys

import bed as beds
import pytest
import sharkd
import talks

sys.path.append(str(beds.TOP / "tests" / "benchmarks"))

from carriers import CLIENT, SERVER, UNKNOWN as PORT, Link, Pcap, Smcr  # noqa: E402

SETTINGS = ("always", "adaptive")
UNKNOWN = b"0123456789" * 6
LONG = [
    name
    for name, path in beds.captures("real", "synthetic").items()
    if path.stat().st_size > 64 * 1024
]
MTU = 1024  # of Link
AT_ONCE = 16  # refusals after which the policy begins (payload/payload.h)

SIP = (
    b"OPTIONS sip:a@b.example SIP/2.0\r\nVia: SIP/2.0/TCP c.example;branch=z9hG4bK1\r\n"
    b"Content-Length: 0\r\n\r\n"
)
MESSAGES = {
    "http": b"GET /file HTTP/1.1\r\nHost: server.example\r\n\r\n",
    "sip": SIP,
    "tls": talks.tls()[0][1],
    "rpc": talks.onc_rpc()[0][1],
    "bittorrent": b"\x13BitTorrent protocol" + bytes(8) + b"h" * 20 + b"-p" * 10,
}


class Clock(Pcap):
    """Frames 10 microseconds apart, and pauses."""

    late = 0

    def __init__(self, file):
        super().__init__(file)
        self.plain = self.write
        self.write = self.stamped

    def stamped(self, data):
        seconds, micros = int.from_bytes(data[:4], "little"), int.from_bytes(data[4:8], "little")
        now = seconds * 1_000_000 + micros + self.late
        self.plain(
            (now // 1_000_000).to_bytes(4, "little")
            + (now % 1_000_000).to_bytes(4, "little")
            + data[8:]
        )


class Talk:
    """A connection whose client sends; each message is an RDMA WRITE and a CDC message."""

    def __init__(self, link, number):
        self.pcap = link.pcap
        self.conn = Smcr(link, number, port=PORT + number, first=number == 0)
        self.conn.open()
        self.frames = []  # of the known messages

    def say(self, data, sender=CLIENT):
        conn = self.conn
        if conn.sent[sender] + len(data) - conn.consumed[sender] > conn.size:
            conn.tell(1 - sender)
        before = self.pcap.frames
        conn.send(sender, data)
        return before + -(-len(data) // MTU)  # the last packet of the message has it whole

    def say_known(self, data, sender=CLIENT):
        self.frames.append(self.say(data, sender))


def after_pause(talk, message, before):
    """One known message behind a pause, in the middle of others."""
    for _ in range(before):
        talk.say(UNKNOWN)
    talk.pcap.late += 150_000
    talk.say_known(message)


def after_answer(talk, message, before):
    """The peer has spoken in between."""
    for _ in range(before):
        talk.say(UNKNOWN)
    talk.say(UNKNOWN, SERVER)
    talk.say_known(message)


def from_the_peer(talk, message, before):
    """The first word of the other direction."""
    for _ in range(before):
        talk.say(UNKNOWN)
    talk.say_known(message, SERVER)


def behind_a_gap(talk, message, before):
    """The capture lacks packets in front of it: the acknowledgement hands it on."""
    for _ in range(before):
        talk.say(UNKNOWN)
    write, talk.pcap.write, frames = talk.pcap.write, lambda data: None, talk.pcap.frames
    talk.say(UNKNOWN)
    talk.pcap.write, talk.pcap.frames = write, frames
    talk.say_known(message)


def uninterrupted(talk, message, before):
    """In the middle of data of one direction, and from then on all are known."""
    for _ in range(before):
        talk.say(UNKNOWN)
    for _ in range(2 * AT_ONCE):
        talk.say_known(message)


WHERE_A_MESSAGE_MAY_BEGIN = (after_pause, after_answer, from_the_peer, behind_a_gap)


def write(path, cases):
    """A capture with a connection for each case (situation, protocol, before). Returns the
    connections' frames."""
    with path.open("wb") as file:
        link = Link(Clock(file), 1)
        talks_of = {}
        for number, (situation, protocol, before) in enumerate(cases):
            talk = talks_of[situation, protocol, before] = Talk(link, number)
            situation(talk, MESSAGES[protocol], before)
    path.chmod(0o644)
    return {case: talk.frames for case, talk in talks_of.items()}


def found(tshark, path, setting, two_pass):
    """{protocol: frames in which it was recognised}. Two passes show it in the frame that carries
    it, one pass not where a later frame confirms it."""
    where = " or ".join(MESSAGES)
    rows = tshark.fields(
        path,
        "frame.number",
        "frame.protocols",
        where=f"smcr and ({where})",
        two_pass=two_pass,
        options=("-o", f"smcr.heuristics:{setting}"),
    )
    return {
        protocol: {int(frame) for (frame,), (layers,) in rows if protocol in layers.split(":")}
        for protocol in MESSAGES
    }


CASES = {
    "near": [
        (situation, protocol, before)
        for situation in (*WHERE_A_MESSAGE_MAY_BEGIN, uninterrupted)
        for protocol in MESSAGES
        for before in (0, 9, 99)
    ],
    "far": [(situation, "sip", 9_999) for situation in (after_pause, after_answer, uninterrupted)],
}


@pytest.fixture(scope="module", params=list(CASES))
def capture(request, bed):
    path = (
        bed.scratch / f"heuristics-{request.param}-{os.getpid()}.pcap"
    )  # each worker of pytest has its own
    yield path, write(path, CASES[request.param])
    path.unlink()


@pytest.mark.parametrize("two_pass", [False, True], ids=["one-pass", "two-passes"])
def test_what_is_found(tshark, capture, two_pass):
    """The same where a message may begin; in uninterrupted data, as soon as the policy asks
    again. One pass does not show what a later frame confirms."""
    path, frames = capture
    always, adaptive = (found(tshark, path, setting, two_pass) for setting in SETTINGS)
    for (situation, protocol, before), sent in frames.items():
        case = situation.__name__, protocol, before
        if situation is behind_a_gap and not two_pass:
            assert not set(sent) & (always[protocol] | adaptive[protocol]), case
            continue
        assert set(sent) <= always[protocol], case
        seen = [frame for frame in sent if frame in adaptive[protocol]]
        if situation is not uninterrupted or before < AT_ONCE:
            assert seen == sent, case
        else:
            assert seen and seen == sent[-len(seen) :] and len(sent) - len(seen) <= AT_ONCE, case
    for protocol in MESSAGES:
        assert adaptive[protocol] <= always[protocol]


def test_what_was_passed_over_stays(tshark, capture):
    """Also where a heuristic has taken the whole conversation since then, with the frames before
    it."""
    path, frames = capture
    one, two = (found(tshark, path, "adaptive", two_pass) for two_pass in (False, True))
    for (situation, protocol, before), sent in frames.items():
        if situation is behind_a_gap:
            continue  # only two passes show it
        assert set(sent) & one[protocol] == set(sent) & two[protocol], (
            situation.__name__,
            protocol,
            before,
        )


def test_the_policy_skips(tshark, capture):
    """The test above says nothing where nothing is skipped: a single known message in the middle is
    not found."""
    path, _ = capture
    lone = path.with_suffix(".lone.pcap")
    with lone.open("wb") as file:
        talk = Talk(Link(Clock(file), 1), 0)
        for _ in range(20):
            talk.say(UNKNOWN)
        talk.say_known(SIP)
        talk.say(UNKNOWN)
    lone.chmod(0o644)
    (frame,) = talk.frames
    assert frame in found(tshark, lone, "always", False)["sip"]
    assert frame not in found(tshark, lone, "adaptive", False)["sip"]
    lone.unlink()


def test_who_serves_is_not_concerned(tshark, bed):
    """Decode As, the dissector of a port, and one that a heuristic has set for the conversation."""
    path = bed.scratch / "heuristics-served.pcap"
    with path.open("wb") as file:
        talk = Talk(Link(Clock(file), 1), 0)
        for _ in range(40):
            talk.say(UNKNOWN)
        for _ in range(3):
            talk.say_known(SIP)
    path.chmod(0o644)
    decode = ("-d", f"tcp.port=={PORT},sip", "--disable-heuristic", "sip_tcp")
    rows = tshark.fields(path, "frame.number", where="sip.Method", options=decode)
    assert [int(frame[0]) for frame, in rows] == talk.frames
    path.unlink()


@pytest.mark.parametrize("two_pass", [[], ["-2"]], ids=["one-pass", "two-passes"])
@pytest.mark.parametrize("name", LONG)
def test_real_traffic_reads_the_same(tshark, name, two_pass):
    shown = [
        tshark.show(name, *two_pass, "-V", "-o", f"smcr.heuristics:{setting}")
        for setting in SETTINGS
    ]
    assert shown[0] == shown[1]


def test_clicks_read_the_same(tshark, capture):
    """What the first pass passed over stays data whenever somebody looks at it, in whatever
    order."""
    path, frames = capture
    sent = [
        (case[1], frame)
        for case, every in frames.items()
        for frame in every
        if case[0] is uninterrupted
    ]
    adaptive = found(tshark, path, "adaptive", False)
    sample = random.Random(7609).sample(sent, min(len(sent), 120))
    answers = sharkd.ask(
        tshark, [sharkd.load(path), *(sharkd.frame(frame) for _, frame in sample)]
    )[1:]
    for (protocol, frame), answer in zip(sample, answers, strict=True):
        data = [node for node in answer["tree"] if node["l"].startswith("Data (")]
        assert len(data) == (frame not in adaptive[protocol]), (protocol, frame)


# Requests of databases, which no heuristic of Wireshark knows; and what only looks like them.
DATABASES = {
    "mysql": b"\x09\0\0\0\x03SELECT 1",
    "pgsql": b"Q\0\0\0\x0dSELECT 1\0",
    "resp": b"*1\r\n$4\r\nPING\r\n",
}
NO_DATABASES = (
    b"\x08\0\0\0\x03SELECT 1",
    b"\x09\0\0\0\x03SELECTED",
    b"Q\0\0\0\x0cSELECT 1\0",
    b"*1\r\n+4\r\nPING\r\n",
)


def test_databases_on_other_ports_are_known_by_their_first_bytes(tshark, bed):
    path = bed.scratch / f"databases-{os.getpid()}.pcap"
    known, others = {}, []
    with path.open("wb") as file:
        link = Link(Clock(file), 1)
        for number, (protocol, message) in enumerate(DATABASES.items()):
            talk = Talk(link, number)
            talk.say(UNKNOWN)
            known[protocol] = {talk.say(message), talk.say(message)}
        for number, message in enumerate(NO_DATABASES, len(DATABASES)):
            others.append(Talk(link, number).say(message))
    path.chmod(0o644)
    for two_pass in (False, True):
        rows = tshark.fields(path, "frame.number", "frame.protocols", two_pass=two_pass)
        layers = {int(number): protocols.split(":") for (number,), (protocols,) in rows}
        for protocol in DATABASES:
            found = {number for number in layers if protocol in layers[number]}
            assert found == known[protocol], (protocol, two_pass)
        assert not any(set(DATABASES) & set(layers[number]) for number in others)
    path.unlink()


def test_queries_of_connections_without_a_name(tshark):
    """The same frames of MariaDB, with the report of a host and without: the port and the first
    bytes find the same queries."""
    stories = tshark.bed.root / "captures" / "stories"
    unnamed, named = (
        tshark.fields(
            stories / f"s11-pool-kill-{name}.pcapng.gz",
            "mysql.query",
            where="mysql",
            two_pass=True,
        )
        for name in ("late", "late-netlink")
    )
    assert [row for (row,) in unnamed if row] == [row for (row,) in named if row] != []
