/* Takes a packet's headers out of the input: most of them fit those of other packets.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "rdma.h"

#include "../unit/cm_mad.h"
#include "frames.h"
#include "wire/wire.h"

#define HOSTS 3
#define HEADERS_MAX 64
#define PAYLOAD_MAX 1024

static uint16_t last_id; /* IPv4 identification */

static const uint32_t qpns[] = {0x11, 0x12, 0x21, 0x22, 1, 0xfffffe, 0x11, 0x21};
static const uint16_t ports[] = {0xc000, 0xc000, 0xc231, 0xc121, 0xd001, 69, 0xc000, 0xc231};

void
rdma_begin(void)
{
    last_id = 0;
}

/* ---- packets ---- */

/* Near one of some PSNs, so that gaps, repeats, wraps and jumps come often. */
static uint32_t
pick_psn(input_t *input)
{
    static const uint32_t bases[] = {100, 100, 100, 200, 200, 0xfffffc, 0x700000, 20100};
    uint8_t byte = input_byte(input);

    return (bases[byte >> 5] + (byte & 0x1f)) & SMCR_PSN_MASK;
}

static void
put_bth(uint8_t *packet, uint8_t opcode, uint32_t qpn, uint32_t psn)
{
    packet[0] = opcode;
    packet[2] = packet[3] = 0xff;
    put_number(packet + 5, 3, qpn);
    put_number(packet + 9, 3, psn);
}

/* The headers behind the BTH. Returns their length. */
static size_t
put_headers(uint8_t *at, uint8_t opcode, input_t *input)
{
    uint8_t value = input_byte(input);
    uint8_t operation = opcode & (uint8_t)~SMCR_MASK_SERVICE;

    switch (operation) {
    case SMCR_RC_WRITE_FIRST:
    case SMCR_RC_WRITE_ONLY:
    case SMCR_RC_WRITE_ONLY_IMMEDIATE:
    case SMCR_RC_READ_REQUEST:
        put_number(at + 12, 4, value & 0x80 ? input_extreme(input) : value * 64U);
        return SMCR_IB_RETH_LENGTH + (operation == SMCR_RC_WRITE_ONLY_IMMEDIATE ? 4 : 0);
    case SMCR_RC_READ_RESPONSE_FIRST:
    case SMCR_RC_READ_RESPONSE_LAST:
    case SMCR_RC_READ_RESPONSE_ONLY:
    case SMCR_RC_ACK:
        at[0] = value & 0x80 ? 0x1f : value & 0x40 ? 0x60 : value & 0x7f;
        return SMCR_IB_AETH_LENGTH;
    case SMCR_RC_ATOMIC_ACK:
        at[0] = 0x1f;
        return SMCR_IB_AETH_LENGTH + SMCR_IB_ATOMIC_ACK_LENGTH;
    case SMCR_RC_CMP_SWAP:
    case SMCR_RC_FETCH_ADD:
        return SMCR_IB_ATOMIC_LENGTH;
    default:
        return value & 0x80 ? value & 0x1fU : 0;
    }
}

static size_t
payload_length(uint8_t opcode, input_t *input)
{
    uint8_t operation = opcode & (uint8_t)~SMCR_MASK_SERVICE;

    return smcr_ib_operations[operation].is_first_or_middle ? 256U << (input_byte(input) & 3) % 3
                                                            : input_byte(input) & 0x3f;
}

/* A packet of a connection, with any opcode. */
static size_t
make_packet(uint8_t *packet, uint8_t opcode, uint32_t qpn, input_t *input)
{
    put_bth(packet, opcode, qpn, pick_psn(input));
    size_t length = SMCR_IB_BTH_LENGTH + put_headers(packet + SMCR_IB_BTH_LENGTH, opcode, input);

    return length + payload_length(opcode, input);
}

static size_t
make_datagram(uint8_t *packet, uint32_t qpn, input_t *input)
{
    uint8_t how = input_byte(input);

    put_bth(packet, SMCR_UD_SEND_ONLY + (how & 0x80 ? 1 : 0), qpn, how & 0x0f);
    put_number(packet + 17, 3, qpns[how >> 4 & 7]);
    return SMCR_IB_BTH_LENGTH + SMCR_IB_DETH_LENGTH + input_part(input, how & 0x03).left;
}

