"""
RoCE packets whose UDP source port belongs to another protocol look as with any other source port:
those of queue pairs that SMC-R has named always, those of others with the preference `roce`.
Everything else stays what it is.
"""

import functools
import gzip
import io
import re

import pytest
import samples
import sharkd
from bed import TOP
from scapy.layers.dns import DNS, DNSRR
from scapy.layers.inet import ICMP, IP, UDP, IPerror, UDPerror
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import GRE, Dot1Q, Ether
from scapy.packet import Raw
from scapy.utils import PcapNgReader, wrpcap

ROCE = 4791
GREEDY = [
    69,
    53,
    123,
    2152,
    4500,
    4789,
]  # source ports whose dissectors take RoCE packets for their own
OTHERS = [72, 161, 1812]  # of nobody, or of dissectors that take no RoCE packet
MIXED = "mixed"  # the source port depends on who sends
PORTS = [*GREEDY, MIXED, *OTHERS]
SMCR = [
    "6.1-v2-c-three-conns",
    "6.1-v1-b-first-contact-ipv6",
    "6.1-v2-v-vlan",
    "6.1-v2-h6-late-second-link-asymmetric",
    "6.1-v1-h4-two-links-rkeys",
]
FOREIGN = ["cm-rping", "cm-rping-ipv6", "uc-ud", "cnp-np-cm", "nvme-rdma"]
ON = ("-o", "smcr.roce:TRUE")
BOTH = [(), ("-2",)]
PASSES = pytest.mark.parametrize("passes", BOTH, ids=["one pass", "two passes"])


@functools.cache
def frames_of(path):
    """Frames that all tests share: who changes one, changes a copy."""
    data = path.read_bytes()
    return list(PcapNgReader(io.BytesIO(gzip.decompress(data) if path.suffix == ".gz" else data)))


def smcr(name):
    return frames_of(TOP / "captures" / "real" / f"{name}.pcapng")


def foreign(name):
    return frames_of(TOP / "captures" / "fabric" / f"{name}.pcapng.gz")


def is_roce(frame):
    return UDP in frame and frame[UDP].dport == ROCE


def sender(frame):
    return frame[IP].src if IP in frame else frame[IPv6].src


def write(scratch, name, frames):
    path = scratch / f"{name}.pcap"
    wrpcap(str(path), frames)
    return path


def with_port(frames, port):
    """The frames, the RoCE packets among them with another source port. MIXED: those of one sender
    only."""
    copies = [frame.copy() for frame in frames]
    roce = [copy for copy in copies if is_roce(copy)]
    for copy in roce:
        if port != MIXED:
            copy[UDP].sport = port
        elif sender(copy) == sender(roce[0]):
            copy[UDP].sport = 69
    return copies


def details(tshark, capture, *arguments):
    """What is shown of InfiniBand and SMC-R, with the summary lines; not what depends on UDP's
    source port."""
    shown = tshark.show(capture, "-P", "-V", "-O", "infiniband,smcr", *arguments)
    return [
        line
        for line in shown.splitlines()
        if not line.startswith(("User Datagram Protocol", "Frame "))
    ]


def reached(lines):
    """How many frames InfiniBand's dissector got, of what is shown of them."""
    return sum(line.startswith("InfiniBand") for line in lines)


def once(tshark, capture, show, *arguments):
    """The lines that show() gives of a capture before its ports change, made once for all tests
    that name it so."""
    key = (capture.name, show.__name__, arguments)
    return (
        tshark.bed.keep(key, lambda: "\n".join(show(tshark, capture, *arguments)).encode())
        .decode()
        .split("\n")
    )


def streams(tshark, capture, *arguments):
    fields = ("-T", "fields", "-e", "udp.stream", "-e", "udp.length", "-e", "frame.protocols")
    return tshark.show(capture, *arguments, *fields).splitlines()


def reach_infiniband(tshark, capture, *arguments):
    return int(
        tshark.show(
            capture,
            *arguments,
            "-Y",
            "infiniband.bth && !icmp",
            "-T",
            "fields",
            "-e",
            "frame.number",
        ).count("\n")
    )


@pytest.mark.parametrize("port, passes", samples.combinations(PORTS, BOTH))
def test_queue_pairs_of_smcr(tshark, tshark_without, scratch, port, passes):
    name = SMCR[PORTS.index(port) % len(SMCR)]
    frames = smcr(name)
    before, after = write(scratch, name, frames), write(scratch, "after", with_port(frames, port))
    count = sum(map(is_roce, frames))
    assert (reach_infiniband(tshark_without, after) < count) == (port not in OTHERS)
    shown = details(tshark, after, *passes)
    assert reached(shown) == count
    assert shown == once(tshark, before, details, *passes)
    assert streams(tshark, after, *passes) == once(tshark, before, streams, *passes)


@pytest.mark.parametrize("name, passes", samples.combinations(SMCR, BOTH))
def test_every_capture_of_smcr(tshark, scratch, name, passes):
    frames = smcr(name)
    before, after = write(scratch, name, frames), write(scratch, "after", with_port(frames, 69))
    assert details(tshark, after, *passes) == once(tshark, before, details, *passes)


