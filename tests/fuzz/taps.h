/* taps.h
 * Listens as Follow Stream, Export Objects and the report do, but to all connections of a capture
 * at once.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_FUZZ_TAPS_H
#define SMCR_FUZZ_TAPS_H

/* Once per process. */
void taps_start(void);

/* Forgets what has come, after a look at it. */
void taps_reset(void);

#endif /* SMCR_FUZZ_TAPS_H */
