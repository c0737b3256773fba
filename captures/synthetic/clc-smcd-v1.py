"""
SMC-D version 1: Proposal for SMC-D only, Accept and Confirm of 48 bytes with eyecatcher E2D4C3C4,
and then nothing on the network but the FINs, since the data go through the ISM device. Layout:
Linux net/smc/smc_clc.h, struct smcd_clc_msg_*.

A second connection offers both SMC-R and SMC-D (byte 7 is 0x13) and the server chooses SMC-D.
"""

from smcsynth.clc import (
    ACCEPT,
    BOTH,
    CONFIRM,
    ONLY_D,
    clc_proposal,
    clc_smcd,
    prefix_area,
    smcd_area,
)
from smcsynth.octets import peer_id
from smcsynth.story import CLIENT_V1, clc_conversation

CLIENT_ISM, SERVER_ISM = 0x1801C00000000001, 0x1801C00000000002


def scene(capture):
    area = prefix_area(subnet="192.0.2.0", mask_bits=24)
    smcd = smcd_area(ism_gid=CLIENT_ISM)
    accept = clc_smcd(
        ACCEPT, ism_gid=SERVER_ISM, token=0x0500000000000101, index=0, size_code=2, link_id=0x0100
    )
    confirm = clc_smcd(
        CONFIRM, ism_gid=CLIENT_ISM, token=0x0C00000000000101, index=0, size_code=2, link_id=0x0200
    )
    only_d = clc_proposal(typev1=ONLY_D, smcd=smcd, ip_area=area)
    both = clc_proposal(
        peer=peer_id(0x5243, CLIENT_V1.mac),
        roce_gid=CLIENT_V1.gid,
        roce_mac=CLIENT_V1.mac,
        typev1=BOTH,
        smcd=smcd,
        ip_area=area,
    )
    for sport, proposal in ((40001, only_d), (40002, both)):
        clc_conversation(
            capture, sport, ("client", proposal), ("server", accept), ("client", confirm)
        )
