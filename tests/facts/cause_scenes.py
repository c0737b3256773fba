"""
Captures of troubles whose cause is known, built anew for each run: causes.json has the truth of
each, by the name of its scene. Two hosts, SMC-Rv2 unless a scene says otherwise, the capture at the
client unless its own text says another place.
"""

import struct
import sys

from bed import TOP
from scapy.layers.inet import ICMP, IP
from scapy.layers.inet6 import ICMPv6DestUnreach, IPv6
from scapy.layers.l2 import ARP, Ether

sys.path.insert(0, str(TOP / "tests" / "synth"))
from smcsynth import clc, llc  # noqa: E402
from smcsynth.capture import Capture  # noqa: E402
from smcsynth.net import SMC_OPTION, USUAL_OPTIONS, Host, TcpConversation  # noqa: E402
from smcsynth.octets import text_lines  # noqa: E402
from smcsynth.roce import (
    NAK_SEQUENCE_ERROR,
    ROCEV2_PORT,
    Nic,
    congestion_notification,
)  # noqa: E402
from smcsynth.story import (
    CLIENT,
    CLIENT_V2,
    CLIENT_V2_IPV6,
    SERVER,
    SERVER_V2,
    SERVER_V2_IPV6,
    Connection,
    Half,
    LinkGroup,
    linux_connection,
    linux_halves,
    other,
)  # noqa: E402

OTHERS = (Host("02:00:00:00:aa:01", "192.0.2.77"), Host("02:00:00:00:bb:01", "192.0.2.88"))
FAST_OPEN, FAST_OPEN_COOKIE = bytes.fromhex("2202 0101"), bytes.fromhex(
    "220a 1122334455667788 0101"
)
NOPS = b"\1" * len(SMC_OPTION)  # what TCPOPTSTRIP of Linux leaves of an option
NO_DEVICE, PREFIX, NO_CONFIRM_LINK = 0x03030000, 0x03070000, 0x02010000
ROCE = struct.pack("!H", ROCEV2_PORT)
FIRST_TIMEOUT = 0.067  # seconds; an adapter waits twice as long each time


# ---- what befalls frames ----


def again(capture, frames, *, times=1, wait=FIRST_TIMEOUT):
    """Frames of the capture, by their numbers, go out again: each time after twice as long a
    wait."""
    for time in range(times):
        capture.wait(wait * 2**time)
        for frame in [capture.frames[number - 1][1] for number in frames]:
            capture.add(frame)


def checked(header):
    """An IPv4 header with the checksum of what it has now."""
    words = struct.unpack("!10H", header[:10] + bytes(2) + header[12:20])
    total = sum(words)
    total = (total & 0xFFFF) + (total >> 16)
    return header[:10] + struct.pack("!H", ~(total + (total >> 16)) & 0xFFFF) + header[12:]


def marked(frame):
    """A packet over IPv4 that a switch has marked: Congestion Experienced."""
    return frame[:14] + checked(frame[14:15] + b"\3" + frame[16:34]) + frame[34:]


def damaged(frame):
    """A bit of the payload is another one; the ICRC is as it was."""
    return frame[:-20] + bytes([frame[-20] ^ 4]) + frame[-19:]


def alter(capture, number, change):
    when, frame = capture.frames[number - 1]
    capture.frames[number - 1] = when, change(frame)


def unreachable(capture, number, *, code, sender, receiver):
    """`sender` tells `receiver` that the packet in this frame was not delivered."""
    quoted = capture.frames[number - 1][1][14:]
    ether = Ether(src=sender.mac, dst=receiver.mac)
    if quoted[0] >> 4 == 6:
        error = (
            ether
            / IPv6(src=sender.ip6, dst=receiver.ip6, hlim=64)
            / ICMPv6DestUnreach(code=code)
            / quoted[:600]
        )
    else:
        error = (
            ether
            / IP(src=sender.ip, dst=receiver.ip, id=7, ttl=64)
            / ICMP(type=3, code=code)
            / quoted[:548]
        )
    return capture.add(bytes(error))


def ask_for(capture, seconds):
    """The client asks for the server's MAC address once a second, and nobody answers."""
    for _ in range(seconds):
        capture.wait(1)
        capture.add(
            bytes(
                Ether(src=CLIENT.mac, dst="ff:ff:ff:ff:ff:ff")
                / ARP(op=1, hwsrc=CLIENT.mac, psrc=CLIENT.ip, pdst=SERVER.ip)
            )
        )


def others_go_on(capture, seconds):
    """Two other hosts talk over TCP, once a second."""
    tcp = TcpConversation(capture, *OTHERS, sport=50123, dport=443)
    tcp.handshake(b"", b"")
    for _ in range(seconds):
        capture.wait(1)
        tcp.send("client", b"ping")


# ---- what goes well ----


def begun(capture, version=2, **options):
    connection = linux_connection(capture, version=version, **options)
    connection.first_contact()
    return connection


def second_of(first):
    connection = Connection(first.group, *linux_halves(number=2), sport=40002)
    connection.subsequent_contact()
    return connection


def talk(*connections, times=12, pause=0.02):
    """Requests and responses."""
    for number in range(times):
        for connection in connections:
            connection.group.capture.wait(pause)
            connection.send("client", text_lines(300, f"request {number}"))
            connection.send("server", text_lines(700, f"response {number}"))


def burst(connection, size=8192):
    """A message of some packets that nobody has acknowledged yet; returns their frames."""
    before = len(connection.group.capture.frames)
    connection.write("client", text_lines(size, "burst"), ack=False)
    return list(range(before + 1, len(connection.group.capture.frames) + 1))


def nak(connection, back):
    """The server asks for the packet that is `back` before the next one."""
    link = connection.group.links[1]
    link.ack("server", link.qp["client"].psn - back, NAK_SEQUENCE_ERROR)


