/* report_window.c
 * A text window, which Wireshark draws anew while packets come in.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "report_window.h"

#include "host/host.h"
#include "listen/listeners.h"
#include "write/output.h"

#define TITLE "SMC-R report"
#define MENU "SMC-R Report"

typedef struct {
    funnel_text_window_t *window;
    smcr_listeners_t *listeners;
} window_t;

static void
draw(const smcr_entry_report_t *report, void *context)
{
    const window_t *window = context;
    GString *text = g_string_new(NULL);

    smcr_text_write(text, report);
    funnel_get_funnel_ops()->set_text(window->window, text->str);
    g_string_free(text, TRUE);
}

static void
closed(void *data)
{
    window_t *window = data;

    smcr_listeners_free(window->listeners);
    g_free(window);
}

bool
smcr_report_window_open(const char *filter)
{
    const funnel_ops_t *ops = smcr_host_window_ops();
    char *error = NULL;

    if (!ops)
        return false;
    window_t *window = g_new0(window_t, 1);
    window->listeners = smcr_listeners_new(filter, draw, window, &error);
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
chosen(void *data)
{
    (void)data;
    smcr_report_window_open(NULL);
}

void
smcr_report_window_register(void)
{
    funnel_register_menu(MENU, REGISTER_PACKET_STAT_GROUP_UNSORTED, chosen, NULL, NULL, FALSE);
}
