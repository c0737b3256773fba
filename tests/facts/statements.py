#!/usr/bin/python3
"""
What the plugin says in one frame about others is right.

    tests/facts/statements.py [--plugin FILE] [--list] [FOLDER or CAPTURE ...]

Compares each statement about another frame with what a reader of its own finds in the bytes
(proof_*.py), in one pass and in two, and prints a table. Wrong is what the bytes contradict. Absent
is what the bytes prove and two passes do not say, in no packet that carries the same message.
Without a place, all captures of the project are read.
"""

import argparse
import collections
import decimal
import functools
import os
import pathlib
import re
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import bed  # noqa: E402
import proof_exchanges  # noqa: E402
import proof_packets  # noqa: E402
import proof_windows  # noqa: E402
from bed import TOP  # noqa: E402

KINDS = {
    "crosses": ["smcr.llc.collision"],
    "request": ["smcr.request_in", "smcr.llc.no_request"],
    "response": ["smcr.response_in", "smcr.response_time", "smcr.no_response"],
    "repeat": [
        "smcr.retransmission",
        "smcr.retransmission.taken",
        "smcr.sent_before",
        "smcr.duplicate",
        "smcr.resent.cause",
        "smcr.resent.from",
        "smcr.peer_silent",
    ],
    "missing": [
        "smcr.missing",
        "smcr.behind_gap",
        "smcr.discarded",
        "smcr.stream.gap",
        "smcr.cdc.unseen_data",
        "smcr.write.no_start",
    ],
    "acknowledged": ["smcr.acks", "smcr.ack_time", "smcr.write.acked_in", "smcr.write.ack_time"],
    "announced": [
        "smcr.announced_in",
        "smcr.cdc.len",
        "smcr.cdc.announced",
        "smcr.cdc.writes",
        "smcr.cdc.first_write",
        "smcr.cdc.last_write",
        "smcr.stream.offset",
    ],
    "read": ["smcr.cdc.read", "smcr.cdc.consumed", "smcr.cdc.read_of", "smcr.cdc.read_time"],
    "unread": [
        "smcr.window.unread",
        "smcr.window.free",
        "smcr.window.percent",
        "smcr.window.offered",
        "smcr.window.written",
    ],
    "blocked": [
        "smcr.window.writer_blocked",
        "smcr.window.full",
        "smcr.window.opened",
        "smcr.window.late_update",
    ],
    "waits": ["smcr.window.wait_until", "smcr.window.wait_time"],
}
FIELDS = [field for fields in KINDS.values() for field in fields]
OF_PACKETS = {*KINDS["repeat"], *KINDS["missing"], "smcr.acks", "smcr.ack_time"}
# Captures with packets or messages that the reader does not read.
NOT_READ = {
    "peer-other-link": "queue pairs of one connection on two links",
    "peer-replay": "several messages that come again one by one",
    "rule-clc-group": "queue pairs that belong to no link",
    "rule-clc-qp": "queue pairs of two links at once",
    "rule-cdc-cursor": "cursors ahead of what was written",
    "rule-cdc-number": "cursors outside of their elements",
    "rule-cdc-token": "types that are not CDC, tokens of nobody",
    "rule-rkey-echo": "responses that repeat something else",
    "ib-native": "a capture without TCP: nothing tells who is the client",
    "exported-source": "no packets, but what another dissector has exported",
    "vectors": "single messages: nothing tells who sends them",
    "llc-v2-long-add-link": "a message in several packets",
    "anck": "WRITEs with immediate data",
    "roce-odd": "WRITEs with immediate data",
    "roce-headers": "headers that no sender makes",
    "clc-length": "CLC messages whose length is wrong",
    "llc-length": "LLC and CDC messages whose length is wrong",
    "clc-contradictions": "CLC messages that contradict each other",
    "llc-contradictions": "LLC responses to other requests",
}
FABRIC = [
    "cm-and-smc",
    "cnp-smc",
    "ecn-ce-smc",
    "nak-loss-smc",
]  # those of captures/fabric with SMC-R
COLLISION, MESSAGE, NUMBER = "smcr.llc.collision", "_ws.expert.message", "frame.number"
PASSES = {1: "one pass", 2: "two passes"}

Statement = collections.namedtuple(
    "Statement", "passes frame field value right"
)  # right: the values that would be
Outcome = collections.namedtuple(
    "Outcome", "checked wrong absent"
)  # {field: number}, [Statement], [(field, frame)]


# ---- what the plugin says ----


def number(field, text):
    """The value of a field: a time in nanoseconds, a truth as 0 or 1."""
    if field.endswith("_time"):
        return int(decimal.Decimal(text) * 10**9)
    return int(text == "True") if text in ("True", "False") else int(text, 0)


def crossed(messages):
    """The frame that the sentence about a crossing names; None if it names none."""
    found = [re.search(r"cross.*?frame (\d+)", message) for message in messages]
    return next((int(match[1]) for match in found if match), None)


def said(tshark, path, passes):
    """What is said in each frame: (frame, field, value)."""
    rows = tshark.fields(path, NUMBER, *FIELDS, two_pass=passes == 2)
    names = (
        {
            int(row[0][0]): crossed(row[1])
            for row in tshark.fields(path, NUMBER, MESSAGE, where=COLLISION, two_pass=passes == 2)
        }
        if any(row[1 + FIELDS.index(COLLISION)] for row in rows)
        else {}
    )
    for (frame, *_), *values in rows:
        for field, texts in zip(FIELDS, values, strict=True):
            for text in texts:
                yield int(frame), field, names[int(frame)] if field == COLLISION else number(
                    field, text
                )


