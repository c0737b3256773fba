/* notices.h
 * The expert items of the plugin, counted by kind and by who has caused them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "host/host.h"
#include "report/figures/figures.h"
#include "show/show.h"

typedef struct smcr_notices smcr_collect_notices_t; /* of one report */

/* None. They live as long as the scope. */
smcr_collect_notices_t *smcr_collect_notices_new(wmem_allocator_t *scope);

/* An expert item of the frame; others than those of the plugin are left alone. */
void smcr_collect_notices_take(smcr_collect_notices_t *notices, const packet_info *pinfo,
                               const expert_info_t *item);

/* The packet or message that the items since the last one are about. */
void smcr_collect_notices_blame(smcr_collect_notices_t *notices, const smcr_tap_t *packet);

/* The same packet, in the first pass over the capture: what later packets have to bear out counts
 * once they do. */
void smcr_collect_notices_claim(smcr_collect_notices_t *notices, const packet_info *pinfo,
                                const smcr_tap_t *packet);

/* The frame is done with. */
void smcr_collect_notices_end_frame(smcr_collect_notices_t *notices, const packet_info *pinfo);

/* All of them, in the order in which they came first; `*count`: how many. They live as long as
 * `scope`. */
const smcr_figure_notice_t *smcr_collect_notices_all(const smcr_collect_notices_t *notices,
                                                     wmem_allocator_t *scope, uint32_t *count);

/* Adds to `list` what breaks a format or a rule. What is added lives as long as `scope`. */
void smcr_collect_notices_report_breaches(const smcr_collect_notices_t *notices,
                                          smcr_figure_list_t *list, wmem_allocator_t *scope);

/* Counts an ICMP error of `frame` that quotes a packet of RoCE or TCP; `error` is its own IP
 * header. Its notice has severity 0, a filter that begins with "icmp", and the hosts of the quoted
 * packet. */
void smcr_collect_notices_undelivered(smcr_collect_notices_t *notices, const packet_info *pinfo,
                                      smcr_host_bytes_t frame, const smcr_host_ip_packet_t *error);
