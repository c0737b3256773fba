/* What is not said, or said with less weight: what the capture cannot show, and what is rare.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>

#include "scene.h"

/* ---- comparisons of texts, which meson.build lets the linker lead here ---- */

static size_t comparisons;

int __real_strcmp(const char *one, const char *other);
int __wrap_strcmp(const char *one, const char *other);
int __real_g_strcmp0(const char *one, const char *other);
int __wrap_g_strcmp0(const char *one, const char *other);
gboolean __real_g_str_equal(gconstpointer one, gconstpointer other);
gboolean __wrap_g_str_equal(gconstpointer one, gconstpointer other);

int
__wrap_strcmp(const char *one, const char *other)
{
    comparisons++;
    return __real_strcmp(one, other);
}

int
__wrap_g_strcmp0(const char *one, const char *other)
{
    comparisons++;
    return __real_g_strcmp0(one, other);
}

gboolean
__wrap_g_str_equal(gconstpointer one, gconstpointer other)
{
    comparisons++;
    return __real_g_str_equal(one, other);
}

/* ---- scenes ---- */

static smcr_entry_link_t *
link_of(scene_t *scene)
{
    return ((smcr_entry_link_group_t *)scene->report.link_groups.entries[0])->links.entries[0];
}

/* A SEND goes out again and again, on a link that was announced before. */
static void
unanswered(scene_t *scene)
{
    smcr_entry_rdma_t *data = flow(scene, "10.0.0.2", "10.0.1.1");
    smcr_entry_link_t *link = link_of_group(scene, 2);

    data->packets = 39;
    data->repeated = data->repeated_after.unknown = 38;
    link->state = SMCR_FIGURE_STATUS_REJECTED;
    link->added_frame = at(9);
    smcr_figure_numbers_add(&link->flows, scene->scope, 0);
    notice(scene, "smcr.packet_retransmitted", NOTE, 29);
}

static void
announced_late(scene_t *scene)
{
    unanswered(scene);
    link_of(scene)->added_frame = at(10);
}

static void
active(scene_t *scene)
{
    unanswered(scene);
    link_of(scene)->state = SMCR_FIGURE_STATUS_ACTIVE;
}

static void
doubtful_link(scene_t *scene)
{
    unanswered(scene);
    link_of(scene)->state = SMCR_FIGURE_STATUS_UNKNOWN;
}

/* One of the link's connections has nothing to do with whether it came up. */
static void
late_connection(scene_t *scene)
{
    unanswered(scene);
    connection(scene)->began_before = SMCR_FIGURE_YES;
}

/* The same packets, but the link works: the answers are not in the capture. */
static void
one_sided(scene_t *scene)
{
    unanswered(scene);
    smcr_figure_opcodes_count(&((smcr_entry_rdma_t *)scene->report.rdma_flows.entries[0])->opcodes,
                              scene->scope, 17, 1);
}

/* 10.0.0.2 acknowledges what the capture does not have. */
static void
one_direction(scene_t *scene)
{
    smcr_figure_opcodes_count(&flow(scene, "10.0.0.2", "10.0.1.1")->opcodes, scene->scope, 17, 1);
}

/* The same, and each packet is damaged: perhaps only its addresses. */
static void
damaged_direction(scene_t *scene)
{
    smcr_entry_rdma_t *data;

    one_direction(scene);
    data = scene->report.rdma_flows.entries[0];
    data->icrc = wmem_new0(scene->scope, smcr_entry_icrcs_t);
    data->icrc->bad = data->packets;
    notice(scene, "smcr.icrc.bad", ERROR, 19);
}

/* Damaged packets that are in no flow. */
static void
damaged_strays(scene_t *scene)
{
    smcr_figure_list_t *flows = &scene->report.rdma_flows;
    smcr_entry_rdma_t *rest;

    pair(scene);
    rest = smcr_figure_list_add(flows, scene->scope, &smcr_entry_rdma_description);
    flows->length--;
    flows->rest = 1;
    rest->icrc = wmem_new0(scene->scope, smcr_entry_icrcs_t);
    rest->icrc->bad = 4;
    notice(scene, "smcr.icrc.bad", ERROR, 19);
}

/* The filter of the report hides the answers. */
static void
filtered(scene_t *scene)
{
    unanswered(scene);
    connection(scene)->began_before = SMCR_FIGURE_YES;
    pair(scene).data->missing = 7;
    notice(scene, "smcr.packet_ahead", NOTE, 30);
    scene->report.capture.filter = "ip.src == 10.0.0.2";
}

static void
damaged_in_capture(scene_t *scene)
{
    pair_t flows = pair(scene);

    flows.data->icrc = wmem_new0(scene->scope, smcr_entry_icrcs_t);
    flows.data->icrc->bad = 4;
    notice(scene, "smcr.icrc.bad", ERROR, 19);
}

static void
rare_timer(scene_t *scene)
{
    pair_t flows = pair(scene);

    flows.data->packets = 8954;
    flows.data->repeated = flows.data->repeated_after.timeout = 2;
    notice(scene, "smcr.packet_retransmitted", NOTE, 34);
}

