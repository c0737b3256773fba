/* Finds the place of packets: that of a WRITE in the byte stream, that of a SEND in its message.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "place_packet.h"

#include "deferred.h"
#include "state/flow/writes/writes.h"
#include "state/model/store.h"

#define PARTS_MAX 64 /* maximum number of packets of one SEND: 8 KiB at an MTU of 256 need 32 */

/* Changes the verdict on a retransmitted WRITE packet from SMCR_FLOW_RECEIVER_DROPS to
 * SMCR_FLOW_RECEIVER_HAD_IT, if connection or position were not known when the first transmission
 * came. The bytes of the first transmission may have no position so far. */
static void
judge_retransmitted_write(const smcr_arrival_t *arrival)
{
    smcr_record_t *record = arrival->record;
    smcr_record_t first;

    if (record->receiver_action != SMCR_FLOW_RECEIVER_DROPS ||
        record->order != SMCR_FLOW_IS_RETRANSMISSION)
        return;
    if (smcr_record_find(arrival->state, record->first_frame, SMCR_RECORD_OUTERMOST, &first) &&
        first.write_location && smcr_place_late(first.write_location))
        record->receiver_action = SMCR_FLOW_RECEIVER_HAD_IT;
}

/* ---- place: WRITEs in the byte stream, packets in their message ---- */

/* Counts a WRITE packet whose position is not known. Such packets form one run, from
 * `unpositioned_from` to `unpositioned_psn`, as long as their PSNs are at most
 * SMCR_WRITE_UNPLACED_NEAR apart. Also keeps the bytes of the packet until its request has a
 * position, if the receiver takes the packet in. `write`: request of the packet; NULL: not
 * known. */
static void
note_unpositioned(const smcr_arrival_t *arrival, smcr_write_t *write)
{
    smcr_qp_t *qp = arrival->qp;

    if (!qp->unpositioned_psn || arrival->psn < qp->unpositioned_from ||
        arrival->psn > qp->unpositioned_psn + SMCR_WRITE_UNPLACED_NEAR) {
        qp->unpositioned_from = arrival->psn;
        qp->unpositioned_before = qp->unpositioned;
    }
    qp->unpositioned++;
    qp->unpositioned_psn = MAX(qp->unpositioned_psn, arrival->psn);
    if (write && arrival->record->receiver_action == SMCR_FLOW_RECEIVER_TAKES)
        smcr_write_buffer_payload(arrival, write);
}

/* Makes the object for the place of a WRITE packet, in the packet's record. Also activates the
 * link, since a link that carries WRITEs is in use. */
static void
begin_place(const smcr_arrival_t *arrival)
{
    smcr_qp_t *qp = arrival->qp;
    smcr_record_t *record = arrival->record;

    record->kind = SMCR_RECORD_WRITE;
    smcr_link_activate(qp->link);
    if (!record->write_location)
        record->write_location = smcr_state_alloc0(arrival->state, sizeof *record->write_location);
    record->write_location->length =
        (uint32_t)arrival->roce->payload_length & SMCR_PLACE_LENGTH_MASK;
    if (record->receiver_action == SMCR_FLOW_RECEIVER_TAKES)
        smcr_unacked_add(&qp->unacked, arrival->state->scope, arrival->psn,
                         &record->write_location->acked);
}

/* PSNs are unwrapped, so `damaged_last` + 1 is the next packet. A packet that does not continue the
 * damaged request changes nothing. */
void
smcr_state_note_damaged_write(const smcr_arrival_t *arrival)
{
    smcr_qp_t *qp = arrival->qp;

    if (arrival->roce->opcode == SMCR_RC_WRITE_FIRST)
        qp->damaged_first = qp->damaged_last = arrival->psn;
    else if (arrival->psn == qp->damaged_last + 1)
        qp->damaged_last = arrival->psn;
}

