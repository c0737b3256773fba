"""
The tap of ANCK: what its packets carry is dissected, followed and reported as a reader of the bytes
finds it, for SMC-D, loopback and SMC-R, with each format of the header that its source allows.
Nothing is lost of packets that lie, are truncated, or have another version.
"""

import struct
import sys

import alterations
import pytest
import tap_reader
import truths
from bed import TOP
from report_runs import ALL_TWO, parse, print_json
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from test_lacking import altered

sys.path.insert(0, str(TOP / "tests" / "synth"))
from smcsynth.anck_tap import SMC_D, SMC_R, Format, Tap, smcd_cdc  # noqa: E402
from smcsynth.capture import Capture  # noqa: E402
from smcsynth.octets import noise, text_lines  # noqa: E402

HOSTS = {"client": "192.0.2.1", "server": "192.0.2.2"}
ONE_HOST = {"client": "192.0.2.1", "server": "192.0.2.1"}
PORTS = {"client": 40001, "server": 8080}
GET = b"GET /page HTTP/1.1\r\nHost: server.example\r\n\r\n"
BODY = text_lines(90_000, "tap")
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY
UNSET = bytes.fromhex("0011223344556677")
ROOM = 65504
IEEE_802_11 = 105
BOTH = ("client", "server")


def http(tap):
    """A request and an answer that wraps the element. Before the first message, which shows the
    length of the header, only a header of 12 or 16 bytes is read right."""
    if tap.form.reserved > 6:
        tap.cdc("client")
    tap.send("client", GET)
    for begin in range(0, len(ANSWER), 40_000):
        tap.send("server", ANSWER[begin : begin + 40_000])
        tap.cdc("client")
    tap.close()


# name: (what the tap has, hosts, capture of the project whose handshake comes before)
STORIES = {
    "sender's tap": dict(),
    "receiver's tap": dict(own=("server",), garbage=UNSET),
    "short header": dict(form=Format(reserved=2)),
    "long header": dict(form=Format(reserved=22, message=9, data=7)),
    "types swapped": dict(form=Format(message=1, data=0)),
    "one host": dict(own=BOTH, hosts=ONE_HOST, garbage=UNSET),
    "one host, in turn": dict(own=BOTH, hosts=ONE_HOST, garbage=UNSET, in_turn=True),
    "SMC-R": dict(mode=SMC_R, room=65536),
    "immediate data": dict(mode=SMC_R, room=65536, immediate=True),
    "SMC-R, receiver's tap": dict(mode=SMC_R, room=65536, own=("server",)),
}


def tap_of(hosts=HOSTS, **options):
    return Tap(Capture(), hosts, PORTS, **options)


def file_of(capture, folder):
    path = folder / f"tap-{len(capture.frames)}-{abs(hash(capture.pcap()))}.pcap"
    path.write_bytes(capture.pcap())
    path.chmod(0o644)
    return path


def reader_of(path, tap):
    form = tap.form
    return tap_reader.Reader(path, header=10 + form.reserved, message=form.message, room=tap.room)


def followed(tshark, path, stream=0):
    """Bytes of both directions, as Follow Stream has them."""
    shown = tshark.show(path, "-q", "-2", "-z", f"follow,smcr,raw,{stream}")
    lines = shown.split("Node 1:")[1].splitlines()[1:-1]
    sides = {"client": b"", "server": b""}
    for line in lines:
        sides["server" if line.startswith("\t") else "client"] += bytes.fromhex(line.strip())
    return sides


CDC_FIELDS = [
    f"smcr.cdc.{name}" for name in ("prod_wrap", "prod", "cons_wrap", "cons", "flags", "state")
]


def shown_messages(tshark, path):
    rows = tshark.fields(path, "frame.number", *CDC_FIELDS, where="smcr.cdc && smcr.anck")
    return {int(row[0][0]): tuple(int(value[0], 0) for value in row[1:]) for row in rows}


