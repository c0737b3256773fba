"""
TCP over IPv6; Proposals with eight IPv6 prefixes (the most that RFC 7609 A.2.2 allows): first with
IP area offset 0 (188 bytes, version 1), then on a second connection with offset 40 (228 bytes, as
Linux since 4.19 with SMC-D).
"""

from smcsynth.clc import NEITHER, clc_proposal, prefix_area, smcd_area
from smcsynth.octets import peer_id
from smcsynth.story import CLIENT_V1, Connection, linux_connection, linux_halves

PREFIXES = [
    "2001:db8::/64",
    "2001:db8:1::/64",
    "2001:db8:2::/56",
    "2001:db8:4000::/34",
    "fd00::/8",
    "fd12:3456::/48",
    "2001:db8::1/128",
    "::/0",
]


def scene(capture):
    area = prefix_area(prefixes=PREFIXES)
    sender = dict(
        peer=peer_id(0x5243, CLIENT_V1.mac), roce_gid=CLIENT_V1.gid, roce_mac=CLIENT_V1.mac
    )
    first = linux_connection(capture, ipv6=True)
    first.first_contact(proposal=clc_proposal(**sender, ip_area=area))
    second = Connection(first.group, *linux_halves(number=2), sport=40001, ipv6=True)
    second.proposal = lambda: clc_proposal(
        **sender, version=2, typev2=NEITHER, smcd=smcd_area(), ip_area=area
    )
    second.subsequent_contact()
    for connection in (first, second):
        connection.send("client", b"ping over IPv6\n")
        connection.send("server", b"pong over IPv6\n")
    first.close()
    second.close()
