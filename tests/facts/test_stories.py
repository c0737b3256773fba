"""
Stories of the field: real programs and hosts, and a network that does something to them. What was
done, to whom and when is known (captures/README.md). Each row says what the first finding and the
page must say of a story, and what the page must not say. The words are regular expressions, with a
single blank for each run of white space of the page.
"""

import functools
import itertools
import json
import random
import re

import alterations
import pcapng
import pytest
import wire
from bed import CAUSES, FOLDERS, PACKED, STORIES, captures
from test_findings import OPTIONS
from test_lacking import altered

PATHS = {path.name.split(".pcap")[0]: path for path in captures(STORIES).values()}

ALL = {
    path.name.split(".pcap")[0]: path
    for path in captures(STORIES, CAUSES, *PACKED, *FOLDERS).values()
}

# Blames of which no story in the row is guilty.
SLOW_PROGRAM = r"reads slowly"
DEAD_HOST = r"10\.0\.\d\.\d stopped answering"
LOST = r"Packets lost"
BIGGER_BUFFER = r"would do"

# capture: (what the first finding says, what the page says beside that, what the page never says)
STORY = {
    "s01-fw-roce-never": (
        [r"fell back to TCP", r"timeout waiting for CONFIRM LINK"],
        [],
        [DEAD_HOST, SLOW_PROGRAM],
    ),
    "s02b-fw-roce-60s": (
        [r"[Nn]o packet from|no packet came back", r"10\.0\.0\.2", r"31\.\d s|30\.\d s"],
        [
            r"TCP reset by the client.* as read; RoCE had failed before \(frame 256\)",
            r"waiting for CONFIRM LINK \(0x02010000\); RoCE had failed before \(frame 256\)",
        ],
        [DEAD_HOST, r"86\.5 s"],
    ),
    "s04-pmtu": (
        [
            r"path MTU",
            r"10\.0\.0\.2 → 10\.0\.0\.1",
            r"up to 304 bytes",
            r"RoCE MTU: 4,096",
            r"frame 74\b",
        ],
        [
            r"1 rejected \(usual: no second RDMA device offered\)",
            r"RDMA buffers failed \(0x09990003\); RoCE had failed before \(frame 74\)",
        ],
        [DEAD_HOST, SLOW_PROGRAM],
    ),
    "s05-delay20": (
        [
            r"Receive buffer full",
            r"10\.0\.0\.2:80 → 10\.0\.0\.1:48500",
            r"ACK times both ways add up to 4\d ms",
        ],
        [],
        [SLOW_PROGRAM, LOST],
    ),
    "s06c-reorder": (
        [r"out of order", r"between 10\.0\.0\.1 and 10\.0\.0\.2"],
        [],
        [DEAD_HOST, SLOW_PROGRAM],
    ),
    "s06e-corrupt": (
        [r"lost|damaged", r"10\.0\.0\.2 to 10\.0\.0\.1"],
        [],
        [DEAD_HOST],
    ),
    "s18c-two-points-reorder-A": (
        [r"out of order downstream", r"10\.0\.0\.1 to 10\.0\.0\.2"],
        [],
        [DEAD_HOST, SLOW_PROGRAM],
    ),
    "s07-bufferbloat-A": (
        [r"Receive buffer full", r"10\.0\.0\.2:5201", r"5 more directions with long waits"],
        [],
        [DEAD_HOST, SLOW_PROGRAM],
    ),
    "s08a-server-stopped": (
        [r"program of server", r"3\.05 s", r"10\.0\.0\.1:38298 → 10\.0\.0\.2:6379"],
        [],
        [DEAD_HOST, LOST],
    ),
    "s10c-slow-sub-late": (
        [r"program of client", r"10\.7 s", r"10\.0\.0\.2:6379 → 10\.0\.0\.1:52734", r"frame 266\b"],
        [r"30 of 5,565 packets .* although they had arrived: .*; or captured twice"],  # IPv6
        [r"431 ms", BIGGER_BUFFER, DEAD_HOST],
    ),
    # the cursors before the capture and the names are not captured; each WRITE of the first rounds
    # fills the whole buffer, which shows where the buffer is
    "s10c-slow-sub-late-late": (
        [r"^Connection 0 and 1 more connection: the capture starts mid-connection"],
        [r"connection 1 to \S+ 11\.8 s ≥1\.8 MiB 148 to 197 ms"],
        [BIGGER_BUFFER, DEAD_HOST, SLOW_PROGRAM],
    ),
    "s10c-slow-sub-late-late-netlink": (
        [r"client 10\.0\.0\.1 read nothing for at least 10\.3 s", r"10\.0\.0\.1:52734"],
        [r"starts mid-connection"],
        [BIGGER_BUFFER, DEAD_HOST],
    ),
    "s11-pool-kill": (
        [r"server", r"closed", r"10\.0\.0\.1:45562 → 10\.0\.0\.2:3306", r"31\.1 s", r"frame 713\b"],
        [],
        [DEAD_HOST, LOST],
    ),
    "s11-pool-kill-late-netlink": (
        [
            r"^The server closed 10\.0\.0\.1:45562 → 10\.0\.0\.2:3306 before",
            r"23\.4 s",
            r"frame 6\b",
        ],
        [r"took 2\.09 s to answer", r"starts mid-connection"],
        [DEAD_HOST, LOST],
    ),
    # the close came before the capture, and no frame shows that the client was late
    "s11-pool-kill-late": (
        [r"^Connection 0 and 19 more connections: the capture starts mid-connection"],
        [
            r"10\.0\.0\.2 wrote nothing for 2\.09 s after .* a slow server, or .*",
            r"; 18 such pauses on 18 connections took 35\.8 s together",
        ],
        [DEAD_HOST, LOST, r"closed 10\.0\.0\.1"],
    ),
    "s13c-qp-limit": (
        [r"10\.0\.0\.1:45262 → 10\.0\.0\.2:6379 and 6 more connections fell back to TCP"],
        [r"0x09990000"],
        [DEAD_HOST, LOST],
    ),
    "s16b-rude-close": (
        [
            r"[Tt]he server aborted 10\.0\.0\.1:58724 → 10\.0\.0\.2:8088 and 1 more connection",
            r"128\.0 KiB from the client",
            r"frame 102\b",
        ],
        [r"HTTP status 400 or above \(the first of 2, on more than one connection\)"],
        [DEAD_HOST, LOST],
    ),
    "s20-busy": (
        [
            r"program of client 10\.0\.0\.1 reads slowly",
            r"10\.0\.0\.2:80 → 10\.0\.0\.1:41784",
            r"5\.9\d s",
        ],
        [],
        [DEAD_HOST, LOST, BIGGER_BUFFER],
    ),
    "s23-host-frozen": (
        [
            r"10\.0\.1\.2|10\.0\.0\.2",
            r"3\.9\d s|4\.\d+ s",
            r"the host stood still, or the path held",
        ],
        [],
        [SLOW_PROGRAM, LOST],
    ),
    "s26-second-link-acl": (
        [r"^Link 2 \(10\.0\.1\.1 → 10\.0\.1\.2\) never came up", r"5\.08 s after ADD LINK"],
        [r"Links: 1 active, 1 never came up", r"QP 1235 0 2 never came up"],
        [r"usual: no second", r"\blost\b(?! path)", DEAD_HOST],
    ),
    "s27-acl-failover": (
        [r"^Link 1 .* is lost, .*; 10\.0\.0\.1:43900 → \S+ moved to link 2, .* at most 2\.01 s"],
        [r"Links: 1 active, 1 lost"],
        [DEAD_HOST, SLOW_PROGRAM],
    ),
    "queue-pair-silent-host-alive": (
        [r"0x0*202|514", r"192\.0\.2\.2"],
        [],
        [r"192\.0\.2\.2 stopped answering"],
    ),
    "selective-repeat-near-receiver": (
        [r"Packets lost; 5 of 105 packets", r"5 after NAKs", r"selective repeat"],
        [],
        [r"previous packet", r"downstream"],
    ),
    # the abort ends the wait: the client's program slept for 0.5 s
    "reader-closes-unread": (
        [r"The client aborted 10\.0\.0\.1:45976", r"had read nothing for 522 ms"],
        [
            r"client 10\.0\.0\.1 read nothing for 522 ms: .* waited 526 ms in all \(58 %",
            r"10\.0\.0\.2:5000 → 10\.0\.0\.1:45976 911 ms 83\.5 KiB 526 ms",
        ],
        [DEAD_HOST, LOST, r"7\d\d ms"],
    ),
    # the host resets TCP first; later it reports its IPv6 groups and looks for routers
    "port-down": (
        [r"TCP reset by the server", r"100 bytes from the client not reported as read"],
        [
            r"No packet from 10\.0\.0\.2 QP 17 \(link 1\) to 10\.0\.0\.1 for at least 31\.8 s .*"
            r"; during the silence 10\.0\.0\.2 sent other packets \(frame 161\): the path or the "
            r"queue pair failed, not the host"
        ],
        [DEAD_HOST, LOST, r"sent no other packet"],
    ),
    "one-way-roce": (
        [
            r"^Nothing from 10\.0\.0\.1 arrives at 10\.0\.0\.2 over RoCE \(link 1\): no answer to "
            r"1,002 retransmissions, and 10\.0\.0\.2 retransmitted 50 packets that 10\.0\.0\.1 had "
            r"acknowledged: only this direction of the path fails frame 30$"
        ],
        [r"timeout waiting for CONFIRM LINK"],
        [DEAD_HOST, LOST, r"although they had arrived"],
    ),
    "mtu-icmp": ([r"MTU", r"1,?500", r"192\.0\.2\.1", r"ICMP"], [], [r"No fault"]),
}


