/* Knows which packets a capture may miss, and what the capture therefore proves about two peers:
 * when a packet comes, or after later packets. Does not know any rule or event. Called by rooms
 * that report only what the capture proves.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/model/record.h"
#include "wire/wire.h"

/* What the capture has to prove before the plugin reports a breach or a number. Each entry is one
 * condition. The comment of a function that checks a condition begins with the word of the
 * condition and a colon. A point (smcr_point_t) is a PSN in the flow to a queue pair.
 *
 * message  Proven: the receiver took in the packet when it came.
 *          Not proven: the packet waits after a gap, the receiver had it before, or discards it.
 *
 * since    Proven: "message", and no packet of the flow is missing after a point of the flow.
 *          Not proven: the point is not set, or a packet after it came out of order.
 *
 * link     Proven: "message", no packet of either direction of the link is missing, and the
 *          capture is in order. Not proven: no message announced the first PSN of a queue pair.
 *
 * group    Proven: "link" for each link that was not rejected, and the first contact is captured.
 *          Not proven: the capture starts later, a link has no packet, or a link is forgotten.
 *
 * conn     Proven: "group", and Accept and Confirm of the connection are captured.
 *          Not proven: Accept or Confirm is missing.
 *
 * clc      Proven: SYN, SYN-ACK, and all CLC bytes that the sender has sent or received are
 *          captured. Not proven: sequence numbers of TCP have a gap, or are not known.
 *
 * place    Proven: TCP and RoCE come from one interface, and the capture is in order.
 *          Not proven: several interfaces, or the capture is out of order.
 *
 * seen     Proven: the sender had seen a message of the peer: it was acknowledged long enough
 *          before. Not proven: the message was acknowledged less than a millisecond or round trip
 *          ago, or the capture is out of order.
 *
 * later    Proven: a message that would make the packet right has not come, and the flows of the
 *          sender continue without a gap. Not proven: the flows of the sender end, or continue
 *          after a gap.
 *
 * until    Proven: such a message has not come when its time is over.
 *          Not proven: the capture ends before that time.
 *
 * The first pass knows the result when the packet comes; of "later" and "until" only a second pass
 * or a report knows it.
 *
 * A number is known if no missing frame can change it. These functions say whether a number is
 * known:
 *
 * - free space, announced bytes, unread bytes: smcr_evidence_is_current(),
 *   smcr_evidence_knows_reader()
 * - bytes and WRITEs that a message announces, bytes that a message reports as read:
 *   smcr_evidence_of_cursors(), members `follows` and `placed`
 * - connection and position of a WRITE: smcr_evidence_owns(), smcr_evidence_unseen_bytes()
 * - how long a writer was blocked: smcr_evidence_absent(), since the block began
 * - how a connection ends: smcr_evidence_has_end()
 * - response, response time, no response: smcr_evidence_is_first_answer(),
 *   smcr_evidence_is_unanswered()
 * - which TCP peer is the client: smcr_evidence_tcp_knows_client(),
 *   smcr_evidence_clc_knows_client()
 * - which side of a group is the server: smcr_evidence_knows_server()
 * - fallback: which bytes TCP carries, and when: smcr_evidence_of_clc()
 * - packets and ECN marks of one direction: smcr_evidence_has_packets_to()
 * - states of links, the type of a group: smcr_evidence_knows_link()
 * - the end of a group: smcr_doubt_link(), smcr_doubt_group() */

/* The reason for which the capture does not prove that a condition is met. */
typedef enum {
    SMCR_DOUBT_NONE,   /* no doubt: the capture proves that the condition is met */
    SMCR_DOUBT_FATE,   /* the receiver did not take in the packet when it came: the packet waits
                          after a gap, was taken in before, or is discarded */
    SMCR_DOUBT_START,  /* the start of the connection or of the link group is not captured */
    SMCR_DOUBT_ABSENT, /* requests of a flow are missing, or came out of order */
    SMCR_DOUBT_PLACE,  /* the order of packets of different hosts means nothing: TCP and RoCE may be
                          captured at two places, or the capture is out of order */
    SMCR_DOUBT_UNSEEN, /* the sender may not yet have seen a message of its peer when it sent the
                          packet; of a missing response: it may not be captured
                          (smcr_doubt_answer()) */
} smcr_doubt_kind_t;

/* A claim: a certain message has not come before this moment, so a rule is broken. The message may
 * have been sent, and still be on its way to the capture point. The claim is checked later, with
 * smcr_doubt_proof_holds(). */
struct smcr_doubt_proof {
    /* returns true if the claim is refuted at the time of the call, since the message has come;
     * NULL: no message can refute the claim */
    bool (*has_come)(const struct smcr_doubt_proof *claim);

