/* Fuzzes the state: CLC messages, RoCE packets, LLC and CDC messages of few hosts, queue pairs,
 * RKeys and tokens, so that everything meets everything. After each of them the frame's record
 * and what it leads to are checked (checks.c).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "checks.h"
#include "state/flow/exchange.h"
#include "state/flow/llc_flow.h"
#include "wire/llc_codes.h"
#include "wire/roce_codes.h"

#define HOSTS 3
#define QPNS 4
#define CONNS 6
#define RTOKENS_MAX 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t next_psn[HOSTS][QPNS]; /* that a queue pair waits for, if all goes well */

static smcr_ib_qp_key_t
qp_of(unsigned host, unsigned number)
{
    return (smcr_ib_qp_key_t){{[10] = 0xff, 0xff, 10, 0, 0, (uint8_t)host}, 0x10 + number};
}

static uint32_t
pick_key(input_t *input)
{
    uint8_t how = input_byte(input);

    return how < 0xf0 ? how % 6U : input_extreme(input);
}

static uint64_t
pick_va(input_t *input)
{
    uint8_t how = input_byte(input);
    uint64_t va = UINT64_C(0x10000000) * (how & 3U);

    if (how & 4)
        va += input_extreme(input);
    return how & 8 ? va | UINT64_C(0xffffffff00000000) : va;
}

static smcr_cursor_t
pick_cursor(input_t *input)
{
    uint8_t how = input_byte(input);

    return (smcr_cursor_t){(uint16_t)(how & 0x80 ? input_number(input, 2) : how >> 5 & 3),
                           how & 0x10 ? input_extreme(input) : input_number(input, 2)};
}

/* ---- CLC ---- */

static void
play_clc(capture_t *capture, input_t *input)
{
    uint8_t how = input_byte(input);
    unsigned host = input_pick(input, HOSTS);
    smcr_ib_qp_key_t key = qp_of(host, input_pick(input, QPNS));
    unsigned which = input_pick(input, CONNS);
    smcr_clc_t clc = {
        .header = {.type = how % 5, .flags = (uint8_t)(how & 0x08 ? 0x18 : 0x20)},
        .complete = (how & 0x30) != 0x30,
        .usable = (how & 0x70) != 0x70,
        .smcd = how == 0xff,
    };

    if (clc.header.type == 2 || clc.header.type == 3) {
        smcr_clc_accept_t *accept = &clc.u.accept;
        memcpy(accept->gid, key.gid, SMCR_GID_LENGTH);
        accept->peer_id[0] = (uint8_t)host;
        accept->qpn = key.qpn;
        accept->rkey = pick_key(input);
        accept->rmb_index = input_byte(input);
        accept->token = pick_key(input);
        accept->sizes = input_byte(input);
        accept->va = pick_va(input);
        accept->psn = input_extreme(input) & SMCR_PSN_MASK;
    }
    if (!capture->conn[which])
        capture->conn[which] = smcr_conn_new(capture->state);
    capture_next(capture, NULL);
    smcr_state_clc(&capture->arrival, capture->conn[which], &clc, how & 1);
}

/* ---- RoCE ---- */

static smcr_ib_headers_t
pick_roce(input_t *input, uint8_t opcode)
{
    uint8_t how = input_byte(input);
    unsigned from = (how >> 2) % HOSTS, to = (from + 1 + (how >> 4 & 1)) % HOSTS;
    unsigned number = how % QPNS;
    uint32_t *psn = &next_psn[to][number];
    smcr_ib_headers_t roce = {.destination = qp_of(to, number), .opcode = opcode};

    if (how & 0x80)
        *psn = how & 0x40 ? input_extreme(input) & SMCR_PSN_MASK
                          : (*psn - input_byte(input)) & SMCR_PSN_MASK;
    else if (how & 0x40)
        *psn = (*psn + input_pick(input, 16)) & SMCR_PSN_MASK;
    memcpy(roce.source, qp_of(from, 0).gid, SMCR_GID_LENGTH);
    roce.psn = *psn;
    *psn = (*psn + 1) & SMCR_PSN_MASK;
    return roce;
}

static void
play_packet(capture_t *capture, input_t *input)
{
    static const uint8_t opcodes[] = {0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 13, 17, 18, 22, 0x81};
    uint8_t how = input_byte(input);
    uint8_t opcode = how < 0xc0 ? opcodes[how % sizeof opcodes] : input_byte(input);
    smcr_ib_headers_t roce = pick_roce(input, opcode);

    roce.has_reth = opcode == 6 || opcode == 10 || opcode == 11;
    roce.has_aeth = opcode == 17;
    if (roce.has_reth) {
        roce.virtual_address = pick_va(input);
        roce.rkey = pick_key(input);
        roce.dma_length = input_extreme(input);
    }
    roce.syndrome = roce.has_aeth ? input_byte(input) : 0;
    roce.payload_length = (int)input_number(input, how & 0x20 ? 2 : 1);
    if (roce.has_reth && (how & 0x10))
        roce.dma_length = (uint32_t)roce.payload_length * (opcode == 6 ? 3 : 1);
    capture_next(capture, &roce);
    capture->known = smcr_state_packet(&capture->arrival);
    if (!capture->known)
        smcr_state_unknown_qp_write(&capture->arrival);
}

