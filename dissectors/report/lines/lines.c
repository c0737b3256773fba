/* Decides when a line is written. While frames come, about once a second of the capture's time: a
 * line for each connection that has ended or is given up, which the collection then lets go of; for
 * each link and link group that has ended; and the findings about these connections. Once an
 * interval: a line for each RDMA flow, with what has come since the interval before. After the last
 * frame: lines for what is open, for all other findings, and for the capture.
 *
 * Sections: no section of RFC 7609; docs/lines.md says what a reader may rely on.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "lines.h"

#include <stdlib.h>

#include "identity.h"
#include "output_line.h"
#include "host/host.h"
#include "payload/payload.h"
#include "report/findings/findings.h"
#include "report/listen/forget.h"
#include "report/listen/listeners.h"

#define LOOK_EVERY SMCR_TIME_SECOND /* usual time between two searches for connections and links
                                       that have ended, nanoseconds */
#define LOOK_AT_LEAST_EVERY (60 * SMCR_TIME_SECOND) /* the longest such time, if the report has many
                                                       entries, nanoseconds */
#define FEW_ENTRIES 1000 /* so many entries of a report take no time that matters */
#define LINK_WAITS 5 /* the line of a link or link group waits for this multiple of the option
                        `late` after its end: connections may move to other links after the link is
                        deleted */

/* The state of -z smcr,lines. */
typedef struct {
    smcr_lines_options_t options; /* what the user has asked for */
    uint64_t time;      /* time of the last frame, nanoseconds since 1970; SMCR_FIGURE_UNKNOWN: no
                           frame with a time yet */
    uint32_t frame;     /* number of the last frame */
    uint64_t looked;    /* time of the last search for connections and links that have ended, or of
                           the first frame; SMCR_FIGURE_UNKNOWN: as for `time` */
    uint32_t looked_frame; /* frame of that time; set with `looked` */
    uint32_t entries;   /* flows and link groups of the last report, which a search goes through */
    uint64_t begun;     /* begin of the current interval: lines have the figures of flows up to this
                           time; SMCR_FIGURE_UNKNOWN: as for `time` */
    uint64_t found;     /* time up to which lines have the findings about connections that have
                           ended; SMCR_FIGURE_UNKNOWN: as for `time` */
    GHashTable *before; /* figures of flows at the end of the last interval: text of flow_name() ->
                           smcr_entry_rdma_t; NULL: none yet */
    wmem_allocator_t *flow_scope; /* memory pool that owns the keys and values of `before`; only
                                     valid with `before` */
    GHashTable *written;          /* names of links and link groups that have their lines */
} line_writer_t;

/* The lines that are written at one time, and the report that they are made of. */
typedef struct {
    line_writer_t *writer;         /* what lasts from one batch to the next */
    smcr_collection_t *collection; /* the collection of which the report is made */
    smcr_entry_report_t *report;   /* the report, with the connections that have ended or, after the
                                      last frame, with all that the collection still has */
    bool is_end;             /* after the last frame */
    wmem_allocator_t *scope; /* memory pool that owns the report and the lines */
} batch_t;

/* Returns a line of this kind, without figures. The time of the line is that of the last frame so
 * far. */
static smcr_entry_line_t
new_line(const batch_t *batch, smcr_figure_line_kind_t kind)
{
    smcr_entry_line_t line;

    smcr_entry_clear(&line, &smcr_entry_line_description);
    line.line = kind;
    line.time = batch->writer->time;
    line.is_full = line.uid_partial = line.continues = SMCR_FIGURE_NO;
    line.late_packets = SMCR_FIGURE_UNKNOWN;
    return line;
}

/* Writes the line, unless the user has chosen other kinds of lines. */
static void
write_line(const batch_t *batch, smcr_entry_line_t *line)
{
    const smcr_lines_options_t *options = &batch->writer->options;

    if (!options->kinds || options->kinds & 1U << line->line)
        smcr_lines_write(options, line, batch->scope);
}

/* ---- connections ---- */

/* Returns the entry of the link group with this index; NULL: none. */
static const smcr_entry_link_group_t *
group_of(const batch_t *batch, uint64_t index)
{
    if (index == SMCR_FIGURE_UNKNOWN)
        return NULL;
    SMCR_FIGURE_EACH(link_group, group, batch->report->link_groups) {
        if (group->index == index)
            return group;
    }
    return NULL;
}