static size_t
make_notification(uint8_t *packet, uint32_t qpn)
{
    put_bth(packet, SMCR_IB_CNP, qpn, 0);
    packet[4] = SMCR_MASK_BTH_BECN;
    return SMCR_IB_BTH_LENGTH + 16;
}

/* A message of communication management: the server is the host with the higher number. */
static size_t
make_message(uint8_t *packet, const frames_headers_t *headers, uint32_t qpn, input_t *input)
{
    static const uint8_t attributes[] = {
        SMCR_IB_CM_REQ,  SMCR_IB_CM_REP, SMCR_IB_CM_RTU,      SMCR_IB_CM_DREQ,
        SMCR_IB_CM_DREP, SMCR_IB_CM_REQ, SMCR_IB_CM_REP,      SMCR_IB_CM_DREQ,
        SMCR_IB_CM_REJ,  SMCR_IB_CM_MRA, SMCR_IB_CM_SIDR_REQ, SMCR_IB_CM_SIDR_REP,
        SMCR_IB_CM_LAP,  SMCR_IB_CM_APR, SMCR_IB_CM_REQ,      SMCR_IB_CM_REP};
    uint8_t how = input_byte(input), numbers = input_byte(input);
    bool server = (headers->from > headers->to) != ((numbers & 0x80) != 0);
    uint32_t id = 1 + (numbers & 1U);
    mad_fields_t fields = {
        .attribute = attributes[how & 0x0f],
        .tid = numbers >> 1 & 1,
        .local_id = server ? id + 2 : id,
        .remote_id = server ? id : id + 2,
        .qpn = qpn,
        .psn = numbers & 4 ? 200 : 100,
        .service_id = numbers & 8 ? 0x0000000001061234 : 7,
        .answered = how >> 4 & 3,
        .reason = numbers & 0x10 ? 10 : 28,
    };

    put_bth(packet, SMCR_UD_SEND_ONLY, 1, numbers);
    put_number(packet + SMCR_IB_BTH_LENGTH, 4, 0x80010000);
    put_number(packet + SMCR_IB_BTH_LENGTH + 5, 3, 1);
    put_mad(packet + SMCR_IB_BTH_LENGTH + SMCR_IB_DETH_LENGTH, &fields);
    return SMCR_IB_BTH_LENGTH + SMCR_IB_DETH_LENGTH + SMCR_IB_MAD_LENGTH;
}

/* ---- frames ---- */

static void
pick_headers(frames_headers_t *headers, input_t *input)
{
    uint8_t how = input_byte(input), addresses = input_byte(input);

    headers->from = 1 + (addresses & 0x80 ? addresses % HOSTS : addresses & 1);
    headers->to = 1 + (addresses & 0x80 ? addresses / HOSTS % HOSTS : !(addresses & 1));
    headers->port = ports[how & 7];
    headers->ecn = how & 0x08 ? how >> 4 & 3 : 2;
    headers->wrong_icrc = (how & 0xc0) == 0xc0;
    last_id = (uint16_t)(last_id + ((how & 0xe0) != 0xa0)); /* else the network's copy */
    headers->ip_id = last_id;
}

/* A packet from its BTH on; `kind` is below 16. Returns its length. */
static size_t
make(uint8_t *packet, unsigned kind, const frames_headers_t *headers, uint32_t qpn, input_t *input)
{
    if (kind < 3)
        return make_message(packet, headers, qpn, input);
    if (kind == 3)
        return make_notification(packet, qpn);
    if (kind == 4)
        return make_datagram(packet, qpn, input);
    if (kind == 5)
        return make_packet(packet, input_byte(input), qpn, input);
    if (kind == 6)
        return make_packet(packet, SMCR_UC | (input_byte(input) & 0x1f), qpn, input);
    if (kind < 10)
        return make_packet(packet, SMCR_RC_ACK, qpn, input);
    if (kind < 12)
        return make_packet(packet, SMCR_RC_SEND_ONLY, qpn, input);
    return make_packet(packet, input_byte(input) & 0x1f, qpn, input);
}

void
rdma_send(input_t *input)
{
    uint8_t packet[SMCR_IB_BTH_LENGTH + HEADERS_MAX + PAYLOAD_MAX] = {0};
    uint8_t kind = input_byte(input);
    frames_headers_t headers;

    pick_headers(&headers, input);
    size_t length = make(packet, kind & 0x0f, &headers, qpns[kind >> 5], input);
    frames_rdma(&headers, (input_t){packet, length}, kind & 0x10 ? input_byte(input) & 0x3f : 0);
}
