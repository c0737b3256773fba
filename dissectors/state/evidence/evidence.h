/* evidence.h
 * Knows what a capture may lack, and what it therefore proves of two peers, now or when more of it
 * has come. Does not know any rule or event. Called by all that must be certain; the word before
 * the colon in a comment (message, flow, link, group, saw, conn, clc, place, later) is the
 * condition's name in docs/rfc7609.md.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_STATE_EVIDENCE_EVIDENCE_H
#define SMCR_STATE_EVIDENCE_EVIDENCE_H

#include "state/model/record.h"

/* By how much a capture may have packets of two hosts out of order, nanoseconds. */
#define SMCR_DOUBT_DISORDER UINT64_C(100000000)

typedef enum {
    SMCR_DOUBT_NONE,   /* the capture proves it */
    SMCR_DOUBT_FATE,   /* the packet was not taken in when it came: it waits, or came before */
    SMCR_DOUBT_START,  /* the capture lacks the beginning */
    SMCR_DOUBT_ABSENT, /* requests are absent, or came too late to count in their order */
    SMCR_DOUBT_PLACE,  /* TCP and RoCE may come from two places: their order means nothing */
    SMCR_DOUBT_UNSEEN, /* the sender may not have seen yet what it ignores */
} smcr_doubt_kind_t;

/* Something that has not come, though it may be on its way: what each flow of a group had carried
 * by then. That the capture lacks it shows only when the flow goes on. */
struct smcr_doubt_proof {
    /* by now; NULL: it cannot have */
    bool (*has_come)(const struct smcr_doubt_proof *claim);
    /* for `has_come` */
    const smcr_state_t *state; /* filled in where the claim is kept */
    const void *about;
    uint32_t key;
    uint64_t bound; /* a time, nanoseconds since the epoch, or a position */
    /* of the claim */
    uint64_t deadline; /* by which it had to come, nanoseconds since the epoch; 0: before now */
    unsigned count;    /* of points */
    smcr_point_t *points;
};

typedef struct {
    smcr_doubt_kind_t kind;
    const smcr_doubt_proof_t *claim; /* NULL: nothing that comes later tells more */
} smcr_doubt_t;

/* ---- one packet ---- */

/* message: the packet itself was taken in as it came. */
smcr_doubt_t smcr_doubt_message(const smcr_arrival_t *arrival);

/* Whether the packet was not sent before: a repeat may have been taken in earlier than it was
 * captured. */
bool smcr_doubt_is_in_time(const smcr_arrival_t *arrival);

/* Whether the request is sent for the first time, as far as the capture shows: none behind it has
 * been there before. What is sent again may be older than what came in between. */
bool smcr_doubt_is_new(const smcr_arrival_t *arrival);

/* ---- flows ---- */

/* flow: and no request is absent from the flow of the point behind it. */
smcr_doubt_t smcr_doubt_since(const smcr_arrival_t *arrival, const smcr_point_t *point);

/* The same since the beginning of the flow that has brought the packet. */
smcr_doubt_t smcr_doubt_before(const smcr_arrival_t *arrival);

/* link: and no request of either side since the link began. */
smcr_doubt_t smcr_doubt_link(const smcr_arrival_t *arrival, smcr_link_t *link);

/* group: and the capture has the first contact of the group and all requests on all its links. A
 * link without packets counts as absent, unless it was rejected. */
smcr_doubt_t smcr_doubt_group(const smcr_arrival_t *arrival, smcr_lgr_t *lgr);

/* ---- what a host has seen ---- */

/* saw: its sender has seen the message that was sent at `sent` (nanoseconds since the epoch). An
 * acknowledgement shows that the sender's adapter had it; the software sees it a moment later. One
 * that was acknowledged more than a millisecond or one round trip before, whichever is longer, had
 * been seen. `acked`: when it was; NULL: it has not been. */
smcr_doubt_t smcr_doubt_seen(const smcr_arrival_t *arrival, uint64_t sent,
                             const smcr_when_t *acked);

/* As smcr_doubt_seen(), for a request: it must be new, too. */
smcr_doubt_t smcr_doubt_seen_new(const smcr_arrival_t *arrival,
                                 const smcr_link_sent_message_t *message);

/* ---- connections ---- */

/* conn: the group, and Accept and Confirm of the connection, so that both its tokens are known. */
smcr_doubt_t smcr_doubt_conn(const smcr_arrival_t *arrival, const smcr_conn_t *conn);

/* conn: whether the capture has Accept and Confirm of all connections of the group that have shown
 * themselves so far. */
bool smcr_doubt_lgr_has_conns(const smcr_lgr_t *lgr);

