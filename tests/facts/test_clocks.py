"""
Interfaces whose clocks differ. The frames of one host, or only its RoCE packets, or those of both
hosts, get times of another clock; then the file is sorted by time. So a Confirm may come before its
Accept, and RoCE before CLC. The connections have to be those of the capture as it was, nobody may
be blamed for the order, and the page says that clocks differ where the frames prove it.
"""

import json
import random

import alterations
import pcapng
import wire
from bed import ALL, CAUSES, STORIES, captures

# name: whether its frames prove in all cases of 50 ms and more that clocks differ; else some do not
CHOSEN = {
    "6.1-v2-c-three-conns": True,
    "6.1-v1-c-three-conns": True,
    "6.1-v2-a-first-contact-ipv4": False,
    "6.1-v2-q-forty-conns": True,
    "6.1-v1-h4-two-links-rkeys": True,
    "6.1-v2-j-http11": True,
    "6.1-v1-g3-half-close": False,
    "6.1-v2-g1-server-killed": False,
    "6.1-v2-u-both-directions": True,
    "s08a-server-stopped": False,
    "s16b-rude-close": True,
    "6.1-v1-h5-late-second-link": False,
}
MILLISECONDS = [sign * size for size in (1, 50, 1000, 3000, 60000) for sign in (1, -1)]
MODES = {
    "server": lambda is_server, is_roce: is_server,
    "client": lambda is_server, is_roce: not is_server,
    "server's RoCE": lambda is_server, is_roce: is_server and is_roce,
    "client's RoCE": lambda is_server, is_roce: is_roce and not is_server,
    "RoCE": lambda is_server, is_roce: is_roce,
}
# What three cases by chance may not have: the default run takes these cases, too.
ALWAYS = [
    ("6.1-v1-h4-two-links-rkeys", "RoCE", 1000),  # CLC of later contacts before ADD LINK
    ("6.1-v1-h4-two-links-rkeys", "server", -1),  # responses before their requests
    ("6.1-v1-c-three-conns", "server", 1),  # a response to DELETE RKEY before its request
    ("6.1-v2-q-forty-conns", "server", -1),  # early responses with equal keys
    ("6.1-v2-q-forty-conns", "RoCE", 1),  # CLC names an RMB just before CONFIRM RKEY
    ("6.1-v2-q-forty-conns", "RoCE", -50),  # a reader reports before CLC shows who wrote
    ("6.1-v2-g1-server-killed", "server's RoCE", 3000),  # a response 3 s later, by the other clock
    ("6.1-v1-h5-late-second-link", "server's RoCE", 1000),  # CONFIRM LINK before its ADD LINK
    ("6.1-v2-u-both-directions", "server", 60000),  # a path that "took" a minute
]
SHOWN = {"smcr.captured_late", "smcr.clocks_differ"}
# what no capture may say that is whole, whatever its clocks
BLAME = (
    "broken",
    "no response",
    "slow to set up",
    "stopped answering",
    "rejected",
    "not captured",
    "this RKey",
    "not reported as read",
    "timeout of Linux",
    "took up to 60",
)
PATHS = {
    name.removesuffix(".pcapng"): path for name, path in captures("real", CAUSES, STORIES).items()
}
CASES = [(name, mode, ahead) for name in CHOSEN for mode in MODES for ahead in MILLISECONDS]


def write_moved(path, name, mode, ahead):
    """The capture, in which the frames of `mode` are so many milliseconds later."""
    head, frames = pcapng.read(PATHS[name])
    server = sorted(set(map(alterations.host, frames)))[1]
    roce = {packet.frame for packet in wire.roce(PATHS[name])}
    by = ahead * alterations.UNIT // 1000
    moved = [
        pcapng.at_time(frame, pcapng.time(frame) + by)
        if MODES[mode](alterations.host(frame) == server, frame.number in roce)
        else frame
        for frame in frames
    ]
    pcapng.write(path, head, sorted(moved, key=pcapng.time))
    path.chmod(0o644)


def report_of(tshark, path):
    return json.loads(tshark.show(path, "-2", "-q", "-z", "smcr,json"))


def ends(report):
    return sorted(
        (str(conn["client"]), str(conn["server"]), conn["outcome"])
        for conn in report["connections"]
    )


def hides_times(report):
    """Whether a request comes after its acknowledgement: then no time of a connection is known."""
    return report["capture"]["disorder_frame"] is not None


def explains_times(report):
    return {each["kind"] for each in report["findings"]} & {"disorder", "clocks_differ"}


def wrong_with(report, whole, case):
    """What the report of the moved capture says otherwise than that of the whole one."""
    name, mode, ahead = case
    found = []
    if ends(report) != ends(whole):
        found.append(f"{len(report['connections'])} connections")
    told = [each["text"] for each in report["findings"]]
    before = [each["text"] for each in whole["findings"]]
    new = [words for words in BLAME if not any(words in text for text in before)]
    found += [text for text in told if text not in before and any(map(text.count, new))]
    filters = {each["filter"] for each in report["findings"]}
    if CHOSEN[name] and abs(ahead) >= 50 and not filters & SHOWN:
        found.append("the difference of the clocks is not told")
    if hides_times(report) and not explains_times(report):
        found.append("nothing says why times are not known")
    late = report["capture"]["disorder_most_s"]
    if late is not None and late > abs(ahead) / 1000:
        found.append(f"a request {late} s after its acknowledgement")
    if report["breaches"] != whole["breaches"]:
        found.append(f"breaches: {report['breaches']}")
    return found


def test_clocks_of_interfaces(tshark, scratch):
    """The default run takes three cases of each capture, and those of ALWAYS."""
    chance = random.Random(3)
    chosen = (
        CASES
        if ALL
        else ALWAYS
        + [
            case
            for name in CHOSEN
            for case in chance.sample([each for each in CASES if each[0] == name], 3)
        ]
    )
    wholes, wrong = {}, {}
    path = scratch / "moved.pcapng"
    for case in chosen:
        name = case[0]
        if name not in wholes:
            write_moved(path, name, "RoCE", 0)
            wholes[name] = report_of(tshark, path)
        write_moved(path, *case)
        found = wrong_with(report_of(tshark, path), wholes[name], case)
        if found:
            wrong[case] = found
    assert wrong == {}
