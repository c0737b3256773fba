/* export_streams.h
 * Export Objects: a file for each direction of each connection, with the bytes that the program
 * sent (`--export-objects smcr,FOLDER`, File > Export Objects > SMC-R).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_PAYLOAD_EXPORT_STREAMS_H
#define SMCR_PAYLOAD_EXPORT_STREAMS_H

#include "compat.h"

/* Registers the type of object; called once, when protocols register. */
void smcr_export_register(int proto);

#endif /* SMCR_PAYLOAD_EXPORT_STREAMS_H */
