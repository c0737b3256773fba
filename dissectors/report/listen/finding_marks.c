/* A mark is a frame and the numbers of the findings that rest on the frame. A postdissector shows
 * the marks at the end of each frame. It is registered at start, since it has to see the first
 * frame: before that frame a plugin does not know which fields a filter names.
 *
 * The first pass collects what the four taps of a report (listeners.c) would bring: packets of the
 * plugin come from the observer of the tap, expert items from their own observer, frames and TCP
 * segments from the postdissector.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "finding_marks.h"

#include "fields.h"
#include "forget.h"
#include "message/message.h"
#include "report/findings/findings.h"

/* The marks of the open file. */
static struct {
    wmem_allocator_t *scope; /* memory pool that owns the marks; NULL: there are none */
    wmem_map_t *numbers;     /* frame number -> smcr_figure_numbers_t *, the numbers of its
                                findings, ascending */
    const char **texts;      /* sentences of the findings; index: number of the finding - 1 */
} marks;

/* Who gets the report of each first pass. */
static struct {
    void (*watch)(const smcr_entry_report_t *report, void *context); /* NULL: nobody */
    void *context; /* second argument of `watch` */
} watcher;

/* What the first pass has collected; NULL: the first pass does not collect. */
static smcr_collection_t *collected;

/* Replaces all that identifies hosts in the report, before findings are made of the report. Returns
 * a copy of the notices with the same replacements. */
static const smcr_figure_notice_t *
make_anonymous(smcr_entry_report_t *report, const smcr_figure_notice_t *notices, uint32_t count,
               wmem_allocator_t *scope)
{
    smcr_figure_names_t *names = smcr_figure_names_new(scope);
    smcr_figure_notice_t *copies = wmem_alloc_array(scope, smcr_figure_notice_t, count);

    smcr_figure_names_apply(names, scope, report, &smcr_entry_report_description);
    for (uint32_t i = 0; i < count; i++) {
        smcr_figure_subject_t *subject = wmem_new0(scope, smcr_figure_subject_t);
        copies[i] = notices[i];
        if (copies[i].kind)
            copies[i].kind = smcr_figure_names_replace(names, scope, copies[i].kind);
        if (!copies[i].subject)
            continue;
        *subject = *copies[i].subject;
        if (subject->src)
            subject->src = smcr_figure_names_replace(names, scope, subject->src);
        if (subject->dst)
            subject->dst = smcr_figure_names_replace(names, scope, subject->dst);
        copies[i].subject = subject;
    }
    return copies;
}

/* Names are replaced before findings are made of them, so that no sentence has an address. */
smcr_entry_report_t *
smcr_listener_report(smcr_collection_t *collection, const char *filter, wmem_allocator_t *scope,
                     wmem_array_t **frames)
{
    smcr_entry_report_t *report = smcr_collection_report(collection, filter, scope);
    uint32_t count;
    const smcr_figure_notice_t *notices =
        smcr_collection_notices(collection, report, scope, &count);
    if (smcr_preferences.anonymous)
        notices = make_anonymous(report, notices, count, scope);

    *frames = smcr_findings_find(report, notices, count, scope);
    return report;
}

/* ---- marks ---- */

/* Forgets all marks. */
static void
clear_marks(void)
{
    if (marks.scope)
        wmem_destroy_allocator(marks.scope);
    memset(&marks, 0, sizeof marks);
}

/* Adds the number of a finding to the numbers of the frame, unless it is the last one of them. */
static void
add_mark(const smcr_finding_frame_t *one)
{
    smcr_figure_numbers_t *numbers = smcr_figure_of(
        marks.numbers, marks.scope, GUINT_TO_POINTER(one->frame), sizeof(smcr_figure_numbers_t));

    if (!numbers->length || numbers->numbers[numbers->length - 1] != one->number)
        smcr_figure_numbers_add(numbers, marks.scope, one->number);
}

/* The marks of the earlier report are freed first. All texts are copies, since the report may be
 * freed before the marks. */
void
smcr_listener_marks_set(const smcr_entry_report_t *report, wmem_array_t *frames)
{
    uint32_t count = report->findings.length;

    clear_marks();
    if (count) {
        marks.scope = wmem_allocator_new(WMEM_ALLOCATOR_BLOCK);
        marks.numbers = wmem_map_new(marks.scope, g_direct_hash, g_direct_equal);
        marks.texts = wmem_alloc_array(marks.scope, const char *, count);
    }
    for (uint32_t i = 0; i < count; i++) {
        const smcr_entry_finding_t *finding = report->findings.entries[i];
        marks.texts[i] = wmem_strdup(marks.scope, finding->text);
    }
    for (uint32_t i = 0; i < wmem_array_get_count(frames); i++)
        add_mark(wmem_array_index(frames, i));
}

/* Shows the findings that rest on the frame, with their numbers in the report that has set the
 * marks. Numbers begin with 1. */
