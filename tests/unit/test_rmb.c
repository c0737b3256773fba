/* RMBs by their RKeys: on several links, after reuse, and the connections in their elements.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "traffic.h"

#define VA UINT64_C(0x7f0000000000)

typedef struct {
    capture_t capture;
    smcr_link_t *link, *second;
} group_t;

static void
set_up(group_t *group, gconstpointer data G_GNUC_UNUSED)
{
    smcr_ib_qp_key_t keys[] = {key_of(1, 1), key_of(2, 1), key_of(1, 2), key_of(2, 2)};

    capture_open(&group->capture);
    smcr_lgr_t *lgr = smcr_lgr_new(group->capture.state);
    group->link = smcr_link_new(group->capture.state, lgr);
    group->second = smcr_link_new(group->capture.state, lgr);
    for (int side = 0; side < 2; side++) {
        smcr_qp_set(group->capture.state, group->link, side, &keys[side], SMCR_GROUND_CLC);
        smcr_qp_set(group->capture.state, group->second, side, &keys[2 + side], SMCR_GROUND_CLC);
    }
}

static void
tear_down(group_t *group, gconstpointer data G_GNUC_UNUSED)
{
    capture_close(&group->capture);
}

static smcr_rmb_t *
rmb_of(const group_t *group, const smcr_qp_t *owner, uint32_t rkey)
{
    smcr_rmb_rtoken_t *entry = smcr_rmb_find(group->capture.state, owner, rkey);

    return entry ? entry->rmb : NULL;
}

static void
test_links(group_t *group, gconstpointer data G_GNUC_UNUSED)
{
    smcr_state_t *state = group->capture.state;
    smcr_qp_t *owner = &group->link->qp[SERVER];
    smcr_qp_t *on_second = &group->second->qp[SERVER];
    smcr_rmb_t *rmb = smcr_rmb_announce(state, owner, 5, VA);

    smcr_rmb_add_rtoken(state, rmb, on_second, 6, VA + 4096);
    g_assert_true(rmb_of(group, owner, 5) == rmb);
    g_assert_true(rmb_of(group, on_second, 6) == rmb);
    g_assert_cmpuint(smcr_rmb_find(state, owner, 5)->va, ==, VA);
    g_assert_cmpuint(smcr_rmb_find(state, on_second, 6)->va, ==, VA + 4096);
    g_assert_null(rmb_of(group, owner, 6));
    g_assert_null(rmb_of(group, on_second, 5));
    g_assert_null(rmb_of(group, &group->link->qp[CLIENT], 5));
    g_assert_cmpint(rmb->side, ==, SERVER);
    g_assert_true(rmb->lgr == group->link->lgr);
}

/* Both hosts may have equal RKeys and addresses. */
static void
test_equal_rkeys(group_t *group, gconstpointer data G_GNUC_UNUSED)
{
    smcr_state_t *state = group->capture.state;
    smcr_rmb_t *server = smcr_rmb_announce(state, &group->link->qp[SERVER], 5, VA);
    smcr_rmb_t *client = smcr_rmb_announce(state, &group->link->qp[CLIENT], 5, VA);

    g_assert_true(server != client);
    g_assert_true(rmb_of(group, &group->link->qp[SERVER], 5) == server);
    g_assert_true(rmb_of(group, &group->link->qp[CLIENT], 5) == client);
}

/* Announced a second time: the same RMB, or one that has taken over the RKey. */
static void
test_again(group_t *group, gconstpointer data G_GNUC_UNUSED)
{
    static const struct {
        uint64_t va;
        bool deleted;
        bool same;
    } cases[] = {
        {.va = VA, .same = true},
        {.va = VA, .deleted = true},
        {.va = VA + 4096},
        {.va = VA + 4096, .deleted = true},
    };
    smcr_qp_t *owner = &group->link->qp[SERVER];

    for (uint32_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        smcr_rmb_t *first = smcr_rmb_announce(group->capture.state, owner, i, VA);
        first->deleted_frame = cases[i].deleted ? 11 : 0;
        smcr_rmb_t *second = smcr_rmb_announce(group->capture.state, owner, i, cases[i].va);
        g_assert_cmpint(first == second, ==, cases[i].same);
        g_assert_true(rmb_of(group, owner, i) == second);
        g_assert_cmpuint(second->deleted_frame, ==, 0);
        g_assert_cmpuint(smcr_rmb_find(group->capture.state, owner, i)->va, ==, cases[i].va);
    }
}

