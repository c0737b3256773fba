/* What one direction of a TCP connection counts.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <math.h>
#include <string.h>

#include "report/congestion/congestion.h"

/* Rows name only what is not zero. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#define SYN SMCR_CONGESTION_TCP_SYN
#define FIN SMCR_CONGESTION_TCP_FIN
#define RST SMCR_CONGESTION_TCP_RST
#define ACK SMCR_CONGESTION_TCP_ACK
#define ECE SMCR_CONGESTION_TCP_ECE
#define CWR SMCR_CONGESTION_TCP_CWR
#define NS SMCR_CONGESTION_TCP_NS
#define SCE SMCR_WIRE_ECN_ECT_1
#define CE SMCR_WIRE_ECN_CE
#define NO_ACK 0x8000 /* the flag ACK is not set, which all others have */

/* Segments come a millisecond apart, and results have milliseconds. A acknowledges this, if a row
 * says no other. */
#define B_BEGINS 5000

typedef enum { NOBODY, A, B } sender_t;

typedef struct {
    sender_t from;
    uint32_t seq, length, ack;
    uint16_t flags;
    uint8_t ecn;
    uint32_t tsval, tsecr; /* 0: no option */
    struct {
        uint32_t left, right;
    } sack[SMCR_CONGESTION_TCP_SACKS];
    int32_t ip_id; /* 0: none */
    bool ace, no_length;
    bool at_once; /* behind the one before */
} step_t;

/* The member `name` of the entry of a sender: a number, or count and sum of a distribution. */
typedef struct {
    sender_t of;
    const char *name;
    uint64_t number, sum;
} result_t;

#define MAX_STEPS 10
#define MAX_RESULTS 8

