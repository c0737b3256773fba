/* Saves the page of the open file, and opens it. Wireshark has to pass all packets to new
 * listeners first, and draws listeners some time later. Then the page is written. A listener must
 * not be removed while it is drawn, so the listeners of a written page are removed when a report
 * is drawn.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "save_page.h"

#include <errno.h>

#include <glib/gstdio.h>

#include "compat.h" /* must precede the headers of Wireshark */

#include <wsutil/report_message.h>

#include "host/host.h"
#include "page/page.h"

/* The page that is being saved. All zeros: none is. */
static struct {
    smcr_listeners_t *listeners; /* listeners that draw the page; NULL: none */
    smcr_series_t *series;       /* its pictures */
    char *path;                  /* name of its file */
    bool opens;                  /* a browser opens the page when it is written */
    bool is_written;             /* the page was written, or could not be written */
} saved;

/* Opens the written page in the user's browser. If no browser can be opened, shows a message with
 * the name of the file. */
static void
open_page(void)
{
    char *uri = g_filename_to_uri(saved.path, NULL, NULL);

    if (!uri || !funnel_get_funnel_ops()->browser_open_url(uri))
        report_failure("No browser could be opened. The page is the file %s", saved.path);
    g_free(uri);
}

/* Writes the text to the file, and returns whether all of it was written. A file for temporary
 * files stays readable for its owner only. */
static bool
write_file(const GString *html)
{
    FILE *file = g_fopen(saved.path, "wb");
    bool is_written = file && fwrite(html->str, 1, html->len, file) == html->len;

    return file && fclose(file) == 0 && is_written;
}

/* Writes the page when Wireshark draws it for the first time. */
static void
write_page(const smcr_entry_report_t *report, void *context _U_)
{
    GString *html;

    if (saved.is_written)
        return;
    saved.is_written = true;
    html = g_string_new(NULL);
    smcr_html_append(html, report, saved.series);
    if (!write_file(html))
        report_write_failure(saved.path, errno);
    else if (saved.opens)
        open_page();
    g_string_free(html, TRUE);
}

/* Frees the listeners and pictures of a page that is saved, or that will not be saved. */
static void
forget(void)
{
    if (!saved.listeners)
        return;
    smcr_listeners_free(saved.listeners);
    smcr_series_free(saved.series);
    g_free(saved.path);
    memset(&saved, 0, sizeof saved);
}

void
smcr_report_end_page(void)
{
    if (saved.is_written)
        forget();
}

/* Registers listeners for the page, and has Wireshark pass all packets to them. If `filter` is
 * wrong, no page is saved. `opens`: a browser opens the page. */
static void
begin(const char *path, const char *filter, const smcr_series_t *choice, bool opens)
{
    const funnel_ops_t *ops = funnel_get_funnel_ops();
    char *error = NULL;

    forget();
    saved.listeners = smcr_listeners_new(filter, write_page, NULL, &error);
    g_free(error);
    if (!saved.listeners)
        return;
    saved.series = smcr_series_new();
    smcr_series_choose_same(saved.series, choice);
    saved.path = g_strdup(path);
    saved.opens = opens;
    smcr_listeners_draw_series(saved.listeners, saved.series);
    ops->retap_packets(ops->ops_id);
}

void
smcr_report_save_page(const char *path, const char *filter, const smcr_series_t *choice)
{
    begin(path, filter, choice, false);
}

/* The file is made before the page, so that nobody else takes its name meanwhile. */
void
smcr_report_open_page(const char *filter, const smcr_series_t *choice)
{
    GError *error = NULL;
    char *path = NULL;
    int file = g_file_open_tmp("smcr-XXXXXX.html", &path, &error);

    if (file < 0) {
        report_failure("%s", error->message);
        g_error_free(error);
        return;
    }
    g_close(file, NULL);
    begin(path, filter, choice, true);
    g_free(path);
}
