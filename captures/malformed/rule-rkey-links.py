"""
CONFIRM RKEY in a link group with two links, RFC 7609 3.5.5.2, A.3.5: it names link 2 twice, it
names the link that carries it, it leaves link 2 out. In a second group it leaves it out again, but
the capture lacks what the server says next.
"""

from smcsynth.failover import two_links
from smcsynth.llc import llc_confirm_rkey

EXPECTED = {
    "smcr.packet_ahead": [103],
    "smcr.rkey.link_missing": [42],
    "smcr.rkey.link_twice": [34, 38],
}


def scene(capture):
    connection = two_links(capture)
    group = connection.group
    for number, links in enumerate(((2, 2), (1, 2), ())):
        others = [(link, 0x0E0E0010 + 16 * number + link, 0x30C0000 + number) for link in links]
        group.exchange(
            "client",
            llc_confirm_rkey,
            rkey=0x0E0E0001 + 16 * number,
            va=0x30C0000 + number,
            others=others,
        )
    capture.wait(2.1)
    group.test_links()
    group = two_links(capture, nth=2).group
    group.llc("client", llc_confirm_rkey(rkey=0x0E0E0101, va=0x30D0000))
    group.links[2].lose("server")
    capture.wait(2.1)
    group.test_links()
