-- Ten questions of a site, for ClickHouse, about lines of tshark -z smcr,lines (docs/lines.md): a table, and a view for
-- each question, with the names of lines.duckdb.sql. Tested with ClickHouse 26.
--
--     clickhouse-client --queries-file lines.clickhouse.sql
--     clickhouse-client --query "INSERT INTO smcr_lines FORMAT JSONEachRow" < lines.ndjson
--     clickhouse-client --query "SELECT * FROM fallbacks"
--
-- What is not known is NULL. So is a count that is 0, if docs/lines.schema.json has a default for it: sums need nothing,
-- averages need ifNull(..., 0). The list `not_known` of a part names members for which no default holds.
--
-- SPDX-License-Identifier: GPL-2.0-or-later

-- ---- the columns: tests/figures-doc writes them ----
CREATE TABLE smcr_lines
(
    schema LowCardinality(String),
    line LowCardinality(String),
    time DateTime64(9, 'UTC'),
    is_full Nullable(Bool),
    host LowCardinality(String),
    point Nullable(String),
    interface Nullable(String),
    uid Nullable(String),
    uid_partial Nullable(Bool),
    client_keys Array(String),
    server_keys Array(String),
    community_id Nullable(String),
    ended Nullable(String),
    group_uid Nullable(String),
    continues Nullable(Bool),
    from_time Nullable(DateTime64(9, 'UTC')),
    to_time Nullable(DateTime64(9, 'UTC')),
    connection Tuple(`stream` Nullable(UInt64), `roce_stream` Nullable(UInt64), `client` Tuple(`addr`
        Nullable(String), `port` Nullable(UInt64)), `server` Tuple(`addr` Nullable(String), `port` Nullable(UInt64)),
        `translated_client` Tuple(`addr` Nullable(String), `port` Nullable(UInt64)), `translated_server` Tuple(`addr`
        Nullable(String), `port` Nullable(UInt64)), `version` Nullable(String), `outcome` Nullable(String), `fallback`
        Tuple(`reason` Nullable(String), `code` Nullable(UInt64), `by` Nullable(String), `time` Nullable(DateTime64(9,
        'UTC')), `offered_eids` Nullable(String), `syn_sign` Nullable(String), `crossed_time` Nullable(DateTime64(9,
        'UTC'))), `handshake_end` Tuple(`kind` Nullable(String), `by` Nullable(String), `step` Nullable(String),
        `acknowledged` Nullable(Bool), `sent` Nullable(UInt64), `from_time` Nullable(DateTime64(9, 'UTC')), `time`
        Nullable(DateTime64(9, 'UTC')), `answer` Nullable(String)), `links` Array(Tuple(`number` Nullable(UInt64),
        `from_time` Nullable(DateTime64(9, 'UTC')))), `setup_s` Nullable(Float64), `setup` Tuple(`tcp_s`
        Nullable(Float64), `accept_s` Nullable(Float64), `confirm_s` Nullable(Float64), `llc_s` Nullable(Float64),
        `tcp_least_s` Nullable(Float64), `tcp_most_s` Nullable(Float64), `accept_least_s` Nullable(Float64),
        `accept_most_s` Nullable(Float64), `confirm_least_s` Nullable(Float64), `confirm_most_s` Nullable(Float64),
        `llc_least_s` Nullable(Float64), `llc_most_s` Nullable(Float64), `least_s` Nullable(Float64), `most_s`
        Nullable(Float64), `fallback_s` Nullable(Float64)), `setup_longest` Nullable(String), `buffer_bytes`
        Tuple(`client` Nullable(UInt64), `server` Nullable(UInt64)), `first_time` Nullable(DateTime64(9, 'UTC')),
        `lasted_s` Nullable(Float64), `began_before` Nullable(Bool), `ends` Nullable(String), `named_by`
        Nullable(String), `named_time` Nullable(DateTime64(9, 'UTC')), `goes_on` Nullable(Bool), `close`
        Nullable(String), `reset_by` Nullable(String), `longest_waits` Array(Tuple(`writer` Nullable(String), `kind`
        Nullable(String), `lasted_s` Nullable(Float64), `begin_time` Nullable(DateTime64(9, 'UTC')), `request_time`
        Nullable(DateTime64(9, 'UTC')))), `end` Tuple(`by` Nullable(String), `time` Nullable(DateTime64(9, 'UTC')),
        `is_reported` Nullable(Bool), `idle_time` Nullable(DateTime64(9, 'UTC')), `other_time` Nullable(DateTime64(9,
        'UTC')), `other_after_time` Nullable(DateTime64(9, 'UTC')), `other_by_time` Nullable(DateTime64(9, 'UTC')),
        `written_after` Nullable(Bool), `late_write_after_time` Nullable(DateTime64(9, 'UTC')), `late_write_by_time`
        Nullable(DateTime64(9, 'UTC')), `aborted_by` Nullable(String), `aborted_time` Nullable(DateTime64(9, 'UTC')),
        `not_known` Array(String)), `to_server` Tuple(`bytes` Nullable(UInt64), `lacks_bytes` Nullable(Bool), `writes`
        Nullable(UInt64), `cdc` Nullable(UInt64), `repeated_packets` Nullable(UInt64), `repeated_bytes`
        Nullable(UInt64), `blocked_count` Nullable(UInt64), `window_full_count` Nullable(UInt64), `time`
        Tuple(`nothing_to_write_s` Nullable(Float64), `answer_s` Nullable(Float64), `buffer_full_s` Nullable(Float64),
        `retransmission_s` Nullable(Float64), `transfer_s` Nullable(Float64), `unknown_s` Nullable(Float64),
        `reader_s` Nullable(Float64), `filling_s` Nullable(Float64), `needless_s` Nullable(Float64),
        `nothing_to_write_most_s` Nullable(Float64), `answer_most_s` Nullable(Float64), `buffer_full_most_s`
        Nullable(Float64), `retransmission_most_s` Nullable(Float64), `transfer_most_s` Nullable(Float64)),
        `reader_time_s` Tuple(`count` Nullable(UInt64), `sum` Nullable(Float64), `min` Nullable(Float64), `max`
        Nullable(Float64), `zero_count` Nullable(UInt64), `buckets` Map(String, UInt64)), `drain_time_s` Tuple(`count`
        Nullable(UInt64), `sum` Nullable(Float64), `min` Nullable(Float64), `max` Nullable(Float64), `zero_count`
        Nullable(UInt64), `buckets` Map(String, UInt64)), `ack_time_s` Tuple(`count` Nullable(UInt64), `sum`
        Nullable(Float64), `min` Nullable(Float64), `max` Nullable(Float64), `zero_count` Nullable(UInt64), `buckets`
        Map(String, UInt64)), `read_reported_s` Tuple(`count` Nullable(UInt64), `sum` Nullable(Float64), `min`
        Nullable(Float64), `max` Nullable(Float64), `zero_count` Nullable(UInt64), `buckets` Map(String, UInt64)),
        `answer_time_s` Tuple(`count` Nullable(UInt64), `sum` Nullable(Float64), `min` Nullable(Float64), `max`
        Nullable(Float64), `zero_count` Nullable(UInt64), `buckets` Map(String, UInt64)), `slow_answers`
        Nullable(UInt64), `slow_answers_s` Nullable(Float64), `unasked_writes` Nullable(UInt64), `urgent_count`
        Nullable(UInt64), `open_wait` Tuple(`kind` Nullable(String), `begin_time` Nullable(DateTime64(9, 'UTC')),
        `proven_time` Nullable(DateTime64(9, 'UTC'))), `unreported_bytes` Nullable(UInt64), `unannounced_bytes`
        Nullable(UInt64), `not_known` Array(String)), `to_client` Tuple(`bytes` Nullable(UInt64), `lacks_bytes`
        Nullable(Bool), `writes` Nullable(UInt64), `cdc` Nullable(UInt64), `repeated_packets` Nullable(UInt64),
        `repeated_bytes` Nullable(UInt64), `blocked_count` Nullable(UInt64), `window_full_count` Nullable(UInt64),
        `time` Tuple(`nothing_to_write_s` Nullable(Float64), `answer_s` Nullable(Float64), `buffer_full_s`
        Nullable(Float64), `retransmission_s` Nullable(Float64), `transfer_s` Nullable(Float64), `unknown_s`
        Nullable(Float64), `reader_s` Nullable(Float64), `filling_s` Nullable(Float64), `needless_s`
        Nullable(Float64), `nothing_to_write_most_s` Nullable(Float64), `answer_most_s` Nullable(Float64),
        `buffer_full_most_s` Nullable(Float64), `retransmission_most_s` Nullable(Float64), `transfer_most_s`
        Nullable(Float64)), `reader_time_s` Tuple(`count` Nullable(UInt64), `sum` Nullable(Float64), `min`
        Nullable(Float64), `max` Nullable(Float64), `zero_count` Nullable(UInt64), `buckets` Map(String, UInt64)),
        `drain_time_s` Tuple(`count` Nullable(UInt64), `sum` Nullable(Float64), `min` Nullable(Float64), `max`
        Nullable(Float64), `zero_count` Nullable(UInt64), `buckets` Map(String, UInt64)), `ack_time_s` Tuple(`count`
        Nullable(UInt64), `sum` Nullable(Float64), `min` Nullable(Float64), `max` Nullable(Float64), `zero_count`
        Nullable(UInt64), `buckets` Map(String, UInt64)), `read_reported_s` Tuple(`count` Nullable(UInt64), `sum`
        Nullable(Float64), `min` Nullable(Float64), `max` Nullable(Float64), `zero_count` Nullable(UInt64), `buckets`
        Map(String, UInt64)), `answer_time_s` Tuple(`count` Nullable(UInt64), `sum` Nullable(Float64), `min`
        Nullable(Float64), `max` Nullable(Float64), `zero_count` Nullable(UInt64), `buckets` Map(String, UInt64)),
        `slow_answers` Nullable(UInt64), `slow_answers_s` Nullable(Float64), `unasked_writes` Nullable(UInt64),
        `urgent_count` Nullable(UInt64), `open_wait` Tuple(`kind` Nullable(String), `begin_time`
        Nullable(DateTime64(9, 'UTC')), `proven_time` Nullable(DateTime64(9, 'UTC'))), `unreported_bytes`
        Nullable(UInt64), `unannounced_bytes` Nullable(UInt64), `not_known` Array(String)), `not_known` Array(String)),
    tcp Tuple(`tcp_stream` Nullable(UInt64), `src` Nullable(String), `dst` Nullable(String), `src_port`
        Nullable(UInt64), `dst_port` Nullable(UInt64), `first_time` Nullable(DateTime64(9, 'UTC')), `lasted_s`
        Nullable(Float64), `ecn_initiated` Nullable(Bool), `ecn_accepted` Nullable(Bool), `up` Tuple(`packets`
        Nullable(UInt64), `segments` Nullable(UInt64), `data_segments` Nullable(UInt64), `ip_bytes` Nullable(UInt64),
        `acks` Nullable(UInt64), `acked_bytes` Nullable(UInt64), `sacked_bytes` Nullable(UInt64), `dsacks`
        Nullable(UInt64), `ce` Nullable(UInt64), `sce` Nullable(UInt64), `esce` Nullable(UInt64), `ece`
        Nullable(UInt64), `cwr` Nullable(UInt64), `esce_acked_bytes` Nullable(UInt64), `repeated_segments`
        Nullable(UInt64), `copies` Nullable(UInt64), `late_segments` Nullable(UInt64), `gaps` Nullable(UInt64),
        `gap_bytes` Nullable(UInt64), `duplicate_acks` Nullable(UInt64), `rtt_s` Tuple(`count` Nullable(UInt64), `sum`
        Nullable(Float64), `min` Nullable(Float64), `max` Nullable(Float64), `sum_of_squares` Nullable(Float64)),
        `tsval_rtt_s` Tuple(`count` Nullable(UInt64), `sum` Nullable(Float64), `min` Nullable(Float64), `max`
        Nullable(Float64), `sum_of_squares` Nullable(Float64)), `ipg_s` Tuple(`count` Nullable(UInt64), `sum`
        Nullable(Float64), `min` Nullable(Float64), `max` Nullable(Float64), `sum_of_squares` Nullable(Float64)),
        `sce_ipg_s` Tuple(`count` Nullable(UInt64), `sum` Nullable(Float64), `min` Nullable(Float64), `max`
        Nullable(Float64), `sum_of_squares` Nullable(Float64)), `sce_run_length` Tuple(`count` Nullable(UInt64), `sum`
        Nullable(Float64), `min` Nullable(Float64), `max` Nullable(Float64), `sum_of_squares` Nullable(Float64)),
        `ack_elapsed_s` Nullable(Float64), `not_known` Array(String)), `down` Tuple(`packets` Nullable(UInt64),
        `segments` Nullable(UInt64), `data_segments` Nullable(UInt64), `ip_bytes` Nullable(UInt64), `acks`
        Nullable(UInt64), `acked_bytes` Nullable(UInt64), `sacked_bytes` Nullable(UInt64), `dsacks` Nullable(UInt64),
        `ce` Nullable(UInt64), `sce` Nullable(UInt64), `esce` Nullable(UInt64), `ece` Nullable(UInt64), `cwr`
        Nullable(UInt64), `esce_acked_bytes` Nullable(UInt64), `repeated_segments` Nullable(UInt64), `copies`
        Nullable(UInt64), `late_segments` Nullable(UInt64), `gaps` Nullable(UInt64), `gap_bytes` Nullable(UInt64),
        `duplicate_acks` Nullable(UInt64), `rtt_s` Tuple(`count` Nullable(UInt64), `sum` Nullable(Float64), `min`
        Nullable(Float64), `max` Nullable(Float64), `sum_of_squares` Nullable(Float64)), `tsval_rtt_s` Tuple(`count`
        Nullable(UInt64), `sum` Nullable(Float64), `min` Nullable(Float64), `max` Nullable(Float64), `sum_of_squares`
        Nullable(Float64)), `ipg_s` Tuple(`count` Nullable(UInt64), `sum` Nullable(Float64), `min` Nullable(Float64),
        `max` Nullable(Float64), `sum_of_squares` Nullable(Float64)), `sce_ipg_s` Tuple(`count` Nullable(UInt64),
        `sum` Nullable(Float64), `min` Nullable(Float64), `max` Nullable(Float64), `sum_of_squares`
        Nullable(Float64)), `sce_run_length` Tuple(`count` Nullable(UInt64), `sum` Nullable(Float64), `min`
        Nullable(Float64), `max` Nullable(Float64), `sum_of_squares` Nullable(Float64)), `ack_elapsed_s`
        Nullable(Float64), `not_known` Array(String)), `not_known` Array(String)),
    link_group Tuple(`index` Nullable(UInt64), `version` Nullable(String), `type` Nullable(String), `peers`
        Tuple(`client` Tuple(`peer_id` Nullable(String), `host_name` Nullable(String), `system` Nullable(String)),
        `server` Tuple(`peer_id` Nullable(String), `host_name` Nullable(String), `system` Nullable(String))), `ends`
        Nullable(String), `eid` Nullable(String), `vlan` Nullable(UInt64), `first_time` Nullable(DateTime64(9,
        'UTC')), `ended_time` Nullable(DateTime64(9, 'UTC'))),
    link Tuple(`number` Nullable(UInt64), `index` Nullable(UInt64), `state` Nullable(String), `state_time`
        Nullable(DateTime64(9, 'UTC')), `states` Array(Tuple(`state` Nullable(String), `begin_time`
        Nullable(DateTime64(9, 'UTC')), `end_time` Nullable(DateTime64(9, 'UTC')))), `mtu_bytes` Nullable(UInt64),
        `client` Tuple(`gid` Nullable(String), `mac` Nullable(String), `qpn` Nullable(UInt64)), `server` Tuple(`gid`
        Nullable(String), `mac` Nullable(String), `qpn` Nullable(UInt64)), `added_time` Nullable(DateTime64(9,
        'UTC')), `deleted_time` Nullable(DateTime64(9, 'UTC')), `lost_time` Nullable(DateTime64(9, 'UTC')), `lost_by`
        Nullable(String), `delete_reason` Nullable(String), `reject_reason` Nullable(String), `moved_from`
        Nullable(UInt64), `moved_to` Nullable(UInt64), `flows` Array(UInt64), `not_known` Array(String)),
    flow Tuple(`index` Nullable(UInt64), `peer` Nullable(UInt64), `src` Nullable(String), `dst` Nullable(String),
        `src_qpn` Nullable(UInt64), `src_qpn_from` Nullable(String), `dst_qpn` Nullable(UInt64), `network`
        Tuple(`tunnel` Nullable(String), `tunnel_id` Nullable(UInt64), `vlan` Nullable(UInt64), `outer_vlan`
        Nullable(UInt64)), `udp_ports` Array(Tuple(`port` Nullable(UInt64), `packets` Nullable(UInt64))),
        `port_changes` Nullable(UInt64), `kind` Nullable(String), `cm` Tuple(`client_state` Nullable(String),
        `server_state` Nullable(String), `service_id` Nullable(String), `port` Nullable(UInt64), `reject_reason`
        Nullable(UInt64)), `first_time` Nullable(DateTime64(9, 'UTC')), `last_time` Nullable(DateTime64(9, 'UTC')),
        `packets` Nullable(UInt64), `bytes` Nullable(UInt64), `payload_bytes` Nullable(UInt64), `cdc_bytes`
        Nullable(UInt64), `llc_bytes` Nullable(UInt64), `goodput_bytes` Nullable(UInt64), `opcodes` Map(String,
        UInt64), `ecn` Tuple(`not_ect` Nullable(UInt64), `ect0` Nullable(UInt64), `ect1` Nullable(UInt64), `ce`
        Nullable(UInt64)), `outer_ce` Nullable(UInt64), `marked_again` Nullable(UInt64), `classes` Tuple(`data`
        Tuple(`packets` Nullable(UInt64), `by_dscp` Map(String, UInt64), `by_priority` Map(String, UInt64), `ecn`
        Tuple(`not_ect` Nullable(UInt64), `ect0` Nullable(UInt64), `ect1` Nullable(UInt64), `ce` Nullable(UInt64)),
        `outer_ecn` Tuple(`not_ect` Nullable(UInt64), `ect0` Nullable(UInt64), `ect1` Nullable(UInt64), `ce`
        Nullable(UInt64))), `acknowledgement` Tuple(`packets` Nullable(UInt64), `by_dscp` Map(String, UInt64),
        `by_priority` Map(String, UInt64), `ecn` Tuple(`not_ect` Nullable(UInt64), `ect0` Nullable(UInt64), `ect1`
        Nullable(UInt64), `ce` Nullable(UInt64)), `outer_ecn` Tuple(`not_ect` Nullable(UInt64), `ect0`
        Nullable(UInt64), `ect1` Nullable(UInt64), `ce` Nullable(UInt64))), `cnp` Tuple(`packets` Nullable(UInt64),
        `by_dscp` Map(String, UInt64), `by_priority` Map(String, UInt64), `ecn` Tuple(`not_ect` Nullable(UInt64),
        `ect0` Nullable(UInt64), `ect1` Nullable(UInt64), `ce` Nullable(UInt64)), `outer_ecn` Tuple(`not_ect`
        Nullable(UInt64), `ect0` Nullable(UInt64), `ect1` Nullable(UInt64), `ce` Nullable(UInt64)))), `cnp_pacing`
        Tuple(`flow_s` Tuple(`count` Nullable(UInt64), `sum` Nullable(Float64), `min` Nullable(Float64), `max`
        Nullable(Float64), `zero_count` Nullable(UInt64), `buckets` Map(String, UInt64)), `pair_s` Tuple(`count`
        Nullable(UInt64), `sum` Nullable(Float64), `min` Nullable(Float64), `max` Nullable(Float64), `zero_count`
        Nullable(UInt64), `buckets` Map(String, UInt64)), `source_s` Tuple(`count` Nullable(UInt64), `sum`
        Nullable(Float64), `min` Nullable(Float64), `max` Nullable(Float64), `zero_count` Nullable(UInt64), `buckets`
        Map(String, UInt64)), `destination_s` Tuple(`count` Nullable(UInt64), `sum` Nullable(Float64), `min`
        Nullable(Float64), `max` Nullable(Float64), `zero_count` Nullable(UInt64), `buckets` Map(String, UInt64))),
        `reaction` Tuple(`measured` Nullable(UInt64), `before_bytes` Nullable(UInt64), `before_s` Nullable(Float64),
        `after_bytes` Nullable(UInt64), `after_s` Nullable(Float64)), `withheld` Tuple(`flow_s` Tuple(`count`
        Nullable(UInt64), `sum` Nullable(Float64), `min` Nullable(Float64), `max` Nullable(Float64), `zero_count`
        Nullable(UInt64), `buckets` Map(String, UInt64)), `pair_s` Tuple(`count` Nullable(UInt64), `sum`
        Nullable(Float64), `min` Nullable(Float64), `max` Nullable(Float64), `zero_count` Nullable(UInt64), `buckets`
        Map(String, UInt64)), `source_s` Tuple(`count` Nullable(UInt64), `sum` Nullable(Float64), `min`
        Nullable(Float64), `max` Nullable(Float64), `zero_count` Nullable(UInt64), `buckets` Map(String, UInt64))),
        `cm_unanswered` Nullable(UInt64), `cm_unanswered_port` Nullable(UInt64), `nak` Tuple(`psn_sequence`
        Nullable(UInt64), `invalid_request` Nullable(UInt64), `remote_access` Nullable(UInt64), `remote_operational`
        Nullable(UInt64), `invalid_rd` Nullable(UInt64)), `rnr_nak` Nullable(UInt64), `cnp` Nullable(UInt64),
        `cnp_copies` Nullable(UInt64), `cnp_undecided` Nullable(UInt64), `repeated` Nullable(UInt64), `repeated_after`
        Tuple(`nak` Nullable(UInt64), `icrc` Nullable(UInt64), `rnr` Nullable(UInt64), `read` Nullable(UInt64),
        `timeout` Nullable(UInt64), `unknown` Nullable(UInt64)), `repeated_time` Nullable(DateTime64(9, 'UTC')),
        `retransmission_s` Nullable(Float64), `rnr_wait_s` Nullable(Float64), `silent_s` Nullable(Float64), `silences`
        Nullable(UInt64), `silent_repeated` Nullable(UInt64), `longest_silence` Tuple(`begin_time`
        Nullable(DateTime64(9, 'UTC')), `end_time` Nullable(DateTime64(9, 'UTC')), `first_repeated_time`
        Nullable(DateTime64(9, 'UTC')), `is_over` Nullable(Bool), `attempts` Nullable(UInt64), `repeated`
        Nullable(UInt64), `other_queue_pair_time` Nullable(DateTime64(9, 'UTC')), `other_link` Nullable(UInt64),
        `other_link_time` Nullable(DateTime64(9, 'UTC')), `tcp_time` Nullable(DateTime64(9, 'UTC')), `host_time`
        Nullable(DateTime64(9, 'UTC')), `early_time` Nullable(DateTime64(9, 'UTC')), `others_s` Nullable(Float64),
        `others` Array(Tuple(`begin_time` Nullable(DateTime64(9, 'UTC')), `end_time` Nullable(DateTime64(9,
        'UTC'))))), `acked_longest` Nullable(UInt64), `stuck` Tuple(`begin_time` Nullable(DateTime64(9, 'UTC')),
        `end_time` Nullable(DateTime64(9, 'UTC')), `tries` Nullable(UInt64), `length` Nullable(UInt64), `missing`
        Nullable(UInt64), `is_refused` Nullable(Bool), `rnr_naks` Nullable(UInt64), `has_ended` Nullable(Bool)),
        `pause` Tuple(`port_mac` Nullable(String), `standstills` Nullable(UInt64), `still_s` Nullable(Float64),
        `still_most_s` Nullable(Float64), `longest` Tuple(`begin_time` Nullable(DateTime64(9, 'UTC')), `end_time`
        Nullable(DateTime64(9, 'UTC'))), `intervals` Array(Tuple(`begin_time` Nullable(DateTime64(9, 'UTC')),
        `end_time` Nullable(DateTime64(9, 'UTC')), `still_s` Nullable(Float64), `still_most_s` Nullable(Float64),
        `port_mac` Nullable(String), `priority` Nullable(UInt64))), `stopped` Tuple(`since_time`
        Nullable(DateTime64(9, 'UTC')), `silent_s` Nullable(Float64), `still_s` Nullable(Float64), `still_most_s`
        Nullable(Float64), `port_mac` Nullable(String), `priority` Nullable(UInt64))), `recovery` Tuple(`gap_to_nak_s`
        Tuple(`count` Nullable(UInt64), `sum` Nullable(Float64), `min` Nullable(Float64), `max` Nullable(Float64),
        `zero_count` Nullable(UInt64), `buckets` Map(String, UInt64)), `nak_to_resend_s` Tuple(`count`
        Nullable(UInt64), `sum` Nullable(Float64), `min` Nullable(Float64), `max` Nullable(Float64), `zero_count`
        Nullable(UInt64), `buckets` Map(String, UInt64)), `timeout_s` Tuple(`count` Nullable(UInt64), `sum`
        Nullable(Float64), `min` Nullable(Float64), `max` Nullable(Float64), `zero_count` Nullable(UInt64), `buckets`
        Map(String, UInt64)), `retry_s` Tuple(`count` Nullable(UInt64), `sum` Nullable(Float64), `min`
        Nullable(Float64), `max` Nullable(Float64), `zero_count` Nullable(UInt64), `buckets` Map(String, UInt64)),
        `implied_naks` Nullable(UInt64), `read_timeouts` Nullable(UInt64), `ack_timeout` Nullable(UInt64), `go_back_n`
        Nullable(UInt64), `selective` Nullable(UInt64), `refilled` Nullable(UInt64), `needless` Nullable(UInt64),
        `answered_twice` Nullable(UInt64), `reordered` Nullable(UInt64), `reorder_depth` Tuple(`count`
        Nullable(UInt64), `sum` Nullable(Float64), `min` Nullable(Float64), `max` Nullable(Float64), `sum_of_squares`
        Nullable(Float64)), `late_s` Tuple(`count` Nullable(UInt64), `sum` Nullable(Float64), `min` Nullable(Float64),
        `max` Nullable(Float64), `zero_count` Nullable(UInt64), `buckets` Map(String, UInt64)), `unfilled`
        Nullable(UInt64)), `reordered_time` Nullable(DateTime64(9, 'UTC')), `late_naks` Nullable(UInt64), `copies`
        Nullable(UInt64), `knows_copies` Nullable(Bool), `gaps` Nullable(UInt64), `missing` Nullable(UInt64),
        `not_captured` Nullable(UInt64), `not_captured_time` Nullable(DateTime64(9, 'UTC')), `icrc` Tuple(`good`
        Nullable(UInt64), `bad` Nullable(UInt64), `unverified` Nullable(UInt64)), `ack_time_s` Tuple(`count`
        Nullable(UInt64), `sum` Nullable(Float64), `min` Nullable(Float64), `max` Nullable(Float64), `zero_count`
        Nullable(UInt64), `buckets` Map(String, UInt64)), `completion_time_s` Tuple(`count` Nullable(UInt64), `sum`
        Nullable(Float64), `min` Nullable(Float64), `max` Nullable(Float64), `zero_count` Nullable(UInt64), `buckets`
        Map(String, UInt64)), `repeated_completion_time_s` Tuple(`count` Nullable(UInt64), `sum` Nullable(Float64),
        `min` Nullable(Float64), `max` Nullable(Float64), `zero_count` Nullable(UInt64), `buckets` Map(String,
        UInt64)), `ce_to_cnp_s` Tuple(`count` Nullable(UInt64), `sum` Nullable(Float64), `min` Nullable(Float64),
        `max` Nullable(Float64), `zero_count` Nullable(UInt64), `buckets` Map(String, UInt64)), `not_known`
        Array(String)),
    finding Tuple(`severity` Nullable(String), `kind` Nullable(String), `text` Nullable(String), `frame`
        Nullable(UInt64), `time` Nullable(DateTime64(9, 'UTC')), `begin_frame` Nullable(UInt64), `begin_time`
        Nullable(DateTime64(9, 'UTC')), `end_frame` Nullable(UInt64), `end_time` Nullable(DateTime64(9, 'UTC')),
        `filter` Nullable(String), `count` Nullable(UInt64)),
    breach Tuple(`kind` Nullable(String), `by` Nullable(String), `count` Nullable(UInt64), `frame` Nullable(UInt64),
        `time` Nullable(DateTime64(9, 'UTC'))),
    pause Tuple(`port_mac` Nullable(String), `kind` Nullable(String), `priority` Nullable(UInt64), `frames`
        Nullable(UInt64), `resumes` Nullable(UInt64), `cut` Nullable(UInt64), `quanta` Nullable(UInt64), `paused_s`
        Nullable(Float64), `paused_most_s` Nullable(Float64), `first_time` Nullable(DateTime64(9, 'UTC')), `last_time`
        Nullable(DateTime64(9, 'UTC')), `has_flow` Nullable(Bool), `intervals` Array(Tuple(`begin_time`
        Nullable(DateTime64(9, 'UTC')), `last_time` Nullable(DateTime64(9, 'UTC')), `resume_time`
        Nullable(DateTime64(9, 'UTC')), `end_most_time` Nullable(DateTime64(9, 'UTC')), `frames` Nullable(UInt64),
        `paused_s` Nullable(Float64), `paused_most_s` Nullable(Float64), `still_flows` Nullable(UInt64), `flow`
        Nullable(UInt64), `still_most_s` Nullable(Float64)))),
    way Tuple(`from` Nullable(String), `to` Nullable(String), `from_interface` Nullable(UInt64), `to_interface`
        Nullable(UInt64), `src` Nullable(String), `dst` Nullable(String), `transport` Nullable(String), `packets`
        Nullable(UInt64), `at_both` Nullable(UInt64), `lost` Nullable(UInt64), `lost_inferred` Nullable(UInt64),
        `lost_after` Nullable(UInt64), `unanswered` Nullable(UInt64), `not_captured_from` Nullable(UInt64),
        `not_captured_to` Nullable(UInt64), `reordered` Nullable(UInt64), `marked_ce` Nullable(UInt64), `dscp_changed`
        Nullable(UInt64), `delayed` Nullable(UInt64), `fragmented` Nullable(UInt64), `options_changed`
        Nullable(UInt64), `damaged` Nullable(UInt64), `undecided` Nullable(UInt64), `lost_time` Nullable(DateTime64(9,
        'UTC')), `lost_after_time` Nullable(DateTime64(9, 'UTC')), `not_captured_time` Nullable(DateTime64(9, 'UTC')),
        `reordered_time` Nullable(DateTime64(9, 'UTC')), `marked_time` Nullable(DateTime64(9, 'UTC')), `options_time`
        Nullable(DateTime64(9, 'UTC')), `damaged_time` Nullable(DateTime64(9, 'UTC')), `delay` Tuple(`min_s`
        Nullable(Float64), `median_s` Nullable(Float64), `p99_s` Nullable(Float64), `error_s` Nullable(Float64)),
        `clock` Tuple(`offset_s` Nullable(Float64), `offset_least_s` Nullable(Float64), `offset_most_s`
        Nullable(Float64), `drift_least_ppm` Nullable(Float64), `drift_most_ppm` Nullable(Float64)), `clocks_agree`
        Nullable(Bool), `same_capture` Nullable(Bool)),
    capture Tuple(`frames` Nullable(UInt64), `bytes` Nullable(UInt64), `first_time` Nullable(DateTime64(9, 'UTC')),
        `last_time` Nullable(DateTime64(9, 'UTC')), `cut_frames` Nullable(UInt64), `roce_frames` Nullable(UInt64),
        `point_copies` Nullable(UInt64), `flows_not_counted` Nullable(UInt64), `disorder_time` Nullable(DateTime64(9,
        'UTC')), `disorder_most_s` Nullable(Float64), `passes` Nullable(UInt64), `filter` Nullable(String),
        `wireshark` Nullable(String), `plugin` Nullable(String), `smcr_roce` Nullable(Bool), `check_icrc`
        Nullable(Bool), `link_speed` Nullable(UInt64)),
    ip Tuple(`packets` Nullable(UInt64), `bytes` Nullable(UInt64)),
    other_roce Tuple(`packets` Nullable(UInt64), `unread` Nullable(UInt64), `queue_pairs` Nullable(UInt64), `repeated`
        Nullable(UInt64), `naks` Nullable(UInt64), `rnr_naks` Nullable(UInt64), `ce` Nullable(UInt64), `cnp`
        Nullable(UInt64), `first_time` Nullable(DateTime64(9, 'UTC'))),
    late_packets Nullable(UInt64),
    probe Tuple(`event` Nullable(String), `file` Nullable(String), `bytes` Nullable(UInt64), `lines` Nullable(UInt64),
        `received` Nullable(UInt64), `dropped` Nullable(UInt64), `waiting` Nullable(UInt64), `text` Nullable(String))
)
-- ---- end of the columns ----
ENGINE = MergeTree
PARTITION BY toYYYYMMDD(time)
ORDER BY (line, host, time)
TTL toDateTime(time) + INTERVAL 90 DAY;