static const struct {
    const char *name;
    step_t steps[MAX_STEPS];
    result_t results[MAX_RESULTS];
} cases[] = {
    /* ---- what is sent ---- */
    {.name = "a connection from SYN to FIN",
     .steps = {{A, 99, .flags = SYN | NO_ACK}, {B, 4999, .ack = 100, .flags = SYN},
               {.from = A, .seq = 100, .length = 10}, {B, 5000, .ack = 110}, {A, 110, .flags = FIN},
               {B, 5000, .ack = 111, .flags = FIN}, {A, 111, .ack = 5001}},
     .results = {{.of = A, .name = "packets", .number = 4},
                 {.of = A, .name = "data_segments", .number = 1},
                 {.of = A, .name = "acks", .number = 3},
                 {.of = A, .name = "acked_bytes", .number = 10},
                 {.of = A, .name = "ack_elapsed_s", .number = 4},
                 {.of = A, .name = "ipg_s", .number = 3, .sum = 6},
                 {.of = B, .name = "acked_bytes"}, {.of = A, .name = "gaps"}}},
    {.name = "RST counts as a packet only",
     .steps = {{.from = A, .seq = 100, .length = 10},
               {.from = A, .seq = 110, .length = 5, .flags = RST},
               {.from = A, .seq = 110, .length = 10}},
     .results = {{.of = A, .name = "packets", .number = 3},
                 {.of = A, .name = "segments", .number = 2},
                 {.of = A, .name = "data_segments", .number = 2},
                 {.of = A, .name = "acks", .number = 2},
                 {.of = A, .name = "ip_bytes", .number = 145},
                 {.of = A, .name = "ipg_s", .number = 1, .sum = 2},
                 {.of = A, .name = "repeated_segments"}}},
    {.name = "a gap",
     .steps = {{.from = A, .seq = 100, .length = 10}, {.from = A, .seq = 130, .length = 10},
               {.from = A, .seq = 140, .length = 10}},
     .results = {{.of = A, .name = "gaps", .number = 1},
                 {.of = A, .name = "gap_bytes", .number = 20}}},
    {.name = "an empty segment shows a gap",
     .steps = {{.from = A, .seq = 100, .length = 10}, {A, 130}},
     .results = {{.of = A, .name = "gaps", .number = 1},
                 {.of = A, .name = "gap_bytes", .number = 20}}},
    {.name = "a gap across the wrap",
     .steps = {{.from = A, .seq = 0xfffffff0, .length = 10}, {.from = A, .seq = 4, .length = 10}},
     .results = {{.of = A, .name = "gaps", .number = 1},
                 {.of = A, .name = "gap_bytes", .number = 10}}},
    {.name = "no gap at the wrap",
     .steps = {{.from = A, .seq = 0xfffffff6, .length = 10}, {.from = A, .length = 10},
               {.from = A, .seq = 10, .length = 10}},
     .results = {{.of = A, .name = "gaps"}, {.of = A, .name = "repeated_segments"}}},
    {.name = "no window is that large",
     .steps = {{.from = A, .seq = 100, .length = 10}, {.from = A, .seq = 0x50000000, .length = 10},
               {.from = A, .seq = 0x5000000a, .length = 10}},
     .results = {{.of = A, .name = "gaps"}, {.of = A, .name = "repeated_segments"}}},
    {.name = "a repeated segment",
     .steps = {{.from = A, .seq = 100, .length = 10}, {.from = A, .seq = 110, .length = 10},
               {.from = A, .seq = 100, .length = 10}, {.from = A, .seq = 120, .length = 10}},
     .results = {{.of = A, .name = "repeated_segments", .number = 1}, {.of = A, .name = "gaps"}}},
    {.name = "copies at once, without stamps",
     .steps = {{A, 99, .flags = SYN | NO_ACK}, {A, 99, .flags = SYN | NO_ACK, .at_once = true},
               {.from = A, .seq = 100, .length = 10},
               {.from = A, .seq = 100, .length = 10, .at_once = true}, {A, 110},
               {A, 110, .at_once = true}},
     .results = {{.of = A, .name = "copies", .number = 2}, {.of = A, .name = "repeated_segments"},
                 {.of = A, .name = "acks", .number = 3}}},
    {.name = "pieces of a segment that came whole, by time stamp and IP identification",
     .steps = {{.from = A, .seq = 100, .length = 300, .tsval = 7, .ip_id = 65534},
               {.from = A, .seq = 400, .length = 10, .tsval = 9, .ip_id = 1},
               {.from = A, .seq = 100, .length = 150, .tsval = 7, .ip_id = 65534},
               {.from = A, .seq = 250, .length = 150, .tsval = 7, .ip_id = 65535}},
     .results = {{.of = A, .name = "copies", .number = 2}, {.of = A, .name = "repeated_segments"},
                 {.of = A, .name = "data_segments", .number = 2}}},
    {.name = "a segment whose pieces came, by IP identification",
     .steps = {{.from = A, .seq = 100, .length = 150, .ip_id = 8, .at_once = true},
               {.from = A, .seq = 250, .length = 150, .ip_id = 9, .at_once = true},
               {.from = A, .seq = 100, .length = 300, .ip_id = 8}},
     .results = {{.of = A, .name = "copies", .number = 1},
                 {.of = A, .name = "repeated_segments"}}},
    {.name = "a piece that is sent once more has a later IP identification",
     .steps = {{.from = A, .seq = 100, .length = 300, .tsval = 7, .ip_id = 8},
               {.from = A, .seq = 250, .length = 150, .tsval = 7, .ip_id = 10}},
     .results = {{.of = A, .name = "copies"}, {.of = A, .name = "repeated_segments", .number = 1}}},
    {.name = "a piece that is sent once more has a later time stamp",
     .steps = {{.from = A, .seq = 100, .length = 300, .tsval = 7},
               {.from = A, .seq = 250, .length = 150, .tsval = 8}},
     .results = {{.of = A, .name = "copies"}, {.of = A, .name = "repeated_segments", .number = 1}}},
    {.name = "a piece that the peer asks for",
     .steps = {{.from = A, .seq = 100, .length = 300, .tsval = 7}, {B, 5000, .ack = 100},
               {B, 5000, .ack = 100}, {.from = A, .seq = 100, .length = 150, .tsval = 7}},
     .results = {{.of = A, .name = "copies"}, {.of = A, .name = "repeated_segments", .number = 1}}},
    {.name = "repeated at once, as the peer asks",
     .steps = {{.from = A, .seq = 100, .length = 10}, {B, 5000, .ack = 100, .at_once = true},
               {.from = A, .seq = 100, .length = 10, .at_once = true}},
     .results = {{.of = A, .name = "copies"}, {.of = A, .name = "repeated_segments", .number = 1}}},
    {.name = "repeated, with more behind it",
     .steps = {{.from = A, .seq = 100, .length = 10}, {.from = A, .seq = 105, .length = 10},
               {.from = A, .seq = 115, .length = 10}},
     .results = {{.of = A, .name = "repeated_segments", .number = 1}, {.of = A, .name = "gaps"}}},
    {.name = "a gap that is filled a moment later",
     .steps = {{.from = A, .seq = 100, .length = 10}, {.from = A, .seq = 120, .length = 10},
               {.from = A, .seq = 110, .length = 10}, {.from = A, .seq = 130, .length = 10}},
     .results = {{.of = A, .name = "gaps", .number = 1},
                 {.of = A, .name = "gap_bytes", .number = 10},
                 {.of = A, .name = "repeated_segments"}}},
    {.name = "a gap that is filled 3 ms later",
     .steps = {{.from = A, .seq = 100, .length = 10}, {.from = A, .seq = 120, .length = 10},
               {B, 5000, .ack = 110}, {B, 5000, .ack = 110},
               {.from = A, .seq = 110, .length = 10}},
     .results = {{.of = A, .name = "gaps", .number = 1},
                 {.of = A, .name = "repeated_segments", .number = 1}}},
    {.name = "a gap that is filled later, with an older IP identification",
     .steps = {{.from = A, .seq = 100, .length = 10, .ip_id = 65534},
               {.from = A, .seq = 120, .length = 10, .ip_id = 1},
               {B, 5000, .ack = 110}, {B, 5000, .ack = 110},
               {.from = A, .seq = 110, .length = 10, .ip_id = 65535}},
     .results = {{.of = A, .name = "repeated_segments"}}},
    {.name = "a gap that is filled a moment later, with a newer IP identification",
     .steps = {{.from = A, .seq = 100, .length = 10, .ip_id = 65534},
               {.from = A, .seq = 120, .length = 10, .ip_id = 1},
               {.from = A, .seq = 110, .length = 10, .ip_id = 2}},
     .results = {{.of = A, .name = "repeated_segments", .number = 1}}},
    {.name = "a gap that is filled later, with an older time stamp",
     .steps = {{.from = A, .seq = 100, .length = 10, .tsval = 0xffffffff},
               {.from = A, .seq = 120, .length = 10, .tsval = 2},
               {B, 5000, .ack = 110}, {B, 5000, .ack = 110},
               {.from = A, .seq = 110, .length = 10, .tsval = 1}},
     .results = {{.of = A, .name = "repeated_segments"}}},
    {.name = "a gap that is filled a moment later, with a newer time stamp",
     .steps = {{.from = A, .seq = 100, .length = 10, .tsval = 1},
               {.from = A, .seq = 120, .length = 10, .tsval = 2},
               {.from = A, .seq = 110, .length = 10, .tsval = 3}},
     .results = {{.of = A, .name = "repeated_segments", .number = 1}}},
    {.name = "a repeated SYN",
     .steps = {{A, 99, .flags = SYN | NO_ACK}, {A, 99, .flags = SYN | NO_ACK}},
     .results = {{.of = A, .name = "repeated_segments", .number = 1}}},
    {.name = "a repeated FIN",
     .steps = {{.from = A, .seq = 100, .length = 5, .flags = FIN}, {A, 105, .flags = FIN}},
     .results = {{.of = A, .name = "repeated_segments", .number = 1}}},
    {.name = "an empty keep-alive",
     .steps = {{.from = A, .seq = 100, .length = 10}, {B, 5000, .ack = 110}, {A, 109}},
     .results = {{.of = A, .name = "repeated_segments"}}},
    {.name = "a keep-alive with a byte",
     .steps = {{.from = A, .seq = 100, .length = 10}, {B, 5000, .ack = 110},
               {.from = A, .seq = 109, .length = 1}},
     .results = {{.of = A, .name = "repeated_segments"}}},
    {.name = "a byte that is retransmitted",
     .steps = {{.from = A, .seq = 100, .length = 1}, {.from = A, .seq = 100, .length = 1}},
     .results = {{.of = A, .name = "repeated_segments", .number = 1}}},
    {.name = "an old empty segment repeats nothing",
     .steps = {{.from = A, .seq = 100, .length = 10}, {A, 100}},
     .results = {{.of = A, .name = "repeated_segments"}}},
    {.name = "no gap behind a segment of unknown length",
     .steps = {{A, 100, .no_length = true}, {.from = A, .seq = 2000, .length = 10}},
     .results = {{.of = A, .name = "gaps"}}},
    {.name = "a late segment",
     .steps = {{.from = A, .seq = 100, .length = 10, .tsval = 7},
               {.from = A, .seq = 120, .length = 10, .tsval = 9},
               {.from = A, .seq = 110, .length = 10, .tsval = 8},
               {.from = A, .seq = 130, .length = 10, .tsval = 9}},
     .results = {{.of = A, .name = "late_segments", .number = 1}}},
    {.name = "TSval wraps",
     .steps = {{.from = A, .seq = 100, .length = 10, .tsval = 0xffffffff},
               {.from = A, .seq = 110, .length = 10, .tsval = 1}},
     .results = {{.of = A, .name = "late_segments"}}},
    {.name = "no time stamps", .steps = {{.from = A, .seq = 100, .length = 10}},
     .results = {{.of = A, .name = "late_segments", .number = SMCR_FIGURE_UNKNOWN},
                 {.of = B, .name = "late_segments"}}},
    /* ---- what is acknowledged ---- */
    {.name = "from the first ACK on",
     .steps = {{.from = A, .seq = 100, .length = 10}, {B, 5000, .ack = 105}, {B, 5000, .ack = 110}},
     .results = {{.of = A, .name = "acked_bytes", .number = 5},
                 {.of = A, .name = "ack_elapsed_s", .number = 1},
                 {.of = B, .name = "acks", .number = 2}, {.of = B, .name = "acked_bytes"}}},
    {.name = "a FIN that is not captured may have been acknowledged",
     .steps = {{.from = A, .seq = 100, .length = 10}, {B, 5000, .ack = 105}, {B, 5000, .ack = 111},
               {A, 111, .ack = 5001}},
     .results = {{.of = A, .name = "acked_bytes", .number = SMCR_FIGURE_UNKNOWN}}},
    {.name = "nothing may be a FIN while the sender goes on",
     .steps = {{B, 5000, .ack = 100}, {B, 5000, .ack = 110}, {.from = A, .seq = 110, .length = 5}},
     .results = {{.of = A, .name = "acked_bytes", .number = 10}}},
    {.name = "a FIN after its acknowledgement",
     .steps = {{.from = A, .seq = 100, .length = 10}, {B, 5000, .ack = 100}, {B, 5000, .ack = 111},
               {A, 110, .flags = FIN}},
     .results = {{.of = A, .name = "acked_bytes", .number = 10}}},
    {.name = "a FIN after its acknowledgement, which is the first one",
     .steps = {{.from = A, .seq = 100, .length = 10}, {B, 5000, .ack = 111},
               {A, 110, .flags = FIN}},
     .results = {{.of = A, .name = "acked_bytes"}}},
    {.name = "never acknowledged",
     .steps = {{.from = A, .seq = 100, .length = 10, .flags = NO_ACK}},
     .results = {{.of = A, .name = "acked_bytes"},
                 {.of = A, .name = "ack_elapsed_s", .number = SMCR_FIGURE_UNKNOWN}}},
    {.name = "duplicate ACKs, with data and without",
     .steps = {{B, 5000, .ack = 100}, {B, 5000, .ack = 100},
               {.from = B, .seq = 5000, .length = 10, .ack = 100}, {B, 5010, .ack = 110},
               {.from = A, .seq = 110, .length = 1}},
     .results = {{.of = B, .name = "duplicate_acks", .number = 2},
                 {.of = B, .name = "acks", .number = 4},
                 {.of = A, .name = "acked_bytes", .number = 10},
                 {.of = A, .name = "ack_elapsed_s", .number = 3}}},
    {.name = "an old ACK is no duplicate",
     .steps = {{B, 5000, .ack = 100}, {B, 5000, .ack = 120}, {B, 5000, .ack = 110},
               {B, 5000, .ack = 130}, {.from = A, .seq = 130, .length = 1}},
     .results = {{.of = B, .name = "duplicate_acks"},
                 {.of = A, .name = "acked_bytes", .number = 30}}},
    {.name = "ACKs wrap", 
     .steps = {{B, 5000, .ack = 0xfffffff0}, {B, 5000, .ack = 16},
               {.from = A, .seq = 16, .length = 1}},
     .results = {{.of = A, .name = "acked_bytes", .number = 32}}},
    {.name = "an ACK that skips a window begins anew",
     .steps = {{B, 5000, .ack = 100}, {B, 5000, .ack = 0x50000000}, {B, 5000, .ack = 0x5000000a},
               {.from = A, .seq = 0x5000000a, .length = 1}},
     .results = {{.of = A, .name = "acked_bytes", .number = 10}}},
    {.name = "each SACKed byte counts once",
     .steps = {{B, 5000, .ack = 100}, {B, 5000, .ack = 100, .sack = {{120, 130}}},
      {B, 5000, .ack = 100, .sack = {{120, 140}}}, {B, 5000, .ack = 140},
               {.from = A, .seq = 140, .length = 1}},
     .results = {{.of = A, .name = "sacked_bytes", .number = 20},
                 {.of = A, .name = "acked_bytes", .number = 20}}},
    {.name = "several blocks",
     .steps = {{B, 5000, .ack = 100}, {B, 5000, .ack = 100, .sack = {{140, 150}, {120, 130}}},
      {B, 5000, .ack = 125}, {.from = A, .seq = 125, .length = 1}},
     .results = {{.of = A, .name = "sacked_bytes", .number = 20},
                 {.of = A, .name = "acked_bytes", .number = 20}}},
    {.name = "blocks below the ACK tell of copies",
     .steps = {{B, 5000, .ack = 100}, {B, 5000, .ack = 100, .sack = {{80, 90}}},
               {B, 5000, .ack = 120}, {.from = A, .seq = 120, .length = 1}},
     .results = {{.of = A, .name = "sacked_bytes"},
                 {.of = A, .name = "acked_bytes", .number = 20}}},
    {.name = "SACKed before the count begins",
     .steps = {{B, 5000, .ack = 100, .sack = {{110, 120}}}, {B, 5000, .ack = 130},
               {.from = A, .seq = 130, .length = 1}},
     .results = {{.of = A, .name = "sacked_bytes"},
                 {.of = A, .name = "acked_bytes", .number = 20}}},
    {.name = "a SACKed FIN is no byte",
     .steps = {{.from = A, .seq = 100, .length = 10}, {B, 5000, .ack = 100},
               {.from = A, .seq = 110, .length = 10, .flags = FIN},
               {B, 5000, .ack = 100, .sack = {{110, 121}}}, {B, 5000, .ack = 121}},
     .results = {{.of = A, .name = "sacked_bytes", .number = 10},
                 {.of = A, .name = "acked_bytes", .number = 10}}},
    /* ---- round trips ---- */
    {.name = "from the segment to its ACK",
     .steps = {{.from = A, .seq = 100, .length = 10}, {B, 5000, .ack = 100},
               {.from = A, .seq = 110, .length = 10}, {B, 5000, .ack = 110}},
     .results = {{.of = A, .name = "rtt_s", .number = 1, .sum = 3}}},
    {.name = "of several segments the first that is not acknowledged",
     .steps = {{B, 5000, .ack = 100}, {.from = A, .seq = 100, .length = 10},
               {.from = A, .seq = 110, .length = 10}, {B, 5000, .ack = 120}},
     .results = {{.of = A, .name = "rtt_s", .number = 1, .sum = 2}}},
    {.name = "a repetition restarts it",
     .steps = {{B, 5000, .ack = 100}, {.from = A, .seq = 100, .length = 10},
               {.from = A, .seq = 100, .length = 10}, {B, 5000, .ack = 110}},
     .results = {{.of = A, .name = "rtt_s", .number = 1, .sum = 1}}},
    {.name = "no segment begins at the last ACK",
     .steps = {{B, 5000, .ack = 105}, {.from = A, .seq = 100, .length = 10}, {B, 5000, .ack = 110}},
     .results = {{.of = A, .name = "rtt_s"}}},
    {.name = "the last segment with a TSval, its first echo",
     .steps = {{.from = A, .seq = 100, .length = 10, .tsval = 7, .tsecr = 1},
               {.from = A, .seq = 110, .length = 10, .tsval = 7, .tsecr = 1},
               {B, 5000, .ack = 110, .tsval = 50, .tsecr = 7},
               {B, 5000, .ack = 120, .tsval = 51, .tsecr = 7}},
     .results = {{.of = A, .name = "tsval_rtt_s", .number = 1, .sum = 1},
                 {.of = B, .name = "tsval_rtt_s"}}},
    {.name = "without ACK there is no echo",
     .steps = {{A, 100, .tsval = 7}, {B, 5000, .flags = NO_ACK | SYN, .tsval = 5, .tsecr = 7}},
     .results = {{.of = A, .name = "tsval_rtt_s"}}},
    /* ---- marks ---- */
    {.name = "SCE, its gaps and its runs",
     .steps = {{.from = A, .seq = 100, .length = 10, .ecn = SCE},
               {.from = A, .seq = 110, .length = 10, .ecn = SCE},
               {.from = A, .seq = 120, .length = 10, .ecn = 2},
               {.from = A, .seq = 130, .length = 10, .ecn = SCE},
               {.from = A, .seq = 140, .length = 10, .ecn = CE},
               {.from = A, .seq = 150, .length = 10}},
     .results = {{.of = A, .name = "sce", .number = 3}, {.of = A, .name = "ce", .number = 1},
                 {.of = A, .name = "sce_ipg_s", .number = 2, .sum = 3},
                 {.of = A, .name = "sce_run_length", .number = 2, .sum = 3}}},
    {.name = "the last run counts",
     .steps = {{.from = A, .seq = 100, .length = 10},
               {.from = A, .seq = 110, .length = 10, .ecn = SCE},
               {.from = A, .seq = 120, .length = 10, .ecn = SCE}},
     .results = {{.of = A, .name = "sce_run_length", .number = 1, .sum = 2}}},
    {.name = "flags",
     .steps = {{.from = A, .seq = 100, .length = 10, .flags = CWR},
               {.from = A, .seq = 110, .length = 10, .flags = ECE},
               {.from = A, .seq = 120, .length = 10, .flags = NS | ECE}},
     .results = {{.of = A, .name = "cwr", .number = 1}, {.of = A, .name = "ece", .number = 2},
                 {.of = A, .name = "esce", .number = 1}}},
    {.name = "no marks on SYN, FIN and behind FIN",
     .steps = {{A, 99, .flags = SYN | ECE | CWR, .ecn = CE},
               {.from = A, .seq = 100, .length = 10, .flags = FIN | ECE, .ecn = CE},
               {A, 111, .flags = ECE | NS, .ecn = SCE}},
     .results = {{.of = A, .name = "ece"}, {.of = A, .name = "cwr"}, {.of = A, .name = "ce"},
                 {.of = A, .name = "sce"}, {.of = A, .name = "esce"},
                 {.of = A, .name = "sce_run_length"}}},
    {.name = "no marks without ACK",
     .steps = {{.from = A, .seq = 100, .length = 10, .flags = NO_ACK | ECE, .ecn = CE}},
     .results = {{.of = A, .name = "ece"}, {.of = A, .name = "ce"}}},
    {.name = "Accurate ECN has a counter in the flags",
     .steps = {{.from = A, .seq = 100, .length = 10, .flags = ECE | CWR | NS, .ecn = CE,
                .ace = true}},
     .results = {{.of = A, .name = "ece"}, {.of = A, .name = "cwr"}, {.of = A, .name = "esce"},
                 {.of = A, .name = "ce", .number = 1}}},
    {.name = "what ACKs with ESCE acknowledge",
     .steps = {{B, 5000, .ack = 100}, {B, 5000, .ack = 110, .flags = NS}, {B, 5000, .ack = 130},
      {B, 5000, .ack = 130, .flags = NS, .sack = {{140, 145}}},
      {.from = A, .seq = 130, .length = 1}},
     .results = {{.of = A, .name = "esce_acked_bytes", .number = 15},
                 {.of = A, .name = "acked_bytes", .number = 30},
                 {.of = B, .name = "esce", .number = 2}, {.of = B, .name = "esce_acked_bytes"}}},
};

