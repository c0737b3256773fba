"""Hosts, Ethernet and TCP. scapy computes lengths and checksums; every field that it might choose
is given."""

from dataclasses import dataclass

from scapy.layers.inet import IP, TCP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether

from .clc import smc_option

IPV4, IPV6_TYPE, ROCEV1, VLAN = 0x0800, 0x86DD, 0x8915, 0x8100
NOP = b"\1"
USUAL_OPTIONS = bytes.fromhex(
    "020405b4 01010402 01030307"
)  # MSS 1460, SACK permitted, window scale 7
SMC_OPTION = NOP * 2 + smc_option()


@dataclass(frozen=True)
class Host:
    """One end of TCP connections."""

    mac: str
    ip: str
    ip6: str = ""


def ethernet(source_mac, destination_mac, ethertype, vlan=None):
    """Ethernet header, with a VLAN tag if asked for."""
    if vlan is None:
        return Ether(src=source_mac, dst=destination_mac, type=ethertype)
    return Ether(src=source_mac, dst=destination_mac, type=VLAN) / Dot1Q(
        vlan=vlan, prio=0, id=0, type=ethertype
    )


class TcpConversation:
    """
    A TCP connection between two hosts: keeps sequence numbers and sends segments into the capture.

    `sender` is "client" or "server" everywhere. Each data segment is acknowledged by the other side
    unless ack=False.
    """

    def __init__(
        self,
        capture,
        client,
        server,
        *,
        sport,
        dport,
        vlan=None,
        ipv6=False,
        client_isn=1000,
        server_isn=5000
    ):
        self.capture, self.vlan, self.ipv6 = capture, vlan, ipv6
        self.host = {"client": client, "server": server}
        self.port = {"client": sport, "server": dport}
        self.seq = {"client": client_isn, "server": server_isn}
        self.ident = {"client": 1, "server": 1}

    @staticmethod
    def other(sender):
        return "server" if sender == "client" else "client"

    def segment(self, sender, flags, data=b"", options=b"", seq=None):
        """One segment with the present sequence numbers; does not advance them. Returns the frame
        number."""
        receiver = self.other(sender)
        options += b"\0" * (-len(options) % 4)
        tcp = TCP(
            sport=self.port[sender],
            dport=self.port[receiver],
            seq=self.seq[sender] if seq is None else seq,
            ack=self.seq[receiver] if "A" in flags else 0,
            dataofs=5 + len(options) // 4,
            flags=flags,
            window=64240 if "S" in flags else 502,
            urgptr=0,
            options=[],
        )
        frame = ethernet(
            self.host[sender].mac,
            self.host[receiver].mac,
            IPV6_TYPE if self.ipv6 else IPV4,
            self.vlan,
        )
        return self.capture.add(bytes(frame / self._ip(sender, receiver) / tcp / (options + data)))

    def _ip(self, sender, receiver):
        source, destination = self.host[sender], self.host[receiver]
        if self.ipv6:
            return IPv6(src=source.ip6, dst=destination.ip6, hlim=64, tc=0, fl=0, nh=6)
        self.ident[sender] += 1
        return IP(
            src=source.ip,
            dst=destination.ip,
            id=self.ident[sender],
            flags="DF",
            ttl=64,
            tos=0,
            proto=6,
        )

    def handshake(self, syn=SMC_OPTION, synack=SMC_OPTION, ack=b""):
        """SYN, SYN-ACK, ACK with these options after the usual ones. Returns the SYN's frame
        number."""
        first = self.segment("client", "S", options=USUAL_OPTIONS + syn)
        self.seq["client"] += 1
        self.segment("server", "SA", options=USUAL_OPTIONS + synack)
        self.seq["server"] += 1
        self.segment("client", "A", options=ack)
        return first

    def send(self, sender, data, *, parts=(), ack=True):
        """Data in one segment, or cut into `parts` (sizes; the rest follows). Returns the first
        frame's number."""
        first = None
        for piece in _cut(data, parts):
            number = self.segment(sender, "PA", piece)
            first = first or number
            self.seq[sender] += len(piece)
            if ack:
                self.segment(self.other(sender), "A")
        return first

    def fin(self, sender):
        """FIN of one side and the other's ACK of it."""
        self.segment(sender, "FA")
        self.seq[sender] += 1
        self.segment(self.other(sender), "A")

    def close(self, first="client"):
        """FIN, FIN, ACK."""
        for sender in (first, self.other(first)):
            self.segment(sender, "FA")
            self.seq[sender] += 1
        self.segment(first, "A")


def _cut(data, sizes):
    """Pieces of these sizes, then what is left."""
    pieces = []
    for size in sizes:
        pieces.append(data[:size])
        data = data[size:]
    return [piece for piece in [*pieces, data] if piece]
