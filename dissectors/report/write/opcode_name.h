/* opcode_name.h
 * Short names of InfiniBand's opcodes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_REPORT_WRITE_OPCODE_NAME_H
#define SMCR_REPORT_WRITE_OPCODE_NAME_H

#include <stdint.h>

#include <wireshark.h>
#include <wsutil/wmem/wmem.h>

/* The service and the operation, such as RC_WRITE_FIRST; of an opcode that nobody defines, its
 * number, such as 0x95. */
const char *smcr_text_opcode_name(wmem_allocator_t *scope, uint8_t opcode);

#endif /* SMCR_REPORT_WRITE_OPCODE_NAME_H */