/* Whether the packet continues a WRITE request whose first packet is captured, but has a wrong
 * ICRC. Then the first packet is not missing, and the request reaches up to this packet
 * (`damaged_last`). */
static bool
is_of_damaged_write(const smcr_arrival_t *arrival)
{
    smcr_qp_t *qp = arrival->qp;

    if (!qp->damaged_first || arrival->psn <= qp->damaged_first ||
        arrival->psn > qp->damaged_last + 1)
        return false;
    qp->damaged_last = MAX(qp->damaged_last, arrival->psn);
    return true;
}

/* ---- requests whose first packet comes later ---- */

#define STARTLESS_MOST 8 /* number of requests of a queue pair that may wait for the first packet */
#define LATE_BY_MOST 64  /* highest number of PSNs by which a first packet may come late */

/* The first packet of a request, if it has come after other packets of the request. */
typedef struct {
    bool has_come; /* it has come */
    /* the step back with which its sender has retransmitted it, if the cause of the step is not
     * SMCR_CAUSE_NONE; NULL: none */
    const smcr_step_back_t *step;
} late_start_t;

/* Consecutive packets of a request whose first packet has not come. */
typedef struct {
    smcr_psn_t first; /* PSN of the first of these packets; 0: the entry is not used */
    smcr_psn_t last;  /* PSN of the last one */
    late_start_t *start; /* the first packet of the request */
    const smcr_doubt_proof_t *claim; /* that it does not; shared by the events of these packets */
} startless_t;

struct smcr_startless {
    startless_t list[STARTLESS_MOST]; /* circular list */
    unsigned count;                   /* number of entries so far */
};

/* True if the event that a first packet is missing has to be withdrawn: the packet comes later, and
 * is no retransmission. The cause of a step back is known late. */
SMCR_DOUBT_CLAIM(start_has_come, const late_start_t *start,
                 start->has_come && !smcr_step_retransmits(start->step))

/* Returns the entry for a packet of a request without its first packet: that of the packet before,
 * or a new one. */
static startless_t *
startless_of(const smcr_arrival_t *arrival)
{
    smcr_qp_t *qp = arrival->qp;

    if (!qp->startless)
        qp->startless = smcr_state_alloc0(arrival->state, sizeof *qp->startless);
    for (unsigned i = 0; i < STARTLESS_MOST; i++)
        if (qp->startless->list[i].first && qp->startless->list[i].last + 1 == arrival->psn)
            return &qp->startless->list[i];
    late_start_t *start = smcr_state_alloc0(arrival->state, sizeof *start);
    smcr_doubt_proof_t claim = {.has_come = start_has_come, .about = start};
    startless_t *entry = &qp->startless->list[qp->startless->count++ % STARTLESS_MOST];
    *entry = (startless_t){
        .first = arrival->psn,
        .start = start,
        .claim = wmem_memdup(arrival->state->scope, &claim, sizeof claim),
    };
    return entry;
}

/* Reports that the first packet of the packet's request is missing. */
static void
report_no_start(const smcr_arrival_t *arrival)
{
    startless_t *entry = startless_of(arrival);

    entry->last = arrival->psn;
    smcr_event_add_claim(arrival, SMCR_EVENT_write_no_start, entry->claim);
}

/* Notes that the first packet of a request has come after other packets of it. */
static void
note_late_start(const smcr_arrival_t *arrival)
{
    struct smcr_startless *startless = arrival->qp->startless;

    if (!startless || arrival->record->order != SMCR_FLOW_IS_LATE)
        return;
    for (unsigned i = 0; i < STARTLESS_MOST; i++) {
        startless_t *entry = &startless->list[i];
        if (entry->first > arrival->psn && entry->first <= arrival->psn + LATE_BY_MOST)
            *entry->start = (late_start_t){true, arrival->record->step};
    }
}

/* Finds the request of the WRITE packet, or begins it. NULL: the first packet of the request is
 * missing or came too long ago, which an event reports, or has a wrong ICRC. A packet whose request
 * or RMB is not known, or whose RMB no connection is known to use, is kept as an orphan (orphan.h).
 * If the packet begins a new request, orphans that belong to this request get their places. */
