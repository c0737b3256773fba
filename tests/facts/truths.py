#!/usr/bin/python3
"""
What is said of an altered capture is true of the whole one, or it is not said.

    tests/facts/truths.py [--list] [--only KIND] [--every N] [--plugin FILE] [CAPTURE ...]

Alters captures in many ways (alterations.py), compares the JSON report and the fields and items of each frame with
those of the whole capture, and prints what contradicts. Counts of packets may be lower, since the altered capture has
fewer; all else is the same or is absent. What speaks of the capture itself is left out: that it lacks packets.
"""

import argparse
import collections
import functools
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import altered  # noqa: E402
import expert_items  # noqa: E402
import fields  # noqa: E402
import pcapng  # noqa: E402
import report_runs  # noqa: E402
from alterations import KINDS  # noqa: E402
from bed import Tshark, new_bed  # noqa: E402

# ---- what frames show ----

NUMBERS = ["smcr.cdc.len", "smcr.cdc.read", "smcr.cdc.announced", "smcr.cdc.consumed", "smcr.cdc.writes",
           "smcr.cdc.read_time", "smcr.window.unread", "smcr.window.free", "smcr.window.percent",
           "smcr.window.offered", "smcr.window.written", "smcr.window.blocked_time", "smcr.window.full_time",
           "smcr.stream.offset", "smcr.response_time", "smcr.clc.step", "smcr.llc.step"]
FRAMES = ["smcr.request_in", "smcr.response_in", "smcr.announced_in", "smcr.cdc.first_write", "smcr.cdc.last_write",
          "smcr.cdc.read_of", "smcr.window.blocked_since", "smcr.window.full_since", "smcr.proposal_in",
          "smcr.accept_in", "smcr.confirm_in", "smcr.confirm_link_in"]
REASON = "smcr.fallback.reason"
# Items that tell what the capture lacks, or what it has in disorder; and those that tell of the first of something.
OF_THE_CAPTURE = {"smcr.packet_ahead", "smcr.no_roce", "smcr.conn.began_before", "smcr.clc.confirm_without_accept",
                  "smcr.rkey_not_confirmed", "smcr.rkey_unknown", "smcr.cdc.token_unknown", "smcr.cdc.unseen_data",
                  "smcr.write.no_start", "smcr.llc.no_request", "smcr.cdc.sequence_gap", "smcr.breach.doubtful",
                  "smcr.cut_short", "smcr.token_reused", "smcr.link.number_unknown", "smcr.no_response",
                  "smcr.packet_copied", "smcr.packet_retransmitted", "smcr.peer_silent", "smcr.link.activated",
                  "smcr.clc.declined", "smcr.fallback"}

# ---- what reports say ----

FEWER = {"bytes", "writes", "cdc", "repeated_packets", "repeated_bytes", "blocked_count", "window_full_count",
         "urgent_count", "moved_from", "moved_to"}
SHORTER = {"blocked_s", "window_full_s"}
SAME = {"connection": ("version", "outcome", "setup_s", "close"),
        "direction": ("unread_bytes", "unannounced_bytes"),
        "group": ("version", "type", "eid", "vlan"),
        "link": ("number", "state", "mtu_bytes", "delete_reason"),
        "rmb": ("owner", "size_bytes", "va")}
NOT_KNOWN = (None, "unknown")
DIRECTIONS = ("client_to_server", "server_to_client")
# Findings that speak of the capture.
FOUND_OF_CAPTURE = {"no_roce", "one_sided", "not_captured", "capture_dropped", "late_start", "cut_frames", "silent_end",
                    "handshake_unfinished", *(item.removeprefix("smcr.").replace(".", "_") for item in OF_THE_CAPTURE)}
FLOW_COUNTS = ("packets", "bytes", "payload_bytes", "rnr_nak", "cnp")
TIMES = {"setup_s", *SHORTER}
UP_TO_THE_END = {"outcome", "unread_bytes", "unannounced_bytes", "close", "state", "type"}  # at the end of the capture

