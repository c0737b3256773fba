"""
A reader of RoCEv2 captures that knows neither the plugin nor Wireshark: the headers of every
packet, whether its ICRC is right, and the messages of RDMA-CM with the connections and the states
that they give. What it counts is held against the ground truth, and what the plugin says against
both.
"""

import collections
import gzip
import ipaddress
import zlib

import pcapng

VLAN, IPV4, IPV6, UDP, ROCE_PORT = (0x8100, 0x88A8), 0x0800, 0x86DD, 17, 4791
UDP_HEADER, BTH, ICRC = 8, 12, 4
RC, UC, UD, CNP = 0, 1, 3, 0x81  # transports: the upper three bits of an opcode; and an opcode
TRANSPORTS = {RC: "RC", UC: "UC", UD: "UD"}
OPERATIONS = {
    0: "SEND_FIRST",
    1: "SEND_MIDDLE",
    2: "SEND_LAST",
    3: "SEND_LAST_IMM",
    4: "SEND_ONLY",
    5: "SEND_ONLY_IMM",
    6: "WRITE_FIRST",
    7: "WRITE_MIDDLE",
    8: "WRITE_LAST",
    9: "WRITE_LAST_IMM",
    10: "WRITE_ONLY",
    11: "WRITE_ONLY_IMM",
    12: "READ_REQ",
    13: "READ_RESP_FIRST",
    14: "READ_RESP_MIDDLE",
    15: "READ_RESP_LAST",
    16: "READ_RESP_ONLY",
    17: "ACK",
    18: "ATOMIC_ACK",
    19: "CMP_SWAP",
    20: "FETCH_ADD",
    22: "SEND_LAST_INV",
    23: "SEND_ONLY_INV",
}
HEADERS = [  # of which operations, and how long
    ({6, 10, 11, 12}, 16),
    ({13, 15, 16, 17, 18}, 4),
    ({3, 5, 9, 11, 22, 23}, 4),
    ({19, 20}, 28),
    ({18}, 8),
]
WITH_AETH, DETH, CNP_RESERVED = {13, 15, 16, 17, 18}, 8, 16

ECN = ("not-ECT", "ECT(1)", "ECT(0)", "CE")
NOT_ECT, CE = 0, 3
NAKS = ("PSN_SEQUENCE", "INVALID_REQUEST", "REMOTE_ACCESS", "REMOTE_OPERATIONAL", "INVALID_RD")
RNR_TIMERS = (  # milliseconds
    655.36,
    0.01,
    0.02,
    0.03,
    0.04,
    0.06,
    0.08,
    0.12,
    0.16,
    0.24,
    0.32,
    0.48,
    0.64,
    0.96,
    1.28,
    1.92,
    2.56,
    3.84,
    5.12,
    7.68,
    10.24,
    15.36,
    20.48,
    30.72,
    40.96,
    61.44,
    81.92,
    122.88,
    163.84,
    245.76,
    327.68,
    491.52,
)

CM_CLASS, GSI = 7, 1
ATTRIBUTES = {
    0x10: "REQ",
    0x11: "MRA",
    0x12: "REJ",
    0x13: "REP",
    0x14: "RTU",
    0x15: "DREQ",
    0x16: "DREP",
    0x17: "SIDR_REQ",
    0x18: "SIDR_REP",
}
PORT_SPACES = (
    0x01,
    0x06,
    0x11,
    0x13,
    0x3F,
)  # of the service IDs of RDMA-CM: 0x0000000001, port space, port

Packet = collections.namedtuple(
    "Packet",
    "frame time src dst sport opcode fecn becn qpn psn ecn sender syndrome msn"
    " payload icrc_right",
)  # time in nanoseconds; sender: of UD, else None
Message = collections.namedtuple("Message", "frame src dst attr tid fields")


# ---- packets ----


def number(data, offset, size):
    return int.from_bytes(data[offset : offset + size], "big")