/* Returns the name of a link group: that of its first link; NULL: `group` is NULL or has no link.
 * Sets `*is_partial` if the group may have had an earlier link, or if the name of the link is
 * partial (smcr_lines_link_uid()). */
static const char *
group_uid(const batch_t *batch, const smcr_entry_link_group_t *group, bool *is_partial)
{
    if (!group || !group->links.length)
        return NULL;
    const smcr_entry_link_t *first =
        smcr_figure_list_entry(&group->links, &group->links.entries[0]);
    *is_partial |= !first->added_frame.frame;
    return smcr_lines_link_uid(batch->scope, first, is_partial);
}

/* Returns the longest time that an answer to this writer's data took, nanoseconds; 0: no such time
 * is known. */
static uint64_t
longest_answer(const smcr_entry_connection_t *entry, smcr_figure_role_t writer)
{
    const smcr_entry_conn_direction_t *asked = writer == SMCR_FIGURE_ROLE_CLIENT
                                                   ? &entry->client_to_server
                                                   : &entry->server_to_client;
    const smcr_distribution_t *answers = smcr_distribution_get(asked->answer_time_s);

    return answers->count ? answers->max : 0;
}

/* Returns the longest waits that a line has. A line that is not full has no wait for an answer that
 * is as long as the longest one of `answer_time_s`, since a reader assumes this wait. If there are
 * answers, but the entry has no longest wait for one, the line has a wait whose length is not
 * known. */
static smcr_figure_list_t
waits_of_line(const batch_t *batch, const smcr_entry_connection_t *entry)
{
    smcr_figure_list_t waits = {.length = 0};
    uint64_t assumed[] = {
        [SMCR_FIGURE_ROLE_CLIENT] = longest_answer(entry, SMCR_FIGURE_ROLE_CLIENT),
        [SMCR_FIGURE_ROLE_SERVER] = longest_answer(entry, SMCR_FIGURE_ROLE_SERVER)};

    if (batch->writer->options.full)
        return entry->longest_waits;
    SMCR_FIGURE_EACH(conn_wait, wait, entry->longest_waits) {
        bool is_answer = wait->kind == SMCR_FIGURE_WAIT_ANSWER;
        if (!is_answer || wait->lasted_s != assumed[wait->writer])
            *SMCR_FIGURE_ADD(conn_wait, &waits, batch->scope) = *wait;
        if (is_answer)
            assumed[wait->writer] = 0;
    }
    for (smcr_figure_role_t writer = SMCR_FIGURE_ROLE_CLIENT; writer <= SMCR_FIGURE_ROLE_SERVER;
         writer++) {
        if (!assumed[writer])
            continue;
        smcr_entry_conn_wait_t *unknown = SMCR_FIGURE_ADD(conn_wait, &waits, batch->scope);
        unknown->writer = writer;
        unknown->kind = SMCR_FIGURE_WAIT_ANSWER;
        unknown->lasted_s = SMCR_FIGURE_UNKNOWN;
    }
    return waits;
}

/* Writes a line for each connection of the report. The report has only connections whose line is
 * due, so no connection gets two lines, unless it goes on after it was given up (`continues`). The
 * subjects of the collection are in the order of the report's connections. */
static void
write_connections(const batch_t *batch)
{
    static const smcr_figure_line_end_t ends[] = {
        [SMCR_COLLECTION_OPEN] = SMCR_FIGURE_LINE_END_OPEN,
        [SMCR_COLLECTION_ENDED] = SMCR_FIGURE_LINE_END_ENDED,
        [SMCR_COLLECTION_GIVEN_UP] = SMCR_FIGURE_LINE_END_GIVEN_UP};
    uint32_t index = 0;

    SMCR_FIGURE_EACH(connection, entry, batch->report->connections) {
        const smcr_collection_subject_t *subject =
            smcr_collection_subject(batch->collection, index++);
        smcr_entry_line_t line = new_line(batch, SMCR_FIGURE_LINE_CONNECTION);
        smcr_entry_connection_t own = *entry;
        bool is_partial = false;

        own.longest_waits = waits_of_line(batch, entry);
        line.connection = &own;
        line.interface = subject->interface;
        line.ended = ends[subject->end];
        line.continues = smcr_figure_truth(subject->is_part);
        line.group_uid = group_uid(batch, group_of(batch, entry->link_group), &is_partial);
        smcr_lines_name_connection(&line, subject, batch->scope);
        write_line(batch, &line);
    }
}