static smcr_congestion_tcp_segment_t
segment_of(const step_t *step, uint64_t time)
{
    smcr_congestion_tcp_segment_t segment = {
        .time = (step->at_once ? time - 1 : time) * SMCR_TIME_MILLISECOND,
        .seq = step->seq,
        .length = step->length,
        .ack = step->ack ? step->ack : step->from == A ? B_BEGINS : 0,
        .flags = (uint16_t)(step->flags & NO_ACK ? step->flags & ~NO_ACK : step->flags | ACK),
        .ecn = step->ecn,
        .tsval = step->tsval,
        .tsecr = step->tsecr,
        .timestamps = step->tsval != 0,
        .ip_bytes = 40 + step->length,
        .ip_id = step->ip_id,
        .ace = step->ace,
        .no_length = step->no_length,
    };

    for (; segment.sacks < SMCR_CONGESTION_TCP_SACKS && step->sack[segment.sacks].right;
         segment.sacks++) {
        segment.sack[segment.sacks].left = step->sack[segment.sacks].left;
        segment.sack[segment.sacks].right = step->sack[segment.sacks].right;
    }
    return segment;
}

static const smcr_figure_member_t *
find_member(const char *name)
{
    for (unsigned i = 0; i < smcr_entry_tcp_direction_description.count; i++) {
        if (strcmp(smcr_entry_tcp_direction_description.members[i].name, name) == 0)
            return &smcr_entry_tcp_direction_description.members[i];
    }
    g_error("there is no member %s", name);
}

