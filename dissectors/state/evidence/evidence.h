/* Knows what a capture may lack, and what it therefore proves of two peers, now or when more of it
 * has come. Does not know any rule or event. Called by all that must be certain.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/model/record.h"
#include "wire/wire.h"

/* What has to be certain, before it is said. A comment below begins with the word of its condition.
 * What is not known in the first pass, a second one shows, and the report of a single one.
 *
 *   word     certain where                              unknown where                     known
 *   message  its receiver took the packet in as it      it is behind a gap, was sent      now
 *            came, and its ICRC is not wrong            before, or is cut
 *   since    message, and no request of its sender is   the point is none, or in the      now
 *            absent behind a point of the flow          flow of another link
 *   link     message, and since the link began no       no message announced the first    now
 *            request of either side is absent           PSN of a queue pair
 *   group    link, for each link, and the first         the capture begins later, a link  now
 *            contact                                    has no packet, or is forgotten
 *   conn     group, and Accept and Confirm of the       the capture lacks one of them     now
 *            connection
 *   clc      SYN, SYN-ACK, and all bytes of CLC that    TCP numbers skip bytes, or are    now
 *            the sender had sent or taken in            not known
 *   place    TCP and RoCE came from one interface, and  they came from several, or one    now
 *            no request behind its acknowledgement      did
 *   seen     the sender had seen what it ignores: that  it was acknowledged less than a   now
 *            was acknowledged before                    millisecond or round trip before,
 *                                                       or a request came behind its
 *                                                       acknowledgement
 *   later    what would make it right has not come on   the flow ends, or goes on behind  later
 *            the flows of its sender, which go on       a gap
 *   until    it has not come until its time was over    the capture ends before           later
 *
 * A figure is known where a frame that the capture lacks cannot change it. Whom to ask:
 *
 *   free space, offered, unread, unannounced    smcr_evidence_is_current(), _knows_reader()
 *   bytes and WRITEs that a message announces,  smcr_evidence_of_cursors(): `follows`, `placed`
 *   bytes that it says were read
 *   a WRITE's connection, its place             smcr_evidence_owns(), _unseen_bytes()
 *   how long somebody was blocked               smcr_evidence_absent(), since that began
 *   how a connection ends                       smcr_evidence_has_end()
 *   a response, its time, that there is none    smcr_evidence_is_first_answer(), _is_unanswered()
 *   who is client, and declined, or fell silent smcr_evidence_tcp_knows_client(), _clc_, _server()
 *   fallback: what TCP carries, and when        smcr_evidence_of_clc()
 *   one direction's counts: packets, ECN marks  smcr_evidence_has_packets_to()
 *   states of links, the type of a group        smcr_evidence_knows_link()
 *   the end of a group                          smcr_doubt_link(), smcr_doubt_group() */

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

/* ---- what a flow lacks ---- */

/* How many requests are absent between the point and `psn` of the same flow; those that came too
 * late count as one. UINT64_MAX when the point is none, or of another flow. */
uint64_t smcr_evidence_absent(const smcr_point_t *point, const smcr_qp_t *qp, smcr_psn_t psn);

/* The RMB whose RTokens a continuation of CONFIRM RKEY lists; NULL: not known for sure (A.3.5). */
smcr_rmb_t *smcr_evidence_continued(const smcr_arrival_t *arrival, const smcr_lgr_t *lgr);

/* Whether no request has been absent from the flow since the point. */
bool smcr_evidence_holds(const smcr_point_t *point);

/* At most so many bytes may have been written between the point and `psn` of the flow to `qp`, and
 * are in no place; UINT64_MAX: no bound is known. */
uint64_t smcr_evidence_unseen_bytes(const smcr_point_t *point, const smcr_qp_t *qp, smcr_psn_t psn);

/* Whether the capture has packets to the queue pair: the direction is not left out. */
static inline bool
smcr_evidence_has_packets_to(const smcr_qp_t *qp)
{
    return qp->traffic.flow.packet_count > 0;
}

/* When the packet was sent for the first time; 0 in `.frame`: it fills a gap, and may repeat one
 * that the capture lacks. */
smcr_when_t smcr_evidence_sent(const smcr_arrival_t *arrival);

/* Nobody knows what the packet says, or when it was taken in: it counts as absent. */
void smcr_evidence_pass_over(const smcr_arrival_t *arrival);

/* ---- what answers a request ---- */

/* Whether what arrives can be nothing but the answer to a request: no packet of its sender is
 * absent since `asked`, so the capture has its first answer. */
bool smcr_evidence_is_first_answer(const smcr_arrival_t *arrival, const smcr_point_t *asked);

