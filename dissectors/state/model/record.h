/* The record of a packet: what the first pass learns of the packet. It is pinned to the frame, and
 * every pass and all taps read it.
 *
 * A record says what was known when its packet came, so that it reads the same in every pass and
 * when the user clicks on an old frame. What is learned later, as the response to a request, stands
 * in an object that the record points to and that the state completes.
 *
 * Members that few records need lie in `rare` structs, allocated on demand: a capture has millions
 * of records. Times are nanoseconds since the epoch, and frames are numbers of frames, from 1.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later / */

#pragma once

#include "conn.h"
#include "fabric/peers/rdma.h"

/* What a packet is. */
typedef enum {
    SMCR_RECORD_OTHER,   /* on an SMC-R queue pair, but none of the others; or a CLC message */
    SMCR_RECORD_LLC,     /* LLC message */
    SMCR_RECORD_CDC,     /* CDC message */
    SMCR_RECORD_WRITE,   /* RDMA WRITE */
    SMCR_RECORD_ACK,     /* ACK, NAK or RNR NAK */
    SMCR_RECORD_CNP,     /* congestion notification packet */
    SMCR_RECORD_CM,      /* message of RDMA-CM */
    SMCR_RECORD_CORRUPT, /* any packet whose ICRC is wrong: it was sent, but not received */
} smcr_record_kind_t;

/* ---- what records lead to ---- */

/* A request and its response: of LLC, one step of the CLC handshake, or a requested cursor
 * update. */
struct smcr_exchange {
    uint64_t request_time;   /* nanoseconds since the epoch */
    uint64_t response_time;  /* nanoseconds since the epoch; see `response_frame` */
    uint32_t request_frame;  /* frame of the request */
    uint32_t response_frame; /* frame of the response; 0: none so far */
    bool response_unknowable; /* nobody will ever know which message is its response */
    uint8_t llc_type;        /* type of the request, enum smcr_llc_type; 0: not of LLC */
    uint8_t step;            /* answered: enum smcr_clc_step, or smcr_wire_llc_step() of LLC; else
                                0 */
    bool is_optional;        /* a correct peer may send no response */
    bool request_resent;     /* the request was sent before `request_frame`, and when is not
                                known */
};

/* How long somebody has waited, and since which frame. */
typedef struct {
    uint32_t frame;    /* frame since which, or until which, it was; 0: nobody has waited */
    bool is_ambiguous; /* of an acknowledgement: the packet that it answers was sent more than
                          once */
    uint64_t time;     /* nanoseconds; SMCR_RECORD_NO_TIME: not known */
} smcr_record_wait_t;

#define SMCR_RECORD_NO_TIME UINT64_MAX

/* What turns out later about a WRITE request that came before anything named its connection. Its
 * packets share it. */
typedef struct {
    smcr_conn_t *conn; /* NULL: still not known */
    smcr_link_t *link; /* link that carried it; NULL: the record has it, or it is not known */
    int sender;        /* side of the link group that sent it; with `link` */
    bool has_position; /* `position` is known */
    bool announced;    /* `end` and `before` are known: a CDC message has announced the request */
    uint64_t position; /* position of the request's first byte in the byte stream; see
                          `has_position` */
    smcr_cursor_t end; /* producer cursor of the CDC message; see `announced` */
    uint32_t bytes_to_end; /* bytes from the request's first byte to `end`; see `announced` */
} smcr_place_late_t;

typedef struct smcr_held smcr_held_t;

