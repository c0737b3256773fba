/* Counts the packets of RDMA flows. A flow is what one queue pair sends to another. Times that a
 * response shows (acknowledgement, completion, CNP) count for the flow of the requests, not for the
 * flow that carried the response.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "collectors.h"

#include "fields.h"
#include "wire/wire.h"

#define STEPS_KEPT 16 /* number of last steps back that are kept for each flow: later packets may
                         show their cause */

#define FLOWS_MOST 65536 /* number of flows after which no flow gets figures but those of links: a
                            flow takes about 4 kB, so that these take 250 MB */

/* The packets that a flow retransmitted in one step back (go-back-N). */
typedef struct {
    const smcr_step_back_t *step; /* the step back, in the state; NULL: this element and all later
                                     ones are not used */
    /* number of packets retransmitted in this step back */
    uint64_t packets;
} stepped_t;

/* A flow with its figures. Exactly one of `to` and `foreign` is set, and identifies the flow. */
typedef struct {
    const smcr_qp_t *to;             /* queue pair of a link that receives the flow; NULL: no
                                        link */
    const smcr_rdma_flow_t *foreign; /* the flow in fabric/peers, if it is the flow of no link;
                                        NULL: flow of a link */
    uint32_t index;                  /* index of the flow in the last report */
    bool merged;                     /* the figures were added to the flow of a link, since both are
                                        the same flow */
    bool lacks_ecn;                  /* the ECN codepoint of at least one packet is not known */
    const smcr_record_cm_t *cm;      /* last RDMA-CM message of the flow; NULL: none */
    uint8_t source[SMCR_GID_LENGTH]; /* source GID of the flow's packets */
    smcr_collect_heard_t *heard;     /* last packets from the flow's source to its destination;
                                        NULL: no packet yet */
    smcr_collect_heard_t *back;      /* last packets in the other direction; NULL: no packet yet */
    /* entry of the flow, filled while packets come */
    smcr_entry_rdma_t figures;
    smcr_entry_icrcs_t icrc;         /* counts of checked ICRCs of the flow's packets */
    smcr_collect_flow_times_t times; /* times of retransmissions, of waits after RNR NAKs, and of
                                        silences */
    smcr_collect_flow_sizes_t sizes; /* sizes of acknowledged packets, and of a stuck one */
    smcr_recovery_flow_t recovery;   /* gaps, NAKs and retransmissions of the flow's requests */
    smcr_ib_network_t network;       /* VLAN and tunnel of the first packet */
    smcr_figure_tally_t ports;       /* packets by UDP source port */
    smcr_when_t cnp;                 /* the flow's last CNP; frame 0: none */
    smcr_when_t early_cnp;           /* the flow's first CNP, if no reverse flow with marks was
                                        known; frame 0: it was, or the CNP is counted since */
    smcr_when_t first_mark;          /* the flow's first packet with CE; frame 0: none */
    smcr_classes_marks_t *marks;     /* marked packets that wait for a CNP; NULL: no packet was
                                        marked */
    uint16_t port;                   /* UDP source port of the last data packet; 0: none */
    smcr_when_t ack;                 /* the flow's last acknowledgement; frame 0: none */
    smcr_classes_reaction_t *reaction; /* reaction of the flow's sender to CNPs; NULL: the flow has
                                        no packet that a switch can mark */
    smcr_pause_flow_t pause;         /* standstills of the flow while a port paused its class */
    stepped_t steps[STEPS_KEPT]; /* last steps back of the flow, the newest first */
    uint32_t frame_before; /* frame of the flow's packet before the current one; 0: none */
    bool asks_again; /* a request was retransmitted, so the peer may send READ responses twice */
    wmem_map_t *odd; /* packets with something odd: number of the frame -> odd_t; NULL: none */
} followed_t;

/* What is odd about a packet. LATE: the packet came out of order. LATE_AND_ASKED_FOR: the packet
 * came out of order, and a NAK that asks for the packet has been counted. DAMAGED: the packet has a
 * wrong ICRC. ASKS_FOR_DAMAGED: the packet is a NAK of the reverse flow that asks for a damaged
 * packet. */
typedef enum { NOT_ODD, LATE, LATE_AND_ASKED_FOR, DAMAGED, ASKS_FOR_DAMAGED } odd_t;

/* ---- finding ---- */

/* Whether a new flow gets no figures: it is no flow of a link, and FLOWS_MOST flows have figures.
 * `to`: see follow(). */
static bool
has_no_room(const smcr_collect_t *collection, const smcr_qp_t *to)
{
    return !to && collection->rdma_list.length >= FLOWS_MOST;
}

/* Returns the figures of the flow to queue pair `to` of a link or, if `to` is NULL, of the flow
 * `foreign`. If there are none, they are made. Returns NULL if `to` and `foreign` are both NULL, or
 * if there is no room (has_no_room()). */
static followed_t *
follow(smcr_collect_t *collection, const smcr_qp_t *to, const smcr_rdma_flow_t *foreign)
{
    static const smcr_figure_description_t size = {sizeof(followed_t), 0, NULL};
    const void *which = to ? (const void *)to : foreign;
    followed_t *flow = which ? wmem_map_lookup(collection->rdma, which) : NULL;

    if (which && !flow && !has_no_room(collection, to)) {
        flow = smcr_figure_list_add(&collection->rdma_list, collection->scope, &size);
        smcr_entry_clear(&flow->figures, &smcr_entry_rdma_description);
        flow->to = to;
        flow->foreign = foreign;
        wmem_map_insert(collection->rdma, which, flow);
        wmem_map_insert(collection->flow_times, which, &flow->times);
    }
    return flow;
}

