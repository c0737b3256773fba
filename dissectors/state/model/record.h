/* The record of a packet: what the first pass learns of the packet. The record is kept for the
 * frame of the packet; every later pass, and all taps, read it. If the capture is read only once,
 * old records may be forgotten (smcr_record_forget()).
 *
 * A record has what was known when its packet came. So the record is the same in every pass, and
 * when the user clicks on an old frame. Facts that are learned later, such as the response to a
 * request, are in an object to which the record points; the state completes this object.
 *
 * Members that few records need are in `rare` structs, allocated on demand: a capture has millions
 * of records. Times are nanoseconds since the epoch, and frames are numbers of frames, from 1.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#pragma once

#include "conn.h"
#include "fabric/peers/rdma.h"

/* Kind of a packet. */
typedef enum {
    SMCR_RECORD_OTHER,   /* what no other value of this list describes, for example a CLC message */
    SMCR_RECORD_LLC,     /* LLC message */
    SMCR_RECORD_CDC,     /* CDC message */
    SMCR_RECORD_WRITE,   /* RDMA WRITE */
    SMCR_RECORD_ACK,     /* response: ACK, NAK, RNR NAK, or response of an RDMA READ or atomic
                            operation */
    SMCR_RECORD_CNP,     /* congestion notification packet */
    SMCR_RECORD_CM,      /* message of RDMA-CM */
    SMCR_RECORD_CORRUPT, /* any packet with a wrong ICRC, which its receiver discards */
} smcr_record_kind_t;

/* ---- what records lead to ---- */

/* A request and its response: of LLC, of one step of the CLC handshake, or of a requested cursor
 * update. */
struct smcr_exchange {
    uint64_t request_time;   /* time of the request, nanoseconds since the epoch */
    uint64_t response_time;  /* time of the response, nanoseconds since the epoch; see
                                `response_frame` */
    uint32_t request_frame;  /* frame of the request */
    uint32_t response_frame; /* frame of the response; 0: none so far */
    bool response_unknowable; /* no later packet will show which message is the response: several
                                 messages may be it, or the response may be missing in the
                                 capture */
    uint8_t llc_type;        /* type of an LLC request, enum smcr_llc_type; 0: no LLC request */
    uint8_t step;            /* kind of the exchange, once it is answered: enum smcr_clc_step for
                                CLC, smcr_wire_llc_step() for LLC. 0: not answered, or a cursor
                                update */
    bool is_optional;        /* a correct peer may send no response */
    bool request_resent;     /* the request is a retransmission, or may be one: it began before
                                `request_time` */
};

/* A wait, with its length and one frame. The user of the struct decides which frame. */
typedef struct {
    uint32_t frame;    /* in the member `acks` of a record: frame of the acknowledged packet; in the
                          result of smcr_record_cdc_wait(): frame in which the wait ended; 0: there
                          was no wait, or it has not ended */
    bool is_ambiguous; /* in `acks`: the acknowledged packet was sent more than once, so `time` may
                          belong to another transmission */
    uint64_t time;     /* length of the wait, nanoseconds; SMCR_RECORD_NO_TIME: not known, or it
                          does not count */
} smcr_record_wait_t;

#define SMCR_RECORD_NO_TIME UINT64_MAX

/* What the state learns about a WRITE request after the request has come. The object is made only
 * if the link, the connection or the position of the request was not known when the request came.
 * Packets of one request may share it. */
typedef struct {
    smcr_conn_t *conn; /* connection of the request; NULL: still not known */
    smcr_link_t *link; /* link that carried the request; NULL: the record of the packet has the
                          link, or the link is not known */
    int sender;        /* side of the link group that sent the request; set with `link` */
    bool has_position; /* `position` is known */
    bool announced;    /* a CDC message has announced the request: `end` and `bytes_to_end` are
                          known */
    uint64_t position; /* position of the request's first byte in the byte stream; see
                          `has_position` */
    smcr_cursor_t end; /* producer cursor of the CDC message that has announced the request; see
                          `announced` */
    uint32_t bytes_to_end; /* number of bytes from the request's first byte to the cursor `end`; see
                              `announced` */
} smcr_place_late_t;

/* Notes that `conn` turned out to be the connection of the request; NULL: it is still not known. */
static inline void
smcr_place_late_set_conn(smcr_place_late_t *late, smcr_conn_t *conn)
{
    smcr_conn_keep(conn);
    late->conn = conn;
}

typedef struct smcr_held smcr_held_t;

