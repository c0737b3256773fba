/* cm_codes.h
 * Communication management (InfiniBand Architecture Specification, volume 1, chapter 12): what sets
 * up connections and ends them, in MADs (management datagrams) between queue pairs 1.
 *
 * States, rejections and statuses are as in Linux, include/rdma/ib_cm.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "codes.h"

/* The header of a MAD (volume 1, 13.4.2) */
#define SMCR_IB_MAD_LENGTH 256
#define SMCR_IB_MAD_HEADER_LENGTH 24
#define SMCR_IB_MAD_BASE_VERSION 1
#define SMCR_IB_MAD_CLASS_CM 7
#define SMCR_IB_MAD_CM_VERSION 2
#define SMCR_IB_MAD_METHOD_SEND 3
#define SMCR_IB_GSI_QPN 1 /* queue pair of the general services */

/* 12.6; the names of the specification are ConnectRequest and so on */
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

/* Up to timewait in the order in which a connection goes through them (enum ib_cm_state) */
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

/* What an MRA delays, or a REJ rejects */
#define SMCR_IB_CM_ANSWERED(V) \
    V(SMCR_IB_CM_ANSWERS_REQ, 0, "REQ") \
    V(SMCR_IB_CM_ANSWERS_REP, 1, "REP") \
    V(SMCR_IB_CM_ANSWERS_OTHER, 2, "other") /* MRA: a LAP; REJ: no message */
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

/* Service IDs of RDMA-CM: this in the upper five bytes, then a port space and a port */
#define SMCR_IB_CM_IP_SERVICE 1
