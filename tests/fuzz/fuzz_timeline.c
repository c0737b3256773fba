/* Fuzzes the timeline of a connection: WRITEs, CDC messages, retransmissions and gaps in any order,
 * acknowledged in any order, with clocks that go back. Whatever comes, each moment is charged to
 * exactly one part, asking changes nothing, and memory is bounded.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "input.h"
#include "timeline/timeline.h"

#include "state/model/store.h"
#include "state/state.h"

#define STEPS_MAX 512
#define BUFFER 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The two hosts, and what the capture has of them so far. */
typedef struct {
    input_t *input;
    wmem_allocator_t *scope;
    smcr_state_t *state;
    smcr_timeline_t timeline;
    smcr_lgr_t lgr;
    smcr_link_t links[2];
    smcr_when_t now;
    uint32_t gaps[2][2]; /* by link and sender */
    uint32_t psn[2];     /* by sender: of its next packet */
    uint64_t written[2]; /* by sender, bytes */
    uint64_t announced[2];
    uint64_t consumed[2];
} stage_t;

/* What has been acknowledged is acknowledged in a frame of its own, which may come later. */
static const smcr_ack_t *
pick_ack(stage_t *stage, uint32_t psn)
{
    uint8_t how = input_byte(stage->input);

    if (how % 4 == 0)
        return NULL;
    smcr_ack_t *ack = wmem_new(stage->scope, smcr_ack_t);
    *ack = (smcr_ack_t){
        .frame = stage->now.frame + 1 + how / 32,
        .psn = (psn + (how % 4 == 1)) & SMCR_PSN_MASK,
        .time = stage->now.time + input_byte(stage->input) * UINT64_C(1000000)};
    return ack;
}

static void
set_write(stage_t *stage, smcr_record_t *record, uint32_t psn)
{
    smcr_place_t *place = smcr_state_alloc0(stage->state, sizeof *place);
    int side = record->sender;

    place->position = stage->written[side];
    place->has_position = input_pick(stage->input, 8) != 0;
    place->length = input_extreme(stage->input) & SMCR_PLACE_LENGTH_MASK;
    place->acked = pick_ack(stage, psn);
    stage->written[side] += place->length;
    record->kind = SMCR_RECORD_WRITE;
    record->write_location = input_pick(stage->input, 16) ? place : NULL;
}

static void
set_wait(stage_t *stage, smcr_record_cdc_t *view)
{
    smcr_record_cdc_rare_t *wait = smcr_record_cdc_make_rare(stage->state, view);
    const smcr_ack_t **freed = wmem_new(stage->scope, const smcr_ack_t *);

    *freed = pick_ack(stage, 0);
    wait->space_freed = input_pick(stage->input, 4) ? freed : NULL;
    if (input_pick(stage->input, 4) == 0)
        wait->continues = (smcr_when_t){stage->now.frame + input_byte(stage->input),
                                        stage->now.time + input_byte(stage->input)};
}

static void
set_message(stage_t *stage, smcr_record_t *record, uint32_t psn)
{
    uint8_t how = input_byte(stage->input);
    int side = record->sender;

    record->kind = SMCR_RECORD_CDC;
    if (how % 16 == 0)
        return;
    smcr_record_cdc_t *view = smcr_state_alloc0(stage->state, sizeof *view);
    record->cdc_analysis = view;
    view->acked = pick_ack(stage, psn);
    view->size = how & 0x10 ? BUFFER : input_extreme(stage->input);
    view->has_announced = (how & 0x20) != 0;
    view->has_consumed = (how & 0x40) != 0;
    view->has_announced_bytes = (how & 0x80) != 0;
    view->announced_bytes = (uint32_t)(stage->written[side] - stage->announced[side]);
    view->writes = input_pick(stage->input, 3);
    stage->announced[side] = stage->written[side];
    view->announced = stage->announced[side];
    view->read_bytes = input_pick(stage->input, 3);
    stage->consumed[side] += input_extreme(stage->input);
    view->consumed = stage->consumed[side];
    if (how % 4 == 1)
        set_wait(stage, view);
}

static smcr_flow_order_t
pick_order(stage_t *stage)
{
    static const smcr_flow_order_t orders[] = {SMCR_FLOW_IS_NEXT,  SMCR_FLOW_IS_NEXT,
                                               SMCR_FLOW_IS_NEXT,  SMCR_FLOW_IS_RETRANSMISSION,
                                               SMCR_FLOW_IS_LATE,  SMCR_FLOW_IS_COPY};

    return orders[input_pick(stage->input, G_N_ELEMENTS(orders))];
}

static void
take_sample(void *data, int writer, smcr_timeline_sample_t sample, uint64_t time)
{
    (void)data;
    (void)time;
    require(writer == 0 || writer == 1);
    require(sample <= SMCR_TIMELINE_ANSWER);
}

static const smcr_timeline_sink_t sink = {take_sample, NULL};

static void
move_time(stage_t *stage)
{
    uint8_t how = input_byte(stage->input);

    stage->now.frame++;
    if (how % 32 == 0)
        stage->now.time -= MIN(stage->now.time, input_number(stage->input, 4));
    else
        stage->now.time += how % 4 ? how : input_number(stage->input, 4);
}

