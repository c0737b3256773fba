"""
How the two ends of RDMA flows recover from loss and disorder: gaps, NAKs, steps back, timeouts. It
has the verdicts of rc_reader.py, a second reader of the bytes, and all packets at once: it looks
ahead where the plugin keeps what may still change. Times are nanoseconds.
"""

import collections

import rc_reader

TIMER = 64_000_000  # a pause that no NAK explains
UNIT, BUSY, MOST_OF_TIMER = 4096, 1.05, 4  # of the Local ACK Timeout
COUNTS = (
    "implied_naks",
    "read_timeouts",
    "go_back_n",
    "selective",
    "refilled",
    "needless",
    "answered_twice",
    "reordered",
    "unfilled",
)
TIMES = ("gap_to_nak_s", "nak_to_resend_s", "timeout_s", "retry_s", "late_s")


class Flow:
    """The requests of a flow with their verdicts, and the responses to them, in order."""

    def __init__(self):
        self.events = []

    def requests_after(self, position):
        return [
            (at, event)
            for at, event in enumerate(self.events[position + 1 :], position + 1)
            if event[0] == "request"
        ]


def is_response(header):
    return header.opcode in rc_reader.RESPONSES


def is_ack(header):
    return header.opcode != rc_reader.ACKNOWLEDGE or header.syndrome & 0xE0 == 0


def flows_of(headers):
    """{number of a flow: Flow}; of copies nothing is read."""
    found = collections.defaultdict(Flow)
    for header, verdict in zip(headers, rc_reader.judge(headers), strict=True):
        if rc_reader.transport(header) != rc_reader.RC or verdict.verdict == "copy":
            continue
        if not is_response(header):
            found[header.flow].events.append(("request", header, verdict))
        elif header.reverse >= 0:
            found[header.reverse].events.append(("response", header, verdict))
    return found


def highest_before(flow):
    """The highest PSN of the requests before each event; None before the first."""
    highest, found = None, []
    for kind, header, _ in flow.events:
        found.append(highest)
        if kind == "request" and (highest is None or rc_reader.distance(header.psn, highest) > 0):
            highest = header.psn
    return found


def gaps_of(flow):
    """[(first PSN, how many are missing, position of the request after them)]"""
    return [
        ((header.psn - verdict.absent) % rc_reader.PSNS, verdict.absent, at)
        for at, (kind, header, verdict) in enumerate(flow.events)
        if kind == "request" and verdict.absent
    ]


def gap_of(gaps, psn, at):
    """The last gap before the event that has the PSN; None."""
    for gap in reversed(gaps):
        if gap[2] < at and 0 <= rc_reader.distance(psn, gap[0]) < gap[1]:
            return gap
    return None


def naks_of(flow):
    """[position] of NAKs for a PSN sequence error, but for those in a wait after an RNR NAK."""
    found, waiting = [], None
    for at, (kind, header, _) in enumerate(flow.events):
        if kind == "request":
            if waiting == header.psn:
                waiting = None
        elif header.opcode == rc_reader.ACKNOWLEDGE and header.syndrome == rc_reader.SEQUENCE_ERROR:
            found += [at] if waiting is None else []
        elif rc_reader.is_rnr(header.syndrome) and header.opcode == rc_reader.ACKNOWLEDGE:
            waiting = header.psn
        elif waiting is not None and is_ack(header):
            waiting = waiting if rc_reader.distance(header.psn, waiting) < 0 else None
    return found


def answers_of(flow, naks):
    """[(position of the last NAK, positions of requests with its PSN)], one for each NAK that is no
    other of the same PSN before the first request with it."""
    found = []
    for at in naks:
        psn = flow.events[at][1].psn
        same = [each for each in found if flow.events[each[0]][1].psn == psn]
        requests = [place for place, event in flow.requests_after(at) if event[1].psn == psn]
        later = min(
            (each for each in naks if each > at and flow.events[each][1].psn == psn), default=None
        )
        if later is not None and not [each for each in requests if each < later]:
            continue
        found.append((at, [each for each in requests if later is None or each < later]))
        del same
    return found


def went_on(flow, highest, at, asked):
    """go_back_n or selective, by the requests after that one; None."""
    psn = flow.events[at][1].psn
    if highest[at] is None or rc_reader.distance(highest[at], psn) <= 0:
        return None
    for place, (_, header, _) in flow.requests_after(at)[:1]:
        if rc_reader.distance(header.psn, highest[place]) > 0:
            return "selective"
        if rc_reader.distance(header.psn, psn) > 0:
            return "go_back_n"
    return None


