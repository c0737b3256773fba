/* texts.h
 * Addresses and numbers as a report writes them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_REPORT_FIGURES_TEXTS_H
#define SMCR_REPORT_FIGURES_TEXTS_H

#include <stdint.h>

#include <wireshark.h>
#include <wsutil/wmem/wmem.h>

#include "choices.h"
#include "wire/wire.h"

/* A GID: an IPv4 address where it maps one, else as an IPv6 address. NULL where it is all zeros. */
const char *smcr_figure_gid_text(wmem_allocator_t *scope, const uint8_t gid[SMCR_GID_LENGTH]);

/* "0x" and all digits of a number of `bytes` bytes, at most 8. */
const char *smcr_figure_hex_text(wmem_allocator_t *scope, uint64_t number, unsigned bytes);

/* The same of `length` bytes, the first one first. */
const char *smcr_figure_bytes_text(wmem_allocator_t *scope, const uint8_t *bytes, unsigned length);

/* A version of SMC-R; none where `version` is 0. `release`: of version 2. And its name. */
smcr_figure_version_t smcr_figure_version_of(unsigned version, unsigned release);
const char *smcr_figure_version_text(unsigned version, unsigned release);

#endif /* SMCR_REPORT_FIGURES_TEXTS_H */
