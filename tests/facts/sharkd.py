"""
sharkd: Wireshark without its window. Loads captures one after the other in one process, and shows
frames of the one loaded last in any order, after its first pass over all of them.
"""

import json

SETTINGS = {
    "udp.ignore_ipv6_zero_checksum": "TRUE",
    "nameres.mac_name": "FALSE",
    "nameres.network_name": "FALSE",
    "nameres.transport_name": "FALSE",
}


class Failed(Exception):
    """sharkd has crashed or refuses a request."""


def lines(requests):
    """What sharkd reads: the settings and these requests, each (method, parameters). They are
    numbered from 1."""
    every = [
        ("setconf", {"name": name, "value": value}) for name, value in SETTINGS.items()
    ] + list(requests)
    return [
        json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": parameters})
        for number, (method, parameters) in enumerate(every, 1)
    ]


def ask(tshark, requests):
    """Results of requests, each (method, parameters), in the same order."""
    every = lines(requests)
    answer = tshark.start("-", program="sharkd", input="\n".join(every) + "\n")
    answers = [json.loads(line) for line in answer.stdout.splitlines()]
    failed = [each for each in answers if "result" not in each]
    if answer.returncode != 0 or failed or len(answers) != len(every):
        raise Failed(f"exit status {answer.returncode}\n{failed[:3]}\n{answer.stderr[-2000:]}")
    return [each["result"] for each in sorted(answers, key=lambda each: each["id"])][
        len(SETTINGS) :
    ]


def load(path):
    return "load", {"file": str(path)}


def frame(number):
    """The frame's tree."""
    return "frame", {"frame": number, "proto": True}


def frames_where(tshark, name, names, where):
    """
    Numbers of the frames of a capture that match, after the first pass. One process asks all
    captures in `names`, which are the project's, and once for all tests. A request takes less than
    2 KB, so the filter is short. sharkd 4.0 keeps the answer to a filter when it loads the next
    file; each file has one that it has not seen.
    """

    def make():
        requests = []
        for number, each in enumerate(names):
            asked = {"filter": " " * number + where, "column0": "frame.number:0"}
            requests += [load(tshark.bed.capture(each)), ("frames", asked)]
        answers = ask(tshark, requests)[1::2]
        return json.dumps(
            {each: list(values(answer)) for each, answer in zip(names, answers, strict=True)}
        ).encode()

    return json.loads(
        tshark.bed.keep((names, where, tshark.environment["WIRESHARK_PLUGIN_DIR"]), make)
    )[name]


def columns(fields):
    """All frames, with all values of these fields; values() reads the answer."""
    return "frames", {f"column{i}": f"{field}:0" for i, field in enumerate(fields)}


def values(answer):
    """Frames by number: {number: [text of each field]}; several values are separated by commas."""
    return {each["num"]: each["c"] for each in answer}
