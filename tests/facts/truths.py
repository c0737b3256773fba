#!/usr/bin/python3
"""
What is said of an altered capture is true of the whole one, or it is not said.

    tests/facts/truths.py [--list] [--strict] [--only KIND] [--each N] [--plugin FILE] [CAPTURE ...]

A CAPTURE is one of the project, by its name, or the path of a file: Ethernet frames, times in
microseconds. Alters captures in many ways (alterations.py), compares the JSON report and the fields
and items of each frame with those of the whole capture, and prints what contradicts. Counts of
packets may be lower, since the altered capture has fewer; all else is the same or is absent. What
speaks of the capture itself is left out: that it lacks packets.
"""

import argparse
import collections
import contextlib
import decimal
import functools
import pathlib
import re
import shutil
import sys
import tempfile
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import altered  # noqa: E402
import fields  # noqa: E402
import pcapng  # noqa: E402
import report_runs  # noqa: E402
import wire  # noqa: E402
import alterations  # noqa: E402
import wrappings  # noqa: E402
from bed import APPLICATIONS, CAUSES, LATE, TOP, Tshark, captures, new_bed  # noqa: E402

KINDS = {**alterations.KINDS, "wrapped": wrappings.wrappings}
# Where a peer breaks a rule, what rests on the rules need not be true of the rest of a capture.
RULES_BROKEN = {*report_runs.MALFORMED, "roce-odd"}
WITHOUT_LOSS = ("mirror", "wrapped")
PATHS = report_runs.PATHS | {
    path.name.split(".pcap")[0]: path for path in captures(LATE, CAUSES, APPLICATIONS).values()
}
CAPTURES = list(PATHS)


def kinds_of(name):
    return WITHOUT_LOSS if name in RULES_BROKEN else KINDS


# Parts of the time of a direction. Of each there is a lower bound and an upper one
# (docs/report.md): that of an altered capture holds the truth of the whole one.
PARTS = ("nothing_to_write_s", "answer_s", "buffer_full_s", "retransmission_s", "transfer_s")
STEPS = ("tcp_", "accept_", "confirm_", "llc_")  # of the setup: each has bounds, too
OTHER_ENDS = ("other_after_frame", "other_by_frame")  # bounds
OTHER_PARTS = ("connecting_s", "unknown_s")  # of one of them nothing is said, the other is the rest
BUSY = ("buffer_full_s", "retransmission_s", "transfer_s")  # each has bounds of its own
IDLE = {"idle_s": ("nothing_to_write_s", "answer_s")}
OF_TIME = {
    *IDLE,
    *PARTS,
    *(part.replace("_s", "_most_s") for part in PARTS),
    "reader_s",
    "longest_waits",
}
# What still contradicts: captures, what is said, why; of which statements, where not of all.
OPEN = [
    (
        "-n-lossy$",
        {"idle_s", "end.frame", "end.idle_frame"},
        "what comes again as the next packet of its flow, since its first time is absent: "
        "nothing tells that "
        "its writer, or its peer, has waited for a retransmission",
    ),
    (
        "-n-lossy$",
        {"repeated_packets", "repeated_bytes", "flow.repeated"},
        "no acknowledgement is captured: nothing tells that a copy, which the network has made "
        "after 100 microseconds or more, is none of a sender that has waited for one",
    ),
    (
        "^nak-loss-smc$",
        {"buffer_full_s", "retransmission_s", "transfer_s", "transfer_most_s"},
        "an acknowledgement or a packet of a step back is missing, and up to a millisecond is "
        "charged to its neighbour: nothing tells that it is missing",
    ),
    (
        "^anck-tap$",
        {"end.by", "end.frame", "end.other_frame"},
        "the closing message of one end comes after that of the other, since it is late: nothing "
        "in a tap depends on the order of the two",
    ),
    (
        "^peer-rkeys$",
        {"unreported_bytes", "unannounced_bytes"},
        (
            "all later packets of the group are absent, and TCP or other groups go on: nothing "
            "tells that this one does, too"
        ),
    ),
]


def names_of(what):
    """What is said, and the same without whose it is, as a direction's."""
    return {what, what.rsplit(".", maxsplit=1)[-1]}


def is_open(name, statement):
    """Whether it is known that such a statement may contradict."""
    return any(
        re.search(names, name) and names_of(statement.what) & whats for names, whats, _ in OPEN
    )


# ---- what frames show ----

