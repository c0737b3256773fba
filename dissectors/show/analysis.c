/* analysis.c
 * Window analysis, in the manner of tcp.analysis: numbers are fields, so that graphs can plot
 * them; what is worth a look has an expert item, which the state has decided.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "analysis.h"

#include "fields.h"
#include "host/host.h"
#include "message/message.h"

static void
number(proto_tree *tree, int hf, tvbuff_t *tvb, uint32_t value)
{
    proto_item_set_generated(proto_tree_add_uint(tree, hf, tvb, 0, 0, value));
}

static void
position(proto_tree *tree, int hf, tvbuff_t *tvb, uint64_t value)
{
    proto_item_set_generated(proto_tree_add_uint64(tree, hf, tvb, 0, 0, value));
}

static void
waited(proto_tree *tree, int hf_since, int hf_time, tvbuff_t *tvb, const smcr_wait_t *wait)
{
    if (!wait || !wait->frame)
        return;
    number(tree, hf_since, tvb, wait->frame);
    smcr_item_time(tree, hf_time, tvb, wait->time);
}

static void
show_writer(tvbuff_t *tvb, proto_tree *tree, const smcr_cdc_view_t *view)
{
    if (view->has_len)
        number(tree, hf_smcr_cdc_len, tvb, view->len);
    position(tree, hf_smcr_cdc_announced, tvb, view->announced);
    if (view->writes) {
        number(tree, hf_smcr_cdc_writes, tvb, view->writes);
        number(tree, hf_smcr_cdc_first_write, tvb, view->first_write);
        number(tree, hf_smcr_cdc_last_write, tvb, view->last_write);
    }
    if (view->urgent)
        position(tree, hf_smcr_cdc_urgent_offset, tvb, view->announced - 1);
    if (view->has_unread)
        number(tree, hf_smcr_window_unread, tvb, view->unread);
    if (view->has_unread && view->size) {
        number(tree, hf_smcr_window_free, tvb, smcr_cdc_free(view));
        number(tree, hf_smcr_window_percent, tvb,
               (uint32_t)((uint64_t)smcr_cdc_free(view) * 100 / view->size));
    }
    if (view->more)
        waited(tree, hf_smcr_window_blocked_since, hf_smcr_window_blocked_time, tvb,
               &view->more->blocked);
}

static void
show_reader(tvbuff_t *tvb, proto_tree *tree, const smcr_cdc_view_t *view)
{
    if (view->has_len)
        number(tree, hf_smcr_cdc_read, tvb, view->read);
    if (view->has_consumed)
        position(tree, hf_smcr_cdc_consumed, tvb, view->consumed);
    waited(tree, hf_smcr_cdc_read_of, hf_smcr_cdc_read_time, tvb,
           &(smcr_wait_t){view->read_of, view->read_time});
    if (view->more)
        waited(tree, hf_smcr_window_full_since, hf_smcr_window_full_time, tvb, &view->more->full);
    if (view->offered != SMCR_NOT_KNOWN)
        number(tree, hf_smcr_window_offered, tvb, view->offered);
}

void
smcr_analysis_summarize(packet_info *pinfo, const smcr_cdc_view_t *view)
{
    if (view->has_len)
        col_append_str_uint(pinfo->cinfo, COL_INFO, "Len", view->len, " ");
    if (view->has_unread && view->size)
        col_append_str_uint(pinfo->cinfo, COL_INFO, "Win", smcr_cdc_free(view), " ");
}

void
smcr_analysis_show_cdc(tvbuff_t *tvb, proto_tree *tree, const smcr_cdc_view_t *view)
{
    show_writer(tvb, tree, view);
    show_reader(tvb, tree, view);
}

static void
show_acked(tvbuff_t *tvb, const packet_info *pinfo, proto_tree *tree, const smcr_when_t *acked)
{
    uint64_t sent = smcr_when(pinfo).time;

    number(tree, hf_smcr_write_acked_in, tvb, acked->frame);
    smcr_item_time(tree, hf_smcr_write_ack_time, tvb, acked->time > sent ? acked->time - sent : 0);
}

void
smcr_analysis_show_write(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                         const smcr_place_t *place)
{
    if (place->used)
        number(tree, hf_smcr_window_written, tvb, place->used);
    if (place->announced_in)
        number(tree, hf_smcr_announced_in, tvb, place->announced_in);
    if (place->acked)
        show_acked(tvb, pinfo, tree, place->acked);
    if (place->more)
        waited(tree, hf_smcr_window_blocked_since, hf_smcr_window_blocked_time, tvb,
               &place->more->blocked);
}

void
smcr_analysis_show_ack(tvbuff_t *tvb, proto_tree *tree, const smcr_wait_t *acks)
{
    waited(tree, hf_smcr_acks, hf_smcr_ack_time, tvb, acks);
}
