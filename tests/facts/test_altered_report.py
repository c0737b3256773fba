"""
What a report and the fields say of altered captures: the same as of the whole capture, or nothing.
Each test has a kind of alteration that once made something false of a true capture.
"""

import functools
import gzip
import re

import alterations
import pcapng
import pytest
import report_reader
import report_runs
import wire
from bed import captures
from scapy.layers.inet import IP
from scapy.layers.l2 import Ether
from scapy.utils import EDecimal, PcapNgReader, wrpcap

FIN = 1
PROPOSAL, ACCEPT, CONFIRM = 1, 2, 3
CLOSED = ("6.1-v2-t-different-tokens", "6.1-v1-c-three-conns", "6.1-v1-b-first-contact-ipv6")
IPV6 = ("6.1-v1-b-first-contact-ipv6", "6.1-v1-a-first-contact-ipv4", "6.1-v2-v-vlan")
DECLINED_LATE = ("6.1-v1-f6-decline-confirm-link-timeout", "6.1-v2-f6-decline-confirm-link-timeout")
REUSED = ("6.1-v2-j-http11", "6.1-v2-c-three-conns", "6.1-v2-q-forty-conns")
MICROSECONDS = 10**6  # timestamps a second
REAL_CLOCKS = (
    "6.1-v2-j-http11",
    "6.1-v1-c-three-conns",
    "6.1-v2-d-bulk-slow-reader",
)
DIRECTIONS = ("client_to_server", "server_to_client")


@functools.cache
def path_of(name):
    return captures("real")[name]


def write(scratch, name, frames):
    path = scratch / f"{name}.pcapng"
    pcapng.write(path, pcapng.read(path_of(name))[0], frames)
    return path


def report(tshark, path):
    return report_runs.parse(report_runs.print_json(tshark, path))


def frames_of(name):
    return pcapng.read(path_of(name))[1]


def clc_frames(name, *types):
    """Frames of CLC messages of these types, of the last connection that has all of them."""
    found = {}
    for message in wire.clc_messages(path_of(name)):
        found[message.data[4]] = message.frame
    return {found[each] for each in types}


def flows(found):
    """By connection: a number of the initiator is kept, whatever comes first in the file."""
    return {
        tuple(sorted((flow["src_port"], flow["dst_port"]))): {
            flow["src_port"]: flow["up"],
            flow["dst_port"]: flow["down"],
        }
        for flow in found["tcp_flows"]
    }


REORDERED = "smcr.out_of_order"


def kinds_of(found):
    return {finding["kind"] for finding in found["findings"]}


def by_ports(found):
    return {
        (conn["client"]["port"], conn["server"]["port"]): conn
        for conn in found["connections"]
        if conn["client"]["port"]
    }


# ---- TCP ----


@pytest.mark.parametrize("name", CLOSED)
def test_a_fin_that_is_missing_is_no_byte(tshark, scratch, name):
    fins = [
        segment.frame.number
        for segment in report_reader.segments(path_of(name))
        if segment.flags & FIN
    ]
    whole = flows(report(tshark, path_of(name)))
    for fin in fins[:2]:
        frames = alterations.left_out(frames_of(name), {fin})
        altered = flows(report(tshark, write(scratch, name, frames)))
        figures = [
            (altered[ports][port]["acked_bytes"], whole[ports][port]["acked_bytes"])
            for ports in whole
            for port in ports
        ]
        assert all(after in (before, None) for after, before in figures)
        assert sum(after is None for after, _ in figures) == 1


@pytest.mark.parametrize("name", CLOSED)
def test_segments_out_of_order_are_not_retransmitted(tshark, scratch, name):
    for seed in range(4):
        frames = alterations.delayed(frames_of(name), seed)
        altered = report(tshark, write(scratch, name, frames))
        assert not any(
            way["repeated_segments"] for each in flows(altered).values() for way in each.values()
        )
        assert "tcp_loss" not in {finding["kind"] for finding in altered["findings"]}


# ---- silence ----

# The server ends the link group: what the client retransmits goes to no queue pair.
ENDED = ("6.1-v2-w-smc-unloaded-server", "6.1-v2-x-idle-630s")
DELETE_LINK, ALL_LINKS = 4, 0x40  # type of LLC, the low four bits; a flag
MAY_HAVE_ENDED = "; perhaps a DELETE LINK that is not captured had ended the link before"
LOST_LINK = "llc-test-link"  # its last request is retransmitted, and nobody answers