/* clc: whether the capture has all bytes of CLC that were sent, or taken in, before this message or
 * data by its sender; and it comes for the first time. */
bool smcr_doubt_conn_has_clc(const smcr_arrival_t *arrival, const smcr_conn_t *conn);

/* Whether the connection is open for sure, and `side` may be held to that: the capture has both
 * messages that began it and no end of it. What the loss of a link has done to it is known only
 * when that side has sent a CDC message since. */
bool smcr_doubt_conn_is_open(const smcr_conn_t *conn, int side);

/* place: TCP and RoCE were captured at one place, so that what comes first was sent first. */
smcr_doubt_t smcr_doubt_place(const smcr_arrival_t *arrival);

/* ---- what may come later ---- */

/* later: group, and what breaks the rule unless `sender`, a side, has sent something else before.
 * The capture may lack just that: each of the sender's flows has to go on without a gap, and it
 * must not have come by then. `claim` has `has_come`, and what that asks. Shown in a second pass.
 * With a `deadline` nothing may be absent from those flows at all, and the capture goes on after
 * the deadline. */
smcr_doubt_t smcr_doubt_later(const smcr_arrival_t *arrival, smcr_lgr_t *lgr, int sender,
                              smcr_doubt_proof_t claim);

/* The same where either side may have sent it: each flow goes on, but for those of the link `but`,
 * which carries nothing any more; NULL: none. */
smcr_doubt_t smcr_doubt_later_of_both(const smcr_arrival_t *arrival, smcr_lgr_t *lgr,
                                      const smcr_link_t *but, smcr_doubt_proof_t claim);

/* As smcr_doubt_later_of_both(), but ignores `added`, a link being added that has no traffic yet;
 * NULL: none. */
smcr_doubt_t smcr_doubt_later_adding(const smcr_arrival_t *arrival, smcr_lgr_t *lgr,
                                     const smcr_link_t *added, smcr_doubt_proof_t claim);

/* later, on one link: what breaks the rule unless `sender`, a side, has sent something else on this
 * link before. The capture has all requests on the link, and the sender's flow goes on. `claim` as
 * in smcr_doubt_later(). */
smcr_doubt_t smcr_doubt_later_on(const smcr_arrival_t *arrival, smcr_link_t *link, int sender,
                                 smcr_doubt_proof_t claim);

/* An answer of `sender`, a side, that is due at the deadline of the claim: conn, and later. Where
 * something is absent, that may be the answer: then nothing is to be said. */
smcr_doubt_t smcr_doubt_answer(const smcr_arrival_t *arrival, const smcr_conn_t *conn, int sender,
                               smcr_doubt_proof_t claim);

/* later, on the flow of the point: nothing is absent behind the point, nor right before the next
 * request of that flow. */
smcr_doubt_t smcr_doubt_next(const smcr_arrival_t *arrival, const smcr_point_t *point);

/* As smcr_doubt_next(), of what the other side of the connection ought to have sent before this
 * packet: its next message comes without a gap, and what makes it right does not come a moment
 * later. `*when`: when that comes, nanoseconds since the epoch; 0: not yet. */
smcr_doubt_t smcr_doubt_other(const smcr_arrival_t *arrival, const smcr_conn_t *conn,
                              const uint64_t *when);

/* The claim that something has not happened until `by`. `*when`: when it does; 0: not yet. Both are
 * nanoseconds since the epoch. */
smcr_doubt_proof_t smcr_doubt_not_by(const uint64_t *when, uint64_t by);

/* message: and `has_come` stays false until the deadline of the claim; asks no flow. */
smcr_doubt_t smcr_doubt_until(const smcr_arrival_t *arrival, smcr_doubt_proof_t claim);

/* later: whether the capture may lack that the owner of `owner`, one of its queue pairs, has
 * announced the RKey on that link. */
smcr_doubt_t smcr_doubt_rkey(const smcr_arrival_t *arrival, const smcr_qp_t *owner, uint32_t rkey);

/* later: the message that arrives breaks a rule if the connection uses the RMB of `owner`, a side,
 * still: whether the capture may lack its end. `added`: as in smcr_doubt_later_adding(). */
smcr_doubt_t smcr_doubt_use(const smcr_arrival_t *arrival, const smcr_conn_t *conn, int owner,
                            const smcr_link_t *added);

/* Whether what has come since bears the claim out, as far as is known now. */
bool smcr_doubt_proof_holds(const smcr_state_t *state, const smcr_doubt_proof_t *claim);

/* Both: the first doubt that there is, and the claim of either. */
smcr_doubt_t smcr_doubt_or(smcr_doubt_t first, smcr_doubt_t second);

#endif /* SMCR_STATE_EVIDENCE_EVIDENCE_H */
