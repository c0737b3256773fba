#!/usr/bin/python3
"""
How much that is known of a whole capture is not known of an altered one.

    tests/facts/silence.py [--only KIND] [--each N] [--plugin FILE] [--list] [CAPTURE ...]

The counterpart of truths.py, with the same captures and altered captures: truths.py finds what is
said and false, silence.py counts what is not said. It compares the connections of two JSON reports.
A figure is a member of a connection that is a number, a text or a boolean. It is known if it is
neither null nor "unknown", and lost if the whole report knows it and the altered one does not.

A part of `time` and its upper bound are one figure; so are `setup_s`, a step of `setup`, and their
bounds in `setup`; `end.other_frame` and its bounds; and `end.written_after` and the bounds of a
late WRITE.
The whole report knows the figure where both bounds are equal. The altered one knows it if the
bounds differ by no more than the gaps of the connection last: each gap is the time from the packet
before a missing frame to the packet after it in the same flow, and a millisecond more. A flow is
what a host sends to a queue pair, or on a TCP connection: the capture shows only by the next packet
of the flow that one is missing. Bounds that exclude nothing
are blank, others are too wide. They are beyond if they differ by more than the gaps that all
packets on the links of the connection leave: what is not beyond may be lost, since nothing shows
whose the missing packets were.

Missing frames concern a connection if they are its own, or acknowledgements on its links, or LLC of
its link group, from its first frame to its last one. They do not concern all other connections,
which should lose nothing. Each altered connection counts as concerned or unconcerned. A connection
that the altered report does not have, with both addresses and ports, is gone: its figures are not
counted.
"""

import collections
import decimal
import ipaddress
import itertools
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import alterations  # noqa: E402
import pcapng  # noqa: E402
import report_runs  # noqa: E402
import truths  # noqa: E402
import wire  # noqa: E402

# Kinds in which frames are missing or truncated. In the others frames are out of order or doubled.
KINDS = (
    *("single", "pair", "5 %", "block", "start", "end", "one host", "part", "snap", "pause"),
    "thinned",
)
CAPTURES = [name for name in truths.CAPTURES if name not in truths.RULES_BROKEN]
CDC, WRITE, LLC, CLC, ACK, OTHER = TYPES = ("CDC", "WRITE", "LLC", "CLC", "ACK/NAK", "other")
SENDS = (wire.SEND_FIRST, wire.SEND_MIDDLE, wire.SEND_LAST, wire.SEND_ONLY)

MOST = {part: part.replace("_s", "_most_s") for part in truths.PARTS}  # names of upper bounds
NO_FIGURES = {*MOST, *MOST.values(), "unknown_s"}  # members of `time` that are no figure alone
STEPS = {f"setup.{step}s": step for step in truths.STEPS}  # {path: begin of its bounds}
BOUNDS_OF_SETUP = {f"setup.{bound}" for bound in truths.OF_SETUP}  # no figures alone
OTHER_END = ("end.other_frame", "end.other_time")  # have bounds, which are no figures alone
LATE_WRITE = ("end.written_after",)
BOUNDS_OF_END = {
    f"end.{member}_{bound}_{what}"
    for member in ("other", "late_write")
    for bound in ("after", "by")
    for what in ("frame", "time")
}
SLACK = 1000  # microseconds, for each gap
LEAST = decimal.Decimal("1e-9")  # seconds: smaller differences do not count
NULL, BLANK, WIDE = "null", "blank", "wide"  # how a figure is lost
DISTRIBUTION = (".count", ".sum", ".sum_of_squares", ".min", ".max", ".histogram")
TURNED = {
    "client": "server",
    "server": "client",
    "client_to_server": "server_to_client",
    "server_to_client": "client_to_server",
}
LISTED = 40  # names of lost figures

# A connection of a whole capture. figures: paths of figures without bounds that are known; parts:
# paths of parts of `time` that are known; frames: numbers of frames that concern it, in order;
# on_links: these, and all others on its links from its first frame to its last one
Connection = collections.namedtuple("Connection", "report figures parts frames on_links")
# A whole capture. connections: {ends in any order: Connection}; types: {frame: one of TYPES};
# needed: {frame: how many of its bytes say something}; times: {frame: microseconds}; flows: {frame:
# its flow, which is a queue pair, or a direction of TCP}
Whole = collections.namedtuple("Whole", "truth connections types needed times flows")
# A figure that is lost. is_beyond: the gaps on the links do not explain it
Loss = collections.namedtuple("Loss", "path how is_beyond text")
# What became of a connection. is_gone: the altered report does not have it
Outcome = collections.namedtuple("Outcome", "connection is_concerned is_gone losses")


