/* One kind of trouble, summed up over the RDMA flows that have it: which hosts, how many packets,
 * and how long it has delayed them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#pragma once

#include "finder.h"

/* The sum of one kind of trouble over all flows that have it. */
typedef struct {
    uint64_t count;              /* packets in trouble */
    uint64_t packets;            /* all packets of these flows */
    uint64_t retransmitted;      /* packets retransmitted because of it */
    uint64_t slowest;            /* longest time of a retransmitted message, ns; 0: not known */
    uint64_t answered;           /* CNPs that answer marks; retransmissions after NAKs for damage */
    uint64_t flows;              /* flows that have it; counted by add_refused() only */
    const smcr_entry_rdma_t *at; /* the flow with most of it; NULL: no flow has it */
    uint64_t most;               /* packets in trouble on that flow */
    bool both;                   /* the reverse direction has it, too */
    bool others;                 /* other hosts have it, too */
} smcr_finding_trouble_t;

/* Adds a flow with `count` packets in trouble, for which `retransmitted` packets were
 * retransmitted. A count of 0 adds nothing. */
void smcr_finding_trouble_add(smcr_finding_trouble_t *trouble, const smcr_entry_rdma_t *flow,
                              uint64_t count, uint64_t retransmitted);

/* Adds the trouble of one flow to the sum. */
typedef void smcr_finding_add_flow_t(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow,
                                     smcr_finding_trouble_t *trouble);

/* Returns the sum over all flows, and over the packets that are in no flow (the list's `rest`). */
smcr_finding_trouble_t smcr_finding_trouble_sum(const smcr_finder_t *finder,
                                                smcr_finding_add_flow_t *add);

/* The hosts in trouble: " from A to B", " between A and B", " of several hosts, most from A to B";
 * "" where no host is known. */
const char *smcr_finding_trouble_hosts(const smcr_finder_t *finder,
                                       const smcr_finding_trouble_t *trouble);

/* The host that sends the packets in trouble; `several`: the words for more than one host, or an
 * unknown one. */
const char *smcr_finding_trouble_sender(const smcr_finding_trouble_t *trouble, const char *several);

/* "; their slowest message took 1.2 s"; "" where no message took long. */
const char *smcr_finding_trouble_slowest(const smcr_finder_t *finder,
                                         const smcr_finding_trouble_t *trouble);

/* "; 12 packets retransmitted"; "" where `packets` is 0. */
const char *smcr_finding_trouble_retransmitted(const smcr_finder_t *finder, uint64_t packets);
