/* state_private.h
 * What the files of the state share among themselves.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_STATE_PRIVATE_H
#define SMCR_STATE_PRIVATE_H

#include "conn.h"
#include "packet.h"
#include "state.h"

typedef struct smcr_record smcr_record_t;

#define SMCR_FULL_STRANGERS 256

struct smcr_state {
    wmem_allocator_t *scope;
    uint8_t *slab; /* of what is allocated next by smcr_state_alloc0() */
    size_t slab_left;
    uint8_t **records; /* slabs of records */
    uint32_t record_slabs, record_units; /* slabs; units of 8 bytes used of the last one */
    uint32_t **pages; /* numbers of records by frame */
    uint32_t page_count;
    uint32_t lgr_count, link_count, conn_count;
    wmem_list_t *lgrs;  /* smcr_lgr_t that have an index, the last ones */
    wmem_map_t *ends;   /* smcr_qp_key_t -> smcr_end_t */
    /* sets, of which every connection has members: GLib's take a third of wmem's memory */
    GHashTable *rkeys;         /* smcr_rtoken_entry_t, by owner's end and RKey */
    GHashTable *tokens;        /* of connections, by link group, side and token */
    GHashTable *conversations; /* smcr_conn_t, by conversation */
    uint64_t full_strangers[SMCR_FULL_STRANGERS]; /* smcr_target() of some that are full */
    wmem_map_t *strangers;   /* smcr_qp_key_t -> WRITE packets on unknown queue pairs */
    wmem_list_t *half_known; /* smcr_link_t: the queue pair of one end is not known yet */
};

/* What is needed once or more for each frame, and never freed by itself: without the header that
 * every piece of wmem has. All zeros. */
void *smcr_state_alloc0(smcr_state_t *state, size_t size);

/* What few packets have of a place, made when it is first asked for. */
smcr_place_more_t *smcr_place_more(smcr_state_t *state, smcr_place_t *place);

/* The same of a CDC message. */
smcr_cdc_more_t *smcr_cdc_more(smcr_state_t *state, smcr_cdc_view_t *view);

/* Tells the user something about this frame; `format` may be NULL. */
void smcr_event_add(smcr_state_t *state, smcr_packet_t *packet, smcr_event_id_t id,
                    const char *format, ...) G_GNUC_PRINTF(4, 5);

/* What was received behind a gap: one of `llc`, `cdc` and, of a WRITE packet, `place`. */
typedef struct {
    uint32_t psn;
    const smcr_llc_t *llc;
    const smcr_cdc_t *cdc;
    smcr_place_t *place;
    smcr_conn_t *conn; /* of `cdc` or `place` */
    smcr_when_t when;
} smcr_deferred_t;

/* Keeps what `end` received behind a gap. */
void smcr_deferred_add(smcr_state_t *state, smcr_end_t *end, const smcr_deferred_t *received);

/* Applies what the receiver has taken in of what was kept, or (`forget`) drops
 * it because it was sent again. */
void smcr_deferred_settle(smcr_state_t *state, smcr_end_t *end, bool forget);

bool smcr_is_write(uint8_t opcode);

/* Says that a connection's packet comes on a link that was deleted before. */
void smcr_note_deleted_link(smcr_state_t *state, const smcr_end_t *end, smcr_packet_t *packet);

/* Takes in a WRITE packet that came before its queue pair was known. */
void smcr_rdma_take_earlier(smcr_state_t *state, smcr_end_t *end, const smcr_roce_t *roce,
                            smcr_when_t when, smcr_packet_t *packet);

/* Completes the place of a packet that came before its request. */
void smcr_rdma_place_late(smcr_state_t *state, smcr_end_t *end, const smcr_write_t *write,
                          const smcr_roce_t *roce, smcr_place_t *place);

/* What WRITE packets, LLC and CDC messages change, once their packet is taken in. The position of
 * the WRITE packet is known. */
void smcr_write_apply(smcr_state_t *state, smcr_stream_t *stream, smcr_place_t *place,
                      smcr_when_t when, smcr_packet_t *packet);
void smcr_llc_apply(smcr_state_t *state, smcr_end_t *end, const smcr_llc_t *llc, smcr_when_t when,
                    smcr_packet_t *packet);
void smcr_cdc_apply(smcr_state_t *state, smcr_end_t *end, smcr_conn_t *conn, uint32_t psn,
                    const smcr_cdc_t *cdc, smcr_when_t when, smcr_packet_t *packet);

unsigned smcr_rkey_hash(const void *key);
gboolean smcr_rkey_equal(const void *one, const void *other);
unsigned smcr_conversation_hash(const void *conn);
gboolean smcr_conversation_equal(const void *one, const void *other);
unsigned smcr_token_hash(const void *key);
gboolean smcr_token_equal(const void *one, const void *other);

#endif /* SMCR_STATE_PRIVATE_H */
