"""The plugin is seen on SMC-R only: whatever is not SMC-R looks the same with it and without it."""

import difflib
import random
import re
import ssl

import pytest
import sharkd
from bed import captures
from scapy.layers.dns import DNS, DNSQR
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from scapy.utils import wrpcap

QUIET = [name for name in captures("synthetic") if name.startswith("quiet-")]
OTHERS = [name for name in captures() if name not in QUIET]

CLIENT, SERVER = "192.0.2.1", "192.0.2.2"


def tcp(flags, options=(), payload=b"", port=80, seq=1, ack=1):
    segment = TCP(sport=40000, dport=port, flags=flags, seq=seq, ack=ack, options=list(options))
    return Ether() / IP(src=CLIENT, dst=SERVER) / segment / Raw(payload)


def roce(opcode, payload):
    """A RoCE packet to a queue pair that nobody has heard of."""
    bth = bytes([opcode, 0x40, 0xFF, 0xFF, 0, 0, 0x12, 0x34, 0x80, 0, 0, 7])
    return (
        Ether()
        / IP(src=CLIENT, dst=SERVER)
        / UDP(sport=50000, dport=4791)
        / Raw(bth + payload + bytes(4))
    )


def talk(port, *turns):
    """A TCP connection with handshake; the client speaks first, and a turn may take several
    segments."""
    numbers, frames = [1, 1], [tcp("S", [("MSS", 1460)], port=port, seq=0, ack=0)]
    for turn, data in enumerate(turns):
        side = turn % 2
        for start in range(0, len(data), 1448):
            part = data[start : start + 1448]
            frame = tcp("PA", payload=part, port=port, seq=numbers[side], ack=numbers[1 - side])
            if side:
                frame[IP].src, frame[IP].dst = SERVER, CLIENT
                frame[TCP].sport, frame[TCP].dport = port, 40000
            numbers[side] += len(part)
            frames.append(frame)
    return frames


def client_hello():
    """What a TLS client sends first."""
    sent = ssl.MemoryBIO()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client = context.wrap_bio(ssl.MemoryBIO(), sent, server_hostname="server.example")
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return sent.read()


def key_exchange(dice):
    """SSH: the binary packet with the lists of algorithms."""
    lists = b"".join(
        len(each).to_bytes(4, "big") + each
        for each in (
            b"curve25519-sha256,ecdh-sha2-nistp256",
            b"ssh-ed25519,rsa-sha2-512",
            *4 * [b"aes256-gcm@openssh.com"],
            *2 * [b"none"],
            b"",
            b"",
        )
    )
    body = b"\x14" + dice.randbytes(16) + lists + bytes(5)
    return (len(body) + 5).to_bytes(4, "big") + b"\x04" + body + bytes(4)


def resembling(dice):
    """A SEND of 44 bytes that begins as LLC or CDC does and goes on with noise, or with text."""
    llc = dice.randrange(1, 10)
    kind = dice.choice((b"\xfe\x2c", bytes([llc, 44, 0]), bytes([0x20 | llc, 0, 44])))
    rest = dice.choice((dice.randbytes, lambda n: "Hello. SMCR is ".encode("cp500") * 3))(44)
    return (kind + rest)[:44]


DICE = random.Random(7609)
TEXT = "Hello. SMCR speaks EBCDIC here.".encode("cp500")

