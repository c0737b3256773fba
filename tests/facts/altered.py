#!/usr/bin/python3
"""
Attribution is right or absent, whatever a capture lacks.

    tests/facts/altered.py [--only KIND] [--every N] [--plugin FILE] [CAPTURE ...]

Alters captures in many ways (alterations.py) and prints a table. Each frame of the altered capture
is compared with the same frame of the whole one, in one pass over the altered capture and in two.
What is shown of the frame must be the same, but it may be missing. The table counts what is wrong,
what is lost, and what is new: shown of the altered capture only.
"""

import argparse
import collections
import concurrent.futures
import functools
import itertools
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import alterations  # noqa: E402
import pcapng  # noqa: E402
import sharkd  # noqa: E402
import wire  # noqa: E402
from bed import Tshark, new_bed  # noqa: E402

CAPTURES = (
    "6.1-v2-a-first-contact-ipv4",
    "6.1-v1-c2-capture-starts-late",
    "6.1-v2-j-http11",
    "6.1-v1-c-three-conns",
    "6.1-v2-t-different-tokens",
    "6.1-v1-h4-two-links-rkeys",
    "6.1-v2-h1-two-links-second-fails",
    "6.1-v1-n-lossy",
    "6.1-v2-n-lossy",
    "6.1-v2-q-forty-conns",
    "6.1-v2-d-bulk-slow-reader",
    "rfc-peer",
    "llc-confirm-rkey-cont",
)
# Captures that come after another one in the same file. All real captures have the same hosts and
# queue pairs.
SECOND_PARTS = ("6.1-v2-t-different-tokens", "6.1-v1-c2-capture-starts-late")
STARTS_LATE = {"6.1-v1-c2-capture-starts-late"}
KINDS = {**alterations.KINDS, **alterations.JOINED_KINDS}

INDEXES = {
    "connection": ["smcr.stream"],
    "link": ["smcr.link.index"],
}  # other numbers for the same things
SAME = {  # what: fields that must not change
    "addresses": ["smcr.client.addr", "smcr.client.port", "smcr.server.addr", "smcr.server.port"],
    "direction": ["smcr.dir"],
    "source": ["smcr.src_qpn"],
    "destination": ["smcr.dst_qpn"],
    "RMB offset": ["smcr.write.offset"],
    "stream offset": ["smcr.stream.offset"],
}
OF_LINK = {
    "link number": ["smcr.link.number"],
    "queue pair": ["smcr.qpn"],
}  # of the link, or in the message
FRAMES = {"request": ["smcr.request_in"], "response": ["smcr.response_in"]}
REPEATS = {"sent before": ["smcr.retransmission", "smcr.sent_before"]}
HANDED_ON = "handed on"  # the frame has data of earlier ones, and is found by their connection, too
GROUPS = {**INDEXES, **SAME, **OF_LINK, **FRAMES, **REPEATS, HANDED_ON: ["smcr.data_of"]}
FIELDS = [field for group in GROUPS.values() for field in group]
NAMED = {"C→S": "0", "S→C": "1"}  # sharkd shows names where tshark shows numbers

LOST = (
    "connection",
    "addresses",
    "direction",
    "link",
    "RMB offset",
    "stream offset",
    "request",
    "response",
)
CRASH = "Wireshark crashes"
WRONG = (*GROUPS, CRASH)
BATCH = 60  # captures that one sharkd loads
PASSES = {"once": "one pass", "twice": "two passes"}

# A capture that is not altered. second: frames before the second part; once, twice: {frame: what it
# shows}; packets: {frame: Identity}
Whole = collections.namedtuple("Whole", "name path head frames second once twice packets")
Identity = collections.namedtuple("Identity", "part ends qpn psn")
Finding = collections.namedtuple("Finding", "label passes frame what before after")
Outcome = collections.namedtuple("Outcome", "label passes frames wrong lost new")


# ---- what is shown ----


