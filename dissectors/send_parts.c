/* send_parts.c
 * Puts messages together with Wireshark's reassembly; PSNs say which part is which.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "send_parts.h"

#include <epan/reassemble.h>

#include "fields.h"

static reassembly_table messages;

static const fragment_items part_items = {
    .ett_fragment = &ett_smcr_part,
    .ett_fragments = &ett_smcr_parts,
    .hf_fragments = &hf_smcr_parts,
    .hf_fragment = &hf_smcr_part,
    .hf_fragment_overlap = &hf_smcr_part_overlap,
    .hf_fragment_overlap_conflict = &hf_smcr_part_conflict,
    .hf_fragment_multiple_tails = &hf_smcr_part_tails,
    .hf_fragment_too_long_fragment = &hf_smcr_part_too_long,
    .hf_fragment_error = &hf_smcr_part_error,
    .hf_fragment_count = &hf_smcr_part_count,
    .hf_reassembled_in = &hf_smcr_whole_in,
    .hf_reassembled_length = &hf_smcr_whole_length,
    .tag = "parts",
};

void
smcr_parts_register(void)
{
    reassembly_table_register(&messages, &addresses_ports_reassembly_table_functions);
}

tvbuff_t *
smcr_parts_collect(tvbuff_t *data, packet_info *pinfo, proto_tree *tree,
                   const smcr_record_t *packet, bool more)
{
    unsigned length = tvb_captured_length(data);

    if (length < tvb_reported_length(data)) /* cut: the message cannot be put together */
        return NULL;
    fragment_head *parts = fragment_add_seq_check(&messages, data, 0, pinfo, packet->message_psn,
                                                  NULL, packet->part, length, more);
    return process_reassembled_data(data, 0, pinfo, "Reassembled SMC-R message", parts,
                                    &part_items, NULL, tree);
}
