/* Packets at several capture points: which are copies, what happened to each between the points and
 * after the last one.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "points/points.h"

#define MS UINT64_C(1000000) /* nanoseconds */
#define BEGIN UINT64_C(1700000000000000000)
#define DELAY (MS / 10) /* from point A to point B */
#define WARM 20         /* packets before those of a case, each acknowledged */
#define MAX_STEPS 16
#define ACK_SYNDROME 0x1f
#define NAK_SYNDROME 0x60
#define CE 3
#define OTHER_DSCP 0x68

/* Rows name only what is not zero. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

/* What is sent. SEND is a request from A's side to B's, ACK and NAK come back. */
typedef enum { END, SEND, ACK, NAK } what_t;

/* Which points have it. */
typedef enum { BOTH, ONLY_A, ONLY_B } where_t;

typedef struct {
    what_t what;
    int32_t psn;    /* counted from the first one after the warming up */
    where_t where;
    enum smcr_verdict verdict;
    unsigned after; /* milliseconds since the step before; 0: 1 */
    unsigned late;  /* further delay between the points, milliseconds */
    bool marked;    /* point B has it with CE */
    bool reclassed; /* point B has it with another DSCP */
    bool divided;   /* point B has it in IP fragments */
    bool damaged;   /* point B has it with a wrong ICRC */
    bool unchecked; /* nobody has checked its ICRC at point A */
    bool spoiled;   /* point B has it with a wrong ICRC and another opcode */
    bool unasked;   /* a SEND that asks for no acknowledgement */
    bool same_id;   /* its IPv4 identification is that of the step before */
} step_t;

typedef struct {
    const char *name;
    step_t steps[MAX_STEPS];
} points_case_t;

