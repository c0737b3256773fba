"""
Queue pairs of links that live, RFC 7609 2.2.3, C.4: a first contact names that of an active link;
one that ADD LINK has announced; an Accept names the client's end of a link. Then a first contact on
the queue pair of a link group that has ended.
"""

from smcsynth.clc import clc_decline
from smcsynth.llc import llc_add_link
from smcsynth.story import MTU_1024, Connection, linux_connection, linux_halves

EXPECTED = {"smcr.clc.qp_taken": [31, 70, 107], "smcr.fallback": [33, 72, 109, 166]}


def accepts(first, number, first_contact, **fields):
    """The server accepts another connection with this queue pair; the client declines."""
    connection = Connection(first.group, *linux_halves(number=number), sport=41000 + number)
    connection.tcp.handshake()
    connection.tcp.send("client", connection.proposal())
    connection.tcp.send("server", connection.accept(first_contact=first_contact, **fields))
    connection.tcp.send("client", clc_decline(diagnosis=0x03030000))
    connection.tcp.close()


def group(capture, nth):
    first = linux_connection(capture, sport=40000 + nth, nth=nth)
    first.first_contact()
    first.send("client", b"data\n")
    first.send("server", b"data\n")
    return first


def scene(capture):
    accepts(group(capture, 1), 10, True)
    first = group(capture, 2)
    pair = first.group.links[1].qp["server"]
    first.group.llc(
        "server",
        llc_add_link(
            roce_mac=pair.nic.mac,
            roce_gid=pair.nic.gid,
            qpn=0x7777,
            link=3,
            mtu_code=MTU_1024,
            psn=1,
        ),
    )
    accepts(first, 20, True, qpn=0x7777)
    first = group(capture, 3)
    client = first.group.links[1].qp["client"]
    accepts(first, 30, False, qpn=client.qpn, roce_gid=client.nic.gid, roce_mac=client.nic.mac)
    first = group(capture, 4)
    first.close()
    first.group.delete_link_group()
    accepts(first, 40, True)