/* Returns the queue pair of the packet's link that receives the packet: the queue pair opposite to
 * the sender. If the sender is not known, it is the queue pair whose number is the packet's
 * destination queue pair. NULL: not known. */
static const smcr_qp_t *
receiver_of(const smcr_tap_t *packet)
{
    const smcr_link_t *link = packet->record->link;

    if (smcr_record_tapped(packet->record)) /* no network has carried the packet */
        return NULL;
    if (packet->record->sender >= 0)
        return &link->qp[!packet->record->sender];
    for (unsigned side = 0; side < 2; side++)
        if (link->qp[side].number_known && link->qp[side].key.qpn == packet->roce->destination.qpn)
            return &link->qp[side];
    return NULL;
}

/* Returns the queue pair that sends the flow of a link; NULL: the flow is of no link. */
static const smcr_qp_t *
sender_of(const followed_t *flow)
{
    return flow->to ? &flow->to->link->qp[!flow->to->side] : NULL;
}

/* Returns the figures of the reverse flow; NULL: the reverse flow is not known, or none of its
 * packets has come. */
static followed_t *
peer_of(const smcr_collect_t *collection, const followed_t *flow)
{
    const smcr_qp_t *from = sender_of(flow);

    return wmem_map_lookup(collection->rdma, from ? (const void *)from : flow->foreign->peer);
}

/* ---- counting ---- */

/* Counts the ECN codepoint of the packet. The codepoint is not known in three cases: RoCEv1 and
 * InfiniBand, which have no IP header, and IP fragments, whose IP header is not found. If the
 * codepoint of one packet is not known, the report has no counts of codepoints for the flow. */
static void
count_ecn(smcr_collect_t *collection, followed_t *flow, smcr_when_t when,
          const smcr_ib_headers_t *roce)
{
    flow->lacks_ecn |= !roce->has_ecn;
    if (!roce->has_ecn)
        return;
    smcr_figure_codepoints_count(&flow->figures.ecn, roce->ecn);
    if (roce->ecn == SMCR_WIRE_ECN_CE)
        smcr_collect_notices_count(collection, "smcr.ecn == 3", when, 1);
    if (!smcr_ib_has_outer_mark(roce) || roce->ecn == SMCR_WIRE_ECN_CE)
        return;
    flow->figures.outer_ce++;
    smcr_collect_notices_count(collection, "smcr.ecn.outer == 3", when, 1);
}

/* Returns what is odd about the packet in `frame`; NOT_ODD: nothing. */
static odd_t
odd_of(const followed_t *flow, uint32_t frame)
{
    return flow->odd ? GPOINTER_TO_UINT(wmem_map_lookup(flow->odd, GUINT_TO_POINTER(frame)))
                     : NOT_ODD;
}

/* Notes what is odd about the packet in `frame`. */
static void
set_odd(const smcr_collect_t *collection, followed_t *flow, uint32_t frame, odd_t odd)
{
    if (!flow->odd)
        flow->odd = wmem_map_new(collection->scope, g_direct_hash, g_direct_equal);
    wmem_map_insert(flow->odd, GUINT_TO_POINTER(frame), GUINT_TO_POINTER(odd));
}

/* Counts a NAK by its code. */
static void
count_nak_code(smcr_entry_naks_t *naks, unsigned code)
{
    uint64_t *const counts[] = {
        [SMCR_IB_NAK_PSN_SEQUENCE] = &naks->psn_sequence,
        [SMCR_IB_NAK_INVALID_REQUEST] = &naks->invalid_request,
        [SMCR_IB_NAK_REMOTE_ACCESS] = &naks->remote_access,
        [SMCR_IB_NAK_REMOTE_OPERATION] = &naks->remote_operational,
        [SMCR_IB_NAK_INVALID_RD_REQUEST] = &naks->invalid_rd,
    };

    if (code < array_length(counts))
        (*counts[code])++;
}

/* Takes a NAK for a PSN sequence error, which asks for a retransmission. `record->refuses` is the
 * frame of the packet that the NAK asks for; 0: not captured. If this packet was captured, it was
 * not lost upstream of the capture point: it came out of order, or damaged. `requests`: the flow of
 * this packet. */
static void
note_asked_packet(smcr_collect_t *collection, followed_t *requests, smcr_when_t when,
                  const smcr_record_t *record)
{
    odd_t odd = odd_of(requests, record->refuses);

    if (odd == LATE) {
        requests->figures.late_naks++; /* another NAK for the packet is a duplicate: a receiver asks
                                          once (InfiniBand vol. 1, 9.7.5.2.8) */
        set_odd(collection, requests, record->refuses, LATE_AND_ASKED_FOR);
    }
    if (odd == DAMAGED)
        set_odd(collection, requests, when.frame, ASKS_FOR_DAMAGED);
}

/* Counts a NAK or RNR NAK of the flow. Both are acknowledgements whose AETH has a syndrome of this
 * kind (InfiniBand vol. 1, 9.7.5.2.8). Other packets are ignored. A NAK starts a measurement of the
 * sender's reaction, unless the NAK is a duplicate, or the sender waits for its RNR timer: then it
 * does not answer a NAK at once. */
