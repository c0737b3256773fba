-- Ten questions of a site, for DuckDB, about lines of tshark -z smcr,lines (docs/lines.md). The files are those that
-- the variable names; each question is a view of its own.
--
--     SET VARIABLE files = '/var/log/smcr/*.ndjson';
--     .read docs/examples/lines.duckdb.sql
--     FROM fallbacks;
--
-- What is not known is NULL. The view `lines` fills in what lines leave out since it is 0 or false. Whoever needs the
-- lines often makes a table of it, or Parquet.
--
-- SPDX-License-Identifier: GPL-2.0-or-later

-- ---- the columns: tests/figures-doc writes them ----
CREATE OR REPLACE MACRO conn_time_filled(it) AS CASE WHEN it IS NOT NULL THEN {'nothing_to_write_s':
    it."nothing_to_write_s", 'answer_s': coalesce(it."answer_s", 0), 'buffer_full_s': coalesce(it."buffer_full_s", 0),
    'retransmission_s': coalesce(it."retransmission_s", 0), 'transfer_s': coalesce(it."transfer_s", 0), 'unknown_s':
    coalesce(it."unknown_s", 0), 'reader_s': coalesce(it."reader_s", 0), 'filling_s': coalesce(it."filling_s", 0),
    'needless_s': coalesce(it."needless_s", 0), 'nothing_to_write_most_s': it."nothing_to_write_most_s",
    'answer_most_s': coalesce(it."answer_most_s", coalesce(it."answer_s", 0) + coalesce(it."unknown_s", 0)),
    'buffer_full_most_s': coalesce(it."buffer_full_most_s", coalesce(it."buffer_full_s", 0) + coalesce(it."unknown_s",
    0)), 'retransmission_most_s': coalesce(it."retransmission_most_s", coalesce(it."retransmission_s", 0) +
    coalesce(it."unknown_s", 0)), 'transfer_most_s': coalesce(it."transfer_most_s", coalesce(it."transfer_s", 0) +
    coalesce(it."unknown_s", 0))} END;
CREATE OR REPLACE MACRO conn_direction_filled(it) AS CASE WHEN it IS NOT NULL THEN {'bytes': it."bytes",
    'lacks_bytes': CASE WHEN it."bytes" IS NOT NULL AND NOT list_contains(coalesce(it.not_known, []), 'lacks_bytes')
    THEN coalesce(it."lacks_bytes", false) ELSE it."lacks_bytes" END, 'writes': CASE WHEN it."bytes" IS NOT NULL AND
    NOT list_contains(coalesce(it.not_known, []), 'writes') THEN coalesce(it."writes", 0) ELSE it."writes" END, 'cdc':
    coalesce(it."cdc", 0), 'repeated_packets': coalesce(it."repeated_packets", 0), 'repeated_bytes':
    coalesce(it."repeated_bytes", 0), 'blocked_count': coalesce(it."blocked_count", 0), 'window_full_count': CASE WHEN
    it."bytes" IS NOT NULL AND NOT list_contains(coalesce(it.not_known, []), 'window_full_count') THEN
    coalesce(it."window_full_count", 0) ELSE it."window_full_count" END, 'time': conn_time_filled(it."time"),
    'reader_time_s': it."reader_time_s", 'drain_time_s': it."drain_time_s", 'ack_time_s': it."ack_time_s",
    'read_reported_s': it."read_reported_s", 'answer_time_s': it."answer_time_s", 'slow_answers':
    coalesce(it."slow_answers", 0), 'slow_answers_s': coalesce(it."slow_answers_s", 0), 'unasked_writes':
    coalesce(it."unasked_writes", 0), 'urgent_count': coalesce(it."urgent_count", 0), 'open_wait': it."open_wait",
    'unreported_bytes': CASE WHEN it."cdc" IS NOT NULL AND NOT list_contains(coalesce(it.not_known, []),
    'unreported_bytes') THEN coalesce(it."unreported_bytes", 0) ELSE it."unreported_bytes" END, 'unannounced_bytes':
    CASE WHEN it."cdc" IS NOT NULL AND NOT list_contains(coalesce(it.not_known, []), 'unannounced_bytes') THEN
    coalesce(it."unannounced_bytes", 0) ELSE it."unannounced_bytes" END} END;
CREATE OR REPLACE MACRO conn_end_filled(it) AS CASE WHEN it IS NOT NULL THEN {'by': it."by", 'time': it."time",
    'is_reported': coalesce(it."is_reported", false), 'idle_time': it."idle_time", 'other_time': it."other_time",
    'other_after_time': it."other_after_time", 'other_by_time': it."other_by_time", 'written_after': CASE WHEN it."by"
    IS NOT NULL AND NOT list_contains(coalesce(it.not_known, []), 'written_after') THEN coalesce(it."written_after",
    false) ELSE it."written_after" END, 'late_write_after_time': it."late_write_after_time", 'late_write_by_time':
    it."late_write_by_time", 'aborted_by': it."aborted_by", 'aborted_time': it."aborted_time"} END;
CREATE OR REPLACE MACRO tcp_direction_filled(it) AS CASE WHEN it IS NOT NULL THEN {'packets': coalesce(it."packets",
    0), 'segments': coalesce(it."segments", 0), 'data_segments': coalesce(it."data_segments", 0), 'ip_bytes':
    coalesce(it."ip_bytes", 0), 'acks': coalesce(it."acks", 0), 'acked_bytes': it."acked_bytes", 'sacked_bytes':
    coalesce(it."sacked_bytes", 0), 'dsacks': coalesce(it."dsacks", 0), 'ce': CASE WHEN it."packets" IS NOT NULL AND
    NOT list_contains(coalesce(it.not_known, []), 'ce') THEN coalesce(it."ce", 0) ELSE it."ce" END, 'sce': CASE WHEN
    it."packets" IS NOT NULL AND NOT list_contains(coalesce(it.not_known, []), 'sce') THEN coalesce(it."sce", 0) ELSE
    it."sce" END, 'esce': coalesce(it."esce", 0), 'ece': coalesce(it."ece", 0), 'cwr': coalesce(it."cwr", 0),
    'esce_acked_bytes': CASE WHEN it."packets" IS NOT NULL AND NOT list_contains(coalesce(it.not_known, []),
    'esce_acked_bytes') THEN coalesce(it."esce_acked_bytes", 0) ELSE it."esce_acked_bytes" END, 'repeated_segments':
    coalesce(it."repeated_segments", 0), 'copies': CASE WHEN it."packets" IS NOT NULL AND NOT
    list_contains(coalesce(it.not_known, []), 'copies') THEN coalesce(it."copies", 0) ELSE it."copies" END,
    'late_segments': it."late_segments", 'gaps': coalesce(it."gaps", 0), 'gap_bytes': coalesce(it."gap_bytes", 0),
    'duplicate_acks': coalesce(it."duplicate_acks", 0), 'rtt_s': it."rtt_s", 'tsval_rtt_s': it."tsval_rtt_s", 'ipg_s':
    it."ipg_s", 'sce_ipg_s': it."sce_ipg_s", 'sce_run_length': it."sce_run_length", 'ack_elapsed_s':
    it."ack_elapsed_s"} END;
CREATE OR REPLACE MACRO codepoints_filled(it) AS CASE WHEN it IS NOT NULL THEN {'not_ect': coalesce(it."not_ect", 0),
    'ect0': coalesce(it."ect0", 0), 'ect1': coalesce(it."ect1", 0), 'ce': coalesce(it."ce", 0)} END;
