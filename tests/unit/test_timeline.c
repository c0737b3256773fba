/* The timeline of a connection: scenes of a writer and its reader, and what each moment of them is
 * charged to. Times are microseconds; frames count from 1.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>

#include "state/model/store.h"
#include "state/state.h"
#include "timeline/timeline.h"

#define SIZE 65536 /* of both receive buffers, bytes */
#define MOST 16    /* steps of a scene */

enum { CLIENT, SERVER };

/* What happens in a frame. */
typedef enum {
    END,
    DATA,      /* a WRITE of `bytes`, acknowledged at `acked` */
    ANNOUNCE,  /* a CDC message that announces all that was written; with `waits` its writer waits
                  for space */
    UPDATE,    /* a CDC message: all but `bytes` of what the peer announced has been read */
    READ,      /* the same, and an earlier message has said so */
    AGAIN,     /* a retransmission of the packet of frame `of` */
    OVERTAKEN, /* a packet that comes late: that of frame `of` overtook it */
    UNKNOWN,   /* a CDC message after a gap: what it says is not known */
} event_t;

typedef struct {
    event_t event;
    int side;
    uint64_t time;   /* microseconds */
    uint64_t acked;  /* likewise; 0: the capture has no acknowledgement */
    uint32_t bytes;
    uint32_t of;     /* a frame */
    uint32_t unseen; /* ANNOUNCE: bytes of WRITEs that are missing */
    uint64_t freed;  /* ANNOUNCE: the wait ends, since the writer's host learns of space; 0: it does
                        not wait */
    uint32_t missing; /* packets of its sender are missing before it */
    uint64_t lost_from, lost_until; /* with `missing`: when these packets were sent; 0: not known */
    bool others_miss; /* with `missing`: they are another connection's */
    bool peer_misses; /* packets of its peer are missing, which shows before it */
    bool is_moved;    /* it goes over another link */
    bool left_misses; /* with `is_moved`: packets of its sender are missing on the link before */
    bool rewrites;    /* DATA: the last bytes once more */
    uint32_t names_later; /* `acked` names a packet that is so many PSNs later */
    bool in_vain;    /* AGAIN: it was acknowledged before */
    bool had;        /* AGAIN: a WRITE of `bytes` that the receiver had taken in, which counts as
                        captured after its acknowledgement */
    uint64_t nak;    /* AGAIN: a NAK came at this time; 0: none came */
    bool needless;   /* AGAIN: a later packet proves that the receiver had it */
    bool partial;    /* AGAIN: the receiver had one of the packets that were retransmitted */
} step_t;

/* Shares of what CLIENT writes, microseconds. What is left out is 0. */
typedef struct {
    uint64_t nothing, answer, answer_or_nothing, transfer, path, reader, retransmission, unknown,
        needless;
} shares_t;

