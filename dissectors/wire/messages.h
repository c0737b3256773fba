/* Structs of decoded messages. The decoders of message/ fill in the structs, and the state reads
 * them. Integers are in host order; addresses are bytes in wire order, or GIDs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "clc_codes.h"
#include "gid.h"
#include "roce_codes.h"

/* ---- RoCE: the transport headers of a packet (InfiniBand volume 1, chapter 9) ---- */

/* The key of a queue pair: the GID of its device and its number. The number alone is not enough,
 * because queue pairs of two devices may have the same number. */
typedef struct {
    uint8_t gid[SMCR_GID_LENGTH]; /* GID of the device; IPv4 addresses are mapped:
                                     ::ffff:a.b.c.d */
    uint32_t qpn;                 /* number of the queue pair, 24 bits */
} smcr_ib_qp_key_t;

/* The network of a packet: VLANs and tunnels. Equal addresses in two networks may be two hosts. All
 * zeros: no VLAN and no tunnel, or not known. The struct has no padding, as it is part of keys. */
typedef struct {
    uint32_t tunnel_id;  /* VNI of VXLAN or Geneve, 24 bits; key of GRE; 0: none */
    unsigned tunnel : 8; /* enum smcr_ib_tunnel: the innermost tunnel that the packet is in */
    unsigned outer_vlan : 12; /* ID of the VLAN tag before the last one (QinQ); 0: none */
    unsigned vlan : 12;  /* ID of the last VLAN tag, which is within the tunnel if there is one; 0:
                            none */
} smcr_ib_network_t;

/* VLAN tags and tunnels in which a frame carries a packet. All zeros: none, or not known. */
typedef struct {
    smcr_ib_network_t network;
    bool has_priority; /* the frame has a VLAN tag outside of all tunnels */
    uint8_t priority;  /* priority in the first VLAN tag of the frame, 0 to 7; set with
                          `has_priority` */
    bool has_ecn;      /* the packet is in a tunnel that has an IP header */
    uint8_t ecn;       /* ECN codepoint of the tunnel's IP header, enum smcr_wire_ecn; with several
                          such headers: CE if one of them has CE, otherwise that of the innermost
                          header; set with `has_ecn` */
} smcr_ib_outer_t;

/* The transport headers of a packet. Numbers are in the host's byte order. */
typedef struct {
    uint8_t source[SMCR_GID_LENGTH]; /* GID of the sender */
    smcr_ib_qp_key_t destination;    /* queue pair that receives the packet */
    uint8_t opcode;      /* enum smcr_ib_opcode */
    uint8_t pad;         /* bytes of padding after the payload, 0 to 3 */
    uint32_t psn;        /* packet sequence number, 24 bits */
    int32_t ip_id;       /* identification of the IPv4 packet; negative: none, or not known */
    uint16_t udp_port;   /* UDP source port; 0: none, or not known */
    bool fecn;           /* forward congestion notification of the BTH */
    bool becn;           /* backward congestion notification of the BTH */
    bool asks_ack;       /* the BTH asks for an acknowledgement; false: it does not, or it is not
                            known */
    bool has_src_qpn;    /* the packet has a DETH, as datagrams have, and it is captured */
    uint32_t src_qpn;    /* number of the queue pair that sends the packet, 24 bits; set with
                            `has_src_qpn` */
    bool has_reth;       /* the packet has a RETH, and it is captured */
    uint64_t virtual_address; /* virtual address at the receiver; set with `has_reth` */
    uint32_t rkey;       /* key of the receiver's memory; set with `has_reth` */
    uint32_t dma_length; /* bytes of the whole request; set with `has_reth` */
    bool has_immediate;  /* the packet has immediate data, or the RKey of SEND with invalidate, and
                            they are captured */
    uint32_t immediate;  /* four bytes after the headers: the immediate data or the RKey; set with
                            `has_immediate` */
    bool has_aeth;       /* the packet has an AETH, and it is captured */
    uint8_t syndrome;    /* syndrome of the AETH: the kind (ACK, NAK or RNR NAK), with the credits
                            of an ACK, the code of a NAK or the timer of an RNR NAK; set with
                            `has_aeth` */
    bool is_short;       /* the packet is too short for the headers that its opcode has, the padding
                            and the ICRC */
    bool was_fragmented; /* the packet came in IP fragments */
    uint8_t traffic_class; /* type of service or traffic class of the IP header; set with
                              `has_ecn` or `was_fragmented` */
    uint8_t hop_limit;   /* TTL or hop limit of the IP header; set with `has_ecn` or
                            `was_fragmented` */
    bool has_ecn;        /* `ecn` is set */
    uint8_t ecn;         /* ECN codepoint of the IP header, enum smcr_wire_ecn; set with
                            `has_ecn` */
    smcr_ib_outer_t outer; /* VLANs and tunnels of the packet */
    uint8_t icrc;        /* 1 plus the value of smcr_ib_icrc_status_t; 0: the ICRC was not checked,
                            or only to set `has_bad_icrc` */
    bool has_bad_icrc;   /* the ICRC is wrong, so the receiver discards the packet */
    uint32_t length;     /* length of the packet in bytes, from the first byte of the IP header, LRH
                            or GRH; if none of them is known, of the BTH */
    int payload;         /* offset of the payload in the buffer with the headers, bytes */
    int payload_length;  /* length of the payload in bytes, without padding and ICRC; 0: no
                            payload */
} smcr_ib_headers_t;

