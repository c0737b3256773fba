/* held.h
 * The bytes of RDMA WRITE packets that are held, until a later frame proves that their receiver has
 * taken them in, and whose they are. That frame hands them to the application's dissectors: so
 * these get each byte once, in the receiver's order, in every pass.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "record.h"

/* A packet whose bytes are held. */
struct smcr_held {
    smcr_place_t *place;
    uint32_t frame;      /* that has the packet */
    uint32_t within;     /* offset of the packet in its request, bytes */
    uint32_t length;     /* of `bytes`; 0: the capture has cut them, or too many are held */
    uint8_t *bytes;
    uint32_t handed_in;  /* the frame that hands them on; 0: none yet */
    int8_t sender;       /* side of the link group; with `handed_in` */
    smcr_conn_t *conn;   /* with `handed_in` */
    bool flips;          /* as the connection did then: `sender` is a side of that */
    smcr_held_t *next;   /* of its request */
};

/* The packet's bytes are to be held, or are already. */
smcr_held_t *smcr_held_new(const smcr_arrival_t *arrival, uint32_t within);

/* Those of its request, the one with the highest offset first, since packets come in order; of two
 * with the same offset the newer one stays. */
void smcr_held_insert(smcr_held_t **request, smcr_held_t *held);

/* Turns these round: returns the one with the lowest offset; NULL: there are none. */
smcr_held_t *smcr_held_first(smcr_held_t *request);

/* These are the bytes. First pass, in the packet's own frame. */
void smcr_held_fill(smcr_state_t *state, smcr_held_t *held, const uint8_t *bytes, uint32_t length);

/* Nobody will ask for them: their packet was sent again. */
void smcr_held_drop(smcr_state_t *state, smcr_place_t *place);

/* The frame that is learned from hands them on, behind those that it has handed on before: they are
 * of `conn`, and the side `sender` has written them. */
void smcr_held_hand_on(const smcr_arrival_t *arrival, smcr_held_t *held, smcr_conn_t *conn,
                       int sender);

/* Those that a packet hands on, in order, as pointers to smcr_held_t; NULL: it hands on none. */
wmem_array_t *smcr_held_of(const smcr_state_t *state, uint32_t frame, uint16_t layer);