/* The SEND that carries a message. Returns whether it is SMC-R. */
static bool
play_send(capture_t *capture, const smcr_ib_headers_t *roce, uint8_t how)
{
    capture_next(capture, roce);
    capture->known = smcr_state_packet(&capture->arrival);
    if (capture->known || (how & 0x40))
        return capture->known;
    smcr_state_prove_qp(&capture->arrival, how & 0x20 ? qp_of(0, how % QPNS).qpn : 0);
    capture->known = smcr_state_packet(&capture->arrival);
    return capture->known;
}

/* ---- LLC ---- */

static void
pick_body(input_t *input, smcr_llc_t *llc)
{
    smcr_ib_qp_key_t key = qp_of(input_pick(input, HOSTS), input_pick(input, QPNS));

    switch (llc->type & ~SMCR_LLC_TYPE_V2) {
    case SMCR_LLC_CONFIRM_LINK:
        memcpy(llc->u.confirm_link.gid, key.gid, SMCR_GID_LENGTH);
        llc->u.confirm_link.qpn = key.qpn;
        llc->u.confirm_link.link = input_byte(input) & 3;
        break;
    case SMCR_LLC_ADD_LINK:
        memcpy(llc->u.add_link.gid, key.gid, SMCR_GID_LENGTH);
        llc->u.add_link.qpn = key.qpn;
        llc->u.add_link.link = input_byte(input) & 3;
        llc->u.add_link.psn = input_extreme(input) & SMCR_PSN_MASK;
        llc->u.add_link.mtu = input_byte(input);
        break;
    case SMCR_LLC_ADD_LINK_CONT:
        llc->u.add_link_cont.link = input_byte(input) & 3;
        break;
    case SMCR_LLC_DELETE_LINK:
        llc->u.delete_link.link = input_byte(input) & 3;
        llc->u.delete_link.reason = input_byte(input) & 1 ? 0x00100000 : 0;
        break;
    case SMCR_LLC_CONFIRM_RKEY:
        llc->u.confirm_rkey.rkey = pick_key(input);
        llc->u.confirm_rkey.va = pick_va(input);
        break;
    case SMCR_LLC_TEST_LINK:
        llc->u.test_link.user_data[0] = input_byte(input);
        break;
    default:
        break;
    }
}

static void
play_llc(capture_t *capture, input_t *input)
{
    smcr_ib_headers_t roce = pick_roce(input, SMCR_RC_SEND_ONLY);
    uint8_t how = input_byte(input);
    smcr_rtoken_t rtokens[RTOKENS_MAX] = {{0}};
    smcr_llc_t llc = {
        .type = how < 0xe0 ? how & 0x2f : how,
        .flags = input_byte(input),
        .length = 44,
        .complete = how != 0xff,
        .rtokens_in_message = rtokens,
    };

    pick_body(input, &llc);
    llc.rtoken_count = input_pick(input, RTOKENS_MAX + 1);
    for (unsigned i = 0; i < llc.rtoken_count; i++)
        rtokens[i] = (smcr_rtoken_t){input_byte(input) & 3, pick_key(input), pick_key(input),
                                     pick_va(input)};
    if (play_send(capture, &roce, llc.flags))
        smcr_state_llc(&capture->arrival, &llc);
}

/* ---- CDC ---- */

static void
play_cdc(capture_t *capture, input_t *input)
{
    smcr_ib_headers_t roce = pick_roce(input, SMCR_RC_SEND_ONLY);
    smcr_cdc_t cdc = {
        .length = 44,
        .seq = (uint16_t)input_number(input, 2),
        .token = pick_key(input),
        .prod = pick_cursor(input),
        .cons = pick_cursor(input),
        .flags = input_byte(input),
        .state = input_byte(input),
        .complete = true,
    };

    if (!play_send(capture, &roce, cdc.flags))
        return;
    smcr_state_cdc(&capture->arrival, &cdc);
    if ((cdc.state & 7) == 7 && capture->arrival.record->conn)
        smcr_state_check_tcp_end(&capture->arrival, &cdc, cdc.seq & 1, cdc.seq & 2, cdc.seq & 4);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const plays[])(capture_t *capture, input_t *input) = {
        play_clc, play_packet, play_packet, play_packet, play_llc, play_llc, play_cdc, play_cdc};
    input_t input = {data, size};
    capture_t capture;

    memset(next_psn, 0, sizeof next_psn);
    capture_open(&capture);
    while (input.left > 0) {
        uint8_t what = input_byte(&input);
        capture.seconds += what >> 6 == 3;
        plays[what % 8](&capture, &input);
        capture_check(&capture);
    }
    capture_close(&capture);
    return 0;
}