@pytest.mark.parametrize("name", STORIES)
def test_tap_is_shown_followed_and_reported(tshark, name):
    options = STORIES[name]
    tap = tap_of(**options)
    http(tap)
    path = file_of(tap.capture, tshark.bed.scratch)
    shown, reader = shown_messages(tshark, path), reader_of(path, tap)
    of_file = {
        number: (*each.prod, *each.cons, each.flags, each.state)
        for number, each in reader.messages.items()
    }
    assert reader.odd == [] and all(each.mode == tap.mode for each in reader.messages.values())
    if len(tap.own) == 1:
        assert shown == of_file and reader.lacking == {}
        assert sorted(way.data for way in reader.ways.values()) == sorted((GET, ANSWER))
    else:  # each message is in the file twice: the second one is a duplicate
        assert len(shown) * 2 == len(of_file) and set(shown.values()) == set(of_file.values())
    assert followed(tshark, path) == {"client": GET, "server": ANSWER}
    assert len(tshark.frames(path, "http.request")) == 1
    assert len(tshark.frames(path, "http.response.code == 200", two_pass=True)) == 1
    assert tshark.frames(path, "_ws.expert.severity >= error || _ws.malformed") == []
    report = parse(print_json(tshark, tshark.bed.capture(path), ALL_TWO))
    (connection,) = report["connections"]
    assert connection["outcome"] == ("smc-d" if tap.mode == SMC_D else "smc-r")
    numbers = {
        int(row[0][0]): row[1][0]
        for row in tshark.fields(
            path, "frame.number", "smcr.cdc.seq", where="smcr.anck && smcr.cdc.seq"
        )
    }
    assert numbers == {
        number: str(each.seq) for number, each in reader.messages.items() if each.seq is not None
    }
    assert connection["client_to_server"]["bytes"] == len(GET)
    assert connection["server_to_client"]["bytes"] == len(ANSWER)
    assert connection["close"] == "normal"
    assert report["link_groups"] == [] and report["rdma_flows"] == []


def test_one_host_without_a_copy(tshark):
    """Each packet of both ends is there twice. One copy of data is missing: what the other copy has
    counts once. Data whose sender's copy is missing may have no place."""
    tap = tap_of(**STORIES["one host, in turn"])
    http(tap)
    frames = list(tap.capture.frames)
    for gone in [number for number, frame in enumerate(frames, 1) if len(frame) > 1000]:
        tap.capture.frames[:] = frames[: gone - 1] + frames[gone:]
        path = file_of(tap.capture, tshark.bed.scratch)
        rows = tshark.fields(path, "_ws.col.Info", "smcr.anck.missing", "smcr.breach")
        sides = followed(tshark, path)
        assert sides["client"] == GET and not any(row[2] for row in rows), gone
        late = [row for row in rows if "duplicate of missing data" in row[0][0]]
        missing = [row for row in rows if row[1]]
        assert bool(late) == bool(missing) == (sides["server"] != ANSWER), gone
        rest = iter(ANSWER)
        assert all(byte in rest for byte in sides["server"]), gone


def test_copies_that_never_come(tshark):
    """One host, of whose tap only one copy is captured: above 4 MiB an item says that later copies
    would count as data, and the data counts once."""
    tap = tap_of(own=("client",), hosts=ONE_HOST, room=1 << 20)
    pieces = [noise(60_000, number) for number in range(75)]
    for piece in pieces:
        tap.send("client", piece)
    path = file_of(tap.capture, tshark.bed.scratch)
    assert followed(tshark, path)["client"] == b"".join(pieces)
    assert len(tshark.frames(path, "smcr.anck.copies_forgotten")) == 1
    same = tap_of(own=("client",), hosts=ONE_HOST)
    for _ in range(9):  # the second one counts as a copy, until its message comes
        same.send("client", GET)
    path = file_of(same.capture, tshark.bed.scratch)
    assert tshark.frames(path, "smcr.write") == [1, *range(5, 18, 2)]
    assert len(tshark.frames(path, "smcr.anck.bytes_missing")) == 1


def test_both_directions_have_a_row(tshark):
    """Also where nothing shows which end is the client. No network carries the data of SMC-D, so
    nothing is retransmitted; what the network of SMC-R has retransmitted, the tap does not show."""
    tap = tap_of(room=65536)
    for role in ("client", "server"):
        tap.prod[role] = tap.cons[role] = (3, 700)
    tap.send("client", GET)
    tap.capture.wait(0.5)
    tap.send("server", b"answer")
    tap.capture.wait(0.5)
    tap.cdc("client")
    path = file_of(tap.capture, tshark.bed.scratch)
    report = tshark.show(path, "-q", "-2", "-z", "smcr,report")
    for row, size in (("1:40001 → 192.0.2.2:8080", len(GET)), ("2:8080 → 192.0.2.1:40001", 6)):
        (found,) = [line for line in report.splitlines() if f"192.0.2.{row}" in line]
        assert f" ≥{size} B " in found and found.endswith("-"), found
    (entry,) = parse(print_json(tshark, path, ALL_TWO))["connections"]
    assert entry["ends"] == "192.0.2.1:40001 ↔ 192.0.2.2:8080"
    for way in ("client_to_server", "server_to_client"):
        assert entry[way]["time"]["unknown_s"] > 0
        assert entry[way]["time"]["retransmission_most_s"] <= 0.001, entry[way]["time"]
    of_smcr = tap_of(mode=SMC_R, room=65536)
    of_smcr.send("client", GET)
    of_smcr.capture.wait(0.5)
    of_smcr.send("server", b"answer")
    path = file_of(of_smcr.capture, tshark.bed.scratch)
    (entry,) = parse(print_json(tshark, path, ALL_TWO))["connections"]
    assert entry["client_to_server"]["time"]["retransmission_most_s"] > 0.4


