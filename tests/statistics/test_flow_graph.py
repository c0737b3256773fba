"""
The flow graph: every sentence is held against the bytes of its frame, read without the plugin and
without Wireshark, and what the bytes have is in the graph. No end is 65535 or 4294967295, here and
in Wireshark's own graph.
"""

import collections
import functools
import json
import re

import pytest
import report_frames
import sharkd
import wire
from report_runs import ALL, CALM, MALFORMED, PATHS, REAL, TWO, copy_of, report
from sharkd_tables import ask_all, conversations, request, taps

CLC = {1: "proposes SMC", 2: "accepts", 3: "confirms", 4: "declines"}
LLC = {
    1: "CONFIRM LINK",
    2: "ADD LINK",
    3: "ADD LINK CONTINUATION",
    4: "DELETE LINK",
    5: "REQUEST ADD LINK",
    6: "CONFIRM RKEY",
    7: "TEST LINK",
    8: "CONFIRM RKEY CONTINUATION",
    9: "DELETE RKEY",
}
ANSWERS = re.compile(r"confirms|rejects|accepts|refuses|answers|responds|does not know")
DONE, CLOSED, ABORT = (
    0x80,
    0x40,
    0x20,
)  # bits of byte 25 of a CDC message: sending done, closed, abnormal close
WRITES = range(6, 12)
FORBIDDEN = re.compile(r"\((65535|4294967295|-\d+)\)")

Arrow = collections.namedtuple("Arrow", "time subject sentence ports nodes")


@functools.cache
def arrows(tshark, name):
    """The graph of a capture as sharkd has it. The client is host A."""
    graph = taps(tshark, copy_of(tshark, name), "seqa:smcr")[0]
    return [
        Arrow(
            each["t"],
            1 if each["c"].startswith("The server") else 0,
            each["c"],
            each["pn"],
            tuple(graph["nodes"][node] for node in each["n"]),
        )
        for each in graph["flows"]
    ]


class Bytes:
    """What the frames of a capture have."""

    def __init__(self, path):
        every = report_frames.frames(path)
        first = every[0].time
        self.frames, self.sender = (
            collections.defaultdict(list),
            {},
        )  # {time as text: frames}, {frame: host A or B}
        for number, each in enumerate(every, 1):
            self.frames[f"{(each.time - first) // 1000 / 10**6:.6f}"].append(number)
            self.sender[number] = {"52:54:00:aa": 0, "52:54:00:bb": 1}.get(each.data[6:10].hex(":"))
        self.clc = collections.defaultdict(list)
        for message in wire.clc_messages(path):
            self.clc[message.frame].append(message.data[4])
        self.messages = {message.frame: message for message in wire.roce_messages(path)}
        self.packets = {packet.frame: packet for packet in wire.roce(path)}
        self.syns = {
            segment.frame
            for segment in wire.packets(path)
            if isinstance(segment, wire.Segment) and segment.syn
        }
        self.naks = {
            packet.frame
            for packet in self.packets.values()
            if packet.opcode == wire.ACKNOWLEDGE and packet.payload[0] & 0x60 in (0x20, 0x60)
        }

    def at(self, arrow):
        """Frames at the time of an arrow, from its sender."""
        return [frame for frame in self.frames[arrow.time] if self.sender[frame] == arrow.subject]


@functools.cache
def bytes_of(name):
    return Bytes(PATHS[name])


def is_write(found, frame):
    return frame in found.packets and found.packets[frame].opcode in WRITES


def cdc(found, frame):
    message = found.messages.get(frame)
    return message.data if message and message.kind == "cdc" else None


def llc(found, frame):
    message = found.messages.get(frame)
    return message.data if message and message.kind == "llc" else None


def psn(found, frame):
    packet = found.packets.get(int(frame))
    return packet and (packet.ends, packet.qpn, packet.psn)


