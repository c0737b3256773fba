/* values.h
 * The texts of codes: Wireshark's tables, made of the lists in wire/.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"

extern const value_string smcr_values_eyecatchers[];
extern const value_string smcr_values_clc_types[];
extern const value_string smcr_values_clc_steps[];
extern const value_string smcr_values_smc_types[];
extern const value_string smcr_values_buffer_sizes[];
extern const value_string smcr_values_mtus[];
extern const value_string smcr_values_os_types[];
extern const value_string smcr_values_releases[];
extern const value_string smcr_values_llc_types[];
extern const value_string smcr_values_llc_steps[];
extern const value_string smcr_values_reject_reasons[];
extern const value_string smcr_values_delete_reasons[];
extern const value_string smcr_values_no_eyecatcher[];
extern const value_string smcr_values_directions[];
extern const value_string smcr_values_causes[];
extern const value_string smcr_values_nak_codes[];
extern const value_string smcr_values_ecn_codepoints[];
extern const value_string smcr_values_grounds[];
extern const value_string smcr_values_icrc_statuses[];
extern const value_string smcr_values_cm_attributes[];
extern const value_string smcr_values_cm_states[];
extern const value_string smcr_values_cm_reasons[];
extern const value_string smcr_values_cm_sidr_statuses[];
extern const value_string smcr_values_declines[], smcr_values_netlink_commands[];
extern const value_string smcr_values_told_states[], smcr_values_told_modes[];
extern const value_string smcr_values_told_roles[], smcr_values_told_lgr_types[];
extern const value_string smcr_values_told_link_states[];
extern const true_false_string smcr_values_direct;

/*
 * The words for a Decline's diagnosis.
 *
 * code: as on the wire, host order. os: the sender's operating system (enum smcr_clc_os_type), 0
 * when it does not say. Codes are known for Linux only; other systems define their own.
 * Returns a static text, never NULL. (RFC 7609 A.2.5, net/smc/smc_clc.h)
 */
const char *smcr_value_decline_text(uint32_t code, unsigned os);
