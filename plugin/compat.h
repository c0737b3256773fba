/* The only file that knows one Wireshark version from another: everything else is written
 * against the names below. What can be asked of Wireshark's headers is asked of them, here or in
 * meson.build, whose answers are the macros COMPAT_HAS_...: so a version between those that are
 * tested compiles by what it has. The version number decides where the headers do not tell.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <wireshark.h> /* must come first: GLib, attributes, export macros */
#include <ws_version.h>

#include <epan/funnel.h>
#include <epan/packet.h>
#include <epan/conversation.h>
#include <epan/conversation_filter.h>
#include <epan/expert.h>
#include <epan/prefs.h>
#include <epan/proto_data.h>
#include <epan/stats_tree.h>
#include <epan/tap.h>
#include <epan/tfs.h>
#include <epan/to_str.h>
#include <epan/unit_strings.h>
#include <epan/dissectors/packet-infiniband.h>
#include <epan/dissectors/packet-netlink.h>
#include <epan/dissectors/packet-tcp.h>
#include <wiretap/wtap.h>
#if __has_include(<wsutil/plugins.h>)
#include <wsutil/plugins.h>
#endif

#include "wire/wire.h"

#define WS_AT_LEAST(major, minor) \
    (WIRESHARK_VERSION_MAJOR > (major) || \
     (WIRESHARK_VERSION_MAJOR == (major) && WIRESHARK_VERSION_MINOR >= (minor)))

/* Truth values that are gboolean up to 4.2 and bool from 4.4 on, each as its own header has it: the
 * result of a heuristic, of what the end of a memory pool calls; the variable of a preference; the
 * result of a button. */
typedef SMCR_WIRE_TYPEOF(((heur_dissector_t)NULL)(NULL, NULL, NULL, NULL)) ws_bool;
typedef SMCR_WIRE_TYPEOF(((wmem_user_cb_t)NULL)(NULL, WMEM_CB_FREE_EVENT, NULL)) compat_pool_bool;
typedef SMCR_WIRE_TYPEOF(
    _Generic(&prefs_register_bool_preference,
             void (*)(module_t *, const char *, const char *, const char *, bool *): (bool)0,
             default: (gboolean)0)) compat_pref_bool;

typedef SMCR_WIRE_TYPEOF(((funnel_bt_cb_t)NULL)(NULL, NULL)) compat_button_bool;

#ifndef COMPAT_HAS_TVB_GET_UINT8
#define tvb_get_uint8 tvb_get_guint8
#endif

#ifndef WS_PLUGIN_DESC_DISSECTOR /* 4.0 and 4.2 do not ask what a plugin is */
#define WS_PLUGIN_DESC_DISSECTOR 0
#endif

#ifndef UNS /* 4.0 and 4.2 take unit strings without a wrapper */
#define UNS(units) (units)
#endif

/* 4.2 also wants to know how many streams there are, and has streams within streams. */
#ifdef COMPAT_HAS_FOLLOW_COUNT
#define compat_follow_counts(follower) \
    , get_follow_stream_count_func(follower), get_follow_sub_stream_id_func(follower)
#define compat_register_follow_stream(proto, tap, conv, index, address, port, packet, count) \
    register_follow_stream(proto, tap, conv, index, address, port, packet, count, NULL)
#else
#define compat_register_follow_stream(proto, tap, conv, index, address, port, packet, count) \
    ((void)(count), register_follow_stream(proto, tap, conv, index, address, port, packet))
#define compat_follow_counts(follower)
#endif

/* Registers a protocol's Follow Stream once more, with a function in front of its own. */
#define compat_wrap_follow_stream(follower, conv) \
    register_follow_stream(get_follow_proto_id(follower), get_follow_tap_string(follower), conv, \
                           get_follow_index_func(follower), get_follow_address_func(follower), \
                           get_follow_port_to_display(follower), get_follow_tap_handler(follower) \
                           compat_follow_counts(follower))

/* 4.4 also passes the number of its stream to the dissectors above TCP. */
#ifdef COMPAT_HAS_TCPINFO_STREAM
#define compat_tcpinfo_set_stream(tcpinfo, number) ((void)((tcpinfo)->stream = (number)))
#else
#define compat_tcpinfo_set_stream(tcpinfo, number) ((void)(number))
#endif

/* Name of an interface of the file; 4.2 also asks for the section of the file. NULL or "unknown":
 * there is no such interface, or it has no name. */
#ifdef COMPAT_HAS_INTERFACE_SECTION
#define compat_interface_name(pinfo, number) \
    epan_get_interface_name( \
        (pinfo)->epan, number, \
        ((pinfo)->rec->presence_flags & WTAP_HAS_SECTION_NUMBER) \
            ? (pinfo)->rec->section_number \
            : 0)
#else
#define compat_interface_name(pinfo, number) epan_get_interface_name((pinfo)->epan, number)
#endif

