/* What LLC messages tell: links that come and go, RKeys on each of them, requests and responses.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "traffic.h"

#include <string.h>

#define R SMCR_LLC_FLAG_RESPONSE
#define REJECTED SMCR_LLC_FLAG_REJECTED
#define ALL SMCR_LLC_FLAG_ALL
#define V2 SMCR_LLC_TYPE_V2

/* The queue pairs of link 2, other than the first link's in devices and numbers. */
#define CLIENT_2 0x11, 0x30
#define SERVER_2 0x12, 0x40

/* One message, on link 1 unless it says otherwise, and what the state says of it. */
typedef struct {
    int side;         /* sender; END behind the last one */
    smcr_llc_t llc;   /* GIDs are filled in from `device` */
    uint8_t device;
    bool on_second;   /* on link 2 */
    int answers;      /* its request's number in the table, from 1 */
    const char *events;
} step_t;

#define END (-1)
#define STOP {.side = END}
#define TO_COME "link_not_confirmed" /* unless it comes */
#define TOKENS(...) \
    .rtokens_in_message = (smcr_rtoken_t[]){__VA_ARGS__}, \
    .rtoken_count = sizeof((smcr_rtoken_t[]){__VA_ARGS__}) / sizeof(smcr_rtoken_t)
#define ADD(flags_, device_, qpn_, ...) \
    .llc = {.type = SMCR_LLC_ADD_LINK, .flags = flags_, \
     .u.add_link = {.qpn = qpn_, .link = 2, .mtu = 3, .psn = 7000}, __VA_ARGS__}, .device = device_
#define ADD_OF(flags_, qp, ...) ADD_OF_(flags_, qp, __VA_ARGS__)
#define ADD_OF_(flags_, device_, qpn_, ...) ADD(flags_, device_, qpn_, __VA_ARGS__)
#define CONT(flags_, link_, ...) \
    .llc = {.type = SMCR_LLC_ADD_LINK_CONT, .flags = flags_, .u.add_link_cont = {.link = link_}, \
     __VA_ARGS__}
#define CONFIRM_OF(flags_, qp) CONFIRM_(flags_, qp)
#define CONFIRM_(flags_, device_, qpn_) \
    .llc = {.type = SMCR_LLC_CONFIRM_LINK, .flags = flags_, \
     .u.confirm_link = {.qpn = qpn_, .link = 2}}, .device = device_
#define DELETE(flags_, link_, reason_) \
    .llc = {.type = SMCR_LLC_DELETE_LINK, .flags = flags_, .u.delete_link = {link_, reason_}}
#define RKEY(flags_, rkey_, ...) \
    .llc = {.type = SMCR_LLC_CONFIRM_RKEY, .flags = flags_, \
     .u.confirm_rkey = {.rkey = rkey_, .va = 0x5000}, __VA_ARGS__}
#define RKEY_CONT(flags_, ...) \
    .llc = {.type = SMCR_LLC_CONFIRM_RKEY_CONT, .flags = flags_, __VA_ARGS__}
#define DELETE_RKEY(flags_, ...) \
    .llc = {.type = SMCR_LLC_DELETE_RKEY, .flags = flags_, .u.delete_rkey = {1, 0}, __VA_ARGS__}
#define TEST(flags_, data_) \
    .llc = {.type = SMCR_LLC_TEST_LINK, .flags = flags_, .u.test_link = {{data_}}}
#define REQ_ADD .llc = {.type = SMCR_LLC_REQ_ADD_LINK}

/* Link 2, from the offer to its confirmation. */
#define LINK_2_OFFERED \
    {.side = SERVER, ADD_OF(0, SERVER_2, TOKENS({0, SERVER_RKEY, 0x201, 0x9000})), .events = ""}
#define LINK_2_TAKEN \
    {.side = CLIENT, ADD_OF(R, CLIENT_2, TOKENS({0, CLIENT_RKEY, 0x101, 0x8000})), .answers = 1, \
     .events = TO_COME}
#define LINK_2_CONFIRMED \
    {.side = SERVER, CONFIRM_OF(0, SERVER_2), .on_second = 1, .events = ""}, \
    {.side = CLIENT, CONFIRM_OF(R, CLIENT_2), .on_second = 1, .answers = 3, \
     .events = "link_active lgr_type"}
#define LINK_2 LINK_2_OFFERED, LINK_2_TAKEN, LINK_2_CONFIRMED

