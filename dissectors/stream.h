/* stream.h
 * The application's bytes, dissected as if they had come over TCP.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_STREAM_DISSECT_H
#define SMCR_STREAM_DISSECT_H

#include "compat.h"
#include "state/record.h"

/*
 * The bytes of an RDMA WRITE packet that are new in the stream.
 *
 * data: all its bytes, as far as they were captured. tree: of the frame, for the protocol above.
 * below: of the packet, for what is said of it.
 */
void smcr_stream_dissect(tvbuff_t *data, packet_info *pinfo, proto_tree *tree, proto_tree *below,
                         const smcr_record_t *packet);

/*
 * A CDC message that may end the stream of its sender: whatever waits for the end (such as an HTTP
 * response without a length) is dissected here.
 *
 * message: its bytes. tree, below: as above.
 */
void smcr_stream_end(tvbuff_t *message, packet_info *pinfo, proto_tree *tree, proto_tree *below,
                     const smcr_record_t *packet);

#endif /* SMCR_STREAM_DISSECT_H */
