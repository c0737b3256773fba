/* Knows SMC-R on Wireshark's TCP: the option, and CLC in the byte stream. Does not know RoCE.
 * Called by packet-smcr-tcpopt.c and packet-smcr-clc.c.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"
#include "host/host.h"

#define SMCR_TCP_OFFSET 12 /* offset of the data offset in the TCP header (RFC 9293 3.1), bytes */

/* Returns the length of the TCP header at the beginning of `tvb`, bytes. */
static inline int
smcr_tcp_header_length(tvbuff_t *tvb)
{
    return (tvb_get_uint8(tvb, SMCR_TCP_OFFSET) >> 4) * 4;
}

/* ---- the option (option.c) ---- */

/* Whether an experimental option of TCP (kind 253 or 254) is the SMC-R option: its ExID is "SMCR"
 * in EBCDIC (RFC 7609 A.1). `tvb` begins with the kind of the option. */
bool smcr_tcp_option_is_ours(tvbuff_t *tvb);

/* First pass: learns the SMC-R option of a SYN or SYN-ACK, after which the CLC dissector gets the
 * payloads of the TCP conversation. In any other segment the option changes nothing. `tcp`: header
 * of the segment; NULL: not known, and nothing is learned. */
void smcr_tcp_option_learn(packet_info *pinfo, const struct tcpheader *tcp);

/* Shows the SMC-R option `tvb`, and adds expert items if it breaks RFC 7609 3.1 or 3.5.1.1. `tcp`:
 * header of the segment; NULL: not known. */
void smcr_tcp_option_show(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                          const struct tcpheader *tcp);

/* First pass: learns from a SYN-ACK without the SMC-R option that the connection stays on TCP, if
 * its SYN had the option. Of a SYN or SYN-ACK that may be damaged, learns that it may have had the
 * SMC-R option. `tvb`: the option "maximum segment size", which SYN and SYN-ACK have. `tcp`: header
 * of the segment. */
void smcr_tcp_option_learn_mss(tvbuff_t *tvb, packet_info *pinfo, const struct tcpheader *tcp);

/* Shows the fallback at the SYN-ACK whose missing SMC-R option has caused it. */
void smcr_tcp_option_show_mss(packet_info *pinfo, proto_tree *tree);

/* ---- CLC in the byte stream (clc_stream.c) ----
 *
 * Offsets and lengths are bytes from the first byte of `tvb`. `tvb` is the payload of a TCP
 * segment, or of several segments that Wireshark's TCP has put together. */

/* Whether the bytes at `offset` are an eyecatcher ("SMCR" or "SMCD" in EBCDIC, RFC 7609 A.2). If
 * `tvb` ends after the first one to three bytes of an eyecatcher, returns true if Wireshark's TCP
 * can deliver the other bytes with a later segment. */
bool smcr_tcp_clc_begins(tvbuff_t *tvb, int offset, const packet_info *pinfo);

/* Returns `tvb`, the payload of a TCP segment, with the length that it had on the wire, if it
 * begins with a CLC message and a mirror port has truncated it: then Wireshark's TCP is not asked
 * for more of it, as for a segment that is truncated by snaplen. Returns `tvb` itself in all other
 * cases. `tcp`: sequence numbers of the segment, from TCP's dissector; NULL: not known. */
tvbuff_t *smcr_tcp_clc_of_mirror(tvbuff_t *tvb, packet_info *pinfo, const struct tcpinfo *tcp);

/* Whether the CLC header at the beginning of `tvb` has a known type, and a possible length or,
 * in place of it, a trailer that ends the message. Type or length count as right if they were
 * not captured. */
bool smcr_tcp_clc_is_plausible(tvbuff_t *tvb);

/* Whether CLC of this direction has ended in an earlier frame, so that this frame has no CLC.
 * `conn`: the connection of the frame; NULL: none is known, and CLC has not ended. */
bool smcr_tcp_clc_has_ended(const packet_info *pinfo, const smcr_conn_t *conn);

/* First pass: learns the CLC messages of a segment, and the first bytes of the application. `conn`:
 * the connection of the segment; NULL: not known. `tcp`: sequence number and state of the segment,
 * from TCP's dissector; NULL: not known. Returns the connection: `conn`, or one that a CLC message
 * of the segment has made because the TCP handshake was not captured; NULL: there is none, or the
 * segment is a copy behind NAT. */
