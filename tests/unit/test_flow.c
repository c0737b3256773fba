/* How the packets of a flow fared: order, repeats, copies, gaps and what proves them, steps back
 * and their causes, silence. docs/fabric.md defines it all.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "fabric/fabric.h"
#include "wire/wire.h"

/* Rows name only what is not zero. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#define SYNDROME_ACK 0x1f
#define SYNDROME_NAK 0x60
#define SYNDROME_RNR 0x20
#define SYNDROME_ACCESS 0x62
#define SAME_ID 0x10000 /* of the packet whose number is added */

/* One packet; they are numbered from 1. Those from A are requests, those from B answer them. */
typedef enum { END, SEND, READ, ACK, NAK, RNR, OTHER_NAK, OTHER, UC_WRITE, MTU, START } what_t;
enum { NEXT, REPEAT, LATE, BEHIND, COPY }; /* as smcr_flow_order_t */
enum { TAKE = 1, WAIT, DROP, TOO_LATE }; /* one more than smcr_flow_receiver_action_t */
enum { NONE, UNKNOWN, BY_RNR, BY_NAK, BY_READ, TIMEOUT }; /* as smcr_step_cause_t */

typedef struct {
    what_t what;
    uint32_t psn;
    int order;
    uint32_t before;  /* repeat, copy: of this packet */
    uint32_t absent;
    int cause;        /* when all packets have come */
    uint32_t proof;   /* likewise: packet that proves it discarded */
    bool taken, silent;
    bool corrupt;     /* its ICRC is wrong */
    int fate;         /* as smcr_flow_receiver_action_t, 0: not looked at */
    uint32_t id;      /* 0: the next one; SAME_ID + n: that of packet n */
    uint32_t length;  /* READ: of what is read; MTU: the MTU */
    bool pause;       /* it comes later than a NAK may be the cause */
    uint8_t hop_limit;
    uint32_t part;    /* microseconds by which it comes later */
    uint32_t had;     /* repeat: packet that proves it needless; ABSENT: none; 0: not looked at */
    uint32_t nak;     /* packet: the NAK that asked for the step; ABSENT: none; 0: not looked at */
} step_t;

#define MAX_STEPS 40
#define READ_OF_ONE(psn) {READ, psn, .length = 1}
#define MILLISECOND UINT64_C(1000000)
#define PAUSE (100 * MILLISECOND) /* before what is retransmitted because of a timeout */
#define ABSENT UINT32_MAX

