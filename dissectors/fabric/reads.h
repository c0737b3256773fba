/* The PSNs that RDMA READs take. A READ request takes one PSN for each packet of its response
 * (InfiniBand Architecture Specification, volume 1, 9.4.4). The number of packets depends on the
 * path MTU, which no header names. Example: a READ of 3000 bytes has PSN 100. If the path MTU is
 * 1024, the READ takes PSNs 100 to 102, and the next request has PSN 103.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "sent.h"

#define SMCR_READS_KEPT 32 /* highest number of READs of a flow that are kept */

/* The PSNs of one READ. */
typedef struct {
    smcr_psn_t first; /* PSN of the request */
    smcr_psn_t last;  /* PSN of the last response packet; may be too low as long as the path MTU is
                         not known */
    smcr_when_t sent; /* first packet with the READ request; frame 0: not known, because the READ
                         was added by smcr_reads_add_late() */
} smcr_read_t;

/* The last READs of a flow. Older READs are forgotten. */
typedef struct {
    smcr_read_t *reads; /* circular list of READs */
    uint32_t size;     /* number of slots in `reads`: grows up to SMCR_READS_KEPT */
    uint32_t count;    /* number of all READs so far; the newest READ is in the slot
                          (count - 1) % size */
    /* Length of the newest READ in bytes, as long as its last PSN is not known. 0: its last PSN is
     * known, or there has been no READ. */
    uint32_t open_length;
} smcr_reads_t;

/* Adds a new READ with the first PSN `psn`. `mtu`: path MTU in bytes; 0: not known, and 4096 is
 * assumed. `*reads` is NULL before the first call, which allocates it from `scope`. Returns the
 * last PSN of the READ, which may be too low if the path MTU is not known. */
smcr_psn_t smcr_reads_add(smcr_reads_t **reads, wmem_allocator_t *scope, smcr_psn_t psn,
                          const smcr_sent_t *packet, uint32_t mtu);

/* Adds a READ whose request comes in the capture after requests with higher PSNs. The READ that was
 * the newest before the call stays the newest. Arguments and return value are those of
 * smcr_reads_add(). */
smcr_psn_t smcr_reads_add_late(smcr_reads_t **reads, wmem_allocator_t *scope, smcr_psn_t psn,
                               const smcr_sent_t *packet, uint32_t mtu);

/* Corrects the last PSN of the newest READ, now that the path MTU is known to be `mtu` bytes.
 * Returns the corrected PSN; 0: the last PSN was known before, or there has been no READ. `reads`
 * may be NULL. */
smcr_psn_t smcr_reads_settle(smcr_reads_t *reads, uint32_t mtu);

/* Corrects the last PSN of the newest READ, now that the next request is known to have the PSN
 * `next`: the READ ends before `next`. Tries all path MTUs (256 to 4096 bytes, powers of two), and
 * returns the highest last PSN below `next`; 0: no path MTU fits, or the last PSN was known before.
 * `reads` may be NULL. */
smcr_psn_t smcr_reads_end(smcr_reads_t *reads, smcr_psn_t next);

/* The first PSN of the READ that takes `psn`; 0: no READ in the list takes `psn`. `reads` may be
 * NULL. */
smcr_psn_t smcr_reads_find(const smcr_reads_t *reads, smcr_psn_t psn);

/* Frame and time of the first packet with the READ request whose PSN is `psn`; frame 0: not
 * known. */
smcr_when_t smcr_reads_sent(const smcr_reads_t *reads, smcr_psn_t psn);