def recovery_of(flow):
    """What the report should say of the flow: counts, and samples of times; None: nothing."""
    found = {**dict.fromkeys(COUNTS, 0), **{name: [] for name in TIMES}, "depth": []}
    highest, gaps, naks = highest_before(flow), gaps_of(flow), naks_of(flow)
    named, late = set(), {}  # positions of gaps; of late packets that no NAK named
    verdict = lambda at: flow.events[at][2].verdict  # noqa: E731
    time = lambda at: flow.events[at][1].time  # noqa: E731
    taken = set()
    for at in naks:
        gap = gap_of(gaps, flow.events[at][1].psn, at)
        if gap and gap not in named:
            named.add(gap)
            found["gap_to_nak_s"].append(time(at) - time(gap[2]))
    for at, requests in answers_of(flow, naks):
        if not requests:
            continue
        first, others = requests[0], requests[1:]
        again = [
            each
            for each in others[:1]
            if verdict(first) == "late"
            and verdict(each) == "repeat"
            and time(each) < time(at) + TIMER
            and not flow.events[each][2].taken
        ]
        taken.add(first)
        if again:
            late[first] = True
            first = again[0]
        found["nak_to_resend_s"].append(time(first) - time(at))
        found["refilled"] += verdict(first) == "late"
        how = went_on(flow, highest, first, naks)
        if how:
            found[how] += 1
    for at, (kind, _, each) in enumerate(flow.events):
        if kind == "request" and each.verdict == "late" and at not in taken:
            late[at] = each.cause in ("-", "none")
    for at, is_reordered in sorted(late.items()):
        if not is_reordered:
            found["refilled"] += 1
            continue
        psn = flow.events[at][1].psn
        found["reordered"] += 1
        found["depth"].append(max(1, rc_reader.distance(highest[at], psn)))
        gap = gap_of(gaps, psn, at)
        if gap:
            found["late_s"].append(time(at) - time(gap[2]))
    found["needless"] = sum(
        kind == "request"
        and each.verdict == "repeat"
        and each.taken
        and not rc_reader.is_read(header)
        for kind, header, each in flow.events
    )
    found["answered_twice"] = answered_twice(flow, highest)
    found["unfilled"] = sum(each[1] for each in gaps) - sum(
        kind == "request" and each.verdict == "late" and gap_of(gaps, header.psn, at) is not None
        for at, (kind, header, each) in enumerate(flow.events)
    )
    found["timeout_s"], found["retry_s"] = timeouts_of(flow)
    reads = [each for each in reads_of(flow).values() if each]
    found["implied_naks"] = reads.count("implied NAK")
    found["read_timeouts"] = reads.count("timeout")
    is_rare = (
        gaps
        or naks
        or any(
            kind == "request" and each.verdict in ("late", "repeat")
            for kind, _, each in flow.events
        )
    )
    return found if is_rare else None


def answered_twice(flow, highest):
    """Retransmissions that were not acknowledged before, and for which a second acknowledgement of
    the last PSN came before one of a PSN that was sent after them."""
    count, open_ones, acked, last = 0, [], None, None
    for at, (kind, header, each) in enumerate(flow.events):
        if kind == "request" and each.verdict == "repeat":
            open_ones.append(bool(each.taken))
            last = header.psn if highest[at] is None else highest[at]
        elif kind == "response" and is_ack(header):
            step = 1 if acked is None else rc_reader.distance(header.psn, acked)
            if step > 0:
                acked = header.psn
                if last is not None and rc_reader.distance(acked, last) > 0:
                    open_ones = []
            elif step == 0 and open_ones:
                first = open_ones.index(True) if True in open_ones else 0
                count += not open_ones.pop(first)
    return count


def steps_of(flow):
    """[position] of requests with which a step back begins."""
    found, last = [], None
    for at, (kind, _, verdict) in enumerate(flow.events):
        if kind == "request" and verdict.step and verdict.step != last:
            found.append(at)
            last = verdict.step
    return found


def waited(flow, at, before):
    """How long the timer had run before a step; 0: not known. before: the step before it; None."""
    _, header, verdict = flow.events[at]
    earlier = [event for event in flow.events[:at] if event[0] == "request"]
    sent = [each.time for _, each, _ in earlier if each.frame == verdict.of]
    if verdict.verdict != "repeat" or not sent:
        return 0
    acked, acked_time = None, 0
    for kind, each, _ in flow.events[:at]:
        if kind == "response" and is_ack(each):
            if acked is None or rc_reader.distance(each.psn, acked) > 0:
                acked, acked_time = each.psn, each.time
    begun = flow.events[before][1].time if before is not None else 0
    return header.time - max(sent[0], acked_time, begun)


def reads_of(flow):
    """{position: "implied NAK", "timeout" or None} of the READs with which a step back begins: did
    a response to something later come since the step before?"""
    found, before = {}, None
    for at in steps_of(flow):
        _, header, verdict = flow.events[at]
        since = flow.events[0 if before is None else before : at]
        answers = [each for kind, each, _ in since if kind == "response" and is_ack(each)]
        highest = max(
            (rc_reader.distance(each.psn, header.psn) for each in answers),
            default=0,
        )
        came = [each for each in answers if rc_reader.distance(each.psn, header.psn) == highest]
        if verdict.cause == "read":
            if highest > 0 and header.time < came[0].time + TIMER:
                found[at] = "implied NAK"
            else:
                found[at] = "timeout" if waited(flow, at, before) >= TIMER else None
        before = at
    return found


def timeouts_of(flow):
    """How long the sender's timer had run before each step back by it; of these the retries."""
    before, all_of_them, retries, reads = None, [], [], reads_of(flow)
    for at in steps_of(flow):
        time = waited(flow, at, before)
        is_timeout = flow.events[at][2].cause == "timeout" or reads.get(at) == "timeout"
        if is_timeout and time >= TIMER:
            all_of_them.append(time)
            is_retry = before is not None and flow.events[before][1].psn == flow.events[at][1].psn
            retries += [time] if is_retry else []
        before = at
    return all_of_them, retries


def ack_timeout(retries):
    """The largest n that no retry undercuts, if none is too long for it."""
    if not retries:
        return None
    fitting = [n for n in range(1, 32) if UNIT << n <= min(retries) * BUSY]
    most = (UNIT << fitting[-1]) * MOST_OF_TIMER * BUSY if fitting else 0
    return fitting[-1] if max(retries) <= most else None