def page_of(tshark, name):
    """Findings of the JSON, and the page with single blanks."""
    path = tshark.bed.root / "captures" / STORIES / PATHS[name].name
    printed = tshark.show(path, *OPTIONS, "-2", "-q", "-z", "smcr,json", "-z", "smcr,report")
    start = printed.index("{\n") if "{\n" in printed else printed.index("{")
    report, end = json.JSONDecoder().raw_decode(printed, start)
    return report["findings"], " ".join((printed[:start] + printed[end:]).split())


@pytest.mark.parametrize("name", STORY)
def test_story(tshark, name):
    first, page, never = STORY[name]
    findings, text = page_of(tshark, name)
    told = f"{findings[0]['text']} frame {findings[0]['frame']}" if findings else ""
    assert [words for words in first if not re.search(words, told)] == [], told
    assert [words for words in page if not re.search(words, text)] == [], text
    assert [words for words in never if re.search(words, text)] == [], text


def test_frame_that_is_not_captured_proves_no_loss(tshark, scratch):
    """The path changes the order and loses nothing. Without a frame that the receiver acknowledges
    and nobody retransmits, "lost" alone is still not proven."""
    name, frame = "s18c-two-points-reorder-A", "1943"
    whole = tshark.bed.root / "captures" / STORIES / PATHS[name].name
    path = scratch / "hole.pcapng"
    tshark.bed.edit(whole, path, frame)
    texts = [
        json.loads(tshark.show(each, *OPTIONS, "-2", "-q", "-z", "smcr,json"))["findings"][0][
            "text"
        ]
        for each in (whole, path)
    ]
    assert texts[0].startswith(
        "Packets lost or out of order downstream of the capture point, or damaged; 4 of 256 "
    )
    assert texts[1].startswith("Packets lost or out of order; 4 of 255 ")


