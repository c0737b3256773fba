/* PAUSE and PFC frames: what is one, whatever bytes come; how long pauses last; which flows stand
 * still.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "report/pause/pause.h"

#define MS UINT64_C(1000000) /* nanoseconds */
#define PAUSE 0x0001
#define PFC 0x0101
#define FRAME 60 /* shortest frame of Ethernet, bytes */
#define PORT 2   /* last byte of the MAC address of a host that pauses its peer */
#define SWITCH 9 /* of a switch's port */

typedef struct {
    wmem_allocator_t *scope;
    smcr_pauses_t *pauses;
    uint32_t frame;         /* number of the last frame */
    smcr_pause_flow_t flow; /* a flow to PORT in class 3 */
    smcr_pause_gap_t gap;   /* `from`, `first`, `packets`: the flow so far */
    smcr_figure_list_t list;
} scene_t;

static void
begin(scene_t *scene, unsigned speed)
{
    *scene = (scene_t){.scope = wmem_allocator_new(WMEM_ALLOCATOR_SIMPLE)};
    scene->pauses = smcr_pauses_new(scene->scope, speed);
}

static void
end(scene_t *scene)
{
    wmem_destroy_allocator(scene->scope);
}

static void
put16(uint8_t *at, unsigned number)
{
    at[0] = (uint8_t)(number >> 8);
    at[1] = (uint8_t)number;
}

/* Writes a frame of MAC control with a word of 16 bits, a PAUSE frame's quanta or the classes of a
 * PFC frame; all classes have the same quanta. */
static void
write_frame(uint8_t *bytes, unsigned from, unsigned opcode, unsigned word, unsigned quanta)
{
    static const uint8_t to[] = {0x01, 0x80, 0xc2, 0, 0, 0x01};

    memset(bytes, 0, FRAME);
    memcpy(bytes, to, sizeof to);
    bytes[6] = 0x02;
    put16(bytes + 10, from);
    put16(bytes + 12, 0x8808);
    put16(bytes + 14, opcode);
    put16(bytes + 16, word);
    for (unsigned i = 0; i < 8; i++)
        put16(bytes + 18 + 2 * i, quanta);
}

/* Takes `length` bytes of a frame, in memory of their own: AddressSanitizer sees a byte that is
 * read beyond them. Returns whether they are a PAUSE or PFC frame. */
static bool
take(scene_t *scene, uint64_t time, const uint8_t *frame, uint32_t length)
{
    uint8_t *bytes = g_memdup(frame, length);
    bool is_frame = smcr_pause_is_frame(bytes, length);

    if (is_frame)
        smcr_pauses_take(scene->pauses, (smcr_when_t){++scene->frame, time}, bytes, length);
    g_free(bytes);
    return is_frame;
}

static void
pfc(scene_t *scene, uint64_t time, unsigned from, unsigned classes, unsigned quanta)
{
    uint8_t bytes[FRAME];

    write_frame(bytes, from, PFC, classes, quanta);
    g_assert_true(take(scene, time, bytes, sizeof bytes));
}

static void
pause_all(scene_t *scene, uint64_t time, unsigned quanta)
{
    uint8_t bytes[FRAME];

    write_frame(bytes, PORT, PAUSE, quanta, 0);
    g_assert_true(take(scene, time, bytes, sizeof bytes));
}

/* Takes a packet of the flow from host `from` to host `to`. `priority` below 0: no VLAN tag. */
static void
packet_of(scene_t *scene, uint64_t time, unsigned from, unsigned to, int priority)
{
    uint8_t bytes[18] = {0};
    smcr_pause_header_t header;

    bytes[5] = (uint8_t)to;
    bytes[0] = bytes[6] = 0x02;
    bytes[11] = (uint8_t)from;
    put16(bytes + 12, priority < 0 ? 0x0800 : 0x8100);
    bytes[14] = (uint8_t)(priority < 0 ? 0x45 : priority << 5);
    g_assert_true(smcr_pause_header_read(bytes, sizeof bytes, &header));
    scene->gap.to = (smcr_when_t){++scene->frame, time};
    smcr_pauses_take_packet(scene->pauses, &scene->flow, &scene->gap, &header);
    scene->gap.from = scene->gap.to;
    if (!scene->gap.packets++)
        scene->gap.first = scene->gap.to;
}