def icrc_is_right(ip, version, udp_start, end):
    """The ICRC against all of the packet from IP on; what routers change counts as ones."""
    covered = bytearray(ip[: end - ICRC])
    if version == 4:
        covered[1] = covered[8] = 0xFF
        covered[10:12] = b"\xff\xff"
    else:
        covered[0] |= 0x0F
        covered[1:4] = b"\xff\xff\xff"
        covered[7] = 0xFF
    covered[udp_start + 6 : udp_start + 8] = b"\xff\xff"
    covered[udp_start + UDP_HEADER + 4] = 0xFF
    return zlib.crc32(bytes(8 * [0xFF]) + covered) == int.from_bytes(ip[end - ICRC : end], "little")


def headers_length(opcode):
    if opcode == CNP:
        return CNP_RESERVED
    return sum(length for kinds, length in HEADERS if opcode & 31 in kinds) + (
        DETH if opcode >> 5 == UD else 0
    )


def roce_packet(frame, time, ip, version, udp_start, ends, ecn):
    end = udp_start + number(ip, udp_start + 4, 2)
    bth = ip[udp_start + UDP_HEADER : end]
    opcode, unreliable = bth[0], bth[0] >> 5 == UD
    has_aeth = opcode >> 5 == RC and opcode & 31 in WITH_AETH
    return Packet(
        frame,
        time,
        *ends,
        number(ip, udp_start, 2),
        opcode,
        bth[4] >> 7,
        bth[4] >> 6 & 1,
        number(bth, 5, 3),
        number(bth, 9, 3),
        ecn,
        number(bth, BTH + 5, 3) if unreliable else None,
        bth[BTH] if has_aeth else None,
        number(bth, BTH + 1, 3) if has_aeth else None,
        bth[BTH + headers_length(opcode) : len(bth) - ICRC - (bth[1] >> 4 & 3)],
        icrc_is_right(ip, version, udp_start, end),
    )


def packet(frame, time, data):
    """The RoCE packet of an Ethernet frame; None if it has none."""
    start, ethertype = 14, number(data, 12, 2)
    while ethertype in VLAN:
        start, ethertype = start + 4, number(data, start + 2, 2)
    ip = data[start:]
    if ethertype == IPV4:
        version, protocol, ends, udp_start, ecn = (
            4,
            ip[9],
            (ip[12:16], ip[16:20]),
            (ip[0] & 15) * 4,
            ip[1] & 3,
        )
    elif ethertype == IPV6:
        version, protocol, ends, udp_start, ecn = (
            6,
            ip[6],
            (ip[8:24], ip[24:40]),
            40,
            ip[1] >> 4 & 3,
        )
    else:
        return None
    if protocol != UDP or number(ip, udp_start + 2, 2) != ROCE_PORT:
        return None
    return roce_packet(
        frame, time, ip, version, udp_start, [str(ipaddress.ip_address(end)) for end in ends], ecn
    )


def unpack(path):
    """The bytes before the first frame, and the frames, of a capture that gzip has packed."""
    every = list(pcapng.blocks(gzip.decompress(path.read_bytes())))
    head = b"".join(block for kind, block in every if kind in (pcapng.SECTION, pcapng.INTERFACE))
    blocks = (block for kind, block in every if kind == pcapng.PACKET)
    return head, [pcapng.Frame(position, block) for position, block in enumerate(blocks, 1)]


def packets(frames):
    """The RoCE packets of frames, numbered as they come."""
    found = (
        packet(position, pcapng.time(frame) * 1000, pcapng.data(frame))
        for position, frame in enumerate(frames, 1)
    )
    return [each for each in found if each]


def flow_of(each):
    return each.src, each.dst, each.qpn


def direction_of(each):
    return f"{each.src}>{each.dst}"


def opcode_name(opcode):
    if opcode == CNP:
        return "CNP"
    transport, operation = TRANSPORTS.get(opcode >> 5), OPERATIONS.get(opcode & 31)
    return f"{transport}_{operation}" if transport and operation else f"0x{opcode:02x}"


def meaning(syndrome):
    """What the AETH says, as the ground truth names it."""
    kind, value = syndrome >> 5 & 3, syndrome & 31
    if kind == 3:
        return f"NAK({value} {NAKS[value] if value < len(NAKS) else '?'})"
    return {0: "ACK", 1: f"RNR_NAK(timer {value})"}.get(kind, "RESERVED")