def end(connection):
    connection.cdc("client")
    connection.read("server")
    connection.cdc("server")
    talk(connection, times=3)
    connection.close()


# ---- loss, damage, congestion ----


def go_back(capture, connection, packets, first):
    """A NAK asks for the packet `first` of a burst, and the sender retransmits from there."""
    nak(connection, 8 - first)
    for packet in packets[first:]:
        capture.add(packet)
    connection.group.links[1].ack("server")


def loss_one_direction(capture):
    connection = begun(capture)
    talk(connection)
    for lost in (2, 5, 3):
        frames = burst(connection)
        packets = [capture.frames[number - 1][1] for number in frames]
        del capture.frames[frames[lost] - 1]
        go_back(capture, connection, packets, lost)
    end(connection)


def reordering_path(capture):
    connection = begun(capture)
    talk(connection)
    for late in (2, 4, 3, 2):
        frames = burst(connection)
        packets = [capture.frames[number - 1][1] for number in frames]
        alter(capture, frames[late], lambda _: packets[late + 1])
        alter(capture, frames[late + 1], lambda _: packets[late])
        go_back(capture, connection, packets, late)
    end(connection)


def corruption(capture):
    connection = begun(capture)
    talk(connection)
    for hit in (2, 5, 3, 6):
        frames = burst(connection)
        good = [capture.frames[number - 1][1] for number in frames]
        alter(capture, frames[hit], damaged)
        go_back(capture, connection, good, hit)
    end(connection)


corruption_unchecked = corruption


def message_damaged(capture):
    """The path changes the token and a reserved bit of a message. Its sender retransmits it after a
    timeout."""
    connection = begun(capture)
    talk(connection)
    connection.write("client", text_lines(300, "request"))
    number = connection.cdc("client", ack=False)
    packet = capture.frames[number - 1][1]
    for at in (61, 78):
        alter(capture, number, lambda one, at=at: one[:at] + bytes([one[at] ^ 4]) + one[at + 1 :])
    capture.wait(FIRST_TIMEOUT)
    capture.add(packet)
    connection.group.links[1].ack("server")
    end(connection)


DAMAGED_AT = (5, 9, 12, 13, 15, 20, 21, 22, 23, 11)  # bytes from the BTH on


def all_fields_damaged(capture):
    """The path damages a third of the RoCE packets, each in another field: queue pair, PSN, type,
    length, token, address, RKey. The sender retransmits each."""
    connection = begun(capture)
    for _ in range(4):
        talk(connection)
    connection.group.links[1].send("client", llc.llc_message(0x27, bytes(16)))
    connection.group.links[1].send("server", llc.llc_message(0x27, bytes(16), flags=llc.REPLY))
    end(connection)
    frames, capture.frames[:] = list(capture.frames), []
    roce = [frame for _, frame in frames if frame[36:38] == ROCE]
    damages = dict(zip(roce[8::3], DAMAGED_AT * len(roce)))
    for when, frame in frames:
        at = 42 + damages.get(frame, 0)
        if at > 42 and at < len(frame) - 4:
            broken = frame[:at] + bytes([frame[at] ^ 1 << at % 8]) + frame[at + 1 :]
            capture.frames.append((when - 1, broken))
        capture.frames.append((when, frame))


def damage_last(capture, at, bit):
    """The path changes a bit of the last frame, and its sender retransmits it some time later."""
    when, right = capture.frames[-1]
    frame = bytearray(right)
    frame[at] ^= bit
    capture.frames[-1] = when, bytes(frame)
    capture.wait(0.2)


def damaged_message(tcp, sender, data, *places):
    """A CLC message that is damaged as often as there are `places`: offset and bit."""
    for at, bit in places:
        tcp.segment(sender, "PA", data)
        damage_last(tcp.capture, at, bit)
    tcp.send(sender, data)


def clc_damaged(capture):
    """TCP segments with wrong checksums: a bit of the queue pair in an Accept; of a second
    connection the option in the SYN-ACK, then the flag RST and the address of the Confirm."""
    option, flags, address, queue_pair = 68, 47, 26, 54 + 40  # offsets in the frames
    first = linux_connection(capture, sport=40001)
    first.tcp.handshake()
    first.tcp.send("client", first.proposal())
    damaged_message(first.tcp, "server", first.accept(), (queue_pair, 0x20))
    first.tcp.send("client", first.confirm())
    first.group.confirm_link()
    first.group.add_link_rejected()
    first.send("client", b"damaged and retransmitted\n")
    first.close(delete_rkeys=False)

    halves = [Half(token=half.token + 0x40, rmb=half.rmb) for half in first.half.values()]
    second = Connection(first.group, *halves, sport=40002)
    tcp = second.tcp
    tcp.segment("client", "S", options=USUAL_OPTIONS + SMC_OPTION)
    tcp.seq["client"] += 1
    tcp.segment("server", "SA", options=USUAL_OPTIONS + SMC_OPTION)
    damage_last(capture, option, 0x40)
    tcp.segment("server", "SA", options=USUAL_OPTIONS + SMC_OPTION)
    tcp.seq["server"] += 1
    tcp.segment("client", "A")
    tcp.send("client", second.proposal())
    tcp.send("server", second.accept(first_contact=False))
    confirm = second.confirm(first_contact=False)
    damaged_message(tcp, "client", confirm, (flags, 0x04), (address, 0x01))
    second.send("server", b"once more\n")
    second.close()


def lost_behind_capture(capture):
    connection = begun(capture)
    talk(connection)
    for lost in (2, 5, 3):
        frames = burst(connection)
        nak(connection, 8 - lost)
        again(capture, frames[lost:], wait=0)
        connection.group.links[1].ack("server")
    end(connection)