@PASSES
def test_before_clc(tshark, tshark_without, scratch, passes):
    """Who owns a queue pair is not known before CLC says so: packets before stay what they are."""
    frames = with_port(smcr("6.1-v2-c-three-conns"), 69)
    early = [frame for frame in frames if is_roce(frame)][:20]
    capture = write(scratch, "early", early + frames)
    of_early = ("-V", "-Y", f"frame.number <= {len(early)}")
    assert tshark.show(capture, *passes, *of_early) == tshark_without.show(
        capture, *passes, *of_early
    )
    assert reach_infiniband(tshark, capture, *passes) == sum(map(is_roce, frames))


@pytest.mark.parametrize(
    "name, port, passes", samples.combinations(FOREIGN, [69, 53, 4789, MIXED], BOTH)
)
def test_others(tshark, tshark_without, scratch, name, port, passes):
    frames = foreign(name)
    before, after = write(scratch, name, frames), write(scratch, "after", with_port(frames, port))
    off, on = tshark.show(after, *passes, "-V"), details(tshark, after, *ON, *passes)
    assert off == tshark_without.show(after, *passes, "-V")
    assert reached(off.splitlines()) < sum(map(is_roce, frames)) == reached(on)
    assert on == once(tshark, before, details, *ON, *passes)


@PASSES
@pytest.mark.parametrize("byte, bits", [(4, 0x10), (8, 0x7F)])
def test_reserved_bits(tshark, scratch, byte, bits, passes):
    """Receivers ignore the reserved bits of the BTH, and there are senders that set them."""
    frames = with_port(foreign("cm-rping"), 69)
    for frame in filter(is_roce, frames):
        payload = bytearray(bytes(frame[UDP].payload))
        payload[byte] |= bits
        frame[UDP].payload = Raw(bytes(payload))
    after = write(scratch, "after", frames)
    assert reach_infiniband(tshark, after, *ON, *passes) == sum(map(is_roce, frames))


@PASSES
def test_vlan(tshark, scratch, passes):
    tagged = []
    for frame in foreign("cm-rping"):
        link = frame[Ether]
        tagged.append(
            Ether(src=link.src, dst=link.dst) / Dot1Q(vlan=7, type=link.type) / link.payload
        )
    after = write(scratch, "after", with_port(tagged, 69))
    assert reach_infiniband(tshark, after, *ON, *passes) == sum(map(is_roce, tagged))


@PASSES
def test_tunnel(tshark, scratch, passes):
    frames = smcr("6.1-v2-c-three-conns")

    def tunnel(each):
        inner = [frame for frame in each if IP in frame]
        outer = [
            Ether() / IP(src="192.0.2.1", dst="192.0.2.2") / GRE() / frame[IP] for frame in inner
        ]
        for wrapped, frame in zip(outer, inner):
            wrapped.time = frame.time
        return outer

    before, after = (
        write(scratch, name, tunnel(each))
        for name, each in (("before", frames), ("after", with_port(frames, 69)))
    )
    assert reach_infiniband(tshark, after, *passes) == sum(map(is_roce, frames))
    assert details(tshark, after, *passes) == details(tshark, before, *passes)


def datagram(source, sport, destination, dport, payload):
    return Ether() / IP(src=source, dst=destination) / UDP(sport=sport, dport=dport) / Raw(payload)


def transfer(client, server, port):
    """A file over TFTP; the server answers from port 69 instead of a new one."""
    blocks = [bytes([n]) * 512 for n in range(1, 4)] + [bytes(28)]
    frames = [datagram(client, port, server, 69, b"\0\1file\0octet\0")]
    for number, block in enumerate(blocks, 1):
        frames.append(
            datagram(server, 69, client, port, b"\0\3" + number.to_bytes(2, "big") + block)
        )
        frames.append(datagram(client, port, server, 69, b"\0\4" + number.to_bytes(2, "big")))
    return frames


def answers(client, server):
    """Answers of a name server to a client that asks from RoCE's port."""
    record = DNSRR(rrname="host.example.", rdata="192.0.2.9")
    return [
        datagram(
            server,
            53,
            client,
            ROCE,
            bytes(DNS(id=number << 4, qr=1, rd=1, ra=1, qd=None, an=record)),
        )
        for number in range(256)
    ]