static const struct {
    const char *name;
    step_t steps[MOST];
    uint64_t end;
    shares_t shares;
    uint64_t answer; /* the longest answer of CLIENT's peer, microseconds */
    bool misses_last; /* the last acknowledgements may be missing */
    bool misses_writer; /* the last packets of CLIENT may be missing */
    bool misses_all_acks; /* the links have no acknowledgement in the capture */
    uint64_t missing_since; /* packets of CLIENT may be missing since then; 0: not so */
    bool misses_peer;       /* with `missing_since`: those of its peer, too, and an answer */
    bool have_closed;       /* both sides have closed with their first packet */
    uint64_t ready; /* from when on the connection can carry data; 0: from its first packet on */
    uint64_t full_since; /* since when the buffer was full, as a host reports; 0: not so */
} scenes[] = {
    {.name = "the buffer was full before the first packet",
     .steps = {{.event = UPDATE, .side = SERVER, .time = 100, .acked = 110}},
     .end = 100,
     .shares = {.nothing = 10, .reader = 80},
     .ready = 10,
     .full_since = 20},
    {.name = "a report says that the buffer was full before the connection could carry data",
     .steps = {{.event = UPDATE, .side = SERVER, .time = 100, .acked = 110}},
     .end = 100,
     .shares = {.reader = 40},
     .ready = 60,
     .full_since = 20},
    {.name = "one write",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .acked = 150, .bytes = 10}},
     .end = 200,
     .shares = {.transfer = 50, .nothing = 50}},
    {.name = "one write, without any acknowledgement of the link",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .bytes = 10}},
     .end = 200,
     .shares = {.unknown = 100},
     .misses_all_acks = true},
    {.name = "a retransmission, without any acknowledgement of the link",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .bytes = 10},
               {.event = AGAIN, .side = CLIENT, .time = 300, .of = 1}},
     .end = 300,
     .shares = {.unknown = 200},
     .misses_all_acks = true},
    {.name = "one write, and packets of the link are missing long after it",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .acked = 150, .bytes = 10}},
     .end = 1000,
     .shares = {.transfer = 50, .nothing = 650, .unknown = 200},
     .missing_since = 800},
    {.name = "the same, and an answer may be among them",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .acked = 150, .bytes = 10}},
     .end = 1000,
     .shares = {.transfer = 50, .unknown = 850},
     .missing_since = 800,
     .misses_peer = true},
    {.name = "packets of the link are missing after both sides have closed",
     .steps = {{.event = ANNOUNCE, .side = CLIENT, .time = 100, .acked = 150},
               {.event = UPDATE, .side = SERVER, .time = 500, .acked = 510, .peer_misses = true}},
     .end = 510,
     .shares = {.nothing = 410},
     .have_closed = true},
    {.name = "a retransmission, with acknowledgements of others",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .bytes = 10},
               {.event = AGAIN, .side = CLIENT, .time = 300, .of = 1}},
     .end = 300,
     .shares = {.retransmission = 200}},
    {.name = "a retransmission of data that had arrived",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .acked = 400, .bytes = 10},
               {.event = AGAIN, .side = CLIENT, .time = 300, .of = 1, .needless = true}},
     .end = 500,
     .shares = {.needless = 200, .transfer = 100, .nothing = 100}},
    {.name = "one of several retransmissions was needless",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .acked = 400, .bytes = 10},
               {.event = AGAIN, .side = CLIENT, .time = 300, .of = 1, .partial = true}},
     .end = 500,
     .shares = {.unknown = 200, .transfer = 100, .nothing = 100}},
    {.name = "an update that had arrived is retransmitted",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .acked = 110, .bytes = SIZE},
               {.event = ANNOUNCE, .side = CLIENT, .time = 101, .acked = 120, .freed = 910},
               {.event = UPDATE, .side = SERVER, .time = 150, .acked = 910, .bytes = 0},
               {.event = AGAIN, .side = SERVER, .time = 900, .of = 3, .needless = true}},
     .end = 910,
     .shares = {.transfer = 1, .path = 779, .reader = 30}},
    {.name = "the reader's program does not read",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .acked = 110, .bytes = SIZE},
               {.event = ANNOUNCE, .side = CLIENT, .time = 101, .acked = 120, .freed = 1010},
               {.event = UPDATE, .side = SERVER, .time = 1000, .acked = 1010, .bytes = 40000}},
     .end = 1010,
     .shares = {.path = 19, .reader = 890, .transfer = 1}},
    {.name = "an acknowledgement after the last packet ends the wait, and the time of unread data",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .acked = 110, .bytes = SIZE},
               {.event = ANNOUNCE, .side = CLIENT, .time = 101, .acked = 120, .freed = 1010},
               {.event = UPDATE, .side = SERVER, .time = 1000, .acked = 1010, .bytes = 20000}},
     .end = 1010,
     .shares = {.path = 19, .reader = 890, .transfer = 1}},
    {.name = "the reader reads at once, and the update takes long",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .acked = 110, .bytes = SIZE},
               {.event = ANNOUNCE, .side = CLIENT, .time = 101, .acked = 120, .freed = 1010},
               {.event = UPDATE, .side = SERVER, .time = 121, .acked = 1010, .bytes = 0}},
     .end = 1010,
     .shares = {.path = 908, .reader = 1, .transfer = 1}},
    {.name = "the message that fills the buffer is lost and retransmitted",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .acked = 110, .bytes = SIZE},
               {.event = ANNOUNCE, .side = CLIENT, .time = 101, .acked = 910, .freed = 1010},
               {.event = AGAIN, .side = CLIENT, .time = 900, .of = 2},
               {.event = UPDATE, .side = SERVER, .time = 1000, .acked = 1010, .bytes = 0}},
     .end = 1010,
     .shares = {.transfer = 1, .retransmission = 799, .path = 20, .reader = 90}},
    {.name = "the update is lost and retransmitted",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .acked = 110, .bytes = SIZE},
               {.event = ANNOUNCE, .side = CLIENT, .time = 101, .acked = 120, .freed = 910},
               {.event = UPDATE, .side = SERVER, .time = 150, .acked = 910, .bytes = 0},
               {.event = AGAIN, .side = SERVER, .time = 900, .of = 3}},
     .end = 910,
     .shares = {.transfer = 1, .path = 29, .reader = 30, .retransmission = 750}},
    {.name = "a harmless retransmission takes no blame from the reader",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .acked = 110, .bytes = SIZE},
               {.event = ANNOUNCE, .side = CLIENT, .time = 101, .acked = 120, .freed = 1010},
               {.event = AGAIN, .side = CLIENT, .time = 500, .of = 1, .in_vain = true},
               {.event = UPDATE, .side = SERVER, .time = 1000, .acked = 1010, .bytes = 40000}},
     .end = 1010,
     .shares = {.path = 19, .reader = 890, .transfer = 1}},
    {.name = "an update may be missing",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .acked = 110, .bytes = SIZE},
               {.event = ANNOUNCE, .side = CLIENT, .time = 101, .acked = 120, .freed = 1010},
               {.event = UPDATE, .side = SERVER, .time = 200, .acked = 1010, .bytes = SIZE},
               {.event = UPDATE, .side = SERVER, .time = 1000, .acked = 1010, .bytes = 40000,
                .missing = 1}},
     .end = 1010,
     .shares = {.path = 19, .reader = 80, .unknown = 810, .transfer = 1}},
    {.name = "the path is slow, and data that are read need no report",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .acked = 110, .bytes = SIZE / 2},
               {.event = ANNOUNCE, .side = CLIENT, .time = 101, .acked = 120},
               {.event = DATA, .side = CLIENT, .time = 200, .acked = 210, .bytes = SIZE / 2},
               {.event = ANNOUNCE, .side = CLIENT, .time = 201, .acked = 600, .freed = 910},
               {.event = UPDATE, .side = SERVER, .time = 601, .acked = 910, .bytes = 0}},
     .end = 910,
     .shares = {.transfer = 21, .nothing = 80, .path = 708, .reader = 1}},
    {.name = "a packet that comes late is no retransmission",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .acked = 130, .bytes = 10},
               {.event = DATA, .side = CLIENT, .time = 110, .acked = 130, .bytes = 10,
                .missing = 1},
               {.event = OVERTAKEN, .side = CLIENT, .time = 120, .acked = 130, .bytes = 10,
                .of = 2}},
     .end = 200,
     .shares = {.transfer = 20, .nothing = 70, .unknown = 10}},
    {.name = "the peer's program answers late",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .acked = 110, .bytes = 10},
               {.event = ANNOUNCE, .side = CLIENT, .time = 101, .acked = 120},
               {.event = DATA, .side = SERVER, .time = 5000, .acked = 5010, .bytes = 10},
               {.event = DATA, .side = CLIENT, .time = 6000, .acked = 6010, .bytes = 10}},
     .end = 6010,
     .shares = {.transfer = 30, .answer = 4880, .nothing = 1000},
     .answer = 4880},
    {.name = "what the peer sends without a request is no answer",
     .steps = {{.event = DATA, .side = SERVER, .time = 100, .acked = 110, .bytes = 10},
               {.event = DATA, .side = SERVER, .time = 5000, .acked = 5010, .bytes = 10}},
     .end = 5010,
     .shares = {.nothing = 4910}},
    {.name = "an answer may be missing",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .acked = 110, .bytes = 10},
               {.event = ANNOUNCE, .side = CLIENT, .time = 101, .acked = 120},
               {.event = DATA, .side = SERVER, .time = 5000, .acked = 5010, .bytes = 10,
                .missing = 2}},
     .end = 5010,
     .shares = {.transfer = 20, .nothing = 10, .unknown = 4880}},
    {.name = "a message says that the reader has read: the update is missing",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .acked = 110, .bytes = SIZE},
               {.event = ANNOUNCE, .side = CLIENT, .time = 101, .acked = 120, .freed = 5000},
               {.event = UNKNOWN, .side = SERVER, .time = 1000, .missing = 1},
               {.event = READ, .side = SERVER, .time = 3000, .acked = 3010, .bytes = 40000}},
     .end = 4000,
     .shares = {.transfer = 1, .nothing = 1000, .unknown = 2899}},
    {.name = "new data end a wait, though the update is missing",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .acked = 110, .bytes = SIZE},
               {.event = ANNOUNCE, .side = CLIENT, .time = 101, .acked = 120, .freed = 5000},
               {.event = DATA, .side = CLIENT, .time = 1000, .acked = 1100, .bytes = 10},
               {.event = UPDATE, .side = SERVER, .time = 4000, .acked = 5000, .missing = 1}},
     .end = 1100,
     .shares = {.transfer = 101, .unknown = 899}},
    {.name = "packets of another connection are missing",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .acked = 110, .bytes = 10},
               {.event = ANNOUNCE, .side = CLIENT, .time = 101, .acked = 120},
               {.event = DATA, .side = CLIENT, .time = 200, .acked = 210, .bytes = 10,
                .missing = 1},
               {.event = ANNOUNCE, .side = CLIENT, .time = 201, .acked = 220},
               {.event = UPDATE, .side = SERVER, .time = 300, .acked = 310, .missing = 1,
                .others_miss = true}},
     .end = 400,
     .shares = {.transfer = 40, .nothing = 260}},
    {.name = "a message announces more than was captured: a WRITE is missing",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .acked = 110, .bytes = 10},
               {.event = ANNOUNCE, .side = CLIENT, .time = 101, .acked = 120},
               {.event = ANNOUNCE, .side = CLIENT, .time = 201, .acked = 220, .missing = 1,
                .others_miss = true, .unseen = 10}},
     .end = 300,
     .shares = {.transfer = 20, .nothing = 80, .unknown = 100}},
    {.name = "no message shows whose packets are missing",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .acked = 110, .bytes = 10},
               {.event = ANNOUNCE, .side = CLIENT, .time = 101, .acked = 120},
               {.event = DATA, .side = CLIENT, .time = 200, .acked = 210, .bytes = 10,
                .missing = 1}},
     .end = 300,
     .shares = {.transfer = 11, .nothing = 90, .unknown = 99}},
    {.name = "one acknowledgement for two packets",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .acked = 500, .bytes = 10,
                .names_later = 1},
               {.event = DATA, .side = CLIENT, .time = 490, .acked = 500, .bytes = 10}},
     .end = 600,
     .shares = {.transfer = 400, .nothing = 100}},
    {.name = "the same where packets are missing: the first acknowledgement may be",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .acked = 500, .bytes = 10,
                .names_later = 1},
               {.event = DATA, .side = CLIENT, .time = 490, .acked = 500, .bytes = 10},
               {.event = UPDATE, .side = SERVER, .time = 600, .acked = 610, .missing = 1}},
     .end = 600,
     .shares = {.transfer = 10, .unknown = 390, .nothing = 100}},
    {.name = "a message is missing: its acknowledgement proves when, and all data are captured",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .acked = 150, .bytes = 10},
               {.event = ANNOUNCE, .side = CLIENT, .time = 900, .acked = 950, .missing = 1,
                .lost_from = 100, .lost_until = 150}},
     .end = 1000,
     .shares = {.unknown = 100, .nothing = 800}},
    {.name = "the same, but the missing message may have filled the buffer",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .acked = 150, .bytes = SIZE},
               {.event = ANNOUNCE, .side = CLIENT, .time = 900, .acked = 950, .missing = 1,
                .lost_from = 100, .lost_until = 150}},
     .end = 1000,
     .shares = {.unknown = 850, .nothing = 50}},
    {.name = "the same, but a WRITE is missing, too",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .acked = 150, .bytes = 10},
               {.event = ANNOUNCE, .side = CLIENT, .time = 900, .acked = 950, .unseen = 10,
                .missing = 2, .lost_from = 100, .lost_until = 150}},
     .end = 1000,
     .shares = {.unknown = 850, .nothing = 50}},
    {.name = "a WRITE is missing after a packet of another connection on the link",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .acked = 150, .bytes = 10},
               {.event = ANNOUNCE, .side = CLIENT, .time = 151, .acked = 160},
               {.event = ANNOUNCE, .side = CLIENT, .time = 900, .acked = 950, .unseen = 10,
                .missing = 1, .lost_from = 800, .lost_until = 900}},
     .end = 1000,
     .shares = {.unknown = 150, .transfer = 59, .nothing = 691}},
    {.name = "one acknowledgement, long after two packets: theirs are missing",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .acked = 200000, .bytes = 10,
                .names_later = 2},
               {.event = DATA, .side = CLIENT, .time = 110, .acked = 200000, .bytes = 10,
                .names_later = 1},
               {.event = DATA, .side = CLIENT, .time = 199900, .acked = 200000, .bytes = 10}},
     .end = 200000,
     .shares = {.transfer = 100, .unknown = 199800}},
    {.name = "an acknowledgement between them names an earlier packet: the first is under way",
     .steps = {{.event = DATA, .side = CLIENT, .time = 90, .acked = 300, .bytes = 10},
               {.event = DATA, .side = CLIENT, .time = 100, .acked = 500, .bytes = 10,
                .names_later = 1},
               {.event = DATA, .side = CLIENT, .time = 490, .acked = 500, .bytes = 10},
               {.event = UPDATE, .side = SERVER, .time = 600, .acked = 610, .missing = 1}},
     .end = 600,
     .shares = {.transfer = 220, .unknown = 190, .nothing = 100}},
    {.name = "no acknowledgement, and packets are missing",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .acked = 110, .bytes = 10},
               {.event = DATA, .side = CLIENT, .time = 200, .bytes = 10},
               {.event = UPDATE, .side = SERVER, .time = 300, .acked = 310, .missing = 1}},
     .end = 900,
     .shares = {.transfer = 10, .nothing = 90, .unknown = 700}},
    {.name = "no acknowledgement, and the writer does not retransmit: it has one",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .acked = 110, .bytes = 10},
               {.event = DATA, .side = CLIENT, .time = 200, .bytes = 10}},
     .end = 134418,
     .shares = {.transfer = 10, .nothing = 90, .unknown = 134218}},
    {.name = "no acknowledgement, and it is not yet time to retransmit",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .acked = 110, .bytes = 10},
               {.event = DATA, .side = CLIENT, .time = 200, .bytes = 10}},
     .end = 134417,
     .shares = {.transfer = 134227, .nothing = 90}},
    {.name = "no acknowledgement",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .acked = 110, .bytes = 10},
               {.event = DATA, .side = CLIENT, .time = 200, .bytes = 10}},
     .end = 900,
     .shares = {.transfer = 710, .nothing = 90}},
    {.name = "a message after a gap may free space",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .acked = 110, .bytes = SIZE},
               {.event = ANNOUNCE, .side = CLIENT, .time = 101, .acked = 120, .freed = 1010},
               {.event = UNKNOWN, .side = SERVER, .time = 400, .missing = 1},
               {.event = UPDATE, .side = SERVER, .time = 1000, .acked = 1010, .bytes = 40000}},
     .end = 1010,
     .shares = {.unknown = 909, .transfer = 1}},
    {.name = "a message after a gap, and a retransmission: perhaps the reader does not read",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .acked = 110, .bytes = SIZE},
               {.event = ANNOUNCE, .side = CLIENT, .time = 101, .acked = 120, .freed = 1010},
               {.event = UNKNOWN, .side = SERVER, .time = 200, .missing = 1},
               {.event = AGAIN, .side = SERVER, .time = 900, .of = 3},
               {.event = UPDATE, .side = SERVER, .time = 1000, .acked = 1010, .bytes = 40000}},
     .end = 1010,
     .shares = {.unknown = 909, .transfer = 1}},
    {.name = "packets of the writer are missing, and a retransmission: perhaps it waits for space",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .acked = 110, .bytes = SIZE},
               {.event = ANNOUNCE, .side = CLIENT, .time = 101, .acked = 120},
               {.event = DATA, .side = CLIENT, .time = 300, .bytes = 10, .missing = 1},
               {.event = AGAIN, .side = CLIENT, .time = 400, .of = 1}},
     .end = 400,
     .shares = {.retransmission = 100, .unknown = 199, .transfer = 1}},
    {.name = "the same, and the reader has read: the writer waits for the retransmission",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .acked = 110, .bytes = SIZE / 2},
               {.event = ANNOUNCE, .side = CLIENT, .time = 101, .acked = 120},
               {.event = DATA, .side = CLIENT, .time = 300, .bytes = 10, .missing = 1},
               {.event = AGAIN, .side = CLIENT, .time = 400, .of = 1}},
     .end = 400,
     .shares = {.retransmission = 280, .unknown = 19, .transfer = 1}},
    {.name = "a retransmission of what the receiver had is not under way",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .acked = 150, .bytes = 10},
               {.event = AGAIN, .side = CLIENT, .time = 200, .of = 1, .in_vain = true, .had = true,
                .bytes = 10},
               {.event = DATA, .side = CLIENT, .time = 1000, .acked = 1050, .bytes = 10}},
     .end = 1050,
     .shares = {.transfer = 100, .nothing = 850}},
    {.name = "after the update, packets of the writer are missing: perhaps it has continued",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .acked = 110, .bytes = SIZE},
               {.event = ANNOUNCE, .side = CLIENT, .time = 101, .acked = 120, .freed = 5000},
               {.event = UPDATE, .side = SERVER, .time = 1000, .acked = 5000, .bytes = 40000},
               {.event = DATA, .side = CLIENT, .time = 3000, .acked = 3010, .bytes = 10,
                .missing = 1}},
     .end = 3010,
     .shares = {.reader = 880, .unknown = 2019, .transfer = 11}},
    {.name = "the same, and none of the writer's packets is missing: it waits until it continues",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .acked = 110, .bytes = SIZE},
               {.event = ANNOUNCE, .side = CLIENT, .time = 101, .acked = 120, .freed = 5000},
               {.event = UPDATE, .side = SERVER, .time = 1000, .acked = 5000, .bytes = 40000},
               {.event = DATA, .side = CLIENT, .time = 3000, .acked = 3010, .bytes = 10}},
     .end = 3010,
     .shares = {.path = 19, .reader = 2880, .transfer = 11}},
    {.name = "a gap after the retransmission: perhaps it was acknowledged before",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .acked = 500, .bytes = 10},
               {.event = AGAIN, .side = CLIENT, .time = 300, .of = 1},
               {.event = UPDATE, .side = SERVER, .time = 600, .acked = 610, .missing = 1,
                .others_miss = true}},
     .end = 700,
     .shares = {.unknown = 200, .transfer = 200, .nothing = 200}},
    {.name = "a gap between the packet and its retransmission: the same",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .acked = 500, .bytes = 10},
               {.event = UPDATE, .side = SERVER, .time = 200, .acked = 210, .missing = 1,
                .others_miss = true},
               {.event = AGAIN, .side = CLIENT, .time = 300, .of = 1}},
     .end = 600,
     .shares = {.unknown = 200, .transfer = 200, .nothing = 100}},
    {.name = "the same, and a NAK shows that the receiver missed the packet",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .acked = 500, .bytes = 10},
               {.event = UPDATE, .side = SERVER, .time = 200, .acked = 210, .missing = 1,
                .others_miss = true},
               {.event = AGAIN, .side = CLIENT, .time = 300, .of = 1, .nak = 250}},
     .end = 600,
     .shares = {.retransmission = 200, .transfer = 200, .nothing = 100}},
    {.name = "a gap before the packet: its acknowledgement is not in there",
     .steps = {{.event = UPDATE, .side = SERVER, .time = 50, .acked = 60},
               {.event = UPDATE, .side = SERVER, .time = 70, .acked = 80, .missing = 1,
                .others_miss = true},
               {.event = DATA, .side = CLIENT, .time = 100, .acked = 500, .bytes = 10},
               {.event = AGAIN, .side = CLIENT, .time = 300, .of = 3}},
     .end = 600,
     .shares = {.retransmission = 200, .transfer = 200, .nothing = 150}},
    {.name = "the reader's packet before the gap came after the retransmission",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .acked = 500, .bytes = 10},
               {.event = AGAIN, .side = CLIENT, .time = 300, .of = 1},
               {.event = UPDATE, .side = SERVER, .time = 550, .acked = 560},
               {.event = UPDATE, .side = SERVER, .time = 600, .acked = 610, .missing = 1,
                .others_miss = true}},
     .end = 700,
     .shares = {.retransmission = 200, .transfer = 200, .nothing = 200}},
    {.name = "the last acknowledgements may be missing: perhaps one came before",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .bytes = 10},
               {.event = AGAIN, .side = CLIENT, .time = 300, .of = 1}},
     .end = 400,
     .shares = {.unknown = 300},
     .misses_last = true},
    {.name = "the same, and one came after the retransmission: a duplicate may be missing",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .acked = 350, .bytes = 10},
               {.event = AGAIN, .side = CLIENT, .time = 300, .of = 1}},
     .end = 400,
     .shares = {.transfer = 50, .nothing = 50, .unknown = 200},
     .misses_last = true},
    {.name = "the same, and the writer's timer has run out: it has none",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .bytes = 10},
               {.event = AGAIN, .side = CLIENT, .time = 68000, .of = 1}},
     .end = 68100,
     .shares = {.retransmission = 67900, .unknown = 100},
     .misses_last = true},
    {.name = "the receiver acknowledges more than was retransmitted: it had the packet",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .acked = 500, .bytes = 10,
                .names_later = 1},
               {.event = DATA, .side = CLIENT, .time = 120, .acked = 500, .bytes = 10},
               {.event = AGAIN, .side = CLIENT, .time = 300, .of = 1}},
     .end = 600,
     .shares = {.unknown = 200, .transfer = 200, .nothing = 100}},
    {.name = "the receiver acknowledges what was retransmitted",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .acked = 500, .bytes = 10,
                .names_later = 1},
               {.event = DATA, .side = CLIENT, .time = 120, .acked = 500, .bytes = 10},
               {.event = AGAIN, .side = CLIENT, .time = 300, .of = 1},
               {.event = AGAIN, .side = CLIENT, .time = 310, .of = 2}},
     .end = 600,
     .shares = {.retransmission = 210, .transfer = 190, .nothing = 100}},
    {.name = "after the answer a gap shows: perhaps a later request was answered",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .acked = 110, .bytes = 10},
               {.event = ANNOUNCE, .side = CLIENT, .time = 101, .acked = 120},
               {.event = DATA, .side = SERVER, .time = 5000, .acked = 5010, .bytes = 10},
               {.event = ANNOUNCE, .side = SERVER, .time = 5100, .acked = 5110,
                .peer_misses = true},
               {.event = DATA, .side = CLIENT, .time = 6000, .acked = 6010, .bytes = 10},
               {.event = ANNOUNCE, .side = CLIENT, .time = 6001, .acked = 6020, .missing = 1}},
     .end = 6020,
     .shares = {.transfer = 10, .unknown = 5910}},
    {.name = "the same, and the next message shows that none of the connection's is missing",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .acked = 110, .bytes = 10},
               {.event = ANNOUNCE, .side = CLIENT, .time = 101, .acked = 120},
               {.event = DATA, .side = SERVER, .time = 5000, .acked = 5010, .bytes = 10},
               {.event = ANNOUNCE, .side = SERVER, .time = 5100, .acked = 5110,
                .peer_misses = true},
               {.event = DATA, .side = CLIENT, .time = 6000, .acked = 6010, .bytes = 10},
               {.event = ANNOUNCE, .side = CLIENT, .time = 6001, .acked = 6020}},
     .end = 6020,
     .shares = {.transfer = 40, .answer = 4880, .nothing = 1000},
     .answer = 4880},
    {.name = "data find no space, and the update comes later: the capture is out of order",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .acked = 110, .bytes = SIZE},
               {.event = ANNOUNCE, .side = CLIENT, .time = 101, .acked = 120, .freed = 5000},
               {.event = DATA, .side = CLIENT, .time = 1000, .acked = 1010, .bytes = 10},
               {.event = UPDATE, .side = SERVER, .time = 4000, .acked = 5000}},
     .end = 5000,
     .shares = {.transfer = 1, .nothing = 1000, .unknown = 3899}},
    {.name = "data without an acknowledgement have arrived at last when the reader reports them",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .bytes = 10},
               {.event = ANNOUNCE, .side = CLIENT, .time = 101},
               {.event = UPDATE, .side = SERVER, .time = 300, .acked = 310}},
     .end = 1000,
     .shares = {.unknown = 200, .nothing = 700}},
    {.name = "on another link, later data are acknowledged: the data before have arrived",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .bytes = 10},
               {.event = DATA, .side = CLIENT, .time = 800, .acked = 900, .bytes = 10,
                .is_moved = true}},
     .end = 1000,
     .shares = {.unknown = 700, .transfer = 100, .nothing = 100}},
    {.name = "the same, and the writer writes them once more there: they had not arrived",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .bytes = 10},
               {.event = DATA, .side = CLIENT, .time = 800, .acked = 900, .bytes = 10,
                .is_moved = true, .rewrites = true}},
     .end = 1000,
     .shares = {.transfer = 800, .nothing = 100}},
    {.name = "data of the link before are announced: perhaps its last message announced them",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .acked = 110, .bytes = 10},
               {.event = ANNOUNCE, .side = CLIENT, .time = 800, .acked = 900, .is_moved = true}},
     .end = 1000,
     .shares = {.unknown = 100, .transfer = 10, .nothing = 790}},
    {.name = "the same, and the message announces new data, too",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .acked = 110, .bytes = 10},
               {.event = DATA, .side = CLIENT, .time = 700, .acked = 710, .bytes = 10,
                .is_moved = true},
               {.event = ANNOUNCE, .side = CLIENT, .time = 800, .acked = 900, .is_moved = true}},
     .end = 1000,
     .shares = {.transfer = 120, .nothing = 780}},
    {.name = "a WRITE is missing on the link before: the gap of the new link is not its time",
     .steps = {{.event = DATA, .side = CLIENT, .time = 100, .acked = 150, .bytes = 10},
               {.event = ANNOUNCE, .side = CLIENT, .time = 151, .acked = 160},
               {.event = ANNOUNCE, .side = CLIENT, .time = 900, .acked = 950, .unseen = 10,
                .missing = 1, .lost_from = 800, .lost_until = 850, .is_moved = true,
                .left_misses = true}},
     .end = 1000,
     .shares = {.unknown = 799, .transfer = 50, .nothing = 51}},
    {.name = "no packet of the writer is captured, and its last may be missing",
     .steps = {{.event = DATA, .side = SERVER, .time = 500, .acked = 510, .bytes = 10}},
     .end = 1000,
     .shares = {.unknown = 1000},
     .misses_writer = true},
};

