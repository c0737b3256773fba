"""
A whole SMC-R story on the loopback of one host: handshake, CLC, CONFIRM LINK, data both ways,
orderly close.

Proposal, Accept and Confirm are the messages of a real handshake, published in the README of
hwipl/smc-clc: RFC 7609 A.2.2 to A.2.4 with IP area offset 0. Both ends have the same GID; the queue
pair numbers tell them apart.
"""

from smcsynth.net import Host
from smcsynth.roce import Nic
from smcsynth.story import Connection, Half, LinkGroup, Rmb

PROPOSAL = bytes.fromhex(
    "e2d4c3d901003410b1a098039babcdeffe800000000000009a039bfffeabcdef98039babcdef00007f0000000800"
    "0000e2d4c3d9"
)
ACCEPT = bytes.fromhex(
    "e2d4c3d902004418b1a098039babcdeffe800000000000009a039bfffeabcdef98039babcdef0000e40000157d01"
    "00000005230000000000"
    "f0a600000072f5fee2d4c3d9"
)
CONFIRM = bytes.fromhex(
    "e2d4c3d903004410b1a098039babcdeffe800000000000009a039bfffeabcdef98039babcdef0000e50000187f01"
    "00000006230000000000"
    "f0a40000000d89a4e2d4c3d9"
)


def scene(capture):
    host = Host("00:00:00:00:00:00", "127.0.0.1")
    nic = Nic("98:03:9b:ab:cd:ef", "fe80::9a03:9bff:feab:cdef")
    group = LinkGroup(capture, [nic], [nic])
    group.new_link(1, client=(229, 887204), server=(228, 7534078))
    connection = Connection(
        group,
        Half(token=6, rmb=Rmb(0xF0A40000, 65536, {1: 6271})),
        Half(token=5, rmb=Rmb(0xF0A60000, 65536, {1: 5501})),
        sport=60294,
        port=50000,
        hosts=(host, host),
    )
    connection.first_contact(proposal=PROPOSAL, accept=ACCEPT, confirm=CONFIRM)
    connection.send("client", b"Hello, world\n")
    connection.send("server", b"Hello, client\n" * 200)
    connection.send("client", b"Bye\n")
    connection.close()