Wrong = collections.namedtuple("Wrong", "label where what before after")


@functools.cache
def field_names():
    """What is asked of each frame."""
    return [*NUMBERS, *FRAMES, REASON, *(name for _, name in expert_items.VARIABLE.findall(fields.experts_text()))]


def shown(rows, frames):
    """{frame of the whole capture: {field: values}}; frame numbers become those of the whole capture."""
    found = {}
    for frame, texts in zip(frames, rows, strict=True):
        values = dict(zip(field_names(), texts, strict=True))
        for field in FRAMES:
            values[field] = ",".join(str(frames[int(number) - 1].number) for number in values[field].split(",") if number)
        found.setdefault(frame.number, {})
        for field, text in values.items():
            if text:
                found[frame.number].setdefault(field, set()).update([text] if field == REASON else text.split(","))
    return found


def look(tshark, path, passes=2):
    """Texts of all frames of a capture, and its report."""
    names = [text for name in field_names() for text in ("-e", name)]
    text = tshark.show(path, *report_runs.CALM, *(("-2",) if passes == 2 else ()), "-T", "fields", "-E", "separator=/t",
                       *names, "-z", "smcr,json")
    rows, _, report = text.partition("\n{\n")
    return ([line.split("\t") if line else [""] * len(field_names()) for line in rows.split("\n")],
            report_runs.parse(("{" + report).encode()))


LACKS = r"; the capture (may lack|lacks|has no).*"
DECLINED = re.compile(r"(?P<who>the \w+|one side) declined(?P<step> before any Proposal| after the \w+)?: (?P<why>.*)")
SAYS_NOTHING = {"who": "one side", "step": None, "why": "the capture has cut off the reason"}


def is_weaker(reason, whole):
    """Whether a reason says no more than another one. Both sides may have declined."""
    doubtful = "may lack CLC" in reason
    reason, whole = (re.sub(LACKS, "", text) for text in (reason, whole))
    one, other = DECLINED.fullmatch(reason), DECLINED.fullmatch(whole)
    if not one or not other:
        return reason in ("data follows on TCP", whole)
    return all(one[part] in (SAYS_NOTHING[part], other[part]) or (doubtful and part == "who") for part in SAYS_NOTHING)


def wrong_of_frames(label, before, after, same_times):
    for frame, values in after.items():
        truth = before[frame]
        for field, texts in values.items():
            if field.endswith("_time") and not same_times:
                continue
            if field == REASON:
                right = all(any(is_weaker(text, whole) for whole in truth.get(field, ())) for text in texts)
            elif field in NUMBERS or field in FRAMES:
                right = texts <= truth.get(field, set()) or (field not in truth and field not in MEANS_MORE)
            else:
                right = field in OF_THE_CAPTURE or field in truth
            if not right:
                yield Wrong(label, f"frame {frame}", field, sorted(truth.get(field, ())), sorted(texts))


# Fields that say something where the whole capture says nothing.
MEANS_MORE = {REASON}


# ---- reports ----


def ends_of(conn):
    ends = [(conn[end]["addr"], conn[end]["port"]) for end in ("client", "server")]
    return tuple(ends) if ends[0][0] else None


def by_ends(report):
    """{ends in any order: connection}, of those that have ends of their own."""
    found = collections.defaultdict(list)
    for conn in report["connections"]:
        if ends_of(conn):
            found[frozenset(ends_of(conn))].append(conn)
    return {ends: conns[0] for ends, conns in found.items() if len(conns) == 1}


def differ(before, after, names):
    for name in names:
        one, other = before[name], after[name]
        if other not in NOT_KNOWN and one not in NOT_KNOWN and not report_runs.same(other, one):
            yield name, one, other


