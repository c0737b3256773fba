"""
Where the time of a connection went: made connections with known pauses, to the microsecond; the sum
of the parts; and how long the programs of real captures took to connect, as they measured it.
"""

import decimal
import json
import pathlib
import re

import ground_truth
import time_scenes
from report_runs import ONE, REAL, RUNS, TWO, parse, print_json, report

TRUTH = json.loads((pathlib.Path(__file__).parent / "times.json").read_text(encoding="utf-8"))
WAYS = {"client": "client_to_server", "server": "server_to_client"}


def parts(direction):
    """Microseconds."""
    return direction["time"] and [
        round((direction["time"][f"{name}_s"] or 0) * 1e6) for name in TRUTH["columns"]
    ]


def file_of(folder, scene):
    path = folder / f"time-{scene.__name__}.pcap"
    if not path.exists():
        path.write_bytes(scene().pcap())
        path.chmod(0o644)
    return path


def truth_of(scene, role, passes):
    """Of what a single pass learns too late it knows less."""
    truth = TRUTH[scene.__name__]
    return truth.get(f"{role}, {passes} passes", truth[role])


def test_made_connections(tshark, scratch):
    """In one pass and in two."""
    assert {scene.__name__ for scene in time_scenes.SCENES} == {
        name for name, each in TRUTH.items() if isinstance(each, dict)
    }
    wrong = []
    for scene in time_scenes.SCENES:
        for run in (ONE, TWO):
            (connection,) = parse(print_json(tshark, file_of(scratch, scene), run))["connections"]
            wrong += [
                (
                    scene.__name__,
                    run.passes,
                    role,
                    parts(connection[way]),
                    truth_of(scene, role, run.passes),
                )
                for role, way in WAYS.items()
                if parts(connection[way]) != truth_of(scene, role, run.passes)
            ]
    assert wrong == []


def test_first_finding_of_made_connections(tshark, scratch):
    wrong = []
    for scene in time_scenes.SCENES:
        found = parse(print_json(tshark, file_of(scratch, scene), TWO))["findings"]
        first = next((each["kind"] for each in found if each["severity"] != "info"), None)
        if first != TRUTH[scene.__name__]["first"]:
            wrong.append((scene.__name__, first, TRUTH[scene.__name__]["first"]))
    assert wrong == []


def test_parts_add_up(tshark):
    """To the time of the connection, in each direction of each capture, to the nanosecond."""
    wrong, known = [], 0
    for name, run in RUNS:
        for connection in report(tshark, name, run)["connections"]:
            for way in WAYS.values():
                time = connection[way]["time"]
                if time is None:
                    continue
                known += 1
                assert all(part is None or part >= 0 for part in time.values())
                whole = decimal.Decimal(connection["last_time"]) - decimal.Decimal(
                    connection["first_time"]
                )
                total = sum(
                    decimal.Decimal(repr(time[f"{name}_s"] or 0)) for name in TRUTH["columns"]
                )
                if abs(whole - total) > decimal.Decimal("1e-9"):
                    wrong.append((name, run, connection["stream"], way, whole, total))
    assert known > 200 and wrong == []


def test_setup_is_what_programs_measured(tshark):
    """connect() returns when the connection can carry data; the program's clock has milliseconds,
    and is of another host."""
    compared = 0
    for name in REAL:
        apps = ground_truth.of(name).get("apps") or []
        connected = [
            float(each)
            for app in apps
            for each in re.findall(r"conn \d+ connected in ([\d.]+) s", app["output"])
        ]
        measured = [
            each["setup_s"]
            for each in report(tshark, name, TWO)["connections"]
            if each["outcome"] == "smc-r"
        ]
        if len(connected) != len(measured) or None in measured:
            continue
        for one, other in zip(sorted(connected), sorted(measured), strict=True):
            assert abs(one - other) < 0.03, (name, connected, measured)
            compared += 1
    assert compared > 40


def test_peer_silent(tshark, scratch):
    """Told at the fourth transmission after the peer's last packet; taken back in the second pass
    where it is heard again."""
    found = {
        scene.__name__: [
            tshark.frames(file_of(scratch, scene), "smcr.peer_silent", two_pass=two_pass)
            for two_pass in (False, True)
        ]
        for scene in (time_scenes.heard_again, time_scenes.dead_peer)
    }
    assert found == {"heard_again": [[27], []], "dead_peer": [[27], [27]]}
    finding = parse(print_json(tshark, file_of(scratch, time_scenes.dead_peer), TWO))["findings"][0]
    assert finding["kind"] == "no_answer" and "for at least 600 ms despite 12 " in finding["text"]