static const struct {
    const char *name;
    bool no_id;     /* the packets have no identification */
    bool same_id;   /* all have the same */
    bool soon;      /* one comes a nanosecond behind the other, else a millisecond */
    bool one_way;   /* the reverse flow is not known */
    bool at_once;   /* no pause comes before a timeout */
    bool is_partial; /* where no retransmission is proven needless, some of them were */
    step_t steps[MAX_STEPS];
} cases[] = {
    {.name = "in order", .steps = {{SEND, 5}, {SEND, 6}, {SEND, 7}}},
    {.name = "wrap",
     .steps = {{SEND, 0xfffffe}, {SEND, 0xffffff}, {SEND, 0}, {SEND, 1}, {ACK, 1},
               {.what = SEND, .psn = 0xffffff, .order = REPEAT, .before = 2, .cause = TIMEOUT,
                .taken = true},
               {SEND, 2}}},
    {.name = "a gap in the capture, without the reverse flow", .one_way = true,
     .steps = {{SEND, 5}, {SEND, 9, .absent = 3}, {SEND, 10},
               {.what = SEND, .psn = 7, .order = LATE}}},
    {.name = "a gap on the wire",
     .steps = {{SEND, 5}, {ACK, 5},
               {.what = SEND, .psn = 7, .order = BEHIND, .absent = 1, .proof = 5},
               {.what = SEND, .psn = 8, .order = BEHIND, .proof = 5}, {NAK, 6},
               {.what = SEND, .psn = 6, .order = LATE, .cause = BY_NAK},
               {.what = SEND, .psn = 7, .order = REPEAT, .before = 3, .cause = BY_NAK},
               {.what = SEND, .psn = 8, .order = REPEAT, .before = 4, .cause = BY_NAK}, {SEND, 9}}},
    {.name = "a gap over the wrap",
     .steps = {{START, 0xffffff}, {ACK, 0xfffffe}, {.what = SEND, .order = BEHIND, .absent = 1}}},
    {.name = "the first packet behind a gap tells of it, once",
     .steps = {{SEND, 5}, {ACK, 5}, {.what = SEND, .psn = 8, .order = BEHIND, .absent = 2},
               {.what = SEND, .psn = 9, .order = BEHIND},
               {.what = SEND, .psn = 11, .order = BEHIND, .absent = 1}}},
    {.name = "a gap that an acknowledgement covers is the capture's",
     .steps = {{SEND, 5}, {ACK, 5}, {.what = SEND, .psn = 8, .order = BEHIND, .absent = 2},
               {ACK, 8}, {SEND, 9}, {.what = SEND, .psn = 6, .order = LATE}}},
    {.name = "a request behind its own acknowledgement",
     .steps = {{SEND, 5}, {ACK, 6}, {SEND, 6}, {SEND, 7}}},
    {.name = "neighbours change places",
     .steps = {{SEND, 5}, {ACK, 5}, {.what = SEND, .psn = 7, .order = BEHIND, .absent = 1},
               {.what = SEND, .psn = 6, .order = LATE}, {SEND, 8}}},
    {.name = "three change places",
     .steps = {{SEND, 5}, {ACK, 5}, {.what = SEND, .psn = 8, .order = BEHIND, .absent = 2},
               {.what = SEND, .psn = 6, .order = LATE}, {.what = SEND, .psn = 7, .order = LATE},
               {SEND, 9}}},
    {.name = "the middle of a gap comes first",
     .steps = {{SEND, 5}, {ACK, 5}, {.what = SEND, .psn = 9, .order = BEHIND, .absent = 3},
               {.what = SEND, .psn = 7, .order = LATE}, {.what = SEND, .psn = 6, .order = LATE},
               {.what = SEND, .psn = 8, .order = LATE}, {SEND, 10}}},
    {.name = "a copy",
     .steps = {{SEND, 5}, {SEND, 6},
               {.what = SEND, .psn = 5, .order = COPY, .before = 1, .id = SAME_ID + 1}, {SEND, 7}}},
    {.name = "a copy of a repeat",
     .steps = {{SEND, 5}, {ACK, 4}, {SEND, 6},
               {.what = SEND, .psn = 5, .order = REPEAT, .before = 1, .cause = TIMEOUT},
               {.what = SEND, .psn = 5, .order = COPY, .before = 4, .id = SAME_ID + 4}}},
#define AGAIN(number, first, proof) \
    {.what = SEND, .psn = number, .order = REPEAT, .before = first, .cause = TIMEOUT, \
     .had = proof, .pause = true}
    {.name = "both transmissions arrive: the acknowledgement comes twice",
     .steps = {{SEND, 5}, {ACK, 4}, AGAIN(5, 1, 5), {ACK, 5}, {ACK, 5}, {SEND, 6}}},
    {.name = "the acknowledgement comes once",
     .steps = {{SEND, 5}, {ACK, 4}, AGAIN(5, 1, ABSENT), {ACK, 5}, {SEND, 6}, {ACK, 6}, {ACK, 6}}},
    {.name = "one of two retransmissions is answered", .at_once = true,
     .is_partial = true,
     .steps = {{SEND, 5}, {SEND, 6}, {ACK, 4}, AGAIN(5, 1, ABSENT),
               {.what = SEND, .psn = 6, .order = REPEAT, .before = 2, .cause = TIMEOUT,
                .had = ABSENT},
               {ACK, 6},
               {ACK, 6}, {SEND, 7}, {ACK, 7}, {ACK, 7}}},
    {.name = "two timeouts are answered at last",
     .steps = {{SEND, 5}, {ACK, 4}, AGAIN(5, 1, 7), AGAIN(5, 1, 7), {ACK, 5}, {ACK, 5}, {ACK, 5}}},
    {.name = "a step goes on after its first packets were answered", .at_once = true,
     .steps = {{SEND, 5}, {SEND, 6}, {ACK, 4}, AGAIN(5, 1, 9), {ACK, 6}, {ACK, 6},
               {.what = SEND, .psn = 6, .order = REPEAT, .before = 2, .cause = TIMEOUT, .had = 9,
                .taken = true, .part = 1},
               {SEND, 7}, {ACK, 6}}},
    {.name = "the same, and the last packet is not answered", .at_once = true,
     .is_partial = true,
     .steps = {{SEND, 5}, {SEND, 6}, {ACK, 4}, AGAIN(5, 1, ABSENT), {ACK, 6}, {ACK, 6},
               {.what = SEND, .psn = 6, .order = REPEAT, .before = 2, .cause = TIMEOUT,
                .had = ABSENT, .taken = true, .part = 1},
               {SEND, 7}, {ACK, 7}, {ACK, 7}}},
    {.name = "a later packet shows that no answer comes, and the next step is needless",
     .steps = {{SEND, 5}, {ACK, 4}, AGAIN(5, 1, ABSENT), {ACK, 5}, {SEND, 6}, {ACK, 6}, {SEND, 7},
               AGAIN(7, 7, 10), {ACK, 7}, {ACK, 7}}},
    {.name = "a needless step of a new life, after one of the earlier life was not answered",
     .steps = {{SEND, 0x800005}, {ACK, 0x800004}, AGAIN(0x800005, 1, ABSENT),
               {SEND, 5}, {ACK, 4}, AGAIN(5, 4, 8), {ACK, 5}, {ACK, 5}, {SEND, 6}}},
    {.name = "the acknowledgement of a packet that is missing comes twice",
     .is_partial = true,
     .steps = {{SEND, 5}, {ACK, 4}, AGAIN(5, 1, ABSENT), {ACK, 6}, {ACK, 6},
               {.what = SEND, .psn = 7, .absent = 1}}},
    {.name = "the acknowledgement of a packet that is missing comes once",
     .steps = {{SEND, 5}, {ACK, 4}, AGAIN(5, 1, ABSENT), {ACK, 6},
               {.what = SEND, .psn = 7, .absent = 1}}},
    {.name = "the acknowledgement comes twice after a NAK",
     .is_partial = true,
     .steps = {{SEND, 5}, {SEND, 6}, {NAK, 5},
               {.what = SEND, .psn = 5, .order = REPEAT, .before = 1, .cause = BY_NAK,
                .had = ABSENT},
               {ACK, 6}, {ACK, 6}, {SEND, 7}}},
    {.name = "one of two retransmissions is answered, with the last PSN", .is_partial = true,
     .steps = {{SEND, 5}, {ACK, 4}, AGAIN(5, 1, ABSENT), AGAIN(5, 1, ABSENT), {ACK, 5}, {ACK, 5},
               {SEND, 6}, {ACK, 6}}},
    {.name = "one of two retransmissions is answered, and the other one was lost", .at_once = true,
     .steps = {{SEND, 5}, {SEND, 6}, {ACK, 4}, AGAIN(5, 1, ABSENT),
               {.what = SEND, .psn = 6, .order = REPEAT, .before = 2, .cause = TIMEOUT,
                .had = ABSENT},
               {ACK, 5}, {ACK, 5}, {ACK, 6}, {SEND, 7}, {ACK, 7}}},
    {.name = "the acknowledgement comes twice, and a NAK",
     .is_partial = true,
     .steps = {{SEND, 5}, {ACK, 4}, AGAIN(5, 1, ABSENT), {NAK, 5}, {ACK, 5}, {ACK, 5}}},
    {.name = "an acknowledgement is copied",
     .steps = {{SEND, 5}, {ACK, 4}, AGAIN(5, 1, ABSENT), {ACK, 5},
               {.what = ACK, .psn = 5, .order = COPY, .before = 4, .id = SAME_ID + 4}}},
    {.name = "the acknowledgement comes twice, without identifications", .no_id = true,
     .steps = {{SEND, 5}, {ACK, 4}, AGAIN(5, 1, 5), {ACK, 5}, {ACK, 5}, {SEND, 6}}},
    {.name = "the same, and the flow has had a copy", .no_id = true, .soon = true,
     .is_partial = true,
     .steps = {{SEND, 4}, {.what = SEND, .psn = 4, .order = COPY, .before = 1}, {SEND, 5}, {ACK, 4},
               AGAIN(5, 3, ABSENT), {ACK, 5}, {ACK, 5}, {SEND, 6}}},
    {.name = "no copy where identifications do not change", .same_id = true,
     .steps = {{SEND, 5}, {SEND, 6}, {ACK, 6},
               {.what = SEND, .psn = 5, .order = REPEAT, .before = 1, .cause = UNKNOWN,
                .taken = true}}},
    {.name = "copies without identification", .no_id = true, .soon = true,
     .steps = {{SEND, 5}, {.what = SEND, .psn = 5, .order = COPY, .before = 1}, {ACK, 5}, {ACK, 5},
               {SEND, 6}, {READ, 7, .length = 1},
               {.what = READ, .psn = 7, .order = COPY, .before = 6}, {ACK, 6},
               {.what = READ, .psn = 7, .order = REPEAT, .before = 6, .cause = UNKNOWN}}},
    {.name = "no copy behind a NAK, without identification", .no_id = true, .soon = true,
     .steps = {{SEND, 5}, {SEND, 6}, {NAK, 5},
               {.what = SEND, .psn = 5, .order = REPEAT, .before = 1, .cause = BY_NAK},
               {.what = SEND, .psn = 5, .order = COPY, .before = 4},
               {.what = SEND, .psn = 6, .order = REPEAT, .before = 2, .cause = BY_NAK},
               {.what = SEND, .psn = 6, .order = COPY, .before = 6}}},
    {.name = "copies of a mirror port, without identification", .no_id = true, .soon = true,
     .steps = {{SEND, 5}, {.what = SEND, .psn = 5, .order = COPY, .before = 1}, {SEND, 6},
               {SEND, 7}, {.what = SEND, .psn = 6, .order = COPY, .before = 3},
               {.what = SEND, .psn = 7, .order = COPY, .before = 4}}},
    {.name = "copies beyond a router, without identification", .no_id = true, .one_way = true,
     .steps = {{SEND, 5, .hop_limit = 64}, {SEND, 6, .hop_limit = 64},
               {.what = SEND, .psn = 5, .order = COPY, .before = 1, .hop_limit = 63},
               {.what = SEND, .psn = 5, .order = REPEAT, .before = 1, .cause = UNKNOWN,
                .hop_limit = 64},
               {.what = SEND, .psn = 5, .order = COPY, .before = 4, .hop_limit = 63},
               {.what = SEND, .psn = 6, .order = REPEAT, .before = 2, .cause = UNKNOWN,
                .hop_limit = 63}}},
    {.name = "a copy of an acknowledgement beyond a router", .no_id = true,
     .steps = {{SEND, 5}, {ACK, 5, .hop_limit = 64}, {ACK, 5, .hop_limit = 64},
               {.what = ACK, .psn = 5, .order = COPY, .before = 3, .hop_limit = 63}}},
    {.name = "the newest request waits for its timer, without identification", .no_id = true,
     .soon = true,
     .steps = {{SEND, 5}, {ACK, 5}, {SEND, 6},
               {.what = SEND, .psn = 6, .order = COPY, .before = 3, .part = 900}, {SEND, 7},
               {SEND, 8}, {.what = SEND, .psn = 7, .order = COPY, .before = 5, .part = 900},
               {.what = SEND, .psn = 8, .order = REPEAT, .before = 6, .cause = UNKNOWN,
                .part = 1100}}},
    {.name = "a step back goes on, though there were copies", .no_id = true, .soon = true,
     .steps = {{SEND, 5}, {.what = SEND, .psn = 5, .order = COPY, .before = 1}, {SEND, 6},
               {SEND, 7}, {NAK, 6},
               {.what = SEND, .psn = 6, .order = REPEAT, .before = 3, .cause = BY_NAK},
               {.what = SEND, .psn = 7, .order = REPEAT, .before = 4, .cause = BY_NAK}}},
    {.name = "a copy behind a NAK of a later request, without identification", .no_id = true,
     .soon = true,
     .steps = {{SEND, 5}, {SEND, 6}, {NAK, 6}, {.what = SEND, .psn = 5, .order = REPEAT,
                .before = 1, .cause = UNKNOWN, .taken = true}}},
    {.name = "no copy without identification", .no_id = true,
     .steps = {{SEND, 5}, {SEND, 6}, {ACK, 4},
               {.what = SEND, .psn = 6, .order = REPEAT, .before = 2, .cause = UNKNOWN}}},
    {.name = "a copy of an acknowledgement",
     .steps = {{SEND, 5}, {ACK, 5}, {SEND, 6}, {ACK, 6},
               {.what = ACK, .psn = 5, .order = COPY, .before = 2, .id = SAME_ID + 2}}},
    {.name = "taken in before",
     .steps = {{SEND, 5}, {SEND, 6}, {ACK, 5},
               {.what = SEND, .psn = 5, .order = REPEAT, .before = 1, .cause = TIMEOUT,
                .taken = true},
               {.what = SEND, .psn = 6, .order = REPEAT, .before = 2, .cause = TIMEOUT}}},
    {.name = "a NAK refuses what the capture has",
     .steps = {{SEND, 5}, {SEND, 6}, {SEND, 7}, {NAK, 6},
               {.what = SEND, .psn = 6, .order = REPEAT, .before = 2, .cause = BY_NAK},
               {.what = SEND, .psn = 7, .order = REPEAT, .before = 3, .cause = BY_NAK}}},
    {.name = "RNR NAK",
     .steps = {{SEND, 5}, {SEND, 6}, {RNR, 5}, {NAK, 5},
               {.what = SEND, .psn = 5, .order = REPEAT, .before = 1, .cause = BY_RNR},
               {.what = SEND, .psn = 6, .order = REPEAT, .before = 2, .cause = BY_RNR}, {NAK, 5},
               {.what = SEND, .psn = 5, .order = REPEAT, .before = 1, .cause = BY_NAK}}},
    {.name = "a NAK of long ago is no cause",
     .steps = {{SEND, 5}, {SEND, 6}, {NAK, 6},
               {.what = SEND, .psn = 6, .order = REPEAT, .before = 2, .cause = BY_NAK}, {ACK, 5},
               {SEND, 7},
               {.what = SEND, .psn = 6, .order = REPEAT, .before = 2, .cause = TIMEOUT}}},
    {.name = "the sender goes back to a packet that the capture lacks",
     .steps = {{SEND, 5}, {SEND, 6}, {SEND, 7}, {NAK, 5},
               {.what = SEND, .psn = 6, .order = REPEAT, .before = 2, .cause = BY_NAK},
               {.what = SEND, .psn = 7, .order = REPEAT, .before = 3, .cause = BY_NAK}}},
    {.name = "one cause up to the highest PSN",
     .steps = {{SEND, 5}, {SEND, 6}, {SEND, 7}, {NAK, 5},
               {.what = SEND, .psn = 5, .order = REPEAT, .before = 1, .cause = BY_NAK}, {ACK, 5},
               {.what = SEND, .psn = 6, .order = REPEAT, .before = 2, .cause = BY_NAK},
               {.what = SEND, .psn = 7, .order = REPEAT, .before = 3, .cause = BY_NAK}, {SEND, 8}}},
    {.name = "the sender goes on, without identification", .no_id = true, .at_once = true,
     .steps = {{SEND, 5}, {SEND, 6}, {SEND, 7}, {ACK, 5},
               {.what = SEND, .psn = 6, .order = REPEAT, .before = 2, .cause = TIMEOUT,
                .pause = true},
               {.what = SEND, .psn = 7, .order = REPEAT, .before = 3, .cause = TIMEOUT}}},
    {.name = "unknown without the reverse flow", .one_way = true,
     .steps = {{SEND, 5}, {SEND, 6},
               {.what = SEND, .psn = 5, .order = REPEAT, .before = 1, .cause = UNKNOWN},
               {.what = SEND, .psn = 6, .order = REPEAT, .before = 2, .cause = UNKNOWN}}},
    {.name = "a READ takes a PSN for each packet of its response",
     .steps = {{MTU, 4, .length = 1024}, {READ, 5, .length = 3000}, {SEND, 8}, {ACK, 4},
               {.what = READ, .psn = 7, .order = REPEAT, .before = 2, .cause = BY_READ,
                .length = 952}}},
    {.name = "a READ asked again in the middle, when newer packets have taken its place",
     .steps = {{MTU, 4, .length = 1024}, {READ, 5, .length = 131072}, {READ, 133, .length = 131072},
               {ACK, 4},
               {.what = READ, .psn = 7, .order = REPEAT, .before = 2, .cause = BY_READ,
                .length = 129024}}},
    {.name = "READs asked again that newer READs have made the flow forget", .at_once = true,
     .steps = {{SEND, 4}, {ACK, 4}, READ_OF_ONE(5), READ_OF_ONE(6), READ_OF_ONE(7),
               READ_OF_ONE(8), READ_OF_ONE(9), READ_OF_ONE(10), READ_OF_ONE(11), READ_OF_ONE(12),
               READ_OF_ONE(13), READ_OF_ONE(14), READ_OF_ONE(15), READ_OF_ONE(16),
               READ_OF_ONE(17), READ_OF_ONE(18), READ_OF_ONE(19), READ_OF_ONE(20),
               READ_OF_ONE(21), READ_OF_ONE(22), READ_OF_ONE(23), READ_OF_ONE(24),
               READ_OF_ONE(25), READ_OF_ONE(26), READ_OF_ONE(27), READ_OF_ONE(28),
               READ_OF_ONE(29), READ_OF_ONE(30), READ_OF_ONE(31), READ_OF_ONE(32),
               READ_OF_ONE(33), READ_OF_ONE(34), READ_OF_ONE(35), READ_OF_ONE(36),
               READ_OF_ONE(37), READ_OF_ONE(38),
               {.what = READ, .psn = 5, .length = 1, .order = REPEAT, .before = 3,
                .cause = TIMEOUT, .pause = true},
               {.what = READ, .psn = 6, .length = 1, .order = REPEAT, .before = 4,
                .cause = TIMEOUT}}},
    {.name = "the next request tells how many packets a READ had",
     .steps = {{READ, 5, .length = 3000}, {SEND, 8}, {READ, 9, .length = 2048}, {SEND, 11}}},
    {.name = "a READ of nothing takes one PSN", .steps = {{READ, 5, .length = 0}, {SEND, 6}}},
    {.name = "UC keeps its gaps",
     .steps = {{UC_WRITE, 5}, {ACK, 4}, {UC_WRITE, 8, .absent = 2}, {UC_WRITE, 9},
               {.what = UC_WRITE, .psn = 7, .order = LATE}}},
    {.name = "silence",
     .steps = {{SEND, 4}, {SEND, 5}, {ACK, 4},
               {.what = SEND, .psn = 5, .order = REPEAT, .before = 2, .cause = TIMEOUT},
               {.what = SEND, .psn = 5, .order = REPEAT, .before = 2, .cause = TIMEOUT},
               {.what = SEND, .psn = 5, .order = REPEAT, .before = 2, .cause = TIMEOUT,
                .silent = true},
               {.what = SEND, .psn = 5, .order = REPEAT, .before = 2, .cause = TIMEOUT},
               {OTHER, 1}, {.what = SEND, .psn = 5, .order = REPEAT, .before = 2, .cause = TIMEOUT},
               {.what = SEND, .psn = 5, .order = REPEAT, .before = 2, .cause = TIMEOUT},
               {.what = SEND, .psn = 5, .order = REPEAT, .before = 2, .cause = TIMEOUT,
                .silent = true}}},
    {.name = "no silence while the peer sends anything",
     .steps = {{SEND, 4}, {SEND, 5}, {ACK, 4},
               {.what = SEND, .psn = 5, .order = REPEAT, .before = 2, .cause = TIMEOUT},
               {.what = SEND, .psn = 5, .order = REPEAT, .before = 2, .cause = TIMEOUT}, {OTHER, 1},
               {.what = SEND, .psn = 5, .order = REPEAT, .before = 2, .cause = TIMEOUT},
               {.what = SEND, .psn = 5, .order = REPEAT, .before = 2, .cause = TIMEOUT}}},
    {.name = "no silence of a peer that was never heard",
     .steps = {{SEND, 5}, {SEND, 6},
               {.what = SEND, .psn = 5, .order = REPEAT, .before = 1, .cause = UNKNOWN},
               {.what = SEND, .psn = 5, .order = REPEAT, .before = 1, .cause = UNKNOWN},
               {.what = SEND, .psn = 5, .order = REPEAT, .before = 1, .cause = UNKNOWN}}},
    {.name = "a wrong ICRC is sent, but not received",
     .steps = {{SEND, 5, .fate = TAKE}, {ACK, 5}, {SEND, 6, .corrupt = true, .fate = DROP},
               {.what = SEND, .psn = 7, .order = BEHIND, .proof = 5, .fate = WAIT}, {NAK, 6},
               {.what = SEND, .psn = 6, .order = REPEAT, .before = 3, .cause = BY_NAK,
                .fate = TAKE},
               {.what = SEND, .psn = 7, .order = REPEAT, .before = 4, .cause = BY_NAK,
                .fate = TAKE},
               {SEND, 8, .fate = TAKE}}},
    {.name = "a wrong ICRC of the last packet, and a timeout",
     .steps = {{SEND, 5}, {ACK, 5}, {SEND, 6, .corrupt = true},
               {.what = SEND, .psn = 6, .order = REPEAT, .before = 3, .cause = TIMEOUT,
                .fate = TAKE},
               {SEND, 7, .fate = TAKE}}},
    {.name = "several wrong ICRCs in a row",
     .steps = {{SEND, 5}, {ACK, 5}, {SEND, 6, .corrupt = true}, {SEND, 7, .corrupt = true},
               {.what = SEND, .psn = 8, .order = BEHIND, .proof = 6}, {NAK, 6},
               {.what = SEND, .psn = 6, .order = REPEAT, .before = 3, .cause = BY_NAK,
                .fate = TAKE},
               {.what = SEND, .psn = 7, .order = REPEAT, .before = 4, .cause = BY_NAK,
                .corrupt = true, .fate = DROP},
               {.what = SEND, .psn = 8, .order = REPEAT, .before = 5, .cause = BY_NAK,
                .fate = DROP},
               {NAK, 7},
               {.what = SEND, .psn = 7, .order = REPEAT, .before = 4, .cause = BY_NAK,
                .fate = TAKE},
               {.what = SEND, .psn = 8, .order = REPEAT, .before = 5, .cause = BY_NAK,
                .fate = TAKE},
               {SEND, 9, .fate = TAKE}}},
    {.name = "a wrong ICRC without the reverse flow", .one_way = true,
     .steps = {{SEND, 5}, {SEND, 6, .corrupt = true}, {SEND, 7, .fate = TAKE},
               {.what = SEND, .psn = 6, .order = REPEAT, .before = 2, .cause = UNKNOWN,
                .fate = TOO_LATE}}},
    {.name = "an acknowledgement covers what had a wrong ICRC",
     .steps = {{SEND, 5}, {ACK, 5}, {SEND, 6, .corrupt = true, .fate = DROP}, {ACK, 6},
               {SEND, 7, .fate = TAKE}}},
    {.name = "a wrong PSN is not believed",
     .steps = {{SEND, 5}, {ACK, 5}, {SEND, 40, .corrupt = true, .fate = DROP},
               {SEND, 2, .corrupt = true, .fate = DROP}, {SEND, 0x800000, .corrupt = true},
               {SEND, 6, .fate = TAKE}, {SEND, 7, .fate = TAKE}}},
    {.name = "a wrong ICRC begins no flow",
     .steps = {{SEND, 5, .corrupt = true, .fate = DROP}, {SEND, 9, .fate = TAKE}, {SEND, 10}}},
    {.name = "a response with a wrong ICRC covers nothing",
     .steps = {{SEND, 5}, {ACK, 5, .corrupt = true}, {SEND, 6}, {ACK, 4},
               {.what = SEND, .psn = 5, .order = REPEAT, .before = 1, .cause = TIMEOUT}}},
    {.name = "a NAK with a wrong ICRC refuses nothing",
     .steps = {{SEND, 5}, {SEND, 6}, {ACK, 4}, {NAK, 5, .corrupt = true},
               {.what = SEND, .psn = 5, .order = REPEAT, .before = 1, .cause = TIMEOUT}}},
    {.name = "no copy of a wrong ICRC",
     .steps = {{SEND, 5}, {ACK, 5}, {SEND, 6, .corrupt = true},
               {.what = SEND, .psn = 6, .order = REPEAT, .before = 3, .cause = TIMEOUT,
                .id = SAME_ID + 3, .fate = TAKE},
               {.what = SEND, .psn = 6, .order = COPY, .before = 4, .id = SAME_ID + 3}}},
    {.name = "a copy with a wrong ICRC",
     .steps = {{SEND, 5}, {SEND, 6},
               {.what = SEND, .psn = 6, .order = COPY, .before = 2, .id = SAME_ID + 2,
                .corrupt = true},
               {SEND, 7, .fate = TAKE}}},
    {.name = "a READ with a wrong ICRC",
     .steps = {{MTU, 4, .length = 1024}, {ACK, 4}, {READ, 5, .length = 3000, .corrupt = true},
               {.what = SEND, .psn = 8, .order = BEHIND, .proof = 5}, {NAK, 5},
               {.what = READ, .psn = 5, .order = REPEAT, .before = 3, .cause = BY_NAK,
                .length = 3000},
               {.what = SEND, .psn = 8, .order = REPEAT, .before = 4, .cause = BY_NAK,
                .fate = TAKE},
               {SEND, 9, .fate = TAKE}}},
    {.name = "UC loses what has a wrong ICRC",
     .steps = {{UC_WRITE, 5}, {UC_WRITE, 6, .corrupt = true, .fate = DROP},
               {UC_WRITE, 7, .fate = TAKE}}},
    {.name = "lost again in the repeat: what is new waits, too",
     .steps = {{SEND, 5, .fate = TAKE}, {ACK, 5},
               {.what = SEND, .psn = 7, .order = BEHIND, .absent = 1, .proof = 4, .fate = WAIT},
               {NAK, 6}, {.what = SEND, .psn = 6, .order = LATE, .fate = TAKE},
               {SEND, 8, .fate = WAIT}, {NAK, 7},
               {.what = SEND, .psn = 7, .order = REPEAT, .before = 3, .cause = BY_NAK,
                .fate = TAKE},
               {.what = SEND, .psn = 8, .order = REPEAT, .before = 6, .cause = BY_NAK,
                .fate = TAKE},
               {SEND, 9, .fate = TAKE}}},
    {.name = "what comes behind a NAK is refused, too",
     .steps = {{SEND, 5}, {ACK, 5},
               {.what = SEND, .psn = 7, .order = BEHIND, .absent = 1, .proof = 4, .fate = WAIT},
               {NAK, 6}, {.what = SEND, .psn = 8, .order = BEHIND, .fate = WAIT, .proof = 9},
               {ACK, 5}, {.what = SEND, .psn = 6, .order = LATE, .cause = BY_NAK, .fate = TAKE},
               {.what = SEND, .psn = 7, .order = REPEAT, .before = 3, .cause = BY_NAK,
                .fate = TAKE},
               {.what = SEND, .psn = 8, .order = REPEAT, .before = 5, .cause = BY_NAK,
                .fate = TAKE}}},
    {.name = "only the capture lacks it: what follows is taken in",
     .steps = {{SEND, 5}, {ACK, 5},
               {.what = SEND, .psn = 7, .order = BEHIND, .absent = 1, .fate = WAIT},
               {.what = SEND, .psn = 8, .order = BEHIND, .fate = WAIT}, {ACK, 7},
               {SEND, 9, .fate = TAKE}}},
    {.name = "neighbours change places in the capture",
     .steps = {{SEND, 5}, {ACK, 5},
               {.what = SEND, .psn = 7, .order = BEHIND, .absent = 1, .fate = WAIT},
               {.what = SEND, .psn = 6, .order = LATE, .fate = TAKE}, {SEND, 8, .fate = TAKE}}},
    {.name = "the NAK that asked for a step",
     .steps = {{SEND, 5}, {SEND, 6}, {SEND, 7}, {ACK, 5}, {NAK, 6},
               {.what = SEND, .psn = 6, .order = REPEAT, .before = 2, .cause = BY_NAK, .nak = 5},
               {.what = SEND, .psn = 7, .order = REPEAT, .before = 3, .cause = BY_NAK, .nak = 5}}},
    {.name = "the last of several NAKs",
     .steps = {{SEND, 5}, {SEND, 6}, {NAK, 5}, {NAK, 5},
               {.what = SEND, .psn = 5, .order = REPEAT, .before = 1, .cause = BY_NAK, .nak = 4},
               {.what = SEND, .psn = 6, .order = REPEAT, .before = 2, .cause = BY_NAK, .nak = 4},
               {NAK, 6},
               {.what = SEND, .psn = 6, .order = REPEAT, .before = 2, .cause = BY_NAK, .nak = 7}}},
    {.name = "an RNR NAK, then a NAK of the packet behind",
     .steps = {{SEND, 5}, {SEND, 6}, {RNR, 5}, {NAK, 5},
               {.what = SEND, .psn = 5, .order = REPEAT, .before = 1, .cause = BY_RNR, .nak = 3},
               {.what = SEND, .psn = 6, .order = REPEAT, .before = 2, .cause = BY_RNR, .nak = 3}}},
    {.name = "a NAK, then an RNR NAK",
     .steps = {{SEND, 5}, {SEND, 6}, {NAK, 5}, {RNR, 5},
               {.what = SEND, .psn = 5, .order = REPEAT, .before = 1, .cause = BY_RNR, .nak = 4}}},
    {.name = "an RNR NAK in each round",
     .steps = {{SEND, 5}, {RNR, 5},
               {.what = SEND, .psn = 5, .order = REPEAT, .before = 1, .cause = BY_RNR, .nak = 2},
               {RNR, 5},
               {.what = SEND, .psn = 5, .order = REPEAT, .before = 1, .cause = BY_RNR, .nak = 4},
               {NAK, 5},
               {.what = SEND, .psn = 5, .order = REPEAT, .before = 1, .cause = BY_NAK, .nak = 6}}},
    {.name = "the NAK names a packet that the capture lacks",
     .steps = {{SEND, 5}, {SEND, 6}, {SEND, 7}, {NAK, 5},
               {.what = SEND, .psn = 6, .order = REPEAT, .before = 2, .cause = BY_NAK,
                .nak = ABSENT},
               {.what = SEND, .psn = 7, .order = REPEAT, .before = 3, .cause = BY_NAK,
                .nak = ABSENT}}},
    {.name = "no NAK",
     .steps = {{SEND, 5}, {SEND, 6}, {ACK, 5},
               {.what = SEND, .psn = 6, .order = REPEAT, .before = 2, .cause = TIMEOUT,
                .nak = ABSENT}}},
    {.name = "an acknowledgement behind the NAK",
     .steps = {{SEND, 5}, {SEND, 6}, {NAK, 6}, {ACK, 6},
               {.what = SEND, .psn = 6, .order = REPEAT, .before = 2, .cause = BY_NAK,
                .taken = true, .nak = 3}}},
    {.name = "another NAK does not ask",
     .steps = {{SEND, 5}, {SEND, 6}, {OTHER_NAK, 6},
               {.what = SEND, .psn = 6, .order = REPEAT, .before = 2, .cause = TIMEOUT,
                .nak = ABSENT}}},
    {.name = "a NAK that came before the first request",
     .steps = {{NAK, 5}, {SEND, 5}, {SEND, 6},
               {.what = SEND, .psn = 5, .order = REPEAT, .before = 2, .cause = BY_NAK, .nak = 1}}},
    {.name = "the NAK of what is sent late",
     .steps = {{SEND, 5}, {ACK, 5},
               {.what = SEND, .psn = 7, .order = BEHIND, .absent = 1, .proof = 4}, {NAK, 6},
               {.what = SEND, .psn = 6, .order = LATE, .cause = BY_NAK, .nak = 4},
               {.what = SEND, .psn = 7, .order = REPEAT, .before = 3, .cause = BY_NAK, .nak = 4}}},
    {.name = "a late packet that only was reordered",
     .steps = {{SEND, 5}, {ACK, 5},
               {.what = SEND, .psn = 7, .order = BEHIND, .absent = 1, .proof = 4}, {NAK, 6},
               {.what = SEND, .psn = 6, .order = LATE, .nak = ABSENT}, {SEND, 8}}},
    {.name = "the sender goes on behind a NAK, without identification", .no_id = true,
     .steps = {{SEND, 5}, {SEND, 6}, {SEND, 7}, {ACK, 5}, {NAK, 6},
               {.what = SEND, .psn = 6, .order = REPEAT, .before = 2, .cause = BY_NAK, .nak = 5},
               {.what = SEND, .psn = 7, .order = REPEAT, .before = 3, .cause = BY_NAK, .nak = 5}}},
    {.name = "the sender goes on from a timeout", .no_id = true, .at_once = true,
     .steps = {{SEND, 5}, {SEND, 6}, {SEND, 7}, {ACK, 5},
               {.what = SEND, .psn = 6, .order = REPEAT, .before = 2, .cause = TIMEOUT,
                .pause = true, .nak = ABSENT},
               {.what = SEND, .psn = 7, .order = REPEAT, .before = 3, .cause = TIMEOUT,
                .nak = ABSENT}}},
    {.name = "a NAK may be absent", .at_once = true,
     .steps = {{SEND, 5}, {SEND, 6}, {SEND, 7}, {ACK, 5},
               {.what = SEND, .psn = 6, .order = REPEAT, .before = 2, .cause = UNKNOWN},
               {.what = SEND, .psn = 7, .order = REPEAT, .before = 3, .cause = UNKNOWN}}},
    {.name = "all that was sent has been taken in", .at_once = true,
     .steps = {{SEND, 5}, {SEND, 6}, {ACK, 6},
               {.what = SEND, .psn = 5, .order = REPEAT, .before = 1, .cause = TIMEOUT,
                .taken = true},
               {.what = SEND, .psn = 6, .order = REPEAT, .before = 2, .cause = TIMEOUT,
                .taken = true},
               {.what = SEND, .psn = 5, .order = REPEAT, .before = 1, .cause = UNKNOWN,
                .taken = true}}},
    {.name = "no cause: a NAK that the sender has not followed for so long", .at_once = true,
     .steps = {{SEND, 5}, {SEND, 6}, {NAK, 5},
               {.what = SEND, .psn = 5, .order = REPEAT, .before = 1, .cause = TIMEOUT,
                .pause = true, .nak = ABSENT},
               {.what = SEND, .psn = 6, .order = REPEAT, .before = 2, .cause = TIMEOUT}}},
    {.name = "a NAK behind a pause",
     .steps = {{SEND, 5}, {SEND, 6}, {NAK, 5, .pause = true},
               {.what = SEND, .psn = 5, .order = REPEAT, .before = 1, .cause = BY_NAK, .nak = 3}}},
    {.name = "a sender waits for its RNR timer",
     .steps = {{SEND, 5}, {RNR, 5},
               {.what = SEND, .psn = 5, .order = REPEAT, .before = 1, .cause = BY_RNR,
                .pause = true, .nak = 2},
               {ACK, 5}, {SEND, 6}, {ACK, 5},
               {.what = SEND, .psn = 6, .order = REPEAT, .before = 5, .cause = UNKNOWN,
                .pause = true}}},
    {.name = "a timeout in a step that a NAK began",
     .steps = {{SEND, 5}, {SEND, 6}, {SEND, 7}, {NAK, 5},
               {.what = SEND, .psn = 6, .order = REPEAT, .before = 2, .cause = BY_NAK},
               {.what = SEND, .psn = 7, .order = REPEAT, .before = 3, .cause = BY_NAK},
               {.what = SEND, .psn = 5, .order = REPEAT, .before = 1, .cause = TIMEOUT,
                .nak = ABSENT}}},
    {.name = "overtaken behind a timeout, as its identification tells", .at_once = true,
     .steps = {{SEND, 5}, {SEND, 6}, {SEND, 7}, {ACK, 5},
               {.what = SEND, .psn = 7, .order = REPEAT, .before = 3, .cause = TIMEOUT,
                .pause = true, .id = 200},
               {.what = SEND, .psn = 6, .order = REPEAT, .before = 2, .cause = TIMEOUT,
                .id = 199}}},
    {.name = "late, but not from what is acknowledged on", .at_once = true,
     .steps = {{SEND, 5}, {SEND, 6}, {SEND, 7}, {ACK, 4},
               {.what = SEND, .psn = 6, .order = REPEAT, .before = 2, .cause = UNKNOWN,
                .pause = true},
               {.what = SEND, .psn = 7, .order = REPEAT, .before = 3, .cause = UNKNOWN}}},
    {.name = "no part of a step that is long over",
     .steps = {{SEND, 5}, {SEND, 6}, {SEND, 7}, {NAK, 5},
               {.what = SEND, .psn = 5, .order = REPEAT, .before = 1, .cause = BY_NAK},
               {.what = SEND, .psn = 6, .order = REPEAT, .before = 2, .cause = BY_NAK},
               {.what = SEND, .psn = 7, .order = REPEAT, .before = 3, .cause = UNKNOWN,
                .pause = true}}},
    {.name = "the responses of an earlier life, without identification", .no_id = true,
     .soon = true,
     .steps = {{SEND, 5}, {ACK, 5}, {READ, 0x800000, .length = 1},
               {.what = READ, .psn = 0x800000, .order = REPEAT, .before = 3, .cause = UNKNOWN}}},
    {.name = "a new life", .steps = {{SEND, 5}, {SEND, 6}, {ACK, 6}, {SEND, 0x800000},
     {SEND, 0x800001}, {SEND, 5}}},
};

