/* opcode_name.c
 * Puts the name of an opcode together (InfiniBand Architecture Specification, volume 1, table 38).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "opcode_name.h"

#include "wire/wire.h"

static const char *
service_name(uint8_t opcode)
{
    switch (smcr_wire_bits(opcode, SMCR_MASK_SERVICE) << 5) {
    case SMCR_RC:
        return "RC";
    case SMCR_UC:
        return "UC";
    case SMCR_RD:
        return "RD";
    case SMCR_UD:
        return "UD";
    case SMCR_XRC:
        return "XRC";
    default:
        return NULL;
    }
}

static const char *const operations[SMCR_RC_OPCODES] = {
    [SMCR_RC_SEND_FIRST] = "SEND_FIRST",
    [SMCR_RC_SEND_MIDDLE] = "SEND_MIDDLE",
    [SMCR_RC_SEND_LAST] = "SEND_LAST",
    [SMCR_RC_SEND_LAST_IMMEDIATE] = "SEND_LAST_IMM",
    [SMCR_RC_SEND_ONLY] = "SEND_ONLY",
    [SMCR_RC_SEND_ONLY_IMMEDIATE] = "SEND_ONLY_IMM",
    [SMCR_RC_WRITE_FIRST] = "WRITE_FIRST",
    [SMCR_RC_WRITE_MIDDLE] = "WRITE_MIDDLE",
    [SMCR_RC_WRITE_LAST] = "WRITE_LAST",
    [SMCR_RC_WRITE_LAST_IMMEDIATE] = "WRITE_LAST_IMM",
    [SMCR_RC_WRITE_ONLY] = "WRITE_ONLY",
    [SMCR_RC_WRITE_ONLY_IMMEDIATE] = "WRITE_ONLY_IMM",
    [SMCR_RC_READ_REQUEST] = "READ_REQ",
    [SMCR_RC_READ_RESPONSE_FIRST] = "READ_RESP_FIRST",
    [SMCR_RC_READ_RESPONSE_MIDDLE] = "READ_RESP_MIDDLE",
    [SMCR_RC_READ_RESPONSE_LAST] = "READ_RESP_LAST",
    [SMCR_RC_READ_RESPONSE_ONLY] = "READ_RESP_ONLY",
    [SMCR_RC_ACK] = "ACK",
    [SMCR_RC_ATOMIC_ACK] = "ATOMIC_ACK",
    [SMCR_RC_CMP_SWAP] = "CMP_SWAP",
    [SMCR_RC_FETCH_ADD] = "FETCH_ADD",
    [SMCR_RC_SEND_LAST_INVALIDATE] = "SEND_LAST_INV",
    [SMCR_RC_SEND_ONLY_INVALIDATE] = "SEND_ONLY_INV",
};

const char *
smcr_text_opcode_name(wmem_allocator_t *scope, uint8_t opcode)
{
    const char *service = service_name(opcode);
    const char *operation = operations[opcode % SMCR_RC_OPCODES];

    if (opcode == SMCR_IB_CNP)
        return "CNP";
    return service && operation ? wmem_strdup_printf(scope, "%s_%s", service, operation)
                                : wmem_strdup_printf(scope, "0x%02x", opcode);
}
