/* Writes numbers with their units, and names of connections, queue pairs and links. Decimals are
 * made of integers, since printf() would use the decimal point of the locale.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "words.h"

#include "wire/wire.h"

#define MINUTE (60 * SMCR_TIME_SECOND)

const char *
smcr_words_number(wmem_allocator_t *scope, uint64_t number)
{
    if (number < 1000)
        return wmem_strdup_printf(scope, "%" PRIu64, number);
    const char *upper = smcr_words_number(scope, number / 1000);
    return wmem_strdup_printf(scope, "%s,%03" PRIu64, upper, number % 1000);
}

const char *
smcr_words_things(wmem_allocator_t *scope, uint64_t number, const char *thing)
{
    return wmem_strdup_printf(scope, "%s %s%s", smcr_words_number(scope, number), thing,
                              number == 1 ? "" : "s");
}

const char *
smcr_words_others(wmem_allocator_t *scope, uint64_t number, const char *thing)
{
    if (!number)
        return "";
    return wmem_strdup_printf(scope, " (and %s more %s%s)", smcr_words_number(scope, number), thing,
                              number == 1 ? "" : "s");
}

/* Counts of 0 and unknown counts are left out. */
const char *
smcr_words_counts(wmem_allocator_t *scope, const smcr_words_count_t *counts, size_t length)
{
    wmem_strbuf_t *text = wmem_strbuf_new(scope, "");

    for (size_t i = 0; i < length; i++)
        if (smcr_figure_or_zero(counts[i].count))
            wmem_strbuf_append_printf(text, "%s%s %s", wmem_strbuf_get_len(text) ? ", " : "",
                                      smcr_words_number(scope, counts[i].count), counts[i].what);
    return wmem_strbuf_finalize(text);
}

/* printf() would write the decimal point of the locale. */
const char *
smcr_words_decimal(wmem_allocator_t *scope, double number, unsigned decimals)
{
    char format[] = "%.0f", text[G_ASCII_DTOSTR_BUF_SIZE];

    format[2] = (char)('0' + MIN(decimals, 6));
    return wmem_strdup(scope, g_ascii_formatd(text, sizeof text, format, number));
}

/* Returns the text of `number` divided by `unit`, rounded to `decimals` decimals (0, 1 or 2). */
static const char *
quotient(wmem_allocator_t *scope, double number, double unit, unsigned decimals)
{
    static const uint64_t scales[] = {1, 10, 100};
    uint64_t scale = scales[decimals];
    uint64_t scaled = (uint64_t)(number / unit * (double)scale + 0.5);
    const char *whole = smcr_words_number(scope, scaled / scale);

    if (!decimals)
        return whole;
    return wmem_strdup_printf(scope, "%s.%0*" PRIu64, whole, (int)decimals, scaled % scale);
}

/* Returns "number unit". */
static const char *
with_unit(wmem_allocator_t *scope, const char *number, const char *unit)
{
    return wmem_strdup_printf(scope, "%s %s", number, unit);
}

/* ---- bytes ---- */

/* Returns bytes in the largest of the units KiB, MiB, GiB and TiB that gives a number of at least
 * 1; "0.5 KiB" for fewer bytes. */
static const char *
binary_size(wmem_allocator_t *scope, uint64_t bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
    double unit = 1024;
    unsigned i = 0;

    for (; i + 1 < G_N_ELEMENTS(units) && (double)bytes >= 1023.95 * unit; i++)
        unit *= 1024;
    return with_unit(scope, quotient(scope, (double)bytes, unit, 1), units[i]);
}

const char *
smcr_words_other_roce(wmem_allocator_t *scope, const smcr_entry_other_roce_t *others)
{
    if (!others)
        return "";
    return SMCR_WORDS_COUNTS(scope,
                             {others->repeated, "retransmitted, duplicate or out-of-order packets"},
                             {others->naks, others->naks == 1 ? "NAK" : "NAKs"},
                             {others->rnr_naks, others->rnr_naks == 1 ? "RNR NAK" : "RNR NAKs"},
                             {others->ce, "marked CE"},
                             {others->cnp, others->cnp == 1 ? "CNP" : "CNPs"});
}

