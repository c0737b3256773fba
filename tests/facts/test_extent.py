"""
How far what is unknown reaches: docs/report.md, "Where the time went", has the table of what makes
time unknown, and what settles it. Here is a row for each, with a capture where it is lost and comes
back. The truth is that of the whole capture.
"""

import dataclasses
import decimal
import functools
import json

import alterations
import pcapng
import pytest
import wire
from altered import as_pcapng
from bed import LATE, STORIES, captures
from test_lacking import altered

CLIENT, SERVER = "client_to_server", "server_to_client"
PARTS = ("answer_s", "buffer_full_s", "nothing_to_write_s", "retransmission_s", "transfer_s")
TOLERANCE = 2e-9  # of sums of nanoseconds


@dataclasses.dataclass
class Row:
    what: str
    capture: str
    gone: callable  # of the frames of the whole capture: the altered ones
    port: int  # of the client
    side: str
    least: float  # seconds that are unknown
    most: float


def without(*numbers):
    return lambda frames: alterations.left_out(frames, numbers)


THREE, LINKS, GONE = (
    "6.1-v1-c-three-conns",
    "6.1-v1-h1-two-links-second-fails",
    "6.1-v2-a2-same-qpn",
)
HTTP = "6.1-v2-j-http11"
OPEN = "6.1-v2-g6-single-link-down"  # with two connections that go on when the capture ends
ROWS = [
    Row("a WRITE of another connection", THREE, without(230), 58152, SERVER, 0, 0),
    Row("a WRITE of another connection", THREE, without(230), 58158, SERVER, 0, 0),
    Row("its own WRITE, up to its next packet", THREE, without(230), 58160, SERVER, 0.02, 0.055),
    Row("the same, of the answers to the peer", THREE, without(230), 58160, CLIENT, 0, 0.028),
    Row("a CDC message of another connection", LINKS, without(685), 55864, SERVER, 0, 0),
    Row("another connection's message before a move", LINKS, without(169), 55864, CLIENT, 0, 0),
    Row(
        "the close of a side, since its last packet", THREE, without(271), 58152, SERVER, 0.9, 0.93
    ),
    Row(
        "another connection's WRITE after its close",
        "6.1-v2-h6-late-second-link-asymmetric",
        without(2144),
        56244,
        CLIENT,
        0,
        0,
    ),
    Row("a CDC message of its peer, without data", GONE, without(42), 58806, CLIENT, 0, 0),
    Row("the same, and whether the next announces", GONE, without(42), 58806, SERVER, 0.005, 0.006),
    Row("a WRITE after others of the link", THREE, without(42), 58158, CLIENT, 0, 0),
    Row("a move to another link, and a later gap", LINKS, without(685), 55864, SERVER, 0, 0.001),
    Row(
        "acknowledgements alone, up to the next one",
        GONE,
        without(43, 44),
        58806,
        SERVER,
        0.33,
        0.35,
    ),
    Row("packets after both have closed", HTTP, without(94), 46464, CLIENT, 0, 0),
    Row("packets after both have closed", HTTP, without(94), 46464, SERVER, 0, 0),
    Row("open, and a CDC message of another", OPEN, without(112), 58610, SERVER, 0, 0),
]


def parts_of(tshark, path, row):
    found = json.loads(tshark.show(path, "-q", "-2", "-z", "smcr,json"))
    (time,) = [
        each[row.side]["time"]
        for each in found["connections"]
        if each["client"]["port"] == row.port
    ]
    return time


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.what} ({row.port})")
def test_extent(tshark, scratch, row):
    whole = parts_of(tshark, altered(tshark, scratch, row.capture, list), row)
    part = parts_of(tshark, altered(tshark, scratch, row.capture, row.gone), row)
    assert whole["unknown_s"] == 0
    assert row.least <= part["unknown_s"] <= row.most
    for name in PARTS:
        upper = part[name.replace("_s", "_most_s")]
        assert part[name] - TOLERANCE <= whole[name] <= upper + TOLERANCE, name


