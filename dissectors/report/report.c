/* Two ways to ask for a report. On the command line: -z smcr,report, -z smcr,json and -z smcr,html,
 * each with an optional display filter after another comma; -z smcr,lines, with options (lines/).
 * In Wireshark: a window, which is drawn anew while packets come in. In the window one finding is
 * chosen, and has a mark. Buttons choose another finding, go to the frame of the chosen finding,
 * and apply or copy its display filter. So the page in the window does without the filters. Two
 * more buttons open a report of the selected packet's connection, and of the displayed packets.
 *
 * Wireshark may destroy a window before its buttons, and a dialog may exist longer than both. So
 * buttons and dialogs own the memory that they need.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "report.h"

#include <errno.h>
#include <stdlib.h>

#include "compat.h" /* must precede the headers of Wireshark */

#include <epan/plugin_if.h>
#include <epan/stat_tap_ui.h>
#include <wsutil/report_message.h>

#include "host/host.h"
#include "lines/lines.h"
#include "page/page.h"
#include "save_page.h"
#include "write/output.h"

#define TEXT_OPTION "smcr,report"
#define JSON_OPTION "smcr,json"
#define HTML_OPTION "smcr,html"
#define MENU "SMC-R Report"
#define TITLE "SMC-R report"
#define FILE_NAME "smcr-report.txt"
#define NO_CONNECTION "Select a packet of a connection first. The selected packet belongs to none."
#define MARK '>'
#define INDENT "      " /* indentation of all lines of a finding after its first line */

/* ---- the window ---- */

/* The frame and the display filter of a finding, for the buttons. */
typedef struct {
    uint32_t frame; /* number of the frame to look at; 0: none */
    char *filter;   /* display filter of the finding; NULL: none */
} finding_target_t;

/* A window with a report. It exists until the user closes it. */
typedef struct {
    funnel_text_window_t *window; /* Wireshark's text window */
    smcr_listeners_t *listeners;  /* listeners that draw the report; NULL: not registered */
    GString *text;   /* text of the report, which the window shows */
    GArray *targets; /* frame and display filter of each finding; element finding_target_t */
    unsigned chosen; /* index of the chosen finding */
    char *filter;    /* display filter of the report; NULL: all packets */
    smcr_series_t *choice; /* the connections that get pictures in a page of this report; has no
                              pictures itself */
} window_t;

static void
free_target(void *target)
{
    g_free(((finding_target_t *)target)->filter);
}

/* Returns frame and display filter of the chosen finding. If the report has no findings, returns
 * frame 0 and filter NULL, since the array is zero-terminated. */
static finding_target_t
target_of(const window_t *window)
{
    return g_array_index(window->targets, finding_target_t, window->chosen);
}

/* Shows the page in the window, with a mark before the number of the chosen finding. A text window
 * has no function to scroll. But append_text() scrolls to the end of the text before it appends. So
 * set_text() gets the page up to the end of the chosen finding, and append_text() gets the rest.
 * The end of a finding is found by indentation: all its lines after the first one begin with
 * INDENT. */
static void
show(const window_t *window)
{
    const funnel_ops_t *ops = funnel_get_funnel_ops();
    char *before = g_strdup_printf("\n" SMCR_PAGE_MARK, window->chosen + 1);
    char *at = strstr(window->text->str, before), *end = at;

    do
        end = end ? strchr(end + 1, '\n') : NULL;
    while (end && g_str_has_prefix(end + 1, INDENT));
    if (at)
        at[1] = MARK;
    if (end)
        end[0] = '\0';
    ops->set_text(window->window, window->text->str);
    if (end) {
        end[0] = '\n';
        ops->append_text(window->window, end);
    }
    if (at)
        at[1] = ' ';
    g_free(before);
}

/* Writes the page anew, keeps frame and filter of each finding for the buttons, and chooses the
 * connections that get pictures. A report of all packets has marked the frames of its findings. */
static void
draw(const smcr_entry_report_t *report, void *context)
{
    window_t *window = context;
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_SIMPLE);

    smcr_text_write(window->text, report, false);
    g_array_set_size(window->targets, 0);
    SMCR_FIGURE_EACH(finding, finding, report->findings) {
        uint32_t number = window->targets->len + 1;
        const char *filter =
            smcr_text_filter(scope, finding, number, !report->capture.filter);
        finding_target_t target = {finding->frame.frame, g_strdup(filter)};
        g_array_append_val(window->targets, target);
    }
    if (window->chosen >= window->targets->len)
        window->chosen = 0;
    wmem_destroy_allocator(scope);
    smcr_html_choose(window->choice, report);
    smcr_report_end_page();
    show(window);
}