/* Whether nobody has answered the request in the time after which Linux gives up. That is not known
 * when the capture ends before. */
bool smcr_evidence_is_unanswered(const smcr_state_t *state, const smcr_exchange_t *exchange);

/* ---- CLC on TCP: sequence numbers; roles are 0, the client, and 1 ---- */

/* The handshake of TCP: `first` is the number of the role's first byte. */
void smcr_evidence_tcp_begins(smcr_conn_t *conn, unsigned role, uint32_t first);

/* A CLC message has come: the next byte is the one behind it. */
void smcr_evidence_tcp_take(const smcr_arrival_t *arrival, smcr_conn_t *conn);

/* Whether the capture has all bytes of CLC so far, and what the sender had taken in of them. */
static inline bool
smcr_evidence_tcp_precedes(const smcr_arrival_t *arrival, const smcr_conn_t *conn)
{
    const smcr_arrival_span_t *span = arrival->span;
    uint32_t next = conn->clc_next_seq[!smcr_arrival_role(arrival)];

    return span && conn->clc_complete == 3 &&
           (int32_t)(next + span->has_fin - span->acked_seq) >= 0;
}

/* The same where the message or data that has arrived has been taken. */
static inline bool
smcr_evidence_tcp_is_whole(const smcr_arrival_t *arrival, const smcr_conn_t *conn)
{
    return smcr_evidence_tcp_precedes(arrival, conn) &&
           (int32_t)(conn->clc_next_seq[smcr_arrival_role(arrival)] - arrival->span->end) >= 0;
}

/* Whether the role's FIN may be the byte before `next`: right behind CLC. Another one is a copy, of
 * a connection before on the same ports. */
static inline bool
smcr_evidence_tcp_is_end(const smcr_conn_t *conn, unsigned role, uint32_t next)
{
    return !(conn->clc_complete & 1U << role) || next == conn->clc_next_seq[role] + 1;
}

/* Whether data of the role may be a part of a CLC message: no more bytes than a message has are
 * absent before it, and the other side has not answered the last part, which had no trailer.
 * `ends_message`: it ends with a trailer, or the capture has cut it. */
bool smcr_evidence_tcp_is_part(smcr_conn_t *conn, unsigned role, const smcr_arrival_span_t *span,
                               bool ends_message);

/* Whether the handshake tells who is the client; whether messages of CLC do, which a Decline does
 * not. */
static inline bool
smcr_evidence_tcp_knows_client(const smcr_conn_t *conn)
{
    return conn->knows_client;
}

static inline bool
smcr_evidence_clc_knows_client(const smcr_conn_t *conn)
{
    return conn->proposal_frame || conn->accept_frame || conn->confirm_frame;
}

/* What is proven of a CLC message, or of the first bytes of the application, that arrives. */
typedef struct {
    bool is_next;      /* clc: the capture has all bytes of CLC that its sender had sent, or taken
                          in, before; and it comes for the first time */
    bool is_repeat;    /* TCP retransmits the bytes */
    bool is_overtaken; /* the sender had not taken in yet what has come from the other side: it was
                          sent before that, though the capture has it behind */
} smcr_evidence_clc_t;

smcr_evidence_clc_t smcr_evidence_of_clc(const smcr_arrival_t *arrival, const smcr_conn_t *conn);

/* Whether the two have agreed on a link of which the capture has nothing so far. */
static inline bool
smcr_evidence_lacks_roce(const smcr_conn_t *conn)
{
    const smcr_link_t *link = conn->confirm_frame ? conn->side[0].link : NULL;

    return link && link->packet_count == 0;
}

/* Whether the capture lacks a request on a link of the group that may have come before `frame`, or
 * has requests in disorder. */
bool smcr_evidence_lacks_before(const smcr_lgr_t *lgr, uint32_t frame);

/* ---- what the two sides of a connection have sent ---- */

/* Whether the group may have a link of which the capture does not show that it is the group's: both
 * ADD LINK and its response may be absent. */
bool smcr_evidence_may_lack_link(const smcr_lgr_t *lgr);

/* Whether the state of the link is certain: what confirms, rejects or deletes it may be absent. */
bool smcr_evidence_knows_link(const smcr_link_t *link);

/* Whether that is so of all links that the group may have. */
bool smcr_evidence_knows_links(const smcr_lgr_t *lgr);

/* Whether a link that was in use in `frame` is active until the end of the capture: no packet is
 * missing afterwards that may have ended the link. */
bool smcr_evidence_link_lasts(const smcr_link_t *link, uint32_t frame);

/* Whether it is known which side of the group is its server. `lgr` may be NULL. */
static inline bool
smcr_evidence_knows_server(const smcr_lgr_t *lgr)
{
    return lgr && lgr->server != SMCR_LGR_SIDE_UNKNOWN;
}