def direction_of(tshark, path, side):
    found = json.loads(tshark.show(path, "-q", "-2", "-z", "smcr,json"))
    return found["connections"][0][side]


@pytest.mark.parametrize("side", [CLIENT, SERVER])
def test_after_both_have_closed(tshark, scratch, side):
    """Nobody sends data after both closes are acknowledged: a gap there changes nothing."""
    whole = direction_of(tshark, altered(tshark, scratch, HTTP, list), side)
    part = direction_of(tshark, altered(tshark, scratch, HTTP, without(94)), side)
    for name in ("unannounced_bytes", "unreported_bytes"):
        assert part[name] == whole[name] == 0


SETUP = "6.1-v1-b-first-contact-ipv6"


@pytest.mark.parametrize("side", [CLIENT, SERVER])
def test_missing_step_of_the_setup(tshark, scratch, side):
    """Before its first packet the connection carried no data: its first message has number 1, and
    announces captured WRITEs only. So this time was setup, or nothing was written."""
    whole = direction_of(tshark, altered(tshark, scratch, SETUP, list), side)["time"]
    time = direction_of(tshark, altered(tshark, scratch, SETUP, without(15)), side)["time"]
    assert time["connecting_s"] is None and time["unknown_s"] > 0.05
    for part in ("answer", "buffer_full", "retransmission", "transfer"):
        assert time[f"{part}_most_s"] == time[f"{part}_s"] == whole[f"{part}_s"], part
    assert 0 < time["nothing_to_write_most_s"] - time["nothing_to_write_s"] < 0.002


def test_unnamed_rmb(tshark, scratch):
    """No CLC message names the client's RMB, and a CONFIRM RKEY is missing. The server's WRITEs
    go to an announced RMB that no other connection uses. All figures of its data are known."""
    whole = setup_of(tshark, altered(tshark, scratch, THREE, list), 58158)[SERVER]
    part = setup_of(tshark, altered(tshark, scratch, THREE, without(39, 41)), 58158)[SERVER]
    for name in ("bytes", "writes", "unannounced_bytes", "unreported_bytes", "ack_time_s"):
        assert part[name] == whole[name], name
    assert part["time"]["transfer_s"] == whole["time"]["transfer_s"]


def test_small_data_fill_no_buffer(tshark):
    """The size of the buffers is not known: their CLC messages are truncated. All data are known,
    and are less than the smallest buffer holds."""
    path = tshark.bed.root / "captures" / "points" / "path-A.pcapng.gz"
    report = json.loads(tshark.show(path, "-q", "-2", "-z", "smcr,json"))
    (text,) = [each["text"] for each in report["findings"] if each["kind"] == "buffer_full"]
    assert text.startswith("Receive buffer full: probably on 10.0.0.2:80 → 10.0.0.1:")
    found = report["connections"][0]
    time = found[CLIENT]["time"]
    assert found["buffer_bytes"]["server"] is None and 0 < found[CLIENT]["bytes"] < 16000
    assert time["unknown_s"] > 0.1 and time["buffer_full_most_s"] == 0


def setup_of(tshark, path, port):
    found = json.loads(tshark.show(path, "-q", "-2", "-z", "smcr,json"))["connections"]
    return next(conn for conn in found if conn["client"]["port"] == port)


def test_bounds_of_the_setup(tshark, scratch):
    """The time of the setup has bounds if a step of LLC is missing, the Accept, the Confirm, or the
    Proposal. It may also be known."""
    for name, missing, port in (
        (SETUP, 15, 42662),
        (THREE, 35, 58158),
        (THREE, 41, 58158),
        (THREE, 29, 58158),
    ):
        whole = setup_of(tshark, altered(tshark, scratch, name, list), port)["setup_s"]
        part = setup_of(tshark, altered(tshark, scratch, name, without(missing)), port)
        least, most = (part["setup"][bound] for bound in ("least_s", "most_s"))
        assert whole / 2 < least <= whole <= most < 2.5 * whole
        assert part["setup_s"] in (None, whole)


