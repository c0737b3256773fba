"""
After a thousand RoCE packets that are of no interest the plugin no longer looks at each, until
there is a sign of SMC-R. What comes then has to look as if it had looked all along; it does that
where it has met a packet that the capture cut.
"""


import pytest
import samples
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from scapy.utils import wrpcap

FOREIGN = 1500
READ_RESPONSE_MIDDLE, ACKNOWLEDGE = 14, 17
LONG, AS_LLC = bytes(300), b"\x07\x2c" + bytes(42)


def foreign(opcode, payload):
    bth = bytes([opcode, 0x40, 0xFF, 0xFF, 0, 0, 0x12, 0x34, 0x80, 0, 0, 7])
    frame = (
        Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
        / IP(src="198.51.100.1", dst="198.51.100.2")
        / UDP(sport=50000, dport=4791)
        / Raw(bth + payload + bytes(4))
    )
    frame.time = 1_600_000_000
    return frame


def cut(frame):
    """The frame, of which the capture lacks the last bytes."""
    rest = Ether(bytes(frame)[:-4])
    rest.time, rest.wirelen = frame.time, len(frame)
    return rest


# Other people's RoCE traffic. Before LLC messages Wireshark's own dissector is asked first, if it
# took something.
TRAFFIC = {
    "long packets": [foreign(READ_RESPONSE_MIDDLE, LONG)] * FOREIGN,
    "one like LLC": [foreign(READ_RESPONSE_MIDDLE, AS_LLC)]
    + [foreign(READ_RESPONSE_MIDDLE, LONG)] * (FOREIGN - 1),
    "short packets": [foreign(ACKNOWLEDGE, bytes(4))] * FOREIGN,
}


def shown_after(tshark, scratch, frames, capture, *passes):
    """What is shown of a capture that comes after other frames."""
    number = len(list(scratch.iterdir()))
    before, both = scratch / f"before-{number}.pcap", scratch / f"both-{number}.pcapng"
    wrpcap(str(before), frames)
    tshark.bed.edit("-a", "-w", both, before, capture, program="mergecap")
    return tshark.show(both, *passes, "-V", "-Y", f"frame.number > {len(frames)}")


@pytest.mark.parametrize(
    "name, others, passes",
    samples.combinations(
        ["6.1-v1-c2-capture-starts-late", "6.1-v2-a-first-contact-ipv4", "clc-no-handshake"],
        [*((each, None) for each in TRAFFIC), ("short packets", 112)],
        [(), ("-2",)],
    ),
)
def test_smcr_after_other_roce(tshark, scratch, name, others, passes):
    traffic, snap = others
    capture = tshark.bed.capture(name)
    if snap:
        tshark.bed.edit("-s", snap, capture, capture := scratch / "cut.pcapng")
    frames = TRAFFIC[traffic]
    shown = shown_after(tshark, scratch, frames, capture, *passes)
    assert "\nSMC-R, " in shown
    assert shown == shown_after(
        tshark, scratch, [frames[0], cut(frames[1]), *frames[2:]], capture, *passes
    )
