"""
A link group of release 1 with more connections than both sides have agreed on (net/smc/smc_clc.h):
one is closed, another takes its place, and a third one comes beside the two. In a second link group
the third one comes, too, but the capture lacks a packet, which may have closed one.
"""

from smcsynth.clc import first_contact_extension, v2_extension
from smcsynth.roce import Nic
from smcsynth.story import CLIENT_V2, EID, SERVER_V2, Connection, linux_connection, linux_halves

EXPECTED = {"smcr.lgr.too_many_conns": [73], "smcr.packet_ahead": [163]}
TERMS = dict(release=1, max_conns=2, max_links=2)
OTHER = Nic("02:00:00:00:0c:09", "192.0.2.9"), Nic("02:00:00:00:05:09", "192.0.2.10")


def first_contact(capture, nth, nics):
    connection = linux_connection(capture, version=2, sport=40000 + nth, nth=nth, nics=nics)
    connection.group.max_conns = TERMS["max_conns"]
    fce = [first_contact_extension(hostname=role, **TERMS) for role in ("server", "client")]
    offer = v2_extension(eids=[EID], roce_gid=nics[0].gid, **{**TERMS, "max_conns": 255})
    connection.first_contact(
        add_link=False,
        proposal=connection.proposal(v2=offer),
        accept=connection.accept(fce=fce[0]),
        confirm=connection.confirm(fce=fce[1]),
    )
    connection.send("client", b"first\n")
    return connection


def another(group, number):
    connection = Connection(group, *linux_halves(16384, number=number), sport=41000 + number)
    connection.subsequent_contact()
    connection.send("client", b"one more\n")
    return connection


def scene(capture):
    for nth, nics in enumerate(((CLIENT_V2, SERVER_V2), OTHER), 1):
        connection = first_contact(capture, nth, nics)
        group = connection.group
        for role in ("client", "server"):
            connection.cdc(role, flags=["closed"])
        another(group, 10 * nth + 1)
        another(group, 10 * nth + 2)
        if nth == 2:
            group.links[1].lose("client")
        another(group, 10 * nth + 3)
        capture.wait(1.5)
        for role in ("client", "server"):
            group.test_link(role)