static void
packet(scene_t *scene, uint64_t time)
{
    packet_of(scene, time, 1, PORT, 3);
}

/* Ten packets, a millisecond apart; the last one at `time`. */
static void
packets(scene_t *scene, uint64_t time)
{
    for (unsigned i = 10; i-- > 0;)
        packet(scene, time - i * MS);
}

/* Returns the only entry of the report. */
static const smcr_entry_pause_t *
report(scene_t *scene)
{
    scene->list = (smcr_figure_list_t){0};
    smcr_pauses_report(scene->pauses, &scene->list, scene->scope);
    g_assert_cmpuint(scene->list.length, ==, 1);
    return scene->list.entries[0];
}

/* ---- frames ---- */

static void
check_opcodes(void)
{
    uint8_t bytes[FRAME];

    for (unsigned opcode = 0; opcode <= UINT16_MAX; opcode++) {
        write_frame(bytes, PORT, opcode, 8, 1);
        g_assert_cmpint(smcr_pause_is_frame(bytes, FRAME), ==, opcode == PAUSE || opcode == PFC);
    }
    write_frame(bytes, PORT, PFC, 8, 1);
    put16(bytes + 12, 0x0800);
    g_assert_false(smcr_pause_is_frame(bytes, FRAME));
}

/* Tags before MAC control are passed over. */
static void
check_tags(void)
{
    for (unsigned tags = 0; tags <= 3; tags++) {
        uint8_t bytes[FRAME + 12] = {0};
        for (unsigned i = 0; i < tags; i++)
            put16(bytes + 12 + 4 * i, i ? 0x8100 : 0x88a8);
        put16(bytes + 12 + 4 * tags, 0x8808);
        put16(bytes + 14 + 4 * tags, PAUSE);
        g_assert_true(smcr_pause_is_frame(bytes, sizeof bytes));
        g_assert_false(smcr_pause_is_frame(bytes, 12 + 4 * tags));
    }
}

/* A PFC frame for classes 3 and 7, cut at each length. */
static void
check_cut(void)
{
    for (uint32_t length = 0; length <= FRAME; length++) {
        scene_t scene;
        uint8_t bytes[FRAME];
        begin(&scene, 0);
        write_frame(bytes, PORT, PFC, 0x88, 65535);
        g_assert_cmpint(take(&scene, 0, bytes, length), ==, length >= 16);
        smcr_pauses_report(scene.pauses, &scene.list, scene.scope);
        g_assert_cmpuint(scene.list.length, ==, length < 16 ? 0 : length < 18 ? 1 : 2);
        SMCR_FIGURE_EACH(pause, entry, scene.list) {
            uint32_t quanta_end = 18 + 2 * (uint32_t)entry->priority + 2;
            bool is_cut = length < 18 || length < quanta_end;
            g_assert_cmpuint(entry->frames, ==, 1);
            g_assert_cmpuint(entry->cut, ==, is_cut);
            g_assert_cmpuint(entry->quanta, ==, is_cut ? 0 : 65535);
            g_assert_cmpint(entry->priority == SMCR_FIGURE_UNKNOWN, ==, length < 18);
        }
        end(&scene);
    }
}

static void
check_cut_pause(void)
{
    for (uint32_t length = 16; length <= 18; length++) {
        scene_t scene;
        uint8_t bytes[FRAME];
        begin(&scene, 10);
        write_frame(bytes, PORT, PAUSE, 65535, 0);
        g_assert_true(take(&scene, 0, bytes, length));
        const smcr_entry_pause_t *entry = report(&scene);
        g_assert_cmpint(entry->kind, ==, SMCR_FIGURE_PAUSE_ALL);
        g_assert_cmpuint(entry->cut, ==, length < 18);
        g_assert_cmpuint(entry->paused_s, ==, length < 18 ? 0 : 65535 * 512 / 10);
        end(&scene);
    }
}