/* Rarely set members of smcr_place_t. */
typedef struct {
    smcr_place_late_t *late; /* the request came before its connection was known; NULL: it did
                                not */
    uint32_t offset_in_request; /* offset of this packet in its request, bytes; with `late` */
    uint32_t rewritten;    /* as in smcr_stream_range_t, bytes */
    uint64_t gap;          /* as in smcr_stream_range_t, bytes */
    /* position in a stream of which only the order of bytes is known; see `is_arrival_ordered` */
    uint64_t arrival_position;
    bool is_arrival_ordered; /* `arrival_position` is known */
    bool fills_gap;        /* it fills a gap: it may have been sent before the packets after the
                              gap */
    bool gap_is_captured;  /* the bytes of `gap` are in captured packets whose position was not
                              known when they came */
    smcr_held_t *buffered_payload; /* its bytes, which are held (struct smcr_held); NULL: they
                                      are not */
    uint8_t order;         /* as in smcr_record_t; judged late, since its queue pair was not
                              known */
    uint32_t first_frame;  /* as in smcr_record_t, with `order` */
    uint64_t first_time;   /* likewise */
    struct smcr_event *events; /* as in smcr_record_t, with `order` */
} smcr_place_rare_t;

#define SMCR_PLACE_LENGTH_MASK 0x1fffff

/* Where an RDMA WRITE packet writes: in the RMB element, and in the byte stream. */
struct smcr_place {
    uint64_t position;        /* of its first byte in the byte stream; see `has_position` */
    const smcr_ack_t *acked;  /* first acknowledgement that covers the packet; NULL: none so far */
    uint32_t rare;            /* slab number of its smcr_place_rare_t; 0: none */
    uint32_t offset;          /* of its first byte in the RMB element, bytes */
    uint32_t length : 21;     /* application bytes in this packet */
    uint32_t index : 8;       /* RMB element, 1 to 255; 0: not known */
    uint32_t has_position : 1; /* `position` is known */
    uint32_t is_unannounced : 1; /* no CDC message has announced its bytes yet */
    uint32_t skips_heuristics : 1; /* the heuristics are not asked about its bytes */
    uint32_t frame;           /* the frame that has this packet */
    uint32_t element_fill;    /* bytes of the element that were written and not read yet, with this
                                 packet */
    union {
        uint32_t next;         /* while `is_unannounced`: slab number of the next packet that waits;
                                  circular */
        uint32_t announced_in; /* else: frame of the CDC message that announced it; 0: not known */
    };
};

#define SMCR_RECORD_NOT_KNOWN UINT32_MAX

/* Rarely set members of smcr_record_cdc_t: the writer waits for space since this message. */
typedef struct smcr_record_cdc_rare {
    smcr_when_t waits_since; /* since when the writer waits for space; frame 0: not known */
    smcr_when_t continues; /* when the writer goes on; frame 0: not yet */
    /* acknowledgement of the message that freed space; NULL: no message has */
    const smcr_ack_t *const *space_freed;
    /* the wait before it, if no message had freed space for that either; NULL: none */
    struct smcr_record_cdc_rare *previous_wait;
} smcr_record_cdc_rare_t;

/* What a CDC message means for its connection. The sender of the message is the writer of one
 * stream and the reader of the other. */
typedef struct {
    uint64_t announced; /* position in the stream up to which the sender has announced data */
    uint64_t consumed;  /* position in the other stream up to which the sender has read */
    uint64_t read_time; /* how long before this message the bytes that were read last had been
                           announced, nanoseconds; see `read_announced_frame` */
    uint32_t announced_bytes; /* bytes that this message announces; see `has_announced_bytes` */
    uint32_t read_bytes; /* bytes that this message reports as read; see `has_read_bytes` */
    uint32_t unread_bytes; /* bytes of the stream that are announced and not read yet; see
                              `has_unread_bytes` */
    uint32_t size;      /* of the element that the sender writes to, without an eyecatcher, bytes;
                           0: not known */
    uint32_t own_free_bytes; /* free space in the sender's own element, bytes;
                                SMCR_RECORD_NOT_KNOWN */
    uint32_t writes : 26;   /* WRITE packets that this message announces */
    bool has_announced_bytes : 1; /* `announced_bytes` is known: the message before this one is
                                     captured */
    bool has_read_bytes : 1; /* `read_bytes` is known: the message before this one is captured */
    bool has_announced : 1; /* `announced` is known */
    bool has_consumed : 1;  /* `consumed` is known */
    bool has_unread_bytes : 1; /* `unread_bytes` is known: all messages of the peer are captured */
    bool urgent : 1;        /* urgent data ends at `announced` (4.7.5) */
    bool ends_stream : 1;   /* the sender sends no more: the stream ends at `announced` (4.8) */
    uint32_t first_write;   /* frame of the first WRITE packet that it announces; 0: none */
    uint32_t last_write;    /* frame of the last WRITE packet that it announces; 0: none */
    uint32_t read_announced_frame; /* frame that announced the bytes which were read last; 0: not
                                      known */
    uint32_t rare;          /* slab number of its smcr_record_cdc_rare_t; 0: none */
    const smcr_ack_t *acked; /* first acknowledgement that covers the message; NULL: none so far */
} smcr_record_cdc_t;

