/* The rules of findings, one function for each subject, and the functions that the rules of one
 * subject need of another.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#pragma once

#include "report/findings/finder/finder.h"

/* ---- a direction that is not captured ---- */

/* Returns the first flow whose reverse direction is not captured, though acknowledgements prove
 * that it has requests; NULL: there is none. */
const smcr_entry_rdma_t *smcr_finding_flow_one_sided(const smcr_finder_t *finder);

/* ---- programs that hang ---- */

/* Whether a finding says that a program of the connection does not read, or does not answer, when
 * the capture ends. */
bool smcr_finding_hangs(const smcr_finder_t *finder, const smcr_entry_connection_t *conn);

/* Returns text about a client that gave up: "; before that, the program of server 10.0.0.2 had not
 * answered for 10.0 s (since frame 116)"; "" if the connection is open, if the client did not wait
 * for an answer when it ended, if the server also writes unasked, or if it is not known which end
 * is the client. */
const char *smcr_finding_given_up_text(const smcr_finder_t *finder,
                                       const smcr_entry_connection_t *conn);

/* ---- texts about handshakes, for findings of fallbacks ---- */

/* Shortest setup of a connection that a finding reports, nanoseconds. */
#define SMCR_FINDING_SLOW_SETUP (500 * SMCR_TIME_MILLISECOND)

/* Returns the time from the SYN to the fallback of the connection, nanoseconds; 0: not known, or no
 * fallback. */
uint64_t smcr_finding_fallback_time(const smcr_entry_connection_t *conn);

/* Returns the longest step from the SYN to the fallback of the connection: "longest step: from the
 * CLC Confirm to the fallback, 5.0 s"; "longest step not known" if no step is known. */
const char *smcr_finding_step_before_fallback(const smcr_finder_t *finder,
                                              const smcr_entry_connection_t *conn);

/* Returns what an internal error of Linux (SMC_CLC_DECL_INTERR) means, as the end of a sentence. */
const char *smcr_finding_internal_error_text(const smcr_finder_t *finder,
                                             const smcr_entry_connection_t *conn);

/* ---- the rules, by subject. Each function adds its findings to the list ---- */

void smcr_finding_on_ends(smcr_finder_t *finder);
void smcr_finding_on_fallbacks(smcr_finder_t *finder);
void smcr_finding_on_handshakes(smcr_finder_t *finder);
void smcr_finding_on_tcp(smcr_finder_t *finder);
void smcr_finding_on_times(smcr_finder_t *finder);
void smcr_finding_on_answers(smcr_finder_t *finder);
void smcr_finding_on_links(smcr_finder_t *finder);
void smcr_finding_on_silence(smcr_finder_t *finder);
void smcr_finding_on_fabric(smcr_finder_t *finder);
void smcr_finding_on_classes(smcr_finder_t *finder);
void smcr_finding_on_points(smcr_finder_t *finder);
void smcr_finding_on_loss(smcr_finder_t *finder);
void smcr_finding_on_capture(smcr_finder_t *finder);

/* Adds findings for the expert items that no earlier finding explains. Called after all other
 * rules. */
void smcr_finding_on_notices(smcr_finder_t *finder);