smcr_conn_t *smcr_tcp_clc_learn(tvbuff_t *tvb, packet_info *pinfo, smcr_conn_t *conn,
                                const struct tcpinfo *tcp);

/* Shows the CLC messages at the beginning of `tvb`. Returns the number of their bytes; -1: a
 * message is not complete, and TCP has been asked for the next segment. */
int smcr_tcp_clc_show(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, const smcr_conn_t *conn);

/* Reports the application's data from `offset` on to the listeners of the tap, if the connection
 * has fallen back to TCP in this frame or before. `tcp`: sequence number and state of the segment,
 * from TCP's dissector; NULL: not known, and nothing is reported. */
void smcr_tcp_tap_fallback(tvbuff_t *tvb, int offset, packet_info *pinfo, const smcr_conn_t *conn,
                           const struct tcpinfo *tcp);

/* If the connection has fallen back to TCP in this frame or before, shows the connection and the
 * reason at a TCP segment with application data. All of it is hidden, but for the reason in the
 * frame that caused the fallback without a Decline. */
void smcr_tcp_show_fallback(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                            const smcr_conn_t *conn);

/* If this frame has the first bytes of the application, shows the connection and which rules of RFC
 * 7609 the bytes break, and reports the frame to the listeners of the tap. */
void smcr_tcp_show_data(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                        const smcr_conn_t *conn);

/* Dissects the bytes from `offset` on, which are not CLC, as if the plugin did not exist. `data`:
 * TCP's argument. Returns the number of bytes dissected, as a dissector above TCP does. */
int smcr_tcp_dissect_rest(tvbuff_t *tvb, int offset, packet_info *pinfo, proto_tree *tree,
                          void *data);

/* Dissects a segment as if the plugin did not exist. The bypass (smcr_handshake_set_bypass()) is
 * set to `conversation`. Returns the number of bytes dissected, as smcr_tcp_dissect_rest() does. */
int smcr_tcp_dissect_bypassed(conversation_t *conversation, tvbuff_t *tvb, packet_info *pinfo,
                              proto_tree *tree, void *data);

/* Prepares this module, after all protocols have registered. `clc`: the CLC dissector, which gets
 * the payloads of SMC-R's TCP conversations. */
void smcr_tcp_clc_handoff(dissector_handle_t clc);

/* Passes `tvb`, the payload of a TCP segment, to the CLC dissector, as TCP's dissector would.
 * `tcp`: the argument that TCP would pass. No message is put together from several segments. */
void smcr_tcp_clc_call(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, struct tcpinfo *tcp);

/* ---- CLC that Wireshark's TCP withholds (withheld.c) ---- */

/* Notes that Wireshark's TCP has called the CLC dissector. */
void smcr_tcp_note_offer(void);

/* Returns how often that has been noted, in the whole run of Wireshark. */
unsigned smcr_tcp_offers(void);

/* Dissects the CLC message at the beginning of a segment's payload, if TCP has not passed it to the
 * CLC dissector, and no frame before had a message of its type. Later passes dissect the same
 * messages as the first. Called after TCP's dissector. `tvb` begins with the TCP header. `before`:
 * value of smcr_tcp_offers() before TCP's dissector was called. */
void smcr_tcp_dissect_withheld(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                               unsigned before);

/* Prepares this module, after all protocols have registered. `handle`: the CLC dissector. */
void smcr_tcp_withheld_handoff(dissector_handle_t handle);


/* Keys of p_add_proto_data(). */
enum {
    SMCR_TCP_BEGUN = 1,      /* the smcr_tcp_begun_t of a frame */
    SMCR_TCP_CHECKED,        /* within a dissection: whether the segment is damaged */
    SMCR_TCP_RETRANSMISSION, /* what damage.c knows of a frame that retransmits damaged bytes */
};

/* ---- damaged segments (damage.c) ---- */

/* What a segment carries that may be damaged. */
typedef enum {
    SMCR_TCP_SYN,    /* the SYN of a client */
    SMCR_TCP_SYNACK, /* the SYN-ACK of a server */
    SMCR_TCP_CLC,    /* CLC messages */
    SMCR_TCP_BYTES,  /* other bytes, where CLC messages may come */
} smcr_tcp_carried_t;