/* No class, and bits that are reserved. */
static void
check_no_class(void)
{
    static const unsigned vectors[] = {0, 0x0100, 0xff00};

    for (unsigned i = 0; i < G_N_ELEMENTS(vectors); i++) {
        scene_t scene;
        begin(&scene, 10);
        pfc(&scene, 0, PORT, vectors[i], 65535);
        const smcr_entry_pause_t *entry = report(&scene);
        g_assert_cmpint(entry->kind, ==, SMCR_FIGURE_PAUSE_PFC);
        g_assert_cmpuint(entry->priority, ==, SMCR_FIGURE_UNKNOWN);
        g_assert_cmpuint(entry->frames, ==, 1);
        g_assert_cmpuint(entry->paused_s, ==, 0);
        end(&scene);
    }
}

/* Each number of quanta, of PAUSE and of PFC for each vector of classes in turn. */
static void
check_quanta(void)
{
    for (unsigned quanta = 0; quanta <= UINT16_MAX; quanta++) {
        scene_t scene;
        unsigned classes = (quanta * 7) & 0xff;
        begin(&scene, 10);
        if (classes)
            pfc(&scene, 0, PORT, classes, quanta);
        else
            pause_all(&scene, 0, quanta);
        smcr_pauses_report(scene.pauses, &scene.list, scene.scope);
        SMCR_FIGURE_EACH(pause, entry, scene.list) {
            g_assert_cmpuint(entry->quanta, ==, quanta);
            g_assert_cmpuint(entry->resumes, ==, quanta == 0);
            g_assert_cmpuint(entry->paused_s, ==, (uint64_t)quanta * 512 / 10);
            g_assert_true(!classes || classes >> entry->priority & 1);
        }
        unsigned named = 0;
        for (unsigned left = classes; left; left &= left - 1)
            named++;
        g_assert_cmpuint(scene.list.length, ==, classes ? named : 1);
        end(&scene);
    }
}

/* A million frames of a million ports: the entries of 64 ports, and one of all others. */
static void
check_many(void)
{
    scene_t scene;
    uint64_t frames = 0, others = 0;

    begin(&scene, 0);
    for (unsigned i = 0; i < 1000000; i++) {
        uint8_t bytes[FRAME];
        write_frame(bytes, i & UINT16_MAX, PFC, 8, 65535);
        bytes[9] = (uint8_t)(i >> 16);
        smcr_pauses_take(scene.pauses, (smcr_when_t){i + 1, i * MS}, bytes, FRAME);
    }
    smcr_pauses_report(scene.pauses, &scene.list, scene.scope);
    g_assert_cmpuint(scene.list.length, ==, 65);
    SMCR_FIGURE_EACH(pause, entry, scene.list) {
        frames += entry->frames;
        others += entry->port_mac ? 0 : entry->frames;
    }
    g_assert_cmpuint(frames, ==, 1000000);
    g_assert_cmpuint(others, ==, 1000000 - 64);
    end(&scene);
}

/* ---- how long pauses last ---- */

/* Frames for class 3, and what they add up to. */
typedef struct {
    const char *name;
    unsigned speed;         /* Gbit/s */
    struct {
        uint64_t time;      /* nanoseconds */
        unsigned quanta;
    } frames[3];
    unsigned count;         /* number of frames */
    uint64_t paused, most;  /* paused_s and paused_most_s, nanoseconds */
    uint64_t resumes;
} row_t;

#define LONGEST(speed) (UINT64_C(65535) * 512 / (speed))

