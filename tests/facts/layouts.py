"""
Layouts of the messages, from RFC 7609 A.2 to A.4 and the kernel's smc_clc.h, smc_llc.h and
smc_cdc.h: which field of the plugin shows which bytes. The plugin has its own tables; a mistake in
either shows as a difference.

A layout is a text: fields, without their "smcr.", and their numbers of bytes.
"""

import collections

import wire

Item = collections.namedtuple("Item", "field offset data")

# Fields within a byte or two, with their masks; every bit is in one.
BITS = {
    "cdc.flags": {
        "cdc.writer_blocked": 0x80,
        "cdc.urgent_pending": 0x40,
        "cdc.urgent_present": 0x20,
        "cdc.update_requested": 0x10,
        "cdc.failover": 0x08,
        "reserved.bits": 0x07,
    },
    "cdc.state": {
        "cdc.sending_done": 0x80,
        "cdc.closed": 0x40,
        "cdc.abort": 0x20,
        "reserved.bits": 0x1F,
    },
    "clc.sizes": {"rmb.bsize": 0xF0, "mtu": 0x0F},
    "smcd.size": {"rmb.bsize": 0xF0, "reserved.bits": 0x0F},
    "clc.v2_flags": {"clc.release": 0xF0, "reserved.bits": 0x0E, "clc.seid_present": 0x01},
    "clc.fce_flags": {"v2_direct": 0x80, "reserved.bits": 0x7F},
    "clc.os_release": {"clc.os": 0xF0, "clc.release": 0x0F},
    "clc.features": {"reserved.bits16": 0xFFFE, "clc.features.emulated_ism": 0x0001},
    "clc.decline_os": {"clc.os": 0xF0, "reserved.bits": 0x0F},
    "llc.reject_byte": {"reserved.bits": 0xF0, "llc.reject_reason": 0x0F},
    "llc.mtu_byte": {"reserved.bits": 0xF0, "mtu": 0x0F},
    "llc.v2_flags": {"v2_direct": 0x80, "reserved.bits": 0x7F},
}
RESPONSE = {"llc.response": 0x80}
LLC_FLAGS = {
    1: {**RESPONSE, "reserved.bits": 0x7C, "llc.no_eyecatcher": 0x03},
    2: {**RESPONSE, "llc.rejected": 0x40, "reserved.bits": 0x3F},
    3: {**RESPONSE, "reserved.bits": 0x7F},
    4: {**RESPONSE, "llc.all_links": 0x40, "llc.orderly": 0x20, "reserved.bits": 0x1F},
    5: {**RESPONSE, "llc.rejected": 0x40, "reserved.bits": 0x3F},
    6: {**RESPONSE, "reserved.bits": 0x4F, "llc.negative": 0x20, "llc.retry": 0x10},
    7: {**RESPONSE, "reserved.bits": 0x7F},
    8: {**RESPONSE, "reserved.bits": 0x5F, "llc.negative": 0x20},
    9: {**RESPONSE, "reserved.bits": 0x5F, "llc.negative": 0x20},
    10: {**RESPONSE, "reserved.bits": 0x7F},
}
REJECTED_V2 = {**RESPONSE, "llc.rejected": 0x40, "reserved.bits": 0x30, "llc.reject_reason": 0x0F}
ACCEPT_FLAGS = {
    "clc.version": 0xF0,
    "clc.first_contact": 0x08,
    "reserved.bits": 0x04,
    "clc.path": 0x03,
}
DECLINE_FLAGS = {"clc.version": 0xF0, "clc.out_of_sync": 0x08, "reserved.bits": 0x07}
PROPOSAL_FLAGS = {
    1: {"clc.version": 0xF0, "reserved.bits": 0x0C, "clc.typev1": 0x03},
    2: {"clc.version": 0xF0, "clc.typev2": 0x0C, "clc.typev1": 0x03},
}

# The first reserved byte is credits where ANCK, Alibaba's kernel, sets it: net/smc/smc_cdc.h,
# smc_clc.h, smc_llc.h there.
CDC = (
    "cdc.type 1 cdc.length 1 cdc.seq 2 cdc.token 4 reserved 2 cdc.prod_wrap 2 cdc.prod 4 "
    "reserved 2 cdc.cons_wrap 2 "
    "cdc.cons 4 cdc.flags 1 cdc.state 1 "
)
RTOKEN, OTHER_LINK = "llc.ref_rkey 4 rkey 4 rmb.va 8 ", "llc.link_number 1 rkey 4 rmb.va 8 "
PROPOSAL, ACCEPT, CONFIRM, DECLINE = 1, 2, 3, 4
CLC_HEADER = "eyecatcher 4 clc.type 1 clc.length 2 clc.flags 1 "
PEER_ID = "peer_id.instance 2 peer_id.mac 6 "
NEITHER = 2  # typev1


def reserved_or_credits(data, offset, size):
    if not data[offset]:
        return f"reserved {size}"
    return "credits 1" + (f" reserved {size - 1}" if size > 1 else "")


def repeated(layout, count):
    return layout * count