# Traffic that comes near SMC-R without being it.
NEAR = {
    "HTTP": talk(
        80,
        b"GET / HTTP/1.1\r\nHost: server.example\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n" + DICE.randbytes(9000),
    ),
    "TLS": talk(443, client_hello(), b"\x15\x03\x03\0\x02\x02\x28"),
    "TLS records": talk(
        443,
        *(b"\x17\x03\x03" + n.to_bytes(2, "big") + DICE.randbytes(n) for n in (44, 68, 52, 1400)),
    ),
    "SSH": talk(
        22, b"SSH-2.0-client\r\n", b"SSH-2.0-server\r\n", key_exchange(DICE), key_exchange(DICE)
    ),
    "iperf": talk(
        5201, DICE.randbytes(37), b"\x09", (bytes(range(48, 58)) * 15000)[:131072], b"\x0c"
    ),
    "EBCDIC on TCP": talk(50001, TEXT * 9, TEXT[7:11] + TEXT, TEXT[7:10], TEXT),
    "bulk RDMA": [
        roce(opcode, (DICE.randbytes(16) if opcode in (6, 10) else b"") + DICE.randbytes(1024))
        for _ in range(20)
        for opcode in (6, 7, 7, 8, 10, 10)
    ],
    "NVMe over RDMA": [roce(4, DICE.randbytes(length)) for _ in range(20) for length in (64, 16)],
    "RPC over RDMA": [
        roce(
            4, DICE.randbytes(4) + bytes([0, 0, 0, 1, 0, 0, 0, 32]) + bytes(16) + DICE.randbytes(n)
        )
        for n in (16, 24, 40, 100)
    ],
    "SENDs of 44 bytes of noise": [roce(4, DICE.randbytes(44)) for _ in range(300)],
    "SENDs that look like LLC or CDC": [roce(4, resembling(DICE)) for _ in range(600)],
    "EBCDIC on RDMA": [
        roce(opcode, (TEXT * 4)[:length]) for opcode in (4, 6, 10) for length in (44, 68, 100)
    ],
    "other experiments in the TCP option": [
        tcp("S", [(kind, value)])
        for kind in (253, 254)
        for value in (
            b"",
            b"\xf9",
            b"\xf9\x89",
            b"\xf9\x89\xa1\xa2",
            b"\xe2\xd4",
            b"\xe2\xd4\xc3",
            b"\xe2\xd4\xc3\xc4",
        )
    ],
    "eyecatcher further behind": [
        tcp("PA", payload=b"GET / HTTP/1.1\r\n\xe2\xd4\xc3\xd9\x01\0\x34\x10")
    ],
    "beginning of an eyecatcher": [
        tcp("PA", payload=b"\xe2\xd4\xc3", port=5000),
        tcp("PA", payload=b"\x00" * 40, port=5000, seq=4),
    ],
    "eyecatcher of nothing": [tcp("PA", payload=b"\xe2\xd4\xc3\xd9" + b"text" * 10, port=5000)],
    "random RoCE payload": [
        roce(opcode, bytes(range(length)))
        for opcode in (0, 4, 6, 7, 8, 10, 12, 17)
        for length in (0, 4, 16, 43, 44, 45, 88)
    ],
    "UDP to the RoCE port that is none": [
        Ether() / IP(src=CLIENT, dst=SERVER) / UDP(dport=4791) / Raw(b"x" * length)
        for length in (0, 1, 11, 12, 15, 16, 17)
    ],
    "usual protocols": [
        Ether() / IP(src=CLIENT, dst=SERVER) / above
        for above in (ICMP(), UDP(sport=5353, dport=53) / DNS(qd=DNSQR(qname="example")))
    ],
}


def assert_same(without, with_plugin):
    diff = list(
        difflib.unified_diff(
            without.splitlines(), with_plugin.splitlines(), "without", "with", lineterm=""
        )
    )
    if diff:
        pytest.fail("\n".join(diff[:60]), pytrace=False)


@pytest.mark.parametrize("passes", [(), ("-2",)], ids=["one pass", "two passes"])
@pytest.mark.parametrize("name", QUIET)
def test_quiet_capture(tshark, tshark_without, name, passes):
    assert_same(*(each.show(name, "-V", *passes) for each in (tshark_without, tshark)))


@pytest.mark.parametrize("name", NEAR)
def test_near_traffic(tshark, tshark_without, scratch, name):
    path = scratch / "near.pcap"
    for i, packet in enumerate(NEAR[name]):
        packet.time = 1_700_000_000 + i
    wrpcap(str(path), NEAR[name])
    assert tshark.frames(path, "smcr") == []
    assert_same(*(each.show(path, "-V") for each in (tshark_without, tshark)))


@pytest.mark.parametrize("name", captures())
def test_built_in_dissector_stays_out(tshark, tshark_without, name):
    """No frame is the built-in dissector's: what is SMC-R is ours."""
    every = list(captures())
    assert sharkd.frames_where(tshark, name, every, "smc") == []
    assert sharkd.frames_where(tshark_without, "6.1-v1-a-first-contact-ipv4", every, "smc") != []


def frames_of(text):
    """{frame: its lines} of what -V prints."""
    return {
        int(re.match(r"Frame (\d+):", each)[1]): each
        for each in re.split(r"^(?=Frame \d+: )", text, flags=re.MULTILINE)
        if each
    }


@pytest.mark.parametrize("name", OTHERS)
def test_other_frames_of_smcr_captures(tshark, tshark_without, name):
    """The first frames without anything of SMC-R; the built-in dissector's are left out as well."""
    anything = " || ".join(["smcr", *sorted({field[0] for field in tshark.registered_fields()})])
    others = f"!({anything} || tcp.reassembled_in)"  # or a part of a message
    numbers = tshark.frames(name, others, two_pass=True)[:200]
    if not numbers:
        return
    where = f"frame.number in {{{', '.join(map(str, numbers))}}}"
    without, with_plugin = (
        frames_of(each.show(name, "-V", "-2", "-Y", where)) for each in (tshark_without, tshark)
    )
    assert list(with_plugin) == list(without) == numbers
    theirs = [
        number
        for number, text in without.items()
        if re.search(r"\[Protocols in frame: .*:smc\b", text)
    ]
    for number in theirs:
        del without[number], with_plugin[number]
    assert_same(*("".join(each.values()) for each in (without, with_plugin)))
