/* Connections of the communication management: the state of both ends after each message, as in
 * Linux 6.1, which messages are repeats, and which message belongs to which connection.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>

#include "cm_mad.h"
#include "fabric/peers/rdma.h"
#include "wire/wire.h"

/* Rows name only what is not zero. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

/* Messages, of the client unless they are told apart. */
enum {
    END,
    REQ = 0x10, MRA, REJ, REP, RTU, DREQ, DREP, SIDR_REQ, SIDR_REP, LAP, APR,
    REJ_STALE, /* with reason 10 */
    REJ_TIMEOUT, /* with reason 4 */
};

/* As enum smcr_ib_cm_state */
enum {
    NONE = -1, IDLE, LISTEN, REQ_SENT, REQ_RCVD, MRA_REQ_SENT, MRA_REQ_RCVD, REP_SENT, REP_RCVD,
    MRA_REP_SENT, MRA_REP_RCVD, ESTABLISHED, DREQ_SENT, DREQ_RCVD, TIMEWAIT, SIDR_REQ_SENT,
    SIDR_REQ_RCVD,
};

/* Between which devices: host A has two, A and A2; so has B. A6 and B6 have IPv6 addresses. */
enum { AB, BA, A2B2, B2A2, A6B6, B6A6, AB2, B2A };
static const char *const routes[] = {"ab", "ba", "AB", "BA", "xy", "yx", "aB", "Ba"};

enum { SENT = 1, RECEIVED = 2, LOST = 4 }; /* unexpected so; the message does not arrive */

/* One message; they are numbered from 1, and so are connections here. IDs and numbers of queue
 * pairs are these unless a row says something else: the client has 1 and 0x11, the server 2 and
 * 0x22. */
typedef struct {
    int route;
    int what;
    int states[2]; /* of the client, of the server, after it */
    uint32_t repeat_of;
    unsigned flags;
    uint32_t local, remote, qpn, tid; /* 0: as above; tid: 1 */
    int conn;      /* 0: 1 */
    int answered;  /* MRA, REJ */
} step_t;

#define MAX_STEPS 16
#define ZERO 0xffffffff /* an ID that is 0 in the message */

#define OPEN {AB, REQ, {REQ_SENT, REQ_RCVD}}, {BA, REP, {REP_RCVD, REP_SENT}}
#define OPENED OPEN, {AB, RTU, {ESTABLISHED, ESTABLISHED}}

