/* The order of CLC messages and of the application's bytes on TCP, and the point behind which there
 * is no way back to TCP.
 *
 * A segment says what its sender had taken in when it was sent: what it acknowledges. So an answer
 * that the capture lacks is no matter: its receiver acknowledges bytes that the capture has not.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "checks.h"

#define PATIENCE (6 * SMCR_TIME_SECOND) /* Linux, CLC_WAIT_TIME */
#define ADD_LINK_WAIT (2 * SMCR_TIME_SECOND) /* Linux, SMC_LLC_WAIT_TIME */

/* ---- the order ---- */

/* The client sends Proposal and Confirm, the server Accept; both may decline. (R-3.2-1) */
SMCR_RULES_CLC(sender)
{
    smcr_breach(arrival, SMCR_EVENT_clc_wrong_sender, smcr_doubt_message(arrival),
                "Only the %s sends this message", smcr_arrival_role(arrival) ? "client" : "server");
}

static bool
has_come(const smcr_conn_t *conn, unsigned type)
{
    return conn->clc_types & 1U << type;
}

/* Each message comes once, and behind the one that it answers. (R-3.2-2) */
SMCR_RULES_CLC(order)
{
    unsigned type = message->clc->header.type;

    if (type < SMCR_CLC_PROPOSAL || type > SMCR_CLC_CONFIRM || !message->proven.is_next)
        return;
    if (has_come(conn, type))
        smcr_breach(arrival, SMCR_EVENT_clc_order, smcr_doubt_message(arrival),
                    "This message was sent before");
    else if (type != SMCR_CLC_PROPOSAL && !has_come(conn, type - 1))
        smcr_breach(arrival, SMCR_EVENT_clc_order, smcr_doubt_message(arrival),
                    "No %s precedes this message", type == SMCR_CLC_ACCEPT ? "Proposal" : "Accept");
}

/* CLC follows the option of both sides. Linux declines without it. A capture that cuts frames may
 * have cut the option. (R-1-1) */
SMCR_RULES_CLC(option)
{
    const smcr_clc_t *clc = message->clc;

    if (arrival->span && arrival->span->has_syns && !conn->clc_types && clc->complete &&
        clc->header.type != SMCR_CLC_DECLINE && !(conn->option_syn && conn->option_synack))
        smcr_breach(arrival, SMCR_EVENT_clc_no_option, smcr_doubt_message(arrival),
                    "The %s has no SMC-R option", conn->option_syn ? "SYN-ACK" : "SYN");
}

/* ---- time ---- */

/* A timer guards the handshake. When it runs out the connection ends: it does not go on, neither
 * with SMC-R nor without. (R-C.5-1, R-C.5-2) */
SMCR_RULES_CLC(time)
{
    const smcr_exchange_t *asked = smcr_slab_entry(&arrival->state->entries, conn->clc_step);
    uint64_t time = 0;

    if (asked && arrival->when.time > asked->request_time)
        time = arrival->when.time - asked->request_time;
    if (time > PATIENCE && message->proven.is_next)
        smcr_breach(arrival, SMCR_EVENT_clc_late, smcr_doubt_message(arrival),
                    "The connection goes on %u.%u seconds after the message in frame %u; Linux "
                    "ends it after 6",
                    (unsigned)(time / SMCR_TIME_SECOND),
                    (unsigned)(time % SMCR_TIME_SECOND / (SMCR_TIME_SECOND / 10)),
                    asked->request_frame);
}

/* ---- errors ---- */

/* Who receives a malformed message ends the connection. (R-C.6-2) */
SMCR_RULES_CLC(error)
{
    const smcr_rules_conn_t *kept = smcr_rules_of_conn(conn);

    if (message->proven.is_next && kept->malformed_frame &&
        kept->malformed_by_server != smcr_arrival_role(arrival))
        smcr_breach(arrival, SMCR_EVENT_clc_error_kept, smcr_doubt_message(arrival),
                    "The message in frame %u is malformed, but its receiver goes on",
                    kept->malformed_frame);
}

