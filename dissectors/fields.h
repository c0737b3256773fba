/* Declares the variables of fields.def and experts.def: the indices of fields, subtrees and expert
 * items, and of the protocol SMC-R that has them. Also declares the tables of texts for codes,
 * which are made from the lists in wire/.
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

/* Registers the protocol with its fields, subtrees and expert items. */
void smcr_fields_register(void);

/* ---- texts of codes ---- */

/* Tables of texts that fields.c makes from lists of codes. V(table, list): `list`, in wire/, makes
 * the table smcr_values_<table>. */
#define SMCR_VALUES(V) \
    V(eyecatchers, SMCR_CLC_EYECATCHERS) \
    V(smc_types, SMCR_CLC_SMC_TYPES) \
    V(clc_steps, SMCR_CLC_STEPS) \
    V(buffer_sizes, SMCR_BSIZES) \
    V(mtus, SMCR_MTUS) \
    V(anck_modes, SMCR_WIRE_ANCK_MODES) \
    V(anck_kinds, SMCR_WIRE_ANCK_KINDS) \
    V(os_types, SMCR_CLC_OS_TYPES) \
    V(releases, SMCR_CLC_RELEASES) \
    V(immediates, SMCR_CDC_IMMEDIATES) \
    V(reject_reasons, SMCR_LLC_REJECT_REASONS) \
    V(delete_reasons, SMCR_LLC_DELETE_REASONS) \
    V(no_eyecatcher, SMCR_LLC_NO_EYECATCHER) \
    V(causes, SMCR_CAUSES) \
    V(verdicts, SMCR_VERDICTS) \
    V(nak_codes, SMCR_IB_NAK_CODES) \
    V(ecn_codepoints, SMCR_WIRE_ECN_CODEPOINTS) \
    V(grounds, SMCR_GROUNDS) \
    V(icrc_statuses, SMCR_IB_ICRC_STATUSES) \
    V(cm_attributes, SMCR_IB_CM_ATTRIBUTES) \
    V(cm_states, SMCR_IB_CM_STATES) \
    V(cm_reasons, SMCR_IB_CM_REASONS) \
    V(cm_sidr_statuses, SMCR_IB_CM_SIDR_STATUSES) \
    V(declines, SMCR_CLC_DECLINE_CODES)
#define SMCR_VALUES_DECLARED(table, list) extern const value_string smcr_values_##table[];
SMCR_VALUES(SMCR_VALUES_DECLARED)
extern const value_string smcr_values_clc_types[], smcr_values_llc_types[];
extern const value_string smcr_values_llc_steps[], smcr_values_directions[], smcr_values_arrows[];
extern const value_string smcr_values_netlink_commands[], smcr_values_pnet_commands[],
    smcr_values_told_reasons[];
extern const value_string smcr_values_told_states[], smcr_values_told_modes[];
extern const value_string smcr_values_told_roles[], smcr_values_told_lgr_types[];
extern const value_string smcr_values_told_link_states[];
extern const range_string smcr_values_chids[];
extern const true_false_string smcr_values_direct;

/* Returns the text for the diagnosis in a Decline: a static text, never NULL.
 *
 * code: the diagnosis, in host order. os: the sender's operating system (enum smcr_clc_os_type); 0:
 * not given. Each operating system defines its own diagnoses, and the plugin knows only those of
 * Linux. (RFC 7609 A.2.5, net/smc/smc_clc.h) */
const char *smcr_value_decline_text(uint32_t code, unsigned os);