/* Rarely set members of smcr_place_t. */
typedef struct {
    smcr_place_late_t *late; /* what was learned about the request after the packet came; NULL:
                                nothing */
    uint32_t offset_in_request; /* offset of this packet in its request, bytes; set with `late`; 0
                                   as long as it is not known */
    uint32_t rewritten;    /* number of bytes at the start of the packet that an earlier packet had
                              written (smcr_stream_range_t) */
    uint64_t gap;          /* number of missing bytes before the packet: from the end of the data
                              written before to the packet's first byte (smcr_stream_range_t) */
    /* position of the packet's first byte in the data that the application's dissectors get. Set if
     * the position in the stream is not known: bytes are then numbered in the order of their
     * arrival; see `is_arrival_ordered` */
    uint64_t arrival_position;
    bool is_arrival_ordered; /* `arrival_position` is known */
    bool fills_gap;        /* the packet fills a sequence gap: the sender may have sent it before
                              the packets that the capture has earlier */
    bool names_conn;       /* the immediate data of the packet name its connection: they are a
                              message in place of a CDC message, or have an unknown opcode */
    bool is_doubtful;      /* data from the tap of a host: later messages have shown that its
                              position is not known */
    bool is_corrected;     /* data from the tap of a host: later messages have shown that its
                              position is `corrected`, and not `position` */
    bool is_copy;          /* set with `is_corrected`: an earlier packet has the same data */
    uint64_t corrected;    /* see `is_corrected` */
    bool gap_may_be_captured; /* `gap` may not be missing: captured packets, whose positions were
                                 not known when they came, may have its bytes */
    smcr_held_t *buffered_payload; /* holds the bytes of the packet for a later frame, which hands
                                      them to the application's dissectors (struct smcr_held); NULL:
                                      the bytes are not held */
    uint32_t replaced_in;  /* frame of the retransmission whose bytes replace the bytes of this
                              packet: the packet came in order in the capture, but its receiver has
                              refused it; 0: none */
    smcr_place_t *replaces; /* place of the first transmission whose bytes this retransmission
                               replaces, directly or after other retransmissions; NULL: it replaces
                               none */
    uint8_t order;         /* replaces `order` of smcr_record_t; set if the packet came before its
                              queue pair was known */
    uint32_t first_frame;  /* replaces `first_frame` of smcr_record_t; set if the packet came before
                              its queue pair was known */
    uint64_t first_time;   /* replaces `first_time` of smcr_record_t; set if the packet came before
                              its queue pair was known */
    struct smcr_event *events; /* replaces `events` of smcr_record_t; set if the packet came before
                                  its queue pair was known */
} smcr_place_rare_t;

#define SMCR_PLACE_LENGTH_MASK 0x1fffff

/* Place to which an RDMA WRITE packet writes: in the RMB element, and in the byte stream. */
struct smcr_place {
    uint64_t position;        /* position of the packet's first byte in the byte stream; see
                                 `has_position` */
    const smcr_ack_t *acked; /* first acknowledgement that covers the packet; NULL: none so far */
    uint32_t rare;            /* rarely set members of the place: slab number (smcr_slab_entry()) of
                                 a smcr_place_rare_t; 0: none */
    uint32_t offset;          /* offset of the packet's first byte in the RMB element, bytes */
    uint32_t length : 21;     /* number of application bytes in the packet */
    uint32_t index : 8;       /* number of the RMB element, 1 to 255; 0: not known */
    uint32_t has_position : 1; /* `position` is known */
    uint32_t is_unannounced : 1; /* the packet waits for the CDC message that announces it */
    uint32_t skips_heuristics : 1; /* Wireshark's heuristic dissectors are not asked about the bytes
                                      of the packet */
    uint32_t frame;           /* frame of the packet; set with `has_position` */
    uint32_t element_fill;    /* number of bytes in the RMB element that the reader has not
                                 consumed, including the bytes of this packet; 0: none, or not
                                 known */
    union {
        uint32_t next;         /* if `is_unannounced` is set: slab number (smcr_slab_entry()) of the
                                  next unannounced packet in a circular list */
        uint32_t announced_in; /* if `is_unannounced` is not set: frame of the CDC message that
                                  announced the packet; 0: none, or not known */
    };
};

#define SMCR_RECORD_NOT_KNOWN UINT32_MAX

/* The wait of a writer for free space, made for the CDC message with which the wait begins: rarely
 * set members of smcr_record_cdc_t. */
typedef struct smcr_record_cdc_rare {
    smcr_when_t waits_since; /* frame and time at which the wait begins; frame 0: not known */
    smcr_when_t continues; /* frame and time of the first packet after the wait with which the
                              writer sends data, or reports that it is not blocked; frame 0: none so
                              far, or its first transmission is not known */
    uint32_t begins_in; /* frame of the CDC message with which the wait begins */
    /* points to the acknowledgement of the CDC message that frees space; NULL: no message has freed
     * space yet */
    const smcr_ack_t *const *space_freed;
    /* the previous wait of the same writer, if no message had freed space for it when this wait
     * began; NULL: none */
    struct smcr_record_cdc_rare *previous_wait;
} smcr_record_cdc_rare_t;

/* What a CDC message means for its connection. The sender of the message is the writer of one
 * stream and the reader of the other stream. */
