"""
Whole SMC-R stories: a link group, its connections, and what both peers keep about them.

A story only sends what a scenario asks for, but fills in everything that follows from what was sent
before: PSNs, tokens, RKeys, addresses, cursors, CDC sequence numbers. Roles are "client" and
"server" throughout.
"""

from dataclasses import dataclass, field

from . import clc, llc
from .cdc import cdc
from .net import Host, TcpConversation
from .octets import peer_id
from .roce import Nic, QueuePair, RoceLink

CLIENT = Host("02:00:00:00:0c:01", "192.0.2.1", "2001:db8::1")
SERVER = Host("02:00:00:00:05:01", "192.0.2.2", "2001:db8::2")
EID = "SMC-SYNTHETIC"

# RoCE devices: version 1 with link-local GIDs, version 2 with the addresses of the hosts
CLIENT_V1 = Nic(CLIENT.mac, "fe80::ff:fe00:c01", 0x11)
SERVER_V1 = Nic(SERVER.mac, "fe80::ff:fe00:501", 0x22)
CLIENT_V1_SECOND = Nic("02:00:00:00:0c:02", "fe80::ff:fe00:c02", 0x12)
SERVER_V1_SECOND = Nic("02:00:00:00:05:02", "fe80::ff:fe00:502", 0x23)
CLIENT_V2 = Nic(CLIENT.mac, CLIENT.ip)
SERVER_V2 = Nic(SERVER.mac, SERVER.ip)
CLIENT_V2_IPV6 = Nic(CLIENT.mac, CLIENT.ip6)
SERVER_V2_IPV6 = Nic(SERVER.mac, SERVER.ip6)

SIZES = {16384 << code: code for code in range(16)}
MTU_1024 = 3


def other(role):
    """The other role."""
    return "server" if role == "client" else "client"


@dataclass
class Rmb:
    """Remote memory buffer: where its first element lies, the size of an element, its RKey on each
    link."""

    va: int
    size: int
    rkeys: dict


@dataclass
class Half:
    """One side of a connection. `prod` is how far this side wrote, `cons` how far it read; (wrap,
    count) pairs."""

    token: int
    rmb: Rmb
    index: int = 1
    base: int = 0  # first usable byte of an element: 4 in the RFC, 0 in Linux
    seq: int = 0
    prod: tuple = None
    cons: tuple = None
    announced: tuple = None  # consumer cursor last sent to the peer

    def address(self, offset):
        """Virtual address of a byte of this side's element."""
        return self.rmb.va + (self.index - 1) * self.rmb.size + offset


@dataclass
class Peer:
    """What a host is to a link group."""

    nics: list
    instance: int
    user_ids: dict = field(default_factory=dict)

    @property
    def id(self):
        return peer_id(self.instance, self.nics[0].mac)


