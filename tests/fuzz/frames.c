/* Ethernet, IPv4, TCP, UDP and BTH around the fuzzer's bytes. Nobody checks the checksums.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "frames.h"

#include "fabric/fabric.h"
#include "session.h"

#define LENGTH_MAX 4096
#define ICRC_LENGTH 4

enum { ETHERNET = 14, IPV4 = 20, TCP = 20, UDP = 8, GRH = 40, BTH = 12 };
enum { PROTOCOL_TCP = 6, PROTOCOL_UDP = 17, ROCE_PORT = 4791 };
enum { SERVICE_PORT = 80, OTHER_PORT = 49000 }; /* the latter is nobody's */

static unsigned generation;               /* tells the captures' addresses apart */
static uint32_t next_seq[FRAMES_CONNS][2]; /* by sender */
static uint32_t next_psn[2];              /* by sender */

static const uint8_t own_option[] = {254, 6, 0xe2, 0xd4, 0xc3, 0xd9};

static void
put(uint8_t *at, unsigned length, uint32_t value)
{
    while (length > 0) {
        at[--length] = (uint8_t)value;
        value >>= 8;
    }
}

static void
put_address(uint8_t *at, uint8_t net, unsigned host)
{
    at[0] = net;
    put(at + 1, 2, generation);
    at[3] = (uint8_t)host;
}

static void
replace_gids(uint8_t *bytes, size_t length)
{
    static const uint8_t mapped[] = {0xff, 0xff, 10, 0, 0};

    for (size_t i = 0; i + sizeof mapped < length; i++)
        if (bytes[i] == 0xff && memcmp(bytes + i, mapped, sizeof mapped) == 0)
            put(bytes + i + 3, 2, generation);
}

static void
put_hosts(uint8_t *frame, uint8_t protocol, uint8_t net, const uint8_t hosts[2], size_t length)
{
    uint8_t *ip = frame + ETHERNET;

    put(frame + 12, 2, 0x0800);
    frame[5] = hosts[1];
    frame[11] = hosts[0];
    ip[0] = 0x45;
    put(ip + 2, 2, (uint32_t)length - ETHERNET);
    ip[8] = 64;
    ip[9] = protocol;
    put_address(ip + 12, net, hosts[0]);
    put_address(ip + 16, net, hosts[1]);
}

static void
put_ipv4(uint8_t *frame, uint8_t protocol, uint8_t net, bool from_server, size_t length)
{
    uint8_t hosts[] = {1U + from_server, 2U - from_server};

    put_hosts(frame, protocol, net, hosts, length);
}

static void
dissect(const uint8_t *frame, size_t length, frames_cut_t cut)
{
    session_frame(frame, (uint32_t)length - MIN(cut, (uint32_t)length), (uint32_t)length);
}

void
frames_open(bool tree)
{
    generation = session_open(tree);
    memset(next_seq, 0, sizeof next_seq);
    next_psn[0] = CLIENT_PSN;
    next_psn[1] = SERVER_PSN;
}

void
frames_close(bool sound)
{
    session_close(sound);
}

void
frames_tcp(unsigned conn, bool from_server, uint8_t flags, input_t options, input_t payload,
           frames_cut_t cut)
{
    uint8_t frame[LENGTH_MAX] = {0};
    uint8_t *tcp = frame + ETHERNET + IPV4;
    unsigned option_length = (unsigned)(MIN(options.left, 40U) + 3U) & ~3U;
    unsigned ports[] = {40000U + conn, conn ? OTHER_PORT + conn : SERVICE_PORT};
    size_t room = LENGTH_MAX - ETHERNET - IPV4 - TCP - option_length;
    size_t payload_length = MIN(payload.left, room);
    size_t length = LENGTH_MAX - room + payload_length;
    uint8_t *data = tcp + TCP + option_length;

    put_ipv4(frame, PROTOCOL_TCP, 20, from_server, length);
    put(tcp, 2, ports[from_server]);
    put(tcp + 2, 2, ports[!from_server]);
    put(tcp + 4, 4, next_seq[conn][from_server]);
    put(tcp + 8, 4, next_seq[conn][!from_server]);
    tcp[12] = (uint8_t)((TCP + option_length) / 4 << 4);
    tcp[13] = flags;
    put(tcp + 14, 2, 0xffff);
    memcpy(tcp + TCP, options.bytes, MIN(options.left, option_length));
    memcpy(data, payload.bytes, payload_length);
    replace_gids(data, payload_length);
    next_seq[conn][from_server] += (uint32_t)payload_length + (flags & FRAMES_SYN ? 1U : 0U);
    dissect(frame, length, cut);
}