/* An RMB's key on a link afterwards. */
typedef struct {
    int side;         /* owner */
    uint8_t link;     /* number; 0 behind the last one */
    uint32_t rkey;
    uint32_t primary; /* key of the same RMB on link 1; 0: none has this key */
    bool deleted;
} rkey_case_t;

static const struct {
    const char *name;
    step_t steps[9];
    int active_links;
    smcr_link_state_t second; /* link with index 1, when there is one */
    bool ended;
    rkey_case_t keys[6];
} cases[] = {
    {.name = "TEST LINK",
     .steps = {
        {.side = SERVER, TEST(0, 5), .events = ""},
        {.side = CLIENT, TEST(R, 5), .answers = 1, .events = ""},
        {.side = CLIENT, TEST(0, 6), .events = ""},
        {.side = SERVER, TEST(R, 6), .answers = 3, .events = ""}, STOP},
     .active_links = 1},
    {.name = "TEST LINK both ways at once",
     .steps = {
        {.side = SERVER, TEST(0, 0), .events = ""},
        {.side = CLIENT, TEST(0, 0), .events = ""},
        {.side = SERVER, TEST(R, 0), .answers = 2, .events = ""},
        {.side = CLIENT, TEST(R, 0), .answers = 1, .events = ""}, STOP},
     .active_links = 1},
    {.name = "wrong echo",
     .steps = {
        {.side = SERVER, TEST(0, 5), .events = ""},
        {.side = CLIENT, TEST(R, 9), .answers = 1, .events = "llc_not_echoed"}, STOP},
     .active_links = 1},
    {.name = "no echo, on another link",
     .steps = {LINK_2, /* its own request is lost */
        {.side = SERVER, TEST(0, 5), .events = ""},
        {.side = CLIENT, TEST(R, 9), .answers = 5, .events = "llc_not_echoed"},
        {.side = SERVER, TEST(0, 5), .events = ""},
        {.side = CLIENT, TEST(R, 9), .on_second = 1, .events = "llc_no_request"},
        STOP},
     .active_links = 2, .second = SMCR_LINK_ACTIVE},
    {.name = "without request",
     .steps = {{.side = CLIENT, TEST(R, 5), .events = "llc_unrequested"}, STOP},
     .active_links = 1},
    {.name = "again, or the answer to a lost request",
     .steps = {
        {.side = SERVER, TEST(0, 5), .events = ""},
        {.side = CLIENT, TEST(R, 5), .answers = 1, .events = ""},
        {.side = CLIENT, TEST(R, 5), .events = "llc_unrequested"},
        {.side = CLIENT, TEST(R, 6), .events = "llc_no_request"},
        STOP},
     .active_links = 1},
    {.name = "two requests that cannot be told apart",
     .steps = {
        {.side = SERVER, TEST(0, 0), .events = ""},
        {.side = SERVER, TEST(0, 0), .events = ""},
        {.side = CLIENT, TEST(R, 0), .events = ""}, STOP},
     .active_links = 1},
    {.name = "the response before is lost",
     .steps = {
        {.side = SERVER, RKEY(0, 0x300), .events = ""},
        {.side = SERVER, RKEY(0, 0x301), .events = ""},
        {.side = CLIENT, RKEY(R, 0x301), .answers = 2, .events = ""},
        {.side = CLIENT, RKEY(R, 0x300), .answers = 1, .events = ""}, STOP},
     .active_links = 1,
     .keys = {{.side = SERVER, .link = 1, .rkey = 0x300, .primary = 0x300},
              {.side = SERVER, .link = 1, .rkey = 0x301, .primary = 0x301}}},
    {.name = "one's own request is no response's",
     .steps = {
        {.side = CLIENT, TEST(0, 5), .events = ""},
        {.side = CLIENT, TEST(R, 5), .events = "llc_unrequested"}, STOP},
     .active_links = 1},
    {.name = "ADD LINK accepted", .steps = {LINK_2, STOP}, .active_links = 2,
     .second = SMCR_LINK_ACTIVE,
     .keys = {
        {.side = SERVER, .link = 2, .rkey = 0x201, .primary = SERVER_RKEY},
        {.side = CLIENT, .link = 2, .rkey = 0x101, .primary = CLIENT_RKEY},
        {.side = SERVER, .link = 2, .rkey = SERVER_RKEY},
        {.side = CLIENT, .link = 2, .rkey = 0x201}}},
    {.name = "ADD LINK accepted, RKeys follow",
     .steps = {
        {.side = SERVER, ADD_OF(0, SERVER_2), .events = ""},
        {.side = CLIENT, ADD_OF(R, CLIENT_2), .answers = 1, .events = TO_COME},
        {.side = SERVER, CONT(0, 2, TOKENS({0, 0x200, 0x201, 9}, {0, 0x777, 1, 2})),
         .events = "rkey_unknown"},
        {.side = CLIENT, CONT(R, 2, TOKENS({0, CLIENT_RKEY, 0x101, 0x8000})), .answers = 3,
         .events = ""},
        {.side = SERVER, CONT(0, 9, TOKENS({0, SERVER_RKEY, 0x299, 0x9000})),
         .events = "rkey_wrong_link link_unknown_number"}, STOP},
     .active_links = 1, .second = SMCR_LINK_ANNOUNCED,
     .keys = {
        {.side = SERVER, .link = 2, .rkey = 0x201, .primary = SERVER_RKEY},
        {.side = CLIENT, .link = 2, .rkey = 0x101, .primary = CLIENT_RKEY},
        {.side = SERVER, .link = 2, .rkey = 1}, {.side = SERVER, .link = 2, .rkey = 0x299}}},
    {.name = "ADD LINK rejected",
     .steps = { /* the reply echoes the server's data */
        LINK_2_OFFERED,
        {.side = CLIENT, ADD_OF(R | REJECTED, SERVER_2), .answers = 1, .events = ""}, STOP},
     .active_links = 1, .second = SMCR_LINK_REJECTED},
    {.name = "ADD LINK rejected after acceptance",
     .steps = {
        LINK_2_OFFERED, LINK_2_TAKEN,
        {.side = CLIENT, ADD_OF(R | REJECTED, SERVER_2), .answers = 1,
         .events = "llc_second_answer"}, STOP},
     .active_links = 1, .second = SMCR_LINK_REJECTED},
    {.name = "ADD LINK anew, with another queue pair",
     .steps = {
        {.side = SERVER, ADD(0, 0x12, 0x3f), .events = ""}, LINK_2_OFFERED,
        {.side = CLIENT, ADD_OF(R, CLIENT_2, TOKENS({0, CLIENT_RKEY, 0x101, 0x8000})),
         .events = ""}, STOP},
     .active_links = 1, .second = SMCR_LINK_REJECTED,
     .keys = {{.side = CLIENT, .link = 2, .rkey = 0x101, .primary = CLIENT_RKEY}}},
    {.name = "ADD LINK anew, with the same queue pair",
     .steps = {
        LINK_2_OFFERED, LINK_2_OFFERED,
        {.side = CLIENT, ADD_OF(R, CLIENT_2), .events = ""}, STOP},
     .active_links = 1, .second = SMCR_LINK_ANNOUNCED,
     .keys = {{.side = SERVER, .link = 2, .rkey = 0x201, .primary = SERVER_RKEY}}},
    {.name = "ADD LINK without its request",
     .steps = {
        {.side = CLIENT, ADD_OF(R, CLIENT_2, TOKENS({0, CLIENT_RKEY, 0x101, 0x8000})),
         .events = "llc_unrequested link_unknown_number"},
        {.side = SERVER, CONFIRM_OF(0, SERVER_2), .on_second = 1, .events = ""},
        /* of what the absent request may have told */
        {.side = CLIENT, CONFIRM_OF(R, CLIENT_2), .on_second = 1, .answers = 2,
         .events = "rkey_not_on_link link_active lgr_type"}, STOP},
     .active_links = 2, .second = SMCR_LINK_ACTIVE,
     .keys = {{.side = CLIENT, .link = 2, .rkey = 0x101, .primary = CLIENT_RKEY}}},
    {.name = "a client asks for a link (v1)",
     .steps = {
        {.side = CLIENT, ADD(0, 0x11, 0), .events = "llc_wish_ignored"},
        {.side = SERVER, ADD_OF(0, SERVER_2), .answers = 1, .events = ""},
        {.side = CLIENT, ADD_OF(R, CLIENT_2), .answers = 2, .events = TO_COME}, STOP},
     .active_links = 1, .second = SMCR_LINK_ANNOUNCED},
    {.name = "a client asks for a link (v2)",
     .steps = {
        {.side = CLIENT, REQ_ADD, .events = "llc_wish_ignored"},
        {.side = SERVER, ADD_OF(0, SERVER_2), .answers = 1, .events = ""}, STOP},
     .active_links = 1, .second = SMCR_LINK_ANNOUNCED},
    {.name = "a client offers a link",
     .steps = { /* only servers do that */
        {.side = CLIENT, ADD_OF(0, CLIENT_2), .events = "llc_wrong_sender"}, STOP},
     .active_links = 1},
    {.name = "CONFIRM LINK names another queue pair",
     .steps = {
        LINK_2_OFFERED, LINK_2_TAKEN,
        {.side = SERVER, CONFIRM_(0, 0x12, 0x99), .on_second = 1, .events = "link_mismatch"}, STOP},
     .active_links = 1, .second = SMCR_LINK_ANNOUNCED},
    {.name = "CONFIRM RKEY on two links",
     .steps = {LINK_2,
        {.side = CLIENT, RKEY(0, 0x300, TOKENS({2, 0, 0x301, 0x5000})), .events = ""},
        {.side = SERVER, RKEY(R, 0x300, TOKENS({2, 0, 0x301, 0x5000})), .answers = 5,
         .events = ""}, STOP},
     .active_links = 2, .second = SMCR_LINK_ACTIVE,
     .keys = {
        {.side = CLIENT, .link = 1, .rkey = 0x300, .primary = 0x300},
        {.side = CLIENT, .link = 2, .rkey = 0x301, .primary = 0x300},
        {.side = SERVER, .link = 1, .rkey = 0x300}, {.side = SERVER, .link = 2, .rkey = 0x301}}},
    {.name = "CONFIRM RKEY, sent on link 2",
     .steps = {LINK_2,
        {.side = CLIENT, RKEY(0, 0x301, TOKENS({1, 0, 0x300, 0x5000})), .on_second = 1,
         .events = ""}, STOP},
     .active_links = 2, .second = SMCR_LINK_ACTIVE,
     .keys = {{.side = CLIENT, .link = 1, .rkey = 0x300, .primary = 0x300},
              {.side = CLIENT, .link = 2, .rkey = 0x301, .primary = 0x300}}},
    {.name = "CONFIRM RKEY with continuation",
     .steps = {LINK_2,
        {.side = SERVER, RKEY(0, 0x300), .events = "rkey_link_missing"},
        {.side = SERVER, RKEY_CONT(0, TOKENS({2, 0, 0x301, 0x5000}, {7, 0, 0x302, 0x5000})),
         .events = "rkey_wrong_link rkey_count link_unknown_number"},
        {.side = CLIENT, RKEY_CONT(R, TOKENS({2, 0, 0x399, 0x5000})), .answers = 6,
         .events = "llc_not_echoed"}, STOP},
     .active_links = 2, .second = SMCR_LINK_ACTIVE,
     .keys = {
        {.side = SERVER, .link = 1, .rkey = 0x300, .primary = 0x300},
        {.side = SERVER, .link = 2, .rkey = 0x301, .primary = 0x300},
        {.side = SERVER, .link = 2, .rkey = 0x399}, {.side = CLIENT, .link = 2, .rkey = 0x301}}},
    {.name = "continuation without CONFIRM RKEY",
     .steps = {LINK_2,
        {.side = SERVER, RKEY_CONT(0, TOKENS({2, 0, 0x301, 0x5000})), .events = "rkey_count"},
        STOP},
     .active_links = 2, .second = SMCR_LINK_ACTIVE,
     .keys = {{.side = SERVER, .link = 2, .rkey = 0x301}}},
    {.name = "DELETE RKEY",
     .steps = {LINK_2, /* one link's RKey frees the RMB on all */
        {.side = SERVER, DELETE_RKEY(0, TOKENS({0, 0, SERVER_RKEY, 0})),
         .events = "rkey_deleted_in_use"},
        {.side = CLIENT, DELETE_RKEY(R, TOKENS({0, 0, SERVER_RKEY, 0})), .answers = 5,
         .events = ""}, STOP},
     .active_links = 2, .second = SMCR_LINK_ACTIVE,
     .keys = {
        {.side = SERVER, .link = 1, .rkey = SERVER_RKEY, .primary = SERVER_RKEY, .deleted = 1},
        {.side = SERVER, .link = 2, .rkey = 0x201, .primary = SERVER_RKEY, .deleted = 1},
        {.side = CLIENT, .link = 1, .rkey = CLIENT_RKEY, .primary = CLIENT_RKEY}}},
    {.name = "DELETE RKEY of the peer's RMB",
     .steps = {
        {.side = CLIENT, DELETE_RKEY(0, TOKENS({0, 0, SERVER_RKEY, 0})),
         .events = "rkey_not_announced rkey_unknown"}, STOP},
     .active_links = 1,
     .keys = {{.side = SERVER, .link = 1, .rkey = SERVER_RKEY, .primary = SERVER_RKEY}}},
    {.name = "RKey used again",
     .steps = {
        {.side = SERVER, DELETE_RKEY(0, TOKENS({0, 0, SERVER_RKEY, 0})),
         .events = "rkey_deleted_in_use"},
        {.side = CLIENT, DELETE_RKEY(R, TOKENS({0, 0, SERVER_RKEY, 0})), .answers = 1,
         .events = ""},
        {.side = SERVER, DELETE_RKEY(0, TOKENS({0, 0, SERVER_RKEY, 0})), .events = "rkey_unknown"},
        {.side = SERVER, RKEY(0, SERVER_RKEY), .events = ""}, STOP},
     .active_links = 1,
     .keys = {{.side = SERVER, .link = 1, .rkey = SERVER_RKEY, .primary = SERVER_RKEY}}},
    {.name = "DELETE LINK by the server",
     .steps = {LINK_2,
        {.side = SERVER, DELETE(0, 2, 0x10000), .events = "link_lost link_deleted lgr_type"},
        {.side = CLIENT, DELETE(R, 2, 0x10000), .answers = 5, .events = ""}, STOP},
     .active_links = 1, .second = SMCR_LINK_DELETED},
    {.name = "DELETE LINK of a link that was never confirmed",
     .steps = {LINK_2_OFFERED, LINK_2_TAKEN,
        {.side = SERVER, CONFIRM_OF(0, SERVER_2), .on_second = 1, .events = ""},
        {.side = SERVER, DELETE(0, 2, 0x10000), .events = "link_deleted"}, STOP},
     .active_links = 1, .second = SMCR_LINK_DELETED},
    {.name = "DELETE LINK by the client",
     .steps = {LINK_2, /* asks the server to do it */
        {.side = CLIENT, DELETE(0, 2, 0x10000), .events = "link_lost link_delete_asked"},
        {.side = SERVER, DELETE(0, 2, 0x10000), .answers = 5, .events = "link_deleted lgr_type"},
        {.side = CLIENT, DELETE(R, 2, 0x100000), .answers = 6, .events = ""}, STOP},
     .active_links = 1, .second = SMCR_LINK_DELETED},
    {.name = "DELETE LINK as an answer",
     .steps = { /* though it does not say that it is a response */
        {.side = SERVER, DELETE(0, 1, 0x100000), .events = "delete_link_reason_kind"}, STOP},
     .active_links = 1},
    {.name = "DELETE LINK of an unknown link",
     .steps = {{.side = SERVER, DELETE(0, 9, 0x10000), .events = "link_unknown_number"}, STOP},
     .active_links = 1},
    {.name = "DELETE LINK for all",
     .steps = {LINK_2,
        {.side = SERVER, DELETE(ALL, 0, 0x30000), .events = "lgr_ended lgr_lost"}, STOP},
     .second = SMCR_LINK_DELETED, .ended = 1},
    {.name = "DELETE LINK of the only link",
     .steps = {{.side = SERVER, DELETE(0, 1, 0x30000), .events = "link_deleted lgr_lost"}, STOP},
     .ended = 1},
    {.name = "unknown and optional types",
     .steps = {
        {.side = SERVER, .llc = {.type = 0x8a}, .events = ""},
        {.side = SERVER, .llc = {.type = 0x0a}, .events = ""},
        {.side = SERVER, .llc = {.type = 0x00}, .events = ""}, STOP},
     .active_links = 1},
    {.name = "RKeys change while links do",
     .steps = { LINK_2_OFFERED, {.side = CLIENT, RKEY(0, 0x300), .events = "llc_collision"}, STOP},
     .active_links = 1, .second = SMCR_LINK_ANNOUNCED},
};

