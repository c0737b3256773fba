/* The user's choices.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"

typedef enum {
    SMCR_HEURISTICS_ADAPTIVE, /* where a message may begin */
    SMCR_HEURISTICS_ALWAYS,   /* about all bytes, as TCP asks them */
} smcr_heuristics_t;

typedef struct {
    compat_pref_bool dissect_payload; /* application's bytes go to the dissectors above TCP */
    compat_pref_bool desegment;       /* and may be put together there */
    int heuristics;                   /* when they are asked about those bytes:
                                         smcr_heuristics_t */
    compat_pref_bool check_icrc;      /* of all RoCE packets */
    compat_pref_bool roce;            /* RoCE packets that are not SMC-R are of interest, too */
    compat_pref_bool builtin_too;     /* also run Wireshark's own `smc`, for its filters */
    const char *smcss;                /* path of a file that smcss has written; NULL, "": none */
} smcr_preferences_t;

extern smcr_preferences_t smcr_preferences;

/* Registers the preferences of protocol `proto`. */
void smcr_preferences_register(int proto);