static const struct {
    const char *name;
    step_t steps[MAX_STEPS];
} cases[] = {
    /* The eight exchanges of which a tracker's words are known */
    {"open and close",
     {OPENED, {.route = AB, .what = DREQ, .states = {DREQ_SENT, DREQ_RCVD}},
      {.route = BA, .what = DREP, .states = {TIMEWAIT, TIMEWAIT}}}},
    {"the server closes",
     {OPENED, {.route = BA, .what = DREQ, .states = {DREQ_RCVD, DREQ_SENT}, .tid = 9},
      {.route = AB, .what = DREP, .states = {TIMEWAIT, TIMEWAIT}, .tid = 9}}},
    {"each twice",
     {{.route = AB, .what = REQ, .states = {REQ_SENT, REQ_RCVD}},
      {.route = AB, .what = REQ, .states = {REQ_SENT, REQ_RCVD}, .repeat_of = 1},
      {.route = BA, .what = REP, .states = {REP_RCVD, REP_SENT}},
      {.route = BA, .what = REP, .states = {REP_RCVD, REP_SENT}, .repeat_of = 3},
      {.route = AB, .what = RTU, .states = {ESTABLISHED, ESTABLISHED}},
      {.route = AB, .what = RTU, .states = {ESTABLISHED, ESTABLISHED}, .repeat_of = 5},
      {.route = AB, .what = DREQ, .states = {DREQ_SENT, DREQ_RCVD}},
      {.route = AB, .what = DREQ, .states = {DREQ_SENT, DREQ_RCVD}, .repeat_of = 7},
      {.route = BA, .what = DREP, .states = {TIMEWAIT, TIMEWAIT}},
      {.route = BA, .what = DREP, .states = {TIMEWAIT, TIMEWAIT}, .repeat_of = 9},
      {.route = AB, .what = REQ, .states = {TIMEWAIT, TIMEWAIT}, .repeat_of = 1}}},
    {"rejected",
     {{.route = AB, .what = REQ, .states = {REQ_SENT, REQ_RCVD}},
      {.route = BA, .what = REJ, .states = {IDLE, IDLE}}}},
    {"the client rejects a REP",
     {OPEN, {.route = AB, .what = REJ, .states = {IDLE, IDLE}, .answered = 1}}},
    {"the server asks for time",
     {{.route = AB, .what = REQ, .states = {REQ_SENT, REQ_RCVD}},
      {.route = BA, .what = MRA, .states = {MRA_REQ_RCVD, MRA_REQ_SENT}},
      {.route = BA, .what = REP, .states = {REP_RCVD, REP_SENT}},
      {.route = AB, .what = RTU, .states = {ESTABLISHED, ESTABLISHED}}}},
    {"no RTU", {OPEN}},
    {"the capture begins with a DREQ",
     {{.route = AB, .what = DREQ, .states = {DREQ_SENT, DREQ_RCVD}},
      {.route = BA, .what = DREP, .states = {TIMEWAIT, TIMEWAIT}}}},
    /* MRA */
    {"the client asks for time",
     {OPEN, {.route = AB, .what = MRA, .states = {MRA_REP_SENT, MRA_REP_RCVD}, .answered = 1},
      {.route = AB, .what = RTU, .states = {ESTABLISHED, ESTABLISHED}}}},
    {"an MRA twice",
     {{.route = AB, .what = REQ, .states = {REQ_SENT, REQ_RCVD}},
      {.route = BA, .what = MRA, .states = {MRA_REQ_RCVD, MRA_REQ_SENT}},
      {.route = AB, .what = REQ, .states = {MRA_REQ_RCVD, MRA_REQ_SENT}, .repeat_of = 1},
      {.route = BA, .what = MRA, .states = {MRA_REQ_RCVD, MRA_REQ_SENT}, .repeat_of = 2}}},
    {"rejected after an MRA",
     {{.route = AB, .what = REQ, .states = {REQ_SENT, REQ_RCVD}},
      {.route = BA, .what = MRA, .states = {MRA_REQ_RCVD, MRA_REQ_SENT}},
      {.route = BA, .what = REJ, .states = {IDLE, IDLE}}}},
    {"the client rejects after its MRA",
     {OPEN,
      {.route = AB, .what = MRA, .states = {MRA_REP_SENT, MRA_REP_RCVD}, .answered = 1},
      {.route = AB, .what = REJ, .states = {IDLE, IDLE}, .answered = 1}}},
    {"an alternate path",
     {OPENED, {.route = AB, .what = LAP, .states = {ESTABLISHED, ESTABLISHED}},
      {.route = BA, .what = MRA, .states = {ESTABLISHED, ESTABLISHED}, .answered = 2},
      {.route = BA, .what = APR, .states = {ESTABLISHED, ESTABLISHED}},
      {.route = AB, .what = LAP, .states = {ESTABLISHED, ESTABLISHED}, .tid = 7}}},
    /* REJ */
    {"a REJ of a host without a listener",
     {{.route = AB, .what = REQ, .states = {REQ_SENT, REQ_RCVD}},
      {.route = BA, .what = REJ, .states = {IDLE, IDLE}, .local = ZERO}}},
    {"that REJ is lost, and the next REQ is accepted",
     {{.route = AB, .what = REQ, .states = {REQ_SENT, REQ_RCVD}},
      {.route = BA, .what = REJ, .states = {REQ_SENT, IDLE}, .flags = LOST, .local = ZERO},
      {.route = AB, .what = REQ, .states = {REQ_SENT, REQ_RCVD}, .repeat_of = 1},
      {.route = BA, .what = REP, .states = {REP_RCVD, REP_SENT}}}},
    {"that REJ is lost, and comes again",
     {{.route = AB, .what = REQ, .states = {REQ_SENT, REQ_RCVD}},
      {.route = BA, .what = REJ, .states = {REQ_SENT, IDLE}, .flags = LOST, .local = ZERO},
      {.route = AB, .what = REQ, .states = {REQ_SENT, REQ_RCVD}, .repeat_of = 1},
      {.route = BA, .what = REJ, .states = {IDLE, IDLE}, .repeat_of = 2, .local = ZERO}}},
    {"the client gives up",
     {{.route = AB, .what = REQ, .states = {REQ_SENT, REQ_RCVD}},
      {.route = AB, .what = REJ_TIMEOUT, .states = {IDLE, IDLE}, .remote = ZERO, .answered = 2}}},
    {"the client gives up before any answer arrives",
     {{.route = AB, .what = REQ, .states = {REQ_SENT, REQ_RCVD}},
      {.route = BA, .what = REP, .states = {REQ_SENT, REP_SENT}, .flags = LOST},
      {.route = AB, .what = REJ_TIMEOUT, .states = {IDLE, IDLE}, .remote = ZERO, .answered = 2}}},
    {"the server ends after its REP",
     {OPEN, {.route = BA, .what = REJ, .states = {TIMEWAIT, TIMEWAIT}, .answered = 2}}},
    {"the server ends after its REP was lost",
     {{.route = AB, .what = REQ, .states = {REQ_SENT, REQ_RCVD}},
      {.route = BA, .what = REP, .states = {REQ_SENT, REP_SENT}, .flags = LOST},
      {.route = BA, .what = REJ, .states = {REQ_SENT, TIMEWAIT}, .answered = 2}}},
    {"a stale connection",
     {{.route = AB, .what = REQ, .states = {REQ_SENT, REQ_RCVD}},
      {.route = BA, .what = REJ_STALE, .states = {TIMEWAIT, IDLE}, .local = ZERO}}},
    {"a stale REP",
     {OPEN, {.route = AB, .what = REJ_STALE, .states = {REQ_SENT, TIMEWAIT}, .answered = 1}}},
    {"a REQ again in timewait",
     {OPEN, {.route = BA, .what = REJ, .states = {TIMEWAIT, TIMEWAIT}, .answered = 2},
      {.route = AB, .what = REQ, .states = {TIMEWAIT, TIMEWAIT}, .repeat_of = 1},
      {.route = BA, .what = REJ_STALE, .states = {TIMEWAIT, TIMEWAIT}, .flags = RECEIVED,
       .answered = 2}}},
    {"a REJ of an established connection",
     {OPENED,
      {.route = AB, .what = REJ, .states = {TIMEWAIT, TIMEWAIT}, .flags = SENT, .answered = 2}}},
    /* Crossings */
    {"DREQs cross",
     {OPENED, {.route = AB, .what = DREQ, .states = {DREQ_SENT, DREQ_RCVD}},
      {.route = BA, .what = DREQ, .states = {DREQ_RCVD, DREQ_RCVD}, .tid = 9},
      {.route = AB, .what = DREP, .states = {TIMEWAIT, TIMEWAIT}, .tid = 9},
      {.route = BA, .what = DREP, .states = {TIMEWAIT, TIMEWAIT}}}},
    {"DREQs cross, and one is lost",
     {OPENED, {.route = AB, .what = DREQ, .states = {DREQ_SENT, ESTABLISHED}, .flags = LOST},
      {.route = BA, .what = DREQ, .states = {DREQ_RCVD, DREQ_SENT}, .tid = 9},
      {.route = AB, .what = DREP, .states = {TIMEWAIT, TIMEWAIT}, .tid = 9}}},
    {"a REJ crosses an RTU",
     {OPENED, {.route = BA, .what = REJ, .states = {TIMEWAIT, TIMEWAIT}, .answered = 2}}},
    {"an RTU crosses a REJ",
     {OPEN, {.route = BA, .what = REJ, .states = {TIMEWAIT, TIMEWAIT}, .answered = 2},
      {.route = AB, .what = RTU, .states = {TIMEWAIT, TIMEWAIT}}}},
    {"a REP crosses a REJ",
     {{.route = AB, .what = REQ, .states = {REQ_SENT, REQ_RCVD}},
      {.route = AB, .what = REJ_TIMEOUT, .states = {IDLE, IDLE}, .remote = ZERO, .answered = 2},
      {.route = BA, .what = REP, .states = {IDLE, IDLE}}}},
    {"REJs cross",
     {OPEN, {.route = BA, .what = REJ, .states = {TIMEWAIT, TIMEWAIT}, .answered = 2},
      {.route = AB, .what = REJ, .states = {IDLE, TIMEWAIT}, .answered = 1}}},
    {"an MRA crosses a REJ",
     {{.route = AB, .what = REQ, .states = {REQ_SENT, REQ_RCVD}},
      {.route = AB, .what = REJ_TIMEOUT, .states = {IDLE, IDLE}, .remote = ZERO, .answered = 2},
      {.route = BA, .what = MRA, .states = {IDLE, IDLE}},
      {.route = BA, .what = REP, .states = {IDLE, IDLE}}}},
    {"data establishes the connection before the RTU",
     {OPEN,
      {.route = BA, .what = DREQ, .states = {DREQ_RCVD, DREQ_SENT}, .flags = RECEIVED, .tid = 9},
      {.route = AB, .what = RTU, .states = {DREQ_RCVD, DREQ_SENT}},
      {.route = AB, .what = DREP, .states = {TIMEWAIT, TIMEWAIT}, .tid = 9}}},
    {"REQs cross",
     {{.route = AB, .what = REQ, .states = {REQ_SENT, REQ_RCVD}},
      {.route = BA, .what = REQ, .states = {REQ_SENT, REQ_RCVD}, .local = 2, .qpn = 0x22,
       .conn = 2},
      {.route = BA, .what = REP, .states = {REP_RCVD, REP_SENT}, .local = 3}}},
    /* IDs */
    {"IPv6",
     {{.route = A6B6, .what = REQ, .states = {REQ_SENT, REQ_RCVD}},
      {.route = B6A6, .what = REP, .states = {REP_RCVD, REP_SENT}},
      {.route = A6B6, .what = RTU, .states = {ESTABLISHED, ESTABLISHED}}}},
    {"both hosts number alike",
     {{.route = AB, .what = REQ, .states = {REQ_SENT, REQ_RCVD}, .local = 5},
      {.route = BA, .what = REQ, .states = {REQ_SENT, REQ_RCVD}, .local = 5, .conn = 2},
      {.route = BA, .what = REP, .states = {REP_RCVD, REP_SENT}, .local = 6, .remote = 5},
      {.route = AB, .what = REP, .states = {REP_RCVD, REP_SENT}, .local = 6, .remote = 5,
       .conn = 2},
      {.route = AB, .what = RTU, .states = {ESTABLISHED, ESTABLISHED}, .local = 5, .remote = 6},
      {.route = BA, .what = RTU, .states = {ESTABLISHED, ESTABLISHED}, .local = 5, .remote = 6,
       .conn = 2},
      {.route = AB, .what = DREQ, .states = {DREQ_SENT, DREQ_RCVD}, .local = 5, .remote = 6},
      {.route = AB, .what = DREQ, .states = {DREQ_RCVD, DREQ_SENT}, .local = 6, .remote = 5,
       .qpn = 0x11, .conn = 2}}},
    {"both ends have the same ID",
     {{.route = AB, .what = REQ, .states = {REQ_SENT, REQ_RCVD}, .local = 5},
      {.route = BA, .what = REP, .states = {REP_RCVD, REP_SENT}, .local = 5, .remote = 5},
      {.route = AB, .what = RTU, .states = {ESTABLISHED, ESTABLISHED}, .local = 5, .remote = 5},
      {.route = BA, .what = DREQ, .states = {DREQ_RCVD, DREQ_SENT}, .local = 5, .remote = 5}}},
    {"two devices of a host",
     {{.route = AB, .what = REQ, .states = {REQ_SENT, REQ_RCVD}},
      {.route = A2B2, .what = REQ, .states = {REQ_SENT, REQ_RCVD}, .conn = 2},
      {.route = B2A2, .what = REP, .states = {REP_RCVD, REP_SENT}, .conn = 2},
      {.route = BA, .what = REP, .states = {REP_RCVD, REP_SENT}},
      {.route = A2B2, .what = RTU, .states = {ESTABLISHED, ESTABLISHED}, .conn = 2},
      {.route = AB2, .what = REQ, .states = {REQ_SENT, REQ_RCVD}, .conn = 3},
      {.route = AB, .what = RTU, .states = {ESTABLISHED, ESTABLISHED}}}},
    {"IDs used again",
     {OPENED, {.route = AB, .what = DREQ, .states = {DREQ_SENT, DREQ_RCVD}},
      {.route = BA, .what = DREP, .states = {TIMEWAIT, TIMEWAIT}},
      {.route = AB, .what = REQ, .states = {REQ_SENT, REQ_RCVD}, .tid = 5, .conn = 2},
      {.route = BA, .what = REP, .states = {REP_RCVD, REP_SENT}, .tid = 5, .conn = 2},
      {.route = AB, .what = RTU, .states = {ESTABLISHED, ESTABLISHED}, .tid = 5, .conn = 2},
      {.route = AB, .what = DREQ, .states = {DREQ_SENT, DREQ_RCVD}, .conn = 2}}},
    {"IDs used again for another queue pair",
     {{.route = AB, .what = REQ, .states = {REQ_SENT, REQ_RCVD}},
      {.route = AB, .what = REQ, .states = {REQ_SENT, REQ_RCVD}, .qpn = 0x12, .conn = 2},
      {.route = BA, .what = REP, .states = {REP_RCVD, REP_SENT}, .conn = 2}}},
    {"the server's ID used again",
     {OPENED,
      {.route = AB, .what = REQ, .states = {REQ_SENT, REQ_RCVD}, .local = 3, .tid = 3, .conn = 2},
      {.route = BA, .what = REP, .states = {REP_RCVD, REP_SENT}, .remote = 3, .tid = 3, .conn = 2},
      {.route = AB, .what = RTU, .states = {ESTABLISHED, ESTABLISHED}, .local = 3, .tid = 3,
       .conn = 2},
      {.route = BA, .what = DREQ, .states = {DREQ_RCVD, DREQ_SENT}, .remote = 3, .conn = 2}}},
    {"IDs used again, and the capture lacks the REQ",
     {{.route = AB, .what = REQ, .states = {REQ_SENT, REQ_RCVD}},
      {.route = BA, .what = REJ, .states = {IDLE, IDLE}, .local = ZERO},
      {.route = BA, .what = REP, .states = {REP_RCVD, REP_SENT}, .tid = 3, .conn = 2},
      {.route = AB, .what = RTU, .states = {ESTABLISHED, ESTABLISHED}, .tid = 3, .conn = 2}}},
    {"IDs used again, and the capture lacks REQ and REP",
     {{.route = AB, .what = REQ, .states = {REQ_SENT, REQ_RCVD}},
      {.route = BA, .what = REJ, .states = {IDLE, IDLE}, .local = ZERO},
      {.route = AB, .what = RTU, .states = {ESTABLISHED, ESTABLISHED}, .tid = 3, .conn = 2}}},
    {"the server answers anew under another ID",
     {{.route = AB, .what = REQ, .states = {REQ_SENT, REQ_RCVD}},
      {.route = BA, .what = REP, .states = {REQ_SENT, REP_SENT}, .flags = LOST},
      {.route = BA, .what = REJ, .states = {REQ_SENT, TIMEWAIT}, .flags = LOST, .answered = 2},
      {.route = AB, .what = REQ, .states = {REQ_SENT, TIMEWAIT}, .repeat_of = 1},
      {.route = BA, .what = REP, .states = {REP_RCVD, REP_SENT}, .local = 3, .qpn = 0x23},
      {.route = AB, .what = RTU, .states = {ESTABLISHED, ESTABLISHED}, .remote = 3}}},
    {"a DREQ for another queue pair",
     {OPENED,
      {.route = AB, .what = DREQ, .states = {DREQ_SENT, ESTABLISHED}, .flags = RECEIVED,
       .qpn = 0x33}}},
    /* The capture lacks messages */
    {"no REP in the capture",
     {{.route = AB, .what = REQ, .states = {REQ_SENT, REQ_RCVD}},
      {.route = AB, .what = RTU, .states = {ESTABLISHED, ESTABLISHED}, .flags = SENT | RECEIVED},
      {.route = BA, .what = DREQ, .states = {DREQ_RCVD, DREQ_SENT}}}},
    {"no RTU in the capture",
     {OPEN, {.route = AB, .what = DREQ, .states = {DREQ_SENT, DREQ_RCVD}, .flags = SENT},
      {.route = BA, .what = DREP, .states = {TIMEWAIT, TIMEWAIT}}}},
    {"no DREQ in the capture",
     {OPENED,
      {.route = BA, .what = DREP, .states = {TIMEWAIT, TIMEWAIT}, .flags = SENT | RECEIVED}}},
    {"REQ only, then DREQ",
     {{.route = AB, .what = REQ, .states = {REQ_SENT, REQ_RCVD}},
      {.route = BA, .what = DREQ, .states = {DREQ_RCVD, DREQ_SENT}, .flags = SENT | RECEIVED}}},
    /* The capture begins late */
    {"DREP first",
     {{.route = BA, .what = DREP, .states = {TIMEWAIT, TIMEWAIT}, .local = 2, .remote = 1}}},
    {"RTU first",
     {{.route = AB, .what = RTU, .states = {ESTABLISHED, ESTABLISHED}},
      {.route = AB, .what = DREQ, .states = {DREQ_SENT, DREQ_RCVD}}}},
    {"REP first",
     {{.route = BA, .what = REP, .states = {REP_RCVD, REP_SENT}},
      {.route = AB, .what = RTU, .states = {ESTABLISHED, ESTABLISHED}}}},
    {"REP first, then the REQ again",
     {{.route = BA, .what = REP, .states = {NONE, REP_SENT}, .flags = LOST},
      {.route = AB, .what = REQ, .states = {REQ_SENT, REP_SENT}},
      {.route = BA, .what = REP, .states = {REP_RCVD, REP_SENT}, .repeat_of = 1}}},
    {"RTU first, then the same ID and transaction again",
     {
        {.route = AB, .what = RTU, .states = {ESTABLISHED, ESTABLISHED}},
        {.route = AB, .what = REQ, .states = {REQ_SENT, REQ_RCVD}, .conn = 2},
        {.route = BA, .what = REP, .states = {REP_RCVD, REP_SENT}, .conn = 2}}},
    {"MRA first",
     {{.route = BA, .what = MRA, .states = {MRA_REQ_RCVD, MRA_REQ_SENT}},
      {.route = BA, .what = REP, .states = {REP_RCVD, REP_SENT}}}},
    {"REJ first", {{.route = BA, .what = REJ, .states = {IDLE, IDLE}, .local = ZERO}}},
    {"REJ of nothing first", {{.route = BA, .what = REJ, .states = {NONE, NONE}, .answered = 2}}},
    {"LAP first",
     {{.route = AB, .what = LAP, .states = {NONE, NONE}},
      {.route = AB, .what = DREQ, .states = {DREQ_SENT, DREQ_RCVD}}}},
    /* Messages that do not arrive */
    {"the REQ is lost",
     {{.route = AB, .what = REQ, .states = {REQ_SENT, NONE}, .flags = LOST},
      {.route = AB, .what = REQ, .states = {REQ_SENT, NONE}, .repeat_of = 1, .flags = LOST},
      {.route = AB, .what = REQ, .states = {REQ_SENT, REQ_RCVD}, .repeat_of = 1},
      {.route = BA, .what = REP, .states = {REP_RCVD, REP_SENT}}}},
    {"the REP is lost",
     {{.route = AB, .what = REQ, .states = {REQ_SENT, REQ_RCVD}},
      {.route = BA, .what = REP, .states = {REQ_SENT, REP_SENT}, .flags = LOST},
      {.route = AB, .what = REQ, .states = {REQ_SENT, REP_SENT}, .repeat_of = 1},
      {.route = BA, .what = REP, .states = {REP_RCVD, REP_SENT}, .repeat_of = 2},
      {.route = AB, .what = RTU, .states = {ESTABLISHED, ESTABLISHED}}}},
    {"the RTU is lost",
     {OPEN, {.route = AB, .what = RTU, .states = {ESTABLISHED, REP_SENT}, .flags = LOST},
      {.route = BA, .what = REP, .states = {ESTABLISHED, REP_SENT}, .repeat_of = 2},
      {.route = AB, .what = RTU, .states = {ESTABLISHED, ESTABLISHED}, .repeat_of = 3}}},
    {"the RTU is lost, and data comes",
     {OPEN, {.route = AB, .what = RTU, .states = {ESTABLISHED, REP_SENT}, .flags = LOST},
      {.route = BA, .what = DREQ, .states = {DREQ_RCVD, DREQ_SENT}}}},
    {"DREQ and DREP are lost",
     {OPENED, {.route = AB, .what = DREQ, .states = {DREQ_SENT, ESTABLISHED}, .flags = LOST},
      {.route = AB, .what = DREQ, .states = {DREQ_SENT, DREQ_RCVD}, .repeat_of = 4},
      {.route = BA, .what = DREP, .states = {DREQ_SENT, TIMEWAIT}, .flags = LOST},
      {.route = AB, .what = DREQ, .states = {DREQ_SENT, TIMEWAIT}, .repeat_of = 4},
      {.route = BA, .what = DREP, .states = {TIMEWAIT, TIMEWAIT}, .repeat_of = 6}}},
    {"the capture has a DREP that was lost behind it",
     {OPENED, {.route = AB, .what = DREQ, .states = {DREQ_SENT, DREQ_RCVD}},
      {.route = BA, .what = DREP, .states = {TIMEWAIT, TIMEWAIT}},
      {.route = AB, .what = DREQ, .states = {DREQ_SENT, TIMEWAIT}, .repeat_of = 4},
      {.route = BA, .what = DREP, .states = {TIMEWAIT, TIMEWAIT}, .repeat_of = 5},
      {.route = BA, .what = DREP, .states = {TIMEWAIT, TIMEWAIT}, .repeat_of = 5}}},
    {"and so it has REP, RTU and REJ",
     {OPEN, {.route = AB, .what = REQ, .states = {REQ_SENT, REP_SENT}, .repeat_of = 1},
      {.route = BA, .what = REP, .states = {REP_RCVD, REP_SENT}, .repeat_of = 2},
      {.route = AB, .what = RTU, .states = {ESTABLISHED, ESTABLISHED}},
      {.route = BA, .what = REP, .states = {ESTABLISHED, REP_SENT}, .repeat_of = 2},
      {.route = AB, .what = RTU, .states = {ESTABLISHED, ESTABLISHED}, .repeat_of = 5},
      {.route = AB, .what = REQ, .states = {REQ_SENT, REQ_RCVD}, .local = 3, .tid = 3, .conn = 2},
      {.route = BA, .what = REJ, .states = {IDLE, IDLE}, .local = ZERO, .remote = 3, .tid = 3,
       .conn = 2},
      {.route = AB, .what = REQ, .states = {REQ_SENT, REQ_RCVD}, .repeat_of = 8, .local = 3,
       .tid = 3, .conn = 2},
      {.route = BA, .what = MRA, .states = {MRA_REQ_RCVD, MRA_REQ_SENT}, .local = 4, .remote = 3,
       .tid = 3, .conn = 2},
      {.route = BA, .what = REP, .states = {REP_RCVD, REP_SENT}, .local = 4, .remote = 3, .tid = 3,
       .conn = 2},
      {.route = AB, .what = REQ, .states = {MRA_REQ_RCVD, REP_SENT}, .repeat_of = 8, .local = 3,
       .tid = 3, .conn = 2}}},
    {"the MRA is lost",
     {{.route = AB, .what = REQ, .states = {REQ_SENT, REQ_RCVD}},
      {.route = BA, .what = MRA, .states = {REQ_SENT, MRA_REQ_SENT}, .flags = LOST},
      {.route = BA, .what = REP, .states = {REP_RCVD, REP_SENT}}}},
    /* SIDR */
    {"SIDR",
     {{.route = AB, .what = SIDR_REQ, .states = {SIDR_REQ_SENT, SIDR_REQ_RCVD}},
      {.route = BA, .what = SIDR_REP, .states = {IDLE, IDLE}, .local = 1},
      {.route = AB, .what = REQ, .states = {REQ_SENT, REQ_RCVD}, .conn = 2}}},
    {"SIDR again",
     {{.route = AB, .what = SIDR_REQ, .states = {SIDR_REQ_SENT, SIDR_REQ_RCVD}},
      {.route = AB, .what = SIDR_REQ, .states = {SIDR_REQ_SENT, SIDR_REQ_RCVD}, .repeat_of = 1},
      {.route = BA, .what = SIDR_REP, .states = {SIDR_REQ_SENT, IDLE}, .flags = LOST, .local = 1},
      {.route = AB, .what = SIDR_REQ, .states = {SIDR_REQ_SENT, SIDR_REQ_RCVD}, .repeat_of = 1},
      {.route = BA, .what = SIDR_REP, .states = {IDLE, IDLE}, .repeat_of = 3, .local = 1}}},
    {"SIDR_REP first", {{.route = BA, .what = SIDR_REP, .states = {IDLE, IDLE}, .local = 1}}},
};

