/* The PSNs that RDMA READs take. A READ request takes one PSN for each packet of its response
 * (InfiniBand Architecture Specification, volume 1, 9.4.4). The number of packets depends on the
 * path MTU, which no header names. Example: a READ of 3000 bytes has PSN 100. If the path MTU is
 * 1024, the READ takes PSNs 100 to 102, and the next request has PSN 103.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "sent.h"

#define SMCR_READS_KEPT 32

/* The PSNs of one READ. */
typedef struct {
    smcr_psn_t first; /* PSN of the request */
    smcr_psn_t last;  /* PSN of the last response packet; too low while the path MTU is not known */
    smcr_when_t sent; /* first packet of the request; frame 0: not known, since the capture has the
                         request late */
} smcr_read_t;

/* The last READs of a flow. Older READs are forgotten. */
typedef struct {
    smcr_read_t *reads; /* circular list */
    uint32_t size;     /* slots of the list: grows up to SMCR_READS_KEPT */
    uint32_t count;    /* number of all READs so far; the newest is at index (count - 1) % size */
    /* length of the newest READ in bytes, as long as its last PSN is not known; 0: the last PSN is
     * known */
    uint32_t open_length;
} smcr_reads_t;

/* Adds a new READ with PSN `psn`. `mtu`: path MTU in bytes; 0: not known, and 4096 is assumed.
 * `*reads` is allocated at the first call; NULL: there has been no READ. Returns the last PSN of
 * the READ, which is too low if the path MTU is not known. */
smcr_psn_t smcr_reads_add(smcr_reads_t **reads, wmem_allocator_t *scope, smcr_psn_t psn,
                          const smcr_sent_t *packet, uint32_t mtu);

/* Adds a READ that the capture has late. The newest READ stays the newest. Arguments and return
 * value are those of smcr_reads_add(). */
smcr_psn_t smcr_reads_add_late(smcr_reads_t **reads, wmem_allocator_t *scope, smcr_psn_t psn,
                               const smcr_sent_t *packet, uint32_t mtu);

/* The path MTU turns out to be `mtu` bytes. Returns the last PSN of the newest READ; 0: that PSN
 * was known before. `reads` may be NULL. */
smcr_psn_t smcr_reads_settle(smcr_reads_t *reads, uint32_t mtu);

/* The next request has the PSN `next`, so the newest READ ends before `next`. Returns the highest
 * last PSN of the READ that any path MTU (256 to 4096 bytes, a power of two) allows; 0: no path MTU
 * fits, or the last PSN was known before. `reads` may be NULL. */
smcr_psn_t smcr_reads_end(smcr_reads_t *reads, smcr_psn_t next);

/* The first PSN of the READ that takes `psn`; 0: no READ in the list takes `psn`. `reads` may be
 * NULL. */
smcr_psn_t smcr_reads_find(const smcr_reads_t *reads, smcr_psn_t psn);

/* When the READ whose first PSN is `psn` was first sent; frame 0: not known. */
smcr_when_t smcr_reads_sent(const smcr_reads_t *reads, smcr_psn_t psn);
