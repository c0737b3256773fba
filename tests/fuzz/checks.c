/* Checks the record of each frame, and that streams only grow.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "checks.h"

#include "state/model/record.h"

#define EVENTS_MAX 32 /* of one frame; more would be a loop */

void
capture_open(capture_t *capture)
{
    memset(capture, 0, sizeof *capture);
    capture->scope = wmem_allocator_new(WMEM_ALLOCATOR_SIMPLE);
    capture->state = smcr_state_new(capture->scope);
}

void
capture_close(capture_t *capture)
{
    wmem_destroy_allocator(capture->scope);
}

void
capture_next(capture_t *capture, const smcr_ib_headers_t *roce)
{
    capture->record = smcr_record_new();
    capture->known = false;
    capture->frame++;
    if (roce)
        capture->roce = *roce;
    capture->arrival = (smcr_arrival_t){
        .state = capture->state,
        .roce = roce ? &capture->roce : NULL,
        .when = {capture->frame, capture->frame * UINT64_C(1000000) +
                                     capture->seconds * UINT64_C(1000000000)},
        .record = &capture->record,
    };
}

static void
check_events(const smcr_record_t *packet)
{
    unsigned count = 0;

    for (const smcr_event_t *event = packet->events; event; event = event->next) {
        require(event->id > SMCR_EVENT_NONE && event->id < SMCR_EVENTS);
        require(++count <= EVENTS_MAX);
    }
}

static void
check_link(const smcr_record_t *packet)
{
    const smcr_link_t *link = packet->link;

    if (!link)
        return;
    require(packet->sender == 0 || packet->sender == 1);
    require(link->lgr);
    require(packet->lgr_proven == (link->lgr->index != SMCR_LGR_NO_INDEX) ||
            packet->lgr_proven == 0);
    require(link->lgr->server >= SMCR_LGR_SIDE_UNKNOWN && link->lgr->server <= 1);
    for (int side = 0; side < 2; side++) {
        require(link->qp[side].link == link);
        require(link->qp[side].side == side);
    }
    uint32_t active = 0;
    for (wmem_list_frame_t *at = wmem_list_head(link->lgr->links); at;
         at = wmem_list_frame_next(at)) {
        const smcr_link_t *each = wmem_list_frame_data(at);
        require(each->lgr == link->lgr);
        require(each->state != SMCR_LINK_DELETED);
        active += each->state == SMCR_LINK_ACTIVE;
    }
    require(active <= link->lgr->active_links);
}

static void
check_place(const smcr_place_t *place)
{
    if (!place)
        return;
    smcr_stream_range_t piece = smcr_place_range(place);
    require(piece.rewritten <= place->length);
    require(piece.gap == 0 || piece.rewritten == 0);
    require(!piece.known || piece.position + place->length >= place->length);
}

static void
check_exchange(capture_t *capture)
{
    const smcr_exchange_t *asks = capture->record.begins_exchange;
    const smcr_exchange_t *answers = capture->record.ends_exchange;

    /* Each CDC message until the answer repeats that it asks for a cursor update. */
    require(!asks || asks->request_frame == capture->frame ||
            (capture->record.kind == SMCR_RECORD_CDC && asks->request_frame < capture->frame));
    require(!answers || (answers->request_frame && answers->request_frame < capture->frame &&
                         answers->response_frame == capture->frame));
    if (!answers)
        return;
    for (unsigned i = 0; i < CAPTURE_ANSWERED; i++)
        require(capture->answered[i] != answers); /* twice */
    capture->answered[capture->answered_count++ % CAPTURE_ANSWERED] = answers;
}

/* What is kept of the record is the record; the frame may have another packet. */
static void
check_kept(const capture_t *capture)
{
    const uint16_t layers[] = {5, (uint16_t)(6 + capture->frame % 3)};
    smcr_record_t none = smcr_record_new(), found;

    smcr_arrival_t nothing = capture->arrival;
    nothing.record = &none;
    smcr_record_keep(&capture->arrival, layers[0]);
    smcr_record_keep(&nothing, layers[1]);
    require(smcr_record_find(capture->state, capture->frame, layers[0], &found));
    require(found.kind == capture->record.kind && found.order == capture->record.order);
    require(found.sender == capture->record.sender);
    require(found.direction == capture->record.direction);
    require(found.link == capture->record.link && found.conn == capture->record.conn);
    require(found.write_location == capture->record.write_location &&
            found.cdc_analysis == capture->record.cdc_analysis);
    require(found.begins_exchange == capture->record.begins_exchange &&
            found.ends_exchange == capture->record.ends_exchange);
    require(found.events == capture->record.events);
    require(found.acks.frame == capture->record.acks.frame);
    require(found.first_frame == capture->record.first_frame);
    require(found.missing_before == capture->record.missing_before);
    require(found.part.number == capture->record.part.number);
    require(smcr_record_find(capture->state, capture->frame, layers[1], &found) && !found.link);
    require(!smcr_record_find(capture->state, capture->frame, 1, &found));
    require(!smcr_record_find(capture->state, capture->frame + 5000, 5, &found));
}

static void
check_record(capture_t *capture)
{
    const smcr_record_t *packet = &capture->record;

    require(packet->kind <= SMCR_RECORD_CORRUPT);
    require(packet->sender >= -1 && packet->sender <= 1);
    require(packet->direction >= -1 && packet->direction <= 1);
    require(!capture->known || packet->link);
    require(packet->kind != SMCR_RECORD_WRITE || packet->write_location);
    require(packet->first_frame < capture->frame);
    require((packet->gap_frame != 0) == (packet->order == SMCR_FLOW_IS_AFTER_GAP));
    require(packet->gap_frame <= capture->frame);
    require(!packet->conn || packet->conn->index < smcr_conn_count(capture->state));
    require(packet->acks.frame < capture->frame);
    if (packet->cdc_analysis) {
        require(smcr_record_cdc_free(packet->cdc_analysis) <= packet->cdc_analysis->size);
        require(packet->cdc_analysis->first_write <= packet->cdc_analysis->last_write);
        require(packet->cdc_analysis->last_write < capture->frame);
    }
    check_events(packet);
    check_link(packet);
    check_place(packet->write_location);
    check_exchange(capture);
}

static void
check_progress(capture_t *capture, const smcr_conn_t *conn, progress_t progress[2])
{
    require(conn->index < smcr_conn_count(capture->state));
    for (int side = 0; side < 2; side++) {
        const smcr_stream_t *in = &conn->side[side].in;
        progress_t *before = &progress[side];
        if (in->positions_known && before->known) {
            require(in->written >= before->written);
            require(in->announced >= before->announced);
            require(in->consumed >= before->consumed);
        }
        *before = (progress_t){in->positions_known, in->written, in->announced, in->consumed};
    }
}

void
capture_check(capture_t *capture)
{
    check_record(capture);
    check_kept(capture);
    for (unsigned i = 0; i < CAPTURE_CONNS; i++)
        if (capture->conn[i])
            check_progress(capture, capture->conn[i], capture->progress[i]);
}