def test_handshake_gives_the_size_of_the_buffer(tshark):
    """The element of a DMB of 64 KiB has 32 bytes for messages; a cursor that comes to its end
    wraps."""
    rows = tshark.fields(
        "anck-tap", "smcr.cdc.announced", "tcp.stream", where="smcr.cdc && udp.port == 40001"
    )
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 100000\r\n\r\n"
    sent = len(head) + 100_000
    assert max(int(row[0][0]) for row in rows) == sent
    report = parse(print_json(tshark, tshark.bed.capture("anck-tap"), ALL_TWO))
    first = min(report["connections"], key=lambda each: each["stream"])
    assert first["buffer_bytes"] == {"client": ROOM, "server": ROOM}


def test_nothing_is_lost_of_packets_that_lie(tshark):
    """Another version, another length, another mode, a packet that is truncated, one that ends with
    its header: an item each, and the data of the others is whole."""
    tap = tap_of()
    unknown = tap.packet("client", 0, smcd_cdc((0, 0), (0, 0), unset=UNSET))
    tap.send("client", GET)
    expected = {
        tap.packet("client", 1, b"A" * 50, length=9): "smcr.anck.length_invalid",
        tap.packet("client", 77, UNSET * 8): None,
        tap.packet("client", 1, b""): None,
    }
    tap.form.version = 7
    expected[tap.packet("client", 1, b"B" * 50)] = "smcr.anck.version_unknown"
    tap.form.version = 1
    cut = tap.packet("client", 1, b"C" * 50, snap=20)
    tap.prod["client"] = (0, len(GET) + 50 + len(UNSET) * 8 + 50 + 50)
    tap.cdc("client")
    missing = len(tap.capture.frames) + 1
    tap.prod["client"] = (0, tap.prod["client"][1] + 1000)
    tap.cdc("client")
    path = file_of(tap.capture, tshark.bed.scratch)
    for frame, item in expected.items():
        if item:
            assert tshark.frames(path, item) == [frame]
    assert tshark.frames(path, "smcr.anck.kind_unknown") == [unknown]
    assert tshark.frames(path, "smcr.anck.header_assumed") == [unknown + 1]
    reader = reader_of(path, tap)
    assert reader.odd == tshark.frames(path, "smcr.anck.length_invalid")
    assert reader.lacking[missing] == 1000 and set(reader.lacking) <= {cut + 1, missing}
    assert tshark.frames(path, "smcr.anck.bytes_missing") == [missing]
    assert tshark.fields(path, "smcr.anck.missing", where=f"frame.number == {missing}") == [
        [["1000"]]
    ]
    assert cut in tshark.frames(path, "smcr.cut_short")
    sides = followed(tshark, path)
    assert sides["client"].startswith(GET + b"A" * 50 + UNSET * 8 + b"B" * 50 + b"C" * 20)


def test_tap_that_copies_no_data_of_the_sender(tshark):
    """The source shows that the receiver's kernel copies data; for the sender's it does not. Then
    messages announce more than the tap has shown, which is nobody's fault."""
    tap = tap_of()
    for _ in range(3):
        tap.prod["client"] = (0, tap.prod["client"][1] + len(GET))
        tap.cdc("client")
        tap.cons["server"] = tap.prod["client"]
        tap.send("server", b"HTTP/1.1 204 No Content\r\n\r\n")
    tap.close()
    path = file_of(tap.capture, tshark.bed.scratch)
    reader = reader_of(path, tap)
    rows = tshark.fields(path, "frame.number", "smcr.anck.missing", where="smcr.anck.missing")
    assert {int(row[0][0]): int(row[1][0]) for row in rows} == reader.lacking
    assert set(reader.lacking.values()) == {len(GET)} and len(reader.lacking) == 3
    assert len(tshark.frames(path, "http.response.code == 204", two_pass=True)) == 3
    report = parse(print_json(tshark, path, ALL_TWO))
    (connection,) = report["connections"]
    assert connection["client_to_server"]["bytes"] == 3 * len(GET)  # those announced
    assert {each["severity"] for each in report["findings"]} <= {"note", "chat"}, report["findings"]


