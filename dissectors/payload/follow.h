/* follow.h
 * Follow Stream: `-z follow,smcr,ascii,N`, and the Follow menu.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_PAYLOAD_FOLLOW_H
#define SMCR_PAYLOAD_FOLLOW_H

#include "compat.h"

/* Registers Follow Stream; called once, when protocols register. */
void smcr_follow_register(int proto);

#endif /* SMCR_PAYLOAD_FOLLOW_H */
