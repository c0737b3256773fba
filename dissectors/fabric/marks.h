/* Congestion marks in the packets that one queue pair receives, and the CNPs that answer them.
 *
 * A switch sets the ECN codepoint CE in a packet (RFC 3168), and the receiver of the packet asks
 * its sender to slow down, with a congestion notification packet (CNP; RoCEv2, InfiniBand
 * Architecture Specification, annex A17). One CNP answers all marks since the previous CNP.
 *
 * RoCE packets do not name the queue pair that sends them. So it may be known only later which flow
 * is the reverse one, whose CNPs answer the marks. Until then, marks and CNPs are kept.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "sent.h"

#define SMCR_ECN_EARLY_MOST 64 /* number of marks, and of CNPs, of one flow that are kept while its
                                  reverse flow is not known */

/* A group: the packets with CE that one CNP answers. */
typedef struct smcr_ecn_ce {
    smcr_when_t first;        /* first packet with CE in the group */
    smcr_when_t cnp;          /* the CNP that answers the group; frame 0: none so far */
    struct smcr_ecn_ce *next; /* another part of the same group (smcr_ecn_marks_t); NULL: none */
} smcr_ecn_ce_t;

/* A CNP, and the marks that it answers. */
typedef struct smcr_ecn_cnp {
    smcr_when_t when;          /* the CNP */
    smcr_when_t ce;            /* the first packet with CE that the CNP answers; frame 0: not known.
                                  smcr_ecn_join() may set it later */
    smcr_when_t last_cnp;      /* the CNP before this one in the same flow; frame 0: none */
    struct smcr_ecn_cnp *next; /* the next CNP of the flow that came while the reverse flow was not
                                  known; NULL: none */
} smcr_ecn_cnp_t;

/* Congestion marks in the packets that one queue pair receives. All zeros: there have been none. */
typedef struct {
    smcr_ecn_ce_t *open_group; /* marked packets that no CNP has answered so far. Each packet that
                                  came while the reverse flow was not known is a part of its own,
                                  in the order of the capture; NULL: no packet */
    struct smcr_ecn_early *early; /* marks and CNPs that came while the reverse flow was not known
                                     (marks.c); NULL: none */
    smcr_when_t cnp;     /* the last CNP that the queue pair has received; frame 0: none */
} smcr_ecn_marks_t;

/* Called when the queue pair receives a packet with CE. `peer`: the marks of the reverse flow;
 * NULL: not known. Returns the group of the packet, allocated from `scope`. Its `cnp` is set when a
 * CNP answers the group, or when smcr_ecn_join() finds which one has answered. */
const smcr_ecn_ce_t *smcr_ecn_take_ce(smcr_ecn_marks_t *marks, smcr_ecn_marks_t *peer,
                                      wmem_allocator_t *scope, smcr_when_t when);

/* Called when the queue pair receives the CNP `cnp`. The caller has set `when`, all other members
 * are zero, and the CNP lives as long as `scope`. The CNP answers the packets with CE of the
 * reverse flow since its previous CNP (the open group), and closes that group. Sets the other
 * members of `cnp`. `peer`: the marks of the reverse flow; NULL: not known. */
void smcr_ecn_take_cnp(smcr_ecn_marks_t *marks, smcr_ecn_marks_t *peer, wmem_allocator_t *scope,
                       smcr_ecn_cnp_t *cnp);

/* Called when two flows are found to be opposite. Finds which CNPs of either flow have answered
 * which marks of the other one. What is not certain stays unknown: which CNP has answered a mark
 * that came after more marks, or more CNPs, than are kept. */
void smcr_ecn_join(smcr_ecn_marks_t *one, smcr_ecn_marks_t *other);
