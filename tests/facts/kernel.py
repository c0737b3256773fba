"""What the kernels said of their SMC state while a real capture was taken: the `notes` beside
it."""

import collections
import ipaddress
import re

import ground_truth

HOSTS = "AB"

# One end of a connection. Cursors are (wrap, count); received ones are those of the peer's last CDC
# message.
Socket = collections.namedtuple(
    "Socket", "host client_port token received_prod received_cons prod cons link gid peer_gid"
)
Link = collections.namedtuple("Link", "host number user_id peer_user_id gid peer_gid")

SOCKET = re.compile(
    r"mode=SMCR \S+:(\d+) -> \S+:(\d+) .*token=(\w+) .*rxprod=(\S+) rxcons=(\S+) txprod=(\S+) "
    r"txcons=(\S+) .*role=(\d) link=(\d+) .*gid=(\S+) peer=(\S+)"
)
LINK = re.compile(r' 3\{ 1=(\d+) .* 8=(\S+) 9=(\S+) 4="(\S+)" 5="(\S+)" \}')
LINK_ADDED = re.compile(r"link added: id (\w+), peerid (\w+)")
BUFFERS = re.compile(r"mode=SMCR \S+:(\d+) -> \S+:(\d+) .* rmbe=(\d+) peer_rmbe=(\d+)")
PEER = re.compile(r' 2\{ .* 2=[01] .* 7\{ .* 4="(\S+) *" 3="(\S+) *" \}')
LGR_TYPE = re.compile(r"state changed: (\w+)")
FALLBACK = re.compile(r" 8\{ 1=\d .* 4=(\S+) 5=\d+ \}")


def cursor(text):
    wrap, count = text.split(".")
    return int(wrap), int(count)


def user_id(text):
    """A link user ID as it is on the wire: the kernels' tool prints its bytes as a little-endian
    number."""
    return int.from_bytes(int(text, 16).to_bytes(4, "little"), "big")


def gid(text):
    return ipaddress.ip_address(text)


def _found(name, pattern):
    """Matches in the lines of the notes: (host, match)."""
    for _, host, _, text in ground_truth.of(name)["notes"]:
        yield from (
            (HOSTS.index(host), match) for match in map(pattern.search, text.splitlines()) if match
        )


def sockets(name):
    for host, (
        own,
        other,
        token,
        rx_prod,
        rx_cons,
        tx_prod,
        tx_cons,
        role,
        link,
        own_gid,
        peer,
    ) in ((host, match.groups()) for host, match in _found(name, SOCKET)):
        assert int(role) == host, "host A is the client of all connections"
        yield Socket(
            host,
            int(other if host else own),
            int(token, 16),
            cursor(rx_prod),
            cursor(rx_cons),
            cursor(tx_prod),
            cursor(tx_cons),
            int(link),
            gid(own_gid),
            gid(peer),
        )


def links(name):
    for host, match in _found(name, LINK):
        yield Link(
            host, int(match[1]), user_id(match[2]), user_id(match[3]), gid(match[4]), gid(match[5])
        )


def links_added(name, host):
    """User IDs of both ends of the links that a host's kernel log has, in order: (own, peer's)."""
    return [
        (int(match[1], 16), int(match[2], 16))
        for by, match in _found(name, LINK_ADDED)
        if by == host
    ]


def fallback_codes(name):
    """The reasons of fallbacks that each host counted, as diagnosis codes: [{code} of A, {code} of
    B]."""
    codes = [set(), set()]
    for host, match in _found(name, FALLBACK):
        codes[host].add(int(match[1], 16))
    return codes


def lgr_types(name, host):
    """The types that the link group has had, by a host's kernel log."""
    return [match[1] for by, match in _found(name, LGR_TYPE) if by == host]


def buffers(name):
    """What a host says of both ends of its sockets: (port of the client, host that has the RMB
    element, its bytes)."""
    for host, match in _found(name, BUFFERS):
        port = int(match[2] if host else match[1])
        yield port, host, int(match[3])
        yield port, 1 - host, int(match[4])


def peers(name):
    """What a host says of the other end of its link group: (host that it speaks of, that host's
    name, the EID)."""
    for host, match in _found(name, PEER):
        yield 1 - host, match[1], match[2]