static void
play_step(capture_t *capture, const step_t *step)
{
    smcr_llc_t llc = step->llc;
    smcr_ib_qp_key_t device = key_of(step->device, 0);

    if ((llc.type & ~V2) == SMCR_LLC_ADD_LINK)
        memcpy(llc.u.add_link.gid, device.gid, SMCR_GID_LENGTH);
    if ((llc.type & ~V2) == SMCR_LLC_CONFIRM_LINK)
        memcpy(llc.u.confirm_link.gid, device.gid, SMCR_GID_LENGTH);
    if (!step->on_second)
        play_llc(capture, step->side, llc);
    else if (step->side == SERVER)
        play_llc_on(capture, 0x12, key_of(CLIENT_2), AUTO_PSN, llc);
    else
        play_llc_on(capture, 0x11, key_of(SERVER_2), AUTO_PSN, llc);
}

static void
check_steps(capture_t *capture, const step_t *steps)
{
    uint32_t before = capture->frame;
    smcr_exchange_t *asked[10] = {NULL};

    for (unsigned i = 0; steps[i].side != END; i++) {
        play_step(capture, &steps[i]);
        g_assert_cmpstr(events(capture), ==, steps[i].events);
        g_assert_cmpint(capture->record.kind, ==, SMCR_RECORD_LLC);
        g_assert_cmpint(capture->record.sender, ==, steps[i].side);
        g_assert_cmpuint(capture->record.link->index, ==, steps[i].on_second);
        g_assert_null(capture->record.conn);
        const smcr_exchange_t *answered = capture->record.ends_exchange;
        uint32_t request = answered ? answered->request_frame - before : 0;
        g_assert_cmpint((int)request, ==, steps[i].answers);
        if (answered)
            g_assert_cmpuint(answered->response_frame, ==, capture->frame);
        asked[i] = capture->record.begins_exchange;
        bool known_type = (steps[i].llc.type & 0x8f) - 1U < 9;
        g_assert_cmpint(asked[i] != NULL, ==, known_type && !(steps[i].llc.flags & R));
    }
}