static void
play_packet(stage_t *stage)
{
    uint8_t how = input_byte(stage->input);
    unsigned link = how & 1, side = how >> 1 & 1;
    uint32_t psn = stage->psn[side] & SMCR_PSN_MASK;
    smcr_record_t record = smcr_record_new();
    smcr_ib_headers_t roce = {.psn = psn,
                              .opcode = how & 4 ? SMCR_RC_WRITE_ONLY : SMCR_RC_WRITE_MIDDLE};
    smcr_cdc_t cdc = {.flags = how & 8 ? SMCR_CDC_FLAG_FAILOVER : 0,
                      .cons.count = how & 0x10}; /* equal to the other side's producer, or not */

    move_time(stage);
    stage->psn[side] += 1 + (how % 16 == 15);
    stage->gaps[link][side] += how % 16 == 15;
    record.sender = (int8_t)side;
    record.link = &stage->links[link];
    record.order = pick_order(stage) & 0x7U;
    record.receiver_action = input_pick(stage->input, SMCR_FLOW_RECEIVER_WAITS + 1) & 0x3U;
    record.first_frame = MIN(input_byte(stage->input), stage->now.frame);
    record.was_acked = (how & 0x10) != 0;
    if (how & 0x20)
        set_write(stage, &record, psn);
    else
        set_message(stage, &record, psn);
    smcr_timeline_packet_t packet = {.when = stage->now,
                                     .record = &record,
                                     .roce = &roce,
                                     .cdc = how & 0x40 ? &cdc : NULL,
                                     .gap_count = stage->gaps[link],
                                     .is_whole = (how & 0x80) != 0,
                                     .may_miss_last = {how == 0xff, how >= 0xfe}};
    smcr_timeline_take(&stage->timeline, stage->scope, &packet, &sink);
}

/* ---- what holds ---- */

static void
check_lists(const smcr_intervals_t *intervals)
{
    for (unsigned kind = 0; kind < SMCR_INTERVAL_KINDS; kind++) {
        const smcr_interval_list_t *list = &intervals->list[kind];
        for (uint32_t i = 0; i < list->length; i++) {
            require(list->entries[i].begin.time < list->entries[i].end.time);
            require(i == 0 || list->entries[i - 1].end.time < list->entries[i].begin.time);
        }
    }
}

static void
check_stretch(smcr_interval_t stretch, uint64_t share)
{
    require(smcr_interval_length(stretch) <= share);
}

static void
check_division(const smcr_interval_division_t *division, uint64_t span)
{
    const uint64_t *share = division->share;
    uint64_t sum = 0;

    for (unsigned part = 0; part < SMCR_INTERVAL_PARTS; part++)
        sum += share[part];
    require(sum == span);
    require(share[SMCR_INTERVAL_IS_MAYBE_TRANSFER] == 0);
    check_stretch(division->longest_reader, share[SMCR_INTERVAL_IS_FULL_READER]);
    check_stretch(division->longest_full, share[SMCR_INTERVAL_IS_FULL_READER] +
                                              share[SMCR_INTERVAL_IS_FULL_PATH]);
    check_stretch(division->longest_retransmission, share[SMCR_INTERVAL_IS_RETRANSMISSION]);
}

/* Asks as a report does, twice: the answers are equal. */
static void
ask(stage_t *stage)
{
    const smcr_timeline_t *timeline = &stage->timeline;
    uint8_t how = input_byte(stage->input);
    uint64_t before = MIN(timeline->begun.time, how);
    smcr_timeline_question_t question = {
        .span = {{timeline->begun.frame, timeline->begun.time - before},
                 {stage->now.frame, timeline->latest.time + how}},
        .missing = {.doubt = input_pick(stage->input, SMCR_TIMELINE_IN_DISORDER + 1),
                    .last = {(how & 1) != 0, (how & 2) != 0},
                    .acks = {(how & 4) != 0, (how & 8) != 0}},
    };
    uint64_t span = smcr_interval_length(question.span);

    for (int side = 0; side < 2; side++) {
        smcr_timeline_direction_t one = smcr_timeline_divide(timeline, side, &question);
        smcr_timeline_direction_t other = smcr_timeline_divide(timeline, side, &question);
        check_division(&one.division, span);
        require(!memcmp(one.division.share, other.division.share, sizeof one.division.share));
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input_t input = {data, size};
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_SIMPLE);
    stage_t stage = {.input = &input,
                     .scope = scope,
                     .state = smcr_state_new(scope),
                     .now = {.time = UINT64_C(1000000000000)}};

    stage.lgr.state = stage.state;
    for (int i = 0; i < 2; i++)
        stage.links[i].lgr = &stage.lgr;
    for (unsigned i = 0; i < STEPS_MAX && input.left > 0; i++) {
        play_packet(&stage);
        if (i % 16 == 15) {
            smcr_timeline_advance(&stage.timeline, scope, stage.now.frame, &sink);
            ask(&stage);
        }
        for (int side = 0; side < 2; side++)
            check_lists(&stage.timeline.writer[side].intervals);
        if (input_pick(&input, 64) == 63)
            smcr_timeline_flip(&stage.timeline);
    }
    if (stage.timeline.begun.frame)
        ask(&stage);
    wmem_destroy_allocator(scope);
    return 0;
}
