/* export_streams.h
 * Export Objects: a file for each direction of each connection, with the bytes that the program
 * sent (`--export-objects smcr,FOLDER`, File > Export Objects > SMC-R).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_EXPORT_STREAMS_H
#define SMCR_EXPORT_STREAMS_H

#include "compat.h"
#include "state/record.h"

/* Registers the type of object; called once, when protocols register. */
void smcr_export_register(int proto);

/* The side `sender` of `conn` writes these bytes, at `position` of its stream. */
void smcr_export_data(tvbuff_t *data, packet_info *pinfo, const smcr_conn_t *conn, int sender,
                      uint64_t position);

/* The side `sender` of `conn` says that its stream goes up to `end`. */
void smcr_export_announced(packet_info *pinfo, const smcr_conn_t *conn, int sender, uint64_t end);

#endif /* SMCR_EXPORT_STREAMS_H */