static void
check(const smcr_entry_tcp_direction_t *entry, const result_t *result)
{
    const smcr_figure_member_t *member = find_member(result->name);
    const void *value = (const uint8_t *)entry + member->offset;
    bool is_time = g_str_has_suffix(result->name, "_s") && result->number != SMCR_FIGURE_UNKNOWN;
    uint64_t unit = is_time ? SMCR_TIME_MILLISECOND : 1;

    g_test_message("%c %s", result->of == A ? 'A' : 'B', result->name);
    if (member->kind != SMCR_FIGURE_KIND_SPREAD && member->kind != SMCR_FIGURE_KIND_LENGTHS) {
        g_assert_cmpuint(*(const uint64_t *)value, ==, result->number * unit);
        return;
    }
    const smcr_distribution_t *spread = smcr_distribution_get(*(smcr_distribution_t *const *)value);
    g_assert_cmpuint(spread->count, ==, result->number);
    g_assert_cmpuint(spread->sum, ==, result->sum * unit);
}

static void
test_case(gconstpointer number)
{
    const step_t *steps = cases[GPOINTER_TO_UINT(number)].steps;
    const result_t *results = cases[GPOINTER_TO_UINT(number)].results;
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_STRICT);
    smcr_congestion_tcp_direction_t ways[B + 1] = {0};

    for (unsigned i = 0; i < MAX_STEPS && steps[i].from != NOBODY; i++) {
        smcr_congestion_tcp_segment_t segment = segment_of(&steps[i], i + 1);
        smcr_congestion_tcp_direction_take(&ways[steps[i].from], &ways[A + B - steps[i].from],
                                           scope, &segment);
    }
    for (unsigned i = 0; i < MAX_RESULTS && results[i].of != NOBODY; i++) {
        smcr_entry_tcp_direction_t entry;
        smcr_congestion_tcp_direction_report(&ways[results[i].of], &entry, scope);
        check(&entry, &results[i]);
    }
    wmem_destroy_allocator(scope);
}

