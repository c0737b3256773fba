"""
What needs no response, RFC 7609 3.5.4, 3.5.5.3: the client's wishes for a link, by ADD LINK and, in
another group, by REQUEST ADD LINK; the server's DELETE LINK for all links, and what was open then.
The capture goes on for six seconds.
"""

from smcsynth.llc import llc_add_link, llc_delete_link, llc_request_add_link, llc_test_link
from smcsynth.story import linux_connection

EXPECTED = {}


def scene(capture):
    first = linux_connection(capture)
    first.first_contact()
    pair = first.group.links[1].qp["client"]
    first.group.llc(
        "client",
        llc_add_link(
            roce_mac=pair.nic.mac, roce_gid=pair.nic.gid, qpn=0, link=0, mtu_code=0, psn=0
        ),
    )
    second = linux_connection(capture, version=2, sport=40002, nth=2)
    second.first_contact()
    second.group.llc(
        "client", llc_request_add_link(gids=[second.group.links[1].qp["client"].nic.gid])
    )
    capture.wait(6)
    first.close()
    first.group.llc("client", llc_test_link(user_data=b"nobody answers"))
    first.group.llc("server", llc_delete_link(link=0, reason=0x00030000, all_links=True))
    capture.wait(6)
    second.send("client", b"later\n")
    second.close()