# Not what ends with an acknowledgement, as smcr.write.ack_time, smcr.window.wait_time, and the
# parts of `time` in the report: a capture that lacks the first acknowledgement has a later one, and
# nothing tells.
NUMBERS = [
    "smcr.cdc.len",
    "smcr.cdc.read",
    "smcr.cdc.announced",
    "smcr.cdc.consumed",
    "smcr.cdc.writes",
    "smcr.cdc.read_time",
    "smcr.window.unread",
    "smcr.window.free",
    "smcr.window.percent",
    "smcr.window.offered",
    "smcr.window.written",
    "smcr.stream.offset",
    "smcr.response_time",
    "smcr.clc.step",
    "smcr.llc.step",
]
FRAMES = [
    "smcr.request_in",
    "smcr.response_in",
    "smcr.announced_in",
    "smcr.cdc.first_write",
    "smcr.cdc.last_write",
    "smcr.cdc.read_of",
    "smcr.proposal_in",
    "smcr.accept_in",
    "smcr.confirm_in",
    "smcr.confirm_link_in",
]
# Of a tap whose messages have no numbers these numbers are bounds: one of its messages may be
# missing unnoticed (docs/limits.md).
MODE, NUMBER, CONNECTION = "smcr.anck.mode", "smcr.cdc.seq", "smcr.stream"
AT_MOST = {
    "smcr.cdc.len",
    "smcr.cdc.read",
    "smcr.window.unread",
    "smcr.window.written",
    "smcr.window.offered",
}
AT_LEAST = {"smcr.window.free", "smcr.window.percent"}
REASON, STREAM = "smcr.fallback.reason", "tcp.stream"
CAUSE, NO_CAUSE = "smcr.resent.cause", "1"  # of a retransmission; it is not known
COPY = "smcr.duplicate"  # of which frame
AHEAD = "smcr.packet_ahead"  # packets before it are missing
CAUSES_COUNTED = ("nak", "icrc", "rnr", "read", "timeout")
# Behind a failover messages and WRITEs are sent again, in other packets. What they are, which tells
# them from all others:
MESSAGES = (
    ("smcr.stream", "smcr.dir", "smcr.cdc.seq", "smcr.cdc.prod_wrap", "smcr.cdc.prod"),
    ("smcr.stream", "smcr.dir", "smcr.stream.offset", "smcr.write.len"),
)
TOLD = (
    "smcr.told.reason",
    "smcr.told.peer_reason",
)  # both hosts may tell why, each of its own side
TELLS = [
    *sorted({field for fields_of in MESSAGES for field in fields_of} - {"smcr.stream.offset"}),
    *TOLD,
    MODE,
]
# Times, and since which frame.
SINCE = {"smcr.response_time": "smcr.request_in", "smcr.cdc.read_time": "smcr.cdc.read_of"}
# Items that tell what the capture lacks, or what it has in disorder; or what the message says,
# where nothing before it has said as much.
OF_THE_CAPTURE = {
    "smcr.anck.bytes_missing",
    "smcr.anck.kind_unknown",
    "smcr.anck.header_assumed",
    "smcr.captured_late",
    "smcr.clocks_differ",
    "smcr.link.lost_unknown",
    "smcr.packet_ahead",
    "smcr.no_roce",
    "smcr.conn.began_before",
    "smcr.clc.confirm_without_accept",
    "smcr.rkey_not_confirmed",
    "smcr.rkey_unknown",
    "smcr.cdc.token_unknown",
    "smcr.cdc.unseen_data",
    "smcr.write.no_start",
    "smcr.llc.no_request",
    "smcr.cdc.sequence_gap",
    "smcr.breach.doubtful",
    "smcr.cut_short",
    "smcr.token_reused",
    "smcr.link.number_unknown",
    "smcr.no_response",
    "smcr.link.delete_asked",
    "smcr.packet_duplicated",
    "smcr.packet_retransmitted",
    "smcr.peer_silent",
    "smcr.cdc.read_too_far",
}
# Items that tell of the first of something, where the capture may lack the first.
FIRST = {
    "smcr.link.activated",
    "smcr.clc.declined",
    "smcr.fallback",
    "smcr.conn.moved",
    "smcr.lgr.first_contact",
    "smcr.tcp_reset_before",
    "smcr.lgr.ended",
    "smcr.link.lost",
}
# Items that say less than others of the same frame, which take their place.
SAID_WITHIN = {
    "smcr.clc.declined": {"smcr.fallback"},
    "smcr.clc.decline_confirmed": {"smcr.llc.no_recovery", "smcr.clc.decline_late"},
}
# Items that tell of the first message with a flag: what they say is in the message.
OF_FLAGS = {
    "smcr.conn.sending_done": "smcr.cdc.sending_done",
    "smcr.conn.closed": "smcr.cdc.closed",
    "smcr.conn.aborted": "smcr.cdc.abort",
    "smcr.window.writer_blocked": "smcr.cdc.writer_blocked",
}

# ---- what reports say ----

FEWER = {
    "bytes",
    "writes",
    "cdc",
    "repeated_packets",
    "repeated_bytes",
    "blocked_count",
    "window_full_count",
    "urgent_count",
    "moved_from",
    "moved_to",
}
SAME = {
    "connection": ("version", "outcome", "setup_s", "close"),
    "direction": ("unreported_bytes", "unannounced_bytes"),
    "group": ("version", "type", "eid", "vlan"),
    "peer": ("peer_id", "host_name", "system"),
    "link": ("number", "state", "mtu_bytes", "delete_reason"),
    "rmb": ("owner", "size_bytes", "va"),
}
NOT_KNOWN = (None, "unknown")
DIRECTIONS = ("client_to_server", "server_to_client")
# Findings that speak of the capture.
FOUND_OF_CAPTURE = {
    "no_roce",
    "one_sided",
    "clocks_differ",
    "disorder",
    "link_lost_unknown",
    "not_captured",
    "late_start",
    "cut_frames",
    "silent_end",
    "silence_at_once",
    "no_connection",
    "handshake_unfinished",
    "other_roce",  # headers that are not in order, or captured twice
    "reordered",
    "unsorted",
    *(item.removeprefix("smcr.").replace(".", "_") for item in OF_THE_CAPTURE),
}
# Findings that say less than others of the same: where a stronger one is true, so is the weaker
# one, and not the reverse.
SENT_AGAIN = {
    "repeats",
    "timeouts",
    "loss",
    "answered_twice",
    "no_receive_buffer",
    "link_group_ended",
    "link_failed",
    "dead_peer",
    "no_answer",
    "not_heard",
}
SAYS_LESS = {
    "repeats": SENT_AGAIN | {"answered_twice"},
    "timeouts": SENT_AGAIN,
    "failover": {"link_lost"},
    "buffer_full": {"slow_reader"},
    "tcp_reset": {"reset"},
    "undelivered": {"reset", "dead_peer", "no_answer"},
    "not_heard": SENT_AGAIN,
    "dead_peer": {"no_answer"},
    "no_answer": {"dead_peer"},
    "clc_decline_confirmed": {"llc_no_recovery", "clc_decline_late"},
}
# A silence of which the cause is open: the weakest of SENT_AGAIN.
MAY_HAVE_ENDED = "; perhaps a DELETE LINK that is not captured had ended the link before"
FLOW_COUNTS = ("packets", "bytes", "payload_bytes", "rnr_nak", "cnp")
OF_SETUP = {f"{step}{bound}" for step in ("", *STEPS) for bound in ("least_s", "most_s")}
TIMES = {*OF_TIME, *OF_SETUP, "setup_s", "smcr.llc.late_response", "llc_late_response"}
# What one host had sent when the other one sent something: the capture's order tells.
OF_ORDER = {
    "smcr.window.unread",
    "smcr.window.free",
    "smcr.window.percent",
    "smcr.window.offered",
    "smcr.window.written",
    "smcr.window.full",
    "smcr.window.opened",
    "smcr.window.small_update",
    "smcr.window.small_write",
    "smcr.window.late_update",
    "smcr.cdc.read_too_far",
    "smcr.llc.collision",
    "smcr.tcp_reset_before",
    "smcr.tcp_closed_before",
    "smcr.move.old_link",
    "move.old_link",
    "move_old_link",
    "smcr.link.after_delete",
    "link.after_delete",
    "link_after_delete",
    "blocked_count",
    "window_full_count",
    "tcp_loss",
    "reordered",  # of RoCE, as the frames now are
    *OF_TIME,
}
# What addresses of TCP say beside those of CLC: behind NAT they are others, and what is said of
# them is another truth.
OF_ADDRESSES = {"smcr.clc.other_subnet", "clc_other_subnet", "clc.other_subnet"}
# Of the order of a host's messages on two links.
OF_LINKS = {"smcr.conn.moved", "link.moved_from", "link.moved_to"}
# A copy that comes later than that may be a repeat (docs/report.md), where no identification tells.
COPIED_SOON = 100  # microseconds
OF_LATE_COPIES = {
    *OF_TIME,
    CAUSE,
    *(f"flow.repeated_after.{name}" for name in CAUSES_COUNTED),
    "repeated_packets",
    "repeated_bytes",
    "flow.repeated",
    "repeats",
    "answered_twice",
    "timeouts",
    "tcp_loss",
    "link_group_ended",
    "smcr.packet_retransmitted.ended",
    "smcr.told.otherwise",
    "told_otherwise",
}
# What a message says, whichever of its packets is taken in: the one that it was sent in first, or a
# retransmission. If the first one comes after a gap of the whole capture, neither says this.
OF_A_MESSAGE = {"smcr.window.full", "smcr.window.opened", "smcr.window.late_update"}
# Findings on who waited for whom.
OF_WAITS = {"buffer_full", "slow_reader"}
# Of the end of the capture, and a share of its time.
UP_TO_THE_END = {
    "outcome",
    "unreported_bytes",
    "unannounced_bytes",
    "close",
    "written_after",
    "state",
    "type",
    "slow_reader",
    "buffer_full",
}