/* Writes a line for each TCP connection of the report, which has only those whose line is due. */
static void
write_tcp(const batch_t *batch)
{
    SMCR_FIGURE_EACH(tcp, entry, batch->report->tcp_flows) {
        smcr_entry_line_t line = new_line(batch, SMCR_FIGURE_LINE_TCP);
        bool is_up = smcr_collection_tcp_client_is_up(batch->collection, entry->tcp_stream);

        line.tcp = entry;
        smcr_lines_name_tcp(&line, is_up, batch->scope);
        write_line(batch, &line);
    }
}

/* ---- link groups ---- */

/* Whether the line of a link or link group is to be written now: it has no line yet, and has ended
 * long enough ago (LINK_WAITS), or the capture ends. If so, notes that it has its line, so the
 * caller has to write the line. `end`: frame with which it ended; frame 0: it has not ended.
 * `name`: its name within the file, which this function frees or keeps. */
static bool
is_due(const batch_t *batch, smcr_when_t end, char *name)
{
    const smcr_lines_options_t *options = &batch->writer->options;
    bool has_ended = end.frame && batch->writer->time >= end.time + LINK_WAITS * options->late;

    if (g_hash_table_contains(batch->writer->written, name) || !(has_ended || batch->is_end)) {
        g_free(name);
        return false;
    }
    g_hash_table_add(batch->writer->written, name);
    return true;
}

/* Returns a list of the numbers of flows, which stay the same in all lines. `indices`: of the flows
 * in the report. */
static smcr_figure_numbers_t
numbers_of(const batch_t *batch, const smcr_figure_numbers_t *indices)
{
    smcr_figure_numbers_t numbers = {.length = 0};

    for (uint32_t i = 0; i < indices->length; i++)
        smcr_figure_numbers_add(&numbers, batch->scope,
                                smcr_collection_flow_number(batch->collection,
                                                            indices->numbers[i]));
    return numbers;
}

/* Writes the line of a link, once, if it is due (is_due()). A link without a DELETE LINK of its own
 * ends with its group. */
static void
write_link(const batch_t *batch, smcr_entry_link_group_t *group, smcr_entry_link_t *link)
{
    smcr_entry_line_t line = new_line(batch, SMCR_FIGURE_LINE_LINK);
    smcr_entry_link_t own = *link;
    smcr_when_t ended = link->deleted_frame.frame ? link->deleted_frame : group->ended_frame;
    bool is_partial = false, is_group_partial = false;

    if (!is_due(batch, ended, g_strdup_printf("link %" PRIu64, link->index)))
        return;
    own.flows = numbers_of(batch, &link->flows);
    line.link = &own;
    line.uid = smcr_lines_link_uid(batch->scope, link, &is_partial);
    line.uid_partial = smcr_figure_truth(is_partial);
    line.group_uid = group_uid(batch, group, &is_group_partial);
    line.ended = ended.frame ? SMCR_FIGURE_LINE_END_ENDED : SMCR_FIGURE_LINE_END_OPEN;
    write_line(batch, &line);
}

/* Writes the line of a link group, once, if it is due (is_due()). */
static void
write_group(const batch_t *batch, smcr_entry_link_group_t *group)
{
    smcr_entry_line_t line = new_line(batch, SMCR_FIGURE_LINE_LINK_GROUP);
    bool is_partial = false;

    if (!is_due(batch, group->ended_frame, g_strdup_printf("group %" PRIu64, group->index)))
        return;
    line.link_group = group;
    line.uid = group_uid(batch, group, &is_partial);
    line.uid_partial = smcr_figure_truth(is_partial);
    line.ended = group->ended_frame.frame ? SMCR_FIGURE_LINE_END_ENDED : SMCR_FIGURE_LINE_END_OPEN;
    write_line(batch, &line);
}

/* Writes the lines of links and link groups that are due; the lines of a group's links come before
 * the line of the group. */
static void
write_groups(const batch_t *batch)
{
    SMCR_FIGURE_EACH(link_group, group, batch->report->link_groups) {
        SMCR_FIGURE_EACH(link, link, group->links)
            write_link(batch, group, link);
        write_group(batch, group);
    }
}

/* ---- flows ---- */

