/* flow_runs.c
 * Moves the arrow of a run to its last packet, so that a graph does not grow with the data.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "flow_runs.h"

#include "report/words/words.h"

static const char *
first_sentence(const smcr_graph_runs_t *runs, wmem_allocator_t *scope, const char *subject,
               bool is_last)
{
    const char *which = is_last ? "its first and last data" : "its first data";

    if (!runs->from_start)
        which = is_last ? "its last data" : "data, the first of this direction here";
    return wmem_strdup_printf(scope, "%s sends %s%s: %s", subject, which,
                              runs->over_tcp ? " over TCP" : "",
                              smcr_words_things(scope, runs->run.bytes, "byte"));
}

static const char *
later_sentence(const smcr_graph_runs_t *runs, wmem_allocator_t *scope, const char *subject,
               bool is_last)
{
    const char *bytes = smcr_words_number(scope, runs->run.bytes);
    const char *packets = smcr_words_things(scope, runs->run.packets, "packet");
    const char *total = smcr_words_number(scope, runs->total);

    return wmem_strdup_printf(
        scope,
        is_last ? "%s sends its last data: %s bytes in %s since frame %u, %s in all%s"
                : "%s sends %s bytes more in %s since frame %u, %s so far%s",
        subject, bytes, packets, runs->run.from, total, runs->over_tcp ? ", over TCP" : "");
}

static const char *
sentence_of(const smcr_graph_runs_t *runs, wmem_allocator_t *scope, const char *subject,
            bool is_last)
{
    return runs->is_first ? first_sentence(runs, scope, subject, is_last)
                          : later_sentence(runs, scope, subject, is_last);
}

static const char *
label_of(const smcr_graph_runs_t *runs, bool is_last)
{
    if (is_last)
        return "Last data";
    return runs->is_first ? "First data" : "Data";
}

/* The run goes on with this packet, or begins. */
static void
count(smcr_graph_runs_t *runs, const smcr_conversation_share_t *share, const smcr_tap_t *packet,
      uint32_t frame)
{
    smcr_stream_piece_t piece = {.known = false};

    if (packet->record->place)
        piece = smcr_place_piece(packet->record->place);
    if (!runs->link)
        runs->run = (smcr_graph_run_t){.from = frame};
    if (!runs->arrow)
        runs->from_start = packet->segment || (piece.known && piece.position == 0);
    runs->is_first = !runs->arrow;
    runs->run.bytes += (uint64_t)share->bytes;
    runs->run.packets++;
    runs->total += (uint64_t)share->bytes;
    runs->over_tcp = packet->segment != NULL;
    if (piece.known)
        runs->end = MAX(runs->end, piece.position + packet->record->place->length);
}

void
smcr_graph_runs_add(smcr_graph_runs_t *runs, const smcr_arrow_drawing_t *drawing,
                    const smcr_conversation_share_t *share, const smcr_tap_t *packet,
                    const char *subject)
{
    smcr_arrow_ends_t ends = smcr_arrow_of_conn(share->row, share->sender);
    GList *before = runs->link;

    count(runs, share, packet, drawing->pinfo->num);
    seq_analysis_item_t *arrow =
        smcr_arrow_draw(drawing, &ends, label_of(runs, false),
                        sentence_of(runs, drawing->pinfo->pool, subject, false));
    if (!arrow)
        return;
    if (before)
        smcr_arrow_remove(drawing->graph, before);
    runs->arrow = arrow;
    runs->link = runs->is_first ? NULL : g_queue_peek_tail_link(drawing->graph->items);
}

void
smcr_graph_runs_close(smcr_graph_runs_t *runs)
{
    runs->link = NULL;
}

void
smcr_graph_runs_end(smcr_graph_runs_t *runs, wmem_allocator_t *scope, uint64_t end,
                    const char *subject)
{
    if (runs->arrow && runs->end == end)
        smcr_arrow_say(runs->arrow, label_of(runs, true), sentence_of(runs, scope, subject, true));
}