def test_bounds_of_steps_of_the_setup(tshark, scratch):
    """The messages before and after a missing one bound the two steps that it parts. The other
    steps are known: without the Accept, too, a link group that was there before needs no LLC."""
    for missing, steps in (
        (29, ("tcp", "accept")),  # Proposal
        (35, ("accept", "confirm")),  # Accept
        (41, ("confirm", "llc")),  # Confirm
    ):
        whole = setup_of(tshark, altered(tshark, scratch, THREE, list), 58158)["setup"]
        part = setup_of(tshark, altered(tshark, scratch, THREE, without(missing)), 58158)["setup"]
        both = sum(whole[f"{step}_s"] for step in steps)
        for step in ("tcp", "accept", "confirm", "llc"):
            least, most = (part[f"{step}_{bound}_s"] for bound in ("least", "most"))
            if step in steps:
                assert part[f"{step}_s"] is None
                assert 0 <= least <= whole[f"{step}_s"] <= most < both + 0.013, (missing, step)
            else:
                assert least == most == part[f"{step}_s"] == whole[f"{step}_s"], (missing, step)


def ends_of(tshark, path):
    found = json.loads(tshark.show(path, "-q", "-2", "-z", "smcr,json"))["connections"]
    return {each["client"]["port"]: each["end"] for each in found}


def test_end_of_a_connection(tshark, scratch):
    """Numbers and flags of CDC messages prove who closed first, whatever else is missing."""
    whole = ends_of(tshark, altered(tshark, scratch, THREE, list))
    part = ends_of(tshark, altered(tshark, scratch, THREE, without(230)))
    assert len(whole) == 3
    for port, end in whole.items():
        assert part[port]["by"] == end["by"]
        for name in ("frame", "other_frame"):
            assert part[port][name] == end[name] - (end[name] > 230)


def test_missing_end_of_a_connection(tshark, scratch):
    """The first close is missing: the other end's was the first as far as captured, and nobody
    says so."""
    whole = ends_of(tshark, altered(tshark, scratch, THREE, list))
    for port, end in whole.items():
        part = ends_of(tshark, altered(tshark, scratch, THREE, without(end["frame"])))
        assert not part[port] or part[port]["by"] == end["by"]
        assert all(part[other] for other in whole if other != port)


def test_missing_end_of_the_other_side(tshark, scratch):
    """The second close is missing. Packets of its sender show that it came after the first one."""
    name, port = "6.1-v1-j-http11", 34884
    end = ends_of(tshark, altered(tshark, scratch, name, list))[port]
    gone = end["other_frame"]
    assert end["other_after_frame"] == end["other_by_frame"] == gone
    part = ends_of(tshark, altered(tshark, scratch, name, without(gone)))[port]
    assert (part["by"], part["frame"]) == (end["by"], end["frame"])
    assert part["other_frame"] is part["other_by_frame"] is None
    assert end["frame"] <= part["other_after_frame"] < gone
    # a WRITE after the first close may be missing before an acknowledgement: capture, frames that
    # are missing, the client's port; the last possible frame, if any
    for name, gone, port, until in (
        ("peer-later-mtu", (35, 37), 40002, 45),
        ("peer-exit", (64,), 40002, None),
    ):
        path = as_pcapng(tshark.bed, tshark.bed.capture(name), name)
        end = ends_of(tshark, altered(tshark, scratch, path, list))[port]
        assert end["written_after"] is False and end["late_write_after_frame"] is None
        part = ends_of(tshark, altered(tshark, scratch, path, without(*gone)))[port]
        assert part["written_after"] is None and part["late_write_by_frame"] == until
        assert part["late_write_after_frame"] == part["frame"]


