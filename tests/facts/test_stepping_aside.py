"""
After a thousand RoCE packets that are of no interest the plugin no longer looks at each, until there is a sign of SMC-R.
What comes then has to look as if it had looked all along; it does so where it has met a packet that the capture cut.
"""

import subprocess

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from scapy.utils import wrpcap

FOREIGN = 1500
READ_RESPONSE_MIDDLE = 14


def foreign(cut):
    """Packets of other people's RoCE traffic; of the last one the capture lacks `cut` bytes."""
    bth = bytes([READ_RESPONSE_MIDDLE, 0x40, 0xFF, 0xFF, 0, 0, 0x12, 0x34, 0x80, 0, 0, 7])
    frame = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / IP(src="198.51.100.1", dst="198.51.100.2") / UDP(
        sport=50000, dport=4791) / Raw(bth + bytes(64 + 4))
    last = Ether(bytes(frame)[:len(frame) - cut])
    last.wirelen = len(frame)
    frame.time = last.time = 1_600_000_000
    return [frame] * (FOREIGN - 1) + [last]


def shown_after_foreign(tshark, scratch, name, cut, *passes):
    """What is shown of a capture that comes after foreign traffic."""
    before, both = scratch / f"foreign-{cut}.pcap", scratch / f"both-{cut}.pcapng"
    wrpcap(str(before), foreign(cut))
    subprocess.run(["mergecap", "-a", "-w", both, before, tshark.bed.capture(name)], check=True)
    both.chmod(0o644)
    return tshark.show(both, *passes, "-V", "-Y", f"frame.number > {FOREIGN}")


@pytest.mark.parametrize("passes", [(), ("-2",)], ids=["one pass", "two passes"])
@pytest.mark.parametrize("name", ["6.1-v2-a-first-contact-ipv4", "6.1-v1-c2-capture-starts-late", "clc-no-handshake",
                                  "6.1-v1-b-first-contact-ipv6"])
def test_smcr_after_other_roce(tshark, scratch, name, passes):
    shown = shown_after_foreign(tshark, scratch, name, 0, *passes)
    assert "Shared Memory Communications" in shown
    assert shown == shown_after_foreign(tshark, scratch, name, 4, *passes)