typedef struct {
    uint64_t announced; /* position up to which the message announces data, in the stream that its
                           sender writes */
    uint64_t consumed;  /* position up to which the sender of the message has read, in the stream
                           that the sender reads */
    uint64_t read_time; /* time from the announcement of the last bytes that the message reports as
                           read to this message, nanoseconds; set if `read_announced_frame` is not
                           0 */
    uint32_t announced_bytes; /* number of bytes that the message announces in addition to earlier
                                 messages; see `has_announced_bytes` */
    uint32_t read_bytes; /* number of bytes that the message newly reports as read; see
                            `has_read_bytes` */
    uint32_t unread_bytes; /* number of bytes that the sender of the message has announced so far
                              and its peer has not read; see `has_unread_bytes` */
    uint32_t size;      /* size of the RMB element that the sender of the message writes to, without
                           an eyecatcher, bytes; 0: not known */
    uint32_t own_free_bytes; /* free space in the RMB element in which the sender of the message
                                receives, bytes; SMCR_RECORD_NOT_KNOWN: not known */
    uint32_t writes : 26;   /* number of WRITE packets that the message announces; 0: none, or not
                               known */
    bool has_announced_bytes : 1; /* `announced_bytes` is known; only if the previous CDC message of
                                     the sender is captured */
    bool has_read_bytes : 1; /* `read_bytes` is known; only if the previous CDC message of the
                                sender is captured, and the consumer cursor gives a position or has
                                not moved */
    bool has_announced : 1; /* `announced` is known */
    bool has_consumed : 1;  /* `consumed` is known */
    bool has_unread_bytes : 1; /* `unread_bytes` is known; only if all CDC messages of the sender's
                                  peer are captured */
    bool urgent : 1;        /* urgent data ends at `announced` (4.7.5) */
    bool is_deferred : 1;   /* the message came after a PSN gap, and nothing has shown so far that
                               its receiver took it in: only `acked` may be set, too */
    bool is_late : 1;       /* the message came after a PSN gap, and its receiver has taken it in */
    bool ends_stream : 1;   /* the message is the first one in which its sender reports that it will
                               write no more data: its stream ends at `announced` (4.8) */
    uint32_t first_write;   /* frame of the first WRITE packet that the message announces; 0:
                               none */
    uint32_t last_write;    /* frame of the last WRITE packet that the message announces; 0: none */
    uint32_t read_announced_frame; /* frame of the CDC message that announced the last bytes which
                                      this message reports as read; 0: not known */
    uint32_t rare;          /* rarely set members: slab number (smcr_slab_entry()) of a
                               smcr_record_cdc_rare_t; 0: none */
    const smcr_ack_t *acked; /* first acknowledgement that covers this CDC message; NULL: none so
                                far */
} smcr_record_cdc_t;

/* The place of a SEND packet in its message, if the message consists of several packets. */
typedef struct {
    uint32_t message_psn; /* PSN of the message's first packet, 24 bits */
    uint32_t number;      /* number of this packet in the message, from 0 */
} smcr_record_part_t;

/* A message of RDMA-CM, and the state of the RDMA connection after this message. */
typedef smcr_cm_verdict_t smcr_record_cm_t;

/* What the state reports to the user. Each event becomes the expert item with the same name. */
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
    smcr_event_id_t id;      /* the expert item */
    const char *text;        /* sentence of this event; NULL: the sentence of the expert item */
    /* claim on which the event depends: the event is shown only if the claim holds with all later
     * packets (smcr_doubt_proof_holds()); NULL: the event is certain */
    const smcr_doubt_proof_t *deferred_check;
} smcr_event_t;

/* ---- the record ---- */

/* The members of a record, each listed once. The struct, the values that mean "not known", and the
 * code that packs a record (record.c) come from these lists.
 *
 * MEMBER(type, name, width, value): every record keeps the member. `width`: empty, or the width of
 * a bit-field. `value`: the value that a new record has. */
#define SMCR_RECORD_ALWAYS(MEMBER) \
    /* smcr_record_kind_t: what the packet is */ \
    MEMBER(uint8_t, kind, : 3, SMCR_RECORD_OTHER) \
    /* smcr_flow_order_t: place of the packet in the order of PSNs */ \
    MEMBER(uint8_t, order, : 3, SMCR_FLOW_IS_NEXT) \
    /* the packet is a retransmission, and an acknowledgement had covered its PSN before */ \
    MEMBER(bool, was_acked, : 1, false) \
    /* the packet is a retransmission, and the receiver discarded the first transmission; of any \
     * other packet: see smcr_record_misses_first() */ \
    MEMBER(bool, was_discarded, : 1, false) \
    /* side of the link group that sent the packet */ \
    MEMBER(int8_t, sender, , SMCR_LGR_SIDE_UNKNOWN) \
    /* direction of the packet: 0 client to server, 1 server to client */ \
    MEMBER(int8_t, direction, , SMCR_LGR_SIDE_UNKNOWN) \
    /* smcr_flow_receiver_action_t: what the receiver does with the packet */ \
    MEMBER(uint8_t, receiver_action, : 2, SMCR_FLOW_RECEIVER_TAKES) \
    /* the link group of the packet had an index when the packet came */ \
    MEMBER(bool, lgr_proven, : 1, false) \
    /* the queue pair that sent the packet was known when the packet came */ \
    MEMBER(bool, sender_known, : 1, false) \
    /* the queue pair that receives the packet was known when the packet came */ \
    MEMBER(bool, receiver_known, : 1, false) \
    /* the packet's link had a known link number when the packet came */ \
    MEMBER(bool, has_number, : 1, false) \
    /* `part` is known */ \
    MEMBER(bool, has_part, : 1, false) \
    /* the connection was learned after the packet came (smcr_record_complete()) */ \
    MEMBER(bool, conn_learned_late, : 1, false)