# capture, its missing packet of LLC, seconds up to the acknowledgement that covers it, or none if a
# later step follows
MISSING_STEPS = (
    ("6.1-v2-g3-half-close", 9, "0"),
    ("6.1-v1-e-urgent", 11, "0"),
    ("6.1-v2-i-testlink", 13, "0"),
    ("6.1-v1-b-first-contact-ipv6", 15, "0.002"),
)


def test_missing_step_of_a_first_contact(tshark, scratch):
    """One step is missing: the setup ended with the last captured one, or before the
    acknowledgement of the missing one. Afterwards the writers had nothing to write."""
    for name, gone, slack in MISSING_STEPS:
        whole, part = (
            json.loads(
                tshark.show(altered(tshark, scratch, name, change), "-q", "-2", "-z", "smcr,json"),
                parse_float=decimal.Decimal,
            )["connections"][0]
            for change in (list, without(gone))
        )
        setup = part["setup"]
        assert part["setup_s"] is None
        assert setup["least_s"] <= whole["setup_s"] <= setup["most_s"]
        assert setup["most_s"] - setup["least_s"] <= decimal.Decimal(slack)
        for side in (CLIENT, SERVER):
            time, truth = part[side]["time"], whole[side]["time"]["nothing_to_write_s"]
            least, most = time["nothing_to_write_s"], time["nothing_to_write_most_s"]
            assert least <= truth <= most and most - least <= decimal.Decimal(slack)


def roce_only(frames):
    """RoCE over IPv4: UDP follows the IP header."""
    return [frame for frame in frames if pcapng.data(frame)[23] == 17]


def test_direction_without_messages(tshark, scratch):
    """The server has sent no message, so no packet names the client's token. No packet of the link
    is missing: what the client did is known from its first message on."""
    path = altered(tshark, scratch, OPEN, roce_only)
    found = json.loads(tshark.show(path, "-q", "-2", "-z", "smcr,json"))["connections"]
    times = [each[CLIENT]["time"] for each in found if each["tokens"]["client"] is None]
    assert times
    for time in times:
        assert time and time["unknown_s"] < time["transfer_s"] + time["nothing_to_write_s"]


# What is missing; capture; frames; clients' ports that lose nothing; names of figures
UNKNOWN = (None, "unknown")
OTHERS = {
    "a CDC message": (OPEN, (112,), [58610], ("close", "goes_on", "unreported_bytes")),
    "a WRITE": (OPEN, (79,), [58610], ("close", "goes_on", "unreported_bytes")),
    "a request": (THREE, (249,), [58160], ("idle_frame", "written_after")),
    "data, as cursors show": (THREE, (230,), [58152, 58158], ("idle_frame", "written_after")),
    "a response": ("window-analysis", (171,), [40001, 40003], ("close", "unreported_bytes")),
    "a response and an Accept": (
        *("window-analysis", (95, 97), [40001, 40002], ("unreported_bytes",)),
    ),
    "an RKey": (THREE, (31, 35), [58160], ("idle_frame", "written_after")),
}


@pytest.mark.parametrize("what", OTHERS)
def test_gap_of_another_connection(tshark, scratch, what):
    """A later message proves what is missing: another connection's packet, or a request of LLC. An
    open connection misses nothing then, nor does one whose RKey is known."""
    name, gone, ports, members = OTHERS[what]

    whole_path = as_pcapng(tshark.bed, tshark.bed.capture(name), name)

    def known_of(change):
        path = altered(tshark, scratch, whole_path, change)
        shown = tshark.show(path, "-q", "-2", "-z", "smcr,json")
        return {
            (conn["client"]["port"], part, member)
            for conn in json.loads(shown)["connections"]
            for part in (None, CLIENT, SERVER, "end")
            for member in members
            if conn["client"]["port"] in ports
            and ((conn[part] if part else conn) or {}).get(member) not in UNKNOWN
        }

    whole = known_of(list)
    assert {port for port, *_ in whole} == set(ports)
    assert known_of(without(*gone)) == whole