static const points_case_t cases[] = {
    {"all at both points", {{SEND, 0}, {SEND, 1}, {ACK, 1}}},
    {"lost between, NAK",
     {{SEND, 0, ONLY_A, SMCR_VERDICT_LOST}, {SEND, 1}, {NAK, 0, .after = 3},
      {SEND, 0, .after = 2}, {SEND, 1}, {ACK, 1, .after = 3}}},
    {"lost between, timeout",
     {{SEND, 0, ONLY_A, SMCR_VERDICT_LOST}, {SEND, 0, .after = 300}, {ACK, 0, .after = 3}}},
    {"NAK, acknowledged without a retransmission",
     {{SEND, 1}, {SEND, 0, ONLY_A, SMCR_VERDICT_UNDECIDED, .after = 4}, {SEND, 1},
      {NAK, 0, .after = 3}, {ACK, 1, .after = 3}}},
    {"lost after, NAK",
     {{SEND, 0, .verdict = SMCR_VERDICT_LOST_AFTER}, {SEND, 1}, {NAK, 0, .after = 3},
      {SEND, 0, .after = 2}, {SEND, 1}, {ACK, 1, .after = 3}}},
    {"lost after, NAK, more PSNs under way than are kept",
     {{SEND, 0}, {SEND, 1, .verdict = SMCR_VERDICT_LOST_AFTER},
      {SEND, 16384, ONLY_A, SMCR_VERDICT_NOT_CAPTURED}, {NAK, 1, .after = 3},
      {SEND, 1, .after = 2}, {ACK, 16384, .after = 3}}},
    {"lost after, timeout",
     {{SEND, 0, .verdict = SMCR_VERDICT_UNANSWERED}, {SEND, 0, .after = 300},
      {ACK, 0, .after = 3}}},
    {"one of two lost after, timeout",
     {{SEND, 0}, {SEND, 1, .verdict = SMCR_VERDICT_UNDECIDED}, {SEND, 0, .after = 300},
      {SEND, 1}, {ACK, 1, .after = 3}}},
    {"two acknowledgements after a timeout",
     {{SEND, 0}, {SEND, 0, .after = 300}, {ACK, 0, .after = 3}, {ACK, 0}}},
    {"acknowledgement late, after a timeout",
     {{SEND, 0}, {SEND, 0, .after = 300}, {ACK, 0, .after = 1}}},
    {"no acknowledgement was asked for",
     {{SEND, 0, .unasked = true}, {SEND, 0, .after = 300}, {ACK, 0, .after = 3}}},
    {"not captured at B, dead receiver",
     {{SEND, 0, ONLY_A, SMCR_VERDICT_UNDECIDED}, {SEND, 0, .after = 300}, {SEND, 0, .after = 300}}},
    {"lost between, and the receiver answers the second retransmission",
     {{SEND, 0, ONLY_A, SMCR_VERDICT_LOST},
      {SEND, 0, .verdict = SMCR_VERDICT_UNANSWERED, .after = 300}, {SEND, 0, .after = 300},
      {ACK, 0, .after = 3}}},
    {"lost between, and nothing comes to B any more",
     {{SEND, 0, ONLY_A, SMCR_VERDICT_LOST}, {SEND, 0, ONLY_A, SMCR_VERDICT_LOST, .after = 300},
      {SEND, 0, ONLY_A, SMCR_VERDICT_LOST, .after = 300},
      {SEND, 0, ONLY_A, SMCR_VERDICT_LOST, .after = 300}}},
    {"lost between, silent receiver",
     {{SEND, 0, .unasked = true}, {SEND, 1, ONLY_A, SMCR_VERDICT_LOST}, {SEND, 2}, {SEND, 3},
      {SEND, 0, .after = 300}, {SEND, 1}, {SEND, 2}, {SEND, 3}, {ACK, 3, .after = 3}}},
    {"not captured at B, and one acknowledgement less",
     {{SEND, 0, .unasked = true}, {SEND, 1, ONLY_A, SMCR_VERDICT_UNDECIDED}, {SEND, 2},
      {SEND, 0, .after = 300}, {SEND, 1}, {SEND, 2}, {ACK, 2, .after = 3}}},
    {"second retransmission lost after",
     {{SEND, 0, .verdict = SMCR_VERDICT_LOST_AFTER}, {SEND, 1}, {NAK, 0, .after = 3},
      {SEND, 0, .verdict = SMCR_VERDICT_UNANSWERED, .after = 2}, {SEND, 0, .after = 300},
      {ACK, 0, .after = 3}}},
    {"not captured at B", {{SEND, 0, ONLY_A, SMCR_VERDICT_NOT_CAPTURED}, {ACK, 0, .after = 3}}},
    {"not captured at A", {{SEND, 0, ONLY_B, SMCR_VERDICT_NOT_CAPTURED}, {ACK, 0, .after = 3}}},
    {"nothing shows what became of it",
     {{SEND, 0, ONLY_A, SMCR_VERDICT_UNDECIDED}, {ACK, -1, .after = 3}}},
    {"acknowledgement lost between",
     {{SEND, 0}, {ACK, 0, ONLY_B, SMCR_VERDICT_LOST, .after = 3}, {SEND, 0, .after = 300},
      {ACK, 0, .after = 3}}},
    {"acknowledgement lost after",
     {{SEND, 0}, {ACK, 0, .verdict = SMCR_VERDICT_LOST_AFTER, .after = 3},
      {SEND, 0, .after = 300}, {ACK, 0, .after = 3}}},
    {"NAK answered at once",
     {{SEND, 0, ONLY_A, SMCR_VERDICT_LOST}, {SEND, 1},
      {NAK, 0, ONLY_B, SMCR_VERDICT_NOT_CAPTURED, .after = 3}, {SEND, 0}, {SEND, 1},
      {ACK, 1, .after = 3}}},
    {"NAK lost, or answered by the timer only",
     {{SEND, 0, ONLY_A, SMCR_VERDICT_LOST}, {SEND, 1},
      {NAK, 0, ONLY_B, SMCR_VERDICT_UNDECIDED, .after = 3}, {SEND, 0, .after = 300}, {SEND, 1},
      {ACK, 1, .after = 3}}},
    {"acknowledgement replaced by a later one",
     {{SEND, 0}, {SEND, 1}, {ACK, 0, ONLY_B, SMCR_VERDICT_UNDECIDED, .after = 3}, {ACK, 1}}},
    {"held back",
     {{SEND, 0, .verdict = SMCR_VERDICT_REORDERED, .late = 4}, {SEND, 1}, {ACK, 1, .after = 9}}},
    {"held back, NAK",
     {{SEND, 0, .verdict = SMCR_VERDICT_REORDERED, .late = 4}, {SEND, 1}, {NAK, 0, .after = 6},
      {SEND, 0}, {SEND, 1}, {ACK, 1, .after = 3}}},
    {"held back, and a NAK on its way meanwhile",
     {{SEND, 0, .verdict = SMCR_VERDICT_LOST_AFTER}, {SEND, 1}, {SEND, 2}, {NAK, 0, .after = 3},
      {SEND, 0}, {SEND, 1, .verdict = SMCR_VERDICT_REORDERED, .late = 4}, {SEND, 2},
      {NAK, 1, .after = 2}, {SEND, 1, .after = 2}, {SEND, 2}, {ACK, 2, .after = 3}}},
    {"discarded after a packet that was held back",
     {{SEND, 0, .verdict = SMCR_VERDICT_REORDERED, .late = 4}, {SEND, 1}, {NAK, 0, .after = 6},
      {SEND, 2}, {NAK, 1, .after = 3}, {SEND, 1}, {SEND, 2}, {ACK, 2, .after = 3}}},
    {"marked", {{SEND, 0, .marked = true, .verdict = SMCR_VERDICT_MARKED}, {ACK, 0, .after = 3}}},
    {"another DSCP",
     {{SEND, 0, .reclassed = true, .verdict = SMCR_VERDICT_DSCP_CHANGED}, {ACK, 0, .after = 3}}},
    {"fragmented",
     {{SEND, 0, .divided = true, .verdict = SMCR_VERDICT_FRAGMENTED}, {ACK, 0, .after = 3}}},
    {"damaged, timeout",
     {{SEND, 0, .damaged = true, .verdict = SMCR_VERDICT_DAMAGED}, {SEND, 0, .after = 300},
      {ACK, 0, .after = 3}}},
    {"damaged, NAK",
     {{SEND, 0, .damaged = true, .verdict = SMCR_VERDICT_DAMAGED}, {SEND, 1},
      {NAK, 0, .after = 3}, {SEND, 0, .after = 2}, {SEND, 1}, {ACK, 1, .after = 3}}},
    {"damaged, no answer", {{SEND, 0, .damaged = true, .verdict = SMCR_VERDICT_DAMAGED}}},
    {"damaged, perhaps before A", {{SEND, 0, .damaged = true, .unchecked = true}, {SEND, 1}}},
    {"damaged with its headers",
     {{SEND, 0, .spoiled = true, .verdict = SMCR_VERDICT_DAMAGED}, {SEND, 0, .after = 300},
      {ACK, 0, .after = 3}}},
    {"damaged, and its retransmission, with equal identifications",
     {{SEND, 0, .damaged = true, .verdict = SMCR_VERDICT_DAMAGED},
      {SEND, 0, .damaged = true, .verdict = SMCR_VERDICT_DAMAGED, .after = 300, .same_id = true},
      {SEND, 0, .after = 300, .same_id = true}, {ACK, 0, .after = 3}}},
    {"a wrong ICRC of a packet that was acknowledged",
     {{SEND, 0, .damaged = true}, {ACK, 0, .after = 3}}},
    {"delayed", {{SEND, 0, .verdict = SMCR_VERDICT_DELAYED, .late = 4}, {ACK, 0, .after = 9}}},
    {"equal PSNs after a wrap",
     {{SEND, 0, ONLY_A, SMCR_VERDICT_NOT_CAPTURED}, {ACK, 0, .after = 3},
      {SEND, 5000000, .same_id = true}, {SEND, 10000000, .same_id = true},
      {SEND, 15000000, .same_id = true}, {ACK, 15000000, .after = 3},
      {SEND, 0x1000000, .after = 60000}, {ACK, 0x1000000, .after = 3}}},
    {"equal identifications",
     {{SEND, 0, ONLY_A, SMCR_VERDICT_LOST}, {SEND, 0, .after = 300, .same_id = true},
      {ACK, 0, .after = 3}}},
};