/* MEMBER(type, name): a record keeps the member only if it is not NULL. The member points to an
 * entry that smcr_state_alloc0() has made. */
#define SMCR_RECORD_ENTRIES(MEMBER) \
    /* the link that carries the packet; NULL: not known */ \
    MEMBER(smcr_link_t *, link) \
    /* connection of the packet; NULL: not known, or the packet belongs to no single connection */ \
    MEMBER(smcr_conn_t *, conn) \
    /* SMCR_RECORD_WRITE: where the packet writes; NULL: not known, or no WRITE */ \
    MEMBER(smcr_place_t *, write_location) \
    /* what a CDC message means, if its receiver has taken it in; NULL: not known, or no CDC */ \
    MEMBER(smcr_record_cdc_t *, cdc_analysis) \
    /* exchange that this message begins; NULL: none */ \
    MEMBER(smcr_exchange_t *, begins_exchange) \
    /* exchange that this message ends; NULL: none. The message may also begin another exchange */ \
    MEMBER(smcr_exchange_t *, ends_exchange) \
    /* events of the packet, in the order in which they were added; NULL: none */ \
    MEMBER(smcr_event_t *, events) \
    /* messages that this response completes; NULL: none */ \
    MEMBER(const smcr_completion_t *, completed_messages) \
    /* congestion marks that this CNP reports; NULL: the packet is no CNP */ \
    MEMBER(const smcr_ecn_cnp_t *, cnp) \
    /* last RDMA-CM message of the packet's RDMA connection, set with `rdma`; NULL: none */ \
    MEMBER(const smcr_record_cm_t *, cm)

/* MEMBER(type, name): a record keeps the member only if it is not zero. */
#define SMCR_RECORD_SOMETIMES(MEMBER) \
    /* frame that first had the PSN which this NAK or RNR NAK refuses; 0: none */ \
    MEMBER(uint32_t, refuses) \
    /* step back of the sender to a lower PSN, to which the packet belongs; NULL: none */ \
    MEMBER(smcr_step_back_t *, step) \
    /* of a packet after a gap: points to the number of the frame which proves that the receiver \
     * discarded the packet, or to 0: no proof so far. NULL: no such proof is sought */ \
    MEMBER(uint32_t *, discard_proof_frame) \
    /* frame that had this PSN before, or that has overtaken this packet; 0: none, or not known */ \
    MEMBER(uint32_t, first_frame) \
    /* time of `first_frame` of a retransmission, nanoseconds since the epoch; 0: not known */ \
    MEMBER(uint64_t, first_time) \
    /* number of packets missing before this one; set in the first packet after each gap */ \
    MEMBER(uint32_t, missing_before) \
    /* frame of the first packet after the gap, if this packet comes after a gap; 0: no gap */ \
    MEMBER(uint32_t, gap_frame) \
    /* place of the packet in a SEND message of several packets; see `has_part` */ \
    MEMBER(smcr_record_part_t, part) \
    /* congestion mark of the packet; NULL: the ECN codepoint of the packet is not CE */ \
    MEMBER(const smcr_ecn_ce_t *, ce) \
    /* RDMA flow of a packet that is on no link; NULL: none is known, or it is on a link */ \
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
    smcr_record_wait_t acks; /* the packet that this response acknowledges, and how long it took;
                                time SMCR_RECORD_NO_TIME: an earlier response has acknowledged the
                                packet. Packed only if not zero */
    /* time since the last frame of the packet's connection, in the form that
     * smcr_conn_note_activity() returns. Packed only if not zero */
    uint64_t conn_idle_time;
} smcr_record_t;

/* Makes `*record` a record of which nothing is known. The function fills the caller's memory, since
 * a record is large. */
static inline void
smcr_record_begin(smcr_record_t *record)
{
    *record = (smcr_record_t){SMCR_RECORD_ALWAYS(SMCR_RECORD_VALUE)};
}

/* Returns a record of which nothing is known. */
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

/* Whether the first transmission of the packet is missing in the capture: a NAK or RNR NAK proves
 * that the packet is a retransmission, or the packet follows such a packet in one burst, and no
 * earlier packet of the capture has its PSN. */
static inline bool
smcr_record_misses_first(const smcr_record_t *record)
{
    return record->order != SMCR_FLOW_IS_RETRANSMISSION && record->was_discarded;
}

