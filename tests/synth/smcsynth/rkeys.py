"""Link groups with several links and RMBs: what the scenes about RTokens have in common (RFC 7609
3.5.5.2)."""

from .roce import Nic
from .story import Connection, Half, LinkGroup, Rmb

SIDES = {"client": 0x0C, "server": 0x05}
ROLES = tuple(SIDES)
LINKS_MAX = 8
NICS = {
    role: [
        Nic(f"02:00:00:00:{side:02x}:{n:02x}", f"fe80::ff:fe00:{side:x}{n:02x}", n)
        for n in range(1, LINKS_MAX + 1)
    ]
    for role, side in SIDES.items()
}


def half(role, nth, number):
    """One side of the number-th connection of the nth group; its RMB has an RKey for each link that
    there may be."""
    side = SIDES[role]
    keys = {link: side << 24 | nth << 16 | number << 8 | link for link in range(1, LINKS_MAX + 1)}
    return Half(
        token=side << 8 | nth << 4 | number,
        rmb=Rmb(side << 40 | nth << 32 | number << 16, 16384, keys),
    )


def connect(group, nth, number):
    """The number-th connection of the nth group; nothing is sent yet. Its RMBs are known on the
    links that there are."""
    halves = [half(role, nth, number) for role in ROLES]
    for each in halves:
        each.rmb.rkeys = {link: key for link, key in each.rmb.rkeys.items() if link in group.links}
    return Connection(group, *halves, sport=40000 + 100 * nth + number)


def begin(capture, nth):
    """First contact of the nth group, and data both ways."""
    group = LinkGroup(capture, *NICS.values(), max_links=LINKS_MAX)
    group.new_link(1, **numbers(nth, 1))
    first = connect(group, nth, 1)
    first.first_contact(add_link=False)
    exchange(first)
    return first


def numbers(nth, link):
    """Devices, queue pairs and initial PSNs of a link."""
    return {
        "nic": link - 1,
        "client": (0xC00 + 16 * nth + link, nth << 18 | link << 12),
        "server": (0x500 + 16 * nth + link, nth << 19 | link << 13),
    }


def add_link(group, nth, link, rmbs):
    """Another link, with RTokens of these RMBs: {role: list}."""
    for role in ROLES:
        for rmb in rmbs[role]:
            rmb.rkeys.setdefault(link, rmb.rkeys[1] - 1 + link)
    group.add_link(link, rmbs, **numbers(nth, link))


def with_links(capture, nth, count):
    """A group with so many links, and its first connection."""
    first = begin(capture, nth)
    for link in range(2, count + 1):
        add_link(first.group, nth, link, {role: [first.half[role].rmb] for role in ROLES})
    return first


def exchange(connection):
    """Data both ways."""
    for role in ROLES:
        connection.send(role, f"{role}\n".encode())


def later(group, nth, number):
    """A later connection, with data both ways."""
    connection = connect(group, nth, number)
    connection.subsequent_contact()
    exchange(connection)
    return connection


def go_on(group):
    """Both sides go on on all links."""
    for link in group.links:
        for role in ROLES:
            group.test_link(role, link=link)