static void
check_keys(const capture_t *capture, const smcr_lgr_t *lgr, const smcr_link_t *first,
           const rkey_case_t *keys)
{
    for (; keys->link; keys++) {
        const smcr_link_t *link = keys->link == 1 ? first : smcr_lgr_link(lgr, keys->link);
        g_assert_nonnull(link);
        const smcr_rmb_rtoken_t *entry =
            smcr_rmb_find(capture->state, &link->qp[keys->side], keys->rkey);
        const smcr_rmb_rtoken_t *primary =
            smcr_rmb_find(capture->state, &first->qp[keys->side], keys->primary);
        g_assert_true((entry ? entry->rmb : NULL) == (primary ? primary->rmb : NULL));
        g_assert_cmpint(entry != NULL, ==, keys->primary != 0);
        if (entry) {
            g_assert_cmpint(entry->rmb->deleted_frame != 0, ==, keys->deleted);
            g_assert_cmpint(entry->rmb->side, ==, keys->side);
        }
    }
}

static void
test_case(gconstpointer data)
{
    unsigned i = GPOINTER_TO_UINT(data);
    capture_t capture;

    capture_open(&capture);
    const smcr_conn_t *conn = first_contact(&capture);
    const smcr_link_t *first = conn->side[SERVER].link;
    confirm_first_link(&capture);
    smcr_link_t *second = NULL;
    const smcr_lgr_t *lgr = conn->lgr;
    check_steps(&capture, cases[i].steps);
    g_assert_cmpuint(lgr->active_links, ==, (unsigned)cases[i].active_links);
    g_assert_cmpint(lgr->ended_frame != 0, ==, cases[i].ended);
    smcr_ib_qp_key_t ends[] = {key_of(SERVER_2), key_of(CLIENT_2), key_of(0x12, 0x3f)};
    for (unsigned n = 0; n < G_N_ELEMENTS(ends); n++) {
        const smcr_qp_t *qp = smcr_qp_find(capture.state, &ends[n]);
        if (qp && qp->link->index == 1)
            second = qp->link;
    }
    g_assert_cmpuint(capture.state->link_count >= 2, ==, second != NULL);
    if (second)
        g_assert_cmpint(second->state, ==, cases[i].second);
    check_keys(&capture, lgr, first, cases[i].keys);
    capture_close(&capture);
}