void
frames_handshake(unsigned conn)
{
    input_t option = {own_option, sizeof own_option}, nothing = {own_option, 0};

    frames_tcp(conn, false, FRAMES_SYN, option, nothing, 0);
    frames_tcp(conn, true, FRAMES_SYN | FRAMES_ACK, option, nothing, 0);
}

void
frames_udp(unsigned conn, bool from_server, input_t payload, frames_cut_t cut)
{
    uint8_t frame[LENGTH_MAX] = {0};
    uint8_t *udp = frame + ETHERNET + IPV4;
    unsigned ports[] = {40000U + conn, conn ? OTHER_PORT + conn : SERVICE_PORT};
    size_t payload_length = MIN(payload.left, LENGTH_MAX - ETHERNET - IPV4 - UDP);
    size_t length = ETHERNET + IPV4 + UDP + payload_length;

    put_ipv4(frame, PROTOCOL_UDP, 20, from_server, length);
    put(udp, 2, ports[from_server]);
    put(udp + 2, 2, ports[!from_server]);
    put(udp + 4, 2, (uint32_t)length - ETHERNET - IPV4);
    memcpy(udp + UDP, payload.bytes, payload_length);
    dissect(frame, length, cut);
}

void
frames_roce(bool from_server, input_t packet, frames_cut_t cut)
{
    uint8_t frame[LENGTH_MAX] = {0};
    uint8_t *udp = frame + ETHERNET + IPV4;
    size_t packet_length = MIN(packet.left, LENGTH_MAX - ETHERNET - IPV4 - UDP - ICRC_LENGTH);
    size_t length = ETHERNET + IPV4 + UDP + packet_length + ICRC_LENGTH;

    put_ipv4(frame, PROTOCOL_UDP, 10, from_server, length);
    put(udp, 2, 50000);
    put(udp + 2, 2, ROCE_PORT);
    put(udp + 4, 2, (uint32_t)length - ETHERNET - IPV4);
    memcpy(udp + UDP, packet.bytes, packet_length);
    replace_gids(udp + UDP, packet_length);
    dissect(frame, length, cut);
}

void
frames_rdma(const frames_headers_t *headers, input_t packet, frames_cut_t cut)
{
    uint8_t frame[LENGTH_MAX] = {0}, hosts[] = {headers->from, headers->to};
    uint8_t *ip = frame + ETHERNET, *udp = ip + IPV4;
    size_t packet_length = MIN(packet.left, LENGTH_MAX - ETHERNET - IPV4 - UDP - ICRC_LENGTH);
    size_t covered = IPV4 + UDP + packet_length;
    size_t length = ETHERNET + covered + ICRC_LENGTH;

    put_hosts(frame, PROTOCOL_UDP, 10, hosts, length);
    ip[1] = headers->ecn;
    put(ip + 4, 2, headers->ip_id);
    put(udp, 2, headers->port);
    put(udp + 2, 2, ROCE_PORT);
    put(udp + 4, 2, (uint32_t)length - ETHERNET - IPV4);
    memcpy(udp + UDP, packet.bytes, packet_length);
    replace_gids(udp + UDP, packet_length);
    put(ip + covered, 4, smcr_icrc_compute(SMCR_ICRC_IPV4, ip, IPV4 + UDP, covered) ^
                             headers->wrong_icrc);
    dissect(frame, length, cut);
}

void
frames_roce_v1(bool from_server, input_t packet, frames_cut_t cut)
{
    uint8_t frame[LENGTH_MAX] = {0};
    uint8_t *grh = frame + ETHERNET;
    size_t packet_length = MIN(packet.left, LENGTH_MAX - ETHERNET - GRH - ICRC_LENGTH);

    put(frame + 12, 2, 0x8915);
    grh[0] = 0x60;
    put(grh + 4, 2, (uint32_t)packet_length + ICRC_LENGTH);
    grh[6] = 0x1b;
    for (unsigned i = 0; i < 2; i++) {
        uint8_t *gid = grh + 8 + (size_t)16 * i;
        put(gid + 10, 2, 0xffff);
        put_address(gid + 12, 10, from_server == !i ? 2 : 1);
    }
    memcpy(grh + GRH, packet.bytes, packet_length);
    replace_gids(grh + GRH, packet_length);
    dissect(frame, ETHERNET + GRH + packet_length + ICRC_LENGTH, cut);
}