def facts(frames, rows):
    """What each frame shows: {what: values of its fields}; frame numbers become those of the whole
    capture."""
    found = []
    for texts in rows:
        values = iter(texts)
        shown = {
            what: tuple(value for _ in fields for value in next(values).split(",") if value)
            for what, fields in GROUPS.items()
        }
        for what in (*FRAMES, *REPEATS, HANDED_ON):
            shown[what] = tuple(frames[int(number) - 1].number for number in shown[what])
        shown["direction"] = tuple(NAMED.get(value, value) for value in shown["direction"])
        found.append(shown)
    assert len(found) == len(frames)
    return found


def look_twice(tshark, paths):
    """Texts of all frames of captures after the first pass; None of one on which Wireshark
    crashes."""
    requests = [
        request for path in paths for request in (sharkd.load(path), sharkd.columns(FIELDS))
    ]
    try:
        return [
            list(sharkd.values(answer).values()) for answer in sharkd.ask(tshark, requests)[1::2]
        ]
    except sharkd.Failed:
        return [None] if len(paths) == 1 else [look_twice(tshark, [path])[0] for path in paths]


def look_once(tshark, path):
    """The same in a single pass."""
    arguments = [
        "-T",
        "fields",
        "-E",
        "separator=/t",
        *(text for field in FIELDS for text in ("-e", field)),
    ]
    try:
        lines = tshark.show(path, *arguments).split("\n")[:-1]
    except AssertionError:
        return None
    return [line.split("\t") if line else [""] * len(FIELDS) for line in lines]


# ---- captures ----


def identities(path, part=0):
    """{frame: what two frames with the same RoCE packet share}."""
    return {
        packet.frame: Identity(part, packet.ends, packet.qpn, packet.psn)
        for packet in wire.roce(path)
    }


def as_pcapng(bed, path, name):
    """Path of the capture in this format."""
    if path.suffix == ".pcapng":
        return path
    folder = pathlib.Path(tempfile.mkdtemp(dir=bed.scratch))
    folder.chmod(0o777)
    copy = folder / f"{name}.pcapng"
    bed.edit("-F", "pcapng", path, copy)
    return copy


@functools.cache
def whole(tshark, name):
    """A capture that is not altered, and what is shown of it."""
    path = as_pcapng(tshark.bed, tshark.bed.capture(name), name)
    head, frames = pcapng.read(path)
    once, twice = (
        dict(enumerate(facts(frames, rows), 1))
        for rows in (look_once(tshark, path), look_twice(tshark, [path])[0])
    )
    return Whole(name, path, head, frames, None, once, twice, identities(path))


def of_second_part(shown, count):
    """What a frame of a second part shows: its connections and links are not those of the first."""
    moved = {what: tuple(f"{value} of the second" for value in shown[what]) for what in INDEXES}
    moved |= {
        what: tuple(count + number for number in shown[what])
        for what in (*FRAMES, *REPEATS, HANDED_ON)
    }
    return {**shown, **moved}


def join(first, second):
    """Two captures in one file. Each part shows what it shows alone."""
    count = len(first.frames)
    once, twice = (
        {
            **getattr(first, passes),
            **{
                count + number: of_second_part(shown, count)
                for number, shown in getattr(second, passes).items()
            },
        }
        for passes in PASSES
    )
    packets = {
        **first.packets,
        **{count + frame: key for frame, key in identities(second.path, 1).items()},
    }
    return Whole(
        f"{first.name} + {second.name}",
        None,
        first.head,
        first.frames + alterations.after(first.frames, second.frames),
        count,
        once,
        twice,
        packets,
    )


def bases(tshark, name, kind):
    """
    The captures that this kind alters: the one with this name or, for two in one file, those that
    begin with it. Nobody can tell whether a capture that begins in mid-connection repeats packets
    of its first part or is another one, so it does not come after itself.
    """
    first = whole(tshark, name)
    if kind == "joined":
        itself = [first] if name not in STARTS_LATE else []
        return [join(first, second) for second in [*itself, *others(tshark, name)]]
    if kind == "joined late":
        return [join(first, second) for second in others(tshark, name)]
    return [first]


def others(tshark, name):
    return [whole(tshark, second) for second in SECOND_PARTS if second != name]


