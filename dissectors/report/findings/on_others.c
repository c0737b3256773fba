/* Finding about RoCE that the plugin does not analyse: RoCE of other programs than SMC-R, without
 * the preference smcr.roce.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "finder.h"
#include "report/others/others.h"
#include "report/words/words.h"

/* Finding: headers of RoCE packets that are not analysed show trouble. The counts are those of
 * single headers: they blame nobody, and say how to see more. */
void
smcr_finding_on_others(smcr_finder_t *finder)
{
    const smcr_entry_other_roce_t *others = finder->report->other_roce;
    const char *trouble = smcr_words_other_roce(finder->scope, others);

    if (!*trouble)
        return;
    smcr_finder_add(finder,
                    &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_OTHER_ROCE,
                                           .count = others->packets,
                                           .when = others->first_frame,
                                           .filter = SMCR_OTHERS_FILTER},
                    "RoCE not known to be SMC-R (%s): %s; analyse it with -o smcr.roce:TRUE",
                    smcr_words_things(finder->scope, others->packets, "packet"), trouble);
}
