/* Opcodes of InfiniBand (InfiniBand Architecture Specification, volume 1, table 38): for each one,
 * what it says about its packet.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "roce_codes.h"

/* The places of packets in their message */
#define FIRST .begins = true, .is_first_or_middle = true
#define MIDDLE .is_first_or_middle = true
#define LAST .ends = true
#define ONLY .begins = true, .ends = true

/* The four bytes after the headers */
#define IMMEDIATE .has_immediate = true
#define INVALIDATE .has_immediate = true, .has_invalidate = true

#define SEND .is_send = true
#define WHOLE_SEND SEND, ONLY, .is_whole_send = true
#define WRITE .is_write = true
#define FETCH .fetches_data = true
#define RESPONSE .is_response = true

const smcr_ib_operation_t smcr_ib_operations[256] = {
    [SMCR_RC_SEND_FIRST] = {SEND, FIRST},
    [SMCR_RC_SEND_MIDDLE] = {SEND, MIDDLE},
    [SMCR_RC_SEND_LAST] = {SEND, LAST},
    [SMCR_RC_SEND_LAST_IMMEDIATE] = {SEND, LAST, IMMEDIATE},
    [SMCR_RC_SEND_ONLY] = {WHOLE_SEND},
    [SMCR_RC_SEND_ONLY_IMMEDIATE] = {WHOLE_SEND, IMMEDIATE},
    [SMCR_RC_WRITE_FIRST] = {WRITE, FIRST},
    [SMCR_RC_WRITE_MIDDLE] = {WRITE, MIDDLE},
    [SMCR_RC_WRITE_LAST] = {WRITE, LAST},
    [SMCR_RC_WRITE_LAST_IMMEDIATE] = {WRITE, LAST, IMMEDIATE},
    [SMCR_RC_WRITE_ONLY] = {WRITE, ONLY},
    [SMCR_RC_WRITE_ONLY_IMMEDIATE] = {WRITE, ONLY, IMMEDIATE},
    [SMCR_RC_READ_REQUEST] = {FETCH},
    [SMCR_RC_READ_RESPONSE_FIRST] = {RESPONSE, .is_first_or_middle = true},
    [SMCR_RC_READ_RESPONSE_MIDDLE] = {RESPONSE, .is_first_or_middle = true},
    [SMCR_RC_READ_RESPONSE_LAST] = {RESPONSE},
    [SMCR_RC_READ_RESPONSE_ONLY] = {RESPONSE},
    [SMCR_RC_ACK] = {RESPONSE},
    [SMCR_RC_ATOMIC_ACK] = {RESPONSE},
    [SMCR_RC_CMP_SWAP] = {FETCH},
    [SMCR_RC_FETCH_ADD] = {FETCH},
    [SMCR_RC_SEND_LAST_INVALIDATE] = {SEND, LAST, INVALIDATE},
    [SMCR_RC_SEND_ONLY_INVALIDATE] = {WHOLE_SEND, INVALIDATE},
};