CREATE OR REPLACE MACRO packet_class_filled(it) AS CASE WHEN it IS NOT NULL THEN {'packets': coalesce(it."packets",
    0), 'by_dscp': it."by_dscp", 'by_priority': it."by_priority", 'ecn': codepoints_filled(it."ecn"), 'outer_ecn':
    codepoints_filled(it."outer_ecn")} END;
CREATE OR REPLACE MACRO icrcs_filled(it) AS CASE WHEN it IS NOT NULL THEN {'good': coalesce(it."good", 0), 'bad':
    coalesce(it."bad", 0), 'unverified': coalesce(it."unverified", 0)} END;
CREATE OR REPLACE MACRO flow_recovery_filled(it) AS CASE WHEN it IS NOT NULL THEN {'gap_to_nak_s': it."gap_to_nak_s",
    'nak_to_resend_s': it."nak_to_resend_s", 'timeout_s': it."timeout_s", 'retry_s': it."retry_s", 'implied_naks':
    coalesce(it."implied_naks", 0), 'read_timeouts': coalesce(it."read_timeouts", 0), 'ack_timeout': it."ack_timeout",
    'go_back_n': coalesce(it."go_back_n", 0), 'selective': coalesce(it."selective", 0), 'refilled':
    coalesce(it."refilled", 0), 'needless': coalesce(it."needless", 0), 'answered_twice':
    coalesce(it."answered_twice", 0), 'reordered': coalesce(it."reordered", 0), 'reorder_depth': it."reorder_depth",
    'late_s': it."late_s", 'unfilled': it."unfilled"} END;
CREATE OR REPLACE MACRO flow_pause_filled(it) AS CASE WHEN it IS NOT NULL THEN {'port_mac': it."port_mac",
    'standstills': coalesce(it."standstills", 0), 'still_s': coalesce(it."still_s", 0), 'still_most_s':
    coalesce(it."still_most_s", coalesce(it."still_s", 0)), 'longest': it."longest", 'intervals': it."intervals",
    'stopped': it."stopped"} END;
CREATE OR REPLACE MACRO flow_silence_filled(it) AS CASE WHEN it IS NOT NULL THEN {'begin_time': it."begin_time",
    'end_time': it."end_time", 'first_repeated_time': it."first_repeated_time", 'is_over': it."is_over", 'attempts':
    it."attempts", 'repeated': it."repeated", 'other_queue_pair_time': it."other_queue_pair_time", 'other_link':
    it."other_link", 'other_link_time': it."other_link_time", 'tcp_time': it."tcp_time", 'host_time': it."host_time",
    'early_time': it."early_time", 'others_s': coalesce(it."others_s", 0), 'others': it."others"} END;
CREATE OR REPLACE MACRO causes_filled(it) AS CASE WHEN it IS NOT NULL THEN {'nak': coalesce(it."nak", 0), 'icrc':
    coalesce(it."icrc", 0), 'rnr': coalesce(it."rnr", 0), 'read': coalesce(it."read", 0), 'timeout':
    coalesce(it."timeout", 0), 'unknown': coalesce(it."unknown", 0)} END;
CREATE OR REPLACE MACRO naks_filled(it) AS CASE WHEN it IS NOT NULL THEN {'psn_sequence': coalesce(it."psn_sequence",
    0), 'invalid_request': coalesce(it."invalid_request", 0), 'remote_access': coalesce(it."remote_access", 0),
    'remote_operational': coalesce(it."remote_operational", 0), 'invalid_rd': coalesce(it."invalid_rd", 0)} END;
CREATE OR REPLACE MACRO flow_reaction_filled(it) AS CASE WHEN it IS NOT NULL THEN {'measured': coalesce(it."measured",
    0), 'before_bytes': coalesce(it."before_bytes", 0), 'before_s': coalesce(it."before_s", 0), 'after_bytes':
    coalesce(it."after_bytes", 0), 'after_s': coalesce(it."after_s", 0)} END;
CREATE OR REPLACE MACRO flow_classes_filled(it) AS CASE WHEN it IS NOT NULL THEN {'data':
    packet_class_filled(it."data"), 'acknowledgement': packet_class_filled(it."acknowledgement"), 'cnp':
    packet_class_filled(it."cnp")} END;
CREATE OR REPLACE MACRO other_roce_filled(it) AS CASE WHEN it IS NOT NULL THEN {'packets': coalesce(it."packets", 0),
    'unread': coalesce(it."unread", 0), 'queue_pairs': it."queue_pairs", 'repeated': coalesce(it."repeated", 0),
    'naks': coalesce(it."naks", 0), 'rnr_naks': coalesce(it."rnr_naks", 0), 'ce': coalesce(it."ce", 0), 'cnp':
    coalesce(it."cnp", 0), 'first_time': it."first_time"} END;
CREATE OR REPLACE MACRO ip_filled(it) AS CASE WHEN it IS NOT NULL THEN {'packets': coalesce(it."packets", 0), 'bytes':
    coalesce(it."bytes", 0)} END;
CREATE OR REPLACE MACRO capture_filled(it) AS CASE WHEN it IS NOT NULL THEN {'frames': coalesce(it."frames", 0),
    'bytes': coalesce(it."bytes", 0), 'first_time': it."first_time", 'last_time': it."last_time", 'cut_frames':
    coalesce(it."cut_frames", 0), 'roce_frames': coalesce(it."roce_frames", 0), 'point_copies':
    coalesce(it."point_copies", 0), 'flows_not_counted': coalesce(it."flows_not_counted", 0), 'disorder_time':
    it."disorder_time", 'disorder_most_s': it."disorder_most_s", 'passes': it."passes", 'filter': it."filter",
    'wireshark': it."wireshark", 'plugin': it."plugin", 'smcr_roce': it."smcr_roce", 'check_icrc': it."check_icrc",
    'link_speed': it."link_speed"} END;
CREATE OR REPLACE MACRO pause_filled(it) AS CASE WHEN it IS NOT NULL THEN {'port_mac': it."port_mac", 'kind':
    it."kind", 'priority': it."priority", 'frames': coalesce(it."frames", 0), 'resumes': coalesce(it."resumes", 0),
    'cut': coalesce(it."cut", 0), 'quanta': coalesce(it."quanta", 0), 'paused_s': it."paused_s", 'paused_most_s':
    coalesce(it."paused_most_s", coalesce(it."paused_s", 0)), 'first_time': it."first_time", 'last_time':
    it."last_time", 'has_flow': it."has_flow", 'intervals': it."intervals"} END;
CREATE OR REPLACE MACRO breach_filled(it) AS CASE WHEN it IS NOT NULL THEN {'kind': it."kind", 'by': it."by", 'count':
    coalesce(it."count", 0), 'frame': it."frame", 'time': it."time"} END;
