/* Counts RoCE packets that are not analysed, and the signs of trouble in their headers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "others.h"

#define PSN_MASK 0xffffff
#define EARLIER_MOST 0x10000 /* a PSN that is this far or farther below the highest one belongs to a
                                new connection of the queue pair */

/* A queue pair that receives requests, or responses to RDMA READs: key of `queue_pairs` and
 * `readers`, without padding. */
typedef struct {
    uint8_t to[SMCR_GID_LENGTH];
    uint32_t qpn;
    smcr_ib_network_t network;
} receiver_t;

/* A queue pair, and the highest PSN of a request, or of a response, that came to it. */
typedef struct {
    receiver_t key;
    uint32_t highest; /* 24 bits, as on the wire */
} queue_pair_t;

struct smcr_others {
    wmem_allocator_t *scope;
    smcr_entry_other_roce_t counts; /* the counts; `queue_pairs` is set in the report only */
    wmem_map_t *queue_pairs;        /* receivers of requests: receiver_t -> queue_pair_t; at most
                                       SMCR_OTHERS_QUEUE_PAIRS_MOST */
    wmem_map_t *readers;            /* the same of responses to READs, whose PSNs are others */
};

SMCR_WIRE_KEY(hash_receiver, equal_receivers, sizeof(receiver_t))

/* smcr_entry_clear() gives each figure of the entry the value with which its count begins. */
smcr_others_t *
smcr_others_new(wmem_allocator_t *scope)
{
    smcr_others_t *others = wmem_new0(scope, smcr_others_t);

    others->scope = scope;
    smcr_entry_clear(&others->counts, &smcr_entry_other_roce_description);
    others->queue_pairs = wmem_map_new(scope, hash_receiver, equal_receivers);
    others->readers = wmem_map_new(scope, hash_receiver, equal_receivers);
    return others;
}

/* ---- PSNs ---- */

static uint32_t
psn_of(const uint8_t *bth)
{
    return (uint32_t)smcr_wire_number(bth + 9, 3);
}

/* Whether the PSN of a packet is not new: it is equal to the highest PSN so far, or less than
 * EARLIER_MOST PSNs before it. Any other PSN becomes the highest one. */
static bool
is_not_new(queue_pair_t *queue_pair, uint32_t psn)
{
    uint32_t back = (queue_pair->highest - psn) & PSN_MASK;

    if (back < EARLIER_MOST)
        return true;
    queue_pair->highest = psn;
    return false;
}

/* Returns whether the PSN of the packet is not after all PSNs that came to its queue pair before
 * (is_not_new()). `known`: the queue pairs that receive packets of this kind. Returns false for the
 * first packet to a queue pair, and for all packets to queue pairs that are not followed. */
static bool
came_before(const smcr_others_t *others, wmem_map_t *known, const smcr_others_packet_t *packet)
{
    receiver_t key = {.qpn = smcr_ib_bth_qpn(packet->bth), .network = packet->network};

    memcpy(key.to, packet->to, sizeof key.to);
    queue_pair_t *queue_pair = wmem_map_lookup(known, &key);
    if (queue_pair)
        return is_not_new(queue_pair, psn_of(packet->bth));
    if (wmem_map_size(known) == SMCR_OTHERS_QUEUE_PAIRS_MOST)
        return false;
    queue_pair = wmem_new(others->scope, queue_pair_t);
    *queue_pair = (queue_pair_t){key, psn_of(packet->bth)};
    wmem_map_insert(known, &queue_pair->key, queue_pair);
    return false;
}

/* ---- counting ---- */

/* Counts an acknowledgement that is a NAK, by its syndrome, the first byte after the BTH
 * (InfiniBand vol. 1, 9.7.5.2). Nothing is counted if that byte is not captured. */
static void
count_syndrome(smcr_entry_other_roce_t *counts, const smcr_others_packet_t *packet)
{
    if (packet->length <= SMCR_IB_BTH_LENGTH)
        return;
    unsigned kind = (packet->bth[SMCR_IB_BTH_LENGTH] & SMCR_MASK_SYNDROME_KIND) >> 5;
    counts->naks += kind == SMCR_IB_SYNDROME_NAK;
    counts->rnr_naks += kind == SMCR_IB_SYNDROME_RNR_NAK;
}

/* Whether the packet is a request of the service RC. Requests of other services are not
 * retransmitted, or their PSNs have another meaning. */
static bool
is_request(uint8_t opcode)
{
    return opcode < SMCR_RC_OPCODES && !smcr_ib_operations[opcode].is_response;
}

/* Counts what the headers of a packet show: its mark and kind; of a request, and of a response to a
 * READ, whether its PSN came before. */
static void
count_headers(smcr_others_t *others, const smcr_others_packet_t *packet)
{
    smcr_entry_other_roce_t *counts = &others->counts;
    uint8_t opcode = packet->bth[0];

    counts->ce += packet->is_marked;
    if (opcode == SMCR_IB_CNP)
        counts->cnp++;
    else if (opcode == SMCR_RC_ACK)
        count_syndrome(counts, packet);
    else if (is_request(opcode))
        counts->repeated += came_before(others, others->queue_pairs, packet);
    else if (opcode >= SMCR_RC_READ_RESPONSE_FIRST && opcode <= SMCR_RC_READ_RESPONSE_ONLY)
        counts->repeated += came_before(others, others->readers, packet);
}

/* Returns how many signs of trouble have been counted. */
static uint64_t
signs_of(const smcr_entry_other_roce_t *counts)
{
    return counts->repeated + counts->naks + counts->rnr_naks + counts->ce + counts->cnp;
}

/* The first frame is that of the first sign of trouble, and not of the first packet. */
void
smcr_others_take(smcr_others_t *others, smcr_when_t when, const smcr_others_packet_t *packet)
{
    smcr_entry_other_roce_t *counts = &others->counts;
    uint64_t before = signs_of(counts);

    counts->packets++;
    if (packet->bth && packet->length >= SMCR_IB_BTH_LENGTH)
        count_headers(others, packet);
    else
        counts->unread++;
    if (!before && signs_of(counts))
        counts->first_frame = when;
}

/* The entry is a copy, so that packets which come later do not change it. */
smcr_entry_other_roce_t *
smcr_others_report(const smcr_others_t *others, wmem_allocator_t *scope)
{
    if (!others)
        return NULL;
    smcr_entry_other_roce_t *entry = wmem_new(scope, smcr_entry_other_roce_t);
    *entry = others->counts;
    entry->queue_pairs = wmem_map_size(others->queue_pairs);
    return entry;
}
