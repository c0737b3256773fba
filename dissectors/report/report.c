/* report.c
 * The reports of the command line: -z smcr,report and -z smcr,json, each with a display filter
 * behind another comma if that is wanted; and the window.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "report.h"

#include "compat.h" /* must come first */

#include <epan/stat_tap_ui.h>

#include "listen/listeners.h"
#include "write/output.h"

#define TEXT_OPTION "smcr,report"
#define JSON_OPTION "smcr,json"
#define MENU "SMC-R Report"

static void
chosen(void *data _U_)
{
    smcr_report_open_window(NULL);
}

/* ---- the command line ---- */

static void
print_text(const smcr_entry_report_t *report, void *context _U_)
{
    GString *text = g_string_new(NULL);

    smcr_text_write(text, report);
    fputs(text->str, stdout);
    g_string_free(text, TRUE);
}

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

    compat_end_stat_init(smcr_report_open_window(filter) ||
                         begin(filter, TEXT_OPTION, print_text));
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
