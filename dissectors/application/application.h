/* Knows the first bytes of messages in the protocols of applications: which of them report errors,
 * what servers answer to bytes that they do not understand, and which protocol of databases such
 * bytes prove. Knows neither packets nor SMC-R. Called by the rooms that count packets
 * (report/collect/), that find faults (report/findings/), and that pass bytes to dissectors
 * (payload/).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 * */

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An error that a protocol of applications reports. */
typedef struct {
    const char *name;   /* name of the error: "HTTP status 400 or above" */
    const char *filter; /* display filter of Wireshark's dissector that finds such errors */
} smcr_application_error_t;

/* Returns the error that the message reports; NULL: no error, or an unknown protocol. `bytes`: the
 * first bytes of the message. `length`: number of captured bytes, may be 0. */
const smcr_application_error_t *smcr_application_error_of(const uint8_t *bytes, uint32_t length);

/* Returns the error with this display filter; NULL: there is none. */
const smcr_application_error_t *smcr_application_error_with_filter(const char *filter);

#define SMCR_APPLICATION_ANSWER_LENGTH 16 /* bytes of a text of smcr_application_name_answer(), its
                                             zero byte included */

/* Writes what a server answers to bytes that it does not understand: "HTTP 400", "a TLS alert".
 * Writes "" if the bytes are not those of a known protocol. `bytes`: the first bytes of the answer.
 * `length`: number of captured bytes. */
void smcr_application_name_answer(const uint8_t *bytes, uint32_t length,
                                  char answer[SMCR_APPLICATION_ANSWER_LENGTH]);

/* A protocol that the first bytes of a message prove. */
typedef struct {
    uint16_t port;  /* TCP port assigned to the protocol, by which Wireshark's table of ports finds
                       its dissector */
    bool by_server; /* the server sends such bytes; false: the client */
} smcr_application_protocol_t;

/* Returns the protocol of databases and caches that the bytes prove: MySQL, PostgreSQL or Redis.
 * NULL: none. `bytes`: the first bytes of what one program has written at once. `length`: number of
 * captured bytes. */
const smcr_application_protocol_t *smcr_application_protocol_of(const uint8_t *bytes,
                                                                uint32_t length);