CREATE OR REPLACE MACRO rdma_filled(it) AS CASE WHEN it IS NOT NULL THEN {'index': it."index", 'peer': it."peer",
    'src': it."src", 'dst': it."dst", 'src_qpn': it."src_qpn", 'src_qpn_from': it."src_qpn_from", 'dst_qpn':
    it."dst_qpn", 'network': it."network", 'udp_ports': it."udp_ports", 'port_changes': coalesce(it."port_changes",
    0), 'kind': it."kind", 'cm': it."cm", 'first_time': it."first_time", 'last_time': it."last_time", 'packets':
    coalesce(it."packets", 0), 'bytes': coalesce(it."bytes", 0), 'payload_bytes': coalesce(it."payload_bytes", 0),
    'cdc_bytes': coalesce(it."cdc_bytes", 0), 'llc_bytes': coalesce(it."llc_bytes", 0), 'goodput_bytes':
    coalesce(it."goodput_bytes", 0), 'opcodes': it."opcodes", 'ecn': codepoints_filled(it."ecn"), 'outer_ce':
    coalesce(it."outer_ce", 0), 'marked_again': coalesce(it."marked_again", 0), 'classes':
    flow_classes_filled(it."classes"), 'cnp_pacing': it."cnp_pacing", 'reaction': flow_reaction_filled(it."reaction"),
    'withheld': it."withheld", 'cm_unanswered': coalesce(it."cm_unanswered", 0), 'cm_unanswered_port':
    it."cm_unanswered_port", 'nak': naks_filled(it."nak"), 'rnr_nak': coalesce(it."rnr_nak", 0), 'cnp':
    coalesce(it."cnp", 0), 'cnp_copies': coalesce(it."cnp_copies", 0), 'cnp_undecided': coalesce(it."cnp_undecided",
    0), 'repeated': coalesce(it."repeated", 0), 'repeated_after': causes_filled(it."repeated_after"), 'repeated_time':
    it."repeated_time", 'retransmission_s': coalesce(it."retransmission_s", 0), 'rnr_wait_s':
    coalesce(it."rnr_wait_s", 0), 'silent_s': coalesce(it."silent_s", 0), 'silences': coalesce(it."silences", 0),
    'silent_repeated': coalesce(it."silent_repeated", 0), 'longest_silence':
    flow_silence_filled(it."longest_silence"), 'acked_longest': it."acked_longest", 'stuck': it."stuck", 'pause':
    flow_pause_filled(it."pause"), 'recovery': flow_recovery_filled(it."recovery"), 'reordered_time':
    it."reordered_time", 'late_naks': coalesce(it."late_naks", 0), 'copies': CASE WHEN it."packets" IS NOT NULL AND
    NOT list_contains(coalesce(it.not_known, []), 'copies') THEN coalesce(it."copies", 0) ELSE it."copies" END,
    'knows_copies': CASE WHEN it."packets" IS NOT NULL AND NOT list_contains(coalesce(it.not_known, []),
    'knows_copies') THEN coalesce(it."knows_copies", false) ELSE it."knows_copies" END, 'gaps': coalesce(it."gaps",
    0), 'missing': coalesce(it."missing", 0), 'not_captured': coalesce(it."not_captured", 0), 'not_captured_time':
    it."not_captured_time", 'icrc': icrcs_filled(it."icrc"), 'ack_time_s': it."ack_time_s", 'completion_time_s':
    it."completion_time_s", 'repeated_completion_time_s': it."repeated_completion_time_s", 'ce_to_cnp_s':
    it."ce_to_cnp_s"} END;
CREATE OR REPLACE MACRO link_filled(it) AS CASE WHEN it IS NOT NULL THEN {'number': it."number", 'index': it."index",
    'state': it."state", 'state_time': it."state_time", 'states': it."states", 'mtu_bytes': it."mtu_bytes", 'client':
    it."client", 'server': it."server", 'added_time': it."added_time", 'deleted_time': it."deleted_time", 'lost_time':
    it."lost_time", 'lost_by': it."lost_by", 'delete_reason': it."delete_reason", 'reject_reason': it."reject_reason",
    'moved_from': CASE WHEN it."index" IS NOT NULL AND NOT list_contains(coalesce(it.not_known, []), 'moved_from')
    THEN coalesce(it."moved_from", 0) ELSE it."moved_from" END, 'moved_to': CASE WHEN it."index" IS NOT NULL AND NOT
    list_contains(coalesce(it.not_known, []), 'moved_to') THEN coalesce(it."moved_to", 0) ELSE it."moved_to" END,
    'flows': it."flows"} END;
CREATE OR REPLACE MACRO tcp_filled(it) AS CASE WHEN it IS NOT NULL THEN {'tcp_stream': it."tcp_stream", 'src':
    it."src", 'dst': it."dst", 'src_port': it."src_port", 'dst_port': it."dst_port", 'first_time': it."first_time",
    'lasted_s': it."lasted_s", 'ecn_initiated': CASE WHEN it."src" IS NOT NULL AND NOT
    list_contains(coalesce(it.not_known, []), 'ecn_initiated') THEN coalesce(it."ecn_initiated", false) ELSE
    it."ecn_initiated" END, 'ecn_accepted': CASE WHEN it."src" IS NOT NULL AND NOT
    list_contains(coalesce(it.not_known, []), 'ecn_accepted') THEN coalesce(it."ecn_accepted", false) ELSE
    it."ecn_accepted" END, 'up': tcp_direction_filled(it."up"), 'down': tcp_direction_filled(it."down")} END;
CREATE OR REPLACE MACRO connection_filled(it) AS CASE WHEN it IS NOT NULL THEN {'stream': it."stream", 'roce_stream':
    it."roce_stream", 'client': it."client", 'server': it."server", 'translated_client': it."translated_client",
    'translated_server': it."translated_server", 'version': it."version", 'outcome': it."outcome", 'fallback':
    it."fallback", 'handshake_end': it."handshake_end", 'links': it."links", 'setup_s': it."setup_s", 'setup':
    it."setup", 'setup_longest': it."setup_longest", 'buffer_bytes': it."buffer_bytes", 'first_time': it."first_time",
    'lasted_s': it."lasted_s", 'began_before': CASE WHEN it."outcome" IS NOT NULL AND NOT
    list_contains(coalesce(it.not_known, []), 'began_before') THEN coalesce(it."began_before", false) ELSE
    it."began_before" END, 'ends': it."ends", 'named_by': it."named_by", 'named_time': it."named_time", 'goes_on':
    CASE WHEN it."outcome" IS NOT NULL AND NOT list_contains(coalesce(it.not_known, []), 'goes_on') THEN
    coalesce(it."goes_on", false) ELSE it."goes_on" END, 'close': it."close", 'reset_by': it."reset_by",
    'longest_waits': it."longest_waits", 'end': conn_end_filled(it."end"), 'to_server':
    conn_direction_filled(it."to_server"), 'to_client': conn_direction_filled(it."to_client")} END;