# ---- comparison ----


def owners(base, numbers):
    """Connections of these frames in the whole capture."""
    return {owner for number in numbers for owner in base.twice[number]["connection"]}


def wrong_of(base, number, before, after, meant):
    """What is wrong of one frame: (what, before, after). `meant`: what indexes of the altered
    capture stand for."""
    for what in INDEXES:
        if what == "connection" and (before[HANDED_ON] or after[HANDED_ON]):
            known = {owner for index in after[what] for owner in meant.get((what, (index,)), ())}
            right = owners(base, (number, *before[HANDED_ON], *after[HANDED_ON]))
            if before[what] and not known <= right:
                yield what, sorted(right), sorted(known)
        elif before[what] and after[what]:
            known = meant.setdefault((what, after[what]), before[what])
            if known != before[what]:
                yield what, before[what], known
    for what in SAME:
        if before[what] and not set(after[what]) <= set(before[what]):
            yield what, before[what], after[what]
    for what in OF_LINK:
        if not (set(after[what]) <= set(before[what]) or set(before[what]) <= set(after[what])):
            yield what, before[what], after[what]
    for what in FRAMES:
        if before[what] and not all(
            any(same_packet(base, shown, right) for right in before[what]) for shown in after[what]
        ):
            yield what, before[what], after[what]
    for what in REPEATS:
        for first in after[what]:
            if not same_packet(base, number, first):
                yield what, [packet_text(base, number)], [
                    f"frame {first}",
                    packet_text(base, first),
                ]


def same_packet(base, one, other):
    """Whether two frames are the same one, or one sends the packet of the other again."""
    return one == other or base.packets.get(one, one) == base.packets.get(other, other)


def packet_text(base, number):
    packet = base.packets.get(number)
    return (
        f"part {packet.part + 1} QP {packet.qpn:#x} PSN {packet.psn:#x}"
        if packet
        else "no RoCE packet"
    )


def lost_of(before, after, kept):
    """What one frame has lost. `kept`: frames of the altered capture."""
    for what in LOST:
        if before[what] and not after[what]:
            if what == "addresses" and not after["connection"]:
                continue
            if what in FRAMES and not kept.issuperset(before[what]):
                continue
            yield what


def new_of(before, after):
    """What the altered capture alone shows of one frame."""
    return [what for what in (*INDEXES, *SAME, *FRAMES) if after[what] and not before[what]] + [
        what for what in OF_LINK if set(after[what]) > set(before[what])
    ]


def compare(base, case, frames, passes, rows):
    """The outcome of one alteration in one or two passes."""
    if rows is None:
        return Outcome(
            case.label,
            passes,
            len(frames),
            [Finding(case.label, passes, None, CRASH, None, None)],
            {},
            {},
        )
    wrong, lost, new, meant = [], collections.Counter(), collections.Counter(), {}
    kept = {frame.number for frame in frames}
    for frame, after in zip(frames, facts(frames, rows), strict=True):
        truth, same_passes = base.twice[frame.number], getattr(base, passes)[frame.number]
        wrong += [
            Finding(case.label, passes, frame.number, *what)
            for what in wrong_of(base, frame.number, truth, after, meant)
        ]
        lost.update(lost_of(same_passes, after, kept))
        new.update(new_of(truth, after))
    return Outcome(case.label, passes, len(frames), wrong, lost, new)


def batches(every, size):
    every = iter(every)
    while batch := list(itertools.islice(every, size)):
        yield batch


def outcomes(tshark, base, cases, scratch, once_every=1, first=0):
    """Outcomes of cases in two passes, and of every n-th in one, beginning with the `first`."""
    for batch in batches(enumerate(cases), BATCH):
        made = []
        for number, case in batch:
            frames, path = case.alter(base.frames), scratch / f"{number}.pcapng"
            pcapng.write(path, base.head, frames)
            made.append((number, case, frames, path))
        for (_, case, frames, _), rows in zip(
            made, look_twice(tshark, [path for *_, path in made]), strict=True
        ):
            yield compare(base, case, frames, "twice", rows)
        for number, case, frames, path in made:
            if number % once_every == first:
                yield compare(base, case, frames, "once", look_once(tshark, path))
            path.unlink()