def test_answer_in_a_gap_of_another_connection(tshark, scratch):
    """The messages after a gap prove that neither a request nor an answer is missing."""
    path = altered(tshark, scratch, THREE, without(183))
    found = json.loads(tshark.show(path, "-q", "-2", "-z", "smcr,json"))["connections"]
    (times,) = [each[CLIENT]["answer_time_s"] for each in found if each["client"]["port"] == 58160]
    assert times["count"] == 1


def test_message_after_a_gap(tshark, scratch):
    """A CDC message after missing packets says what it means, once it is acknowledged."""
    path = altered(tshark, scratch, THREE, without(230))
    printed = tshark.show(path, "-2", "-Y", "smcr.behind_gap && smcr.cdc", "-V", "-O", "smcr")
    assert "[End of announced data: " in printed or "[End of data reported as read: " in printed


# capture: bytes of each frame that are left, seconds of retransmission; time is unknown since the
# capture starts mid-connection, or is truncated
REPEATED = {
    "late-wrap": (None, 0, 0.005),
    "late-one": (None, 0, 0.005),
    # the stopped host answered each one of 3.94 s and 0.91 s; 190 ms of a setup are not known, as
    # the CLC messages are truncated
    "s23-host-frozen": (96, 0, 0.191),
    "s11-pool-kill": (96, 0, 0.2),  # three retransmissions: 1.2 ms on one connection
}


@pytest.mark.parametrize("name", REPEATED)
def test_retransmissions_are_those_of_the_link(tshark, scratch, name):
    """What a writer did is not known, but no packet of its link is missing: so it is known how long
    retransmissions may have taken."""
    size, least, most = REPEATED[name]
    change = functools.partial(alterations.snapped, size=size) if size else list
    path = altered(tshark, scratch, captures(STORIES, LATE)[f"{name}.pcapng"], change)
    found = json.loads(tshark.show(path, "-q", "-2", "-z", "smcr,json"))["connections"]
    times = [each[side]["time"] for each in found for side in (CLIENT, SERVER)]
    bounds = [time["retransmission_most_s"] for time in times if time]
    assert max(time["unknown_s"] for time in times if time) > max(bounds) or least
    assert least <= max(bounds) <= most


def test_retransmissions_without_acknowledgements(tshark, scratch):
    """A stopped host answered the retransmissions of 4.8 s. Without acknowledgements, nothing shows
    whether they were needed."""
    path = captures(STORIES)["s23-host-frozen.pcapng"]
    whole = altered(tshark, scratch, path, list)
    acks = {each.frame for each in wire.roce(whole) if each.opcode == wire.ACKNOWLEDGE}
    path = altered(tshark, scratch, path, without(*acks))
    found = json.loads(tshark.show(path, "-q", "-2", "-z", "smcr,json"))["connections"]
    for time in (each[side]["time"] for each in found for side in (CLIENT, SERVER)):
        assert not time or time["retransmission_s"] == 0


# capture that starts mid-connection: {direction: seconds that are unknown}; up to the first message
# that reports all data as read, and whose acknowledgement need not be captured
READ = {
    "6.1-v1-c2-capture-starts-late": {CLIENT: 0.003},
    "http": {CLIENT: 0.0086, SERVER: 0.0085},
}


def test_all_is_read_in_a_late_capture(tshark, scratch):
    """A reader that has read all announced data shows that its writer does not wait for space, and
    that earlier data have arrived."""
    paths = {**captures(), **captures(LATE)}
    for name, sides in READ.items():
        path = altered(tshark, scratch, paths.get(f"{name}.pcapng", name), list)
        found = json.loads(tshark.show(path, "-q", "-2", "-z", "smcr,json"))["connections"]
        for side, most in sides.items():
            time = found[0][side]["time"]
            assert 0 < time["unknown_s"] <= most, (name, side)
            assert time["buffer_full_s"] == 0 and time["buffer_full_most_s"] <= most, (name, side)
