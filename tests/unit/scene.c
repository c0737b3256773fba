/* Fills in what a healthy report has.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "scene.h"

#include <string.h>

#include "report/findings/findings.h"

void
scene_open(scene_t *scene)
{
    memset(scene, 0, sizeof *scene);
    scene->scope = wmem_allocator_new(WMEM_ALLOCATOR_SIMPLE);
    smcr_entry_clear(&scene->report, &smcr_entry_report_description);
}

void
scene_close(scene_t *scene)
{
    wmem_destroy_allocator(scene->scope);
}

smcr_when_t
at(uint32_t frame)
{
    return (smcr_when_t){frame, frame * SECOND / 10};
}

void
notice(scene_t *scene, const char *filter, int severity, uint32_t frame)
{
    g_assert_cmpuint(scene->notice_count, <, MOST_NOTICES);
    scene->notices[scene->notice_count++] = (smcr_figure_notice_t){
        .filter = filter, .severity = severity, .reason = filter, .count = 1, .first = at(frame)};
}

smcr_entry_connection_t *
connection(scene_t *scene)
{
    smcr_figure_list_t *list = &scene->report.connections;
    smcr_entry_connection_t *conn =
        smcr_figure_list_add(list, scene->scope, &smcr_entry_connection_description);

    conn->stream = conn->tcp_stream = list->length - 1;
    conn->client = (smcr_entry_endpoint_t){"10.0.0.1", 46464};
    conn->server = (smcr_entry_endpoint_t){"10.0.0.2", 8080};
    conn->link_group = 0;
    conn->outcome = SMCR_FIGURE_OUTCOME_SMCR;
    conn->began_before = SMCR_FIGURE_NO;
    conn->close = SMCR_FIGURE_CLOSE_NORMAL;
    conn->first_frame = at(1);
    conn->last_frame = at(101);
    return conn;
}

void
wait_for_space(scene_t *scene, smcr_entry_connection_t *conn, uint64_t full, uint64_t reader)
{
    smcr_entry_conn_time_t *up = wmem_new0(scene->scope, smcr_entry_conn_time_t);

    up->buffer_full_s = full;
    up->reader_s = reader;
    up->transfer_s = up->filling_s = SECOND;
    conn->client_to_server.time = up;
    conn->server_to_client.time = wmem_new0(scene->scope, smcr_entry_conn_time_t);
    conn->buffer_bytes.server = 65536;
    smcr_distribution_t *acks = wmem_new(scene->scope, smcr_distribution_t);
    *acks = (smcr_distribution_t){.count = 100, .sum = 100000000, .max = 1000000};
    conn->client_to_server.ack_time_s = acks;
}

void
wait_longest(scene_t *scene, smcr_entry_connection_t *conn, smcr_figure_role_t writer,
             smcr_figure_wait_t kind, uint64_t lasted)
{
    smcr_entry_conn_wait_t *wait = SMCR_FIGURE_ADD(conn_wait, &conn->longest_waits, scene->scope);

    wait->writer = writer;
    wait->kind = kind;
    wait->lasted_s = lasted;
    wait->begin_frame = at(10);
    wait->end_frame = at(30);
}

smcr_entry_rdma_t *
flow(scene_t *scene, const char *src, const char *dst)
{
    smcr_figure_list_t *list = &scene->report.rdma_flows;
    smcr_entry_rdma_t *entry =
        smcr_figure_list_add(list, scene->scope, &smcr_entry_rdma_description);

    entry->index = list->length - 1;
    entry->src = src;
    entry->dst = dst;
    entry->kind = SMCR_FIGURE_FLOW_SMCR;
    entry->packets = 1000;
    entry->first_frame = at(10);
    entry->last_frame = at(100);
    return entry;
}

pair_t
pair(scene_t *scene)
{
    pair_t pair;

    pair.data = flow(scene, "10.0.0.1", "10.0.0.2");
    pair.answers = flow(scene, "10.0.0.2", "10.0.0.1");
    pair.data->peer = pair.answers->index;
    pair.answers->peer = pair.data->index;
    return pair;
}

smcr_entry_link_t *
link_of_group(scene_t *scene, uint64_t number)
{
    smcr_figure_list_t *groups = &scene->report.link_groups;
    smcr_entry_link_group_t *group;
    smcr_entry_link_t *link;

    if (!groups->length)
        smcr_figure_list_add(groups, scene->scope, &smcr_entry_link_group_description);
    group = groups->entries[0];
    group->index = 0;
    link = smcr_figure_list_add(&group->links, scene->scope, &smcr_entry_link_description);
    link->number = number;
    link->state = SMCR_FIGURE_STATUS_ACTIVE;
    return link;
}

void
use_link(scene_t *scene, smcr_entry_connection_t *conn, uint64_t number, uint32_t frame)
{
    smcr_entry_conn_link_t *use =
        smcr_figure_list_add(&conn->links, scene->scope, &smcr_entry_conn_link_description);

    use->number = number;
    use->from_frame = at(frame);
}

void
fall_back(scene_t *scene, uint64_t code, uint32_t frame)
{
    smcr_entry_connection_t *conn = connection(scene);

    conn->outcome = SMCR_FIGURE_OUTCOME_FALLBACK;
    conn->fallback = wmem_new0(scene->scope, smcr_entry_conn_fallback_t);
    *conn->fallback = (smcr_entry_conn_fallback_t){
        .code = code, .by = SMCR_FIGURE_ROLE_SERVER, .frame = at(frame)};
    conn->setup.fallback_s = at(frame).time - conn->first_frame.time;
}

void
lose(smcr_entry_rdma_t *data)
{
    data->repeated = 30;
    data->repeated_after.nak = 20;
    data->repeated_after.timeout = 10;
}

static void
check_entry(const smcr_entry_finding_t *finding)
{
    g_assert_nonnull(finding->text);
    g_assert_true(g_utf8_validate(finding->text, -1, NULL));
    g_assert_cmpstr(finding->text, !=, "");
    g_assert_cmpuint(finding->count, >, 0);
}

char *
scene_find(scene_t *scene)
{
    GString *found = g_string_new(NULL);

    smcr_findings_find(&scene->report, scene->notices, scene->notice_count, scene->scope);
    for (uint32_t i = 0; i < scene->report.findings.length; i++) {
        const smcr_entry_finding_t *finding = scene->report.findings.entries[i];
        check_entry(finding);
        g_string_append_printf(found, "%s%s %s %" G_GUINT64_FORMAT, i ? ", " : "",
                               smcr_figure_severity_words[finding->severity], finding->kind,
                               finding->count);
    }
    return g_string_free(found, FALSE);
}

char *
scene_findings(void (*play)(scene_t *scene))
{
    scene_t scene;

    scene_open(&scene);
    play(&scene);
    char *found = scene_find(&scene);
    scene_close(&scene);
    return found;
}

static void
test_case(gconstpointer data)
{
    const scene_case_t *scene_case = data;
    char *found = scene_findings(scene_case->play);

    g_assert_cmpstr(found, ==, scene_case->found);
    g_free(found);
}

void
scene_add_cases(const char *path, const scene_case_t *cases, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        char *name = g_strdup_printf("%s/%s", path, cases[i].name);
        g_test_add_data_func(name, &cases[i], test_case);
        g_free(name);
    }
}
