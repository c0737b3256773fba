/* What the page of text says about traffic as a whole: TCP, classes, address translation,
 * congestion and pauses of Ethernet.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "text_traffic.h"
#include "report/words/words.h"

/* ---- TCP ---- */

/* All flows count together, in both directions. If there is no trouble, such as a retransmitted or
 * marked segment, nothing is written. */
void
smcr_text_write_tcp(const smcr_text_page_t *page)
{
    smcr_entry_tcp_direction_t sum = {0};
    const char *trouble;

    SMCR_FIGURE_EACH(tcp, flow, page->report->tcp_flows) {
        smcr_entry_join(&sum, &flow->up, &smcr_entry_tcp_direction_description, page->scope);
        smcr_entry_join(&sum, &flow->down, &smcr_entry_tcp_direction_description, page->scope);
    }
    trouble = SMCR_WORDS_COUNTS(page->scope, {sum.repeated_segments, "retransmitted"},
                                {sum.copies, "duplicated"}, {sum.ce, "marked CE"},
                                {sum.sce, "marked ECT(1)"}, {sum.ece, "with ECE"},
                                {sum.cwr, "with CWR"}, {sum.esce, "with NS"});
    if (!*trouble)
        return;
    g_string_append_c(page->text, '\n');
    smcr_text_item(page, "", SMCR_TEXT_INDENT,
                   wmem_strdup_printf(page->scope, "TCP: %s; %s",
                                      smcr_words_things(page->scope, sum.segments, "segment"),
                                      trouble));
}

/* ---- classes ---- */

/* Appends the values of a header field: " DSCP 26, 48"; nothing if there are none. */
static void
append_values(GString *text, const char *name, const smcr_figure_tally_t *tally)
{
    for (uint32_t i = 0; i < tally->length; i++)
        g_string_append_printf(text, "%s%" PRIu32, i ? ", " : name, tally->counts[i].value);
}

/* Appends the classes of a kind of packet: "; CNPs: DSCP 48 priority 6". `counts` NULL: none. */
static void
append_classes(GString *text, const char *kind, const smcr_entry_packet_class_t *counts)
{
    if (!counts || !(counts->by_dscp.length + counts->by_priority.length))
        return;
    g_string_append_printf(text, "%s%s:", text->len ? "; " : "", kind);
    append_values(text, " DSCP ", &counts->by_dscp);
    append_values(text, " priority ", &counts->by_priority);
}

/* Whether the packets have a class other than the default one: DSCP 0 without a VLAN tag. `counts`
 * NULL: there are no packets. */
static bool
has_class(const smcr_entry_packet_class_t *counts)
{
    bool is_default = !counts || !counts->by_dscp.length ||
                      (counts->by_dscp.length == 1 && counts->by_dscp.counts[0].value == 0);

    return counts && (counts->by_priority.length || !is_default);
}

/* All flows count together. Nothing is written if all packets have the default class. */
void
smcr_text_write_classes(const smcr_text_page_t *page)
{
    smcr_entry_flow_classes_t sum = {NULL, NULL, NULL};
    GString *text = g_string_new(NULL);

    SMCR_FIGURE_EACH(rdma, flow, page->report->rdma_flows)
        smcr_entry_join(&sum, &flow->classes, &smcr_entry_flow_classes_description, page->scope);
    append_classes(text, "data", sum.data);
    append_classes(text, "acknowledgements", sum.acknowledgement);
    append_classes(text, "CNPs", sum.cnp);
    if (has_class(sum.data) || has_class(sum.acknowledgement) || has_class(sum.cnp))
        smcr_text_item(page, "", SMCR_TEXT_INDENT,
                       wmem_strdup_printf(page->scope, "Classes of RDMA: %s", text->str));
    g_string_free(text, true);
}

/* ---- address translation ---- */

#define TRANSLATIONS_MOST 3 /* translated ends that the page names */

/* The translated ends of a page. */
typedef struct {
    GString *text;     /* the first TRANSLATIONS_MOST of them, in words */
    wmem_map_t *known; /* set of all of them, in words: many connections may have the same ones */
} translations_t;

/* Adds "10.96.0.10:80 is 10.0.0.2:12345, too", if `known` does not have it yet. The text names
 * TRANSLATIONS_MOST ends at most; `known` has further ones, too. `translated` NULL: the end has no
 * other address or port. */
static void
add_translation(const smcr_text_page_t *page, translations_t *ends,
                const smcr_entry_endpoint_t *end, const smcr_entry_endpoint_t *translated)
{
    if (!translated)
        return;
    char *line =
        wmem_strdup_printf(page->scope, "%s is %s, too", smcr_words_endpoint(page->scope, end),
                           smcr_words_endpoint(page->scope, translated));

    if (wmem_map_lookup(ends->known, line))
        return;
    wmem_map_insert(ends->known, line, line);
    if (wmem_map_size(ends->known) <= TRANSLATIONS_MOST)
        g_string_append_printf(ends->text, "%s%s", ends->text->len ? "; " : "", line);
}

/* An end that many connections share is named once. */
void
smcr_text_write_translations(const smcr_text_page_t *page)
{
    translations_t ends = {g_string_new(NULL),
                           wmem_map_new(page->scope, wmem_str_hash, g_str_equal)};

    SMCR_FIGURE_EACH(connection, conn, page->report->connections) {
        add_translation(page, &ends, &conn->server, conn->translated_server);
        add_translation(page, &ends, &conn->client, conn->translated_client);
    }
    if (ends.text->len)
        smcr_text_item(
            page, "", SMCR_TEXT_INDENT,
            wmem_strdup_printf(page->scope, "Address translation: %s%s", ends.text->str,
                               wmem_map_size(ends.known) > TRANSLATIONS_MOST ? " ..." : ""));
    g_string_free(ends.text, true);
}