def end_of(name):
    """The frame of the server's DELETE LINK for all links."""
    return next(
        each.frame
        for each in wire.roce_messages(path_of(name))
        if each.data[0] & 15 == DELETE_LINK and each.data[3] & ALL_LINKS
    )


def without_the_end(name):
    """Without the server's DELETE LINK for all links, its acknowledgement, and all CDC messages
    with which a side closes."""
    messages, end = wire.roce_messages(path_of(name)), end_of(name)
    closes = {each.frame for each in messages if each.kind == "cdc" and each.data[25]}
    return [frame for frame in frames_of(name) if frame.number not in closes | {end, end + 1}]


@pytest.mark.parametrize("name", ENDED)
def test_a_host_that_may_have_ended_the_link_has_not_stopped_answering(tshark, scratch, name):
    kinds = {finding["kind"] for finding in report(tshark, path_of(name))["findings"]}
    assert "link_group_ended" in kinds and not kinds & {"no_answer", "dead_peer"}
    found = report(tshark, write(scratch, name, without_the_end(name)))
    silent = [each for each in found["findings"] if each["kind"] in ("no_answer", "dead_peer")]
    assert [(each["kind"], each["severity"]) for each in silent] == [("no_answer", "note")]
    assert silent[0]["text"].endswith(MAY_HAVE_ENDED)
    (link,) = [each for group in found["link_groups"] for each in group["links"] if each["flows"]]
    assert link["state"] == "active" and link["state_frame"]


@pytest.mark.parametrize("name", ENDED)
def test_both_sides_delete_all_links_so_the_group_has_ended(tshark, scratch, name):
    """The capture begins with the end: nothing shows which side is the server."""
    frames = [frame for frame in frames_of(name) if frame.number >= end_of(name)]
    found = report(tshark, write(scratch, name, frames))
    (link,) = [each for group in found["link_groups"] for each in group["links"]]
    assert (link["state"], link["state_frame"]) == ("deleted", None)
    assert [each["kind"] for each in found["findings"]] == ["link_group_ended"]
    frames = [frame for frame in frames if frame.number < end_of(name) + 2]
    found = report(tshark, write(scratch, name, frames))
    (link,) = [each for group in found["link_groups"] for each in group["links"]]
    assert link["state"] == "active"  # one side has asked: it may be the client


def losses(found):
    kinds = ("loss", "timeouts", "repeats")
    return [(each["count"], each["text"]) for each in found["findings"] if each["kind"] in kinds]


def test_a_group_that_ends_takes_no_loss_from_another_group(tshark, scratch):
    """The last packets of a link group are retransmitted while another group loses packets."""
    lossy, ended = frames_of("6.1-v1-n-lossy"), frames_of(ENDED[0])
    later = pcapng.time(lossy[0]) - pcapng.time(ended[0])
    beside = [pcapng.at_time(frame, pcapng.time(frame) + later) for frame in ended]
    both = write(scratch, "6.1-v1-n-lossy", sorted([*lossy, *beside], key=pcapng.time))
    found, alone = report(tshark, both), report(tshark, path_of("6.1-v1-n-lossy"))
    assert "link_group_ended" in kinds_of(found)
    strip = [(count, text.split("; longest wait")[0]) for count, text in losses(alone)]
    assert [(count, text.split("; longest wait")[0]) for count, text in losses(found)] == strip
    assert strip


def states_of_links(tshark, path):
    return [
        (link["state"], link["state_frame"])
        for group in report(tshark, path)["link_groups"]
        for link in group["links"]
        if link["flows"]
    ]


@pytest.mark.parametrize("without", (20, 23, 25))
def test_a_link_is_active_up_to_the_last_answer(tshark, scratch, without):
    """A capture that starts late does not show whether a connection is open."""
    path, whole = scratch / "late.pcapng", tshark.bed.capture(LOST_LINK)
    assert states_of_links(tshark, whole) == [("lost", None)]
    tshark.bed.edit("-F", "pcapng", "-r", whole, path, f"{without + 1}-999")
    assert states_of_links(tshark, path) == [("active", 29 - without)]


