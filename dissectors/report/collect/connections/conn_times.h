/* Where the time of a connection went, in the members of a report (docs/report.md, "Where the time
 * went").
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "report/collect/collectors.h"

/* The first CDC message of a writer that closes or aborts the connection, or only the first one
 * that aborts it. Its flags stay set in all later messages of the writer. So a message without them
 * proves that the writer had not ended the connection before. */
typedef struct {
    smcr_when_t first; /* first captured message that ends the connection; frame 0: none */
    smcr_when_t open;  /* last new message before `first` that does not end it; frame 0: none */
    bool is_proven;    /* the number of `first` proves that no message is missing before it */
} smcr_collect_closing_t;

/* Times of one direction of a connection that the intervals of the timeline do not show. A
 * distribution is NULL if no time was measured. */
typedef struct {
    smcr_distribution_t *ack_time;    /* times from a WRITE to its acknowledgement
                                         (SMCR_TIMELINE_ACK) */
    smcr_distribution_t *reader_time; /* times from a full receive buffer to the reader's cursor
                                         update (SMCR_TIMELINE_READER) */
    smcr_distribution_t *drain_time;  /* times from a full receive buffer to a half-empty one
                                         (SMCR_TIMELINE_DRAIN) */
    smcr_distribution_t *answer_time; /* times in which the peer's program answered
                                         (SMCR_TIMELINE_ANSWER) */
    uint64_t slow_answers;     /* number of answers that took SMCR_COLLECT_SLOW_ANSWER or more */
    uint64_t slow_answer_time; /* time that these answers took together, nanoseconds */
    uint64_t unasked_writes;   /* number of WRITEs that the peer certainly did not ask for
                                  (note_unasked()) */
    smcr_collect_closing_t ended;   /* messages that close or abort the connection */
    smcr_collect_closing_t aborted; /* messages that abort the connection */
    uint32_t sending_done; /* frame of the first captured message with the flag sending done, unless
                              the writer has ended the connection with it or before; 0: none */
    uint32_t next_seq; /* sequence number that follows the writer's last new CDC message, of those
                          that are no failover validation, from 1 to 65536; 0: none so far */
    bool begins_whole; /* the writer has sent nothing before its first captured message: the message
                          has number 1, and the capture has the WRITEs of all bytes that it
                          announces */
} smcr_collect_writer_times_t;

/* The timeline of a connection, and further facts about its times that the timeline does not
 * have. */
typedef struct {
    smcr_timeline_t timeline; /* intervals of both directions of the connection */
    smcr_collect_writer_times_t of[2]; /* index: side of the writer */
    smcr_when_t idle; /* last RDMA WRITE with data, of either side, before the first message that
                         ends the connection (`of[].ended`), or the begin of the gap in which it is
                         missing; without such a WRITE, the first packet of the connection; set with
                         `ended` */
    bool idle_is_late; /* `idle` is a retransmission, whose first transmission is not captured */
    int first_sender;    /* side that sent the first packet of the connection */
    smcr_when_t whole_since; /* packet from which on no packet of the link is missing up to the
                                first packet of the connection, in both directions; frame 0: none */
} smcr_collect_times_t;

/* Shortest time of an answer that a user notices, nanoseconds. */
#define SMCR_COLLECT_SLOW_ANSWER (500 * SMCR_TIME_MILLISECOND)

/* What may be missing before a packet of a connection. */
typedef struct {
    const uint32_t *by_sender; /* sequence gaps on the packet's link so far: an array of two counts,
                                  index: side of the sender */
    const smcr_interval_t *last; /* by sender: the last sequence gap on the packet's link
                                    (smcr_timeline_packet_t) */
    const smcr_when_t *whole_since; /* by sender: packet from which on no packet of the link is
                                       missing; frame 0: none */
    bool is_whole;             /* the connection began in the capture: a CLC message before its
                                  RoCE packets was captured */
} smcr_collect_gaps_t;

/* When a connection began, was ready for data, and ended. Times are nanoseconds since 1970. */
typedef struct {
    uint64_t first;      /* time of the connection's first frame */
    uint64_t last;       /* time of the connection's last frame */
    uint32_t last_frame; /* number of the connection's last frame */
    uint64_t ready;      /* time from which the connection can carry data; SMCR_FIGURE_UNKNOWN: not
                            known */
    uint64_t connecting_until; /* time before which the connection certainly could not carry data;
                                  at most `ready`. 0: not known */
    uint64_t ready_until; /* time after which the connection could certainly carry data; at most the
                             time of its first RoCE packet; SMCR_FIGURE_UNKNOWN: not known */
    bool has_syn;        /* the SYN of the connection was captured */
    /* by side of the writer: packet since which the buffer of its reader was full, up to the first
     * packet of the connection (smcr_collect_times_full_since()); frame 0: none */
    smcr_when_t full_since[2];
    smcr_timeline_missing_t missing; /* packets of the connection that may be missing */
    uint64_t retransmission_most; /* longest time that retransmissions may have taken, nanoseconds;
                                     SMCR_FIGURE_UNKNOWN: not known */
} smcr_collect_span_t;

