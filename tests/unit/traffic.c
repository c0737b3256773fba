/* Plays frames to the state as the dissectors do.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "traffic.h"

#include <string.h>

void
capture_open(capture_t *capture)
{
    memset(capture, 0, sizeof *capture);
    capture->scope = wmem_allocator_new(WMEM_ALLOCATOR_STRICT);
    capture->state = smcr_state_new(capture->scope);
}

void
capture_close(capture_t *capture)
{
    wmem_destroy_allocator(capture->scope);
}

smcr_ib_qp_key_t
key_of(uint8_t host, uint32_t qpn)
{
    return (smcr_ib_qp_key_t){{[10] = 0xff, 0xff, 10, 0, 0, host}, qpn};
}

smcr_ib_qp_key_t
qp_of_side(int side)
{
    return key_of(HOST(side), side == CLIENT ? CLIENT_QPN : SERVER_QPN);
}

const char *
events(const capture_t *capture)
{
    static const char *const names[] = {
        [SMCR_EVENT_NONE] = "NONE",
#define EXPERT(ei, filter, group, severity, sentence) [SMCR_EVENT_##ei] = #ei,
#include "experts.def"
    };
    wmem_strbuf_t *text = wmem_strbuf_new(capture->scope, "");

    for (const smcr_event_t *event = capture->record.events; event; event = event->next)
        wmem_strbuf_append_printf(text, "%s%s", event == capture->record.events ? "" : " ",
                                  names[event->id]);
    return wmem_strbuf_get_str(text);
}

void
next_frame(capture_t *capture, const smcr_ib_headers_t *roce)
{
    capture->frame++;
    capture->time += MILLISECOND;
    capture->record = smcr_record_new();
    if (roce)
        capture->roce = *roce;
    capture->arrival = (smcr_arrival_t){
        .state = capture->state,
        .roce = roce ? &capture->roce : NULL,
        .when = {capture->frame, capture->time},
        .record = &capture->record,
    };
}

/* ---- CLC ---- */

smcr_clc_accept_t
announcement(int side)
{
    smcr_ib_qp_key_t own = qp_of_side(side);
    smcr_clc_accept_t accept = {
        .peer_id = {(uint8_t)(0xc0 + side), 1},
        .qpn = own.qpn,
        .rkey = side == CLIENT ? CLIENT_RKEY : SERVER_RKEY,
        .rmb_index = 1,
        .token = side == CLIENT ? CLIENT_TOKEN : SERVER_TOKEN,
        .sizes = 0x03,
        .va = side == CLIENT ? CLIENT_VA : SERVER_VA,
        .psn = side == CLIENT ? CLIENT_PSN : SERVER_PSN,
    };

    memcpy(accept.gid, own.gid, SMCR_GID_LENGTH);
    return accept;
}

void
play_clc(capture_t *capture, smcr_conn_t *conn, uint8_t type, bool is_first,
         const smcr_clc_accept_t *accept)
{
    smcr_clc_t clc = {
        .header = {.eyecatcher = 0xe2d4c3d9, .type = type, .length = 68,
                   .flags = (uint8_t)(0x10 | (is_first ? 0x08 : 0))},
        .complete = true,
        .length = 68,
        .usable = true,
    };

    if (accept)
        clc.u.accept = *accept;
    next_frame(capture, NULL);
    smcr_state_clc(&capture->arrival, conn, &clc,
                   type == SMCR_CLC_ACCEPT || type == SMCR_CLC_DECLINE);
}

void
play_accept(capture_t *capture, smcr_conn_t *conn, bool is_first, const smcr_clc_accept_t *accept)
{
    play_clc(capture, conn, 2, is_first, accept);
}

void
play_confirm(capture_t *capture, smcr_conn_t *conn, const smcr_clc_accept_t *confirm)
{
    play_clc(capture, conn, 3, false, confirm);
}

smcr_conn_t *
first_contact(capture_t *capture)
{
    smcr_conn_t *conn = smcr_conn_new(capture->state);
    smcr_clc_accept_t accept = announcement(SERVER);
    smcr_clc_accept_t confirm = announcement(CLIENT);

    play_accept(capture, conn, true, &accept);
    play_confirm(capture, conn, &confirm);
    return conn;
}

/* ---- RoCE ---- */

