/* Does what Wireshark's window does: opens one file after the other, with the windows of response
 * times, of the stats tree and of the report open, filters them, reads the frames again, and asks
 * the menu of conversation filters about each frame. The window of links is opened last: Wireshark
 * then goes over the frames for it alone, and tells no listener to draw. The last file is read as
 * Wireshark reads one anew when a preference changes: nobody hears that the first pass is over.
 *
 *     window FILTER FILE...
 *
 * FILTER is a display filter for the statistics, or empty. Files are pcap, little-endian, with
 * nanoseconds, Ethernet. For each it prints, separated by tabs:
 *
 *     file NAME
 *     menu FRAME MENU FILTER        of each filter that is valid for the frame
 *     srt TABLE ROW COUNT MIN MAX SUM       nanoseconds
 *     tree DEPTH NAME COUNT
 *     report LINE
 *     links CELL...
 *
 * The statistics come twice: of the first pass, and of the second one. The report has no filter.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "compat.h"

#include <cfile.h>
#include <epan/addr_resolv.h>
#include <epan/conversation_filter.h>
#include <epan/epan.h>
#include <epan/epan_dissect.h>
#include <epan/funnel.h>
#include <epan/plugin_if.h>
#include <epan/srt_table.h>
#include <epan/stat_tap_ui.h>
#include <epan/stats_tree_priv.h>
#include <epan/timestamp.h>
#include <wiretap/wtap.h>
#include <wsutil/privileges.h>
#include <wsutil/report_message.h>
#include <wsutil/wslog.h>

#include "input.h"

#define FILE_HEADER 24
#define FRAME_HEADER 16

void plugin_register(void);

typedef struct {
    frame_data data;
    const uint8_t *bytes;
} frame_t;

typedef struct {
    GArray *frames; /* frame_t */
    char *bytes;    /* the file */
    epan_t *epan;
} capture_t;

static capture_t capture;
static register_srt_t *times;
static srt_data_t srt;
static stats_tree *tree;
static GString *page; /* what the report's window shows */
/* length of the text that was set: Wireshark scrolls there and appends the rest */
static size_t scrolled_to;

/* ---- the file ---- */

static const nstime_t *
time_of(struct packet_provider_data *provider, uint32_t frame)
{
    (void)provider;
    return frame && frame <= capture.frames->len
               ? &g_array_index(capture.frames, frame_t, frame - 1).data.abs_ts
               : NULL;
}

static wtap_rec
record_of(const nstime_t *when, uint32_t captured, uint32_t length)
{
    return (wtap_rec){
        .rec_type = REC_TYPE_PACKET,
        .presence_flags = WTAP_HAS_TS | WTAP_HAS_CAP_LEN,
        .ts = *when,
        .rec_header.packet_header = {
            .caplen = captured, .len = length, .pkt_encap = WTAP_ENCAP_ETHERNET},
    };
}

static void
read_frame(const uint8_t *at)
{
    uint32_t header[4];
    frame_t frame = {.bytes = at + FRAME_HEADER};

    memcpy(header, at, sizeof header);
    nstime_t when = {(time_t)header[0], (int)header[1]};
    wtap_rec record = record_of(&when, header[2], header[3]);
    frame_data_init(&frame.data, capture.frames->len + 1, &record, 0, 0);
    g_array_append_val(capture.frames, frame);
}

static void
open_file(const char *path)
{
    static const struct packet_provider_funcs functions = {.get_frame_ts = time_of};
    size_t length;

    require(g_file_get_contents(path, &capture.bytes, &length, NULL));
    capture.frames = g_array_new(FALSE, TRUE, sizeof(frame_t));
    for (size_t at = FILE_HEADER; at + FRAME_HEADER <= length;) {
        uint32_t captured;
        memcpy(&captured, capture.bytes + at + 8, sizeof captured);
        require(at + FRAME_HEADER + captured <= length);
        read_frame((const uint8_t *)capture.bytes + at);
        at += FRAME_HEADER + captured;
    }
    capture.epan = epan_new(NULL, &functions);
    printf("file\t%s\n", path);
}

static void
close_file(void)
{
    epan_free(capture.epan);
    for (unsigned i = 0; i < capture.frames->len; i++)
        frame_data_destroy(&g_array_index(capture.frames, frame_t, i).data);
    g_array_free(capture.frames, TRUE);
    g_free(capture.bytes);
}

/* ---- the menu ---- */