CREATE OR REPLACE VIEW lines AS SELECT * REPLACE (coalesce("is_full", false) AS is_full, coalesce("uid_partial",
    false) AS uid_partial, coalesce("continues", false) AS continues, connection_filled("connection") AS connection,
    tcp_filled("tcp") AS tcp, link_filled("link") AS link, rdma_filled("flow") AS flow, breach_filled("breach") AS
    breach, pause_filled("pause") AS pause, capture_filled("capture") AS capture, ip_filled("ip") AS ip,
    other_roce_filled("other_roce") AS other_roce) FROM read_json(getvariable('files'),
    format = 'newline_delimited', columns = {
    schema: 'VARCHAR',
    line: 'VARCHAR',
    time: 'DECIMAL(20, 9)',
    is_full: 'BOOLEAN',
    host: 'VARCHAR',
    point: 'VARCHAR',
    interface: 'VARCHAR',
    uid: 'VARCHAR',
    uid_partial: 'BOOLEAN',
    client_keys: 'VARCHAR[]',
    server_keys: 'VARCHAR[]',
    community_id: 'VARCHAR',
    ended: 'VARCHAR',
    group_uid: 'VARCHAR',
    continues: 'BOOLEAN',
    from_time: 'DECIMAL(20, 9)',
    to_time: 'DECIMAL(20, 9)',
    connection: 'STRUCT("stream" UBIGINT, "roce_stream" UBIGINT, "client" STRUCT("addr" VARCHAR, "port" UBIGINT),
        "server" STRUCT("addr" VARCHAR, "port" UBIGINT), "translated_client" STRUCT("addr" VARCHAR, "port" UBIGINT),
        "translated_server" STRUCT("addr" VARCHAR, "port" UBIGINT), "version" VARCHAR, "outcome" VARCHAR, "fallback"
        STRUCT("reason" VARCHAR, "code" UBIGINT, "by" VARCHAR, "time" DECIMAL(20, 9), "offered_eids" VARCHAR,
        "syn_sign" VARCHAR, "crossed_time" DECIMAL(20, 9)), "handshake_end" STRUCT("kind" VARCHAR, "by" VARCHAR,
        "step" VARCHAR, "acknowledged" BOOLEAN, "sent" UBIGINT, "from_time" DECIMAL(20, 9), "time" DECIMAL(20, 9),
        "answer" VARCHAR), "links" STRUCT("number" UBIGINT, "from_time" DECIMAL(20, 9))[], "setup_s" DOUBLE, "setup"
        STRUCT("tcp_s" DOUBLE, "accept_s" DOUBLE, "confirm_s" DOUBLE, "llc_s" DOUBLE, "tcp_least_s" DOUBLE,
        "tcp_most_s" DOUBLE, "accept_least_s" DOUBLE, "accept_most_s" DOUBLE, "confirm_least_s" DOUBLE,
        "confirm_most_s" DOUBLE, "llc_least_s" DOUBLE, "llc_most_s" DOUBLE, "least_s" DOUBLE, "most_s" DOUBLE,
        "fallback_s" DOUBLE), "setup_longest" VARCHAR, "buffer_bytes" STRUCT("client" UBIGINT, "server" UBIGINT),
        "first_time" DECIMAL(20, 9), "lasted_s" DOUBLE, "began_before" BOOLEAN, "ends" VARCHAR, "named_by" VARCHAR,
        "named_time" DECIMAL(20, 9), "goes_on" BOOLEAN, "close" VARCHAR, "reset_by" VARCHAR, "longest_waits"
        STRUCT("writer" VARCHAR, "kind" VARCHAR, "lasted_s" DOUBLE, "begin_time" DECIMAL(20, 9), "request_time"
        DECIMAL(20, 9))[], "end" STRUCT("by" VARCHAR, "time" DECIMAL(20, 9), "is_reported" BOOLEAN, "idle_time"
        DECIMAL(20, 9), "other_time" DECIMAL(20, 9), "other_after_time" DECIMAL(20, 9), "other_by_time" DECIMAL(20,
        9), "written_after" BOOLEAN, "late_write_after_time" DECIMAL(20, 9), "late_write_by_time" DECIMAL(20, 9),
        "aborted_by" VARCHAR, "aborted_time" DECIMAL(20, 9), "not_known" VARCHAR[]), "to_server" STRUCT("bytes"
        UBIGINT, "lacks_bytes" BOOLEAN, "writes" UBIGINT, "cdc" UBIGINT, "repeated_packets" UBIGINT, "repeated_bytes"
        UBIGINT, "blocked_count" UBIGINT, "window_full_count" UBIGINT, "time" STRUCT("nothing_to_write_s" DOUBLE,
        "answer_s" DOUBLE, "buffer_full_s" DOUBLE, "retransmission_s" DOUBLE, "transfer_s" DOUBLE, "unknown_s" DOUBLE,
        "reader_s" DOUBLE, "filling_s" DOUBLE, "needless_s" DOUBLE, "nothing_to_write_most_s" DOUBLE, "answer_most_s"
        DOUBLE, "buffer_full_most_s" DOUBLE, "retransmission_most_s" DOUBLE, "transfer_most_s" DOUBLE),
        "reader_time_s" STRUCT("count" UBIGINT, "sum" DOUBLE, "min" DOUBLE, "max" DOUBLE, "zero_count" UBIGINT,
        "buckets" MAP(VARCHAR, UBIGINT)), "drain_time_s" STRUCT("count" UBIGINT, "sum" DOUBLE, "min" DOUBLE, "max"
        DOUBLE, "zero_count" UBIGINT, "buckets" MAP(VARCHAR, UBIGINT)), "ack_time_s" STRUCT("count" UBIGINT, "sum"
        DOUBLE, "min" DOUBLE, "max" DOUBLE, "zero_count" UBIGINT, "buckets" MAP(VARCHAR, UBIGINT)), "read_reported_s"
        STRUCT("count" UBIGINT, "sum" DOUBLE, "min" DOUBLE, "max" DOUBLE, "zero_count" UBIGINT, "buckets" MAP(VARCHAR,
        UBIGINT)), "answer_time_s" STRUCT("count" UBIGINT, "sum" DOUBLE, "min" DOUBLE, "max" DOUBLE, "zero_count"
        UBIGINT, "buckets" MAP(VARCHAR, UBIGINT)), "slow_answers" UBIGINT, "slow_answers_s" DOUBLE, "unasked_writes"
        UBIGINT, "urgent_count" UBIGINT, "open_wait" STRUCT("kind" VARCHAR, "begin_time" DECIMAL(20, 9), "proven_time"
        DECIMAL(20, 9)), "unreported_bytes" UBIGINT, "unannounced_bytes" UBIGINT, "not_known" VARCHAR[]), "to_client"
        STRUCT("bytes" UBIGINT, "lacks_bytes" BOOLEAN, "writes" UBIGINT, "cdc" UBIGINT, "repeated_packets" UBIGINT,
        "repeated_bytes" UBIGINT, "blocked_count" UBIGINT, "window_full_count" UBIGINT, "time"
        STRUCT("nothing_to_write_s" DOUBLE, "answer_s" DOUBLE, "buffer_full_s" DOUBLE, "retransmission_s" DOUBLE,
        "transfer_s" DOUBLE, "unknown_s" DOUBLE, "reader_s" DOUBLE, "filling_s" DOUBLE, "needless_s" DOUBLE,
        "nothing_to_write_most_s" DOUBLE, "answer_most_s" DOUBLE, "buffer_full_most_s" DOUBLE, "retransmission_most_s"
        DOUBLE, "transfer_most_s" DOUBLE), "reader_time_s" STRUCT("count" UBIGINT, "sum" DOUBLE, "min" DOUBLE, "max"
        DOUBLE, "zero_count" UBIGINT, "buckets" MAP(VARCHAR, UBIGINT)), "drain_time_s" STRUCT("count" UBIGINT, "sum"
        DOUBLE, "min" DOUBLE, "max" DOUBLE, "zero_count" UBIGINT, "buckets" MAP(VARCHAR, UBIGINT)), "ack_time_s"
        STRUCT("count" UBIGINT, "sum" DOUBLE, "min" DOUBLE, "max" DOUBLE, "zero_count" UBIGINT, "buckets" MAP(VARCHAR,
        UBIGINT)), "read_reported_s" STRUCT("count" UBIGINT, "sum" DOUBLE, "min" DOUBLE, "max" DOUBLE, "zero_count"
        UBIGINT, "buckets" MAP(VARCHAR, UBIGINT)), "answer_time_s" STRUCT("count" UBIGINT, "sum" DOUBLE, "min" DOUBLE,
        "max" DOUBLE, "zero_count" UBIGINT, "buckets" MAP(VARCHAR, UBIGINT)), "slow_answers" UBIGINT, "slow_answers_s"
        DOUBLE, "unasked_writes" UBIGINT, "urgent_count" UBIGINT, "open_wait" STRUCT("kind" VARCHAR, "begin_time"
        DECIMAL(20, 9), "proven_time" DECIMAL(20, 9)), "unreported_bytes" UBIGINT, "unannounced_bytes" UBIGINT,
        "not_known" VARCHAR[]), "not_known" VARCHAR[])',
    tcp: 'STRUCT("tcp_stream" UBIGINT, "src" VARCHAR, "dst" VARCHAR, "src_port" UBIGINT, "dst_port" UBIGINT,
        "first_time" DECIMAL(20, 9), "lasted_s" DOUBLE, "ecn_initiated" BOOLEAN, "ecn_accepted" BOOLEAN, "up"
        STRUCT("packets" UBIGINT, "segments" UBIGINT, "data_segments" UBIGINT, "ip_bytes" UBIGINT, "acks" UBIGINT,
        "acked_bytes" UBIGINT, "sacked_bytes" UBIGINT, "dsacks" UBIGINT, "ce" UBIGINT, "sce" UBIGINT, "esce" UBIGINT,
        "ece" UBIGINT, "cwr" UBIGINT, "esce_acked_bytes" UBIGINT, "repeated_segments" UBIGINT, "copies" UBIGINT,
        "late_segments" UBIGINT, "gaps" UBIGINT, "gap_bytes" UBIGINT, "duplicate_acks" UBIGINT, "rtt_s" STRUCT("count"
        UBIGINT, "sum" DOUBLE, "min" DOUBLE, "max" DOUBLE, "sum_of_squares" DOUBLE), "tsval_rtt_s" STRUCT("count"
        UBIGINT, "sum" DOUBLE, "min" DOUBLE, "max" DOUBLE, "sum_of_squares" DOUBLE), "ipg_s" STRUCT("count" UBIGINT,
        "sum" DOUBLE, "min" DOUBLE, "max" DOUBLE, "sum_of_squares" DOUBLE), "sce_ipg_s" STRUCT("count" UBIGINT, "sum"
        DOUBLE, "min" DOUBLE, "max" DOUBLE, "sum_of_squares" DOUBLE), "sce_run_length" STRUCT("count" UBIGINT, "sum"
        DOUBLE, "min" DOUBLE, "max" DOUBLE, "sum_of_squares" DOUBLE), "ack_elapsed_s" DOUBLE, "not_known" VARCHAR[]),
        "down" STRUCT("packets" UBIGINT, "segments" UBIGINT, "data_segments" UBIGINT, "ip_bytes" UBIGINT, "acks"
        UBIGINT, "acked_bytes" UBIGINT, "sacked_bytes" UBIGINT, "dsacks" UBIGINT, "ce" UBIGINT, "sce" UBIGINT, "esce"
        UBIGINT, "ece" UBIGINT, "cwr" UBIGINT, "esce_acked_bytes" UBIGINT, "repeated_segments" UBIGINT, "copies"
        UBIGINT, "late_segments" UBIGINT, "gaps" UBIGINT, "gap_bytes" UBIGINT, "duplicate_acks" UBIGINT, "rtt_s"
        STRUCT("count" UBIGINT, "sum" DOUBLE, "min" DOUBLE, "max" DOUBLE, "sum_of_squares" DOUBLE), "tsval_rtt_s"
        STRUCT("count" UBIGINT, "sum" DOUBLE, "min" DOUBLE, "max" DOUBLE, "sum_of_squares" DOUBLE), "ipg_s"
        STRUCT("count" UBIGINT, "sum" DOUBLE, "min" DOUBLE, "max" DOUBLE, "sum_of_squares" DOUBLE), "sce_ipg_s"
        STRUCT("count" UBIGINT, "sum" DOUBLE, "min" DOUBLE, "max" DOUBLE, "sum_of_squares" DOUBLE), "sce_run_length"
        STRUCT("count" UBIGINT, "sum" DOUBLE, "min" DOUBLE, "max" DOUBLE, "sum_of_squares" DOUBLE), "ack_elapsed_s"
        DOUBLE, "not_known" VARCHAR[]), "not_known" VARCHAR[])',
    link_group: 'STRUCT("index" UBIGINT, "version" VARCHAR, "type" VARCHAR, "peers" STRUCT("client" STRUCT("peer_id"
        VARCHAR, "host_name" VARCHAR, "system" VARCHAR), "server" STRUCT("peer_id" VARCHAR, "host_name" VARCHAR,
        "system" VARCHAR)), "ends" VARCHAR, "eid" VARCHAR, "vlan" UBIGINT, "first_time" DECIMAL(20, 9), "ended_time"
        DECIMAL(20, 9))',
    link: 'STRUCT("number" UBIGINT, "index" UBIGINT, "state" VARCHAR, "state_time" DECIMAL(20, 9), "states"
        STRUCT("state" VARCHAR, "begin_time" DECIMAL(20, 9), "end_time" DECIMAL(20, 9))[], "mtu_bytes" UBIGINT,
        "client" STRUCT("gid" VARCHAR, "mac" VARCHAR, "qpn" UBIGINT), "server" STRUCT("gid" VARCHAR, "mac" VARCHAR,
        "qpn" UBIGINT), "added_time" DECIMAL(20, 9), "deleted_time" DECIMAL(20, 9), "lost_time" DECIMAL(20, 9),
        "lost_by" VARCHAR, "delete_reason" VARCHAR, "reject_reason" VARCHAR, "moved_from" UBIGINT, "moved_to" UBIGINT,
        "flows" UBIGINT[], "not_known" VARCHAR[])',
    flow: 'STRUCT("index" UBIGINT, "peer" UBIGINT, "src" VARCHAR, "dst" VARCHAR, "src_qpn" UBIGINT, "src_qpn_from"
        VARCHAR, "dst_qpn" UBIGINT, "network" STRUCT("tunnel" VARCHAR, "tunnel_id" UBIGINT, "vlan" UBIGINT,
        "outer_vlan" UBIGINT), "udp_ports" STRUCT("port" UBIGINT, "packets" UBIGINT)[], "port_changes" UBIGINT, "kind"
        VARCHAR, "cm" STRUCT("client_state" VARCHAR, "server_state" VARCHAR, "service_id" VARCHAR, "port" UBIGINT,
        "reject_reason" UBIGINT), "first_time" DECIMAL(20, 9), "last_time" DECIMAL(20, 9), "packets" UBIGINT, "bytes"
        UBIGINT, "payload_bytes" UBIGINT, "cdc_bytes" UBIGINT, "llc_bytes" UBIGINT, "goodput_bytes" UBIGINT, "opcodes"
        MAP(VARCHAR, UBIGINT), "ecn" STRUCT("not_ect" UBIGINT, "ect0" UBIGINT, "ect1" UBIGINT, "ce" UBIGINT),
        "outer_ce" UBIGINT, "marked_again" UBIGINT, "classes" STRUCT("data" STRUCT("packets" UBIGINT, "by_dscp"
        MAP(VARCHAR, UBIGINT), "by_priority" MAP(VARCHAR, UBIGINT), "ecn" STRUCT("not_ect" UBIGINT, "ect0" UBIGINT,
        "ect1" UBIGINT, "ce" UBIGINT), "outer_ecn" STRUCT("not_ect" UBIGINT, "ect0" UBIGINT, "ect1" UBIGINT, "ce"
        UBIGINT)), "acknowledgement" STRUCT("packets" UBIGINT, "by_dscp" MAP(VARCHAR, UBIGINT), "by_priority"
        MAP(VARCHAR, UBIGINT), "ecn" STRUCT("not_ect" UBIGINT, "ect0" UBIGINT, "ect1" UBIGINT, "ce" UBIGINT),
        "outer_ecn" STRUCT("not_ect" UBIGINT, "ect0" UBIGINT, "ect1" UBIGINT, "ce" UBIGINT)), "cnp" STRUCT("packets"
        UBIGINT, "by_dscp" MAP(VARCHAR, UBIGINT), "by_priority" MAP(VARCHAR, UBIGINT), "ecn" STRUCT("not_ect" UBIGINT,
        "ect0" UBIGINT, "ect1" UBIGINT, "ce" UBIGINT), "outer_ecn" STRUCT("not_ect" UBIGINT, "ect0" UBIGINT, "ect1"
        UBIGINT, "ce" UBIGINT))), "cnp_pacing" STRUCT("flow_s" STRUCT("count" UBIGINT, "sum" DOUBLE, "min" DOUBLE,
        "max" DOUBLE, "zero_count" UBIGINT, "buckets" MAP(VARCHAR, UBIGINT)), "pair_s" STRUCT("count" UBIGINT, "sum"
        DOUBLE, "min" DOUBLE, "max" DOUBLE, "zero_count" UBIGINT, "buckets" MAP(VARCHAR, UBIGINT)), "source_s"
        STRUCT("count" UBIGINT, "sum" DOUBLE, "min" DOUBLE, "max" DOUBLE, "zero_count" UBIGINT, "buckets" MAP(VARCHAR,
        UBIGINT)), "destination_s" STRUCT("count" UBIGINT, "sum" DOUBLE, "min" DOUBLE, "max" DOUBLE, "zero_count"
        UBIGINT, "buckets" MAP(VARCHAR, UBIGINT))), "reaction" STRUCT("measured" UBIGINT, "before_bytes" UBIGINT,
        "before_s" DOUBLE, "after_bytes" UBIGINT, "after_s" DOUBLE), "withheld" STRUCT("flow_s" STRUCT("count"
        UBIGINT, "sum" DOUBLE, "min" DOUBLE, "max" DOUBLE, "zero_count" UBIGINT, "buckets" MAP(VARCHAR, UBIGINT)),
        "pair_s" STRUCT("count" UBIGINT, "sum" DOUBLE, "min" DOUBLE, "max" DOUBLE, "zero_count" UBIGINT, "buckets"
        MAP(VARCHAR, UBIGINT)), "source_s" STRUCT("count" UBIGINT, "sum" DOUBLE, "min" DOUBLE, "max" DOUBLE,
        "zero_count" UBIGINT, "buckets" MAP(VARCHAR, UBIGINT))), "cm_unanswered" UBIGINT, "cm_unanswered_port"
        UBIGINT, "nak" STRUCT("psn_sequence" UBIGINT, "invalid_request" UBIGINT, "remote_access" UBIGINT,
        "remote_operational" UBIGINT, "invalid_rd" UBIGINT), "rnr_nak" UBIGINT, "cnp" UBIGINT, "cnp_copies" UBIGINT,
        "cnp_undecided" UBIGINT, "repeated" UBIGINT, "repeated_after" STRUCT("nak" UBIGINT, "icrc" UBIGINT, "rnr"
        UBIGINT, "read" UBIGINT, "timeout" UBIGINT, "unknown" UBIGINT), "repeated_time" DECIMAL(20, 9),
        "retransmission_s" DOUBLE, "rnr_wait_s" DOUBLE, "silent_s" DOUBLE, "silences" UBIGINT, "silent_repeated"
        UBIGINT, "longest_silence" STRUCT("begin_time" DECIMAL(20, 9), "end_time" DECIMAL(20, 9),
        "first_repeated_time" DECIMAL(20, 9), "is_over" BOOLEAN, "attempts" UBIGINT, "repeated" UBIGINT,
        "other_queue_pair_time" DECIMAL(20, 9), "other_link" UBIGINT, "other_link_time" DECIMAL(20, 9), "tcp_time"
        DECIMAL(20, 9), "host_time" DECIMAL(20, 9), "early_time" DECIMAL(20, 9), "others_s" DOUBLE, "others"
        STRUCT("begin_time" DECIMAL(20, 9), "end_time" DECIMAL(20, 9))[]), "acked_longest" UBIGINT, "stuck"
        STRUCT("begin_time" DECIMAL(20, 9), "end_time" DECIMAL(20, 9), "tries" UBIGINT, "length" UBIGINT, "missing"
        UBIGINT, "is_refused" BOOLEAN, "rnr_naks" UBIGINT, "has_ended" BOOLEAN), "pause" STRUCT("port_mac" VARCHAR,
        "standstills" UBIGINT, "still_s" DOUBLE, "still_most_s" DOUBLE, "longest" STRUCT("begin_time" DECIMAL(20, 9),
        "end_time" DECIMAL(20, 9)), "intervals" STRUCT("begin_time" DECIMAL(20, 9), "end_time" DECIMAL(20, 9),
        "still_s" DOUBLE, "still_most_s" DOUBLE, "port_mac" VARCHAR, "priority" UBIGINT)[], "stopped"
        STRUCT("since_time" DECIMAL(20, 9), "silent_s" DOUBLE, "still_s" DOUBLE, "still_most_s" DOUBLE, "port_mac"
        VARCHAR, "priority" UBIGINT)), "recovery" STRUCT("gap_to_nak_s" STRUCT("count" UBIGINT, "sum" DOUBLE, "min"
        DOUBLE, "max" DOUBLE, "zero_count" UBIGINT, "buckets" MAP(VARCHAR, UBIGINT)), "nak_to_resend_s" STRUCT("count"
        UBIGINT, "sum" DOUBLE, "min" DOUBLE, "max" DOUBLE, "zero_count" UBIGINT, "buckets" MAP(VARCHAR, UBIGINT)),
        "timeout_s" STRUCT("count" UBIGINT, "sum" DOUBLE, "min" DOUBLE, "max" DOUBLE, "zero_count" UBIGINT, "buckets"
        MAP(VARCHAR, UBIGINT)), "retry_s" STRUCT("count" UBIGINT, "sum" DOUBLE, "min" DOUBLE, "max" DOUBLE,
        "zero_count" UBIGINT, "buckets" MAP(VARCHAR, UBIGINT)), "implied_naks" UBIGINT, "read_timeouts" UBIGINT,
        "ack_timeout" UBIGINT, "go_back_n" UBIGINT, "selective" UBIGINT, "refilled" UBIGINT, "needless" UBIGINT,
        "answered_twice" UBIGINT, "reordered" UBIGINT, "reorder_depth" STRUCT("count" UBIGINT, "sum" DOUBLE, "min"
        DOUBLE, "max" DOUBLE, "sum_of_squares" DOUBLE), "late_s" STRUCT("count" UBIGINT, "sum" DOUBLE, "min" DOUBLE,
        "max" DOUBLE, "zero_count" UBIGINT, "buckets" MAP(VARCHAR, UBIGINT)), "unfilled" UBIGINT), "reordered_time"
        DECIMAL(20, 9), "late_naks" UBIGINT, "copies" UBIGINT, "knows_copies" BOOLEAN, "gaps" UBIGINT, "missing"
        UBIGINT, "not_captured" UBIGINT, "not_captured_time" DECIMAL(20, 9), "icrc" STRUCT("good" UBIGINT, "bad"
        UBIGINT, "unverified" UBIGINT), "ack_time_s" STRUCT("count" UBIGINT, "sum" DOUBLE, "min" DOUBLE, "max" DOUBLE,
        "zero_count" UBIGINT, "buckets" MAP(VARCHAR, UBIGINT)), "completion_time_s" STRUCT("count" UBIGINT, "sum"
        DOUBLE, "min" DOUBLE, "max" DOUBLE, "zero_count" UBIGINT, "buckets" MAP(VARCHAR, UBIGINT)),
        "repeated_completion_time_s" STRUCT("count" UBIGINT, "sum" DOUBLE, "min" DOUBLE, "max" DOUBLE, "zero_count"
        UBIGINT, "buckets" MAP(VARCHAR, UBIGINT)), "ce_to_cnp_s" STRUCT("count" UBIGINT, "sum" DOUBLE, "min" DOUBLE,
        "max" DOUBLE, "zero_count" UBIGINT, "buckets" MAP(VARCHAR, UBIGINT)), "not_known" VARCHAR[])',
    finding: 'STRUCT("severity" VARCHAR, "kind" VARCHAR, "text" VARCHAR, "frame" UBIGINT, "time" DECIMAL(20, 9),
        "begin_frame" UBIGINT, "begin_time" DECIMAL(20, 9), "end_frame" UBIGINT, "end_time" DECIMAL(20, 9), "filter"
        VARCHAR, "count" UBIGINT)',
    breach: 'STRUCT("kind" VARCHAR, "by" VARCHAR, "count" UBIGINT, "frame" UBIGINT, "time" DECIMAL(20, 9))',
    pause: 'STRUCT("port_mac" VARCHAR, "kind" VARCHAR, "priority" UBIGINT, "frames" UBIGINT, "resumes" UBIGINT, "cut"
        UBIGINT, "quanta" UBIGINT, "paused_s" DOUBLE, "paused_most_s" DOUBLE, "first_time" DECIMAL(20, 9), "last_time"
        DECIMAL(20, 9), "has_flow" BOOLEAN, "intervals" STRUCT("begin_time" DECIMAL(20, 9), "last_time" DECIMAL(20,
        9), "resume_time" DECIMAL(20, 9), "end_most_time" DECIMAL(20, 9), "frames" UBIGINT, "paused_s" DOUBLE,
        "paused_most_s" DOUBLE, "still_flows" UBIGINT, "flow" UBIGINT, "still_most_s" DOUBLE)[])',
    way: 'STRUCT("from" VARCHAR, "to" VARCHAR, "from_interface" UBIGINT, "to_interface" UBIGINT, "src" VARCHAR, "dst"
        VARCHAR, "transport" VARCHAR, "packets" UBIGINT, "at_both" UBIGINT, "lost" UBIGINT, "lost_inferred" UBIGINT,
        "lost_after" UBIGINT, "unanswered" UBIGINT, "not_captured_from" UBIGINT, "not_captured_to" UBIGINT,
        "reordered" UBIGINT, "marked_ce" UBIGINT, "dscp_changed" UBIGINT, "delayed" UBIGINT, "fragmented" UBIGINT,
        "options_changed" UBIGINT, "damaged" UBIGINT, "undecided" UBIGINT, "lost_time" DECIMAL(20, 9),
        "lost_after_time" DECIMAL(20, 9), "not_captured_time" DECIMAL(20, 9), "reordered_time" DECIMAL(20, 9),
        "marked_time" DECIMAL(20, 9), "options_time" DECIMAL(20, 9), "damaged_time" DECIMAL(20, 9), "delay"
        STRUCT("min_s" DOUBLE, "median_s" DOUBLE, "p99_s" DOUBLE, "error_s" DOUBLE), "clock" STRUCT("offset_s" DOUBLE,
        "offset_least_s" DOUBLE, "offset_most_s" DOUBLE, "drift_least_ppm" DOUBLE, "drift_most_ppm" DOUBLE),
        "clocks_agree" BOOLEAN, "same_capture" BOOLEAN)',
    capture: 'STRUCT("frames" UBIGINT, "bytes" UBIGINT, "first_time" DECIMAL(20, 9), "last_time" DECIMAL(20, 9),
        "cut_frames" UBIGINT, "roce_frames" UBIGINT, "point_copies" UBIGINT, "flows_not_counted" UBIGINT,
        "disorder_time" DECIMAL(20, 9), "disorder_most_s" DOUBLE, "passes" UBIGINT, "filter" VARCHAR, "wireshark"
        VARCHAR, "plugin" VARCHAR, "smcr_roce" BOOLEAN, "check_icrc" BOOLEAN, "link_speed" UBIGINT)',
    ip: 'STRUCT("packets" UBIGINT, "bytes" UBIGINT)',
    other_roce: 'STRUCT("packets" UBIGINT, "unread" UBIGINT, "queue_pairs" UBIGINT, "repeated" UBIGINT, "naks"
        UBIGINT, "rnr_naks" UBIGINT, "ce" UBIGINT, "cnp" UBIGINT, "first_time" DECIMAL(20, 9))',
    late_packets: 'UBIGINT',
    probe: 'STRUCT("event" VARCHAR, "file" VARCHAR, "bytes" UBIGINT, "lines" UBIGINT, "received" UBIGINT, "dropped"
        UBIGINT, "waiting" UBIGINT, "text" VARCHAR)'
    });
