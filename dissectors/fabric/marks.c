/* marks.c
 * Brings CE and CNP together.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "marks.h"

/* Whether an earlier CNP has answered the open marks: it came before the pair was known. */
static bool
is_answered(const smcr_ecn_marks_t *marked, const smcr_when_t *cnp)
{
    return marked->open && cnp->frame > marked->open->first.frame;
}

const smcr_ecn_ce_t *
smcr_ecn_take_ce(smcr_ecn_marks_t *marks, const smcr_ecn_marks_t *peer, wmem_allocator_t *scope,
                 smcr_when_t when)
{
    if (!marks->open || (peer && is_answered(marks, &peer->cnp))) {
        marks->open = wmem_new0(scope, smcr_ecn_ce_t);
        marks->open->first = when;
    }
    return marks->open;
}

smcr_ecn_cnp_t
smcr_ecn_take_cnp(smcr_ecn_marks_t *marks, smcr_ecn_marks_t *peer, smcr_when_t when)
{
    smcr_ecn_cnp_t cnp = {.before = marks->cnp};

    marks->cnp = when;
    if (!peer || !peer->open)
        return cnp;
    if (!is_answered(peer, &cnp.before)) { /* else it is not known which marks it answers */
        cnp.ce = peer->open->first;
        peer->open->cnp = when;
    }
    peer->open = NULL;
    return cnp;
}
