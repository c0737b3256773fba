/* Knows how the data of four taps become a report: which collector takes which data, and which one
 * makes which entries. Does not know which entries are bad, nor how they are written. Called by
 * report/listen/ and report/lines/.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "report/collect/ended.h"
#include "report/figures/figures.h"
#include "report/series/series.h"
#include "show/show.h"

typedef struct smcr_collection smcr_collection_t;

/* Returns an empty collection. The caller frees it by smcr_collection_free(). `keeps_frames`: the
 * collection keeps the number of each frame that a notice counts, so that findings know their
 * frames. */
smcr_collection_t *smcr_collection_new(bool keeps_frames);
void smcr_collection_free(smcr_collection_t *collection);

/* From now on, the collection may let go of connections after their end
 * (smcr_collection_let_go()). Called before the first frame. */
void smcr_collection_begin_letting_go(smcr_collection_t *collection);

/* Makes the collection take its packets into `series`, too, which is emptied with the collection.
 * The caller frees `series` after the collection. */
void smcr_collection_draw(smcr_collection_t *collection, smcr_series_t *series);

/* Empties the collection; what the user has chosen stays: options and pictures. */
void smcr_collection_empty(smcr_collection_t *collection);

/* The taps that feed a collection: three of Wireshark's, and the plugin's own tap `smcr`. */
typedef enum {
    SMCR_COLLECTION_FRAME,  /* all frames; Wireshark calls it after the other taps of the frame */
    SMCR_COLLECTION_TCP,    /* TCP segments: tap `tcp` */
    SMCR_COLLECTION_SMCR,   /* packets and messages: the plugin's tap `smcr`, show/show.h */
    SMCR_COLLECTION_EXPERT, /* expert items of all protocols: tap `expert` */
    SMCR_COLLECTION_TAPS    /* number of taps */
} smcr_collection_tap_t;

/* Counts the frames before the frame of `pinfo`, although no tap has handed them over: their
 * number, and the time of the first one. Called with an empty collection. */
void smcr_collection_skip(smcr_collection_t *collection, const packet_info *pinfo);

/* Counts the data that `tap` hands over. `data` is the struct of this tap, as Wireshark passes it
 * to a listener. */
void smcr_collection_take(smcr_collection_t *collection, smcr_collection_tap_t tap,
                          packet_info *pinfo, const void *data);

/* Returns a report of everything that has been counted; its findings are still empty. The report is
 * allocated in `scope`. It is valid until the collection changes: until the next
 * smcr_collection_take(), smcr_collection_empty() or smcr_collection_free(). `filter`: the display
 * filter that selected the packets, for the report to name; NULL: none. */
smcr_entry_report_t *smcr_collection_report(smcr_collection_t *collection, const char *filter,
                                            wmem_allocator_t *scope);

/* ---- letting go of what has ended ---- */

/* Returns a report of what has ended or is given up: connections, and TCP connections. It also has
 * all link groups, without their RMBs, and all RDMA flows, as far as they are known now. NULL:
 * nothing has ended, unless `even_if_none`. Allocated in `scope`, and valid as a report of
 * smcr_collection_report(). */
smcr_entry_report_t *smcr_collection_report_ended(smcr_collection_t *collection,
                                                  const smcr_collection_patience_t *patience,
                                                  bool even_if_none, wmem_allocator_t *scope);

/* Lets go of all connections of the last report of smcr_collection_report_ended(): frees their
 * memory, and keeps only which they were. Later packets of a connection that has ended only count
 * as late packets; later packets of one that was given up begin new figures. */
void smcr_collection_let_go(smcr_collection_t *collection);

/* Returns a report of link groups that can be let go of (smcr_collect_link_groups_find_over()), and
 * of their RDMA flows: they have ended, no packet of them has come for `patience->idle`, nothing
 * that a finding may count has happened to their packets, and the collection has let go of their
 * connections. NULL: there are none. Allocated in `scope`, and valid as a report of
 * smcr_collection_report(). */
smcr_entry_report_t *smcr_collection_report_over(smcr_collection_t *collection,
                                                 const smcr_collection_patience_t *patience,
                                                 wmem_allocator_t *scope);

/* Lets go of the link groups of the last report of smcr_collection_report_over(), and of their
 * RDMA flows: frees their memory, but for a bit each. Later packets of them only count as late
 * packets. `may_go` false: they stay until the end of the capture instead. */
void smcr_collection_let_go_of_groups(smcr_collection_t *collection, bool may_go);

/* Returns the number of an RDMA flow of the last report, which stays the same while the capture
 * goes on. `index`: of the flow in that report; SMCR_FIGURE_UNKNOWN gives the same. */
uint64_t smcr_collection_flow_number(const smcr_collection_t *collection, uint64_t index);

/* Whether the collection has let go of the connection after its end, and points to it no more. */
bool smcr_collection_is_finished(const smcr_collection_t *collection, const smcr_conn_t *conn);

/* Returns the subject of the connection with this index in the list `connections` of the last
 * report. Called only after smcr_collection_begin_letting_go(). */
const smcr_collection_subject_t *smcr_collection_subject(const smcr_collection_t *collection,
                                                         uint32_t index);

/* Whether the client of a TCP connection sent its first captured segment. True, too, if this is not
 * known, or if the collection does not have the connection. `tcp_stream`: Wireshark's tcp.stream of
 * the connection. */
bool smcr_collection_tcp_client_is_up(const smcr_collection_t *collection, uint64_t tcp_stream);

/* Returns how many packets and segments came after the collection had let go of their connections
 * or link groups. */
uint64_t smcr_collection_late_packets(const smcr_collection_t *collection);

/* Returns the notices from which findings are made: the plugin's expert items, counted by kind, and
 * counts of packets that a display filter selects. `report`: made of this collection. Stores the
 * number of notices in `*count`. The notices are valid as long as the report. */
const smcr_figure_notice_t *smcr_collection_notices(const smcr_collection_t *collection,
                                                    const smcr_entry_report_t *report,
                                                    wmem_allocator_t *scope, uint32_t *count);
