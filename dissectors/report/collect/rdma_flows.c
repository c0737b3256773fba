/* Counts the packets of RDMA flows. A flow is what one queue pair sends to another. Times that a
 * response shows (acknowledgement, completion, CNP) count for the flow of the requests, not for the
 * flow that carried the response.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "fields.h"
#include "followed.h"
#include "wire/wire.h"

/* ---- finding ---- */

/* Returns the queue pair of the packet's link that receives the packet: the queue pair opposite to
 * the sender. If the sender is not known, it is the queue pair whose number is the packet's
 * destination queue pair. NULL: not known, or a tap shows the packet. */
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

/* ---- counting ---- */

/* Counts the ECN codepoint of the packet. The codepoint is not known if no IP header is found
 * before the BTH: in RoCEv1 and InfiniBand, which have none, and in reassembled IP fragments. If
 * the codepoint of one packet is not known, the report has no counts of codepoints for the flow. */
static void
count_ecn(smcr_collect_t *collection, smcr_collect_followed_t *flow, smcr_when_t when,
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

/* Notes what is odd about the packet in `frame`. */
static void
set_odd(smcr_collect_followed_t *flow, uint32_t frame, smcr_collect_odd_t odd)
{
    if (!flow->odd)
        flow->odd = wmem_map_new(flow->scope, g_direct_hash, g_direct_equal);
    wmem_map_insert(flow->odd, GUINT_TO_POINTER(frame), GUINT_TO_POINTER(odd));
}

/* Counts a NAK by its code. Reserved codes have no counter. */
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
 * frame of the packet that the NAK asks for; 0: not captured. If this packet came out of order or
 * damaged in the capture, this is counted as the cause of the NAK. `requests`: the flow of this
 * packet. */
static void
note_asked_packet(smcr_collect_followed_t *requests, smcr_when_t when, const smcr_record_t *record)
{
    smcr_collect_odd_t odd = smcr_collect_followed_odd(requests, record->refuses);

    if (odd == SMCR_COLLECT_ODD_LATE) {
        requests->figures.late_naks++; /* another NAK for the packet is a duplicate: a receiver asks
                                          once (InfiniBand vol. 1, 9.7.5.2.8) */
        set_odd(requests, record->refuses, SMCR_COLLECT_ODD_LATE_AND_ASKED_FOR);
    }
    if (odd == SMCR_COLLECT_ODD_DAMAGED)
        set_odd(requests, when.frame, SMCR_COLLECT_ODD_ASKS_FOR_DAMAGED);
}

/* Counts a NAK or RNR NAK of the flow. Both are acknowledgements whose AETH has a syndrome of this
 * kind (InfiniBand vol. 1, 9.7.5.2.8). Other packets are ignored. A NAK for a PSN sequence error
 * starts a measurement of the sender's reaction, unless the NAK is a duplicate, or the sender waits
 * for its RNR timer: then it does not answer a NAK at once. */
static void
count_nak(smcr_collect_t *collection, smcr_collect_followed_t *flow, smcr_when_t when,
          const smcr_tap_t *packet)
{
    const smcr_ib_headers_t *roce = packet->roce;
    smcr_collect_followed_t *requests = smcr_collect_followed_peer(collection, flow);
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
    note_asked_packet(requests, when, packet->record);
    bool waits_for_rnr_timer = requests->times.rnr.frame != 0;
    if (packet->record->order != SMCR_FLOW_IS_COPY && !waits_for_rnr_timer)
        smcr_recovery_take_nak(&requests->recovery, requests->scope, when, roce->psn);
}

/* Counts a retransmission. Later packets may show the cause of its step back. So the last
 * SMCR_COLLECT_STEPS_KEPT steps back of a flow are counted when the report is made; an older step
 * back is counted when a new one replaces it. A packet without step back may be a response: then
 * `requests` is the flow of the requests. If the requester has retransmitted its READ, this is the
 * cause. Otherwise, and if `requests` is NULL, the cause is not known. */
static void
count_repeat(smcr_collect_followed_t *flow, const smcr_collect_followed_t *requests,
             const smcr_step_back_t *step)
{
    smcr_collect_stepped_t *newest = &flow->steps[0];

    flow->figures.repeated++;
    if (!step) {
        flow->figures.repeated_after.read += requests && requests->asks_again;
        flow->figures.repeated_after.unknown += !requests || !requests->asks_again;
        return;
    }
    if (newest->step != step) {
        const smcr_collect_stepped_t *oldest = &flow->steps[SMCR_COLLECT_STEPS_KEPT - 1];
        if (oldest->step)
            smcr_collect_followed_count_cause(&flow->figures.repeated_after, flow, oldest);
        memmove(flow->steps + 1, flow->steps, sizeof flow->steps - sizeof *flow->steps);
        *newest = (smcr_collect_stepped_t){step, 0};
    }
    newest->packets++;
}

/* Counts the verdict on the packet's PSN: a sequence gap before the packet, a duplicate made by the
 * network, a retransmission, or a first transmission (goodput). Also notes damaged and out-of-order
 * packets, and keeps gaps in which two packets or more are missing, for the collectors of
 * connections. */
static void
count_order(smcr_collect_t *collection, smcr_collect_followed_t *flow, smcr_when_t when,
            const smcr_tap_t *packet)
{
    const smcr_record_t *record = packet->record;
    smcr_entry_rdma_t *figures = &flow->figures;
    bool is_response = smcr_ib_operations[packet->roce->opcode].is_response;
    const smcr_collect_followed_t *requests =
        is_response ? smcr_collect_followed_peer(collection, flow) : NULL;

    /* `icrc` is 1 + smcr_ib_icrc_status_t; 0: not checked */
    if (packet->roce->icrc == SMCR_IB_ICRC_BAD + 1)
        set_odd(flow, when.frame, SMCR_COLLECT_ODD_DAMAGED);
    else if (record->order == SMCR_FLOW_IS_LATE)
        set_odd(flow, when.frame, SMCR_COLLECT_ODD_LATE);
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

/* Returns the time of the first transmission of a retransmitted packet, nanoseconds. Returns 0 for
 * other packets. Also returns 0 if it is not known for how long the sender's timer ran: the
 * sender's host was silent for long since the first transmission, so earlier retransmissions may
 * have been lost upstream of the capture point. */
static uint64_t
timer_since(const smcr_collect_t *collection, const smcr_collect_followed_t *flow,
            const smcr_record_t *record)
{
    if (!record->first_time) /* no retransmission */
        return 0;
    const smcr_collect_followed_t *back = smcr_collect_followed_peer(collection, flow);
    bool was_silent = back && smcr_collect_flow_times_was_silent(&back->times, record->first_frame);
    return was_silent ? 0 : record->first_time;
}

/* Takes a request of a reliable connection for the flow's recovery. Responses and duplicates are
 * ignored. */
static void
take_recovery(smcr_collect_t *collection, smcr_collect_followed_t *flow, smcr_when_t when,
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
                                       .first_time = timer_since(collection, flow, record),
                                       .step = record->step};

    if (roce->opcode >= SMCR_RC_OPCODES || smcr_ib_operations[roce->opcode].is_response)
        return;
    if (record->order != SMCR_FLOW_IS_COPY)
        smcr_recovery_take_request(&flow->recovery, flow->scope, &request);
}

/* Returns what the collection keeps of the last CNPs; makes it at the first call. */
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

/* Takes a CNP of the flow for the times between CNPs, and for the reaction of the reverse flow's
 * sender, which it slows down. count_packet() counts the CNP. */
static void
take_cnp(smcr_collect_t *collection, smcr_collect_followed_t *flow, smcr_when_t when,
         const smcr_ib_headers_t *roce)
{
    smcr_collect_followed_t *slowed = smcr_collect_followed_peer(collection, flow);
    smcr_classes_pacing_t *pacing = pacing_of(collection);

    smcr_classes_pacing_take(pacing, &flow->figures.cnp_pacing, flow->cnp, when, roce);
    flow->cnp = when;
    flow->cnp_id = roce->ip_id;
    if (!slowed)
        return;
    smcr_classes_pacing_answer(pacing, slowed->marks, &slowed->figures.withheld, when, roce);
    smcr_classes_reaction_notify(slowed->reaction);
}

/* Counts a marked data packet, which its receiver answers with a CNP. Counts nothing if the reverse
 * flow, which would carry this CNP, is not known or has no figures. Marked acknowledgements are not
 * counted, since not every receiver answers them. */
static void
count_mark(smcr_collect_t *collection, smcr_collect_followed_t *flow, smcr_when_t when,
           const smcr_ib_headers_t *roce)
{
    const smcr_collect_followed_t *back = smcr_collect_followed_peer(collection, flow);
    smcr_when_t none = {0, 0};

    if (back)
        smcr_classes_pacing_mark(pacing_of(collection), &flow->marks, &flow->figures.withheld,
                                 back->figures.cnp_pacing ? back->cnp : none,
                                 &(smcr_classes_marked_t){when, roce});
}

/* Counts a data packet whose UDP source port differs from that of the data packet before. Packets
 * between the two that are no data, or have no UDP port, are ignored. */
static void
count_port_change(smcr_collect_followed_t *flow, const smcr_ib_headers_t *roce)
{
    if (!is_data(roce) || !roce->udp_port)
        return;
    flow->figures.port_changes += flow->port && flow->port != roce->udp_port;
    flow->port = roce->udp_port;
}

/* Takes a CNP for the times between CNPs, and for the reaction of the sender of the reverse flow.
 * Takes a data packet for the reaction of this flow's sender. */
static void
count_congestion(smcr_collect_t *collection, smcr_collect_followed_t *flow, smcr_when_t when,
                 const smcr_ib_headers_t *roce)
{
    if (roce->opcode == SMCR_IB_CNP)
        take_cnp(collection, flow, when, roce);
    else if (is_data(roce))
        smcr_classes_reaction_take(&flow->reaction, &flow->figures.reaction, flow->scope,
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

/* Notes a CNP that comes while the reverse flow is not known. The state finds later which mark the
 * CNP answers, but only for the first SMCR_ECN_EARLY_MOST of these CNPs. */
static void
note_early(smcr_collect_followed_t *flow, const smcr_record_t *record)
{
    bool is_known = !flow->foreign || flow->foreign->peer;

    if (!record->cnp || is_known || flow->early_count == SMCR_ECN_EARLY_MOST)
        return;
    smcr_collect_early_t *early = wmem_new(flow->scope, smcr_collect_early_t);
    *early = (smcr_collect_early_t){record->cnp, flow->early_cnps};
    flow->early_cnps = early;
    flow->early_count++;
}

/* Once the reverse flow is known, adds to its figures the time from the mark CE to the CNP, for
 * each early CNP whose mark is known. No CNP of the flow is early afterwards. */
static void
count_early(const smcr_collect_t *collection, smcr_collect_followed_t *flow)
{
    smcr_collect_followed_t *marked = smcr_collect_followed_peer(collection, flow);

    if (!marked)
        return;
    for (const smcr_collect_early_t *early = flow->early_cnps; early; early = early->next)
        if (early->cnp->ce.frame)
            measure(&marked->figures.ce_to_cnp_s, marked->scope, early->cnp->ce.time,
                    early->cnp->when.time);
    flow->early_cnps = NULL;
    flow->early_count = 0;
}

/* Time in nanoseconds. A CNP that comes sooner after another CNP of its flow may be a duplicate. */
#define CNP_SOON UINT64_C(100000)

/* CNPs of a flow may be equal in all bytes: some adapters give each the IP identification 0, and
 * send them a few microseconds apart. Then only the packets that the CNPs slow down show whether
 * the capture has each packet twice. If it has, each CNP has one duplicate: of equal CNPs that come
 * soon after each other, every second one counts as a duplicate. Their number is then right, even
 * if the next CNP comes before the duplicate of the one before. */
typedef enum {
    CNP_IS_NEW,
    CNP_IS_COPY,   /* a duplicate of the flow's last CNP */
    CNP_UNDECIDED, /* the CNP may be a duplicate of the flow's last CNP */
} cnp_kind_t;

/* Returns whether a CNP of `flow`, whose IP identification is 0 or not known, is a duplicate of the
 * CNP before it. It is new if the CNP before it had a duplicate already (`has_cnp_copy`). Else the
 * reverse flow decides: if 7 of 16 of its packets are duplicates, or more, the capture has nearly
 * all packets twice, and the CNP is a duplicate. If less than 1 of 16 are, the CNP is new. */
static cnp_kind_t
kind_without_id(const smcr_collect_t *collection, const smcr_collect_followed_t *flow)
{
    const smcr_collect_followed_t *slowed = smcr_collect_followed_peer(collection, flow);

    if (flow->has_cnp_copy)
        return CNP_IS_NEW;
    if (!slowed || !slowed->figures.packets)
        return CNP_UNDECIDED;
    uint64_t sixteenths = slowed->figures.copies * 16 / slowed->figures.packets;
    if (!sixteenths)
        return CNP_IS_NEW;
    return sixteenths >= 7 ? CNP_IS_COPY : CNP_UNDECIDED;
}

/* Returns whether the packet is a duplicate of the flow's last CNP. A packet that is no CNP, or
 * comes CNP_SOON or more after the last CNP, is none. Otherwise an IP identification above 0
 * decides: a duplicate has that of the last CNP. Without one, kind_without_id() decides. */
static cnp_kind_t
kind_of_cnp(const smcr_collect_t *collection, const smcr_collect_followed_t *flow,
            smcr_when_t when, const smcr_ib_headers_t *roce)
{
    if (roce->opcode != SMCR_IB_CNP || !flow->cnp.frame || when.time < flow->cnp.time ||
        when.time - flow->cnp.time >= CNP_SOON)
        return CNP_IS_NEW;
    if (roce->ip_id > 0)
        return roce->ip_id == flow->cnp_id ? CNP_IS_COPY : CNP_IS_NEW;
    return kind_without_id(collection, flow);
}

/* Notes whether the flow's CNP is a duplicate. If it is or may be one, the next CNP without IP
 * identification is none. */
static void
note_cnp(smcr_collect_followed_t *flow, cnp_kind_t kind)
{
    flow->has_cnp_copy = kind != CNP_IS_NEW;
    flow->figures.cnp_undecided += kind == CNP_UNDECIDED;
}

/* Returns what distinguishes the marked packets of a flow: PSN, opcode, and in the lower 16 bits
 * the IP identification. */
static uint64_t
mark_key(const smcr_ib_headers_t *roce)
{
    return (uint64_t)roce->psn << 24 | (uint64_t)roce->opcode << 16 | (uint16_t)roce->ip_id;
}

/* Whether one of the last marked packets of the flow has the PSN and the opcode of this packet. If
 * `by_id` is set, the IP identification of this packet must also be known, and the same. */
static bool
was_marked(const smcr_collect_followed_t *flow, const smcr_ib_headers_t *roce, bool by_id)
{
    unsigned unused = by_id ? 0 : 16;

    if (!flow->marked || (by_id && roce->ip_id <= 0))
        return false;
    for (unsigned i = 0; i < SMCR_COLLECT_MARKED_KEPT; i++)
        if (flow->marked[i] >> unused == mark_key(roce) >> unused)
            return true;
    return false;
}

/* Keeps a marked packet, in the place of the oldest one. */
static void
keep_marked(smcr_collect_followed_t *flow, const smcr_ib_headers_t *roce)
{
    if (!flow->marked) {
        flow->marked = wmem_alloc_array(flow->scope, uint64_t, SMCR_COLLECT_MARKED_KEPT);
        for (unsigned i = 0; i < SMCR_COLLECT_MARKED_KEPT; i++)
            flow->marked[i] = UINT64_MAX; /* no PSN has so many bits */
    }
    flow->marked[flow->marked_next] = mark_key(roce);
    flow->marked_next = (flow->marked_next + 1) % SMCR_COLLECT_MARKED_KEPT;
}

/* Counts a packet for the share of marked packets over time, and a mark of the packet.
 * count_class() counts the packet's class. `is_packet`: the packet is no duplicate, so it counts
 * among the packets of which a share is marked. */
static void
count_share(smcr_collect_t *collection, smcr_collect_followed_t *flow, smcr_when_t when,
            const smcr_ib_headers_t *roce, bool is_packet)
{
    bool has_mark = smcr_ib_has_mark(roce);

    if (has_mark)
        keep_marked(flow, roce);
    if (has_mark && is_data(roce))
        count_mark(collection, flow, when, roce);
    if (roce->ecn == SMCR_WIRE_ECN_NOT_ECT)
        return;
    if (!collection->shares)
        collection->shares = smcr_classes_shares_new(collection->scope);
    smcr_classes_shares_take(collection->shares, when, has_mark, is_packet);
}

/* Whether the PSN of the packet, or its mark, proves that the packet is a duplicate. */
static bool
is_copy(const smcr_collect_followed_t *flow, const smcr_tap_t *packet)
{
    return packet->record->order == SMCR_FLOW_IS_COPY ||
           (smcr_ib_has_mark(packet->roce) && was_marked(flow, packet->roce, true));
}

/* Counts a duplicate. A mirror port shows a packet as it enters the switch, and as it leaves: if
 * the switch has marked it, only the duplicate has the mark, which counts. */
static void
count_copy(smcr_collect_t *collection, smcr_collect_followed_t *flow, smcr_when_t when,
           const smcr_ib_headers_t *roce)
{
    flow->figures.cnp_copies += roce->opcode == SMCR_IB_CNP;
    if (!smcr_ib_has_mark(roce))
        return;
    if (was_marked(flow, roce, false))
        flow->figures.marked_again++;
    else
        count_share(collection, flow, when, roce, false);
}

/* Counts the class and the UDP source port of a packet, and its marks. Ignores packets with a
 * wrong ICRC, whose class may not be the one that the sender has given them. Duplicates, whose
 * original is counted, only go to count_copy(). */
static void
count_class(smcr_collect_t *collection, smcr_collect_followed_t *flow, smcr_when_t when,
            const smcr_tap_t *packet)
{
    const smcr_ib_headers_t *roce = packet->roce;
    cnp_kind_t cnp = kind_of_cnp(collection, flow, when, roce);

    if (roce->has_bad_icrc)
        return;
    if (roce->opcode == SMCR_IB_CNP)
        note_cnp(flow, cnp);
    if (cnp == CNP_IS_COPY || is_copy(flow, packet)) {
        count_copy(collection, flow, when, roce);
        return;
    }
    smcr_classes_count(&flow->figures.classes, flow->scope, when, roce);
    if (roce->udp_port)
        smcr_figure_tally_count(&flow->ports, flow->scope, roce->udp_port, when);
    count_port_change(flow, roce);
    count_share(collection, flow, when, roce, true);
    count_congestion(collection, flow, when, roce);
}

/* Keeps the connection of a retransmitted REQ: it may never get an answer. A connection is kept
 * once; a flow keeps SMCR_COLLECT_ASKED_MOST connections at most. */
static void
keep_asked(smcr_collect_followed_t *flow, const smcr_cm_conn_t *conn)
{
    if (!flow->asked)
        flow->asked = wmem_array_new(flow->scope, sizeof conn);
    unsigned count = wmem_array_get_count(flow->asked);
    for (unsigned i = 0; i < count; i++)
        if (*(const smcr_cm_conn_t **)wmem_array_index(flow->asked, i) == conn)
            return;
    if (count < SMCR_COLLECT_ASKED_MOST)
        wmem_array_append_one(flow->asked, conn);
}

/* Takes a message of RDMA-CM that the flow carries. */
static void
take_cm(smcr_collect_followed_t *flow, const smcr_record_cm_t *cm)
{
    flow->cm = cm;
    if (cm->attribute == SMCR_IB_CM_REQ && cm->retransmission_of)
        keep_asked(flow, cm->conn);
}

/* Counts a packet in the figures of its flow. `frame_before` is set before `last_frame` moves:
 * later counts of this packet compare with the packet before it. */
static void
count_packet(smcr_collect_t *collection, smcr_collect_followed_t *flow, smcr_when_t when,
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
    smcr_figure_opcodes_count(&figures->opcodes, flow->scope, roce->opcode, 1);
    count_ecn(collection, flow, when, roce);
    count_class(collection, flow, when, packet);
    note_early(flow, packet->record);
    if (flow->early_cnps)
        count_early(collection, flow);
    count_nak(collection, flow, when, packet);
    count_order(collection, flow, when, packet);
    take_recovery(collection, flow, when, packet);
    count_icrc(&flow->icrc, roce->icrc);
    if (packet->record->cm)
        take_cm(flow, packet->record->cm);
}

/* Counts the time before the packet as a standstill of the flow if a port had paused its class. */
static void
count_standstill(const smcr_collect_t *collection, smcr_collect_followed_t *flow, smcr_when_t when)
{
    const smcr_entry_rdma_t *figures = &flow->figures;
    smcr_pause_gap_t gap = {.from = figures->last_frame, .to = when,
                            .first = figures->first_frame, .packets = figures->packets};

    smcr_pauses_take_packet(collection->pauses, &flow->pause, &gap, &collection->header);
}

/* ---- what else a silent peer sends ---- */

/* Notes the packet as the last RoCE packet from the flow's source to its destination. */
static void
note_heard(smcr_collect_t *collection, smcr_collect_followed_t *flow, smcr_when_t when)
{
    const uint8_t *to = flow->to ? flow->to->key.gid : flow->foreign->key.target.gid;

    if (!flow->heard) {
        flow->heard = smcr_collect_heard_of(collection, flow->source, to);
        flow->back = smcr_collect_heard_of(collection, to, flow->source);
    }
    flow->heard->roce = *flow->heard->host = when;
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
hear(smcr_collect_t *collection, smcr_collect_followed_t *flow, smcr_collect_followed_t *answered,
     smcr_when_t when, const smcr_tap_t *packet)
{
    note_heard(collection, flow, when);
    if (!answered)
        return;
    if (is_acknowledgement(packet->roce))
        smcr_recovery_take_ack(&answered->recovery, when, packet->roce->psn);
    smcr_collect_flow_times_hear(&answered->times, answered->scope, when, packet);
    smcr_collect_flow_sizes_hear(&answered->sizes, packet->roce);
}

/* Counts a flow that gets no figures, since FLOWS_MOST flows have some (followed.c). Counts each
 * flow once. `flow` NULL: the packet belongs to no flow. */
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

/* An answer also counts in the figures of the reverse flow, whose requests it answers. Of a packet
 * whose flow has no figures, only the ICRC counts. */
void
smcr_collect_rdma_flows_take(smcr_collect_t *collection, smcr_when_t when,
                             const smcr_tap_t *packet)
{
    const smcr_record_t *record = packet->record;
    const smcr_qp_t *to = record->link ? receiver_of(packet) : NULL;
    smcr_collect_followed_t *flow = smcr_collect_follow(collection, to, to ? NULL : record->rdma);

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
        hear(collection, flow, smcr_collect_followed_peer(collection, flow), when, packet);
    smcr_collect_flow_times_take(&flow->times, flow->scope, when, packet);
    smcr_collect_flow_sizes_take(&flow->sizes, when, packet);
    if (flow->times.silent.time.end.frame == when.frame)
        smcr_collect_followed_note_elsewhere(collection, flow);
    if (!record->acks.frame && !record->completed_messages && !record->cnp)
        return;
    smcr_collect_followed_t *requests =
        smcr_collect_follow(collection, smcr_collect_followed_sender(flow),
                            flow->foreign ? flow->foreign->peer : NULL);
    if (requests)
        count_answer(&requests->figures, requests->scope, when, record);
}

/* ---- what a flow has shown so far ---- */

const smcr_collect_silence_t *
smcr_collect_rdma_flows_silence(const smcr_collect_t *collection, const smcr_qp_t *to)
{
    const smcr_collect_followed_t *flow = wmem_map_lookup(collection->rdma, to);
    const smcr_collect_silence_t *silence = flow ? &flow->times.silent : NULL;

    return silence && smcr_collect_silence_is_long(silence) ? silence : NULL;
}

smcr_when_t
smcr_collect_rdma_flows_asked(const smcr_collect_t *collection, const smcr_qp_t *to)
{
    const smcr_collect_followed_t *flow = wmem_map_lookup(collection->rdma, to);

    return flow ? flow->times.asked : (smcr_when_t){0, 0};
}

smcr_when_t
smcr_collect_rdma_flows_last(const smcr_collect_t *collection, const smcr_qp_t *to)
{
    const smcr_collect_followed_t *flow = wmem_map_lookup(collection->rdma, to);

    return flow ? flow->figures.last_frame : (smcr_when_t){0, 0};
}

smcr_when_t
smcr_collect_rdma_flows_ack(const smcr_collect_t *collection, const smcr_qp_t *to)
{
    const smcr_collect_followed_t *flow = wmem_map_lookup(collection->rdma, to);

    return flow ? flow->ack : (smcr_when_t){0, 0};
}
