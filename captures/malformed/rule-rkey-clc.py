"""
CLC names RMBs that CONFIRM RKEY has not announced, RFC 7609 3.5.2, 3.5.5.2.1. The Accept names one
that it never does. The Confirm names one whose CONFIRM RKEY is answered 50 ms later. In a second
link group the same, but the capture lacks a packet of the server and one of the client.
"""

from smcsynth.llc import llc_confirm_rkey
from smcsynth.rkeys import begin, connect, exchange, go_on

EXPECTED = {
    "smcr.packet_ahead": [79, 83],
    "smcr.rkey.not_announced": [27],
    "smcr.rkey_not_confirmed": [27, 77],
}


def scene(capture):
    for nth in (1, 2):
        group = begin(capture, nth).group
        connection = connect(group, nth, 2)
        connection.tcp.handshake()
        connection.tcp.send("client", connection.proposal())
        if nth == 2:
            group.links[1].lose("server")
        connection.tcp.send("server", connection.accept(first_contact=False))
        rmb = connection.half["client"].rmb
        if nth == 2:
            group.links[1].lose("client")
        group.llc("client", llc_confirm_rkey(rkey=rmb.rkeys[1], va=rmb.va))
        connection.tcp.send("client", connection.confirm(first_contact=False))
        capture.wait(0.05)
        group.llc("server", llc_confirm_rkey(rkey=rmb.rkeys[1], va=rmb.va, reply=True))
        exchange(connection)
        capture.wait(1)
        go_on(group)