/* ---- a scene as packets ---- */

/* What has been written and read so far, by side. */
typedef struct {
    wmem_allocator_t *scope;
    smcr_state_t *state;
    smcr_timeline_t timeline;
    smcr_lgr_t lgr;
    smcr_link_t link[2];
    uint64_t written[2];
    uint64_t announced[2];
    uint32_t gaps[2];
    uint32_t psn[2];
    uint32_t psn_of[MOST + 1]; /* by frame */
} stage_t;

static smcr_when_t
when_of(uint64_t time, uint32_t frame)
{
    return (smcr_when_t){frame, time * 1000};
}

/* Both links are of one group. `has_acks`: each flow has had an acknowledgement. */
static void
set_links(stage_t *stage, bool has_acks)
{
    stage->lgr.state = stage->state;
    for (unsigned i = 0; i < 2; i++) {
        stage->link[i].lgr = &stage->lgr;
        for (unsigned side = 0; side < 2; side++)
            stage->link[i].qp[side].traffic.flow.has_acks = has_acks;
    }
}

/* Frames count in the order of time: an acknowledgement has the number of the frame that would be
 * its own. */
static uint32_t
frame_at(const step_t *steps, uint64_t time)
{
    uint32_t frame = 1;

    for (unsigned i = 0; i < MOST && steps[i].event != END; i++)
        if (steps[i].time <= time)
            frame += 10;
    return frame;
}