def test_time_of_a_lost_request_that_is_not_captured(tshark):
    """Three requests are lost before the capture point. Each answers a frame, and the CDC message
    after it is captured: so its retransmission takes at least the time from this message, and at
    most the time from that frame. Earlier frames of its sender prove nothing."""
    name = "memcached-thinned"
    path = tshark.bed.root / "captures" / STORIES / PATHS[name].name
    answered, announced, ended = (21, 39, 102), (24, 42, 105), (27, 45, 108)
    at = {
        int(number[0]): float(time[0])
        for number, time in tshark.fields(path, "frame.number", "frame.time_relative")
    }
    least, most = (
        sum(at[end] - at[begin] for begin, end in zip(begins, ended, strict=True))
        for begins in (announced, answered)
    )
    report = json.loads(tshark.show(path, *OPTIONS, "-2", "-q", "-z", "smcr,json"))
    lasted = report["connections"][0]["client_to_server"]["time"]["retransmission_s"]
    assert least - 1e-6 < lasted < most
    peer = report["connections"][0]["server_to_client"]["time"]["retransmission_s"]
    assert 0 < peer <= lasted  # the server waits for the same requests


# Frames that are taken out of a capture whose first finding rests on netlink. Frames 786 and 1674
# of s10c are the reports of the two hosts, of which only that of the writer, 10.0.0.2, says that
# the buffer is full: the program of 10.0.0.1 has read 33 bytes, and has not reported them. Frame
# 1699 is a packet of their link between these reports and the reader's update. Frame 6 of s11 is
# the report of the client's host.
WITHOUT = [
    ("s10c-slow-sub-late-late-netlink", "786", r"read nothing for at least 10\.3 s"),
    ("s10c-slow-sub-late-late-netlink", "1674", None),
    ("s10c-slow-sub-late-late-netlink", "1699", None),
    ("s11-pool-kill-late-netlink", "6", None),
]