static const row_t rows[] = {
    {.name = "alone", .speed = 100, .frames = {{0, 65535}}, .count = 1,
     .paused = LONGEST(100), .most = LONGEST(100)},
    {.name = "one quantum", .speed = 1, .frames = {{0, 1}}, .count = 1, .paused = 512,
     .most = 512},
    {.name = "zero", .speed = 100, .frames = {{0, 0}}, .count = 1, .resumes = 1},
    {.name = "ended", .speed = 10, .frames = {{0, 65535}, {1 * MS, 0}}, .count = 2,
     .paused = 1 * MS, .most = 1 * MS, .resumes = 1},
    {.name = "over before its end", .speed = 10, .frames = {{0, 100}, {1 * MS, 0}}, .count = 2,
     .paused = 5120, .most = 5120, .resumes = 1},
    {.name = "renewed", .speed = 10, .frames = {{0, 65535}, {2 * MS, 65535}, {3 * MS, 0}},
     .count = 3, .paused = 3 * MS, .most = 3 * MS, .resumes = 1},
    {.name = "shortened", .speed = 10, .frames = {{0, 65535}, {1 * MS, 100}}, .count = 2,
     .paused = 1 * MS + 5120, .most = 1 * MS + 5120},
    {.name = "the clock goes back", .speed = 10, .frames = {{5 * MS, 100}, {1 * MS, 0}},
     .count = 2, .resumes = 1},
    {.name = "speed not known", .frames = {{0, 65535}, {2 * MS, 0}}, .count = 2,
     .paused = SMCR_FIGURE_UNKNOWN, .most = 2 * MS, .resumes = 1},
    {.name = "speed not known, alone", .frames = {{0, 65535}}, .count = 1,
     .paused = SMCR_FIGURE_UNKNOWN, .most = LONGEST(1)},
};

static void
check_durations(void)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        const row_t *row = &rows[i];
        uint64_t quanta = 0;
        scene_t scene;
        begin(&scene, row->speed);
        for (unsigned frame = 0; frame < row->count; frame++) {
            pfc(&scene, row->frames[frame].time, PORT, 1 << 3, row->frames[frame].quanta);
            quanta += row->frames[frame].quanta;
        }
        const smcr_entry_pause_t *entry = report(&scene);
        g_test_message("%s", row->name);
        g_assert_cmpstr(entry->port_mac, ==, "02:00:00:00:00:02");
        g_assert_cmpuint(entry->priority, ==, 3);
        g_assert_cmpuint(entry->paused_s, ==, row->paused);
        g_assert_cmpuint(entry->paused_most_s, ==, row->most);
        g_assert_cmpuint(entry->resumes, ==, row->resumes);
        g_assert_cmpuint(entry->quanta, ==, quanta);
        g_assert_cmpuint(entry->first_frame.frame, ==, 1);
        g_assert_cmpuint(entry->last_frame.frame, ==, row->count);
        end(&scene);
    }
}

/* ---- intervals ---- */

/* A pause that is renewed and ended, one that runs out, and a short one. */
static void
check_intervals(void)
{
    scene_t scene;

    begin(&scene, 10);
    pfc(&scene, 1 * MS, PORT, 8, 65535);
    pfc(&scene, 2 * MS, PORT, 8, 65535);
    pfc(&scene, 3 * MS, PORT, 8, 0);
    pfc(&scene, 4 * MS, PORT, 8, 0);
    pfc(&scene, 5 * MS, PORT, 8, 65535);
    pfc(&scene, 9 * MS, PORT, 8, 100);
    const smcr_entry_pause_t *entry = report(&scene);
    g_assert_cmpuint(entry->intervals.length, ==, 3);
    const smcr_entry_pause_interval_t *const *all = (void *)entry->intervals.entries;
    g_assert_cmpuint(all[0]->begin_frame.frame, ==, 1);
    g_assert_cmpuint(all[0]->last_frame.frame, ==, 2);
    g_assert_cmpuint(all[0]->resume_frame.frame, ==, 3);
    g_assert_cmpuint(all[0]->end_most_time, ==, 3 * MS);
    g_assert_cmpuint(all[0]->frames, ==, 2);
    g_assert_cmpuint(all[0]->paused_s, ==, 2 * MS);
    g_assert_cmpuint(all[1]->resume_frame.frame, ==, 0);
    g_assert_cmpuint(all[1]->end_most_time, ==, 5 * MS + LONGEST(10));
    g_assert_cmpuint(all[2]->end_most_time, ==, 9 * MS + 5120);
    g_assert_cmpuint(all[2]->still_flows, ==, 0);
    g_assert_cmpuint(entry->paused_s, ==, 2 * MS + LONGEST(10) + 5120);
    end(&scene);
}

