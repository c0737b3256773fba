"""What silence.py counts, on made reports: figures that are lost, and bounds that are too wide."""

import types

import report_schema
import silence

PORT, OTHER_PORT = 5001, 5002
# Frames 1 to 9, a second apart: 4 and 5 are of another connection on the same link, 8 is on another
# link, all others concern the connection.
ON_LINKS = [1, 2, 3, 4, 5, 6, 7, 9]
FRAMES, TIMES = [1, 2, 3, 6, 7, 9], {frame: frame * 1_000_000 for frame in range(1, 10)}


def made_connection(port=PORT, **changes):
    """A connection of eight seconds. All of the time, and what else bounds allow, is known."""
    time = dict.fromkeys(report_schema.SCHEMA["$defs"]["conn_time"]["required"], 0.0)
    time.update(connecting_s=1.0, nothing_to_write_s=7.0, nothing_to_write_most_s=7.0)
    report = report_schema.entry(
        "connection",
        **{
            "stream": 0,
            "client": {"addr": "10.0.0.1", "port": port},
            "server": {"addr": "10.0.0.2", "port": 80},
            "version": "SMC-R",
            "close": "normal",
            "first_time": "1.000000000",
            "last_time": "9.000000000",
            "client_to_server": {"bytes": 10, "time": time},
            "server_to_client": {"bytes": 0, "time": dict(time)},
            **changes,
        },
    )
    return {"longest_waits": [], **report}  # which the schema does not require


def whole_connection(report):
    return silence.Connection(
        report, silence.figures_of(report), silence.parts_of(report), FRAMES, ON_LINKS
    )


def compared(report, missing=(), whole=None, flows=None):
    """The outcome for the connection, where the altered capture has this report of it. flows: as in
    Whole; all frames are of one flow by default."""
    whole = whole or whole_connection(made_connection())
    ends = frozenset(silence.truths.ends_of(whole.report))
    capture = types.SimpleNamespace(times=TIMES, flows=flows or {})
    [outcome] = silence.compare(
        {ends: whole}, {"connections": [report] if report else []}, set(missing), capture
    )
    return outcome


def with_bounds(most, name="buffer_full_most_s"):
    report = made_connection()
    report["client_to_server"]["time"][name] = most
    return report


def lost(outcome):
    return [(loss.path, loss.how) for loss in outcome.losses]


def test_nothing_is_lost():
    outcome = compared(made_connection())
    assert (lost(outcome), outcome.is_concerned, outcome.is_gone) == ([], False, False)
    assert "client_to_server.time.buffer_full_s" in outcome.connection.parts
    assert "client_to_server.time.connecting_s" in outcome.connection.figures
    assert not any("_most_s" in path or "unknown_s" in path for path in outcome.connection.figures)


def test_figures_that_are_lost():
    """Null, "unknown" and absent are lost, once each; another value, or a new figure, is not."""
    report = made_connection(close="unknown", version=None, setup_s=1.5, stream=7)
    del report["server_to_client"]["bytes"]
    assert lost(compared(report)) == [
        ("close", "null"),
        ("server_to_client.bytes", "null"),
        ("version", "null"),
    ]
    assert (
        lost(compared(made_connection(), whole=whole_connection(made_connection(close="unknown"))))
        == []
    )


def test_time_that_is_lost():
    report = made_connection()
    report["client_to_server"]["time"] = None
    found = dict(lost(compared(report)))
    assert set(found.values()) == {"null"}
    assert found.keys() == {
        f"client_to_server.time.{name}"
        for name in ("connecting_s", "reader_s", "filling_s", "needless_s", *silence.MOST)
    }


def test_bounds():
    """A gap lasts from the frame before it to the frame after it, and a millisecond more."""
    name = "client_to_server.time.buffer_full_s"
    for most, missing, found in (
        (0.001, [], [(name, "wide")]),
        (0.001, [4], [(name, "wide")]),  # does not concern it
        (4.001, [3], []),  # from 2 to 6
        (4.002, [3], [(name, "wide")]),
        (5.001, [3, 6], []),  # one gap
        (6.9, [2, 3, 7], []),  # from 1 to 6, from 6 to 9
        (2.001, [1], [(name, "wide")]),  # from 1 to 2
        (1.001, [1], []),
        (7.0, [9], [(name, "blank")]),  # all but the second of connecting
    ):
        assert lost(compared(with_bounds(most), missing)) == found, (most, missing)


def test_gaps_of_flows():
    """A gap lasts from the frame before it to the frame after it in its own flow."""
    flows = {1: "to server", 2: "to client", 3: "to server", 6: "to client", 7: "to server"}
    name = "client_to_server.time.buffer_full_s"
    for most, missing, found in (
        (6.001, [3], []),  # from 1 to 7
        (6.002, [3], [(name, "wide")]),
        (5.001, [2], []),  # no frame of its flow before it: from 1 to 6
        (5.002, [2], [(name, "wide")]),
        (6.002, [3, 6], []),  # from 1 to 7, and from 2 to 7, since its flow has no frame after it
        (6.003, [3, 6], [(name, "wide")]),
    ):
        outcome = compared(with_bounds(most), missing, flows=flows)
        assert lost(outcome) == found, (most, missing)


def test_bounds_of_the_whole():
    """Where the whole capture does not know a part, the part cannot be lost."""
    whole = whole_connection(with_bounds(0.5))
    assert lost(compared(with_bounds(7.0), whole=whole)) == []


def test_bounds_beyond():
    """Gaps on the links explain what those of the connection do not."""
    for most, missing, is_beyond in (
        (2.001, [4], False),  # from 3 to 5
        (2.002, [4], True),
        (2.001, [8], True),
    ):
        [loss] = compared(with_bounds(most), missing).losses
        assert loss.is_beyond == is_beyond, (most, missing)


def test_connection_that_is_gone():
    """Another port, no addresses, or two connections with the same ones: there is no match."""
    for report in (None, made_connection(OTHER_PORT), made_connection(client={"addr": None})):
        outcome = compared(report, [1])
        assert (outcome.is_gone, outcome.is_concerned, list(outcome.losses)) == (True, True, [])


def test_connection_with_ends_exchanged():
    """Which end is the client may not be known: then the directions are exchanged, too."""
    report = silence.turned(made_connection(close="unknown", fallback=None))
    report["server_to_client"]["bytes"] = None  # those of the client
    assert lost(compared(report)) == [("client_to_server.bytes", "null"), ("close", "null")]


def test_names_and_counts():
    for path, name in (
        ("server_to_client.time.answer_s", "time.answer_s"),
        ("client_to_server.ack_time_s.min", "ack_time_s"),
        ("longest_waits.client answer.begin_frame", "longest_waits (answer)"),
        ("links[1].number", "links"),
        ("client.addr", "client.addr"),
    ):
        assert silence.name_of(path) == name
    tally = silence.Tally()
    for outcome in (compared(made_connection(close=None)), compared(with_bounds(7.0), [4])):
        tally.add(outcome)
    tally.add(compared(None, [1]))
    whole = whole_connection(made_connection())
    figures = 2 * (len(whole.figures) + len(whole.parts))
    assert tally.cells() == (3, 1, f"{200 / figures:.1f} %", "50.0 %", "50.0 %", "50.0 %")
