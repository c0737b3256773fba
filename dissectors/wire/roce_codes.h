/* Transport headers of InfiniBand and RoCE (InfiniBand Architecture Specification, volume 1,
 * chapter 9).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include <stdbool.h>

#include "codes.h"

/* Opcodes of the reliable connection service (RC), by the names of table 38. The upper three bits
 * of an opcode are its service (enum smcr_ib_service), which is zero for RC. The lower five bits
 * are the operation, with the same codes in all services. Opcodes 13 to 18 are responses. */
#define SMCR_RC_OPERATIONS(V) \
    V(SMCR_RC_SEND_FIRST, 0, "SEND_FIRST") \
    V(SMCR_RC_SEND_MIDDLE, 1, "SEND_MIDDLE") \
    V(SMCR_RC_SEND_LAST, 2, "SEND_LAST") \
    V(SMCR_RC_SEND_LAST_IMMEDIATE, 3, "SEND_LAST_IMM") \
    V(SMCR_RC_SEND_ONLY, 4, "SEND_ONLY") \
    V(SMCR_RC_SEND_ONLY_IMMEDIATE, 5, "SEND_ONLY_IMM") \
    V(SMCR_RC_WRITE_FIRST, 6, "WRITE_FIRST") \
    V(SMCR_RC_WRITE_MIDDLE, 7, "WRITE_MIDDLE") \
    V(SMCR_RC_WRITE_LAST, 8, "WRITE_LAST") \
    V(SMCR_RC_WRITE_LAST_IMMEDIATE, 9, "WRITE_LAST_IMM") \
    V(SMCR_RC_WRITE_ONLY, 10, "WRITE_ONLY") \
    V(SMCR_RC_WRITE_ONLY_IMMEDIATE, 11, "WRITE_ONLY_IMM") \
    V(SMCR_RC_READ_REQUEST, 12, "READ_REQ") \
    V(SMCR_RC_READ_RESPONSE_FIRST, 13, "READ_RESP_FIRST") \
    V(SMCR_RC_READ_RESPONSE_MIDDLE, 14, "READ_RESP_MIDDLE") \
    V(SMCR_RC_READ_RESPONSE_LAST, 15, "READ_RESP_LAST") \
    V(SMCR_RC_READ_RESPONSE_ONLY, 16, "READ_RESP_ONLY") \
    V(SMCR_RC_ACK, 17, "ACK") \
    V(SMCR_RC_ATOMIC_ACK, 18, "ATOMIC_ACK") \
    V(SMCR_RC_CMP_SWAP, 19, "CMP_SWAP") \
    V(SMCR_RC_FETCH_ADD, 20, "FETCH_ADD") \
    V(SMCR_RC_SEND_LAST_INVALIDATE, 22, "SEND_LAST_INV") \
    V(SMCR_RC_SEND_ONLY_INVALIDATE, 23, "SEND_ONLY_INV")

enum smcr_ib_opcode {
    SMCR_RC_OPERATIONS(SMCR_WIRE_ENUM_ROW)
    SMCR_RC_UNUSED = 21, /* operation RESYNC, which only the RD service has */
    SMCR_RC_OPCODES = 0x20, /* number of opcodes of the RC service, and first opcode of the next */
    SMCR_UC_SEND_ONLY = 0x24,
    SMCR_UC_WRITE_ONLY = 0x2a,
    SMCR_UD_SEND_ONLY = 0x64,
    SMCR_IB_CNP = 0x81, /* congestion notification, RoCEv2 annex A17 */
};
/* The services of InfiniBand, by the upper three bits of an opcode */
#define SMCR_MASK_SERVICE 0xe0
enum smcr_ib_service {
    SMCR_RC = 0x00,
    SMCR_UC = 0x20,
    SMCR_RD = 0x40,
    SMCR_UD = 0x60,
    SMCR_XRC = 0xa0,
};

/* What an opcode says about its packet (volume 1, 9.2.1). All false: an opcode of another service
 * than RC, or an unused one. */
