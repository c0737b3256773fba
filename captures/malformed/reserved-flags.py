"""
Flag bits that nobody defined are set: the low bits of byte 7 in Proposal, Accept, Confirm and
Decline (RFC 7609 A.2), the low bits of the flags of each LLC message (A.3), and of both flag bytes
of CDC (A.4).
"""

from smcsynth.clc import clc_decline
from smcsynth.llc import (
    llc_add_link,
    llc_add_link_continuation,
    llc_confirm_link,
    llc_confirm_rkey,
    llc_confirm_rkey_continuation,
    llc_delete_link,
    llc_delete_rkey,
    llc_test_link,
)
from smcsynth.octets import patch, u8
from smcsynth.story import MTU_1024, SERVER_V1, clc_conversation, linux_connection


def llc_messages():
    nic = dict(roce_mac=SERVER_V1.mac, roce_gid=SERVER_V1.gid, qpn=0x4E3, link=2)
    yield patch(llc_confirm_link(**nic, user_id=1), 3, u8(0x7F))
    yield patch(llc_add_link(**nic, mtu_code=MTU_1024, psn=1), 3, u8(0x3F))
    yield patch(llc_add_link(**nic, mtu_code=0xF3, psn=1), 2, u8(0xF0))  # beside reason and MTU
    yield patch(llc_add_link_continuation(link=2, left=1, pairs=[(1, 2, 3)]), 3, u8(0x7F))
    yield patch(llc_delete_link(link=2, reason=0x00010000), 3, u8(0x3F))
    yield patch(llc_confirm_rkey(rkey=1, va=2), 3, u8(0x4F))
    yield patch(llc_test_link(), 3, u8(0x7F))
    yield patch(llc_confirm_rkey_continuation(left=1, others=[(2, 3, 4)]), 3, u8(0x5F))
    yield patch(llc_delete_rkey(rkeys=[0x05002A01]), 3, u8(0x5F))


def scene(capture):
    story = linux_connection(capture, sport=40001)
    clc_conversation(
        capture,
        40002,
        ("client", patch(story.proposal(), 7, u8(0x1C))),
        ("server", patch(story.accept(), 7, u8(0x1E))),
        ("client", patch(story.confirm(), 7, u8(0x17))),
        ("server", patch(clc_decline(diagnosis=0x03030000), 7, u8(0x17))),
    )
    story.first_contact()
    for message in llc_messages():
        story.group.llc("server", message)
    message = patch(story.cdc_message("client"), 24, b"\x07\x1f")
    story.group.llc("client", message)
    story.send("client", b"and on it goes\n")
    story.close()