/* The next frame comes so many microseconds after the last one. */
static void
pause(capture_t *capture, uint64_t microseconds)
{
    capture->time += microseconds * 1000 - MILLISECOND;
}

/* The client begins an exchange while the server's is open: when do the two cross? */
static const struct {
    uint32_t acked, later; /* microseconds to the acknowledgement (0: none), and on */
    bool crosses;
} crossings[] = {
    {.later = 1000, .crosses = true}, {.later = 102000, .crosses = true},
    {.acked = 100, .later = 1, .crosses = true}, {.acked = 100, .later = 1000, .crosses = true},
    {.acked = 100, .later = 1001}, {.acked = 4000, .later = 1001, .crosses = true},
    {.acked = 4000, .later = 4000, .crosses = true}, {.acked = 4000, .later = 4001},
};

static void
test_crossing(void)
{
    const step_t exchanges[][2] = {
        {LINK_2_OFFERED, {.side = CLIENT, RKEY(0, 0x300), .events = ""}},
        {{.side = SERVER, RKEY(0, 0x300), .events = ""},
         {.side = CLIENT, ADD(0, 0x11, 0), .events = ""}},
        {{.side = SERVER, DELETE(0, 1, 0x10000), .events = ""},
         {.side = CLIENT, DELETE(0, 1, 0x10000), .events = ""}},
    };

    for (unsigned row = 0; row < G_N_ELEMENTS(crossings); row++)
        for (unsigned kind = 0; kind < G_N_ELEMENTS(exchanges); kind++) {
            capture_t capture;
            capture_open(&capture);
            first_contact(&capture);
            confirm_first_link(&capture);
            play_step(&capture, &exchanges[kind][0]);
            pause(&capture, crossings[row].acked);
            if (crossings[row].acked)
                play_ack(&capture, CLIENT, capture.roce.psn);
            pause(&capture, crossings[row].later);
            play_step(&capture, &exchanges[kind][1]);
            bool same = kind == 2; /* is waited for as long as the capture lasts */
            bool crosses = crossings[row].crosses || (same && !crossings[row].acked);
            const smcr_event_t *event = capture.record.events;
            while (event && event->id != SMCR_EVENT_llc_collision)
                event = event->next;
            g_assert_cmpint(event != NULL, ==, crosses);
            if (event && !crossings[row].acked) /* the acknowledgement may be absent */
                g_assert_false(smcr_doubt_proof_holds(capture.state, event->deferred_check));
            capture_close(&capture);
        }
}