@pytest.mark.parametrize(
    "alter, last",
    [
        (functools.partial(alterations.left_out, numbers=range(31, 34)), 29),  # retransmissions
        (functools.partial(alterations.swapped, first=1, share=1, seed=0), 28),
    ],
)
def test_a_link_is_not_known_to_be_active_after_the_last_answer(tshark, scratch, alter, last):
    path, altered = scratch / "whole.pcapng", scratch / "altered.pcapng"
    tshark.bed.edit("-F", "pcapng", tshark.bed.capture(LOST_LINK), path)
    head, frames = pcapng.read(path)
    pcapng.write(altered, head, alter(frames))
    assert states_of_links(tshark, altered) == [("active", last)]


# ---- copies ----


def doubled(frames, delay):
    """Each frame again, so many microseconds later."""
    every = [
        (pcapng.time(frame) + late, 2 * at + (late > 0), frame)
        for at, frame in enumerate(frames)
        for late in (0, delay)
    ]
    return [
        pcapng.at_time(frame, time) for time, _, frame in sorted(every, key=lambda each: each[:2])
    ]


@pytest.mark.parametrize("delay", (3, 50, 90))
@pytest.mark.parametrize("name", IPV6)
def test_copies_of_a_mirror_port_are_no_retransmissions(tshark, scratch, name, delay):
    whole = report(tshark, path_of(name))
    altered = report(tshark, write(scratch, name, doubled(frames_of(name), delay)))
    assert [flow["repeated"] for flow in altered["rdma_flows"]] == [
        flow["repeated"] for flow in whole["rdma_flows"]
    ]
    assert [conn["setup_s"] for conn in altered["connections"]] == [
        conn["setup_s"] for conn in whole["connections"]
    ]


@pytest.mark.parametrize("name", ("6.1-v1-n-lossy", "6.1-v2-n-lossy"))
def test_naks_of_a_mirror_port_count_once(tshark, scratch, name):
    whole = report(tshark, path_of(name))
    altered = report(tshark, write(scratch, name, doubled(frames_of(name), 5)))
    late = [flow["late_naks"] for flow in whole["rdma_flows"]]
    assert [flow["late_naks"] for flow in altered["rdma_flows"]] == late and any(late)


# ---- retransmissions whose first transmission is missing ----

FIRST, NAK = 995, 1016  # frames of 6.1-v1-n-lossy: a packet, and the NAK that asks for it


def read_times(tshark, path):
    """{(direction, PSN): when messages report data as read, after the announcement}"""
    fields = ("smcr.dir", "infiniband.bth.psn", "smcr.cdc.read_time")
    shown = tshark.show(
        path,
        "-2",
        "-Y",
        fields[-1],
        "-T",
        "fields",
        *(x for field in fields for x in ("-e", field)),
    )
    return {tuple(line.split("\t")[:2]): line.split("\t")[2] for line in shown.splitlines()}


def test_a_nak_proves_that_a_packet_was_sent_before(tshark, scratch):
    name = "6.1-v1-n-lossy"
    packets = {packet.frame: packet for packet in wire.roce(path_of(name))}
    burst = {
        frame
        for frame, packet in packets.items()
        if FIRST <= frame < NAK
        and packet.ends == packets[FIRST].ends
        and packet.opcode < alterations.RESPONSES[0]
    }
    altered = write(scratch, name, alterations.left_out(frames_of(name), burst))
    whole, after = read_times(tshark, path_of(name)), read_times(tshark, altered)
    assert {key: after[key] for key in after} == {key: whole.get(key) for key in after}
    assert len(after) > len(whole) / 2


# ---- handshakes ----


@pytest.mark.parametrize("name", CLOSED)
def test_time_counts_from_the_syn_alone(tshark, scratch, name):
    def times(path):
        text = tshark.show(
            path, "-T", "fields", "-e", "frame.time_epoch", "-e", "smcr.time_relative"
        )
        return dict(line.split("\t") for line in text.splitlines())

    whole = times(path_of(name))
    assert any(whole.values())
    for size in (1, 2, 3):
        altered = times(write(scratch, name, frames_of(name)[size:]))
        assert all(after in ("", whole[when]) for when, after in altered.items())


