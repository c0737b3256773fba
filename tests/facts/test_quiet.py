"""The plugin is seen on SMC-R only: whatever is not SMC-R looks the same with it and without it."""

import difflib

import pytest
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
    return Ether() / IP(src=CLIENT, dst=SERVER) / UDP(sport=50000, dport=4791) / Raw(bth + payload + bytes(4))


# Traffic that comes near SMC-R without being it.
NEAR = {
    "other experiments in the TCP option": [
        tcp("S", [(kind, value)]) for kind in (253, 254)
        for value in (b"", b"\xf9", b"\xf9\x89", b"\xf9\x89\xa1\xa2", b"\xe2\xd4", b"\xe2\xd4\xc3",
                      b"\xe2\xd4\xc3\xc4")],
    "eyecatcher further behind": [tcp("PA", payload=b"GET / HTTP/1.1\r\n\xe2\xd4\xc3\xd9\x01\0\x34\x10")],
    "beginning of an eyecatcher": [tcp("PA", payload=b"\xe2\xd4\xc3", port=5000),
                                   tcp("PA", payload=b"\x00" * 40, port=5000, seq=4)],
    "eyecatcher of nothing": [tcp("PA", payload=b"\xe2\xd4\xc3\xd9" + b"text" * 10, port=5000)],
    "random RoCE payload": [roce(opcode, bytes(range(length))) for opcode in (0, 4, 6, 7, 8, 10, 12, 17)
                            for length in (0, 4, 16, 43, 44, 45, 88)],
    "UDP to the RoCE port that is none": [Ether() / IP(src=CLIENT, dst=SERVER) / UDP(dport=4791) / Raw(b"x" * length)
                                          for length in (0, 1, 11, 12, 15, 16, 17)],
    "usual protocols": [Ether() / IP(src=CLIENT, dst=SERVER) / above for above in (
        ICMP(), UDP(sport=5353, dport=53) / DNS(qd=DNSQR(qname="example")))],
}


def assert_same(without, with_plugin):
    diff = list(difflib.unified_diff(without.splitlines(), with_plugin.splitlines(), "without", "with", lineterm=""))
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


@pytest.mark.parametrize("name", OTHERS)
def test_other_frames_of_smcr_captures(tshark, tshark_without, name):
    """Frames without anything of SMC-R; the built-in dissector's are left out as well."""
    anything = " || ".join(["smcr", *sorted({field[0] for field in tshark.registered_fields()})])
    ours = set(tshark.frames(name, f"{anything} || tcp.reassembled_in", two_pass=True))  # or a part of a message
    others = [number for number in tshark_without.frames(name, "!smc") if number not in ours][:200]
    if not others:
        return
    where = f"frame.number in {{{', '.join(map(str, others))}}}"
    assert_same(*(each.show(name, "-V", "-2", "-Y", where) for each in (tshark_without, tshark)))
