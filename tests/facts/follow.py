"""Reads what `tshark -z follow,PROTOCOL,MODE,N` prints."""

import re

REPORT = re.compile(
    r"={67}\nFollow: (.+)\nFilter: (.+)\nNode 0: .+\nNode 1: .+\n((?:.*\n)*?)={67}\n"
)


def follow(tshark, capture, index, *, protocol="smcr", mode="raw", two_pass=False, options=()):
    """What a Follow prints between its head and its foot, which are checked."""
    printed = tshark.show(
        capture,
        *options,
        "-q",
        "-z",
        f"follow,{protocol},{mode},{index}",
        *(["-2"] if two_pass else []),
    )
    report = REPORT.fullmatch(printed.lstrip("\n"))
    assert report and report[1] == f"{protocol},{mode}", printed[:500]
    return report[3]


def follow_all(tshark, capture, indexes, *passes):
    """What Follows of many connections print, all in one run: {index: body}. In the mode raw."""
    taps = (argument for index in indexes for argument in ("-z", f"follow,smcr,raw,{index}"))
    printed = tshark.show_once(capture, "-q", *taps, *passes)
    reports = list(REPORT.finditer(printed))
    assert {report[1] for report in reports} == {"smcr,raw"} and not REPORT.sub(
        "", printed
    ).strip(), printed[:500]
    return {int(report[2].removeprefix("smcr.stream eq ")): report[3] for report in reports}


def raw(body):
    """The pieces of the mode raw, in order: [(direction, bytes)]; 0 is client to server."""
    lines = body.splitlines()
    assert all(re.fullmatch(r"\t?([0-9a-f]{2})+", line) for line in lines), [
        line[:200] for line in lines
    ][:5]
    return [(int(line[0] == "\t"), bytes.fromhex(line.strip())) for line in lines]


def hexdump(body):
    """The pieces of the mode hex, one per line."""
    lines = [
        re.fullmatch(r"(\t?)([0-9A-F]{8,})  ((?:[0-9a-f]{2} {1,2})+) .*", line, re.DOTALL)
        for line in body.split("\n")
        if line
    ]
    assert all(lines), body[:500]
    return [(len(line[1]), bytes.fromhex(line[3])) for line in lines]


def streams(pieces):
    """Both directions: [client to server, server to client]."""
    return [b"".join(data for side, data in pieces if side == direction) for direction in (0, 1)]
