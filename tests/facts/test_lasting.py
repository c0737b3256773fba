"""
What lasts, in the report: states of links, and how long RDMA flows retransmit, wait after RNR NAKs
and get no answer. Against readers of the bytes.
"""

import collections
import functools

import pytest
import rc_reader
import wire
from report_flows import added_up, key_of
from report_runs import ALL_TWO, PACKED_NAMES, PATHS, REAL, fail_on, report

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

    def rnr_waits(self):
        """(RNR NAK, packet with its PSN), of several RNR NAKs before that packet the first."""
        found = {}
        for nak, _ in self.back:
            if not rc_reader.is_negative(nak) or not rc_reader.is_rnr(nak.syndrome):
                continue
            after = [
                each for each, _ in self.requests if each.frame > nak.frame and each.psn == nak.psn
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
        """
        (request or packet of the reverse flow, request or packet of the reverse flow) with which
        each begins and ends. It may begin with each packet of the reverse flow, and anew where
        requests are missing and where an RNR NAK is followed.
        """
        answered = {again.frame for _, again in self.rnr_waits()}
        anew = [each for each in self.requests if each[1].absent or each[0].frame in answered]
        breaks = sorted([*self.back, *anew], key=lambda each: each[0].frame)
        for (since, _), following in zip(breaks, [*breaks[1:], None]):
            until = following[0].frame if following else float("inf")
            lacks = following and following[1].absent  # packets between may be missing
            if since.frame < self.back[0][0].frame or lacks or self.waits_for_rnr(since.frame):
                continue
            found = self.silence_of(
                since, [each for each in self.requests if since.frame <= each[0].frame < until]
            )
            if found:
                yield self.until_heard(*found, following if following in self.back else None)

    @staticmethod
    def until_heard(begin, last, heard):
        """The silence lasts until the peer is heard, unless its peer had given up."""
        lasted = last.time - begin.time
        if heard and heard[0].time - last.time <= lasted:
            return begin, heard[0]
        return begin, last

    def is_refused(self, frame):
        answers = [
            each for each, _ in self.back if each.frame <= frame and not rc_reader.is_request(each)
        ]
        return bool(answers) and rc_reader.is_negative(answers[-1])

    def silence_of(self, since, requests):
        begin = end = None
        for place, (each, verdict) in enumerate(requests):
            if verdict.verdict != "repeat" or each is since:
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


@functools.cache
def lasting(name):
    """{key: (seconds by member, the longest silence, all silences)}"""
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
        silences = list(flow.silences()) if flow.back else []
        found[rc_reader.text(source), rc_reader.text(target), qpn] = (
            {
                "retransmission_s": total(
                    (time_of[verdict.of], each.time)
                    for each, verdict in flow.requests
                    if verdict.verdict == "repeat"
                ),
                "rnr_wait_s": total((nak.time, again.time) for nak, again in flow.rnr_waits()),
                "silent_s": total((begin.time, end.time) for begin, end in silences),
            },
            max(silences, key=lambda each: each[1].time - each[0].time, default=None),
            silences,
        )
    return found


@pytest.mark.parametrize("name", [*FABRIC, *WITH_LINKS])
def test_how_long(tshark, name):
    found = added_up(report(tshark, name, ALL_TWO)["rdma_flows"], MEMBERS)
    expected = {key: each for key, (each, *_) in lasting(name).items()}
    fail_on(
        [
            (f"{key} {member}", (found.get(key) or each)[member], each[member] / SECOND)
            for key, each in expected.items()
            for member in MEMBERS
            if key in found and abs(found[key][member] - each[member] / SECOND) > 1e-9
        ]
    )


def others_of(flow, silences):
    """What is wrong with the other long silences of a flow: each is one of its silences, they are
    in order, and all long ones are there."""
    times = {(begin.frame, end.frame): end.time - begin.time for begin, end in silences}
    found = flow["longest_silence"] or {"others": [], "others_s": 0}
    others = [(each["begin_frame"], each["end_frame"]) for each in found["others"]]
    lasted = sum(times.get(each, 0) for each in others) / SECOND
    is_right = (
        others == sorted(times.keys() & set(others))
        and len(others) == max(flow["silences"] - 1, 0)
        and abs(found["others_s"] - lasted) < 1e-9
        and found.get("begin_frame") not in [begin for begin, _ in others]
    )
    return [] if is_right else [(key_of(flow), others, found["others_s"], sorted(times))]


@pytest.mark.parametrize("name", [*FABRIC, *WITH_LINKS])
def test_longest_silence(tshark, name):
    wrong, expected = [], lasting(name)
    for flow in report(tshark, name, ALL_TWO)["rdma_flows"]:
        longest, silences = expected.get(key_of(flow), (None, None, []))[1:]
        right = longest and (longest[0].frame, longest[1].frame)
        found = flow["longest_silence"]
        told = found and (found["begin_frame"], found["end_frame"])
        wrong += [] if told == right else [(key_of(flow), told, right)]
        wrong += others_of(flow, silences)
    fail_on(wrong)


@pytest.mark.parametrize(
    "name, source, about",
    [("7.2-v2-g5-device-removed", "10.0.0.1", 31.9), ("rnr-nak", None, 0)],
)
def test_a_device_is_removed(tshark, name, source, about):
    """Its host answers nothing any more, and its peer retransmits until its time-outs are over; a
    host that asks to wait is not silent."""
    silent = {
        flow["src"]: flow["silent_s"]
        for flow in report(tshark, name, ALL_TWO)["rdma_flows"]
        if flow["silent_s"] > 0.1
    }
    assert {src: round(seconds, 1) for src, seconds in silent.items()} == (
        {source: about} if source else {}
    )


# ---- links ----

ACCEPT, FIRST_CONTACT = 2, 0x08  # CLC: type in byte 4, flag in byte 7
CONFIRM_LINK, ADD_LINK, DELETE_LINK, V2 = 1, 2, 4, 0x20  # LLC: type in byte 0
RESPONSE, REJECTS, ALL_LINKS = 0x80, 0x40, 0x40  # flags in byte 3
LOST_PATH = bytes([0, 1, 0, 0])  # reason of DELETE LINK, from byte 5 on
NUMBER_OF = {CONFIRM_LINK: 29, ADD_LINK: 31, DELETE_LINK: 4}  # bytes that have the link's number

LATE = ("6.1-v1-c2-capture-starts-late",)
SILENT_AT_THE_END = ("7.2-v2-g5-device-removed",)
ACTIVE_BEFORE = [("active", None, None)]  # packets show the link, and nothing else


class Links:
    """The links of one link group: {number: [[state, frame of its begin, of its end]]}."""

    def __init__(self):
        self.states, self.first, self.server = {}, None, None
        self.accepted, self.lost = set(), {}

    def turn(self, number, state, frame):
        known = self.states.setdefault(number, [])
        if known and known[-1][0] == state:
            return
        if known:
            known[-1][2] = frame
        known.append([state, frame, None])

    def take(self, message, sender):
        data, flags = message.data, message.data[3]
        kind, number = data[0] & ~V2, data[NUMBER_OF[data[0] & ~V2]]
        answers, live = bool(flags & RESPONSE), self.states.get(number, [[None]])[-1][0]
        if kind == CONFIRM_LINK:
            self.server = self.server or (None if answers else sender)
            if number not in self.states:
                self.turn(number, "unconfirmed", self.first)
            if answers:
                self.turn(number, "active", message.frame)
        elif kind == ADD_LINK and not answers and any(data[28:31]):
            self.turn(number, "unconfirmed", message.frame)
        elif kind == ADD_LINK and answers and flags & REJECTS and live == "unconfirmed":
            self.turn(number, "rejected", message.frame)
        elif kind == ADD_LINK and answers and not flags & REJECTS:
            self.accepted.add(number)
        if kind == DELETE_LINK and not answers and data[5:9] == LOST_PATH:
            self.lost.setdefault(number, message.frame)
        if kind != DELETE_LINK:
            return
        if not answers and sender == self.server:
            for each in list(self.states) if flags & ALL_LINKS else [number]:
                if self.states[each][-1][0] in ("unconfirmed", "active"):
                    if self.lost.get(each, message.frame) < message.frame:
                        self.turn(each, "lost", self.lost[each])
                    self.turn(each, "deleted", message.frame)

    def end(self):
        """A link that both ends have set up is lost, if one says so and no DELETE LINK ends it."""
        for number, frame in self.lost.items():
            states = self.states[number]
            if states[-1][0] == "rejected" and number in self.accepted:
                states.pop()
            if states[-1][0] in ("unconfirmed", "active"):
                states[-1][2] = None
                self.turn(number, "lost", frame)


def expected_states(path):
    """Of a capture with one link group, from its first contact on: the states of its links in
    their order."""
    links = Links()
    sender = {each.frame: each.ends[0] for each in wire.roce(path)}
    for message in wire.messages(path):
        if message.kind == "clc":
            is_first = message.data[4] == ACCEPT and message.data[7] & FIRST_CONTACT
            links.first = links.first or (message.frame if is_first else None)
        elif message.kind == "llc" and message.data[0] & ~V2 in NUMBER_OF:
            links.take(message, sender[message.frame])
    if not links.states and links.first:
        links.turn(None, "unconfirmed", links.first)
    links.end()
    return [list(map(tuple, states)) for states in links.states.values()]


@pytest.mark.parametrize("name", REAL)
def test_states_of_links(tshark, name):
    groups = report(tshark, name, ALL_TWO)["link_groups"]
    expected = [ACTIVE_BEFORE] if name in LATE else expected_states(PATHS[name])
    found = [
        [(each["state"], each["begin_frame"], each["end_frame"]) for each in link["states"]]
        for group in groups
        for link in group["links"]
    ]
    if name in SILENT_AT_THE_END:  # nothing answers the last requests
        assert found[0].pop()[0] == "lost"
        found[0][-1] = (*found[0][-1][:2], None)
    assert found == expected