/* Adds the connection's next RoCE packet to the timeline in `times`. `gaps`: what the capture has
 * missed before this packet. Memory is allocated in `scope`. */
void smcr_collect_times_take(smcr_collect_times_t *times, wmem_allocator_t *scope,
                             smcr_when_t when, const smcr_tap_t *packet,
                             const smcr_collect_gaps_t *gaps);

/* Whether the packet in `frame` is proven to fill the receive window. Two conditions hold: the
 * packet has the event "window full", and no packet of the reader is missing at that time
 * (smcr_evidence_hears_reader()). Then the writer knew of no more free space than the capture
 * shows. */
bool smcr_collect_times_fills(const smcr_record_t *record, uint32_t frame);

/* Brings the timeline up to frame `now`: applies the acknowledgements in frames up to `now` that
 * cover packets of the connection. */
void smcr_collect_times_advance(smcr_collect_times_t *times, wmem_allocator_t *scope,
                                uint32_t now);

/* Swaps the figures of side 0 and side 1, as the state has swapped the sides of the connection. */
void smcr_collect_times_flip(smcr_collect_times_t *times);

/* Moves the figures of writer `side` from `half` to `times`. `half` was counted as a connection of
 * its own; now the state knows that it is one direction of this connection. */
void smcr_collect_times_move(smcr_collect_times_t *times, const smcr_collect_times_t *half,
                             int side);

/* Divides the connection's time by what the writer `side` was doing, and stores the result in
 * `*found`. Returns true if it has stored a result. Returns false, and leaves `*found` unchanged,
 * if time stamps decrease between the frames of `span`. */
bool smcr_collect_times_find(const smcr_collect_times_t *times, int side,
                             const smcr_collect_span_t *span, smcr_timeline_direction_t *found);

/* Returns the packet since which the buffer that the side `writer` fills was full of unread data,
 * up to the first packet of the connection. Frame 0: this is not known. */
smcr_when_t smcr_collect_times_full_since(const smcr_collect_times_t *times,
                                          const smcr_conn_t *conn, int writer);

/* Passes on the pieces of time whose sum smcr_collect_times_find() returns for the same arguments.
 * Called only after that function has returned true. */
void smcr_collect_times_each_piece(const smcr_collect_times_t *times, int side,
                                   const smcr_collect_span_t *span,
                                   const smcr_timeline_pieces_t *pieces);

/* Returns the time of a direction, divided into the parts of the entry conn_time (entries.def). The
 * entry is allocated in `scope`. */
smcr_entry_conn_time_t *smcr_collect_times_entry(const smcr_collect_times_t *times, int side,
                                                 const smcr_collect_span_t *span,
                                                 const smcr_timeline_direction_t *direction,
                                                 wmem_allocator_t *scope);

/* Fills in the distributions and counts of the direction that side `writer` writes. */
void smcr_collect_times_fill(const smcr_collect_times_t *times, int writer,
                             smcr_entry_conn_direction_t *entry);

/* Returns the entry conn_end (entries.def) of a connection, allocated in `scope`. `client`: side of
 * the client. NULL: neither side has closed or aborted the connection, or it is not certain which
 * side was the first. */
smcr_entry_conn_end_t *smcr_collect_times_end(const smcr_collect_times_t *times,
                                              const smcr_conn_t *conn, int client,
                                              wmem_allocator_t *scope);

/* Returns the frame of a CDC message of `side`, at or after the end `ended` of the connection, that
 * shows that no WRITE of `side` is missing between its last captured WRITE, which came before the
 * end, and this message; 0: no such message is known. */
uint32_t smcr_collect_times_complete_in(const smcr_collect_times_t *times, const smcr_conn_t *conn,
                                        int side, smcr_when_t ended);

/* Adds the longest wait of each kind, in one direction, to the connection's entry. Memory is
 * allocated in `scope`. */
void smcr_collect_times_add_waits(smcr_entry_connection_t *entry, smcr_figure_role_t writer,
                                  const smcr_timeline_direction_t *direction,
                                  wmem_allocator_t *scope);
