"""
A Proposal exactly as in RFC 7609 A.2.2: version 1, IP area offset 0, 52 bytes, and the field
"subnet mask" holds a mask.

Linux sends the network address there. The server declines because the prefixes differ (0x03070000);
data go over TCP.
"""

from smcsynth.clc import clc_decline, clc_proposal, prefix_area
from smcsynth.net import TcpConversation
from smcsynth.octets import peer_id
from smcsynth.story import CLIENT, CLIENT_V1, SERVER, SERVER_V1


def scene(capture):
    tcp = TcpConversation(capture, CLIENT, SERVER, sport=40001, dport=50000)
    tcp.handshake()
    tcp.send(
        "client",
        clc_proposal(
            peer=peer_id(1, CLIENT_V1.mac),
            roce_gid=CLIENT_V1.gid,
            roce_mac=CLIENT_V1.mac,
            ip_area=prefix_area(subnet="255.255.255.0", mask_bits=24),
        ),
    )
    tcp.send("server", clc_decline(peer=peer_id(2, SERVER_V1.mac), diagnosis=0x03070000))
    tcp.send("client", b"request over TCP\n")
    tcp.send("server", b"response over TCP\n")
    tcp.close()
