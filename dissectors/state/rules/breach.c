/* Reports a breach to the user, as far as the capture proves it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "rules.h"

#include <stdarg.h>

void
smcr_breach_report(const smcr_arrival_t *arrival, smcr_event_id_t event, smcr_doubt_t doubt,
                   const char *format, ...)
{
    const smcr_link_t *link = arrival->record->link;
    va_list arguments;

    if (link && link->lgr->clocks_differ) /* the order of messages means nothing */
        return;
    if (doubt.kind && doubt.kind != SMCR_DOUBT_ABSENT)
        return;
    va_start(arguments, format);
    char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    smcr_event_t *kept =
        doubt.kind ? smcr_event_add(arrival, SMCR_EVENT_breach_doubtful,
                                    "%s; but the capture lacks packets that may explain it", text)
                   : smcr_event_add(arrival, event, "%s", text);
    kept->deferred_check = doubt.claim;
    g_free(text);
}