/* Whether the network has changed the order of packets: see smcr_flow_is_out_of_order(). */
static inline bool
smcr_record_is_out_of_order(const smcr_record_t *record)
{
    return smcr_flow_is_out_of_order(record->order, record->step);
}

/* Whether the packet fills a sequence gap, and is a retransmission: the first transmission is not
 * captured. */
static inline bool
smcr_record_fills_gap_again(const smcr_record_t *record)
{
    bool fills_gap = record->order == SMCR_FLOW_IS_LATE && record->first_frame;

    return fills_gap && !smcr_record_is_out_of_order(record);
}

/* Whether the contents of the packet are older than its place in the capture: its first
 * transmission is missing, and was acknowledged before. */
static inline bool
smcr_record_is_old(const smcr_record_t *record)
{
    return smcr_record_misses_first(record) && record->was_acked;
}

/* Whether the packet was retransmitted without need: the receiver already had it, as its later
 * acknowledgements prove. In the first pass they come after the packet, so this is not known
 * yet. */
static inline bool
smcr_record_was_needless(const smcr_record_t *record)
{
    return record->order == SMCR_FLOW_IS_RETRANSMISSION && record->step && record->step->fate &&
           record->step->fate->needless_frame;
}

/* Whether the packet may have been retransmitted without need: some of the retransmissions around
 * it were needless, and no NAK asked for it. The capture may lack its first transmission. As
 * smcr_record_was_needless(), this is not known in the first pass. */
static inline bool
smcr_record_may_be_needless(const smcr_record_t *record)
{
    const smcr_step_back_t *step = record->step;
    const smcr_step_fate_t *fate = step ? step->fate : NULL;

    return fate && fate->is_partial && !fate->needless_frame && !step->nak.frame;
}

/* Whether the packet is captured for the first time, and has the highest PSN of its flow so far.
 * Any other packet may be older than its place in the capture: a retransmission, or a duplicate
 * made by the network. */
static inline bool
smcr_record_is_new(const smcr_record_t *record)
{
    return record->order == SMCR_FLOW_IS_NEXT || record->order == SMCR_FLOW_IS_AFTER_GAP;
}

/* Analysis of a CDC message that its receiver took in when the message came; NULL: there is none,
 * or the message was taken in later. Functions that follow a byte stream use this function, since a
 * stream has its data in the order in which the receiver takes packets in. */
static inline const smcr_record_cdc_t *
smcr_record_cdc_in_order(const smcr_record_t *record)
{
    const smcr_record_cdc_t *analysis = record->cdc_analysis;

    return analysis && !analysis->is_late ? analysis : NULL;
}

/* Time from the request to the response, nanoseconds; 0 if the response has no later time stamp.
 * The exchange must be answered, and its request must not be `request_resent`. */
static inline uint64_t
smcr_exchange_time(const smcr_exchange_t *exchange)
{
    return exchange->response_time > exchange->request_time
               ? exchange->response_time - exchange->request_time : 0;
}

/* Kind of the tap that has copied the packet; SMCR_LGR_TAPPED_NOT: the packet is a RoCE packet, or
 * its link is not known. */
static inline smcr_lgr_tapped_t
smcr_record_tapped(const smcr_record_t *record)
{
    return record->link ? record->link->lgr->tapped : SMCR_LGR_TAPPED_NOT;
}

/* Whether positions in the stream that `writer` writes do not count from its beginning: the tap of
 * a host shows the connection of the packet, and not the beginning of the stream (`is_relative` of
 * smcr_stream_t). `writer`: side of the link group. */
static inline bool
smcr_record_is_relative(const smcr_record_t *record, int writer)
{
    return smcr_record_tapped(record) && record->conn && record->conn->side[!writer].in.is_relative;
}

/* Whether messages of the packet's connection may be missing unnoticed: the tap of a host shows the
 * connection, and its messages have no numbers. Then numbers of bytes are bounds. */
static inline bool
smcr_record_shows_bounds(const smcr_record_t *record)
{
    return smcr_record_tapped(record) && record->link->lgr->is_unnumbered;
}

/* Writes into the record what is known of the link at present. `sender`: side of the link group
 * that sends the packet. */
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

#define SMCR_RECORD_OUTERMOST UINT16_MAX /* as `layer`: the first record of the frame */

/* Reads the record of the packet at `layer` of the frame into `*record`. `layer`
 * SMCR_RECORD_OUTERMOST: the first record of the frame. Returns false if there is no record;
 * `*record` is not changed then. */
bool smcr_record_find(const smcr_state_t *state, uint32_t frame, uint16_t layer,
                      smcr_record_t *record);

/* Returns the first frame whose record stays if the records of packets before `frame` are
 * forgotten: up to 1023 frames before `frame`. */
uint32_t smcr_record_first_kept(uint32_t frame);

/* Forgets the records of packets before `frame`, so that later records can use their memory.
 * Records from smcr_record_first_kept() on stay. Also frees what only such a record points to, of
 * connections that are being released (`is_leaving`). Only if the capture is read once, so that no
 * later pass needs the records. The state itself reads the record of a packet that a later packet
 * acknowledges, refuses or retransmits. If such a record is forgotten, less is known of the later
 * packet. */