# ---- figures ----


def leaves_of(report):
    """{path: value} of all members of a connection. Its longest waits have names, not numbers."""
    waits = {f"{wait['writer']} {wait['kind']}": wait for wait in report["longest_waits"]}
    return dict(report_runs.flat({**report, "longest_waits": waits}))


def figures_of(report):
    """Paths of all figures that are known, but for those that have bounds."""
    return {
        path
        for path, value in leaves_of(report).items()
        if value not in truths.NOT_KNOWN
        and path not in BOUNDS_OF_SETUP | BOUNDS_OF_END
        and not (".time." in path and path.rsplit(".", maxsplit=1)[-1] in NO_FIGURES)
    }


def bounds_of(report):
    """{path of a part of the time: (lower, upper bound)}"""
    return {
        f"{direction}.time.{part}": (truths.seconds(time[part]), truths.seconds(time[most]))
        for direction in truths.DIRECTIONS
        for time in [report[direction]["time"]]
        if time
        for part, most in MOST.items()
        if time[part] is not None and time[most] is not None
    }


def parts_of(report):
    """Paths of the parts of the time that are known exactly."""
    return {path for path, (least, most) in bounds_of(report).items() if most - least <= LEAST}


def says_nothing(report, path, width):
    """Whether bounds exclude nothing but the time of connecting."""
    connecting = truths.seconds(report[path.split(".", maxsplit=1)[0]]["time"]["connecting_s"])
    return width + connecting + LEAST >= truths.span_of(report)


def knows_setup(report, path, gaps):
    """Whether the figure is the time of the setup, or of a step, whose bounds exclude enough."""
    step = STEPS.get(path, "")
    least, most = (report["setup"][f"{step}{bound}"] for bound in ("least_s", "most_s"))
    is_setup = step or path == "setup_s" or path.endswith(".time.connecting_s")
    if not is_setup or None in (least, most):
        return False
    return truths.seconds(most) - truths.seconds(least) - LEAST <= gaps


def knows_end(report, path, gaps):
    """Whether the figure is the end of the other side, or a late WRITE of it, whose bounds exclude
    enough."""
    end, member = report["end"], "late_write" if path in LATE_WRITE else "other"
    bounds = [end and end[f"{member}_{bound}_time"] for bound in ("after", "by")]
    if path not in (*OTHER_END, *LATE_WRITE) or None in bounds:
        return False
    after, until = map(decimal.Decimal, bounds)
    return until - after - LEAST <= gaps


def losses_of(connection, report, gaps, link_gaps):
    """What the altered report does not know of the connection. gaps, link_gaps: how long those of
    the connection and those on its links last together, in seconds."""
    for path in sorted(connection.figures - figures_of(report)):
        if not knows_setup(report, path, gaps) and not knows_end(report, path, gaps):
            yield Loss(path, NULL, True, NULL)
    bounds = bounds_of(report)
    for path in sorted(connection.parts):
        if path not in bounds:
            yield Loss(path, NULL, True, NULL)
            continue
        least, most = bounds[path]
        width = most - least - LEAST
        if width > gaps:
            how = BLANK if says_nothing(report, path, most - least) else WIDE
            text = f"{how}: {least:f} to {most:f} s, gaps {gaps:f} s, on its links {link_gaps:f} s"
            yield Loss(path, how, width > link_gaps, text)


def turned(value):
    """The same report of a connection, with client and server exchanged."""
    if isinstance(value, list):
        return [turned(each) for each in value]
    if isinstance(value, dict):
        return {TURNED.get(name, name): turned(each) for name, each in value.items()}
    return TURNED.get(value, value) if isinstance(value, str) else value


def matched(report, connection):
    """The connection of an altered capture, with client and server as in the whole one."""
    same_order = truths.ends_of(report) == truths.ends_of(connection.report)
    return report if same_order else turned(report)


# ---- gaps ----


def neighbour_of(frame, frames, flows, step):
    """The frame next to a missing one, before it (step -1) or after it (step 1): the next one of
    its sender's flow, else the next one of any flow, else itself. frames: those that are there, in
    order."""
    found = [each for each in frames if (each - frame) * step > 0][::step]
    of_flow = [each for each in found if flows.get(each) == flows.get(frame)]
    return (of_flow or found or [frame])[0]