/* A packet that one of the points has. */
typedef struct {
    uint64_t time;
    smcr_points_place_t place;
    smcr_ib_headers_t roce;
    unsigned step; /* number of the step, from 0 */
} packet_t;

typedef struct {
    smcr_points_t *points;
    wmem_allocator_t *scope;
    packet_t packets[2 * (4 * WARM + MAX_STEPS)];
    unsigned count;
    uint16_t id;
    smcr_points_place_t place[2]; /* the points */
    smcr_ib_network_t network[2]; /* in which network each point shows the packets */
    uint8_t routers;              /* number of routers between the points */
    bool at_once;                 /* both points show a packet at the same time */
    what_t silent[2];             /* packets that each point does not show */
    uint32_t queue_pair;          /* A's queue pair is 17 plus this, B's 1235 plus this */
} scene_t;

static const uint8_t gids[2][SMCR_GID_LENGTH] = {{[10] = 0xff, 0xff, 10, 0, 0, 1},
                                                 {[10] = 0xff, 0xff, 10, 0, 0, 2}};

/* Returns the headers of a step. PSNs begin right before the wrap. */
static smcr_ib_headers_t
headers_of(scene_t *scene, const step_t *step)
{
    bool back = step->what != SEND;
    smcr_ib_headers_t roce = {
        .opcode = back ? SMCR_RC_ACK : SMCR_RC_SEND_ONLY,
        .psn = (0xfffff0 + WARM + (uint32_t)step->psn) & 0xffffff,
        .ip_id = step->same_id ? scene->id : ++scene->id,
        .asks_ack = !back && !step->unasked,
        .has_aeth = back,
        .syndrome = step->what == NAK ? NAK_SYNDROME : ACK_SYNDROME,
        .traffic_class = 2,
    };

    memcpy(roce.source, gids[back], sizeof roce.source);
    memcpy(roce.destination.gid, gids[!back], sizeof roce.destination.gid);
    roce.destination.qpn = (back ? 17 : 1235) + scene->queue_pair;
    return roce;
}

