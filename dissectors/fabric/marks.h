/* marks.h
 * Congestion marks: a switch sets the ECN codepoint CE in a packet (RFC 3168), and its receiver
 * asks the sender to slow down, with a congestion notification packet (CNP; RoCEv2, InfiniBand
 * Architecture Specification, annex A17). One CNP answers all marks since the one before.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_FABRIC_MARKS_H
#define SMCR_FABRIC_MARKS_H

#include <wireshark.h>
#include <wsutil/wmem/wmem.h>

#include "sent.h"

/* Packets with CE that have the same answer. */
typedef struct {
    smcr_when_t first; /* of them */
    smcr_when_t cnp;   /* that answers them; frame 0: none has */
} smcr_ecn_ce_t;

/* Of what one queue pair receives. All zeros: nothing. */
typedef struct {
    smcr_ecn_ce_t *open; /* CE that no CNP has answered; NULL: none */
    smcr_when_t cnp;  /* the last one that the queue pair has received; frame 0: none */
} smcr_ecn_marks_t;

/* What is said of a CNP. */
typedef struct {
    smcr_when_t ce;     /* the first packet with CE that no CNP had answered; frame 0: not known */
    smcr_when_t before; /* the CNP before, of the same sender; frame 0: none */
} smcr_ecn_cnp_t;

/* The queue pair receives a packet with CE. `peer`: of what its peer receives, NULL where that is
 * not known. Returns what the packet has in common with others; that lives as long as the scope. */
const smcr_ecn_ce_t *smcr_ecn_take_ce(smcr_ecn_marks_t *marks, const smcr_ecn_marks_t *peer,
                                      wmem_allocator_t *scope, smcr_when_t when);

/* The queue pair receives a CNP, for what its peer receives: `peer`, NULL where that is not
 * known. */
smcr_ecn_cnp_t smcr_ecn_take_cnp(smcr_ecn_marks_t *marks, smcr_ecn_marks_t *peer, smcr_when_t when);

#endif /* SMCR_FABRIC_MARKS_H */