const char *
smcr_words_bytes(wmem_allocator_t *scope, uint64_t bytes)
{
    return bytes < 100000 ? smcr_words_things(scope, bytes, "byte") : binary_size(scope, bytes);
}

const char *
smcr_words_size(wmem_allocator_t *scope, uint64_t bytes)
{
    if (bytes < 1024)
        return with_unit(scope, smcr_words_number(scope, bytes), "B");
    return binary_size(scope, bytes);
}

/* ---- time ---- */

/* Returns a duration of two minutes or more: "10 min 30 s"; from one hour on "2 h 5 min"; from 100
 * hours on "3,120 h". The rounded number of seconds decides: 59 min 59.6 s is "1 h 0 min". */
static const char *
long_duration(wmem_allocator_t *scope, uint64_t time)
{
    uint64_t seconds = (time + SMCR_TIME_SECOND / 2) / SMCR_TIME_SECOND;

    if (seconds < 3600)
        return wmem_strdup_printf(scope, "%" PRIu64 " min %" PRIu64 " s", seconds / 60,
                                  seconds % 60);
    if (seconds >= 360000)
        return wmem_strdup_printf(scope, "%s h", smcr_words_number(scope, seconds / 3600));
    return wmem_strdup_printf(scope, "%" PRIu64 " h %" PRIu64 " min", seconds / 3600,
                              seconds / 60 % 60);
}

/* Returns the time in the unit `name`, with `decimals` decimals. A number below 10 gets one more
 * decimal, so that the text has at least two digits. `unit`: nanoseconds of the unit. */
static const char *
in_unit(wmem_allocator_t *scope, uint64_t time, uint64_t unit, unsigned decimals, const char *name)
{
    decimals += time < 10 * unit;
    return with_unit(scope, quotient(scope, (double)time, (double)unit, decimals), name);
}

const char *
smcr_words_duration(wmem_allocator_t *scope, uint64_t time)
{
    /* the rounded number decides: 999.6 µs is "1.0 ms", not "1,000 µs" */
    if (time + SMCR_TIME_MICROSECOND / 2 < SMCR_TIME_MILLISECOND)
        return with_unit(scope, quotient(scope, (double)time, SMCR_TIME_MICROSECOND, 0), "µs");
    if (time + SMCR_TIME_MILLISECOND / 2 < SMCR_TIME_SECOND)
        return in_unit(scope, time, SMCR_TIME_MILLISECOND, 0, "ms");
    if (time < 2 * MINUTE)
        return in_unit(scope, time, SMCR_TIME_SECOND, 1, "s");
    return long_duration(scope, time);
}

/* Always UTC, so that a report reads the same everywhere. */
const char *
smcr_words_moment(wmem_allocator_t *scope, uint64_t time)
{
    GDateTime *moment = g_date_time_new_from_unix_utc((gint64)(time / SMCR_TIME_SECOND));

    if (!moment)
        return wmem_strdup_printf(scope, "%" PRIu64 " s after 1970", time / SMCR_TIME_SECOND);
    const char *text = wmem_strdup_printf(
        scope, "%04d-%02d-%02d %02d:%02d:%02d.%06" PRIu64 " UTC", g_date_time_get_year(moment),
        g_date_time_get_month(moment), g_date_time_get_day_of_month(moment),
        g_date_time_get_hour(moment), g_date_time_get_minute(moment),
        g_date_time_get_second(moment), time % SMCR_TIME_SECOND / 1000);
    g_date_time_unref(moment);
    return text;
}

/* ---- shares ---- */

/* A share that is not 0 is never written as 0. */
const char *
smcr_words_share(wmem_allocator_t *scope, uint64_t part, uint64_t whole)
{
    double percent = 100 * (double)part / (double)whole;

    if (part && percent < 0.1)
        return "below 0.1 %";
    return with_unit(scope, quotient(scope, percent, 1, percent < 9.95 && part ? 1 : 0), "%");
}