static void
count_nak(smcr_collect_t *collection, followed_t *flow, smcr_when_t when, const smcr_tap_t *packet)
{
    const smcr_ib_headers_t *roce = packet->roce;
    followed_t *requests = peer_of(collection, flow);
    unsigned kind = smcr_wire_bits(roce->syndrome, SMCR_MASK_SYNDROME_KIND);
    unsigned code = smcr_wire_bits(roce->syndrome, SMCR_MASK_SYNDROME_CODE);

    if (!roce->has_aeth || roce->opcode != SMCR_RC_ACK)
        return;
    if (kind == SMCR_IB_SYNDROME_RNR_NAK)
        flow->figures.rnr_nak++;
    if (kind != SMCR_IB_SYNDROME_NAK)
        return;
    count_nak_code(&flow->figures.nak, code);
    if (code != SMCR_IB_NAK_PSN_SEQUENCE)
        smcr_collect_notices_count(collection, "smcr.nak.code > 0", when, 1);
    if (code != SMCR_IB_NAK_PSN_SEQUENCE || !requests)
        return;
    note_asked_packet(collection, requests, when, packet->record);
    bool waits_for_rnr_timer = requests->times.rnr.frame != 0;
    if (packet->record->order != SMCR_FLOW_IS_COPY && !waits_for_rnr_timer)
        smcr_recovery_take_nak(&requests->recovery, collection->scope, when, roce->psn);
}

/* Adds the packets of a step back to the count of its cause. A step back after a NAK for a damaged
 * packet counts as caused by the wrong ICRC. */
static void
count_cause(smcr_entry_causes_t *causes, const followed_t *flow, const stepped_t *stepped)
{
    const smcr_step_back_t *step = stepped->step;
    bool damaged = odd_of(flow, step->nak.frame) == ASKS_FOR_DAMAGED;
    uint64_t *const counts[] = {
        [SMCR_CAUSE_NONE] = &causes->unknown,    [SMCR_CAUSE_UNKNOWN] = &causes->unknown,
        [SMCR_CAUSE_RNR] = &causes->rnr,
        [SMCR_CAUSE_NAK] = damaged ? &causes->icrc : &causes->nak,
        [SMCR_CAUSE_READ] = &causes->read,       [SMCR_CAUSE_TIMEOUT] = &causes->timeout,
    };

    *counts[step->cause] += stepped->packets;
}

/* Counts a retransmission. Later packets may show the cause of its step back. So the last
 * STEPS_KEPT steps back of a flow are counted when the report is made; an older step back is
 * counted when a new one replaces it.
 * A packet without step back may be a response: then `requests` is the flow of the requests. If the
 * requester has retransmitted its READ, this is the cause. Otherwise, and if `requests` is NULL,
 * the cause is not known. */
static void
count_repeat(followed_t *flow, const followed_t *requests, const smcr_step_back_t *step)
{
    stepped_t *newest = &flow->steps[0];

    flow->figures.repeated++;
    if (!step) {
        flow->figures.repeated_after.read += requests && requests->asks_again;
        flow->figures.repeated_after.unknown += !requests || !requests->asks_again;
        return;
    }
    if (newest->step != step) {
        const stepped_t *oldest = &flow->steps[STEPS_KEPT - 1];
        if (oldest->step)
            count_cause(&flow->figures.repeated_after, flow, oldest);
        memmove(flow->steps + 1, flow->steps, sizeof flow->steps - sizeof *flow->steps);
        *newest = (stepped_t){step, 0};
    }
    newest->packets++;
}

/* Counts the verdict on the packet's PSN: a sequence gap before the packet, a duplicate made by the
 * network, a retransmission, or a first transmission (goodput). Also notes damaged and out-of-order
 * packets, and keeps gaps of two packets and more for the collectors of connections. */
static void
count_order(smcr_collect_t *collection, followed_t *flow, smcr_when_t when,
            const smcr_tap_t *packet)
{
    const smcr_record_t *record = packet->record;
    smcr_entry_rdma_t *figures = &flow->figures;
    bool is_response = smcr_ib_operations[packet->roce->opcode].is_response;
    const followed_t *requests = is_response ? peer_of(collection, flow) : NULL;

    /* `icrc` is 1 + smcr_ib_icrc_status_t; 0: not checked */
    if (packet->roce->icrc == SMCR_IB_ICRC_BAD + 1)
        set_odd(collection, flow, when.frame, DAMAGED);
    else if (record->order == SMCR_FLOW_IS_LATE)
        set_odd(collection, flow, when.frame, LATE);
    if (record->order == SMCR_FLOW_IS_LATE)
        wmem_array_append_one(collection->late_steps, record->step);
    flow->asks_again |= !is_response && record->step;
    figures->gaps += record->missing_before > 0;
    figures->missing += record->missing_before;
    if (record->missing_before > 1)
        smcr_collect_gaps_add(&collection->roce_gaps,
                              (smcr_collect_gap_t){flow->frame_before, when.frame});
    if (record->order == SMCR_FLOW_IS_COPY)
        figures->copies++;
    else if (record->order == SMCR_FLOW_IS_RETRANSMISSION)
        count_repeat(flow, requests, record->step);
    else
        figures->goodput_bytes += (uint64_t)packet->roce->payload_length;
}

/* Counts a checked ICRC. `checked`: 1 + smcr_ib_icrc_status_t; 0: not checked, and nothing is
 * counted. */
static void
count_icrc(smcr_entry_icrcs_t *icrc, uint8_t checked)
{
    uint64_t *const counts[] = {
        [SMCR_IB_ICRC_BAD] = &icrc->bad,
        [SMCR_IB_ICRC_GOOD] = &icrc->good,
        [SMCR_IB_ICRC_UNVERIFIED] = &icrc->unverified,
    };

    if (checked)
        (*counts[checked - 1])++;
}

/* Takes a request of a reliable connection for the flow's recovery. Responses and duplicates are
 * ignored. */