/* ---- congestion ---- */

/* Returns a rate: "9.4 Gbit/s". `bytes` in `time` nanoseconds, which is not 0. */
static const char *
rate_text(const smcr_text_page_t *page, uint64_t bytes, uint64_t time)
{
    double bits = 8.0 * (double)bytes / (double)time; /* Gbit/s */
    wmem_allocator_t *scope = page->scope;

    if (bits >= 1)
        return wmem_strdup_printf(scope, "%s Gbit/s", smcr_words_decimal(scope, bits, 1));
    if (bits >= 0.001)
        return wmem_strdup_printf(scope, "%s Mbit/s", smcr_words_decimal(scope, bits * 1e3, 1));
    return wmem_strdup_printf(scope, "%s kbit/s", smcr_words_decimal(scope, bits * 1e6, 1));
}

/* Returns the share of marks in the worst interval: "at most 41 % of packets marked CE in any 2
 * ms". */
static const char *
share_text(const smcr_text_page_t *page, const smcr_entry_marked_share_t *share)
{
    uint64_t packets = share->packets.numbers[share->worst];
    uint64_t marked = share->marked.numbers[share->worst];

    return wmem_strdup_printf(page->scope, "at most %.0f %% of packets marked CE in any %s",
                              100.0 * (double)marked / (double)packets,
                              smcr_words_duration(page->scope, share->interval_s));
}

/* Appends the pace of CNPs; nothing if no time between two CNPs is known. `pacing` may be NULL. */
static void
append_pace(GString *text, const smcr_text_page_t *page, const smcr_entry_flow_pacing_t *pacing)
{
    const smcr_distribution_t *pace = smcr_distribution_get(pacing ? pacing->flow_s : NULL);

    if (pace->count)
        g_string_append_printf(text, "%sinterval of CNPs of a flow at least %s, median %s",
                               text->len ? "; " : "",
                               smcr_words_duration(page->scope, pace->min),
                               smcr_words_duration(page->scope,
                                                   smcr_distribution_quantile(pace, 500)));
}

/* Appends the rates before and after CNPs; nothing if they are not known. `reaction` may be
 * NULL. */
static void
append_reaction(GString *text, const smcr_text_page_t *page,
                const smcr_entry_flow_reaction_t *reaction)
{
    if (reaction && reaction->before_s && reaction->after_s)
        g_string_append_printf(text, "%srate %s before CNPs, %s after CNPs", text->len ? "; " : "",
                               rate_text(page, reaction->before_bytes, reaction->before_s),
                               rate_text(page, reaction->after_bytes, reaction->after_s));
}

/* Each of the three parts is left out if nothing is known about it. */
void
smcr_text_write_congestion(const smcr_text_page_t *page)
{
    const smcr_entry_marked_share_t *share = page->report->marked_share;
    smcr_entry_rdma_t sum = {0};
    GString *text = g_string_new(share ? share_text(page, share) : NULL);

    SMCR_FIGURE_EACH(rdma, flow, page->report->rdma_flows)
        smcr_entry_join(&sum, flow, &smcr_entry_rdma_description, page->scope);
    append_pace(text, page, sum.cnp_pacing);
    append_reaction(text, page, sum.reaction);
    if (text->len)
        smcr_text_item(page, "", SMCR_TEXT_INDENT,
                       wmem_strdup_printf(page->scope, "Congestion: %s", text->str));
    g_string_free(text, true);
}

/* ---- pauses of Ethernet ---- */

/* Returns how long the class was paused: ", 101 ms"; without the speed of the link ", 65,535
 * quanta, ≤33.6 ms"; "" if the frames name no class. */
static const char *
paused_text(const smcr_text_page_t *page, const smcr_entry_pause_t *pause)
{
    const char *time = smcr_words_paused_time(page->scope, pause, &page->report->capture);

    if (!smcr_words_pauses_a_class(pause))
        return "";
    if (pause->paused_s != SMCR_FIGURE_UNKNOWN)
        return wmem_strdup_printf(page->scope, ", %s", time);
    return wmem_strdup_printf(page->scope, ", %s quanta, %s",
                              smcr_words_number(page->scope, pause->quanta), time);
}

/* Writes a line about a port and a class that its frames pause. */
static void
write_pause(const smcr_text_page_t *page, const smcr_entry_pause_t *pause)
{
    smcr_text_line(page, "%s %s: %s%s", pause->port_mac ? pause->port_mac : "other ports",
                   smcr_words_paused_class(page->scope, pause),
                   smcr_words_things(page->scope, pause->frames, "frame"),
                   paused_text(page, pause));
}

/* One port is named at least, also on a page whose tables have no rows left. */
void
smcr_text_write_pauses(const smcr_text_page_t *page)
{
    const smcr_figure_list_t *pauses = &page->report->pauses;
    uint32_t most = MIN(pauses->length, MAX(page->most, 1));

    if (!pauses->length)
        return;
    g_string_append(page->text, "\nPauses of Ethernet\n");
    for (uint32_t i = 0; i < most; i++)
        write_pause(page, pauses->entries[i]);
    if (most < pauses->length)
        smcr_text_line(page, "and %" PRIu32 " more: -z smcr,json", pauses->length - most);
}
