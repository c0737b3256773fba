/* Which flow a RoCE packet belongs to, which flow is opposite, and which queue pair sends it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>

#include "cm_mad.h"
#include "fabric/peers/rdma.h"
#include "wire/wire.h"

/* Rows name only what is not zero. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

/* Packets; those from REQ on are messages of communication management. They are numbered from 1. */
typedef enum {
    END, SEND, READ, UC_SEND, ACK, NAK, RESPONSE, DATAGRAM, CNP, REQ, REP, REJ, DREQ
} what_t;
enum { UNKNOWN, CM = SMCR_GROUND_CM, DETH = SMCR_GROUND_DETH, PORT = SMCR_GROUND_PORT,
       BY_PSN = SMCR_GROUND_ACK };

/* Linux gives the queue pairs 0x11 and 0x22 the port P. To none here it gives Q or OTHER. */
enum { P = 0xc242, Q = 0xd001, OTHER = 0xd002 };

typedef struct {
    const char *route; /* names of two devices (cm_mad.h) */
    what_t what;
    uint32_t qpn;     /* that receives the packet; REQ, REP: that is told; DREQ: of the receiver */
    uint32_t psn;     /* REQ, REP: that the *receiver* is to begin with */
    uint16_t port;
    unsigned flow;    /* of the packet, from 1; messages: 0, not looked at */
    int ground;       /* after the packet */
    uint32_t source;  /* likewise: queue pair that sends the flow; DATAGRAM: in the DETH */
    unsigned peer;    /* likewise: opposite flow, from 1; 0: not known */
    uint32_t absent;
    bool judged;      /* the packet is; else its flow has no traffic yet */
    uint32_t completes; /* packet; its message only is complete now; 0: not looked at */
    int32_t id;         /* of the IP header; 0: not known */
    uint32_t local, remote; /* IDs of a message; 0: the client has 1, the server 2 */
} step_t;

#define MAX_STEPS 16
#define NOTHING UINT32_MAX /* is complete now */
#define JUDGED .judged = true

/* Both sides of a connection, known from communication management. */
#define OPEN {"ab", REQ, 0x11, 200}, {"ba", REP, 0x22, 100}
/* Opposite flows of which one answers the other twice. */
#define PROVEN \
    {"ab", SEND, 0x22, 5, Q, 1}, {"ab", SEND, 0x22, 6, Q, 1, JUDGED}, \
    {"ba", ACK, 0x12, 5, Q, 2}, \
    {"ba", ACK, 0x12, 6, Q, 2, PORT, 0x22, 1, JUDGED, .completes = 2}

