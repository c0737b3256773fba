"""
Export PDUs "SMC-R as TCP": connections as if they had stayed on TCP. Wireshark without the plugin
reads in that file what the programs sent.
"""

import ipaddress
import struct

import pcapng
from bed import ALL, APPLICATIONS, CAUSES, LATE, STORIES, Tshark, captures
from follow import REPORT, follow, raw, streams
from test_export import LOST
from test_follow import FELL_BACK, OVER_RDMA

# A lossy fabric, IPv6, a link that fails, half-close, an abort, a device that goes, urgent data,
# many connections
SOME = [
    "6.1-v1-n-lossy",
    "6.1-v1-b-first-contact-ipv6",
    "6.1-v2-h1-two-links-second-fails",
    "6.1-v1-g3-half-close",
    "6.1-v2-g1-server-killed",
    "7.2-v2-g5-device-removed",
    "6.1-v1-e-urgent",
    "6.1-v2-c-three-conns",
]
FIN, SYN, RST, ACK = 1, 2, 4, 16
RAW_IP = 101


def export(tshark, path, capture, *options):
    """The segments: [(source, destination, number, flags, acknowledged, data)]. Lengths and
    checksums are right."""
    path.unlink(missing_ok=True)
    assert tshark.show(capture, "-2", *options, "-U", "SMC-R as TCP", "-w", path) == ""
    head, frames = pcapng.read(path)
    assert not frames or pcapng.link_types(head) == [RAW_IP]
    return [segment(pcapng.data(frame)) for frame in frames]


