"""
What the number of each kind of finding counts, and how its display filter finds that. A kind that
is not here is an expert item of the same name, and counts its occurrences.

A unit makes columns of `-z io,stat` for a finding, one number each, and says what is wrong with the
numbers.
"""

import collections

# Occurrences of a field in what a display filter finds; "SUM(field)": the sum of its values.
Term = collections.namedtuple("Term", "field where", defaults=[None])


def column(term, filter):
    """The column of `-z io,stat` that counts it among what the finding's filter finds."""
    calculation, name = (
        ("COUNT", term.field) if "(" not in term.field else term.field.rstrip(")").split("(")
    )
    return f"{calculation}({name}){name} && ({filter})" + (
        f" && ({term.where})" if term.where else ""
    )


def frames(filter):
    return column(Term("frame.number"), filter)


class Terms:
    """Counts occurrences: the terms add up to the number. The filter shows nothing but them, and
    `besides` for context."""

    def __init__(self, *terms, besides=()):
        self.terms = [term if isinstance(term, Term) else Term(term) for term in terms]
        self.besides = besides

    def columns(self, finding, report):
        shown = [
            each
            for term in self.terms
            for each in [term.where or term.field.removeprefix("SUM(").rstrip(")")]
        ]
        shown += [each.format(**finding) for each in self.besides]
        nothing_else = " && ".join(f"!({each})" for each in shown)
        return [
            *(column(term, finding["filter"]) for term in self.terms),
            frames(f"({finding['filter']}) && {nothing_else}"),
        ]

    def wrong(self, finding, numbers, report):
        *terms, others = numbers
        if sum(terms) != finding["count"]:
            return f"the filter finds {terms}"
        return f"the filter finds {others} frames of something else" if others else None


class Subjects:
    """
    Counts entries of the report: `of` makes a display filter of each. The filter finds as many of
    them, and none of `others` unless the filter is one of frames, or the finding counts more than a
    filter can name.
    """

    def __init__(self, of, others=lambda report, finding: (), most=50):
        self.of, self.others, self.most = of, others, most

    def columns(self, finding, report):
        names = finding["count"] <= NAMED_MOST and "frame.number" not in finding["filter"]
        others = list(self.others(report, finding))[: self.most] if names else []
        return [
            frames(f"({finding['filter']}) && ({each})")
            for each in [*list(self.of(report, finding))[: self.most], *others]
        ]

    def wrong(self, finding, numbers, report):
        own = len(list(self.of(report, finding))[: self.most])
        found, others = sum(map(bool, numbers[:own])), sum(map(bool, numbers[own:]))
        if others:
            return f"the filter finds {others} that the finding does not count"
        return (
            None
            if found >= min(finding["count"], self.most)
            else f"the filter finds {found} of {own}"
        )


class Something:
    """Counts what no frame is: the filter finds at least a frame of it."""

    def columns(self, finding, report):
        return [frames(finding["filter"])]

    def wrong(self, finding, numbers, report):
        return None if numbers[0] else "the filter finds nothing"


def connections(is_one):
    """Connections, by their numbers. Frames of TCP alone have no number of ours."""

    def of(report, finding, wanted=True):
        for each in report["connections"]:
            if bool(is_one(each, finding)) == wanted:
                tcp = (
                    "" if each["tcp_stream"] is None else f" || tcp.stream == {each['tcp_stream']}"
                )
                yield f"smcr.stream == {each['stream']}{tcp}"

    return Subjects(of, lambda report, finding: of(report, finding, False))


def writers(report, finding):
    """Directions of connections whose writer has waited."""
    for each in report["connections"]:
        for number, way in enumerate(("client_to_server", "server_to_client")):
            if each[way]["blocked_count"] or each[way]["window_full_count"]:
                yield f"smcr.stream == {each['stream']} && (smcr.dir == {number} || !smcr.dir)"


def small_writers(report, finding):
    """Directions of connections with many WRITEs, smaller than a CDC message on average."""
    for each in report["connections"]:
        lasted = float(each["last_time"]) - float(each["first_time"])
        for number, way in enumerate(("client_to_server", "server_to_client")):
            writes = each[way]["writes"] or 0
            if writes >= max(100, lasted) and each[way]["bytes"] < 44 * writes:
                yield f"smcr.stream == {each['stream']} && smcr.dir == {number}"


def set_up_slowly(connection, finding):
    if connection["outcome"] == "fallback":
        began, ended = connection["first_time"], (connection["fallback"] or {}).get("time")
        return bool(ended) and float(ended) - float(began) >= 0.5
    known = [each for each in (connection["setup"] or {}).values() if each is not None]
    return connection["outcome"] == "smc-r" and (connection["setup_s"] or sum(known)) >= 0.5


def answers_slowly(connection, finding):
    return any(
        (each["writer"], each["kind"]) == ("client", "answer") and each["lasted_s"] >= 0.5
        for each in connection["longest_waits"]
    )


def has_unread_data(connection, finding):
    """Closed in order, with data that are not reported as read: of the end that closed first, which
    are lost, or of the other one."""
    end = connection["end"]
    if connection["close"] != "normal" or not end or not end["by"]:
        return False
    is_lost = " lost: " in finding["text"]
    writer = end["by"] if is_lost else {"client": "server", "server": "client"}[end["by"]]
    way = "client_to_server" if writer == "client" else "server_to_client"
    return bool(connection[way]["unreported_bytes"])