/* A hundred pauses, of which the two with the least time between them come first: 64 intervals, and
 * the sum of their times is that of all pauses. */
static void
check_many_intervals(void)
{
    scene_t scene;
    uint64_t frames = 0, paused = 0;

    begin(&scene, 1);
    for (unsigned i = 0; i < 100; i++)
        pfc(&scene, i * (i + 1) * MS, PORT, 8, 100);
    const smcr_entry_pause_t *entry = report(&scene);
    g_assert_cmpuint(entry->intervals.length, ==, 64);
    SMCR_FIGURE_EACH(pause_interval, each, entry->intervals) {
        frames += each->frames;
        paused += each->paused_s;
    }
    g_assert_cmpuint(frames, ==, 100);
    g_assert_cmpuint(paused, ==, 100 * 51200);
    const smcr_entry_pause_interval_t *first = entry->intervals.entries[0];
    g_assert_cmpuint(first->frames, ==, 37);
    g_assert_cmpuint(first->begin_frame.frame, ==, 1);
    g_assert_cmpuint(first->last_frame.frame, ==, 37);
    g_assert_cmpuint(first->end_most_time, ==, 36 * 37 * MS + 51200);
    end(&scene);
}

/* ---- standstills ---- */

/* A port pauses class 3 from 10 to 60 ms, with a frame each millisecond. */
static void
storm(scene_t *scene, unsigned from, unsigned classes)
{
    for (unsigned i = 10; i <= 60; i++)
        pfc(scene, i * MS, from, classes, i < 60 ? 65535 : 0);
}

/* Packets of the flow up to 9 ms, the storm, and the packet that ends the gap. */
static void
storm_in_gap(scene_t *scene, unsigned from, unsigned classes)
{
    packets(scene, 9 * MS);
    storm(scene, from, classes);
    packet(scene, 61 * MS);
}

/* Returns the entry of the flow in a capture that ends at `time`; NULL: the flow did not stand
 * still. */
static smcr_entry_flow_pause_t *
flow_at(const scene_t *scene, uint64_t time)
{
    smcr_pause_gap_t gap = scene->gap;

    gap.to = (smcr_when_t){0, time};
    smcr_pause_flow_note_ends(scene->pauses, &scene->flow);
    return smcr_pause_flow_report(scene->pauses, &scene->flow, &gap, scene->scope);
}

/* Returns the entry of the flow in a capture that ends with the last packet of the flow. */
static smcr_entry_flow_pause_t *
flow_entry(const scene_t *scene)
{
    return flow_at(scene, scene->gap.from.time);
}

/* `still`: how long the flow was paused at most. */
static void
expect_still(const scene_t *scene, uint64_t count, uint64_t still)
{
    smcr_entry_flow_pause_t *entry = flow_entry(scene);

    g_assert_cmpint(entry != NULL, ==, count > 0);
    if (!entry)
        return;
    g_assert_cmpuint(entry->standstills, ==, count);
    g_assert_cmpuint(entry->still_most_s, ==, still);
    g_assert_cmpuint(entry->still_s, <=, still);
    g_assert_cmpuint(entry->longest->begin_frame.frame, <, entry->longest->end_frame.frame);
}