/* Adds a step, sent at `time`, at the points that have it. */
static void
add_step(scene_t *scene, const step_t *step, uint64_t time, unsigned number)
{
    smcr_ib_headers_t roce = headers_of(scene, step);
    bool back = step->what != SEND;

    for (unsigned point = 0; point < 2; point++) {
        bool is_far = point != back;
        if (step->where == (point ? ONLY_A : ONLY_B) || step->what == scene->silent[point])
            continue;
        packet_t *packet = &scene->packets[scene->count++];
        *packet = (packet_t){time, scene->place[point], roce, number};
        packet->roce.outer.network = scene->network[point];
        packet->roce.hop_limit = 64 - (is_far ? scene->routers : 0);
        packet->time += is_far ? step->late * MS : 0;
        if (!scene->at_once) {
            packet->time += is_far ? DELAY : 0;
            packet->time += (scene->count * 37 % 11) * 1000; /* some jitter */
        }
        packet->roce.traffic_class = is_far && step->marked ? CE : 2;
        packet->roce.traffic_class |= is_far && step->reclassed ? OTHER_DSCP : 0;
        packet->roce.was_fragmented = is_far && step->divided;
        packet->roce.has_bad_icrc = is_far && (step->damaged || step->spoiled);
        packet->roce.icrc =
            1 + (packet->roce.has_bad_icrc ? SMCR_IB_ICRC_BAD : SMCR_IB_ICRC_GOOD);
        if (step->unchecked && !is_far)
            packet->roce.icrc = 0;
        packet->roce.opcode ^= is_far && step->spoiled ? 1 : 0;
    }
}

static int
compare_packets(const void *one, const void *other)
{
    const packet_t *a = one, *b = other;

    return a->time < b->time ? -1 : a->time > b->time;
}

/* Has the points take all packets in the order of time. */
static void
take_all(scene_t *scene)
{
    qsort(scene->packets, scene->count, sizeof *scene->packets, compare_packets);
    for (unsigned i = 0; i < scene->count; i++) {
        smcr_points_packet_t packet = {{i + 1, scene->packets[i].time},
                                       scene->packets[i].place, &scene->packets[i].roce};
        if (scene->packets[i].roce.has_bad_icrc)
            smcr_points_take_damaged(scene->points, &packet);
        else
            smcr_points_take(scene->points, &packet);
        uint32_t qpn = scene->packets[i].roce.destination.qpn;
        smcr_points_know(scene->points, i + 1, qpn < 1235 ? qpn + 1218 : qpn - 1218);
    }
}

static void
begin(scene_t *scene, const uint32_t *list, uint32_t count)
{
    *scene = (scene_t){
        .scope = wmem_allocator_new(WMEM_ALLOCATOR_SIMPLE),
        .place = {{0, 0}, {1, 0}},
    };
    scene->points = smcr_points_new(scene->scope, list, count);
}

static void
end(scene_t *scene)
{
    wmem_destroy_allocator(scene->scope);
}

/* Adds WARM packets, each with an acknowledgement 3 ms later. Returns the time after them. */
static uint64_t
warm_up(scene_t *scene)
{
    uint64_t time = BEGIN;

    for (unsigned i = 0; i < WARM; i++) {
        add_step(scene, &(step_t){SEND, (int)i - WARM}, time += MS, UINT_MAX);
        add_step(scene, &(step_t){ACK, (int)i - WARM}, time += 3 * MS, UINT_MAX);
    }
    return time;
}

/* Adds a case to the scene after a warming up, and checks the verdict on each of its steps. */
static void
check_verdicts(scene_t *scene, const points_case_t *row)
{
    uint64_t time = warm_up(scene);

    for (unsigned i = 0; row->steps[i].what; i++) {
        time += (row->steps[i].after ? row->steps[i].after : 1) * MS;
        add_step(scene, &row->steps[i], time, i);
    }
    add_step(scene, &(step_t){SEND, 100}, time + 900 * MS, UINT_MAX); /* both still capture */
    add_step(scene, &(step_t){ACK, -1}, time + 902 * MS, UINT_MAX);
    take_all(scene);
    smcr_points_compare(scene->points);
    enum smcr_verdict found[MAX_STEPS] = {0};
    for (unsigned i = 0; i < scene->count; i++) {
        smcr_points_note_t note;
        g_assert_true(smcr_points_note(scene->points, i + 1, &note));
        if (scene->packets[i].step != UINT_MAX)
            found[scene->packets[i].step] = MAX(found[scene->packets[i].step], note.verdict);
    }
    for (unsigned i = 0; row->steps[i].what; i++)
        g_assert_cmpint(found[i], ==, row->steps[i].verdict);
}

static void
test_verdicts(const void *data)
{
    scene_t scene;

    begin(&scene, NULL, 0);
    check_verdicts(&scene, data);
    end(&scene);
}