typedef struct {
    smcr_flow_t flow[2]; /* from A, from B */
    uint32_t ids[MAX_STEPS + 1];
    uint64_t now, times[MAX_STEPS + 1];
    smcr_flow_verdict_t verdicts[MAX_STEPS];
} run_t;

static uint8_t
opcode_of(what_t what)
{
    switch (what) {
    case READ:
        return SMCR_RC_READ_REQUEST;
    case ACK:
    case NAK:
    case RNR:
    case OTHER_NAK:
        return SMCR_RC_ACK;
    case UC_WRITE:
        return SMCR_UC_WRITE_ONLY;
    case MTU:
        return SMCR_RC_WRITE_FIRST;
    default:
        return SMCR_RC_SEND_ONLY;
    }
}

static void
play(run_t *run, unsigned case_number, unsigned i, wmem_allocator_t *scope)
{
    const step_t *step = &cases[case_number].steps[i];
    bool from_b = step->what >= ACK && step->what <= OTHER;
    smcr_flow_t *reverse = cases[case_number].one_way ? NULL : &run->flow[!from_b];
    uint32_t id = step->id >= SAME_ID ? run->ids[step->id - SAME_ID]
                  : step->id          ? step->id
                                      : 100 + i;

    run->ids[i + 1] = id;
    run->now += cases[case_number].soon ? 1 : MILLISECOND;
    run->now += 1000 * step->part;
    if (step->pause || (step->cause == TIMEOUT && !cases[case_number].at_once))
        run->now += PAUSE;
    run->times[i + 1] = run->now;
    smcr_sent_t packet = {
        .when = {i + 1, run->now},
        .opcode = opcode_of(step->what),
        .has_aeth = from_b,
        .syndrome = step->what == NAK   ? SYNDROME_NAK
                    : step->what == RNR ? SYNDROME_RNR
                    : step->what == OTHER_NAK ? SYNDROME_ACCESS
                                        : SYNDROME_ACK,
        .psn = step->psn,
        .corrupt = step->corrupt,
        .payload_length = step->what == MTU ? step->length : 0,
        .dma_length = step->what == READ ? step->length : 0,
        .ip_id = cases[case_number].no_id     ? SMCR_SENT_NO_IP_ID
                 : cases[case_number].same_id ? 1
                                              : (int32_t)id,
        .hop_limit = step->hop_limit,
    };
    if (step->what == START)
        smcr_flow_announce(&run->flow[0], step->psn);
    else
        run->verdicts[i] = smcr_flow_judge(&run->flow[from_b], reverse, scope, &packet);
}