@pytest.mark.parametrize("name", ("6.1-v2-j-http11", "6.1-v2-t-different-tokens"))
def test_a_release_that_is_cut_is_not_guessed(tshark, scratch, name):
    for size in range(116, 172, 8):
        path = write(scratch, name, alterations.snapped(frames_of(name), size))
        shown = tshark.show(path, "-Y", "smcr.clc.vendor_oui || smcr.clc.vendor_options")
        first = {frame for frame in clc_frames(name, PROPOSAL)}
        assert not {int(line.split()[0]) for line in shown.splitlines()} & first


@pytest.mark.parametrize("name", CLOSED)
def test_a_direction_that_is_not_captured_has_answered(tshark, scratch, name):
    whole = by_ports(report(tshark, path_of(name)))
    for case in alterations.one_host(captured(name)):
        altered = by_ports(report(tshark, write(scratch, name, case.alter(frames_of(name)))))
        for ports, conn in altered.items():
            assert conn["setup_longest"] in (None, whole[ports]["setup_longest"]), case.label


def captured(name):
    """What kinds of alterations ask for of a capture."""
    return alterations.collections.namedtuple("Captured", "path frames")(
        path_of(name), frames_of(name)
    )


@pytest.mark.parametrize("name", REUSED)
def test_writes_of_an_unknown_handshake_are_unknown(tshark, scratch, name):
    frames = alterations.left_out(frames_of(name), clc_frames(name, ACCEPT, CONFIRM))
    altered = report(tshark, write(scratch, name, frames))
    unknown = [conn for conn in altered["connections"] if conn["outcome"] == "unknown"]
    assert unknown
    for conn in unknown:
        assert all(
            conn[way][figure] is None for way in DIRECTIONS for figure in ("bytes", "writes", "cdc")
        )


@pytest.mark.parametrize("name", DECLINED_LATE)
def test_a_first_contact_is_open_until_confirm_link_is_answered(tshark, scratch, name):
    whole = frames_of(name)
    (confirm,) = clc_frames(name, CONFIRM)
    altered = report(tshark, write(scratch, name, whole[:confirm]))
    assert [conn["outcome"] for conn in altered["connections"]] == ["unknown"]
    assert report(tshark, path_of(name))["connections"][0]["outcome"] == "fallback"


# ---- holes ----

DATA = {"6.1-v2-j-http11": (28, 60), "6.1-v1-h4-two-links-rkeys": (120,)}  # first frames of holes


def holes(size):
    """Captures with a hole: a name, the first frame after it, and the frames."""
    for name, firsts in DATA.items():
        for first in firsts:
            frames = frames_of(name)
            sender = alterations.host(frames[first - 1])
            yield name, first, alterations.with_hole(frames, first, size, sender)


def links_of(found):
    return sum(len(group["links"]) for group in found["link_groups"])


@pytest.mark.parametrize("size", (100_000, 1_000_000, 9_000_000))
def test_a_link_goes_on_after_a_hole(tshark, scratch, size):
    for name, first, frames in holes(size):
        whole = report(tshark, path_of(name))
        altered = report(tshark, write(scratch, name, frames))
        assert {flow["missing"] for flow in altered["rdma_flows"]} == {0, size}, first
        assert len(altered["connections"]) == len(whole["connections"])
        assert links_of(altered) == links_of(whole)
        assert not altered["breaches"]


def test_a_hole_with_an_unknown_link_after_it_is_reported(tshark, scratch):
    """The first message after it is a DELETE RKEY: its link may have begun in the hole."""
    name = "6.1-v2-j-http11"
    (first, *_) = [
        message.frame
        for message in wire.roce_messages(path_of(name))
        if message.data[0] & 15 == alterations.DELETE_RKEY
    ]
    frames = frames_of(name)
    sender = alterations.host(frames[first - 1])
    hole = alterations.with_hole(frames, first, 1_000_000, sender)
    altered = report(tshark, write(scratch, name, hole))
    assert "packet_ahead" in {finding["kind"] for finding in altered["findings"]}


