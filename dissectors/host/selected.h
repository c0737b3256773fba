/* selected.h
 * What is known of the packet that the user has selected, for the menus: its record, and its
 * connection, which bare segments of TCP have, too.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_HOST_SELECTED_H
#define SMCR_HOST_SELECTED_H

#include "compat.h"
#include "state/state.h"

/* The record of the frame's outermost packet, with what has turned out since. Returns false when
 * there is none; `record` is then not changed. */
bool smcr_selected_record(const packet_info *pinfo, smcr_record_t *record);

/* The connection that the packet belongs to, by TCP or by its record; NULL: to none that is
 * known. */
const smcr_conn_t *smcr_selected_conn(packet_info *pinfo);

#endif /* SMCR_HOST_SELECTED_H */
