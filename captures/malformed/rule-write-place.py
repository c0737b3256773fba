"""
Where RDMA WRITEs may go within an RMB element, RFC 7609 4.2, 4.7: one leaves out 100 bytes, one
begins in the eyecatcher. In a second link group one leaves out 100 bytes, too, but the capture
lacks the packet before it, which may have had them.
"""

from smcsynth.story import CLIENT_V1_SECOND, SERVER_V1_SECOND, linux_connection

EXPECTED = {"smcr.packet_ahead": [57], "smcr.write.hole": [22], "smcr.write.outside": [26]}
HOLE = 100


def scene(capture):
    for lossy, nics in enumerate((None, (CLIENT_V1_SECOND, SERVER_V1_SECOND))):
        connection = linux_connection(capture, sport=40000 + lossy, nth=1 + lossy, nics=nics)
        connection.group.no_eyecatcher = False
        for half in connection.half.values():
            half.base, half.prod, half.cons, half.announced = 4, (0, 4), (0, 4), (0, 4)
        connection.first_contact()
        connection.send("client", b"before the hole\n")
        if lossy:
            connection.group.links[1].lose("client")
        wrap, count = connection.half["client"].prod
        connection.half["client"].prod = wrap, count + HOLE
        connection.send("client", b"behind the hole\n")
        if not lossy:
            server = connection.half["server"]
            connection.group.links[1].write(
                "client", server.address(2), server.rmb.rkeys[1], b"eyes"
            )
        for role in ("client", "server"):
            connection.group.test_link(role)