/* DELETE LINK for all links from either side: the client's answers the server's. */
static void
test_end_of_group(void)
{
    const step_t by_server =
        {.side = SERVER, DELETE(ALL, 0, 0x30000), .events = ""};
    const step_t by_client =
        {.side = CLIENT, DELETE(ALL, 0, 0x30000), .events = ""};

    for (unsigned late = 0; late < 2; late++) {
        capture_t capture;
        capture_open(&capture);
        first_contact(&capture);
        confirm_first_link(&capture);
        play_step(&capture, &by_server);
        uint32_t frame = capture.frame;
        play_ack(&capture, CLIENT, capture.roce.psn);
        pause(&capture, late ? 2000 : 500);
        play_step(&capture, &by_client);
        const smcr_exchange_t *answered = capture.record.ends_exchange;
        g_assert_cmpuint(answered ? answered->request_frame : 0, ==, late ? frame : 0);
        g_assert_cmpstr(events(&capture), ==, late ? "" : "llc_collision");
        g_assert_null(capture.record.begins_exchange);
        capture_close(&capture);
    }
}

/* The first link's CONFIRM LINK. */
static void
test_confirm_link(void)
{
    capture_t capture;

    capture_open(&capture);
    const smcr_conn_t *conn = first_contact(&capture);
    const smcr_link_t *link = conn->side[SERVER].link;
    g_assert_false(link->has_number);
    confirm_first_link(&capture);
    g_assert_cmpstr(events(&capture), ==, "link_active");
    g_assert_cmpint(link->state, ==, SMCR_LINK_ACTIVE);
    g_assert_cmpuint(link->confirm_frame, ==, capture.frame - 1);
    g_assert_true(link->has_number);
    g_assert_cmpuint(link->number, ==, 1);
    capture_close(&capture);
}