static smcr_write_t *
find_request(const smcr_arrival_t *arrival)
{
    bool begun;
    smcr_write_t *write = smcr_write_find_request(arrival, &begun);

    if (begun) {
        note_late_start(arrival);
        smcr_orphan_place(arrival, write);
    }
    if (!write && !is_of_damaged_write(arrival))
        report_no_start(arrival);
    if (!write || !write->rmb || smcr_write_has_free_rmb(write))
        smcr_orphan_add(arrival);
    return write;
}

/* Whether the WRITE packet shows that the hosts of the group announce data by WRITEs with immediate
 * data, and not by CDC messages. Hosts of another vendor than Linux may do so.
 *
 * The operation code of a packet may be wrong, so the code alone proves nothing. The packet counts
 * in three cases:
 *
 * - The connection of the packet is not known, so its position cannot be checked.
 * - The position of the packet is known, and the receiver takes the packet in.
 * - Otherwise, packets before this one may be missing, which would explain a position that does not
 *   fit. The packet must not be a retransmission.
 *
 * `placed`: the position of the packet is known. */
static bool
shows_immediate_data(const smcr_arrival_t *arrival, bool placed)
{
    const smcr_record_t *record = arrival->record;

    if (!smcr_ib_operations[arrival->roce->opcode].has_immediate)
        return false;
    if (!record->conn || (placed && record->receiver_action == SMCR_FLOW_RECEIVER_TAKES))
        return true;
    return smcr_doubt_is_in_time(arrival) && smcr_doubt_before(arrival).kind != SMCR_DOUBT_NONE;
}

/* Whether the packet with this record has the same piece of the stream as `place`, and its bytes
 * count in the first pass: the receiver took the packet in when it came, or the packet is a
 * retransmission that replaces a refused packet. */
static bool
carries_bytes(const smcr_record_t *record, const smcr_place_t *place)
{
    if (!record->write_location)
        return false;
    const smcr_place_rare_t *rare = smcr_place_rare(record->write_location);
    smcr_stream_range_t range = smcr_place_range(record->write_location);
    bool counts = record->receiver_action == SMCR_FLOW_RECEIVER_TAKES || (rare && rare->replaces);

    return counts && range.known && range.position == place->position &&
           record->write_location->length == place->length;
}

/* Notes that a retransmitted WRITE packet replaces its previous transmission, if the receiver has
 * refused the previous transmission (smcr_flow_verdict_t.refused_frame). The refused packet is in
 * order in the capture, so its bytes count in the first pass. But downstream of the capture point
 * the packet was lost or damaged, or an earlier packet was lost. So the receiver has the bytes of
 * the retransmission. */
static void
note_replacement(const smcr_arrival_t *arrival)
{
    smcr_state_t *state = arrival->state;
    smcr_place_t *place = arrival->record->write_location;
    uint32_t frame = arrival->refused_frame;
    smcr_record_t refused;

    if (!frame || !smcr_record_find(state, frame, SMCR_RECORD_OUTERMOST, &refused) ||
        !carries_bytes(&refused, place))
        return;
    smcr_place_rare_t *old = smcr_place_make_rare(state, refused.write_location);
    old->replaced_in = arrival->when.frame;
    smcr_place_make_rare(state, place)->replaces =
        old->replaces ? old->replaces : refused.write_location;
}

/* Takes in the message in the immediate data of a WRITE without data. */
static void
take_in_bare_message(const smcr_arrival_t *arrival)
{
    const smcr_state_content_t content = {.message = smcr_state_immediate_of(arrival, NULL)};

    arrival->record->conn = content.message.conn;
    if (content.message.conn)
        smcr_state_take_in_or_defer(arrival, &content);
}

