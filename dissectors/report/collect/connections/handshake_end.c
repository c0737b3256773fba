/* Finds how a handshake of CLC that had begun ended without a result: neither SMC-R nor a fallback
 * to TCP (RFC 7609, 3.5.1).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "counts.h"

#include "wire/wire.h"

#define OFTEN_SENT 3 /* number of transmissions from which on a CLC message without an
                        acknowledgement counts as never acknowledged */

/* What is known of the handshake of a connection. Roles: 0 client, 1 server. */
typedef struct {
    const smcr_conn_t *conn;             /* the connection in the state */
    const smcr_collect_tcp_facts_t *tcp; /* facts of the TCP connection */
    uint8_t step;                        /* type of the CLC message of the last step
                                            (last_step()) */
    unsigned sender;                     /* role of the sender of this message */
    smcr_when_t sent;                    /* when it was sent: frame and time of this message */
    const smcr_collect_newest_data_t *newest; /* newest data segment of `sender` */
} handshake_t;

/* Returns the index of the direction from `role` in the facts of TCP: 0 `up`, 1 `down`. */
static unsigned
way_of(const smcr_collect_tcp_facts_t *tcp, unsigned role)
{
    return tcp->client_is_up ? role : !role;
}

/* Returns the furthest captured step: the type Proposal, Accept or Confirm; 0: no Proposal is
 * captured. A Decline is no step. */
static uint8_t
last_step(const smcr_collect_conn_stats_t *counted)
{
    if (!counted->clc[SMCR_CLC_PROPOSAL].frame)
        return 0;
    for (uint8_t type = SMCR_CLC_CONFIRM; type > SMCR_CLC_PROPOSAL; type--)
        if (counted->clc[type].frame)
            return type;
    return SMCR_CLC_PROPOSAL;
}

/* Whether all segments of the handshake are captured, in order, without a truncated Accept or
 * Confirm, and show no result: no RoCE packet of the connection, no agreement on SMC-D, and no
 * Decline. */
static bool
is_known(const smcr_collect_conn_stats_t *counted, const smcr_collect_tcp_facts_t *tcp)
{
    bool is_whole = tcp && tcp->syn.frame && !tcp->is_disordered && !tcp->may_lack_bytes;
    bool has_result = counted->on_roce || counted->is_smcd || counted->conn->decline_frame;

    return is_whole && !has_result && !counted->conn->clc_cut;
}

/* Whether the role (0 client, 1 server) has sent no data on TCP but CLC messages. */
static bool
has_only_clc(const smcr_collect_conn_stats_t *counted, const smcr_collect_tcp_facts_t *tcp,
             unsigned role)
{
    return tcp->payload[way_of(tcp, role)] <= counted->clc_bytes[role];
}

/* Whether the server sent other data in place of an Accept, and the connection was reset, or closed
 * by the client, without data of the client's program. A client that falls back to TCP would send
 * the data of its program. */
static bool
got_other_data(const smcr_collect_conn_stats_t *counted, const smcr_collect_tcp_facts_t *tcp)
{
    const smcr_fallback_t *fallback = &counted->conn->fallback;
    bool is_over = tcp->reset.frame || tcp->fin[0].frame;
    bool has_no_answer =
        fallback->kind == SMCR_FALLBACK_NO_ANSWER && fallback->step == SMCR_CLC_PROPOSAL;

    return has_no_answer && is_over && has_only_clc(counted, tcp, 0) &&
           !has_only_clc(counted, tcp, 1);
}

/* Whether the peer has neither acknowledged the last CLC message, which was sent OFTEN_SENT times
 * or more, nor reset the connection. Returns false if the message is a Confirm, and its link is not
 * known or has captured RoCE packets, which prove that the Confirm has arrived. */
static bool
is_unacknowledged(const handshake_t *handshake)
{
    bool is_reset_by_peer = handshake->tcp->reset_by == smcr_figure_role(!handshake->sender);
    bool has_arrived =
        handshake->step == SMCR_CLC_CONFIRM && !smcr_evidence_lacks_roce(handshake->conn);

    return !has_arrived && handshake->newest->sent >= OFTEN_SENT && !handshake->newest->is_acked &&
           !is_reset_by_peer;
}

