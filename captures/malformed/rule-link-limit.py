"""
The maximum of links, RFC 7609 2.2.2: a client with more than its server; a later CONFIRM LINK with
another maximum; a third symmetric link where the maximum is two; a client that asks for one more.
An asymmetric link does not count. In another link group the third link comes again, but the server
then deletes the first; in the last one the capture lacks a packet of the server.
"""

from smcsynth.llc import llc_add_link, llc_delete_link
from smcsynth.roce import Nic
from smcsynth.story import Connection, Half, LinkGroup, Rmb

EXPECTED = {
    "smcr.link.deleted": [184],
    "smcr.link.max_changed": [12, 34],
    "smcr.link.too_many": [36, 113],
    "smcr.packet_ahead": [265],
}


def nics(host, count):
    return [
        Nic(f"02:00:00:00:{host:02x}:{n:02x}", f"fe80::ff:fe00:{host:x}{n:02x}", host << 4 | n)
        for n in range(1, count + 1)
    ]


def begin(capture, nth, client_nics=3, **maximum):
    """A link group with one link; both sides have more devices."""
    group = LinkGroup(capture, nics(0x0C, client_nics), nics(0x05, 4))
    group.max_links.update(maximum)
    halves = (
        Half(
            token=0x0C00 + nth,
            rmb=Rmb(
                0x10A0C000000 + (nth << 20),
                32768,
                {n: 0x0C0C0000 + 16 * nth + n for n in range(1, 5)},
            ),
        ),
        Half(
            token=0x0500 + nth,
            rmb=Rmb(
                0x20B05000000 + (nth << 20),
                32768,
                {n: 0x05050000 + 16 * nth + n for n in range(1, 5)},
            ),
        ),
    )
    group.new_link(1, client=(0xC00 + 16 * nth, 0xC10000), server=(0x500 + 16 * nth, 0x510000))
    connection = Connection(group, *halves, sport=40000 + nth)
    connection.first_contact(add_link=False)
    return connection


def add(connection, nth, number, nic):
    rmbs = {role: [half.rmb] for role, half in connection.half.items()}
    connection.group.add_link(
        number,
        rmbs,
        nic=nic,
        client=(0xC00 + 16 * nth + number, 0xC10000 * number & 0xFFFFFF),
        server=(0x500 + 16 * nth + number, 0x510000 * number & 0xFFFFFF),
    )


def go_on(connection, links=(1, 2)):
    """Both sides send on all links, for six seconds."""
    for _ in range(2):
        for link in links:
            connection.group.test_link("server", link=link)
            connection.group.test_link("client", link=link)
        connection.group.capture.wait(6)


def wish(connection, nic):
    nic = connection.group.peer["client"].nics[nic]
    connection.group.llc(
        "client", llc_add_link(roce_mac=nic.mac, roce_gid=nic.gid, qpn=0, link=0, mtu_code=0, psn=0)
    )


def scene(capture):
    first = begin(capture, 1, client=3)  # more than the server
    first.group.max_links["client"] = 2
    add(first, 1, 2, 1)
    first.group.max_links["server"] = 4  # not what it was
    add(first, 1, 3, 2)  # a third link
    wish(first, 2)  # its device has a link
    go_on(first, (1, 2, 3))

    second = begin(capture, 2)
    add(second, 2, 2, 1)
    wish(second, 2)
    go_on(second)

    third = begin(capture, 3)  # makes room
    add(third, 3, 2, 1)
    add(third, 3, 3, 2)
    request = dict(link=1, reason=0x00020000)
    third.group.llc("server", llc_delete_link(**request), link=2)
    third.group.llc("client", llc_delete_link(**request, reply=True), link=2)
    go_on(third, (2, 3))

    fourth = begin(capture, 4)
    add(fourth, 4, 2, 1)
    add(fourth, 4, 3, 2)
    fourth.group.links[2].lose("server")
    go_on(fourth, (1, 2, 3))
