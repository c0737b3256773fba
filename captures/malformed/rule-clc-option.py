"""
The TCP option of SMC-R, RFC 7609 1, 3.5.1.1: CLC although the SYN-ACK has no option, and although
the SYN has none. The client's option on its ACK is right; that of the server behind its SYN-ACK is
not, which does no harm.
"""

from smcsynth.clc import clc_decline, smc_option
from smcsynth.net import TcpConversation
from smcsynth.story import CLIENT, SERVER, linux_connection

EXPECTED = {"smcr.clc.declined": [6], "smcr.clc.no_option": [4, 14], "smcr.fallback": [2, 16, 27]}


def scene(capture):
    proposal = linux_connection(capture).proposal()
    for number, options in enumerate(({"synack": b""}, {"syn": b""}, {"ack": smc_option()})):
        tcp = TcpConversation(capture, CLIENT, SERVER, sport=41001 + number, dport=50000)
        tcp.handshake(**options)
        if number == 2:
            tcp.segment("server", "A", options=smc_option())
        tcp.send("client", proposal)
        tcp.send("server", clc_decline(diagnosis=0x03030000))
        tcp.close()