def is_nak(each):
    return each.syndrome is not None and each.opcode & 31 == 17 and each.syndrome >> 5 & 3 == 3


def is_rnr_nak(each):
    return each.syndrome is not None and each.opcode & 31 == 17 and each.syndrome >> 5 & 3 == 1


def is_cnp(each):
    return each.opcode == CNP


# ---- congestion ----


def congestion(found, reverse):
    """
    What CNPs answer, by definition: {frame of a CNP: (frame of the first packet marked CE that no
    CNP had answered, time since then)}, {frame of a packet marked CE: frame of the next CNP},
    {frame of a CNP: time since the last one from its sender to its queue pair}. `reverse` has the
    flow in the other direction of each flow.
    """
    answers, answered_in, intervals, waiting, last = {}, {}, {}, collections.defaultdict(list), {}
    for each in found:
        flow = flow_of(each)
        if is_cnp(each):
            marked = waiting.pop(reverse.get(flow), [])
            if marked:
                answers[each.frame] = marked[0].frame, each.time - marked[0].time
            answered_in.update((one.frame, each.frame) for one in marked)
            if flow in last:
                intervals[each.frame] = each.time - last[flow]
            last[flow] = each.time
        elif each.ecn == CE:
            waiting[flow].append(each)
    return answers, answered_in, intervals


# ---- RDMA-CM ----


def message(each):
    """The message of RDMA-CM that a packet carries; None if it carries none."""
    mad = each.payload
    if each.opcode != 0x64 or each.qpn != GSI or len(mad) < 256 or mad[1] != CM_CLASS:
        return None
    attr = ATTRIBUTES.get(number(mad, 16, 2))
    return attr and Message(
        each.frame, each.src, each.dst, attr, number(mad, 8, 8), FIELDS[attr](mad[24:])
    )


def ids(data):
    return {"local_id": number(data, 0, 4), "remote_id": number(data, 4, 4)}


FIELDS = {
    "REQ": lambda data: {
        "local_id": number(data, 0, 4),
        "service_id": number(data, 8, 8),
        "local_qpn": number(data, 32, 3),
        "starting_psn": number(data, 44, 3),
        "flow_label": number(data, 88, 3) >> 4,
    },
    "MRA": ids,
    "REJ": lambda data: {**ids(data), "rejected": data[8] >> 6, "reason": number(data, 10, 2)},
    "REP": lambda data: {
        **ids(data),
        "local_qpn": number(data, 12, 3),
        "starting_psn": number(data, 20, 3),
    },
    "RTU": ids,
    "DREQ": lambda data: {**ids(data), "remote_qpn": number(data, 8, 3)},
    "DREP": ids,
    "SIDR_REQ": lambda data: {"request_id": number(data, 0, 4), "service_id": number(data, 8, 8)},
    "SIDR_REP": lambda data: {
        "request_id": number(data, 0, 4),
        "qpn": number(data, 8, 3),
        "service_id": number(data, 12, 8),
    },
}


def messages(found):
    return [each for each in map(message, found) if each]


def service_port(service_id):
    """The port in a service ID of RDMA-CM; None in any other."""
    known = service_id >> 24 == 1 and service_id >> 16 & 0xFF in PORT_SPACES
    return service_id & 0xFFFF if known else None


def same_message(one):
    """What a message shares with the same one retransmitted."""
    return one.src, one.dst, one.attr, one.tid, tuple(one.fields.items())


def repeats(found):
    """{frame: frame of the message that it repeats}"""
    first, again = {}, {}
    for each in found:
        of = first.setdefault(same_message(each), each.frame)
        if of != each.frame:
            again[each.frame] = of
    return again


