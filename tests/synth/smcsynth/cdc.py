"""CDC message, RFC 7609 A.4: payload of an RC SEND."""

from .octets import u8, u16, u32, zero_filled

PRODUCER_FLAGS = {
    "blocked": 0x80,
    "urgent_pending": 0x40,
    "urgent_present": 0x20,
    "update_requested": 0x10,
    "failover": 0x08,
}
STATE_FLAGS = {"sending_done": 0x80, "closed": 0x40, "abort": 0x20}


def cdc(*, seq, token, prod=(0, 0), cons=(0, 0), flags=(), length=44, size=44):
    """
    One CDC message. `token` is the receiver's alert token, cursors are (wrap, count) pairs, `flags`
    are names from the two tables above; `length` lies about the length, `size` is what is sent.
    """
    byte24 = sum(PRODUCER_FLAGS.get(name, 0) for name in flags)
    byte25 = sum(STATE_FLAGS.get(name, 0) for name in flags)
    assert all(name in PRODUCER_FLAGS or name in STATE_FLAGS for name in flags)
    message = b"".join(
        [
            u8(0xFE),
            u8(length),
            u16(seq),
            u32(token),
            bytes(2),
            u16(prod[0]),
            u32(prod[1]),
            bytes(2),
            u16(cons[0]),
            u32(cons[1]),
            u8(byte24),
            u8(byte25),
        ]
    )
    return zero_filled(message, 44)[:size].ljust(size, b"\0")
