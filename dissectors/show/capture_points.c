/* Shows what other capture points show of a packet.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "show.h"

#include "generated.h"

/* Fills in `note`: how the capture points of the file have captured the frame's packet. Returns
 * false if nothing is known of the packet, or if the first pass is not complete. */
static bool
find_note(const packet_info *pinfo, smcr_points_note_t *note)
{
    smcr_points_t *points = smcr_state_points(smcr_capture_state());

    if (!points || !smcr_capture_is_read())
        return false;
    smcr_points_compare(points);
    return smcr_points_note(points, pinfo->num, note);
}

/* Shows a delay, nanoseconds. The delay may be negative, since the offset between the clocks of the
 * points is known with an error only. */
static void
show_delay(proto_tree *tree, int64_t delay)
{
    bool is_negative = delay < 0;
    nstime_t time = smcr_capture_nstime((uint64_t)(is_negative ? -delay : delay));

    if (is_negative) {
        time.secs = -time.secs;
        time.nsecs = -time.nsecs;
    }
    proto_item_set_generated(proto_tree_add_time(tree, hf_smcr_point_delay, NULL, 0, 0, &time));
}

/* If a note is known, smcr_show_points() shows the frame of the copy, so nothing is shown here. */
void
smcr_show_translated(packet_info *pinfo, proto_tree *tree)
{
    uint32_t original = smcr_translation_original(pinfo);
    smcr_points_note_t note;

    if (original && !find_note(pinfo, &note))
        smcr_generated_uint(smcr_generated_tree(tree, hf_smcr_point, ett_smcr_point, NULL),
                            hf_smcr_point_other, original);
}

/* All fields are generated: none has bytes of this frame. */
void
smcr_show_points(packet_info *pinfo, proto_tree *tree)
{
    smcr_points_note_t note;

    if (!find_note(pinfo, &note))
        return;
    proto_tree *below = smcr_generated_tree(tree, hf_smcr_point, ett_smcr_point, NULL);
    for (unsigned i = 0; i < array_length(note.copies) && note.copies[i]; i++)
        smcr_generated_uint(below, hf_smcr_point_other, note.copies[i]);
    if (note.has_delay)
        show_delay(below, note.delay);
    if (note.verdict != SMCR_VERDICT_AT_ALL)
        smcr_generated_uint(below, hf_smcr_point_verdict, note.verdict);
    if (!note.has_time)
        return;
    nstime_t time = smcr_capture_nstime(note.time);
    proto_item_set_generated(
        proto_tree_add_time(below, hf_smcr_point_time, NULL, 0, 0, &time));
}
