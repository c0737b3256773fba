"""
The tables of a report, read from tshark and from sharkd; and what each cell must be, from the JSON
report and from what docs/statistics.md says of the columns.
"""

import decimal
import re

import histograms

NOT_KNOWN = "-"
TYPES = {
    "none": "NONE",
    "single": "SINGLE",
    "symmetric": "SYM",
    "asymmetric-peer": "ASYMP",
    "asymmetric-local": "ASYML",
}
STATES = {
    "active": "LINK_ACTIVE",
    "unconfirmed": "LINK_ACTIVATING",
    "rejected": "rejected",
    "deleted": "deleted",
    "lost": "lost",
}
TITLES = {
    "connections": "SMC-R Connections",
    "directions": "SMC-R Directions",
    "links": "SMC-R Links",
    "rmbs": "SMC-R RMBs",
    "fallbacks": "SMC-R Fallbacks",
    "fabric": "SMC-R Fabric",
    "times": "SMC-R Times",
    "points": "SMC-R Capture Points",
    "breaches": "SMC-R Breaches",
}


# ---- what is printed ----


def printed(text):
    """Tables that tshark prints: {name: [{column: cell}]}."""
    names = {title: name for name, title in TITLES.items()}
    found = {}
    for block in re.split(r"^=+\n", text, flags=re.MULTILINE):
        lines = block.splitlines()
        if len(lines) < 4 or lines[0].rstrip(":") not in names:
            continue
        heads = [cell.strip() for cell in lines[2].split("|")][:-1]
        assert lines[3] == lines[0].rstrip(":")
        rows = [re.split(r" \|", line)[:-1] for line in lines[4:]]
        assert all(len(row) == len(heads) for row in rows), "a row is not as long as the heads"
        found[names[lines[3]]] = [
            dict(zip(heads, (cell.strip() for cell in row), strict=True)) for row in rows
        ]
    return found


def of_sharkd(tap):
    """The same of one tap of sharkd's answer."""
    heads = [each["c"] for each in tap["fields"]]
    (table,) = tap["tables"]
    return [dict(zip(heads, (cell.strip() for cell in row), strict=True)) for row in table["i"]]


# ---- what it must be ----


def text(value):
    return NOT_KNOWN if value is None else str(value)


def seconds(value):
    """Microseconds of a number of seconds; half a microsecond more or less is no matter."""
    return NOT_KNOWN if value is None else f"{value:.6f}"


def bounded(least, most, write):
    """A cell whose value lies between bounds; None: there is no upper one."""
    if not least and most is None:
        return NOT_KNOWN
    return f"{write(least)} or more" if most is None else f"{write(least)} to {write(most)}"


def hexadecimal(value, digits):
    return NOT_KNOWN if value is None else f"0x{value:0{digits}x}"


def end(value):
    if value["addr"] is None:
        return "?"
    address = f"[{value['addr']}]" if ":" in value["addr"] else value["addr"]
    return f"{address}:{value['port']}"


def mode(conn):
    if conn["outcome"] in ("smc-r", "smc-d"):
        return {"smc-r": "SMCR", "smc-d": "SMCD"}[conn["outcome"]]
    if conn["outcome"] == "unknown":
        return NOT_KNOWN
    code = conn["fallback"]["code"] if conn["fallback"] else None
    return "TCP" if code is None else f"TCP 0x{code:08x}"


def lasting(conn):
    first, last = (
        None if each is None else decimal.Decimal(each)
        for each in (conn["first_time"], conn["last_time"])
    )
    return seconds(None if first is None or last < first else last - first)


def setup_of(conn):
    setup = conn["setup"]
    if conn["fallback"]:
        return seconds(setup["fallback_s"])
    if conn["setup_s"] is not None or setup["least_s"] is setup["most_s"] is None:
        return seconds(conn["setup_s"])
    return bounded(setup["least_s"] or 0, setup["most_s"], seconds)


def part_of(conn, time, name):
    """A part of the time of a direction, or its bounds: notable ones, and those that exclude
    something."""
    if time is None:
        return NOT_KNOWN
    if name == "connecting_s" and time[name] is None and not conn["fallback"]:
        return setup_of(conn)
    most = time.get(name.replace("_s", "_most_s"))
    width = 0 if most is None else round(most - time[name], 9)
    if width < 0.001 or width <= time[name] / 100:
        return seconds(time[name])
    whole = decimal.Decimal(lasting(conn))
    says_nothing = not time[name] and width >= whole
    return bounded(time[name], None if says_nothing else most, seconds)