def acknowledgements_lost(capture):
    connection = begun(capture)
    talk(connection)
    for _ in range(3):
        frames = burst(connection, 2048)
        again(capture, frames, times=2)
        connection.group.links[1].ack("server")
    end(connection)


def slow_answers_of_host(capture):
    """The server's host answers each burst late. It gets each packet twice, acknowledges it twice,
    and nothing is lost."""
    connection = begun(capture)
    talk(connection)
    link = connection.group.links[1]
    for _ in range(3):
        frames = burst(connection, 2048)
        again(capture, frames)
        capture.wait(0.09)
        for _ in (*frames, "first"):
            link.ack("server")
    end(connection)
    numbered(capture)


def numbered(capture):
    """Each RoCE packet gets an IP identification of its own, as hosts give it."""
    for number, (when, frame) in enumerate(capture.frames):
        if frame[23] == 17:
            header = checked(frame[14:18] + struct.pack("!H", number) + frame[20:34])
            capture.frames[number] = when, frame[:14] + header + frame[34:]


def congestion(capture):
    connection = begun(capture)
    talk(connection)
    for _ in range(3):
        for number in burst(connection)[2:6]:
            alter(capture, number, marked)
        congestion_notification(
            capture, SERVER_V2, CLIENT_V2, dest_qp=connection.group.links[1].qp["client"].qpn
        )
        connection.group.links[1].ack("server")
    end(connection)


# ---- ports, hosts, modules ----


def dead_port(capture, version=2):
    """The port of the server's host is down, so nothing of two connections passes; others go on."""
    first = begun(capture, version)
    talk(first, second_of(first), times=30)
    ask_for(capture, 3)
    others_go_on(capture, 6)


def dead_port_v1(capture):
    """Addresses of RoCE are others than those of TCP."""
    dead_port(capture, version=1)


def dead_port_two_links(capture):
    """Two link groups between the same hosts, and a connection over TCP; all end within a
    millisecond."""
    first = begun(capture)
    second = begun(capture, sport=40003, nth=2)
    plain = TcpConversation(capture, CLIENT, SERVER, sport=50200, dport=22)
    plain.handshake(b"", b"")
    talk(first, second, times=30)
    plain.send("client", b"echo\n")
    first.send("client", b"last\n")
    second.send("server", b"last\n")
    others_go_on(capture, 6)


def only_tcp_goes_on(capture):
    """Nothing comes over SMC-R any more, for the programs talk over another connection, which is
    plain TCP."""
    first = begun(capture)
    talk(first, second_of(first), times=30)
    plain = TcpConversation(capture, CLIENT, SERVER, sport=50200, dport=22)
    plain.handshake(b"", b"")
    for _ in range(6):
        capture.wait(1)
        plain.send("client", b"echo\n")


def idle_pool(capture):
    """A program keeps its connections after the work is done: each has had one request; others go
    on."""
    first = begun(capture)
    talk(first, second_of(first), times=1)
    others_go_on(capture, 6)


def one_connection_pauses(capture):
    """A connection is idle; another one of the same hosts goes on."""
    first = begun(capture)
    second = second_of(first)
    talk(first, second)
    for _ in range(8):
        talk(second, times=1, pause=1)


def programs_pause(capture, version=2):
    """Both connections are idle; the hosts test their link every 30 seconds."""
    first = begun(capture, version)
    second = second_of(first)
    talk(first, second)
    for _ in range(4):
        capture.wait(30)
        first.group.test_link("client")
        first.group.test_link("server")


def programs_pause_v1(capture):
    programs_pause(capture, version=1)


def dead_host(capture):
    connection = begun(capture)
    talk(connection)
    last = burst(connection, 1000)
    again(capture, last, times=7)
    ask_for(capture, 3)


def roce_blocked(capture):
    """RoCE no longer passes between the hosts. The server acknowledges a TCP segment that the
    client sends after its first request without an answer."""
    connection = begun(capture)
    talk(connection)
    last = burst(connection, 1000)
    connection.tcp.segment("client", "A")
    capture.wait(0.0015)
    connection.tcp.segment("server", "A")
    again(capture, last, times=5)


def one_request_blocks(capture):
    """The server's program works on one request of the second client for 2 s, and the first client
    waits as long for its answer."""
    first = begun(capture)
    second = second_of(first)
    talk(first, second)
    first.send("client", text_lines(300, "request"))
    second.send("client", text_lines(300, "long request"))
    capture.wait(2)
    second.send("server", text_lines(700, "response"))
    first.send("server", text_lines(700, "response"))
    talk(first, second)
    first.close()
    second.close(delete_rkeys=False)


def outage(capture):
    """No RoCE packet passes for 2 s, in both directions. The server has an acknowledgement missing,
    too, so it retransmits, and only the last of its retransmissions passes."""
    connection = begun(capture)
    talk(connection)
    message = len(capture.frames) + 1
    connection.cdc("server")
    again(capture, burst(connection, 1000), times=5)
    connection.group.links[1].ack("server")
    again(capture, [message], wait=0.002)
    connection.group.links[1].ack("client")
    talk(connection)
    end(connection)
    numbered(capture)


def device_gone(capture):
    """The server's host has no RoCE device any more: it answers each packet with an ICMP error."""
    connection = begun(capture)
    talk(connection)
    last = burst(connection, 1000)
    for time in range(7):
        again(capture, last, wait=FIRST_TIMEOUT * 2**time)
        unreachable(capture, len(capture.frames), code=3, sender=SERVER, receiver=CLIENT)


def undelivered(capture):
    """The server's host answers one packet with an ICMP error, and all goes on."""
    connection = begun(capture)
    talk(connection)
    unreachable(capture, burst(connection, 1000)[0], code=3, sender=SERVER, receiver=CLIENT)
    connection.group.links[1].ack("server")
    end(connection)


