/* tcp_flow.c
 * What the TCP connection tells, and why a connection does not use SMC-R: decided once, in the
 * frame that proves it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "packet_flow.h"

#include "message_flow.h"

/* ---- the handshake ---- */

smcr_conn_t *
smcr_state_tcp(smcr_state_t *state, const smcr_state_tcp_t *tcp)
{
    smcr_conn_t *conn = smcr_conn_new(state);

    smcr_conn_set_conversation(state, conn, tcp->conversation, tcp->stream);
    smcr_conn_set_ends(state, conn, tcp->ipv4, (const uint8_t *[]){tcp->gid[0], tcp->gid[1]},
                       tcp->port);
    conn->known_from = tcp->frame;
    conn->after_end = tcp->has_ended;
    return conn;
}

/* ---- fallback ---- */

static void
fall_back(smcr_conn_t *conn, smcr_fallback_kind_t kind, uint32_t frame)
{
    conn->fallback.kind = (uint8_t)kind;
    conn->fallback.frame = frame;
    conn->fallback.step = conn->confirm_frame    ? SMCR_CLC_CONFIRM
                          : conn->accept_frame   ? SMCR_CLC_ACCEPT
                          : conn->proposal_frame ? SMCR_CLC_PROPOSAL
                                                 : 0;
    conn->fallback.both_options = conn->option_syn && conn->option_synack;
    conn->fallback.no_roles = conn->no_roles;
}

void
smcr_state_declined(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_clc_t *decline)
{
    const smcr_clc_decline_t *message = &decline->u.decline;
    smcr_fallback_t *fallback = &conn->fallback;

    if (fallback->kind)
        return;
    fall_back(conn, SMCR_FALLBACK_DECLINED, arrival->when.frame);
    fallback->lacks_clc = conn->cut_clc || !smcr_evidence_tcp_is_whole(arrival, conn);
    fallback->no_code = decline->cut_code;
    fallback->code = message->diagnosis;
    fallback->os = smcr_wire_bits(decline->header.flags, SMCR_MASK_VERSION) >= 2
                       ? smcr_wire_bits(message->os, SMCR_MASK_OS)
                       : 0;
    fallback->by_server = smcr_arrival_role(arrival);
    fallback->other_subnet = conn->ipv4 && conn->outside;
    fallback->no_roce = smcr_evidence_lacks_roce(conn);
}

void
smcr_state_tcp_data(const smcr_arrival_t *arrival, smcr_conn_t *conn, bool from_server)
{
    bool asked = conn->proposal_frame || conn->accept_frame;

    smcr_state_learns(arrival->state, arrival->when.frame);
    arrival->record->direction = from_server;
    smcr_rules_tcp_data(arrival, conn);
    bool whole = !conn->cut_clc && smcr_evidence_tcp_is_whole(arrival, conn);
    bool declined = conn->confirm_frame && arrival->span && !whole && !conn->side[0].cdc_frame &&
                    !conn->side[1].cdc_frame;
    if (conn->fallback.kind || (conn->confirm_frame && !declined))
        return;
    fall_back(conn, asked || declined ? SMCR_FALLBACK_NO_ANSWER : SMCR_FALLBACK_NO_CLC,
              arrival->when.frame);
    conn->fallback.lacks_clc = !whole;
}

/* ---- option, beginning and end of CLC ---- */

void
smcr_state_syn(smcr_state_t *state, smcr_conn_t *conn, const smcr_state_syn_t *syn)
{
    bool again = conn->synack;

    smcr_state_learns(state, syn->when.frame);
    if (syn->option)
        smcr_conn_pass(conn, syn->when);
    if (!conn->clc_types) /* else it is of an earlier handshake, seen again */
        smcr_evidence_tcp_begins(conn, syn->answer, syn->first);
    conn->synack |= syn->answer;
    conn->option_synack |= syn->option && syn->answer;
    conn->option_syn |= syn->option && !syn->answer;
    if (syn->answer && !syn->option && !again && conn->option_syn && !conn->fallback.kind)
        fall_back(conn, SMCR_FALLBACK_NO_OPTION, syn->when.frame);
}

void
smcr_state_clc_ended(smcr_state_t *state, smcr_conn_t *conn, unsigned direction,
                     uint32_t frame)
{
    smcr_state_learns(state, frame);
    if (conn->clc_end[direction] == 0)
        conn->clc_end[direction] = frame;
}