/* A reserved value in a first contact leads to a Decline. (R-C.6-3) */
SMCR_RULES_CLC(reserved)
{
    if (smcr_rules_of_conn(conn)->mtu_reserved)
        smcr_breach(arrival, SMCR_EVENT_clc_error_kept, smcr_doubt_message(arrival),
                    "The MTU of the Accept is reserved, but the client goes on, as Linux does "
                    "(smc_ib_modify_qp_rtr())");
}

/* ---- no way back ---- */

/* On a link that both sides have the server does not decline after its Accept, nor the client after
 * its Confirm: the other side may use RDMA already. (R-C.1-2) Returns whether it did. */
static bool
check_agreed(const smcr_arrival_t *arrival, const smcr_conn_t *conn)
{
    uint32_t last = smcr_arrival_role(arrival) ? conn->accept_frame : conn->confirm_frame;

    if (!last || !conn->accept_frame || conn->first_contact)
        return false;
    smcr_breach(arrival, SMCR_EVENT_clc_decline_late, smcr_doubt_message(arrival),
                "The sender agreed in frame %u, on a link that both sides have", last);
    return true;
}

/* The sender declines although its previous message was not answered yet. In a first contact either
 * side may decline after the Confirm, too. (R-C.1-1) */
static void
check_chase(const smcr_arrival_t *arrival, const smcr_conn_t *conn, bool is_next)
{
    bool by_server = smcr_arrival_role(arrival);
    bool known = !by_server || conn->accept_frame; /* whether it is a first contact */

    if (known && conn->clc_types && !has_come(conn, SMCR_CLC_CONFIRM) &&
        smcr_rules_of_conn(conn)->last_by_server == by_server && is_next)
        smcr_breach(arrival, SMCR_EVENT_clc_decline_chases, smcr_doubt_message(arrival),
                    "The sender has not got an answer to its last message");
}

/* Whether the message was certainly sent before the Decline. */
static smcr_doubt_t
doubt_told(const smcr_arrival_t *arrival, const smcr_link_sent_message_t *sent_message)
{
    smcr_doubt_t seen = sent_message->sent
                            ? smcr_doubt_seen(arrival, sent_message->sent, sent_message->acked)
                            : (smcr_doubt_t){SMCR_DOUBT_UNSEEN, NULL};

    return smcr_doubt_or(smcr_doubt_or(smcr_doubt_message(arrival), smcr_doubt_place(arrival)),
                         seen);
}

/* In a first contact the server does not decline once ADD LINK was taken in, nor the client once
 * its response was. (R-C.3-1) Nor does either side once CONFIRM LINK has completed, but C.3 seems
 * to allow it. (R-C.2-1) */
static void
check_set_up(const smcr_arrival_t *arrival, const smcr_conn_t *conn)
{
    bool by_server = smcr_arrival_role(arrival);
    const smcr_link_sent_message_t *sent_message = smcr_rules_of_lgr(conn->lgr)->set_up;
    const smcr_link_sent_message_t *last =
        &sent_message[by_server ? SMCR_RULES_SET_UP_OFFERED : SMCR_RULES_SET_UP_ANSWERED];
    /* Linux before 5.8 declines where the response to ADD LINK does not come. (R-C.7-4) */
    bool gave_up = by_server && !sent_message[SMCR_RULES_SET_UP_ANSWERED].sent &&
                   arrival->when.time >= last->sent + ADD_LINK_WAIT;

    if (!doubt_told(arrival, last).kind && gave_up)
        smcr_breach(arrival, SMCR_EVENT_llc_no_recovery, smcr_doubt_message(arrival),
                    "ADD LINK has no response: the server declines, as Linux before 5.8 does "
                    "(smcr_serv_conf_first_link()), instead of resetting the TCP connection");
    else if (!doubt_told(arrival, last).kind)
        smcr_breach(arrival, SMCR_EVENT_clc_decline_late, smcr_doubt_message(arrival),
                    "The %s for the second link was taken in before",
                    by_server ? "ADD LINK request" : "ADD LINK response");
    else
        smcr_breach(arrival, SMCR_EVENT_clc_decline_confirmed,
                    doubt_told(arrival, &sent_message[SMCR_RULES_SET_UP_CONFIRMED]),
                    "CONFIRM LINK has completed before");
}