typedef struct {
    bool is_send;            /* a SEND, or a part of a SEND (9.4.1) */
    bool is_write;           /* an RDMA WRITE, or a part of an RDMA WRITE (9.4.3) */
    bool begins;             /* the first or the only packet of a SEND or RDMA WRITE */
    bool ends;               /* the last or the only packet of a SEND or RDMA WRITE */
    bool is_whole_send;      /* the only packet of a SEND */
    bool is_first_or_middle; /* more packets of the SEND, RDMA WRITE or READ response follow, so the
                                payload has the size of the path MTU */
    bool has_immediate;      /* four bytes follow the headers: immediate data or an RKey */
    bool has_invalidate;     /* these four bytes are the RKey of a SEND with invalidate */
    bool fetches_data;       /* a request whose response carries data: an RDMA READ or an atomic
                                operation */
    bool is_response;        /* the responder sends it: a READ response or an acknowledgement
                                (9.7.5) */
} smcr_ib_operation_t;

/* The operation of each opcode. The index is byte 0 of the BTH. */
extern const smcr_ib_operation_t smcr_ib_operations[256];

/* Lengths of headers and checksums, bytes */
#define SMCR_IB_LRH_LENGTH 8
#define SMCR_IB_GRH_LENGTH 40
#define SMCR_IB_BTH_LENGTH 12
#define SMCR_IB_RETH_LENGTH 16
#define SMCR_IB_AETH_LENGTH 4
#define SMCR_IB_IMMEDIATE_LENGTH 4
#define SMCR_IB_ATOMIC_LENGTH 28  /* AtomicETH */
#define SMCR_IB_ATOMIC_ACK_LENGTH 8 /* AtomicAckETH */
#define SMCR_IB_RDETH_LENGTH 4
#define SMCR_IB_DETH_LENGTH 8
#define SMCR_IB_XRCETH_LENGTH 4
#define SMCR_IB_ICRC_LENGTH 4
#define SMCR_IB_VCRC_LENGTH 2 /* InfiniBand only */

/* Masks and values of fields in the headers LRH, GRH, BTH and IP */
#define SMCR_MASK_LRH_NEXT 0x03   /* mask in byte 1 of the LRH: enum smcr_ib_lrh_next, the header
                                     after the LRH */
#define SMCR_IB_GRH_NEXT_BTH 0x1b /* value of byte 6 of the GRH (next header): a BTH follows */
#define SMCR_MASK_BTH_PAD 0x30    /* mask in byte 1 of the BTH: number of bytes of padding */
#define SMCR_MASK_BTH_FECN 0x80   /* bit in byte 4 of the BTH: this packet has met congestion */
#define SMCR_MASK_BTH_BECN 0x40   /* bit in byte 4 of the BTH: the packets that this packet answers
                                     have met congestion */
#define SMCR_MASK_BTH_ACK_REQUEST 0x80 /* bit in byte 8 of the BTH: the sender asks for an
                                          acknowledgement */
#define SMCR_MASK_ECN 0x03        /* mask of the ECN bits: in IPv4's type of service, or in the
                                     traffic class of IPv6 or of a GRH */
#define SMCR_MASK_BTH_VERSION 0x0f /* mask in byte 1 of the BTH: version of the transport header */

/* Returns the number of the destination queue pair, from bytes 5 to 7 of a base transport header.
 * `bth` has SMCR_IB_BTH_LENGTH bytes. */
static inline uint32_t
smcr_ib_bth_qpn(const uint8_t *bth)
{
    return (uint32_t)bth[5] << 16 | (uint32_t)bth[6] << 8 | bth[7];
}

enum smcr_ib_lrh_next { SMCR_IB_LRH_NEXT_BTH = 2, SMCR_IB_LRH_NEXT_GRH = 3 };

/* Masks of the syndrome in an AETH: its kind and its code. The code is the credits of an ACK, the
 * timer of an RNR NAK, or the reason of a NAK. */
#define SMCR_MASK_SYNDROME_KIND 0x60
#define SMCR_MASK_SYNDROME_CODE 0x1f
enum smcr_ib_syndrome_kind {
    SMCR_IB_SYNDROME_ACK = 0,
    SMCR_IB_SYNDROME_RNR_NAK = 1,
    SMCR_IB_SYNDROME_NAK = 3,
};
/* Returns the wait that an RNR NAK with the timer code `code` (0 to 31) asks for, milliseconds
 * (InfiniBand volume 1, table 45). */
