"""
RoCE packets of an SMC-R link that are broken below SMC: a WRITE whose DMA length is larger and
smaller than its data, one outside of the RMB, one with an RKey that nobody announced, a WRITE last
without first, a wrong ICRC, a packet cut in the RETH, a CDC message with a token that nobody
announced.
"""

from smcsynth import roce
from smcsynth.octets import patch
from smcsynth.story import linux_connection


def scene(capture):
    connection = linux_connection(capture, version=2)
    connection.first_contact()
    link, server = connection.group.links[1], connection.half["server"]
    va, rkey = server.address(0), server.rmb.rkeys[1]
    link.request(
        "client", roce.WRITE_ONLY, roce.reth(va, rkey, 0xFFFFFFFF) + b"too long a length..."
    )
    link.request("client", roce.WRITE_ONLY, roce.reth(va, rkey, 4) + b"too short a length..")
    link.write("client", va + server.rmb.size, rkey, b"beyond the end of the RMB")
    link.write("client", va - 8, rkey, b"before it")
    link.write("client", va, 0x0BADF00D, b"to an unknown RKey")
    link.request("client", roce.WRITE_LAST, b"last without first")
    link.send("client", connection.cdc_message("client", token=0x0BADF00D))
    link.send("client", connection.cdc_message("client"))
    when, frame = capture.frames[-2]
    capture.frames[-2] = (when, patch(frame, len(frame) - 4, b"\xde\xad\xbe\xef"))
    link.request("client", roce.WRITE_ONLY, roce.reth(va, rkey, 16)[:12])
    connection.send("client", b"and on it goes\n")
    connection.close()
