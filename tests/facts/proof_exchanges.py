"""
What the bytes of a capture prove of requests and responses, told without the plugin: CLC and LLC
exchanges, and which requests cross. RFC 7609 A.2, A.3, 3.5.5.3.
"""

import collections

import rc_reader
import wire
from proof_packets import LLC_LENGTH, RESPONSE, SERVER, Right

PROPOSAL, ACCEPT, CONFIRM, DECLINE = 1, 2, 3, 4
(
    CONFIRM_LINK,
    ADD_LINK,
    ADD_LINK_CONTINUATION,
    DELETE_LINK,
    REQUEST_ADD_LINK,
    CONFIRM_RKEY,
    TEST_LINK,
) = range(1, 8)
CONFIRM_RKEY_CONTINUATION, DELETE_RKEY = 8, 9
VERSION_2, CDC = 0x20, 0xFE
ALL_LINKS = (
    0x40  # flag of DELETE LINK; what Linux answers to that is no response, but a request of its own
)
RKEYS = {CONFIRM_RKEY, CONFIRM_RKEY_CONTINUATION, DELETE_RKEY}
# nanoseconds in which a host may not have looked at what its adapter has acknowledged
LATELY = 1_000_000

# Bytes that a response repeats, by type; of what else is a list only its length is sure.
REPEATED = {
    CONFIRM_LINK: slice(29, 30),
    ADD_LINK_CONTINUATION: slice(4, 5),
    TEST_LINK: slice(4, 20),
    CONFIRM_RKEY: slice(5, 17),
    DELETE_RKEY: slice(4, 5),
}

# A client's requests that the server answers with a request of its own: (type of the request, type
# of the answer).
ANSWERED_BY_REQUEST = {ADD_LINK: ADD_LINK, DELETE_LINK: DELETE_LINK, REQUEST_ADD_LINK: ADD_LINK}


class Llc:
    """An LLC message: all packets that carry it."""

    def __init__(self, sent, side, data):
        self.sent, self.side, self.data = sent, side, data
        self.version_2, self.type = bool(data[0] & VERSION_2), data[0] & ~VERSION_2
        self.is_response = bool(data[3] & RESPONSE)
        self.frames, self.first, self.time = sent.frames, sent.first, sent.header.time
        self.answers, self.request = (
            [],
            None,
        )  # of a request; of a response or a request that answers

    def is_kin(self, other):
        """Of the same kind, with the same values where a response repeats them."""
        repeated = REPEATED.get(self.type, slice(0))
        return (self.type, self.version_2) == (other.type, other.version_2) and (
            self.data[repeated] == other.data[repeated]
        )


def llc_messages(capture):
    found = []
    for sent in capture.sent:
        side, data = capture.side(sent.header.flow), capture.payload[sent.first]
        if (
            side is not None
            and sent.header.opcode == wire.SEND_ONLY
            and len(data) >= LLC_LENGTH
            and data[0] != CDC
            and data[0] & ~VERSION_2 in range(CONFIRM_LINK, DELETE_RKEY + 1)
        ):
            found.append(Llc(sent, side, data))
    return sorted(found, key=lambda each: each.first)


# ---- who answers whom ----


def may_answer(message, request):
    """Is a message an answer to a request that came before it?"""
    if request.is_response or request.side == message.side or request.first > message.first:
        return False
    if message.is_response:
        return request.is_kin(message)
    if message.type == request.type == DELETE_LINK and message.side != SERVER:
        return bool(message.data[3] & request.data[3] & ALL_LINKS) and was_seen(request, message)
    return (
        message.side == SERVER
        and request.version_2 == message.version_2
        and ANSWERED_BY_REQUEST.get(request.type) == message.type
    )


def on_one_link(message, request):
    return request.sent.header.flow == message.sent.header.reverse


def candidates(message, messages):
    """The requests that a message may answer: those without an answer, else those whose answer it
    may take back."""
    found = [each for each in messages if may_answer(message, each)]
    found = [each for each in found if on_one_link(message, each)] or found
    waiting = [each for each in found if not each.answers]
    return waiting or (found[-1:] if message.is_response else [])


