"""
What Accept and Confirm may take of what the message before offers, SMC version 2
(net/smc/smc_clc.h), one TCP connection each: an Accept of version 2 where the Proposal has version
1; of version 1, and of SMC-D, where it offers SMC-R of version 2; with another EID; with a higher
release; with more connections; more links; more features. A Confirm of version 1 on an Accept of
version 2; with a lower release; fewer connections; fewer links; more features; without the direct
route. At last one that keeps to it all.
"""

from smcsynth.clc import ACCEPT, clc_smcd, first_contact_extension, v2_extension
from smcsynth.story import CLIENT_V2, EID, clc_conversation, linux_connection

EXPECTED = {
    "smcr.clc.direct_differs": [128],
    "smcr.clc.eid_wrong": [32, 78],
    "smcr.clc.not_negotiated": [5, 14, 23, 41, 50, 59, 68, 78, 88, 98, 108, 118],
    "smcr.no_roce": [78, 88, 98, 108, 118, 128, 138],
}
OFFER = dict(release=1, max_conns=64, max_links=2, features=0)
AGREED = dict(OFFER, max_conns=32)
ACCEPTS = [dict(max_conns=65), dict(max_links=3), dict(features=1)]
CONFIRMS = [
    dict(release=0, max_conns=0, max_links=0),
    dict(max_conns=31),
    dict(max_links=1),
    dict(features=1),
    dict(direct=False),
    {},
]


def handshake(capture, number, *, version=2, proposal=(), accept=(), confirm=(), messages=3):
    """CLC of a first contact, and nothing more."""
    connection = linux_connection(capture, version=version, nth=number)
    extension = v2_extension(eids=[EID], roce_gid=CLIENT_V2.gid, **OFFER)
    offer = dict(v2=extension) if version == 2 else {}
    made = [
        ("client", connection.proposal(**offer | dict(proposal))),
        ("server", connection.accept(**dict(accept))),
        ("client", connection.confirm(**dict(confirm))),
    ]
    clc_conversation(capture, 40000 + number, *made[:messages])


def terms(**changes):
    return dict(fce=first_contact_extension(hostname="host", **{**AGREED, **changes}))


def scene(capture):
    version1 = dict(version=1, smcd=None, typev2=0)
    handshake(
        capture,
        1,
        version=1,
        proposal=version1,
        accept=dict(version=2, eid=EID, **terms()),
        messages=2,
    )
    handshake(capture, 2, accept=dict(version=1, eid=None, fce=b""), messages=2)
    connection = linux_connection(capture, version=2, nth=3)
    clc_conversation(
        capture,
        40003,
        ("client", connection.proposal()),
        (
            "server",
            clc_smcd(
                ACCEPT,
                ism_gid=0x1801C00000000002,
                token=0x0500000000000201,
                size_code=2,
                link_id=0x0100,
                version=2,
                chid=0x07C1,
                eid=EID,
                fce=first_contact_extension(hostname="server", size=36, direct=False),
            ),
        ),
    )
    handshake(capture, 4, accept=dict(eid="NOT-OFFERED", **terms()), messages=2)
    release0 = dict(v2=v2_extension(eids=[EID], roce_gid=CLIENT_V2.gid))
    handshake(capture, 5, proposal=release0, accept=terms(), messages=2)
    for number, changes in enumerate(ACCEPTS, 6):
        handshake(capture, number, accept=terms(**changes), messages=2)
    handshake(capture, 9, accept=terms(), confirm=dict(version=1, eid=None, fce=b"", gids=None))
    for number, changes in enumerate(CONFIRMS, 10):
        handshake(capture, number, accept=terms(), confirm=terms(**changes))