def unused(size):
    return f"llc.unused {size} " if size else ""


# ---- LLC, RFC 7609 A.3 and smc_llc.h ----


def confirm_link(data, version):
    tail = "max_conns 1 reserved 8" if version == 2 else "reserved 9"
    return "mac 6 llc.gid 16 llc.qpn 3 llc.link_number 1 link.user_id 4 max_links 1 " + tail


def add_link(data, version):
    """Figure 32 of the RFC has the GID two bytes earlier than Linux; then its first bytes are not
    zero."""
    if any(data[10:12]):
        return (
            "mac 6 llc.gid 16 llc.qpn 3 llc.link_number 1 llc.mtu_byte 1 psn 3 "
            + reserved_or_credits(data, 34, 10)
        )
    base = (
        "mac 6 reserved 2 llc.gid 16 llc.qpn 3 llc.link_number 1 llc.mtu_byte 1 psn 3 "
        + reserved_or_credits(data, 36, 8)
        + " "
    )
    if len(data) == 44:
        return base
    count = wire.u16(data, 70, order_of(data))
    return (
        base
        + "llc.v2_flags 1 reserved 1 gid 16 reserved 8 llc.rkey_count_v2 2 "
        + repeated(RTOKEN, count)
    )


def add_link_continuation(data, version):
    here = min(data[5], 2)
    head = "llc.link_number 1 llc.rtokens_left 1 reserved 2 "
    return head + repeated(RTOKEN, here) + unused(32 - 16 * here) + "reserved 4"


def delete_link(data, version):
    return "llc.link_number 1 llc.delete_reason 4 reserved 35"


def request_add_link(data, version):
    size = 16 * data[24]
    rest = len(data) - 28 - size
    return (
        "reserved 20 gid_count 1 reserved 3 "
        + repeated("gid 16 ", data[24])
        + (f"reserved {rest}" if rest else "")
    )


def confirm_rkey(data, version):
    here = min(data[4], 2)
    return (
        "llc.other_links 1 rkey 4 rmb.va 8 "
        + repeated(OTHER_LINK, here)
        + unused(26 - 13 * here)
        + "reserved 1"
    )


def test_link(data, version):
    return "llc.user_data 16 reserved 24"


def confirm_rkey_continuation(data, version):
    here = min(data[4], 3)
    return "llc.rtokens_left 1 " + repeated(OTHER_LINK, here) + unused(39 - 13 * here)


def delete_rkey(data, version):
    """A version 2 response has room for the RKeys of its request; Linux leaves it empty."""
    if version == 1:
        return (
            "llc.rkey_count 1 llc.error_mask 1 reserved 2 "
            + repeated("rkey 4 ", min(data[4], 8))
            + unused(32 - 4 * min(data[4], 8))
            + "reserved 4"
        )
    head = "llc.rkey_count 1 llc.invalid_rkeys 1 reserved 2 "
    rkeys = unused(4 * data[4]) if data[3] & 0x80 else repeated("rkey 4 ", data[4])
    return head + rkeys + unused(len(data) - 8 - 4 * data[4])


def announce_credits(data, version):
    """Of ANCK: struct smc_llc_msg_announce_credits."""
    return "credits 1 reserved 39"


LLC = {
    10: announce_credits,
    1: confirm_link,
    2: add_link,
    3: add_link_continuation,
    4: delete_link,
    5: request_add_link,
    6: confirm_rkey,
    7: test_link,
    8: confirm_rkey_continuation,
    9: delete_rkey,
}
LLC_V2 = {0x21, 0x22, 0x24, 0x25, 0x26, 0x27, 0x29}


def order_of(data):
    """Byte order of the sender of a version 2 message: that in which the length is right."""
    return "little" if wire.u16(data, 1, "little") == len(data) else "big"


def llc(data):
    version, kind = (2, data[0] & 0x0F) if data[0] in LLC_V2 else (1, data[0])
    if kind not in LLC:
        return f"llc.type 1 llc.body {len(data) - 1}", {}
    rejected = kind == 2 and data[3] & 0xC0 == 0xC0
    flags = REJECTED_V2 if rejected and version == 2 else LLC_FLAGS[kind]
    second = (
        "llc.length 2"
        if version == 2
        else "llc.length 1 " + ("llc.reject_byte 1" if rejected else "reserved 1")
    )
    return f"llc.type 1 {second} llc.flags 1 " + LLC[kind](data, version), {"llc.flags": flags}


# ---- CLC, RFC 7609 A.2 and smc_clc.h ----


def smcd_devices(data, start, count):
    """ISM GIDs with their CHIDs; the second entry of an emulated ISM device continues its GID."""
    text, extended = "", False
    for number in range(count):
        emulated = wire.u16(data, start + 10 * number + 8) >= 0xFF00
        text += "smcd.ext_gid 8 smcd.chid 2 " if extended else "smcd.gid 8 smcd.chid 2 "
        extended = emulated and not extended
    return text