# What is said of an altered capture: where, what, what is said of the whole one and of this one; is
# that no contradiction?
Statement = collections.namedtuple("Statement", "where what before after is_true")


@functools.cache
def field_names():
    """What is asked of each frame."""
    return [
        *NUMBERS,
        *FRAMES,
        REASON,
        STREAM,
        CAUSE,
        COPY,
        *TELLS,
        *OF_FLAGS.values(),
        *fields.expert_variables().values(),
    ]


def shown(rows, frames):
    """{frame of the whole capture: {field: values}}; frame numbers become those of the whole
    capture."""
    found = {}
    for frame, texts in zip(frames, rows, strict=True):
        values = dict(zip(field_names(), texts, strict=True))
        for field in FRAMES:
            values[field] = "|".join(
                str(frames[int(number) - 1].number) for number in values[field].split("|") if number
            )
        found.setdefault(frame.number, {})
        for field, text in values.items():
            if text:
                found[frame.number].setdefault(field, set()).update(text.split("|"))
    return found


def look(tshark, path, passes=2, names=()):
    """Texts of all frames of a capture, and its report. `names`: (text, what it stands for) of what
    has another name."""
    fields_of = [text for name in field_names() for text in ("-e", name)]
    text = tshark.show(
        path,
        *report_runs.CALM,
        *(("-2",) if passes == 2 else ()),
        "-T",
        "fields",
        "-E",
        "separator=/t",
        "-E",
        "aggregator=|",
        *fields_of,
        "-z",
        "smcr,json",
    )
    for new, old in names:
        text = text.replace(new, old)
    rows, _, report = text.partition("\n{\n")
    return (
        [line.split("\t") if line else [""] * len(field_names()) for line in rows.split("\n")],
        report_runs.parse(("{" + report).encode()),
    )


LACKS = r"; (no RoCE packet of the link is captured|(earlier|the) CLC messages .*may be missing).*"
DECLINED = re.compile(
    r"(?P<who>the \w+|one side) declined(?P<step> before any Proposal| after the \w+)?: (?P<why>.*)"
)
SAYS_NOTHING = {"who": "one side", "step": None, "why": "reason truncated by snaplen"}


def is_weaker(reason, whole):
    """Whether a reason says no more than another one. Both sides may have declined."""
    doubtful = "earlier CLC messages may be missing" in reason
    reason, whole = (re.sub(LACKS, "", text) for text in (reason, whole))
    one, other = DECLINED.fullmatch(reason), DECLINED.fullmatch(whole)
    if not one or not other:
        return reason in ("data follows on TCP", whole)
    return all(
        one[part] in (SAYS_NOTHING[part], other[part]) or (doubtful and part == "who")
        for part in SAYS_NOTHING
    )


def is_told(reason, codes):
    """Whether a host tells the reason, with codes that are in the message itself."""
    said = {int(code, 0) for code in re.findall(r"\((0x[0-9a-f]{8})\)", reason)}
    return reason.endswith(", as a host reports") and bool(said) and said <= codes


def packets_of(texts, packets):
    """Frames, and for those with a packet what tells it: it may have been sent more than once."""
    return {packets.get(int(text), int(text)) for text in texts}


def sent_again(before):
    """{frame: all frames with its message or WRITE}, where these are several."""
    found = collections.defaultdict(list)
    for frame, values in before.items():
        for names in MESSAGES:
            texts = [values.get(name, ()) for name in names]
            if all(len(each) == 1 for each in texts):
                found[names, *map(min, texts)].append(frame)
    return {frame: frames for frames in found.values() if len(frames) > 1 for frame in frames}