    /* ---- members for `has_come` ---- */
    const smcr_state_t *state; /* state of the capture file; set when the claim is kept */
    const void *about; /* object that `has_come` looks at; the function knows its type */
    uint32_t key;      /* number that `has_come` uses, for example an RKey or a number of packets;
                          0: not used */
    uint64_t bound;    /* bound that `has_come` uses: a time in nanoseconds since the epoch, a PSN
                          or a position; 0: not used */

    /* ---- conditions on time and flows ---- */
    uint64_t deadline; /* time until which the message may come, nanoseconds since the epoch; 0: the
                          message had to come before the claim was made */
    unsigned count;    /* number of entries of `points` */
    smcr_point_t *points; /* for each flow that may bring the message: its last packet when the
                             claim was made. The claim holds only if each of these flows continues
                             without a gap. NULL: no flow matters */
};

/* The result of a condition: whether the capture proves that the condition is met. */
typedef struct {
    smcr_doubt_kind_t kind; /* first reason for doubt; SMCR_DOUBT_NONE: proven, if `claim` holds */
    const smcr_doubt_proof_t *claim; /* claim about later packets that has to hold, too; NULL: later
                                        packets change nothing */
} smcr_doubt_t;

/* ---- missing packets of a flow ---- */

/* Number of requests that are missing between the point and `psn`, in the flow to `qp`: PSNs
 * without a captured packet. If the content of captured requests in between is not known
 * (`last_late_psn`), one is added. UINT64_MAX: not known, since the point is not set, is in another
 * flow, or is before the first captured packet of a flow whose first PSN is not known. */
uint64_t smcr_evidence_absent(const smcr_point_t *point, const smcr_qp_t *qp, smcr_psn_t psn);

/* The RMB whose RTokens a CONFIRM RKEY CONTINUATION lists: the RMB of the sender's last CONFIRM
 * RKEY. `arrival`: the continuation. NULL: a packet may be missing between the two messages, or
 * there was no CONFIRM RKEY request (A.3.5). */
smcr_rmb_t *smcr_evidence_continued(const smcr_arrival_t *arrival, const smcr_lgr_t *lgr);

/* Whether no request is missing after the point, up to the highest PSN of its flow. false also if
 * this is not known, for example since the point is not set. */
bool smcr_evidence_holds(const smcr_point_t *point);

/* Upper bound of the bytes that WRITEs between the point and `psn` of the flow to `qp` have written
 * without a known position in a stream: WRITEs that are missing, and captured WRITEs without a
 * position. If the point is in the flow of another link, and no packet of the two flows is missing:
 * 0. UINT64_MAX: no bound is known. */
uint64_t smcr_evidence_unseen_bytes(const smcr_point_t *point, const smcr_qp_t *qp, smcr_psn_t psn);

/* Whether the capture has at least one packet to the queue pair. If false, this direction is
 * perhaps not captured at all, so its counts mean nothing. */
static inline bool
smcr_evidence_has_packets_to(const smcr_qp_t *qp)
{
    return qp->traffic.flow.packet_count > 0;
}

/* Frame and time at which the packet was sent for the first time. Frame 0: not known. For example,
 * the packet fills a gap, and may be the retransmission of a missing packet. */
smcr_when_t smcr_evidence_sent(const smcr_arrival_t *arrival);

/* Makes the arriving packet count as missing in smcr_evidence_absent(): its content is not known,
 * or it came out of order. */
void smcr_evidence_pass_over(const smcr_arrival_t *arrival);

/* ---- responses to a request ---- */

/* Whether no earlier response of the sender to a request can be missing: no packet of the sender is
 * missing between `asked` and the arriving message. `asked`: point of the sender's last packet
 * before the request. */
bool smcr_evidence_is_first_answer(const smcr_arrival_t *arrival, const smcr_point_t *asked);

/* Whether the request has no response, although the capture continues for 5 seconds after it: then
 * Linux has given up. false also if the response is optional or cannot be known. */
bool smcr_evidence_is_unanswered(const smcr_state_t *state, const smcr_exchange_t *exchange);

/* ---- sequence numbers of CLC on TCP; role 0 is the client, role 1 the server ---- */

/* Learns from the SYN or SYN-ACK of the role which peer is the client, and where the CLC bytes of
 * the role begin. `first`: sequence number of the role's first byte of data, as Wireshark
 * counts. */
void smcr_evidence_tcp_begins(smcr_conn_t *conn, unsigned role, uint32_t first);

