/* Knows the signs of trouble in RoCE packets that the plugin does not analyse: those of other
 * programs than SMC-R, while the preference smcr.roce is off. Knows neither Wireshark nor how
 * frames are read, and keeps only two PSNs of each queue pair: it sees trouble, but proves no
 * cause. Called by report/collect/; report/findings/ includes it for the filter.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#pragma once

#include "report/figures/figures.h"

/* Display filter of the frames that are counted. Wireshark's UDP may have passed a RoCE packet to
 * the dissector of its source port, or, because of the source port 4791, another packet to
 * InfiniBand's dissector. */
#define SMCR_OTHERS_FILTER                                                                         \
    "(udp.dstport == 4791 || (infiniband && !(udp.srcport == 4791))) && !smcr && !icmp "           \
    "&& !icmpv6"

#define SMCR_OTHERS_QUEUE_PAIRS_MOST 65536 /* maximum number of queue pairs whose PSNs are followed,
                                              for requests and for responses to RDMA READs each */

/* What has been counted of one capture. */
typedef struct smcr_others smcr_others_t;

/* The headers of a RoCE packet. */
typedef struct {
    uint8_t to[SMCR_GID_LENGTH]; /* address of the receiver: a GID, an IPv6 address, or an
                                    IPv4-mapped one */
    smcr_ib_network_t network;   /* VLAN and tunnel */
    bool is_marked;              /* CE on the IP header, or on that of a tunnel */
    const uint8_t *bth;          /* the bytes from the BTH on; NULL: the BTH was not found, or not
                                    captured as a whole */
    uint32_t length;             /* number of captured bytes from the BTH on */
} smcr_others_packet_t;

/* Returns an empty count, allocated in `scope`. It takes at most about 14 MB. */
smcr_others_t *smcr_others_new(wmem_allocator_t *scope);

/* Counts a frame with RoCE that the plugin does not analyse. `packet`: its RoCE packet.
 *
 * A request, or a response to an RDMA READ, counts as retransmitted if its PSN is not after all
 * PSNs of its kind that came to its queue pair before (InfiniBand vol. 1, 9.7.1). This counts
 * packets that the network has reordered or duplicated, too. A step back of 65,536 PSNs or more
 * does not count: it is a new connection of the queue pair. */
void smcr_others_take(smcr_others_t *others, smcr_when_t when, const smcr_others_packet_t *packet);

/* Returns the entry of what has been counted, allocated in `scope`; NULL: nothing. `others` may be
 * NULL. */
smcr_entry_other_roce_t *smcr_others_report(const smcr_others_t *others, wmem_allocator_t *scope);
