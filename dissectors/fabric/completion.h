/* completion.h
 * Messages on their way: SENDs, RDMA WRITEs, RDMA READs and atomics that have been sent and wait
 * for the response that completes them (InfiniBand Architecture Specification, volume 1, 9.7.5).
 * A message may need several packets: FIRST, MIDDLE and LAST.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_FABRIC_COMPLETION_H
#define SMCR_FABRIC_COMPLETION_H

#include <wireshark.h>
#include <wsutil/wmem/wmem.h>

#include "psn.h"
#include "sent.h"

/* A message, in the order of PSNs. */
typedef struct smcr_message {
    struct smcr_message *next; /* NULL: the last one */
    smcr_psn_t last;           /* PSN of its last packet; of a READ, of its request */
    smcr_when_t begin;         /* its first packet was sent first */
    bool fetch;                /* an RDMA READ or an atomic: only the last packet of its own
                                  response completes it */
} smcr_message_t;

/* All zeros: nothing has been sent. */
typedef struct {
    smcr_message_t *oldest, *newest; /* that wait; NULL: none does */
    uint32_t count;                  /* of these */
    smcr_when_t begin;               /* the message that is being sent; frame 0: not known */
    smcr_psn_t expected;             /* PSN of its next packet */
} smcr_messages_t;

/* A request packet with `psn`, above all before it. */
void smcr_messages_sent(smcr_messages_t *messages, wmem_allocator_t *scope,
                        const smcr_sent_t *packet, smcr_psn_t psn);

/*
 * A response covers everything up to and with `taken`. `fetch` is the PSN of the READ or atomic
 * that it answers, 0: none; `ends`: it is the last packet of that. Returns the messages that are
 * complete now, NULL when there is none; they live as long as the scope. READs and atomics that it
 * passes over are forgotten: the capture lacks their responses.
 */
const smcr_message_t *smcr_messages_settle(smcr_messages_t *messages, wmem_allocator_t *scope,
                                           smcr_psn_t taken, smcr_psn_t fetch, bool ends);

#endif /* SMCR_FABRIC_COMPLETION_H */