static inline double
smcr_ib_rnr_timer_ms(unsigned code)
{
    static const uint16_t hundredths[] = {
        0,   1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128, 192,
        256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768,
        49152};

    return code % 32 ? hundredths[code % 32] / 100.0 : 655.36;
}

/* Reasons of a NAK, by the code in its syndrome (volume 1, 9.7.5.2) */
#define SMCR_IB_NAK_CODES(ROW) \
    ROW(SMCR_IB_NAK_PSN_SEQUENCE, 0, "PSN sequence error") \
    ROW(SMCR_IB_NAK_INVALID_REQUEST, 1, "invalid request") \
    ROW(SMCR_IB_NAK_REMOTE_ACCESS, 2, "remote access error") \
    ROW(SMCR_IB_NAK_REMOTE_OPERATION, 3, "remote operational error") \
    ROW(SMCR_IB_NAK_INVALID_RD_REQUEST, 4, "invalid RD request")
enum smcr_ib_nak_code { SMCR_IB_NAK_CODES(SMCR_WIRE_ENUM_ROW) };

/* ECN codepoints of IP (RFC 3168, RFC 8311) */
#define SMCR_WIRE_ECN_CODEPOINTS(ROW) \
    ROW(SMCR_WIRE_ECN_NOT_ECT, 0, "Not-ECT") \
    ROW(SMCR_WIRE_ECN_ECT_1, 1, "ECT(1)") \
    ROW(SMCR_WIRE_ECN_ECT_0, 2, "ECT(0)") \
    ROW(SMCR_WIRE_ECN_CE, 3, "CE")
enum smcr_wire_ecn { SMCR_WIRE_ECN_CODEPOINTS(SMCR_WIRE_ENUM_ROW) };

/* A VLAN tag (IEEE 802.1Q, 9.6), from the highest bit on: priority, drop eligible, VLAN ID */
#define SMCR_MASK_VLAN_ID 0x0fff
#define SMCR_WIRE_VLAN_PRIORITY_AT 13 /* lowest bit of the priority */

/* The tunnels that a packet may be in. The plugin defines these codes. */
enum smcr_ib_tunnel {
    SMCR_IB_TUNNEL_NONE = 0,
    SMCR_IB_TUNNEL_VXLAN,
    SMCR_IB_TUNNEL_GENEVE,
    SMCR_IB_TUNNEL_GRE,
    SMCR_IB_TUNNEL_IP, /* IP in IP */
};

/* The grounds that prove the source queue pair of a flow. The plugin defines these codes. */
#define SMCR_GROUNDS(ROW) \
    ROW(SMCR_GROUND_CLC, 1, "CLC") \
    ROW(SMCR_GROUND_LLC, 2, "LLC") \
    ROW(SMCR_GROUND_CM, 3, "RDMA-CM") \
    ROW(SMCR_GROUND_DETH, 4, "DETH") \
    ROW(SMCR_GROUND_PORT, 5, "UDP source port") \
    ROW(SMCR_GROUND_ACK, 6, "acknowledgement of a PSN")
enum smcr_ground {
    SMCR_GROUND_NONE = 0,
    SMCR_GROUNDS(SMCR_WIRE_ENUM_ROW)
};

/* The causes of retransmissions. The plugin defines these codes. */
#define SMCR_CAUSES(ROW) \
    ROW(SMCR_CAUSE_UNKNOWN, 1, "unknown") \
    ROW(SMCR_CAUSE_RNR, 2, "RNR NAK") \
    ROW(SMCR_CAUSE_NAK, 3, "NAK, PSN sequence error") \
    ROW(SMCR_CAUSE_READ, 4, "RDMA READ re-requested") \
    ROW(SMCR_CAUSE_TIMEOUT, 5, "timeout")
enum smcr_cause {
    SMCR_CAUSE_NONE = 0, /* no retransmission: the network has only reordered the packet, and the
                            sender has not stepped back */
    SMCR_CAUSES(SMCR_WIRE_ENUM_ROW)
};