static void
print_menu(packet_info *pinfo)
{
    for (GList *at = packet_conv_filter_list; at; at = at->next) {
        const conversation_filter_t *filter = at->data;
        if (strcmp(filter->proto_name, "smcr") != 0)
            continue;
        bool valid = compat_conversation_filter_is_valid(filter, pinfo);
        char *text = compat_conversation_filter_build(filter, pinfo);
        require(valid == (text != NULL));
        if (valid)
            printf("menu\t%u\t%s\t%s\n", pinfo->num, filter->display_name, text);
        g_free(text);
    }
}

/* ---- passes ---- */

static void
dissect_frame(epan_dissect_t *dissection, frame_t *frame, bool asks_menu)
{
    wtap_rec record = record_of(&frame->data.abs_ts, frame->data.cap_len, frame->data.pkt_len);
    uint8_t *bytes = g_memdup(frame->bytes, frame->data.cap_len);

    tap_build_interesting(dissection);
    compat_dissect(dissection, &record, bytes, &frame->data, NULL);
    if (asks_menu)
        print_menu(&dissection->pi);
    epan_dissect_reset(dissection);
    g_free(bytes);
}

/* All frames, the second time as if each were selected. */
static void
pass(bool second)
{
    bool needs_tree = second || have_filtering_tap_listeners();
    epan_dissect_t *dissection = epan_dissect_new(capture.epan, needs_tree, second);

    for (unsigned i = 0; i < capture.frames->len; i++)
        dissect_frame(dissection, &g_array_index(capture.frames, frame_t, i), second);
    epan_dissect_free(dissection);
}

/* ---- statistics ---- */

static long long
nanoseconds(const nstime_t *time)
{
    return time->secs * 1000000000LL + time->nsecs;
}

static bool quiet; /* statistics are drawn, and not printed: somebody else needs the packets */

static void
print_times(void *data)
{
    const srt_data_t *tables = data;

    for (unsigned i = 0; !quiet && i < tables->srt_array->len; i++) {
        const srt_stat_table *table = g_array_index(tables->srt_array, srt_stat_table *, i);
        for (int row = 0; row < table->num_procs; row++) {
            const srt_procedure_t *one = &table->procedures[row];
            if (one->stats.num)
                printf("srt\t%s\t%s\t%u\t%lld\t%lld\t%lld\n", table->short_name, one->procedure,
                       one->stats.num, nanoseconds(&one->stats.min),
                       nanoseconds(&one->stats.max), nanoseconds(&one->stats.tot));
        }
    }
}

static void
print_nodes(const stat_node *node, unsigned depth)
{
    for (; node; node = node->next) {
        printf("tree\t%u\t%s\t%d\n", depth, node->name, node->counter);
        print_nodes(node->children, depth + 1);
    }
}

static void
print_tree(void *data)
{
    if (!quiet)
        print_nodes(((stats_tree *)data)->root.children, 0);
}

static void
reset_times(void *data)
{
    reset_srt_table(((srt_data_t *)data)->srt_array);
}

static void
open_windows(const char *filter)
{
    stats_tree_cfg *config = stats_tree_get_cfg_by_abbr("smcr");

    times = get_srt_table_by_name("smcr");
    require(times && config);
    srt.srt_array = g_array_new(FALSE, TRUE, sizeof(srt_stat_table *));
    srt_table_dissector_init(times, srt.srt_array);
    require(!register_tap_listener(get_srt_tap_listener_name(times), &srt, filter, 0, reset_times,
                                   get_srt_packet_func(times), print_times, NULL));
    tree = stats_tree_new(config, NULL, filter);
    require(!register_tap_listener(config->tapname, tree, filter, config->flags, stats_tree_reinit,
                                   stats_tree_packet, print_tree, NULL));
}

static text_win_close_cb_t close_report;
static void *closed_report;
static funnel_bt_t *buttons[9];
static unsigned button_count;

static void
close_windows(void)
{
    close_report(closed_report);
    for (; button_count; button_count--)
        buttons[button_count - 1]->free_fcn(buttons[button_count - 1]);
    remove_tap_listener(&srt);
    remove_tap_listener(tree);
    free_srt_table(times, srt.srt_array);
    g_array_free(srt.srt_array, TRUE);
    stats_tree_free(tree);
}

/* ---- the window of the report ---- */

static funnel_text_window_t *
new_text_window(funnel_ops_id_t *program _U_, const char *title _U_)
{
    page = g_string_new(NULL);
    return (funnel_text_window_t *)(void *)page;
}

