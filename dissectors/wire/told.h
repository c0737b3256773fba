/* told.h
 * What a host tells about its own SMC-R sockets, link groups and links, as the dumps of Linux have
 * it (<linux/smc_diag.h>, <linux/smc.h>), in the plugin's terms: numbers in the machine's byte
 * order, addresses as GIDs. "Own" is of the host that was asked.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "gid.h"
#include "messages.h"

#define SMCR_TOLD_TEXT_LENGTH 64 /* of names, with the NUL behind them */

enum smcr_told_state { SMCR_TOLD_LISTEN = 10 }; /* of those of the kernel, net/smc/smc.h */
enum smcr_told_mode { SMCR_TOLD_SMCR, SMCR_TOLD_FALLBACK, SMCR_TOLD_SMCD };
enum { SMCR_TOLD_OWN, SMCR_TOLD_PEER, SMCR_TOLD_ENDS };

/* A socket of AF_SMC: inet_diag_sockid and the attributes of smc_diag_msg. */
typedef struct {
    uint8_t address[SMCR_TOLD_ENDS][SMCR_GID_LENGTH]; /* of TCP; IPv4 ones are mapped */
    uint16_t port[SMCR_TOLD_ENDS];
    uint8_t state;                     /* enum smcr_told_state */
    uint8_t mode;                      /* enum smcr_told_mode */
    bool has_conn;                     /* CONNINFO: token to tx_flags are known */
    bool has_lgr;                      /* LGRINFO: `is_server` to `device` are known */
    bool has_fallback;                 /* FALLBACK: `reason` and `peer_reason` are known */
    bool undated;                      /* from a file: when it was so is not known */
    uint32_t token;                    /* that CDC messages to the host carry */
    uint32_t size[SMCR_TOLD_ENDS];     /* of the element that the end receives in, bytes */
    smcr_cursor_t rx_prod, rx_cons;    /* of the last CDC message that the host has received */
    smcr_cursor_t tx_prod, tx_cons;    /* of the host itself; its last message may have less */
    bool is_server;
    uint8_t link_number;
    uint8_t gid[SMCR_TOLD_ENDS][SMCR_GID_LENGTH];
    char device[SMCR_TOLD_TEXT_LENGTH];
    uint32_t reason, peer_reason;      /* of the fallback, as in CLC Decline */
} smcr_told_socket_t;

/* A link group: nest SMC_GEN_LGR_SMCR. */
typedef struct {
    uint32_t id;                       /* as smc-tools show it */
    bool is_server;
    uint8_t type;                      /* 1 single, 2 symmetric, 3 and 4 asymmetric */
    uint8_t version, release, os;      /* of SMC; version 0: not told */
    uint8_t vlan;
    uint32_t connections;
    char peer_host[SMCR_TOLD_TEXT_LENGTH], eid[SMCR_TOLD_TEXT_LENGTH]; /* without spaces at their
                                                                          end; empty: not told */
} smcr_told_lgr_t;

/* A link of the group that was told last in the same dump: nest SMC_GEN_LINK_SMCR. */
typedef struct {
    uint8_t number;
    uint32_t state;                    /* 0 unused, 1 inactive, 2 activating, 3 active */
    uint8_t gid[SMCR_TOLD_ENDS][SMCR_GID_LENGTH];
    char device[SMCR_TOLD_TEXT_LENGTH];
} smcr_told_link_t;

typedef enum {
    SMCR_TOLD_SOCKET,
    SMCR_TOLD_LGR,
    SMCR_TOLD_LINK,
    SMCR_TOLD_DONE, /* of the dump: all that the host had was told */
    SMCR_TOLD_CUT,  /* of the dump: the capture lacks some of it */
} smcr_told_kind_t;

/* One of these, as a netlink message tells it. */
typedef struct {
    smcr_told_kind_t kind;
    uint64_t dump; /* which it is part of: sequence number and port of nlmsghdr */
    union {
        smcr_told_socket_t socket;
        smcr_told_lgr_t lgr;
        smcr_told_link_t link;
    } u;
} smcr_told_t;