/* The acknowledgement at `time`; NULL where that is 0. */
static const smcr_ack_t *
make_ack(stage_t *stage, const step_t *steps, uint64_t time, uint32_t psn)
{
    smcr_ack_t *acked = wmem_new(stage->scope, smcr_ack_t);
    smcr_when_t when = when_of(time, frame_at(steps, time));

    *acked = (smcr_ack_t){.frame = when.frame, .psn = psn & SMCR_PSN_MASK, .time = when.time};
    return time ? acked : NULL;
}

static void
set_write(stage_t *stage, smcr_record_t *record, const step_t *step, const smcr_ack_t *acked)
{
    smcr_place_t *place = smcr_state_alloc0(stage->state, sizeof *place);

    if (step->rewrites)
        stage->written[step->side] -= step->bytes;
    place->position = stage->written[step->side];
    place->has_position = true;
    place->length = step->bytes & SMCR_PLACE_LENGTH_MASK;
    place->acked = acked;
    stage->written[step->side] += step->bytes;
    record->kind = SMCR_RECORD_WRITE;
    record->write_location = place;
}

static void
set_message(stage_t *stage, smcr_record_t *record, const step_t *step, const smcr_ack_t *acked)
{
    smcr_record_cdc_t *view = smcr_state_alloc0(stage->state, sizeof *view);
    int side = step->side;

    record->kind = SMCR_RECORD_CDC;
    if (step->event == UNKNOWN) {
        record->receiver_action = SMCR_FLOW_RECEIVER_WAITS;
        return;
    }
    record->cdc_analysis = view;
    view->acked = acked;
    view->size = SIZE;
    view->has_announced = view->has_consumed = true;
    view->has_announced_bytes = !step->missing || step->others_miss;
    if (step->event == READ) {
        view->consumed = stage->announced[!side] - step->bytes;
    } else if (step->event == ANNOUNCE) {
        stage->written[side] += step->unseen;
        view->announced_bytes = (uint32_t)(stage->written[side] - stage->announced[side]);
        view->writes = 1;
        stage->announced[side] = stage->written[side];
    } else {
        view->read_bytes = 1;
        view->consumed = stage->announced[!side] - step->bytes;
    }
    view->announced = stage->announced[side];
}