/* Whether it has been read what InfiniBand's dissector does besides showing a packet. In 4.0 it
 * keeps nothing of packets with data. A function: after a constant, clang warns of code that no
 * version reaches. */
static inline bool
compat_infiniband_is_known(void)
{
    return !WS_AT_LEAST(4, 1);
}

/* What stands between the parts of a path of menus. */
#ifdef STATS_TREE_MENU_SEPARATOR
#define COMPAT_MENU STATS_TREE_MENU_SEPARATOR
#else
#define COMPAT_MENU "/"
#endif

/* Conversation filters: from 4.4 on their functions may have data of their own. */
#ifdef COMPAT_HAS_CONVERSATION_FILTER_DATA
typedef SMCR_WIRE_TYPEOF(((is_filter_valid_func)NULL)(NULL, NULL)) compat_filter_bool;
#define compat_conversation_filter_arguments packet_info *pinfo, void *unused_data _U_
#define compat_register_conversation_filter(proto, name, valid, build) \
    register_conversation_filter(proto, name, valid, build, NULL)
#define compat_conversation_filter_is_valid(filter, pinfo) \
    ((filter)->is_filter_valid(pinfo, (filter)->user_data))
#define compat_conversation_filter_build(filter, pinfo) \
    ((filter)->build_filter_string(pinfo, (filter)->user_data))
#else
typedef SMCR_WIRE_TYPEOF(((is_filter_valid_func)NULL)(NULL)) compat_filter_bool;
#define compat_conversation_filter_arguments packet_info *pinfo
#define compat_register_conversation_filter(proto, name, valid, build) \
    register_conversation_filter(proto, name, valid, build)
#define compat_conversation_filter_is_valid(filter, pinfo) ((filter)->is_filter_valid(pinfo))
#define compat_conversation_filter_build(filter, pinfo) ((filter)->build_filter_string(pinfo))
#endif

/* 4.6 wants to know whether a statistic of the command line could begin. Ends the function that
 * begins it. */
#ifdef COMPAT_HAS_STAT_RESULT
typedef bool compat_stat_result;
#define compat_end_stat_init(began) return (began)
#else
typedef void compat_stat_result;
#define compat_end_stat_init(began) \
    do { \
        if (!(began)) \
            exit(EXIT_FAILURE); \
    } while (0)
#endif

/* Flow graphs: no version installs epan/sequence_analysis.h. These are its struct and functions as
 * far as they are needed. In the versions read, it has the truth values of heuristics. */
typedef struct {
    uint32_t frame_number;
    address src_addr;
    uint16_t port_src;
    address dst_addr;
    uint16_t port_dst;
    char *frame_label, *time_str, *comment; /* g_malloc; all must be there */
    uint16_t conv_num;
    unsigned fg_color, bg_color;
    ws_bool has_color_filter;
    ws_bool display;
    unsigned src_node, dst_node;
    uint16_t line_style; /* width, pixels */
    uint32_t info_type;
    void *info_ptr;
} seq_analysis_item_t;

typedef struct {
    const char *name;
    int any_addr; /* from 4.4 on a bool, whose other bytes are not set: not to be read */
    int nconv;
    GQueue *items; /* seq_analysis_item_t, in the order of the frames */
} seq_analysis_info_t;

WS_DLL_PUBLIC void register_seq_analysis(const char *name, const char *ui_name, const int proto_id,
                                         const char *tap_listener, unsigned tap_flags,
                                         tap_packet_cb tap_func);
WS_DLL_PUBLIC seq_analysis_item_t *
sequence_analysis_create_sai_with_addresses(packet_info *pinfo, seq_analysis_info_t *sainfo);
WS_DLL_PUBLIC void sequence_analysis_use_color_filter(packet_info *pinfo,
                                                      seq_analysis_item_t *sai);

/* For programs that dissect without Wireshark or tshark, as in tests/fuzz. 4.6 asks GLib for the
 * name of the program, and finds a frame's bytes in its record, which has a name as well. */
#if WS_AT_LEAST(4, 6)
#define compat_log_init(program) (g_set_prgname(program), ws_log_init(NULL))
#define compat_dissect(dissection, record, bytes, frame, columns) \
    ((void)((record)->rec_type_name = "Packet"), \
     (void)((record)->data = (Buffer){.data = (bytes), \
                                      .allocated = (frame)->cap_len, \
                                      .first_free = (frame)->cap_len}), \
     epan_dissect_run_with_taps(dissection, WTAP_FILE_TYPE_SUBTYPE_UNKNOWN, record, frame, columns))
#else
#define compat_log_init(program) ws_log_init(program, NULL)
#define compat_dissect(dissection, record, bytes, frame, columns) \
    epan_dissect_run_with_taps( \
        dissection, WTAP_FILE_TYPE_SUBTYPE_UNKNOWN, record, \
        tvb_new_real_data(bytes, (frame)->cap_len, (int)(frame)->pkt_len), frame, columns)
#endif