static void
take_recovery(smcr_collect_t *collection, followed_t *flow, smcr_when_t when,
              const smcr_tap_t *packet)
{
    const smcr_record_t *record = packet->record;
    const smcr_ib_headers_t *roce = packet->roce;
    smcr_recovery_request_t request = {.when = when,
                                       .psn = roce->psn,
                                       .order = record->order,
                                       .missing = record->missing_before,
                                       .is_read = roce->opcode == SMCR_RC_READ_REQUEST,
                                       .was_acked = record->was_acked,
                                       .first_time = record->first_time,
                                       .step = record->step};

    if (roce->opcode >= SMCR_RC_OPCODES || smcr_ib_operations[roce->opcode].is_response)
        return;
    if (record->order != SMCR_FLOW_IS_COPY)
        smcr_recovery_take_request(&flow->recovery, collection->scope, &request);
}

/* Returns the last CNPs of the capture. */
static smcr_classes_pacing_t *
pacing_of(smcr_collect_t *collection)
{
    if (!collection->pacing)
        collection->pacing = smcr_classes_pacing_new(collection->scope);
    return collection->pacing;
}

/* Whether the packet carries data or requests it: no acknowledgement, and no CNP. */
static bool
is_data(const smcr_ib_headers_t *roce)
{
    return roce->opcode != SMCR_RC_ACK && roce->opcode != SMCR_RC_ATOMIC_ACK &&
           roce->opcode != SMCR_IB_CNP;
}

/* Counts a CNP of the flow, which slows the sender of the reverse flow down. */
static void
count_cnp(smcr_collect_t *collection, followed_t *flow, smcr_when_t when,
          const smcr_ib_headers_t *roce)
{
    followed_t *slowed = peer_of(collection, flow);
    smcr_classes_pacing_t *pacing = pacing_of(collection);

    smcr_classes_pacing_take(pacing, &flow->figures.cnp_pacing, flow->cnp, when, roce);
    flow->cnp = when;
    if (!slowed)
        return;
    smcr_classes_pacing_answer(pacing, slowed->marks, &slowed->figures.withheld, when, roce);
    smcr_classes_reaction_notify(slowed->reaction);
}

/* Counts a marked data packet, which its receiver answers with a CNP. Marked acknowledgements are
 * not counted, since not every receiver answers them. */
static void
count_mark(smcr_collect_t *collection, followed_t *flow, smcr_when_t when,
           const smcr_ib_headers_t *roce)
{
    const followed_t *back = peer_of(collection, flow);
    smcr_when_t none = {0, 0};

    if (back)
        smcr_classes_pacing_mark(pacing_of(collection), &flow->marks, &flow->figures.withheld,
                                 back->figures.cnp_pacing ? back->cnp : none,
                                 &(smcr_classes_marked_t){when, roce});
}

/* Counts a data packet whose UDP source port differs from that of the data packet before. Packets
 * between the two that are no data, or have no UDP port, are ignored. */
static void
count_port_change(followed_t *flow, const smcr_ib_headers_t *roce)
{
    if (!is_data(roce) || !roce->udp_port)
        return;
    flow->figures.port_changes += flow->port && flow->port != roce->udp_port;
    flow->port = roce->udp_port;
}

/* Counts a CNP, or takes a data packet for the measurement of how the flow's sender reacts to
 * CNPs. */
static void
count_congestion(smcr_collect_t *collection, followed_t *flow, smcr_when_t when,
                 const smcr_ib_headers_t *roce)
{
    if (roce->opcode == SMCR_IB_CNP)
        count_cnp(collection, flow, when, roce);
    else if (is_data(roce))
        smcr_classes_reaction_take(&flow->reaction, &flow->figures.reaction, collection->scope,
                                   when, roce);
}

/* Adds the time from `from` to `to`, two times of packets. Adds nothing if `to` is earlier than
 * `from`: the clock of the capture went back. */
static void
measure(smcr_distribution_t **distribution, wmem_allocator_t *scope, uint64_t from, uint64_t to)
{
    if (to >= from)
        smcr_distribution_add_time(distribution, scope, to - from);
}

/* Counts the flow's first CNP as an answer to the first mark of the reverse flow, if the mark came
 * before. Responses prove only later which flow is the reverse one, so the state has not assigned
 * the mark to the CNP. */
static void
count_early_cnp(const smcr_collect_t *collection, followed_t *flow)
{
    followed_t *marked = peer_of(collection, flow);

    if (!marked)
        return;
    if (marked->first_mark.frame && marked->first_mark.frame < flow->early_cnp.frame)
        measure(&marked->figures.ce_to_cnp_s, collection->scope, marked->first_mark.time,
                flow->early_cnp.time);
    flow->early_cnp = (smcr_when_t){0, 0};
}

/* Notes a mark and a CNP of the flow for count_early_cnp(). */
static void
note_early(followed_t *flow, smcr_when_t when, const smcr_record_t *record)
{
    const smcr_ecn_cnp_t *cnp = record->cnp;

    if (record->ce && !flow->first_mark.frame)
        flow->first_mark = record->ce->first;
    if (cnp && !cnp->ce.frame && !cnp->last_cnp.frame)
        flow->early_cnp = when;
}

/* Counts the class and the UDP source port of a packet, and its marks. Ignores duplicates, whose
 * original is counted, and packets with a wrong ICRC, whose class may not be the one that the
 * sender has given them. */
static void
count_class(smcr_collect_t *collection, followed_t *flow, smcr_when_t when,
            const smcr_tap_t *packet)
{
    const smcr_ib_headers_t *roce = packet->roce;

    if (packet->record->order == SMCR_FLOW_IS_COPY || roce->has_bad_icrc)
        return;
    smcr_classes_count(&flow->figures.classes, collection->scope, when, roce);
    if (roce->udp_port)
        smcr_figure_tally_count(&flow->ports, collection->scope, roce->udp_port, when);
    count_port_change(flow, roce);
    if (smcr_ib_has_mark(roce) && is_data(roce))
        count_mark(collection, flow, when, roce);
    count_congestion(collection, flow, when, roce);
    if (roce->ecn == SMCR_WIRE_ECN_NOT_ECT)
        return;
    if (!collection->shares)
        collection->shares = smcr_classes_shares_new(collection->scope);
    smcr_classes_shares_take(collection->shares, when, smcr_ib_has_mark(roce));
}

