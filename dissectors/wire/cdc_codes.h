/* cdc_codes.h
 * CDC messages: flags (RFC 7609 A.4, net/smc/smc_cdc.h). Their type and length are in llc_codes.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_WIRE_CDC_CODES_H
#define SMCR_WIRE_CDC_CODES_H

/* Byte 24 */
#define SMCR_CDC_FLAG_BLOCKED 0x80
#define SMCR_CDC_FLAG_URGENT_PENDING 0x40
#define SMCR_CDC_FLAG_URGENT_PRESENT 0x20
#define SMCR_CDC_FLAG_UPDATE 0x10
#define SMCR_CDC_FLAG_FAILOVER 0x08

/* Byte 25 */
#define SMCR_CDC_STATE_SENDING_DONE 0x80
#define SMCR_CDC_STATE_CLOSED 0x40
#define SMCR_CDC_STATE_ABORT 0x20

#define SMCR_CDC_FLAGS_END 26 /* all that follows is reserved */

#endif /* SMCR_WIRE_CDC_CODES_H */