# A tap that lacks packets, has them twice or out of order: (kind, label, {frame of the whole
# capture: what the frame shows}).
DISORDER = [
    (
        "mirror",
        "each frame twice",
        {8: "Data, duplicate", 9: "CDC, duplicate", 21: "CDC, duplicate", 27: "Data, duplicate"},
    ),
    ("copies", "3 later, seed 1", {10: "Offset=0", 13: "Offset=40000", 14: "Data, duplicate"}),
    ("swapped", "every pair from 2", {8: "GET /page"}),
    ("shuffled", "seed 1", {8: "Offset=0", 19: "CDC, out of order"}),
    ("shuffled", "seed 2", {18: "CDC, out of order", 29: "CDC, out of order"}),
    ("single", "without 9", {8: "GET /page", 10: "Offset=0", 12: "Win=65504", 19: "Len=0"}),
    ("single", "without 12", {15: "Len=40000", 18: "Len=20069"}),
    ("pause", "without 02:00:00:00:dd in 10 to 14", {16: "Cons=1:14496", 20: "Len=0"}),
    ("block", "without 6 to 15", {21: "Len=0"}),
    ("start", "without 1 to 25", {27: "200 OK", 30: "Len=0"}),
]


def test_packets_missing_twice_or_out_of_order(tshark, scratch):
    """What is said is true of the whole capture, and what frames show is said."""
    truth = truths.truth_of(tshark, "anck-tap")
    scratch.chmod(0o777)
    for kind, label, expected in DISORDER:
        (case,) = [each for each in truths.KINDS[kind](truth.base) if each.label == label]
        statements = truths.statements(tshark, truth, case, scratch)
        wrong = [truths.line("", kind, label, each) for each in statements if not each.is_true]
        assert statements and wrong == []
        frames = case.alter(truth.base.frames)
        rows = tshark.fields(scratch / "altered.pcapng", "_ws.col.Info", two_pass=True)
        for number, text in expected.items():
            infos = [
                row[0][0] for row, each in zip(rows, frames, strict=True) if each.number == number
            ]
            assert any(text in info for info in infos), (kind, label, number, infos)


def test_ports_of_other_protocols_and_late_start(tshark):
    """Ports that Wireshark gives to other protocols, after a first sign of the tap; a stream of
    binary data; the same ports are used again, and by UDP itself."""
    tap = tap_of()
    tap.cdc("client")
    of_dns = Tap(tap.capture, HOSTS, {"client": 40001, "server": 53})
    first = bytes(4) + noise(3000, 1)
    of_dns.send("client", first)
    query = bytes.fromhex("00010100000100000000000003777777076578616d706c650000010001")
    other = (
        Ether() / IP(src=HOSTS["client"], dst=HOSTS["server"]) / UDP(sport=40001, dport=53) / query
    )
    dns = tap.capture.add(bytes(other))
    of_dns.close()
    tap.capture.wait(0.2)  # what comes sooner may be late
    second = Tap(tap.capture, HOSTS, of_dns.ports)
    second.send("server", b"again")
    path = file_of(tap.capture, tshark.bed.scratch)
    assert followed(tshark, path, 1)["client"] == first
    assert followed(tshark, path, 2)["server"] == b"again"
    assert tshark.frames(path, "dns") == [dns]


def test_missing_packets_of_smcd_break_no_rule(tshark, scratch):
    """Messages of SMC-D have no number: one that the tap misses explains a cursor that advances by
    more than a round."""
    for gone in ((12,), range(11, 21)):

        def change(frames, gone=gone):
            return alterations.left_out(frames, gone)

        path = altered(tshark, scratch, "anck-tap", change)
        assert not parse(print_json(tshark, path, ALL_TWO))["breaches"], gone


def amsdu(*packets):
    """A frame of IEEE 802.11-2020, 9.3.2.2 (A-MSDU), with several IP packets."""
    parts = b""
    for packet in packets:
        content = bytes.fromhex("aaaa030000000800") + packet
        part = bytes(12) + struct.pack(">H", len(content)) + content
        parts += bytes(-len(parts) % 4) + part
    return bytes.fromhex("88010000") + bytes(20) + bytes.fromhex("8000") + parts


def test_second_packet_of_a_frame_is_not_taken_for_the_first(tshark):
    """Nothing is learned of the second packet of a frame, in any pass."""
    tap = tap_of()
    tap.cdc("client")
    tap.send("client", GET)
    packets = [frame[14:] for _, frame in tap.capture.frames]
    capture = Capture(IEEE_802_11)
    capture.add(amsdu(packets[0]))
    both = capture.add(amsdu(*packets[1:3]))
    path = file_of(capture, tshark.bed.scratch)
    names = ("smcr.anck.type", "smcr.anck.kind", "smcr.anck.header_len", "smcr.cdc")
    rows = [
        tshark.fields(path, *names, where=f"frame.number == {both}", two_pass=two_pass)
        for two_pass in (False, True)
    ]
    assert rows[0] == rows[1] == [[["1", "0"], ["2", "0"], ["16"], []]], rows
