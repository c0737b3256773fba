/* What the decoders keep of each message and the state reads: plain values in host
 * order, addresses as bytes, or as GIDs. They live no longer than the call that decoded them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "clc_codes.h"
#include "gid.h"

/* ---- RoCE: the transport headers of a packet (InfiniBand volume 1, chapter 9) ---- */

/* One end of a link: a queue pair is named by its device's GID and its number, for numbers are
 * unique only within a device. */
typedef struct {
    uint8_t gid[SMCR_GID_LENGTH]; /* IPv4 addresses as ::ffff:a.b.c.d */
    uint32_t qpn;                 /* 24 bits */
} smcr_ib_qp_key_t;

typedef struct {
    uint8_t source[SMCR_GID_LENGTH]; /* GID of the sender */
    smcr_ib_qp_key_t target;         /* queue pair that receives the packet */
    uint8_t opcode; /* enum smcr_ib_opcode */
    uint8_t pad; /* bytes of padding after the payload, 0..3 */
    uint32_t psn;  /* 24 bits */
    int32_t ip_id; /* identification of the IPv4 packet; negative: it has none */
    uint16_t port; /* UDP source port; 0: it has none */
    bool fecn, becn; /* of the BTH */
    bool has_src_qpn; /* the next one is there: datagrams */
    uint32_t src_qpn; /* 24 bits */
    bool has_reth; /* the next three are there */
    uint64_t va;
    uint32_t rkey;
    uint32_t dma_length; /* bytes of the whole request */
    bool has_immediate;  /* the next one is there */
    uint32_t immediate;
    bool has_aeth;       /* the next one is there */
    uint8_t syndrome;    /* ACK, NAK or RNR NAK, and credits, code or timer */
    bool has_ecn;        /* the next one is known */
    uint8_t ecn;         /* enum smcr_wire_ecn, of IP or of the GRH */
    uint8_t icrc;        /* 0: not checked; else 1 + smcr_ib_icrc_status_t */
    bool corrupt;        /* the ICRC is wrong, so that the receiver drops the packet */
    uint32_t length;     /* bytes from the header of IP, or else the LRH or GRH, to the end */
    int payload;         /* offset of the payload in the packet */
    int payload_length;  /* bytes, padding and ICRC excluded; 0 when there are none */
} smcr_ib_headers_t;

/* ---- CLC (RFC 7609 A.2, net/smc/smc_clc.h) ---- */

typedef struct {
    uint32_t eyecatcher;
    uint8_t type;    /* enum smcr_clc_type */
    uint16_t length; /* as the message says */
    uint8_t flags;   /* byte 7: version, first contact or types */
} smcr_clc_header_t;

typedef struct {
    uint8_t peer_id[SMCR_WIRE_PEER_ID_LENGTH];
    uint8_t gid[SMCR_GID_LENGTH];
    uint8_t mac[SMCR_WIRE_MAC_LENGTH];
    uint16_t ip_area_offset;
    uint16_t v2_offset; /* 0: no SMCv2 extension */
    bool has_ip_area;
    uint8_t subnet[4]; /* as on the wire: network address (Linux) or mask (RFC) */
    uint8_t subnet_length;
    uint8_t prefix_count;
    uint8_t prefixes[SMCR_WIRE_PREFIXES_MAX][SMCR_WIRE_PREFIX_LENGTH]; /* address, bits */
    uint8_t prefixes_kept;
    bool has_v2;
    uint8_t eid_count;
    uint8_t ism_count;
    uint8_t v2_flags; /* release, SEID indicator */
    uint16_t smcdv2_offset;
    uint8_t roce_gid[SMCR_GID_LENGTH];  /* of SMC-R version 2 */
    uint8_t max_conns, max_links;       /* of release 1 */
    uint16_t features;                  /* of release 1 */
    unsigned eids;                      /* that are in the message: so many of the next */
    uint8_t eid[SMCR_CLC_COUNT_MAX + 1][SMCR_WIRE_EID_LENGTH]; /* padded; the SEID is the last */
} smcr_clc_proposal_t;

/* Accept and Confirm for SMC-R */
typedef struct {
    uint8_t peer_id[SMCR_WIRE_PEER_ID_LENGTH];
    uint8_t gid[SMCR_GID_LENGTH];
    uint8_t mac[SMCR_WIRE_MAC_LENGTH];
    uint32_t qpn; /* 24 bits */
    uint32_t rkey;
    uint8_t rmb_index; /* from 1 */
    uint32_t token;
    uint8_t sizes; /* size code << 4 | MTU code */
    uint64_t va;
    uint32_t psn; /* 24 bits */
    uint8_t os_release; /* of the first contact extension: operating system << 4 | release */
    uint8_t host_name[SMCR_WIRE_HOST_NAME_LENGTH]; /* of it, too; padded with blanks or zeros */
    uint8_t eid[SMCR_WIRE_EID_LENGTH];   /* of version 2; padded, too */
    uint8_t gid_count;
    bool has_fce;                 /* the first contact extension is there: with `os_release` */
    uint8_t fce_flags;            /* of it: SMCR_MASK_DIRECT */
    uint8_t max_conns, max_links; /* of it, in release 1 */
    uint16_t features;
    uint8_t vendor_options[4];
} smcr_clc_accept_t;

typedef struct {
    uint8_t peer_id[SMCR_WIRE_PEER_ID_LENGTH];
    uint32_t diagnosis;
    uint8_t os; /* operating system << 4; version 1 has a reserved byte here */
} smcr_clc_decline_t;