static void
show_marks(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree)
{
    const smcr_figure_numbers_t *numbers =
        wmem_map_lookup(marks.numbers, GUINT_TO_POINTER(pinfo->num));

    for (uint32_t i = 0; numbers && i < numbers->length; i++) {
        uint32_t number = (uint32_t)numbers->numbers[i];
        const char *text = marks.texts[number - 1];
        proto_item *item = proto_tree_add_uint_format(tree, hf_smcr_finding, tvb, 0, 0, number,
                                                      "SMC-R finding %u: %s", number, text);
        proto_item_set_generated(item);
        proto_tree *below = proto_item_add_subtree(item, ett_smcr_finding);
        proto_item_set_generated(
            proto_tree_add_string(below, hf_smcr_finding_text, tvb, 0, 0, text));
    }
}

/* ---- the first pass ---- */

/* Whether somebody asks for smcr.finding: a display filter or a colour rule of this pass names the
 * field or its text, or the preference is on. */
static bool
is_asked_for(void)
{
    return smcr_preferences.findings ||
           proto_registrar_get_nth((unsigned)hf_smcr_finding)->ref_type != HF_REF_TYPE_NONE ||
           proto_registrar_get_nth((unsigned)hf_smcr_finding_text)->ref_type != HF_REF_TYPE_NONE;
}

/* Whether the first pass collects the frame. The first frame at which findings are asked for or
 * watched begins the collecting. */
static bool
is_collected(const packet_info *pinfo)
{
    if (pinfo->fd->visited)
        return false;
    if (!collected && (watcher.watch || is_asked_for())) {
        collected = smcr_collection_new(true);
        smcr_collection_skip(collected, pinfo);
    }
    return collected != NULL;
}

/* Gives a packet of SMC-R to the collection, as the tap `smcr` would. */
static void
collect_packet(packet_info *pinfo, const smcr_tap_t *packet)
{
    smcr_collection_take(collected, SMCR_COLLECTION_SMCR, pinfo, packet);
}

/* Gives an expert item to the collection, as Wireshark's tap of expert items would, if the first
 * pass collects the frame of the item (is_collected()). Does nothing for other frames. */
static void
collect_item(packet_info *pinfo, const expert_field *expert)
{
    const smcr_item_expert_row_t *row;

    if (!is_collected(pinfo))
        return;
    row = smcr_item_expert_row(expert);
    expert_info_t item = {
        .packet_num = pinfo->num,
        .group = row->group,
        .severity = row->severity,
        .hf_index = expert->hf,
    };

    smcr_collection_take(collected, SMCR_COLLECTION_EXPERT, pinfo, &item);
}

/* Collects the TCP segment of the frame, if it has one, and then the frame. */
static void
collect_frame(packet_info *pinfo)
{
    struct tcpheader tcp;

    if (smcr_host_tcp_segment(pinfo, &tcp))
        smcr_collection_take(collected, SMCR_COLLECTION_TCP, pinfo, &tcp);
    smcr_collection_take(collected, SMCR_COLLECTION_FRAME, pinfo, NULL);
}

/* Called by Wireshark after all other dissectors of the frame. Collects the frame in the first pass
 * if somebody asks for it. Else shows the findings of the frame if the file has marks. Else records
 * that nobody reads any more may be forgotten. */
static int
dissect_frame_end(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data _U_)
{
    if (is_collected(pinfo))
        collect_frame(pinfo);
    else if (marks.scope)
        show_marks(tvb, pinfo, tree);
    else
        smcr_listener_forget_unread(pinfo);
    return (int)tvb_captured_length(tvb);
}

/* Frees the collection of the first pass; the next first pass makes another one. */
static void
forget_collected(void)
{
    if (collected)
        smcr_collection_free(collected);
    collected = NULL;
}

/* Called after the last frame of a pass: makes the findings of the first pass, for the field
 * smcr.finding and for the watcher. Does nothing after later passes, which collect nothing. */
static void
end_pass(void)
{
    wmem_allocator_t *scope;
    wmem_array_t *frames;

    if (!collected)
        return;
    scope = wmem_allocator_new(WMEM_ALLOCATOR_BLOCK);
    smcr_entry_report_t *report = smcr_listener_report(collected, NULL, scope, &frames);
    if (is_asked_for())
        smcr_listener_marks_set(report, frames);
    if (watcher.watch)
        watcher.watch(report, watcher.context);
    wmem_destroy_allocator(scope);
    forget_collected();
}

/* Called when the file is closed, and before it is dissected anew. */
static void
end_file(void)
{
    forget_collected();
    clear_marks();
}

bool
smcr_listener_marks_collect(void)
{
    return collected != NULL;
}

void
smcr_listener_marks_watch(void (*watch)(const smcr_entry_report_t *report, void *context),
                          void *context)
{
    watcher.watch = watch;
    watcher.context = context;
}

/* The first pass ends in end_pass(), which finds the findings; the postdissector shows their marks
 * in later passes. */
void
smcr_listener_marks_register(void)
{
    static const smcr_tap_observer_t observer = {is_collected, collect_packet};

    register_postdissector(create_dissector_handle(dissect_frame_end, -1));
    smcr_tap_observe(&observer);
    smcr_item_observe(collect_item);
    register_postseq_cleanup_routine(end_pass);
    register_cleanup_routine(end_file);
}
