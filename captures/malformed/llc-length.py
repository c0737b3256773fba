"""
LLC and CDC length fields and sizes that cannot be, RFC 7609 A.3 and A.4: on a living link, SENDs of
44 bytes whose length says 0, 43, 45, 255; v2 messages whose length is right in neither byte order;
SENDs of 1, 4, 43 bytes; SENDs of 48 and 200 bytes that say 44; CDC messages likewise.
"""

from smcsynth.cdc import cdc
from smcsynth.llc import llc_add_link, llc_delete_rkey, llc_test_link
from smcsynth.octets import zero_filled
from smcsynth.story import MTU_1024, linux_connection


def messages():
    for length in (0, 43, 45, 255):
        yield llc_test_link(length=length)
        yield llc_delete_rkey(rkeys=[0x05002A01], length=length)
    for length in (0, 43, 0x2C2C, 0xFFFF):
        yield llc_test_link(version=2, length=length)
    yield llc_add_link(
        roce_mac="02:00:00:00:05:01",
        roce_gid="192.0.2.2",
        qpn=1,
        link=2,
        mtu_code=MTU_1024,
        psn=1,
        version=2,
        extension=bytes(8),
    )
    whole = llc_test_link()
    yield from (whole[:1], whole[:4], whole[:43], zero_filled(whole, 48), zero_filled(whole, 200))
    token = 0x0501
    yield from (cdc(seq=1, token=token, length=length) for length in (0, 43, 45, 255))
    yield from (cdc(seq=1, token=token, size=size) for size in (1, 8, 43, 48, 200))


def scene(capture):
    connection = linux_connection(capture)
    connection.first_contact()
    for message in messages():
        connection.group.llc("client", message)
    connection.send("client", b"and on it goes\n")
    connection.close()
