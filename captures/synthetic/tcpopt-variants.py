"""
TCP options 253 and 254 (RFC 4727, RFC 6994) in handshakes: the SMC option of RFC 7609 A.1 and what
resembles it.

One handshake for each row of VARIANTS, client ports 40001 and up in this order; the SYN-ACK repeats
the SYN's option unless the row gives another. Nothing follows but FINs.
"""

from smcsynth.clc import smc_option
from smcsynth.net import NOP, TcpConversation
from smcsynth.story import CLIENT, SERVER

SMC = smc_option()
VARIANTS = [
    # SYN, SYN-ACK (None: the same), third ACK
    (SMC, None, b""),
    (SMC, None, SMC),  # the client repeats it on the ACK, RFC 7609 3.2
    (SMC, b"", b""),  # server without SMC
    (b"", SMC, b""),  # an answer to a question that was not asked
    (smc_option(kind=253), None, b""),  # the other experimental kind
    (smc_option(exid=bytes.fromhex("e2d4c3d90102")), None, b""),  # data after the ExID
    (smc_option(exid=bytes.fromhex("e2d4")), None, b""),  # 16-bit ExID of the same beginning
    (smc_option(exid=b""), None, b""),  # no ExID at all
    (smc_option(exid=bytes.fromhex("e2d4c3")), None, b""),  # cut ExID
    (smc_option(exid=bytes.fromhex("e2d40000")), None, b""),  # another 32-bit ExID, same first half
    (
        smc_option(exid=bytes.fromhex("f989")),
        None,
        b"",
    ),  # TCP Fast Open, experimental form: request
    (smc_option(exid=bytes.fromhex("f9891122334455667788")), None, b""),  # with a cookie
    (smc_option(kind=253, exid=bytes.fromhex("c0de0001")), None, b""),  # unknown ExID
    (SMC + smc_option(exid=bytes.fromhex("f989")), None, b""),  # two experimental options
    (SMC + SMC, None, b""),  # twice
    (smc_option(length=40), None, b""),  # length beyond the TCP header
    (smc_option(length=0), None, b""),  # impossible length
]


def scene(capture):
    for number, (syn, synack, ack) in enumerate(VARIANTS):
        tcp = TcpConversation(capture, CLIENT, SERVER, sport=40001 + number, dport=50000)
        options = (syn, syn if synack is None else synack, ack)
        tcp.handshake(*(NOP * 2 + option if option else b"" for option in options))
        tcp.close()