def gaps_of(frames, missing, capture):
    """How long the gaps last together that missing frames leave among these ones: seconds. The
    capture does not show when a missing frame was sent between the frames of its flow before it and
    after it. So the gap lasts from the one to the other. Time that is in two gaps counts once."""
    captured = [each for each in frames if each not in missing]
    gaps = sorted(
        {
            tuple(neighbour_of(frame, captured, capture.flows, step) for step in (-1, 1))
            for frame in frames
            if frame in missing
        }
    )
    slack = decimal.Decimal(len(gaps) * SLACK) / alterations.UNIT
    return slack + decimal.Decimal(truths.length(gaps, capture.times))


def compare(connections, report, missing, capture):
    """The outcome for each connection of a whole capture, where the altered one has this report."""
    found = truths.by_ends(report)
    for ends, connection in connections.items():
        is_concerned = not missing.isdisjoint(connection.frames)
        losses = ()
        if ends in found:
            gaps = [
                gaps_of(frames, missing, capture)
                for frames in (connection.frames, connection.on_links)
            ]
            losses = list(losses_of(connection, matched(found[ends], connection), *gaps))
        yield Outcome(connection, is_concerned, ends not in found, losses)


# ---- frames of the whole capture ----


def address_of(data):
    address = ipaddress.ip_address(data)
    return str(getattr(address, "ipv4_mapped", None) or address)


def queue_pairs(report, links):
    """{(address, number)} of both queue pairs of each link, as the links and their flows have
    them."""
    flows = [report["rdma_flows"][flow] for link in links for flow in link["flows"]]
    return {
        (link[end]["gid"], link[end]["qpn"]) for link in links for end in ("client", "server")
    }.union((flow["dst"], flow["dst_qpn"]) for flow in flows)


def types_of(truth):
    """{frame: its type}. Packets on queue pairs of no link are of another type."""
    links = [link for group in truth.report["link_groups"] for link in group["links"]]
    known = queue_pairs(truth.report, links)
    kinds = {each.frame: each.kind.upper() for each in wire.messages(truth.base.path)}
    types = {frame.number: OTHER for frame in truth.base.frames}
    types.update((frame, CLC) for frame, kind in kinds.items() if kind == CLC)
    for packet in truth.roce:
        if target_of(packet) not in known:
            continue
        if packet.opcode == wire.ACKNOWLEDGE:
            types[packet.frame] = ACK
        elif packet.opcode in wire.WRITE_HEADERS:
            types[packet.frame] = WRITE
        elif packet.opcode in SENDS:  # CDC is never longer than a packet
            types[packet.frame] = kinds.get(packet.frame, LLC)
    return types


def target_of(packet):
    """The queue pair that a packet is sent to: (address, number)."""
    return address_of(packet.ends[1]), packet.qpn


def flow_of(packet):
    """A queue pair that packets are sent to, or a direction of a TCP connection."""
    return target_of(packet) if isinstance(packet, wire.Packet) else packet.ends


def own_frames(truth, report):
    """Frames of the connection itself, on TCP and on RoCE."""
    stream, tcp_stream = str(report["stream"]), str(report["tcp_stream"])
    return {
        frame
        for frame, values in truth.frames.items()
        if stream in values.get("smcr.stream", ()) or tcp_stream in values.get(truths.STREAM, ())
    }


def frames_of(truth, types, report):
    """Frames that concern a connection; and these with all others on its links."""
    groups = [
        group for group in truth.report["link_groups"] if group["index"] == report["link_group"]
    ]
    links = [link for group in groups for link in group["links"]]
    numbers = {each["number"] for each in report["links"]} or {link["number"] for link in links}
    of_group = queue_pairs(truth.report, links)
    of_links = queue_pairs(truth.report, [link for link in links if link["number"] in numbers])
    lifetime = range(report["first_frame"] or 0, (report["last_frame"] or 0) + 1)
    packets = [packet for packet in truth.roce if packet.frame in lifetime]
    on_links = {packet.frame for packet in packets if target_of(packet) in of_links}
    llc = {
        packet.frame
        for packet in packets
        if types[packet.frame] == LLC and target_of(packet) in of_group
    }
    frames = own_frames(truth, report) | llc | {each for each in on_links if types[each] == ACK}
    return sorted(frames), sorted(frames | on_links)


