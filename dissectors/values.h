/* values.h
 * The texts of codes: Wireshark's tables, made of the lists in wire/.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_VALUES_H
#define SMCR_VALUES_H

#include "compat.h"

extern const value_string smcr_eyecatchers[];
extern const value_string smcr_clc_types[];
extern const value_string smcr_clc_steps[];
extern const value_string smcr_smc_types[];
extern const value_string smcr_buffer_sizes[];
extern const value_string smcr_mtus[];
extern const value_string smcr_os_types[];
extern const value_string smcr_releases[];
extern const value_string smcr_llc_types[];
extern const value_string smcr_llc_steps[];
extern const value_string smcr_reject_reasons[];
extern const value_string smcr_delete_reasons[];
extern const value_string smcr_no_eyecatcher[];
extern const value_string smcr_directions[];
extern const value_string smcr_causes[];
extern const value_string smcr_nak_codes[];
extern const value_string smcr_ecn_codepoints[];
extern const value_string smcr_grounds[];
extern const value_string smcr_icrc_statuses[];
extern const value_string smcr_cm_attributes[];
extern const value_string smcr_cm_states[];
extern const value_string smcr_cm_reasons[];
extern const value_string smcr_cm_sidr_statuses[];
extern const true_false_string smcr_tfs_direct;

/*
 * The words for a Decline's diagnosis.
 *
 * code: as on the wire, host order. os: the sender's operating system (enum smcr_os_type), 0
 * when it does not say. Codes are known for Linux only; other systems define their own.
 * Returns a static text, never NULL. (RFC 7609 A.2.5, net/smc/smc_clc.h)
 */
const char *smcr_decline_text(uint32_t code, unsigned os);

#endif /* SMCR_VALUES_H */
