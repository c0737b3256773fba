"""
Counts in LLC messages that the message cannot hold, RFC 7609 A.3: DELETE RKEY 0, 9 and 255 (version
2: 255), ADD LINK CONTINUATION 0 and 255, CONFIRM RKEY 8 and 255, CONFIRM RKEY CONTINUATION 0 and
255, v2 ADD LINK with 65535 RKeys and with one where none follows, REQUEST ADD LINK with 255 GIDs;
CONFIRM LINK for 0, 1, 9 and 255 links at most.
"""

from smcsynth.llc import (
    add_link_v2_extension,
    llc_add_link,
    llc_add_link_continuation,
    llc_confirm_link,
    llc_confirm_rkey,
    llc_confirm_rkey_continuation,
    llc_delete_rkey,
    llc_request_add_link,
)
from smcsynth.octets import patch, u8
from smcsynth.story import MTU_1024, SERVER_V1, SERVER_V2, linux_connection


def version1():
    for count in (0, 9, 255):
        yield llc_delete_rkey(rkeys=[0x05002A01], count=count)
    for count in (0, 255):
        yield llc_add_link_continuation(
            link=2, left=count, pairs=[(0x05002A01, 0x05002B01, 0xFFFF888207100000)] * 2
        )
        yield llc_confirm_rkey_continuation(
            left=count, others=[(2, 0x05002B01, 0xFFFF888207100000)]
        )
    for count in (8, 255):
        yield llc_confirm_rkey(rkey=0x05002A01, va=0xFFFF888207100000, count=count)
    for links in (0, 1, 9, 255):
        yield llc_confirm_link(
            roce_mac=SERVER_V1.mac,
            roce_gid=SERVER_V1.gid,
            qpn=0x4D3,
            link=1,
            user_id=1,
            max_links=links,
        )


def version2():
    offer = dict(
        roce_mac=SERVER_V2.mac,
        roce_gid=SERVER_V2.gid,
        qpn=0x4E3,
        link=2,
        mtu_code=MTU_1024,
        psn=1,
        version=2,
    )
    for rkeys, count in (([(1, 2, 3)], 65535), ([], 1)):
        yield llc_add_link(
            **offer,
            extension=add_link_v2_extension(target_gid=SERVER_V2.gid, rkeys=rkeys, count=count)
        )
    yield llc_delete_rkey(rkeys=[0x05002A01], count=255, version=2)
    yield patch(llc_request_add_link(gids=[SERVER_V2.gid]), 24, u8(255))


def scene(capture):
    for version, messages in ((1, version1), (2, version2)):
        connection = linux_connection(capture, version=version, sport=40000 + version, nth=version)
        connection.first_contact()
        for message in messages():
            connection.group.llc("server", message)
        connection.send("client", b"and on it goes\n")
        connection.close()