/* Two packets were acknowledged twice, and one before its retransmission: all have arrived. */
static void
none_lost(scene_t *scene)
{
    pair_t flows = pair(scene);

    flows.data->packets = 1625;
    flows.data->repeated = 3;
    flows.data->repeated_after.timeout = 1;
    flows.data->repeated_after.unknown = 2;
    flows.data->recovery = wmem_new0(scene->scope, smcr_entry_flow_recovery_t);
    flows.data->recovery->answered_twice = 2;
    flows.data->recovery->needless = 1;
    flows.data->knows_copies = flows.answers->knows_copies = SMCR_FIGURE_YES;
    notice(scene, "smcr.packet_retransmitted", NOTE, 34);
}

static void
silent_and_unread(scene_t *scene)
{
    smcr_entry_connection_t *conn = connection(scene);

    conn->close = SMCR_FIGURE_CLOSE_OPEN;
    conn->server_to_client.unreported_bytes = 1150;
    scene->report.capture.last_time = 300 * SECOND / 10;
}

/* Linux repeats its last DELETE LINK. */
static void
ended(scene_t *scene)
{
    link_of_group(scene, 1)->delete_reason = SMCR_FIGURE_FOR_SMCR_LLC_DELETE_OPERATOR;
    ((smcr_entry_link_group_t *)scene->report.link_groups.entries[0])->ended_frame = at(83);
    notice(scene, "smcr.packet_retransmitted.ended", 0x00200000, 90);
}

enum { FEW_HOSTS = 50, MANY_HOSTS = 3 * FEW_HOSTS };

/* Flows there and back between each of some hosts and each of as many others; nothing has brought
 * them together, and all acknowledge. */
static void
directions(scene_t *scene, unsigned hosts)
{
    for (unsigned i = 0; i < 2 * hosts * hosts; i++) {
        unsigned host = i / 2;
        const char *one = wmem_strdup_printf(scene->scope, "10.1.%u.1", host % hosts);
        const char *other = wmem_strdup_printf(scene->scope, "10.2.%u.1", host / hosts);
        smcr_entry_rdma_t *data = flow(scene, i % 2 ? other : one, i % 2 ? one : other);
        smcr_figure_opcodes_count(&data->opcodes, scene->scope, 17, 1);
    }
}

static void
few_directions(scene_t *scene)
{
    directions(scene, FEW_HOSTS);
}

static void
many_directions(scene_t *scene)
{
    directions(scene, MANY_HOSTS);
}

/* Returns how often texts are compared for the findings, which are none. */
static size_t
cost_of(void (*play)(scene_t *scene))
{
    size_t before = comparisons;
    char *found = scene_findings(play);

    g_assert_cmpstr(found, ==, "");
    g_free(found);
    return comparisons - before;
}

/* It does not look through all flows for each of them: 9 times the flows would then cost 81 times
 * as much. */
static void
test_many_directions(void)
{
    size_t few = cost_of(few_directions), many = cost_of(many_directions);

    g_assert_cmpuint(few, >, FEW_HOSTS * FEW_HOSTS);
    g_assert_cmpuint(many, <, 15 * few);
}

/* ---- cases ---- */

/* `found`: severity and kind of each finding, in their order. */
static const scene_case_t cases[] = {
    {.name = "link without answers", .play = unanswered, .found = "warn link_failed 39"},
    {.name = "link that the capture sees late", .play = announced_late,
     .found = "note not_heard 38"},
    {.name = "link that works", .play = active, .found = "note not_heard 38"},
    {.name = "link of which nobody knows whether it works", .play = doubtful_link,
     .found = "note not_heard 38"},
    {.name = "link of a connection that began before", .play = late_connection,
     .found = "warn link_failed 39, note late_start 1"},
    {.name = "answers that the capture lacks", .play = one_sided,
     .found = "note one_sided 39, note not_heard 38"},
    {.name = "one direction", .play = one_direction, .found = "note one_sided 1000"},
    {.name = "one direction, of damaged packets alone", .play = damaged_direction,
     .found = "error wrong_icrc 1000"},
    {.name = "damaged packets of no flow", .play = damaged_strays, .found = "error wrong_icrc 4"},
    {.name = "answers that a filter hides", .play = filtered, .found = "note repeats 38"},
    {.name = "damaged in the capture", .play = damaged_in_capture, .found = "error wrong_icrc 4"},
    {.name = "two repeats of thousands", .play = rare_timer, .found = "info timeouts 2"},
    {.name = "repeats of what arrived", .play = none_lost, .found = "info answered_twice 3"},
    {.name = "open, silent, and not read", .play = silent_and_unread, .found = "info silent_end 1"},
    {.name = "repeats after the end", .play = ended, .found = "info link_group_ended 1"},
};

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    wmem_init();
    scene_add_cases("/findings/limits", cases, G_N_ELEMENTS(cases));
    g_test_add_func("/findings/limits/many directions", test_many_directions);
    return g_test_run();
}
