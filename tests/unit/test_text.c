/* The page of text: what it names, and whether it says that there is more.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "report/write/output.h"
#include "scene.h"

static const char *const servers[] = {"110.0.0.1", "10.0.0.1", "10.0.0.1", "10.0.0.3", "10.0.0.4"};

static const struct {
    unsigned conns;   /* connections whose servers the capture shows with another address, too */
    const char *text; /* the last of them, as the page names it */
    bool has_more;    /* the page says that there are more */
} cases[] = {
    {.conns = 1, .text = "Address translation: 110.0.0.1:80 is 10.9.9.9:80, too\n"},
    {.conns = 3, .text = "; 10.0.0.1:80 is 10.9.9.9:80, too\n"},
    {.conns = 4, .text = "; 10.0.0.3:80 is 10.9.9.9:80, too\n"},
    {.conns = 5, .text = "; 10.0.0.3:80 is 10.9.9.9:80, too ...\n", .has_more = true},
};

/* The page, with its lines joined. */
static char *
page_of(unsigned conns)
{
    smcr_entry_endpoint_t translated = {.addr = "10.9.9.9", .port = 80};
    GString *text = g_string_new(NULL);
    scene_t scene;

    scene_open(&scene);
    for (unsigned i = 0; i < conns; i++) {
        smcr_entry_connection_t *conn = connection(&scene);
        conn->server.addr = servers[i];
        conn->server.port = 80;
        conn->translated_server = &translated;
    }
    smcr_text_write(text, &scene.report, false);
    scene_close(&scene);
    GRegex *wrap = g_regex_new("\\n +", 0, 0, NULL);
    char *joined = g_regex_replace_literal(wrap, text->str, -1, 0, " ", 0, NULL);
    g_regex_unref(wrap);
    g_string_free(text, TRUE);
    return joined;
}

static void
test_translations(void)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        char *page = page_of(cases[i].conns);
        g_assert_nonnull(strstr(page, "Address translation: 110.0.0.1:80"));
        g_assert_nonnull(strstr(page, cases[i].text));
        g_assert_cmpint(strstr(page, "too ...") != NULL, ==, cases[i].has_more);
        g_free(page);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/text/translations", test_translations);
    return g_test_run();
}
