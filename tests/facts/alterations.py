"""
Ways to alter a capture: frames that are missing, cut, out of order or there twice.

An alteration is a function from a list of frames (pcapng.Frame) to another one. A frame keeps its
number, whatever becomes of it, so each frame of the altered capture tells which frame it was.
Chance has a seed.
"""

import collections
import functools
import random

import mutants
import pcapng
import wire

# write: how the frames become a file; names: (new, old) texts of what has another name in the
# altered capture
Case = collections.namedtuple("Case", "label alter write names", defaults=(pcapng.write, ()))

SEEDS = {0.05: 20, 0.3: 5}  # share of frames left out: how many seeds
BLOCKS, PLACES = (10, 100, 300, 1000), 5  # sizes of blocks left out, and places of each size
PAUSES, PAUSE_PLACES = (
    5,
    40,
), 10  # frames of the capture in which one host's are left out, and how many places
ENDS = (1, 2, 3, 5, 8, 12, 20, 40, 80, 150, 300, 800)  # frames left out at the end
STARTS = (
    1,
    2,
    3,
    5,
    8,
    12,
    16,
    20,
    25,
    30,
    40,
    60,
    80,
    110,
    150,
    200,
    300,
    450,
    600,
    800,
    1000,
    1300,
)
SWAPS, SHUFFLES, SHUFFLE_PLACES = 5, 5, 10  # seeds, seeds, how far a frame moves
DELAYS, DELAY, DELAY_SHARE = 5, 10_000, 0.1  # seeds, microseconds, share of frames that come late
MIRROR_DELAY = 5  # microseconds
COPIES, COPY_SHARE, COPY_SEEDS = (3, 50, 500), 0.05, 3  # places later
SNAP = range(60, 201, 4)  # bytes

CONFIRM_RKEY, DELETE_RKEY, RESPONSE = 6, 9, 0x80  # types of LLC (the low four bits), and a flag
ACCEPT, CONFIRM = 2, 3  # types of CLC
SHORTEST = {"clc": 45, "llc": 9}  # bytes of a message that tells an RKey
HOST_BYTES = {
    bytes.fromhex("525400"): 4,
    bytes.fromhex("020000"): 5,
}  # of a MAC address: what the host's ports share


# ---- frames left out ----


def left_out(frames, numbers):
    return [frame for frame in frames if frame.number not in numbers]


def left_out_at_random(frames, share, seed):
    chance = random.Random(seed)
    return [frame for frame in frames if chance.random() >= share]


def singles(whole):
    return [
        Case(f"without {frame.number}", functools.partial(left_out, numbers={frame.number}))
        for frame in whole.frames
    ]


def at_random(share, whole):
    return [
        Case(f"seed {seed}", functools.partial(left_out_at_random, share=share, seed=seed))
        for seed in range(SEEDS[share])
    ]


def without_range(first, last):
    return Case(
        f"without {first} to {last}", functools.partial(left_out, numbers=range(first, last + 1))
    )