def unnumbered(frames):
    """Connections of a tap whose messages have no numbers."""
    tapped, numbered = set(), set()
    for values in frames.values():
        of = values.get(CONNECTION, set())
        tapped |= of if MODE in values else set()
        numbered |= of if values.get(NUMBER, {"0"}) != {"0"} else set()
    return tapped - numbered


def is_bound(field, texts, whole):
    """Whether the numbers of the whole capture keep the bounds that the altered one has."""
    if field not in AT_MOST | AT_LEAST:
        return False
    bounds, numbers = (sorted(map(int, each)) for each in (texts, whole))
    if field in AT_MOST:
        return all(number <= bounds[-1] for number in numbers)
    return all(number >= bounds[0] for number in numbers)


def since_other(frame, others, packets, times):
    """
    The time from each frame that has the same packet as one of the others to each one with the
    packet of this one: the capture may lack the first of them.
    """
    starts, ends = packets_of(others, packets), packets_of([frame], packets)
    return {
        f"{decimal.Decimal(times[end] - times[start]) / alterations.UNIT:.9f}"
        for end in times
        if packets.get(end, end) in ends
        for start in times
        if packets.get(start, start) in starts
    }


def of_frames(before, after, but, packets, times):
    """
    Statements of frames. packets: {frame: its RoCE packet or TCP segment}; times: {frame:
    microseconds}. Of what is sent again they are those of the first time, or of this one: the
    capture may lack the first.
    """
    again, bounded = sent_again(before), unnumbered(after)
    begun = {
        item: min(
            (frame for frame, values in before.items() if item in values), default=len(before) + 1
        )
        for item in FIRST
    }
    reasons = collections.defaultdict(set)  # of a TCP connection, in whatever frame
    for values in before.values():
        reasons[min(values.get(STREAM, [""]))] |= values.get(REASON, set())
    for frame, values in after.items():
        truth = before[frame]
        first = [before[other] for other in again.get(frame, ()) if other < frame]
        for field, texts in values.items():
            if field in (STREAM, COPY, *TELLS, *but) or (
                field.endswith("_time") and "setup_s" in but
            ):
                continue
            if field == CAUSE:
                # a copy is the packet that it copies, where that is absent
                causes = next((before[int(copied)] for copied in truth.get(COPY, ())), truth).get(
                    CAUSE
                )
                right = texts <= {NO_CAUSE} or causes in (texts, {NO_CAUSE})
            elif field == REASON:
                told = {int(code, 0) for name in TOLD for code in truth.get(name, ())}
                right = all(
                    any(is_weaker(text, whole) for whole in reasons[min(truth.get(STREAM, [""]))])
                    or is_told(text, told)
                    for text in texts
                )
            elif field in OF_FLAGS:
                right = bool(
                    {"1", "True"} & truth.get(OF_FLAGS[field], set())
                )  # 4.4 and later say True
            elif field in OF_FLAGS.values():
                right = texts == truth.get(field, texts)
            elif field in FRAMES:
                others = [
                    other
                    for text in truth.get(field, ())
                    for other in again.get(int(text), [int(text)])
                ]
                right = field not in truth or packets_of(texts, packets) <= packets_of(
                    others, packets
                )
            elif field in NUMBERS:
                right = field not in truth or texts <= truth[field].union(
                    *(other.get(field, ()) for other in first)
                )
                if not right and values.get(CONNECTION, set()) & bounded:
                    right = is_bound(field, texts, truth[field])
                if not right and field in SINCE:
                    others = [
                        other
                        for text in truth.get(SINCE[field], ())
                        for other in again.get(int(text), [int(text)])
                    ]
                    right = texts <= since_other(frame, others, packets, times)
            else:
                right = (
                    field in OF_THE_CAPTURE
                    or field in truth
                    or SAID_WITHIN.get(field, set()) & truth.keys()
                    or begun.get(field, frame) < frame
                    or (
                        field in OF_A_MESSAGE
                        and any({field, AHEAD} & other.keys() for other in first)
                    )
                )
            yield Statement(
                f"frame {frame}", field, sorted(truth.get(field, ())), sorted(texts), right
            )


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


def is_known(one, other):
    return one not in NOT_KNOWN and other not in NOT_KNOWN


def same(before, after, names, prefix=""):
    """Statements that are those of the whole capture."""
    for name in names:
        if is_known(before[name], after[name]):
            yield (
                prefix + name,
                before[name],
                after[name],
                report_runs.same(after[name], before[name])
                or (after[name] == "SMC-Rv2.x" and before[name].startswith("SMC-Rv2")),
            )


def no_more(before, after, prefix="", times=1):
    """Statements whose number is not larger than that of the whole capture, or so many times
    that."""
    for name in sorted(FEWER & after.keys()):
        if before[name] is not None and after[name] is not None:
            yield prefix + name, before[name], after[name], after[name] <= times * before[name]


def seconds(time):
    """Of a member of the report, which may be null."""
    return decimal.Decimal(repr(time or 0))


def span_of(connection):
    first, last = (decimal.Decimal(connection[f"{which}_time"]) for which in ("first", "last"))
    return last - first


def longest_wait(connection, writer, kind):
    return max(
        (
            each["lasted_s"]
            for each in connection["longest_waits"]
            if (each["writer"], each["kind"]) == (writer, kind)
        ),
        default=0,
    )


def of_bounds(one, other, slack, outside):
    """
    Lower bounds of an altered capture are at most the upper ones of the whole, and the other way
    round. slack: what may be missing, and nothing tells; outside: time of the connection that the
    altered capture does not span.
    """
    for part in BUSY:
        most = part.replace("_s", "_most_s")
        yield part, one[most], other[part], seconds(other[part]) <= seconds(one[most]) + slack
        yield (
            most,
            one[part],
            other[most],
            seconds(other[most]) + slack + outside >= seconds(one[part]),
        )
    unknown = seconds(one["buffer_full_most_s"]) - seconds(one["buffer_full_s"])
    reader = seconds(other["reader_s"])
    yield "reader_s", one["reader_s"], float(reader), reader <= seconds(
        one["reader_s"]
    ) + unknown + slack
    for what, members in IDLE.items():
        limit, part = (sum(seconds(time[member]) for member in members) for time in (one, other))
        limit += seconds(one["unknown_s"])
        yield what, limit, part, part <= limit + slack