static void
set_text(funnel_text_window_t *window, const char *text)
{
    g_string_assign((GString *)(void *)window, text);
    scrolled_to = page->len;
}

static void
append_text(funnel_text_window_t *window, const char *text)
{
    g_string_append((GString *)(void *)window, text);
}

static void
set_close_cb(funnel_text_window_t *window _U_, text_win_close_cb_t closed, void *data)
{
    close_report = closed;
    closed_report = data;
}

static void
retap_packets(funnel_ops_id_t *program _U_)
{
}

static void
open_from_menu(const char *name, register_stat_group_t group _U_, funnel_menu_callback chosen,
               void *data, ws_bool retap _U_)
{
    if (strcmp(name, "SMC-R Report") == 0)
        chosen(data);
}

/* ---- its buttons ---- */

static void
add_button(funnel_text_window_t *window _U_, funnel_bt_t *button, const char *label)
{
    require(label[0] && button_count < G_N_ELEMENTS(buttons));
    buttons[button_count++] = button;
}

static void
copy_to_clipboard(GString *text)
{
    printf("pressed\tcopied %s\n", text->str);
}

/* A filter with an error: the button opens no window. */
static const char *
get_filter(funnel_ops_id_t *program _U_)
{
    printf("pressed\tdisplayed\n");
    return "smcr.stream ==";
}

/* The file that is there stays. */
static void
refuse(const char *path _U_, int error)
{
    printf("pressed\trefused: %s\n", g_strerror(error));
}

/* Draws all listeners, as a retap does some time later. */
static void
draw_once_more(void)
{
    quiet = true;
    reset_tap_listeners();
    pass(false);
    draw_tap_listeners(TRUE);
    quiet = false;
}

static char *folder; /* of what is saved: other runs save at the same time */

static bool no_browser; /* the user has no browser */

/* A page that was written. */
static ws_bool
browser_open_url(const char *url)
{
    if (no_browser)
        return FALSE;
    char *path = g_filename_from_uri(url, NULL, NULL), *html = NULL;

    require(path && g_file_get_contents(path, &html, NULL, NULL));
    printf("pressed\topened %s\n", strstr(html, "id=\"pictures\"") ? "page" : "nothing");
    require(remove(path) == 0);
    g_free(path);
    g_free(html);
    return TRUE;
}

/* Saves the page, which is written when the listeners are drawn. */
static void
save_page(funnel_dlg_cb_t accept, void *data)
{
    char **answers = g_new0(char *, 2), *html = NULL;

    answers[0] = g_build_filename(folder, "saved.html", NULL);
    char *path = g_strdup(answers[0]);
    accept(answers, data);
    draw_once_more();
    require(g_file_get_contents(path, &html, NULL, NULL));
    printf("pressed\tpage %s\n", strstr(html, "id=\"pictures\"") ? "saved" : "missing");
    require(remove(path) == 0);
    g_free(path);
    g_free(html);
}

/* Saves as text, and as a page, in a folder that does not exist, and in one that the user may not
 * write. */
static void
save_nowhere(funnel_dlg_cb_t accept, void *data)
{
    static const char *const names[] = {"missing/saved.txt", "missing/saved.html"};

    for (unsigned i = 0; i < 2 * G_N_ELEMENTS(names); i++) {
        char **answers = g_new0(char *, 2);
        const char *name = names[i % G_N_ELEMENTS(names)];
        bool is_locked = i >= G_N_ELEMENTS(names);
        answers[0] = is_locked ? g_build_filename("/", strchr(name, '/'), NULL)
                               : g_build_filename(folder, name, NULL);
        accept(answers, data);
        draw_once_more();
    }
}

/* Asked twice: the second time the file is there. Then the page is saved; then both in folders
 * where they cannot be. */
static void
new_dialog(funnel_ops_id_t *program _U_, const char *title _U_, const char **names _U_,
           const char **values, funnel_dlg_cb_t accept, void *data, funnel_dlg_cb_data_free_t done)
{
    char **answers = g_new0(char *, 2);

    require(g_str_has_suffix(values[0], ".txt"));
    answers[0] = g_build_filename(folder, "saved.txt", NULL);
    char *path = g_strdup(answers[0]), *text = NULL, **again = g_strdupv(answers);
    accept(answers, data);
    accept(again, data);
    save_page(accept, data);
    save_nowhere(accept, data);
    done(data);
    require(g_file_get_contents(path, &text, NULL, NULL));
    printf("pressed\tsaved %s", strchr(text, '\n') ? "text\n" : "nothing\n");
    require(remove(path) == 0);
    g_free(path);
    g_free(text);
}

