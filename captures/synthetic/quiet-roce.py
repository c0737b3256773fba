"""
RoCE without SMC, in which nothing may be found: connection management datagrams on queue pair 1,
bulk WRITEs and SENDs of noise, RPC-over-RDMA and NVMe-like SENDs, READ and its response, SENDs of
44 bytes that begin 0x01 but have another length byte, SENDs of 44 bytes that begin 0xfe, UD
traffic.
"""

from smcsynth import roce
from smcsynth.octets import noise, u8, u16, u32, u64, zero_filled
from smcsynth.story import CLIENT_V2, SERVER_V2


def connection_management(capture):
    """MAD of class 7, ConnectRequest, ConnectReply, ReadyToUse: 256 bytes each."""
    for psn, attribute in enumerate((0x0010, 0x0013, 0x0014)):
        ends = (CLIENT_V2, SERVER_V2) if attribute != 0x0013 else (SERVER_V2, CLIENT_V2)
        mad = bytes([1, 7, 2, 3]) + bytes(4) + u64(0x1000 + psn // 2) + u16(attribute) + bytes(6)
        roce.datagram(
            capture,
            *ends,
            dest_qp=1,
            source_qp=1,
            qkey=0x80010000,
            psn=psn,
            payload=zero_filled(mad + u32(0xC0FFEE01), 256),
        )


def scene(capture):
    connection_management(capture)
    link = roce.RoceLink(
        capture,
        roce.QueuePair(CLIENT_V2, 0x31, 0x400000),
        roce.QueuePair(SERVER_V2, 0x5D3, 0x500000),
        sport=49300,
    )
    for number in range(4):
        link.write(
            "client", 0x7F0000000000 + number * 0x10000, 0x1234, noise(9000, f"write {number}")
        )
        link.send("server", noise(200, f"send {number}"))
    link.send(
        "client", u32(0x11223344) + u32(1) + u32(32) + u32(0) + bytes(12) + noise(40, "rpc call")
    )
    link.send(
        "client",
        u8(0x01) + u8(0x40) + u16(7) + u32(1) + bytes(16) + u64(0x7F00DEAD0000) + bytes(32),
    )  # NVMe
    link.send("server", u64(0) + u16(1) + u16(1) + u16(7) + u16(0))  # NVMe completion
    for data in (
        b"\x01\x2d" + noise(42, "44 bytes"),
        b"\x01\x00" + bytes(42),
        b"\xfe\x2b" + noise(42, "no CDC"),
        b"\xfe\x00" + bytes(42),
        noise(44, "just 44 bytes"),
    ):
        link.send("client", data)
    psn = link.qp["client"].psn
    link.request("client", roce.READ_REQUEST, roce.reth(0x7F0000000000, 0x1234, 512), ack=False)
    acknowledged = roce.aeth(roce.ACK, link.qp["server"].msn)
    link.packet("server", roce.READ_RESPONSE_ONLY, acknowledged + noise(512, "read"), psn=psn)
    roce.datagram(
        capture,
        CLIENT_V2,
        SERVER_V2,
        dest_qp=0x77,
        source_qp=0x78,
        qkey=0x11111111,
        psn=9,
        payload=noise(300, "datagram"),
    )
    roce.congestion_notification(capture, SERVER_V2, CLIENT_V2, dest_qp=0x31)