/* Whether the capture tells all that `side` has read, and all that it may read: it has all messages
 * to it, and the tokens of both directions. */
bool smcr_evidence_knows_reader(const smcr_conn_t *conn, int side);

/* The last CDC message to the side, or where the connection began. */
static inline const smcr_point_t *
smcr_evidence_last_to(const smcr_conn_side_t *receiver)
{
    return receiver->last_cdc_received.qp ? &receiver->last_cdc_received : &receiver->valid_from;
}

/* Packets after the close of a side, among which Linux sends the data that waited
 * (smc_tx_pending()). */
#define SMCR_EVIDENCE_AFTER_CLOSE 64

/* Whether the capture has all CDC messages to `side` so far: what they tell is known. */
bool smcr_evidence_is_current(const smcr_conn_t *conn, int side);

/* Whether the capture has the end of what `side` has sent on the connection, if that has one. The
 * messages of that direction may be those of another connection, of which nothing else is known. */
bool smcr_evidence_has_end(const smcr_conn_t *conn, int side);

/* Whether a side of the link has stopped answering, and is silent since. NULL: there is none. */
bool smcr_evidence_is_silent(const smcr_link_t *link);

/* Whether the sender of a CDC message or an RDMA WRITE in `frame` knew no more of its reader than
 * the capture does, as far as is known now: nothing that the reader had sent by then is absent. */
bool smcr_evidence_hears_reader(const smcr_record_t *record, uint32_t frame);

/* A cursor of a CDC message, held against what was known before. */
typedef struct {
    smcr_ring_fault_t fault;
    bool believed; /* it can be */
    bool told;     /* nothing bears out what it goes on from: nobody is blamed */
    bool known;    /* so are: */
    uint64_t end;  /* its position in the stream */
    uint64_t over; /* so many bytes beyond what was written, or, of a consumer cursor, announced */
} smcr_evidence_cursor_t;

/* What is known of the cursors of the message before, and of the peer's. */
typedef struct {
    bool follows; /* the capture has the message before this one */
    bool same;    /* which had the same consumer cursor */
    uint32_t since; /* WRITEs of frames before this one may have been announced by a message that
                       the capture lacks, or sent for the first time before a move; 0: none */
    uint32_t left;  /* frame in which the sender has moved since its last message; 0: it has not */
    bool current; /* it has all of the peer's so far */
    bool placed;  /* it is known where all RDMA WRITEs go that came since the last message */
    bool whole;   /* and none is absent */
    uint16_t seq; /* the number that the message has to have: another one is not believed */
    smcr_evidence_cursor_t prod, cons;
} smcr_evidence_cursors_t;

/* Whether the CDC message is the next one of its sender: nothing is absent since the one before, or
 * since CLC, and nothing that was sent on another link may come again. */
bool smcr_evidence_is_next(const smcr_arrival_t *arrival, const smcr_conn_t *conn);

smcr_evidence_cursors_t smcr_evidence_of_cursors(const smcr_arrival_t *arrival,
                                                 const smcr_conn_t *conn, const smcr_cdc_t *cdc);

/* Whether the request goes to a place where none can go: it has `skipped` so many bytes since the
 * last one, and at most `unseen` can have been written that are in no place. */
bool smcr_evidence_is_astray(const smcr_arrival_t *arrival, const smcr_conn_t *conn,
                             uint64_t skipped, uint64_t unseen);

/* Whether the token is in use again, and the capture lacks the CLC messages that say so. While
 * nothing is absent since the last CDC message, it is not. Else it is where the sender was done
 * with the connection, where the sequence number does not go on, or where it goes on by more
 * messages than there have been packets. */
bool smcr_evidence_is_over(const smcr_arrival_t *arrival, const smcr_conn_t *conn,
                           const smcr_cdc_t *cdc);

/* Whether the request can be no other connection's. The connection has been sure to use the element
 * at some point of the flow. While no packet is absent behind it, it still does. Behind one or two
 * absent packets it does where the request goes on in the stream; at the beginning of the element
 * it may be the first one of the next connection. More may hide that the connection has closed,
 * that its RMB was withdrawn and announced again, and the begin of the next one. */
bool smcr_evidence_owns(const smcr_conn_t *conn, const smcr_qp_t *qp, smcr_psn_t psn,
                        uint32_t offset);

/* ---- one packet ---- */

/* message: the packet itself was taken in as it came. */
smcr_doubt_t smcr_doubt_message(const smcr_arrival_t *arrival);