def test_one_direction_of_roce_is_no_port_left_out(tshark, scratch):
    """The link group is older than the capture, which has what the client sends: the Accept is
    missing, so RoCE of the new connections is known by no TCP connection."""
    name = "6.1-v2-c-three-conns"
    frames = frames_of(name)
    client = alterations.host(frames[0])
    second = sorted(m.frame for m in wire.clc_messages(path_of(name)) if m.data[4] == PROPOSAL)[1]
    later = [frame for frame in frames if frame.number >= second - 3]
    half = [frame for frame in later if alterations.host(frame) == client]
    found = report(tshark, write(scratch, name, half))
    assert "one_sided" in kinds_of(found)
    assert "no_roce" not in kinds_of(found)


ONE_SIDED = {
    # (capture, host): kinds of findings; of the host's packets nothing else is captured
    ("nak-loss-after-capture", "10.0.0.1"): {"repeats", "one_sided"},
    ("nak-loss-after-capture", "10.0.0.2"): {"repeats", "naks_alone", "one_sided"},
    ("nocm-perftest", "10.0.0.1"): {"one_sided"},
    ("nocm-perftest", "10.0.0.2"): {"one_sided"},
    ("rnr-nak", "10.0.0.1"): {"not_heard"},
    ("rnr-nak", "10.0.0.2"): {"no_receive_buffer", "one_sided"},
    ("cnp-np-cm", "10.0.0.1"): {"congestion", "one_sided"},
    ("cnp-np-cm", "10.0.0.2"): {"congestion", "one_sided"},
}


def test_one_direction_of_other_roce(tshark, scratch):
    """The page says so, and what the packets of this direction prove: NAKs for packets that are
    not captured, in particular. It calls nobody silent."""
    for (name, host), kinds in ONE_SIDED.items():
        path = scratch / f"{name}-{host}.pcap"
        with PcapNgReader(str(report_runs.PATHS[name])) as reader:
            wrpcap(str(path), [each for each in reader if IP in each and each[IP].src == host])
        found = report_runs.parse(report_runs.print_json(tshark, path, report_runs.ALL_TWO))
        assert kinds_of(found) == kinds, (name, host)
        naks = sum(
            flow["nak"]["psn_sequence"] for flow in found["rdma_flows"] if not flow["rnr_nak"]
        )
        alone = [each for each in found["findings"] if each["kind"] == "naks_alone"]
        assert [each["count"] for each in alone] == [naks] * bool(naks)
        for each in alone:
            asked = ("-2", *report_runs.CALM, *report_runs.ALL, "-Y", each["filter"])
            shown = tshark.show(path, *asked)
            assert len(shown.splitlines()) == naks == 20


MAD, LOCAL_ID = 14 + 20 + 8 + 12 + 8, 24  # of a message of RDMA-CM over IPv4


def requests_without_answer(packets, ids):
    """The first REQ again, with other transaction and communication IDs: each four times."""
    found = []
    for number, each in enumerate(ids):
        for at in range(4):
            data = bytearray(bytes(packets[0]))
            data[18:20] = (0x1000 + 16 * number + at).to_bytes(2, "big")  # IP identification
            data[MAD + 8 : MAD + 16] = each.to_bytes(8, "big")
            data[MAD + LOCAL_ID : MAD + LOCAL_ID + 4] = each.to_bytes(4, "big")
            packet = Ether(bytes(data))
            del packet[IP].chksum
            packet.time = packets[0].time + EDecimal(f"{at}.{number + 1}")
            found.append(packet)
    return found


