/* marks.c
 * Brings CE and CNP together.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "marks.h"

const smcr_ce_t *
smcr_marks_ce(smcr_marks_t *marks, wmem_allocator_t *scope, smcr_when_t when)
{
    if (!marks->open) {
        marks->open = wmem_new0(scope, smcr_ce_t);
        marks->open->first = when;
    }
    return marks->open;
}

smcr_cnp_t
smcr_marks_cnp(smcr_marks_t *marks, smcr_marks_t *answered, smcr_when_t when)
{
    smcr_cnp_t cnp = {.before = marks->cnp};

    marks->cnp = when;
    if (answered && answered->open) {
        cnp.ce = answered->open->first;
        answered->open->cnp = when;
        answered->open = NULL;
    }
    return cnp;
}