/* Whether the IP header of the tunnel that the packet is in has the mark CE. */
static inline bool
smcr_ib_has_outer_mark(const smcr_ib_headers_t *roce)
{
    return roce->outer.has_ecn && roce->outer.ecn == SMCR_WIRE_ECN_CE;
}

/* Whether the packet arrives with the mark CE. A mark on the IP header of a tunnel becomes a mark
 * of the packet at the end of the tunnel (RFC 6040, 4.2), unless the packet is Not-ECT: then the
 * end of the tunnel discards it. */
static inline bool
smcr_ib_has_mark(const smcr_ib_headers_t *roce)
{
    return roce->ecn == SMCR_WIRE_ECN_CE ||
           (smcr_ib_has_outer_mark(roce) && roce->ecn != SMCR_WIRE_ECN_NOT_ECT);
}

/* ---- CLC (RFC 7609 A.2, net/smc/smc_clc.h) ---- */

/* Whether a message states the MAC address (6 bytes) of a device: it is not all zeros. */
static inline bool
smcr_wire_states_mac(const uint8_t *mac)
{
    static const uint8_t none[SMCR_WIRE_MAC_LENGTH];

    return memcmp(mac, none, sizeof none) != 0;
}

/* The first 8 bytes of a CLC message. */
typedef struct {
    uint32_t eyecatcher; /* SMCR_CLC_EYECATCHER_R or SMCR_CLC_EYECATCHER_D */
    uint8_t type;        /* enum smcr_clc_type */
    uint16_t length;     /* length of the message in bytes, according to its header */
    uint8_t flags;       /* byte 7 of the message: the version, and bits that depend on the type of
                            the message (clc_codes.h) */
} smcr_clc_header_t;