/* Counts a packet in the figures of its flow. */
static void
count_packet(smcr_collect_t *collection, followed_t *flow, smcr_when_t when,
             const smcr_tap_t *packet)
{
    const smcr_ib_headers_t *roce = packet->roce;
    smcr_entry_rdma_t *figures = &flow->figures;

    if (!figures->first_frame.frame) {
        figures->first_frame = when;
        flow->network = roce->outer.network;
    }
    memcpy(flow->source, roce->source, sizeof flow->source);
    flow->frame_before = figures->last_frame.frame;
    figures->last_frame = when;
    if (packet->record->kind == SMCR_RECORD_ACK)
        flow->ack = when;
    figures->packets++;
    figures->bytes += roce->length;
    figures->payload_bytes += (uint64_t)roce->payload_length;
    if (packet->record->kind == SMCR_RECORD_CDC)
        figures->cdc_bytes += (uint64_t)roce->payload_length;
    else if (packet->record->kind == SMCR_RECORD_LLC)
        figures->llc_bytes += (uint64_t)roce->payload_length;
    figures->cnp += roce->opcode == SMCR_IB_CNP;
    smcr_figure_opcodes_count(&figures->opcodes, collection->scope, roce->opcode, 1);
    count_ecn(collection, flow, when, roce);
    count_class(collection, flow, when, packet);
    note_early(flow, when, packet->record);
    if (flow->early_cnp.frame)
        count_early_cnp(collection, flow);
    count_nak(collection, flow, when, packet);
    count_order(collection, flow, when, packet);
    take_recovery(collection, flow, when, packet);
    count_icrc(&flow->icrc, roce->icrc);
    if (packet->record->cm)
        flow->cm = packet->record->cm;
}

/* Counts the time before the packet as a standstill of the flow if a port had paused its class. */
static void
count_standstill(const smcr_collect_t *collection, followed_t *flow, smcr_when_t when)
{
    const smcr_entry_rdma_t *figures = &flow->figures;
    smcr_pause_gap_t gap = {.from = figures->last_frame, .to = when,
                            .first = figures->first_frame, .packets = figures->packets};

    smcr_pauses_take_packet(collection->pauses, &flow->pause, &gap, &collection->header);
}

/* ---- what else a silent peer sends ---- */

/* Notes when the flow's source was last heard. */
static void
note_heard(smcr_collect_t *collection, followed_t *flow, smcr_when_t when)
{
    const uint8_t *to = flow->to ? flow->to->key.gid : flow->foreign->key.target.gid;

    if (!flow->heard) {
        flow->heard = smcr_collect_heard_of(collection, flow->source, to);
        flow->back = smcr_collect_heard_of(collection, to, flow->source);
    }
    flow->heard->roce = when;
}

/* Whether the silent host was heard elsewhere during the silence. */
static bool
was_heard(const smcr_collect_silence_t *silence)
{
    return silence->other_qp.frame || silence->other_link.frame || silence->tcp.frame;
}

/* Notes the packets that the silent peer of the flow has sent elsewhere so far. */
static void
note_elsewhere(const smcr_collect_t *collection, followed_t *flow)
{
    if (flow->back)
        smcr_collect_heard_note(collection, flow->back, flow->to, &flow->times.silent);
}

/* ---- what a response shows of the reverse flow ---- */

/* Counts the times that a response shows, in the figures of its requests:
 * 1. from a packet to its acknowledgement;
 * 2. from the first packet of a message to the completion of the message;
 * 3. from a mark CE to the CNP.
 * Time 1 is left out if the packet was retransmitted before (`is_ambiguous`): the acknowledgement
 * may be for either transmission. Time 2 of a message with a retransmitted packet also counts in a
 * figure of its own (`repeated_completion_time_s`). */
static void
count_answer(smcr_entry_rdma_t *requests, wmem_allocator_t *scope, smcr_when_t when,
             const smcr_record_t *record)
{
    const smcr_record_wait_t *acks = &record->acks;

    if (acks->frame && acks->time != SMCR_RECORD_NO_TIME && !acks->is_ambiguous)
        smcr_distribution_add_time(&requests->ack_time_s, scope, acks->time);
    for (const smcr_completion_t *message = record->completed_messages; message;
         message = smcr_completion_next(message)) {
        measure(&requests->completion_time_s, scope, message->time, when.time);
        if (message->was_retransmitted)
            measure(&requests->repeated_completion_time_s, scope, message->time, when.time);
    }
    if (record->cnp && record->cnp->ce.frame)
        measure(&requests->ce_to_cnp_s, scope, record->cnp->ce.time, when.time);
}

void
smcr_collect_rdma_flows_count_stray_icrc(smcr_collect_t *collection, uint8_t icrc)
{
    count_icrc(&collection->stray_icrcs, icrc);
}

/* Whether the packet acknowledges all requests up to its PSN. */
static bool
is_acknowledgement(const smcr_ib_headers_t *roce)
{
    unsigned kind = smcr_wire_bits(roce->syndrome, SMCR_MASK_SYNDROME_KIND);

    if (roce->opcode >= SMCR_RC_OPCODES || !smcr_ib_operations[roce->opcode].is_response)
        return false;
    return roce->opcode != SMCR_RC_ACK || kind == SMCR_IB_SYNDROME_ACK;
}