def sample(cases, count):
    """So many of the cases, from the first to the last."""
    if count is None or len(cases) <= count:
        return cases
    return (
        [cases[i * (len(cases) - 1) // (count - 1)] for i in range(count)]
        if count > 1
        else cases[:1]
    )


# ---- report ----


def line(name, kind, finding):
    before, after = (
        ",".join(map(str, value or ["none"])) for value in (finding.before, finding.after)
    )
    return (
        f"{name}, {kind}, {finding.label}, {PASSES[finding.passes]}: frame {finding.frame}, "
        f"{finding.what}: "
        f"{before} -> {after}"
    )


def message(name, kind, findings):
    """The first findings, one a line. Frame numbers are those of the whole capture."""
    return "\n".join(
        [
            (
                f"{len(findings)} frames wrong (capture, alteration, passes: frame, what: before "
                "-> after)"
            ),
            *(line(name, kind, finding) for finding in findings[:10]),
        ]
    )


def counted(counter, order):
    return ", ".join(f"{what} {counter[what]}" for what in order if counter[what]) or "0"


def row(name, kind, passes, results, seconds):
    """Cells of the table: an alteration, a capture, one or two passes."""
    results = [each for each in results if each.passes == passes]
    wrong = collections.Counter(finding.what for each in results for finding in each.wrong)
    lost, new = (
        sum((collections.Counter(getattr(each, which)) for each in results), collections.Counter())
        for which in ("lost", "new")
    )
    return (
        kind,
        name,
        passes,
        len(results),
        sum(bool(each.wrong) for each in results),
        sum(each.frames for each in results),
        counted(wrong, WRONG),
        counted(lost, LOST),
        counted(new, GROUPS),
        f"{seconds:.1f}",
    )


COLUMNS = (
    "alteration",
    "capture",
    "pass",
    "altered captures",
    "with a wrong frame",
    "frames",
    "wrong",
    "lost",
    "new",
    "seconds",
)


def table_rows(tshark, name, kind, every):
    """Rows of one kind and capture, and what is wrong."""
    with tempfile.TemporaryDirectory(dir=tshark.bed.scratch) as folder:
        scratch = pathlib.Path(folder)
        scratch.chmod(0o755)
        rows, findings = [], []
        for base in bases(tshark, name, kind):
            start = time.monotonic()
            results = list(
                outcomes(
                    tshark, base, KINDS[kind](base)[::every], scratch, 10 if kind == "single" else 1
                )
            )
            seconds = time.monotonic() - start
            rows += [row(base.name, kind, passes, results, seconds) for passes in PASSES if results]
            wrong = [finding for each in results for finding in each.wrong]
            findings += [message(base.name, kind, wrong)] if wrong else []
    return rows, findings


def main():
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument(
        "--only",
        action="append",
        choices=KINDS,
        metavar="KIND",
        help=", ".join(KINDS).replace("%", "%%"),
    )
    parser.add_argument(
        "--every", type=int, default=1, help="only every n-th altered capture of each kind"
    )
    parser.add_argument(
        "--plugin", type=pathlib.Path, metavar="FILE", help="another build of the plugin"
    )
    parser.add_argument("captures", nargs="*", default=CAPTURES)
    arguments = parser.parse_args()
    print("| " + " | ".join(COLUMNS) + " |\n" + "|---" * len(COLUMNS) + "|")
    with new_bed() as bed, concurrent.futures.ThreadPoolExecutor(2) as pool:
        if arguments.plugin:
            bed.add_plugin(arguments.plugin, "given")
        tshark = Tshark(bed, "given" if arguments.plugin else "debug")
        wanted = itertools.product(arguments.only or KINDS, arguments.captures)
        for rows, findings in pool.map(
            lambda each: table_rows(tshark, each[1], each[0], arguments.every), wanted
        ):
            for cells in rows:
                print("| " + " | ".join(map(str, cells)) + " |", flush=True)
            for text in findings:
                print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
