"""
Reserved bytes that are not zero, in every message type: legal (RFC 7609 A.2: receivers do not check
them), but worth a note. Every reserved byte of a message is 0xee. CLC on ports 40001 and 40002,
then LLC and CDC messages on their links; Declines on 40003 and 40004.
"""

from smcsynth.cdc import cdc
from smcsynth.clc import clc_decline
from smcsynth.llc import (
    llc_add_link,
    llc_add_link_continuation,
    llc_confirm_link,
    llc_confirm_rkey,
    llc_confirm_rkey_continuation,
    llc_delete_link,
    llc_delete_rkey,
    llc_request_add_link,
    llc_test_link,
)
from smcsynth.octets import patch
from smcsynth.story import MTU_1024, SERVER_V1, clc_conversation, linux_connection


def soiled(message, *ranges):
    """The message with 0xee in these ranges, (first byte, number of bytes)."""
    for offset, size in ranges:
        message = patch(message, offset, b"\xee" * size)
    return message


def llc_messages():
    nic = dict(roce_mac=SERVER_V1.mac, roce_gid=SERVER_V1.gid, qpn=0x4E3, link=2)
    yield soiled(llc_confirm_link(**nic, user_id=1), (2, 1), (35, 9))
    yield soiled(llc_add_link(**nic, mtu_code=MTU_1024, psn=1), (36, 8))
    yield soiled(llc_add_link(**nic, mtu_code=MTU_1024, psn=1, layout="figure32"), (34, 10))
    yield soiled(
        llc_add_link_continuation(link=2, left=1, pairs=[(1, 2, 3)]), (2, 1), (6, 2), (40, 4)
    )
    yield soiled(llc_delete_link(link=2, reason=0x00010000), (2, 1), (9, 35))
    yield soiled(llc_confirm_rkey(rkey=1, va=2), (2, 1), (43, 1))
    yield soiled(llc_test_link(), (2, 1), (20, 24))
    yield soiled(llc_confirm_rkey_continuation(left=1, others=[(2, 3, 4)]), (2, 1), (43, 1))
    yield soiled(llc_delete_rkey(rkeys=[0x05002A01]), (2, 1), (6, 2), (40, 4))
    yield soiled(llc_request_add_link(gids=[SERVER_V1.gid]), (4, 20), (25, 3))
    yield soiled(cdc(seq=1, token=0x0501), (8, 2), (16, 2), (26, 18))


def scene(capture):
    v1, v2 = linux_connection(capture, sport=40001), linux_connection(
        capture, version=2, sport=40002, nth=2
    )
    v1.first_contact(
        proposal=soiled(v1.proposal(), (60, 20), (85, 2)),
        accept=soiled(v1.accept(), (51, 1), (60, 1)),
        confirm=soiled(v1.confirm(), (51, 1), (60, 1)),
    )
    for message in llc_messages():
        v1.group.llc("server" if message[0] != 0xFE else "client", message)
    v2.first_contact(
        proposal=soiled(v2.proposal(), (60, 20), (82, 1), (84, 2), (108, 12)),
        accept=soiled(v2.accept(), (51, 1), (60, 1), (96, 8), (106, 2), (148, 8)),
        confirm=soiled(v2.confirm(), (51, 1), (60, 1), (96, 8), (106, 2), (148, 8), (157, 3)),
    )
    for sport, declined, decline in (
        (40003, v1, soiled(clc_decline(diagnosis=0x03030000), (20, 4))),
        (40004, v2, soiled(clc_decline(diagnosis=0x03030000, version=2, os_type=2), (21, 3))),
    ):
        clc_conversation(capture, sport, ("client", declined.proposal()), ("server", decline))
