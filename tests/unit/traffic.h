/* Makes SMC-R traffic for the unit tests of the state: frames are played one after the other, and
 * each leaves its record. PSNs count on by themselves unless a test sets one.
 *
 * The client is host A, side 0 of the group that first_contact() begins, the server host B, side 1.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/flow/exchange.h"
#include "state/flow/llc_flow.h"
#include "wire/clc_codes.h"
#include "wire/llc_codes.h"
#include "wire/roce_codes.h"
#include "state/state.h"
#include "state/model/store.h"

#define CLIENT 0
#define SERVER 1
#define AUTO_PSN UINT32_MAX
#define MILLISECOND UINT64_C(1000000)

/* Queue pairs of the first link, and what Accept and Confirm of first_contact() announce. */
#define CLIENT_QPN 0x10U
#define SERVER_QPN 0x20U
#define CLIENT_PSN 1000U /* that the client sends with */
#define SERVER_PSN 2000U
#define CLIENT_RKEY 0x100U
#define SERVER_RKEY 0x200U
#define CLIENT_VA UINT64_C(0x10000000)
#define SERVER_VA UINT64_C(0x20000000)
#define CLIENT_TOKEN 0xa1U
#define SERVER_TOKEN 0xb1U
#define ELEMENT 16384U

typedef struct {
    wmem_allocator_t *scope;
    smcr_state_t *state;
    uint32_t frame;       /* last one played */
    uint64_t time;        /* when it came, nanoseconds; the next one comes a millisecond later */
    bool known;           /* the state knew its queue pair */
    smcr_record_t record; /* its record */
    smcr_ib_headers_t roce; /* its headers */
    smcr_arrival_t arrival;
} capture_t;

void capture_open(capture_t *capture);
void capture_close(capture_t *capture);

/* Queue pair `qpn` of a host's device; `host` is the last byte of its GID. */
smcr_ib_qp_key_t key_of(uint8_t host, uint32_t qpn);
smcr_ib_qp_key_t qp_of_side(int side); /* of the first link */

/* The names of the events of the last frame, without prefix, separated by blanks. */
const char *events(const capture_t *capture);

/* The next frame arrives: one that TCP carries, if it has no headers. */
void next_frame(capture_t *capture, const smcr_ib_headers_t *roce);

/* ---- CLC ---- */

/* Accept or Confirm of the first connection as the defines above say. */
smcr_clc_accept_t announcement(int side);
void play_clc(capture_t *capture, smcr_conn_t *conn, uint8_t type, bool first_contact,
              const smcr_clc_accept_t *accept);
void play_accept(capture_t *capture, smcr_conn_t *conn, bool first_contact,
                 const smcr_clc_accept_t *accept);
void play_confirm(capture_t *capture, smcr_conn_t *conn, const smcr_clc_accept_t *confirm);

/* Accept and Confirm that begin a link group; returns its connection. */
smcr_conn_t *first_contact(capture_t *capture);

/* ---- RoCE ---- */

/* A packet from `host` to `target`; everything else as in `roce`. Returns the PSN that it had. */
uint32_t play(capture_t *capture, uint8_t host, smcr_ib_qp_key_t target, uint32_t psn,
              smcr_ib_headers_t roce);
/* From `side` over the first link. */
void play_llc(capture_t *capture, int side, smcr_llc_t llc);
void play_llc_on(capture_t *capture, uint8_t host, smcr_ib_qp_key_t target, uint32_t psn,
                 smcr_llc_t llc);
void play_cdc(capture_t *capture, int side, smcr_cdc_t cdc);
void play_cdc_on(capture_t *capture, uint8_t host, smcr_ib_qp_key_t target, uint32_t psn,
                 smcr_cdc_t cdc);
void play_write(capture_t *capture, int side, uint32_t rkey, uint64_t va, uint32_t length);
void play_ack(capture_t *capture, int side, uint32_t psn);
void play_nak(capture_t *capture, int side, uint32_t psn);

/* CONFIRM LINK on the first link: the server's request, or the client's response. */
void play_confirm_link(capture_t *capture, int side);

/* CONFIRM LINK both ways: the first link becomes number 1 and active. */
void confirm_first_link(capture_t *capture);

#define HOST(side) ((uint8_t)((side) + 1))