static void
check_nak(const step_t *step, const smcr_flow_verdict_t *verdict, const uint64_t *times)
{
    uint32_t frame = step->nak == ABSENT ? 0 : step->nak;

    if (!step->nak)
        return;
    g_assert_cmpuint(verdict->step ? verdict->step->nak.frame : 0, ==, frame);
    g_assert_cmpuint(verdict->step ? verdict->step->nak.time : 0, ==,
                     times[frame]);
}

static uint32_t
needless_frame(const smcr_flow_verdict_t *verdict)
{
    return verdict->step && verdict->step->fate ? verdict->step->fate->needless_frame : 0;
}

static bool
is_partial(const smcr_flow_verdict_t *verdict)
{
    return verdict->step && verdict->step->fate && verdict->step->fate->is_partial;
}

static void
check(const step_t *step, const smcr_flow_verdict_t *verdict, const uint64_t *times)
{
    bool known = step->order == REPEAT || step->order == COPY;

    g_assert_cmpint((int)verdict->order, ==, step->order);
    if (known)
        g_assert_cmpuint(verdict->first.frame, ==, step->before);
    g_assert_cmpuint(verdict->missing, ==, step->absent);
    g_assert_cmpint(verdict->step ? verdict->step->cause : NONE, ==, step->cause);
    g_assert_cmpuint(verdict->discard_proof ? *verdict->discard_proof : 0, ==, step->proof);
    g_assert_cmpint(verdict->acked_before, ==, step->taken);
    g_assert_cmpint(verdict->peer_silent, ==, step->silent);
    check_nak(step, verdict, times);
    if (step->had)
        g_assert_cmpuint(needless_frame(verdict), ==, step->had == ABSENT ? 0 : step->had);
    if (step->fate)
        g_assert_cmpint((int)verdict->receiver_action, ==, step->fate - TAKE);
}

