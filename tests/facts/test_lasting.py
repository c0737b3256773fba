"""
What lasts, in the report: states of links, and how long RDMA flows retransmit, wait after RNR NAKs
and get no answer. Against readers of the bytes.
"""

import collections
import functools

import pytest
import rc_reader
import wire
from report_flows import added_up, as_text
from report_runs import ALL_TWO, PACKED_NAMES, PATHS, fail_on, report

PAUSE = 64_000_000  # nanoseconds: no NAK takes so long
SECOND = 10**9
FABRIC = [name for name in PACKED_NAMES if PATHS[name].parent.name == "fabric"]
# Of these, flows are paired by their order: both directions of a link begin before the next link.
WITH_LINKS = [
    "6.1-v1-h1-two-links-second-fails",
    "6.1-v2-h1-two-links-second-fails",
    "6.1-v2-n-lossy",
    "7.2-v2-g5-device-removed",
]
MEMBERS = ("retransmission_s", "rnr_wait_s", "silent_s")


# ---- flows ----


def paired(headers, numbers):
    """The headers, with the reverse of each flow by its order among those of its two hosts."""
    by_hosts = collections.defaultdict(list)
    for (source, target, _), number in numbers.items():
        by_hosts[source, target].append(number)
    reverse = {}
    for (source, target), there in by_hosts.items():
        reverse.update(zip(there, by_hosts.get((target, source), [])))
    return [each._replace(reverse=reverse.get(each.flow, -1)) for each in headers]


def total(intervals):
    """Nanoseconds in which at least one of the intervals (begin, end) holds."""
    length, until = 0, 0
    for begin, end in sorted(intervals):
        length += max(0, end - max(begin, until))
        until = max(until, end)
    return length


class Flow:
    """The packets of one flow and of its reverse, copies left out: (header, verdict)."""

    def __init__(self, judged, flow):
        self.requests = [
            each for each in judged if each[0].flow == flow and rc_reader.is_request(each[0])
        ]
        self.back = [each for each in judged if each[0].reverse == flow]
        self.repeats = [each for each in judged if each[0].flow == flow and is_repeat(each)]

    def rnr_waits(self):
        """(RNR NAK, packet with its PSN), of several RNR NAKs before that packet the first."""
        found = {}
        for nak, _ in self.back:
            if not rc_reader.is_negative(nak) or not rc_reader.is_rnr(nak.syndrome):
                continue
            after = [
                each
                for each, _ in self.requests
                if each.frame > nak.frame and each.psn == nak.psn
            ]
            covered = [
                each.frame
                for each, _ in self.back
                if each.frame > nak.frame
                and each.syndrome >= 0
                and not rc_reader.is_negative(each)
                and rc_reader.distance(each.psn, nak.psn) >= 0
            ]
            if after and after[0].frame < min(covered, default=after[0].frame + 1):
                found.setdefault(after[0].frame, (nak, after[0]))
        return list(found.values())

    def waits_for_rnr(self, frame):
        return any(nak.frame <= frame < again.frame for nak, again in self.rnr_waits())

    def silences(self):
        """(frame and time of the begin, of the end), in each time between two packets of the
        reverse flow."""
        answered = {again.frame for _, again in self.rnr_waits()}
        ends = [*self.back[1:], (None, None)] if self.back else []
        for (heard, _), (following, verdict) in zip(self.back, ends):
            between = [
                each
                for each in self.requests
                if heard.frame < each[0].frame and (not following or each[0].frame < following.frame)
            ]
            if following and verdict.absent:
                continue  # they may have been between
            breaks = [
                place
                for place, (each, verdict) in enumerate(between)
                if verdict.absent or each.frame in answered
            ]
            if self.waits_for_rnr(heard.frame) and not breaks:
                continue
            for place, until in zip([None, *breaks], [*breaks, len(between)]):
                if place is None and self.waits_for_rnr(heard.frame):
                    continue
                since = heard if place is None else between[place][0]
                if place is not None and until < len(between) and between[until][1].absent:
                    continue  # what is missing may have been the answer's
                if place is None and breaks:
                    continue
                found = self.silence_of(since, between[place or 0 : until])
                if found:
                    yield found

    def is_refused(self, frame):
        answers = [
            each
            for each, _ in self.back
            if each.frame <= frame and not rc_reader.is_request(each)
        ]
        return bool(answers) and rc_reader.is_negative(answers[-1])

    def silence_of(self, since, requests):
        begin = end = None
        for place, (each, verdict) in enumerate(requests):
            if not is_repeat((each, verdict)) or each is since:
                continue
            before = [other for other, _ in requests[:place]]
            was_sent = any(rc_reader.distance(other.psn, each.psn) >= 0 for other in before)
            is_old = (
                verdict.of < since.frame and not verdict.taken and not self.is_refused(since.frame)
            )
            last = before[-1] if before else since
            if (is_old or was_sent) and (end or each.time - last.time > PAUSE):
                first = since if is_old or not before else before[0]
                begin = first if begin is None or first.frame < begin.frame else begin
                end = each
        return (begin, end) if end else None


def is_repeat(each):
    return each[1].verdict == "repeat"


@functools.cache
def lasting(name):
    """{key: (seconds by member, the longest silence)}"""
    path = PATHS[name]
    if name in FABRIC:
        headers, numbers = rc_reader.headers(path, path.parent / f"{name}.json")
    else:
        headers, numbers = rc_reader.headers(path)
        headers = paired(headers, numbers)
    judged = [
        (header, verdict)
        for header, verdict in zip(headers, rc_reader.judge(headers))
        if verdict.verdict != "copy"
    ]
    time_of = {header.frame: header.time for header in headers}
    found = {}
    for (source, target, qpn), number in numbers.items():
        flow = Flow(judged, number)
        silences = list(flow.silences())
        found[rc_reader.text(source), rc_reader.text(target), qpn] = (
            {
                "retransmission_s": total(
                    (time_of[verdict.of], each.time) for each, verdict in flow.repeats
                ),
                "rnr_wait_s": total((nak.time, again.time) for nak, again in flow.rnr_waits()),
                "silent_s": total((begin.time, end.time) for begin, end in silences),
            },
            max(silences, key=lambda each: each[1].time - each[0].time, default=None),
        )
    return found


@pytest.mark.parametrize("name", [*FABRIC, *WITH_LINKS])
def test_how_long(tshark, name):
    found = added_up(report(tshark, name, ALL_TWO)["rdma_flows"], MEMBERS)
    expected = {key: each for key, (each, _) in lasting(name).items()}
    fail_on(
        [
            (f"{key} {member}", (found.get(key) or each)[member], each[member] / SECOND)
            for key, each in expected.items()
            for member in MEMBERS
            if key in found and abs(found[key][member] - each[member] / SECOND) > 1e-9
        ]
    )