/* Returns the role of the end that sent the first FIN; -1: neither end sent one. */
static int
first_to_close(const smcr_collect_tcp_facts_t *tcp)
{
    const smcr_when_t *fin = tcp->fin;

    if (!fin[0].frame && !fin[1].frame)
        return -1;
    return !fin[0].frame || (fin[1].frame && fin[1].frame < fin[0].frame);
}

/* Whether the last CLC message, of the role `sender`, may have an answer that the capture has
 * truncated: an end sent bytes that are not known to be CLC, or a CLC message that may be
 * complete. */
static bool
may_have_answer(const smcr_collect_conn_stats_t *counted, const smcr_collect_tcp_facts_t *tcp,
                unsigned sender)
{
    return counted->has_cut_clc[!sender] || !has_only_clc(counted, tcp, 0) ||
           !has_only_clc(counted, tcp, 1);
}

/* Fills in how a handshake without a result ended; returns false if TCP has not ended it. After an
 * acknowledged Confirm, the handshake is over, and the connection goes over RDMA. If the last CLC
 * message itself is incomplete, its receiver did not have to answer it. */
static bool
find_end(smcr_entry_conn_handshake_end_t *entry, const handshake_t *handshake)
{
    const smcr_collect_tcp_facts_t *tcp = handshake->tcp;
    int closer = first_to_close(tcp);

    if (handshake->conn->partial_clc[handshake->sender])
        return false;
    if (is_unacknowledged(handshake)) {
        entry->kind = SMCR_FIGURE_HANDSHAKE_UNACKNOWLEDGED;
        entry->by = smcr_figure_role(!handshake->sender);
        entry->frame = handshake->newest->last;
        return true;
    }
    if (handshake->step == SMCR_CLC_CONFIRM)
        return false;
    entry->kind = tcp->reset.frame && closer < 0 ? SMCR_FIGURE_HANDSHAKE_RESET
                                                 : SMCR_FIGURE_HANDSHAKE_CLOSED;
    if (closer >= 0) {
        entry->by = smcr_figure_role(closer);
        entry->frame = tcp->fin[closer];
    } else {
        entry->by = tcp->reset_by;
        entry->frame = tcp->reset;
    }
    return entry->frame.frame > handshake->sent.frame && entry->by;
}

/* Fills in the server's data that came in place of an Accept. `data`: frame of the data. */
static void
fill_other_data(smcr_entry_conn_handshake_end_t *entry, const smcr_collect_tcp_facts_t *tcp,
                smcr_when_t data)
{
    const char *answer = tcp->answer[way_of(tcp, 1)];

    entry->kind = SMCR_FIGURE_HANDSHAKE_OTHER_DATA;
    entry->by = SMCR_FIGURE_ROLE_SERVER;
    entry->frame = data;
    entry->answer = answer[0] ? answer : NULL;
}

/* Whether the server sent other data in place of an Accept is tested first: such a handshake is a
 * fallback in the state, and yet it has an entry here. Any other fallback is a result of the
 * handshake, and gives no entry. */
smcr_entry_conn_handshake_end_t *
smcr_collect_handshake_end(const smcr_collect_conn_stats_t *counted,
                           const smcr_collect_tcp_facts_t *tcp, smcr_when_t fallback,
                           wmem_allocator_t *scope)
{
    uint8_t step = last_step(counted);

    if (!step || !is_known(counted, tcp))
        return NULL;
    unsigned sender = step == SMCR_CLC_ACCEPT;
    handshake_t handshake = {.conn = counted->conn, .tcp = tcp, .step = step,
                             .sender = sender, .sent = counted->clc[step],
                             .newest = &tcp->newest[way_of(tcp, sender)]};
    smcr_entry_conn_handshake_end_t *entry = wmem_new(scope, smcr_entry_conn_handshake_end_t);
    smcr_entry_clear(entry, &smcr_entry_conn_handshake_end_description);
    if (got_other_data(counted, tcp))
        fill_other_data(entry, tcp, fallback);
    else if (counted->conn->fallback.kind || may_have_answer(counted, tcp, sender) ||
             !find_end(entry, &handshake))
        return NULL;
    if (counted->conn->partial_clc[!sender])
        entry->answer = "a part of a CLC message";
    entry->step = step; /* the words of clc_step are in the order of CLC's types */
    entry->from_frame = handshake.sent;
    entry->sent = handshake.newest->sent;
    entry->acknowledged = smcr_figure_truth(handshake.newest->is_acked);
    return entry;
}
