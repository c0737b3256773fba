"""
The summary of a report, added up from its lists by the definitions alone: counts, sums and
distributions, not what stands for a place or a name.
"""

import histograms
from report_runs import is_distribution

LISTS = (
    "connections",
    "link_groups",
    "fallbacks",
    "breaches",
    "findings",
    "rdma_flows",
    "udp_ports",
    "adapters",
    "pauses",
    "points",
    "tcp_flows",
)
COUNTED = ("fallbacks", "breaches", "findings")  # their entries count themselves
NO_COUNTS = {
    "index",
    "peer",
    "stream",
    "tcp_stream",
    "tcp_isn",
    "port",
    "src_port",
    "dst_port",
    "qpn",
    "src_qpn",
    "dst_qpn",
    "link_group",
    "code",
    "number",
    "vlan",
    "reject_reason",
    "mtu_bytes",
    "size_bytes",
    "buffer_bytes",
    "frame",
    "delete_reason",
    "derived",
    "acked_longest",
    "longest",
    "priority",
    "ack_timeout",
    "has_flow",
    "stuck",
    "handshake_end",
}
SAMPLES = ("setup_s",)  # one sample of a distribution in each entry


def is_no_count(name, value):
    """`time` of a frame is a text, that of a direction has parts."""
    return name in NO_COUNTS or name.endswith(("_frame", "_time")) or isinstance(value, str)


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def none_or(combine, values):
    known = [value for value in values if value is not None]
    return combine(known) if known else None


def distribution_of(samples):
    known = [sample for sample in samples if sample is not None]
    return {
        "count": len(known),
        "sum": sum(known),
        "sum_of_squares": sum(sample * sample for sample in known),
        "min": none_or(min, known),
        "max": none_or(max, known),
        "histogram": histograms.of(known),
    }


def add_distributions(every):
    total = {
        name: none_or({"min": min, "max": max}.get(name, sum), [each[name] for each in every])
        for name in ("count", "sum", "sum_of_squares", "min", "max")
    }
    has_histogram = "histogram" in every[0]
    return total | ({"histogram": histograms.of_all(every)} if has_histogram else {})


def add(every):
    """The sum of objects that are alike. Members that no entry knows are None."""
    names = dict.fromkeys(
        name for each in every for name, value in each.items() if not is_no_count(name, value)
    )
    total = {}
    for name in names:
        values = [each[name] for each in every if name in each]
        known = [value for value in values if value is not None]
        if name == "longest_silence":  # sums have only the time of the other silences
            total[name] = {"others_s": sum(each["others_s"] for each in known)} if known else None
        elif name in SAMPLES:
            total[name] = distribution_of(values)
        elif all(map(is_distribution, known)) and known:
            total[name] = add_distributions(known)
        elif known and all(isinstance(value, dict) for value in known):
            inner = add(known)
            total.update({name: inner} if inner else {})
        elif all(map(is_number, known)):
            total[name] = sum(known) if known else None
    return total


def summary(report):
    """The summary that a report should have, but for the ICRCs of packets that are in no flow."""
    total = {}
    for name in LISTS:
        entries = report[name]
        count = sum(each["count"] for each in entries) if name in COUNTED else len(entries)
        total[name] = {**add(entries), "count": count}
    return total