/* A character that cannot be printed becomes '?', so that the text stays one line. */
const char *
smcr_words_clean(wmem_allocator_t *scope, const char *text)
{
    char *valid = g_utf8_make_valid(text, -1);
    wmem_strbuf_t *clean = wmem_strbuf_new(scope, "");

    for (char *at = valid; *at; at = g_utf8_next_char(at)) {
        gunichar character = g_utf8_get_char(at);
        wmem_strbuf_append_unichar(clean, g_unichar_isprint(character) ? character : '?');
    }
    g_free(valid);
    return wmem_strbuf_finalize(clean);
}

/* An IPv6 address is in brackets only if a port follows. */
const char *
smcr_words_endpoint(wmem_allocator_t *scope, const smcr_entry_endpoint_t *endpoint)
{
    const char *addr = endpoint->addr ? endpoint->addr : "?";

    if (endpoint->port == SMCR_FIGURE_UNKNOWN)
        return addr;
    return wmem_strdup_printf(scope, strchr(addr, ':') ? "[%s]:%" PRIu64 : "%s:%" PRIu64, addr,
                              endpoint->port);
}

/* Whether the entry names RoCE packets that probably, but not certainly, belong to this TCP
 * connection (`roce_stream`). If an entry names such packets, `roce_stream` and `stream` differ. In
 * an entry of zeros they are equal, and the entry names none. */
static bool
has_roce_stream(const smcr_entry_connection_t *conn)
{
    return conn->roce_stream != SMCR_FIGURE_UNKNOWN && conn->roce_stream != conn->stream;
}

/* Whether the addresses and ports of both ends are known, but not which one is the client. */
static bool
has_named_ends(const smcr_entry_connection_t *conn)
{
    return conn->ends && conn->tcp_stream != SMCR_FIGURE_UNKNOWN;
}

#define LIKELY "probably " /* begin of the name of a connection whose TCP ports are inferred */

/* Returns the name of a connection, or of one of its directions: the writer's address first. If no
 * address is known, the name is `conn->ends` or the number of the connection, followed by
 * `direction`. `to_server`: the client writes. */
static const char *
name_of(wmem_allocator_t *scope, const smcr_entry_connection_t *conn, bool to_server,
        const char *direction)
{
    const smcr_entry_endpoint_t *ends[] = {&conn->server, &conn->client};

    if (conn->client.addr || conn->server.addr) {
        const char *name = smcr_words_hosts(scope, smcr_words_endpoint(scope, ends[to_server]),
                                            smcr_words_endpoint(scope, ends[!to_server]));
        return has_roce_stream(conn) ? wmem_strdup_printf(scope, LIKELY "%s", name) : name;
    }
    if (has_named_ends(conn))
        return conn->ends;
    if (conn->stream != SMCR_FIGURE_UNKNOWN)
        return wmem_strdup_printf(scope, "connection %" PRIu64 "%s", conn->stream, direction);
    return "a connection";
}

bool
smcr_words_is_inferred(const smcr_entry_connection_t *conn)
{
    bool has_name = conn->client.addr || conn->server.addr;

    return has_name && has_roce_stream(conn);
}

bool
smcr_words_names_both_ends(const smcr_entry_connection_t *conn)
{
    return has_named_ends(conn) && conn->outcome == SMCR_FIGURE_OUTCOME_FALLBACK;
}

/* `ends` is split at the spaces around its arrow, since addresses have no spaces. */
const char *
smcr_words_end(wmem_allocator_t *scope, const smcr_entry_connection_t *conn, bool is_server)
{
    if (smcr_words_knows_roles(conn))
        return is_server ? "the server" : "the client";
    if (is_server) /* `ends` is "one ↔ other" (smcr_figure_ends()) */
        return strrchr(conn->ends, ' ') + 1;
    return wmem_strndup(scope, conn->ends, strcspn(conn->ends, " "));
}