/* Everything that a row leaves out. */
static mad_fields_t
fields_of(const step_t *step, bool client)
{
    int what = step->what > APR ? REJ : step->what;
    bool names_receiver = what == DREQ || what == LAP;
    mad_fields_t fields = {
        .attribute = (uint8_t)what,
        .tid = step->tid ? step->tid : 1,
        .local_id = step->local ? step->local : client ? 1 : 2,
        .remote_id = step->remote ? step->remote : client ? 2 : 1,
        .qpn = step->qpn ? step->qpn : client == names_receiver ? 0x22 : 0x11,
        .psn = what == REQ ? 0xfffffe : 0x100,
        .service_id = 0x0000000001061234,
        .answered = (uint8_t)step->answered,
        .reason = step->what == REJ_STALE ? 10 : step->what == REJ_TIMEOUT ? 4 : 28,
    };

    fields.local_id = fields.local_id == ZERO ? 0 : fields.local_id;
    fields.remote_id = fields.remote_id == ZERO ? 0 : fields.remote_id;
    return fields;
}

static void
check(const step_t *step, const smcr_cm_verdict_t *verdict)
{
    g_assert_nonnull(verdict->conn);
    g_assert_cmpint((int)verdict->conn->index, ==, step->conn ? step->conn - 1 : 0);
    g_assert_cmpint(verdict->retransmission_of, ==, step->repeat_of);
    g_assert_cmpint(verdict->unexpected_sent, ==, (step->flags & SENT) != 0);
    g_assert_cmpint(verdict->unexpected_received, ==, (step->flags & RECEIVED) != 0);
    bool swapped = !verdict->conn->roles_known &&
                   memcmp(verdict->conn->ends[0].gid, gid_of('b'), SMCR_GID_LENGTH) == 0;
    for (int i = 0; i < 2; i++) {
        int side = swapped ? !i : i;
        g_assert_cmpint(verdict->known[side] ? verdict->states[side] : NONE, ==, step->states[i]);
        g_assert_cmpint(verdict->known[side], ==, verdict->conn->ends[side].state_known);
        g_assert_cmpint(verdict->states[side], ==, verdict->conn->ends[side].state);
    }
}

