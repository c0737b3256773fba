"""
Handshakes of CLC that end without a result, and what fallbacks cost: the first finding of each
scene says what happened, who did it and where. Each scene is built over IPv4 and IPv6, with
SMC-Rv1 and SMC-Rv2.
"""

import json
import sys

import pytest
from bed import TOP

sys.path.insert(0, str(TOP / "tests" / "synth"))
from smcsynth.capture import Capture  # noqa: E402
from smcsynth.clc import clc_decline  # noqa: E402
from smcsynth.net import SMC_OPTION, USUAL_OPTIONS  # noqa: E402
from smcsynth.story import linux_connection  # noqa: E402

NO_CONFIRM_LINK, INTERNAL = 0x02010000, 0x09990000
HTTP_400 = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"
TLS_ALERT = bytes.fromhex("15 0301 0002 022f")
COOKIE = bytes.fromhex("220a 1122334455667788 0101")


def sent_often(connection, sender, data, times=7):
    """Data that goes out `times` times, after twice as long a wait each time, and no answer."""
    for time in range(times):
        connection.tcp.segment(sender, "PA", data)
        connection.group.capture.wait(0.2 * 2**time)
    connection.tcp.seq[sender] += len(data)


def propose(connection, **options):
    """TCP's handshake, and the Proposal."""
    connection.tcp.handshake()
    connection.tcp.send("client", connection.proposal(), **options)


def accept(connection):
    """The same, and the Accept."""
    propose(connection)
    connection.tcp.send("server", connection.accept())


def server_resets(connection):
    propose(connection)
    connection.group.capture.wait(0.02)
    connection.tcp.segment("server", "RA")


def server_resets_at_once(connection):
    propose(connection, ack=False)
    connection.tcp.segment("server", "R")


def server_closes(connection):
    propose(connection)
    connection.group.capture.wait(60)
    connection.tcp.close("server")


def client_resets_after_accept(connection):
    accept(connection)
    connection.group.capture.wait(3)
    connection.tcp.segment("client", "RA")


def client_gives_up(connection):
    propose(connection)
    connection.group.capture.wait(11)
    connection.tcp.close("client")


def proposal_is_lost(connection):
    connection.tcp.handshake()
    sent_often(connection, "client", connection.proposal())
    connection.tcp.segment("client", "RA")


def accept_queue_is_full(connection):
    """The host discards the ACK of TCP's handshake and the client's data, and repeats its
    SYN-ACK."""
    tcp = connection.tcp
    tcp.handshake()
    for time in range(7):
        tcp.segment("client", "PA", connection.proposal())
        connection.group.capture.wait(0.2 * 2**time)
        if time in (2, 4, 6):
            tcp.segment("server", "SA", b"", USUAL_OPTIONS + SMC_OPTION, tcp.seq["server"] - 1)


def confirm_is_lost(connection):
    accept(connection)
    sent_often(connection, "client", connection.confirm())
    connection.tcp.segment("client", "RA")


def accept_is_lost(connection):
    propose(connection)
    sent_often(connection, "server", connection.accept())
    connection.tcp.segment("server", "RA")


def echoes(answer):
    def scene(connection):
        propose(connection)
        connection.tcp.send("server", answer, ack=False)
        connection.tcp.segment("client", "RA")

    return scene


def answer_breaks_off(connection):
    """The server closes the connection within its Decline."""
    propose(connection)
    connection.tcp.send("server", clc_decline(diagnosis=INTERNAL)[:20])
    connection.tcp.close("server")


def proposal_breaks_off(connection):
    """Nobody has to answer a Proposal that is not complete."""
    connection.tcp.handshake()
    connection.tcp.send("client", connection.proposal()[:30])
    connection.tcp.close("server")