/* No time shows the order of the points, and the point after the losses comes first: the losses
 * show the order, whether a NAK asks for what was lost or not. */
static void
test_order_by_losses(void)
{
    static const uint32_t list[] = {1, 0};
    static const points_case_t rows[] = {
        {"outage",
         {{SEND, 0, ONLY_A, SMCR_VERDICT_LOST}, {SEND, 1, ONLY_A, SMCR_VERDICT_LOST},
          {SEND, 0, ONLY_A, SMCR_VERDICT_LOST, .after = 70}, {SEND, 1, ONLY_A, SMCR_VERDICT_LOST},
          {SEND, 0, .after = 70}, {SEND, 1}, {ACK, 1, .after = 3}}},
        {"NAK",
         {{SEND, 0, ONLY_A, SMCR_VERDICT_LOST}, {SEND, 1}, {NAK, 0, .after = 3},
          {SEND, 0, .after = 2}, {SEND, 1}, {ACK, 1, .after = 3}}},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        scene_t scene;
        begin(&scene, list, 2);
        scene.at_once = true;
        check_verdicts(&scene, &rows[i]);
        end(&scene);
    }
}

/* The figures of a segment: its points in the order of way 0, its clock, its delays. */
static void
test_segment(void)
{
    scene_t scene;
    uint32_t count;

    begin(&scene, NULL, 0);
    warm_up(&scene);
    take_all(&scene);
    smcr_points_compare(scene.points);
    const smcr_points_segment_t *segment = smcr_points_segments(scene.points, &count);
    g_assert_cmpuint(count, ==, 1);
    g_assert_cmpuint(segment->place[0].interface, ==, 0);
    g_assert_cmpuint(segment->place[1].interface, ==, 1);
    g_assert_true(segment->order_known && segment->clock_agrees && segment->clock.is_bounded);
    g_assert_cmpint(segment->clock.lowest, <=, 0);
    g_assert_cmpint(segment->clock.highest, >=, 0);
    for (unsigned way = 0; way < 2; way++) {
        int64_t wrong = segment->way[way].delay.median - (int64_t)DELAY;
        g_assert_cmpuint(segment->way[way].packets, ==, WARM);
        g_assert_cmpuint(segment->way[way].at_both, ==, WARM);
        g_assert_cmpint(ABS(wrong), <=, segment->clock.error + 11000);
    }
    end(&scene);
}

/* Each transmission counts at one point; with a list, at the first point of the list. */
static void
test_copies(void)
{
    static const uint32_t lists[][2] = {{0, 1}, {1, 0}};

    for (unsigned i = 0; i < 3; i++) {
        scene_t scene;
        unsigned counted[2] = {0, 0};
        begin(&scene, i ? lists[i - 1] : NULL, i ? 2 : 0);
        warm_up(&scene);
        take_all(&scene);
        for (unsigned k = 0; k < scene.count; k++)
            counted[scene.packets[k].place.interface] += !smcr_points_is_copy(scene.points, k + 1);
        g_assert_cmpuint(counted[0] + counted[1], ==, 2 * WARM);
        smcr_points_packet_t unlisted = {{scene.count + 1, BEGIN}, {2, 0}, &scene.packets[0].roce};
        if (i) /* interface 2 is no point */
            g_assert_false(smcr_points_take_damaged(scene.points, &unlisted));
        if (i) /* the first packet may come before the preferred point has shown the path */
            g_assert_cmpuint(counted[lists[i - 1][0]], >=, 2 * WARM - 1);
        end(&scene);
    }
}

typedef struct {
    unsigned count;
    uint64_t least, most; /* times of the delays */
} delays_t;

static void
take_delay(void *context, smcr_when_t when, int64_t delay)
{
    delays_t *delays = context;

    (void)delay;
    delays->least = delays->count ? MIN(delays->least, when.time) : when.time;
    delays->most = MAX(delays->most, when.time);
    delays->count++;
}

/* The clock of B is far ahead of A's. The packets count at B, except for the first one, which comes
 * before the state knows that B is on its path. All times of a series are by one clock. */
