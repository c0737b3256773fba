"""
DELETE RKEY with errors, RFC 7609 A.3.7. Port 40001, version 1: eight RKeys of which the receiver
does not know the second and the fourth: negative reply with error mask 0x50. Port 40002, version 2:
ten RKeys; the reply has zeros in their place, byte 5 is the number of RKeys that were not valid
(Linux net/smc/smc_llc.c).
"""

from smcsynth.llc import llc_delete_rkey
from smcsynth.story import linux_connection


def scene(capture):
    for version, count, errors in ((1, 8, 0x50), (2, 10, 2)):
        connection = linux_connection(capture, version=version, sport=40000 + version, nth=version)
        connection.first_contact()
        connection.send("client", b"data\n")
        connection.close(delete_rkeys=False)
        own = connection.half["server"].rmb.rkeys[1]
        rkeys = [own + 0x100 * n for n in range(count)]
        group = connection.group
        group.llc("server", llc_delete_rkey(rkeys=rkeys, version=version))
        group.llc(
            "client",
            llc_delete_rkey(
                rkeys=rkeys if version == 1 else [0] * count,
                reply=True,
                negative=True,
                error_mask=errors,
                version=version,
            ),
        )
