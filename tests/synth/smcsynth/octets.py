"""Small helpers that turn numbers, addresses and text into bytes. Network byte order throughout."""

import hashlib
import ipaddress


def u8(value):
    return value.to_bytes(1, "big")


def u16(value, order="big"):
    return value.to_bytes(2, order)


def u24(value):
    return value.to_bytes(3, "big")


def u32(value):
    return value.to_bytes(4, "big")


def u64(value):
    return value.to_bytes(8, "big")


def mac(text):
    """Six bytes of a MAC address written with colons."""
    return bytes.fromhex(text.replace(":", ""))


def gid(text):
    """Sixteen bytes of a GID: an IPv6 address, or an IPv4 address in its mapped form."""
    if ":" not in text:
        text = "::ffff:" + text
    return ipaddress.IPv6Address(text).packed


def ipv4(text):
    """Four bytes of an IPv4 address."""
    return ipaddress.IPv4Address(text).packed


def padded(text, size):
    """ASCII text filled up with blanks, as EIDs and host names are sent."""
    return text.encode("ascii").ljust(size, b" ")


def zero_filled(data, size):
    """The bytes, followed by zeros up to `size`."""
    assert len(data) <= size, f"{len(data)} bytes do not fit into {size}"
    return data.ljust(size, b"\0")


def peer_id(instance, mac_text):
    """Peer ID, RFC 7609 A.2.1: two bytes of instance number, then a RoCE MAC address."""
    return u16(instance) + mac(mac_text)


def patch(message, offset, replacement):
    """The message with some bytes replaced; for defects and odd values."""
    assert offset + len(replacement) <= len(message)
    return message[:offset] + replacement + message[offset + len(replacement) :]


def noise(size, seed):
    """Bytes that look random and are the same each time."""
    blocks = (hashlib.sha256(f"{seed}/{n}".encode()).digest() for n in range(-(-size // 32)))
    return b"".join(blocks)[:size]


def text_lines(size, title):
    """Numbered lines of text, `size` bytes in all; a reader sees at once where a piece belongs."""
    lines = "".join(f"{title} line {n:06d}\n" for n in range(size // (len(title) + 13) + 1))
    return lines[:size].encode("ascii")