class Connection:
    """
    A connection of RDMA-CM. Where the capture lacks the REQ, nobody knows the client, and the
    sender of the first message takes its place.
    """

    def __init__(self, first):
        self.client, self.server = first.src, first.dst
        self.client_id, self.server_id = first.fields.get("local_id"), None
        self.request = first if first.attr in ("REQ", "SIDR_REQ") else None
        self.reply, self.reason, self.messages = None, None, []

    @property
    def named_messages(self):
        """As the ground truth names them."""
        return [
            f"{each.frame}:{each.attr}{'<' * (each.src != self.client)}" for each in self.messages
        ]

    def add(self, each):
        self.messages.append(each)
        if each.attr == "REP":
            self.reply = self.reply or each
        if each.attr == "REJ":
            self.reason = each.fields["reason"]
        if each.src == self.server and each.fields.get("local_id"):
            self.server_id = each.fields["local_id"]


def connections(found):
    """The connections of messages: each knows the communication ID of one side at least."""
    by_id, every = {}, []
    for each in found:
        if each.attr.startswith("SIDR"):
            keys = [(frozenset((each.src, each.dst)), each.fields["request_id"], each.tid)]
        else:
            keys = [
                (end, peer, each.fields[name])
                for end, peer, name in (
                    (each.src, each.dst, "local_id"),
                    (each.dst, each.src, "remote_id"),
                )
                if each.fields.get(name)
            ]
        known = next((by_id[key] for key in keys if key in by_id), None)
        if (
            known is None
            or each.attr == "REQ"
            and known.request
            and same_message(each) != same_message(known.request)
        ):
            known = Connection(each)
            every.append(known)
        known.add(each)
        by_id.update((key, known) for key in keys)
    return every


IDLE, REQ_SENT, REQ_RCVD, MRA_REQ_SENT, MRA_REQ_RCVD, REP_SENT, REP_RCVD = (
    0,
    2,
    3,
    4,
    5,
    6,
    7,
)  # enum ib_cm_state
MRA_REP_SENT, MRA_REP_RCVD, ESTABLISHED, DREQ_SENT, DREQ_RCVD, TIMEWAIT = 8, 9, 10, 11, 12, 13
SIDR_REQ_SENT, SIDR_REQ_RCVD = 14, 15

# (the sender's state, its receiver's) after a message that came for the first time
AFTER = {
    "REQ": (REQ_SENT, REQ_RCVD),
    "REP": (REP_SENT, REP_RCVD),
    "RTU": (ESTABLISHED, ESTABLISHED),
    "DREQ": (DREQ_SENT, DREQ_RCVD),
    "DREP": (TIMEWAIT, TIMEWAIT),
    "REJ": (IDLE, IDLE),
    "SIDR_REQ": (SIDR_REQ_SENT, SIDR_REQ_RCVD),
    "SIDR_REP": (IDLE, IDLE),
}
# what else each may be when the message repeats one, or when the capture lacks others
ALSO = {
    "REQ": (set(), {REP_SENT, ESTABLISHED}),
    "REP": (set(), {ESTABLISHED}),
    "RTU": ({DREQ_RCVD, DREQ_SENT}, {DREQ_SENT, DREQ_RCVD}),
    "DREQ": ({DREQ_RCVD}, {DREQ_SENT, TIMEWAIT}),
    "DREP": ({IDLE}, {DREQ_SENT, IDLE}),
    "REJ": ({TIMEWAIT}, {TIMEWAIT}),
    "SIDR_REQ": ({IDLE}, {IDLE}),
    "SIDR_REP": (set(), set()),
}
OVERTAKEN = {"REQ": {REP_RCVD}}  # and what else when its answer stands before it in the capture


def states(connection):
    """[(message, states of the client that are right, states of the server)]: one each where
    nothing was repeated."""
    again, rows = repeats(connection.messages), []
    for each in connection.messages:
        if each.attr == "MRA":
            continue
        right = [{state} for state in AFTER[each.attr]]
        if each.frame in again:
            right = [one | more for one, more in zip(right, ALSO[each.attr])]
        rows.append((each, *(right if each.src == connection.client else right[::-1])))
    return rows


def possible_states(each):
    """The states of either side that do not contradict a message, whatever the capture lacks or has
    out of order."""
    if each.attr not in AFTER:
        return set(range(16))
    return set(AFTER[each.attr]).union(*ALSO[each.attr], OVERTAKEN.get(each.attr, ()))