/* ---- each byte once ---- */

static uint64_t
payload_of(const step_t *steps, unsigned count)
{
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_STRICT);
    smcr_congestion_tcp_direction_t way = {0}, reverse = {0};

    for (unsigned i = 0; i < count; i++) {
        smcr_congestion_tcp_segment_t segment = segment_of(&steps[i], i + 1);
        smcr_congestion_tcp_direction_take(&way, &reverse, scope, &segment);
    }
    wmem_destroy_allocator(scope);
    return way.payload;
}

static void
test_payload(void)
{
    static const step_t in_order[] = {{.from = A, .seq = 0xfffffffb, .length = 10},
                                      {.from = A, .seq = 5, .length = 10}, {A, 15, .flags = FIN}};
    static const step_t overlapping[] = {{.from = A, .seq = 100, .length = 10},
                                         {.from = A, .seq = 105, .length = 10},
                                         {.from = A, .seq = 100, .length = 20}};
    static const step_t filled[] = {{.from = A, .seq = 100, .length = 10},
                                    {.from = A, .seq = 120, .length = 10},
                                    {.from = A, .seq = 90, .length = 45}};

    g_assert_cmpuint(payload_of(in_order, G_N_ELEMENTS(in_order)), ==, 20);
    g_assert_cmpuint(payload_of(overlapping, G_N_ELEMENTS(overlapping)), ==, 20);
    g_assert_cmpuint(payload_of(filled, G_N_ELEMENTS(filled)), ==, 45);
}

