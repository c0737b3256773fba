"""
What the default run leaves to `tests/run --all`: of tests that go over all captures it takes some.
All tests of a file take the same captures, so that they share what is made of them, and each file
takes others.
"""

import functools
import itertools
import zlib

from bed import ALL, FOLDERS, PACKED, captures

# Of so many captures the default run takes one. A row of a test goes before that of its file.
SHARES = {
    "facts/test_calm.py": 3,
    "facts/test_comparison.py": 4,
    "facts/test_counts.py": 3,
    "facts/test_elastic.py": 3,
    "facts/test_fabric.py::test_disorder": 4,
    "facts/test_findings.py::test_report_of": 2,
    "facts/test_heuristics.py": 3,
    "facts/test_output.py": 3,
    "facts/test_quiet.py::test_other_frames_of_smcr_captures": 4,
    "facts/test_quiet.py::test_built_in_dissector_stays_out": 4,
    "facts/test_report.py": 3,
    "facts/test_report_connections.py": 3,
    "facts/test_report_roce.py": 3,
    "facts/test_report_schema.py": 3,
    "facts/test_report_tcp.py": 3,
    "facts/test_roce.py": 3,
    "facts/test_state_exchanges.py": 2,
    "facts/test_state_passes.py": 5,
    "facts/test_statements.py": 4,
    "facts/test_window.py": 3,
    "facts/test_wire.py": 3,
    "statistics/test_conversation_filters.py": 4,
    "statistics/test_conversations.py": 4,
    "statistics/test_flow_graph.py": 4,
    "statistics/test_message_tree.py": 4,
    "statistics/test_response_times.py": 4,
    "statistics/test_sanitized.py": 2,
    "statistics/test_tables.py": 4,
    "synth/test_synth.py::test_lower_layers_are_sound": 4,
}

# Captures of one rule each, in all files but those that they are for.
SCENE, SCENE_SHARE = ("rule-", "peer-"), 4
OF_SCENES = {
    "golden/test_golden.py",
    "facts/test_removal.py",
    "facts/test_rule_captures.py",
    "synth/test_synth.py",
}


@functools.cache
def numbers():
    """{capture: its number among those of its folder}"""
    return {
        path.name.split(".pcap")[0]: number
        for folder in (*FOLDERS, *PACKED)
        for number, path in enumerate(captures(folder).values())
    }


def captures_of(values):
    """The captures that a test's parameters name."""
    for value in values:
        if isinstance(value, tuple):
            yield from captures_of(value)
        elif isinstance(value, str) and value in numbers():
            yield value


def share_of(file, function, capture):
    share = SHARES.get(f"{file}::{function}", SHARES.get(file, 1))
    return max(share, SCENE_SHARE) if capture.startswith(SCENE) and file not in OF_SCENES else share


def has(file, function, values):
    """Whether the default run has this case of a test; `values`: its parameters."""
    capture = next(captures_of(values), None)
    if not capture:
        return True
    share = share_of(file, function, capture)
    return numbers()[capture] % share == zlib.crc32(file.encode()) % share


def combinations(*values):
    """All combinations of values; by default so few that each value is in one."""
    if ALL:
        return list(itertools.product(*values))
    return [
        tuple(each[number % len(each)] for each in values)
        for number in range(max(map(len, values)))
    ]
