/* notice.h
 * An expert item of the plugin, as counted over a capture.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_REPORT_FIGURES_NOTICE_H
#define SMCR_REPORT_FIGURES_NOTICE_H

#include <stdint.h>

#include "choices.h"
#include "fabric/fabric.h"

typedef struct {
    const char *filter; /* "smcr.conn.aborted" */
    int severity;       /* PI_NOTE and so on */
    int group;          /* PI_SEQUENCE and so on */
    smcr_figure_role_t by;
    const char *text;   /* the sentence of the first one */
    uint64_t count;
    smcr_when_t first;
} smcr_figure_notice_t;

#endif /* SMCR_REPORT_FIGURES_NOTICE_H */
