/* Knows how servers report errors in the protocols of applications: by the first bytes of a
 * message. Knows neither packets nor SMC-R. Called by the room that counts packets
 * (report/collect/).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include <stddef.h>
#include <stdint.h>

/* An error that a protocol of applications reports. */
typedef struct {
    const char *name;   /* name of the error: "HTTP status 400 or above" */
    const char *filter; /* display filter of Wireshark's dissector that finds such errors */
} smcr_application_error_t;

/* Returns the error that the message reports; NULL: no error, or an unknown protocol. `bytes`: the
 * first bytes of the message. `length`: number of captured bytes; 0 if there are none. */
const smcr_application_error_t *smcr_application_error_of(const uint8_t *bytes, uint32_t length);

/* Returns the error with this display filter; NULL: there is none. */
const smcr_application_error_t *smcr_application_error_with_filter(const char *filter);