static void
set_wait(stage_t *stage, const smcr_record_t *record, const step_t *steps, const step_t *step)
{
    const smcr_ack_t **known = wmem_new(stage->scope, const smcr_ack_t *);
    smcr_record_cdc_rare_t *wait = smcr_record_cdc_make_rare(stage->state, record->cdc_analysis);

    *known = make_ack(stage, steps, step->freed, 0);
    wait->space_freed = known;
}

/* The receiver has had the WRITE, and the capture seems to have its packets out of order. */
static void
set_known_write(stage_t *stage, smcr_record_t *record, const step_t *step)
{
    set_write(stage, record, step, NULL);
    stage->written[step->side] -= step->bytes;
    record->receiver_action = SMCR_FLOW_RECEIVER_HAD_IT;
}

static smcr_step_back_t *
make_step_back(stage_t *stage, const step_t *steps, const step_t *step)
{
    smcr_step_back_t *back = wmem_new0(stage->scope, smcr_step_back_t);

    if (step->nak)
        back->nak = when_of(step->nak, frame_at(steps, step->nak));
    back->fate = wmem_new0(stage->scope, smcr_step_fate_t);
    back->fate->needless_frame = step->needless;
    back->fate->is_partial = step->partial;
    return back;
}

static void
set_retransmission(stage_t *stage, smcr_record_t *record, const step_t *steps, const step_t *step)
{
    record->kind = SMCR_RECORD_CDC;
    record->order = SMCR_FLOW_IS_RETRANSMISSION;
    record->receiver_action = SMCR_FLOW_RECEIVER_DROPS;
    record->was_acked = step->in_vain;
    if (step->had)
        set_known_write(stage, record, step);
    if (step->nak || step->needless || step->partial)
        record->step = make_step_back(stage, steps, step);
}