/* A Proposal (A.2.2). Its SMCv2 extension is as in net/smc. */
typedef struct {
    uint8_t peer_id[SMCR_WIRE_PEER_ID_LENGTH]; /* peer ID of the client */
    uint8_t gid[SMCR_GID_LENGTH];       /* GID of the client's device, SMC-Rv1 */
    uint8_t mac[SMCR_WIRE_MAC_LENGTH];  /* MAC address of the client's device, SMC-Rv1 */
    uint16_t ip_area_offset;            /* offset of the IP area, bytes from the end of the field
                                           with this offset */
    uint16_t v2_offset;                 /* offset of the SMCv2 extension, bytes from the end of the
                                           field with this offset; 0: there is none */
    bool has_ip_area;                   /* the members from `subnet` to `prefixes_kept` are known */
    uint8_t subnet[4];                  /* IPv4 subnet as on the wire: network address (Linux) or
                                           mask (RFC) */
    uint8_t subnet_length;              /* number of bits of the subnet mask; 0: there is no
                                           subnet */
    uint8_t prefix_count;               /* number of IPv6 prefixes, according to the count field of
                                           the message */
    uint8_t prefixes[SMCR_WIRE_PREFIXES_MAX][SMCR_WIRE_PREFIX_LENGTH]; /* IPv6 prefixes: address and
                                                                          number of bits */
    uint8_t prefixes_kept;              /* number of entries in `prefixes` */
    bool has_v2;                        /* the message has the SMCv2 extension: the members from
                                           `eid_count` on are known */
    uint8_t eid_count;                  /* number of EIDs, according to the count field of the
                                           message */
    uint8_t ism_count;                  /* number of ISM devices, according to the count field of
                                           the message */
    uint8_t v2_flags;                   /* byte of the SMCv2 extension with the release
                                           (SMCR_MASK_V2_RELEASE) and SMCR_CLC_FLAG_SEID */
    uint16_t smcdv2_offset;             /* offset of the SMC-Dv2 extension, bytes from the end of
                                           the field with this offset; 0: there is none */
    uint8_t roce_gid[SMCR_GID_LENGTH];  /* GID of the client's device, SMC-Rv2 */
    uint8_t max_conns;                  /* highest number of connections in a link group that the
                                           client allows; 0 before release 1 (SMCv2.1) */
    uint8_t max_links;                  /* highest number of links in a link group that the client
                                           allows; 0 before release 1 (SMCv2.1) */
    uint16_t features;                  /* bit mask of features; 0 before release 1 (SMCv2.1) */
    unsigned eids_kept;                 /* number of entries in `eid_list` */
    /* EIDs of the message, padded. The system EID of an SMC-Dv2 extension comes last, even if it is
       zeros. */
    uint8_t eid_list[SMCR_CLC_COUNT_MAX + 1][SMCR_WIRE_EID_LENGTH];
} smcr_clc_proposal_t;

/* An Accept or Confirm for SMC-R (A.2.3, A.2.4). */
typedef struct {
    uint8_t peer_id[SMCR_WIRE_PEER_ID_LENGTH]; /* peer ID of the sender */
    uint8_t gid[SMCR_GID_LENGTH];      /* GID of the sender's device */
    uint8_t mac[SMCR_WIRE_MAC_LENGTH]; /* MAC address of the sender's device */
    uint32_t qpn;      /* number of the sender's queue pair, 24 bits */
    uint32_t rkey;     /* key of the sender's RMB */
    uint8_t rmb_index; /* number of the connection's RMB element in the sender's RMB, from 1 */
    uint32_t token;    /* alert token, which CDC messages to the sender carry */
    uint8_t sizes;     /* size code of the RMB element in the high nibble, MTU code in the low
                          nibble */
    uint8_t credits;   /* ANCK: messages for which the sender has space; 0: no limit. Others: a
                          reserved byte */
    uint64_t va;       /* virtual address of the sender's RMB */
    uint32_t psn;      /* initial PSN of the sender, 24 bits; not set with `lacks_psn` */
    uint8_t os_release; /* code of the operating system in the high nibble, release in the low
                           nibble; set with `has_fce` */
    uint8_t host_name[SMCR_WIRE_HOST_NAME_LENGTH]; /* name of the sender's host, padded with blanks
                                                      or zeros; set with `has_fce` */
    uint8_t eid[SMCR_WIRE_EID_LENGTH]; /* EID on which both sides agree, padded; only in version
                                          2 */
    uint8_t gid_count; /* number of GIDs in a Confirm, according to the count field of the message;
                          only in version 2 */
    bool has_fce;      /* the message has the first contact extension */
    uint8_t fce_flags; /* flags of the first contact extension: SMCR_MASK_DIRECT */
    uint8_t max_conns; /* first contact extension: highest number of connections in the link group;
                          0 before release 1 (SMCv2.1) */
    uint8_t max_links; /* first contact extension: highest number of links in the link group; 0
                          before release 1 (SMCv2.1) */
    uint16_t features; /* first contact extension: bit mask of features; 0 before release 1
                          (SMCv2.1) */
    uint8_t vendor_options[4]; /* first contact extension of ANCK kernels: vendor options */
} smcr_clc_accept_t;

/* A Decline (A.2.5). */
typedef struct {
    uint8_t peer_id[SMCR_WIRE_PEER_ID_LENGTH]; /* peer ID of the sender */
    uint32_t diagnosis; /* enum smcr_clc_decline_code; not set with `lacks_diagnosis` */
    uint8_t os;         /* code of the operating system in the high nibble; in version 1 a reserved
                           byte */
} smcr_clc_decline_t;

