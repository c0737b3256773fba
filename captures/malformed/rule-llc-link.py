"""
Responses in a link group with two links, RFC 7609 3.3. TEST LINK and CONFIRM RKEY are asked on link
1 and answered on link 2; somebody responds to a TEST LINK that nobody has sent. Then the same in a
link group of which the capture lacks a packet.
"""

from smcsynth.failover import two_links
from smcsynth.llc import llc_confirm_rkey, llc_test_link

EXPECTED = {
    "smcr.llc.no_request": [181],
    "smcr.llc.unrequested": [74],
    "smcr.llc.wrong_link": [36, 56],
    "smcr.packet_ahead": [131],
}
UNPROVEN = {
    "smcr.llc.not_echoed": [74, 181]
}  # without a response on the wrong link, they seem to answer its request


def answer_elsewhere(capture, group):
    for encoder, fields in (
        (llc_test_link, {"user_data": b"which way?"}),
        (llc_confirm_rkey, {"rkey": 0x0E0E0001, "va": 0x30C0000, "others": [(2, 0x0E0E0002, 0)]}),
    ):
        group.llc("client", encoder(**fields), link=1)
        group.llc("server", encoder(**fields, reply=True), link=2)
        capture.wait(0.01)
        group.test_links()
    group.llc("server", llc_test_link(user_data=b"nobody asked", reply=True))
    capture.wait(0.01)
    group.test_links()


def scene(capture):
    answer_elsewhere(capture, two_links(capture).group)

    second = two_links(capture, nth=2).group
    second.links[2].lose("server")
    second.test_links()
    answer_elsewhere(capture, second)