static void
test_delays_have_one_clock(void)
{
    static const uint32_t list[] = {1, 0};
    const uint64_t ahead = 3600 * 1000 * MS;
    scene_t scene;
    delays_t delays[2] = {{0}};
    bool first_counts_at_a = false;

    begin(&scene, list, 2);
    warm_up(&scene);
    qsort(scene.packets, scene.count, sizeof *scene.packets, compare_packets);
    for (unsigned i = 0; i < scene.count; i++) {
        bool is_at_b = scene.packets[i].place.interface == 1;
        smcr_points_packet_t packet = {{i + 1, scene.packets[i].time + (is_at_b ? ahead : 0)},
                                       scene.packets[i].place, &scene.packets[i].roce};
        smcr_points_take(scene.points, &packet);
        first_counts_at_a |= !is_at_b && !smcr_points_is_copy(scene.points, i + 1);
        uint32_t qpn = scene.packets[i].roce.destination.qpn;
        smcr_points_know(scene.points, i + 1, qpn < 1235 ? qpn + 1218 : qpn - 1218);
    }
    smcr_points_compare(scene.points);
    g_assert_true(first_counts_at_a);
    for (unsigned way = 0; way < 2; way++) {
        smcr_points_delays(scene.points, 0, way, take_delay, &delays[way]);
        g_assert_cmpuint(delays[way].count, ==, WARM);
        g_assert_cmpuint(delays[way].most - delays[way].least, <, ahead);
    }
    end(&scene);
}

/* ---- networks ---- */

#define TUNNEL SMCR_IB_TUNNEL_VXLAN

typedef struct {
    const char *name;
    smcr_ib_network_t network[2]; /* network at each point */
    uint8_t routers;              /* between the points */
    unsigned segments;            /* how many are found */
} network_case_t;

static const network_case_t network_cases[] = {
    {"one VLAN", {{.vlan = 10}, {.vlan = 10}}, 0, 1},
    {"a VLAN tag at one point", {{.vlan = 0}, {.vlan = 10}}, 0, 1},
    {"another VLAN after a router", {{.vlan = 10}, {.vlan = 20}}, 1, 1},
    {"two VLANs without a router", {{.vlan = 10}, {.vlan = 20}}, 0, 0},
    {"inside and outside a tunnel", {{.tunnel = 0}, {7, TUNNEL}}, 0, 1},
    {"two tunnels", {{7, TUNNEL}, {8, TUNNEL}}, 0, 0},
    {"two VLANs in one tunnel", {{7, TUNNEL, .vlan = 1}, {7, TUNNEL, .vlan = 2}}, 0, 0},
};

/* Equal addresses, queue pairs and identifications in two networks are copies only if a bridge, a
 * router or the end of a tunnel may be between them. */
static void
test_networks(const void *data)
{
    const network_case_t *row = data;
    scene_t scene;
    uint32_t count, copies = 0;

    begin(&scene, NULL, 0);
    memcpy(scene.network, row->network, sizeof scene.network);
    scene.routers = row->routers;
    warm_up(&scene);
    take_all(&scene);
    smcr_points_compare(scene.points);
    smcr_points_segments(scene.points, &count);
    g_assert_cmpuint(count, ==, row->segments);
    for (unsigned i = 0; i < scene.count; i++)
        copies += smcr_points_is_copy(scene.points, i + 1);
    g_assert_cmpuint(copies, ==, row->segments ? 2 * WARM : 0);
    end(&scene);
}

/* Two tenants with the same addresses, queue pairs, PSNs and identifications, in two VLANs that
 * both points show: two paths, and each packet is at both points of its own path. */
static void
test_two_tenants(void)
{
    scene_t scene;
    uint32_t count;

    begin(&scene, NULL, 0);
    for (unsigned tenant = 0; tenant < 2; tenant++) {
        scene.id = 0;
        scene.network[0].vlan = scene.network[1].vlan = tenant ? 20 : 10;
        warm_up(&scene);
    }
    take_all(&scene);
    smcr_points_compare(scene.points);
    const smcr_points_segment_t *segments = smcr_points_segments(scene.points, &count);
    g_assert_cmpuint(count, ==, 2);
    for (unsigned i = 0; i < 2 * count; i++) {
        const smcr_points_way_t *way = &segments[i / 2].way[i % 2];
        g_assert_cmpuint(way->packets, ==, WARM);
        g_assert_cmpuint(way->at_both, ==, WARM);
    }
    end(&scene);
}

/* A point that shows one direction only: the other one counts where it is shown, and is not
 * compared. */
static void
test_one_direction(void)
{
    scene_t scene;
    uint32_t count, counted[2] = {0, 0};

    begin(&scene, NULL, 0);
    scene.silent[0] = ACK;
    warm_up(&scene);
    take_all(&scene);
    smcr_points_compare(scene.points);
    const smcr_points_segment_t *segment = smcr_points_segments(scene.points, &count);
    for (unsigned i = 0; i < scene.count; i++)
        counted[scene.packets[i].roce.has_aeth] += !smcr_points_is_copy(scene.points, i + 1);
    g_assert_cmpuint(counted[0], ==, WARM);
    g_assert_cmpuint(counted[1], ==, WARM);
    g_assert_cmpuint(count, ==, 1);
    g_assert_cmpuint(segment->way[0].at_both, ==, WARM);
    g_assert_cmpuint(segment->way[1].packets, ==, 0);
    end(&scene);
}

