"""
Single messages with the values that a correct decoder reads (captures/synthetic/vectors.json). The
keys of that file are descriptive; the tables below say how each is read from what tshark shows. A
key without a row fails the test.
"""

import ipaddress
import json
import re
import xml.etree.ElementTree as xml

import pytest
from bed import TOP

VECTORS = json.loads((TOP / "captures" / "synthetic" / "vectors.json").read_text(encoding="utf-8"))
EYECATCHERS = {"SMC-R": 0xE2D4C3D9, "SMC-D": 0xE2D4C3C4}
MESSAGE_START = {
    "clc": "smcr.eyecatcher",
    "llc": "smcr.llc.type",
    "roce": "smcr.llc.type",
    "cdc": "smcr.cdc.type",
}


class Shown:
    """What tshark shows of the bytes of one frame: fields in the order of the tree, as PDML has
    them."""

    def __init__(self, packet):
        self.items = [item for item in packet.iter("field") if item.get("size") != "0"]
        self.names = {item.get("name") for item in packet.iter("field")}

    def all(self, name):
        return [item for item in self.items if item.get("name") == name]

    def texts(self, name):
        return [item.get("show") for item in self.all(name)]

    def position(self, name):
        return int(self.all(name)[0].get("pos"))


# ---- how a value is read: functions of (shown, transport), made by the functions below ----


def integer(text):
    """A number as Wireshark shows it; Booleans are 0 and 1, or words from 4.4 on."""
    return {"False": 0, "True": 1}[text] if text in ("False", "True") else int(text, 0)


def number(name, occurrence=0):
    return lambda shown, _: integer(shown.texts(name)[occurrence])


def numbers(name, first=0):
    return lambda shown, _: [integer(text) for text in shown.texts(name)[first:]]


def text(name, occurrence=0):
    return lambda shown, _: shown.texts(name)[occurrence]


def texts(name, first=0):
    return lambda shown, _: shown.texts(name)[first:]


def octets(name, occurrence=0, part=slice(None)):
    return lambda shown, _: shown.all(name)[occurrence].get("value")[part]


def bits(name, shift, mask):
    return lambda shown, _: int(shown.texts(name)[0].rjust(1, "0"), 16) >> shift & mask


def start_of(name):
    """Offset of a field in its message."""
    return lambda shown, transport: shown.position(name) - shown.position(MESSAGE_START[transport])


def end_of(name):
    return lambda shown, transport: start_of(name)(shown, transport) + int(
        shown.all(name)[0].get("size")
    )


def reserved(offset, length):
    """Some bytes of the message that are shown as reserved or not used, as hexadecimal digits."""

    def read(shown, transport):
        start = shown.position(MESSAGE_START[transport]) + offset
        for item in shown.all("smcr.reserved"):
            skip = start - int(item.get("pos"))
            if 0 <= skip and skip + length <= int(item.get("size")):
                return item.get("value")[2 * skip : 2 * (skip + length)]
        raise IndexError

    return read


def octets_or_reserved(name, offset, length):
    """A field of version 2 in a message of version 1, where its bytes are reserved."""
    return lambda shown, transport: (octets(name) if shown.all(name) else reserved(offset, length))(
        shown, transport
    )


def address(name, occurrence=0):
    return lambda shown, transport: addresses(name)(shown, transport)[occurrence]


def addresses(name, first=0):
    """Addresses, IPv4-mapped ones as IPv4."""

    def read(shown, _):
        found = [ipaddress.ip_address(each) for each in shown.texts(name)[first:]]
        return [str(getattr(each, "ipv4_mapped", None) or each) for each in found]

    return read


def clc_flags(mask):
    return lambda shown, _: int(shown.texts("smcr.clc.flags")[0], 0) & mask


def other_rtokens(shown, _):
    """RTokens for other links, behind that of the link which carries the message. Slots not used
    are not shown."""
    links, rkeys = numbers("smcr.llc.link_number")(shown, _), numbers("smcr.rkey", 1)(shown, _)
    addresses_ = [hex(each) for each in numbers("smcr.rmb.va", 1)(shown, _)]
    return [
        {"link": link, "rkey": rkey, "va": va}
        for link, rkey, va in zip(links, rkeys, addresses_, strict=True)
    ]


def byte_order(shown, _):
    return "big" if shown.all("smcr.llc.length")[0].get("value").startswith("00") else "little"


