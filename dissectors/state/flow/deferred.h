/* deferred.h
 * What comes behind a PSN gap. A real receiver throws it away and gets it again; but when only the
 * capture lacks the packets before, its acknowledgement shows that it took it in.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_STATE_FLOW_DEFERRED_H
#define SMCR_STATE_FLOW_DEFERRED_H

#include "state/model/record.h"

/* What a packet brings to its receiver: one of `llc`, `cdc` and, of a WRITE packet, `place`. */
typedef struct {
    const smcr_llc_t *llc;
    const smcr_cdc_t *cdc;
    smcr_place_t *place;
    smcr_conn_t *conn; /* of `cdc` or `place` */
    bool requested;    /* `llc` is a response, and the capture has its request */
} smcr_deferred_content_t;

/* That, and with which packet it came. */
typedef struct {
    smcr_deferred_content_t content; /* its message is the copy below */
    smcr_psn_t psn;
    smcr_when_t when, sent; /* as in smcr_arrival_t */
    union {
        smcr_llc_t llc;
        smcr_cdc_t cdc;
    } copy;
} smcr_deferred_t;

/* Keeps what arrives behind a gap. */
void smcr_deferred_add(const smcr_arrival_t *arrival, const smcr_deferred_content_t *content);

/* Takes out the first of what was kept for `qp`, in the order of PSNs, that lies before `end`; NULL
 * when there is none. The caller frees it. */
smcr_deferred_t *smcr_deferred_take(smcr_qp_t *qp, smcr_psn_t end);
void smcr_deferred_free(smcr_state_t *state, smcr_deferred_t *deferred);

#endif /* SMCR_STATE_FLOW_DEFERRED_H */