/* Whether the packet was not sent before: a repeat may have been taken in before it is here. */
bool smcr_doubt_is_in_time(const smcr_arrival_t *arrival);

/* Whether the request is sent for the first time, as far as the capture shows: none behind it has
 * been there before. What is retransmitted may be older than what came in between. */
bool smcr_doubt_is_new(const smcr_arrival_t *arrival);

/* ---- flows ---- */

/* since: and no request is absent from the flow of the point behind it. */
smcr_doubt_t smcr_doubt_since(const smcr_arrival_t *arrival, const smcr_point_t *point);

/* The same since the beginning of the flow that has brought the packet. */
smcr_doubt_t smcr_doubt_before(const smcr_arrival_t *arrival);

/* link: and no request of either side since the link began. */
smcr_doubt_t smcr_doubt_link(const smcr_arrival_t *arrival, smcr_link_t *link);

/* group: and the capture has the first contact of the group and all requests on all its links. A
 * link without packets counts as absent, unless it was rejected. */
smcr_doubt_t smcr_doubt_group(const smcr_arrival_t *arrival, smcr_lgr_t *lgr);

/* ---- what a host has seen ---- */

/* seen: its sender has seen the message that was sent at `sent` (nanoseconds since the epoch). An
 * acknowledgement shows that the sender's adapter had it; the software sees it a moment later. One
 * that was acknowledged more than a millisecond or one round trip before, whichever is longer, had
 * been seen. Once a request has come behind its acknowledgement, times prove nothing. `acked`: when
 * it was; NULL: it has not been. */
smcr_doubt_t smcr_doubt_seen(const smcr_arrival_t *arrival, uint64_t sent,
                             const smcr_ack_t *acked);

/* As smcr_doubt_seen(), for a request: it must be new, too. */
smcr_doubt_t smcr_doubt_seen_new(const smcr_arrival_t *arrival,
                                 const smcr_link_sent_message_t *message);

/* ---- connections ---- */

/* conn: the group, and Accept and Confirm of the connection, so that both its tokens are known. */
smcr_doubt_t smcr_doubt_conn(const smcr_arrival_t *arrival, const smcr_conn_t *conn);

/* Whether the connection is open for sure, and `side` may be held to that: the capture has both
 * messages that began it and no end of it. What the loss of a link has done to it is known only
 * when that side has sent a CDC message since. */
bool smcr_doubt_conn_is_open(const smcr_conn_t *conn, int side);

/* place: TCP and RoCE were captured at one place and in order, so that what comes first was sent
 * first. */
smcr_doubt_t smcr_doubt_place(const smcr_arrival_t *arrival);

/* ---- what may come later ---- */

/* later: group, and what breaks the rule unless `sender`, a side, has sent something else before.
 * The capture may lack just that: each of the sender's flows has to go on without a gap, and it
 * must not have come by then. `claim` has `has_come`, and what that asks. Shown in a second pass.
 * With a `deadline` nothing may be absent from those flows at all, and the capture goes on after
 * the deadline. */
smcr_doubt_t smcr_doubt_later(const smcr_arrival_t *arrival, smcr_lgr_t *lgr, int sender,
                              smcr_doubt_proof_t claim);

/* Defines `name` for a `has_come`: what the claim is about, as `about_` declares it, says. */
#define SMCR_DOUBT_CLAIM(name, about_, says) \
    static bool name(const smcr_doubt_proof_t *claim) \
    { \
        about_ = claim->about; \
        return says; \
    }

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
 * request of that flow. `claim` as in smcr_doubt_later(). */
smcr_doubt_t smcr_doubt_next(const smcr_arrival_t *arrival, const smcr_point_t *point,
                             smcr_doubt_proof_t claim);

/* As smcr_doubt_next(), of what the other side of the connection ought to have sent before this
 * packet: its next message comes without a gap, and what makes it right does not come a moment
 * later. `*when`: when that comes, nanoseconds since the epoch; 0: not yet. */
smcr_doubt_t smcr_doubt_other(const smcr_arrival_t *arrival, const smcr_conn_t *conn,
                              const uint64_t *when);

/* The claim that something has not happened until `by`. `*when`: when it does; 0: not yet. Both are
 * nanoseconds since the epoch. */
smcr_doubt_proof_t smcr_doubt_not_by(const uint64_t *when, uint64_t by);

/* until: message, and `has_come` stays false until the deadline of the claim; asks no flow. */
smcr_doubt_t smcr_doubt_until(const smcr_arrival_t *arrival, smcr_doubt_proof_t claim);

/* The claim that the receiver of the packet sends no packet, and acknowledges none, from now on. */
const smcr_doubt_proof_t *smcr_doubt_heard(const smcr_arrival_t *arrival);

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
