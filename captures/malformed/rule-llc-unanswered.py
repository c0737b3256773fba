"""
LLC requests without a response, RFC 7609 4.5.3, C.7.1. Port 40000: the client sends TEST LINK, then
CONFIRM RKEY, and goes on six seconds later as if it had the responses. Port 40001: the server does
so after its first ADD LINK. Port 40002: the response to ADD LINK comes after three seconds. Port
40003: the first CONFIRM LINK, which the client's adapter has taken in, has no response; the server
declines. Then TEST LINK again where the capture lacks a packet; and a server that declines since
its CONFIRM LINK does not arrive.
"""

from smcsynth.clc import clc_decline
from smcsynth.llc import llc_add_link, llc_confirm_link, llc_confirm_rkey, llc_test_link
from smcsynth.story import MTU_1024, linux_connection

EXPECTED = {
    "smcr.fallback": [73, 106],
    "smcr.llc.late_response": [60],
    "smcr.llc.no_recovery": [16, 22, 41, 73],
    "smcr.no_response": [14, 20, 39, 71, 88, 90],
    "smcr.packet_ahead": [88],
}
TIMEOUT = 0x02010000


def first_contact(capture, nth):
    connection = linux_connection(capture, sport=39999 + nth, nth=nth)
    connection.first_contact(add_link=False)
    return connection


def goes_on(capture, connection, sender, request):
    connection.group.llc(sender, request)
    capture.wait(6)
    connection.send(sender, b"as if nothing had happened\n")


def add_link(connection, **fields):
    pair = connection.group.links[1].qp["server"]
    return llc_add_link(
        roce_mac=pair.nic.mac,
        roce_gid=pair.nic.gid,
        qpn=0x700,
        link=2,
        mtu_code=MTU_1024,
        psn=0x300000,
        **fields
    )


def declined(capture, nth, *, ack):
    connection = linux_connection(capture, sport=39999 + nth, nth=nth)
    connection.tcp.handshake()
    connection.tcp.send("client", connection.proposal())
    connection.tcp.send("server", connection.accept())
    connection.tcp.send("client", connection.confirm())
    pair = connection.group.links[1].qp["server"]
    connection.group.llc(
        "server",
        llc_confirm_link(
            roce_mac=pair.nic.mac, roce_gid=pair.nic.gid, qpn=pair.qpn, link=1, user_id=0x0B01
        ),
        ack=ack,
    )
    capture.wait(2.5)
    connection.tcp.send(
        "server", clc_decline(peer=connection.group.peer["server"].id, diagnosis=TIMEOUT)
    )


def scene(capture):
    first = first_contact(capture, 1)
    goes_on(capture, first, "client", llc_test_link(user_data=b"hello?"))
    goes_on(capture, first, "client", llc_confirm_rkey(rkey=0x0E0E0001, va=0x30C0000))
    second = first_contact(capture, 2)
    goes_on(capture, second, "server", add_link(second))
    third = first_contact(capture, 3)
    third.group.llc("server", add_link(third))
    capture.wait(3)
    third.group.llc("client", add_link(third, reply=True, reject=True, reason=1))
    declined(capture, 4, ack=True)
    fifth = first_contact(capture, 5)
    fifth.group.links[1].lose("server")
    fifth.group.llc("server", llc_test_link())
    goes_on(capture, fifth, "client", llc_test_link(user_data=b"hello?"))
    declined(capture, 6, ack=False)