def test_report_over_netlink_proves_only_with_its_packets(tshark, scratch):
    """A host reports that a buffer is full, or that its peer has closed. The first lasts up to the
    reader's first message only if the capture has all packets of the link in between."""
    for name, frame, words in WITHOUT:
        path = scratch / f"{name}-{frame}.pcapng"
        tshark.bed.edit(tshark.bed.root / "captures" / STORIES / PATHS[name].name, path, frame)
        printed = tshark.show(path, *OPTIONS, "-2", "-q", "-z", "smcr,json")
        found = " ".join(each["text"] for each in json.loads(printed)["findings"])
        blames = re.search(r"read nothing|before the netlink report", found)
        assert bool(blames) == bool(words) and re.search(words or "", found), (name, frame, found)


def without(frames, number):
    return [frame for frame in frames if frame.number != number]


def of_host(frames, mac):
    """The frames of a MAC address, or of all ports of a host if `mac` is what these share."""
    return [frame for frame in frames if pcapng.data(frame)[6:12].startswith(mac)]


SERVER_MAC, CLIENT_MAC = (bytes.fromhex(f"525400{each}0001") for each in ("bb", "aa"))
ONLY_SERVER, ONLY_CLIENT = (functools.partial(of_host, mac=mac) for mac in (SERVER_MAC, CLIENT_MAC))
BOTH_OF_SERVER, BOTH_OF_CLIENT = (
    functools.partial(of_host, mac=mac[:4]) for mac in (SERVER_MAC, CLIENT_MAC)
)
SNAPPED = functools.partial(alterations.snapped, size=96)
THINNED, THINNED_MORE = (
    functools.partial(alterations.left_out_at_random, share=share, seed=seed)
    for share, seed in ((0.05, 1), (0.3, 2))
)
STEP = r"longest step: from the (SYN|CLC)"  # the step of the handshake that took long


def without_tcp(frames):
    return [frame for frame in frames if pcapng.data(frame)[23] != wire.TCP]


