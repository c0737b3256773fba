"""
Subnets of a Proposal, RFC 7609 3.5.1.2, A.2.2. First contacts that a server outside of the client's
IPv4 subnet accepts, and one outside of its IPv6 prefix. Then Proposals that the server declines:
prefixes over IPv4; a mask over IPv6, and no prefix there; a subnet and a prefix with bits behind
their length, which does no harm.
"""

from smcsynth.clc import clc_decline, prefix_area
from smcsynth.story import linux_connection

EXPECTED = {
    "smcr.clc.area_wrong": [46, 56, 66],
    "smcr.clc.other_subnet": [6, 27],
    "smcr.fallback": [48, 58, 68, 78, 88],
}
DECLINED = (
    (False, prefix_area(subnet="192.0.2.0", mask_bits=24, prefixes=["2001:db8::/64"])),
    (True, prefix_area(subnet="192.0.2.0", mask_bits=24, prefixes=["2001:db8::/64"])),
    (True, prefix_area()),
    (False, prefix_area(subnet="192.0.2.1", mask_bits=24)),
    (True, prefix_area(prefixes=["2001:db8::1/64"])),
)


def scene(capture):
    areas = (
        (False, prefix_area(subnet="192.0.2.0", mask_bits=31)),
        (True, prefix_area(prefixes=["2001:db8::/127"])),
    )
    for number, (ipv6, area) in enumerate(areas, 1):
        story = linux_connection(capture, sport=41000 + number, nth=number, ipv6=ipv6)
        story.first_contact(proposal=story.proposal(ip_area=area))
        story.send("client", b"accepted\n")
    for number, (ipv6, area) in enumerate(DECLINED, 3):
        story = linux_connection(capture, sport=41000 + number, nth=number, ipv6=ipv6)
        story.tcp.handshake()
        story.tcp.send("client", story.proposal(ip_area=area))
        story.tcp.send("server", clc_decline(diagnosis=0x03030002))
        story.tcp.close()