CLC = {
    "eyecatcher": number("smcr.eyecatcher"),
    "type": number("smcr.clc.type"),
    "length": number("smcr.clc.length"),
    "version": number("smcr.clc.version"),
    "byte7_low_nibble": clc_flags(0x0F),
    "trailer": number("smcr.clc.trailer"),
    "trailer_offset": start_of("smcr.clc.trailer"),
    "typev1": lambda shown, _: int(shown.texts("smcr.clc.flags")[0], 0) & 3,
    "typev2": lambda shown, _: int(shown.texts("smcr.clc.flags")[0], 0) >> 2 & 3,
    "peer_id.instance": number("smcr.peer_id.instance"),
    "peer_id.mac": text("smcr.peer_id.mac"),
    "gid": address("smcr.gid"),
    "mac": text("smcr.mac"),
    "ip_area_offset": number("smcr.clc.ip_area_offset"),
    "subnet": text("smcr.clc.subnet"),
    "mask_len": number("smcr.clc.subnet_length"),
    "ipv6_prefix_count": number("smcr.clc.prefix_count"),
    "first_contact": number("smcr.clc.first_contact"),
    "flag_0x08": lambda shown, _: clc_flags(8)(shown, _) >> 3,
    "out_of_sync": number("smcr.clc.out_of_sync"),
    "qpn": number("smcr.qpn"),
    "rmb_rkey": number("smcr.rkey"),
    "rmbe_index": number("smcr.rmb.index"),
    "alert_token": number("smcr.token"),
    "bsize_code": number("smcr.rmb.bsize"),
    "bsize_bytes": number("smcr.rmb.size"),
    "mtu_code": number("smcr.mtu"),
    "rmb_va": number("smcr.rmb.va"),
    "psn": number("smcr.psn"),
    "diagnosis": number("smcr.clc.diagnosis"),
    "diag_words": numbers("smcr.clc.diagnosis_v2"),
    "os_type": number("smcr.clc.os"),
    "eid": text("smcr.eid"),
    "gid_list": addresses("smcr.gid", 1),
    "smcd.ism_gid": number("smcr.smcd.gid"),
    "smcd.ism_chid": number("smcr.smcd.chid"),
    "smcd.v2_ext_offset": number("smcr.clc.v2_offset"),
    "smcd.vendor_oui": octets_or_reserved("smcr.clc.vendor_oui", 52, 3),
    "smcd.vendor_exp_options": octets_or_reserved("smcr.clc.vendor_options", 55, 5),
    "smcd.reserved": reserved(60, 20),
    "v2ext.true_offset": start_of("smcr.clc.v2_extension"),
    "v2ext.end_offset": start_of("smcr.clc.trailer"),
    "v2ext.eid_count": number("smcr.clc.eid_count"),
    "v2ext.ism_gid_count": number("smcr.clc.ism_count"),
    "v2ext.release": number("smcr.clc.release"),
    "v2ext.seid_indicator": number("smcr.clc.seid_present"),
    "v2ext.smcdv2_offset": number("smcr.clc.smcdv2_offset"),
    "v2ext.roce_gid": address("smcr.gid", 1),
    "v2ext.max_conns": number("smcr.max_conns"),
    "v2ext.max_links": number("smcr.max_links"),
    "v2ext.feature_mask": number("smcr.clc.features"),
    "v2ext.eids": texts("smcr.eid"),
    "smcdv2.seid": text("smcr.seid"),
    "smcdv2.gids": texts("smcr.smcd.gid", 1),
    "fce.v2_direct": number("smcr.v2_direct"),
    "fce.os_type": number("smcr.clc.os"),
    "fce.release": number("smcr.clc.release"),
    "fce.hostname": text("smcr.clc.hostname"),
    "fce.max_conns": number("smcr.max_conns"),
    "fce.max_links": number("smcr.max_links"),
    "fce.feature_mask": number("smcr.clc.features"),
    "fce.vendor_exp_options": octets("smcr.clc.vendor_options"),
    "error": lambda shown, _: "length below minimum 8"
    if "smcr.clc.length_invalid" in shown.names
    else "none",
}

LLC = {
    "type": number("smcr.llc.type"),
    "length": number("smcr.llc.length"),
    "flags": number("smcr.llc.flags"),
    "reply": number("smcr.llc.response"),
    "byte_order": byte_order,
    "reject": number("smcr.llc.rejected"),
    "reject_reason": number("smcr.llc.reject_reason"),
    "mac": text("smcr.mac"),
    "wire_reserved_10_11": reserved(10, 2),
    "gid": address("smcr.gid"),
    "qpn": number("smcr.qpn"),
    "link": number("smcr.llc.link_number"),
    "mtu_code": number("smcr.mtu"),
    "psn": number("smcr.psn"),
    "all": number("smcr.llc.all_links"),
    "orderly": number("smcr.llc.orderly"),
    "reason": number("smcr.llc.delete_reason"),
    "reason_text": lambda shown, _: shown.all("smcr.llc.delete_reason")[0].get("showname"),
    "negative": number("smcr.llc.negative"),
    "retry": number("smcr.llc.retry"),
    "num_rkeys": number("smcr.llc.other_links"),
    "rkey": number("smcr.rkey"),
    "va": number("smcr.rmb.va"),
    "other": other_rtokens,
    "count": number("smcr.llc.rkey_count"),
    "err_mask": number("smcr.llc.error_mask"),
    "rkeys": numbers("smcr.rkey"),
    "user_data": octets("smcr.llc.user_data"),
}

