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
enum { UNKNOWN, CM = SMCR_GROUND_CM, DETH = SMCR_GROUND_DETH, PORT = SMCR_GROUND_PORT };

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
    {"nothing is known", {{"ab", SEND, 0x22, 5, Q, 1}, {"ba", SEND, 0x11, 9, OTHER, 2},
                          {"ab", SEND, 0x22, 6, Q, 1, JUDGED}}},
    {"the first packet is judged when the second one comes", {{"ab", SEND, 0x22, 5, Q, 1},
        {"ab", SEND, 0x22, 8, Q, 1, .absent = 2, JUDGED}}},
    {"a marked packet is judged at once", {{"ab", CNP, 0x22, 0, OTHER, 1, JUDGED},
        {"ab", SEND, 0x22, 5, Q, 1, JUDGED}, {"ab", SEND, 0x22, 7, Q, 1, .absent = 1, JUDGED}}},

    /* RDMA-CM */
    {"RDMA-CM", {OPEN, {"ab", SEND, 0x22, 100, Q, 1, CM, 0x11, 0},
        {"ba", ACK, 0x11, 100, Q, 2, CM, 0x22, 1, JUDGED},
        {"ab", SEND, 0x22, 101, Q, 1, CM, 0x11, 2, JUDGED}}},
    {"the ports do not matter then", {OPEN, {"ab", SEND, 0x22, 100, Q, 1, CM, 0x11, 0},
        {"ba", ACK, 0x11, 100, OTHER, 2, CM, 0x22, 1, JUDGED}}},
    {"the first PSN is announced", {OPEN, {"ab", SEND, 0x22, 102, Q, 1, CM, 0x11, 0},
        {"ab", SEND, 0x22, 103, Q, 1, CM, 0x11, 0, JUDGED},
        {"ba", SEND, 0x11, 203, Q, 2, CM, 0x22, 1, .absent = 3, JUDGED}}},
    {"the REP comes behind data of the server", {{"ab", REQ, 0x11, 200},
        {"ba", SEND, 0x11, 200, Q, 1}, {"ba", REP, 0x22, 100},
        {"ba", SEND, 0x11, 201, Q, 1, CM, 0x22, 0, JUDGED},
        {"ab", SEND, 0x22, 100, Q, 2, CM, 0x11, 1, JUDGED}}},
    {"the REP comes behind data of the client", {{"ab", REQ, 0x11, 200},
        {"ab", SEND, 0x22, 100, Q, 1}, {"ba", REP, 0x22, 100},
        {"ab", SEND, 0x22, 101, Q, 2, CM, 0x11, 0}}},
    {"the capture has the REQ only", {{"ab", REQ, 0x11, 200}, {"ba", SEND, 0x11, 201, Q, 1},
        {"ba", SEND, 0x11, 202, Q, 1, JUDGED}, {"ab", SEND, 0x22, 100, Q, 2}}},
    {"the capture has the end of a connection only", {{"ab", SEND, 0x22, 5, Q, 1},
        {"ba", ACK, 0x11, 5, Q, 2}, {"ab", DREQ, 0x22},
        {"ba", SEND, 0x11, 9, Q, 2, JUDGED}, {"ab", SEND, 0x22, 6, Q, 1, JUDGED}}},
    {"another port at once behind the end of a connection", {{"ab", SEND, 0x22, 5, P, 1},
        {"ab", DREQ, 0x22, .remote = 7}, {"ab", SEND, 0x22, 6, OTHER, 2},
        {"ba", ACK, 0x11, 5, P, 3, PORT, 0x22, 1, JUDGED}}},
    {"another port, behind the end of a connection", {{"ab", SEND, 0x22, 5, P, 1},
        {"ab", DREQ, 0x22, .remote = 7}, {"ab", SEND, 0x22, 6, P, 1, JUDGED},
        {"ba", SEND, 0x11, 9, P, 2}, {"ab", SEND, 0x22, 7, OTHER, 3},
        {"ba", ACK, 0x11, 6, P, 2, PORT, 0x22, 1, JUDGED}}},
    {"what was proven before stays so", {PROVEN, {"ab", DREQ, 0x22},
        {"ab", SEND, 0x22, 7, Q, 1, PORT, 0x12, 2, JUDGED}}},
    {"the end of another one does not change a connection", {OPEN,
        {"ba", ACK, 0x11, 100, Q, 1, CM, 0x22, 0},
        {"ab", SEND, 0x22, 100, Q, 2, CM, 0x11, 1, JUDGED},
        {"ba", DREQ, 0x11, .local = 2, .remote = 1}, {"ab", DREQ, 0x22, .local = 7, .remote = 8},
        {"ab", SEND, 0x22, 101, Q, 2, CM, 0x11, 1, JUDGED},
        {"ba", ACK, 0x11, 101, Q, 1, CM, 0x22, 2, JUDGED}}},
    {"both queue pairs have one number", {{"ab", REQ, 0x11, 200}, {"ba", REP, 0x11, 100},
        {"ab", SEND, 0x11, 100, Q, 1, CM, 0x11, 0},
        {"ba", ACK, 0x11, 100, Q, 2, CM, 0x11, 1, JUDGED}}},
    {"two hosts number alike", {{"ab", REQ, 0x11, 200}, {"ba", REP, 0x11, 100},
        {"xy", REQ, 0x11, 400}, {"yx", REP, 0x11, 300},
        {"ab", SEND, 0x11, 100, Q, 1, CM, 0x11, 0}, {"xy", SEND, 0x11, 300, Q, 2, CM, 0x11, 0},
        {"yx", ACK, 0x11, 300, Q, 3, CM, 0x11, 2, JUDGED},
        {"ba", ACK, 0x11, 100, Q, 4, CM, 0x11, 1, JUDGED}}},
    {"somebody else sends to the queue pair", {OPEN, {"xb", SEND, 0x22, 100, Q, 1},
        {"ab", SEND, 0x22, 100, Q, 2, CM, 0x11, 0}}},
    {"within one host", {{"aa", REQ, 0x11, 200}, {"aa", REP, 0x22, 100},
        {"aa", SEND, 0x22, 100, Q, 1, CM, 0x11, 0},
        {"aa", ACK, 0x11, 100, Q, 2, CM, 0x22, 1, JUDGED}}},

    /* Queue pairs used again */
    {"numbers of a new connection", {OPEN, {"ab", SEND, 0x22, 100, Q, 1, CM, 0x11, 0},
        {"ba", ACK, 0x11, 100, Q, 2, CM, 0x22, 1, JUDGED}, {"ab", DREQ, 0x22},
        {"ab", REQ, 0x11, 800, .local = 3}, {"ba", REP, 0x22, 700, .local = 4, .remote = 3},
        {"ab", SEND, 0x22, 700, OTHER, 3, CM, 0x11, 0},
        {"ba", ACK, 0x11, 700, OTHER, 4, CM, 0x22, 3, JUDGED, .completes = 8}}},
    {"without the end of the first one", {OPEN, {"ab", SEND, 0x22, 100, Q, 1, CM, 0x11, 0},
        {"ba", ACK, 0x11, 100, Q, 2, CM, 0x22, 1, JUDGED},
        {"ab", REQ, 0x11, 800, .local = 3}, {"ba", REP, 0x22, 700, .local = 4, .remote = 3},
        {"ba", SEND, 0x11, 801, Q, 3, CM, 0x22, 0}, {"ab", ACK, 0x22, 801, Q, 4, CM, 0x11, 3,
                                                     JUDGED}}},
    {"the other end of a connection is new", {OPEN, {"ab", SEND, 0x22, 100, Q, 1, CM, 0x11, 0},
        {"ba", ACK, 0x11, 100, Q, 2, CM, 0x22, 1, JUDGED},
        {"ab", REQ, 0x12, 800, .local = 3}, {"ba", REP, 0x22, 700, .local = 4, .remote = 3},
        {"ab", SEND, 0x22, 700, Q, 3, CM, 0x12, 0},
        {"ba", SEND, 0x11, 200, Q, 2, CM, 0x22, 1, JUDGED},
        {"ba", ACK, 0x12, 700, Q, 4, CM, 0x22, 3, JUDGED}}},
    {"a connection is over, and its port is another one", {OPEN,
        {"ab", SEND, 0x22, 100, Q, 1, CM, 0x11, 0}, {"ba", ACK, 0x11, 100, Q, 2, CM, 0x22, 1,
                                                     JUDGED},
        {"ab", DREQ, 0x22}, {"ab", SEND, 0x22, 101, Q, 1, CM, 0x11, 2, JUDGED},
        {"ab", SEND, 0x22, 700, OTHER, 3}, {"ab", SEND, 0x22, 701, OTHER, 3, JUDGED},
        {"ba", ACK, 0x11, 700, OTHER, 4},
        {"ba", ACK, 0x11, 701, OTHER, 4, PORT, 0x22, 3, JUDGED}}},
    {"a connection that is not over may have several ports", {OPEN,
        {"ab", SEND, 0x22, 100, Q, 1, CM, 0x11, 0},
        {"ab", SEND, 0x22, 101, OTHER, 1, CM, 0x11, 0, JUDGED}}},
    {"a rejected connection has no data", {{"ab", REQ, 0x11, 200},
        {"ba", REJ, .local = UINT32_MAX}, {"ba", SEND, 0x11, 200, Q, 1}}},
    {"two devices of a host", {OPEN, {"AB", REQ, 0x11, 400}, {"BA", REP, 0x22, 300},
        {"AB", SEND, 0x22, 300, Q, 1, CM, 0x11, 0}, {"ab", SEND, 0x22, 100, Q, 2, CM, 0x11, 0},
        {"ba", ACK, 0x11, 100, Q, 3, CM, 0x22, 2, JUDGED},
        {"BA", ACK, 0x11, 300, Q, 4, CM, 0x22, 1, JUDGED}}},

    /* The datagram header */
    {"datagrams of one sender", {{"ab", DATAGRAM, 0x22, 0, Q, 1, DETH, 0x11},
        {"ab", DATAGRAM, 0x22, 1, Q, 1, DETH, 0x11},
        {"ba", DATAGRAM, 0x11, 0, Q, 2, DETH, 0x22, 1, JUDGED},
        {"ab", DATAGRAM, 0x22, 2, Q, 1, DETH, 0x11, 2, JUDGED}}},
    {"datagrams of several senders", {{"ab", DATAGRAM, 0x22, 0, Q, 1, DETH, 0x11},
        {"ba", DATAGRAM, 0x11, 0, Q, 2, DETH, 0x22, 1, JUDGED},
        {"ab", DATAGRAM, 0x22, 0, Q, 1, UNKNOWN, 0x12, JUDGED},
        {"ab", DATAGRAM, 0x22, 1, Q, 1, UNKNOWN, 0x11, JUDGED},
        {"ba", DATAGRAM, 0x11, 1, Q, 2, DETH, 0x22, 0, JUDGED}}},
    {"a connection on the queue pair of a datagram", {OPEN,
        {"ab", DATAGRAM, 0x22, 0, Q, 1, CM, 0x11},
        {"ab", SEND, 0x22, 100, Q, 1, CM, 0x11, JUDGED}}},
    {"datagrams before RDMA-CM tells who sends", {{"ab", REQ, 0x11, 200},
        {"ba", DATAGRAM, 0x11, 0, Q, 1, DETH, 0x22}, {"ba", REP, 0x23, 100},
        {"ba", SEND, 0x11, 200, Q, 1, CM, 0x23, 0, JUDGED}}},
    {"datagrams behind packets with a port", {{"ab", SEND, 0x22, 5, P, 1},
        {"ab", DATAGRAM, 0x22, 0, Q, 1, DETH, 0x13}, {"ba", ACK, 0x11, 5, P, 2}}},
    {"datagrams do not pair by their port", {{"ab", DATAGRAM, 0x22, 0, P, 1, DETH, 0x13},
        {"ba", DATAGRAM, 0x11, 0, P, 2, DETH, 0x24}}},

    /* The UDP source port */
    {"two answers prove a pair", {PROVEN, {"ab", SEND, 0x22, 7, Q, 1, PORT, 0x12, 2, JUDGED}}},
    {"one answer, and the port of Linux", {{"ab", SEND, 0x22, 5, P, 1},
        {"ba", ACK, 0x11, 5, P, 2, PORT, 0x22, 1, JUDGED}}},
    {"data of a READ, and the port of Linux", {{"ab", READ, 0x22, 5, P, 1},
        {"ba", RESPONSE, 0x11, 5, P, 2, PORT, 0x22, 1, JUDGED, .completes = 1}}},
    {"data of a READ, behind a message and before another port", {
        {"ba", DREQ, 0x11}, {"ab", READ, 0x11, 0xffffff, 0xc121, 1},
        {"ba", RESPONSE, 0x11, 0xffffff, 0xc121, 2, PORT, 0x11, 1, JUDGED, .completes = 2},
        {"ab", SEND, 0x11, 0, P, 3}}},
    {"another port of Linux", {{"xy", SEND, 0xfedcba, 5, 0xe47d, 1},
        {"yx", ACK, 0xabcdef, 5, 0xe47d, 2, PORT, 0xfedcba, 1, JUDGED}}},
    {"no answer", {{"ab", SEND, 0x22, 5, P, 1}, {"ba", SEND, 0x11, 5, P, 2},
                   {"ab", SEND, 0x22, 6, P, 1, JUDGED}, {"ba", SEND, 0x11, 6, P, 2, JUDGED}}},
    {"the answer comes first", {{"ba", ACK, 0x11, 5, P, 1}, {"ab", SEND, 0x22, 6, P, 2},
                                {"ba", ACK, 0x11, 6, P, 1, PORT, 0x22, 2, JUDGED}}},
    {"an answer to something else", {{"ab", SEND, 0x22, 5, P, 1}, {"ba", ACK, 0x11, 9, P, 2},
                                     {"ba", ACK, 0x11, 10, P, 2, JUDGED}}},
    {"one answer twice", {{"ab", SEND, 0x22, 5, Q, 1}, {"ba", ACK, 0x12, 5, Q, 2},
                          {"ba", ACK, 0x12, 5, Q, 2, JUDGED}}},
    {"an answer to something else between two", {{"ab", SEND, 0x22, 5, Q, 1},
        {"ab", SEND, 0x22, 6, Q, 1, JUDGED}, {"ba", ACK, 0x12, 5, Q, 2},
        {"ba", ACK, 0x12, 60, Q, 2, JUDGED}, {"ba", ACK, 0x12, 6, Q, 2, JUDGED},
        {"ba", ACK, 0x12, 5, Q, 2, PORT, 0x22, 1, JUDGED}}},
    {"both answer", {{"ab", SEND, 0x22, 5, Q, 1}, {"ba", SEND, 0x12, 9, Q, 2},
        {"ba", ACK, 0x12, 5, Q, 2, JUDGED}, {"ab", ACK, 0x22, 9, Q, 1, PORT, 0x12, 2, JUDGED}}},
    {"both answer, and one has far higher PSNs", {{"ab", SEND, 0x22, 5000, Q, 1},
        {"ba", SEND, 0x12, 9, Q, 2}, {"ba", ACK, 0x12, 5000, Q, 2, JUDGED},
        {"ab", ACK, 0x22, 9, Q, 1, PORT, 0x12, 2, JUDGED, .completes = 2},
        {"ab", SEND, 0x22, 5001, Q, 1, PORT, 0x12, 2, JUDGED},
        {"ba", ACK, 0x12, 5001, Q, 2, PORT, 0x22, 1, JUDGED, .completes = 5}}},
    {"a message is complete once", {{"ab", RESPONSE, 0x22, 5, P, 1, .id = 1},
        {"ab", SEND, 0x22, 5, Q, 1, JUDGED, .id = 2}, {"ba", SEND, 0x11, 5, P, 2},
        {"ab", RESPONSE, 0x22, 5, P, 1, PORT, 0x11, 2, JUDGED, .completes = 3, .id = 1},
        {"ab", RESPONSE, 0x22, 5, OTHER, 3},
        {"ab", RESPONSE, 0x22, 5, P, 3, PORT, 0x11, 2, JUDGED, .completes = NOTHING}}},
    {"answers within a READ", {{"ab", READ, 0x22, 5, Q, 1}, {"ba", ACK, 0x12, 5, Q, 2},
                               {"ba", ACK, 0x12, 6, Q, 2, PORT, 0x22, 1, JUDGED}}},
    {"a NAK answers, too", {{"ab", SEND, 0x22, 5, P, 1},
                            {"ba", NAK, 0x11, 5, P, 2, PORT, 0x22, 1, JUDGED}}},
    {"a third flow before the proof", {{"ab", SEND, 0x22, 5, P, 1}, {"ab", SEND, 0x33, 5, P, 2},
        {"ba", ACK, 0x11, 5, P, 3}, {"ab", SEND, 0x22, 6, P, 1, JUDGED},
        {"ba", ACK, 0x11, 6, P, 3, JUDGED}}},
    {"a third flow behind the proof", {PROVEN, {"ab", SEND, 0x33, 5, Q, 3},
        {"ab", SEND, 0x22, 7, Q, 1, UNKNOWN, 0, 0, JUDGED},
        {"ba", ACK, 0x12, 7, Q, 2, UNKNOWN, 0, 0, JUDGED}}},
    {"a third flow in the other direction", {PROVEN, {"ba", SEND, 0x13, 5, Q, 3},
        {"ba", ACK, 0x12, 6, Q, 2, UNKNOWN, 0, 0, JUDGED}}},
    {"a third flow between others", {PROVEN, {"ax", SEND, 0x33, 5, Q, 3},
        {"ya", SEND, 0x33, 5, Q, 4}, {"ab", SEND, 0x22, 7, Q, 1, PORT, 0x12, 2, JUDGED}}},
    {"a third flow that RDMA-CM knows", {PROVEN, {"ab", REQ, 0x55, 200}, {"ba", REP, 0x66, 100},
        {"ab", SEND, 0x66, 100, Q, 3, CM, 0x55}, {"ab", SEND, 0x22, 7, Q, 1, PORT, 0x12, 2,
                                                  JUDGED}}},
    {"RDMA-CM says something else", {PROVEN, {"ab", REQ, 0x55, 200}, {"ba", REP, 0x22, 100},
        {"ab", SEND, 0x22, 100, OTHER, 3, CM, 0x55}}},
    {"another port for each direction", {{"ab", SEND, 0x22, 5, Q, 1},
        {"ab", SEND, 0x22, 6, Q, 1, JUDGED}, {"ba", ACK, 0x12, 5, OTHER, 2},
        {"ba", ACK, 0x12, 6, OTHER, 2, JUDGED}}},
    {"a pair gets another port", {PROVEN, {"ab", SEND, 0x22, 7, OTHER, 3},
        {"ba", ACK, 0x12, 6, Q, 2, PORT, 0x22, 1, JUDGED},
        {"ab", SEND, 0x22, 8, OTHER, 3, JUDGED}, {"ba", ACK, 0x12, 7, OTHER, 4},
        {"ba", ACK, 0x12, 8, OTHER, 4, PORT, 0x22, 3, JUDGED, .completes = 7}}},
    {"another connection uses a queue pair of a pair", {PROVEN, {"ab", SEND, 0x22, 90, OTHER, 3},
        {"ba", ACK, 0x13, 90, OTHER, 4}, {"ab", SEND, 0x22, 91, OTHER, 3, JUDGED},
        {"ba", ACK, 0x13, 91, OTHER, 4, PORT, 0x22, 3, JUDGED}}},
    {"a flow gets another port before it is known", {{"ab", SEND, 0x22, 5, Q, 1},
        {"ba", ACK, 0x12, 5, Q, 2}, {"ab", SEND, 0x22, 6, OTHER, 1, JUDGED},
        {"ba", ACK, 0x12, 6, Q, 2, JUDGED}, {"ba", ACK, 0x12, 5, OTHER, 2, JUDGED},
        {"ba", ACK, 0x12, 6, OTHER, 2, PORT, 0x22, 1, JUDGED}}},
    {"UC answers nothing", {{"ab", UC_SEND, 0x22, 5, P, 1}, {"ba", UC_SEND, 0x11, 5, P, 2},
        {"ab", UC_SEND, 0x22, 6, P, 1, JUDGED}, {"ba", UC_SEND, 0x11, 6, P, 2, JUDGED}}},
    {"CNPs have another port", {{"ab", SEND, 0x22, 5, Q, 1}, {"ab", SEND, 0x22, 6, Q, 1, JUDGED},
        {"ba", CNP, 0x12, 0, OTHER, 2, JUDGED}, {"ba", ACK, 0x12, 5, Q, 2, JUDGED},
        {"ba", CNP, 0x12, 0, OTHER, 2, JUDGED},
        {"ba", ACK, 0x12, 6, Q, 2, PORT, 0x22, 1, JUDGED},
        {"ba", CNP, 0x12, 0, OTHER, 2, PORT, 0x22, 1, JUDGED},
        {"ab", SEND, 0x22, 7, Q, 1, PORT, 0x12, 2, JUDGED}}},
    {"one address", {{"aa", SEND, 0x22, 5, P, 1}, {"aa", ACK, 0x11, 5, P, 2},
        {"aa", SEND, 0x22, 6, P, 1, JUDGED}, {"aa", ACK, 0x11, 6, P, 2, JUDGED}}},
    {"no port", {{"ab", SEND, 0x22, 5, 0, 1}, {"ab", SEND, 0x22, 6, 0, 1, JUDGED},
                 {"ba", ACK, 0x12, 5, 0, 2}, {"ba", ACK, 0x12, 6, 0, 2, JUDGED}}},
    {"equal numbers on two hosts", {{"ab", SEND, 0x11, 5, 0xc121, 1},
        {"ba", ACK, 0x11, 5, 0xc121, 2, PORT, 0x11, 1, JUDGED}}},
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
    smcr_cm_packet_t packet = {
        {frame, frame}, gid_of(step->route[0]), gid_of(step->route[1]), &message, true};
    g_assert_nonnull(smcr_rdma_manage(rdma, &packet).conn);
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
    if (!requests || !smcr_ib_is_response(packet->opcode))
        return;
    smcr_traffic_answer_t answer = smcr_traffic_answer(requests, slab, packet);
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
        .target.qpn = step->qpn,
        .opcode = opcode_of(step->what),
        .src_qpn = step->source,
        .has_src_qpn = step->what == DATAGRAM,
        .port = step->port,
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
    memcpy(roce.target.gid, gid_of(step->route[1]), SMCR_GID_LENGTH);
    smcr_rdma_flow_t *flow = smcr_rdma_take(rdma, &roce, &packet);
    g_assert_true(smcr_rdma_find(rdma, roce.source, &roce.target) == flow);
    check(step, flow);
    if (!flow->traffic || packet.opcode >= SMCR_RD)
        return;
    check_complete(step, smcr_rdma_reverse(flow), &packet, slab);
    smcr_flow_verdict_t verdict =
        smcr_traffic_take(flow->traffic, smcr_rdma_reverse(flow), slab->scope, &packet);
    g_assert_cmpuint(verdict.absent, ==, step->absent);
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
