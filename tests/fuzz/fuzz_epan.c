/* Fuzzes the decoders where they work: below Wireshark's own TCP and InfiniBand dissectors, in two
 * passes. Built once for each TARGET, which says what the input is.
 *
 * Input is a sequence of records: how it is sent, its length, the bytes; that of the clc targets is
 * a single message.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "frames.h"
#include "rdma.h"
#include "session.h"
#include "taps.h"
#include "told.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CUT = 0x01, SERVER = 0x02, FIX_LENGTH = 0x04, FIX_TRAILER = 0x08, SPLIT = 0x10 };
enum { PACKETS_MAX = 20 }; /* what is said of most takes several others */
enum { RECORDS_MAX = 8 }; /* else most inputs are a hundred frames without content */
enum { SEND_FIRST = 0, SEND_MIDDLE = 1, SEND_LAST = 2, SEND_ONLY = 4, WRITE_ONLY = 10 };
enum { WRITE_FIRST = 6, WRITE_LAST_IMMEDIATE = 9, WRITE_ONLY_IMMEDIATE = 11 };
enum { MTU = 1024, RMB_SIZE = 16384 }; /* of the link of frames_link() */

static uint64_t packet_count; /* of the tap of ANCK, or WRITEs with immediate data */
static unsigned written[2]; /* by sender: offset at which send_immediate() goes on */

static const input_t nothing = {(const uint8_t *)"", 0};

static frames_cut_t
pick_cut(input_t *input, uint8_t how)
{
    return how & CUT ? input_byte(input) : 0;
}

static input_t
record(input_t *input)
{
    return input_part(input, input_byte(input));
}

/* ---- TCP ---- */

static void
send_option(input_t *input)
{
    uint8_t how = input_byte(input);
    unsigned conn = how >> 6;
    uint8_t flags = how & 0x04 ? FRAMES_ACK : how & SERVER ? FRAMES_SYN | FRAMES_ACK : FRAMES_SYN;
    frames_cut_t cut = pick_cut(input, how);
    input_t options = record(input);

    frames_tcp(conn, (how & SERVER) != 0, flags, options, how & 0x08 ? record(input) : nothing,
               cut);
}

static void
send_segment(input_t *input)
{
    uint8_t how = input_byte(input);
    frames_cut_t cut = pick_cut(input, how);

    frames_tcp(how >> 6, (how & SERVER) != 0, FRAMES_ACK | FRAMES_PUSH, nothing, record(input),
               cut);
}

static void
send_announcement(bool server)
{
    uint8_t message[68];

    frames_announcement(server, message);
    frames_tcp(0, server, FRAMES_ACK | FRAMES_PUSH, nothing, (input_t){message, sizeof message},
               0);
}

/* The message is the input; only what makes it one is put right, and that not always. */
static void
send_clc(input_t *input, uint8_t type)
{
    static const uint8_t eyecatcher[] = {0xe2, 0xd4, 0xc3, 0xd9};
    uint8_t how = input_byte(input), message[600] = {0};
    bool server = type == 2 || (type == 4 && (how & SERVER));
    frames_cut_t cut = pick_cut(input, how);
    size_t split = how & SPLIT ? input_byte(input) : 0;
    input_t body = input_part(input, sizeof message);
    size_t length = body.left;

    memcpy(message, body.bytes, length);
    if (!(how & 0x80))
        memcpy(message, eyecatcher, MIN(length, sizeof eyecatcher));
    if (length > 4)
        message[4] = type;
    if (length > 6 && (how & FIX_LENGTH)) {
        message[5] = (uint8_t)(length >> 8);
        message[6] = (uint8_t)length;
    }
    if (length >= 12 && (how & FIX_TRAILER))
        memcpy(message + length - 4, eyecatcher, sizeof eyecatcher);
    split = MIN(split, length);
    if (split)
        frames_tcp(0, server, FRAMES_ACK | FRAMES_PUSH, nothing, (input_t){message, split}, 0);
    frames_tcp(0, server, FRAMES_ACK | FRAMES_PUSH, nothing,
               (input_t){message + split, length - split}, cut);
}

/* ---- RoCE ---- */

