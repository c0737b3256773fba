/* Shared by the files that decode CLC messages: the decoded parts of a message, and checks that
 * several types need.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "clc_messages.h"

#include "items.h"

/* Layout of a peer ID (RFC 7609 A.2.1) */
SMCR_LAYOUT_SHARED(smcr_message_clc_peer_id, "SMC peer ID", 8,
    SHOW(hf_smcr_peer_id_instance, 0, 2),
    SHOW(hf_smcr_peer_id_mac, 2, 6));

/* ---- parts ---- */

/* A part that begins where the previously added part ends is joined to it. Parts come in the order
 * of decoding, not of offsets (next_part()). If the array is full, a further part is not added, and
 * its bytes are shown a second time, as bytes that were not decoded. */
void
smcr_clc_mark_decoded(smcr_message_clc_t *message, unsigned start, unsigned end)
{
    unsigned last = message->part_count;

    if (last && message->parts[last - 1].end == start)
        message->parts[last - 1].end = end;
    else if (last < SMCR_MESSAGE_CLC_PARTS_MAX) {
        message->parts[last].start = start;
        message->parts[last].end = end;
        message->part_count++;
    }
}

/* All bytes of the layout are marked as decoded, even if the message or the capture ends within it:
 * smcr_layout_walk() has shown the bytes that there are. */
bool
smcr_clc_walk(smcr_message_clc_t *message, const smcr_layout_walk_t *walk,
              const smcr_layout_t *layout, unsigned base, void *keep)
{
    if (!message->reached_end)
        return false;
    message->reached_end = smcr_layout_walk(layout, walk, base, keep);
    smcr_clc_mark_decoded(message, base, base + layout->length);
    return message->reached_end;
}

/* The returned walk has the other members of `parent`, such as `violation`. */
smcr_layout_walk_t
smcr_clc_subtree(const smcr_layout_walk_t *parent, int hf, int ett, unsigned start,
                 unsigned length)
{
    unsigned captured = tvb_captured_length(parent->tvb);
    smcr_layout_walk_t walk = *parent;

    if (start < captured) {
        proto_item *item = proto_tree_add_item(walk.tree, hf, walk.tvb, (int)start,
                                               (int)MIN(length, captured - start), ENC_NA);
        walk.tree = proto_item_add_subtree(item, ett);
    }
    return walk;
}

void
smcr_clc_subtree_end(const smcr_message_clc_t *message, const smcr_layout_walk_t *walk,
                     unsigned end)
{
    unsigned captured = tvb_captured_length(message->walk.tvb);

    if (walk->tree && walk->tree != message->walk.tree)
        proto_item_set_end(walk->tree, walk->tvb, (int)MIN(end, captured));
}

/* Whether no byte of [start, end) has been decoded. */
static bool
is_free(const smcr_message_clc_t *message, unsigned start, unsigned end)
{
    for (unsigned i = 0; i < message->part_count; i++)
        if (start < message->parts[i].end && message->parts[i].start < end)
            return false;
    return true;
}

/* If `*offset` lies in a decoded part, moves `*offset` to the end of this part and of the parts
 * directly after it. Returns the offset at which the next decoded part begins; `end`: no further
 * part. */
static unsigned
next_part(const smcr_message_clc_t *message, unsigned *offset, unsigned end)
{
    unsigned next = end;

    /* The parts are in the order of their decoding, not of their offsets. A round that moves
     * `*offset` moves it over at least one part. So after as many rounds as there are parts,
     * `*offset` is in no part. */
    for (unsigned round = 0; round < message->part_count; round++)
        for (unsigned i = 0; i < message->part_count; i++)
            if (message->parts[i].start <= *offset && *offset < message->parts[i].end)
                *offset = message->parts[i].end;
    for (unsigned i = 0; i < message->part_count; i++)
        if (message->parts[i].start > *offset)
            next = MIN(next, message->parts[i].start);
    return next;
}