class LinkGroup:
    """A link group: two peers and their links by number. Sends LLC messages."""

    def __init__(
        self,
        capture,
        client_nics,
        server_nics,
        *,
        version=1,
        transport=None,
        vlan=None,
        no_eyecatcher=True,
        max_links=2,
        order="little"
    ):
        self.capture, self.version, self.vlan, self.order = capture, version, vlan, order
        self.transport = transport or ("rocev1" if version == 1 else "rocev2")
        self.no_eyecatcher, self.max_links = no_eyecatcher, {
            "client": max_links,
            "server": max_links,
        }
        self.max_conns = 0  # release 1 tells them in CONFIRM LINK
        self.peer = {"client": Peer(client_nics, 0x5243), "server": Peer(server_nics, 0x18DA)}
        self.links = {}

    def new_link(self, number, *, client=(0x11, 0x100000), server=(0x4D3, 0x200000), nic=0):
        """Create a link from (queue pair number, initial PSN) of both sides, on their nic-th
        devices."""
        pairs = {
            role: QueuePair(self.peer[role].nics[nic], *numbers)
            for role, numbers in (("client", client), ("server", server))
        }
        self.links[number] = RoceLink(
            self.capture, transport=self.transport, vlan=self.vlan, sport=49151 + number, **pairs
        )
        return self.links[number]

    def llc(self, sender, message, *, link=1, ack=True):
        """An LLC message over a link."""
        return self.links[link].send(sender, message, ack=ack)

    def exchange(self, sender, encoder, *, link=1, **fields):
        """A request and the reply that echoes it."""
        self.llc(sender, encoder(**fields), link=link)
        return self.llc(other(sender), encoder(**{**fields, "reply": True}), link=link)

    def confirm_link(self, number=1):
        """CONFIRM LINK request of the server and the client's reply, each with its own data."""
        for role in ("server", "client"):
            pair = self.links[number].qp[role]
            self.llc(
                role,
                llc.llc_confirm_link(
                    roce_mac=pair.nic.mac,
                    roce_gid=pair.nic.gid,
                    qpn=pair.qpn,
                    link=number,
                    reply=role == "client",
                    user_id=(0x0A if role == "client" else 0x0B) << 8 | number,
                    max_links=self.max_links[role],
                    max_conns=self.max_conns,
                    no_eyecatcher=self.no_eyecatcher,
                    version=self.version,
                    **self._order()
                ),
                link=number,
            )

    def _order(self):
        return {"order": self.order} if self.version == 2 else {}

    def add_link_rejected(self, *, reason=1, number=2):
        """The server offers its device again; the client rejects by echoing the request (Linux with
        one device)."""
        pair = self.links[1].qp["server"]
        offer = dict(
            roce_mac=pair.nic.mac,
            roce_gid=pair.nic.gid,
            qpn=pair.qpn + 16,
            link=number,
            mtu_code=MTU_1024,
            psn=0x300000,
            version=self.version,
            **self._order()
        )
        self.llc("server", llc.llc_add_link(**offer, extension=self._no_rkeys(pair)))
        self.llc(
            "client",
            llc.llc_add_link(
                **offer, reply=True, reject=True, reason=reason if self.version == 1 else 0
            ),
        )

    def _no_rkeys(self, pair):
        if self.version == 1:
            return None
        return llc.add_link_v2_extension(target_gid=pair.nic.gid, rkeys=[], order=self.order)

    def add_link(self, number, rmbs, *, layout="linux", **link_numbers):
        """ADD LINK, ADD LINK CONTINUATION and CONFIRM LINK of version 1. `rmbs`: role to list of
        Rmb."""
        link = self.new_link(number, **link_numbers)
        for role in ("server", "client"):
            pair = link.qp[role]
            self.llc(
                role,
                llc.llc_add_link(
                    roce_mac=pair.nic.mac,
                    roce_gid=pair.nic.gid,
                    qpn=pair.qpn,
                    link=number,
                    mtu_code=MTU_1024,
                    psn=pair.initial_psn,
                    layout=layout,
                    reply=role == "client",
                ),
            )
        self.continue_add_link(number, rmbs)
        self.confirm_link(number)

    def continue_add_link(self, number, rmbs):
        """ADD LINK CONTINUATION messages, two RMBs at a time, server first, until both sides have
        named all."""
        for start in range(0, max(len(list_) for list_ in rmbs.values()), 2):
            for role in ("server", "client"):
                left = rmbs[role][start:]
                pairs = [(rmb.rkeys[1], rmb.rkeys[number], rmb.va) for rmb in left[:2]]
                self.llc(
                    role,
                    llc.llc_add_link_continuation(
                        link=number, left=len(left), pairs=pairs, reply=role == "client"
                    ),
                )

    def confirm_rkey(self, sender, rmb, *, link=1):
        """CONFIRM RKEY for an RMB on all links, and the echo."""
        others = [(number, key, rmb.va) for number, key in rmb.rkeys.items() if number != link]
        self.exchange(
            sender,
            llc.llc_confirm_rkey,
            link=link,
            rkey=rmb.rkeys[link],
            va=rmb.va,
            others=others,
            version=self.version,
            **self._order()
        )

    def delete_rkey(self, sender, rmb, *, link=1):
        """DELETE RKEY for an RMB and its reply: an echo in version 1, the RKey as zero in version
        2."""
        request = dict(version=self.version, **self._order())
        self.llc(sender, llc.llc_delete_rkey(rkeys=[rmb.rkeys[link]], **request), link=link)
        echoed = [rmb.rkeys[link]] if self.version == 1 else [0]
        self.llc(other(sender), llc.llc_delete_rkey(rkeys=echoed, reply=True, **request), link=link)

    def test_link(self, sender, *, link=1, user_data=bytes(16)):
        """TEST LINK and its echo."""
        self.exchange(
            sender,
            llc.llc_test_link,
            link=link,
            user_data=user_data,
            version=self.version,
            **self._order()
        )

    def test_links(self):
        """TEST LINK of both sides over each link: all flows go on. Each has other user data."""
        for role in ("client", "server"):
            for number in self.links:
                self.test_link(role, link=number, user_data=str(len(self.capture.frames)).encode())

    def delete_link_group(self, *, link=1, reason=0x00030000):
        """DELETE LINK for all links from the server, and the reply."""
        request = dict(link=0, reason=reason, all_links=True, version=self.version, **self._order())
        self.llc("server", llc.llc_delete_link(**request), link=link)
        self.llc("client", llc.llc_delete_link(**request, reply=True), link=link)


