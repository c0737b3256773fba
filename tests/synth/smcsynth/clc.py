"""
CLC messages (RFC 7609 A.2) and the SMC option of the TCP handshake (RFC 7609 A.1).

Also the SMC-D and SMCv2 variants, which the RFC does not have: their layouts follow the Linux
kernel (net/smc/smc_clc.h). Every encoder returns the bytes of one whole message, trailer included.
"""

from .octets import gid, ipv4, mac, padded, u8, u16, u24, u32, u64, zero_filled

SMC_R = bytes.fromhex("e2d4c3d9")
SMC_D = bytes.fromhex("e2d4c3c4")

PROPOSAL, ACCEPT, CONFIRM, DECLINE = 1, 2, 3, 4
ONLY_R, ONLY_D, NEITHER, BOTH = 0, 1, 2, 3  # typev1 and typev2
FIRST_CONTACT = OUT_OF_SYNC = 0x08
NO_PEER_ID = bytes.fromhex("2525252525252500")  # Linux without a device


def smc_option(kind=254, exid=SMC_R, length=None):
    """SMC-R TCP option, RFC 7609 A.1; `length` lies about the length."""
    return u8(kind) + u8(2 + len(exid) if length is None else length) + exid


def clc_message(
    message_type, body, *, version=1, nibble=0, eyecatcher=SMC_R, trailer=None, length=None
):
    """Header, body and trailer, RFC 7609 A.2. `nibble` is the low half of byte 7; `length` lies
    about the length."""
    total = 8 + len(body) + 4
    header = (
        eyecatcher
        + u8(message_type)
        + u16(total if length is None else length)
        + u8(version << 4 | nibble)
    )
    return header + body + (eyecatcher if trailer is None else trailer)


def prefix_area(*, subnet="0.0.0.0", mask_bits=0, prefixes=()):
    """IP area of a Proposal, RFC 7609 A.2.2. `prefixes` are strings like "2001:db8::/32"."""
    area = ipv4(subnet) + u8(mask_bits) + bytes(2) + u8(len(prefixes))
    for prefix in prefixes:
        address, bits = prefix.split("/")
        area += gid(address) + u8(int(bits))
    return area


def smcd_area(*, ism_gid=0, chid=0, v2_offset=0, oui=bytes(3), vendor=bytes(5)):
    """The 40 bytes that an IP area offset of 40 skips (smc_clc_msg_smcd)."""
    return u64(ism_gid) + u16(chid) + u16(v2_offset) + oui + vendor + bytes(20)


def v2_extension(
    *,
    eids=(),
    roce_gid="::",
    release=0,
    seid_flag=0,
    max_conns=0,
    max_links=0,
    features=0,
    smcd=None,
    ism_gid_count=0
):
    """SMCv2 extension of a Proposal (smc_clc_v2_extension); `smcd` is an smcdv2_extension()."""
    offset = 0 if smcd is None else 32 + 32 * len(eids)
    return b"".join(
        [
            u8(len(eids)),
            u8(ism_gid_count),
            bytes(1),
            u8(release << 4 | seid_flag),
            bytes(2),
            u16(offset),
            gid(roce_gid),
            u8(max_conns),
            u8(max_links),
            u16(features),
            bytes(12),
            *(padded(eid, 32) for eid in eids),
            smcd or b"",
        ]
    )


def smcdv2_extension(*, seid, gids=()):
    """SMC-Dv2 extension of a Proposal (smc_clc_smcd_v2_extension): SEID, then (ISM GID, CHID)
    pairs."""
    return padded(seid, 32) + bytes(16) + b"".join(u64(g) + u16(chid) for g, chid in gids)


def clc_proposal(
    *,
    peer=bytes(8),
    roce_gid="::",
    roce_mac="00:00:00:00:00:00",
    version=1,
    typev1=ONLY_R,
    typev2=0,
    ip_area=b"",
    smcd=None,
    v2=b"",
    offset=None,
    **header
):
    """Proposal, RFC 7609 A.2.2. `ip_area`, `smcd` and `v2` come from the functions above, `offset`
    is the IP area's."""
    if offset is None:
        offset = len(smcd) if smcd and ip_area else 0
    body = peer + gid(roce_gid) + mac(roce_mac) + u16(offset) + (smcd or b"") + ip_area + v2
    return clc_message(PROPOSAL, body, version=version, nibble=typev2 << 2 | typev1, **header)