-- The two directions of each connection: who writes, the writer's keys, the figures of the direction and of the reverse one.
CREATE VIEW directions AS
SELECT uid, host, is_full, uid_partial, connection.longest_waits AS waits, writer, keys, direction, reverse
FROM smcr_lines ARRAY JOIN ['client', 'server'] AS writer, [client_keys, server_keys] AS keys,
    [connection.to_server, connection.to_client] AS direction, [connection.to_client, connection.to_server] AS reverse
WHERE line = 'connection';

-- 1. Which pairs of hosts fall back, and why?
CREATE VIEW fallbacks AS
SELECT connection.client.addr AS client, connection.server.addr AS server, connection.fallback.reason AS reason,
    count() AS connections
FROM smcr_lines WHERE line = 'connection' AND connection.fallback.reason IS NOT NULL
GROUP BY client, server, reason ORDER BY connections DESC, client, server, reason;

-- 2. Which connections waited longest, and for whom? The longest wait for an answer stands in `longest_waits` only if it
-- is not the longest of `answer_time_s`, or not known.
CREATE VIEW waits AS
SELECT uid, host, writer, kind, lasted_s,
    multiIf(kind IN ('reader', 'answer'), 'the program of the other end', kind = 'space', 'space in the receive buffer',
        'the path') AS waited_for
