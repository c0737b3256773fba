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
    {"open and close", {OPENED, {AB, DREQ, {DREQ_SENT, DREQ_RCVD}},
                        {BA, DREP, {TIMEWAIT, TIMEWAIT}}}},
    {"the server closes", {OPENED, {BA, DREQ, {DREQ_RCVD, DREQ_SENT}, .tid = 9},
                           {AB, DREP, {TIMEWAIT, TIMEWAIT}, .tid = 9}}},
    {"each twice", {{AB, REQ, {REQ_SENT, REQ_RCVD}}, {AB, REQ, {REQ_SENT, REQ_RCVD}, 1},
                    {BA, REP, {REP_RCVD, REP_SENT}}, {BA, REP, {REP_RCVD, REP_SENT}, 3},
                    {AB, RTU, {ESTABLISHED, ESTABLISHED}},
                    {AB, RTU, {ESTABLISHED, ESTABLISHED}, 5},
                    {AB, DREQ, {DREQ_SENT, DREQ_RCVD}}, {AB, DREQ, {DREQ_SENT, DREQ_RCVD}, 7},
                    {BA, DREP, {TIMEWAIT, TIMEWAIT}}, {BA, DREP, {TIMEWAIT, TIMEWAIT}, 9},
                    {AB, REQ, {TIMEWAIT, TIMEWAIT}, 1}}},
    {"rejected", {{AB, REQ, {REQ_SENT, REQ_RCVD}}, {BA, REJ, {IDLE, IDLE}}}},
    {"the client rejects a REP", {OPEN, {AB, REJ, {IDLE, IDLE}, .answered = 1}}},
    {"the server asks for time", {{AB, REQ, {REQ_SENT, REQ_RCVD}},
                                  {BA, MRA, {MRA_REQ_RCVD, MRA_REQ_SENT}},
                                  {BA, REP, {REP_RCVD, REP_SENT}},
                                  {AB, RTU, {ESTABLISHED, ESTABLISHED}}}},
    {"no RTU", {OPEN}},
    {"the capture begins with a DREQ", {{AB, DREQ, {DREQ_SENT, DREQ_RCVD}},
                                        {BA, DREP, {TIMEWAIT, TIMEWAIT}}}},

    /* MRA */
    {"the client asks for time", {OPEN, {AB, MRA, {MRA_REP_SENT, MRA_REP_RCVD}, .answered = 1},
                                  {AB, RTU, {ESTABLISHED, ESTABLISHED}}}},
    {"an MRA twice", {{AB, REQ, {REQ_SENT, REQ_RCVD}}, {BA, MRA, {MRA_REQ_RCVD, MRA_REQ_SENT}},
                      {AB, REQ, {MRA_REQ_RCVD, MRA_REQ_SENT}, 1},
                      {BA, MRA, {MRA_REQ_RCVD, MRA_REQ_SENT}, 2}}},
    {"rejected after an MRA", {{AB, REQ, {REQ_SENT, REQ_RCVD}},
                               {BA, MRA, {MRA_REQ_RCVD, MRA_REQ_SENT}}, {BA, REJ, {IDLE, IDLE}}}},
    {"the client rejects after its MRA", {OPEN,
        {AB, MRA, {MRA_REP_SENT, MRA_REP_RCVD}, .answered = 1},
        {AB, REJ, {IDLE, IDLE}, .answered = 1}}},
    {"an alternate path", {OPENED, {AB, LAP, {ESTABLISHED, ESTABLISHED}},
                           {BA, MRA, {ESTABLISHED, ESTABLISHED}, .answered = 2},
                           {BA, APR, {ESTABLISHED, ESTABLISHED}},
                           {AB, LAP, {ESTABLISHED, ESTABLISHED}, .tid = 7}}},

    /* REJ */
    {"a REJ of a host without a listener", {{AB, REQ, {REQ_SENT, REQ_RCVD}},
                                            {BA, REJ, {IDLE, IDLE}, .local = ZERO}}},
    {"that REJ is lost, and the next REQ is accepted", {{AB, REQ, {REQ_SENT, REQ_RCVD}},
        {BA, REJ, {REQ_SENT, IDLE}, .flags = LOST, .local = ZERO},
        {AB, REQ, {REQ_SENT, REQ_RCVD}, 1}, {BA, REP, {REP_RCVD, REP_SENT}}}},
    {"that REJ is lost, and comes again", {{AB, REQ, {REQ_SENT, REQ_RCVD}},
        {BA, REJ, {REQ_SENT, IDLE}, .flags = LOST, .local = ZERO},
        {AB, REQ, {REQ_SENT, REQ_RCVD}, 1}, {BA, REJ, {IDLE, IDLE}, 2, .local = ZERO}}},
    {"the client gives up", {{AB, REQ, {REQ_SENT, REQ_RCVD}},
                             {AB, REJ_TIMEOUT, {IDLE, IDLE}, .remote = ZERO, .answered = 2}}},
    {"the client gives up before any answer arrives", {{AB, REQ, {REQ_SENT, REQ_RCVD}},
        {BA, REP, {REQ_SENT, REP_SENT}, .flags = LOST},
        {AB, REJ_TIMEOUT, {IDLE, IDLE}, .remote = ZERO, .answered = 2}}},
    {"the server ends after its REP", {OPEN, {BA, REJ, {TIMEWAIT, TIMEWAIT}, .answered = 2}}},
    {"the server ends after its REP was lost", {{AB, REQ, {REQ_SENT, REQ_RCVD}},
        {BA, REP, {REQ_SENT, REP_SENT}, .flags = LOST},
        {BA, REJ, {REQ_SENT, TIMEWAIT}, .answered = 2}}},
    {"a stale connection", {{AB, REQ, {REQ_SENT, REQ_RCVD}},
                            {BA, REJ_STALE, {TIMEWAIT, IDLE}, .local = ZERO}}},
    {"a stale REP", {OPEN, {AB, REJ_STALE, {REQ_SENT, TIMEWAIT}, .answered = 1}}},
    {"a REQ again in timewait", {OPEN, {BA, REJ, {TIMEWAIT, TIMEWAIT}, .answered = 2},
        {AB, REQ, {TIMEWAIT, TIMEWAIT}, 1},
        {BA, REJ_STALE, {TIMEWAIT, TIMEWAIT}, .flags = RECEIVED, .answered = 2}}},
    {"a REJ of an established connection", {OPENED, {AB, REJ, {TIMEWAIT, TIMEWAIT}, .flags = SENT,
                                                     .answered = 2}}},

    /* Crossings */
    {"DREQs cross", {OPENED, {AB, DREQ, {DREQ_SENT, DREQ_RCVD}},
                     {BA, DREQ, {DREQ_RCVD, DREQ_RCVD}, .tid = 9},
                     {AB, DREP, {TIMEWAIT, TIMEWAIT}, .tid = 9}, {BA, DREP, {TIMEWAIT, TIMEWAIT}}}},
    {"DREQs cross, and one is lost", {OPENED, {AB, DREQ, {DREQ_SENT, ESTABLISHED}, .flags = LOST},
                     {BA, DREQ, {DREQ_RCVD, DREQ_SENT}, .tid = 9},
                     {AB, DREP, {TIMEWAIT, TIMEWAIT}, .tid = 9}}},
    {"a REJ crosses an RTU", {OPENED, {BA, REJ, {TIMEWAIT, TIMEWAIT}, .answered = 2}}},
    {"an RTU crosses a REJ", {OPEN, {BA, REJ, {TIMEWAIT, TIMEWAIT}, .answered = 2},
                              {AB, RTU, {TIMEWAIT, TIMEWAIT}}}},
    {"a REP crosses a REJ", {{AB, REQ, {REQ_SENT, REQ_RCVD}},
                             {AB, REJ_TIMEOUT, {IDLE, IDLE}, .remote = ZERO, .answered = 2},
                             {BA, REP, {IDLE, IDLE}}}},
    {"REJs cross", {OPEN, {BA, REJ, {TIMEWAIT, TIMEWAIT}, .answered = 2},
                    {AB, REJ, {IDLE, TIMEWAIT}, .answered = 1}}},
    {"an MRA crosses a REJ", {{AB, REQ, {REQ_SENT, REQ_RCVD}},
                              {AB, REJ_TIMEOUT, {IDLE, IDLE}, .remote = ZERO, .answered = 2},
                              {BA, MRA, {IDLE, IDLE}}, {BA, REP, {IDLE, IDLE}}}},
    {"data establishes the connection before the RTU", {OPEN,
        {BA, DREQ, {DREQ_RCVD, DREQ_SENT}, .flags = RECEIVED, .tid = 9},
        {AB, RTU, {DREQ_RCVD, DREQ_SENT}}, {AB, DREP, {TIMEWAIT, TIMEWAIT}, .tid = 9}}},
    {"REQs cross", {{AB, REQ, {REQ_SENT, REQ_RCVD}},
                    {BA, REQ, {REQ_SENT, REQ_RCVD}, .local = 2, .qpn = 0x22, .conn = 2},
                    {BA, REP, {REP_RCVD, REP_SENT}, .local = 3}}},

    /* IDs */
    {"IPv6", {{A6B6, REQ, {REQ_SENT, REQ_RCVD}}, {B6A6, REP, {REP_RCVD, REP_SENT}},
              {A6B6, RTU, {ESTABLISHED, ESTABLISHED}}}},
    {"both hosts number alike", {{AB, REQ, {REQ_SENT, REQ_RCVD}, .local = 5},
        {BA, REQ, {REQ_SENT, REQ_RCVD}, .local = 5, .conn = 2},
        {BA, REP, {REP_RCVD, REP_SENT}, .local = 6, .remote = 5},
        {AB, REP, {REP_RCVD, REP_SENT}, .local = 6, .remote = 5, .conn = 2},
        {AB, RTU, {ESTABLISHED, ESTABLISHED}, .local = 5, .remote = 6},
        {BA, RTU, {ESTABLISHED, ESTABLISHED}, .local = 5, .remote = 6, .conn = 2},
        {AB, DREQ, {DREQ_SENT, DREQ_RCVD}, .local = 5, .remote = 6},
        {AB, DREQ, {DREQ_RCVD, DREQ_SENT}, .local = 6, .remote = 5, .qpn = 0x11, .conn = 2}}},
    {"both ends have the same ID", {{AB, REQ, {REQ_SENT, REQ_RCVD}, .local = 5},
        {BA, REP, {REP_RCVD, REP_SENT}, .local = 5, .remote = 5},
        {AB, RTU, {ESTABLISHED, ESTABLISHED}, .local = 5, .remote = 5},
        {BA, DREQ, {DREQ_RCVD, DREQ_SENT}, .local = 5, .remote = 5}}},
    {"two devices of a host", {{AB, REQ, {REQ_SENT, REQ_RCVD}},
        {A2B2, REQ, {REQ_SENT, REQ_RCVD}, .conn = 2}, {B2A2, REP, {REP_RCVD, REP_SENT}, .conn = 2},
        {BA, REP, {REP_RCVD, REP_SENT}}, {A2B2, RTU, {ESTABLISHED, ESTABLISHED}, .conn = 2},
        {AB2, REQ, {REQ_SENT, REQ_RCVD}, .conn = 3}, {AB, RTU, {ESTABLISHED, ESTABLISHED}}}},
    {"IDs used again", {OPENED, {AB, DREQ, {DREQ_SENT, DREQ_RCVD}},
        {BA, DREP, {TIMEWAIT, TIMEWAIT}},
        {AB, REQ, {REQ_SENT, REQ_RCVD}, .tid = 5, .conn = 2},
        {BA, REP, {REP_RCVD, REP_SENT}, .tid = 5, .conn = 2},
        {AB, RTU, {ESTABLISHED, ESTABLISHED}, .tid = 5, .conn = 2},
        {AB, DREQ, {DREQ_SENT, DREQ_RCVD}, .conn = 2}}},
    {"IDs used again for another queue pair", {{AB, REQ, {REQ_SENT, REQ_RCVD}},
        {AB, REQ, {REQ_SENT, REQ_RCVD}, .qpn = 0x12, .conn = 2},
        {BA, REP, {REP_RCVD, REP_SENT}, .conn = 2}}},
    {"the server's ID used again", {OPENED, {AB, REQ, {REQ_SENT, REQ_RCVD}, .local = 3, .tid = 3,
                                             .conn = 2},
        {BA, REP, {REP_RCVD, REP_SENT}, .remote = 3, .tid = 3, .conn = 2},
        {AB, RTU, {ESTABLISHED, ESTABLISHED}, .local = 3, .tid = 3, .conn = 2},
        {BA, DREQ, {DREQ_RCVD, DREQ_SENT}, .remote = 3, .conn = 2}}},
    {"IDs used again, and the capture lacks the REQ", {{AB, REQ, {REQ_SENT, REQ_RCVD}},
        {BA, REJ, {IDLE, IDLE}, .local = ZERO},
        {BA, REP, {REP_RCVD, REP_SENT}, .tid = 3, .conn = 2},
        {AB, RTU, {ESTABLISHED, ESTABLISHED}, .tid = 3, .conn = 2}}},
    {"IDs used again, and the capture lacks REQ and REP", {{AB, REQ, {REQ_SENT, REQ_RCVD}},
        {BA, REJ, {IDLE, IDLE}, .local = ZERO},
        {AB, RTU, {ESTABLISHED, ESTABLISHED}, .tid = 3, .conn = 2}}},
    {"the server answers anew under another ID", {{AB, REQ, {REQ_SENT, REQ_RCVD}},
        {BA, REP, {REQ_SENT, REP_SENT}, .flags = LOST},
        {BA, REJ, {REQ_SENT, TIMEWAIT}, .flags = LOST, .answered = 2},
        {AB, REQ, {REQ_SENT, TIMEWAIT}, 1},
        {BA, REP, {REP_RCVD, REP_SENT}, .local = 3, .qpn = 0x23},
        {AB, RTU, {ESTABLISHED, ESTABLISHED}, .remote = 3}}},
    {"a DREQ for another queue pair", {OPENED, {AB, DREQ, {DREQ_SENT, ESTABLISHED},
                                                .flags = RECEIVED, .qpn = 0x33}}},

    /* The capture lacks messages */
    {"no REP in the capture", {{AB, REQ, {REQ_SENT, REQ_RCVD}},
        {AB, RTU, {ESTABLISHED, ESTABLISHED}, .flags = SENT | RECEIVED},
        {BA, DREQ, {DREQ_RCVD, DREQ_SENT}}}},
    {"no RTU in the capture", {OPEN, {AB, DREQ, {DREQ_SENT, DREQ_RCVD}, .flags = SENT},
                               {BA, DREP, {TIMEWAIT, TIMEWAIT}}}},
    {"no DREQ in the capture", {OPENED,
        {BA, DREP, {TIMEWAIT, TIMEWAIT}, .flags = SENT | RECEIVED}}},
    {"REQ only, then DREQ", {{AB, REQ, {REQ_SENT, REQ_RCVD}},
        {BA, DREQ, {DREQ_RCVD, DREQ_SENT}, .flags = SENT | RECEIVED}}},

    /* The capture begins late */
    {"DREP first", {{BA, DREP, {TIMEWAIT, TIMEWAIT}, .local = 2, .remote = 1}}},
    {"RTU first", {{AB, RTU, {ESTABLISHED, ESTABLISHED}}, {AB, DREQ, {DREQ_SENT, DREQ_RCVD}}}},
    {"REP first", {{BA, REP, {REP_RCVD, REP_SENT}}, {AB, RTU, {ESTABLISHED, ESTABLISHED}}}},
    {"REP first, then the REQ again", {{BA, REP, {NONE, REP_SENT}, .flags = LOST},
        {AB, REQ, {REQ_SENT, REP_SENT}}, {BA, REP, {REP_RCVD, REP_SENT}, 1}}},
    {"RTU first, then the same ID and transaction again", {
        {AB, RTU, {ESTABLISHED, ESTABLISHED}}, {AB, REQ, {REQ_SENT, REQ_RCVD}, .conn = 2},
        {BA, REP, {REP_RCVD, REP_SENT}, .conn = 2}}},
    {"MRA first", {{BA, MRA, {MRA_REQ_RCVD, MRA_REQ_SENT}}, {BA, REP, {REP_RCVD, REP_SENT}}}},
    {"REJ first", {{BA, REJ, {IDLE, IDLE}, .local = ZERO}}},
    {"REJ of nothing first", {{BA, REJ, {NONE, NONE}, .answered = 2}}},
    {"LAP first", {{AB, LAP, {NONE, NONE}}, {AB, DREQ, {DREQ_SENT, DREQ_RCVD}}}},

    /* Messages that do not arrive */
    {"the REQ is lost", {{AB, REQ, {REQ_SENT, NONE}, .flags = LOST},
                         {AB, REQ, {REQ_SENT, NONE}, 1, LOST},
                         {AB, REQ, {REQ_SENT, REQ_RCVD}, 1}, {BA, REP, {REP_RCVD, REP_SENT}}}},
    {"the REP is lost", {{AB, REQ, {REQ_SENT, REQ_RCVD}},
        {BA, REP, {REQ_SENT, REP_SENT}, .flags = LOST}, {AB, REQ, {REQ_SENT, REP_SENT}, 1},
        {BA, REP, {REP_RCVD, REP_SENT}, 2}, {AB, RTU, {ESTABLISHED, ESTABLISHED}}}},
    {"the RTU is lost", {OPEN, {AB, RTU, {ESTABLISHED, REP_SENT}, .flags = LOST},
                         {BA, REP, {ESTABLISHED, REP_SENT}, 2},
                         {AB, RTU, {ESTABLISHED, ESTABLISHED}, 3}}},
    {"the RTU is lost, and data comes", {OPEN,
        {AB, RTU, {ESTABLISHED, REP_SENT}, .flags = LOST}, {BA, DREQ, {DREQ_RCVD, DREQ_SENT}}}},
    {"DREQ and DREP are lost", {OPENED, {AB, DREQ, {DREQ_SENT, ESTABLISHED}, .flags = LOST},
        {AB, DREQ, {DREQ_SENT, DREQ_RCVD}, 4}, {BA, DREP, {DREQ_SENT, TIMEWAIT}, .flags = LOST},
        {AB, DREQ, {DREQ_SENT, TIMEWAIT}, 4}, {BA, DREP, {TIMEWAIT, TIMEWAIT}, 6}}},
    {"the capture has a DREP that was lost behind it", {OPENED, {AB, DREQ, {DREQ_SENT, DREQ_RCVD}},
        {BA, DREP, {TIMEWAIT, TIMEWAIT}}, {AB, DREQ, {DREQ_SENT, TIMEWAIT}, 4},
        {BA, DREP, {TIMEWAIT, TIMEWAIT}, 5}, {BA, DREP, {TIMEWAIT, TIMEWAIT}, 5}}},
    {"and so it has REP, RTU and REJ", {OPEN, {AB, REQ, {REQ_SENT, REP_SENT}, 1},
        {BA, REP, {REP_RCVD, REP_SENT}, 2}, {AB, RTU, {ESTABLISHED, ESTABLISHED}},
        {BA, REP, {ESTABLISHED, REP_SENT}, 2}, {AB, RTU, {ESTABLISHED, ESTABLISHED}, 5},
        {AB, REQ, {REQ_SENT, REQ_RCVD}, .local = 3, .tid = 3, .conn = 2},
        {BA, REJ, {IDLE, IDLE}, .local = ZERO, .remote = 3, .tid = 3, .conn = 2},
        {AB, REQ, {REQ_SENT, REQ_RCVD}, 8, .local = 3, .tid = 3, .conn = 2},
        {BA, MRA, {MRA_REQ_RCVD, MRA_REQ_SENT}, .local = 4, .remote = 3, .tid = 3, .conn = 2},
        {BA, REP, {REP_RCVD, REP_SENT}, .local = 4, .remote = 3, .tid = 3, .conn = 2},
        {AB, REQ, {MRA_REQ_RCVD, REP_SENT}, 8, .local = 3, .tid = 3, .conn = 2}}},
    {"the MRA is lost", {{AB, REQ, {REQ_SENT, REQ_RCVD}},
                         {BA, MRA, {REQ_SENT, MRA_REQ_SENT}, .flags = LOST},
                         {BA, REP, {REP_RCVD, REP_SENT}}}},

    /* SIDR */
    {"SIDR", {{AB, SIDR_REQ, {SIDR_REQ_SENT, SIDR_REQ_RCVD}},
              {BA, SIDR_REP, {IDLE, IDLE}, .local = 1},
              {AB, REQ, {REQ_SENT, REQ_RCVD}, .conn = 2}}},
    {"SIDR again", {{AB, SIDR_REQ, {SIDR_REQ_SENT, SIDR_REQ_RCVD}},
                    {AB, SIDR_REQ, {SIDR_REQ_SENT, SIDR_REQ_RCVD}, 1},
                    {BA, SIDR_REP, {SIDR_REQ_SENT, IDLE}, .flags = LOST, .local = 1},
                    {AB, SIDR_REQ, {SIDR_REQ_SENT, SIDR_REQ_RCVD}, 1},
                    {BA, SIDR_REP, {IDLE, IDLE}, 3, .local = 1}}},
    {"SIDR_REP first", {{BA, SIDR_REP, {IDLE, IDLE}, .local = 1}}},
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
    g_assert_cmpint(verdict->repeat_of, ==, step->repeat_of);
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

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        char *path = g_strdup_printf("/cm/%s", cases[i].name);
        g_test_add_data_func(path, GUINT_TO_POINTER(i), test_case);
        g_free(path);
    }
    return g_test_run();
}