/* A bond at A: one link shows one queue pair, the other one another queue pair. B shows both. Each
 * packet counts once, and none counts as not captured. Without the second link, its queue pair
 * counts at B. */
static void
test_bond(void)
{
    for (unsigned links = 1; links <= 2; links++) {
        scene_t scene;
        uint32_t count, counted = 0;
        begin(&scene, NULL, 0);
        for (unsigned pair = 0; pair < 2; pair++) {
            scene.place[0].interface = pair ? 2 : 0;
            scene.queue_pair = pair;
            warm_up(&scene);
        }
        for (unsigned i = 0; links == 1 && i < scene.count; i++)
            if (scene.packets[i].place.interface == 2)
                scene.packets[i--] = scene.packets[--scene.count];
        take_all(&scene);
        smcr_points_compare(scene.points);
        const smcr_points_segment_t *segment = smcr_points_segments(scene.points, &count);
        for (unsigned i = 0; i < scene.count; i++)
            counted += !smcr_points_is_copy(scene.points, i + 1);
        g_assert_cmpuint(counted, ==, 4 * WARM);
        g_assert_cmpuint(count, ==, 1);
        for (unsigned way = 0; way < 2; way++) {
            g_assert_cmpuint(segment->way[way].packets, ==, segment->way[way].at_both);
            g_assert_cmpuint(segment->way[way].verdicts[SMCR_VERDICT_NOT_CAPTURED], ==, 0);
        }
        end(&scene);
    }
}

/* The adapter gives no identifications. A router lies before the third point. Long after the
 * packet, the second point shows an equal one: with a hop limit of its own it is a copy, with that
 * of the first point it may be a retransmission over another interface, though its hop
 * limit is not that of the last packet. */
static void
test_hop_limits(void)
{
    static const struct {
        uint8_t hop_limit; /* of the packet at the second point */
        bool is_copy;
    } rows[] = {{62, true}, {64, false}};

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        const uint8_t hop_limits[] = {64, 63, rows[i].hop_limit};
        const bool are_copies[] = {false, true, rows[i].is_copy};
        const uint32_t interfaces[] = {0, 2, 1};
        scene_t scene;
        begin(&scene, NULL, 0);
        smcr_ib_headers_t roce = headers_of(&scene, &(step_t){SEND, 0});
        roce.ip_id = 0;
        for (uint32_t nth = 0; nth < G_N_ELEMENTS(interfaces); nth++) {
            roce.hop_limit = hop_limits[nth];
            smcr_points_packet_t packet = {{nth + 1, BEGIN + (nth == 2 ? 300 * MS : nth * DELAY)},
                                           {interfaces[nth], 0}, &roce};
            g_assert_cmpint(smcr_points_take(scene.points, &packet), ==, are_copies[nth]);
        }
        end(&scene);
    }
}

/* Two devices of one Linux cooked capture have one clock: delays are exact. */
static void
test_one_clock(void)
{
    scene_t scene;
    uint32_t count;

    begin(&scene, NULL, 0);
    scene.place[0].device = 2;
    scene.place[1] = (smcr_points_place_t){0, 3};
    warm_up(&scene);
    take_all(&scene);
    smcr_points_compare(scene.points);
    const smcr_points_segment_t *segment = smcr_points_segments(scene.points, &count);
    g_assert_cmpuint(count, ==, 1);
    g_assert_cmpuint(segment->place[0].device, ==, 2);
    g_assert_cmpuint(segment->place[1].device, ==, 3);
    g_assert_true(segment->order_known && segment->clock_agrees && segment->clock.is_bounded);
    g_assert_cmpint(segment->clock.lowest, ==, 0);
    g_assert_cmpint(segment->clock.highest, ==, 0);
    for (unsigned way = 0; way < 2; way++)
        g_assert_cmpint(ABS(segment->way[way].delay.median - (int64_t)DELAY), <=, 11000);
    end(&scene);
}

/* Interfaces that share no packet are no points of a path: all packets count. */
static void
test_other_traffic(void)
{
    scene_t scene;
    uint32_t count;

    begin(&scene, NULL, 0);
    for (int i = 0; i < 2 * WARM; i++)
        add_step(&scene, &(step_t){SEND, i - WARM, i % 2 ? ONLY_A : ONLY_B},
                 BEGIN + (unsigned)i * MS, 0);
    take_all(&scene);
    for (unsigned i = 0; i < scene.count; i++)
        g_assert_false(smcr_points_is_copy(scene.points, i + 1));
    smcr_points_compare(scene.points);
    smcr_points_segments(scene.points, &count);
    g_assert_cmpuint(count, ==, 0);
    end(&scene);
}

/* Adds equal packets without an identification, the four of each burst first at the second point
 * and then at the first one, 16 in all. Returns the number of segments. `last`: number of packets
 * that the second point shows once more, after the others. */