def bytes_of(way):
    if way["bytes"] is None or not way["lacks_bytes"]:
        return text(way["bytes"])
    return bounded(way["bytes"], None, text)


def connections(report):
    for conn in report["connections"]:
        yield {
            "Stream": text(conn["stream"]),
            "Client Address": conn.get("ends") or end(conn["client"]),
            "Server Address": end(conn["server"]),
            "Mode": mode(conn),
            "Version": text(conn["version"]),
            "LG-ID": text(conn["link_group"]),
            "Linkid": ",".join(
                "?" if link["number"] is None else str(link["number"]) for link in conn["links"]
            )
            or NOT_KNOWN,
            "Setup (s)": setup_of(conn),
            "Time (s)": lasting(conn),
            "Bytes →": text(conn["client_to_server"]["bytes"]),
            "Bytes ←": text(conn["server_to_client"]["bytes"]),
            "Close": text(conn["close"]),
        }


PARTS = {
    "Setup": "connecting_s",
    **{
        part: f"{part.lower().replace(' ', '_')}_s"
        for part in (
            "Nothing to write",
            "Answer",
            "Buffer full",
            "Retransmission",
            "Transfer",
            "Unknown",
        )
    },
}


def direction(conn, writer, reader):
    """The name of a direction of a connection."""
    ends = [conn[each] for each in (writer, reader)]
    if any(each["addr"] for each in ends):
        likely = conn["roce_stream"] is not None and conn["roce_stream"] != conn["stream"]
        return ("probably " if likely else "") + " → ".join(map(end, ends))
    if conn["ends"] is None:
        return f"connection {conn['stream']} to the {reader}"
    if conn["tcp_stream"] is not None:
        return conn["ends"]
    return f"connection {conn['stream']} to {conn['ends'].split(' ↔ ')[reader == 'server']}"


def ways(conn):
    """(writer, reader) of the rows of a connection: without roles both had the same name."""
    yield "client", "server"
    if conn["ends"] is None or conn["tcp_stream"] is None:
        yield "server", "client"


def directions(report):
    for conn in report["connections"]:
        for writer, reader in ways(conn):
            way = conn[f"{writer}_to_{reader}"]
            ack, read = way["ack_time_s"], way["read_reported_s"]
            yield {
                "Stream": text(conn["stream"]),
                "Writer → reader": direction(conn, writer, reader),
                "Time (s)": lasting(conn),
                "Bytes": bytes_of(way),
                "WRITEs": text(way["writes"]),
                "CDC": text(way["cdc"]),
                "Retransmitted": text(way["repeated_packets"]),
                "Buffer": text(conn["buffer_bytes"][reader]),
                "Blocked": text(way["blocked_count"]),
                "Window full": text(way["window_full_count"]),
                **{
                    f"{part} (s)": part_of(conn, way["time"], name)
                    for part, name in PARTS.items()
                },
                "ACK mean (s)": mean(ack),
                "ACK p99 (s)": most_of(ack),
                "ACK max (s)": longest(ack),
                "Sent to reported read mean (s)": mean(read),
                "Sent to reported read p99 (s)": most_of(read),
                "Sent to reported read max (s)": longest(read),
                "Unreported": text(way["unreported_bytes"]),
                "Urgent": text(way["urgent_count"]),
            }


def state(link):
    if link["state"] == "lost" and "active" not in [each["state"] for each in link["states"]]:
        return "never came up"
    return STATES.get(link["state"], NOT_KNOWN)


def links(report):
    nothing = dict.fromkeys(
        (
            "number",
            "state",
            "mtu_bytes",
            "added_frame",
            "deleted_frame",
            "delete_reason",
            "moved_from",
            "moved_to",
        )
    )
    nothing |= {side: {"gid": None, "qpn": None} for side in ("client", "server")}
    for group in report["link_groups"]:
        conns = sum(conn["link_group"] == group["index"] for conn in report["connections"])
        for link in group["links"] or [nothing]:
            row = {
                "LG-ID": text(group["index"]),
                "Version": text(group["version"]),
                "LG-Type": TYPES.get(group["type"], NOT_KNOWN),
                "VLAN": text(group["vlan"]),
                "EID": text(group["eid"]),
                "#Conns": text(conns),
                "Linkid": text(link["number"]),
                "Link-State": state(link)
                + (
                    f" at frame {link['state_frame']}, later unknown" if link["state_frame"] else ""
                ),
            }
            for name, cell in (
                ("GID", lambda end: text(end["gid"])),
                ("QP", lambda end: hexadecimal(end["qpn"], 6)),
            ):
                cells = [cell(link["client"]), cell(link["server"])]
                if group["ends"] is not None:  # nobody knows which one is the client
                    both = " ↔ ".join("?" if each == NOT_KNOWN else each for each in cells)
                    cells = [both, NOT_KNOWN]
                row |= {f"Client-{name}": cells[0], f"Server-{name}": cells[1]}
            yield row | {
                "MTU": text(link["mtu_bytes"]),
                "Added in": text(link["added_frame"]),
                "Deleted in": text(link["deleted_frame"]),
                "Reason": text(link["delete_reason"]),
                "Moved from": text(link["moved_from"]),
                "Moved to": text(link["moved_to"]),
            }