/* If the client is not known, but both ends are, the writer stands before the reader all the
 * same. */
const char *
smcr_words_direction(wmem_allocator_t *scope, const smcr_entry_connection_t *conn, bool to_server)
{
    const char *ends[] = {smcr_words_end(scope, conn, false), smcr_words_end(scope, conn, true)};

    if (has_named_ends(conn) && !smcr_words_names_both_ends(conn))
        return smcr_words_hosts(scope, ends[!to_server], ends[to_server]);
    return name_of(scope, conn, to_server, wmem_strdup_printf(scope, " to %s", ends[to_server]));
}

const char *
smcr_words_on_direction(wmem_allocator_t *scope, const smcr_entry_connection_t *conn,
                        bool to_server)
{
    const char *name = smcr_words_direction(scope, conn, to_server);

    return g_str_has_prefix(name, LIKELY)
               ? wmem_strdup_printf(scope, LIKELY "on %s", name + strlen(LIKELY))
               : wmem_strdup_printf(scope, "on %s", name);
}

const char *
smcr_words_connection(wmem_allocator_t *scope, const smcr_entry_connection_t *conn)
{
    return name_of(scope, conn, true, "");
}

const char *
smcr_words_connections(wmem_allocator_t *scope, const smcr_entry_connection_t *first,
                       uint64_t count)
{
    if (!first)
        return "no connection";
    return smcr_words_and_more(scope, smcr_words_connection(scope, first), count);
}

const char *
smcr_words_and_more(wmem_allocator_t *scope, const char *first, uint64_t count)
{
    if (count < 2)
        return first;
    return wmem_strdup_printf(scope, "%s and %s", first,
                              smcr_words_things(scope, count - 1, "more connection"));
}

const char *
smcr_words_queue_pair(wmem_allocator_t *scope, const char *address, uint64_t qpn)
{
    const char *name = address ? address : "?";

    return qpn == SMCR_FIGURE_UNKNOWN ? name
                                      : wmem_strdup_printf(scope, "%s QP %" PRIu64, name, qpn);
}

const char *
smcr_words_paused_class(wmem_allocator_t *scope, const smcr_entry_pause_t *pause)
{
    if (pause->priority != SMCR_FIGURE_UNKNOWN)
        return wmem_strdup_printf(scope, "class %" PRIu64, pause->priority);
    return pause->kind == SMCR_FIGURE_PAUSE_ALL ? "all classes" : "no class";
}

bool
smcr_words_pauses_a_class(const smcr_entry_pause_t *pause)
{
    return pause->kind == SMCR_FIGURE_PAUSE_ALL || pause->priority != SMCR_FIGURE_UNKNOWN;
}

bool
smcr_words_may_hide_smcr(const smcr_entry_report_t *report)
{
    return report->other_roce && smcr_figure_or_zero(report->capture.cut_frames) != 0;
}

uint64_t
smcr_words_covered(const smcr_entry_capture_t *capture)
{
    if (capture->first_time == SMCR_FIGURE_UNKNOWN || capture->last_time == SMCR_FIGURE_UNKNOWN)
        return 0;
    return capture->last_time - capture->first_time;
}

/* Without the speed of the link only an upper bound is known, and the text says so. Frames of 0
 * quanta pause nothing at any speed. */
const char *
smcr_words_paused_time(wmem_allocator_t *scope, const smcr_entry_pause_t *pause,
                       const smcr_entry_capture_t *capture)
{
    bool is_known = pause->paused_s != SMCR_FIGURE_UNKNOWN;
    uint64_t paused = is_known ? pause->paused_s : pause->paused_most_s;

    if (!paused)
        return "no time";
    return wmem_strdup_printf(scope, "%s%s", is_known ? "" : "≤",
                              smcr_words_duration(scope, MIN(paused, smcr_words_covered(capture))));
}

const char *
smcr_words_hosts(wmem_allocator_t *scope, const char *src, const char *dst)
{
    return wmem_strdup_printf(scope, "%s → %s", src, dst);
}