CDC = {
    "type": number("smcr.cdc.type"),
    "length": number("smcr.cdc.length"),
    "seq": number("smcr.cdc.seq"),
    "alert_token": number("smcr.cdc.token"),
    "prod_wrap": number("smcr.cdc.prod_wrap"),
    "prod_cursor": number("smcr.cdc.prod"),
    "cons_wrap": number("smcr.cdc.cons_wrap"),
    "cons_cursor": number("smcr.cdc.cons"),
    "writer_blocked": number("smcr.cdc.writer_blocked"),
    "urgent_pending": number("smcr.cdc.urgent_pending"),
    "urgent_present": number("smcr.cdc.urgent_present"),
    "cursor_update_requested": number("smcr.cdc.update_requested"),
    "failover_validation": number("smcr.cdc.failover"),
    "sending_done": number("smcr.cdc.sending_done"),
    "connection_closed": number("smcr.cdc.closed"),
    "abnormal_close": number("smcr.cdc.abort"),
}

TCP_OPTION = {
    "kind": number("smcr.option.kind"),
    "length": number("smcr.option.length"),
    "exid": number("smcr.option.exid"),
}

# The transport is Wireshark's own: these say that the plugin leaves it alone.
ROCE = {
    "ethertype": number("eth.type"),
    "ip_src": text("ip.src"),
    "ip_dst": text("ip.dst"),
    "dscp_ecn": number("ip.dsfield"),
    "udp_dport": number("udp.dstport"),
    "grh_src": text("infiniband.grh.sgid"),
    "grh_dst": text("infiniband.grh.dgid"),
    "bth_opcode": number("infiniband.bth.opcode"),
    "becn": bits("infiniband.reserved", 6, 1),
    "dqpn": number("infiniband.bth.destqp"),
    "psn": number("infiniband.bth.psn"),
    "icrc_in_frame": octets("infiniband.invariant.crc"),
    "reserved16": octets("infiniband.vendor", 1, slice(None, 32)),
    "icrc": octets("infiniband.vendor", 1, slice(32, None)),
}

TABLES = {"clc": CLC, "llc": LLC, "cdc": CDC, "tcpopt": TCP_OPTION, "roce": ROCE}

# Neither Wireshark nor the plugin computes the ICRC.
NOT_SHOWN = {"icrc_correct", "icrc_valid"}


def equal(key, expected, shown, message):
    """Whether an expected value is what is shown; numbers may be given as texts."""
    if isinstance(shown, list) and isinstance(expected, list):
        if key == "other":
            expected = expected[: message["num_rkeys"]]
        return len(expected) == len(shown) and all(
            equal(key, *pair, message) for pair in zip(expected, shown)
        )
    if key == "reason_text":  # ours may say more, or less in brackets
        return re.split(r" [(/]", expected)[0] in shown
    if isinstance(shown, int) and isinstance(expected, str):
        return shown == (EYECATCHERS[expected] if expected in EYECATCHERS else int(expected, 16))
    return expected == shown


def differences(expected, shown, transport, table):
    """[(key, expected, shown)] of all keys that differ or that no row of the table reads."""
    found = []
    for key, value in expected.items():
        if key in NOT_SHOWN:
            continue
        if key == "llc":
            found += differences(value, shown, "roce", LLC)
            continue
        try:
            actual = table[key](shown, transport)
        except IndexError:
            actual = "not shown"
        if actual == "not shown" or not equal(key, value, actual, expected):
            found.append((key, value, actual))
    return found


@pytest.fixture(scope="module")
def frames(tshark):
    """{frame number: what is shown of it}"""
    document = xml.fromstring(tshark.show("vectors", "-2", "-T", "pdml").encode())
    return {
        int(packet.find(".//field[@name='num']").get("show")): Shown(packet) for packet in document
    }


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["name"] for vector in VECTORS])
def test_vector(frames, vector):
    shown = frames[vector["frame"]]
    transport = vector["transport"]
    assert differences(vector["expected"], shown, transport, TABLES[transport]) == []
    if "must warn" in vector.get("note", ""):
        assert "_ws.expert" in shown.names