def is_true_of(found, frame, sentence):
    """Whether the bytes of a frame say what an arrow says; None: bytes alone do not tell."""
    if "the option" in sentence:
        return frame in found.syns
    for kind, words in CLC.items():
        if re.search(rf"^The \w+ {words}[ ,].*\((Proposal|Accept|Confirm|Decline)", sentence):
            return kind in found.clc[frame]
    if match := re.search(r"\(([A-Z ]+)( v2)?\)$", sentence):
        if match[1] in LLC.values():
            data = llc(found, frame)
            kind = {text: each for each, text in LLC.items()}[match[1]]
            number = re.search(r" link (\d+)", sentence)
            return (
                data is not None
                and data[0] == kind | (0x20 if match[2] else 0)
                and bool(data[3] & 0x80) == bool(ANSWERS.search(sentence))
                and (not number or match[1] == "DELETE LINK" or int(number[1]) in data)
            )
    if match := re.match(r"The \w+ sends (its|data|[\d,]+ bytes)", sentence):
        return is_write(found, frame) or "over TCP" in sentence
    if re.search(r"write no more|closes the|aborts", sentence):
        bit = DONE if "no more" in sentence else CLOSED if "closes" in sentence else ABORT
        return bool(cdc(found, frame) is not None and cdc(found, frame)[25] & bit)
    if match := re.search(r"(waits for|refuses|receive buffer for) (frame|PSN) (\d+)", sentence):
        packet = found.packets.get(frame)
        named = psn(found, match[3])[2] if match[2] == "frame" else int(match[3])
        return frame in found.naks and packet.psn == named
    if match := re.search(r"(from the packet of|the packet of) frame (\d+)", sentence):
        return psn(found, frame) == psn(found, match[2]) and int(match[2]) < frame
    if re.search(
        r"filled the window|cannot write|reports data as read|moves the connection", sentence
    ):
        return cdc(found, frame) is not None
    if "it was blocked" in sentence:
        return cdc(found, frame) is not None or is_write(found, frame)
    return None


@pytest.mark.parametrize("name", REAL)
def test_every_sentence_is_true(tshark, name):
    found = bytes_of(name)
    untold = 0
    for arrow in arrows(tshark, name):
        told = [is_true_of(found, frame, arrow.sentence) for frame in found.at(arrow)]
        if arrow.sentence.startswith("The connection falls back"):
            fallbacks = [
                each["fallback"]
                for each in report(tshark, name, TWO)["connections"]
                if each["fallback"]
            ]
            assert arrow.sentence.removeprefix("The connection falls back to TCP: ") in [
                each["reason"] for each in fallbacks
            ]
        elif told == [None] * len(told):
            untold += 1
        else:
            assert True in told, arrow
    assert untold <= len(arrows(tshark, name)) / 5


def firsts(frames, key):
    """Of frames with the same key the first one."""
    found = {}
    for frame in frames:
        found.setdefault(key(frame), frame)
    return set(found.values())


@pytest.mark.parametrize("name", REAL)
def test_what_the_bytes_have_is_there(tshark, name):
    """Options, CLC, LLC, NAKs and the ends of the streams: as many arrows as there are messages
    that are no repeats."""
    found, graph = bytes_of(name), arrows(tshark, name)
    count = collections.Counter()
    for arrow in graph:
        for kind, words in CLC.items():
            count[kind] += bool(
                re.search(rf"{words}[ ,].*\((Proposal|Accept|Confirm)", arrow.sentence)
            ) or (kind == 4 and bool(re.search("declined|declines", arrow.sentence)))
        count["llc"] += bool(
            re.search(
                r"\(([A-Z]+ )+?(LINK|RKEY|CONTINUATION)?( v2)?\)$|\([A-Z ]+( v2)?\)$",
                arrow.sentence,
            )
            and not re.search(r"\((RNR )?NAK\)$", arrow.sentence)
        )
        count["nak"] += bool(re.search(r"\((RNR )?NAK\)$", arrow.sentence))
    for kind in CLC:
        assert count[kind] == sum(kinds.count(kind) for kinds in found.clc.values()), kind
    messages = [frame for frame in found.messages if llc(found, frame) is not None]
    assert count["llc"] == len(firsts(messages, lambda frame: psn(found, frame)))
    copies = tshark.frames(name, "smcr.nak && smcr.duplicate", two_pass=True) if found.naks else []
    assert count["nak"] == len(found.naks) - len(copies)