static smcr_ib_headers_t
begin(capture_t *capture, uint8_t host, smcr_ib_qp_key_t target, uint32_t psn,
      smcr_ib_headers_t roce)
{
    const smcr_qp_t *qp = smcr_qp_find(capture->state, &target);
    const smcr_flow_t *flow = qp ? &qp->traffic.flow : NULL;
    uint32_t next = flow && flow->first ? (uint32_t)(flow->expected_psn & SMCR_PSN_MASK) : 1;

    memcpy(roce.source, key_of(host, 0).gid, SMCR_GID_LENGTH);
    roce.destination = target;
    roce.psn = psn == AUTO_PSN ? next : psn;
    roce.ip_id = SMCR_SENT_NO_IP_ID;
    return roce;
}

uint32_t
play(capture_t *capture, uint8_t host, smcr_ib_qp_key_t target, uint32_t psn,
     smcr_ib_headers_t roce)
{
    smcr_ib_headers_t all = begin(capture, host, target, psn, roce);

    next_frame(capture, &all);
    capture->known = smcr_state_packet(&capture->arrival);
    if (!capture->known)
        smcr_state_unknown_qp_write(&capture->arrival);
    return all.psn;
}

/* A SEND; its message proves itself on an unknown queue pair. */
static void
play_send(capture_t *capture, uint8_t host, smcr_ib_qp_key_t target, uint32_t psn)
{
    smcr_ib_headers_t roce = {.opcode = SMCR_RC_SEND_ONLY, .payload_length = SMCR_LLC_LENGTH};
    smcr_ib_headers_t all = begin(capture, host, target, psn, roce);

    next_frame(capture, &all);
    capture->known = smcr_state_packet(&capture->arrival);
    if (!capture->known) {
        smcr_state_prove_qp(&capture->arrival, 0);
        capture->known = smcr_state_packet(&capture->arrival);
    }
}

void
play_llc_on(capture_t *capture, uint8_t host, smcr_ib_qp_key_t target, uint32_t psn, smcr_llc_t llc)
{
    play_send(capture, host, target, psn);
    llc.complete = true;
    llc.length = SMCR_LLC_LENGTH;
    if (capture->known)
        smcr_state_llc(&capture->arrival, &llc);
}

void
play_llc(capture_t *capture, int side, smcr_llc_t llc)
{
    play_llc_on(capture, HOST(side), qp_of_side(!side), AUTO_PSN, llc);
}

void
play_cdc_on(capture_t *capture, uint8_t host, smcr_ib_qp_key_t target, uint32_t psn, smcr_cdc_t cdc)
{
    play_send(capture, host, target, psn);
    cdc.complete = true;
    cdc.length = SMCR_LLC_LENGTH;
    if (capture->known)
        smcr_state_cdc(&capture->arrival, &cdc);
}

void
play_cdc(capture_t *capture, int side, smcr_cdc_t cdc)
{
    play_cdc_on(capture, HOST(side), qp_of_side(!side), AUTO_PSN, cdc);
}

void
play_write(capture_t *capture, int side, uint32_t rkey, uint64_t va, uint32_t length)
{
    play(capture, HOST(side), qp_of_side(!side), AUTO_PSN,
         (smcr_ib_headers_t){.opcode = SMCR_RC_WRITE_ONLY,
                             .has_reth = true,
                             .rkey = rkey,
                             .virtual_address = va,
                             .dma_length = length,
                             .payload_length = (int)length});
}

static void
play_aeth(capture_t *capture, int side, uint32_t psn, uint8_t syndrome)
{
    play(capture, HOST(side), qp_of_side(!side), psn,
         (smcr_ib_headers_t){.opcode = SMCR_RC_ACK, .has_aeth = true, .syndrome = syndrome});
}

void
play_ack(capture_t *capture, int side, uint32_t psn)
{
    play_aeth(capture, side, psn, 0x1f);
}

void
play_nak(capture_t *capture, int side, uint32_t psn)
{
    play_aeth(capture, side, psn, 0x60);
}

void
play_confirm_link(capture_t *capture, int side)
{
    smcr_ib_qp_key_t own = qp_of_side(side);
    smcr_llc_t llc = {
        .type = SMCR_LLC_CONFIRM_LINK,
        .flags = side == CLIENT ? 0x83 : 0x03, /* response; elements begin with data */
    };

    memcpy(llc.u.confirm_link.gid, own.gid, SMCR_GID_LENGTH);
    llc.u.confirm_link.qpn = own.qpn;
    llc.u.confirm_link.link = 1;
    play_llc(capture, side, llc);
}

void
confirm_first_link(capture_t *capture)
{
    play_confirm_link(capture, SERVER);
    play_confirm_link(capture, CLIENT);
}
