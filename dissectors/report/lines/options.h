/* The options of -z smcr,lines.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"

/* The options. Times are in nanoseconds. */
typedef struct {
    uint64_t late;      /* how long the line of a connection that has ended waits for late
                           packets */
    uint64_t idle;      /* time without packets after which a connection is given up */
    uint64_t interval;  /* length of the intervals of flows */
    char *host;         /* name of the capturing host, for each line; NULL: none */
    char *point;        /* name of the capture point, for each line; NULL: none */
    unsigned kinds;     /* kinds of lines that are written: bit number smcr_figure_line_kind_t for
                           each; 0: all */
    bool full;          /* lines have the members that only full lines have */
    bool ecs;           /* lines have the names of the Elastic Common Schema, too */
    const char *filter; /* display filter, a part of the argument; NULL: none */
} smcr_lines_options_t;

/* Reads the options from `text`, the argument of -z after its name. Returns false, and prints an
 * error, if an option is wrong. */
bool smcr_lines_options_read(smcr_lines_options_t *options, const char *text);