/* Which part of its message a SEND packet has, if the message needs several packets. */
typedef struct {
    uint32_t message_psn; /* PSN of the message's first packet, 24 bits */
    uint32_t number;      /* number of this packet in the message, from 0 */
} smcr_record_part_t;

/* A message of RDMA-CM, and the state of its connection after it. */
typedef smcr_cm_verdict_t smcr_record_cm_t;

/* What the state reports to the user. Each event becomes the expert item of the same name. */
typedef enum {
    SMCR_EVENT_NONE,
#define EXPERT(ei, filter, group, severity, sentence) SMCR_EVENT_##ei,
#include "experts.def"
    SMCR_EVENTS,
} smcr_event_id_t;

typedef struct smcr_doubt_proof smcr_doubt_proof_t;

/* An event of a packet. */
typedef struct smcr_event {
    struct smcr_event *next; /* the next event of the packet; NULL: it is the last one */
    smcr_event_id_t id;      /* which expert item */
    const char *text;        /* sentence of its own; NULL: the sentence of the expert item */
    /* what later packets have to confirm, or the event does not count; NULL: it is certain */
    const smcr_doubt_proof_t *deferred_check;
} smcr_event_t;

/* ---- the record ---- */

/* Its members, listed once: the struct, the value that means "not known", and what is kept of a
 * record all come from these lists (record.c).
 *
 * MEMBER(type, name, width, value): every record keeps it. `width` is empty or the width of a
 * bit-field; `value` means "not known", or the usual case. / */
#define SMCR_RECORD_ALWAYS(MEMBER) \
    /* smcr_record_kind_t: what the packet is */ \
    MEMBER(uint8_t, kind, : 3, SMCR_RECORD_OTHER) \
    /* smcr_flow_order_t: its place in the order of PSNs */ \
    MEMBER(uint8_t, order, : 3, SMCR_FLOW_IS_NEXT) \
    /* a retransmission, and an acknowledgement had covered the packet before */ \
    MEMBER(bool, was_acked, : 1, false) \
    /* a retransmission, and the receiver had discarded the packet before */ \
    MEMBER(bool, was_discarded, : 1, false) \
    /* side of the link group that sent it */ \
    MEMBER(int8_t, sender, , SMCR_LGR_SIDE_UNKNOWN) \
    /* 0 client to server, 1 server to client */ \
    MEMBER(int8_t, direction, , SMCR_LGR_SIDE_UNKNOWN) \
    /* smcr_flow_receiver_action_t: what its receiver does with it */ \
    MEMBER(uint8_t, receiver_action, : 2, SMCR_FLOW_RECEIVER_TAKES) \
    /* its link group had an index */ \
    MEMBER(bool, lgr_proven, : 1, false) \
    /* the queue pair that sent it was known */ \
    MEMBER(bool, sender_known, : 1, false) \
    /* the queue pair that receives it was known */ \
    MEMBER(bool, receiver_known, : 1, false) \
    /* the number of its link was known */ \
    MEMBER(bool, has_number, : 1, false) \
    /* `part` is known */ \
    MEMBER(bool, has_part, : 1, false) \
    /* its connection was learned after it came (smcr_record_complete()) */ \
    MEMBER(bool, conn_learned_late, : 1, false)

/* MEMBER(type, name): a record keeps it only where it is not NULL. What it points to is an entry
 * that smcr_state_alloc0() has made. */