def more(before, after):
    for name in sorted(FEWER & after.keys()):
        if after[name] is not None and before[name] is not None and after[name] > before[name]:
            yield name, before[name], after[name]
    for name in sorted(SHORTER & after.keys()):
        if after[name] is not None and before[name] is not None and after[name] > before[name] + 1e-6:
            yield name, before[name], after[name]


def wrong_of_connection(before, after):
    yield from differ(before, after, SAME["connection"])
    if ends_of(before) != ends_of(after):
        yield "client", ends_of(before), ends_of(after)
        return
    one, other = before["fallback"], after["fallback"]
    if other and not one:
        yield "fallback", None, other["reason"]
    if one and other:
        yield from (("fallback." + name, *rest) for name, *rest in differ(one, other, ("by",)))
        if not is_weaker(other["reason"], one["reason"]):
            yield "fallback.reason", one["reason"], other["reason"]
    for direction in DIRECTIONS:
        for name, *rest in (*differ(before[direction], after[direction], SAME["direction"]),
                            *more(before[direction], after[direction])):
            yield f"{direction}.{name}", *rest


def queue_pairs(link):
    return tuple((link[end]["gid"], link[end]["qpn"]) for end in ("client", "server"))


def whole_links(report):
    """{queue pairs: (group, link)}, of links whose queue pairs are those of no other."""
    found = collections.defaultdict(list)
    for group in report["link_groups"]:
        for link in group["links"]:
            if None not in (value for pair in queue_pairs(link) for value in pair):
                found[frozenset(queue_pairs(link))].append((group, link))
    return {key: pairs[0] for key, pairs in found.items() if len(pairs) == 1}


def wrong_of_groups(before, after, numbers):
    truth, found, groups = whole_links(before), whole_links(after), {}
    for key in truth.keys() & found.keys():
        (whole_group, whole_link), (group, link) = truth[key], found[key]
        for name, *rest in (*differ(whole_link, link, SAME["link"]), *more(whole_link, link)):
            yield f"link.{name}", *rest
        groups.setdefault(group["index"], (whole_group, group))
    for whole_group, group in groups.values():
        for name, *rest in differ(whole_group, group, SAME["group"]):
            yield f"group.{name}", *rest
        ended = group["ended_frame"] and numbers[group["ended_frame"] - 1]
        if ended and not whole_group["ended_frame"]:
            yield "group.ended_frame", whole_group["ended_frame"], ended
        rmbs = {rkey["rkey"]: rmb for rmb in whole_group["rmbs"] for rkey in rmb["rkeys"]}
        for rmb in group["rmbs"]:
            for whole in [rmbs[rkey["rkey"]] for rkey in rmb["rkeys"] if rkey["rkey"] in rmbs][:1]:
                for name, *rest in differ(whole, rmb, SAME["rmb"]):
                    yield f"rmb.{name}", *rest


def flows_of(report):
    """{what tells a flow: sums of its entries}"""
    found = collections.defaultdict(collections.Counter)
    for flow in report["rdma_flows"]:
        key = flow["src"], flow["dst"], flow["dst_qpn"]
        for name in FLOW_COUNTS:
            found[key][name] += flow[name] or 0
        found[key]["repeated"] += flow["repeated"] or 0
        for name in ("ce", "ect0", "ect1"):
            found[key][name] += (flow["ecn"] and flow["ecn"][name]) or 0
    return found


def wrong_of_flows(before, after, copies):
    whole = flows_of(before)
    for key, counts in flows_of(after).items():
        for name, count in counts.items():
            limit = whole[key][name] * (2 if copies and name != "repeated" else 1)
            if count > limit:
                yield f"flow to {key[2]}: {name}", limit, count