/* A CLC message. */
typedef struct {
    smcr_clc_header_t header; /* first 8 bytes of the message */
    uint32_t length;   /* number of bytes that the message has in the TCP stream; may differ from
                          `header.length` */
    unsigned expected_length; /* length in bytes that follows from the type and the counts of the
                                 message; a lower bound if `has_exact_length` is false */
    bool has_exact_length; /* `expected_length` is the exact number */
    bool complete;     /* the whole message is captured, and its length and its trailer are right */
    bool malformed;    /* the whole message is captured, but its length, its trailer or a count is
                          wrong */
    bool continues;    /* only the first bytes are decoded: the rest is in later segments, which
                          Wireshark's TCP has not put together */
    bool smcd;         /* the message is an Accept or Confirm of SMC-D: `dmb_size` is set, and
                          `u` is not */
    uint32_t dmb_size; /* Accept, Confirm of SMC-D: size of the direct memory buffer (DMB) that the
                          sender announces, bytes; 0: not captured, or another message */
    union {
        smcr_clc_proposal_t proposal;
        smcr_clc_accept_t accept; /* Accept and Confirm */
        smcr_clc_decline_t decline;
    } u;               /* the decoded message; `header.type` says which member is set */
    bool usable;       /* Accept, Confirm of SMC-R: all members of smcr_clc_accept_t up to the RMB's
                          address are captured; later members may be missing */
    bool lacks_psn;    /* Accept, Confirm: the message ends before the PSN, or the PSN was not
                          captured */
    bool lacks_diagnosis; /* Decline: snaplen has truncated the message before the end of the
                             diagnosis */
} smcr_clc_t;

/* Whether the four bytes `value`, in network order, begin a CLC message. */
static inline bool
smcr_wire_is_eyecatcher(uint32_t value)
{
    return value == SMCR_CLC_EYECATCHER_R || value == SMCR_CLC_EYECATCHER_D;
}

/* Whether the Accept or Confirm has the first contact flag. */
static inline bool
smcr_wire_clc_is_first_contact(const smcr_clc_t *clc)
{
    return (clc->header.flags & SMCR_CLC_FLAG_FIRST_CONTACT) != 0;
}

/* Whether the RMB element of the Accept or Confirm ends above the highest 64-bit address. */
static inline bool
smcr_wire_clc_element_overflows(const smcr_clc_accept_t *accept)
{
    uint64_t size = smcr_bsize_to_bytes(smcr_wire_bits(accept->sizes, SMCR_MASK_BUFFER_SIZE));
    uint64_t last = size * accept->rmb_index - 1; /* offset of the element's last byte in the RMB */

    return accept->rmb_index && accept->va > UINT64_MAX - last;
}

/* Whether the Accept or Confirm `clc` is of SMC-R, and its sender's queue pair, RMB and token are
 * captured. */
static inline bool
smcr_wire_clc_names_qp(const smcr_clc_t *clc)
{
    return clc->usable && !clc->smcd;
}

/* ---- LLC (RFC 7609 A.3, net/smc/smc_llc.c) ---- */

/* An RToken: the RKey and the address with which a peer writes into an RMB over one link. */
typedef struct {
    uint8_t link;      /* number of the link that the RToken is for */
    uint32_t ref_rkey; /* in ADD LINK and its continuation: key of the same RMB on the link that
                          carries the message */
    uint32_t rkey;     /* key of the RMB on the link in `link` */
    uint64_t va;       /* virtual address of the RMB on the link in `link` */
} smcr_rtoken_t;

/* CONFIRM LINK (A.3.1). */
typedef struct {
    uint8_t mac[SMCR_WIRE_MAC_LENGTH]; /* MAC address of the sender's device */
    uint8_t gid[SMCR_GID_LENGTH];      /* GID of the sender's device */
    uint32_t qpn;      /* number of the sender's queue pair, 24 bits */
    uint8_t link;      /* link number */
    uint32_t user_id;  /* link user ID of the sender */
    uint8_t max_links; /* highest number of links in the link group; 0 in a response: the response
                          accepts the number in the request */
    uint8_t max_conns; /* highest number of connections in the link group; only in version 2 */
} smcr_llc_confirm_link_t;

