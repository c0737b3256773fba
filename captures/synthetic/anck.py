"""
What ANCK, Alibaba's kernel, adds to SMC-R: credits in Accept, Confirm, ADD LINK and CDC; ANNOUNCE
CREDITS; RDMA WRITE with immediate data instead of CDC; a Decline of its own. net/smc/smc_clc.h,
smc_llc.h, smc_cdc.h, smc_wr.h there.

The last connection agrees on immediate data, in the vendor options of its first contact; the first
one does not.
"""

from smcsynth import roce
from smcsynth.clc import clc_decline, first_contact_extension, smcd_area, v2_extension
from smcsynth.llc import REPLY, llc_message
from smcsynth.octets import patch
from smcsynth.octets import u32
from smcsynth.story import (
    CLIENT_V1_SECOND,
    CLIENT_V2,
    EID,
    SERVER_V1_SECOND,
    clc_conversation,
    linux_connection,
    other,
)

CREDITS, DECLINE = 64, 0x09990004
VALID, CREDITS_EN, RWWI_EN = 0x80, 0x40, 0x20  # struct smc_clc_vendor_opt_ali, first byte
DATA, DATA_WITH_FLAGS, CTRL, RSVD, DATA_CR, DATA_WITH_FLAGS_CR = (
    0,
    1,
    2,
    3,
    6,
    7,
)  # opcodes of the immediate data, union smc_wr_imm_msg: token 8 bits, opcode 3, the rest by opcode


def scene(capture):
    connection = linux_connection(capture)
    connection.first_contact()
    link = connection.group.links[1]
    link.send("server", llc_message(0x0A, bytes([CREDITS]) + bytes(39), flags=REPLY))
    connection.send("client", b"announced by a message with credits\n")
    link.send("server", patch(connection.cdc_message("server"), 26, bytes([3])))
    server = connection.half["server"]
    token = 5 << 24
    for place, message in (
        (36, token | DATA << 21),
        (52, token | DATA_CR << 21 | 3 << 13 | 16),
    ):  # credits, step
        packet = (
            roce.reth(server.address(place), server.rmb.rkeys[1], 16)
            + u32(message)
            + b"with immediate.\n"
        )
        link.request("client", roce.WRITE_ONLY_IMM, packet)
    connection.cdc("client", prod=(7, 68))
    second = linux_connection(
        capture, sport=40001, nth=2, nics=(CLIENT_V1_SECOND, SERVER_V1_SECOND)
    )
    clc_conversation(
        capture,
        40001,
        ("client", second.proposal()),
        ("server", patch(second.accept(), 51, bytes([CREDITS]))),
    )
    clc_conversation(
        capture,
        40002,
        ("client", connection.proposal()),
        ("server", clc_decline(diagnosis=DECLINE)),
    )
    agree(capture)


def agree(capture):
    """A connection of which both sides take part; one opcode is reserved, and one token not the
    receiver's."""
    connection = linux_connection(capture, version=2, sport=40003, nth=3)
    options = bytes([VALID | CREDITS_EN | RWWI_EN, 0, 0, 0])
    extension = v2_extension(
        eids=[EID], roce_gid=CLIENT_V2.gid, release=1, max_conns=255, max_links=2
    )
    agreed = dict(release=1, vendor=options, max_conns=255, max_links=2)
    connection.half["client"].token, connection.half["server"].token = 0x1C, 0xF5
    connection.group.max_conns = 255
    connection.first_contact(
        proposal=connection.proposal(
            v2=extension, smcd=smcd_area(v2_offset=28, vendor=bytes(1) + options)
        ),
        accept=patch(
            connection.accept(fce=first_contact_extension(hostname="server", **agreed)),
            51,
            bytes([CREDITS]),
        ),
        confirm=patch(
            connection.confirm(
                fce=first_contact_extension(hostname="client", **agreed), gids=[CLIENT_V2.gid]
            ),
            51,
            bytes([CREDITS]),
        ),
    )
    written = {"client": 0, "server": 0}

    def write(sender, data, message, token=None):
        receiver = connection.half[other(sender)]
        place = receiver.address(written[sender] if data else 0)
        immediate = u32((token or receiver.token) << 24 | message)
        connection.group.links[1].request(
            sender,
            roce.WRITE_ONLY_IMM,
            roce.reth(place, receiver.rmb.rkeys[1], len(data)) + immediate + data,
        )
        written[sender] += len(data)

    write("client", b"sixteen bytes...", DATA << 21)
    write("server", b"answer", DATA << 21 | 16)
    write("client", b"." * 900, DATA << 21 | 6)
    write(
        "server", b"urgent!", DATA_WITH_FLAGS << 21 | 1 << 20 | 1 << 18 | 900
    )  # blocked, urgent data present; step
    write("client", b"more", DATA_CR << 21 | 5 << 13 | 7)  # credits; step
    write("server", b"-" * 1024, DATA << 21 | 4)
    write(
        "client", b"blocked", DATA_WITH_FLAGS_CR << 21 | 1 << 19 | 255 << 10 | 1023
    )  # urgent data pending; credits; the highest step, less than the client has read
    write("client", b"?", RSVD << 21 | 77)
    write("client", b"whose?", DATA << 21 | 6, token=0xF6)
    write("server", b"", CTRL << 21 | 0x10 << 8 | 0x80)  # cursor update requested; sending done
    write("client", b"", CTRL << 21 | 0x08 << 8 | 0x60)  # failover validation; closed, abort