static void
test_case(gconstpointer data)
{
    const step_t *steps = cases[GPOINTER_TO_UINT(data)].steps;
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_STRICT);
    smcr_cm_t *cm = smcr_cm_new(scope);
    int clients[MAX_STEPS + 1] = {0}; /* route on which the client of each connection sends */

    for (uint32_t i = 0; i < MAX_STEPS && steps[i].what != END; i++) {
        int *route = &clients[steps[i].conn];
        bool request = steps[i].what == REQ || steps[i].what == SIDR_REQ;
        *route = request ? steps[i].route : *route;
        mad_fields_t fields = fields_of(&steps[i], steps[i].route == *route);
        g_test_message("message %u", i + 1);
        smcr_cm_verdict_t verdict = take(cm, i + 1, routes[steps[i].route], &fields,
                                         !(steps[i].flags & LOST));
        check(&steps[i], &verdict);
        g_assert_true(memcmp(verdict.conn->ends[verdict.sender].gid,
                             gid_of(routes[steps[i].route][0]), SMCR_GID_LENGTH) == 0);
    }
    wmem_destroy_allocator(scope);
}

/* A mirror port shows each message twice, 4 microseconds apart: nothing was retransmitted. After
 * that, both packets of a retransmission are no second one. */
static void
test_copies(void)
{
    static const struct {
        uint64_t time; /* nanoseconds */
        uint32_t of;   /* first packet of the message, if the packet is a retransmission */
    } packets[] = {{0, 0}, {4000, 0}, {999999, 0}, {1999998, 0}, {3000000, 1}, {3004000, 0},
                   {9000000, 1}};
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_STRICT);
    smcr_cm_t *cm = smcr_cm_new(scope);
    const step_t step = {.route = AB, .what = REQ};
    mad_fields_t fields = fields_of(&step, true);

    for (uint32_t i = 0; i < G_N_ELEMENTS(packets); i++) {
        smcr_when_t when = {i + 1, packets[i].time};
        smcr_cm_verdict_t verdict = take_at(cm, when, routes[AB], &fields, true);
        g_assert_cmpuint(verdict.retransmission_of, ==, packets[i].of);
        g_assert_cmpint(verdict.is_copy, ==, i && !packets[i].of);
        g_assert_cmpint(verdict.states[0], ==, REQ_SENT);
        g_assert_false(verdict.unexpected_sent || verdict.unexpected_received);
    }
    wmem_destroy_allocator(scope);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        char *path = g_strdup_printf("/cm/%s", cases[i].name);
        g_test_add_data_func(path, GUINT_TO_POINTER(i), test_case);
        g_free(path);
    }
    g_test_add_func("/cm/copies", test_copies);
    return g_test_run();
}
