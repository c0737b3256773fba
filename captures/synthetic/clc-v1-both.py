"""
A version 1 Proposal for SMC-R and SMC-D (typev1 is 3, byte 7 is 0x13): the 40-byte SMC-D area
stands before the prefix area, IP area offset 40. The server has no ISM device and accepts SMC-R.
Linux 4.19 to 5.9, net/smc/smc_clc.c.
"""

from smcsynth.clc import BOTH, clc_proposal, prefix_area, smcd_area
from smcsynth.net import Host
from smcsynth.octets import peer_id
from smcsynth.roce import Nic
from smcsynth.story import Connection, LinkGroup, linux_halves

MAC, GID = "98:03:9b:ab:cd:ef", "fe80::9a03:9bff:feab:cdef"
PROPOSAL = clc_proposal(
    peer=peer_id(0xB1A0, MAC),
    roce_gid=GID,
    roce_mac=MAC,
    typev1=BOTH,
    smcd=smcd_area(ism_gid=0x0123456789ABCDEF),
    ip_area=prefix_area(subnet="127.0.0.0", mask_bits=8),
)


def scene(capture):
    loopback = Host("00:00:00:00:00:00", "127.0.0.1")
    group = LinkGroup(capture, [Nic(MAC, GID)], [Nic(MAC, GID)])
    group.peer["client"].instance = group.peer["server"].instance = 0xB1A0
    group.new_link(1, client=(0x105, 0x0001F0), server=(0x104, 0xFFFFF8))  # the server's PSNs wrap
    connection = Connection(group, *linux_halves(), sport=40001, hosts=(loopback, loopback))
    connection.first_contact(proposal=PROPOSAL)
    connection.send("client", b"either way is fine\n")
    connection.send("server", b"SMC-R it is\n")
    connection.close()