/* Whether the segment is damaged: the checksum of TCP or the header checksum of IPv4 is wrong, and
 * wrong ones of its sender mean damage. The first pass checks and counts the checksums. A segment
 * that another packet quotes is not checked. */
bool smcr_tcp_is_damaged(packet_info *pinfo, smcr_tcp_carried_t carried);

/* First pass: whether a checksum of the segment is wrong, unless wrong ones of its sender mean
 * nothing. Counts nothing. */
bool smcr_tcp_may_be_damaged(const packet_info *pinfo);

/* First pass: notes that a SYN or SYN-ACK may be damaged. `tcp`: its header. */
void smcr_tcp_learn_damaged_syn(packet_info *pinfo, const struct tcpheader *tcp);

/* First pass: notes that a SYN or SYN-ACK has come which is not damaged. `tcp`: its header. */
void smcr_tcp_learn_right_syn(packet_info *pinfo, const struct tcpheader *tcp);

/* In the first pass, notes that a segment with CLC messages is damaged. From now on the CLC
 * dissector gets retransmissions of messages that have not come. `tcp`: sequence number of the
 * segment, from TCP's dissector; NULL: not known, and nothing is noted. */
void smcr_tcp_learn_damaged(packet_info *pinfo, const struct tcpinfo *tcp);

/* Checks a segment with FIN or RST in the first pass: a damaged one may not end the connection.
 * Shows that a segment is damaged, if no other function does. Returns whether the segment is
 * damaged, with or without FIN and RST. `tvb` begins with the TCP header; `flags`: those of the
 * header. Called after TCP's dissector. */
bool smcr_tcp_take_end(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, uint8_t flags);

/* If the segment has a CLC message that has not come, and TCP's dissector has not passed it to the
 * CLC dissector because of a damaged segment, does so. `tvb` begins with the TCP header. Called
 * after TCP's dissector. */
void smcr_tcp_dissect_retransmission(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree);

/* Shows that the segment is damaged. */
void smcr_tcp_show_wrong_checksum(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree);

/* Shows that the segment is damaged, and the CLC messages of its payload `tvb`, as they are.
 * `conn`: the connection of the segment; NULL: not known. Returns the number of bytes of CLC
 * messages. */
int smcr_tcp_show_damaged(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, smcr_conn_t *conn);

/* ---- every segment (segment.c) ---- */

/* A CLC message that is not complete: Wireshark's TCP has delivered only the first bytes of the
 * message. The struct is kept as protocol data of the frame with the last of these bytes. */
typedef struct smcr_tcp_begun {
    const uint8_t *bytes; /* first bytes of the message, in file scope */
    unsigned length;      /* number of bytes in `bytes` */
    unsigned least_length; /* lower bound of the length of the whole message in bytes */
    bool continues;       /* a later frame has the next bytes of the message, and TCP has delivered
                             them */
    uint32_t next_seq;    /* TCP sequence number of the first byte after `bytes`; 0: not known */
    uint32_t end_frame;   /* frame of the FIN or RST that the sender sends directly after `bytes`;
                             0: none */
} smcr_tcp_begun_t;

/* First pass: if the file has several capture points, notes that the segment was captured at its
 * point. The segment may belong to any TCP connection, also to the copy of an SMC-R connection
 * behind NAT. `tvb` begins with the TCP header. Called after TCP's dissector. */
void smcr_tcp_take_point(tvbuff_t *tvb, packet_info *pinfo);

/* First pass: does the same for the segment that has the TCP option in the buffer `option`. The
 * first sign of SMC in the file needs this function, since TCP's dissector is wrapped from the next
 * segment on. */
void smcr_tcp_take_point_of_option(tvbuff_t *option, packet_info *pinfo);

/* Shows the connection of a TCP segment if a filter, a column or the tree asks for it and no other
 * dissector has shown it; and a CLC message in the segment that never becomes complete. Reports the
 * segment to the listeners of the tap. `tvb` begins with the TCP header. `annotated`: value of
 * smcr_annotate_conns_shown() before TCP's dissector was called for the segment. */
void smcr_tcp_show_segment(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, unsigned annotated);