/* What happened to a packet between two capture points, or after the last capture point (points/).
 * The plugin defines these codes. SMCR_VERDICT_AT_ALL: no verdict. */
#define SMCR_VERDICTS(ROW) \
    ROW(SMCR_VERDICT_LOST, 1, "lost after this point, before the next") \
    ROW(SMCR_VERDICT_LOST_AFTER, 2, "lost or out of order after the last point") \
    ROW(SMCR_VERDICT_UNANSWERED, 3, "lost after the last point, or its acknowledgement was") \
    ROW(SMCR_VERDICT_NOT_CAPTURED, 4, "not captured at another point") \
    ROW(SMCR_VERDICT_REORDERED, 5, "out of order since the point before") \
    ROW(SMCR_VERDICT_MARKED, 6, "marked CE since the point before") \
    ROW(SMCR_VERDICT_DSCP_CHANGED, 7, "DSCP changed since the point before") \
    ROW(SMCR_VERDICT_DELAYED, 8, "delayed since the point before") \
    ROW(SMCR_VERDICT_UNDECIDED, 9, "undecided: lost or not captured") \
    ROW(SMCR_VERDICT_FRAGMENTED, 10, "fragmented since the point before") \
    ROW(SMCR_VERDICT_OPTIONS, 11, "TCP options changed since the point before") \
    ROW(SMCR_VERDICT_DAMAGED, 12, "damaged since the point before")
enum smcr_verdict {
    SMCR_VERDICT_AT_ALL = 0,
    SMCR_VERDICTS(SMCR_WIRE_ENUM_ROW)
    SMCR_VERDICT_COUNT
};

/* The status of a packet's ICRC, with the values and words of Wireshark's checksums. "Unverified":
 * the ICRC cannot be checked, or the sender's adapter fills in the ICRC after the capture
 * (docs/fabric.md). */
#define SMCR_IB_ICRC_STATUSES(ROW) \
    ROW(SMCR_IB_ICRC_BAD, 0, "Bad") \
    ROW(SMCR_IB_ICRC_GOOD, 1, "Good") \
    ROW(SMCR_IB_ICRC_UNVERIFIED, 2, "Unverified")
typedef enum { SMCR_IB_ICRC_STATUSES(SMCR_WIRE_ENUM_ROW) } smcr_ib_icrc_status_t;

/* ---- communication management (volume 1, chapter 12) ----
 *
 * Communication management sets up and ends connections, with MADs (management datagrams) between
 * the queue pairs 1 of two hosts. States, reasons of rejections and statuses are as in Linux,
 * include/rdma/ib_cm.h. */

/* The header of a MAD (volume 1, 13.4.2) */
#define SMCR_IB_MAD_LENGTH 256
#define SMCR_IB_MAD_HEADER_LENGTH 24
#define SMCR_IB_MAD_BASE_VERSION 1
#define SMCR_IB_MAD_CLASS_CM 7
#define SMCR_IB_MAD_CM_VERSION 2
#define SMCR_IB_MAD_METHOD_SEND 3
#define SMCR_IB_GSI_QPN 1 /* number of the queue pair to which MADs of communication management go
                             (general services interface) */

/* Messages of communication management (12.6), with their short names; the specification calls a
 * REQ ConnectRequest, for example */
#define SMCR_IB_CM_ATTRIBUTES(V) \
    V(SMCR_IB_CM_REQ, 0x10, "REQ") \
    V(SMCR_IB_CM_MRA, 0x11, "MRA") \
    V(SMCR_IB_CM_REJ, 0x12, "REJ") \
    V(SMCR_IB_CM_REP, 0x13, "REP") \
    V(SMCR_IB_CM_RTU, 0x14, "RTU") \
    V(SMCR_IB_CM_DREQ, 0x15, "DREQ") \
    V(SMCR_IB_CM_DREP, 0x16, "DREP") \
    V(SMCR_IB_CM_SIDR_REQ, 0x17, "SIDR_REQ") \
    V(SMCR_IB_CM_SIDR_REP, 0x18, "SIDR_REP") \
    V(SMCR_IB_CM_LAP, 0x19, "LAP") \
    V(SMCR_IB_CM_APR, 0x1a, "APR")