/* More holes than are kept: filled late, the oldest no longer count, and nothing counts twice. */
static void
test_many_holes(void)
{
    step_t steps[2 * SMCR_RANGES_OF_STREAM + 11];
    unsigned count = SMCR_RANGES_OF_STREAM + 5;

    for (unsigned i = 0; i < count; i++)
        steps[i] = (step_t){A, 100 + 20 * i, 10};
    g_assert_cmpuint(payload_of(steps, count), ==, 10 * count);
    for (unsigned i = 0; i < count; i++)
        steps[count + i] = (step_t){A, 110 + 20 * i, 10};
    g_assert_cmpuint(payload_of(steps, 2 * count), ==, 20 * count - 50);
}

/* The first of many times that wait is forgotten, not the last. */
static void
test_many_times(void)
{
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_STRICT);
    smcr_congestion_sent_times_t times = {0};
    uint64_t time = 0, most = 3 * SMCR_CONGESTION_SENT_TIMES_KEPT;

    for (uint64_t i = 0; i < most; i++)
        smcr_congestion_sent_times_set(&times, scope, i, i + 7, 0);
    g_assert_false(smcr_congestion_sent_times_take(&times, 0, &time));
    g_assert_true(smcr_congestion_sent_times_take(&times, most - 1, &time));
    g_assert_cmpuint(time, ==, most + 6);
    g_assert_false(smcr_congestion_sent_times_take(&times, most - 1, &time));
    g_assert_cmpuint(times.room, <=, SMCR_CONGESTION_SENT_TIMES_KEPT);
    wmem_destroy_allocator(scope);
}

