"""
One connection is one: in a capture of one direction no token joins TCP with RoCE, and in a
truncated capture CLC names none. The report joins the halves where times and ends agree, says
"probably", and counts one. Cursors say how many bytes were written, where WRITEs are not known to
be of a connection.
"""

import json
import random
import sys

import pcapng
import pytest
from bed import STORIES, TOP, captures

sys.path.insert(0, str(TOP / "tests" / "synth"))
from smcsynth.capture import Capture  # noqa: E402
from smcsynth.story import (  # noqa: E402
    CLIENT,
    SERVER,
    Connection,
    clc_conversation,
    linux_connection,
    linux_halves,
)

PORTS, BYTES = (40000, 40017, 40018), (1500, 700, 2200)


def three_connections(version, ipv6):
    """A capture of three connections of one link group, the client writes, and its bytes."""
    capture = Capture()
    first = linux_connection(capture, version=version, ipv6=ipv6)
    first.first_contact()
    connections = [first]
    for nth, port in enumerate(PORTS[1:], 2):
        later = Connection(first.group, *linux_halves(number=nth), sport=port, ipv6=ipv6)
        later.subsequent_contact()
        connections.append(later)
    for connection, length in zip(connections, BYTES):
        connection.send("client", bytes(length))
        capture.wait(0.2)
    for connection in connections:
        connection.close()
        capture.wait(0.3)
    return capture


def of_host(capture, host):
    """The frames that a host has sent."""
    mac = bytes.fromhex(host.mac.replace(":", ""))
    capture.frames = [each for each in capture.frames if each[1][6:12] == mac]
    return capture


def report(tshark, scratch, capture):
    """(JSON, page) of a capture."""
    path = scratch / "capture.pcap"
    path.write_bytes(capture.pcap())
    path.chmod(0o644)
    page = tshark.show(path, "-2", "-q", "-z", "smcr,report")
    return json.loads(tshark.show(path, "-2", "-q", "-z", "smcr,json")), page


@pytest.mark.parametrize("ipv6", [False, True], ids=["IPv4", "IPv6"])
@pytest.mark.parametrize("version", [1, 2], ids=["v1", "v2"])
def test_whole_capture_says_the_same(tshark, scratch, version, ipv6):
    seen, page = report(tshark, scratch, three_connections(version, ipv6))
    assert [each["client"]["port"] for each in seen["connections"]] == list(PORTS)
    assert [each["client_to_server"]["bytes"] for each in seen["connections"]] == list(BYTES)
    assert "probably" not in page
    assert {each["roce_stream"] for each in seen["connections"]} == {None}


@pytest.mark.parametrize("ipv6", [False, True], ids=["IPv4", "IPv6"])
@pytest.mark.parametrize("version", [1, 2], ids=["v1", "v2"])
def test_one_direction(tshark, scratch, version, ipv6):
    seen, page = report(tshark, scratch, of_host(three_connections(version, ipv6), CLIENT))
    got = {
        each["client"]["port"]: (
            each["client_to_server"]["bytes"],
            each["client_to_server"]["lacks_bytes"],
            each["roce_stream"] is not None,
        )
        for each in seen["connections"]
    }
    assert got == {port: (length, False, True) for port, length in zip(PORTS, BYTES)}
    assert page.count("probably ") >= 3 and "3 SMC-Rv" in page
    assert "began" not in page and "lacks the beginning" not in page


def test_the_other_direction_has_as_many_connections(tshark, scratch):
    seen, _ = report(tshark, scratch, of_host(three_connections(2, False), SERVER))
    assert len(seen["connections"]) == 3


def test_connection_of_another_program_is_not_joined(tshark, scratch):
    """TCP of the second connection is not captured, so nothing is said of its ports."""
    capture = of_host(three_connections(1, False), CLIENT)
    port = (PORTS[1]).to_bytes(2, "big")
    capture.frames = [each for each in capture.frames if each[1][34:36] != port or each[1][23] != 6]
    seen, _ = report(tshark, scratch, capture)
    got = {
        each["client"]["port"]: each["client_to_server"]["bytes"] for each in seen["connections"]
    }
    assert got == {PORTS[0]: BYTES[0], None: BYTES[1], PORTS[2]: BYTES[2]}


def tokens_seen(seen):
    """{port of the client: token of the server} in a report."""
    return {each["client"]["port"]: each["tokens"]["server"] for each in seen["connections"]}


def tokens_of(connections):
    """The same of connections that a test has made, in the order of their ports."""
    return {
        PORTS[0] + nth: f"0x{connection.half['server'].token:08x}"
        for nth, connection in enumerate(connections)
    }


