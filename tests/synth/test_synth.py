"""
Checks of the encoders that build the synthetic captures: known messages are reproduced, ICRCs are
right, and the committed captures are what their scenarios build. Run with: /usr/bin/python3 -m
pytest tests/synth
"""

import json
import pathlib
import subprocess
import sys

import pytest
from scapy.contrib.roce import BTH
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.packet import Raw
from scapy.utils import PcapNgReader

# Captures that lack TCP segments: where a rule needs them, nobody may be blamed.
LACKING = {
    "payload-five-ways",
    "rule-clc-decline",
    "rule-clc-order",
    "rule-clc-protocol",
    "rule-clc-unfinished",
    "rule-tcp-after-switch",
}
HERE = pathlib.Path(__file__).resolve().parent
CAPTURES = HERE.parents[1] / "captures"
sys.path.insert(0, str(HERE))

from smcsynth import clc, llc, roce  # noqa: E402
from smcsynth.cdc import PRODUCER_FLAGS, STATE_FLAGS, cdc  # noqa: E402
from smcsynth.octets import gid, patch, peer_id  # noqa: E402

VECTORS = {vector["name"]: vector for vector in json.loads((HERE / "vectors.json").read_text())}
MAC, GID = "98:03:9b:ab:cd:ef", "fe80::9a03:9bff:feab:cdef"
SENDER = dict(peer=peer_id(0xB1A0, MAC), roce_gid=GID, roce_mac=MAC)
LOOPBACK = clc.prefix_area(subnet="127.0.0.0", mask_bits=8)
SERVER = dict(
    **SENDER,
    qpn=228,
    rkey=5501,
    index=1,
    token=5,
    size_code=2,
    mtu_code=3,
    va=0xF0A60000,
    psn=7534078,
)
CLIENT = dict(
    **SENDER,
    qpn=229,
    rkey=6271,
    index=1,
    token=6,
    size_code=2,
    mtu_code=3,
    va=0xF0A40000,
    psn=887204,
)
USER_DATA = bytes(range(16))
DELETE_LINK = {
    f"crafted.delete-link-{reason:08x}": llc.llc_delete_link(
        link=2, reason=reason, reply=reason >= 0x100000
    )
    for reason in (*range(0x10000, 0x60000, 0x10000), 0x100000, 0x200000)
}

ENCODED = {
    "seed000.proposal": clc.clc_proposal(**SENDER, ip_area=LOOPBACK),
    "seed000.accept": clc.clc_accept(**SERVER),
    "seed000.confirm": clc.clc_confirm(**CLIENT),
    "hwipl-smc.decline-ipv4": clc.clc_decline(diagnosis=0x03030000),
    "tcpoption.smcr": clc.smc_option(),
    "crafted.proposal-v1-r+d": clc.clc_proposal(
        **SENDER, typev1=clc.BOTH, ip_area=LOOPBACK, smcd=clc.smcd_area(ism_gid=0x0123456789ABCDEF)
    ),
    "crafted.proposal-v2.1-r-only": clc.clc_proposal(
        peer=peer_id(0x3944, MAC),
        roce_gid=GID,
        roce_mac=MAC,
        version=2,
        typev1=clc.NEITHER,
        smcd=clc.smcd_area(
            ism_gid=0x0123456789ABCDEF,
            chid=0x1234,
            v2_offset=28,
            oui=bytes.fromhex("00163e"),
            vendor=bytes.fromhex("0102030405"),
        ),
        v2=clc.v2_extension(
            eids=["EID00"],
            roce_gid="10.0.0.1",
            release=1,
            seid_flag=1,
            max_conns=255,
            max_links=2,
            features=1,
            smcd=clc.smcdv2_extension(seid="IBM-SYSZ-ISMSEID0000000012345678"),
        ),
    ),
    "crafted.confirm-smcrv2.1": clc.clc_confirm(
        **CLIENT,
        version=2,
        first_contact=True,
        eid="EID01",
        gids=["10.0.0.1", "10.0.0.2"],
        fce=clc.first_contact_extension(
            release=1,
            hostname="host02",
            max_conns=32,
            max_links=2,
            features=1,
            vendor=bytes.fromhex("deadbeef"),
        ),
    ),
    "crafted.decline-v2-44": clc.clc_decline(
        diagnosis=0x0303000B, version=2, os_type=2, words=(1, 2, 3, 4)
    ),
    "crafted.decline-v1-out-of-sync": clc.clc_decline(diagnosis=0x04000000, out_of_sync=True),
    "crafted.accept-bad-trailer": clc.clc_accept(
        **SERVER, header={"trailer": bytes.fromhex("deadbeef")}
    ),
    "crafted.accept-length-0": clc.clc_accept(**SERVER, header={"length": 0}),
    "crafted.add-link-wire-reject": llc.llc_add_link(
        roce_mac=MAC,
        roce_gid=GID,
        qpn=263,
        link=2,
        mtu_code=3,
        psn=1,
        reply=True,
        reject=True,
        reason=1,
    ),
    **DELETE_LINK,
    "crafted.confirm-rkey-3-links": llc.llc_confirm_rkey(
        rkey=5469, va=0xEEF4D0000, count=5, others=[(1, 2, 3), (4, 5, 6)]
    ),
    "crafted.delete-rkey-count-255": llc.llc_delete_rkey(rkeys=[5469], count=255),
    "crafted.test-link": llc.llc_test_link(user_data=USER_DATA),
    "crafted.test-link-resp": llc.llc_test_link(user_data=USER_DATA, reply=True),
    "crafted.cdc-all-flags": cdc(
        seq=2, token=5, prod=(1, 13), cons=(1, 7), flags=[*PRODUCER_FLAGS, *STATE_FLAGS]
    ),
    "crafted.llcv2-test-link-be": llc.llc_test_link(user_data=b"\x55" * 16, version=2, order="big"),
    "crafted.llcv2-test-link-le": llc.llc_test_link(
        user_data=b"\x55" * 16, version=2, order="little"
    ),
}


