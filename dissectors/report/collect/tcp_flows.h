/* tcp_flows.h
 * The TCP connections of a capture, whatever they carry.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_REPORT_COLLECT_TCP_FLOWS_H
#define SMCR_REPORT_COLLECT_TCP_FLOWS_H

#include "compat.h"
#include "report/figures/figures.h"

typedef struct smcr_tcp_flows smcr_collect_tcp_flows_t;

/* What is known of a TCP connection besides its entry. `up` is the direction of the first segment
 * that was seen. */
typedef struct {
    smcr_when_t first, last; /* segments */
    smcr_when_t syn;         /* first SYN without ACK; frame 0: none has been seen */
    smcr_when_t reset;       /* first RST; frame 0: none */
    smcr_when_t fin[2];      /* first FIN of the client (0) and of the server (1); frame 0: none */
    bool client_known;       /* by a SYN or a SYN-ACK; else the client is taken to send `up` */
    bool client_is_up;
    uint16_t up_port;        /* from which `up` comes */
    bool lacks;              /* the capture may lack bytes of either stream */
    bool lacks_end;          /* of one it lacks the newest bytes, or all: it may have a FIN */
    smcr_when_t ce;          /* first segment with the mark CE that counts; frame 0: none */
    uint32_t syns;           /* of the client */
    bool is_connected;       /* there are segments other than these and RST */
    smcr_figure_syn_sign_t syn_sign[2]; /* of the SYN, and of the SYN-ACK */
    uint64_t isn[2];        /* initial sequence numbers of client and server; SMCR_FIGURE_UNKNOWN */
    uint64_t payload[2];     /* bytes of the streams up (0) and down (1), each once */
} smcr_collect_tcp_facts_t;

/* No flows; lives as long as the scope. */
smcr_collect_tcp_flows_t *smcr_collect_tcp_flows_new(wmem_allocator_t *scope);

/* A segment, as Wireshark's tap `tcp` hands it over, while its frame is dissected. */
void smcr_collect_tcp_flows_take(smcr_collect_tcp_flows_t *flows, const packet_info *pinfo,
                                 const struct tcpheader *tcp);

/* Numbers of TCP streams are below this. */
uint32_t smcr_collect_tcp_flows_count(const smcr_collect_tcp_flows_t *flows);

/* The connection that Wireshark calls tcp.stream `tcp_stream`; NULL: no segment of it has been
 * taken. It lives as long as the flows, and goes on changing with them. */
const smcr_collect_tcp_facts_t *smcr_collect_tcp_flows_facts(const smcr_collect_tcp_flows_t *flows,
                                                             uint32_t tcp_stream);

/* Adds the flows to `list`, in ascending order of tcp.stream. The entries live as long as
 * `scope`. */
void smcr_collect_tcp_flows_report(const smcr_collect_tcp_flows_t *flows, smcr_figure_list_t *list,
                                   wmem_allocator_t *scope);

#endif /* SMCR_REPORT_COLLECT_TCP_FLOWS_H */