class Connection:
    """A TCP connection and its SMC-R side in a link group. `link` is the number of the link it
    uses."""

    def __init__(
        self,
        group,
        client,
        server,
        *,
        port=50000,
        sport=40000,
        ipv6=False,
        link=1,
        hosts=(CLIENT, SERVER)
    ):
        self.group, self.link, self.hosts = group, link, hosts
        self.half = {"client": client, "server": server}
        self.tcp = TcpConversation(
            group.capture,
            *hosts,
            sport=sport,
            dport=port,
            vlan=group.vlan,
            ipv6=ipv6,
            client_isn=sport * 1000,
            server_isn=sport * 2000
        )
        for role in ("client", "server"):
            half, base = self.half[role], self.half[other(role)].base
            half.prod = (0, base)
            half.cons = half.announced = (0, half.base)

    # --- TCP and CLC

    def clc_fields(self, role):
        """What Accept and Confirm say about one side."""
        half, pair = self.half[role], self.group.links[self.link].qp[role]
        return dict(
            peer=self.group.peer[role].id,
            roce_gid=pair.nic.gid,
            roce_mac=pair.nic.mac,
            qpn=pair.qpn,
            rkey=half.rmb.rkeys[self.link],
            index=half.index,
            token=half.token,
            size_code=SIZES[half.rmb.size],
            mtu_code=MTU_1024,
            va=half.rmb.va,
            psn=pair.initial_psn,
        )

    def proposal(self, **changes):
        """Linux' Proposal: version 2 in the header, also when only SMC-Rv1 is offered (byte 7 is
        0x28 then)."""
        nic = self.group.peer["client"].nics[0]
        if self.group.version == 1:
            area = (
                clc.prefix_area(prefixes=["2001:db8::/64"])
                if self.tcp.ipv6
                else clc.prefix_area(subnet="192.0.2.0", mask_bits=24)
            )
            fields = dict(
                peer=self.group.peer["client"].id,
                roce_gid=nic.gid,
                roce_mac=nic.mac,
                version=2,
                typev1=clc.ONLY_R,
                typev2=clc.NEITHER,
                smcd=clc.smcd_area(),
                ip_area=area,
            )
        else:
            fields = dict(
                version=2,
                typev1=clc.NEITHER,
                typev2=clc.ONLY_R,
                smcd=clc.smcd_area(v2_offset=28),
                v2=clc.v2_extension(eids=[EID], roce_gid=nic.gid),
            )
        return clc.clc_proposal(**{**fields, **changes})

    def accept(self, first_contact=True, **changes):
        """The server's Accept; in version 2 with EID, and on first contact with the extension."""
        return clc.clc_accept(
            **{
                **self.clc_fields("server"),
                **self._version2(first_contact, "server"),
                "first_contact": first_contact,
                **changes,
            }
        )

    def confirm(self, first_contact=True, **changes):
        """The client's Confirm; Linux sets the first contact bit here, too."""
        fields = {**self.clc_fields("client"), **self._version2(first_contact, "client")}
        if self.group.version == 2 and first_contact:
            fields["gids"] = [nic.gid for nic in self.group.peer["client"].nics]
        return clc.clc_confirm(**{**fields, "first_contact": first_contact, **changes})

    def _version2(self, first_contact, role):
        if self.group.version == 1:
            return {}
        fce = clc.first_contact_extension(hostname=role) if first_contact else b""
        return {"version": 2, "eid": EID, "fce": fce}

    def first_contact(self, *, add_link=True, proposal=None, accept=None, confirm=None):
        """TCP handshake, CLC, CONFIRM LINK and (as Linux always does) an ADD LINK that the client
        rejects."""
        self.tcp.handshake()
        self.tcp.send("client", proposal or self.proposal())
        self.tcp.send("server", accept or self.accept())
        self.tcp.send("client", confirm or self.confirm())
        self.group.confirm_link(self.link)
        if add_link:
            self.group.add_link_rejected()

    def subsequent_contact(self):
        """TCP handshake and CLC on an existing link, with CONFIRM RKEY before the message that
        names the RKey."""
        self.tcp.handshake()
        self.tcp.send("client", self.proposal())
        self.group.confirm_rkey("server", self.half["server"].rmb, link=self.link)
        self.tcp.send("server", self.accept(first_contact=False))
        self.group.confirm_rkey("client", self.half["client"].rmb, link=self.link)
        self.tcp.send("client", self.confirm(first_contact=False))

    def next_in_elements(self, sport):
        """Another connection in the elements of this one: their RKeys are known, so that CLC is
        enough."""
        halves = [Half(token=half.token + 0x40, rmb=half.rmb) for half in self.half.values()]
        connection = Connection(self.group, *halves, sport=sport)
        connection.tcp.handshake()
        connection.tcp.send("client", connection.proposal())
        connection.tcp.send("server", connection.accept(first_contact=False))
        connection.tcp.send("client", connection.confirm(first_contact=False))
        return connection

    # --- data

    def write(self, sender, data, *, ack=True):
        """RDMA WRITEs that put the data behind what was written before; two where the element's end
        is reached."""
        half, peer = self.half[sender], self.half[other(sender)]
        assert len(data) <= self.window(sender), "the scenario writes more than the window allows"
        while data:
            room = peer.rmb.size - half.prod[1]
            piece, data = data[:room], data[room:]
            self.group.links[self.link].write(
                sender, peer.address(half.prod[1]), peer.rmb.rkeys[self.link], piece, ack=ack
            )
            half.prod = advance(half.prod, len(piece), peer.rmb.size, peer.base)

    def window(self, sender):
        """How many bytes `sender` may write, by the consumer cursor it was told last."""
        peer = self.half[other(sender)]
        area = peer.rmb.size - peer.base
        (wrap, count), (read_wrap, read_count) = self.half[sender].prod, peer.announced
        return area - ((wrap - read_wrap) * area + count - read_count)

    def read(self, reader, size=None):
        """The reader's program takes all (or `size`) bytes; its peer learns it with the next CDC
        message."""
        half = self.half[reader]
        half.cons = (
            self.half[other(reader)].prod
            if size is None
            else advance(half.cons, size, half.rmb.size, half.base)
        )

    def cdc_message(self, sender, *, flags=(), **changes):
        """The next CDC message of one side."""
        half = self.half[sender]
        half.seq = half.seq + 1 & 0xFFFF
        half.announced = half.cons
        return cdc(
            **{
                **dict(
                    seq=half.seq,
                    token=self.half[other(sender)].token,
                    prod=half.prod,
                    cons=half.cons,
                    flags=flags,
                ),
                **changes,
            }
        )

    def cdc(self, sender, *, flags=(), ack=True, **changes):
        """Send a CDC message. Returns the frame number."""
        return self.group.links[self.link].send(
            sender, self.cdc_message(sender, flags=flags, **changes), ack=ack
        )

    def send(self, sender, data, *, flags=(), read=True, ack=True):
        """Data and the CDC message that announces it; the receiving program reads it at once unless
        read=False."""
        self.write(sender, data, ack=ack)
        number = self.cdc(sender, flags=flags, ack=ack)
        if read:
            self.read(other(sender))
        return number

    # --- end

    def close(self, first="client", *, delete_rkeys=True):
        """Closing CDC messages of both sides, FINs, and the RMBs withdrawn as Linux does."""
        second = other(first)
        self.cdc(first, flags=["closed"])
        self.tcp.fin(first)
        self.cdc(second, flags=["closed"])
        self.tcp.fin(second)
        if delete_rkeys:
            self.group.delete_rkey("server", self.half["server"].rmb, link=self.link)
            self.group.delete_rkey("client", self.half["client"].rmb, link=self.link)


