"""
What ANCK, Alibaba's kernel, adds to SMC-R: credits in Accept, Confirm, ADD LINK and CDC; ANNOUNCE CREDITS; RDMA WRITE
with immediate data instead of CDC; a Decline of its own. net/smc/smc_clc.h, smc_llc.h, smc_cdc.h, smc_wr.h there.
"""

from smcsynth import roce
from smcsynth.clc import clc_decline
from smcsynth.llc import REPLY, llc_message
from smcsynth.octets import patch
from smcsynth.octets import u32
from smcsynth.story import CLIENT_V1_SECOND, SERVER_V1_SECOND, clc_conversation, linux_connection

CREDITS, DECLINE = 64, 0x09990004
DATA, DATA_CR = 0, 6  # opcodes of the immediate data, union smc_wr_imm_msg: token 8 bits, opcode 3, the rest by opcode


def scene(capture):
    connection = linux_connection(capture)
    connection.first_contact()
    link = connection.group.links[1]
    link.send("server", llc_message(0x0A, bytes([CREDITS]) + bytes(39), flags=REPLY))
    connection.send("client", b"announced by a message with credits\n")
    link.send("server", patch(connection.cdc_message("server"), 26, bytes([3])))
    server = connection.half["server"]
    token = 5 << 24
    for place, message in ((36, token | DATA << 21), (52, token | DATA_CR << 21 | 3 << 13 | 16)):  # credits, step
        packet = roce.reth(server.address(place), server.rmb.rkeys[1], 16) + u32(message) + b"with immediate.\n"
        link.request("client", roce.WRITE_ONLY_IMM, packet)
    connection.cdc("client", prod=(7, 68))
    second = linux_connection(capture, sport=40001, nth=2, nics=(CLIENT_V1_SECOND, SERVER_V1_SECOND))
    clc_conversation(capture, 40001, ("client", second.proposal()),
                     ("server", patch(second.accept(), 51, bytes([CREDITS]))))
    clc_conversation(capture, 40002, ("client", connection.proposal()), ("server", clc_decline(diagnosis=DECLINE)))