static void
take_sample(void *data _U_, int writer _U_, smcr_timeline_sample_t sample _U_, uint64_t time _U_)
{
}

/* When the packets were sent that are missing before the step. */
static smcr_interval_t
lost_time(const step_t *steps, const step_t *step)
{
    return (smcr_interval_t){when_of(step->lost_from, frame_at(steps, step->lost_from) - 5),
                             when_of(step->lost_until, frame_at(steps, step->lost_until))};
}

static void
play_step(stage_t *stage, const step_t *steps, const step_t *step)
{
    const smcr_timeline_sink_t sink = {take_sample, NULL};
    uint32_t number = (uint32_t)(step - steps) + 1;
    const smcr_ack_t *acked =
        make_ack(stage, steps, step->acked, stage->psn[step->side] + step->names_later);
    smcr_record_t record = smcr_record_new();
    bool is_data = step->event == DATA || step->event == OVERTAKEN;
    smcr_ib_headers_t roce = {.opcode = is_data ? SMCR_RC_WRITE_ONLY : SMCR_RC_SEND_ONLY};
    smcr_interval_t gaps[2] = {{{0}, {0}}, {{0}, {0}}};
    gaps[step->side] = lost_time(steps, step);
    smcr_timeline_packet_t packet = {.when = when_of(step->time, frame_at(steps, step->time) - 5),
                                     .record = &record,
                                     .roce = &roce,
                                     .gap_count = stage->gaps,
                                     .is_whole = true};

    record.sender = (int8_t)step->side;
    record.link = &stage->link[step->is_moved];
    record.first_frame = step->of ? 10 * step->of - 4 : 0;
    if (step->lost_until)
        packet.last_gap = gaps;
    packet.may_miss_last[step->side] = step->left_misses;
    stage->gaps[step->side] += step->missing > 0;
    stage->gaps[!step->side] += step->peer_misses;
    if (step->event == AGAIN) {
        set_retransmission(stage, &record, steps, step);
        roce.psn = stage->psn_of[step->of];
    } else {
        roce.psn = stage->psn_of[number] = stage->psn[step->side]++;
        record.order = step->event == OVERTAKEN ? SMCR_FLOW_IS_LATE : SMCR_FLOW_IS_NEXT;
        if (is_data)
            set_write(stage, &record, step, acked);
        else
            set_message(stage, &record, step, acked);
        if (step->freed)
            set_wait(stage, &record, steps, step);
    }
    smcr_timeline_take(&stage->timeline, stage->scope, &packet, &sink);
}