def begun_late(frames):
    """The capture begins after a fifth of the frames."""
    return frames[len(frames) // 5 :]


def ended(frames, size):
    """The capture ends after so many frames."""
    return frames[:size]


def late_roce(frames):
    """Only RoCE, from its second fifth on: nothing shows which host is the client."""
    return begun_late(without_tcp(frames))


def out_of_order(frames):
    """A twentieth of the frames, each in the place of one of the next three."""
    chance, moved = random.Random(4), list(frames)
    for at in range(len(moved) - 4):
        if chance.random() < 0.05:
            other = at + chance.randint(1, 3)
            moved[at], moved[other] = moved[other], moved[at]
    return alterations.in_time(frames, moved)


NO_DATA = 52  # total length of an IPv4 packet with 32 bytes of TCP's header


def echoes(frames):
    """The server's acknowledgements without data."""
    return [
        frame
        for frame in ONLY_SERVER(frames)
        if wire.u16(pcapng.data(frame), alterations.ETHERNET_HEADER + 2) == NO_DATA
    ]


def without_echoes(frames):
    """The client's segments without ECE."""
    return [frame for frame in ONLY_CLIENT(frames) if not pcapng.data(frame)[47] & 0x40]


MID_CONNECTION = r"mid-connection"
HALF = r"[Cc]onnection \d+ to "  # a connection without the ports of its TCP connection
SERVER_END, SERVICE_END = ("0a000002", "3039"), ("0a600a0a", "0050")  # address, port


def with_service(frame):
    """The TCP segment as the client sees it, whose server has the address and port of a service."""
    data = bytearray(pcapng.data(frame))
    for new, old, places in zip(SERVICE_END, SERVER_END, ((26, 30), (34, 36)), strict=True):
        for at in places:
            size = len(bytes.fromhex(new))
            if data[at : at + size] == bytes.fromhex(old):
                data[at : at + size] = bytes.fromhex(new)
    return pcapng.with_data(frame, bytes(data))


def translated(frames):
    """Each TCP segment twice: a host that translates addresses captures on all its interfaces."""
    for frame in frames:
        is_tcp = pcapng.data(frame)[12:14] == b"\x08\x00" and pcapng.data(frame)[23] == wire.TCP
        yield from (with_service(frame), frame) if is_tcp else (frame,)


# capture, what is left of it, what the page says, what it never says. A SYN-ACK, or CDC messages
# that are numbered from 1, show that a connection began in the capture.
DAMAGED = [
    (
        "s16b-rude-close",
        ONLY_SERVER,
        [
            r"ended with an abort; only the abort by the server is captured",
            r"active at frame \d+, later unknown",
        ],
        [MID_CONNECTION, r"The server aborted"],
    ),
    # the client answers the abort of the server, which is not captured
    (
        "s16b-rude-close",
        ONLY_CLIENT,
        [r"ended with an abort; only the abort by the client is captured"],
        [r"The client aborted"],
    ),
    ("s16b-rude-close", without_tcp, [r"The server aborted connection 0 and 1 more conn"], []),
    # the connection that did little but wait, not the one that waited longer
    (
        "s16b-rude-close",
        THINNED,
        [r"2 reads slowly: on 10\.0\.0\.1:58734 → \S+ the writer waited 245 ms \(73 %"],
        [],
    ),
    ("s20-busy", THINNED, [r"10\.0\.0\.1 reads slowly: on 10\.0\.0\.2:80 → 10\.0\.0\.1:41784"], []),
    # a packet whose retransmission is captured, and not its first transmission, does not put the
    # capture in disorder: alone, after its acknowledgement, and as one of several
    (
        "s05-delay20",
        functools.partial(without, number=454),
        [r"the writer waited 2\.37 s \(78 %"],
        [],
    ),
    (
        "6.1-v1-n-lossy",
        functools.partial(without, number=241),
        [r"Packets lost"],
        [r"≤\d+\.\d+ s"],
    ),
    # the step that took long may be one that is missing
    ("s01-fw-roce-never", ONLY_SERVER, [r"took 5\.39 s to .*; longest step not known"], [STEP]),
    ("s02b-fw-roce-60s", THINNED_MORE, [r"took 5\.08 s to .*; longest step not known"], [STEP]),
    # nobody has seen all connections of the link group
    ("s13c-qp-limit", THINNED, [r"perhaps no queue pair is left"], [r"new link group"]),
    ("s13c-qp-limit", begun_late, [r"perhaps no queue pair is left"], [r"new link group"]),
    # nobody knows who is the client: the host that aborted has its address
    (
        "s16b-rude-close",
        late_roce,
        [r"fe80::5054:ff:febb:1 aborted connection 0 and 1 more connection"],
        [r"The (client|server) aborted"],
    ),
    # LLC shows who is the client, and the link has the addresses
    (
        "s08a-server-stopped",
        without_tcp,
        [r"server 10\.0\.0\.2 took 3\.05 s to answer a request on connection 0 to the server"],
        [],
    ),
    # packets of one direction do not show when the link last worked
    (
        "6.1-v2-h1-two-links-second-fails",
        BOTH_OF_CLIENT,
        [r"probably 10\.0\.0\.1:47606 → 10\.0\.0\.2:12345 moved to link 1 frame"],
        [r"interrupted"],
    ),
    # ten NAKs ask for packets that are captured, and one for a packet that is not
    (
        "s06c-reorder",
        functools.partial(ended, size=927),
        [r"Packets lost or out of order; 1\d\d of"],
        [r"Packets lost;"],
    ),
    # TCP and RoCE of each connection are joined: by the order of tokens, by the first close of
    # both, although retransmissions follow, and after a failover
    ("s07-bufferbloat-A", ONLY_SERVER, [r"Connections: 8 SMC-Rv2"], [r"outcome unknown"]),
    ("s11-pool-kill", SNAPPED, [r"Connections: 20 SMC-Rv2 [^,;]*;"], [HALF]),
    ("s13c-qp-limit", SNAPPED, [r"Connections: 51 SMC-Rv2"], [HALF]),
    ("s04-pmtu", SNAPPED, [r"Connections: 2 SMC-Rv2 \(2\.0 or 2\.1\), 1 fell back"], [HALF]),
    (
        "6.1-v1-h2-two-links-first-fails",
        BOTH_OF_SERVER,
        [r"Connections: 3 SMC-Rv1", r"probably 10\.0\.0\.2:12345 → 10\.0\.0\.1:44772"],
        [r"outcome unknown", HALF],
    ),
    # why the outcome of a handshake is not known
    (
        "s20-busy",
        functools.partial(ended, size=256),
        [r"57166 → 10\.0\.0\.2:3306: handshake outcome unknown; the capture ends \d+ ms after the"],
        [],
    ),
    (
        "6.1-v1-c-three-conns",
        SNAPPED,
        [r"2 more connections: handshake outcome unknown; no RoCE packet after the CLC Confirm is"],
        [],
    ),
    # 10 packets came a second time, nobody knows why, and nothing shows that it cost time
    (
        "s13c-qp-limit",
        ONLY_SERVER,
        [r"Findings 1\. note 10\.0\.0\.1:45262 → 10\.0\.0\.2:6379 and 6 more .* fell back"],
        [],
    ),
    # what waits after a gap, or was discarded, is not written a second time
    (
        "6.1-v1-h1-two-links-second-fails",
        THINNED,
        [r"→ \S+ moved to link 1"],
        [r"bytes rewritten"],
    ),
    # no message announces the MTU
    ("s04-pmtu", begun_late, [r"up to 304 bytes arrived: check the path MTU"], [r"19\.9 s", LOST]),
    ("s04-pmtu", SNAPPED, [r"up to 304 bytes arrived: check the path MTU"], [r"19\.9 s", LOST]),
    # the sender goes back, whatever a few packets out of order look like
    ("s06c-reorder", out_of_order, [r"Packets lost or out of order"], [r"selective repeat"]),
    # both links are of one group, although RTokens of ADD LINK are truncated
    ("s23-host-frozen", SNAPPED, [r"ions: 2 SMC", r"Links: 2 active"], [MID_CONNECTION, HALF]),
    # marks and their echoes go in two directions
    (
        "tcp-ecn",
        echoes,
        [r"the receiver sent \d+ segments with ECE; the marked segments are not captured frame \d"],
        [r"\b0 of 0\b"],
    ),
    (
        "tcp-ecn",
        without_echoes,
        [r"marked CE; the segments of the receiver are not captured frame \d"],
        [r"sent 0 segments"],
    ),
    (
        "6.1-v2-c-three-conns",
        translated,
        [
            *(
                r"Connections: 3 SMC-Rv2\.0; close: 3 normal",
                r"10\.0\.0\.1:32932 → 10\.96\.10\.10:80",
            ),
            r"Address translation: 10\.96\.10\.10:80 is 10\.0\.0\.2:12345, too",
        ],
        [r"RoCE is not captured", r"counted twice", r"→ 10\.0\.0\.2:12345"],
    ),
    ("cnp-smc", ONLY_CLIENT, [r"\d CNPs for packets that are not captured"], [r"0 of them"]),
]


@pytest.mark.parametrize("row", DAMAGED, ids=lambda row: row[0])
def test_damaged_story(tshark, scratch, row):
    name, change, page, never = row
    path = altered(tshark, scratch, ALL[name], change)
    text = " ".join(tshark.show(path, "-2", "-q", "-z", "smcr,report").split())
    assert [words for words in page if not re.search(words, text)] == [], text
    assert [words for words in never if re.search(words, text)] == [], text


def later(frames, mac, unit=1):
    """The frames of one host are 3 ms late. `unit` 0: they keep their times, and the file is not
    sorted."""
    by = 3 * alterations.UNIT // 1000
    late = [
        (pcapng.time(each) + by, pcapng.at_time(each, pcapng.time(each) + by * unit))
        if pcapng.data(each)[6:12] == mac
        else (pcapng.time(each), each)
        for each in frames
    ]
    return [frame for _, frame in sorted(late, key=lambda pair: pair[0])]


TWO_QUEUES = r"most times of connections are not known"
LATE_SERVER, LATE_CLIENT, UNSORTED = (
    functools.partial(later, mac=mac, unit=unit)
    for mac, unit in ((SERVER_MAC, 1), (CLIENT_MAC, 1), (CLIENT_MAC, 0))
)
SNAPPED_128 = functools.partial(alterations.snapped, size=128)
# capture, how it gets out of order or loses bytes, what the page says first and later, what it
# never says
HARMED = [
    ("s10c-slow-sub-late", LATE_SERVER, r"read nothing for 10\.7 s", TWO_QUEUES, "not sorted"),
    ("s10c-slow-sub-late", LATE_CLIENT, r"read nothing for 10\.7 s", TWO_QUEUES, "not sorted"),
    ("s10c-slow-sub-late", UNSORTED, r"read nothing for 10\.7 s", "that times are", TWO_QUEUES),
    ("s20-busy", LATE_SERVER, r"41784, the writer waited at least 3\.\d+ s", TWO_QUEUES, "sorted"),
    ("s11-pool-kill", LATE_CLIENT, r"closed 10\.0\.0\.1:45562", TWO_QUEUES, "not sorted"),
    # a packet after its acknowledgement is a retransmission, and the first one is not captured
    (
        "s10c-slow-sub-late",
        functools.partial(without, number=2003),
        r"read nothing for 10\.7 s: .* the writer waited 10\.9 s",
        "Sequence gaps|Connections",
        TWO_QUEUES,
    ),
    # of ADD LINK v2, only RTokens are truncated
    ("s26-second-link-acl", SNAPPED_128, r"Link 2 .* never came up", "truncated", "not known"),
    ("s27-acl-failover", SNAPPED_128, r"Link 1 .* is lost, .* moved", "truncated", "group 1"),
]


def test_harm_hides_no_cause(tshark, scratch):
    for name, change, first, page, never in HARMED:
        path = altered(tshark, scratch, ALL[name], change)
        text = " ".join(tshark.show(path, "-2", "-q", "-z", "smcr,report").split())
        assert re.search(first, re.search(r" 1\. (.*?) frame \d", text)[1]), text
        assert re.search(page, text) and not re.search(never, text), text


UDP = 17


def of_roce(frames):
    return [frame for frame in frames if pcapng.data(frame)[23] == UDP]


def begun(count):
    """The first frames of a capture."""
    return lambda frames: frames[:count]


def longest_silence(frames):
    """The longest time between two frames, in seconds."""
    times = [pcapng.time(frame) for frame in frames]
    return max(later - time for time, later in itertools.pairwise(times)) / alterations.UNIT


WAITED = "longest_waits.server reader.lasted_s"
# Of a lossy capture the programs say only that the client reads nothing up to a moment. Nothing is
# on the wire meanwhile: the wait is the longest silence of the first frames, within a round trip.
SILENCE, BEFORE_LOSSES = {WAITED: None}, 190
ROUND_TRIP = 0.012  # seconds: the longest of the first requests of these captures
# What programs know of their waits (captures/README.md, the .json files) and of their bytes:
# (what, (capture, what is done to it, port of the client), {figure: (least, most)}, kinds of waits
# that nobody has)
KNOWN = [
    (
        "a request takes 3.098 s, and others 35 ms, of which their own way is a part",
        ("s08a-server-stopped", None, 38298),
        {"longest_waits.client answer.lasted_s": (3.098 - 2 * 0.0352, 3.098)},
        {"reader", "space", "retransmission"},
    ),
    (
        "a subscriber reads nothing up to 1795884167.883; its clock is known to 191 ms",
        ("s10c-slow-sub-late", None, 52734),
        {
            WAITED: (10.4, 16.004),
            "longest_waits.server reader.end_time": (1795884167.692, 1795884168.074),
        },
        {"retransmission"},
    ),
    (
        "a client reads 16,000 bytes each 0.4 s, and its buffer has 64 KiB",
        ("s20-busy", None, 41784),
        {WAITED: (0.4, 65536 / 16000 * 0.4)},
        {},
    ),
    (
        "a round trip of 40 ms for each buffer; no program is slow",
        ("s05-delay20", None, 48500),
        {"longest_waits.server space.lasted_s": (0.04, 0.08), WAITED: (0, 0.004)},
        {},
    ),
    (
        "a server sleeps 4 ms after each 6,000 bytes of 1 MiB, for at most 1.169 s in all",
        ("6.1-v2-d-bulk-slow-reader", None, 32964),
        {"client_to_server.time.reader_s": (0.004 * (1048576 - 16384) / 6000, 1.169)},
        {"retransmission"},
    ),
    *(
        (f"a client reads after a second; frames: {count}", (name, begun(count), port), SILENCE, {})
        for name, port, count in (
            ("6.1-v1-n-lossy", 36938, 178),
            ("6.1-v1-n-lossy", 36938, 190),
            ("6.1-v1-n-lossy", 36938, None),
            ("6.1-v2-n-lossy", 59070, 198),
            ("6.1-v2-n-lossy", 59070, 199),
            ("6.1-v2-n-lossy", 59070, None),
        )
    ),
    (
        "a client sends 4,000 bytes; one host's frames",
        ("6.1-v1-c-three-conns", ONLY_CLIENT, 58152),
        {"client_to_server.bytes": (4000, 4000)},
        {"reader", "space", "retransmission"},
    ),
    (
        "the same of the other host's: the cursors say it",
        ("6.1-v1-c-three-conns", ONLY_SERVER, 58152),
        {"server_to_client.bytes": (3000, 3000)},
        {"reader", "space", "retransmission"},
    ),
    (
        "a client sends 3,000 bytes, and another link comes up; one host's frames",
        ("6.1-v1-h5-late-second-link", ONLY_CLIENT, 42120),
        {"client_to_server.bytes": (3000, 3000)},
        {"reader", "space", "retransmission"},
    ),
    (
        "a client sends 650 bytes up to the end of its link; RoCE only",
        ("6.1-v2-g6-single-link-down", of_roce, None),
        {"client_to_server.bytes": (650, 650)},
        {"reader", "space"},
    ),
]


def figure_of(conn, path):
    """A figure of a connection by its path; its longest waits have names, not numbers."""
    waits = {f"{wait['writer']} {wait['kind']}": wait for wait in conn["longest_waits"]}
    found = {**conn, "longest_waits": waits}
    for name in path.split("."):
        found = found[name]
    return float(found)


def test_what_programs_know(tshark, scratch):
    wrong = []
    for what, (name, change, port), figures, nobody in KNOWN:
        head, frames = pcapng.read(ALL[name])
        frames = change(frames) if change else frames
        path = scratch / f"{len(wrong)}.pcapng"
        scratch.chmod(0o777)
        pcapng.write(path, head, frames)
        path.chmod(0o644)
        report = json.loads(tshark.show(path, *OPTIONS, "-2", "-q", "-z", "smcr,json"))
        conn = next(each for each in report["connections"] if each["client"]["port"] == port)
        for figure, bounds in figures.items():
            silence = longest_silence(frames[:BEFORE_LOSSES])
            least, most = bounds or (silence - ROUND_TRIP, silence + ROUND_TRIP)
            if not least <= figure_of(conn, figure) <= most:
                wrong.append((what, figure, least, figure_of(conn, figure), most))
        wrong += [(what, wait) for wait in conn["longest_waits"] if wait["kind"] in nobody]
    assert wrong == []


def test_wait_for_a_silent_peer_is_no_wait_for_a_lost_packet(tshark, scratch):
    """Two stories in one file, one after the other. The silence has its own finding: its 31.7 s
    are no time of the losses, and the setup that took 5 s comes before the losses."""
    head, lossy = pcapng.read(PATHS["s06e-corrupt"])
    _, silent = pcapng.read(PATHS["s02b-fw-roce-60s"])
    shift = pcapng.time(lossy[-1]) + 10**6 - pcapng.time(silent[0])
    path = scratch / "two.pcapng"
    pcapng.write(
        path,
        head,
        lossy + [pcapng.at_time(frame, pcapng.time(frame) + shift) for frame in silent],
    )
    path.chmod(0o644)
    report = json.loads(tshark.show(path, *OPTIONS, "-2", "-q", "-z", "smcr,json"))
    kinds = [each["kind"] for each in report["findings"]]
    (loss,) = [each["text"] for each in report["findings"] if each["kind"] == "loss"]
    assert "waited up to" not in loss and "retransmitted" in loss
    assert kinds.index("slow_setup") < kinds.index("loss")
