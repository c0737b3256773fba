"""Frames of MAC control (IEEE 802.3, clause 31): PAUSE and PFC."""

from .octets import mac, u16, zero_filled

TO = "01:80:c2:00:00:01"
MAC_CONTROL = 0x8808
PAUSE, PFC = 0x0001, 0x0101
SHORTEST = 60  # bytes of a frame, without the frame check sequence
CLASSES = range(8)


def mac_control(source_mac, opcode, parameters=b"", *, to=TO, tags=b"", size=SHORTEST):
    """A frame of MAC control; `tags`: VLAN tags before its type."""
    frame = mac(to) + mac(source_mac) + tags + u16(MAC_CONTROL) + u16(opcode) + parameters
    return zero_filled(frame, max(size, len(frame)))


def pause(source_mac, quanta, **options):
    """All classes stop for so many quanta; 0: they go on."""
    return mac_control(source_mac, PAUSE, u16(quanta), **options)


def pfc(source_mac, quanta, *, vector=None, **options):
    """Classes stop: `quanta` is {class: quanta}. `vector`: the classes that the frame names, if
    others than these."""
    if vector is None:
        vector = sum(1 << each for each in quanta)
    times = b"".join(u16(quanta.get(each, 0)) for each in CLASSES)
    return mac_control(source_mac, PFC, u16(vector) + times, **options)
