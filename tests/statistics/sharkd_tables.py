"""
Tables of Wireshark's statistics as sharkd gives them, which says each number as it is, and as
tshark prints them.
"""

import re

import sharkd

ROW = re.compile(
    r"^(?P<a>\S.*?) +<-> (?P<b>.*?) +(?P<rxf>\d+) (?P<rxb>[\d.]+ \S+) +(?P<txf>\d+) "
    r"(?P<txb>[\d.]+ \S+) +"
    r"(?P<frames>\d+) (?P<bytes>[\d.]+ \S+) +(?P<start>\d+\.\d+) +(?P<duration>\d+\.\d+)$"
)
SIZE = r"\d+(?: [A-Za-z]+)?"  # 4.0 has numbers of bytes here, later versions sizes
HOST = re.compile(
    rf"^(?P<host>\S.*?)  +(?P<frames>\d+) +(?P<bytes>{SIZE}) +(?P<txf>\d+) +(?P<txb>{SIZE}) "
    r"+(?P<rxf>\d+) +"
    rf"(?P<rxb>{SIZE}) *$"
)


def taps(tshark, path, *names):
    """What sharkd says of a capture for each of these taps."""
    return ask_all(tshark, [sharkd.load(path), request(*names)])[1]


def request(*names):
    return "tap", {f"tap{i}": name for i, name in enumerate(names)}


def ask_all(tshark, requests):
    """Answers; of a request for taps what each of them says, in the order of the request."""
    answers = sharkd.ask(tshark, requests)
    for i, (method, parameters) in enumerate(requests):
        if method == "tap":
            by_name = {each["tap"]: each for each in answers[i]["taps"]}
            answers[i] = [by_name[name] for name in parameters.values()]
    return answers


def frames_of_filters(tshark, path, filters):
    """The frames that each display filter finds, after a first pass: [{number of frame}]"""
    requests = [sharkd.load(path), *(("frames", {"filter": each}) for each in filters)]
    return [{frame["num"] for frame in each} for each in sharkd.ask(tshark, requests)[1:]]


def conversations(tshark, path):
    """Rows of the conversation table by smcr.stream, which their filter tells."""
    rows = taps(tshark, path, "conv:SMC-R")[0]["convs"]
    found = {int(re.match(r"smcr\.stream==(\d+) ", row["filter"])[1]): row for row in rows}
    assert len(found) == len(rows)
    return found


def exact(size):
    """Bytes, as far as tshark does not round them; else None."""
    number, _, unit = size.partition(" ")
    return int(number) if unit in ("", "bytes") else None


def agree(size, number):
    """Whether a size that tshark prints can be this number of bytes."""
    return exact(size) in (None, number)


def printed(text, pattern):
    """Rows of a table as tshark prints it."""
    return [match.groupdict() for line in text.splitlines() if (match := pattern.match(line))]