/* Goes through the bytes between the parts in ascending order. */
void
smcr_clc_show_other_bytes(smcr_message_clc_t *message)
{
    const smcr_layout_walk_t *walk = &message->walk;
    unsigned end = tvb_reported_length(walk->tvb);
    unsigned captured = tvb_captured_length(walk->tvb);
    bool extra = message->reached_end;
    unsigned offset = 0;
    unsigned next = next_part(message, &offset, end);

    while (offset < MIN(end, captured)) {
        proto_item *item =
            smcr_item_bytes(walk->tree, extra ? hf_smcr_extra_bytes : hf_smcr_cut_bytes, walk->tvb,
                            offset, MIN(next, captured) - offset);
        if (extra && !walk->violation)
            smcr_item_raise(walk->pinfo, item, &ei_smcr_clc_extra);
        offset = next;
        next = next_part(message, &offset, end);
    }
    if (message->reached_end && offset < end) {
        message->reached_end = false;
        smcr_layout_explain_missing(walk, walk->tree, end);
    }
}

/* ---- checks that several types need ---- */

/* The count in the message may be wrong, so the result is never higher than the number of entries
 * for which the message has room. */
unsigned
smcr_clc_check_list(smcr_message_clc_t *message, const smcr_layout_walk_t *walk,
                    const smcr_message_clc_list_t *list)
{
    unsigned free = list->start;
    unsigned end = next_part(message, &free, tvb_reported_length(walk->tvb));
    bool start_is_free = free == list->start && list->start < end;
    unsigned room = start_is_free ? (end - list->start) / list->length : 0;

    if (list->count > SMCR_CLC_COUNT_MAX)
        smcr_say_note_format(walk, list->hf_count, &ei_smcr_clc_limit,
                             "The count is %u; the protocol allows %u at most", list->count,
                             SMCR_CLC_COUNT_MAX);
    if (list->count > room) {
        smcr_say_note_format(walk, list->hf_count, &ei_smcr_clc_count,
                             "The count is %u, but the message has space for %u only", list->count,
                             room);
        message->consistent = false;
    }
    return MIN(list->count, room);
}

/* All 8 bytes of the peer ID are compared: seven '%' and the zero byte that ends the string. */
void
smcr_clc_explain_peer_id(const smcr_message_clc_t *message, const uint8_t *peer_id)
{
    /* "%%%%%%%": SMC_LOCAL_SYSTEMID_RESET in net/smc/smc_ib.c of older kernels */
    static const uint8_t unset[SMCR_WIRE_PEER_ID_LENGTH] = {0x25, 0x25, 0x25, 0x25,
                                                            0x25, 0x25, 0x25};

    if (memcmp(peer_id, unset, sizeof unset) == 0)
        proto_item_append_text(smcr_layout_item(&message->walk, hf_smcr_peer_id),
                               " (Linux without an active RDMA port so far)");
}

/* A part that overlaps another one would be shown twice. So callers decode a part at such an offset
 * only if this function has returned true. */
bool
smcr_clc_place_is_possible(smcr_message_clc_t *message, const smcr_layout_walk_t *walk, int hf,
                           unsigned start, unsigned length)
{
    if (start + length > tvb_reported_length(walk->tvb))
        smcr_say_note(walk, hf, &ei_smcr_clc_offset);
    else if (!is_free(message, start, start + length))
        smcr_say_note_format(walk, hf, &ei_smcr_clc_offset,
                             "The offset points into another part of the message");
    else
        return true;
    message->consistent = false;
    return false;
}

SMCR_LAYOUT_LIST(clc_messages, &smcr_message_clc_peer_id);

/* If the options do not have the form of ANCK, nothing is appended. */
void
smcr_clc_say_vendor_options(const smcr_layout_walk_t *walk, uint32_t options)
{
    static const char *const words[] = {"none", "credits", "immediate data in place of CDC",
                                        "credits, immediate data in place of CDC"};
    const uint32_t known =
        SMCR_CLC_VENDOR_VALID | SMCR_CLC_VENDOR_CREDITS | SMCR_CLC_VENDOR_RWWI;
    uint8_t first = (uint8_t)(options >> 24);
    unsigned agreed = (first & SMCR_CLC_VENDOR_CREDITS ? 1U : 0U) |
                      (first & SMCR_CLC_VENDOR_RWWI ? 2U : 0U);
    proto_item *item = smcr_layout_item(walk, hf_smcr_clc_vendor_options);

    if (!(options & ~(known << 24)) && first & SMCR_CLC_VENDOR_VALID && item != walk->tree)
        proto_item_append_text(item, " (ANCK: %s)", words[agreed]);
}
