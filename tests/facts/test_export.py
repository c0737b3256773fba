"""
Export Objects: each direction of each connection becomes a file that holds what the program sent,
byte for byte; of what the capture does not have in full, the file's name says how much is missing.
"""

import base64

import pcapng
import pytest
import sharkd
import traffic
from test_follow import FELL_BACK, FIRST_BYTES, LAST_BYTES, NO_SMC, WHOLE, sent

NAMES = ("client-to-server", "server-to-client")
CAPTURES = sorted({name for name, _ in WHOLE})


def export(tshark, scratch, capture, *options):
    """The files that tshark writes: {name: bytes}."""
    folder = scratch / f"objects{len(list(scratch.iterdir()))}"
    scratch.chmod(0o777)  # tshark runs as another user
    assert tshark.show(capture, "-q", "--export-objects", f"smcr,{folder}", *options) == ""
    return {path.name: path.read_bytes() for path in folder.iterdir()} if folder.exists() else {}


def expected(name):
    """The files of a capture in which nothing is missing: connections are numbered from 0, empty
    streams have none."""
    return {
        f"stream-{number - 1}-{NAMES[direction]}.bin": data
        for (number, direction), data in sent(name).items()
        if data
    }


@pytest.mark.parametrize(
    "name", [name for name in CAPTURES if name not in {name for name, _ in LAST_BYTES}]
)
def test_what_was_sent(tshark, scratch, name):
    files = export(tshark, scratch, name)
    assert files == expected(name) and files
    assert export(tshark, scratch, name, "-2") == files


@pytest.mark.parametrize("name, number", FIRST_BYTES)
def test_aborted_connection(tshark, scratch, name, number):
    """What was written to the wire: nobody announced more."""
    files = export(tshark, scratch, name)
    assert set(files) == {f"stream-{number - 1}-{direction}.bin" for direction in NAMES}
    for direction in (0, 1):
        data = files[f"stream-{number - 1}-{NAMES[direction]}.bin"]
        assert data and sent(name)[number, direction].startswith(data)


@pytest.mark.parametrize("name, number", LAST_BYTES)
def test_capture_starts_late(tshark, scratch, name, number):
    files = export(tshark, scratch, name, "-2")
    for direction, size in enumerate(LAST_BYTES[name, number]):
        truth = sent(name)[number, direction]
        missing = len(truth) - size
        assert (
            files.pop(f"stream-{number - 1}-{NAMES[direction]}-{missing}-bytes-missing.bin")
            == truth[-size:]
        )
    assert files == {
        name: data
        for name, data in expected(name).items()
        if not name.startswith(f"stream-{number - 1}-")
    }


@pytest.mark.parametrize("name", [*FELL_BACK, *NO_SMC])
def test_fallen_back_connection_has_no_file(tshark, scratch, name):
    """Its bytes are those of the TCP stream."""
    assert export(tshark, scratch, name) == {}


LOST = ("6.1-v2-c-three-conns", 2, 1)


def lost_packet(tshark, place):
    """The place-th WRITE packet of a stream: its frame, and its bytes."""
    name, number, direction = LOST
    rows = traffic.rows(
        tshark,
        name,
        "frame.number",
        "smcr.stream.offset",
        "smcr.write.len",
        where=f"smcr.stream == {number - 1} && smcr.dir == {direction} && smcr.write.len",
    )
    packets = [[int(value[0]) for value in row.values()] for row in rows]
    frame, start, length = packets[place]
    return frame, start, start + length


@pytest.mark.parametrize(
    "place", [3, 4, 5, -1], ids=["first of a request", "middle", "last", "last of the stream"]
)
def test_packet_is_missing(tshark, scratch, place):
    """
    All other bytes are there, in their order. The last ones are known from the CDC message that
    announces them; so are those of a request whose first packet is missing.
    """
    name, number, direction = LOST
    frame, start, end = lost_packet(tshark, place)
    truth = sent(name)[number, direction]
    path = scratch / "lost.pcapng"
    pcapng.write_without(path, tshark.bed.capture(name), frame)
    files = export(tshark, scratch, path)
    got = files.pop(f"stream-{number - 1}-{NAMES[direction]}-{end - start}-bytes-missing.bin")
    assert 0 < end - start < len(truth) and got == truth[:start] + truth[end:]
    whole = expected(name)
    del whole[f"stream-{number - 1}-{NAMES[direction]}.bin"]
    assert files == whole


def test_data_cut_short(tshark, scratch):
    """With a snap length, every file has the beginnings of the packets and counts the rest."""
    name, snap = "6.1-v2-j-http11", 200
    path = scratch / "cut.pcapng"
    tshark.bed.edit("-s", snap, tshark.bed.capture(name), path)
    files, truth = export(tshark, scratch, path), sent(name)
    assert len(files) == len(truth) and any("missing" in file for file in files)
    for (number, direction), data in truth.items():
        rows = traffic.rows(
            tshark,
            name,
            "smcr.stream.offset",
            "smcr.write.len",
            "infiniband.reth.r_key",
            where=f"smcr.stream == {number - 1} && smcr.dir == {direction} && smcr.write.len",
        )
        kept = b""
        for (offset, *_), (length, *_), reth in (row.values() for row in rows):
            room = snap - 14 - 20 - 8 - traffic.BTH - (traffic.RETH if reth else 0)
            kept += data[int(offset) : int(offset) + min(int(length), room)]
        missing = f"-{len(data) - len(kept)}-bytes-missing" if len(kept) < len(data) else ""
        assert files[f"stream-{number - 1}-{NAMES[direction]}{missing}.bin"] == kept


def test_list_can_be_asked_for_again(tshark):
    """As Wireshark's window does: the same list each time, of one capture after another, and the
    bytes of each row."""
    names = ("6.1-v2-c-three-conns", "6.1-v2-c-three-conns", "6.1-v2-a-first-contact-ipv4")
    ask = ("tap", {"tap0": "eo:smcr"})
    requests = [
        request for name in names for request in (sharkd.load(tshark.bed.capture(name)), ask, ask)
    ]
    requests += [("download", {"token": f"eo:smcr_{row}"}) for row in range(2)]
    answers = sharkd.ask(tshark, requests)
    lists = [answer["taps"][0]["objects"] for answer in answers if "taps" in answer]
    assert lists[0] == lists[1] == lists[2] == lists[3] != lists[4] == lists[5]
    for name, objects in zip(names, lists[::2], strict=True):
        assert {each["filename"]: each["len"] for each in objects} == {
            file: len(data) for file, data in expected(name).items()
        }
    ends = {each["filename"]: each["hostname"] for each in lists[4]}
    ((_, client, client_port, server, server_port),) = traffic.connections(
        tshark, names[2]
    ).values()
    assert ends == {
        "stream-0-client-to-server.bin": f"{client}:{client_port} to {server}:{server_port}",
        "stream-0-server-to-client.bin": f"{server}:{server_port} to {client}:{client_port}",
    }
    assert {
        answer["file"]: base64.b64decode(answer["data"]) for answer in answers[-2:]
    } == expected(names[2])
