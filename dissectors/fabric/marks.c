/* Finds which CNP answers which CE marks.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "marks.h"

/* What came while the reverse flow was not known. */
typedef struct smcr_ecn_early {
    smcr_ecn_ce_t *last_part;  /* last part of the open group. After SMCR_ECN_EARLY_MOST parts it
                                  stands for all later marks, too. NULL: no part was added while the
                                  reverse flow was not known */
    uint32_t last_mark;        /* frame of the last mark that has no part of its own; 0: none */
    unsigned marks;            /* number of parts of the open group that were added */
    smcr_ecn_cnp_t *first_cnp; /* the CNPs that are kept, in the order of the capture; NULL: none */
    smcr_ecn_cnp_t *last_cnp;  /* the last of them; NULL: none */
    unsigned cnps;             /* number of CNPs, those that are not kept included */
} early_t;

/* Returns what is kept while the reverse flow is not known. The first call makes it. */
static early_t *
early_of(smcr_ecn_marks_t *marks, wmem_allocator_t *scope)
{
    if (!marks->early)
        marks->early = wmem_new0(scope, early_t);
    return marks->early;
}

/* Returns a new part of a group, whose only packet is `when`. */
static smcr_ecn_ce_t *
new_part(wmem_allocator_t *scope, smcr_when_t when)
{
    smcr_ecn_ce_t *part = wmem_new0(scope, smcr_ecn_ce_t);

    part->first = when;
    return part;
}

/* Returns the last part of the open group; NULL: there is none. */
static smcr_ecn_ce_t *
last_part_of(const smcr_ecn_marks_t *marks)
{
    smcr_ecn_ce_t *last = marks->open_group;

    while (last && last->next)
        last = last->next;
    return last;
}

/* Adds a packet with CE to the open group while the reverse flow is not known. Returns its part. */
static const smcr_ecn_ce_t *
keep_mark(smcr_ecn_marks_t *marks, wmem_allocator_t *scope, smcr_when_t when)
{
    early_t *early = early_of(marks, scope);
    smcr_ecn_ce_t *last = early->last_part ? early->last_part : last_part_of(marks);

    if (early->marks == SMCR_ECN_EARLY_MOST) {
        early->last_mark = when.frame;
        return last;
    }
    early->marks++;
    early->last_part = new_part(scope, when);
    if (last)
        last->next = early->last_part;
    else
        marks->open_group = early->last_part;
    return early->last_part;
}

/* Keeps a CNP while the reverse flow is not known. */
static void
keep_cnp(early_t *early, smcr_ecn_cnp_t *cnp)
{
    if (++early->cnps > SMCR_ECN_EARLY_MOST)
        return;
    if (early->last_cnp)
        early->last_cnp->next = cnp;
    else
        early->first_cnp = cnp;
    early->last_cnp = cnp;
}

/* Whether the part came before the CNP. `part` NULL: false. */
static bool
came_before(const smcr_ecn_ce_t *part, const smcr_ecn_cnp_t *cnp)
{
    return part && part->first.frame < cnp->when.frame;
}

/* Whether the part also stands for marks that came after the CNP. Only the last part does, if more
 * than SMCR_ECN_EARLY_MOST marks came. */
static bool
goes_on_after(const smcr_ecn_marks_t *marked, const smcr_ecn_ce_t *part, const smcr_ecn_cnp_t *cnp)
{
    const early_t *early = marked->early;

    return early && part == early->last_part && early->last_mark > cnp->when.frame;
}

/* Notes that the CNP answers the parts of the open group that came before it, and removes these
 * parts from the open group. If the last of them also stands for marks after the CNP, its `cnp`
 * stays unknown. */
static void
answer(smcr_ecn_marks_t *marked, smcr_ecn_cnp_t *cnp)
{
    smcr_ecn_ce_t *part = marked->open_group;

    if (came_before(part, cnp))
        cnp->ce = part->first;
    for (; came_before(part, cnp); part = part->next) {
        part->first = cnp->ce;
        if (!goes_on_after(marked, part, cnp))
            part->cnp = cnp->when;
    }
    marked->open_group = part;
}

/* Finds which of the CNPs that were kept have answered marks. The rest of the marks is the open
 * group. If there were more CNPs than are kept, it is not known which CNP has answered the rest of
 * the marks. */
static void
answer_early(smcr_ecn_marks_t *marked, const early_t *cnps)
{
    for (smcr_ecn_cnp_t *cnp = cnps ? cnps->first_cnp : NULL; cnp; cnp = cnp->next)
        answer(marked, cnp);
    if (cnps && cnps->cnps > SMCR_ECN_EARLY_MOST)
        marked->open_group = NULL;
    for (smcr_ecn_ce_t *part = marked->open_group; part; part = part->next)
        part->first = marked->open_group->first;
}

/* May be called several times: after a call, neither flow has early marks or CNPs. New ones come
 * only if the two flows lose each other. One call handles both directions. */
void
smcr_ecn_join(smcr_ecn_marks_t *one, smcr_ecn_marks_t *other)
{
    if (!one->early && !other->early)
        return;
    answer_early(one, other->early);
    answer_early(other, one->early);
    one->early = other->early = NULL;
}

/* All packets with CE since the last CNP share the open group. Records keep the pointer to their
 * group, so a group must not move. */
const smcr_ecn_ce_t *
smcr_ecn_take_ce(smcr_ecn_marks_t *marks, smcr_ecn_marks_t *peer, wmem_allocator_t *scope,
                 smcr_when_t when)
{
    if (!peer)
        return keep_mark(marks, scope, when);
    smcr_ecn_join(marks, peer);
    if (!marks->open_group)
        marks->open_group = new_part(scope, when);
    return marks->open_group;
}

/* Sets `last_cnp` in each case, `ce` only if the reverse flow is known and has marks that came
 * before the CNP in the capture. */
void
smcr_ecn_take_cnp(smcr_ecn_marks_t *marks, smcr_ecn_marks_t *peer, wmem_allocator_t *scope,
                  smcr_ecn_cnp_t *cnp)
{
    cnp->last_cnp = marks->cnp;
    marks->cnp = cnp->when;
    if (!peer) {
        keep_cnp(early_of(marks, scope), cnp);
        return;
    }
    smcr_ecn_join(marks, peer);
    answer(peer, cnp);
}