/* The capture begins with CONFIRM LINK: it names the sender's queue pair and its role. */
static void
test_late_confirm_link(void)
{
    static const struct {
        uint8_t device; /* that the message names; it comes from 1 */
        bool learned;
    } devices[] = {{1, true}, {3, false}};

    for (unsigned i = 0; i < G_N_ELEMENTS(devices); i++) {
        capture_t capture;
        smcr_llc_t llc = {.type = SMCR_LLC_CONFIRM_LINK, .u.confirm_link = {.qpn = 5, .link = 4}};
        smcr_ib_qp_key_t named = key_of(devices[i].device, 5), target = key_of(2, 9);
        capture_open(&capture);
        memcpy(llc.u.confirm_link.gid, named.gid, SMCR_GID_LENGTH);
        play_llc_on(&capture, 1, target, 50, llc);
        const smcr_qp_t *qp = smcr_qp_find(capture.state, &named);
        const smcr_link_t *link = smcr_qp_find(capture.state, &target)->link;
        g_assert_cmpint(qp != NULL, ==, devices[i].learned);
        g_assert_cmpstr(events(&capture), ==, devices[i].learned ? "" : "link_mismatch");
        if (qp) {
            g_assert_true(qp->link == link);
            g_assert_cmpint(link->lgr->server, ==, qp->side);
            g_assert_cmpint(capture.record.direction, ==, 1);
        }
        capture_close(&capture);
    }
}