def wrong_of_reports(label, before, after, numbers, but, copies):
    """What the report of an altered capture says, and the whole capture contradicts. `but`: members that are left out."""
    truth = by_ends(before)
    found = [(str(sorted(ends)), wrong) for ends, conn in by_ends(after).items() if ends in truth
             for wrong in wrong_of_connection(truth[ends], conn)]
    found += [("link group", wrong) for wrong in wrong_of_groups(before, after, numbers)]
    found += [("flow", wrong) for wrong in wrong_of_flows(before, after, copies)]
    whole_breaches = {breach["kind"] for breach in before["breaches"]}
    found += [("breach", (breach["kind"], None, breach["by"])) for breach in after["breaches"]
              if breach["kind"] not in whole_breaches]
    kinds = {finding["kind"] for finding in before["findings"]} | FOUND_OF_CAPTURE
    full = len(before["findings"]) >= 10
    found += [("finding", (finding["kind"], None, finding["text"])) for finding in after["findings"]
              if finding["kind"] not in kinds and not full]
    for where, (what, one, other) in found:
        if what.rsplit(".", maxsplit=1)[-1] not in but:
            yield Wrong(label, where, what, one, other)


# ---- captures ----

Truth = collections.namedtuple("Truth", "base frames report")


@functools.cache
def truth_of(tshark, name):
    """What is said of a whole capture."""
    base = altered.whole(tshark, name)
    rows, report = look(tshark, base.path)
    return Truth(base, shown(rows, base.frames), report)


def has_same_times(truth, frames):
    return all(pcapng.time(frame) == pcapng.time(truth.base.frames[frame.number - 1]) for frame in frames)


def not_compared(truth, frames):
    """Members of the report that may differ: the altered capture ends before, or packets have other times."""
    ends_before = not any(frame.number == truth.base.frames[-1].number for frame in frames)
    return (UP_TO_THE_END if ends_before else set()) | (TIMES if not has_same_times(truth, frames) else set())


def contradictions(tshark, truth, cases, scratch):
    """What altered captures say, and the whole one contradicts."""
    path = scratch / "altered.pcapng"
    for case in cases:
        frames = case.alter(truth.base.frames)
        if not frames:
            continue
        pcapng.write(path, truth.base.head, frames)
        path.chmod(0o644)
        rows, report = look(tshark, path)
        yield from wrong_of_frames(case.label, truth.frames, shown(rows, frames),
                                   has_same_times(truth, frames))
        yield from wrong_of_reports(case.label, truth.report, report, [frame.number for frame in frames],
                                    not_compared(truth, frames), len(frames) > len(truth.base.frames))


def line(name, kind, wrong):
    return f"{name}, {kind}, {wrong.label}: {wrong.where}, {wrong.what}: {wrong.before} -> {wrong.after}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("--only", action="append", choices=KINDS, metavar="KIND", help=", ".join(KINDS).replace("%", "%%"))
    parser.add_argument("--every", type=int, default=1, help="only every n-th altered capture of each kind")
    parser.add_argument("--list", action="store_true", help="list what contradicts")
    parser.add_argument("--plugin", type=pathlib.Path, metavar="FILE", help="another build of the plugin")
    parser.add_argument("captures", nargs="*", default=altered.CAPTURES)
    arguments = parser.parse_args()
    with new_bed() as bed:
        if arguments.plugin:
            bed.add_plugin(arguments.plugin, "given")
        tshark = Tshark(bed, "given" if arguments.plugin else "debug")
        for name in arguments.captures:
            truth = truth_of(tshark, name)
            for kind in arguments.only or KINDS:
                cases = KINDS[kind](truth.base)[::arguments.every]
                with tempfile.TemporaryDirectory(dir=bed.scratch) as folder:
                    scratch = pathlib.Path(folder)
                    scratch.chmod(0o755)
                    found = list(contradictions(tshark, truth, cases, scratch))
                whats = collections.Counter(what for _, what in {(wrong.label, wrong.what) for wrong in found})
                print(f"{name}, {kind}: {len(cases)} altered: {dict(whats)}", flush=True)
                for wrong in found if arguments.list else ():
                    print("    " + line(name, kind, wrong), flush=True)


if __name__ == "__main__":
    main()