def of_times(before, after, later, unseen):
    """
    Where the time went: the parts add up, and bounds and longest waits are true. later: seconds by
    which missing acknowledgements let something be known later; unseen: in which packets were
    retransmitted, and nothing tells.
    """
    slack = decimal.Decimal("1e-9") + seconds(later) + seconds(unseen)
    for name in DIRECTIONS:
        one, other = before[name]["time"], after[name]["time"]
        if not one or not other:
            continue
        parts = sum(seconds(other[part]) for part in (*PARTS, *OTHER_PARTS))
        span = span_of(after)
        yield f"{name}.time", span, parts, abs(span - parts) <= decimal.Decimal("1e-9")
        outside = max(span_of(before) - span, decimal.Decimal(0))
        for what, *rest in of_bounds(one, other, slack, outside):
            yield f"{name}.{what}", *rest
        writer = name.split("_", maxsplit=1)[0]
        for kind in ("reader", "answer"):
            longest, found = (longest_wait(each, writer, kind) for each in (before, after))
            limit = seconds(longest) + seconds(one["unknown_s"]) + slack
            yield f"{name}.longest_waits", longest, found, seconds(found) <= limit


def of_setup(before, after, segments):
    """Bounds of the time of the setup and of its steps: the lower one of each capture is at most
    the upper one of the other. segments: seconds in which TCP segments were retransmitted, and
    nothing tells."""
    slack = decimal.Decimal("1e-9") + seconds(segments)
    for step in ("", *STEPS):
        least, most = f"{step}least_s", f"{step}most_s"
        one, other = ((each["setup"][least], each["setup"][most]) for each in (before, after))
        if None not in (one[1], other[0]):
            is_true = seconds(other[0]) <= seconds(one[1]) + slack
            yield f"setup.{least}", one[1], other[0], is_true
        if None not in (one[0], other[1]):
            is_true = seconds(other[1]) + slack >= seconds(one[0])
            yield f"setup.{most}", one[0], other[1], is_true


def of_end(before, after, numbers):
    """Who ended the connection first, and in which frames, which the whole capture numbers."""
    one, other = before["end"], after["end"]
    if not other:
        return
    if not one:
        yield "end", None, other["by"], False
        return
    yield from same(one, other, ("by", "aborted_by", "written_after"), "end.")
    for name in ("frame", "idle_frame", "other_frame", "aborted_frame"):
        if is_known(one[name], other[name]):
            frame = numbers[other[name] - 1]
            yield f"end.{name}", one[name], frame, frame == one[name]
    yield from of_other_end(one, other, numbers)


def of_other_end(one, other, numbers):
    """Bounds of the frame in which the other end closed the connection."""
    frames = {name: other[name] and numbers[other[name] - 1] for name in OTHER_ENDS}
    if one["other_frame"] and frames["other_after_frame"]:
        yield "end.other_after_frame", one["other_frame"], frames["other_after_frame"], (
            frames["other_after_frame"] <= one["other_frame"]
        )
    if one["other_frame"] and frames["other_by_frame"]:
        yield "end.other_by_frame", one["other_frame"], frames["other_by_frame"], (
            frames["other_by_frame"] >= one["other_frame"]
        )


def late_writes(truth, connection):
    """Frames of the whole capture with an RDMA WRITE, after the first close, of the other end."""
    end, stream = connection["end"], str(connection["stream"])
    direction = {"client": "1", "server": "0"}[end["by"]]
    return [
        frame
        for frame, values in truth.frames.items()
        if frame > end["frame"]
        and values.get("smcr.write.len")
        and (values.get(CONNECTION), values.get("smcr.dir")) == ({stream}, {direction})
    ]


def of_late_writes(truth, report, frames):
    """Bounds of the WRITEs after the first close that may be missing."""
    whole = by_ends(truth.report)
    for ends, each in by_ends(report).items():
        one, other = whole.get(ends, {}).get("end"), each["end"]
        if not one or not other or not other["late_write_after_frame"]:
            continue
        bounds = [other[f"late_write_{bound}_frame"] for bound in ("after", "by")]
        after, until = (bound and frames[bound - 1].number for bound in bounds)
        for frame in late_writes(truth, whole[ends]):
            is_within = after < frame and (not until or frame < until)
            yield Statement(str(sorted(ends)), "end.late_write", frame, (after, until), is_within)


def of_connection(before, after, later, unseen, segments=0):
    yield from same(before, after, SAME["connection"])
    yield "client", ends_of(before), ends_of(after), ends_of(before) == ends_of(after)
    if ends_of(before) != ends_of(after):
        return
    yield from same(before["tokens"], after["tokens"], after["tokens"], "tokens.")
    one, other = before["fallback"], after["fallback"]
    if other:
        yield "fallback", one and one["reason"], other["reason"], bool(one) and is_weaker(
            other["reason"], one["reason"]
        )
    if one and other:
        yield from same(one, other, ("by",), "fallback.")
    for direction in DIRECTIONS:
        yield from same(before[direction], after[direction], SAME["direction"], f"{direction}.")
        yield from no_more(before[direction], after[direction], f"{direction}.")
        one, other = before[direction], after[direction]
        if after["close"] == "normal" and one["lacks_bytes"] is other["lacks_bytes"] is False:
            yield f"{direction}.lacks_bytes", one["bytes"], other["bytes"], other["bytes"] >= one[
                "bytes"
            ]
    yield from of_times(before, after, later, unseen)
    yield from of_setup(before, after, segments)


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


def last_frame(report, group, numbers):
    """The last frame on the links of a group, as the whole capture numbers it."""
    frames = [
        report["rdma_flows"][flow]["last_frame"]
        for link in group["links"]
        for flow in link["flows"]
    ]
    return max((numbers[frame - 1] for frame in frames if frame), default=0)