@PASSES
@pytest.mark.parametrize("switch", [(), ON], ids=["off", "on"])
def test_real_traffic_of_those_ports(tshark, tshark_without, scratch, switch, passes):
    """Real TFTP and DNS between the hosts, before, among and after RoCE packets, even in the same
    conversation."""
    frames = with_port(smcr("6.1-v2-c-three-conns"), 69)
    other = [
        *transfer("10.0.0.1", "10.0.0.2", 40000),
        *transfer("10.0.0.1", "10.0.0.2", ROCE),
        *answers("10.0.0.1", "10.0.0.2"),
    ]
    mixed, numbers = [], []
    for at in (0, 100, len(frames)):
        mixed += frames[len(mixed) - len(numbers) : at]
        numbers += range(len(mixed) + 1, len(mixed) + 1 + len(other))
        mixed += other
    capture = write(scratch, "mixed", mixed)
    fields = (
        "-T",
        "fields",
        "-e",
        "frame.number",
        "-e",
        "frame.protocols",
        "-e",
        "tftp.opcode",
        "-e",
        "tftp.block",
        "-e",
        "dns.id",
    )
    shown = tshark.show(capture, *switch, *passes, *fields).splitlines()
    without = tshark_without.show(capture, *passes, *fields).splitlines()
    assert [shown[n - 1] for n in numbers] == [without[n - 1] for n in numbers]
    assert all(re.search(r":(tftp|dns|data)", shown[n - 1]) for n in numbers)
    assert sum(":infiniband" in row for row in shown) == sum(map(is_roce, frames))


@PASSES
@pytest.mark.parametrize("choice", ["udp.port==69,echo", "udp.port==4791,echo"])
def test_decode_as_goes_first(tshark, tshark_without, scratch, choice, passes):
    frames = [
        frame
        for frame in with_port(smcr("6.1-v2-c-three-conns"), 69)
        if UDP in frame or IP in frame
    ]
    capture = write(scratch, "chosen", frames)
    arguments = ("-d", choice, *ON, *passes, "-Y", "udp", "-V")
    without = tuple(each for each in arguments if each not in ON)
    assert "Echo" in tshark.show(capture, *arguments)
    assert tshark.show(capture, *arguments) == tshark_without.show(capture, *without)


@PASSES
def test_port_of_preference(tshark, scratch, passes):
    """RoCE's port is what InfiniBand's preference says."""
    frames = with_port(smcr("6.1-v2-c-three-conns"), 69)
    for frame in frames:
        if is_roce(frame):
            frame[UDP].dport = 4800
    capture = write(scratch, "moved", frames)
    count = sum(UDP in frame and frame[UDP].dport == 4800 for frame in frames)
    assert reach_infiniband(tshark, capture, *passes) == 0
    assert reach_infiniband(tshark, capture, "-o", "infiniband.rroce.port:4800", *passes) == count


@PASSES
def test_quoted_packets(tshark, tshark_without, scratch, passes):
    """What ICMP quotes is no packet on the wire."""
    frames = with_port(smcr("6.1-v2-c-three-conns"), 69)
    quotes = []
    for frame in [frame for frame in frames if is_roce(frame)][:10]:
        inner = frame[IP]
        quoted = (
            IPerror(bytes(inner)[:20])
            / UDPerror(bytes(inner[UDP])[:8])
            / Raw(bytes(inner[UDP].payload))
        )
        quotes.append(Ether() / IP(src=inner.dst, dst=inner.src) / ICMP(type=3, code=3) / quoted)
    capture = write(scratch, "quoted", frames + quotes)
    of_quotes = ("-V", "-Y", "icmp")
    shown = tshark.show(capture, *ON, *passes, *of_quotes)
    assert "Trivial File Transfer" in shown and shown == tshark_without.show(
        capture, *passes, *of_quotes
    )


@PASSES
def test_disabled(tshark, tshark_without, scratch, passes):
    """Who disables SMC-R sees what is seen without the plugin."""
    capture = write(scratch, "disabled", with_port(smcr("6.1-v2-c-three-conns"), 69))
    off = ("--disable-protocol", "smcr")
    assert tshark.show(capture, *off, *ON, *passes, "-V") == tshark_without.show(
        capture, *passes, "-V"
    )


def test_file_after_file(tshark, scratch):
    """What the preference or SMC-R in one file has changed is gone with the next file."""
    other = write(scratch, "other", with_port(foreign("cm-rping"), 69))
    ours = write(scratch, "ours", with_port(smcr("6.1-v2-c-three-conns"), 69))
    counts = []
    for capture, value in (
        (other, "FALSE"),
        (ours, "FALSE"),
        (other, "FALSE"),
        (other, "TRUE"),
        (other, "FALSE"),
        (ours, "TRUE"),
        (ours, "FALSE"),
    ):
        requests = [
            ("setconf", {"name": "smcr.roce", "value": value}),
            sharkd.load(capture),
            sharkd.columns(["infiniband.bth.opcode"]),
        ]
        counts.append(requests)
    answers = sharkd.ask(tshark, sum(counts, []))[2::3]
    reached = [
        sum(bool(opcode) for opcode, in sharkd.values(answer).values()) for answer in answers
    ]
    every, smcr_packets = (
        sum(map(is_roce, each)) for each in (foreign("cm-rping"), smcr("6.1-v2-c-three-conns"))
    )
    assert reached == [
        reached[0],
        smcr_packets,
        reached[0],
        every,
        reached[0],
        smcr_packets,
        smcr_packets,
    ]
    assert reached[0] < every