static const struct {
    const char *name;
    step_t steps[MAX_STEPS];
} cases[] = {
    /* Without any proof */
    {"nothing is known",
     {{.route = "ab", .what = SEND, .qpn = 0x22, .psn = 5, .port = Q, .flow = 1},
      {.route = "ba", .what = SEND, .qpn = 0x11, .psn = 9, .port = OTHER, .flow = 2},
      {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 6, .port = Q, .flow = 1, JUDGED}}},
    {"the first packet is judged when the second one comes",
     {{.route = "ab", .what = SEND, .qpn = 0x22, .psn = 5, .port = Q, .flow = 1},
      {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 8, .port = Q, .flow = 1, .absent = 2,
       JUDGED}}},
    {"a marked packet is judged at once",
     {{.route = "ab", .what = CNP, .qpn = 0x22, .port = OTHER, .flow = 1, JUDGED},
      {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 5, .port = Q, .flow = 1, JUDGED},
      {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 7, .port = Q, .flow = 1, .absent = 1,
       JUDGED}}},
    /* RDMA-CM */
    {"RDMA-CM",
     {OPEN,
      {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 100, .port = Q, .flow = 1, .ground = CM,
       .source = 0x11},
      {.route = "ba", .what = ACK, .qpn = 0x11, .psn = 100, .port = Q, .flow = 2, .ground = CM,
       .source = 0x22, .peer = 1, JUDGED},
      {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 101, .port = Q, .flow = 1, .ground = CM,
       .source = 0x11, .peer = 2, JUDGED}}},
    {"the ports do not matter then",
     {OPEN,
      {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 100, .port = Q, .flow = 1, .ground = CM,
       .source = 0x11},
      {.route = "ba", .what = ACK, .qpn = 0x11, .psn = 100, .port = OTHER, .flow = 2, .ground = CM,
       .source = 0x22, .peer = 1, JUDGED}}},
    {"the first PSN is announced",
     {OPEN,
      {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 102, .port = Q, .flow = 1, .ground = CM,
       .source = 0x11},
      {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 103, .port = Q, .flow = 1, .ground = CM,
       .source = 0x11, JUDGED},
      {.route = "ba", .what = SEND, .qpn = 0x11, .psn = 203, .port = Q, .flow = 2, .ground = CM,
       .source = 0x22, .peer = 1, .absent = 3, JUDGED}}},
    {"the REP comes behind data of the server",
     {{.route = "ab", .what = REQ, .qpn = 0x11, .psn = 200},
      {.route = "ba", .what = SEND, .qpn = 0x11, .psn = 200, .port = Q, .flow = 1},
      {.route = "ba", .what = REP, .qpn = 0x22, .psn = 100},
      {.route = "ba", .what = SEND, .qpn = 0x11, .psn = 201, .port = Q, .flow = 1, .ground = CM,
       .source = 0x22, JUDGED},
      {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 100, .port = Q, .flow = 2, .ground = CM,
       .source = 0x11, .peer = 1, JUDGED}}},
    {"the REP comes behind data of the client",
     {{.route = "ab", .what = REQ, .qpn = 0x11, .psn = 200},
      {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 100, .port = Q, .flow = 1},
      {.route = "ba", .what = REP, .qpn = 0x22, .psn = 100},
      {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 101, .port = Q, .flow = 2, .ground = CM,
       .source = 0x11}}},
    {"the capture has the REQ only",
     {{.route = "ab", .what = REQ, .qpn = 0x11, .psn = 200},
      {.route = "ba", .what = SEND, .qpn = 0x11, .psn = 201, .port = Q, .flow = 1},
      {.route = "ba", .what = SEND, .qpn = 0x11, .psn = 202, .port = Q, .flow = 1, JUDGED},
      {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 100, .port = Q, .flow = 2}}},
    {"the capture has the end of a connection only",
     {{.route = "ab", .what = SEND, .qpn = 0x22, .psn = 5, .port = Q, .flow = 1},
      {.route = "ba", .what = ACK, .qpn = 0x11, .psn = 5, .port = Q, .flow = 2},
      {.route = "ab", .what = DREQ, .qpn = 0x22},
      {.route = "ba", .what = SEND, .qpn = 0x11, .psn = 9, .port = Q, .flow = 2, JUDGED},
      {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 6, .port = Q, .flow = 1, JUDGED}}},
    {"another port at once behind the end of a connection",
     {{.route = "ab", .what = SEND, .qpn = 0x22, .psn = 5, .port = P, .flow = 1},
      {.route = "ab", .what = DREQ, .qpn = 0x22, .remote = 7},
      {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 6, .port = OTHER, .flow = 2},
      {.route = "ba", .what = ACK, .qpn = 0x11, .psn = 5, .port = P, .flow = 3, .ground = PORT,
       .source = 0x22, .peer = 1, JUDGED}}},
    {"another port, behind the end of a connection",
     {{.route = "ab", .what = SEND, .qpn = 0x22, .psn = 5, .port = P, .flow = 1},
      {.route = "ab", .what = DREQ, .qpn = 0x22, .remote = 7},
      {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 6, .port = P, .flow = 1, JUDGED},
      {.route = "ba", .what = SEND, .qpn = 0x11, .psn = 9, .port = P, .flow = 2},
      {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 7, .port = OTHER, .flow = 3},
      {.route = "ba", .what = ACK, .qpn = 0x11, .psn = 6, .port = P, .flow = 2, .ground = PORT,
       .source = 0x22, .peer = 1, JUDGED}}},
    {"what was proven before stays so",
     {PROVEN, {.route = "ab", .what = DREQ, .qpn = 0x22},
      {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 7, .port = Q, .flow = 1, .ground = PORT,
       .source = 0x12, .peer = 2, JUDGED}}},
    {"the end of another one does not change a connection",
     {OPEN,
      {.route = "ba", .what = ACK, .qpn = 0x11, .psn = 100, .port = Q, .flow = 1, .ground = CM,
       .source = 0x22},
      {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 100, .port = Q, .flow = 2, .ground = CM,
       .source = 0x11, .peer = 1, JUDGED},
      {.route = "ba", .what = DREQ, .qpn = 0x11, .local = 2, .remote = 1},
      {.route = "ab", .what = DREQ, .qpn = 0x22, .local = 7, .remote = 8},
      {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 101, .port = Q, .flow = 2, .ground = CM,
       .source = 0x11, .peer = 1, JUDGED},
      {.route = "ba", .what = ACK, .qpn = 0x11, .psn = 101, .port = Q, .flow = 1, .ground = CM,
       .source = 0x22, .peer = 2, JUDGED}}},
    {"both queue pairs have one number",
     {{.route = "ab", .what = REQ, .qpn = 0x11, .psn = 200},
      {.route = "ba", .what = REP, .qpn = 0x11, .psn = 100},
      {.route = "ab", .what = SEND, .qpn = 0x11, .psn = 100, .port = Q, .flow = 1, .ground = CM,
       .source = 0x11},
      {.route = "ba", .what = ACK, .qpn = 0x11, .psn = 100, .port = Q, .flow = 2, .ground = CM,
       .source = 0x11, .peer = 1, JUDGED}}},
    {"two hosts number alike",
     {{.route = "ab", .what = REQ, .qpn = 0x11, .psn = 200},
      {.route = "ba", .what = REP, .qpn = 0x11, .psn = 100},
      {.route = "xy", .what = REQ, .qpn = 0x11, .psn = 400},
      {.route = "yx", .what = REP, .qpn = 0x11, .psn = 300},
      {.route = "ab", .what = SEND, .qpn = 0x11, .psn = 100, .port = Q, .flow = 1, .ground = CM,
       .source = 0x11},
      {.route = "xy", .what = SEND, .qpn = 0x11, .psn = 300, .port = Q, .flow = 2, .ground = CM,
       .source = 0x11},
      {.route = "yx", .what = ACK, .qpn = 0x11, .psn = 300, .port = Q, .flow = 3, .ground = CM,
       .source = 0x11, .peer = 2, JUDGED},
      {.route = "ba", .what = ACK, .qpn = 0x11, .psn = 100, .port = Q, .flow = 4, .ground = CM,
       .source = 0x11, .peer = 1, JUDGED}}},
    {"somebody else sends to the queue pair",
     {OPEN, {.route = "xb", .what = SEND, .qpn = 0x22, .psn = 100, .port = Q, .flow = 1},
      {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 100, .port = Q, .flow = 2, .ground = CM,
       .source = 0x11}}},
    {"within one host",
     {{.route = "aa", .what = REQ, .qpn = 0x11, .psn = 200},
      {.route = "aa", .what = REP, .qpn = 0x22, .psn = 100},
      {.route = "aa", .what = SEND, .qpn = 0x22, .psn = 100, .port = Q, .flow = 1, .ground = CM,
       .source = 0x11},
      {.route = "aa", .what = ACK, .qpn = 0x11, .psn = 100, .port = Q, .flow = 2, .ground = CM,
       .source = 0x22, .peer = 1, JUDGED}}},
    /* Queue pairs used again */
    {"numbers of a new connection",
     {OPEN,
      {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 100, .port = Q, .flow = 1, .ground = CM,
       .source = 0x11},
      {.route = "ba", .what = ACK, .qpn = 0x11, .psn = 100, .port = Q, .flow = 2, .ground = CM,
       .source = 0x22, .peer = 1, JUDGED},
      {.route = "ab", .what = DREQ, .qpn = 0x22},
      {.route = "ab", .what = REQ, .qpn = 0x11, .psn = 800, .local = 3},
      {.route = "ba", .what = REP, .qpn = 0x22, .psn = 700, .local = 4, .remote = 3},
      {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 700, .port = OTHER, .flow = 3, .ground = CM,
       .source = 0x11},
      {.route = "ba", .what = ACK, .qpn = 0x11, .psn = 700, .port = OTHER, .flow = 4, .ground = CM,
       .source = 0x22, .peer = 3, JUDGED, .completes = 8}}},
    {"without the end of the first one",
     {OPEN,
      {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 100, .port = Q, .flow = 1, .ground = CM,
       .source = 0x11},
      {.route = "ba", .what = ACK, .qpn = 0x11, .psn = 100, .port = Q, .flow = 2, .ground = CM,
       .source = 0x22, .peer = 1, JUDGED},
      {.route = "ab", .what = REQ, .qpn = 0x11, .psn = 800, .local = 3},
      {.route = "ba", .what = REP, .qpn = 0x22, .psn = 700, .local = 4, .remote = 3},
      {.route = "ba", .what = SEND, .qpn = 0x11, .psn = 801, .port = Q, .flow = 3, .ground = CM,
       .source = 0x22},
      {.route = "ab", .what = ACK, .qpn = 0x22, .psn = 801, .port = Q, .flow = 4, .ground = CM,
       .source = 0x11, .peer = 3, JUDGED}}},
    {"the other end of a connection is new",
     {OPEN,
      {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 100, .port = Q, .flow = 1, .ground = CM,
       .source = 0x11},
      {.route = "ba", .what = ACK, .qpn = 0x11, .psn = 100, .port = Q, .flow = 2, .ground = CM,
       .source = 0x22, .peer = 1, JUDGED},
      {.route = "ab", .what = REQ, .qpn = 0x12, .psn = 800, .local = 3},
      {.route = "ba", .what = REP, .qpn = 0x22, .psn = 700, .local = 4, .remote = 3},
      {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 700, .port = Q, .flow = 3, .ground = CM,
       .source = 0x12},
      {.route = "ba", .what = SEND, .qpn = 0x11, .psn = 200, .port = Q, .flow = 2, .ground = CM,
       .source = 0x22, .peer = 1, JUDGED},
      {.route = "ba", .what = ACK, .qpn = 0x12, .psn = 700, .port = Q, .flow = 4, .ground = CM,
       .source = 0x22, .peer = 3, JUDGED}}},
    {"a connection is over, and its port is another one",
     {OPEN,
      {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 100, .port = Q, .flow = 1, .ground = CM,
       .source = 0x11},
      {.route = "ba", .what = ACK, .qpn = 0x11, .psn = 100, .port = Q, .flow = 2, .ground = CM,
       .source = 0x22, .peer = 1, JUDGED},
      {.route = "ab", .what = DREQ, .qpn = 0x22},
      {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 101, .port = Q, .flow = 1, .ground = CM,
       .source = 0x11, .peer = 2, JUDGED},
      {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 700, .port = OTHER, .flow = 3},
      {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 701, .port = OTHER, .flow = 3, JUDGED},
      {.route = "ba", .what = ACK, .qpn = 0x11, .psn = 700, .port = OTHER, .flow = 4},
      {.route = "ba", .what = ACK, .qpn = 0x11, .psn = 701, .port = OTHER, .flow = 4,
       .ground = PORT, .source = 0x22, .peer = 3, JUDGED}}},
    {"a connection that is not over may have several ports",
     {OPEN,
      {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 100, .port = Q, .flow = 1, .ground = CM,
       .source = 0x11},
      {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 101, .port = OTHER, .flow = 1, .ground = CM,
       .source = 0x11, JUDGED}}},
    {"a rejected connection has no data",
     {{.route = "ab", .what = REQ, .qpn = 0x11, .psn = 200}, {"ba", REJ, .local = UINT32_MAX},
      {.route = "ba", .what = SEND, .qpn = 0x11, .psn = 200, .port = Q, .flow = 1}}},
    {"two devices of a host",
     {OPEN, {.route = "AB", .what = REQ, .qpn = 0x11, .psn = 400},
      {.route = "BA", .what = REP, .qpn = 0x22, .psn = 300},
      {.route = "AB", .what = SEND, .qpn = 0x22, .psn = 300, .port = Q, .flow = 1, .ground = CM,
       .source = 0x11},
      {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 100, .port = Q, .flow = 2, .ground = CM,
       .source = 0x11},
      {.route = "ba", .what = ACK, .qpn = 0x11, .psn = 100, .port = Q, .flow = 3, .ground = CM,
       .source = 0x22, .peer = 2, JUDGED},
      {.route = "BA", .what = ACK, .qpn = 0x11, .psn = 300, .port = Q, .flow = 4, .ground = CM,
       .source = 0x22, .peer = 1, JUDGED}}},
    /* The datagram header */
    {"datagrams of one sender",
     {{.route = "ab", .what = DATAGRAM, .qpn = 0x22, .port = Q, .flow = 1, .ground = DETH,
       .source = 0x11},
      {.route = "ab", .what = DATAGRAM, .qpn = 0x22, .psn = 1, .port = Q, .flow = 1, .ground = DETH,
       .source = 0x11},
      {.route = "ba", .what = DATAGRAM, .qpn = 0x11, .port = Q, .flow = 2, .ground = DETH,
       .source = 0x22, .peer = 1, JUDGED},
      {.route = "ab", .what = DATAGRAM, .qpn = 0x22, .psn = 2, .port = Q, .flow = 1, .ground = DETH,
       .source = 0x11, .peer = 2, JUDGED}}},
    {"datagrams of several senders",
     {{.route = "ab", .what = DATAGRAM, .qpn = 0x22, .port = Q, .flow = 1, .ground = DETH,
       .source = 0x11},
      {.route = "ba", .what = DATAGRAM, .qpn = 0x11, .port = Q, .flow = 2, .ground = DETH,
       .source = 0x22, .peer = 1, JUDGED},
      {.route = "ab", .what = DATAGRAM, .qpn = 0x22, .port = Q, .flow = 1, .ground = UNKNOWN,
       .source = 0x12, JUDGED},
      {.route = "ab", .what = DATAGRAM, .qpn = 0x22, .psn = 1, .port = Q, .flow = 1,
       .ground = UNKNOWN, .source = 0x11, JUDGED},
      {.route = "ba", .what = DATAGRAM, .qpn = 0x11, .psn = 1, .port = Q, .flow = 2, .ground = DETH,
       .source = 0x22, JUDGED}}},
    {"a connection on the queue pair of a datagram",
     {OPEN,
      {.route = "ab", .what = DATAGRAM, .qpn = 0x22, .port = Q, .flow = 1, .ground = CM,
       .source = 0x11},
      {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 100, .port = Q, .flow = 1, .ground = CM,
       .source = 0x11, JUDGED}}},
    {"datagrams before RDMA-CM tells who sends",
     {{.route = "ab", .what = REQ, .qpn = 0x11, .psn = 200},
      {.route = "ba", .what = DATAGRAM, .qpn = 0x11, .port = Q, .flow = 1, .ground = DETH,
       .source = 0x22},
      {.route = "ba", .what = REP, .qpn = 0x23, .psn = 100},
      {.route = "ba", .what = SEND, .qpn = 0x11, .psn = 200, .port = Q, .flow = 1, .ground = CM,
       .source = 0x23, JUDGED}}},
    {"datagrams behind packets with a port",
     {{.route = "ab", .what = SEND, .qpn = 0x22, .psn = 5, .port = P, .flow = 1},
      {.route = "ab", .what = DATAGRAM, .qpn = 0x22, .port = Q, .flow = 1, .ground = DETH,
       .source = 0x13},
      {.route = "ba", .what = ACK, .qpn = 0x11, .psn = 5, .port = P, .flow = 2}}},
    {"datagrams do not pair by their port",
     {{.route = "ab", .what = DATAGRAM, .qpn = 0x22, .port = P, .flow = 1, .ground = DETH,
       .source = 0x13},
      {.route = "ba", .what = DATAGRAM, .qpn = 0x11, .port = P, .flow = 2, .ground = DETH,
       .source = 0x24}}},
    /* The UDP source port */
    {"two answers prove a pair",
     {PROVEN,
      {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 7, .port = Q, .flow = 1, .ground = PORT,
       .source = 0x12, .peer = 2, JUDGED}}},
    {"one answer, and the port of Linux",
     {{.route = "ab", .what = SEND, .qpn = 0x22, .psn = 5, .port = P, .flow = 1},
      {.route = "ba", .what = ACK, .qpn = 0x11, .psn = 5, .port = P, .flow = 2, .ground = PORT,
       .source = 0x22, .peer = 1, JUDGED}}},
    {"data of a READ, and the port of Linux",
     {{.route = "ab", .what = READ, .qpn = 0x22, .psn = 5, .port = P, .flow = 1},
      {.route = "ba", .what = RESPONSE, .qpn = 0x11, .psn = 5, .port = P, .flow = 2, .ground = PORT,
       .source = 0x22, .peer = 1, JUDGED, .completes = 1}}},
    {"data of a READ, behind a message and before another port",
     {
        {.route = "ba", .what = DREQ, .qpn = 0x11},
        {.route = "ab", .what = READ, .qpn = 0x11, .psn = 0xffffff, .port = 0xc121, .flow = 1},
        {.route = "ba", .what = RESPONSE, .qpn = 0x11, .psn = 0xffffff, .port = 0xc121, .flow = 2,
         .ground = PORT, .source = 0x11, .peer = 1, JUDGED, .completes = 2},
        {.route = "ab", .what = SEND, .qpn = 0x11, .psn = 0x800000, .port = P, .flow = 3}}},
    {"another port of Linux",
     {{.route = "xy", .what = SEND, .qpn = 0xfedcba, .psn = 5, .port = 0xe47d, .flow = 1},
      {.route = "yx", .what = ACK, .qpn = 0xabcdef, .psn = 5, .port = 0xe47d, .flow = 2,
       .ground = PORT, .source = 0xfedcba, .peer = 1, JUDGED}}},
    {"no answer",
     {{.route = "ab", .what = SEND, .qpn = 0x22, .psn = 5, .port = P, .flow = 1},
      {.route = "ba", .what = SEND, .qpn = 0x11, .psn = 5, .port = P, .flow = 2},
      {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 6, .port = P, .flow = 1, JUDGED},
      {.route = "ba", .what = SEND, .qpn = 0x11, .psn = 6, .port = P, .flow = 2, JUDGED}}},
    {"the answer comes first",
     {{.route = "ba", .what = ACK, .qpn = 0x11, .psn = 5, .port = P, .flow = 1},
      {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 6, .port = P, .flow = 2},
      {.route = "ba", .what = ACK, .qpn = 0x11, .psn = 6, .port = P, .flow = 1, .ground = PORT,
       .source = 0x22, .peer = 2, JUDGED}}},
    {"an answer to something else",
     {{.route = "ab", .what = SEND, .qpn = 0x22, .psn = 5, .port = P, .flow = 1},
      {.route = "ba", .what = ACK, .qpn = 0x11, .psn = 9, .port = P, .flow = 2},
      {.route = "ba", .what = ACK, .qpn = 0x11, .psn = 10, .port = P, .flow = 2, JUDGED}}},
    {"one answer twice",
     {{.route = "ab", .what = SEND, .qpn = 0x22, .psn = 5, .port = Q, .flow = 1},
      {.route = "ba", .what = ACK, .qpn = 0x12, .psn = 5, .port = Q, .flow = 2},
      {.route = "ba", .what = ACK, .qpn = 0x12, .psn = 5, .port = Q, .flow = 2, JUDGED}}},
    {"an answer to something else between two",
     {{.route = "ab", .what = SEND, .qpn = 0x22, .psn = 5, .port = Q, .flow = 1},
      {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 6, .port = Q, .flow = 1, JUDGED},
      {.route = "ba", .what = ACK, .qpn = 0x12, .psn = 5, .port = Q, .flow = 2},
      {.route = "ba", .what = ACK, .qpn = 0x12, .psn = 60, .port = Q, .flow = 2, JUDGED},
      {.route = "ba", .what = ACK, .qpn = 0x12, .psn = 6, .port = Q, .flow = 2, JUDGED},
      {.route = "ba", .what = ACK, .qpn = 0x12, .psn = 5, .port = Q, .flow = 2, .ground = PORT,
       .source = 0x22, .peer = 1, JUDGED}}},
    {"both answer",
     {{.route = "ab", .what = SEND, .qpn = 0x22, .psn = 5, .port = Q, .flow = 1},
      {.route = "ba", .what = SEND, .qpn = 0x12, .psn = 9, .port = Q, .flow = 2},
      {.route = "ba", .what = ACK, .qpn = 0x12, .psn = 5, .port = Q, .flow = 2, JUDGED},
      {.route = "ab", .what = ACK, .qpn = 0x22, .psn = 9, .port = Q, .flow = 1, .ground = PORT,
       .source = 0x12, .peer = 2, JUDGED}}},
    {"both answer, and one has far higher PSNs",
     {{.route = "ab", .what = SEND, .qpn = 0x22, .psn = 5000, .port = Q, .flow = 1},
      {.route = "ba", .what = SEND, .qpn = 0x12, .psn = 9, .port = Q, .flow = 2},
      {.route = "ba", .what = ACK, .qpn = 0x12, .psn = 5000, .port = Q, .flow = 2, JUDGED},
      {.route = "ab", .what = ACK, .qpn = 0x22, .psn = 9, .port = Q, .flow = 1, .ground = PORT,
       .source = 0x12, .peer = 2, JUDGED, .completes = 2},
      {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 5001, .port = Q, .flow = 1, .ground = PORT,
       .source = 0x12, .peer = 2, JUDGED},
      {.route = "ba", .what = ACK, .qpn = 0x12, .psn = 5001, .port = Q, .flow = 2, .ground = PORT,
       .source = 0x22, .peer = 1, JUDGED, .completes = 5}}},
    {"a message is complete once",
     {{.route = "ab", .what = RESPONSE, .qpn = 0x22, .psn = 5, .port = P, .flow = 1, .id = 1},
      {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 5, .port = Q, .flow = 1, JUDGED, .id = 2},
      {.route = "ba", .what = SEND, .qpn = 0x11, .psn = 5, .port = P, .flow = 2},
      {.route = "ab", .what = RESPONSE, .qpn = 0x22, .psn = 5, .port = P, .flow = 1, .ground = PORT,
       .source = 0x11, .peer = 2, JUDGED, .completes = 3, .id = 1},
      {.route = "ab", .what = RESPONSE, .qpn = 0x22, .psn = 5, .port = OTHER, .flow = 1,
       .ground = BY_PSN, .source = 0x11, .peer = 2, JUDGED, .completes = NOTHING}}},
    {"answers within a READ",
     {{.route = "ab", .what = READ, .qpn = 0x22, .psn = 5, .port = Q, .flow = 1},
      {.route = "ba", .what = ACK, .qpn = 0x12, .psn = 5, .port = Q, .flow = 2},
      {.route = "ba", .what = ACK, .qpn = 0x12, .psn = 6, .port = Q, .flow = 2, .ground = PORT,
       .source = 0x22, .peer = 1, JUDGED}}},
    {"a NAK answers, too",
     {{.route = "ab", .what = SEND, .qpn = 0x22, .psn = 5, .port = P, .flow = 1},
      {.route = "ba", .what = NAK, .qpn = 0x11, .psn = 5, .port = P, .flow = 2, .ground = PORT,
       .source = 0x22, .peer = 1, JUDGED}}},
    {"a third flow before the proof",
     {{.route = "ab", .what = SEND, .qpn = 0x22, .psn = 5, .port = P, .flow = 1},
      {.route = "ab", .what = SEND, .qpn = 0x33, .psn = 5, .port = P, .flow = 2},
      {.route = "ba", .what = ACK, .qpn = 0x11, .psn = 5, .port = P, .flow = 3},
      {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 6, .port = P, .flow = 1, JUDGED},
      {.route = "ba", .what = ACK, .qpn = 0x11, .psn = 6, .port = P, .flow = 3, JUDGED}}},
    {"a third flow behind the proof",
     {PROVEN, {.route = "ab", .what = SEND, .qpn = 0x33, .psn = 5, .port = Q, .flow = 3},
      {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 7, .port = Q, .flow = 1, .ground = UNKNOWN,
       JUDGED},
      {.route = "ba", .what = ACK, .qpn = 0x12, .psn = 7, .port = Q, .flow = 2, .ground = UNKNOWN,
       JUDGED}}},
    {"a third flow in the other direction",
     {PROVEN, {.route = "ba", .what = SEND, .qpn = 0x13, .psn = 5, .port = Q, .flow = 3},
      {.route = "ba", .what = ACK, .qpn = 0x12, .psn = 6, .port = Q, .flow = 2, .ground = UNKNOWN,
       JUDGED}}},
    {"a third flow between others",
     {PROVEN, {.route = "ax", .what = SEND, .qpn = 0x33, .psn = 5, .port = Q, .flow = 3},
      {.route = "ya", .what = SEND, .qpn = 0x33, .psn = 5, .port = Q, .flow = 4},
      {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 7, .port = Q, .flow = 1, .ground = PORT,
       .source = 0x12, .peer = 2, JUDGED}}},
    {"a third flow that RDMA-CM knows",
     {PROVEN, {.route = "ab", .what = REQ, .qpn = 0x55, .psn = 200},
      {.route = "ba", .what = REP, .qpn = 0x66, .psn = 100},
      {.route = "ab", .what = SEND, .qpn = 0x66, .psn = 100, .port = Q, .flow = 3, .ground = CM,
       .source = 0x55},
      {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 7, .port = Q, .flow = 1, .ground = PORT,
       .source = 0x12, .peer = 2, JUDGED}}},
    {"RDMA-CM says something else",
     {PROVEN, {.route = "ab", .what = REQ, .qpn = 0x55, .psn = 200},
      {.route = "ba", .what = REP, .qpn = 0x22, .psn = 100},
      {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 100, .port = OTHER, .flow = 3, .ground = CM,
       .source = 0x55}}},
    {"another port for each direction",
     {{.route = "ab", .what = SEND, .qpn = 0x22, .psn = 5, .port = Q, .flow = 1},
      {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 6, .port = Q, .flow = 1, JUDGED},
      {.route = "ba", .what = ACK, .qpn = 0x12, .psn = 5, .port = OTHER, .flow = 2},
      {.route = "ba", .what = ACK, .qpn = 0x12, .psn = 6, .port = OTHER, .flow = 2, JUDGED}}},
    {"a pair gets another port",
     {PROVEN, {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 0x800007, .port = OTHER,
                .flow = 3},
      {.route = "ba", .what = ACK, .qpn = 0x12, .psn = 6, .port = Q, .flow = 2, .ground = PORT,
       .source = 0x22, .peer = 1, JUDGED},
      {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 0x800008, .port = OTHER, .flow = 3, JUDGED},
      {.route = "ba", .what = ACK, .qpn = 0x12, .psn = 0x800007, .port = OTHER, .flow = 4},
      {.route = "ba", .what = ACK, .qpn = 0x12, .psn = 0x800008, .port = OTHER, .flow = 4,
       .ground = PORT, .source = 0x22, .peer = 3, JUDGED, .completes = 7}}},
    {"a pair is sprayed",
     {PROVEN, {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 7, .port = OTHER, .flow = 1,
                .ground = BY_PSN, .source = 0x12, .peer = 2, JUDGED},
      {.route = "ba", .what = ACK, .qpn = 0x12, .psn = 7, .port = P, .flow = 2, .ground = BY_PSN,
       .source = 0x22, .peer = 1, JUDGED, .completes = 5},
      {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 8, .port = Q, .flow = 1, .ground = BY_PSN,
       .source = 0x12, .peer = 2, JUDGED}}},
    /* PSNs alone */
    {"four answers to a sprayed flow",
     {{"ab", SEND, 0x22, 5, Q, 1}, {"ab", SEND, 0x22, 6, P, 1, JUDGED},
      {"ab", SEND, 0x22, 7, OTHER, 1, JUDGED}, {"ab", SEND, 0x22, 8, P, 1, JUDGED},
      {"ba", ACK, 0x12, 5, OTHER, 2}, {"ba", ACK, 0x12, 6, P, 2, JUDGED},
      {"ba", ACK, 0x12, 7, Q, 2, JUDGED}, {"ba", ACK, 0x12, 7, P, 2, JUDGED},
      {"ba", ACK, 0x12, 8, OTHER, 2, BY_PSN, 0x22, 1, JUDGED},
      {"ab", SEND, 0x22, 9, Q, 1, BY_PSN, 0x12, 2, JUDGED},
      {"ba", ACK, 0x12, 9, Q, 2, BY_PSN, 0x22, 1, JUDGED}}},
    {"answers that two sprayed flows have",
     {{"ab", SEND, 0x22, 5, Q, 1}, {"ab", SEND, 0x22, 6, P, 1, JUDGED},
      {"ab", SEND, 0x23, 5, Q, 2}, {"ab", SEND, 0x23, 6, P, 2, JUDGED},
      {"ab", SEND, 0x22, 7, Q, 1, JUDGED}, {"ab", SEND, 0x22, 8, P, 1, JUDGED},
      {"ab", SEND, 0x23, 7, Q, 2, JUDGED}, {"ab", SEND, 0x23, 8, P, 2, JUDGED},
      {"ba", ACK, 0x12, 4, P, 3}, {"ba", ACK, 0x12, 5, OTHER, 3, JUDGED},
      {"ba", ACK, 0x12, 6, P, 3, JUDGED}, {"ba", ACK, 0x12, 7, Q, 3, JUDGED},
      {"ba", ACK, 0x12, 8, OTHER, 3, JUDGED}}},
    {"packets without a port",
     {{"ab", SEND, 0x22, 5, 0, 1}, {"ab", SEND, 0x22, 6, 0, 1, JUDGED},
      {"ab", SEND, 0x22, 7, 0, 1, JUDGED}, {"ab", SEND, 0x22, 8, 0, 1, JUDGED},
      {"ba", ACK, 0x12, 5, 0, 2}, {"ba", ACK, 0x12, 6, 0, 2, JUDGED},
      {"ba", ACK, 0x12, 7, 0, 2, JUDGED},
      {"ba", ACK, 0x12, 8, 0, 2, BY_PSN, 0x22, 1, JUDGED},
      {"ba", ACK, 0x12, 0x800001, 0, 2, BY_PSN, 0x22, 1, JUDGED},
      {"ba", ACK, 0x12, 0x800002, 0, 2, BY_PSN, 0x22, 1, JUDGED},
      {"ba", ACK, 0x12, 0x800003, 0, 2, BY_PSN, 0x22, 1, JUDGED},
      {"ba", ACK, 0x12, 0x800004, 0, 2, UNKNOWN, 0, 0, JUDGED}}},
    {"another connection uses a queue pair of a pair",
     {PROVEN, {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 0x9000, .port = OTHER, .flow = 3},
      {.route = "ba", .what = ACK, .qpn = 0x13, .psn = 0x9000, .port = OTHER, .flow = 4},
      {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 0x9001, .port = OTHER, .flow = 3, JUDGED},
      {.route = "ba", .what = ACK, .qpn = 0x13, .psn = 0x9001, .port = OTHER, .flow = 4,
       .ground = PORT, .source = 0x22, .peer = 3, JUDGED}}},
    {"a flow gets another port before it is known",
     {{.route = "ab", .what = SEND, .qpn = 0x22, .psn = 5, .port = Q, .flow = 1},
      {.route = "ba", .what = ACK, .qpn = 0x12, .psn = 5, .port = Q, .flow = 2},
      {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 6, .port = OTHER, .flow = 1, JUDGED},
      {.route = "ba", .what = ACK, .qpn = 0x12, .psn = 6, .port = Q, .flow = 2, JUDGED},
      {.route = "ba", .what = ACK, .qpn = 0x12, .psn = 5, .port = OTHER, .flow = 2, JUDGED},
      {.route = "ba", .what = ACK, .qpn = 0x12, .psn = 6, .port = OTHER, .flow = 2, .ground = PORT,
       .source = 0x22, .peer = 1, JUDGED}}},
    {"UC answers nothing",
     {{.route = "ab", .what = UC_SEND, .qpn = 0x22, .psn = 5, .port = P, .flow = 1},
      {.route = "ba", .what = UC_SEND, .qpn = 0x11, .psn = 5, .port = P, .flow = 2},
      {.route = "ab", .what = UC_SEND, .qpn = 0x22, .psn = 6, .port = P, .flow = 1, JUDGED},
      {.route = "ba", .what = UC_SEND, .qpn = 0x11, .psn = 6, .port = P, .flow = 2, JUDGED}}},
    {"CNPs have another port",
     {{.route = "ab", .what = SEND, .qpn = 0x22, .psn = 5, .port = Q, .flow = 1},
      {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 6, .port = Q, .flow = 1, JUDGED},
      {.route = "ba", .what = CNP, .qpn = 0x12, .port = OTHER, .flow = 2, JUDGED},
      {.route = "ba", .what = ACK, .qpn = 0x12, .psn = 5, .port = Q, .flow = 2, JUDGED},
      {.route = "ba", .what = CNP, .qpn = 0x12, .port = OTHER, .flow = 2, JUDGED},
      {.route = "ba", .what = ACK, .qpn = 0x12, .psn = 6, .port = Q, .flow = 2, .ground = PORT,
       .source = 0x22, .peer = 1, JUDGED},
      {.route = "ba", .what = CNP, .qpn = 0x12, .port = OTHER, .flow = 2, .ground = PORT,
       .source = 0x22, .peer = 1, JUDGED},
      {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 7, .port = Q, .flow = 1, .ground = PORT,
       .source = 0x12, .peer = 2, JUDGED}}},
    {"one address",
     {{.route = "aa", .what = SEND, .qpn = 0x22, .psn = 5, .port = P, .flow = 1},
      {.route = "aa", .what = ACK, .qpn = 0x11, .psn = 5, .port = P, .flow = 2},
      {.route = "aa", .what = SEND, .qpn = 0x22, .psn = 6, .port = P, .flow = 1, JUDGED},
      {.route = "aa", .what = ACK, .qpn = 0x11, .psn = 6, .port = P, .flow = 2, JUDGED}}},
    {"no port",
     {{.route = "ab", .what = SEND, .qpn = 0x22, .psn = 5, .flow = 1},
      {.route = "ab", .what = SEND, .qpn = 0x22, .psn = 6, .flow = 1, JUDGED},
      {.route = "ba", .what = ACK, .qpn = 0x12, .psn = 5, .flow = 2},
      {.route = "ba", .what = ACK, .qpn = 0x12, .psn = 6, .flow = 2, JUDGED}}},
    {"equal numbers on two hosts",
     {{.route = "ab", .what = SEND, .qpn = 0x11, .psn = 5, .port = 0xc121, .flow = 1},
      {.route = "ba", .what = ACK, .qpn = 0x11, .psn = 5, .port = 0xc121, .flow = 2, .ground = PORT,
       .source = 0x11, .peer = 1, JUDGED}}},
};