@pytest.mark.parametrize("name", [*REAL, *(name for name in PATHS if name.endswith("-smc"))])
def test_numbers_are_those_of_conversations_and_report(tshark, name):
    """Bytes of each direction, full windows, closes; as sharkd's conversation table and the JSON
    have them."""
    rows = conversations(tshark, copy_of(tshark, name))
    entries = report(tshark, name, TWO)["connections"]
    totals = collections.Counter()
    for arrow in arrows(tshark, name):
        if match := re.search(
            r"(?:data(?: over TCP)?|here): ([\d,]+) bytes?$| ([\d,]+) (?:so far|in all)",
            arrow.sentence,
        ):
            key = arrow.nodes[0], arrow.ports[0], arrow.ports[1]
            totals[key] = max(totals[key], int((match[1] or match[2]).replace(",", "")))
    assert sum(totals.values()) == sum(row["txb"] + row["rxb"] for row in rows.values())
    told = collections.Counter(
        arrow.subject for arrow in arrows(tshark, name) if "filled the window" in arrow.sentence
    )
    for side, way in enumerate(("client_to_server", "server_to_client")):
        assert told[side] == sum(each[way]["window_full_count"] or 0 for each in entries)
    closes = collections.Counter(each["close"] for each in entries)
    aborts = {
        arrow.ports[0] + arrow.ports[1]
        for arrow in arrows(tshark, name)
        if "aborts" in arrow.sentence
    }
    assert len(aborts) == closes["abort"]


# Wireshark's own graph, with more than 40 hosts, and with an arrow from the last host to itself.
COMPLAINTS = re.compile(r"^.*\[GLib CRITICAL\] -- g_string_erase: assertion .*\n|^\n", re.MULTILINE)


def graph_of(tshark, path, *arguments):
    result = tshark.start("-n", *CALM, *arguments, "-r", path, "-q")
    assert result.returncode == 0 and not COMPLAINTS.sub("", result.stderr), result.stderr[-500:]
    return result.stdout


@pytest.mark.parametrize("name", PATHS)
def test_ends_are_ports_or_queue_pairs(tshark, name):
    """In all captures, in both kinds of graph and with both kinds of addresses, in one pass and
    two."""
    graphs = [
        part
        for kind in ("standard", "network")
        for graph in ("smcr", "any")
        for part in ("-z", f"flow,{graph},{kind}")
    ]
    for passes in ((), ("-2",)):
        text = graph_of(tshark, copy_of(tshark, name), *passes, *ALL, *graphs)
        assert not FORBIDDEN.search(text)
    if name in REAL:
        assert not FORBIDDEN.search(
            graph_of(tshark, copy_of(tshark, name), "-z", "flow,any,standard")
        )


def test_hosts_are_columns_once(tshark):
    """The RoCE addresses of a host make no column of their own where the connection is known."""
    for name in REAL:
        nodes = {node for arrow in arrows(tshark, name) for node in arrow.nodes}
        assert len(nodes) <= (4 if "late" in name and "starts" in name else 2), name


def test_source_port_is_the_queue_pair(tshark):
    """In Wireshark's own graph, as in smcr.src_qpn, which fits its 16 bits here."""
    for name in (
        "6.1-v1-c2-capture-starts-late",
        "6.1-v2-a-first-contact-ipv4",
        "6.1-v1-h1-two-links-second-fails",
    ):
        rows = tshark.fields(name, "infiniband.bth.opcode", "smcr.src_qpn", two_pass=True)
        flows = taps(tshark, copy_of(tshark, name), "seqa:any")[0]["flows"]
        assert len(flows) == len(rows)
        told = [
            (flow["pn"][0], int(row[1][0], 16) if row[1] else 0)
            for flow, row in zip(flows, rows)
            if row[0]
        ]
        assert len(told) > 40 and all(port == source for port, source in told)