/* Returns the name of a flow, which stays the same while the capture goes on. */
static char *
flow_name(const smcr_entry_rdma_t *flow, wmem_allocator_t *scope)
{
    return wmem_strdup_printf(scope, "%s %s %" PRIu64 " %u", flow->src, flow->dst, flow->dst_qpn,
                              flow->first_frame.frame);
}

/* Forgets the figures at the end of the last interval. */
static void
forget_flows(line_writer_t *writer)
{
    if (!writer->before)
        return;
    g_hash_table_destroy(writer->before);
    wmem_destroy_allocator(writer->flow_scope);
    writer->before = NULL;
}

/* Writes the lines of an interval: what the flows have carried since the interval before. A flow
 * without packets in the interval has no line. The figures up to now are kept in a memory pool of
 * their own, since the report is freed; the pool of the interval before is freed. */
static void
write_flows(const batch_t *batch)
{
    line_writer_t *writer = batch->writer;
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_BLOCK_FAST);
    GHashTable *now = g_hash_table_new(g_str_hash, g_str_equal);
    const smcr_figure_flow_owner_t *owners =
        smcr_figure_flow_owners(batch->report, batch->scope);

    SMCR_FIGURE_EACH(rdma, flow, batch->report->rdma_flows) {
        char *name = flow_name(flow, scope);
        smcr_entry_rdma_t *sum = wmem_new(scope, smcr_entry_rdma_t);
        const smcr_entry_rdma_t *before =
            writer->before ? g_hash_table_lookup(writer->before, name) : NULL;
        smcr_entry_rdma_t part = *flow;
        smcr_entry_line_t line = new_line(batch, SMCR_FIGURE_LINE_FLOW);
        bool is_partial = false;

        smcr_entry_forget(sum, &smcr_entry_rdma_description);
        smcr_entry_join(sum, flow, &smcr_entry_rdma_description, scope);
        g_hash_table_insert(now, name, sum);
        if (before)
            smcr_entry_take_away(&part, before, &smcr_entry_rdma_description, batch->scope);
        if (!part.packets)
            continue;
        part.index = smcr_collection_flow_number(batch->collection, flow->index);
        part.peer = smcr_collection_flow_number(batch->collection, flow->peer);
        line.flow = &part;
        line.from_time = writer->begun;
        line.to_time = writer->time;
        line.group_uid = group_uid(batch, owners[flow->index].group, &is_partial);
        write_line(batch, &line);
    }
    forget_flows(writer);
    writer->before = now;
    writer->flow_scope = scope;
    writer->begun = writer->time;
}

/* ---- findings ---- */

/* Whether a finding of `list` has the same kind and text. */
static bool
has_finding(const smcr_figure_list_t *list, const smcr_entry_finding_t *found)
{
    SMCR_FIGURE_EACH(finding, other, *list) {
        if (strcmp(other->kind, found->kind) == 0 && strcmp(other->text, found->text) == 0)
            return true;
    }
    return false;
}

/* Writes the findings of the report, without those that `known` has. */
static void
write_findings(const batch_t *batch, const smcr_figure_list_t *known)
{
    SMCR_FIGURE_EACH(finding, found, batch->report->findings) {
        smcr_entry_line_t line = new_line(batch, SMCR_FIGURE_LINE_FINDING);

        if (has_finding(known, found))
            continue;
        line.finding = found;
        line.from_time = batch->is_end ? batch->report->capture.first_time : batch->writer->found;
        line.to_time = batch->writer->time;
        write_line(batch, &line);
    }
}

/* Writes the findings about connections that have ended: the findings of the report, without those
 * that the same report has if its connections are left out. The findings left out are about links
 * and flows, and are written after the last frame. */
static void
write_findings_of_ended(const batch_t *batch)
{
    smcr_entry_report_t *report = batch->report, others = *report;

    others.connections.length = others.tcp_flows.length = 0;
    smcr_findings_find_all(&others, NULL, 0, batch->scope);
    smcr_findings_find_all(report, NULL, 0, batch->scope);
    write_findings(batch, &others.findings);
    batch->writer->found = batch->writer->time;
}

/* Whether the report has a finding that `others` does not have. */
static bool
has_other_finding(const smcr_entry_report_t *report, const smcr_entry_report_t *others)
{
    SMCR_FIGURE_EACH(finding, found, report->findings) {
        if (!has_finding(&others->findings, found))
            return true;
    }
    return false;
}