SMCR_RULES_CLC(decline)
{
    if (check_agreed(arrival, conn))
        return;
    check_chase(arrival, conn, message->proven.is_next);
    if (conn->first_contact && conn->lgr && conn->confirm_frame)
        check_set_up(arrival, conn);
    if (conn->first_contact && conn->lgr && !smcr_rules_of_lgr(conn->lgr)->declined)
        smcr_rules_lgr(arrival, conn->lgr)->declined = arrival->when.time;
}

/* ---- CLC messages ---- */

/* What later messages are judged by. */
SMCR_RULES_CLC(note_order)
{
    const smcr_clc_t *clc = message->clc;

    if (message->proven.is_repeat)
        return;
    smcr_rules_conn_t *kept = smcr_rules_conn(arrival, conn);
    if (!message->proven.is_overtaken)
        kept->last_by_server = smcr_arrival_role(arrival);
    if (clc->malformed) {
        kept->malformed_frame = arrival->when.frame;
        kept->malformed_by_server = smcr_arrival_role(arrival);
    }
    kept->mtu_reserved = clc->header.type == SMCR_CLC_ACCEPT && clc->complete && !clc->smcd &&
                         clc->header.flags & SMCR_CLC_FLAG_FIRST_CONTACT &&
                         !smcr_mtu_bytes(smcr_wire_bits(clc->u.accept.sizes, SMCR_MASK_MTU));
    kept->out_of_sync |= clc->header.type == SMCR_CLC_DECLINE &&
                         clc->header.flags & SMCR_CLC_FLAG_OUT_OF_SYNC;
}

/* ---- bytes of the application ---- */

/* A connection that uses RDMA never returns to TCP. (R-1-2) */
static void
check_switch(const smcr_arrival_t *arrival, const smcr_conn_t *conn)
{
    uint32_t last = MAX(conn->side[0].cdc_frame, conn->side[1].cdc_frame);

    if (!conn->fallback.kind && last)
        smcr_breach(arrival, SMCR_EVENT_clc_data_after_switch, smcr_doubt_message(arrival),
                    "The connection has used RDMA, last in frame %u", last);
}

/* Bytes of the application where a message of CLC is due. (R-C.6-1) */
static void
check_due(const smcr_arrival_t *arrival, const smcr_conn_t *conn)
{
    bool by_server = smcr_arrival_role(arrival);
    const char *due = by_server && !has_come(conn, SMCR_CLC_ACCEPT) ? "The Accept of the server"
                      : has_come(conn, SMCR_CLC_ACCEPT) ? "The Confirm of the client"
                                                        : "The answer to the Proposal";

    if (has_come(conn, SMCR_CLC_PROPOSAL) && conn->option_syn && conn->option_synack)
        smcr_breach(arrival, SMCR_EVENT_clc_data_instead, smcr_doubt_message(arrival),
                    "%s, or a Decline, has to come first", due);
}

void
smcr_rules_tcp_data(const smcr_arrival_t *arrival, smcr_conn_t *conn)
{
    const smcr_rules_clc_t data = {.proven = smcr_evidence_of_clc(arrival, conn)};
    smcr_lgr_t *lgr = conn->lgr;

    if (!data.proven.is_next || conn->cut_clc)
        return;
    if (smcr_rules_of_conn(conn)->out_of_sync && lgr &&
        conn->fallback.by_server != smcr_arrival_role(arrival) &&
        !smcr_rules_of_lgr(lgr)->out_of_sync_time) {
        smcr_rules_lgr_t *kept = smcr_rules_lgr(arrival, lgr);
        kept->out_of_sync_time = arrival->when.time; /* the receiver has seen the Decline */
        kept->out_of_sync_side = smcr_arrival_role(arrival) ? lgr->server : !lgr->server;
    }
    smcr_rules_clc_error(arrival, conn, &data);
    if (has_come(conn, SMCR_CLC_DECLINE))
        return;
    smcr_rules_clc_time(arrival, conn, &data);
    if (has_come(conn, SMCR_CLC_CONFIRM))
        check_switch(arrival, conn);
    else
        check_due(arrival, conn);
}