static uint8_t
opcode_of(what_t what)
{
    static const uint8_t opcodes[] = {
        [SEND] = SMCR_RC_SEND_ONLY, [READ] = SMCR_RC_READ_REQUEST,
        [UC_SEND] = SMCR_UC_SEND_ONLY, [ACK] = SMCR_RC_ACK, [NAK] = SMCR_RC_ACK,
        [RESPONSE] = SMCR_RC_READ_RESPONSE_ONLY,
        [DATAGRAM] = SMCR_UD_SEND_ONLY, [CNP] = SMCR_IB_CNP,
    };

    return opcodes[what];
}

static void
send_message(smcr_rdma_t *rdma, const step_t *step, uint32_t frame)
{
    static const uint8_t attributes[] = {[REQ] = SMCR_IB_CM_REQ,
                                         [REP] = SMCR_IB_CM_REP,
                                         [REJ] = SMCR_IB_CM_REJ,
                                         [DREQ] = SMCR_IB_CM_DREQ};
    bool client = step->what == REQ || step->what == DREQ;
    mad_fields_t fields = {
        .attribute = attributes[step->what],
        .tid = 1,
        .local_id = step->local ? step->local : client ? 1 : 2,
        .remote_id = step->remote ? step->remote : client ? 2 : 1,
        .qpn = step->qpn,
        .psn = step->psn,
        .service_id = 0x0000000001061234,
        .reason = 28,
    };
    uint8_t mad[SMCR_IB_MAD_LENGTH];
    smcr_cm_message_t message;

    fields.local_id = fields.local_id == UINT32_MAX ? 0 : fields.local_id;
    put_mad(mad, &fields);
    g_assert_true(smcr_cm_message_parse(&message, mad, sizeof mad));
    smcr_cm_packet_t packet = {.when = {frame, frame}, .source = gid_of(step->route[0]),
                               .target = gid_of(step->route[1]), .message = &message,
                               .has_good_icrc = true};
    g_assert_nonnull(smcr_rdma_take_cm(rdma, &packet).conn);
}

