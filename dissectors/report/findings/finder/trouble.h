/* The sum of one kind of trouble over the RDMA flows that have it: the hosts, the number of
 * packets, and the delay of messages.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#pragma once

#include "finder.h"

/* The sum of one kind of trouble over all flows that have it. */
typedef struct {
    uint64_t count;              /* number of packets in trouble, over all flows that have the
                                    trouble */
    uint64_t packets;            /* number of all packets of the flows that have the trouble,
                                    without duplicates */
    uint64_t retransmitted;      /* number of packets that were retransmitted because of the
                                    trouble */
    uint64_t slowest;            /* longest time that a message with a retransmitted packet took,
                                    from its first packet to the acknowledgement of its last packet,
                                    nanoseconds; 0: not known */
    uint64_t answered;           /* sum for congestion: CNPs that answer a mark CE; sum for damage:
                                    retransmissions after NAKs for damaged packets; any other sum:
                                    0 */
    uint64_t flows;              /* number of flows in trouble; only add_refused() counts them */
    const smcr_entry_rdma_t *at; /* the flow with the most packets in trouble; NULL: none */
    uint64_t most;               /* number of packets in trouble of the flow `at` */
    bool both;                   /* packets between the hosts of `at` are in trouble in both
                                    directions; not used if `others` */
    bool others;                 /* packets between hosts other than those of `at` are in trouble,
                                    too */
    bool other_sources;          /* packets of several senders are in trouble */
    bool other_targets;          /* packets to several receivers are in trouble */
} smcr_finding_trouble_t;

/* Adds a flow with `count` packets in trouble. `retransmitted`: packets that were retransmitted
 * because of the trouble. If `count` is 0, nothing is added. */
void smcr_finding_trouble_add(smcr_finding_trouble_t *trouble, const smcr_entry_rdma_t *flow,
                              uint64_t count, uint64_t retransmitted);

/* A function that adds the trouble of one flow to the sum `trouble`. */
typedef void smcr_finding_add_flow_t(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow,
                                     smcr_finding_trouble_t *trouble);

/* Returns the sum that `add` makes over all flows of the report, and over the entry for packets
 * that belong to no flow (`rest` of the list). */
smcr_finding_trouble_t smcr_finding_trouble_sum(const smcr_finder_t *finder,
                                                smcr_finding_add_flow_t *add);

/* Returns the hosts in trouble, as a part of a sentence: " from A to B", " between A and B", " from
 * several hosts to B", " from A to several hosts", " of several hosts, most from A to B"; "" if the
 * hosts of `trouble->at` are not known. */
const char *smcr_finding_trouble_hosts(const smcr_finder_t *finder,
                                       const smcr_finding_trouble_t *trouble);

/* Returns the name of the host that sends the packets in trouble. Returns `several` if more than
 * one host sends them, or if the host is not known. */
const char *smcr_finding_trouble_sender(const smcr_finding_trouble_t *trouble, const char *several);

/* Returns "; worst RDMA message latency 1.2 s"; "" if no message with a retransmitted packet is
 * known to have taken 10 ms or more, or if times are not known (smcr_finder_has_two_clocks()). */
const char *smcr_finding_trouble_slowest(const smcr_finder_t *finder,
                                         const smcr_finding_trouble_t *trouble);

/* Returns "; 12 packets retransmitted"; "" if `packets` is 0. */
const char *smcr_finding_trouble_retransmitted(const smcr_finder_t *finder, uint64_t packets);