static void
compare(const char *scene, const char *part, uint64_t found, uint64_t expected)
{
    if (found != expected * 1000)
        g_error("%s: %s is %g us, not %u us", scene, part, (double)found / 1000,
                (unsigned)expected);
}

/* What the report would ask about the scene with this number. */
static smcr_timeline_question_t
question_of(unsigned number, const smcr_timeline_t *timeline)
{
    bool misses_last = scenes[number].misses_last, misses_writer = scenes[number].misses_writer;
    uint64_t since = scenes[number].missing_since;
    smcr_timeline_question_t question = {
        .span = {timeline->begun, when_of(scenes[number].end, 1000)},
        .missing.acks = {misses_last, misses_last},
        .missing.last = {[CLIENT] = misses_writer || since,
                         [SERVER] = scenes[number].misses_peer},
        .missing.answer = {[SERVER] = scenes[number].misses_peer},
        .missing.closed = {[CLIENT] = scenes[number].have_closed ? 1 : 0}};

    if (misses_writer)
        question.span.begin = when_of(0, 0);
    if (since)
        question.missing.since[CLIENT] = when_of(since, 999);
    if (scenes[number].ready)
        question.span.begin = when_of(scenes[number].ready, 1);
    if (scenes[number].full_since)
        question.full_since = when_of(scenes[number].full_since, 1);
    return question;
}