/* Learns that a CLC message has come: updates `clc_next_seq` and `clc_complete` of the
 * connection. */
void smcr_evidence_tcp_take(const smcr_arrival_t *arrival, smcr_conn_t *conn);

/* Whether the capture has all CLC bytes of both roles before the arriving message, and all bytes
 * that the sender of the message had acknowledged. false also if sequence numbers are not known. */
static inline bool
smcr_evidence_tcp_precedes(const smcr_arrival_t *arrival, const smcr_conn_t *conn)
{
    const smcr_arrival_span_t *span = arrival->span;
    uint32_t next = conn->clc_next_seq[!smcr_arrival_role(arrival)];

    return span && conn->clc_complete == 3 &&
           (int32_t)(next + span->has_fin - span->acked_seq) >= 0;
}

/* Whether smcr_evidence_tcp_precedes() is true, and the capture has no gap up to the end of the
 * arriving message: `clc_next_seq` of its sender is at this end or after it. */
static inline bool
smcr_evidence_tcp_is_whole(const smcr_arrival_t *arrival, const smcr_conn_t *conn)
{
    return smcr_evidence_tcp_precedes(arrival, conn) &&
           (int32_t)(conn->clc_next_seq[smcr_arrival_role(arrival)] - arrival->span->end) >= 0;
}

/* Whether a FIN of the role may belong to this connection. `next`: sequence number after the FIN.
 * The FIN has to come right after the CLC bytes of the role; any other FIN belongs to another
 * connection with the same ports. true also if CLC bytes of the role are missing. */
static inline bool
smcr_evidence_tcp_is_end(const smcr_conn_t *conn, unsigned role, uint32_t next)
{
    return !(conn->clc_complete & 1U << role) || next == conn->clc_next_seq[role] + 1;
}

/* Whether the bytes `span` of the role may be a part of a CLC message. Three kinds of bytes are no
 * part: 1. bytes whose segment acknowledges an earlier part of the other role; 2. bytes right after
 * the CLC messages so far, if no message was truncated (`clc_cut`); 3. bytes that are farther from
 * the end of these messages than a CLC message is long. If true, also keeps the end of the bytes in
 * the connection. `ends_message`: the bytes end with a trailer, or are truncated by snaplen: then
 * no CLC bytes count as completely captured any more. */
bool smcr_evidence_tcp_is_part(smcr_conn_t *conn, unsigned role, const smcr_arrival_span_t *span,
                               bool ends_message);

/* Whether a captured SYN or SYN-ACK shows which TCP peer is the client. */
static inline bool
smcr_evidence_tcp_knows_client(const smcr_conn_t *conn)
{
    return conn->knows_client;
}

/* Whether CLC messages show which TCP peer is the client. A Decline does not show this. */
static inline bool
smcr_evidence_clc_knows_client(const smcr_conn_t *conn)
{
    return conn->proposal_frame || conn->accept_frame || conn->confirm_frame;
}

/* What the sequence numbers prove about an arriving CLC message, or about the first bytes of the
 * application. All are false if the sequence numbers are not known. */
typedef struct {
    bool is_next;      /* the condition "clc" is proven: the message is new, and the capture has all
                          CLC bytes that its sender had sent or received before */
    bool is_repeat;    /* the bytes are a retransmission of TCP */
    bool has_crossed;  /* the message has crossed with one of the other role: before this message,
                          the capture has CLC bytes that its sender had not received when it sent
                          the message */
} smcr_evidence_clc_t;

/* What the sequence numbers of the arriving CLC message, or of the first data of the application,
 * prove. Must be called before smcr_evidence_tcp_take(). */
smcr_evidence_clc_t smcr_evidence_of_clc(const smcr_arrival_t *arrival, const smcr_conn_t *conn);

/* Whether the Confirm has come, but no RoCE packet of the connection's link is captured so far. */
static inline bool
smcr_evidence_lacks_roce(const smcr_conn_t *conn)
{
    const smcr_link_t *link = conn->confirm_frame ? conn->side[0].link : NULL;

    return link && link->packet_count == 0;
}

/* Whether the peers have agreed on SMC-R, but no RoCE packet of the connection's link is captured.
 * False for a connection that fell back to TCP, which has no RoCE packets. */
static inline bool
smcr_evidence_leaves_out_roce(const smcr_conn_t *conn)
{
    return !conn->fallback.kind && smcr_evidence_lacks_roce(conn);
}

/* Whether a request on a link of the group was missing at some time between the frames `from` and
 * `to`, or the capture is out of order. If false, the order of the group's messages in this time is
 * certain. `to` UINT32_MAX: up to the end of the capture. */