def blocks(whole):
    count = len(whole.frames)
    return [
        without_range(place, place + size - 1)
        for size in BLOCKS
        if size < count
        for place in sorted({1 + i * (count - size) // (PLACES - 1) for i in range(PLACES)})
    ]


def starts(whole):
    return [without_range(1, size) for size in STARTS if size < len(whole.frames)]


def ends(whole):
    count = len(whole.frames)
    return [without_range(count - size + 1, count) for size in ENDS if size < count]


def rkeys_of(message):
    """RKeys that a CLC Accept or Confirm, CONFIRM RKEY or DELETE RKEY names for the link it is
    on."""
    data = message.data
    if len(data) < SHORTEST.get(message.kind, len(data) + 1):
        return []
    if message.kind == "clc":
        return [data[41:45]] if data[:4] == wire.SMC_R and data[4] in (ACCEPT, CONFIRM) else []
    kind = data[0] & 15
    if kind == CONFIRM_RKEY:
        return [data[5:9]]
    return (
        [data[8 + 4 * i : 12 + 4 * i] for i in range(min(data[4], 8))]
        if kind == DELETE_RKEY
        else []
    )


def pairs(whole):
    """CONFIRM or DELETE RKEY, its response or both, and the Accept or Confirm that names the same
    RKey next."""
    messages = [(message, set(rkeys_of(message))) for message in wire.messages(whole.path)]
    found = {}
    for at, (message, rkeys) in enumerate(messages):
        if message.kind != "llc" or not rkeys or message.data[3] & RESPONSE:
            continue
        responses = [
            other.frame
            for other, same in messages[at + 1 :]
            if other.kind == "llc"
            and same == rkeys
            and other.data[3] & RESPONSE
            and other.data[0] == message.data[0]
        ][:1]
        for rkey in rkeys:
            users = [
                other.frame
                for other, named in messages[at + 1 :]
                if other.kind == "clc" and rkey in named
            ][:1]
            for user in users:
                for lacking in ([message.frame], responses, [message.frame, *responses]):
                    found[tuple(dict.fromkeys([*lacking, user]))] = None
    return [
        Case(
            "without " + ", ".join(map(str, numbers)), functools.partial(left_out, numbers=numbers)
        )
        for numbers in found
    ]


def host(frame):
    """Who sent the frame, as bytes that all network ports of the host share."""
    source = pcapng.data(frame)[6:12]
    return source[: HOST_BYTES.get(source[:3], 6)]


def of_one_host(frames, sender, others):
    return [frame for frame in frames if host(frame) == sender or frame.number in others]


def one_host(whole):
    not_roce = {frame.number for frame in whole.frames} - {
        packet.frame for packet in wire.roce(whole.path)
    }
    return [
        Case(
            f"{what} of {sender.hex(':')} only",
            functools.partial(of_one_host, sender=sender, others=others),
        )
        for sender in sorted(set(map(host, whole.frames)))
        for what, others in (("all frames", ()), ("RoCE", not_roce))
    ]


def without_host(frames, sender, span):
    return [frame for frame in frames if host(frame) != sender or frame.number not in span]


def pauses(whole):
    """What one host sends is absent for a while, or from some frame on."""
    count = len(whole.frames)
    return [
        Case(
            f"without {sender.hex(':')} in {first} to {first + size - 1}",
            functools.partial(without_host, sender=sender, span=range(first, first + size)),
        )
        for sender in sorted(set(map(host, whole.frames)))
        for first in sorted({1 + i * count // PAUSE_PLACES for i in range(PAUSE_PLACES)})
        for size in (*PAUSES, count)
    ]


def only(frames, numbers):
    return [frame for frame in frames if frame.number in numbers]


def parts(whole):
    """One of the two protocols, or TCP of one host."""
    every = wire.packets(whole.path)
    tcp = {packet.frame for packet in every if isinstance(packet, wire.Segment)}
    rest = {frame.number for frame in whole.frames} - tcp
    found = {"TCP": tcp, "RoCE": {packet.frame for packet in wire.roce(whole.path)}}
    for sender in sorted(set(map(host, whole.frames))):
        found[f"all but TCP of {sender.hex(':')}"] = rest | {
            frame.number for frame in whole.frames if frame.number in tcp and host(frame) != sender
        }
    return [
        Case(f"{label} only", functools.partial(only, numbers=numbers))
        for label, numbers in found.items()
    ]


# ---- frames of one kind left out ----

EVERY = 7  # of RoCE packets, one of so many is missing
WITHOUT_FROM, WITHOUT_TO = 0.5, 0.8  # share of the time of RoCE
FIRSTS = (wire.WRITE_FIRST, wire.WRITE_ONLY, wire.WRITE_ONLY_IMMEDIATE)  # first packets of WRITEs


def between(frames, begin, end):
    """Numbers of the frames in a part of the time from the first frame to the last one."""
    times = {frame.number: pcapng.time(frame) for frame in frames}
    first, last = min(times.values()), max(times.values())
    return {
        number
        for number, time in times.items()
        if begin <= (time - first) / max(last - first, 1) < end
    }


def of_links(roce):
    """{both addresses of a path: its RoCE frames}, of captures of several paths."""
    found = collections.defaultdict(set)
    for packet in roce:
        found[frozenset(packet.ends)].add(packet.frame)
    return found if len(found) > 1 else {}


def thinned(whole):
    """All RoCE packets of one kind are missing: of a path, of a time, one of so many."""
    roce = wire.roce(whole.path)
    of_roce = {packet.frame for packet in roce}
    messages = wire.roce_messages(whole.path)
    found = {
        f"one RoCE packet of {EVERY}": set(sorted(of_roce)[EVERY - 1 :: EVERY]),
        "acknowledgements": {each.frame for each in roce if each.opcode == wire.ACKNOWLEDGE},
        "CDC": {each.frame for each in messages if each.kind == "cdc"},
        "LLC": {each.frame for each in messages if each.kind == "llc"},
        "first packets of WRITEs": {each.frame for each in roce if each.opcode in FIRSTS},
    }
    if of_roce:
        frames = [frame for frame in whole.frames if frame.number in of_roce]
        found["RoCE for a while"] = between(frames, WITHOUT_FROM, WITHOUT_TO)
    for number, frames in enumerate(of_links(roce).values(), 1):
        found[f"path {number}"] = frames
    return [
        Case(f"without {label}", functools.partial(left_out, numbers=numbers))
        for label, numbers in found.items()
        if numbers
    ]


# ---- packet sequence numbers ----

RESPONSES = range(
    13, 19
)  # opcodes of RC that answer requests: their PSNs are those of the requests
PSN_AT = 9  # in the BTH


def bth_at(data):
    """Where the BTH of RoCEv2 begins in an Ethernet frame; None: nowhere."""
    start, ethertype = ETHERNET_HEADER, wire.u16(data, ETHERNET_HEADER - 2)
    if PROTOCOL_AT.get(ethertype) is None or data[start + PROTOCOL_AT[ethertype]] != wire.UDP:
        return None
    start += (data[start] & 15) * 4 if ethertype == wire.IPV4 else 40
    return start + wire.UDP_HEADER if wire.u16(data, start + 2) == wire.ROCE_PORT else None


def with_hole(frames, first, size, sender):
    """From frame `first` on, the requests of one host have PSNs that are so much higher, as if
    packets were missing for a second."""
    out = []
    for frame in frames:
        data = bytearray(pcapng.data(frame))
        at = bth_at(data) if frame.number >= first else None
        frame = pcapng.at_time(frame, pcapng.time(frame) + UNIT * (frame.number >= first))
        if at is not None and (host(frame) == sender) != (data[at] in RESPONSES):
            psn = int.from_bytes(data[at + PSN_AT : at + PSN_AT + 3], "big") + size
            data[at + PSN_AT : at + PSN_AT + 3] = (psn & 0xFFFFFF).to_bytes(3, "big")
            data = mutants.with_icrc(bytes(data))
        out.append(pcapng.with_data(frame, bytes(data)))
    return out


# ---- frames in another order ----


def in_time(frames, reordered):
    """The reordered frames, with the timestamps that the frames have in order."""
    return [
        pcapng.at_time(frame, pcapng.time(at)) for frame, at in zip(reordered, frames, strict=True)
    ]


def swapped(frames, first, share, seed):
    """Neighbours swapped: some of the pairs that begin with frame `first`."""
    chance, moved = random.Random(seed), list(frames)
    for at in range(first, len(moved) - 1, 2):
        if chance.random() < share:
            moved[at : at + 2] = moved[at + 1], moved[at]
    return moved


def shuffled(frames, seed):
    """No frame moves more than ten places."""
    chance = random.Random(seed)
    places = [at + chance.uniform(0, SHUFFLE_PLACES) for at in range(len(frames))]
    return [frame for _, frame in sorted(zip(places, frames), key=lambda each: each[0])]


def late_copies(frames, distance, seed):
    """Some frames are there again some places later, at the time of the frame before the copy."""
    chance, out = random.Random(seed), []
    chosen = [chance.random() < COPY_SHARE for _ in frames]
    for at, frame in enumerate(frames):
        out.append(frame)
        if at >= distance and chosen[at - distance]:
            out.append(pcapng.at_time(frames[at - distance], pcapng.time(frame)))
    return out


def both_times(label, move):
    """A reordering twice: timestamps stay in their places, or go with the frames."""
    return [
        Case(label, lambda frames: in_time(frames, move(frames))),
        Case(f"{label}, times too", move),
    ]


def swaps(whole):
    cases = [
        case
        for first in (0, 1)
        for case in both_times(
            f"every pair from {first + 1}", functools.partial(swapped, first=first, share=1, seed=0)
        )
    ]
    for seed in range(SWAPS):
        move = functools.partial(swapped, first=seed % 2, share=0.1, seed=seed)
        cases += both_times(f"some pairs, seed {seed}", move)
    return cases


def shuffles(whole):
    return [
        case
        for seed in range(SHUFFLES)
        for case in both_times(f"seed {seed}", functools.partial(shuffled, seed=seed))
    ]


def copies(whole):
    return [
        Case(
            f"{distance} later, seed {seed}",
            functools.partial(late_copies, distance=distance, seed=seed),
        )
        for distance in COPIES
        if distance < len(whole.frames)
        for seed in range(COPY_SEEDS)
    ]


def delayed(frames, seed):
    """Some frames come up to 10 ms late; all have the time at which they come."""
    chance = random.Random(seed)
    times = [
        pcapng.time(frame) + (chance.randint(0, DELAY) if chance.random() < DELAY_SHARE else 0)
        for frame in frames
    ]
    return [
        pcapng.at_time(frame, time)
        for time, frame in sorted(zip(times, frames), key=lambda each: each[0])
    ]


def delays(whole):
    return [Case(f"seed {seed}", functools.partial(delayed, seed=seed)) for seed in range(DELAYS)]


def mirrored(frames):
    """Each frame twice, as where a switch's port is mirrored in both directions."""
    return [
        each
        for frame in frames
        for each in (frame, pcapng.at_time(frame, pcapng.time(frame) + MIRROR_DELAY))
    ]


def mirrors(whole):
    return [Case("each frame twice", mirrored)]


# ---- frames cut ----


def snapped(frames, size):
    return [pcapng.cut(frame, size) for frame in frames]


def snaps(whole):
    return [Case(f"{size} bytes", functools.partial(snapped, size=size)) for size in SNAP]


# ---- two captures in one file ----

TCP_DELTA = 0x12345678  # from the sequence numbers of a capture to those of the same one repeated
ETHERNET_HEADER, PROTOCOL_AT = 14, {0x0800: 9, 0x86DD: 6}
UNIT = 10**6  # timestamps a second


def other_numbers(frame):
    """The frame with other TCP sequence numbers, else Wireshark takes a connection repeated for
    retransmissions."""
    data, start = bytearray(pcapng.data(frame)), ETHERNET_HEADER
    ethertype = wire.u16(data, start - 2)
    if data[start + PROTOCOL_AT.get(ethertype, 0)] != wire.TCP or ethertype not in PROTOCOL_AT:
        return frame
    start += (data[start] & 15) * 4 if ethertype == wire.IPV4 else 40
    for at in (start + 4, start + 8):
        if value := int.from_bytes(data[at : at + 4], "big"):
            data[at : at + 4] = (value + TCP_DELTA & 0xFFFFFFFF).to_bytes(4, "big")
    begin = pcapng.HEADER.size
    return frame._replace(
        block=frame.block[:begin] + bytes(data) + frame.block[begin + len(data) :]
    )


def after(first, second):
    """The frames of a capture as a second part: numbered on, and a second later."""
    delta = pcapng.time(first[-1]) + UNIT - pcapng.time(second[0])
    return [
        other_numbers(pcapng.at_time(frame, pcapng.time(frame) + delta))._replace(
            number=len(first) + frame.number
        )
        for frame in second
    ]


def unaltered(frames):
    return list(frames)


def second_parts_late(joined):
    """Both parts, but the second lacks its first frames."""
    first = joined.second + 1
    return [
        Case(
            f"without {size} of the second",
            functools.partial(left_out, numbers=range(first, first + size)),
        )
        for size in STARTS
        if size < len(joined.frames) - joined.second
    ]


def as_they_are(joined):
    return [Case("whole", unaltered)]


KINDS = {  # name: cases of a capture
    "single": singles,
    "pair": pairs,
    "5 %": functools.partial(at_random, 0.05),
    "30 %": functools.partial(at_random, 0.3),
    "block": blocks,
    "start": starts,
    "end": ends,
    "part": parts,
    "one host": one_host,
    "pause": pauses,
    "thinned": thinned,
    "swapped": swaps,
    "shuffled": shuffles,
    "delayed": delays,
    "mirror": mirrors,
    "copies": copies,
    "snap": snaps,
}
JOINED_KINDS = {  # the same, of two captures in one file
    "joined": as_they_are,
    "joined late": second_parts_late,
}