static void
test_scenes(void)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(scenes); i++) {
        wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_SIMPLE);
        stage_t stage = {.scope = scope, .state = smcr_state_new(scope)};
        set_links(&stage, !scenes[i].misses_all_acks);
        const smcr_timeline_sink_t sink = {take_sample, NULL};
        const step_t *steps = scenes[i].steps;

        for (unsigned number = 0; steps[number].event != END; number++)
            play_step(&stage, steps, &steps[number]);
        smcr_timeline_advance(&stage.timeline, scope, 1000, &sink);
        smcr_timeline_question_t question = question_of(i, &stage.timeline);
        smcr_timeline_direction_t found =
            smcr_timeline_divide(&stage.timeline, CLIENT, &question);
        const uint64_t *share = found.division.share;
        const char *name = scenes[i].name;
        const shares_t *expected = &scenes[i].shares;
        compare(name, "nothing", share[SMCR_INTERVAL_IS_NOTHING], expected->nothing);
        compare(name, "answer", share[SMCR_INTERVAL_IS_ANSWER], expected->answer);
        compare(name, "answer or nothing", share[SMCR_INTERVAL_IS_MAYBE_ANSWER],
                expected->answer_or_nothing);
        compare(name, "transfer", share[SMCR_INTERVAL_IS_TRANSFER], expected->transfer);
        compare(name, "needless", share[SMCR_INTERVAL_IS_NEEDLESS], expected->needless);
        compare(name, "path", share[SMCR_INTERVAL_IS_FULL_PATH], expected->path);
        compare(name, "reader", share[SMCR_INTERVAL_IS_FULL_READER], expected->reader);
        compare(name, "retransmission", share[SMCR_INTERVAL_IS_RETRANSMISSION],
                expected->retransmission);
        compare(name, "unknown", share[SMCR_INTERVAL_IS_UNKNOWN], expected->unknown);
        compare(name, "longest answer", smcr_interval_length(found.longest_answer),
                scenes[i].answer);
        wmem_destroy_allocator(scope);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/timeline/scenes", test_scenes);
    return g_test_run();
}