bool smcr_evidence_lacks_between(const smcr_lgr_t *lgr, uint32_t from, uint32_t to);

/* Number of requests of the group's links that were missing at some time before `frame`.
 * UINT64_MAX: not known, since the capture is out of order, or lacks the last requests of a
 * flow. */
uint64_t smcr_evidence_count_before(const smcr_lgr_t *lgr, uint32_t frame);

/* As smcr_evidence_lacks_between(), but only for the requests that `sender`, a side of the link
 * group, has sent. */
bool smcr_evidence_side_lacks_between(const smcr_lgr_t *lgr, int sender, uint32_t from,
                                      uint32_t to);

/* As smcr_evidence_lacks_between(), but for one connection: missing packets that certainly are not
 * packets of this connection do not count (smcr_evidence_prove_missing()). */
bool smcr_evidence_conn_lacks_between(const smcr_conn_t *conn, uint32_t from, uint32_t to);

/* Notes what `packets` of the packets that are missing in the flow to `qp` were: WRITEs and CDC
 * messages before a captured CDC message of their connection, or LLC requests that change no link.
 * If messages prove this of all missing packets of the flow, no connection misses a packet of the
 * flow after its last message. */
void smcr_evidence_prove_missing(smcr_qp_t *qp, uint64_t packets);

/* Notes which packets of the sender are missing since its last CDC message, as the arriving CDC
 * message of the connection proves. Must be called before the message becomes the last one.
 *
 * - `messages`: number of CDC messages that the sequence number skips.
 * - `bytes`: number of bytes that the message announces and that no captured WRITE has. They need
 *   at least one packet for each MTU.
 *
 * Nothing is noted if the last message came on another link, or if the flow's sequence gaps since
 * then have room for fewer packets than `messages` and `bytes` need. */
void smcr_evidence_take_missing(const smcr_arrival_t *arrival, smcr_conn_t *conn,
                                uint64_t messages, uint64_t bytes);

/* ---- links, and the two sides of a connection ---- */

/* Whether no link of the group was confirmed, as a Decline shows (`link_never_confirmed`). False if
 * packets of both directions of a link were acknowledged: then both sides had sent a message. */
bool smcr_evidence_never_confirmed(const smcr_lgr_t *lgr);

/* Whether the group may have a link that the plugin does not know as a link of this group. This is
 * so if the first contact of the group is not captured, or if both ADD LINK and its response may be
 * missing. False for a group no link of which was confirmed (smcr_evidence_never_confirmed()). */
bool smcr_evidence_may_lack_link(const smcr_lgr_t *lgr);

/* Whether both queue pairs of the link are known, and the capture has no packet of the link.
 * Perhaps the link never came up. Perhaps its packets do not pass the capture point, as in a
 * capture of one of two devices. */
bool smcr_evidence_never_saw(const smcr_link_t *link);

/* Whether the link may be, or may have been, active, although the capture has no packet of it. */
bool smcr_evidence_was_unseen(const smcr_link_t *link);

/* Whether the state of the link is certain. false: a message that confirms, rejects or deletes the
 * link may be missing. */
bool smcr_evidence_knows_link(const smcr_link_t *link);

/* Whether a message that changes the link may be missing between the frames `from` and `to`: on any
 * link of its group, in either direction. `to` UINT32_MAX: up to the end of the capture. */
bool smcr_evidence_may_miss_change(const smcr_link_t *link, uint32_t from, uint32_t to);

/* Whether all links of the group are known, and the state of each link is certain. */
bool smcr_evidence_knows_links(const smcr_lgr_t *lgr);

/* Whether it is known which side of the group is its server. `lgr` may be NULL. */
static inline bool
smcr_evidence_knows_server(const smcr_lgr_t *lgr)
{
    return lgr && lgr->server != SMCR_LGR_SIDE_UNKNOWN;
}

/* Whether it is known how many bytes `side` has not read. true only if all CDC messages to the side
 * are captured, the positions of the stream that it reads are known, the tokens of both sides are
 * known, and the last cursors of both sides are possible. */
bool smcr_evidence_knows_reader(const smcr_conn_t *conn, int side);

/* The point of the last CDC message to the side. Before the first message: the point at which the
 * connection began. */
static inline const smcr_point_t *
smcr_evidence_last_to(const smcr_conn_side_t *receiver)
{
    return receiver->last_cdc_received.qp ? &receiver->last_cdc_received : &receiver->valid_from;
}

/* Whether times of the connection's TCP segments and RoCE packets can be compared: all have come
 * from one interface. False if the link group of the connection is not known. */