static void
check(const step_t *step, const smcr_rdma_flow_t *flow)
{
    g_assert_cmpuint(flow->index + 1, ==, step->flow);
    g_assert_cmpint(flow->ground, ==, step->ground);
    if (step->ground != UNKNOWN)
        g_assert_cmphex(flow->src_qpn, ==, step->source);
    g_assert_cmpuint(flow->peer ? flow->peer->index + 1 : 0, ==, step->peer);
    g_assert_cmpint(flow->traffic != NULL, ==, step->judged);
    if (!flow->peer)
        return;
    g_assert_true(flow->peer->peer == flow);
    g_assert_cmpint(flow->peer->ground, ==, flow->ground);
    g_assert_cmphex(flow->peer->src_qpn, ==, flow->key.target.qpn);
    g_assert_cmphex(flow->src_qpn, ==, flow->peer->key.target.qpn);
    g_assert_nonnull(flow->peer->traffic);
    g_assert_true(smcr_rdma_reverse(flow) == flow->peer->traffic);
}

/* What a response completes, before it is judged. */
static void
check_complete(const step_t *step, smcr_traffic_t *requests, const smcr_sent_t *packet,
               smcr_slab_t *slab)
{
    if (!requests || !smcr_ib_operations[packet->opcode].is_response)
        return;
    smcr_traffic_answer_t answer = smcr_traffic_read_response(requests, slab, packet);
    const smcr_completion_t *message = answer.completes;
    if (step->completes)
        g_assert_cmpuint(message ? message->frame : NOTHING, ==, step->completes);
    g_assert_true(!step->completes || !message || !message->next);
}