def dead_module(capture):
    """The server's module is unloaded under open connections."""
    first = begun(capture)
    second = second_of(first)
    talk(first, second)
    first.group.delete_link_group(reason=0x00020000)
    for connection in (first, second):
        connection.tcp.segment("server", "RA")
    others_go_on(capture, 4)


# ---- SMC-R is not used ----


def decline(capture, diagnosis, *, version=2, os_type=2, sport=40000, **proposal):
    connection = linux_connection(capture, version=version, sport=sport)
    connection.tcp.handshake()
    connection.tcp.send("client", connection.proposal(**proposal))
    connection.tcp.send(
        "server", clc.clc_decline(diagnosis=diagnosis, version=version, os_type=os_type)
    )
    connection.tcp.send("client", b"over TCP\n")
    connection.tcp.send("server", b"as well\n")
    connection.tcp.close()


def both_versions(subnet):
    """Fields of a Proposal that offers both versions."""
    return dict(
        peer=b"\x18\xda" + bytes.fromhex("020000000c01"),
        roce_gid="fe80::ff:fe00:c01",
        roce_mac=CLIENT.mac,
        typev1=clc.ONLY_R,
        typev2=clc.ONLY_R,
        smcd=clc.smcd_area(v2_offset=36),
        ip_area=clc.prefix_area(subnet=subnet, mask_bits=24),
        v2=clc.v2_extension(eids=["EID-ONE", "EID-TWO"], roce_gid=CLIENT.ip),
    )


def eid(capture):
    decline(capture, NO_DEVICE, v2=clc.v2_extension(eids=["EID-ONE"], roce_gid=CLIENT.ip))


def eid_both_versions(capture):
    """Linux gives the code of SMC-R v1 where v2 has no common EID."""
    decline(capture, PREFIX, **both_versions("198.51.100.0"))


def no_device_v1(capture):
    decline(capture, NO_DEVICE, version=1, os_type=0)


def subnet(capture):
    decline(
        capture,
        PREFIX,
        version=1,
        os_type=0,
        ip_area=clc.prefix_area(subnet="198.51.100.0", mask_bits=24),
    )


def plain(capture, *handshakes):
    """TCP, with these options of SYN and SYN-ACK."""
    for number, (syn, synack) in enumerate(handshakes):
        tcp = TcpConversation(capture, CLIENT, SERVER, sport=41000 + number, dport=53)
        tcp.handshake(syn, synack)
        tcp.send("client", b"question\n")
        tcp.send("server", b"answer\n")
        tcp.close()


def firewall_option(capture):
    """A firewall between the hosts writes NOPs over the option of the SYN-ACK."""
    plain(capture, (SMC_OPTION, NOPS), (SMC_OPTION, NOPS))


def firewall_option_fails(capture):
    """The same, and the server's host resets the connection when data come in place of CLC."""
    tcp = TcpConversation(capture, CLIENT, SERVER, sport=41000, dport=8080)
    tcp.handshake(SMC_OPTION, NOPS)
    tcp.send("client", b"question\n")
    tcp.segment("server", "RA")


def firewall_option_at_server(capture):
    """The same at the server: its SYN has lost the option, so its host does not send one."""
    plain(capture, (NOPS, b""), (NOPS, b""))


def plain_server(capture):
    plain(capture, (SMC_OPTION, b""))


def fast_open_server(capture):
    """The program listens with TCP_FASTOPEN: its host gives it SMC-R no more."""
    plain(capture, (SMC_OPTION + FAST_OPEN, FAST_OPEN_COOKIE))


def fast_open_client(capture):
    """The client's program connects with TCP_FASTOPEN_CONNECT: Linux sends the option, and no
    Proposal."""
    plain(capture, (SMC_OPTION + FAST_OPEN, SMC_OPTION + FAST_OPEN_COOKIE))


def firewall_syn(capture):
    """A firewall drops segments with options that it does not know."""
    tcp = TcpConversation(capture, CLIENT, SERVER, sport=41000, dport=8080)
    before = len(capture.frames)
    tcp.handshake()
    del capture.frames[before + 1 :]
    again(capture, [before + 1], times=5, wait=1)


def firewall_port(capture):
    """The same at one port: the host answers another connection later."""
    firewall_syn(capture)
    plain(capture, (b"", b""))


def host_dies(capture):
    """The host answers a connection, and never after that."""
    plain(capture, (b"", b""))
    firewall_syn(capture)


def refused(capture):
    """Nobody listens."""
    tcp = TcpConversation(capture, CLIENT, SERVER, sport=41000, dport=8080)
    tcp.handshake()
    del capture.frames[1:]
    tcp.segment("server", "RA")


def client_gave_up(capture):
    """The SYN-ACK comes when the client's program has closed its socket."""
    tcp = TcpConversation(capture, CLIENT, SERVER, sport=41000, dport=8080)
    tcp.handshake()
    del capture.frames[2:]
    tcp.segment("client", "R")


def client_without_option(capture):
    """The server answers with an option that the client has not sent; nothing comes behind the
    handshake."""
    TcpConversation(capture, CLIENT, SERVER, sport=41000, dport=8080).handshake(syn=b"")


def firewall_roce(capture, error=None, **options):
    """RoCE does not get through: CONFIRM LINK goes out again and again; seen at the server."""
    connection = linux_connection(capture, version=2, **options)
    connection.tcp.handshake()
    for sender, message in (
        ("client", connection.proposal()),
        ("server", connection.accept()),
        ("client", connection.confirm()),
    ):
        connection.tcp.send(sender, message)
    pair = connection.group.links[1].qp["server"]
    request = connection.group.llc(
        "server",
        llc.llc_confirm_link(
            roce_mac=pair.nic.mac,
            roce_gid=pair.nic.gid,
            qpn=pair.qpn,
            link=1,
            user_id=0xB01,
            version=2,
            order="little",
        ),
        ack=False,
    )
    for time in range(5):
        if error is not None:
            unreachable(capture, len(capture.frames), code=error, sender=CLIENT, receiver=SERVER)
        again(capture, [request], wait=FIRST_TIMEOUT * 2**time)
    capture.wait(0.2)
    connection.tcp.send("server", clc.clc_decline(diagnosis=NO_CONFIRM_LINK, version=2, os_type=2))
    connection.tcp.send("client", b"over TCP\n")
    connection.tcp.close()