-- ---- end of the columns ----

-- Histograms add up. buckets_of: how many times of a distribution are in which bucket. quantile_of: the time that a share of
-- the times does not exceed, 0.99 for p99; exact if it is the smallest or the largest, else within 4.4 %. All connections:
--
--     SELECT b.key AS bucket, sum(b.value) FROM (SELECT unnest(map_entries(buckets_of(connection.to_server.answer_time_s)))
--         AS b FROM lines) GROUP BY bucket;
CREATE OR REPLACE MACRO buckets_of(d) AS CASE WHEN d.count = 1 AND d.sum > 0
    THEN MAP {CAST(CAST(ceil(log2(d.sum) * 8 - 1e-9) AS INTEGER) - 1 AS VARCHAR): CAST(1 AS UBIGINT)} ELSE d.buckets END;
CREATE OR REPLACE MACRO bucket_at(d, rank) AS list_min([CAST(one.key AS INTEGER) FOR one IN map_entries(d.buckets)
    IF list_sum([other.value FOR other IN map_entries(d.buckets) IF CAST(other.key AS INTEGER) <= CAST(one.key AS INTEGER)])
        + coalesce(d.zero_count, 0) >= rank]);
CREATE OR REPLACE MACRO quantile_of(d, share) AS CASE WHEN d.count = 1 THEN d.sum WHEN ceil(d.count * share) <= 1 THEN d.min
    WHEN ceil(d.count * share) >= d.count THEN d.max WHEN ceil(d.count * share) <= coalesce(d.zero_count, 0) THEN 0
    ELSE least(greatest(2.0 ** (bucket_at(d, ceil(d.count * share)) / 8.0) * 1.0432946174993891, d.min), d.max) END;