static void
check_standstill(void)
{
    for (unsigned speed = 0; speed <= 10; speed += 10) {
        scene_t scene;
        begin(&scene, speed);
        storm_in_gap(&scene, PORT, 1 << 3);
        expect_still(&scene, 1, 50 * MS);
        g_assert_cmpuint(flow_entry(&scene)->still_s, ==,
                         speed ? 50 * MS : 50 * LONGEST(1600));
        g_assert_cmpstr(flow_entry(&scene)->port_mac, ==, "02:00:00:00:00:02");
        g_assert_cmpint(report(&scene)->has_flow, ==, SMCR_FIGURE_YES);
        end(&scene);
    }
}

/* Where the speed is not known, a pause lasts for certain only up to a frame that renews or ends it
 * in time: here each pause is over on the slowest link before the next frame comes. */
static void
check_over_before_the_next(void)
{
    scene_t scene;

    begin(&scene, 0);
    packets(&scene, 9 * MS);
    for (unsigned i = 10; i <= 60; i++)
        pfc(&scene, i * MS, PORT, 1 << 3, 1000);
    packet(&scene, 61 * MS);
    expect_still(&scene, 0, 0);
    end(&scene);
}

/* PAUSE frames stop packets without a VLAN tag, too; PFC does not say whether it does. */
static void
check_untagged(void)
{
    scene_t scene;

    for (int is_pfc = 0; is_pfc <= 1; is_pfc++) {
        begin(&scene, 0);
        for (unsigned i = 0; i < 10; i++)
            packet_of(&scene, i * MS, 1, PORT, -1);
        if (is_pfc)
            storm(&scene, PORT, 1 << 3);
        for (unsigned i = 10; !is_pfc && i <= 60; i++)
            pause_all(&scene, i * MS, i < 60 ? 65535 : 0);
        packet_of(&scene, 61 * MS, 1, PORT, -1);
        expect_still(&scene, !is_pfc, 50 * MS);
        g_assert_cmpint(report(&scene)->has_flow, ==,
                        is_pfc ? SMCR_FIGURE_MAYBE : SMCR_FIGURE_YES);
        end(&scene);
    }
}

/* The port is a switch's: no packet has its address. Then a flow on the link may be stopped. */
static void
check_switch(void)
{
    scene_t scene;

    begin(&scene, 0);
    storm_in_gap(&scene, SWITCH, 1 << 3);
    expect_still(&scene, 1, 50 * MS);
    end(&scene);
}

/* Neither packets of another class stand still nor those that the port itself sends. */
static void
check_other_packets(void)
{
    scene_t scene;

    begin(&scene, 0);
    storm_in_gap(&scene, PORT, 1 << 4);
    expect_still(&scene, 0, 0);
    g_assert_cmpint(report(&scene)->has_flow, ==, SMCR_FIGURE_NO);
    end(&scene);

    begin(&scene, 0);
    for (unsigned i = 0; i < 10; i++)
        packet_of(&scene, i * MS, PORT, 1, 3);
    storm(&scene, PORT, 1 << 3);
    packet_of(&scene, 61 * MS, PORT, 1, 3);
    expect_still(&scene, 0, 0);
    end(&scene);
}

/* Packets come during the pause; or they are usually as far apart; or there are too few to know. */
static void
check_no_standstill(void)
{
    scene_t scene;

    begin(&scene, 0);
    packets(&scene, 9 * MS);
    for (unsigned i = 10; i <= 60; i++) {
        pfc(&scene, i * MS, PORT, 1 << 3, 65535);
        packet(&scene, i * MS + MS / 2);
    }
    expect_still(&scene, 0, 0);
    end(&scene);

    begin(&scene, 0);
    for (unsigned i = 0; i < 3; i++)
        packet(&scene, i * 60 * MS);
    for (unsigned i = 0; i < 50; i++)
        pfc(&scene, (125 + i) * MS, PORT, 1 << 3, 65535);
    packet(&scene, 180 * MS);
    expect_still(&scene, 0, 0);
    end(&scene);

    begin(&scene, 0);
    packet(&scene, 9 * MS);
    storm(&scene, PORT, 1 << 3);
    packet(&scene, 61 * MS);
    expect_still(&scene, 0, 0);
    end(&scene);
}

