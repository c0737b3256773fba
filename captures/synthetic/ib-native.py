"""
LLC and CDC messages and RDMA WRITEs on native InfiniBand: each packet is LRH, GRH, BTH, ..., ICRC,
VCRC in an ERF record, which Wireshark reads. The TCP connection runs elsewhere and is not in the
capture. RFC 7609 is written for RoCE; the messages are the same.
"""

from smcsynth.capture import LINKTYPE_ERF, erf_infiniband
from smcsynth.octets import text_lines
from smcsynth.story import linux_connection

LINKTYPE = LINKTYPE_ERF


def scene(capture):
    connection = linux_connection(capture, transport="infiniband")
    group = connection.group
    group.confirm_link()
    group.add_link_rejected()
    connection.send("client", b"over InfiniBand\n")
    connection.send("server", text_lines(2500, "over InfiniBand"))
    group.test_link("server")
    connection.cdc("client", flags=["closed"])
    connection.cdc("server", flags=["closed"])
    for role in ("server", "client"):
        group.delete_rkey(role, connection.half[role].rmb)
    capture.encapsulate(erf_infiniband)