/* ADD LINK (A.3.2). A response that rejects the link repeats the values of its request. */
typedef struct {
    uint8_t mac[SMCR_WIRE_MAC_LENGTH]; /* MAC address of the sender's device for the new link */
    uint8_t gid[SMCR_GID_LENGTH];      /* GID of the sender's device for the new link */
    uint32_t qpn;          /* number of the sender's queue pair for the new link, 24 bits; 0: the
                              sender asks the peer for an ADD LINK, or expects a rejection */
    uint8_t link;          /* number of the new link */
    uint8_t mtu;           /* MTU code in the low nibble */
    uint32_t psn;          /* initial PSN of the sender, 24 bits */
    uint8_t credits;       /* ANCK: messages for which the sender has space on the new link; 0: no
                              limit. Others: a reserved byte */
    uint8_t reject_reason; /* reason of a rejection. Version 1: low nibble of the message's byte 2.
                              Version 2: low nibble of the message's flags; Linux sends 0. */
    uint16_t rkey_count;   /* version 2: number of RTokens, according to a field of the message */
} smcr_llc_add_link_t;

/* ADD LINK CONTINUATION (A.3.3). */
typedef struct {
    uint8_t link;         /* number of the new link */
    uint8_t rtokens_left; /* number of RTokens in this message and in later messages of the sender,
                             according to a field of the message */
} smcr_llc_add_link_cont_t;

/* DELETE LINK (A.3.4). */
typedef struct {
    uint8_t link;    /* number of the link to delete; ignored if the flags of the message contain
                        SMCR_LLC_FLAG_ALL */
    uint32_t reason; /* enum smcr_llc_delete_reason */
} smcr_llc_delete_link_t;

/* CONFIRM RKEY (A.3.5) and CONFIRM RKEY CONTINUATION (A.3.6), which has only `other_links`. */
typedef struct {
    uint8_t other_links; /* number of RTokens for other links in this message and in the
                            continuations after it, according to a field of the message */
    uint32_t rkey;       /* key of the RMB on the link that carries the message */
    uint64_t va;         /* virtual address of the RMB on the link that carries the message */
} smcr_llc_confirm_rkey_t;

/* DELETE RKEY (A.3.7). */
typedef struct {
    uint8_t count;  /* number of RKeys, according to a field of the message */
    uint8_t error_mask; /* version 1: bit mask of the RKeys with errors, the first RKey in the
                           highest bit; version 2: number of the RKeys with errors */
} smcr_llc_delete_rkey_t;

/* An LLC message. */
typedef struct {
    uint8_t type;       /* enum smcr_llc_type */
    uint16_t length;    /* length of the message in bytes, according to its length field */
    uint8_t flags;      /* byte 3 of the message: SMCR_LLC_FLAG_ bits, and in some messages a
                           code */
    bool little_endian; /* version 2: the length field has the right value only if read as
                           little-endian */
    bool big_endian;    /* version 2: the length field has the right value only if read as
                           big-endian */
    bool complete;      /* the whole message was captured, but for unused bytes at its end, and for
                           RTokens (`lacks_rtokens`), and its length is right */
    bool lacks_rtokens; /* of ADD LINK v2: RTokens at its end are not captured */
    bool lacks_response_flag; /* the state has found that the message is a response, although its
                                 response flag is not set */
    union {
        smcr_llc_confirm_link_t confirm_link;
        smcr_llc_add_link_t add_link;
        smcr_llc_add_link_cont_t add_link_cont;
        smcr_llc_delete_link_t delete_link;
        struct {
            uint8_t gid_count; /* number of the client's GIDs, according to a field of the
                                  message */
        } req_add_link;
        smcr_llc_confirm_rkey_t confirm_rkey;
        smcr_llc_delete_rkey_t delete_rkey;
        struct {
            uint8_t user_data[16]; /* data that the response repeats */
        } test_link;
        struct {
            uint8_t credits; /* further messages for which the sender has space */
        } announce_credits;
    } u;                   /* the decoded message; `type` says which member is set, the same member
                              for version 1 and version 2 */
    unsigned rtoken_count; /* number of entries in `rtokens_in_message` */
    smcr_rtoken_t *rtokens_in_message; /* RTokens of the message; in DELETE RKEY, its RKeys, with
                                          only `rkey` set. Lives as long as the packet. Without
                                          entries it may be NULL */
} smcr_llc_t;