def by_rkeys(group):
    """{(link, RKey): RMB}, of RKeys that mean one RMB."""
    found = collections.defaultdict(list)
    for rmb in group["rmbs"]:
        for rkey in rmb["rkeys"]:
            found[rkey["link"], rkey["rkey"]].append(rmb)
    return {key: rmbs[0] for key, rmbs in found.items() if len(rmbs) == 1}


def is_lost(whole_link, link):
    """A link whose path is lost is deleted afterwards, if the capture has DELETE LINK."""
    return link["state"] == "lost" and bool(whole_link["lost_frame"])


def over_since(link):
    """The frame in which a link that is deleted or lost is no longer active; 0: there is none."""
    lost = [each["begin_frame"] or 0 for each in link["states"] if each["state"] == "lost"]
    return max(link["deleted_frame"] or 0, *lost, 0)


def of_states(before, after, numbers):
    """The states of a link, each with the frames in which it begins and ends: the first such frame
    of the altered capture, whose order may be another one."""
    places = {number: place for place, number in enumerate(numbers, 1)}
    truth = {each["state"]: each for each in before["states"]}
    for each in after["states"]:
        whole = truth.get(each["state"])
        if before["state"] not in NOT_KNOWN:
            is_right = bool(whole) or (each["state"] == "lost" and bool(before["lost_frame"]))
            yield "link.states", list(truth), each["state"], is_right
        for end in ("begin_frame", "end_frame"):
            if whole and is_known(whole[end], each[end]):
                frame = numbers[each[end] - 1]
                is_right = frame == whole[end] or places.get(whole[end], 0) > each[end]
                yield f"link.states.{each['state']}.{end}", whole[end], frame, is_right


def of_groups(before, after, numbers):
    truth, found, groups = whole_links(before), whole_links(after), {}
    # a connection whose CLC is absent may be two entries, one of each direction
    times = 2 if any(None in conn["tokens"].values() for conn in after["connections"]) else 1
    for key in truth.keys() & found.keys():
        (whole_group, whole_link), (group, link) = truth[key], found[key]
        # a link whose group has no frame behind DELETE LINK, or behind the first request without
        # an answer, is what it was before
        is_open = over_since(whole_link) > last_frame(after, group, numbers)
        may_differ = is_open or link["state_frame"] or is_lost(whole_link, link)
        yield from same(
            whole_link,
            link,
            [name for name in SAME["link"] if name != "state" or not may_differ],
            "link.",
        )
        yield from no_more(whole_link, link, "link.", times)
        yield from of_states(whole_link, link, numbers)
        if is_known(whole_link["lost_frame"], link["lost_frame"]):
            if numbers[link["lost_frame"] - 1] == whole_link["lost_frame"]:
                yield from same(whole_link, link, ("lost_by",), "link.")
        if is_known(whole_link["deleted_frame"], link["deleted_frame"]):
            frame = numbers[link["deleted_frame"] - 1]
            yield "link.deleted_frame", whole_link["deleted_frame"], frame, frame == whole_link[
                "deleted_frame"
            ]
        groups.setdefault(group["index"], (whole_group, group))
    for whole_group, group in groups.values():
        yield from same(whole_group, group, SAME["group"], "group.")
        for side in group["peers"]:
            yield from same(
                whole_group["peers"][side], group["peers"][side], SAME["peer"], f"group.{side}."
            )
        if group["ended_frame"]:
            yield (
                "group.ended_frame",
                whole_group["ended_frame"],
                numbers[group["ended_frame"] - 1],
                bool(whole_group["ended_frame"]),
            )
        whole_rmbs, rmbs = by_rkeys(whole_group), by_rkeys(group)
        for rkey in whole_rmbs.keys() & rmbs.keys():
            yield from same(whole_rmbs[rkey], rmbs[rkey], SAME["rmb"], "rmb.")


def flows_of(report):
    """{what tells a flow: sums of its entries}"""
    found = collections.defaultdict(collections.Counter)
    for flow in report["rdma_flows"]:
        key = flow["src"], flow["dst"], flow["dst_qpn"]
        for name in FLOW_COUNTS:
            found[key][name] += flow[name] or 0
        found[key]["repeated"] += flow["repeated"] or 0
        causes = flow["repeated_after"] or {}
        for name in CAUSES_COUNTED:  # one that is not known may be any
            found[key][f"repeated_after.{name}"] += causes.get(name) or 0
        found[key]["of no known cause"] += causes.get("unknown") or 0
        for name in ("ce", "ect0", "ect1"):
            found[key][name] += (flow["ecn"] and flow["ecn"][name]) or 0
    return found


def of_flows(before, after, copies):
    whole = flows_of(before)
    for key, counts in flows_of(after).items():
        for name, count in counts.items():
            limit = whole[key][name] * (2 if copies and not name.startswith("repeated") else 1)
            if name == "of no known cause":
                continue
            if name.startswith("repeated_after"):
                limit += whole[key]["of no known cause"]
            yield f"flow.{name}", limit, count, count <= limit


def may_wait(report):
    """Whether a writer may have waited for space for long, but that is not known."""
    return any(
        time["buffer_full_s"] < time["buffer_full_most_s"]
        and (
            time["buffer_full_most_s"] >= 0.5
            or seconds(time["buffer_full_most_s"]) * 100 >= 7 * span_of(connection)
        )
        for connection in report["connections"]
        for time in (connection[direction]["time"] for direction in DIRECTIONS)
        if time
    )


def kind_of(finding):
    """Its kind; of a silence that may be harmless, the kind of any retransmissions."""
    is_open = finding["kind"] == "no_answer" and finding["text"].endswith(MAY_HAVE_ENDED)
    return "repeats" if is_open else finding["kind"]


def has_needless(report):
    """
    Whether packets were retransmitted after their acknowledgement. Without this acknowledgement,
    the altered capture shows that both transmissions arrived.
    """
    return any((flow["recovery"] or {}).get("needless") for flow in report["rdma_flows"])