/* Lets go of the link groups that are over, after their lines and those of their flows. If a
 * finding is about one of them, all of them stay: findings of the whole capture come after the
 * last frame. So that its line comes first, no group is over before the time of its line
 * (LINK_WAITS). */
static void
let_go_of_groups(const batch_t *batch, smcr_collection_patience_t patience)
{
    smcr_collection_t *collection = batch->collection;
    uint32_t count;

    patience.idle = MAX(patience.idle, LINK_WAITS * patience.late);
    smcr_entry_report_t *over = smcr_collection_report_over(collection, &patience, batch->scope);
    if (!over)
        return;
    const smcr_figure_notice_t *notices =
        smcr_collection_notices(collection, over, batch->scope, &count);
    smcr_entry_report_t others = *over;
    others.link_groups.length = others.rdma_flows.length = 0;
    smcr_findings_find_all(&others, notices, count, batch->scope);
    smcr_findings_find_all(over, notices, count, batch->scope);
    smcr_collection_let_go_of_groups(collection, !has_other_finding(over, &others));
}

/* ---- the end ---- */

/* Writes the lines that only the end of the capture has: all findings of the whole capture,
 * breaches, pauses and capture points. The line of the capture is the last line, so a reader knows
 * that no other line comes. */
static void
write_others(const batch_t *batch)
{
    smcr_entry_report_t *report = batch->report;
    const smcr_figure_list_t none = {.length = 0};
    uint32_t count;
    const smcr_figure_notice_t *notices =
        smcr_collection_notices(batch->collection, report, batch->scope, &count);

    smcr_findings_find_all(report, notices, count, batch->scope);
    write_findings(batch, &none);
    SMCR_FIGURE_EACH(breach, breach, report->breaches) {
        smcr_entry_line_t line = new_line(batch, SMCR_FIGURE_LINE_BREACH);
        line.breach = breach;
        write_line(batch, &line);
    }
    SMCR_FIGURE_EACH(pause, pause, report->pauses) {
        SMCR_FIGURE_EACH(pause_interval, interval, pause->intervals)
            interval->flow = smcr_collection_flow_number(batch->collection, interval->flow);
        smcr_entry_line_t line = new_line(batch, SMCR_FIGURE_LINE_PAUSE);
        line.pause = pause;
        write_line(batch, &line);
    }
    SMCR_FIGURE_EACH(way, way, report->points) {
        smcr_entry_line_t line = new_line(batch, SMCR_FIGURE_LINE_WAY);
        line.way = way;
        write_line(batch, &line);
    }
    smcr_entry_line_t line = new_line(batch, SMCR_FIGURE_LINE_CAPTURE);
    line.capture = &report->capture;
    line.ip = &report->ip;
    line.other_roce = report->other_roce;
    line.late_packets = smcr_collection_late_packets(batch->collection);
    write_line(batch, &line);
}

/* Forgets all times and what was written. */
static void
forget(line_writer_t *writer)
{
    forget_flows(writer);
    g_hash_table_remove_all(writer->written);
    writer->time = writer->looked = writer->begun = writer->found = SMCR_FIGURE_UNKNOWN;
}

/* Called after the last frame: writes all that has no line yet. */
static void
end(smcr_collection_t *collection, void *context)
{
    line_writer_t *writer = context;
    batch_t batch = {writer, collection, NULL, true, wmem_allocator_new(WMEM_ALLOCATOR_BLOCK)};

    batch.report = smcr_collection_report(collection, writer->options.filter, batch.scope);
    write_connections(&batch);
    write_tcp(&batch);
    write_groups(&batch);
    write_flows(&batch);
    write_others(&batch);
    wmem_destroy_allocator(batch.scope);
    smcr_collection_empty(collection);
    forget(writer);
}

/* ---- while frames come ---- */

