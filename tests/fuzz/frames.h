/* Builds the frames of a capture around what the fuzzer makes up: TCP segments of a few
 * connections between two hosts, RoCE packets between their devices.
 *
 * Messages name devices by GID. What they contain of ::ffff:10.0.0.h becomes the address that host
 * h has in this capture.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "input.h"

#define FRAMES_CONNS 4

/* Queue pairs of the link that frames_link() sets up, and first PSNs of their packets. */
#define CLIENT_QPN 0x11U
#define SERVER_QPN 0x21U
#define CLIENT_PSN 100U /* that the client sends with */
#define SERVER_PSN 200U

/* TCP flags */
enum { FRAMES_SYN = 0x02, FRAMES_PUSH = 0x08, FRAMES_ACK = 0x10 };

/* The end of a frame that the capture lacks. */
typedef uint32_t frames_cut_t;

/* As session_open() and session_close(). */
void frames_open(bool tree);
void frames_close(bool sound);

/* A segment of connection `conn`; sequence numbers go on by themselves. `options` are padded. */
void frames_tcp(unsigned conn, bool from_server, uint8_t flags, input_t options, input_t payload,
                frames_cut_t cut);

/* SYN and SYN-ACK with the SMC-R option. */
void frames_handshake(unsigned conn);

/* A UDP packet with the addresses and ports of connection `conn`. */
void frames_udp(unsigned conn, bool from_server, input_t payload, frames_cut_t cut);

/* A RoCEv2 packet to or from host `server`, from its BTH on; the ICRC is added. */
void frames_roce(bool from_server, input_t packet, frames_cut_t cut);

/* The same in a frame of RoCEv1. */
void frames_roce_v1(bool from_server, input_t packet, frames_cut_t cut);

/* The same with a BTH to the queue pair of the first link, and the next PSN there. */
void frames_roce_packet(bool from_server, uint8_t opcode, uint8_t pad, input_t payload,
                        frames_cut_t cut);

/* Headers of a packet between any hosts. */
typedef struct {
    uint8_t from, to;    /* hosts, from 1; the client is 1, the server 2 */
    uint16_t port;       /* UDP source port */
    uint8_t ecn;         /* IP's ECN codepoint */
    uint16_t ip_id;
    bool wrong_icrc;
} frames_headers_t;

/* A RoCEv2 packet, from its BTH on; the right ICRC is added, or a wrong one. */
void frames_rdma(const frames_headers_t *headers, input_t packet, frames_cut_t cut);

/* Accept or Confirm of version 1: 68 bytes. */
void frames_announcement(bool server, uint8_t message[68]);

/* The receiver of what `from_server` has sent last acknowledges it. */
void frames_ack(bool from_server);

/* The first contact of connection 0: its link is known, and has number 1. */
void frames_link(void);

/* The same in version 2.1 between two hosts with ANCK: they agree on immediate data in place of
 * CDC, and each has space for `credits` messages. */
void frames_link_of_anck(uint8_t credits);