def of_reports(before, after, numbers, but, copies, items, later=0, unseen=0, segments=0):
    """
    Statements of the report of an altered capture. `but`: members that are left out; items: of the
    whole capture; later and unseen: as in of_times(); segments: as in of_setup().
    """
    truth = by_ends(before)
    found = [
        (str(sorted(ends)), each)
        for ends, conn in by_ends(after).items()
        if ends in truth
        for each in of_connection(truth[ends], conn, later, unseen, segments)
    ]
    found += [
        (str(sorted(ends)), each)
        for ends, conn in by_ends(after).items()
        if ends in truth
        for each in of_end(truth[ends], conn, numbers)
    ]
    found += [("link group", each) for each in of_groups(before, after, numbers)]
    found += [("flow", each) for each in of_flows(before, after, copies)]
    whole_breaches = {breach["kind"] for breach in before["breaches"]}
    found += [
        ("breach", (breach["kind"], None, breach["by"], breach["kind"] in whole_breaches))
        for breach in after["breaches"]
    ]
    kinds = {finding["kind"] for finding in before["findings"]} | FOUND_OF_CAPTURE
    kinds |= {
        item.removeprefix("smcr.").replace(".", "_") for item in items
    }  # another finding tells that
    kinds |= {kind for kind, stronger in SAYS_LESS.items() if kinds & stronger}
    kinds |= OF_WAITS if may_wait(before) else set()
    kinds |= {"answered_twice"} if has_needless(before) else set()
    full = len(before["findings"]) >= 10
    found += [
        ("finding", (finding["kind"], None, finding["text"], full or kind_of(finding) in kinds))
        for finding in after["findings"]
    ]
    return [Statement(where, *each) for where, each in found if not names_of(each[0]) & but]


# ---- captures ----

Base = collections.namedtuple("Base", "name path head frames")
Truth = collections.namedtuple(
    "Truth", "base frames report packets times roce"
)  # times: {frame: microseconds}


def name_of(capture):
    """The name of a capture that is named, or given as a path."""
    return pathlib.Path(capture).name.split(".pcap")[0]


def path_in_bed(bed, capture):
    """Where tshark may read it: a path outside the project is copied."""
    if capture in PATHS:
        return bed.root / "captures" / PATHS[capture].relative_to(TOP / "captures")
    folder = pathlib.Path(tempfile.mkdtemp(dir=bed.scratch))
    folder.chmod(0o777)
    return pathlib.Path(shutil.copyfile(capture, folder / pathlib.Path(capture).name))


@functools.cache
def truth_of(tshark, capture):
    """What is said of a whole capture."""
    name = name_of(capture)
    path = altered.as_pcapng(tshark.bed, path_in_bed(tshark.bed, capture), name)
    base = Base(name, path, *pcapng.read(path))
    rows, report = look(tshark, base.path)
    packets = list(wire.packets(path))
    segments = {each.frame: each[1:] for each in packets if isinstance(each, wire.Segment)}
    times = {frame.number: pcapng.time(frame) for frame in base.frames}
    roce = [each for each in packets if isinstance(each, wire.Packet)]
    return Truth(
        base, shown(rows, base.frames), report, segments | altered.identities(path), times, roce
    )


def has_same_times(truth, frames):
    return all(
        pcapng.time(frame) == pcapng.time(truth.base.frames[frame.number - 1]) for frame in frames
    )


def counts_all(truth):
    """Whether the report has all RoCE packets: of a capture that starts late it lacks those before
    the first that tells a link."""
    return sum(flow["packets"] for flow in truth.report["rdma_flows"]) >= len(truth.roce)


def has_early_times(truth, frames):
    """Whether a frame has a time at which it was not sent yet: then neither order nor time tells on
    which link it was first."""
    return any(
        pcapng.time(frame) < pcapng.time(truth.base.frames[frame.number - 1]) for frame in frames
    )


def has_late_copies(frames):
    first = {}
    return any(
        pcapng.time(frame) > pcapng.time(first.setdefault(frame.number, frame)) + COPIED_SOON
        for frame in frames
    )


def acknowledged_later(truth, frames):
    """Seconds by which absent acknowledgements come later, all together: the next ones stand for
    them, and nothing tells."""
    kept, following, later = {frame.number for frame in frames}, {}, 0
    for packet in reversed(truth.roce):
        if packet.opcode == wire.ACKNOWLEDGE:
            time = truth.times[packet.frame]
            if packet.frame in kept:
                following[packet.ends, packet.qpn] = time
            later += following.get((packet.ends, packet.qpn), time) - time
    return later / alterations.UNIT


def unseen_repeats(truth, frames):
    """
    Spans of frames, the first and the last one, in which a packet was sent again, and nothing
    tells. A packet whose first time is absent is a new one when it comes again, unless one behind
    it in its flow came in between: then there was a gap. Of a later time that is absent nobody
    knows that it was needed.
    """
    kept, times, spans = {frame.number for frame in frames}, collections.defaultdict(list), []
    requests = [packet for packet in truth.roce if packet.opcode != wire.ACKNOWLEDGE]
    for packet in requests:
        times[packet.ends, packet.qpn, packet.psn].append(packet.frame)
    for (ends, qpn, psn), sent in times.items():
        found = [frame for frame in sent if frame in kept]
        if not found or len(sent) == 1:
            continue
        behind = any(
            (other.ends, other.qpn) == (ends, qpn)
            and other.frame in kept
            and sent[0] < other.frame < found[0]
            and 0 < (other.psn - psn & 0xFFFFFF) < 0x800000
            for other in requests
        )
        if found[0] != sent[0] and not behind:
            spans.append((sent[0], found[0]))
        spans += [(sent[0], frame) for frame in sent[1:] if frame not in kept]
    return sorted(spans)