def firewall_roce_icmp(capture):
    """The firewall says that it is prohibited."""
    firewall_roce(capture, error=13)


def firewall_roce_icmpv6(capture):
    firewall_roce(capture, error=1, ipv6=True, nics=(CLIENT_V2_IPV6, SERVER_V2_IPV6))


# ---- what the capture does to them ----


def doubled_capture(capture):
    """Both ports of a switch are mirrored."""
    connection = begun(capture)
    talk(connection)
    end(connection)
    capture.frames = [(when + copy, frame) for when, frame in capture.frames for copy in (0, 5)]


def doubled_capture_without_ids(capture):
    """Two ports are mirrored: each RoCE packet comes again 250 µs later. The hosts set all
    identifications to 0."""
    connection = begun(capture)
    talk(connection)
    end(connection)
    frames = []
    for when, frame in capture.frames:
        frames.append((when, frame))
        if frame[23] == 17:
            frame = frame[:14] + checked(frame[14:18] + bytes(2) + frame[20:34]) + frame[34:]
            frames[-1:] = [(when, frame), (when + 250, frame)]
    capture.frames = sorted(frames, key=lambda each: each[0])


def late_capture(capture):
    connection = begun(capture)
    talk(connection)
    late = len(capture.frames)
    talk(connection)
    connection.close()
    del capture.frames[:late]


def client_alone(capture):
    """The capture has only what the client's host sends, and begins after the link group."""
    first = begun(capture)
    del capture.frames[:]
    connection = second_of(first)
    talk(connection, times=2)
    connection.close()
    own = bytes.fromhex(CLIENT.mac.replace(":", ""))
    capture.frames = [each for each in capture.frames if each[1][6:12] == own]


def late_two_tokens(capture):
    """The capture begins in the middle of two connections. The tokens of their ends differ, so only
    the cursors show which two directions are one connection."""
    first = begun(capture)
    second = second_of(first)
    talk(first)
    talk(second, times=5)
    start = len(capture.frames)
    talk(first, second)
    for connection in (first, second):
        end(connection)
    capture.frames = [each for each in capture.frames[start:] if ROCE in each[1][34:38]]


def late_truncated(capture):
    """The capture begins after the link group, with 96 bytes of each frame: CLC names no token."""
    first = begun(capture)
    start = len(capture.frames)
    second = second_of(first)
    talk(second)
    second.close()
    del capture.frames[:start]
    capture.captured = {number: 96 for number in range(1, len(capture.frames) + 1)}


def of_equal_tokens(first, number):
    """The number-th connection of a group whose hosts have given as many tokens."""
    client, server = linux_halves(number=number)
    server.token = client.token
    connection = Connection(first.group, client, server, sport=40000 + number)
    connection.subsequent_contact()
    return connection


def truncated_at_once(capture):
    """As late_truncated, with three connections one after the other, and four at once whose
    requests have the same size: cursors alone do not show which directions belong together."""
    first = begun(capture)
    start = len(capture.frames)
    for number in range(2, 5):
        connection = of_equal_tokens(first, number)
        talk(connection, times=2)
        connection.close()
    at_once = [of_equal_tokens(first, number) for number in range(5, 9)]
    for connection in at_once:
        connection.send("client", text_lines(300, "request"))
    for connection in at_once:
        connection.send("server", text_lines(700, "response"))
    for connection in at_once:
        connection.close()
    del capture.frames[:start]
    capture.captured = {number: 96 for number in range(1, len(capture.frames) + 1)}


def truncated_messages(capture):
    """The capture has 56 bytes of each frame: no option of TCP and no message is whole."""
    connection = begun(capture)
    talk(connection)
    end(connection)
    capture.captured = {number: 56 for number in range(1, len(capture.frames) + 1)}


def late_unread_abort(capture):
    """The capture begins in the middle, and has two messages of a connection: the client closes,
    and the server, which has not read the last request, aborts."""
    first = begun(capture)
    connection = of_equal_tokens(first, 2)
    talk(connection)
    connection.send("client", text_lines(100, "the last request"), read=False)
    start = len(capture.frames)
    connection.cdc("client", flags=["closed"])
    connection.cdc("server", flags=["abort"])
    connection.tcp.fin("client")
    roce_only(capture, start)


def late_message(capture):
    """Once, the server's message comes three seconds after the WRITE that it announces."""
    connection = begun(capture)
    talk(connection)
    connection.send("client", text_lines(300, "request"))
    connection.write("server", text_lines(700, "response"))
    capture.wait(3)
    connection.cdc("server")
    connection.read("client")
    talk(connection)
    connection.close()


def left_over(capture):
    """A queue pair from before the capture retransmits in vain: its host has no RoCE device any
    more. So a new connection falls back."""
    connection = begun(capture)
    talk(connection)
    start = len(capture.frames)
    again(capture, [*burst(connection, 1000), connection.cdc("client", ack=False)], times=4)
    del capture.frames[:start]
    decline(capture, NO_DEVICE, sport=40055)


def roce_only(capture, start):
    """Keeps the RoCE packets from the frame with this index on."""
    capture.frames = [each for each in capture.frames[start:] if ROCE in each[1][34:38]]