/* Returns the tunnel of a network: "VNI 100", "GRE key 7", "GRE", "IP in IP"; NULL: none. */
static const char *
tunnel_text(wmem_allocator_t *scope, const smcr_entry_flow_network_t *network)
{
    bool has_vni = network->tunnel == SMCR_FIGURE_TUNNEL_VXLAN ||
                   network->tunnel == SMCR_FIGURE_TUNNEL_GENEVE;

    if (has_vni)
        return wmem_strdup_printf(scope, "VNI %" PRIu64, network->tunnel_id);
    if (network->tunnel == SMCR_FIGURE_TUNNEL_GRE)
        return network->tunnel_id ? wmem_strdup_printf(scope, "GRE key %" PRIu64,
                                                       network->tunnel_id)
                                  : "GRE";
    return network->tunnel == SMCR_FIGURE_TUNNEL_IP ? "IP in IP" : NULL;
}

/* Returns the VLANs of a network, the outer one first: "VLAN 7", "VLAN 7.12"; NULL: none. */
static const char *
vlan_text(wmem_allocator_t *scope, const smcr_entry_flow_network_t *network)
{
    if (network->vlan == SMCR_FIGURE_UNKNOWN)
        return NULL;
    if (network->outer_vlan == SMCR_FIGURE_UNKNOWN)
        return wmem_strdup_printf(scope, "VLAN %" PRIu64, network->vlan);
    return wmem_strdup_printf(scope, "VLAN %" PRIu64 ".%" PRIu64, network->outer_vlan,
                              network->vlan);
}

/* VLAN and tunnel make flows of equal addresses different, so they are part of the name. */
const char *
smcr_words_flow(wmem_allocator_t *scope, const smcr_entry_rdma_t *flow)
{
    const char *hosts =
        smcr_words_hosts(scope, smcr_words_queue_pair(scope, flow->src, flow->src_qpn),
                         smcr_words_queue_pair(scope, flow->dst, flow->dst_qpn));

    if (!flow->network)
        return hosts;
    const char *vlan = vlan_text(scope, flow->network);
    const char *tunnel = tunnel_text(scope, flow->network);
    return wmem_strdup_printf(scope, "%s (%s%s%s)", hosts, vlan ? vlan : "",
                              vlan && tunnel ? ", " : "", tunnel ? tunnel : "");
}

/* The filter has to find every frame of the connection. So if a part of the RoCE packets has a
 * number of its own (`roce_stream`), the filter has both numbers. */
const char *
smcr_words_connection_filter(wmem_allocator_t *scope, const smcr_entry_connection_t *conn)
{
    if (has_roce_stream(conn))
        return wmem_strdup_printf(scope,
                                  "(smcr.stream == %" PRIu64 " || smcr.stream == %" PRIu64 ")",
                                  conn->stream, conn->roce_stream);
    if (conn->stream != SMCR_FIGURE_UNKNOWN)
        return wmem_strdup_printf(scope, "smcr.stream == %" PRIu64, conn->stream);
    if (conn->tcp_stream != SMCR_FIGURE_UNKNOWN)
        return wmem_strdup_printf(scope, "tcp.stream == %" PRIu64, conn->tcp_stream);
    return "smcr";
}

/* `link` is the number that the messages have for the link (RFC 7609, 4.1), not an index that the
 * plugin has given to it. */
const char *
smcr_words_link(wmem_allocator_t *scope, uint64_t group, uint64_t link)
{
    const char *name = wmem_strdup_printf(scope, "link group %" PRIu64, group);

    if (link == SMCR_FIGURE_UNKNOWN)
        return group == SMCR_FIGURE_UNKNOWN ? "a link" : name;
    if (group == SMCR_FIGURE_UNKNOWN)
        return wmem_strdup_printf(scope, "link %" PRIu64, link);
    return wmem_strdup_printf(scope, "link %" PRIu64 " of %s", link, name);
}
