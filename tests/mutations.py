"""
Faults that a programmer might make, and the test that finds each: the list of tests/mutate. They
are sorted by the properties of properties.py; each property is broken in two ways at least, and in
each room of the house something is.

A test is a test of pytest below tests/, or unit/test_NAME.c, which runs under sanitizers. It is in
the default run. The old text is in its file once.
"""

import collections
import re

Mutation = collections.namedtuple("Mutation", "property name file test old new")

WIRE = "Every message is found and every byte of it is shown by the right field"
TOLD = (
    "What a host tells is shown as it printed it, in both byte orders; netlink of others is left "
    "alone"
)
COUNTS = "Messages are as many as the programs sent"
RESERVED = "A SEND on an unknown queue pair proves itself by its bytes"
TEXT = "No text changes unnoticed"
STREAMS = "Every frame has the right connection, direction, link and place in the stream"
NAMES = "A connection that began before the capture has the name that its hosts tell, and no other"
DIRECTIONS = (
    "Directions of which the capture lacks CLC go together, and only those of one connection"
)
OWNERS = "Nothing gets a wrong owner, whatever a capture lacks"
LACKING = "Nobody is blamed for what a capture lacks"
TRUTHS = "What is said of a part of a capture is true of all of it"
OTHERS = "RoCE that is not analysed is counted as the bytes have it"
POINTS = "What happened between capture points is what was done to the packets there"
ANCK = "What the tap of ANCK copies is shown, followed and reported as its bytes say"
PAUSES = "Pauses of Ethernet and the flows that stand still are those of the bytes"
RECOVERY = "Flows recover from loss and disorder as a reader of the bytes says"
CLASSES = "VLANs and tunnels keep RDMA flows apart; classes and ports are those of the bytes"
PAGE = "The page shows the JSON's numbers and the wire's positions, and runs only its own script"
HEALTHY = "A healthy capture has nothing above CHAT, and no stock colour"
RULES = "A broken rule is told of where it is broken"
EXCHANGES = "Requests, responses and steps of CLC find each other"
FALLBACK = "A fallback has its reason at its frame"
STATEMENTS = "What one frame says of others is right"
WINDOWS = "Windows and waits are those of the cursors"
PASSES = "One pass, two passes and clicks show the same"
LIST = "The packet list says what the fields say, with a tree and without"
PAYLOAD = "The application's data is dissected as over TCP"
FOLLOW = "Follow and Export give what the programs sent"
QUIET = "What is not SMC-R looks as without the plugin"
COMPARISON = "What the built-in dissector shows has its counterpart"
FABRIC = "RoCE packets fare as a reader of the bytes and the hosts say"
ICRC = "An ICRC is right or wrong as the specification says"
FIGURES = "Figures of the report are those of the bytes, the hosts and the fields"
JSON = "The JSON is what its schema says, and can be stored"
FINDINGS = "The first finding is the cause"
FRAMES = "smcr.finding shows the frames of each finding"
TABLES = "Tables, trees and graphs say what the report and the bytes say"
FILTERS = "Every filter finds what it names"
HOSTILE = "Whatever bytes come: no crash, no hang, no leak, no wrong JSON"
LIVE = "A live capture shows what its file shows"
DESK = "The monitor, the profile and the packages work"
DOCS = "Documents say what is so, and their commands work"
HOUSE = "The house: rooms, names, codes once, style, recipes"
LINES = "Lines for a site have the figures of the report"
PEERS_TEXT = "What a peer wrote reaches no output as control characters"
WORDS = "Texts of the program have the words of the glossary"
SYSTEMS = "The source compiles for other systems"
CHECKERS = "Wireshark's checkers find nothing in the source"
TESTS = "The tests themselves are sound"
HERMETIC = "Tests depend on nothing that is installed, on no order and no number of processes"