/* ---- CDC (RFC 7609 A.4, net/smc/smc_cdc.h) ---- */

/* A cursor: a position in an RMB element, which is a circular buffer (4.5, A.4). */
typedef struct {
    uint16_t wrap;  /* number of times that the cursor has wrapped, modulo 65536 */
    uint32_t count; /* offset in the RMB element to which the cursor points, bytes */
} smcr_cursor_t;

/* A CDC message. One of SMC-D has no length, sequence number and token: they are 0. */
typedef struct {
    uint8_t length;     /* length of the message in bytes, according to its length field */
    uint16_t seq;       /* sequence number */
    uint32_t token;     /* alert token of the receiver */
    smcr_cursor_t prod; /* producer cursor: position at which the sender writes next in the
                           receiver's RMB element */
    smcr_cursor_t cons; /* consumer cursor: position at which the sender reads next in its own RMB
                           element */
    uint8_t flags;      /* byte 24 of the message: SMCR_CDC_FLAG_ bits */
    uint8_t state;      /* byte 25 of the message: SMCR_CDC_STATE_ bits */
    uint8_t credits;    /* ANCK: byte 26 of the message, further messages for which the sender has
                           space. Others: a reserved byte */
    bool lacks_credits; /* `credits` is not known: snaplen has truncated the message before it */
    bool complete;      /* the message was captured up to its flags; of SMC-R: and has the right
                           length */
    bool is_immediate;  /* the message is the immediate data of an RDMA WRITE (immediate.h): the
                           data have no sequence number, and the state has computed the cursors */
    bool is_next;       /* with `is_immediate`: certainly no message of the sender is missing right
                           before this message */
    bool lacks_prod;    /* the producer cursor is not known; `prod` is another value then */
    bool lacks_cons;    /* the consumer cursor is not known; `cons` is another value then */
    bool is_step_full;  /* with `is_immediate`: the step in this message, or in the sender's
                           previous message, has the highest value that it can have: the sender may
                           have read more than this message reports, or this message may report only
                           the rest */
} smcr_cdc_t;

/* ---- what Linux reports over netlink ----
 *
 * The host on which a program asks over netlink reports its own SMC-R sockets, link groups and
 * links (<linux/smc_diag.h>, <linux/smc.h>). In the comments of the structs for netlink, "the host"
 * is this host. */

#define SMCR_TOLD_TEXT_LENGTH 64 /* bytes of a name, including the NUL */

/* State of a socket, by the numbers of net/smc/smc.h (enum smc_state). The plugin names only one of
 * them: the state of a listening socket. */
enum smcr_told_state { SMCR_TOLD_LISTEN = 10 };
/* What carries the data of a socket: SMC-R, TCP after a fallback, or SMC-D. */
enum smcr_told_mode { SMCR_TOLD_SMCR, SMCR_TOLD_FALLBACK, SMCR_TOLD_SMCD };
/* The ends of a connection: the host that reports, and its peer. */
enum { SMCR_TOLD_OWN, SMCR_TOLD_PEER, SMCR_TOLD_ENDS };

/* A socket of AF_SMC: inet_diag_sockid and the attributes of smc_diag_msg. An array of
 * SMCR_TOLD_ENDS is indexed by SMCR_TOLD_OWN and SMCR_TOLD_PEER. */