def rmbs(report):
    for group in report["link_groups"]:
        for rmb in group["rmbs"]:
            rkeys = [
                f"{each['link']}:{each['rkey']}" if each["link"] is not None else each["rkey"]
                for each in rmb["rkeys"]
            ]
            yield {
                "LG-ID": text(group["index"]),
                "Owner": text(rmb["owner"]),
                "Size": text(rmb["size_bytes"]),
                "VA": text(rmb["va"]),
                "RKeys": " ".join(rkeys) or NOT_KNOWN,
                "Confirmed in": text(rmb["confirmed_frame"]),
                "Deleted in": text(rmb["deleted_frame"]),
                "#Conns": text(len(rmb["streams"])),
                "Streams": ",".join(map(str, rmb["streams"])) or NOT_KNOWN,
            }


def fallbacks(report):
    for each in report["fallbacks"]:
        yield {
            "Code": hexadecimal(each["code"], 8),
            "By": text(each["by"]),
            "Count": text(each["count"]),
            "Reason": text(each["reason"]),
        }


def mean(times):
    return seconds(times["sum"] / times["count"] if times["count"] else None)


def most_of(times):
    return seconds(times["histogram"]["p99"] if times["count"] else None)


def longest(times):
    return seconds(times["max"] if times["count"] else None)


def classes(flow, field):
    """All values of a header field, in the order of data, acknowledgements and CNPs."""
    values = [value for kind in flow["classes"].values() if kind for value in kind[field]]
    return ", ".join(dict.fromkeys(values)) or NOT_KNOWN


def missing_of(flow):
    """Without what came out of order."""
    late = flow["recovery"]["reordered"] if flow["recovery"] else 0
    return max(0, flow["missing"] - late)


def fabric(report):
    owners = {
        flow: (group["index"], link["number"])
        for group in report["link_groups"]
        for link in group["links"]
        for flow in link["flows"]
    }
    for flow in report["rdma_flows"]:
        group, link = owners.get(flow["index"], (None, None))
        ack, complete = flow["ack_time_s"], flow["completion_time_s"]
        yield {
            "Flow": text(flow["index"]),
            "LG-ID": text(group),
            "Linkid": text(link),
            "Kind": text(flow["kind"]),
            "Source": text(flow["src"]),
            "Source QP": hexadecimal(flow["src_qpn"], 6),
            "Destination": text(flow["dst"]),
            "Destination QP": hexadecimal(flow["dst_qpn"], 6),
            "Packets": text(flow["packets"]),
            "Bytes": text(flow["bytes"]),
            "Payload": text(flow["payload_bytes"]),
            "Goodput": text(flow["goodput_bytes"]),
            "Retransmitted": text(flow["repeated"]),
            "Duplicates": text(flow["copies"]),
            "Gaps": text(flow["gaps"]),
            "Missing": text(missing_of(flow)),
            "NAKs": text(sum(flow["nak"].values())),
            "RNR NAKs": text(flow["rnr_nak"]),
            "CE": text(flow["ecn"]["ce"]),
            "Outer CE": text(flow["outer_ce"]),
            "CNPs": text(flow["cnp"] - flow["cnp_copies"]),
            "DSCP": classes(flow, "by_dscp"),
            "Priority": classes(flow, "by_priority"),
            "Ports": text(len(flow["udp_ports"])),
            "ACK mean (s)": mean(ack),
            "ACK p99 (s)": most_of(ack),
            "ACK max (s)": longest(ack),
            "Latency mean (s)": mean(complete),
            "Latency p99 (s)": most_of(complete),
            "Latency max (s)": longest(complete),
            "Wrong ICRC": text(flow["icrc"]["bad"] if flow["icrc"] else None),
        }