bool smcr_evidence_has_one_clock(const smcr_conn_t *conn);

/* The frame before which neither side sends a packet of the connection on RoCE: its Accept; if that
 * is not captured, its Proposal. 0: not known. Two interfaces of a capture may have two clocks, so
 * that the order of TCP and RoCE is not known either. */
uint32_t smcr_evidence_first_frame(const smcr_conn_t *conn);

/* The frame after which neither side sends a packet of the connection: both have closed it, and the
 * closing messages of both are acknowledged. UINT32_MAX: this is not known to have happened. */
uint32_t smcr_evidence_last_frame(const smcr_conn_t *conn);

/* Whether the capture has all packets of a connection after `last`, the point of its last CDC
 * message in a flow. Either the capture has all packets of the flow after this point, and the
 * receiver took in each when it came; or messages prove of all missing packets of the flow what
 * they were (smcr_evidence_prove_missing()). */
bool smcr_evidence_has_all_after(const smcr_point_t *last);

/* Number of PSNs after the closing message of a side in which packets of the connection may still
 * come: Linux sends waiting data after the closing message (smc_tx_pending()). */
#define SMCR_EVIDENCE_AFTER_CLOSE 64

/* Whether it is certain that the capture misses none of the CDC messages that `side` has received
 * for this connection so far. */
bool smcr_evidence_is_current(const smcr_conn_t *conn, int side);

/* Number of packets of a flow within which the CDC message follows that announces a WRITE. Linux
 * sends both at once; packets of other connections may come in between. */
#define SMCR_EVIDENCE_ANNOUNCED_WITHIN 4

/* Whether data to `side` may be missing, of which no captured packet shows anything, after the last
 * CDC message to this side. Then two packets are missing at least: an RDMA WRITE, and the message
 * that announces its data. So one missing packet is no such WRITE, if
 * SMCR_EVIDENCE_ANNOUNCED_WITHIN packets of the flow follow it. */
bool smcr_evidence_may_miss_data_to(const smcr_conn_t *conn, int side);

/* Whether the side of the connection, whose peer's token is not known, has certainly sent no CDC
 * message since the capture began: no packet of the link group is missing, and no message to this
 * peer has an unknown connection. */
bool smcr_evidence_sent_no_message(const smcr_conn_t *conn, int side);

/* Whether it is known if `side` has closed the connection. True in three cases: 1. the close is
 * captured; 2. no CDC message from the side can be missing; 3. the token of the other side is not
 * known, so that the side's messages may be listed as another connection object, but the links of
 * the group miss no packet, and no such object was closed or forgotten. */
bool smcr_evidence_has_end(const smcr_conn_t *conn, int side);

/* Whether a side of the link has stopped answering (third retransmission without an answer), and
 * has sent no packet since then. True also if no packet of a side is captured. `link`: NULL gives
 * false. */
bool smcr_evidence_is_silent(const smcr_link_t *link);

/* Whether the writer knew as much about the reader as the capture shows, in `frame`: no packet of
 * the reader was missing at that time, or lost downstream of the capture point. A gap that had
 * ended before does not matter. `record`: record of a CDC message or RDMA WRITE of the writer, in
 * `frame`; for a retransmission, the time since the first transmission counts. True if link or
 * sender of the record is not known; false if nothing shows what was lost. Later packets may change
 * the result. */
bool smcr_evidence_hears_reader(const smcr_record_t *record, uint32_t frame);

/* A cursor of a CDC message, compared with the earlier cursors and the WRITEs of the connection. */
typedef struct {
    smcr_ring_fault_t fault; /* why the cursor cannot follow the earlier one;
                                SMCR_RING_FAULT_NONE: it can */
    bool owned;    /* data in the element that the cursor points into certainly belong to the
                      connection (smcr_conn_owns_element()) */
    bool accepted; /* the state uses the cursor: nothing contradicts it, or it can follow the cursor
                      of the sender's last message, which seemed impossible */
    bool may_be_right; /* the cursor may be right although it seems impossible. No breach is
                          reported */
    bool known;    /* `end` and `over` are known */
    uint64_t end;  /* position of the cursor in the stream, bytes; not set if `known` is false */
    uint64_t over; /* bytes by which a producer cursor is after the written bytes, or a consumer
                      cursor is after the announced bytes; 0: none. Not set if `known` is false */
} smcr_evidence_cursor_t;

/* What is known about the two cursors of a CDC message. The sender's last message is its last
 * captured CDC message of this connection before this one. */
