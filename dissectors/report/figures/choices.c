/* choices.c
 * The texts of the choices.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "choices.h"

#include <stddef.h>

_Static_assert((int)SMCR_FIGURE_SOURCE_CLC == (int)SMCR_GROUND_CLC &&
                   (int)SMCR_FIGURE_SOURCE_ACK == (int)SMCR_GROUND_ACK,
               "sources are named as grounds");

#define CHOICE(list) const char *const smcr_figure_##list##_words[] = {
#define WORD(constant, text) [SMCR_FIGURE_##constant] = text,
#define END(list) };
#include "choices.def"

#define STATE(name, code, text) [SMCR_FIGURE_CM_STATE_KNOWN(name)] = text,
const char *const smcr_figure_cm_state_words[] = {NULL, SMCR_IB_CM_STATES(STATE)};