def test_filter_limits_the_graph(tshark):
    """One connection of three, with the messages of its link group."""
    name = "6.1-v1-h1-two-links-second-fails"
    path = copy_of(tshark, name)
    whole = graph_of(tshark, path, "-2", "-z", "flow,smcr,standard")
    one = graph_of(tshark, path, "-2", "-z", "flow,smcr,standard,smcr.stream == 1")
    assert (
        "offers SMC-R" in one
        and "CONFIRM LINK" not in one
        and "Failover" in one
        and len(one) < len(whole)
    )
    assert one.count("its SYN has the option") == 1 and whole.count("its SYN has the option") == 3
    with_group = graph_of(
        tshark,
        path,
        "-2",
        "-z",
        "flow,smcr,standard,smcr.stream == 1 || (smcr.lgr == 0 && !smcr.stream)",
    )
    assert with_group.count("(DELETE LINK)") == whole.count("(DELETE LINK)") == 3


@pytest.mark.parametrize("name", [*REAL, "llc-test-link", "clc-v1-both"])
def test_every_graph_has_the_same_arrows(tshark, name):
    """With addresses of the network and of any kind, of RoCEv1 too; in tshark and in sharkd."""
    for kind in "standard", "network":
        lines = graph_of(
            tshark, copy_of(tshark, name), "-2", "-z", f"flow,smcr,{kind}"
        ).splitlines()
        drawn = [line for line in lines if re.match(r"(\d+ +)?\| *\d+\.\d{6}", line)]
        assert len(drawn) == len(arrows(tshark, name))
        assert all(
            line.endswith(arrow.sentence) for line, arrow in zip(drawn, arrows(tshark, name))
        )


def test_few_arrows_for_much_data(tshark):
    """Data have no arrow for each packet."""
    name = "6.1-v1-h1-two-links-second-fails"
    data = [
        arrow
        for arrow in arrows(tshark, name)
        if re.search("^The (client|server) sends ", arrow.sentence)
    ]
    assert (
        len(data)
        < len([frame for frame in bytes_of(name).packets if is_write(bytes_of(name), frame)]) / 10
    )


def test_data_do_not_run_past_another_arrow(tshark):
    """What one arrow says of data, came behind what the connection's other arrows say."""
    name = "6.1-v2-d-bulk-slow-reader"
    others, runs = {}, 0  # {ports of the connection: frame of the last arrow that is none of data}
    for arrow in arrows(tshark, name):
        ports = frozenset(arrow.ports)
        if match := re.search(r" since frame (\d+),", arrow.sentence):
            assert int(match[1]) >= others.get(ports, 0), arrow
            runs += ports in others
        elif " sends " not in arrow.sentence:
            others[ports] = min(bytes_of(name).at(arrow))
    assert runs > 10


def test_graphs_of_one_file_after_the_other(tshark):
    """Asked again, with another capture in between: no arrow stays."""
    first, other = (
        sharkd.load(copy_of(tshark, name))
        for name in ("6.1-v1-n-lossy", "6.1-v1-c2-capture-starts-late")
    )
    ask = request("seqa:smcr")
    answers = ask_all(tshark, [first, ask, ask, other, ask, first, ask])
    assert answers[1] == answers[2] == answers[6] != answers[4]
    assert json.dumps(answers[1]).count('"c"') > 100


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_captures_are_drawn(tshark, name):
    graph_of(
        tshark,
        copy_of(tshark, name),
        "-2",
        "-z",
        "flow,smcr,standard",
        "-z",
        "conv,smcr",
        "-z",
        "endpoints,smcr",
    )
