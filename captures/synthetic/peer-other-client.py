"""
A server that has two clients. The link group with the first one began before the capture, that with
the second one in it. Then the first client connects again: the Accept names a queue pair of the
older group, without first contact flag.
"""

from smcsynth.story import Connection, linux_connection

EXPECTED = {"smcr.clc.first_contact_wrong": [27]}


def scene(capture):
    second = linux_connection(capture, nth=2, sport=40002)
    second.first_contact()
    second.send("client", b"second\n")
    first = linux_connection(capture, sport=40001)
    first.tcp.handshake()
    first.tcp.send("client", first.proposal())
    first.tcp.send("server", first.accept(first_contact=False))
    first.tcp.send("client", first.confirm(first_contact=False))
    first.send("client", b"first\n")
    for role in ("client", "server"):
        second.group.test_link(role)
