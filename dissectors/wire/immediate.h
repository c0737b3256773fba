/* Immediate data of RDMA WRITEs in place of CDC messages, as ANCK, the kernel of Alibaba, sends
 * them (net/smc/smc_wr.h of ANCK, union smc_wr_imm_msg, with the bit-fields in the order of
 * little-endian hosts). From the highest bit on: 8 bits of the receiver's alert token, 3 bits of
 * the opcode, and 21 bits whose parts depend on the opcode.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "llc_codes.h"

#define SMCR_CDC_IMMEDIATE_TOKEN_MAX 255 /* highest alert token that immediate data can name */

/* The parts of immediate data with a certain opcode, below the opcode. */
typedef struct {
    bool is_known;     /* ANCK defines the opcode */
    uint8_t step;      /* number of bits of the step of the consumer cursor; 0: no step */
    uint8_t credits;   /* number of bits of the credits, the next higher bits after the step; 0: no
                          credits */
    uint8_t flags;     /* number of CDC flags, the first rows of cdc.def; 0: no flags */
    uint32_t reserved; /* mask of the reserved bits */
} smcr_cdc_immediate_parts_t;

/* The content of immediate data. Values that the opcode does not have are 0. */
typedef struct {
    const smcr_cdc_immediate_parts_t *parts; /* which values the opcode has; never NULL */
    uint8_t token;     /* lowest byte of the receiver's alert token */
    uint8_t opcode;    /* enum smcr_cdc_immediate, or an unknown code below 8 */
    uint8_t credits;   /* further messages for which the sender has space */
    uint8_t flags;     /* SMCR_CDC_FLAG_ bits */
    uint8_t state;     /* SMCR_CDC_STATE_ bits */
    uint32_t step;     /* number of bytes by which the consumer cursor of the sender advances */
    bool is_step_full; /* the step has the highest value that the opcode can carry, so the sender
                          may have read more bytes than `step` */
    bool has_reserved; /* a reserved bit is set */
} smcr_cdc_immediate_t;

/* Reads immediate data, in host byte order. Any 32 bits can be read. */
static inline smcr_cdc_immediate_t
smcr_wire_immediate_read(uint32_t data)
{
    static const smcr_cdc_immediate_parts_t parts_of[8] = {
        [SMCR_CDC_IMMEDIATE_DATA] = {.is_known = true, .step = 21},
        [SMCR_CDC_IMMEDIATE_FLAGS] =
            {.is_known = true, .step = 17, .flags = 3, .reserved = 0x20000},
        [SMCR_CDC_IMMEDIATE_CTRL] = {.is_known = true, .flags = 8, .reserved = 0x1f071f},
        [SMCR_CDC_IMMEDIATE_CREDITS] = {.is_known = true, .step = 13, .credits = 8},
        [SMCR_CDC_IMMEDIATE_BOTH] = {.is_known = true, .step = 10, .credits = 8, .flags = 3},
    };
    const smcr_cdc_immediate_parts_t *parts = &parts_of[data >> 21 & 7];
    const uint32_t step_max = (UINT32_C(1) << parts->step) - 1;
    const uint8_t urgent_and_blocked =
        SMCR_CDC_FLAG_BLOCKED | SMCR_CDC_FLAG_URGENT_PENDING | SMCR_CDC_FLAG_URGENT_PRESENT;
    smcr_cdc_immediate_t read = {
        .parts = parts,
        .token = (uint8_t)(data >> 24),
        .opcode = data >> 21 & 7,
        .step = data & step_max,
        .is_step_full = parts->step && (data & step_max) == step_max,
        .has_reserved = (data & parts->reserved) != 0,
    };

    if (parts->credits)
        read.credits = (uint8_t)(data >> parts->step);
    if (parts->flags && parts->step) {
        read.flags = (uint8_t)(data >> 13 & urgent_and_blocked);
    } else if (parts->flags) { /* bytes 24 and 25 of a CDC message */
        read.flags = (uint8_t)(data >> 8);
        read.state = (uint8_t)data;
    }
    return read;
}