def needed_of(truth):
    """{frame: how many of its bytes say something}: data and the ICRC say nothing."""
    needed = {frame.number: len(pcapng.data(frame)) for frame in truth.base.frames}
    data = wire.write_lengths(truth.base.path)
    for packet in wire.packets(truth.base.path):
        if isinstance(packet, wire.Packet):
            needed[packet.frame] -= wire.ICRC + data.get(packet.frame, 0)
        elif packet.payload[:4] not in (wire.SMC_R, wire.SMC_D):
            needed[packet.frame] -= len(packet.payload)
    return needed


def whole_of(truth):
    types = types_of(truth)
    connections = {
        ends: Connection(
            report, figures_of(report), parts_of(report), *frames_of(truth, types, report)
        )
        for ends, report in truths.by_ends(truth.report).items()
    }
    flows = {each.frame: flow_of(each) for each in wire.packets(truth.base.path)}
    return Whole(truth, connections, types, needed_of(truth), truth.times, flows)


def missing_of(whole, frames):
    """Numbers of frames that are missing, or truncated before the end of what they say."""
    kept = {
        frame.number for frame in frames if len(pcapng.data(frame)) >= whole.needed[frame.number]
    }
    return whole.types.keys() - kept


def outcomes(tshark, whole, case, scratch):
    """Numbers of missing frames, and the outcome for each connection. None where the altered
    capture is empty or no frame is missing."""
    frames, path = case.alter(whole.truth.base.frames), scratch / "altered.pcapng"
    missing = missing_of(whole, frames)
    if not frames or not missing:
        return None
    case.write(path, whole.truth.base.head, frames)
    path.chmod(0o644)
    report = report_runs.parse(report_runs.print_json(tshark, path))
    return missing, list(compare(whole.connections, report, missing, whole))


# ---- what is printed ----


def name_of(path):
    """The name of a figure, whatever its direction and place."""
    for direction in truths.DIRECTIONS:
        path = path.removeprefix(f"{direction}.")
    for end in DISTRIBUTION:
        path = path.removesuffix(end)
    if path.startswith("longest_waits."):
        return f"longest_waits ({path.split('.')[1].split(' ', maxsplit=1)[1]})"
    return path.split("[", maxsplit=1)[0]


class Tally:
    """What became of connections of a kind: concerned ones, or unconcerned ones."""

    def __init__(self):
        self.counts = collections.Counter()

    def add(self, outcome):
        self.counts["connections"] += 1
        if outcome.is_gone:
            self.counts["gone"] += 1
            return
        connection = outcome.connection
        self.counts["figures"] += len(connection.figures) + len(connection.parts)
        self.counts["lost"] += len(outcome.losses)
        of_time = [loss for loss in outcome.losses if loss.path in connection.parts]
        self.counts["timed"] += bool(connection.parts)
        self.counts["time"] += bool(of_time)
        self.counts["beyond"] += any(loss.is_beyond for loss in of_time)
        self.counts["no bound"] += any(loss.how != WIDE for loss in of_time)

    def share(self, part, every):
        if not self.counts[every]:
            return "-"
        return f"{100 * self.counts[part] / self.counts[every]:.1f} %"

    def cells(self):
        return (
            self.counts["connections"],
            self.counts["gone"],
            self.share("lost", "figures"),
            self.share("time", "timed"),
            self.share("beyond", "timed"),
            self.share("no bound", "timed"),
        )


# Where a figure is lost. frame_type: of the missing frame, where only one is missing, else None;
# missing: how many frames; text: capture, kind, label, connection
Place = collections.namedtuple("Place", "kind frame_type missing text")


class Row:
    """Losses of the figures with one name. Several figures of a connection may have it, as those of
    both directions; they count once."""

    def __init__(self):
        self.known, self.beyond = 0, 0  # connections that knew it, and those that lost it beyond
        self.hash = 0  # the same for the same losses
        self.kinds, self.types, self.hows = (collections.Counter() for _ in range(3))
        self.example = None  # ((number of the kind, missing frames), text)

    def add(self, place, losses):
        loss = losses[0]
        self.hash = hash((self.hash, place, loss.how))
        self.kinds[place.kind] += 1
        self.types[place.frame_type] += 1
        self.hows[loss.how] += 1
        self.beyond += any(each.is_beyond for each in losses)
        rank = KINDS.index(place.kind), place.missing
        if not self.example or rank < self.example[0]:
            self.example = rank, f"{place.text}, {loss.path}: {loss.text}"

    def text(self):
        lost, types = self.kinds.total(), counted(self.types, TYPES)
        kinds = [f"{kind} {self.kinds[kind]}" for kind in KINDS if self.kinds[kind]]
        if types:
            kinds[0] += f" ({types})"
        hows = counted(self.hows, (NULL, BLANK, WIDE))
        share = f"{100 * lost / self.known:.1f} %"
        if self.hows.keys() != {NULL}:
            hows += f", beyond {self.beyond}"
        return f"{lost} of {self.known} ({share}); {', '.join(kinds)}; {hows}"


