"""
LLC messages, RFC 7609 A.3: payloads of RC SENDs.

Version 1 messages have types 0x01 to 0x09 and 44 bytes. Version 2 messages (types 0x21 to 0x29,
Linux net/smc/smc_llc.c) have a 16-bit length in the byte order of the sender's processor: `order`
says which.
"""

from .octets import gid, mac, u8, u16, u24, u32, u64, zero_filled

REPLY = 0x80
LENGTH = 44


def llc_message(message_type, body, *, flags=0, byte2=0, order="little", length=None, size=LENGTH):
    """Type, length and flags, then the body, filled with zeros up to `size`; `length` lies about
    the length."""
    total = max(size, 4 + len(body))
    length = total if length is None else length
    if 0x20 <= message_type < 0x30:
        header = u8(message_type) + u16(length, order) + u8(flags)
    else:
        header = u8(message_type) + u8(length) + u8(byte2) + u8(flags)
    return zero_filled(header + body, total)


def _type(number, version):
    return number | (0x20 if version == 2 else 0)


def _reply(reply):
    return REPLY if reply else 0


def llc_confirm_link(
    *,
    roce_mac,
    roce_gid,
    qpn,
    link,
    user_id,
    max_links=2,
    max_conns=0,
    no_eyecatcher=True,
    reply=False,
    version=1,
    **header
):
    """CONFIRM LINK, A.3.1. `no_eyecatcher` is Linux' flag 0x03: cursors begin at 0."""
    body = b"".join(
        [
            mac(roce_mac),
            gid(roce_gid),
            u24(qpn),
            u8(link),
            u32(user_id),
            u8(max_links),
            u8(max_conns),
        ]
    )
    flags = _reply(reply) | (0x03 if no_eyecatcher else 0)
    return llc_message(_type(1, version), body, **{"flags": flags, **header})


def llc_add_link(
    *,
    roce_mac,
    roce_gid,
    qpn,
    link,
    mtu_code,
    psn,
    layout="linux",
    reply=False,
    reject=False,
    reason=0,
    version=1,
    extension=None,
    **header
):
    """ADD LINK, A.3.2. Layout "figure32" has the GID at offset 10, "linux" at 12 after two reserved
    bytes."""
    gap = {"linux": bytes(2), "figure32": b""}[layout]
    body = b"".join([mac(roce_mac), gap, gid(roce_gid), u24(qpn), u8(link), u8(mtu_code), u24(psn)])
    if extension is not None:
        body = zero_filled(body, LENGTH - 4) + extension
    flags = _reply(reply) | (0x40 if reject else 0)
    return llc_message(_type(2, version), body, **{"flags": flags, "byte2": reason, **header})


def add_link_v2_extension(*, target_gid, rkeys, direct=True, order="little", count=None):
    """Tail of a v2 ADD LINK (smc_llc_msg_add_link_v2_ext): (reference RKey, new RKey, new address)
    triples."""
    count = len(rkeys) if count is None else count
    return b"".join(
        [
            u8(0x80 if direct else 0),
            bytes(1),
            gid(target_gid),
            bytes(8),
            u16(count, order),
            *(u32(reference) + u32(new) + u64(va) for reference, new, va in rkeys),
        ]
    )


def llc_add_link_continuation(*, link, left, pairs, reply=False, **header):
    """ADD LINK CONTINUATION, A.3.3. `left` counts the pairs of this message too; at most two
    pairs."""
    body = (
        u8(link)
        + u8(left)
        + bytes(2)
        + b"".join(u32(old) + u32(new) + u64(va) for old, new, va in pairs)
    )
    return llc_message(3, body, **{"flags": _reply(reply), **header})


def llc_delete_link(
    *, link, reason, all_links=False, orderly=True, reply=False, version=1, **header
):
    """DELETE LINK, A.3.4."""
    flags = _reply(reply) | (0x40 if all_links else 0) | (0x20 if orderly else 0)
    return llc_message(_type(4, version), u8(link) + u32(reason), **{"flags": flags, **header})


def llc_request_add_link(*, gids, reply=False, version=2, **header):
    """REQUEST ADD LINK (smc_llc_msg_req_add_link_v2): the GIDs a client could use for another
    link."""
    body = bytes(20) + u8(len(gids)) + bytes(3) + b"".join(gid(g) for g in gids)
    return llc_message(_type(5, version), body, **{"flags": _reply(reply), **header})


def _other_links(others):
    return b"".join(u8(link) + u32(rkey) + u64(va) for link, rkey, va in others)


def llc_confirm_rkey(
    *,
    rkey,
    va,
    others=(),
    count=None,
    negative=False,
    retry=False,
    reply=False,
    version=1,
    **header
):
    """CONFIRM RKEY, A.3.5. `others`: (link, RKey, address), two at most; `count` if more follow in
    continuations."""
    flags = _reply(reply) | (0x20 if negative else 0) | (0x10 if retry else 0)
    body = u8(len(others) if count is None else count) + u32(rkey) + u64(va) + _other_links(others)
    return llc_message(_type(6, version), body, **{"flags": flags, **header})


def llc_test_link(*, user_data=bytes(16), reply=False, version=1, **header):
    """TEST LINK, A.3.8."""
    return llc_message(
        _type(7, version), zero_filled(user_data, 16), **{"flags": _reply(reply), **header}
    )


def llc_confirm_rkey_continuation(*, left, others, negative=False, reply=False, **header):
    """CONFIRM RKEY CONTINUATION, A.3.6: three links at most."""
    flags = _reply(reply) | (0x20 if negative else 0)
    return llc_message(8, u8(left) + _other_links(others), **{"flags": flags, **header})


def llc_delete_rkey(
    *, rkeys, count=None, error_mask=0, negative=False, reply=False, version=1, **header
):
    """DELETE RKEY, A.3.7; `error_mask` is the number of invalid RKeys in version 2."""
    flags = _reply(reply) | (0x20 if negative else 0)
    body = (
        u8(len(rkeys) if count is None else count)
        + u8(error_mask)
        + bytes(2)
        + b"".join(u32(key) for key in rkeys)
    )
    return llc_message(_type(9, version), body, **{"flags": flags, **header})