TIMES = {  # text: (list, its member or members in an entry)
    "RDMA request to ACK": ("rdma_flows", "ack_time_s"),
    "RDMA message latency": ("rdma_flows", "completion_time_s"),
    "CE to CNP": ("rdma_flows", "ce_to_cnp_s"),
    "gap to NAK": ("rdma_flows", "gap_to_nak_s"),
    "NAK to retransmission": ("rdma_flows", "nak_to_resend_s"),
    "retransmit timeout": ("rdma_flows", "timeout_s"),
    "out-of-order delay": ("rdma_flows", "late_s"),
    "client think time": ("server_to_client", "answer_time_s"),
    "server response time": ("client_to_server", "answer_time_s"),
    "program response time": (None, "answer_time_s"),
    "full to window update": ("connections", "reader_time_s"),
    "sent to reported read": ("connections", "read_reported_s"),
    "SMC-R setup": ("connections", "setup_s"),
}


def answers(report, name):
    """The answers to the writer of a direction; without a name, those of connections of which it is
    not known which end is the client."""
    return [
        conn[way]["answer_time_s"]
        for conn in report["connections"]
        for way in ("client_to_server", "server_to_client")
        if name == (None if conn.get("ends") else way)
    ]


def all_of(report, entries, member):
    """The distributions of a kind of time, from the summary; of answers, from the connections."""
    if member == "answer_time_s":
        return answers(report, entries)
    total = report["summary"][entries]
    if member in total:
        return [total[member]]
    within = ("recovery",) if entries == "rdma_flows" else ("client_to_server", "server_to_client")
    return [total[each][member] for each in within if total[each]]


def times(report):
    for name, place in TIMES.items():
        each = (
            [every for every in all_of(report, *place) if every["count"]]
            if report.get(place[0], True)
            else []
        )
        if not each:
            continue
        both = {key: sum(every[key] for every in each) for key in ("count", "sum")}
        both |= {"min": min(every["min"] for every in each)}
        both |= {"max": max(every["max"] for every in each)}
        histogram = histograms.of_all(each)
        yield {
            "Time": name,
            "Samples": text(both["count"]),
            "Min (s)": seconds(both["min"]),
            "Mean (s)": mean(both),
            "Median (s)": seconds(histogram["median"]),
            "p95 (s)": seconds(histogram["p95"]),
            "p99 (s)": seconds(histogram["p99"]),
            "p99.9 (s)": seconds(histogram["p999"]),
            "Max (s)": longest(both),
        }


def points(report):
    for way in report["points"]:
        yield {
            "From": text(way["from"]),
            "To": text(way["to"]),
            "Source": text(way["src"]),
            "Destination": text(way["dst"]),
            "Of": "TCP" if way["transport"] == "tcp" else "RoCE",
            "Packets": text(way["packets"]),
            "At both": text(way["at_both"]),
            "Lost between": text(way["lost"]),
            "Lost after": text(way["lost_after"]),
            "Unanswered": text(way["unanswered"]),
            "Not captured": text(way["not_captured_from"] + way["not_captured_to"]),
            "Undecided": text(way["undecided"]),
            "Out of order": text(way["reordered"]),
            "Marked CE": text(way["marked_ce"]),
            "DSCP changed": text(way["dscp_changed"]),
            "Delayed": text(way["delayed"]),
            "Fragmented": text(way["fragmented"]),
        }


def breaches(report):
    for each in report["breaches"]:
        yield {
            "Filter": f"smcr.{each['kind']}",
            "By": text(each["by"]),
            "Count": text(each["count"]),
            "First frame": text(each["frame"]),
        }


TABLES = {name: globals()[name] for name in TITLES}


def expected(report):
    return {name: list(rows(report)) for name, rows in TABLES.items()}


def same_cell(found, wanted):
    """Equal, or seconds that rounding leaves a microsecond apart."""
    if found == wanted:
        return True
    parts = [re.split(" (to|or more)", each) for each in (found, wanted)]
    if len(parts[0]) == len(parts[1]) > 1:
        return all(same_cell(*map(str.strip, pair)) for pair in zip(*parts, strict=True))
    if not all(re.fullmatch(r"\d+\.\d{6}", each) for each in (found, wanted)):
        return False
    return abs(round(float(found) * 1e6) - round(float(wanted) * 1e6)) <= 1


def differences(found, wanted):
    """Lines that tell of each cell that differs."""
    for name, rows in wanted.items():
        if len(found[name]) != len(rows):
            yield f"{name}: {len(found[name])} rows, not {len(rows)}"
            continue
        for number, (one, other) in enumerate(zip(found[name], rows, strict=True)):
            if set(one) != set(other):
                yield f"{name}: columns {sorted({*one} ^ {*other})}"
            for column in other:
                if not same_cell(one.get(column, "(none)"), other[column]):
                    yield (
                        f"{name}, row {number}, {column}: {one.get(column)!r}, not "
                        f"{other[column]!r}"
                    )