# ---- what is right ----


class Proof:
    """What the bytes of a capture prove."""

    def __init__(self, path):
        capture = proof_packets.read(path)
        self.packets = proof_packets.right_of_packets(capture)
        self.messages = [
            proof_exchanges.right_of_exchanges(capture),
            proof_windows.right_of_streams(capture),
        ]
        self.carriers = {frame: sent.frames for sent in capture.sent for frame in sent.frames}

    def right(self, field, frame):
        """The values that may be shown; none if nothing may be."""
        return next(
            (
                right[field][frame]
                for right in [self.packets, *self.messages]
                if frame in right.get(field, ())
            ),
            (),
        )

    def carried(self, field, frame):
        """
        All packets with which a thing may be said: those that carry the same message. How a packet
        fared is said of it alone.
        """
        return tuple(self.carriers.get(frame, (frame,))) if field not in OF_PACKETS else (frame,)

    def expected(self):
        """(field, frames) of all that could be said: in one of the frames."""
        return sorted(
            {
                (field, self.carried(field, frame))
                for each in [self.packets, *self.messages]
                for field, right in each.items()
                for frame in right
                if (field, frame) not in each.unsure
            }
        )


def judge(proof, passes, every):
    """The wrong ones of what is said."""
    return [
        Statement(passes, frame, field, value, proof.right(field, frame))
        for frame, field, value in every
        if not is_right(value, proof.right(field, frame))
    ]


def is_right(value, right):
    return value in right or value is None and bool(right)


def compare(tshark, path, proof_path=None):
    """The outcome of a capture."""
    proof, checked, wrong = Proof(proof_path or path), collections.Counter(), []
    for passes in PASSES:
        every = list(said(tshark, path, passes))
        checked.update(field for _, field, _ in every)
        wrong += judge(proof, passes, every)
        shown = {(field, frame) for frame, field, _ in every}
    absent = [
        (field, frames[0])
        for field, frames in proof.expected()
        if field in FIELDS and not any((field, frame) in shown for frame in frames)
    ]
    return Outcome(checked, wrong, absent)


# ---- report ----


def line(name, each):
    right = (
        f"{each.right[0]} to {each.right[-1]}"
        if isinstance(each.right, range) and each.right
        else (" or ".join(map(str, sorted(each.right))) or "nothing")
    )
    return (
        f"{name}, {PASSES[each.passes]}: frame {each.frame}, {each.field}: {each.value}, right "
        f"is {right}"
    )


def table(outcomes):
    """Rows of the table: kind, statements checked, wrong, absent."""
    yield "| kind | fields | checked | wrong | absent |"
    yield "|---|---|---|---|---|"
    sums = [0, 0, 0]
    for kind, fields in KINDS.items():
        counts = [
            sum(each.checked[field] for each in outcomes for field in fields),
            sum(each.field in fields for outcome in outcomes for each in outcome.wrong),
            sum(field in fields for outcome in outcomes for field, _ in outcome.absent),
        ]
        sums = [one + other for one, other in zip(sums, counts)]
        names = ", ".join(f"`{field.removeprefix('smcr.')}`" for field in fields)
        yield f"| {kind} | {names} | {' | '.join(f'{count:,}' for count in counts)} |"
    yield f"| all | | {' | '.join(f'{count:,}' for count in sums)} |"


def captures():
    """The project's captures with SMC-R that the reader reads: {name: path}."""
    fabric = {name: TOP / "captures" / "fabric" / f"{name}.pcapng.gz" for name in FABRIC}
    return {
        name: path for name, path in {**bed.captures(), **fabric}.items() if name not in NOT_READ
    }


def paths(places):
    """Paths of captures: those of folders, and those given; all of the project if none are."""
    for place in places:
        yield from sorted(place.glob("*.pcap*")) if place.is_dir() else [place]
    yield from () if places else captures().values()


def copy(tshark, path):
    """A copy of a capture that tshark may read."""
    place = tshark.bed.scratch / f"statements-{os.getpid()}"
    place.mkdir(exist_ok=True)
    shutil.copyfile(path, place / path.name)
    return place / path.name


@functools.cache
def compare_copy(tshark, path):
    """Compare a capture, wherever it is."""
    return compare(tshark, copy(tshark, path), path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument(
        "--plugin", type=pathlib.Path, metavar="FILE", help="another build of the plugin"
    )
    parser.add_argument("--list", action="store_true", help="list what is absent, too")
    parser.add_argument(
        "places",
        nargs="*",
        type=pathlib.Path,
    )
    arguments = parser.parse_args()
    with bed.new_bed() as place:
        if arguments.plugin:
            place.add_plugin(arguments.plugin, "given")
        tshark = bed.Tshark(place, "given" if arguments.plugin else "debug")
        outcomes = {path.name: compare_copy(tshark, path) for path in paths(arguments.places)}
    print("\n".join(table(outcomes.values())))
    for name, outcome in outcomes.items():
        for each in outcome.wrong:
            print(line(name, each))
        for field, frame in outcome.absent if arguments.list else ():
            print(f"{name}: frame {frame}, {field} is absent")


if __name__ == "__main__":
    main()