enum smcr_ib_cm_attribute { SMCR_IB_CM_ATTRIBUTES(SMCR_WIRE_ENUM_ROW) };

/* States of a connection, by the numbers of Linux (enum ib_cm_state). A connection goes through
 * some of the states from idle to timewait, in this order. */
#define SMCR_IB_CM_STATES(V) \
    V(SMCR_IB_CM_STATE_IDLE, 0, "idle") \
    V(SMCR_IB_CM_STATE_LISTEN, 1, "listen") \
    V(SMCR_IB_CM_STATE_REQ_SENT, 2, "req_sent") \
    V(SMCR_IB_CM_STATE_REQ_RCVD, 3, "req_rcvd") \
    V(SMCR_IB_CM_STATE_MRA_REQ_SENT, 4, "mra_req_sent") \
    V(SMCR_IB_CM_STATE_MRA_REQ_RCVD, 5, "mra_req_rcvd") \
    V(SMCR_IB_CM_STATE_REP_SENT, 6, "rep_sent") \
    V(SMCR_IB_CM_STATE_REP_RCVD, 7, "rep_rcvd") \
    V(SMCR_IB_CM_STATE_MRA_REP_SENT, 8, "mra_rep_sent") \
    V(SMCR_IB_CM_STATE_MRA_REP_RCVD, 9, "mra_rep_rcvd") \
    V(SMCR_IB_CM_STATE_ESTABLISHED, 10, "established") \
    V(SMCR_IB_CM_STATE_DREQ_SENT, 11, "dreq_sent") \
    V(SMCR_IB_CM_STATE_DREQ_RCVD, 12, "dreq_rcvd") \
    V(SMCR_IB_CM_STATE_TIMEWAIT, 13, "timewait") \
    V(SMCR_IB_CM_STATE_SIDR_REQ_SENT, 14, "sidr_req_sent") \
    V(SMCR_IB_CM_STATE_SIDR_REQ_RCVD, 15, "sidr_req_rcvd")
enum smcr_ib_cm_state { SMCR_IB_CM_STATES(SMCR_WIRE_ENUM_ROW) };
#define SMCR_IB_CM_STATE_COUNT 16

/* The message that an MRA delays, or that a REJ rejects */
#define SMCR_IB_CM_ANSWERED(V) \
    V(SMCR_IB_CM_ANSWERS_REQ, 0, "REQ") \
    V(SMCR_IB_CM_ANSWERS_REP, 1, "REP") \
    V(SMCR_IB_CM_ANSWERS_OTHER, 2, "other") /* the MRA delays the answer to a LAP; or the REJ
                                               rejects no message */
enum smcr_ib_cm_answered { SMCR_IB_CM_ANSWERED(SMCR_WIRE_ENUM_ROW) };

