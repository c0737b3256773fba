/* fields.h
 * What fields.def declares: indices of fields, subtrees and expert items, and the protocol.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_FIELDS_H
#define SMCR_FIELDS_H

#include "compat.h"

extern int proto_smcr;

#define FIELD(hf, name, filter, type, display, strings, mask, section, description) extern int hf;
#define TREE(ett) extern int ett;
#define EXPERT(ei, name, group, severity, sentence) extern expert_field ei;
#include "fields.def"

/* Registers the protocol, its fields and preferences; called once at start. */
void smcr_register(void);

/* True when `hf` is one of the fields for reserved bits. */
bool smcr_field_is_reserved(int hf);

#endif /* SMCR_FIELDS_H */
