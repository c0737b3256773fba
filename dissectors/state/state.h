/* state.h
 * All that is known of the SMC-R traffic of one capture file, as far as the first pass has come.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_STATE_STATE_H
#define SMCR_STATE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include <wireshark.h>
#include <wsutil/wmem/wmem.h>

#include "messages.h"

/* One end of a link: a queue pair is named by its device's GID and its number, for numbers are
 * unique only within a device. */
typedef struct {
    uint8_t gid[SMCR_GID_LENGTH]; /* IPv4 addresses as ::ffff:a.b.c.d */
    uint32_t qpn;                 /* 24 bits */
} smcr_qp_key_t;

typedef struct smcr_state smcr_state_t;

/* `scope` owns everything; there is nothing to free by hand. */
smcr_state_t *smcr_state_new(wmem_allocator_t *scope);

/* From now on the queue pair is known to carry SMC-R. */
void smcr_state_learn_qp(smcr_state_t *state, const smcr_qp_key_t *key);

/* Whether the queue pair is known to carry SMC-R. */
bool smcr_state_knows_qp(const smcr_state_t *state, const smcr_qp_key_t *key);

#endif /* SMCR_STATE_STATE_H */