def connections_that_end_together(ends=True):
    """A capture of eight connections, snap length 96, and the connections. Some end at almost the
    same time, and the fourth carries no data; or none ends."""
    capture = Capture()
    first = linux_connection(capture, version=2)
    connections = [first]
    for nth in range(1, 8):
        connections.append(
            Connection(first.group, *linux_halves(number=nth + 1), sport=PORTS[0] + nth)
        )
    for nth, connection in enumerate(connections):
        connection.half["server"].token = connection.half["client"].token
        if nth:
            connection.subsequent_contact()
        else:
            connection.first_contact()
    for nth, connection in enumerate(connections):
        if nth != 3 or not ends:
            connection.send("client", bytes(100 + nth))
            connection.send("server", bytes(50))
            connection.send("client", bytes(10))
        capture.wait(0.2 if nth in (0, 6) else 0)
    for nth, connection in enumerate(connections if ends else []):
        connection.close()
        capture.wait(0.3 if nth in (0, 6) else 0)
    capture.captured = {number: 96 for number in range(1, len(capture.frames) + 1)}
    return capture, connections


def is_clc(frame, port, kind):
    """Whether the frame is a CLC message of this type of the connection with this client's port."""
    ports = (int.from_bytes(frame[34:36], "big"), int.from_bytes(frame[36:38], "big"))
    data = frame[34 + (frame[46] >> 4) * 4 :]
    return frame[23] == 6 and port in ports and data[:4] == b"\xe2\xd4\xc3\xd9" and data[4] == kind


def test_truncated_connections_that_end_together(tshark, scratch):
    """No CLC message names a token or a link group. Only the order between connections that end
    apart joins the halves of the others, and only the tokens join the two directions of the fourth.
    Then one Accept and one Confirm are missing, and no end is captured: the handshakes come one
    after another, so their order is known nevertheless."""
    accept, confirm = 2, 3
    for missing in [], [(PORTS[0] + 2, accept), (PORTS[0] + 4, confirm)]:
        capture, connections = connections_that_end_together(ends=not missing)
        before = len(capture.frames)
        capture.frames = [
            each for each in capture.frames if not any(is_clc(each[1], *one) for one in missing)
        ]
        assert len(capture.frames) == before - len(missing)
        seen, page = report(tshark, scratch, capture)
        assert tokens_seen(seen) == tokens_of(connections), missing
        assert len(seen["connections"]) == len(connections) and "probably" in page


def test_truncated_connections_with_a_missing_message(tshark, scratch):
    """Snap length 96, requests of one size and answers of another, each after the one before. The
    capture misses a request or an answer: the missing direction has no number, and all other
    directions are joined nevertheless."""
    for sender, at in ("server", 1), ("client", 1), ("server", 4), ("client", 4):
        capture = Capture()
        first = linux_connection(capture, version=2)
        missing = set()
        connections = []
        for nth in range(8):
            connection = (
                Connection(first.group, *linux_halves(number=nth + 1), sport=PORTS[0] + nth)
                if nth
                else first
            )
            connection.half["server"].token = connection.half["client"].token
            (connection.subsequent_contact if nth else connection.first_contact)()
            for writer, length in ("client", 14), ("server", 7):
                before = len(capture.frames)
                connection.send(writer, bytes(length))
                if (writer, nth) == (sender, at):
                    missing = set(range(before, len(capture.frames)))
            connections.append(connection)
            capture.wait(0.2)
        for connection in connections:
            connection.close()
            capture.wait(0.3)
        capture.frames = [each for nth, each in enumerate(capture.frames) if nth not in missing]
        capture.captured = {number: 96 for number in range(1, len(capture.frames) + 1)}
        seen, _ = report(tshark, scratch, capture)
        assert tokens_seen(seen) == tokens_of(connections), (sender, at)
        assert len(seen["connections"]) == len(connections), (sender, at)


def test_confirm_without_a_known_link_group(tshark, scratch):
    """The first contact starts mid-connection. In the next handshake the type of the Accept is not
    known, so the Confirm that follows agrees on SMC-R, and names no link group."""
    capture = Capture()
    first = linux_connection(capture)
    clc = [("client", first.proposal()), ("server", first.accept()), ("client", first.confirm())]
    clc_conversation(capture, PORTS[0], *clc)
    later = Connection(first.group, *linux_halves(number=2), sport=PORTS[1])
    accept, confirm = bytearray(later.accept()), bytearray(later.confirm())
    accept[4] = accept[7] = 0  # type; version and flags
    confirm[7] &= ~0x08  # no first contact
    clc_conversation(
        capture,
        PORTS[1],
        ("client", later.proposal()),
        ("server", bytes(accept)),
        ("client", bytes(confirm)),
    )
    is_fin = 1
    messages = [each for each in capture.frames if not each[1][47] & is_fin and len(each[1]) > 60]
    capture.frames = messages[3:]  # without SYN, SYN-ACK and Proposal of the first contact
    path = scratch / "capture.pcap"
    path.write_bytes(capture.pcap())
    path.chmod(0o644)
    for passes in (), ("-2",):
        seen = json.loads(tshark.show(path, *passes, "-q", "-z", "smcr,json"))
        assert {each["client_to_server"]["bytes"] for each in seen["connections"]} == {None}


