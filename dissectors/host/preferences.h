/* The preferences of the plugin: the user's choices.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"

/* When heuristics are asked about the application's bytes. */
typedef enum {
    SMCR_HEURISTICS_ADAPTIVE, /* about bytes with which a message may begin */
    SMCR_HEURISTICS_ALWAYS,   /* about all bytes, as TCP asks them */
} smcr_heuristics_t;

typedef struct {
    compat_pref_bool dissect_payload; /* dissectors above TCP get the application's bytes */
    compat_pref_bool desegment;       /* these dissectors may ask for more bytes */
    int heuristics;                   /* when heuristics are asked about these bytes:
                                         smcr_heuristics_t */
    compat_pref_bool check_icrc;      /* check the ICRC of all RoCE packets */
    compat_pref_bool roce;            /* analyse RoCE packets that are not SMC-R, too */
    compat_pref_bool builtin_too;     /* also run Wireshark's own `smc`, for its filters */
    const char *smcss;                /* path of a file that smcss has written; NULL, "": none */
} smcr_preferences_t;

extern smcr_preferences_t smcr_preferences;

/* Registers the preferences of protocol `proto`. */
void smcr_preferences_register(int proto);