/* ---- buttons ---- */

static bool open_window(const char *filter);

/* Chooses the next finding (`step` 1) or the previous one (-1), and shows the page. After the last
 * finding comes the first one. */
static gboolean
choose(window_t *window, int step)
{
    unsigned count = MAX(window->targets->len, 1);

    window->chosen = (window->chosen + count + (unsigned)step) % count;
    show(window);
    return TRUE;
}

static compat_button_bool
previous(funnel_text_window_t *shown _U_, void *data)
{
    return choose(data, -1);
}

static compat_button_bool
next(funnel_text_window_t *shown _U_, void *data)
{
    return choose(data, 1);
}

/* Goes to the frame of the chosen finding. If the display filter hides the frame, removes the
 * filter first. */
static compat_button_bool
go_to_frame(funnel_text_window_t *shown _U_, void *data)
{
    const uint32_t frame = target_of(data).frame;
    ws_info_t *now = NULL;

    if (!frame)
        return TRUE;
    plugin_if_goto_frame(frame);
    plugin_if_get_ws_info(&now);
    if (now->cf_framenr != frame) { /* the user's display filter hides the frame */
        plugin_if_apply_filter("", TRUE);
        plugin_if_goto_frame(frame);
    }
    return TRUE;
}

/* Button: applies the filter of the chosen finding to the packet list. */
static compat_button_bool
apply_filter(funnel_text_window_t *shown _U_, void *data)
{
    char *filter = g_strdup(target_of(data).filter); /* a copy is needed: applying a filter draws
                                                        the report anew, which frees the targets */

    if (filter)
        plugin_if_apply_filter(filter, TRUE);
    g_free(filter);
    return TRUE;
}

/* Button: copies the filter of the chosen finding to the clipboard. */
static compat_button_bool
copy_filter(funnel_text_window_t *shown _U_, void *data)
{
    const char *filter = target_of(data).filter;
    GString *copied = g_string_new(filter);

    if (filter)
        funnel_get_funnel_ops()->copy_to_clipboard(copied);
    g_string_free(copied, TRUE);
    return TRUE;
}

/* Opens another window with a report of the connection of the packet that is selected in the packet
 * list. If there is no such connection, a sentence says so. */
static compat_button_bool
report_selected(funnel_text_window_t *shown _U_, void *data _U_)
{
    packet_info *selected = smcr_selected_packet();
    char *filter = selected ? smcr_selected_conn_filter(selected) : NULL;

    if (!filter)
        report_failure("%s", NO_CONNECTION);
    else
        open_window(filter);
    g_free(filter);
    return TRUE;
}

/* Opens another window with a report of the packets that Wireshark displays. Without a display
 * filter these are all packets, whose report the menu opens: then no window is opened, and a
 * sentence says so. */
static compat_button_bool
report_displayed(funnel_text_window_t *shown _U_, void *data _U_)
{
    const funnel_ops_t *ops = funnel_get_funnel_ops();
    const char *filter = ops->get_filter(ops->ops_id);

    if (filter && filter[0])
        open_window(filter);
    else
        report_failure("%s", "No display filter: Statistics > SMC-R reports all packets.");
    return TRUE;
}

/* What a dialog saves. */
typedef struct {
    char *text;            /* text of the report */
    char *filter;          /* display filter of the report; NULL: all packets */
    smcr_series_t *choice; /* connections that get pictures in a page */
} savable_t;

/* Frees what a dialog saves. */
static void
free_savable(void *data)
{
    savable_t *savable = data;

    g_free(savable->text);
    g_free(savable->filter);
    smcr_series_free(savable->choice);
    g_free(savable);
}

/* Saves the report in a new file: as a page if the name ends with ".html", else as text. `answers`:
 * the name of the file that the user has entered; NULL: the user has cancelled the dialog. */