typedef struct {
    bool follows; /* the sequence number, or the PSN of immediate data, proves that no CDC message
                     is missing after the sender's last message, or before its first one; and the
                     cursors of the last message are possible */
    bool same;    /* the consumer cursor is equal to the sender's last possible consumer cursor; in
                     the sender's first message: nothing is read so far */
    uint32_t since; /* WRITEs before this frame may have been announced by a missing message, or by
                       the last one, whose cursors are impossible; or the sender has moved, and may
                       send them once more. 0: no WRITEs are in doubt */
    uint32_t left;  /* frame in which the sender has moved to another link after its last message;
                       0: it has not moved */
    bool current; /* no CDC message from the receiver to the sender is missing */
    bool placed;  /* the positions of all captured WRITEs after the sender's last message are
                     known */
    bool whole;   /* no packet is missing after the sender's last message, whose cursors are
                     possible */
    uint16_t seq; /* sequence number that the message must have; if not known, the message's own
                     number */
    int16_t seq_step; /* step from the sequence number of the sender's last message to the number of
                         this message (smcr_conn_side_seq_step()) */
    smcr_doubt_t next; /* reason to doubt that this is the sender's next message on the link; of its
                          first message: that the sender has sent none before */
    smcr_evidence_cursor_t prod, cons; /* the producer cursor, and the consumer cursor */
} smcr_evidence_cursors_t;

/* Whether no packet is missing between the sender's last CDC message and the arriving one. For the
 * first CDC message of the sender: since the connection began; false if the Accept or the Confirm
 * is not captured, since then it is not known where it began. false also if the sender has moved to
 * another link after its last message: then it may send earlier messages once more. */
bool smcr_evidence_is_next(const smcr_arrival_t *arrival, const smcr_conn_t *conn);

/* What is known about the cursors of the arriving CDC message `cdc` of the connection. Must be
 * called before the state takes in the message. */
smcr_evidence_cursors_t smcr_evidence_of_cursors(const smcr_arrival_t *arrival,
                                                 const smcr_conn_t *conn, const smcr_cdc_t *cdc);

/* Whether the arriving WRITE certainly leaves a gap in the stream, which a correct writer never
 * does. `skipped`: bytes between the end of the last WRITE with a position and this WRITE.
 * `unseen`: upper bound of the bytes of WRITEs without a position (smcr_evidence_unseen_bytes()).
 * false also in three cases: 1. the writer has moved to another link; 2. no host has reported the
 * connection, and Accept, Confirm or the offset at which data begin in the element are not known;
 * 3. a packet may be missing since the last WRITE with a position. */
bool smcr_evidence_is_astray(const smcr_arrival_t *arrival, const smcr_conn_t *conn,
                             uint64_t skipped, uint64_t unseen);

/* Whether `conn` is over, so that the alert token in the arriving CDC message names a newer
 * connection, whose CLC messages are missing. There are two cases:
 *
 * - The sender had closed `conn`, and the message is no closing message. Packets are missing after
 *   the sender's last message, or the sequence number is not the next one.
 * - Packets are missing after the sender's last message. The sequence number did not grow, or grew
 *   by more than the PSN.
 *
 * false if `conn` has no CDC message of the sender, after a move to another link, and for a
 * failover validation. The second case counts only if Accept or Confirm of `conn` is missing, or
 * the group has a connection whose CLC messages are not complete. */
bool smcr_evidence_is_over(const smcr_arrival_t *arrival, const smcr_conn_t *conn,
                           const smcr_cdc_t *cdc);

/* Whether a WRITE into the element of `conn` certainly belongs to `conn` and to no later
 * connection. `psn`: PSN of the WRITE in the flow to `qp`. `offset`: offset of the WRITE in the RMB
 * element, bytes. At the point `last_confirmed_use` the element certainly belonged to `conn`.
 *
 * - No packet is missing after this point: the element still belongs to `conn`.
 * - One or two packets are missing: the element belongs to `conn` if the reader has not ended
 *   `conn`, and the WRITE continues the stream. A WRITE at the start of the element may be the
 *   first one of a later connection.
 * - More packets are missing: not known. `conn` may have closed, and a later connection may use the
 *   element.
 * - The WRITE is at or before this point: the element belongs to `conn` if `conn` had begun.
 * - The point is in the flow of another link: not known, unless the writer has sent no CDC message
 *   yet, so that it may choose the link, and no packet of the two flows is missing. */
bool smcr_evidence_owns(const smcr_conn_t *conn, const smcr_qp_t *qp, smcr_psn_t psn,
                        uint32_t offset);

/* ---- one packet ---- */

/* message: whether the receiver took in the arriving packet when the packet came. */
smcr_doubt_t smcr_doubt_message(const smcr_arrival_t *arrival);

