"""
TCP conversations that no capture of the project has, frame by frame: losses with selective
acknowledgements, congestion marks in odd places, sequence numbers that wrap, ports used again. Each
scene returns frames and what counts of it, by hand.
"""

import ipaddress
import struct

from report_frames import (
    ACK,
    COOKED,
    COOKED_2,
    CWR,
    ECE,
    ETHERNET,
    FIN,
    IPV4,
    IPV6,
    NS,
    RAW,
    RST,
    SYN,
)

NOT_ECT, ECT_1, ECT_0, CE = range(4)
PSH = 0x08
A, B = ("10.9.0.1", 40000), ("10.9.0.2", 5001)
A6, B6 = ("2001:db8::9:1", 40000), ("2001:db8::9:2", 5001)
MILLISECOND = 1_000_000  # nanoseconds
BEGIN = 1_700_000_000_000_000_000


def timestamps(value, echo):
    return b"\x01\x01\x08\x0a" + struct.pack(">II", value % 2**32, echo % 2**32)


def sack(*edges):
    return (
        b"\x01\x01\x05"
        + bytes([2 + 4 * len(edges)])
        + b"".join(struct.pack(">I", edge % 2**32) for edge in edges)
    )


class Scene:
    """A capture: frames one millisecond apart, unless said otherwise."""

    def __init__(self, linktype=ETHERNET, vlans=()):
        self.linktype, self.vlans = linktype, vlans
        self.frames, self.time = [], BEGIN
        self.identification = 0

    def ip(self, source, target, ecn, segment, extension):
        if ":" not in source:
            self.identification += 1
            return (
                IPV4,
                struct.pack(
                    ">BBHHHBBH4s4s",
                    0x45,
                    0x28 << 2 | ecn,
                    20 + len(segment),
                    self.identification,
                    0x4000,
                    64,
                    6,
                    0,
                    ipaddress.ip_address(source).packed,
                    ipaddress.ip_address(target).packed,
                )
                + segment,
            )
        first, header = (0, bytes([6, 0, 1, 4, 0, 0, 0, 0])) if extension else (6, b"")
        return (
            IPV6,
            struct.pack(
                ">IHBB16s16s",
                6 << 28 | ecn << 20,
                len(header) + len(segment),
                first,
                64,
                ipaddress.ip_address(source).packed,
                ipaddress.ip_address(target).packed,
            )
            + header
            + segment,
        )

    def link(self, ethertype, data):
        if self.linktype == RAW:
            return data
        tags = b"".join(struct.pack(">HH", 0x8100, vlan) for vlan in self.vlans) + struct.pack(
            ">H", ethertype
        )
        if self.linktype == COOKED:
            return struct.pack(">HHH8s", 0, 1, 6, bytes(8)) + tags + data
        if self.linktype == COOKED_2:
            return tags + struct.pack(">HIHBB8s", 0, 1, 1, 0, 6, bytes(8)) + data
        return bytes.fromhex("020000000902" "020000000901") + tags + data

    def tcp(
        self,
        source,
        target,
        seq,
        ack,
        flags,
        payload=b"",
        options=b"",
        ecn=NOT_ECT,
        after=MILLISECOND,
        cut=None,
        extension=False,
    ):
        """One segment. cut: bytes of the frame that are not captured."""
        options += bytes(-len(options) % 4)
        word = (20 + len(options)) // 4 << 12 | flags
        segment = struct.pack(
            ">HHIIHHHH", source[1], target[1], seq % 2**32, ack % 2**32, word, 65535, 0, 0
        )
        whole = self.link(
            *self.ip(source[0], target[0], ecn, segment + options + payload, extension)
        )
        self.time += after
        self.frames.append((self.time, whole[: len(whole) - (cut or 0)], len(whole)))

    def pcap(self):
        """In nanoseconds."""
        head = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, self.linktype)
        return head + b"".join(
            struct.pack("<IIII", time // 10**9, time % 10**9, len(data), length) + data
            for time, data, length in self.frames
        )

    def open(
        self, a=A, b=B, *, isn=(1000, 5000), flags=(SYN | ECE | CWR, SYN | ACK | ECE), options=b""
    ):
        self.tcp(a, b, isn[0], 0, flags[0], options=options)
        self.tcp(b, a, isn[1], isn[0] + 1, flags[1], options=options)
        self.tcp(a, b, isn[0] + 1, isn[1] + 1, ACK, options=options)


def marks():
    """CE, SCE and NS in segments with data, in pure ACKs, in SYN and FIN, behind a FIN, in an RST,
    without ACK."""
    scene = Scene()
    scene.open()
    for position, ecn in enumerate((ECT_1, ECT_1, ECT_0, ECT_1, CE, ECT_1, ECT_1, ECT_1)):
        scene.tcp(
            A, B, 1001 + 10 * position, 5001, ACK | (CWR if ecn == CE else 0), bytes(10), ecn=ecn
        )
    scene.tcp(B, A, 5001, 1041, ACK | NS)  # 40 bytes
    scene.tcp(B, A, 5001, 1081, ACK | NS | ECE)  # 40 bytes
    scene.tcp(A, B, 1081, 5001, PSH, bytes(5), ecn=CE)  # no ACK
    scene.tcp(A, B, 1086, 5001, FIN | ACK, bytes(5), ecn=CE)
    scene.tcp(A, B, 1092, 5001, ACK | ECE, ecn=CE)  # behind the FIN
    scene.tcp(B, A, 5001, 1092, ACK | NS)  # 10 bytes and the FIN
    scene.tcp(B, A, 5001, 1092, FIN | ACK | NS, ecn=ECT_1)
    scene.tcp(A, B, 1092, 5002, ACK, ecn=CE)
    scene.tcp(B, A, 5002, 1092, RST | ACK | ECE, ecn=CE)
    return scene, {
        "ecn_initiated": True,
        "ecn_accepted": True,
        "up": {
            "packets": 14,
            "segments": 14,
            "data_segments": 10,
            "acks": 12,
            "acked_bytes": 90,
            "ce": 1,
            "sce": 6,
            "cwr": 1,
            "ece": 0,
            "esce": 0,
            "esce_acked_bytes": 90,
            "duplicate_acks": 10,
            "ip_bytes": 14 * 40 + 90,
            "gaps": 0,
            "repeated_segments": 0,
            "sce_run_length": {"count": 3, "sum": 6, "sum_of_squares": 14, "min": 1, "max": 3},
            "sce_ipg_s": {
                "count": 5,
                "sum": 0.007,
                "sum_of_squares": 11e-6,
                "min": 0.001,
                "max": 0.002,
            },
        },
        "down": {
            "packets": 6,
            "segments": 5,
            "data_segments": 0,
            "acks": 5,
            "acked_bytes": 0,
            "ce": 0,
            "sce": 0,
            "esce": 3,
            "ece": 1,
            "cwr": 0,
            "duplicate_acks": 1,
        },
    }


def run_at_the_end():
    """The capture ends within a run of SCE."""
    scene = Scene()
    scene.open()
    for position in range(4):
        scene.tcp(A, B, 1001 + position, 5001, ACK, bytes(1), ecn=ECT_1)
    return scene, {
        "up": {
            "sce": 4,
            "sce_run_length": {"count": 1, "sum": 4, "sum_of_squares": 16, "min": 4, "max": 4},
        }
    }


def selective():
    """Two losses; blocks that come again, that grow, one that is old (D-SACK); then all is
    acknowledged."""
    scene = Scene()
    scene.open()
    for position in range(10):
        scene.tcp(A, B, 1001 + 100 * position, 5001, ACK, bytes(100))
    scene.tcp(B, A, 5001, 1101, ACK)  # 100 bytes; the second segment is lost
    scene.tcp(B, A, 5001, 1101, ACK | NS, options=sack(1201, 1301))
    scene.tcp(B, A, 5001, 1101, ACK | NS, options=sack(1201, 1401))
    scene.tcp(B, A, 5001, 1101, ACK, options=sack(1501, 1601, 1201, 1401))
    scene.tcp(A, B, 1101, 5001, ACK, bytes(100))
    scene.tcp(B, A, 5001, 1401, ACK | NS, options=sack(1501, 1601))  # 100 bytes new, 200 known
    scene.tcp(A, B, 1401, 5001, ACK, bytes(100))
    scene.tcp(B, A, 5001, 2001, ACK)  # 500 bytes new, 100 known
    scene.tcp(B, A, 5001, 2001, ACK, options=sack(1401, 1501))  # it came twice
    return scene, {
        "up": {
            "acked_bytes": 700,
            "sacked_bytes": 300,
            "dsacks": 1,
            "esce_acked_bytes": 300,
            "repeated_segments": 2,
            "data_segments": 12,
            "duplicate_acks": 12,
            "gaps": 0,
        },
        "down": {"duplicate_acks": 4, "esce": 3, "acked_bytes": 0, "sacked_bytes": 0},
    }


def selective_in_advance():
    """A block that comes for the first time with an ACK that moves on."""
    scene = Scene()
    scene.open()
    for position in range(5):
        scene.tcp(A, B, 1001 + 100 * position, 5001, ACK, bytes(100))
    scene.tcp(B, A, 5001, 1201, ACK, options=sack(1301, 1401))
    scene.tcp(B, A, 5001, 1501, ACK)
    return scene, {"up": {"acked_bytes": 400, "sacked_bytes": 100}}


def wrapping():
    """Sequence numbers of both ends, and time stamps, wrap."""
    scene = Scene()
    scene.open(isn=(2**32 - 150, 2**32 - 1), options=timestamps(2**32 - 5, 0))
    for position in range(4):
        scene.tcp(
            A,
            B,
            2**32 - 149 + 100 * position,
            0,
            ACK,
            bytes(100),
            timestamps(2**32 - 3 + position, 1),
        )
        scene.tcp(
            B,
            A,
            0,
            2**32 - 149 + 100 * (position + 1),
            ACK,
            options=timestamps(2 + position, 2**32 - 3 + position),
            after=2 * MILLISECOND,
        )
    return scene, {
        "up": {
            "acked_bytes": 400,
            "gaps": 0,
            "repeated_segments": 0,
            "late_segments": 0,
            "ack_elapsed_s": 0.013,
            "rtt_s": {
                "count": 4,
                "sum": 0.008,
                "sum_of_squares": 16e-6,
                "min": 0.002,
                "max": 0.002,
            },
            "derived": {
                "goodput_bit_s": 3200 / 0.013,
                "sce_percent": 0,
                "ce_percent": 0,
                "esce_acked_bytes_percent": 0,
            },
        },
        "down": {"late_segments": 0, "acked_bytes": 0},
    }


def disorder():
    """A gap, what fills it late, what is retransmitted, a keep-alive, an ACK that is older than the
    last."""
    scene = Scene()
    scene.open(options=timestamps(100, 0))
    scene.tcp(A, B, 1001, 5001, ACK, bytes(100), timestamps(200, 100))
    scene.tcp(A, B, 1201, 5001, ACK, bytes(100), timestamps(202, 100))  # a gap of 100 bytes
    scene.tcp(A, B, 1101, 5001, ACK, bytes(100), timestamps(201, 100))  # late
    scene.tcp(B, A, 5001, 1301, ACK, options=timestamps(300, 202))
    scene.tcp(B, A, 5001, 1101, ACK, options=timestamps(299, 200))  # older, and late itself
    scene.tcp(B, A, 5001, 1301, ACK, options=timestamps(301, 202))
    scene.tcp(A, B, 1300, 5001, ACK, options=timestamps(400, 301))  # keep-alive
    scene.tcp(A, B, 1501, 5001, ACK, options=timestamps(401, 301))  # a gap before an ACK
    scene.tcp(A, B, 1301, 5001, ACK, bytes(100), timestamps(402, 301))
    scene.tcp(A, B, 1301, 5001, ACK, bytes(100), timestamps(403, 301), after=5 * MILLISECOND)
    scene.tcp(B, A, 5001, 1401, ACK, options=timestamps(304, 403))
    return scene, {
        "up": {
            "gaps": 2,
            "gap_bytes": 300,
            "repeated_segments": 2,
            "late_segments": 1,
            "acked_bytes": 400,
            "rtt_s": {
                "count": 2,
                "sum": 0.004,
                "sum_of_squares": 10e-6,
                "min": 0.001,
                "max": 0.003,
            },
        },
        "down": {"late_segments": 1, "duplicate_acks": 1, "gaps": 0},
    }


def ports_again():
    """The same ports again: after a FIN, and with another first number while nothing has ended."""
    scene = Scene()
    for isn in (1000, 800000, 90):
        scene.open(isn=(isn, isn + 7), flags=(SYN, SYN | ACK))
        scene.tcp(A, B, isn + 1, isn + 8, ACK, bytes(50))
        scene.tcp(B, A, isn + 8, isn + 51, ACK)
        if isn == 1000:
            scene.tcp(A, B, isn + 51, isn + 8, FIN | ACK)
            scene.tcp(B, A, isn + 8, isn + 52, FIN | ACK)
            scene.tcp(A, B, isn + 52, isn + 9, ACK)
    return scene, {
        "tcp_stream": 0,
        "ecn_initiated": False,
        "ecn_accepted": False,
        "tcp_isn": {"client": 1000, "server": 1007},
        "up": {"acked_bytes": 50, "packets": 5},
    }


def answered_only():
    """The capture begins with the SYN-ACK, which is retransmitted."""
    scene = Scene()
    for _ in range(2):
        scene.tcp(B, A, 5000, 1001, SYN | ACK | ECE | CWR)
    scene.tcp(A, B, 1001, 5001, ACK)
    scene.tcp(A, B, 1001, 5001, ACK, bytes(10))
    scene.tcp(B, A, 5001, 1011, ACK)
    return scene, {
        "ecn_initiated": None,
        "ecn_accepted": False,
        "tcp_isn": {"client": None, "server": 5000},
        "src": B[0],
        "up": {"duplicate_acks": 1, "repeated_segments": 1, "acked_bytes": 0},
        "down": {"acked_bytes": 10, "acks": 2},
    }


def in_the_middle():
    """No SYN, and the answers of one side only."""
    scene = Scene()
    for position in range(5):
        scene.tcp(B, A, 777, 1001 + 20 * position, ACK | ECE, ecn=ECT_0)
    return scene, {
        "ecn_initiated": None,
        "ecn_accepted": None,
        "tcp_isn": {"client": None, "server": None},
        "up": {"ece": 5, "ack_elapsed_s": None},
        "down": {"acked_bytes": None, "ack_elapsed_s": 0.004, "packets": 0},
    }


def repeated_ends():
    """SYN and FIN come again; a FIN comes behind a gap; a byte is retransmitted to keep the
    connection alive."""
    scene = Scene()
    scene.tcp(A, B, 1000, 0, SYN)
    scene.open(flags=(SYN, SYN | ACK))
    scene.tcp(A, B, 1001, 5001, ACK, bytes(10))
    scene.tcp(B, A, 5001, 1011, ACK)
    scene.tcp(A, B, 1010, 5001, ACK, bytes(1))  # keep-alive
    scene.tcp(B, A, 5001, 1011, ACK)
    for _ in range(3):
        scene.tcp(A, B, 1031, 5001, FIN | ACK)
    scene.tcp(B, A, 5001, 1011, ACK)
    scene.tcp(A, B, 1006, 5001, ACK, bytes(25))  # the middle of what came before, and more
    scene.tcp(B, A, 5001, 1032, ACK)
    return scene, {
        "up": {
            "repeated_segments": 4,
            "gaps": 1,
            "gap_bytes": 20,
            "acked_bytes": 30,
            "late_segments": None,
        },
        "down": {"repeated_segments": 0, "duplicate_acks": 2},
    }


def echoes():
    """One TSval in several segments: the last one before the first echo counts, and none behind
    it."""
    scene = Scene()
    scene.open(options=timestamps(10, 0))
    for _ in range(3):
        scene.tcp(A, B, 1001, 5001, ACK, bytes(10), timestamps(50, 10))
    scene.tcp(B, A, 5001, 1011, ACK, options=timestamps(60, 50), after=4 * MILLISECOND)
    scene.tcp(A, B, 1011, 5001, ACK, bytes(10), timestamps(50, 60))
    scene.tcp(B, A, 5001, 1021, ACK, options=timestamps(61, 50), after=9 * MILLISECOND)
    scene.tcp(A, B, 1021, 5001, ACK, options=timestamps(51, 60))
    return scene, {
        "up": {
            "tsval_rtt_s": {
                "count": 1,
                "sum": 0.004,
                "sum_of_squares": 16e-6,
                "min": 0.004,
                "max": 0.004,
            }
        },
        "down": {
            "tsval_rtt_s": {
                "count": 2,
                "sum": 0.003,
                "sum_of_squares": 5e-6,
                "min": 0.001,
                "max": 0.002,
            }
        },
    }


def bytes_of(scene, a, b, **options):
    """A short conversation, on any link."""
    scene.open(a, b)
    scene.tcp(a, b, 1001, 5001, ACK | PSH, bytes(700), ecn=CE, **options)
    scene.tcp(b, a, 5001, 1701, ACK | ECE, ecn=ECT_0)
    scene.tcp(b, a, 5001, 1701, ACK | FIN, bytes(33), ecn=ECT_0)
    scene.tcp(a, b, 1701, 5035, ACK | CWR, ecn=ECT_0)
    return scene, {
        "ecn_initiated": True,
        "ecn_accepted": True,
        "up": {"ce": 1, "cwr": 1, "acked_bytes": 700, "data_segments": 1},
        "down": {"ece": 1, "acked_bytes": 33, "data_segments": 1},
    }


def cut():
    return bytes_of(Scene(), A, B, cut=650)


def over_ipv6():
    return bytes_of(Scene(), A6, B6)


def ipv6_with_extension():
    return bytes_of(Scene(), A6, B6, extension=True)


def two_vlans():
    return bytes_of(Scene(vlans=(7, 8)), A, B)


def raw():
    return bytes_of(Scene(RAW), A6, B6)


def cooked():
    return bytes_of(Scene(COOKED), A, B)


def cooked_2():
    return bytes_of(Scene(COOKED_2), A, B)


SCENES = [
    marks,
    run_at_the_end,
    selective,
    selective_in_advance,
    wrapping,
    disorder,
    ports_again,
    answered_only,
    repeated_ends,
    echoes,
    in_the_middle,
    cut,
    over_ipv6,
    ipv6_with_extension,
    two_vlans,
    raw,
    cooked,
    cooked_2,
]