FROM (SELECT uid, host, wait.writer AS writer, wait.kind AS kind, wait.lasted_s AS lasted_s
    FROM smcr_lines ARRAY JOIN connection.longest_waits AS wait WHERE line = 'connection'
    UNION ALL
    SELECT uid, host, writer, 'answer' AS kind,
        coalesce(direction.answer_time_s.max, direction.answer_time_s.sum) AS lasted_s
    FROM directions
    WHERE NOT ifNull(is_full, false)
        AND NOT arrayExists(wait -> ifNull(wait.kind = 'answer' AND wait.writer = writer, false), waits))
WHERE lasted_s > 0 ORDER BY lasted_s DESC;

-- 3. Which link groups lost a link?
CREATE VIEW lost_links AS
SELECT group_uid, host, uid AS link_uid, link.number AS number, link.state AS state, link.lost_by AS lost_by,
    link.lost_time AS lost_time, link.delete_reason AS delete_reason, link.moved_from AS moved_from
FROM smcr_lines WHERE line = 'link' AND (link.lost_time IS NOT NULL OR link.state = 'lost') ORDER BY lost_time;

-- 4. Which flows see congestion marks, pauses, loss?
CREATE VIEW flows AS
SELECT host, flow.src AS src, flow.dst AS dst, flow.dst_qpn AS dst_qpn, sum(flow.packets) AS packets,
    sum(flow.ecn.ce) AS ce, sum(flow.cnp) AS cnp, sum(flow.repeated) AS retransmitted,
    sum(flow.retransmission_s) AS retransmission_s, sum(flow.pause.still_s) AS paused_s