-- The two directions of each connection: who writes, the writer's keys, the figures of the direction and of the reverse one.
CREATE OR REPLACE VIEW directions AS
SELECT uid, host, is_full, uid_partial, waits, way.writer AS writer, way.keys AS keys, way.direction AS direction,
    way.reverse AS reverse
FROM (SELECT uid, host, is_full, uid_partial, connection.longest_waits AS waits, unnest([
        {'writer': 'client', 'keys': client_keys, 'direction': connection.to_server, 'reverse': connection.to_client},
        {'writer': 'server', 'keys': server_keys, 'direction': connection.to_client, 'reverse': connection.to_server}
    ]) AS way
    FROM lines WHERE line = 'connection');

-- 1. Which pairs of hosts fall back, and why?
CREATE OR REPLACE VIEW fallbacks AS
SELECT connection.client.addr AS client, connection.server.addr AS server, connection.fallback.reason AS reason,
    count(*) AS connections
FROM lines WHERE line = 'connection' AND connection.fallback IS NOT NULL
GROUP BY ALL ORDER BY connections DESC, client, server, reason;

-- 2. Which connections waited longest, and for whom? The longest wait for an answer stands in `longest_waits` only if it
-- is not the longest of `answer_time_s`, or not known.
CREATE OR REPLACE MACRO has_answer(waits, waiting) AS
    list_contains([wait.writer FOR wait IN coalesce(waits, []) IF wait.kind = 'answer'], waiting);
