"""
A second reader of how packets fared, written from docs/fabric.md alone: it reads the RoCEv2 headers
of a capture, finds the reverse of each flow, and judges every RC and UC packet. It keeps everything
it has seen, and looks ahead where the definitions speak of what comes later.
"""

import collections
import ipaddress
import json

from scapy.utils import RawPcapReader

VLAN, IPV4, IPV6, UDP, ROCE_PORT = (0x8100, 0x88A8), 0x0800, 0x86DD, 17, 4791
UDP_HEADER, BTH, ICRC = 8, 12, 4
RC, UC, TRANSPORTS = 0, 1, 2  # the upper three bits of an opcode

READ, ACKNOWLEDGE, ATOMIC_ACK, COMPARE_AND_SWAP, FETCH_AND_ADD = 12, 17, 18, 19, 20
READ_RESPONSES = range(13, 17)
REQUESTS = {*range(13), COMPARE_AND_SWAP, FETCH_AND_ADD, 22, 23}
RESPONSES = {*READ_RESPONSES, ACKNOWLEDGE, ATOMIC_ACK}
FIRST_AND_MIDDLE = {0, 1, 6, 7, 13, 14}
RETH = {6, 10, 11, READ}
IMMEDIATE = {3, 5, 9, 11, 22, 23}  # or an rkey to invalidate
AETH = {13, 15, 16, ACKNOWLEDGE, ATOMIC_ACK}
RETH_SIZE, AETH_SIZE, IMMEDIATE_SIZE, ATOMIC_SIZE, ATOMIC_ACK_SIZE = 16, 4, 4, 28, 8

PATH_MTUS = (4096, 2048, 1024, 512, 256)
PSNS = 1 << 24
AHEAD, BEHIND = 131072, 16384  # a jump of more PSNs than that is a new life
NAK, RNR_NAK, SEQUENCE_ERROR = 0x60, 0x20, 0x60  # two kinds of syndrome, and one syndrome
NAKS_REMEMBERED, ACKNOWLEDGEMENTS_REMEMBERED = 4, 16
SOON = 100_000  # nanoseconds: nobody sends again so soon what was not refused
TWICE_LEAST, ROUTED_LEAST = 8, 4  # copies that show how the capture was made
TIMER_LEAST = 1_000_000  # nanoseconds: no timer runs out sooner
BEYOND_ROUTER = 2_000_000  # nanoseconds: a router forwards sooner
# nanoseconds: without an identification nobody knows that a packet was so late, and not sent again
REORDERED = 1_000_000
TIMER = 64_000_000  # nanoseconds: no NAK takes so long
RNR_TIMERS = [
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
]  # milliseconds

Frame = collections.namedtuple(
    "Frame",
    "number time source target udp_source qpn opcode psn dma_length payload_length"
    " syndrome ip_id hop_limit",
)
Header = collections.namedtuple(
    "Header",
    "frame time flow reverse opcode psn dma_length payload_length syndrome ip_id hop_limit"
    " corrupt",
    defaults=[0],
)
Verdict = collections.namedtuple(
    "Verdict", "frame verdict of absent taken discarded cause step silent"
)


# ---- the headers of a capture ----


def number(data, offset, size):
    return int.from_bytes(data[offset : offset + size], "big")


def _roce(position, time, ends, udp_source, of_ip, data):
    """A packet of RC or UC with an opcode that means something, from its BTH on; None if it is
    another."""
    opcode, kind = data[0], data[0] & 31
    if opcode >> 5 >= TRANSPORTS or kind not in REQUESTS | RESPONSES:
        return None
    headers = (
        RETH_SIZE * (kind in RETH)
        + AETH_SIZE * (kind in AETH)
        + IMMEDIATE_SIZE * (kind in IMMEDIATE)
        + ATOMIC_SIZE * (kind in (COMPARE_AND_SWAP, FETCH_AND_ADD))
        + ATOMIC_ACK_SIZE * (kind == ATOMIC_ACK)
    )
    return Frame(
        position,
        time,
        *ends,
        udp_source,
        number(data, 5, 3),
        opcode,
        number(data, 9, 3),
        number(data, BTH + 12, 4) if kind in RETH else 0,
        len(data) - BTH - headers - (data[1] >> 4 & 3) - ICRC,
        data[BTH] if kind in AETH else -1,
        *of_ip,
    )


def _frame(position, time, data):
    """The RC or UC packet of an Ethernet frame; None if it has none."""
    start, ethertype = 14, number(data, 12, 2)
    while ethertype in VLAN:
        start, ethertype = start + 4, number(data, start + 2, 2)
    ip = data[start:]
    if ethertype == IPV4:
        protocol, ends, of_ip = ip[9], (ip[12:16], ip[16:20]), (number(ip, 4, 2), ip[8])
        udp = ip[(ip[0] & 15) * 4 : number(ip, 2, 2)]
    elif ethertype == IPV6:
        protocol, ends, of_ip = ip[6], (ip[8:24], ip[24:40]), (-1, ip[7])
        udp = ip[40 : 40 + number(ip, 4, 2)]
    else:
        return None
    if protocol != UDP or number(udp, 2, 2) != ROCE_PORT:
        return None
    return _roce(
        position, time, ends, number(udp, 0, 2), of_ip, udp[UDP_HEADER : number(udp, 4, 2)]
    )


