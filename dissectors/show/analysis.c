/* analysis.c
 * [SMC-R analysis], in the manner of tcp.analysis: numbers are fields, so that graphs can plot
 * them; what is worth a look has an expert item, which the state has decided.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "analysis.h"

#include "fields.h"
#include "generated.h"
#include "host/host.h"
#include "message/message.h"

/* The subtree, which is there as soon as it has something to hold. */
typedef struct {
    tvbuff_t *tvb;
    proto_tree *tree; /* that it is in */
    proto_tree *own;  /* NULL: not there yet */
} analysis_t;

static proto_tree *
own_tree(analysis_t *analysis)
{
    if (!analysis->own)
        analysis->own = smcr_generated_tree(analysis->tree, hf_smcr_analysis, ett_smcr_analysis,
                                            analysis->tvb, "SMC-R analysis");
    return analysis->own;
}

/* A number, most often of a frame; 0: there is none. */
static void
add(analysis_t *analysis, int hf, uint32_t value)
{
    if (value)
        smcr_generated_uint(own_tree(analysis), hf, analysis->tvb, value);
}

static void
add_wait(analysis_t *analysis, int hf_frame, int hf_time, const smcr_wait_t *wait)
{
    if (wait->frame)
        smcr_generated_wait(own_tree(analysis), hf_frame, hf_time, analysis->tvb, wait);
}

/* ---- how the packet fared ---- */

static void
add_repeat(analysis_t *analysis, const smcr_record_t *record)
{
    bool copy = record->order == SMCR_PACKET_IS_COPY;
    const smcr_step_back_t *step = record->step;

    add(analysis, copy ? hf_smcr_copy : hf_smcr_retransmission, record->first_frame);
    if (record->refused)
        add(analysis, hf_smcr_sent_before, record->first_frame);
    if (record->taken)
        proto_item_set_generated(proto_tree_add_boolean(own_tree(analysis), hf_smcr_taken,
                                                        analysis->tvb, 0, 0, true));
    if (step && step->cause != SMCR_CAUSE_NONE) {
        add(analysis, hf_smcr_resent_cause, step->cause);
        add(analysis, hf_smcr_resent_from, step->frame);
    }
}

/* Why it was sent again, and that it was discarded, may turn out later. */
static void
add_order(analysis_t *analysis, const smcr_record_t *record)
{
    add_repeat(analysis, record);
    add(analysis, hf_smcr_missing, record->missing);
    add(analysis, hf_smcr_behind_gap, record->gap_frame);
    if (record->discarded)
        add(analysis, hf_smcr_discarded, *record->discarded);
}

/* ---- what became of its data ---- */

static void
add_acked(analysis_t *analysis, const packet_info *pinfo, const smcr_when_t *acked)
{
    uint64_t sent = smcr_when(pinfo).time;
    smcr_wait_t wait = {acked->frame, acked->time > sent ? acked->time - sent : 0};

    add_wait(analysis, hf_smcr_write_acked_in, hf_smcr_write_ack_time, &wait);
}

static void
add_write(analysis_t *analysis, const packet_info *pinfo, const smcr_place_t *place)
{
    add(analysis, hf_smcr_window_written, place->used);
    add(analysis, hf_smcr_announced_in, place->announced_in);
    if (place->acked)
        add_acked(analysis, pinfo, place->acked);
    if (place->more)
        add_wait(analysis, hf_smcr_window_blocked_since, hf_smcr_window_blocked_time,
                 &place->more->blocked);
}

/* ---- all packets ---- */

void
smcr_analysis_show(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                   const smcr_record_t *record)
{
    analysis_t analysis = {tvb, tree, NULL};

    add_order(&analysis, record);
    if (record->place)
        add_write(&analysis, pinfo, record->place);
    add_wait(&analysis, hf_smcr_acks, hf_smcr_ack_time, &record->acks);
    add(&analysis, hf_smcr_refuses, record->refuses);
}
