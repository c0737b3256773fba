"""
Protocols look over SMC-R as over TCP: the same bytes, written in different ways, over both; the
trees above are equal.
"""

import carried
import pytest
import samples
import talks
from follow import follow, raw, streams

# Name: talk, port, protocols whose trees are compared, options, PDUs that there are at least.
PROTOCOLS = {
    "http2": (talks.http2, 8080, ("http2",), ("-d", "tcp.port==8080,http2"), 10),
    "tls": (talks.tls, 443, ("tls",), (), 5),
    "postgresql": (talks.postgresql, 5432, ("pgsql",), (), 40),
    "dns": (talks.dns, 53, ("dns",), (), 18),
    "onc-rpc": (talks.onc_rpc, 111, ("rpc", "portmap"), (), 12),
    "http10": (talks.http10, 80, ("http", "data-text-lines"), (), 3),
}
WRITES = {
    "as-written": lambda talk: talk,
    "together": carried.together,
    "in-pieces": lambda talk: carried.in_pieces(talk, 1000),
    "in-small-pieces": lambda talk: [
        piece
        for entry in talk
        for piece in carried.in_pieces([entry], 13 if len(entry[1]) < 500 else 5000)
    ],
}


def differs(field):
    """Numbers of frames, times, and from how many frames a PDU was put together: that is the
    carrier's."""
    return field.endswith(
        (".request_in", ".response_in", ".response_to", ".time", ".reqframe", ".repframe")
    ) or field.startswith(
        (
            "rpc.fragment",
            "http2.data.reassembled",
            "http2.reassembled",
            "http2.body.fragment",
            "http2.body.reassembled",
        )
    )


def compare(tshark, protocol, expected, got):
    _, _, protocols, options, least = PROTOCOLS[protocol]
    trees = [
        carried.shown(tshark, path, protocols, *options, skip=differs) for path in (expected, got)
    ]
    assert least <= len(trees[0]) == len(trees[1])
    for number, (first, second) in enumerate(zip(*trees, strict=True)):
        assert first == second, f"PDU {number}"


@pytest.mark.parametrize("protocol, writes", samples.combinations(list(PROTOCOLS), list(WRITES)))
def test_same_as_over_tcp(tshark, scratch, protocol, writes):
    make, port, *_ = PROTOCOLS[protocol]
    talk = WRITES[writes](make())
    compare(
        tshark,
        protocol,
        carried.over_tcp(talk, port, scratch / "tcp.pcap"),
        carried.over_smc(talk, port, scratch / "smc.pcap"),
    )


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_failover_in_the_middle(tshark, scratch, protocol):
    """What is written again on the other link counts once."""
    make, port, *_ = PROTOCOLS[protocol]
    talk = carried.in_pieces(make(), 5000)
    path = carried.over_failing_link(talk, port, scratch / "smc.pcap", fails=len(talk) // 2)
    assert tshark.frames(path, "smcr.stream.rewritten")
    compare(tshark, protocol, carried.over_tcp(talk, port, scratch / "tcp.pcap"), path)


def test_answers_are_linked_to_their_questions(tshark, scratch):
    path = carried.over_smc(talks.dns(), 53, scratch / "smc.pcap")
    numbers, links = {}, []
    for frame, number, answer_in, question_in in tshark.fields(
        path,
        "frame.number",
        "dns.id",
        "dns.response_in",
        "dns.response_to",
        where="dns",
        two_pass=True,
    ):
        numbers[frame[0]] = number
        links += [(number, other) for other in answer_in + question_in]
    assert len(links) == 18
    assert [link for link in links if numbers[link[1]] != link[0]] == []


@pytest.mark.parametrize("two_pass", [False, True])
def test_lost_write(tshark, scratch, two_pass):
    """A question is missing: so much is said, and everything after it is shown."""
    talk = talks.dns()
    lost = talk[2][1]
    path = carried.over_smc(
        talk, 53, scratch / "smc.pcap", without=lambda number, frame: lost in frame
    )
    gaps = [
        row[0]
        for row in tshark.fields(
            path, "smcr.stream.gap", where="smcr.stream.gap", two_pass=two_pass
        )
    ]
    assert gaps == [[str(len(lost))]]
    questions = tshark.fields(
        path, "dns.qry.name", where="dns.flags.response == 0", two_pass=two_pass
    )
    assert [row[0][0] for row in questions] == [
        f"name{i}.example" for i in (1, 2, 4, 5, 6, 7, 8)
    ] + ["last.example"]
    pieces = raw(follow(tshark, path, 0, two_pass=two_pass))
    note = f"[{len(lost)} bytes missing in capture file]".encode()
    sent = b"".join(data for sender, data in talk if sender == "client")
    assert streams(pieces)[0] == sent.replace(lost, note)
    assert streams(pieces)[1] == b"".join(data for sender, data in talk if sender == "server")


@pytest.mark.parametrize("part", ["first", "middle", "last"])
def test_lost_packet_of_a_message(tshark, scratch, part):
    """
    The long response, in WRITEs of 5000 bytes of 1024 each, lacks one packet: it is not shown, what
    follows is. Where the first packet is missing, only the CDC message after a WRITE tells where
    the rest belongs: that takes two passes.
    """
    talk = carried.in_pieces(talks.dns(), 5000)
    capture = carried.over_smc(talk, 53, scratch / "whole.pcap")
    rows = tshark.fields(
        capture, "frame.number", "infiniband.bth.opcode", where="smcr.dir == 1 && smcr.write.len"
    )
    opcode = {"first": "6", "middle": "7", "last": "8"}[part]
    lost = [int(row[0][0]) for row in rows if row[1] == [opcode]][5]
    cut = carried.over_smc(
        talk, 53, scratch / "cut.pcap", without=lambda number, frame: number == lost
    )
    whole, answers = (
        tshark.fields(path, "dns.qry.name", where="dns.flags.response == 1")
        for path in (capture, cut)
    )
    assert [row for row in whole if row not in answers] == [[["name4.example"]]]
    sent = b"".join(data for sender, data in talk if sender == "server")
    for two_pass in (False, True):
        got = streams(raw(follow(tshark, cut, 0, two_pass=two_pass)))[1]
        before, _, after = got.partition(b"[")
        missing, _, after = after.partition(b" bytes missing in capture file]")
        assert sent.startswith(before) and sent.endswith(after)
        assert int(missing) == len(sent) - len(before) - len(after)
        assert int(missing) <= (1024 if two_pass or part != "first" else 5000)