static uint32_t
segments_in_turn(unsigned last)
{
    scene_t scene;
    uint32_t count, frame = 1;

    begin(&scene, NULL, 0);
    smcr_ib_headers_t roce = headers_of(&scene, &(step_t){SEND, -1});
    roce.source[SMCR_GID_LENGTH - 1] = 9; /* another path, so that the first point is known */
    smcr_points_packet_t packet = {{frame, BEGIN}, {0}, &roce};
    smcr_points_take(scene.points, &packet);
    for (int i = 0; i < 32 + (int)last; i++) {
        roce = headers_of(&scene, &(step_t){SEND, i < 32 ? i / 8 * 4 + i % 4 : i});
        roce.ip_id = 0;
        packet = (smcr_points_packet_t){{++frame, BEGIN + (uint64_t)i * 1000},
                                        {i < 32 ? i / 4 % 2 == 0 : 1}, &roce};
        smcr_points_take(scene.points, &packet);
        smcr_points_know(scene.points, frame, 17);
    }
    smcr_points_compare(scene.points);
    smcr_points_segments(scene.points, &count);
    end(&scene);
    return count;
}

/* Equal packets that nothing tells apart from retransmissions over another link: the two interfaces
 * are points of one path if they show packets in turn, with eight changes. The first packet of the
 * path is no change. */
static void
test_turns(void)
{
    g_assert_cmpuint(segments_in_turn(0), ==, 0); /* 7 changes */
    g_assert_cmpuint(segments_in_turn(1), ==, 1);
}

/* Many equal packets do not make the search slow, and none is lost. */
static void
test_many_equal(void)
{
    scene_t scene;
    uint32_t count;
    smcr_ib_headers_t roce;

    begin(&scene, NULL, 0);
    roce = headers_of(&scene, &(step_t){SEND});
    for (uint32_t i = 0; i < 100000; i++) {
        smcr_points_packet_t packet = {{i + 1, BEGIN + i * 1000}, {i % 2}, &roce};
        g_assert_cmpint(smcr_points_take(scene.points, &packet), ==, i % 2);
        smcr_points_know(scene.points, i + 1, 17);
    }
    smcr_points_compare(scene.points);
    const smcr_points_segment_t *segment = smcr_points_segments(scene.points, &count);
    g_assert_cmpuint(count, <=, 1);
    if (count)
        g_assert_cmpuint(segment->way[0].verdicts[SMCR_VERDICT_LOST], ==, 0);
    end(&scene);
}

/* One point shows both sides of NAT, so each of two connections looks like a copy of the other
 * one. */
static void
test_copies_of_each_other(void)
{
    scene_t scene;
    smcr_points_tcp_t tcp = {.length = 100, .flags = SMCR_POINTS_TCP_ACK};
    smcr_points_tcp_segment_t segments[2];

    begin(&scene, NULL, 0);
    for (uint32_t i = 0; i < 2; i++) {
        segments[i] = (smcr_points_tcp_segment_t){
            .when = {i + 1, BEGIN + i * 1000}, .gid = {{0, [15] = 1}, {0, [15] = 2}},
            .port = (uint16_t)(40000 + i), .connection = i + 1, .tcp = &tcp};
        smcr_points_take_plain(scene.points);
        g_assert_true(smcr_points_take_tcp(scene.points, &segments[i]));
    }
    smcr_points_join_tcp(scene.points, &segments[1], &segments[0]);
    smcr_points_join_tcp(scene.points, &segments[0], &segments[1]);
    smcr_points_compare(scene.points); /* ends */
    end(&scene);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/points/segment", test_segment);
    g_test_add_func("/points/order by losses", test_order_by_losses);
    g_test_add_func("/points/copies", test_copies);
    g_test_add_func("/points/delays-have-one-clock", test_delays_have_one_clock);
    g_test_add_func("/points/other traffic", test_other_traffic);
    g_test_add_func("/points/many equal", test_many_equal);
    g_test_add_func("/points/two tenants", test_two_tenants);
    g_test_add_func("/points/one direction", test_one_direction);
    g_test_add_func("/points/bond", test_bond);
    g_test_add_func("/points/hop limits", test_hop_limits);
    g_test_add_func("/points/one clock", test_one_clock);
    g_test_add_func("/points/turns", test_turns);
    g_test_add_func("/points/copies of each other", test_copies_of_each_other);
    for (unsigned i = 0; i < G_N_ELEMENTS(network_cases); i++) {
        char *path = g_strdup_printf("/points/network/%s", network_cases[i].name);
        g_test_add_data_func(path, &network_cases[i], test_networks);
        g_free(path);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        char *path = g_strdup_printf("/points/%s", cases[i].name);
        g_test_add_data_func(path, &cases[i], test_verdicts);
        g_free(path);
    }
    return g_test_run();
}