def test_requests_that_a_host_never_answers(tshark, scratch):
    """It answers others, and the page says how many it does not answer. A request that is answered
    in the end, or whose answer is not captured, is none of them."""
    with PcapNgReader(str(report_runs.PATHS["cm-rping"])) as reader:
        packets = [each for each in reader if IP in each]
    client = [each for each in packets if each[IP].src == packets[0][IP].src]
    late = packets[0].copy()
    late[IP].id += 1
    del late[IP].chksum
    late.time += EDecimal("0.05")
    for label, frames, words in (
        (
            "one",
            packets + requests_without_answer(packets, [7]),
            r"1 connection request \(port 7174",
        ),
        (
            "two",
            packets + requests_without_answer(packets, [7, 8]),
            r"2 connection requests \(first",
        ),
        ("late", [*packets, late], "messages lost, or answers delayed"),
        ("half", [*client, late], "messages lost, or answers delayed"),
    ):
        path = scratch / f"request-{label}.pcap"
        wrpcap(str(path), sorted(frames, key=lambda each: each.time), nano=True)
        roce = ("-o", "smcr.roce:TRUE")  # the ICRC covers the identification
        found = report_runs.parse(report_runs.print_json(tshark, path, options=roce))
        [finding] = [each for each in found["findings"] if each["kind"] == "cm_repeat"]
        assert re.search(words, finding["text"]), label
        asked = sum(each["cm_unanswered"] for each in found["rdma_flows"])
        assert asked == {"one": 1, "two": 2}.get(label, 0)
        assert finding["severity"] == ("warn" if asked else "note")
        assert {each["cm_unanswered_port"] for each in found["rdma_flows"]} <= {None, 7174}


# ---- roles ----

FIRST_OF_LATE = 15  # frame of peer-delete-all: nothing after it shows which side is the server


def test_the_client_is_named_only_where_it_is_known(tshark, scratch):
    late, whole = scratch / "late.pcap", tshark.bed.capture("peer-delete-all")
    tshark.bed.edit("-F", "pcap", "-r", whole, late, f"{FIRST_OF_LATE}-99999")
    asked = ("-Y", "smcr.link.delete_asked", "-V", "-O", "smcr")
    assert "The client requests the server to delete" in tshark.show(whole, *asked)
    shown = tshark.show(late, *asked)
    assert shown.count("One side requests the other to delete all links") == 1
    assert "client asks" not in shown
    ended = ("-Y", "smcr.lgr.ended", "-T", "fields", "-e", "frame.number")
    assert len(tshark.show(late, *ended).split()) == 1  # the other side has asked, too


# ---- a host's clock ----

NETLINK = (824).to_bytes(2, "big")  # ARPHRD_NETLINK, in Linux cooked headers
LATE = ("http", "late-many", "late-reuse", "whole-and-dump")


def tcp_ends(found):
    return {
        tuple((conn[role]["addr"], conn[role]["port"]) for role in ("client", "server"))
        for conn in found["connections"]
        if conn["client"]["port"]
    }


@pytest.mark.parametrize("off", (-2, 2))
@pytest.mark.parametrize("name", LATE)
def test_another_clock_of_netlink_exchanges_no_roles(tshark, scratch, name, off):
    path = scratch / f"{name}.pcapng"
    path.write_bytes(gzip.decompress(captures("late")[f"{name}.pcapng"].read_bytes()))
    head, frames = pcapng.read(path)
    whole = tcp_ends(report(tshark, path))
    told = [pcapng.data(frame)[2:4] == NETLINK for frame in frames]
    assert any(told) and whole
    moved = [
        pcapng.at_time(frame, pcapng.time(frame) + off * MICROSECONDS * late)
        for frame, late in zip(frames, told, strict=True)
    ]
    pcapng.write(path, head, sorted(moved, key=pcapng.time))
    assert tcp_ends(report(tshark, path)) <= whole


# ---- two clocks ----


def with_late_roce(tshark, scratch, name, late):
    """The report of a capture in which the clock of RoCE's interface is so many seconds late."""
    roce = {packet.frame for packet in wire.roce(path_of(name))}
    moved = [
        pcapng.at_time(
            frame, pcapng.time(frame) + int(late * MICROSECONDS) * (frame.number in roce)
        )
        for frame in frames_of(name)
    ]
    moved.sort(key=pcapng.time)
    return report(tshark, write(scratch, name, moved))


@pytest.mark.parametrize("late", (-2, -1, -0.3, -0.02, 0.02, 0.05, 0.3, 1, 2))
@pytest.mark.parametrize("name", REUSED)
def test_nobody_is_blamed_for_two_clocks(tshark, scratch, name, late):
    whole = by_ports(report(tshark, path_of(name)))
    altered = with_late_roce(tshark, scratch, name, late)
    assert not altered["breaches"]
    for ports, conn in by_ports(altered).items():
        for way in DIRECTIONS:
            assert conn[way]["bytes"] in (None, whole[ports][way]["bytes"])


