/* What the listeners get is looked at, so that AddressSanitizer sees it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "compat.h"

#include "taps.h"

#include <epan/conversation_filter.h>
#include <epan/export_object.h>
#include <epan/follow.h>
#include <epan/srt_table.h>
#include <epan/stats_tree_priv.h>

#include "input.h"
#include "report/listen/listeners.h"
#include "report/write/output.h"

static FILE *nowhere;
static bool draws_text = true, draws_json = true;
static follow_info_t follow;
static GPtrArray *objects;
static register_eo_t *exporter;
static GSList *filters; /* ours, of conversations */
static srt_data_t times;
static stats_tree *tree;

static void
add_object(void *data _U_, export_object_entry_t *entry)
{
    g_ptr_array_add(objects, entry);
}

static export_object_entry_t *
find_object(void *data _U_, int row)
{
    return (unsigned)row < objects->len ? g_ptr_array_index(objects, row) : NULL;
}

static void
free_object(void *entry)
{
    eo_free_entry(entry);
}

static void
draw_report(const smcr_entry_report_t *report, void *context _U_)
{
    if (draws_text) {
        GString *text = g_string_new(NULL);
        smcr_text_write(text, report, true);
        require(g_utf8_validate(text->str, (gssize)text->len, NULL));
        g_string_free(text, TRUE);
    }
    if (draws_json)
        smcr_json_write(nowhere, report);
}

void
taps_draw_either(bool json)
{
    draws_json = json;
    draws_text = !json;
}

static void
start_report(void)
{
    char *error = NULL;

    nowhere = fopen("/dev/null", "w");
    require(nowhere && smcr_listeners_new(NULL, draw_report, NULL, &error));
}

static void
start_statistics(void)
{
    register_srt_t *srt = get_srt_table_by_name("smcr");
    stats_tree_cfg *config = stats_tree_get_cfg_by_abbr("smcr");

    require(srt && config);
    times.srt_array = g_array_new(FALSE, TRUE, sizeof(srt_stat_table *));
    srt_table_dissector_init(srt, times.srt_array);
    require(!register_tap_listener(get_srt_tap_listener_name(srt), &times, NULL, 0, NULL,
                                   get_srt_packet_func(srt), NULL, NULL));
    tree = stats_tree_new(config, NULL, NULL);
    config->init(tree);
    require(!register_tap_listener(config->tapname, tree, NULL, config->flags, stats_tree_reset,
                                   stats_tree_packet, NULL, NULL));
}

static void
find_filters(void)
{
    for (GList *at = packet_conv_filter_list; at; at = at->next) {
        conversation_filter_t *filter = at->data;
        if (strcmp(filter->proto_name, "smcr") == 0)
            filters = g_slist_prepend(filters, filter);
    }
    require(filters);
}

void
taps_start(void)
{
    static export_object_list_t list = {.add_entry = add_object, .get_entry = find_object};
    register_follow_t *follower = get_follow_by_name("SMC-R");

    objects = g_ptr_array_new_with_free_func(free_object);
    exporter = get_eo_by_name("smcr");
    require(follower && exporter);
    start_report();
    start_statistics();
    find_filters();
    require(!register_tap_listener(get_follow_tap_string(follower), &follow, NULL, 0, NULL,
                                   get_follow_tap_handler(follower), NULL, NULL));
    require(!register_tap_listener(get_eo_tap_listener_name(exporter), &list, NULL, 0, NULL,
                                   get_eo_packet_func(exporter), NULL, NULL));
}

void
taps_select(packet_info *pinfo)
{
    for (GSList *at = filters; at; at = at->next) {
        const conversation_filter_t *filter = at->data;
        bool valid = compat_conversation_filter_is_valid(filter, pinfo);
        char *text = compat_conversation_filter_build(filter, pinfo);
        require(valid == (text != NULL));
        g_free(text);
    }
}

/* How many bytes the records have; they are gone then. */
static size_t
end_records(GList **records)
{
    size_t length = 0;

    for (GList *at = *records; at; at = at->next) {
        follow_record_t *record = at->data;
        length += record->data->len;
        g_byte_array_free(record->data, TRUE);
        g_free(record);
    }
    g_list_free(*records);
    *records = NULL;
    return length;
}

static void
look_at_objects(void)
{
    for (unsigned i = 0; i < objects->len; i++) {
        const export_object_entry_t *entry = g_ptr_array_index(objects, i);
        require(entry->filename && entry->hostname && entry->content_type);
        uint8_t *copy = g_malloc(entry->payload_len + 1);
        if (entry->payload_len)
            memcpy(copy, entry->payload_data, entry->payload_len);
        g_free(copy);
    }
}

void
taps_reset(bool draw)
{
    size_t written = (size_t)follow.bytes_written[0] + follow.bytes_written[1];

    require(end_records(&follow.payload) == written);
    end_records(&follow.fragments[0]);
    end_records(&follow.fragments[1]);
    follow_reset_stream(&follow);
    follow.seq[0] = follow.seq[1] = 0;
    look_at_objects();
    if (draw)
        draw_tap_listeners(TRUE);
    reset_tap_listeners();
    reset_srt_table(times.srt_array);
    get_eo_reset_func(exporter)();
    g_ptr_array_set_size(objects, 0);
}