def v2_extension(data, start):
    eids, devices, release, smcd = (
        data[start],
        data[start + 1],
        data[start + 3] >> 4,
        wire.u16(data, start + 6),
    )
    text = (
        "clc.eid_count 1 clc.ism_count 1 reserved 1 clc.v2_flags 1 reserved 2 clc.smcdv2_offset "
        "2 gid 16 "
    )
    text += "max_conns 1 max_links 1 clc.features 2 reserved 12 " if release else "reserved 16 "
    text += repeated("eid 32 ", eids)
    if smcd:
        text += "seid 32 reserved 16 " + smcd_devices(data, start + 8 + smcd + 48, devices)
    return text


def proposal(data):
    version, typev1, offset = data[7] >> 4, data[7] & 3, wire.u16(data, 38)
    text, at = PEER_ID + "clc.gid 16 mac 6 clc.ip_area_offset 2 ", 40
    extension = 0
    if offset == 40 or typev1 == NEITHER:
        step = wire.u16(data, at + 10) if version > 1 else 0
        extension = at + 12 + step if step else 0
        release = data[extension + 3] >> 4 if extension else 0
        text += "smcd.gid 8 smcd.chid 2 clc.v2_offset 2 "
        text += "clc.vendor_oui 3 clc.vendor_options 5 reserved 20 " if release else "reserved 28 "
    if typev1 != NEITHER:
        prefixes = data[40 + offset + 7]
        text += "clc.subnet 4 clc.subnet_length 1 reserved 2 clc.prefix_count 1 "
        text += repeated("clc.prefix 16 clc.prefix_length 1 ", prefixes)
    if extension:
        text += v2_extension(data, extension)
    return text, PROPOSAL_FLAGS[version]


def first_contact_extension(data, start):
    smcd = data[:4] == wire.SMC_D
    text = (
        "reserved 1 " if smcd else "clc.fce_flags 1 "
    ) + "clc.os_release 1 reserved 2 clc.hostname 32 "
    if data[start + 1] & 15:
        return text + "max_conns 1 max_links 1 clc.features 2 clc.vendor_options 4 reserved 8 "
    return text if smcd else text + "reserved 16 "


def accept_or_confirm(data):
    version, first_contact = data[7] >> 4, data[7] & 8
    if data[:4] == wire.SMC_D:
        text = "smcd.gid 8 smcd.token 8 smcd.index 1 smcd.size 1 reserved 2 smcd.link_id 4 "
        text += "smcd.chid 2 eid 32 smcd.ext_gid 8 " if version > 1 else "reserved 12 "
    else:
        text = PEER_ID + (
            "clc.gid 16 mac 6 clc.qpn 3 rkey 4 rmb.index 1 token 4 clc.sizes 1 "
            + reserved_or_credits(data, 51, 1)
            + " rmb.va 8 reserved 1 psn 3 "
        )
        text += "eid 32 reserved 8 " if version > 1 else ""
    if version > 1 and first_contact:
        text += first_contact_extension(data, size_of(CLC_HEADER + text))
    rest = len(data) - size_of(CLC_HEADER + text) - 4
    if rest:
        text += "gid_count 1 reserved 3 " + repeated("gid 16 ", data[len(data) - 4 - rest])
    return text, ACCEPT_FLAGS


def decline(data):
    text = PEER_ID + "clc.diagnosis 4 "
    if data[7] >> 4 > 1:
        return (
            text + "clc.decline_os 1 reserved 3 " + repeated("clc.diagnosis_v2 4 ", 4),
            DECLINE_FLAGS,
        )
    return text + "reserved 4 ", DECLINE_FLAGS


CLC = {PROPOSAL: proposal, ACCEPT: accept_or_confirm, CONFIRM: accept_or_confirm, DECLINE: decline}


def clc(data):
    text, flags = CLC[data[4]](data)
    return CLC_HEADER + text + "clc.trailer 4", {"clc.flags": flags}


# ---- what a message has ----


def size_of(layout):
    return sum(map(int, layout.split()[1::2]))


def layout_of(message):
    """The layout of a message, and the masks of the fields that depend on its type."""
    return {
        "clc": clc,
        "llc": llc,
        "cdc": lambda data: (CDC + reserved_or_credits(data, 26, 18), {}),
    }[message.kind](message.data)


def items(message):
    """The fields of a message, each with its place and its bytes."""
    words = layout_of(message)[0].split()
    at = 0
    for field, size in zip(words[::2], map(int, words[1::2])):
        yield Item("smcr." + field, at, message.data[at : at + size])
        at += size
    assert at == len(message.data), (at, len(message.data), words)


def runs(mask):
    """The parts of a mask whose bits stand together."""
    while mask:
        low = mask & -mask
        run = mask & ~(mask + low)
        yield run
        mask &= ~run


def bits(message):
    """The fields within bytes: (field, place, value). Reserved bits that do not stand together are
    several fields."""
    masks = {**BITS, **layout_of(message)[1]}
    for field, at, data in items(message):
        for name, mask in masks.get(field.removeprefix("smcr."), {}).items():
            for run in runs(mask):
                yield "smcr." + name, at, (int.from_bytes(data, "big") & run) // (run & -run)