static void
test_derived(void)
{
    smcr_congestion_tcp_direction_t way = {.acked = 1, .next_seq = 2, .any_ecn = true};
    smcr_entry_tcp_direction_t entry;

    smcr_congestion_tcp_direction_report(&way, &entry, NULL);
    g_assert_true(isnan(entry.derived.sce_percent) && isnan(entry.derived.goodput_bit_s));
    way.counts = (smcr_entry_tcp_direction_t){.data_segments = 4,
                                              .sce = 1,
                                              .ce = 2,
                                              .acked_bytes = 1000,
                                              .esce_acked_bytes = 500,
                                              .ack_elapsed_s = 2000};
    smcr_congestion_tcp_direction_report(&way, &entry, NULL);
    g_assert_cmpfloat(entry.derived.sce_percent, ==, 25);
    g_assert_cmpfloat(entry.derived.ce_percent, ==, 50);
    g_assert_cmpfloat(entry.derived.esce_acked_bytes_percent, ==, 50);
    g_assert_cmpfloat(entry.derived.goodput_bit_s, ==, 4e9);
}

int
main(int argc, char **argv)
{
    int status;

    g_test_init(&argc, &argv, NULL);
    wmem_init();
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        char *path = g_strdup_printf("/tcp_way/%s", cases[i].name);
        g_test_add_data_func(path, GUINT_TO_POINTER(i), test_case);
        g_free(path);
    }
    g_test_add_func("/tcp_way/payload", test_payload);
    g_test_add_func("/tcp_way/many holes", test_many_holes);
    g_test_add_func("/tcp_way/many times", test_many_times);
    g_test_add_func("/tcp_way/derived", test_derived);
    status = g_test_run();
    wmem_cleanup();
    return status;
}