/* Whether the packet is the next one of its flow: new, in order, and not after a gap. A
 * retransmission may have been taken in before. */
bool smcr_doubt_is_in_time(const smcr_arrival_t *arrival);

/* Whether the request is captured for the first time, and no request with a higher PSN has come.
 * false for a retransmission: its content may be older than packets of the other direction. */
bool smcr_doubt_is_new(const smcr_arrival_t *arrival);

/* ---- flows ---- */

/* since: the condition "message" holds, and no request is missing after the point, in the flow of
 * the point. */
smcr_doubt_t smcr_doubt_since(const smcr_arrival_t *arrival, const smcr_point_t *point);

/* since: the condition "message" holds, and no request of the packet's flow is missing, from the
 * flow's first PSN on. */
smcr_doubt_t smcr_doubt_before(const smcr_arrival_t *arrival);

/* link: the condition "message" holds, no request of either side of the link is missing, and the
 * capture is in order. */
smcr_doubt_t smcr_doubt_link(const smcr_arrival_t *arrival, smcr_link_t *link);

/* group: the condition "link" holds for each link of the group, the first contact of the group is
 * captured, and no link of the group is forgotten (`oldest_kept_link`). A link without packets
 * gives SMCR_DOUBT_ABSENT. Rejected links do not count. */
smcr_doubt_t smcr_doubt_group(const smcr_arrival_t *arrival, smcr_lgr_t *lgr);

/* ---- messages that a host has seen ---- */

/* seen: whether the sender of the arriving packet had seen an earlier message of its peer. `sent`:
 * time of that message, nanoseconds since the epoch. `acked`: acknowledgement of that message;
 * NULL: not acknowledged.
 *
 * An acknowledgement proves only that the host's adapter had the message; the software sees it a
 * little later. The message counts as seen when a millisecond has passed after the acknowledgement,
 * or one round trip if that is longer. If the capture is out of order, times prove nothing. */
smcr_doubt_t smcr_doubt_seen(const smcr_arrival_t *arrival, uint64_t sent,
                             const smcr_ack_t *acked);

/* seen: smcr_doubt_seen() for `message`, if the arriving packet is new (smcr_doubt_is_new()). */
smcr_doubt_t smcr_doubt_seen_new(const smcr_arrival_t *arrival,
                                 const smcr_link_sent_message_t *message);

/* ---- connections ---- */

/* conn: the condition "group" holds, and Accept and Confirm of the connection, which have both
 * tokens, are captured. */
smcr_doubt_t smcr_doubt_conn(const smcr_arrival_t *arrival, const smcr_conn_t *conn);

/* Whether the connection is certainly open for `side`: Accept and Confirm are captured, and neither
 * a Decline, nor a fallback, nor a close has come. Two more conditions: 1. if a link of the group
 * was deleted, the side has sent a CDC message since; 2. the group has no link whose loss LLC has
 * reported and which is not deleted. */
bool smcr_doubt_conn_is_open(const smcr_conn_t *conn, int side);

/* place: all packets come from one interface and in order, so that the order of TCP segments and
 * RoCE packets in the capture is the order in which they were sent. */
smcr_doubt_t smcr_doubt_place(const smcr_arrival_t *arrival);

/* ---- messages that may come later ---- */

/* later: the condition "group" holds, and so does the claim that the side `sender` has not sent a
 * certain message before the arriving packet. `claim`: its `has_come` and the members that
 * `has_come` reads are set, and perhaps `deadline`. Only a second pass knows the result. The claim
 * holds under two conditions:
 *
 * - Each flow from the sender continues, and no packet is missing right after the packet that is
 *   its last one now. If `claim` has a `deadline`: no later packet of the flow is missing at all,
 *   and the capture continues after the deadline.
 * - `has_come` returns false. */
smcr_doubt_t smcr_doubt_later(const smcr_arrival_t *arrival, smcr_lgr_t *lgr, int sender,
                              smcr_doubt_proof_t claim);

/* Defines the function `name` for the member `has_come` of a claim. `about_`: declaration of a
 * variable, which gets the member `about` of the claim. `says`: expression with this variable; the
 * function returns its value. */
#define SMCR_DOUBT_CLAIM(name, about_, says) \
    static bool name(const smcr_doubt_proof_t *claim) \
    { \
        about_ = claim->about; \
        return says; \
    }

/* later: smcr_doubt_later() for a message that either side may have sent. All flows of the group
 * have to continue, except those of the link `but`, which carries no packets any more. `but`: NULL:
 * no link is excepted. */