void smcr_record_forget(smcr_state_t *state, uint32_t frame);

/* Gives up one pointer to the acknowledgement `ack`. Frees `ack` if no other object points to it.
 * NULL changes nothing. */
void smcr_record_free_ack(smcr_state_t *state, const smcr_ack_t *ack);

/* Frees the objects to which forgotten records of the connection pointed, before the connection
 * itself is freed. */
void smcr_record_free_parts(smcr_state_t *state, const smcr_conn_t *conn);

/* Completes the record with what was learned after its packet came. There are four cases: 1. a
 * WRITE whose connection or link was learned later; 2. an acknowledgement, which gets the
 * connection of the packet that it acknowledges; 3. a link or connection that was joined with
 * another one; 4. a connection of which a host has reported which side is the server, over netlink
 * or in a file of smcss. Removes the analysis of a CDC message that its receiver has not taken in
 * (`is_deferred`). Sets `conn_learned_late` if the connection of a WRITE was learned after the
 * WRITE came. Until this call, a record has the knowledge from the time of its packet. */
void smcr_record_complete(const smcr_state_t *state, smcr_record_t *record);

/* Notes that Wireshark's heuristic dissectors are never asked about the bytes of this WRITE
 * packet. */
static inline void
smcr_place_set_unasked(smcr_place_t *place)
{
    place->skips_heuristics = true;
}

/* The piece of the byte stream that a WRITE packet carries, as far as the state knows it at
 * present. */
smcr_stream_range_t smcr_place_range(const smcr_place_t *place);

/* As smcr_place_range(), but with what later messages show of data from the tap of a host. The
 * application's dissectors have got this data at its assumed position, which smcr_place_range()
 * returns. */
smcr_stream_range_t smcr_place_proven_range(const smcr_place_t *place);

/* The rarely set members of the place; NULL: none of them is set. */
static inline const smcr_place_rare_t *
smcr_place_rare(const smcr_place_t *place)
{
    return place->rare ? smcr_slab_beside(place, place->rare) : NULL;
}

/* The rarely set members of the analysis of a CDC message; NULL: none of them is set. */
static inline const smcr_record_cdc_rare_t *
smcr_record_cdc_rare(const smcr_record_cdc_t *view)
{
    return view->rare ? smcr_slab_beside(view, view->rare) : NULL;
}

/* What was learned about a WRITE packet after it came; NULL: nothing. */
static inline smcr_place_late_t *
smcr_place_late(const smcr_place_t *place)
{
    const smcr_place_rare_t *more = smcr_place_rare(place);

    return more ? more->late : NULL;
}

/* Free space in the RMB element that the sender of the message writes to, bytes. `size` and
 * `unread_bytes` have to be known. */
static inline uint32_t
smcr_record_cdc_free(const smcr_record_cdc_t *view)
{
    return view->unread_bytes < view->size ? view->size - view->unread_bytes : 0;
}

/* ---- what makes records ---- */

/* The bytes of a message in a TCP connection, by the sequence numbers of Wireshark's TCP dissector:
 * relative to the SYN, or absolute, as the user has chosen. */
typedef struct {
    uint32_t first; /* sequence number of the message's first byte */
    uint32_t end;   /* sequence number after the message's last byte */
    uint32_t acked_seq; /* acknowledgement number of the segment: the sender has received all bytes
                           of the other direction with lower sequence numbers */
    bool has_syns;  /* SYN and SYN-ACK of the connection are captured, undamaged */
    bool has_fin;   /* the other direction was the first to close: its FIN has come, and takes one
                       sequence number */
} smcr_arrival_span_t;

/* A packet, or a CLC message in TCP's byte stream, on its way through the state. */
typedef struct {
    smcr_state_t *state;           /* state of the capture file */
    const smcr_ib_headers_t *roce; /* headers of the packet; NULL: a CLC message, or the headers are
                                      not kept, since the packet is taken in after its own frame */
    const smcr_arrival_span_t *span; /* sequence numbers of a CLC message's bytes; NULL: not known,
                                        or a RoCE packet */
    smcr_qp_t *qp;         /* queue pair that receives the packet; NULL: not known, or a CLC
                              message */
    smcr_qp_t *sought_qp;  /* queue pair with the receiver's number and GID, if `is_qp_sought`;
                              NULL: not known */
    bool is_qp_sought;     /* `sought_qp` is the result of a look-up for this packet, and has not
                              been used yet */
    smcr_psn_t psn;        /* PSN of a request, without wrap; 0: no request, or not judged so far */
    smcr_when_t when;      /* frame and time of the packet */
    bool goes_on;          /* the PSN of the packet is far from the highest PSN of its flow, but the
                              content of the packet proves that it belongs to the known link */
    bool replaces_corrupt; /* all earlier packets with this PSN had a wrong ICRC, so this packet is
                              the first valid one */
    uint32_t refused_frame; /* frame of the previous packet with this PSN, if its receiver has
                               certainly refused it (smcr_flow_verdict_t); 0: not proven */
    smcr_when_t first_sent; /* frame and time at which a packet with this PSN was sent for the first
                               time; frame 0: not known */
    uint32_t other_first_psn; /* PSN, plus 1, that the sender announced for its first packet, if
                                 this packet is the first captured one, and its PSN is lower or much
                                 higher; 0: otherwise */
    uint16_t vlan;         /* VLAN ID; 0: none, or not known */
    uint16_t layer;        /* layer of the packet, which distinguishes the packets of one frame */
    smcr_record_t *record; /* record of the packet; the state fills it in */
} smcr_arrival_t;