CREATE OR REPLACE VIEW waits AS
SELECT uid, host, writer, kind, lasted_s,
    CASE kind WHEN 'reader' THEN 'the program of the other end' WHEN 'answer' THEN 'the program of the other end'
        WHEN 'space' THEN 'space in the receive buffer' ELSE 'the path' END AS waited_for
FROM (SELECT uid, host, wait.writer AS writer, wait.kind AS kind, wait.lasted_s AS lasted_s
    FROM (SELECT uid, host, unnest(connection.longest_waits) AS wait FROM lines WHERE line = 'connection')
    UNION ALL
    SELECT uid, host, writer, 'answer', coalesce(direction.answer_time_s.max, direction.answer_time_s.sum)
    FROM directions WHERE NOT is_full AND NOT has_answer(waits, writer))
WHERE lasted_s > 0 ORDER BY lasted_s DESC;

-- 3. Which link groups lost a link?
CREATE OR REPLACE VIEW lost_links AS
SELECT group_uid, host, uid AS link_uid, link.number, link.state, link.lost_by, link.lost_time, link.delete_reason,
    link.moved_from
FROM lines WHERE line = 'link' AND (link.lost_time IS NOT NULL OR link.state = 'lost') ORDER BY link.lost_time;

-- 4. Which flows see congestion marks, pauses, loss?
CREATE OR REPLACE VIEW flows AS
SELECT host, flow.src, flow.dst, flow.dst_qpn, sum(flow.packets) AS packets, sum(flow.ecn.ce) AS ce,
    sum(flow.cnp) AS cnp, sum(flow.repeated) AS retransmitted, sum(flow.retransmission_s) AS retransmission_s,
    sum(flow.pause.still_s) AS paused_s
