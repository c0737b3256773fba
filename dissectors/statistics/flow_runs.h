/* flow_runs.h
 * Data in a flow graph. The first data of a direction have an arrow; what follows has one for all
 * of it, which stands at the last packet, until something happens that has an arrow of its own.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_STATISTICS_FLOW_RUNS_H
#define SMCR_STATISTICS_FLOW_RUNS_H

#include "flow_arrows.h"

/* Data that one arrow stands for. */
typedef struct {
    uint64_t bytes, packets;
    uint32_t from; /* frame of the first packet */
} smcr_graph_run_t;

/* A direction. All zeros: it has carried nothing. */
typedef struct {
    seq_analysis_item_t *arrow; /* the last one; NULL: none */
    GList *link;                /* of it in the graph, while more data may join it; else NULL */
    smcr_graph_run_t run;       /* that it stands for */
    uint64_t total;             /* bytes so far */
    uint64_t end;               /* position behind the last data; 0: not known */
    bool is_first;              /* the run is the first data */
    bool from_start;            /* nothing came before the first data */
    bool over_tcp;
} smcr_graph_runs_t;

/* New data, as `share` says. `subject`: who sends. */
void smcr_graph_runs_add(smcr_graph_runs_t *runs, const smcr_arrow_drawing_t *drawing,
                         const smcr_conversation_share_t *share, const smcr_tap_t *packet,
                         const char *subject);

/* What comes from now on has an arrow of its own. */
void smcr_graph_runs_close(smcr_graph_runs_t *runs);

/* The sender has said that its stream ends at position `end`. */
void smcr_graph_runs_end(smcr_graph_runs_t *runs, wmem_allocator_t *scope, uint64_t end,
                         const char *subject);

#endif /* SMCR_STATISTICS_FLOW_RUNS_H */