def pair(messages):
    """Each answer takes the latest request that it may answer. Returns the candidates of each
    answer."""
    found = {}
    for message in messages:
        found[message] = candidates(message, messages)
        if found[message]:
            message.request = found[message][-1]
            message.request.answers.append(message)
    return found


def right_of_pairs(messages, capture, right):
    asked = pair(messages)
    for message, requests in asked.items():
        for request in requests:
            for frame in message.frames:
                right.allow("smcr.request_in", frame, *request.frames)
                right.allow(
                    "smcr.response_time",
                    frame,
                    *(
                        capture.times[end] - capture.times[start]
                        for end in message.sent.moments
                        for start in request.sent.moments
                    ),
                )
            for frame in request.frames:
                right.allow("smcr.response_in", frame, *message.frames)
        for frame in message.frames if message.is_response and not requests else ():
            right.allow("smcr.llc.no_request", frame, 1)
    answered = {request for requests in asked.values() for request in requests}
    for message in messages:
        for frame in message.frames if not message.is_response and message not in answered else ():
            right.allow("smcr.no_response", frame, 1)


# ---- what crosses ----


def acknowledged_at(message):
    """When the first acknowledgement came that covers a message; None if none came."""
    return next(
        (
            event.header.time
            for event in message.sent.life.events
            if isinstance(event, rc_reader.Answer)
            and event.psn is not None
            and event.covers >= message.sent.psn
            and event.header.frame > message.first
        ),
        None,
    )


def was_seen(before, message):
    """Had the sender of a message seen the one before, since its adapter acknowledged that long
    ago?"""
    when = acknowledged_at(before)
    return when is not None and message.time - when > max(LATELY, when - before.time)


def crosses(message, before):
    """Does a request cross one of the other side that came before it?"""
    if (
        message.is_response
        or before.is_response
        or before.side == message.side
        or before.first > message.first
        or message in before.answers
    ):
        return False
    if TEST_LINK in (message.type, before.type) or {message.type, before.type} <= RKEYS:
        return False
    answered = any(each.first < message.first for each in before.answers)
    return not answered and not was_seen(before, message)


def right_of_collisions(messages, right):
    """The value is the frame that is crossed."""
    for message in messages:
        crossed = [before for before in messages if crosses(message, before)]
        for frame in message.frames if crossed else ():
            right.allow(
                "smcr.llc.collision", frame, *(each for before in crossed for each in before.frames)
            )


# ---- CLC ----


def right_of_clc(capture, right):
    """
    An Accept answers the Proposal before it, a Confirm the Accept. A Decline answers the one that
    waits. A second one of the same kind asks nothing: the first is read.
    """
    talks = collections.defaultdict(list)
    for clc in capture.clc:
        talks[frozenset(clc.ends)].append(clc)
    for talk in talks.values():
        waiting = None
        for clc in talk:
            kind = clc.data[4]
            if (
                waiting
                and waiting.ends == clc.ends[::-1]
                and (kind == DECLINE or kind == waiting.data[4] + 1 and kind in (ACCEPT, CONFIRM))
            ):
                right.allow("smcr.request_in", clc.frame, waiting.frame)
                right.allow("smcr.response_in", waiting.frame, clc.frame)
                right.allow(
                    "smcr.response_time",
                    clc.frame,
                    capture.times[clc.frame] - capture.times[waiting.frame],
                )
                waiting = None
            if kind in (PROPOSAL, ACCEPT) and not (
                waiting and waiting.ends == clc.ends and waiting.data[4] == kind
            ):
                if waiting:
                    right.allow("smcr.no_response", waiting.frame, 1)
                waiting = clc
        if waiting:
            right.allow("smcr.no_response", waiting.frame, 1)


def right_of_exchanges(capture):
    right = Right()
    messages = llc_messages(capture)
    right_of_pairs(messages, capture, right)
    right_of_collisions(messages, right)
    right_of_clc(capture, right)
    return right
