/* CLC messages on TCP: which CLC bytes are captured, according to TCP's sequence numbers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "evidence.h"

/* ---- CLC on TCP ---- */

void
smcr_evidence_tcp_begins(smcr_conn_t *conn, unsigned role, uint32_t first)
{
    conn->knows_client = true;
    conn->clc_next_seq[role] = first;
    conn->clc_complete |= (uint8_t)(1U << role);
}

/* Sequence numbers wrap, so their signed difference is compared. */
void
smcr_evidence_tcp_take(const smcr_arrival_t *arrival, smcr_conn_t *conn)
{
    const smcr_arrival_span_t *span = arrival->span;
    unsigned role = smcr_arrival_role(arrival);

    /* A Proposal is the first CLC message of a connection. So even if the SYN or SYN-ACK is
     * missing, no CLC bytes can be missing before the Proposal. */
    if (span && role == 0 && conn->clc_types_received == 1U << SMCR_CLC_PROPOSAL) {
        conn->clc_next_seq[0] = conn->clc_complete & 1 ? conn->clc_next_seq[0] : span->first;
        conn->clc_next_seq[1] = conn->clc_complete & 2 ? conn->clc_next_seq[1] : span->acked_seq;
        conn->clc_complete = 3;
    }
    if (!span || (int32_t)(span->first - conn->clc_next_seq[role]) > 0)
        conn->clc_complete &= (uint8_t)~(1U << role);
    if (span && (int32_t)(span->end - conn->clc_next_seq[role]) > 0)
        conn->clc_next_seq[role] = span->end;
}

/* Changes what is known only if the bytes may be a part. */
bool
smcr_evidence_tcp_is_part(smcr_conn_t *conn, unsigned role, const smcr_arrival_span_t *span,
                          bool ends_message)
{
    uint32_t skipped = span->first - conn->clc_next_seq[role];
    bool answers = conn->clc_partial_seq[!role] && conn->clc_partial_seq[!role] == span->acked_seq;
    bool is_behind = !skipped && !conn->clc_cut;

    if (answers || is_behind || skipped + SMCR_CLC_LENGTH_MAX > 2 * SMCR_CLC_LENGTH_MAX)
        return false;
    if (ends_message)
        conn->clc_complete = 0;
    (ends_message ? conn->clc_next_seq : conn->clc_partial_seq)[role] = span->end;
    return true;
}

/* Has to run before smcr_evidence_tcp_take(), which moves the numbers that are compared here. */
smcr_evidence_clc_t
smcr_evidence_of_clc(const smcr_arrival_t *arrival, const smcr_conn_t *conn)
{
    const smcr_arrival_span_t *span = arrival->span;
    unsigned role = smcr_arrival_role(arrival);

    if (!span)
        return (smcr_evidence_clc_t){0};
    return (smcr_evidence_clc_t){
        .is_next =
            smcr_evidence_tcp_precedes(arrival, conn) && span->first == conn->clc_next_seq[role],
        .is_repeat = (int32_t)(conn->clc_next_seq[role] - span->first) > 0,
        .has_crossed = (int32_t)(conn->clc_next_seq[!role] - span->acked_seq) > 0,
    };
}