/* The role of the sender of a CLC message, or of TCP data after the CLC messages: 0 client, 1
 * server. */
static inline unsigned
smcr_arrival_role(const smcr_arrival_t *arrival)
{
    return arrival->record->direction == 1;
}

/* Notes in `message` the time of the message that the packet carries. Also arranges that `message`
 * gets the first acknowledgement of the packet later. */
void smcr_arrival_track(const smcr_arrival_t *arrival, smcr_link_sent_message_t *message);

/* Keeps the record of a packet that the first pass has learned (`arrival->record`). `layer`: layer
 * of the packet in its frame. */
void smcr_record_keep(const smcr_arrival_t *arrival, uint16_t layer);

/* Adds an event to the packet. `format` and arguments: sentence of this event, as for printf();
 * NULL: the event has the sentence of its expert item. Returns the event. */
smcr_event_t *smcr_event_add(const smcr_arrival_t *arrival, smcr_event_id_t id,
                             const char *format, ...)
    G_GNUC_PRINTF(3, 4);

/* Adds an event to the packet that is shown only if `claim` holds with all later packets. It has
 * the sentence of its expert item. `claim`: NULL: the event is certain. */
void smcr_event_add_claim(const smcr_arrival_t *arrival, smcr_event_id_t id,
                          const smcr_doubt_proof_t *claim);

/* The time for which the writer waited for free space after this CDC message (`buffer_full_s` of
 * docs/report.md), and the frame in which this wait ended. Frame 0: there was no wait, or it has
 * not ended so far. */
smcr_record_wait_t smcr_record_cdc_wait(const smcr_record_cdc_t *view);

/* The rarely set members of the place or of the message, for writing. The first call allocates
 * them. */
smcr_place_rare_t *smcr_place_make_rare(smcr_state_t *state, smcr_place_t *place);
smcr_record_cdc_rare_t *smcr_record_cdc_make_rare(smcr_state_t *state, smcr_record_cdc_t *view);

/* ---- LLC requests of a link group, and the values by which responses are paired with them (RFC
 * 7609 3.3, 3.5.5, A.3) ---- */

/* An LLC message, and the link that carries it. */
typedef struct {
    const smcr_arrival_t *arrival; /* the packet that carries the message */
    const smcr_llc_t *llc; /* the decoded message */
    uint8_t type;      /* type of the message: enum smcr_llc_type, of version 1 */
    uint32_t key;      /* number made of the part of the request that its response echoes
                          (llc_flow.c). 0: messages of this type have no such part; also 0 in the
                          calls that take in the content of the message */
    smcr_qp_t *from;   /* queue pair that sends the message */
    smcr_qp_t *to;     /* queue pair that receives the message */
    int side;          /* side of `from` */
    smcr_link_t *link; /* link that carries the message */
    smcr_lgr_t *lgr;   /* link group of the link that carries the message */
    bool response;     /* the message is a response; false: a request */
    bool requested;    /* the message is a response whose request is captured; set only while the
                          state takes in the content of the message */
    bool by_server;    /* the server sends the message, as far as the role was known when the
                          message came */
    bool all_links;    /* the message is DELETE LINK for all links */
    bool rejects;      /* the message is an ADD LINK response that rejects the link */
} smcr_exchange_message_t;

/* An LLC request of a link group. */
typedef struct {
    /* frames and times of request and response */
    smcr_exchange_t exchange;
    const smcr_ack_t *acked; /* first acknowledgement that the responder's adapter sent for the
                                request; NULL: none so far */
    smcr_point_t asked_at;    /* point of the request itself, in the flow to the responder */
    smcr_point_t responder_at; /* point of the highest PSN, captured or acknowledged, in the flow
                                  from the responder when the request came */
    struct smcr_rules_links_exchange *rules; /* what state/rules/ keeps of the request; NULL:
                                                nothing */
    uint32_t key;             /* key of the request, which distinguishes requests of one type
                                 (smcr_exchange_message_t) */
    uint8_t type;             /* type of the request: enum smcr_llc_type, of version 1 */
    int8_t requester;         /* side that sent the request */
    bool rejected;            /* the response rejects the request */
    bool orderly;             /* the request is an orderly DELETE LINK: the connections of the link
                                 get time to end (A.3.4) */
} smcr_exchange_request_t;

