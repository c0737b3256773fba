"""Why a connection fell back to TCP is told on the frame that decides it; after that, it is plain
TCP."""

import collections

import ground_truth
import kernel
import pytest
import traffic

Fallback = collections.namedtuple("Fallback", "frame reason code")

# What is added when the handshake was complete, but the link has not shown itself.
NO_ROCE = "; no RoCE packet of the link is captured"

# What decides: the first frame with the reason, the reason, the kernels' code of it (None: they
# have none).
FALLBACKS = {
    "6.1-v1-f1-decline-server-no-device": Fallback(
        6, "the server declined after the Proposal: no SMC device (0x03030000)", 0x03030000
    ),
    "6.1-v2-f1-decline-server-no-device": Fallback(
        6,
        "the server declined after the Proposal: no RDMA device for SMC-R (0x03030002)",
        0x03030002,
    ),
    "6.1-v1-f3-plain-tcp-server": Fallback(
        2, "the server's SYN-ACK has no SMC-R option", 0x03010000
    ),
    "6.1-v1-f6-decline-confirm-link-timeout": Fallback(
        12,
        "the client declined after the Confirm: timeout waiting for CONFIRM LINK (0x02010000)"
        + NO_ROCE,
        0x02010000,
    ),
    "6.1-v2-f6-decline-confirm-link-timeout": Fallback(
        10,
        "the server declined after the Confirm: timeout waiting for CONFIRM LINK (0x02010000)"
        + NO_ROCE,
        0x02010000,
    ),
    "6.1-v2-b-ipv6-client-declines": Fallback(
        4, "the client declined before any Proposal: no SMC device (0x03030000)", 0x03030000
    ),
    "clc-noclc-80": Fallback(
        4,
        (
            "both sides sent the SMC-R option, but no CLC message follows; a server or middlebox "
            "may only reflect it, or a firewall may remove it after the capture point"
        ),
        None,
    ),
    "clc-port80-http": Fallback(
        6, "the server declined after the Proposal: no SMC device (0x03030000)", None
    ),
}

every_fallback = pytest.mark.parametrize("name", FALLBACKS)


@every_fallback
def test_reason_on_the_frame_that_decides(tshark, name):
    rows = traffic.rows(
        tshark, name, "frame.number", "smcr.fallback.reason", where="smcr.fallback.reason"
    )
    reasons = [(int(row["frame.number"][0]), ";".join(row["smcr.fallback.reason"])) for row in rows]
    assert reasons[0] == FALLBACKS[name][:2]
    assert {reason for _, reason in reasons} == {FALLBACKS[name].reason}


@every_fallback
def test_expert_item_on_the_frame_that_decides_only(tshark, name):
    assert (
        tshark.frames(name, "smcr.fallback || smcr.clc.declined", two_pass=True)[0]
        == FALLBACKS[name].frame
    )
    assert len(tshark.frames(name, "smcr.fallback", two_pass=True)) <= 1


@pytest.mark.parametrize("name", [name for name, fallback in FALLBACKS.items() if fallback.code])
def test_reason_is_the_one_that_the_kernels_counted(name):
    assert FALLBACKS[name].code in set().union(*kernel.fallback_codes(name))


def test_every_fallback_of_the_kernels_is_tested():
    """Except where the client does not offer SMC at all: then nothing in the capture says so."""
    fell_back = {name for name in ground_truth.names() if any(kernel.fallback_codes(name))}
    assert fell_back - set(FALLBACKS) == {"6.1-v2-f4-plain-tcp-client"}


@every_fallback
def test_connection_filter_finds_all_segments(tshark, name):
    """smcr.stream, endpoints and ports are on all segments of its TCP, with data and without: as
    tcp.stream and tcp.port."""
    rows = traffic.rows(
        tshark,
        name,
        "frame.number",
        "tcp.stream",
        "smcr.stream",
        "smcr.endpoint.src",
        "ip.src",
        "ipv6.src",
        "tcp.srcport",
        "tcp.dstport",
        "smcr.srcport",
        "smcr.dstport",
        where="tcp && !icmp && !icmpv6",
    )
    stream = next(row["tcp.stream"] for row in rows if row["smcr.stream"] == ["0"])
    found = [row for row in rows if row["tcp.stream"] == stream]
    assert (
        len(found) > len(tshark.frames(name, "smcr.stream == 0 && tcp.len > 0", two_pass=True)) + 1
    )
    assert {row["frame.number"][0] for row in rows if row["smcr.stream"] == ["0"]} == {
        row["frame.number"][0] for row in found
    }
    for row in found:
        address = row["ip.src"][0] if row["ip.src"] else f"[{row['ipv6.src'][0]}]"
        assert row["smcr.endpoint.src"] == [f"{address}:{row['tcp.srcport'][0]}"]
        assert (row["smcr.srcport"], row["smcr.dstport"]) == (
            row["tcp.srcport"],
            row["tcp.dstport"],
        )


@every_fallback
def test_data_is_dissected_as_without_the_plugin(tshark, tshark_without, name):
    """frame.protocols of all frames but those with CLC messages, where the built-in dissector may
    say what it likes."""
    clc = set(tshark.frames(name, "smcr.clc.type", two_pass=True))
    ours, theirs = (
        {
            int(row["frame.number"][0]): row["frame.protocols"]
            for row in traffic.rows(each, name, "frame.number", "frame.protocols")
        }
        for each in (tshark, tshark_without)
    )
    assert {number: value for number, value in ours.items() if number not in clc} == {
        number: value for number, value in theirs.items() if number not in clc
    }


def test_every_decline_in_words(tshark):
    """Who declined, at which step, and the code in words, for all codes that Linux knows."""
    unusual = {
        "42002": ("client", "before any Proposal"),
        "42003": ("server", "after the Confirm"),
        "42004": ("client", "after the Accept"),
    }
    rows = traffic.rows(
        tshark,
        "clc-decline-codes",
        "smcr.client.port",
        "smcr.clc.diagnosis",
        "smcr.clc.diagnosis.text",
        "smcr.fallback.reason",
        where="smcr.clc.type == 4",
    )
    assert len(rows) == 51
    for row in rows:
        (port,), (code,), text, reason = row.values()
        who, step = unusual.get(port, ("server", "after the Proposal"))
        more = NO_ROCE if step == "after the Confirm" else ""
        assert ";".join(reason) == f"the {who} declined {step}: {';'.join(text)} ({code}){more}"
