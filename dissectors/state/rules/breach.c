/* Reports a breach to the user, as far as the capture proves it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "rules.h"

#include <stdarg.h>

/* Adds the event of a breach to the record of the packet. `doubt`: reason to doubt the breach. If
 * the reason is that packets may be missing, the event is a doubtful breach instead. For any other
 * reason, and if TCP and RoCE have times of two clocks, there is no event. If the doubt has a
 * claim, the event is shown only if the claim holds. `format`, `arguments`: the sentence that says
 * what breaks the rule. */
static void
add_breach(const smcr_arrival_t *arrival, smcr_event_id_t event, smcr_doubt_t doubt,
           const char *format, va_list arguments)
{
    const smcr_link_t *link = arrival->record->link;

    if (link && link->lgr->clocks_differ) /* the order of messages means nothing */
        return;
    if (doubt.kind && doubt.kind != SMCR_DOUBT_ABSENT)
        return;
    char *text = g_strdup_vprintf(format, arguments);
    smcr_event_t *kept =
        doubt.kind ? smcr_event_add(arrival, SMCR_EVENT_breach_doubtful,
                                    "%s; but missing packets may explain it", text)
                   : smcr_event_add(arrival, event, "%s", text);
    kept->deferred_check = doubt.claim;
    g_free(text);
}

/* Only add_breach() decides whether the breach is reported. */
void
smcr_breach_report(const smcr_arrival_t *arrival, smcr_event_id_t event, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    add_breach(arrival, event, smcr_doubt_message(arrival), format, arguments);
    va_end(arguments);
}

/* Only add_breach() decides whether the breach is reported. */
void
smcr_breach_report_unless(const smcr_arrival_t *arrival, smcr_event_id_t event, smcr_doubt_t doubt,
                          const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    add_breach(arrival, event, doubt, format, arguments);
    va_end(arguments);
}
