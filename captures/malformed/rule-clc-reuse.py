"""
An RMB element, and an alert token, that a second connection gets while the first one is open, RFC
7609 3.5.2, A.2.3; then their owner goes on with the first one. The same with connections that have
ended, and with one that goes on no more. At last the same where the capture lacks a CDC message of
the first connection.
"""

from smcsynth.story import (
    CLIENT_V1_SECOND,
    SERVER_V1_SECOND,
    Connection,
    Half,
    linux_connection,
    linux_halves,
)

EXPECTED = {
    "smcr.packet_ahead": [341],
    "smcr.rmb.element_in_use": [56],
    "smcr.token_in_use": [188],
    "smcr.token_reused": [180, 224],
}


def reuse(first, number, token):
    """A second connection gets the element, or the token, of the server's side of the first one."""
    client, server = linux_halves(number=number)
    old = first.half["server"]
    server = (
        Half(token=old.token, rmb=server.rmb) if token else Half(token=server.token, rmb=old.rmb)
    )
    second = Connection(first.group, client, server, sport=41000 + number)
    second.tcp.handshake()
    second.tcp.send("client", second.proposal())
    if token:
        first.group.confirm_rkey("server", server.rmb)
    second.tcp.send("server", second.accept(first_contact=False))
    first.group.confirm_rkey("client", client.rmb)
    second.tcp.send("client", second.confirm(first_contact=False))
    return second


def another(first, number):
    """A connection that uses the group rightly."""
    connection = Connection(first.group, *linux_halves(number=number), sport=40000 + number)
    connection.subsequent_contact()
    connection.send("client", b"open\n")
    connection.send("server", b"open\n")
    return connection


def scene(capture):
    first = linux_connection(capture)
    first.first_contact()
    for number, token in ((10, False), (20, True)):
        open_one = another(first, number)
        reuse(open_one, number + 1, token)
        capture.wait(1.1)
        open_one.cdc("server")
        silent = another(first, number + 2)
        reuse(silent, number + 3, token)
        ended = another(first, number + 4)
        ended.close(delete_rkeys=False)
        reuse(ended, number + 5, token).send("server", b"new\n")
        capture.wait(1.1)
    group = linux_connection(capture, sport=40002, nth=2, nics=(CLIENT_V1_SECOND, SERVER_V1_SECOND))
    group.first_contact()
    open_one = another(group, 40)
    reuse(open_one, 41, False)
    capture.wait(1.1)
    open_one.half["server"].seq += 1
    group.group.links[1].lose("server")
    open_one.cdc("server")
