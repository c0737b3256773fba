"""
A connection uses RDMA, and its client sends five bytes on TCP, RFC 7609 1. Before that a keepalive with one byte, which is none
of the application's. Then a connection of which the capture lacks a Decline: it may have gone back to TCP.
"""

from smcsynth.clc import clc_decline
from smcsynth.story import linux_connection

EXPECTED = {"smcr.clc.data_after_switch": [24]}


def scene(capture):
    first = linux_connection(capture)
    first.first_contact()
    first.send("client", b"by RDMA\n")
    first.tcp.segment("client", "A", b"\0", seq=first.tcp.seq["client"] - 1)
    first.tcp.segment("server", "A")
    first.tcp.send("client", b"by TCP")
    first.send("client", b"by RDMA again\n")

    second = linux_connection(capture, sport=40002, nth=2)
    second.first_contact()
    second.tcp.seq["client"] += len(clc_decline(diagnosis=0x01010000))
    second.cdc("client")
    second.tcp.send("client", b"by TCP")