EVERY = [
    Mutation(*row)
    for row in (
        # ---- what is on the wire ----
        (
            WIRE,
            "closed-is-abort",
            "dissectors/wire/cdc.def",
            "facts/test_wire.py::test_every_message[cdc-flags]",
            "SMCR_CDC_STATE(CLOSED, 0x40,",
            "SMCR_CDC_STATE(CLOSED, 0x10,",
        ),
        (
            WIRE,
            "byte-order-of-v2-lengths",
            "dissectors/message/llc.c",
            "facts/test_wire.py::test_every_message[llc-v2-byte-order]",
            "ABS(length_v2(payload, ENC_LITTLE_ENDIAN) - present) <\n",
            "ABS(length_v2(payload, ENC_LITTLE_ENDIAN) - present) >\n",
        ),
        (
            WIRE,
            "padding-is-payload",
            "dissectors/roce/headers.c",
            "facts/test_wire.py::test_every_write_and_acknowledgement[6.1-v2-a-first-contact-ipv4]",
            "int trailer = roce->pad + SMCR_IB_ICRC_LENGTH",
            "int trailer = SMCR_IB_ICRC_LENGTH",
        ),
        (
            WIRE,
            "long-option-is-fine",
            "dissectors/tcp/option.c",
            "facts/test_option.py::test_option_and_what_resembles_it",
            "if (tvb_reported_length(tvb) != OPTION_LENGTH) {",
            "if (tvb_reported_length(tvb) < OPTION_LENGTH) {",
        ),
        (
            COUNTS,
            "late-sends-are-ignored",
            "dissectors/roce/carrier.c",
            (
                "facts/test_counts.py::"
                "test_every_message_is_found[6.1-v1-c2-capture-starts-late-LLC-llc_counts]"
            ),
            "if (to->len < SMCR_GID_IPV4_LENGTH || smcr_ib_operations[opcode].is_whole_send)",
            "if (to->len < SMCR_GID_IPV4_LENGTH)",
        ),
        (
            COUNTS,
            "only-writes-are-no-writes",
            "dissectors/wire/roce_codes.c",
            (
                "facts/test_counts.py::"
                "test_every_message_is_found[6.1-v1-c-three-conns-WRITE-write_counts]"
            ),
            "[SMCR_RC_WRITE_ONLY] = {WRITE, ONLY},",
            "[SMCR_RC_WRITE_ONLY] = {ONLY},",
        ),
        (
            RESERVED,
            "rkey-0-proves",
            "dissectors/message/recognise.c",
            "facts/test_reserved.py::test_rules_that_no_layout_knows[CONFIRM RKEY]",
            "PROOF(rmb, llc->u.confirm_rkey.rkey != 0 && ",
            "PROOF(rmb, ",
        ),
        (
            RESERVED,
            "29-bytes-prove",
            "dissectors/message/recognise.c",
            "facts/test_reserved.py::test_bytes_that_are_missing_are_not_judged[CDC]",
            "captured < CAPTURED_MIN)",
            "captured + 1 < CAPTURED_MIN)",
        ),
        (
            TRUTHS,
            "writes-are-whole",
            "dissectors/state/evidence/cursors.c",
            (
                "facts/test_truths.py::test_what_was_once_said[WRITEs that a lost CDC message "
                "has announced]"
            ),
            "is_whole = message.gap == 0 &&",
            "is_whole = message.gap != 1 &&",
        ),
        (
            TRUTHS,
            "a-reader-is-always-heard",
            "dissectors/report/collect/connections/conn_bytes.c",
            (
                "facts/test_truths.py::test_what_was_once_said[bytes not read, though the "
                "reader's last message is lost]"
            ),
            "known && cost.reader_known ? cost.unread",
            "known ? cost.unread",
        ),
        (
            TEXT,
            "numbers-are-cut-not-rounded",
            "dissectors/report/words/words.c",
            "golden/test_report_golden.py::test_report[6.1-v1-d-bulk-slow-reader]",
            "(uint64_t)(number / unit * (double)scale + 0.5)",
            "(uint64_t)(number / unit * (double)scale)",
        ),
        (
            TEXT,
            "last-step-of-a-decline",
            "dissectors/show/fallback.c",
            "golden/test_golden.py::test_golden[clc-decline-codes]",
            '[SMCR_CLC_PROPOSAL] = "after the Proposal"',
            '[SMCR_CLC_PROPOSAL] = "after the Accept"',
        ),
        # ---- whose it is ----
        (
            STREAMS,
            "ports-of-the-other-side",
            "dissectors/host/handshake.c",
            (
                "facts/test_state_streams.py::"
                "test_connection_is_that_of_tcp[6.1-v2-a-first-contact-ipv4]"
            ),
            (
                "described.port[sender] = (uint16_t)pinfo->srcport;\n"
                "    described.port[!sender] = (uint16_t)pinfo->destport;"
            ),
            (
                "described.port[!sender] = (uint16_t)pinfo->srcport;\n"
                "    described.port[sender] = (uint16_t)pinfo->destport;"
            ),
        ),
        (
            STREAMS,
            "round-of-a-moved-write",
            "dissectors/state/model/stream.c",
            "unit/test_stream.c",
            "bool goes_on = forward < room || (forward == next && fits);",
            "bool goes_on = forward < room || (forward >= next && fits);",
        ),
        (
            STREAMS,
            "wrap-count-is-not-signed",
            "dissectors/state/model/stream.c",
            "unit/test_ring.c",
            "int16_t wraps = (int16_t)(uint16_t)(to.wrap - from.wrap);",
            "int32_t wraps = to.wrap - from.wrap;",
        ),
        (
            STREAMS,
            "oldest-link-of-a-number",
            "dissectors/state/model/link.h",
            "unit/test_link.c",
            "if (link->has_number && link->number == number && link->state != SMCR_LINK_DELETED "
            "&&\n"
            "            link->state != SMCR_LINK_REJECTED)",
            "if (link->has_number && link->number == number && link->state != SMCR_LINK_DELETED)",
        ),
        (
            OWNERS,
            "any-gap-keeps-the-owner",
            "dissectors/state/evidence/cursors.c",
            "unit/test_attribution.c",
            "return absent <= ABSENT_MAX && !smcr_conn_side_has_ended(reader)",
            "return !smcr_conn_side_has_ended(reader)",
        ),
        (
            OWNERS,
            "peer-is-somebody-else",
            "dissectors/state/flow/packet_flow.c",
            "unit/test_rdma.c",
            "return peer->gid_known && !smcr_gid_is_same(peer->key.gid, roce->source);",
            "return peer->gid_known && "
            "memcmp(peer->key.gid, roce->source, SMCR_GID_IPV4_AT) != 0;",
        ),
        (
            OWNERS,
            "tokens-outlive-their-connection",
            "dissectors/state/model/conn.c",
            "unit/test_clc_flow.c",
            "if (side->has_token && smcr_conn_find(state, conn->lgr, i, side->token) == conn)",
            "if (side->has_token && smcr_conn_find(state, conn->lgr, i, side->token) != conn)",
        ),
        (
            OWNERS,
            "records-of-one-frame",
            "dissectors/state/model/record.c",
            "unit/test_record.c",
            ".layer = MIN(layer, LAYER_FOLLOWS) & LAYER_FOLLOWS,",
            ".layer = MIN(layer, LAYER_FOLLOWS - 1) & LAYER_FOLLOWS,",
        ),
        # ---- who is blamed ----
        (
            LACKING,
            "late-packets-prove",
            "dissectors/state/evidence/doubt.c",
            "unit/test_evidence.c",
            "if (!is_whole_at_start(flow, psn) || qp->last_late_psn > psn)",
            "if (!is_whole_at_start(flow, psn))",
        ),
        (
            LACKING,
            "clock-that-goes-back",
            "dissectors/show/analysis.c",
            "facts/test_lacking.py::test_clock_that_goes_back[200]",
            ".time = to >= from ? to - from : SMCR_RECORD_NO_TIME};",
            ".time = to - from};",
        ),
        (
            FIGURES,
            "syn-is-data",
            "dissectors/report/congestion/tcp_direction.c",
            "unit/test_tcp_way.c",
            "direction->counts.data_segments += segment->length ? 1 : 0;",
            "direction->counts.data_segments++;",
        ),
        (
            FRAMES,
            "finding-without-its-frame",
            "dissectors/report/findings/finder/finder.c",
            "facts/test_finding_frames.py::test_frames_show_the_findings_of_the_report[s04-pmtu]",
            "    smcr_finder_frames_add(frames, entry->frame);\n",
            "",
        ),
        (
            FRAMES,
            "frames-without-items",
            "dissectors/report/findings/finder/finder.c",
            "facts/test_finding_frames.py::test_frames_have_the_expert_items_of_the_finding"
            "[6.1-v2-n-lossy]",
            "            wmem_array_append_one(frames, one->frame);",
            "            wmem_array_append_one(frames, notice->first.frame);",
        ),
        (
            FINDINGS,
            "every-http-status-is-an-error",
            "dissectors/application/application.c",
            "unit/test_application.c",
            "return status / 100 == CLIENT_ERRORS || status / 100 == SERVER_ERRORS;",
            "return status > 0;",
        ),
        (
            FINDINGS,
            "answer-without-its-status",
            "dissectors/application/application.c",
            "unit/test_application.c",
            "if (status)\n        snprintf",
            "if (status > 499)\n        snprintf",
        ),
        (
            PAUSES,
            "pause-that-is-not-renewed",
            "dissectors/report/pause/pause.c",
            "unit/test_pause.c",
            "sums_at(lane, when.time, pauses->speed || is_in_time);",
            "sums_at(lane, when.time, pauses || is_in_time);",
        ),
        (
            PAUSES,
            "bound-of-another-speed",
            "dissectors/report/pause/pause.c",
            "unit/test_pause.c",
            "#define FASTEST_LINK 1600\n",
            "#define FASTEST_LINK 100\n",
        ),
        (
            PAUSES,
            "interval-that-is-never-renewed",
            "dissectors/report/pause/pause.c",
            "facts/test_pause.py::test_pauses_of_ports[pause-pfc-25]",
            "bool is_renewed = lane->in_force && is_in_time;",
            "bool is_renewed = false && is_in_time;",
        ),
        (
            OTHERS,
            "analysed-packets-are-of-others",
            "dissectors/report/collect/assembly/collection.c",
            "facts/test_others.py::test_smcr_beside_others",
            "if (smcr_preferences.roce || all->roce_frame == pinfo->num)",
            "if (smcr_preferences.roce)",
        ),
        (
            OTHERS,
            "every-psn-is-new",
            "dissectors/report/others/others.c",
            "unit/test_others.c",
            "    if (back < EARLIER_MOST)\n",
            "    if (back > EARLIER_MOST)\n",
        ),
        (
            OTHERS,
            "responses-are-requests",
            "dissectors/report/others/others.c",
            "facts/test_others.py::test_counts_are_those_of_the_bytes[nocm-psn-wrap]",
            "    return opcode < SMCR_RC_OPCODES && !smcr_ib_operations[opcode].is_response;",
            "    return opcode < SMCR_RC_OPCODES;",
        ),
        (
            TABLES,
            "bound-in-the-bucket-above",
            "dissectors/report/histogram/histogram.c",
            "unit/test_histogram.c",
            "        bucket += shifted > bounds[i];",
            "        bucket += shifted >= bounds[i];",
        ),
        (
            TABLES,
            "zeros-of-a-packed-object-end-one-word-early",
            "dissectors/report/packed/packed.c",
            "unit/test_packed.c",
            "        for (; zeros > ZEROS_MOST; zeros -= ZEROS_MOST)",
            "        for (; zeros > ZEROS_MOST + 1; zeros -= ZEROS_MOST)",
        ),
        (
            TABLES,
            "freed-object-stays-open",
            "dissectors/report/packed/packed.c",
            "unit/test_packed.c",
            "        desk->open[object->slot - 1] = NULL;",
            "        (void)desk;",
        ),
        (
            TABLES,
            "times-of-one-bucket-only",
            "dissectors/report/figures/figures.c",
            "unit/test_histogram.c",
            "    bool is_one_bucket = !other->histogram &&",
            "    bool is_one_bucket = !into && !other->histogram &&",
        ),
        (
            RECOVERY,
            "late-packet-was-lost",
            "dissectors/report/recovery/recovery.c",
            "facts/test_recovery.py::test_recovery_is_that_of_the_bytes[6.1-v2-n-lossy]",
            "    if (smcr_step_retransmits(late->step)) {",
            "    if (smcr_step_retransmits(late->step) || late->step) {",
        ),
        (
            RECOVERY,
            "each-limit-of-cnps-fits",
            "dissectors/report/adapters/adapters.c",
            "facts/test_adapters.py::test_the_limit_of_cnps[address-at marks]",
            "    return limit->withheld->max <= most + most / 20;",
            "    return most > 0;",
        ),
        (
            RECOVERY,
            "every-sender-goes-back",
            "dissectors/report/recovery/recovery.c",
            "facts/test_recovery.py::test_random_recovery",
            "        asked->went_on = SELECTIVE;",
            "        asked->went_on = WENT_BACK;",
        ),
        (
            PAUSES,
            "pause-of-another-class",
            "dissectors/report/pause/pause.c",
            "facts/test_pause.py::test_flows_that_stand_still[25]",
            "    return header->has_priority ? header->priority : OF_ALL;",
            "    return header->has_priority ? 0 : OF_ALL;",
        ),
        (
            CLASSES,
            "tunnel-without-its-number",
            "dissectors/host/encapsulation.c",
            "facts/test_classes.py::test_equal_addresses_in_two_networks[geneve]",
            "SMCR_IB_TUNNEL_GENEVE, (uint32_t)smcr_wire_number(header + 4, 3));",
            "SMCR_IB_TUNNEL_GENEVE, 0);",
        ),
        (
            CLASSES,
            "connections-of-every-network",
            "dissectors/fabric/peers/cm.c",
            "facts/test_classes.py::test_real_traffic_in_two_networks[cm-rping-vlan]",
            "    conn->ends[0].network = conn->ends[1].network = sending->packet->network;\n",
            "",
        ),
        (
            CLASSES,
            "acknowledgements-are-data",
            "dissectors/report/classes/classes.c",
            "facts/test_classes.py::test_findings[acknowledgements apart]",
            "acknowledges ? &classes->acknowledgement : &classes->data;",
            "acknowledges ? &classes->data : &classes->data;",
        ),
        (
            CLASSES,
            "priority-does-not-count",
            "dissectors/report/findings/on_classes.c",
            "facts/test_classes.py::test_findings[cnps of another priority]",
            "other_value(&these->by_priority, &those->by_priority);",
            "false;",
        ),
        (
            CLASSES,
            "mark-of-a-tunnel-is-no-mark",
            "dissectors/wire/messages.h",
            "facts/test_classes.py::test_marks_of_a_tunnel_get_cnps",
            "           (smcr_ib_has_outer_mark(roce) && roce->ecn != SMCR_WIRE_ECN_NOT_ECT);",
            "           (smcr_ib_has_outer_mark(roce) && false);",
        ),
        (
            FABRIC,
            "early-marks-are-answered-twice",
            "dissectors/fabric/marks.c",
            "unit/test_marks.c",
            "    marked->open_group = part;\n",
            "",
        ),
        (
            CLASSES,
            "pace-of-the-receiver",
            "dissectors/report/classes/congestion.c",
            "facts/test_classes.py::test_congestion_made_at_random[0]",
            "    measure(pacing, &(*figures)->source_s, &from);",
            "    measure(pacing, &(*figures)->source_s, &to);",
        ),
        (
            CLASSES,
            "rate-with-the-first-packet",
            "dissectors/report/classes/congestion.c",
            "facts/test_classes.py::test_congestion_made_at_random[0]",
            "        *bytes += i == oldest ? 0 : reaction->bytes[i];",
            "        *bytes += reaction->bytes[i];",
        ),
        (
            POINTS,
            "lost-is-not-captured",
            "dissectors/points/judge.c",
            "unit/test_points.c",
            "transmission->fate == SMCR_FATE_RECEIVED && is_decided)",
            "transmission->fate == SMCR_FATE_LOST && is_decided)",
        ),
        (
            POINTS,
            "nak-of-a-discarded-packet",
            "dissectors/points/fates_receiver.c",
            "desk/test_compare.py::test_loss_after_both_points[A-part0-6]",
            "return is_known ? one->time > other->time : one->latest > other->latest;",
            "return is_known || one->latest != other->latest;",
        ),
        (
            POINTS,
            "clock-without-drift",
            "dissectors/points/clocks.c",
            "unit/test_clocks.c",
            "bound - hull->sign * drift * hull->bounds[i].at;",
            "bound - drift * hull->bounds[i].at;",
        ),
        (
            POINTS,
            "inferred-in-doubt",
            "dissectors/points/compare.c",
            "facts/test_points.py::test_made_points[6.1-v2-n-lossy]",
            "if (!known->not_captured && (has_lost || captures_all(&way)))",
            "if (has_lost || captures_all(&way))",
        ),
        (
            POINTS,
            "silent-receiver-proves-nothing",
            "dissectors/points/fates_receiver.c",
            "facts/test_points.py::test_simulated[bursts without a NAK]",
            "doubt->psn == receiver->begun || receiver->was_silent;",
            "doubt->psn == receiver->begun;",
        ),
        (
            POINTS,
            "acknowledgements-alone-undecided",
            "dissectors/points/compare.c",
            "facts/test_points.py::test_simulated[acknowledgements alone]",
            "return chance <= CHANCE_MOST;",
            "return false;",
        ),
        (
            POINTS,
            "burst-too-short",
            "dissectors/points/judge.c",
            "facts/test_points.py::test_simulated[burst between]",
            "run->count >= BURST_LEAST && run->has_lost",
            "run->count >= 100 * BURST_LEAST && run->has_lost",
        ),
        (
            POINTS,
            "tcp-retransmission-proves-nothing",
            "dissectors/points/fates_tcp.c",
            "facts/test_points.py::test_simulated_tcp",
            "    if (!sent->is_seen || is_passed_over(flow, range, nth))",
            "    if (sent->is_seen && is_passed_over(flow, range, nth))",
        ),
        (
            POINTS,
            "tcp-segment-not-cut",
            "dissectors/points/observed_tcp.c",
            "facts/test_points.py::test_simulated_tcp",
            "bool is_too_much = end - begin > PARTS_OF_SEGMENT",
            "bool is_too_much = end - begin > 1",
        ),
        (
            POINTS,
            "tcp-acknowledgement-lost-too-soon",
            "dissectors/points/fates_tcp.c",
            "facts/test_points.py::test_simulated_tcp",
            "        if (answer->come + TIME_TO_REACT > sent->sent)",
            "        if (answer->come > sent->sent + SMCR_TIME_SECOND)",
        ),
        (
            POINTS,
            "translated-connection-twice",
            "dissectors/host/translation.c",
            "facts/test_points.py::test_translated_connections",
            "    if (chance != KNOWN && has_moved && is_copy(original, &segment)) {",
            "    if (chance == KNOWN && has_moved && is_copy(original, &segment)) {",
        ),
        (
            POINTS,
            "two-vlans-are-one-path",
            "dissectors/points/observed.c",
            "unit/test_points.c",
            "    return is_one_vlan && is_one_tunnel;",
            "    return is_one_vlan || is_one_tunnel;",
        ),
        (
            POINTS,
            "other-link-of-a-bond-not-captured",
            "dissectors/points/judge.c",
            "unit/test_points.c",
            "    return transmission->fate == SMCR_FATE_LOST ||\n           (smcr",
            "    return transmission->fate != SMCR_FATE_LOST ||\n           (smcr",
        ),
        (
            POINTS,
            "pieces-of-a-segment-retransmitted",
            "dissectors/report/congestion/tcp_direction.c",
            "facts/test_points.py::test_segments_that_were_cut",
            "offset / (uint64_t)pieces >= piece_least;",
            "offset / (uint64_t)pieces < piece_least;",
        ),
        (
            FABRIC,
            "copy-before-a-router",
            "dissectors/fabric/seen.h",
            "facts/test_fabric.py::test_disorder[beyond_router-6.1-v2-n-lossy]",
            "now->hop_limit && hop_limit != now->hop_limit;",
            "now->hop_limit && hop_limit == now->hop_limit;",
        ),
        (
            FABRIC,
            "copy-that-was-held-up",
            "dissectors/fabric/copies.c",
            "facts/test_fabric.py::test_copies_that_were_held_up[64-400000-cnp-smc]",
            "(is_newest || may_be_held_up(flow))",
            "is_newest",
        ),
        (
            FABRIC,
            "third-equal-acknowledgement",
            "dissectors/fabric/responses.c",
            "facts/test_fabric.py::test_disorder[mirrored-6.1-v1-n-lossy]",
            "grounds.twice_within && !ack->has_copy &&",
            "grounds.twice_within &&",
        ),
        (
            POINTS,
            "clock-of-the-other-way",
            "dissectors/report/points/ways.c",
            "facts/test_points.py::test_bounds_contain_the_truth[6.1-v2-c-three-conns]",
            "fill_clock(&entry->clock, is_back ? &back : line);",
            "fill_clock(&entry->clock, is_back ? line : &back);",
        ),
        (
            FABRIC,
            "packet-before-the-first",
            "dissectors/fabric/flow.c",
            "facts/test_fabric.py::test_disorder[swap-nocm-psn-wrap]",
            "(psn < flow->first || smcr_ranges_find(&flow->gaps, psn, psn + 1));",
            "smcr_ranges_find(&flow->gaps, psn, psn + 1);",
        ),
        (
            HEALTHY,
            "milestone-is-a-note",
            "dissectors/experts.def",
            "facts/test_healthy.py::test_nothing_above_chat[6.1-v1-a-first-contact-ipv4-one pass]",
            'CHAT(link_active, "link.activated",',
            'NOTE(link_active, "link.activated",',
        ),
        (
            HEALTHY,
            "payload-in-spite-of-the-preference",
            "dissectors/payload/as_tcp.c",
            "facts/test_calm.py::test_application_is_painted_unless_switched_off",
            "if (!smcr_preferences.dissect_payload || !is_whole || !is_taken_in(record))",
            "if (!is_whole || !is_taken_in(record))",
        ),
        (
            RULES,
            "abort-after-close",
            "dissectors/state/rules/cdc_rules.c",
            "facts/test_rule_captures.py::test_items_of_the_scene[rule-cdc-after-end]",
            "else if (sender->closed_frame && !aborts)",
            "else if (sender->closed_frame && aborts)",
        ),
        (
            RULES,
            "eyecatcher-is-fair-game",
            "dissectors/state/rules/write_rules.c",
            "facts/test_rule_captures.py::test_items_of_the_scene[rule-write-place]",
            "offset < lgr->base[rmb->side];",
            "offset < lgr->base[!rmb->side] / 2;",
        ),
        (
            TEXT,
            "client-called-it-lost",
            "dissectors/state/rules/links/use_rules.c",
            "golden/test_golden.py::test_golden[6.1-v2-h1-two-links-second-fails]",
            "memory->was_active && !link->lost_frame;",
            "memory->was_active;",
        ),
        (
            TEXT,
            "data-on-a-deleted-link",
            "dissectors/state/rules/links/use_rules.c",
            "golden/test_golden.py::test_golden[cdc-contradictions]",
            "if (link->state != SMCR_LINK_ACTIVE || kept->declined_time) {",
            "if (link->state == SMCR_LINK_ANNOUNCED || kept->declined_time) {",
        ),
        (
            RULES,
            "strict-items-are-for-all",
            "dissectors/experts.def",
            "facts/test_rule_captures.py::test_items_of_the_scene[rule-link-number]",
            "HARMLESS(link_number_zero",
            "ODD(link_number_zero",
        ),
        # ---- what belongs together ----
        (
            EXCHANGES,
            "answers-of-any-side",
            "dissectors/state/flow/exchange.c",
            "unit/test_llc_flow.c",
            "request->type == wanted->type && request->requester == wanted->requester;",
            "request->type == wanted->type;",
        ),
        (
            EXCHANGES,
            "decline-of-the-same-side",
            "dissectors/state/flow/clc_flow.c",
            "unit/test_clc_flow.c",
            "waiting && conn->clc_step_by_server != from_server && (declines",
            "waiting && (declines",
        ),
        (
            EXCHANGES,
            "rows-of-requests",
            "dissectors/statistics/response_times.c",
            (
                "statistics/test_response_times.py::"
                "test_rows_are_what_fields_show[6.1-v2-a-first-contact-ipv4]"
            ),
            "which == CDC ? SMCR_LLC_CDC : answers->step",
            "which == CDC ? SMCR_LLC_CDC : answers->llc_type",
        ),
        (
            FALLBACK,
            "proposal-without-an-answer",
            "dissectors/state/flow/clc_flow.c",
            "unit/test_tcp_flow.c",
            "bool asked = conn->proposal_frame || conn->accept_frame;",
            "bool asked = conn->accept_frame;",
        ),
        (
            FALLBACK,
            "options-behind-a-nop",
            "dissectors/tcp/option.c",
            "facts/test_state_fallback.py::test_reason_on_the_frame_that_decides[clc-port80-http]",
            "uint8_t length = kind == KIND_NOP ? 1 : tvb_get_uint8(frame, offset + 1);",
            "uint8_t length = tvb_get_uint8(frame, offset + 1);",
        ),
        (
            STATEMENTS,
            "acknowledged-one-too-few",
            "dissectors/fabric/traffic.c",
            "facts/test_statements.py::test_statements[6.1-v1-c-three-conns]",
            "while (unacked->count && slot_at(unacked, 0)->psn <= psn) {",
            "while (unacked->count && slot_at(unacked, 0)->psn < psn) {",
        ),
        (
            STATEMENTS,
            "refused-is-not-acknowledged",
            "dissectors/fabric/acknowledged.c",
            "facts/test_statements.py::test_statements[6.1-v2-n-lossy]",
            "kind == SMCR_IB_SYNDROME_ACK ? psn : psn - 1, kind};",
            "psn, kind};",
        ),
        (
            TEXT,
            "read-one-message-late",
            "dissectors/state/flow/writes/window.c",
            "golden/test_golden.py::test_golden[window-analysis]",
            "if (announcement->end > stream->consumed)\n            break;",
            "if (announcement->end >= stream->consumed)\n            break;",
        ),
        (
            WINDOWS,
            "immediate-step-lost",
            "dissectors/state/flow/immediate_flow.c",
            "facts/test_immediate.py::test_messages_are_those_of_the_bytes",
            "cdc->lacks_cons ? sender->cons : advance(ring, sender->cons, step);",
            "cdc->lacks_cons ? sender->cons : advance(ring, sender->cons, step / 2);",
        ),
        (
            WINDOWS,
            "immediate-after-gap",
            "dissectors/state/flow/immediate_flow.c",
            "facts/test_immediate.py::test_what_is_missing_is_not_guessed",
            "    sender->steps_missing |= !cdc->is_next || !smcr_ring_room(ring);\n",
            "    sender->steps_missing |= !smcr_ring_room(ring);\n",
        ),
        (
            WINDOWS,
            "immediate-credits-never-run-out",
            "dissectors/state/flow/credits.c",
            "facts/test_immediate.py::test_data_and_reports",
            "qp->has_had_no_credits |= qp->credits <= 0;",
            "qp->has_had_no_credits |= qp->credits < -99;",
        ),
        (
            WINDOWS,
            "credits-in-cdc-do-not-count",
            "dissectors/state/flow/message_flow.c",
            "facts/test_immediate.py::test_credits_run_out",
            "        smcr_state_credits_add(arrival, cdc->credits);",
            "        smcr_state_credits_add(arrival, 0);",
        ),
        (
            WINDOWS,
            "immediate-told-anywhere",
            "dissectors/state/flow/immediate_flow.c",
            "facts/test_immediate.py::test_late_with_a_report[both]",
            "return !(base & SMCR_WIRE_PAGE_MASK) && write->length &&",
            "return write->length &&",
        ),
        (
            WINDOWS,
            "immediate-beside-is-taken-in",
            "dissectors/state/flow/message_flow.c",
            "facts/test_immediate.py::test_agreement",
            "SMCR_EVENT_cdc_beside_immediate, NULL);\n    return true;",
            "SMCR_EVENT_cdc_beside_immediate, NULL);\n    return false;",
        ),
        (
            WINDOWS,
            "immediate-beside-is-reported",
            "dissectors/packet/show_packet.c",
            "facts/test_immediate.py::test_agreement",
            "carried->kind == CDC_MESSAGE && !is_discarded_message(&packet->record))",
            "carried->kind == CDC_MESSAGE)",
        ),
        (
            WINDOWS,
            "immediate-beside-counts",
            "dissectors/state/flow/message_flow.c",
            "facts/test_immediate.py::test_agreement",
            "if (!lgr->immediate_agreed || cdc->flags & SMCR_CDC_FLAG_FAILOVER)",
            "if (lgr->immediate_agreed || cdc->flags & SMCR_CDC_FLAG_FAILOVER)",
        ),
        (
            WINDOWS,
            "window-without-what-is-unread",
            "dissectors/state/model/stream.c",
            (
                "facts/test_window.py::"
                "test_windows_are_those_of_the_cursors[6.1-v1-d-bulk-slow-reader]"
            ),
            "return unread < room ? room - unread : 0;",
            "return unread < room ? room : 0;",
        ),
        (
            WINDOWS,
            "waits-until-the-writer-goes-on",
            "dissectors/state/model/record.c",
            "facts/test_window.py::test_waits_for_space[6.1-v1-d-bulk-slow-reader]",
            "rare->continues.frame < freed->frame",
            "rare->continues.frame",
        ),
        (
            WINDOWS,
            "waits-across-what-is-absent",
            "dissectors/state/flow/writes/window.c",
            "unit/test_cdc_flow.c",
            "        if (absent)\n            wait->waits_since.frame = 0;\n",
            "",
        ),
        (
            WINDOWS,
            "waits-end-before-space-is-freed",
            "dissectors/state/flow/writes/window.c",
            "facts/test_window.py::test_waits_are_the_part_of_the_report",
            "stream->written > stream->consumed + room;",
            "stream->written > stream->consumed + 2 * room;",
        ),
        (
            WINDOWS,
            "urgent-data-are-read-in-passing",
            "dissectors/state/flow/writes/window.c",
            "facts/test_window.py::test_small_windows",
            "now->urgent <= stream->consumed + 1);",
            "now->urgent > stream->consumed + 1);",
        ),
        (
            WINDOWS,
            "small-writes-at-once",
            "dissectors/state/flow/writes/window.c",
            "facts/test_window.py::test_small_windows",
            "if (fills_small && stream->was_full_small)",
            "if (fills_small)",
        ),
        (
            PASSES,
            "state-learns-in-every-pass",
            "dissectors/packet-smcr-clc.c",
            (
                "facts/test_state_passes.py::"
                "test_frames_look_the_same_in_any_order[clc-split-segments]"
            ),
            "    if (!pinfo->fd->visited)\n"
            "        conn = smcr_tcp_clc_learn(segment, pinfo, conn, data);",
            "    conn = smcr_tcp_clc_learn(segment, pinfo, conn, data);",
        ),
        (
            PASSES,
            "wrappers-stay-aside",
            "dissectors/roce/carrier.c",
            (
                "facts/test_stepping_aside.py::"
                "test_smcr_after_other_roce[6.1-v1-c2-capture-starts-late-others0-passes0]"
            ),
            "    smcr_hooks_restore_wrappers();\n    smcr_udp_ports_watch();\n    nested_packet_t",
            "    smcr_udp_ports_watch();\n    nested_packet_t",
        ),
        (
            PASSES,
            "link-number-before-it-is-told",
            "dissectors/show/annotate.c",
            "facts/test_state_passes.py::test_one_pass_shows_what_two_show[reserved-flags]",
            "int hf = record->has_number ? hf_smcr_link_number : hf_smcr_link_index;\n"
            "    uint32_t value = record->has_number ? link->number",
            "int hf = link->has_number ? hf_smcr_link_number : hf_smcr_link_index;\n"
            "    uint32_t value = link->has_number ? link->number",
        ),
        (
            LIST,
            "direction-of-ports",
            "dissectors/show/info.c",
            (
                "facts/test_output.py::"
                "test_info_says_whose_the_message_is[6.1-v2-a-first-contact-ipv4]"
            ),
            'smcr_quick_text_put_number(to, "", conn->port[record->direction]);',
            'smcr_quick_text_put_number(to, "", conn->port[!record->direction]);',
        ),
        (
            LIST,
            "window-with-a-tree-only",
            "dissectors/show/annotate.c",
            "facts/test_output.py::test_columns_are_the_same_without_a_tree[6.1-v1-c-three-conns]",
            "    if (record->cdc_analysis)\n        say_cdc(pinfo, record);",
            "    if (record->cdc_analysis && tree)\n        say_cdc(pinfo, record);",
        ),
        # ---- the application's data ----
        (
            PAYLOAD,
            "reassembly-in-spite-of-the-preference",
            "dissectors/payload/as_tcp.c",
            "facts/test_payload.py::test_without_desegmentation[6.1-v1-j-http11]",
            "pinfo->can_desegment = smcr_preferences.desegment ? 2 : 0;",
            "pinfo->can_desegment = 2;",
        ),
        (
            PAYLOAD,
            "end-of-the-stream",
            "dissectors/packet/show_packet.c",
            "facts/test_other_protocols.py::test_same_as_over_tcp[http10-together]",
            "    }\n    smcr_payload_end_stream(target, payload);\n",
            "    }\n",
        ),
        (
            FOLLOW,
            "overlap-comes-twice",
            "dissectors/payload/follow.c",
            "facts/test_follow.py::test_what_was_sent[6.1-v2-n-lossy-1]",
            "if ((int32_t)(end - *next) <= 0) {",
            "if ((int32_t)(end - *next) < 0) {",
        ),
        (
            FOLLOW,
            "streams-share-a-key",
            "dissectors/payload/export_streams.c",
            "facts/test_export.py::test_what_was_sent[6.1-v1-c-three-conns]",
            "int64_t key = (int64_t)update->conn->index * 2 + update->sender;",
            "int64_t key = (int64_t)update->conn->index + update->sender;",
        ),
        (
            QUIET,
            "others-are-kept-out-for-good",
            "dissectors/roce/carrier.c",
            "facts/test_builtin_too.py::test_both_dissectors[6.1-v2-e-urgent]",
            "        smcr_gate_open(&gate);\n",
            "",
        ),
        (
            QUIET,
            "users-choice-is-ignored",
            "dissectors/host/udp_ports.c",
            "facts/test_roce_ports.py::test_decode_as_goes_first[udp.port==69,echo-one pass]",
            "dissector_is_uint_changed(ports.table, datagram->source) ||\n           ",
            "",
        ),
        (
            COMPARISON,
            "gids-of-a-list",
            "dissectors/message/clc_accept.c",
            "facts/test_comparison.py::test_every_value_is_shown[clc-v21]",
            "gids + i * SMCR_GID_LENGTH, &list[place]",
            "gids, &list[place]",
        ),
        (
            QUIET,
            "builtin-stays-out",
            "dissectors/host/hooks.c",
            "facts/test_builtin_too.py::test_both_dissectors[6.1-v1-c-three-conns]",
            "if (!smcr_preferences.builtin_too || !smcr_gate_keeps_out(gate, hooks.builtin))",
            "if (!smcr_preferences.builtin_too || smcr_gate_keeps_out(gate, hooks.builtin))",
        ),
        (
            COMPARISON,
            "prefixes-of-a-list",
            "dissectors/message/clc_proposal.c",
            "facts/test_comparison.py::test_every_value_is_shown[clc-ipv6-8-prefixes]",
            "start + i * SMCR_WIRE_PREFIX_LENGTH,\n                           &prefix))",
            "start, &prefix))",
        ),
        # ---- the fabric ----
        (
            FABRIC,
            "gap-one-too-long",
            "dissectors/fabric/ranges.c",
            "unit/test_flow.c",
            "MAX(ranges->list[first].from, to);",
            "MAX(ranges->list[first].from, to - 1);",
        ),
        (
            FABRIC,
            "rtu-without-rep",
            "dissectors/fabric/peers/cm_state.c",
            "unit/test_cm.c",
            "{E(RTU), S(REP_SENT) | S(MRA_REP_RCVD), TO(ESTABLISHED)},",
            "{E(RTU), S(REP_SENT), TO(ESTABLISHED)},",
        ),
        (
            FABRIC,
            "port-proves-at-once",
            "dissectors/fabric/peers/rdma.c",
            "unit/test_peers.c",
            "bool proven = is_other && (pair->answers >= PROOF ||",
            "bool proven = is_other && (pair->answers ||",
        ),
        (
            ICRC,
            "hop-limit-counts",
            "dissectors/fabric/icrc.c",
            "facts/test_icrc.py::test_real_captures[cm-rping-ipv6]",
            "    memset(header + 7, 0xff, 1); /* hop limit */\n",
            "",
        ),
        (
            ICRC,
            "fragments-are-whole",
            "dissectors/roce/headers.c",
            "facts/test_icrc.py::test_fragments_that_nobody_puts_together",
            "ip.offset + ip.header_length != end ||\n        ip.is_fragment)",
            "ip.offset + ip.header_length != end)",
        ),
        (
            ICRC,
            "doubt-for-good",
            "dissectors/state/state.c",
            "facts/test_icrc.py::test_a_right_one_ends_the_doubt",
            "        sender->trusted = true;\n        sender->doubted = 0;",
            "        sender->trusted = true;",
        ),
        # ---- reports ----
        (
            FIGURES,
            "late-packets-are-repeats",
            "dissectors/report/collect/rdma_flows.c",
            "facts/test_report_fields.py::test_repeats_and_copies[6.1-v1-n-lossy]",
            (
                "        figures->copies++;\n"
                "    else if (record->order == SMCR_FLOW_IS_RETRANSMISSION)\n"
                "        count_repeat"
            ),
            (
                "        figures->copies++;\n    if (record->order != SMCR_FLOW_IS_NEXT)\n"
                "        count_repeat"
            ),
        ),
        (
            FIGURES,
            "keep-alives-are-repeats",
            "dissectors/report/congestion/tcp_direction.c",
            "unit/test_tcp_way.c",
            "if (place.to == place.from || is_keep_alive(direction, place))",
            "if (place.to == place.from)",
        ),
        (
            FIGURES,
            "melted-ranges-count-twice",
            "dissectors/fabric/ranges.c",
            "unit/test_tcp_way.c",
            "return into->to - into->from - had;",
            "return range.to - range.from;",
        ),
        (
            JSON,
            "unknown-is-none",
            "dissectors/report/figures/figures.c",
            (
                "facts/test_report_schema.py::"
                "test_every_report_fits[6.1-v1-c-three-conns-one-pass]"
            ),
            (
                "*(uint64_t *)value = SMCR_FIGURE_UNKNOWN;\n            break;\n"
                "        case SMCR_FIGURE_KIND_RATIO:"
            ),
            "*(uint64_t *)value = 0;\n            break;\n        case SMCR_FIGURE_KIND_RATIO:",
        ),
        (
            JSON,
            "no-frame-is-frame-0",
            "dissectors/report/write/json.c",
            (
                "facts/test_report_schema.py::"
                "test_every_report_fits[6.1-v1-c-three-conns-one-pass]"
            ),
            "write_number(writer, frame ? frame : SMCR_FIGURE_UNKNOWN);",
            "write_number(writer, frame);",
        ),
        (
            FIGURES,
            "missing-updates-blame-the-reader",
            "dissectors/timeline/interval.c",
            "unit/test_interval.c",
            "{BIT(FULL) | BIT(UNREAD), BIT(PEER_NOT_CAPTURED), SMCR_INTERVAL_IS_FULL_READER},",
            "{BIT(FULL) | BIT(UNREAD), 0, SMCR_INTERVAL_IS_FULL_READER},",
        ),
        (
            FIGURES,
            "writers-wait-on-after-an-update",
            "dissectors/timeline/interval.c",
            "unit/test_interval.c",
            "{BIT(FULL) | BIT(UNREAD) | BIT(FREED) | BIT(NOT_CAPTURED), 0,",
            "{BIT(FULL) | BIT(UNREAD) | BIT(FREED) | BIT(NOT_CAPTURED), ~0U,",
        ),
        (
            FIGURES,
            "what-the-receiver-had-is-under-way",
            "dissectors/timeline/writer.c",
            "unit/test_timeline.c",
            "(record->order == SMCR_FLOW_IS_RETRANSMISSION &&",
            "(false &&",
        ),
        (
            FIGURES,
            "all-retransmissions-were-needed",
            "dissectors/timeline/retransmission.c",
            "unit/test_timeline.c",
            "bool is_proven = was_needed(step, first);",
            "bool is_proven = true;",
        ),
        (
            FIGURES,
            "what-needs-no-report-is-unread",
            "dissectors/timeline/buffer.c",
            "unit/test_timeline.c",
            "unread->size / (unread->knows_wait ? SMALL : HALF);",
            "unread->size / SMALL;",
        ),
        (
            FIGURES,
            "gaps-settle-no-answer",
            "dissectors/timeline/answer.c",
            "unit/test_timeline.c",
            "bool has_gap = asker->gap.since.frame || ",
            "bool has_gap = false && ",
        ),
        (
            FIGURES,
            "data-of-the-link-before-are-under-way",
            "dissectors/timeline/transfer.c",
            "unit/test_timeline.c",
            "return sent->link != acked->link && sent->when.frame < acked->when.frame;",
            "return sent->link != acked->link && sent->when.frame == acked->when.frame;",
        ),
        (
            FIGURES,
            "what-is-written-once-more-had-arrived",
            "dissectors/timeline/in_flight.c",
            "unit/test_timeline.c",
            "if (sent->end > position)\n            sent->rewritten",
            "if (sent->end == position)\n            sent->rewritten",
        ),
        (
            FIGURES,
            "the-last-message-of-a-link-is-captured",
            "dissectors/timeline/writer.c",
            "unit/test_timeline.c",
            "view->announced <= writer->written_on_left;",
            "view->announced < writer->written_on_left;",
        ),
        (
            FIGURES,
            "what-is-read-is-under-way",
            "dissectors/timeline/in_flight.c",
            "unit/test_timeline.c",
            "if (is_read && !sent->read.frame)",
            "if (is_read && sent->read.frame)",
        ),
        (
            FIGURES,
            "a-capture-is-in-order",
            "dissectors/timeline/buffer.c",
            "unit/test_timeline.c",
            "return knows_reader && end > unread->consumed + unread->size;",
            "return knows_reader && end > unread->consumed + 2 * unread->size;",
        ),
        (
            FIGURES,
            "a-writer-without-packets-writes-nothing",
            "dissectors/timeline/division.c",
            "unit/test_timeline.c",
            "return writer->misses_first || (misses_last && !writer->last_known.frame);",
            "return writer->misses_first || (misses_last && writer->last_known.frame);",
        ),
        (
            TRUTHS,
            "cut-answers-fail-handshakes",
            "dissectors/report/collect/connections/handshake_end.c",
            "facts/test_truths.py::test_what_was_once_said_in_turn",
            "counted->conn->fallback.kind || may_have_answer(counted, tcp, sender) ||",
            "counted->conn->fallback.kind || (0 && may_have_answer(counted, tcp, sender)) ||",
        ),
        (
            TRUTHS,
            "first-psn-of-any-message",
            "dissectors/state/flow/message_flow.c",
            "unit/test_rules_link.c",
            "if (arrival->other_first_psn && llc->type == SMCR_LLC_CONFIRM_LINK)",
            "if (arrival->other_first_psn && llc->type)",
        ),
        (
            FINDINGS,
            "naks-without-a-repeat-are-harmless",
            "dissectors/report/findings/on_loss.c",
            "unit/test_findings.c",
            "if (!smcr_figure_or_zero(flow->repeated) && !is_explained_elsewhere(finder, flow))",
            "if (smcr_figure_or_zero(flow->repeated) && !is_explained_elsewhere(finder, flow))",
        ),
        (
            FINDINGS,
            "mildest-first",
            "dissectors/report/findings/findings.c",
            "unit/test_findings.c",
            "compare(b->entry.severity, a->entry.severity),",
            "compare(a->entry.severity, b->entry.severity),",
        ),
        (
            FINDINGS,
            "full-before-a-gap",
            "dissectors/report/collect/connections/link_flows.c",
            "facts/test_stories.py::test_report_over_netlink_proves_only_with_its_packets",
            "|| record->missing_before)\n        flows->whole_since",
            ")\n        flows->whole_since",
        ),
        (
            FINDINGS,
            "full-with-free-space",
            "dissectors/state/model/socket.c",
            "facts/test_stories.py::test_report_over_netlink_proves_only_with_its_packets",
            "smcr_ring_distance(&ring, cons[end], prod[end]) == ring.size;",
            "smcr_ring_distance(&ring, cons[end], prod[end]) != 0;",
        ),
        (
            PAYLOAD,
            "first-bytes-of-the-other-end",
            "dissectors/payload/as_tcp.c",
            "facts/test_heuristics.py::test_queries_of_connections_without_a_name",
            "ends->port[protocol->by_server ? sender : !sender];",
            "ends->port[protocol->by_server ? !sender : sender];",
        ),
        (
            PAYLOAD,
            "any-word-is-a-statement",
            "dissectors/application/application.c",
            "unit/test_application.c",
            "length >= strlen(words[i]) &&\n            g_ascii",
            "length >= strlen(words[i]) || g_ascii",
        ),
        (
            FINDINGS,
            "consequence-of-a-later-failure",
            "dissectors/report/findings/finder/causes.c",
            "facts/test_stories.py::test_story[s02b-fw-roce-60s]",
            "if (failed.frame && failed.frame < frame)",
            "if (failed.frame && failed.frame > frame)",
        ),
        (
            FINDINGS,
            "silence-before-its-cause",
            "dissectors/report/findings/on_silence.c",
            "facts/test_findings.py::test_silence_after_a_reset_comes_second",
            "reset->frame < host->silence->first_repeated_frame.frame",
            "reset->frame > host->silence->first_repeated_frame.frame",
        ),
        (
            TABLES,
            "a-fin-has-its-own-number",
            "dissectors/tcp/clc_stream.c",
            (
                "statistics/test_conversations.py::"
                "test_bytes_out_of_order_count_where_tcp_hands_them_on[one-pass]"
            ),
            "tcp->is_reassembled ? tcp->seq : tcp->nxtseq - tvb_reported_length(tvb);",
            "tcp->seq;",
        ),
        (
            TABLES,
            "no-arrows-of-rocev1",
            "dissectors/statistics/flow_graph.c",
            "statistics/test_flow_graph.py::test_every_graph_has_the_same_arrows[llc-test-link]",
            "        copy_address_shallow(&pinfo->net_src, &pinfo->src);",
            "        copy_address_shallow(&pinfo->net_src, of_network);",
        ),
        (
            TABLES,
            "one-nak-is-left-out",
            "dissectors/report/figures/figures.c",
            "statistics/test_tables.py::test_tables_are_the_report[nak-errors-all-two-passes]",
            "smcr_figure_or_zero(naks->invalid_request) +",
            "",
        ),
        (
            TABLES,
            "rnr-naks-are-naks",
            "dissectors/report/tables/table_links.c",
            "statistics/test_tables.py::test_tables_are_the_report[rnr-nak-all-two-passes]",
            "smcr_figure_naks_count(&flow->nak))   ",
            "flow->rnr_nak)   ",
        ),
        (
            TABLES,
            "versions-of-llc",
            "dissectors/statistics/message_tree.c",
            (
                "statistics/test_message_tree.py::"
                "test_every_node_is_what_the_bytes_say[6.1-v2-a-first-contact-ipv4]"
            ),
            'version == 2 ? "Version 2" : "Version 1"',
            '"Version 1"',
        ),
        (
            TABLES,
            "runs-are-never-closed",
            "dissectors/statistics/flow_graph.c",
            "statistics/test_flow_graph.py::test_data_do_not_run_past_another_arrow",
            "tap_context->runs[0].link = tap_context->runs[1].link = NULL;",
            "(void)tap_context;",
        ),
        (
            TABLES,
            "kept-of-an-empty-table",
            "dissectors/statistics/conversations.c",
            "statistics/test_conversations.py::test_tables_of_one_file_after_the_other",
            "    if (kept && !is_empty)",
            "    (void)is_empty;\n    if (kept)",
        ),
        (
            TABLES,
            "last-frame-of-another-file",
            "dissectors/host/capture.c",
            "statistics/test_statistics_window.py::test_window_of_the_report_and_of_links",
            "    capture.last_frame = 0;\n",
            "",
        ),
        (
            TABLES,
            "first-frame-is-the-last",
            "dissectors/host/capture.c",
            "statistics/test_statistics_window.py::test_window_of_the_report_and_of_links",
            "capture.last_frame = MAX(pinfo->num, capture.last_frame);",
            "capture.last_frame = capture.last_frame ? capture.last_frame : pinfo->num;",
        ),
        (
            TABLES,
            "first-pass-has-no-end",
            "dissectors/host/capture.c",
            "statistics/test_statistics_window.py::test_window_of_the_report_and_of_links",
            "    capture.is_read = pinfo->num <= capture.last_frame;\n",
            "",
        ),
        (
            TEXT,
            "terminals-have-windows",
            "dissectors/host/capture.c",
            "golden/test_report_golden.py::test_report[6.1-v1-d-bulk-slow-reader]",
            "? ops : NULL;",
            "? ops : ops;",
        ),
        (
            FILTERS,
            "group-by-the-index-of-its-link",
            "dissectors/statistics/conversation_filters.c",
            (
                "statistics/test_conversation_filters.py::"
                "test_link_group[6.1-v2-h1-two-links-second-fails]"
            ),
            'g_strdup_printf("smcr.lgr eq %u", link->lgr->index)',
            'g_strdup_printf("smcr.link.index eq %u", link->index)',
        ),
        (
            FILTERS,
            "writes-of-the-owner",
            "dissectors/statistics/conversation_filters.c",
            "statistics/test_conversation_filters.py::test_rmb[6.1-v2-j-http11-client]",
            'g_string_append_printf(filter, "smcr.dir == %d && smcr.stream in {", !role);',
            'g_string_append_printf(filter, "smcr.dir == %d && smcr.stream in {", role);',
        ),
        (
            LINES,
            "lines-before-the-end-of-two-passes",
            "dissectors/report/collect/connections/conn_end.c",
            "facts/test_lines.py::test_lines_of_two_passes_and_of_an_early_end",
            "return frame && frame <= patience->frame;",
            "return frame && patience->frame;",
        ),
        (
            LINES,
            "flows-of-intervals-count-all",
            "dissectors/report/lines/lines.c",
            "facts/test_lines.py::test_flows_of_intervals_add_up",
            "        if (before)\n",
            "        if (before && !before->packets)\n",
        ),
        (
            LINES,
            "community-id-by-ports-alone",
            "dissectors/report/lines/identity.c",
            "facts/test_lines.py::test_names_of_connections",
            "int order = memcmp(one->addr, other->addr, one->length);",
            "int order = 0;",
        ),
        (
            LINES,
            "keys-of-links-whose-sides-are-turned",
            "dissectors/report/collect/connections/conn_report.c",
            "facts/test_lines.py::test_parts_of_a_ring_join",
            "const smcr_link_t *link = smcr_link_merged(use->link);",
            "const smcr_link_t *link = use->link;",
        ),
        (
            LINES,
            "zeros-left-out-where-zero-is-no-default",
            "dissectors/report/write/line_members.c",
            "facts/test_lines.py::test_lines_have_the_figures_of_the_report",
            "return member->is_known_with_entry && ",
            "return member->name != NULL && ",
        ),
        (
            LINES,
            "zeros-assumed-where-a-value-is-not-known",
            "dissectors/report/write/line_members.c",
            "facts/test_lines.py::test_lines_have_the_figures_of_the_report",
            "    return find_place(assumed, member->offset, description) &&",
            "    return !find_place(assumed, member->offset, description) &&",
        ),
        # ---- whatever comes ----
        (
            FIGURES,
            "filters-begin-with-a-comma",
            "dissectors/report/report.c",
            "facts/test_report.py::test_filter_with_commas",
            "return rest[0] == ',' && rest[1] ? rest + 1 : NULL;",
            "return rest[0] == ',' && rest[1] ? strrchr(rest, ',') + 1 : NULL;",
        ),
        (
            PAGE,
            "text-ends-the-block",
            "dissectors/report/page/page.c",
            "facts/test_page.py::test_only_its_own_scripts_run",
            'g_string_append(html, "\\\\u003c");',
            "g_string_append_c(html, *end);",
        ),
        (
            PAGE,
            "edge-is-where-the-reader-is",
            "dissectors/report/series/series.c",
            "facts/test_page.py::test_lines_are_those_of_the_cursors",
            "    consumed.value += room;\n",
            "",
        ),
        (
            PAGE,
            "address-stays",
            "dissectors/report/figures/anonymous.c",
            "facts/test_page.py::test_anonymous_reports_differ_in_names_only",
            "        return replacement_of(names, text, kind_of_all);",
            "        return text;",
        ),
        (
            PAGE,
            "own-mark-of-a-tunnel",
            "dissectors/report/series/series.c",
            "facts/test_page.py::test_marks_of_a_tunnel_are_told_apart",
            "bin->ce += has_own_mark(packet->roce);",
            "bin->ce += has_own_mark(packet->roce) || has_outer_mark_only(packet->roce);",
        ),
        (
            PAGE,
            "delays-of-the-other-way",
            "dissectors/points/notes.c",
            "facts/test_page.py::test_delays_are_those_of_the_points",
            "if (!passage.to || !smcr_judge_is_of_way(way, transmission))",
            "if (!passage.to || smcr_judge_is_of_way(way, transmission))",
        ),
        (
            PAGE,
            "bounds-without-the-upper",
            "dissectors/report/page/page_tables.c",
            "facts/test_page.py::test_tables_are_those_of_wireshark",
            "write_number(json, kind, cell->NUMBER);\n    write_number",
            "write_number(json, kind, cell->most);\n    write_number",
        ),
        (
            FOLLOW,
            "truncated-data-is-left-out",
            "dissectors/payload/export_segments.c",
            "facts/test_export_tcp.py::test_windows_of_packets_without_captured_data",
            "smcr_payload_find_truncated_bytes(data, record, &fresh) ||",
            "false ||",
        ),
        (
            FOLLOW,
            "retransmission-is-not-exported",
            "dissectors/payload/export_segments.c",
            "facts/test_export_tcp.py::test_programs_said",
            "smcr_payload_find_repeated_bytes(data, record, &fresh);",
            "false;",
        ),
        (
            PAGE,
            "only-longest-silence-is-drawn",
            "dissectors/report/page/script.js",
            "facts/test_chromium.py::test_pauses_are_bars",
            "return [longest, ...longest.others].map(",
            "return [longest].map(",
        ),
        (
            PAGE,
            "spike-is-lost",
            "dissectors/report/series/line.c",
            "unit/test_series.c",
            "next->high.value >= bucket->high.value",
            "next->high.when.time < bucket->high.when.time",
        ),
        (
            HOSTILE,
            "page-is-too-wide",
            "dissectors/report/write/text_lines.c",
            "malformed/test_hostile_reports.py::test_as_they_are[cdc-contradictions]",
            "that_fits(text, page->width - before)",
            "that_fits(text, page->width + before)",
        ),
        (
            HOSTILE,
            "kept-of-a-closed-file",
            "dissectors/statistics/conversations.c",
            "statistics/test_sanitized.py::test_files_one_after_the_other",
            "        g_hash_table_destroy(all_kept);\n    all_kept = NULL;",
            "        g_hash_table_destroy(all_kept);",
        ),
        (
            LIVE,
            "no-roce-yet",
            "dissectors/show/annotate.c",
            "desk/test_live.py::test_one_pass_does_not_lie[6.1-v2-h1-two-links-second-fails]",
            "conn->confirm_frame == pinfo->num && pinfo->fd->visited &&",
            "conn->confirm_frame == pinfo->num &&",
        ),
        (
            LIVE,
            "ring-is-one-file",
            "dissectors/report/listen/listeners.c",
            "desk/test_live.py::test_ring_of_tshark",
            (
                "    smcr_collection_empty(listeners->collection);\n"
                "    if (!listeners->selection)\n        return;"
            ),
            (
                "    if (!listeners->selection)\n        return;\n"
                "    smcr_collection_empty(listeners->collection);"
            ),
        ),
        (
            FIGURES,
            "two-passes-while-it-runs",
            "dissectors/host/capture.c",
            "facts/test_report.py::test_capture[rfc-peer-one-pass]",
            "bool\nsmcr_capture_is_read(void)\n{\n    return capture.is_read;",
            "bool\nsmcr_capture_is_read(void)\n{\n    return capture.state != NULL;",
        ),
        (
            FIGURES,
            "nobody-draws",
            "dissectors/report/listen/listeners.c",
            "facts/test_report_live.py::test_json_on_interrupt",
            "tap == SMCR_COLLECTION_FRAME && !listeners->selection;",
            "tap == SMCR_COLLECTION_FRAME && listeners->selection;",
        ),
        (
            DESK,
            "monitor-shifts-bytes",
            "plugin/monitor",
            "desk/test_monitor.py::test_bytes_are_those_of_the_wire[reserved-flags]",
            'start, size = int(item.get("pos")), int(item.get("size"))\n    found',
            'start, size = int(item.get("pos")) + 1, int(item.get("size"))\n    found',
        ),
        (
            DESK,
            "lost-by-the-event-alone",
            "plugin/profile/colorfilters",
            (
                "desk/test_profile.py::"
                "test_both_sides_say_that_the_link_is_lost[6.1-v2-h1-two-links-second-fails]"
            ),
            " || smcr.llc.delete_reason == 0x00010000",
            "",
        ),
        # ---- what a tap copies ----
        (
            ANCK,
            "headers-of-16-bytes",
            "dissectors/anck/anck.c",
            "facts/test_anck_tap.py::test_tap_is_shown_followed_and_reported[long header]",
            "    return are_zero(tvb, RESERVED_AT, total - message) ? total - message : 0;",
            "    return are_zero(tvb, RESERVED_AT, total - message) ? HEADER_USUAL : 0;",
        ),
        (
            ANCK,
            "duplicates-count",
            "dissectors/state/flow/tapped/tapped.c",
            "facts/test_anck_tap.py::test_tap_is_shown_followed_and_reported[one host]",
            "    if (tapped->shows_twice)\n        return smcr_tapped_is_data_copied(",
            "    if (!tapped->shows_twice)\n        return smcr_tapped_is_data_copied(",
        ),
        # ---- what hosts tell ----
        (
            TOLD,
            "numbers-of-32-bits-have-64",
            "dissectors/netlink/netlink.c",
            "facts/test_netlink.py::test_built_messages_have_their_values[big]",
            "value_length == 4 ? 4 : width",
            "width",
        ),
        (
            TOLD,
            "dumps-of-all-families",
            "dissectors/netlink/netlink.c",
            "facts/test_netlink.py::test_netlink_of_others_is_as_without_the_plugin",
            "tvb_get_uint8(tvb, NLMSG_LENGTH) != AF_SMC)",
            "tvb_get_uint8(tvb, NLMSG_LENGTH) == 2)",
        ),
        (
            TOLD,
            "cursors-of-the-peer",
            "dissectors/told.def",
            "facts/test_netlink.py::test_tree_is_what_the_host_printed",
            "CURSOR(16, rx_prod, ",
            "CURSOR(24, rx_prod, ",
        ),
        (
            DIRECTIONS,
            "first-look-only",
            "dissectors/state/flow/cdc_conn.c",
            "facts/test_directions.py::test_directions[6.1-v2-q-forty-conns-False]",
            "    if (!other)\n        return conn;",
            "    if (!other || conn)\n        return conn;",
        ),
        (
            DIRECTIONS,
            "hosts-count-in-step",
            "dissectors/state/model/link.h",
            "facts/test_directions.py::test_directions[6.1-v2-q-forty-conns-True]",
            "lgr->token_difference = lead;",
            "lgr->token_difference = 0;",
        ),
        (
            NAMES,
            "rounds-do-not-count",
            "dissectors/state/model/stream.c",
            "facts/test_hosts.py::test_what_hosts_tell[late-wrap]",
            "position_in_round(&ring, cons.wrap, stream->cons.count)",
            "position_in_round(&ring, cons.wrap & 1, stream->cons.count)",
        ),
        (
            NAMES,
            "dumps-of-another-time",
            "dissectors/state/flow/told/told_judge.c",
            "facts/test_hosts.py::test_a_dump_of_another_time_is_not_believed",
            "return may_be_older(socket, &ring, stream->prod, sender) &&",
            "return (may_be_older(socket, &ring, stream->prod, sender) || 1) &&",
        ),
        (
            NAMES,
            "dumps-far-behind-the-wire",
            "dissectors/state/flow/told/told_judge.c",
            "facts/test_hosts.py::test_a_dump_far_behind_the_wire_is_not_believed",
            "i < 2 && sender->mark_time[i]",
            "i < 2 && !sender->mark_time[i]",
        ),
        (
            NAMES,
            "copies-of-netlink",
            "dissectors/netlink/netlink.c",
            "facts/test_hosts.py::test_what_is_told_twice_contradicts_nothing[late-wrap]",
            "if (shown->novelty == COPY && walk->told.kind != SMCR_TOLD_DONE)",
            "if (false)",
        ),
        (
            NAMES,
            "tokens-of-two",
            "dissectors/state/flow/told_flow.c",
            "facts/test_hosts.py::test_two_sockets_with_one_token[late-one]",
            "before->reported.is_from_file || before->dump == dump",
            "before->reported.is_from_file",
        ),
        (
            NAMES,
            "used-again",
            "dissectors/state/flow/told_flow.c",
            "facts/test_hosts.py::test_a_token_that_is_used_again",
            "!socket->reported.is_from_file && !socket->conn && may_follow(arrival, socket, cdc)",
            "!socket->reported.is_from_file && may_follow(arrival, socket, cdc) && !socket->conn",
        ),
        (
            NAMES,
            "any-socket-has-the-cursor",
            "dissectors/state/model/socket.c",
            "unit/test_conn.c",
            "return socket && socket->dump_end_frame && !socket->cursor_shared ? socket : NULL;",
            "return socket;",
        ),
        (
            NAMES,
            "mirrors-of-other-connections",
            "dissectors/state/model/socket.c",
            "unit/test_conn.c",
            "(received >= 0 && sent >= 0)",
            "(received < 0 || sent >= 0)",
        ),
        (
            NAMES,
            "read-before-it-was-written",
            "dissectors/state/flow/told/told_judge.c",
            "unit/test_conn.c",
            "return unread >= 0 && unread <= size;",
            "return unread <= size;",
        ),
        (
            NAMES,
            "directions-of-other-connections",
            "dissectors/state/flow/told/told_judge.c",
            "unit/test_conn.c",
            "return unread >= 0 && unread <= size;",
            "return unread >= 0;",
        ),
        (
            NAMES,
            "joined-tokens-stay",
            "dissectors/state/model/conn.c",
            "unit/test_link.c",
            "smcr_conn_set_token(state, conn, i, side->token);",
            "smcr_conn_set_token(state, conn, i, side->token + 1);",
        ),
        (
            NAMES,
            "joined-points-stay",
            "dissectors/state/model/conn.c",
            "unit/test_link.c",
            "    if (point->qp == moved->before)",
            "    if (point->qp == moved->now)",
        ),
        # ---- the house and its papers ----
        (
            DOCS,
            "sentence-of-an-item",
            "dissectors/experts.def",
            "test_docs.py::test_expert_items_are_documented",
            '"The link is confirmed: it is active from now on")',
            '"The link is confirmed")',
        ),
        (
            DOCS,
            "example-of-a-document",
            "docs/report.md",
            "test_docs.py::test_examples_print_what_is_written[report.md]",
            "1,109 frames, 791.3 KiB",
            "1,109 frames, 791.4 KiB",
        ),
        (
            HOUSE,
            "room-includes-upwards",
            "dissectors/fabric/ranges.c",
            "test_modules.py::test_rooms_include_downwards_by_doors[fabric]",
            '#include "ranges.h"\n',
            '#include "ranges.h"\n\n#include "state/state.h"\n',
        ),
        (
            HOUSE,
            "code-is-said-again",
            "dissectors/host/udp_ports.c",
            "test_codes.py::test_no_code_is_defined_again",
            "#define UDP_LENGTH 8 /*",
            "#define ICRC_LENGTH 4\n#define UDP_LENGTH 8 /*",
        ),
        (
            TESTS,
            "copies-without-a-status",
            "tests/started.c",
            "test_started.py::test_sharkd",
            "signal(SIGCHLD, SIG_DFL); /* which sharkd ignores */",
            "signal(SIGCHLD, SIG_IGN);",
        ),
        (
            TESTS,
            "icrc-of-the-builder",
            "tests/synth/smcsynth/roce.py",
            "synth/test_synth.py::test_icrc_agrees_with_scapy",
            'return struct.pack("<I", crc32(b"".join(parts)))',
            'return struct.pack(">I", crc32(b"".join(parts)))',
        ),
        # ---- what a peer wrote ----
        (
            PEERS_TEXT,
            "controls-of-peers",
            "dissectors/message/items.c",
            "facts/test_peer_texts.py::test_tree",
            "if (g_ascii_isprint(bytes[i]) && bytes[i] != '\\\\')",
            "if (bytes[i] >= 0x20 && bytes[i] != '\\\\')",
        ),
        (
            PEERS_TEXT,
            "backslashes-of-peers",
            "dissectors/message/items.c",
            "facts/test_peer_texts.py::test_report_as_json",
            "if (g_ascii_isprint(bytes[i]) && bytes[i] != '\\\\')",
            "if (g_ascii_isprint(bytes[i]))",
        ),
        # ---- other systems, and what is installed ----
        (
            WORDS,
            "finding-lacks",
            "dissectors/report/findings/on_capture.c",
            "test_texts.py::test_texts_have_the_words_of_the_glossary",
            '"%s: the capture starts mid-connection%s"',
            '"%s: the capture lacks the beginning%s"',
        ),
        (
            WORDS,
            "field-told",
            "dissectors/fields.def",
            "test_texts.py::test_texts_have_the_words_of_the_glossary",
            '"Frame in which a host reports the connection',
            '"Frame in which a host tells of the connection',
        ),
        (
            SYSTEMS,
            "definitions-are-imported",
            "plugin/plugin.c",
            "test_portability.py::test_file_compiles",
            "#define WS_BUILD_DLL",
            "#define WS_BUILD_NO_DLL",
        ),
        (
            SYSTEMS,
            "data-of-another-library",
            "dissectors/fields.def",
            "test_portability.py::test_file_compiles",
            "TEXTS(icrc_statuses)",
            "VALS(proto_checksum_vals)",
        ),
        (
            CHECKERS,
            "encoding-is-a-truth-value",
            "dissectors/tcp/option.c",
            "test_wireshark_checks.py::test_checkers_find_nothing",
            "hf_smcr_option, tvb, 0, -1, ENC_NA",
            "hf_smcr_option, tvb, 0, -1, TRUE",
        ),
        (
            CHECKERS,
            "truth-strings-of-wireshark-again",
            "dissectors/fields.c",
            "test_wireshark_checks.py::test_checkers_find_nothing",
            '{"direct, same subnet", "through a gateway"}',
            '{"Yes", "No"}',
        ),
        (
            HERMETIC,
            "tshark-of-the-user",
            "tests/bed.py",
            "test_hermetic.py::test_tests_pass_in_a_hostile_home",
            "check=True,\n        env=nobodys(),",
            "check=True,\n        env=dict(os.environ),",
        ),
        (
            HERMETIC,
            "editcap-of-the-machine",
            "tests/bed.py",
            "test_hermetic.py::test_programs_run_on_the_bed",
            'return Tshark(self, "none").run(*arguments, program=program)',
            "return subprocess.run([program, *arguments], capture_output=True, text=True).stdout",
        ),
    )
]

SANITIZED = ("malformed/", "statistics/test_sanitized.py", "statistics/test_statistics_window.py")


def unit_of(test):
    """NAME of unit/test_NAME.c; None for a test of pytest."""
    found = re.fullmatch(r"unit/test_(\w+)\.c", test)
    return found[1] if found else None


def builds_of(test):
    """What is built for a test; in the first it runs."""
    if unit_of(test):
        return ("sanitized",)
    return ("debug", "sanitized") if test.startswith(SANITIZED) else ("debug",)
