/* A row for each kind of time that a report measures, over all connections and flows: how many
 * samples, and how they are distributed.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "tables.h"

/* The kinds of times, each with its text. Those of flows come first: `name` is a member of an RDMA
 * flow; after them those of directions of connections, then the setup of connections. */
#define OF_FLOW(X)                                                                                 \
    X(ack_time_s, "RDMA request to ACK")                                                           \
    X(completion_time_s, "RDMA message latency")                                                   \
    X(ce_to_cnp_s, "CE to CNP")
#define OF_RECOVERY(X) /* members of an RDMA flow's member `recovery` */                           \
    X(gap_to_nak_s, "gap to NAK")                                                                  \
    X(nak_to_resend_s, "NAK to retransmission")                                                    \
    X(timeout_s, "retransmit timeout")                                                             \
    X(late_s, "out-of-order delay")
#define OF_DIRECTION(X)                                                                            \
    X(reader_time_s, "full to window update")                                                      \
    X(read_reported_s, "sent to reported read")

#define NAME(name, text) OF_##name,
typedef enum {
    OF_FLOW(NAME) OF_RECOVERY(NAME) ANSWER_OF_CLIENT,
    ANSWER_OF_SERVER,
    ANSWER_OF_EITHER, /* it is not known which end is the client */
    OF_DIRECTION(NAME) OF_SETUP,
    KINDS
} times_kind_t;
#undef NAME

#define TEXT(name, text) text,
static const char *const texts[KINDS] = {
    OF_FLOW(TEXT) OF_RECOVERY(TEXT) "client think time", "server response time",
    "program response time", OF_DIRECTION(TEXT) "SMC-R setup"};
#undef TEXT

/* The times of a report, by kind. NULL: no sample. */
typedef smcr_distribution_t *all_times_t[KINDS];

/* Returns the kind of the times in which the reader of a direction answers its writer. If it is not
 * known which end is the client, returns ANSWER_OF_EITHER. */
static times_kind_t
kind_of_answers(const smcr_entry_connection_t *conn, bool to_server)
{
    if (conn->ends)
        return ANSWER_OF_EITHER;
    return to_server ? ANSWER_OF_SERVER : ANSWER_OF_CLIENT;
}

/* Adds the times of a connection: of its setup, and of both directions. A name in OF_DIRECTION is
 * both a member of the direction and, after "OF_", a kind. */
static void
add_connection(all_times_t *all, wmem_allocator_t *scope, const smcr_entry_connection_t *conn)
{
    if (conn->setup_s != SMCR_FIGURE_UNKNOWN)
        smcr_distribution_add_time(&(*all)[OF_SETUP], scope, conn->setup_s);
    for (unsigned to_server = 0; to_server < 2; to_server++) {
        const smcr_entry_conn_direction_t *way = smcr_figure_direction(conn, to_server);
#define ADD(name, text) smcr_distribution_join_times(&(*all)[OF_##name], scope, way->name);
        OF_DIRECTION(ADD)
        smcr_distribution_join_times(&(*all)[kind_of_answers(conn, to_server)], scope,
                                     way->answer_time_s);
    }
}

/* Adds the times of a flow. A name in OF_FLOW is both a member of the flow and, after "OF_", a
 * kind; a name in OF_RECOVERY is a member of `recovery`, which not every flow has. */
static void
add_flow(all_times_t *all, wmem_allocator_t *scope, const smcr_entry_rdma_t *flow)
{
    const smcr_entry_flow_recovery_t *recovery = flow->recovery;
#undef ADD
#define ADD(name, text) smcr_distribution_join_times(&(*all)[OF_##name], scope, flow->name);
    OF_FLOW(ADD)
#undef ADD
#define ADD(name, text) smcr_distribution_join_times(&(*all)[OF_##name], scope, recovery->name);
    if (recovery) {
        OF_RECOVERY(ADD)
    }
}

#define QUANTILE(per_mille) smcr_distribution_quantile(times, per_mille)
#define TIMES(X)                                                                                   \
    X(TEXT, "Time", "measure", 22, texts[kind])                                                    \
    X(COUNT, "Samples", "samples", 8, times->count)                                                \
    X(SECONDS, "Min (s)", NULL, 12, times->min)                                                    \
    X(SECONDS, "Mean (s)", NULL, 12, times->sum / times->count)                                    \
    X(SECONDS, "Median (s)", "≈p50", 12, QUANTILE(500))                                            \
    X(SECONDS, "p95 (s)", "≈p95", 12, QUANTILE(950))                                               \
    X(SECONDS, "p99 (s)", "≈p99", 12, QUANTILE(990))                                               \
    X(SECONDS, "p99.9 (s)", "≈p99.9", 12, QUANTILE(999))                                           \
    X(SECONDS, "Max (s)", "max", 12, times->max)

/* Makes a row for each kind of time that the capture has. The first kinds have the highest rank, so
 * that the page shows the rows in this order. */
static void
fill_times(const smcr_table_row_sink_t *taker)
{
    all_times_t all = {NULL};

    SMCR_FIGURE_EACH (rdma, flow, taker->report->rdma_flows)
        add_flow(&all, taker->scope, flow);
    SMCR_FIGURE_EACH(connection, conn, taker->report->connections)
        add_connection(&all, taker->scope, conn);
    for (unsigned kind = 0; kind < KINDS; kind++) {
        const smcr_distribution_t *times = all[kind];
        if (times)
            SMCR_TABLE_ROW(taker, TIMES, KINDS - kind, 0);
    }
}

/* Whether a flow has a sample of its own times (OF_FLOW). */
static bool
has_times_of_flows(const smcr_entry_report_t *report)
{
#define HAS(name, text) || flow->name
    SMCR_FIGURE_EACH (rdma, flow, report->rdma_flows)
        if (false OF_FLOW(HAS))
            return true;
    return false;
}

/* Whether a packet was retransmitted. */
static bool
has_retransmissions(const smcr_entry_report_t *report)
{
    SMCR_FIGURE_EACH (rdma, flow, report->rdma_flows)
        if (smcr_figure_or_zero(flow->repeated))
            return true;
    return false;
}

/* Returns the heading; NULL: no flow has a sample of its own times, so the page does not have the
 * table. The heading explains why the two times of a flow differ after retransmissions. */
static const char *
heading_of_times(const smcr_table_row_sink_t *taker)
{
    if (!has_times_of_flows(taker->report))
        return NULL;
    return has_retransmissions(taker->report)
               ? "Times (request to ACK: only packets that were not retransmitted)"
               : "Times";
}

SMCR_TABLE(times, "SMC-R Times", TIMES, heading_of_times);