def ones_sum(data):
    total = sum(struct.unpack(f">{(len(data) + 1) // 2}H", data + bytes(len(data) % 2)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def segment(packet):
    if packet[0] == 0x45:
        ends, tcp = packet[12:20], packet[20:]
        assert ones_sum(packet[:20]) == 0xFFFF and struct.unpack_from(">H", packet, 2)[0] == len(
            packet
        )
    else:
        ends, tcp = packet[8:40], packet[40:]
        assert packet[0] == 0x60 and struct.unpack_from(">H", packet, 4)[0] == len(tcp)
    assert ones_sum(ends + struct.pack(">HH", 6, len(tcp)) + tcp) == 0xFFFF
    hosts = [
        str(ipaddress.ip_address(ends[at : at + len(ends) // 2])) for at in (0, len(ends) // 2)
    ]
    ports = struct.unpack_from(">HH", tcp)
    number, acked = struct.unpack_from(">II", tcp, 4)
    data = tcp[(tcp[12] >> 4) * 4 :]
    return (hosts[0], ports[0]), (hosts[1], ports[1]), number, tcp[13], acked, data


def followed(bed, path, client, server):
    """Both directions, as a tshark without the plugin follows them; where bytes are missing it says
    so with a NUL."""
    ends = ",".join(
        f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in (client, server)
    )
    printed = Tshark(bed, "none").run("-r", path, "-q", "-z", f"follow,tcp,raw,{ends}")
    return [
        data.replace(b" missing in capture file]\0", b" missing in capture file]")
        for data in streams(raw(REPORT.search(printed)[3]))
    ]


def check(tshark, path, capture):
    """What Wireshark without the plugin follows is what Follow says. Returns the segments."""
    found = export(tshark, path, capture)
    numbers = {}
    fields = (
        "smcr.stream",
        "smcr.client.addr",
        "smcr.client.port",
        "smcr.server.addr",
        "smcr.server.port",
    )
    for stream, *ends in tshark.fields(
        capture, *fields, where="smcr.write.len && smcr.client.port", two_pass=True
    ):
        numbers[int(stream[0])] = [value[0] for value in ends]
    assert numbers
    for number, (client, client_port, server, server_port) in numbers.items():
        truth = streams(raw(follow(tshark, capture, number, two_pass=True)))
        ends = (client, int(client_port)), (server, int(server_port))
        assert followed(tshark.bed, path, *ends) == truth and any(truth), (capture, number)
        first = [flags for source, target, _, flags, *_ in found if {source, target} == set(ends)][
            :2
        ]
        assert first == [SYN, SYN | ACK] or not set(first) & {SYN, SYN | ACK}
    return found


def test_programs_said(tshark, scratch):
    """Wireshark without the plugin reads the bytes that Follow gives, also those of a connection
    that a host names."""
    for name in [*(OVER_RDMA if ALL else SOME), captures(LATE)["http.pcapng"]]:
        check(tshark, scratch / "segments.pcapng", name)
    assert export(tshark, scratch / "none.pcapng", FELL_BACK[0]) == []
    name, number, _ = LOST  # a display filter chooses the connection
    every = export(tshark, scratch / "all.pcapng", name)
    one = export(tshark, scratch / "one.pcapng", name, "-Y", f"smcr.stream == {number - 1}")
    assert 10 < len(one) < len(every) and one == [
        each for each in every if {*each[:2]} == {*one[0][:2]}
    ]
    check_retransmissions(tshark, scratch / "repeated.pcapng")


def check_retransmissions(tshark, path):
    """While a path is down, the writer retransmits. For Wireshark without the plugin, each
    retransmission of a WRITE is one of TCP."""
    capture = captures(STORIES)["s02b-fw-roce-60s.pcapng"]
    assert tshark.show(capture, "-2", "-U", "SMC-R as TCP", "-w", path) == ""
    repeated = Tshark(tshark.bed, "none").fields(
        path, "frame.number", where="tcp.analysis.retransmission"
    )
    writes = tshark.fields(
        capture, "frame.number", where="smcr.retransmission && smcr.write.len", two_pass=True
    )
    assert len(repeated) == len(writes) > 600


def test_ends_and_acknowledgements(tshark, scratch):
    """
    A stream ends at the first CDC message that says so, behind its last byte; by RST where that
    aborts. Where no CDC message says anything, TCP's own end counts. What the reader reports as
    read is acknowledged.
    """
    for name in (
        "6.1-v1-g3-half-close",
        "6.1-v2-g1-server-killed",
        "6.1-v2-j-http11",
        "7.2-v2-g5-device-removed",
    ):
        ended, read = {}, {}  # by sender
        fields = (
            "smcr.srcport",
            "smcr.cdc.sending_done",
            "smcr.cdc.closed",
            "smcr.cdc.abort",
            "smcr.cdc.announced",
            "smcr.cdc.consumed",
        )
        for port, *said, announced, consumed in tshark.fields(
            name, *fields, where="smcr.cdc and smcr.stream", two_pass=True
        ):
            done, closed, aborts = (value in (["1"], ["True"]) for value in said)
            if done or closed or aborts:
                ended.setdefault(int(port[0]), (RST if aborts else FIN, int(announced[0]) + 1))
            if consumed:
                read[int(port[0])] = int(consumed[0]) + 1
        if name.startswith("7.2"):  # the server's host resets what the device carried
            resets = tshark.fields(
                name, "tcp.srcport", where="tcp.flags.reset == 1 and smcr.stream"
            )
            ended = {int(port): (RST, None) for port, in (values[0] for values in resets)}
        assert ended
        found, seen = export(tshark, scratch / "ends.pcapng", name), {}
        for (_, port), _, number, flags, _, _ in found:
            if flags & (FIN | RST):
                seen.setdefault(port, (flags & (FIN | RST), number))
        assert seen.keys() == ended.keys(), name
        for port, (flag, end) in ended.items():
            last = max(
                number + len(data)
                for (_, own), _, number, flags, _, data in found
                if own == port and not flags & SYN
            )
            assert seen[port] == (flag, last if end is None else end) and last in (
                seen[port][1],
                seen[port][1] + 1,
            ), name
        peers = {port: peer for (_, port), (_, peer), *_ in found}
        acknowledged = {port: acked for (_, port), _, _, flags, acked, _ in found if flags & ACK}
        for port, end in read.items():  # a FIN has a number, too
            assert acknowledged[port] - end in (
                (0, 1) if ended.get(peers[port]) == (FIN, end) else (0,)
            ), (name, port)


def windows(tshark, path):
    """{port: the windows of its segments without SYN}, and the number of segments that fill the
    peer's window, as a tshark without the plugin reads them."""
    found, full = {}, 0
    for port, syn, window, fills in Tshark(tshark.bed, "none").fields(
        path, "tcp.srcport", "tcp.flags.syn", "tcp.window_size", "tcp.analysis.window_full"
    ):
        full += bool(fills)
        if syn not in (["1"], ["True"]):
            found.setdefault(int(port[0]), set()).add(int(window[0]))
    return found, full


def test_windows(tshark, scratch):
    """The window is the RMB element of the sender, whose size CLC tells: the reader acknowledges
    what it has read. So a writer that fills the element fills the window. 64 KiB need the window
    scale of the SYN; without a SYN in the capture the window is the largest one."""
    path, late = scratch / "windows.pcapng", scratch / "late.pcapng"
    for name, size in (
        ("6.1-v1-d-bulk-slow-reader", 16384),
        ("6.1-v2-d-bulk-slow-reader", 16384),
        ("6.1-v1-d3-bulk-64k", 65536),
    ):
        capture = captures(CAUSES)[f"{name}.pcapng"] if size > 16384 else name
        sizes = {
            int(port[0]): {int(size[0])}
            for port, size in tshark.fields(
                capture, "tcp.srcport", "smcr.rmb.size", where="smcr.rmb.size && tcp"
            )
        }
        assert len(sizes) == 2 and {size} in sizes.values(), name
        export(tshark, path, capture)
        found, full = windows(tshark, path)
        assert found == sizes, name
        announced = tshark.fields(capture, "frame.number", where="smcr.window.full", two_pass=True)
        assert full == len(announced) > 0, name
        tshark.bed.edit("-r", tshark.bed.capture(capture), late, "3-100000")  # without the SYNs
        export(tshark, path, late)
        found, _ = windows(tshark, path)
        assert found == {port: {min(*size, 65535)} for port, size in sizes.items()}, name


def test_windows_of_packets_without_captured_data(tshark, scratch):
    """The snap length has left no byte of the data: the segments have their lengths, so they fill
    the window where the data filled the buffer."""
    path = scratch / "truncated.pcapng"
    for name in ("s05-delay20.pcapng", "s20-busy.pcapng"):
        capture = captures(STORIES)[name]
        assert tshark.show(capture, "-2", "-U", "SMC-R as TCP", "-w", path) == ""
        full = windows(tshark, path)[1]
        announced = tshark.fields(capture, "frame.number", where="smcr.window.full", two_pass=True)
        assert full == len(announced) > 0, name


def test_tls_is_decrypted(tshark, scratch):
    """With the key log, a tshark without the plugin decrypts what came over RoCE."""
    capture, keys, path = (
        captures(APPLICATIONS)["tls12-smcr"],
        scratch / "keys",
        scratch / "tls.pcapng",
    )
    secrets = [
        block for kind, block in pcapng.blocks(capture.read_bytes()) if kind == pcapng.SECRETS
    ]
    keys.write_bytes(
        b"".join(block[16 : 16 + struct.unpack_from("<I", block, 12)[0]] for block in secrets)
    )
    keys.chmod(0o644)
    export(tshark, path, capture)
    texts = [
        each.show(
            file,
            "-2",
            "-o",
            f"tls.keylog_file:{keys}",
            "-Y",
            "http",
            "-T",
            "fields",
            "-e",
            "http.request.uri",
            "-e",
            "http.response.code",
            "-e",
            "http.file_data",
        )
        for each, file in ((tshark, capture), (Tshark(tshark.bed, "none"), path))
    ]
    assert texts[0] == texts[1] and "/index.html" in texts[0]