static void
send_message(input_t *input, bool cdc)
{
    uint8_t how = input_byte(input), message[256];
    bool server = (how & SERVER) != 0, first = (how & SPLIT) != 0;
    frames_cut_t cut = pick_cut(input, how);
    input_t body = how & 0x20 ? input_part(input, 44) : record(input);

    memcpy(message, body.bytes, body.left);
    if (body.left > 3 && cdc)
        message[0] = 0xfe;
    if (body.left > 3 && (how & FIX_LENGTH)) {
        bool v2 = !cdc && (message[0] & 0xf0) == 0x20;
        message[1] = v2 ? 0 : (uint8_t)body.left;
        if (v2)
            message[2] = (uint8_t)body.left;
    }
    size_t half = first ? body.left / 2 : 0;
    if (first)
        frames_roce_packet(server, SEND_FIRST, 0, (input_t){message, half}, 0);
    frames_roce_packet(server, first ? SEND_LAST : SEND_ONLY, how & 0x40 ? how >> 2 : 0,
                       (input_t){message + half, body.left - half}, cut);
}

static void
send_llc(input_t *input)
{
    send_message(input, false);
}

static void
send_cdc(input_t *input)
{
    send_message(input, true);
}

/* To the RMB of the receiver, or anywhere. */
static void
send_write(input_t *input)
{
    uint8_t how = input_byte(input), packet[300];
    bool server = (how & SERVER) != 0, has_reth = (how & 0x04) != 0;
    frames_cut_t cut = pick_cut(input, how);
    input_t data = record(input);
    uint8_t *reth = packet;

    memset(packet, 0, sizeof packet);
    if (how & 0x08) { /* RETH of the input's own */
        input_t own = input_part(input, 16);
        memcpy(reth, own.bytes, own.left);
    } else {
        reth[4] = server ? 0x10 : 0x20;
        reth[6] = input_byte(input) & 0x3f;
        reth[7] = input_byte(input);
        reth[10] = server ? 1 : 2;
        reth[11] = 1;
        reth[14] = how & 0x20 ? 4 : 0;
        reth[15] = (uint8_t)data.left;
    }
    size_t header = has_reth ? 16 : 0;
    memcpy(packet + header, data.bytes, data.left);
    uint8_t opcode = has_reth ? (how & 0x10 ? 6 : WRITE_ONLY) : (how & 0x10 ? 7 : 8);
    frames_roce_packet(server, opcode, how >> 6, (input_t){packet, header + data.left}, cut);
}

/* A WRITE with immediate data. Mostly they have the token of the receiver, and the data goes on
 * where the last one has ended. */
static void
send_immediate(input_t *input)
{
    static const uint8_t rmb[] = {0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0, 2, 1}; /* address, RKey */
    uint8_t how = input_byte(input), packet[MTU + 20] = {0};
    bool server = (how & SERVER) != 0, is_long = (how & SPLIT) != 0;
    frames_cut_t cut = pick_cut(input, how);
    input_t word = input_part(input, 4), data = how & 0x04 ? nothing : record(input);
    size_t length = data.left + (is_long ? MTU : 0);

    memcpy(packet, rmb, sizeof rmb);
    if (server) {
        packet[4] = 0x10;
        packet[10] = 1;
    }
    if (how & 0x20) /* anywhere in the RMB */
        written[server] = (unsigned)input_byte(input) << 6;
    if (length) {
        packet[6] = (uint8_t)(written[server] >> 8);
        packet[7] = (uint8_t)written[server];
    }
    packet[14] = (uint8_t)(length >> 8);
    packet[15] = (uint8_t)length;
    written[server] = (written[server] + (unsigned)length) % RMB_SIZE;
    size_t header = 16;
    if (is_long) {
        frames_roce_packet(server, WRITE_FIRST, 0, (input_t){packet, header + MTU}, 0);
        header = 0;
    }
    memset(packet + header, 0, 4);
    memcpy(packet + header, word.bytes, word.left);
    if (!(how & 0x80))
        packet[header] = server ? 0xa1 : 0xb1;
    memcpy(packet + header + 4, data.bytes, data.left);
    packet_count++;
    frames_roce_packet(server, is_long ? WRITE_LAST_IMMEDIATE : WRITE_ONLY_IMMEDIATE, 0,
                       (input_t){packet, header + 4 + data.left}, cut);
    if (how & 0x40)
        frames_ack(server);
}

/* Transport headers of the input's own. */
static void
send_packet(input_t *input)
{
    uint8_t how = input_byte(input), packet[256];
    bool server = (how & SERVER) != 0;
    frames_cut_t cut = pick_cut(input, how);
    input_t bytes = record(input);

    memcpy(packet, bytes.bytes, bytes.left);
    if (bytes.left >= 12 && !(how & 0x80)) { /* to a queue pair that is known */
        packet[5] = packet[6] = 0;
        packet[7] = server ? CLIENT_QPN : SERVER_QPN;
    }
    if (how & 0x40)
        frames_roce_v1(server, (input_t){packet, bytes.left}, cut);
    else
        frames_roce(server, (input_t){packet, bytes.left}, cut);
}