/* The port is that of a host to which the flow does not go. */
static void
check_port_of_a_host(void)
{
    scene_t scene;

    begin(&scene, 0);
    pfc(&scene, 0, SWITCH, 1 << 3, 0);
    packet_of(&scene, MS / 2, SWITCH, 1, 3); /* it is the port of a host */
    scene.flow = (smcr_pause_flow_t){0};
    scene.gap = (smcr_pause_gap_t){.packets = 0};
    packets(&scene, 9 * MS + MS);
    storm(&scene, SWITCH, 1 << 3);
    packet(&scene, 61 * MS);
    expect_still(&scene, 0, 0);
    end(&scene);
}

/* A port that seems to be a switch's turns out to be that of another host. */
static void
check_other_host(void)
{
    scene_t scene;

    begin(&scene, 0);
    storm_in_gap(&scene, SWITCH, 1 << 3);
    expect_still(&scene, 1, 50 * MS);
    smcr_pause_flow_t flow = scene.flow;
    packet_of(&scene, 62 * MS, 1, SWITCH, 3);
    scene.flow = flow;
    expect_still(&scene, 0, 0);
    end(&scene);
}

/* A pause that is not renewed makes no standstill as long as the speed is not known. */
static void
check_proof(void)
{
    for (unsigned speed = 0; speed <= 1; speed++) {
        scene_t scene;
        begin(&scene, speed);
        packets(&scene, 9 * MS);
        pfc(&scene, 10 * MS, PORT, 1 << 3, 65535);
        packet(&scene, 100 * MS);
        expect_still(&scene, speed, LONGEST(1));
        end(&scene);
    }
}

/* Two parts of a flow are one. Its standstills are in the order of their frames, whichever part is
 * the earlier one. */
static void
check_join(void)
{
    scene_t scene;

    begin(&scene, 0);
    storm_in_gap(&scene, PORT, 1 << 3);
    smcr_pause_standstill_t early = scene.flow.kept[0];
    early.begin.frame--;
    smcr_pause_flow_t sum = {0}, part = {.kept = &early, .kept_count = 1};
    smcr_pause_flow_join(&sum, scene.scope, &scene.flow);
    smcr_pause_flow_join(&sum, scene.scope, &part);
    g_assert_cmpuint(sum.kept[0].begin.frame, ==, early.begin.frame);
    sum = (smcr_pause_flow_t){0};
    smcr_pause_flow_join(&sum, scene.scope, &scene.flow);
    smcr_pause_flow_join(&sum, scene.scope, &scene.flow);
    g_assert_cmpuint(sum.last, ==, scene.flow.last);
    scene.flow = sum;
    smcr_entry_flow_pause_t *entry = flow_entry(&scene);
    g_assert_cmpuint(entry->standstills, ==, 2);
    g_assert_cmpuint(entry->still_most_s, ==, 100 * MS);
    end(&scene);
}

/* ---- flows that stop for good ---- */

/* A flow with a packet each millisecond up to 9 ms, pauses with a frame each millisecond, and the
 * end of the capture. */
typedef struct {
    const char *name;
    unsigned port;          /* port that pauses */
    unsigned classes;       /* classes that it pauses */
    unsigned from, to;      /* time of the first pause and of the frame that ends the last one,
                               ms */
    bool is_ended;          /* the capture has this frame */
    unsigned end;           /* end of the capture, ms */
    uint64_t still;         /* how long the flow was paused at most, ms; 0: not known to have
                               stopped */
} stop_t;

