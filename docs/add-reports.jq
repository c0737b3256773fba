# Adds the reports of files that follow each other, such as those of a ring, into one report of the same schema.
#
#     jq -s -f docs/add-reports.jq first.json second.json ...
#
# docs/scale.md says which entries are the same, how each member is added up, and what the sum cannot know.
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

def distribution:
    {count: (map(.count) | add // 0), sum: (map(.sum) | add // 0),
     sum_of_squares: (map(.sum_of_squares) | add // 0),
     min: (map(.min) | known | min), max: (map(.max) | known | max)};

# Counts, sums, distributions, and objects of them.
def added:
    known
    | if length == 0 then null
      elif .[0] | type != "object" then add
      elif length == 1 then .[0] | del(.derived)
      elif .[0] | has("sum_of_squares") then distribution
      else . as $values
          | (.[0] | keys_unsorted) as $first
          | $first + ((map(keys_unsorted) | add | unique) - $first) - ["derived"]
          | map({key: ., value: (. as $key | $values | map(.[$key]) | added)})
          | from_entries
      end;

# The input is a list of entries: their members of these names, added up.
def members($names):
    . as $entries
    | $names
    | map({key: ., value: (. as $name | $entries | map(.[$name]) | added)})
    | from_entries;

# An object whose members are the first known ones.
def first_members:
    . as $objects | .[0] | with_entries(.key as $key | .value = ($objects | map(.[$key]) | first_known));

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

def tcp_flow($number):
    {tcp_stream: $number, tcp_isn: (map(.tcp_isn) | first_members)}
    + (.[0] | {src, dst, src_port, dst_port})
    + {first_time: (map(.first_time) | earliest), ecn_initiated: (map(.ecn_initiated) | first_known),
       ecn_accepted: (map(.ecn_accepted) | first_known)}
    + members(["up", "down"]);

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

def names_its_sides: .peers.client.peer_id != null or .peers.server.peer_id != null;

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
    {number: (map(.number) | first_known), index: $number,
     state: (map(.state) | highest(["unconfirmed", "active", "rejected", "deleted"])),
     mtu_bytes: (map(.mtu_bytes) | first_known), client: (map(.client) | first_members),
     server: (map(.server) | first_members), added_frame: null, added_time: (map(.added_time) | first_known),
     deleted_frame: null, deleted_time: (map(.deleted_time) | last_known),
     delete_reason: (map(.delete_reason) | first_known)}
    + members(["moved_from", "moved_to"])
    + {flows: [.[] | $flows[name_of(.flows[])]] | known | unique};

def rmb($streams):
    {owner: (map(.owner) | first_known), size_bytes: (map(.size_bytes) | first_known),
     rkeys: ([.[].rkeys[]] | unique),
     va: (map(.va) | first_known), confirmed_frame: null, confirmed_time: (map(.confirmed_time) | first_known),
     deleted_frame: null, deleted_time: (map(.deleted_time) | last_known),
     streams: ([.[] | $streams[name_of(.streams[])]] | known | unique)};

# `links` and `rmbs`: those of this group, ready.
def link_group($number; $links; $rmbs):
    {index: $number, version: (map(.version) | first_known), type: (map(.type) | last_known),
     peers: {client: (map(.peers.client) | first_members), server: (map(.peers.server) | first_members)},
     eid: (map(.eid) | first_known), vlan: (map(.vlan) | first_known), first_frame: null,
     first_time: (map(.first_time) | earliest), ended_frame: null, ended_time: (map(.ended_time) | last_known),
     links: $links, rmbs: $rmbs};

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
def without_end: .unread_bytes = null | .unannounced_bytes = null;

# The input: parts of a connection. Their direction `way`.
def direction(way):
    (if tells_the_end then . else .[-1] |= (way |= without_end) end)
    | map(way)
    | members(["bytes", "writes", "cdc", "repeated_packets", "repeated_bytes", "blocked_count", "blocked_s",
             "window_full_count", "window_full_s", "ack_time_s", "read_time_s", "urgent_count"])
    + {unread_bytes: .[-1].unread_bytes, unannounced_bytes: .[-1].unannounced_bytes};

def links_of_connection:
    [.[].links[] | .from_frame = null]
    | reduce .[] as $link ([]; if .[-1].number == $link.number and length > 0 then . else . + [$link] end);

def connection($number; $tcp):
    {stream: $number, tcp_stream: (map($tcp[name_of(.tcp_stream) // ""]) | first_known),
     tcp_isn: (map(.tcp_isn) | first_members), tokens: (map(.tokens) | first_members),
     client: (map(.client) | first_members), server: (map(.server) | first_members),
     version: (map(.version) | first_known),
     outcome: (map(.outcome) | highest(["unknown", "tcp", "smc-d", "smc-r", "fallback"])),
     fallback: (map(.fallback) | first_known | if . then .frame = null else . end),
     link_group: (map(.group) | first_known), links: links_of_connection, setup_s: (map(.setup_s) | first_known),
     first_frame: null, first_time: (map(.first_time) | earliest), last_frame: null,
     last_time: (map(.last_time) | latest), began_before: .[0].began_before, goes_on: .[-1].goes_on,
     close: (map(.close) | highest(["unknown", "open", "normal", "reset", "abort"])),
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
    | group_by([.src, .dst, .dst_qpn])
    | map(if .[0] | .src and .dst and .dst_qpn then runs(continues_flow)[] else .[] | [.] end)
    | in_order;

def cm_of_flow:
    known
    | if length == 0 then null
      else {client_state: (map(.client_state) | last_known), server_state: (map(.server_state) | last_known),
            service_id: (map(.service_id) | first_known), port: (map(.port) | first_known),
            reject_reason: (map(.reject_reason) | first_known)} end;

def flow_counts: ["packets", "bytes", "payload_bytes", "goodput_bytes", "opcodes", "ecn", "nak", "rnr_nak", "cnp",
                  "repeated", "repeated_after", "copies", "gaps", "missing", "icrc", "ack_time_s",
                  "completion_time_s", "ce_to_cnp_s"];

def flow($number; $flows):
    {index: $number, peer: (map($flows[name_of(.peer) // ""]) | first_known), src: .[0].src, dst: .[0].dst,
     src_qpn: (map(.src_qpn) | first_known),
     src_qpn_from: (map(.src_qpn_from) | highest(["ack", "port", "deth", "cm", "llc", "clc"])),
     dst_qpn: .[0].dst_qpn, kind: (map(.kind) | highest(["other", "cm", "smc-r"])), cm: (map(.cm) | cm_of_flow),
     first_frame: null, first_time: (map(.first_time) | earliest), last_frame: null,
     last_time: (map(.last_time) | latest)}
    + members(flow_counts);

# ---- lists by kind ----

def joined_fallbacks:
    [.[].fallbacks[]]
    | group_by([.code, .reason, .by])
    | map({code: .[0].code, reason: .[0].reason, by: .[0].by, count: (map(.count) | total)})
    | sort_by(-.count);

def joined_breaches:
    [.[].breaches[]]
    | group_by([.kind, .by])
    | map({kind: .[0].kind, by: .[0].by, count: (map(.count) | total), frame: null, time: (map(.time) | earliest)})
    | sort_by(-.count);

def severities: ["chat", "note", "warn", "error"];

# A filter with a number that holds in its file only says nothing of the sum.
def holds_in_one_file:
    test("\\b(frame\\.number|(tcp|udp|smcr)\\.stream|smcr\\.(lgr|link\\.index|rdma\\.(flow|peer)|cm\\.connection))"
         + " *(==|!=|<|>|in\\b)");

def finding:
    (max_by([.count])) as $worst
    | {severity: (map(.severity) | highest(severities)), kind: $worst.kind,
       text: (if length == 1 then $worst.text else "\($worst.text) (one of \(length) such findings)" end),
       frame: null, time: (map(.time) | earliest),
       filter: (map(.filter) | same | if . and holds_in_one_file then null else . end),
       count: (map(.count) | total)};

def joined_findings:
    [.[].findings[]]
    | to_entries
    | group_by(.value.kind)
    | sort_by(.[0].key)
    | map(map(.value) | finding)
    | sort_by(.severity as $severity | -(severities | index($severity)))
    | .[:10];

# ---- the whole ----

def capture:
    map(.capture)
    | {frames: (map(.frames) | total), bytes: (map(.bytes) | total), first_time: (map(.first_time) | earliest),
       last_time: (map(.last_time) | latest), cut_frames: (map(.cut_frames) | total), passes: (map(.passes) | same),
       filter: (map(.filter) | same), wireshark: (map(.wireshark) | same), plugin: (map(.plugin) | same),
       smcr_roce: (map(.smcr_roce) | same), check_icrc: (map(.check_icrc) | same)};

# A single time, as a distribution.
def sample: {count: 1, sum: ., sum_of_squares: (. * .), min: ., max: .};

# `$of_first`: the summary of the first file, whose sums of nothing are those of all. `$icrc`: with those in no flow.
def summary($of_first; $icrc):
    {connections: (if .connections == [] then $of_first.connections
                   else .connections
                       | {count: length, setup_s: (map(.setup_s) | known | map(sample) | distribution)}
                         + members(["client_to_server", "server_to_client"]) end),
     link_groups: {count: (.link_groups | length)},
     fallbacks: {count: (.fallbacks | map(.count) | add // 0)},
     breaches: {count: (.breaches | map(.count) | add // 0)},
     findings: {count: (.findings | map(.count) | total // 0)},
     rdma_flows: (if .rdma_flows == [] then $of_first.rdma_flows
                  else .rdma_flows | {count: length} + members(flow_counts) end | .icrc = $icrc),
     tcp_flows: (if .tcp_flows == [] then $of_first.tcp_flows
                 else .tcp_flows | {count: length} + members(["up", "down"]) end)};

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
    | {schema: "smcr-report/1", capture: capture, ip: (map(.ip) | added), dropped: (map(.dropped) | total),
       summary: null,
       connections: [$connections | to_entries[] | .key as $number | .value | connection($number; $tcp_numbers)],
       link_groups: [$groups | to_entries[] | .key as $number | .value
                     | link_group($number; $links_by_group["\($number)"] // []; $rmbs_by_group["\($number)"] // [])],
       fallbacks: joined_fallbacks, breaches: joined_breaches, findings: joined_findings,
       rdma_flows: [$flows | to_entries[] | .key as $number | .value | flow($number; $flow_numbers)],
       tcp_flows: [$tcp | to_entries[] | .key as $number | .value | tcp_flow($number)]}
    | .summary = summary($of_first; $icrc);

# ---- nothing is lost ----

# Names of all members, as ".connections.outcome"; but for quotients, which are no sums.
def names($at):
    if type == "object" then
        keys_unsorted[] as $key | select($key != "derived")
        | "\($at).\($key)", (.[$key] | names("\($at).\($key)"))
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