void
frames_roce_packet(bool from_server, uint8_t opcode, uint8_t pad, input_t payload,
                   frames_cut_t cut)
{
    uint8_t packet[LENGTH_MAX] = {opcode, (uint8_t)(0x40 | (pad & 3) << 4), 0xff, 0xff};
    size_t length = MIN(payload.left, LENGTH_MAX - BTH);

    put(packet + 5, 3, from_server ? CLIENT_QPN : SERVER_QPN);
    put(packet + 9, 3, next_psn[from_server]++);
    memcpy(packet + BTH, payload.bytes, length);
    frames_roce(from_server, (input_t){packet, BTH + length}, cut);
}

void
frames_ack(bool from_server)
{
    uint8_t packet[BTH + 4] = {17, 0x40, 0xff, 0xff};

    put(packet + 5, 3, from_server ? SERVER_QPN : CLIENT_QPN);
    put(packet + 9, 3, next_psn[from_server] - 1);
    packet[BTH] = 0x1f;
    frames_roce(!from_server, (input_t){packet, sizeof packet}, 0);
}

void
frames_announcement(bool server, uint8_t message[68])
{
    static const uint8_t begin[] = {0xe2, 0xd4, 0xc3, 0xd9, 0, 0, 68, 0x18};

    memset(message, 0, 68);
    memcpy(message, begin, sizeof begin);
    message[4] = server ? 2 : 3;
    message[8] = server;                         /* peer ID */
    put(message + 26, 4, 0xffff0a00);            /* GID */
    message[31] = 1U + server;
    message[37] = 1U + server;                   /* MAC address */
    put(message + 38, 3, server ? SERVER_QPN : CLIENT_QPN);
    put(message + 41, 4, server ? 0x201 : 0x101); /* RKey */
    message[45] = 1;                             /* RMB element */
    put(message + 46, 4, server ? 0xb1 : 0xa1);  /* alert token */
    message[50] = 0x03;                          /* 16 KiB, MTU 1024 */
    put(message + 56, 4, server ? 0x20000000 : 0x10000000); /* address of the RMB */
    put(message + 61, 3, server ? SERVER_PSN : CLIENT_PSN);
    memcpy(message + 64, begin, 4);
}

/* Accept or Confirm of version 2.1, whose first contact extension has the options of ANCK. */
static void
announce_anck(bool server, uint8_t credits)
{
    uint8_t message[164];
    size_t length = server ? 160 : 164; /* Confirm has a list of GIDs, here of none */
    uint8_t *extension = message + 104;
    input_t nothing = {message, 0};

    memset(message, 0, sizeof message);
    frames_announcement(server, message);
    message[6] = (uint8_t)length;
    message[7] = 0x28;
    message[51] = credits;
    memset(message + 64, 0, 4);
    extension[0] = 0x80;   /* direct */
    extension[1] = 0x21;   /* Linux, release 1 */
    extension[36] = 255;   /* connections */
    extension[37] = 2;     /* links */
    extension[40] = 0xe0;  /* vendor options: valid, credits, immediate data */
    memcpy(message + length - 4, message, 4);
    frames_tcp(0, server, FRAMES_ACK | FRAMES_PUSH, nothing, (input_t){message, length}, 0);
}

static void
confirm_link(bool from_server, unsigned version)
{
    uint8_t message[44] = {1, 44, 0, from_server ? 0x03 : 0x83};

    if (version == 2) {
        message[0] = 0x21;
        message[1] = 0;
        message[2] = sizeof message;
    }
    message[9] = 1U + from_server;
    put(message + 20, 4, 0xffff0a00);
    message[25] = 1U + from_server;
    put(message + 26, 3, from_server ? SERVER_QPN : CLIENT_QPN);
    message[29] = 1;
    put(message + 30, 4, 0x1000U + from_server);
    frames_roce_packet(from_server, 4, 0, (input_t){message, sizeof message}, 0);
}

static void
confirm_link_in(unsigned version)
{
    confirm_link(true, version);
    confirm_link(false, version);
}

void
frames_link(void)
{
    uint8_t message[68];
    input_t nothing = {message, 0};

    frames_handshake(0);
    for (int server = 1; server >= 0; server--) {
        frames_announcement(server, message);
        frames_tcp(0, server, FRAMES_ACK | FRAMES_PUSH, nothing, (input_t){message, 68}, 0);
    }
    confirm_link_in(1);
}

void
frames_link_of_anck(uint8_t credits)
{
    frames_handshake(0);
    announce_anck(true, credits);
    announce_anck(false, credits);
    confirm_link_in(2);
}