def advance(cursor, size, element, base):
    """A cursor moved on by `size` bytes in an element, RFC 7609 A.4."""
    wrap, count = cursor
    count += size
    if count >= element:
        wrap, count = wrap + 1 & 0xFFFF, base + count - element
    return wrap, count


def linux_halves(size=65536, *, number=1):
    """Client and server side of the number-th connection of a link group with one link, as Linux
    might choose them."""
    step = number << 20
    return (
        Half(
            token=0x0C00 + number,
            rmb=Rmb(0xFFFF888106000000 + step, size, {1: 0x0C000300 + number}),
        ),
        Half(
            token=0x0500 + number,
            rmb=Rmb(0xFFFF888207000000 + step, size, {1: 0x05002A00 + number}),
        ),
    )


def linux_connection(
    capture,
    *,
    version=1,
    port=50000,
    sport=40000,
    ipv6=False,
    vlan=None,
    transport=None,
    nics=None,
    nth=1
):
    """
    A connection between two Linux hosts with one RoCE device each, first of its link group. `nth`
    counts the link groups of a capture: queue pair numbers, initial PSNs, tokens and RKeys depend
    on it.
    """
    client, server = nics or ((CLIENT_V1, SERVER_V1) if version == 1 else (CLIENT_V2, SERVER_V2))
    group = LinkGroup(capture, [client], [server], version=version, vlan=vlan, transport=transport)
    group.new_link(1, client=(0x10 + nth, nth << 20), server=(0x4D2 + nth, nth + 0x10 << 17))
    return Connection(group, *linux_halves(number=nth), port=port, sport=sport, ipv6=ipv6)


