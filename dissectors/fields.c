/* fields.c
 * Expands fields.def and experts.def into variables, and registers them with Wireshark.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "fields.h"

#include "values.h"
#include "wire/wire.h"

int proto_smcr = -1;

/* ---- variables ---- */

#define ROW(hf, name, filter, type, display, strings, mask, section, description) int hf = -1;
#define TREE(ett) int ett = -1;
#include "fields.def"

#define EXPERT(ei, filter, group, severity, sentence) \
    expert_field ei_smcr_##ei = EI_INIT;
#include "experts.def"

/* ---- what registers them ---- */

#define ROW(hf, name, filter, type, display, strings, mask, section, description) \
    {&hf, {name, filter, type, display, strings, mask, description, HFILL}},
#define TREE(ett)
static hf_register_info fields[] = {
#include "fields.def"
};

#define ROW(hf, name, filter, type, display, strings, mask, section, description)
#define TREE(ett) &ett,
static int *const subtrees[] = {
#include "fields.def"
};

#define EXPERT(ei, filter, group, severity, sentence) \
    {&ei_smcr_##ei, {filter, group, severity, sentence, EXPFILL}},
static ei_register_info experts[] = {
#include "experts.def"
};

void
smcr_fields_register(void)
{
    proto_smcr = proto_register_protocol("Shared Memory Communications over RDMA", "SMC-R", "smcr");
    proto_register_field_array(proto_smcr, fields, array_length(fields));
    proto_register_subtree_array(subtrees, array_length(subtrees));
    expert_register_field_array(expert_register_protocol(proto_smcr), experts,
                                array_length(experts));
}