static void
test_case(gconstpointer data)
{
    unsigned number = GPOINTER_TO_UINT(data);
    const step_t *steps = cases[number].steps;
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_STRICT);
    run_t run = {0};

    for (unsigned i = 0; i < MAX_STEPS && steps[i].what != END; i++)
        play(&run, number, i, scope);
    for (unsigned i = 0; i < MAX_STEPS && steps[i].what != END; i++) {
        g_test_message("packet %u", i + 1);
        if (steps[i].what != START)
            check(&steps[i], &run.verdicts[i], run.times);
        if (steps[i].had == ABSENT)
            g_assert_cmpint(is_partial(&run.verdicts[i]), ==, cases[number].is_partial);
    }
    wmem_destroy_allocator(scope);
}

static void
test_distance(void)
{
    static const struct {
        uint32_t from, to;
        int32_t distance;
    } distances[] = {
        {0}, {.to = 1, .distance = 1}, {.from = 1, .distance = -1},
        {.from = 0xffffff, .distance = 1}, {.to = 0xffffff, .distance = -1},
        {.to = 0x7fffff, .distance = 0x7fffff}, {.to = 0x800000, .distance = -0x800000},
        {.from = 0x800000, .distance = -0x800000}, {.from = 0xfffff0, .to = 0x10, .distance = 0x20},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(distances); i++)
        g_assert_cmpint(smcr_psn_distance(distances[i].from, distances[i].to), ==,
                        distances[i].distance);
}