def clc_conversation(capture, sport, *messages):
    """
    A TCP connection to port 50000 that carries these (sender, bytes) pairs, a segment each, and
    ends.

    The acknowledgement of a segment rides on the next one.
    """
    tcp = TcpConversation(
        capture,
        CLIENT,
        SERVER,
        sport=sport,
        dport=50000,
        client_isn=sport * 1000,
        server_isn=sport * 2000,
    )
    tcp.handshake()
    for sender, data in messages:
        tcp.send(sender, data, ack=False)
    tcp.segment(other(messages[-1][0]), "A")
    tcp.close()


def contact_of_two_devices(connection):
    """The first contact of a connection whose hosts have a second device each, which they do not
    offer."""
    connection.group.peer["client"].nics.append(CLIENT_V1_SECOND)
    connection.group.peer["server"].nics.append(SERVER_V1_SECOND)
    connection.first_contact(add_link=False)


def linux_two_devices(capture, nth):
    """A first contact between hosts of two devices each; nobody has offered a second link yet."""
    connection = linux_connection(capture, sport=40000 + nth, nth=nth)
    contact_of_two_devices(connection)
    return connection


def linux_second_link(capture, nth):
    """The same; both sides know the queue pairs of a second link, of which no message has told."""
    connection = linux_two_devices(capture, nth)
    connection.group.new_link(
        2, client=(0x900 + nth, 0x910000 + nth), server=(0xA00 + nth, 0xA10000 + nth), nic=1
    )
    return connection
