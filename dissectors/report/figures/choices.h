/* choices.h
 * Words among which a figure chooses: an enum for each list of choices.def, smcr_outcome_t and so
 * on, and the texts of its constants.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_REPORT_FIGURES_CHOICES_H
#define SMCR_REPORT_FIGURES_CHOICES_H

#include "wire/wire.h"

#define CHOICE(list) typedef enum {
#define WORD(constant, text) SMCR_##constant,
#define END(list) } smcr_##list##_t; extern const char *const smcr_##list##_words[];
#include "choices.def"

/* What Linux calls the states of RDMA-CM; 0: not known. */
typedef unsigned smcr_cm_state_t;
#define SMCR_CM_STATE_KNOWN(state) ((state) + 1) /* enum smcr_cm_state */
extern const char *const smcr_cm_state_words[];

#endif /* SMCR_REPORT_FIGURES_CHOICES_H */
