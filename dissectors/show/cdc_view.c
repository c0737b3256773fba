/* cdc_view.c
 * What the cursors of a CDC message mean, a subtree per direction. Numbers are fields, so that
 * graphs can plot them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "show.h"

#include "generated.h"

void
smcr_show_cdc_summary(packet_info *pinfo, const smcr_record_t *record)
{
    const smcr_record_cdc_t *view = record->view;

    if (view->has_len)
        col_append_str_uint(pinfo->cinfo, COL_INFO, "Len", view->len, " ");
    if (view->offered != SMCR_RECORD_NOT_KNOWN && smcr_evidence_hears_reader(record, pinfo->num))
        col_append_str_uint(pinfo->cinfo, COL_INFO, "Win", view->offered, " ");
}

/* Begins the subtree of one direction; `direction` is unknown below 0. */
static proto_tree *
begin(packet_info *pinfo, proto_tree *tree, int hf, int direction)
{
    const char *name = proto_registrar_get_name(hf);
    const char *text = direction < 0
                           ? name
                           : wmem_strdup_printf(pinfo->pool, "%s, %s", name,
                                                val_to_str_const((uint32_t)direction,
                                                                 smcr_values_directions, ""));

    return smcr_generated_tree(tree, hf, ett_smcr_data, text);
}

/* ---- what the sender writes: `heard`: it is known how much of it has been read ---- */

static void
sum_up_sent(proto_item *item, const smcr_record_cdc_t *view, bool heard)
{
    if (view->has_len)
        proto_item_append_text(item, ": %u bytes announced", view->len);
    if (heard)
        proto_item_append_text(item, "%s %u bytes not reported as read", view->has_len ? "," : ":",
                               view->unread);
    if (heard && view->size)
        proto_item_append_text(item, ", %u of %u bytes free", smcr_record_cdc_free(view),
                               view->size);
}

static void
show_announced(proto_tree *tree, const smcr_record_cdc_t *view)
{
    if (view->has_len)
        smcr_generated_uint(tree, hf_smcr_cdc_len, view->len);
    smcr_generated_uint64(tree, hf_smcr_cdc_announced, view->announced);
    if (view->writes) {
        smcr_generated_uint(tree, hf_smcr_cdc_writes, view->writes);
        smcr_generated_uint(tree, hf_smcr_cdc_first_write, view->first_write);
        smcr_generated_uint(tree, hf_smcr_cdc_last_write, view->last_write);
    }
    if (view->urgent)
        smcr_generated_uint64(tree, hf_smcr_cdc_urgent_offset, view->announced - 1);
}

static void
show_sent(proto_tree *tree, const smcr_record_cdc_t *view, bool heard)
{
    smcr_record_wait_t wait = smcr_record_cdc_wait(view);

    sum_up_sent(proto_tree_get_parent(tree), view, heard);
    show_announced(tree, view);
    if (heard)
        smcr_generated_uint(tree, hf_smcr_window_unread, view->unread);
    if (heard && view->size) {
        smcr_generated_uint(tree, hf_smcr_window_free, smcr_record_cdc_free(view));
        smcr_generated_uint(tree, hf_smcr_window_percent,
                            (uint32_t)((uint64_t)smcr_record_cdc_free(view) * 100 / view->size));
    }
    smcr_generated_wait(tree, hf_smcr_window_wait_until, hf_smcr_window_wait_time, &wait);
}

/* ---- what the sender reads: `offers`: it is known how much space it has left ---- */

static void
show_received(proto_tree *tree, const smcr_record_cdc_t *view, bool offers)
{
    proto_item *item = proto_tree_get_parent(tree);
    smcr_record_wait_t read = {.frame = view->read_of, .time = view->read_time};

    if (view->has_read) {
        proto_item_append_text(item, ": %u bytes reported as read", view->read);
        smcr_generated_uint(tree, hf_smcr_cdc_read, view->read);
    }
    if (view->has_consumed)
        smcr_generated_uint64(tree, hf_smcr_cdc_consumed, view->consumed);
    smcr_generated_wait(tree, hf_smcr_cdc_read_of, hf_smcr_cdc_read_time, &read);
    if (offers) {
        proto_item_append_text(item, "%s %u bytes free", view->has_read ? "," : ":", view->offered);
        smcr_generated_uint(tree, hf_smcr_window_offered, view->offered);
    }
}

void
smcr_show_cdc_view(packet_info *pinfo, proto_tree *tree, const smcr_record_t *record)
{
    const smcr_record_cdc_t *view = record->view;
    int direction = record->direction;
    int back = direction < 0 ? direction : !direction;
    bool hears = smcr_evidence_hears_reader(record, pinfo->num);
    bool offers = hears && view->offered != SMCR_RECORD_NOT_KNOWN;

    show_sent(begin(pinfo, tree, hf_smcr_cdc_sent, direction), view, hears && view->has_unread);
    if (view->has_read || view->has_consumed || offers)
        show_received(begin(pinfo, tree, hf_smcr_cdc_received, back), view, offers);
}
