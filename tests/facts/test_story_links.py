"""
Silence and lost links in stories of the field, whole and altered: begun late, cut at the end,
without TCP, one direction only. What is said of a host, a path or a queue pair has to be proven by
the frames that are left.
"""

import re

import cause_scenes
import pytest
from bed import STORIES
from report_runs import ALL_TWO, TWO, parse, print_json
from test_stories import PATHS

S02B, S23, S26, S27 = (
    "s02b-fw-roce-60s",
    "s23-host-frozen",
    "s26-second-link-acl",
    "s27-acl-failover",
)
STOPPED = "stopped answering"
FROM_CLIENT = "ip.src == 10.0.0.1 || ip.src == 10.0.1.1"
FROM_SERVER = "ip.src == 10.0.0.2 || ip.src == 10.0.1.2"

# (capture, display filter of the frames that are kept, what one finding has to say, what none says)
SAID = [
    # RoCE fails, TCP works: the host is alive
    # the host answers ARP in the silence
    (
        S02B,
        None,
        r"10\.0\.0\.2 QP 1235 .* at least 31\.7 s.*10\.0\.0\.2 sent other packets \(frame 1105\)",
        STOPPED,
    ),
    # without TCP nothing else comes from the host: it, or the path
    (S02B, "udp", r"10\.0\.0\.2 stopped answering.*31\.7 s .*host, path or queue pair", "TCP"),
    # while the silence lasts it is as long as the frames show
    (S02B, "frame.number <= 900", r"10\.0\.0\.2 .* at least \d\d\.\d s .*retransmissions", "86"),
    # a host that is paused: its direction, its longest pause, how many pauses
    (S23, None, r"from 10\.0\.1\.2 .* to 10\.0\.1\.1 for 3\.94 s .*of 2 such .* in all", STOPPED),
    (S23, "frame.number >= 1900", r"from 10\.0\.1\.2 .* to 10\.0\.1\.1 for 3\.94 s", STOPPED),
    (S23, "frame.number <= 2050", r"10\.0\.1\.2 stopped answering.* 2\.43 s", "TCP"),
    # one of two paths fails: the host sends on the other one
    (S27, None, r"10\.0\.0\.2 .*\(link 1\).* at least 1\.90 s.*on link 2 .*not the host", STOPPED),
    (S27, "udp", r"10\.0\.0\.2 .*\(link 1\).* at least 1\.90 s.*on link 2 .*not the host", STOPPED),
    (
        S27,
        None,
        r"Link 1 \(10\.0\.0\.1 → 10\.0\.0\.2\) is lost, as the client reports; \S+ → ",
        "left",
    ),
    (S27, None, r"at most 2\.01 s; no redundancy since frame 1259", "32.7 s"),
    # begun late: no message has named the number of the lost link
    (S27, "frame.number >= 700", r"host reports the loss of a link whose queue pairs", STOPPED),
    # a path that never carried anything
    (
        S26,
        None,
        r"Link 2 \(10\.0\.1\.1 → 10\.0\.1\.2\) never came up.* 5\.08 s .*no redund",
        STOPPED,
    ),
    (S26, "!tcp", r"Link 2 \(10\.0\.1\.1 → 10\.0\.1\.2\) never came up.* 5\.08 s", STOPPED),
    # packets of the other link are missing, but single ones
    (S26, "frame.number % 40 != 39", r"Link 2 .* never came up.* 5\.08 s", "rejected after"),
    # both hosts report the loss of the link that was rejected
    (S26, "!tcp", r"Link 2 .* never came up", "queue pairs are not known"),
    # of one direction the capture proves no silence
    (S02B, FROM_CLIENT, r"No packet from 10\.0\.0\.2 .* to 10\.0\.0\.1 is captured", STOPPED),
    (S23, FROM_CLIENT, r"One direction is not captured", "[Nn]o packet from"),
    (S23, FROM_SERVER, r"One direction is not captured", "[Nn]o packet from"),
    (S27, FROM_SERVER, r"One direction is not captured", "[Nn]o packet from"),
    ("queue-pair-silent-host-alive", None, r"QP 514 .* 269 ms .*other queue pairs", STOPPED),
]