FROM smcr_lines WHERE line = 'flow' GROUP BY host, src, dst, dst_qpn ORDER BY retransmitted DESC;

-- 5. How long did it take until connections could carry data, by hour?
CREATE VIEW setup_by_hour AS
SELECT toStartOfHour(connection.first_time) AS hour, count(connection.setup_s) AS connections,
    quantileExactLow(0.5)(connection.setup_s) AS p50, quantileExact(0.99)(connection.setup_s) AS p99,
    max(connection.setup_s) AS longest
FROM smcr_lines WHERE line = 'connection' GROUP BY hour ORDER BY hour;

-- 6. How much did each pair of hosts transfer, and how much of it not over RDMA?
CREATE VIEW transferred AS
SELECT connection.client.addr AS client, connection.server.addr AS server, connection.outcome AS outcome,
    count() AS connections, sum(connection.to_server.bytes) AS to_server,
    sum(connection.to_client.bytes) AS to_client,
    toBool(max(ifNull(connection.to_server.lacks_bytes, false)
        OR ifNull(connection.to_client.lacks_bytes, false))) AS is_lower_bound
FROM smcr_lines WHERE line = 'connection' GROUP BY client, server, outcome ORDER BY to_server + to_client DESC;

-- 7. How did connections end, by port of the server?
CREATE VIEW closes AS
SELECT connection.server.port AS port, connection.close AS close, connection.end.aborted_by AS aborted_by,
    count() AS connections
