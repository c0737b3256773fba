"""
A connection uses RDMA, and its client sends five bytes on TCP, RFC 7609 1. Before that a keepalive
with one byte, which is none of the application's. Then a connection of which the capture lacks a
Decline: it may have gone back to TCP. Then one whose conversation HTTP has taken by its first
bytes, on RDMA, and one with the beginning of a request on TCP, which TCP would put together with
what comes behind it. Then a server that sends data with its FIN, behind that of the client, and
more behind that: nobody takes in what comes behind a FIN.
"""

from smcsynth.clc import clc_decline
from smcsynth.story import linux_connection

EXPECTED = {"smcr.clc.data_after_switch": [24, 72, 95, 120]}


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

    third = linux_connection(capture, sport=40003, port=50080, nth=3)
    third.first_contact()
    third.send("client", b"GET / HTTP/1.1\r\nHost: b\r\n\r\n")
    third.tcp.send("client", b"by TCP")

    fourth = linux_connection(capture, sport=40004, port=80, nth=4)
    fourth.first_contact()
    fourth.send("client", b"GET / HTTP/1.1\r\nHost: b\r\n\r\n")
    fourth.tcp.send("client", b"GET / HTTP/1.1\r\n")

    fifth = linux_connection(capture, sport=40005, nth=5)
    fifth.first_contact()
    fifth.send("client", b"by RDMA\n")
    fifth.tcp.fin("client")
    fifth.tcp.segment("server", "FPA", b"by TCP")
    fifth.tcp.seq["server"] += 7
    fifth.tcp.send("server", b"by TCP")
