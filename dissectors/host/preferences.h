/* The preferences of the plugin.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"

/* The application bytes for which heuristic dissectors are called. */
typedef enum {
    SMCR_HEURISTICS_ADAPTIVE, /* for all bytes, until heuristic dissectors have declined a direction
                                 several times; from then on only for bytes with which a message
                                 may begin (payload/payload.h) */
    SMCR_HEURISTICS_ALWAYS,   /* for all bytes, as Wireshark's TCP does */
} smcr_heuristics_t;

/* The values of the preferences. */
typedef struct {
    compat_pref_bool dissect_payload; /* dissectors above TCP get the application's bytes */
    compat_pref_bool desegment;       /* dissectors of the application's bytes may ask for bytes of
                                         later packets, to put messages together */
    int heuristics;                   /* smcr_heuristics_t: for which bytes of the application
                                         heuristic dissectors are called */
    compat_pref_bool check_icrc;      /* the ICRC of every RoCE packet is checked */
    compat_pref_bool roce;            /* RoCE packets that are not SMC-R are analysed, too */
    compat_pref_bool findings;        /* the first pass finds the frames of findings, even if nobody
                                         asks for smcr.finding so far */
    compat_pref_bool anonymous;       /* reports replace what identifies hosts */
    compat_pref_bool builtin_too;     /* Wireshark's own dissector `smc` also shows each message, so
                                         that its filters work */
    unsigned link_speed;              /* speed of the captured links, Gbit/s; 0: not known */
    const char *points;               /* which interfaces are capture points of a path: "off",
                                         "auto", "all", or their numbers, the preferred one
                                         first */
    const char *smcss;                /* path of a file with the output of the program smcss; NULL
                                         or "": no file */
} smcr_preferences_t;

extern smcr_preferences_t smcr_preferences;

/* Registers the preferences of protocol `proto`. */
void smcr_preferences_register(int proto);