def unseen_segments(truth, frames):
    """
    Spans of frames in which a SYN, or a TCP segment with data, was retransmitted, and nothing
    tells: the first transmission is absent, or comes after the other.
    """
    places = {}
    for place, frame in enumerate(frames):
        places.setdefault(frame.number, place)
    sent = collections.defaultdict(list)
    for frame, packet in truth.packets.items():
        if not isinstance(packet, altered.Identity) and any(packet[-2:]):  # SYN, payload
            sent[packet].append(frame)
    spans = []
    for numbers in sent.values():
        kept = [frame for frame in numbers if frame in places]
        first = min(kept, key=places.get, default=numbers[0])
        if first != numbers[0]:
            spans.append((numbers[0], first))
    return sorted(spans)


def length(spans, times):
    """Seconds of all spans together, each moment once."""
    total = end = 0
    for first, last in spans:
        total += max(times[last] - max(times[first], end), 0)
        end = max(end, times[last])
    return total / alterations.UNIT


def not_compared(truth, frames):
    """Members of the report that may differ: the altered capture ends before, or packets have other
    times."""
    ends_before = not any(frame.number == truth.base.frames[-1].number for frame in frames)
    longer = any(
        len(frame.block) > len(truth.base.frames[frame.number - 1].block) for frame in frames
    )
    first_times = list(dict.fromkeys(frame.number for frame in frames))
    is_disordered = first_times != sorted(first_times)
    return (
        (OF_ORDER if is_disordered else set())
        | (OF_LATE_COPIES if is_disordered or has_late_copies(frames) else set())
        | (OF_LINKS if has_early_times(truth, frames) else set())
        | (UP_TO_THE_END if ends_before else set())
        | (TIMES if not has_same_times(truth, frames) else set())
        | ({"flow.packets", "flow.bytes"} if is_disordered and not counts_all(truth) else set())
        | ({"flow.bytes"} if longer else set())
    )


def statements(tshark, truth, case, scratch):
    """What is said of an altered capture, and compared with the whole one."""
    frames, path = case.alter(truth.base.frames), scratch / "altered.pcapng"
    if not frames:
        return []
    case.write(path, truth.base.head, frames)
    path.chmod(0o644)
    rows, report = look(tshark, path, names=case.names)
    unseen = unseen_repeats(truth, frames)
    but = (
        not_compared(truth, frames)
        | (OF_ADDRESSES if case.names else set())
        | (OF_WAITS if unseen else set())
    )
    within = {f"frame {number}" for first, last in unseen for number in range(first + 1, last)}
    found = [
        each
        for each in of_frames(truth.frames, shown(rows, frames), but, truth.packets, truth.times)
        if each.where not in within or each.what not in OF_ORDER
    ]
    late = of_late_writes(truth, report, frames) if "written_after" not in but else ()
    return [
        *found,
        *late,
        *of_reports(
            truth.report,
            report,
            [frame.number for frame in frames],
            but,
            len(frames) > len(truth.base.frames),
            set().union(*truth.frames.values()),
            acknowledged_later(truth, frames),
            length(unseen, truth.times),
            length(unseen_segments(truth, frames), truth.times),
        ),
    ]


def cases_of(truth, kind, count=None):
    """The altered captures of a kind; or so many of them, for each capture others."""
    cases = KINDS[kind](truth.base)
    if count is None or len(cases) <= count:
        return cases
    first = zlib.crc32(f"{truth.base.name} {kind}".encode())
    return [cases[(first + i * len(cases) // count) % len(cases)] for i in range(count)]


def line(name, kind, label, wrong):
    return f"{name}, {kind}, {label}: {wrong.where}, {wrong.what}: {wrong.before} -> {wrong.after}"


def parser_of(description, kinds, listed):
    """Of a program that alters captures; `listed`: what --list lists."""
    parser = argparse.ArgumentParser(description=description.strip().splitlines()[0])
    parser.add_argument(
        "--only",
        action="append",
        choices=kinds,
        metavar="KIND",
        help=", ".join(kinds).replace("%", "%%"),
    )
    parser.add_argument(
        "--each",
        type=int,
        metavar="N",
        help="only so many altered captures of each kind and capture",
    )
    parser.add_argument("--list", action="store_true", help=f"list {listed}")
    parser.add_argument(
        "--plugin", type=pathlib.Path, metavar="FILE", help="another build of the plugin"
    )
    parser.add_argument(
        "captures", nargs="*", help="names or paths; all of the project's by default"
    )
    return parser


@contextlib.contextmanager
def bed_of(arguments):
    """tshark with the build that the arguments of such a program name, and a folder to write to."""
    with new_bed() as bed, tempfile.TemporaryDirectory(dir=bed.scratch) as folder:
        scratch = pathlib.Path(folder)
        scratch.chmod(0o755)
        if arguments.plugin:
            bed.add_plugin(arguments.plugin, "given")
        yield Tshark(bed, "given" if arguments.plugin else "debug"), scratch


def main():
    parser = parser_of(__doc__, KINDS, "what contradicts")
    parser.add_argument(
        "--strict",
        action="store_true",
        help="also list and count what is known to contradict (OPEN)",
    )
    parser.add_argument(
        "--verbose", action="store_true", help="also tell of kinds without contradictions"
    )
    arguments = parser.parse_args()
    total = collections.Counter()
    with bed_of(arguments) as (tshark, scratch):
        for capture in arguments.captures or CAPTURES:
            truth, name = truth_of(tshark, capture), name_of(capture)
            for kind in arguments.only or kinds_of(name):
                cases, whats = cases_of(truth, kind, arguments.each), collections.Counter()
                for case in cases:
                    found = statements(tshark, truth, case, scratch)
                    wrong = [
                        each
                        for each in found
                        if not each.is_true and (arguments.strict or not is_open(name, each))
                    ]
                    total.update(
                        open=sum(not each.is_true and is_open(name, each) for each in found)
                    )
                    total.update(altered=1, statements=len(found), contradictions=len(wrong))
                    whats.update({each.what for each in wrong})
                    for each in wrong if arguments.list else ():
                        print("    " + line(name, kind, case.label, each), flush=True)
                if whats or arguments.verbose:
                    print(f"{name}, {kind}: {len(cases)} altered: {dict(whats)}", flush=True)
    print(dict(total))


if __name__ == "__main__":
    main()