static ws_info_t main_window;
static bool hidden; /* a display filter hides the frames of findings */

static void
go_to_frame(GHashTable *data)
{
    uint32_t frame = GPOINTER_TO_UINT(g_hash_table_lookup(data, "frame_nr"));

    printf("pressed\tframe %u\n", frame);
    main_window.cf_framenr = hidden ? 0 : frame;
}

static void
apply_filter(GHashTable *data)
{
    const char *filter = g_hash_table_lookup(data, "filter_string");

    printf("pressed\t%s\n", filter);
    hidden = *filter;
    main_window.cf_framenr = 0;
}

static void
tell_main_window(GHashTable *data)
{
    ws_info_t *asked = g_hash_table_lookup(data, "ws_info");

    asked->cf_framenr = main_window.cf_framenr;
}

/* The marked finding, all its lines, is the last that is seen of what the window scrolls to. */
static void
require_scrolled(const char *mark)
{
    const char *end = strchr(mark + 1, '\n');

    while (g_str_has_prefix(end + 1, "      "))
        end = strchr(end + 1, '\n');
    require(end == page->str + scrolled_to);
}

/* ---- the report of the selected packet's connection ---- */

static capture_file selected; /* the open file, with the packet that is selected */

static void
tell_capture_file(GHashTable *data)
{
    plugin_if_capture_file_cb asked =
        (plugin_if_capture_file_cb)g_hash_table_lookup(data, "extract_cb");

    void **answer = g_hash_table_lookup(data, "ret_value_ptr");

    *answer = asked(&selected, g_hash_table_lookup(data, "user_data"));
}

/* A sentence for the user. */
static void
fail(const char *format, va_list arguments)
{
    char *text = g_strdup_vprintf(format, arguments);

    char *path = strstr(text, "smcr-"); /* the name of a temporary file differs each time */

    if (path) {
        char *whole = strrchr(text, ' ') + 1;
        require(g_file_test(whole, G_FILE_TEST_EXISTS) && remove(whole) == 0);
        *whole = '\0';
    }
    printf("pressed\tfailed: %s\n", g_strchomp(text));
    g_free(text);
}

/* Presses the button while this frame is selected; 0: none is. */
static void
press_selected(funnel_bt_t *button, uint32_t number)
{
    epan_dissect_t *dissection = epan_dissect_new(capture.epan, true, true);

    if (number) {
        frame_t *frame = &g_array_index(capture.frames, frame_t, number - 1);
        wtap_rec record = record_of(&frame->data.abs_ts, frame->data.cap_len, frame->data.pkt_len);
        compat_dissect(dissection, &record, (uint8_t *)(uintptr_t)frame->bytes, &frame->data, NULL);
        selected.edt = dissection;
    }
    button->func(button->tw, button->data);
    selected.edt = NULL;
    epan_dissect_free(dissection);
}

/* Without a selected packet, a sentence. With the first frame selected, another window: prints the
 * lines of its report that name the filter, and closes it. */
static void
press_connection_only(funnel_bt_t *button)
{
    GString *first = page;
    text_win_close_cb_t first_close = close_report;
    void *first_closed = closed_report;
    unsigned count = button_count;

    press_selected(button, 0);
    button_count = 0; /* the buttons of the other window are not pressed */
    funnel_bt_t *kept[G_N_ELEMENTS(buttons)];
    memcpy(kept, buttons, sizeof kept);
    press_selected(button, MIN(capture.frames->len, 1));
    if (page != first) {
        draw_once_more();
        const char *line = strstr(page->str, "smcr.stream eq");
        printf("pressed\topened %.*s\n", line ? (int)strcspn(line, ";\n") : 0, line);
        close_report(closed_report);
        for (; button_count; button_count--)
            buttons[button_count - 1]->free_fcn(buttons[button_count - 1]);
        g_string_free(page, TRUE);
    }
    memcpy(buttons, kept, sizeof kept);
    page = first;
    close_report = first_close;
    closed_report = first_closed;
    button_count = count;
}

