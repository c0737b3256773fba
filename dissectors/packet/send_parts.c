/* send_parts.c
 * Puts messages together with Wireshark's reassembly; PSNs say which part is which.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "packet.h"

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

/* ---- which message: link, direction, and PSN of its first packet ---- */

typedef struct {
    const smcr_link_t *link;
    int sender;
    uint32_t psn;
} part_key_t;

static void *
new_key(const packet_info *pinfo _U_, const uint32_t psn, const void *data)
{
    const smcr_record_t *record = data;
    part_key_t *key = g_slice_new(part_key_t);

    *key = (part_key_t){record->link, record->sender, psn};
    return key;
}

static void
free_key(void *key)
{
    g_slice_free(part_key_t, key);
}

SMCR_WIRE_KEY(hash_key, equal_keys, sizeof(part_key_t))

void
smcr_packet_parts_register(void)
{
    static const reassembly_table_functions functions = {hash_key, equal_keys, new_key,
                                                         new_key,  free_key,   free_key};

    reassembly_table_register(&messages, &functions);
}

/* ---- parts ---- */

fragment_head *
smcr_packet_parts_add(tvbuff_t *payload, packet_info *pinfo, const smcr_record_t *record, bool more)
{
    unsigned length = tvb_captured_length(payload);

    if (length < tvb_reported_length(payload)) /* cut: the message cannot be put together */
        return NULL;
    return fragment_add_seq_check(&messages, payload, 0, pinfo, record->part.message_psn, record,
                                  record->part.number, length, more);
}

tvbuff_t *
smcr_packet_parts_show(fragment_head *parts, tvbuff_t *payload, packet_info *pinfo,
                       proto_tree *tree)
{
    if (parts) /* it was put together outside the layer that shows it */
        parts->reas_in_layer_num = pinfo->curr_layer_num;
    return process_reassembled_data(payload, 0, pinfo, "Reassembled SMC-R message", parts,
                                    &part_items, NULL, tree);
}