def test_bytes_with_two_clocks_are_bounds_where_links_differ(tshark, scratch):
    """A connection with two links may get the packets of one link only, if RoCE and CLC do not come
    in their order. Then its bytes are a lower bound, and are marked as one."""
    name = "6.1-v1-h4-two-links-rkeys"
    whole = by_ports(report(tshark, path_of(name)))
    for late in (-1, -0.3, -0.02, 0.3, 2):
        altered = with_late_roce(tshark, scratch, name, late)
        assert not altered["breaches"]
        for ports, conn in by_ports(altered).items():
            for way in DIRECTIONS:
                count, true = conn[way]["bytes"], whole[ports][way]["bytes"]
                assert count in (None, true) or (conn[way]["lacks_bytes"] and count < true)
        for conn in altered["connections"]:  # all have carried as much
            for way in DIRECTIONS:
                count, true = conn[way]["bytes"], next(iter(whole.values()))[way]["bytes"]
                assert count in (None, true) or conn[way]["lacks_bytes"]


# How far the clock of RoCE is from that of TCP, s; the frames of one link are then the most that
# come before the CLC message that begins it.
EARLY = -0.2


@pytest.mark.parametrize("name", REAL_CLOCKS)
def test_early_roce_is_not_missing(tshark, scratch, name):
    """The first packets of a link that come before its CLC message are captured, and they are of
    the connection of this message: all connections have their ports, and end as they did."""
    whole = report(tshark, path_of(name))
    assert "not_captured" not in kinds_of(whole)
    altered = with_late_roce(tshark, scratch, name, EARLY)
    assert not kinds_of(altered) & {"not_captured", "silent_end"}
    assert {ports: conn["close"] for ports, conn in by_ports(altered).items()} == {
        ports: conn["close"] for ports, conn in by_ports(whole).items()
    }
    assert len(altered["connections"]) == len(whole["connections"])


@pytest.mark.parametrize("name", ("clc-contradictions", "clc-trailer"))
def test_the_same_tokens_between_two_hosts_are_no_translation(tshark, scratch, name):
    whole = scratch / f"{name}-whole.pcapng"
    tshark.bed.edit("-F", "pcapng", captures()[name], whole)
    head, frames = pcapng.read(whole)
    for seed in range(6):
        path = scratch / f"{name}.pcapng"
        pcapng.write(path, head, alterations.delayed(frames, seed))
        assert "translated" not in kinds_of(report(tshark, path))


@pytest.mark.parametrize("name", ("6.1-v1-n-lossy", "6.1-v2-n-lossy"))
def test_a_path_that_reorders_proves_no_loss(tshark, scratch, name):
    """Packets come late, and NAKs ask for some of them. Neither a display filter that hides the
    NAKs, nor a late packet that is not captured, makes these packets lost ones."""
    whole = write(scratch, name, frames_of(name))
    assert "not_ect" not in kinds_of(report(tshark, whole))
    filtered = report_runs.print_json(tshark, whole, where="smcr.stream == 0")
    assert "not_ect" not in kinds_of(report_runs.parse(filtered))
    late = tshark.frames(whole, REORDERED, two_pass=True)
    assert late
    for frames in (set(late), set(late[:1]), set(late[-1:])):
        path = write(scratch, name, alterations.left_out(frames_of(name), frames))
        assert "not_ect" not in kinds_of(report(tshark, path))


@pytest.mark.parametrize("version", ("v1", "v2"))
def test_the_longest_wait_does_not_hide_the_worst_reader(tshark, scratch, version):
    """Of two readers in one file, one keeps its writer waiting for most of a short connection, the
    other one a little longer, in a small part of a long connection. Each has a finding of its own,
    with the severity and the sentence that it has alone."""
    worst, longest = f"6.1-{version}-d-bulk-slow-reader", f"6.1-{version}-n-lossy"
    first, second = (write(scratch, name, frames_of(name)) for name in (worst, longest))
    later, path = scratch / "later.pcapng", scratch / "merged.pcapng"
    tshark.bed.edit("-t", "300", second, later)
    tshark.bed.edit("-w", path, first, later, program="mergecap")
    path.chmod(0o644)

    def slow(path):
        findings = report(tshark, path)["findings"]
        return {
            (each["severity"], each["text"].split("; 1 more direction with long waits")[0])
            for each in findings
            if each["kind"] == "slow_reader"
        }

    alone, other = slow(first), slow(second)
    assert [severity for severity, _ in (*alone, *other)] == ["warn", "note"]
    assert slow(path) == alone | other