@pytest.mark.parametrize("name", ENCODED)
def test_encoder_reproduces_vector(name):
    assert ENCODED[name].hex() == VECTORS[name]["hex"]


def test_every_message_vector_is_reproduced():
    assert {name for name, vector in VECTORS.items() if vector["transport"] != "roce"} == set(
        ENCODED
    )


def test_icrc_of_published_cnp():
    packet = bytes.fromhex(VECTORS["libconntrack-cm.cnp-ipv4"]["hex"])
    assert roce.icrc_ipv4(packet[:28], packet[28:-4]) == packet[-4:]


def test_icrc_of_rocev1_vector():
    vector = VECTORS["smc-llc.rocev1-confirm-rkey"]
    packet = bytes.fromhex(vector["hex"])[14:]
    assert roce.icrc_grh(packet[:40], packet[40:-4]).hex() == vector["expected"]["icrc_correct"]


def test_icrc_agrees_with_scapy():
    nics = roce.Nic("02:00:00:00:00:01", "192.0.2.1"), roce.Nic("02:00:00:00:00:02", "192.0.2.2")
    ib = roce.bth(
        roce.SEND_ONLY, dest_qp=0x12, psn=0x345678, solicited=True, ack_request=True
    ) + bytes(range(44))
    frame = roce.rocev2_frame(*nics, ib)
    scapys = (
        IP(src="192.0.2.1", dst="192.0.2.2", id=0, flags="DF")
        / UDP(sport=49152, dport=4791, chksum=0)
        / BTH(opcode=4, solicited=1, dqpn=0x12, ackreq=1, psn=0x345678)
        / Raw(bytes(range(44)))
    )
    assert frame[14:] == bytes(scapys)


@pytest.mark.parametrize(
    "name, version", [("6.1-v2-a-first-contact-ipv4", IP), ("6.1-v1-a-first-contact-ipv4", IPv6)]
)
def test_icrc_of_real_frames(name, version):
    checked = 0
    with PcapNgReader(str(CAPTURES / "real" / f"{name}.pcapng")) as reader:
        for frame in reader:
            if UDP in frame and frame[UDP].dport == 4791:
                size = (20 if version is IP else 40) + 8
                packet = bytes(frame)[14:]
                packet = packet[: frame[IP].len if version is IP else 40 + frame[IPv6].plen]
                icrc = roce.icrc_ipv4 if version is IP else roce.icrc_ipv6
                assert icrc(packet[:size], packet[size:-4]) == packet[-4:]
                checked += 1
    assert checked > 20


def test_vcrc_and_lrh():
    nics = roce.Nic("02:00:00:00:00:01", "fe80::1", 0x11), roce.Nic(
        "02:00:00:00:00:02", "fe80::2", 0x22
    )
    packet = roce.infiniband_packet(
        *nics, roce.bth(roce.ACKNOWLEDGE, dest_qp=1, psn=2) + roce.aeth(roce.ACK, 1)
    )
    assert (
        int.from_bytes(packet[4:6], "big") * 4 == len(packet) - 2
    )  # packet length leaves out the VCRC
    assert roce.vcrc(packet[:-2]) == packet[-2:]


def test_gid_forms():
    assert gid("10.0.0.1") == bytes(10) + b"\xff\xff\x0a\x00\x00\x01"
    assert patch(b"abcd", 1, b"X") == b"aXcd"


def test_committed_captures_are_up_to_date():
    result = subprocess.run([HERE / "build", "--check"], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(
    "path",
    sorted(CAPTURES.glob("synthetic/*.pcap")) + sorted(CAPTURES.glob("malformed/*.pcap")),
    ids=lambda path: path.stem,
)
def test_lower_layers_are_sound(tshark_without, path):
    """Checksums of Ethernet's payloads are right and tshark reads each frame to its end."""
    bad = "ip.checksum.status == 0 || tcp.checksum.status == 0 || udp.checksum.status == 0"
    if path.stem not in LACKING:
        bad += " || tcp.analysis.lost_segment"
    unchecked = {
        "exported-source": {"ip", "tcp", "udp"},  # has no addresses to check with
        "anck-tap": {"ip"},  # the tap sends its copies without one
    }
    checked = {"ip", "tcp", "udp"} - unchecked.get(path.stem, set())
    options = [f"-o{name}.check_checksum:TRUE" for name in sorted(checked)]
    assert tshark_without.show(path.stem, "-2", *options, "-Y", bad) == ""
