"""
What SMC never sends but RoCE allows, on the queue pair of a living SMC-R link and beside it; and
application data that look like something else.

Data: 44 bytes that look like a CDC message, 44 that look like an LLC message, data that begin 08 00
00 00 (taken for Ethernet over InfiniBand by some), a zero-length WRITE. Packets: RNR NAK and the
SEND again, WRITE with immediate, SEND with immediate, SEND with invalidate, RDMA READ,
fetch-and-add, congestion notification, UD SENDs. At last data again: a request, since HTTP has
taken over the connection.
"""

from smcsynth import roce
from smcsynth.cdc import cdc
from smcsynth.llc import llc_delete_link
from smcsynth.octets import u32, u64
from smcsynth.story import CLIENT_V2, SERVER_V2, linux_connection


def data_that_mislead(connection):
    connection.send("client", cdc(seq=99, token=0x0501, prod=(0, 9999), flags=["abort"]))
    connection.send("client", llc_delete_link(link=1, reason=0x00040000, all_links=True))
    connection.send("client", b"\x08\x00\x00\x00" + bytes(range(96)))
    connection.send("server", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")


def receiver_not_ready(connection, link):
    """The client's CDC meets a receiver without a buffer (RNR NAK), and is sent again with the same
    PSN."""
    message = connection.cdc_message("client")
    psn = link.qp["client"].psn
    link.send("client", message, ack=False)
    link.qp["server"].msn -= 1  # not received
    link.ack("server", psn, syndrome=roce.RNR_NAK | 0x0E)
    link.qp["server"].msn += 1
    link.send("client", message, psn=psn)


def other_operations(connection, link):
    server = connection.half["server"]
    va, rkey = server.address(0x8000), server.rmb.rkeys[1]
    link.write("client", va, rkey, b"")
    link.request("client", roce.WRITE_ONLY_IMM, roce.reth(va, rkey, 8) + u32(0xCAFE) + b"with imm")
    link.request("client", roce.SEND_ONLY_IMM, u32(0xBEEF) + cdc(seq=77, token=0x0501))
    link.request("client", roce.SEND_ONLY_INV, u32(rkey) + cdc(seq=78, token=0x0501))
    psn = link.qp["client"].psn
    link.request("client", roce.READ_REQUEST, roce.reth(va, rkey, 16), ack=False)
    acknowledged = roce.aeth(roce.ACK, link.qp["server"].msn)
    link.packet("server", roce.READ_RESPONSE_ONLY, acknowledged + b"sixteen bytes ok", psn=psn)
    psn = link.qp["client"].psn
    link.request("client", roce.FETCH_ADD, u64(va) + u32(rkey) + u64(1) + u64(0), ack=False)
    link.packet(
        "server",
        roce.ATOMIC_ACKNOWLEDGE,
        roce.aeth(roce.ACK, link.qp["server"].msn) + u64(41),
        psn=psn,
    )


def scene(capture):
    connection = linux_connection(capture, version=2)
    link = connection.group.links[1]
    connection.first_contact()
    data_that_mislead(connection)
    receiver_not_ready(connection, link)
    other_operations(connection, link)
    roce.congestion_notification(capture, SERVER_V2, CLIENT_V2, dest_qp=link.qp["client"].qpn)
    for dest_qp in (1, link.qp["server"].qpn):
        roce.datagram(
            capture,
            CLIENT_V2,
            SERVER_V2,
            dest_qp=dest_qp,
            source_qp=1,
            qkey=0x80010000,
            psn=1,
            payload=cdc(seq=79, token=0x0501),
        )
    connection.send("client", b"GET /still/here HTTP/1.1\r\n\r\n")
    connection.close()