def stop_reading(capture, connection):
    """Records and answers; then the server's program reads nothing for 6 s."""
    for number in range(20):
        capture.wait(0.01)
        connection.send("client", text_lines(1000, f"record {number}"))
        connection.send("server", text_lines(100, f"received {number}"))
    connection.write("client", bytes(connection.window("client")))
    connection.cdc("client", flags=["blocked"])
    capture.wait(6)
    connection.read("server")
    connection.cdc("server")
    end(connection)


def late_slow_reader(capture):
    """The capture begins in the middle: no message tells the size of the buffer, which the client's
    data go round. Then the server's program reads nothing for 6 s."""
    first = begun(capture)
    connection = Connection(first.group, *linux_halves(16384, number=2), sport=40002)
    connection.subsequent_contact()
    talk(connection)
    start = len(capture.frames)
    stop_reading(capture, connection)
    roce_only(capture, start)


def roce_only_slow_answers(capture):
    """The capture has the RoCE packets of a connection from CONFIRM RKEY on. RMBs are announced,
    and nothing but WRITEs and cursors shows whose they are. Each answer takes 3 s."""
    first = begun(capture)
    start = len(capture.frames)
    connection = second_of(first)
    for number in range(4):
        connection.send("client", text_lines(200, f"request {number}"))
        capture.wait(3)
        connection.send("server", text_lines(500, f"response {number}"))
    connection.close()
    roce_only(capture, start)


def roce_only_slow_reader(capture):
    """The same, and the server's program reads nothing for 6 s."""
    first = begun(capture)
    start = len(capture.frames)
    connection = Connection(first.group, *linux_halves(16384, number=2), sport=40002)
    connection.subsequent_contact()
    stop_reading(capture, connection)
    roce_only(capture, start)


def early_end(capture):
    """The capture is stopped in the middle of two connections."""
    first = begun(capture)
    talk(first, second_of(first))


def other_programs(capture):
    """RoCE of a program that is not SMC-R, with loss."""
    connection = begun(capture)
    start = len(capture.frames)
    for late in range(40):
        frames = burst(connection, 4096)
        if late % 10 == 3:
            nak(connection, 2)
            again(capture, frames[2:], wait=0)
        connection.group.links[1].ack("server")
        connection.half["client"].prod = connection.half["server"].announced = (0, 0)
    del capture.frames[:start]


def abort(capture, *roles):
    """As many connections, each of which this side aborts, with data unread if it is the client."""
    connections = [begun(capture)]
    connections.append(second_of(connections[0]))
    talk(*connections, times=3)
    for connection, role in zip(connections, roles, strict=True):
        connection.send("server", b"which nobody reads\n", read=False)
        connection.cdc(role, flags=["abort"])


def clients_abort(capture):
    abort(capture, "client", "client")


def both_sides_abort(capture):
    abort(capture, "client", "server")


def closed_then_aborted(capture):
    """The server closes two connections in an orderly way; the clients abort them with data
    unread."""
    connections = [begun(capture)]
    connections.append(second_of(connections[0]))
    talk(*connections, times=3)
    for connection in connections:
        connection.send("server", b"which nobody reads\n", read=False)
        connection.cdc("server", flags=["closed"])
    for connection in connections:
        connection.cdc("client", flags=["abort"])


def closed_and_lost(capture, large=0):
    """The path loses the client's last data, which is too big for it. The client closes meanwhile,
    and the server closes when TCP's FIN comes. `large`: large messages that arrive before."""
    connection = begun(capture)
    talk(connection)
    for _ in range(large):
        connection.send("client", bytes(8192))
    connection.cdc("server")
    last = burst(connection, 6000)
    last.append(connection.cdc("client", ack=False))
    nak(connection, len(last))
    again(capture, last, times=5)
    last.append(connection.cdc("client", flags=["closed"], ack=False))
    again(capture, last, times=3)
    connection.cdc("server", flags=["closed"])
    again(capture, last, times=2)


def path_lowers_mtu(capture):
    """The path loses large packets from some time on."""
    closed_and_lost(capture, large=1)


def closed_too_soon(capture):
    """The server closes at once; the client's request crosses this close."""
    connection = begun(capture)
    connection.send("client", text_lines(100, "request"), read=False)
    connection.cdc("server", flags=["closed"])
    connection.cdc("client", flags=["closed"])


def shut_down_then_aborted(capture):
    """The server shuts down its writing side, with a FIN of TCP; the client aborts, with data
    unread. Linux sends the FIN with the flag sending done, before either side has closed."""
    connection = begun(capture)
    talk(connection, times=3)
    connection.send("server", b"which nobody reads\n", read=False)
    connection.cdc("server", flags=["sending_done"])
    connection.tcp.segment("server", "FA")
    connection.cdc("client", flags=["abort"])


def publisher(capture):
    """A subscriber: the server sends messages when there are some, and the client confirms each."""
    connection = begun(capture)
    talk(connection, times=2)
    for number in range(4):
        capture.wait(2)
        connection.send("server", text_lines(100, f"message {number}"))
        connection.send("client", b"received\n")


def hang(capture, *writers):
    """A connection whose `writers` have filled the buffers of their peers, which read no more."""
    connection = begun(capture)
    talk(connection)
    for writer in writers:
        connection.cdc(other(writer))
    for writer in writers:
        connection.write(writer, bytes(connection.window(writer)))
        connection.cdc(writer, flags=["blocked"])
    return connection


def links_are_tested(capture, connection):
    """The programs send nothing for a minute; the hosts test their link."""
    for _ in range(2):
        capture.wait(30)
        connection.group.test_links()


def hung_client(capture):
    links_are_tested(capture, hang(capture, "server"))


def reader_host_dies(capture):
    """The server's program reads slowly, and its host dies. The client's host tests the link half a
    minute later, and then resets TCP."""
    connection = hang(capture, "client")
    capture.wait(0.6)
    connection.group.links[1].ack("server")
    capture.wait(30)
    request = llc.llc_test_link(version=2, order="little")
    test = connection.group.llc("client", request, ack=False)
    again(capture, [test], times=5)
    connection.tcp.segment("client", "RA")


