/* A report in the making, for tests: connections, flows, links and notices that are healthy until a
 * test says otherwise. Frames are a tenth of a second apart.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "report/figures/figures.h"

#define SECOND UINT64_C(1000000000) /* nanoseconds */
#define NOTE 0x00400000             /* PI_NOTE and so on */
#define WARN 0x00600000
#define ERROR 0x00800000
#define PROTOCOL 0x09000000
#define MALFORMED 0x07000000
#define TIMEOUT 0x02010000          /* Decline: waiting for CONFIRM LINK */
#define MOST_NOTICES 16

typedef struct {
    wmem_allocator_t *scope;
    smcr_entry_report_t report;
    smcr_figure_notice_t notices[MOST_NOTICES];
    uint32_t notice_count;
} scene_t;

/* A flow of data, and the one that comes back. */
typedef struct {
    smcr_entry_rdma_t *data, *answers;
} pair_t;

void scene_open(scene_t *scene);
void scene_close(scene_t *scene);

/* When the frame was captured. */
smcr_when_t at(uint32_t frame);

/* An expert item, or a packet that a display filter selects (severity 0). */
void notice(scene_t *scene, const char *filter, int severity, uint32_t frame);

/* A connection of ten seconds that was closed. */
smcr_entry_connection_t *connection(scene_t *scene);

/* The client has waited for space for so long, nanoseconds, and the reader's program had data to
 * read for so much of it. Data were under way for a second. Nothing was retransmitted. */
void wait_for_space(scene_t *scene, smcr_entry_connection_t *conn, uint64_t full, uint64_t reader);

/* The longest wait of a kind of one writer, nanoseconds. */
void wait_longest(scene_t *scene, smcr_entry_connection_t *conn, smcr_figure_role_t writer,
                  smcr_figure_wait_t kind, uint64_t lasted);

/* A connection that falls back to TCP. */
void fall_back(scene_t *scene, uint64_t code, uint32_t frame);

/* A flow of SMC-R with 1000 packets. */
smcr_entry_rdma_t *flow(scene_t *scene, const char *src, const char *dst);

/* Flows of 10.0.0.1 and 10.0.0.2 to each other. */
pair_t pair(scene_t *scene);

/* 30 packets of the flow are lost and retransmitted. */
void lose(smcr_entry_rdma_t *data);

/* A link of link group 0. */
smcr_entry_link_t *link_of_group(scene_t *scene, uint64_t number);

/* The connection goes over this link from a frame on. */
void use_link(scene_t *scene, smcr_entry_connection_t *conn, uint64_t number, uint32_t frame);

/* Plays a scene and writes what is found: "warn loss 30, note slow_reader 1". g_free() frees it. */
char *scene_findings(void (*play)(scene_t *scene));

/* Makes the findings of a scene and writes them, likewise. */
char *scene_find(scene_t *scene);

/* `found`: severity and kind of each finding, in their order, as scene_findings() writes them. */
typedef struct {
    const char *name;
    void (*play)(scene_t *scene);
    const char *found;
} scene_case_t;

/* Adds a test for each of the cases, which live until the tests have run. `path`: of the tests. */
void scene_add_cases(const char *path, const scene_case_t *cases, unsigned count);
