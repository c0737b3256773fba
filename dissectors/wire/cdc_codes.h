/* cdc_codes.h
 * CDC messages: flags (RFC 7609 A.4, net/smc/smc_cdc.h). Their type and length are in llc_codes.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_WIRE_CDC_CODES_H
#define SMCR_WIRE_CDC_CODES_H

enum smcr_cdc_flag {
#define SMCR_CDC_FLAG(name, mask, field, words) SMCR_CDC_FLAG_##name = mask,
#define SMCR_CDC_STATE(name, mask, field, words) SMCR_CDC_STATE_##name = mask,
#include "cdc.def"
};

#define SMCR_CDC_FLAGS_END 26 /* all that follows is reserved */

#endif /* SMCR_WIRE_CDC_CODES_H */
