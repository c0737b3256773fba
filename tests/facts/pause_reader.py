"""
PAUSE and PFC frames of a capture, and the RDMA flows that stand still meanwhile, by a reader of the
bytes that knows neither the plugin nor Wireshark. Times are nanoseconds.
"""

import collections

from report_frames import Roce, frames, number, of_kind

MAC_CONTROL, PAUSE, PFC = 0x8808, 0x0001, 0x0101
VLAN = (0x8100, 0x88A8)
ALL, NONE = "all classes", "no class"
QUANTUM, UNKNOWN_SPEED, FASTEST = 512, 1, 1600  # bits; Gbit/s of the slowest link and the fastest
FAR_APART = 10
RUNS_MOST, STANDSTILLS_MOST = 64, 16

# The frames of a port for one class: [(time, number of the frame, quanta or None: cut)]
Standstill = collections.namedtuple("Standstill", "count least most")


def colons(data):
    return data.hex(":")


def control(data):
    """(opcode, parameters) of a frame of MAC control; None."""
    at = 12
    while number(data, at, 2) in VLAN:
        at += 4
    if len(data) < at + 4 or number(data, at, 2) != MAC_CONTROL:
        return None
    return number(data, at + 2, 2), data[at + 4 :]


def named(opcode, parameters):
    """[(class, quanta or None)] that a PAUSE or PFC frame names."""
    if opcode == PAUSE:
        return [(ALL, number(parameters, 0, 2) if len(parameters) >= 2 else None)]
    if len(parameters) < 2:
        return [(NONE, None)]
    found = []
    for each in range(8):
        if parameters[1] >> each & 1:
            at = 2 + 2 * each
            found.append((each, number(parameters, at, 2) if len(parameters) >= at + 2 else None))
    return found or [(NONE, 0)]


def pauses(path):
    """{(address of the port, class): [(time, frame, quanta)]}"""
    found = collections.defaultdict(list)
    for frame in frames(path):
        read = control(frame.data)
        if read and read[0] in (PAUSE, PFC):
            for each, quanta in named(*read):
                found[colons(frame.data[6:12]), each].append((frame.time, frame.number, quanta))
    return found


def count_of_frames(path):
    return sum((control(frame.data) or (0,))[0] in (PAUSE, PFC) for frame in frames(path))


def intervals(rows, speed):
    """[(begin, end, is proven)] of the pauses of a port for one class."""
    found = []
    for at, (time, _, quanta) in enumerate(rows):
        longest = (quanta or 0) * QUANTUM // (speed or UNKNOWN_SPEED)
        later = rows[at + 1][0] if at + 1 < len(rows) else None
        end = time + longest if later is None else min(time + longest, later)
        proven = speed > 0 or later is not None and later <= time + longest
        if longest:
            found.append((time, end, proven))
    return found


def joined(runs):
    """No more than RUNS_MOST of them: those are joined between which the least time lies."""
    while len(runs) > RUNS_MOST:
        gaps = [max(0, later["begin"] - run["end"]) for run, later in zip(runs, runs[1:])]
        at = gaps.index(min(gaps))
        run, later = runs[at : at + 2]
        runs[at : at + 2] = [
            {
                **later,
                **{name: run[name] for name in ("begin", "begin_frame")},
                **{name: run[name] + later[name] for name in ("frames", "most")},
            }
        ]
    return runs


def runs(rows, speed):
    """The pauses of a port for one class, each with those that renew it before it is over."""
    found, over = [], None
    for at, (time, frame, quanta) in enumerate(rows):
        is_renewed = over is not None and rows[at - 1][0] <= time <= over
        over = time + quanta * QUANTUM // (speed or UNKNOWN_SPEED) if quanta else None
        if is_renewed and quanta == 0:
            found[-1]["resume_frame"] = frame
        if not quanta:
            continue
        if not is_renewed:
            found.append({"begin": time, "begin_frame": frame, "frames": 0, "most": 0})
            found[-1]["resume_frame"] = None
        later = rows[at + 1][0] if at + 1 < len(rows) else over
        lasts = max(0, min(over, later) - time)
        found[-1].update(last_frame=frame, end=time + lasts)
        found[-1]["frames"] += 1
        found[-1]["most"] += lasts
        found = joined(found)
    return found


def entries(path, speed):
    """What the report says of them: {(port, class): members}"""
    found = {}
    for key, rows in pauses(path).items():
        most = sum(max(0, end - begin) for begin, end, _ in intervals(rows, speed))
        no_class = key[1] == NONE
        found[key] = {
            "kind": "pause" if key[1] == ALL else "pfc",
            "frames": len(rows),
            "resumes": 0 if no_class else sum(quanta == 0 for _, _, quanta in rows),
            "cut": sum(quanta is None for _, _, quanta in rows),
            "quanta": sum(quanta or 0 for _, _, quanta in rows),
            "paused_s": most if speed else None,
            "paused_most_s": most,
            "first_frame": rows[0][1],
            "last_frame": rows[-1][1],
        }
    return found


# ---- flows ----


def priority(data):
    return data[14] >> 5 if number(data, 12, 2) in VLAN else None


def flows(path):
    """{(source, destination, queue pair): [Roce]}"""
    found = collections.defaultdict(list)
    for each in of_kind(path, Roce):
        found[each.src, each.dst, each.qpn].append(each)
    return found