def _nanoseconds(meta):
    """The time of a packet in pcapng (units of its own) or pcap."""
    if hasattr(meta, "tshigh"):
        return ((meta.tshigh << 32) + meta.tslow) * 10**9 // meta.tsresol
    return meta.sec * 10**9 + meta.usec * 1000


def frames(path):
    """The RC and UC packets of a capture, which may be packed by gzip."""
    reader = RawPcapReader(str(path))
    try:
        found = [
            _frame(position, _nanoseconds(meta), bytes(data))
            for position, (data, meta) in enumerate(reader, 1)
        ]
    finally:
        reader.close()
    return [each for each in found if each]


# ---- which flow is the reverse of which ----


def flow_of(frame):
    return frame.source, frame.target, frame.qpn


def text(address):
    """An address as the ground truth writes it."""
    return str(ipaddress.ip_address(address))


def sources_from_truth(flows, truth):
    """{flow: queue pair that sends it}, from the ground truth."""
    known = {}
    pairs = [(pair["qpn_A"], pair["qpn_B"]) for pair in truth["qp_pairs_from_hosts"]]
    told = {
        (each["src"], each["dst"], each["dqpn"]): each
        for each in truth["truth_from_bytes"]["flows"]
    }
    for flow in flows:
        each = told[text(flow[0]), text(flow[1]), flow[2]]
        found = {*each["src_qp_from_cm"], *each.get("src_qp_from_hosts", [])}
        found = found or {a for a, b in pairs if b == flow[2]} | {
            b for a, b in pairs if a == flow[2]
        }
        if len(found) == 1:
            known[flow] = found.pop()
    return known


def udp_source_port(one, other):
    """What Linux gives two queue pairs whose connection has no flow label."""
    label = one * other
    label ^= label >> 20
    label = (label ^ label >> 40) & 0xFFFFF
    return label & 0x3FFF ^ label >> 14 | 0xC000


def sources_from_ports(packets):
    """{flow: queue pair that sends it}, where the UDP source port leaves no doubt."""
    ports = {flow_of(each): each.udp_source for each in packets}
    known = {}
    for flow, port in ports.items():
        source, target, qpn = flow
        found = [
            back
            for back in ports
            if back[:2] == (target, source)
            and ports[back] == port
            and udp_source_port(back[2], qpn) == port
        ]
        if len(found) == 1:
            known[flow] = found[0][2]
    return known


def headers(path, truth_path=None):
    """The headers of a capture, with their flows numbered, and those numbers: ([Header], {flow:
    number})."""
    packets = frames(path)
    flows = list(dict.fromkeys(flow_of(each) for each in packets))
    if truth_path:
        sources = sources_from_truth(flows, json.loads(truth_path.read_text(encoding="utf-8")))
    else:
        sources = sources_from_ports(packets)
    backs = {
        (source, target, qpn): (target, source, sources[source, target, qpn])
        for source, target, qpn in flows
        if (source, target, qpn) in sources
    }
    numbers = {
        flow: position for position, flow in enumerate(dict.fromkeys([*flows, *backs.values()]))
    }
    found = [
        Header(
            each.number,
            each.time,
            numbers[flow_of(each)],
            numbers.get(backs.get(flow_of(each)), -1),
            each.opcode,
            each.psn,
            each.dma_length,
            each.payload_length,
            each.syndrome,
            each.ip_id,
            each.hop_limit,
        )
        for each in packets
    ]
    return found, numbers


def line(header_or_verdict):
    """A header as the plugin's own model reads it, or a verdict as it prints it."""
    return " ".join(map(str, header_or_verdict))


# ---- words ----


def transport(header):
    return header.opcode >> 5


def is_request(header):
    return header.opcode & 31 in REQUESTS


def is_read(header):
    return header.opcode & 31 == READ


def is_negative(header):
    """Is it a NAK or an RNR NAK?"""
    return header.opcode & 31 == ACKNOWLEDGE and header.syndrome & 0x60 in (NAK, RNR_NAK)


def is_fetch(header):
    """Has it a response of its own, which may be lost?"""
    return header.opcode & 31 in (READ, COMPARE_AND_SWAP, FETCH_AND_ADD)


def comes_soon(header, before, limit=SOON):
    return not header.corrupt and not before.corrupt and 0 <= header.time - before.time <= limit


def is_beyond_router(header, before):
    """Was one captured before a router and the other one after it?"""
    limits = {header.hop_limit, before.hop_limit}
    return 0 not in limits and len(limits) == 2 and comes_soon(header, before, BEYOND_ROUTER)


