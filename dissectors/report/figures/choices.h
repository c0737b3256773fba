/* choices.h
 * Words among which a figure chooses: an enum for each list of choices.def, smcr_figure_outcome_t
 * and so on, and the texts of its constants.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_REPORT_FIGURES_CHOICES_H
#define SMCR_REPORT_FIGURES_CHOICES_H

#include "wire/wire.h"

#define CHOICE(list) typedef enum {
#define WORD(constant, text) SMCR_FIGURE_##constant,
#define END(list) } smcr_figure_##list##_t; extern const char *const smcr_figure_##list##_words[];
#include "choices.def"

/* What Linux calls the states of RDMA-CM; 0: not known. */
typedef unsigned smcr_figure_cm_state_t;
#define SMCR_FIGURE_CM_STATE_KNOWN(state) ((state) + 1) /* enum smcr_ib_cm_state */
extern const char *const smcr_figure_cm_state_words[];

#endif /* SMCR_REPORT_FIGURES_CHOICES_H */