def _smcr_fields(
    *, peer, roce_gid, roce_mac, qpn, rkey, index, token, size_code, mtu_code, va, psn
):
    """Bytes 8 to 63 of an SMC-R Accept or Confirm, RFC 7609 A.2.3."""
    return b"".join(
        [
            peer,
            gid(roce_gid),
            mac(roce_mac),
            u24(qpn),
            u32(rkey),
            u8(index),
            u32(token),
            u8(size_code << 4 | mtu_code),
            bytes(1),
            u64(va),
            bytes(1),
            u24(psn),
        ]
    )


def first_contact_extension(
    *,
    direct=True,
    os_type=2,
    release=0,
    hostname="",
    max_conns=0,
    max_links=0,
    features=0,
    vendor=bytes(4),
    size=52
):
    """First contact extension (smc_clc_first_contact_ext_v2x): 36 bytes, or 52 with the v2.1
    fields."""
    extension = (
        u8(0x80 if direct else 0) + u8(os_type << 4 | release) + bytes(2) + padded(hostname, 32)
    )
    if size > 36:
        extension += u8(max_conns) + u8(max_links) + u16(features) + vendor + bytes(8)
    return extension


def clc_accept(*, version=1, first_contact=True, eid=None, fce=b"", header=None, **fields):
    """Accept over SMC-R, RFC 7609 A.2.3; with `eid` and `fce` in version 2."""
    body = _smcr_fields(**fields) + (padded(eid, 32) + bytes(8) if eid is not None else b"") + fce
    nibble = FIRST_CONTACT if first_contact else 0
    return clc_message(ACCEPT, body, **{"version": version, "nibble": nibble, **(header or {})})


def clc_confirm(
    *, version=1, first_contact=False, eid=None, fce=b"", gids=None, header=None, **fields
):
    """Confirm over SMC-R, RFC 7609 A.2.4; in version 2 a list of the client's GIDs may follow the
    extension."""
    body = _smcr_fields(**fields) + (padded(eid, 32) + bytes(8) if eid is not None else b"") + fce
    if gids is not None:
        body += u8(len(gids)) + bytes(3) + b"".join(gid(g) for g in gids)
    nibble = FIRST_CONTACT if first_contact else 0
    return clc_message(CONFIRM, body, **{"version": version, "nibble": nibble, **(header or {})})


def clc_smcd(
    message_type,
    *,
    ism_gid,
    token,
    index=0,
    size_code,
    link_id,
    version=1,
    chid=0,
    eid="",
    extended_gid=0,
    fce=b"",
    **header
):
    """Accept or Confirm over SMC-D (smc_clc_msg_accept_confirm, d0/d1): eyecatcher E2D4C3C4."""
    body = u64(ism_gid) + u64(token) + u8(index) + u8(size_code << 4) + bytes(2) + u32(link_id)
    if version == 1:
        body += bytes(12)
    else:
        body += u16(chid) + padded(eid, 32) + u64(extended_gid) + fce
    nibble = ONLY_D | (FIRST_CONTACT if fce else 0)
    return clc_message(
        message_type, body, **{"version": version, "nibble": nibble, "eyecatcher": SMC_D, **header}
    )


def clc_decline(
    *,
    diagnosis,
    peer=NO_PEER_ID,
    version=1,
    os_type=0,
    words=(0, 0, 0, 0),
    out_of_sync=False,
    **header
):
    """Decline, RFC 7609 A.2.5; version 2 has four more words (smc_clc_msg_decline_v2)."""
    body = zero_filled(peer, 8) + u32(diagnosis) + u8(os_type << 4) + bytes(3)
    if version > 1:
        body += b"".join(u32(word) for word in words)
    return clc_message(
        DECLINE, body, version=version, nibble=OUT_OF_SYNC if out_of_sync else 0, **header
    )
