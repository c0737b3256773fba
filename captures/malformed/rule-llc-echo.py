"""
ADD LINK, RFC 7609 3.5.1.6, A.3.2: the client accepts link 5 where the server offers link 2. A
request has the flag of a rejection.
"""

from smcsynth.llc import llc_add_link
from smcsynth.story import CLIENT_V1_SECOND, MTU_1024, SERVER_V1_SECOND, linux_connection

EXPECTED = {"smcr.llc.flags_invalid": [18], "smcr.llc.not_echoed": [16]}


def add_link(nic, qpn, **fields):
    return llc_add_link(
        roce_mac=nic.mac, roce_gid=nic.gid, qpn=qpn, mtu_code=MTU_1024, psn=0x300000, **fields
    )


def scene(capture):
    connection = linux_connection(capture)
    connection.first_contact(add_link=False)
    group = connection.group
    group.llc("server", add_link(SERVER_V1_SECOND, 0x700, link=2))
    group.llc("client", add_link(CLIENT_V1_SECOND, 0x800, link=5, reply=True))
    group.llc("server", add_link(SERVER_V1_SECOND, 0x701, link=3, reject=True))