FROM lines WHERE line = 'flow' GROUP BY ALL ORDER BY retransmitted DESC;

-- 5. How long did it take until connections could carry data, by hour?
CREATE OR REPLACE VIEW setup_by_hour AS
SELECT date_trunc('hour', make_timestamp(CAST(connection.first_time * 1000000 AS BIGINT))) AS hour,
    count(connection.setup_s) AS connections, quantile_disc(connection.setup_s, 0.5) AS p50,
    quantile_disc(connection.setup_s, 0.99) AS p99, max(connection.setup_s) AS longest
FROM lines WHERE line = 'connection' GROUP BY ALL ORDER BY hour;

-- 6. How much did each pair of hosts transfer, and how much of it not over RDMA?
CREATE OR REPLACE VIEW transferred AS
SELECT connection.client.addr AS client, connection.server.addr AS server, connection.outcome AS outcome,
    count(*) AS connections, sum(connection.to_server.bytes) AS to_server,
    sum(connection.to_client.bytes) AS to_client,
    bool_or(connection.to_server.lacks_bytes OR connection.to_client.lacks_bytes) AS is_lower_bound
FROM lines WHERE line = 'connection' GROUP BY ALL ORDER BY to_server + to_client DESC;

-- 7. How did connections end, by port of the server?
CREATE OR REPLACE VIEW closes AS
SELECT connection.server.port AS port, connection.close AS close, connection."end".aborted_by AS aborted_by,
    count(*) AS connections
FROM lines WHERE line = 'connection' GROUP BY ALL ORDER BY port, connections DESC;

-- 8. Where did the time of the writers go, of all connections? Upper and lower bounds.
CREATE OR REPLACE VIEW time_of_writers AS
SELECT host, sum(t.buffer_full_s) AS buffer_full_s, sum(t.buffer_full_most_s) AS buffer_full_most_s,
    sum(t.reader_s) AS reader_s, sum(t.answer_s) AS answer_s, sum(t.answer_most_s) AS answer_most_s,
    sum(t.retransmission_s) AS retransmission_s, sum(t.transfer_s) AS transfer_s, sum(t.unknown_s) AS unknown_s
FROM (SELECT host, direction."time" AS t FROM directions)
GROUP BY ALL ORDER BY buffer_full_s + retransmission_s DESC;

-- 9. Which lines are parts of one connection, in the files of a ring? By the names that they have in common. What a part
-- calls its client may be the server: the key says which end it is.
CREATE OR REPLACE VIEW keys AS
SELECT uid, host, uid_partial, unnest(keys) AS key, writer = 'client' AS is_client, direction.bytes AS sent,
    reverse.bytes AS received
FROM directions;
CREATE OR REPLACE VIEW parts AS
SELECT DISTINCT whole.uid, whole.host, part.uid AS part_uid, if(whole.is_client, part.sent, part.received) AS to_server,
    if(whole.is_client, part.received, part.sent) AS to_client
FROM keys whole JOIN keys part ON whole.key = part.key AND whole.host IS NOT DISTINCT FROM part.host
WHERE NOT whole.uid_partial AND part.uid_partial
ORDER BY whole.uid;

-- 10. What should somebody look at first?
CREATE OR REPLACE VIEW findings AS
SELECT * FROM (
    SELECT finding.severity AS severity, finding.kind AS kind, host, sum(finding.count) AS things,
        any_value(finding.text) AS text
    FROM lines WHERE line = 'finding' GROUP BY 1, 2, 3)
ORDER BY list_position(['error', 'warn', 'note', 'info'], severity), things DESC;