smcr_doubt_t smcr_doubt_later_of_both(const smcr_arrival_t *arrival, smcr_lgr_t *lgr,
                                      const smcr_link_t *but, smcr_doubt_proof_t claim);

/* later: smcr_doubt_later_of_both() without the link `added`, which is being added and has no
 * packets yet. `added`: NULL: no link is being added. */
smcr_doubt_t smcr_doubt_later_adding(const smcr_arrival_t *arrival, smcr_lgr_t *lgr,
                                     const smcr_link_t *added, smcr_doubt_proof_t claim);

/* later: the condition "link" holds, and so does the claim that `sender` has not sent a certain
 * message on this link before the arriving packet. `sender`: side of the link. `claim`: as for
 * smcr_doubt_later(). The claim holds if the sender's flow continues without a gap, and `has_come`
 * returns false. */
smcr_doubt_t smcr_doubt_later_on(const smcr_arrival_t *arrival, smcr_link_t *link, int sender,
                                 smcr_doubt_proof_t claim);

/* later: the condition "conn" holds, and so does the claim that `sender` has not sent a response
 * before the deadline of the claim. `sender`: side of the connection. If the condition "conn" does
 * not hold, a missing packet may be the response: the result is SMCR_DOUBT_UNSEEN without a
 * claim. */
smcr_doubt_t smcr_doubt_answer(const smcr_arrival_t *arrival, const smcr_conn_t *conn, int sender,
                               smcr_doubt_proof_t claim);

/* later: the condition "since" holds, and so does a claim about the flow of the point. The claim
 * holds only if no packet is missing right before the next request of this flow. `claim`: as for
 * smcr_doubt_later(). */
smcr_doubt_t smcr_doubt_next(const smcr_arrival_t *arrival, const smcr_point_t *point,
                             smcr_doubt_proof_t claim);

/* later: the claim that the receiver of the packet has not sent, before the packet, a CDC message
 * that causes a certain event. The claim is refuted if the event has come SMCR_TIME_DISORDER after
 * the packet at the latest: the capture may have the packet and the message in the wrong order. If
 * the capture is out of order, the result is SMCR_DOUBT_PLACE without a claim. `*when`: time of the
 * event, nanoseconds since the epoch; 0: not yet. */
smcr_doubt_t smcr_doubt_other(const smcr_arrival_t *arrival, const smcr_conn_t *conn,
                              const uint64_t *when);

/* Makes the claim that an event does not happen until the time `by`. `*when`: time of the event,
 * which is read when the claim is checked; 0: not yet. Both are nanoseconds since the epoch. */
smcr_doubt_proof_t smcr_doubt_not_by(const uint64_t *when, uint64_t by);

/* until: the condition "message" holds, and `has_come` of the claim stays false. If the claim has a
 * deadline, the capture has to continue after it. Gaps in flows do not matter. */
smcr_doubt_t smcr_doubt_until(const smcr_arrival_t *arrival, smcr_doubt_proof_t claim);

/* Makes the claim that the receiver of the packet sends nothing any more. Two events refute the
 * claim: 1. a packet of the receiver comes; 2. the sender steps back to a PSN after this packet,
 * which shows that it has got an acknowledgement of this packet. */
const smcr_doubt_proof_t *smcr_doubt_heard(const smcr_arrival_t *arrival);

/* later: the condition "group", and the claim that the side of the queue pair `owner` has not
 * announced the RKey `rkey` for the link of `owner`. The claim is refuted if an announcement comes
 * later, or if the group then has a connection with incomplete CLC messages, which may be the
 * announcement. */
smcr_doubt_t smcr_doubt_rkey(const smcr_arrival_t *arrival, const smcr_qp_t *owner, uint32_t rkey);

/* later: the condition "group", and the claim that the connection still used the RMB of the side
 * `owner` when the arriving message was sent, so that the message breaks a rule. The claim is
 * refuted if the connection may have ended before. `added`: as for smcr_doubt_later_adding(). */
smcr_doubt_t smcr_doubt_use(const smcr_arrival_t *arrival, const smcr_conn_t *conn, int owner,
                            const smcr_link_t *added);

/* Whether the claim holds, with all packets up to the time of the call: its deadline is over, its
 * flows continue without a gap, and `has_come` returns false. */
bool smcr_doubt_proof_holds(const smcr_state_t *state, const smcr_doubt_proof_t *claim);

/* Joins two conditions that both have to be proven. The result has the kind of `first`, or the kind
 * of `second` if `first` has no doubt; and the claim of `first`, or the claim of `second` if
 * `first` has none. */
smcr_doubt_t smcr_doubt_or(smcr_doubt_t first, smcr_doubt_t second);
