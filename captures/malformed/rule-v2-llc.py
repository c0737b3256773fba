"""
LLC of SMC version 2 (net/smc/smc_llc.c). In a link group of release 1: CONFIRM LINK with other
connections than CLC has agreed on, and the response with other links; TEST LINK of version 1;
REQUEST ADD LINK of the server; one of the client with 9 GIDs; CONFIRM RKEY for three other links; a
response to DELETE RKEY that refuses more RKeys than it names; and one TEST LINK in the other byte
order, of which only strict users hear. In a link group of version 1 a TEST LINK of version 2.
"""

from smcsynth.clc import first_contact_extension, v2_extension
from smcsynth.llc import llc_confirm_rkey, llc_delete_rkey, llc_request_add_link, llc_test_link
from smcsynth.story import CLIENT_V2, EID, linux_connection

EXPECTED = {
    "smcr.clc.not_negotiated": [10, 12],
    "smcr.link.max_changed": [12],
    "smcr.link.number_unknown": [26],
    "smcr.llc.count_invalid": [26],
    "smcr.llc.error_mask_invalid": [30],
    "smcr.llc.limit_exceeded": [24],
    "smcr.llc.negative_response": [30],
    "smcr.llc.wrong_sender": [22],
    "smcr.llc.wrong_version": [18, 20, 69, 71],
    "smcr.rkey.not_announced": [28],
    "smcr.rkey.wrong_link": [26],
    "smcr.rkey_unknown": [28],
}
TERMS = dict(release=1, max_conns=32, max_links=2)


def first_contact(connection):
    """One of release 1, with CONFIRM LINK that tells 33 connections, and in the response 3
    links."""
    group = connection.group
    group.max_conns, group.max_links["client"] = 33, 3
    fce = [first_contact_extension(hostname=role, **TERMS) for role in ("server", "client")]
    offer = v2_extension(eids=[EID], roce_gid=CLIENT_V2.gid, **TERMS)
    connection.first_contact(
        add_link=False,
        proposal=connection.proposal(v2=offer),
        accept=connection.accept(fce=fce[0]),
        confirm=connection.confirm(fce=fce[1]),
    )


def scene(capture):
    second = linux_connection(capture, version=2, sport=40002, nth=2)
    first_contact(second)
    group = second.group
    second.send("client", b"version 2\n")
    group.exchange("server", llc_test_link)
    for role, gids in (("server", 1), ("client", 9)):
        group.llc(
            role, llc_request_add_link(gids=[f"198.51.100.{number}" for number in range(gids)])
        )
    others = [(link, 0x0C000990 + link, 0xFFFF888106900000) for link in (2, 3)]
    group.llc(
        "client",
        llc_confirm_rkey(rkey=0x0C000999, va=0xFFFF888106900000, count=3, others=others, version=2),
    )
    group.llc("server", llc_delete_rkey(rkeys=[0x05002A77], version=2, order="little"))
    group.llc(
        "client",
        llc_delete_rkey(
            rkeys=[0], error_mask=2, negative=True, reply=True, version=2, order="little"
        ),
    )
    group.exchange("server", llc_test_link, version=2, order="big")
    second.close()

    first = linux_connection(capture)
    first.first_contact()
    first.group.exchange("client", llc_test_link, version=2, order="little")
    first.close()