#define SMCR_RECORD_ENTRIES(MEMBER) \
    /* the link that carries the packet; NULL: not known */ \
    MEMBER(smcr_link_t *, link) \
    /* its connection; NULL: it is of no single one, or not known */ \
    MEMBER(smcr_conn_t *, conn) \
    /* SMCR_RECORD_WRITE: where it writes; NULL: not known */ \
    MEMBER(smcr_place_t *, write_location) \
    /* SMCR_RECORD_CDC that the receiver has taken in: what it means; NULL: not known */ \
    MEMBER(smcr_record_cdc_t *, cdc_analysis) \
    /* the exchange that this message begins; NULL: none */ \
    MEMBER(smcr_exchange_t *, begins_exchange) \
    /* the exchange that this message ends, a message may do both; NULL: none */ \
    MEMBER(smcr_exchange_t *, ends_exchange) \
    /* its events, in order; NULL: none */ \
    MEMBER(smcr_event_t *, events) \
    /* a response: the messages that it completes; NULL: none */ \
    MEMBER(const smcr_completion_t *, completed_messages) \
    /* SMCR_RECORD_CNP: the marks that it answers; else NULL */ \
    MEMBER(const smcr_ecn_cnp_t *, cnp) \
    /* the last message of RDMA-CM of its RDMA connection; NULL: none. With `rdma` */ \
    MEMBER(const smcr_record_cm_t *, cm)

/* MEMBER(type, name): a record keeps it only where it is not zero. */
#define SMCR_RECORD_SOMETIMES(MEMBER) \
    /* NAK or RNR NAK: frame that first had the PSN which it refuses; 0: none */ \
    MEMBER(uint32_t, refuses) \
    /* the step back of its sender to which it belongs; NULL: none */ \
    MEMBER(smcr_step_back_t *, step) \
    /* after a gap: frame that proves that it was discarded (smcr_flow_verdict_t); NULL: no gap */ \
    MEMBER(uint32_t *, discard_proof_frame) \
    /* frame that had its PSN before, or, if it is late, that overtook it; 0: none */ \
    MEMBER(uint32_t, first_frame) \
    /* a retransmission: time of `first_frame`, nanoseconds since the epoch; 0: not known */ \
    MEMBER(uint64_t, first_time) \
    /* how many packets are missing before it, said once for each gap */ \
    MEMBER(uint32_t, missing_before) \
    /* after a gap: frame of the first packet after the gap; 0: no gap */ \
    MEMBER(uint32_t, gap_frame) \
    /* a SEND of several packets: which part it is; see `has_part` */ \
    MEMBER(smcr_record_part_t, part) \
    /* its ECN codepoint is CE: the mark; NULL: it is not */ \
    MEMBER(const smcr_ecn_ce_t *, ce) \
    /* of no link: the RDMA flow that the packet is in; NULL: of a link */ \
    MEMBER(const smcr_rdma_flow_t *, rdma)

#define SMCR_RECORD_DECLARE_ALWAYS(type, name, width, value) type name width;
#define SMCR_RECORD_DECLARE_SOMETIMES(type, name) type name;
#define SMCR_RECORD_VALUE(type, name, width, value) .always.name = (value),

/* The members that every record keeps. */
typedef struct {
    SMCR_RECORD_ALWAYS(SMCR_RECORD_DECLARE_ALWAYS)
} smcr_record_always_t;

/* A record, with the members of all three lists. */
typedef struct {
    union {
        smcr_record_always_t always;
        struct {
            SMCR_RECORD_ALWAYS(SMCR_RECORD_DECLARE_ALWAYS)
        };
    };
    SMCR_RECORD_ENTRIES(SMCR_RECORD_DECLARE_SOMETIMES)
    SMCR_RECORD_SOMETIMES(SMCR_RECORD_DECLARE_SOMETIMES)
    smcr_record_wait_t acks; /* ACK: the packet that it answers, and how long that took; no time:
                                the packet was acknowledged before. Only kept where it is not
                                zero */
    /* time since the frame before of its connection, as smcr_conn_note_activity() returns it.
     * Only kept where it is not zero */
    uint64_t conn_idle_time;
} smcr_record_t;