def has_other_limit(header, before):
    return 0 not in (header.hop_limit, before.hop_limit) and header.hop_limit != before.hop_limit


def is_other_side(header, before):
    return not header.corrupt and not before.corrupt and has_other_limit(header, before)


def is_twice(life):
    """Has the capture nearly each packet twice?"""
    copies, requests = life.timed if life else (0, 0)
    return copies >= TWICE_LEAST and copies >= requests // 8 * 7


def is_routed(life):
    """Has the capture packets before and after a router?"""
    return life is not None and life.routed >= ROUTED_LEAST


def is_rnr(syndrome):
    return syndrome & 0x60 == RNR_NAK


def distance(psn, origin):
    """From one PSN to another, either of which may be unwrapped."""
    return (psn - origin + PSNS // 2) % PSNS - PSNS // 2


def is_near(psn, highest):
    return -BEHIND <= distance(psn, highest) <= AHEAD


def psns_of_read(length, path_mtu):
    return max(1, -(-length // path_mtu))


class Request:
    """A request in the life of a flow. Its PSNs are unwrapped: `end` is the last that it takes."""

    def __init__(self, header, start):
        self.header, self.start, self.end = header, start, start
        self.verdict, self.of = "next", 0
        self.highest = None  # the flow's, before this packet
        self.first_taker = None  # of a repeat: the request F
        self.identified = False  # the flow's identifications change
        self.knows_copies = False  # so the same one tells a copy
        self.absent, self.taken, self.discarded = 0, False, 0
        self.cause, self.step, self.silent = "-", 0, False
        self.waited = False  # does it come too late for a NAK?
        self.before = False  # was it sent before one that does?
        self.gap = 0  # nanoseconds since the last request or NAK
        self.timer = TIMER  # nanoseconds: no NAK takes so long


class Twins:
    """The first and the latest packet with each PSN, copies left out."""

    def __init__(self):
        self.packets = {}  # {PSN: [first packet, latest packet]}

    def find(self, psn, ip_id):
        """The frame of which a packet is a copy, if the flow's identifications change; 0 if there
        is none."""
        return next(
            (
                each.frame
                for each in self.packets.get(psn, [])
                if each.ip_id == ip_id and not each.corrupt
            ),
            0,
        )

    def latest(self, psn):
        """None if there is none."""
        return self.packets.get(psn, [None, None])[1]

    def add(self, psn, header):
        """Of packets with a wrong ICRC, the first one only takes the place of another."""
        first, latest = self.packets.get(psn, [header, header])
        self.packets[psn] = [first, latest if header.corrupt else header]


class Answer:
    """What the reverse flow sends: the unwrapped PSN of a response; None where it says nothing of
    this life."""

    def __init__(self, header, psn, answered):
        self.header, self.psn, self.answered = header, psn, answered
        self.covers = (
            None if psn is None else psn - is_negative(header)
        )  # everything up to this PSN


class Life:
    """
    One life of the requests of a flow: what happened in it, in the order of the capture, copies
    left out. What the reverse flow carried in the life before has been carried; but as an
    acknowledgement it is far off and says nothing.
    """

    def __init__(self, first_psn, before):
        self.carried = bool(before) and (
            before.carried or any(isinstance(each, Answer) for each in before.events)
        )
        self.highest = first_psn - 1
        self.first = first_psn
        self.events = []
        self.taker = {}  # {PSN: first request that took it}
        self.twins = Twins()
        self.distance = 0  # nanoseconds, from a packet to a copy that only time tells; the longest
        self.timed = [0, 0]  # such copies, and the requests since the first that had one
        self.routed = 0  # copies soon after their requests with another hop limit
        self.path_mtu = None
        self.open_reads = []  # READs of which nobody knows yet how many PSNs they take

    def unwrap(self, psn):
        return self.highest + distance(psn, self.highest)

    def comes_next(self, request):
        """Has it the PSN behind the highest, or, retransmitted, that behind the request before
        it?"""
        if request.start == self.highest + 1:
            return True
        last = next((each for each in reversed(self.events) if isinstance(each, Request)), None)
        return (
            transport(request.header) == RC
            and last is not None
            and last.start < self.highest
            and request.start == last.start + 1
            and self.taker.get(request.start) is not self.taker.get(last.start)
        )

    def take(self, request, end):
        request.end = max(request.end, end)
        self.highest = max(self.highest, request.end)
        for psn in range(request.start, request.end + 1):
            self.taker.setdefault(psn, request)

    def settle(self, start=None):
        """
        Say how many PSNs the open READs take: by the path MTU, else by the PSN of the next request.
        That one may be lost, so it decides of this READ alone, and the READ takes as many PSNs as
        leave least absent. A late READ stays as one with 4096, for the next request says nothing of
        it, until a packet tells the path MTU.
        """
        for request in self.open_reads:
            length = request.header.dma_length
            if self.path_mtu:
                self.take(request, request.start + psns_of_read(length, self.path_mtu) - 1)
            elif (
                start is not None
                and request.verdict != "late"
                and request.end == self.highest < start
            ):
                counts = {psns_of_read(length, mtu) for mtu in PATH_MTUS}
                most = max(count for count in counts if count <= start - request.start)
                self.take(request, request.start + most - 1)
        if self.path_mtu:
            self.open_reads = []
        elif start is not None and start > self.highest:
            self.open_reads = [each for each in self.open_reads if each.verdict == "late"]


class Flow:
    """What is known of a flow while a capture is read."""

    def __init__(self):
        self.life = None
        self.before = []  # what the reverse flow sent before the flow's first request
        self.path_mtu = None  # from before the flow's first request
        self.begin_anew()
        self.answered, self.answer_twins, self.highest_answer = {}, Twins(), None
        self.acknowledgements = collections.deque(maxlen=ACKNOWLEDGEMENTS_REMEMBERED)
        self.twice = set()  # frames of acknowledgements of which a copy has come
        self.carried = 0  # packets, copies left out
        self.heard_at = {}  # what the reverse flow had carried, by the frame of a response
        self.heard = 0  # when its last READ response or Atomic ACK came

    def begin_anew(self):
        self.previous, self.same, self.different = None, False, False

    def unwrap_answer(self, psn):
        if self.highest_answer is not None:
            psn = self.highest_answer + distance(psn, self.highest_answer)
        self.highest_answer = psn if self.highest_answer is None else max(psn, self.highest_answer)
        return psn

    def identified(self, header):
        """Do the flow's identifications change, up to this packet?"""
        if self.previous and header.ip_id >= 0:
            alike = (self.previous.opcode, self.previous.psn) == (header.opcode, header.psn)
            if self.previous.ip_id != header.ip_id:
                self.different = True
            elif not alike:
                self.same = True
        self.previous = header
        return header.ip_id >= 0 and self.different and not self.same

    def knows_copies(self, header):
        """Is a packet with the PSN and identification of one before a copy of it? That of the first
        packet is, too."""
        any_but_zero = self.previous is not None and self.previous.ip_id > 0
        return header.ip_id >= 0 and not self.same and (self.different or any_but_zero)


# ---- first pass: copy, late, repeat, and how many PSNs a request takes ----


class Reader:
    """Reads packets in the order of the capture and sorts them into lives."""

    def __init__(self):
        self.flows = collections.defaultdict(Flow)
        self.lives = []
        self.responses = {}  # {position: verdict}
        self.requests = {}  # {position: request}

    def read(self, position, header):
        if header.corrupt:
            self.read_corrupt(position, header)
            return
        if is_request(header):
            self.read_request(position, header)
        else:
            self.read_response(position, header)
        judged = self.requests.get(position) or self.responses[position]
        self.flows[header.flow].carried += judged.verdict != "copy"

    def note(self, header, answered):
        """Tell the reverse flow's life of a packet that is no copy."""
        flow = self.flows[header.reverse] if header.reverse >= 0 else None
        if not flow:
            return
        if not flow.life:
            flow.before.append((header, answered))
            return
        self.append_answer(flow.life, header, answered)

    @staticmethod
    def append_answer(life, header, answered):
        psn = None
        if answered and is_near(header.psn, life.highest):
            psn = life.unwrap(header.psn)
        life.events.append(Answer(header, psn, answered))

    def note_path_mtu(self, header):
        if header.opcode & 31 in FIRST_AND_MIDDLE and header.payload_length in PATH_MTUS:
            for number_of_flow in {header.flow, header.reverse} - {-1}:
                life = self.flows[number_of_flow].life
                if life:
                    life.path_mtu = header.payload_length
                    life.settle()
                else:
                    self.flows[number_of_flow].path_mtu = header.payload_length

    def begin_life(self, flow, header):
        """A flow's first packet, or one that is far from all before."""
        first = flow.life is None
        flow.life = Life(header.psn, flow.life)
        self.lives.append(flow.life)
        flow.life.reverse_known = header.reverse >= 0
        if first:
            last = max(
                (place for place, (_, answered) in enumerate(flow.before) if answered), default=None
            )
            for place, (each, _) in enumerate(flow.before):
                self.append_answer(flow.life, each, place == last)
            flow.life.path_mtu = flow.path_mtu
        else:
            flow.begin_anew()

    def read_request(self, position, header):
        flow = self.flows[header.flow]
        if flow.life and 0 < distance(header.psn, flow.life.highest) <= AHEAD:
            self.note_path_mtu(header)  # it may tell before its PSN does
            flow.life.settle(flow.life.unwrap(header.psn))
        if not flow.life or not is_near(header.psn, flow.life.highest):
            self.begin_life(flow, header)
        life = flow.life
        request = self.requests[position] = Request(header, life.unwrap(header.psn))
        request.highest = life.highest
        request.identified = flow.identified(header)
        request.knows_copies = flow.knows_copies(header)
        self.judge(life, request)
        if request.verdict == "copy":
            return
        life.timed[1] += life.timed[0] > 0
        life.twins.add(request.start, header)
        life.events.append(request)
        self.note(header, False)
        life.take(request, request.start)
        self.note_path_mtu(header)
        if is_read(header):
            life.take(
                request,
                request.start + psns_of_read(header.dma_length, life.path_mtu or PATH_MTUS[0]) - 1,
            )
            if not life.path_mtu:
                life.open_reads.append(request)

    def read_corrupt(self, position, header):
        """A packet with a wrong ICRC: a request that comes next was sent, and nobody else hears of
        any."""
        flow = self.flows[header.flow]
        life = flow.life
        self.responses[position] = Verdict(header.frame, "next", 0, 0, 0, 0, "-", 0, 0)
        if not is_request(header) or not life:
            return
        request = Request(header, life.unwrap(header.psn))
        request.highest = life.highest
        request.identified = header.ip_id >= 0 and flow.different and not flow.same
        request.knows_copies = flow.knows_copies(header)
        self.judge(life, request)
        if request.verdict != "copy" and not life.comes_next(request):
            return
        del self.responses[position]
        self.requests[position] = request
        if request.verdict == "copy":
            return
        life.timed[1] += life.timed[0] > 0
        if request.start > life.highest:
            life.settle(request.start)
        life.twins.add(request.start, header)
        life.events.append(request)
        life.take(request, request.start)
        if is_read(header) and request.verdict != "late":
            life.take(
                request,
                request.start + psns_of_read(header.dma_length, life.path_mtu or PATH_MTUS[0]) - 1,
            )
            if not life.path_mtu:
                life.open_reads.append(request)

    @staticmethod
    def is_missed(life, latest):
        """Whether the response to a READ or an atomic may be missed: others have come behind it, or
        nobody knows."""
        answers = [
            each.header.frame for each in life.events if isinstance(each, Answer) and each.answered
        ]
        return is_fetch(latest) and (not answers or max(answers) > latest.frame)

    @staticmethod
    def is_refused(life, request, latest):
        """Whether it was refused, or one before it, since it came the last time; or one of several
        was."""
        named = {
            each.psn
            for each in life.events
            if isinstance(each, Answer)
            and each.psn is not None
            and is_negative(each.header)
            and each.header.frame > latest.frame
        }
        return len(named) > 1 or any(psn <= request.start for psn in named)

    @staticmethod
    def longest(life, request, before):
        """Nanoseconds within which an equal request is a copy. The newest one has nothing behind
        it that its receiver could miss it by: it waits for its timer."""
        newest = before.start == request.start == life.highest
        answered = any(isinstance(each, Answer) and each.answered for each in life.events)
        fetched = is_fetch(life.twins.packets[request.start][0])
        if (newest or is_twice(life)) and answered and not fetched:
            return TIMER_LEAST
        return max(SOON, life.distance * 3 // 2)

    @staticmethod
    def judge(life, request):
        before = next((each for each in reversed(life.events) if isinstance(each, Request)), None)
        near = before and (
            before.start == request.start or (life.distance and request.start < before.start)
        )
        near = near and transport(request.header) == RC
        latest = life.twins.latest(request.start)
        if request.knows_copies:
            twin = life.twins.find(request.start, request.header.ip_id)
        elif latest and is_beyond_router(request.header, latest):
            twin = latest.frame
            life.routed += 1
        elif latest and is_routed(life) and is_other_side(request.header, latest):
            twin = latest.frame
        elif (
            latest
            and near
            and comes_soon(request.header, latest, Reader.longest(life, request, before))
            and not Reader.is_missed(life, latest)
            and not Reader.is_refused(life, request, latest)
        ):
            twin = latest.frame
            apart = request.header.time - latest.time
            life.timed = [life.timed[0] + 1, max(life.timed[1], 1)]
            if not life.distance or apart <= max(SOON, life.distance * 3 // 2):  # no stray one
                life.distance = max(life.distance, apart, 1)
        else:
            twin = 0
        if twin:
            request.verdict, request.of = "copy", twin
        elif request.start <= request.highest:
            request.first_taker = life.taker.get(request.start)
            request.verdict = "repeat" if request.first_taker else "late"
            request.of = request.first_taker.header.frame if request.first_taker else 0

    @staticmethod
    def is_twin_of_answer(flow, life, header, before):
        """Is an acknowledgement without an identification that says so a copy of one before? life:
        that of the requests"""
        if before.syndrome != header.syndrome:
            return False
        if is_beyond_router(header, before):
            return True
        if is_routed(life) and has_other_limit(header, before):
            return True
        soon = is_twice(life) and 0 <= header.time - before.time <= TIMER_LEAST
        if not soon or before.frame in flow.twice:
            return False
        flow.twice.add(before.frame)
        return True

    @staticmethod
    def twin_of_response(flow, life, header, psn, heard):
        """The frame of which a response is a copy; 0 if there is none."""
        by_id, latest = flow.knows_copies(header), flow.answer_twins.latest(psn)
        if header.opcode & 31 == ACKNOWLEDGE:
            return next(
                (
                    each.frame
                    for each in reversed(flow.acknowledgements)
                    if each.psn == header.psn
                    and (
                        each.ip_id == header.ip_id
                        if by_id
                        else Reader.is_twin_of_answer(flow, life, header, each)
                    )
                ),
                0,
            )
        if by_id:
            return flow.answer_twins.find(psn, header.ip_id)
        if latest and is_beyond_router(header, latest):
            return latest.frame
        if latest and is_routed(life) and has_other_limit(header, latest):
            return latest.frame
        if not latest or not comes_soon(header, latest) or flow.heard != heard:
            return 0
        return latest.frame if flow.heard_at[latest.frame] == heard or is_twice(life) else 0

    def read_response(self, position, header):
        flow = self.flows[header.flow]
        psn = flow.unwrap_answer(header.psn)
        flow.identified(header)
        acknowledges = header.opcode & 31 == ACKNOWLEDGE
        heard = self.flows[header.reverse].carried if header.reverse >= 0 else 0
        life = self.flows[header.reverse].life if header.reverse >= 0 else None
        twin = self.twin_of_response(flow, life, header, psn, heard)
        verdict, of = "next", 0
        if not acknowledges:
            flow.heard = flow.heard_at[header.frame] = heard
        if twin:
            verdict, of = "copy", twin
        elif acknowledges:
            flow.acknowledgements.append(header)
        else:
            flow.answer_twins.add(psn, header)
            of = flow.answered.setdefault(psn, header.frame)
            verdict, of = ("next", 0) if of == header.frame else ("repeat", of)
        self.responses[position] = Verdict(header.frame, verdict, of, 0, 0, 0, "-", 0, 0)
        if verdict != "copy":
            self.note(header, True)
            self.note_path_mtu(header)


# ---- second pass: each life, with all that came later ----


def repeats_read(request):
    """Is it a READ that repeats a READ?"""
    return (
        request.verdict == "repeat"
        and is_read(request.header)
        and is_read(request.first_taker.header)
    )


def asks_from_within(request):
    return repeats_read(request) and request.start != request.first_taker.start


def find_waits(life):
    """
    Requests that come too late for a NAK to be why, and those that were sent before such a one, by
    their identifications. No request that is new came between the two.
    """
    newest, timer, late = (
        None,
        0,
        None,
    )  # time of the last request or NAK, nanoseconds of the last RNR NAK, such a request
    for event in life.events:
        if isinstance(event, Answer):
            if event.psn is not None and is_negative(event.header):
                if is_rnr(event.header.syndrome):
                    timer = round(RNR_TIMERS[event.header.syndrome & 31] * 10**6)
                if is_rnr(event.header.syndrome) or event.header.syndrome == SEQUENCE_ERROR:
                    newest = event.header.time
        elif transport(event.header) == RC:
            event.timer, event.gap = (
                TIMER + timer,
                0 if newest is None else event.header.time - newest,
            )
            event.before = (
                late is not None
                and event.verdict != "next"
                and event.identified
                and (event.header.ip_id - late.header.ip_id) % (1 << 16) >= 1 << 15
            )
            event.waited = (
                event.before or newest is not None and event.header.time > newest + event.timer
            )
            late = None if event.verdict == "next" else event if event.waited else late
            newest = event.header.time


class Step:
    """A step back: its first PSN, its end, what was sent in it so far, and the PSNs that NAKs have
    named since."""

    def __init__(self, request, first, cause, followers):
        self.frame, self.first, self.end, self.cause = (
            request.header.frame,
            first,
            request.highest,
            cause,
        )
        self.followers = (
            followers  # where the step began only because the sender went on: those that show it
        )
        self.sent, self.named, self.members = set(), set(), []
        self.passed = False  # a request above the end has come
        self.hopeful = False  # it comes late, but not from the first PSN that is not acknowledged
        self.top = None  # its packet with the highest PSN
        for each in [request, *followers]:
            self.note(each)

    def tell(self, cause):
        self.cause = cause
        for each in self.members:
            each.cause = cause

    def note(self, request):
        self.sent.update(range(request.start, request.end + 1))
        if self.top is None or request.start > self.top.start:
            self.top = request

    def add(self, request):
        self.note(request)
        self.members.append(request)
        request.step, request.cause = self.frame, self.cause

    def is_in_line(self, request):
        """Does its identification lie as far from that of the highest packet as its PSN?"""
        sent = (request.header.ip_id - self.top.header.ip_id - (request.start - self.top.start)) % (
            1 << 16
        )
        return request.identified and sent == 0

    def holds(self, request, covered, named):
        """Does a repeat or late packet belong to it? By what an acknowledgement has covered and
        NAKs have named."""
        if request in self.followers:
            return True
        over = self.passed and self.end <= covered
        reordered = request.start <= max(self.sent)
        behind = (
            request.identified
            and 0 < (request.header.ip_id - self.top.header.ip_id) % (1 << 16) < 1 << 15
        )
        return (
            not asks_from_within(request)
            and not over
            and self.first <= request.start <= self.end
            and (
                request.start not in named or request.verdict == "late" and self.is_in_line(request)
            )
            and request.start not in self.sent
            and not request.waited
            and not (reordered and behind)
        )


class Steps:
    """Goes through a life; finds its steps, the PSNs that are absent, and the packets behind a
    gap."""

    def __init__(self, life):
        self.life, self.step = life, None
        self.covered = -PSNS  # the highest PSN that an acknowledgement has covered
        self.carried = life.carried  # has the reverse flow carried a packet?
        self.acknowledged = False  # has it carried an acknowledgement that says something?
        self.naks = (
            []
        )  # the last ones: [PSN, is one of them an RNR NAK?, time of the last of them]; PSN is None
        #                 where it counts no more
        self.absent, self.arrived = set(), set()
        self.previous = None  # the request directly before
        self.named = set()  # the PSNs that NAKs of a step have named since
        self.sent_again = set()  # PSNs of packets that belong to steps
        self.disorder = False  # has a late packet come?

    def run(self):
        for position, event in enumerate(self.life.events):
            if isinstance(event, Answer):
                self.answer(event)
            else:
                self.request(position, event)

    def answer(self, answer):
        self.carried = True
        if answer.psn is None:
            return
        self.acknowledged = True
        self.covered = max(self.covered, answer.covers)
        if is_negative(answer.header):
            if answer.header.syndrome == SEQUENCE_ERROR or is_rnr(answer.header.syndrome):
                self.remember(answer)
            if self.step:
                self.step.named.add(answer.psn)

    def remember(self, answer):
        """A NAK of a step; several that name one PSN are one."""
        self.named.add(answer.psn)
        same = [nak for nak in self.naks if nak[0] == answer.psn]
        rnr = is_rnr(answer.header.syndrome) or any(nak[1] for nak in same)
        self.naks = [
            *(nak for nak in self.naks if nak not in same),
            [answer.psn, rnr, answer.header.time],
        ][-NAKS_REMEMBERED:]

    def request(self, position, request):
        if request.verdict == "next":
            self.ahead(request)
        elif transport(request.header) == RC:
            self.again(position, request)
        request.taken = request.verdict == "repeat" and request.start <= self.covered
        self.arrive(request)
        self.previous, self.named = request, set()

    def arrive(self, request):
        """A PSN is absent until a packet with a right ICRC has had it."""
        psns = set(range(request.start, request.end + 1))
        if not request.header.corrupt:
            self.absent -= psns
            self.arrived |= psns
        else:
            self.absent |= psns - self.arrived

    def ahead(self, request):
        """A request above the highest."""
        jumped = range(request.highest + 1, request.start)
        request.absent = len(jumped)
        self.absent = {psn for psn in self.absent | set(jumped) if psn > self.covered}
        if (
            self.absent
            and self.acknowledged
            and transport(request.header) == RC
            and not request.header.corrupt
        ):
            request.verdict = "behind"
        if self.step and request.start > self.step.end:
            self.step.passed = True

    def again(self, position, request):
        """A repeat or late packet: of the last step, the first of a new one, alone, or
        reordered."""
        held = self.step and self.step.holds(request, self.covered, self.step.named)
        if (
            self.step
            and self.step.hopeful
            and request.start <= max(self.covered + 1, self.life.first)
            and (held or request.before)
        ):
            self.step.tell("timeout")
        if held and self.is_doubtful(request):
            self.leave_alone(request)
        elif held:
            self.step.add(request)
        elif self.is_proven(request) or self.went_on(position):
            self.begin(position, request)
        elif request.verdict == "repeat":
            self.leave_alone(request)
        if self.step and request.step == self.step.frame:
            self.sent_again.add(request.start)
        self.disorder |= request.verdict == "late"

    @staticmethod
    def leave_alone(request):
        """A lone packet is told as a step of its own, but it is none."""
        request.step, request.cause = request.header.frame, "unknown"

    def is_doubtful(self, request):
        """Is it in the step, but may be sent for a NAK that came in it?"""
        nak, top = self.nak_of(request), self.step.top
        below = request.start < top.start
        if (
            request in self.step.followers
            or request.identified
            and below
            or self.step.is_in_line(request)
        ):
            return False
        return nak is not None and nak in self.step.named or below and request.gap > REORDERED

    def is_proven(self, request):
        if request.verdict != "repeat":
            return False
        if self.is_double(request):
            return request.identified or request.waited or request.start in self.named
        is_asked = self.nak_of(request) is not None or repeats_read(request)
        return is_asked or request.identified or request.waited

    def is_double(self, request):
        """Has it the PSN of the request directly before it?"""
        return (
            request.verdict == "repeat"
            and self.previous is not None
            and self.previous.start == request.start
        )

    def went_on(self, position):
        """The requests that show that the sender went on from this one: late ones up to a repeat;
        [] if it did not."""
        first = self.life.events[position]
        if self.is_double(first) and not self.is_proven(first):
            return []
        followers, last, covered = [], first.start, self.covered
        named = set(self.step.named) if self.step else set()  # since the last step began
        asked = False  # has a NAK come since
        for event in self.life.events[position + 1 :]:
            if isinstance(event, Request):
                if (
                    event.verdict not in ("repeat", "late")
                    or event.start <= last
                    or asked
                    or self.step
                    and self.step.holds(event, covered, named)
                ):
                    return []
                followers.append(event)
                if event.verdict == "repeat":
                    return followers
                last = event.start
            elif event.psn is not None:
                covered = max(covered, event.covers)
                if is_negative(event.header):
                    named.add(event.psn)
                    asked |= event.header.syndrome == SEQUENCE_ERROR or is_rnr(
                        event.header.syndrome
                    )
        return []

    def nak_of(self, request):
        """The PSN of the NAK of a packet; None if it has none."""
        named = {psn for psn, *_ in self.naks if psn is not None}
        if request.start in named:
            return request.start
        return max(
            (psn for psn in named if max(self.covered + 1, self.life.first) <= psn < request.start),
            default=None,
        )

    def begin(self, position, request):
        nak = self.nak_of(request)
        first = request.start if nak is None else nak
        self.step = Step(
            request,
            first,
            self.cause(position, request, nak),
            [] if self.is_proven(request) else self.went_on(position),
        )
        self.step.hopeful = (
            request.waited and self.step.cause == "unknown" and self.is_proven(request)
        )
        self.step.add(request)
        for each in self.naks:
            if each[0] == first:
                each[0] = None

    def cause(self, position, request, nak):
        for psn, rnr, time in self.naks:
            if (
                psn is not None
                and psn == nak
                and (rnr or not request.waited and request.header.time <= time + request.timer)
            ):
                return "rnr" if rnr else "nak"
        if not self.life.reverse_known or not self.carried:
            return "unknown"
        if repeats_read(request):
            return "read"
        needless = (
            not self.disorder
            and request.header.opcode & 31 not in (COMPARE_AND_SWAP, FETCH_AND_ADD)
            and self.covered >= request.highest
            and request.start not in self.sent_again
        )
        if not needless and not (
            request.waited and request.start <= max(self.covered + 1, self.life.first)
        ):
            return "unknown"  # a NAK may have come that the capture lacks
        return "timeout" if self.is_proven(request) or self.went_on(position) else "unknown"


def find_discarded(life):
    """Of each packet behind a gap: the frame that proves it was thrown away, before an
    acknowledgement covers it."""
    for position, request in enumerate(life.events):
        if isinstance(request, Request) and request.verdict == "behind":
            request.discarded = proof(request, life.events[position + 1 :])


def proof(request, events):
    for event in events:
        if isinstance(event, Request):
            if event.of == request.header.frame:
                return event.header.frame
        elif event.psn is not None:
            if event.covers >= request.start:
                return 0
            if is_negative(event.header) and event.psn < request.start:
                return event.header.frame
    return 0


def find_silence(life):
    """The third repeat of a PSN since the last packet of the reverse flow, once."""
    repeats, carried, said = collections.Counter(), life.carried, False
    for event in life.events:
        if isinstance(event, Answer):
            repeats.clear()
            carried, said = True, False
        elif event.verdict == "repeat" and transport(event.header) == RC:
            repeats[event.start] += 1
            if carried and repeats[event.start] == 3 and not said:
                event.silent = said = True


def read_in(capture):
    reader = Reader()
    for position, header in enumerate(capture):
        reader.read(position, header)
    return reader


def behind_highest(capture):
    """How many PSNs each request packet is behind the highest, in their order; 0 of responses."""
    requests = read_in(capture).requests
    return [
        max(0, requests[position].highest - requests[position].start) if position in requests else 0
        for position in range(len(capture))
    ]


def judge(capture):
    """The verdicts of all packets, in their order."""
    reader = read_in(capture)
    for life in reader.lives:
        find_waits(life)
        Steps(life).run()
        find_discarded(life)
        find_silence(life)
    for position, each in reader.requests.items():
        reader.responses[position] = Verdict(
            each.header.frame,
            each.verdict,
            each.of,
            each.absent,
            int(each.taken),
            each.discarded,
            each.cause,
            each.step,
            int(each.silent),
        )
    return [reader.responses[position] for position in range(len(capture))]
