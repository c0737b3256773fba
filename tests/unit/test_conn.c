/* test_conn.c
 * Connections by their alert tokens.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "traffic.h"

static smcr_conn_t *
new_conn(capture_t *capture, smcr_lgr_t *lgr)
{
    smcr_conn_t *conn = smcr_conn_new(capture->state);

    conn->lgr = lgr;
    return conn;
}

/* Tokens mean something only within a group and for one side. */
static void
test_tokens(void)
{
    capture_t capture;

    capture_open(&capture);
    smcr_lgr_t *lgrs[] = {smcr_lgr_new(capture.state), smcr_lgr_new(capture.state)};
    smcr_conn_t *conns[2][2];
    for (int group = 0; group < 2; group++)
        for (int side = 0; side < 2; side++) {
            conns[group][side] = new_conn(&capture, lgrs[group]);
            smcr_conn_set_token(capture.state, conns[group][side], side, 77);
        }
    for (int group = 0; group < 2; group++)
        for (int side = 0; side < 2; side++) {
            g_assert_true(smcr_conn_find(capture.state, lgrs[group], side, 77) ==
                          conns[group][side]);
            g_assert_cmpuint(conns[group][side]->index, ==, (unsigned)(2 * group + side));
            g_assert_true(conns[group][side]->side[side].has_token);
            g_assert_false(conns[group][side]->side[!side].has_token);
            g_assert_cmpuint(conns[group][side]->side[side].token, ==, 77);
        }
    g_assert_null(smcr_conn_find(capture.state, lgrs[0], 0, 78));
    g_assert_null(smcr_conn_find(capture.state, smcr_lgr_new(capture.state), 0, 77));
    capture_close(&capture);
}

static void
test_reuse(void)
{
    capture_t capture;

    capture_open(&capture);
    smcr_lgr_t *lgr = smcr_lgr_new(capture.state);
    smcr_conn_t *before = new_conn(&capture, lgr);
    smcr_conn_t *after = new_conn(&capture, lgr);
    smcr_conn_set_token(capture.state, before, CLIENT, 5);
    smcr_conn_set_token(capture.state, before, SERVER, 5);
    smcr_conn_set_token(capture.state, after, SERVER, 5);
    g_assert_true(smcr_conn_find(capture.state, lgr, CLIENT, 5) == before);
    g_assert_true(smcr_conn_find(capture.state, lgr, SERVER, 5) == after);
    capture_close(&capture);
}

/* More than the map begins with. */
static void
test_many(void)
{
    capture_t capture;
    enum { COUNT = 4000 };

    capture_open(&capture);
    smcr_lgr_t *lgr = smcr_lgr_new(capture.state);
    for (uint32_t i = 0; i < COUNT; i++)
        smcr_conn_set_token(capture.state, new_conn(&capture, lgr), i & 1, i / 2);
    for (uint32_t i = 0; i < COUNT; i++)
        g_assert_cmpuint(smcr_conn_find(capture.state, lgr, i & 1, i / 2)->index, ==, i);
    capture_close(&capture);
}

static void
test_direction(void)
{
    static const struct {
        int server, sender, direction;
    } cases[] = {{1, 0, 0}, {1, 1, 1}, {0, 0, 1}, {0, 1, 0}, {-1, 0, -1}, {-1, 1, -1}};

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        smcr_lgr_t lgr = {.server = cases[i].server};
        g_assert_cmpint(smcr_conn_direction(&lgr, cases[i].sender), ==, cases[i].direction);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/conn/tokens", test_tokens);
    g_test_add_func("/conn/reuse", test_reuse);
    g_test_add_func("/conn/many", test_many);
    g_test_add_func("/conn/direction", test_direction);
    return g_test_run();
}
