-- Ten questions of a site, for DuckDB, about lines of tshark -z smcr,lines (docs/lines.md). The files are those that
-- the variable names; each question is a view of its own.
--
--     SET VARIABLE files = '/var/log/smcr/*.ndjson';
--     .read docs/examples/lines.duckdb.sql
--     FROM fallbacks;
--
-- What a line does not have is NULL. Whoever needs the lines often makes a table of the view `lines`, or Parquet.
--
-- SPDX-License-Identifier: GPL-2.0-or-later

-- ---- the columns: tests/figures-doc writes them ----
CREATE OR REPLACE VIEW lines AS SELECT * FROM read_json(getvariable('files'),
    format = 'newline_delimited', columns = {
    schema: 'VARCHAR',
    line: 'VARCHAR',
    time: 'DECIMAL(20, 9)',
    host: 'VARCHAR',
    point: 'VARCHAR',
    interface: 'VARCHAR',
    uid: 'VARCHAR',
    uid_partial: 'BOOLEAN',
    keys: 'VARCHAR[]',
    community_id: 'VARCHAR',
    ended: 'VARCHAR',
    group_uid: 'VARCHAR',
    continues: 'BOOLEAN',
    from_time: 'DECIMAL(20, 9)',
    to_time: 'DECIMAL(20, 9)',
    connection: 'STRUCT("stream" UBIGINT, "tcp_stream" UBIGINT, "roce_stream" UBIGINT, "tcp_isn" STRUCT("client"
        UBIGINT, "server" UBIGINT), "tokens" STRUCT("client" VARCHAR, "server" VARCHAR), "client" STRUCT("addr"
        VARCHAR, "port" UBIGINT), "server" STRUCT("addr" VARCHAR, "port" UBIGINT), "version" VARCHAR, "outcome"
        VARCHAR, "fallback" STRUCT("reason" VARCHAR, "code" UBIGINT, "by" VARCHAR, "frame" UBIGINT, "time" DECIMAL(20,
        9), "offered_eids" VARCHAR, "syn_sign" VARCHAR, "crossed_frame" UBIGINT, "crossed_time" DECIMAL(20, 9)),
        "handshake_end" STRUCT("kind" VARCHAR, "by" VARCHAR, "step" VARCHAR, "acknowledged" BOOLEAN, "sent" UBIGINT,
        "from_frame" UBIGINT, "from_time" DECIMAL(20, 9), "frame" UBIGINT, "time" DECIMAL(20, 9), "answer" VARCHAR),
        "link_group" UBIGINT, "links" STRUCT("number" UBIGINT, "from_frame" UBIGINT, "from_time" DECIMAL(20, 9))[],
        "setup_s" DOUBLE, "setup" STRUCT("tcp_s" DOUBLE, "accept_s" DOUBLE, "confirm_s" DOUBLE, "llc_s" DOUBLE),
        "setup_longest" VARCHAR, "buffer_bytes" STRUCT("client" UBIGINT, "server" UBIGINT), "first_frame" UBIGINT,
        "first_time" DECIMAL(20, 9), "last_frame" UBIGINT, "last_time" DECIMAL(20, 9), "began_before" BOOLEAN, "ends"
        VARCHAR, "named_by" VARCHAR, "named_frame" UBIGINT, "named_time" DECIMAL(20, 9), "goes_on" BOOLEAN, "close"
        VARCHAR, "reset_by" VARCHAR, "longest_waits" STRUCT("writer" VARCHAR, "kind" VARCHAR, "lasted_s" DOUBLE,
        "begin_frame" UBIGINT, "begin_time" DECIMAL(20, 9), "end_frame" UBIGINT, "end_time" DECIMAL(20, 9))[], "end"
        STRUCT("by" VARCHAR, "frame" UBIGINT, "time" DECIMAL(20, 9), "is_reported" BOOLEAN, "idle_frame" UBIGINT,
        "idle_time" DECIMAL(20, 9), "other_frame" UBIGINT, "other_time" DECIMAL(20, 9), "written_after" BOOLEAN,
        "aborted_by" VARCHAR, "aborted_frame" UBIGINT, "aborted_time" DECIMAL(20, 9)), "client_to_server"
        STRUCT("bytes" UBIGINT, "lacks_bytes" BOOLEAN, "writes" UBIGINT, "cdc" UBIGINT, "repeated_packets" UBIGINT,
        "repeated_bytes" UBIGINT, "blocked_count" UBIGINT, "window_full_count" UBIGINT, "time" STRUCT("connecting_s"
        DOUBLE, "nothing_to_write_s" DOUBLE, "answer_s" DOUBLE, "buffer_full_s" DOUBLE, "retransmission_s" DOUBLE,
        "transfer_s" DOUBLE, "unknown_s" DOUBLE, "reader_s" DOUBLE, "nothing_to_write_most_s" DOUBLE, "answer_most_s"
        DOUBLE, "buffer_full_most_s" DOUBLE, "retransmission_most_s" DOUBLE, "transfer_most_s" DOUBLE),
        "reader_time_s" STRUCT("count" UBIGINT, "sum" DOUBLE, "sum_of_squares" DOUBLE, "min" DOUBLE, "max" DOUBLE,
        histogram STRUCT(median DOUBLE, p95 DOUBLE, p99 DOUBLE, p999 DOUBLE, scale BIGINT, zero_count UBIGINT,
        positive STRUCT("offset" BIGINT, bucket_counts UBIGINT[]))), "drain_time_s" STRUCT("count" UBIGINT, "sum"
        DOUBLE, "sum_of_squares" DOUBLE, "min" DOUBLE, "max" DOUBLE, histogram STRUCT(median DOUBLE, p95 DOUBLE, p99
        DOUBLE, p999 DOUBLE, scale BIGINT, zero_count UBIGINT, positive STRUCT("offset" BIGINT, bucket_counts
        UBIGINT[]))), "ack_time_s" STRUCT("count" UBIGINT, "sum" DOUBLE, "sum_of_squares" DOUBLE, "min" DOUBLE, "max"
        DOUBLE, histogram STRUCT(median DOUBLE, p95 DOUBLE, p99 DOUBLE, p999 DOUBLE, scale BIGINT, zero_count UBIGINT,
        positive STRUCT("offset" BIGINT, bucket_counts UBIGINT[]))), "read_reported_s" STRUCT("count" UBIGINT, "sum"
        DOUBLE, "sum_of_squares" DOUBLE, "min" DOUBLE, "max" DOUBLE, histogram STRUCT(median DOUBLE, p95 DOUBLE, p99
        DOUBLE, p999 DOUBLE, scale BIGINT, zero_count UBIGINT, positive STRUCT("offset" BIGINT, bucket_counts
        UBIGINT[]))), "answer_time_s" STRUCT("count" UBIGINT, "sum" DOUBLE, "sum_of_squares" DOUBLE, "min" DOUBLE,
        "max" DOUBLE, histogram STRUCT(median DOUBLE, p95 DOUBLE, p99 DOUBLE, p999 DOUBLE, scale BIGINT, zero_count
        UBIGINT, positive STRUCT("offset" BIGINT, bucket_counts UBIGINT[]))), "slow_answers" UBIGINT, "slow_answers_s"
        DOUBLE, "unasked_writes" UBIGINT, "urgent_count" UBIGINT, "unreported_bytes" UBIGINT, "unannounced_bytes"
        UBIGINT), "server_to_client" STRUCT("bytes" UBIGINT, "lacks_bytes" BOOLEAN, "writes" UBIGINT, "cdc" UBIGINT,
        "repeated_packets" UBIGINT, "repeated_bytes" UBIGINT, "blocked_count" UBIGINT, "window_full_count" UBIGINT,
        "time" STRUCT("connecting_s" DOUBLE, "nothing_to_write_s" DOUBLE, "answer_s" DOUBLE, "buffer_full_s" DOUBLE,
        "retransmission_s" DOUBLE, "transfer_s" DOUBLE, "unknown_s" DOUBLE, "reader_s" DOUBLE,
        "nothing_to_write_most_s" DOUBLE, "answer_most_s" DOUBLE, "buffer_full_most_s" DOUBLE, "retransmission_most_s"
        DOUBLE, "transfer_most_s" DOUBLE), "reader_time_s" STRUCT("count" UBIGINT, "sum" DOUBLE, "sum_of_squares"
        DOUBLE, "min" DOUBLE, "max" DOUBLE, histogram STRUCT(median DOUBLE, p95 DOUBLE, p99 DOUBLE, p999 DOUBLE, scale
        BIGINT, zero_count UBIGINT, positive STRUCT("offset" BIGINT, bucket_counts UBIGINT[]))), "drain_time_s"
        STRUCT("count" UBIGINT, "sum" DOUBLE, "sum_of_squares" DOUBLE, "min" DOUBLE, "max" DOUBLE, histogram
        STRUCT(median DOUBLE, p95 DOUBLE, p99 DOUBLE, p999 DOUBLE, scale BIGINT, zero_count UBIGINT, positive
        STRUCT("offset" BIGINT, bucket_counts UBIGINT[]))), "ack_time_s" STRUCT("count" UBIGINT, "sum" DOUBLE,
        "sum_of_squares" DOUBLE, "min" DOUBLE, "max" DOUBLE, histogram STRUCT(median DOUBLE, p95 DOUBLE, p99 DOUBLE,
        p999 DOUBLE, scale BIGINT, zero_count UBIGINT, positive STRUCT("offset" BIGINT, bucket_counts UBIGINT[]))),
        "read_reported_s" STRUCT("count" UBIGINT, "sum" DOUBLE, "sum_of_squares" DOUBLE, "min" DOUBLE, "max" DOUBLE,
        histogram STRUCT(median DOUBLE, p95 DOUBLE, p99 DOUBLE, p999 DOUBLE, scale BIGINT, zero_count UBIGINT,
        positive STRUCT("offset" BIGINT, bucket_counts UBIGINT[]))), "answer_time_s" STRUCT("count" UBIGINT, "sum"
        DOUBLE, "sum_of_squares" DOUBLE, "min" DOUBLE, "max" DOUBLE, histogram STRUCT(median DOUBLE, p95 DOUBLE, p99
        DOUBLE, p999 DOUBLE, scale BIGINT, zero_count UBIGINT, positive STRUCT("offset" BIGINT, bucket_counts
        UBIGINT[]))), "slow_answers" UBIGINT, "slow_answers_s" DOUBLE, "unasked_writes" UBIGINT, "urgent_count"
        UBIGINT, "unreported_bytes" UBIGINT, "unannounced_bytes" UBIGINT))',
    tcp: 'STRUCT("tcp_stream" UBIGINT, "tcp_isn" STRUCT("client" UBIGINT, "server" UBIGINT), "src" VARCHAR, "dst"
        VARCHAR, "src_port" UBIGINT, "dst_port" UBIGINT, "first_time" DECIMAL(20, 9), "last_frame" UBIGINT,
        "last_time" DECIMAL(20, 9), "ecn_initiated" BOOLEAN, "ecn_accepted" BOOLEAN, "up" STRUCT("packets" UBIGINT,
        "segments" UBIGINT, "data_segments" UBIGINT, "ip_bytes" UBIGINT, "acks" UBIGINT, "acked_bytes" UBIGINT,
        "sacked_bytes" UBIGINT, "ce" UBIGINT, "sce" UBIGINT, "esce" UBIGINT, "ece" UBIGINT, "cwr" UBIGINT,
        "esce_acked_bytes" UBIGINT, "repeated_segments" UBIGINT, "copies" UBIGINT, "late_segments" UBIGINT, "gaps"
        UBIGINT, "gap_bytes" UBIGINT, "duplicate_acks" UBIGINT, "rtt_s" STRUCT("count" UBIGINT, "sum" DOUBLE,
        "sum_of_squares" DOUBLE, "min" DOUBLE, "max" DOUBLE), "tsval_rtt_s" STRUCT("count" UBIGINT, "sum" DOUBLE,
        "sum_of_squares" DOUBLE, "min" DOUBLE, "max" DOUBLE), "ipg_s" STRUCT("count" UBIGINT, "sum" DOUBLE,
        "sum_of_squares" DOUBLE, "min" DOUBLE, "max" DOUBLE), "sce_ipg_s" STRUCT("count" UBIGINT, "sum" DOUBLE,
        "sum_of_squares" DOUBLE, "min" DOUBLE, "max" DOUBLE), "sce_run_length" STRUCT("count" UBIGINT, "sum" DOUBLE,
        "sum_of_squares" DOUBLE, "min" DOUBLE, "max" DOUBLE), "ack_elapsed_s" DOUBLE, "derived" STRUCT("sce_percent"
        DOUBLE, "ce_percent" DOUBLE, "esce_acked_bytes_percent" DOUBLE, "goodput_bit_s" DOUBLE)), "down"
        STRUCT("packets" UBIGINT, "segments" UBIGINT, "data_segments" UBIGINT, "ip_bytes" UBIGINT, "acks" UBIGINT,
        "acked_bytes" UBIGINT, "sacked_bytes" UBIGINT, "ce" UBIGINT, "sce" UBIGINT, "esce" UBIGINT, "ece" UBIGINT,
        "cwr" UBIGINT, "esce_acked_bytes" UBIGINT, "repeated_segments" UBIGINT, "copies" UBIGINT, "late_segments"
        UBIGINT, "gaps" UBIGINT, "gap_bytes" UBIGINT, "duplicate_acks" UBIGINT, "rtt_s" STRUCT("count" UBIGINT, "sum"
        DOUBLE, "sum_of_squares" DOUBLE, "min" DOUBLE, "max" DOUBLE), "tsval_rtt_s" STRUCT("count" UBIGINT, "sum"
        DOUBLE, "sum_of_squares" DOUBLE, "min" DOUBLE, "max" DOUBLE), "ipg_s" STRUCT("count" UBIGINT, "sum" DOUBLE,
        "sum_of_squares" DOUBLE, "min" DOUBLE, "max" DOUBLE), "sce_ipg_s" STRUCT("count" UBIGINT, "sum" DOUBLE,
        "sum_of_squares" DOUBLE, "min" DOUBLE, "max" DOUBLE), "sce_run_length" STRUCT("count" UBIGINT, "sum" DOUBLE,
        "sum_of_squares" DOUBLE, "min" DOUBLE, "max" DOUBLE), "ack_elapsed_s" DOUBLE, "derived" STRUCT("sce_percent"
        DOUBLE, "ce_percent" DOUBLE, "esce_acked_bytes_percent" DOUBLE, "goodput_bit_s" DOUBLE)))',
    link_group: 'STRUCT("index" UBIGINT, "version" VARCHAR, "type" VARCHAR, "peers" STRUCT("client" STRUCT("peer_id"
        VARCHAR, "host_name" VARCHAR, "system" VARCHAR), "server" STRUCT("peer_id" VARCHAR, "host_name" VARCHAR,
        "system" VARCHAR)), "ends" VARCHAR, "eid" VARCHAR, "vlan" UBIGINT, "first_frame" UBIGINT, "first_time"
        DECIMAL(20, 9), "ended_frame" UBIGINT, "ended_time" DECIMAL(20, 9), "links" STRUCT("number" UBIGINT, "index"
        UBIGINT, "state" VARCHAR, "state_frame" UBIGINT, "state_time" DECIMAL(20, 9), "states" STRUCT("state" VARCHAR,
        "begin_frame" UBIGINT, "begin_time" DECIMAL(20, 9), "end_frame" UBIGINT, "end_time" DECIMAL(20, 9))[],
        "mtu_bytes" UBIGINT, "client" STRUCT("gid" VARCHAR, "mac" VARCHAR, "qpn" UBIGINT), "server" STRUCT("gid"
        VARCHAR, "mac" VARCHAR, "qpn" UBIGINT), "added_frame" UBIGINT, "added_time" DECIMAL(20, 9), "deleted_frame"
        UBIGINT, "deleted_time" DECIMAL(20, 9), "lost_frame" UBIGINT, "lost_time" DECIMAL(20, 9), "lost_by" VARCHAR,
        "delete_reason" VARCHAR, "moved_from" UBIGINT, "moved_to" UBIGINT, "flows" UBIGINT[])[], "rmbs" STRUCT("owner"
        VARCHAR, "size_bytes" UBIGINT, "rkeys" STRUCT("link" UBIGINT, "rkey" VARCHAR)[], "va" VARCHAR,
        "confirmed_frame" UBIGINT, "confirmed_time" DECIMAL(20, 9), "deleted_frame" UBIGINT, "deleted_time"
        DECIMAL(20, 9), "streams" UBIGINT[])[])',
    link: 'STRUCT("number" UBIGINT, "index" UBIGINT, "state" VARCHAR, "state_frame" UBIGINT, "state_time" DECIMAL(20,
        9), "states" STRUCT("state" VARCHAR, "begin_frame" UBIGINT, "begin_time" DECIMAL(20, 9), "end_frame" UBIGINT,
        "end_time" DECIMAL(20, 9))[], "mtu_bytes" UBIGINT, "client" STRUCT("gid" VARCHAR, "mac" VARCHAR, "qpn"
        UBIGINT), "server" STRUCT("gid" VARCHAR, "mac" VARCHAR, "qpn" UBIGINT), "added_frame" UBIGINT, "added_time"
        DECIMAL(20, 9), "deleted_frame" UBIGINT, "deleted_time" DECIMAL(20, 9), "lost_frame" UBIGINT, "lost_time"
        DECIMAL(20, 9), "lost_by" VARCHAR, "delete_reason" VARCHAR, "moved_from" UBIGINT, "moved_to" UBIGINT, "flows"
        UBIGINT[])',
    flow: 'STRUCT("index" UBIGINT, "peer" UBIGINT, "src" VARCHAR, "dst" VARCHAR, "src_qpn" UBIGINT, "src_qpn_from"
        VARCHAR, "dst_qpn" UBIGINT, "network" STRUCT("tunnel" VARCHAR, "tunnel_id" UBIGINT, "vlan" UBIGINT,
        "outer_vlan" UBIGINT), "udp_ports" STRUCT("port" UBIGINT, "packets" UBIGINT)[], "kind" VARCHAR, "cm"
        STRUCT("client_state" VARCHAR, "server_state" VARCHAR, "service_id" VARCHAR, "port" UBIGINT, "reject_reason"
        UBIGINT), "first_frame" UBIGINT, "first_time" DECIMAL(20, 9), "last_frame" UBIGINT, "last_time" DECIMAL(20,
        9), "packets" UBIGINT, "bytes" UBIGINT, "payload_bytes" UBIGINT, "cdc_bytes" UBIGINT, "llc_bytes" UBIGINT,
        "goodput_bytes" UBIGINT, "opcodes" MAP(VARCHAR, UBIGINT), "ecn" STRUCT("not_ect" UBIGINT, "ect0" UBIGINT,
        "ect1" UBIGINT, "ce" UBIGINT), "outer_ce" UBIGINT, "classes" STRUCT("data" STRUCT("packets" UBIGINT, "by_dscp"
        MAP(VARCHAR, UBIGINT), "by_priority" MAP(VARCHAR, UBIGINT), "ecn" STRUCT("not_ect" UBIGINT, "ect0" UBIGINT,
        "ect1" UBIGINT, "ce" UBIGINT), "outer_ecn" STRUCT("not_ect" UBIGINT, "ect0" UBIGINT, "ect1" UBIGINT, "ce"
        UBIGINT)), "acknowledgement" STRUCT("packets" UBIGINT, "by_dscp" MAP(VARCHAR, UBIGINT), "by_priority"
        MAP(VARCHAR, UBIGINT), "ecn" STRUCT("not_ect" UBIGINT, "ect0" UBIGINT, "ect1" UBIGINT, "ce" UBIGINT),
        "outer_ecn" STRUCT("not_ect" UBIGINT, "ect0" UBIGINT, "ect1" UBIGINT, "ce" UBIGINT)), "cnp" STRUCT("packets"
        UBIGINT, "by_dscp" MAP(VARCHAR, UBIGINT), "by_priority" MAP(VARCHAR, UBIGINT), "ecn" STRUCT("not_ect" UBIGINT,
        "ect0" UBIGINT, "ect1" UBIGINT, "ce" UBIGINT), "outer_ecn" STRUCT("not_ect" UBIGINT, "ect0" UBIGINT, "ect1"
        UBIGINT, "ce" UBIGINT))), "cnp_pacing" STRUCT("flow_s" STRUCT("count" UBIGINT, "sum" DOUBLE, "sum_of_squares"
        DOUBLE, "min" DOUBLE, "max" DOUBLE, histogram STRUCT(median DOUBLE, p95 DOUBLE, p99 DOUBLE, p999 DOUBLE, scale
        BIGINT, zero_count UBIGINT, positive STRUCT("offset" BIGINT, bucket_counts UBIGINT[]))), "pair_s"
        STRUCT("count" UBIGINT, "sum" DOUBLE, "sum_of_squares" DOUBLE, "min" DOUBLE, "max" DOUBLE, histogram
        STRUCT(median DOUBLE, p95 DOUBLE, p99 DOUBLE, p999 DOUBLE, scale BIGINT, zero_count UBIGINT, positive
        STRUCT("offset" BIGINT, bucket_counts UBIGINT[]))), "source_s" STRUCT("count" UBIGINT, "sum" DOUBLE,
        "sum_of_squares" DOUBLE, "min" DOUBLE, "max" DOUBLE, histogram STRUCT(median DOUBLE, p95 DOUBLE, p99 DOUBLE,
        p999 DOUBLE, scale BIGINT, zero_count UBIGINT, positive STRUCT("offset" BIGINT, bucket_counts UBIGINT[]))),
        "destination_s" STRUCT("count" UBIGINT, "sum" DOUBLE, "sum_of_squares" DOUBLE, "min" DOUBLE, "max" DOUBLE,
        histogram STRUCT(median DOUBLE, p95 DOUBLE, p99 DOUBLE, p999 DOUBLE, scale BIGINT, zero_count UBIGINT,
        positive STRUCT("offset" BIGINT, bucket_counts UBIGINT[])))), "reaction" STRUCT("measured" UBIGINT,
        "before_bytes" UBIGINT, "before_s" DOUBLE, "after_bytes" UBIGINT, "after_s" DOUBLE), "nak"
        STRUCT("psn_sequence" UBIGINT, "invalid_request" UBIGINT, "remote_access" UBIGINT, "remote_operational"
        UBIGINT, "invalid_rd" UBIGINT), "rnr_nak" UBIGINT, "cnp" UBIGINT, "repeated" UBIGINT, "repeated_after"
        STRUCT("nak" UBIGINT, "icrc" UBIGINT, "rnr" UBIGINT, "read" UBIGINT, "timeout" UBIGINT, "unknown" UBIGINT),
        "retransmission_s" DOUBLE, "rnr_wait_s" DOUBLE, "silent_s" DOUBLE, "silences" UBIGINT, "silent_repeated"
        UBIGINT, "longest_silence" STRUCT("begin_frame" UBIGINT, "begin_time" DECIMAL(20, 9), "end_frame" UBIGINT,
        "end_time" DECIMAL(20, 9), "first_repeated_frame" UBIGINT, "first_repeated_time" DECIMAL(20, 9), "is_over"
        BOOLEAN, "attempts" UBIGINT, "repeated" UBIGINT, "other_queue_pair_frame" UBIGINT, "other_queue_pair_time"
        DECIMAL(20, 9), "other_link" UBIGINT, "other_link_frame" UBIGINT, "other_link_time" DECIMAL(20, 9),
        "tcp_frame" UBIGINT, "tcp_time" DECIMAL(20, 9)), "acked_longest" UBIGINT, "stuck" STRUCT("begin_frame"
        UBIGINT, "begin_time" DECIMAL(20, 9), "end_frame" UBIGINT, "end_time" DECIMAL(20, 9), "tries" UBIGINT,
        "length" UBIGINT, "missing" UBIGINT, "is_refused" BOOLEAN, "rnr_naks" UBIGINT, "has_ended" BOOLEAN), "pause"
        STRUCT("port_mac" VARCHAR, "standstills" UBIGINT, "still_s" DOUBLE, "longest" STRUCT("begin_frame" UBIGINT,
        "begin_time" DECIMAL(20, 9), "end_frame" UBIGINT, "end_time" DECIMAL(20, 9))), "recovery"
        STRUCT("gap_to_nak_s" STRUCT("count" UBIGINT, "sum" DOUBLE, "sum_of_squares" DOUBLE, "min" DOUBLE, "max"
        DOUBLE, histogram STRUCT(median DOUBLE, p95 DOUBLE, p99 DOUBLE, p999 DOUBLE, scale BIGINT, zero_count UBIGINT,
        positive STRUCT("offset" BIGINT, bucket_counts UBIGINT[]))), "nak_to_resend_s" STRUCT("count" UBIGINT, "sum"
        DOUBLE, "sum_of_squares" DOUBLE, "min" DOUBLE, "max" DOUBLE, histogram STRUCT(median DOUBLE, p95 DOUBLE, p99
        DOUBLE, p999 DOUBLE, scale BIGINT, zero_count UBIGINT, positive STRUCT("offset" BIGINT, bucket_counts
        UBIGINT[]))), "timeout_s" STRUCT("count" UBIGINT, "sum" DOUBLE, "sum_of_squares" DOUBLE, "min" DOUBLE, "max"
        DOUBLE, histogram STRUCT(median DOUBLE, p95 DOUBLE, p99 DOUBLE, p999 DOUBLE, scale BIGINT, zero_count UBIGINT,
        positive STRUCT("offset" BIGINT, bucket_counts UBIGINT[]))), "retry_s" STRUCT("count" UBIGINT, "sum" DOUBLE,
        "sum_of_squares" DOUBLE, "min" DOUBLE, "max" DOUBLE, histogram STRUCT(median DOUBLE, p95 DOUBLE, p99 DOUBLE,
        p999 DOUBLE, scale BIGINT, zero_count UBIGINT, positive STRUCT("offset" BIGINT, bucket_counts UBIGINT[]))),
        "ack_timeout" UBIGINT, "go_back_n" UBIGINT, "selective" UBIGINT, "refilled" UBIGINT, "needless" UBIGINT,
        "reordered" UBIGINT, "reorder_depth" STRUCT("count" UBIGINT, "sum" DOUBLE, "sum_of_squares" DOUBLE, "min"
        DOUBLE, "max" DOUBLE), "late_s" STRUCT("count" UBIGINT, "sum" DOUBLE, "sum_of_squares" DOUBLE, "min" DOUBLE,
        "max" DOUBLE, histogram STRUCT(median DOUBLE, p95 DOUBLE, p99 DOUBLE, p999 DOUBLE, scale BIGINT, zero_count
        UBIGINT, positive STRUCT("offset" BIGINT, bucket_counts UBIGINT[]))), "unfilled" UBIGINT), "late_naks"
        UBIGINT, "copies" UBIGINT, "knows_copies" BOOLEAN, "gaps" UBIGINT, "missing" UBIGINT, "not_captured" UBIGINT,
        "not_captured_frame" UBIGINT, "not_captured_time" DECIMAL(20, 9), "icrc" STRUCT("good" UBIGINT, "bad" UBIGINT,
        "unverified" UBIGINT), "ack_time_s" STRUCT("count" UBIGINT, "sum" DOUBLE, "sum_of_squares" DOUBLE, "min"
        DOUBLE, "max" DOUBLE, histogram STRUCT(median DOUBLE, p95 DOUBLE, p99 DOUBLE, p999 DOUBLE, scale BIGINT,
        zero_count UBIGINT, positive STRUCT("offset" BIGINT, bucket_counts UBIGINT[]))), "completion_time_s"
        STRUCT("count" UBIGINT, "sum" DOUBLE, "sum_of_squares" DOUBLE, "min" DOUBLE, "max" DOUBLE, histogram
        STRUCT(median DOUBLE, p95 DOUBLE, p99 DOUBLE, p999 DOUBLE, scale BIGINT, zero_count UBIGINT, positive
        STRUCT("offset" BIGINT, bucket_counts UBIGINT[]))), "repeated_completion_time_s" STRUCT("count" UBIGINT, "sum"
        DOUBLE, "sum_of_squares" DOUBLE, "min" DOUBLE, "max" DOUBLE, histogram STRUCT(median DOUBLE, p95 DOUBLE, p99
        DOUBLE, p999 DOUBLE, scale BIGINT, zero_count UBIGINT, positive STRUCT("offset" BIGINT, bucket_counts
        UBIGINT[]))), "ce_to_cnp_s" STRUCT("count" UBIGINT, "sum" DOUBLE, "sum_of_squares" DOUBLE, "min" DOUBLE, "max"
        DOUBLE, histogram STRUCT(median DOUBLE, p95 DOUBLE, p99 DOUBLE, p999 DOUBLE, scale BIGINT, zero_count UBIGINT,
        positive STRUCT("offset" BIGINT, bucket_counts UBIGINT[]))))',
    finding: 'STRUCT("severity" VARCHAR, "kind" VARCHAR, "text" VARCHAR, "frame" UBIGINT, "time" DECIMAL(20, 9),
        "filter" VARCHAR, "count" UBIGINT)',
    breach: 'STRUCT("kind" VARCHAR, "by" VARCHAR, "count" UBIGINT, "frame" UBIGINT, "time" DECIMAL(20, 9))',
    pause: 'STRUCT("port_mac" VARCHAR, "kind" VARCHAR, "priority" UBIGINT, "frames" UBIGINT, "resumes" UBIGINT, "cut"
        UBIGINT, "quanta" UBIGINT, "paused_s" DOUBLE, "paused_most_s" DOUBLE, "first_frame" UBIGINT, "first_time"
        DECIMAL(20, 9), "last_frame" UBIGINT, "last_time" DECIMAL(20, 9), "has_flow" BOOLEAN)',
    capture: 'STRUCT("frames" UBIGINT, "bytes" UBIGINT, "first_time" DECIMAL(20, 9), "last_time" DECIMAL(20, 9),
        "cut_frames" UBIGINT, "roce_frames" UBIGINT, "point_copies" UBIGINT, "passes" UBIGINT, "filter" VARCHAR,
        "wireshark" VARCHAR, "plugin" VARCHAR, "smcr_roce" BOOLEAN, "check_icrc" BOOLEAN, "link_speed" UBIGINT)',
    ip: 'STRUCT("packets" UBIGINT, "bytes" UBIGINT)',
    other_roce: 'STRUCT("packets" UBIGINT, "unread" UBIGINT, "queue_pairs" UBIGINT, "repeated" UBIGINT, "naks"
        UBIGINT, "rnr_naks" UBIGINT, "ce" UBIGINT, "cnp" UBIGINT, "first_frame" UBIGINT, "first_time" DECIMAL(20, 9))',
    late_packets: 'UBIGINT',
    probe: 'STRUCT("event" VARCHAR, "file" VARCHAR, "bytes" UBIGINT, "lines" UBIGINT, "received" UBIGINT, "dropped"
        UBIGINT, "waiting" UBIGINT, "text" VARCHAR)'
    });