def port_of(path, packets):
    """The port whose pauses stop the flow; None."""
    ports = [port for port, _ in pauses(path)]
    ends = {colons(each.frame.data[at : at + 6]) for each in of_kind(path, Roce) for at in (0, 6)}
    to = colons(packets[0].frame.data[:6])
    return to if to in ports else next((port for port in ports if port not in ends), None)


def overlap(found, begin, end, speed):
    """How long the proven intervals were in force between two packets. Without the speed an
    interval counts only if its end has come."""
    return sum(
        max(0, min(last, end) - max(first, begin))
        for first, last, proven in found
        if proven and (speed or last <= end)
    )


def time_paused(lanes, begin, end):
    """How long pauses of some classes were in force between two packets. `lanes`: those of
    intervals()."""
    return [
        sum(max(0, min(last, end) - max(first, begin)) for first, last, _ in lane) for lane in lanes
    ]


def gaps_paused(path, packets, speed):
    """[(packet before, packet after, how long it was paused at least, at most)] of the standstills
    of a flow."""
    port, found, gaps = port_of(path, packets), [], 0
    of_class = priority(packets[0].frame.data)
    rows = pauses(path)

    def lanes(speed):
        classes = {of_class, ALL} - {None}
        return [intervals(rows.get((port, each), []), speed) for each in classes]

    for at in range(2, len(packets)):
        before, after = packets[at - 1].frame, packets[at].frame
        between = before.time, after.time
        usual_count = at - 1 - len(found)
        paused = max(overlap(lane, *between, speed) for lane in lanes(speed))
        if not usual_count or not paused:
            continue
        usual = (before.time - packets[0].frame.time - gaps) // usual_count
        if paused >= FAR_APART * usual:
            least = max(time_paused(lanes(speed or FASTEST), *between))
            most = sum(time_paused(lanes(speed), *between))
            found.append((before, after, least, min(most, after.time - before.time)))
            gaps += after.time - before.time
    return found


def paused_between(path, packets, first, last, speed):
    """How long a flow was paused between two of its packets, whose frames have these numbers: by
    its class, or by all classes."""
    port, rows = port_of(path, packets), pauses(path)
    times = {each.frame.number: each.frame.time for each in packets}
    edges, lanes = set(), []
    for each in {priority(packets[0].frame.data), ALL} - {None}:
        lanes += [each[:2] for each in intervals(rows.get((port, each), []), speed)]
    for begin, end in lanes:
        edges |= {min(max(edge, times[first]), times[last]) for edge in (begin, end)}
    edges = sorted(edges)
    return sum(
        later - edge
        for edge, later in zip(edges, edges[1:])
        if any(begin <= edge and later <= end for begin, end in lanes)
    )


def standstills(path, packets, speed):
    """Standstill of a flow."""
    found = gaps_paused(path, packets, speed)
    return Standstill(
        len(found), sum(least for _, _, least, _ in found), sum(most for *_, most in found)
    )


def longest_standstills(path, packets, speed):
    """The longest ones, in their order; of equal ones the first."""
    found = []
    for each in gaps_paused(path, packets, speed):
        found.append(each)
        if len(found) > STANDSTILLS_MOST:
            shortest = min(most for *_, most in found)
            found.remove([each for each in found if each[3] == shortest][-1])
    return found


def stop(path, packets, speed):
    """(last packet, time from it to the end of the capture, how long the flow was paused in it at
    least, at most) of a flow that sends nothing more, since it was paused; None."""
    port, found = port_of(path, packets), gaps_paused(path, packets, speed)
    end, last = max(each.time for each in frames(path)), packets[-1].frame
    count = len(packets) - 1 - len(found)
    if port is None or count < 1:
        return None
    lost = sum(after.time - before.time for before, after, *_ in found)
    usual = max(0, last.time - packets[0].frame.time - lost) // count
    classes = {priority(last.data), ALL} - {None}
    rows = [pauses(path).get((port, each), []) for each in classes]

    def lanes(speed):
        return [
            [(*each[:2], each[2] or each[1] >= end) for each in intervals(row, speed)]
            for row in rows
        ]

    paused = max(
        sum(max(0, min(b, end) - max(a, last.time)) for a, b, proven in lane if proven)
        for lane in lanes(speed)
    )
    begins = [
        max(0, run["begin"] - last.time)
        for row in rows
        for run in runs(row, speed)
        if run["end"] >= last.time
    ]
    length = end - last.time
    is_long = paused > 0 and paused // FAR_APART >= usual
    goes_on = paused >= length - length // FAR_APART
    if not (is_long and goes_on and begins and min(begins) // FAR_APART <= usual):
        return None
    least = max(time_paused(lanes(speed or FASTEST), last.time, end))
    most = sum(time_paused(lanes(speed), last.time, end))
    return last.number, length, least, min(most, length)


def flows_in(run, key, path, speed):
    """{(source, destination, queue pair): how long at most} of the flows that stood still in a run
    of pauses of a port and class."""
    found = {}
    for flow, packets in flows(path).items():
        of_class = priority(packets[0].frame.data)
        if key[0] != port_of(path, packets) or key[1] not in (of_class, ALL):
            continue
        both = sum(
            max(0, min(after.time, run["end"]) - max(before.time, run["begin"]))
            for before, after, *_ in longest_standstills(path, packets, speed)
        )
        stopped = stop(path, packets, speed)
        if stopped:
            last = packets[-1].frame.time
            end = min(last + stopped[1], run["end"])
            both += max(0, end - max(last, run["begin"]))
        if both:
            found[flow] = min(both, run["most"])
    return found