/* Makes a record of which nothing is known. In place, since a record is large. */
static inline void
smcr_record_begin(smcr_record_t *record)
{
    *record = (smcr_record_t){SMCR_RECORD_ALWAYS(SMCR_RECORD_VALUE)};
}

static inline smcr_record_t
smcr_record_new(void)
{
    smcr_record_t record;

    smcr_record_begin(&record);
    return record;
}

/* Whether the packet has an event of this kind. */
static inline bool
smcr_record_has_event(const smcr_record_t *record, smcr_event_id_t id)
{
    const smcr_event_t *event = record->events;

    while (event && event->id != id)
        event = event->next;
    return event != NULL;
}

/* Whether the network has changed the order: the packet comes late, and it is no retransmission. */
static inline bool
smcr_record_is_out_of_order(const smcr_record_t *record)
{
    return record->order == SMCR_FLOW_IS_LATE &&
           !(record->step && record->step->cause != SMCR_CAUSE_NONE);
}

/* How long the response took, nanoseconds; 0 where the clock of the capture goes back in between.
 * The exchange has to be answered, and its request must not be `request_resent`. */
static inline uint64_t
smcr_exchange_time(const smcr_exchange_t *exchange)
{
    return exchange->response_time > exchange->request_time
               ? exchange->response_time - exchange->request_time : 0;
}

/* Writes into the record what is known of the link now. `sender`: side of the link group. */
static inline void
smcr_record_set_link(smcr_record_t *record, smcr_link_t *link, int sender)
{
    record->link = link;
    record->sender = (int8_t)sender;
    record->direction = (int8_t)smcr_conn_direction(link->lgr, sender);
    record->lgr_proven = link->lgr->index != SMCR_LGR_NO_INDEX;
    record->sender_known = link->qp[sender].number_known;
    record->receiver_known = link->qp[!sender].number_known;
    record->has_number = link->has_number;
}

#define SMCR_RECORD_OUTERMOST UINT16_MAX /* `layer` of the first record of a frame */

/* Reads the record of the packet that is at `layer` of the frame. Returns false, and does not
 * change `record`, when there is none. */
bool smcr_record_find(const smcr_state_t *state, uint32_t frame, uint16_t layer,
                      smcr_record_t *record);

/* Completes the record with what has turned out since its packet came: connection and link of a
 * WRITE that came before anything named them, and of the acknowledgement of such a WRITE. Sets
 * `conn_learned_late` if the connection of the WRITE was not known then. Only this function and
 * smcr_place_range() look up what turned out later. */
void smcr_record_complete(const smcr_state_t *state, smcr_record_t *record);

/* No pass asks the heuristics about the bytes of this WRITE packet. */
static inline void
smcr_place_set_unasked(smcr_place_t *place)
{
    place->skips_heuristics = true;
}

/* The piece of the byte stream that a WRITE packet carries, as far as is known now. */
smcr_stream_range_t smcr_place_range(const smcr_place_t *place);

/* The rarely set members; NULL: none is set. */
static inline const smcr_place_rare_t *
smcr_place_rare(const smcr_place_t *place)
{
    return smcr_slab_beside(place, place->rare);
}

static inline const smcr_record_cdc_rare_t *
smcr_record_cdc_rare(const smcr_record_cdc_t *view)
{
    return smcr_slab_beside(view, view->rare);
}

/* What turns out later about a WRITE that came before its connection was known; NULL: its
 * connection was known. */
static inline smcr_place_late_t *
smcr_place_late(const smcr_place_t *place)
{
    const smcr_place_rare_t *more = smcr_place_rare(place);

    return more ? more->late : NULL;
}

/* Free space in the receiver's element, bytes. `size` and `unread_bytes` have to be known. */
static inline uint32_t
smcr_record_cdc_free(const smcr_record_cdc_t *view)
{
    return view->unread_bytes < view->size ? view->size - view->unread_bytes : 0;
}