static void
save_as(char **answers, void *data)
{
    const savable_t *savable = data;
    const char *path = answers && answers[0] && answers[0][0] ? answers[0] : NULL;

    if (path && g_file_test(path, G_FILE_TEST_EXISTS))
        report_write_failure(path, EEXIST);
    else if (path && g_str_has_suffix(path, ".html"))
        smcr_report_save_page(path, savable->filter, savable->choice);
    else if (path && !g_file_set_contents(path, savable->text, -1, NULL))
        report_write_failure(path, errno);
    g_strfreev(answers);
}

/* Opens a dialog that asks for the name of a file. The dialog owns a copy of what it saves. */
static compat_button_bool
save(funnel_text_window_t *shown _U_, void *data)
{
    const funnel_ops_t *ops = funnel_get_funnel_ops();
    char *path = g_build_filename(g_get_home_dir(), FILE_NAME, NULL);
    const char *names[] = {"File (.html: page with pictures)", NULL}, *values[] = {path, NULL};
    const window_t *window = data;
    savable_t *savable = g_new0(savable_t, 1);

    savable->text = g_strdup(window->text->str);
    savable->filter = g_strdup(window->filter);
    savable->choice = smcr_series_new();
    smcr_series_choose_same(savable->choice, window->choice);
    ops->new_dialog(ops->ops_id, TITLE, names, values, save_as, savable, free_savable);
    g_free(path);
    return TRUE;
}

/* Button: opens the report of the window as a page in the browser. */
static compat_button_bool
open_as_page(funnel_text_window_t *shown _U_, void *data)
{
    const window_t *window = data;

    smcr_report_open_page(window->filter, window->choice);
    return TRUE;
}

/* Adds the buttons to the window, in the order of the array. `window` lives until the window is
 * closed; the window frees each button. */
static void
add_buttons(const funnel_ops_t *ops, window_t *window)
{
    static const struct {
        const char *label;
        funnel_bt_cb_t pressed;
    } buttons[] = {{"Previous", previous},
                   {"Next", next},
                   {"Go to Frame", go_to_frame},
                   {"Apply Filter", apply_filter},
                   {"Copy Filter", copy_filter},
                   {"Connection Only", report_selected},
                   {"Displayed Only", report_displayed},
                   {"Open as Page", open_as_page},
                   {"Save As…", save}};

    for (unsigned i = 0; i < G_N_ELEMENTS(buttons); i++) {
        funnel_bt_t *button = g_new0(funnel_bt_t, 1);
        *button = (funnel_bt_t){
            .tw = window->window, .func = buttons[i].pressed, .data = window, .free_fcn = g_free};
        ops->add_button(window->window, button, buttons[i].label);
    }
}

/* ---- beginning and end ---- */

/* Frees the memory and the listeners of a window. Called when the user has closed the window, or
 * if the window cannot be opened: then there are no listeners. */
static void
closed(void *data)
{
    window_t *window = data;

    if (window->listeners)
        smcr_listeners_free(window->listeners);
    g_array_free(window->targets, TRUE);
    g_string_free(window->text, TRUE);
    g_free(window->filter);
    smcr_series_free(window->choice);
    g_free(window);
}

/* Opens a window with a report of the packets that the display filter `filter` selects; NULL: of
 * all packets. Returns false, and opens no window, if the program has no windows or if the filter
 * has a syntax error. */
static bool
open_window(const char *filter)
{
    const funnel_ops_t *ops = smcr_host_window_ops();
    char *error = NULL;

    if (!ops)
        return false;
    window_t *window = g_new0(window_t, 1);
    window->text = g_string_new(NULL);
    window->filter = g_strdup(filter);
    window->choice = smcr_series_new();
    window->targets = g_array_new(TRUE, FALSE, sizeof(finding_target_t));
    g_array_set_clear_func(window->targets, free_target);
    window->listeners = smcr_listeners_new(filter, draw, window, &error);
    if (!window->listeners) {
        g_free(error);
        closed(window);
        return false;
    }
    window->window = ops->new_text_window(ops->ops_id, TITLE);
    ops->set_close_cb(window->window, closed, window);
    add_buttons(ops, window);
    ops->retap_packets(ops->ops_id); /* counts the packets that Wireshark had read before the window
                                        was opened */
    return true;
}

/* Called when the user chooses the report in the menu. */
static void
chosen(void *data _U_)
{
    open_window(NULL);
}

/* ---- the command line ---- */

/* Prints the report as a page of text, to standard output. */
static void
print_text(const smcr_entry_report_t *report, void *context _U_)
{
    GString *text = g_string_new(NULL);

    smcr_text_write(text, report, true);
    fputs(text->str, stdout);
    g_string_free(text, TRUE);
}