/* ---- the tap of ANCK ---- */

/* A packet of the tap, with messages as its source has them, or with anything. */
static void
send_tapped(input_t *input)
{
    uint8_t how = input_byte(input), kind = input_byte(input);
    uint8_t packet[300] = {0xcf, 0xd3, 0xe7, 0xa5, 1, 2, how & 0x10 ? 2 : 1, kind & 1};
    frames_cut_t cut = pick_cut(input, how);
    size_t header = kind & 0x40 ? 12 + (kind >> 2 & 0x1c) : 16;
    input_t body = kind & 2 ? input_part(input, how & 0x10 ? 32 : 44) : record(input);
    uint8_t *content = packet + header;

    memcpy(content, body.bytes, body.left);
    if (kind & 2 && !(kind & 0x80)) { /* a message */
        content[0] = 0xfe;
        content[1] = how & 0x10 ? 0 : 44;
        memset(content + 2, 0, how & 0x10 ? 6 : 0);
    }
    if (how & 0x20) { /* members of the header of the input's own */
        input_t own = input_part(input, 8);
        memcpy(packet + 4, own.bytes, own.left);
    }
    packet[9] = how & FIX_LENGTH ? (uint8_t)(header + body.left) : packet[9];
    packet_count++;
    frames_udp(how >> 6, (how & SERVER) != 0, (input_t){packet, header + body.left}, cut);
}

/* ---- netlink ---- */

static void
put_number(uint8_t *to, uint32_t number, bool big)
{
    for (unsigned i = 0; i < 4; i++)
        to[big ? 3 - i : i] = (uint8_t)(number >> 8 * i);
}

/* A frame of an nlmon interface with one or two messages: sockets of AF_SMC, SMC_GEN_NETLINK, or
 * the end of a dump. */
static void
send_netlink(input_t *input)
{
    static const uint8_t cooked[] = {0, 4, 3, 0x38, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4};
    uint8_t frame[600] = {0}, how = input_byte(input);
    bool big = how & 0x20, generic = how & 0x40;
    frames_cut_t cut = pick_cut(input, how);
    uint32_t at = sizeof cooked;

    memcpy(frame, cooked, sizeof cooked);
    frame[15] = generic ? 16 : 4;
    for (unsigned count = how >> 1 & 1; count < 2; count++) {
        input_t body = record(input);
        put_number(frame + at, 16 + (uint32_t)body.left, big);
        frame[at + (big ? 5 : 4)] = how & 0x10 ? 3 : generic ? 0x20 : 20;
        frame[at + (big ? 7 : 6)] = how >> 2 & 3;
        frame[at + 8] = how & 0x80;
        memcpy(frame + at + 16, body.bytes, body.left);
        if (!generic && body.left > 0 && !(how & 0x10))
            frame[at + 16] = 43;
        at += (uint32_t)(16 + body.left + 3) & ~3U;
    }
    session_frame(frame, at > cut ? at - cut : 1, at);
}

/* The controller of generic netlink names family 0x20. */
static void
announce_family(void)
{
    static const uint8_t frame[] = {
        0, 4, 3, 0x38, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 16,    /* cooked header */
        48, 0, 0, 0, 16, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0,      /* nlmsghdr */
        1, 2, 0, 0, 20, 0, 2, 0, 'S', 'M', 'C', '_', 'G', 'E', /* NEWFAMILY: name, number */
        'N', '_', 'N', 'E', 'T', 'L', 'I', 'N', 'K', 0, 6, 0, 1, 0, 0x20, 0, 0, 0};

    session_frame(frame, sizeof frame, sizeof frame);
}

/* ---- what the targets send ---- */

static void
send_anything(input_t *input)
{
    static void (*const sends[])(input_t *input) = {send_option, send_segment, send_llc, send_cdc,
                                                    send_write, send_packet, send_packet,
                                                    send_write};

    sends[input_byte(input) & 7](input);
}

static void
play_clc(input_t *input, uint8_t type)
{
    frames_handshake(0);
    if (type == 3)
        send_announcement(true);
    session_end_prelude();
    send_clc(input, type);
    if (type == 2)
        send_announcement(false);
    if (type == 2 || type == 3) /* so that what was learned is used */
        send_packet(input);
    send_segment(input);
}

