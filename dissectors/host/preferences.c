/* Registration of the preferences, with their defaults.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "preferences.h"

#include "message/message.h"

smcr_preferences_t smcr_preferences = {
    .dissect_payload = true,
    .desegment = true,
    .heuristics = SMCR_HEURISTICS_ADAPTIVE,
    .builtin_too = false,
    .check_icrc = false,
    .roce = false,
    .findings = false,
    .anonymous = false,
    .link_speed = 0,
    .points = "auto",
};

static const enum_val_t heuristics[] = {
    {"adaptive", "Where a message may begin", SMCR_HEURISTICS_ADAPTIVE},
    {"always", "About all data, as TCP does", SMCR_HEURISTICS_ALWAYS},
    {NULL, NULL, -1},
};

static const struct {
    const char *name, *title, *text;
    compat_pref_bool *value;
} switches[] = {
    {"dissect_payload", "Dissect the application's data",
     "Give the bytes of RDMA WRITEs to the dissectors that dissect them over TCP",
     &smcr_preferences.dissect_payload},
    {"desegment", "Reassemble messages of the application",
     "Reassemble messages of the application's protocols that span several RDMA WRITEs, as over "
     "TCP",
     &smcr_preferences.desegment},
    {"builtin_too", "Run the built-in SMC dissector as well",
     "Show each CLC, LLC and CDC message also as Wireshark's built-in dissector does, so that "
     "existing smc.* filters still work",
     &smcr_preferences.builtin_too},
    {"check_icrc", "Check the invariant CRC of RoCE packets",
     "Check the invariant CRC (ICRC) of all RoCE and InfiniBand packets. A packet with a wrong "
     "ICRC counts as sent, but not as received",
     &smcr_preferences.check_icrc},
    {"roce", "Analyse other RoCE packets, too",
     "Add an \"RDMA connection\" to RoCE packets that are not SMC-R, and recognise RoCE with any "
     "UDP source port",
     &smcr_preferences.roce},
    {"findings", "Find the frames of findings in the first pass",
     "Show the findings of the report in their frames (smcr.finding), also without a display "
     "filter or colour rule with this field while the file is read",
     &smcr_preferences.findings},
    {"anonymous", "Make reports anonymous",
     "In reports, tables and pages, replace addresses, host names, EIDs and peer IDs by others. "
     "Equal ones have equal replacements",
     &smcr_preferences.anonymous},
    {"strict", "Report doubtful and harmless breaches, too",
     "Also raise expert items for harmless breaches of RFC 7609, and for doubtful ones that "
     "missing packets may explain",
     &smcr_items_strict},
};

/* Preference files of users contain the names: a preference that gets another name loses its
 * value. */
void
smcr_preferences_register(int proto)
{
    module_t *module = prefs_register_protocol(proto, NULL);

    for (unsigned i = 0; i < array_length(switches); i++)
        prefs_register_bool_preference(module, switches[i].name, switches[i].title,
                                       switches[i].text, switches[i].value);
    prefs_register_enum_preference(
        module, "heuristics", "Ask heuristics",
        "When the heuristic dissectors of TCP examine the application's data. For data of an "
        "unknown protocol, they take half of the dissection time",
        &smcr_preferences.heuristics, heuristics, false);
    prefs_register_uint_preference(
        module, "link_speed", "Speed of the links (Gbit/s)",
        "Speed of the links on which the packets were captured, in Gbit/s: it decides how long the "
        "quanta of PAUSE and PFC frames last. 0: not known", 10, &smcr_preferences.link_speed);
    prefs_register_string_preference(
        module, "points", "Capture points",
        "Which interfaces of a file show the same packets at several points of their path: auto "
        "(found out from the packets), all (the same, and all of TCP is compared), off, or the "
        "numbers of the interfaces, the preferred one first, such as 0,2; of a capture on all "
        "devices (SLL2): the indexes of its devices",
        &smcr_preferences.points);
    prefs_register_filename_preference(
        module, "smcss", "Output of smcss",
        "File with the output of \"smcss -a -d -R -W\" on a host: its tokens identify connections "
        "that began before the capture", &smcr_preferences.smcss, false);
}
