#!/usr/bin/python3
"""
How well frames find their connection when the capture lacks one: each frame of a capture is left out in turn.

    tests/facts/removal.py [--every N] [CAPTURE ...]

Prints a table. No frame may get a connection, direction or offset that differs from what it has in the whole
capture, but it may get none: the table counts those. A frame can also keep its SMC-R connection and lose the TCP
connection behind it.
"""

import argparse
import collections
import concurrent.futures
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import sharkd  # noqa: E402
from bed import Tshark, new_bed  # noqa: E402

HANDSHAKE = 12  # frames that are always left out: the first connection and link are set up in them

CAPTURES = {  # name: behind those, the usual tests leave out every n-th frame
    "6.1-v2-a-first-contact-ipv4": 1,
    "6.1-v1-c2-capture-starts-late": 1,
    "6.1-v2-j-http11": 1,
    "6.1-v1-c-three-conns": 4,
    "6.1-v2-t-different-tokens": 4,
    "6.1-v1-h4-two-links-rkeys": 10,
    "6.1-v2-h1-two-links-second-fails": 40,
    "6.1-v2-n-lossy": 40,
    "6.1-v2-d-bulk-slow-reader": 400,
}

ADDRESSES = ("smcr.client.addr", "smcr.client.port", "smcr.server.addr", "smcr.server.port")
PLACE = ("smcr.dir", "smcr.write.offset", "smcr.stream.offset")
BATCH = 60  # captures that one sharkd loads

COLUMNS = ("capture", "frames with a connection", "removals", "wrong", "removals with a loss", "connections lost, sum",
           "at most", "TCP connections lost, sum", "at most")

Frame = collections.namedtuple("Frame", "stream addresses place")
Result = collections.namedtuple("Result", "removed wrong lost lost_tcp")
EPB = 6  # block type of pcapng that holds a frame


def blocks(data):
    """Blocks of a little-endian pcapng file: (type, bytes)."""
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        yield kind, data[at:at + length]
        at += length


def without(all_blocks, number):
    """The file without one frame, counted from 1."""
    kept, frame = [], 0
    for kind, block in all_blocks:
        frame += kind == EPB
        if kind != EPB or frame != number:
            kept.append(block)
    return b"".join(kept)


def frames_of(answer):
    """Frame numbers and what is said of each frame."""
    found = {}
    for number, texts in sharkd.values(answer).items():
        stream, rest = texts[0], texts[1:]
        found[number] = Frame(stream, tuple(rest[:len(ADDRESSES)]), tuple(rest[len(ADDRESSES):]))
    return found


def compare(whole, reduced, number):
    """What leaving out frame `number` does; both dissections by frame number."""
    if reduced is None:
        return Result(number, [(number, None, "Wireshark crashes", None, None)], 0, 0)
    wrong, lost, lost_tcp = [], 0, 0
    meant = {}  # connection of the reduced capture -> connection of the whole one
    for at, frame in reduced.items():
        original = at if at < number else at + 1
        before = whole[original]
        lost += bool(before.stream) and not frame.stream
        lost_tcp += any(before.addresses) and bool(frame.stream) and not any(frame.addresses)
        if frame.stream and meant.setdefault(frame.stream, before.stream) != before.stream:
            wrong.append((number, original, "connection", before, frame))
        if any(frame.addresses) and frame.addresses != before.addresses:
            wrong.append((number, original, "addresses", before, frame))
        if any(new not in ("", old) for new, old in zip(frame.place, before.place)):
            wrong.append((number, original, "place", before, frame))
    return Result(number, wrong, lost, lost_tcp)


def look(tshark, paths):
    """What is said of the frames of captures; None of one on which Wireshark crashes."""
    requests = [request for path in paths
                for request in (sharkd.load(path), sharkd.columns(("smcr.stream", *ADDRESSES, *PLACE)))]
    try:
        return [frames_of(answer) for answer in sharkd.ask(tshark, requests)[1::2]]
    except sharkd.Failed:
        return [None] if len(paths) == 1 else [look(tshark, [path])[0] for path in paths]


def remove_each(tshark, name, scratch, every=1):
    """Leave out each frame of the handshake and every n-th frame in turn: yields a result for each."""
    path = tshark.bed.capture(name)
    every_block = list(blocks(path.read_bytes()))
    whole = look(tshark, [path])[0]
    numbers = sorted({*sorted(whole)[:HANDSHAKE], *sorted(whole)[every - 1::every]})
    for batch in (numbers[i:i + BATCH] for i in range(0, len(numbers), BATCH)):
        paths = [scratch / f"{name}-{number}.pcapng" for number in batch]
        for reduced, number in zip(paths, batch):
            reduced.write_bytes(without(every_block, number))
        yield from (compare(whole, reduced, number)
                    for number, reduced in zip(batch, look(tshark, paths), strict=True))
        for reduced in paths:
            reduced.unlink()


def attributed(tshark, name):
    """How many frames of the whole capture have a connection."""
    return sum(bool(frame.stream) for frame in look(tshark, [tshark.bed.capture(name)])[0].values())


def row(bed, name, every):
    tshark = Tshark(bed)
    scratch = bed.scratch / name
    scratch.mkdir()
    results = list(remove_each(tshark, name, scratch, every))
    return (name, attributed(tshark, name), len(results), sum(len(result.wrong) for result in results),
            sum(bool(result.lost or result.lost_tcp) for result in results),
            sum(result.lost for result in results), max(result.lost for result in results),
            sum(result.lost_tcp for result in results), max(result.lost_tcp for result in results))


def main():
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("--every", type=int, default=1, help="leave out only every n-th frame")
    parser.add_argument("captures", nargs="*", default=list(CAPTURES))
    arguments = parser.parse_args()
    print("| " + " | ".join(COLUMNS) + " |\n" + "|---" * len(COLUMNS) + "|")
    with new_bed() as bed, concurrent.futures.ThreadPoolExecutor(2) as pool:
        for cells in pool.map(lambda name: row(bed, name, arguments.every), arguments.captures):
            print("| " + " | ".join(map(str, cells)) + " |", flush=True)


if __name__ == "__main__":
    main()