FROM smcr_lines WHERE line = 'connection' GROUP BY port, close, aborted_by ORDER BY port, connections DESC;

-- 8. Where did the time of the writers go, of all connections? Upper and lower bounds.
CREATE VIEW time_of_writers AS
SELECT host, sum(ifNull(t.buffer_full_s, 0)) AS buffer_full_s,
    sum(coalesce(t.buffer_full_most_s, ifNull(t.buffer_full_s, 0) + ifNull(t.unknown_s, 0))) AS buffer_full_most_s,
    sum(ifNull(t.reader_s, 0)) AS reader_s, sum(ifNull(t.answer_s, 0)) AS answer_s,
    sum(coalesce(t.answer_most_s, ifNull(t.answer_s, 0) + ifNull(t.unknown_s, 0))) AS answer_most_s,
    sum(ifNull(t.retransmission_s, 0)) AS retransmission_s, sum(ifNull(t.transfer_s, 0)) AS transfer_s,
    sum(ifNull(t.unknown_s, 0)) AS unknown_s
FROM (SELECT host, direction.time AS t FROM directions) GROUP BY host ORDER BY buffer_full_s + retransmission_s DESC;

-- 9. Which lines are parts of one connection, in the files of a ring? By the names that they have in common. What a part
-- calls its client may be the server: the key says which end it is.
CREATE VIEW keys AS
SELECT uid, host, uid_partial, key, toBool(writer = 'client') AS is_client, direction.bytes AS sent,
    reverse.bytes AS received
FROM directions ARRAY JOIN keys AS key;
CREATE VIEW parts AS
SELECT DISTINCT whole.uid AS uid, whole.host AS host, part.uid AS part_uid,
    if(whole.is_client, part.sent, part.received) AS to_server, if(whole.is_client, part.received, part.sent) AS to_client
FROM keys AS whole JOIN keys AS part ON whole.key = part.key AND whole.host = part.host
WHERE NOT ifNull(whole.uid_partial, false) AND part.uid_partial
ORDER BY uid;

-- 10. What should somebody look at first?
CREATE VIEW findings AS
SELECT finding.severity AS severity, finding.kind AS kind, host, sum(finding.count) AS things, any(finding.text) AS text
FROM smcr_lines WHERE line = 'finding' GROUP BY severity, kind, host
ORDER BY indexOf(['error', 'warn', 'note', 'info'], severity), things DESC;
