"""
Link 1 fails before the first CDC message of the client leaves the host. Linux has counted it: it
validates link 2 with the number of the last message that was acknowledged, 0, and goes on with
number 2 (smc_switch_cursor(), smc_cdc_msg_send()).
"""

from smcsynth.failover import delete_link_1, fail_over, two_links
from smcsynth.story import Connection, Half, Rmb

EXPECTED = {
    "smcr.conn.moved": [51, 53, 55, 57],
    "smcr.link.delete_asked": [59],
    "smcr.link.deleted": [61],
    "smcr.link.lost": [59],
}


def halves():
    return (
        Half(token=0x0C11, rmb=Rmb(0x0000010A1C000000, 32768, {1: 0x0C0C0011, 2: 0x0C0C0012})),
        Half(token=0x0512, rmb=Rmb(0x0000020B15000000, 32768, {1: 0x05050011, 2: 0x05050012})),
    )


def scene(capture):
    first = two_links(capture)
    second = Connection(first.group, *halves(), sport=40100)
    second.subsequent_contact()
    second.half["client"].seq = 1
    fail_over(second, acknowledged={"client": 0, "server": 0})
    fail_over(
        first, acknowledged={"client": first.half["client"].seq, "server": first.half["server"].seq}
    )
    delete_link_1(first.group)
    second.send("client", b"on link 2\n")
    second.send("server", b"on link 2\n")
    for _ in range(2):
        for role in ("client", "server"):
            first.group.test_link(role, link=2)