/* Writes lines of what has ended. `is_interval`: also the flows, at the end of an interval. */
static void
look(line_writer_t *writer, smcr_collection_t *collection, bool is_interval)
{
    const smcr_lines_options_t *options = &writer->options;
    const smcr_collection_patience_t patience = {.now = writer->time,
                                                 .frame = writer->frame,
                                                 .late = options->late,
                                                 .idle = options->idle};
    batch_t batch = {writer, collection, NULL, false, wmem_allocator_new(WMEM_ALLOCATOR_BLOCK)};

    batch.report = smcr_collection_report_ended(collection, &patience, is_interval, batch.scope);
    if (batch.report) {
        write_connections(&batch);
        write_tcp(&batch);
        write_groups(&batch);
        if (is_interval)
            write_flows(&batch);
        if (batch.report->connections.length || batch.report->tcp_flows.length)
            write_findings_of_ended(&batch);
        writer->entries = batch.report->rdma_flows.length + batch.report->link_groups.length;
        smcr_collection_let_go(collection);
        if (is_interval)
            let_go_of_groups(&batch, patience);
    }
    wmem_destroy_allocator(batch.scope);
}

/* Whether `time` nanoseconds or more lie between `from` and `now`, or the clock of the capture went
 * back. */
static bool
has_passed(uint64_t from, uint64_t now, uint64_t time)
{
    return now < from || now - from >= time;
}

/* Whether it is time to search for connections and links that have ended: once a second, or once in
 * the time of the option `late` if this is shorter. Each search goes through all flows and link
 * groups. So if there are many, it waits for as many frames, but at most a minute: the cost of a
 * frame grows little with them. */
static bool
is_time_to_look(const line_writer_t *writer, uint64_t now)
{
    uint64_t frames = writer->frame - writer->looked_frame;
    bool has_many = writer->entries > frames + FEW_ENTRIES;

    return has_passed(writer->looked, now,
                      has_many ? LOOK_AT_LEAST_EVERY : MIN(LOOK_EVERY, writer->options.late));
}

/* Whether the collection, which is `data`, has finished with the connection. */
static bool
is_finished(const smcr_conn_t *conn, const void *data)
{
    return smcr_collection_is_finished(data, conn);
}

/* Forgets the records of packets that came long ago, and connections that ended then. Only a second
 * pass over the file, or another report, would ask for them: in a second pass nothing is forgotten,
 * and with another listener no connection. */
static void
forget_old(const line_writer_t *writer, const smcr_collection_t *collection)
{
    const smcr_state_finished_t finished = {is_finished, collection, smcr_payload_release};

    if (!smcr_capture_is_read())
        smcr_listener_forget_old((smcr_when_t){writer->frame, writer->time},
                                 smcr_listeners_are_of_one() ? &finished : NULL);
}

/* Called after each frame. An interval ends with the first frame after a whole multiple of its
 * length since 1970, so that the intervals of several files and capture points begin at nearly the
 * same times. */
static void
end_frame(smcr_collection_t *collection, const packet_info *pinfo, void *context)
{
    line_writer_t *writer = context;
    uint64_t now = smcr_capture_when(pinfo).time, interval = writer->options.interval;

    if (!pinfo->fd->has_ts)
        return;
    writer->time = now;
    writer->frame = pinfo->num;
    if (writer->looked == SMCR_FIGURE_UNKNOWN) {
        writer->looked = writer->begun = writer->found = now;
        writer->looked_frame = pinfo->num;
        writer->entries = 0;
    }
    bool is_interval = now / interval != writer->begun / interval;
    if (!is_interval && !is_time_to_look(writer, now))
        return;
    look(writer, collection, is_interval);
    forget_old(writer, collection);
    writer->looked = now;
    writer->looked_frame = pinfo->num;
}

/* A wrong option has to end tshark before the first packet, so errors are printed here. The writer
 * lasts as long as the program. */
bool
smcr_lines_begin(const char *argument)
{
    static const smcr_listeners_writer_t hooks = {end_frame, end};
    smcr_lines_options_t options = {.filter = NULL};
    char *error = NULL;

    if (smcr_host_window_ops()) {
        fprintf(stderr, "Couldn't register %s: it is for tshark\n", SMCR_LINES_OPTION);
        return false;
    }
    if (!smcr_lines_options_read(&options, argument + strlen(SMCR_LINES_OPTION)))
        return false;
    line_writer_t *writer = g_new0(line_writer_t, 1); /* it exists until the program ends */
    writer->options = options;
    writer->written = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    forget(writer);
    if (smcr_listeners_of_frames(writer->options.filter, &hooks, writer, &error))
        return true;
    fprintf(stderr, "Couldn't register %s: %s\n", SMCR_LINES_OPTION, error);
    g_free(error);
    return false;
}