/* Takes a packet, which is no duplicate, as a sign that its sender is alive, and as an answer to
 * requests. `answered`: the reverse flow, which has these requests; NULL: none. */
static void
hear(smcr_collect_t *collection, followed_t *flow, followed_t *answered, smcr_when_t when,
     const smcr_tap_t *packet)
{
    note_heard(collection, flow, when);
    if (!answered)
        return;
    if (is_acknowledgement(packet->roce))
        smcr_recovery_take_ack(&answered->recovery, when, packet->roce->psn);
    smcr_collect_flow_times_hear(&answered->times, collection->scope, when, packet);
    smcr_collect_flow_sizes_hear(&answered->sizes, packet->roce);
}

/* Counts the flow of a packet that has no figures, at its first packet. `flow` NULL: the packet has
 * no flow. */
static void
note_uncounted(smcr_collect_t *collection, const smcr_rdma_flow_t *flow)
{
    if (!flow)
        return;
    if (!collection->uncounted_flows)
        collection->uncounted_flows = wmem_array_new(collection->scope, 1);
    if (smcr_collect_bits_has(collection->uncounted_flows, flow->index))
        return;
    smcr_collect_bits_set(collection->uncounted_flows, flow->index);
    collection->capture.flows_not_counted++;
}

void
smcr_collect_rdma_flows_take(smcr_collect_t *collection, smcr_when_t when,
                             const smcr_tap_t *packet)
{
    const smcr_record_t *record = packet->record;
    const smcr_qp_t *to = record->link ? receiver_of(packet) : NULL;
    followed_t *flow = follow(collection, to, to ? NULL : record->rdma);

    if (!flow) {
        note_uncounted(collection, record->rdma);
        smcr_collect_rdma_flows_count_stray_icrc(collection, packet->roce->icrc);
        return;
    }
    if (collection->has_header)
        count_standstill(collection, flow, when);
    count_packet(collection, flow, when, packet);
    if (collection->series)
        smcr_series_take_flow(collection->series, flow,
                              &(smcr_series_packet_t){when, record, packet->roce, {0, 0}});
    if (record->order != SMCR_FLOW_IS_COPY)
        hear(collection, flow, peer_of(collection, flow), when, packet);
    smcr_collect_flow_times_take(&flow->times, collection->scope, when, packet);
    smcr_collect_flow_sizes_take(&flow->sizes, when, packet);
    if (flow->times.silent.time.end.frame == when.frame)
        note_elsewhere(collection, flow);
    if (!record->acks.frame && !record->completed_messages && !record->cnp)
        return;
    followed_t *requests =
        follow(collection, sender_of(flow), flow->foreign ? flow->foreign->peer : NULL);
    if (requests)
        count_answer(&requests->figures, collection->scope, when, record);
}

/* ---- reporting ---- */

/* Fills in the queue pair that sends the flow, and the ground on which its number is known.
 * SMCR_GROUND_NONE: the number is not known. */
static void
name_source(smcr_entry_rdma_t *entry, uint32_t qpn, unsigned ground)
{
    if (ground == SMCR_GROUND_NONE)
        return;
    entry->src_qpn = qpn;
    entry->src_qpn_from = (smcr_figure_source_t)ground;
}

/* Fills in kind, addresses and queue pairs of a flow of a link. */
static void
name_link_flow(smcr_entry_rdma_t *entry, const followed_t *flow, wmem_allocator_t *scope)
{
    const smcr_qp_t *to = flow->to, *from = &to->link->qp[!to->side];

    entry->kind = SMCR_FIGURE_FLOW_SMCR;
    entry->src = smcr_figure_gid_text(scope, flow->source);
    entry->dst = smcr_figure_gid_text(scope, to->key.gid);
    entry->dst_qpn = to->number_known ? to->key.qpn : SMCR_FIGURE_UNKNOWN;
    if (from->number_known)
        name_source(entry, from->key.qpn, from->ground);
}

/* Returns the RDMA-CM state of one end, as a word of smcr_figure_cm_state_words; 0: not known.
 * `side`: SMCR_CM_CLIENT or SMCR_CM_SERVER. */
static smcr_figure_cm_state_t
cm_state_of(const smcr_cm_conn_t *conn, unsigned side)
{
    const smcr_cm_end_t *end = &conn->ends[side];

    return end->state_known ? SMCR_FIGURE_CM_STATE_KNOWN(end->state) : 0;
}

/* Returns an entry that describes the RDMA-CM connection of a flow: the states of its ends, if it
 * is known which end is the client; service ID, port and the reason of a REJ, each if it is known.
 * The entry is allocated in `scope`. */
static smcr_entry_flow_cm_t *
cm_entry(const smcr_cm_conn_t *conn, wmem_allocator_t *scope)
{
    smcr_entry_flow_cm_t *entry = wmem_new(scope, smcr_entry_flow_cm_t);

    smcr_entry_clear(entry, &smcr_entry_flow_cm_description);
    if (conn->roles_known) {
        entry->client_state = cm_state_of(conn, SMCR_CM_CLIENT);
        entry->server_state = cm_state_of(conn, SMCR_CM_SERVER);
    }
    if (conn->service_known)
        entry->service_id = smcr_figure_hex_text(scope, conn->service_id, 8);
    if (conn->port_known)
        entry->port = conn->port;
    if (conn->rejected)
        entry->reject_reason = conn->reason;
    return entry;
}

/* Fills in kind, addresses and queue pairs of a flow that is not SMC-R. The kind is RDMA-CM if
 * RDMA-CM has set up the flow's connection, or if the flow carries messages of RDMA-CM. */
