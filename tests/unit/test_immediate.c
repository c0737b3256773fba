/* Immediate data of ANCK: each value of the lower 24 bits, and each token, is read as the bit
 * fields of union smc_wr_imm_msg have it (net/smc/smc_wr.h of ANCK, a copy whose commit is not
 * known). The widths of the fields stand here as that header has them for big-endian hosts, from
 * the highest bit on, which names the same bits. Members of struct smc_cdc_producer_flags and of
 * struct smc_cdc_conn_state_flags: net/smc/smc.h of torvalds/linux.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "wire/wire.h"

/* What the bits of a field are. */
enum what { END, RESERVED, STEP, CREDITS, FLAGS, STATE };

/* A field of immediate data. */
typedef struct {
    enum what what;
    unsigned width; /* number of bits */
    unsigned shift; /* of a byte of CDC: where its bits belong in the byte */
} part_t;

/* The parts below token and opcode, by opcode. An opcode without parts is not defined. */
static const part_t LAYOUTS[8][8] = {
    {{STEP, 21, 0}},
    /* write_blocked, urg_data_pending, urg_data_present */
    {{FLAGS, 3, 5}, {RESERVED, 1, 0}, {STEP, 17, 0}},
    /* csflags is the lowest byte, pflags the next one; cons_curs_upd_req and failover_validation
     * come after the three flags, and three bits are reserved. Of csflags, five are. */
    {{RESERVED, 5, 0}, {FLAGS, 5, 3}, {RESERVED, 3, 0}, {STATE, 3, 5}, {RESERVED, 5, 0}},
    {{END, 0, 0}},
    {{END, 0, 0}},
    {{END, 0, 0}},
    {{CREDITS, 8, 0}, {STEP, 13, 0}},
    {{FLAGS, 3, 5}, {CREDITS, 8, 0}, {STEP, 10, 0}},
};

/* What immediate data have, by the layouts. */
typedef struct {
    uint32_t value[STATE + 1]; /* value of each kind of field; of reserved ones: whether a bit is
                                  set */
    bool is_full;              /* each bit of the step is set */
} expected_t;

static expected_t
expected_of(uint32_t data)
{
    expected_t expected = {0};
    unsigned below = 21;

    for (const part_t *part = LAYOUTS[data >> 21 & 7]; part->what != END; part++) {
        uint32_t mask = (UINT32_C(1) << part->width) - 1, bits;
        below -= part->width;
        bits = data >> below & mask;
        expected.value[part->what] |= bits << part->shift;
        expected.is_full |= part->what == STEP && bits == mask;
    }
    g_assert_true(below == 0 || below == 21);
    return expected;
}

/* Reads one pattern, and compares it. Reserved bits of flags and state may be in them. */
static void
check(uint32_t data)
{
    const smcr_cdc_immediate_t read = smcr_wire_immediate_read(data);
    const expected_t expected = expected_of(data);
    unsigned opcode = data >> 21 & 7;
    bool is_known = LAYOUTS[opcode][0].what != END;
    bool is_same = read.token == data >> 24 && read.opcode == opcode &&
                   read.parts->is_known == is_known && read.is_step_full == expected.is_full &&
                   read.has_reserved == (expected.value[RESERVED] != 0);

    is_same &= read.step == expected.value[STEP] && read.credits == expected.value[CREDITS];
    is_same &= (read.flags & 0xf8) == expected.value[FLAGS];
    is_same &= (read.state & 0xe0) == expected.value[STATE];
    if (!is_same)
        g_error("0x%08x is read as step %u, credits %u, flags 0x%02x, state 0x%02x", data,
                read.step, read.credits, read.flags, read.state);
}

/* All patterns of opcode and below, each with some token. */
static void
check_patterns(void)
{
    for (uint32_t low = 0; low < 1u << 24; low++)
        check((low * 37 + (low >> 8)) << 24 | low);
}

/* All tokens with the borders of each part. */
static void
check_tokens(void)
{
    for (uint32_t token = 0; token < 256; token++)
        for (uint32_t opcode = 0; opcode < 8; opcode++)
            for (unsigned bit = 0; bit <= 21; bit++) {
                check(token << 24 | opcode << 21 | ((1u << bit) - 1));
                check(token << 24 | opcode << 21 | (1u << bit >> 1));
            }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/immediate/patterns", check_patterns);
    g_test_add_func("/immediate/tokens", check_tokens);
    return g_test_run();
}