typedef struct {
    uint8_t address[SMCR_TOLD_ENDS][SMCR_GID_LENGTH]; /* addresses of the TCP connection; IPv4
                                                         addresses are mapped */
    uint16_t port[SMCR_TOLD_ENDS];     /* ports of the TCP connection */
    uint8_t state;                     /* enum smcr_told_state */
    uint8_t mode;                      /* enum smcr_told_mode */
    bool has_conn;                     /* the report has CONNINFO: the members from `token` to
                                          `tx_state` are known */
    bool has_lgr;                      /* the report has LGRINFO: the members from `is_server` to
                                          `device` are known */
    bool has_fallback;                 /* the report has FALLBACK: `reason` and `peer_reason` are
                                          known */
    bool is_from_file;                 /* the report comes from a file, so its time is not known */
    uint64_t inode;                    /* inode number of the socket */
    uint32_t token;                    /* alert token, which CDC messages to the host carry */
    uint32_t size[SMCR_TOLD_ENDS];     /* bytes of the RMB element in which each end receives */
    smcr_cursor_t rx_prod;             /* producer cursor in the last CDC message that the host has
                                          received */
    smcr_cursor_t rx_cons;             /* consumer cursor in the last CDC message that the host has
                                          received */
    smcr_cursor_t tx_prod;             /* the host's own producer cursor; the cursor in its last CDC
                                          message may be lower */
    smcr_cursor_t tx_cons;             /* the host's own consumer cursor; the cursor in its last CDC
                                          message may be lower */
    uint8_t rx_state;                  /* SMCR_CDC_STATE_ bits in the last CDC message that the host
                                          has received */
    uint8_t tx_state;                  /* SMCR_CDC_STATE_ bits that the host sends itself */
    bool is_server;                    /* the host is the server of the link group */
    uint8_t link_number;               /* number of the link that the connection uses */
    uint8_t gid[SMCR_TOLD_ENDS][SMCR_GID_LENGTH]; /* GIDs of both ends' devices for the link in
                                                     `link_number` */
    char device[SMCR_TOLD_TEXT_LENGTH]; /* name of the host's device for this link */
    uint32_t reason;                   /* reason of the fallback: enum smcr_clc_decline_code */
    uint32_t peer_reason;              /* diagnosis in the peer's Decline; 0: none */
} smcr_told_socket_t;

/* A link group: nest SMC_GEN_LGR_SMCR. */
typedef struct {
    uint32_t id;                       /* ID of the link group, as smc-tools show it */
    bool is_server;                    /* the host is the server of the link group */
    uint8_t type;                      /* type of the group: 1 single, 2 symmetric, 3 and 4
                                          asymmetric */
    uint8_t version;                   /* SMC version; 0: not reported */
    uint8_t release;                   /* release of SMC version 2; valid if `version` is not 0 */
    uint8_t os;                        /* code of the peer's operating system, enum
                                          smcr_clc_os_type; valid if `version` is not 0 */
    uint8_t vlan;                      /* lowest 8 bits of the VLAN ID of the link group; 0: no
                                          VLAN, or not reported */
    uint32_t connections;              /* number of connections of the link group */
    char peer_host[SMCR_TOLD_TEXT_LENGTH]; /* name of the peer's host, without trailing spaces;
                                              empty: not reported */
    char eid[SMCR_TOLD_TEXT_LENGTH];   /* EID of the group, without trailing spaces; empty: not
                                          reported */
} smcr_told_lgr_t;

/* A link, from nest SMC_GEN_LINK_SMCR. The link belongs to the last link group that the same dump
 * reports before the link. */
typedef struct {
    uint8_t number;                    /* link number */
    uint32_t state;                    /* 0 unused, 1 inactive, 2 activating, 3 active */
    uint8_t gid[SMCR_TOLD_ENDS][SMCR_GID_LENGTH]; /* GIDs of both ends' devices for the link */
    char device[SMCR_TOLD_TEXT_LENGTH]; /* name of the host's device for the link */
} smcr_told_link_t;

/* The kinds of netlink messages, by what they report. */
typedef enum {
    SMCR_TOLD_SOCKET,
    SMCR_TOLD_LGR,
    SMCR_TOLD_LINK,
    SMCR_TOLD_DONE, /* the dump ends without an error; in netlink.c also any message from which
                       nothing is learned */
    SMCR_TOLD_CUT,  /* messages or bytes of the dump are missing in the capture; the dump may go
                       on */
} smcr_told_kind_t;

/* One netlink message's report. */
typedef struct {
    smcr_told_kind_t kind; /* what the message reports */
    uint64_t dump; /* identifier of the dump that the message belongs to: sequence number and port
                      of nlmsghdr, combined with the interface */
    union {
        smcr_told_socket_t socket;
        smcr_told_lgr_t lgr;
        smcr_told_link_t link;
    } u;           /* the report; `kind` says which member is set; SMCR_TOLD_DONE and SMCR_TOLD_CUT
                      set no member */
} smcr_told_t;
