"""Requests and responses find each other, LLC messages and the steps of the CLC exchange alike."""

import decimal
import types

import ground_truth
import pytest
import traffic
from bed import captures

FIELDS = (
    "smcr",
    "frame.number",
    "frame.time_epoch",
    "eth.src",
    "smcr.lgr",
    "smcr.llc.type",
    "smcr.llc.response",
    "smcr.request_in",
    "smcr.response_in",
    "smcr.response_time",
    "smcr.retransmission",
    "smcr.no_response",
    "smcr.llc.collision",
    "smcr.llc.second_answer",
    "smcr.llc.all_links",
    "smcr.dir",
    "smcr.clc.type",
    "tcp.stream",
)
ANY = "smcr || smcr.llc.type || smcr.clc.type"
ACCEPT, CONFIRM = "23"

# Requests of a client that the server answers with a request of its own: {type: type of the
# answer}. (RFC 7609 A.3.4; net/smc/smc_llc.c: a version 1 client asks for a link with an ADD LINK
# request)
ANSWERED_BY_REQUEST = {
    "0x02": "0x02",
    "0x04": "0x04",
    "0x05": "0x02",
    "0x24": "0x24",
    "0x25": "0x22",
}

# A response whose request is not the message of the same type just before it: a group of messages
# is one exchange.
CONFIRM_RKEY, CONFIRM_RKEY_CONTINUATION = "0x06", "0x08"

ADD_LINK = ("0x02", "0x05", "0x25")  # of a client: it wishes for a link, or answers

KNOWN_TYPES = {
    *range(0x01, 0x0A),
    0x21,
    0x22,
    0x24,
    0x25,
    0x26,
    0x27,
    0x29,
}  # others have no exchange

DELETE_LINK = ("0x04", "0x24")
GIVEN_UP = 5  # seconds after which nobody waits any more


def number(row):
    return int(row["frame.number"][0])


def one(row, field):
    """The frame that a field points at; None when it is not there."""
    assert len(row[field]) <= 1
    return int(row[field][0]) if row[field] else None


def is_response(row):
    return row["smcr.llc.response"] in (["1"], ["True"])


@pytest.fixture(scope="module", params=captures("real", "synthetic"))
def seen(request, tshark):
    """A capture: its name, its LLC messages by frame, and when its last SMC-R packet came."""
    rows = traffic.rows(tshark, request.param, *FIELDS, where=ANY)
    times = [time for row in rows if row["smcr"] for time in row["frame.time_epoch"]]
    return types.SimpleNamespace(
        name=request.param,
        llc={number(row): row for row in rows if row["smcr.llc.type"]},
        end=max(map(decimal.Decimal, times), default=0),
    )


def test_pointers_go_both_ways(seen):
    """A request points at its response, that points back; so does a response that was
    retransmitted, and a second one."""
    for at, row in seen.llc.items():
        if answer := one(row, "smcr.response_in"):
            assert not is_response(row) and answer > at
            assert one(seen.llc[answer], "smcr.request_in") == at
        if request := one(row, "smcr.request_in"):
            assert request < at
            first = one(seen.llc[request], "smcr.response_in")
            again = row["smcr.retransmission"] or row["smcr.llc.second_answer"]
            assert first == at or first < at and again, (at, request, first)


def test_answer_fits_the_request(seen):
    """A response of the same type, or the request that answers this one; in the same link group,
    from the other host."""
    for at, row in seen.llc.items():
        if answer := one(row, "smcr.response_in"):
            (asked,), (answered,) = row["smcr.llc.type"], seen.llc[answer]["smcr.llc.type"]
            if not is_response(seen.llc[answer]):
                assert answered == ANSWERED_BY_REQUEST[asked], (at, answer)
                ends_group = seen.llc[answer]["smcr.llc.all_links"] in (["1"], ["True"])
            elif asked == CONFIRM_RKEY:
                assert answered in (CONFIRM_RKEY, CONFIRM_RKEY_CONTINUATION), (at, answer)
            else:
                assert answered == asked, (at, answer)
            assert row["smcr.lgr"] == seen.llc[answer]["smcr.lgr"]
            if seen.name in ground_truth.names():
                senders = [traffic.sender(each["eth.src"][0]) for each in (row, seen.llc[answer])]
                if is_response(seen.llc[answer]):
                    assert senders in ([0, 1], [1, 0])
                else:  # Linux answers with a request of its own when a server ends the group
                    assert senders == ([1, 0] if ends_group else [0, 1])


def test_response_time(seen):
    for at, row in seen.llc.items():
        request = one(row, "smcr.request_in")
        assert bool(request) == bool(row["smcr.response_time"]), at
        if request:
            first = (
                row
                if row["smcr.llc.second_answer"]
                else seen.llc[one(seen.llc[request], "smcr.response_in")]
            )
            took = decimal.Decimal(first["frame.time_epoch"][0]) - decimal.Decimal(
                seen.llc[request]["frame.time_epoch"][0]
            )
            assert decimal.Decimal(row["smcr.response_time"][0]) == took, at


def test_every_response_has_its_request(seen):
    """In real captures no response came before the capture began."""
    if seen.name in ground_truth.names():
        assert [
            at for at, row in seen.llc.items() if is_response(row) and not row["smcr.request_in"]
        ] == []


def test_request_without_response_says_so(seen):
    """
    Once nobody waits for it any more. Not where the server was doing already what the client asks
    for: the two messages crossed. Nor where the client answers the server's end of the group.
    """
    for at, row in seen.llc.items():
        known = int(row["smcr.llc.type"][0], 0) in KNOWN_TYPES
        crossed = bool(row["smcr.llc.collision"]) and row["smcr.dir"] == ["0"]
        answers = (
            row["smcr.llc.type"][0] in DELETE_LINK
            and bool(row["smcr.request_in"])
            and row["smcr.dir"] == ["0"]
        )
        if known and not is_response(row) and not row["smcr.retransmission"]:
            waited = seen.end - decimal.Decimal(row["frame.time_epoch"][0]) > GIVEN_UP
            optional = (
                row["smcr.llc.type"][0] in ADD_LINK
                and row["smcr.dir"] == ["0"]
                or any(
                    other["smcr.llc.all_links"] in (["1"], ["True"])
                    and other["smcr.lgr"] == row["smcr.lgr"]
                    and when >= at
                    for when, other in seen.llc.items()
                )
            )
            silent = not row["smcr.response_in"] and not crossed and not answers and not optional
            assert bool(row["smcr.no_response"]) == (silent and waited), at


@pytest.mark.parametrize("name", ground_truth.names())
def test_steps_of_the_clc_exchange(tshark, name):
    """Proposal, Accept, Confirm of a TCP connection: each is the answer to the one before."""
    by_tcp = {}
    for row in traffic.rows(tshark, name, *FIELDS, where=ANY):
        if not row["smcr.clc.type"]:
            continue
        by_tcp.setdefault(row["tcp.stream"][0], []).append(row)
    for messages in by_tcp.values():
        for before, after in zip(messages, messages[1:]):
            if after["smcr.clc.type"][0] in (ACCEPT, CONFIRM):
                assert one(before, "smcr.response_in") == number(after)
                assert one(after, "smcr.request_in") == number(before)
                took = decimal.Decimal(after["frame.time_epoch"][0]) - decimal.Decimal(
                    before["frame.time_epoch"][0]
                )
                assert decimal.Decimal(after["smcr.response_time"][0]) == took
