/* flow_llc.h
 * What the arrows of LLC messages say in a flow graph.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_STATISTICS_FLOW_LLC_H
#define SMCR_STATISTICS_FLOW_LLC_H

#include "flow_sentences.h"

/* An LLC message (RFC 7609 A.3) that `subject` sends, whose role is 0 (client), 1 (server) or
 * SMCR_LGR_SIDE_UNKNOWN. Texts are of the scope. */
smcr_arrow_text_t smcr_arrow_text_llc(wmem_allocator_t *scope, const smcr_llc_t *llc,
                                      const char *subject, int role);

#endif /* SMCR_STATISTICS_FLOW_LLC_H */
