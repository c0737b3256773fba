# Adds the reports of files that follow each other, such as those of a ring, into one report of the same schema.
#
#     jq -s -f docs/add-reports.jq first.json second.json ...
#
# docs/report.md says which entries are the same, how each member is added up, and what the sum cannot know.
#
# Numbers hold within one file only. So an entry on its way is a part: it has `file`, the number of its report, and
# is known by its `name`, "FILE/NUMBER". The state of a long `reduce` is flat and changes by plain assignments, one a
# step, for jq would copy all of it otherwise.
#
# SPDX-License-Identifier: GPL-2.0-or-later

# ---- one member: the input is the list of its values, in the order of the files ----

def known: map(select(. != null));
def first_known: known | .[0];
def last_known: known | .[-1];
def total: known | add;
def same: unique | if length == 1 then .[0] else null end;
def highest($ranks):
    map(. as $value | $ranks | index([$value])) | known | max as $rank
    | if $rank == null then null else $ranks[$rank] end;

# Times are strings. The longer one is later; of two as long, the greater.
def instant: [length, .];
def earliest: known | min_by(instant);
def latest: known | max_by(instant);

# Histograms have the same bounds, so the count of each bucket is added. `null` is the bucket of zeros.
def bucket_counts:
    [.[].histogram | values
     | {bucket: null, count: .zero_count},
       (.positive | .offset as $offset | .bucket_counts | to_entries[] | {bucket: (.key + $offset), count: .value})
     | select(.count > 0)]
    | group_by(.bucket)
    | map({bucket: .[0].bucket, count: (map(.count) | add)});

# The time of a rank, by the counts of buckets in ascending order; the smallest and the largest are known.
def time_of_rank($rank; $counts; $least; $most):
    if $rank <= 1 then $least
    elif $rank == ($counts | map(.count) | add) then $most
    else reduce $counts[] as $each ({before: 0, bucket: null};
             if .before < $rank then {before: (.before + $each.count), bucket: $each.bucket} else . end)
        | if .bucket == null then 0 else pow(2; .bucket / 8) * 1.0432946174993891 * 1e9 | round / 1e9 end
        | [., $least] | max | [., $most] | min
    end;