/* ---- what makes records ---- */

/* Where bytes of a TCP connection are: sequence numbers relative to the SYN, as Wireshark
 * counts. */
typedef struct {
    uint32_t first; /* number of the first byte */
    uint32_t end;   /* number of the byte after the last one */
    uint32_t acked_seq; /* the sender had acknowledged the bytes of the other direction before this
                           one */
    bool has_syns;  /* SYN and SYN-ACK are in the capture */
    bool has_fin;   /* the FIN of the other direction has come, which has a number, too */
} smcr_arrival_span_t;

/* A packet, or a message of TCP's byte stream, on its way through the state. */
typedef struct {
    smcr_state_t *state;
    const smcr_ib_headers_t *roce; /* headers of the packet; NULL: it is of TCP, or a message that
                                      was kept and whose packet came before */
    const smcr_arrival_span_t *span; /* of TCP: where its bytes are; NULL: not known, or RoCE */
    smcr_qp_t *qp;         /* queue pair that receives it; NULL: no known one */
    smcr_psn_t psn;        /* without wrap; with `qp` */
    smcr_when_t when;      /* its frame and time */
    bool replaces_corrupt; /* all packets with its PSN so far had wrong ICRCs */
    smcr_when_t first_sent; /* when its PSN was sent first; frame 0: not known */
    uint16_t vlan;         /* VLAN ID; 0: none, or not known */
    uint16_t layer;        /* distinguishes the packets of one frame */
    smcr_record_t *record; /* gets what is found out about the packet */
} smcr_arrival_t;

/* Who sends a CLC message, or the bytes after CLC: 0 client, 1 server. */
static inline unsigned
smcr_arrival_role(const smcr_arrival_t *arrival)
{
    return arrival->record->direction == 1;
}

/* The packet carries `message`: notes its time, and later its acknowledgement. */
void smcr_arrival_track(const smcr_arrival_t *arrival, smcr_link_sent_message_t *message);

/* Keeps the record after the first pass has learned the packet, which is at `layer` of its
 * frame. */
void smcr_record_keep(const smcr_arrival_t *arrival, uint16_t layer);

/* Reports an event of the packet. `format`: a sentence of its own, as for printf(); NULL: the
 * sentence of the expert item. Returns the event. */
smcr_event_t *smcr_event_add(const smcr_arrival_t *arrival, smcr_event_id_t id,
                             const char *format, ...)
    G_GNUC_PRINTF(3, 4);

/* How long the reader's buffer was full since this message, and the frame that ends this: part
 * `buffer_full_s` of docs/report.md. Known in the second pass only. */
smcr_record_wait_t smcr_record_cdc_wait(const smcr_record_cdc_t *view);

/* The rarely set members, for writing: allocated when they are first asked for. */
smcr_place_rare_t *smcr_place_make_rare(smcr_state_t *state, smcr_place_t *place);
smcr_record_cdc_rare_t *smcr_record_cdc_make_rare(smcr_state_t *state, smcr_record_cdc_t *view);

/* ---- LLC requests of a link group, and what their responses are found by (RFC 7609 3.3, 3.5.5,
 * A.3) ---- */

/* An LLC message, and the link that carries it. */
typedef struct {
    const smcr_arrival_t *arrival;
    const smcr_llc_t *llc;
    uint8_t type;      /* enum smcr_llc_type, of version 1 */
    uint32_t key;      /* number made of what the response echoes; 0: the type has none, or the
                          message is being taken in */
    smcr_qp_t *from;   /* queue pair that sends it */
    smcr_qp_t *to;     /* queue pair that receives it */
    int side;          /* side of `from` */
    smcr_link_t *link; /* that carries it */
    smcr_lgr_t *lgr;   /* of that link */
    bool response;     /* it is a response; else a request */
    bool requested;    /* a response that is being taken in, and whose request is in the capture */
    bool by_server;    /* the server sends it, as far as was known when it came */
    bool all_links;    /* DELETE LINK for all links */
    bool rejects;      /* ADD LINK response that rejects the link */
} smcr_exchange_message_t;