static void
print_json(const smcr_entry_report_t *report, void *context _U_)
{
    smcr_json_write(stdout, report);
}

/* Chooses the connections of which the page has pictures, after the first pass. */
static void
choose_connections(const smcr_entry_report_t *report, void *series)
{
    smcr_html_choose(series, report);
}

/* Prints the page. If it cannot be written, the program ends with an error. */
static void
print_html(const smcr_entry_report_t *report, void *series)
{
    GString *html = g_string_new(NULL);

    smcr_html_append(html, report, series);
    if (fwrite(html->str, 1, html->len, stdout) != html->len || fflush(stdout)) {
        fprintf(stderr, "Couldn't write the page: %s\n", g_strerror(errno));
        exit(EXIT_FAILURE);
    }
    g_string_free(html, TRUE);
}

/* Returns the display filter that `argument` has after `option` and a comma; NULL: no filter.
 * `argument`: the argument of -z. */
static const char *
filter_of(const char *argument, const char *option)
{
    const char *rest = argument + strlen(option);

    return rest[0] == ',' && rest[1] ? rest + 1 : NULL;
}

/* Registers the listeners of a report on the command line. `print`: writes the report to stdout
 * when all packets have been read; `context`: its second argument. Returns NULL, and prints an
 * error, if the filter has a syntax error. */
static smcr_listeners_t *
begin(const char *filter, const char *option, smcr_listeners_draw_t *print, void *context)
{
    char *error = NULL;
    smcr_listeners_t *listeners = smcr_listeners_new(filter, print, context, &error);

    if (!listeners)
        fprintf(stderr, "Couldn't register %s: %s\n", option, error);
    g_free(error);
    return listeners;
}

/* Handles -z smcr,report: opens a window if the program has windows, else prints text. The
 * listeners exist until the window is closed or the program ends. */
static compat_stat_result
begin_text(const char *argument, void *data _U_)
{
    const char *filter = filter_of(argument, TEXT_OPTION);

    compat_end_stat_init(open_window(filter) || begin(filter, TEXT_OPTION, print_text, NULL));
}

/* Called by Wireshark for -z smcr,json: begins a report that is printed as JSON. */
static compat_stat_result
begin_json(const char *argument, void *data _U_)
{
    compat_end_stat_init(begin(filter_of(argument, JSON_OPTION), JSON_OPTION, print_json, NULL));
}

/* Handles -z smcr,html. The pictures exist until the program ends. */
static compat_stat_result
begin_html(const char *argument, void *data _U_)
{
    smcr_series_t *series = smcr_series_new();
    smcr_listeners_t *listeners =
        begin(filter_of(argument, HTML_OPTION), HTML_OPTION, print_html, series);

    if (listeners) {
        smcr_listeners_draw_series(listeners, series);
        smcr_listeners_watch_first_pass(choose_connections, series);
    } else {
        smcr_series_free(series);
    }
    compat_end_stat_init(listeners);
}

/* Called by Wireshark for -z smcr,lines: begins to write lines while packets come. */
static compat_stat_result
begin_lines(const char *argument, void *data _U_)
{
    compat_end_stat_init(smcr_lines_begin(argument));
}

void
smcr_report_register(void)
{
    smcr_listeners_register();
    funnel_register_menu(MENU, REGISTER_PACKET_STAT_GROUP_UNSORTED, chosen, NULL, NULL, FALSE);
    smcr_report_register_tables();
}

/* Wireshark keeps pointers to the array. */
void
smcr_report_handoff(void)
{
    static stat_tap_ui reports[] = {
        {REGISTER_PACKET_STAT_GROUP_UNSORTED, NULL, TEXT_OPTION, begin_text, 0, NULL},
        {REGISTER_PACKET_STAT_GROUP_UNSORTED, NULL, JSON_OPTION, begin_json, 0, NULL},
        {REGISTER_PACKET_STAT_GROUP_UNSORTED, NULL, SMCR_LINES_OPTION, begin_lines, 0, NULL},
        {REGISTER_PACKET_STAT_GROUP_UNSORTED, NULL, HTML_OPTION, begin_html, 0, NULL}};

    for (unsigned i = 0; i < G_N_ELEMENTS(reports); i++)
        register_stat_tap_ui(&reports[i], NULL);
}
