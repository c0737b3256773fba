"""
What a capture shows of adapters, by a reader that knows neither the plugin nor Wireshark: marked
packets that get no CNP at once, the limits of CNPs that fit them, and what recovery_reader.py
finds, by address. It has all packets at once. Times are nanoseconds.
"""

import bisect
import collections

import class_reader
import recovery_reader

AT_REST, CLOCK_STEP, FEW = 10_000_000, 2_000, 8
SCOPES = {"flow": "flow_s", "pair": "pair_s", "address": "source_s"}
CE, NOT_ECT = 3, 0


def has_mark(packet):
    return packet.ecn == CE or (packet.outer_ecn == CE and packet.ecn != NOT_ECT)


class Cnps:
    """The CNPs of a capture. `opposite`: {flow of marked packets: flow that carries their CNPs}"""

    def __init__(self, packets, opposite):
        self.times = collections.defaultdict(list)
        self.begin = min(
            (
                each.time
                for each in packets
                if each.opcode == class_reader.CNP
                or (has_mark(each) and class_reader.kind_of(each) == "data")
            ),
            default=None,
        )
        for each in packets:
            if each.opcode == class_reader.CNP:
                network = class_reader.name_of(each.network)
                for key in (
                    ("flow", each.src, each.dst, each.qpn, network),
                    ("pair", each.src, each.dst, network),
                    ("address", each.src, network),
                ):
                    self.times[key].append(each.time)
        self.opposite = opposite

    def keys(self, flow):
        """The three lists of CNPs in which one for this flow is."""
        src, dst, _, network = flow
        return {
            "flow": ("flow", *self.opposite[flow]),
            "pair": ("pair", dst, src, network),
            "address": ("address", dst, network),
        }

    def before(self, key, time):
        """The last CNP of the list before the time; None."""
        at = bisect.bisect_left(self.times[key], time)
        return self.times[key][at - 1] if at else None

    def after(self, key, time):
        """The first CNP of the list at the time or later; None."""
        at = bisect.bisect_left(self.times[key], time)
        return self.times[key][at] if at < len(self.times[key]) else None

    def limited(self, key, time, now, patience):
        """How long before the time the list has its last CNP. 0 if one came at once after it, or
        if several came up to `now`."""
        since = self.times[key][bisect.bisect_right(self.times[key], time) :]
        after = [each for each in since if each <= now]
        if len(after) > 1 or (after and after[0] <= time + patience):
            return 0
        last = self.before(key, time)
        return time - (self.begin if last is None else last)


def marks_of(packets, opposite):
    found = collections.defaultdict(list)
    for each in packets:
        flow = each.src, each.dst, each.qpn, class_reader.name_of(each.network)
        if has_mark(each) and class_reader.kind_of(each) == "data" and flow in opposite:
            found[flow].append(each.time)
    return found


def groups_of(times, cnps, key):
    """Marks of a flow, cut into groups that one CNP answers: [(its time or None, marks)]"""
    found = collections.defaultdict(list)
    for each in times:
        found[cnps.after(key, each)].append(each)
    return sorted(found.items(), key=lambda group: group[1][0])


def prompts(marks, cnps):
    """{address: [(time of a CNP that answers a mark at rest, shortest wait up to then)]}"""
    waits = collections.defaultdict(list)
    for flow, times in marks.items():
        keys = cnps.keys(flow)
        for answer, group in groups_of(times, cnps, keys["flow"]):
            before = cnps.before(keys["address"], group[0])
            if answer is not None and (before is None or group[0] >= before + AT_REST):
                waits[keys["address"]].append((answer, answer - group[0]))
    found = {}
    for key, each in waits.items():
        least, found[key] = None, []
        for time, wait in sorted(each):
            least = max(1, wait) if least is None else min(least, max(1, wait))
            found[key].append((time, least))
    return found


def at_once(prompt, time):
    """How long an answer may take at that time; None: nothing is known so far."""
    known = [wait for since, wait in prompt if since <= time]
    return 2 * known[-1] + CLOCK_STEP if known else None


def withheld(path, opposite):
    """{flow: {scope: [time since the last CNP]}} of marked packets that got no CNP at once."""
    packets = class_reader.packets(path)
    marks, cnps = marks_of(packets, opposite), Cnps(packets, opposite)
    prompt, found = prompts(marks, cnps), {}
    for flow, times in marks.items():
        keys = cnps.keys(flow)
        for answer, group in groups_of(times, cnps, keys["flow"]):
            watched = group[0]
            for now in [*group[1:], *([] if answer is None else [answer])]:
                patience = at_once(prompt.get(keys["address"], ()), now)
                if patience is None or now <= watched + patience:
                    continue
                rows = found.setdefault(flow, {scope: [] for scope in SCOPES})
                for scope, key in keys.items():
                    rows[scope].append(cnps.limited(key, watched, now, patience))
                watched = now
    return found


def limit_of(waits, pacing):
    """(scope or None, least, most) of an adapter; `waits`: {scope: [...]}; `pacing`: {scope: least
    time between two CNPs or None}"""
    if len(waits["flow"]) < FEW:
        return None, None, None
    fitting = {
        scope: (max(waits[scope]), pacing[scope])
        for scope in SCOPES
        if pacing[scope] is None or max(waits[scope]) <= pacing[scope] + pacing[scope] // 20
    }
    if not fitting:
        return None, None, None
    most = [most for _, most in fitting.values()]
    return (
        next(iter(fitting)) if len(fitting) == 1 else None,
        min(least for least, _ in fitting.values()),
        None if None in most else max(most),
    )


def limits(path, opposite):
    """{(address, network): (scope, least, most)} of adapters that send CNPs."""
    waits = collections.defaultdict(lambda: {scope: [] for scope in SCOPES})
    for flow, rows in withheld(path, opposite).items():
        for scope, times in rows.items():
            waits[flow[1], flow[3]][scope] += times
    least = collections.defaultdict(lambda: dict.fromkeys(SCOPES))
    for flow, scopes in class_reader.pacing(path).items():
        own = least[flow[0], flow[3]]
        for scope, name in SCOPES.items():
            shortest = [each for each in (own[scope], scopes[name][2]) if each is not None]
            own[scope] = min(shortest, default=None)
    return {key: limit_of(waits[key], pacing) for key, pacing in least.items()}


# ---- loss ----

SENDER = ("nak_to_resend_s", "timeout_s", "retry_s")


def recovered(flows):
    """{address: its members} of {(source, destination, queue pair): what recovery_reader finds}"""
    found = collections.defaultdict(
        lambda: {name: [] for name in ("gap_to_nak_s", *SENDER)} | {"go_back_n": 0, "selective": 0}
    )
    for (src, dst, _), each in flows.items():
        if each and any(each[name] for name in SENDER):
            for name in (*SENDER, "go_back_n", "selective"):
                found[src][name] += each[name]
        if each and each["gap_to_nak_s"]:
            found[dst]["gap_to_nak_s"] += each["gap_to_nak_s"]
    for each in found.values():
        kinds = each["go_back_n"] > 0, each["selective"] > 0
        each["ack_timeout"] = recovery_reader.ack_timeout(each["retry_s"])
        each["recovery"] = {
            (True, False): "go-back-n",
            (False, True): "selective",
            (True, True): "both",
        }.get(kinds)
    return dict(found)