/* An LLC request of a link group. */
typedef struct {
    smcr_exchange_t exchange;
    const smcr_ack_t *acked;  /* acknowledgement by the responder's adapter; NULL: none so far */
    smcr_point_t asked_at;    /* in the flow to the responder: the request itself */
    smcr_point_t responder_at; /* in the flow from the responder: the highest PSN when the request
                                  came */
    struct smcr_rules_links_exchange *rules; /* what the rules remember of it; NULL: nothing */
    uint32_t key;             /* as in smcr_exchange_message_t: distinguishes requests of one
                                 type */
    uint8_t type;             /* enum smcr_llc_type, of version 1 */
    int8_t requester;         /* side that sent it */
    bool rejected;            /* its response rejects it */
    bool orderly;             /* DELETE LINK: orderly, connections have time to end (A.3.4) */
} smcr_exchange_request_t;

/* Whether requests of the type, of version 1, change the links of a group. */
static inline bool
smcr_exchange_changes_links(uint8_t type)
{
    return type == SMCR_LLC_ADD_LINK || type == SMCR_LLC_DELETE_LINK;
}

/* Whether requests of the type, of version 1, change the RKeys of a group. */
static inline bool
smcr_exchange_changes_rkeys(uint8_t type)
{
    return type == SMCR_LLC_CONFIRM_RKEY || type == SMCR_LLC_DELETE_RKEY;
}

/* ---- buffered payload: bytes of RDMA WRITE packets that are held until a later frame proves that
 * their receiver has taken them in, and to which connection they belong. That frame hands them to
 * the application's dissectors, which so get each byte once, in the receiver's order, in every pass
 * ---- */

/* A packet whose bytes are held. */
struct smcr_held {
    smcr_place_t *write_location; /* where the packet writes */
    uint32_t frame;       /* frame that has the packet */
    uint32_t offset_in_request; /* offset of the packet in its request, bytes */
    uint32_t length;      /* of `bytes`; 0: the capture has cut them, or too many are held */
    uint8_t *bytes;       /* NULL: none */
    uint32_t handed_on_frame; /* frame that hands them on; 0: none so far */
    int8_t sender;        /* side of the link group that has written them; with `handed_on_frame` */
    smcr_conn_t *conn;    /* connection to which they belong; with `handed_on_frame` */
    bool sides_swapped;   /* `sides_swapped` of the connection when the bytes were handed on:
                             `sender` is a side of that time */
    smcr_held_t *next;    /* of the same request; NULL: the last one */
};

/* The packet's bytes are to be held. Returns what holds them, also if they are held already. */
smcr_held_t *smcr_held_new(const smcr_arrival_t *arrival, uint32_t within);

/* Adds `held` to the list of its request, in which the highest offset is first, since packets come
 * in order. Of two with the same offset the newer one stays. */
void smcr_held_insert(smcr_held_t **request, smcr_held_t *held);

/* Reverses the list: returns the one with the lowest offset; NULL: the list is empty. */
smcr_held_t *smcr_held_first(smcr_held_t *request);

/* Copies the bytes. In the first pass, in the packet's own frame. */
void smcr_held_fill(smcr_state_t *state, smcr_held_t *held, const uint8_t *bytes, uint32_t length);

/* Frees the bytes of the packet: it was retransmitted, so nobody will ask for them. */
void smcr_held_drop(smcr_state_t *state, smcr_place_t *place);

/* The frame that is being learned hands the bytes on, after those that it has handed on before.
 * They belong to `conn`, and the side `sender` has written them. */
void smcr_held_hand_on(const smcr_arrival_t *arrival, smcr_held_t *held, smcr_conn_t *conn,
                       int sender);

/* What a packet hands on, in order: an array of smcr_held_t pointers. NULL: nothing. */
wmem_array_t *smcr_held_of(const smcr_state_t *state, uint32_t frame, uint16_t layer);