@pytest.fixture
def report_of(tshark, scratch):
    """The report of a story, or of the frames of it that a display filter keeps."""

    def make(name, kept):
        path = tshark.bed.root / "captures" / STORIES / PATHS[name].name
        if kept:
            whole, path = path, scratch / "kept.pcapng"
            tshark.start("-r", whole, "-Y", kept, "-w", path)
        return parse(print_json(tshark, path, ALL_TWO))

    return make


@pytest.mark.parametrize("name, kept, words, never", SAID)
def test_silence_and_links(report_of, name, kept, words, never):
    texts = [each["text"] for each in report_of(name, kept)["findings"]]
    assert [text for text in texts if re.search(words, text)], texts
    assert not [text for text in texts if re.search(never, text)], texts


def links_of(report):
    return [
        (link["number"], link["state"], link["lost_by"], link["lost_frame"])
        for group in report["link_groups"]
        for link in group["links"]
        if link["number"]
    ]


def test_states_of_lost_links(report_of):
    """A link that a side reports as lost, or that nothing reaches, is not active."""
    assert links_of(report_of(S02B, None)) == [(1, "lost", None, None), (2, "rejected", None, None)]
    assert links_of(report_of(S26, None)) == [(1, "active", None, None), (2, "lost", "client", 36)]


def test_state_up_to_a_frame(report_of, tshark, scratch):
    """The last frame but one comes after a gap: the link was active before."""
    found = {}
    for last in (198, 199):
        path = scratch / f"{last}.pcapng"
        tshark.bed.edit("-r", tshark.bed.capture("6.1-v2-n-lossy"), path, f"1-{last}")
        link = parse(print_json(tshark, path, TWO))["link_groups"][0]["links"][0]
        found[last] = link["state"], link["state_frame"]
    assert found == {198: ("active", None), 199: ("active", 198)}


def test_silence_in_figures(report_of):
    """Longest silence of the flow to the host that is paused, and how many there are."""
    (flow,) = (each for each in report_of(S23, None)["rdma_flows"] if each["silences"])
    silence = flow["longest_silence"]
    assert (flow["dst"], flow["silences"], silence["is_over"]) == ("10.0.1.2", 2, True)
    assert silence["attempts"] >= 20 and silence["repeated"] <= flow["silent_repeated"]
    assert silence["other_queue_pair_frame"] is silence["tcp_frame"] is None
    assert len(silence["others"]) == 1 and silence["others_s"] > 0


def test_a_server_without_space_owes_no_answer(tshark, scratch):
    """The client's program reads nothing, so the server cannot write its answer. What the server
    writes when the client has read is no answer: its program wrote it before."""
    capture, path = cause_scenes.Capture(), scratch / "no-space.pcap"
    connection = cause_scenes.hang(capture, "server")
    connection.send("client", b"a request\n", read=False)
    cause_scenes.links_are_tested(capture, connection)
    path.write_bytes(capture.pcap())
    found = parse(print_json(tshark, path, TWO))
    (conn,) = found["connections"]
    assert conn["client_to_server"]["open_wait"] is None
    assert conn["server_to_client"]["open_wait"]["kind"] == "reader"
    assert {each["kind"] for each in found["findings"]} == {"slow_reader"}
    connection.read("client")
    connection.cdc("client")
    connection.send("server", bytes(3000))
    cause_scenes.end(connection)
    path.write_bytes(capture.pcap())
    found = parse(print_json(tshark, path, TWO))
    assert [each["kind"] for each in found["findings"]] == ["slow_reader"]


def test_a_server_answers_other_clients_only(tshark, scratch):
    """A client gets no answer to its first request, and closes its connection a minute later."""
    capture, path = cause_scenes.Capture(), scratch / "others.pcap"
    first = cause_scenes.begun(capture)
    connection = cause_scenes.second_of(first)
    cause_scenes.talk(first)
    connection.send("client", b"a request\n", read=False)
    cause_scenes.links_are_tested(capture, connection)
    connection.close()
    path.write_bytes(capture.pcap())
    texts = [each["text"] for each in parse(print_json(tshark, path, TWO))["findings"]]
    assert [text for text in texts if "it had answered messages on other connections" in text]