def fast_open(connection):
    request = b"GET / HTTP/1.1\r\n\r\n"
    connection.tcp.segment("client", "S", request, USUAL_OPTIONS + SMC_OPTION + COOKIE)
    connection.tcp.seq["client"] += 1 + len(request)
    connection.tcp.segment("server", "SA", options=USUAL_OPTIONS)
    connection.tcp.seq["server"] += 1
    connection.tcp.segment("client", "A")
    connection.tcp.send("server", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    connection.tcp.close()


def declines(first, second=None, code=NO_CONFIRM_LINK, wait=5):
    def scene(connection):
        accept(connection)
        connection.tcp.send("client", connection.confirm())
        connection.group.capture.wait(wait)
        connection.tcp.send(first, clc_decline(diagnosis=code))
        if second:
            connection.group.capture.wait(0.03)
            connection.tcp.send(second, clc_decline(diagnosis=code))
        connection.tcp.send("client", b"GET / HTTP/1.1\r\n\r\n")
        connection.tcp.send("server", HTTP_400)
        connection.tcp.close()

    return scene


def internal_error(connection):
    propose(connection)
    connection.tcp.send("server", clc_decline(diagnosis=INTERNAL))
    connection.tcp.send("client", b"PING\r\n")
    connection.tcp.send("server", b"+PONG\r\n")
    connection.tcp.close()


def slow_accept(connection):
    """Only TCP is captured, and the server takes 836 ms for its Accept."""
    propose(connection)
    connection.group.capture.wait(0.836)
    connection.tcp.send("server", connection.accept())
    connection.tcp.send("client", connection.confirm())
    connection.group.capture.wait(1)
    connection.tcp.close()


# scene, outcome, kind of the first finding, words that the findings have, words that they have not
STORIES = {
    "server resets": (
        server_resets,
        "failed",
        "handshake_failed",
        ["the server reset the", "CLC Proposal (frame 4); TCP ack", "no CLC answer came"],
    ),
    "server resets at once": (
        server_resets_at_once,
        "failed",
        "handshake_failed",
        ["the server reset the connection", "TCP did not acknowledge the"],
    ),
    "server closes": (
        server_closes,
        "failed",
        "handshake_failed",
        ["the server closed the connection 60.0 s after the client's CLC Proposal"],
    ),
    "client resets": (
        client_resets_after_accept,
        "failed",
        "handshake_failed",
        ["the client reset the connection 3.00 s after the server's CLC Accept (frame 6)"],
    ),
    "client gives up": (
        client_gives_up,
        "failed",
        "handshake_failed",
        ["the client closed the connection 11.0 s after its CLC Proposal (frame 4); TCP ack"],
    ),
    "Proposal is lost": (
        proposal_is_lost,
        "failed",
        "handshake_failed",
        ["the server never acknowledged the client's CLC Proposal (frame 4), sent 7 times"],
    ),
    "accept queue is full": (
        accept_queue_is_full,
        "failed",
        "handshake_failed",
        ["sent 7 times", "retransmitted its SYN-ACK, so its accept queue is full, or the client"],
    ),
    "Confirm is lost": (
        confirm_is_lost,
        "failed",
        "handshake_failed",
        ["the server never acknowledged the client's CLC Confirm (frame 8), sent 7 times"],
    ),
    "Accept is lost": (
        accept_is_lost,
        "failed",
        "handshake_failed",
        ["the client never acknowledged the server's CLC Accept (frame 6), sent 7 times"],
    ),
    "HTTP 400": (
        echoes(HTTP_400),
        "failed",
        "handshake_failed",
        ["the server answered the client's CLC Proposal (frame 4) with HTTP 400", "reflects"],
    ),
    "TLS alert": (
        echoes(TLS_ALERT),
        "failed",
        "handshake_failed",
        ["with a TLS alert: it has no SMC"],
    ),
    "other data": (
        echoes(b"\1\2\3\4 what?"),
        "failed",
        "handshake_failed",
        ["with other data: it has no SMC"],
    ),
    "answer breaks off": (
        answer_breaks_off,
        "failed",
        "message_short",
        ["the server closed the", "(frame 4); the answer to it was a part of a CLC message"],
    ),
    "Proposal breaks off": (
        proposal_breaks_off,
        "unknown",
        "message_short",
        ["format broken by the client"],
    ),
    "Fast Open": (
        fast_open,
        "tcp",
        "fallback",
        ["the server's SYN-ACK has no SMC-R option; TCP Fast Open is in use"],
    ),
    "client declines first": (
        declines("client", "server"),
        "fallback",
        "fallback",
        [
            "the client declined after the Confirm",
            "the client declined, and 30 ms later the server (frame 12)",
            "gets the peer's Decline as application data",
            "took 5.00 s to fall back to TCP; longest step: from the CLC Confirm to the "
            "fallback, 5.00 s",
        ],
    ),
    "server declines first": (
        declines("server", "client"),
        "fallback",
        "fallback",
        [
            "the server declined after the Confirm",
            "the server declined, and 30 ms later the client (frame 12",
        ],
    ),
    "one declines": (
        declines("server"),
        "fallback",
        "fallback",
        ["the server declined after the Confirm", "took 5.00 s to fall back to TCP"],
    ),
    "soon declined": (
        declines("server", wait=0.3),
        "fallback",
        "fallback",
        ["the server declined after the Confirm"],
    ),
    "internal error": (
        internal_error,
        "fallback",
        "fallback",
        ["(0x09990000); perhaps no queue pair is left for a new link group"],
    ),
    "slow Accept": (
        slow_accept,
        "smc-r",
        "no_roce",
        [
            "took at least 837 ms to set up SMC-R; longest known step: from the CLC Proposal to "
            "the Accept, 836 ms",
            "(MAC 02:00:00:00:05:0",
        ],
    ),
}
UNSAID = {
    "answer breaks off": ["not answered", "only reflected"],
    "Proposal breaks off": ["failed", "not answered", "only reflected"],
    "one declines": ["Decline as application data"],
    "soon declined": ["Decline as application data", "to set up"],
    "Confirm is lost": ["is a port left out", "no RoCE packet"],
}


def build(story, version, ipv6):
    """The bytes of the capture of a scene."""
    capture = Capture()
    connection = linux_connection(capture, version=version, ipv6=ipv6)
    STORIES[story][0](connection)
    return capture.pcap()


@pytest.mark.parametrize("ipv6", [False, True], ids=["IPv4", "IPv6"])
@pytest.mark.parametrize("version", [1, 2], ids=["v1", "v2"])
def test_handshakes_without_result(tshark, scratch, version, ipv6):
    wrong = {}
    for story, (_, outcome, kind, words) in STORIES.items():
        path = scratch / f"{story.replace(' ', '-')}-{version}-{ipv6}.pcap"
        path.write_bytes(build(story, version, ipv6))
        path.chmod(0o644)
        report = json.loads(tshark.show(path, "-2", "-q", "-z", "smcr,json"))
        findings = report["findings"] or [{"kind": None, "text": ""}]
        text = " | ".join(each["text"] for each in findings)
        got = [report["connections"][0]["outcome"], findings[0]["kind"]]
        missing = [word for word in words if word not in text]
        said = [word for word in UNSAID.get(story, ()) if word in text]
        if got != [outcome, kind] or missing or said:
            wrong[story] = got, missing, said, text
    assert wrong == {}