/* RDMA connections, in a capture with SMC-R or without it. */
static void
play_rdma(input_t *input)
{
    bool mixed = input_byte(input) & 1;

    if (mixed)
        frames_link();
    session_end_prelude();
    rdma_begin();
    for (unsigned count = 0; count < PACKETS_MAX && input->left > 0; count++)
        if (mixed && input_pick(input, 8) == 0)
            send_anything(input);
        else
            rdma_send(input);
}

/* After a first contact that is captured, or without; beside other traffic. */
static void
play_anck(input_t *input)
{
    uint8_t begin = input_byte(input);

    if (begin & 1)
        frames_link();
    session_end_prelude();
    for (unsigned count = 0; count < PACKETS_MAX && input->left > 0; count++)
        if (begin & 2 && input_pick(input, 8) == 0)
            send_anything(input);
        else
            send_tapped(input);
}

/* Hosts with ANCK, after a first contact that is captured, or after a later connection's CLC. */
static void
play_immediate(input_t *input)
{
    uint8_t begin = input_byte(input), message[68];

    memset(written, 0, sizeof written);
    if (begin & 1) {
        frames_link_of_anck(begin >> 4);
    } else {
        frames_handshake(0);
        for (int server = 1; server >= 0; server--) {
            frames_announcement(server, message);
            message[7] = 0x10; /* no first contact */
            frames_tcp(0, server, FRAMES_ACK | FRAMES_PUSH, nothing,
                       (input_t){message, sizeof message}, 0);
        }
    }
    session_end_prelude();
    for (unsigned count = 0; count < PACKETS_MAX && input->left > 0; count++)
        if (begin & 2 && input_pick(input, 8) == 0)
            send_anything(input);
        else
            send_immediate(input);
}

/* What hosts tell beside traffic, with a link of which CLC has told or without. */
static void
play_told(input_t *input)
{
    static void (*const sends[])(input_t *input) = {
        told_send_answers, told_send_message, told_send_answers, told_send_message,
        told_send_message, send_write, send_netlink, send_anything};

    if (input_byte(input) & 1)
        frames_link();
    announce_family();
    session_end_prelude();
    for (unsigned count = 0; count < PACKETS_MAX && input->left > 0; count++)
        sends[input_byte(input) & 7](input);
}

/* Plays the input. Returns whether the layers below our messages are sound in every frame. */
static bool
play(const char *target, input_t *input)
{
    static const struct {
        const char *target;
        bool on_link;
        void (*send)(input_t *input);
    } plays[] = {
        {"option", false, send_option}, {"llc", true, send_llc},
        {"cdc", true, send_cdc},        {"write", true, send_write},
        {"roce", true, send_packet},    {"late", false, send_anything},
        {"netlink", true, send_netlink}, {"frames", true, send_anything}};
    static const char *const clc[] = {NULL, "proposal", "accept", "confirm", "decline"};

    for (uint8_t type = 1; type < array_length(clc); type++)
        if (strcmp(target, clc[type]) == 0)
            play_clc(input, type);
    if (strcmp(target, "rdma") == 0)
        play_rdma(input);
    if (strcmp(target, "told") == 0)
        play_told(input);
    if (strcmp(target, "anck") == 0)
        play_anck(input);
    if (strcmp(target, "immediate") == 0)
        play_immediate(input);
    if (strcmp(target, "netlink") == 0)
        announce_family();
    bool sound = strcmp(target, "llc") == 0 || strcmp(target, "cdc") == 0;
    for (unsigned i = 0; i < array_length(plays); i++) {
        if (strcmp(target, plays[i].target) != 0)
            continue;
        if (plays[i].on_link)
            frames_link();
        session_end_prelude();
        for (unsigned count = 0; count < RECORDS_MAX && input->left > 0; count++)
            plays[i].send(input);
    }
    return sound;
}

/* As libFuzzer prints its own numbers. */
static void
print_packets(void)
{
    if (packet_count > 0)
        fprintf(stderr, "stat::number_of_packets: %" PRIu64 "\n", packet_count);
}

int
LLVMFuzzerInitialize(int *argc _U_, char ***argv _U_)
{
    require(atexit(print_packets) == 0);
    session_start();
    if (strcmp(TARGET, "rdma") == 0) {
        session_prefer("smcr.roce:TRUE");
        session_prefer("smcr.check_icrc:TRUE");
    }
    if (strcmp(TARGET, "told") == 0)
        told_start();
    return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input_t input = {data, size};

    if (strcmp(TARGET, "told") == 0)
        told_write_file(&input, session_next());
    frames_open(size % 4 == 0);
    taps_draw_either(size / 4 % 2 == 0);
    bool sound = play(TARGET, &input);
    frames_close(sound);
    return 0;
}