/* A new one for the state: the same memory, unless it was withdrawn or has another address. */
static void
test_renewed(group_t *group, gconstpointer data G_GNUC_UNUSED)
{
    static const struct {
        uint64_t va;
        bool withdrawn;
        bool same;
    } cases[] = {{.va = VA, .same = true}, {.va = VA, .withdrawn = true}, {.va = VA + 4096}};
    smcr_state_t *state = group->capture.state;
    smcr_qp_t *owner = &group->link->qp[SERVER];

    for (uint32_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        smcr_rmb_t *one = smcr_rmb_announce(state, owner, i, VA);
        one->first->delete_frame = cases[i].withdrawn ? 11 : 0;
        smcr_rmb_t *other = smcr_rmb_renew(state, owner, i, cases[i].va);
        smcr_rmb_t *third = smcr_rmb_renew(state, owner, i, cases[i].va);
        g_assert_true(one->first == one);
        g_assert_true(other->first == (cases[i].same ? one : other));
        g_assert_true(third->first == other->first);
        g_assert_true(group->link->lgr->newest_rmb == third && third->older == other);
    }
}

/* Announced again before the peer has agreed to its withdrawal. */
static void
test_kept(group_t *group, gconstpointer data G_GNUC_UNUSED)
{
    smcr_qp_t *owner = &group->link->qp[SERVER];
    smcr_rmb_t *rmb = smcr_rmb_announce(group->capture.state, owner, 5, VA);

    rmb->delete_frame = 11;
    g_assert_true(smcr_rmb_announce(group->capture.state, owner, 5, VA) == rmb);
    g_assert_cmpuint(rmb->delete_frame, ==, 0);
}

static void
test_elements(group_t *group, gconstpointer data G_GNUC_UNUSED)
{
    static const struct {
        unsigned index;
        bool kept;
    } cases[] = {{1, true}, {2, true}, {255, true}, {0, false}, {256, false}, {1000, false}};
    smcr_state_t *state = group->capture.state;
    smcr_rmb_t *rmb = smcr_rmb_announce(state, &group->link->qp[SERVER], 5, VA);
    smcr_conn_t *conns[G_N_ELEMENTS(cases)];

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_assert_null(smcr_rmb_conn(rmb, cases[i].index));
        conns[i] = smcr_conn_new(state);
        smcr_rmb_set_conn(state, rmb, cases[i].index, conns[i]);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++)
        g_assert_true(smcr_rmb_conn(rmb, cases[i].index) == (cases[i].kept ? conns[i] : NULL));
    smcr_rmb_set_conn(state, rmb, 2, conns[0]); /* the element is used again */
    g_assert_true(smcr_rmb_conn(rmb, 2) == conns[0]);
    g_assert_null(smcr_rmb_conn(rmb, 3));
}

/* ---- RMBs that are released ---- */

/* What may keep an RMB whose link group has ended from its release. */
typedef struct {
    const char *name;
    enum { NONE, EARLIER, NEWER, AGAIN } used, /* the RMB in which a connection receives */
        named; /* the RMB that the RKey names afterwards */
    bool is_claimed; /* a rule waits for later packets, and may look at the newer RMB */
    bool is_recent;  /* the group ended in a frame whose records are not forgotten */
    bool is_named;   /* the last CONFIRM RKEY has named the newer RMB */
    bool is_asked;   /* the last DELETE RKEY has named the newer RMB */
    unsigned stay;   /* number of RMBs that stay */
} stay_t;

