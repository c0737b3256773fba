/* To begin a file anew takes Wireshark far longer than to dissect some frames, so this is done
 * only now and then. In between each capture has a new state and addresses of its own.
 *
 * SMCR_FUZZ_PCAP=FILE writes the frames of each capture to FILE, for tshark to read.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "session.h"

#include <epan/addr_resolv.h>
#include <epan/column-info.h>
#include <epan/column.h>
#include <epan/epan.h>
#include <epan/timestamp.h>
#include <wiretap/wtap.h>
#include <wsutil/privileges.h>
#include <wsutil/wslog.h>

#include "host/capture.h"
#include "input.h"
#include "taps.h"

#define FRAMES_MAX 256
#define CAPTURES_PER_FILE 2000 /* then Wireshark forgets all, except for some 10 MB */

void plugin_register(void);

typedef struct {
    frame_data data;
    uint8_t *bytes; /* exactly what was captured, so that AddressSanitizer sees the end */
} frame_t;

static epan_t *epan;
static epan_dissect_t *with_tree, *without_tree;
static column_info columns;
static frame_t frames[FRAMES_MAX];
static const char *capture_path; /* what is played is written there; NULL: nowhere */
static bool tree_at_once; /* the first pass makes a tree too, as tshark's only one does */
static unsigned frame_count, prelude_count, capture_count;
static uint64_t played_count; /* frames of all captures, without preludes */

static const nstime_t *
no_time(struct packet_provider_data *provider _U_, uint32_t frame _U_)
{
    static const nstime_t zero;

    return &zero;
}

/* Other people's heuristics have bugs of their own; rpcrdma_infiniband stops with an assertion at
 * every SEND last without its SEND first. */
static void
disable_foreign(const char *table _U_, heur_dtbl_entry_t *entry, void *data _U_)
{
    if (!g_str_has_prefix(entry->short_name, "smcr_"))
        entry->enabled = FALSE;
}

/* As libFuzzer prints its own numbers. */
static void
print_played(void)
{
    fprintf(stderr, "stat::number_of_frames: %" PRIu64 "\n", played_count);
}

void
session_start(void)
{
    require(atexit(print_played) == 0);
    capture_path = getenv("SMCR_FUZZ_PCAP");
    g_setenv("WIRESHARK_ABORT_ON_DISSECTOR_BUG", "1", TRUE);
    init_process_policies();
    compat_log_init("fuzz");
    timestamp_set_type(TS_RELATIVE);
    timestamp_set_precision(TS_PREC_AUTO);
    timestamp_set_seconds_type(TS_SECONDS_DEFAULT);
    wtap_init(FALSE);
    plugin_register();
    require(epan_init(NULL, NULL, FALSE));
    e_prefs *preferences = epan_load_settings();
    disable_name_resolution();
    prefs_apply_all();
    heur_dissector_table_foreach("tcp", disable_foreign, NULL);
    heur_dissector_table_foreach("infiniband.payload", disable_foreign, NULL);
    build_column_format_array(&columns, preferences->num_cols, TRUE);
    require(proto_get_id_by_filter_name("smcr") > 0);
    taps_start();
}

void
session_prefer(const char *preference)
{
    char *text = g_strdup(preference), *problem = NULL;

    require(prefs_set_pref(text, &problem) == PREFS_SET_OK);
    prefs_apply_all();
    g_free(text);
}

static void
renew_file(void)
{
    static const struct packet_provider_funcs functions = {.get_frame_ts = no_time};

    if (epan) {
        epan_dissect_free(with_tree);
        epan_dissect_free(without_tree);
        epan_free(epan);
    }
    epan = epan_new(NULL, &functions);
    with_tree = epan_dissect_new(epan, TRUE, TRUE);
    without_tree = epan_dissect_new(epan, FALSE, FALSE);
}

unsigned
session_next(void)
{
    return capture_count % CAPTURES_PER_FILE;
}

unsigned
session_open(bool tree)
{
    if (capture_count % CAPTURES_PER_FILE == 0)
        renew_file();
    smcr_capture_begin();
    tree_at_once = tree;
    return capture_count++ % CAPTURES_PER_FILE;
}

epan_dissect_t *
session_dissection(void)
{
    return with_tree;
}