/* The marked line, for each way to another finding; then what the other buttons do. */
static void
press_buttons(void)
{
    static const unsigned order[] = {1, 0, 0, 2, 3, 2, 1, 4, 6, 7, 7, 8};

    require(button_count == 9);
    press_connection_only(buttons[5]);
    for (unsigned i = 0; i < G_N_ELEMENTS(order); i++) {
        funnel_bt_t *button = buttons[order[i]];
        no_browser = i > 0 && order[i] == 7 && order[i - 1] == 7; /* pressed once more */
        button->func(button->tw, button->data);
        if (order[i] == 7) /* Open as Page */
            draw_once_more();
        const char *mark = strstr(page->str, "\n> ");
        if (mark)
            require_scrolled(mark);
        if (order[i] < 2)
            printf("pressed\t%d\n", mark ? atoi(mark + 3) : 0);
    }
    g_string_truncate(page, 0);
}

static void
print_report(void)
{
    char **lines = g_strsplit(page->str, "\n", -1);

    for (unsigned i = 0; lines[i]; i++)
        printf("report\t%s\n", lines[i]);
    g_strfreev(lines);
    g_string_truncate(page, 0);
}

/* ---- the window of links ---- */

static void
print_rows(const stat_tap_table *links)
{
    for (unsigned row = 0; row < links->num_elements; row++) {
        printf("links");
        for (unsigned i = 0; i < links->num_fields; i++)
            printf("\t%s", stat_tap_get_field_data(links, row, i)->value.string_value);
        printf("\n");
    }
}

static void
show_links(const char *filter)
{
    stat_data_t window = {.stat_tap_data = stat_tap_by_name("smcr,links")};

    require(window.stat_tap_data);
    window.stat_tap_data->refcount++;
    window.stat_tap_data->stat_tap_init_cb(window.stat_tap_data);
    require(!register_tap_listener(window.stat_tap_data->tap_name, &window, filter, 0, NULL,
                                   window.stat_tap_data->packet_func, NULL, NULL));
    reset_tap_listeners();
    pass(false);
    print_rows(g_array_index(window.stat_tap_data->tables, stat_tap_table *, 0));
    remove_tap_listener(&window);
    free_stat_tables(window.stat_tap_data);
}

static void
start(void)
{
    static const funnel_ops_t program = {
        .ops_id = (funnel_ops_id_t *)(void *)&capture,
        .new_text_window = new_text_window,
        .set_text = set_text,
        .append_text = append_text,
        .set_close_cb = set_close_cb,
        .add_button = add_button,
        .new_dialog = new_dialog,
        .retap_packets = retap_packets,
        .copy_to_clipboard = copy_to_clipboard,
        .get_filter = get_filter,
        .browser_open_url = browser_open_url,
    };
    static const struct report_message_routines messages = {.vreport_failure = fail,
                                                             .report_write_failure = refuse};

    g_setenv("WIRESHARK_ABORT_ON_DISSECTOR_BUG", "1", TRUE);
    init_process_policies();
    compat_log_init("window");
    timestamp_set_type(TS_RELATIVE);
    timestamp_set_precision(TS_PREC_AUTO);
    timestamp_set_seconds_type(TS_SECONDS_DEFAULT);
    wtap_init(FALSE);
    plugin_register();
    require(epan_init(NULL, NULL, FALSE));
    epan_load_settings();
    disable_name_resolution();
    prefs_apply_all();
    plugin_if_register_gui_cb(PLUGIN_IF_GOTO_FRAME, go_to_frame);
    plugin_if_register_gui_cb(PLUGIN_IF_FILTER_ACTION_APPLY, apply_filter);
    plugin_if_register_gui_cb(PLUGIN_IF_GET_WS_INFO, tell_main_window);
    plugin_if_register_gui_cb(PLUGIN_IF_GET_CAPTURE_FILE, tell_capture_file);
    init_report_message("window", &messages);
    funnel_set_funnel_ops(&program);
    funnel_register_all_menus(open_from_menu);
}

int
main(int argc, char **argv)
{
    require(argc > 2);
    const char *filter = argv[1][0] ? argv[1] : NULL;

    folder = g_dir_make_tmp("window-XXXXXX", NULL);
    require(folder);
    start();
    open_windows(filter);
    for (int i = 2; i < argc; i++) {
        reset_tap_listeners();
        open_file(argv[i]);
        pass(false);
        if (i + 1 < argc)
            postseq_cleanup_all_protocols();
        draw_tap_listeners(TRUE);
        print_report();
        reset_tap_listeners();
        pass(true);
        draw_tap_listeners(TRUE);
        print_report();
        press_buttons();
        show_links(filter);
        close_file();
    }
    close_windows();
    epan_cleanup();
    wtap_cleanup();
    require(remove(folder) == 0);
    g_free(folder);
    return 0;
}
