"""
What must hold, and which tests hold it: the map of contributing.md. A property is held once, by the
cheapest test that can fail. Each test of a run has one property: its file is in this table, or
`FILE::FUNCTION`, which goes before.
"""

# (property, tests that hold it)
PROPERTIES = [
    (
        "Every message is found and every byte of it is shown by the right field",
        ["facts/test_wire.py", "facts/test_vectors.py", "facts/test_option.py"],
    ),
    (
        (
            "What a host tells is shown as it printed it, in both byte orders; netlink of others "
            "is left alone"
        ),
        ["facts/test_netlink.py", "facts/test_kernel_headers.py"],
    ),
    (
        "The page shows the JSON's numbers and the wire's positions, and runs only its own script",
        ["facts/test_page.py", "facts/test_chromium.py"],
    ),
    (
        "What the tap of ANCK copies is shown, followed and reported as its bytes say",
        ["facts/test_anck_tap.py"],
    ),
    (
        "Pauses of Ethernet and the flows that stand still are those of the bytes",
        ["facts/test_pause.py"],
    ),
    (
        "Flows recover from loss and disorder as a reader of the bytes says",
        ["facts/test_recovery.py", "facts/test_adapters.py", "facts/test_lumina.py"],
    ),
    (
        "RoCE that is not analysed is counted as the bytes have it",
        ["facts/test_others.py"],
    ),
    (
        "VLANs and tunnels keep RDMA flows apart; classes and ports are those of the bytes",
        ["facts/test_classes.py"],
    ),
    (
        "What happened between capture points is what was done to the packets there",
        ["facts/test_points.py", "desk/test_compare.py"],
    ),
    ("Messages are as many as the programs sent", ["facts/test_counts.py"]),
    ("A SEND on an unknown queue pair proves itself by its bytes", ["facts/test_reserved.py"]),
    (
        "No text changes unnoticed",
        ["golden/test_golden.py", "golden/test_report_golden.py", "golden/test_totals.py"],
    ),
    (
        "Every frame has the right connection, direction, link and place in the stream",
        [
            "facts/test_state_streams.py",
            "facts/test_state_kernel.py",
            "facts/test_late_clc.py",
            "facts/test_filters.py",
        ],
    ),
    ("Nothing gets a wrong owner, whatever a capture lacks", ["facts/test_state_altered.py"]),
    (
        "What is said of a part of a capture is true of all of it",
        ["facts/test_truths.py", "facts/test_altered_report.py"],
    ),
    (
        "Nobody is blamed for what a capture lacks",
        ["facts/test_removal.py", "facts/test_lacking.py", "facts/test_damaged_clc.py"],
    ),
    (
        "A healthy capture has nothing above CHAT, and no stock colour",
        ["facts/test_healthy.py", "facts/test_calm.py"],
    ),
    (
        "A broken rule is told of where it is broken",
        [
            "facts/test_rules.py",
            "facts/test_rule_captures.py",
            "facts/test_mutants.py",
            "facts/test_lies.py",
            "facts/test_broken_rules.py",
            "facts/test_breach.py",
            "facts/test_harmless.py",
            "facts/test_strict_links.py",
            "facts/test_report_breaches.py",
        ],
    ),
    (
        "Requests, responses and steps of CLC find each other",
        ["facts/test_state_exchanges.py", "statistics/test_response_times.py"],
    ),
    ("A fallback has its reason at its frame", ["facts/test_state_fallback.py"]),
    ("What one frame says of others is right", ["facts/test_statements.py"]),
    (
        "Windows and waits are those of the cursors",
        ["facts/test_window.py", "facts/test_immediate.py"],
    ),
    (
        "One pass, two passes and clicks show the same",
        [
            "facts/test_state_passes.py",
            "facts/test_report_passes.py",
            "facts/test_stepping_aside.py",
        ],
    ),
    ("The packet list says what the fields say, with a tree and without", ["facts/test_output.py"]),
    (
        "The application's data is dissected as over TCP",
        [
            "facts/test_payload.py",
            "facts/test_receiver_order.py",
            "facts/test_other_protocols.py",
            "facts/test_applications.py",
            "facts/test_heuristics.py",
            "facts/test_preferences.py",
        ],
    ),
    (
        "A connection that began before the capture has the name that its hosts tell, and no other",
        ["facts/test_hosts.py"],
    ),
    (
        "Directions of which the capture lacks CLC go together, and only those of one connection",
        ["facts/test_directions.py"],
    ),
    (
        "Follow and Export give what the programs sent",
        [
            "facts/test_follow.py",
            "facts/test_export.py",
            "facts/test_export_tcp.py",
            "facts/test_bulk.py",
            "facts/test_refused.py",
        ],
    ),
    (
        "What is not SMC-R looks as without the plugin",
        [
            "facts/test_quiet.py",
            "facts/test_roce_ports.py",
            "facts/test_builtin_too.py",
            "test_plugin.py",
        ],
    ),
    ("What the built-in dissector shows has its counterpart", ["facts/test_comparison.py"]),
    (
        "RoCE packets fare as a reader of the bytes and the hosts say",
        ["facts/test_fabric.py", "facts/test_roce.py"],
    ),
    ("An ICRC is right or wrong as the specification says", ["facts/test_icrc.py"]),
    (
        "Figures of the report are those of the bytes, the hosts and the fields",
        [
            "facts/test_report.py",
            "facts/test_report_connections.py",
            "facts/test_report_roce.py",
            "facts/test_report_tcp.py",
            "facts/test_report_fields.py",
            "facts/test_report_live.py",
            "facts/test_lasting.py",
            "facts/test_extent.py",
            "facts/test_one_connection.py",
            "facts/test_altered_report.py",
        ],
    ),
    (
        "The JSON is what its schema says, and can be stored",
        ["facts/test_report_schema.py", "facts/test_elastic.py"],
    ),
    (
        "The first finding is the cause",
        [
            "facts/test_findings.py",
            "facts/test_stories.py",
            "facts/test_public.py",
            "facts/test_story_links.py",
            "facts/test_story_handshakes.py",
            "facts/test_causes.py",
            "facts/test_clocks.py",
            "facts/test_causes_made.py",
            "facts/test_times.py",
        ],
    ),
    (
        "smcr.finding shows the frames of each finding",
        ["facts/test_finding_frames.py"],
    ),
    (
        "Tables, trees and graphs say what the report and the bytes say",
        [
            "statistics/test_tables.py",
            "statistics/test_conversations.py",
            "statistics/test_message_tree.py",
            "statistics/test_flow_graph.py",
            "statistics/test_io_graphs.py",
            "statistics/test_statistics_window.py::test_window_of_the_report_and_of_links",
        ],
    ),
    ("Every filter finds what it names", ["statistics/test_conversation_filters.py"]),
    (
        "Whatever bytes come: no crash, no hang, no leak, no wrong JSON",
        [
            "malformed/test_malformed.py",
            "malformed/test_hostile_reports.py",
            "malformed/test_hostile_tables.py",
            "statistics/test_sanitized.py",
            "statistics/test_statistics_window.py",
            "fuzz/test_fuzz.py",
        ],
    ),
    ("A live capture shows what its file shows", ["desk/test_live.py"]),
    (
        "The monitor, the profile and the packages work",
        [
            "desk/test_monitor.py",
            "desk/test_capture.py",
            "desk/test_profile.py",
            "desk/test_package.py",
            "desk/test_neighbours.py",
            "test_install.py",
        ],
    ),
    ("What a peer wrote reaches no output as control characters", ["facts/test_peer_texts.py"]),
    (
        "Documents say what is so, and their commands work",
        [
            "test_docs.py",
            "test_scripts.py",
            "desk/test_commands.py",
            "desk/test_guide.py",
            "desk/test_readme.py",
            "desk/test_ci.py",
        ],
    ),
    (
        "The house: rooms, names, codes once, style, recipes",
        [
            "test_modules.py",
            "test_names.py",
            "test_codes.py",
            "test_style.py",
            "test_unused.py",
            "test_recipes_made.py",
            "test_recipes.py",
        ],
    ),
    (
        "Lines for a site have the figures of the report",
        [
            "facts/test_lines.py",
            "facts/test_forgotten.py",
            "desk/test_site.py",
            "desk/test_probe.py",
        ],
    ),
    ("Texts of the program have the words of the glossary", ["test_texts.py"]),
    ("The source compiles for other systems", ["test_portability.py"]),
    ("Wireshark's checkers find nothing in the source", ["test_wireshark_checks.py"]),
    (
        "The tests themselves are sound",
        [
            "test_started.py",
            "test_benchmarks.py",
            "test_mutations.py",
            "synth/test_synth.py",
            "facts/test_silence.py",
        ],
    ),
    (
        "Tests depend on nothing that is installed, on no order and no number of processes",
        ["test_hermetic.py"],
    ),
]

HOLDERS = {holder: number for number, (_, holders) in enumerate(PROPERTIES) for holder in holders}


def property_of(file, function):
    """Its number in the table; None if no row has this test."""
    return HOLDERS.get(f"{file}::{function}", HOLDERS.get(file))