/* Reasons of a REJ (12.6.7.2; enum ib_cm_rej_reason) */
#define SMCR_IB_CM_REASONS(V) \
    V(SMCR_IB_CM_REASON_NO_QP, 1, "no queue pair available") \
    V(SMCR_IB_CM_REASON_NO_EEC, 2, "no end-to-end context available") \
    V(SMCR_IB_CM_REASON_NO_RESOURCES, 3, "no resources available") \
    V(SMCR_IB_CM_REASON_TIMEOUT, 4, "timeout") \
    V(SMCR_IB_CM_REASON_UNSUPPORTED, 5, "unsupported request") \
    V(SMCR_IB_CM_REASON_INVALID_COMM_ID, 6, "invalid communication ID") \
    V(SMCR_IB_CM_REASON_INVALID_COMM_INSTANCE, 7, "invalid communication instance") \
    V(SMCR_IB_CM_REASON_INVALID_SERVICE_ID, 8, "invalid service ID") \
    V(SMCR_IB_CM_REASON_INVALID_TRANSPORT_TYPE, 9, "invalid transport service type") \
    V(SMCR_IB_CM_REASON_STALE_CONN, 10, "stale connection") \
    V(SMCR_IB_CM_REASON_RDC_NOT_EXIST, 11, "reliable datagram channel does not exist") \
    V(SMCR_IB_CM_REASON_INVALID_GID, 12, "primary remote GID rejected") \
    V(SMCR_IB_CM_REASON_INVALID_LID, 13, "primary remote LID rejected") \
    V(SMCR_IB_CM_REASON_INVALID_SL, 14, "invalid primary service level") \
    V(SMCR_IB_CM_REASON_INVALID_TRAFFIC_CLASS, 15, "invalid primary traffic class") \
    V(SMCR_IB_CM_REASON_INVALID_HOP_LIMIT, 16, "invalid primary hop limit") \
    V(SMCR_IB_CM_REASON_INVALID_PACKET_RATE, 17, "invalid primary packet rate") \
    V(SMCR_IB_CM_REASON_INVALID_ALT_GID, 18, "alternate remote GID rejected") \
    V(SMCR_IB_CM_REASON_INVALID_ALT_LID, 19, "alternate remote LID rejected") \
    V(SMCR_IB_CM_REASON_INVALID_ALT_SL, 20, "invalid alternate service level") \
    V(SMCR_IB_CM_REASON_INVALID_ALT_TRAFFIC_CLASS, 21, "invalid alternate traffic class") \
    V(SMCR_IB_CM_REASON_INVALID_ALT_HOP_LIMIT, 22, "invalid alternate hop limit") \
    V(SMCR_IB_CM_REASON_INVALID_ALT_PACKET_RATE, 23, "invalid alternate packet rate") \
    V(SMCR_IB_CM_REASON_PORT_CM_REDIRECT, 24, "redirected to another port, also for CM") \
    V(SMCR_IB_CM_REASON_PORT_REDIRECT, 25, "redirected to another port") \
    V(SMCR_IB_CM_REASON_INVALID_MTU, 26, "invalid path MTU") \
    V(SMCR_IB_CM_REASON_INSUFFICIENT_RESP_RESOURCES, 27, "insufficient responder resources") \
    V(SMCR_IB_CM_REASON_CONSUMER_DEFINED, 28, "decision of the application") \
    V(SMCR_IB_CM_REASON_INVALID_RNR_RETRY, 29, "RNR retry count rejected") \
    V(SMCR_IB_CM_REASON_DUPLICATE_LOCAL_COMM_ID, 30, "duplicate local communication ID") \
    V(SMCR_IB_CM_REASON_INVALID_CLASS_VERSION, 31, "unsupported class version") \
    V(SMCR_IB_CM_REASON_INVALID_FLOW_LABEL, 32, "invalid primary flow label") \
    V(SMCR_IB_CM_REASON_INVALID_ALT_FLOW_LABEL, 33, "invalid alternate flow label") \
    V(SMCR_IB_CM_REASON_VENDOR_OPTION_NOT_SUPPORTED, 35, "vendor option not supported")
enum smcr_ib_cm_reason { SMCR_IB_CM_REASONS(SMCR_WIRE_ENUM_ROW) };

/* Statuses of a SIDR_REP (12.11.2.2; enum ib_cm_sidr_status) */
#define SMCR_IB_CM_SIDR_STATUSES(V) \
    V(SMCR_IB_CM_SIDR_SUCCESS, 0, "queue pair is valid") \
    V(SMCR_IB_CM_SIDR_UNSUPPORTED, 1, "service ID not supported") \
    V(SMCR_IB_CM_SIDR_REJECTED, 2, "rejected by the service provider") \
    V(SMCR_IB_CM_SIDR_NO_QP, 3, "no queue pair available") \
    V(SMCR_IB_CM_SIDR_REDIRECT, 4, "redirected") \
    V(SMCR_IB_CM_SIDR_UNSUPPORTED_VERSION, 5, "class version not supported")
enum smcr_ib_cm_sidr_status { SMCR_IB_CM_SIDR_STATUSES(SMCR_WIRE_ENUM_ROW) };

/* Value of the upper five bytes of a service ID of RDMA-CM. The lower three bytes are a port space
 * and a port. */
#define SMCR_IB_CM_IP_SERVICE 1