def test_each_packet_that_the_receiver_acknowledged_is_counted(tshark, scratch):
    """However many sequence gaps a flow has, the number of packets that only the capture misses is
    the one that a reader of PSNs finds."""
    name = "6.1-v1-d-bulk-slow-reader"
    requests = [each for each in wire.roce(path_of(name)) if each.opcode != wire.ACKNOWLEDGE]
    dropped = requests[100:-100:20]
    frames = frames_of(name)
    path = write(scratch, name, alterations.left_out(frames, {each.frame for each in dropped}))
    counts = {flow["dst_qpn"]: flow["not_captured"] for flow in report(tshark, path)["rdma_flows"]}
    psns = {(each.qpn, each.psn) for each in dropped} - {
        (each.qpn, each.psn) for each in requests if each not in dropped
    }
    missing = {qpn: sum(to == qpn for to, _ in psns) for qpn in counts}
    assert max(missing.values()) > 32
    assert counts == missing


def test_the_last_write_is_not_known_if_the_peer_may_have_written_later(tshark, scratch):
    """From the Accept on, all packets of the server are missing up to frame 46. Acknowledgements
    show that it has sent packets, and the one in frame 45 was the last WRITE."""
    name = "6.1-v1-a-first-contact-ipv4"
    (whole,) = report(tshark, path_of(name))["connections"]
    assert whole["end"]["idle_frame"] == 45
    frames = [
        frame
        for frame in frames_of(name)
        if frame.number not in range(7, 47) or pcapng.data(frame)[6:10] != b"\x52\x54\x00\xbb"
    ]
    (found,) = report(tshark, write(scratch, name, frames))["connections"]
    assert found["end"] is None or found["end"]["idle_frame"] is None


def responses(tshark, path):
    """{frame of a CLC message: frame of its response}"""
    fields = ("-e", "frame.number", "-e", "smcr.response_in")
    found = tshark.show(path, "-2", "-Y", "smcr.response_in", "-T", "fields", *fields)
    return dict(map(int, line.split()) for line in found.splitlines())


@pytest.mark.parametrize("is_missing", (True, False))
def test_a_decline_may_answer_a_message_that_comes_later(tshark, scratch, is_missing):
    """The client declines in frame 12 after its Confirm in frame 8. TCP acknowledges both in frame
    13, before the Decline comes, and the Confirm is missing, or comes last."""
    name = "6.1-v1-f6-decline-confirm-link-timeout"
    assert responses(tshark, path_of(name)) == {4: 6, 6: 8}
    found = {frame.number: frame for frame in frames_of(name)[:13]}
    order = [*range(1, 8), 10, 13, 12] + ([] if is_missing else [8])
    assert responses(tshark, write(scratch, name, [found[each] for each in order])) == {4: 6}


def test_the_first_captured_message_may_not_be_the_first_one(tshark, scratch):
    """The Accept (frame 97) and the first three messages of the client are missing. Its next
    producer cursor is more than a round above 0, which breaks no rule."""
    scratch.chmod(0o777)
    path, missing = scratch / "first.pcap", "{97, 105..108, 111..137}"
    tshark.show(
        "window-analysis", "-Y", f"not frame.number in {missing}", "-F", "pcap", "-w", path
    )
    assert tshark.frames(path, "smcr.cdc.prod_wrap == 1")
    assert tshark.frames(path, "smcr.cdc.wrap") == []


def test_no_message_is_late_in_a_capture_out_of_order(tshark, scratch):
    """Each frame from the second one on changes places with its neighbour, and the times stay. So a
    WRITE has the time of a frame 509 ms before its CDC message."""
    name = "7.2-v2-g5-device-removed"
    frames = frames_of(name)
    moved = alterations.swapped(frames, first=1, share=1, seed=0)
    found = report(tshark, write(scratch, name, alterations.in_time(frames, moved)))
    kinds = {finding["kind"] for finding in found["findings"]}
    assert "reordered" in kinds and "late_message" not in kinds