def middle(frames):
    """The middle half of a capture."""
    return frames[len(frames) // 4 : -len(frames) // 4]


def without_times(frames):
    return [pcapng.at_time(frame, 0) for frame in frames]


def truncated(frames):
    return [pcapng.cut(frame, 96) for frame in frames]


def sliced(frames):
    """As a mirror port truncates frames: no length of the file shows it."""
    return [pcapng.with_data(frame, pcapng.data(frame)[:128]) for frame in frames]


def lossy(frames):
    """Truncated, and 3 % of the frames are missing."""
    chance = random.Random(2)
    return [pcapng.cut(frame, 110) for frame in frames if chance.random() >= 0.03]


def of_client_on_one_link(frames):
    """What the client's host sends over TCP, and on link 1, by its IPv4 addresses."""
    return [frame for frame in frames if pcapng.data(frame)[26:30] == bytes([10, 0, 0, 1])]


def port_early(frames):
    """The second port of the client is captured with a clock that is a second slow."""
    port, second = bytes.fromhex("525400aa0101"), 10**6
    moved = [
        pcapng.at_time(each, pcapng.time(each) - second * (pcapng.data(each)[6:12] == port))
        for each in frames
    ]
    return sorted(moved, key=pcapng.time)


def client_early(frames):
    """The RoCE packets of the client are captured with a clock that is 50 ms slow, so that some of
    them come before CLC."""
    udp, late = 17, 50_000
    client = [each for each in frames if pcapng.data(each)[9] == 0xAA]
    early = {each.number for each in client if pcapng.data(each)[23] == udp}
    moved = [
        pcapng.at_time(each, pcapng.time(each) - late * (each.number in early)) for each in frames
    ]
    return sorted(moved, key=pcapng.time)


def jittered(frames):
    """Each packet comes up to a millisecond late, as from an interface with several queues."""
    chance = random.Random(9)
    late = [pcapng.at_time(each, pcapng.time(each) + chance.randrange(1000)) for each in frames]
    return sorted(late, key=pcapng.time)


# capture, how it is altered, number of connections, words of the page, words that are false
AS_USERS_SEND_THEM = [
    ("6.1-v2-d-bulk-slow-reader", middle, 1, ["of 10.0.0.2 reads slowly"], []),
    (
        "6.1-v2-d-bulk-slow-reader",
        sliced,
        1,
        ["of server 10.0.0.2 reads slowly", "1.0 MiB", "close: 1 normal"],
        ["broken", "probably", "?"],
    ),
    ("6.1-v2-q-forty-conns", sliced, 40, ["close: 40 normal"], ["probably"]),
    (
        "s27-acl-failover.pcapng",
        of_client_on_one_link,
        2,
        ["10.0.0.1:43914 → 10.0.0.2:6379: capture the RoCE port, too"],
        ["port of client"],
    ),
    ("6.1-v2-c-three-conns", client_early, 3, ["Links: 1 active, 1 in"], ["probably"]),
    ("6.1-v1-h4-two-links-rkeys", port_early, 4, ["Links: 2 active"], ["probably", "2 active, 1"]),
    ("s13c-qp-limit.pcapng", lossy, 59, ["51 SMC-Rv2"], []),
    ("6.1-v2-q-forty-conns", jittered, 40, ["all arrived"], ["not captured"]),
    ("6.1-v1-b-first-contact-ipv6", without_times, 1, ["No fault"], ["broken"]),
    (
        "6.1-v1-b-first-contact-ipv6",
        truncated,
        1,
        ["or the TCP handshake is truncated", "128 bytes or more"],
        [],
    ),
]


def test_captures_as_users_send_them(tshark, scratch):
    """A connection is one entry, and what the frames show is said, in captures that are altered as
    users alter them."""
    path = scratch / "altered.pcapng"
    for name, alter, count, words, false in AS_USERS_SEND_THEM:
        head, frames = pcapng.read(captures("real", STORIES)[name])
        pcapng.write(path, head, alter(frames))
        path.chmod(0o644)
        seen = json.loads(tshark.show(path, "-2", "-q", "-z", "smcr,json"))
        page = " ".join(tshark.show(path, "-2", "-q", "-z", "smcr,report").split())
        assert len(seen["connections"]) == count, name
        assert [each for each in words if each not in page] == [], name
        assert [each for each in false if each in page] == [], name