static void
name_foreign_flow(smcr_entry_rdma_t *entry, const followed_t *flow, wmem_allocator_t *scope)
{
    const smcr_rdma_flow_t *foreign = flow->foreign;
    bool managed = foreign->conn || flow->cm || foreign->key.target.qpn == SMCR_IB_GSI_QPN;

    entry->kind = managed ? SMCR_FIGURE_FLOW_CM : SMCR_FIGURE_FLOW_OTHER;
    entry->src = smcr_figure_gid_text(scope, foreign->key.source);
    entry->dst = smcr_figure_gid_text(scope, foreign->key.target.gid);
    entry->dst_qpn = foreign->key.target.qpn;
    if (!foreign->several_sources)
        name_source(entry, foreign->src_qpn, foreign->ground);
    if (flow->cm && foreign->key.target.qpn != SMCR_IB_GSI_QPN)
        entry->cm = cm_entry(flow->cm->conn, scope);
}

/* Returns the queue pair of a link that receives the flow `foreign`; NULL: the flow belongs to no
 * link. If the capture starts after the first contact, nothing proves that the first packets of a
 * link are SMC-R. Such packets were counted as a foreign flow, before later packets proved the
 * link. */
static const smcr_qp_t *
link_of_foreign(const smcr_rdma_flow_t *foreign)
{
    const smcr_state_t *state = smcr_capture_state();
    const smcr_qp_t *to = state ? smcr_qp_find(state, &foreign->key.target) : NULL;

    if (!to || foreign->conn || to->link->lgr->first_contact_captured)
        return NULL;
    const smcr_qp_t *from = &to->link->qp[!to->side];
    return smcr_gid_is_same(from->key.gid, foreign->key.source) ? to : NULL;
}

/* Returns the figures of the link's flow, if `flow` is a foreign flow that turns out to be the flow
 * of a link. NULL: `flow` belongs to no link. */
static followed_t *
link_flow_of(const smcr_collect_t *collection, const followed_t *flow)
{
    const smcr_qp_t *to = flow->foreign ? link_of_foreign(flow->foreign) : NULL;

    return to ? wmem_map_lookup(collection->rdma, to) : NULL;
}

/* Moves the figures of a foreign flow to the flow of a link, if both are the same flow
 * (link_flow_of()). */
static void
merge_into_link(smcr_collect_t *collection, followed_t *flow)
{
    followed_t *into = link_flow_of(collection, flow);

    flow->merged = flow->merged || into;
    if (!into || !flow->figures.packets)
        return;
    smcr_entry_join(&into->figures, &flow->figures, &smcr_entry_rdma_description,
                    collection->scope);
    into->figures.first_frame = smcr_figure_when_earlier(into->figures.first_frame,
                                                         flow->figures.first_frame);
    smcr_entry_join(&into->icrc, &flow->icrc, &smcr_entry_icrcs_description, collection->scope);
    smcr_collect_flow_times_move(&into->times, collection->scope, &flow->times);
    smcr_collect_flow_sizes_join(&into->sizes, &flow->sizes);
    smcr_pause_flow_join(&into->pause, collection->scope, &flow->pause);
    smcr_figure_tally_join(&into->ports, collection->scope, &flow->ports);
    into->lacks_ecn |= flow->lacks_ecn;
    for (unsigned i = 0; i < STEPS_KEPT && flow->steps[i].step; i++)
        count_cause(&into->figures.repeated_after, flow, &flow->steps[i]);
    smcr_recovery_join(&into->recovery, collection->scope, &flow->recovery);
    smcr_entry_clear(&flow->figures, &smcr_entry_rdma_description);
    memset(flow->steps, 0, sizeof flow->steps);
    memset(&flow->icrc, 0, sizeof flow->icrc);
    memset(&flow->pause, 0, sizeof flow->pause);
    memset(&flow->recovery, 0, sizeof flow->recovery);
    memset(&flow->ports, 0, sizeof flow->ports);
    memset(&flow->sizes, 0, sizeof flow->sizes);
}

/* Returns a copy of the counts, allocated in `scope`; NULL: all counts are 0, so no ICRC was
 * checked. */
static smcr_entry_icrcs_t *
icrcs_of(const smcr_entry_icrcs_t *icrc, wmem_allocator_t *scope)
{
    return icrc->good || icrc->bad || icrc->unverified ? wmem_memdup(scope, icrc, sizeof *icrc)
                                                       : NULL;
}

/* Adds an entry with the ICRCs of packets that belong to no flow. The entry comes after the last
 * entry of the list, and only sums include it (`rest`). */
static void
report_stray(const smcr_entry_icrcs_t *icrc, smcr_figure_list_t *list, wmem_allocator_t *scope)
{
    smcr_entry_rdma_t *rest = SMCR_FIGURE_ADD(rdma, list, scope);

    rest->copies = SMCR_FIGURE_UNKNOWN;
    smcr_entry_forget(&rest->ecn, &smcr_entry_codepoints_description);
    rest->icrc = icrcs_of(icrc, scope);
    list->rest = rest->icrc != NULL;
    list->length--;
}

/* Fills in what the order of the flow's packets shows: whether IP identifications distinguish
 * duplicates from retransmissions, and how many packets the receiver has acknowledged although the
 * capture has neither them nor a retransmission. The latter number is not known if the flow has
 * more sequence gaps than the state keeps, since the state then joins gaps. */
