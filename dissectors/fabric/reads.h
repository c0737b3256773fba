/* reads.h
 * RDMA READ requests take one PSN for each packet of their response (InfiniBand Architecture
 * Specification, volume 1, 9.4.4). The number of packets depends on the path MTU, which headers do
 * not tell.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_FABRIC_READS_H
#define SMCR_FABRIC_READS_H

#include <stdbool.h>

#include <wireshark.h>
#include <wsutil/wmem/wmem.h>

#include "sent.h"

#define SMCR_READS_KEPT 32

typedef struct {
    smcr_psn_t first, last;
    smcr_when_t sent; /* first of all; frame 0: not known, since it came late */
} smcr_read_t;

typedef struct {
    smcr_read_t *kept; /* ring */
    uint32_t size;     /* of it: grows up to SMCR_READS_KEPT */
    uint32_t count;    /* of all READs so far; the newest is at (count - 1) % size */
    uint32_t open;     /* length of the newest, bytes, while its last PSN is not known; 0: it is */
} smcr_reads_t;

/* A new READ. Returns its last PSN, as far as that is known: `mtu` is in bytes, 0 where it is not
 * known. */
smcr_psn_t smcr_reads_add(smcr_reads_t **reads, wmem_allocator_t *scope, smcr_psn_t psn,
                          const smcr_sent_t *packet, uint32_t mtu);

/* The same of one that has come late: another one is still the newest. */
smcr_psn_t smcr_reads_add_late(smcr_reads_t **reads, wmem_allocator_t *scope, smcr_psn_t psn,
                               const smcr_sent_t *packet, uint32_t mtu);

/* The path MTU is known now. Returns the last PSN of the newest READ, 0 when nothing changes. */
smcr_psn_t smcr_reads_settle(smcr_reads_t *reads, uint32_t mtu);

/* The next request has the PSN `next`: the last PSN that the newest READ can have, 0 when that
 * changes nothing. */
smcr_psn_t smcr_reads_end(smcr_reads_t *reads, smcr_psn_t next);

/* The first PSN of the READ that has `psn`; 0: none is known. */
smcr_psn_t smcr_reads_find(const smcr_reads_t *reads, smcr_psn_t psn);

/* When the READ whose first PSN is `psn` was first sent; frame 0: not known. */
smcr_when_t smcr_reads_sent(const smcr_reads_t *reads, smcr_psn_t psn);

#endif /* SMCR_FABRIC_READS_H */