/* Whether requests of this LLC type of version 1 change the links of a group. */
static inline bool
smcr_exchange_changes_links(uint8_t type)
{
    return type == SMCR_LLC_ADD_LINK || type == SMCR_LLC_DELETE_LINK;
}

/* Whether requests of this LLC type of version 1 change the RKeys of a group. */
static inline bool
smcr_exchange_changes_rkeys(uint8_t type)
{
    return type == SMCR_LLC_CONFIRM_RKEY || type == SMCR_LLC_DELETE_RKEY;
}

/* ---- buffered payload ----
 *
 * Bytes of RDMA WRITE packets are held until a later frame proves that their receiver has taken
 * them in, and to which connection they belong. This later frame hands the bytes to the
 * application's dissectors. So the dissectors get each byte once, in the receiver's order, in every
 * pass. */

/* A packet whose bytes are held. */
struct smcr_held {
    smcr_place_t *write_location; /* place in the RMB element and in the stream to which the packet
                                     writes */
    uint32_t frame;       /* frame of the packet */
    uint64_t stamp;       /* time stamp of the frame in the file, nanoseconds since 1970; set with
                             `bytes` */
    uint32_t raw_offset;  /* offset of the bytes in the buffer that holds them in the frame; set
                             with `bytes` */
    uint8_t layer;        /* number of Wireshark's protocol layers in the frame up to the packet;
                             set with `bytes` */
    uint32_t offset_in_request; /* offset of the packet in its request, bytes; 0 as long as it is
                                   not known */
    uint32_t length;      /* number of `bytes`; 0: there is no copy, for example since too many
                             bytes waited already (BYTES_MAX in record.c) */
    uint8_t *bytes;       /* copy of the packet's bytes; NULL: none */
    uint32_t handed_on_frame; /* frame with which the bytes go to the application's dissectors; 0:
                                 none so far */
    int8_t sender;        /* side of the link group that has written the bytes; set with
                             `handed_on_frame` */
    smcr_conn_t *conn;    /* connection to which the bytes belong; set with `handed_on_frame` */
    bool sides_swapped;   /* value of `sides_swapped` of `conn` when the bytes were handed on:
                             `sender` numbers the sides as at that time */
    struct smcr_payload_own_frame *own_frame; /* state of dissectors for the frame of the packet, in
                                                 which the bytes are shown from the second pass on;
                                                 NULL: the bytes are shown in `handed_on_frame` */
    smcr_held_t *next;    /* next packet of the same request in the list; NULL: none */
};

/* Makes the object that will hold the bytes of the WRITE packet of `arrival`; no bytes are copied
 * yet (smcr_held_fill()). `within`: offset of the packet in its request, bytes; 0 as long as it is
 * not known. Returns the object of the packet; a second call returns the same object, with the new
 * offset. */
smcr_held_t *smcr_held_new(const smcr_arrival_t *arrival, uint32_t within);

/* Adds `held` to the list of its request. The list is ordered by offset, the highest offset first:
 * packets mostly come in order, so a new packet is mostly put first. If `held` has the offset of a
 * packet in the list, it replaces that packet, whose bytes are freed. */
void smcr_held_insert(smcr_state_t *state, smcr_held_t **request, smcr_held_t *held);

/* Reverses the list `request`, whose first packet has the highest offset. Returns the new first
 * packet, with the lowest offset; NULL: the list is empty. */
smcr_held_t *smcr_held_first(smcr_held_t *request);

/* Copies the bytes of the packet into `held`. Called in the first pass, in the frame of the packet.
 * Nothing is copied if `held` has bytes already, or if too many bytes are held (BYTES_MAX in
 * record.c). */
void smcr_held_fill(smcr_state_t *state, smcr_held_t *held, const uint8_t *bytes, uint32_t length);

/* Frees the held bytes of the packet, which are not needed any more. Does nothing if the bytes were
 * handed on. */
void smcr_held_drop(smcr_state_t *state, smcr_place_t *place);

/* Releases the copy of handed on bytes, which later passes do not need: they show the bytes in the
 * frame that carried them. The copy is freed after the dissection of the current frame. First pass,
 * in `handed_on_frame`, at most once for each packet. */
void smcr_held_release(smcr_state_t *state, smcr_held_t *held);

/* Notes that the packet of `arrival` hands the held bytes on: the application's dissectors get the
 * bytes with the frame that is being learned, after the held bytes that this packet has handed on
 * before. `conn`: connection of the bytes. `sender`: side that has written them. Nothing happens if
 * `held` is NULL, has no bytes, or was handed on before. */
void smcr_held_hand_on(const smcr_arrival_t *arrival, smcr_held_t *held, smcr_conn_t *conn,
                       int sender);

/* The held bytes that the packet at `layer` of `frame` hands on, in order: an array of smcr_held_t
 * pointers. NULL: none. */
wmem_array_t *smcr_held_of(const smcr_state_t *state, uint32_t frame, uint16_t layer);