-- ---- end of the columns ----

-- 1. Which pairs of hosts fall back, and why?
CREATE OR REPLACE VIEW fallbacks AS
SELECT connection.client.addr AS client, connection.server.addr AS server, connection.fallback.reason AS reason,
    count(*) AS connections
FROM lines WHERE line = 'connection' AND connection.fallback IS NOT NULL
GROUP BY ALL ORDER BY connections DESC, client, server, reason;

-- 2. Which connections waited longest, and for whom?
CREATE OR REPLACE VIEW waits AS
SELECT uid, host, wait.writer, wait.kind, wait.lasted_s,
    CASE wait.kind WHEN 'reader' THEN 'the program of the other end' WHEN 'answer' THEN 'the program of the other end'
        WHEN 'space' THEN 'space in the receive buffer' ELSE 'the path' END AS waited_for
FROM (SELECT uid, host, unnest(connection.longest_waits) AS wait FROM lines WHERE line = 'connection')
ORDER BY wait.lasted_s DESC;

-- 3. Which link groups lost a link?
CREATE OR REPLACE VIEW lost_links AS
SELECT group_uid, host, uid AS link_uid, link.number, link.state, link.lost_by, link.lost_time, link.delete_reason,
    link.moved_from
FROM lines WHERE line = 'link' AND (link.lost_frame IS NOT NULL OR link.state = 'lost') ORDER BY link.lost_time;

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
    count(*) AS connections, sum(connection.client_to_server.bytes) AS to_server,
    sum(connection.server_to_client.bytes) AS to_client,
    bool_or(connection.client_to_server.lacks_bytes OR connection.server_to_client.lacks_bytes) AS is_lower_bound
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
FROM (SELECT host, unnest([connection.client_to_server."time", connection.server_to_client."time"]) AS t
    FROM lines WHERE line = 'connection')
GROUP BY ALL ORDER BY buffer_full_s + retransmission_s DESC;

-- 9. Which lines are parts of one connection, in the files of a ring? By the names that they have in common.
CREATE OR REPLACE VIEW parts AS
SELECT DISTINCT whole.uid, whole.host, part.uid AS part_uid, part.connection.client_to_server.bytes AS to_server,
    part.connection.server_to_client.bytes AS to_client
FROM (SELECT uid, host, unnest(keys) AS key FROM lines WHERE line = 'connection' AND NOT uid_partial) whole
JOIN (SELECT *, unnest(keys) AS key FROM lines WHERE line = 'connection' AND uid_partial) part
    ON whole.key = part.key AND whole.host IS NOT DISTINCT FROM part.host
ORDER BY whole.uid;

-- 10. What should somebody look at first?
CREATE OR REPLACE VIEW findings AS
SELECT * FROM (
    SELECT finding.severity AS severity, finding.kind AS kind, host, sum(finding.count) AS things,
        any_value(finding.text) AS text
    FROM lines WHERE line = 'finding' GROUP BY 1, 2, 3)
ORDER BY list_position(['error', 'warn', 'note', 'info'], severity), things DESC;