static void
fill_from_order(smcr_entry_rdma_t *entry, const followed_t *flow, const smcr_collect_t *collection)
{
    const smcr_traffic_t *traffic = flow->to ? &flow->to->traffic : flow->foreign->traffic;

    if (traffic)
        entry->knows_copies = smcr_figure_truth(smcr_flow_knows_copies(&traffic->flow));
    smcr_flow_lack_t lack = smcr_flow_lack(traffic ? &traffic->flow : NULL);
    if (!lack.is_known)
        return;
    entry->not_captured = lack.packets;
    entry->not_captured_frame = smcr_collect_when(collection, lack.frame);
}

/* Adds to `list`, the member `udp_ports` of a flow's entry, an entry for each UDP source port from
 * which packets of the flow came, with their number. smcr_classes_ports() makes of these lists the
 * table of ports that several flows have. */
static void
report_ports(const smcr_figure_tally_t *ports, smcr_figure_list_t *list, wmem_allocator_t *scope)
{
    for (uint32_t i = 0; i < ports->length; i++) {
        smcr_entry_flow_port_t *entry = SMCR_FIGURE_ADD(flow_port, list, scope);
        entry->port = ports->counts[i].value;
        entry->packets = ports->counts[i].count;
    }
}

/* Adds the entry of a flow: its figures, durations, names. A figure that the flow's packets cannot
 * show is set to not known. */
static void
report_flow(const smcr_collect_t *collection, followed_t *flow, smcr_figure_list_t *list,
            wmem_allocator_t *scope)
{
    smcr_entry_rdma_t *entry = SMCR_FIGURE_ADD(rdma, list, scope);

    *entry = flow->figures;
    entry->network = smcr_classes_network(flow->network, scope);
    report_ports(&flow->ports, &entry->udp_ports, scope);
    entry->index = flow->index = list->length - 1;
    if (collection->series)
        smcr_series_number_flow(collection->series, flow, flow->index);
    for (unsigned i = 0; i < STEPS_KEPT && flow->steps[i].step; i++)
        count_cause(&entry->repeated_after, flow, &flow->steps[i]);
    if (!flow->to && !flow->foreign->traffic) /* datagrams have no PSN order, so a duplicate looks
                                                 like a retransmission */
        entry->copies = SMCR_FIGURE_UNKNOWN;
    if (flow->times.silent.time.end.frame && !was_heard(&flow->times.silent))
        note_elsewhere(collection, flow);
    smcr_collect_flow_times_fill(entry, &flow->times, scope);
    smcr_collect_flow_sizes_fill(entry, &flow->sizes, collection->capture.last_time, scope);
    fill_from_order(entry, flow, collection);
    entry->pause = smcr_pause_flow_report(&flow->pause, scope);
    entry->recovery = smcr_recovery_report(&flow->recovery, scope);
    entry->reordered_frame = smcr_recovery_reordered(&flow->recovery);
    if (flow->lacks_ecn)
        smcr_entry_forget(&entry->ecn, &smcr_entry_codepoints_description);
    entry->icrc = icrcs_of(&flow->icrc, scope);
    if (flow->to)
        name_link_flow(entry, flow, scope);
    else
        name_foreign_flow(entry, flow, scope);
}

/* Whether the report has an entry for the flow. `flow` may be NULL. A flow without packets has no
 * entry: it was made only because a response belongs to its requests. */
static bool
is_reported(const followed_t *flow)
{
    return flow && !flow->merged && flow->figures.packets > 0;
}

void
smcr_collect_rdma_flows_report(smcr_collect_t *collection, smcr_figure_list_t *list,
                               wmem_allocator_t *scope)
{
    for (uint32_t i = 0; i < collection->rdma_list.length; i++)
        merge_into_link(collection, collection->rdma_list.entries[i]);
    for (uint32_t i = 0; i < collection->rdma_list.length; i++)
        if (is_reported(collection->rdma_list.entries[i]))
            report_flow(collection, collection->rdma_list.entries[i], list, scope);
    for (uint32_t i = 0; i < collection->rdma_list.length; i++) {
        const followed_t *flow = collection->rdma_list.entries[i];
        const followed_t *peer = is_reported(flow) ? peer_of(collection, flow) : NULL;
        if (is_reported(peer))
            ((smcr_entry_rdma_t *)list->entries[flow->index])->peer = peer->index;
    }
    report_stray(&collection->stray_icrcs, list, scope);
}

uint64_t
smcr_collect_rdma_flows_index(const smcr_collect_t *collection, const smcr_qp_t *to)
{
    const followed_t *flow = wmem_map_lookup(collection->rdma, to);

    return is_reported(flow) ? flow->index : SMCR_FIGURE_UNKNOWN;
}

const smcr_collect_silence_t *
smcr_collect_rdma_flows_silence(const smcr_collect_t *collection, const smcr_qp_t *to)
{
    const followed_t *flow = wmem_map_lookup(collection->rdma, to);
    const smcr_collect_silence_t *silence = flow ? &flow->times.silent : NULL;

    return silence && smcr_collect_silence_is_long(silence) ? silence : NULL;
}

smcr_when_t
smcr_collect_rdma_flows_asked(const smcr_collect_t *collection, const smcr_qp_t *to)
{
    const followed_t *flow = wmem_map_lookup(collection->rdma, to);

    return flow ? flow->times.asked : (smcr_when_t){0, 0};
}

smcr_when_t
smcr_collect_rdma_flows_last(const smcr_collect_t *collection, const smcr_qp_t *to)
{
    const followed_t *flow = wmem_map_lookup(collection->rdma, to);

    return flow ? flow->figures.last_frame : (smcr_when_t){0, 0};
}

smcr_when_t
smcr_collect_rdma_flows_ack(const smcr_collect_t *collection, const smcr_qp_t *to)
{
    const followed_t *flow = wmem_map_lookup(collection->rdma, to);

    return flow ? flow->ack : (smcr_when_t){0, 0};
}