/* As the packets of a capture: what a response answers is judged before it. */
static void
send_packet(smcr_rdma_t *rdma, const step_t *step, uint32_t frame, smcr_slab_t *slab)
{
    smcr_ib_headers_t roce = {
        .destination.qpn = step->qpn,
        .opcode = opcode_of(step->what),
        .src_qpn = step->source,
        .has_src_qpn = step->what == DATAGRAM,
        .udp_port = step->port,
    };
    smcr_sent_t packet = {
        .when = {frame, frame},
        .opcode = roce.opcode,
        .has_aeth = step->what >= ACK && step->what <= RESPONSE,
        .syndrome = step->what == NAK ? 0x60 : 0x1f,
        .psn = step->psn,
        .dma_length = step->what == READ ? 8192 : 0,
        .ip_id = step->id ? step->id : SMCR_SENT_NO_IP_ID,
    };

    memcpy(roce.source, gid_of(step->route[0]), SMCR_GID_LENGTH);
    memcpy(roce.destination.gid, gid_of(step->route[1]), SMCR_GID_LENGTH);
    smcr_rdma_flow_t *flow = smcr_rdma_take_packet(rdma, &roce, &packet);
    g_assert_true(smcr_rdma_find(rdma, &roce) == flow);
    check(step, flow);
    if (!flow->traffic || packet.opcode >= SMCR_RD)
        return;
    check_complete(step, smcr_rdma_reverse(flow), &packet, slab);
    smcr_flow_verdict_t verdict =
        smcr_traffic_judge(flow->traffic, smcr_rdma_reverse(flow), slab->scope, &packet);
    g_assert_cmpuint(verdict.missing, ==, step->absent);
}

static void
test_case(gconstpointer data)
{
    const step_t *steps = cases[GPOINTER_TO_UINT(data)].steps;
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_STRICT);
    smcr_slab_t slab = {.scope = scope};
    smcr_rdma_t *rdma = smcr_rdma_new(scope);

    for (uint32_t i = 0; i < MAX_STEPS && steps[i].what != END; i++) {
        g_test_message("packet %u", i + 1);
        if (steps[i].what >= REQ)
            send_message(rdma, &steps[i], i + 1);
        else
            send_packet(rdma, &steps[i], i + 1, &slab);
    }
    wmem_destroy_allocator(scope);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        char *path = g_strdup_printf("/peers/%s", cases[i].name);
        g_test_add_data_func(path, GUINT_TO_POINTER(i), test_case);
        g_free(path);
    }
    return g_test_run();
}