static bool
is_finished(const smcr_conn_t *conn G_GNUC_UNUSED, const void *data G_GNUC_UNUSED)
{
    return true;
}

/* An owner has given an RKey to two RMBs, one after the other, and has announced the newer one once
 * more; then the group has ended. The RMBs are freed that nothing names. An RMB that was announced
 * once more, as a new object, does not get its RKey back. */
static void
test_release(group_t *group, gconstpointer data)
{
    enum { LATER = 4096, RKEY = 5 };
    const stay_t *stay = data;
    smcr_state_t *state = group->capture.state;
    smcr_lgr_t *lgr = group->link->lgr;
    smcr_qp_t *owner = &group->link->qp[SERVER];
    const smcr_state_finished_t finished = {.has = is_finished};
    smcr_rmb_t *rmbs[] = {[NONE] = NULL,
                          [EARLIER] = smcr_rmb_announce(state, owner, RKEY, VA),
                          [NEWER] = smcr_rmb_announce(state, owner, RKEY, VA + 4096),
                          [AGAIN] = smcr_rmb_renew(state, owner, RKEY, VA + 4096)};
    unsigned left = 0;

    smcr_rmb_set_conn(state, rmbs[NEWER], 2, NULL);
    lgr->index = 0;
    lgr->newest_conn = smcr_conn_new(state);
    lgr->newest_conn->lgr = lgr;
    lgr->newest_conn->side[SERVER].rmb = rmbs[stay->used];
    lgr->claimed_rmb = stay->is_claimed ? rmbs[NEWER] : NULL;
    lgr->last_confirmed_rmb[SERVER] = stay->is_named ? rmbs[NEWER] : NULL;
    lgr->withdrawn[SERVER] = (smcr_lgr_withdrawal_t){stay->is_asked, &rmbs[NEWER]};
    for (smcr_link_t *link = lgr->newest_link; link; link = link->older_in_group)
        smcr_link_delete(link, stay->is_recent ? LATER : 1);
    smcr_state_forget(state, LATER, &finished);
    for (const smcr_rmb_t *rmb = lgr->newest_rmb; rmb; rmb = rmb->older)
        left++;
    g_assert_cmpuint(left, ==, stay->stay);
    g_assert_true(rmb_of(group, owner, RKEY) == rmbs[stay->named]);
    g_assert_cmpuint(lgr->rmb_count[SERVER], ==, lgr->newest_rmb == rmbs[AGAIN]);
}

static const stay_t stays[] = {
    {.name = "all are released"},
    {.name = "the earlier one is used", .used = EARLIER, .named = EARLIER, .stay = 1},
    {.name = "the newer one is used", .used = NEWER, .stay = 1},
    {.name = "the same memory is used", .used = AGAIN, .named = AGAIN, .stay = 2},
    {.name = "a claim", .is_claimed = true, .named = EARLIER, .stay = 2},
    {.name = "the end is recent", .is_recent = true, .named = AGAIN, .stay = 3},
    {.name = "confirmed last", .is_named = true, .stay = 1},
    {.name = "withdrawn last", .is_asked = true, .stay = 1},
};

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/rmb/links", group_t, NULL, set_up, test_links, tear_down);
    g_test_add("/rmb/equal RKeys", group_t, NULL, set_up, test_equal_rkeys, tear_down);
    g_test_add("/rmb/again", group_t, NULL, set_up, test_again, tear_down);
    g_test_add("/rmb/renewed", group_t, NULL, set_up, test_renewed, tear_down);
    g_test_add("/rmb/kept", group_t, NULL, set_up, test_kept, tear_down);
    g_test_add("/rmb/elements", group_t, NULL, set_up, test_elements, tear_down);
    for (unsigned i = 0; i < G_N_ELEMENTS(stays); i++) {
        char *path = g_strdup_printf("/rmb/release/%s", stays[i].name);
        g_test_add(path, group_t, &stays[i], set_up, test_release, tear_down);
        g_free(path);
    }
    return g_test_run();
}