/* Returns the message in the immediate data of the WRITE packet. The message names a connection: if
 * this is the likely connection of the request, it becomes the certain one. `write`: request of the
 * packet; NULL: not known. */
static smcr_state_immediate_t
find_message(const smcr_arrival_t *arrival, smcr_write_t *write)
{
    smcr_state_immediate_t message = smcr_state_immediate_of(arrival, write);

    if (write && message.conn && write->likely_conn == message.conn) {
        smcr_write_prove_owner(write, message.conn);
        smcr_orphan_place(arrival, write);
    }
    return message;
}

/* Takes in the bytes of a WRITE packet, and the message in its immediate data (`content->message`).
 * Keeps both if the packet comes after a PSN gap. `placed`: the position of the bytes is known. */
static void
take_in_write(const smcr_arrival_t *arrival, smcr_state_content_t *content, bool placed)
{
    smcr_record_t *record = arrival->record;

    if (placed || record->receiver_action == SMCR_FLOW_RECEIVER_WAITS) {
        content->place = record->write_location;
        content->roce = arrival->roce;
        content->conn = record->conn;
    }
    if (!record->conn)
        record->conn = content->message.conn;
    if (content->place || content->message.conn)
        smcr_state_take_in_or_defer(arrival, content);
}

/* The place comes before the message in the immediate data, which refers to it. Both are deferred
 * together (deferred.c). */
void
smcr_state_place_write(const smcr_arrival_t *arrival)
{
    smcr_lgr_t *lgr = arrival->qp->link->lgr;

    begin_place(arrival);
    judge_retransmitted_write(arrival);
    if (smcr_state_immediate_is_bare(arrival)) {
        take_in_bare_message(arrival);
        return;
    }
    smcr_write_t *write = find_request(arrival);
    smcr_state_content_t content = {.message = find_message(arrival, write)};
    bool placed = write && smcr_write_place_packet(arrival, write);
    if (!lgr->immediate_agreed && shows_immediate_data(arrival, placed))
        lgr->immediate = true;
    if (placed)
        note_replacement(arrival);
    else
        note_unpositioned(arrival, write);
    take_in_write(arrival, &content, placed);
    if (!content.message.conn)
        smcr_state_immediate_begin(arrival, write);
}

/* Numbers a SEND packet within its message, by the distance of its PSN from the PSN of the
 * message's first packet. The packet gets no number, and its content counts as missing, in three
 * cases: 1. the first packet has not come; 2. the last packet of the message has come before; 3.
 * the distance is PARTS_MAX or more. */
static void
number_part(const smcr_arrival_t *arrival)
{
    smcr_qp_t *qp = arrival->qp;
    smcr_record_t *record = arrival->record;
    uint8_t opcode = arrival->roce->opcode;
    bool first = opcode == SMCR_RC_SEND_FIRST;

    if (first)
        qp->send_psn = arrival->psn;
    uint64_t part = arrival->psn - qp->send_psn;
    record->has_part = first || (qp->send_unfinished && part > 0 && part < PARTS_MAX);
    qp->send_unfinished = record->has_part && smcr_ib_operations[opcode].is_first_or_middle;
    if (!record->has_part) {
        smcr_evidence_pass_over(arrival);
        return;
    }
    record->part = (smcr_record_part_t){(uint32_t)(qp->send_psn & SMCR_PSN_MASK), (uint32_t)part};
}

/* Only packets that the receiver takes in are numbered. */
void
smcr_state_place_send(const smcr_arrival_t *arrival)
{
    const smcr_record_t *record = arrival->record;
    const smcr_ib_operation_t *operation = &smcr_ib_operations[arrival->roce->opcode];

    if (!operation->is_send || operation->is_whole_send)
        return;
    if (record->receiver_action == SMCR_FLOW_RECEIVER_WAITS)
        smcr_evidence_pass_over(arrival);
    if (record->receiver_action == SMCR_FLOW_RECEIVER_TAKES)
        number_part(arrival);
}