typedef struct {
    smcr_clc_header_t header;
    uint32_t bytes; /* that the message has, whatever its length says */
    unsigned expected; /* bytes that it has by its type and counts; not `exact`: or more */
    bool exact;
    bool complete; /* all of it was captured, and its length and its trailer are right */
    bool malformed; /* all of it was captured, but its length, its trailer or a count is wrong */
    bool smcd;     /* Accept or Confirm of SMC-D: only the header is kept */
    union {
        smcr_clc_proposal_t proposal;
        smcr_clc_accept_t accept; /* Confirm too */
        smcr_clc_decline_t decline;
    } u;
    bool usable;   /* of an Accept or Confirm all but the PSN is there, whatever comes behind */
    bool cut_psn;  /* the PSN is not there */
    bool cut_code; /* the capture has cut off the diagnosis of a Decline */
} smcr_clc_t;

static inline bool
smcr_wire_is_eyecatcher(uint32_t value)
{
    return value == SMCR_CLC_EYECATCHER_R || value == SMCR_CLC_EYECATCHER_D;
}

static inline bool
smcr_wire_clc_is_first_contact(const smcr_clc_t *clc)
{
    return (clc->header.flags & SMCR_CLC_FLAG_FIRST_CONTACT) != 0;
}

/* Whether the element of the Accept or Confirm goes on behind the highest address. */
static inline bool
smcr_wire_clc_is_beyond(const smcr_clc_accept_t *accept)
{
    uint64_t size = smcr_bsize_bytes(smcr_wire_bits(accept->sizes, SMCR_MASK_BUFFER_SIZE));
    uint64_t last = size * accept->rmb_index - 1; /* of the element, from the RMB's first byte */

    return accept->rmb_index && accept->va > UINT64_MAX - last;
}

/* Whether the Accept or Confirm, of SMC-R, tells its sender's queue pair, RMB and token. */
static inline bool
smcr_wire_clc_names_qp(const smcr_clc_t *clc)
{
    return clc->usable && !clc->smcd;
}

/* ---- LLC (RFC 7609 A.3, net/smc/smc_llc.c) ---- */

/* An RMB's key and address on a link. */
typedef struct {
    uint8_t link;      /* number of the link that it is for */
    uint32_t ref_rkey; /* ADD LINK: key of the same RMB on the link that carries the message */
    uint32_t rkey;
    uint64_t va;
} smcr_rtoken_t;

typedef struct {
    uint8_t mac[SMCR_WIRE_MAC_LENGTH];
    uint8_t gid[SMCR_GID_LENGTH];
    uint32_t qpn;
    uint8_t link;
    uint32_t user_id;
    uint8_t max_links;
    uint8_t max_conns; /* of version 2 */
} smcr_llc_confirm_link_t;

typedef struct {
    uint8_t mac[SMCR_WIRE_MAC_LENGTH];
    uint8_t gid[SMCR_GID_LENGTH];
    uint32_t qpn;
    uint8_t link;
    uint8_t mtu; /* code in the low nibble */
    uint32_t psn;
    uint8_t reject_reason; /* v1: low nibble of byte 2, v2: of the flags (Linux: 0) */
    uint16_t rkey_count;   /* v2: RTokens that the message announces */
} smcr_llc_add_link_t;

typedef struct {
    uint8_t link;
    uint8_t rtokens_left;
} smcr_llc_add_link_cont_t;

typedef struct {
    uint8_t link;
    uint32_t reason;
} smcr_llc_delete_link_t;

typedef struct {
    uint8_t other_links; /* RTokens for other links, those of continuations included */
    uint32_t rkey;
    uint64_t va;
} smcr_llc_confirm_rkey_t;

typedef struct {
    uint8_t count;
    uint8_t errors; /* v1: mask, first RKey in the most significant bit; v2: their number */
} smcr_llc_delete_rkey_t;

typedef struct {
    uint8_t type;    /* enum smcr_llc_type */
    uint16_t length; /* as the message says */
    uint8_t flags;
    bool little_endian; /* version 2: the length is right in this byte order only */
    bool big_endian;    /* version 2: the length is right in this one only */
    bool complete; /* the whole message was captured and its length is right */
    bool lacks_flag; /* the state has found out: it is a response, but its flags do not say so */
    union {
        smcr_llc_confirm_link_t confirm_link;
        smcr_llc_add_link_t add_link;
        smcr_llc_add_link_cont_t add_link_cont;
        smcr_llc_delete_link_t delete_link;
        struct {
            uint8_t gid_count;
        } req_add_link;
        smcr_llc_confirm_rkey_t confirm_rkey; /* the continuation too: other_links alone */
        smcr_llc_delete_rkey_t delete_rkey;
        struct {
            uint8_t user_data[16];
        } test_link;
    } u;
    unsigned rtoken_count; /* RTokens or, in DELETE RKEY, RKeys that are really in the message */
    smcr_rtoken_t *rtokens;
} smcr_llc_t;

/* ---- CDC (RFC 7609 A.4, net/smc/smc_cdc.h) ---- */

/* Where a byte is in an RMB element that is used as a ring (4.5, A.4). */
typedef struct {
    uint16_t wrap;  /* counts the wraps, and wraps itself */
    uint32_t count; /* offset in the RMB element */
} smcr_cursor_t;

typedef struct {
    uint8_t length;
    uint16_t seq;
    uint32_t token; /* the receiver's */
    smcr_cursor_t prod; /* where the sender writes next in the receiver's element */
    smcr_cursor_t cons; /* up to where the sender has read its own element */
    uint8_t flags; /* byte 24 */
    uint8_t state; /* byte 25 */
    bool complete;
} smcr_cdc_t;

/* ---- what a host tells about its own SMC-R sockets, link groups and links, as the dumps of Linux
 * have it (<linux/smc_diag.h>, <linux/smc.h>); "own" is of the host that was asked ---- */

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
    uint64_t inode;                    /* of the socket, not of another before it */
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