def is_silent(connection, finding):
    return (
        connection["close"] == "open"
        and (connection["last_frame"] or finding["frame"] + 1) <= finding["frame"]
    )


NAMED_MOST = 8  # connections
ITS_FRAME = "frame.number == {frame}"  # with which the longest wait begins
AGAIN = Terms("smcr.retransmission", besides=["smcr.nak", ITS_FRAME])
A_FRAME = Terms("frame.number")
# as many of Wireshark's names for retransmissions as there are
TCP_AGAIN = " || ".join(
    f"tcp.analysis.{each}"
    for each in ("retransmission", "fast_retransmission", "spurious_retransmission", "out_of_order")
)

UNITS = {
    "wrong_icrc": Terms("smcr.icrc.bad"),
    "refused": Terms("smcr.nak.code"),
    "no_receive_buffer": Terms("smcr.rnr_nak"),
    "loss": AGAIN,
    "naks_alone": A_FRAME,
    "timeouts": AGAIN,
    "repeats": AGAIN,
    "answered_twice": AGAIN,
    "congestion": Terms(Term("smcr.ecn", "smcr.ecn == 3"), "smcr.congestion", besides=[ITS_FRAME]),
    "cm_rejected": Terms("smcr.cm.rejected"),
    "cm_repeat": Terms("smcr.cm.repeat"),
    "link_group_lost": Terms("smcr.lgr.connections_lost"),
    "link_group_ended": Terms(
        "smcr.packet_retransmitted.ended", besides=["frame.number == {frame}"]
    ),
    "not_captured": Terms("SUM(smcr.missing)"),
    "one_sided": A_FRAME,
    "cut_frames": A_FRAME,
    "clock_step": A_FRAME,
    "unsorted": A_FRAME,
    "clocks_differ": A_FRAME,
    "other_roce": A_FRAME,
    "reordered": Something(),
    "sprayed": Something(),
    "pause": A_FRAME,
    "lost_between": A_FRAME,
    "damaged_between": A_FRAME,
    "lost_after": A_FRAME,
    "reordered_between": A_FRAME,
    "marked_between": A_FRAME,
    "options_changed": A_FRAME,
    "point_missed": A_FRAME,
    "points_contradict": A_FRAME,
    "application_errors": Terms(
        Term("http.response.code", "http.response.code >= 400"),
        Term("tls.alert_message.level", "tls.alert_message.level == 2"),
        besides=["frame.number == {frame}"],
    ),
    "no_roce": Terms("smcr.no_roce"),
    "undelivered": A_FRAME,
    "tcp_loss": Terms(Term("frame.number", TCP_AGAIN), besides=[ITS_FRAME]),
    "tcp_congestion": Terms(
        Term("frame.number", "ip.dsfield.ecn == 3 || ipv6.tclass.ecn == 3"),
        Term("frame.number", "tcp.flags.ece == 1"),
    ),
    "abort": connections(lambda each, _: each["close"] == "abort"),
    "reset": connections(lambda each, _: each["close"] == "reset" and each["outcome"] == "smc-r"),
    "tcp_reset": connections(
        lambda each, _: each["close"] == "reset" and each["outcome"] != "smc-r"
    ),
    "unread_close": connections(has_unread_data),
    "fallback": connections(lambda each, _: each["fallback"]),
    "no_option": connections(lambda each, _: each["outcome"] == "tcp" and not each["fallback"]),
    "handshake_failed": connections(lambda each, _: each["outcome"] == "failed"),
    "two_declines": connections(
        lambda each, _: each["fallback"] and each["fallback"]["crossed_frame"]
    ),
    "handshake_unfinished": connections(
        lambda each, _: each["outcome"] == "unknown" and each["began_before"] is False
    ),
    "late_start": connections(lambda each, _: each["began_before"] is not False),
    "silent_end": connections(is_silent),
    "failover": connections(lambda each, _: len(each["links"]) > 1),
    "slow_reader": Subjects(writers),
    "buffer_full": Subjects(writers),
    "slow_answer": connections(answers_slowly),
    "slow_setup": connections(set_up_slowly),
    "small_writes": Subjects(small_writers),
    "link_lost": Something(),
    "silence_at_once": Something(),
    "link_failed": Something(),
    "dead_peer": Something(),
    "no_answer": Something(),
    "not_heard": Something(),
    "retries_used_up": Something(),
}
# Of a queue pair that is not known; of the packets in one class of some flows
WITHOUT_FILTER = {"one_sided", "class_of_data", "class_of_acks", "class_of_cnps", "not_ect"}


def unit_of(finding):
    """Its unit; None: it has no filter."""
    kind, filter = finding["kind"], finding["filter"]
    if filter is None:
        assert kind in WITHOUT_FILTER, f"{kind} has no filter"
        return None
    if kind in UNITS:
        return UNITS[kind]
    assert (
        filter.removeprefix("smcr.").replace(".", "_") == kind
    ), f"nobody knows what {kind} counts"
    return Terms(filter)