static smcr_flow_verdict_t
send(smcr_flow_t *flow, wmem_allocator_t *scope, uint32_t psn, uint32_t frame)
{
    smcr_sent_t packet = {.when = {frame, frame * MILLISECOND},
        .opcode = SMCR_RC_SEND_ONLY, .psn = psn & SMCR_PSN_MASK,
                          .ip_id = SMCR_SENT_NO_IP_ID};

    return smcr_flow_judge(flow, NULL, scope, &packet);
}

/* Many packets under way: each is still known when the whole window is retransmitted. */
static void
test_growth(void)
{
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_STRICT);
    smcr_flow_t flow = {0};
    uint32_t first = 0xfff000; /* wraps on the way */

    for (uint32_t i = 0; i < 5000; i++)
        g_assert_cmpint((int)send(&flow, scope, first + i, i + 1).order, ==, NEXT);
    for (uint32_t i = 0; i < 5000; i++) {
        smcr_flow_verdict_t verdict = send(&flow, scope, first + i, 9999);
        g_assert_cmpint((int)verdict.order, ==, REPEAT);
        g_assert_cmpuint(verdict.first.frame, ==, i + 1);
    }
    wmem_destroy_allocator(scope);
}

/* A whole round of PSNs: what had a PSN in the round before is not taken for its first packet. */
static void
test_round(void)
{
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_STRICT);
    smcr_flow_t flow = {0};
    uint32_t i = 0;

    while (i < SMCR_PSN_MASK + 100 && send(&flow, scope, i, i + 1).order == SMCR_FLOW_IS_NEXT)
        i++;
    g_assert_cmpuint(i, ==, SMCR_PSN_MASK + 100);
    wmem_destroy_allocator(scope);
}

/* Packets with far apart PSNs, as nobody sends them, must not cost more than others. */
static void
test_scattered(void)
{
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_STRICT);
    smcr_flow_t flow = {0};

    for (uint32_t i = 0; i < 4; i++)
        send(&flow, scope, i * 8192, i + 1);
    g_assert_cmpuint(flow.psn_history.size, <=, 128);
    wmem_destroy_allocator(scope);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        char *path = g_strdup_printf("/flow/%s", cases[i].name);
        g_test_add_data_func(path, GUINT_TO_POINTER(i), test_case);
        g_free(path);
    }
    g_test_add_func("/flow/distance", test_distance);
    g_test_add_func("/flow/growth", test_growth);
    g_test_add_func("/flow/round", test_round);
    g_test_add_func("/flow/scattered", test_scattered);
    return g_test_run();
}