class Results:
    def __init__(self):
        self.altered = collections.Counter()  # {kind, or kind and type: altered captures}
        self.tallies = collections.defaultdict(Tally)  # {(kind, is concerned): Tally}
        self.rows = collections.defaultdict(Row)  # {(is concerned, name): Row}

    def add(self, whole, kind, case, missing, found):
        """An altered capture: which frames are missing, and what became of each connection."""
        rows, label, frame_type = [kind, "all"], case.label, None
        if kind == "single":
            frame_type = whole.types[min(missing)]
            rows.append(f"single, {frame_type}")
            label += f" ({frame_type})"
        self.altered.update(rows)
        for outcome in found:
            for row in rows:
                self.tallies[row, outcome.is_concerned].add(outcome)
            client = outcome.connection.report["client"]
            text = f"{whole.truth.base.name}, {kind}, {label}, {client['addr']}:{client['port']}"
            if not outcome.is_gone:
                self.add_losses(outcome, Place(kind, frame_type, len(missing), text))

    def add_losses(self, outcome, place):
        connection, losses = outcome.connection, collections.defaultdict(list)
        for loss in outcome.losses:
            losses[name_of(loss.path)].append(loss)
        for name in {name_of(path) for path in connection.figures | connection.parts}:
            self.rows[outcome.is_concerned, name].known += 1
        for name, each in losses.items():
            self.rows[outcome.is_concerned, name].add(place, each)

    def table(self):
        singles = [f"single, {each}" for each in TYPES]
        parts = ("connections", "gone", "figures lost", "time lost", "beyond", "null or blank")
        columns = [f"{which}: {part}" for which in ("concerned", "unconcerned") for part in parts]
        yield "| " + " | ".join(("alteration", "altered captures", *columns)) + " |"
        yield "|---" * (len(columns) + 2) + "|"
        for kind in (KINDS[0], *singles, *KINDS[1:], "all"):
            if self.altered[kind]:
                cells = [*self.tallies[kind, True].cells(), *self.tallies[kind, False].cells()]
                yield "| " + " | ".join(map(str, (kind, self.altered[kind], *cells))) + " |"

    def list(self, is_concerned):
        """The figures that are lost most often. Figures that are always lost together have one
        entry."""
        found = collections.defaultdict(list)
        for (concerned, name), row in sorted(self.rows.items(), key=lambda each: each[0]):
            if concerned == is_concerned and row.kinds:
                found[row.kinds.total(), row.known, row.hash].append((name, row))
        entries = sorted(found.values(), key=lambda each: (-each[0][1].kinds.total(), each[0][0]))
        for number, entry in enumerate(entries[:LISTED], 1):
            row = entry[0][1]
            yield f"{number:2} {', '.join(name for name, _ in entry)}: {row.text()}"
            yield f"       {row.example[1]}"


def counted(counter, order):
    return ", ".join(f"{each} {counter[each]}" for each in order if counter[each])


def main():
    arguments = truths.parser_of(__doc__, KINDS, "the figures that are lost").parse_args()
    results = Results()
    with truths.bed_of(arguments) as (tshark, scratch):
        for capture in arguments.captures or CAPTURES:
            whole = whole_of(truths.truth_of(tshark, capture))
            if not whole.connections:
                continue
            for kind in arguments.only or KINDS:
                for case in truths.cases_of(whole.truth, kind, arguments.each):
                    found = outcomes(tshark, whole, case, scratch)
                    if found:
                        results.add(whole, kind, case, *found)
    print("\n".join(results.table()))
    for is_concerned in (False, True) if arguments.list else ():
        print(f"\nLost of {'concerned' if is_concerned else 'unconcerned'} connections:\n")
        print("\n".join(results.list(is_concerned)))


if __name__ == "__main__":
    main()
