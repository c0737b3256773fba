/* report.c
 * The reports of the command line: -z smcr,report and -z smcr,json, each with a display filter
 * behind another comma if that is wanted; and a text window, which Wireshark draws anew while
 * packets come in.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "report.h"

#include <string.h>

#include "compat.h" /* must come first */

#include <epan/stat_tap_ui.h>

#include "host/host.h"
#include "listen/listeners.h"
#include "stat_table.h"
#include "write/output.h"

#define TEXT_OPTION "smcr,report"
#define JSON_OPTION "smcr,json"
#define TITLE "SMC-R report"
#define MENU "SMC-R Report"

/* ---- the window ---- */

typedef struct {
    funnel_text_window_t *window;
    smcr_listeners_t *listeners;
} window_t;

/* `context`: a window; NULL: standard output. */
static void
show_text(const smcr_entry_report_t *report, void *context)
{
    const window_t *window = context;
    GString *text = g_string_new(NULL);

    smcr_text_write(text, report);
    if (window)
        funnel_get_funnel_ops()->set_text(window->window, text->str);
    else
        fputs(text->str, stdout);
    g_string_free(text, TRUE);
}

static void
closed(void *data)
{
    window_t *window = data;

    smcr_listeners_free(window->listeners);
    g_free(window);
}

/* Opens a window with the report of what `filter` selects (NULL: of everything). Returns false
 * where there are no windows, or where the filter is none. */
static bool
open_window(const char *filter)
{
    const funnel_ops_t *ops = smcr_host_window_ops();
    char *error = NULL;

    if (!ops)
        return false;
    window_t *window = g_new0(window_t, 1);
    window->listeners = smcr_listeners_new(filter, show_text, window, &error);
    if (!window->listeners) {
        g_free(error);
        g_free(window);
        return false;
    }
    window->window = ops->new_text_window(ops->ops_id, TITLE);
    ops->set_close_cb(window->window, closed, window);
    ops->retap_packets(ops->ops_id); /* those that were read before */
    return true;
}

static void
chosen(void *data _U_)
{
    open_window(NULL);
}

/* ---- the command line ---- */

static void
print_json(const smcr_entry_report_t *report, void *context _U_)
{
    smcr_json_write(stdout, report);
}

/* Behind `option` and a comma; NULL: nothing. */
static const char *
filter_of(const char *argument, const char *option)
{
    const char *rest = argument + strlen(option);

    return rest[0] == ',' && rest[1] ? rest + 1 : NULL;
}

/* Returns whether it succeeded. */
static bool
begin(const char *filter, const char *option, smcr_listeners_draw_t *draw)
{
    char *error = NULL;

    if (smcr_listeners_new(filter, draw, NULL, &error))
        return true;
    fprintf(stderr, "Couldn't register %s: %s\n", option, error);
    g_free(error);
    return false;
}

/* The listeners stay until the program ends. */
static compat_stat_result
begin_text(const char *argument, void *data _U_)
{
    const char *filter = filter_of(argument, TEXT_OPTION);

    compat_end_stat_init(open_window(filter) || begin(filter, TEXT_OPTION, show_text));
}

static compat_stat_result
begin_json(const char *argument, void *data _U_)
{
    compat_end_stat_init(begin(filter_of(argument, JSON_OPTION), JSON_OPTION, print_json));
}

void
smcr_report_register(void)
{
    smcr_listeners_register();
    funnel_register_menu(MENU, REGISTER_PACKET_STAT_GROUP_UNSORTED, chosen, NULL, NULL, FALSE);
    smcr_report_register_tables();
}

void
smcr_report_handoff(void)
{
    static stat_tap_ui text = {
        REGISTER_PACKET_STAT_GROUP_UNSORTED, NULL, TEXT_OPTION, begin_text, 0, NULL};
    static stat_tap_ui json = {
        REGISTER_PACKET_STAT_GROUP_UNSORTED, NULL, JSON_OPTION, begin_json, 0, NULL};

    register_stat_tap_ui(&text, NULL);
    register_stat_tap_ui(&json, NULL);
}