def histogram($counts; $least; $most):
    ($counts | map(.count) | add) as $count
    | ($counts | map(select(.bucket != null))) as $positive
    | def quantile($per_mille): time_of_rank($count * $per_mille / 1000 | ceil; $counts; $least; $most);
    {median: quantile(500), p95: quantile(950), p99: quantile(990), p999: quantile(999), scale: 3,
     zero_count: ($counts | map(select(.bucket == null).count) | add // 0),
     positive: ($positive[0].bucket as $first
                | {offset: ($first // 0),
                   bucket_counts: (reduce $positive[] as $each ([]; .[$each.bucket - $first] = $each.count)
                                   | map(. // 0))})};

def distribution:
    {count: (map(.count) | add // 0), sum: (map(.sum) | add // 0),
     sum_of_squares: (map(.sum_of_squares) | add // 0),
     min: (map(.min) | known | min), max: (map(.max) | known | max)}
    + if any(has("histogram"))
      then bucket_counts as $counts
          | (map(.min) | known | min) as $least
          | (map(.max) | known | max) as $most
          | {histogram: (if $counts == [] then null else histogram($counts; $least; $most) end)}
      else {} end;

# Counts, sums, distributions, and objects of them, without members that are no sums.
def no_sums: ["derived", "lacks_bytes", "longest", "port_mac", "ack_timeout"];
def added:
    known
    | if length == 0 then null
      elif .[0] | type != "object" then add
      elif length == 1 then .[0] | delpaths(no_sums | map([.]))
      elif .[0] | has("sum_of_squares") then distribution
      else . as $values
          | (.[0] | keys_unsorted) as $first
          | $first + ((map(keys_unsorted) | add | unique) - $first) - no_sums
          | map({key: ., value: (. as $key | $values | map(.[$key]) | added)})
          | from_entries
      end;

# The input is a list of entries: what their summary has of them, added up.
def members($summary):
    . as $entries
    | $summary
    | with_entries(.key as $name | select($entries[0] | has($name)) | .value = ($entries | map(.[$name]) | added));

# ---- rules: tests/figures-doc writes them ----
def rules: {
    "capture": {"frames": "total", "bytes": "total", "first_time": "earliest", "last_time": "latest", "cut_frames":
        "total", "roce_frames": "total", "point_copies": "total", "flows_not_counted": "total", "passes": "same",
        "filter": "same", "wireshark": "same", "plugin": "same", "smcr_roce": "same", "check_icrc": "same",
        "link_speed": "same"},
    "other_roce": {"packets": "total", "unread": "total", "queue_pairs": "same", "repeated": "total", "naks": "total",
        "rnr_naks": "total", "ce": "total", "cnp": "total", "first_frame": "null", "first_time": "earliest"},
    "number_pair": {"client": "first", "server": "first"},
    "text_pair": {"client": "first", "server": "first"},
    "size_pair": {"client": "first", "server": "first"},
    "endpoint": {"addr": "first", "port": "first"},
    "conn_direction": {"bytes": "total", "lacks_bytes": "own", "writes": "total", "cdc": "total", "repeated_packets":
        "total", "repeated_bytes": "total", "blocked_count": "total", "window_full_count": "total", "time": "total",
        "reader_time_s": "total", "drain_time_s": "total", "ack_time_s": "total", "read_reported_s": "total",
        "answer_time_s": "total", "slow_answers": "total", "slow_answers_s": "total", "unasked_writes": "total",
        "urgent_count": "total", "unreported_bytes": "tail", "unannounced_bytes": "tail"},
    "conn_setup": {"tcp_s": "first", "accept_s": "first", "confirm_s": "first", "llc_s": "first", "fallback_s":
        "first"},
    "connection": {"stream": "own", "tcp_stream": "own", "roce_stream": "own", "tcp_isn": {"of": "number_pair"},
        "tokens": {"of": "text_pair"}, "client": {"of": "endpoint"}, "server": {"of": "endpoint"}, "version": "first",
        "outcome": ["unknown", "no-connection", "failed", "tcp", "smc-d", "smc-r", "fallback"], "fallback": "own",
        "link_group": "own", "links": "own", "setup_s": "first", "setup": {"of": "conn_setup"}, "setup_longest":
        "first", "buffer_bytes": {"of": "size_pair"}, "first_frame": "null", "first_time": "earliest", "last_frame":
        "null", "last_time": "latest", "began_before": "head", "ends": "own", "named_by": "first", "named_frame":
        "null", "named_time": "first", "goes_on": "tail", "close": ["unknown", "open", "normal", "reset", "abort"],
        "reset_by": "first", "client_to_server": "own", "server_to_client": "own"},
    "peer": {"peer_id": "first", "host_name": "first", "system": "first"},
    "peers": {"client": {"of": "peer"}, "server": {"of": "peer"}},
    "queue_pair": {"gid": "first", "mac": "first", "qpn": "first"},
    "link": {"number": "first", "index": "own", "state": ["unconfirmed", "active", "lost", "rejected", "deleted"],
        "state_frame": "null", "state_time": "latest", "mtu_bytes": "first", "client": {"of": "queue_pair"}, "server":
        {"of": "queue_pair"}, "added_frame": "null", "added_time": "first", "deleted_frame": "null", "deleted_time":
        "last", "lost_frame": "null", "lost_time": "first", "lost_by": "first", "delete_reason": "first",
        "moved_from": "total", "moved_to": "total", "flows": "own"},
    "rmb": {"owner": "first", "size_bytes": "first", "rkeys": "own", "va": "first", "confirmed_frame": "null",
        "confirmed_time": "first", "deleted_frame": "null", "deleted_time": "last", "streams": "own"},
    "link_group": {"index": "own", "version": "first", "type": "last", "peers": {"of": "peers"}, "ends": "own", "eid":
        "first", "vlan": "first", "first_frame": "null", "first_time": "earliest", "ended_frame": "null",
        "ended_time": "last", "links": "own", "rmbs": "own"},
    "fallback": {"code": "head", "reason": "head", "by": "head", "count": "total"},
    "breach": {"kind": "head", "by": "head", "count": "total", "frame": "null", "time": "earliest"},
    "finding": {"severity": ["info", "note", "warn", "error"], "kind": "own", "text": "own", "frame": "null", "time":
        "earliest", "filter": "own", "count": "total"},
    "flow_cm": {"client_state": "last", "server_state": "last", "service_id": "first", "port": "first",
        "reject_reason": "first"},
    "flow_pause": {"port_mac": "same", "standstills": "total", "still_s": "total", "still_most_s": "total"},
    "flow_recovery": {"gap_to_nak_s": "total", "nak_to_resend_s": "total", "timeout_s": "total", "retry_s": "total",
        "ack_timeout": "same", "go_back_n": "total", "selective": "total", "refilled": "total", "needless": "total",
        "reordered": "total", "reorder_depth": "total", "late_s": "total", "unfilled": "total"},
    "flow_network": {"tunnel": "head", "tunnel_id": "head", "vlan": "head", "outer_vlan": "head"},
    "flow_port": {"port": "head", "packets": "total"},
    "rdma": {"index": "own", "peer": "own", "src": "head", "dst": "head", "src_qpn": "first", "src_qpn_from": ["ack",
        "port", "deth", "cm", "llc", "clc"], "dst_qpn": "head", "network": {"of": "flow_network"}, "udp_ports": "own",
        "port_changes": "total", "kind": ["other", "cm", "smc-r"], "cm": {"of": "flow_cm"}, "first_frame": "null",
        "first_time": "earliest", "last_frame": "null", "last_time": "latest", "packets": "total", "bytes": "total",
        "payload_bytes": "total", "cdc_bytes": "total", "llc_bytes": "total", "goodput_bytes": "total", "opcodes":
        "total", "ecn": "total", "outer_ce": "total", "classes": "total", "cnp_pacing": "total", "reaction": "total",
        "withheld": "total", "nak": "total", "rnr_nak": "total", "cnp": "total", "repeated": "total",
        "repeated_after": "total", "retransmission_s": "total", "rnr_wait_s": "total", "silent_s": "total",
        "silences": "total", "silent_repeated": "total", "acked_longest": "first", "pause": {"of": "flow_pause"},
        "recovery": {"of": "flow_recovery"}, "reordered_frame": "null", "reordered_time": "first", "late_naks":
        "total", "copies": "total", "knows_copies": "first", "gaps": "total", "missing": "total", "not_captured":
        "total", "not_captured_frame": "null", "not_captured_time": "first", "icrc": "total", "ack_time_s": "total",
        "completion_time_s": "total", "repeated_completion_time_s": "total", "ce_to_cnp_s": "total"},
    "udp_port": {"src": "head", "dst": "head", "port": "head", "packets": "total", "flows": "own"},
    "adapter": {"addr": "head", "network": {"of": "flow_network"}, "gap_to_nak_s": "total", "ce_to_cnp_s": "total",
        "nak_to_resend_s": "total", "timeout_s": "total", "retry_s": "total", "ack_timeout": "same", "go_back_n":
        "total", "selective": "total", "recovery": "same", "cnp": "total", "cnp_pacing": "total", "withheld": "total"},
    "pause": {"port_mac": "own", "kind": "own", "priority": "own", "frames": "total", "resumes": "total", "cut":
        "total", "quanta": "total", "paused_s": "total", "paused_most_s": "total", "first_frame": "null",
        "first_time": "earliest", "last_frame": "null", "last_time": "latest", "has_flow": "own"},
    "way": {"from": "head", "to": "head", "from_interface": "head", "to_interface": "head", "src": "head", "dst":
        "head", "packets": "total", "at_both": "total", "lost": "total", "lost_inferred": "total", "lost_after":
        "total", "unanswered": "total", "not_captured_from": "total", "not_captured_to": "total", "reordered":
        "total", "marked_ce": "total", "dscp_changed": "total", "delayed": "total", "fragmented": "total",
        "undecided": "total", "lost_frame": "null", "lost_time": "earliest", "lost_after_frame": "null",
        "lost_after_time": "earliest", "not_captured_frame": "null", "not_captured_time": "earliest",
        "reordered_frame": "null", "reordered_time": "earliest", "marked_frame": "null", "marked_time": "earliest",
        "clocks_agree": "first", "same_capture": "first"},
    "tcp": {"tcp_stream": "own", "tcp_isn": {"of": "number_pair"}, "src": "head", "dst": "head", "src_port": "head",
        "dst_port": "head", "first_time": "earliest", "last_frame": "null", "last_time": "latest", "ecn_initiated":
        "first", "ecn_accepted": "first", "up": "total", "down": "total"},
    "report": {"schema": "own", "capture": {"of": "capture"}, "ip": "total", "dropped": "total", "summary": "own",
        "connections": "own", "link_groups": "own", "fallbacks": "own", "breaches": "own", "findings": "own",
        "rdma_flows": "own", "other_roce": {"of": "other_roce"}, "udp_ports": "own", "adapters": "own", "pauses":
        "own", "points": "own", "tcp_flows": "own"}
};
def left_out: ["clock", "cnp_limit", "delay", "derived", "end", "handshake_end", "intervals", "intervals", "longest", "longest_silence", "longest_waits", "marked_share", "open_wait", "states", "stuck", "translated_client", "translated_server"];
# ---- end of the rules ----

# What has a rule of its own below, until that has been asked.
def unset: "add-reports.jq has no rule for it";

# The input is a list of entries of this kind: one entry, its members added up by their rules.
def combined($rules; $kind):
    def by($rule):
        if $rule == "total" then added
        elif $rule == "first" then first_known
        elif $rule == "last" then last_known
        elif $rule == "head" then .[0]
        elif $rule == "tail" then .[-1]
        elif $rule == "earliest" then earliest
        elif $rule == "latest" then latest
        elif $rule == "same" then same
        elif $rule | type == "array" then highest($rule)
        elif $rule | type == "object" then known | if length == 0 then null else combined($rules; $rule.of) end
        elif $rule == "own" then unset
        else null end;
    . as $entries
    | $rules[$kind]
    | with_entries(.key as $name | .value as $rule | .value = ($entries | map(.[$name]) | by($rule)));
def combined($kind): combined(rules; $kind);

# ---- parts ----

# All entries of a list of the reports.
def parts_of(list; number):
    [to_entries[] | .key as $file | .value | list[] | .file = $file | .name = "\($file)/\(number)"];

def name_of($number): if $number == null then null else "\(.file)/\($number)" end;

# Lists of parts, in the order in which they begin; those without a time come first.
def in_order: sort_by([(map(.first_time) | earliest | instant), .[0].file]);

# Lists of parts -> {name of a part: number of its list}
def numbers: to_entries | map(.key as $number | .value[] | {key: .name, value: $number}) | from_entries;

# Parts with the same key, in order -> lists of parts that are the same. A part joins the last list that began in an
# earlier file and that it continues: `continues` gets {run, part, again}. `again`: the list has one of its file.
def runs(continues):
    reduce .[] as $part ([];
        ([to_entries[]
          | select(.value[0].file < $part.file
                   and ({run: .value, part: $part, again: (.value[-1].file == $part.file)} | continues))
          | .key] | max) as $at
        | if $at == null then . + [[$part]] else .[$at] += [$part] end);

# Parts with `marks` [{key, client, server, begins, ...}] -> {name: {to: name of the first part, turned}}. Two parts are
# the same if they share a mark, and that of the first began in an earlier file. `is_new` is asked with {before, now},
# the mark in both files, whether it is another one by now. `turned`: their `client` differs. `choose`: of several.
def joined_by_marks(is_new; choose):
    def steps:
        .[] | {file, name, marks}, (.name as $name | .marks[] | {name: $name, note: .});
    reduce steps as $step ({};
        if $step.marks then
            ([.["mark \($step.marks[] | .key)"]] | [., $step.marks] | transpose
             | map(select(.[0] != null and (.[0].began < $step.file)
                          and ({before: .[0], now: .[1]} | is_new | not))
                   | {to: .[0].to, began: .[0].began, turned: (.[0].client != .[1].client)})
             | choose // {to: $step.name, began: $step.file, turned: false}) as $joined
            | .["part \($step.name)"] = $joined
        else
            .["part \($step.name)"] as $joined
            | .["mark \($step.note.key)"] as $before
            | .["mark \($step.note.key)"] = {to: $joined.to, began: $joined.began, ended: $step.note.ended,
                other: (if $step.note.other == null and $before.to == $joined.to then $before.other
                        else $step.note.other end),
                client: (if $joined.turned then $step.note.server else $step.note.client end)}
        end)
    | with_entries(select(.key | startswith("part ")) | .key |= ltrimstr("part "));

# ---- sides: a file that begins late may take the client for the server ----

def other_side: if . == "client" then "server" elif . == "server" then "client" else . end;
def turned: .client as $client | .client = .server | .server = $client;

def turned_group:
    .peers |= turned
    | .type |= (if . == "asymmetric-local" then "asymmetric-peer"
                elif . == "asymmetric-peer" then "asymmetric-local" else . end)
    | .links |= map(turned)
    | .rmbs |= map(.owner |= other_side);

def turned_connection:
    turned
    | .tcp_isn |= turned
    | .tokens |= turned
    | (if .fallback then .fallback.by |= other_side else . end)
    | .reset_by |= other_side
    | .client_to_server as $there | .client_to_server = .server_to_client | .server_to_client = $there;

def turned_tcp:
    [.src, .src_port] as [$addr, $port]
    | .src = .dst | .src_port = .dst_port | .dst = $addr | .dst_port = $port
    | .up as $up | .up = .down | .down = $up;

# ---- TCP flows ----

# TCP connections with the same addresses and ports are the same, unless a SYN came between.
def continues_tcp:
    .part.tcp_isn as $isn
    | (.run | map(.tcp_isn.client) | first_known) as $client
    | (.run | map(.tcp_isn.server) | first_known) as $server
    | (.again | not)
      and ($isn.client == null or $isn.client == $client)
      and ($isn.server == null or $isn.server == $server or ($server == null and $client != null));

def joined_tcp:
    parts_of(.tcp_flows; .tcp_stream)
    | group_by([[.src, .src_port], [.dst, .dst_port]] | sort)
    | map(runs(continues_tcp)[]
          | [.[0].src, .[0].src_port] as $source
          | map(if [.src, .src_port] == $source then . else turned_tcp end))
    | in_order;

def tcp_flow($number): combined("tcp") + {tcp_stream: $number};

# ---- link groups, links, RMBs ----

def end_name: if .gid == null or .qpn == null then null else "\(.gid) \(.qpn)" end;

# Whether the file has a message that announces the link: only these tell the MTU.
def is_announced: .mtu_bytes != null;

# The queue pairs of a link, as far as they are known: their sides, and what is opposite.
def queue_pair_marks($prefix):
    (.client | end_name) as $client | (.server | end_name) as $server
    | {begins: is_announced, ended: (.deleted_time != null)} as $times
    | [{key: $client, other: $server, client: "client", server: "server"},
       {key: $server, other: $client, client: "server", server: "client"}
       | select(.key != null) | .key = "\($prefix) \(.key)" | . + $times];

# A queue pair number that is used again: the link was deleted, or what is opposite is another one.
def is_new_link:
    (.before.ended and .now.begins) or (.before.other != null and .now.other != null and .before.other != .now.other);

# Each RKey of an RMB, within its group. CONFIRM RKEY begins another one, whatever had the RKey before.
def rmb_marks($group):
    [.rkeys[] as $each | select($each.link != null and $each.rkey != null)
     | {key: "\($group) \(.owner) \($each.link) \($each.rkey)", client: null, server: null,
        begins: (.confirmed_time != null)}];

def names_its_sides: .ends == null;

# Of parts, the first of which says how they are turned: both ends, unless one of them knows which is the client.
def ends: if all(.[]; .ends) then .[0].ends else null end;

# The sides are those of the first file that knows which is the client.
def joined_groups:
    parts_of(.link_groups; .index)
    | map(.marks = [.links[] | queue_pair_marks("")[]])
    | joined_by_marks(is_new_link; .[0]) as $joined
    | map(. + $joined[.name])
    | group_by(.to)
    | map((map(select(names_its_sides)) | .[0].turned // false) as $turned
          | map(.turned = (.turned != $turned) | if .turned then turned_group else . end))
    | in_order;

# Lists of parts of links, each with `group`, the number of its group.
def joined_links($groups):
    [$groups | to_entries[] | .key as $group | .value[] | .file as $file | .links[]
     | .file = $file | .group = $group | .name = "\($file)/\(.index)" | .marks = queue_pair_marks($group)]
    | joined_by_marks(is_new_link; .[0]) as $joined
    | map(. + $joined[.name])
    | group_by(.to)
    | sort_by([.[0].file, .[0].index]);

# A file that begins late may not know the number of its only link.
def numbered_rkeys($links):
    (if .links | length == 1 then [$links[.links[0] as $link | name_of($link.index)][].number] | first_known
     else null end) as $number
    | .rmbs |= map(.rkeys |= map(.link = (.link // $number)));

# `$links`: {name of a link: its parts}
def joined_rmbs($groups; $links):
    [$groups | to_entries[] | .key as $group | .value[] | numbered_rkeys($links)
     | .file as $file | .index as $index | .rmbs | to_entries[] | .key as $number | .value
     | .file = $file | .group = $group | .name = "\($file)/\($index)/\($number)" | .marks = rmb_marks($group)]
    | joined_by_marks(.now.begins; .[0]) as $joined
    | map(. + $joined[.name])
    | group_by(.to)
    | sort_by(.[0].name | split("/") | map(tonumber? // -1));

def link($number; $flows):
    combined("link") + {index: $number, flows: [.[] | $flows[name_of(.flows[])]] | known | unique};

def rmb($streams):
    combined("rmb") + {rkeys: [.[].rkeys[]] | unique, streams: [.[] | $streams[name_of(.streams[])]] | known | unique};

# `links` and `rmbs`: those of this group, ready.
def link_group($number; $links; $rmbs):
    combined("link_group") + {index: $number, ends: ends, links: $links, rmbs: $rmbs};

# ---- connections ----

def socket: [.client, .server] | if all(.[]; .addr != null and .port != null) then sort | tostring else null end;

# The tokens of a connection, in its link group. With addresses it is known by these; so its tokens begin with it,
# whoever had them before.
def token_marks:
    .group as $group | (.socket != null) as $begins
    | [{side: "client", token: .tokens.client}, {side: "server", token: .tokens.server}
       | select($group != null and .token != null)
       | {key: "\($group) \(.side) \(.token)", client: null, server: null, begins: $begins}];

# A list of parts that are the same by their tokens: one with addresses gives them to all.
def one_of_tokens:
    (map(select(.socket)) | .[0]) as $knows
    | if $knows then {file: $knows.file, key: $knows.socket, tcp_isn: $knows.tcp_isn, parts: .}
      else {file: .[0].file, key: .[0].name, tcp_isn: .[0].tcp_isn, parts: .} end;

# Parts with addresses, turned so that all have the client of the first one.
def one_way_round:
    (map(select(.socket)) | .[0].client) as $client
    | map(if .socket and .client != $client then turned_connection else . end);

def joined_connections($groups; $turned):
    parts_of(.connections; .stream)
    | map(.group = $groups[name_of(.link_group) // ""]
          | (if $turned[name_of(.link_group) // ""] then turned_connection else . end)
          | .socket = socket
          | .marks = token_marks)
    | joined_by_marks(.now.begins; unique_by(.to) | if length == 1 then .[0] else null end) as $joined
    | map(. + $joined[.name])
    | group_by(.to)
    | map(one_of_tokens)
    | group_by(.key)
    | map(sort_by(.file) | runs(continues_tcp)[] | map(.parts[]) | sort_by(.file) | one_way_round)
    | in_order;

# What is left at the end is told by the last file only, and only if that sees the messages of both ends.
def tells_the_end:
    length == 1 or (.[-1].file != .[-2].file and .[-1].tokens.client != null and .[-1].tokens.server != null);
def without_end: .unreported_bytes = null | .unannounced_bytes = null;

# The input: parts of a connection. Their direction `way`.
def direction(way):
    (if tells_the_end then . else .[-1] |= (way |= without_end) end)
    | map(way)
    | combined("conn_direction") + {lacks_bytes: (if length == 1 then .[0].lacks_bytes else null end)};

def links_of_connection:
    [.[].links[] | .from_frame = null]
    | reduce .[] as $link ([]; if .[-1].number == $link.number and length > 0 then . else . + [$link] end);

# A wait that a cut has parted is known in its parts only.
def longest_waits:
    [.[].longest_waits[]?] | group_by([.writer, .kind]) | map(max_by(.lasted_s) | .begin_frame = null | .end_frame = null);

def connection($number; $tcp):
    combined("connection")
    + {stream: $number, tcp_stream: map($tcp[name_of(.tcp_stream) // ""]) | first_known,
       roce_stream: null,
       fallback: (map(.fallback) | first_known | (if . then .frame = null | .crossed_frame = null else . end)),
       link_group: map(.group) | first_known, links: links_of_connection, ends: ends,
       longest_waits: longest_waits,
       client_to_server: direction(.client_to_server), server_to_client: direction(.server_to_client)};

# ---- RDMA flows ----

def no_conflict($one; $other): $one == null or $other == null or $one == $other;
def in_setup: [.client_state, .server_state] | any(. != null and test("^(mra_)?re[qp]_"));

# The same link, or none known; the same source. A REQ begins a new connection, unless one is being set up.
def continues_flow:
    .part as $part
    | no_conflict(.run | map(.src_qpn) | first_known; $part.src_qpn)
      and (if .again then $part.link != null and any(.run[]; .link == $part.link)
           else no_conflict(.run | map(.link) | first_known; $part.link) end)
      and ($part.cm.service_id == null
           or (.run | map(.cm | select(. != null)) | length == 0 or (.[-1] | in_setup)));

# `$links`: {name of a flow: number of its link}
def joined_flows($links):
    parts_of(.rdma_flows; .index)
    | map(.link = $links[.name])
    | group_by([.src, .dst, .dst_qpn, .network])
    | map(if .[0] | .src and .dst and .dst_qpn then runs(continues_flow)[] else .[] | [.] end)
    | in_order;

def flow($number; $flows):
    combined("rdma")
    + {index: $number, peer: map($flows[name_of(.peer) // ""]) | first_known,
       udp_ports: (map(.udp_ports[]) | group_by(.port) | map(combined("flow_port")))};

# Ports between the same addresses.
def joined_ports($flows):
    parts_of(.udp_ports; 0)
    | map(. as $port | .flows |= map($flows["\($port.file)/\(.)"]))
    | group_by([.src, .dst, .port])
    | map(combined("udp_port") + {flows: (map(.flows[]) | unique)});

# ---- lists by kind ----

def joined_fallbacks:
    [.[].fallbacks[]]
    | group_by([.code, .reason, .by])
    | map(combined("fallback"))
    | sort_by(-.count);

def joined_breaches:
    [.[].breaches[]]
    | group_by([.kind, .by])
    | map(combined("breach"))
    | sort_by(-.count);

def joined_pauses:
    [.[].pauses[]]
    | group_by([.port_mac, .kind, .priority])
    | map(combined("pause")
          + {port_mac: .[0].port_mac, kind: .[0].kind, priority: .[0].priority,
             has_flow: (map(.has_flow) | if any(.[]; . == true) then true
                                         elif any(.[]; . == null) then null else false end)});

def joined_adapters:
    [.[].adapters[]]
    | group_by([.addr, .network])
    | map(combined("adapter"));

def joined_points:
    [.[].points[]]
    | group_by([.from, .to, .src, .dst])
    | map(combined("way"));

# A filter with a number that holds in its file only says nothing of the sum.
def holds_in_one_file:
    test("\\b(frame\\.number|(tcp|udp|smcr)\\.stream|smcr\\.(lgr|link\\.index|rdma\\.(flow|peer)|cm\\.connection))"
         + " *(==|!=|<|>|in\\b)");

def finding:
    (max_by([.count])) as $worst
    | combined("finding")
    + {kind: $worst.kind,
       text: (if length == 1 then $worst.text else "\($worst.text) (one of \(length) such findings)" end),
       filter: map(.filter) | same | (if . and holds_in_one_file then null else . end)};

def joined_findings:
    [.[].findings[]]
    | to_entries
    | group_by(.value.kind)
    | sort_by(.[0].key)
    | map(map(.value) | finding)
    | sort_by(.severity as $severity | -(rules.finding.severity | index($severity)))
    | .[:10];

# ---- the whole ----

# A single time, as a distribution.
def sample:
    (if . == 0 then {bucket: null, count: 1} else {bucket: (log2 * 8 | ceil - 1), count: 1} end) as $counted
    | {count: 1, sum: ., sum_of_squares: (. * .), min: ., max: ., histogram: histogram([$counted]; .; .)};

# `$of_first`: the summary of the first file, whose sums of nothing are those of all. `$icrc`: with those in no flow.
def summary($of_first; $icrc):
    {connections: (if .connections == [] then $of_first.connections
                   else .connections
                       | {count: length} + members($of_first.connections)
                         + {setup_s: (map(.setup_s) | known | map(sample) | distribution | .histogram = .histogram)} end),
     link_groups: {count: (.link_groups | length)},
     fallbacks: {count: (.fallbacks | map(.count) | add // 0)},
     breaches: {count: (.breaches | map(.count) | add // 0)},
     findings: {count: (.findings | map(.count) | total // 0)},
     rdma_flows: (if .rdma_flows == [] then $of_first.rdma_flows
                  else .rdma_flows | {count: length} + members($of_first.rdma_flows) end | .icrc = $icrc),
     udp_ports: (if .udp_ports == [] then $of_first.udp_ports
                 else .udp_ports | {count: length} + members($of_first.udp_ports) end),
     pauses: (if .pauses == [] then $of_first.pauses
              else .pauses | {count: length} + members($of_first.pauses) end),
     adapters: (if .adapters == [] then $of_first.adapters
                else .adapters | {count: length} + members($of_first.adapters) end),
     points: (if .points == [] then $of_first.points
              else .points | {count: length} + members($of_first.points) end),
     tcp_flows: (if .tcp_flows == [] then $of_first.tcp_flows
                 else .tcp_flows | {count: length} + members($of_first.tcp_flows) end)};

# {name of a flow: number of its link}
def links_of_flows:
    [to_entries[] | .key as $link | .value[] | name_of(.flows[]) | {key: ., value: $link}] | from_entries;

def whole:
    .[0].summary as $of_first
    | (map(.summary.rdma_flows.icrc) | added) as $icrc
    | joined_tcp as $tcp
    | ($tcp | numbers) as $tcp_numbers
    | joined_groups as $groups
    | ($groups | numbers) as $group_numbers
    | ($groups | map(.[] | {key: .name, value: .turned}) | from_entries) as $turned
    | joined_links($groups) as $links
    | ($links | numbers) as $link_numbers
    | joined_connections($group_numbers; $turned) as $connections
    | ($connections | numbers) as $streams
    | joined_flows($links | links_of_flows) as $flows
    | ($flows | numbers) as $flow_numbers
    | ($links | to_entries | map(.key as $number | .value | {group: .[0].group, it: link($number; $flow_numbers)})
       | group_by(.group) | map({key: "\(.[0].group)", value: map(.it)}) | from_entries) as $links_by_group
    | (joined_rmbs($groups; $links | map(. as $parts | .[] | {key: .name, value: $parts}) | from_entries)
       | map({group: .[0].group, it: rmb($streams)})
       | group_by(.group) | map({key: "\(.[0].group)", value: map(.it)}) | from_entries) as $rmbs_by_group
    | combined("report")
    + {schema: "smcr-report/1", summary: null,
       connections: [$connections | to_entries[] | .key as $number | .value | connection($number; $tcp_numbers)],
       link_groups: [$groups | to_entries[] | .key as $number | .value
                     | link_group($number; $links_by_group["\($number)"] // []; $rmbs_by_group["\($number)"] // [])],
       fallbacks: joined_fallbacks, breaches: joined_breaches, findings: joined_findings,
       rdma_flows: [$flows | to_entries[] | .key as $number | .value | flow($number; $flow_numbers)],
       marked_share: null, udp_ports: joined_ports($flow_numbers), pauses: joined_pauses,
       adapters: joined_adapters,
       points: joined_points,
       tcp_flows: [$tcp | to_entries[] | .key as $number | .value | tcp_flow($number)]}
    | .summary = summary($of_first; $icrc);

# ---- nothing is lost ----

# Names of all members, as ".connections.outcome"; but for those that are no sums. A histogram is added as a whole.
def names($at):
    if type == "object" then
        keys_unsorted[] as $key | select((left_out | index($key) | not) and .[$key] != unset)
        | "\($at).\($key)", (select($key != "histogram") | .[$key] | names("\($at).\($key)"))
    elif type == "array" then .[] | names($at)
    else empty end;
def known_names: reduce (.[] | names("")) as $name ({}; .[$name] = true);

# A member that no definition above names would be missing in the sum.
def complete($reports):
    (($reports | known_names | keys) - ([.] | known_names | keys)) as $lost
    | if $lost == [] then .
      else error("add-reports.jq: it does not know how to add up \($lost | join(", ")); please take the file that came with"
                 + " the plugin that wrote the reports") end;

if length == 0 or any(.[]; type != "object" or .schema != "smcr-report/1") then
    error("add-reports.jq: please name files that tshark -q -z smcr,json has written; jq needs -s")
elif length == 1 then .[0]
else sort_by(.capture.first_time | instant) as $reports | $reports | whole | complete($reports) end