void
session_end_prelude(void)
{
    prelude_count = frame_count;
}

/* Whether somebody read beyond the end: expert items for malformed bytes are hidden fields of that
 * name, the line about the exception is not. */
static bool
is_malformed(proto_tree *tree)
{
    GPtrArray *found = proto_find_finfo(tree, proto_get_id_by_filter_name("_ws.malformed"));
    bool malformed = false;

    for (unsigned i = 0; i < found->len; i++)
        if (!FI_GET_FLAG((const field_info *)g_ptr_array_index(found, i), FI_HIDDEN))
            malformed = true;
    g_ptr_array_free(found, TRUE);
    return malformed;
}

/* A frame of an nlmon interface begins with its own cooked header. */
static int
encap_of(const uint8_t *bytes, uint32_t captured)
{
    static const uint8_t cooked[] = {0, 4, 3, 0x38, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    bool netlink = captured > sizeof cooked && memcmp(bytes, cooked, sizeof cooked) == 0;

    return netlink ? WTAP_ENCAP_NETLINK : WTAP_ENCAP_ETHERNET;
}

static void
dissect(frame_t *frame, epan_dissect_t *dissection, bool sound)
{
    frame_data *data = &frame->data;
    wtap_rec record = {
        .rec_type = REC_TYPE_PACKET,
        .presence_flags = WTAP_HAS_TS | WTAP_HAS_CAP_LEN,
        .ts = data->abs_ts,
        .rec_header.packet_header = {.caplen = data->cap_len,
                                     .len = data->pkt_len,
                                     .pkt_encap = encap_of(frame->bytes, data->cap_len)},
    };

    compat_dissect(dissection, &record, frame->bytes, data,
                   dissection == with_tree ? &columns : NULL);
    if (dissection == with_tree)
        epan_dissect_fill_in_columns(dissection, FALSE, FALSE);
    if (data->visited)
        taps_select(&dissection->pi);
    if (sound)
        require(!is_malformed(dissection->tree));
    epan_dissect_reset(dissection);
}

/* pcap, little-endian, Ethernet */
static void
write_capture(void)
{
    static const uint32_t header[] = {0xa1b2c3d4, 2 | 4 << 16, 0, 0, 262144, 1};
    FILE *file = capture_path ? fopen(capture_path, "wb") : NULL;

    if (!file)
        return;
    fwrite(header, sizeof header, 1, file);
    for (unsigned i = 0; i < frame_count; i++) {
        const frame_data *data = &frames[i].data;
        uint32_t record[] = {(uint32_t)data->abs_ts.secs, (uint32_t)data->abs_ts.nsecs / 1000,
                             data->cap_len, data->pkt_len};
        fwrite(record, sizeof record, 1, file);
        fwrite(frames[i].bytes, data->cap_len, 1, file);
    }
    fclose(file);
}

void
session_frame(const uint8_t *bytes, uint32_t captured, uint32_t length)
{
    if (frame_count == FRAMES_MAX)
        return;
    frame_t *frame = &frames[frame_count++];
    wtap_rec record = {
        .rec_type = REC_TYPE_PACKET,
        .presence_flags = WTAP_HAS_TS | WTAP_HAS_CAP_LEN,
        .ts = {.secs = 1700000000 + frame_count / 8, .nsecs = (int)frame_count * 1000},
        .rec_header.packet_header = {
            .caplen = captured, .len = length, .pkt_encap = encap_of(bytes, captured)},
    };

    frame->bytes = malloc(captured ? captured : 1);
    memcpy(frame->bytes, bytes, captured);
    frame_data_init(&frame->data, frame_count, &record, 0, 0);
    write_capture(); /* now, for it may be the last */
    dissect(frame, tree_at_once ? with_tree : without_tree, false);
    frame->data.visited = 1;
}

void
session_close(bool sound)
{
    played_count += frame_count - prelude_count;
    taps_reset(tree_at_once);
    for (unsigned i = prelude_count; i < frame_count; i++)
        dissect(&frames[i], with_tree, sound);
    taps_reset(!tree_at_once);
    for (unsigned i = 0; i < frame_count; i++) {
        frame_data_destroy(&frames[i].data);
        free(frames[i].bytes);
    }
    frame_count = prelude_count = 0;
}