def reader_killed(capture):
    """The client's program reads nothing for 10 s, and is killed."""
    connection = hang(capture, "server")
    capture.wait(10)
    for role in ("client", "server"):
        connection.cdc(role, flags=["abort"])


def reset_by_middlebox(capture):
    """A firewall resets the idle TCP connection; the hosts take no notice."""
    connection = begun(capture)
    talk(connection)
    connection.tcp.segment("server", "R")
    talk(connection, times=100)


def reset_at_the_end(capture):
    """The server's host resets TCP and is gone: the client's retransmits without an answer."""
    connection = begun(capture)
    talk(connection)
    connection.tcp.segment("server", "R")
    again(capture, burst(connection, 1000), times=7)


def hung_programs(capture):
    """Both programs write, and neither reads."""
    links_are_tested(capture, hang(capture, "server", "client"))


def hung_or_cut(capture):
    """The buffer is full when the capture has no more packets of these hosts."""
    hang(capture, "client")
    others_go_on(capture, 6)


def hung_server(capture):
    """The server's program does not answer any more."""
    connection = begun(capture)
    talk(connection)
    connection.send("client", b"a request\n", read=False)
    links_are_tested(capture, connection)


# ---- proxies ----

PROXY, BACK_END = SERVER, Host("02:00:00:00:0e:01", "192.0.2.9")


def proxied(capture):
    """A client's connection to a proxy, and that of the proxy to the server behind it."""
    front = begun(capture, port=8080)
    nics = [SERVER_V2], [Nic(BACK_END.mac, BACK_END.ip)]
    group = LinkGroup(capture, *nics, version=2)
    group.new_link(1, client=(0x600, 0x600000), server=(0x700, 0x700000))
    back = Connection(
        group, *linux_halves(number=3), port=9000, sport=51000, hosts=(PROXY, BACK_END)
    )
    back.first_contact()
    return front, back


def proxy_slow_back_end(capture):
    """The server behind the proxy answers one of ten requests after 5 s. Two seconds before, the
    proxy got the request."""
    front, back = proxied(capture)
    for number in range(10):
        front.send("client", text_lines(300, f"request {number}"))
        capture.wait(2 if number == 6 else 0)
        back.send("client", text_lines(300, f"request {number}"))
        capture.wait(5 if number == 6 else 0.005)
        for connection in (back, front):
            connection.send("server", text_lines(700, f"response {number}"))
        capture.wait(0.02)
    for connection in (front, back):
        connection.close()


def proxy_slow_client(capture):
    """A download through the proxy, of which the client reads nothing for 10 s. So the proxy reads
    nothing either."""
    front, back = proxied(capture)
    for connection in (front, back):
        connection.send("client", b"a request\n")
        connection.cdc("server")
    for connection in (front, back):
        connection.write("server", bytes(connection.window("server")))
        connection.cdc("server", flags=["blocked"])
    capture.wait(10)
    for connection in (front, back):
        connection.read("client")
        connection.cdc("client")
        connection.send("server", bytes(32000))
        connection.cdc("client")
    for connection in (front, back):
        connection.close()


def declined(capture):
    """The TCP connection of a client whose server has no device."""
    connection = linux_connection(capture, version=2)
    connection.tcp.handshake()
    connection.tcp.send("client", connection.proposal())
    connection.tcp.send("server", clc.clc_decline(diagnosis=NO_DEVICE, version=2, os_type=2))
    return connection.tcp


def fallback_with_loss(capture):
    """The server has no device, and the path loses each eighth request three times."""
    tcp, request = declined(capture), text_lines(1000, "request")
    for number in range(24):
        if number % 8 == 3:
            for wait in (0.2, 0.4, 0.8):
                tcp.segment("client", "PA", request)
                capture.wait(wait)
        tcp.send("client", request)
        tcp.send("server", b"ok\n")
        capture.wait(0.01)
    tcp.close()


def fallback_with_late_answers(capture):
    """The server has no device, and acknowledges each eighth request after three retransmissions:
    it got each of them, and reports what came twice (D-SACK)."""
    tcp, request = declined(capture), text_lines(1000, "request")
    for number in range(24):
        left = tcp.seq["client"]
        late = number % 8 == 3
        for wait in (0.2, 0.4, 0.8) if late else ():
            tcp.segment("client", "PA", request)
            capture.wait(wait)
        tcp.send("client", request)
        twice = struct.pack("!BBII", 5, 10, left, tcp.seq["client"])
        for _ in range(3) if late else ():
            tcp.segment("server", "A", options=b"\1\1" + twice)
        tcp.send("server", b"ok\n")
        capture.wait(0.01)
    tcp.close()


# ---- clients that give up ----


def given_up(capture, *, flag="abort", wait=10):
    """The server's program does not answer the last request, and the client gives up."""
    connection = begun(capture)
    talk(connection)
    connection.send("client", text_lines(300, "request"))
    connection.cdc("server")
    capture.wait(wait)
    for role in ("client", "server"):
        connection.cdc(role, flags=[flag])
    return connection


def client_gives_up(capture):
    given_up(capture)


def client_gives_up_in_order(capture):
    given_up(capture, flag="closed").tcp.close()


def client_ends_soon(capture):
    """The client ends 0.4 s after its last message."""
    given_up(capture, wait=0.4)


def reset_in_silence(capture):
    """The path of RoCE is down for some seconds, and one client does not wait for its end."""
    first = begun(capture)
    second = second_of(first)
    talk(first, second)
    again(capture, burst(first, 1000), times=7)
    first.tcp.segment("client", "RA")
    first.group.links[1].ack("server")
    talk(second)
    second.close()


# ---- programs that end, servers whose other connections explain a refusal ----


