/* fields.h
 * What fields.def and experts.def declare: indices of fields, subtrees and expert items. The
 * protocol that has them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"

extern int proto_smcr;

#define ROW(hf, name, filter, type, display, strings, mask, section, description) extern int hf;
#define TREE(ett) extern int ett;
#include "fields.def"

#define EXPERT(ei, filter, group, severity, sentence) \
    extern expert_field ei_smcr_##ei;
#include "experts.def"

/* Registers the protocol with its fields, subtrees and expert items; called once at start. */
void smcr_fields_register(void);
