/* rules.h
 * Knows the rules of RFC 7609 that several frames together break (docs/rfc7609.md). Does not know
 * what a message changes, nor what the capture lacks. Called by the flow,
 * before it overwrites what a rule holds the message against; smcr_rules_close() comes last.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_STATE_RULES_RULES_H
#define SMCR_STATE_RULES_RULES_H

#include "state/evidence/evidence.h"

/* The packet breaks a rule: tells the user. Where requests are absent, it says that they may
 * explain it; where it is doubtful for another reason, it says nothing. */
void smcr_breach(const smcr_arrival_t *arrival, smcr_event_id_t event, smcr_doubt_t doubt,
                 const char *format, ...) G_GNUC_PRINTF(4, 5);

/* How far the flow is with a message. */
typedef enum {
    SMCR_RULES_ARRIVES, /* nothing has been learned of it */
    SMCR_RULES_PLACED,  /* whose it is, and on which link it comes */
    SMCR_RULES_COUNTED, /* how far its cursors have moved */
    SMCR_RULES_LEARNED, /* all but what it ends */
} smcr_rules_when_t;

/* ---- what comes when on TCP (RFC 7609 1, 3.2, C.1 to C.6) ---- */

/* A CLC message arrives; its direction is known, and nothing has been learned of it. Returns false
 * when only the other side sends it: it means nothing. */
bool smcr_rules_clc(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_clc_t *clc);

/* The first bytes of the application arrive in a direction; nothing has been learned of them. */
void smcr_rules_tcp_data(const smcr_arrival_t *arrival, smcr_conn_t *conn);

/* Notes of LLC messages, which begin the first link of a group and offer the second one, when they
 * were sent and acknowledged. */
void smcr_rules_set_up(const smcr_arrival_t *arrival, const smcr_llc_t *llc);

/* An RDMA WRITE or CDC message arrives on a link. Asked by smcr_rules_use(). */
void smcr_rules_out_of_sync(const smcr_arrival_t *arrival);

/* ---- what CLC messages may say (RFC 7609 3.5.2, A.2, C.4) ---- */

/* An Accept or Confirm of the connection announces its sender, which has the queue pair. */
void smcr_rules_announced(const smcr_arrival_t *arrival, smcr_conn_t *conn, smcr_qp_t *qp,
                          const smcr_clc_accept_t *accept);

/* An Accept without first contact flag names a queue pair that the capture does not know. */
void smcr_rules_unknown_server(const smcr_arrival_t *arrival, const smcr_clc_accept_t *accept);

/* A Confirm names the queue pair `key`, which is not known as the client's end of an active link of
 * the connection's group. */
void smcr_rules_unknown_client(const smcr_arrival_t *arrival, const smcr_conn_t *conn,
                               const smcr_ib_qp_key_t *key);

/* An Accept names the queue pair, for a first contact or for one of the other role; `qp` is it as
 * it was known, NULL: it was not. */
void smcr_rules_taken_qp(const smcr_arrival_t *arrival, const smcr_qp_t *qp, bool first_contact);

/* A Proposal arrives that has an IP area. */
void smcr_rules_area(const smcr_arrival_t *arrival, smcr_conn_t *conn,
                     const smcr_clc_proposal_t *proposal);

/* An Accept arrives on the connection. */
void smcr_rules_subnet(const smcr_arrival_t *arrival, const smcr_conn_t *conn,
                       const smcr_clc_t *clc);

/* An Accept or Confirm gives the RMB, of the side with `qp`, elements of `size` bytes. */
void smcr_rules_element_size(const smcr_arrival_t *arrival, const smcr_qp_t *qp,
                             const smcr_rmb_t *rmb, uint32_t size);

/* An Accept or Confirm of `conn` names an RMB element, or an alert token, of `side`. `before`: the
 * connection that had it, NULL: none. */
void smcr_rules_given_away(const smcr_arrival_t *arrival, smcr_conn_t *before,
                           const smcr_conn_t *conn, int side, bool token);

/* ---- what two peers agree on (net/smc/smc_clc.h, net/smc/smc_llc.c) ---- */

/* A Proposal, Accept or Confirm of the right sender arrives: keeps what it offers or takes, which
 * the next ones are held against. */
void smcr_rules_terms(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_clc_t *clc);

/* An Accept puts the connection into the group. */
void smcr_rules_joined(const smcr_arrival_t *arrival, smcr_lgr_t *lgr);

/* An LLC message arrives, before anything is learned of it. */
void smcr_rules_llc_terms(const smcr_arrival_t *arrival, const smcr_llc_t *llc);

/* ---- where RDMA WRITEs may go (RFC 7609 4.1, 4.2, A.3.7) ---- */

/* A request arrives. */
void smcr_rules_operation(const smcr_arrival_t *arrival);

/* An RDMA WRITE, with what the flow knows of it by now. */
typedef struct {
    const smcr_rmb_rtoken_t *entry; /* ARRIVES: what the RKey names on the link; NULL: nothing */
    smcr_conn_t *conn;  /* that uses the element; NULL: none is known */
    bool is_sure;       /* ARRIVES: it can be no other connection's */
    uint64_t end, position; /* COUNTED: up to where the stream went, and where the request begins */
    uint32_t length;    /* COUNTED: of the request, bytes */
    const smcr_rmb_t *rmb;     /* PLACED */
    const smcr_place_t *place; /* PLACED, LEARNED: of the packet */
} smcr_rules_write_t;

/* COUNTED: all that came since the last request is known. LEARNED: all messages of the reader are.
 * The checks are the rows of write_checks.def. */
void smcr_rules_write(smcr_rules_when_t when, const smcr_arrival_t *arrival,
                      const smcr_rules_write_t *write);

/* ---- what CDC messages may say (RFC 7609 4.3 to 4.8, A.4) ---- */

/* A CDC message of the connection is taken in. Its checks are the rows of cdc_checks.def. */
void smcr_rules_cdc(smcr_rules_when_t when, const smcr_arrival_t *arrival, smcr_conn_t *conn,
                    const smcr_cdc_t *cdc);

/* A CDC message, whose RDMA WRITEs all have a known place, announces `bytes` that nobody has
 * written. */
void smcr_rules_unseen(const smcr_arrival_t *arrival, uint64_t bytes);

/* ---- how connections end (RFC 7609 4.8) ---- */

/* Whether the side of a connection that a claim is about has ended it by now. */
bool smcr_rules_side_has_ended(const smcr_doubt_proof_t *claim);

#endif /* SMCR_STATE_RULES_RULES_H */