static const stop_t stops[] = {
    {"to the end", PORT, 1 << 3, 10, 100, false, 100, 90},
    {"by a switch", SWITCH, 1 << 3, 10, 100, false, 100, 90},
    {"begun before the last packet", PORT, 1 << 3, 5, 100, false, 100, 91},
    {"ended just now", PORT, 1 << 3, 10, 100, true, 105, 90},
    {"ended long ago", PORT, 1 << 3, 10, 60, true, 100, 0},
    {"another class", PORT, 1 << 4, 10, 100, false, 100, 0},
    {"a short pause", PORT, 1 << 3, 10, 15, false, 15, 0},
    {"begun within ten packets", PORT, 1 << 3, 18, 200, false, 200, 182},
    {"begun later", PORT, 1 << 3, 21, 2000, false, 2000, 0},
};

static void
check_stops(void)
{
    for (unsigned i = 0; i < 2 * G_N_ELEMENTS(stops); i++) {
        const stop_t *row = &stops[i / 2];
        scene_t scene;
        begin(&scene, i % 2); /* the slowest link, or a link whose speed is not known */
        for (unsigned time = 0; time <= row->to; time++) {
            bool is_last = time == row->to;
            if (time <= 9)
                packet_of(&scene, time * MS, 1, PORT, 3);
            if (time >= row->from && (!is_last || row->is_ended))
                pfc(&scene, time * MS, row->port, row->classes, is_last ? 0 : 65535);
        }
        const smcr_entry_flow_pause_t *entry = flow_at(&scene, row->end * MS);
        const smcr_entry_flow_stop_t *stop = entry ? entry->stopped : NULL;
        g_test_message("%s", row->name);
        g_assert_cmpint(stop != NULL, ==, row->still > 0);
        if (stop) {
            g_assert_cmpuint(stop->silent_s, ==, (row->end - 9) * MS);
            g_assert_cmpuint(stop->still_most_s, ==, row->still * MS);
            g_assert_cmpuint(stop->since_frame.time, ==, 9 * MS);
            g_assert_cmpuint(stop->priority, ==, 3);
            g_assert_cmpuint(entry->standstills, ==, 0);
            g_assert_null(entry->longest);
        }
        end(&scene);
    }
}

/* No pause frame has come before the flow's last packet; then the first one stops it. */
static void
check_stop_by_the_first_frame(void)
{
    scene_t scene;

    begin(&scene, 0);
    smcr_pauses_t *pauses = scene.pauses;
    scene.pauses = NULL;
    packets(&scene, 9 * MS);
    scene.pauses = pauses;
    storm(&scene, PORT, 1 << 3);
    g_assert_cmpuint(flow_at(&scene, 61 * MS)->stopped->still_most_s, ==, 50 * MS);
    end(&scene);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/pause/opcodes", check_opcodes);
    g_test_add_func("/pause/tags", check_tags);
    g_test_add_func("/pause/cut", check_cut);
    g_test_add_func("/pause/cut-pause", check_cut_pause);
    g_test_add_func("/pause/no-class", check_no_class);
    g_test_add_func("/pause/quanta", check_quanta);
    g_test_add_func("/pause/many", check_many);
    g_test_add_func("/pause/durations", check_durations);
    g_test_add_func("/pause/intervals", check_intervals);
    g_test_add_func("/pause/many-intervals", check_many_intervals);
    g_test_add_func("/pause/standstill", check_standstill);
    g_test_add_func("/pause/over-before-the-next", check_over_before_the_next);
    g_test_add_func("/pause/untagged", check_untagged);
    g_test_add_func("/pause/switch", check_switch);
    g_test_add_func("/pause/other-packets", check_other_packets);
    g_test_add_func("/pause/port-of-a-host", check_port_of_a_host);
    g_test_add_func("/pause/no-standstill", check_no_standstill);
    g_test_add_func("/pause/other-host", check_other_host);
    g_test_add_func("/pause/proof", check_proof);
    g_test_add_func("/pause/join", check_join);
    g_test_add_func("/pause/stops", check_stops);
    g_test_add_func("/pause/stop-by-the-first-frame", check_stop_by_the_first_frame);
    return g_test_run();
}