def program_restarts(capture):
    """The server's program is killed with two connections open; the client connects again at once,
    and 2 s later."""
    first = begun(capture)
    connections = [first, second_of(first)]
    talk(*connections)
    for connection in connections:
        connection.send("client", text_lines(300, "request"), read=False)
    for connection in connections:
        connection.cdc("server", flags=["abort"])
        connection.cdc("client", flags=["abort"])
    tcp = TcpConversation(capture, CLIENT, SERVER, sport=40010, dport=50000)
    tcp.segment("client", "S", options=SMC_OPTION)
    tcp.segment("server", "RA")
    capture.wait(2)
    again_there = Connection(first.group, *linux_halves(number=3), sport=40012)
    again_there.subsequent_contact()
    talk(again_there)
    again_there.close()


def host_restarts(capture):
    """The server's host starts anew with a connection open; its kernel resets TCP when the client's
    keepalive comes, and chooses another instance ID."""
    connection = begun(capture)
    talk(connection)
    again(capture, burst(connection, 1000), times=7)
    capture.wait(20)
    tcp = connection.tcp
    tcp.segment("client", "A", seq=tcp.seq["client"] - 1)
    tcp.segment("server", "R")
    later = linux_connection(capture, version=2, nth=2, sport=40100)
    later.group.peer["server"].instance ^= 0x0F0F
    later.first_contact()
    talk(later)
    later.close()


def writes_after_close(capture):
    """The client closes a connection; the server's program does not notice, and writes."""
    connection = begun(capture)
    talk(connection, times=2)
    connection.cdc("client", flags=["closed"])
    connection.tcp.fin("client")
    capture.wait(0.1)
    connection.send("server", text_lines(700, "late"), read=False)
    for role in ("client", "server"):
        connection.cdc(role, flags=["abort"])


def other_eid(capture):
    """One client of two has another EID than the server."""
    talk(begun(capture, sport=40055))
    decline(capture, NO_DEVICE, v2=clc.v2_extension(eids=["EID-ONE"], roce_gid=CLIENT.ip))


def device_comes_later(capture):
    """The server has no device at first."""
    decline(capture, NO_DEVICE)
    capture.wait(5)
    connection = begun(capture, sport=40055)
    talk(connection)
    connection.close()


def four_reasons(capture):
    """Four servers decline, each for another reason."""
    for nth, diagnosis in enumerate((NO_DEVICE, PREFIX, 0x03060000, 0x03020000)):
        decline(capture, diagnosis, version=1, os_type=0, sport=40000 + nth)
        capture.wait(1)


def slow_path(capture):
    """A round trip of TCP takes half a second."""
    connection = linux_connection(capture, version=2)
    before = len(capture.frames)
    connection.first_contact()
    capture.frames[before + 1 :] = [
        (when + 500_000, *rest) for when, *rest in capture.frames[before + 1 :]
    ]
    capture.wait(0.5)
    talk(connection)
    connection.close()


def syn_lost(capture):
    """The server answers the fourth SYN."""
    connection = linux_connection(capture, version=2)
    for wait in (1, 2, 4):
        connection.tcp.segment("client", "S", options=SMC_OPTION)
        capture.wait(wait)
    connection.first_contact()
    talk(connection)
    connection.close()


def build(name):
    """The capture as a pcap file."""
    capture = Capture()
    SCENES[name](capture)
    return capture.pcap()


SCENES = {
    each: globals()[each]
    for each in (
        "loss_one_direction",
        "reordering_path",
        "corruption",
        "corruption_unchecked",
        "message_damaged",
        "all_fields_damaged",
        "clc_damaged",
        "lost_behind_capture",
        "acknowledgements_lost",
        "slow_answers_of_host",
        "congestion",
        "dead_port",
        "dead_port_v1",
        "dead_port_two_links",
        "only_tcp_goes_on",
        "idle_pool",
        "one_connection_pauses",
        "programs_pause",
        "programs_pause_v1",
        "dead_host",
        "roce_blocked",
        "outage",
        "one_request_blocks",
        "device_gone",
        "undelivered",
        "dead_module",
        "eid",
        "eid_both_versions",
        "no_device_v1",
        "subnet",
        "firewall_option",
        "firewall_option_fails",
        "firewall_option_at_server",
        "plain_server",
        "fast_open_server",
        "fast_open_client",
        "firewall_syn",
        "firewall_port",
        "host_dies",
        "refused",
        "client_gave_up",
        "client_without_option",
        "firewall_roce",
        "firewall_roce_icmp",
        "firewall_roce_icmpv6",
        "doubled_capture",
        "doubled_capture_without_ids",
        "late_capture",
        "client_alone",
        "late_two_tokens",
        "late_truncated",
        "truncated_at_once",
        "truncated_messages",
        "late_unread_abort",
        "late_message",
        "left_over",
        "late_slow_reader",
        "roce_only_slow_answers",
        "roce_only_slow_reader",
        "early_end",
        "other_programs",
        "clients_abort",
        "both_sides_abort",
        "closed_then_aborted",
        "closed_and_lost",
        "closed_too_soon",
        "path_lowers_mtu",
        "shut_down_then_aborted",
        "publisher",
        "hung_client",
        "reader_host_dies",
        "reader_killed",
        "reset_by_middlebox",
        "reset_at_the_end",
        "hung_programs",
        "hung_or_cut",
        "hung_server",
        "proxy_slow_back_end",
        "proxy_slow_client",
        "fallback_with_loss",
        "fallback_with_late_answers",
        "client_gives_up",
        "client_gives_up_in_order",
        "client_ends_soon",
        "reset_in_silence",
        "program_restarts",
        "host_restarts",
        "writes_after_close",
        "other_eid",
        "device_comes_later",
        "syn_lost",
        "slow_path",
        "four_reasons",
    )
}
