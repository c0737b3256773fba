"""A link group with two links, one of which fails: what the failover scenarios have in common (RFC
7609 4.6.2)."""

from .llc import llc_delete_link
from .octets import text_lines
from .story import (
    CLIENT_V1,
    CLIENT_V1_SECOND,
    SERVER_V1,
    SERVER_V1_SECOND,
    Connection,
    Half,
    LinkGroup,
    Rmb,
)

LOST_PATH = 0x00010000


def two_links(capture, *, nth=1):
    """
    A connection on link 1 of a link group with two links; some data went both ways and were
    acknowledged. `nth` counts the link groups of a capture.
    """
    step = 0x10 * (nth - 1)
    client = Half(
        token=0x0C01,
        rmb=Rmb(0x0000010A0C000000, 32768, {1: 0x0C0C0001 + step, 2: 0x0C0C0002 + step}),
    )
    server = Half(
        token=0x0502,
        rmb=Rmb(0x0000020B05000000, 32768, {1: 0x05050001 + step, 2: 0x05050002 + step}),
    )
    group = LinkGroup(capture, [CLIENT_V1, CLIENT_V1_SECOND], [SERVER_V1, SERVER_V1_SECOND])
    group.new_link(1, client=(0x000C01 + step, 0xC10000), server=(0x000501 + step, 0x510000))
    connection = Connection(group, client, server, sport=39999 + nth)
    connection.first_contact(add_link=False)
    group.add_link(
        2,
        {"client": [client.rmb], "server": [server.rmb]},
        nic=1,
        client=(0x000C02 + step, 0xC20000),
        server=(0x000502 + step, 0x520000),
    )
    connection.send("client", text_lines(600, "before the failure, client"))
    connection.send("server", text_lines(300, "before the failure, server"))
    return connection


def lose(connection, sender, data):
    """Write data and announce them on a link that is dead: no acknowledgement comes. Returns the
    cursor before."""
    before = connection.half[sender].prod
    connection.send(sender, data, read=False, ack=False)
    return before


def fail_over(connection, *, acknowledged):
    """
    Both sides validate the other link with a CDC message that has F set and the sequence number of
    the last one `acknowledged` ({role: number}). The CDC numbering itself does not move.
    """
    connection.link = 2
    for role, seq in acknowledged.items():
        saved = connection.half[role].seq
        connection.cdc(role, flags=["failover"], seq=seq, prod=(0, 0), cons=(0, 0))
        connection.half[role].seq = saved


def delete_link_1(group):
    """The client reports the lost link, the server has it deleted (RFC 7609 A.3.4), all over link
    2."""
    group.llc("client", llc_delete_link(link=1, reason=LOST_PATH, orderly=False), link=2)
    group.llc("server", llc_delete_link(link=1, reason=LOST_PATH, orderly=False), link=2)
    group.llc(
        "client", llc_delete_link(link=1, reason=LOST_PATH, orderly=False, reply=True), link=2
    )