/* Whoever asks for a link without naming a queue pair is no server. */
static void
test_late_wish(void)
{
    capture_t capture;
    smcr_llc_t llc = {.type = SMCR_LLC_ADD_LINK};

    capture_open(&capture);
    play_llc_on(&capture, 1, key_of(2, 9), 50, llc);
    const smcr_lgr_t *lgr = capture.record.link->lgr;
    g_assert_cmpint(lgr->server, ==, SMCR_LGR_SIDE_UNKNOWN);
    g_assert_cmpuint(wmem_list_count(lgr->links), ==, 1);
    capture_close(&capture);
}

/* Behind a gap: taken in when the receiver acknowledges it, in order, with what follows. */
static void
test_deferred(void)
{
    capture_t capture;
    static const struct {
        uint32_t psn; /* from the first one behind the gap */
        uint32_t rkey;
        bool delete;
        smcr_flow_order_t order;
    } sent[] = {{.psn = 2, .rkey = 0x300, .delete = true, .order = SMCR_FLOW_IS_AFTER_GAP},
                {.psn = 1, .rkey = 0x300, .order = SMCR_FLOW_IS_LATE},
                {.psn = 3, .rkey = 0x301, .order = SMCR_FLOW_IS_AFTER_GAP},
                {.psn = 1, .rkey = 0x300, .order = SMCR_FLOW_IS_RETRANSMISSION}};

    capture_open(&capture);
    const smcr_conn_t *conn = first_contact(&capture);
    confirm_first_link(&capture);
    const smcr_qp_t *owner = &conn->side[SERVER].link->qp[SERVER];
    uint32_t next = conn->side[CLIENT].link->qp[CLIENT].traffic.flow.expected_psn & SMCR_PSN_MASK;
    play_ack(&capture, CLIENT, next - 1);
    for (unsigned i = 0; i < G_N_ELEMENTS(sent); i++) {
        smcr_rtoken_t rkey = {.rkey = sent[i].rkey};
        smcr_llc_t llc = {.type = sent[i].delete ? SMCR_LLC_DELETE_RKEY : SMCR_LLC_CONFIRM_RKEY};
        if (sent[i].delete) {
            llc.rtokens_in_message = &rkey;
            llc.rtoken_count = 1;
        } else {
            llc.u.confirm_rkey.rkey = sent[i].rkey;
        }
        play_llc_on(&capture, HOST(SERVER), qp_of_side(CLIENT), next + sent[i].psn, llc);
        g_assert_cmpint(capture.record.order, ==, sent[i].order);
        g_assert_null(smcr_rmb_find(capture.state, owner, sent[i].rkey));
    }
    play_ack(&capture, CLIENT, next + 2);
    g_assert_nonnull(smcr_rmb_find(capture.state, owner, 0x300));
    g_assert_cmpuint(conn->lgr->withdrawn[SERVER].count, ==, 1);
    g_assert_nonnull(smcr_rmb_find(capture.state, owner, 0x301));
    g_assert_cmpuint(wmem_list_count(conn->lgr->pending), ==, 3);
    capture_close(&capture);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        char *path = g_strdup_printf("/llc/%s", cases[i].name);
        g_test_add_data_func(path, GUINT_TO_POINTER(i), test_case);
        g_free(path);
    }
    g_test_add_func("/llc/crossing", test_crossing);
    g_test_add_func("/llc/end of group", test_end_of_group);
    g_test_add_func("/llc/CONFIRM LINK", test_confirm_link);
    g_test_add_func("/llc/CONFIRM LINK, late", test_late_confirm_link);
    g_test_add_func("/llc/a client asks for a link, late", test_late_wish);
    g_test_add_func("/llc/behind a gap", test_deferred);
    return g_test_run();
}
